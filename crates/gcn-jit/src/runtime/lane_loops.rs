//! Loops that can run for one lane after the other: which of their two codes runs.
//!
//! Which one is faster depends on the data: on how long lanes stay in the loop, and on where they load from. So both are timed. After
//! some entries in vector code they take turns; then the faster one runs for many entries, and both are timed again. Both leave the same state.
//! Engines tell each other their choices.

use crate::context::{Ctx, LANE_ACCESSES, LANE_LOOPS, LANE_TIMES, LaneLoopChoice, Places};
use crate::runtime::cache::lock;
use crate::runtime::helpers::{AROUND, page_states, parts, permitted};
use crate::runtime::profile::ticks;
use gcn_emu::mem::MAPPED;
use std::collections::HashMap;
use std::sync::Mutex;

/// The first entries run vector code and do not decide: memory comes to the cache, and accesses learn how lanes move. They are this many, or take
/// this many ticks.
const FIRST: u32 = 16;
const FIRST_TICKS: u64 = 400_000;
/// Entries are timed together until they take this many ticks, or are this many. Their number is odd, because every second or fourth wave often has
/// more work than the others.
const TICKS: u64 = 40_000;
const FEWEST: u32 = 3;
const MOST: u32 = 31;
/// Which of the timed entries run lane by lane, in an order that no period of the waves' work resembles.
const BY_LANE: [u32; LANE_TIMES] = [0, 1, 1, 0, 1, 0, 0, 1];
/// If one code takes this many times as long, few times tell: two of the slower one.
const MUCH: u64 = 2;
/// If the lanes' code takes this many times as long, the fewest entries tell.
const HOPELESS: u64 = 8;
/// For how many times as many entries as are timed together a choice holds: the first one, which may be made before the data are in the cache, and
/// later ones.
const FIRST_HOLDS: u32 = 8;
const HOLDS: u32 = 256;

/// The last choices of all engines that share compiled code, by the loops' addresses.
#[derive(Default)]
pub(crate) struct SharedChoices(Mutex<HashMap<u64, LaneLoopChoice>>);

impl SharedChoices {
    /// The maximum number of loops.
    const LOOPS: usize = 1 << 12;

    /// Chooses the code for the next entries, as another engine did, or as their times tell.
    fn choose(&self, choice: &mut LaneLoopChoice, now: u64, dispatch: u32) {
        let mut all = lock(&self.0);
        let known = all.get(&choice.tag).copied();
        let known = known.unwrap_or(LaneLoopChoice {
            tag: choice.tag,
            ..LaneLoopChoice::default()
        });
        if known.seen != choice.seen {
            *choice = known;
            return;
        }
        if choice.choose(now, dispatch) {
            if all.len() >= SharedChoices::LOOPS {
                all.clear();
            }
            choice.seen = choice.seen.wrapping_add(1).max(1);
            // Another engine may have more entries in a dispatch.
            let made = LaneLoopChoice {
                most: MOST,
                broken: 0,
                ..*choice
            };
            all.insert(choice.tag, made);
        }
    }
}

impl LaneLoopChoice {
    /// Chooses the code for the next entries. The entries since the last choice have ended, and with them what came between them, which does
    /// not depend on the choice. Returns true if the times tell which code is faster.
    fn choose(&mut self, now: u64, dispatch: u32) -> bool {
        let elapsed = now.wrapping_sub(self.since);
        // Between dispatches the host does something else.
        let timed = self.taken > 0 && self.dispatch == dispatch;
        if self.warms != 0 && timed {
            (self.warms, self.since) = (0, now);
            self.left = self.timing - 1;
            return false;
        }
        (self.since, self.dispatch) = (now, dispatch);
        let probed = timed && self.timing < self.entries;
        if self.entries == 0 {
            if !self.begin(elapsed, timed) {
                return false;
            }
        } else if !timed && self.taken > 0 {
            // These entries are timed again, and fewer together if dispatches may not have as many.
            self.broken += 1;
            self.taken -= 1;
            if self.broken > 1 {
                self.most = self.entries / 2;
                self.broken = 0;
            }
            if self.entries > self.most.max(1) {
                (self.entries, self.taken) = (self.most.max(1), 0);
            }
        } else if timed && !probed && elapsed < TICKS && self.entries < self.most {
            self.entries = (2 * self.entries + 1).min(self.most);
            self.taken = 0;
        } else if timed {
            self.broken = 0;
            let at = (self.taken as usize - 1) % LANE_TIMES;
            self.times[at] = elapsed / self.timing as u64;
            if probed && self.times[at] / HOPELESS < self.times[0] {
                // More entries must tell.
                self.taken -= 1;
            }
        }
        if let Some(by_lane) = self.faster(probed) {
            self.decide(by_lane);
            return true;
        }
        self.by_lane = BY_LANE[self.taken as usize % LANE_TIMES];
        self.timing = match self.taken {
            1 if !probed => FEWEST.min(self.entries),
            _ => self.entries,
        };
        self.taken += 1;
        self.warms = (self.most > 0) as u32;
        self.left = match self.warms {
            0 => self.timing - 1,
            _ => 0,
        };
        false
    }

    /// Lets entries run in one code until both are timed again: the longer, the more time it takes to time the slower one.
    fn decide(&mut self, by_lane: bool) {
        let [least, most] =
            [self.times_of(0), self.times_of(1)].map(|times| times.min().unwrap_or(1));
        let (least, most) = (least.min(most).max(1), least.max(most));
        let slower = (most / least).min(HOLDS as u64) as u32;
        self.by_lane = by_lane as u32;
        self.holds = (self.holds * 4)
            .max(FIRST_HOLDS * slower)
            .clamp(FIRST_HOLDS, HOLDS);
        self.left = self.holds * self.entries - 1;
        self.taken = 0;
    }

    /// The times of an entry in one code that were taken.
    fn times_of(&self, by_lane: u32) -> impl Iterator<Item = u64> {
        let times = self.times.iter().zip(BY_LANE).take(self.taken as usize);
        times.filter(move |t| t.1 == by_lane).map(|t| *t.0)
    }

    /// Returns true if the lanes' code is faster, false if vector code is, and `None` if more times are needed to tell. `probed`: the last time
    /// is of few entries.
    fn faster(&self, probed: bool) -> Option<bool> {
        // One of the times may be long because of work of the host.
        let much_less = |a: u32, b: u32| {
            let (worst, best) = (self.times_of(a).max(), self.times_of(b).min());
            worst
                .zip(best)
                .is_some_and(|(worst, best)| worst < best / MUCH)
        };
        match self.taken {
            2 if probed => Some(false),
            3.. if much_less(0, 1) => Some(false),
            4.. if much_less(1, 0) => Some(true),
            n if n as usize == LANE_TIMES => Some(self.lanes_are_faster()),
            _ => None,
        }
    }

    /// Counts one of the first entries: how long it took is known if `timed`. Returns true if the next ones are timed.
    fn begin(&mut self, elapsed: u64, timed: bool) -> bool {
        let [ticks, entries, ..] = &mut self.times;
        if timed {
            *ticks += elapsed;
            *entries += 1;
        }
        if self.taken < FIRST && *ticks < FIRST_TICKS {
            self.taken += 1;
            self.left = 0;
            return false;
        }
        // Long entries are timed one by one.
        let long = *ticks >= *entries * TICKS;
        (self.entries, self.most) = (if long { 1 } else { FEWEST }, MOST);
        self.taken = 0;
        true
    }

    /// Compares the times. The longest one of each code does not count: work of the host is in it. Lanes must be faster by a sixth, because vector
    /// code becomes faster the longer it runs.
    fn lanes_are_faster(&self) -> bool {
        let of = |by_lane| {
            let longest = self.times_of(by_lane).max();
            self.times_of(by_lane).sum::<u64>() - longest.unwrap_or(0)
        };
        let [all, lanes] = [of(0), of(1)];
        lanes < all - all / 6
    }
}

/// Chooses the code of a loop: the number of its choice is `slot`, and `ctx.lanes.lane` has its address.
///
/// # Safety
/// As of [`parts`].
pub(crate) unsafe extern "sysv64" fn choose(ctx: *mut Ctx, slot: u64) -> u64 {
    // SAFETY: the caller's.
    let (ctx, host) = unsafe { parts(ctx) };
    let tag = ctx.lanes.lane;
    let choice = &mut ctx.lanes.choices[slot as usize % LANE_LOOPS];
    if choice.tag != tag {
        *choice = LaneLoopChoice {
            tag,
            ..LaneLoopChoice::default()
        };
    }
    (host.choices).choose(choice, ticks(), ctx.lanes.dispatch);
    if ctx.lanes.always {
        choice.by_lane = 1;
    }
    0
}

/// Checks that a lane may load at the address in `ctx.lookup.address`, and remembers how far around it memory is like that. Nonzero: it may
/// not.
///
/// # Safety
/// As of [`parts`].
pub(crate) unsafe extern "sysv64" fn range(ctx: *mut Ctx, what: u64) -> u64 {
    // SAFETY: the caller's.
    let (ctx, pages, memory) = unsafe {
        let (ctx, host) = parts(ctx);
        let pages = page_states(ctx);
        (ctx, pages, host.machine.memory)
    };
    let (bytes, need, slot) = (what >> 32, MAPPED | what as u8, what >> 16 & 0xffff);
    let first = ctx.lookup.address.wrapping_sub(ctx.memory.start);
    let Some(last) = first.checked_add(bytes - 1) else {
        return 1;
    };
    if last >= ctx.memory.bytes {
        return 1;
    }
    let memory = (memory, ctx.memory.start);
    let Some(run) = permitted(memory, pages, first, last, need, AROUND) else {
        return 1;
    };
    let start = ctx.memory.start + run.start;
    ctx.remembered.ranges[slot as usize] = [start, run.end - run.start + 1 - bytes];
    0
}

/// Looks for a lane that has accessed what another one has stored: then the order of the lanes may matter, and vector code must run the loop.
/// Nonzero: there is one.
///
/// # Safety
/// As of [`parts`].
pub(crate) unsafe extern "sysv64" fn conflicts(ctx: *mut Ctx, what: u64) -> u64 {
    // SAFETY: the caller's.
    let (ctx, _) = unsafe { parts(ctx) };
    let places = Places::decode(what);
    depend(&ctx.lanes.accessed, ctx.lanes.exec, places) as u64
}

/// Returns true if two of the lanes may depend on each other, by the ranges of their accesses. A scalar is loaded for all lanes together, so
/// what it loads must not be stored by any lane.
fn depend(accessed: &[[[u64; 2]; 64]], exec: u64, places: Places) -> bool {
    let active = || (0..64).filter(|lane| exec >> lane & 1 != 0);
    let is = |bits: u16, place: usize| bits >> place & 1 != 0;
    let accessed = &accessed[..(places.count as usize).min(LANE_ACCESSES)];
    // Most loops store at one place.
    let (mut of_one, mut of_several) = ([[0; 3]; 64], Vec::new());
    let stored = match places.stores.count_ones() as usize {
        0 | 1 => &mut of_one[..],
        several => {
            of_several.resize(64 * several, [0; 3]);
            &mut of_several[..]
        }
    };
    let mut count = 0;
    for (place, ranges) in accessed.iter().enumerate() {
        if !is(places.stores, place) {
            continue;
        }
        for lane in active() {
            let [start, end] = ranges[lane];
            if start < end {
                stored[count] = [start, end, lane as u64];
                count += 1;
            }
        }
    }
    let stored = &mut stored[..count];
    if !stored.is_sorted() {
        stored.sort_unstable();
    }
    let Some(count) = disjoint(stored) else {
        return true;
    };
    let stored = &stored[..count];
    let (Some(first), Some(last)) = (stored.first(), stored.last()) else {
        return false;
    };
    let (start, end) = (first[0], last[1]);
    for (place, ranges) in accessed.iter().enumerate() {
        if is(places.stores, place) {
            continue;
        }
        let scalar = is(places.scalar, place);
        for lane in active() {
            let [from, to] = ranges[lane];
            if from >= end || to <= start {
                continue;
            }
            let after = stored.partition_point(|s| s[1] <= from);
            let met = stored[after..].iter().take_while(|s| s[0] < to);
            if met.into_iter().any(|s| scalar || s[2] != lane as u64) {
                return true;
            }
        }
    }
    false
}

/// Joins ranges of the same lane that meet, among ranges in order: start, end and lane. Returns how many are left. `None` if ranges of two lanes meet.
fn disjoint(ranges: &mut [[u64; 3]]) -> Option<usize> {
    let mut count: usize = 0;
    for k in 0..ranges.len() {
        let [start, end, lane] = ranges[k];
        match count.checked_sub(1).map(|last| &mut ranges[last]) {
            Some(last) if last[1] > start => {
                if last[2] != lane {
                    return None;
                }
                last[1] = last[1].max(end);
            }
            _ => {
                ranges[count] = ranges[k];
                count += 1;
            }
        }
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enters a loop that takes these times in vector code and lane by lane, some times in each dispatch. The first entry after one of the other code takes
    /// half as much again. Returns how often it ran lane by lane.
    fn enter(
        choice: &mut LaneLoopChoice,
        times: [u64; 2],
        (entries, in_dispatch): (usize, usize),
    ) -> usize {
        let (mut now, mut by_lane, mut last) = (choice.since, 0, 0);
        for n in 0..entries {
            // As compiled code counts.
            let (left, ask) = choice.left.overflowing_sub(1);
            choice.left = left;
            if ask {
                choice.choose(now, (n / in_dispatch) as u32);
            }
            by_lane += choice.by_lane as usize;
            let time = times[choice.by_lane as usize];
            now += time + (choice.by_lane != last) as u64 * time / 2;
            last = choice.by_lane;
            if n % 1000 == 0 || n % in_dispatch == in_dispatch - 1 {
                // The host does something else.
                now += 10_000_000;
            }
        }
        by_lane
    }

    #[test]
    fn lanes_depend_on_each_other_where_one_has_stored() {
        const NONE: [u64; 2] = [u64::MAX, 0];
        // Two loads and a store of lanes in rows of 100 bytes, in any order.
        let mut accessed = [[NONE; 64]; 3];
        let exec = 0x8000_0000_0000_10f0;
        let rows = |lane: u64| [(1000 - 10 * lane) * 100, (1000 - 10 * lane) * 100 + 100];
        for lane in (0..64).filter(|l| exec >> l & 1 != 0) {
            accessed[0][lane] = rows(lane as u64);
            accessed[1][lane] = [0, 40];
            accessed[2][lane] = rows(lane as u64);
        }
        let of = |accessed: &[[[u64; 2]; 64]], scalar| {
            let places = Places {
                count: 3,
                stores: 4,
                scalar,
            };
            depend(accessed, exec, places)
        };
        assert!(!of(&accessed, 0) && !of(&accessed, 2));
        // What a lane stores itself, it may load, but not as a scalar.
        assert!(of(&accessed, 1));
        let changed = |place: usize, lane: usize, range| {
            let mut accessed = accessed;
            accessed[place][lane] = range;
            of(&accessed, 0)
        };
        let [start, end] = rows(12);
        assert!(changed(0, 5, [start, start + 1]) && changed(1, 63, [end - 1, end]));
        assert!(!changed(0, 5, [end, end + 4]) && !changed(1, 63, [start - 4, start]));
        assert!(changed(2, 7, [end - 4, end]) && changed(2, 7, [start - 4, start + 1]));
        assert!(!changed(2, 7, [end, end + 1]) && !changed(2, 7, NONE));
        // Two stores of a lane may meet, but not those of two lanes.
        let twice = |by: u64| {
            let mut accessed = accessed;
            for lane in (0..64).filter(|l| exec >> l & 1 != 0) {
                let [start, end] = rows(lane as u64);
                accessed[1][lane] = [start + by, end + by];
            }
            let places = Places {
                count: 3,
                stores: 6,
                scalar: 0,
            };
            depend(&accessed, exec, places)
        };
        // Lanes' rows are 1,000 bytes apart.
        assert!(!twice(0) && !twice(50) && twice(1000) && !twice(500));
        // Inactive lanes do not count.
        assert!(!changed(2, 1, [start, end]));
    }

    #[test]
    fn much_slower_code_runs_a_few_times() {
        let mut choice = LaneLoopChoice::default();
        let by_lane = enter(&mut choice, [10, 300], (4000, 64));
        assert!(by_lane < 10, "{by_lane}");
        let mut choice = LaneLoopChoice::default();
        let by_lane = enter(&mut choice, [300, 10], (4000, 64));
        assert!(by_lane > 3800, "{by_lane}");
    }

    #[test]
    fn engines_learn_from_each_other() {
        let all = SharedChoices::default();
        let mut choices = [LaneLoopChoice::default(); 2];
        let (mut now, mut slow) = ([0, 0], [0, 0]);
        // The first engine runs alone at the beginning.
        for n in 0..20_000 {
            for (e, choice) in choices.iter_mut().enumerate().take(1 + (n > 2000) as usize) {
                choice.tag = 1;
                let (left, ask) = choice.left.overflowing_sub(1);
                choice.left = left;
                if ask {
                    all.choose(choice, now[e], 0);
                }
                now[e] += if choice.by_lane == 0 { 20_000 } else { 10_000 };
                slow[e] += (choice.by_lane == 0) as u32;
            }
        }
        assert!(slow[0] < 500 && slow[1] < 100, "{slow:?}");
    }

    #[test]
    fn the_faster_code_runs() {
        for scale in [1, 100, 100_000] {
            let mut choice = LaneLoopChoice::default();
            assert!(enter(&mut choice, [10 * scale, 20 * scale], (20_000, 100_000)) < 1000);
            // The data change, and so does the next choice.
            enter(&mut choice, [10 * scale, 2 * scale], (10_000, 100_000));
            assert!(enter(&mut choice, [10 * scale, 2 * scale], (20_000, 100_000)) > 19_000);
        }
    }

    #[test]
    fn the_faster_code_of_few_long_entries_runs() {
        for in_dispatch in [2, 3, 4, 8, 100] {
            for times in [[1_000_000, 600_000], [600_000, 1_000_000]] {
                let mut choice = LaneLoopChoice::default();
                let by_lane = enter(&mut choice, times, (400, in_dispatch));
                let faster = if times[1] < times[0] {
                    by_lane
                } else {
                    400 - by_lane
                };
                assert!(faster > 320, "{in_dispatch} {times:?} {faster}");
            }
        }
    }
}
