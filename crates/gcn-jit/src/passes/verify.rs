//! Checks that plans keep the rules of the IR.

use super::{Options, Plan};
use crate::ir::region::Block;
use crate::ir::verify::{Verified, rule};
use crate::ir::{Id, Inst, Node};

/// Checks the plan of a block after a pass. When the last pass has run it checks the order, too: every operation comes after
/// its operands, and **nothing that the block reads is written before the last operation**, since any operation may leave
/// the block.
pub(super) fn plan(b: &Block, options: &Options, plan: &Plan, last: bool) -> Verified {
    for (&id, t) in &plan.ternary {
        rule!(
            t.args.iter().all(|&a| a < id),
            "%{id} is fused with what is not before it"
        );
    }
    for (&id, s) in &plan.selections {
        let arity = plan.arity(id, &b.graph[id as usize]);
        rule!(
            s.args[..arity].iter().all(|&a| a < id),
            "%{id} selects by what is not before it"
        );
    }
    if !last {
        return Ok(());
    }
    let mut computed = vec![false; b.graph.len()];
    let mut written = vec![false; b.effects.vgprs.len()];
    let reads = b.vgprs_read();
    let operations = plan.ops.iter().rposition(|op| op.commit.is_none());
    let operations = operations.map_or(0, |at| at + 1);
    let leaf = |n: &Node| !n.vec || n.inputs().is_empty() || matches!(n.op, Inst::Part(_));
    for (at, op) in plan.ops.iter().enumerate() {
        let there = |id: Id| {
            let node = &b.graph[id as usize];
            match node.op {
                Inst::Part(_) => {
                    let load = node.args[0] as usize;
                    !b.graph[load].vec || computed[load]
                }
                _ => {
                    leaf(node) && !matches!(node.op, Inst::AffineLoad { .. })
                        || computed[id as usize]
                }
            }
        };
        if let Some(write) = op.commit {
            let (v, id, _) = b.effects.vgprs[write];
            rule!(there(id), "v{v} takes %{id} before that is computed");
            rule!(!written[write], "v{v} is written twice");
            written[write] = true;
            let read = options.precise || reads.as_ref().is_none_or(|r| r.contains(&v));
            rule!(
                !read || at >= operations,
                "v{v}, which the block reads, is written before the last operation"
            );
            continue;
        }
        let arity = plan.arity(op.id, &b.graph[op.id as usize]);
        for &a in &op.args[..arity] {
            rule!(there(a), "%{} is computed before its operand %{a}", op.id);
        }
        rule!(!computed[op.id as usize], "%{} is computed twice", op.id);
        computed[op.id as usize] = true;
    }
    rule!(written.iter().all(|&w| w), "a VGPR is not written");
    Ok(())
}
