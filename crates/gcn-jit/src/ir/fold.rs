//! Operations of the semantics as values: constants are folded, identities are applied, and operations that no target has
//! are expanded.

use super::{Got, Graph, Id, Inst, Unsupported};
use gcn_emu::eval::{Operation, eval};
use gcn_emu::fp::Mode;
use gcn_isa::meaning::{Op, width_mask};
use gcn_isa::shape::Ty;
use gcn_isa::target::Gen;

impl Graph {
    /// Returns the value of an operation of the semantics, simplified.
    ///
    /// # Errors
    /// [`Unsupported`] if no target has the operation: the interpreter runs the instruction.
    pub fn alu(&mut self, op: Op, ty: Ty, out: Ty, args: [Id; 3]) -> Got {
        if let Some(value) = self.constant_of(op, ty, out, args) {
            return Ok(self.constant(out, value));
        }
        if ty == Ty::F16 || out == Ty::F16 {
            return self.half(op, ty, out, args);
        }
        if let Some(known) = self.identity(op, ty, args) {
            return Ok(known);
        }
        if let Some(made) = self.rewrite(op, ty, out, args) {
            return made;
        }
        if let Some(made) = self.widen(op, ty, args) {
            return made;
        }
        let [a, b, _] = args;
        let extreme = matches!(op, Op::Min | Op::Max) && ty.is_float();
        if extreme && ty == Ty::F32 && self.integers_decide() {
            return self.extreme(op, args);
        }
        let bits = ty.bits();
        if op == Op::Shr && !self.vec(a) && self.get(b).op == Inst::Lane {
            return Ok(self.node(Inst::ShrLane, Ty::B64, Ty::B64, true, [a, 0, 0]));
        }
        if op == Op::And && self.get(a).op == Inst::ShrLane && self.is(b, 1) {
            let mask = self.get(a).args[0];
            let k = self.mask_of(mask);
            return self.alu(Op::Zext, Ty::Bool, Ty::B64, [k, 0, 0]);
        }
        let any_float = ty.is_float() || out.is_float();
        let vec = any_float || args[..op.arity()].iter().any(|&a| self.vec(a));
        let of_wide = op == Op::IntToFloat && bits > 32;
        if vec && bits > 32 && (!any_float || of_wide) {
            return self.halves(op, ty, out, args);
        }
        if op == Op::Class && self.value_of(b).is_none_or(|mask| mask & !0x207 != 0) {
            // Only classes of NaNs and infinities are supported, which the host distinguishes under any MXCSR.
            return Err(Unsupported);
        }
        if vec && !supported(op, ty, out) || !vec && !scalar_supported(op, ty) {
            return Err(Unsupported);
        }
        // Types that the operation does not distinguish are unified, so that equal values are found.
        let ty = match op {
            Op::And
            | Op::Or
            | Op::Xor
            | Op::Not
            | Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Eq
            | Op::Ne
            | Op::Select
            | Op::Shl
                if !any_float =>
            {
                ty.as_bits()
            }
            _ => ty,
        };
        let out = if any_float || out == Ty::Bool {
            out
        } else {
            out.as_bits()
        };
        let id = self.node(Inst::Alu(op), ty, out, vec, args);
        if op == Op::Fma && ty == Ty::F64 {
            return Ok(self.root(id).unwrap_or(id));
        }
        if extreme && !Mode(self.mode).env32().ieee {
            // The host's minimum or maximum has the NaNs of IEEE.
            let when = self.ordered(ty, [a, b])?;
            let slow = self.alu_with_slow_path(op, (ty, ty), args, (when, id), false);
            return slow.ok_or(Unsupported);
        }
        Ok(id)
    }

    /// Returns true if the host's minimum or maximum of two f32 is not the instruction's even for numbers: before gfx9, denormals are kept
    /// although MODE flushes them.
    pub fn integers_decide(&self) -> bool {
        let e = Mode(self.mode).env32();
        self.generation < Gen::Gfx9 && (e.flush_in || e.flush_out)
    }

    /// Returns the minimum or maximum of two f32 by comparing integers in the same order. NaNs take the slow path.
    fn extreme(&mut self, op: Op, args: [Id; 3]) -> Got {
        let in_order = |g: &mut Self, x: Id| {
            let sign = g.and1(Op::Shr, Ty::I32, x, 31)?;
            let flipped = g.and1(Op::And, Ty::B32, sign, 0x7fff_ffff)?;
            g.alu(Op::Xor, Ty::B32, Ty::B32, [x, flipped, 0])
        };
        let [a, b, _] = args;
        let (x, y) = (in_order(self, a)?, in_order(self, b)?);
        let extreme = self.alu(op, Ty::I32, Ty::I32, [x, y, 0])?;
        let short = in_order(self, extreme)?;
        let when = self.ordered(Ty::F32, [a, b])?;
        self.alu_with_slow_path(op, (Ty::F32, Ty::F32), args, (when, short), false)
            .ok_or(Unsupported)
    }

    /// Tests that neither of two floats is a NaN.
    pub(super) fn ordered(&mut self, ty: Ty, [a, b]: [Id; 2]) -> Got {
        let nan = self.alu(Op::Unord, ty, Ty::Bool, [a, b, 0])?;
        self.alu(Op::Not, Ty::Bool, Ty::Bool, [nan, 0, 0])
    }

    /// Returns the value of an operation on constants.
    fn constant_of(&self, op: Op, ty: Ty, out: Ty, args: [Id; 3]) -> Option<u64> {
        let mut values = [0; 3];
        for (value, &a) in values.iter_mut().zip(&args[..op.arity()]) {
            *value = self.value_of(a)?;
        }
        self.evaluate(op, ty, out, values)
    }

    /// Returns the value of an operation, if it does not depend on lanes.
    pub(crate) fn evaluate(&self, op: Op, ty: Ty, out: Ty, values: [u64; 3]) -> Option<u64> {
        let [a, b, c] = &values.map(|value| [value]);
        let mut d = [0];
        let operation = Operation {
            op,
            ty,
            out,
            generation: self.generation,
            mode: self.mode,
        };
        eval::<1>(operation, [a, b, c], &mut d).then_some(d[0])
    }

    /// Returns the operand or constant that equals the operation.
    fn identity(&mut self, op: Op, ty: Ty, args: [Id; 3]) -> Option<Id> {
        let [a, b, c] = args;
        let float = ty.is_float();
        let full = width_mask(ty);
        Some(match op {
            Op::And if self.is(a, 0) || self.is(b, 0) => self.constant(ty, 0),
            Op::And if self.is(b, full) || a == b => a,
            Op::And if self.is(a, full) => b,
            Op::And if self.within(a, b) => a,
            Op::And if self.within(b, a) => b,
            Op::Or if self.is(a, full) => a,
            Op::Or if self.is(b, full) => b,
            Op::Or if self.is(b, 0) || a == b => a,
            Op::Eq if a == b && !float => self.constant(Ty::Bool, 1),
            Op::Or | Op::Xor if self.is(a, 0) => b,
            Op::Xor if self.is(b, 0) => a,
            Op::Add if !float && self.is(a, 0) => b,
            Op::Add | Op::Sub if !float && self.is(b, 0) => a,
            Op::Shl | Op::Shr if self.is(b, 0) => a,
            Op::Mul if !float && self.is(b, 1) => a,
            Op::Mul if !float && self.is(a, 1) => b,
            Op::Mul if !float && (self.is(a, 0) || self.is(b, 0)) => self.constant(ty, 0),
            Op::Select if self.value_of(a).is_some() => match self.value_of(a) {
                Some(v) if v & 1 != 0 => b,
                _ => c,
            },
            Op::Select if b == c => b,
            Op::Not
                if self.get(a).op == Inst::Alu(Op::Not) && self.get(a).ty.bits() == ty.bits() =>
            {
                self.get(a).args[0]
            }
            _ => return None,
        })
    }

    /// Returns true if a constant has all bits that a value may have.
    fn within(&self, value: Id, mask: Id) -> bool {
        /// The number of operations through which bits are followed.
        const DEPTH: u32 = 3;
        let wanted = self.value_of(mask);
        self.known_bits && wanted.is_some_and(|mask| self.bits_of(value, DEPTH) & !mask == 0)
    }

    /// Returns the bits that may be set in a value. Narrow values are zero-extended.
    fn bits_of(&self, id: Id, depth: u32) -> u64 {
        let n = self.get(id);
        let all = width_mask(n.out);
        if let Inst::Const(value) = n.op {
            return value;
        }
        let Some(depth) = depth.checked_sub(1) else {
            return all;
        };
        let of = |k: usize| self.bits_of(n.args[k], depth);
        // All bits up to the highest set one.
        let below = |bits: u64| bits.checked_ilog2().map_or(0, |top| u64::MAX >> (63 - top));
        let by = || {
            let by = self.value_of(n.args[1]);
            by.filter(|&by| by < n.ty.bits() as u64)
        };
        all & match n.op {
            Inst::Alu(op) if !n.ty.is_float() => match op {
                Op::And => of(0) & of(1),
                Op::Or | Op::Xor => of(0) | of(1),
                Op::Min if !n.ty.is_signed() => below(of(0)) & below(of(1)),
                Op::Max if !n.ty.is_signed() => below(of(0) | of(1)),
                Op::Shr if !n.ty.is_signed() => by().map_or(all, |by| of(0) >> by),
                Op::Select => of(1) | of(2),
                Op::Zext => of(0) & width_mask(n.ty),
                _ => all,
            },
            Inst::Part(_) => match self.get(n.args[0]).op {
                Inst::Group { bytes, .. } if bytes < 4 => (1 << (8 * bytes)) - 1,
                _ => all,
            },
            _ => all,
        }
    }

    /// Expands an operation into others.
    fn rewrite(&mut self, op: Op, ty: Ty, out: Ty, args: [Id; 3]) -> Option<Got> {
        let [a, b, c] = args;
        Some(match op {
            Op::Rev if ty.bits() == 32 && self.vec(a) => self.reversed(a),
            Op::Class => match self.value_of(b) {
                Some(mask) if mask & 0x1f8 != 0 => self.classes(ty, a, mask),
                Some(_) => return None,
                None => self.class_of(ty, a, b),
            },
            Op::Zext => self.zext(ty.bits(), out.bits(), a),
            Op::Trunc => self.trunc(ty.bits(), out, a),
            Op::Sext => self.sext(ty.bits(), out, a),
            Op::Select if out == Ty::Bool && self.vec(a) => self.select_bool(a, b, c),
            Op::Shl if ty.bits() == 32 && self.value_of(b).is_some() => {
                let by = self.value_of(b)?;
                let shifted = |value| self.evaluate(op, ty, out, [value, by, 0]);
                let (when, values) = self.choice(a)?;
                let values = [shifted(values[0])?, shifted(values[1])?];
                self.choose(out, when, values)
            }
            Op::Ldexp => self.scaled_by_constants(ty, a, b)?,
            Op::Ne | Op::Eq if !ty.is_float() && (self.is(b, 0) || self.is(a, 0)) => {
                let x = if self.is(b, 0) { a } else { b };
                return self.compare_zero(op, ty, x).transpose();
            }
            _ => return None,
        })
    }

    /// Returns the condition of a selection between two constants, and the constants.
    fn choice(&self, id: Id) -> Option<(Id, [u64; 2])> {
        let n = self.get(id);
        let selects = n.vec && n.op == Inst::Alu(Op::Select);
        let [when, x, y] = n.args;
        selects.then_some((when, [self.value_of(x)?, self.value_of(y)?]))
    }

    /// Selects one of two constants.
    fn choose(&mut self, ty: Ty, when: Id, values: [u64; 2]) -> Got {
        let [x, y] = values.map(|value| self.constant(ty, value));
        self.alu(Op::Select, ty, ty, [when, x, y])
    }

    /// Returns the product of a number and a power of two, if the exponent is a constant or one of two constants, as in square roots of
    /// f64. If the power is a normal number, a product is rounded like the scaled number.
    fn scaled_by_constants(&mut self, ty: Ty, a: Id, exponent: Id) -> Option<Got> {
        let power = |exponent: u64| {
            let exponent = exponent as u32 as i32;
            match ty {
                Ty::F32 if (-126..=127).contains(&exponent) => {
                    Some(((exponent + 127) as u64) << 23)
                }
                Ty::F64 if (-1022..=1023).contains(&exponent) => {
                    Some(((exponent + 1023) as u64) << 52)
                }
                _ => None,
            }
        };
        let factor = match self.value_of(exponent) {
            Some(exponent) => self.constant(ty, power(exponent)?),
            None => {
                let (when, [x, y]) = self.choice(exponent)?;
                self.choose(ty, when, [power(x)?, power(y)?]).ok()?
            }
        };
        Some(self.alu(Op::Mul, ty, ty, [a, factor, 0]))
    }

    fn zext(&mut self, bits: u32, to: u32, a: Id) -> Got {
        match (bits, to) {
            (1, 64) if self.vec(a) => {
                let (lo, zero) = (self.zext_bool(a), self.constant(Ty::B32, 0));
                Ok(self.pair(lo, zero))
            }
            (1, _) => Ok(self.zext_bool(a)),
            (..=32, 64) if self.vec(a) => {
                let zero = self.constant(Ty::B32, 0);
                Ok(self.pair(a, zero))
            }
            (64, 64) | (..=32, _) => Ok(a),
            _ => Err(Unsupported),
        }
    }

    fn trunc(&mut self, bits: u32, out: Ty, a: Id) -> Got {
        let low = if bits > 32 { self.lo(a) } else { a };
        match out.bits() {
            64 => Ok(a),
            32 => Ok(low),
            1 => {
                let bit = self.and1(Op::And, Ty::B32, low, 1)?;
                let zero = self.constant(Ty::B32, 0);
                self.alu(Op::Ne, Ty::B32, Ty::Bool, [bit, zero, 0])
            }
            _ => self.and1(Op::And, Ty::B32, low, width_mask(out)),
        }
    }

    fn sext(&mut self, bits: u32, out: Ty, a: Id) -> Got {
        let to = out.bits();
        if bits == to {
            return Ok(a);
        }
        if bits == 1 {
            return Err(Unsupported);
        }
        let mut v = a;
        if bits < 32 {
            let up = (32 - bits) as u64;
            v = self.and1(Op::Shl, Ty::I32, v, up)?;
            v = self.and1(Op::Shr, Ty::I32, v, up)?;
        }
        match to {
            64 => {
                let high = self.and1(Op::Shr, Ty::I32, v, 31)?;
                Ok(self.pair(v, high))
            }
            32 => Ok(v),
            _ => self.and1(Op::And, Ty::B32, v, width_mask(out)),
        }
    }

    /// Selects between truth values per lane: (a and b) or (not a and c).
    fn select_bool(&mut self, a: Id, b: Id, c: Id) -> Got {
        let yes = self.alu(Op::And, Ty::Bool, Ty::Bool, [a, b, 0])?;
        let not = self.alu(Op::Not, Ty::Bool, Ty::Bool, [a, 0, 0])?;
        let no = self.alu(Op::And, Ty::Bool, Ty::Bool, [not, c, 0])?;
        self.alu(Op::Or, Ty::Bool, Ty::Bool, [yes, no, 0])
    }

    /// Simplifies a comparison of a value with 0, if the value is made of truth values or its upper half is 0.
    fn compare_zero(&mut self, op: Op, ty: Ty, x: Id) -> Result<Option<Id>, Unsupported> {
        let found = if ty.bits() > 32 && self.vec(x) && self.is_zero_high(x) {
            let (low, zero) = (self.lo(x), self.constant(Ty::B32, 0));
            return self.alu(op, Ty::B32, Ty::Bool, [low, zero, 0]).map(Some);
        } else if ty == Ty::Bool {
            Some(x)
        } else if let Some(k) = self.as_bool(x) {
            Some(k)
        } else if let Inst::Alu(Op::Add) = self.get(x).op {
            let [p, q, _] = self.get(x).args;
            match (self.as_bool(p), self.as_bool(q)) {
                (Some(p), Some(q)) => Some(self.alu(Op::Or, Ty::Bool, Ty::Bool, [p, q, 0])?),
                _ => None,
            }
        } else {
            None
        };
        match found {
            Some(k) if op == Op::Ne => Ok(Some(k)),
            Some(k) => self.alu(Op::Not, Ty::Bool, Ty::Bool, [k, 0, 0]).map(Some),
            None => Ok(None),
        }
    }

    /// Performs an operation on narrow signed numbers in 32 bits.
    fn widen(&mut self, op: Op, ty: Ty, args: [Id; 3]) -> Option<Got> {
        if !ty.is_signed() || ty.bits() >= 32 {
            return None;
        }
        let two = matches!(op, Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Min | Op::Max);
        match op {
            Op::MulHi | Op::IntToFloat => return Some(Err(Unsupported)),
            Op::Shr | Op::Abs => {}
            _ if !two => return None,
            _ => {}
        }
        Some(self.on_32_bits(op, ty, args, two))
    }

    fn on_32_bits(&mut self, op: Op, ty: Ty, [a, b, _]: [Id; 3], two: bool) -> Got {
        let a = self.alu(Op::Sext, ty, Ty::I32, [a, 0, 0])?;
        let b = match two {
            true => self.alu(Op::Sext, ty, Ty::I32, [b, 0, 0])?,
            false => b,
        };
        match op {
            Op::Lt | Op::Le | Op::Gt | Op::Ge => self.alu(op, Ty::I32, Ty::Bool, [a, b, 0]),
            _ => {
                let r = self.alu(op, Ty::I32, Ty::I32, [a, b, 0])?;
                self.and1(Op::And, Ty::B32, r, width_mask(ty))
            }
        }
    }

    /// Returns true if the upper half of a 64-bit value is 0.
    pub(super) fn is_zero_high(&self, id: Id) -> bool {
        let n = self.get(id);
        n.op == Inst::Pair && self.is(n.args[1], 0)
    }
}

/// Returns true if targets have the vector operation.
fn supported(op: Op, ty: Ty, out: Ty) -> bool {
    let bits = ty.bits();
    let float = matches!(ty, Ty::F32 | Ty::F64);
    match op {
        Op::Not | Op::And | Op::Or | Op::Xor => bits <= 32 && !float,
        Op::Eq | Op::Ne if bits == 1 => true,
        Op::Neg | Op::Abs => float || bits == 32,
        Op::Popcount | Op::Clz | Op::Ctz => bits == 32,
        Op::Shl => bits <= 32,
        Op::Shr => bits <= 32 && (bits == 32 || !ty.is_signed()),
        Op::Add | Op::Sub | Op::Mul => float || bits <= 32 && bits > 1,
        Op::MulHi => bits == 32,
        Op::Min | Op::Max => float || bits == 32 || !ty.is_signed(),
        Op::Eq | Op::Ne => float || bits > 1 && bits <= 32,
        Op::Lt | Op::Le | Op::Gt | Op::Ge => float || bits == 32 || bits > 1 && !ty.is_signed(),
        Op::Unord | Op::Class => float,
        Op::Select => out != Ty::Bool,
        Op::Fma | Op::Div | Op::Sqrt | Op::Ldexp => float,
        Op::Mad => ty == Ty::F32,
        Op::Floor | Op::Ceil | Op::RoundZero | Op::RoundEven => float,
        Op::IntToFloat => bits == 32 && matches!(out, Ty::F32 | Ty::F64),
        Op::FloatToInt => float && out.bits() == 32,
        Op::FloatToFloat => float && matches!(out, Ty::F32 | Ty::F64),
        // It has no code: a guard ensures that it is not needed.
        Op::FmaLdexp(_) => float,
        _ => false,
    }
}

/// Returns true if targets have the scalar operation.
fn scalar_supported(op: Op, ty: Ty) -> bool {
    let bits = ty.bits();
    match op {
        Op::Not | Op::Neg => matches!(bits, 1 | 32 | 64),
        Op::And
        | Op::Or
        | Op::Xor
        | Op::Eq
        | Op::Ne
        | Op::Lt
        | Op::Le
        | Op::Gt
        | Op::Ge
        | Op::Select => true,
        Op::Add | Op::Sub | Op::Mul | Op::Shl | Op::Shr | Op::Min | Op::Max => bits >= 32,
        Op::Clz | Op::Ctz | Op::Abs => bits >= 32,
        Op::Popcount => true,
        Op::MulHi => bits == 32,
        _ => false,
    }
}
