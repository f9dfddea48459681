//! Selects operations on floats.

use super::halves::Joined;
use super::inst::{Home, L, What};
use super::select::LaneSelect;
use super::*;
use crate::lir::{Remat, Role};
use crate::passes::VectorOp;
use crate::target::x64::select::{predicate_of, rounding_of};

impl<V: Vectors> LaneSelect<'_, '_, V> {
    pub(super) fn compare_floats(&mut self, o: Op, n: Node) -> Option<VReg> {
        let [x, y, _] = n.args;
        if n.ty.bits() < 32 {
            return None;
        }
        let wide = n.ty == Ty::F64;
        let (a, b) = (self.float(x)?, self.float(y)?);
        // These hold for no NaN.
        let (cc, a, b) = match o {
            Op::Gt => (Cc::A, a, b),
            Op::Ge => (Cc::Ae, a, b),
            Op::Lt => (Cc::A, b, a),
            Op::Le => (Cc::Ae, b, a),
            _ => {
                let predicate = predicate_of(o)?;
                let operands = [(a, Role::Use), (b, Role::Any)];
                return Some(self.result(L::FloatCompare(predicate, wide), &operands, 0));
            }
        };
        let operands = [(a, Role::Use), (b, Role::Any)];
        Some(self.result(L::FloatAbove(cc, wide), &operands, 0))
    }

    /// Returns a value in a vector register.
    pub(super) fn float(&mut self, id: Id) -> Option<VReg> {
        if let Some(&r) = self.values[1].get(&id) {
            return Some(r);
        }
        let n = self.node(id);
        let wide = n.out.bits() == 64;
        let r = match n.op {
            Inst::Const(v) => self.again_anywhere(L::Line(v, wide), Remat::Memory, 1),
            Inst::VIn(v) => self.vgpr(v, 1)?,
            Inst::Pair => {
                let [lo, hi, _] = n.args;
                match (self.two_elements(lo, hi), self.kept_float(lo, hi)) {
                    (Some((load, k)), _) => self.elements(load, k, 2, 1)?,
                    (_, Some(home)) => self.kept_value(home),
                    _ => {
                        let a = self.wide(id)?;
                        self.result(L::ToFloat(true), &[(a, Role::Use)], 1)
                    }
                }
            }
            Inst::Part(_) if n.out.bits() > 32 => return None,
            Inst::Part(k) if self.class_of(id, 4) == 1 => self.element(n.args[0], k, 1)?,
            Inst::SIn(code) if n.out.bits() == 32 && self.home(What::Sgpr(code)).is_none() => {
                let a = self.scalar(code)?;
                match self.out.code.remat(a) {
                    Remat::Memory => self.memory(sgpr_home(code), false, 1),
                    _ => self.result(L::ToFloat(false), &[(a, Role::Use)], 1),
                }
            }
            _ if wide && !n.out.is_float() => {
                let a = self.wide(id)?;
                self.result(L::ToFloat(true), &[(a, Role::Use)], 1)
            }
            _ if !wide && self.class_of(id, 4) == 0 => {
                let a = self.general(id)?;
                self.result(L::ToFloat(false), &[(a, Role::Use)], 1)
            }
            Inst::FastPath(_) => {
                self.fast_path(n)?;
                self.float(n.args[1])?
            }
            Inst::Alu(o) => self.float_operation(id, o, n)?,
            _ => return None,
        };
        self.values[1].insert(id, r);
        Some(r)
    }

    /// Returns where a number of 64 bits is kept as a float.
    pub(super) fn kept_float(&self, lo: Id, hi: Id) -> Option<Home> {
        let Joined::Vgprs(v) = self.halves(lo, hi) else {
            return None;
        };
        self.home(What::VgprPair(v)).filter(|home| home.class == 1)
    }

    pub(super) fn float_operation(&mut self, id: Id, o: Op, n: Node) -> Option<VReg> {
        let op = *self.ops.get(&id)?;
        if op.flush || op.fix || n.out.bits() < 32 || n.ty.bits() < 32 && n.ty != Ty::Bool {
            return None;
        }
        let [x, y, w] = op.args;
        let wide = n.out.bits() == 64;
        let negated = |s: &mut Self, r: VReg, negate: bool| match negate {
            true => s.result(L::Sign(sign(wide), wide, false), &[(r, Role::Use)], 1),
            false => r,
        };
        let r = match o {
            Op::Add | Op::Sub | Op::Mul | Op::Div if n.ty.is_float() => {
                let code = match o {
                    Op::Add => 0x58,
                    Op::Sub => 0x5c,
                    Op::Mul => 0x59,
                    _ => 0x5e,
                };
                let (a, b) = (self.float(x)?, self.float(y)?);
                let (a, b) = (negated(self, a, op.neg[0]), negated(self, b, op.neg[1]));
                self.result(L::Float2(code, wide), &[(a, Role::Any), (b, Role::Any)], 1)
            }
            Op::Fma => {
                let (a, b, c) = (self.float(x)?, self.float(y)?, self.float(w)?);
                let signs = [op.neg[0] != op.neg[1], op.neg[2]];
                match self.out.code.remat(c) {
                    Remat::Register => {
                        let operands = [(a, Role::Use), (b, Role::Any)];
                        self.over(L::FmaTo(wide, signs), c, &operands, 1)
                    }
                    _ => {
                        let operands = [(b, Role::Use), (c, Role::Any)];
                        self.over(L::Fma(wide, signs), a, &operands, 1)
                    }
                }
            }
            Op::Mad => {
                let (a, b, c) = (self.float(x)?, self.float(y)?, self.float(w)?);
                let t = self.result(L::Float2(0x59, wide), &[(a, Role::Any), (b, Role::Any)], 1);
                if op.check {
                    self.checked.insert(t);
                }
                let t = negated(self, t, op.neg[0] != op.neg[1]);
                let c = negated(self, c, op.neg[2]);
                self.result(L::Float2(0x58, wide), &[(t, Role::Use), (c, Role::Any)], 1)
            }
            Op::Sqrt => {
                let a = self.float(x)?;
                self.result(L::Root(wide), &[(a, Role::Use)], 1)
            }
            Op::Floor | Op::Ceil | Op::RoundZero | Op::RoundEven => {
                let a = self.float(x)?;
                let mode = rounding_of(o);
                self.result(L::Round(wide, mode), &[(a, Role::Use)], 1)
            }
            Op::Neg | Op::Abs if n.ty.is_float() => {
                let a = self.float(x)?;
                let value = if o == Op::Neg {
                    sign(wide)
                } else {
                    !sign(wide)
                };
                self.result(L::Sign(value, wide, o == Op::Abs), &[(a, Role::Use)], 1)
            }
            Op::Min | Op::Max if n.ty.is_float() => {
                let (a, b) = (self.float(x)?, self.float(y)?);
                let operands = [(a, Role::Use), (b, Role::Use)];
                self.result(L::Extreme(o == Op::Max, wide), &operands, 1)
            }
            Op::Select => self.float_select(x, y, w, wide)?,
            Op::IntToFloat if n.ty.bits() == 32 => {
                let a = self.general(x)?;
                let signed = n.ty.is_signed();
                self.result(L::FromInteger { signed, wide }, &[(a, Role::Use)], 1)
            }
            Op::FloatToFloat if n.ty.bits() + n.out.bits() == 96 => {
                let a = self.float(x)?;
                self.result(L::Resize(n.ty == Ty::F64), &[(a, Role::Use)], 1)
            }
            _ => return None,
        };
        if op.check {
            self.checked.insert(r);
            if !self.lasts(id, o, &op) {
                self.push(L::Check(wide), &[(r, Role::Use)]);
            }
        }
        Some(r)
    }

    /// Returns true if a NaN that this operation gives stays until the lane leaves the loop, because the result is its operand in the next
    /// iteration. Then the result is checked at the end, and what was computed from it is dropped if it is one.
    pub(super) fn lasts(&mut self, id: Id, o: Op, op: &VectorOp) -> bool {
        if !matches!(o, Op::Add | Op::Sub | Op::Mul | Op::Fma | Op::Mad) {
            return false;
        }
        let reads = |v: u16| {
            op.args[..o.arity()]
                .iter()
                .any(|&a| self.node(a).op == Inst::VIn(v))
        };
        let mut written = self.e.c.effects.vgprs.iter().filter(|w| w.1 == id);
        let Some(w) = written.find(|w| reads(w.0)) else {
            return false;
        };
        let what = What::Vgpr(w.0);
        if self.shared.contains(&w.0) || self.home(what).is_none_or(|home| home.class == 0) {
            return false;
        }
        self.out.checks.push(what);
        true
    }

    pub(super) fn float_select(&mut self, x: Id, y: Id, w: Id, wide: bool) -> Option<VReg> {
        let (a, b) = (self.float(y)?, self.float(w)?);
        let n = self.node(x);
        if let Inst::Alu(o) = n.op
            && n.out == Ty::Bool
            && (n.ty == Ty::F64 || n.ty == Ty::F32 && !wide)
            && let Some(predicate) = predicate_of(o)
        {
            let (x, y) = (self.float(n.args[0])?, self.float(n.args[1])?);
            let operands = [
                (x, Role::Use),
                (y, Role::Use),
                (a, Role::Use),
                (b, Role::Use),
            ];
            let of = [n.ty == Ty::F64, wide];
            return Some(self.result(L::FloatCompareSelect(predicate, of), &operands, 1));
        }
        let m = self.general(x)?;
        let operands = [(m, Role::Use), (a, Role::Use), (b, Role::Use)];
        Some(self.result(L::FloatSelect(wide), &operands, 1))
    }
}

fn sign(wide: bool) -> u64 {
    if wide { 1 << 63 } else { 1 << 31 }
}
