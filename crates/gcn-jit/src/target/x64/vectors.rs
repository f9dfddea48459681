//! What a level of vector code is made of, in five traits: its registers ([`VectorIsa`]), the machine instructions of operations
//! ([`Selection`]), memory accesses ([`Accesses`]), slow paths ([`SlowPaths`]) and the operands of wave-wide helpers ([`Staging`]). A
//! level is a folder that implements them; [`Vectors`] is all five.
//!
//! Which operations a block's vector code has, in which order, and what happens to their results is the same at all levels
//! ([`super::select`], [`super::machine`]). Vector code works on slices of 16 lanes, in one register or in two parts. Between the
//! functions of a level no vector register holds anything but what slices keep ([`Deferred::InRegister`](super::machine::Deferred::InRegister)).

use super::atomic::Joined;
use super::bases::BaseOps;
use super::lds::Two;
use super::machine::{At, Machine, OperandRegisters, plus};
use super::memory::{Access, Affine, Lanes, Temps};
use super::range::Range;
use super::select::{Select, Shared};
use super::slow::{Fix, Slow};
use super::*;
use crate::ir::affine::Base;
use crate::lir::regalloc::CLASSES;
use crate::lir::{Class, Remat, Role, VReg};
use std::rc::Rc;

/// All of a level.
pub(crate) trait Vectors: Selection + Accesses + SlowPaths + Staging {}

impl<V: Selection + Accesses + SlowPaths + Staging> Vectors for V {}

/// The registers of a level, and code that moves their contents.
pub(crate) trait VectorIsa: Sized + 'static {
    /// A machine instruction.
    type Op: Machine<Self> + From<Shared>;

    /// A machine instruction for the bases of affine values.
    type Base: BaseOps<Self>;

    /// A value that one instruction computes, independent of where it is executed.
    type Constant: Copy + Eq + std::hash::Hash;

    /// There are bitwise operations on three values.
    const TERNARY_LOGIC: bool;

    /// The number of registers that a slice's lanes take.
    const PARTS: u8;

    /// The bytes of a vector register.
    const BYTES: u8 = 64 / Self::PARTS;

    /// The host's registers that are allocated: of vectors, of truth values.
    const REGISTERS: [u8; CLASSES];

    /// The class of registers for truth values: 0 if they are vectors.
    const TRUTH: Class;

    /// Whether instructions name elements in memory for all lanes.
    const BROADCAST: Remat;

    /// A slice's values can stay in registers while others are computed.
    const KEEPS: bool;

    /// Returns true if the four slices of a block with this number of vector operations are the iterations of a loop.
    fn looped(operations: usize) -> bool;

    /// Returns true if both parts of a slice are computed at once.
    fn both(_: &Emit<'_, Self>) -> bool {
        false
    }

    /// Makes a slice's lanes active: all, or those whose bits in memory are set, at least one.
    fn all_active(_: &mut Asm) {}
    fn active(_: &mut Asm, _: Mem) {}

    /// The code before and after that of the slices.
    fn before(_: &mut Emit<'_, Self>) {}
    fn after(_: &mut Emit<'_, Self>) {}

    /// Loads, stores and moves the lower 16, 32 or 64 bytes of a vector register.
    fn load(a: &mut Asm, bytes: u8, r: u8, from: Mem);
    fn store(a: &mut Asm, bytes: u8, r: u8, to: Mem);
    fn move_register(a: &mut Asm, bytes: u8, from: u8, to: u8);

    /// The same for registers of truth values, at levels that have such.
    fn load_truth(_: &mut Asm, _: u8, _: Mem) {}
    fn store_truth(_: &mut Asm, _: u8, _: Mem) {}
    fn move_truth(_: &mut Asm, _from: u8, _to: u8) {}

    /// Saves and restores all registers of truth values in [`Ctx::saved`], at levels that have such.
    fn save_truth(_: &mut Asm) {}
    fn restore_truth(_: &mut Asm) {}

    /// Saves all vector registers in [`Ctx::saved`].
    fn save(a: &mut Asm) {
        for r in 0..Self::REGISTERS[0] {
            Self::store(a, Self::BYTES, r, ctx!(saved.vectors, 64 * r as usize));
        }
        Self::save_truth(a);
    }

    /// Restores what [`VectorIsa::save`] saved.
    fn restore(a: &mut Asm) {
        for r in 0..Self::REGISTERS[0] {
            Self::load(a, Self::BYTES, r, ctx!(saved.vectors, 64 * r as usize));
        }
        Self::restore_truth(a);
    }

    /// Copies 16, 32 or 64 bytes by a vector register below 8, and by the one 8 above it where one is too short.
    fn copy(a: &mut Asm, bytes: u8, r: u8, from: Mem, to: Mem) {
        let part = bytes.min(Self::BYTES);
        for n in 0..bytes / part {
            let (r, by) = (r + 8 * n, (part * n) as i32);
            Self::load(a, part, r, plus(from, by));
            Self::store(a, part, r, plus(to, by));
        }
    }

    /// Adds a general register to four qwords in memory, or to four dwords, and stores the sums. Vector register 0 is clobbered.
    fn add_qwords(a: &mut Asm, r: Gpr, to: [Mem; 2]);
    fn add_dwords(a: &mut Asm, r: Gpr, to: [Mem; 2]);

    /// Clears what [`VectorIsa::store_line`] stores.
    fn zero(a: &mut Asm);

    /// Stores 64 bytes of zeros.
    fn store_line(a: &mut Asm, to: Mem) {
        for n in 0..Self::PARTS {
            Self::store(a, Self::BYTES, 0, plus(to, (Self::BYTES * n) as i32));
        }
    }

    /// The register of a truth value that an instruction reads or writes.
    fn truth(p: OperandRegisters<'_, Self::Op>, k: usize) -> u8;

    /// A general register: the bits of truth values.
    fn truth_to(a: &mut Asm, to: Gpr, truth: u8);

    /// The truth values that bits in memory say. Clobbers RAX.
    fn bits(e: &mut Emit<'_, Self>, at: At, truth: u8);

    /// 4 or 8 bytes in all lanes, and a general register's dword.
    fn broadcast(a: &mut Asm, r: u8, bytes: u8, from: Mem);
    fn broadcast_gpr(a: &mut Asm, r: u8, from: Gpr);
}

/// The machine instructions of values.
pub(crate) trait Selection: VectorIsa {
    /// A dword or a qword in all lanes.
    fn constant(s: &mut Select<'_, '_, Self>, value: u64, wide: bool) -> VReg;

    /// An affine value of the current lanes, and such a truth value.
    fn affine(s: &mut Select<'_, '_, Self>, base: Base, step: i32) -> VReg;
    fn affine_truth(s: &mut Select<'_, '_, Self>, base: Base) -> VReg;

    /// The lanes' numbers times a number.
    fn distances(s: &mut Select<'_, '_, Self>, step: i32) -> VReg;

    /// Truth values: the active lanes; the same in all lanes; that of a scalar.
    fn active_lanes(s: &mut Select<'_, '_, Self>) -> VReg;
    fn same_truth(s: &mut Select<'_, '_, Self>, value: bool) -> VReg;
    fn scalar_truth(s: &mut Select<'_, '_, Self>, id: Id) -> VReg;

    /// How an instruction reads a truth value.
    fn truth_role(_: &Select<'_, '_, Self>, _: VReg) -> Role {
        Role::Use
    }

    /// A new value in active lanes, the old one in others.
    fn in_active(s: &mut Select<'_, '_, Self>, old: VReg, new: VReg) -> VReg;

    /// A float with denormals replaced by zeros.
    fn flushed(s: &mut Select<'_, '_, Self>, r: VReg, wide: bool) -> VReg;

    /// Where one of two f32 is a NaN, or an f64 is. Inactive lanes do not matter.
    fn unordered(s: &mut Select<'_, '_, Self>, a: VReg, b: VReg) -> VReg;
    fn unordered_wide(s: &mut Select<'_, '_, Self>, r: [VReg; 2]) -> VReg;

    /// The block restarts where this is true of an active lane. After [`Selection::check`] or [`VectorIsa::after`] no condition has
    /// failed.
    fn must_not(s: &mut Select<'_, '_, Self>, r: VReg);
    fn check(s: &mut Select<'_, '_, Self>);

    /// 64-bit values of halves, and a half of 64-bit values.
    fn pair(s: &mut Select<'_, '_, Self>, lo: Id, hi: Id) -> [VReg; 2];
    fn half_of(s: &mut Select<'_, '_, Self>, r: [VReg; 2], high: bool) -> VReg;

    /// Of each lane: what the lane that it numbers had of a VGPR.
    fn lanes_in(s: &mut Select<'_, '_, Self>, v: u16, lanes: Id) -> VReg;

    /// The slice's lanes that the digits number.
    fn shuffle(s: &mut Select<'_, '_, Self>, digits: u64, x: Id) -> VReg;

    /// The bits of two values, moved by a constant.
    fn double_shift(s: &mut Select<'_, '_, Self>, left: bool, of: [Id; 2], by: u8) -> VReg;

    /// A bitwise operation on three values.
    fn ternary(s: &mut Select<'_, '_, Self>, op: &VectorOp, table: u8) -> VReg;

    /// An arithmetic operation, whose result it defines.
    fn alu(s: &mut Select<'_, '_, Self>, op: &VectorOp, o: Op, n: &Node);

    /// The classes of an instruction's temporary registers.
    fn temps(what: Temps) -> &'static [Class];
}

/// The code of memory accesses: see [`Access`].
pub(crate) trait Accesses: VectorIsa {
    fn lanes_code(e: &mut Emit<'_, Self>, access: &Rc<Access>, p: OperandRegisters<'_, Self::Op>);
    fn load_code(e: &mut Emit<'_, Self>, a: Affine, p: OperandRegisters<'_, Self::Op>);
    fn store_code(e: &mut Emit<'_, Self>, a: Affine, p: OperandRegisters<'_, Self::Op>);
    fn gather_code(
        e: &mut Emit<'_, Self>,
        a: Affine,
        wanted: &[u8],
        p: OperandRegisters<'_, Self::Op>,
    );
    fn store_row_code(
        e: &mut Emit<'_, Self>,
        active: At,
        to: Mem,
        p: OperandRegisters<'_, Self::Op>,
    );
}

/// The code of slow paths: see [`Slow`] and [`Fix`].
pub(crate) trait SlowPaths: VectorIsa {
    fn slow_code(e: &mut Emit<'_, Self>, slow: &Rc<Slow>, p: OperandRegisters<'_, Self::Op>);
    fn fix_code(e: &mut Emit<'_, Self>, fix: Fix, p: OperandRegisters<'_, Self::Op>);
}

/// What compiled code does itself with the staged operands of wave-wide helpers. All vector registers may be clobbered.
pub(crate) trait Staging: VectorIsa {
    /// Jumps unless all addresses in the staged operands are as they must be. Clobbers RAX and RDX.
    fn staged_in_lds(e: &mut Emit<'_, Self>, addresses: StagedAddresses<'_>, other: Label);

    /// RCX becomes the reduction of the active lanes' staged data. RAX stays.
    fn reduce_staged(e: &mut Emit<'_, Self>, j: &Joined);

    /// Stores the staged dwords of lanes that follow each other to memory and jumps to the label that is returned, or does nothing.
    fn store_staged(e: &mut Emit<'_, Self>, l: &Lanes, range: Range) -> Label;

    /// A VGPR takes a staged operand in active lanes.
    fn write_staged(e: &mut Emit<'_, Self>, operand: usize, vgpr: u8);

    /// Stores staged dwords to LDS at RCX: all lanes' first values, then the second ones.
    fn store_two(e: &mut Emit<'_, Self>, two: Two);
}

/// Staged addresses of LDS of the active lanes: `bytes` from each on are within LDS and the limit, and each is a multiple of a power of
/// two.
#[derive(Clone, Copy)]
pub(crate) struct StagedAddresses<'a> {
    /// The operands that have them.
    pub operands: &'a [usize],
    pub limit: Id,
    pub bytes: i32,
    pub multiple: u64,
}
