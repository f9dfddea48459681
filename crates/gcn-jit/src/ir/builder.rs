//! Graphs under construction. Equal values share one node.

use super::fast_path::FastPath;
use super::{Got, Id, Inst, Node, Unsupported};
use crate::hash::Fast;
use gcn_isa::meaning::{Op, width_mask};
use gcn_isa::shape::Ty;
use gcn_isa::target::Gen;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;

/// A hash table of a graph's values, open addressing. Some entries may belong to dropped values.
#[derive(Default)]
pub struct Found {
    at: Vec<Id>,
    used: usize,
}

const NOWHERE: Id = Id::MAX;

impl Found {
    fn hash(n: &Node) -> u64 {
        let mut h = Fast::default();
        discriminant(&n.op).hash(&mut h);
        h.write_u64(n.args[0] as u64 | (n.args[1] as u64) << 32);
        h.write_u64(n.args[2] as u64 | (n.ty as u64) << 32 | (n.out as u64) << 40);
        match n.op {
            Inst::Const(v) => h.write_u64(v),
            Inst::VIn(v) | Inst::LaneIn(v) | Inst::LanesIn(v) => h.write_u16(v),
            Inst::Shuffle(digits) => h.write_u64(digits),
            Inst::SIn(k) | Inst::Shld(k) | Inst::Shrd(k) | Inst::Part(k) => h.write_u64(k as u64),
            Inst::Alu(op) => discriminant(&op).hash(&mut h),
            _ => {}
        }
        h.finish()
    }

    /// Returns the number of an equal value among `nodes` that suits. If there is none, inserts the next number.
    pub(crate) fn find_or_put(
        &mut self,
        node: &Node,
        nodes: &[Node],
        suits: impl Fn(Id) -> bool,
    ) -> Option<Id> {
        if nodes.is_empty() || self.at.is_empty() {
            self.at.clear();
            self.at.resize(512, NOWHERE);
            self.used = 0;
        }
        if 2 * self.used >= self.at.len() {
            let double = 2 * self.at.len();
            self.at.clear();
            self.at.resize(double, NOWHERE);
            self.used = 0;
            for (id, n) in nodes.iter().enumerate() {
                self.put(n, id as Id);
            }
        }
        let mask = self.at.len() - 1;
        let mut slot = Found::hash(node) as usize & mask;
        loop {
            let id = self.at[slot];
            if id == NOWHERE {
                break;
            }
            if let Some(have) = nodes.get(id as usize)
                && have.args == node.args
                && have.ty == node.ty
                && have.out == node.out
                && have.vec == node.vec
                && have.op == node.op
                && suits(id)
            {
                return Some(id);
            }
            slot = (slot + 1) & mask;
        }
        self.at[slot] = nodes.len() as Id;
        self.used += 1;
        None
    }

    pub(crate) fn put(&mut self, node: &Node, id: Id) {
        let mask = self.at.len() - 1;
        let mut slot = Found::hash(node) as usize & mask;
        while self.at[slot] != NOWHERE {
            slot = (slot + 1) & mask;
        }
        self.at[slot] = id;
        self.used += 1;
    }
}

/// Returns MODE of a value from [`Graph::modes`].
fn known_mode(modes: &[(Id, u32)], id: Id) -> Option<u32> {
    let known = modes.iter().rfind(|known| known.0 <= id);
    known.map(|known| known.1)
}

/// A graph under construction.
pub struct Graph {
    pub nodes: Vec<Node>,
    /// The slow paths, which [`Inst::FastPath`] refers to by index.
    pub fast_paths: Vec<FastPath>,
    pub found: Found,
    pub generation: Gen,
    /// MODE of the values to come.
    pub mode: u32,
    /// MODE of earlier values, if it changes: the first value with each.
    pub modes: Vec<(Id, u32)>,
    /// Masks that clear no bit are removed.
    pub known_bits: bool,
}

impl Graph {
    pub fn node(&mut self, op: Inst, ty: Ty, out: Ty, vec: bool, args: [Id; 3]) -> Id {
        let n = self.nodes.len();
        let shared = !matches!(op, Inst::Group { .. } | Inst::SLoad { .. } | Inst::Row(_));
        let node = Node {
            op,
            ty,
            out,
            vec,
            args,
        };
        let float = ty.is_float() || out.is_float();
        let (modes, mode) = (&self.modes, self.mode);
        let same = |id| !float || known_mode(modes, id).is_none_or(|known| known == mode);
        if shared && let Some(id) = self.found.find_or_put(&node, &self.nodes, same) {
            return id;
        }
        self.nodes.push(node);
        n as Id
    }

    /// Sets MODE of the values to come.
    pub fn change_mode(&mut self, mode: u32) {
        let now = self.nodes.len() as Id;
        self.modes.retain(|known| known.0 < now);
        if self.modes.is_empty() {
            self.modes.push((0, self.mode));
        }
        self.modes.push((now, mode));
        self.mode = mode;
    }

    /// Returns MODE of a value.
    pub fn mode_of(&self, id: Id) -> u32 {
        known_mode(&self.modes, id).unwrap_or(self.mode)
    }

    pub fn get(&self, id: Id) -> &Node {
        &self.nodes[id as usize]
    }

    pub fn constant(&mut self, ty: Ty, value: u64) -> Id {
        self.node(
            Inst::Const(value & width_mask(ty)),
            Ty::B64,
            Ty::B64,
            false,
            [0; 3],
        )
    }

    pub(crate) fn value_of(&self, id: Id) -> Option<u64> {
        match self.get(id).op {
            Inst::Const(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn is(&self, id: Id, value: u64) -> bool {
        self.value_of(id) == Some(value)
    }

    pub(crate) fn vec(&self, id: Id) -> bool {
        self.get(id).vec
    }

    /// Returns true if a vector value is a whole 64-bit value, not two halves.
    pub fn wide(&self, id: Id) -> bool {
        let n = self.get(id);
        n.vec && n.out.bits() > 32
    }

    pub fn lo(&mut self, id: Id) -> Id {
        let n = *self.get(id);
        match n.op {
            Inst::Const(v) => self.constant(Ty::B32, v & 0xffff_ffff),
            Inst::Pair => n.args[0],
            _ if n.out.bits() <= 32 => id,
            Inst::Alu(Op::Mul) if n.vec && !n.ty.is_float() => self.low_product(id),
            _ => self.node(Inst::Lo, Ty::B64, Ty::B32, n.vec, [id, 0, 0]),
        }
    }

    /// Returns the lower half of a 64-bit product, computed from the lower halves of its factors.
    fn low_product(&mut self, id: Id) -> Id {
        let [a, b, _] = self.get(id).args;
        let args = [self.lo(a), self.lo(b), 0];
        match self.alu(Op::Mul, Ty::B32, Ty::B32, args) {
            Ok(low) => low,
            Err(Unsupported) => self.node(Inst::Lo, Ty::B64, Ty::B32, true, [id, 0, 0]),
        }
    }

    pub fn hi(&mut self, id: Id) -> Id {
        let n = *self.get(id);
        match n.op {
            Inst::Const(v) => self.constant(Ty::B32, v >> 32),
            Inst::Pair => n.args[1],
            _ if n.out.bits() <= 32 => self.constant(Ty::B32, 0),
            _ => self.node(Inst::Hi, Ty::B64, Ty::B32, n.vec, [id, 0, 0]),
        }
    }

    pub fn pair(&mut self, lo: Id, hi: Id) -> Id {
        let (a, b) = (*self.get(lo), *self.get(hi));
        match (a.op, b.op) {
            (Inst::Const(l), Inst::Const(h)) => {
                return self.constant(Ty::B64, l & 0xffff_ffff | h << 32);
            }
            (Inst::Lo, Inst::Hi) if a.args[0] == b.args[0] => return a.args[0],
            (_, Inst::Hi)
                if self.get(b.args[0]).op == Inst::Alu(Op::Mul)
                    && self.get(b.args[0]).vec
                    && !self.get(b.args[0]).ty.is_float()
                    && self.low_product(b.args[0]) == lo =>
            {
                return b.args[0];
            }
            (Inst::SIn(l), Inst::SIn(h)) if h == l + 1 && a.out == Ty::B32 => {
                return self.node(Inst::SIn(l), Ty::B64, Ty::B64, false, [0; 3]);
            }
            // Two halves that are selected by the same condition become one selected 64-bit value.
            (Inst::Alu(Op::Select), Inst::Alu(Op::Select))
                if a.vec && b.vec && a.args[0] == b.args[0] =>
            {
                let whole = |g: &Self, k: usize| {
                    let (lo, hi) = (g.get(a.args[k]), g.get(b.args[k]));
                    match (lo.op, hi.op) {
                        (Inst::Lo, Inst::Hi) if lo.args[0] == hi.args[0] => true,
                        (Inst::Const(_), Inst::Const(_)) => true,
                        _ => false,
                    }
                };
                if whole(self, 1) && whole(self, 2) {
                    let yes = self.pair(a.args[1], b.args[1]);
                    let no = self.pair(a.args[2], b.args[2]);
                    return self.node(
                        Inst::Alu(Op::Select),
                        Ty::B64,
                        Ty::B64,
                        true,
                        [a.args[0], yes, no],
                    );
                }
            }
            _ => {}
        }
        self.node(Inst::Pair, Ty::B32, Ty::B64, a.vec || b.vec, [lo, hi, 0])
    }

    /// Returns the sum of 64 bits of which two scalars are the halves, as addition with carry computes them: `s_add_u32` and `s_addc_u32`.
    pub fn scalar_sum(&mut self, lo: Id, hi: Id) -> Option<Id> {
        let narrow = |g: &Self, id: Id| match g.value_of(id) {
            Some(v) => v <= u32::MAX as u64,
            None => !g.vec(id) && g.get(id).out.bits() <= 32,
        };
        let half = |g: &Self, id: Id| {
            let n = g.get(id);
            (n.op == Inst::Lo && !n.vec).then_some(n.args[0])
        };
        let terms = |g: &Self, id: Id| {
            let n = g.get(id);
            (n.op == Inst::Alu(Op::Add) && n.ty.bits() == 64 && !n.vec)
                .then_some([n.args[0], n.args[1]])
        };
        let sum = half(self, lo)?;
        let [x, y] = terms(self, sum).filter(|t| t.iter().all(|&id| narrow(self, id)))?;
        let mut above = vec![half(self, hi)?];
        while let Some(at) = above.iter().position(|&id| terms(self, id).is_some()) {
            let id = above.swap_remove(at);
            above.extend(terms(self, id)?);
            if above.len() > 3 {
                return None;
            }
        }
        let carry = above.iter().position(|&id| self.is_carry(id, sum))?;
        above.remove(carry);
        if !above.iter().all(|&id| narrow(self, id)) {
            return None;
        }
        let zero = self.constant(Ty::B32, 0);
        above.resize(2, zero);
        // Any upper half may belong to any lower one. Those that are known together, and constants, belong together.
        let known = |g: &mut Self, lo: Id, hi: Id| {
            let (l, h) = (*g.get(lo), *g.get(hi));
            match (l.op, h.op) {
                (Inst::Const(_), Inst::Const(_)) => true,
                (Inst::SIn(a), Inst::SIn(b)) => b == a + 1,
                (Inst::Lo, Inst::Hi) => l.args[0] == h.args[0],
                (Inst::Part(a), Inst::Part(b)) => b == a + 1 && l.args[0] == h.args[0],
                _ => false,
            }
        };
        let [u, v] = [above[0], above[1]];
        let crossed = known(self, x, v) as u8 + known(self, y, u) as u8;
        let straight = known(self, x, u) as u8 + known(self, y, v) as u8;
        let [u, v] = if crossed > straight { [v, u] } else { [u, v] };
        let (a, b) = (self.pair(x, u), self.pair(y, v));
        let (a, b) = if self.value_of(a).is_some() {
            (b, a)
        } else {
            (a, b)
        };
        self.sum_with_constant(a, b)
    }

    /// Returns a sum of 64 bits. A constant is added to the constant of the other operand.
    fn sum_with_constant(&mut self, a: Id, b: Id) -> Option<Id> {
        let mut args = [a, b, 0];
        let n = *self.get(a);
        if let Some(by) = self.value_of(b)
            && n.op == Inst::Alu(Op::Add)
            && n.ty.bits() == 64
            && let Some(had) = self.value_of(n.args[1])
        {
            args = [n.args[0], self.constant(Ty::B64, had.wrapping_add(by)), 0];
        }
        self.alu(Op::Add, Ty::B64, Ty::B64, args).ok()
    }

    /// Returns true if a scalar is the carry of a sum of two numbers of 32 bits.
    fn is_carry(&self, id: Id, sum: Id) -> bool {
        let (n, zero) = (self.get(id), |id: Id| self.is(id, 0));
        let shifted = self.get(n.args[0]);
        n.op == Inst::Alu(Op::Ne)
            && zero(n.args[1])
            && shifted.op == Inst::Alu(Op::Shr)
            && !shifted.ty.is_signed()
            && shifted.args[0] == sum
            && self.is(shifted.args[1], 32)
    }

    /// Returns the lane's bit of a scalar mask.
    pub fn mask_of(&mut self, id: Id) -> Id {
        match self.get(id).op {
            Inst::Const(0) => return self.node(Inst::Const(0), Ty::B64, Ty::B64, false, [0; 3]),
            Inst::Const(u64::MAX) => return self.constant(Ty::Bool, 1),
            // A ballot has the bits of all active lanes.
            Inst::Ballot => return self.get(id).args[0],
            // A bitwise operation on masks is the same operation on each lane's bits.
            Inst::Alu(op) if self.of_ballots(id, 6) => {
                let [a, b, _] = self.get(id).args;
                let a = self.mask_of(a);
                let b = if op.arity() == 2 { self.mask_of(b) } else { 0 };
                if let Ok(k) = self.alu(op, Ty::Bool, Ty::Bool, [a, b, 0]) {
                    return k;
                }
            }
            _ => {}
        }
        self.node(Inst::MaskOf, Ty::B64, Ty::Bool, true, [id, 0, 0])
    }

    /// Returns true if a mask is the result of bitwise operations on ballots and other masks.
    pub(crate) fn of_ballots(&self, id: Id, depth: u32) -> bool {
        let n = self.get(id);
        match n.op {
            Inst::Ballot => true,
            Inst::Alu(Op::And | Op::Or | Op::Xor | Op::Not) if !n.vec && n.ty.bits() == 64 => {
                depth > 0 && n.inputs().iter().any(|&a| self.of_ballots(a, depth - 1))
            }
            _ => false,
        }
    }

    pub(crate) fn and1(&mut self, op: Op, ty: Ty, a: Id, b: u64) -> Got {
        let b = self.constant(ty, b);
        self.alu(op, ty, ty, [a, b, 0])
    }

    pub(crate) fn zext_bool(&mut self, k: Id) -> Id {
        if !self.vec(k) {
            return k;
        }
        self.node(Inst::Alu(Op::Zext), Ty::Bool, Ty::B32, true, [k, 0, 0])
    }

    /// Returns the truth value per lane if `id` is its zero-extension.
    pub(crate) fn as_bool(&self, id: Id) -> Option<Id> {
        let n = self.get(id);
        match n.op {
            Inst::Alu(Op::Zext) if n.ty == Ty::Bool => Some(n.args[0]),
            _ => None,
        }
    }
}
