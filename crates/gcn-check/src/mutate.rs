//! Mutants of code: each s_waitcnt and s_nop weakened or taken out in turn, to measure which changes the checks notice.

use std::collections::HashSet;

use gcn_isa::decode::decode;
use gcn_isa::format::Format;
use gcn_isa::hazard::is_vmem;
use gcn_isa::meaning::Signal;
use gcn_isa::names::waitcnt_simm;

use crate::code::Graph;
use crate::hazards;
use crate::report::{Finding, Severity};
use crate::waitcnt::{self, Counter, Entry, Event, Order};

/// A change to one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// s_waitcnt no longer waits for a counter.
    Without(Counter),
    /// s_waitcnt allows one more outstanding instruction of a counter.
    Weaker(Counter),
    /// s_nop is missing.
    NoNop,
    /// s_nop is one wait state shorter.
    ShorterNop,
}

/// Returns the changes that an instruction can have.
pub fn changes(graph: &Graph<'_>, at: usize) -> Vec<Change> {
    let insn = &graph.sites[at].insn;
    let mut list = Vec::new();
    if let Some(waits) = waitcnt::wait(graph.info(at), insn) {
        for counter in [Counter::Vm, Counter::Lgkm, Counter::Exp] {
            let (n, none) = counter.of(&waits);
            if n < none {
                list.push(Change::Without(counter));
            }
            if n + 1 < none {
                list.push(Change::Weaker(counter));
            }
        }
    } else if graph.signals(at, Signal::Nop) {
        list.push(Change::NoNop);
        if graph.sites[at].wait_states > 1 {
            list.push(Change::ShorterNop);
        }
    }
    list
}

/// Returns the word of an s_waitcnt with a change. Returns `None` for other instructions and other changes.
pub fn weaker_wait(graph: &Graph<'_>, at: usize, change: Change) -> Option<u32> {
    let (Change::Without(counter) | Change::Weaker(counter)) = change else {
        return None;
    };
    let insn = &graph.sites[at].insn;
    let waits = waitcnt::wait(graph.info(at), insn)?;
    let value = |c: Counter| {
        let (n, none) = c.of(&waits);
        match change {
            _ if c != counter => n,
            Change::Weaker(_) => n + 1,
            _ => none,
        }
    };
    let simm = waitcnt_simm(
        value(Counter::Vm),
        value(Counter::Exp),
        value(Counter::Lgkm),
        graph.target().generation(),
    );
    Some(insn.bits as u32 & 0xffff_0000 | simm | waits.spare)
}

/// Returns the findings of the checks `waitcnt` and `hazard` that one change adds. `before` has the findings without it.
pub fn findings(
    graph: &mut Graph<'_>,
    at: usize,
    change: Change,
    entry: Entry,
    settings: hazards::Settings,
    before: &[Finding],
) -> Vec<Finding> {
    let (insn, wait_states) = (graph.sites[at].insn, graph.sites[at].wait_states);
    let waits = waitcnt::wait(graph.info(at), &insn);
    let found = match (change, waits) {
        (Change::Without(_) | Change::Weaker(_), Some(_)) => {
            let word = weaker_wait(graph, at, change).unwrap_or(insn.bits as u32);
            graph.sites[at].insn = decode(graph.target(), &word.to_le_bytes()).unwrap_or(insn);
            waitcnt::check(graph, entry)
        }
        _ => {
            graph.sites[at].wait_states = match change {
                Change::ShorterNop => wait_states - 1,
                _ => 0,
            };
            hazards::check(graph, settings)
        }
    };
    (graph.sites[at].insn, graph.sites[at].wait_states) = (insn, wait_states);
    let new = |f: &Finding| f.severity == Severity::Error && !before.contains(f);
    found.into_iter().filter(new).collect()
}

/// Why a change makes no difference that the checks must report, found by following single paths instead of merging them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// On all paths, an earlier wait has already waited for as much.
    Redundant,
    /// No instruction that is outstanding there has results or sources in registers: the wait orders memory.
    OrdersMemory,
    /// On all paths, a later wait comes before the first instruction that touches a register of what is outstanding.
    LaterWait,
    /// It separates memory instructions of a clause that XNACK might repeat. That is only a note.
    Clause,
    /// No two instructions that are nearer without it depend on each other.
    NoDependence,
    /// There is no reason: the checks missed an error.
    Missed,
}

impl Reason {
    /// Returns a short description.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Redundant => "an earlier wait suffices",
            Reason::OrdersMemory => "only memory is ordered",
            Reason::LaterWait => "a later wait suffices",
            Reason::Clause => "separates a clause (note)",
            Reason::NoDependence => "nothing depends on it",
            Reason::Missed => "MISSED",
        }
    }
}

/// Returns why a change of an instruction was not reported.
pub fn reason(graph: &Graph<'_>, at: usize, change: Change) -> Reason {
    match change {
        Change::Without(counter) | Change::Weaker(counter) => {
            wait_reason(graph, at, counter, change)
        }
        Change::NoNop | Change::ShorterNop => {
            let vmem = |n: &usize| {
                let row = graph.sites[*n].insn.row;
                is_vmem(row) || row.format == Format::Smem
            };
            let site = &graph.sites[at];
            match site.previous.iter().any(&vmem) && site.next.iter().any(vmem) {
                true => Reason::Clause,
                false => Reason::NoDependence,
            }
        }
    }
}

fn wait_reason(graph: &Graph<'_>, at: usize, counter: Counter, change: Change) -> Reason {
    let own = |site: usize| {
        let events = waitcnt::events(graph.info(site), &graph.sites[site].insn);
        events
            .into_iter()
            .filter(|e| e.order.counter() == counter)
            .collect::<Vec<_>>()
    };
    let limit = |site: usize| {
        let waits = waitcnt::wait(graph.info(site), &graph.sites[site].insn)?;
        let (n, none) = counter.of(&waits);
        (n < none).then_some(n)
    };
    let Some(value) = limit(at) else {
        return Reason::Missed;
    };
    // The search goes back to the instructions that may be outstanding.
    let (mut redundant, mut producers) = (true, Vec::new());
    let mut seen = vec![false; graph.sites.len()];
    let mut waiting = vec![(at, true)];
    while let Some((from, fresh)) = waiting.pop() {
        for &before in &graph.sites[from].previous {
            let events = own(before);
            if fresh && !events.is_empty() {
                redundant = false;
            }
            if limit(before) == Some(0)
                || fresh && limit(before).is_some_and(|n| n <= value)
                || graph.sites[before].calls
            {
                continue;
            }
            if std::mem::replace(&mut seen[before], true) {
                continue;
            }
            if !events.is_empty() {
                producers.push(before);
            }
            waiting.push((before, fresh && events.is_empty()));
        }
    }
    if redundant {
        return Reason::Redundant;
    }
    let in_registers = |site: &usize| own(*site).iter().any(|e| !e.registers.is_empty());
    producers.retain(in_registers);
    if producers.is_empty() {
        return Reason::OrdersMemory;
    }
    let weaker = |site: usize| match (site == at, change) {
        (true, Change::Weaker(_)) => Some(value + 1),
        (true, _) => None,
        _ => limit(site),
    };
    match producers.iter().all(|p| {
        own(*p)
            .iter()
            .all(|event| protected(graph, *p, event, &own, &weaker))
    }) {
        true => Reason::LaterWait,
        false => Reason::Missed,
    }
}

/// Returns true if, on every path from an instruction, a wait completes its event before the event's registers are touched.
fn protected(
    graph: &Graph<'_>,
    producer: usize,
    event: &Event,
    own: &impl Fn(usize) -> Vec<Event>,
    limit: &impl Fn(usize) -> Option<u32>,
) -> bool {
    let mut seen = HashSet::new();
    let mut waiting = vec![(producer, 0u32)];
    while let Some((from, younger)) = waiting.pop() {
        for &next in &graph.sites[from].next {
            if limit(next).is_some_and(|n| event.order.completes(n, younger))
                || graph.sites[next].calls
            {
                continue;
            }
            let insn = &graph.sites[next].insn;
            let same = |e: &Event| e.order == event.order;
            let events = own(next);
            let in_order = event.order != Order::Smem && !event.reads && events.iter().any(same);
            let touched = graph.info(next).accesses(insn).any(|a| {
                let matters = !event.reads || a.write;
                let hit = event.registers.iter().any(|r| a.touches(r.0, r.1));
                !a.anywhere && matters && hit && !(a.write && in_order)
            });
            if touched {
                return false;
            }
            let younger = (younger + events.iter().filter(|e| same(e)).count() as u32).min(64);
            if next != producer && seen.insert((next, younger)) {
                waiting.push((next, younger));
            }
        }
    }
    true
}
