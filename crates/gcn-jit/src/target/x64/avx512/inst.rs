//! The machine instructions, and their encoding.

use super::*;
use crate::lir::regalloc::Location;

/// A machine instruction. Operands are in the order in which they are named; a mask comes first.
pub(crate) enum M {
    Shared(Shared),
    /// An instruction with one operand: use, result.
    One(E, Option<u8>),
    /// An instruction with two operands: use, use, result.
    Two(E, Option<u8>),
    /// An instruction of three operands; the result replaces the first.
    Three(E, Option<u8>),
    /// An instruction with one or two operands in registers, with a rounding as numbered in MXCSR's field RC.
    Rounded(E, u8, bool),
    /// An instruction with the source in the usual place of the result: use, result.
    Reverse(E, Option<u8>),
    /// Shift by a constant; `ext` 2 srl, 4 sra, 6 sll, 0 ror, 1 rol.
    Shift {
        e: E,
        ext: u8,
        by: u8,
    },
    /// The second operand's elements under the mask, elsewhere the first's.
    Blend(E),
    /// An instruction with one operand: the result under the mask, elsewhere 0.
    OrZero(E),
    /// An instruction with two operands: the result under the mask, elsewhere the first operand, which it replaces.
    Under(E),
    /// The second operand in active lanes, elsewhere the first.
    InActive,
    /// A constant.
    Constant(u64, bool),
    /// A base and the lane's number times a constant.
    Affine(From, i32),
    /// The lane's number times a constant.
    Distances(i32),
    /// Dwords at an address plus 4 times the index: index, temporary mask, result.
    Gather(Mem),
    /// A comparison of two operands, only in active lanes if the flag is set.
    Compare(E, u8, bool),
    /// A comparison under a mask.
    CompareUnder(E, u8),
    /// A test whether bits are 0: use, use, truth value.
    Test(E),
    /// A test whether a float is of a class.
    Class(E, u8),
    /// Operations on truth values.
    Mask2(u8),
    MaskNot,
    MaskUpper,
    /// Joins 8 and 8 truth values: upper, lower.
    MaskJoin,
    /// All lanes or none; the active lanes; the upper eight of these; a scalar; bits.
    MaskSame(bool),
    MaskActive,
    MaskActiveUpper,
    MaskScalar(Id),
    MaskBits(u16),
    /// Records the lanes for which an operation fails, and checks the recorded lanes.
    Bad,
    Check,
}

/// The location of a base.
#[derive(Clone, Copy)]
pub(crate) enum From {
    Memory(At),
    Constant(u32),
}

impl std::convert::From<Shared> for M {
    fn from(op: Shared) -> M {
        M::Shared(op)
    }
}

/// Returns the opmask with an allocation number. Opmask 0 is not allocated.
pub(super) fn opmask(r: u8) -> u8 {
    r + 1
}

impl Machine<Avx512> for M {
    fn encode(&self, e: &mut Emit<'_, Avx512>, p: OperandRegisters<'_>) {
        match *self {
            M::Shared(ref op) => op.encode(e, p),
            M::One(x, imm) => {
                let a = e.rm(p, 0);
                e.a.evex(x, p.r(1), 0, a, ALL, imm);
            }
            M::Two(x, imm) => {
                let b = e.rm(p, 1);
                e.a.evex(x, p.r(2), p.r(0), b, ALL, imm);
            }
            M::Three(x, imm) => {
                let b = e.rm(p, 3);
                e.a.evex(x, p.r(1), p.r(2), b, ALL, imm);
            }
            M::Rounded(x, rc, false) => e.a.zr(x, p.r(1), 0, p.r(0), rc),
            M::Rounded(x, rc, true) => e.a.zr(x, p.r(2), p.r(0), p.r(1), rc),
            M::Reverse(x, imm) => e.a.evex(x, p.r(0), 0, Rm::R(p.r(1)), ALL, imm),
            M::Shift { e: x, ext, by } => {
                let a = Rm::R(p.r(0));
                e.a.evex(x, ext, p.r(1), a, ALL, Some(by));
            }
            M::Blend(x) => {
                let b = e.rm(p, 2);
                e.a.zk(x, p.r(3), p.r(1), b, keep(p.k(0)));
            }
            M::OrZero(x) => {
                let a = e.rm(p, 1);
                e.a.zk(x, p.r(2), 0, a, zero(p.k(0)));
            }
            M::Under(x) => {
                let b = e.rm(p, 3);
                e.a.zk(x, p.r(2), p.r(2), b, keep(p.k(0)));
            }
            M::InActive => {
                let new = e.rm(p, 1);
                e.a.zk(op::BLENDD, p.r(2), p.r(0), new, keep(K_EXEC));
            }
            M::Constant(v, wide) => bcast_const(e.a, p.r(0), v, wide),
            M::Affine(from, step) => {
                let d = p.r(0);
                e.distances(d, step);
                let base = match from {
                    From::Memory(at) => Rm::B(e.at(at)),
                    From::Constant(v) => Rm::C(v as u64),
                };
                e.a.z(op::ADDD, d, d, base);
            }
            M::Distances(step) => e.distances(p.r(0), step),
            M::Gather(m) => {
                let (index, k, d) = (p.r(0), p.k(1), p.r(2));
                let at = Mem {
                    index: Some((index, 4)),
                    ..m
                };
                e.a.kop(kop::OR, k, K_EXEC, K_EXEC);
                e.a.z(op::XORD, d, d, Rm::R(d));
                e.a.zk(op::GATHERDD, d, 0, Rm::M(at), keep(k));
            }
            M::Compare(x, predicate, active) => {
                let b = e.rm(p, 1);
                let on = if active { keep(K_EXEC) } else { ALL };
                e.a.zi(x, p.k(2), p.r(0), b, on, predicate);
            }
            M::CompareUnder(x, predicate) => {
                let b = e.rm(p, 2);
                e.a.zi(x, p.k(3), p.r(1), b, keep(p.k(0)), predicate);
            }
            M::Test(x) => {
                let b = e.rm(p, 1);
                e.a.z(x, p.k(2), p.r(0), b);
            }
            M::Class(x, classes) => e.a.zi(x, p.k(1), 0, Rm::R(p.r(0)), ALL, classes),
            M::Mask2(which) => e.a.kop(which, p.k(2), p.k(0), p.k(1)),
            M::MaskNot => e.a.knot(p.k(1), p.k(0)),
            M::MaskUpper => e.a.kshiftr(p.k(1), p.k(0), 8),
            M::MaskJoin => e.a.kunpckbw(p.k(2), p.k(0), p.k(1)),
            M::MaskSame(all) => {
                let (which, d) = (if all { kop::XNOR } else { kop::XOR }, p.k(0));
                e.a.kop(which, d, d, d);
            }
            M::MaskActive => e.a.kop(kop::OR, p.k(0), K_EXEC, K_EXEC),
            M::MaskActiveUpper => e.a.kshiftr(p.k(0), K_EXEC, 8),
            M::MaskScalar(id) => {
                e.sload(RAX, id);
                e.a.g(false, &[0xf7], 3, Rm::R(RAX));
                e.a.gpr_to_k(p.k(0), RAX);
            }
            M::MaskBits(bits) => {
                e.a.imm(RAX, bits as u64);
                e.a.gpr_to_k(p.k(0), RAX);
            }
            M::Bad => e.a.kop(kop::OR, K_BAD, K_BAD, p.k(0)),
            M::Check => e.restart_if_bad(),
        }
    }
}

impl OperandRegisters<'_> {
    /// Returns the opmask of an operand.
    pub(super) fn k(&self, k: usize) -> u8 {
        match self.locations[k] {
            Location::Reg(r) => opmask(r),
            // Other locations are the active lanes: see `Remat::Fixed`.
            _ => K_EXEC,
        }
    }
}

impl Emit<'_, Avx512> {
    /// Returns an operand as the last one of an instruction.
    pub(super) fn rm(&mut self, p: OperandRegisters<'_>, k: usize) -> Rm {
        match p.locations[k] {
            Location::Reg(_) => Rm::R(p.r(k)),
            Location::Slot(s) => Rm::M(self.spill_slot(s, M::SLOT)),
            Location::Memory(inst) => match p.code.insts[inst as usize].op {
                M::Constant(v, _) => Rm::C(v),
                M::Shared(Shared::Load(at)) => Rm::M(self.at(at)),
                M::Shared(Shared::Broadcast(at, _)) => Rm::B(self.at(at)),
                _ => {
                    self.mistaken();
                    Rm::R(0)
                }
            },
        }
    }

    /// Emits the lanes' distances from the first one.
    pub(super) fn distances(&mut self, d: u8, step: i32) {
        let log = step.unsigned_abs().trailing_zeros() as usize;
        if step > 0 && step.unsigned_abs().is_power_of_two() && log < 8 {
            self.a
                .z(op::MOVDQU32, d, 0, Rm::M(ctx!(tables.strides, 64 * log)));
            return;
        }
        self.a.z(op::MOVDQU32, d, 0, Rm::M(ctx!(tables.strides)));
        self.a.z(op::MULLD, d, d, Rm::C(step as u32 as u64));
    }

    /// Makes the block restart if a check failed in any lane.
    pub(super) fn restart_if_bad(&mut self) {
        self.a.kortest(K_BAD, K_BAD);
        let restart = self.restart();
        self.a.jcc(Cc::Ne, restart);
    }

    /// Returns the active lanes as a mask, for an instruction that leaves other lanes unchanged.
    pub(super) fn on(&self) -> K {
        match self.all_active {
            Some(_) => ALL,
            None => keep(K_EXEC),
        }
    }

    /// Returns the active lanes as a mask, for an instruction that sets other lanes to 0.
    pub(super) fn on_or_zero(&self) -> K {
        match self.all_active {
            Some(_) => ALL,
            None => zero(K_EXEC),
        }
    }

    /// Returns the active ones of the upper eight lanes as a mask for 64-bit elements; `k` is clobbered.
    pub(super) fn upper_on(&mut self, k: u8) -> K {
        if self.all_active.is_some() {
            return ALL;
        }
        self.a.kshiftr(k, K_EXEC, 8);
        keep(k)
    }

    /// Mixes two registers' elements into `d`.
    pub(super) fn mix(&mut self, mix: Mix, d: u8, p: u8, q: Rm) {
        self.a.z(op::MOVDQU32, d, 0, Rm::M(mix.index()));
        self.a.z(op::PERMI2D, d, p, q);
    }
}

/// A permutation of the elements of two registers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mix {
    /// Every other element of both, from the first or from the second on.
    Even,
    Odd,
    /// Alternating elements of both, from their lower or their upper halves.
    ZipLow,
    ZipHigh,
}

impl Mix {
    pub fn index(self) -> Mem {
        match self {
            Mix::Even => ctx!(tables.even),
            Mix::Odd => ctx!(tables.odd),
            Mix::ZipLow => ctx!(tables.zip_low),
            Mix::ZipHigh => ctx!(tables.zip_high),
        }
    }
}

/// Broadcasts a constant to every element.
pub(super) fn bcast_const(a: &mut Asm, r: u8, v: u64, wide: bool) {
    match (v, wide) {
        (0, _) => a.z(op::XORD, r, r, Rm::R(r)),
        // vpternlog makes all ones without memory.
        (0xffff_ffff, false) | (u64::MAX, true) => {
            a.zi(op::TERND, r, r, Rm::R(r), ALL, 0xff);
        }
        (_, true) => a.z(op::BCASTQ, r, 0, Rm::C(v)),
        (_, false) => a.z(op::BCASTD, r, 0, Rm::C(v)),
    }
}
