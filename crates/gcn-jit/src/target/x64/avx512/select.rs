//! Selection of operations on the values of 16 lanes.

use super::*;
use crate::ir::affine::Base;
use crate::target::x64::select::{each_four, predicate_of, rounding_of};

/// A constant in a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Constant {
    Narrow(u32),
    Wide(u64),
    Mix(u8),
    Distances(i32),
    Shuffle(u64),
    Same(bool),
    Scalar(Id),
    Active,
    ActiveUpper,
    Lanes(u16),
}

impl Select<'_, '_> {
    // ---- instructions ----

    fn one(&mut self, e: E, a: VReg) -> VReg {
        self.one_of(e, None, (a, Role::Any))
    }

    /// Selects an instruction whose operand must be in a register, because as a memory operand it would have another size or element width.
    fn one_reg(&mut self, e: E, a: VReg) -> VReg {
        self.one_of(e, None, (a, Role::Use))
    }

    fn one_of(&mut self, e: E, imm: Option<u8>, a: (VReg, Role)) -> VReg {
        let d = self.reg();
        self.push(M::One(e, imm), &[a, (d, Role::Def)]);
        d
    }

    fn two(&mut self, e: E, a: VReg, b: VReg) -> VReg {
        self.two_of(e, None, a, (b, Role::Any))
    }

    fn two_imm(&mut self, e: E, a: VReg, b: VReg, imm: u8) -> VReg {
        self.two_of(e, Some(imm), a, (b, Role::Any))
    }

    /// Selects an instruction whose operands must be in registers: see [`Select::one_reg`].
    fn two_regs(&mut self, e: E, a: VReg, b: VReg) -> VReg {
        self.two_of(e, None, a, (b, Role::Use))
    }

    fn two_of(&mut self, e: E, imm: Option<u8>, a: VReg, b: (VReg, Role)) -> VReg {
        let d = self.reg();
        self.push(M::Two(e, imm), &[(a, Role::Use), b, (d, Role::Def)]);
        d
    }

    /// The result replaces `c`.
    fn three(&mut self, e: E, imm: Option<u8>, c: VReg, a: VReg, b: VReg) -> VReg {
        let d = self.reg();
        let operands = [
            (c, Role::Use),
            (d, Role::Tied),
            (a, Role::Use),
            (b, Role::Any),
        ];
        self.push(M::Three(e, imm), &operands);
        d
    }

    fn rounded(&mut self, e: E, a: VReg, b: Option<VReg>, rc: u8) -> VReg {
        let d = self.reg();
        let mut operands = vec![(a, Role::Use)];
        operands.extend(b.map(|b| (b, Role::Use)));
        operands.push((d, Role::Def));
        self.push(M::Rounded(e, rc, b.is_some()), &operands);
        d
    }

    fn reverse(&mut self, e: E, imm: Option<u8>, a: VReg) -> VReg {
        let d = self.reg();
        self.push(M::Reverse(e, imm), &[(a, Role::Use), (d, Role::Def)]);
        d
    }

    fn shift_of(&mut self, e: E, ext: u8, a: VReg, by: u8) -> VReg {
        let d = self.reg();
        let operands = [(a, Role::Use), (d, Role::Def)];
        self.push(M::Shift { e, ext, by }, &operands);
        d
    }

    fn truth_operand(&self, r: VReg) -> (VReg, Role) {
        (r, Avx512::truth_role(self, r))
    }

    /// Returns `b` under the mask, elsewhere `a`.
    fn blend(&mut self, e: E, k: VReg, a: VReg, b: VReg) -> VReg {
        let d = self.reg();
        let operands = [
            self.truth_operand(k),
            (a, Role::Use),
            (b, Role::Any),
            (d, Role::Def),
        ];
        self.push(M::Blend(e), &operands);
        d
    }

    /// Returns `a` under the mask, elsewhere 0.
    fn or_zero(&mut self, e: E, k: VReg, a: (VReg, Role)) -> VReg {
        let d = self.reg();
        let operands = [self.truth_operand(k), a, (d, Role::Def)];
        self.push(M::OrZero(e), &operands);
        d
    }

    /// Returns the result of an operation on `a` and `b` under the mask, elsewhere `a`.
    fn under(&mut self, e: E, k: VReg, a: VReg, b: VReg) -> VReg {
        let d = self.reg();
        let operands = [
            self.truth_operand(k),
            (a, Role::Use),
            (d, Role::Tied),
            (b, Role::Any),
        ];
        self.push(M::Under(e), &operands);
        d
    }

    fn compare(&mut self, e: E, a: VReg, b: VReg, predicate: u8) -> VReg {
        self.compare_of(e, a, b, predicate, false)
    }

    fn compare_of(&mut self, e: E, a: VReg, b: VReg, predicate: u8, active: bool) -> VReg {
        let d = self.truth_reg();
        let operands = [(a, Role::Use), (b, Role::Any), (d, Role::Def)];
        self.push(M::Compare(e, predicate, active), &operands);
        d
    }

    fn compare_under(&mut self, k: VReg, e: E, a: VReg, b: VReg, predicate: u8) -> VReg {
        let d = self.truth_reg();
        let operands = [
            self.truth_operand(k),
            (a, Role::Use),
            (b, Role::Any),
            (d, Role::Def),
        ];
        self.push(M::CompareUnder(e, predicate), &operands);
        d
    }

    fn mask2(&mut self, which: u8, a: VReg, b: VReg) -> VReg {
        let d = self.truth_reg();
        let operands = [self.truth_operand(a), self.truth_operand(b), (d, Role::Def)];
        self.push(M::Mask2(which), &operands);
        d
    }

    fn mask1(&mut self, op: M, a: VReg) -> VReg {
        let d = self.truth_reg();
        let operands = [self.truth_operand(a), (d, Role::Def)];
        self.push(op, &operands);
        d
    }

    /// Joins two registers with eight truth values each.
    fn mask_join(&mut self, r: [VReg; 2]) -> VReg {
        let d = self.truth_reg();
        let operands = [
            self.truth_operand(r[1]),
            self.truth_operand(r[0]),
            (d, Role::Def),
        ];
        self.push(M::MaskJoin, &operands);
        d
    }

    fn mask_parts(&mut self, k: VReg) -> [VReg; 2] {
        [k, self.mask1(M::MaskUpper, k)]
    }

    fn mix(&mut self, mix: Mix, a: VReg, b: VReg) -> VReg {
        let index = self.constant(Constant::Mix(mix as u8), |_| {
            let load = Shared::Load(At::same(mix.index()));
            (load.into(), Remat::Memory, 0)
        });
        self.three(op::PERMI2D, None, index, a, b)
    }

    /// Returns the upper 256 bits.
    fn upper(&mut self, a: VReg) -> VReg {
        self.reverse(op::EXTRACT256, Some(1), a)
    }

    fn join(&mut self, low: VReg, high: VReg) -> VReg {
        self.two_of(op::INSERT256, Some(1), low, (high, Role::Use))
    }

    // ---- constants, truth values ----

    fn truth_constant(&mut self, which: Constant, op: M, again: Remat) -> VReg {
        self.constant(which, |_| (op, again, 1))
    }

    fn active_upper(&mut self) -> VReg {
        self.truth_constant(Constant::ActiveUpper, M::MaskActiveUpper, Remat::Value)
    }

    // ---- operations ----

    fn no_code(&mut self) -> VReg {
        self.e.mistaken();
        self.d32(0)
    }

    /// Selects an operation whose result is a truth value.
    fn truth(&mut self, o: Op, n: &Node, x: Id, y: Id) -> VReg {
        if n.ty == Ty::Bool {
            let a = self.mask(x);
            if o == Op::Not {
                return self.mask1(M::MaskNot, a);
            }
            let b = self.mask(y);
            let which = match o {
                Op::And => kop::AND,
                Op::Or => kop::OR,
                Op::Xor | Op::Ne => kop::XOR,
                Op::Eq => kop::XNOR,
                _ => {
                    self.e.mistaken();
                    kop::AND
                }
            };
            return self.mask2(which, a, b);
        }
        if o == Op::Class {
            return self.class(n, x, y);
        }
        let float = n.ty.is_float();
        let predicate = match o {
            _ if float => predicate_of(o),
            Op::Eq => Some(0),
            Op::Lt => Some(1),
            Op::Le => Some(2),
            Op::Ne => Some(4),
            Op::Ge => Some(5),
            Op::Gt => Some(6),
            _ => None,
        };
        let predicate = predicate.unwrap_or_else(|| {
            self.e.mistaken();
            0
        });
        if n.ty == Ty::F64 {
            let (a, b) = (self.wide(x), self.wide(y));
            let k = [0, 1].map(|k| self.compare(op::CMPPS.pd(), a[k], b[k], predicate));
            return self.mask_join(k);
        }
        let (a, b) = (self.val(x), self.val(y));
        let e = match (float, n.ty.is_signed()) {
            (true, _) => op::CMPPS,
            (_, true) => op::CMPD,
            _ => op::CMPUD,
        };
        self.compare(e, a, b, predicate)
    }

    /// Tests whether a float is of one of the classes that a constant names: NaNs and infinities.
    fn class(&mut self, n: &Node, x: Id, mask: Id) -> VReg {
        let mask = self.e.konst(mask).unwrap_or(0);
        // The classes signalling NaN, quiet NaN, minus infinity and plus infinity, with their bits in the semantics and on the host.
        let classes = [(0x001, 0x80), (0x002, 0x01), (0x004, 0x10), (0x200, 0x08)];
        let imm = classes.iter().fold(
            0,
            |imm, &(bit, host)| if mask & bit != 0 { imm | host } else { imm },
        );
        let class = |s: &mut Self, e: E, a: VReg| {
            let d = s.truth_reg();
            s.push(M::Class(e, imm), &[(a, Role::Use), (d, Role::Def)]);
            d
        };
        if n.ty == Ty::F32 {
            let a = self.val(x);
            return class(self, op::FPCLASSPS, a);
        }
        let k = self.wide(x).map(|a| class(self, op::FPCLASSPS.pd(), a));
        self.mask_join(k)
    }

    fn commutes(&mut self, e: E, x: Id, y: Id) -> VReg {
        let (a, b) = self.ordered(x, y);
        self.two(e, a, b)
    }

    fn narrowed(&mut self, r: VReg, out: Ty) -> VReg {
        if out.bits() >= 32 {
            return r;
        }
        let mask = self.d32(gcn_isa::meaning::width_mask(out) as u32);
        self.two(op::ANDD, r, mask)
    }

    fn integer(&mut self, o: Op, n: &Node, [x, y, w]: [Id; 3]) -> VReg {
        let signed = n.ty.is_signed();
        match o {
            Op::Zext => {
                // This converts a truth value to a number.
                let (k, one) = (self.mask(x), self.d32(1));
                self.or_zero(op::BCASTD, k, (one, Role::Any))
            }
            Op::Not => {
                let mask = gcn_isa::meaning::width_mask(n.out) as u32;
                let (a, mask) = (self.val(x), self.d32(mask));
                self.two(op::XORD, a, mask)
            }
            Op::And => self.commutes(op::ANDD, x, y),
            Op::Or => self.commutes(op::ORD, x, y),
            Op::Xor => self.commutes(op::XORD, x, y),
            Op::Add | Op::Sub => {
                // A truth value as the second operand becomes a masked operation.
                let b = *self.e.node(y);
                let bit = b.op == Inst::Alu(Op::Zext) && b.ty == Ty::Bool && n.out.bits() == 32;
                let e = if o == Op::Add { op::ADDD } else { op::SUBD };
                let known = match bit {
                    true => self.known(self.e.plan.condition(y, &b)),
                    false => None,
                };
                if let Some(k) = known {
                    let (a, one) = (self.val(x), self.d32(1));
                    return self.under(e, k, a, one);
                }
                let r = match o {
                    Op::Add => self.commutes(e, x, y),
                    _ => {
                        let (a, b) = (self.val(x), self.val(y));
                        self.two(e, a, b)
                    }
                };
                self.narrowed(r, n.out)
            }
            Op::Mul => {
                let r = self.commutes(op::MULLD, x, y);
                self.narrowed(r, n.out)
            }
            Op::Neg => {
                let (zero, a) = (self.d32(0), self.val(x));
                self.two(op::SUBD, zero, a)
            }
            Op::Abs if signed => {
                let a = self.val(x);
                self.one(op::ABSD, a)
            }
            Op::Abs => self.val(x),
            Op::Popcount => {
                let a = self.val(x);
                self.one(op::POPCNTD, a)
            }
            Op::Clz => {
                let a = self.val(x);
                self.one(op::LZCNTD, a)
            }
            Op::Ctz => {
                // The result is the number of bits below the lowest 1.
                let (a, ones) = (self.val(x), self.d32(u32::MAX));
                let t = self.two(op::ADDD, a, ones);
                let t = self.two(op::ANDND, a, t);
                self.one(op::POPCNTD, t)
            }
            Op::Shl | Op::Shr => self.shift(o, n, x, y),
            Op::MulHi => self.high_product(signed, x, y),
            Op::Min | Op::Max => {
                let e = match (o == Op::Min, signed) {
                    (true, true) => op::MINSD,
                    (true, false) => op::MINUD,
                    (false, true) => op::MAXSD,
                    (false, false) => op::MAXUD,
                };
                self.commutes(e, x, y)
            }
            Op::Select => {
                let (k, a, b) = (self.mask(x), self.val(w), self.val(y));
                self.blend(op::BLENDD, k, a, b)
            }
            _ => self.no_code(),
        }
    }

    /// Selects a shift of 32 bits or less.
    fn shift(&mut self, o: Op, n: &Node, x: Id, y: Id) -> VReg {
        let signed = n.ty.is_signed();
        let a = self.val(x);
        let r = match self.e.konst(y) {
            Some(by) => {
                let (ext, most) = match o {
                    Op::Shl => (6, 32),
                    _ if signed => (4, 31),
                    _ => (2, 32),
                };
                self.shift_of(op::SHIFTD_I, ext, a, by.min(most) as u8)
            }
            None => {
                let e = match o {
                    Op::Shl => op::SLLVD,
                    _ if signed => op::SRAVD,
                    _ => op::SRLVD,
                };
                let b = self.val(y);
                self.two(e, a, b)
            }
        };
        match o {
            Op::Shl => self.narrowed(r, n.out),
            _ => r,
        }
    }

    fn high_product(&mut self, signed: bool, x: Id, y: Id) -> VReg {
        let e = if signed { op::MULDQ } else { op::MULUDQ };
        let (a, b) = (self.val(x), self.val(y));
        let down = |s: &mut Self, a: VReg| s.shift_of(op::SHIFTQ_I, 2, a, 32);
        // First the products of even lanes, then those of odd lanes, shifted down.
        let even = self.two_regs(e, a, b);
        let (a, b) = (down(self, a), down(self, b));
        let odd = self.two_regs(e, a, b);
        // The upper halves are combined: those of even lanes are shifted down, those of odd lanes are in place.
        let even = down(self, even);
        let lanes = Avx512::lanes_of(self, 0xaaaa);
        self.blend(op::BLENDD, lanes, even, odd)
    }

    /// Selects a conversion between 32-bit integers and floats, or between f16 and f32.
    fn convert(&mut self, o: Op, n: &Node, x: Id) -> VReg {
        let a = self.val(x);
        match o {
            Op::FloatToFloat if n.ty == Ty::F16 => {
                let t = self.reverse(op::PMOVDW_ST, None, a);
                self.one_reg(op::CVTPH2PS, t)
            }
            Op::FloatToFloat if n.out == Ty::F16 => self.rounded_to_f16(a),
            Op::IntToFloat if n.ty.is_signed() => self.one(op::CVTDQ2PS, a),
            Op::IntToFloat => self.one(op::CVTUDQ2PS, a),
            Op::FloatToInt if n.out.is_signed() => {
                let t = self.one(op::CVTTPS2DQ, a);
                let (limit, most) = (self.d32(0x4f00_0000), self.d32(0x7fff_ffff));
                let large = self.compare(op::CMPPS, a, limit, 0x1d);
                let t = self.blend(op::BLENDD, large, t, most);
                let number = self.compare(op::CMPPS, a, a, 7);
                self.or_zero(op::MOVDQU32, number, (t, Role::Use))
            }
            Op::FloatToInt => {
                // This gives the larger one of the number and 0, and the second operand, 0, for a NaN.
                let zero = self.d32(0);
                let t = self.two_regs(op::MAXPS, a, zero);
                self.one(op::CVTTPS2UDQ, t)
            }
            _ => self.no_code(),
        }
    }

    /// Converts f32 to f16.
    fn rounded_to_f16(&mut self, a: VReg) -> VReg {
        let t = self.reverse(op::CVTPS2PH, Some(4), a);
        self.one_reg(op::PMOVZXWD, t)
    }

    /// Selects a sum or difference with negated operands.
    fn sum(&mut self, wide: bool, neg: [bool; 3], minus: bool, [a, b]: [VReg; 2]) -> VReg {
        let (add, sub) = (op::ADDPS.wide(wide), op::SUBPS.wide(wide));
        match (neg[0], neg[1] != minus) {
            (false, false) => self.two(add, a, b),
            (false, true) => self.two(sub, a, b),
            (true, false) => self.two(sub, b, a),
            (true, true) => {
                let t = self.two(add, a, b);
                self.sign_of(Op::Neg, wide, t)
            }
        }
    }

    fn sign_of(&mut self, o: Op, wide: bool, a: VReg) -> VReg {
        let sign = if wide { 1 << 63 } else { 0x8000_0000 };
        match o {
            Op::Neg => {
                let k = self.every(sign, wide);
                self.two(op::XORD.wide(wide), a, k)
            }
            _ => {
                let k = self.every(!sign, wide);
                self.two(op::ANDD.wide(wide), a, k)
            }
        }
    }

    /// Selects x * y + w. The result takes the register of an operand that dies.
    fn fma(&mut self, wide: bool, op: &VectorOp, [a, b, c]: [VReg; 3]) -> VReg {
        let [x, y, w] = op.args;
        let e = |e: E| e.wide(wide).turned(op.neg[0] != op.neg[1], op.neg[2]);
        if self.dies(w) || !self.dies(x) && !self.dies(y) {
            return self.three(e(op::FMADD231PS), None, c, a, b);
        }
        match self.dies(x) {
            true => self.three(e(op::FMADD213PS), None, a, b, c),
            false => self.three(e(op::FMADD213PS), None, b, a, c),
        }
    }

    /// Selects an operation on f32, or on f16 in f32.
    fn float(&mut self, vop: &VectorOp, o: Op, n: &Node) -> VReg {
        let [x, y, w] = vop.args;
        match o {
            Op::Add | Op::Sub => {
                let stays = vop.neg[0] || vop.neg[1] || o == Op::Sub || self.stays(vop);
                let r = match stays {
                    false => self.ordered(x, y),
                    true => (self.val(x), self.val(y)),
                };
                self.sum(false, vop.neg, o == Op::Sub, r.into())
            }
            Op::Mul => {
                let (a, b) = match self.stays(vop) {
                    false => self.ordered(x, y),
                    true => (self.val(x), self.val(y)),
                };
                self.two(op::MULPS, a, b)
            }
            Op::Div => {
                let (a, b) = (self.val(x), self.val(y));
                self.two(op::DIVPS, a, b)
            }
            Op::Sqrt => {
                let a = self.val(x);
                self.one(op::SQRTPS, a)
            }
            Op::Neg | Op::Abs => {
                let a = self.val(x);
                self.sign_of(o, false, a)
            }
            Op::Min | Op::Max => {
                let (a, b) = (self.val(x), self.val(y));
                // The result has the sign of the chosen operand; -0 is below +0.
                self.two_imm(op::RANGEPS, a, b, 4 | (o == Op::Max) as u8)
            }
            Op::Fma if n.ty == Ty::F16 => {
                // The product is exact. To round the sum to odd, it is rounded towards zero and its last bit is set if it is inexact.
                let (a, b, c) = (self.val(x), self.val(y), self.val(w));
                let t = self.two(op::MULPS, a, b);
                let [d, down, up] = [3, 1, 2].map(|rc| self.rounded(op::ADDPS, t, Some(c), rc));
                let differ = self.compare(op::CMPPS, up, down, 0x0c);
                let one = self.d32(1);
                self.under(op::ORD, differ, d, one)
            }
            Op::Fma => {
                let r = [self.val(x), self.val(y), self.val(w)];
                self.fma(false, vop, r)
            }
            Op::Mad => {
                let (a, b) = (self.val(x), self.val(y));
                let mut t = self.two(op::MULPS, a, b);
                if vop.neg[0] != vop.neg[1] {
                    t = self.sign_of(Op::Neg, false, t);
                }
                let c = self.val(w);
                self.two(if vop.neg[2] { op::SUBPS } else { op::ADDPS }, t, c)
            }
            Op::Ldexp => {
                let (a, b) = (self.val(x), self.val(y));
                let t = self.one(op::CVTDQ2PS, b);
                self.two(op::SCALEFPS, a, t)
            }
            Op::Floor | Op::Ceil | Op::RoundZero | Op::RoundEven => {
                let a = self.val(x);
                self.one_of(op::RNDSCALEPS, Some(rounding_of(o)), (a, Role::Any))
            }
            _ => self.no_code(),
        }
    }

    /// Selects an operation with 64-bit operands or a 64-bit result.
    fn wide_alu(&mut self, vop: &VectorOp, o: Op, n: &Node) {
        let x = vop.args[0];
        let (wide_out, wide_in) = (n.out.bits() > 32, n.ty.bits() > 32);
        if wide_out && wide_in {
            let r = self.wide_parts(vop, o, n);
            self.define_wide(vop.id, r);
            return;
        }
        if wide_out {
            let e = match (o, n.ty) {
                (Op::FloatToFloat, _) => op::CVTPS2PD,
                (Op::IntToFloat, t) if t.is_signed() => op::CVTDQ2PD,
                (Op::IntToFloat, _) => op::CVTUDQ2PD,
                _ => {
                    self.e.mistaken();
                    op::CVTPS2PD
                }
            };
            let a = self.val(x);
            let r = self.for_parts(e, a);
            self.define_wide(vop.id, r);
            return;
        }
        // The result has 32 bits: each half of the lanes becomes half a register.
        let a = self.wide(x);
        let r = match o {
            Op::FloatToFloat if n.out == Ty::F16 => {
                // To convert to f32 rounded to odd, it is rounded towards zero and the last bit is set if the result is inexact.
                let t = a.map(|a| {
                    let t = self.rounded(op::CVTPD2PS, a, None, 3);
                    let u = self.one_reg(op::CVTPS2PD, t);
                    let k = self.compare(op::CMPPS.pd(), u, a, 0x0c);
                    let one = self.d32(1);
                    self.under(op::ORD, k, t, one)
                });
                let t = self.join(t[0], t[1]);
                self.rounded_to_f16(t)
            }
            Op::FloatToFloat | Op::IntToFloat => {
                let e = match (o, n.ty.is_signed()) {
                    (Op::FloatToFloat, _) => op::CVTPD2PS,
                    (_, true) => op::CVTQQ2PS,
                    _ => op::CVTUQQ2PS,
                };
                let tiny = match vop.flush && o == Op::FloatToFloat {
                    true => Some(self.tiny_as_f32(a)),
                    false => None,
                };
                let t = a.map(|a| self.one(e, a));
                let t = self.join(t[0], t[1]);
                match tiny {
                    Some(k) => {
                        let sign = self.d32(0x8000_0000);
                        self.under(op::ANDD, k, t, sign)
                    }
                    None => t,
                }
            }
            Op::FloatToInt => {
                let signed = n.out.is_signed();
                let t = a.map(|a| self.f64_to_int(a, signed));
                self.join(t[0], t[1])
            }
            _ => self.no_code(),
        };
        self.define(vop.id, r);
    }

    /// Widens each half of the lanes by an instruction from 32 to 64 bits.
    fn for_parts(&mut self, e: E, a: VReg) -> [VReg; 2] {
        let upper = self.upper(a);
        [a, upper].map(|a| self.one_reg(e, a))
    }

    fn f64_to_int(&mut self, a: VReg, signed: bool) -> VReg {
        if !signed {
            let zero = self.q64(0);
            let t = self.two_regs(op::MAXPS.pd(), a, zero);
            return self.one(op::CVTTPD2UDQ, t);
        }
        // The value is clamped before the conversion, so that only NaNs remain. min(limit, x) is x for a NaN x.
        let limit = self.q64(0x41df_ffff_ffc0_0000);
        let t = self.two(op::MINPS.pd(), limit, a);
        let t = self.one(op::CVTTPD2DQ, t);
        let number = self.compare(op::CMPPS.pd(), a, a, 7);
        self.or_zero(op::MOVDQU32, number, (t, Role::Use))
    }

    /// Returns the lanes of 16 f64 that are tiny as f32: below the numbers that round to the least normal one.
    fn tiny_as_f32(&mut self, halves: [VReg; 2]) -> VReg {
        let [(positive, p), (negative, n)] =
            bounds_of_tiny_as_f32(self.e.c.float_mode().env32().round);
        // Less than the positive bound, and the negation less than the negative one.
        let k = halves.map(|a| {
            let (positive, negative) = (self.q64(positive), self.q64(negative));
            let less = self.compare(op::CMPPS.pd(), a, positive, p);
            let t = self.sign_of(Op::Neg, true, a);
            self.compare_under(less, op::CMPPS.pd(), t, negative, n)
        });
        self.mask_join(k)
    }

    /// Selects an operation on 64-bit values whose result has 64 bits.
    fn wide_parts(&mut self, vop: &VectorOp, o: Op, n: &Node) -> [VReg; 2] {
        let [x, y, w] = vop.args;
        let float = n.ty == Ty::F64;
        if o == Op::Select {
            let k = self.mask(x);
            let (k, a, b) = (self.mask_parts(k), self.wide(w), self.wide(y));
            return [0, 1].map(|i| self.blend(op::BLENDQ, k[i], a[i], b[i]));
        }
        let a = self.wide(x);
        let two = |s: &mut Self, e: E| {
            let b = s.wide(y);
            [0, 1].map(|k| s.two(e, a[k], b[k]))
        };
        match o {
            Op::Add | Op::Sub if float => {
                let b = self.wide(y);
                [0, 1].map(|k| self.sum(true, vop.neg, o == Op::Sub, [a[k], b[k]]))
            }
            Op::Mul if float => two(self, op::MULPS.pd()),
            Op::Mul => match self.short_product([x, y]) {
                true => two(self, op::MULUDQ),
                false => two(self, op::MULLQ),
            },
            Op::Div => two(self, op::DIVPS.pd()),
            Op::IntToFloat => {
                let e = match n.ty.is_signed() {
                    true => op::CVTQQ2PD,
                    false => op::CVTUQQ2PD,
                };
                a.map(|a| self.one(e, a))
            }
            Op::Sqrt => a.map(|a| self.one(op::SQRTPS.pd(), a)),
            Op::Neg | Op::Abs if float => a.map(|a| self.sign_of(o, true, a)),
            Op::Min | Op::Max if float => {
                let b = self.wide(y);
                let which = 4 | (o == Op::Max) as u8;
                [0, 1].map(|k| self.two_imm(op::RANGEPS.pd(), a[k], b[k], which))
            }
            Op::Fma => {
                let (b, c) = (self.wide(y), self.wide(w));
                [0, 1].map(|k| self.fma(true, vop, [a[k], b[k], c[k]]))
            }
            Op::Ldexp => {
                // The exponent is a 32-bit number, of which each part needs its half of the lanes.
                let b = self.val(y);
                let b = self.for_parts(op::CVTDQ2PD, b);
                [0, 1].map(|k| self.two(op::SCALEFPS.pd(), a[k], b[k]))
            }
            Op::Floor | Op::Ceil | Op::RoundZero | Op::RoundEven => {
                let imm = Some(rounding_of(o));
                a.map(|a| self.one_of(op::RNDSCALEPD, imm, (a, Role::Any)))
            }
            Op::Shl | Op::Shr => {
                let e = match o {
                    Op::Shl => op::SLLVQ,
                    _ if n.ty.is_signed() => op::SRAVQ,
                    _ => op::SRLVQ,
                };
                two(self, e)
            }
            _ => [self.no_code(); 2],
        }
    }
}

impl Selection for Avx512 {
    fn constant(s: &mut Select<'_, '_>, value: u64, wide: bool) -> VReg {
        let (which, free) = match wide {
            true => (Constant::Wide(value), value == u64::MAX),
            false => (Constant::Narrow(value as u32), value as u32 == u32::MAX),
        };
        s.constant(which, |_| {
            let again = match free || value == 0 {
                true => Remat::Value,
                false => Remat::Memory,
            };
            (M::Constant(value, wide), again, 0)
        })
    }

    fn affine(s: &mut Select<'_, '_>, base: Base, step: i32) -> VReg {
        let from = match s.e.c.affine.ops[base as usize].op {
            BaseKind::Const(v) if step == 0 => return s.d32(v),
            BaseKind::Const(v) => From::Constant(v),
            _ => From::Memory(s.e.base_at(base)),
        };
        match (from, step) {
            (From::Memory(at), 0) => s.broadcast(at, 4),
            _ => s.code.push_remat(M::Affine(from, step), Remat::Value, 0),
        }
    }

    fn affine_truth(s: &mut Select<'_, '_>, base: Base) -> VReg {
        let at = s.e.base_at(base);
        s.bits(at)
    }

    fn distances(s: &mut Select<'_, '_>, step: i32) -> VReg {
        s.constant(Constant::Distances(step), |_| {
            (M::Distances(step), Remat::Value, 0)
        })
    }

    fn active_lanes(s: &mut Select<'_, '_>) -> VReg {
        if s.e.all_active.is_some() {
            return Avx512::same_truth(s, true);
        }
        s.truth_constant(Constant::Active, M::MaskActive, Remat::Fixed)
    }

    fn same_truth(s: &mut Select<'_, '_>, value: bool) -> VReg {
        s.truth_constant(Constant::Same(value), M::MaskSame(value), Remat::Value)
    }

    fn scalar_truth(s: &mut Select<'_, '_>, id: Id) -> VReg {
        s.truth_constant(Constant::Scalar(id), M::MaskScalar(id), Remat::Value)
    }

    fn truth_role(s: &Select<'_, '_>, r: VReg) -> Role {
        match s.code.remat(r) {
            Remat::Fixed => Role::Any,
            _ => Role::Use,
        }
    }

    fn in_active(s: &mut Select<'_, '_>, old: VReg, new: VReg) -> VReg {
        let d = s.reg();
        let operands = [(old, Role::Use), (new, Role::Any), (d, Role::Def)];
        s.push(M::InActive, &operands);
        d
    }

    fn flushed(s: &mut Select<'_, '_>, r: VReg, wide: bool) -> VReg {
        let (exponent, sign) = match wide {
            true => (0x7ff << 52, 1 << 63),
            false => (0x7f80_0000, 0x8000_0000),
        };
        let (exponent, sign) = (s.every(exponent, wide), s.every(sign, wide));
        let k = s.truth_reg();
        let operands = [(r, Role::Use), (exponent, Role::Any), (k, Role::Def)];
        s.push(M::Test(op::TESTNMD.wide(wide)), &operands);
        s.under(op::ANDD.wide(wide), k, r, sign)
    }

    fn unordered(s: &mut Select<'_, '_>, a: VReg, b: VReg) -> VReg {
        let active = s.e.all_active.is_none();
        s.compare_of(op::CMPPS, a, b, 3, active)
    }

    fn unordered_wide(s: &mut Select<'_, '_>, [a, b]: [VReg; 2]) -> VReg {
        let e = op::CMPPS.pd();
        if s.e.all_active.is_some() {
            // One comparison handles both registers.
            return s.compare(e, a, b, 3);
        }
        let low = s.compare_of(e, a, a, 3, true);
        let upper = s.active_upper();
        let high = s.compare_under(upper, e, b, b, 3);
        s.mask2(kop::OR, low, high)
    }

    fn must_not(s: &mut Select<'_, '_>, r: VReg) {
        let role = Self::truth_role(s, r);
        s.push(M::Bad, &[(r, role)]);
    }

    fn check_now(s: &mut Select<'_, '_>) {
        s.push(M::Check, &[]);
    }

    fn check(s: &mut Select<'_, '_>) {
        let effects = &s.e.c.effects;
        // Without stores in the slice, one check after all slices suffices.
        if checks(s.e) && (effects.store.is_some() || !effects.rows.is_empty()) {
            s.push(M::Check, &[]);
        }
    }

    fn pair(s: &mut Select<'_, '_>, lo: Id, hi: Id) -> [VReg; 2] {
        let p = s.val(lo);
        if s.e.konst(hi) == Some(0) {
            let upper = s.upper(p);
            return [p, upper].map(|r| s.one_reg(op::PMOVZXDQ, r));
        }
        let q = s.val(hi);
        [Mix::ZipLow, Mix::ZipHigh].map(|m| s.mix(m, p, q))
    }

    fn half_of(s: &mut Select<'_, '_>, [a, b]: [VReg; 2], high: bool) -> VReg {
        s.mix(if high { Mix::Odd } else { Mix::Even }, a, b)
    }

    fn lanes_in(s: &mut Select<'_, '_>, v: u16, lanes: Id) -> VReg {
        let index = s.val(lanes);
        let (k, d) = (s.truth_reg(), s.reg());
        let operands = [(index, Role::Use), (k, Role::Temp), (d, Role::Early)];
        s.push(M::Gather(vgpr_line(v, 0)), &operands);
        d
    }

    fn lanes_of(s: &mut Select<'_, '_>, bits: u16) -> VReg {
        s.truth_constant(Constant::Lanes(bits), M::MaskBits(bits), Remat::Value)
    }

    fn interleaved(s: &mut Select<'_, '_>, [a, b]: [VReg; 2]) -> VReg {
        s.two_regs(op::UNPCKLQ, a, b)
    }

    fn shuffle(s: &mut Select<'_, '_>, digits: u64, x: Id) -> VReg {
        if let Some(four) = each_four(digits) {
            let a = s.val(x);
            return s.one_of(op::PSHUFD, Some(four), (a, Role::Use));
        }
        // The digits of even lanes are in the lower half, those of odd lanes in the upper half.
        let mut packed = 0u64;
        for lane in 0..16 {
            let digit = digits >> (4 * lane) & 15;
            packed |= digit << (4 * (lane / 2) + 32 * (lane % 2));
        }
        let packed = s.q64(packed);
        let nibbles = s.constant(Constant::Shuffle(0), |_| {
            let load = Shared::Load(At::same(ctx!(tables.nibbles)));
            (load.into(), Remat::Memory, 0)
        });
        let index = s.two(op::SRLVD, packed, nibbles);
        let x = s.val(x);
        s.two(op::PERMD, index, x)
    }

    fn double_shift(s: &mut Select<'_, '_>, left: bool, [x, y]: [Id; 2], by: u8) -> VReg {
        let a = s.val(x);
        if x == y {
            return s.shift_of(op::SHIFTD_I, left as u8, a, by);
        }
        let b = s.val(y);
        s.two_imm(if left { op::SHLDD } else { op::SHRDD }, a, b, by)
    }

    fn ternary(s: &mut Select<'_, '_>, op: &VectorOp, table: u8) -> VReg {
        let [c, a, b] = op.args.map(|id| s.val(id));
        s.three(op::TERND, Some(table), c, a, b)
    }

    fn extreme(s: &mut Select<'_, '_>, which: Extreme, [x, y]: [Id; 2]) -> VReg {
        let e = match (which.ty, which.largest) {
            (Ty::F32, false) => op::MINPS,
            (Ty::F32, true) => op::MAXPS,
            (ty, false) if ty.is_signed() => op::MINSD,
            (_, false) => op::MINUD,
            (ty, true) if ty.is_signed() => op::MAXSD,
            (_, true) => op::MAXUD,
        };
        if which.ty != Ty::F32 {
            return s.commutes(e, x, y);
        }
        let (a, b) = (s.val(x), s.val(y));
        s.two(e, a, b)
    }

    fn alu(s: &mut Select<'_, '_>, op: &VectorOp, o: Op, n: &Node) {
        let [x, y, w] = op.args;
        let r = if n.out == Ty::Bool {
            s.truth(o, n, x, y)
        } else if n.ty.bits() > 32 || n.out.bits() > 32 {
            s.wide_alu(op, o, n);
            return;
        } else if matches!(o, Op::IntToFloat | Op::FloatToInt | Op::FloatToFloat) {
            s.convert(o, n, x)
        } else if n.ty == Ty::F32 && o != Op::Select || o == Op::Fma {
            s.float(op, o, n)
        } else {
            s.integer(o, n, [x, y, w])
        };
        s.define(op.id, r);
    }

    fn temps(what: Temps) -> &'static [Class] {
        match what {
            Temps::Lanes(_) => &[0, 0, 0, 0, 1, 1],
            Temps::Load(4) => &[0; 3],
            Temps::Load(_) | Temps::InOrder | Temps::StoreRow => &[],
            Temps::Close => &[0, 1],
            Temps::Gather | Temps::Store => &[0, 0, 0, 1],
            Temps::Slow => &[1],
            Temps::Fix => &[0, 1, 1, 1],
        }
    }
}
