//! Cycles: of the issue of an instruction, of its stalls other than for memory, and of an iteration of a loop.

use gcn_check::code::Graph;
use gcn_check::registers::sets;
use gcn_isa::access::File;
use gcn_isa::flow::{Condition, Flow};
use gcn_isa::insts::timing::{self, Cycles};
use gcn_isa::meaning::State;
use gcn_isa::operand::{EXEC, VCC};
use gcn_isa::shape::Role;
use gcn_isa::{Field, Format};

use crate::blocks::Blocks;
use crate::chip::Chip;
use crate::{Instruction, LoopInfo};

/// Cycles of a wait state.
const WAIT_STATE: u32 = 4;
/// Cycles that the scalar unit waits for an SGPR of the vector unit.
const VECTOR_TO_SCALAR: u32 = 16;
/// Cycles that a jump waits for its condition.
const CONDITION: u32 = 4;

/// The minimum and maximum cycles of an instruction's issue.
pub fn issue(graph: &Graph<'_>, at: usize, chip: Chip) -> (u32, u32) {
    let site = &graph.sites[at];
    if site.wait_states > 1 {
        let cycles = WAIT_STATE * site.wait_states;
        return (cycles, cycles);
    }
    let cycles = timing::issue(site.insn.row).cycles;
    match cycles {
        Cycles::Glc(n, more) => {
            let glc = site.insn.field(Field::Glc) != 0;
            let cycles = u32::from(n + if glc { more } else { 0 });
            (cycles, cycles)
        }
        _ => {
            let (least, most) = cycles.on(chip.double_factor);
            (least.into(), most.into())
        }
    }
}

/// The cycles that an instruction waits for the one before it, by the rules of the public page: a scalar instruction after a
/// vector instruction that writes an SGPR other than by a compare, and a jump after an instruction that computes its condition.
/// Other waves fill these cycles.
pub fn stall(graph: &Graph<'_>, at: usize) -> u32 {
    let before = graph.sites[at].previous.iter();
    before
        .map(|before| stall_after(graph, at, *before))
        .max()
        .unwrap_or(0)
}

fn stall_after(graph: &Graph<'_>, at: usize, before: usize) -> u32 {
    let (site, first) = (&graph.sites[at], &graph.sites[before]);
    let (_, writes) = sets(graph.info(before), &first.insn);
    let accesses = || graph.info(before).accesses(&first.insn);
    let writes_exec = || accesses().any(|a| a.write && a.touches(File::Scalar, EXEC));
    let writes_vcc = || writes.contains(File::Scalar, VCC);
    if let Flow::Branch {
        when: Condition::If { state, .. },
        ..
    } = site.flow
    {
        let waits = match state {
            State::Scc => writes.contains(File::Scc, 0) || writes_exec() || writes_vcc(),
            State::Vcc | State::Exec => writes_exec() || writes_vcc(),
            _ => false,
        };
        return if waits { CONDITION } else { 0 };
    }
    let scalar = matches!(
        site.insn.row.format,
        Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk
    );
    let shape = &first.insn.row.shape;
    let gives_sgpr = first.insn.row.format.is_valu()
        && (shape.slot(Role::CarryOut).is_some() || shape.slot(Role::SdstV).is_some());
    if scalar && gives_sgpr {
        VECTOR_TO_SCALAR
    } else {
        0
    }
}

/// The cycles of a taken jump, and of one that is not taken; `None` if the instruction is not a jump.
fn jump(graph: &Graph<'_>, at: usize) -> Option<(u64, u64)> {
    match timing::issue(graph.sites[at].insn.row).cycles {
        Cycles::Jump(not_taken, taken) => Some((taken.into(), not_taken.into())),
        _ => None,
    }
}

/// The loops with the cost of an iteration.
pub fn loops(graph: &Graph<'_>, blocks: &Blocks, instructions: &[Instruction]) -> Vec<LoopInfo> {
    (0..blocks.loops.len())
        .map(|n| {
            let found = &blocks.loops[n];
            let sites = || found.blocks.iter().flat_map(|b| &blocks.blocks[*b].sites);
            let most = |f: fn(&Instruction) -> u32| sites().map(|at| f(&instructions[*at])).max();
            let end = |block: &usize| blocks.blocks[*block].sites.last().copied().unwrap_or(0);
            LoopInfo {
                header: graph.sites[blocks.blocks[found.header].sites[0]].pc,
                latches: found
                    .latches
                    .iter()
                    .map(|b| graph.sites[end(b)].pc)
                    .collect(),
                blocks: found.blocks.clone(),
                parent: found.parent,
                depth: found.depth,
                instructions: sites().count(),
                cycles: iteration(graph, blocks, instructions, n),
                live: (
                    most(|i| i.live_vgprs).unwrap_or(0),
                    most(|i| i.live_sgprs).unwrap_or(0),
                ),
                iterations: None,
            }
        })
        .collect()
}

/// The cycles of an iteration on the paths with the fewest and the most cycles, with one iteration of each inner loop.
fn iteration(
    graph: &Graph<'_>,
    blocks: &Blocks,
    instructions: &[Instruction],
    number: usize,
) -> (u64, u64) {
    let found = &blocks.loops[number];
    let mut order = found.blocks.clone();
    order.sort_by_key(|block| blocks.position[*block]);
    let mut cost: Vec<Option<(u64, u64)>> = vec![None; blocks.blocks.len()];
    cost[found.header] = Some((0, 0));
    let mut all: Option<(u64, u64)> = None;
    let join = |into: &mut Option<(u64, u64)>, (least, most): (u64, u64)| {
        *into = Some(match *into {
            None => (least, most),
            Some((a, b)) => (a.min(least), b.max(most)),
        });
    };
    for &n in &order {
        let Some((mut least, mut most)) = cost[n] else {
            continue;
        };
        let block = &blocks.blocks[n];
        let last = block.sites.last().copied();
        let at_end = last.and_then(|at| jump(graph, at));
        for &at in &block.sites {
            if at_end.is_some() && Some(at) == last {
                continue;
            }
            least += u64::from(instructions[at].cycles);
            most += u64::from(instructions[at].most_cycles);
        }
        for &edge in &block.next {
            let more = match at_end {
                Some((taken, _)) if edge.taken => taken,
                Some((_, not_taken)) => not_taken,
                None => 0,
            };
            let sum = (least + more, most + more);
            if edge.to == found.header {
                join(&mut all, sum);
            } else if !blocks.goes_back(n, edge) && found.blocks.binary_search(&edge.to).is_ok() {
                join(&mut cost[edge.to], sum);
            }
        }
    }
    all.unwrap_or((0, 0))
}
