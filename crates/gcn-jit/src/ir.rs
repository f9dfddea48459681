//! What a block of code computes: a graph of values, made by the lowering and read by the emitter.
//!
//! A value is *scalar* (one for the wave, zero-extended in 64 bits) or *vector* (one a lane). Integers of 64 bits a lane
//! are taken apart into halves as they are made, so that only floats and products live as whole 64-bit values.

pub mod affine;
pub mod fast_path;
mod half;
#[cfg(test)]
pub mod parse;
pub mod print;
pub mod region;
#[cfg(test)]
mod tests;
pub mod verify;

use crate::hash::Fast;
use crate::ir::fast_path::FastPath;
use gcn_emu::eval::{Operation, eval};
use gcn_isa::meaning::{Op, Space, width_mask};
use gcn_isa::shape::Ty;
use gcn_isa::target::Gen;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;

/// The number of a value.
pub type Id = u32;

/// What computes a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inst {
    /// The same in every lane.
    Const(u64),
    /// A VGPR as it was at the block's start.
    VIn(u16),
    /// A scalar register as it was at the block's start, by code; 32 bits, or two registers.
    SIn(u8),
    SccIn,
    /// The lane's number.
    Lane,
    /// Whether the lane is on.
    Exec,
    /// 64 bits of two halves.
    Pair,
    Lo,
    Hi,
    /// A scalar: what the lane that a scalar numbers (below 64) had of a VGPR at the block's start.
    LaneIn(u16),
    /// The same of the lane that each lane's value numbers.
    LanesIn(u16),
    /// The VGPR, as it was at the block's start, that a scalar numbers.
    VgprAt,
    /// The value of another lane of the same 16: a hexadecimal digit for each.
    Shuffle(u64),
    /// The lane's bit of a scalar.
    MaskOf,
    /// A scalar of the lanes' truth values.
    Ballot,
    /// The bits of the first value, moved left by a constant, with the upper bits of the second below.
    Shld(u8),
    /// The bits of the first value, moved right by a constant, with the lower bits of the second above.
    Shrd(u8),
    /// A scalar moved right by the lane's number: only its lowest bit is ever looked at.
    ShrLane,
    /// An operation of the meanings' language.
    Alu(Op),
    /// Memory that a load reads: so many elements of so many bytes, one behind another, at the address of the low and high
    /// half plus a constant. Its values are its [`Inst::Part`]s.
    Group {
        space: Space,
        bytes: u8,
        count: u8,
        offset: i32,
    },
    /// An element of a group.
    Part(u8),
    /// A value that is affine in the lane: of each 16 lanes the base that a base of the block has, and a step.
    Affine {
        base: u16,
        step: i32,
    },
    /// A group whose address is one of the block's linear ones, where each lane has its elements, or all have the same.
    AffineLoad {
        bytes: u8,
        count: u8,
        offset: i32,
        address: u16,
        broadcast: bool,
    },
    /// A dword of each lane, side by side from the address on that the first value is, plus a constant.
    Row(i32),
    /// A value with a fast path ([`crate::ir::fast_path`]): a truth value, and what the value is where that holds.
    FastPath(u16),
    /// Scalar memory: dword at the address.
    SLoad {
        count: u8,
        offset: i32,
    },
}

/// A value.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    pub op: Inst,
    /// The type that the operands are read as.
    pub ty: Ty,
    pub out: Ty,
    pub vec: bool,
    pub args: [Id; 3],
}

impl Node {
    pub fn arity(&self) -> usize {
        match self.op {
            Inst::Const(_)
            | Inst::VIn(_)
            | Inst::SIn(_)
            | Inst::SccIn
            | Inst::Lane
            | Inst::Exec
            | Inst::Affine { .. }
            | Inst::AffineLoad { .. } => 0,
            Inst::Lo
            | Inst::Hi
            | Inst::MaskOf
            | Inst::Ballot
            | Inst::ShrLane
            | Inst::Part(_)
            | Inst::SLoad { .. }
            | Inst::LaneIn(_)
            | Inst::LanesIn(_)
            | Inst::VgprAt
            | Inst::Shuffle(_)
            | Inst::Row(_) => 1,
            Inst::Pair | Inst::Shld(_) | Inst::Shrd(_) | Inst::Group { .. } | Inst::FastPath(_) => {
                2
            }
            Inst::Alu(op) => op.arity(),
        }
    }

    pub fn inputs(&self) -> &[Id] {
        &self.args[..self.arity()]
    }
}

/// An operation that is left to the interpreter.
#[derive(Debug)]
pub struct Unsupported;

pub(crate) type Got = Result<Id, Unsupported>;

/// Where in a graph a value is: numbers at the places that values' hashes say, or behind. Some are of values that are gone
/// again.
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

    /// The number of an equal value among `nodes`; or nothing, and the next one is this.
    fn find_or_put(&mut self, node: &Node, nodes: &[Node]) -> Option<Id> {
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
        let mut place = Found::hash(node) as usize & mask;
        loop {
            let id = self.at[place];
            if id == NOWHERE {
                break;
            }
            if let Some(have) = nodes.get(id as usize)
                && have.args == node.args
                && have.ty == node.ty
                && have.out == node.out
                && have.vec == node.vec
                && have.op == node.op
            {
                return Some(id);
            }
            place = (place + 1) & mask;
        }
        self.at[place] = nodes.len() as Id;
        self.used += 1;
        None
    }

    fn put(&mut self, node: &Node, id: Id) {
        let mask = self.at.len() - 1;
        let mut place = Found::hash(node) as usize & mask;
        while self.at[place] != NOWHERE {
            place = (place + 1) & mask;
        }
        self.at[place] = id;
        self.used += 1;
    }
}

/// A graph being made.
pub struct Graph {
    pub nodes: Vec<Node>,
    /// What [`Inst::FastPath`] numbers.
    pub fast_paths: Vec<FastPath>,
    pub found: Found,
    pub generation: Gen,
    pub mode: u32,
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
        if shared && let Some(id) = self.found.find_or_put(&node, &self.nodes) {
            return id;
        }
        self.nodes.push(node);
        n as Id
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

    fn is(&self, id: Id, value: u64) -> bool {
        self.value_of(id) == Some(value)
    }

    fn vec(&self, id: Id) -> bool {
        self.get(id).vec
    }

    /// Whether a vector value is one of 64 bits as a whole, not halves.
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
            _ => self.node(Inst::Lo, Ty::B64, Ty::B32, n.vec, [id, 0, 0]),
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
            (Inst::SIn(l), Inst::SIn(h)) if h == l + 1 && a.out == Ty::B32 => {
                return self.node(Inst::SIn(l), Ty::B64, Ty::B64, false, [0; 3]);
            }
            // Halves that are chosen alike, of numbers that are whole, are a whole number that is chosen.
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

    /// The lane's bit of a scalar mask.
    pub fn mask_of(&mut self, id: Id) -> Id {
        match self.get(id).op {
            Inst::Const(0) => return self.node(Inst::Const(0), Ty::B64, Ty::B64, false, [0; 3]),
            Inst::Const(u64::MAX) => return self.constant(Ty::Bool, 1),
            // Of active lanes nothing is lost.
            Inst::Ballot => return self.get(id).args[0],
            // What scalar code makes of masks, each lane makes of its bits.
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

    /// Whether a mask is made by bitwise operations, of ballots among others.
    fn of_ballots(&self, id: Id, depth: u32) -> bool {
        let n = self.get(id);
        match n.op {
            Inst::Ballot => true,
            Inst::Alu(Op::And | Op::Or | Op::Xor | Op::Not) if !n.vec && n.ty.bits() == 64 => {
                depth > 0 && n.inputs().iter().any(|&a| self.of_ballots(a, depth - 1))
            }
            _ => false,
        }
    }

    fn and1(&mut self, op: Op, ty: Ty, a: Id, b: u64) -> Got {
        let b = self.constant(ty, b);
        self.alu(op, ty, ty, [a, b, 0])
    }

    fn zext_bool(&mut self, k: Id) -> Id {
        if !self.vec(k) {
            return k;
        }
        self.node(Inst::Alu(Op::Zext), Ty::Bool, Ty::B32, true, [k, 0, 0])
    }

    /// A truth value a lane that `id` is the number of.
    fn as_bool(&self, id: Id) -> Option<Id> {
        let n = self.get(id);
        match n.op {
            Inst::Alu(Op::Zext) if n.ty == Ty::Bool => Some(n.args[0]),
            _ => None,
        }
    }

    /// An operation of the meanings' language, simplified.
    pub fn alu(&mut self, op: Op, ty: Ty, out: Ty, args: [Id; 3]) -> Got {
        let n = op.arity();
        if args[..n].iter().all(|&a| self.value_of(a).is_some()) {
            let at = |k: usize| {
                [args[..n]
                    .get(k)
                    .and_then(|&a| self.value_of(a))
                    .unwrap_or(0)]
            };
            let mut d = [0];
            let operation = Operation {
                op,
                ty,
                out,
                generation: self.generation,
                mode: self.mode,
            };
            if eval::<1>(operation, [&at(0), &at(1), &at(2)], &mut d) {
                return Ok(self.constant(out, d[0]));
            }
        }
        if ty == Ty::F16 || out == Ty::F16 {
            return self.half(op, ty, out, args);
        }
        let [a, b, c] = args;
        let bits = ty.bits();
        let float = ty.is_float();
        let full = width_mask(ty);
        match op {
            Op::Rev if bits == 32 && args[..n].iter().any(|&a| self.vec(a)) => {
                return self.reversed(a);
            }
            Op::Class if self.value_of(b).is_some_and(|mask| mask & 0x1f8 != 0) => {
                return self.classes(ty, a, self.value_of(b).unwrap_or(0));
            }
            Op::Zext => {
                return match (bits, out.bits()) {
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
                };
            }
            Op::Trunc => {
                let low = if bits > 32 { self.lo(a) } else { a };
                return match out.bits() {
                    64 => Ok(a),
                    32 => Ok(low),
                    1 => {
                        let bit = self.and1(Op::And, Ty::B32, low, 1)?;
                        let zero = self.constant(Ty::B32, 0);
                        self.alu(Op::Ne, Ty::B32, Ty::Bool, [bit, zero, 0])
                    }
                    _ => self.and1(Op::And, Ty::B32, low, width_mask(out)),
                };
            }
            Op::Sext => {
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
                return match to {
                    64 => {
                        let high = self.and1(Op::Shr, Ty::I32, v, 31)?;
                        Ok(self.pair(v, high))
                    }
                    32 => Ok(v),
                    _ => self.and1(Op::And, Ty::B32, v, width_mask(out)),
                };
            }
            Op::And if self.is(a, 0) || self.is(b, 0) => return Ok(self.constant(ty, 0)),
            Op::And if self.is(b, full) || a == b => return Ok(a),
            Op::And if self.is(a, full) => return Ok(b),
            Op::Or if self.is(a, full) => return Ok(a),
            Op::Or if self.is(b, full) => return Ok(b),
            Op::Or if self.is(b, 0) || a == b => return Ok(a),
            Op::Eq if a == b && !float => return Ok(self.constant(Ty::Bool, 1)),
            Op::Or | Op::Xor if self.is(a, 0) => return Ok(b),
            Op::Xor if self.is(b, 0) => return Ok(a),
            Op::Add if !float && self.is(a, 0) => return Ok(b),
            Op::Add | Op::Sub if !float && self.is(b, 0) => return Ok(a),
            Op::Shl | Op::Shr if self.is(b, 0) => return Ok(a),
            Op::Mul if !float && self.is(b, 1) => return Ok(a),
            Op::Mul if !float && self.is(a, 1) => return Ok(b),
            Op::Mul if !float && (self.is(a, 0) || self.is(b, 0)) => {
                return Ok(self.constant(ty, 0));
            }
            Op::Select => {
                if let Some(v) = self.value_of(a) {
                    return Ok(if v & 1 != 0 { b } else { c });
                }
                if b == c {
                    return Ok(b);
                }
                if out == Ty::Bool && self.vec(a) {
                    // (a and b) or (not a and c)
                    let t = self.alu(Op::And, Ty::Bool, Ty::Bool, [a, b, 0])?;
                    let na = self.alu(Op::Not, Ty::Bool, Ty::Bool, [a, 0, 0])?;
                    let e = self.alu(Op::And, Ty::Bool, Ty::Bool, [na, c, 0])?;
                    return self.alu(Op::Or, Ty::Bool, Ty::Bool, [t, e, 0]);
                }
            }
            Op::Ne | Op::Eq if !float && (self.is(b, 0) || self.is(a, 0)) => {
                let x = if self.is(b, 0) { a } else { b };
                let positive = op == Op::Ne;
                let found = if bits > 32 && self.vec(x) && self.is_zero_high(x) {
                    let (low, zero) = (self.lo(x), self.constant(Ty::B32, 0));
                    return self.alu(op, Ty::B32, Ty::Bool, [low, zero, 0]);
                } else if ty == Ty::Bool {
                    Some(x)
                } else if let Some(k) = self.as_bool(x) {
                    Some(k)
                } else if let Inst::Alu(Op::Add) = self.get(x).op {
                    let [p, q, _] = self.get(x).args;
                    match (self.as_bool(p), self.as_bool(q)) {
                        (Some(p), Some(q)) => {
                            Some(self.alu(Op::Or, Ty::Bool, Ty::Bool, [p, q, 0])?)
                        }
                        _ => None,
                    }
                } else {
                    None
                };
                if let Some(k) = found {
                    return if positive {
                        Ok(k)
                    } else {
                        self.alu(Op::Not, Ty::Bool, Ty::Bool, [k, 0, 0])
                    };
                }
            }
            Op::Not if self.get(a).op == Inst::Alu(Op::Not) && self.get(a).ty.bits() == bits => {
                return Ok(self.get(a).args[0]);
            }
            _ => {}
        }
        // Narrow signed numbers are made wide ones.
        if ty.is_signed() && bits < 32 {
            let wide = |g: &mut Self, id: Id| g.alu(Op::Sext, ty, Ty::I32, [id, 0, 0]);
            match op {
                Op::Lt | Op::Le | Op::Gt | Op::Ge => {
                    let (a, b) = (wide(self, a)?, wide(self, b)?);
                    return self.alu(op, Ty::I32, Ty::Bool, [a, b, 0]);
                }
                Op::Min | Op::Max => {
                    let (a, b) = (wide(self, a)?, wide(self, b)?);
                    let r = self.alu(op, Ty::I32, Ty::I32, [a, b, 0])?;
                    return self.and1(Op::And, Ty::B32, r, full);
                }
                Op::Shr | Op::Abs => {
                    let a = wide(self, a)?;
                    let r = self.alu(op, Ty::I32, Ty::I32, [a, b, 0])?;
                    return self.and1(Op::And, Ty::B32, r, full);
                }
                Op::MulHi | Op::IntToFloat => return Err(Unsupported),
                _ => {}
            }
        }
        if op == Op::Shr && !self.vec(a) && self.get(b).op == Inst::Lane {
            return Ok(self.node(Inst::ShrLane, Ty::B64, Ty::B64, true, [a, 0, 0]));
        }
        if op == Op::And && self.get(a).op == Inst::ShrLane && self.is(b, 1) {
            let mask = self.get(a).args[0];
            let k = self.mask_of(mask);
            return self.alu(Op::Zext, Ty::Bool, Ty::B64, [k, 0, 0]);
        }
        let any_float = float || out.is_float();
        let vec = any_float || args[..n].iter().any(|&a| self.vec(a));
        let of_wide = op == Op::IntToFloat && bits > 32;
        if vec && bits > 32 && (!any_float || of_wide) {
            return self.halves(op, ty, out, args);
        }
        if op == Op::Class && self.value_of(b).is_none_or(|mask| mask & !0x207 != 0) {
            // NaNs and infinities, which the host tells apart whatever MXCSR says of denormals.
            return Err(Unsupported);
        }
        if vec && !supported(op, ty, out) || !vec && !scalar_supported(op, ty) {
            return Err(Unsupported);
        }
        // 32-bit types that differ in how nothing reads them are one, so that equal values are found.
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
        Ok(id)
    }

    /// Whether the upper half of a 64-bit value is 0.
    fn is_zero_high(&self, id: Id) -> bool {
        let n = self.get(id);
        n.op == Inst::Pair && self.is(n.args[1], 0)
    }

    /// An operation on 64-bit integers a lane, by halves where that is cheap.
    fn halves(&mut self, op: Op, ty: Ty, out: Ty, args: [Id; 3]) -> Got {
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
            return Ok(match (op, by) {
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
                    let l = self.node(Inst::Shrd(by as u8), Ty::B32, Ty::B32, vec, [lo, hi, 0]);
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
            });
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
                // A truth value as the addend carries where the sum is 0.
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
}

/// Whether the emitter has the vector operation.
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
        Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => {
            float || bits == 32 || bits > 1 && !ty.is_signed()
        }
        Op::Unord | Op::Class => float,
        Op::Select => out != Ty::Bool,
        Op::Fma | Op::Div | Op::Sqrt | Op::Ldexp => float,
        Op::Mad => ty == Ty::F32,
        Op::Floor | Op::Ceil | Op::RoundZero | Op::RoundEven => float,
        Op::IntToFloat => bits == 32 && matches!(out, Ty::F32 | Ty::F64),
        Op::FloatToInt => float && out.bits() == 32,
        Op::FloatToFloat => float && matches!(out, Ty::F32 | Ty::F64),
        // It has no code: a guard sees to it that it is not needed.
        Op::FmaLdexp(_) => float,
        _ => false,
    }
}

/// Whether the emitter has the scalar operation.
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
