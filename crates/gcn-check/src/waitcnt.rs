//! The check `waitcnt`: results that are used, and sources that are overwritten, before a wait guarantees that the memory
//! instruction is done with them.
//!
//! A counter counts the instructions of several orders. Instructions of one order complete in the order of issue, except for those of scalar
//! memory; instructions of different orders do not. A wait for N therefore guarantees that an instruction is complete if at least N later
//! ones of its own order were issued on every path; for scalar memory, only if N is 0.
//!
//! FLAT instructions count in VM_CNT and in LGKM_CNT. Which of the two counters covers the data depends on the address, which is known
//! only at run time. This check assumes global memory, as nearly all are, and the order of other vector memory.

use std::rc::Rc;

use gcn_isa::access::{File, InstructionInfo, MemoryKind, MemorySpace, RegAccess};
use gcn_isa::decode::Insn;
use gcn_isa::format::{Field, Format};
use gcn_isa::hazard::is_vmem;
use gcn_isa::meaning::Signal;
use gcn_isa::names::{self, Waitcnt};
use gcn_isa::shape::{Access, Imm, Role};

use crate::code::Graph;
use crate::registers;
use crate::report::{Check, Finding, Related, RelatedRole, Severity};

/// A counter of s_waitcnt.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Counter {
    /// VM_CNT.
    Vm,
    /// LGKM_CNT.
    Lgkm,
    /// EXP_CNT.
    Exp,
}

impl Counter {
    /// Returns its name in s_waitcnt.
    pub const fn name(self) -> &'static str {
        match self {
            Counter::Vm => "vmcnt",
            Counter::Lgkm => "lgkmcnt",
            Counter::Exp => "expcnt",
        }
    }

    /// Returns its value in s_waitcnt, and the value that waits for nothing.
    pub fn of(self, waits: &Waitcnt) -> (u32, u32) {
        match self {
            Counter::Vm => waits.vm,
            Counter::Lgkm => waits.lgkm,
            Counter::Exp => waits.exp,
        }
    }
}

/// The instructions that complete in the order of issue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Order {
    /// Vector memory, on VM_CNT.
    Vmem,
    /// LDS, on LGKM_CNT.
    Lds,
    /// GDS, on LGKM_CNT.
    Gds,
    /// Messages, on LGKM_CNT.
    Message,
    /// Scalar memory, on LGKM_CNT, which completes in any order.
    Smem,
    /// The sources of vector memory writes, on EXP_CNT: gfx6.
    StoreData,
    /// The sources of GDS instructions, on EXP_CNT.
    GdsData,
    /// Exports of parameters, of positions, and to render targets.
    ExportParameter,
    /// See [`Order::ExportParameter`].
    ExportPosition,
    /// See [`Order::ExportParameter`].
    ExportTarget,
}

impl Order {
    /// Returns the counter.
    pub const fn counter(self) -> Counter {
        match self {
            Order::Vmem => Counter::Vm,
            Order::Lds | Order::Gds | Order::Message | Order::Smem => Counter::Lgkm,
            _ => Counter::Exp,
        }
    }

    /// Returns true if a wait for `count` guarantees that an instruction is complete. `younger` is the number of
    /// instructions of its order that were issued after it.
    pub const fn completes(self, count: u32, younger: u32) -> bool {
        match self {
            Order::Smem => count == 0,
            _ => count <= younger,
        }
    }
}

/// A part of an issued instruction that is outstanding until a wait.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The order in which it completes.
    pub order: Order,
    /// The registers that must not be touched: result registers must not be read or written, source registers must
    /// not be written. At most 32.
    pub registers: Rc<[(File, u16)]>,
    /// The instruction still reads the registers; otherwise it will write them.
    pub reads: bool,
    /// Its effect on memory that other waves see.
    pub memory: Effect,
}

/// The effect of an outstanding instruction on memory that a barrier or a cache invalidation must wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing that is checked.
    None,
    /// It writes LDS, which other waves of the workgroup may read after a barrier.
    WritesLds,
    /// It reads LDS, which other waves of the workgroup may write after a barrier.
    ReadsLds,
    /// It reads memory, perhaps atomically: a later invalidation of the cache must follow it.
    Reads,
}

/// The maximum count of younger instructions, which is the maximum of VM_CNT on gfx9.
const MOST: u8 = 63;

/// Returns the events that an instruction leaves outstanding.
pub fn events(info: &InstructionInfo, insn: &Insn) -> Vec<Event> {
    let counters = info.counters(insn);
    let memory = info.memory(insn);
    let format = insn.row.format;
    let mut list = Vec::new();
    let results = || -> Rc<[(File, u16)]> {
        let writes = info.accesses(insn).filter(|a| {
            a.write
                && !a.anywhere
                && matches!(a.file, File::Scalar | File::Vector)
                && a.slot.is_some()
                || is_status(a, insn)
        });
        writes
            .flat_map(|a| (a.first..a.first + a.count as u16).map(move |n| (a.file, n)))
            .take(32)
            .collect()
    };
    let mut push = |order: Order, registers: Rc<[(File, u16)]>, reads: bool, memory: Effect| {
        list.push(Event {
            order,
            registers,
            reads,
            memory,
        });
    };
    let effect = match memory {
        Some(m) if m.space == MemorySpace::Lds && m.kind == MemoryKind::Load => Effect::ReadsLds,
        Some(m) if m.space == MemorySpace::Lds => Effect::WritesLds,
        Some(m) if m.kind != MemoryKind::Store && counters.vm => Effect::Reads,
        _ => Effect::None,
    };
    if counters.vm {
        push(Order::Vmem, results(), false, effect);
    }
    if counters.lgkm {
        match (format, memory.map(|m| m.space)) {
            (Format::Flat, _) => {}
            (Format::Ds, Some(MemorySpace::Gds)) => {
                push(Order::Gds, results(), false, Effect::None)
            }
            (Format::Ds, _) if insn.field(Field::Gds) != 0 => {
                push(Order::Gds, results(), false, Effect::None);
            }
            (Format::Ds, _) => push(Order::Lds, results(), false, effect),
            (Format::Smem, _) => push(Order::Smem, results(), false, Effect::None),
            _ => push(Order::Message, Rc::new([]), false, Effect::None),
        }
    }
    if counters.exp {
        let order = match format {
            Format::Exp => match insn.field(Field::Tgt) {
                12..=15 => Order::ExportPosition,
                32.. => Order::ExportParameter,
                _ => Order::ExportTarget,
            },
            Format::Ds => Order::GdsData,
            _ => Order::StoreData,
        };
        let data = info.accesses(insn).filter(|a| {
            let role = a.slot.map(|n| insn.row.shape.slots[n as usize].role);
            let data = order != Order::StoreData
                || matches!(role, Some(Role::Vdata | Role::Data0 | Role::Data1));
            !a.write && a.file == File::Vector && !a.anywhere && data
        });
        let data = data.flat_map(|a| (a.first..a.first + a.count as u16).map(move |n| (a.file, n)));
        push(order, data.take(32).collect(), true, Effect::None);
    }
    list
}

/// Returns true if an access writes the VGPR after a result, to which TFE writes a status.
fn is_status(access: &RegAccess, insn: &Insn) -> bool {
    access.write && access.file == File::Vector && access.implicit && insn.field(Field::Tfe) != 0
}

/// Returns the wait of an instruction, or `None` if it is not an s_waitcnt.
pub fn wait(info: &InstructionInfo, insn: &Insn) -> Option<Waitcnt> {
    let is =
        info.signals(Signal::Waitcnt) && insn.row.shape.slot(Role::Imm(Imm::Waitcnt)).is_some();
    is.then(|| names::waitcnt(insn.field(Field::Simm16), insn.generation()))
}

/// An instruction that may be outstanding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pending {
    /// The instruction, and the index of its event.
    site: u32,
    event: u8,
    order: Order,
    /// The number of instructions of its order that were issued after it, on the path with the fewest.
    younger: u8,
    /// A bit for each register of the event that has not been touched since.
    registers: u32,
    /// [`Event::memory`], until it has been reported.
    memory: Effect,
}

impl Pending {
    fn key(&self) -> (u32, u8) {
        (self.site, self.event)
    }
}

/// The events that may be outstanding before an instruction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct State {
    /// In ascending order of instructions.
    pending: Vec<Pending>,
    /// Bits that are set if vector memory or LGKM instructions of the caller may be outstanding.
    caller: u8,
}

const CALLER_VM: u8 = 1;
const CALLER_LGKM: u8 = 2;

/// The state at the entry, which determines what is checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Entry {
    /// A kernel: nothing is outstanding.
    Kernel,
    /// A function: instructions of the caller may be outstanding, and nothing may be when it returns.
    Function,
}

struct Analysis<'a, 'g> {
    graph: &'a Graph<'g>,
    events: &'a [Vec<Event>],
    /// Instructions at which a function returns.
    returns: &'a [bool],
}

/// The outstanding events of a running wave.
#[derive(Clone, Default)]
pub struct Outstanding(State);

impl Outstanding {
    /// Advances the wave by an instruction. `events` has the events of each instruction, `returns` whether a function returns there.
    pub fn step(
        &mut self,
        graph: &Graph<'_>,
        events: &[Vec<Event>],
        returns: &[bool],
        at: usize,
    ) -> Vec<Finding> {
        let analysis = Analysis {
            graph,
            events,
            returns,
        };
        let mut findings: Vec<Finding> = Vec::new();
        analysis.step(at, &mut self.0, |violation| {
            let finding = analysis.finding(at, &violation);
            let same = |f: &Finding| f.rule == finding.rule && f.related == finding.related;
            if !findings.iter().any(same) {
                findings.push(finding);
            }
        });
        findings
    }
}

/// A violation that an instruction causes in a state.
enum Violation<'a> {
    /// A register of an outstanding event is touched.
    Touch {
        pending: &'a Pending,
        register: (File, u16),
        write: bool,
    },
    /// An access of LDS may be incomplete at a barrier.
    Barrier { pending: &'a Pending },
    /// A load or an atomic may be incomplete when the cache is invalidated.
    Invalidate { pending: &'a Pending },
    /// A function returns while a result is outstanding.
    Return { pending: &'a Pending },
    /// An instruction of the caller may still write a register that is touched.
    Caller { register: (File, u16), lgkm: bool },
}

/// Finds missing waits on all paths.
pub fn check(graph: &Graph<'_>, entry: Entry) -> Vec<Finding> {
    let events = (0..graph.sites.len()).map(|at| events(graph.info(at), &graph.sites[at].insn));
    let returns = |at: usize| entry == Entry::Function && graph.returns(at);
    let events: Vec<Vec<Event>> = events.collect();
    let returns: Vec<bool> = (0..graph.sites.len()).map(returns).collect();
    let analysis = Analysis {
        graph,
        events: &events,
        returns: &returns,
    };
    let initial = State {
        pending: Vec::new(),
        caller: match entry {
            Entry::Kernel => 0,
            Entry::Function => CALLER_VM | CALLER_LGKM,
        },
    };
    let step = |at: usize, state: &mut State| analysis.step(at, state, |_| {});
    let states = graph.forward(initial, step, merge);
    let mut findings = Vec::new();
    for (at, state) in states.into_iter().enumerate() {
        let Some(mut state) = state else { continue };
        let mut last = None;
        analysis.step(at, &mut state, |violation| {
            let finding = analysis.finding(at, &violation);
            // There is one report for all registers of a result.
            let key = (finding.related.first().and_then(|r| r.site), finding.rule);
            if last.replace(key) != Some(key) {
                findings.push(finding);
            }
        });
    }
    findings
}

fn merge(old: &mut State, new: &State) -> bool {
    let mut changed = false;
    if old.caller | new.caller != old.caller {
        old.caller |= new.caller;
        changed = true;
    }
    let mut at = 0;
    for pending in &new.pending {
        while old.pending.get(at).is_some_and(|p| p.key() < pending.key()) {
            at += 1;
        }
        match old.pending.get_mut(at).filter(|p| p.key() == pending.key()) {
            Some(same) => {
                let before = *same;
                same.younger = same.younger.min(pending.younger);
                same.registers |= pending.registers;
                if same.memory == Effect::None {
                    same.memory = pending.memory;
                }
                changed |= *same != before;
            }
            None => {
                old.pending.insert(at, *pending);
                changed = true;
            }
        }
    }
    changed
}

impl Analysis<'_, '_> {
    /// Changes the state before an instruction to the state after it.
    fn step(&self, at: usize, state: &mut State, mut violation: impl FnMut(Violation<'_>)) {
        let site = &self.graph.sites[at];
        let info = self.graph.info(at);
        if let Some(waits) = wait(info, &site.insn) {
            let count = |counter: Counter| counter.of(&waits);
            state.pending.retain(|p| {
                let (n, none) = count(p.order.counter());
                n >= none || !p.order.completes(n, p.younger as u32)
            });
            if waits.vm.0 == 0 {
                state.caller &= !CALLER_VM;
            }
            if waits.lgkm.0 == 0 {
                state.caller &= !CALLER_LGKM;
            }
            return;
        }
        self.touches(at, state, &mut violation);
        if info.signals(Signal::Barrier) {
            let lds = |p: &&mut Pending| matches!(p.memory, Effect::WritesLds | Effect::ReadsLds);
            for pending in state.pending.iter_mut().filter(lds) {
                violation(Violation::Barrier { pending });
                pending.memory = Effect::None;
            }
        }
        // Only vector caches count; the scalar cache has no part in the order of vector memory.
        if info.signals(Signal::Cache) && is_vmem(site.insn.row) {
            let reads = |p: &&mut Pending| p.memory == Effect::Reads;
            for pending in state.pending.iter_mut().filter(reads) {
                violation(Violation::Invalidate { pending });
                pending.memory = Effect::None;
            }
        }
        if self.returns[at] {
            for pending in state
                .pending
                .iter()
                .filter(|p| p.registers != 0 && !self.event(p).reads)
            {
                violation(Violation::Return { pending });
            }
        }
        if site.calls {
            // The callee waits for everything that its caller has outstanding, and nothing is outstanding when it returns.
            state.pending.clear();
        }
        self.issue(at, state);
        state
            .pending
            .retain(|p| p.registers != 0 || p.memory != Effect::None);
    }

    fn event(&self, pending: &Pending) -> &Event {
        &self.events[pending.site as usize][pending.event as usize]
    }

    /// Finds registers of outstanding events among those that an instruction reads and writes.
    fn touches(&self, at: usize, state: &mut State, violation: &mut impl FnMut(Violation<'_>)) {
        let site = &self.graph.sites[at];
        if state.pending.is_empty() && state.caller == 0 {
            return;
        }
        let own = &self.events[at];
        // A load of one half of a VGPR keeps the other half.
        let loads =
            (self.graph.info(at).memory(&site.insn)).is_some_and(|m| m.kind == MemoryKind::Load);
        let keeps = |access: &RegAccess| {
            let slot = access.slot.map(|n| &site.insn.row.shape.slots[n as usize]);
            loads && slot.is_some_and(|slot| slot.access != Access::Read)
        };
        for access in self.graph.info(at).accesses(&site.insn) {
            if access.anywhere || !matches!(access.file, File::Scalar | File::Vector) {
                continue;
            }
            let exec = access.file == File::Scalar && access.first == gcn_isa::operand::EXEC;
            for pending in &mut state.pending {
                let event = &self.events[pending.site as usize][pending.event as usize];
                if event.reads && !access.write {
                    continue;
                }
                // Results of one order arrive in order, so the later result remains, or its half.
                let in_order = (access.write || keeps(&access))
                    && !event.reads
                    && event.order != Order::Smem
                    && own.iter().any(|e| e.order == event.order && !e.reads);
                for (bit, register) in event.registers.iter().enumerate() {
                    if pending.registers >> bit & 1 == 0 || !access.touches(register.0, register.1)
                    {
                        continue;
                    }
                    if !in_order {
                        violation(Violation::Touch {
                            pending,
                            register: *register,
                            write: access.write,
                        });
                    }
                    pending.registers &= !(1 << bit);
                }
            }
            if exec || access.implicit {
                continue;
            }
            let lgkm = state.caller & CALLER_LGKM != 0;
            if state.caller & CALLER_VM != 0 && access.file == File::Vector || lgkm {
                let register = (access.file, access.first);
                violation(Violation::Caller { register, lgkm });
                state.caller = 0;
            }
        }
    }

    /// Adds the events that an instruction leaves outstanding.
    fn issue(&self, at: usize, state: &mut State) {
        for (n, event) in self.events[at].iter().enumerate() {
            for pending in state.pending.iter_mut().filter(|p| p.order == event.order) {
                pending.younger = (pending.younger + 1).min(MOST);
            }
            let new = Pending {
                site: at as u32,
                event: n as u8,
                order: event.order,
                younger: 0,
                registers: ((1u64 << event.registers.len()) - 1) as u32,
                memory: event.memory,
            };
            match state.pending.binary_search_by_key(&new.key(), Pending::key) {
                Ok(same) => state.pending[same] = new,
                Err(location) => state.pending.insert(location, new),
            }
        }
    }

    fn finding(&self, at: usize, violation: &Violation<'_>) -> Finding {
        let generation = self.graph.target().generation();
        let name = |(file, n): (File, u16)| registers::name(file, n, generation);
        let producer = |pending: &Pending, message: String| {
            vec![Related {
                role: RelatedRole::Producer,
                site: Some(pending.site as usize),
                message,
            }]
        };
        let help = |pending: &Pending| {
            let counter = pending.order.counter().name();
            let count = match pending.order {
                Order::Smem => 0,
                _ => pending.younger,
            };
            Some(format!("insert s_waitcnt {counter}({count}) before it"))
        };
        let (rule, message, related, help) = match violation {
            Violation::Touch { pending, register, write } => {
                let event = self.event(pending);
                let name = name(*register);
                let counter = pending.order.counter().name();
                let (rule, message, producer_says) = match (event.reads, write) {
                    (true, _) => (
                        "overwritten-source",
                        format!("{name} is overwritten, but no wait for {counter} guarantees that its old value has been read"),
                        format!("{name} is read here, some time after the instruction was issued"),
                    ),
                    (false, false) => (
                        "early-use",
                        format!("{name} is read, but no wait for {counter} guarantees that its value has arrived"),
                        format!("{name} is loaded here"),
                    ),
                    (false, true) => (
                        "early-overwrite",
                        format!("{name} is written, but no wait for {counter} guarantees that an earlier result has arrived: it may replace the new value"),
                        format!("{name} is loaded here"),
                    ),
                };
                (rule, message, producer(pending, producer_says), help(pending))
            }
            Violation::Barrier { pending } if pending.memory == Effect::WritesLds => (
                "barrier",
                "the barrier may be passed before a write of LDS is done: other waves may read the old value".to_string(),
                producer(pending, "LDS is written here".into()),
                help(pending),
            ),
            Violation::Barrier { pending } => (
                "barrier-read",
                "the barrier may be passed before a read of LDS is done: other waves may write there first".to_string(),
                producer(pending, "LDS is read here".into()),
                help(pending),
            ),
            Violation::Invalidate { pending } => (
                "invalidate",
                "the cache is invalidated, but no wait for vmcnt guarantees that an earlier load or atomic is done: later loads may get older data than it got".to_string(),
                producer(pending, "memory is read here".into()),
                help(pending),
            ),
            Violation::Return { pending } => (
                "return",
                format!(
                    "the function returns, but no wait for {} guarantees that a result has arrived; callers do not wait for it",
                    pending.order.counter().name()
                ),
                producer(pending, "the result is loaded here".into()),
                help(pending),
            ),
            Violation::Caller { register, lgkm } => (
                "entry",
                format!(
                    "{} is used, but results that the caller has outstanding may not have arrived: a function begins with a wait for all counters",
                    name(*register)
                ),
                Vec::new(),
                Some(match lgkm {
                    true => "insert s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0) before it".into(),
                    false => "insert s_waitcnt vmcnt(0) before it".into(),
                }),
            ),
        };
        Finding {
            check: Check::Waitcnt,
            // The barrier may be meant for data other than those that are read.
            severity: match rule {
                "barrier-read" => Severity::Note,
                _ => Severity::Error,
            },
            rule,
            site: at,
            register: match violation {
                Violation::Touch { register, .. } | Violation::Caller { register, .. } => {
                    Some(*register)
                }
                _ => None,
            },
            message,
            related,
            help,
        }
    }
}
