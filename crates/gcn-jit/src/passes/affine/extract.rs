//! Moves affine values from a block's graph to its bases.

use super::address::{Access16, Found, Shape, address, load_of, store_of};
use super::affine_writes;
use super::derive::{AffineValue, Derivation, is_sum, values};
use crate::hash::Map;
use crate::ir::affine::{
    Address, AffineState, AffineVgprs, Base, BaseKind, BaseOp, Guard, SliceLayout, Trust,
};
use crate::ir::region::{Block, Store, Terminator};
use crate::ir::{Id, Inst, Node};
use gcn_isa::meaning::{Op, Space};
use gcn_isa::shape::Ty;

/// The demanded lanes of each value, and the accesses with affine addresses.
struct Wanted {
    /// For each value: its base is demanded.
    base: Vec<bool>,
    /// For each value: its lanes are demanded.
    lanes: Vec<bool>,
    loads: Map<Id, (Access16, Found)>,
    store: Option<(Access16, Found)>,
    deferred_stores: Vec<(Access16, Found)>,
    /// The writes of VGPRs that write all lanes: their indices among the block's writes, and the steps.
    writes: Vec<(usize, i32)>,
}

/// Moves affine values from a block's graph to its bases. Returns `false` and changes nothing if a deferred store has no
/// affine address.
pub(crate) fn extract_affine(c: &mut Block, state: AffineVgprs) -> bool {
    let affine = values(&c.graph, &state, c.trust);
    let Some(mut wanted) = Wanted::by_effects(c, &affine) else {
        return false;
    };
    wanted.by_values(c, &affine);
    let mut m = Making {
        graph: &c.graph,
        affine: &affine,
        out: AffineState::default(),
        of: Map::default(),
    };
    for at in 0..c.graph.len() {
        if wanted.base[at] && c.graph[at].vec {
            m.value(at as Id);
        }
    }
    for d in &c.assumed {
        let step = d.of.map(|id| m.reach(id));
        let of = d.of.map(|id| m.base(id));
        m.guard(Guard::AssumedCompare {
            op: d.op,
            signed: d.ty.is_signed(),
            of,
            step,
        });
    }
    let mut groups = Vec::new();
    for at in 0..c.graph.len() as Id {
        if let Some(&(a, found)) = wanted.loads.get(&at) {
            groups.push((at, a, m.address(a, found), found.offset));
        }
    }
    let to = wanted
        .store
        .map(|(a, found)| (m.address(a, found), found.offset));
    for &(a, found) in &wanted.deferred_stores {
        let to = (m.address(a, found), found.offset);
        m.out.stores.push(to);
    }
    for &(i, step) in &wanted.writes {
        let q = m.base(c.effects.vgprs[i].1);
        m.out.ops[q as usize].stored = true;
        m.out.writes.push((c.effects.vgprs[i].0, q, step));
    }
    let (mut out, of) = (m.out, m.of);
    out.store = to;
    // Demanded lanes of an affine value are computed from its base.
    for (at, node) in c.graph.iter_mut().enumerate() {
        if wanted.base[at]
            && wanted.lanes[at]
            && node.vec
            && !AffineValue::is_same(affine[at])
            && !matches!(node.op, Inst::VIn(_) | Inst::Lane)
            && let (Some(l), Some(&base)) = (affine[at], of.get(&(at as Id)))
        {
            out.ops[base as usize].stored = true;
            node.op = Inst::Affine { base, step: l.step };
        }
    }
    for (at, a, address, offset) in groups {
        let step = out.addresses[address as usize].step;
        c.graph[at as usize].op = Inst::AffineLoad {
            bytes: a.bytes,
            count: a.count,
            offset,
            address,
            broadcast: step == 0,
            in_order: false,
        };
    }
    drop_addresses(c, &out);
    let written: Vec<u16> = out.writes.iter().map(|w| w.0).collect();
    c.effects.vgprs.retain(|w| !written.contains(&w.0));
    out.state = state;
    c.affine = out;
    true
}

/// Drops the addresses of affine stores from the graph, because they are no longer needed.
fn drop_addresses(c: &mut Block, out: &AffineState) {
    let affine = out.store.is_some();
    let stores =
        (c.effects.store.iter_mut().filter(|_| affine)).chain(&mut c.effects.deferred_stores);
    let locations = out.store.iter().chain(&out.stores);
    let steps = locations.map(|to| out.addresses[to.0 as usize].step);
    let zero = c.graph.len() as Id;
    for (st, step) in stores.zip(steps) {
        (st.lo, st.hi) = (zero, zero);
        // A whole 64-bit value is stored without splitting.
        let halves = |lo: Id, hi: Id| {
            let (lo, hi) = (&c.graph[lo as usize], &c.graph[hi as usize]);
            let whole = (lo.op, hi.op) == (Inst::Lo, Inst::Hi) && lo.args[0] == hi.args[0];
            (whole && lo.vec).then_some(lo.args[0])
        };
        if let [lo, hi] = st.data[..]
            && (st.bytes, step) == (4, 8)
            && let Some(whole) = halves(lo, hi)
        {
            (st.bytes, st.data) = (8, vec![whole]);
        }
    }
    c.graph.push(Node {
        op: Inst::Const(0),
        ty: Ty::B64,
        out: Ty::B64,
        vec: false,
        args: [0; 3],
    });
}

/// Returns the affine address of an access, if it has one and the block may use it.
fn affine_address(c: &Block, affine: &[Option<AffineValue>], a: Access16) -> Option<Found> {
    match c.trust {
        Trust::Nothing => None,
        _ => address(&c.graph, affine, a),
    }
}

impl Wanted {
    /// Returns the demand of effects, guards and the terminator. `None` if a deferred store has no affine address.
    fn by_effects(c: &Block, affine: &[Option<AffineValue>]) -> Option<Wanted> {
        let n = c.graph.len();
        let e = &c.effects;
        let find = |st: &Store| {
            let a = store_of(st);
            Some((a, affine_address(c, affine, a)?))
        };
        let deferred: Option<Vec<_>> = e.deferred_stores.iter().map(find).collect();
        let mut w = Wanted {
            base: vec![false; n],
            lanes: vec![false; n],
            loads: Map::default(),
            store: e.store.as_ref().and_then(find),
            deferred_stores: deferred?,
            writes: affine_writes(c, affine),
        };
        for &(i, _) in &w.writes {
            w.base[e.vgprs[i].1 as usize] = true;
        }
        for (i, write) in e.vgprs.iter().enumerate() {
            w.lanes[write.1 as usize] |= !w.writes.iter().any(|&(j, _)| i == j);
        }
        let mut ids: Vec<Id> = e.sgprs.iter().map(|w| w.1).collect();
        ids.extend(e.scc);
        ids.extend(&c.guards);
        ids.extend(e.wave_helper.iter().flat_map(|w| &w.inputs));
        ids.extend(e.accesses.iter().flat_map(|n| [n.lo, n.hi]));
        ids.extend(e.rows.iter().flat_map(|&(a, _, v)| [a, v]));
        ids.extend(e.indexed.iter().flat_map(|w| [w.number, w.value]));
        ids.extend(e.lane_inserts.iter().flat_map(|&(_, lane, v)| [lane, v]));
        if let Terminator::Branch { when, .. } | Terminator::Indirect { to: when, .. } =
            c.terminator
        {
            ids.push(when);
        }
        for st in e.store.iter().chain(&e.deferred_stores) {
            ids.extend(&st.data);
        }
        if let (Some(st), None) = (&e.store, w.store) {
            ids.extend([st.lo, st.hi]);
        }
        for id in ids {
            w.lanes[id as usize] = true;
        }
        let affine_stores: Vec<_> = w.store.iter().chain(&w.deferred_stores).copied().collect();
        for access in affine_stores {
            w.access(access);
        }
        for &id in c.assumed.iter().flat_map(|d| &d.of) {
            w.base[id as usize] = true;
        }
        Some(w)
    }

    /// Demands the bases of an affine address. The limit of LDS is a scalar.
    fn access(&mut self, (a, Found { lo, hi, .. }): (Access16, Found)) {
        self.base[lo as usize] = true;
        match a.space {
            Space::Lds => self.lanes[hi as usize] = true,
            _ => self.base[hi as usize] = true,
        }
    }

    /// Propagates the demand of values to their operands, from the last value to the first.
    fn by_values(&mut self, c: &Block, affine: &[Option<AffineValue>]) {
        for at in (0..c.graph.len()).rev() {
            let node = &c.graph[at];
            let needed = self.lanes[at] || !pure(node.op);
            if let Some(a) = load_of(node)
                && let Some(found) = affine_address(c, affine, a)
            {
                self.loads.insert(at as Id, (a, found));
                self.access((a, found));
                continue;
            }
            if needed && !self.base[at] && node.vec && worth(node, affine[at]) {
                self.base[at] = true;
            }
            if self.base[at] && node.vec {
                match affine[at].map(|l| l.how) {
                    Some(Derivation::Same(id) | Derivation::SmallProduct(id, _)) => {
                        self.base[id as usize] = true;
                    }
                    Some(Derivation::HighProduct(a, b, _)) => {
                        self.base[a as usize] = true;
                        self.base[b as usize] = true;
                    }
                    _ => {
                        for &i in node.inputs() {
                            self.base[i as usize] = true;
                        }
                    }
                }
            }
            // A value that equals its operand only in active lanes differs from it as a mask.
            let apart = AffineValue::is_same(affine[at]);
            if needed && (!self.base[at] || !node.vec || apart) {
                for &i in node.inputs() {
                    self.lanes[i as usize] = true;
                }
                if let Inst::FastPath(number) = node.op {
                    for &leaf in &c.fast_paths[number as usize].leaves {
                        self.lanes[leaf as usize] = true;
                    }
                }
            }
        }
    }
}

/// Returns true if a demanded vector value is better computed from its base.
fn worth(n: &Node, l: Option<AffineValue>) -> bool {
    l.is_some_and(|l| l.step == 0 && l.risk == 0 && !matches!(l.how, Derivation::Same(_)))
        && !matches!(n.op, Inst::VIn(_) | Inst::Lane)
}

/// Returns true if an operation has no effect but its value.
fn pure(op: Inst) -> bool {
    matches!(
        op,
        Inst::Const(_)
            | Inst::VIn(_)
            | Inst::SIn(_)
            | Inst::SccIn
            | Inst::Lane
            | Inst::Exec
            | Inst::Pair
            | Inst::Lo
            | Inst::Hi
            | Inst::Cycle
            | Inst::MaskOf
            | Inst::Ballot
            | Inst::Shld(_)
            | Inst::Shrd(_)
            | Inst::ShrLane
            | Inst::Alu(_)
            | Inst::Part(_)
            | Inst::LaneIn(_)
            | Inst::LanesIn(_)
            | Inst::VgprAt
            | Inst::Shuffle(_)
            | Inst::FastPath(_)
    )
}

/// Bases under construction.
struct Making<'a> {
    graph: &'a [Node],
    affine: &'a [Option<AffineValue>],
    out: AffineState,
    /// The base of each value that has one.
    of: Map<Id, Base>,
}

impl Making<'_> {
    fn push(&mut self, op: BaseKind, args: [Base; 3]) -> Base {
        let same = |o: &BaseOp| o.op == op && o.args == args;
        if let Some(at) = self.out.ops.iter().position(same) {
            return at as Base;
        }
        self.out.ops.push(BaseOp {
            op,
            args,
            stored: false,
        });
        (self.out.ops.len() - 1) as Base
    }

    /// Returns the base of a value. The bases of values with operands were made before.
    fn base(&mut self, id: Id) -> Base {
        if let Some(&q) = self.of.get(&id) {
            return q;
        }
        let op = match self.graph[id as usize].op {
            Inst::Const(v) => BaseKind::Const(v as u32),
            Inst::VIn(v) => BaseKind::Vgpr(v),
            Inst::Lane => BaseKind::Lane,
            _ => BaseKind::Scalar(id),
        };
        let q = self.push(op, [0; 3]);
        self.of.insert(id, q);
        q
    }

    /// Returns the difference between the last and the first of 16 lanes' values.
    fn reach(&self, id: Id) -> i32 {
        15 * self.affine[id as usize].map_or(0, |l| l.step)
    }

    /// Makes the base of a vector value, and the guards that it needs.
    fn value(&mut self, id: Id) {
        let node = &self.graph[id as usize];
        let Some(l) = self.affine[id as usize] else {
            return;
        };
        if matches!(node.op, Inst::VIn(_) | Inst::Lane) {
            self.base(id);
            return;
        }
        if let Derivation::Same(other) = l.how {
            let q = self.base(other);
            self.of.insert(id, q);
            return;
        }
        if let Derivation::SmallProduct(of, most) = l.how {
            let step = [self.reach(of), 0];
            let most = self.push(BaseKind::Const(most), [0; 3]);
            let of = [self.base(of), most];
            let (op, signed) = (Op::Le, false);
            self.guard(Guard::AssumedCompare {
                op,
                signed,
                of,
                step,
            });
            let q = self.push(BaseKind::Const(0), [0; 3]);
            self.of.insert(id, q);
            return;
        }
        if let Derivation::HighProduct(a, b, signed) = l.how {
            let of = [self.base(a), self.base(b), 0];
            let ty = if signed { Ty::I32 } else { Ty::U32 };
            let q = self.push(BaseKind::Alu(Op::MulHi, ty), of);
            self.of.insert(id, q);
            return;
        }
        let mut args = [0; 3];
        for (q, &a) in args.iter_mut().zip(node.inputs()) {
            *q = self.base(a);
        }
        self.guards_of(node, l.how, args);
        // A truth value as a number is 1 where the base has all ones, which is -1.
        if node.op == Inst::Alu(Op::Add) {
            let bit = |q: Base| match self.out.ops[q as usize].op {
                BaseKind::Alu(Op::Zext, Ty::Bool) => Some(self.out.ops[q as usize].args[0]),
                _ => None,
            };
            let [a, b, _] = args;
            if let Some((a, bit)) = bit(b).map(|t| (a, t)).or(bit(a).map(|t| (b, t))) {
                let q = self.push(BaseKind::Alu(Op::Sub, node.ty), [a, bit, 0]);
                self.of.insert(id, q);
                return;
            }
        }
        let op = match node.op {
            Inst::Shld(by) => BaseKind::Shld(by),
            Inst::Shrd(by) => BaseKind::Shrd(by),
            Inst::Alu(op) => BaseKind::Alu(op, node.ty),
            _ => return,
        };
        let q = self.push(op, args);
        self.of.insert(id, q);
    }

    /// Adds the guards of a value for the derivation of its base.
    fn guards_of(&mut self, node: &Node, how: Derivation, args: [Base; 3]) {
        match how {
            Derivation::Top(of, bits) => {
                let (step, of) = (self.reach(of), self.base(of));
                self.guard(Guard::Top { of, step, bits });
            }
            // A sum's carry is the same in all lanes if neither the sum nor its addends wrap.
            Derivation::Less if is_sum(self.graph, node) => {
                let sum = node.args[0];
                let [a, b, _] = self.graph[sum as usize].args;
                for id in [sum, a, b] {
                    let (step, of) = (self.reach(id), self.base(id));
                    if step != 0 {
                        let signed = false;
                        self.guard(Guard::NoWrap { of, step, signed });
                    }
                }
            }
            Derivation::NoWrap(of) => {
                let (step, of) = (self.reach(of), self.base(of));
                let signed = node.ty.is_signed();
                self.guard(Guard::NoWrap { of, step, signed });
            }
            Derivation::Less => {
                let step = [self.reach(node.args[0]), self.reach(node.args[1])];
                let of = [args[0], args[1]];
                self.guard(Guard::Less { of, step });
            }
            Derivation::Bits(of, mask, ones) => {
                let (step, of, mask) = (self.reach(of), self.base(of), self.base(mask));
                self.guard(Guard::Bits {
                    of,
                    step,
                    mask,
                    ones,
                });
            }
            Derivation::Op
            | Derivation::Same(_)
            | Derivation::SmallProduct(..)
            | Derivation::HighProduct(..) => {}
        }
    }

    fn guard(&mut self, g: Guard) {
        // A guard on more equal bits includes one on fewer.
        if let Guard::Top { of, step, bits } = g {
            for have in &mut self.out.guards {
                if let Guard::Top {
                    of: o,
                    step: s,
                    bits: b,
                } = have
                    && (*o, *s) == (of, step)
                {
                    *b = bits.max(*b);
                    return;
                }
            }
        }
        if !self.out.guards.contains(&g) {
            self.out.guards.push(g);
        }
    }

    fn address(&mut self, a: Access16, found: Found) -> u16 {
        let Found {
            lo,
            hi,
            index,
            plus,
            offset,
            step,
        } = found;
        let reach = self.reach(lo);
        let lo = self.base(lo);
        let lds = a.space == Space::Lds;
        let (hi, limit) = if lds {
            (0, Some(hi))
        } else {
            (self.base(hi), None)
        };
        if step != 0 && !lds {
            self.guard(Guard::NoWrap {
                of: lo,
                step: if index.is_some() { reach } else { 15 * step },
                signed: index.is_some(),
            });
        }
        let size = a.bytes as i32 * a.count as i32;
        let shape = Shape::of(step, a.bytes, a.count, a.need == 2);
        let of = shape.unwrap_or(Shape::Dense);
        let (from, to) = of.touched(step, a.bytes, a.count, offset);
        let dense = a.count > 1 && shape == Some(Shape::Dense);
        let reads_inactive = a.need == 1 && (dense || of.reads_more(step));
        let slice_layout = match shape {
            _ if a.need == 1 || a.count == 1 => None,
            Some(Shape::Dense) => match size >> index.unwrap_or(0) {
                0 | 1 => None,
                bytes => Some(SliceLayout::Multiples(bytes)),
            },
            _ => Some(SliceLayout::Rows),
        };
        if let Some(at) = self.out.addresses.iter().position(|x| {
            (x.lo, x.hi, x.plus, x.limit) == (lo, hi, plus, limit)
                && (x.step, x.need, x.index) == (step, a.need, index)
                && (x.to.max(to) as i64 - x.from.min(from) as i64) < 1 << 20
        }) {
            let x = &mut self.out.addresses[at];
            x.from = x.from.min(from);
            x.to = x.to.max(to);
            x.reads_inactive |= reads_inactive;
            x.slice_layout = x.slice_layout.max(slice_layout);
            return at as u16;
        }
        self.out.addresses.push(Address {
            lo,
            hi,
            index,
            plus,
            limit,
            step,
            need: a.need,
            from,
            to,
            reads_inactive,
            slice_layout,
        });
        (self.out.addresses.len() - 1) as u16
    }
}
