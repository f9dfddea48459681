//! The passes between the frontend and the target.
//!
//! [`affine`] changes blocks. Its input is the set of VGPRs that are affine at the block's start, which the frontend
//! computes from the whole region. The others, [`PASSES`], run in order on each block before it is emitted. They do not
//! change the block: each adds its results to the [`Plan`] that the target follows.

pub(crate) mod affine;
mod demand;
pub(crate) mod lane_loop;
pub(crate) mod lane_paths;
pub(crate) mod lists;
pub(crate) mod optional;
mod pressure;
mod print;
mod schedule;
mod selections;
mod slow_paths;
mod ternary_logic;
#[cfg(test)]
mod tests;
mod verify;

pub(crate) use print::Dump;
pub(crate) use selections::{Extreme, Selected};
pub(crate) use slow_paths::SlowPathCall;
pub(crate) use ternary_logic::Ternary;

use crate::hash::Map;
use crate::ir::region::Block;
use crate::ir::{Id, Inst, Node};
use gcn_isa::meaning::Op;
use lists::Lists;

/// The options of a block's plan.
#[derive(Clone, Copy)]
pub(crate) struct Options {
    /// The NaNs of float results are corrected as they are computed. Otherwise an observed NaN makes the block restart.
    pub exact: bool,
    /// No register is written before the last point where the block can be left.
    pub precise: bool,
    /// The target has bitwise operations on three operands.
    pub ternary_logic: bool,
    /// The vector registers for values, or 0 if the order of operations need not spare them; truth values are in them, too.
    pub registers: u8,
    pub truths_in_registers: bool,
    /// Selections may become minima and maxima, and their conditions may be without EXEC.
    pub selections: bool,
}

/// A vector operation, or the write of a VGPR.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VectorOp {
    pub id: Id,
    pub args: [Id; 3],
    /// The operands whose sign is changed.
    pub neg: [bool; 3],
    /// The result is checked: a NaN makes the block restart.
    pub check: bool,
    /// Denormal results are flushed.
    pub flush: bool,
    /// NaNs among the results are corrected.
    pub fix: bool,
    /// The index in [`Effects::vgprs`](crate::ir::region::Effects::vgprs) of the VGPR that is written here.
    pub commit: Option<usize>,
}

/// The results of the passes for a block.
pub(crate) struct Plan {
    /// Bitwise operations that are combined into one operation on three values.
    pub ternary: Map<Id, Ternary>,
    /// Selections, and truth values as numbers, that have other operands.
    pub selections: Map<Id, Selected>,
    /// Values that are computed.
    pub live: Vec<bool>,
    /// Values whose bits are observed by something other than float arithmetic.
    pub observed: Vec<bool>,
    /// Values whose NaNs must be exact: observed ones, unless a selection that is checked itself is all that observes them.
    pub watched: Vec<bool>,
    /// Values that are checked: a NaN makes the block restart.
    pub check: Vec<bool>,
    /// Float operations whose operands must stay in their order, which decides the NaN that they give.
    pub ordered: Vec<bool>,
    /// Values that are used by more than the conditions and fast paths of other values.
    pub needed: Vec<bool>,
    /// Scalars that depend on lanes: they are computed after the vectors.
    pub late: Vec<bool>,
    /// The calls that evaluate slow paths.
    pub slow_paths: Vec<SlowPathCall>,
    /// The block checks some result or operand for NaNs.
    pub checks: bool,
    /// The vector operations in the order in which they are computed.
    pub ops: Vec<VectorOp>,
    /// For each value: the positions in `ops` where it is used, in order; the number of operations stands for the end.
    pub uses: Lists,
}

/// A pass, which adds to a block's plan.
pub(crate) struct Pass {
    pub name: &'static str,
    pub run: fn(&Block, &Options, &mut Plan),
}

/// The passes that plan a block, in order.
pub(crate) const PASSES: &[Pass] = &[
    Pass {
        name: "ternary_logic",
        run: ternary_logic::run,
    },
    Pass {
        name: "selections",
        run: selections::run,
    },
    Pass {
        name: "demand",
        run: demand::run,
    },
    Pass {
        name: "slow_paths",
        run: slow_paths::run,
    },
    Pass {
        name: "schedule",
        run: schedule::run,
    },
    Pass {
        name: "pressure",
        run: pressure::run,
    },
];

/// Returns the names of what can be dumped, in order: the stages that make a region, and the passes that plan each of its blocks.
pub fn names() -> impl Iterator<Item = &'static str> {
    let stages = ["frontend", "affine", "all_active", "joined"];
    stages.into_iter().chain(PASSES.iter().map(|p| p.name))
}

/// Runs all passes on a block. `dump` receives the plan after its pass.
///
/// # Panics
/// In debug builds if a pass breaks a rule of the IR.
pub(crate) fn plan(block: &Block, options: &Options, dump: Option<&Dump>) -> Plan {
    let mut plan = Plan::new(block);
    for (n, pass) in PASSES.iter().enumerate() {
        (pass.run)(block, options, &mut plan);
        if cfg!(debug_assertions) {
            let verified = verify::plan(block, options, &plan, n + 1 == PASSES.len());
            if let Err(rule) = verified {
                panic!(
                    "after pass {}: {rule}\n{}",
                    pass.name,
                    block.print_with(Some(&plan))
                );
            }
        }
        if let Some(dump) = dump {
            dump.plan(pass.name, block, &plan);
        }
    }
    plan
}

impl Plan {
    /// Returns the plan of a block before any pass.
    pub fn new(block: &Block) -> Plan {
        let n = block.graph.len();
        Plan {
            ternary: Map::default(),
            selections: Map::default(),
            live: vec![false; n],
            observed: vec![false; n],
            watched: vec![false; n],
            check: vec![false; n],
            ordered: vec![false; n],
            needed: vec![false; n],
            late: vec![false; n],
            slow_paths: Vec::new(),
            checks: false,
            ops: Vec::new(),
            uses: Lists::default(),
        }
    }

    /// Returns the number of operands of an operation as it is computed.
    pub fn arity(&self, id: Id, node: &Node) -> usize {
        match self.ternary.contains_key(&id) {
            true => 3,
            false if self.extreme(id).is_some() => 2,
            false => node.arity(),
        }
    }

    /// Returns true if the time of one register's lanes is mostly the latency of operations that wait for each other, so long that the host does
    /// not reach the next lanes' operations meanwhile. Then the code of several registers should be interleaved.
    pub fn waits(&self, block: &Block) -> bool {
        /// The number of operations of other lanes that the host begins while it waits.
        const AHEAD: u32 = 60;
        let mut done = vec![0; block.graph.len()];
        let (mut longest, mut work, mut operations) = (0, 0, 0);
        for op in self.ops.iter().filter(|op| op.commit.is_none()) {
            let node = &block.graph[op.id as usize];
            let ready = op.args[..self.arity(op.id, node)].iter().map(|&a| {
                let n = &block.graph[a as usize];
                let part = matches!(n.op, Inst::Part(_));
                done[if part { n.args[0] } else { a } as usize]
            });
            let registers = if node.out.bits() > 32 { 2 } else { 1 };
            let (latency, cycles) = latency(node);
            let end = ready.max().unwrap_or(0) + latency;
            done[op.id as usize] = end;
            longest = end.max(longest);
            work += registers * cycles;
            operations += 1;
        }
        longest >= work && longest * operations >= AHEAD * work
    }

    /// Returns the minimum or maximum as which a selection is computed.
    pub fn extreme(&self, id: Id) -> Option<Extreme> {
        self.selections.get(&id)?.extreme
    }

    /// Returns the first operand of a selection, or of a truth value as a number.
    pub fn condition(&self, id: Id, node: &Node) -> Id {
        self.selections.get(&id).map_or(node.args[0], |s| s.args[0])
    }
}

/// Returns true if several rounds of a loop are mostly operations that wait for each other, round after round. With one round, the host begins
/// more of other lanes' operations meanwhile.
pub(crate) fn waits_for_rounds(graph: &[Node]) -> bool {
    /// The longest time, in cycles, in which the host begins enough other operations.
    const LONGEST: u32 = 60;
    let mut done = vec![0; graph.len()];
    let (mut longest, mut work) = (0, 0);
    for (at, node) in graph.iter().enumerate() {
        let ready = node.inputs().iter().map(|&a| done[a as usize]);
        let ready = ready.max().unwrap_or(0);
        if !node.vec || !matches!(node.op, Inst::Alu(_) | Inst::Shld(_) | Inst::Shrd(_)) {
            done[at] = ready;
            continue;
        }
        let registers = if node.out.bits() > 32 { 2 } else { 1 };
        let (latency, cycles) = latency(node);
        done[at] = ready + latency;
        longest = longest.max(done[at]);
        work += registers * cycles;
    }
    longest >= LONGEST && 2 * longest >= work
}

/// Returns the usual latency of an operation on current hosts, and for how many cycles it keeps a unit busy.
fn latency(node: &Node) -> (u32, u32) {
    let float = node.ty.is_float() || node.out.is_float();
    match node.op {
        Inst::Alu(Op::Div | Op::Sqrt) => (14, 6),
        Inst::Alu(Op::Select | Op::And | Op::Or | Op::Xor | Op::Not | Op::Neg | Op::Abs) => (1, 1),
        Inst::Alu(_) if float => (4, 1),
        Inst::Alu(Op::Mul) if node.ty.bits() == 64 => (12, 4),
        Inst::Alu(Op::Mul) => (4, 2),
        Inst::Shld(_) | Inst::Shrd(_) => (2, 3),
        Inst::AffineLoad { .. } | Inst::Group { .. } => (7, 2),
        _ => (1, 1),
    }
}
