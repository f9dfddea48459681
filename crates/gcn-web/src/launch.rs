//! Launches of kernels in the page's form, which is the syntax of `gcn run`, within limits.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gcn::check::dynamic::{self, Checker};
use gcn::data::Contents;
use gcn::emu::dispatch::observers::{Control, Observers};
use gcn::engine::{Engines, Kind};
use gcn::plan::{self, ArgPlan, Plan};
use gcn::run::{self, ArgSpec};
use serde_json::{Value, json};

use crate::code::Built;
use crate::opened::Opened;

/// The maximum bytes of all buffers.
pub const MOST_BYTES: u64 = 64 << 20;
/// The maximum number of work-items.
const MOST_ITEMS: u64 = 1 << 20;
/// The maximum number of arguments.
const MOST_ARGUMENTS: usize = 256;
/// The maximum bytes of dynamic LDS.
const MOST_LDS: u32 = 64 << 10;
/// The maximum number of instructions of all waves.
pub const MOST_INSTRUCTIONS: u64 = 2_000_000;
/// The maximum time of a motion or a checked run.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// The maximum number of reports in an answer.
const MOST_REPORTS: usize = 200;

/// A launch as text.
pub struct Launch<'a> {
    /// The kernel's name; may be empty if there is one kernel.
    pub kernel: &'a str,
    /// Work-items: X, or X,Y, or X,Y,Z.
    pub grid: &'a str,
    /// Work-items of a workgroup.
    pub group: &'a str,
    /// The arguments, one per line, in the syntax of `gcn run --arg`.
    pub args: &'a str,
    /// The plan that the page was opened with, whose buffers arguments may name.
    pub opened: Option<&'a Opened>,
}

/// Arguments, and those among them that come from a plan, with their numbers.
type Arguments = (Vec<ArgSpec>, Vec<(usize, ArgPlan)>);

/// Reads one to three numbers.
fn three(name: &str, text: &str) -> Result<[u32; 3], String> {
    let wrong = || {
        format!(
            "{name}: expected one to three numbers of work-items, as 64 or 64,4, found `{text}`"
        )
    };
    let mut out = [1; 3];
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() > 3 {
        return Err(wrong());
    }
    for (slot, part) in out.iter_mut().zip(parts) {
        *slot = part.parse().ok().filter(|n| *n > 0).ok_or_else(wrong)?;
    }
    Ok(out)
}

fn arguments(text: &str, opened: Option<&Opened>) -> Result<Arguments, String> {
    let mut all = Vec::new();
    let mut planned = Vec::new();
    let mut bytes = 0u64;
    for (n, line) in text.lines().enumerate() {
        let line = line.split("//").next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let named = |e: String| format!("arguments, line {}: {e}", n + 1);
        if let Some(name) = line.strip_prefix("plan:") {
            let opened = opened.ok_or_else(|| {
                named(format!(
                    "`{line}` is of a plan, and the page was opened without one: gcn web PLAN.toml"
                ))
            })?;
            planned.push((all.len(), opened.argument(name.trim()).map_err(named)?));
            // It is replaced when the plan's buffers are known.
            all.push(ArgSpec::Pointer(0));
            continue;
        }
        let arg = run::parse_arg(line).map_err(named)?;
        match &arg {
            // A link from another person may contain any arguments.
            ArgSpec::Buffer(Contents::File(_), _) => {
                let what = "the page reads no files: expected contents as buf:zero:4096 or buf:randf32:4096:1";
                return Err(named(what.into()));
            }
            ArgSpec::Buffer(contents, _) => {
                let size = contents.size().map_err(|e| named(e.to_string()))?;
                bytes = bytes.saturating_add(size as u64);
            }
            ArgSpec::Local(bytes) if *bytes > MOST_LDS => {
                return Err(named(format!(
                    "{bytes} bytes of LDS are more than {MOST_LDS}"
                )));
            }
            _ => {}
        }
        all.push(arg);
        if bytes > MOST_BYTES {
            return Err(named(format!(
                "the buffers have more than {MOST_BYTES} bytes"
            )));
        }
        if all.len() > MOST_ARGUMENTS {
            return Err(named(format!(
                "there are more than {MOST_ARGUMENTS} arguments"
            )));
        }
    }
    Ok((all, planned))
}

/// The plan of a launch, and the options that bound it.
///
/// # Errors
/// A sentence for the user.
pub fn plan(built: &Built, launch: &Launch<'_>) -> Result<(Plan, plan::Options), String> {
    let grid = three("work-items", launch.grid)?;
    let group = three("work-items of a workgroup", launch.group)?;
    let items = grid
        .iter()
        .fold(1u64, |n, d| n.saturating_mul(u64::from(*d)));
    if items > MOST_ITEMS {
        return Err(format!(
            "{items} work-items are too many for the page: at most {MOST_ITEMS}; `gcn run` has no such limit"
        ));
    }
    let (args, planned) = arguments(launch.args, launch.opened)?;
    let request = run::Request {
        kernel: Some(launch.kernel).filter(|name| !name.is_empty()),
        grid,
        group,
        offset: [0; 3],
        dynamic_lds: 0,
        any_type: false,
        args,
        outs: Vec::new(),
        repeat: 0,
    };
    let options = plan::Options {
        threads: 1,
        deterministic: true,
        max_instructions: Some(MOST_INSTRUCTIONS),
        debug_traps: false,
        text_to_stderr: true,
        observers: Observers::default(),
        engines: Engines::new(Kind::Interp),
        checker: None,
    };
    let mut plan = run::plan(built.object.clone(), request)?;
    if let Some(opened) = launch.opened.filter(|_| !planned.is_empty()) {
        opened.add(&mut plan, planned);
    }
    Ok((plan, options))
}

/// Calls a function after [`PATIENCE`], unless it is dropped before.
pub struct Alarm(Arc<AtomicBool>);

impl Alarm {
    /// Calls `ring` after the time.
    pub fn new(ring: impl FnOnce() + Send + 'static) -> Alarm {
        let over = Arc::new(AtomicBool::new(false));
        let watched = over.clone();
        std::thread::spawn(move || {
            let pause = Duration::from_millis(50);
            for _ in 0..PATIENCE.as_millis() / pause.as_millis() {
                std::thread::sleep(pause);
                if watched.load(SeqCst) {
                    return;
                }
            }
            ring();
        });
        Alarm(over)
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Runs a launch with all checks and returns the reports.
///
/// # Errors
/// A sentence for the user: the launch cannot begin.
pub fn check(built: &Built, launch: &Launch<'_>) -> Result<Value, String> {
    // Each run may use all of the permitted memory and time.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (plan, mut options) = plan(built, launch)?;
    let checker = Arc::new(Checker::new(dynamic::Options::default()));
    let control = Arc::new(Control::default());
    options.checker = Some(checker.clone());
    options.observers.observe = Some(checker.clone());
    options.observers.control = Some(control.clone());
    let alarm = Alarm::new(move || control.stop());
    let ran = plan::run(&plan, &options);
    drop(alarm);
    let found = checker.found(|_, _| None);
    let reports = found.reports.iter().take(MOST_REPORTS);
    let reports: Vec<Value> = reports.map(|r| built.report(r)).collect();
    let (failed, instructions) = match ran {
        Ok(report) => (None, report.instructions),
        Err(failure) if failure.run.is_none() => return Err(failure.message),
        Err(failure) => (Some(failure.message), 0),
    };
    Ok(json!({"reports": reports, "failed": failed, "instructions": instructions}))
}
