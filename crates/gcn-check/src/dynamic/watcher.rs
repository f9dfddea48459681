//! The observer of a checked dispatch.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use gcn_emu::dispatch::observers::{About, KernelHeap, Observer, Scene, Who};
use gcn_emu::engine::Stop;
use gcn_emu::probe::{Access, AccessLocation, Executed, Probe};
use gcn_isa::access::{File, MemoryKind, MemorySpace};
use gcn_isa::format::{Field, Format};
use gcn_isa::meaning::{Op, Signal, Space};
use gcn_object::descriptor::KernelDescriptor;

use super::bounds::{Allocation, Bounds, Class, Outside, Own, of_heap};
use super::metrics::{self, Metric};
use super::path::{Path, Vm, WavePath};
use super::race::{Accesses, Kind, Made, Released, Stamp, VectorClock};
use super::undefined::{Bytes, LdsBytes, Origin, Purpose, Shadow, Source, Surroundings, Use};
use super::{Launched, Options, State, Surroundings as Common, lock};
use crate::hazards::Settings;
use crate::report::{At, Check, CodeLine, Finding, Other, RelatedRole, Report, Severity};
use crate::{registers, statically, uninit};

/// A wave that has begun but not ended.
struct Wave {
    number: u32,
    steps: u64,
    mode: u32,
    lanes: u64,
    path: WavePath,
    shadow: Option<Shadow>,
    known: VectorClock,
    /// The time when the wave last invalidated the scalar cache.
    invalidated: u32,
    /// The wave has released its accesses by an atomic.
    released: bool,
    /// The issue times of the memory accesses that VM_CNT may still count, given the waits so far.
    outstanding: VecDeque<u32>,
}

/// The maximum of VM_CNT.
const MOST_OUTSTANDING: usize = 63;

impl Wave {
    /// Returns the time up to which the wave's memory accesses are known to be complete, given its waits.
    fn done(&self, now: u32) -> u32 {
        self.outstanding.front().map_or(now, |first| first - 1)
    }

    /// Updates the outstanding accesses after an instruction.
    fn count(&mut self, vm: Vm, now: u32) {
        let most = match (vm.counts, vm.waits) {
            (true, _) => {
                self.outstanding.push_back(now);
                MOST_OUTSTANDING
            }
            (false, Some(count)) => count as usize,
            (false, None) => return,
        };
        let more = self.outstanding.len().saturating_sub(most);
        self.outstanding.drain(..more);
    }
}

/// A workgroup that has begun but not ended.
#[derive(Default)]
struct Group {
    waves: usize,
    /// By wave: the barrier at which it waits.
    waiting: HashMap<usize, usize>,
    ended: Vec<(usize, u32, u32)>,
    undefined: LdsBytes,
    accesses: Accesses,
    /// The time when one of its waves last invalidated the vector cache, which they share.
    invalidated: u32,
}

/// The current instruction.
#[derive(Clone, Copy)]
struct Current {
    who: Who,
    site: usize,
    exec: u64,
}

struct Inner {
    options: Options,
    /// The enabled checks, one bit each.
    wanted: u16,
    state: Arc<Mutex<State>>,
    common: Common,
    launched: Option<Launched>,
    /// The versions of the table of bounds: the allocator's, and that of the memory that kernels allocate.
    version: (u64, u64),
    /// The allocations that the caller has named, and the memory that kernels allocate.
    named: Vec<Allocation>,
    heap: Option<Arc<dyn KernelHeap>>,
    launch: u64,
    kernel: String,
    entry: u64,
    descriptor: Option<KernelDescriptor>,
    grid: [u32; 3],
    group: [u32; 3],
    lds: u64,
    bounds: Bounds,
    path: Option<Path>,
    waves: HashMap<(u64, usize), Box<Wave>>,
    groups: HashMap<u64, Group>,
    /// The vector clocks of ended waves that released something, by wave number.
    passed_on: HashMap<u32, VectorClock>,
    /// The workgroup and the wave in it, by wave number.
    locations: Vec<([u32; 3], usize, u64)>,
    time: u32,
    memory: Accesses,
    undefined: Bytes,
    current: Option<Current>,
    accesses: Vec<Access>,
    outside: Vec<(Access, Outside)>,
    /// Instructions whose registers have been checked against the allocated ones.
    beyond: HashSet<usize>,
    /// New reports, with the instructions that they show.
    made: Vec<(usize, Vec<usize>)>,
    metrics: HashMap<usize, Metric>,
    /// A wave failed, so others may wait for it.
    failed: bool,
    /// The merged vector clock of the waves that took part in global wave sync or an ordered append.
    synced: VectorClock,
}

/// The contents of a report, without its location.
struct What {
    check: Check,
    severity: Severity,
    rule: &'static str,
    message: String,
    register: Option<(File, u16)>,
    lanes: Option<u64>,
    address: Option<u64>,
    related: Vec<(RelatedRole, Option<usize>, String)>,
    /// An address in the allocation whose history the report shows.
    story: Option<u64>,
    help: Option<String>,
}

impl What {
    fn new(check: Check, rule: &'static str, message: String) -> What {
        What {
            check,
            severity: match check {
                Check::Exec | Check::Mode => Severity::Note,
                _ => Severity::Error,
            },
            rule,
            message,
            register: None,
            lanes: None,
            address: None,
            related: Vec::new(),
            story: None,
            help: None,
        }
    }
}

/// Observes a checked dispatch, which runs on one host thread.
pub struct Watcher(RefCell<Inner>);

impl Watcher {
    pub fn new(
        options: &Options,
        state: Arc<Mutex<State>>,
        common: Common,
        launched: Option<Launched>,
    ) -> Watcher {
        Watcher(RefCell::new(Inner {
            wanted: options.checks.iter().fold(0, |all, c| all | 1 << *c as u16),
            options: options.clone(),
            state,
            undefined: Bytes::over(common.fresh.clone()),
            common,
            launched,
            version: (0, 0),
            named: Vec::new(),
            heap: None,
            launch: 0,
            kernel: String::new(),
            entry: 0,
            descriptor: None,
            grid: [1; 3],
            group: [1; 3],
            lds: 0,
            bounds: Bounds::default(),
            path: None,
            waves: HashMap::new(),
            groups: HashMap::new(),
            passed_on: HashMap::new(),
            locations: Vec::new(),
            time: 0,
            memory: Accesses::default(),
            current: None,
            accesses: Vec::new(),
            outside: Vec::new(),
            beyond: HashSet::new(),
            made: Vec::new(),
            metrics: HashMap::new(),
            failed: false,
            synced: VectorClock::new(),
        }))
    }
}

impl Observer for Watcher {
    fn begin(&mut self, about: &About<'_>) {
        self.0.get_mut().begin(about);
    }

    fn before(&mut self, who: Who, scene: &Scene<'_>) {
        self.0.get_mut().before(who, scene);
    }

    fn after(&mut self, who: Who, scene: &Scene<'_>, stop: &Stop) {
        self.0.get_mut().after(who, scene, stop);
    }

    fn probe(&self) -> Option<&dyn Probe> {
        Some(self)
    }
}

impl Probe for Watcher {
    fn access(&self, access: &Access) -> bool {
        self.0.borrow_mut().access(access)
    }

    fn executed(&self, executed: &Executed<'_>) {
        self.0.borrow_mut().executed(executed);
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.get_mut().end();
    }
}

impl Inner {
    fn begin(&mut self, about: &About<'_>) {
        self.named = {
            let mut state = lock(&self.state);
            self.launch = state.launches;
            state.launches += 1;
            state.allocations.clone()
        };
        if let Some(launched) = self.launched {
            self.launch = launched.number;
        }
        self.heap = about.heap.clone();
        self.version = self.versions();
        self.kernel = about.kernel.name.clone();
        self.entry = about.kernel.entry;
        self.descriptor = Some(about.kernel.descriptor.clone());
        (self.grid, self.group, self.lds) = (about.grid, about.group, about.lds as u64);
        self.bounds = Bounds::new(Own::new(about), about.memory, &self.allocations());
        let scratch = self.bounds.scratch();
        if scratch.0 != 0 {
            self.undefined.undefine(scratch.0, scratch.1);
        }
        let sgprs = about.kernel.descriptor.granulated_wavefront_sgpr_count();
        let settings = Settings {
            xnack: false,
            vcc_alias: statically::vcc_alias(about.target, sgprs),
        };
        self.path = Some(Path::new(about.target, settings));
    }

    /// Returns the versions of the sources of [`Inner::allocations`].
    fn versions(&self) -> (u64, u64) {
        let allocator = self.common.allocator.as_ref().map_or(0, |a| a.version());
        (allocator, self.heap.as_ref().map_or(0, |h| h.version()))
    }

    /// Returns the current allocations.
    fn allocations(&self) -> Vec<Allocation> {
        let mut all = match &self.common.allocator {
            Some(allocator) => allocator.allocations(),
            None => self.named.clone(),
        };
        all.extend(self.heap.iter().flat_map(|heap| of_heap(heap.as_ref())));
        all
    }

    fn wants(&self, check: Check) -> bool {
        self.wanted >> check as u16 & 1 != 0
    }

    /// Returns the number of waves of a workgroup.
    fn waves_of(&self, group: [u32; 3]) -> usize {
        let size = |d: usize| {
            let rest = self.grid[d].saturating_sub(group[d].saturating_mul(self.group[d]));
            rest.min(self.group[d]) as usize
        };
        (size(0) * size(1) * size(2)).div_ceil(64)
    }

    /// Returns the number of the instruction at the wave's PC.
    fn site(&mut self, scene: &Scene<'_>) -> Option<usize> {
        let path = self.path.as_mut()?;
        let pc = scene.wave.pc.wrapping_sub(scene.base);
        path.known(pc).or_else(|| Some(path.add(pc, scene.insn()?)))
    }

    fn before(&mut self, who: Who, scene: &Scene<'_>) {
        self.accesses.clear();
        self.outside.clear();
        self.current = None;
        let Some(site) = self.site(scene) else { return };
        let exec = scene.wave.exec();
        self.current = Some(Current { who, site, exec });
        self.time += 1;
        let version = self.versions();
        if self.version != version {
            self.version = version;
            self.bounds = self.bounds.again(scene.memory, &self.allocations());
        }
        let key = (who.number, who.wave);
        if !self.waves.contains_key(&key) {
            self.start(who, scene);
        }
        let (Some(mut wave), Some(mut path)) = (self.waves.remove(&key), self.path.take()) else {
            return;
        };
        wave.steps += 1;
        let mut findings = Vec::new();
        if self.wants(Check::Waitcnt) {
            findings.extend(path.waits(&mut wave.path, site));
        }
        if self.wants(Check::Hazard) {
            findings.extend(path.wait_states(&mut wave.path, site));
        }
        let insn = path.graph.sites[site].insn;
        let info = path.graph.info(site);
        let mut uses = Vec::new();
        if let Some(shadow) = &mut wave.shadow {
            shadow.follow(scene.wave);
            uses = shadow.addresses(info, &insn, exec);
            if let (true, Some(descriptor)) = (self.beyond.insert(site), &self.descriptor) {
                uninit::beyond(&path.graph, site, descriptor, &mut findings);
            }
        }
        let idle = self.wants(Check::Exec)
            && exec == 0
            && insn.row.format.is_valu()
            && info
                .accesses(&insn)
                .any(|a| a.write && a.file == File::Vector);
        self.waves.insert(key, wave);
        self.path = Some(path);
        for finding in findings {
            self.finding(&finding);
        }
        for undefined in uses {
            self.undefined(&undefined, None);
        }
        if idle {
            let message = "no lane is active: the instruction does nothing".to_string();
            self.report(What::new(Check::Exec, "no-lane", message));
        }
    }

    /// Handles the start of a wave.
    fn start(&mut self, who: Who, scene: &Scene<'_>) {
        let number = self.locations.len() as u32;
        self.locations.push((who.workgroup, who.wave, who.number));
        let waves = self.waves_of(who.workgroup);
        self.groups.entry(who.number).or_default().waves = waves;
        let descriptor = self
            .descriptor
            .as_ref()
            .filter(|_| self.wants(Check::Uninit));
        let wave = Wave {
            number,
            steps: 0,
            mode: scene.wave.mode,
            lanes: scene.wave.exec(),
            path: WavePath::default(),
            shadow: descriptor.map(|d| Shadow::new(scene.wave, d)),
            known: VectorClock::new(),
            invalidated: 0,
            released: false,
            outstanding: VecDeque::new(),
        };
        self.waves.insert((who.number, who.wave), Box::new(wave));
    }

    /// Handles an access before it is made.
    fn access(&mut self, access: &Access) -> bool {
        let mut access = *access;
        let refused = match (access.location, access.space) {
            _ if !self.wants(Check::Oob) => None,
            (AccessLocation::Memory(at), _) => {
                let writes = access.kind != MemoryKind::Load;
                self.bounds.check(at, access.size, writes).err()
            }
            (AccessLocation::Lds(at), _) if at + access.size as u64 > self.lds => {
                Some(self.outside_lds(at, access.size))
            }
            (AccessLocation::Nowhere, Space::Lds) => {
                Some(self.outside_lds(access.address & 0xffff_ffff, access.size))
            }
            _ => None,
        };
        let Some(outside) = refused else {
            self.accesses.push(access);
            return true;
        };
        self.outside.push((access, outside));
        access.location = AccessLocation::Nowhere;
        self.accesses.push(access);
        false
    }

    fn outside_lds(&self, at: u64, size: u8) -> Outside {
        let lds = self.lds;
        let location = match at + size as u64 > lds {
            true => format!("at byte {at:#x} of LDS, of which the workgroup has {lds} bytes"),
            false => format!("at byte {at:#x} of LDS, beyond the limit in M0"),
        };
        Outside {
            rule: "lds",
            location,
            nearest: None,
        }
    }

    /// Handles an executed instruction.
    fn executed(&mut self, executed: &Executed<'_>) {
        let Some(current) = self.current else { return };
        let key = (current.who.number, current.who.wave);
        if self.wants(Check::Exec) {
            self.inactive(executed);
        }
        let (Some(path), Some(wave)) = (&self.path, self.waves.get_mut(&key)) else {
            return;
        };
        let Some(shadow) = &mut wave.shadow else {
            return;
        };
        let Some(group) = self.groups.get_mut(&current.who.number) else {
            return;
        };
        let info = path.graph.info(current.site);
        let (uses, register) = shadow.step(
            executed,
            &mut Surroundings {
                site: current.site as u32,
                info,
                accesses: &self.accesses,
                lds: &mut group.undefined,
                memory: &mut self.undefined,
                moves: self.launched.is_some_and(|l| l.moves),
            },
        );
        for undefined in uses {
            self.undefined(&undefined, register);
        }
    }

    /// Reports v_readlane of an inactive lane.
    fn inactive(&mut self, executed: &Executed<'_>) {
        let reads = |op: Op| op == Op::ReadLane;
        let Some(node) = executed.program.nodes.iter().find(|n| reads(n.op)) else {
            return;
        };
        let uniform = executed
            .insn
            .row
            .shape
            .slot(gcn_isa::shape::Role::LaneSel)
            .is_some();
        let lane = executed.node(node.args[1] as usize)[0] % 64;
        let exec = self.current.map_or(0, |c| c.exec);
        if uniform && exec >> lane & 1 == 0 {
            let message = format!("lane {lane} is read, but it is not active");
            self.report(What::new(Check::Exec, "inactive-lane", message));
        }
    }

    fn after(&mut self, who: Who, scene: &Scene<'_>, stop: &Stop) {
        let Some(current) = self.current else { return };
        if self.path.as_ref().is_some_and(|p| p.syncs(current.site)) {
            self.sync(who, *stop == Stop::Retry);
        }
        if *stop == Stop::Retry {
            return;
        }
        self.report_outside();
        let format = match &self.path {
            Some(path) => path.graph.sites[current.site].insn.row.format,
            None => return,
        };
        if !self.accesses.is_empty() && (self.wants(Check::Race) || self.wants(Check::Coherence)) {
            self.races(current, format, scene);
        }
        if self.options.metrics && format.is_vector() {
            self.count(current);
        }
        let signals = |signal: Signal| {
            (self.path.as_ref()).is_some_and(|p| p.graph.signals(current.site, signal))
        };
        let invalidates = signals(Signal::Cache);
        let vm = self.path.as_ref().map(|p| p.vm(current.site));
        let (time, key) = (self.time, (who.number, who.wave));
        if let Some(wave) = self.waves.get_mut(&key) {
            wave.count(vm.unwrap_or_default(), time);
            if invalidates && format == Format::Smem {
                wave.invalidated = time;
            }
        }
        if let Some(group) = self.groups.get_mut(&who.number)
            && invalidates
            && format == Format::Mubuf
        {
            group.invalidated = time;
        }
        match stop {
            Stop::Barrier => self.barrier(current),
            Stop::Endpgm => self.ended(current, scene),
            Stop::Fault(_) | Stop::Trap(_) => self.failed = true,
            _ => {}
        }
    }

    /// Handles a wave that takes part in global wave sync or an ordered append. When it continues, it is ordered after all waves that have taken
    /// part.
    fn sync(&mut self, who: Who, waits: bool) {
        let time = self.time;
        let Some(wave) = self.waves.get_mut(&(who.number, who.wave)) else {
            return;
        };
        learn(&mut self.synced, &wave.known);
        self.synced.insert(wave.number, time);
        if !waits {
            learn(&mut wave.known, &self.synced);
        }
    }

    fn report_outside(&mut self) {
        let outside = std::mem::take(&mut self.outside);
        // There is one report per rule and direction.
        let mut told: Vec<(&'static str, MemoryKind)> = Vec::new();
        for (access, what) in &outside {
            if told.contains(&(what.rule, access.kind)) {
                continue;
            }
            told.push((what.rule, access.kind));
            let same = |a: &&(Access, Outside)| a.1.rule == what.rule && a.0.kind == access.kind;
            let lanes = outside
                .iter()
                .filter(same)
                .fold(0, |all, a| all | 1u64 << (a.0.lane & 63));
            let (verb, size) = (verb(access.kind), super::bounds::plural(access.size as u64));
            let address = match access.location {
                AccessLocation::Memory(at) => at,
                _ => access.address,
            };
            let at = match access.location {
                AccessLocation::Memory(at) => format!(" at {at:#x}"),
                _ => String::new(),
            };
            let message = format!("{verb} of {size}{at} out of bounds: {}", what.location);
            let mut report = What::new(Check::Oob, what.rule, message);
            report.lanes = Some(lanes);
            report.address = Some(address);
            if let Some((nearest, at)) = &what.nearest {
                report.related = vec![(RelatedRole::Allocation, None, nearest.clone())];
                report.story = Some(*at);
            }
            self.report(report);
        }
    }

    /// Reports races and loads of stale data.
    fn races(&mut self, current: Current, format: Format, scene: &Scene<'_>) {
        let key = (current.who.number, current.who.wave);
        let accesses = std::mem::take(&mut self.accesses);
        let Some(mut wave) = self.waves.remove(&key) else {
            return;
        };
        let (glc, returns, lds_space) = match &self.path {
            Some(path) => {
                let insn = &path.graph.sites[current.site].insn;
                let memory = path.graph.info(current.site).memory(insn);
                let lds = memory.is_some_and(|m| m.space == MemorySpace::Lds);
                let glc = insn.row.format.is_vector() && insn.field(Field::Glc) != 0;
                (glc, memory.is_some_and(|m| m.returns), lds)
            }
            None => return,
        };
        let mut found: Option<(Stamp, u64, u64)> = None;
        let mut stale: Option<(Stamp, u64, Option<Stamp>)> = None;
        let mut passed: Vec<u64> = Vec::new();
        for access in &accesses {
            let (at, lds) = match access.location {
                AccessLocation::Memory(at) if self.bounds.class(at) == Some(Class::Data) => {
                    (at, false)
                }
                AccessLocation::Lds(at) => (at, true),
                _ => continue,
            };
            let kind = match access.kind {
                MemoryKind::Atomic => Kind::Atomic,
                MemoryKind::Store => Kind::Store,
                MemoryKind::Load if glc && !lds => Kind::Volatile,
                MemoryKind::Load => Kind::Load,
            };
            if format == Format::Smem {
                if let Some(stamp) = self.memory.changed(at)
                    && stamp.time > wave.invalidated
                {
                    stale = stale.or(Some((stamp, at, None)));
                }
                if kind != Kind::Load {
                    continue;
                }
            } else if kind == Kind::Load && !lds && stale.is_none() && self.wants(Check::Coherence)
            {
                stale = self.stale_line(&wave, key.0, at);
            }
            let made = Made {
                wave: wave.number,
                time: self.time,
                done: wave.done(self.time),
                site: current.site as u32,
                kind,
                lds,
                unchanged: access.unchanged,
            };
            let group = self.groups.entry(current.who.number).or_default();
            let memory = if lds {
                &mut group.accesses
            } else {
                &mut self.memory
            };
            let again = passed.contains(&(at & !3));
            if matches!(kind, Kind::Atomic | Kind::Volatile) && !again {
                passed.push(at & !3);
                if returns || kind == Kind::Volatile {
                    for Released {
                        wave: other,
                        time,
                        done,
                    } in memory.acquire(at)
                    {
                        let known = wave.known.entry(other).or_default();
                        let location = self.locations.get(other as usize);
                        // Waves of one workgroup share a cache that keeps the order of their accesses.
                        let near = location.is_some_and(|p| p.2 == key.0);
                        *known = (*known).max(if near { time } else { done });
                        let alive = location.and_then(|p| self.waves.get(&(p.2, p.1)));
                        let its = alive.map(|w| &w.known).or(self.passed_on.get(&other));
                        if let Some(its) = its {
                            learn(&mut wave.known, its);
                        }
                    }
                }
            }
            if let Some(stamp) = memory.access(made, &wave.known, at, access.size) {
                let first = found.get_or_insert((stamp, at, 0));
                first.2 |= 1 << (access.lane & 63);
            }
            if kind == Kind::Atomic && !again {
                let released = Released {
                    wave: wave.number,
                    time: self.time,
                    done: made.done,
                };
                memory.release(at, released);
                wave.released = true;
            }
        }
        self.waves.insert(key, wave);
        let kind = accesses.first().map_or(MemoryKind::Load, |a| a.kind);
        self.accesses = accesses;
        if let Some((stamp, at, lanes)) = found.filter(|_| self.wants(Check::Race)) {
            self.race(stamp, kind, (at, lanes, lds_space), scene);
        }
        if let Some((stamp, at, before)) = stale.filter(|_| self.wants(Check::Coherence)) {
            self.stale(stamp, at, before);
        }
    }

    /// Finds a vector load that may get stale data from the vector cache: the workgroup loaded the line before, another workgroup has
    /// since stored the data, and nothing invalidated the cache. Returns the store, the address, and the earlier load of the line.
    fn stale_line(&self, wave: &Wave, group: u64, at: u64) -> Option<(Stamp, u64, Option<Stamp>)> {
        let store = self.memory.changed(at)?;
        let invalidated = self.groups.get(&group)?.invalidated;
        let group_of = |wave: u32| self.locations.get(wave as usize).map(|location| location.2);
        // Unordered accesses are reported as races.
        let ordered = wave
            .known
            .get(&store.wave)
            .is_some_and(|t| store.time <= *t);
        if store.is_atomic() || store.time <= invalidated || !ordered {
            return None;
        }
        if group_of(store.wave) == Some(group) {
            return None;
        }
        let mut loads = self.memory.loads_of_line(at);
        let before = loads.find(|load| {
            group_of(load.wave) == Some(group) && (invalidated..store.time).contains(&load.time)
        })?;
        Some((store, at, Some(before)))
    }

    /// Reports a load that may get stale data. `before` is the earlier load of its line.
    fn stale(&mut self, store: Stamp, at: u64, before: Option<Stamp>) {
        let (rule, message, help) = match before {
            None => (
                "scalar-load",
                "a scalar load reads what a vector store of this dispatch wrote: the scalar cache may have older data",
                "wait for the store, then s_dcache_inv before the load",
            ),
            Some(_) => (
                "vector-load",
                "a load reads what another workgroup stored after this one had loaded from the same 64 bytes: the vector cache may have older data",
                "insert buffer_wbinvl1_vol (buffer_wbinvl1 on gfx6) after the barrier or atomic that orders the load, or load with glc",
            ),
        };
        let mut what = What::new(Check::Coherence, rule, message.to_string());
        what.address = Some(at);
        let stored = format!("{} stored it here", self.location(&store));
        what.related = vec![(RelatedRole::Access, Some(store.site()), stored)];
        if let Some(before) = before {
            let loaded = format!("{} loaded from the line here", self.location(&before));
            let load = (RelatedRole::Access, Some(before.site()), loaded);
            what.related.push(load);
        }
        what.help = Some(help.into());
        self.report(what);
    }

    /// Returns a wave's workgroup and number as text.
    fn location(&self, stamp: &Stamp) -> String {
        match self.locations.get(stamp.wave as usize) {
            Some(([x, y, z], wave, _)) => format!("wave {wave} of workgroup ({x}, {y}, {z})"),
            None => "another wave".into(),
        }
    }

    fn race(
        &mut self,
        stamp: Stamp,
        kind: MemoryKind,
        (at, lanes, lds): (u64, u64, bool),
        scene: &Scene<'_>,
    ) {
        let memory = self.path.as_ref().map(|path| {
            let insn = &path.graph.sites[stamp.site()].insn;
            path.graph.info(stamp.site()).memory(insn)
        });
        let before = memory.flatten().map_or("accessed", |m| match m.kind {
            MemoryKind::Load => "loaded",
            MemoryKind::Store => "stored",
            MemoryKind::Atomic => "changed atomically",
        });
        let (space, help) = match lds {
            true => (
                format!("byte {at:#x} of LDS"),
                "a barrier between the two, after s_waitcnt lgkmcnt(0)",
            ),
            false => (
                format!("memory at {at:#x}"),
                "a barrier if both waves are of one workgroup, otherwise by atomics",
            ),
        };
        let message = format!(
            "a data race: {} of {space}, and nothing orders it after another wave's access",
            verb(kind).to_lowercase()
        );
        let mut what = What::new(Check::Race, if lds { "lds" } else { "memory" }, message);
        what.lanes = Some(lanes);
        what.address = Some(at);
        let location = self.location(&stamp);
        what.related = vec![(
            RelatedRole::Access,
            Some(stamp.site()),
            format!("{location} {before} it here"),
        )];
        what.help = Some(format!("order them by {help}"));
        let load = match kind {
            MemoryKind::Load if lds && stamp.is_atomic() => self.current.map(|c| c.site),
            MemoryKind::Atomic if lds && !stamp.is_atomic() && before == "loaded" => {
                Some(stamp.site())
            }
            _ => None,
        };
        // A load before or in a loop may be part of a wait for the atomic.
        let polls = |(load, path): (usize, &mut Path)| {
            path.polls(load, |pc| scene.insn_at(scene.base.wrapping_add(pc)))
        };
        let waits = load.zip(self.path.as_mut()).is_some_and(polls);
        if !waits {
            self.report(what);
        }
    }

    /// Handles a wave that waits at a barrier.
    fn barrier(&mut self, current: Current) {
        let key = (current.who.number, current.who.wave);
        let lanes = self.waves.get(&key).map_or(0, |w| w.lanes);
        if self.wants(Check::Barrier) && current.exec != lanes {
            let off = (lanes & !current.exec).count_ones();
            let message = format!(
                "a divergent barrier: {off} of the wave's {} work-items have not reached it",
                lanes.count_ones()
            );
            let mut what = What::new(Check::Barrier, "divergent", message);
            what.lanes = Some(current.exec);
            self.report(what);
        }
        if let Some(group) = self.groups.get_mut(&key.0) {
            group.waiting.insert(key.1, current.site);
        }
        self.release(current);
    }

    /// Opens the barrier if all waves that have not ended wait at it.
    fn release(&mut self, current: Current) {
        let number = current.who.number;
        let Some(group) = self.groups.get_mut(&number) else {
            return;
        };
        if group.waiting.is_empty() || group.waiting.len() + group.ended.len() < group.waves {
            return;
        }
        let mut waiting: Vec<(usize, usize)> = group.waiting.drain().collect();
        waiting.sort_unstable();
        let ended = group.ended.clone();
        let mut all = VectorClock::new();
        let time = self.time;
        for (wave, _) in &waiting {
            if let Some(wave) = self.waves.get(&(number, *wave)) {
                learn(&mut all, &wave.known);
                all.insert(wave.number, time);
            }
        }
        all.extend(ended.iter().map(|(_, wave, time)| (*wave, *time)));
        for (wave, _) in &waiting {
            if let Some(wave) = self.waves.get_mut(&(number, *wave)) {
                wave.known.clone_from(&all);
            }
        }
        if !self.wants(Check::Barrier) {
            return;
        }
        let first = waiting[0];
        let other = waiting.iter().find(|w| w.1 != first.1).copied();
        let now = self.current;
        self.current = Some(Current {
            who: Who {
                wave: first.0,
                ..current.who
            },
            site: first.1,
            ..current
        });
        if let Some((wave, _, _)) = ended.first() {
            let message = format!(
                "{} of the workgroup's {} waves ended without reaching this barrier, wave {wave} first",
                ended.len(),
                ended.len() + waiting.len()
            );
            self.report(What::new(Check::Barrier, "missing", message));
        }
        if let Some((wave, site)) = other {
            let message = "the waves of the workgroup wait at different barriers".to_string();
            let mut what = What::new(Check::Barrier, "different", message);
            what.severity = Severity::Note;
            what.related = vec![(
                RelatedRole::Barrier,
                Some(site),
                format!("wave {wave} waits here"),
            )];
            self.report(what);
        }
        self.current = now;
    }

    /// Handles the end of a wave.
    fn ended(&mut self, current: Current, scene: &Scene<'_>) {
        let key = (current.who.number, current.who.wave);
        let Some(wave) = self.waves.get(&key) else {
            return;
        };
        let (number, mode) = (wave.number, wave.mode);
        if self.wants(Check::Mode) && (scene.wave.mode ^ mode) & 0xff != 0 {
            let message = format!(
                "the wave ends with other rounding or denormal modes than it began with: FP_ROUND and FP_DENORM were {:#x} and are {:#x}",
                mode & 0xff,
                scene.wave.mode & 0xff
            );
            self.report(What::new(Check::Mode, "changed", message));
        }
        let time = self.time;
        let Some(group) = self.groups.get_mut(&key.0) else {
            return;
        };
        group.ended.push((key.1, number, time));
        if group.ended.len() == group.waves {
            self.groups.remove(&key.0);
        } else {
            self.release(current);
        }
        if let Some(wave) = self.waves.remove(&key).filter(|w| w.released) {
            self.passed_on.insert(wave.number, wave.known);
        }
    }

    /// Handles the end of the dispatch: reports barriers that some waves never reached.
    fn end(&mut self) {
        let mut left: Vec<(u64, usize, usize)> = Vec::new();
        for (number, group) in &self.groups {
            left.extend(
                group
                    .waiting
                    .iter()
                    .map(|(wave, site)| (*number, *wave, *site)),
            );
        }
        left.sort_unstable();
        if let Some(&(number, wave, site)) = left
            .first()
            .filter(|_| self.wants(Check::Barrier) && !self.failed)
        {
            let location = self.locations.iter().find(|p| p.2 == number && p.1 == wave);
            self.current = Some(Current {
                who: Who {
                    workgroup: location.map_or([0; 3], |p| p.0),
                    number,
                    wave,
                },
                site,
                exec: 0,
            });
            let message =
                "the dispatch ended while waves waited at this barrier: not all waves reached it"
                    .to_string();
            self.report(What::new(Check::Barrier, "never-filled", message));
        }
        let Some(path) = &self.path else { return };
        let mut state = lock(&self.state);
        for (report, sites) in &self.made {
            let mut code: Vec<CodeLine> = (sites.iter().flat_map(|site| path.around(*site)))
                .map(|site| CodeLine {
                    pc: path.graph.sites[site].pc,
                    text: path.text(site),
                })
                .collect();
            code.sort();
            code.dedup();
            state.reports[*report].code = code;
        }
        for (site, metric) in self.metrics.drain() {
            let key = (self.kernel.clone(), path.graph.sites[site].pc);
            let all = state.metrics.entry(key).or_insert_with(|| Metric {
                kernel: self.kernel.clone(),
                instruction: path.text(site),
                ..Metric::default()
            });
            all.count += metric.count;
            all.lanes += metric.lanes;
            all.lds = (all.lds.0 + metric.lds.0, all.lds.1 + metric.lds.1);
            all.memory = (
                all.memory.0 + metric.memory.0,
                all.memory.1 + metric.memory.1,
            );
        }
    }

    fn count(&mut self, current: Current) {
        let metric = self.metrics.entry(current.site).or_default();
        metric.count += 1;
        metric.lanes += current.exec.count_ones() as u64;
        if self
            .accesses
            .iter()
            .any(|a| matches!(a.location, AccessLocation::Lds(_)))
        {
            metric.lds.0 += 1;
            metric.lds.1 += metrics::conflicts(&self.accesses);
        }
        let lines = metrics::lines(&self.accesses);
        metric.memory.0 += (lines > 0) as u64;
        metric.memory.1 += lines;
    }

    /// Reports a finding of a check that follows paths.
    fn finding(&mut self, finding: &Finding) {
        let related = finding.related.iter();
        self.report(What {
            check: finding.check,
            severity: finding.severity,
            rule: finding.rule,
            message: finding.message.clone(),
            register: finding.register,
            lanes: None,
            address: None,
            related: related
                .map(|r| (r.role, r.site, r.message.clone()))
                .collect(),
            story: None,
            help: finding.help.clone(),
        });
    }

    /// Reports an undefined value that matters; `register` may hold it.
    fn undefined(&mut self, undefined: &Use, register: Option<(File, u16)>) {
        let Some(path) = &self.path else { return };
        let generation = path.graph.target().generation();
        let name = |(file, n): (File, u16)| match file {
            File::Scc => "SCC".to_string(),
            _ => registers::name(file, n, generation),
        };
        let register = undefined.register.or(register);
        let subject = register.map_or("an undefined value".to_string(), name);
        let purpose = match undefined.purpose {
            Purpose::Address => "is part of an address",
            Purpose::Condition => "decides a branch or which lanes are active",
            Purpose::Data => "is stored",
        };
        let message = format!("{subject} {purpose}, but nothing gave it a value");
        let mut what = What::new(Check::Uninit, "undefined", message);
        what.register = register.filter(|r| r.0 != File::Scc);
        what.lanes = Some(undefined.lanes).filter(|lanes| *lanes != 0);
        what.related = match undefined.origin {
            Some(Origin::Register(file, n)) => {
                vec![(
                    RelatedRole::Origin,
                    None,
                    format!("nothing wrote {}", name((file, n))),
                )]
            }
            Some(Origin::Load(site, source)) => {
                let memory = match source {
                    Source::Lds(at) => format!("byte {at:#x} of LDS"),
                    Source::Scratch => "scratch".into(),
                    Source::Memory(at) => format!("memory at {at:#x}"),
                };
                let message = format!("{memory} is loaded here, and nothing gave it a value");
                if let Source::Memory(at) = source {
                    what.story = Some(at);
                }
                vec![(RelatedRole::Origin, Some(site as usize), message)]
            }
            None => Vec::new(),
        };
        self.report(what);
    }

    /// Adds a report of the current instruction.
    fn report(&mut self, what: What) {
        let Some((report, sites, story)) = self.made_of(what) else {
            return;
        };
        let mut state = lock(&self.state);
        let Some(new) = state.add(report) else { return };
        self.made.push((new, sites));
        if let (Some(at), Some(allocator)) = (story, &self.common.allocator) {
            let story = allocator.story(at).into_iter().map(|message| Other {
                role: RelatedRole::Allocation,
                pc: None,
                instruction: String::new(),
                source: None,
                message,
            });
            state.reports[new].related.extend(story);
        }
    }

    /// Returns the report of the current instruction, if its check is enabled, with the instructions that it shows and an address in its allocation.
    fn made_of(&self, what: What) -> Option<(Report, Vec<usize>, Option<u64>)> {
        let (Some(current), Some(path)) = (self.current, &self.path) else {
            return None;
        };
        if !self.options.wants(what.check, what.severity) {
            return None;
        }
        let key = (current.who.number, current.who.wave);
        let step = self
            .waves
            .get(&key)
            .map_or(0, |w| w.steps.saturating_sub(1));
        let mut sites = vec![current.site];
        sites.extend(what.related.iter().filter_map(|r| r.1));
        let related = what.related.into_iter().map(|(role, site, message)| Other {
            role,
            pc: site.map(|site| path.graph.sites[site].pc),
            instruction: site.map_or(String::new(), |site| path.text(site)),
            source: None,
            message,
        });
        let report = Report {
            check: what.check,
            severity: what.severity,
            rule: what.rule,
            kernel: self.kernel.clone(),
            entry: self.entry,
            pc: path.graph.sites[current.site].pc,
            source: None,
            instruction: path.text(current.site),
            register: what.register,
            lanes: what.lanes,
            address: what.address,
            at: Some(At {
                launch: self.launch,
                workgroup: current.who.workgroup,
                wave: current.who.wave as u64,
                step,
            }),
            message: what.message,
            related: related.collect(),
            help: what.help,
            count: 1,
            code: Vec::new(),
        };
        Some((report, sites, what.story))
    }
}

/// Merges another vector clock into `known`.
fn learn(known: &mut VectorClock, theirs: &VectorClock) {
    for (wave, time) in theirs {
        let own = known.entry(*wave).or_default();
        *own = (*own).max(*time);
    }
}

fn verb(kind: MemoryKind) -> &'static str {
    match kind {
        MemoryKind::Load => "a load",
        MemoryKind::Store => "a store",
        MemoryKind::Atomic => "an atomic",
    }
}
