//! `gcn hip --check`: every launch is checked ([`gcn::check::dynamic`]), against the allocations of the program.
//!
//! HIP passes the exact sizes that the program requested to the pools; the pools' allocations are the bounds. Freed memory is
//! kept for a while: its addresses are not allocated again, and an access is recognised as a use after free. Memory of the GPU's
//! own pool is undefined until a kernel or a copy writes it.
//!
//! HIP submits packets, allocates and frees on the thread that called it. The stack of that thread at these times shows the call
//! of the program. Stacks are only captured then; names and lines are looked up when a report needs them.

use crate::executable::Placed;
use crate::memory::{GPU_POOL, of_host};
use crate::report;
use crate::runtime::{self, Runtime, variable};
use crate::signal::lock;
use gcn::check::dynamic::{Allocation, Allocator, Checker, Fresh, Launched, Options, Surroundings};
use gcn::check::report::{Other, RelatedRole, Report};
use gcn::check::text;
use gcn::lines::{Files, Sources};
use gcn_debug::WaveId;
use gcn_emu::dispatch::observers::Observe;
use gcn_emu::mem::Outside;
use gcn_object::read::CodeObject;
use std::backtrace::Backtrace;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex};

/// The maximum bytes of freed memory that is kept.
const KEPT: u64 = 256 << 20;

/// The prefix of the kernels with which HIP fills and copies memory.
pub const MOVES: &str = "__amd_rocclr_";

/// The checks of a process.
pub struct Checks {
    checker: Arc<Checker>,
    fresh: Option<Arc<Fresh>>,
    version: AtomicU64,
    /// The allocations by address, including freed ones until their addresses are used again.
    records: Mutex<BTreeMap<u64, Record>>,
    allocated: AtomicU64,
    /// The freed memory that is kept: addresses, in the order in which it was freed, and the sum of the bytes.
    kept: Mutex<(VecDeque<(u64, u64)>, u64)>,
    /// The stacks of the threads that submitted packets, by queue and number.
    submitted: Mutex<HashMap<(u64, u64), Arc<Backtrace>>>,
    /// The number of reports that were printed.
    printed: AtomicU64,
}

/// An allocation.
struct Record {
    number: u64,
    bytes: u64,
    made: Backtrace,
    freed: Option<Backtrace>,
}

/// The allocations of the runtime.
struct Pools;

impl Allocator for Pools {
    fn version(&self) -> u64 {
        let checks = runtime::get().ok().and_then(|r| r.checks.as_ref());
        checks.map_or(0, |checks| checks.version.load(Acquire))
    }

    fn allocations(&self) -> Vec<Allocation> {
        let Ok(r) = runtime::get() else {
            return Vec::new();
        };
        let Some(checks) = &r.checks else {
            return Vec::new();
        };
        let mut all: Vec<Allocation> = r.lent_memory();
        let records = lock(&checks.records);
        all.extend(records.iter().map(|(&address, record)| Allocation {
            address,
            bytes: record.bytes,
            name: format!("allocation {}", record.number),
            freed: record.freed.is_some(),
        }));
        all
    }

    fn screens(&self) -> bool {
        let full = |r: &Runtime| r.checks.as_ref().is_none_or(|c| c.fresh.is_none());
        // A debugger runs kernels beside others. If HIP accesses the GPU's memory itself, no memory belongs to the kernels alone.
        Runtime::debugger().is_none() && !runtime::get().map_or(true, full)
    }

    fn of_kernels(&self, at: u64) -> bool {
        let Ok(r) = runtime::get() else {
            return false;
        };
        r.pool_of(at) == Some(GPU_POOL)
    }

    fn story(&self, at: u64) -> Vec<String> {
        let checks = runtime::get().ok().and_then(|r| r.checks.as_ref());
        let Some(checks) = checks else {
            return Vec::new();
        };
        let records = lock(&checks.records);
        let Some((_, record)) = records.range(..=at).next_back() else {
            return Vec::new();
        };
        let told = |verb: &str, stack: &Backtrace| {
            let calls = calls(&stack.to_string());
            (!calls.is_empty()).then(|| format!("{verb} by {}", calls.join(", called by ")))
        };
        let made = told("made", &record.made);
        let freed = record.freed.as_ref().and_then(|stack| told("freed", stack));
        made.into_iter().chain(freed).collect()
    }
}

impl Checks {
    /// Reads the option from the environment. `full` is true if HIP accesses the GPU's memory itself.
    pub fn new(full: bool) -> Result<Option<Checks>, String> {
        let Some(list) = variable("GCN_HIP_CHECK") else {
            return Ok(None);
        };
        let list = if list == "1" { "" } else { &list };
        let options = Options::parse(list).map_err(|e| format!("GCN_HIP_CHECK: {e}"))?;
        let fresh = (!full).then(Arc::<Fresh>::default);
        let surroundings = Surroundings {
            allocator: Some(Arc::new(Pools)),
            fresh: fresh.clone(),
        };
        Ok(Some(Checks {
            checker: Arc::new(Checker::of_runtime(options, surroundings)),
            fresh,
            version: AtomicU64::new(1),
            records: Mutex::default(),
            allocated: AtomicU64::new(0),
            kept: Mutex::default(),
            submitted: Mutex::default(),
            printed: AtomicU64::new(0),
        }))
    }

    /// Records that the bounds have changed.
    pub fn changed(&self) {
        self.version.fetch_add(1, AcqRel);
    }

    /// Records an allocation of a pool.
    pub fn allocated(&self, at: u64, bytes: u64, pool: u64) {
        if let Some(fresh) = self.fresh.as_ref().filter(|_| pool == GPU_POOL) {
            fresh.allocated(at, bytes);
        }
        let record = Record {
            number: self.allocated.fetch_add(1, Relaxed) + 1,
            bytes,
            made: Backtrace::force_capture(),
            freed: None,
        };
        lock(&self.records).insert(at, record);
        self.changed();
    }

    /// Records that memory of a pool is to be freed. Returns the memory to free now, which was freed by the program earlier.
    pub fn freed(&self, at: u64, bytes: u64) -> Vec<u64> {
        if let Some(record) = lock(&self.records).get_mut(&at) {
            record.freed = Some(Backtrace::force_capture());
        }
        if let Some(fresh) = &self.fresh {
            fresh.defined(at, bytes);
        }
        self.changed();
        let mut kept = lock(&self.kept);
        kept.0.push_back((at, bytes));
        kept.1 += bytes;
        self.let_go(&mut kept, KEPT)
    }

    /// Returns all freed memory that was kept, because no other memory is left.
    pub fn let_all_go(&self) -> Vec<u64> {
        self.let_go(&mut lock(&self.kept), 0)
    }

    fn let_go(&self, kept: &mut (VecDeque<(u64, u64)>, u64), most: u64) -> Vec<u64> {
        let mut gone = Vec::new();
        while kept.1 > most
            && let Some((at, bytes)) = kept.0.pop_front()
        {
            kept.1 -= bytes;
            lock(&self.records).remove(&at);
            gone.push(at);
        }
        if !gone.is_empty() {
            self.changed();
        }
        gone
    }

    /// Records that memory was written by something other than a kernel.
    pub fn written(&self, at: u64, bytes: u64) {
        if let Some(fresh) = &self.fresh {
            fresh.defined(of_host(at), bytes);
        }
    }

    /// Treats the whole allocation that contains an image as written.
    pub fn holds_image(&self, at: u64) {
        let records = lock(&self.records);
        let record = records.range(..=of_host(at)).next_back();
        let location = record.map(|(&at, record)| (at, record.bytes));
        drop(records);
        if let Some((at, bytes)) = location {
            self.written(at, bytes);
        }
    }

    /// Records the stack of a thread of the program that submits packets.
    pub fn submits(&self, queue: u64, first: u64, count: u64) {
        let stack = Arc::new(Backtrace::force_capture());
        let mut all = lock(&self.submitted);
        for number in first..first.saturating_add(count.min(1 << 17)) {
            all.insert((queue, number), stack.clone());
        }
    }

    /// The stack of the thread that submitted a packet.
    pub fn stack(&self, queue: u64, number: u64) -> Option<Arc<Backtrace>> {
        lock(&self.submitted).remove(&(queue, number))
    }

    /// The observer of a launch.
    pub fn observer(&self, number: u64, placed: &Placed) -> Arc<dyn Observe> {
        self.checker.of_launch(Launched {
            number,
            moves: placed.kernel.name.starts_with(MOVES),
        })
    }

    /// Prints the new reports of a launch that has ended.
    pub fn ended(&self, r: &Runtime, launch: u64, placed: &Placed, stack: Option<&Backtrace>) {
        let reports = self.found(launch, placed, stack);
        if !r.launches.json() {
            report::plain(&texts(&reports).concat());
        }
    }

    /// Returns the new reports of a launch, for a debugger that stops at them.
    pub fn moments(
        &self,
        launch: u64,
        placed: &Placed,
        stack: Option<&Backtrace>,
    ) -> Vec<gcn_debug::Report> {
        let reports = self.found(launch, placed, stack);
        let texts = texts(&reports);
        let both = reports.into_iter().zip(texts);
        let moment = |(report, text): (Report, String)| {
            let at = report.at?;
            Some(gcn_debug::Report {
                launch: launch as usize,
                wave: WaveId {
                    workgroup: at.workgroup,
                    wave: at.wave as usize,
                },
                executed: at.step,
                offset: report.pc.wrapping_sub(report.entry),
                kernel: report.kernel,
                text,
                seen: false,
            })
        };
        both.filter_map(moment).collect()
    }

    /// The new reports of a launch, with the information about the program.
    fn found(&self, launch: u64, placed: &Placed, stack: Option<&Backtrace>) -> Vec<Report> {
        let object = placed.file.as_ref().map(|file| CodeObject::parse(file));
        let object = object.and_then(Result::ok);
        let sources = Sources::new(object.as_ref());
        let finish = |report: &mut Report| {
            let (kernel, entry) = (report.kernel.clone(), report.entry);
            let line = |pc: u64| {
                let text = sources.line(&kernel, pc.wrapping_sub(entry) as i64)?;
                text.lines().next().map(str::to_owned)
            };
            for other in &mut report.related {
                other.source = other.pc.and_then(line);
            }
            report.source = line(report.pc);
            let calls = stack.map_or(Vec::new(), |stack| calls(&stack.to_string()));
            let host = calls.into_iter().enumerate().map(|(n, call)| Other {
                role: RelatedRole::Host,
                pc: None,
                instruction: String::new(),
                source: None,
                message: format!(
                    "{} {call}",
                    if n == 0 { "launched by" } else { "called by" }
                ),
            });
            report.related.extend(host);
        };
        let reports = self.checker.of(launch, finish);
        self.printed.fetch_add(reports.len() as u64, Relaxed);
        reports
    }

    /// The reports as JSON.
    pub fn json(&self) -> String {
        let reports = self.checker.reports();
        let texts: Vec<String> = reports.iter().map(|r| r.json().to_string()).collect();
        texts.join(",")
    }

    /// A line about the number of reports, if there are any.
    pub fn summary(&self) -> Option<String> {
        let reports = self.checker.reports();
        let times: u64 = reports.iter().map(|r| r.count).sum();
        let count = |n: u64, what: &str| match n {
            1 => format!("1 {what}"),
            n => format!("{n} {what}s"),
        };
        (!reports.is_empty()).then(|| {
            let (reports, times) = (
                count(reports.len() as u64, "report"),
                count(times, "occurrence"),
            );
            format!("check: {reports}, {times}")
        })
    }
}

/// Reports as text.
fn texts(reports: &[Report]) -> Vec<String> {
    let program = program();
    let mut files = Files::default();
    let mut text = |report: &Report| {
        let mut out = String::new();
        let line = |name: &str| files.named(name).map(str::to_owned);
        text::report(&mut out, report, &program, line);
        out
    };
    reports.iter().map(&mut text).collect()
}

/// The name of the program's file.
fn program() -> String {
    let path = std::env::current_exe().ok();
    let name = path.as_ref().and_then(|p| p.file_name());
    name.map_or("the program".into(), |n| n.to_string_lossy().into_owned())
}

/// The calls of a stack, as the standard library prints it, from HIP's function outwards: `hipMalloc`, `main (vadd.cpp:12)`.
fn calls(stack: &str) -> Vec<String> {
    let mut frames: Vec<(String, Option<String>)> = Vec::new();
    for line in stack.lines() {
        let line = line.trim();
        let number = line
            .split_once(": ")
            .filter(|(n, _)| n.parse::<u32>().is_ok());
        if let Some((_, name)) = number {
            frames.push((name.to_string(), None));
        } else if let (Some(location), Some(frame)) = (line.strip_prefix("at "), frames.last_mut())
        {
            // Without the column.
            let location = location
                .rsplit_once(':')
                .map_or(location, |(location, _)| location);
            frame.1 = Some(location.strip_prefix("./").unwrap_or(location).to_string());
        }
    }
    let is_api = |name: &str| {
        let rest = name.strip_prefix("hip");
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    // The outermost of HIP's functions that call each other; if there is none, the caller of this library.
    let first = frames.iter().position(|f| is_api(&f.0));
    let own = || frames.iter().rposition(|f| f.0.starts_with("hsa_"));
    let Some(mut first) = first.or_else(own) else {
        return Vec::new();
    };
    while frames.get(first + 1).is_some_and(|f| is_api(&f.0)) {
        first += 1;
    }
    let mut calls = Vec::new();
    for (name, location) in &frames[first..] {
        let stub = name.contains("__device_stub__");
        if name.starts_with("__libc_start") || name == "_start" || calls.len() == 8 {
            break;
        }
        if name == "<unknown>" || stub {
            continue;
        }
        let shown = gcn::cpp::demangled(name).unwrap_or_else(|| name.clone());
        calls.push(match location {
            Some(location) => format!("{shown} ({location})"),
            None => shown,
        });
    }
    calls
}

impl Runtime {
    /// Calls `what` with the checks, if there are any.
    pub fn with_checks(&self, what: impl FnOnce(&Checks)) {
        if let Some(checks) = &self.checks {
            what(checks);
        }
    }

    /// With checks, stops and rolls back kernels that run without an observer; none begins as long as the result exists. It must
    /// be called before memory is allocated, freed or written, and before taking a lock under which the allocations are looked
    /// up.
    pub fn outside(&self) -> Option<Outside<'_>> {
        self.checks.as_ref().map(|_| self.memory().outside())
    }
}

unsafe extern "C" {
    fn on_exit(
        function: extern "C" fn(i32, *mut std::ffi::c_void),
        data: *mut std::ffi::c_void,
    ) -> i32;
    fn fflush(stream: *mut std::ffi::c_void) -> i32;
}

/// The last function of a process that ends. If the program ends with status 0 although there were reports, or a command of the
/// debugger failed, the status becomes 1.
extern "C" fn exits(status: i32, _: *mut std::ffi::c_void) {
    let checks = runtime::get().ok().and_then(|r| r.checks.as_ref());
    let reported = checks.is_some_and(|checks| checks.printed.load(Relaxed) > 0);
    let undone = Runtime::debugger().is_some_and(|debugger| debugger.failed());
    if (reported || undone) && status == 0 {
        // SAFETY: a null pointer means all streams; `_exit` takes a number and does not return.
        unsafe {
            fflush(std::ptr::null_mut());
            libc::_exit(1);
        }
    }
}

/// Called when the library is loaded, before anything else of the process registers exit functions. These run in reverse order,
/// including those of all libraries: [`exits`] is the last one.
extern "C" fn loaded() {
    crate::debug::is_loaded();
    if variable("GCN_HIP_CHECK").is_some() || variable("GCN_HIP_DEBUG").is_some() {
        // SAFETY: the function takes these arguments, and libraries stay mapped until the process has ended. If it cannot be
        // registered, the exit status stays the program's.
        unsafe { on_exit(exits, std::ptr::null_mut()) };
    }
}

// SAFETY: the loader calls the functions in this section when it has loaded the library, with arguments that this one ignores.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calls_of_a_stack() {
        let stack = "\
   0: <std::backtrace::Backtrace>::create
             at /rustc/library/std/src/backtrace.rs:331:13
   1: hsa_amd_memory_pool_allocate
             at ./crates/gcn-hsa/src/memory.rs:10:5
   2: <unknown>
   3: hipMalloc
   4: _Z3runi
             at /home/a/x.cpp:12:3
   5: main
   6: __libc_start_main
";
        assert_eq!(
            calls(stack),
            ["hipMalloc", "run(int) (/home/a/x.cpp:12)", "main"]
        );
        assert!(calls("   0: <unknown>\n").is_empty());
    }
}
