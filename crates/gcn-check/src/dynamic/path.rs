//! The instructions that waves have executed, and the checks that follow a wave's path: waits and wait states.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use gcn_isa::access::{InstructionTable, MemoryKind, MemorySpace};
use gcn_isa::decode::Insn;
use gcn_isa::flow::Flow;
use gcn_isa::hazard;
use gcn_isa::meaning::{Op, Signal, meaning};
use gcn_isa::print::{Style, print};
use gcn_isa::target::Target;

use crate::code::{Graph, Site};
use crate::hazards;
use crate::report::Finding;
use crate::waitcnt::{self, Counter, Event};

/// The maximum length of a window: an instruction and those before it that a hazard may depend on, the oldest first.
const WINDOW: usize = 7;

/// The maximum number of instructions that [`Path::polls`] follows. Beyond it the load is taken to be part of a wait, so that correct code is not
/// reported.
const MOST: usize = 1 << 14;

/// The state of a wave in the checks that follow its path.
#[derive(Clone, Default)]
pub struct WavePath {
    waits: waitcnt::Outstanding,
    /// The number of the window that ends with the wave's last instruction.
    window: u32,
}

/// What an instruction does to VM_CNT.
#[derive(Clone, Copy, Default)]
pub struct Vm {
    /// The instruction is counted until it completes.
    pub counts: bool,
    /// The instruction waits until at most this number of counted instructions are outstanding.
    pub waits: Option<u32>,
}

/// The executed instructions in order of first execution, and their properties.
pub struct Path {
    /// The instructions. They have no successors, because each wave's path gives the order.
    pub graph: Graph<'static>,
    by_pc: BTreeMap<u64, usize>,
    index: HashMap<u64, usize>,
    events: Vec<Vec<Event>>,
    leaves: Vec<bool>,
    /// For each instruction: it takes part in global wave sync or an ordered append.
    syncs: Vec<bool>,
    /// For each instruction: its effect on VM_CNT.
    vm: Vec<Vm>,
    /// Cached results of [`Path::polls`] by load of LDS.
    loops: HashMap<usize, bool>,
    /// The windows of instructions that waves have executed, with the findings for the last instruction of each. The first one is empty.
    windows: Vec<(Vec<u32>, Vec<Finding>)>,
    numbers: HashMap<Vec<u32>, u32>,
    /// The number of the next window, by the current window's number and the executed instruction.
    after: HashMap<(u32, u32), u32>,
    settings: hazards::Settings,
}

/// Returns the table of a target, which is made once per process.
pub fn table(target: Target) -> &'static InstructionTable {
    use std::sync::{Mutex, OnceLock, PoisonError};
    static TABLES: OnceLock<Mutex<Vec<&'static InstructionTable>>> = OnceLock::new();
    let tables = TABLES.get_or_init(Mutex::default);
    let mut tables = tables.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(table) = tables.iter().find(|t| t.target() == target) {
        return table;
    }
    // The leak is bounded: there is one table per target.
    let table = Box::leak(Box::new(InstructionTable::new(target)));
    tables.push(table);
    table
}

impl Path {
    /// Creates a path without executed instructions.
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
            index: HashMap::new(),
            events: Vec::new(),
            leaves: Vec::new(),
            syncs: Vec::new(),
            vm: Vec::new(),
            loops: HashMap::new(),
            windows: vec![(Vec::new(), Vec::new())],
            numbers: HashMap::new(),
            after: HashMap::new(),
            settings,
        }
    }

    /// Returns the number of the instruction at an address, if it was executed.
    pub fn known(&self, pc: u64) -> Option<usize> {
        self.index.get(&pc).copied()
    }

    /// Adds an instruction.
    pub fn add(&mut self, pc: u64, insn: Insn) -> usize {
        let at = self.graph.sites.len();
        let info = self.graph.table.of(&insn);
        self.events.push(waitcnt::events(info, &insn));
        self.leaves.push(false);
        let nodes = &meaning(insn.row, self.graph.target()).nodes;
        let syncs = |op: Op| matches!(op, Op::Gws(_) | Op::Turn);
        self.syncs.push(nodes.iter().any(|n| syncs(n.op)));
        self.vm.push(Vm {
            counts: info.counters(&insn).vm,
            waits: waitcnt::wait(info, &insn).map(|waits| Counter::Vm.of(&waits).0),
        });
        self.graph.sites.push(Site {
            pc,
            insn,
            flow: info.flow(&insn),
            next: Vec::new(),
            previous: Vec::new(),
            // The path contains the callee's instructions, so the call needs no assumptions.
            calls: false,
            leaves: false,
            wait_states: hazard::wait_states(&insn, info),
        });
        self.by_pc.insert(pc, at);
        self.index.insert(pc, at);
        at
    }

    /// Returns true if an instruction waits for other waves of the dispatch or releases them.
    pub fn syncs(&self, at: usize) -> bool {
        self.syncs[at]
    }

    /// Returns an instruction's effect on VM_CNT.
    pub fn vm(&self, at: usize) -> Vm {
        self.vm[at]
    }

    /// Returns true if a load of LDS may be part of a wait for another wave: some path without a barrier leads from it to a loop that
    /// loads from LDS or changes it atomically. `fetch` gives the instruction at an address.
    pub fn polls(&mut self, at: usize, fetch: impl Fn(u64) -> Option<Insn>) -> bool {
        if let Some(&known) = self.loops.get(&at) {
            return known;
        }
        let start = self.graph.sites[at].pc;
        let (reached, loads) = self.reached(start, &fetch);
        let loops = |pc: &u64| self.reached(*pc, &fetch).0.contains(pc);
        let found = reached.len() > MOST || loops(&start) || loads.iter().any(loops);
        self.loops.insert(at, found);
        found
    }

    /// Returns the instructions that one reaches on paths without a barrier, and the loads and atomics of LDS among them.
    fn reached(
        &self,
        start: u64,
        fetch: &impl Fn(u64) -> Option<Insn>,
    ) -> (HashSet<u64>, Vec<u64>) {
        let (mut seen, mut loads) = (HashSet::new(), Vec::new());
        let mut open = vec![start];
        while let Some(pc) = open.pop()
            && seen.len() <= MOST
        {
            let Some(insn) = fetch(pc) else { continue };
            let info = self.graph.table.of(&insn);
            if info.signals(Signal::Barrier) {
                continue;
            }
            let memory = info.memory(&insn);
            if memory.is_some_and(|m| m.space == MemorySpace::Lds && m.kind != MemoryKind::Store) {
                loads.push(pc);
            }
            let flow = info.flow(&insn);
            let next = flow
                .falls_through()
                .then(|| pc.wrapping_add(insn.len as u64));
            for to in next.into_iter().chain(flow.target(pc, &insn)) {
                if seen.insert(to) {
                    open.push(to);
                }
            }
        }
        (seen, loads)
    }

    /// Returns the text of an instruction.
    pub fn text(&self, at: usize) -> String {
        let mut text = String::new();
        print(&self.graph.sites[at].insn, &Style::LLVM, &mut text);
        text
    }

    /// Returns an instruction and the executed instructions next to it.
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

    /// Advances a wave by an instruction and returns the waits that were missing.
    pub fn waits(&self, wave: &mut WavePath, at: usize) -> Vec<Finding> {
        wave.waits.step(&self.graph, &self.events, &self.leaves, at)
    }

    /// Advances a wave by an instruction and returns the wait states that were missing.
    pub fn wait_states(&mut self, wave: &mut WavePath, at: usize) -> Vec<Finding> {
        let key = (wave.window, at as u32);
        if let Some(&known) = self.after.get(&key) {
            wave.window = known;
            return self.windows[known as usize].1.clone();
        }
        let before = &self.windows[wave.window as usize].0;
        let kept = before.len().saturating_sub(WINDOW - 1);
        let mut window = before[kept..].to_vec();
        window.push(at as u32);
        let known = self.numbers.get(&window).copied();
        let number = known.unwrap_or_else(|| {
            let found = self.in_window(&window);
            let number = self.windows.len() as u32;
            self.windows.push((window.clone(), found));
            self.numbers.insert(window, number);
            number
        });
        self.after.insert(key, number);
        wave.window = number;
        self.windows[number as usize].1.clone()
    }

    /// Returns the hazards whose second instruction is the last one of a window.
    fn in_window(&self, window: &[u32]) -> Vec<Finding> {
        let last = window.len() - 1;
        let site = |(n, &at): (usize, &u32)| {
            let site = &self.graph.sites[at as usize];
            Site {
                pc: site.pc,
                insn: site.insn,
                flow: match n == last {
                    true => site.flow,
                    // The window contains the path that earlier branches took, so only the last branch counts.
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
