//! Decides for each value with a fast path how its slow path is called, depending on its operands.

use super::demand::makes_float;
use super::{Options, Plan};
use crate::ir::fast_path::Leaf;
use crate::ir::region::Block;
use crate::ir::{Id, Inst};
use gcn_isa::meaning::Op;
use gcn_isa::shape::Ty;

/// How the slow path of a value is called.
pub(crate) struct SlowPathCall {
    /// The index in [`Block::fast_paths`].
    pub number: u16,
    pub leaves: Vec<Leaf>,
    /// The size of the result in bits.
    pub bits: u32,
}

pub(super) fn run(block: &Block, options: &Options, plan: &mut Plan) {
    for (at, node) in block.graph.iter().enumerate() {
        let Inst::FastPath(number) = node.op else {
            continue;
        };
        if !plan.live[at] {
            continue;
        }
        let of = |&l: &Id| leaf(block, options, plan, l);
        let leaves: Vec<Leaf> = block.fast_paths[number as usize]
            .leaves
            .iter()
            .map(of)
            .collect();
        plan.checks |= leaves.iter().any(|l| l.raw);
        plan.slow_paths.push(SlowPathCall {
            number,
            leaves,
            bits: node.out.bits(),
        });
    }
}

fn leaf(block: &Block, options: &Options, plan: &Plan, id: Id) -> Leaf {
    let out = block.graph[id as usize].out;
    let env = match out {
        Ty::F64 => block.float_mode().env64(),
        _ => block.float_mode().env32(),
    };
    let daz = block.fp.is_some_and(|f| f.daz);
    Leaf {
        bits: out.bits().max(if out == Ty::Bool { 1 } else { 32 }),
        raw: raw(block, options, plan, id),
        flushed: env.flush_in || env.flush_out || daz,
    }
}

/// Returns true if a float's NaN may differ from the interpreter's, and its denormal may still have to be flushed, because only
/// arithmetic uses it.
fn raw(block: &Block, options: &Options, plan: &Plan, id: Id) -> bool {
    if options.exact {
        return false;
    }
    let raw = |id: Id| raw(block, options, plan, id);
    let n = &block.graph[id as usize];
    match n.op {
        Inst::Alu(Op::Neg | Op::Abs) if n.ty.is_float() => raw(n.args[0]),
        Inst::Alu(Op::Select) => n.args[1..].iter().any(|&a| raw(a)),
        Inst::Alu(o) => n.out.is_float() && makes_float(o) && !plan.watched[id as usize],
        Inst::FastPath(k) if !block.fast_paths[k as usize].normal => raw(n.args[1]),
        _ => false,
    }
}
