//! The probe of a shard, which records the reader and writer of each byte.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gcn_emu::dispatch::observers::{About, Observe, Observer, Scene, Who};
use gcn_emu::engine::Stop as Stopped;
use gcn_emu::mem::Memory;
use gcn_emu::probe::{Access, AccessLocation, Executed, Probe};
use gcn_isa::access::{InstructionTable, MemoryKind};
use gcn_isa::print::{Style, print};

use super::code::{Class, classify};
use super::file::{Group, Run, Touched};
use super::{Refusal, Region, Stop};

/// Bytes in a page of the record.
const PAGE: u64 = 4096;

/// The kinds of a byte's writes: none, stores, or atomics united by one operator on one size; atomics and stores mixed.
pub const STORED: u8 = 1;
pub const MIXED: u8 = 2;
/// The first kind of atomics: the operator's number times two, plus one for 64 bits, is added.
pub const ATOMIC: u8 = 4;

/// The record of a page: for each byte the kind of its writes, its writer and its reader, as numbers of workgroups from 1.
struct Page {
    kind: [u8; PAGE as usize],
    writer: [u32; PAGE as usize],
    reader: [u32; PAGE as usize],
}

#[derive(Default)]
struct State {
    launch: u32,
    /// The regions by address: start, end, and number.
    regions: Vec<(u64, u64, usize)>,
    pages: HashMap<(usize, u64), Box<Page>>,
    groups: Vec<Group>,
    numbers: HashMap<(u32, u64), u32>,
    refused: Option<(Refusal, String)>,
}

/// The record of a shard's launches.
pub struct Tracker {
    state: Arc<Mutex<State>>,
    control: Stop,
    regions: usize,
}

/// The bytes that a shard changed and read.
pub struct Changed {
    pub groups: Vec<Group>,
    pub regions: Vec<Touched>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tracker {
    pub(super) fn new(regions: &[Region], control: Stop) -> Tracker {
        let of = |(n, r): (usize, &Region)| (r.address, r.address + r.bytes, n);
        let mut list: Vec<_> = regions.iter().enumerate().map(of).collect();
        list.sort_unstable();
        let state = State {
            regions: list,
            ..State::default()
        };
        Tracker {
            state: Arc::new(Mutex::new(state)),
            control,
            regions: regions.len(),
        }
    }

    /// Begins a launch.
    pub fn begin(&self, launch: u32) {
        lock(&self.state).launch = launch;
    }

    /// The reason why the plan cannot be sharded, and the location, if one was found.
    pub fn refused(&self) -> Option<(Refusal, String)> {
        lock(&self.state).refused.clone()
    }

    /// The bytes that the launches changed and read, with their present values in memory.
    pub fn changed(&self, memory: &Memory) -> Result<Changed, String> {
        let mut state = lock(&self.state);
        let mut regions: Vec<Touched> = (0..self.regions).map(|_| Touched::default()).collect();
        let starts: HashMap<usize, (u64, u64)> = (state.regions.iter())
            .map(|(start, end, n)| (*n, (*start, *end)))
            .collect();
        for (n, touched) in regions.iter_mut().enumerate() {
            let (start, end) = starts[&n];
            touched.bytes = end - start;
        }
        let mut keys: Vec<(usize, u64)> = state.pages.keys().copied().collect();
        keys.sort_unstable();
        for (n, page) in keys {
            let record = &state.pages[&(n, page)];
            let (start, end) = starts[&n];
            let size = (end - start - page * PAGE).min(PAGE) as usize;
            let mut bytes = vec![0; size];
            let read = memory.read(start + page * PAGE, &mut bytes);
            read.map_err(|e| e.to_string())?;
            for (at, byte) in bytes.iter().enumerate() {
                let (kind, writer, reader) =
                    (record.kind[at], record.writer[at], record.reader[at]);
                if kind == 0 && reader == 0 {
                    continue;
                }
                let offset = page * PAGE + at as u64;
                let touched = &mut regions[n];
                let same = |run: &Run| {
                    run.start + run.len == offset
                        && (run.kind, run.writer, run.reader) == (kind, writer, reader)
                };
                match touched.runs.last_mut().filter(|run| same(run)) {
                    Some(run) => run.len += 1,
                    None => touched.runs.push(Run {
                        start: offset,
                        len: 1,
                        kind,
                        writer,
                        reader,
                    }),
                }
                if kind != 0 {
                    touched.data.push(*byte);
                }
            }
        }
        Ok(Changed {
            groups: std::mem::take(&mut state.groups),
            regions,
        })
    }
}

impl Observe for Tracker {
    fn observer(&self) -> Box<dyn Observer> {
        Box::new(Watcher(RefCell::new(Inner {
            state: self.state.clone(),
            control: self.control.clone(),
            table: None,
            sites: HashMap::new(),
            scratch: (0, 0),
            class: Class::Plain,
            who: (0, [0; 3]),
            group: (u64::MAX, 0),
            pc: 0,
            text: String::new(),
        })))
    }

    fn probes(&self) -> bool {
        true
    }
}

struct Watcher(RefCell<Inner>);

struct Inner {
    state: Arc<Mutex<State>>,
    control: Stop,
    table: Option<InstructionTable>,
    /// The class of the instruction at a PC.
    sites: HashMap<u64, Class>,
    /// The addresses of scratch.
    scratch: (u64, u64),
    /// The instruction that runs: its class, its workgroup and its PC.
    class: Class,
    who: (u64, [u32; 3]),
    pc: u64,
    /// The workgroup that ran last, and its number among those that accessed memory.
    group: (u64, u32),
    /// The text of an instruction that is refused.
    text: String,
}

impl Observer for Watcher {
    fn before(&mut self, who: Who, scene: &Scene<'_>) {
        self.0.get_mut().before(who, scene);
    }

    fn after(&mut self, _: Who, _: &Scene<'_>, _: &Stopped) {}

    fn begin(&mut self, about: &About<'_>) {
        let inner = self.0.get_mut();
        let (address, _, bytes) = about.scratch;
        if bytes > 0 {
            let region = about.memory.region_of(address);
            inner.scratch = region.map_or((0, 0), |(start, bytes)| (start, start + bytes));
        }
        inner.table = Some(InstructionTable::new(about.target));
    }

    fn probe(&self) -> Option<&dyn Probe> {
        Some(self)
    }
}

impl Probe for Watcher {
    fn access(&self, access: &Access) -> bool {
        self.0.borrow_mut().access(access)
    }

    fn executed(&self, _: &Executed<'_>) {}
}

impl Inner {
    fn before(&mut self, who: Who, scene: &Scene<'_>) {
        self.pc = scene.wave.pc;
        self.who = (who.number, who.workgroup);
        self.class = match (self.sites.get(&self.pc), &self.table) {
            (Some(class), _) => *class,
            (None, Some(table)) => {
                let insn = scene.insn();
                let class = insn.map_or(Class::Plain, |insn| classify(&insn, table.of(&insn)));
                self.sites.insert(self.pc, class);
                class
            }
            (None, None) => Class::Plain,
        };
        if self.class == Class::Plain {
            return;
        }
        self.text.clear();
        if let Some(insn) = scene.insn() {
            print(&insn, &Style::LLVM, &mut self.text);
        }
        if let Class::Refused(refusal) = self.class {
            self.refuse(refusal);
        }
    }

    /// Records a refusal, and ends the dispatch.
    fn refuse(&mut self, refusal: Refusal) {
        let [x, y, z] = self.who.1;
        let text = match self.text.as_str() {
            "" => String::new(),
            text => format!(": {text}"),
        };
        let location = format!("workgroup ({x}, {y}, {z}), pc {:#x}{text}", self.pc);
        lock(&self.state).refused.get_or_insert((refusal, location));
        self.control.stop();
    }

    fn access(&mut self, access: &Access) -> bool {
        let at = match access.location {
            AccessLocation::Lds(_) | AccessLocation::Nowhere => return true,
            AccessLocation::Gds(_) => {
                self.refuse(Refusal::Gds);
                return false;
            }
            AccessLocation::Memory(at) => at,
        };
        let size = u64::from(access.size);
        let kind = match (access.kind, self.class) {
            (MemoryKind::Load, _) => 0,
            (_, Class::InMemory(refusal) | Class::Refused(refusal)) => {
                self.refuse(refusal);
                return false;
            }
            (MemoryKind::Atomic, Class::Unites(unite)) => {
                ATOMIC + 2 * unite.number() + u8::from(size == 8)
            }
            (_, _) => STORED,
        };
        let (start, end) = self.scratch;
        if (start..end).contains(&at) {
            return true;
        }
        let state = self.state.clone();
        let mut state = lock(&state);
        let writer = self.number(&mut state);
        let next = state.regions.partition_point(|r| r.0 <= at);
        let region = next.checked_sub(1).map(|n| state.regions[n]);
        let Some((start, end, region)) = region.filter(|r| at + size <= r.1) else {
            // An access beyond a buffer faults, or is in the rest of its last page, which belongs to no buffer.
            if kind != 0 {
                drop(state);
                self.refuse(Refusal::Host);
                return false;
            }
            return true;
        };
        debug_assert!(at >= start && at + size <= end);
        let mut offset = at - start;
        let last = offset + size;
        while offset < last {
            let stop = last.min((offset / PAGE + 1) * PAGE);
            let page = (state.pages.entry((region, offset / PAGE))).or_insert_with(|| {
                Box::new(Page {
                    kind: [0; PAGE as usize],
                    writer: [0; PAGE as usize],
                    reader: [0; PAGE as usize],
                })
            });
            let range = (offset % PAGE) as usize..(offset % PAGE + stop - offset) as usize;
            if kind == 0 {
                let readers = page.reader[range].iter_mut().filter(|r| **r == 0);
                readers.for_each(|r| *r = writer);
            } else {
                for n in range {
                    page.kind[n] = match page.kind[n] {
                        0 => kind,
                        same if same == kind => kind,
                        _ => MIXED,
                    };
                    page.writer[n] = writer;
                }
            }
            offset = stop;
        }
        true
    }

    /// The number of the workgroup that runs, from 1.
    fn number(&mut self, state: &mut State) -> u32 {
        if self.group.0 != self.who.0 {
            let key = (state.launch, self.who.0);
            let new = state.groups.len() as u32 + 1;
            let number = *state.numbers.entry(key).or_insert(new);
            if number == new {
                state.groups.push(Group {
                    launch: state.launch,
                    workgroup: self.who.1,
                });
            }
            self.group = (self.who.0, number);
        }
        self.group.1
    }
}
