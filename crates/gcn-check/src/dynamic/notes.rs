//! Notes of accesses: whether a dispatch that is not observed needs to be.
//!
//! Each dword of memory and LDS remembers one write and one read. That is enough to say that nothing was wrong, but not what was: where
//! two accesses of a dword are not plainly ordered, the dispatch runs again under the observer, whose records are finer. A write is ordered
//! before an access of the same wave, or of a wave of the workgroup after a barrier. Accesses beside atomics are
//! the observer's to judge.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::HashMap;
use gcn_emu::engine::Stop;
use gcn_emu::probe::{self, Access, Executed, Lanes, Place, Probe, Runs};
use gcn_isa::access::MemoryKind;

use super::bounds::Class;

/// Dwords of a page.
const WORDS: usize = 1024;

/// Pages are kept in as many tables, each with a lock.
const TABLES: usize = 64;

/// Several workgroups.
const MANY_GROUPS: u32 = u32::MAX;
/// Several waves of a workgroup.
const MANY_WAVES: u32 = 63;
/// Barriers of a workgroup that can be counted.
const MOST_EPOCHS: u32 = 1 << 17;

/// A wave's place in time: its workgroup, from 1 on; the barriers that it has passed; and its number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Stamp {
    group: u32,
    /// From the lowest bit: the bytes of the dword, 4 bits; the wave, 6 bits; it is atomic; the epoch, 17 bits; of a write, the bytes that
    /// were ever written.
    rest: u32,
}

const MASK: u32 = 15;
const WAVE: u32 = 63 << 4;
const ATOMIC: u32 = 1 << 10;
const EPOCH: u32 = (MOST_EPOCHS - 1) << 11;
const WRITTEN: u32 = 28;

impl Stamp {
    fn wave(self) -> u32 {
        (self.rest & WAVE) >> 4
    }

    /// Whether it comes before what a wave does now.
    fn before(self, now: Stamp) -> bool {
        let same = self.group == now.group;
        same && (self.rest & EPOCH < now.rest & EPOCH || self.rest & WAVE == now.rest & WAVE)
    }

    /// It and another one of a dword, neither of which is before the other: of several waves or workgroups.
    fn with(self, other: Stamp) -> Stamp {
        let mask = (self.rest | other.rest) & MASK;
        match self.group == other.group {
            true if self.wave() == other.wave() => Stamp {
                rest: other.rest | mask,
                ..other
            },
            true => Stamp {
                rest: other.rest & (EPOCH | ATOMIC) | MANY_WAVES << 4 | mask,
                ..other
            },
            false => Stamp {
                group: MANY_GROUPS,
                rest: other.rest | mask,
            },
        }
    }
}

/// What is known of a dword.
#[derive(Clone, Copy, Default)]
struct Word {
    write: Stamp,
    read: Stamp,
}

/// What an access is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Load,
    Store,
    Atomic,
}

/// Returns true if an access may race with an earlier one, and remembers it.
#[inline]
fn access(word: &mut Word, now: Stamp, mask: u32, what: What, lds: bool) -> bool {
    let overlaps = |s: Stamp| s.group != 0 && s.rest & mask != 0;
    let mine = Stamp {
        rest: now.rest | mask,
        ..now
    };
    // In memory, what is plain beside atomics may be atomic.
    let apart = |s: Stamp| match (s.rest & ATOMIC != 0, what == What::Atomic) {
        (true, true) => false,
        (false, false) => true,
        _ => lds,
    };
    let races = |s: Stamp| overlaps(s) && !s.before(now) && apart(s);
    match what {
        What::Load => {
            let found = races(word.write);
            let old = word.read;
            word.read = match old.group == 0
                || old.group == now.group && old.rest & EPOCH < now.rest & EPOCH
            {
                true => mine,
                false => old.with(mine),
            };
            found
        }
        What::Store | What::Atomic => {
            let found = races(word.write) || races(word.read);
            let atomic = if what == What::Atomic { ATOMIC } else { 0 };
            let old = word.write;
            let mut new = Stamp {
                rest: mine.rest | atomic,
                ..mine
            };
            if old.group != 0 {
                let plain = old.rest & ATOMIC == 0;
                if !old.before(now) {
                    new = old.with(new);
                } else if old.rest & (EPOCH | WAVE) == now.rest & (EPOCH | WAVE) {
                    new.rest |= old.rest & MASK;
                }
                if plain && atomic != 0 {
                    // The plain one is what others race with.
                    new = if lds { new } else { old };
                    new.rest &= !ATOMIC;
                }
            }
            let written = old.rest >> WRITTEN | mask;
            new.rest = new.rest & !(MASK << WRITTEN) | written << WRITTEN;
            word.write = new;
            found
        }
    }
}

type Pages = HashMap<u64, Box<[Word; WORDS]>>;

/// What the notes of a dispatch's threads have in common.
pub struct Shared {
    memory: Vec<Mutex<Pages>>,
    /// Memory that begins defined, and memory of single waves that does not: the first byte, the one after the last.
    data: Vec<(u64, u64, Class)>,
    /// Bytes of LDS of a workgroup.
    lds: usize,
    races: bool,
    undefined: bool,
    barriers: bool,
    /// Something was found.
    found: AtomicBool,
}

/// What is to be noted.
pub struct Wanted {
    /// Races, and stale data.
    pub races: bool,
    /// LDS and scratch that are read before they are written.
    pub undefined: bool,
    /// Waves that end before barriers.
    pub barriers: bool,
}

impl Shared {
    /// Nothing was accessed.
    pub fn new(data: Vec<(u64, u64, Class)>, lds: u32, wanted: &Wanted) -> Arc<Shared> {
        Arc::new(Shared {
            memory: (0..TABLES).map(|_| Mutex::default()).collect(),
            data,
            lds: lds as usize,
            races: wanted.races,
            undefined: wanted.undefined,
            barriers: wanted.barriers,
            found: AtomicBool::new(false),
        })
    }

    fn class(&self, at: u64) -> Option<Class> {
        let after = self.data.partition_point(|e| e.0 <= at);
        let extent = self.data.get(after.checked_sub(1)?)?;
        (at < extent.1).then_some(extent.2)
    }

    fn find(&self) {
        self.found.store(true, Relaxed);
    }

    /// Calls `f` with the dwords of a page.
    fn page<T>(&self, page: u64, f: impl FnOnce(&mut [Word; WORDS]) -> T) -> T {
        let table = &self.memory[page as usize % TABLES];
        let mut pages = table.lock().unwrap_or_else(PoisonError::into_inner);
        let page = pages
            .entry(page)
            .or_insert_with(|| Box::new([Word::default(); WORDS]));
        f(page)
    }
}

/// A workgroup that has begun and not ended.
struct Group {
    waves: usize,
    ended: usize,
    waiting: usize,
    epoch: u32,
    /// The dwords of LDS.
    lds: Vec<Word>,
}

#[derive(Default)]
struct Own {
    groups: HashMap<u64, Group>,
    now: Stamp,
    group: u64,
    /// LDS of workgroups that have ended.
    spare: Vec<Vec<Word>>,
}

/// The notes of a host thread.
pub struct Notes {
    shared: Arc<Shared>,
    own: RefCell<Own>,
}

impl Notes {
    /// Notes for another thread.
    pub fn new(shared: Arc<Shared>) -> Notes {
        Notes {
            shared,
            own: RefCell::default(),
        }
    }
}

/// The dwords that an access touches, and the bytes of each.
#[inline]
fn words(at: u64, size: u8) -> impl Iterator<Item = (u64, u32)> {
    let end = at + size as u64;
    (at / 4..end.div_ceil(4)).map(move |word| {
        let first = at.saturating_sub(word * 4).min(4);
        let last = (end - word * 4).min(4);
        (word, (1u32 << last) - (1 << first))
    })
}

impl Own {
    /// An access of LDS. Returns true if it must be looked at.
    #[inline]
    fn in_lds(&mut self, shared: &Shared, at: u64, size: u8, what: What) -> bool {
        let now = self.now;
        let Some(group) = self.groups.get_mut(&self.group) else {
            return true;
        };
        words(at, size).any(|(word, mask)| {
            let Some(cell) = group.lds.get_mut(word as usize) else {
                return true;
            };
            let unwritten = cell.write.rest >> WRITTEN & mask != mask;
            let raced = access(cell, now, mask, what, true);
            raced && shared.races || unwritten && what != What::Store && shared.undefined
        })
    }
}

/// An access of memory of a page.
#[inline]
fn in_page(
    shared: &Shared,
    page: &mut [Word; WORDS],
    now: Stamp,
    (word, mask): (u64, u32),
    (what, scalar, class): (What, bool, Class),
) -> bool {
    let cell = &mut page[word as usize % WORDS];
    if class == Class::Scratch {
        // Of one wave after the other: what was written once is defined.
        let unwritten = cell.write.rest >> WRITTEN & mask != mask;
        if what != What::Load {
            cell.write.rest |= mask << WRITTEN;
        }
        return unwritten && what != What::Store && shared.undefined;
    }
    if scalar {
        // The scalar cache may have older data.
        return cell.write.group != 0;
    }
    shared.races && access(cell, now, mask, what, false)
}

impl Probe for Notes {
    fn access(&self, made: &Access) -> bool {
        let (shared, mut own) = (&*self.shared, self.own.borrow_mut());
        let what = match made.kind {
            MemoryKind::Load => What::Load,
            MemoryKind::Store => What::Store,
            MemoryKind::Atomic => What::Atomic,
        };
        let found = match made.place {
            Place::Lds(at) => own.in_lds(shared, at, made.size, what),
            Place::Memory(at) => match shared.class(at) {
                Some(class @ (Class::Data | Class::Scratch)) => {
                    let now = own.now;
                    let of_word = |(word, mask): (u64, u32)| {
                        let kind = (what, made.scalar, class);
                        shared.page(word / WORDS as u64, |page| {
                            in_page(shared, page, now, (word, mask), kind)
                        })
                    };
                    // All are noted.
                    let found = words(at, made.size).filter(|w| of_word(*w)).count();
                    found > 0
                }
                // Memory decides.
                _ => false,
            },
            _ => false,
        };
        if found && !(made.unchanged && what == What::Store) {
            shared.find();
        }
        true
    }

    fn lanes(&self, lanes: &Lanes<'_>) -> bool {
        let (shared, mut own) = (&*self.shared, self.own.borrow_mut());
        let what = match lanes.kind {
            MemoryKind::Load => What::Load,
            MemoryKind::Store => What::Store,
            MemoryKind::Atomic => return false,
        };
        let mut found = false;
        if lanes.lds {
            for (_, at) in lanes.each() {
                found |= own.in_lds(shared, at, lanes.size, what);
            }
        } else {
            let now = own.now;
            let mut each = lanes.each().peekable();
            while let Some(&(_, at)) = each.peek() {
                let first = at / 4 / WORDS as u64;
                let extent = shared.data.partition_point(|e| e.0 <= at);
                let extent = extent.checked_sub(1).map(|n| shared.data[n]);
                let Some((start, end, class)) = extent.filter(|e| at < e.1) else {
                    each.next();
                    continue;
                };
                if !matches!(class, Class::Data | Class::Scratch) {
                    each.next();
                    continue;
                }
                let kind = (what, lanes.scalar, class);
                let mut beyond = None;
                found |= shared.page(first, |page| {
                    let mut found = false;
                    // The lanes of this page and extent, in one go.
                    while let Some(&(_, at)) = each.peek()
                        && at / 4 / WORDS as u64 == first
                        && (start..end).contains(&at)
                    {
                        for (word, mask) in words(at, lanes.size) {
                            match word / WORDS as u64 == first {
                                true => found |= in_page(shared, page, now, (word, mask), kind),
                                false => beyond = Some((word, mask)),
                            }
                        }
                        each.next();
                        if beyond.is_some() {
                            break;
                        }
                    }
                    found
                });
                if let Some((word, mask)) = beyond {
                    found |= shared.page(word / WORDS as u64, |page| {
                        in_page(shared, page, now, (word, mask), kind)
                    });
                }
            }
        }
        match (found, what) {
            // A store of what is there already is none; each lane is asked.
            (true, What::Store) => return false,
            (true, _) => shared.find(),
            _ => {}
        }
        true
    }

    fn executed(&self, _executed: &Executed<'_>) {}
}

impl probe::Notes for Notes {
    fn runs(&self, wave: Runs) {
        let shared = &*self.shared;
        let own = &mut *self.own.borrow_mut();
        let group = own.groups.entry(wave.group).or_insert_with(|| {
            let mut lds = own.spare.pop().unwrap_or_default();
            lds.clear();
            lds.resize(shared.lds.div_ceil(4), Word::default());
            Group {
                waves: wave.waves,
                ended: 0,
                waiting: 0,
                epoch: 0,
                lds,
            }
        });
        // More waves or workgroups than there are numbers for.
        if wave.group >= MANY_GROUPS as u64 - 1 || wave.wave >= MANY_WAVES as usize {
            shared.find();
        }
        own.group = wave.group;
        own.now = Stamp {
            group: wave.group as u32 + 1,
            rest: group.epoch << 11 | (wave.wave as u32 & 63) << 4,
        };
    }

    fn stopped(&self, stop: &Stop, _exec: u64) -> bool {
        let shared = &*self.shared;
        let own = &mut *self.own.borrow_mut();
        let Some(group) = own.groups.get_mut(&own.group) else {
            return shared.found.load(Relaxed);
        };
        match stop {
            Stop::Barrier => group.waiting += 1,
            Stop::Endpgm => group.ended += 1,
            _ => {}
        }
        if group.ended > 0 && group.waiting > 0 && shared.barriers {
            shared.find();
        }
        if group.waiting > 0 && group.waiting + group.ended >= group.waves {
            group.waiting = 0;
            group.epoch += 1;
            if group.epoch >= MOST_EPOCHS {
                shared.find();
            }
        }
        if group.ended >= group.waves
            && let Some(group) = own.groups.remove(&own.group)
        {
            own.spare.push(group.lds);
        }
        shared.found.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(group: u32, epoch: u32, wave: u32) -> Stamp {
        Stamp {
            group,
            rest: epoch << 11 | wave << 4,
        }
    }

    #[test]
    fn what_is_not_ordered_is_found() {
        use What::{Atomic, Load, Store};
        let run = |lds: bool, steps: &[(u32, u32, u32, u32, What)]| {
            let mut word = Word::default();
            let each = steps.iter().map(|&(group, epoch, wave, mask, what)| {
                access(&mut word, stamp(group, epoch, wave), mask, what, lds)
            });
            each.collect::<Vec<bool>>()
        };
        // One wave; another one after a barrier, and without.
        let own = [
            (1, 0, 0, 15, Store),
            (1, 0, 0, 15, Load),
            (1, 1, 1, 15, Store),
        ];
        assert_eq!(run(true, &own), [false; 3]);
        let race = [(1, 0, 0, 15, Store), (1, 0, 1, 15, Load)];
        assert_eq!(run(true, &race), [false, true]);
        // A second reader does not hide the first one.
        let readers = [
            (1, 0, 0, 15, Load),
            (1, 0, 1, 15, Load),
            (1, 0, 1, 15, Store),
        ];
        assert_eq!(run(true, &readers), [false, false, true]);
        let groups = [
            (1, 0, 0, 15, Load),
            (2, 0, 0, 15, Load),
            (2, 5, 0, 15, Store),
        ];
        assert_eq!(run(false, &groups), [false, false, true]);
        // A barrier orders waves of one workgroup, not of two.
        let other = [(1, 0, 0, 15, Store), (2, 3, 0, 15, Load)];
        assert_eq!(run(false, &other), [false, true]);
        // Bytes of a dword by two workgroups; then neither may touch all.
        let bytes = [
            (1, 0, 0, 3, Store),
            (2, 0, 0, 12, Store),
            (1, 0, 0, 3, Store),
        ];
        assert_eq!(run(false, &bytes), [false, false, true]);
        // Atomics: with each other nowhere, beside plain accesses in LDS alone.
        let atomics = [(1, 0, 0, 15, Atomic), (1, 0, 1, 15, Atomic)];
        assert_eq!(run(true, &atomics), [false; 2]);
        let mixed = [(1, 0, 0, 15, Atomic), (1, 0, 1, 15, Load)];
        assert_eq!(run(true, &mixed), [false, true]);
        assert_eq!(run(false, &mixed), [false; 2]);
        let hidden = [
            (1, 0, 0, 15, Store),
            (1, 0, 0, 15, Atomic),
            (2, 0, 0, 15, Load),
        ];
        assert_eq!(run(false, &hidden), [false, false, true]);
    }
}
