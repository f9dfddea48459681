//! The session: the launches of a plan, the present, and the user's settings.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use gcn::plan::{self, CheckReport, Plan, Ready};
use gcn_emu::dispatch::observers::Who;
use gcn_emu::dispatch::step::Stepper;
use gcn_emu::dispatch::{self, RunError};
use gcn_emu::engine::Engine;
use gcn_emu::mem::{Memory, PageBytes};
use gcn_isa::Target;
use gcn_isa::access::Counters;
use gcn_object::read::{CodeObject, FileKind};
use std::collections::HashMap;

use crate::calls::{Calls, Frame, Outstanding};
use crate::code::CodeMap;
use crate::history::{History, SPACING};
use crate::program::{self, Arrival, Attached, Program, ProgramLaunch};
use crate::stops::Stops;
use crate::writer::Log;

/// A wave of the current launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WaveId {
    /// The workgroup's ID in each dimension.
    pub workgroup: [u32; 3],
    /// The wave's number in the workgroup.
    pub wave: usize,
}

impl From<Who> for WaveId {
    fn from(who: Who) -> WaveId {
        WaveId {
            workgroup: who.workgroup,
            wave: who.wave,
        }
    }
}

impl fmt::Display for WaveId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup;
        write!(f, "workgroup ({x},{y},{z}) wave {}", self.wave)
    }
}

/// A moment: the number of instructions of a launch that have run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Moment {
    /// The launch, in the order in which they run, from 0.
    pub launch: usize,
    /// The instructions of all its waves that ran before. Each attempt of an instruction that waits counts.
    pub tick: u64,
}

/// The state of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// An instruction is next.
    Running,
    /// The last launch has ended.
    Ended,
    /// The current launch has failed; the report of `gcn run`.
    Failed(String),
}

/// The reason why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// A sentence.
    pub message: String,
    /// The byte of the given text at which the error is, if it concerns one.
    pub at: Option<usize>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "column {}: {}", at + 1, self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {}

impl From<String> for Error {
    fn from(message: String) -> Error {
        Error { message, at: None }
    }
}

impl From<&str> for Error {
    fn from(message: &str) -> Error {
        Error::from(message.to_owned())
    }
}

impl From<plan::Failure> for Error {
    fn from(failure: plan::Failure) -> Error {
        Error::from(failure.message)
    }
}

/// The options of a session.
#[derive(Clone)]
pub struct Options {
    /// The options of the run. Threads and observers have no effect.
    pub plan: plan::Options,
    /// Long stretches run as compiled code, if the engines of `plan` compile.
    pub compiles: bool,
    /// The approximate maximum bytes of checkpoints of one launch.
    pub history_bytes: usize,
    /// The minimum number of instructions between two copies of the machine, where each instruction is tracked.
    pub spacing: u64,
    /// Ends motions when it becomes true, as Ctrl-C does. A motion resets it.
    pub interrupt: Arc<AtomicBool>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            plan: plan::Options::default(),
            compiles: false,
            spacing: SPACING,
            history_bytes: 256 << 20,
            interrupt: Arc::default(),
        }
    }
}

/// A launch that has ended.
struct Past {
    /// The contents of pages before it.
    pages: HashMap<u64, PageBytes>,
    ticks: u64,
}

/// The launches of a plan.
struct Planned {
    plan: Plan,
    ready: Ready,
    /// The launches of the plan in the order in which they run: numbers in [`Plan::launches`].
    order: Vec<usize>,
    past: Vec<Past>,
    /// Bytes of text that each launch has printed.
    printed: Vec<u64>,
}

impl Planned {
    /// The report of a failure of a launch, with source lines.
    fn failed(&self, launch: usize, error: gcn::gpu::Error) -> Error {
        Error::from(plan::failed(&self.plan, self.order[launch], error))
    }
}

/// The source of the launches.
enum Work {
    Plan(Box<Planned>),
    Program(Box<Attached>),
}

/// The result of going from one launch to the next.
pub(crate) enum Next {
    /// The next launch has begun.
    Begun,
    /// There is no next launch.
    Last,
    /// The user interrupted before there was one.
    Interrupted,
}

/// A debugger's session over the launches of a plan, or of a running program.
pub struct Session {
    work: Work,
    pub(crate) machine: Arc<dispatch::Gpu>,
    launch: usize,
    /// `None` only while one launch replaces another.
    stepper: Option<Stepper>,
    pub(crate) history: Option<History>,
    pub(crate) code: CodeMap,
    pub(crate) calls: Calls,
    pub(crate) stops: Stops,
    selected: Option<WaveId>,
    /// The selected call, counted outwards from the innermost, if another is selected; with the wave and the moment that it is
    /// valid for.
    level: (Option<WaveId>, Moment, usize),
    /// Nothing has run since the beginning: a breakpoint at the first instruction has not stopped yet.
    pub(crate) fresh: bool,
    pub(crate) options: Options,
    /// The addresses of calls and returns, where compiled code stops for the session. The inner `None` means too many; the outer
    /// `None` means that they were not searched for yet.
    flow: Option<Option<Vec<u64>>>,
    /// True if the current launch stops in compiled code where it must. `None` after breakpoints have changed.
    pub(crate) stops_compiled: Option<bool>,
    /// The engine of a launch of the program that has ended, for the next one.
    spare: Option<Box<dyn Engine>>,
}

/// A loadable object in place of a relocatable one, whose addresses are only known after linking.
fn linked(object: CodeObject) -> Result<CodeObject, String> {
    match object.kind {
        FileKind::Loadable => Ok(object),
        FileKind::Relocatable => {
            let bytes = gcn_object::Builder::from_relocatable(&object).and_then(|b| b.loadable());
            let linked = bytes.and_then(|bytes| CodeObject::parse(&bytes));
            linked.map_err(|e| e.to_string())
        }
    }
}

impl Session {
    /// Begins a session: buffers are filled, and no instruction has run. A plan's repetitions are ignored.
    ///
    /// # Errors
    /// The message of `gcn run`, if the plan cannot be run.
    pub fn new(mut plan: Plan, mut options: Options) -> Result<Session, Error> {
        let objects = std::mem::take(&mut plan.objects);
        plan.objects = (objects.into_iter().map(linked)).collect::<Result<_, _>>()?;
        options.plan.observers = Default::default();
        options.plan.threads = 1;
        options.plan.deterministic = true;
        let ready = Ready::new(&plan, &options.plan)?;
        ready.fill(true)?;
        let mut order = Vec::new();
        for (n, launch) in plan.launches.iter().enumerate() {
            order.extend(std::iter::repeat_n(n, launch.times as usize));
        }
        if order.is_empty() {
            return Err("the plan launches nothing".into());
        }
        let machine = ready.gpu().shared_machine();
        machine.memory.keep_journal(true);
        let images = ready.programs().iter();
        let images = images.map(|p| (p.loaded().base, p.object()));
        let code = CodeMap::new(machine.target(), images);
        let work = Work::Plan(Box::new(Planned {
            printed: vec![0; order.len()],
            plan,
            ready,
            order,
            past: Vec::new(),
        }));
        let mut session = Session::before(0, code, work, machine, options);
        session.begin(0)?;
        Ok(session)
    }

    /// A session before its first launch has begun.
    fn before(
        launch: usize,
        code: CodeMap,
        work: Work,
        machine: Arc<dispatch::Gpu>,
        options: Options,
    ) -> Session {
        Session {
            code,
            work,
            machine,
            launch,
            stepper: None,
            history: None,
            calls: Calls::default(),
            stops: Stops::default(),
            selected: None,
            level: (None, Moment { launch: 0, tick: 0 }, 0),
            fresh: true,
            options,
            flow: None,
            stops_compiled: None,
            spare: None,
        }
    }

    /// Begins a session with a launch of a running program. The options of the plan have no effect.
    pub fn attach(
        program: Box<dyn Program>,
        machine: Arc<dispatch::Gpu>,
        first: ProgramLaunch,
        options: Options,
    ) -> Session {
        machine.memory.keep_journal_of_threads();
        let code = CodeMap::new(machine.target(), std::iter::empty());
        let work = Work::Program(Box::new(Attached::new(program)));
        let mut session = Session::before(first.number, code, work, machine, options);
        session.begin_launch(first);
        session
    }

    /// Begins a launch of the program.
    fn begin_launch(&mut self, launch: ProgramLaunch) {
        let Work::Program(attached) = &mut self.work else {
            return;
        };
        attached.grid = launch.grid;
        attached.group = launch.group;
        attached.released = false;
        let other = attached.look_at_code();
        let reports = launch.reports;
        self.spare = self.stepper.as_mut().and_then(Stepper::take_fast_engine);
        if other {
            let images = attached.objects.iter().map(|o| (o.base, &o.object));
            self.code = CodeMap::new(self.machine.target(), images);
            // Compiled code and the addresses of calls belong to the old code.
            (self.spare, self.flow) = (None, None);
        }
        self.enter(launch.number, launch.stepper);
        let entry = self.entry();
        let placed = reports.into_iter();
        self.stops.reports = placed.map(|r| (entry.wrapping_add(r.offset), r)).collect();
        match other {
            true => self.resolve_breakpoints(),
            false => self.mark_breaks(),
        }
    }

    /// Starts the history of a launch, whose first instruction is next.
    fn enter(&mut self, launch: usize, stepper: Stepper) {
        self.history = Some(History::new(
            &stepper,
            &self.machine.memory,
            self.options.history_bytes,
            self.options.spacing,
        ));
        self.stepper = Some(stepper);
        self.stops_compiled = None;
        self.launch = launch;
        self.calls = Calls::default();
        self.selected = None;
        self.follow();
    }

    fn planned(&self) -> Result<&Planned, Error> {
        match &self.work {
            Work::Plan(planned) => Ok(planned),
            Work::Program(_) => Err("the launches are those of a program, not of a plan".into()),
        }
    }

    /// Prepares a launch of the plan, whose first instruction is next.
    fn begin(&mut self, launch: usize) -> Result<(), Error> {
        self.machine.set_dispatches(launch as u64);
        let planned = self.planned()?;
        let failed = |e| planned.failed(launch, e);
        let ready = &planned.ready.launches()[planned.order[launch]];
        let laid_out = ready.laid_out().map_err(failed)?;
        let kernel = ready.kernel();
        let loaded = kernel.program().loaded();
        let stepper = Stepper::new(self.machine.clone(), loaded, kernel.name(), &laid_out);
        let mut stepper = stepper.map_err(|e| failed(e.into()))?;
        stepper.set_printed(planned.printed[launch]);
        self.enter(launch, stepper);
        Ok(())
    }

    /// Drops the current launch, and with it its memory.
    fn drop_launch(&mut self) {
        if let Some(stepper) = self.stepper.take()
            && let Work::Plan(planned) = &mut self.work
        {
            let printed = &mut planned.printed[self.launch];
            *printed = (*printed).max(stepper.printed());
        }
    }

    /// Goes from the end of a launch to the next one. For a program, waits for the next launch.
    pub(crate) fn next_launch(&mut self) -> Result<Next, Error> {
        let planned = match &mut self.work {
            Work::Plan(planned) => planned,
            Work::Program(_) => return Ok(self.next_of_program()),
        };
        if self.launch + 1 == planned.order.len() {
            return Ok(Next::Last);
        }
        let ticks = self.stepper.as_ref().map_or(0, Stepper::ticks);
        if let Some(history) = self.history.take() {
            let pages = history.into_past(&self.machine.memory);
            planned.past.push(Past { pages, ticks });
        }
        self.drop_launch();
        let Err(error) = self.begin(self.launch + 1) else {
            return Ok(Next::Begun);
        };
        // The end of this launch stays the present.
        if let Work::Plan(planned) = &mut self.work
            && let Some(past) = planned.past.pop()
        {
            self.put_back(&past);
            self.begin(self.launch)?;
            self.goto_tick(past.ticks);
        }
        Err(error)
    }

    /// Restores memory to its contents before a launch.
    fn put_back(&self, past: &Past) {
        for (&page, bytes) in &past.pages {
            self.machine.memory.put_page(page, bytes);
        }
        self.machine.memory.take_journal();
    }

    /// Lets the program continue, and waits for its next launch.
    fn next_of_program(&mut self) -> Next {
        self.release();
        let Work::Program(attached) = &mut self.work else {
            return Next::Last;
        };
        match attached.program.next(&self.options.interrupt) {
            Arrival::Launch(launch) => {
                self.begin_launch(*launch);
                Next::Begun
            }
            Arrival::Interrupted => Next::Interrupted,
            Arrival::Ended => {
                attached.ended = true;
                Next::Last
            }
        }
    }

    /// Tells the program that the current launch has ended, if it has.
    fn release(&mut self) {
        let result = self.stepper().result().cloned();
        if let (Work::Program(attached), Some(result)) = (&mut self.work, result)
            && !std::mem::replace(&mut attached.released, true)
        {
            if let Some(goes_on) = &mut attached.goes_on {
                goes_on();
            }
            attached.program.release(result);
        }
    }

    /// Sets the function that is called before the program continues after a launch.
    pub fn set_goes_on(&mut self, call: Option<Box<dyn FnMut() + Send>>) {
        if let Work::Program(attached) = &mut self.work {
            attached.goes_on = call;
        }
    }

    /// The reports about the current launch of a program at which the session has not stopped.
    pub fn unseen_reports(&self) -> Vec<String> {
        let unseen = self.stops.reports.iter().filter(|(_, report)| !report.seen);
        unseen.map(|(_, report)| report.text.clone()).collect()
    }

    /// Runs the current launch of a program to its end without stops, and lets the program continue.
    pub fn leave(&mut self) {
        if let (Work::Program(_), Some(stepper)) = (&self.work, &mut self.stepper) {
            self.machine.memory.keep_journal(false);
            while stepper.run(1 << 20) > 0 {}
            self.release();
        }
    }

    /// Returns true if the launches are those of a running program.
    pub fn is_attached(&self) -> bool {
        matches!(self.work, Work::Program(_))
    }

    /// Returns true if the session was attached to a program that has ended.
    pub fn program_ended(&self) -> bool {
        matches!(&self.work, Work::Program(attached) if attached.ended)
    }

    /// An error if the past of the current launch is gone, because the program knows that it has ended.
    pub(crate) fn may_change_time(&self) -> Result<(), Error> {
        match &self.work {
            Work::Program(attached) if attached.released => Err(match attached.ended {
                true => "the program has ended".into(),
                false => format!(
                    "launch {} has ended and the program has gone on, which cannot be undone; `continue` waits for its next launch",
                    self.launch
                )
                .into(),
            }),
            _ => Ok(()),
        }
    }

    /// The earliest launch that can be returned to.
    pub(crate) fn first_launch(&self) -> usize {
        match &self.work {
            Work::Plan(_) => 0,
            Work::Program(_) => self.launch,
        }
    }

    /// Goes to the beginning of the launch before the current one, and returns the number of its ticks. Returns `None` if the
    /// current one is the first, or if the launches are those of a program.
    pub(crate) fn previous_launch(&mut self) -> Result<Option<u64>, Error> {
        let Work::Plan(planned) = &mut self.work else {
            return Ok(None);
        };
        let Some(past) = planned.past.pop() else {
            return Ok(None);
        };
        if let Some(history) = self.history.take() {
            history.undo(&self.machine.memory);
        }
        self.drop_launch();
        self.put_back(&past);
        self.begin(self.launch - 1)?;
        Ok(Some(past.ticks))
    }

    pub(crate) fn stepper(&self) -> &Stepper {
        // `begin` has set it; only a failure of `begin` itself takes it away, which ends the session.
        self.stepper.as_ref().expect("a launch")
    }

    pub(crate) fn history(&self) -> &History {
        self.history.as_ref().expect("a launch")
    }

    /// The moments of the current launch that can be returned to without executing anything.
    pub fn past(&self) -> &History {
        self.history()
    }

    /// Returns true if moments after the present are known. A change discards them.
    pub fn has_future(&self) -> bool {
        let history = self.history();
        history.at() + 1 < history.len()
    }

    /// Guest memory.
    pub fn memory(&self) -> &Memory {
        &self.machine.memory
    }

    /// The chip.
    pub fn target(&self) -> Target {
        self.machine.target()
    }

    /// The code of the loaded objects.
    pub fn code(&self) -> &CodeMap {
        &self.code
    }

    /// The comment of the source line of an instruction, if the line is assembly that consists of the instruction itself; it may
    /// be empty.
    pub fn comment(&self, pc: u64) -> Option<&str> {
        let line = self.code.line(pc)?.text.as_deref()?;
        gcn::check::text::repeats(line, &self.code.text(pc, self.memory()))
    }

    /// The plan's buffers, or the arguments of the program's kernel that are addresses: name, guest address and size in bytes.
    pub fn buffers(&self) -> Vec<(String, u64, usize)> {
        match &self.work {
            Work::Plan(planned) => {
                let both = planned.plan.buffers.iter().zip(planned.ready.buffers());
                both.map(|(plan, buffer)| (plan.name.clone(), buffer.address(), buffer.len()))
                    .collect()
            }
            Work::Program(_) => self
                .program_buffers()
                .into_iter()
                .map(|b| {
                    let name = b.name.unwrap_or_else(|| format!("arg{}", b.argument));
                    (name, b.address, b.bytes)
                })
                .collect(),
        }
    }

    fn program_buffers(&self) -> Vec<program::Buffer> {
        let stepper = self.stepper();
        program::buffers(stepper.kernel(), stepper.kernarg(), &self.machine.memory)
    }

    /// The arguments of the current launch that are addresses of buffers: number, name and address.
    pub(crate) fn buffer_arguments(&self) -> Vec<(usize, Option<String>, u64)> {
        let planned = match &self.work {
            Work::Plan(planned) => planned,
            Work::Program(_) => {
                let found = self.program_buffers().into_iter();
                return found.map(|b| (b.argument, b.name, b.address)).collect();
            }
        };
        let n = planned.order[self.launch];
        let launched = &planned.ready.launches()[n];
        let parameters = launched.kernel().parameters().unwrap_or_default();
        let args = planned.plan.launches[n].args.iter().enumerate();
        let buffers = planned.ready.buffers();
        args.filter_map(|(n, arg)| {
            let plan::ArgPlan::Buffer(buffer, offset) = arg else {
                return None;
            };
            let at = buffers.get(*buffer).map_or(0, |b| b.address()) + offset;
            let name = parameters.get(n).and_then(|p| p.name.clone());
            Some((n, name, at))
        })
        .collect()
    }

    /// The number of launches, with repetitions; for a program, the launches so far and the next one.
    pub fn launches(&self) -> usize {
        match &self.work {
            Work::Plan(planned) => planned.order.len(),
            Work::Program(_) => self.launch + 1,
        }
    }

    /// The work-items of the current launch in each dimension, and those of a workgroup.
    pub fn work_items(&self) -> ([u32; 3], [u32; 3]) {
        match &self.work {
            Work::Plan(planned) => {
                let launch = &planned.plan.launches[planned.order[self.launch]];
                (launch.grid, launch.group)
            }
            Work::Program(attached) => (attached.grid, attached.group),
        }
    }

    /// The kernel of the current launch.
    pub fn kernel(&self) -> &gcn_object::read::Kernel {
        self.stepper().kernel()
    }

    /// The guest address of its first instruction.
    pub fn entry(&self) -> u64 {
        self.stepper().entry()
    }

    /// The number of workgroups of the current launch in each dimension.
    pub fn grid(&self) -> [u32; 3] {
        self.stepper().groups_of_grid()
    }

    /// The present.
    pub fn now(&self) -> Moment {
        Moment {
            launch: self.launch,
            tick: self.stepper().ticks(),
        }
    }

    /// The state of the plan.
    pub fn status(&self) -> Status {
        match self.stepper().result() {
            None => Status::Running,
            Some(Ok(_)) => Status::Ended,
            Some(Err(e)) => Status::Failed(self.failure(e)),
        }
    }

    /// The report of a failure, with source lines.
    fn failure(&self, error: &RunError) -> String {
        let mut error = error.clone();
        let object = match &self.work {
            Work::Plan(planned) => {
                let launch = &planned.ready.launches()[planned.order[self.launch]];
                Some(launch.kernel().program().object())
            }
            Work::Program(attached) => attached.object(self.entry()),
        };
        if let Some(object) = object {
            gcn::gpu::add_sources(&mut error, object);
        }
        match &self.work {
            Work::Plan(planned) => planned.failed(self.launch, error.into()).message,
            Work::Program(_) => format!("launch {} failed: {error}", self.launch),
        }
    }

    /// The wave whose instruction is next.
    pub fn running(&self) -> Option<WaveId> {
        self.stepper().ready().map(WaveId::from)
    }

    /// The wave of commands that name none: the one that stopped last, or that was selected.
    pub fn selected(&self) -> Option<WaveId> {
        self.selected
    }

    /// Selects a wave of a workgroup that has begun and not ended.
    ///
    /// # Errors
    /// A message that gives the state of the workgroup.
    pub fn select(&mut self, wave: WaveId) -> Result<(), Error> {
        let Some(group) = self.stepper().group(wave.workgroup) else {
            return Err(self.no_group(wave.workgroup));
        };
        let count = group.waves().len();
        if wave.wave >= count {
            let [x, y, z] = wave.workgroup;
            return Err(format!(
                "there is no wave {}: workgroup ({x},{y},{z}) has {count}",
                wave.wave
            )
            .into());
        }
        self.selected = Some(wave);
        Ok(())
    }

    fn no_group(&self, [x, y, z]: [u32; 3]) -> Error {
        let [a, b, c] = self.grid();
        if x >= a || y >= b || z >= c {
            return format!("there is no workgroup ({x},{y},{z}): the grid has {a},{b},{c}").into();
        }
        let number = (z as u64 * b as u64 + y as u64) * a as u64 + x as u64;
        let how = match number < self.stepper().begun() {
            true => "has ended; go back to see it",
            false => "has not begun; a breakpoint with `workgroup` stops in it",
        };
        format!("workgroup ({x},{y},{z}) {how}").into()
    }

    /// Selects the wave whose instruction is next.
    pub(crate) fn follow(&mut self) {
        if let Some(running) = self.running() {
            self.selected = Some(running);
        }
    }

    /// The counters of s_waitcnt that a wave has not waited for.
    pub fn outstanding(&self, wave: WaveId) -> Outstanding {
        self.calls.outstanding(wave)
    }

    /// Sets the writer for the text that kernels print; by default standard output.
    pub fn set_output(&self, output: impl std::io::Write + Send + 'static) {
        self.machine.set_output(output);
    }

    /// The calls that a wave is in, the outermost first.
    pub fn frames(&self, wave: WaveId) -> &[Frame] {
        self.calls.of(wave)
    }

    /// The number of the selected call of the selected wave: 0 is the function that the wave is in, 1 the one that called it. Any
    /// motion selects 0.
    pub fn level(&self) -> usize {
        let (wave, moment, level) = self.level;
        match wave.is_some() && (wave, moment) == (self.selected, self.now()) {
            true => level,
            false => 0,
        }
    }

    /// Selects a call.
    ///
    /// # Errors
    /// A message if the wave is in fewer calls.
    pub fn select_level(&mut self, level: usize) -> Result<(), Error> {
        let (wave, _) = self.current()?;
        let depth = self.frames(wave).len();
        if level > depth {
            let outermost = match depth {
                0 => "the wave has called nothing: it is in the kernel, frame 0".to_owned(),
                n => format!("frame {n} is the outermost, the kernel"),
            };
            return Err(format!("there is no frame {level}: {outermost}").into());
        }
        self.level = (Some(wave), self.now(), level);
        Ok(())
    }

    /// The guest address of a call of the selected wave by its number: for 0 the wave's next instruction, for others the
    /// instruction that called.
    pub fn frame_pc(&self, level: usize) -> Option<u64> {
        let (wave, state) = self.current().ok()?;
        match level {
            0 => Some(state.pc),
            n => self.frames(wave).iter().rev().nth(n - 1).map(|f| f.caller),
        }
    }

    /// The guest address of the selected call.
    pub fn selected_pc(&self) -> Option<u64> {
        self.frame_pc(self.level())
    }

    /// Attributes the stores of this thread from now on to the session, not to the program.
    fn note_stores(&self) {
        if self.is_attached() {
            gcn_emu::mem::note_stores(true);
        }
    }

    /// Runs the next instruction. `None` if the launch has ended.
    pub(crate) fn tick(&mut self, log: Option<&Log>) -> Option<gcn_emu::engine::Stop> {
        self.note_stores();
        let stepper = self.stepper.as_mut()?;
        let history = self.history.as_mut()?;
        let who = stepper.ready()?;
        let memory = &self.machine.memory;
        let pc = stepper.ready_state()?.pc;
        let stops = &self.stops;
        let number = self.code.number(pc, memory, |pc| stops.breaks_at(pc));
        history.cover(number, who.number, who.wave);
        let probe = log.map(|log| log as &dyn gcn_emu::probe::Probe);
        let stop = stepper.step(probe);
        if let Some(number) = number {
            let info = self.code.info(number);
            if info.counters != Counters::default() {
                self.calls.issued(who.into(), info.counters);
            }
            if let Some(to) = &info.waits {
                self.calls.waited(who.into(), to);
            }
            if info.calls || info.returns {
                let wave = WaveId::from(who);
                let next = stepper.wave(wave.workgroup, wave.wave).map(|w| w.pc);
                let after = pc + info.insn.len as u64;
                match next {
                    Some(next) if info.calls && next != after => self.calls.enter(
                        wave,
                        Frame {
                            caller: pc,
                            returns_to: after,
                            entry: next,
                        },
                    ),
                    Some(next) => self.calls.jumped(wave, next),
                    None => {}
                }
            }
        }
        if stop == Some(gcn_emu::engine::Stop::Endpgm) {
            self.calls.ended(who.into());
        }
        history.advanced(stepper, memory, &mut self.calls);
        stop
    }

    /// Discards the facts about the code, because it was changed.
    pub(crate) fn code_changed(&mut self) {
        (self.flow, self.stops_compiled) = (None, None);
    }

    /// Returns true if compiled code can run: it can stop at breakpoints, and at calls and returns, which the session tracks.
    pub(crate) fn can_sprint(&mut self) -> bool {
        if let Some(known) = self.stops_compiled {
            return known;
        }
        let can = self.prepare_sprint();
        self.stops_compiled = Some(can);
        can
    }

    fn prepare_sprint(&mut self) -> bool {
        if !self.options.compiles {
            return false;
        }
        let (code, memory) = (&self.code, &self.machine.memory);
        let flow = self
            .flow
            .get_or_insert_with(|| code.calls_and_returns(memory));
        let (Some(flow), Some(stepper)) = (flow, &mut self.stepper) else {
            return false;
        };
        let mut addresses = flow.clone();
        addresses.extend(self.stops.addresses());
        addresses.sort_unstable();
        addresses.dedup();
        let engine = match stepper.has_fast_engine() {
            true => None,
            false => (self.spare.take()).or_else(|| self.options.plan.engines.debugging()),
        };
        let stops = stepper.stop_at(engine, &addresses);
        if stops {
            memory.keep_journal_of_compiled();
        }
        stops
    }

    /// Runs compiled code up to a tick, to an address where it stops (the present one may be one), to the end of the launch, or
    /// until the user interrupts. The caller has called [`Session::can_sprint`].
    pub(crate) fn sprint(&mut self, until: u64) {
        self.note_stores();
        let (Some(stepper), Some(history)) = (&mut self.stepper, &mut self.history) else {
            return;
        };
        // The engine would pass over the first instruction.
        if stepper.is_at_stop() {
            return;
        }
        let memory = &self.machine.memory;
        self.calls.discard_outstanding();
        while stepper.ticks() < until && stepper.result().is_none() {
            history.is_unseen();
            let to = until.min(history.horizon());
            let ran = stepper.run_fast(to.saturating_sub(stepper.ticks()));
            history.advanced(stepper, memory, &mut self.calls);
            if ran == 0 || stepper.is_at_stop() || self.options.interrupt.load(SeqCst) {
                break;
            }
        }
    }

    /// Runs compiled code up to a tick, past all stops.
    pub(crate) fn sprint_through(&mut self, until: u64) {
        loop {
            self.sprint(until);
            let ended = self.stepper().result().is_some();
            if ended || self.stepper().ticks() >= until || self.tick(None).is_none() {
                return;
            }
        }
    }

    /// Runs the last instructions again one by one, after compiled code. The session then has its record of them, and steps
    /// backwards are short.
    pub(crate) fn settle(&mut self) {
        if self.history().has_unseen() && self.status() != Status::Ended {
            let tick = self.stepper().ticks();
            let n = self.history().before(tick);
            self.goto_checkpoint(n);
            self.goto_tick(tick);
        }
    }

    /// Goes to a tick of the current launch that has been reached before, or to the end if there are fewer.
    pub(crate) fn goto_tick(&mut self, tick: u64) {
        let now = self.stepper().ticks();
        let history = self.history();
        let n = history.before(tick);
        if now > tick || n != history.at() {
            self.goto_checkpoint(n);
        }
        let far = tick.saturating_sub(self.stepper().ticks()) > 2 * self.options.spacing;
        if far && self.can_sprint() {
            self.sprint_through(tick - self.options.spacing);
            self.mark();
        }
        while self.stepper().ticks() < tick && self.tick(None).is_some() {}
    }

    pub(crate) fn goto_checkpoint(&mut self, n: usize) {
        let (Some(history), Some(stepper)) = (&mut self.history, &mut self.stepper) else {
            return;
        };
        self.calls = history.go(n, stepper, &self.machine.memory);
    }

    /// Makes the present a checkpoint.
    pub(crate) fn mark(&mut self) {
        if let (Some(history), Some(stepper)) = (&mut self.history, &self.stepper) {
            history.mark(stepper, &self.machine.memory, &self.calls);
        }
    }

    /// Gives the next turn to a wave, before the others, for about a million instructions. This changes the machine, because the
    /// order of waves differs from here on. Returns false if the wave is next already, and nothing was changed.
    ///
    /// # Errors
    /// A message: the wave waits or has ended.
    pub fn turn(&mut self, wave: WaveId) -> Result<bool, Error> {
        if self.running() == Some(wave) {
            return Ok(false);
        }
        self.change(|stepper, _| {
            let turned = stepper.give_turn(wave.workgroup, wave.wave);
            turned.map_err(|why| format!("{wave} cannot run now: {why}").into())
        })?;
        Ok(true)
    }

    /// Changes the machine, and discards the known future.
    pub(crate) fn change<T>(
        &mut self,
        change: impl FnOnce(&mut Stepper, &Memory) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.may_change_time()?;
        self.note_stores();
        let (Some(history), Some(stepper)) = (&mut self.history, &mut self.stepper) else {
            return Err("no launch is running".into());
        };
        let memory = &self.machine.memory;
        let result = change(stepper, memory)?;
        history.discard_future();
        history.changed(stepper, memory, &self.calls);
        stepper.diverge();
        if let Work::Plan(planned) = &mut self.work {
            planned.printed[self.launch..].fill(0);
        }
        Ok(result)
    }

    /// Compares and saves buffers as the plan says, after the last launch has ended.
    ///
    /// # Errors
    /// A message, also if the last launch has not ended.
    pub fn finish(&self) -> Result<Vec<CheckReport>, Error> {
        let planned = match &self.work {
            Work::Plan(planned) => planned,
            // The program does that itself.
            Work::Program(_) => return Ok(Vec::new()),
        };
        if self.launch + 1 < planned.order.len() || self.status() != Status::Ended {
            return Err("the last launch has not ended".into());
        }
        Ok(planned.ready.finish(&planned.plan)?)
    }
}
