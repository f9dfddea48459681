//! From blocks to x86-64 code. What all levels share is here and in the files of `x64/`; vector code is each level's own
//! ([`vectors`]).
//!
//! A block's code has this order: scalars that do not depend on lanes; the vector values of 16 lanes after the other (a slice
//! without an active lane is skipped); scalars that depend on lanes; writes that were deferred until nothing can fail; the
//! terminator.

use crate::context::LiveIns;
use crate::context::{Ctx, SCALARS, TimeSlice, VECTORS};
use crate::hash::Map;
use crate::ir::affine::BaseKind;
use crate::ir::fast_path::Call;
use crate::ir::grid::Builder;
use crate::ir::region::{Block, FpEnv, LiveLanes, LoopBlocks, Region, Terminator};
use crate::ir::{Id, Inst, Node};
use crate::passes::Dump;
use crate::passes::optional::{LeftOut, Optional};
use crate::passes::{self, Extreme, Plan, VectorOp};
use crate::target::Level;
use crate::target::x64::encode::*;
use gcn_emu::fp::Mode;
use gcn_emu::mem::{ALIAS, MAPPED};
use gcn_emu::wave::WaveState;
use gcn_isa::meaning::{Op, Space};
use gcn_isa::operand::EXEC;
use gcn_isa::shape::Ty;
use std::mem::{Discriminant, discriminant, offset_of};
use std::sync::Arc;

/// Why compiled code returned: the lower byte of its result. The rest is the block's number.
pub const EXIT_LEAVE: u64 = 0;
pub const EXIT_RESTART: u64 = 1;
pub const EXIT_FUEL: u64 = 2;
pub const EXIT_END: u64 = 3;
pub const EXIT_BARRIER: u64 = 4;
pub const EXIT_STOP: u64 = 5;
/// A guard of an affine value failed: code without affine values continues with the block.
pub const EXIT_NOT_AFFINE: u64 = 6;
/// Lanes are active for which there is no code ([`Style::slices`]).
pub const EXIT_WIDE: u64 = 9;
/// The number of slices of a wave, of 16 lanes each.
pub const SLICES: u8 = 4;
/// The next time slice must not begin now. There is no block's number.
pub const EXIT_NEXT: u64 = 7;
/// The interpreter must run the block outside compiled code.
pub const EXIT_ALONE: u64 = 8;

/// The number of operations by which a block whose slices keep values in registers may be longer before its slices are a loop.
const KEPT: usize = 20;

/// The number of VGPRs below the address in R12, so that short displacements reach more.
pub const VGPR_BIAS: i32 = 32;

pub const CTX: Gpr = RBP;
const WAVE: Gpr = RBX;
const VGPRS: Gpr = R12;
pub const BIAS: Gpr = R13;

/// The memory at an address of the guest that may be accessed: the address is in a register, and a constant is added to it.
pub(crate) fn guest_memory(address: Gpr, disp: i32) -> Mem {
    Mem {
        base: BIAS,
        index: Some((address, 1)),
        disp,
    }
}
const PAGES: Gpr = R14;
const FUEL: Gpr = R15;
macro_rules! ctx {
    ($($field:ident).+) => {
        mem(CTX, offset_of!(Ctx, $($field).+) as i32)
    };
    ($($field:ident).+, $plus:expr) => {
        mem(CTX, (offset_of!(Ctx, $($field).+) + $plus) as i32)
    };
}

mod affine;
mod atomic;
mod avx2;
mod avx512;
mod bases;
mod cross_lane;
pub(crate) mod encode;
pub(crate) mod grid;
mod lanes;
mod lds;
mod machine;
mod memory;
mod profile;
pub(crate) mod range;
mod scalar;
mod select;
mod slice;
mod slow;
mod tiles;
mod time_slices;
mod vectors;
mod wave_helper;

use grid::{Grid, GridCode};
use machine::State;
use scalar::Scalars;
use select::bounds_of_tiny_as_f32;
use slice::vgpr_line;
use tiles::Tiles;
use vectors::{Accesses, Selection, SlowPaths, Staging, VectorIsa, Vectors};

pub(crate) fn sgpr_home(code: u8) -> Mem {
    mem(
        WAVE,
        (offset_of!(WaveState, sgprs) + 4 * code as usize) as i32,
    )
}

/// The options of code generation.
#[derive(Clone, Copy)]
pub struct Style<'a> {
    /// The instruction set.
    pub level: Level,
    /// The code counts what it runs.
    pub tally: bool,
    /// NaNs of float results are put right as they are made.
    pub exact: bool,
    /// Guest addresses are the host's, and have aliases.
    pub aliased: bool,
    /// Optimisations that are left out.
    pub left_out: LeftOut,
    /// For tests: blocks run lane by lane that can, however many lanes are active.
    pub few_lanes: bool,
    /// The number of slices in which lanes may be active.
    pub slices: u8,
    /// Receives the plans of blocks.
    pub dump: Option<&'a Dump>,
}

#[cfg(test)]
impl Style<'_> {
    /// Code as it is usually generated, at a level.
    pub(crate) fn plain(level: Level) -> Style<'static> {
        Style {
            level,
            tally: false,
            exact: false,
            aliased: false,
            left_out: Default::default(),
            few_lanes: false,
            slices: SLICES,
            dump: None,
        }
    }
}

/// Why a region has no code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// A block needs more room than there is in the context.
    TooLarge,
    /// The compiler made something that the target has no code for.
    Mistake,
}

/// A region's code.
pub struct Emitted {
    pub code: Vec<u8>,
    /// Where constants follow the code.
    pub end: usize,
    /// Where each block's code begins for a wave that has stayed in the region and has nothing in host registers: after a barrier,
    /// or after the interpreter has run a block.
    pub starts: Vec<usize>,
    /// Blocks check for NaNs, and are re-executed if there is one.
    pub checks: bool,
    /// The slow paths that the code calls by number.
    pub calls: Vec<Arc<Call>>,
    /// The numbers of the remembered ranges, and their addresses in the code.
    pub ranges: Vec<u32>,
    pub fixups: Vec<range::Fixup>,
    /// The entry of each block for a wave from outside the region, about which nothing is known. Not used for regions for waves
    /// that start ([`CompileRequest::entry`](crate::frontend::CompileRequest::entry)).
    pub outside: Vec<usize>,
    /// Where waves of a [batch](crate::context::Batch) begin, if they can begin in the region.
    pub batch: Option<usize>,
    /// Where they begin whose addresses were evaluated for the dispatch.
    pub grid: Option<GridCode>,
}

/// Waves that start in a region one after the other.
#[derive(Clone, Copy)]
pub struct BatchStart<'a> {
    /// The registers that they are given.
    pub live_ins: &'a LiveIns,
    /// The address where they begin.
    pub entry: u64,
    /// The registers that workgroups' IDs are in, as a rule.
    pub ids: &'a [u8],
}

/// The name of a memory operand, for [`name_of`](crate::target::name_of).
pub(crate) fn name_of(base: &str, displacement: i64) -> Option<String> {
    match base {
        "RBX" => {
            let at = usize::try_from(displacement).ok()?;
            let sgprs = offset_of!(WaveState, sgprs);
            if at == offset_of!(WaveState, scc) {
                return Some("scc".into());
            }
            if at == offset_of!(WaveState, mode) {
                return Some("mode".into());
            }
            let code = at.checked_sub(sgprs).filter(|d| *d < 512)? / 4;
            Some(match code {
                106 => "vcc_lo".into(),
                107 => "vcc_hi".into(),
                124 => "m0".into(),
                126 => "exec_lo".into(),
                127 => "exec_hi".into(),
                n => format!("s{n}"),
            })
        }
        "R12" => {
            let at = usize::try_from(displacement + VGPR_BIAS as i64 * 256).ok()?;
            let first = at % 256 / 4;
            let lane = if first == 0 {
                String::new()
            } else {
                format!("[{first}..]")
            };
            Some(format!("v{}{lane}", at / 256))
        }
        "RBP" => {
            let at = usize::try_from(displacement).ok()?;
            profile::field(at).map(str::to_owned)
        }
        _ => None,
    }
}

/// Emits the code of a region. `batch`: the waves that start in the code, if waves may start one after the other.
///
/// # Errors
/// Why there is none.
pub fn emit(
    region: &Region,
    style: Style<'_>,
    batch: Option<BatchStart<'_>>,
) -> Result<Emitted, Refused> {
    match style.level {
        Level::Avx512 => emit_for::<avx512::Avx512>(region, style, batch),
        Level::Avx2 => emit_for::<avx2::Avx2>(region, style, batch),
    }
}

/// What a block's code is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The plain block: any wave.
    Plain,
    /// Waves of which few lanes are active.
    FewLanes,
    /// Waves for which another block has been built.
    Variant,
}

/// Which blocks are between a branch backwards and where it goes.
fn in_loops(blocks: &[Block]) -> Vec<bool> {
    let mut repeats = vec![false; blocks.len()];
    for c in blocks {
        let to = match c.terminator {
            Terminator::Jump(pc) => pc,
            Terminator::Branch { taken, next, .. } => taken.min(next),
            _ => continue,
        };
        if to > c.start {
            continue;
        }
        for (b, repeats) in blocks.iter().zip(&mut repeats) {
            *repeats |= (to..=c.start).contains(&b.start);
        }
    }
    repeats
}

/// [`emit`] at a level.
fn emit_for<V: Vectors>(
    region: &Region,
    style: Style<'_>,
    batch: Option<BatchStart<'_>>,
) -> Result<Emitted, Refused> {
    let mut a = Asm::new();
    a.noted_from = Some(range::UNRESOLVED);
    let mut grid = grid_builder(region, &style, batch);
    let start = batch.map(|b| (b.live_ins, grid.is_some()));
    let (common, batch_at) = Common::begin::<V>(&mut a, region, style, start);
    let options = passes::Options {
        exact: style.exact,
        precise: region.precise,
        registers: match style.left_out.has(Optional::Pressure) {
            true => 0,
            false => V::REGISTERS[0],
        },
        truths_in_registers: V::TRUTH == 0,
        ternary_logic: V::TERNARY_LOGIC && !style.left_out.has(Optional::TernaryLogic),
        selections: !style.left_out.has(Optional::Selections),
    };
    let mut starts = Vec::with_capacity(region.blocks.len());
    let mut out = RegionOutput::default();
    let repeats = in_loops(&region.blocks);
    let numbers = Numbers::of(&region.blocks);
    for (number, block) in region.blocks.iter().enumerate() {
        starts.push(a.buf.len());
        a.bind(common.labels[&block.start]);
        if let Some(&(again, _)) = common.again.get(&block.start) {
            if let Some(l) = block
                .lane_loop
                .as_deref()
                .filter(|_| !style.tally && !style.aliased)
            {
                let c = &l.blocks[0];
                let plan = passes::plan(c, &lanes::options(), None);
                let at = numbers.of_block(c, number);
                let mut e = Emit::<'_, V>::new(&mut a, c, (&common, &mut out), at, plan);
                match l.blocks.len() {
                    1 => e.lane_loop(again),
                    _ => e.lane_paths(l, again),
                }
            }
            a.bind(again);
        }
        if let Some(&(_, label)) = common.inner.get(&block.start) {
            Emit::<V>::empty_tiles(&mut a);
            a.bind(label);
        }
        let few = common.few_lanes && lanes::block::is_possible(block);
        let mut variants = [
            (block.all_active.as_deref(), Kind::Variant),
            (block.assuming_less.as_deref(), Kind::Variant),
            (few.then_some(block), Kind::FewLanes),
            (block.joined.as_deref(), Kind::Variant),
            (Some(block), Kind::Plain),
        ];
        if joined_first(block, &region.blocks) {
            variants[..4].rotate_right(1);
        }
        let mut here = a.label();
        for (c, kind) in variants {
            let Some(c) = c else { continue };
            let (options, dump) = match kind {
                Kind::FewLanes => (&lanes::options(), None),
                _ => (&options, style.dump),
            };
            let plan = passes::plan(c, options, dump);
            let at = numbers.of_block(c, number);
            let mut e = Emit::<'_, V>::new(&mut a, c, (&common, &mut out), at, plan);
            if kind == Kind::FewLanes {
                e.lane_block = e.select_lane_block(&style);
                e.without_tiles = c.effects.store.is_some();
                if e.lane_block.is_none() {
                    continue;
                }
            }
            e.a.bind(here);
            here = e.a.label();
            e.other = (kind != Kind::Plain).then_some(here);
            e.all_active = e.other.filter(|_| c.is_all_active);
            e.repeats = repeats[number];
            let less = block.assuming_less.as_deref();
            e.without_tiles |= less.is_some_and(|less| std::ptr::eq(less, c));
            e.block(style.tally);
            let checks = e.plan.checks;
            out.checks |= checks;
        }
    }
    for c in &region.continuations {
        let Some(&number) = numbers.by_start.get(&c.start) else {
            continue;
        };
        a.bind(common.continuations[&c.start]);
        let plain = common.labels.get(&c.start).copied();
        let one = a.label();
        let several = c.all_active.as_deref().map(|several| (several, Some(one)));
        for (c, other) in several.into_iter().chain([(c, plain)]) {
            if other == plain {
                a.bind(one);
            }
            let plan = passes::plan(c, &options, style.dump);
            let at = numbers.of_block(c, number);
            let mut e = Emit::<'_, V>::new(&mut a, c, (&common, &mut out), at, plan);
            (e.all_active, e.other) = (other, other);
            e.without_tiles = true;
            e.repeats = repeats[number];
            e.block(style.tally);
            let checks = e.plan.checks;
            out.checks |= checks;
        }
    }
    if let Some((number, c, builder)) = grid.take()
        && let Some(BatchStart { live_ins, .. }) = batch
    {
        let at = a.buf.len() as u32;
        let plan = passes::plan(c, &options, None);
        let numbers = numbers.of_block(c, number);
        let mut e = Emit::<'_, V>::new(&mut a, c, (&common, &mut out), numbers, plan);
        e.all_active = common.begin;
        e.other = common.begin;
        e.is_grid = true;
        e.grid = Some(Grid {
            builder,
            live_ins,
            mode: region.changes_mode().then_some(region.mode),
            at,
            after: insns_after(c, region),
        });
        e.block(false);
    }
    // A block that is too large may have no register left, so this is tested first.
    if out.too_large {
        return Err(Refused::TooLarge);
    }
    if out.mistake {
        return Err(Refused::Mistake);
    }
    a.finish();
    let mut fixups = out.fixups;
    fixups.extend(range::displacements(&a.displacements).ok_or(Refused::TooLarge)?);
    range::apply_all(&mut a.buf, &fixups, &out.ranges);
    Ok(Emitted {
        end: a.end,
        code: a.buf,
        ranges: out.ranges,
        fixups,
        outside: starts.clone(),
        starts,
        calls: out.calls,
        checks: out.checks,
        batch: batch_at,
        grid: out.grid,
    })
}

/// Returns the number of instructions after a block, if nothing reads a register there.
fn insns_after(c: &Block, region: &Region) -> Option<u32> {
    match c.terminator {
        // The next wave's MODE would not be that of its start.
        _ if region.changes_mode() => None,
        Terminator::End => Some(0),
        Terminator::Jump(to) => {
            let next = region.blocks.iter().find(|b| b.start == to);
            let only_ends = |b: &Block| {
                let e = &b.effects;
                let constant = |n: &Node| matches!(n.op, Inst::Const(_));
                matches!(b.terminator, Terminator::End)
                    && b.graph.iter().all(constant)
                    && e.store.is_none()
                    && e.deferred_stores.is_empty()
                    && e.rows.is_empty()
                    && e.wave_helper.is_none()
            };
            next.filter(|b| only_ends(b)).map(|b| b.insns)
        }
        _ => None,
    }
}

/// Returns true if a block's joined variant is tried before the all-active one: without it, the wave would run several blocks instead, all-active or not.
fn joined_first(block: &Block, blocks: &[Block]) -> bool {
    /// Two or three all-active blocks with rounds are as fast as a joined one.
    const FEWEST: usize = 4;
    let Some(joined) = &block.joined else {
        return false;
    };
    let mut others = 0;
    let mut rest = &joined.replaces[..];
    while let Some(&start) = rest.first() {
        let at = blocks.iter().find(|c| c.start == start);
        let all = at.and_then(|c| c.all_active.as_ref());
        let replaced = all.map_or(1, |all| {
            let pairs = all.replaces.iter().zip(rest);
            pairs.take_while(|(a, b)| a == b).count().max(1)
        });
        rest = &rest[replaced..];
        others += 1;
    }
    others >= FEWEST
}

/// The program of the block where waves of a batch begin, if there may be a [grid variant](grid) of it, and the block's number.
fn grid_builder<'r>(
    region: &'r Region,
    style: &Style<'_>,
    batch: Option<BatchStart<'_>>,
) -> Option<(usize, &'r Block, Builder<'r>)> {
    /// The most instructions of such a block, and of all if it is not the last: in longer ones it would not pay.
    const MOST: u32 = 256;
    let BatchStart { entry, ids, .. } = batch?;
    let possible = !region.has_barrier()
        && !region.precise
        && !style.tally
        && !style.aliased
        && !style.left_out.has(Optional::Grid);
    if !possible {
        return None;
    }
    let number = region.blocks.iter().position(|b| b.start == entry)?;
    let plain = &region.blocks[number];
    let variants = [&plain.of_grid, &plain.all_active];
    let reads_lanes = |n: &Node| {
        matches!(
            n.op,
            Inst::LaneIn(_) | Inst::LanesIn(_) | Inst::VgprAt | Inst::Exec
        )
    };
    variants.into_iter().flatten().find_map(|c| {
        let all = match insns_after(c, region) {
            Some(_) => c.insns,
            None => region.blocks.iter().map(|b| b.insns).sum(),
        };
        let indexes = !c.effects.indexed.is_empty();
        let fits = all <= MOST && !indexes && !c.graph.iter().any(reads_lanes);
        Some((number, &**c, fits.then(|| Builder::of(c, ids)).flatten()?))
    })
}

/// The code that enters and leaves a region, at its beginning: a function of the context (RDI) and the address to go to (RSI). Code
/// leaves by the label with RAX why.
fn entry_and_exit(a: &mut Asm, default: FpEnv) -> Label {
    let saved = [RBX, RBP, R12, R13, R14, R15];
    for r in saved {
        a.push(r);
    }
    a.alu_imm(alu::SUB, true, Rm::R(RSP), 8);
    a.mov(true, CTX, Rm::R(RDI));
    a.mov(true, WAVE, Rm::M(ctx!(current.wave)));
    a.mov(true, VGPRS, Rm::M(ctx!(current.vgprs)));
    a.lea(VGPRS, mem(VGPRS, VGPR_BIAS * 256));
    a.mov(true, BIAS, Rm::M(ctx!(memory.bias)));
    a.mov(true, PAGES, Rm::M(ctx!(memory.pages)));
    a.mov(true, FUEL, Rm::M(ctx!(clock.fuel)));
    let same = unless_mxcsr(a, default);
    a.ldmxcsr(mxcsr_of(default));
    a.bind(same);
    a.jmp_to(Rm::R(RSI));
    let exit = a.here();
    a.store(true, ctx!(clock.fuel), FUEL);
    let same = unless_mxcsr(a, default);
    a.ldmxcsr(ctx!(call.host_mxcsr));
    a.bind(same);
    a.vzeroupper();
    a.alu_imm(alu::ADD, true, Rm::R(RSP), 8);
    for r in saved.iter().rev() {
        a.pop(*r);
    }
    a.ret();
    exit
}

fn mxcsr_of(key: FpEnv) -> Mem {
    let at = key.round as usize | (key.daz as usize) << 2 | (key.ftz as usize) << 3;
    mem(CTX, (offset_of!(Ctx, call.mxcsr) + 4 * at) as i32)
}

/// Jumps to the label if the host's MXCSR is the wanted one. Exception flags are ignored, because nothing reads them. Setting MXCSR
/// takes longer than all else at entries and exits. Clobbers RCX.
fn unless_mxcsr(a: &mut Asm, wanted: FpEnv) -> Label {
    const FLAGS: i32 = 0x3f;
    let same = a.label();
    a.mov(false, RCX, Rm::M(ctx!(call.host_mxcsr)));
    a.alu_imm(alu::AND, false, Rm::R(RCX), !FLAGS);
    a.alu_imm(
        alu::CMP,
        false,
        Rm::R(RCX),
        crate::context::mxcsr(wanted) as i32 & !FLAGS,
    );
    a.jcc(Cc::E, same);
    same
}

/// A routine that calls a helper with the context and ESI, and saves all registers but RAX and the flags.
fn slow_call<V: Vectors>(a: &mut Asm, helper: usize) -> Label {
    let label = a.here();
    for r in [RCX, RDX, RDI, R8, R9, R10, R11] {
        a.push(r);
    }
    V::save(a);
    a.store(true, ctx!(clock.fuel), FUEL);
    a.stmxcsr(ctx!(call.saved_mxcsr));
    a.ldmxcsr(ctx!(call.host_mxcsr));
    a.vzeroupper();
    a.mov(true, RDI, Rm::R(CTX));
    a.call(Rm::M(mem(CTX, helper as i32)));
    a.ldmxcsr(ctx!(call.saved_mxcsr));
    V::restore(a);
    for r in [R11, R10, R9, R8, RDI, RDX, RCX] {
        a.pop(r);
    }
    a.ret();
    label
}

/// Returns true if blocks of a region access rows of dwords. Variants access what the plain blocks do.
fn has_rows(region: &Region) -> bool {
    let row = |n: &Node| matches!(n.op, Inst::Row(_));
    let mut blocks = region.blocks.iter();
    blocks.any(|c| !c.effects.rows.is_empty() || c.graph.iter().any(row))
}

/// Makes a label for each block, by its start.
fn labels_of(blocks: &[Block], a: &mut Asm) -> Map<u64, Label> {
    blocks.iter().map(|c| (c.start, a.label())).collect()
}

/// The state shared by the blocks of a region.
pub(crate) struct Common {
    /// The code of blocks, which begins with their variants, by the blocks' starts.
    labels: Map<u64, Label>,
    /// The code of continuations.
    continuations: Map<u64, Label>,
    /// Of loops that can run lane by lane, by their starts: where their next iteration begins, for all lanes, and the addresses of the loop's blocks.
    again: Map<u64, (Label, Vec<std::ops::Range<u64>>)>,
    exit: Label,
    barrier: Label,
    ended: Label,
    /// The two labels above are called, not jumped to: see [`time_slices::between`].
    waits: bool,
    pub slow: [Label; 3],
    /// The routine that calls the helper for affine ranges.
    range_call: Label,
    /// The routine that calls the helper for the memory around lanes' addresses.
    around_call: Label,
    /// The routine that calls the helper for accesses that the page map refuses.
    exact_call: Label,
    /// The routine that calls the helper for tiles.
    tile_call: Label,
    /// The routines that call the helpers for loops that run lane by lane: to choose, to look up memory, to look for conflicts.
    lanes_call: Option<[Label; 3]>,
    /// The routine that looks up the memory around a row, if the region accesses any.
    row_call: Option<Label>,
    /// Blocks may have code for single lanes.
    few_lanes: bool,
    /// See [`Region::narrow_rows`].
    narrow_rows: bool,
    tiles: Tiles,
    /// Of blocks whose loop has tiles: the loop, and where jumps within it go.
    inner: Map<u64, (usize, Label)>,
    /// The floating-point environment between blocks.
    default: FpEnv,
    /// See [`Region::precise`].
    precise: bool,
    /// See [`Style::aliased`].
    aliased: bool,
    left_out: LeftOut,
    /// See [`Style::slices`].
    slices: u8,
    /// Where waves of a batch begin.
    begin: Option<Label>,
}

impl Common {
    /// Writes what comes before the blocks. `batch`: the registers of waves that start, and whether some begin in a grid variant.
    /// Returns also where waves of a batch begin.
    fn begin<V: Vectors>(
        a: &mut Asm,
        region: &Region,
        style: Style<'_>,
        batch: Option<(&LiveIns, bool)>,
    ) -> (Common, Option<usize>) {
        let default = FpEnv::of(&Mode(region.mode).env32());
        let exit = entry_and_exit(a, default);
        let first = a.label();
        let waits = region.has_barrier();
        let single = batch.is_some() && !waits;
        let of_grid = batch.is_some_and(|b| b.1);
        let single = single.then_some((first, of_grid));
        let (barrier, ended) = time_slices::between::<V>(a, exit, waits, single);
        let begin = batch.map(|_| a.here());
        let mode = region.changes_mode().then_some(region.mode);
        let batch = batch.map(|(live_ins, _)| time_slices::begin::<V>(a, (live_ins, mode), first));
        let slow = [
            slow_call::<V>(a, offset_of!(Ctx, helpers.load)),
            slow_call::<V>(a, offset_of!(Ctx, helpers.store)),
            slow_call::<V>(a, offset_of!(Ctx, helpers.slow_path)),
        ];
        let tiles = match style.left_out.has(Optional::Tiles) {
            true => Tiles::default(),
            false => Tiles::of(&region.blocks),
        };
        let mut inner = Map::default();
        for (n, c) in region.blocks.iter().enumerate() {
            if let Some(l) = tiles.loop_of(n) {
                inner.insert(c.start, (l, a.label()));
            }
        }
        let helpers = [
            offset_of!(Ctx, lanes.choose),
            offset_of!(Ctx, lanes.range),
            offset_of!(Ctx, lanes.conflicts),
        ];
        let few_lanes = lanes::block::are_possible(region, &style);
        let by_lane = few_lanes || region.blocks.iter().any(|c| c.lane_loop.is_some());
        let lanes_call = by_lane.then(|| helpers.map(|h| slow_call::<V>(a, h)));
        let common = Common {
            slow,
            range_call: slow_call::<V>(a, offset_of!(Ctx, lookup.range)),
            around_call: slow_call::<V>(a, offset_of!(Ctx, lookup.around)),
            exact_call: slow_call::<V>(a, offset_of!(Ctx, lookup.exact)),
            tile_call: slow_call::<V>(a, offset_of!(Ctx, tiles.helper)),
            lanes_call,
            row_call: has_rows(region).then(|| slow_call::<V>(a, offset_of!(Ctx, lanes.range))),
            few_lanes,
            tiles,
            inner,
            labels: labels_of(&region.blocks, a),
            continuations: labels_of(&region.continuations, a),
            again: {
                let loops = region.blocks.iter().filter_map(|c| c.lane_loop.as_ref());
                let code = |l: &LoopBlocks| l.blocks.iter().map(|c| c.start..c.end).collect();
                loops
                    .map(|l| (l.blocks[0].start, (a.label(), code(l))))
                    .collect()
            },
            exit,
            barrier,
            ended,
            waits,
            default,
            precise: region.precise,
            narrow_rows: region.narrow_rows,
            aliased: style.aliased,
            left_out: style.left_out,
            slices: style.slices,
            begin,
        };
        (common, batch)
    }
}

/// What the blocks of a region add to its code: see [`Emitted`].
#[derive(Default)]
pub(crate) struct RegionOutput {
    calls: Vec<Arc<Call>>,
    ranges: Vec<u32>,
    fixups: Vec<range::Fixup>,
    /// The number of accesses that remember where they were.
    paces: usize,
    /// The number of accesses that count how often lanes' elements follow each other.
    following: usize,
    /// Blocks check for NaNs.
    checks: bool,
    /// A block needs more room than there is in the context.
    too_large: bool,
    /// A block has something that this target has no code for: the compiler is wrong.
    mistake: bool,
    grid: Option<GridCode>,
}

/// The numbers of a block and of those that it stands for.
struct BlockNumbers {
    number: u64,
    /// The number of the plain block that ends where this one does.
    last: u64,
    /// The numbers of the plain blocks after the first that this one replaces.
    replaced: Vec<usize>,
}

/// The numbers of a region's plain blocks.
struct Numbers {
    by_start: Map<u64, usize>,
    /// By the block's end and the kind of its terminator.
    by_end: Map<(u64, Discriminant<Terminator>), usize>,
}

impl Numbers {
    fn of(blocks: &[Block]) -> Numbers {
        let (mut by_start, mut by_end) = (Map::default(), Map::default());
        // Of several blocks, the first one counts.
        for (number, c) in blocks.iter().enumerate().rev() {
            by_start.insert(c.start, number);
            by_end.insert((c.end, discriminant(&c.terminator)), number);
        }
        Numbers { by_start, by_end }
    }

    /// Returns the numbers of a block or a variant that begins where the plain block with a number does.
    fn of_block(&self, c: &Block, number: usize) -> BlockNumbers {
        let last = self.by_end.get(&(c.end, discriminant(&c.terminator)));
        let starting_at = |start: &u64| self.by_start.get(start).copied();
        BlockNumbers {
            number: number as u64,
            last: *last.unwrap_or(&number) as u64,
            replaced: c.replaces.iter().skip(1).filter_map(starting_at).collect(),
        }
    }
}

/// Code of scalar loads that is written after the block.
#[derive(Default)]
struct OutOfLine {
    /// The slow paths of loads.
    scalar: Vec<range::ScalarOut>,
    /// The accesses that ask when the page map refuses them.
    exact: Vec<range::ExactOut>,
    /// The accesses to rows.
    rows: Vec<range::RowOut>,
}

/// The code of a block under construction.
pub(crate) struct Emit<'a, V: VectorIsa> {
    /// The state of vector code.
    pub v: State<V>,
    pub a: &'a mut Asm,
    pub c: &'a Block,
    pub common: &'a Common,
    out: &'a mut RegionOutput,
    at: BlockNumbers,
    /// For an all-active block: as `other`.
    all_active: Option<Label>,
    /// For a variant: the next one of the blocks that begin at the same address, the last of which is the plain one.
    other: Option<Label>,
    /// It uses no tiles, and its ways to other blocks empty them: a [continuation](Region::continuations), or a variant that assumes less.
    without_tiles: bool,
    /// It is in a loop.
    repeats: bool,
    /// The results of the passes for the block.
    plan: Plan,
    /// The scalars in the context, by their offsets from the beginning of the scalars.
    slot_of: Map<Id, u32>,
    next_scalar: u32,
    s: Scalars,
    restart: Option<Label>,
    /// The blocks whose runs were counted at the beginning.
    counted: Vec<usize>,
    /// The slice that code is written for, unless the code is the loop of all four.
    pub slice: u8,
    pub looped: bool,
    out_of_line: OutOfLine,
    /// The ranges of the rows that are loaded, and of those that are stored.
    row_ranges: [Option<range::Range>; 2],
    /// The region's numbers of this block's slow paths.
    call_of: Map<u16, u32>,
    /// It is the [grid variant](grid), what that begins with, and where the next wave begins at its end.
    is_grid: bool,
    grid: Option<Grid<'a>>,
    direct: Option<grid::Direct>,
    /// The code that takes the place of the vector code, if few lanes are active.
    lane_block: Option<lanes::block::LaneBlock>,
}

impl<'a, V: Vectors> Emit<'a, V> {
    fn new(
        a: &'a mut Asm,
        c: &'a Block,
        (common, out): (&'a Common, &'a mut RegionOutput),
        at: BlockNumbers,
        plan: Plan,
    ) -> Emit<'a, V> {
        Emit {
            v: State::default(),
            a,
            c,
            common,
            out,
            at,
            all_active: None,
            other: None,
            without_tiles: false,
            repeats: false,
            plan,
            slot_of: Map::default(),
            next_scalar: 0,
            s: Scalars::default(),
            restart: None,
            counted: Vec::new(),
            slice: 0,
            looped: false,
            out_of_line: OutOfLine::default(),
            row_ranges: [None; 2],
            call_of: Map::default(),
            is_grid: false,
            grid: None,
            direct: None,
            lane_block: None,
        }
    }
}

/// Lanes leave a loop more often than they stay in it for all the rounds of a block.
const LEFT_EARLY: i32 = 128;

impl<V: Vectors> Emit<'_, V> {
    pub fn node(&self, id: Id) -> &Node {
        &self.c.graph[id as usize]
    }

    /// Returns the address that the block jumps to, if the wave has computed it.
    fn jumps_to(&self) -> Option<Id> {
        let Terminator::Indirect { to, among } = &self.c.terminator else {
            return None;
        };
        let known = |to: &Id| matches!(self.node(*to).op, Inst::Const(pc) if among[..] == [pc]);
        Some(*to).filter(|to| !known(to))
    }

    /// Returns true if an optimisation is not left out.
    fn with(&self, one: Optional) -> bool {
        !self.common.left_out.has(one)
    }

    pub fn konst(&self, id: Id) -> Option<u64> {
        match self.node(id).op {
            Inst::Const(v) => Some(v),
            _ => None,
        }
    }

    pub fn restart(&mut self) -> Label {
        match self.restart {
            Some(l) => l,
            None => {
                let l = self.a.label();
                self.restart = Some(l);
                l
            }
        }
    }

    fn leave(&mut self, why: u64) {
        if let Some(other) = self.other {
            self.tally_runs(&self.counted.clone(), false);
            self.a.jmp(other);
            return;
        }
        self.leave_region(why);
    }

    /// Leaves the region, also from a variant, after the block's effects.
    fn leave_region(&mut self, why: u64) {
        let number = self.at.number;
        self.a.imm(RAX, why | number << 8);
        let exit = self.common.exit;
        self.a.jmp(exit);
    }

    /// The wave waits at a barrier.
    fn wait(&mut self) {
        let end = self.c.end;
        self.a.imm(RSI, end);
        let next = match self.c.continued.contains(&end) {
            true => self.common.continuations.get(&end),
            false => self.common.labels.get(&end),
        };
        match next {
            Some(&label) => self.a.lea_label(RDX, label),
            None => self.a.imm(RDX, 0),
        }
        self.a.imm(RAX, EXIT_BARRIER | self.at.last << 8);
        self.end_time_slice(self.common.barrier);
    }

    /// Ends the wave's time slice, at `between`.
    fn end_time_slice(&mut self, between: Label) {
        if self.common.waits {
            self.a.call_label(between);
            self.a.jmp_to(Rm::R(RDX));
        } else {
            self.a.jmp(between);
        }
    }

    fn goto(&mut self, pc: u64) {
        // Out-of-line code lies between blocks.
        let label = self.label_of(pc);
        self.a.jmp(label);
    }

    fn block(&mut self, tally: bool) {
        let c = self.c;
        if let Terminator::Leave = c.terminator {
            self.leave(EXIT_LEAVE);
            return;
        }
        if let Some(plain) = self.all_active.filter(|_| !self.is_grid) {
            let on = Rm::M(sgpr_home(EXEC as u8));
            self.a.alu_imm(alu::CMP, true, on, -1);
            self.a.jcc(Cc::Ne, plain);
        }
        self.unless_wide();
        if let (Some(l), Some(other)) = (&self.lane_block, self.other) {
            let costs = l.costs;
            self.unless_few_lanes(costs, other);
        }
        let (spent, pause) = (self.a.label(), self.a.label());
        let rounds = self.left_early();
        if let Some(left_early) = rounds {
            self.a
                .alu_imm(alu::CMP, false, Rm::M(left_early), LEFT_EARLY);
            self.a.jcc(Cc::A, pause);
        }
        self.a.alu_imm(alu::SUB, true, Rm::R(FUEL), c.insns as i32);
        self.a.jcc(Cc::S, spent);
        if tally {
            self.tally(self.at.number as usize);
            let mut counted = std::mem::take(&mut self.at.replaced);
            self.tally_runs(&counted, true);
            counted.push(self.at.number as usize);
            self.counted = counted;
        }
        if let Terminator::Interpret { jumps, alone } = c.terminator {
            if alone {
                self.a.alu_imm(alu::ADD, true, Rm::R(FUEL), c.insns as i32);
                self.leave(EXIT_ALONE);
            } else {
                self.interpret(jumps);
            }
        } else {
            self.body();
        }
        // The fuel is tested before anything is counted.
        let counted = std::mem::take(&mut self.counted);
        self.a.bind(spent);
        self.a.alu_imm(alu::ADD, true, Rm::R(FUEL), c.insns as i32);
        self.leave(EXIT_FUEL);
        if let Some(left_early) = rounds {
            self.a.bind(pause);
            self.a.alu_imm(alu::SUB, false, Rm::M(left_early), 1);
            self.leave(EXIT_RESTART);
        }
        self.counted = counted;
        if let Some(restart) = self.restart {
            self.a.bind(restart);
            self.a.alu_imm(alu::ADD, true, Rm::R(FUEL), c.insns as i32);
            if c.fp.is_some_and(|f| f != self.common.default) {
                self.a.ldmxcsr(mxcsr_of(self.common.default));
            }
            if let Some(left_early) = rounds {
                self.a.alu_imm(alu::ADD, false, Rm::M(left_early), 64);
            }
            self.leave(EXIT_RESTART);
        }
    }

    /// Emits a test that only lanes of the slices are active for which there is code.
    fn unless_wide(&mut self) {
        let exec = sgpr_home(EXEC as u8);
        match self.common.slices {
            1 => self.a.test_imm(true, Rm::M(exec), -1 << 16),
            2 => self
                .a
                .alu_imm(alu::CMP, false, Rm::M(machine::plus(exec, 4)), 0),
            _ => return,
        }
        if let Some(other) = self.other {
            self.a.jcc(Cc::Ne, other);
            return;
        }
        let few = self.a.label();
        self.a.jcc(Cc::E, few);
        self.leave(EXIT_WIDE);
        self.a.bind(few);
    }

    /// Counts how often lanes left a loop within the rounds that the block has: 64 for each time, and half of all if they stay. The block pauses
    /// while it is more than [`LEFT_EARLY`]. `None` if no lane leaves by itself.
    fn left_early(&self) -> Option<Mem> {
        let c = self.c;
        let repeats = c.targets().any(|pc| pc == c.start);
        let of_lanes = c.guards.iter().any(|&g| c.graph[g as usize].vec);
        let at = lanes::choice_of(c.start) * size_of::<u32>();
        (c.is_all_active && self.other.is_some() && repeats && of_lanes)
            .then(|| ctx!(left_early, at))
    }

    /// Goes to the address in RDX. If it is none of those, the wave leaves the region. RAX is clobbered.
    fn jump_among(&mut self, among: &[u64]) {
        self.a.alu_imm(alu::AND, true, Rm::R(RDX), !3);
        for &pc in among {
            self.a.imm(RAX, pc);
            self.a.alu(alu::CMP, true, RDX, Rm::R(RAX));
            let label = self.label_of(pc);
            self.a.jcc(Cc::E, label);
        }
        let pc = mem(WAVE, offset_of!(WaveState, pc) as i32);
        self.a.store(true, pc, RDX);
        self.leave_region(EXIT_STOP);
    }

    /// Calls the interpreter for the block's one instruction.
    fn interpret(&mut self, jumps: bool) {
        // The helper counts the instruction itself.
        self.a.alu_imm(alu::ADD, true, Rm::R(FUEL), 1);
        self.a.store(true, ctx!(clock.fuel), FUEL);
        self.a.ldmxcsr(ctx!(call.host_mxcsr));
        self.a.vzeroupper();
        self.a.mov(true, RDI, Rm::R(CTX));
        self.a.imm(RSI, self.c.start);
        self.a.call(Rm::M(ctx!(helpers.interpret)));
        self.a.mov(true, FUEL, Rm::M(ctx!(clock.fuel)));
        self.a.ldmxcsr(mxcsr_of(self.common.default));
        let stop = self.a.label();
        self.a.test(false, RAX, RAX);
        self.a.jcc(Cc::Ne, stop);
        if jumps {
            self.leave(EXIT_STOP);
        } else {
            let end = self.c.end;
            self.goto(end);
        }
        self.a.bind(stop);
        self.leave(EXIT_STOP);
    }

    /// Records that there is no code for something that the passes gave: the compiler is wrong.
    ///
    /// # Panics
    /// In debug builds.
    #[track_caller]
    fn mistaken(&mut self) {
        debug_assert!(
            self.out.too_large,
            "no code for a part of this block\n{}",
            self.c
        );
        self.out.mistake = true;
    }

    /// Makes the calls that evaluate slow paths.
    fn slow_path_calls(&mut self) {
        for path in std::mem::take(&mut self.plan.slow_paths) {
            let sub = self.c.fast_paths[path.number as usize].sub.clone();
            let call = Arc::new(Call::new(sub, path.leaves, path.bits));
            let number = self.out.calls.len() as u32;
            self.call_of.insert(path.number, number);
            self.out.calls.push(call);
        }
    }

    fn body(&mut self) {
        self.slow_path_calls();
        let c = self.c;
        if let Some(key) = c.fp.filter(|&k| k != self.common.default) {
            self.a.ldmxcsr(mxcsr_of(key));
        }
        // Scalars that vectors may need.
        let used = self.scalar_uses();
        self.grid_begin(&used);
        for (at, &used) in used.iter().enumerate() {
            let known = self.slot_of.contains_key(&(at as Id));
            if c.graph[at].vec || self.plan.late[at] {
                continue;
            }
            if used && !known {
                self.scalar(at as Id);
            }
            if c.guards.contains(&(at as Id)) {
                self.scalar_guard(at as Id);
            }
        }
        let vectors = !self.plan.ops.is_empty()
            || !c.effects.rows.is_empty()
            || !c.effects.indexed.is_empty()
            || c.effects.store.is_some()
            || !c.effects.deferred_stores.is_empty()
            || c.effects.wave_helper.is_some()
            || !c.effects.accesses.iter().all(|n| n.is_uniform(&c.graph))
            || (0..c.graph.len()).any(|at| used[at] && c.graph[at].op == Inst::Ballot);
        // Without masks of lanes there are fewer operations, but where the plain block is a loop, a loop is better here, too.
        let masks = match c.is_all_active && c.assumed.is_empty() && c.replaces.len() <= 1 {
            true => V::MASKS,
            false => 0,
        };
        // Values that wait for the block's end stay in registers only if the slices are not a loop. The code of loads at lanes' own addresses is
        // much longer than other operations.
        let own = |n: &Node| matches!(n.op, Inst::Group { .. });
        let keeps = self.keeps_writes() || self.keeps_stores();
        let kept = match keeps && !c.graph.iter().any(own) {
            true => KEPT,
            false => 0,
        };
        let operations = (self.plan.ops.len() + masks).saturating_sub(kept);
        let all_slices = self.common.slices == SLICES;
        self.looped = all_slices && V::looped(operations) && self.with(Optional::SliceLoop);
        let bases = !c.affine.ops.is_empty();
        if vectors || bases {
            self.before_vectors();
            if !self.is_grid {
                self.affine_bases();
            }
        }
        let lanes = self.lane_block.take();
        let by_lane = lanes.is_some();
        if let Some(lanes) = lanes {
            self.lane_block(lanes);
        } else if vectors {
            self.vector_code(&used);
        }
        for (at, &used) in used.iter().enumerate() {
            if used && self.plan.late[at] && c.graph[at].op != Inst::Ballot {
                self.scalar(at as Id);
            }
        }
        if let Some(w) = self.wave_helper_call().filter(|_| !by_lane) {
            self.leave_regs(0);
            self.call_wave_helper(&w);
            self.helper_stored(&w);
        }
        // Nothing fails from here on.
        if let Some(left_early) = self.left_early() {
            self.a.g(false, &[0xd1], 5, Rm::M(left_early)); // shr by 1
        }
        self.deferred_stores();
        self.indexed_writes();
        self.deferred_writes();
        self.affine_writes();
        if c.fp.is_some_and(|k| k != self.common.default) {
            self.a.ldmxcsr(mxcsr_of(self.common.default));
        }
        self.lane_inserts();
        self.call_recorder();
        if let Some(to) = self.jumps_to() {
            self.sload(RDX, to);
        }
        self.take_off_skipped();
        let cc = self.commit_scalars();
        self.next_of_grid();
        match c.terminator {
            Terminator::Jump(pc) => self.goto(pc),
            Terminator::Branch { taken, next, .. } => {
                let label = self.label_of(taken);
                if let Some(cc) = cc {
                    self.a.jcc(cc, label);
                }
                self.goto(next);
            }
            Terminator::Indirect { ref among, .. } => match (self.jumps_to(), &among[..]) {
                (None, &[to]) => self.goto(to),
                _ => self.jump_among(among),
            },
            Terminator::End => {
                self.a.imm(RAX, EXIT_END | self.at.last << 8);
                self.end_time_slice(self.common.ended);
            }
            Terminator::Barrier => self.wait(),
            Terminator::Interpret { .. } | Terminator::Leave => {}
        }
        self.as_in_vectors();
        self.write_sections();
        self.leave_affine();
        self.scalar_out_of_line();
    }
}
