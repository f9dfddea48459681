//! Handles accesses of several dwords per lane that are contiguous over lanes, such as vectors or colours. If every computation does
//! the same operation on each of a lane's elements, the order of lanes and elements in registers does not matter. Then loads and
//! stores use the order of memory, without a transposition of lanes and elements.

use crate::hash::Map;
use crate::ir::region::{Block, Store};
use crate::ir::{Id, Inst};

/// Values that apply the same operation to each element of the lanes.
struct Elements<'a> {
    c: &'a Block,
    /// The number of elements.
    count: usize,
    /// For each such value: the first element's value, and the number of its own element.
    of: Map<Id, (Id, usize)>,
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

/// Gives the order of memory to stores and to everything that they depend on. Returns `false` and changes nothing if that is not possible.
fn together(c: &mut Block, stores: &[usize], count: usize) -> bool {
    let mut e = Elements {
        c,
        count,
        of: Map::default(),
        loads: Vec::new(),
        shared: Map::default(),
    };
    let data = stores
        .iter()
        .filter_map(|&n| Some(store(c, n)?.0.data.clone()));
    if !e.take(data.collect()) || e.loads.is_empty() || !e.closed(stores) {
        return false;
    }
    for load in e.loads {
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

impl Elements<'_> {
    /// Collects the elements of stores and their operands, down to loads and to values that all elements share.
    fn take(&mut self, mut work: Vec<Vec<Id>>) -> bool {
        while let Some(ids) = work.pop() {
            let first = ids[0];
            if ids.iter().all(|&id| id == first) {
                if !self.is_shared(first) {
                    return false;
                }
                continue;
            }
            let location = |(k, id): (usize, &Id)| self.of.get(id) == Some(&(first, k));
            if ids.iter().enumerate().all(location) {
                continue;
            }
            for (k, &id) in ids.iter().enumerate() {
                if self.of.insert(id, (first, k)).is_some() {
                    return false;
                }
            }
            let node = |id: Id| &self.c.graph[id as usize];
            let n = node(first);
            let alike = |&id: &Id| {
                let m = node(id);
                (m.vec, m.ty, m.out) == (true, n.ty, n.out)
            };
            if !ids.iter().all(alike) {
                return false;
            }
            match n.op {
                Inst::Part(_) => {
                    let load = n.args[0];
                    let element = |(k, &id): (usize, &Id)| {
                        node(id).op == Inst::Part(k as u8) && node(id).args[0] == load
                    };
                    if !ids.iter().enumerate().all(element) || !self.is_dense_load(load) {
                        return false;
                    }
                    self.loads.push(load);
                }
                Inst::Alu(op) if ids.iter().all(|&id| node(id).op == n.op) => {
                    for k in 0..op.arity() {
                        work.push(ids.iter().map(|&id| node(id).args[k]).collect());
                    }
                }
                _ => return false,
            }
        }
        true
    }

    fn is_dense_load(&self, id: Id) -> bool {
        match self.c.graph[id as usize].op {
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
        let n = self.c.graph[id as usize];
        let shared = match n.op {
            _ if !n.vec => true,
            Inst::Affine { step, .. } => step == 0,
            Inst::VIn(v) => self.c.affine.state.get(&v) == Some(&0),
            Inst::Part(_) => matches!(
                self.c.graph[n.args[0] as usize].op,
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

    /// Returns true if only these stores use the elements.
    fn closed(&self, stores: &[usize]) -> bool {
        let c = self.c;
        let mut roots = c.roots();
        // Each store counts once.
        for &n in stores {
            for id in store(c, n).map_or(&[][..], |(s, _)| &s.data) {
                if let Some(at) = roots.iter().position(|root| root == id) {
                    roots.swap_remove(at);
                }
            }
        }
        if roots.iter().any(|id| self.of.contains_key(id)) {
            return false;
        }
        let mut live = vec![false; c.graph.len()];
        for id in c.roots() {
            live[id as usize] = true;
        }
        for at in (0..c.graph.len()).rev() {
            if !live[at] {
                continue;
            }
            let n = &c.graph[at];
            let leaves = match n.op {
                Inst::FastPath(k) => &c.fast_paths[k as usize].leaves[..],
                _ => &[],
            };
            let inside = self.of.contains_key(&(at as Id));
            for &id in n.inputs().iter().chain(leaves) {
                live[id as usize] = true;
                let element = self.of.contains_key(&id) || self.loads.contains(&id);
                if element && !inside {
                    return false;
                }
            }
        }
        true
    }
}
