//! A dispatch that its caller runs instruction by instruction: for debuggers.
//!
//! [`Stepper`] is the scheduler of `dispatch::schedule` for one thread in the order of [`Launch::deterministic`]. Its position in
//! the order is data instead of a stack, which lets it stop between any two instructions. [`Stepper::save`] and
//! [`Stepper::restore`] copy everything except guest memory, whose changes
//! [`Memory::take_journal`](crate::mem::Memory::take_journal) returns. It runs the same instructions in the same order as
//! [`Gpu::dispatch`] with the interpreter; `tests/step.rs` compares them.
//!
//! One thing differs: the first failure ends the dispatch, even if an earlier workgroup might fail later.

use super::abi::{Own, Setup, Shape};
use super::host::{HostState, Output};
use super::observers::Who;
use super::schedule::{
    self, BATCH, Batch, Group, LISTED, Observing, PATIENCE, Spot, WaveProgress, list,
    note_time_slice, same, starts,
};
use super::stuck::{self, StuckWave, Traits};
use super::{Gpu, Launch, Loaded, Packet, Queue, RunError, Stats, WaveLocation};
use crate::engine::{Code, EXACT_SLICE, Engine, FaultKind, Machine, Stop};
use crate::global::Global;
use crate::group::{Doing, GroupWave, Like};
use crate::interp::Interp;
use crate::probe::Probe;
use crate::wave::{Lds, WaveState};
use gcn_isa::target::Target;
use gcn_object::read::Kernel;
use gcn_object::target::Os;
use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// A dispatch that has begun.
pub struct Stepper {
    gpu: Arc<Gpu>,
    setup: Setup<'static>,
    launch: Launch,
    middle: Own,
    /// Memory of the dispatch: its arguments, packet, queue, scratch.
    regions: Vec<u64>,
    engine: Interp,
    /// The engine of [`Stepper::run_fast`].
    fast: Option<Box<dyn Engine>>,
    /// Counts the runs of that engine, for threads that wait until no compiled code uses an old mapping.
    at_work: Arc<AtomicU64>,
    /// The addresses before which it stops.
    stops: Vec<u64>,
    traits: HashMap<u64, Traits>,
    /// The initial states of the waves of a workgroup of a size.
    like: ([u32; 3], Vec<Like>),
    output: Output,
    printed: Arc<Mutex<Printed>>,
    global: Global,
    state: State,
}

/// The instructions of a time slice that [`Stepper::give_turn`] gives.
const LONG_SLICE: u64 = 64 * EXACT_SLICE;

/// The state of a dispatch at a moment, except guest memory.
pub struct Saved {
    state: State,
    global: Global,
    host: Option<HostState>,
    printed: u64,
    atomics: bool,
}

impl Saved {
    /// The number of instructions before it: [`Stepper::ticks`].
    pub fn ticks(&self) -> u64 {
        self.state.ticks
    }

    /// Its approximate size in bytes.
    pub fn bytes(&self) -> usize {
        let groups = self.state.ring.iter().chain(&self.state.now);
        let wave = |w: &GroupWave| 1024 + w.state.vgprs.len() * 256;
        let group = |g: &Group| g.lds.len() + g.waves.iter().map(wave).sum::<usize>();
        4096 + groups.map(group).sum::<usize>() + self.global.gds_bytes()
    }
}

/// The state of a dispatch, as the scheduler's worker has it on its stack and in its fields.
#[derive(Clone)]
struct State {
    ring: VecDeque<Group>,
    /// The workgroup whose round is running.
    now: Option<Group>,
    batch: Batch,
    /// The next workgroup to take, and the free slots.
    next: u64,
    slots: Vec<usize>,
    last: Spot,
    /// Instructions that may still run, if there is a limit.
    fuel: u64,
    epoch: u64,
    idle_rounds: usize,
    /// Rounds of the current workgroup since it was picked.
    rounds: u32,
    unsettled: bool,
    at: Position,
    stats: Stats,
    ticks: u64,
    done: Option<Result<Stats, RunError>>,
}

/// The position in the scheduler's loops.
#[derive(Clone)]
enum Position {
    /// A workgroup is to be picked.
    Pick,
    /// A round of the current workgroup begins.
    Round,
    /// The engine runs the waves of the workgroup, and of those after it, together.
    Together(Together),
    /// Each wave from `w` on has its time slice.
    TimeSlice {
        w: usize,
        moved: bool,
        slice: Option<Slice>,
    },
}

#[derive(Clone, Copy)]
struct Together {
    w: usize,
    /// A wave has made progress.
    moved: bool,
    fuel: u64,
    /// The number after that of the last workgroup that runs with this one.
    end: u64,
    /// The remaining instructions of the current time slice.
    left: Option<u64>,
}

#[derive(Clone)]
enum Slice {
    Plain {
        left: u64,
    },
    /// The wave may be in a loop. Its registers are not compared yet.
    Settle(Observing),
    Probe(Box<Probing>),
}

/// A time slice in which the registers of a wave are compared with those at its beginning.
#[derive(Clone)]
struct Probing {
    epoch: u64,
    global: u64,
    lds: Option<Lds>,
    before: WaveState,
    pcs: Vec<u64>,
    observing: Observing,
}

/// The result of a round.
#[derive(PartialEq)]
enum Round {
    Ended,
    Moved,
    Waits,
}

/// Bytes of text that kernels have printed: up to this moment, and the maximum at any moment.
#[derive(Default)]
struct Printed {
    now: u64,
    ever: u64,
}

/// Writes only the text that was not already written before the dispatch went back to an earlier moment.
struct Replayed {
    gpu: Arc<Gpu>,
    printed: Arc<Mutex<Printed>>,
}

impl Write for Replayed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut printed = schedule::lock(&self.printed);
        let known = printed.ever.saturating_sub(printed.now);
        let known = usize::try_from(known).map_or(bytes.len(), |n| n.min(bytes.len()));
        schedule::lock(&self.gpu.output).write_all(&bytes[known..])?;
        printed.now += bytes.len() as u64;
        printed.ever = printed.ever.max(printed.now);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        schedule::lock(&self.gpu.output).flush()
    }
}

/// A workgroup that has begun and not ended.
#[derive(Clone, Copy)]
pub struct GroupView<'a> {
    group: &'a Group,
}

impl<'a> GroupView<'a> {
    /// The workgroup's ID in each dimension.
    pub fn workgroup(&self) -> [u32; 3] {
        self.group.group
    }

    /// Its number in the order in which they start.
    pub fn number(&self) -> u64 {
        self.group.number
    }

    /// Its LDS.
    pub fn lds(&self) -> &'a Lds {
        &self.group.lds
    }

    /// The state of progress of its waves.
    pub fn waves(&self) -> impl ExactSizeIterator<Item = (Doing, &'a WaveState)> + use<'a> {
        self.group.waves.iter().map(|w| (w.doing, &*w.state))
    }
}

impl Stepper {
    /// Begins a dispatch; no instruction has run. [`Launch::threads`] and the observers of [`Launch::observers`] have no effect.
    ///
    /// # Errors
    /// A [`RunError`] if the launch is impossible.
    pub fn new(
        gpu: Arc<Gpu>,
        loaded: &Loaded,
        kernel: &str,
        launch: &Launch,
    ) -> Result<Stepper, RunError> {
        let kernel = loaded.kernel(kernel).ok_or_else(|| RunError::NoKernel {
            name: kernel.to_string(),
            have: loaded.kernels.iter().map(|k| k.name.clone()).collect(),
        })?;
        let launch = Launch {
            deterministic: true,
            ..launch.clone()
        };
        let mut shape = Shape::new(gpu.target, loaded.os, kernel, &launch)?;
        shape.resident = schedule::resident(&shape, gpu.memory.free_bytes());
        shape.make_room_for_host(loaded, kernel, gpu.memory.free_bytes());
        let mut regions = Vec::new();
        let setup = gpu
            .prepare(loaded, kernel, &launch, &shape, &mut regions)
            .map(Setup::into_owned);
        let setup = setup.inspect_err(|_| {
            for &region in &regions {
                // Each was mapped by `prepare`.
                let _ = gpu.memory.free(region);
            }
        })?;
        Ok(Stepper::of_setup(gpu, setup, launch, regions))
    }

    /// Begins the dispatch of a packet, as [`Gpu::dispatch_packet`] runs it: the caller has put packet, arguments and queue into guest
    /// memory, and no other dispatch of the queue may run before this one has ended.
    ///
    /// # Errors
    /// A [`RunError`] if the launch is impossible.
    pub fn of_packet(
        gpu: Arc<Gpu>,
        queue: &Queue,
        packet: &Packet,
        base: u64,
        kernel: &Kernel,
        launch: &Launch,
    ) -> Result<Stepper, RunError> {
        let fixed = kernel.descriptor.group_segment_fixed_size;
        let launch = Launch {
            dynamic_lds: packet.group_bytes.saturating_sub(fixed),
            deterministic: true,
            ..launch.clone()
        };
        let mut shape = Shape::new(gpu.target, Os::Hsa, kernel, &launch)?;
        shape.widen_scratch(packet.private_bytes);
        shape.resident = schedule::resident(&shape, gpu.memory.free_bytes());
        let setup = gpu.of_packet(queue, packet, base, kernel, &shape)?;
        let setup = setup.into_owned();
        Ok(Stepper::of_setup(gpu, setup, launch, Vec::new()))
    }

    fn of_setup(
        gpu: Arc<Gpu>,
        setup: Setup<'static>,
        launch: Launch,
        regions: Vec<u64>,
    ) -> Stepper {
        let mut engine = Interp::new();
        engine.exactly(true);
        let printed = Arc::new(Mutex::new(Printed::default()));
        let mut stepper = Stepper {
            middle: setup.own(setup.shape.groups.map(|n| n / 2), 0),
            global: match &setup.wave_sync {
                Some(resources) => Global::with(resources),
                None => Global::default(),
            },
            state: State {
                ring: VecDeque::new(),
                now: None,
                batch: Batch::default(),
                next: setup.shape.first,
                slots: (0..setup.shape.resident).rev().collect(),
                last: Spot::default(),
                fuel: launch.max_instructions.unwrap_or(u64::MAX),
                epoch: 0,
                idle_rounds: 0,
                rounds: 0,
                unsettled: false,
                at: Position::Pick,
                stats: Stats::default(),
                ticks: 0,
                done: None,
            },
            output: Mutex::new(Box::new(Replayed {
                gpu: gpu.clone(),
                printed: printed.clone(),
            })),
            printed,
            at_work: gpu.memory.register(false),
            gpu,
            setup,
            launch,
            regions,
            engine,
            fast: None,
            stops: Vec::new(),
            traits: HashMap::new(),
            like: ([0; 3], Vec::new()),
        };
        stepper.advance();
        stepper
    }

    /// The chip.
    pub fn target(&self) -> Target {
        self.gpu.target
    }

    /// The kernel that was launched.
    pub fn kernel(&self) -> &Kernel {
        &self.setup.kernel
    }

    /// The guest address of its first instruction.
    pub fn entry(&self) -> u64 {
        self.setup.entry
    }

    /// The guest address of its arguments.
    pub fn kernarg(&self) -> u64 {
        self.setup.kernarg
    }

    /// The number of workgroups in each dimension.
    pub fn groups_of_grid(&self) -> [u32; 3] {
        self.setup.shape.groups
    }

    /// The memory that the dispatch allocated for itself: the guest addresses of its regions.
    pub fn regions(&self) -> &[u64] {
        &self.regions
    }

    /// The number of instructions that have run. Each attempt of an instruction that waits for other waves counts.
    pub fn ticks(&self) -> u64 {
        self.state.ticks
    }

    /// The instructions and waves so far.
    pub fn stats(&self) -> Stats {
        self.state.stats
    }

    /// The result of the dispatch, if it has ended.
    pub fn result(&self) -> Option<&Result<Stats, RunError>> {
        self.state.done.as_ref()
    }

    /// The wave whose instruction is next, unless the dispatch has ended.
    pub fn ready(&self) -> Option<Who> {
        let (group, w) = self.ready_wave()?;
        Some(Who {
            workgroup: group.group,
            number: group.number,
            wave: w,
        })
    }

    /// The registers of the wave whose instruction is next.
    pub fn ready_state(&self) -> Option<&WaveState> {
        let (group, w) = self.ready_wave()?;
        Some(&group.waves[w].state)
    }

    fn ready_wave(&self) -> Option<(&Group, usize)> {
        if self.state.done.is_some() {
            return None;
        }
        let w = match &self.state.at {
            Position::Together(Together {
                w, left: Some(_), ..
            }) => *w,
            Position::TimeSlice {
                w, slice: Some(_), ..
            } => *w,
            _ => return None,
        };
        Some((self.state.now.as_ref()?, w))
    }

    /// The workgroups that have begun and not ended, in the order of their numbers.
    pub fn groups(&self) -> Vec<GroupView<'_>> {
        let groups = self.state.ring.iter().chain(&self.state.now);
        let mut groups: Vec<GroupView<'_>> = groups.map(|group| GroupView { group }).collect();
        groups.sort_by_key(GroupView::number);
        groups
    }

    /// A workgroup that has begun and not ended.
    pub fn group(&self, workgroup: [u32; 3]) -> Option<GroupView<'_>> {
        let mut groups = self.state.ring.iter().chain(&self.state.now);
        let group = groups.find(|g| g.group == workgroup)?;
        Some(GroupView { group })
    }

    /// The number of workgroups that have begun.
    pub fn begun(&self) -> u64 {
        self.state.next - (self.state.batch.end - self.state.batch.next)
    }

    /// The registers of a wave of a workgroup that has begun and not ended.
    pub fn wave(&self, workgroup: [u32; 3], wave: usize) -> Option<&WaveState> {
        let group = self.group(workgroup)?.group;
        group.waves.get(wave).map(|w| &*w.state)
    }

    /// The registers of a wave, to change them.
    pub fn wave_mut(&mut self, workgroup: [u32; 3], wave: usize) -> Option<&mut WaveState> {
        let group = self.group_mut(workgroup)?;
        group.waves.get_mut(wave).map(|w| &mut *w.state)
    }

    /// The LDS of a workgroup, to change it.
    pub fn lds_mut(&mut self, workgroup: [u32; 3]) -> Option<&mut Lds> {
        self.group_mut(workgroup).map(|group| &mut group.lds)
    }

    fn group_mut(&mut self, workgroup: [u32; 3]) -> Option<&mut Group> {
        let mut groups = self.state.ring.iter_mut().chain(&mut self.state.now);
        groups.find(|g| g.group == workgroup)
    }

    /// The waves of a workgroup that have not ended, and what they wait for.
    pub fn waiting(&self, workgroup: [u32; 3]) -> Vec<StuckWave> {
        let Some(view) = self.group(workgroup) else {
            return Vec::new();
        };
        let waves = list(&self.setup, &self.gpu.memory, self.gpu.target, view.group);
        waves.collect()
    }

    /// The location of a wave at an address.
    pub fn location(&self, workgroup: [u32; 3], wave: usize, pc: u64) -> WaveLocation {
        self.setup.location(workgroup, wave, pc)
    }

    /// Invalidates everything that was derived from code, because memory that holds code was changed.
    pub fn code_changed(&mut self) {
        self.engine.invalidate();
        if let Some(engine) = &mut self.fast {
            engine.invalidate();
        }
        self.traits.clear();
    }

    /// Copies everything except guest memory.
    pub fn save(&self) -> Saved {
        Saved {
            state: self.state.clone(),
            global: self.global.copy(),
            host: self.setup.host.as_ref().map(|host| host.state()),
            printed: schedule::lock(&self.printed).now,
            atomics: self.gpu.memory.atomics_changed(),
        }
    }

    /// Returns to a moment of this dispatch. The caller restores guest memory. Text that was printed after that moment is not
    /// printed again.
    pub fn restore(&mut self, saved: &Saved) {
        self.state = saved.state.clone();
        self.global = saved.global.copy();
        if let (Some(host), Some(state)) = (&self.setup.host, &saved.host) {
            host.set_state(state);
        }
        schedule::lock(&self.printed).now = saved.printed;
        self.gpu.memory.set_atomics_changed(saved.atomics);
    }

    /// The maximum number of bytes of text that kernels have printed at any moment.
    pub fn printed(&self) -> u64 {
        schedule::lock(&self.printed).ever
    }

    /// Sets the number of bytes that the same dispatch printed before. They are not printed again.
    pub fn set_printed(&mut self, bytes: u64) {
        schedule::lock(&self.printed).ever = bytes;
    }

    /// Discards the count of text that was printed after this moment, because the dispatch was changed and will print other text.
    pub fn diverge(&mut self) {
        let mut printed = schedule::lock(&self.printed);
        printed.ever = printed.now;
    }

    /// The global data share; empty if nothing has used it.
    pub fn gds(&self) -> Vec<u8> {
        self.global.gds().to_vec()
    }

    /// Runs the next instruction, of the wave that [`Stepper::ready`] returns. Returns how it stopped; [`Stop::Limit`] if the
    /// wave simply continues. Returns `None` if the dispatch has ended.
    pub fn step(&mut self, probe: Option<&dyn Probe>) -> Option<Stop> {
        self.execute(1, probe, false).map(|(stop, _)| stop)
    }

    /// Runs up to `ticks` instructions. Returns the number that ran, which is lower only if the dispatch has ended.
    pub fn run(&mut self, ticks: u64) -> u64 {
        let mut ran = 0;
        while ran < ticks {
            match self.execute(ticks - ran, None, false) {
                Some((_, more)) => ran += more,
                None => break,
            }
        }
        ran
    }

    /// Sets the engine of [`Stepper::run_fast`], and the addresses before which it stops. Without an engine, the present engine
    /// is kept. Returns false if no engine can stop there.
    pub fn stop_at(&mut self, engine: Option<Box<dyn Engine>>, addresses: &[u64]) -> bool {
        if let Some(mut engine) = engine {
            engine.exactly(true);
            self.fast = Some(engine);
        }
        self.stops = addresses.to_vec();
        self.stops.sort_unstable();
        self.fast.as_mut().is_some_and(|e| e.stop_at(addresses))
    }

    /// Returns true if there is an engine for [`Stepper::run_fast`].
    pub fn has_fast_engine(&self) -> bool {
        self.fast.is_some()
    }

    /// Removes and returns the engine of [`Stepper::run_fast`], with its compiled code, for another dispatch of the same machine.
    pub fn take_fast_engine(&mut self) -> Option<Box<dyn Engine>> {
        self.fast.take()
    }

    /// As [`Stepper::run`] by another engine ([`Stepper::stop_at`]), in the same order. Stops before an instruction at one of the
    /// addresses, unless it is the first one. The memory's journal sees its stores after
    /// [`Memory::keep_journal_of_compiled`](crate::mem::Memory::keep_journal_of_compiled).
    pub fn run_fast(&mut self, ticks: u64) -> u64 {
        let mut ran = 0;
        while ran < ticks && (ran == 0 || !self.is_at_stop()) {
            match self.execute(ticks - ran, None, true) {
                Some((_, more)) => ran += more,
                None => break,
            }
        }
        ran
    }

    /// Returns true if the next instruction is at one of the addresses of [`Stepper::stop_at`].
    pub fn is_at_stop(&self) -> bool {
        let at = |state: &WaveState| self.stops.binary_search(&state.pc).is_ok();
        self.ready_state().is_some_and(at)
    }

    /// Runs instructions of one wave in its time slice, up to `most`.
    fn execute(&mut self, most: u64, probe: Option<&dyn Probe>, fast: bool) -> Option<(Stop, u64)> {
        self.ready_wave()?;
        let (w, left) = match &self.state.at {
            Position::Together(t) => (t.w, t.left?),
            Position::TimeSlice {
                w,
                slice: Some(Slice::Plain { left }),
                ..
            } => (*w, *left),
            Position::TimeSlice { w, .. } => (*w, 1),
            _ => return None,
        };
        let memory = &self.gpu.memory;
        let at_work = memory.at_work(&self.at_work);
        let group = self.state.now.as_mut()?;
        let given = left.min(most);
        let mut fuel = given;
        let mut machine = Machine {
            target: self.gpu.target,
            memory,
            code: Code::Memory,
            lds: &mut group.lds,
            global: &self.global,
            hidden_private_base: self.setup.scratch,
            middle: self.middle.ids(),
            probe,
        };
        let wave = &mut group.waves[w].state;
        let stop = match &mut self.fast {
            Some(engine) if fast && given > 1 => engine.run(wave, &mut machine, &mut fuel),
            _ => self.engine.run(wave, &mut machine, &mut fuel),
        };
        drop(at_work);
        let used = given - fuel;
        // These consume no fuel.
        let attempt = match &stop {
            Stop::Retry => 1,
            Stop::Fault(report) => {
                matches!(report.kind, FaultKind::Fetch(_) | FaultKind::Illegal) as u64
            }
            _ => 0,
        };
        self.state.stats.instructions += used;
        self.state.ticks += used + attempt;
        self.ran(w, used, &stop);
        self.advance();
        Some((stop, used + attempt))
    }

    /// Ends the current time slice and gives a long one to another wave, which no schedule would do. The order of waves changes
    /// from here on.
    ///
    /// # Errors
    /// The reason why the wave cannot run now.
    pub fn give_turn(&mut self, workgroup: [u32; 3], wave: usize) -> Result<(), &'static str> {
        let waves = self.group(workgroup).map(|view| &view.group.waves);
        match waves.and_then(|waves| waves.get(wave)).map(|w| w.doing) {
            Some(Doing::Running) if self.state.done.is_none() => {}
            Some(Doing::Waiting) => return Err("it waits at a barrier"),
            Some(Doing::Halted) => return Err("it is halted"),
            _ => return Err("it has ended"),
        }
        self.break_off();
        let other = |g: &Group| g.group == workgroup;
        if let Some(at) = self.state.ring.iter().position(other) {
            let new = self.state.ring.remove(at);
            if let Some(mut old) = std::mem::replace(&mut self.state.now, new) {
                old.waits = false;
                self.state.ring.push_front(old);
            }
            self.state.rounds = 0;
        }
        let left = self.take(LONG_SLICE);
        if left == 0 {
            self.limit(wave);
            return Ok(());
        }
        self.begin_slice(wave, true, Slice::Plain { left });
        Ok(())
    }

    /// Ends the current time slice before its end.
    fn break_off(&mut self) {
        match &self.state.at {
            Position::Together(t) => {
                let t = *t;
                self.leave_together(t, t.w);
            }
            Position::TimeSlice {
                slice: Some(Slice::Plain { left }),
                ..
            } => {
                let unused = *left;
                self.give_back(unused);
            }
            _ => {}
        }
        self.settle();
        self.state.epoch += 1;
    }

    /// Updates the schedule after instructions of a wave.
    fn ran(&mut self, w: usize, used: u64, stop: &Stop) {
        let slice_continues = |left: u64| *stop == Stop::Limit && left > 0;
        match &mut self.state.at {
            Position::Together(t) => {
                let left = t.left.unwrap_or(0) - used;
                t.fuel -= used;
                t.left = Some(left);
                if slice_continues(left) {
                    return;
                }
                t.left = None;
                self.end_slice_together(w, stop);
            }
            Position::TimeSlice {
                slice: Some(Slice::Plain { left }),
                ..
            } => {
                *left -= used;
                if slice_continues(*left) {
                    return;
                }
                let unused = *left;
                self.give_back(unused);
                self.state.epoch += 1;
                if let Some(group) = &mut self.state.now {
                    note_time_slice(group, w, stop);
                }
                self.end_time_slice(w, stop);
            }
            Position::TimeSlice {
                slice: Some(Slice::Settle(_)),
                ..
            } => self.settle_registers(w, used, stop),
            Position::TimeSlice {
                slice: Some(Slice::Probe(_)),
                ..
            } => self.probe(w, used, stop),
            _ => {}
        }
    }

    fn limited(&self) -> bool {
        self.launch.max_instructions.is_some()
    }

    fn take(&mut self, wanted: u64) -> u64 {
        if !self.limited() {
            return wanted;
        }
        let taken = wanted.min(self.state.fuel);
        self.state.fuel -= taken;
        taken
    }

    fn give_back(&mut self, unused: u64) {
        if self.limited() {
            self.state.fuel += unused;
        }
    }

    fn settle(&mut self) {
        if std::mem::take(&mut self.state.unsettled) {
            self.state.epoch += 1;
        }
    }

    fn fail(&mut self, error: RunError) {
        self.state.done.get_or_insert(Err(error));
    }

    /// Continues in the schedule until an instruction is next, or the dispatch has ended.
    fn advance(&mut self) {
        while self.state.done.is_none() && self.ready_wave().is_none() {
            match self.state.at {
                Position::Pick => self.pick(),
                Position::Round => self.begin_round(),
                Position::Together(together) => self.together(together),
                Position::TimeSlice { w, moved, .. } => self.next_time_slice(w, moved),
            }
        }
    }

    /// The workgroup to continue.
    fn pick(&mut self) {
        let state = &self.state;
        let moved_on = state.ring.iter().any(|g| !g.waits);
        let ran_long = state.ring.back().is_some_and(|g| !g.waits);
        let started = match !moved_on || ran_long {
            true => self.start(),
            false => None,
        };
        let group = started.or_else(|| {
            let at = self.state.ring.iter().position(|g| !g.waits).unwrap_or(0);
            self.state.ring.remove(at)
        });
        match group {
            Some(group) => {
                self.state.now = Some(group);
                self.state.rounds = 0;
                self.state.at = Position::Round;
            }
            None => {
                self.settle();
                let closed = match &self.setup.host {
                    Some(host) => host.close(&self.output),
                    None => Ok(()),
                };
                let kernel = || self.setup.kernel.name.clone();
                let result = closed.map(|()| self.state.stats);
                let result = result.map_err(|why| RunError::Launch {
                    kernel: kernel(),
                    why,
                });
                self.state.done = Some(result);
            }
        }
    }

    /// Takes workgroups to start, if there are any and slots for them.
    fn refill(&mut self) {
        self.settle();
        let state = &mut self.state;
        let left = self.setup.shape.total.saturating_sub(state.next);
        let share = BATCH.min(left);
        let from = state.slots.len() - state.slots.len().min(share as usize);
        let slots = state.slots.split_off(from);
        if slots.is_empty() {
            return;
        }
        let next = state.next;
        state.next += slots.len() as u64;
        state.batch = Batch {
            next,
            end: state.next,
            slots,
        };
    }

    fn free_slots(&mut self) {
        let state = &mut self.state;
        if state.batch.next == state.batch.end {
            state.slots.append(&mut state.batch.slots);
            state.epoch += 1;
        }
    }

    /// Starts the next workgroup, if there is one and a slot for it.
    fn start(&mut self) -> Option<Group> {
        if self.state.batch.next == self.state.batch.end {
            self.refill();
        }
        if self.state.batch.next == self.state.batch.end {
            return None;
        }
        let slot = self.state.batch.slots.pop()?;
        let number = self.state.batch.next;
        self.state.batch.next += 1;
        self.state.last.go_to(&self.setup.shape, number);
        let group = self.begun_group(slot);
        self.state.stats.waves += group.waves.len() as u64;
        Some(group)
    }

    /// The workgroup at `last`, with the registers of its waves as they begin.
    fn begun_group(&mut self, slot: usize) -> Group {
        let (setup, spot, target) = (&self.setup, self.state.last, self.gpu.target);
        let shape = &setup.shape;
        let first_slot = (slot * shape.waves_of(shape.group)) as u64;
        let own = setup.own(spot.group, first_slot);
        if setup.host.is_none() && self.like.0 != spot.size {
            let like = |w| setup.like(target, spot.size, w);
            self.like = (spot.size, (0..spot.waves).map(like).collect());
        }
        let mut group = Group {
            group: spot.group,
            number: spot.number,
            slot,
            lds: Lds::new(shape.lds_bytes as usize),
            own,
            first: spot.first,
            waves: Vec::new(),
            progress: vec![WaveProgress::default(); spot.waves],
            waits: false,
            grace: 0,
        };
        for w in 0..spot.waves {
            let state = if setup.host.is_some() {
                // The host's data of each workgroup has its own address.
                let slot = first_slot + w as u64;
                let mut state = setup.wave(target, spot.group, spot.size, w, slot);
                state.number = spot.first + w as u64;
                state
            } else {
                let mut state = WaveState::new(0);
                starts(&self.like.1, &group.own, group.first).start(w, &mut state);
                state
            };
            group.waves.push(GroupWave {
                state: Box::new(state),
                doing: Doing::Running,
                time_slices: 0,
            });
        }
        group
    }

    fn begin_round(&mut self) {
        let Some(group) = &self.state.now else {
            self.state.at = Position::Pick;
            return;
        };
        let ordinary = self.setup.host.is_none()
            && group
                .progress
                .iter()
                .all(|progress| !progress.suspect && !progress.waits)
            && group.waves.iter().all(|wave| wave.doing != Doing::Halted);
        if !ordinary {
            self.state.at = Position::TimeSlice {
                w: 0,
                moved: false,
                slice: None,
            };
            return;
        }
        let new = group
            .waves
            .iter()
            .all(|w| w.time_slices == 0 && w.state.clock == 0)
            && group.waves.iter().all(|w| w.doing == Doing::Running);
        let end = match new {
            true => self.gather(group),
            false => group.number + 1,
        };
        let fuel = self.take(EXACT_SLICE * PATIENCE as u64);
        self.state.at = Position::Together(Together {
            w: 0,
            moved: false,
            fuel,
            end,
            left: None,
        });
    }

    /// The number after that of the last workgroup that the engine runs with this one: those that were taken with it and have
    /// its size.
    fn gather(&self, group: &Group) -> u64 {
        let state = &self.state;
        let next = group.number + 1;
        if state.last.number != group.number || state.batch.next != next {
            return next;
        }
        let mut spot = state.last;
        let size = spot.size;
        while spot.number + 1 < state.batch.end {
            spot.go_to(&self.setup.shape, spot.number + 1);
            if spot.size != size {
                return spot.number;
            }
        }
        state.batch.end
    }

    /// The next time slice while the engine runs waves together.
    fn together(&mut self, mut t: Together) {
        let Some(group) = &mut self.state.now else {
            return;
        };
        while let Some(wave) = group.waves.get_mut(t.w) {
            if wave.doing != Doing::Running {
                t.w += 1;
                continue;
            }
            let given = wave.time_slice(EXACT_SLICE);
            if given > t.fuel {
                return self.leave_together(t, t.w);
            }
            t.left = Some(given);
            self.state.at = Position::Together(t);
            return;
        }
        t.w = 0;
        let doing = |what: Doing| group.waves.iter().any(|w| w.doing == what);
        if doing(Doing::Running) || doing(Doing::Halted) {
            return self.leave_together(t, 0);
        }
        if doing(Doing::Waiting) {
            for wave in &mut group.waves {
                if wave.doing == Doing::Waiting {
                    wave.doing = Doing::Running;
                }
            }
            self.state.at = Position::Together(t);
            return;
        }
        // All have ended.
        let (number, slot) = (group.number, group.slot);
        if number + 1 < t.end {
            self.state.batch.next += 1;
            self.state.last.go_to(&self.setup.shape, number + 1);
            let group = self.begun_group(slot);
            self.state.stats.waves += group.waves.len() as u64;
            self.state.now = Some(group);
            self.state.at = Position::Together(t);
            return;
        }
        self.give_back(t.fuel);
        self.state.unsettled = true;
        self.leave(Round::Ended);
    }

    /// The engine stops running waves together; the rest of the round begins with wave `next`.
    fn leave_together(&mut self, t: Together, next: usize) {
        self.give_back(t.fuel);
        self.state.unsettled = true;
        if let Some(group) = &mut self.state.now {
            for progress in &mut group.progress {
                progress.watched = false;
            }
        }
        self.state.at = Position::TimeSlice {
            w: next,
            moved: t.moved,
            slice: None,
        };
    }

    /// A time slice ended while the engine runs waves together.
    fn end_slice_together(&mut self, w: usize, stop: &Stop) {
        let Position::Together(t) = &mut self.state.at else {
            return;
        };
        let Some(group) = &mut self.state.now else {
            return;
        };
        let wave = &mut group.waves[w];
        match stop {
            Stop::Endpgm => wave.doing = Doing::Ended,
            Stop::Barrier => wave.doing = Doing::Waiting,
            _ => {
                let t = *t;
                self.leave_together(t, w + 1);
                if let Some(group) = &mut self.state.now {
                    note_time_slice(group, w, stop);
                }
                self.look_at(w, stop);
                self.note_moved(w);
                return;
            }
        }
        wave.time_slices = wave.time_slices.saturating_add(1);
        t.moved = true;
        t.w += 1;
    }

    /// Begins the time slice of the next wave that can run, or ends the round.
    fn next_time_slice(&mut self, w: usize, moved: bool) {
        let Some(group) = &mut self.state.now else {
            return;
        };
        let running = |w: &usize| group.waves[*w].doing == Doing::Running;
        let Some(w) = (w..group.waves.len()).find(running) else {
            return self.end_round(moved);
        };
        let progress = &mut group.progress[w];
        progress.retries = false;
        let (observed, watched) = (progress.suspect || progress.waits, progress.watched);
        let wanted = group.waves[w].time_slice(EXACT_SLICE);
        let observing = Observing::new(&group.waves[w]);
        self.settle();
        let slice = match (observed, watched) {
            (false, _) => {
                let left = self.take(wanted);
                if left == 0 {
                    return self.limit(w);
                }
                Slice::Plain { left }
            }
            (true, false) => Slice::Settle(observing),
            (true, true) => match self.probing(w) {
                Some(probing) => Slice::Probe(Box::new(probing)),
                None => return,
            },
        };
        self.begin_slice(w, moved, slice);
    }

    fn begin_slice(&mut self, w: usize, moved: bool, slice: Slice) {
        if !matches!(slice, Slice::Plain { .. }) && self.limited() && self.state.fuel == 0 {
            return self.limit(w);
        }
        self.state.at = Position::TimeSlice {
            w,
            moved,
            slice: Some(slice),
        };
    }

    fn probing(&self, w: usize) -> Option<Probing> {
        let group = self.state.now.as_ref()?;
        self.gpu.memory.discard_changes();
        let before = (*group.waves[w].state).clone();
        Some(Probing {
            epoch: self.state.epoch,
            global: self.global.changes(),
            // The copy is made only for a loop that is already known.
            lds: group.progress[w].waits.then(|| group.lds.clone()),
            pcs: vec![before.pc],
            observing: Observing::new(&group.waves[w]),
            before,
        })
    }

    /// After an instruction of a wave whose registers are not compared yet.
    fn settle_registers(&mut self, w: usize, used: u64, stop: &Stop) {
        self.take(used);
        let Position::TimeSlice {
            moved,
            slice: Some(Slice::Settle(observing)),
            ..
        } = &mut self.state.at
        else {
            return;
        };
        let group = self.state.now.as_ref();
        let ends = group.is_none_or(|group| observing.ends(&group.waves[w]));
        let moved = *moved;
        match stop {
            Stop::Limit | Stop::Yield if !ends => {
                if self.limited() && self.state.fuel == 0 {
                    self.limit(w);
                }
                return;
            }
            Stop::Limit | Stop::Yield | Stop::Retry => {}
            stop => {
                self.state.epoch += 1;
                if let Some(group) = &mut self.state.now {
                    let wave = &mut group.waves[w];
                    wave.time_slices = wave.time_slices.saturating_add(1);
                    let progress = &mut group.progress[w];
                    (progress.suspect, progress.waits, progress.retries) = (false, false, false);
                    (progress.stuck, progress.looks_at, progress.watched) = (None, None, true);
                }
                return self.end_time_slice(w, stop);
            }
        }
        // Other waves may have seen its effects.
        self.state.epoch += 1;
        if let Some(probing) = self.probing(w) {
            self.begin_slice(w, moved, Slice::Probe(Box::new(probing)));
        }
    }

    /// After an instruction of a wave whose registers are compared.
    fn probe(&mut self, w: usize, used: u64, stop: &Stop) {
        self.take(used);
        let limited = self.limited();
        let Position::TimeSlice {
            slice: Some(Slice::Probe(probing)),
            ..
        } = &mut self.state.at
        else {
            return;
        };
        let Some(group) = &mut self.state.now else {
            return;
        };
        let state = &group.waves[w].state;
        let goes_on = matches!(stop, Stop::Limit | Stop::Yield | Stop::Retry);
        let recurs = goes_on && state.pc == probing.before.pc && same(state, &probing.before);
        let ends = goes_on && probing.observing.ends(&group.waves[w]);
        if goes_on && !recurs && *stop != Stop::Retry && !ends {
            probing.pcs.push(state.pc);
            if limited && self.state.fuel == 0 {
                self.limit(w);
            }
            return;
        }
        let probing = (**probing).clone();
        let (mut acts, mut atomic, mut looks_at) = (false, false, None);
        if recurs {
            for &pc in &probing.pcs {
                let (memory, target) = (&self.gpu.memory, self.gpu.target);
                let traits = self
                    .traits
                    .entry(pc)
                    .or_insert_with(|| Traits::of(stuck::fetch(memory, target, pc)));
                acts |= traits.acts;
                atomic |= traits.atomic;
                if traits.reads {
                    looks_at = Some(pc);
                }
            }
        }
        let changed = atomic
            && (self.gpu.memory.atomics_changed()
                || probing.lds.is_none_or(|lds| lds != group.lds));
        let quiet = recurs && !acts && !changed && self.global.changes() == probing.global;
        if !quiet {
            self.state.epoch += 1;
        }
        let progress = &mut group.progress[w];
        progress.suspect = false;
        progress.watched = true;
        progress.waits = recurs || matches!(stop, Stop::Yield | Stop::Retry);
        progress.retries = *stop == Stop::Retry;
        progress.stuck = quiet.then_some(probing.epoch);
        progress.looks_at = looks_at;
        let wave = &mut group.waves[w];
        wave.time_slices = wave.time_slices.saturating_add(1);
        self.end_time_slice(w, stop);
    }

    /// The time slice of a wave has ended.
    fn end_time_slice(&mut self, w: usize, stop: &Stop) {
        let moved = match &self.state.at {
            Position::TimeSlice { moved, .. } => *moved,
            _ => false,
        };
        self.state.at = Position::TimeSlice {
            w: w + 1,
            moved,
            slice: None,
        };
        // It may have made a request to the host, and wait for it.
        if let (Some(host), Some(group)) = (&self.setup.host, &self.state.now) {
            let served = host.serve(&self.gpu.memory, &self.output, group.slot, group.number);
            match served {
                Ok(served) => self.state.epoch += served as u64,
                Err(why) => {
                    let location = self.location(group.group, w, group.waves[w].state.pc);
                    return self.fail(RunError::Host { location, why });
                }
            }
        }
        self.look_at(w, stop);
        self.note_moved(w);
    }

    /// Records that wave `w` had its time slice in this round.
    fn note_moved(&mut self, w: usize) {
        if let (Position::TimeSlice { moved, .. }, Some(group)) =
            (&mut self.state.at, &self.state.now)
        {
            *moved |= !group.progress[w].waits;
        }
    }

    /// Handles the stop of a wave and determines how the wave continues.
    fn look_at(&mut self, w: usize, stop: &Stop) {
        let Some(group) = &mut self.state.now else {
            return;
        };
        let workgroup = group.group;
        let wave = &mut group.waves[w];
        wave.doing = match stop {
            Stop::Endpgm | Stop::FellOff => Doing::Ended,
            Stop::Barrier => Doing::Waiting,
            Stop::Halt => Doing::Halted,
            Stop::Limit | Stop::Yield | Stop::Retry => Doing::Running,
            Stop::Trap(3) if !self.launch.debug_traps => {
                // s_trap has one dword.
                wave.state.pc = wave.state.pc.wrapping_add(4);
                Doing::Running
            }
            Stop::Trap(id) => {
                let (id, pc) = (*id, wave.state.pc);
                let location = self.location(workgroup, w, pc);
                return self.fail(RunError::Trap { location, id });
            }
            Stop::Fault(report) => {
                let pc = wave.state.pc;
                return self.fail(RunError::Fault {
                    location: self.location(workgroup, w, pc),
                    report: Box::new(report.clone()),
                });
            }
        };
        if wave.doing != Doing::Running {
            group.progress[w].waits = false;
        }
    }

    /// Every wave had its time slice.
    fn end_round(&mut self, moved: bool) {
        let Some(group) = &mut self.state.now else {
            return;
        };
        let those = |what: Doing| group.waves.iter().filter(move |w| w.doing == what).count();
        let (running, waiting, halted) = (
            those(Doing::Running),
            those(Doing::Waiting),
            those(Doing::Halted),
        );
        match (running, waiting, halted) {
            (1.., ..) if moved => self.moved(),
            (1.., ..) => self.leave(Round::Waits),
            (_, 0, 0) => self.leave(Round::Ended),
            (_, 0, _) => {
                let w = group.waves.iter().position(|w| w.doing == Doing::Halted);
                let (w, workgroup) = (w.unwrap_or(0), group.group);
                let pc = group.waves[w].state.pc;
                let location = self.location(workgroup, w, pc);
                self.fail(RunError::Halted { location });
            }
            (_, _, 0) => {
                for (wave, progress) in group.waves.iter_mut().zip(&mut group.progress) {
                    if wave.doing == Doing::Waiting {
                        wave.doing = Doing::Running;
                        progress.waits = false;
                        progress.stuck = None;
                    }
                }
                self.moved();
            }
            _ => {
                let workgroup = group.group;
                let mut waves = self.waiting(workgroup);
                let others = waves.len().saturating_sub(LISTED);
                waves.truncate(LISTED);
                self.fail(RunError::Deadlock { waves, others });
            }
        }
    }

    fn moved(&mut self) {
        self.state.rounds += 1;
        match self.state.rounds >= PATIENCE {
            true => self.leave(Round::Moved),
            false => self.state.at = Position::Round,
        }
    }

    /// The current workgroup has ended, or lets another one run.
    fn leave(&mut self, round: Round) {
        let memory = &self.gpu.memory;
        if let Some(service) = &self.setup.service
            && service.poll(memory)
        {
            self.state.epoch += 1;
        }
        self.state.at = Position::Pick;
        let Some(mut group) = self.state.now.take() else {
            return;
        };
        group.waits = round == Round::Waits;
        if round == Round::Ended {
            self.end(group);
        } else {
            self.state.ring.push_back(group);
        }
        if round != Round::Waits {
            for group in &mut self.state.ring {
                group.waits = false;
            }
            self.state.idle_rounds = 0;
        } else if self.state.ring.iter().all(|g| g.waits) {
            self.state.idle_rounds += 1;
            if self.state.idle_rounds > self.state.ring.len() {
                self.consider();
            }
        }
    }

    fn end(&mut self, group: Group) {
        if let Some(host) = &self.setup.host
            && let Err(why) = host.finish(&self.gpu.memory, &self.output, group.slot, group.number)
        {
            let location = self.location(group.group, 0, self.setup.entry);
            self.fail(RunError::Host { location, why });
        }
        self.state.batch.slots.push(group.slot);
        self.free_slots();
    }

    /// Called when all workgroups wait: ends the dispatch if nothing in it can ever continue.
    fn consider(&mut self) {
        self.settle();
        let state = &self.state;
        let waves = || {
            let both = state
                .ring
                .iter()
                .flat_map(|g| g.waves.iter().zip(&g.progress));
            both.filter(|(wave, _)| wave.doing != Doing::Ended)
        };
        let stuck = state.batch.next == state.batch.end
            && waves().next().is_some()
            && waves().all(|(w, n)| w.doing != Doing::Running || n.stuck == Some(state.epoch));
        let more = state.next < self.setup.shape.total && !state.slots.is_empty();
        if !stuck || more || self.launch.outside_stores {
            return;
        }
        let loops = waves().any(|(w, n)| w.doing == Doing::Running && !n.retries);
        let (waves, others) = self.left();
        let (waves, others) = schedule::sorted(waves, others);
        self.fail(match loops {
            true => RunError::Livelock { waves, others },
            false => RunError::Deadlock { waves, others },
        });
    }

    /// The first waves that have not ended, and the number of the others.
    fn left(&self) -> (Vec<StuckWave>, usize) {
        let groups = self.groups();
        let all = groups
            .iter()
            .flat_map(|view| list(&self.setup, &self.gpu.memory, self.gpu.target, view.group));
        let all: Vec<StuckWave> = all.collect();
        let others = all.len().saturating_sub(LISTED);
        (all.into_iter().take(LISTED).collect(), others)
    }

    fn limit(&mut self, w: usize) {
        let Some(group) = &self.state.now else {
            return;
        };
        let location = self.location(group.group, w, group.waves[w].state.pc);
        let (waves, others) = self.left();
        self.fail(RunError::Limit {
            location: Box::new(location),
            instructions: self.launch.max_instructions.unwrap_or(0),
            waves,
            others,
        });
    }
}

impl Drop for Stepper {
    fn drop(&mut self) {
        self.gpu.memory.unregister(&self.at_work);
        for &region in &self.regions {
            // Each was mapped by `prepare`.
            let _ = self.gpu.memory.free(region);
        }
    }
}

impl Gpu {
    /// The number of dispatches so far, which kernels see as their dispatch's ID. A [`Stepper`] does not count itself.
    pub fn dispatches(&self) -> u64 {
        self.dispatches.load(Relaxed)
    }

    /// Sets the number of dispatches, for a caller that counts those of [`Stepper`], forward or backward.
    pub fn set_dispatches(&self, count: u64) {
        self.dispatches.store(count, Relaxed);
    }
}

impl std::fmt::Debug for Stepper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stepper")
            .field("kernel", &self.setup.kernel.name)
            .field("ticks", &self.state.ticks)
            .finish_non_exhaustive()
    }
}
