//! The memory instructions that each s_waitcnt waits for: those that are complete after it and may not have been before.

use std::collections::BTreeMap;

use gcn_check::code::Graph;
use gcn_check::waitcnt::{Event, events, wait};

use crate::blocks::Blocks;

/// The outstanding events: the instruction and the number of its event, with the number of later events of the same order, on the
/// path with the fewest.
type State = BTreeMap<(usize, usize), u8>;

/// The maximum number of younger instructions that is counted: VM_CNT's maximum on gfx9.
const MOST: u8 = 63;

fn step(graph: &Graph<'_>, all: &[Vec<Event>], at: usize, state: &mut State) -> Vec<usize> {
    let mut waits_for = Vec::new();
    if let Some(waits) = wait(graph.info(at), &graph.sites[at].insn) {
        state.retain(|&(site, event), younger| {
            let order = all[site][event].order;
            let (n, none) = order.counter().of(&waits);
            let stays = n >= none || !order.completes(n, *younger as u32);
            if !stays {
                waits_for.push(site);
            }
            stays
        });
        waits_for.dedup();
        return waits_for;
    }
    if graph.sites[at].calls {
        // A function waits for all events that its caller has outstanding, and has none outstanding when it returns.
        state.clear();
    }
    for (n, event) in all[at].iter().enumerate() {
        let same = |site: usize, event_of: usize| all[site][event_of].order == event.order;
        for ((site, other), younger) in state.iter_mut() {
            if same(*site, *other) {
                *younger = (*younger + 1).min(MOST);
            }
        }
        state.insert((at, n), 0);
    }
    waits_for
}

fn merge(old: &mut State, new: &State) -> bool {
    let mut changed = false;
    for (key, younger) in new {
        match old.get_mut(key) {
            Some(known) if *known <= *younger => {}
            Some(known) => {
                *known = *younger;
                changed = true;
            }
            None => {
                old.insert(*key, *younger);
                changed = true;
            }
        }
    }
    changed
}

/// The instructions that each instruction waits for, by their numbers in the graph; empty for instructions other than s_waitcnt.
pub fn waits(graph: &Graph<'_>, blocks: &Blocks) -> Vec<Vec<usize>> {
    let all: Vec<Vec<Event>> = (0..graph.sites.len())
        .map(|at| events(graph.info(at), &graph.sites[at].insn))
        .collect();
    let mut before: Vec<Option<State>> = vec![None; blocks.blocks.len()];
    before[blocks.entry] = Some(State::new());
    let mut queue =
        std::collections::BTreeSet::from([(blocks.position[blocks.entry], blocks.entry)]);
    while let Some((_, n)) = queue.pop_first() {
        let Some(mut state) = before[n].clone() else {
            continue;
        };
        for &at in &blocks.blocks[n].sites {
            step(graph, &all, at, &mut state);
        }
        for edge in &blocks.blocks[n].next {
            let changed = match &mut before[edge.to] {
                Some(old) => merge(old, &state),
                new => {
                    *new = Some(state.clone());
                    true
                }
            };
            if changed {
                queue.insert((blocks.position[edge.to], edge.to));
            }
        }
    }
    let mut waits = vec![Vec::new(); graph.sites.len()];
    for (n, state) in before.into_iter().enumerate() {
        let mut state = state.unwrap_or_default();
        for &at in &blocks.blocks[n].sites {
            waits[at] = step(graph, &all, at, &mut state);
        }
    }
    waits
}
