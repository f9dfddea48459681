//! VEX instructions on vectors of 128 and 256 bits as machine instructions: of vector code and of bases.

use super::*;
use crate::lir::regalloc::Location;
use crate::lir::{Remat, Role, VReg};
use crate::target::x64::machine::OperandRegisters;

pub(crate) const MOVMSKPS: X = X(1, 0, 0, 0x50);
pub(crate) const MOVMSKPD: X = X(1, 1, 0, 0x50);
pub(crate) const MOVD: X = X(1, 1, 0, 0x6e);
pub(crate) const MAXPS: X = X(1, 0, 0, 0x5f);
pub(crate) const MINPS: X = X(1, 0, 0, 0x5d);
pub(crate) const MAXUD: X = X(2, 1, 0, 0x3f);
pub(crate) const MINUD: X = X(2, 1, 0, 0x3b);
pub(crate) const MAXSD: X = X(2, 1, 0, 0x3d);
pub(crate) const MINSD: X = X(2, 1, 0, 0x39);

/// An instruction. Operands are in the order in which they are named.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Plain {
    /// An instruction with one operand: use, result. The number is 1 for 256 bits, 0 for 128.
    One(X, u8, Option<u8>),
    /// An instruction with two operands: use, use, result.
    Two(X, u8, Option<u8>),
    /// An instruction of three operands; the result replaces the first.
    Three(X, u8),
    /// The second operand's elements where the third is negative, elsewhere the first's.
    Blend(u8),
    /// Shift by a constant: `op` 0x72 dwords, 0x73 qwords; `ext` 2 srl, 4 sra, 6 sll.
    Shift {
        op: u8,
        ext: u8,
        by: u8,
        l: u8,
    },
    /// An instruction with the source in the usual place of the result: use, result.
    Reverse(X, u8, u8),
    Zero,
    Ones,
    /// A constant.
    Line(u32),
}

/// Instructions some of whose operands are in memory.
pub(crate) trait VexMachine: Machine<Avx2> {
    /// Returns the location of the instruction's result, if it is in memory.
    fn in_memory(&self, e: &mut Emit<'_, Avx2>) -> Option<H>;

    /// Returns an operand as the last one of an instruction.
    fn operand(e: &mut Emit<'_, Avx2>, p: OperandRegisters<'_, Self>, k: usize) -> H {
        match p.locations[k] {
            Location::Reg(_) => H::R(p.r(k)),
            Location::Slot(s) => H::M(e.spill_slot(s, Self::SLOT)),
            Location::Memory(inst) => {
                let found = p.code.insts[inst as usize].op.in_memory(e);
                found.unwrap_or_else(|| {
                    e.mistaken();
                    H::R(0)
                })
            }
        }
    }
}

impl Plain {
    /// Returns an instruction that makes a constant.
    pub fn constant(a: &mut Asm, words: [u32; 8]) -> (Plain, Remat) {
        match words {
            [0, 0, 0, 0, 0, 0, 0, 0] => (Plain::Zero, Remat::Value),
            w if w == [u32::MAX; 8] => (Plain::Ones, Remat::Value),
            _ => match a.line(words) {
                H::L(line) => (Plain::Line(line), Remat::Memory),
                _ => (Plain::Zero, Remat::Value),
            },
        }
    }

    pub fn encode<O: VexMachine>(self, e: &mut Emit<'_, Avx2>, p: OperandRegisters<'_, O>) {
        match self {
            Plain::One(x, l, imm) => {
                let a = O::operand(e, p, 0);
                e.a.v(x, l, p.r(1), 0, a, imm);
            }
            Plain::Two(x, l, imm) => {
                let b = O::operand(e, p, 1);
                e.a.v(x, l, p.r(2), p.r(0), b, imm);
            }
            Plain::Three(x, l) => {
                let b = O::operand(e, p, 3);
                e.a.v(x, l, p.r(1), p.r(2), b, None);
            }
            Plain::Blend(l) => {
                let b = O::operand(e, p, 1);
                let mask = p.r(2) << 4;
                e.a.v(BLENDV, l, p.r(3), p.r(0), b, Some(mask));
            }
            Plain::Shift { op, ext, by, l } => {
                let x = X(1, 1, 0, op);
                e.a.v(x, l, ext, p.r(1), H::R(p.r(0)), Some(by));
            }
            Plain::Reverse(x, l, imm) => e.a.v(x, l, p.r(0), 0, H::R(p.r(1)), Some(imm)),
            Plain::Zero => e.a.x(XOR, p.r(0), p.r(0), H::R(p.r(0))),
            Plain::Ones => e.a.y(EQD, p.r(0), p.r(0), H::R(p.r(0))),
            Plain::Line(line) => e.a.y(LOAD, p.r(0), 0, H::L(line)),
        }
    }
}

/// Code that is built from these instructions.
pub(crate) trait Build {
    fn plain(&mut self, op: Plain, operands: &[(VReg, Role)]);

    fn new_reg(&mut self) -> VReg;

    /// A constant of eight dwords.
    fn words(&mut self, words: [u32; 8]) -> VReg;

    /// Records an operation that has no code.
    fn no_code(&mut self);

    fn one(&mut self, x: X, a: VReg) -> VReg {
        self.one_of(x, 1, a, None)
    }

    fn one_of(&mut self, x: X, l: u8, a: VReg, imm: Option<u8>) -> VReg {
        let d = self.new_reg();
        self.plain(Plain::One(x, l, imm), &[(a, Role::Any), (d, Role::Def)]);
        d
    }

    fn two(&mut self, x: X, a: VReg, b: VReg) -> VReg {
        self.two_of(x, 1, a, b, None)
    }

    fn two_imm(&mut self, x: X, a: VReg, b: VReg, imm: u8) -> VReg {
        self.two_of(x, 1, a, b, Some(imm))
    }

    fn two_of(&mut self, x: X, l: u8, a: VReg, b: VReg, imm: Option<u8>) -> VReg {
        let d = self.new_reg();
        let operands = [(a, Role::Use), (b, Role::Any), (d, Role::Def)];
        self.plain(Plain::Two(x, l, imm), &operands);
        d
    }

    /// The result replaces `c`.
    fn three(&mut self, x: X, c: VReg, a: VReg, b: VReg) -> VReg {
        let d = self.new_reg();
        let operands = [
            (c, Role::Use),
            (d, Role::Tied),
            (a, Role::Use),
            (b, Role::Any),
        ];
        self.plain(Plain::Three(x, 1), &operands);
        d
    }

    /// Returns `b` where the mask is true, elsewhere `a`.
    fn blend(&mut self, a: VReg, b: VReg, mask: VReg) -> VReg {
        self.blend_of(1, a, b, mask)
    }

    fn blend_of(&mut self, l: u8, a: VReg, b: VReg, mask: VReg) -> VReg {
        let d = self.new_reg();
        let operands = [
            (a, Role::Use),
            (b, Role::Any),
            (mask, Role::Use),
            (d, Role::Def),
        ];
        self.plain(Plain::Blend(l), &operands);
        d
    }

    fn shift_of(&mut self, op: u8, ext: u8, a: VReg, by: u8, l: u8) -> VReg {
        let d = self.new_reg();
        let operands = [(a, Role::Use), (d, Role::Def)];
        self.plain(Plain::Shift { op, ext, by, l }, &operands);
        d
    }

    /// Shifts dwords: left, right, right with the sign.
    fn shl(&mut self, a: VReg, by: u8) -> VReg {
        self.shift_of(0x72, 6, a, by, 1)
    }

    fn shr(&mut self, a: VReg, by: u8) -> VReg {
        self.shift_of(0x72, 2, a, by, 1)
    }

    fn sar(&mut self, a: VReg, by: u8) -> VReg {
        self.shift_of(0x72, 4, a, by, 1)
    }

    /// Shifts qwords.
    fn shlq(&mut self, a: VReg, by: u8) -> VReg {
        self.shift_of(0x73, 6, a, by, 1)
    }

    fn shrq(&mut self, a: VReg, by: u8) -> VReg {
        self.shift_of(0x73, 2, a, by, 1)
    }

    /// Returns the bits of two values, shifted by a constant (a double shift).
    fn both_shifted(&mut self, left: bool, a: VReg, b: VReg, by: u8, l: u8) -> VReg {
        let by = by % 32;
        let (one, other) = if left { (6, 2) } else { (2, 6) };
        let t = self.shift_of(0x72, other, b, 32 - by, l);
        let d = self.shift_of(0x72, one, a, by, l);
        self.two(OR, d, t)
    }

    /// Returns the upper 128 bits.
    fn upper(&mut self, a: VReg) -> VReg {
        let d = self.new_reg();
        let operands = [(a, Role::Use), (d, Role::Def)];
        self.plain(Plain::Reverse(EXTRACT, 1, 1), &operands);
        d
    }

    /// Joins the lower 128 bits of two registers.
    fn join(&mut self, low: VReg, high: VReg) -> VReg {
        self.two_imm(INSERT, low, high, 1)
    }

    fn zero(&mut self) -> VReg {
        self.words([0; 8])
    }

    fn ones(&mut self) -> VReg {
        self.words([u32::MAX; 8])
    }

    fn not(&mut self, a: VReg) -> VReg {
        let ones = self.ones();
        self.two(XOR, a, ones)
    }

    /// Compares 32-bit integers.
    fn compare(&mut self, o: Op, signed: bool, a: VReg, b: VReg) -> VReg {
        let (r, invert) = match (o, signed) {
            (Op::Eq | Op::Ne, _) => (self.two(EQD, a, b), o == Op::Ne),
            (Op::Gt | Op::Le, true) => (self.two(GTD, a, b), o == Op::Le),
            (Op::Lt | Op::Ge, true) => (self.two(GTD, b, a), o == Op::Ge),
            (Op::Le | Op::Gt, false) => {
                let t = self.two(MINUD, a, b);
                (self.two(EQD, a, t), o == Op::Gt)
            }
            (Op::Ge | Op::Lt, false) => {
                let t = self.two(MAXUD, a, b);
                (self.two(EQD, a, t), o == Op::Lt)
            }
            _ => {
                self.no_code();
                (a, false)
            }
        };
        match invert {
            true => self.not(r),
            false => r,
        }
    }
}
