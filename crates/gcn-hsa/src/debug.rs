//! `gcn hip --debug` and `--gdb`: a debugger ([`gcn_debug`]) in the kernels that the program launches, while the program waits.
//!
//! The session runs on its own thread. A queue's thread hands each launch over and waits until it has ended; several queues do so
//! one after the other. Kernels with which HIP fills and copies memory run without the debugger.
//!
//! The program keeps its standard input and output: the debugger uses the terminal of the process, `/dev/tty`, and the text of
//! scripts goes to standard error. When the debugger detaches, the program continues without it.
//!
//! With `--check` a launch first runs with the checks, on its queue's thread, and its stores are rolled back; then the session
//! gets it with the reports, and stops at their moments.

use crate::check::MOVES;
use crate::executable::Placed;
use crate::report;
use crate::runtime::{self, Runtime, variable};
use crate::signal::lock;
use gcn::engine::{Engines, Kind};
use gcn_debug::commands::Commands;
use gcn_debug::gdb::{self, Left};
use gcn_debug::{Arrival, Options, Program, ProgramLaunch, Session};
use gcn_emu::dispatch::observers::Control;
use gcn_emu::dispatch::step::Stepper;
use gcn_emu::dispatch::{RunError, Stats};
use gcn_emu::mem::note_stores;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The source of commands.
enum Face {
    Gdb(TcpListener),
    /// Commands, each with its location for messages.
    Commands(Vec<(String, String)>),
    /// The terminal: full screen or one line at a time.
    Terminal {
        terminal: File,
        full: bool,
    },
}

/// The debugger of a process.
pub struct Debugger {
    face: Face,
    history_bytes: usize,
    state: Mutex<State>,
    changed: Condvar,
    /// Held by the queue whose launch is debugged.
    turn: Mutex<()>,
    interrupt: Arc<AtomicBool>,
    /// Ends the run of a launch with the checks.
    ends_checks: Arc<AtomicBool>,
    /// True if a command failed.
    failed: AtomicBool,
}

#[derive(Default)]
struct State {
    /// True if the session's thread has begun.
    begun: bool,
    /// True while a launch runs with the checks.
    checks: bool,
    /// A launch that waits for the session.
    offered: Option<Box<ProgramLaunch>>,
    /// The result of the launch that the session has.
    result: Option<Result<Stats, RunError>>,
    /// True if the debugger takes no more launches.
    left: bool,
    /// True if the session's thread has ended.
    done: bool,
    /// True if the program ends.
    ends: bool,
}

/// The program, as the session accesses it.
struct Port(&'static Debugger);

impl Program for Port {
    fn next(&mut self, interrupt: &AtomicBool) -> Arrival {
        let mut state = lock(&self.0.state);
        let mut interrupted = false;
        loop {
            if let Some(launch) = state.offered.take() {
                // The session stops at the launch whose checks were interrupted.
                interrupt.store(interrupted, SeqCst);
                return Arrival::Launch(launch);
            }
            if state.ends {
                return Arrival::Ended;
            }
            if interrupt.swap(false, SeqCst) {
                if !state.checks {
                    return Arrival::Interrupted;
                }
                interrupted = true;
                self.0.ends_checks.store(true, SeqCst);
            }
            // A signal handler cannot notify the condition variable.
            let waited = self
                .0
                .changed
                .wait_timeout(state, Duration::from_millis(50));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn release(&mut self, result: Result<Stats, RunError>) {
        lock(&self.0.state).result = Some(result);
        self.0.changed.notify_all();
    }

    fn objects(&self) -> Vec<(u64, Arc<[u8]>)> {
        runtime::get().map_or(Vec::new(), |r| r.executables.files())
    }
}

/// Tells `gcn hip --debug`, which waits for the program, that the library is loaded: writes a byte to the command's pipe, unless
/// the program has closed it.
pub fn is_loaded() {
    use std::os::unix::fs::MetadataExt;
    let Some(text) = variable("GCN_HIP_LOADED") else {
        return;
    };
    let Some((number, inode)) = text.split_once(':') else {
        return;
    };
    let path = format!("/proc/self/fd/{number}");
    let same = std::fs::metadata(&path).is_ok_and(|m| m.ino().to_string() == inode);
    if same && let Ok(mut pipe) = OpenOptions::new().write(true).open(&path) {
        // Without the byte the command reports that the program did not load the library, which is harmless.
        let _ = pipe.write_all(b"1");
    }
}

/// Opens the terminal of the process.
fn terminal() -> Result<File, String> {
    let file = OpenOptions::new().read(true).write(true).open("/dev/tty");
    file.map_err(|e| {
        format!("there is no terminal to debug at (/dev/tty: {e}); -e and --script give commands, --gdb waits for GDB")
    })
}

impl Debugger {
    /// Reads the option from the environment.
    pub fn new() -> Result<Option<Debugger>, String> {
        let face = match (variable("GCN_HIP_GDB"), variable("GCN_HIP_DEBUG")) {
            (Some(address), _) => Face::Gdb(gdb::listen(&address).map_err(|e| e.to_string())?),
            (None, Some(kind)) => match kind.as_str() {
                "commands" => {
                    let lines = variable("GCN_HIP_DEBUG_COMMANDS").unwrap_or_default();
                    let split = |line: &str| {
                        let (location, command) = line.split_once('\t').unwrap_or(("", line));
                        (location.to_owned(), command.to_owned())
                    };
                    Face::Commands(lines.lines().map(split).collect())
                }
                "full" | "plain" => Face::Terminal {
                    terminal: terminal()?,
                    full: kind == "full",
                },
                other => {
                    return Err(format!(
                        "GCN_HIP_DEBUG={other}: expected full, plain or commands"
                    ));
                }
            },
            (None, None) => return Ok(None),
        };
        let mib = match variable("GCN_HIP_DEBUG_HISTORY") {
            Some(text) => {
                let number = text.parse::<usize>();
                number.map_err(|_| {
                    format!("GCN_HIP_DEBUG_HISTORY={text}: expected a number of MiB")
                })?
            }
            None => 256,
        };
        // SAFETY: the function has no arguments and returns; the library stays loaded because HIP's library uses it.
        if unsafe { crate::launches::atexit(at_exit) } != 0 {
            return Err("the process takes no more functions to call at its end".into());
        }
        Ok(Some(Debugger {
            face,
            history_bytes: mib << 20,
            state: Mutex::default(),
            changed: Condvar::new(),
            turn: Mutex::default(),
            interrupt: Arc::default(),
            ends_checks: Arc::default(),
            failed: AtomicBool::new(false),
        }))
    }

    /// Returns true if a command failed.
    pub fn failed(&self) -> bool {
        self.failed.load(SeqCst)
    }

    /// Returns true if a launch is debugged.
    pub fn takes(&self, r: &Runtime, number: u64, placed: &Placed) -> bool {
        let moves = placed.kernel.name.starts_with(MOVES);
        !moves && r.launches.is_chosen(number) && !lock(&self.state).left
    }

    /// Debugs a launch until it has ended. `reports` runs it with the checks and rolls that run back. Returns `None` if the
    /// debugger detached before the launch began.
    pub fn run(
        &'static self,
        number: u64,
        (grid, group): ([u32; 3], [u32; 3]),
        reports: impl FnOnce(Arc<Control>) -> Vec<gcn_debug::Report>,
        stepper: impl FnOnce() -> Result<Stepper, RunError>,
    ) -> Option<Result<Stats, RunError>> {
        let _turn = lock(&self.turn);
        {
            let mut state = lock(&self.state);
            if state.left {
                return None;
            }
            state.checks = true;
        }
        self.ends_checks.store(false, SeqCst);
        let reports = reports(Arc::new(Control::new(self.ends_checks.clone())));
        lock(&self.state).checks = false;
        let stepper = match stepper() {
            Ok(stepper) => stepper,
            Err(error) => return Some(Err(error)),
        };
        let offered = ProgramLaunch {
            number: number as usize,
            stepper,
            grid,
            group,
            reports,
        };
        let mut state = lock(&self.state);
        if !std::mem::replace(&mut state.begun, true) {
            std::thread::spawn(|| self.work());
        }
        state.offered = Some(Box::new(offered));
        self.changed.notify_all();
        loop {
            if let Some(result) = state.result.take() {
                return Some(result);
            }
            if state.left && state.offered.take().is_some() {
                return None;
            }
            state = (self.changed.wait(state)).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The function of the session's thread.
    fn work(&'static self) {
        let (Ok(r), Arrival::Launch(first)) = (runtime::get(), Port(self).next(&self.interrupt))
        else {
            return self.done();
        };
        let kind = match variable("GCN_ENGINE").as_deref() {
            Some("interp") => Kind::Interp,
            _ => Kind::default(),
        };
        let engines = Engines::new(kind);
        let options = Options {
            history_bytes: self.history_bytes,
            interrupt: self.interrupt.clone(),
            compiles: engines.compile(),
            plan: gcn::plan::Options {
                engines,
                ..Default::default()
            },
            ..Options::default()
        };
        let session = Session::attach(Box::new(Port(self)), r.gpu.clone(), *first, options);
        let mut commands = Commands::new(session);
        let handler = match &self.face {
            Face::Terminal { .. } => Some(Handler::set(&self.interrupt)),
            _ => None,
        };
        let kills = self.attend(&mut commands).unwrap_or_else(|message| {
            report::line(&message);
            self.failed.store(true, SeqCst);
            false
        });
        drop(handler);
        if kills {
            report::line("the program was ended by the debugger");
            // SAFETY: the function takes a number and does not return. The program is to end at once.
            unsafe { libc::_exit(1) }
        }
        lock(&self.state).left = true;
        self.changed.notify_all();
        report::plain(&commands.session().unseen_reports().concat());
        commands.session_mut().leave();
        self.done();
    }

    fn done(&self) {
        let mut state = lock(&self.state);
        (state.left, state.done) = (true, true);
        self.changed.notify_all();
    }

    /// Executes commands until the user quits. Returns true if the program is to end.
    fn attend(&self, commands: &mut Commands) -> Result<bool, String> {
        match &self.face {
            Face::Gdb(listener) => {
                let left = gdb::serve_at(commands, listener, &self.interrupt, &report::line);
                match left.map_err(|e| e.to_string())? {
                    Left::Detached => report::line("GDB has detached; the program goes on"),
                    Left::Killed => return Ok(true),
                    Left::Ended => {}
                }
                Ok(false)
            }
            Face::Commands(lines) => {
                for (location, line) in lines {
                    let output = commands.execute(line);
                    let output =
                        output.map_err(|e| format!("{location}: `{}`: {e}", line.trim()))?;
                    report::plain(&output.text);
                    if output.quit {
                        return Ok(output.kill);
                    }
                }
                Ok(false)
            }
            Face::Terminal { terminal, full } => {
                let told = |e: std::io::Error| format!("the terminal: {e}");
                let mut out = terminal.try_clone().map_err(told)?;
                let kills = match full {
                    true => {
                        let screen = Box::new(terminal.try_clone().map_err(told)?);
                        gcn_debug::terminal::run(commands, &self.interrupt, screen)?
                    }
                    false => lines(commands, terminal, &mut out, &self.interrupt).map_err(told)?,
                };
                if *full && commands.session().program_ended() {
                    out.write_all(b"the program has ended\n").map_err(told)?;
                }
                Ok(kills)
            }
        }
    }

    /// Tells the debugger that the program ends, and waits for its remaining commands.
    fn program_ends(&self) {
        let mut state = lock(&self.state);
        state.ends = true;
        self.changed.notify_all();
        if !state.begun {
            drop(state);
            let what = match &self.face {
                Face::Commands(lines) => {
                    self.failed.store(true, SeqCst);
                    format!("; no command was executed, of {}", lines.len())
                }
                _ => String::new(),
            };
            return report::line(&format!(
                "debug: the program has launched no kernel to debug{what}"
            ));
        }
        while !state.done {
            state = (self.changed.wait(state)).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Reads one line of commands at a time. Returns true if the program is to end.
fn lines(
    commands: &mut Commands,
    terminal: &File,
    out: &mut File,
    interrupt: &AtomicBool,
) -> std::io::Result<bool> {
    let mut input = BufReader::new(terminal.try_clone()?);
    let about = |commands: &mut Commands, line: &str| {
        let output = commands.execute(line);
        output.map_or_else(|e| format!("{e}\n"), |output| output.text)
    };
    let first = about(commands, "info launch") + &about(commands, "where");
    out.write_all(first.as_bytes())?;
    while !commands.session().program_ended() {
        out.write_all(b"(gcn) ")?;
        interrupt.store(false, SeqCst);
        let mut line = Vec::new();
        match input.read_until(b'\n', &mut line) {
            Ok(0) => return Ok(false),
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        }
        match commands.execute(String::from_utf8_lossy(&line).trim_end()) {
            Ok(output) => {
                out.write_all(output.text.as_bytes())?;
                if output.quit {
                    return Ok(output.kill);
                }
            }
            Err(e) => out.write_all(format!("{e}\n").as_bytes())?,
        }
    }
    Ok(false)
}

impl Runtime {
    /// Runs kernels on this thread, and rolls their stores back: the pages get their earlier contents.
    pub fn taken_back<T>(&self, run: impl FnOnce() -> T) -> T {
        let memory = self.memory();
        memory.keep_journal_of_threads();
        memory.take_journal();
        note_stores(true);
        let result = run();
        note_stores(false);
        for (page, bytes) in memory.take_journal() {
            // A page that was unmapped meanwhile need not be restored.
            let _ = memory.put_page(page, &bytes);
        }
        result
    }

    /// The debugger, if there is one.
    pub fn debugger() -> Option<&'static Debugger> {
        runtime::get().ok().and_then(|r| r.debugger.as_ref())
    }
}

extern "C" fn at_exit() {
    if let Some(debugger) = Runtime::debugger() {
        debugger.program_ends();
    }
}

static INTERRUPT: OnceLock<Arc<AtomicBool>> = OnceLock::new();

extern "C" fn interrupted(_: i32) {
    if let Some(flag) = INTERRUPT.get() {
        flag.store(true, SeqCst);
    }
}

/// While the debugger has the terminal, Ctrl-C interrupts it, and does not end the program.
struct Handler(Option<libc::sigaction>);

impl Handler {
    fn set(interrupt: &Arc<AtomicBool>) -> Handler {
        // A process has only one debugger.
        let _ = INTERRUPT.set(interrupt.clone());
        // SAFETY: zeros are a valid value: no flag, an empty mask.
        let mut new: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        let handler: extern "C" fn(i32) = interrupted;
        new.sa_sigaction = handler as usize;
        let mut old = MaybeUninit::uninit();
        // SAFETY: both point to a `sigaction`. The handler stores a flag, which is safe at any time; libraries stay mapped.
        let set = unsafe { libc::sigaction(libc::SIGINT, &new, old.as_mut_ptr()) };
        // SAFETY: if it returned 0, it has written the old one.
        Handler((set == 0).then(|| unsafe { old.assume_init() }))
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        if let Some(old) = &self.0 {
            // SAFETY: it points to the value that `sigaction` wrote before.
            unsafe { libc::sigaction(libc::SIGINT, old, std::ptr::null_mut()) };
        }
    }
}
