//! Feedback about long runs on the terminal: a progress bar, reports of the locations of waves if no workgroup ends, and Ctrl-C.

use gcn::emu::dispatch::observers::{Control, Progress, Whereabouts};
use gcn::object::CodeObject;
use gcn::plan::{self, Plan, Report};
use gcn::{io, locations};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The exit status of an interrupted run, like a shell's: 128 plus SIGINT's number.
const INTERRUPTED: u8 = 130;

/// The time without the end of a workgroup after which the locations of waves are printed. They are printed again after ten times
/// as long.
const SILENCE: Duration = Duration::from_secs(10);

/// The maximum number of waves in a report.
const LISTED: usize = 4;

/// The effect of Ctrl-C while plans run: the first ends the dispatch with a report, the second ends the process.
pub struct Interrupts {
    /// Ctrl-C was pressed.
    pub pressed: Arc<AtomicBool>,
    /// The next Ctrl-C ends the process.
    at_once: Arc<AtomicBool>,
}

impl Interrupts {
    /// If the host has no signals, or does not allow handlers, Ctrl-C ends the process as usual.
    pub fn new() -> Interrupts {
        let interrupts = Interrupts {
            pressed: Arc::default(),
            at_once: Arc::new(AtomicBool::new(false)),
        };
        let Interrupts { pressed, at_once } = &interrupts;
        let signal = signal_hook::consts::SIGINT;
        // The order matters: the first handler reads the flag that the third has set at the previous signal.
        let status = INTERRUPTED.into();
        let _ = signal_hook::flag::register_conditional_shutdown(signal, status, at_once.clone())
            .and_then(|_| signal_hook::flag::register(signal, pressed.clone()))
            .and_then(|_| signal_hook::flag::register(signal, at_once.clone()));
        interrupts
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.at_once.store(true, SeqCst);
    }
}

/// Runs the plan, with a progress bar on the terminal after a second. Returns true in the second value if it was interrupted.
pub fn run(plan: &Plan, options: &mut plan::Options) -> (Result<Report, plan::Failure>, bool) {
    run_by(plan, options, plan::run)
}

/// As [`run`], by a function that runs the plan or a part of it.
pub fn run_by<T>(
    plan: &Plan,
    options: &mut plan::Options,
    by: impl FnOnce(&Plan, &plan::Options) -> Result<T, plan::Failure>,
) -> (Result<T, plan::Failure>, bool) {
    let interrupts = Interrupts::new();
    let progress = Arc::new(Progress::default());
    let control = Arc::new(Control::new(interrupts.pressed.clone()));
    options.observers.progress = Some(progress.clone());
    options.observers.control = Some(control.clone());
    let result = std::thread::scope(|scope| {
        let (done, finished) = std::sync::mpsc::channel::<()>();
        let attend = move || attend(plan, &progress, &control, &finished);
        // The run also succeeds without this thread.
        let _ = std::thread::Builder::new().spawn_scoped(scope, attend);
        let result = by(plan, options);
        drop(done);
        result
    });
    (result, interrupts.pressed.load(SeqCst))
}

/// Prints the report of an interrupted run, and ends the process with the status that shells expect.
pub fn end_interrupted(message: &str) -> ! {
    io::complain(&format!("gcn: {}\n", message.trim_end()));
    std::process::exit(INTERRUPTED.into())
}

/// Checks the run periodically until the sender of `finished` is dropped.
fn attend(plan: &Plan, progress: &Progress, control: &Control, finished: &Receiver<()>) {
    let over = |wait| finished.recv_timeout(wait) != Err(RecvTimeoutError::Timeout);
    if over(Duration::from_secs(1)) {
        return;
    }
    let bar = match std::io::stderr().is_terminal() {
        true => ProgressBar::new(plan.workgroups()),
        false => ProgressBar::hidden(),
    };
    let style = "{wide_bar} {pos}/{len} workgroups, {msg} {elapsed_precise}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    let start = Instant::now();
    let instructions = |n: &AtomicU64| n.load(Relaxed);
    let before = instructions(&progress.instructions);
    let (mut ended, mut since, mut silence) = (progress.ended.load(Relaxed), start, SILENCE);
    loop {
        bar.set_position(progress.ended.load(Relaxed));
        let ran = instructions(&progress.instructions) - before;
        let seconds = start.elapsed().as_secs_f64().max(0.1);
        bar.set_message(format!("{:.1} M instr/s", ran as f64 / seconds / 1e6));
        if over(Duration::from_millis(100)) {
            return bar.finish_and_clear();
        }
        let now = progress.ended.load(Relaxed);
        if now != ended {
            (ended, since, silence) = (now, Instant::now(), SILENCE);
        } else if since.elapsed() >= silence {
            control.ask();
            if over(Duration::from_secs(1)) {
                return bar.finish_and_clear();
            }
            if let Some(found) = control.answer() {
                let text = told(&plan.objects, &found, silence);
                bar.suspend(|| io::complain(&text));
            }
            silence *= 10;
        }
    }
}

/// The report of the locations of waves.
fn told(objects: &[CodeObject], found: &Whereabouts, silence: Duration) -> String {
    let kernel = found.waves.first().map_or("", |w| &w.location.kernel);
    let mut text = format!(
        "gcn: note: no workgroup of kernel {kernel} has ended for {} s\n",
        silence.as_secs()
    );
    for wave in found.waves.iter().take(LISTED) {
        text += &format!("  {}\n", locations::wave(objects, wave));
    }
    let others = found.others + found.waves.len().saturating_sub(LISTED);
    if others > 0 {
        text += &format!("  and {others} more waves\n");
    }
    text + "  Ctrl-C ends it with a report, --max-instructions N after N instructions\n"
}
