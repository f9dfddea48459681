//! Counts of what compiled code does, and reports of it.
//!
//! Code made for counting begins each block by adding one to the block's runs, the active lanes to its lanes, and the
//! time since the previous block began to the previous block's ticks. The clock is the host's time stamp counter.

use crate::context::{Ctx, Tally};
use std::collections::BTreeMap;

/// Reads the host's time stamp counter.
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Returns the ticks that reading the counter twice takes, which is about the overhead of counting per run of a block.
pub fn tick_cost() -> u64 {
    let pair = || {
        let begun = ticks();
        ticks().wrapping_sub(begun)
    };
    (0..1000).map(|_| pair()).min().unwrap_or(0)
}

/// A piece of a region: straight GCN code and its compiled code.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The address of its first instruction.
    pub start: u64,
    /// The address after its last instruction.
    pub end: u64,
    /// The number of its instructions. 0 if its code is a part of another piece's.
    pub instructions: u32,
    /// The range of its code in the region's code.
    pub code: std::ops::Range<usize>,
    /// Its counts, if the engine counts.
    pub tally: Tally,
}

/// A region that has been compiled.
#[derive(Clone, Debug)]
pub struct RegionCode {
    /// The MODE for which it was compiled.
    pub mode: u32,
    /// The number of VGPRs, for which it was compiled.
    pub vgprs: u16,
    /// The code's bytes.
    pub code: Vec<u8>,
    /// Its pieces, in the order of their code.
    pub pieces: Vec<Piece>,
}

/// The compiled code of engines and their counts.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The regions.
    pub regions: Vec<RegionCode>,
    /// Instructions that the interpreter ran instead of compiled code, by address.
    pub interpreted: BTreeMap<u64, Tally>,
}

impl Report {
    /// Adds another engine's report. Several engines may compile the same code.
    pub(crate) fn join(&mut self, other: Report) {
        for region in other.regions {
            let same = |u: &&mut RegionCode| {
                let first = |u: &RegionCode| (u.pieces.first().map(|p| p.start), u.pieces.len());
                (u.mode, u.vgprs) == (region.mode, region.vgprs)
                    && first(u) == first(&region)
                    && u.code.len() == region.code.len()
            };
            match self.regions.iter_mut().find(same) {
                Some(known) => {
                    for (known, piece) in known.pieces.iter_mut().zip(&region.pieces) {
                        known.tally.add(&piece.tally);
                    }
                }
                None => self.regions.push(region),
            }
        }
        for (pc, tally) in other.interpreted {
            self.interpreted.entry(pc).or_default().add(&tally);
        }
    }
}

/// The counts of an engine.
#[derive(Default)]
pub(crate) struct Counts {
    /// The counts of dropped regions, and of instructions that the interpreter ran.
    pub before: Report,
    /// For each region: the counts of its blocks, and last those of code outside of blocks.
    regions: Vec<Vec<Tally>>,
}

impl Counts {
    /// Creates empty counts that continue the report `before`.
    pub fn after(before: Report) -> Counts {
        Counts {
            before,
            regions: Vec::new(),
        }
    }

    /// Returns the counts of a region's blocks.
    pub fn of(&self, region: usize) -> &[Tally] {
        self.regions.get(region).map_or(&[], Vec::as_slice)
    }

    /// Prepares for running the code of a region with this number of blocks.
    pub fn begin(&mut self, region: usize, blocks: usize, ctx: &mut Ctx) {
        if self.regions.len() <= region {
            self.regions.resize_with(region + 1, Vec::new);
        }
        let tallies = &mut self.regions[region];
        tallies.resize(blocks + 1, Tally::default());
        ctx.counts.tallies = tallies.as_mut_ptr();
        // Time before the first block belongs to no block.
        ctx.counts.now = ctx.counts.tallies.wrapping_add(blocks);
        ctx.counts.since = ticks();
    }

    /// Updates the counts after the code has returned. `rolled_back` is the block that was rolled back, and EXEC.
    pub fn end(&mut self, region: usize, ctx: &Ctx, rolled_back: Option<(usize, u64)>) {
        let spent = ticks().wrapping_sub(ctx.counts.since);
        let tallies = &mut self.regions[region];
        let now =
            (ctx.counts.now as usize).wrapping_sub(tallies.as_ptr() as usize) / size_of::<Tally>();
        if let Some(tally) = tallies.get_mut(now) {
            tally.ticks = tally.ticks.wrapping_add(spent);
        }
        if let Some((block, exec)) = rolled_back {
            tallies[block].times = tallies[block].times.saturating_sub(1);
            let lanes = exec.count_ones() as u64;
            tallies[block].lanes = tallies[block].lanes.saturating_sub(lanes);
        }
    }
}
