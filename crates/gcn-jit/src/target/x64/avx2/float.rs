//! Operations on floats, and on 64-bit values.

use super::*;
use crate::lir::{Role, VReg};
use crate::target::x64::select::rounding_of;

const fn ps(op: u8, wide: bool) -> X {
    X(1, wide as u8, 0, op)
}

const ADD: u8 = 0x58;
const MUL: u8 = 0x59;
const SUB: u8 = 0x5c;
const MIN: u8 = 0x5d;
const DIV: u8 = 0x5e;
const MAX: u8 = 0x5f;
const SQRT: u8 = 0x51;
const COMPARE: u8 = 0xc2;

/// Chooses the smaller or larger number like VRANGE; -0 is smaller than +0. Operands: two, result, two temporary registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    wide: bool,
    max: bool,
    /// Denormals become 0.
    flush: bool,
}

fn sign(wide: bool) -> u64 {
    if wide { 1 << 63 } else { 0x8000_0000 }
}

impl Select<'_, '_> {
    fn compare_floats(&mut self, wide: bool, a: VReg, b: VReg, predicate: u8) -> VReg {
        self.two_imm(ps(COMPARE, wide), a, b, predicate)
    }

    fn f64(&mut self, value: f64) -> VReg {
        self.q64(value.to_bits())
    }

    /// Sets the rounding to the value `rc` of MXCSR's field RC, or to the block's.
    fn rounding(&mut self, rc: Option<u8>) {
        let now = self.e.c.fp.unwrap_or(self.e.common.default);
        // MODE numbers the directed roundings in the opposite order.
        let env = match rc {
            Some(rc) => FpEnv {
                round: [0, 2, 1, 3][rc as usize & 3],
                ..now
            },
            None => now,
        };
        self.code.push(M::Mxcsr(env), &[]);
    }

    /// Tests whether a float is of one of the classes that a constant names: NaNs and infinities.
    pub(super) fn class(&mut self, n: &Node, x: Id, mask: Id) -> VReg {
        let mask = self.e.konst(mask).unwrap_or(0);
        let wide = n.ty == Ty::F64;
        let parts = match wide {
            true => self.wide(x).to_vec(),
            false => vec![self.val(x)],
        };
        let (infinity, quiet) = match wide {
            true => (0x7ff << 52, 1 << 51),
            false => (0x7f80_0000u64, 0x0040_0000u64),
        };
        let sign = sign(wide);
        let (eq, gt) = if wide { (EQQ, GTQ) } else { (EQD, GTD) };
        let mut out = Vec::new();
        for b in parts {
            let mut any: Option<VReg> = None;
            let mut either = |s: &mut Self, t: VReg| {
                any = Some(match any {
                    Some(a) => s.two(OR, a, t),
                    None => t,
                });
            };
            for (bit, value) in [(0x200, infinity), (0x004, infinity | sign)] {
                if mask & bit != 0 {
                    let k = self.every(value, wide);
                    let t = self.two(eq, b, k);
                    either(self, t);
                }
            }
            let magnitude = self.every(!sign, wide);
            if mask & 0x002 != 0 {
                // A quiet NaN is above the largest signalling one.
                let k = self.every(infinity | (quiet - 1), wide);
                let t = self.two(AND, b, magnitude);
                let t = self.two(gt, t, k);
                either(self, t);
            }
            if mask & 0x001 != 0 {
                // A signalling NaN is above infinity once the quiet bit is flipped.
                let (turn, k) = (self.every(quiet, wide), self.every(infinity | quiet, wide));
                let t = self.two(XOR, b, turn);
                let t = self.two(AND, t, magnitude);
                let t = self.two(gt, t, k);
                either(self, t);
            }
            out.push(match any {
                Some(any) => any,
                None => self.zero(),
            });
        }
        match out[..] {
            [a, b] => self.pack([a, b]),
            _ => out[0],
        }
    }

    /// Selects a conversion between 32-bit integers and floats, or between f16 and f32.
    pub(super) fn convert(&mut self, o: Op, n: &Node, x: Id) -> VReg {
        let a = self.val(x);
        match o {
            Op::FloatToFloat if n.ty == Ty::F16 => {
                let words = [0x0504_0100, 0x0d0c_0908, u32::MAX, u32::MAX];
                let index = self.words(std::array::from_fn(|i| words[i % 4]));
                let t = self.two(SHUFB, a, index);
                let t = self.one_of(PERMQ, 1, t, Some(0x08));
                self.one(X(2, 1, 0, 0x13), t)
            }
            Op::FloatToFloat if n.out == Ty::F16 => self.rounded_to_f16(a),
            Op::IntToFloat if n.ty.is_signed() => self.one(CVTDQ2PS, a),
            Op::IntToFloat => {
                // The upper and the lower 16 bits are exact; their sum is rounded once.
                let (low, k) = (self.d32(0xffff), self.d32(65536f32.to_bits()));
                let high = self.shr(a, 16);
                let high = self.one(CVTDQ2PS, high);
                let low = self.two(AND, a, low);
                let low = self.one(CVTDQ2PS, low);
                self.three(X(2, 1, 0, 0xb8), low, high, k)
            }
            Op::FloatToInt if n.out.is_signed() => {
                let t = self.one(CVTTPS2DQ, a);
                // Too large values give the smallest integer, and their bits are inverted.
                let most = self.d32(0x4f00_0000);
                let large = self.compare_floats(false, a, most, 0x1d);
                let t = self.two(XOR, t, large);
                let number = self.compare_floats(false, a, a, 7);
                self.two(AND, t, number)
            }
            Op::FloatToInt => {
                // This gives the larger one of the number and 0, and the second operand, 0, for a NaN.
                let zero = self.zero();
                let a = self.two(ps(MAX, false), a, zero);
                let (half, whole) = (self.d32(0x4f00_0000), self.d32(0x4f80_0000));
                let upper = self.compare_floats(false, a, half, 0x1d);
                let less = self.two(AND, upper, half);
                let t = self.two(ps(SUB, false), a, less);
                let t = self.one(CVTTPS2DQ, t);
                let top = self.shl(upper, 31);
                let t = self.two(XOR, t, top);
                let large = self.compare_floats(false, a, whole, 0x1d);
                self.two(OR, t, large)
            }
            _ => {
                self.e.mistaken();
                a
            }
        }
    }

    /// Converts f32 to f16.
    fn rounded_to_f16(&mut self, a: VReg) -> VReg {
        let d = self.reg();
        let operands = [(a, Role::Use), (d, Role::Def)];
        self.code
            .push(M::Plain(Plain::Reverse(X(3, 1, 0, 0x1d), 1, 4)), &operands);
        self.one(X(2, 1, 0, 0x33), d)
    }

    /// Selects a sum or difference with negated operands.
    fn sum(&mut self, wide: bool, neg: [bool; 3], minus: bool, [a, b]: [VReg; 2]) -> VReg {
        let (add, sub) = (ps(ADD, wide), ps(SUB, wide));
        match (neg[0], neg[1] != minus) {
            (false, false) => self.two(add, a, b),
            (false, true) => self.two(sub, a, b),
            (true, false) => self.two(sub, b, a),
            (true, true) => {
                let t = self.two(add, a, b);
                let sign = self.every(sign(wide), wide);
                self.two(XOR, t, sign)
            }
        }
    }

    /// Selects an operation on f32, or on f16 in f32.
    pub(super) fn float(&mut self, op: &VectorOp, o: Op, n: &Node) -> VReg {
        let [x, y, w] = op.args;
        let a = self.val(x);
        match o {
            Op::Add | Op::Sub => {
                let b = self.val(y);
                self.sum(false, op.neg, o == Op::Sub, [a, b])
            }
            Op::Mul => {
                let b = self.val(y);
                self.two(ps(MUL, false), a, b)
            }
            Op::Div => {
                let b = self.val(y);
                self.two(ps(DIV, false), a, b)
            }
            Op::Sqrt => self.one(ps(SQRT, false), a),
            Op::Neg | Op::Abs => self.sign_of(o, false, a),
            Op::Min | Op::Max => {
                let b = self.val(y);
                self.range(false, o == Op::Max, a, b)
            }
            Op::Fma if n.ty == Ty::F16 => {
                // The product is exact. To round the sum to odd, it is rounded towards zero and its last bit is set if it is inexact.
                let (b, c) = (self.val(y), self.val(w));
                let t = self.two(ps(MUL, false), a, b);
                let rounded = |s: &mut Self, rc: u8| {
                    s.rounding(Some(rc));
                    s.two(ps(ADD, false), t, c)
                };
                let d = rounded(self, 3);
                let down = rounded(self, 1);
                let up = rounded(self, 2);
                self.rounding(None);
                let differ = self.compare_floats(false, up, down, 0x0c);
                let bit = self.shr(differ, 31);
                self.two(OR, d, bit)
            }
            Op::Fma => {
                let (b, c) = (self.val(y), self.val(w));
                self.fma(false, op, [x, y, w], [a, b, c])
            }
            Op::Mad => {
                let b = self.val(y);
                let mut t = self.two(ps(MUL, false), a, b);
                if op.neg[0] != op.neg[1] {
                    t = self.sign_of(Op::Neg, false, t);
                }
                let c = self.val(w);
                self.two(ps(if op.neg[2] { SUB } else { ADD }, false), t, c)
            }
            Op::Ldexp => {
                let b = self.val(y);
                self.scale32(a, b)
            }
            Op::Floor | Op::Ceil | Op::RoundZero | Op::RoundEven => {
                self.one_of(X(3, 1, 0, 0x08), 1, a, Some(rounding_of(o)))
            }
            _ => {
                self.e.mistaken();
                a
            }
        }
    }

    fn sign_of(&mut self, o: Op, wide: bool, a: VReg) -> VReg {
        let sign = sign(wide);
        match o {
            Op::Neg => {
                let k = self.every(sign, wide);
                self.two(XOR, a, k)
            }
            _ => {
                let k = self.every(!sign, wide);
                self.two(AND, a, k)
            }
        }
    }

    /// Selects x * y + w. The result takes the register of an operand that dies.
    fn fma(&mut self, wide: bool, op: &VectorOp, [x, y, w]: [Id; 3], [a, b, c]: [VReg; 3]) -> VReg {
        let turn = ((op.neg[0] != op.neg[1]) as u8) << 2 | (op.neg[2] as u8) << 1;
        let e = |op: u8| X(2, 1, wide as u8, op + turn);
        if self.dies(w) || !self.dies(x) && !self.dies(y) {
            return self.three(e(0xb8), c, a, b);
        }
        match self.dies(x) {
            true => self.three(e(0xa8), a, b, c),
            false => self.three(e(0xa8), b, a, c),
        }
    }

    fn range(&mut self, wide: bool, max: bool, a: VReg, b: VReg) -> VReg {
        let env = self.e.c.fp.unwrap_or(self.e.common.default);
        let (d, t, u) = (self.reg(), self.reg(), self.reg());
        let range = Range {
            wide,
            max,
            flush: env.daz,
        };
        let operands = [
            (a, Role::Use),
            (b, Role::Use),
            (d, Role::Early),
            (t, Role::Temp),
            (u, Role::Temp),
        ];
        self.code.push(M::Range(range), &operands);
        d
    }

    /// Multiplies by a power of 2 in f64, so that only the conversion to f32 rounds.
    fn scale32(&mut self, a: VReg, b: VReg) -> VReg {
        // Exponents beyond these limits make no difference.
        let (least, most) = (self.d32(-600i32 as u32), self.d32(600));
        let n = self.two(MAXSD, b, least);
        let n = self.two(MINSD, n, most);
        let bias = self.d32(1023);
        let n = self.two(ADDD, n, bias);
        let (upper_a, upper_n) = (self.upper(a), self.upper(n));
        let halves = [(a, n), (upper_a, upper_n)].map(|(a, n)| {
            let n = self.one(ZXDQ, n);
            let n = self.shlq(n, 52);
            let a = self.one(CVTPS2PD, a);
            let t = self.two(ps(MUL, true), a, n);
            self.one(CVTPD2PS, t)
        });
        self.join(halves[0], halves[1])
    }

    /// Multiplies four f64 by powers of 2 whose exponents are four dwords, in up to three steps, only the last of which may round.
    fn scale64(&mut self, a: VReg, n: VReg) -> VReg {
        let x = |s: &mut Self, e: X, a: VReg, b: VReg| s.two_of(e, 0, a, b, None);
        let (least, most) = (self.d32(-2200i32 as u32), self.d32(2200));
        let n = x(self, MAXSD, n, least);
        let mut n = x(self, MINSD, n, most);
        let (lowest, highest) = (self.d32(-1022i32 as u32), self.d32(1023));
        let mut r = a;
        for _ in 0..2 {
            // If a number is so small that the product can only be next to 0, only the last step scales it.
            let magnitude = self.q64(u64::MAX >> 1);
            let small = self.f64(2f64.powi(-53));
            let t = self.two(AND, r, magnitude);
            let t = self.compare_floats(true, t, small, 1);
            let u = self.upper(t);
            let t = self.two_of(SHUFPS, 0, t, u, Some(0x88));
            let u = x(self, MAXSD, n, lowest);
            n = self.blend_of(0, n, u, t);
            // The part of the exponent that this step applies.
            let u = x(self, GTD, lowest, n);
            let down = self.d32(-969i32 as u32);
            let u = x(self, AND, u, down);
            let t = x(self, GTD, n, highest);
            let t = x(self, AND, t, highest);
            let t = x(self, OR, t, u);
            n = x(self, SUBD, n, t);
            let p = self.power(t);
            // A multiplication by 1 is skipped, because it may flush a denormal.
            let one = self.f64(1.0);
            let same = self.compare_floats(true, p, one, 0);
            let t = self.two(ps(MUL, true), r, p);
            r = self.blend(t, r, same);
        }
        let n = x(self, MAXSD, n, lowest);
        let n = x(self, MINSD, n, highest);
        let p = self.power(n);
        self.two(ps(MUL, true), r, p)
    }

    /// Returns 2 to the power of each of four dwords.
    fn power(&mut self, n: VReg) -> VReg {
        let bias = self.d32(1023);
        let n = self.two_of(ADDD, 0, n, bias, None);
        let n = self.one(ZXDQ, n);
        self.shlq(n, 52)
    }

    // ---- 64 bits ----

    /// Splits the dwords of all lanes for the two registers of 64-bit values, four each.
    fn for_parts(&mut self, a: VReg) -> [VReg; 2] {
        let t = self.in_order(a);
        [t, self.upper(t)]
    }

    /// Joins four dwords each, of the two registers of 64-bit values, to the dwords of all lanes.
    fn of_parts(&mut self, r: [VReg; 2]) -> VReg {
        let t = self.join(r[0], r[1]);
        self.in_order(t)
    }

    pub(super) fn wide_alu(&mut self, op: &VectorOp, o: Op, n: &Node) {
        let x = op.args[0];
        let (wide_out, wide_in) = (n.out.bits() > 32, n.ty.bits() > 32);
        if wide_out && wide_in {
            let r = self.wide_parts(op, o, n);
            self.define_wide(op.id, r);
            return;
        }
        if wide_out {
            let a = self.val(x);
            let parts = self.for_parts(a);
            let r = match (o, n.ty.is_signed()) {
                (Op::FloatToFloat, _) => parts.map(|a| self.one(CVTPS2PD, a)),
                (Op::IntToFloat, true) => parts.map(|a| self.one(CVTDQ2PD, a)),
                (Op::IntToFloat, false) => parts.map(|a| self.unsigned_to_f64(a)),
                _ => {
                    self.e.mistaken();
                    parts
                }
            };
            self.define_wide(op.id, r);
            return;
        }
        let a = self.wide(x);
        let r = match o {
            Op::FloatToFloat if n.out == Ty::F16 => {
                // To convert to f32 rounded to odd, it is rounded towards zero and the last bit is set if the result is inexact.
                self.rounding(Some(3));
                let t = a.map(|a| self.one(CVTPD2PS, a));
                self.rounding(None);
                let mut differ = a;
                for k in 0..2 {
                    let back = self.one(CVTPS2PD, t[k]);
                    differ[k] = self.compare_floats(true, back, a[k], 0x0c);
                }
                let differ = self.pack(differ);
                let t = self.of_parts(t);
                let bit = self.shr(differ, 31);
                let t = self.two(OR, t, bit);
                self.rounded_to_f16(t)
            }
            Op::FloatToFloat => {
                let t = a.map(|a| self.one(CVTPD2PS, a));
                let t = self.of_parts(t);
                match op.flush {
                    true => {
                        let tiny = self.tiny_as_f32(a);
                        let magnitude = self.d32(0x7fff_ffff);
                        let t2 = self.two(AND, tiny, magnitude);
                        self.two(ANDN, t2, t)
                    }
                    false => t,
                }
            }
            Op::IntToFloat => {
                let t = a.map(|a| {
                    let a = self.sticky(a, n.ty.is_signed());
                    let t = self.long_to_f64(a, n.ty.is_signed());
                    self.one(CVTPD2PS, t)
                });
                self.of_parts(t)
            }
            Op::FloatToInt => self.f64_to_int(a, n.out.is_signed()),
            _ => {
                self.e.mistaken();
                a[0]
            }
        };
        self.define(op.id, r);
    }

    fn f64_to_int(&mut self, a: [VReg; 2], signed: bool) -> VReg {
        if signed {
            // The value is clamped before the conversion, so that only NaNs remain. min(limit, x) is x for a NaN x.
            let limit = self.q64(0x41df_ffff_ffc0_0000);
            let t = a.map(|a| {
                let t = self.two(ps(MIN, true), limit, a);
                self.one(CVTTPD2DQ, t)
            });
            let t = self.of_parts(t);
            let number = a.map(|a| self.compare_floats(true, a, a, 7));
            let number = self.pack(number);
            return self.two(AND, t, number);
        }
        let zero = self.zero();
        let a = a.map(|a| self.two(ps(MAX, true), a, zero));
        let half = self.f64(2f64.powi(31));
        let whole = self.f64(2f64.powi(32));
        let upper = a.map(|a| self.compare_floats(true, a, half, 0x1d));
        let mut t = a;
        for k in 0..2 {
            let less = self.two(AND, upper[k], half);
            let d = self.two(ps(SUB, true), a[k], less);
            t[k] = self.one(CVTTPD2DQ, d);
        }
        let t = self.of_parts(t);
        let upper = self.pack(upper);
        let top = self.shl(upper, 31);
        let t = self.two(XOR, t, top);
        let large = a.map(|a| self.compare_floats(true, a, whole, 0x1d));
        let large = self.pack(large);
        self.two(OR, t, large)
    }

    /// Converts four unsigned dwords to f64.
    fn unsigned_to_f64(&mut self, a: VReg) -> VReg {
        let (low, k) = (self.d32(0xffff), self.f64(65536.0));
        let low = self.two_of(AND, 0, a, low, None);
        let high = self.shr(a, 16);
        let (low, high) = (self.one(CVTDQ2PD, low), self.one(CVTDQ2PD, high));
        self.three(X(2, 1, 1, 0xb8), low, high, k)
    }

    /// Converts 64-bit integers to f64: the upper and lower halves are exact in f64, and their sum is rounded once.
    fn long_to_f64(&mut self, a: VReg, signed: bool) -> VReg {
        let u = self.upper(a);
        let low = self.two_of(SHUFPS, 0, a, u, Some(0x88));
        let high = self.two_of(SHUFPS, 0, a, u, Some(0xdd));
        let low = self.unsigned_to_f64(low);
        let high = match signed {
            true => self.one(CVTDQ2PD, high),
            false => self.unsigned_to_f64(high),
        };
        let k = self.f64(2f64.powi(32));
        self.three(X(2, 1, 1, 0xb8), low, high, k)
    }

    /// Returns numbers of at most 53 significant bits that round to the same f32.
    fn sticky(&mut self, a: VReg, signed: bool) -> VReg {
        // Small numbers, which are exact already, do not change.
        let zero = self.zero();
        let mut t = a;
        if signed {
            let negative = self.two(GTQ, zero, a);
            t = self.two(XOR, t, negative);
        }
        let t = self.shrq(t, 53);
        let small = self.two(EQQ, t, zero);
        // In other numbers, any set bit below the last significant one sets it.
        let low = self.q64(0x7ff);
        let t = self.two(AND, a, low);
        let t = self.two(ADDQ, t, low);
        let t = self.two(OR, t, a);
        let t = self.two(ANDN, low, t);
        self.blend(t, a, small)
    }

    /// Returns the lanes of f64 that are tiny as f32: below the numbers that round to the least normal one.
    fn tiny_as_f32(&mut self, a: [VReg; 2]) -> VReg {
        let [(positive, p), (negative, n)] =
            bounds_of_tiny_as_f32(self.e.c.float_mode().env32().round);
        // Less than the positive bound, and the negation less than the negative one.
        let m = a.map(|a| {
            let k = self.q64(positive);
            let less = self.compare_floats(true, a, k, p);
            let t = self.sign_of(Op::Neg, true, a);
            let k = self.q64(negative);
            let more = self.compare_floats(true, t, k, n);
            self.two(AND, less, more)
        });
        self.pack(m)
    }

    /// Returns the product of 64-bit integers.
    fn long_product(&mut self, a: VReg, b: VReg) -> VReg {
        let (high_a, high_b) = (self.shrq(a, 32), self.shrq(b, 32));
        let t = self.two(MULUDQ, high_a, b);
        let u = self.two(MULUDQ, high_b, a);
        let t = self.two(ADDQ, t, u);
        let t = self.shlq(t, 32);
        let low = self.two(MULUDQ, a, b);
        self.two(ADDQ, low, t)
    }

    /// Selects an operation on 64-bit values whose result has 64 bits.
    fn wide_parts(&mut self, op: &VectorOp, o: Op, n: &Node) -> [VReg; 2] {
        let [x, y, w] = op.args;
        let float = n.ty == Ty::F64;
        if o == Op::Select {
            let m = self.mask(x);
            let (m, a, b) = (self.unpack(m), self.wide(w), self.wide(y));
            return [0, 1].map(|k| self.blend(a[k], b[k], m[k]));
        }
        let a = self.wide(x);
        let two = |s: &mut Self| s.wide(y);
        match o {
            Op::Add | Op::Sub if float => {
                let b = two(self);
                [0, 1].map(|k| self.sum(true, op.neg, o == Op::Sub, [a[k], b[k]]))
            }
            Op::Mul if float => {
                let b = two(self);
                [0, 1].map(|k| self.two(ps(MUL, true), a[k], b[k]))
            }
            Op::Mul => {
                let short = self.short_product([x, y]);
                let b = two(self);
                [0, 1].map(|k| match short {
                    true => self.two(MULUDQ, a[k], b[k]),
                    false => self.long_product(a[k], b[k]),
                })
            }
            Op::Div => {
                let b = two(self);
                [0, 1].map(|k| self.two(ps(DIV, true), a[k], b[k]))
            }
            Op::IntToFloat => a.map(|a| self.long_to_f64(a, n.ty.is_signed())),
            Op::Sqrt => a.map(|a| self.one(ps(SQRT, true), a)),
            Op::Neg | Op::Abs if float => a.map(|a| self.sign_of(o, true, a)),
            Op::Min | Op::Max if float => {
                let b = two(self);
                [0, 1].map(|k| self.range(true, o == Op::Max, a[k], b[k]))
            }
            Op::Fma => {
                let (b, c) = (self.wide(y), self.wide(w));
                [0, 1].map(|k| self.fma(true, op, [x, y, w], [a[k], b[k], c[k]]))
            }
            Op::Ldexp => {
                // The exponent is a 32-bit number.
                let b = self.val(y);
                let b = self.for_parts(b);
                [0, 1].map(|k| self.scale64(a[k], b[k]))
            }
            Op::Floor | Op::Ceil | Op::RoundZero | Op::RoundEven => {
                a.map(|a| self.one_of(X(3, 1, 0, 0x09), 1, a, Some(rounding_of(o))))
            }
            Op::Shl | Op::Shr => {
                let b = two(self);
                let signed = n.ty.is_signed() && o == Op::Shr;
                let e = X(2, 1, 1, if o == Op::Shl { 0x47 } else { 0x45 });
                let zero = self.zero();
                [0, 1].map(|k| match signed {
                    true => {
                        let sign = self.two(GTQ, zero, a[k]);
                        let t = self.two(XOR, a[k], sign);
                        let t = self.two(e, t, b[k]);
                        self.two(XOR, t, sign)
                    }
                    false => self.two(e, a[k], b[k]),
                })
            }
            _ => {
                self.e.mistaken();
                a
            }
        }
    }
}

impl Emit<'_, Avx2> {
    pub(super) fn range_code(&mut self, range: Range, p: OperandRegisters<'_>) {
        let Range { wide, max, flush } = range;
        let (a, b, r, t, u) = (p.r(0), p.r(1), p.r(2), p.r(3), p.r(4));
        let pick = ps(if max { MAX } else { MIN }, wide);
        self.a.y(pick, r, a, H::R(b));
        self.a.y(pick, u, b, H::R(a));
        self.a.y(if max { AND } else { OR }, r, r, H::R(u));
        self.a.yi(ps(COMPARE, wide), u, a, H::R(b), 3);
        self.a.y(MOVMSKPS, RAX, 0, H::R(u));
        self.a.test(false, RAX, RAX);
        let (from, back) = (self.a.label(), self.a.label());
        self.a.jcc(Cc::Ne, from);
        self.a.bind(back);
        if flush {
            self.flush_denormals(wide, r, u);
        }
        self.section(move |e| {
            e.a.bind(from);
            for (x, other) in [(a, b), (b, a)] {
                // The result is the other operand if this one is a NaN, and the first if both are.
                e.a.yi(ps(COMPARE, wide), u, x, H::R(x), 3);
                e.a.yi(BLENDV, r, r, H::R(other), u << 4);
            }
            if flush {
                e.flush_denormals(wide, r, u);
            }
            // A signalling NaN is the result, made quiet.
            let quiet = e.a.every(if wide { 1 << 51 } else { 0x0040_0000 }, wide);
            for x in [b, a] {
                e.signalling(wide, u, x);
                e.a.y(OR, t, x, quiet);
                e.a.yi(BLENDV, r, r, H::R(t), u << 4);
            }
            e.a.jmp(back);
        });
    }

    /// Replaces denormals in `r` by 0, if MXCSR takes denormals as zeros. `u` is clobbered.
    fn flush_denormals(&mut self, wide: bool, r: u8, u: u8) {
        let nothing = self.a.every(0, wide);
        let magnitude = self.a.every(!sign(wide), wide);
        self.a.yi(ps(COMPARE, wide), u, r, nothing, 0);
        self.a.y(AND, u, u, magnitude);
        self.a.y(ANDN, r, u, H::R(r));
    }

    /// Sets `out` where `b` is a signalling NaN. These are above infinity if the quiet bit is flipped.
    pub(super) fn signalling(&mut self, wide: bool, out: u8, b: u8) {
        let (quiet, limit) = match wide {
            true => (1 << 51, 0x7ff8 << 48),
            false => (0x0040_0000u64, 0x7fc0_0000u64),
        };
        let quiet = self.a.every(quiet, wide);
        let magnitude = self.a.every(!sign(wide), wide);
        let limit = self.a.every(limit, wide);
        self.a.y(XOR, out, b, quiet);
        self.a.y(AND, out, out, magnitude);
        self.a.y(if wide { GTQ } else { GTD }, out, out, limit);
    }
}
