//! Orders vector operations anew where values would often wait in memory for a register.
//!
//! Compilers for GCN order operations for a machine with 256 registers: they load everything first, and work on many values at a time. The host has 16
//! or 32. In the new order each value that is written or stored is computed as a whole, from its operands, before the next one; of an
//! operation's operands the one that needs the most registers comes first (R. Sethi and J. Ullman, "The generation of optimal code for
//! arithmetic expressions"). It is taken if it is faster by a simulation of registers, latencies, and moves between registers and memory.

use super::demand::leaves;
use super::lists::Lists;
use super::{Options, Plan, VectorOp, latency, schedule};
use crate::ir::region::Block;
use crate::ir::{Id, Inst, Node};
use gcn_isa::shape::Ty;

/// Blocks with fewer operations are left as they are.
const FEWEST: usize = 32;

/// Registers that are not available for values: for constants and temporary values.
const RESERVED: u32 = 3;

/// The number of operations that the host begins before it waits for the first of them.
const AHEAD: usize = 100;

pub(super) fn run(block: &Block, options: &Options, plan: &mut Plan) {
    // Without the pass there are no registers to count. What other waves write is read in the order of the program.
    if options.registers == 0 || block.polls || plan.ops.len() < FEWEST {
        return;
    }
    let values = Values::of(block, options, plan);
    let before = values.cost(&plan.ops, &plan.uses);
    if before.moves * 4 < plan.ops.len() as u32 {
        return;
    }
    let Some(ops) = values.order(&plan.ops) else {
        return;
    };
    let uses = schedule::uses(block, plan, &ops);
    if values.cost(&ops, &uses).time * 8 < before.time * 7 {
        (plan.ops, plan.uses) = (ops, uses);
    }
}

/// The values that wait in registers.
struct Values<'a> {
    block: &'a Block,
    plan: &'a Plan,
    registers: u32,
    /// For each value the number of its registers; 0 if it is not the result of a vector operation.
    size: Vec<u8>,
    /// The parts of each load.
    parts: Vec<Vec<Id>>,
}

/// What an order costs by the simulation.
struct Cost {
    /// How often a value moves between registers and memory.
    moves: u32,
    /// The time of one register's lanes, in half cycles.
    time: u32,
}

/// A value in the simulation.
#[derive(Clone, Copy, Default)]
struct State {
    /// How many of its uses have passed.
    used: u32,
    /// It is in memory, too.
    stored: bool,
}

impl<'a> Values<'a> {
    fn of(block: &'a Block, options: &Options, plan: &'a Plan) -> Values<'a> {
        let count = block.graph.len();
        let mut values = Values {
            block,
            plan,
            registers: (options.registers as u32).saturating_sub(RESERVED),
            size: vec![0; count],
            parts: vec![Vec::new(); count],
        };
        let size = |node: &Node| match node.out {
            Ty::Bool => options.truths_in_registers as u8,
            ty if ty.bits() > 32 => 2,
            _ => 1,
        };
        for op in plan.ops.iter().filter(|op| op.commit.is_none()) {
            values.size[op.id as usize] = size(&block.graph[op.id as usize]);
        }
        for (id, node) in block.graph.iter().enumerate() {
            let load = node.args[0] as usize;
            if matches!(node.op, Inst::Part(_)) && values.size.get(load).is_some_and(|&s| s > 0) {
                values.size[id] = size(node);
                values.parts[load].push(id as Id);
            }
        }
        for load in (0..count).filter(|&load| !values.parts[load].is_empty()) {
            values.size[load] = 0;
        }
        values
    }

    /// Returns the operands of an operation, and the values that it begins its slow path with.
    fn operands(&self, op: &VectorOp) -> impl Iterator<Item = Id> + use<'a> {
        let (block, id) = (self.block, op.id);
        let (arity, leaves): (usize, &'a [Id]) = match op.commit {
            Some(_) => (1, &[]),
            None => (
                self.plan.arity(id, &block.graph[id as usize]),
                leaves(block, id),
            ),
        };
        let args = op.args;
        (0..arity)
            .map(move |k| args[k])
            .chain(leaves.iter().copied())
    }

    /// Simulates an order. The host begins two operations or moves in each cycle; an operation waits for its operands, and the host for the
    /// operation [`AHEAD`] places before.
    fn cost(&self, ops: &[VectorOp], uses: &Lists) -> Cost {
        let mut registers = Registers {
            values: self,
            uses,
            states: vec![State::default(); self.size.len()],
            resident: Vec::new(),
            taken: 0,
        };
        let (mut moves, mut begun, mut all_done) = (0, 0, 0);
        let mut done = vec![0; self.size.len()];
        let mut retired = Vec::with_capacity(ops.len());
        for (at, op) in ops.iter().enumerate() {
            let moved = registers.moves_of(op) + registers.make_room(at as u32);
            let node = &self.block.graph[op.id as usize];
            let size = if node.out.bits() > 32 { 2 } else { 1 };
            moves += moved;
            begun += size + moved;
            if at >= AHEAD {
                begun = begun.max(retired[at - AHEAD]);
            }
            let operands = self.operands(op).map(|id| done[self.source(id) as usize]);
            let ready = operands.max().unwrap_or(0).max(begun);
            if op.commit.is_none() {
                done[op.id as usize] = ready + 2 * latency(node).0;
                all_done = done[op.id as usize].max(all_done);
            }
            retired.push(all_done);
        }
        Cost {
            moves,
            time: begun.max(all_done),
        }
    }

    /// Returns the operations in the new order. `None` if one must stay where it is.
    fn order(&self, ops: &[VectorOp]) -> Option<Vec<VectorOp>> {
        let count = self.size.len();
        let after = ops.iter().rposition(|op| op.commit.is_none())? + 1;
        let (body, writes) = ops.split_at(after);
        let mut position = vec![None; count];
        let mut needs = vec![0u32; count];
        let mut used = vec![false; count];
        let mut early: Vec<Vec<VectorOp>> = vec![Vec::new(); count];
        for (at, op) in body.iter().enumerate() {
            if op.commit.is_some() {
                early[self.source(op.id) as usize].push(*op);
                continue;
            }
            if !moves_freely(&self.block.graph[op.id as usize]) {
                return None;
            }
            position[op.id as usize] = Some(at);
            let mut of = Vec::new();
            for id in self.operands(op) {
                let id = self.source(id) as usize;
                used[id] = true;
                of.push(needs[id]);
            }
            of.sort_unstable_by(|a, b| b.cmp(a));
            let held = of.iter().zip(0u32..).map(|(need, before)| need + before);
            let size = self.size[op.id as usize].max(1) as u32;
            needs[op.id as usize] = held.max().unwrap_or(0).max(size);
        }
        let mut out = Vec::with_capacity(ops.len());
        let mut done = vec![false; count];
        // Values that nothing else reads, and at last all others, of which there should be none.
        let ends = body.iter().filter(|op| op.commit.is_none());
        let roots = ends.clone().filter(|op| !used[op.id as usize]);
        for root in roots.chain(ends) {
            let mut stack = vec![(root.id, false)];
            while let Some((id, ready)) = stack.pop() {
                let Some(at) = position[id as usize].filter(|_| !done[id as usize]) else {
                    continue;
                };
                if ready {
                    done[id as usize] = true;
                    out.push(body[at]);
                    out.append(&mut early[id as usize]);
                    continue;
                }
                stack.push((id, true));
                let mut operands: Vec<Id> =
                    self.operands(&body[at]).map(|id| self.source(id)).collect();
                // The last one is computed first.
                operands.sort_by_key(|&id| needs[id as usize]);
                stack.extend(operands.into_iter().map(|id| (id, false)));
            }
        }
        out.extend(early.into_iter().flatten());
        out.extend(writes);
        Some(out)
    }

    /// Returns the load that a value is a part of, or the value.
    fn source(&self, id: Id) -> Id {
        let node = &self.block.graph[id as usize];
        match node.op {
            Inst::Part(_) => node.args[0],
            _ => id,
        }
    }
}

/// The registers in the simulation of an order.
struct Registers<'a> {
    values: &'a Values<'a>,
    /// [`Plan::uses`] of the order.
    uses: &'a Lists,
    states: Vec<State>,
    /// The values that are in registers, and how many registers they take.
    resident: Vec<Id>,
    taken: u32,
}

impl Registers<'_> {
    fn size(&self, id: Id) -> u32 {
        self.values.size[id as usize] as u32
    }

    /// Brings the operands and the results of an operation into registers. Returns the moves from memory.
    fn moves_of(&mut self, op: &VectorOp) -> u32 {
        let parts = &self.values.parts[op.id as usize];
        let results = match op.commit {
            Some(_) => &[][..],
            None if parts.is_empty() => std::slice::from_ref(&op.id),
            None => parts,
        };
        let mut moves = 0;
        let operands = self.values.operands(op).map(|id| (id, true));
        for (id, reads) in operands.chain(results.iter().map(|&id| (id, false))) {
            let size = self.size(id);
            if size > 0 && !self.resident.contains(&id) {
                self.resident.push(id);
                self.taken += size;
                moves += if reads { size } else { 0 };
            }
        }
        moves
    }

    /// Drops the values whose last use is at or before a position. If the others take too many registers, those that are used last are moved to
    /// memory. Returns the moves.
    fn make_room(&mut self, at: u32) -> u32 {
        let (uses, states, taken) = (self.uses, &mut self.states, &mut self.taken);
        let sizes = &self.values.size;
        self.resident.retain(|&id| {
            let (uses, state) = (&uses[id as usize], &mut states[id as usize]);
            let later = &uses[state.used as usize..];
            state.used += later.iter().take_while(|&&u| u <= at).count() as u32;
            let waits = (state.used as usize) < uses.len();
            *taken -= if waits { 0 } else { sizes[id as usize] as u32 };
            waits
        });
        let mut moves = 0;
        while self.taken > self.values.registers {
            let next = |&id: &Id| self.uses[id as usize][self.states[id as usize].used as usize];
            let last = (0..self.resident.len()).max_by_key(|&k| next(&self.resident[k]));
            let Some(last) = last else { break };
            let id = self.resident.swap_remove(last);
            let size = self.size(id);
            let state = &mut self.states[id as usize];
            self.taken -= size;
            moves += if state.stored { 0 } else { size };
            state.stored = true;
        }
        moves
    }
}

/// Returns true if an operation may change places with others.
fn moves_freely(node: &Node) -> bool {
    matches!(
        node.op,
        Inst::Alu(_)
            | Inst::FastPath(_)
            | Inst::Pair
            | Inst::Lo
            | Inst::Hi
            | Inst::Shld(_)
            | Inst::Shrd(_)
            | Inst::ShrLane
            | Inst::Cycle
            | Inst::MaskOf
            | Inst::Shuffle(_)
            | Inst::Group { .. }
            | Inst::AffineLoad { .. }
            | Inst::Row(_)
    )
}
