//! Numbers of 64 bits, which the IR has as halves: addresses above all. Here they are put together again.

use super::inst::{L, What, vgpr_image};
use super::select::LaneSelect;
use super::*;
use crate::lir::Role;

/// A number of 64 bits, by what its halves are.
pub(super) enum Joined {
    Halves,
    Value(Id),
    Vgprs(u16),
    Sgprs(u8),
    Zext(Id),
    Sext(Id),
    Add([(Id, Id); 2]),
    Shl(Id, Id, u8),
}

impl<V: Vectors> LaneSelect<'_, '_, V> {
    /// Returns what two halves are together.
    pub(super) fn halves(&self, lo: Id, hi: Id) -> Joined {
        /// How many sums of sums are looked into.
        const DEPTH: u32 = 3;
        self.halves_to(lo, hi, DEPTH)
    }

    pub(super) fn halves_to(&self, lo: Id, hi: Id, depth: u32) -> Joined {
        let (l, h) = (self.node(lo), self.node(hi));
        match (l.op, h.op) {
            (Inst::Lo, Inst::Hi) if l.args[0] == h.args[0] => return Joined::Value(l.args[0]),
            (Inst::VIn(v), Inst::VIn(w)) if w == v + 1 => return Joined::Vgprs(v),
            (Inst::SIn(c), Inst::SIn(d))
                if d == c + 1 && l.out.bits() == 32 && h.out.bits() == 32 =>
            {
                return Joined::Sgprs(c);
            }
            (_, Inst::Const(v)) if v as u32 == 0 => return Joined::Zext(lo),
            (_, Inst::Alu(Op::Shr))
                if h.args[0] == lo
                    && h.ty.is_signed()
                    && h.ty.bits() == 32
                    && self.e.konst(h.args[1]) == Some(31) =>
            {
                return Joined::Sext(lo);
            }
            (Inst::Alu(Op::Shl), Inst::Shld(by))
                if h.args[1] == l.args[0] && self.e.konst(l.args[1]) == Some(by as u64) =>
            {
                return Joined::Shl(l.args[0], h.args[0], by);
            }
            (Inst::Alu(Op::Add), _) if l.ty.bits() == 32 && !l.ty.is_float() => {
                if let Some(sum) = self.sum(lo, hi, depth) {
                    return sum;
                }
            }
            _ => {}
        }
        Joined::Halves
    }

    /// Returns the operands of a sum of 64 bits: the upper half adds the carry of the lower one, and at most two other numbers.
    pub(super) fn sum(&self, lo: Id, hi: Id, depth: u32) -> Option<Joined> {
        let depth = depth.checked_sub(1)?;
        let mut terms = Vec::new();
        let mut work = vec![hi];
        while let Some(id) = work.pop() {
            let n = self.node(id);
            match n.op {
                Inst::Alu(Op::Add) if n.out.bits() == 32 && !n.ty.is_float() && terms.len() < 4 => {
                    work.extend([n.args[1], n.args[0]]);
                }
                _ => terms.push(id),
            }
        }
        let at = terms.iter().position(|&t| self.is_carry(t, lo))?;
        terms.remove(at);
        let [a, b, _] = self.node(lo).args;
        let zero = || {
            let is_zero = |n: &Node| n.op == Inst::Const(0);
            Some(self.e.c.graph.iter().position(is_zero)? as Id)
        };
        let known = |lo, hi| !matches!(self.halves_to(lo, hi, depth), Joined::Halves);
        let (h, g) = match terms[..] {
            [] => (zero()?, zero()?),
            [h] => (h, zero()?),
            [h, g] => (h, g),
            _ => return None,
        };
        // The sum is the same whichever upper half belongs to which lower one.
        Some(
            match known(b, h) && !known(a, h) || known(a, g) && !known(b, g) {
                true => Joined::Add([(a, g), (b, h)]),
                false => Joined::Add([(a, h), (b, g)]),
            },
        )
    }

    /// Returns true if a value is 1 if a sum of 32 bits has a carry, else 0.
    pub(super) fn is_carry(&self, id: Id, sum: Id) -> bool {
        let n = self.node(id);
        if n.op != Inst::Alu(Op::Zext) || n.ty != Ty::Bool {
            return false;
        }
        let mut of = self.node(n.args[0]);
        if let Some(inner) = crate::ir::limited_to_active(&self.e.c.graph, &of) {
            of = self.node(inner);
        }
        let terms = &self.node(sum).args[..2];
        let less = of.op == Inst::Alu(Op::Lt) && of.ty.bits() == 32 && !of.ty.is_signed();
        less && !of.ty.is_float() && of.args[0] == sum && terms.contains(&of.args[1])
    }

    /// Returns the number of 64 bits that has these halves.
    pub(super) fn join(&mut self, lo: Id, hi: Id) -> Option<VReg> {
        if let Some(&r) = self.joined.get(&(lo, hi)) {
            return Some(r);
        }
        let r = match self.halves(lo, hi) {
            Joined::Value(id) => self.wide(id)?,
            Joined::Vgprs(v) if self.home(What::VgprPair(v)).is_some() => {
                let home = self.home(What::VgprPair(v))?;
                self.kept_pair(home)
            }
            Joined::Vgprs(v)
                if !self.once
                    && [v, v + 1].iter().all(|&v| {
                        let pair = |v: u16| self.home(What::VgprPair(v)).is_some();
                        self.home(What::Vgpr(v)).is_none() && !pair(v) && !pair(v.wrapping_sub(1))
                    }) =>
            {
                self.out.vgprs.extend([v, v + 1]);
                self.memory(vgpr_image(v), true, 0)
            }
            Joined::Sgprs(code)
                if [What::Sgpr(code), What::Sgpr(code + 1)]
                    .iter()
                    .all(|&w| self.home(w).is_none()) =>
            {
                self.scalars(code)?
            }
            Joined::Zext(lo) => self.general(lo)?,
            Joined::Sext(lo) => {
                let a = self.general(lo)?;
                self.result(L::Unary(&[0x63], true), &[(a, Role::Use)], 0)
            }
            Joined::Shl(lo, hi, by) => {
                let a = self.join(lo, hi)?;
                self.over(L::ShiftImm(4, true, by), a, &[], 0)
            }
            Joined::Add([(a, h), (b, g)]) => {
                // A constant is the second operand.
                let swap = self.constant(a, h).is_some();
                let [(a, h), (b, g)] = if swap {
                    [(b, g), (a, h)]
                } else {
                    [(a, h), (b, g)]
                };
                let x = self.join(a, h)?;
                match self.constant(b, g).map(|v| i32::try_from(v as i64)) {
                    Some(Ok(v)) => self.over(L::BinaryImm(alu::ADD, true, v), x, &[], 0),
                    _ => {
                        let y = self.join(b, g)?;
                        self.commutes(L::Binary(alu::ADD, true), x, y, 0)
                    }
                }
            }
            Joined::Halves | Joined::Vgprs(_) if self.unchanging(hi).is_some() => {
                // The upper half is where it belongs already.
                let v = self.unchanging(hi)?;
                self.out.highs.insert(v);
                let lo = self.general(lo)?;
                let hi = self.memory(inst::high_image(v), true, 0);
                self.over(L::Binary(alu::OR, true), lo, &[(hi, Role::Any)], 0)
            }
            Joined::Halves | Joined::Vgprs(_) | Joined::Sgprs(_) => {
                let (lo, hi) = (self.general(lo)?, self.general(hi)?);
                self.two_halves(lo, hi)
            }
        };
        self.joined.insert((lo, hi), r);
        Some(r)
    }

    /// Returns the VGPR that a value is, if the loop does not change it.
    fn unchanging(&self, id: Id) -> Option<u16> {
        let Inst::VIn(v) = self.node(id).op else {
            return None;
        };
        let pair = |v: u16| self.home(What::VgprPair(v)).is_some();
        let changes = self.home(What::Vgpr(v)).is_some() || pair(v) || pair(v.wrapping_sub(1));
        (!self.once && !changes).then_some(v)
    }

    pub(super) fn constant(&self, lo: Id, hi: Id) -> Option<u64> {
        let (lo, hi) = (self.e.konst(lo)?, self.e.konst(hi)?);
        Some(lo & 0xffff_ffff | hi << 32)
    }
}
