//! Finds the values that are computed, and those whose exact bits are observed.
//!
//! Float arithmetic treats NaNs of any sign and payload alike, and it flushes a denormal operand itself. Only values with
//! other uses need exact NaNs and flushed denormals.
//!
//! Most of the host's operations choose NaNs as the interpreter does. A result of only such operations is not checked for NaNs.
//!
//! A selection may drop a NaN, as in functions that compute the usual case and then replace it where the argument is out of bounds. Where a
//! selection is observed, its result is checked instead of its operands.

use super::{Options, Plan};
use crate::ir::region::Block;
use crate::ir::{Id, Inst, Node};
use gcn_isa::meaning::Op;
use gcn_isa::shape::Ty;

pub(super) fn run(block: &Block, options: &Options, plan: &mut Plan) {
    let n = block.graph.len();
    for r in block.roots() {
        plan.live[r as usize] = true;
        plan.observed[r as usize] = true;
        plan.watched[r as usize] = true;
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
        let arithmetic = is_arithmetic(node);
        let passes = matches!(node.op, Inst::Alu(Op::Neg | Op::Abs | Op::Select));
        let selects = plan.watched[at] && selects_floats(block, plan, at as Id);
        for a in inputs(block, options, plan, at as Id) {
            let a = a as usize;
            plan.live[a] = true;
            if let Inst::FastPath(k) = node.op {
                let path = &block.fast_paths[k as usize];
                if a == node.args[1] as usize && !path.normal {
                    plan.observed[a] |= plan.observed[at];
                    plan.watched[a] |= plan.watched[at];
                    plan.needed[a] |= plan.needed[at];
                }
                plan.needed[a] |= path.leaves.contains(&(a as Id));
                continue;
            }
            plan.needed[a] |= plan.needed[at];
            let condition = node.op == Inst::Alu(Op::Select)
                && plan.extreme(at as Id).is_none()
                && a == plan.condition(at as Id, node) as usize;
            if !arithmetic && plan.needed[at] {
                plan.observed[a] |= !passes || condition || plan.observed[at];
                plan.watched[a] |= !passes || condition || plan.watched[at] && !selects;
            }
        }
    }
    plan_checks(block, options, plan);
    plan.late = late(block);
}

/// Returns for each value whether it is a scalar that depends on lanes.
pub(super) fn late(block: &Block) -> Vec<bool> {
    let mut late = vec![false; block.graph.len()];
    for (at, n) in block.graph.iter().enumerate() {
        let depends = n.op == Inst::Ballot || n.inputs().iter().any(|&i| late[i as usize]);
        late[at] = !n.vec && depends;
    }
    late
}

/// Returns the operands of an operation, including those of absorbed signs and fused operations.
fn inputs<'b>(
    block: &'b Block,
    options: &Options,
    plan: &Plan,
    id: Id,
) -> impl Iterator<Item = Id> + use<'b> {
    let (args, _) = operands(block, options, plan, id);
    let arity = plan.arity(id, &block.graph[id as usize]);
    args.into_iter()
        .take(arity)
        .chain(leaves(block, id).iter().copied())
}

/// Returns the inputs of the slow path of a value.
pub(super) fn leaves(block: &Block, id: Id) -> &[Id] {
    match block.graph[id as usize].op {
        Inst::FastPath(k) => &block.fast_paths[k as usize].leaves,
        _ => &[],
    }
}

/// The depth of selections of selections that is looked into.
const DEPTH: u32 = 8;

/// Returns true if a watched selection is checked for NaNs instead of its operands: some results of float arithmetic are among what it
/// may select.
fn selects_floats(block: &Block, plan: &Plan, id: Id) -> bool {
    is_selection(block, plan, id) && floats(block, plan, id, DEPTH, &|_| true) == Some(true)
}

/// Finds the results whose NaNs must be looked for, and the operations whose order of operands decides which NaN they give.
fn plan_checks(block: &Block, options: &Options, plan: &mut Plan) {
    let n = block.graph.len();
    // Values that are those of the interpreter to the bit, unless a check finds that they are not.
    let mut same = vec![false; n];
    for at in 0..n {
        let node = &block.graph[at];
        let id = at as Id;
        let operands = |plan: &Plan| inputs(block, options, plan, id).all(|a| same[a as usize]);
        same[at] = match makes_float_of(node) {
            _ if options.exact || compares(node) => true,
            None if is_selection(block, plan, id) && plan.watched[at] => {
                let differs = |id: Id| !same[id as usize];
                let checked = floats(block, plan, id, DEPTH, &differs) == Some(true);
                plan.check[at] = checked;
                checked || operands(plan)
            }
            None => operands(plan),
            Some(o) if chooses_same(block, options, plan, id, o) && operands(plan) => true,
            Some(_) => {
                plan.check[at] = plan.watched[at];
                plan.watched[at]
            }
        };
    }
    // Whatever is not checked must have the interpreter's NaNs, and so must what it is computed from.
    let mut exact = plan.watched.clone();
    for at in (0..n).rev().filter(|&at| plan.live[at]) {
        let node = &block.graph[at];
        if !exact[at] || plan.check[at] || compares(node) {
            continue;
        }
        plan.ordered[at] = makes_float_of(node).is_some();
        for a in inputs(block, options, plan, at as Id) {
            exact[a as usize] = true;
        }
    }
}

/// Returns true if an operation is float arithmetic, which treats all NaNs alike.
fn is_arithmetic(node: &Node) -> bool {
    matches!(node.op, Inst::Alu(op) if reads_any_nan(op) && node.ty.is_float())
}

/// Returns true if a value that is no float is computed from floats. Which NaN one of them is does not matter.
fn compares(node: &Node) -> bool {
    is_arithmetic(node) && !node.out.is_float()
}

/// Returns the operation of which a value is a float result that may be a NaN that no operand was.
fn makes_float_of(node: &Node) -> Option<Op> {
    match node.op {
        Inst::Alu(o) if makes_float(o) && matches!(node.out, Ty::F32 | Ty::F64) => Some(o),
        _ => None,
    }
}

/// Returns true if the host's operation gives the NaN that the interpreter gives, if it has the same operands in the same order: the first NaN
/// among them, made quiet, or the negative one without payload if there is none (docs/errata.md, float-nan).
pub(super) fn chooses_same(block: &Block, options: &Options, plan: &Plan, id: Id, o: Op) -> bool {
    let node = &block.graph[id as usize];
    let (_, neg) = operands(block, options, plan, id);
    // Without IEEE signalling NaNs stay, but the host makes them quiet.
    let quiet = block.float_mode().env32().ieee;
    let order = matches!(
        o,
        Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Mad
            | Op::Div
            | Op::Sqrt
            | Op::Floor
            | Op::Ceil
            | Op::RoundZero
            | Op::RoundEven
    );
    o == Op::IntToFloat
        || quiet && (o == Op::FloatToFloat || order && node.ty == node.out && neg == [false; 3])
}

fn is_selection(block: &Block, plan: &Plan, id: Id) -> bool {
    let node = &block.graph[id as usize];
    let selects = node.op == Inst::Alu(Op::Select) && node.out.bits() == 32;
    selects && node.vec && plan.extreme(id).is_none()
}

/// Returns whether a result of float arithmetic that `counts` is among the values that a value of 32 bits may be. `None` if the value may be a
/// constant that is no float, or if selections are nested more than `depth` deep.
fn floats(
    block: &Block,
    plan: &Plan,
    id: Id,
    depth: u32,
    counts: &dyn Fn(Id) -> bool,
) -> Option<bool> {
    let node = &block.graph[id as usize];
    let of = |id: Id| floats(block, plan, id, depth.checked_sub(1)?, counts);
    match node.op {
        Inst::Const(bits) => {
            let float = f32::from_bits(bits as u32);
            let quiet = [0x7fc0_0000, 0xffc0_0000].contains(&(bits as u32));
            (!float.is_nan() || quiet).then_some(false)
        }
        Inst::Alu(Op::Neg | Op::Abs) if node.ty == Ty::F32 => of(node.args[0]),
        Inst::Alu(Op::Select) if is_selection(block, plan, id) => {
            let args = plan.selections.get(&id).map_or(node.args, |s| s.args);
            Some(of(args[1])? | of(args[2])?)
        }
        Inst::Alu(o) if node.out == Ty::F32 && makes_float(o) => {
            Some(o != Op::IntToFloat && counts(id))
        }
        Inst::FastPath(_) if node.out == Ty::F32 => Some(counts(id)),
        _ => Some(false),
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
