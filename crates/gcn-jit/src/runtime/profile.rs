//! Counts of what compiled code does, and reports of it.
//!
//! Code made for counting begins each block by adding one to the block's runs, the active lanes to its lanes, and the
//! time since the last block began to that one's ticks. The clock is the host's time stamp counter.

use crate::runtime::context::Ctx;
use crate::target::x64::encode::{Gpr, Mem, Rm, alu, mem};
use crate::target::x64::{CTX, Emit};
use gcn_isa::operand::EXEC;
use std::collections::BTreeMap;
use std::mem::offset_of;

/// The counts of a block, or of an instruction that the interpreter ran.
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of waves that ran it.
    pub times: u64,
    /// The sum of the active lanes of all runs.
    pub lanes: u64,
    /// Ticks of the time stamp counter from its beginning to that of the next one, or until the engine returned.
    pub ticks: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Tally) {
        self.times = self.times.wrapping_add(other.times);
        self.lanes = self.lanes.wrapping_add(other.lanes);
        self.ticks = self.ticks.wrapping_add(other.ticks);
    }
}

/// The host's time stamp counter.
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// The ticks that reading the counter twice takes: what counting itself adds to each run of a block, about.
pub fn tick_cost() -> u64 {
    let pair = || {
        let begun = ticks();
        ticks().wrapping_sub(begun)
    };
    (0..1000).map(|_| pair()).min().unwrap_or(0)
}

/// A piece of a region: straight GCN code and what was made of it.
#[derive(Clone, Debug)]
pub struct Piece {
    /// The address of its first instruction, and the address after its last one.
    pub start: u64,
    pub end: u64,
    /// The number of its instructions. 0: it is a part of the code of another piece.
    pub instructions: u32,
    /// The range of its code in the region's.
    pub code: std::ops::Range<usize>,
    /// Its counts, if the engine counts.
    pub tally: Tally,
}

/// A region that has been compiled.
#[derive(Clone, Debug)]
pub struct RegionCode {
    /// MODE and the number of VGPRs, for which it was compiled.
    pub mode: u32,
    pub vgprs: u16,
    /// The code's bytes.
    pub code: Vec<u8>,
    /// Its pieces, in the order of their code.
    pub pieces: Vec<Piece>,
}

/// What engines have compiled and counted.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The regions.
    pub regions: Vec<RegionCode>,
    /// What the interpreter ran instead of compiled code, by address.
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

/// What an engine counts.
#[derive(Default)]
pub(crate) struct Counts {
    /// The counts of dropped regions, and of instructions that the interpreter ran.
    pub before: Report,
    /// Of each region: of its blocks, and the last of what is none's.
    regions: Vec<Vec<Tally>>,
}

impl Counts {
    /// Nothing yet behind what was counted before.
    pub fn behind(before: Report) -> Counts {
        Counts {
            before,
            regions: Vec::new(),
        }
    }

    /// Of a region's blocks.
    pub fn of(&self, region: usize) -> &[Tally] {
        self.regions.get(region).map_or(&[], Vec::as_slice)
    }

    /// The code of a region with this many blocks is about to run.
    pub fn begin(&mut self, region: usize, blocks: usize, ctx: &mut Ctx) {
        if self.regions.len() <= region {
            self.regions.resize_with(region + 1, Vec::new);
        }
        let tallies = &mut self.regions[region];
        tallies.resize(blocks + 1, Tally::default());
        ctx.tallies = tallies.as_mut_ptr();
        // Until a block begins.
        ctx.tally_now = ctx.tallies.wrapping_add(blocks);
        ctx.tally_since = ticks();
    }

    /// The code has returned. `rolled_back`: the block that was rolled back, and EXEC.
    pub fn end(&mut self, region: usize, ctx: &Ctx, rolled_back: Option<(usize, u64)>) {
        let spent = ticks().wrapping_sub(ctx.tally_since);
        let tallies = &mut self.regions[region];
        let now =
            (ctx.tally_now as usize).wrapping_sub(tallies.as_ptr() as usize) / size_of::<Tally>();
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

/// The name of a memory operand of compiled code. Register RBX points at the wave, R12 at its VGPRs, RBP at the context.
pub fn name_of(base: &str, displacement: i64) -> Option<String> {
    crate::target::x64::name_of(base, displacement)
}

/// The fields of the context that are worth a name, and where they begin.
pub(crate) fn field(displacement: usize) -> Option<&'static str> {
    let fields = [
        (offset_of!(Ctx, lanes), "lane numbers"),
        (offset_of!(Ctx, strides), "strides"),
        (offset_of!(Ctx, even), "even elements"),
        (offset_of!(Ctx, odd), "odd elements"),
        (offset_of!(Ctx, zip_low), "zip"),
        (offset_of!(Ctx, addresses), "helper's addresses"),
        (offset_of!(Ctx, data), "helper's data"),
        (offset_of!(Ctx, wave), ""),
        (offset_of!(Ctx, bias), "bias"),
        (offset_of!(Ctx, pages), ""),
        (offset_of!(Ctx, linear_base), "linear base"),
        (offset_of!(Ctx, linear_bytes), "linear bytes"),
        (offset_of!(Ctx, lds), "LDS"),
        (offset_of!(Ctx, lds_bytes), "LDS bytes"),
        (offset_of!(Ctx, fuel), "fuel"),
        (offset_of!(Ctx, synced), ""),
        (offset_of!(Ctx, interpret), "interpreter"),
        (offset_of!(Ctx, load), ""),
        (offset_of!(Ctx, mxcsr), "MXCSR"),
        (offset_of!(Ctx, lanes_on), "lanes on"),
        (offset_of!(Ctx, scalars), "scalar"),
        (offset_of!(Ctx, masks), "mask"),
        (offset_of!(Ctx, save), "saved"),
        (offset_of!(Ctx, vectors), "spilled"),
        (offset_of!(Ctx, ranges), "range"),
        (offset_of!(Ctx, range_tags), "range's tag"),
    ];
    let known = fields.into_iter().filter(|f| f.0 <= displacement);
    let (_, name) = known.max_by_key(|f| f.0)?;
    (!name.is_empty()).then_some(name)
}

const RAX: Gpr = 0;
const RCX: Gpr = 1;
const RDX: Gpr = 2;

impl Emit<'_> {
    /// Begins a block of code that counts.
    pub(crate) fn tally(&mut self, number: usize) {
        let at = |field: usize| mem(CTX, field as i32);
        let kept = [RAX, RCX, RDX];
        for (n, r) in kept.into_iter().enumerate() {
            self.a
                .store(true, at(offset_of!(Ctx, tally_kept) + 8 * n), r);
        }
        let here = |offset: usize| Mem {
            index: None,
            ..mem(RCX, offset as i32)
        };
        self.a.buf.extend([0x0f, 0x31]); // rdtsc
        self.a.shift_imm(4, true, RDX, 32);
        self.a.alu(alu::OR, true, RAX, Rm::R(RDX));
        self.a.mov(true, RDX, Rm::R(RAX));
        self.a
            .alu(alu::SUB, true, RDX, Rm::M(at(offset_of!(Ctx, tally_since))));
        self.a.store(true, at(offset_of!(Ctx, tally_since)), RAX);
        self.a.mov(true, RCX, Rm::M(at(offset_of!(Ctx, tally_now))));
        self.a
            .g(true, &[0x01], RDX, Rm::M(here(offset_of!(Tally, ticks)))); // add
        self.a.mov(true, RCX, Rm::M(at(offset_of!(Ctx, tallies))));
        let bytes = (number * size_of::<Tally>()) as i32;
        self.a.alu_imm(alu::ADD, true, Rm::R(RCX), bytes);
        self.a.store(true, at(offset_of!(Ctx, tally_now)), RCX);
        self.a
            .alu_imm(alu::ADD, true, Rm::M(here(offset_of!(Tally, times))), 1);
        self.a.buf.push(0xf3); // popcnt
        self.a.g(
            true,
            &[0x0f, 0xb8],
            RAX,
            Rm::M(crate::target::x64::sgpr_home(EXEC as u8)),
        );
        self.a
            .g(true, &[0x01], RAX, Rm::M(here(offset_of!(Tally, lanes))));
        for (n, r) in kept.into_iter().enumerate() {
            self.a
                .mov(true, r, Rm::M(at(offset_of!(Ctx, tally_kept) + 8 * n)));
        }
    }

    /// Counts a run, by all lanes, of other blocks that this one replaces.
    pub(crate) fn tally_too(&mut self, numbers: &[usize]) {
        let kept = mem(CTX, offset_of!(Ctx, tally_kept) as i32);
        self.a.store(true, kept, RCX);
        self.a
            .mov(true, RCX, Rm::M(mem(CTX, offset_of!(Ctx, tallies) as i32)));
        for number in numbers {
            for (field, by) in [
                (offset_of!(Tally, times), 1),
                (offset_of!(Tally, lanes), 64),
            ] {
                let at = mem(RCX, (number * size_of::<Tally>() + field) as i32);
                self.a.alu_imm(alu::ADD, true, Rm::M(at), by);
            }
        }
        self.a.mov(true, RCX, Rm::M(kept));
    }
}
