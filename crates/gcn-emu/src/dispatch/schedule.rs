//! Scheduling: workgroups on threads, several of them resident on each, and time slices for the waves of a workgroup.
//!
//! A thread runs one workgroup until it ends, as most do. A workgroup whose waves all wait for something, or that runs for
//! long, yields to others and continues later; so barriers of the whole grid, locks and decoupled look-back scans make
//! progress with any number of threads. Workgroups start in the order of their numbers; the number that runs at a time is
//! what a chip can hold ([`RESIDENT_WAVES`]).
//!
//! A wave that waits is recognised by its loop: when a wave has run for a while, it is observed for a few
//! instructions, and if all of its registers return to earlier values, it is in a loop that only other waves can end.
//! Such a wave gets short time slices. If every wave of the dispatch is in such a loop, or at a barrier, and none of the
//! loops changes anything or reads the time, nothing can ever change: the dispatch ends with a report of the deadlock.

use super::abi::{Own, Setup, Shape};
use super::host::Output;
use super::observers::{About, Control, Observe, Observer, RecorderMaker, Scene, Whereabouts, Who};
use super::stuck::{self, StuckWave, Traits, Waits};
use super::threads::Threads;
use super::{Gpu, Launch, RunError, Stats, WaveLocation};
use crate::engine::{Code, Engine, Machine, Stop};
use crate::global::Global;
use crate::group::{self, Doing, GroupStop, GroupWave, Like, Row};
use crate::mem::{self, Memory};
use crate::probe::{AccessRecorder, Probe, Runs};
use crate::wave::{Lds, WaveState};
use gcn_isa::target::Target;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum number of resident waves: the 40 that a compute unit holds, times the 64 compute units of Vega 10.
pub const RESIDENT_WAVES: usize = 40 * 64;

/// The number of time slices of its waves after which a workgroup that does not wait yields to another one.
pub(super) const PATIENCE: u32 = 16;

/// The maximum number of workgroups that a thread takes at a time. Taking them, and entering compiled code for them, takes as long as about
/// fifty waves of a few instructions.
pub(super) const BATCH: u64 = 1024;

/// Instructions that a dispatch runs on one thread before the others are started: starting them takes as long. If an earlier dispatch of the kernel
/// tells that it has more, all threads are started at once.
const ALONE: u64 = 1 << 14;

/// Instructions that a thread takes at least at a time, if that is known: fewer take less time than taking them does.
const LEAST: u64 = 1 << 12;

/// The longest loop, in instructions, that is recognised as waiting.
const LOOP: usize = 256;

/// The number of time slices after which a wave is observed in any case, and for all of [`LOOP`]. Then it has run for much longer than
/// observing it takes.
const OBSERVED_AFTER: u32 = 8;

/// The longest loop that is recognised in a wave that has had fewer, and how many of its iterations are enough: of a loop that computes,
/// none ends with the registers as they were.
const EARLY_LOOP: usize = 64;
const EARLY_RETURNS: usize = 4;

/// The number of rounds that a workgroup still gets after a later one has failed. It may fail in them, too: the lowest
/// failure is the one that is reported.
const GRACE: u32 = 64;

/// Maximum number of waves in a report.
pub(super) const LISTED: usize = 16;

/// The maximum number of resident workgroups: limited by the chip's waves and by `free` bytes of memory for scratch, but at least
/// one.
pub(super) fn resident(shape: &Shape, free: u64) -> usize {
    let waves = shape.waves_of(shape.group).max(1);
    let scratch = shape.wave_scratch * waves as u64;
    // Offsets into scratch have 32 bits, and only a part of the memory is used for scratch.
    let fit = (free / 2).min(u32::MAX as u64).checked_div(scratch);
    let fit = fit.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let groups = usize::try_from(shape.total).unwrap_or(usize::MAX);
    (RESIDENT_WAVES / waves).min(fit).min(groups).max(1)
}

/// The number of work-items of a workgroup in each dimension: a workgroup at the grid's edge may have fewer.
pub(super) fn size(shape: &Shape, group: [u32; 3]) -> [u32; 3] {
    let of = |d: usize| shape.group[d].min(shape.grid[d] - group[d] * shape.group[d]);
    [of(0), of(1), of(2)]
}

/// The number of waves of all workgroups before one, in the order in which they start.
fn waves_before(shape: &Shape, group: [u32; 3]) -> u64 {
    let waves = |group: [u32; 3]| shape.waves_of(size(shape, group)) as u64;
    let [x, y, z] = group;
    // Only the last workgroup of a row, and of a plane, may be smaller than the others.
    let row = |y, z| {
        let last = shape.groups[0] - 1;
        last as u64 * waves([0, y, z]) + waves([last, y, z])
    };
    let plane = |z| {
        let last = shape.groups[1] - 1;
        last as u64 * row(0, z) + row(last, z)
    };
    z as u64 * plane(0) + y as u64 * row(0, z) + x as u64 * waves([0, y, z])
}

/// The instructions per wave of kernels that have run.
#[derive(Debug, Default)]
pub(super) struct Work(Mutex<HashMap<u64, u64>>);

impl Work {
    /// The maximum number of kernels.
    const KERNELS: usize = 1 << 12;

    /// Returns about how many instructions a dispatch will have, if its kernel has run before.
    fn expected(&self, setup: &Setup<'_>) -> Option<u64> {
        let shape = &*setup.shape;
        let each = *lock(&self.0).get(&setup.entry)?;
        let waves = (shape.total - shape.first).saturating_mul(shape.waves_of(shape.group) as u64);
        Some(each.saturating_mul(waves))
    }

    /// Notes what a dispatch had.
    fn done(&self, setup: &Setup<'_>, stats: &Stats) {
        let Some(each) = stats.instructions.checked_div(stats.waves) else {
            return;
        };
        let mut known = lock(&self.0);
        if known.len() >= Work::KERNELS {
            known.clear();
        }
        known.insert(setup.entry, each);
    }
}

impl Gpu {
    /// Runs all workgroups. If the observers permit, the first run has no observer, and is rolled back unless it passes.
    pub(super) fn run(&self, setup: &Setup<'_>, launch: &Launch) -> Result<Stats, RunError> {
        let Some(observe) = &launch.observers.observe else {
            return self.run_once(setup, launch, (setup.shape.lds_bytes, None));
        };
        if let Some(result) = self.run_unobserved(setup, launch, observe.as_ref()) {
            return result;
        }
        let _outside = launch.outside_stores.then(|| self.memory.outside());
        if !observe.ordered() {
            return self.run_once(setup, launch, (setup.shape.lds_bytes, None));
        }
        let ordered = Launch {
            deterministic: true,
            ..launch.clone()
        };
        self.run_once(setup, &ordered, (setup.shape.lds_bytes, None))
    }

    /// Runs all workgroups without an observer, if the observers permit. Returns `None` if they must be observed; the stores are
    /// rolled back then.
    fn run_unobserved(
        &self,
        setup: &Setup<'_>,
        launch: &Launch,
        observe: &dyn Observe,
    ) -> Option<Result<Stats, RunError>> {
        // Requests that the host has served cannot be rolled back.
        if setup.host.is_some() || setup.service.is_some() {
            return None;
        }
        let mut first = launch.clone();
        first.observers.observe = None;
        let alone = match launch.outside_stores {
            false if setup.wave_sync.is_some() => return None,
            false => None,
            // The dispatch has a control already, and only one can be set.
            true if launch.observers.control.is_some() || !observe.screens_beside_program() => {
                return None;
            }
            // `screen` itself knows whether the kernel uses global wave sync.
            true => {
                let stop = Arc::<AtomicBool>::default();
                let alone = self.memory.alone(&stop)?;
                first.observers.control = Some(Arc::new(Control::new(stop)));
                Some(alone)
            }
        };
        let about = about(setup, self, launch);
        let mut next = observe.screen(&about);
        while let Some(screened) = next.take() {
            let begun = (self.memory).begin_transaction(screened.extents, alone.is_some());
            if !begun {
                return None;
            }
            let result = self.run_once(setup, &first, (about.lds, screened.recorder.as_ref()));
            let interrupted = matches!(result, Err(RunError::Interrupted { .. }));
            let passed = result.is_ok() && !self.memory.suspected();
            self.memory.end_transaction(!passed);
            if passed {
                if let Some(passed) = screened.passed {
                    passed();
                }
                observe.passed();
                return Some(result);
            }
            if interrupted {
                // On shared memory the interruption came from a thread that waits for the memory, so the dispatch runs again,
                // observed.
                return alone.is_none().then_some(result);
            }
            next = screened.again.and_then(|again| again());
        }
        None
    }

    /// Runs all workgroups, each with the given number of bytes of LDS, and records their accesses if there is a recorder.
    fn run_once(
        &self,
        setup: &Setup<'_>,
        launch: &Launch,
        (lds, recorder): (u32, Option<&RecorderMaker>),
    ) -> Result<Stats, RunError> {
        let threads = match launch.deterministic {
            true => 1,
            false => setup.shape.threads,
        };
        let known = self.work.expected(setup);
        let shared = Shared {
            setup,
            middle: setup.own(setup.shape.groups.map(|n| n / 2), 0),
            memory: &self.memory,
            output: &self.output,
            target: self.target,
            launch,
            global: match &setup.wave_sync {
                Some(resources) => Global::with(resources),
                None => Global::default(),
            },
            starts: Mutex::new(Starts {
                next: setup.shape.first,
                slots: (0..setup.shape.resident).rev().collect(),
            }),
            fuel: launch.max_instructions.map(AtomicU64::new),
            // With a limit, time slices are short on any number of threads, so that waves that wait forever are detected before the
            // limit.
            exact: launch.deterministic || launch.max_instructions.is_some(),
            interrupted: Mutex::new(None),
            failed: AtomicU64::new(u64::MAX),
            error: Mutex::new(None),
            epoch: AtomicU64::new(0),
            threads,
            known: known.is_some(),
            least: known.map_or(1, |instructions| {
                let groups = setup.shape.total - setup.shape.first;
                (LEAST.saturating_mul(groups) / instructions.max(1)).clamp(1, BATCH)
            }),
            lds,
            stuck: (0..threads)
                .map(|_| Mutex::new(Report::default()))
                .collect(),
        };
        let work = |thread: usize, help: Option<&dyn Fn()>| {
            let _runs = mem::RunsWaves::new();
            let observe = launch.observers.observe.as_ref();
            let control = launch.observers.control.as_deref();
            let mut engine = match observe {
                // Compiled code has no probes.
                Some(observe) if observe.probes() => Box::new(crate::interp::Interp::new()),
                _ if recorder.is_some() => (self.recording_engine)(),
                _ => (self.engine)(),
            };
            engine.exactly(shared.exact);
            let mut observer = observe.map(|o| o.observer());
            if let Some(observer) = &mut observer {
                observer.begin(&about(setup, self, launch));
            }
            let mut worker = Worker {
                shared: &shared,
                thread,
                engine,
                accesses: self
                    .memory
                    .worker(shared.threads == 1 && !launch.outside_stores),
                control,
                answered: control.map_or(0, Control::asked),
                observer,
                recorder: recorder.map(|make| make()),
                help,
                traits: HashMap::new(),
                ring: VecDeque::new(),
                batch: Batch::default(),
                used: Vec::new(),
                last: Spot::default(),
                rows: Vec::new(),
                like: ([0; 3], Vec::new()),
                ended: 0..0,
                unsettled: false,
                observations: Observations::default(),
                stats: Stats::default(),
            };
            worker.work();
            worker.stats
        };
        let stats = Mutex::new(Stats::default());
        let add = |s: Stats| {
            let mut stats = lock(&stats);
            stats.instructions += s.instructions;
            stats.waves += s.waves;
        };
        // If the host refuses threads, this one does the work.
        match Threads::take(threads - 1) {
            None => add(work(0, None)),
            Some(others) => {
                let first = |help: &dyn Fn()| {
                    let long = known.is_some_and(|instructions| instructions >= ALONE);
                    if long {
                        help();
                    }
                    add(work(0, Some(help).filter(|_| !long)));
                };
                others.run(threads - 1, first, |thread| add(work(thread, None)));
            }
        }
        let stats = stats.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.work.done(setup, &stats);
        shared.serve();
        let closed = match &setup.host {
            Some(host) => host.close(&self.output),
            None => Ok(()),
        };
        let error = shared
            .error
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let interrupted = shared
            .interrupted
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let interrupted = interrupted.map(|all| {
            let (waves, others) = sorted(all.waves, all.others);
            RunError::Interrupted {
                kernel: setup.kernel.name.clone(),
                waves,
                others,
            }
        });
        match error.map(|(_, error)| error).or(interrupted) {
            Some(error) => Err(error),
            None => closed.map(|()| stats).map_err(|why| RunError::Launch {
                kernel: setup.kernel.name.clone(),
                why,
            }),
        }
    }
}

/// The state that the threads of a dispatch share.
struct Shared<'a> {
    setup: &'a Setup<'a>,
    /// The values of a workgroup in the middle.
    middle: Own,
    memory: &'a Memory,
    output: &'a Output,
    target: Target,
    launch: &'a Launch,
    global: Global,
    starts: Mutex<Starts>,
    /// The remaining fuel.
    fuel: Option<AtomicU64>,
    /// Waves have the same time slices with every engine.
    exact: bool,
    /// The locations of the waves when the dispatch was ended from outside.
    interrupted: Mutex<Option<Whereabouts>>,
    /// The lowest workgroup that failed.
    failed: AtomicU64,
    error: Mutex<Option<(u64, RunError)>>,
    /// Incremented after every time slice that may have changed state visible to other waves.
    epoch: AtomicU64,
    /// Host threads.
    threads: usize,
    /// Whether the dispatch is long is known.
    known: bool,
    /// The number of workgroups that a thread takes at least at a time.
    least: u64,
    /// Bytes of LDS of a workgroup.
    lds: u32,
    /// For each thread: the report whether its waves can continue.
    stuck: Vec<Mutex<Report>>,
}

/// The workgroups that have not started, and the free slots.
struct Starts {
    next: u64,
    slots: Vec<usize>,
}

/// A thread's report about its workgroups.
#[derive(Default)]
struct Report {
    state: Standing,
    waves: Vec<StuckWave>,
    others: usize,
    /// Some of them run in loops.
    loops: bool,
}

#[derive(Clone, Copy, PartialEq, Default)]
enum Standing {
    /// Some may be able to continue.
    Alive,
    /// None can continue unless something changes after this epoch.
    StuckSince(u64),
    /// The thread has no workgroups, or has not begun.
    #[default]
    Idle,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The information that an observer gets when the dispatch begins.
fn about<'a>(setup: &'a Setup<'_>, gpu: &'a Gpu, launch: &Launch) -> About<'a> {
    let (memory, target) = (&gpu.memory, gpu.target);
    About {
        target,
        kernel: &setup.kernel,
        base: setup.entry.wrapping_sub(setup.kernel.entry),
        memory,
        grid: setup.shape.grid,
        group: setup.shape.group,
        kernarg: setup.kernarg,
        packet: setup.packet,
        queue: setup.queue,
        scratch: (
            setup.scratch,
            setup.shape.lane_scratch,
            setup.shape.wave_scratch,
        ),
        lds: (setup.kernel.descriptor.group_segment_fixed_size).saturating_add(launch.dynamic_lds),
        heap: gpu.heap.get().map(|heap| heap.clone() as _),
    }
}

impl Shared<'_> {
    fn fail(&self, number: u64, error: RunError) {
        self.failed.fetch_min(number, SeqCst);
        let mut lowest = lock(&self.error);
        if lowest.as_ref().is_none_or(|(at, _)| number < *at) {
            *lowest = Some((number, error));
        }
    }

    /// Takes fuel for up to `wanted` instructions.
    fn take(&self, wanted: u64) -> u64 {
        let Some(fuel) = &self.fuel else {
            return wanted;
        };
        let taken = |left: u64| left.min(wanted);
        match fuel.fetch_update(Relaxed, Relaxed, |left| Some(left - taken(left))) {
            Ok(left) | Err(left) => taken(left),
        }
    }

    /// Takes fuel for up to `wanted` instructions, for the time slices of many waves, and leaves enough for other threads.
    fn share(&self, wanted: u64) -> u64 {
        let Some(fuel) = &self.fuel else {
            return wanted;
        };
        match self.threads {
            1 => self.take(wanted),
            threads => self.take(wanted.min(fuel.load(Relaxed) / (2 * threads as u64))),
        }
    }

    fn give_back(&self, unused: u64) {
        if let Some(fuel) = &self.fuel
            && unused > 0
        {
            fuel.fetch_add(unused, Relaxed);
        }
    }

    /// Lets the host serve the requests that waves wait for. Returns true if it did something.
    fn serve(&self) -> bool {
        let served = self
            .setup
            .service
            .as_ref()
            .is_some_and(|service| service.poll(self.memory));
        if served {
            self.epoch.fetch_add(1, SeqCst);
        }
        served
    }

    fn location(&self, group: [u32; 3], wave: usize, pc: u64) -> WaveLocation {
        self.setup.location(group, wave, pc)
    }

    /// Returns the error to report if no wave of any thread can ever continue.
    fn all_stuck(&self) -> Option<RunError> {
        if self.launch.outside_stores {
            return None;
        }
        let starts = lock(&self.starts);
        if starts.next < self.setup.shape.total && !starts.slots.is_empty() {
            return None;
        }
        let epoch = self.epoch.load(SeqCst);
        let (mut waves, mut others, mut loops) = (Vec::new(), 0, false);
        for report in &self.stuck {
            let report = lock(report);
            match report.state {
                Standing::Idle => continue,
                Standing::StuckSince(since) if since == epoch => {}
                _ => return None,
            }
            waves.extend(report.waves.iter().cloned());
            others += report.others;
            loops |= report.loops;
        }
        let (waves, others) = sorted(waves, others);
        Some(match loops {
            true => RunError::Livelock { waves, others },
            false => RunError::Deadlock { waves, others },
        })
    }
}

/// The waves in the order of their workgroups, up to the number in a report, and the number of the others.
pub(super) fn sorted(mut waves: Vec<StuckWave>, mut others: usize) -> (Vec<StuckWave>, usize) {
    waves.sort_by_key(|w| {
        let [x, y, z] = w.location.workgroup;
        ([z, y, x], w.location.wave)
    });
    others += waves.len().saturating_sub(LISTED);
    waves.truncate(LISTED);
    (waves, others)
}

/// The scheduler's record of a wave, in addition to its state of progress.
#[derive(Clone, Default)]
pub(super) struct WaveProgress {
    /// Its next time slice is observed, to find a loop.
    pub(super) suspect: bool,
    /// It was observed in its last time slice: its registers hold exactly what its program computed.
    pub(super) watched: bool,
    /// In its last time slice it yielded, or ran in a loop.
    pub(super) waits: bool,
    /// It cannot continue unless something changes after this epoch.
    pub(super) stuck: Option<u64>,
    /// The address of the instruction in its loop that polls memory.
    pub(super) looks_at: Option<u64>,
    /// It is at an instruction that waits for other waves.
    pub(super) retries: bool,
}

/// A workgroup that is running.
#[derive(Clone, Default)]
pub(super) struct Group {
    pub(super) group: [u32; 3],
    pub(super) number: u64,
    pub(super) slot: usize,
    pub(super) lds: Lds,
    /// The values specific to its waves, and the number of the first wave.
    pub(super) own: Own,
    pub(super) first: u64,
    pub(super) waves: Vec<GroupWave>,
    pub(super) progress: Vec<WaveProgress>,
    /// Every wave waited in its last round.
    pub(super) waits: bool,
    /// The number of rounds it has had since another workgroup failed.
    pub(super) grace: u32,
}

/// The result of a round of a workgroup's waves.
#[derive(PartialEq)]
pub(super) enum Round {
    Ended,
    Moved,
    /// All of its waves wait.
    Waits,
}

/// One host thread.
struct Worker<'a> {
    shared: &'a Shared<'a>,
    thread: usize,
    engine: Box<dyn Engine>,
    /// The thread's permission to access memory while it runs kernels.
    accesses: mem::Worker<'a>,
    observer: Option<Box<dyn Observer>>,
    recorder: Option<Box<dyn AccessRecorder>>,
    /// Ends the dispatch, or asks for the locations of waves; with the number of requests already answered.
    control: Option<&'a Control>,
    answered: u64,
    /// Starts the other threads, if they have not been started.
    help: Option<&'a dyn Fn()>,
    /// The properties of instructions in loops, by address.
    traits: HashMap<u64, Traits>,
    /// The resident workgroups that are not running now.
    ring: VecDeque<Box<Group>>,
    /// Workgroups that have not started.
    batch: Batch,
    /// Workgroups that have ended, whose memory is reused. They are moved from owner to owner.
    #[allow(clippy::vec_box)]
    used: Vec<Box<Group>>,
    /// The workgroup that was started last.
    last: Spot,
    /// The workgroups that an engine will run, in order.
    rows: Vec<Row>,
    /// The initial states of the waves of a workgroup of a size.
    like: ([u32; 3], Vec<Like>),
    /// Waves that have ended, which has not been reported to the other threads.
    ended: Range<u64>,
    /// Waves have run since the epoch was last incremented.
    unsettled: bool,
    observations: Observations,
    stats: Stats,
}

/// Chooses the waves that are observed because they may be in loops. The interpreter runs a wave for [`LOOP`] instructions and more to observe
/// it, which takes about as long as the first time slice takes compiled code. So of the waves that have had few time slices, only the first,
/// the 4th, the 16th and so on are observed, until one is found to wait: then all are.
#[derive(Default)]
struct Observations {
    /// The waves that have had few time slices, and might have been observed.
    early: u64,
    /// A wave waited.
    found: bool,
}

impl Observations {
    /// Returns true if another wave is observed, which has had this number of time slices.
    fn choose(&mut self, time_slices: u32) -> bool {
        if self.found || time_slices >= OBSERVED_AFTER {
            return true;
        }
        self.early += 1;
        self.early.is_power_of_two() && self.early.trailing_zeros().is_multiple_of(2)
    }
}

/// How long a wave is observed.
#[derive(Clone)]
pub(super) struct Observing {
    /// Where that began, and how often the wave may come back there.
    pc: u64,
    returns: usize,
    /// The number of instructions.
    steps: usize,
}

impl Observing {
    pub(super) fn new(wave: &GroupWave) -> Observing {
        let (returns, steps) = match wave.time_slices < OBSERVED_AFTER {
            true => (EARLY_RETURNS, EARLY_LOOP),
            false => (LOOP, LOOP),
        };
        let pc = wave.state.pc;
        Observing { pc, returns, steps }
    }

    /// Counts an instruction that the wave has run. Returns true if that was the last one.
    pub(super) fn ends(&mut self, wave: &GroupWave) -> bool {
        self.returns -= (wave.state.pc == self.pc) as usize;
        self.steps -= 1;
        self.returns == 0 || self.steps == 0
    }
}

/// A workgroup: its number, its ID in each dimension, its size and waves, and the number of its first wave.
#[derive(Clone, Copy, Default)]
pub(super) struct Spot {
    pub(super) number: u64,
    pub(super) group: [u32; 3],
    pub(super) size: [u32; 3],
    pub(super) waves: usize,
    pub(super) first: u64,
}

impl Spot {
    /// Moves to workgroup `number`, which is often the next one.
    pub(super) fn go_to(&mut self, shape: &Shape, number: u64) {
        if self.waves != 0 && number == self.number + 1 {
            self.first += self.waves as u64;
            for d in 0..3 {
                self.group[d] += 1;
                if self.group[d] < shape.groups[d] {
                    break;
                }
                self.group[d] = 0;
            }
        } else {
            let (x, y) = (shape.groups[0] as u64, shape.groups[1] as u64);
            self.group = [number % x, number / x % y, number / (x * y)].map(|n| n as u32);
            self.first = waves_before(shape, self.group);
        }
        self.number = number;
        self.size = size(shape, self.group);
        self.waves = shape.waves_of(self.size);
    }
}

/// Appends `count` rows, each `step` after the one before it.
fn add_rows(rows: &mut Vec<Row>, first: Row, step: Row, count: usize) {
    let before = rows.len();
    rows.resize(before + count, first);
    let [mut a, mut b, mut c] = first;
    for row in &mut rows[before..] {
        *row = [a, b, c];
        a = a.wrapping_add(step[0]);
        b = b.wrapping_add(step[1]);
        c = c.wrapping_add(step[2]);
    }
}

/// Workgroups that a thread has taken but not started, and the same number of slots for them.
#[derive(Clone, Default)]
pub(super) struct Batch {
    pub(super) next: u64,
    pub(super) end: u64,
    pub(super) slots: Vec<usize>,
}

impl Worker<'_> {
    fn work(&mut self) {
        let mut idle_rounds = 0;
        loop {
            if self.stopped() {
                return self.interrupt();
            }
            let Some(mut group) = self.pick() else {
                self.settle();
                self.report(Standing::Idle);
                let starts = lock(&self.shared.starts);
                let failed = self.shared.failed.load(SeqCst);
                if starts.next >= self.shared.setup.shape.total || failed < starts.next {
                    return;
                }
                drop(starts);
                // All slots belong to other threads.
                std::thread::sleep(Duration::from_micros(100));
                continue;
            };
            let mut rounds = 0;
            let round = loop {
                if self.stopped() {
                    self.ring.push_back(group);
                    return self.interrupt();
                }
                self.answer(&group);
                // The error of a lower workgroup takes precedence.
                let failed = self.shared.failed.load(Relaxed);
                if failed < group.number {
                    break Round::Ended;
                }
                match self.round(&mut group) {
                    Ok(Round::Moved) if failed != u64::MAX && group.grace > GRACE => {
                        break Round::Ended;
                    }
                    Ok(Round::Moved) => {
                        rounds += 1;
                        group.grace += (failed != u64::MAX) as u32;
                        if rounds >= PATIENCE {
                            break Round::Moved;
                        }
                    }
                    // It may wait for the workgroup that failed.
                    Ok(Round::Waits) if failed != u64::MAX => break Round::Ended,
                    Ok(round) => break round,
                    Err(error) => {
                        self.shared.fail(group.number, error);
                        break Round::Ended;
                    }
                }
            };
            self.shared.serve();
            group.waits = round == Round::Waits;
            if round == Round::Ended {
                self.end(group);
            } else {
                self.ring.push_back(group);
            }
            if round != Round::Waits {
                // The event that they wait for may have happened.
                for group in &mut self.ring {
                    group.waits = false;
                }
                idle_rounds = 0;
                continue;
            }
            if self.ring.iter().all(|g| g.waits) {
                idle_rounds += 1;
                if idle_rounds > self.ring.len() {
                    self.consider();
                    // Other threads are working; there is no use in polling all the time.
                    if self.shared.threads > 1 {
                        std::thread::yield_now();
                        if idle_rounds > 64 * self.ring.len() {
                            std::thread::sleep(Duration::from_micros(50));
                        }
                    }
                }
            }
        }
    }

    /// Returns true if the dispatch was ended from outside.
    fn stopped(&self) -> bool {
        self.control.is_some_and(Control::stopped)
    }

    /// Reports the locations of the waves, and ends this thread's workgroups.
    fn interrupt(&mut self) {
        let mut groups = std::mem::take(&mut self.ring);
        for group in &mut groups {
            self.begin(group);
        }
        self.ring = groups;
        let (waves, others) = self.left(None);
        {
            let mut all = lock(&self.shared.interrupted);
            let all = all.get_or_insert_default();
            all.waves.extend(waves);
            all.others += others;
        }
        for group in std::mem::take(&mut self.ring) {
            self.end(group);
        }
        self.settle();
        self.report(Standing::Idle);
    }

    /// Reports the locations of the waves if they were requested. `group` is not in the ring.
    fn answer(&mut self, group: &Group) {
        let Some(control) = self.control else { return };
        let asked = control.asked();
        let begun = |wave: &GroupWave| wave.doing != Doing::New;
        if asked != self.answered && group.waves.iter().all(begun) {
            self.answered = asked;
            let (waves, others) = self.left(Some(group));
            control.tell(Whereabouts { waves, others });
        }
    }

    /// The workgroup to continue: a resident one that does not wait, otherwise a new one, otherwise one that waits.
    fn pick(&mut self) -> Option<Box<Group>> {
        let moved_on = self.ring.iter().any(|g| !g.waits);
        // One that ran for long goes after those that have not begun, because it may be waiting for them undetected.
        let ran_long = self.ring.back().is_some_and(|g| !g.waits);
        if (!moved_on || ran_long)
            && let Some(group) = self.start()
        {
            return Some(group);
        }
        let at = self.ring.iter().position(|g| !g.waits).unwrap_or(0);
        self.ring.remove(at)
    }

    /// Takes workgroups to start, if there are any and slots for them.
    fn refill(&mut self) {
        let shared = self.shared;
        let shape = &*shared.setup.shape;
        self.settle();
        let mut starts = lock(&shared.starts);
        let left = shape.total.saturating_sub(starts.next);
        // Every workgroup before a failed one has been taken by a thread, which finishes it.
        if left == 0 || starts.next > shared.failed.load(SeqCst) {
            return;
        }
        // Enough workgroups and slots are left for the other threads.
        let share = match self.shared.threads as u64 {
            1 => BATCH,
            threads => (left / (4 * threads)).clamp(shared.least, BATCH),
        };
        let share = share.min(left);
        let room = starts.slots.len().div_ceil(self.shared.threads);
        let from = starts.slots.len() - room.min(share as usize);
        let slots = starts.slots.split_off(from);
        if slots.is_empty() {
            return;
        }
        // This must happen before other threads can see that the slots are taken.
        lock(&shared.stuck[self.thread]).state = Standing::Alive;
        let next = starts.next;
        starts.next += slots.len() as u64;
        self.batch = Batch {
            next,
            end: starts.next,
            slots,
        };
    }

    /// Frees the slots of workgroups that have ended, if no workgroup will start in them.
    fn free_slots(&mut self) {
        if self.batch.next == self.batch.end {
            let shared = self.shared;
            lock(&shared.starts).slots.append(&mut self.batch.slots);
            // Another thread may be waiting for the slots.
            shared.epoch.fetch_add(1, SeqCst);
        }
    }

    /// Starts the next workgroup, if there is one and a slot for it.
    fn start(&mut self) -> Option<Box<Group>> {
        let shared = self.shared;
        let setup = shared.setup;
        let shape = &*setup.shape;
        if self.batch.next == self.batch.end {
            self.refill();
        }
        let number = self.batch.next;
        if number > shared.failed.load(Relaxed) {
            self.batch.next = self.batch.end;
            self.free_slots();
        }
        if self.batch.next == self.batch.end {
            return None;
        }
        let slot = self.batch.slots.pop()?;
        self.batch.next += 1;
        self.last.go_to(shape, number);
        let Spot {
            group: location,
            size,
            waves: count,
            first,
            ..
        } = self.last;
        let first_slot = (slot * shape.waves_of(shape.group)) as u64;
        // Memory that was used recently is in the cache.
        let mut group = match self.used.pop() {
            Some(mut used) => {
                setup.own_again(&mut used.own, location, first_slot);
                used
            }
            None => Box::new(Group {
                own: setup.own(location, first_slot),
                ..Group::default()
            }),
        };
        group.group = location;
        group.number = number;
        group.slot = slot;
        group.first = first;
        (group.waits, group.grace) = (false, 0);
        group.lds.reset(self.shared.lds as usize);
        group.waves.truncate(count);
        for wave in &mut group.waves {
            (wave.doing, wave.time_slices) = (Doing::New, 0);
        }
        while group.waves.len() < count {
            group.waves.push(GroupWave {
                state: Box::new(WaveState::new(0)),
                doing: Doing::New,
                time_slices: 0,
            });
        }
        group.progress.clear();
        group.progress.resize(count, WaveProgress::default());
        if setup.host.is_some() {
            // The host's data of each workgroup has its own address.
            for (w, wave) in group.waves.iter_mut().enumerate() {
                let slot = first_slot + w as u64;
                *wave.state = setup.wave(shared.target, location, size, w, slot);
                wave.state.number = first + w as u64;
                wave.doing = Doing::Running;
            }
        } else if self.like.0 != size {
            let like = |w| setup.like(shared.target, size, w);
            self.like = (size, (0..count).map(like).collect());
        }
        self.stats.waves += count as u64;
        if let Some(progress) = &shared.launch.observers.progress {
            progress.workgroups.fetch_add(1, Relaxed);
        }
        Some(group)
    }

    fn end(&mut self, group: Box<Group>) {
        let shared = self.shared;
        if let Some(host) = &shared.setup.host
            && let Err(why) = host.finish(shared.memory, shared.output, group.slot, group.number)
        {
            let location = shared.location(group.group, 0, shared.setup.entry);
            shared.fail(group.number, RunError::Host { location, why });
        }
        if let Some(progress) = &self.shared.launch.observers.progress {
            progress.ended.fetch_add(1, Relaxed);
        }
        self.batch.slots.push(group.slot);
        self.free_slots();
        self.used.push(group);
    }

    /// Reports to the other threads what the engine did with whole workgroups.
    fn settle(&mut self) {
        let ended = std::mem::take(&mut self.ended);
        if !ended.is_empty() {
            self.shared.global.all_ended(ended);
        }
        if std::mem::take(&mut self.unsettled) {
            self.shared.epoch.fetch_add(1, SeqCst);
        }
    }

    /// Records that all waves of a workgroup have ended.
    fn all_ended(&mut self, numbers: Range<u64>) {
        if self.ended.end != numbers.start {
            self.settle();
            self.ended.start = numbers.start;
        }
        self.ended.end = numbers.end;
        if self.shared.global.asked() {
            self.settle();
        }
    }

    /// Initializes the registers of all waves of a workgroup that has just started.
    fn begin(&self, group: &mut Group) {
        for (w, wave) in group.waves.iter_mut().enumerate() {
            if wave.doing == Doing::New {
                starts(&self.like.1, &group.own, group.first).start(w, &mut wave.state);
                wave.doing = Doing::Running;
            }
        }
    }

    /// Collects the workgroup, if it has not begun, and those after it that the engine may run with it: taken by this thread and of
    /// the same size. Returns the last of them.
    fn gather(&mut self, group: &Group) -> Spot {
        let mut spot = self.last;
        self.rows.clear();
        let new = group.waves.first().is_some_and(|w| w.doing == Doing::New);
        let next = group.number + 1;
        // A recorder takes one workgroup after the other.
        if !new || self.recorder.is_some() || spot.number != group.number || self.batch.next != next
        {
            return spot;
        }
        let (shape, end) = (&*self.shared.setup.shape, self.batch.end);
        let ([mut x, mut y, mut z], mut number) = (spot.group, spot.number);
        let step = group.own.row([1, 0, 0]);
        // The workgroups after one in its row have its size, too, except perhaps the last one.
        let full = shape.grid[0] / shape.group[0];
        loop {
            let first = group.own.row([x, y, z]);
            let same = full.saturating_sub(x + 1) as u64;
            let same = same.min(end.saturating_sub(number + 1));
            add_rows(&mut self.rows, first, step, same as usize + 1);
            number += same;
            x += same as u32;
            if number + 1 >= end {
                break;
            }
            let next = match (x + 1 < shape.groups[0], y + 1 < shape.groups[1]) {
                (true, _) => [x + 1, y, z],
                (false, true) => [0, y + 1, z],
                (false, false) => [0, 0, z + 1],
            };
            if size(shape, next) != spot.size {
                break;
            }
            [x, y, z] = next;
            number += 1;
        }
        spot.first += (number - spot.number) * spot.waves as u64;
        (spot.group, spot.number) = ([x, y, z], number);
        spot
    }

    /// The first `done` of the gathered workgroups have ended; the last gathered one is `end`. Makes the group the next one,
    /// or the last one if there is no next one.
    fn go_on(&mut self, group: &mut Group, done: usize, end: Spot) {
        let begun = done.min(self.rows.len() - 1);
        let waves = (done * group.waves.len()) as u64;
        self.all_ended(group.first..group.first + waves);
        self.batch.next += begun as u64;
        self.stats.waves += (begun * group.waves.len()) as u64;
        if let Some(progress) = &self.shared.launch.observers.progress {
            progress.workgroups.fetch_add(begun as u64, Relaxed);
            progress.ended.fetch_add(begun as u64, Relaxed);
        }
        match group.number + begun as u64 {
            last if last == end.number => self.last = end,
            number => self.last.go_to(&self.shared.setup.shape, number),
        }
        (group.number, group.group) = (self.last.number, self.last.group);
        group.first = self.last.first;
        let (setup, shape) = (self.shared.setup, &*self.shared.setup.shape);
        let slot = (group.slot * shape.waves_of(shape.group)) as u64;
        setup.own_again(&mut group.own, group.group, slot);
        self.rows.drain(..done);
    }

    /// Lets the engine run a workgroup's waves as long as no special handling is needed, and then workgroups after it that
    /// have not started. Returns the wave whose time slice is next in this round, and true if a wave has made progress.
    /// Returns `None` if all waves have ended.
    fn together(&mut self, group: &mut Group) -> Result<Option<(usize, bool)>, RunError> {
        let shared = self.shared;
        let slice = self.engine.slice();
        let (mut next, mut ended) = (0, 0);
        let end = self.gather(group);
        loop {
            let budget = match self.help {
                // The engine must return soon.
                Some(_) if !shared.known => slice / 4 + ALONE,
                _ => slice * PATIENCE as u64,
            };
            let given = shared.share(budget);
            let mut fuel = given;
            let mut machine = Machine {
                target: shared.target,
                memory: shared.memory,
                code: Code::Memory,
                lds: &mut group.lds,
                global: &shared.global,
                hidden_private_base: shared.setup.scratch,
                middle: shared.middle.ids(),
                probe: None,
            };
            if let Some(recorder) = &self.recorder {
                recorder.runs(runs(group.number, &group.waves, next));
                let probe: &dyn Probe = &**recorder;
                machine.probe = Some(probe);
            }
            let mut done = 0;
            let stop = if self.rows.len() > 1 && next == 0 && ended == 0 {
                let (registers, count) = group.own.registers();
                let mut those = group::Groups {
                    waves: &mut group.waves,
                    like: &self.like.1,
                    registers: &registers[..count],
                    rows: &self.rows,
                    scratch: group.own.scratch,
                    group: group.number,
                    number: group.first,
                    done: 0,
                    next: 0,
                    ended_slices: 0,
                };
                let _at_work = self.accesses.begin();
                let stop = self.engine.groups(&mut those, &mut machine, &mut fuel);
                (next, ended, done) = (those.next, those.ended_slices, those.done);
                stop
            } else {
                let mut those = group::Group {
                    waves: &mut group.waves,
                    starts: starts(&self.like.1, &group.own, group.first),
                    next,
                    ended_slices: 0,
                };
                let _at_work = self.accesses.begin();
                let stop = self.engine.group(&mut those, &mut machine, &mut fuel);
                next = those.next;
                ended += those.ended_slices;
                stop
            };
            let helped = self.help.is_none();
            self.account(given, fuel);
            self.unsettled = true;
            if done > 0 {
                self.go_on(group, done, end);
            }
            if stop == GroupStop::Ended {
                self.tell_recorder(group, |recorder| recorder.ended());
                if done == 0 {
                    let count = group.waves.len() as u64;
                    self.all_ended(group.first..group.first + count);
                }
                return Ok(None);
            }
            if stop == GroupStop::Paused && !helped {
                // A wave's time slice is longer than was permitted, so it may be about to run for long.
                if given == budget {
                    self.get_help();
                }
                if self.help.is_none() {
                    continue;
                }
            }
            self.begin(group);
            for progress in &mut group.progress {
                progress.watched = false;
            }
            let mut moved = ended > 0;
            if let GroupStop::Wave(stop) = stop {
                self.note_time_slice(group, next, &stop);
                self.look_at(group, next, stop)?;
                moved |= !group.progress[next].waits;
                next += 1;
            }
            return Ok(Some((next, moved)));
        }
    }

    /// Gives a time slice to each wave that can run, or several while there are no observers.
    fn round(&mut self, group: &mut Group) -> Result<Round, RunError> {
        let (mut first, mut moved) = (0, false);
        self.go_on_recording()?;
        if self.ordinary(group) {
            match self.together(group)? {
                None => return Ok(Round::Ended),
                Some(far) => (first, moved) = far,
            }
        } else {
            self.begin(group);
        }
        for w in first..group.waves.len() {
            self.go_on_recording()?;
            if group.waves[w].doing == Doing::Running {
                self.run_time_slice(group, w)?;
                moved |= !group.progress[w].waits;
            }
        }
        let those = |what: Doing| group.waves.iter().filter(move |w| w.doing == what).count();
        if those(Doing::Running) > 0 {
            return Ok(if moved { Round::Moved } else { Round::Waits });
        }
        let ended = those(Doing::Ended) > 0;
        match (those(Doing::Waiting), those(Doing::Halted)) {
            (0, 0) => {
                self.tell_recorder(group, |recorder| recorder.ended());
                Ok(Round::Ended)
            }
            (0, _) => {
                let halted = group.waves.iter().position(|w| w.doing == Doing::Halted);
                let w = halted.unwrap_or(0);
                Err(RunError::Halted {
                    location: self
                        .shared
                        .location(group.group, w, group.waves[w].state.pc),
                })
            }
            (_, 0) => {
                self.tell_recorder(group, |recorder| recorder.released(ended));
                for (wave, progress) in group.waves.iter_mut().zip(&mut group.progress) {
                    if wave.doing == Doing::Waiting {
                        wave.doing = Doing::Running;
                        progress.waits = false;
                        progress.stuck = None;
                    }
                }
                Ok(Round::Moved)
            }
            _ => {
                let mut waves: Vec<StuckWave> = self.list(group).collect();
                let others = waves.len().saturating_sub(LISTED);
                waves.truncate(LISTED);
                Err(RunError::Deadlock { waves, others })
            }
        }
    }

    /// Calls `f` with the recorder, if there is one, after telling it that this workgroup runs.
    fn tell_recorder(&self, group: &Group, f: impl FnOnce(&dyn AccessRecorder)) {
        let Some(recorder) = &self.recorder else {
            return;
        };
        recorder.runs(runs(group.number, &group.waves, 0));
        f(&**recorder);
        if recorder.failed() {
            self.shared.memory.suspect();
        }
    }

    /// Returns an error if recorded accesses are suspicious, to end the dispatch, which is then rolled back.
    fn go_on_recording(&self) -> Result<(), RunError> {
        if self.recorder.is_none() || !self.shared.memory.suspected() {
            return Ok(());
        }
        Err(RunError::Launch {
            kernel: self.shared.setup.kernel.name.clone(),
            why: "it must be observed".into(),
        })
    }

    /// Returns true if the engine may run a workgroup's waves together: there are no observers, and no wave is observed for a loop.
    fn ordinary(&self, group: &Group) -> bool {
        self.observer.is_none()
            && self.shared.setup.host.is_none()
            && self.shared.failed.load(Relaxed) == u64::MAX
            && group
                .progress
                .iter()
                .all(|progress| !progress.suspect && !progress.waits)
            && group.waves.iter().all(|wave| wave.doing != Doing::Halted)
    }

    /// Runs the time slice of one wave.
    fn run_time_slice(&mut self, group: &mut Group, w: usize) -> Result<(), RunError> {
        self.settle();
        let progress = &mut group.progress[w];
        progress.retries = false;
        let stop = if progress.suspect || progress.waits {
            self.probe(group, w)?
        } else {
            let wanted = group.waves[w].time_slice(self.engine.slice());
            let given = self.shared.take(wanted);
            let mut fuel = given;
            let stop = self.step(group, w, &mut fuel);
            self.account(given, fuel);
            self.shared.epoch.fetch_add(1, SeqCst);
            if stop == Stop::Limit && given == 0 {
                return Err(self.limit(group, w));
            }
            self.note_time_slice(group, w, &stop);
            stop
        };
        // It may have made a request to the host, and wait for it.
        if let Some(host) = &self.shared.setup.host {
            let shared = self.shared;
            let served = host.serve(shared.memory, shared.output, group.slot, group.number);
            let pc = group.waves[w].state.pc;
            let served = served.map_err(|why| RunError::Host {
                location: shared.location(group.group, w, pc),
                why,
            })?;
            if served {
                shared.epoch.fetch_add(1, SeqCst);
            }
        }
        self.look_at(group, w, stop)
    }

    /// Records that a wave had a time slice in which it was not observed, and decides whether it is in the next one.
    fn note_time_slice(&mut self, group: &mut Group, w: usize, stop: &Stop) {
        note_time_slice(group, w, stop);
        let progress = &mut group.progress[w];
        self.observations.found |= progress.waits;
        // With exact time slices, a wave is observed at the same instructions, whatever has run before it.
        if progress.suspect && !self.shared.exact {
            progress.suspect = self.observations.choose(group.waves[w].time_slices);
        }
    }

    /// Handles the stop of a wave and determines how the wave continues.
    fn look_at(&mut self, group: &mut Group, w: usize, stop: Stop) -> Result<(), RunError> {
        let wave = &mut group.waves[w];
        wave.doing = match stop {
            Stop::Endpgm | Stop::FellOff => Doing::Ended,
            Stop::Barrier => Doing::Waiting,
            Stop::Halt => Doing::Halted,
            Stop::Limit | Stop::Yield | Stop::Retry => Doing::Running,
            Stop::Trap(3) if !self.shared.launch.debug_traps => {
                // s_trap has one dword.
                wave.state.pc = wave.state.pc.wrapping_add(4);
                Doing::Running
            }
            Stop::Trap(id) => {
                let location = self.shared.location(group.group, w, wave.state.pc);
                return Err(RunError::Trap { location, id });
            }
            Stop::Fault(report) => {
                return Err(RunError::Fault {
                    location: self.shared.location(group.group, w, wave.state.pc),
                    report: Box::new(report),
                });
            }
        };
        if wave.doing != Doing::Running {
            group.progress[w].waits = false;
        }
        Ok(())
    }

    fn account(&mut self, given: u64, left: u64) {
        self.shared.give_back(left);
        self.stats.instructions += given - left;
        if let Some(progress) = &self.shared.launch.observers.progress {
            progress.instructions.fetch_add(given - left, Relaxed);
        }
        if self.stats.instructions >= ALONE {
            self.get_help();
        }
    }

    /// Starts the other threads, if they have not been started.
    fn get_help(&mut self) {
        self.help.take().into_iter().for_each(|help| help());
    }

    /// Runs a wave for up to `fuel` instructions.
    fn step(&mut self, group: &mut Group, w: usize, fuel: &mut u64) -> Stop {
        let shared = self.shared;
        let runs = runs(group.number, &group.waves, w);
        let wave = &mut group.waves[w].state;
        let mut machine = Machine {
            target: shared.target,
            memory: shared.memory,
            code: Code::Memory,
            lds: &mut group.lds,
            global: &shared.global,
            hidden_private_base: shared.setup.scratch,
            middle: shared.middle.ids(),
            probe: None,
        };
        let _at_work = self.accesses.begin();
        if let Some(recorder) = &self.recorder {
            recorder.runs(runs);
            let probe: &dyn Probe = &**recorder;
            machine.probe = Some(probe);
            let stop = self.engine.run(wave, &mut machine, fuel);
            if recorder.failed() {
                shared.memory.suspect();
            }
            return stop;
        }
        let Some(observer) = &mut self.observer else {
            return self.engine.run(wave, &mut machine, fuel);
        };
        fn scene<'a>(shared: &'a Shared<'_>, wave: &'a WaveState, lds: &'a Lds) -> Scene<'a> {
            let kernel = &*shared.setup.kernel;
            Scene {
                target: shared.target,
                kernel,
                base: shared.setup.entry.wrapping_sub(kernel.entry),
                wave,
                lds,
                memory: shared.memory,
            }
        }
        let who = Who {
            workgroup: group.group,
            number: group.number,
            wave: w,
        };
        while *fuel > 0 {
            let mut one = 1;
            observer.before(who, &scene(shared, wave, machine.lds));
            let stop = {
                let mut probed = Machine {
                    lds: &mut *machine.lds,
                    probe: observer.probe(),
                    ..machine
                };
                self.engine.run(wave, &mut probed, &mut one)
            };
            *fuel -= 1 - one;
            observer.after(who, &scene(shared, wave, machine.lds), &stop);
            if stop != Stop::Limit {
                return stop;
            }
        }
        Stop::Limit
    }

    /// Runs one instruction of a wave that is observed.
    fn observers(&mut self, group: &mut Group, w: usize) -> Result<Stop, RunError> {
        let given = self.shared.take(1);
        let mut fuel = given;
        let stop = self.step(group, w, &mut fuel);
        self.account(given, fuel);
        match stop {
            Stop::Limit if given == 0 => Err(self.limit(group, w)),
            stop => Ok(stop),
        }
    }

    /// Runs a wave that may be in a loop one instruction at a time until its registers hold exactly what its program computed.
    /// Compiled code leaves dead registers with stale values; after one iteration of the loop, they are right. Returns how the wave
    /// stopped, unless the fuel was used up.
    fn settle_registers(&mut self, group: &mut Group, w: usize) -> Result<Option<Stop>, RunError> {
        let mut observing = Observing::new(&group.waves[w]);
        loop {
            match self.observers(group, w)? {
                Stop::Limit | Stop::Yield => {}
                Stop::Retry => break,
                stop => return Ok(Some(stop)),
            }
            if observing.ends(&group.waves[w]) {
                break;
            }
        }
        // Other waves may have seen its effects.
        self.shared.epoch.fetch_add(1, SeqCst);
        Ok(None)
    }

    /// Runs a time slice in which the wave is observed, to determine whether its registers return to their current values.
    fn probe(&mut self, group: &mut Group, w: usize) -> Result<Stop, RunError> {
        if !group.progress[w].watched
            && let Some(stop) = self.settle_registers(group, w)?
        {
            let wave = &mut group.waves[w];
            wave.time_slices = wave.time_slices.saturating_add(1);
            self.shared.epoch.fetch_add(1, SeqCst);
            let progress = &mut group.progress[w];
            (progress.suspect, progress.waits, progress.retries) = (false, false, false);
            (progress.stuck, progress.looks_at, progress.watched) = (None, None, true);
            return Ok(stop);
        }
        let epoch = self.shared.epoch.load(SeqCst);
        self.shared.memory.discard_changes();
        let global = self.shared.global.changes();
        let known = group.progress[w].waits;
        // The copy is made only for a loop that is already known.
        let lds = known.then(|| group.lds.clone());
        let before = group.waves[w].state.clone();
        let mut pcs = [0; LOOP];
        let mut recurs = false;
        let mut stop;
        let mut steps = 0;
        let mut observing = Observing::new(&group.waves[w]);
        loop {
            pcs[steps] = group.waves[w].state.pc;
            steps += 1;
            stop = self.observers(group, w)?;
            if !matches!(stop, Stop::Limit | Stop::Yield | Stop::Retry) {
                break;
            }
            let state = &group.waves[w].state;
            recurs = state.pc == before.pc && same(state, &before);
            let ends = observing.ends(&group.waves[w]);
            if recurs || stop == Stop::Retry || ends {
                break;
            }
        }
        let (mut acts, mut atomic, mut looks_at) = (false, false, None);
        if recurs {
            for &pc in &pcs[..steps] {
                let traits = self.traits(pc);
                acts |= traits.acts;
                atomic |= traits.atomic;
                if traits.reads {
                    looks_at = Some(pc);
                }
            }
        }
        let changed = atomic
            && (self.shared.memory.atomics_changed() || lds.is_none_or(|lds| lds != group.lds));
        let quiet = recurs && !acts && !changed && self.shared.global.changes() == global;
        if !quiet {
            self.shared.epoch.fetch_add(1, SeqCst);
        }
        let progress = &mut group.progress[w];
        progress.suspect = false;
        progress.watched = true;
        progress.waits = recurs || matches!(stop, Stop::Yield | Stop::Retry);
        progress.retries = stop == Stop::Retry;
        progress.stuck = quiet.then_some(epoch);
        progress.looks_at = looks_at;
        self.observations.found |= progress.waits;
        let wave = &mut group.waves[w];
        wave.time_slices = wave.time_slices.saturating_add(1);
        Ok(stop)
    }

    fn traits(&mut self, pc: u64) -> Traits {
        let shared = self.shared;
        *self
            .traits
            .entry(pc)
            .or_insert_with(|| Traits::of(stuck::fetch(shared.memory, shared.target, pc)))
    }

    /// The waves of a workgroup that have not ended.
    fn list<'g>(&'g self, group: &'g Group) -> impl Iterator<Item = StuckWave> + 'g {
        let shared = self.shared;
        list(shared.setup, shared.memory, shared.target, group)
    }

    /// The first waves of this thread that have not ended, and the number of the others; `running` is a workgroup that is
    /// not in the ring.
    fn left(&self, running: Option<&Group>) -> (Vec<StuckWave>, usize) {
        let mut groups: Vec<&Group> = self.ring.iter().map(|g| &**g).chain(running).collect();
        groups.sort_by_key(|g| g.number);
        let waves: Vec<StuckWave> = (groups.iter())
            .flat_map(|g| self.list(g))
            .take(LISTED)
            .collect();
        let all = groups.iter().flat_map(|g| &g.waves);
        let count = all.filter(|w| w.doing != Doing::Ended).count();
        let others = count - waves.len();
        (waves, others)
    }

    fn limit(&self, group: &Group, w: usize) -> RunError {
        let (waves, others) = self.left(Some(group));
        RunError::Limit {
            location: Box::new(
                self.shared
                    .location(group.group, w, group.waves[w].state.pc),
            ),
            instructions: self.shared.launch.max_instructions.unwrap_or(0),
            waves,
            others,
        }
    }

    fn report(&self, state: Standing) {
        *lock(&self.shared.stuck[self.thread]) = Report {
            state,
            ..Report::default()
        };
    }

    /// Called when all workgroups of this thread wait: ends the dispatch if nothing in it can ever continue.
    fn consider(&mut self) {
        self.settle();
        let epoch = self.shared.epoch.load(SeqCst);
        let ring = || self.ring.iter().map(|g| &**g);
        let all = |g: &Group| -> Vec<(Doing, Option<u64>, bool)> {
            let both = g.waves.iter().zip(&g.progress);
            both.map(|(w, n)| (w.doing, n.stuck, n.retries)).collect()
        };
        let mut left = (ring().flat_map(all))
            .filter(|w| w.0 != Doing::Ended)
            .peekable();
        let stuck = self.batch.next == self.batch.end
            && left.peek().is_some()
            && left.all(|w| w.0 != Doing::Running || w.1 == Some(epoch));
        if !stuck {
            return self.report(Standing::Alive);
        }
        let known = lock(&self.shared.stuck[self.thread]).state;
        if known != Standing::StuckSince(epoch) {
            let running =
                |(doing, _, retries): (Doing, _, bool)| doing == Doing::Running && !retries;
            let (waves, others) = self.left(None);
            let report = Report {
                state: Standing::StuckSince(epoch),
                waves,
                others,
                loops: ring().flat_map(all).any(running),
            };
            *lock(&self.shared.stuck[self.thread]) = report;
        }
        if let Some(error) = self.shared.all_stuck() {
            // No wave can continue. A workgroup that failed before is the cause.
            self.shared.failed.store(0, SeqCst);
            lock(&self.shared.error).get_or_insert((0, error));
            for group in std::mem::take(&mut self.ring) {
                self.end(group);
            }
        }
    }
}

/// The waves of a workgroup that have not ended.
pub(super) fn list<'g>(
    setup: &'g Setup<'_>,
    memory: &'g Memory,
    target: Target,
    group: &'g Group,
) -> impl Iterator<Item = StuckWave> + 'g {
    let text = move |pc| stuck::text(memory, target, pc);
    let waves = group.waves.iter().zip(&group.progress).enumerate();
    waves
        .filter(|(_, (wave, _))| wave.doing != Doing::Ended)
        .map(move |(w, (wave, progress))| {
            let mut location = setup.location(group.group, w, wave.state.pc);
            let waits = match wave.doing {
                Doing::Waiting => {
                    // The PC is after the barrier, which has one dword.
                    location.pc = location.pc.wrapping_sub(4);
                    location.offset = location.offset.wrapping_sub(4);
                    let others = group.waves.iter().enumerate();
                    let others = others
                        .filter(|(_, other)| matches!(other.doing, Doing::Running | Doing::Halted));
                    Waits::Barrier(others.map(|(w, _)| w).collect())
                }
                Doing::Halted => Waits::Halted,
                _ if progress.retries => Waits::Others,
                _ if progress.waits => Waits::Loop(progress.looks_at.map(|pc| {
                    let offset = pc.wrapping_sub(setup.entry) as i64;
                    (offset, text(pc))
                })),
                _ => Waits::Nothing,
            };
            StuckWave {
                text: text(location.pc),
                location,
                waits,
            }
        })
}

/// The initial states of a workgroup's waves; `like` has its size.
pub(super) fn starts<'a>(like: &'a [Like], own: &'a Own, number: u64) -> group::Starts<'a> {
    group::Starts {
        like,
        ids: own.ids(),
        scratch: own.scratch,
        hw_id: own.hw_id,
        number,
    }
}

fn runs(group: u64, waves: &[GroupWave], wave: usize) -> Runs {
    Runs {
        group,
        wave,
        waves: waves.len(),
    }
}

/// Records that a wave had a time slice in which it was not observed.
pub(super) fn note_time_slice(group: &mut Group, w: usize, stop: &Stop) {
    let (wave, progress) = (&mut group.waves[w], &mut group.progress[w]);
    progress.stuck = None;
    progress.watched = false;
    progress.waits = matches!(stop, Stop::Yield | Stop::Retry);
    progress.retries = *stop == Stop::Retry;
    wave.time_slices = wave.time_slices.saturating_add(1);
    // Rarely: most waves that run for long are doing useful work.
    progress.suspect = *stop == Stop::Limit && wave.time_slices.is_power_of_two();
}

/// Returns true if two states are the same except for the clock.
pub(super) fn same(a: &WaveState, b: &WaveState) -> bool {
    a.sgprs == b.sgprs
        && a.scc == b.scc
        && a.vgprs == b.vgprs
        && (a.mode, a.status, a.trapsts, a.ib_sts) == (b.mode, b.status, b.trapsts, b.ib_sts)
}
