//! Loops that can run for one lane after the other: which of their two codes runs.
//!
//! Which one is faster depends on the data: on how long lanes stay in the loop, and on where they load from. So both are timed. After
//! some entries in vector code they take turns; then the faster one runs for many entries, and both are timed again. Both leave the same state.

use crate::context::{Ctx, LANE_LOOPS, LANE_TIMES, LaneLoopChoice};
use crate::runtime::helpers::{AROUND, page_states, parts, permitted};
use crate::runtime::profile::ticks;
use gcn_emu::mem::MAPPED;

/// The first entries, which run vector code and are not timed: memory comes to the cache, and accesses learn how lanes move.
const FIRST: u32 = 16;
/// Entries are timed together until they take this many ticks, or are this many: the first ones after a change of code are slow. Their number is odd,
/// because every second or fourth wave often has more work than the others.
const TICKS: u64 = 40_000;
const FEWEST: u32 = 3;
const MOST: u32 = 31;
/// Which of the timed entries run lane by lane, in an order that no period of the waves' work resembles.
const BY_LANE: [u32; LANE_TIMES] = [0, 1, 1, 0, 1, 0, 0, 1];
/// For how many times as many entries as are timed together a choice holds: the first one, which may be made before the data are in the cache, and
/// later ones.
const FIRST_HOLDS: u32 = 8;
const HOLDS: u32 = 256;

impl LaneLoopChoice {
    /// Chooses the code for the next entries. The entries since the last choice have ended, and with them what came between them, which does
    /// not depend on the choice.
    fn choose(&mut self, now: u64) {
        let elapsed = now.wrapping_sub(self.since);
        if self.entries == 0 {
            (self.entries, self.left) = (FEWEST, FIRST - 1);
            return;
        }
        match self.taken as usize {
            0 => {}
            _ if elapsed < TICKS && self.entries < MOST => {
                self.entries = 2 * self.entries + 1;
                self.taken = 0;
            }
            n => self.times[(n - 1) % LANE_TIMES] = elapsed / self.entries as u64,
        }
        if self.taken as usize == LANE_TIMES {
            self.taken = 0;
            self.by_lane = self.lanes_are_faster() as u32;
            self.holds = (self.holds * 4).clamp(FIRST_HOLDS, HOLDS);
            self.left = self.holds * self.entries - 1;
            return;
        }
        self.by_lane = BY_LANE[self.taken as usize % LANE_TIMES];
        self.taken += 1;
        self.left = self.entries - 1;
        self.since = now;
    }

    /// Compares the times. The longest one of each code does not count: work of the host is in it. Lanes must be faster by a sixth, because vector
    /// code becomes faster the longer it runs.
    fn lanes_are_faster(&self) -> bool {
        let of = |by_lane: u32| {
            let times = self.times.iter().zip(BY_LANE);
            let times = times.filter(|t| t.1 == by_lane).map(|t| *t.0);
            times.clone().sum::<u64>() - times.max().unwrap_or(0)
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
    let (ctx, _) = unsafe { parts(ctx) };
    let tag = ctx.lanes.lane;
    let choice = &mut ctx.lanes.choices[slot as usize % LANE_LOOPS];
    if choice.tag != tag {
        *choice = LaneLoopChoice {
            tag,
            ..LaneLoopChoice::default()
        };
    }
    choice.choose(ticks());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Enters a loop that takes these times in vector code and lane by lane. Returns how often it ran lane by lane.
    fn enter(choice: &mut LaneLoopChoice, times: [u64; 2], entries: usize) -> usize {
        let (mut now, mut by_lane) = (choice.since, 0);
        for n in 0..entries {
            match choice.left.checked_sub(1) {
                Some(left) => choice.left = left,
                None => choice.choose(now),
            }
            by_lane += choice.by_lane as usize;
            now += times[choice.by_lane as usize];
            if n % 1000 == 0 {
                // The host does something else.
                now += 100_000;
            }
        }
        by_lane
    }

    #[test]
    fn the_faster_code_runs() {
        for scale in [1, 100, 100_000] {
            let mut choice = LaneLoopChoice::default();
            assert!(enter(&mut choice, [10 * scale, 20 * scale], 20_000) < 1000);
            // The data change, and so does the next choice.
            enter(&mut choice, [10 * scale, 2 * scale], 10_000);
            assert!(enter(&mut choice, [10 * scale, 2 * scale], 20_000) > 19_000);
        }
    }
}
