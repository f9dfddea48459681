//! The affine pass finds values that are a base plus a constant step from lane to lane within each 16 lanes.
//!
//! A *base* is four numbers of 32 bits, one for each slice of 16 lanes, computed at once before the slices. Most index and
//! address arithmetic is affine, and a memory access at an affine address does not depend on each lane's value. Some values are affine only
//! under a condition (all 16 lanes share a sum's carry, for example). The condition is a
//! [`Guard`](crate::ir::affine::Guard) of the block; if it fails for active lanes, the wave leaves the block for code without
//! affine values.
//!
//! Facts propagate from block to block: the VGPRs that are affine in all 64 lanes, regardless of EXEC. A block preserves
//! this for a VGPR that it writes if inactive lanes are dead: then it writes all 64 lanes.

mod address;
mod derive;
mod extract;
mod in_order;
#[cfg(test)]
mod tests;

pub use address::{Shape, row_of, within_register};
pub(crate) use extract::extract_affine;
pub(crate) use in_order::keep_order;

use crate::hash::Map;
use crate::ir::affine::{AffineVgprs, Trust};
use crate::ir::region::{Block, LiveLanes, Store, Terminator, WaveHelper, WaveHelperCall};
use crate::ir::{Id, Inst, Node};
use derive::{AffineValue, values};
use gcn_isa::meaning::Op;
use gcn_isa::shape::Ty;

/// Returns the writes of VGPRs that are affine and may write all lanes: their indices among the block's writes, and the steps.
fn affine_writes(c: &Block, lin: &[Option<AffineValue>]) -> Vec<(usize, i32)> {
    let mut out = Vec::new();
    // The VGPRs of these helpers are not among the block's writes.
    let other = |w: &WaveHelperCall| {
        !matches!(
            w.helper,
            WaveHelper::Atomic { .. } | WaveHelper::Store { .. }
        )
    };
    if c.effects.wave_helper.as_ref().is_some_and(other) {
        return out;
    }
    for (i, &(_, id, live)) in c.effects.vgprs.iter().enumerate() {
        if let Some(l) = lin[id as usize]
            && live == LiveLanes::Active
            && c.graph[id as usize].out != Ty::Bool
        {
            out.push((i, l.step));
        }
    }
    out
}

/// Returns the steps of two values of a graph under construction, if both are affine.
pub(crate) fn steps(graph: &[Node], state: &AffineVgprs, of: [Id; 2]) -> Option<[i32; 2]> {
    let lin = values(graph, state, Trust::Everything);
    let step = |id: Id| Some(lin[id as usize]?.step);
    Some([step(of[0])?, step(of[1])?])
}

/// What an all-active variant may assume of a plain block's operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Assumable {
    /// The result of a comparison for order, if it decides EXEC.
    Order,
    /// The result of a comparison for equality, or that a minimum or maximum has no effect.
    Always,
}

/// Returns what a variant may assume of operations on 32-bit integers whose steps are known. `None` if there are no such operations.
pub(crate) fn assumable(c: &Block, state: &AffineVgprs) -> Option<Assumable> {
    let kind = |n: &Node| {
        let [a, b, _] = n.args;
        let one = || c.graph[a as usize].vec != c.graph[b as usize].vec;
        match n.op {
            _ if !n.vec || n.ty.bits() != 32 || n.ty.is_float() => None,
            Inst::Alu(Op::Min | Op::Max) if one() => Some(Assumable::Always),
            Inst::Alu(Op::Eq | Op::Ne) => Some(Assumable::Always),
            Inst::Alu(Op::Lt | Op::Le | Op::Gt | Op::Ge) => Some(Assumable::Order),
            _ => None,
        }
    };
    let mut found = (c.graph.iter())
        .filter_map(|n| Some((kind(n)?, n)))
        .peekable();
    found.peek()?;
    let steps = values(&c.graph, state, Trust::Everything);
    let known = |n: &Node| n.args[..2].iter().all(|&id| steps[id as usize].is_some());
    found.filter(|(_, n)| known(n)).map(|(kind, _)| kind).max()
}

/// Returns the operation because of which a value of a block is not affine.
#[cfg(test)]
pub(crate) fn blamed(graph: &[Node], state: &AffineVgprs, id: Id) -> String {
    let found = values(graph, state, Trust::Everything);
    let is_affine = |id: Id| {
        found[id as usize].is_some() || matches!(graph[id as usize].op, Inst::Affine { .. })
    };
    let mut at = id;
    loop {
        let n = &graph[at as usize];
        if is_affine(at) {
            return "nothing".into();
        }
        match n.inputs().iter().find(|&&a| !is_affine(a)) {
            Some(&a) => at = a,
            None => {
                let step = |&a: &Id| match graph[a as usize].op {
                    Inst::Affine { step, .. } => step.to_string(),
                    _ => found[a as usize].map_or("?".into(), |l| l.step.to_string()),
                };
                let steps: Vec<_> = n.inputs().iter().map(step).collect();
                let text = n.to_string();
                let text = text.split(['%', ':']).next().unwrap_or_default();
                let text = text.trim_end_matches(|c: char| c.is_ascii_digit());
                return format!("{text} of steps {}", steps.join(", "));
            }
        }
    }
}

/// Returns the VGPRs that are affine after an all-active block, from those before it.
pub(crate) fn written(c: &Block, state: &AffineVgprs) -> AffineVgprs {
    let mut after = state.clone();
    after.retain(|&v, _| !c.effects.indexed.iter().any(|w| w.reaches(v)));
    for w in &c.effects.vgprs {
        after.remove(&w.0);
    }
    let lin = values(&c.graph, state, c.trust);
    for (i, step) in affine_writes(c, &lin) {
        after.insert(c.effects.vgprs[i].0, step);
    }
    after
}

/// Returns the VGPRs that are affine after a block, from those before it.
fn after_block(c: &Block, state: &AffineVgprs) -> AffineVgprs {
    // The interpreter may have run the block instead.
    let Some(may_write) = &c.may_write else {
        return AffineVgprs::new();
    };
    let mut after = state.clone();
    for w in may_write {
        after.remove(w);
    }
    after.retain(|&v, _| !c.effects.indexed.iter().any(|w| w.reaches(v)));
    for w in &c.effects.vgprs {
        after.remove(&w.0);
    }
    if !matches!(c.terminator, Terminator::Interpret { .. }) {
        let lin = values(&c.graph, state, c.trust);
        for (i, step) in affine_writes(c, &lin) {
            after.insert(c.effects.vgprs[i].0, step);
        }
    }
    after
}

/// Returns the VGPRs that are affine at each block's start, from those at the entry.
pub(crate) fn states(
    blocks: &[Block],
    entry: Option<(u64, AffineVgprs)>,
    is_live: &dyn Fn(u64, u16) -> bool,
) -> Vec<AffineVgprs> {
    let at: Map<u64, usize> = blocks
        .iter()
        .enumerate()
        .map(|(i, c)| (c.start, i))
        .collect();
    let mut before: Vec<Option<AffineVgprs>> = vec![None; blocks.len()];
    if let Some((entry, state)) = entry {
        let mut work = Vec::new();
        if let Some(&first) = at.get(&entry) {
            before[first] = Some(state);
            work.push(first);
        }
        let mut unseen = 0;
        loop {
            while let Some(i) = work.pop() {
                let c = &blocks[i];
                let after = after_block(c, before[i].as_ref().unwrap_or(&AffineVgprs::new()));
                for pc in c.successors() {
                    let Some(&j) = at.get(&pc) else { continue };
                    let joined = match &before[j] {
                        None => after.clone(),
                        Some(have) => {
                            let same = |&(v, step): &(&u16, &i32)| after.get(v) == Some(step);
                            have.iter()
                                .filter(same)
                                .map(|(&v, &step)| (v, step))
                                .collect()
                        }
                    };
                    if before[j].as_ref() != Some(&joined) {
                        before[j] = Some(joined);
                        work.push(j);
                    }
                }
            }
            // The remaining blocks are reached by unknown paths.
            match (unseen..blocks.len()).find(|&i| before[i].is_none()) {
                Some(i) => {
                    before[i] = Some(AffineVgprs::new());
                    work.push(i);
                    unseen = i;
                }
                None => break,
            }
        }
    }
    let mut before: Vec<_> = before.into_iter().map(Option::unwrap_or_default).collect();
    for (c, state) in blocks.iter().zip(&mut before) {
        state.retain(|&v, _| is_live(c.start, v));
    }
    before
}

/// Runs the pass on all blocks. Returns `false` if a deferred store has no affine address.
pub(crate) fn take(blocks: &mut [Block], state: Vec<AffineVgprs>) -> bool {
    for (c, state) in blocks.iter_mut().zip(state) {
        if !c.has_code() {
            c.affine.state = state;
        } else if !extract_affine(c, state) {
            return false;
        }
    }
    true
}

/// Returns true if the addresses of stores are affine in a graph under construction.
pub(crate) fn stores(graph: &[Node], state: &AffineVgprs, trust: Trust, stores: &[&Store]) -> bool {
    let lin = values(graph, state, trust);
    let linear = |s: &&Store| address::address(graph, &lin, address::store_of(s)).is_some();
    trust != Trust::Nothing && stores.iter().all(linear)
}
