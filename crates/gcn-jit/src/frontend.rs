//! The frontend builds blocks from decoded instructions: straight pieces of code, each a graph of values with its effects.
//!
//! A block can be re-executed: it changes nothing that it reads before everything that can fail has been checked. When
//! compiled code meets something that it does not handle (a fault, a NaN whose bits would differ from the interpreter's),
//! it leaves the block, and the interpreter runs the block from its first instruction.

mod all_active;
mod analyze;
mod buffer;
mod calls;
mod continuations;
mod cross_lane;
mod indexing;
mod insn;
mod joined;
mod loops;
mod memory;
mod modes;
mod parts;
mod region;
mod typical;
mod value;
mod wave_helper;

use crate::hash::Map;
use crate::ir::affine::{AffineVgprs, Trust};
use crate::ir::fast_path;
use crate::ir::region::{
    AccessRecord, AssumedCompare, Block, Effects, FpEnv, IndexedWrite, LiveLanes, LoopBlocks,
    Region, Store, Terminator, WaveHelper, WaveHelperCall,
};
use crate::ir::{Found, Graph, Id, Inst, Unsupported, verify};
use crate::passes::Dump;
use crate::passes::affine;
use crate::passes::optional::{LeftOut, Optional};
use analyze::{analyze, liveness};
use gcn_emu::engine::{EntryVgprs, Pattern};
use gcn_emu::fp::{Env, Mode, Round};
use gcn_emu::interp::instruction_info;
use gcn_emu::operands::{Dpp, Modifiers, OperandLocation, Opnd, find};
use gcn_isa::access::{File, MemoryKind};
use gcn_isa::decode::Insn;
use gcn_isa::flow::Flow;
use gcn_isa::format::{Encoding, Field, Format};
use gcn_isa::meaning::{AtomicOp, Change, Op, Program, Shortcut, Signal, Space, State};
use gcn_isa::operand::{EXEC, M0, Reg, Source, VCC, reg};
use gcn_isa::shape::{Access, Mods, Role, Ty};
use gcn_isa::target::{Gen, Target};
use insn::Val;
use parts::Parts;
pub use region::region;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
pub use typical::TypicalWave;

/// The analysis of one instruction.
pub(crate) struct InsnInfo {
    insn: Insn,
    parts: Parts,
    /// MODE before the instruction.
    mode: u32,
    /// The new MODE, if the instruction changes it and the region's code continues.
    sets_mode: Option<modes::ModeChange>,
    /// The size in bytes, and the number of instructions. They are those of the whole sequence if there is one.
    len: u64,
    count: u32,
    /// The instructions from `s_set_gpr_idx_on` to `s_set_gpr_idx_off`, which are lowered together ([`indexing`]). `insn` is the first of them.
    sequence: Vec<InsnInfo>,
    /// The operands that are indexed: `M0[15:12]`. Only instructions of a sequence have any.
    indexed: u32,
    /// VGPRs of which the instruction writes some that are numbered at run time.
    may_write: Range<u16>,
    flow: Flow,
    vreads: Vec<u16>,
    vwrites: Vec<u16>,
    sreads: u128,
    swrites: u128,
    scc: (bool, bool),
    /// The scalar pairs that the instruction writes, EXEC included, by half their codes. With each, if known: a set of pairs
    /// such that the written mask has only active lanes and lanes of these pairs.
    masks: Vec<(u8, Option<u64>)>,
    /// The instruction may read inactive lanes of VGPRs, or keeps a part of its destination.
    touches_inactive: bool,
    /// It may write any register, or change how the instructions after it run.
    unknown_effects: bool,
    /// The instruction makes other waves' writes to memory visible.
    polls: bool,
}

/// The registers that are live between two instructions.
pub(crate) struct LiveSet {
    /// For each VGPR of the wave.
    v: Vec<LiveLanes>,
    /// The pairs of scalar registers that live lanes of VGPRs may depend on, by half their codes.
    pairs: u64,
    s: u128,
    scc: bool,
}

impl LiveSet {
    fn none(s: &CompileRequest<'_>) -> LiveSet {
        LiveSet {
            v: vec![LiveLanes::No; s.vgprs.max(1) as usize],
            pairs: 0,
            s: 0,
            scc: false,
        }
    }
    fn all(s: &CompileRequest<'_>) -> LiveSet {
        LiveSet {
            v: vec![LiveLanes::All; s.vgprs.max(1) as usize],
            pairs: 0,
            s: !0,
            scc: true,
        }
    }
    fn as_ref(&self) -> Live<'_> {
        Live {
            v: &self.v,
            s: self.s,
            scc: self.scc,
        }
    }

    fn join(&mut self, other: &LiveSet, sets: &mut analyze::Sets) {
        for (a, b) in self.v.iter_mut().zip(&other.v) {
            if a != b {
                *a = sets.join(*a, *b);
            }
        }
        self.pairs |= other.pairs;
        self.s |= other.s;
        self.scc |= other.scc;
    }

    /// Becomes equal to another set. Returns true if anything has changed. `pairs` only grows, so repeated changes come to an end.
    fn become_equal(&mut self, other: &LiveSet) -> bool {
        let pairs = self.pairs | other.pairs;
        let same = (&self.v, self.s, self.scc) == (&other.v, other.s, other.scc);
        let changed = !same || pairs != self.pairs;
        if changed {
            self.clone_from(other);
            self.pairs = pairs;
        }
        changed
    }
}

/// The registers that are live before one of the instructions of [`LiveSets`].
#[derive(Clone, Copy)]
pub(crate) struct Live<'a> {
    v: &'a [LiveLanes],
    s: u128,
    scc: bool,
}

impl Live<'_> {
    /// Returns the lanes in which a VGPR is live.
    fn vgpr(&self, n: u16) -> LiveLanes {
        self.v.get(n as usize).copied().unwrap_or(LiveLanes::All)
    }
}

/// The registers that are live before each instruction, by address. All sets are in one piece of memory.
#[derive(Default)]
pub(crate) struct LiveSets {
    numbers: Map<u64, u32>,
    /// The VGPRs of all sets, one set after the other.
    vgprs: Vec<LiveLanes>,
    /// The scalar registers and SCC of each set.
    scalars: Vec<(u128, bool)>,
}

impl LiveSets {
    fn with_capacity(sets: usize, vgprs: usize) -> LiveSets {
        let mut made = LiveSets::default();
        made.numbers.reserve(sets);
        made.vgprs.reserve(sets * vgprs);
        made.scalars.reserve(sets);
        made
    }

    /// Adds the set of an instruction, which has as many VGPRs as the others.
    fn add(&mut self, pc: u64, live: &LiveSet) {
        self.numbers.insert(pc, self.scalars.len() as u32);
        self.vgprs.extend_from_slice(&live.v);
        self.scalars.push((live.s, live.scc));
    }

    fn get(&self, pc: u64) -> Option<Live<'_>> {
        let number = *self.numbers.get(&pc)? as usize;
        let vgprs = self.vgprs.len() / self.scalars.len();
        let (s, scc) = self.scalars[number];
        Some(Live {
            v: &self.vgprs[number * vgprs..][..vgprs],
            s,
            scc,
        })
    }
}

impl Clone for LiveSet {
    fn clone(&self) -> LiveSet {
        LiveSet {
            v: self.v.clone(),
            ..*self
        }
    }

    fn clone_from(&mut self, other: &LiveSet) {
        self.v.clone_from(&other.v);
        (self.pairs, self.s, self.scc) = (other.pairs, other.s, other.scc);
    }
}

/// The input of the frontend.
pub struct CompileRequest<'a> {
    pub target: Target,
    pub mode: u32,
    /// The number of VGPRs of the wave.
    pub vgprs: u16,
    /// All registers are live at the end of the code, because an observer reads them.
    pub all_live: bool,
    /// All registers are written at the end of every block, and none earlier.
    pub precise: bool,
    /// With `Some` the region is for waves that start. They enter its first block with this in v0 to v2, and they reach its
    /// other blocks only through the region (or through the interpreter running its code for it), so facts about values hold
    /// from block to block. With `None` a wave may enter any block from anywhere
    /// ([`Emitted::outside`](crate::target::x64::Emitted::outside)), and a block has only the facts that it establishes
    /// itself.
    pub entry: Option<EntryVgprs>,
    /// Affine values are computed from bases. If a guard of one fails, the wave leaves the block (`runtime/reentry.rs`).
    pub affine: bool,
    /// What is still trusted in blocks whose guards failed, by an address in the block.
    pub distrusted: BTreeMap<u64, Trust>,
    /// Disabled optimisations.
    pub left_out: LeftOut,
    /// For tests: VGPRs that are affine at the entry, beside those of `entry`, with their steps from lane to lane.
    pub steps: Vec<(u16, i32)>,
    /// The scalar registers of the wave at the entry. Guesses about buffer resources come from them.
    pub sgprs: [u32; 128],
    /// A typical wave at its start: comparisons are assumed to have the same results as in it.
    pub typical: Option<TypicalWave<'a>>,
    /// The bits of `sgprs` that guesses depend on, by register.
    pub guessed: RefCell<BTreeMap<u8, u32>>,
    /// Receives the blocks after each stage.
    pub dump: Option<&'a Dump>,
    pub fetch: &'a dyn Fn(u64) -> Option<Insn>,
}

#[cfg(test)]
impl<'a> CompileRequest<'a> {
    /// Code of waves with eight VGPRs, which may enter any block, and of which nothing is known.
    pub(crate) fn plain(
        target: Target,
        mode: u32,
        fetch: &'a dyn Fn(u64) -> Option<Insn>,
    ) -> CompileRequest<'a> {
        CompileRequest {
            target,
            mode,
            vgprs: 8,
            all_live: false,
            precise: false,
            entry: None,
            affine: false,
            distrusted: Default::default(),
            left_out: Default::default(),
            steps: Vec::new(),
            sgprs: [0; 128],
            typical: None,
            guessed: Default::default(),
            dump: None,
            fetch,
        }
    }
}

/// The maximum number of instructions of a block.
const BLOCK_INSNS: u32 = 1000;

/// A block under construction.
pub(crate) struct Builder<'a> {
    s: &'a CompileRequest<'a>,
    /// MODE at the block's start. That of the current instruction is the graph's.
    mode: u32,
    /// The changes of MODE in the block: the first value after each, and its span.
    spans: Vec<(Id, u64)>,
    /// The spans that no block may contain.
    failed_spans: BTreeSet<u64>,
    /// The new MODE after the block.
    sets_mode: Option<u32>,
    g: Graph,
    code: CodeRange,
    regs: RegisterValues,
    memory: Accesses,
    wave_helper: Option<WaveHelperCall>,
    accesses: Vec<AccessRecord>,
    lane_inserts: Vec<(u16, Id, Id)>,
    /// The VGPRs of `lane_inserts`.
    inserted_lanes: Vec<u16>,
    /// The writes of VGPRs that are numbered at run time.
    indexed: Vec<IndexedWrite>,
    /// The operands that MODE indexes by M0 in the current instruction, if it is one of a sequence.
    indexing: Option<u32>,
    /// See [`Block::may_write`].
    may_write: Option<Vec<u16>>,
    /// See [`Block::polls`].
    polls: bool,
    guards: Vec<Id>,
    /// See [`Block::trust`].
    trust: Trust,
    fp: Option<FpEnv>,
    /// The DPP modifiers of the current instruction.
    dpp: Option<Dpp>,
    /// For each value: true if it is a scalar that depends on lanes.
    late: Vec<bool>,
    /// Scalar registers that the region writes.
    written: u128,
    /// The VGPRs that are affine at the starts of blocks, if the affine analysis has run.
    affine: Option<&'a Map<u64, AffineVgprs>>,
    /// `affine` was needed but not available.
    asked: Cell<bool>,
    /// All lanes are active throughout: EXEC is a constant.
    all_active: bool,
    assumed: Vec<AssumedCompare>,
    /// Guesses about scalars.
    guesses: Vec<AssumedCompare>,
    /// The usual values of scalar registers, if they are used.
    usual: Option<&'a RefCell<typical::Usual>>,
    /// The block begins where waves start.
    at_entry: bool,
    /// The block goes on over branches that are known to be the same in all waves.
    usual_branches: bool,
    /// The block is a loop for one lane after the other, which may store after it has loaded.
    by_lane: bool,
    /// Loads from memory may come after stores to it. The block is then for [`Block::of_grid`].
    passing: bool,
    /// Where jumps to addresses in registers probably go.
    calls: Option<&'a calls::Calls>,
    joins: joined::Joins<'a>,
}

/// The instructions of a block.
#[derive(Default)]
struct CodeRange {
    start: u64,
    end: u64,
    insns: u32,
    /// The address after the last vector instruction.
    vector_end: u64,
    /// The address of the last instruction.
    last: u64,
    /// The last instruction is a jump.
    jumped: bool,
}

impl CodeRange {
    /// Makes an instruction the only one.
    fn only(&mut self, pc: u64, next: u64) {
        (self.start, self.end, self.vector_end) = (pc, next, next);
        self.insns = 1;
    }

    /// Adds an instruction, or several.
    fn add(&mut self, pc: u64, next: u64, count: u32, vector: bool, jumps: bool) {
        let first = self.insns == 0;
        self.insns += count;
        self.end = next;
        self.last = pc;
        self.jumped = jumps;
        if vector || first {
            self.vector_end = next;
        }
    }
}

/// The values that registers have at the end of a block.
#[derive(Clone, Default)]
struct RegisterValues {
    vgprs: Map<u16, Id>,
    sgprs: Map<u8, Id>,
    scc: Option<Id>,
    /// Scalar registers whose values are known at the block's start.
    known: Map<u8, u32>,
}

/// The memory accesses of a block.
#[derive(Default)]
struct Accesses {
    /// The block has loads other than scalar ones.
    loads: bool,
    store: Option<Store>,
    /// Stores that are executed after all lanes' loads.
    deferred: Vec<Store>,
    /// The numbers of the first values after `store`, and after each of the deferred stores ([`Block::stored_before`]).
    store_at: Id,
    deferred_at: Vec<Id>,
    /// The rows that the block has read, and the rows that it writes at its end.
    row_loads: Vec<(Id, i32)>,
    rows: Vec<(Id, i32, Id)>,
}

/// Why an instruction cannot be added to the block.
pub(crate) enum Refusal {
    /// It can be added to a new block.
    NewBlock,
    /// The interpreter must run it.
    Interpreter,
}

impl From<Unsupported> for Refusal {
    fn from(_: Unsupported) -> Refusal {
        Refusal::Interpreter
    }
}

/// The changes that an instruction makes.
#[derive(Default)]
pub(crate) struct Changes {
    vgprs: Vec<(u16, Id)>,
    sgprs: Vec<(u8, Id)>,
    scc: Option<Id>,
    jump: Option<(Option<Id>, u64)>,
    signal: Option<Signal>,
    store: Option<Store>,
    /// The block's stores, the instruction's own included, are deferred until all lanes have loaded.
    waits: bool,
    /// The second store of ds_write2.
    store2: Option<Store>,
    rows: Vec<(Id, i32, Id)>,
    wave_helper: Option<WaveHelperCall>,
    accesses: Vec<AccessRecord>,
    lane_inserts: Vec<(u16, Id, Id)>,
    /// Writes of VGPRs that are numbered at run time, which come before those of `vgprs`.
    indexed: Vec<IndexedWrite>,
    /// The computed address that the instruction jumps to.
    indirect: Option<Id>,
    /// The VGPRs that the helper writes.
    helped: Vec<u16>,
    guards: Vec<Id>,
    guesses: Vec<AssumedCompare>,
}

impl<'a> Builder<'a> {
    fn new(s: &'a CompileRequest<'a>) -> Builder<'a> {
        Builder {
            s,
            mode: s.mode,
            spans: Vec::new(),
            failed_spans: BTreeSet::new(),
            sets_mode: None,
            g: Graph {
                nodes: Vec::new(),
                fast_paths: Vec::new(),
                found: Found::default(),
                generation: s.target.generation(),
                mode: s.mode,
                modes: Vec::new(),
                known_bits: !s.left_out.has(Optional::KnownBits),
            },
            code: CodeRange::default(),
            regs: RegisterValues::default(),
            memory: Accesses::default(),
            wave_helper: None,
            accesses: Vec::new(),
            lane_inserts: Vec::new(),
            inserted_lanes: Vec::new(),
            indexed: Vec::new(),
            indexing: None,
            may_write: Some(Vec::new()),
            polls: false,
            guards: Vec::new(),
            trust: Trust::default(),
            fp: None,
            dpp: None,
            late: Vec::new(),
            written: 0,
            affine: None,
            asked: Cell::new(false),
            all_active: false,
            assumed: Vec::new(),
            guesses: Vec::new(),
            usual: None,
            at_entry: false,
            usual_branches: false,
            by_lane: false,
            passing: false,
            calls: None,
            joins: Default::default(),
        }
    }

    /// Ends the block.
    fn finish(&mut self, terminator: Terminator, live: &LiveSets, blocks: &mut Vec<Block>) {
        let bounds = [LiveSet::none(self.s), LiveSet::all(self.s)];
        let (v_after, s_after) = self.live_after(&terminator, live, &bounds);
        let vgprs = self.written_vgprs(v_after);
        self.know_next(&terminator, s_after);
        let sgprs = self.written_sgprs(s_after);
        self.record_usual(&terminator, &sgprs);
        let scc = self.regs.scc.take();
        let effects = Effects {
            vgprs,
            sgprs,
            scc: scc.filter(|&id| s_after.scc && self.g.get(id).op != Inst::SccIn),
            mode: self.sets_mode.take(),
            store: self.memory.store.take(),
            deferred_stores: std::mem::take(&mut self.memory.deferred),
            rows: std::mem::take(&mut self.memory.rows),
            wave_helper: self.wave_helper.take(),
            lane_inserts: std::mem::take(&mut self.lane_inserts),
            indexed: std::mem::take(&mut self.indexed),
            accesses: std::mem::take(&mut self.accesses),
        };
        let block = Block {
            start: self.code.start,
            end: self.code.end,
            insns: self.code.insns,
            mode: self.mode,
            graph: self.g.nodes.drain(..).collect(),
            fast_paths: std::mem::take(&mut self.g.fast_paths),
            effects,
            may_write: self.may_write.replace(Vec::new()),
            polls: std::mem::take(&mut self.polls),
            guards: std::mem::take(&mut self.guards),
            fp: self.fp.take(),
            terminator,
            trust: std::mem::take(&mut self.trust),
            affine: Default::default(),
            is_all_active: self.all_active,
            assumed: std::mem::take(&mut self.guesses),
            replaces: Vec::new(),
            skipped: std::mem::take(&mut self.joins.skipped),
            all_active: None,
            assuming_less: None,
            continued: Vec::new(),
            joined: None,
            of_grid: None,
            stored_before: std::mem::take(&mut self.memory.deferred_at),
            lane_loop: None,
        };
        self.check_spans(&block);
        blocks.push(block);
        self.late.clear();
        self.inserted_lanes.clear();
        self.memory.row_loads.clear();
        self.memory.loads = false;
        self.code.insns = 0;
        self.code.start = self.code.end;
    }

    /// Returns the live VGPRs and the live scalar registers at the block's end. `bounds` are the empty set and the set of all registers.
    fn live_after<'l>(
        &self,
        terminator: &Terminator,
        live: &'l LiveSets,
        bounds: &'l [LiveSet; 2],
    ) -> (Live<'l>, Live<'l>) {
        let [none, all] = bounds.each_ref().map(LiveSet::as_ref);
        if matches!(terminator, Terminator::End) && !self.s.all_live {
            return (none, none);
        }
        if self.s.precise || matches!(terminator, Terminator::Indirect { .. } | Terminator::End) {
            return (all, all);
        }
        let after = |pc: u64| live.get(pc).unwrap_or(all);
        let code = &self.code;
        let (mut vgprs, mut scalars) = (after(code.vector_end), after(code.end));
        if matches!(terminator, Terminator::Branch { .. } | Terminator::Jump(_)) && code.insns > 0 {
            // Registers that are live before a branch are live on both paths after it, and branches change no register.
            if code.jumped {
                scalars = after(code.last);
            }
            if code.jumped && code.vector_end == code.end {
                vgprs = after(code.last);
            }
        }
        (vgprs, scalars)
    }

    /// Returns the VGPRs that the block changes, with the lanes in which they are live after it.
    fn written_vgprs(&mut self, after: Live<'_>) -> Vec<(u16, Id, LiveLanes)> {
        let mut vgprs: Vec<_> = self
            .regs
            .vgprs
            .drain()
            .filter(|&(n, id)| self.g.get(id).op != Inst::VIn(n))
            .map(|(n, id)| match after.vgpr(n) {
                LiveLanes::Within(_) => (n, id, LiveLanes::All),
                live => (n, id, live),
            })
            .filter(|w| w.2 != LiveLanes::No)
            .collect();
        vgprs.sort_by_key(|w| w.0);
        vgprs
    }

    /// Records the scalar registers whose values are known at the start of the next block.
    fn know_next(&mut self, terminator: &Terminator, after: Live<'_>) {
        let g = &self.g;
        let RegisterValues { sgprs, known, .. } = &mut self.regs;
        // Registers that already hold the value need no write.
        sgprs.retain(|code, id| {
            known
                .get(code)
                .is_none_or(|&v| g.value_of(*id) != Some(v as u64))
        });
        for (&code, &id) in &*sgprs {
            match g.value_of(id) {
                // A dead register is not written.
                Some(v) if after.s >> code & 1 != 0 => known.insert(code, v as u32),
                Some(_) => known.remove(&code),
                None if g.get(id).op == Inst::SIn(code) => None,
                None => known.remove(&code),
            };
        }
        // EXEC is always read from its register.
        known.retain(|&code, _| code as u16 != EXEC && code as u16 != EXEC + 1);
        // Other edges may lead to the next block, and a wave that enters from outside may have any value there.
        let only = matches!(terminator, Terminator::Jump(_)) && !self.code.jumped;
        if !only || self.s.entry.is_none() {
            known.clear();
        }
    }

    /// Returns the scalar registers that the block changes and that are live after it.
    fn written_sgprs(&mut self, after: Live<'_>) -> Vec<(u8, Id)> {
        let mut sgprs: Vec<_> = self
            .regs
            .sgprs
            .drain()
            .filter(|&(c, id)| self.g.get(id).op != Inst::SIn(c) && after.s >> c & 1 != 0)
            .collect();
        sgprs.sort_by_key(|w| w.0);
        sgprs
    }

    /// Adds an instruction, and ends blocks before and after it where needed.
    fn step(&mut self, pc: u64, k: &InsnInfo, live: &LiveSets, blocks: &mut Vec<Block>) {
        let next = pc + k.len;
        let distrusted = self.s.distrusted.get(&pc).copied();
        self.trust = self.trust.min(distrusted.unwrap_or_default());
        let mut tried = self.lower(pc, k);
        if matches!(tried, Err(Refusal::NewBlock)) && self.code.insns > 0 {
            self.finish(Terminator::Jump(pc), live, blocks);
            self.trust = distrusted.unwrap_or_default();
            tried = self.lower(pc, k);
        }
        if let (Err(_), Some(change)) = (&tried, &k.sets_mode)
            && self.add_change_of_mode(pc, k, change).is_ok()
        {
            self.finish(Terminator::Jump(next), live, blocks);
            return;
        }
        let Ok(changes) = tried else {
            if self.code.insns > 0 {
                self.finish(Terminator::Jump(pc), live, blocks);
            }
            // Of a sequence the interpreter runs the first instruction, which changes MODE.
            self.code.only(pc, pc + k.insn.len as u64);
            match k.sequence.is_empty() {
                true => self.record_writes(k),
                false => self.may_write = None,
            }
            let jumps = k.flow != Flow::Next || changes_mode(&k.insn);
            let nodes = &gcn_emu::interp::program(&k.insn).nodes;
            let alone = nodes.iter().any(|n| n.op == Op::Turn);
            self.finish(Terminator::Interpret { jumps, alone }, live, blocks);
            return;
        };
        let changes = self.take(changes, pc, next, k);
        if changes.wave_helper.is_some() {
            for n in changes.helped {
                self.regs.vgprs.remove(&n);
            }
            self.wave_helper = changes.wave_helper;
            self.finish(Terminator::Jump(next), live, blocks);
            return;
        }
        if let Flow::Indirect { .. } = k.flow
            && let Some(terminator) = self.indirect(pc, &changes)
        {
            self.finish(terminator, live, blocks);
            return;
        }
        match (changes.jump, changes.signal) {
            (_, Some(Signal::Endpgm)) => self.finish(Terminator::End, live, blocks),
            (_, Some(Signal::Barrier)) => self.finish(Terminator::Barrier, live, blocks),
            (Some((None, to)), _) => self.finish(Terminator::Jump(to), live, blocks),
            (Some((Some(when), to)), _) => {
                let terminator = match self.g.value_of(when) {
                    Some(v) => Terminator::Jump(if v & 1 != 0 { to } else { next }),
                    None => Terminator::Branch {
                        when,
                        taken: to,
                        next,
                    },
                };
                self.finish(terminator, live, blocks);
            }
            _ => {}
        }
    }

    /// Records which VGPRs an instruction may write.
    fn record_writes(&mut self, k: &InsnInfo) {
        match &mut self.may_write {
            Some(vgprs) if !k.unknown_effects => {
                vgprs.extend(&k.vwrites);
                vgprs.extend(k.may_write.clone());
            }
            vgprs => *vgprs = None,
        }
    }

    /// Adds the changes of an instruction to the block. Returns the remaining changes, some of which end the block.
    fn take(&mut self, mut changes: Changes, pc: u64, next: u64, k: &InsnInfo) -> Changes {
        for w in changes.indexed.drain(..) {
            self.write_indexed(w);
        }
        for (n, id) in changes.vgprs.drain(..) {
            self.regs.vgprs.insert(n, id);
        }
        for (c, id) in changes.sgprs.drain(..) {
            self.regs.sgprs.insert(c, id);
            self.join_sum(c, id);
        }
        if changes.scc.is_some() {
            self.regs.scc = changes.scc;
        }
        let now = self.g.nodes.len() as Id;
        let memory = &mut self.memory;
        if changes.waits {
            let before = memory.store.take().map(|s| (s, memory.store_at));
            let own = [changes.store.take(), changes.store2.take()];
            let own = own.into_iter().flatten().map(|s| (s, now));
            for (store, at) in before.into_iter().chain(own) {
                memory.deferred.push(store);
                memory.deferred_at.push(at);
            }
        } else if changes.store.is_some() {
            (memory.store, memory.store_at) = (changes.store.take(), now);
        }
        for row in changes.rows.drain(..) {
            // The last write takes precedence.
            self.memory.rows.retain(|r| (r.0, r.1) != (row.0, row.1));
            self.memory.rows.push(row);
        }
        self.guards.append(&mut changes.guards);
        for guess in changes.guesses.drain(..) {
            if !self.guesses.contains(&guess) {
                self.guesses.push(guess);
            }
        }
        self.accesses.append(&mut changes.accesses);
        self.inserted_lanes
            .extend(changes.lane_inserts.iter().map(|p| p.0));
        self.lane_inserts.append(&mut changes.lane_inserts);
        self.record_writes(k);
        let vector = k.insn.row.format.is_vector() || !k.sequence.is_empty();
        self.code
            .add(pc, next, k.count, vector, changes.jump.is_some());
        self.polls |= k.polls;
        changes
    }

    /// Makes a pair of scalar registers one sum of 64 bits, if the second one has just got that sum's upper half.
    fn join_sum(&mut self, code: u8, hi: Id) {
        let lo = code
            .checked_sub(1)
            .and_then(|lo| self.regs.sgprs.get(&lo).copied());
        let sum = lo.filter(|_| code % 2 == 1);
        if let Some(sum) = sum.and_then(|lo| self.g.scalar_sum(lo, hi)) {
            let halves = [self.g.lo(sum), self.g.hi(sum)];
            self.regs.sgprs.insert(code - 1, halves[0]);
            self.regs.sgprs.insert(code, halves[1]);
        }
    }

    fn vgpr(&mut self, n: u16) -> Id {
        let n = if n < self.s.vgprs { n } else { 0 };
        if let Some(&id) = self.regs.vgprs.get(&n) {
            return id;
        }
        let id = self.g.node(Inst::VIn(n), Ty::B32, Ty::B32, true, [0; 3]);
        if self.indexed.iter().any(|w| w.reaches(n)) {
            return self.after_indexed(n, id);
        }
        self.regs.vgprs.insert(n, id);
        id
    }

    fn sgpr(&mut self, code: u16) -> Id {
        if code >= 128 {
            return self.g.constant(Ty::B32, 0);
        }
        if let Some(&id) = self.regs.sgprs.get(&(code as u8)) {
            return id;
        }
        if let Some(&v) = self.regs.known.get(&(code as u8)) {
            return self.c32(v as u64);
        }
        let id = self
            .g
            .node(Inst::SIn(code as u8), Ty::B32, Ty::B32, false, [0; 3]);
        self.regs.sgprs.insert(code as u8, id);
        id
    }

    fn sgpr_pair(&mut self, code: u16) -> Id {
        let (lo, hi) = (self.sgpr(code), self.sgpr(code + 1));
        self.g.pair(lo, hi)
    }

    fn scc(&mut self) -> Id {
        match self.regs.scc {
            Some(id) => id,
            None => {
                let id = self.g.node(Inst::SccIn, Ty::Bool, Ty::Bool, false, [0; 3]);
                self.regs.scc = Some(id);
                id
            }
        }
    }

    fn exec(&mut self) -> Id {
        if self.all_active {
            return self.g.constant(Ty::Bool, 1);
        }
        let all = self.g.node(Inst::Exec, Ty::Bool, Ty::Bool, true, [0; 3]);
        let narrowed = self.joins.narrowed.map(|mask| {
            let args = [mask, all, 0];
            self.g.alu(Op::And, Ty::Bool, Ty::Bool, args)
        });
        narrowed.and_then(Result::ok).unwrap_or(all)
    }

    fn c32(&mut self, value: u64) -> Id {
        self.g.constant(Ty::B32, value)
    }

    /// Returns true if the addresses of all stores are affine.
    fn affine_addresses(&self, stores: &[&Store]) -> bool {
        if self.affine.is_none() {
            self.asked.set(true);
        }
        let state = self.affine.and_then(|at| at.get(&self.code.start));
        state.is_some_and(|state| affine::stores(&self.g.nodes, state, self.trust, stores))
    }

    /// Records the floating-point environment that an operation needs. `narrow`: the instruction has no operand of type f64. Then numbers of this
    /// type come from f32 or integers and are never so small that they are denormals, so the environment of f32 suits both types.
    fn float_env(&mut self, op: Op, ty: Ty, out: Ty, narrow: bool) -> Result<(), Refusal> {
        if self.g.mode != self.mode {
            // No operation of a span is left in the block.
            return Ok(());
        }
        let mode = Mode(self.mode);
        let of = |ty: Ty| match ty {
            Ty::F32 => Some(mode.env32()),
            Ty::F64 if narrow => Some(Env {
                round: mode.env64().round,
                ..mode.env32()
            }),
            Ty::F64 => Some(mode.env64()),
            _ => None,
        };
        let key = match op {
            Op::Neg | Op::Abs | Op::Select | Op::Unord | Op::Class | Op::FloatToInt => {
                return Ok(());
            }
            _ if ty == Ty::F16 && (out.is_float() && out != Ty::F16 || out == Ty::Bool) => {
                return Ok(());
            }
            // f16 is computed in f32, where no f16 number is a denormal, so only the rounding matters.
            _ if ty == Ty::F16 || out == Ty::F16 && ty != Ty::F32 => {
                let round = mode.env16().round as u8;
                if self.fp.is_some_and(|have| have.round == round) {
                    return Ok(());
                }
                Some(FpEnv::of(&mode.env32()).rounding(mode.env16().round))
            }
            Op::FloatToFloat if out == Ty::F16 => {
                Some(FpEnv::of(&mode.env32()).rounding(mode.env16().round))
            }
            Op::Mad => of(ty).map(|e| FpEnv::of(&e.flushing())),
            Op::FloatToFloat => {
                // Operands have one type, results the other. Code flushes the results, so the environment is the operand
                // type's, but the host must not flush results that MODE keeps.
                of(ty).zip(of(out)).map(|(a, b)| FpEnv {
                    ftz: a.flush_out && (b.flush_out || ty == Ty::F32),
                    ..FpEnv::of(&a).rounding(b.round)
                })
            }
            Op::IntToFloat => of(out).map(|e| FpEnv::of(&e)),
            // No operation rounds, and no comparison depends on how denormals are read.
            Op::Min | Op::Max if ty == Ty::F32 && self.g.integers_decide() => return Ok(()),
            Op::Min | Op::Max if ty.is_float() => {
                let Some(e) = of(ty) else {
                    return Err(Refusal::Interpreter);
                };
                let flushes = (e.flush_in || e.flush_out) && !(narrow && ty == Ty::F64);
                if flushes && self.s.target.generation() < Gen::Gfx9 {
                    return Err(Refusal::Interpreter);
                }
                Some(FpEnv::of(&e))
            }
            _ => of(ty).map(|e| FpEnv::of(&e)),
        };
        let Some(key) = key else { return Ok(()) };
        match self.fp {
            Some(have) if have != key => Err(Refusal::NewBlock),
            _ => {
                self.fp = Some(key);
                Ok(())
            }
        }
    }

    /// Returns the value that a shortcut replaces, with its fast path.
    fn shortcut(
        &mut self,
        program: &'static Program,
        s: &Shortcut,
        vals: &[Val],
        operands: &[Opnd],
    ) -> Result<Id, Refusal> {
        let value = |at: u16| match vals[at as usize] {
            Val::Id(id) => Ok(id),
            _ => Err(Refusal::Interpreter),
        };
        let (when, short) = (value(s.when)?, value(s.short)?);
        let (slots, vcc) = fast_path::begins(program, s.of).ok_or(Refusal::Interpreter)?;
        let mut sources = Vec::with_capacity(slots.len());
        for slot in slots {
            let read = program.nodes.iter().position(|n| n.op == Op::Src(slot));
            let id = match read.map(|at| vals[at]) {
                Some(Val::Id(id)) => id,
                _ => self.read(&operands[slot as usize], None, true)?,
            };
            sources.push((slot, id));
        }
        let vcc = match vcc {
            true => {
                let pair = self.sgpr_pair(VCC);
                Some(self.g.mask_of(pair))
            }
            false => None,
        };
        let id = self
            .g
            .shortcut((program, s), &sources, vcc, when, short)
            .ok_or(Refusal::Interpreter)?;
        Ok(self.g.division(id).unwrap_or(id))
    }

    fn plus(&mut self, id: Id, by: i32) -> Result<Id, Refusal> {
        let c = self.g.constant(Ty::B64, by as i64 as u64);
        Ok(self.g.alu(Op::Add, Ty::U64, Ty::U64, [id, c, 0])?)
    }

    /// Returns the truth values of the active lanes as a scalar.
    fn ballot(&mut self, id: Id) -> Result<Id, Refusal> {
        let exec = self.exec();
        let id = if self.g.get(id).vec {
            id
        } else {
            return self.uniform_ballot(id);
        };
        let k = self.g.alu(Op::And, Ty::Bool, Ty::Bool, [id, exec, 0])?;
        Ok(self
            .g
            .node(Inst::Ballot, Ty::Bool, Ty::B64, false, [k, 0, 0]))
    }

    /// Like [`Builder::ballot`], for a truth value that all lanes share.
    fn uniform_ballot(&mut self, id: Id) -> Result<Id, Refusal> {
        let exec = self.sgpr_pair(EXEC);
        let zero = self.g.constant(Ty::B64, 0);
        Ok(self.g.alu(Op::Select, Ty::B64, Ty::B64, [id, exec, zero])?)
    }
}

/// Returns true if an instruction makes other waves' writes to memory visible.
fn polls(insn: &Insn) -> bool {
    let program = gcn_emu::interp::program(insn);
    let format = insn.row.format;
    let bypasses = format.is_vector() && format != Format::Ds && {
        let loads = program.nodes.iter().any(|n| matches!(n.op, Op::Load(..)));
        loads && insn.field(Field::Glc) != 0
    };
    let atomic = |op: Op| matches!(op, Op::Atomic(space, _) if space != Space::Lds);
    bypasses
        || program.nodes.iter().any(|n| atomic(n.op))
        || program
            .effects
            .iter()
            .any(|e| matches!(e.change, Change::Signal(Signal::Cache)))
}

/// Returns true if an instruction may jump or change a mode that a region's code depends on.
fn changes_mode(insn: &Insn) -> bool {
    changes(insn, true)
}

/// Like [`changes_mode`]; jumps count only if `jumps`.
fn changes(insn: &Insn, jumps: bool) -> bool {
    let program = gcn_emu::interp::program(insn);
    program.effects.iter().any(|e| {
        jumps && matches!(e.change, Change::Set(State::Pc))
            || matches!(
                e.change,
                Change::Setreg
                    | Change::Set(
                        State::Vskip | State::GprIdxEn | State::Csp | State::Halt | State::Kill
                    )
            )
    })
}

/// Returns the shift and the number of bits of an SDWA selection.
fn selection(sel: u8) -> (u32, u32) {
    match sel {
        0..=3 => (8 * sel as u32, 8),
        4 | 5 => (16 * (sel as u32 - 4), 16),
        _ => (0, 32),
    }
}

const _: fn(&Insn) -> bool = |i| i.encoding == Encoding::Vop3p;
