//! Reports about launches: a line for each, traces of instructions, totals at the end, and plans that `gcn run` replays.
//!
//! `gcn hip` passes its options in environment variables: GCN_HIP_TRACE, GCN_HIP_PROFILE, GCN_HIP_JSON, GCN_HIP_RECORD and
//! GCN_HIP_LAUNCHES; for instructions, GCN_HIP_INSTRUCTIONS, GCN_HIP_TRACE_WAVE, GCN_HIP_TRACE_PC, GCN_HIP_TRACE_LIMIT and
//! GCN_HIP_TRACE_FULL.

use crate::check::Checks;
use crate::executable::Placed;
use crate::record::Recording;
use crate::report;
use crate::runtime::{self, Runtime, variable};
use crate::signal::lock;
use gcn::lines::Sources;
use gcn::trace::{Filter, Trace, parse_range, parse_wave};
use gcn_emu::dispatch::observers::Observers;
use gcn_emu::dispatch::{Launch, Packet, RunError, Stats};
use gcn_object::read::CodeObject;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// The options, and the counts so far.
pub struct Launches {
    trace: bool,
    profile: bool,
    check: bool,
    debug: bool,
    json: Option<PathBuf>,
    record: Option<PathBuf>,
    instructions: Option<Instructions>,
    /// The numbers of the launches to record and trace.
    chosen: Option<RangeInclusive<u64>>,
    kernels: Mutex<BTreeMap<String, Tally>>,
    failures: Mutex<Vec<String>>,
}

/// The totals of the launches of a kernel.
#[derive(Default)]
struct Tally {
    launches: u64,
    nanoseconds: u64,
    instructions: u64,
    waves: u64,
}

/// The default number of launches that are recorded.
const FIRST: RangeInclusive<u64> = 1..=100;

/// The selection of traced instructions, and the output.
struct Instructions {
    filter: Filter,
    out: Shared,
}

/// The shared output of several traces, whose lines may be mixed.
#[derive(Clone)]
struct Shared(Arc<Mutex<Box<dyn Write + Send>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.0).write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        lock(&self.0).write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        lock(&self.0).flush()
    }
}

impl Instructions {
    fn new() -> Result<Option<Instructions>, String> {
        let Some(to) = variable("GCN_HIP_INSTRUCTIONS") else {
            return Ok(None);
        };
        let out: Box<dyn Write + Send> = match to.as_str() {
            "-" => Box::new(io::stderr()),
            file => Box::new(File::create(file).map_err(|e| format!("{file}: {e}"))?),
        };
        let of = |name: &str, e: String| format!("{name}: {e}");
        let wave = variable("GCN_HIP_TRACE_WAVE").map(|text| parse_wave(&text));
        let pc = variable("GCN_HIP_TRACE_PC").map(|text| parse_range(&text));
        let limit = variable("GCN_HIP_TRACE_LIMIT").map(|text| {
            let number = text.parse::<u64>();
            number.map_err(|_| format!("`{text}`: expected a number of instructions"))
        });
        let filter = Filter {
            wave: wave.transpose().map_err(|e| of("GCN_HIP_TRACE_WAVE", e))?,
            pc: pc.transpose().map_err(|e| of("GCN_HIP_TRACE_PC", e))?,
            limit: limit
                .transpose()
                .map_err(|e| of("GCN_HIP_TRACE_LIMIT", e))?,
            full: variable("GCN_HIP_TRACE_FULL").is_some(),
        };
        Ok(Some(Instructions {
            filter,
            out: Shared(Arc::new(Mutex::new(out))),
        }))
    }
}

/// Parses `7` or `10-20`.
fn range(text: &str) -> Option<RangeInclusive<u64>> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    Some(from.trim().parse().ok()?..=to.trim().parse().ok()?)
}

impl Launches {
    /// Reads the options from the environment.
    pub fn new() -> Result<Launches, String> {
        let chosen = match variable("GCN_HIP_LAUNCHES") {
            Some(text) => {
                let range = range(&text).filter(|r| !r.is_empty());
                let wrong = || format!("GCN_HIP_LAUNCHES={text}: expected a number or 10-20");
                Some(range.ok_or_else(wrong)?)
            }
            None => None,
        };
        let wanted = Launches {
            trace: variable("GCN_HIP_TRACE").is_some(),
            profile: variable("GCN_HIP_PROFILE").is_some(),
            check: variable("GCN_HIP_CHECK").is_some(),
            debug: variable("GCN_HIP_DEBUG").is_some() || variable("GCN_HIP_GDB").is_some(),
            json: variable("GCN_HIP_JSON").map(PathBuf::from),
            record: variable("GCN_HIP_RECORD").map(PathBuf::from),
            instructions: Instructions::new()?,
            chosen,
            kernels: Mutex::default(),
            failures: Mutex::default(),
        };
        if wanted.counts() {
            // SAFETY: the function has no arguments and returns; the library stays loaded because HIP's library uses it.
            let done = unsafe { atexit(at_exit) };
            if done != 0 {
                return Err("the process takes no more functions to call at its end".into());
            }
        }
        Ok(wanted)
    }

    fn counts(&self) -> bool {
        self.profile || self.json.is_some() || self.check
    }

    /// Returns true if reports go to a file.
    pub fn json(&self) -> bool {
        self.json.is_some()
    }

    /// Returns true if launches are recorded.
    pub fn records(&self) -> bool {
        self.record.is_some()
    }

    /// Returns true if the files of code objects must be kept.
    pub fn looks_at_files(&self) -> bool {
        self.record.is_some() || self.instructions.is_some() || self.check || self.debug
    }

    /// Returns true if a launch is among those to record, trace or debug.
    pub fn is_chosen(&self, number: u64) -> bool {
        self.chosen.as_ref().is_none_or(|c| c.contains(&number))
    }

    /// Returns the observer of a launch.
    pub fn observers(&self, r: &Runtime, number: u64, placed: &Placed) -> Observers {
        let mut observers = self.traced(number, placed);
        let checked = r.checks.as_ref().map(|c| c.observer(number, placed));
        observers.observe =
            gcn::observers::all(observers.observe.into_iter().chain(checked).collect());
        observers
    }

    fn traced(&self, number: u64, placed: &Placed) -> Observers {
        let chosen = |_: &&Instructions| self.is_chosen(number);
        let Some(wanted) = self.instructions.as_ref().filter(chosen) else {
            return Observers::default();
        };
        let text = format!("launch {number}: {}\n", placed.kernel.name);
        if let Err(e) = wanted.out.clone().write_all(text.as_bytes()) {
            report::line(&format!("instructions cannot be written: {e}"));
        }
        let object = placed.file.as_ref().map(|file| CodeObject::parse(file));
        let object = object.and_then(Result::ok);
        let sources = Sources::new(object.as_ref());
        let (out, filter) = (Box::new(wanted.out.clone()), wanted.filter.clone());
        Observers {
            observe: Some(Arc::new(Trace::new(out, filter, false, sources))),
            ..Observers::default()
        }
    }

    /// Formats a failure, with source lines if the code object has line tables.
    pub fn explain(&self, number: u64, placed: &Placed, mut error: RunError) -> String {
        let object = placed.file.as_ref().map(|file| CodeObject::parse(file));
        if let Some(Ok(object)) = object {
            gcn::gpu::add_sources(&mut error, &object);
        }
        format!("launch {number} failed: {error}")
    }

    /// Called at the start of a launch.
    pub fn begins(
        &self,
        r: &Runtime,
        number: u64,
        placed: &Placed,
        launch: &Launch,
        packet: &Packet,
    ) -> Option<Recording> {
        if self.trace {
            let Launch { grid, group, .. } = launch;
            let name = &placed.kernel.name;
            report::line(&format!(
                "launch {number}: {name} grid {grid:?} group {group:?}"
            ));
        }
        let folder = self.record.as_ref()?;
        if !self.chosen.as_ref().unwrap_or(&FIRST).contains(&number) {
            return None;
        }
        let folder = folder.join(format!("{number:06}"));
        match Recording::begin(r, number, folder, placed, launch, packet) {
            Ok(recording) => Some(recording),
            Err(e) => {
                report::line(&format!("launch {number} is not recorded: {e}"));
                None
            }
        }
    }

    /// Called at the end of a launch.
    pub fn ended(&self, placed: &Placed, nanoseconds: u64, stats: &Stats) {
        if self.counts() {
            let mut kernels = lock(&self.kernels);
            let tally = kernels.entry(placed.kernel.name.clone()).or_default();
            tally.launches += 1;
            tally.nanoseconds += nanoseconds;
            tally.instructions += stats.instructions;
            tally.waves += stats.waves;
        }
    }

    /// Called if a launch failed, which usually ends the program.
    pub fn failed(&self, text: &str) {
        lock(&self.failures).push(text.to_string());
        self.tell();
    }

    /// Reports the counts.
    fn tell(&self) {
        let kernels = lock(&self.kernels);
        let mut sorted: Vec<_> = kernels.iter().collect();
        sorted.sort_by_key(|(_, t)| std::cmp::Reverse(t.nanoseconds));
        if self.profile && self.json.is_none() {
            let mut text =
                String::from("  launches         ms     instructions       waves  kernel\n");
            for (name, t) in &sorted {
                let ms = t.nanoseconds as f64 / 1e6;
                let _ = writeln!(
                    text,
                    "{:>10} {ms:>10.3} {:>16} {:>11}  {name}",
                    t.launches, t.instructions, t.waves
                );
            }
            report::line(&text);
        }
        let checks = runtime::get().ok().and_then(|r| r.checks.as_ref());
        if let Some(summary) = checks.and_then(Checks::summary) {
            report::line(&summary);
        }
        if let Some(file) = &self.json {
            let kernels = sorted.iter().map(|(name, t)| {
                format!(
                    "{{\"kernel\":{},\"launches\":{},\"ns\":{},\"instructions\":{},\"waves\":{}}}",
                    quoted(name),
                    t.launches,
                    t.nanoseconds,
                    t.instructions,
                    t.waves
                )
            });
            let kernels: Vec<String> = kernels.collect();
            let failures: Vec<String> = lock(&self.failures).iter().map(|f| quoted(f)).collect();
            let reports = checks.map(|c| format!(",\"reports\":[{}]", c.json()));
            let reports = reports.unwrap_or_default();
            let text = format!(
                "{{\"kernels\":[{}],\"failures\":[{}]{reports}}}\n",
                kernels.join(","),
                failures.join(",")
            );
            if let Err(e) = std::fs::write(file, text) {
                report::line(&format!("{}: {e}", file.display()));
            }
        }
    }
}

/// Returns a text as a JSON string.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

unsafe extern "C" {
    pub fn atexit(function: extern "C" fn()) -> i32;
}

extern "C" fn at_exit() {
    if let Ok(r) = runtime::get()
        && lock(&r.launches.failures).is_empty()
    {
        r.launches.tell();
    }
}
