//! Finds the values that are computed, and those whose exact bits are observed.
//!
//! Float arithmetic treats NaNs of any sign and payload alike, and it flushes a denormal operand itself. Only values with
//! other uses need exact NaNs and flushed denormals.

use super::{Options, Plan};
use crate::ir::region::Block;
use crate::ir::{Id, Inst};
use gcn_isa::meaning::Op;

pub(super) fn run(block: &Block, options: &Options, plan: &mut Plan) {
    let n = block.graph.len();
    for r in block.roots() {
        plan.live[r as usize] = true;
        plan.observed[r as usize] = true;
        plan.needed[r as usize] = true;
    }
    // Loads are computed even if the value is unused, because they may fault.
    for (at, node) in block.graph.iter().enumerate() {
        if matches!(
            node.op,
            Inst::Group { .. } | Inst::AffineLoad { .. } | Inst::SLoad { .. } | Inst::Row(_)
        ) {
            plan.live[at] = true;
        }
    }
    for at in (0..n).rev() {
        if !plan.live[at] {
            continue;
        }
        let node = &block.graph[at];
        let arithmetic = match node.op {
            Inst::Alu(op) => reads_any_nan(op) && node.ty.is_float(),
            _ => false,
        };
        let through =
            matches!(node.op, Inst::Alu(Op::Neg | Op::Abs | Op::Select)) && !plan.observed[at];
        for a in inputs(block, options, plan, at as Id) {
            let a = a as usize;
            plan.live[a] = true;
            if let Inst::FastPath(k) = node.op {
                let path = &block.fast_paths[k as usize];
                if a == node.args[1] as usize && !path.normal {
                    plan.observed[a] |= plan.observed[at];
                    plan.needed[a] |= plan.needed[at];
                }
                plan.needed[a] |= path.leaves.contains(&(a as Id));
                continue;
            }
            plan.needed[a] |= plan.needed[at];
            let condition = node.op == Inst::Alu(Op::Select)
                && plan.extreme(at as Id).is_none()
                && a == plan.condition(at as Id, node) as usize;
            if !arithmetic && (!through || condition) && plan.needed[at] {
                plan.observed[a] = true;
            }
        }
    }
    for at in 0..n {
        let node = &block.graph[at];
        plan.late[at] = !node.vec
            && (node.op == Inst::Ballot || node.inputs().iter().any(|&i| plan.late[i as usize]));
    }
}

/// Returns the operands of an operation, including those of absorbed signs and fused operations.
fn inputs(block: &Block, options: &Options, plan: &Plan, id: Id) -> Vec<Id> {
    let (args, _) = operands(block, options, plan, id);
    let mut all = args[..plan.arity(id, &block.graph[id as usize])].to_vec();
    all.extend_from_slice(leaves(block, id));
    all
}

/// Returns the inputs of the slow path of a value.
pub(super) fn leaves(block: &Block, id: Id) -> &[Id] {
    match block.graph[id as usize].op {
        Inst::FastPath(k) => &block.fast_paths[k as usize].leaves,
        _ => &[],
    }
}

/// Returns an operation's operands, and which of them are negated.
pub(super) fn operands(
    block: &Block,
    options: &Options,
    plan: &Plan,
    id: Id,
) -> ([Id; 3], [bool; 3]) {
    if let Some(ternary) = plan.ternary.get(&id) {
        return (ternary.args, [false; 3]);
    }
    if let Some(selection) = plan.selections.get(&id) {
        return (selection.args, [false; 3]);
    }
    let node = &block.graph[id as usize];
    let mut args = node.args;
    let mut neg = [false; 3];
    if let Inst::Alu(Op::Fma | Op::Mad | Op::Add | Op::Sub) = node.op
        && node.ty.is_float()
        && !options.exact
    {
        for k in 0..node.arity() {
            // The sign of a sum, or of a separately rounded product, must not be changed afterwards: that would round in
            // the other direction, and change the sign of zeros.
            let minus = matches!(node.op, Inst::Alu(Op::Sub));
            let alone = match node.op {
                Inst::Alu(Op::Mad) => k < 2,
                Inst::Alu(Op::Add | Op::Sub) => k == 1 && neg[0] && !minus,
                _ => false,
            };
            if alone || minus && k == 0 {
                continue;
            }
            let n = &block.graph[args[k] as usize];
            if n.op == Inst::Alu(Op::Neg) && n.ty == node.ty {
                args[k] = n.args[0];
                neg[k] = true;
            }
        }
    }
    (args, neg)
}

/// Returns true if an operation reads floats, and neither the sign and payload of a NaN matter nor whether a denormal was
/// flushed.
fn reads_any_nan(o: Op) -> bool {
    matches!(
        o,
        Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Fma
            | Op::Mad
            | Op::Div
            | Op::Sqrt
            | Op::Eq
            | Op::Ne
            | Op::Lt
            | Op::Le
            | Op::Gt
            | Op::Ge
            | Op::Unord
            | Op::Class
            | Op::FloatToInt
    )
}

/// Returns true if an operation computes a float.
pub(super) fn makes_float(o: Op) -> bool {
    !matches!(o, Op::Neg | Op::Abs | Op::Select)
}

/// Returns true if an operation of the host may give another NaN than the interpreter.
pub(super) fn chooses_nan(options: &Options, op: Op) -> bool {
    match op {
        Op::IntToFloat => false,
        // The host keeps sign and payload, and makes the NaN quiet.
        Op::FloatToFloat => !options.mode.env32().ieee,
        op => makes_float(op),
    }
}
