//! The instructions that waves have executed, and the checks that follow a wave's path: waits and wait states.

use std::collections::{BTreeMap, HashMap, HashSet};

use gcn_isa::access::FactTable;
use gcn_isa::decode::Insn;
use gcn_isa::flow::Flow;
use gcn_isa::hazard;
use gcn_isa::print::{Style, print};
use gcn_isa::target::Target;

use crate::code::{Graph, Site};
use crate::hazards;
use crate::report::Finding;
use crate::waitcnt::{self, Event};

/// The instructions before one that a hazard may depend on, the oldest first.
const WINDOW: usize = 7;

/// What the checks of paths know of a wave.
#[derive(Clone, Default)]
pub struct WavePath {
    waits: waitcnt::Outstanding,
    window: Vec<u32>,
}

/// The instructions that were executed, by the order in which each was first, and what is known of them.
pub struct Path {
    /// The instructions. They have no successors: a wave's path says what follows.
    pub graph: Graph<'static>,
    by_pc: BTreeMap<u64, usize>,
    events: Vec<Vec<Event>>,
    leaves: Vec<bool>,
    /// Windows that were looked at.
    looked_at: HashSet<Vec<u32>>,
    hazards: HashMap<Vec<u32>, Vec<Finding>>,
    settings: hazards::Settings,
}

/// The table of a target, made once a process.
pub fn table(target: Target) -> &'static FactTable {
    use std::sync::{Mutex, OnceLock, PoisonError};
    static TABLES: OnceLock<Mutex<Vec<&'static FactTable>>> = OnceLock::new();
    let tables = TABLES.get_or_init(Mutex::default);
    let mut tables = tables.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(table) = tables.iter().find(|t| t.target() == target) {
        return table;
    }
    // There is one for each target.
    let table = Box::leak(Box::new(FactTable::new(target)));
    tables.push(table);
    table
}

impl Path {
    /// Nothing was executed.
    pub fn new(target: Target, settings: hazards::Settings) -> Path {
        Path {
            graph: Graph {
                table: table(target),
                sites: Vec::new(),
                entry: 0,
                invalid: Vec::new(),
                callees: Vec::new(),
            },
            by_pc: BTreeMap::new(),
            events: Vec::new(),
            leaves: Vec::new(),
            looked_at: HashSet::new(),
            hazards: HashMap::new(),
            settings,
        }
    }

    /// The instruction at an address, if it was executed.
    pub fn known(&self, pc: u64) -> Option<usize> {
        self.by_pc.get(&pc).copied()
    }

    /// Adds an instruction.
    pub fn add(&mut self, pc: u64, insn: Insn) -> usize {
        let at = self.graph.sites.len();
        let facts = self.graph.table.of(&insn);
        self.events.push(waitcnt::events(facts, &insn));
        self.leaves.push(false);
        self.graph.sites.push(Site {
            pc,
            insn,
            flow: facts.flow(&insn),
            next: Vec::new(),
            previous: Vec::new(),
            // A function's instructions are executed, so nothing has to be assumed of it.
            calls: false,
            leaves: false,
            wait_states: hazard::wait_states(&insn, facts),
        });
        self.by_pc.insert(pc, at);
        at
    }

    /// The text of an instruction.
    pub fn text(&self, at: usize) -> String {
        let mut text = String::new();
        print(&self.graph.sites[at].insn, &Style::LLVM, &mut text);
        text
    }

    /// The executed instructions next to one, and itself.
    pub fn around(&self, at: usize) -> Vec<usize> {
        let pc = self.graph.sites[at].pc;
        let before = self.by_pc.range(..pc).next_back();
        let before = before.filter(|(p, n)| *p + self.graph.sites[**n].insn.len as u64 == pc);
        let end = pc + self.graph.sites[at].insn.len as u64;
        let after = self.by_pc.get(&end).copied();
        (before.map(|b| *b.1).into_iter())
            .chain([at])
            .chain(after)
            .collect()
    }

    /// A wave executes an instruction: missing waits.
    pub fn waits(&self, wave: &mut WavePath, at: usize) -> Vec<Finding> {
        wave.waits.step(&self.graph, &self.events, &self.leaves, at)
    }

    /// A wave executes an instruction: missing wait states.
    pub fn wait_states(&mut self, wave: &mut WavePath, at: usize) -> Vec<Finding> {
        if wave.window.len() == WINDOW {
            wave.window.remove(0);
        }
        wave.window.push(at as u32);
        if self.looked_at.contains(&wave.window) {
            let found = self.hazards.get(&wave.window);
            return found.cloned().unwrap_or_default();
        }
        self.looked_at.insert(wave.window.clone());
        let found = self.in_window(&wave.window);
        if !found.is_empty() {
            self.hazards.insert(wave.window.clone(), found.clone());
        }
        found
    }

    /// The hazards whose second instruction is the last of a window.
    fn in_window(&self, window: &[u32]) -> Vec<Finding> {
        let last = window.len() - 1;
        let site = |(n, &at): (usize, &u32)| {
            let site = &self.graph.sites[at as usize];
            Site {
                pc: site.pc,
                insn: site.insn,
                flow: match n == last {
                    true => site.flow,
                    // Only the last branch is looked at.
                    false => Flow::Next,
                },
                next: if n < last { vec![n + 1] } else { Vec::new() },
                previous: if n > 0 { vec![n - 1] } else { Vec::new() },
                calls: false,
                leaves: false,
                wait_states: site.wait_states,
            }
        };
        let graph = Graph {
            table: self.graph.table,
            sites: window.iter().enumerate().map(site).collect(),
            entry: 0,
            invalid: Vec::new(),
            callees: Vec::new(),
        };
        let mut found = hazards::check(&graph, self.settings);
        found.retain(|f| f.site == last);
        for finding in &mut found {
            finding.site = window[last] as usize;
            for related in &mut finding.related {
                related.site = related.site.map(|n| window[n] as usize);
            }
        }
        found
    }
}
