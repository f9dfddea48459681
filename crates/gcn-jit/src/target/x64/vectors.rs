//! The parts of a level of vector code, in five traits: its registers ([`VectorIsa`]), the machine instructions of operations
//! ([`Selection`]), memory accesses ([`Accesses`]), slow paths ([`SlowPaths`]) and the operands of wave-wide helpers ([`Staging`]). A
//! level is a folder that implements them; [`Vectors`] is all five.
//!
//! Which operations a block's vector code has, in which order, and what happens to their results is the same at all levels ([`super::select`],
//! [`super::machine`]). Vector code works on slices of 16 lanes, in one register or in two parts. Between the functions of a level, vector
//! registers hold only the values that slices keep ([`Deferred::InRegister`](super::machine::Deferred::InRegister)).

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

/// All parts of a level.
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

    /// The level has bitwise operations on three values.
    const TERNARY_LOGIC: bool;

    /// The number of registers that a slice's lanes take.
    const PARTS: u8;

    /// The bytes of a vector register.
    const BYTES: u8 = 64 / Self::PARTS;

    /// The numbers of host registers that are allocated: for vectors, and for truth values.
    const REGISTERS: [u8; CLASSES];

    /// The register class of truth values: 0 if they are vectors.
    const TRUTH: Class;

    /// How a broadcast from memory is rematerialized, which depends on whether instructions have broadcast operands.
    const BROADCAST: Remat;

    /// A slice's values can stay in registers while other slices are computed.
    const KEEPS: bool;

    /// The number of operations on masks that all-active variants of single blocks are taken to save.
    const MASKS: usize;

    /// Returns true if the four slices of a block with this number of vector operations are the iterations of a loop.
    fn looped(operations: usize) -> bool;

    /// Returns true if both parts of a slice are computed at once.
    fn both(_: &Emit<'_, Self>) -> bool {
        false
    }

    /// Makes a slice's lanes active: all of them, or those whose bits in memory are set, of which there is at least one.
    fn all_active(_: &mut Asm) {}
    fn active(_: &mut Asm, _: Mem) {}

    /// Emit code before and after the slices' code.
    fn before(_: &mut Emit<'_, Self>) {}
    fn after(_: &mut Emit<'_, Self>) {}

    /// Loads, stores and moves the lower 16, 32 or 64 bytes of a vector register.
    fn load(a: &mut Asm, bytes: u8, r: u8, from: Mem);
    fn store(a: &mut Asm, bytes: u8, r: u8, to: Mem);
    fn move_register(a: &mut Asm, bytes: u8, from: u8, to: u8);

    /// The same for registers of truth values, at levels that have them.
    fn load_truth(_: &mut Asm, _: u8, _: Mem) {}
    fn store_truth(_: &mut Asm, _: u8, _: Mem) {}
    fn move_truth(_: &mut Asm, _from: u8, _to: u8) {}

    /// Saves and restores all registers of truth values in [`Ctx::saved`], at levels that have them.
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

    /// Copies 16, 32 or 64 bytes through vector register `r`, which is below 8, and if that is too short also through `r` + 8.
    fn copy(a: &mut Asm, bytes: u8, r: u8, from: Mem, to: Mem) {
        let part = bytes.min(Self::BYTES);
        for n in 0..bytes / part {
            let (r, by) = (r + 8 * n, (part * n) as i32);
            Self::load(a, part, r, plus(from, by));
            Self::store(a, part, r, plus(to, by));
        }
    }

    /// Adds a general register to four qwords or dwords in memory and stores the sums. Vector register 0 is clobbered.
    fn add_qwords(a: &mut Asm, r: Gpr, to: [Mem; 2]);
    fn add_dwords(a: &mut Asm, r: Gpr, to: [Mem; 2]);

    /// Clears the register that [`VectorIsa::store_line`] stores.
    fn zero(a: &mut Asm);

    /// Stores 64 bytes of zeros.
    fn store_line(a: &mut Asm, to: Mem) {
        for n in 0..Self::PARTS {
            Self::store(a, Self::BYTES, 0, plus(to, (Self::BYTES * n) as i32));
        }
    }

    /// Returns the register of an instruction's truth value.
    fn truth(p: OperandRegisters<'_, Self::Op>, k: usize) -> u8;

    /// Copies the bits of truth values to a general register.
    fn truth_to(a: &mut Asm, to: Gpr, truth: u8);

    /// Loads truth values from bits in memory. RAX is clobbered.
    fn bits(e: &mut Emit<'_, Self>, at: At, truth: u8);

    /// Broadcast 4 or 8 bytes, or a general register's dword, to all lanes.
    fn broadcast(a: &mut Asm, r: u8, bytes: u8, from: Mem);
    fn broadcast_gpr(a: &mut Asm, r: u8, from: Gpr);
}

/// The machine instructions of values.
pub(crate) trait Selection: VectorIsa {
    /// Returns a constant dword or qword in all lanes.
    fn constant(s: &mut Select<'_, '_, Self>, value: u64, wide: bool) -> VReg;

    /// Return the current lanes of an affine value, or of an affine truth value.
    fn affine(s: &mut Select<'_, '_, Self>, base: Base, step: i32) -> VReg;
    fn affine_truth(s: &mut Select<'_, '_, Self>, base: Base) -> VReg;

    /// Returns the lanes' numbers times a number.
    fn distances(s: &mut Select<'_, '_, Self>, step: i32) -> VReg;

    /// Return truth values: true in active lanes; the same in all lanes; a scalar's.
    fn active_lanes(s: &mut Select<'_, '_, Self>) -> VReg;
    fn same_truth(s: &mut Select<'_, '_, Self>, value: bool) -> VReg;
    fn scalar_truth(s: &mut Select<'_, '_, Self>, id: Id) -> VReg;
    /// Returns truth values that are the same in all slices: the lanes' bits of a number.
    fn lanes_of(s: &mut Select<'_, '_, Self>, bits: u16) -> VReg;

    /// Returns how an instruction reads a truth value.
    fn truth_role(_: &Select<'_, '_, Self>, _: VReg) -> Role {
        Role::Use
    }

    /// Returns a new value in active lanes, and the old one in others.
    fn in_active(s: &mut Select<'_, '_, Self>, old: VReg, new: VReg) -> VReg;

    /// Returns a float with denormals replaced by zeros.
    fn flushed(s: &mut Select<'_, '_, Self>, r: VReg, wide: bool) -> VReg;

    /// Return where one of two f32, or an f64, is a NaN. Inactive lanes do not matter.
    fn unordered(s: &mut Select<'_, '_, Self>, a: VReg, b: VReg) -> VReg;
    fn unordered_wide(s: &mut Select<'_, '_, Self>, r: [VReg; 2]) -> VReg;

    /// Makes the block restart if this is true in an active lane. After [`Selection::check`] or [`VectorIsa::after`] no condition
    /// has failed.
    fn must_not(s: &mut Select<'_, '_, Self>, r: VReg);
    fn check(s: &mut Select<'_, '_, Self>);
    /// Does so where operations that rely on the conditions follow.
    fn check_now(s: &mut Select<'_, '_, Self>);

    /// Join halves to 64-bit values, or return a half of 64-bit values.
    fn pair(s: &mut Select<'_, '_, Self>, lo: Id, hi: Id) -> [VReg; 2];
    fn half_of(s: &mut Select<'_, '_, Self>, r: [VReg; 2], high: bool) -> VReg;

    /// Returns a VGPR's old values in the lanes that `lanes` numbers.
    fn lanes_in(s: &mut Select<'_, '_, Self>, v: u16, lanes: Id) -> VReg;

    /// Returns a vector whose qwords are those of the two values by turns. Each value has the same qword everywhere.
    fn interleaved(s: &mut Select<'_, '_, Self>, of: [VReg; 2]) -> VReg;

    /// Returns the values of the slice's lanes that the digits number.
    fn shuffle(s: &mut Select<'_, '_, Self>, digits: u64, x: Id) -> VReg;

    /// Returns the bits of two values, shifted by a constant (a double shift).
    fn double_shift(s: &mut Select<'_, '_, Self>, left: bool, of: [Id; 2], by: u8) -> VReg;

    /// Returns a bitwise operation on three values.
    fn ternary(s: &mut Select<'_, '_, Self>, op: &VectorOp, table: u8) -> VReg;

    /// Returns the smaller or the larger one of two values of 32 bits.
    fn extreme(s: &mut Select<'_, '_, Self>, which: Extreme, of: [Id; 2]) -> VReg;

    /// Selects an arithmetic operation and defines its result.
    fn alu(s: &mut Select<'_, '_, Self>, op: &VectorOp, o: Op, n: &Node);

    /// Returns the classes of an instruction's temporary registers.
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

/// Code that executes the work of wave-wide helpers on staged operands. All vector registers may be clobbered.
pub(crate) trait Staging: VectorIsa {
    /// Jumps to `other` unless all staged addresses are valid. RAX and RDX are clobbered.
    fn staged_in_lds(e: &mut Emit<'_, Self>, addresses: StagedAddresses<'_>, other: Label);

    /// Computes the reduction of the active lanes' staged data in RCX. RAX is preserved.
    fn reduce_staged(e: &mut Emit<'_, Self>, j: &Joined);

    /// If the lanes' addresses are consecutive, stores the staged dwords to memory and jumps to the returned label; otherwise does nothing.
    fn store_staged(e: &mut Emit<'_, Self>, l: &Lanes, range: Range) -> Label;

    /// Writes a staged operand to a VGPR in active lanes.
    fn write_staged(e: &mut Emit<'_, Self>, operand: usize, vgpr: u8);

    /// Stores staged dwords to LDS at RCX: all lanes' first values, then the second ones.
    fn store_two(e: &mut Emit<'_, Self>, two: Two);
}

/// The conditions for staged LDS addresses of the active lanes: `bytes` from each address on are within LDS and the limit, and each
/// address is a multiple of a power of two.
#[derive(Clone, Copy)]
pub(crate) struct StagedAddresses<'a> {
    /// The operands that hold the addresses.
    pub operands: &'a [usize],
    pub limit: Id,
    pub bytes: i32,
    pub multiple: u64,
}
