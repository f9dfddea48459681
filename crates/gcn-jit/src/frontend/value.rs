//! Reads and writes operands with their modifiers.

use super::*;

/// A value that an instruction writes to an operand.
#[derive(Clone, Copy)]
pub(super) struct Written {
    pub value: Id,
    /// Its type, which may differ from the operand's.
    pub ty: Ty,
    /// The condition of the write: the operand keeps its old value where it is false.
    pub when: Option<Id>,
}

impl Builder<'_> {
    /// Returns a truth value per lane for a mask register. Lanes where `when` is false keep their bits.
    pub(super) fn kept_mask(&mut self, v: Id, when: Option<Id>, code: u16) -> Result<Id, Refusal> {
        let Some(when) = when.filter(|&w| self.g.get(w).vec) else {
            return Err(Refusal::Interpreter);
        };
        let old = self.sgpr_pair(code);
        let old = self.g.mask_of(old);
        Ok(self.g.alu(Op::Select, Ty::Bool, Ty::Bool, [when, v, old])?)
    }

    pub(super) fn read(
        &mut self,
        o: &Opnd,
        dword: Option<u8>,
        vector: bool,
    ) -> Result<Id, Refusal> {
        if o.f16_at.is_some() && Mode(self.g.mode).env16().flush_in {
            return Err(Refusal::Interpreter);
        }
        let id = self.source(o, dword, vector)?;
        if vector
            && o.ty == Ty::Mask
            && dword.is_none()
            && !matches!(o.location, OperandLocation::Vgpr(_))
        {
            return match self.g.value_of(id) {
                Some(v) if v != 0 && v != u64::MAX => Err(Refusal::Interpreter),
                _ => Ok(self.g.mask_of(id)),
            };
        }
        if dword.is_some() {
            return Ok(id);
        }
        self.modified(o, id)
    }

    /// Returns the value of an operand before its modifiers, or one of its dwords.
    fn source(&mut self, o: &Opnd, dword: Option<u8>, vector: bool) -> Result<Id, Refusal> {
        let d = dword.unwrap_or(0) as u16;
        let ty = if dword.is_some() { Ty::B32 } else { o.ty };
        Ok(match o.location {
            OperandLocation::Vgpr(n) => {
                // A mask operand is never in VGPRs.
                if !vector || o.ty == Ty::Mask {
                    return Err(Refusal::Interpreter);
                }
                if ty.bits() > 64 {
                    return Err(Refusal::Interpreter);
                } else if ty.bits() > 32 {
                    if o.dpp {
                        return Err(Refusal::Interpreter);
                    }
                    let (lo, hi) = (self.vgpr_of(o, n + d)?, self.vgpr_of(o, n + d + 1)?);
                    self.g.pair(lo, hi)
                } else {
                    let value = self.vgpr_of(o, n + d)?;
                    match self.dpp.take() {
                        Some(dpp) if o.dpp => {
                            let moved = self.dpp_read(value, &dpp);
                            self.dpp = Some(dpp);
                            moved?
                        }
                        dpp => {
                            self.dpp = dpp;
                            value
                        }
                    }
                }
            }
            OperandLocation::Scalar(code) if ty.bits() > 64 => {
                let _ = code;
                return Err(Refusal::Interpreter);
            }
            OperandLocation::Scalar(code) if ty.bits() > 32 => self.sgpr_pair(code + d),
            OperandLocation::Scalar(code) => self.sgpr(code + d),
            OperandLocation::Const(value) => {
                let value = value.checked_shr(32 * d as u32).unwrap_or(0);
                if ty.bits() <= 32 && value >> 32 != 0 {
                    return Err(Refusal::Interpreter);
                }
                self.g.constant(Ty::B64, value)
            }
            // These sources have one dword.
            OperandLocation::Source(Source::Scc | Source::Vccz | Source::Execz) if d > 0 => {
                self.c32(0)
            }
            OperandLocation::Source(source) => match source {
                Source::Scc => self.scc(),
                Source::Vccz | Source::Execz => {
                    let mask = self.sgpr_pair(if source == Source::Vccz { VCC } else { EXEC });
                    let zero = self.g.constant(Ty::B64, 0);
                    self.g.alu(Op::Eq, Ty::B64, Ty::Bool, [mask, zero, 0])?
                }
                _ => return Err(Refusal::Interpreter),
            },
            OperandLocation::Nothing => self.c32(0),
        })
    }

    /// Returns an operand's value with its modifiers.
    fn modified(&mut self, o: &Opnd, mut id: Id) -> Result<Id, Refusal> {
        let bits = o.ty.bits();
        if let Some(at) = o.f16_at {
            let (by, mask) = (self.c32(at as u64), self.c32(0xffff));
            id = self.g.alu(Op::Shr, Ty::U32, Ty::U32, [id, by, 0])?;
            id = self.g.alu(Op::And, Ty::B32, Ty::B32, [id, mask, 0])?;
            id = self.g.alu(Op::FloatToFloat, Ty::F16, Ty::F32, [id, 0, 0])?;
        }
        if o.sel != 6 || o.sext {
            let (shift, width) = selection(o.sel);
            let t = if o.sext { Ty::I32 } else { Ty::U32 };
            let up = self.c32((32 - width - shift) as u64);
            let down = self.c32((32 - width) as u64);
            id = self.g.alu(Op::Shl, t, t, [id, up, 0])?;
            id = self.g.alu(Op::Shr, t, t, [id, down, 0])?;
        } else if o.high {
            let sixteen = self.c32(16);
            id = self.g.alu(Op::Shr, Ty::U32, Ty::U32, [id, sixteen, 0])?;
        }
        if bits < 32 && self.g.get(id).out != Ty::Bool {
            let mask = self.c32(gcn_isa::meaning::width_mask(o.ty));
            id = self.g.alu(Op::And, Ty::B32, Ty::B32, [id, mask, 0])?;
        }
        if o.abs != !0 {
            id = match o.ty {
                Ty::F32 | Ty::F64 => self.g.alu(Op::Abs, o.ty, o.ty, [id, 0, 0])?,
                _ => {
                    let mask = self.g.constant(o.ty, o.abs);
                    self.g
                        .alu(Op::And, o.ty.as_bits(), o.ty.as_bits(), [id, mask, 0])?
                }
            };
        }
        if o.neg != 0 {
            id = match o.ty {
                Ty::F32 | Ty::F64 => self.g.alu(Op::Neg, o.ty, o.ty, [id, 0, 0])?,
                _ => {
                    let mask = self.g.constant(o.ty, o.neg);
                    self.g
                        .alu(Op::Xor, o.ty.as_bits(), o.ty.as_bits(), [id, mask, 0])?
                }
            };
        }
        Ok(id)
    }

    /// Returns the 16 bits of a packed operand that belong to a half of the result.
    pub(super) fn read_half(&mut self, o: &Opnd, half: u8) -> Result<Id, Refusal> {
        let (shift, flipped) = o.half(half);
        let word = match o.location {
            OperandLocation::Vgpr(n) => self.vgpr_of(o, n)?,
            OperandLocation::Scalar(code) => self.sgpr(code),
            OperandLocation::Const(value) => self.c32(value & 0xffff_ffff),
            OperandLocation::Nothing => self.c32(0),
            OperandLocation::Source(_) => return Err(Refusal::Interpreter),
        };
        let (by, mask) = (self.c32(shift as u64), self.c32(0xffff));
        let id = self.g.alu(Op::Shr, Ty::U32, Ty::U32, [word, by, 0])?;
        let id = self.g.alu(Op::And, Ty::B32, Ty::B32, [id, mask, 0])?;
        let flipped = self.c32(flipped as u64);
        Ok(self.g.alu(Op::Xor, Ty::B32, Ty::B32, [id, flipped, 0])?)
    }

    /// Writes a half of a VGPR and keeps the other.
    pub(super) fn write_half(
        &mut self,
        o: &Opnd,
        mods: &Modifiers,
        half: u8,
        written: Written,
        out: &mut Changes,
    ) -> Result<(), Refusal> {
        let OperandLocation::Vgpr(n) = o.location else {
            return Ok(());
        };
        if written.when.is_some() || self.g.mode & gcn_emu::wave::mode::GPR_IDX_EN != 0 {
            return Err(Refusal::Interpreter);
        }
        if self.is_indexed(o) {
            return Err(Refusal::Interpreter);
        }
        if n >= self.s.vgprs {
            return Ok(());
        }
        let mut value = written.value;
        if written.ty.is_float() && mods.clamp {
            value = self.clamped(value, written.ty)?;
        }
        let have = out.vgprs.iter().rev().find(|w| w.0 == n).map(|w| w.1);
        let old = have.unwrap_or_else(|| self.vgpr(n));
        let shift = 16 * (half as u64 & 1);
        let (by, rest, low) = (
            self.c32(shift),
            self.c32((!(0xffffu32 << shift)) as u64),
            self.c32(0xffff),
        );
        let value = self.g.alu(Op::And, Ty::B32, Ty::B32, [value, low, 0])?;
        let value = self.g.alu(Op::Shl, Ty::B32, Ty::B32, [value, by, 0])?;
        let old = self.g.alu(Op::And, Ty::B32, Ty::B32, [old, rest, 0])?;
        let whole = self.g.alu(Op::Or, Ty::B32, Ty::B32, [value, old, 0])?;
        out.vgprs.push((n, whole));
        Ok(())
    }

    /// Returns a float clamped to the range from 0 to 1. A NaN becomes 0.
    fn clamped(&mut self, v: Id, ty: Ty) -> Result<Id, Refusal> {
        let (bits, infinity, one) = match ty {
            Ty::F16 => (Ty::U16, 0x7c00, 0x3c00),
            Ty::F32 => (Ty::U32, 0x7f80_0000, 0x3f80_0000),
            _ => (Ty::U64, 0x7ff0 << 48, 0x3ff0 << 48),
        };
        if !Mode(self.g.mode).env32().dx10_clamp {
            return Err(Refusal::Interpreter);
        }
        let zero = self.g.constant(bits, 0);
        let (infinity, one) = (self.g.constant(bits, infinity), self.g.constant(bits, one));
        // Compared as integers, negative numbers and NaNs are above infinity.
        let positive = self.g.alu(Op::Le, bits, Ty::Bool, [v, infinity, 0])?;
        let below = self.g.alu(Op::Lt, bits, Ty::Bool, [v, one, 0])?;
        let v = self.g.alu(Op::Select, bits, bits, [below, v, one])?;
        Ok(self.g.alu(Op::Select, bits, bits, [positive, v, zero])?)
    }

    /// Writes an operand, or one of its dwords. `vector` is true for instructions that run in each lane.
    pub(super) fn write(
        &mut self,
        o: &Opnd,
        mods: &Modifiers,
        dword: Option<u8>,
        written: Written,
        vector: bool,
        out: &mut Changes,
    ) -> Result<(), Refusal> {
        let d = dword.unwrap_or(0) as u16;
        let ty = if dword.is_some() { Ty::B32 } else { o.ty };
        match o.location {
            OperandLocation::Scalar(code) => self.write_scalar(code, d, ty, written, vector, out),
            OperandLocation::Vgpr(n) => self.write_vgpr(n + d, ty, o, mods, written, out),
            OperandLocation::Const(_) | OperandLocation::Source(_) | OperandLocation::Nothing => {
                Ok(())
            }
        }
    }

    /// Writes scalar registers, from a dword of an operand on.
    fn write_scalar(
        &mut self,
        code: u16,
        dword: u16,
        ty: Ty,
        written: Written,
        vector: bool,
        out: &mut Changes,
    ) -> Result<(), Refusal> {
        let Written {
            value: mut v,
            ty: value_ty,
            mut when,
        } = written;
        if vector && ty == Ty::Mask && value_ty == Ty::Bool {
            if when.is_some() {
                v = self.kept_mask(v, when.take(), code)?;
            }
            v = self.ballot(v)?;
        } else if self.g.get(v).vec {
            return Err(Refusal::Interpreter);
        }
        let code = code + dword;
        for half in 0..ty.dwords().min(2) as u16 {
            if code + half >= 128 {
                continue;
            }
            let mut part = if half == 0 {
                self.g.lo(v)
            } else {
                self.g.hi(v)
            };
            if let Some(when) = when {
                if vector || self.g.get(when).vec {
                    return Err(Refusal::Interpreter);
                }
                let old = self.sgpr(code + half);
                part = self
                    .g
                    .alu(Op::Select, Ty::B32, Ty::B32, [when, part, old])?;
            }
            out.sgprs.push(((code + half) as u8, part));
        }
        Ok(())
    }

    /// Writes VGPRs.
    fn write_vgpr(
        &mut self,
        n: u16,
        ty: Ty,
        o: &Opnd,
        mods: &Modifiers,
        written: Written,
        out: &mut Changes,
    ) -> Result<(), Refusal> {
        let mode = Mode(self.g.mode);
        let Written {
            value: mut v, when, ..
        } = written;
        if ty.is_float() && (mods.clamp || mods.omod != 0) {
            let env = match ty {
                Ty::F32 => mode.env32(),
                Ty::F64 => mode.env64(),
                _ => mode.env16(),
            };
            if mods.omod != 0 && !env.ieee && env.flush_out {
                return Err(Refusal::Interpreter);
            }
            if mods.clamp {
                v = self.clamped(v, ty)?;
            }
        }
        let put = |b: &mut Self, n: u16, mut part: Id, out: &mut Changes| -> Result<(), Refusal> {
            if n >= b.s.vgprs {
                return Ok(());
            }
            if let Some(when) = when {
                let old = b.vgpr_of(o, n)?;
                part = b.g.alu(Op::Select, Ty::B32, Ty::B32, [when, part, old])?;
            }
            b.put_vgpr(o, n, part, out)
        };
        if self.g.get(v).out == Ty::Bool && self.g.get(v).vec {
            v = self.g.alu(Op::Zext, Ty::Bool, Ty::B32, [v, 0, 0])?;
        }
        if ty.bits() > 64 {
            return Err(Refusal::Interpreter);
        }
        if ty.bits() > 32 {
            let (lo, hi) = (self.g.lo(v), self.g.hi(v));
            put(self, n + 1, hi, out)?;
            put(self, n, lo, out)?;
        } else if o.sel != 6 {
            let placed = self.selected(o, mods.unused, v, n)?;
            put(self, n, placed, out)?;
        } else if ty.bits() == 16 && (o.high || mods.keeps_upper) {
            let shift = if o.high { 16 } else { 0 };
            let old = self.vgpr_of(o, n)?;
            let rest = self.c32((!(0xffffu32 << shift)) as u64);
            let old = self.g.alu(Op::And, Ty::B32, Ty::B32, [old, rest, 0])?;
            let (by, m) = (self.c32(shift), self.c32(0xffff));
            let low = self.g.alu(Op::And, Ty::B32, Ty::B32, [v, m, 0])?;
            let placed = self.g.alu(Op::Shl, Ty::B32, Ty::B32, [low, by, 0])?;
            let whole = self.g.alu(Op::Or, Ty::B32, Ty::B32, [placed, old, 0])?;
            put(self, n, whole, out)?;
        } else {
            let low = self.g.lo(v);
            put(self, n, low, out)?;
        }
        Ok(())
    }

    /// Returns a VGPR's value with `v` in the selected bits. `unused` says what the other bits become (1 the sign, 2 unchanged, else 0).
    fn selected(&mut self, o: &Opnd, unused: u8, v: Id, n: u16) -> Result<Id, Refusal> {
        let (shift, bits) = selection(o.sel);
        let mask = (u32::MAX >> (32 - bits)) << shift;
        let by = self.c32(shift as u64);
        let m = self.c32(mask as u64);
        let mut placed = self.g.alu(Op::Shl, Ty::B32, Ty::B32, [v, by, 0])?;
        placed = self.g.alu(Op::And, Ty::B32, Ty::B32, [placed, m, 0])?;
        match unused {
            1 => {
                let up = self.c32((32 - bits - shift) as u64);
                placed = self.g.alu(Op::Shl, Ty::I32, Ty::I32, [placed, up, 0])?;
                placed = self.g.alu(Op::Shr, Ty::I32, Ty::I32, [placed, up, 0])?;
            }
            2 => {
                let (old, rest) = (self.vgpr_of(o, n)?, self.c32(!mask as u64));
                let old = self.g.alu(Op::And, Ty::B32, Ty::B32, [old, rest, 0])?;
                placed = self.g.alu(Op::Or, Ty::B32, Ty::B32, [placed, old, 0])?;
            }
            _ => {}
        }
        Ok(placed)
    }
}
