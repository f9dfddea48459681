//! Finds loops of one block that can run for one lane after the other, as a loop of scalar code.
//!
//! Vector code runs an iteration for all lanes before the next one begins. Where lanes load from their own addresses that is slow: each
//! element is loaded by an instruction of its own anyhow, lanes that have left the loop take as much time as the others, and what a lane
//! has loaded may be gone from the cache when it needs the next element beside it. If the loop only loads and computes, its results do
//! not depend on the order, and each lane may run through the whole loop before the next one begins. If it stores, too, that holds as long
//! as no lane accesses what another one has stored: this is found out afterwards, and what was stored is undone if one does.
//!
//! Scalars are of two kinds. A *mask* has a bit for each lane, of which a lane's code knows only its own. Other scalars are the same for all
//! lanes in each iteration, and a lane's code computes them for itself.
//!
//! The wave leaves the loop when the last lane does, and masks change until then. A lane that has left has no further effect on them if its bits stay the
//! same in an iteration in which it is inactive, which [`LaneLoop::of`] tests.

use super::demand;
use crate::ir::region::{Block, Terminator};
use crate::ir::{Id, Inst, Node};
use gcn_isa::meaning::{Op, Space};
use gcn_isa::operand::EXEC;
use gcn_isa::shape::Ty;

/// When the loop goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Again {
    /// As long as the lane's bit of a mask is set, which is the new EXEC.
    Lane(Id),
    /// As long as a lane's bit of a mask is set. It must be the same in all active lanes, which cannot be known before.
    Alike(Id),
    /// As long as a scalar has this truth value, for all lanes alike.
    All(Id, bool),
}

/// A mask that a loop changes.
#[derive(Clone, Copy)]
pub(crate) struct Mask {
    /// The code of the first of its two scalar registers.
    pub code: u8,
    /// Its new value.
    pub value: Id,
    /// The bits of inactive lanes. Otherwise they stay as they are.
    pub inactive: Option<bool>,
}

/// What a loop of one block does, seen from a lane.
pub(crate) struct LaneLoop {
    /// The pairs of scalar registers that are changed as masks, without EXEC.
    pub masks: Vec<Mask>,
    /// The other changes of scalar registers.
    pub sgprs: Vec<(u8, Id)>,
    pub again: Again,
    /// SCC when the loop is left, if it is live then. As long as the loop goes on, it is the opposite.
    pub scc: Option<bool>,
    /// The mask among these of lanes that have left: a lane goes on as long as its bit is clear, and only active lanes' bits are set. The code of lanes
    /// does not compute it, if it has no active lanes at the beginning.
    pub left: Option<u8>,
}

/// The lane's bit of a mask in an iteration in which the lane is not active.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inactive {
    Bit(bool),
    /// As the pair of scalar registers has it at the iteration's start.
    Same(u8),
    Unknown,
}

impl LaneLoop {
    /// Returns what a block does if it is such a loop.
    pub fn of(block: &Block) -> Option<LaneLoop> {
        let Terminator::Branch { when, .. } = block.terminator else {
            return None;
        };
        let again_if = block.runs_again_if().filter(|_| is_of_lanes(block))?;
        let mut found = LaneLoop {
            masks: Vec::new(),
            sgprs: Vec::new(),
            again: Again::All(when, again_if),
            scc: None,
            left: None,
        };
        let late = demand::late(block);
        let masks = are_masks(block, &late);
        let inactive = inactive_bits(block, |code| match code as u16 {
            EXEC => Inactive::Bit(false),
            _ => Inactive::Same(code),
        });
        if let Some(scc) = block.effects.scc {
            let n = &block.graph[when as usize];
            let inverted = n.op == Inst::Alu(Op::Not) && n.args[0] == scc;
            if late[scc as usize] || when != scc && !inverted {
                return None;
            }
            found.scc = Some(again_if == inverted);
        }
        let mut exec = None;
        let mut writes = block.effects.sgprs.iter().peekable();
        while let Some(&(code, id)) = writes.next() {
            if !late[id as usize] {
                found.sgprs.push((code, id));
                continue;
            }
            let &(_, high) = writes.next_if(|w| w.0 == code + 1)?;
            let mask = halves_of(block, id, high).filter(|_| code % 2 == 0)?;
            if !masks[mask as usize] {
                return None;
            }
            if code as u16 == EXEC {
                exec = Some(mask);
                continue;
            }
            found.masks.push(Mask {
                code,
                value: mask,
                inactive: match inactive[mask as usize] {
                    Inactive::Same(same) if same == code => None,
                    Inactive::Bit(bit) => Some(bit),
                    _ => return None,
                },
            });
        }
        let writes_exec = |w: &(u8, Id)| w.0 as u16 & !1 == EXEC;
        if found.sgprs.iter().any(writes_exec) {
            return None;
        }
        let goes_on = |id: Id| {
            let n = &block.graph[id as usize];
            let zero = |id: Id| block.graph[id as usize].op == Inst::Const(0);
            let compares =
                n.op == Inst::Alu(Op::Ne) && again_if || n.op == Inst::Alu(Op::Eq) && !again_if;
            (compares && n.ty.bits() == 64 && zero(n.args[1])).then_some(n.args[0])
        };
        if let Some(mask) = exec {
            // A lane that leaves the loop before others must have no effect any more.
            let stays = found.masks.iter().all(|m| m.inactive.is_none());
            if goes_on(when) != Some(mask)
                || inactive[mask as usize] != Inactive::Bit(false)
                || !stays
            {
                return None;
            }
            found.again = Again::Lane(mask);
            found.left = found.left_by(block, mask);
        } else if late[when as usize] {
            let mask = goes_on(when).filter(|&mask| masks[mask as usize])?;
            if inactive[mask as usize] != Inactive::Bit(false) {
                return None;
            }
            found.again = Again::Alike(mask);
        }
        if found.scc.is_some() && exec.is_some() {
            return None;
        }
        Some(found)
    }

    /// Returns the mask to which lanes are added that the new EXEC does not have any more.
    fn left_by(&self, block: &Block, exec: Id) -> Option<u8> {
        let n = &block.graph[exec as usize];
        let is = |id: Id, code: u16| matches!(block.graph[id as usize].op, Inst::SIn(c) if c as u16 == code);
        let [a, b, _] = n.args;
        if n.op != Inst::Alu(Op::And) {
            return None;
        }
        let other = match (is(a, EXEC), is(b, EXEC)) {
            (true, _) => &block.graph[b as usize],
            (_, true) => &block.graph[a as usize],
            _ => return None,
        };
        let mask = self
            .masks
            .iter()
            .find(|m| other.op == Inst::Alu(Op::Not) && other.args[0] == m.value)?;
        let value = &block.graph[mask.value as usize];
        let adds = value.op == Inst::Alu(Op::Or)
            && value.args[..2].iter().any(|&id| is(id, mask.code as u16));
        adds.then_some(mask.code)
    }
}

/// Returns true if a block changes nothing but registers, and memory by at most one store: code for single lanes has no other effects.
pub(crate) fn has_effects_of_lanes(block: &Block) -> bool {
    let e = &block.effects;
    e.indexed.is_empty()
        && e.mode.is_none()
        && e.deferred_stores.is_empty()
        && e.rows.is_empty()
        && e.wave_helper.is_none()
        && e.lane_inserts.is_empty()
        && e.accesses.is_empty()
        && block.skipped.is_empty()
        && block.assumed.is_empty()
        && !block.polls
}

/// Returns true if a block has no effects but on registers and on memory, loads from or stores to lanes' own addresses, and reads nothing of
/// other lanes.
fn is_of_lanes(block: &Block) -> bool {
    let accesses = match &block.effects.store {
        Some(s) => {
            let to_memory = matches!(s.space, Space::Global | Space::Flat);
            to_memory && [s.lo, s.hi].iter().any(|&id| block.graph[id as usize].vec)
        }
        None => loads_of_lanes(block),
    };
    has_effects_of_lanes(block) && accesses && !reads_other_lanes(block)
}

/// Returns true if a block loads from lanes' own addresses.
pub(crate) fn loads_of_lanes(block: &Block) -> bool {
    let vec = |id: &Id| block.graph[*id as usize].vec;
    let own = |n: &Node| matches!(n.op, Inst::Group { .. }) && n.inputs().iter().any(vec);
    block.graph.iter().any(own)
}

/// Returns true if lanes read values of others.
pub(crate) fn reads_other_lanes(block: &Block) -> bool {
    let reads = |n: &Node| {
        matches!(
            n.op,
            Inst::LaneIn(_) | Inst::LanesIn(_) | Inst::VgprAt | Inst::Shuffle(_) | Inst::Row(_)
        )
    };
    block.graph.iter().any(reads)
}

/// Returns the value of 64 bits of which two values are the halves.
pub(crate) fn halves_of(block: &Block, low: Id, high: Id) -> Option<Id> {
    let (a, b) = (&block.graph[low as usize], &block.graph[high as usize]);
    let halves = a.op == Inst::Lo && b.op == Inst::Hi && a.args[0] == b.args[0];
    halves.then_some(a.args[0])
}

/// Returns for each value whether it is a mask: a scalar of which each bit belongs to a lane and depends on nothing but this lane and other
/// masks. `late` has the scalars that depend on lanes.
pub(crate) fn are_masks(block: &Block, late: &[bool]) -> Vec<bool> {
    let mut masks: Vec<bool> = Vec::with_capacity(block.graph.len());
    for n in &block.graph {
        let mask = |id: Id| masks[id as usize];
        masks.push(match n.op {
            Inst::Ballot => true,
            Inst::SIn(code) => n.out.bits() == 64 && code % 2 == 0,
            Inst::Const(v) => v == 0 || v == u64::MAX,
            Inst::Alu(Op::Select) if n.out.bits() == 64 && !n.vec => {
                let [condition, a, b] = n.args;
                !late[condition as usize] && mask(a) && mask(b)
            }
            Inst::Alu(Op::And | Op::Or | Op::Xor | Op::Not) if n.out.bits() == 64 && !n.vec => {
                n.inputs().iter().all(|&id| mask(id))
            }
            _ => false,
        });
    }
    masks
}

/// Returns for each value the lane's bit of a mask, or its truth value, if the lane is not active in a block. `before` has its bits of masks at the
/// block's start.
pub(crate) fn inactive_bits(block: &Block, before: impl Fn(u8) -> Inactive) -> Vec<Inactive> {
    use Inactive::{Bit, Unknown};
    let mut bits: Vec<Inactive> = Vec::with_capacity(block.graph.len());
    for n in &block.graph {
        let of = |k: usize| bits[n.args[k] as usize];
        bits.push(match n.op {
            Inst::Const(v) => Bit(v & 1 != 0),
            Inst::Exec => Bit(false),
            Inst::SIn(code) => before(code),
            Inst::Ballot => of(0),
            Inst::Alu(Op::Select) if !n.vec && of(1) == of(2) => of(1),
            Inst::Alu(Op::Not) => match of(0) {
                Bit(b) => Bit(!b),
                _ => Unknown,
            },
            Inst::Alu(Op::And) if n.vec == (n.ty == Ty::Bool) => match (of(0), of(1)) {
                (Bit(false), _) | (_, Bit(false)) => Bit(false),
                (Bit(true), other) | (other, Bit(true)) => other,
                (a, b) if a == b => a,
                _ => Unknown,
            },
            Inst::Alu(Op::Or) if n.vec == (n.ty == Ty::Bool) => match (of(0), of(1)) {
                (Bit(true), _) | (_, Bit(true)) => Bit(true),
                (Bit(false), other) | (other, Bit(false)) => other,
                (a, b) if a == b => a,
                _ => Unknown,
            },
            Inst::Alu(Op::Xor) if n.vec == (n.ty == Ty::Bool) => match (of(0), of(1)) {
                (Bit(false), other) | (other, Bit(false)) => other,
                (Bit(a), Bit(b)) => Bit(a ^ b),
                _ => Unknown,
            },
            _ => Unknown,
        });
    }
    bits
}
