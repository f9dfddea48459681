//! Checks that blocks and plans keep the rules of the IR. Debug builds run it after the frontend and after every pass.

use super::region::{AssumedCompare, Block, Region, Terminator};
use super::{Id, Inst, Node};
use crate::ir::affine::BaseKind;
use gcn_isa::meaning::Op;
use gcn_isa::shape::Ty;
use std::collections::HashSet;

/// The result of a check: an error names the broken rule and the block.
pub type Verified = Result<(), String>;

/// Returns an error with the text unless a rule holds.
macro_rules! rule {
    ($holds:expr, $($text:tt)+) => {
        if !$holds {
            return Err(format!($($text)+));
        }
    };
}

pub(crate) use rule;

/// Checks a region: each block, and that control flow stays within it.
pub fn region(region: &Region) -> Verified {
    let starts: HashSet<u64> = region.blocks.iter().map(|b| b.start).collect();
    rule!(
        starts.len() == region.blocks.len(),
        "two blocks begin at one address"
    );
    let continued: HashSet<u64> = region.continuations.iter().map(|b| b.start).collect();
    rule!(
        continued.len() == region.continuations.len(),
        "two continuations begin at one address"
    );
    for b in region.blocks.iter().chain(&region.continuations) {
        let all_active = [b.all_active.as_deref(), b.assuming_less.as_deref()];
        let variants = [Some(b), b.joined.as_deref()].into_iter().chain(all_active);
        for b in variants.flatten() {
            for pc in b.targets() {
                rule!(starts.contains(&pc), "no block begins at {pc:#x}\n{b}");
            }
            for pc in &b.continued {
                let leads = b.is_all_active && b.successors().any(|to| to == *pc);
                rule!(
                    leads && continued.contains(pc),
                    "no continuation at {pc:#x}, or the block may not lead there\n{b}"
                );
            }
            let mode = b.effects.mode.unwrap_or(b.mode);
            let leaves = matches!(b.terminator, Terminator::Interpret { jumps: true, .. });
            let leads = |to: &Block| !leaves && b.targets().any(|pc| pc == to.start);
            let suits = |to: &Block| to.mode == mode || !leads(to);
            rule!(
                (region.blocks.iter())
                    .all(|to| matches!(to.terminator, Terminator::Leave) || suits(to)),
                "a successor has another MODE\n{b}"
            );
            block(b).map_err(|e| format!("{e}\n{b}"))?;
        }
    }
    for a in &region.continuations {
        rule!(
            starts.contains(&a.start),
            "a continuation begins where no block does\n{a}"
        );
        all_active(a, a.start)?;
        if let Some(several) = &a.all_active {
            all_active(several, a.start)?;
            rule!(
                several.all_active.is_none(),
                "a variant of a continuation has a variant\n{several}"
            );
        }
    }
    for b in &region.blocks {
        for a in b
            .all_active
            .iter()
            .chain(&b.assuming_less)
            .chain(&b.of_grid)
        {
            all_active(a, b.start)?;
            rule!(a.all_active.is_none(), "a variant has a variant\n{a}");
        }
        if let Some(a) = &b.joined {
            rule!(
                a.start == b.start && a.all_active.is_none() && a.joined.is_none(),
                "a joined variant begins elsewhere\n{a}"
            );
            rule!(
                !a.is_all_active && a.assumed.iter().all(|d| uniform(a, d)),
                "a joined variant assumes something of lanes\n{a}"
            );
            rule!(
                a.replaces.first() == Some(&b.start) && a.replaces.len() > 1,
                "a joined variant does not replace blocks\n{a}"
            );
        }
        rule!(
            b.skipped.is_empty() && (b.is_all_active || b.assumed.iter().all(|d| uniform(b, d))),
            "a plain block skips, or assumes something of lanes\n{b}"
        );
    }
    Ok(())
}

/// Checks what is particular to an all-active block, a variant of the plain block at an address.
fn all_active(a: &Block, start: u64) -> Verified {
    rule!(
        a.start == start && a.assuming_less.is_none(),
        "a variant begins elsewhere\n{a}"
    );
    rule!(a.is_all_active, "a variant has inactive lanes\n{a}");
    rule!(
        a.joined.is_none() && a.skipped.is_empty(),
        "a variant has one of its own, or skips\n{a}"
    );
    rule!(
        a.replaces.first() == Some(&start),
        "a variant does not replace its block\n{a}"
    );
    Ok(())
}

/// Returns true if an assumption compares scalars.
fn uniform(b: &Block, d: &AssumedCompare) -> bool {
    d.of.iter().all(|&id| !b.graph[id as usize].vec)
}

/// Checks a block.
pub fn block(b: &Block) -> Verified {
    let n = b.graph.len();
    for (at, node) in b.graph.iter().enumerate() {
        for &a in node.inputs() {
            rule!(
                (a as usize) < at,
                "%{at} reads %{a}, which is not before it"
            );
        }
        value(b, at as Id, node)?;
    }
    for id in b.roots() {
        rule!((id as usize) < n, "%{id} is used and not there");
    }
    environment(b)?;
    late(b)?;
    effects(b)?;
    affine(b)
}

/// Checks a value: the classes and types of its operands.
fn value(b: &Block, id: Id, node: &Node) -> Verified {
    let of = |k: usize| &b.graph[node.args[k] as usize];
    match node.op {
        Inst::Const(_) | Inst::SIn(_) | Inst::SccIn => {
            rule!(!node.vec, "%{id} is scalar but has lanes");
        }
        Inst::VIn(_) | Inst::Lane | Inst::Exec | Inst::Cycle | Inst::MaskOf | Inst::Row(_) => {
            rule!(node.vec, "%{id} has lanes but is scalar");
        }
        Inst::LaneIn(_) | Inst::Ballot | Inst::SLoad { .. } => {
            rule!(!node.vec, "%{id} is scalar but has lanes");
            rule!(
                node.op == Inst::Ballot || !of(0).vec,
                "%{id} takes a scalar, %{} has lanes",
                node.args[0]
            );
        }
        Inst::Part(n) => match of(0).op {
            Inst::Group { count, .. }
            | Inst::AffineLoad { count, .. }
            | Inst::SLoad { count, .. } => {
                rule!(n < count, "%{id} is part {n} of {count}");
            }
            _ => rule!(false, "%{id} is a part of no load"),
        },
        Inst::FastPath(k) => {
            let path = b.fast_paths.get(k as usize);
            rule!(path.is_some(), "%{id} has no slow path");
            let before = |&&l: &&Id| l < id;
            let leaves = path.map_or(&[][..], |p| &p.leaves);
            rule!(
                leaves.iter().filter(before).count() == leaves.len(),
                "%{id}'s slow path reads what is not before it"
            );
        }
        Inst::Alu(op) => {
            let lanes = node.inputs().iter().any(|&a| b.graph[a as usize].vec);
            rule!(node.vec || !lanes, "%{id} is scalar but reads lanes");
            if let Some(out) = op.out(node.ty) {
                rule!(
                    // Scalars are zero-extended in 64 bits.
                    out.bits() == node.out.bits() || !node.vec && out.bits() < node.out.bits(),
                    "%{id} is {:?}, {} of {:?} is {out:?}",
                    node.out,
                    op.name(),
                    node.ty
                );
            }
            if op == Op::Select {
                rule!(
                    of(0).out.bits() == 1 || matches!(of(0).op, Inst::Const(_)),
                    "%{id}'s condition is not a truth value"
                );
            }
        }
        _ => {}
    }
    Ok(())
}

/// Checks that the block has a floating-point environment if a live value needs one.
fn environment(b: &Block) -> Verified {
    for (id, live) in b.live().into_iter().enumerate() {
        let node = &b.graph[id];
        let exact = matches!(node.op, Inst::Alu(Op::FloatToFloat)) && node.ty == Ty::F16;
        let compare = node.out == Ty::Bool;
        rule!(
            !live || !node.rounds() || exact || compare || b.fp.is_some(),
            "%{id} depends on a floating-point environment, the block has none"
        );
    }
    Ok(())
}

/// Checks that vectors do not read scalars that depend on lanes: these are computed after them.
fn late(b: &Block) -> Verified {
    let mut late = vec![false; b.graph.len()];
    for (at, node) in b.graph.iter().enumerate() {
        let reads = node.inputs().iter().any(|&a| late[a as usize]);
        // The lane's bit is taken from the truth value, so this node has no code.
        rule!(
            !(node.vec && reads) || node.op == Inst::ShrLane,
            "%{at} has lanes and reads a scalar that depends on lanes"
        );
        late[at] = !node.vec && (reads || node.op == Inst::Ballot);
    }
    let e = &b.effects;
    let vgprs = e.vgprs.iter().map(|w| w.1);
    let stores = e.store.iter().chain(&e.deferred_stores);
    let stored = stores.flat_map(|s| s.data.iter().copied().chain([s.lo, s.hi]));
    let assumed = b.assumed.iter().flat_map(|a| a.of);
    let indexed = e.indexed.iter().flat_map(|w| [w.number, w.value]);
    let needed = vgprs.chain(stored).chain(b.guards.iter().copied());
    let needed = needed.chain(indexed);
    for id in needed.chain(assumed) {
        rule!(
            !late[id as usize],
            "%{id} depends on lanes and is needed before their end"
        );
    }
    Ok(())
}

fn effects(b: &Block) -> Verified {
    let e = &b.effects;
    let node = |id: Id| &b.graph[id as usize];
    for w in e.vgprs.windows(2) {
        rule!(w[0].0 < w[1].0, "v{} is written twice", w[1].0);
    }
    for w in e.sgprs.windows(2) {
        rule!(w[0].0 < w[1].0, "s{} is written twice", w[1].0);
    }
    for &(v, id, _) in &e.vgprs {
        rule!(
            node(id).out.bits() <= 32 || matches!(node(id).op, Inst::Const(_)),
            "v{v} takes {} bits",
            node(id).out.bits()
        );
    }
    for id in e.sgprs.iter().map(|w| w.1).chain(e.scc) {
        rule!(
            !node(id).vec,
            "a scalar register takes %{id}, which has lanes"
        );
    }
    for &(id, count) in &b.skipped {
        rule!(
            !node(id).vec && count <= b.insns,
            "{count} instructions of {} are skipped by %{id}",
            b.insns
        );
    }
    for w in &e.indexed {
        rule!(
            !node(w.number).vec && w.first < w.end,
            "a VGPR is written by number %{}, which has lanes or reaches none",
            w.number
        );
        rule!(
            node(w.value).out.bits() <= 32 || matches!(node(w.value).op, Inst::Const(_)),
            "a VGPR takes {} bits",
            node(w.value).out.bits()
        );
    }
    for &(_, lane, value) in &e.lane_inserts {
        rule!(
            !node(lane).vec && !node(value).vec,
            "a lane is inserted by number %{lane} of value %{value}, one of which has lanes"
        );
    }
    if let Terminator::Branch { when, .. } | Terminator::Indirect { to: when, .. } = b.terminator {
        rule!(
            !node(when).vec,
            "the terminator depends on %{when}, which has lanes"
        );
    }
    rule!(
        e.mode.is_none() || matches!(b.terminator, Terminator::Jump(_)),
        "MODE changes before another instruction"
    );
    rule!(
        b.has_code() || b.graph.is_empty(),
        "a block without code computes values"
    );
    Ok(())
}

fn affine(b: &Block) -> Verified {
    let a = &b.affine;
    for (n, op) in a.ops.iter().enumerate() {
        for &arg in op.inputs() {
            rule!(
                (arg as usize) < n,
                "b{n} reads b{arg}, which is not before it"
            );
        }
        if let BaseKind::Scalar(id) = op.op {
            rule!(
                !b.graph[id as usize].vec,
                "b{n} is of %{id}, which has lanes"
            );
        }
    }
    let bases = a.ops.len();
    for at in &a.addresses {
        rule!(
            (at.lo as usize) < bases && (at.limit.is_some() || (at.hi as usize) < bases),
            "an address has no base"
        );
    }
    for node in &b.graph {
        match node.op {
            Inst::Affine { base, .. } => {
                let stored = a.ops.get(base as usize).is_some_and(|q| q.stored);
                rule!(stored, "lanes read b{base}, which is not stored");
            }
            Inst::AffineLoad { address, .. } => {
                rule!(
                    (address as usize) < a.addresses.len(),
                    "a{address} is not there"
                );
            }
            _ => {}
        }
    }
    for w in &a.writes {
        rule!((w.1 as usize) < bases, "v{} takes b{}", w.0, w.1);
    }
    rule!(
        a.stores.is_empty() || a.stores.len() == b.effects.deferred_stores.len(),
        "a deferred store has no address"
    );
    Ok(())
}
