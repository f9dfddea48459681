//! Handles accesses of several dwords per lane that are contiguous over lanes, such as vectors or colours. If computations do the same to each of a
//! lane's elements, or almost the same, values can have the order of memory: then loads and stores need no transposition of lanes and
//! elements, which takes more instructions than most such computations.
//!
//! The values of a group of elements take as many registers in the order of memory as before. Each has all elements of a fraction of the lanes, so
//! what differs between elements differs between a register's lanes: scalars are joined to a vector ([`Inst::Cycle`]), exchanged elements
//! are a shuffle, and where elements have different operations, both are computed for all elements and selected from.

use crate::hash::Map;
use crate::ir::region::{Block, Store};
use crate::ir::{Id, Inst, Node};
use gcn_isa::meaning::Op;
use gcn_isa::shape::Ty;

/// The values of a lane's elements. `None`: a value of this element is not needed.
type Group = Vec<Option<Id>>;

/// The most values that are added to a block for a group of stores.
const MOST: usize = 400;

/// Values in the order of memory under construction.
struct Elements<'a> {
    c: &'a Block,
    /// The number of elements.
    count: usize,
    /// The values that are added after those of the block.
    new: Vec<Node>,
    /// The values in the order of memory of each group.
    made: Map<Group, Vec<Id>>,
    loads: Vec<Id>,
    /// Cached results of [`Elements::is_shared`].
    shared: Map<Id, bool>,
}

/// Gives loads and stores the order of memory where that does not change results.
pub(crate) fn keep_order(c: &mut Block) {
    // With inactive lanes, the order of memory would mix elements of active and inactive lanes.
    if !c.is_all_active {
        return;
    }
    let stores = c.effects.deferred_stores.len();
    for count in [2, 4] {
        let wanted: Vec<usize> = (0..=stores).filter(|&n| is_dense(c, n, count)).collect();
        if !wanted.is_empty() && !together(c, &wanted, count) {
            for n in wanted {
                together(c, &[n], count);
            }
        }
    }
}

/// Returns a deferred store, or the block's plain store for the number after the last.
fn store(c: &Block, n: usize) -> Option<(&Store, u16)> {
    match c.effects.deferred_stores.get(n) {
        Some(s) => Some((s, c.affine.stores.get(n)?.0)),
        None => Some((c.effects.store.as_ref()?, c.affine.store?.0)),
    }
}

/// Returns true if a store writes `count` dwords per lane, and the lanes' dwords are contiguous.
fn is_dense(c: &Block, n: usize, count: usize) -> bool {
    store(c, n).is_some_and(|(s, address)| {
        (s.bytes, s.data.len()) == (4, count) && dense(c, address, count)
    })
}

fn dense(c: &Block, address: u16, count: usize) -> bool {
    let a = &c.affine.addresses[address as usize];
    a.limit.is_none() && a.step == 4 * count as i32
}

/// Returns the number of vector operations that a block computes.
fn operations(c: &Block) -> usize {
    let computed = |n: &Node| n.vec && !matches!(n.op, Inst::Part(_) | Inst::AffineLoad { .. });
    let live = c.live();
    let nodes = c.graph.iter().zip(live);
    nodes.filter(|(n, live)| *live && computed(n)).count()
}

/// Gives the order of memory to stores and to everything that they depend on. Returns `false` and changes nothing if that is not possible, or would
/// take more operations.
fn together(c: &mut Block, stores: &[usize], count: usize) -> bool {
    let mut e = Elements {
        c,
        count,
        new: Vec::new(),
        made: Map::default(),
        loads: Vec::new(),
        shared: Map::default(),
    };
    let mut values = Vec::new();
    for &n in stores {
        let Some((s, _)) = store(c, n) else {
            return false;
        };
        let group: Group = s.data.iter().map(|&id| Some(id)).collect();
        let Some(of_store) = e.values(&group) else {
            return false;
        };
        values.push(of_store);
    }
    let Elements { new, loads, .. } = e;
    let transpositions = match count {
        2 => 2,
        _ => 10,
    };
    let before = operations(c) + transpositions * (loads.len() + stores.len());
    let old = c.graph.len();
    c.graph.extend(new);
    exchange(c, stores, &mut values);
    if operations(c) > before || !only_new_values_read(c, &loads, old, stores) {
        exchange(c, stores, &mut values);
        c.graph.truncate(old);
        return false;
    }
    for load in loads {
        if let Inst::AffineLoad { in_order, .. } = &mut c.graph[load as usize].op {
            *in_order = true;
        }
    }
    for &n in stores {
        let deferred = c.effects.deferred_stores.get_mut(n);
        if let Some(s) = deferred.or(c.effects.store.as_mut()) {
            s.in_order = true;
        }
    }
    true
}

/// Exchanges the stores' data with other values.
fn exchange(c: &mut Block, stores: &[usize], values: &mut [Vec<Id>]) {
    for (&n, values) in stores.iter().zip(values) {
        let deferred = c.effects.deferred_stores.get_mut(n);
        if let Some(s) = deferred.or(c.effects.store.as_mut()) {
            std::mem::swap(&mut s.data, values);
        }
    }
}

/// Returns true if nothing but these stores and the values from a number on reads elements of the loads.
fn only_new_values_read(c: &Block, loads: &[Id], new: usize, stores: &[usize]) -> bool {
    let element = |id: &Id| {
        let n = &c.graph[*id as usize];
        loads.contains(id) || matches!(n.op, Inst::Part(_)) && loads.contains(&n.args[0])
    };
    let mut roots = c.roots();
    // Each store counts once.
    for &n in stores {
        for id in store(c, n).map_or(&[][..], |(s, _)| &s.data) {
            if let Some(at) = roots.iter().position(|root| root == id) {
                roots.swap_remove(at);
            }
        }
    }
    if roots.iter().any(element) {
        return false;
    }
    let live = c.live();
    let reads = |n: &Node| {
        let leaves = match n.op {
            Inst::FastPath(k) => &c.fast_paths[k as usize].leaves[..],
            _ => &[],
        };
        n.inputs().iter().chain(leaves).any(element)
    };
    let others = c.graph[..new].iter().zip(live);
    !others
        .filter(|(n, live)| *live && !matches!(n.op, Inst::Part(_)))
        .any(|(n, _)| reads(n))
}

/// Returns true if an operation's operands may be different scalars in the lanes of a register.
fn takes_any(op: Op) -> bool {
    use Op::*;
    matches!(
        op,
        Add | Sub | Mul | Fma | Min | Max | And | Or | Xor | Select | Lt | Le | Gt | Ge | Eq | Ne
    )
}

impl Elements<'_> {
    fn node(&self, id: Id) -> &Node {
        &self.c.graph[id as usize]
    }

    /// Returns a value that is added to the block, unless it has been before.
    fn push(&mut self, node: Node) -> Id {
        let key = |n: &Node| (n.op, n.ty, n.out, n.vec, n.args);
        let found = self.new.iter().position(|n| key(n) == key(&node));
        let at = found.unwrap_or(self.new.len());
        if found.is_none() {
            self.new.push(node);
        }
        (self.c.graph.len() + at) as Id
    }

    /// Returns the values of a group of elements in the order of memory, one for each register. `None` if there are none.
    fn values(&mut self, group: &Group) -> Option<Vec<Id>> {
        if let Some(made) = self.made.get(group) {
            return Some(made.clone());
        }
        let all: Vec<Id> = group.iter().flatten().copied().collect();
        let &first = all.first()?;
        let n = *self.node(first);
        let values = if all.iter().all(|&id| id == first) && self.is_shared(first) {
            vec![first; self.count]
        } else if let Some(other) = all.iter().find(|&&id| !self.alike(first, id)) {
            debug_assert!(*other != first);
            self.selected(group, first)?
        } else if !n.vec {
            vec![self.cycle(group)?; self.count]
        } else {
            match n.op {
                Inst::Part(_) => self.parts(group, n.args[0])?,
                Inst::Alu(op) => self.computed(group, n, op)?,
                _ => return None,
            }
        };
        if self.new.len() > MOST {
            return None;
        }
        self.made.insert(group.clone(), values.clone());
        Some(values)
    }

    /// Returns true if one way leads to the values of two elements in the order of memory.
    fn alike(&self, a: Id, b: Id) -> bool {
        let (n, m) = (self.node(a), self.node(b));
        let kinds = match (n.op, m.op) {
            _ if a == b => return true,
            _ if !n.vec || !m.vec => n.vec == m.vec,
            (Inst::Part(_), Inst::Part(_)) => n.args[0] == m.args[0],
            (Inst::Alu(x), Inst::Alu(y)) => x == y,
            _ => false,
        };
        kinds && (!n.vec || (n.ty, n.out) == (m.ty, m.out))
    }

    /// Elements of a load.
    fn parts(&mut self, group: &Group, load: Id) -> Option<Vec<Id>> {
        if !self.is_dense_load(load) {
            return None;
        }
        if !self.loads.contains(&load) {
            self.loads.push(load);
        }
        let numbers: Vec<usize> = (0..)
            .zip(group)
            .map(|(k, id)| match id.map(|id| self.node(id).op) {
                Some(Inst::Part(part)) => part as usize,
                _ => k,
            })
            .collect();
        let graph = &self.c.graph;
        let mut parts = Vec::new();
        for k in 0..self.count {
            let part = Node {
                op: Inst::Part(k as u8),
                ty: Ty::B32,
                out: Ty::B32,
                vec: true,
                args: [load, 0, 0],
            };
            let same = |n: &Node| n.op == part.op && n.args[0] == load;
            let found = graph.iter().position(same);
            parts.push((found, part));
        }
        let digits = (0..16).map(|lane| {
            let of = lane - lane % self.count + numbers[lane % self.count];
            (of as u64) << (4 * lane)
        });
        let digits: u64 = digits.sum();
        let exchanged = numbers.iter().enumerate().any(|(k, &n)| n != k);
        let mut values = Vec::new();
        for (found, part) in parts {
            let part = found.map_or_else(|| self.push(part), |at| at as Id);
            values.push(match exchanged {
                true => self.push(Node {
                    op: Inst::Shuffle(digits),
                    args: [part, 0, 0],
                    ..*self.node_or_new(part)
                }),
                false => part,
            });
        }
        Some(values)
    }

    fn node_or_new(&self, id: Id) -> &Node {
        let old = self.c.graph.len();
        match (id as usize).checked_sub(old) {
            Some(at) => &self.new[at],
            None => self.node(id),
        }
    }

    /// The same operation on all elements.
    fn computed(&mut self, group: &Group, n: Node, op: Op) -> Option<Vec<Id>> {
        let mut operands = Vec::new();
        for k in 0..op.arity() {
            let of_element = |id: &Option<Id>| id.map(|id| self.node(id).args[k]);
            let group: Group = group.iter().map(of_element).collect();
            let all: Vec<Id> = group.iter().flatten().copied().collect();
            if !takes_any(op) && all.iter().any(|&id| id != all[0] && !self.node(id).vec) {
                return None;
            }
            operands.push(self.values(&group)?);
        }
        let values = (0..self.count).map(|k| {
            let mut args = [0; 3];
            for (arg, operand) in args.iter_mut().zip(&operands) {
                *arg = operand[k];
            }
            self.push(Node { args, ..n })
        });
        Some(values.collect())
    }

    /// A vector of different scalars.
    fn cycle(&mut self, group: &Group) -> Option<Id> {
        let any = *group.iter().flatten().next()?;
        let scalars: Vec<Id> = group.iter().map(|id| id.unwrap_or(any)).collect();
        let narrow = |&id: &Id| {
            let n = self.node(id);
            n.out.bits() == 32 || matches!(n.op, Inst::Const(_))
        };
        if !scalars.iter().all(narrow) {
            return None;
        }
        let halves: Vec<Id> = scalars.chunks(2).map(|s| self.pair(s[0], s[1])).collect();
        Some(self.push(Node {
            op: Inst::Cycle,
            ty: Ty::B64,
            out: Ty::B32,
            vec: true,
            args: [halves[0], *halves.last()?, 0],
        }))
    }

    /// A scalar of 64 bits with two of 32 bits.
    fn pair(&mut self, lo: Id, hi: Id) -> Id {
        let (op, args) = match (self.node(lo).op, self.node(hi).op) {
            (Inst::Const(lo), Inst::Const(hi)) => {
                (Inst::Const(lo & 0xffff_ffff | hi << 32), [0; 3])
            }
            (Inst::SIn(a), Inst::SIn(b)) if a % 2 == 0 && b == a + 1 => (Inst::SIn(a), [0; 3]),
            _ => (Inst::Pair, [lo, hi, 0]),
        };
        self.push(Node {
            op,
            ty: Ty::B32,
            out: Ty::B64,
            vec: false,
            args,
        })
    }

    /// Elements that are like the first one, and others.
    fn selected(&mut self, group: &Group, first: Id) -> Option<Vec<Id>> {
        let like = |e: &Self, id: Id| e.alike(first, id);
        let of = |e: &Self, wanted: bool| -> Group {
            let ids = group.iter();
            ids.map(|id| id.filter(|&id| like(e, id) == wanted))
                .collect()
        };
        let (firsts, others) = (of(self, true), of(self, false));
        let narrow = |id: &Id| self.node(*id).out.bits() == 32 || !self.node(*id).vec;
        if !group.iter().flatten().all(narrow) {
            return None;
        }
        let lanes = (0..64).filter(|lane| firsts[lane % self.count].is_some());
        let bits = lanes.map(|lane| 1 << lane).sum();
        let (a, b) = (self.values(&firsts)?, self.values(&others)?);
        let bits = self.push(Node {
            op: Inst::Const(bits),
            ty: Ty::B64,
            out: Ty::B64,
            vec: false,
            args: [0; 3],
        });
        let mask = self.push(Node {
            op: Inst::MaskOf,
            ty: Ty::B64,
            out: Ty::Bool,
            vec: true,
            args: [bits, 0, 0],
        });
        let out = self.node(first).out;
        let ty = if out.bits() == 32 { out } else { Ty::B32 };
        let select = |(&a, &b): (&Id, &Id)| {
            self.push(Node {
                op: Inst::Alu(Op::Select),
                ty,
                out: ty,
                vec: true,
                args: [mask, a, b],
            })
        };
        Some(a.iter().zip(&b).map(select).collect())
    }

    fn is_dense_load(&self, id: Id) -> bool {
        match self.node(id).op {
            Inst::AffineLoad {
                bytes: 4,
                count,
                address,
                broadcast: false,
                ..
            } => count as usize == self.count && dense(self.c, address, self.count),
            _ => false,
        }
    }

    /// Returns true if all 16 lanes have the same value.
    fn is_shared(&mut self, id: Id) -> bool {
        if let Some(&known) = self.shared.get(&id) {
            return known;
        }
        let n = *self.node(id);
        let shared = match n.op {
            _ if !n.vec => true,
            Inst::Affine { step, .. } => step == 0,
            Inst::VIn(v) => self.c.affine.state.get(&v) == Some(&0),
            Inst::Part(_) => matches!(
                self.node(n.args[0]).op,
                Inst::AffineLoad {
                    broadcast: true,
                    ..
                }
            ),
            Inst::Alu(_) => n.inputs().iter().all(|&id| self.is_shared(id)),
            _ => false,
        };
        self.shared.insert(id, shared);
        shared
    }
}
