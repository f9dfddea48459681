//! Orders the vector operations of a block and the writes of its VGPRs.
//!
//! A VGPR that the block does not read is written as soon as its value is computed. A VGPR that it reads is written after
//! all operations, since the block must be able to restart.

use super::demand::{chooses_same, leaves, makes_float, operands};
use super::lists::Lists;
use super::{Options, Plan, VectorOp};
use crate::hash::Map;
use crate::ir::region::Block;
use crate::ir::{Id, Inst};
use gcn_isa::meaning::Op;
use gcn_isa::shape::Ty;

pub(super) fn run(block: &Block, options: &Options, plan: &mut Plan) {
    let writes = &block.effects.vgprs;
    let last = match options.precise {
        true => vec![true; writes.len()],
        false => block.reads_what_it_writes(),
    };
    let commit = |i: usize| VectorOp {
        id: writes[i].1,
        args: [writes[i].1, 0, 0],
        neg: [false; 3],
        check: false,
        flush: false,
        fix: false,
        commit: Some(i),
    };
    let mut early: Map<Id, Vec<usize>> = Map::default();
    for (i, w) in writes.iter().enumerate() {
        if !last[i] {
            early.entry(w.1).or_default().push(i);
        }
    }
    for (at, node) in block.graph.iter().enumerate() {
        let id = at as Id;
        if !plan.live[at] {
            continue;
        }
        let leaf = matches!(
            node.op,
            Inst::Const(_)
                | Inst::VIn(_)
                | Inst::SIn(_)
                | Inst::SccIn
                | Inst::Lane
                | Inst::Exec
                | Inst::Part(_)
                | Inst::Affine { .. }
        );
        if node.vec && !leaf {
            let op = operation(block, options, plan, id);
            plan.checks |= op.check;
            plan.ops.push(op);
        }
        for &i in early.get(&id).into_iter().flatten() {
            if node.vec && !matches!(node.op, Inst::Group { .. } | Inst::AffineLoad { .. }) {
                plan.ops.push(commit(i));
            }
        }
    }
    for (i, w) in writes.iter().enumerate() {
        if !last[i] && !block.graph[w.1 as usize].vec {
            plan.ops.push(commit(i));
        }
    }
    for (i, &last) in last.iter().enumerate() {
        if last {
            plan.ops.push(commit(i));
        }
    }
    plan.uses = uses(block, plan, &plan.ops);
}

fn operation(block: &Block, options: &Options, plan: &Plan, id: Id) -> VectorOp {
    let at = id as usize;
    let node = &block.graph[at];
    let (args, neg) = operands(block, options, plan, id);
    let mut op = VectorOp {
        id,
        args,
        neg,
        check: plan.check[at],
        flush: false,
        fix: false,
        commit: None,
    };
    if let Inst::Alu(o) = node.op
        && (node.out == Ty::F32 || node.out == Ty::F64)
        && makes_float(o)
    {
        let env = match node.out {
            Ty::F32 => block.float_mode().env32(),
            _ => block.float_mode().env64(),
        };
        let observed = plan.observed[at];
        op.fix = options.exact && plan.needed[at] && !chooses_same(block, options, plan, id, o);
        if op.fix && o == Op::FloatToFloat {
            (op.check, op.fix) = (true, false);
        }
        // The host flushes results that it rounds (FpEnv), but not minima and maxima, nor the results of conversions
        // in the operands' environment. Scaled numbers are flushed here, too, to be certain.
        op.flush = env.flush_out
            && match o {
                Op::FloatToFloat => node.ty == Ty::F64,
                Op::Min | Op::Max | Op::Ldexp => observed || !env.flush_in,
                _ => false,
            };
    }
    op
}

/// Returns [`Plan::uses`] of operations in this order.
pub(super) fn uses(block: &Block, plan: &Plan, ops: &[VectorOp]) -> Lists {
    let mut uses: Vec<(Id, u32)> = Vec::with_capacity(3 * ops.len());
    // The last use of each value so far.
    let mut last = vec![u32::MAX; block.graph.len()];
    for (pos, op) in ops.iter().enumerate() {
        let pos = pos as u32;
        let arity = match op.commit {
            Some(_) => 1,
            None => plan.arity(op.id, &block.graph[op.id as usize]),
        };
        for &a in &op.args[..arity] {
            // The parts of a load are available after the load.
            uses.push((a, pos));
            last[a as usize] = pos;
        }
        if op.commit.is_none() {
            // Guards are checked where they are computed.
            if block.guards.contains(&op.id) {
                uses.push((op.id, pos + 1));
            }
            for &a in leaves(block, op.id) {
                if last[a as usize] != pos {
                    uses.push((a, pos));
                    last[a as usize] = pos;
                }
            }
        }
    }
    let end = ops.len() as u32;
    let e = &block.effects;
    let mut at_end = |id: Id| uses.push((id, end));
    for s in e.store.iter().chain(&e.deferred_stores) {
        [s.lo, s.hi].iter().chain(&s.data).for_each(|&a| at_end(a));
    }
    let computed = |g: Id| ops.iter().any(|op| op.id == g && op.commit.is_none());
    let other = |g: &&Id| block.graph[**g as usize].vec && !computed(**g);
    block.guards.iter().filter(other).for_each(|&g| at_end(g));
    for &id in e.wave_helper.iter().flat_map(|w| &w.inputs) {
        at_end(id);
    }
    for access in e.accesses.iter().filter(|n| !n.is_uniform(&block.graph)) {
        at_end(access.lo);
        at_end(access.hi);
    }
    for w in &e.indexed {
        at_end(w.value);
    }
    for &(address, _, value) in &e.rows {
        at_end(address);
        at_end(value);
    }
    for (at, node) in block.graph.iter().enumerate() {
        if node.op == Inst::Ballot && plan.live[at] {
            at_end(node.args[0]);
        }
    }
    Lists::of(block.graph.len(), &uses)
}
