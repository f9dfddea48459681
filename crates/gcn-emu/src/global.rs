//! The state that the waves of a dispatch share in addition to memory: the global data share, global wave sync and the turns
//! of ordered append.
//!
//! Sources: AMD's manuals of the gfx6 to gfx9 families, "GDS" and "Data Share Instructions". Where they are silent,
//! docs/errata.md, `gws` and `ds-ordered-count`, gives the choices.

use gcn_isa::meaning::GwsOp;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of the global data share.
pub const GDS_BYTES: usize = 64 << 10;

/// Resources of global wave sync.
const RESOURCES: usize = 64;

/// The maximum number of turns that a wave may release. Chips have four queues of ordered append.
const MOST_TURNS: u32 = 256;

/// The global data share, the resources of global wave sync and the order of waves. Every operation is atomic with respect to
/// other host threads.
#[derive(Debug)]
pub struct Global {
    /// Empty until its first use.
    gds: Mutex<Box<[u8]>>,
    resources: WaveSync,
    turns: Mutex<Turns>,
    asked: AtomicBool,
    changes: AtomicU64,
}

impl Default for Global {
    fn default() -> Global {
        Global {
            gds: Mutex::default(),
            resources: WaveSync::default(),
            turns: Mutex::default(),
            asked: AtomicBool::new(false),
            changes: AtomicU64::new(0),
        }
    }
}

/// The resources of global wave sync, which persist from one dispatch to the next: one dispatch initializes them for another.
/// Clones share them.
#[derive(Clone, Debug)]
pub struct WaveSync(Arc<Mutex<[Resource; RESOURCES]>>);

impl Default for WaveSync {
    fn default() -> WaveSync {
        WaveSync(Arc::new(Mutex::new([Resource::default(); RESOURCES])))
    }
}

/// A barrier or a semaphore.
#[derive(Clone, Copy, Debug, Default)]
struct Resource {
    counter: u32,
    /// Barriers: the number of times that the waves have met.
    phase: u64,
    /// Semaphores: the ticket of the next wave that arrives, and the ticket of the first wave that waits.
    next: u64,
    first: u64,
}

/// The progress of the waves with their ordered appends.
#[derive(Clone, Debug, Default)]
struct Turns {
    /// For each turn of a wave (its first, its second, …) the waves that have released it.
    given_up: Vec<Passed>,
    /// The waves that have ended or released all their turns.
    ended: Passed,
}

/// A set of numbers that usually has no gaps from 0 on.
#[derive(Clone, Debug, Default)]
struct Passed {
    /// All numbers below this one are in the set.
    below: u64,
    /// The other members, as ranges with gaps between them: start to end.
    beyond: BTreeMap<u64, u64>,
}

impl Passed {
    fn insert(&mut self, numbers: Range<u64>) {
        let Range { mut start, mut end } = numbers;
        if end <= self.below {
            return;
        }
        // Ranges adjacent to the new range are merged into it.
        if let Some((&first, &last)) = self.beyond.range(..start).next_back()
            && last >= start
        {
            self.beyond.remove(&first);
            (start, end) = (first, end.max(last));
        }
        while let Some((&first, &last)) = self.beyond.range(start..=end).next() {
            self.beyond.remove(&first);
            end = end.max(last);
        }
        if start <= self.below {
            self.below = end;
        } else {
            self.beyond.insert(start, end);
        }
    }

    fn contains(&self, number: u64) -> bool {
        let before = self.beyond.range(..=number).next_back();
        number < self.below || before.is_some_and(|(_, &end)| number < end)
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Global {
    /// The shared state of a dispatch, with the resources of global wave sync that other dispatches have left.
    pub fn with(resources: &WaveSync) -> Global {
        Global {
            resources: resources.clone(),
            ..Global::default()
        }
    }

    /// A copy that shares nothing with this one.
    pub(crate) fn copy(&self) -> Global {
        let resources = *lock(&self.resources.0);
        Global {
            gds: Mutex::new(lock(&self.gds).clone()),
            resources: WaveSync(Arc::new(Mutex::new(resources))),
            turns: Mutex::new(lock(&self.turns).clone()),
            asked: AtomicBool::new(self.asked.load(Relaxed)),
            changes: AtomicU64::new(self.changes.load(Relaxed)),
        }
    }

    /// The bytes of the global data share that exist so far.
    pub(crate) fn gds_bytes(&self) -> usize {
        lock(&self.gds).len()
    }

    /// Replaces `bytes` bytes of the global data share at `at` by the result of `new` on the old ones. Returns the old ones.
    pub(crate) fn update(&self, at: usize, bytes: usize, new: impl FnOnce(u64) -> u64) -> u64 {
        let mut gds = self.gds();
        let Some(location) = gds.get_mut(at..at + bytes) else {
            return 0;
        };
        let mut word = [0; 8];
        word[..bytes].copy_from_slice(location);
        let old = u64::from_le_bytes(word);
        let word = new(old).to_le_bytes();
        if word[..bytes] != *location {
            location.copy_from_slice(&word[..bytes]);
            drop(gds);
            self.changed();
        }
        old
    }

    /// The bytes of the global data share, [`GDS_BYTES`] of them; other waves wait while the guard is alive.
    pub fn gds(&self) -> MutexGuard<'_, Box<[u8]>> {
        let mut gds = lock(&self.gds);
        if gds.is_empty() {
            *gds = vec![0; GDS_BYTES].into_boxed_slice();
        }
        gds
    }

    /// A number that increases whenever the global data share changes, and whenever a wave that waits
    /// ([`Stop::Retry`](crate::engine::Stop::Retry)) may be able to continue. If every wave waits and the number has not
    /// changed since before the first of them tried, none can ever continue: a deadlock.
    pub fn changes(&self) -> u64 {
        self.changes.load(Relaxed)
    }

    fn changed(&self) {
        self.changes.fetch_add(1, Relaxed);
    }

    /// Performs an operation on a resource (modulo 64). `ticket` is the wave's: it is set while the wave waits.
    /// Returns true if the operation is done; otherwise it must be tried again.
    pub(crate) fn gws(
        &self,
        op: GwsOp,
        resource: usize,
        value: u32,
        ticket: &mut Option<u64>,
    ) -> bool {
        let resource = &mut lock(&self.resources.0)[resource % RESOURCES];
        match op {
            GwsOp::Init => resource.counter = value,
            GwsOp::Signal => resource.counter = resource.counter.saturating_add(value),
            GwsOp::ReleaseAll => {
                resource.counter = (resource.next - resource.first) as u32;
            }
            GwsOp::Take => {
                let mine = *ticket.get_or_insert_with(|| {
                    resource.next += 1;
                    resource.next - 1
                });
                if resource.counter == 0 || mine != resource.first {
                    return false;
                }
                resource.counter -= 1;
                resource.first += 1;
            }
            GwsOp::Barrier => match *ticket {
                Some(phase) if phase == resource.phase => return false,
                Some(_) => {}
                None if resource.counter > 0 => {
                    resource.counter -= 1;
                    *ticket = Some(resource.phase);
                    return false;
                }
                None => {
                    resource.counter = value;
                    resource.phase += 1;
                }
            },
        }
        *ticket = None;
        self.changed();
        true
    }

    /// Returns true if it is the turn of wave `number` (in the order of dispatch, from 0), which has released `turns` turns:
    /// all waves before it have released more than `turns` turns, or have ended. Returns `None` if the wave exceeded the maximum
    /// number of turns.
    pub(crate) fn turn(&self, number: u64, turns: u32) -> Option<bool> {
        self.asked.store(true, Relaxed);
        let mut those = lock(&self.turns);
        let ended = those.ended.below;
        let first = {
            let queue = those.queue(turns)?;
            // The set then keeps only the waves that are running.
            queue.insert(0..ended);
            queue.below
        };
        let (given_up, ended) = (those.given_up.get(turns as usize)?, &those.ended);
        Some((first..number).all(|w| given_up.contains(w) || ended.contains(w)))
    }

    /// Wave `number` releases its turn; with `all`, also its later turns.
    pub(crate) fn release(&self, number: u64, turns: u32, all: bool) {
        let mut those = lock(&self.turns);
        if all {
            those.ended.insert(number..number + 1);
        }
        if let Some(queue) = those.queue(turns) {
            queue.insert(number..number + 1);
        }
        drop(those);
        self.changed();
    }

    /// Wave `number` (in the order of dispatch, from 0) has ended: no wave waits for it.
    pub fn ended(&self, number: u64) {
        self.all_ended(number..number + 1);
    }

    /// The waves of these numbers have ended.
    pub fn all_ended(&self, numbers: Range<u64>) {
        lock(&self.turns).ended.insert(numbers);
        self.changed();
    }

    /// Returns true if a wave has asked for its turn. Other waves may then wait for the end of earlier waves.
    pub fn asked(&self) -> bool {
        self.asked.load(Relaxed)
    }
}

impl Turns {
    fn queue(&mut self, turn: u32) -> Option<&mut Passed> {
        if turn >= MOST_TURNS {
            return None;
        }
        let at = turn as usize;
        if self.given_up.len() <= at {
            self.given_up.resize_with(at + 1, Passed::default);
        }
        self.given_up.get_mut(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(global: &Global, op: GwsOp, value: u32, ticket: &mut Option<u64>) -> bool {
        global.gws(op, 64 + 3, value, ticket)
    }

    #[test]
    fn a_barrier_lets_all_go_on_when_the_last_comes() {
        let global = Global::default();
        assert!(tried(&global, GwsOp::Init, 2, &mut None));
        let (mut a, mut b, mut c) = (None, None, None);
        for _ in 0..3 {
            assert!(!tried(&global, GwsOp::Barrier, 2, &mut a));
            assert!(!tried(&global, GwsOp::Barrier, 2, &mut b));
            assert!(!tried(&global, GwsOp::Barrier, 2, &mut a));
            assert!(tried(&global, GwsOp::Barrier, 2, &mut c));
            assert!(tried(&global, GwsOp::Barrier, 2, &mut b));
            assert!(tried(&global, GwsOp::Barrier, 2, &mut a));
        }
        assert_eq!((a, b, c), (None, None, None));
    }

    #[test]
    fn a_barrier_of_one_is_none() {
        let global = Global::default();
        assert!(tried(&global, GwsOp::Barrier, 0, &mut None));
        assert!(tried(&global, GwsOp::Barrier, 1, &mut None));
        assert!(!tried(&global, GwsOp::Barrier, 0, &mut None));
    }

    #[test]
    fn a_semaphore_serves_in_the_order_of_arrival() {
        let global = Global::default();
        let (mut a, mut b) = (None, None);
        assert!(!tried(&global, GwsOp::Take, 0, &mut a));
        assert!(!tried(&global, GwsOp::Take, 0, &mut b));
        assert!(tried(&global, GwsOp::Signal, 1, &mut None));
        assert!(!tried(&global, GwsOp::Take, 0, &mut b));
        assert!(tried(&global, GwsOp::Take, 0, &mut a));
        assert!(!tried(&global, GwsOp::Take, 0, &mut b));
        assert!(!tried(&global, GwsOp::Take, 0, &mut a));
        assert!(tried(&global, GwsOp::ReleaseAll, 0, &mut None));
        assert!(!tried(&global, GwsOp::Take, 0, &mut a));
        assert!(tried(&global, GwsOp::Take, 0, &mut b));
        assert!(tried(&global, GwsOp::Take, 0, &mut a));
        assert!(tried(&global, GwsOp::ReleaseAll, 0, &mut None));
        assert!(!tried(&global, GwsOp::Take, 0, &mut a));
    }

    #[test]
    fn sets_of_ranges() {
        let mut set = Passed::default();
        let mut want = [false; 40];
        for range in [
            4..6,
            9..12,
            20..21,
            6..9,
            3..5,
            30..33,
            15..31,
            12..14,
            1..2,
            0..2,
            2..3,
            14..15,
        ] {
            set.insert(range.clone());
            want[range.start as usize..range.end as usize].fill(true);
            for (n, &want) in want.iter().enumerate() {
                assert_eq!(set.contains(n as u64), want, "{n} of {set:?}");
            }
            let first = want.iter().position(|&w| !w).unwrap();
            assert_eq!(set.below, first as u64);
        }
        assert_eq!((set.below, set.beyond.len()), (33, 0));
    }

    #[test]
    fn turns_go_by_number() {
        let global = Global::default();
        assert_eq!(global.turn(0, 0), Some(true));
        assert_eq!(global.turn(1, 0), Some(false));
        let before = global.changes();
        global.release(0, 0, false);
        assert_ne!(global.changes(), before);
        assert_eq!(global.turn(1, 0), Some(true));
        // The second turn of a wave waits for the second turns of the waves before it.
        global.release(1, 0, false);
        assert_eq!(global.turn(1, 1), Some(false));
        assert_eq!(global.turn(0, 1), Some(true));
        global.release(0, 1, true);
        assert_eq!(global.turn(1, 1), Some(true));
        assert_eq!(global.turn(1, 2), Some(true));
        // A wave that has ended blocks no other wave.
        assert_eq!(global.turn(4, 0), Some(false));
        global.ended(3);
        assert_eq!(global.turn(4, 0), Some(false));
        global.ended(2);
        assert_eq!(global.turn(4, 0), Some(true));
        assert_eq!(global.turn(0, 300), None);
    }
}
