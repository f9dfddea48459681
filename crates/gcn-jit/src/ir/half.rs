//! f16 arithmetic in f32, and a few operations that are expanded into others.
//!
//! Sums, products, quotients and roots of f16 that are rounded to f32 and then to f16 equal the results of single
//! rounding: 24 bits are at least twice 11 and two more (S. Figueroa, "When is double rounding innocuous?"), and no
//! intermediate f32 is a denormal. In the directed modes, rounding twice in one direction equals rounding once. A fused
//! multiply-add goes through f32 rounded to odd.

use crate::ir::{Got, Graph, Id, Inst, Unsupported};
use gcn_emu::fp::{Mode, Round};
use gcn_emu::wave::mode::FP16_OVFL;
use gcn_isa::meaning::Op;
use gcn_isa::shape::Ty;

impl Graph {
    fn and(&mut self, a: Id, mask: u64) -> Got {
        let mask = self.constant(Ty::B32, mask);
        self.alu(Op::And, Ty::B32, Ty::B32, [a, mask, 0])
    }

    /// Converts an f16 to f32, which is exact.
    fn widened(&mut self, a: Id) -> Got {
        self.alu(Op::FloatToFloat, Ty::F16, Ty::F32, [a, 0, 0])
    }

    fn narrowed(&mut self, a: Id) -> Got {
        // NaNs were checked where they were computed.
        if self.value_of(a).is_none() {
            let op = Inst::Alu(Op::FloatToFloat);
            return Ok(self.node(op, Ty::F32, Ty::F16, true, [a, 0, 0]));
        }
        self.alu(Op::FloatToFloat, Ty::F32, Ty::F16, [a, 0, 0])
    }

    /// Returns the value of an operation with f16 operands or an f16 result.
    pub(crate) fn half(&mut self, op: Op, ty: Ty, out: Ty, args: [Id; 3]) -> Got {
        let [a, b, c] = args;
        match op {
            Op::Neg => {
                let top = self.constant(Ty::B32, 0x8000);
                return self.alu(Op::Xor, Ty::B32, Ty::B32, [a, top, 0]);
            }
            Op::Abs => return self.and(a, 0x7fff),
            Op::Select => return self.alu(op, Ty::B16, Ty::B16, args),
            _ => {}
        }
        let env = Mode(self.mode).env16();
        let nearest = env.round == Round::NearestEven;
        if env.flush_in || env.flush_out || self.mode & FP16_OVFL != 0 {
            return Err(Unsupported);
        }
        let direct = |g: &mut Self, id: Id| g.node(Inst::Alu(op), ty, out, true, [id, 0, 0]);
        match op {
            // The host's conversion makes a signalling NaN quiet.
            Op::FloatToFloat if (ty, out) == (Ty::F32, Ty::F16) && !env.ieee => {
                let (short, when) = (direct(self, a), self.ordered(ty, [a, a])?);
                self.alu_with_slow_path(op, (ty, out), args, (when, short), true)
                    .ok_or(Unsupported)
            }
            Op::FloatToFloat if out == Ty::F16 && ty != out && !env.ieee => Err(Unsupported),
            Op::FloatToFloat => match (ty, out) {
                (Ty::F16, Ty::F32) | (Ty::F32, Ty::F16) => Ok(direct(self, a)),
                (Ty::F16, Ty::F64) => {
                    let x = self.widened(a)?;
                    self.alu(op, Ty::F32, Ty::F64, [x, 0, 0])
                }
                (Ty::F64, Ty::F16) if nearest => Ok(direct(self, a)),
                (Ty::F16, Ty::F16) => Ok(a),
                _ => Err(Unsupported),
            },
            Op::IntToFloat if ty.bits() <= 16 => {
                let (extend, wide) = match ty.is_signed() {
                    true => (Op::Sext, Ty::I32),
                    false => (Op::Zext, Ty::U32),
                };
                let x = self.alu(extend, ty, wide, [a, 0, 0])?;
                let x = self.alu(op, wide, Ty::F32, [x, 0, 0])?;
                self.narrowed(x)
            }
            Op::FloatToInt => self.half_to_int(a, out),
            Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Div
            | Op::Sqrt
            | Op::Floor
            | Op::Ceil
            | Op::RoundZero
            | Op::RoundEven => {
                let x = self.widened(a)?;
                let y = if op.arity() == 2 { self.widened(b)? } else { 0 };
                let r = self.alu(op, Ty::F32, Ty::F32, [x, y, 0])?;
                self.narrowed(r)
            }
            Op::Fma if ty == Ty::F32 => self.fma_to_half(args),
            Op::Fma if nearest => {
                let (x, y, z) = (self.widened(a)?, self.widened(b)?, self.widened(c)?);
                // Targets round this operation on f32 operands to odd.
                let r = self.node(Inst::Alu(Op::Fma), Ty::F16, Ty::F32, true, [x, y, z]);
                self.narrowed(r)
            }
            Op::Ldexp => {
                // Exponents beyond ±64 all over- or underflow as f16, and up to 64 no f32 does.
                let x = self.widened(a)?;
                let (low, high) = (
                    self.constant(Ty::B32, -64i32 as u32 as u64),
                    self.constant(Ty::B32, 64),
                );
                let n = self.alu(Op::Max, Ty::I32, Ty::I32, [b, low, 0])?;
                let n = self.alu(Op::Min, Ty::I32, Ty::I32, [n, high, 0])?;
                let r = self.alu(op, Ty::F32, Ty::F32, [x, n, 0])?;
                self.narrowed(r)
            }
            Op::Min | Op::Max => self.half_extreme(op, args),
            Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Unord => {
                let (x, y) = (self.widened(a)?, self.widened(b)?);
                self.alu(op, Ty::F32, Ty::Bool, [x, y, 0])
            }
            _ => Err(Unsupported),
        }
    }

    /// Converts an f16 to an integer of at most 32 bits.
    fn half_to_int(&mut self, a: Id, out: Ty) -> Got {
        let x = self.widened(a)?;
        let signed = out.is_signed();
        let wide = if signed { Ty::I32 } else { Ty::U32 };
        if out.bits() > 32 {
            return Err(Unsupported);
        }
        let x = self.alu(Op::FloatToInt, Ty::F32, wide, [x, 0, 0])?;
        if out.bits() == 32 {
            return Ok(x);
        }
        let mask = gcn_isa::meaning::width_mask(out);
        let most = self.constant(Ty::B32, if signed { mask >> 1 } else { mask });
        let x = self.alu(Op::Min, wide, wide, [x, most, 0])?;
        if !signed {
            return Ok(x);
        }
        let least = self.constant(Ty::B32, !(mask >> 1));
        let x = self.alu(Op::Max, wide, wide, [x, least, 0])?;
        self.and(x, mask)
    }

    /// Returns a fused multiply-add of f32 rounded once to f16.
    fn fma_to_half(&mut self, args: [Id; 3]) -> Got {
        // Rounding to f32 first gives the same result except halfway between two f16 numbers, and for denormal f16 results.
        let mode = Mode(self.mode);
        let nearest = mode.env16().round == Round::NearestEven;
        if !nearest || mode.env32().round != Round::NearestEven {
            return Err(Unsupported);
        }
        let r = self.alu(Op::Fma, Ty::F32, Ty::F32, args)?;
        let short = self.narrowed(r)?;
        let c = |g: &mut Self, v: u64| g.constant(Ty::B32, v);
        let size = self.and(r, 0x7fff_ffff)?;
        let (least, normals) = (c(self, 0x3880_0000), c(self, 0x7f80_0000 - 0x3880_0000));
        let above = self.alu(Op::Sub, Ty::U32, Ty::U32, [size, least, 0])?;
        let normal = self.alu(Op::Le, Ty::U32, Ty::Bool, [above, normals, 0])?;
        let (rest, half) = (self.and(r, 0x1fff)?, c(self, 0x1000));
        let decided = self.alu(Op::Ne, Ty::U32, Ty::Bool, [rest, half, 0])?;
        let zero = c(self, 0);
        let zero = self.alu(Op::Eq, Ty::U32, Ty::Bool, [size, zero, 0])?;
        let when = self.alu(Op::And, Ty::Bool, Ty::Bool, [normal, decided, 0])?;
        let when = self.alu(Op::Or, Ty::Bool, Ty::Bool, [when, zero, 0])?;
        self.alu_with_slow_path(Op::Fma, (Ty::F32, Ty::F16), args, (when, short), true)
            .ok_or(Unsupported)
    }

    /// Returns the lesser or the greater of two f16.
    fn half_extreme(&mut self, op: Op, args: [Id; 3]) -> Got {
        let [a, b, _] = args;
        // The conversion would make a signalling NaN quiet, which changes which operand is chosen.
        let limit = self.constant(Ty::B32, 0x7c00);
        let mut numbers = [0; 2];
        for (k, n) in numbers.iter_mut().enumerate() {
            let size = self.and(args[k], 0x7fff)?;
            *n = self.alu(Op::Le, Ty::U32, Ty::Bool, [size, limit, 0])?;
        }
        let when = self.alu(Op::And, Ty::Bool, Ty::Bool, [numbers[0], numbers[1], 0])?;
        let (x, y) = (self.widened(a)?, self.widened(b)?);
        // No f16 number is a denormal as f32, and NaNs take the slow path, so the host's operation is the right one in every MODE.
        let r = self.node(Inst::Alu(op), Ty::F32, Ty::F32, true, [x, y, 0]);
        let short = self.narrowed(r)?;
        self.alu_with_slow_path(op, (Ty::F16, Ty::F16), args, (when, short), true)
            .ok_or(Unsupported)
    }

    /// Reverses the order of 32 bits.
    pub(crate) fn reversed(&mut self, a: Id) -> Got {
        let mut x = a;
        for (by, mask) in [
            (1, 0x5555_5555),
            (2, 0x3333_3333),
            (4, 0x0f0f_0f0f),
            (8, 0x00ff_00ff),
            (16, 0x0000_ffff),
        ] {
            let by = self.constant(Ty::B32, by);
            let up = self.and(x, mask)?;
            let up = self.alu(Op::Shl, Ty::B32, Ty::B32, [up, by, 0])?;
            let down = self.alu(Op::Shr, Ty::B32, Ty::B32, [x, by, 0])?;
            let down = self.and(down, mask)?;
            x = self.alu(Op::Or, Ty::B32, Ty::B32, [up, down, 0])?;
        }
        Ok(x)
    }

    /// Tests whether a float is of one of the classes of a constant mask with normal or denormal numbers or zeros.
    pub(crate) fn classes(&mut self, ty: Ty, a: Id, mask: u64) -> Got {
        let (bits, locations) = match ty {
            Ty::F32 => (Ty::U32, 23),
            Ty::F64 => (Ty::U64, 52),
            _ => return Err(Unsupported),
        };
        let top = 1u64 << (ty.bits() - 1);
        let least = 1u64 << locations;
        let infinity = top - least;
        // For each class: its bit in the mask, the first number, and the count of numbers.
        let ranges = [
            (3, top | least, infinity - least),
            (4, top | 1, least - 1),
            (5, top, 1),
            (6, 0, 1),
            (7, 1, least - 1),
            (8, least, infinity - least),
        ];
        let mut any = self.constant(Ty::Bool, 0);
        if mask & 0x207 != 0 {
            let m = self.constant(Ty::B32, mask & 0x207);
            any = self.alu(Op::Class, ty, Ty::Bool, [a, m, 0])?;
        }
        for (class, first, count) in ranges {
            if mask >> class & 1 == 0 {
                continue;
            }
            let (first, count) = (self.constant(bits, first), self.constant(bits, count));
            let from = self.alu(Op::Sub, bits, bits, [a, first, 0])?;
            let k = self.alu(Op::Lt, bits, Ty::Bool, [from, count, 0])?;
            any = self.alu(Op::Or, Ty::Bool, Ty::Bool, [any, k, 0])?;
        }
        Ok(any)
    }

    /// Tests whether a float is of one of the classes of a mask that is not a constant: the number of the float's class selects the bit.
    pub(crate) fn class_of(&mut self, ty: Ty, a: Id, mask: Id) -> Got {
        // The upper part of the float, its lower part if it has one, the bits of the upper part, and the position of the exponent in it.
        let (upper, lower, bits, location) = match ty {
            Ty::F16 => (self.and1(Op::And, Ty::B32, a, 0xffff)?, None, 16, 10),
            Ty::F32 => (a, None, 32, 23),
            Ty::F64 => (self.hi(a), Some(self.lo(a)), 32, 20),
            _ => return Err(Unsupported),
        };
        let u32 = Ty::U32;
        let top = 1u64 << (bits - 1);
        let (least, infinity) = (1u64 << location, top - (1 << location));
        let size = self.and1(Op::And, Ty::B32, upper, top - 1)?;
        let negative = self.and1(Op::Shr, Ty::B32, upper, bits - 1)?;
        let compare = |g: &mut Self, op: Op, x: Id, with: u64| {
            let with = g.constant(Ty::B32, with);
            g.alu(op, u32, Ty::Bool, [x, with, 0])
        };
        let (mut nan, mut any) = (compare(self, Op::Gt, size, infinity)?, size);
        if let Some(lower) = lower {
            let infinite = compare(self, Op::Eq, size, infinity)?;
            let more = compare(self, Op::Ne, lower, 0)?;
            let both = self.alu(Op::And, Ty::Bool, Ty::Bool, [infinite, more, 0])?;
            nan = self.alu(Op::Or, Ty::Bool, Ty::Bool, [nan, both, 0])?;
            any = self.alu(Op::Or, Ty::B32, Ty::B32, [size, lower, 0])?;
        }
        // 0 infinity, 1 normal numbers, 2 denormal ones, 3 zero.
        let mut level = self.constant(Ty::B32, 0);
        for (x, op, limit) in [
            (size, Op::Lt, infinity),
            (size, Op::Lt, least),
            (any, Op::Eq, 0),
        ] {
            let one = compare(self, op, x, limit)?;
            let one = self.alu(Op::Zext, Ty::Bool, Ty::B32, [one, 0, 0])?;
            level = self.alu(Op::Add, u32, u32, [level, one, 0])?;
        }
        let (two, nine, one) = (
            self.constant(Ty::B32, 2),
            self.constant(Ty::B32, 9),
            self.constant(Ty::B32, 1),
        );
        let below = self.alu(Op::Add, u32, u32, [level, two, 0])?;
        let above = self.alu(Op::Sub, u32, u32, [nine, level, 0])?;
        let is_negative = compare(self, Op::Ne, negative, 0)?;
        let number = self.alu(Op::Select, Ty::B32, Ty::B32, [is_negative, below, above])?;
        let quiet = self.and1(Op::Shr, Ty::B32, upper, location - 1)?;
        let quiet = self.alu(Op::And, Ty::B32, Ty::B32, [quiet, one, 0])?;
        let class = self.alu(Op::Select, Ty::B32, Ty::B32, [nan, quiet, number])?;
        let bit = self.alu(Op::Shr, Ty::B32, Ty::B32, [mask, class, 0])?;
        let bit = self.alu(Op::And, Ty::B32, Ty::B32, [bit, one, 0])?;
        compare(self, Op::Ne, bit, 0)
    }
}
