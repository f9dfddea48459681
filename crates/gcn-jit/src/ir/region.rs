//! Regions and blocks: what the frontend makes, passes improve and targets read.

use crate::ir::affine::AffineState;
use crate::ir::fast_path::FastPath;
use crate::ir::{Id, Node};
use gcn_emu::fp::{Env, Round};
use gcn_isa::access::MemoryKind;
use gcn_isa::meaning::{AtomicOp, Op, Space};
use gcn_isa::shape::Ty;

/// The floating-point environment of a block: the rounding as MODE numbers it, whether denormal operands are taken as zeros,
/// and whether tiny results become zeros. Tiny is decided as [`gcn_emu::fp`] does, after rounding with an unbounded exponent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FpEnv {
    pub round: u8,
    pub daz: bool,
    pub ftz: bool,
}

impl FpEnv {
    /// The environment of operations of one type.
    pub fn of(env: &Env) -> FpEnv {
        FpEnv {
            round: env.round as u8,
            daz: env.flush_in,
            ftz: env.flush_out,
        }
    }

    /// The same with another rounding.
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
    /// At most the active lanes and those in one of the scalar pairs of a set. The number is that of the set during the
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
    /// The upper half of the address; of LDS the limit, in bytes.
    pub hi: Id,
    /// A constant that is added to the address, in bytes.
    pub offset: i32,
    /// Bytes of an element.
    pub bytes: u8,
    pub data: Vec<Id>,
    /// The data are 16 lanes' memory one after the other, as in [`Inst::AffineLoad`](super::Inst::AffineLoad).
    pub in_order: bool,
}

/// A call of a helper that does an instruction for all active lanes at once.
#[derive(Clone, Debug)]
pub struct WaveHelperCall {
    pub helper: WaveHelper,
    /// Each lane's operands.
    pub inputs: Vec<Id>,
}

/// The operation of a wave-wide helper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaveHelper {
    /// Operands: address (low half; high half, of LDS the limit), data (two halves), second data (two halves). The old
    /// values go to the VGPR and, of 64 bits, the next one.
    Atomic {
        space: Space,
        op: AtomicOp,
        ty: Ty,
        dst: Option<u8>,
    },
    /// Stores consecutive dwords to an address, or the same number of dwords to each of two addresses. Operands: low and
    /// high half of each address, of LDS the limit; the dwords. The constant is added to addresses in memory.
    Store {
        space: Space,
        dwords: u8,
        two: bool,
        offset: i32,
    },
    /// Operands: the receiving lane, the value.
    Send { dst: u8 },
    /// Operands: the VGPR's number, its value and of 64 bits the next one's.
    Vgpr { wide: bool },
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
    /// By way of the scalar cache.
    pub scalar: bool,
    /// Dwords of all lanes side by side from the address on.
    pub row: bool,
    pub bytes: u8,
    /// The halves of the address; of LDS both are the address.
    pub lo: Id,
    pub hi: Id,
}

impl AccessRecord {
    /// The maximum number of recorded accesses of a block.
    pub const MOST: usize = 8;

    /// The sizes of accesses, in bytes.
    pub const SIZES: [u8; 8] = [1, 2, 4, 8, 12, 16, 32, 64];

    /// All lanes have one address, which is a scalar.
    pub fn is_uniform(&self, graph: &[Node]) -> bool {
        !graph[self.lo as usize].vec && !graph[self.hi as usize].vec
    }

    /// The number that compiled code passes, not 0. `None` if there is none.
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
    /// To the block at an address.
    Jump(u64),
    Branch {
        when: Id,
        taken: u64,
        next: u64,
    },
    /// To an address that the wave has computed.
    Indirect(Id),
    /// The interpreter runs the block's one instruction. Then the wave continues with the next one, or at `wave.pc` if `jumps`.
    /// Compiled code calls the interpreter, or leaves for it if `alone`: the instruction waits for the ends of other waves,
    /// which must be made known first.
    Interpret {
        jumps: bool,
        alone: bool,
    },
    /// s_endpgm.
    End,
    /// s_barrier.
    Barrier,
    /// To the dispatcher: the wave leaves the region.
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
#[derive(Default)]
pub struct Effects {
    /// VGPRs that take a value, and which lanes of it are live.
    pub vgprs: Vec<(u16, Id, LiveLanes)>,
    /// Scalar registers that take a value, by code.
    pub sgprs: Vec<(u8, Id)>,
    pub scc: Option<Id>,
    /// A store that happens in each slice as its data are computed.
    pub store: Option<Store>,
    /// Stores that happen one after the other when all lanes have done the block's loads. Their addresses are affine.
    pub deferred_stores: Vec<Store>,
    /// Dwords of all lanes that go side by side to the address plus the constant (scratch, swizzled).
    pub rows: Vec<(Id, i32, Id)>,
    /// The block's last instruction, where a helper does it.
    pub wave_helper: Option<WaveHelperCall>,
    /// Single lanes of VGPRs that take a scalar, whatever EXEC says: VGPR, lane (below 64), value.
    pub lane_inserts: Vec<(u16, Id, Id)>,
    /// The accesses of which a probe is told, in their order.
    pub accesses: Vec<AccessRecord>,
}

/// A straight piece of code: a graph of values, what it changes, and how it ends.
///
/// A block can be re-executed: it changes nothing that it reads before the last point where it can be left for the
/// interpreter. See [`verify`](crate::ir::verify).
pub struct Block {
    /// The address of the first instruction, and the address after the last one.
    pub start: u64,
    pub end: u64,
    /// The number of instructions.
    pub insns: u32,
    /// The values, each after those that it reads.
    pub graph: Vec<Node>,
    /// The slow paths of the values that have a fast path.
    pub fast_paths: Vec<FastPath>,
    pub effects: Effects,
    /// The VGPRs that the block's instructions may write, also those that no effect does because they are not live;
    /// nothing if that is not known.
    pub may_write: Option<Vec<u16>>,
    /// An instruction of it makes others' writes visible: an atomic, a load that bypasses caches (`glc`), or an invalidation of them.
    pub polls: bool,
    /// Truth values, of the wave or a lane, that must be false. Otherwise the block is re-executed by the interpreter.
    pub guards: Vec<Id>,
    /// The floating-point environment, if any operation of the block depends on it.
    pub fp: Option<FpEnv>,
    pub terminator: Terminator,
    /// The values that are affine in the lane.
    pub affine: AffineState,
    /// It is an all-active block.
    pub is_all_active: bool,
    /// The comparisons whose results it assumes, those of lanes only if it is an all-active block.
    pub assumed: Vec<AssumedCompare>,
    /// Of an all-active block: where the plain blocks begin that it replaces.
    pub replaces: Vec<u64>,
    /// Of a joined variant: conditions, scalars, and the number of instructions that were skipped where each is true.
    pub skipped: Vec<(Id, u32)>,
    /// The variant that runs instead when all lanes are active and all assumptions hold.
    pub all_active: Option<Box<Block>>,
    /// The variant that runs instead otherwise, over changes of EXEC.
    pub joined: Option<Box<Block>>,
}

impl Block {
    /// A block without instructions and with this end.
    pub fn empty(at: u64, terminator: Terminator) -> Block {
        Block {
            start: at,
            end: at,
            insns: 0,
            graph: Vec::new(),
            fast_paths: Vec::new(),
            effects: Effects::default(),
            may_write: Some(Vec::new()),
            polls: false,
            guards: Vec::new(),
            fp: None,
            terminator,
            affine: AffineState::default(),
            is_all_active: false,
            assumed: Vec::new(),
            replaces: Vec::new(),
            skipped: Vec::new(),
            all_active: None,
            joined: None,
        }
    }

    /// The values that the block's effects, guards and terminator use.
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
        roots.extend(e.wave_helper.iter().flat_map(|w| &w.inputs));
        roots.extend(e.accesses.iter().flat_map(|n| [n.lo, n.hi]));
        if let Terminator::Branch { when, .. } | Terminator::Indirect(when) = self.terminator {
            roots.push(when);
        }
        for &(_, lane, value) in &e.lane_inserts {
            roots.extend([lane, value]);
        }
        roots
    }
}

/// The code that is compiled as one: what can be reached from an address by direct jumps.
pub struct Region {
    pub blocks: Vec<Block>,
    /// The registers that are live at the entry: VGPRs, scalars by code.
    pub live_in: ([bool; 256], u128),
    /// Every register is written at the end of every block, and a block that is left has written none: an observer reads
    /// the registers after a fault.
    pub precise: bool,
}

impl Region {
    /// Returns true if some block is for certain values of scalars.
    pub fn guesses(&self) -> bool {
        let plain = |b: &Block| !b.is_all_active && !b.assumed.is_empty();
        self.blocks.iter().any(plain)
    }

    /// Returns true if waves wait at barriers in it.
    pub fn has_barrier(&self) -> bool {
        let barrier = |b: &Block| matches!(b.terminator, Terminator::Barrier);
        self.blocks.iter().any(barrier)
    }
}
