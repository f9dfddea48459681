//! The language of the meanings: a small typed IR.
//!
//! A row's function receives a [`Meaning`] and writes the semantics of the instruction: nodes that
//! compute values, and effects that change state. The rules:
//!
//! - Every node reads the state from before the instruction; the effects follow, in order.
//! - A value has one element per lane in a vector instruction and one element in a scalar instruction.
//!   Values are held zero-extended; a [`Ty`] says how an operation reads them.
//! - A meaning never reads EXEC, literals, abs, neg, omod, clamp, op_sel, SDWA, DPP, GPR indexing,
//!   rounding or denormal modes: [`Meaning::s`] and [`Meaning::d`] stand for operands as the machine
//!   reads and writes them. The machine handles each of those in one place.
//! - Reading a [`Ty::Mask`] operand in a vector instruction gives each lane its bit; writing a
//!   [`Ty::Bool`] to it writes the bit of every lane, 0 for inactive lanes.
//! - A shift by the width or more gives 0, or the sign for `>>` of a signed type; meanings mask
//!   their shift counts.

use alloc::vec::Vec;
use core::cell::RefCell;

use crate::format::Field;
use crate::image::ImageOp;
use crate::inst::Inst;
use crate::op::Kind;
pub use crate::op::Op;
use crate::shape::{Mods, Role, Ty};
use crate::target::Target;

/// State outside the operands that a meaning reads or writes by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum State {
    /// STATUS.SCC, one bit.
    Scc,
    /// EXEC, 64 bits.
    Exec,
    /// VCC, 64 bits.
    Vcc,
    /// M0, 32 bits.
    M0,
    /// Read: the byte address of the next instruction. Written: a jump.
    Pc,
    /// MODE.VSKIP (bit 28): vector instructions are skipped.
    Vskip,
    /// MODE.GPR_IDX_EN (bit 27): VGPR operands are indexed by M0.
    GprIdxEn,
    /// MODE.CSP (bits 31:29): the pointer of the control stack, in entries of four SGPRs.
    Csp,
    /// STATUS.HALT.
    Halt,
    /// The wave must end.
    Kill,
    /// STATUS.USER_PRIO, two bits.
    Prio,
    /// STATUS.COND_DBG_SYS.
    CondDbgSys,
    /// STATUS.COND_DBG_USER.
    CondDbgUser,
    /// STATUS.INST_ATC.
    InstAtc,
    /// STATUS.PRIV.
    Priv,
    /// The clock that s_memtime reads, 64 bits.
    Time,
    /// The clock that s_memrealtime reads, 64 bits.
    RealTime,
}

impl State {
    /// Its type.
    pub const fn ty(self) -> Ty {
        match self {
            State::Exec | State::Vcc | State::Pc | State::Time | State::RealTime => Ty::B64,
            State::M0 | State::Csp | State::Prio => Ty::B32,
            _ => Ty::Bool,
        }
    }

    /// The name that `gcn doc` prints for it.
    pub const fn name(self) -> &'static str {
        match self {
            State::Scc => "SCC",
            State::Exec => "EXEC",
            State::Vcc => "VCC",
            State::M0 => "M0",
            State::Pc => "PC",
            State::Vskip => "MODE.VSKIP",
            State::GprIdxEn => "MODE.GPR_IDX_EN",
            State::Csp => "MODE.CSP",
            State::Halt => "STATUS.HALT",
            State::Kill => "KILL",
            State::Prio => "STATUS.USER_PRIO",
            State::CondDbgSys => "STATUS.COND_DBG_SYS",
            State::CondDbgUser => "STATUS.COND_DBG_USER",
            State::InstAtc => "STATUS.INST_ATC",
            State::Priv => "STATUS.PRIV",
            State::Time => "TIME",
            State::RealTime => "REALTIME",
        }
    }
}

/// The memory that an operation accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Space {
    /// Global memory.
    Global,
    /// Global memory, LDS or scratch, selected by the address's aperture.
    Flat,
    /// Scratch: per lane.
    Scratch,
    /// LDS: a byte address in the workgroup's LDS; in the GDS if the instruction's GDS bit is set.
    Lds,
    /// The parameters of interpolation: a byte address in LDS, not limited by M0.
    Parameters,
    /// The global data share, which the waves of a dispatch share: a byte address relative to M0's base.
    Gds,
}

/// The operations of atomics: the value stored, from the old value and the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)]
pub enum AtomicOp {
    Swap,
    /// Stores the data if the old value equals the second operand.
    CmpSwap,
    Add,
    Sub,
    /// data - old.
    Rsub,
    Min,
    Max,
    And,
    Or,
    Xor,
    /// old >= data ? 0 : old + 1.
    Inc,
    /// old == 0 || old > data ? data : old - 1.
    Dec,
    /// (old & !data) | second operand.
    Mskor,
    /// old >= data ? old - data : old + second operand.
    Wrap,
    /// (old & second operand) + data.
    AndAdd,
    /// Stores the data without its top bit if that bit is set.
    CondSwap,
}

/// The operations of global wave sync on one of its 64 resources; a resource is a counter and a phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum GwsOp {
    /// Sets the counter to the value.
    Init,
    /// Adds the value to the counter.
    Signal,
    /// Waits, after the waves that came before, until the counter is above 0, and subtracts 1 from it.
    Take,
    /// Sets the counter to the number of waves that wait to take from it.
    ReleaseAll,
    /// If the counter is above 0, it is decremented and the wave waits for the next phase; if it is 0, the next phase begins
    /// and the counter is set to the value.
    Barrier,
}

/// The layout of the components of a typed store in their VGPRs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Halves {
    /// 32 bits, one VGPR each.
    No,
    /// 16 bits, each in the low half of a VGPR.
    Low,
    /// 16 bits, each in the high half of a VGPR.
    High,
    /// 16 bits, two per VGPR, the first in the low half.
    Both,
}

/// One node.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The operation.
    pub op: Op,
    /// The type its operands are read as.
    pub ty: Ty,
    /// The type of its result.
    pub out: Ty,
    /// Its operands: numbers of earlier nodes.
    pub args: [u16; 3],
    /// It rounds to nearest even, independently of MODE.FP_ROUND, and raises no exception: see
    /// [`Meaning::nearest`].
    pub nearest: bool,
}

/// The state that an effect changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The operand in a slot of the shape takes the value.
    Dst(u8),
    /// Dword `.1` of the operand in slot `.0` takes the value.
    DstDword(u8, u8),
    /// Half `.1` (16 bits) of the vector operand in slot `.0` takes the value; the other half is kept.
    DstHalf(u8, u8),
    /// In the vector operand of a slot, the lane with number `second` (modulo 64) takes the
    /// value, which is uniform; EXEC is ignored: v_writelane_b32.
    DstLane(u8),
    /// A named state takes the value.
    Set(State),
    /// SGPR number `value` takes `second`, 64 bits in two registers.
    SgprPair,
    /// The scalar register with code `value` takes `second`: one register, or two if `second` has 64
    /// bits. Nothing is written outside the generation's SGPRs and VCC.
    Sgpr,
    /// VGPR number `value` (from 0) takes `second` in the active lanes: one register, or two if
    /// `second` has 64 bits. Nothing is written outside the wave's VGPRs.
    Vgpr,
    /// Memory at address `value` plus a constant takes `second`.
    Store(Space, i32),
    /// The typed element at address `value` takes the first `.1` components of the operand in slot `.0`, converted; the
    /// other components are 0.
    StoreFormat(u8, u8, Halves),
    /// The image operation that the encoding, the resource and the sampler define: it reads or writes VDATA and memory.
    Image(ImageOp),
    /// Component `.0` of the export target with number `second` takes the value.
    Export(u8),
    /// s_setreg_b32: the hwreg with code `value` takes `second`.
    Setreg,
    /// An event outside the wave's registers; `value` is its argument.
    Signal(Signal),
    /// Exceptions, bits of TRAPSTS, are raised if `value` holds; see [`exception`]. The effect is performed
    /// only while exceptions are recorded.
    Raise(u8),
}

/// The exceptions, as the bits of TRAPSTS; the bits of MODE.EXCP_EN are 12 higher.
#[allow(missing_docs)]
pub mod exception {
    pub const INVALID: u8 = 1 << 0;
    pub const INPUT_DENORMAL: u8 = 1 << 1;
    pub const DIVIDE_BY_ZERO: u8 = 1 << 2;
    pub const OVERFLOW: u8 = 1 << 3;
    pub const UNDERFLOW: u8 = 1 << 4;
    pub const INEXACT: u8 = 1 << 5;
    pub const INTEGER_DIVIDE_BY_ZERO: u8 = 1 << 6;
}

/// Events that the machine of the wave handles.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs)]
pub enum Signal {
    /// Idles for the number of cycles in the argument.
    Nop,
    /// The wave ends.
    Endpgm,
    Barrier,
    /// Waits for counters; the argument has the format of SIMM16.
    Waitcnt,
    /// Sleeps for about 64 times the argument, in cycles.
    Sleep,
    /// Wakes the workgroup's sleeping waves.
    Wakeup,
    Sendmsg,
    Trap,
    /// Caches are invalidated or written back.
    Cache,
    /// The performance counter with the argument's number is incremented or decremented.
    PerfUp,
    PerfDown,
    /// M0 is written to the thread trace.
    ThreadTrace,
    /// The wave releases its turn ([`Op::Turn`]); if the argument is not 0, also its later turns.
    Release,
    /// An export is complete: bit 0 of the argument says that it is the last one, bit 1 that EXEC marks the valid pixels.
    Exported,
}

/// One effect.
#[derive(Clone, Copy, Debug)]
pub struct Effect {
    /// The change.
    pub change: Change,
    /// A truth value: the effect is performed only where it holds.
    pub when: Option<u16>,
    /// The value.
    pub value: u16,
    /// The second value, if [`Change`] uses one.
    pub second: u16,
}

/// A meaning under construction. See the module's documentation.
pub struct Meaning {
    row: &'static Inst,
    target: Target,
    inner: RefCell<Inner>,
}

#[derive(Default)]
struct Inner {
    nodes: Vec<Node>,
    effects: Vec<Effect>,
    when: Option<u16>,
    /// The half of packed operands that sources and the destination refer to.
    half: Option<u8>,
    nearest: bool,
    about: &'static str,
    bound: Option<&'static str>,
    shortcuts: Vec<Shortcut>,
    /// The number of nodes before the first shortcut.
    told: Option<usize>,
}

/// The accuracy of the interpreter's results with respect to the hardware's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exactness {
    /// Bit for bit as documented.
    Exact,
    /// Within this bound of the documented value.
    Bounded(&'static str),
}

impl Exactness {
    /// `exact` or `bounded`.
    pub const fn class(self) -> &'static str {
        match self {
            Exactness::Exact => "exact",
            Exactness::Bounded(_) => "bounded",
        }
    }

    /// The bound; empty for an exact result.
    pub const fn note(self) -> &'static str {
        match self {
            Exactness::Exact => "",
            Exactness::Bounded(text) => text,
        }
    }
}

/// A finished meaning.
pub struct Program {
    /// The row it belongs to.
    pub row: &'static Inst,
    /// The values, each from earlier ones.
    pub nodes: Vec<Node>,
    /// The changes of state, in order.
    pub effects: Vec<Effect>,
    /// The description of the instruction, a sentence or two.
    pub about: &'static str,
    /// The maximum distance of a result from the documented value; `None` for an exact result.
    pub bound: Option<&'static str>,
    /// Faster computations of values of effects; they give the same values.
    pub shortcuts: Vec<Shortcut>,
    /// The nodes that only shortcuts need; their numbers continue those in `nodes`.
    pub aside: Vec<Node>,
}

/// A faster computation of a value: where `when` holds, `short` has the same bits as `of`. See [`Meaning::shortcut`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shortcut {
    /// The node of the value.
    pub of: u16,
    /// The node of the condition.
    pub when: u16,
    /// The node of the faster computation.
    pub short: u16,
    /// If the condition holds, the value is neither a NaN nor a denormal.
    pub normal: bool,
}

impl Program {
    /// The accuracy of the results.
    pub fn exactness(&self) -> Exactness {
        match self.bound {
            Some(bound) => Exactness::Bounded(bound),
            None => Exactness::Exact,
        }
    }
}

/// The meaning of a row on a target.
pub fn meaning(row: &'static Inst, target: Target) -> Program {
    let m = Meaning {
        row,
        target,
        inner: RefCell::default(),
    };
    (row.meaning)(&m);
    let mut inner = m.inner.into_inner();
    let aside = match inner.told {
        Some(told) => inner.nodes.split_off(told),
        None => Vec::new(),
    };
    Program {
        row,
        shortcuts: inner.shortcuts,
        aside,
        nodes: inner.nodes,
        effects: inner.effects,
        about: inner.about,
        bound: inner.bound,
    }
}

/// A value: a node of a meaning, read as a type.
#[derive(Clone, Copy)]
pub struct V<'m> {
    m: &'m Meaning,
    node: u16,
    /// The type that operations read it as.
    pub ty: Ty,
}

impl Meaning {
    /// The target that the meaning is written for. Generations may differ in the semantics of an
    /// instruction of the same name.
    pub fn target(&self) -> Target {
        self.target
    }

    /// The row that the meaning belongs to.
    pub fn row(&self) -> &'static Inst {
        self.row
    }

    /// Sets the description of the instruction, a sentence or two, for the manual.
    pub fn about(&self, text: &'static str) {
        self.inner.borrow_mut().about = text;
    }

    /// Sets the maximum distance of a result from the documented value, as in "1 ulp": for an
    /// operation that the hardware approximates, or for behaviour that no document specifies. A meaning
    /// without a bound is exact.
    pub fn bounded(&self, bound: &'static str) {
        self.inner.borrow_mut().bound = Some(bound);
    }

    /// A node of an operation whose result type follows from its operand types.
    fn compute<const N: usize>(&self, op: Op, ty: Ty, operands: [V<'_>; N]) -> V<'_> {
        let out = op
            .out(ty)
            .expect("the operation says the type of its result");
        let mut args = [0; 3];
        for (arg, operand) in args.iter_mut().zip(operands) {
            *arg = operand.node;
        }
        self.node(op, ty, out, args)
    }

    fn node(&self, op: Op, ty: Ty, out: Ty, args: [u16; 3]) -> V<'_> {
        debug_assert!(
            op.out(ty).is_none_or(|rule| rule == out),
            "{op:?} of {ty:?} gives {out:?}"
        );
        let inner = &mut *self.inner.borrow_mut();
        let (nodes, nearest) = (&mut inner.nodes, inner.nearest);
        // Leaves are shared, so an operand is read only once.
        if op.info().kind == Kind::Leaf
            && let Some(at) = nodes.iter().position(|n| n.op == op && n.out == out)
        {
            return V {
                m: self,
                node: at as u16,
                ty: out,
            };
        }
        nodes.push(Node {
            op,
            ty,
            out,
            args,
            nearest,
        });
        V {
            m: self,
            node: (nodes.len() - 1) as u16,
            ty: out,
        }
    }

    /// A constant.
    pub fn c(&self, ty: Ty, value: u64) -> V<'_> {
        self.node(Op::Const(value & width_mask(ty)), ty, ty, [0; 3])
    }

    fn slot_of(&self, role: Role) -> usize {
        match self.row.shape.slots.iter().position(|s| s.role == role) {
            Some(at) => at,
            None => panic!("{}: its shape has no operand {role:?}", self.row.name),
        }
    }

    /// The operand with a role, with the type that the shape gives it. A mask operand of a vector instruction
    /// gives each lane its bit; a source of [`Mods::Mix`] is an f32, whatever its stored format.
    pub fn operand(&self, role: Role) -> V<'_> {
        let at = self.slot_of(role);
        let half = self.inner.borrow().half;
        if let Some(half) = half {
            return self.half_of(at, half);
        }
        let ty = match self.row.shape.slots[at].ty {
            Ty::Mask if self.row.format.is_vector() => Ty::Bool,
            Ty::Mask => Ty::B64,
            _ if self.row.shape.mods == Mods::Mix && role != Role::Vdst => Ty::F32,
            ty => ty,
        };
        self.node(Op::Src(at as u8), ty, ty, [0; 3])
    }

    fn half_of(&self, at: usize, half: u8) -> V<'_> {
        let ty = match self.row.shape.slots[at].ty {
            ty if ty.bits() == 16 => ty,
            Ty::I32 => Ty::I16,
            _ => Ty::U16,
        };
        self.node(Op::SrcHalf(at as u8, half), ty, ty, [0; 3])
    }

    /// The 16 bits of a packed source that belong to half 0 or 1: see [`Op::SrcHalf`].
    pub fn half(&self, role: Role, half: u8) -> V<'_> {
        self.half_of(self.slot_of(role), half)
    }

    /// Writes the meaning of a packed instruction by applying that of a 16-bit instruction to each half: its sources are the
    /// halves of packed operands, and its result is a half of the destination.
    pub fn halves(&self, each: impl Fn(&Meaning)) {
        for half in 0..2 {
            self.inner.borrow_mut().half = Some(half);
            each(self);
        }
        self.inner.borrow_mut().half = None;
    }

    /// Dword `k` of the operand with a role.
    pub fn dword(&self, role: Role, k: u8) -> V<'_> {
        let at = self.slot_of(role);
        self.node(Op::SrcDword(at as u8, k), Ty::B32, Ty::B32, [0; 3])
    }

    /// Source `n`: S0, S1 or S2 of the manual.
    pub fn s(&self, n: usize) -> V<'_> {
        let roles: [&[Role]; 3] = [
            &[Role::Ssrc0, Role::Src0, Role::SsrcK],
            &[Role::Ssrc1, Role::Src1, Role::LaneSel],
            &[Role::Src2, Role::CarryIn],
        ];
        for &role in roles[n] {
            if self.row.shape.slot(role).is_some() {
                return self.operand(role);
            }
        }
        panic!("{}: its shape has no source {n}", self.row.name)
    }

    fn d_slot(&self) -> usize {
        let main = |r: Role| {
            matches!(
                r,
                Role::Sdst
                    | Role::Vdst
                    | Role::VdstIfGlc
                    | Role::SdstV
                    | Role::CmpDst
                    | Role::Sdata
                    | Role::Vdata
            )
        };
        match self.row.shape.slots.iter().position(|s| main(s.role)) {
            Some(at) => at,
            None => panic!("{}: its shape has no destination", self.row.name),
        }
    }

    /// The destination's old value, if the shape says that the destination is also read.
    pub fn old(&self) -> V<'_> {
        let role = self.row.shape.slots[self.d_slot()].role;
        self.operand(role)
    }

    /// Writes a value to D.
    pub fn d(&self, value: V<'_>) {
        let slot = self.d_slot() as u8;
        let half = self.inner.borrow().half;
        let change = half.map_or(Change::Dst(slot), |half| Change::DstHalf(slot, half));
        self.effect(change, value, value);
    }

    /// Writes a value to dword `k` of D.
    pub fn d_dword(&self, k: u8, value: V<'_>) {
        self.effect(Change::DstDword(self.d_slot() as u8, k), value, value);
    }

    /// Writes a uniform value to one lane of D, independently of EXEC.
    pub fn d_lane(&self, lane: V<'_>, value: V<'_>) {
        self.effect(Change::DstLane(self.d_slot() as u8), value, lane);
    }

    /// Writes a value to the operand with a role.
    pub fn write(&self, role: Role, value: V<'_>) {
        let at = self.slot_of(role);
        self.effect(Change::Dst(at as u8), value, value);
    }

    fn effect(&self, change: Change, value: V<'_>, second: V<'_>) {
        let inner = &mut *self.inner.borrow_mut();
        inner.effects.push(Effect {
            change,
            when: inner.when,
            value: value.node,
            second: second.node,
        });
    }

    /// Reads a named state.
    pub fn get(&self, state: State) -> V<'_> {
        self.node(Op::Get(state), state.ty(), state.ty(), [0; 3])
    }

    /// Writes a value to a named state.
    pub fn set(&self, state: State, value: V<'_>) {
        self.effect(Change::Set(state), value, value);
    }

    /// Writes a truth value to SCC.
    pub fn scc(&self, value: V<'_>) {
        self.set(State::Scc, value);
    }

    /// Sets SCC to 1 if a value is not zero and to 0 otherwise, as most scalar logic does.
    pub fn scc_nonzero(&self, value: V<'_>) {
        self.scc(value.ne(self.c(value.ty, 0)));
    }

    /// A field of the encoding, zero-extended to 32 bits.
    pub fn field(&self, field: Field) -> V<'_> {
        self.node(Op::Field(field), Ty::U32, Ty::U32, [0; 3])
    }

    /// SIMM16, zero-extended.
    pub fn simm16(&self) -> V<'_> {
        self.field(Field::Simm16)
    }

    /// SIMM16, sign-extended.
    pub fn simm16_signed(&self) -> V<'_> {
        self.simm16().trunc(Ty::I16).sext(Ty::I32)
    }

    /// PC after this instruction plus four times the signed SIMM16.
    pub fn branch_target(&self) -> V<'_> {
        let words = self.simm16().trunc(Ty::I16).sext(Ty::I64).as_(Ty::B64);
        self.get(State::Pc) + (words << 2)
    }

    /// Makes the effects that `then` writes conditional: they are performed only where `cond` holds.
    pub fn when(&self, cond: V<'_>, then: impl FnOnce()) {
        let before = self.inner.borrow().when;
        let both = match before {
            Some(outer) => {
                (V {
                    m: self,
                    node: outer,
                    ty: Ty::Bool,
                } & cond)
                    .node
            }
            None => cond.node,
        };
        self.inner.borrow_mut().when = Some(both);
        then();
        self.inner.borrow_mut().when = before;
    }

    /// The nodes that `write` adds round to nearest even, independently of MODE.FP_ROUND, and raise no
    /// exception. They are the steps of an approximation, for which the hardware uses a table of its own.
    pub fn nearest<R>(&self, write: impl FnOnce() -> R) -> R {
        let before = core::mem::replace(&mut self.inner.borrow_mut().nearest, true);
        let result = write();
        self.inner.borrow_mut().nearest = before;
        result
    }

    /// Declares that `of`, the value of an effect, has the same bits as the second value that `write` returns wherever the
    /// first one, a truth value, holds. This is a faster computation for the usual case, for engines that test for that case
    /// first. It must come last in a meaning, and it never changes the semantics: `of` alone defines the value. `normal`:
    /// where the condition holds, the value is neither a NaN nor a denormal, and neither is any float that the condition and
    /// the faster computation read.
    pub fn shortcut<'m>(&'m self, of: V<'m>, normal: bool, write: impl FnOnce() -> (V<'m>, V<'m>)) {
        let before = self.inner.borrow().nodes.len();
        self.inner.borrow_mut().told.get_or_insert(before);
        let (when, short) = write();
        self.inner.borrow_mut().shortcuts.push(Shortcut {
            of: of.node,
            when: when.node,
            short: short.node,
            normal,
        });
    }

    /// Raises exceptions (see [`exception`]) in the lanes where `cond` holds.
    pub fn raise(&self, exceptions: u8, cond: V<'_>) {
        self.effect(Change::Raise(exceptions), cond, cond);
    }

    /// Signals an event outside the wave's registers.
    pub fn signal(&self, signal: Signal, argument: V<'_>) {
        self.effect(Change::Signal(signal), argument, argument);
    }

    /// Writes 64 bits to the SGPR pair with number `number`.
    pub fn set_sgpr_pair(&self, number: V<'_>, value: V<'_>) {
        self.effect(Change::SgprPair, number, value);
    }

    /// The code (0 to 511) of the register that the operand with a role names; s_movrel* and v_movrel* add M0 to it.
    pub fn code_of(&self, role: Role) -> V<'_> {
        let at = self.slot_of(role);
        self.node(Op::CodeOf(at as u8), Ty::U32, Ty::U32, [0; 3])
    }

    /// The scalar register, or pair for a 64-bit type, whose code is `code`. See [`Op::Sgpr`].
    pub fn sgpr(&self, ty: Ty, code: V<'_>) -> V<'_> {
        self.node(Op::Sgpr, ty, ty, [code.node, 0, 0])
    }

    /// Writes a value to the scalar register, or pair for 64 bits, whose code is `code`.
    pub fn set_sgpr(&self, code: V<'_>, value: V<'_>) {
        self.effect(Change::Sgpr, code, value);
    }

    /// The VGPR, or pair for a 64-bit type, with number `number` (from 0). See [`Op::Vgpr`].
    pub fn vgpr(&self, ty: Ty, number: V<'_>) -> V<'_> {
        self.node(Op::Vgpr, ty, ty, [number.node, 0, 0])
    }

    /// Writes a value to the VGPR, or pair for 64 bits, with number `number`.
    pub fn set_vgpr(&self, number: V<'_>, value: V<'_>) {
        self.effect(Change::Vgpr, number, value);
    }

    /// The address of a memory instruction, per lane.
    pub fn address(&self) -> V<'_> {
        self.node(Op::Address, Ty::U64, Ty::U64, [0; 3])
    }

    /// Reads memory of type `ty` at `address + offset`.
    pub fn load(&self, space: Space, ty: Ty, address: V<'_>, offset: i32) -> V<'_> {
        self.node(Op::Load(space, offset), ty, ty, [address.node, 0, 0])
    }

    /// Writes memory at `address + offset`.
    pub fn store(&self, space: Space, address: V<'_>, offset: i32, value: V<'_>) {
        self.effect(Change::Store(space, offset), address, value);
    }

    /// Component `k` of the typed element at the address, as `ty` of 32 or 16 bits.
    pub fn load_format(&self, ty: Ty, address: V<'_>, k: u8) -> V<'_> {
        self.node(Op::LoadFormat(k), ty, ty, [address.node, 0, 0])
    }

    /// The dword of LDS that belongs to the lane. See [`Op::LdsOfLane`].
    pub fn lds_of_lane(&self) -> V<'_> {
        self.node(Op::LdsOfLane, Ty::B32, Ty::B32, [0; 3])
    }

    /// Stores the first `count` components of the operand with a role to the typed element at the address.
    pub fn store_format(&self, role: Role, address: V<'_>, count: u8, halves: Halves) {
        let slot = self.slot_of(role) as u8;
        self.effect(Change::StoreFormat(slot, count, halves), address, address);
    }

    /// Performs the image operation.
    pub fn image(&self, op: ImageOp) {
        let nothing = self.c(Ty::B32, 0);
        self.effect(Change::Image(op), nothing, nothing);
    }

    /// Writes a value to component `k` of the export target with number `target`.
    pub fn export(&self, k: u8, target: V<'_>, value: V<'_>) {
        self.effect(Change::Export(k), value, target);
    }

    /// An atomic; returns the old value.
    pub fn atomic(
        &self,
        space: Space,
        op: AtomicOp,
        address: V<'_>,
        data: V<'_>,
        comparand: V<'_>,
    ) -> V<'_> {
        let operands = [address, data, comparand];
        self.compute(Op::Atomic(space, op), data.ty, operands)
    }

    /// An atomic performed once for the wave; returns the old value to all lanes. See [`Op::WaveAtomic`].
    pub fn wave_atomic(
        &self,
        space: Space,
        op: AtomicOp,
        address: V<'_>,
        data: V<'_>,
        comparand: V<'_>,
    ) -> V<'_> {
        let operands = [address, data, comparand];
        self.compute(Op::WaveAtomic(space, op), data.ty, operands)
    }

    /// An operation of global wave sync. See [`Op::Gws`].
    pub fn gws(&self, op: GwsOp, resource: V<'_>, value: V<'_>) {
        self.compute(Op::Gws(op), Ty::U32, [resource, value]);
    }

    /// Waits for the wave's turn. See [`Op::Turn`].
    pub fn turn(&self) {
        self.compute(Op::Turn, Ty::U32, []);
    }

    /// The hwreg that `code` (SIMM16) names: s_getreg_b32.
    pub fn getreg(&self, code: V<'_>) -> V<'_> {
        self.node(Op::Getreg, Ty::B32, Ty::B32, [code.node, 0, 0])
    }

    /// Writes a value to the hwreg that `code` names: s_setreg_b32.
    pub fn setreg(&self, code: V<'_>, value: V<'_>) {
        self.effect(Change::Setreg, code, value);
    }

    /// The number of the lowest active lane.
    pub fn first_lane(&self) -> V<'_> {
        self.node(Op::FirstLane, Ty::B32, Ty::B32, [0; 3])
    }

    /// Each lane's own number, 0 to 63.
    pub fn lane(&self) -> V<'_> {
        self.node(Op::Lane, Ty::U32, Ty::U32, [0; 3])
    }
}

/// The mask of the bits that a value of a type can have.
pub const fn width_mask(ty: Ty) -> u64 {
    let bits = ty.bits();
    if bits >= 64 {
        u64::MAX
    } else {
        (1u64 << bits) - 1
    }
}

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident = $op:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(self) -> V<'m> {
            self.m.compute(Op::$op, self.ty, [self])
        }
    )*};
}

macro_rules! widths {
    ($($(#[$doc:meta])* $name:ident = $op:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(self, to: Ty) -> V<'m> {
            self.m.node(Op::$op, self.ty, to, [self.node, 0, 0])
        }
    )*};
}

macro_rules! compares {
    ($($(#[$doc:meta])* $name:ident = $op:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name(self, other: V<'m>) -> V<'m> {
            self.binary(Op::$op, other)
        }
    )*};
}

#[allow(clippy::should_implement_trait)]
impl<'m> V<'m> {
    /// The same bits read as another type of the same width.
    pub fn as_(self, ty: Ty) -> V<'m> {
        assert!(
            ty.bits() == self.ty.bits(),
            "{}: {:?} read as {ty:?}",
            self.m.row.name,
            self.ty
        );
        V { ty, ..self }
    }

    fn same(self, other: V<'m>) {
        assert!(
            self.ty.bits() == other.ty.bits(),
            "{}: {:?} beside {:?}",
            self.m.row.name,
            self.ty,
            other.ty
        );
    }

    unary! {
        /// The magnitude.
        abs = Abs;
        /// The bits in reverse order.
        rev = Rev;
        /// The number of bits that are 1, in 32 bits.
        popcount = Popcount;
        /// The number of zeros above the highest 1, in 32 bits; the width for 0.
        clz = Clz;
        /// The number of zeros below the lowest 1, in 32 bits; the width for 0.
        ctz = Ctz;
        /// The float square root, correctly rounded.
        sqrt = Sqrt;
        /// The float rounded down to an integral value.
        floor = Floor;
        /// The float rounded up to an integral value.
        ceil = Ceil;
        /// The float without its fraction.
        round_zero = RoundZero;
        /// The float rounded to the nearest integral value, ties to even.
        round_even = RoundEven;
    }

    widths! {
        /// Zero-extends.
        zext = Zext;
        /// Sign-extends from the value's own width.
        sext = Sext;
        /// Truncates to the low bits.
        trunc = Trunc;
        /// Integer (signed or not, as the type says) to float, rounded as MODE says.
        to_float = IntToFloat;
        /// Float to integer: truncates towards zero, saturates, converts NaN to 0.
        to_int = FloatToInt;
        /// Float to float.
        to_width = FloatToFloat;
    }

    compares! {
        /// Equal; false where either is NaN.
        eq = Eq;
        /// Not equal. For floats: less or greater; false where either is NaN.
        ne = Ne;
        /// Less.
        lt = Lt;
        /// Less or equal.
        le = Le;
        /// Greater.
        gt = Gt;
        /// Greater or equal.
        ge = Ge;
        /// Either is NaN.
        unordered = Unord;
    }

    /// True if the float is in one of the classes that `mask` (32 bits, or 16 for f16) selects.
    pub fn class(self, mask: V<'m>) -> V<'m> {
        self.shift(Op::Class, mask)
    }

    /// The smaller one.
    pub fn min(self, other: V<'m>) -> V<'m> {
        self.binary(Op::Min, other)
    }

    /// The larger one.
    pub fn max(self, other: V<'m>) -> V<'m> {
        self.binary(Op::Max, other)
    }

    /// The float quotient, correctly rounded.
    pub fn fdiv(self, other: V<'m>) -> V<'m> {
        self.binary(Op::Div, other)
    }

    /// self × 2^exponent (32 bits, signed), with a single rounding.
    pub fn ldexp(self, exponent: V<'m>) -> V<'m> {
        self.shift(Op::Ldexp, exponent)
    }

    /// The high half of the double-width product.
    pub fn mul_hi(self, other: V<'m>) -> V<'m> {
        self.binary(Op::MulHi, other)
    }

    /// self × b + c, fused (single rounding).
    pub fn fma(self, b: V<'m>, c: V<'m>) -> V<'m> {
        self.fma_to(b, c, self.ty)
    }

    /// self × b + c of f32, fused, rounded to `out`, which is F16.
    pub fn fma_to(self, b: V<'m>, c: V<'m>, out: Ty) -> V<'m> {
        self.m
            .node(Op::Fma, self.ty, out, [self.node, b.node, c.node])
    }

    /// (self × b + c) × 2^n, fused (single rounding); denormal operands are kept, independently of MODE.
    pub fn fma_ldexp(self, b: V<'m>, c: V<'m>, n: i16) -> V<'m> {
        self.m.compute(Op::FmaLdexp(n), self.ty, [self, b, c])
    }

    /// self × b + c, unfused (the product and the sum are rounded), with denormals flushed: v_mad_f32.
    pub fn mad(self, b: V<'m>, c: V<'m>) -> V<'m> {
        self.m.compute(Op::Mad, self.ty, [self, b, c])
    }

    /// self (a truth value) ? a : b.
    pub fn select(self, a: V<'m>, b: V<'m>) -> V<'m> {
        a.same(b);
        self.m.compute(Op::Select, a.ty, [self, a, b])
    }

    /// The value of the lane with number `lane`, broadcast to every lane.
    pub fn read_lane(self, lane: V<'m>) -> V<'m> {
        self.m.compute(Op::ReadLane, self.ty, [self, lane])
    }

    /// The value that the active lanes sent to this lane: each sends its value to the lane with number `lane`;
    /// the highest sender takes precedence, and the result is 0 if none sent.
    pub fn send_lane(self, lane: V<'m>) -> V<'m> {
        self.m.compute(Op::SendLane, self.ty, [self, lane])
    }

    /// The entry of `table` at index value (an unsigned number); 0 beyond its end.
    pub fn look_up(self, ty: Ty, table: &'static &'static [u64]) -> V<'m> {
        self.m
            .node(Op::Table(table), self.ty, ty, [self.node, 0, 0])
    }

    /// True if the value is not zero.
    pub fn nonzero(self) -> V<'m> {
        self.ne(self.m.c(self.ty, 0))
    }

    /// `n` consecutive bits from `lo` on, zero-extended in the same type.
    pub fn bits(self, lo: u32, n: u32) -> V<'m> {
        let shifted = if lo == 0 {
            self
        } else {
            self.as_(self.ty.as_bits()) >> lo as u64
        };
        (shifted & ((1u64 << n) - 1)).as_(self.ty)
    }

    fn binary(self, op: Op, other: V<'m>) -> V<'m> {
        self.same(other);
        self.m.compute(op, self.ty, [self, other])
    }

    /// A shift; the second operand, the count, may have another width.
    fn shift(self, op: Op, count: V<'m>) -> V<'m> {
        self.m.compute(op, self.ty, [self, count])
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident $through:ident;)*) => {$(
        impl<'m> core::ops::$trait for V<'m> {
            type Output = V<'m>;
            fn $method(self, other: V<'m>) -> V<'m> {
                self.$through(Op::$op, other)
            }
        }
        impl<'m> core::ops::$trait<u64> for V<'m> {
            type Output = V<'m>;
            fn $method(self, other: u64) -> V<'m> {
                self.$through(Op::$op, self.m.c(self.ty, other))
            }
        }
    )*};
}

operators! {
    Add add Add binary;
    Sub sub Sub binary;
    Mul mul Mul binary;
    BitAnd bitand And binary;
    BitOr bitor Or binary;
    BitXor bitxor Xor binary;
    Shl shl Shl shift;
    Shr shr Shr shift;
}

impl<'m> core::ops::Not for V<'m> {
    type Output = V<'m>;
    fn not(self) -> V<'m> {
        self.m.compute(Op::Not, self.ty, [self])
    }
}

impl<'m> core::ops::Neg for V<'m> {
    type Output = V<'m>;
    fn neg(self) -> V<'m> {
        self.m.compute(Op::Neg, self.ty, [self])
    }
}
