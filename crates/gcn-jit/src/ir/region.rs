//! Regions and blocks, which the frontend builds, passes improve and targets read.

use crate::ir::affine::{AffineState, BaseKind, Suspect, Trust};
use crate::ir::fast_path::FastPath;
use crate::ir::{Id, Inst, Node};
use gcn_emu::fp::{Env, Mode, Round};
use gcn_isa::access::MemoryKind;
use gcn_isa::meaning::{AtomicOp, Op, Space};
use gcn_isa::shape::Ty;
use std::collections::HashSet;

/// The floating-point environment of a block: the rounding as MODE numbers it, whether denormal operands count as zeros, and
/// whether tiny results become zeros. A result is tiny as defined in [`gcn_emu::fp`]: after rounding with an unbounded
/// exponent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FpEnv {
    pub round: u8,
    pub daz: bool,
    pub ftz: bool,
}

impl FpEnv {
    /// Returns the environment of operations of one type.
    pub fn of(env: &Env) -> FpEnv {
        FpEnv {
            round: env.round as u8,
            daz: env.flush_in,
            ftz: env.flush_out,
        }
    }

    /// Returns this environment with another rounding.
    pub fn rounding(self, round: Round) -> FpEnv {
        FpEnv {
            round: round as u8,
            ..self
        }
    }
}

/// Which lanes of a VGPR are live.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LiveLanes {
    /// None.
    No,
    /// At most the active lanes.
    Active,
    /// At most the active lanes and those in one of the scalar pairs of a set. The value is the set's number in the
    /// liveness analysis (`frontend/analyze.rs`); no block has this.
    Within(u8),
    /// Perhaps all.
    All,
}

/// A store of consecutive elements by each active lane.
#[derive(Clone, Debug)]
pub struct Store {
    pub space: Space,
    /// The lower half of the address.
    pub lo: Id,
    /// The upper half of the address; for LDS, the limit in bytes.
    pub hi: Id,
    /// A constant that is added to the address, in bytes.
    pub offset: i32,
    /// The size of an element in bytes.
    pub bytes: u8,
    pub data: Vec<Id>,
    /// The data are 16 lanes' memory one after the other, as in [`Inst::AffineLoad`](super::Inst::AffineLoad).
    pub in_order: bool,
}

/// A write of the VGPR whose number is a scalar, in the active lanes. Numbers from `end` on are beyond the wave's VGPRs, and nothing is
/// written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexedWrite {
    pub number: Id,
    pub value: Id,
    /// The VGPRs that the write may reach are those from `first` to before `end`.
    pub first: u16,
    pub end: u16,
}

impl IndexedWrite {
    /// Returns true if the write may reach a VGPR.
    pub fn reaches(&self, n: u16) -> bool {
        (self.first..self.end).contains(&n)
    }
}

/// A call of a helper that executes an instruction for all active lanes at once.
#[derive(Clone, Debug)]
pub struct WaveHelperCall {
    pub helper: WaveHelper,
    /// Each lane's operands.
    pub inputs: Vec<Id>,
}

/// The operation of a wave-wide helper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaveHelper {
    /// Operands: address (low half; high half, or for LDS the limit), data (two halves), second data (two halves). The
    /// old values are written to the VGPR and, if they have 64 bits, the next one.
    Atomic {
        space: Space,
        op: AtomicOp,
        ty: Ty,
        dst: Option<u8>,
    },
    /// Stores consecutive dwords to an address, or the same number of dwords to each of two addresses. Operands: low and
    /// high half of each address (for LDS, the limit instead of the high half); the dwords. The constant is added to
    /// addresses in memory.
    Store {
        space: Space,
        dwords: u8,
        two: bool,
        offset: i32,
    },
    /// Operands: the receiving lane, the value.
    Send { dst: u8 },
}

impl WaveHelper {
    /// The maximum number of operands.
    pub const OPERANDS: usize = 8;
}

/// An access that is reported to a probe after the block has made it.
#[derive(Clone, Copy, Debug)]
pub struct AccessRecord {
    pub kind: MemoryKind,
    pub lds: bool,
    /// The access goes through the scalar cache.
    pub scalar: bool,
    /// The access is a row: contiguous dwords of all lanes from the address on.
    pub row: bool,
    pub bytes: u8,
    /// The halves of the address; for LDS, both are the address.
    pub lo: Id,
    pub hi: Id,
}

impl AccessRecord {
    /// The maximum number of recorded accesses of a block.
    pub const MOST: usize = 8;

    /// The sizes of accesses, in bytes.
    pub const SIZES: [u8; 8] = [1, 2, 4, 8, 12, 16, 32, 64];

    /// Returns true if all lanes have one address, which is a scalar.
    pub fn is_uniform(&self, graph: &[Node]) -> bool {
        !graph[self.lo as usize].vec && !graph[self.hi as usize].vec
    }

    /// Returns the nonzero number that compiled code passes. `None` if the access has no encoding.
    pub fn encode(&self, graph: &[Node]) -> Option<u8> {
        let kind = match self.kind {
            MemoryKind::Load => 1,
            MemoryKind::Store => 2,
            MemoryKind::Atomic => 3,
        };
        let size = AccessRecord::SIZES.iter().position(|&n| n == self.bytes)? as u8;
        let uniform = self.is_uniform(graph);
        if self.row && !uniform {
            return None;
        }
        let (lds, scalar) = (self.lds | self.row, self.scalar | self.row);
        let flags = (lds as u8) << 2 | (scalar as u8) << 6 | (uniform as u8) << 7;
        Some(kind | size << 3 | flags)
    }
}

/// How a block ends.
#[derive(Clone, Debug)]
pub enum Terminator {
    /// Jumps to the block at an address.
    Jump(u64),
    Branch {
        when: Id,
        taken: u64,
        next: u64,
    },
    /// Jumps to an address that the wave has computed. If it is none of `among`, the wave leaves the region.
    Indirect {
        to: Id,
        among: Box<[u64]>,
    },
    /// The interpreter runs the block's one instruction. Then the wave continues with the next one, or at `wave.pc` if `jumps`.
    /// Compiled code calls the interpreter, or leaves for it if `alone`: then the instruction waits for the ends of other
    /// waves, which the runtime must publish first.
    Interpret {
        jumps: bool,
        alone: bool,
    },
    /// s_endpgm.
    End,
    /// s_barrier.
    Barrier,
    /// Leaves the region for the dispatcher.
    Leave,
}

/// A comparison whose result an all-active block assumes for all lanes: it is true.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AssumedCompare {
    pub op: Op,
    pub ty: Ty,
    /// The operands.
    pub of: [Id; 2],
}

/// The state that a block writes at its end.
#[derive(Clone, Default)]
pub struct Effects {
    /// The written VGPRs, with their values and the live lanes.
    pub vgprs: Vec<(u16, Id, LiveLanes)>,
    /// Writes of VGPRs that are numbered at run time, in order. They come before those of `vgprs`, whose values take them into account.
    pub indexed: Vec<IndexedWrite>,
    /// The written scalar registers by code, with their values.
    pub sgprs: Vec<(u8, Id)>,
    pub scc: Option<Id>,
    /// The new MODE, if the block's last instruction changes it.
    pub mode: Option<u32>,
    /// A store that happens in each slice as its data are computed.
    pub store: Option<Store>,
    /// Stores that are executed one after the other after all lanes' loads. Their addresses are affine.
    pub deferred_stores: Vec<Store>,
    /// Contiguous dwords of all lanes that are stored at the address plus the constant (swizzled scratch).
    pub rows: Vec<(Id, i32, Id)>,
    /// The block's last instruction, if a helper executes it.
    pub wave_helper: Option<WaveHelperCall>,
    /// Single lanes of VGPRs that are written with a scalar, regardless of EXEC: VGPR, lane (below 64), value.
    pub lane_inserts: Vec<(u16, Id, Id)>,
    /// The accesses that are reported to a probe, in order.
    pub accesses: Vec<AccessRecord>,
}

/// A straight piece of code: a graph of values, what it changes, and how it ends.
///
/// A block can be re-executed: it changes nothing that it reads before the last point where it can be left for the
/// interpreter. See [`verify`](crate::ir::verify).
#[derive(Clone)]
pub struct Block {
    /// The address of the first instruction, and the address after the last one.
    pub start: u64,
    pub end: u64,
    /// The number of instructions.
    pub insns: u32,
    /// MODE at the block's start. All of the block's instructions run with it.
    pub mode: u32,
    /// The values, each after those that it reads.
    pub graph: Vec<Node>,
    /// The slow paths of the values that have a fast path.
    pub fast_paths: Vec<FastPath>,
    pub effects: Effects,
    /// The VGPRs that the block's instructions may write, including dead ones that no effect writes. `None` if
    /// unknown.
    pub may_write: Option<Vec<u16>>,
    /// An instruction of the block makes other waves' writes visible: an atomic, a load that bypasses caches (`glc`), or an invalidation of them.
    pub polls: bool,
    /// Truth values, of the wave or a lane, that must be false. Otherwise the block is re-executed by the interpreter.
    pub guards: Vec<Id>,
    /// The floating-point environment, if any operation of the block depends on it.
    pub fp: Option<FpEnv>,
    pub terminator: Terminator,
    /// Which guards the affine pass may use in the block.
    pub trust: Trust,
    /// The results of the affine pass.
    pub affine: AffineState,
    /// The block is an all-active variant.
    pub is_all_active: bool,
    /// The comparisons whose results the block assumes. Only all-active variants have comparisons of vectors.
    pub assumed: Vec<AssumedCompare>,
    /// For an all-active variant: the starts of the plain blocks that it replaces, as often as it does.
    pub replaces: Vec<u64>,
    /// For a joined variant: scalar conditions, each with the number of instructions that are skipped if it is true.
    pub skipped: Vec<(Id, u32)>,
    /// The variant that runs instead when all lanes are active and all assumptions hold. Of a continuation: the one with several rounds of a loop.
    pub all_active: Option<Box<Block>>,
    /// The all-active variant that runs if the other one does not, which assumes the results of branches that are usually the same in all waves,
    /// or that a loop goes on for several rounds.
    pub assuming_less: Option<Box<Block>>,
    /// For an all-active block: those of its successors instead of which continuations run.
    pub continued: Vec<u64>,
    /// The variant that runs otherwise, which continues over changes of EXEC.
    pub joined: Option<Box<Block>>,
    /// An all-active variant of the block where waves start that goes on where the code loads after it has stored, although the stores happen at the block's end.
    /// Only dispatches run it whose evaluated addresses show that these loads read nothing of what was stored ([`crate::ir::grid`]).
    pub of_grid: Option<Box<Block>>,
    /// For each deferred store, the number of the first value that the code computes after it.
    pub stored_before: Vec<Id>,
    /// The loop that begins with this block, if it can run for one lane after the other ([`lane_loop`](crate::passes::lane_loop),
    /// [`lane_paths`](crate::passes::lane_paths)).
    pub lane_loop: Option<Box<LoopBlocks>>,
}

/// A loop that can run for one lane after the other.
#[derive(Clone)]
pub struct LoopBlocks {
    /// The blocks as they were before the affine pass. An iteration begins with the first one, and each of the others comes after those that lead to it.
    pub blocks: Vec<Block>,
    /// The scalar registers that are live where an iteration begins or where the wave continues after the loop, a bit for each code.
    pub live: u128,
    /// SCC is live there.
    pub scc: bool,
}

impl LoopBlocks {
    /// Returns true if the code at an address belongs to the loop.
    pub fn contains(&self, pc: u64) -> bool {
        self.blocks.iter().any(|c| (c.start..c.end).contains(&pc))
    }
}

impl Block {
    /// Returns MODE, on which the block's float operations depend.
    pub fn float_mode(&self) -> Mode {
        Mode(self.mode)
    }

    /// Returns the value of the condition with which the block runs again, if it is a loop by itself.
    pub fn runs_again_if(&self) -> Option<bool> {
        let Terminator::Branch { taken, next, .. } = self.terminator else {
            return None;
        };
        let again = taken == self.start;
        (again != (next == self.start)).then_some(again)
    }

    /// Returns the addresses that the block's code goes to. Blocks begin there.
    pub fn targets(&self) -> impl Iterator<Item = u64> + use<> {
        let (to, among) = match &self.terminator {
            &Terminator::Jump(pc) => ([Some(pc), None], Vec::new()),
            &Terminator::Branch { taken, next, .. } => ([Some(taken), Some(next)], Vec::new()),
            Terminator::Interpret { .. } => ([Some(self.end), None], Vec::new()),
            Terminator::Indirect { among, .. } => ([None, None], among.to_vec()),
            Terminator::Barrier | Terminator::End | Terminator::Leave => ([None, None], Vec::new()),
        };
        to.into_iter().flatten().chain(among)
    }

    /// Returns the addresses where a wave may continue in the region after the block: the targets, and what follows a barrier.
    pub fn successors(&self) -> impl Iterator<Item = u64> + use<> {
        let waits = matches!(self.terminator, Terminator::Barrier);
        self.targets().chain(waits.then_some(self.end))
    }

    /// Returns true if the target writes code for the block's instructions. Others are the interpreter's, or leave the region.
    pub fn has_code(&self) -> bool {
        !matches!(
            self.terminator,
            Terminator::Interpret { .. } | Terminator::Leave
        )
    }

    /// Returns a block without instructions.
    pub fn empty(at: u64, terminator: Terminator) -> Block {
        Block {
            start: at,
            end: at,
            insns: 0,
            mode: 0,
            graph: Vec::new(),
            fast_paths: Vec::new(),
            effects: Effects::default(),
            may_write: Some(Vec::new()),
            polls: false,
            guards: Vec::new(),
            fp: None,
            terminator,
            trust: Trust::default(),
            affine: AffineState::default(),
            is_all_active: false,
            assumed: Vec::new(),
            replaces: Vec::new(),
            skipped: Vec::new(),
            all_active: None,
            assuming_less: None,
            continued: Vec::new(),
            joined: None,
            of_grid: None,
            stored_before: Vec::new(),
            lane_loop: None,
        }
    }

    /// Returns for each value whether the block's effects, guards, terminator or assumptions depend on it.
    pub fn live(&self) -> Vec<bool> {
        let mut live = vec![false; self.graph.len()];
        for id in self
            .roots()
            .into_iter()
            .chain(self.assumed.iter().flat_map(|a| a.of))
        {
            live[id as usize] = true;
        }
        for id in (0..self.graph.len()).rev() {
            if !live[id] {
                continue;
            }
            let node = &self.graph[id];
            let leaves = match node.op {
                Inst::FastPath(number) => &self.fast_paths[number as usize].leaves[..],
                _ => &[],
            };
            for &input in node.inputs().iter().chain(leaves) {
                live[input as usize] = true;
            }
        }
        live
    }

    /// Returns the VGPRs that the block's instructions read as they were at its start. `None` if that may be any. Among them are those whose values are
    /// not used, because registers are written again or results are known: the code that runs instead when the block cannot go on may use them.
    pub fn vgprs_read(&self) -> Option<HashSet<u16>> {
        let mut read = HashSet::new();
        for node in &self.graph {
            match node.op {
                Inst::VIn(v) | Inst::LaneIn(v) | Inst::LanesIn(v) => {
                    read.insert(v);
                }
                Inst::VgprAt => return None,
                _ => {}
            }
        }
        for q in &self.affine.ops {
            if let BaseKind::Vgpr(v) = q.op {
                read.insert(v);
            }
        }
        Some(read)
    }

    /// Returns for each VGPR that the block writes whether it may read it before.
    pub fn reads_what_it_writes(&self) -> Vec<bool> {
        let read = self.vgprs_read();
        let is_read = |v: &u16| read.as_ref().is_none_or(|r| r.contains(v));
        self.effects.vgprs.iter().map(|w| is_read(&w.0)).collect()
    }

    /// Returns the values that the block's effects, guards and terminator use.
    pub fn roots(&self) -> Vec<Id> {
        let e = &self.effects;
        let mut roots: Vec<Id> = Vec::new();
        roots.extend(e.vgprs.iter().map(|w| w.1));
        roots.extend(e.sgprs.iter().map(|w| w.1));
        roots.extend(e.scc);
        roots.extend(&self.guards);
        roots.extend(self.skipped.iter().map(|s| s.0));
        for s in e.store.iter().chain(&e.deferred_stores) {
            roots.extend([s.lo, s.hi]);
            roots.extend(&s.data);
        }
        for &(address, _, value) in &e.rows {
            roots.extend([address, value]);
        }
        roots.extend(e.indexed.iter().flat_map(|w| [w.number, w.value]));
        roots.extend(e.wave_helper.iter().flat_map(|w| &w.inputs));
        roots.extend(e.accesses.iter().flat_map(|n| [n.lo, n.hi]));
        if let Terminator::Branch { when, .. } | Terminator::Indirect { to: when, .. } =
            self.terminator
        {
            roots.push(when);
        }
        for &(_, lane, value) in &e.lane_inserts {
            roots.extend([lane, value]);
        }
        roots
    }
}

/// The unit of compilation: the code that direct jumps and calls reach from an address.
pub struct Region {
    pub blocks: Vec<Block>,
    /// All-active blocks to which only [some all-active blocks](Block::continued) lead, at most one at an address. A plain block begins at the
    /// same address, and runs if the continuation fails.
    pub continuations: Vec<Block>,
    /// MODE at the entry.
    pub mode: u32,
    /// The registers that are live at the entry: VGPRs, scalars by code.
    pub live_in: ([bool; 256], u128),
    /// Every register is written at the end of every block, and a block that is left early has written none, because an
    /// observer reads the registers after a fault.
    pub precise: bool,
    /// The region is for waves that start at its entry, and 16 lanes of a wave cover several rows of a workgroup: it has fewer than 16 work-items in
    /// the first dimension. Lanes of a row often read the same element.
    pub narrow_rows: bool,
}

impl Region {
    /// Returns, sorted by address, what blocks should no longer assume if they are left because an assumption does not hold.
    pub fn suspects(&self) -> Vec<(u64, Suspect)> {
        let suspect = |b: &Block| {
            let affine = &b.affine;
            let may_leave = !affine.guards.is_empty() || !affine.addresses.is_empty();
            let suspect = match b.trust {
                _ if !b.assumed.is_empty() => Suspect::Guesses,
                Trust::Everything if !affine.guards.is_empty() => Suspect::Guards(Trust::Carries),
                _ => Suspect::Guards(Trust::Nothing),
            };
            may_leave.then_some((b.start, suspect))
        };
        let mut suspects: Vec<_> = self.blocks.iter().filter_map(suspect).collect();
        suspects.sort_unstable();
        suspects
    }

    /// Returns true if MODE is changed in the region.
    pub fn changes_mode(&self) -> bool {
        self.blocks.iter().any(|b| b.effects.mode.is_some())
    }

    /// Returns true if the region contains barriers.
    pub fn has_barrier(&self) -> bool {
        let barrier = |b: &Block| matches!(b.terminator, Terminator::Barrier);
        self.blocks.iter().any(barrier)
    }
}
