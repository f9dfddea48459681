//! Where waves continue that have left a region for waves that start: in the same region after a time slice or interpreted
//! instructions, or in one that assumes less after a guard has failed.

use crate::runtime::cache::{CachedRegion, Key};
use crate::runtime::engine::{CodePointer, Entry, Exit, Jit, Scalars, holds, must_interpret};
use gcn_emu::engine::{Machine, Stop};
use gcn_emu::wave::WaveState;
use std::ops::Range;

/// The number of failed guards from which on waves start in code that assumes less, if they are a quarter of the waves.
const MISSES: u64 = 64;

/// The number of failed guards up to which the interpreter runs the block.
const INTERPRETED: u64 = 16;

/// A wave that has not left its region, although it is not in compiled code. The facts about values that hold from block to block of
/// the region hold for it.
#[derive(Clone, Copy)]
pub(crate) struct Paused {
    region: u32,
    /// The block that the wave is in.
    block: usize,
    /// The wave's state, from which it has continued in no other way.
    pc: u64,
    clock: u64,
}

impl Paused {
    /// Returns true if the wave has done nothing else.
    fn is(&self, wave: &WaveState) -> bool {
        (self.pc, self.clock) == (wave.pc, wave.clock)
    }
}

/// Returns the number of the block that contains an address: `hint`, or another one.
fn block_of(region: &CachedRegion, pc: u64, hint: usize) -> Option<usize> {
    let contains = |n: &usize| {
        let (start, end, ..) = region.blocks[*n];
        (start..end).contains(&pc)
    };
    let others = 0..region.blocks.len();
    std::iter::once(hint).chain(others).find(contains)
}

impl Jit {
    /// Records that a wave has stopped at the start of a region's block.
    pub(crate) fn pause(&mut self, region: u32, block: usize, wave: &WaveState) {
        if self.code.regions[region as usize].key.entry.is_none() || self.observer.attached {
            return;
        }
        let paused = Paused {
            region,
            block,
            pc: wave.pc,
            clock: wave.clock,
        };
        self.group.paused.insert(wave.number, paused);
    }

    /// Interprets one instruction of a wave that may be paused in a region.
    pub(crate) fn step_paused(
        &mut self,
        wave: &mut WaveState,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> Option<Stop> {
        let paused = self.group.paused.remove(&wave.number);
        let paused = paused.filter(|paused| paused.is(wave));
        let stop = self.interpret_one(wave, machine, fuel);
        let Some(mut paused) = paused else {
            return stop;
        };
        let region = self.code.regions.get(paused.region as usize);
        if let Some(block) = region.and_then(|r| block_of(r, wave.pc, paused.block)) {
            (paused.block, paused.pc, paused.clock) = (block, wave.pc, wave.clock);
            self.group.paused.insert(wave.number, paused);
        }
        stop
    }

    /// Returns where a wave that is paused in a region continues in its code. The interpreter runs the rest of the block that the wave is in.
    pub(crate) fn resume(
        &mut self,
        wave: &mut WaveState,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> Result<Option<CodePointer>, Stop> {
        let Some(paused) = self.group.paused.remove(&wave.number) else {
            return Ok(None);
        };
        if !paused.is(wave)
            || must_interpret(wave)
            || self.recorded == Some(true)
            || self.testing.compare
            || !self.fresh(paused.region, machine)
        {
            return Ok(None);
        }
        let (start, end, ..) = self.code.regions[paused.region as usize].blocks[paused.block];
        if wave.pc > start {
            self.interpret_block(start..end, wave, machine, fuel)?;
        }
        Ok(self.inside(paused.region, wave))
    }

    /// Returns the code of the block at a wave's address in a region which the wave has not left. `None` if it cannot enter it: no
    /// block begins there, or the interpreter has not written inactive lanes of VGPRs that the code assumes to be affine.
    pub(crate) fn inside(&self, region: u32, wave: &WaveState) -> Option<CodePointer> {
        let known = &self.code.regions[region as usize];
        let key = known.key;
        let same = (known.mode(wave.pc), key.vgprs as usize) == (wave.mode, wave.vgprs.len());
        if !same || key.entry.is_none() {
            return None;
        }
        let affine = known.steps(wave.pc)?;
        let at = known.inside(wave.pc).filter(|_| holds(affine, wave))?;
        CodePointer::new(region, at)
    }

    /// Returns where a wave continues that has left a region because a guard of the block at its address failed. The interpreter runs the block
    /// the first few times, which shows the other blocks whose guards fail. If guards fail often, the wave continues in a region
    /// that assumes less, and waves start there.
    pub(crate) fn after_miss(
        &mut self,
        exit: Exit,
        wave: &mut WaveState,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> Result<Option<CodePointer>, Stop> {
        let known = &mut self.code.regions[exit.region as usize];
        let (start, end, ..) = known.blocks[exit.block()];
        known.missed += 1;
        let suspect = known.suspects.binary_search_by_key(&start, |s| s.0);
        let suspect = suspect.ok().map(|found| known.suspects[found]);
        let suspect = suspect.filter(|suspect| !known.missed_blocks.contains(suspect));
        known.missed_blocks.extend(suspect);
        let few = known.missed <= INTERPRETED && !self.testing.cautious;
        if few && known.cautious.is_none() {
            self.interpret_block(start..end, wave, machine, fuel)?;
            if let Some(at) = self.inside(exit.region, wave) {
                return Ok(Some(at));
            }
        }
        let known = &self.code.regions[exit.region as usize];
        let often = known.missed > MISSES && known.missed > known.begun / 4;
        let key = known.key;
        let next = self.more_cautious(exit.region, &wave.sgprs, machine);
        match next {
            Some(next) if often => self.start_in(next),
            None if often => {
                self.code
                    .entries
                    .insert(key.without_caution(), Entry::Interpret);
                self.invalidate_wave_entries();
            }
            _ => {}
        }
        Ok(next.and_then(|next| self.inside(next, wave)))
    }

    /// Interprets the instructions of a block, as far as the fuel goes.
    pub(crate) fn interpret_block(
        &mut self,
        block: Range<u64>,
        wave: &mut WaveState,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> Result<(), Stop> {
        loop {
            if let Some(stop) = self.interpret_one(wave, machine, fuel) {
                return Err(stop);
            }
            if wave.pc <= block.start || wave.pc >= block.end {
                return Ok(());
            }
        }
    }

    /// Returns the number of the region that does not assume what failed in another one. It is compiled if there is none yet. `None` if
    /// even less would not help.
    fn more_cautious(
        &mut self,
        region: u32,
        now: &[u32; 128],
        machine: &Machine<'_>,
    ) -> Option<u32> {
        let known = &self.code.regions[region as usize];
        let (key, exact, cautious) = (known.key, known.exact, known.cautious);
        let next = match cautious {
            Some(next) => next,
            None if !self.may_compile(key.mode) => return None,
            None => {
                let missed = &self.code.regions[region as usize].missed_blocks;
                let next = self.code.library.more_cautious(key, missed);
                let next =
                    next.and_then(|key| self.compile_again((region, key), now, machine, exact));
                self.code.regions[region as usize].cautious = Some(next);
                next
            }
        };
        next.filter(|&next| self.fresh(next, machine))
    }

    /// Compiles a region again for code that meets NaNs. Waves that start in it start in the new one.
    pub(crate) fn compile_exact(&mut self, region: u32, now: &[u32; 128], machine: &Machine<'_>) {
        let key = self.code.regions[region as usize].key;
        let new = self.compile_again((region, key), now, machine, true);
        self.code.regions[region as usize].replaced = new;
        let start = self.code.entries.get(&key.without_caution());
        if let (Some(new), Some(&Entry::Code(at))) = (new, start)
            && at.region() == region
        {
            self.start_in(new);
        }
    }

    /// Makes waves that start with a region's key, whatever its caution, start in the region.
    fn start_in(&mut self, region: u32) {
        let known = &self.code.regions[region as usize];
        let start = known.key.without_caution();
        let first = CodePointer::new(region, known.first);
        let entry = first.map_or(Entry::Interpret, Entry::Code);
        self.code.entries.insert(start, entry);
        self.invalidate_wave_entries();
    }

    /// Compiles a region again, for another key or for code that meets NaNs. `now` are the scalar registers of a wave that left it. Returns the
    /// number of the new region if there is code.
    fn compile_again(
        &mut self,
        (region, key): (u32, Key),
        now: &[u32; 128],
        machine: &Machine<'_>,
        exact: bool,
    ) -> Option<u32> {
        let known = &self.code.regions[region as usize];
        let start = known.sgprs.clone();
        let steps = known.steps(known.key.pc).map(<[_]>::to_vec);
        self.steps = steps.unwrap_or_default();
        let count = self.code.regions.len();
        let sgprs = Scalars { start: &start, now };
        self.compile(key, sgprs, machine, exact);
        self.steps.clear();
        self.invalidate_wave_entries();
        (self.code.regions.len() > count).then_some(count as u32)
    }
}
