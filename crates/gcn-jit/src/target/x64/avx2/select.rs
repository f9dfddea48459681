//! Selection of integer operations, and other parts that only AVX2 has.

use super::*;
use crate::ir::affine::Base;
use crate::lir::{Remat, Role, VReg};
use crate::target::x64::select::{each_four, predicate_of};

/// A constant in a register.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Constant {
    Line([u32; 8]),
    Lines([[u32; 8]; 2]),
    Active(u8),
}

/// Returns true if a shuffle moves values between the halves of a slice.
pub(super) fn crosses(digits: u64) -> bool {
    (0..16).any(|lane| (digits >> (4 * lane) & 15) / 8 != lane / 8)
}

impl Build for Select<'_, '_> {
    fn plain(&mut self, op: Plain, operands: &[(VReg, Role)]) {
        self.code.push(M::Plain(op), operands);
    }

    fn new_reg(&mut self) -> VReg {
        self.code.reg(0)
    }

    fn words(&mut self, words: [u32; 8]) -> VReg {
        self.constant(Constant::Line(words), |s| {
            let (op, again) = Plain::constant(s.e.a, words);
            (M::Plain(op), again, 0)
        })
    }

    fn no_code(&mut self) {
        self.e.mistaken();
    }
}

impl Select<'_, '_> {
    /// Reorders lanes 0, 1, 4, 5, 2, 3, 6, 7 into the order of lanes, or back.
    pub fn in_order(&mut self, a: VReg) -> VReg {
        self.one_of(PERMQ, 1, a, Some(0xd8))
    }

    fn line(&mut self, words: [u32; 8]) -> u32 {
        match self.e.a.line(words) {
            H::L(line) => line,
            _ => 0,
        }
    }

    /// Returns a constant with a value for each of the slice's lanes.
    pub fn by_lane(&mut self, of: impl Fn(u32) -> u32) -> VReg {
        let lines = [0, 8].map(|first| std::array::from_fn(|i| of(first + i as u32)));
        if let Some(half) = self.now {
            return self.words(lines[half as usize]);
        }
        self.constant(Constant::Lines(lines), |s| {
            let op = M::HalfLine(lines.map(|l| s.line(l)));
            (op, Remat::Memory, 0)
        })
    }

    /// Converts truth values of qwords to those of dwords.
    pub fn pack(&mut self, m: [VReg; 2]) -> VReg {
        self.two_imm(SHUFPS, m[0], m[1], 0x88)
    }

    pub fn unpack(&mut self, m: VReg) -> [VReg; 2] {
        [self.two(UNPCKL, m, m), self.two(UNPCKH, m, m)]
    }

    pub fn commutes(&mut self, x: X, a: Id, b: Id) -> VReg {
        let (a, b) = self.ordered(a, b);
        self.two(x, a, b)
    }

    fn integer(&mut self, op: &VectorOp, o: Op, n: &Node) -> VReg {
        let [x, y, w] = op.args;
        let signed = n.ty.is_signed();
        match o {
            Op::Zext => {
                let m = self.mask(x);
                self.shr(m, 31)
            }
            Op::Not => {
                let mask = gcn_isa::meaning::width_mask(n.out) as u32;
                let (a, mask) = (self.val(x), self.d32(mask));
                self.two(XOR, a, mask)
            }
            Op::And => self.commutes(AND, x, y),
            Op::Or => self.commutes(OR, x, y),
            Op::Xor => self.commutes(XOR, x, y),
            Op::Add | Op::Sub => {
                // A truth value as a number is 1 where its mask is -1.
                let b = *self.e.node(y);
                let bit = b.op == Inst::Alu(Op::Zext) && b.ty == Ty::Bool && n.out.bits() == 32;
                let mask = match bit {
                    true => self.known(self.e.plan.condition(y, &b)),
                    false => None,
                };
                let r = match (mask, o) {
                    (Some(mask), _) => {
                        let a = self.val(x);
                        self.two(if o == Op::Add { SUBD } else { ADDD }, a, mask)
                    }
                    (None, Op::Add) => self.commutes(ADDD, x, y),
                    _ => {
                        let (a, b) = (self.val(x), self.val(y));
                        self.two(SUBD, a, b)
                    }
                };
                self.narrowed(r, n.out)
            }
            Op::Mul => {
                let r = self.commutes(X(2, 1, 0, 0x40), x, y);
                self.narrowed(r, n.out)
            }
            Op::Neg => {
                let (zero, a) = (self.zero(), self.val(x));
                self.two(SUBD, zero, a)
            }
            Op::Abs if signed => {
                let a = self.val(x);
                self.one(X(2, 1, 0, 0x1e), a)
            }
            Op::Abs => self.val(x),
            Op::Popcount => {
                let a = self.val(x);
                self.population(a)
            }
            Op::Clz => {
                let a = self.val(x);
                self.leading_zeros(a)
            }
            Op::Ctz => {
                // The result is the number of bits below the lowest 1.
                let (a, ones) = (self.val(x), self.ones());
                let t = self.two(ADDD, a, ones);
                let t = self.two(ANDN, a, t);
                self.population(t)
            }
            Op::Shl | Op::Shr => {
                let r = self.shift(o, n, x, y);
                match o {
                    Op::Shl => self.narrowed(r, n.out),
                    _ => r,
                }
            }
            Op::MulHi => self.high_product(signed, x, y),
            Op::Min | Op::Max => {
                let e = match (o == Op::Min, signed) {
                    (true, true) => MINSD,
                    (true, false) => MINUD,
                    (false, true) => MAXSD,
                    (false, false) => MAXUD,
                };
                self.commutes(e, x, y)
            }
            Op::Select => {
                let (m, a, b) = (self.mask(x), self.val(w), self.val(y));
                self.blend(a, b, m)
            }
            _ => {
                self.e.mistaken();
                self.zero()
            }
        }
    }

    fn narrowed(&mut self, r: VReg, out: Ty) -> VReg {
        if out.bits() >= 32 {
            return r;
        }
        let mask = self.d32(gcn_isa::meaning::width_mask(out) as u32);
        self.two(AND, r, mask)
    }

    /// Selects a shift of 32 bits or less.
    fn shift(&mut self, o: Op, n: &Node, x: Id, y: Id) -> VReg {
        let signed = n.ty.is_signed();
        let a = self.val(x);
        if let Some(by) = self.e.konst(y) {
            return match o {
                Op::Shl => self.shl(a, by.min(32) as u8),
                _ if signed => self.sar(a, by.min(31) as u8),
                _ => self.shr(a, by.min(32) as u8),
            };
        }
        let b = self.val(y);
        let op = match o {
            Op::Shl => 0x47,
            _ if signed => 0x46,
            _ => 0x45,
        };
        self.two(X(2, 1, 0, op), a, b)
    }

    fn high_product(&mut self, signed: bool, x: Id, y: Id) -> VReg {
        let e = if signed { X(2, 1, 0, 0x28) } else { MULUDQ };
        let (a, b) = (self.val(x), self.val(y));
        // First the products of even lanes, then those of odd lanes, shifted down.
        let even = self.two(e, a, b);
        let (a, b) = (self.shrq(a, 32), self.shrq(b, 32));
        let odd = self.two(e, a, b);
        let even = self.shrq(even, 32);
        self.two_imm(X(3, 1, 0, 0x02), even, odd, 0xaa)
    }

    /// Counts leading zeros by the exponent of the number as a float.
    fn leading_zeros(&mut self, a: VReg) -> VReg {
        // Bits below the first eight must not round the float up.
        let t = self.shr(a, 8);
        let t = self.two(ANDN, t, a);
        let t = self.one(CVTDQ2PS, t);
        let t = self.shr(t, 23);
        let bias = self.d32(158);
        // The subtraction saturates: numbers with the sign bit set become 0.
        let t = self.two(X(1, 1, 0, 0xd9), bias, t);
        let most = self.d32(32);
        self.two(MINSD, t, most)
    }

    fn population(&mut self, a: VReg) -> VReg {
        const COUNTS: [u32; 4] = [0x0201_0100, 0x0302_0201, 0x0302_0201, 0x0403_0302];
        let table = self.words(std::array::from_fn(|i| COUNTS[i % 4]));
        let nibble = self.d32(0x0f0f_0f0f);
        let high = self.shr(a, 4);
        let high = self.two(AND, high, nibble);
        let low = self.two(AND, a, nibble);
        let high = self.two(SHUFB, table, high);
        let low = self.two(SHUFB, table, low);
        let sum = self.two(X(1, 1, 0, 0xfc), low, high);
        // The bytes are added to words and the words to dwords.
        let ones = self.d32(0x0101_0101);
        let sum = self.two(X(2, 1, 0, 0x04), sum, ones);
        let words = self.d32(0x0001_0001);
        self.two(X(1, 1, 0, 0xf5), sum, words)
    }

    /// Selects an operation whose result is a truth value.
    fn truth(&mut self, o: Op, n: &Node, [x, y, _]: [Id; 3]) -> VReg {
        if n.ty == Ty::Bool {
            let a = self.mask(x);
            if o == Op::Not {
                return self.not(a);
            }
            let b = self.mask(y);
            let e = match o {
                Op::And => AND,
                Op::Or => OR,
                Op::Xor | Op::Ne | Op::Eq => XOR,
                _ => {
                    self.e.mistaken();
                    AND
                }
            };
            let r = self.two(e, a, b);
            return match o {
                Op::Eq => self.not(r),
                _ => r,
            };
        }
        if o == Op::Class {
            return self.class(n, x, y);
        }
        if n.ty.is_float() {
            let predicate = predicate_of(o).unwrap_or_else(|| {
                self.e.mistaken();
                0
            });
            if n.ty == Ty::F64 {
                let (a, b) = (self.wide(x), self.wide(y));
                let m = [0, 1].map(|k| self.two_imm(X(1, 1, 0, 0xc2), a[k], b[k], predicate));
                return self.pack(m);
            }
            let (a, b) = (self.val(x), self.val(y));
            return self.two_imm(X(1, 0, 0, 0xc2), a, b, predicate);
        }
        let (a, b) = (self.val(x), self.val(y));
        self.compare(o, n.ty.is_signed(), a, b)
    }
}

impl Selection for Avx2 {
    fn constant(s: &mut Select<'_, '_>, value: u64, wide: bool) -> VReg {
        let (lo, hi) = (value as u32, (value >> 32) as u32);
        let hi = if wide { hi } else { lo };
        s.words([lo, hi, lo, hi, lo, hi, lo, hi])
    }

    fn affine(s: &mut Select<'_, '_>, base: Base, step: i32) -> VReg {
        let steps = [0, 8].map(|first: u32| {
            std::array::from_fn(|i| (first + i as u32).wrapping_mul(step as u32))
        });
        if let BaseKind::Const(v) = s.e.c.affine.ops[base as usize].op {
            return s.by_lane(|lane| v.wrapping_add(lane.wrapping_mul(step as u32)));
        }
        let from = s.e.base_at(base);
        if step == 0 {
            return s.broadcast(from, 4);
        }
        let lines = match s.now {
            Some(half) => [steps[half as usize]; 2],
            None => steps,
        };
        let lines = lines.map(|l| s.line(l));
        s.code.push_remat(M::Affine(from, lines), Remat::Value, 0)
    }

    fn affine_truth(s: &mut Select<'_, '_>, base: Base) -> VReg {
        Avx2::affine(s, base, 0)
    }

    fn distances(s: &mut Select<'_, '_>, step: i32) -> VReg {
        s.by_lane(|lane| (lane as i32 * step) as u32)
    }

    fn active_lanes(s: &mut Select<'_, '_>) -> VReg {
        if s.e.no_inactive_lanes() {
            return s.ones();
        }
        let at = s.at(EXEC_BITS);
        s.constant(Constant::Active(s.half() as u8), |_| {
            (Shared::Bits(at).into(), Remat::Value, 0)
        })
    }

    fn same_truth(s: &mut Select<'_, '_>, value: bool) -> VReg {
        s.words([if value { u32::MAX } else { 0 }; 8])
    }

    fn scalar_truth(s: &mut Select<'_, '_>, id: Id) -> VReg {
        let (zero, bit) = (s.zero(), s.val(id));
        s.two(SUBD, zero, bit)
    }

    fn in_active(s: &mut Select<'_, '_>, old: VReg, new: VReg) -> VReg {
        let active = Avx2::active_lanes(s);
        s.blend(old, new, active)
    }

    fn flushed(s: &mut Select<'_, '_>, r: VReg, wide: bool) -> VReg {
        let (exponent, sign) = match wide {
            true => (0x7ff << 52, 1 << 63),
            false => (0x7f80_0000, 0x8000_0000),
        };
        let e = s.every(exponent, wide);
        let (zero, magnitude) = (s.zero(), s.every(!sign, wide));
        let t = s.two(AND, r, e);
        let tiny = s.two(if wide { EQQ } else { EQD }, t, zero);
        let t = s.two(AND, tiny, magnitude);
        s.two(ANDN, t, r)
    }

    fn unordered(s: &mut Select<'_, '_>, a: VReg, b: VReg) -> VReg {
        s.two_imm(X(1, 0, 0, 0xc2), a, b, 3)
    }

    fn unordered_wide(s: &mut Select<'_, '_>, r: [VReg; 2]) -> VReg {
        let m = r.map(|r| s.two_imm(X(1, 1, 0, 0xc2), r, r, 3));
        s.pack(m)
    }

    fn must_not(s: &mut Select<'_, '_>, r: VReg) {
        let half = s.half();
        s.bad[half] = Some(match s.bad[half] {
            Some(bad) => s.two(OR, bad, r),
            None => r,
        });
    }

    fn check_now(s: &mut Select<'_, '_>) {
        Avx2::check(s);
    }

    fn check(s: &mut Select<'_, '_>) {
        let half = s.half();
        if let Some(bad) = s.bad[half].take() {
            let at = s.at(EXEC_BITS);
            s.push(M::Check(at), &[(bad, Role::Use)]);
        }
    }

    fn pair(s: &mut Select<'_, '_>, lo: Id, hi: Id) -> [VReg; 2] {
        let (a, b) = (s.val(lo), s.val(hi));
        [s.two(UNPCKL, a, b), s.two(UNPCKH, a, b)]
    }

    fn half_of(s: &mut Select<'_, '_>, [a, b]: [VReg; 2], high: bool) -> VReg {
        s.two_imm(SHUFPS, a, b, if high { 0xdd } else { 0x88 })
    }

    fn lanes_in(s: &mut Select<'_, '_>, v: u16, lanes: Id) -> VReg {
        let (mask, index) = (Avx2::active_lanes(s), s.val(lanes));
        let (m, d) = (s.reg(), s.reg());
        let operands = [
            (mask, Role::Use),
            (m, Role::Tied),
            (index, Role::Use),
            (d, Role::Early),
        ];
        s.push(M::Gather(vgpr_line(v, 0)), &operands);
        d
    }

    fn lanes_of(s: &mut Select<'_, '_>, bits: u16) -> VReg {
        s.by_lane(|lane| if bits >> lane & 1 != 0 { u32::MAX } else { 0 })
    }

    fn interleaved(s: &mut Select<'_, '_>, [a, b]: [VReg; 2]) -> VReg {
        s.two(UNPCKLQ, a, b)
    }

    fn shuffle(s: &mut Select<'_, '_>, digits: u64, x: Id) -> VReg {
        if let Some(four) = each_four(digits) {
            let a = s.val(x);
            return s.one_of(PSHUFD, 1, a, Some(four));
        }
        let half = s.half() as u64;
        let digit = |lane: u64| digits >> (4 * lane) & 15;
        let Some(_) = s.now else {
            // Each half has its own digits, but lanes do not cross the halves.
            let index = s.by_lane(|lane| (digit(lane as u64) & 7) as u32);
            let a = s.val(x);
            return s.two(PERMD, index, a);
        };
        let here = s.now;
        let from = [0, 1].map(|h| {
            s.now = Some(h);
            s.val(x)
        });
        s.now = here;
        let lanes = 8 * half..8 * half + 8;
        let index = std::array::from_fn(|i| (digit(8 * half + i as u64) & 7) as u32);
        let upper: [u32; 8] = std::array::from_fn(|i| {
            if digit(8 * half + i as u64) > 7 {
                u32::MAX
            } else {
                0
            }
        });
        let index = s.words(index);
        let needs = |h: u64| lanes.clone().any(|lane| digit(lane) / 8 == h);
        match (needs(0), needs(1)) {
            (true, true) => {
                let a = s.two(PERMD, index, from[0]);
                let b = s.two(PERMD, index, from[1]);
                let upper = s.words(upper);
                s.blend(a, b, upper)
            }
            (true, false) => s.two(PERMD, index, from[0]),
            _ => s.two(PERMD, index, from[1]),
        }
    }

    fn double_shift(s: &mut Select<'_, '_>, left: bool, [x, y]: [Id; 2], by: u8) -> VReg {
        let (a, b) = (s.val(x), s.val(y));
        s.both_shifted(left, a, b, by, 1)
    }

    fn ternary(s: &mut Select<'_, '_>, _: &VectorOp, _: u8) -> VReg {
        s.e.mistaken();
        s.zero()
    }

    fn extreme(s: &mut Select<'_, '_>, which: Extreme, [x, y]: [Id; 2]) -> VReg {
        let e = match (which.ty, which.largest) {
            (Ty::F32, false) => MINPS,
            (Ty::F32, true) => MAXPS,
            (ty, false) if ty.is_signed() => MINSD,
            (_, false) => MINUD,
            (ty, true) if ty.is_signed() => MAXSD,
            (_, true) => MAXUD,
        };
        if which.ty != Ty::F32 {
            return s.commutes(e, x, y);
        }
        let (a, b) = (s.val(x), s.val(y));
        s.two(e, a, b)
    }

    fn alu(s: &mut Select<'_, '_>, op: &VectorOp, o: Op, n: &Node) {
        if n.out == Ty::Bool {
            let r = s.truth(o, n, op.args);
            s.define(op.id, r);
        } else if n.ty.bits() > 32 || n.out.bits() > 32 {
            s.wide_alu(op, o, n);
        } else if matches!(o, Op::IntToFloat | Op::FloatToInt | Op::FloatToFloat) {
            let r = s.convert(o, n, op.args[0]);
            s.define(op.id, r);
        } else if n.ty == Ty::F32 && o != Op::Select || o == Op::Fma {
            let r = s.float(op, o, n);
            s.define(op.id, r);
        } else {
            let r = s.integer(op, o, n);
            s.define(op.id, r);
        }
    }

    fn temps(what: Temps) -> &'static [Class] {
        match what {
            Temps::Slow => &[],
            Temps::Gather | Temps::StoreRow => &[0],
            Temps::Load(_) | Temps::Close | Temps::InOrder => &[0; 2],
            Temps::Lanes(false) | Temps::Fix => &[0; 3],
            Temps::Lanes(true) | Temps::Store => &[0; 5],
        }
    }
}
