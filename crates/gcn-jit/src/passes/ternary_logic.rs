//! Combines several bitwise operations with at most three operands in total into one operation.

use super::{Options, Plan};
use crate::ir::region::Block;
use crate::ir::{Id, Inst};
use gcn_isa::meaning::Op;

/// A bitwise operation on three values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ternary {
    /// Bit `4 a + 2 b + c` is the result for the bits a, b and c of the operands.
    pub table: u8,
    pub args: [Id; 3],
}

pub(super) fn run(block: &Block, options: &Options, plan: &mut Plan) {
    if !options.ternary_logic {
        return;
    }
    let mut count = vec![0u32; block.graph.len()];
    // Uses by dead values count, too. That is conservative.
    for node in &block.graph {
        for &a in node.inputs() {
            count[a as usize] += 1;
        }
    }
    for r in block.roots() {
        count[r as usize] += 2;
    }
    for &leaf in block.fast_paths.iter().flat_map(|r| &r.leaves) {
        if let Some(count) = count.get_mut(leaf as usize) {
            *count += 2;
        }
    }
    let logic = |id: Id| {
        let n = &block.graph[id as usize];
        n.vec
            && n.out.bits() == 32
            && n.ty.bits() == 32
            && matches!(n.op, Inst::Alu(Op::And | Op::Or | Op::Xor | Op::Not))
    };
    let mut inside = vec![false; block.graph.len()];
    for at in (0..block.graph.len()).rev() {
        let id = at as Id;
        if inside[at] || !logic(id) {
            continue;
        }
        let mut leaves: Vec<Id> = Vec::new();
        for &a in block.graph[at].inputs() {
            if !leaves.contains(&a) {
                leaves.push(a);
            }
        }
        let mut taken: Vec<Id> = Vec::new();
        while let Some((l, after)) = grow(block, &leaves, &|l| logic(l) && count[l as usize] == 1) {
            leaves = after;
            taken.push(l);
        }
        if taken.is_empty() && block.graph[at].op != Inst::Alu(Op::Not) {
            continue;
        }
        for &t in &taken {
            inside[t as usize] = true;
        }
        // The operand that is certainly in a register comes first.
        leaves.sort_by_key(|&l| !block.graph[l as usize].vec);
        while leaves.len() < 3 {
            leaves.push(leaves[0]);
        }
        let ternary = Ternary {
            table: table(block, id, true, &leaves, &taken),
            args: [leaves[0], leaves[1], leaves[2]],
        };
        plan.ternary.insert(id, ternary);
    }
}

/// Finds an operand that can be replaced by its own operands without exceeding three. Returns it and the new operands.
fn grow(block: &Block, leaves: &[Id], may: &dyn Fn(Id) -> bool) -> Option<(Id, Vec<Id>)> {
    leaves.iter().filter(|&&l| may(l)).find_map(|&l| {
        let mut after: Vec<Id> = leaves.iter().copied().filter(|&x| x != l).collect();
        for &a in block.graph[l as usize].inputs() {
            if !after.contains(&a) {
                after.push(a);
            }
        }
        (after.len() <= 3).then_some((l, after))
    })
}

/// Returns the truth table of a value by its leaves. `inside` are the values in between.
fn table(block: &Block, id: Id, root: bool, leaves: &[Id], inside: &[Id]) -> u8 {
    if !root && !inside.contains(&id) {
        let at = leaves.iter().position(|&l| l == id).unwrap_or(0);
        return [0xf0, 0xcc, 0xaa][at];
    }
    let n = &block.graph[id as usize];
    let arg = |k: usize| table(block, n.args[k], false, leaves, inside);
    match n.op {
        Inst::Alu(Op::And) => arg(0) & arg(1),
        Inst::Alu(Op::Or) => arg(0) | arg(1),
        Inst::Alu(Op::Xor) => arg(0) ^ arg(1),
        _ => !arg(0),
    }
}
