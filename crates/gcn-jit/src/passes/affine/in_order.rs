//! Handles accesses of several dwords per lane that are contiguous over lanes, such as vectors or colours. If computations do the same to each of a
//! lane's elements, or almost the same, values can have the order of memory. Then loads and stores need no transposition of lanes and
//! elements, which takes more instructions than most such computations.
//!
//! A vector of four elements has four values, one for each element. In the order of memory it has four values, too: each has all elements of a fourth
//! of the lanes. So what differs between elements differs between the lanes of a value. Different scalars are joined ([`Inst::Cycle`]),
//! exchanged elements are a shuffle, and where elements have different operations, each operation is computed for all elements, and the results are
//! selected from.

use crate::hash::Map;
use crate::ir::region::{Block, Store};
use crate::ir::{Id, Inst, Node};
use gcn_isa::meaning::Op;
use gcn_isa::shape::Ty;

/// The values of a lane's elements. `None`: a value of this element is not needed.
type Group = Vec<Option<Id>>;

/// The most values that are added to a block for a group of stores, and the most operations from a load to a store.
const MOST: usize = 400;

/// The number of instructions in which two or four elements are transposed, about.
fn transposition(count: usize) -> usize {
    if count == 2 { 2 } else { 10 }
}

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
    /// For each value of the block: all 16 lanes of a slice have the same.
    shared: Vec<bool>,
    /// The number of operations between a store and the values that are looked at.
    depth: usize,
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
        shared: shared(c),
        depth: 0,
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
    let most = operations(c) + transposition(count) * (loads.len() + stores.len());
    let old = c.graph.len();
    c.graph.extend(new);
    exchange(c, stores, &mut values);
    if operations(c) > most || !only_new_values_read(c, &loads, old, stores) {
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

/// Returns, for each value of a block, whether all 16 lanes of a slice have the same.
fn shared(c: &Block) -> Vec<bool> {
    let mut shared = Vec::with_capacity(c.graph.len());
    for n in &c.graph {
        let is_shared = match n.op {
            _ if !n.vec => true,
            Inst::Affine { step, .. } => step == 0,
            Inst::VIn(v) => c.affine.state.get(&v) == Some(&0),
            Inst::Part(_) => matches!(
                c.graph[n.args[0] as usize].op,
                Inst::AffineLoad {
                    broadcast: true,
                    ..
                }
            ),
            Inst::Alu(_) => n.inputs().iter().all(|&id| shared[id as usize]),
            _ => false,
        };
        shared.push(is_shared);
    }
    shared
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

    /// Returns the values of a group of elements in the order of memory. `None` if there are none.
    fn values(&mut self, group: &Group) -> Option<Vec<Id>> {
        if let Some(made) = self.made.get(group) {
            return Some(made.clone());
        }
        if self.new.len() > MOST || self.depth > MOST {
            return None;
        }
        self.depth += 1;
        let first = *group.iter().flatten().next()?;
        let n = *self.node(first);
        let all = |is: &dyn Fn(Id) -> bool| group.iter().flatten().all(|&id| is(id));
        let values = if all(&|id| id == first) && self.shared[first as usize] {
            vec![first; self.count]
        } else if !all(&|id| self.alike(first, id)) {
            self.selected(group, first)?
        } else if !n.vec {
            vec![self.cycle(group, first)?; self.count]
        } else {
            match n.op {
                Inst::Part(_) => self.parts(group, n)?,
                Inst::Alu(op) => self.computed(group, n, op)?,
                _ => return None,
            }
        };
        self.depth -= 1;
        self.made.insert(group.clone(), values.clone());
        Some(values)
    }

    /// Returns true if two elements can have the same operation in the order of memory.
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

    /// Elements of a load, of which the first one is given.
    fn parts(&mut self, group: &Group, first: Node) -> Option<Vec<Id>> {
        let load = first.args[0];
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
        let exchanged = !numbers.iter().copied().eq(0..self.count);
        let digits = (0..16).map(|lane| {
            let of = lane - lane % self.count + numbers[lane % self.count];
            (of as u64) << (4 * lane)
        });
        let op = Inst::Shuffle(digits.sum());
        let values = (0..self.count).map(|k| {
            let op_of_part = Inst::Part(k as u8);
            let is_part = |n: &Node| n.op == op_of_part && n.args[0] == load;
            let part = match self.c.graph.iter().position(is_part) {
                Some(at) => at as Id,
                None => self.push(Node {
                    op: op_of_part,
                    ..first
                }),
            };
            let args = [part, 0, 0];
            match exchanged {
                true => self.push(Node { op, args, ..first }),
                false => part,
            }
        });
        Some(values.collect())
    }

    /// The same operation on all elements.
    fn computed(&mut self, group: &Group, n: Node, op: Op) -> Option<Vec<Id>> {
        let mut operands = Vec::new();
        for k in 0..op.arity() {
            let of_element = |id: &Option<Id>| id.map(|id| self.node(id).args[k]);
            let group: Group = group.iter().map(of_element).collect();
            let mut scalars = group.iter().flatten().filter(|&&id| !self.node(id).vec);
            let same = scalars
                .next()
                .is_none_or(|first| scalars.all(|id| id == first));
            if !same && !takes_any(op) {
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

    /// A vector of different scalars, of which the first one is given.
    fn cycle(&mut self, group: &Group, first: Id) -> Option<Id> {
        let scalars: Vec<Id> = group.iter().map(|id| id.unwrap_or(first)).collect();
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
        let narrow = |&id: &Id| self.node(id).out.bits() == 32 || !self.node(id).vec;
        if !group.iter().flatten().all(narrow) {
            return None;
        }
        let alike = |wanted: bool| -> Group {
            let of = |id: &Option<Id>| id.filter(|&id| self.alike(first, id) == wanted);
            group.iter().map(of).collect()
        };
        let (firsts, others) = (alike(true), alike(false));
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
        let select = |(&a, &b): (&Id, &Id)| {
            self.push(Node {
                op: Inst::Alu(Op::Select),
                ty: Ty::B32,
                out: Ty::B32,
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
}
