//! Splits operations on 64-bit integers per lane into halves.

use super::{Got, Graph, Id, Inst, Unsupported};
use gcn_isa::meaning::Op;
use gcn_isa::shape::Ty;

impl Graph {
    /// Returns the value of an operation on 64-bit integers per lane, in halves where that is cheap.
    pub(super) fn halves(&mut self, op: Op, ty: Ty, out: Ty, args: [Id; 3]) -> Got {
        let [a, b, c] = args;
        let n = ty.as_bits();
        if op == Op::IntToFloat {
            return Ok(self.node(Inst::Alu(op), ty, out, true, [a, 0, 0]));
        }
        let whole = |g: &Self, id: Id| g.wide(id) && g.get(id).op != Inst::Pair || !g.vec(id);
        if op == Op::Select && whole(self, b) && whole(self, c) && (self.vec(b) || self.vec(c)) {
            return Ok(self.node(Inst::Alu(op), n, n, true, [a, b, c]));
        }
        if let Op::Select = op {
            let [bl, bh, cl, ch] = [self.lo(b), self.hi(b), self.lo(c), self.hi(c)];
            let lo = self.alu(op, Ty::B32, Ty::B32, [a, bl, cl])?;
            let hi = self.alu(op, Ty::B32, Ty::B32, [a, bh, ch])?;
            return Ok(self.pair(lo, hi));
        }
        if matches!(op, Op::Shl | Op::Shr) {
            return self.shift_halves(op, ty, a, b);
        }
        if op == Op::Mul {
            return Ok(self.node(Inst::Alu(op), n, n, true, [a, b, 0]));
        }
        let [al, ah, bl, bh] = if op.arity() == 1 {
            let (al, ah) = (self.lo(a), self.hi(a));
            [al, ah, 0, 0]
        } else {
            [self.lo(a), self.hi(a), self.lo(b), self.hi(b)]
        };
        match op {
            Op::Not | Op::And | Op::Or | Op::Xor => {
                let lo = self.alu(op, Ty::B32, Ty::B32, [al, bl, 0])?;
                let hi = self.alu(op, Ty::B32, Ty::B32, [ah, bh, 0])?;
                Ok(self.pair(lo, hi))
            }
            Op::Add => {
                let lo = self.alu(op, Ty::U32, Ty::U32, [al, bl, 0])?;
                // If the addend is a truth value, the sum carries where it is 0.
                let carry = self.alu(Op::Lt, Ty::U32, Ty::Bool, [lo, bl, 0])?;
                let carry = self.zext_bool(carry);
                let hi = self.alu(op, Ty::U32, Ty::U32, [ah, bh, 0])?;
                let hi = self.alu(op, Ty::U32, Ty::U32, [hi, carry, 0])?;
                Ok(self.pair(lo, hi))
            }
            Op::Sub => {
                let lo = self.alu(op, Ty::U32, Ty::U32, [al, bl, 0])?;
                let borrow = self.alu(Op::Lt, Ty::U32, Ty::Bool, [al, bl, 0])?;
                let borrow = self.zext_bool(borrow);
                let hi = self.alu(op, Ty::U32, Ty::U32, [ah, bh, 0])?;
                let hi = self.alu(op, Ty::U32, Ty::U32, [hi, borrow, 0])?;
                Ok(self.pair(lo, hi))
            }
            Op::Eq | Op::Ne => {
                let lo = self.alu(op, Ty::U32, Ty::Bool, [al, bl, 0])?;
                let hi = self.alu(op, Ty::U32, Ty::Bool, [ah, bh, 0])?;
                let how = if op == Op::Eq { Op::And } else { Op::Or };
                self.alu(how, Ty::Bool, Ty::Bool, [lo, hi, 0])
            }
            Op::Lt | Op::Le | Op::Gt | Op::Ge => {
                let strict = match op {
                    Op::Lt | Op::Le => Op::Lt,
                    _ => Op::Gt,
                };
                let t32 = if ty.is_signed() { Ty::I32 } else { Ty::U32 };
                let high = self.alu(strict, t32, Ty::Bool, [ah, bh, 0])?;
                let same = self.alu(Op::Eq, Ty::U32, Ty::Bool, [ah, bh, 0])?;
                let low = self.alu(op, Ty::U32, Ty::Bool, [al, bl, 0])?;
                let both = self.alu(Op::And, Ty::Bool, Ty::Bool, [same, low, 0])?;
                self.alu(Op::Or, Ty::Bool, Ty::Bool, [high, both, 0])
            }
            _ => Err(Unsupported),
        }
    }

    /// Returns the value of a 64-bit shift.
    fn shift_halves(&mut self, op: Op, ty: Ty, a: Id, b: Id) -> Got {
        let n = ty.as_bits();
        let Some(by) = self.value_of(b) else {
            // The count is as wide as the value.
            let count = if self.wide(b) || self.get(b).op == Inst::Pair {
                b
            } else {
                let zero = self.constant(Ty::B32, 0);
                self.pair(b, zero)
            };
            return Ok(self.node(Inst::Alu(op), ty, n, true, [a, count, 0]));
        };
        let (lo, hi) = (self.lo(a), self.hi(a));
        let signed = op == Op::Shr && ty.is_signed();
        let by = by.min(if signed { 63 } else { 64 });
        let zero = self.constant(Ty::B32, 0);
        let t32 = if signed { Ty::I32 } else { Ty::B32 };
        let vec = true;
        Ok(match (op, by) {
            (Op::Shl, 0..32) => {
                let l = self.and1(op, Ty::B32, lo, by)?;
                let h = if self.is(lo, 0) {
                    self.and1(op, Ty::B32, hi, by)?
                } else {
                    self.node(Inst::Shld(by as u8), Ty::B32, Ty::B32, vec, [hi, lo, 0])
                };
                self.pair(l, h)
            }
            (Op::Shl, _) => {
                let h = self.and1(op, Ty::B32, lo, by - 32)?;
                self.pair(zero, h)
            }
            (_, 0..32) => {
                let l = if self.is(lo, 0) {
                    self.and1(Op::Shl, Ty::B32, hi, 32 - by)?
                } else {
                    self.node(Inst::Shrd(by as u8), Ty::B32, Ty::B32, vec, [lo, hi, 0])
                };
                let h = self.and1(op, t32, hi, by)?;
                self.pair(l, h)
            }
            (_, _) => {
                let l = self.and1(op, t32, hi, by - 32)?;
                let h = if signed {
                    self.and1(op, t32, hi, 31)?
                } else {
                    zero
                };
                self.pair(l, h)
            }
        })
    }
}
