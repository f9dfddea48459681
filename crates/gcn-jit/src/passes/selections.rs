//! Simplifies selections by truth values.
//!
//! A selection between the operands of the comparison that decides it is a minimum or a maximum. A comparison is false in inactive lanes,
//! for which it is combined with EXEC. The condition of a value that nothing observes in inactive lanes need not be.

use super::{Options, Plan};
use crate::ir::region::Block;
use crate::ir::{Id, Inst, limited_to_active};
use gcn_isa::meaning::Op;
use gcn_isa::shape::Ty;

/// What a selection, or the conversion of a truth value to a number, is computed from instead of its own operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Selected {
    pub args: [Id; 3],
    /// It is the smaller or the larger one of the first two operands.
    pub extreme: Option<Extreme>,
}

/// A minimum or maximum. Of floats it is the first operand if that is less (greater) than the second one, otherwise the second: so it is
/// the second one if they are equal, such as zeros of both signs, or if either is a NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Extreme {
    pub largest: bool,
    /// The type as which the operands are compared: f32, or integers of 32 bits.
    pub ty: Ty,
}

pub(super) fn run(block: &Block, options: &Options, plan: &mut Plan) {
    if !options.selections {
        return;
    }
    let everywhere = observed_everywhere(block);
    for (at, node) in block.graph.iter().enumerate() {
        let selects = node.op == Inst::Alu(Op::Select);
        let converts = node.op == Inst::Alu(Op::Zext) && node.ty == Ty::Bool;
        if !node.vec || !selects && !converts {
            continue;
        }
        let mut args = node.args;
        args[0] = condition(block, args[0], everywhere[at]);
        let mut extreme = None;
        if selects {
            while block.graph[args[0] as usize].op == Inst::Alu(Op::Not) {
                let negated = block.graph[args[0] as usize].args[0];
                args = [condition(block, negated, everywhere[at]), args[2], args[1]];
            }
            if let Some((which, of)) = extreme_of(block, node.out, args) {
                extreme = Some(which);
                args = [of[0], of[1], 0];
            }
        }
        // The scalars that are computed before the vectors are those that the block's own operands name.
        let vector = block.graph[args[0] as usize].vec || extreme.is_some();
        if args != node.args && vector {
            plan.selections.insert(at as Id, Selected { args, extreme });
        }
    }
}

/// Returns a condition without EXEC, unless the value that it decides is observed in inactive lanes.
fn condition(block: &Block, mut id: Id, everywhere: bool) -> Id {
    while let Some(other) = limited_to_active(&block.graph, &block.graph[id as usize])
        && !everywhere
    {
        id = other;
    }
    id
}

/// Returns the minimum or maximum that a selection is, and its operands in order.
fn extreme_of(block: &Block, out: Ty, [condition, yes, no]: [Id; 3]) -> Option<(Extreme, [Id; 2])> {
    let compare = &block.graph[condition as usize];
    let Inst::Alu(op) = compare.op else {
        return None;
    };
    let [a, b, _] = compare.args;
    let ty = compare.ty;
    if !compare.vec || ty.bits() != 32 || out.bits() != 32 {
        return None;
    }
    let (less, or_equal) = match op {
        Op::Lt => (true, false),
        Op::Gt => (false, false),
        Op::Le => (true, true),
        Op::Ge => (false, true),
        _ => return None,
    };
    // With "denormals are zeros" the host's minimum would flush the operand that the selection passes on. A selection by "less or equal"
    // passes on another one of two zeros, and of a number and a NaN.
    let exact = match ty {
        Ty::F32 => !or_equal && block.fp.is_some_and(|fp| !fp.daz),
        _ => !ty.is_float(),
    };
    if !exact || ty == Ty::F32 && block.float_mode().env32().flush_in {
        return None;
    }
    let largest = match (yes == a && no == b, yes == b && no == a) {
        (true, _) => !less,
        (_, true) => less,
        _ => return None,
    };
    Some((Extreme { largest, ty }, [yes, no]))
}

/// Returns for each value whether it may be observed in inactive lanes. VGPRs' writes and stores observe active lanes only.
fn observed_everywhere(block: &Block) -> Vec<bool> {
    let mut everywhere = vec![false; block.graph.len()];
    let e = &block.effects;
    let stores = e.store.iter().chain(&e.deferred_stores);
    let addresses = stores.flat_map(|s| [s.lo, s.hi]);
    let rows = e
        .rows
        .iter()
        .flat_map(|&(address, _, value)| [address, value]);
    let helper = e.wave_helper.iter().flat_map(|w| &w.inputs).copied();
    let accesses = e.accesses.iter().flat_map(|n| [n.lo, n.hi]);
    let guards = block.guards.iter().copied();
    let roots = addresses
        .chain(rows)
        .chain(helper)
        .chain(accesses)
        .chain(guards);
    roots.for_each(|id| everywhere[id as usize] = true);
    for path in &block.fast_paths {
        for &leaf in &path.leaves {
            if let Some(everywhere) = everywhere.get_mut(leaf as usize) {
                *everywhere = true;
            }
        }
    }
    for at in (0..block.graph.len()).rev() {
        let node = &block.graph[at];
        let by_lane = match node.op {
            Inst::Pair | Inst::Lo | Inst::Hi | Inst::Shld(_) | Inst::Shrd(_) | Inst::Part(_) => {
                node.vec
            }
            Inst::Alu(_) => node.vec,
            _ => false,
        };
        if !everywhere[at] && by_lane || limited_to_active(&block.graph, node).is_some() {
            continue;
        }
        for &a in node.inputs() {
            everywhere[a as usize] = true;
        }
    }
    everywhere
}
