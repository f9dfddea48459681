//! The runtime of the process: the machine and the objects that the program has created.

use crate::agent::Properties;
use crate::check::Checks;
use crate::copy::Copies;
use crate::debug::Debugger;
use crate::executable::Executables;
use crate::image::Images;
use crate::launches::Launches;
use crate::memory::Allocations;
use crate::queue::Queues;
use crate::signal::{Signals, lock};
use crate::status::{Status, code};
use gcn_emu::dispatch::Gpu;
use gcn_emu::engine::Engine;
use gcn_emu::interp::Interp;
use gcn_emu::mem::{Memory, PAGE_SIZE};
use gcn_isa::target::{Gen, Target};
use gcn_object::Container;
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, OnceLock};

/// The state of the runtime. It exists until the process ends, because programs exit without releasing it.
pub struct Runtime {
    pub gpu: Arc<Gpu>,
    pub properties: Properties,
    /// The number of host threads of a dispatch.
    pub threads: usize,
    pub signals: Signals,
    pub queues: Queues,
    pub executables: Executables,
    pub allocations: Mutex<Allocations>,
    pub copies: Copies,
    pub images: Images,
    /// The number of running dispatches, and of those started so far.
    busy: AtomicU64,
    count: AtomicU64,
    pub launches: Launches,
    /// The checks of launches, if they were requested.
    pub checks: Option<Checks>,
    /// The debugger, if it was requested.
    pub debugger: Option<Debugger>,
}

/// The runtime, and the number of initialisations.
static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
static USERS: Mutex<u64> = Mutex::new(0);

/// The runtime, if it has been initialised.
pub fn get() -> Result<&'static Runtime, Status> {
    match RUNTIME.get() {
        Some(Ok(runtime)) => Ok(runtime),
        _ => Err(Status::NotInitialized),
    }
}

/// Returns an environment variable, if it is set and not empty.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

/// Returns the size of the host's memory in bytes.
fn host_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("MemTotal:"));
    let kib = line.and_then(|l| l.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map_or(8 << 30, |n| n << 10)
}

/// Returns the target: from the environment, otherwise from code in the program, otherwise gfx900.
fn target() -> Result<Target, String> {
    if let Some(name) = variable("GCN_TARGET") {
        return Target::parse(&name)
            .ok_or_else(|| format!("GCN_TARGET={name} is not a gfx6 to gfx9 target"));
    }
    let own = own_targets(Path::new("/proc/self/exe"));
    let default = Target::parse("gfx900").ok_or("there is no gfx900")?;
    if own.contains(&default) {
        return Ok(default);
    }
    let known = own.iter().find(|t| !UNKNOWN_TO_HIP.contains(&t.name()));
    Ok(known.or(own.first()).copied().unwrap_or(default))
}

/// Returns the known targets of the code objects in a file.
fn own_targets(path: &Path) -> Vec<Target> {
    let Ok(container) = Container::open(path) else {
        return Vec::new();
    };
    let targets = container.entries.iter().filter_map(|e| e.target.as_ref());
    targets
        .filter_map(|t| Target::parse(&t.processor))
        .collect()
}

/// Targets that are not in HIP's table of devices (gfx6), or that are marked there as not supported. HIP then finds no device,
/// and its first function that needs one, such as hipMalloc, ends in a segmentation fault.
const UNKNOWN_TO_HIP: [&str; 7] = [
    "gfx600", "gfx601", "gfx602", "gfx703", "gfx704", "gfx705", "gfx909",
];

/// Ends the program with a message, because HIP does not support the device.
fn refuse(target: Target) {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    if !UNKNOWN_TO_HIP.contains(&target.name()) || !maps.contains("/libamdhip64.so") {
        return;
    }
    let name = target.name();
    ends(&format!(
        "HIP does not run on {name}: its table of devices has not got it, so it would find no GPU and end in a \
         segmentation fault. Compile for gfx701, gfx803 or gfx900, or use gcn run (docs/hip.md)"
    ))
}

/// Ends the program with a message, before HIP is initialised.
fn ends(why: &str) -> ! {
    crate::report::line(why);
    // SAFETY: the function takes a number and does not return. HIP is not yet initialised, so its exit handlers must not run.
    unsafe { libc::_exit(1) }
}

/// The address space in bytes that HIP and its compiler need in addition to the GPU's memory.
const FOR_HIP: u64 = 1 << 30;

/// The size of the page map in bytes if it does not cover all addresses.
const MAP: u64 = 272 << 20;

/// Returns the maximum size of allocations if the address space is limited (`ulimit -v`); their range is three times as
/// large. `None` without a limit.
fn within_limit() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits
        .lines()
        .find_map(|l| l.strip_prefix("Max address space"))?;
    let limit = line.split_whitespace().next()?.parse::<u64>().ok()?;
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let used = pages.split_whitespace().next()?.parse::<u64>().ok()? * PAGE_SIZE;
    let left = limit.saturating_sub(used);
    if left < FOR_HIP + MAP + 3 * LEAST {
        crate::report::line(&format!(
            "the address space is limited to {} MiB (ulimit -v): HIP programs need 2 GiB at least, and may now fail or wait \
             for ever where HIP finds no memory",
            limit >> 20
        ));
    }
    Some((left.saturating_sub(FOR_HIP + MAP) / 3).max(LEAST))
}

/// The minimum size of memory for the runtime to start.
const LEAST: u64 = 128 << 20;

/// The preferred start of allocations. If code has the same addresses in each process, its compiled form is found on disk.
const WANTED: u64 = 0x3000_0000_0000;

/// Reserves memory for kernels and the program; less if the host refuses the size.
fn memory() -> Result<Memory, String> {
    let mut bytes = match variable("GCN_HIP_MEMORY") {
        Some(text) => {
            let number = text.parse::<u64>().ok().filter(|&n| n > 0);
            number.ok_or_else(|| format!("GCN_HIP_MEMORY={text} is not a number of MiB"))? << 20
        }
        None => 2 * host_bytes(),
    };
    if let Some(most) = within_limit() {
        bytes = bytes.min(most);
    }
    loop {
        match Memory::of_host(bytes, Some(WANTED)) {
            Ok(memory) => return Ok(memory),
            Err(_) if bytes > LEAST => bytes /= 2,
            Err(e) => {
                return Err(format!(
                    "{e}; HIP programs need 2 GiB of address space at least (ulimit -v)"
                ));
            }
        }
    }
}

/// Returns the cache of compiled code, which loads the code of the user's earlier processes from disk.
fn code_cache() -> gcn_jit::Cache {
    let cache = gcn_jit::Cache::default();
    match gcn_jit::Store::of_user() {
        Ok(Some(store)) => cache.stored(Arc::new(store)),
        Ok(None) => cache,
        Err(e) => {
            crate::report::line(&format!(
                "compiled code is not kept: {}: {e}",
                variable("GCN_CACHE").unwrap_or_default()
            ));
            cache
        }
    }
}

impl Runtime {
    fn new() -> Result<Runtime, String> {
        let target = target()?;
        refuse(target);
        let debugger = Debugger::new().unwrap_or_else(|why| ends(&why));
        let engine = variable("GCN_ENGINE");
        let cache = match engine.as_deref() {
            Some("interp") => None,
            None if !gcn_jit::available() => None,
            Some("jit") | None => Some(code_cache()),
            Some(other) => return Err(format!("GCN_ENGINE={other}: expected interp or jit")),
        };
        // Checks record accesses.
        let recording = (cache.clone()).map(|c| c.without(gcn_jit::Optional::Accesses));
        let maker = |cache: Option<gcn_jit::Cache>| {
            move || -> Box<dyn Engine> {
                match &cache {
                    Some(cache) => Box::new(cache.engine()),
                    None => Box::new(Interp::new()),
                }
            }
        };
        let threads = match variable("GCN_THREADS") {
            Some(text) => {
                let number = text
                    .parse::<usize>()
                    .ok()
                    .filter(|n| (1..=1024).contains(n));
                number.ok_or_else(|| format!("GCN_THREADS={text}: expected 1 to 1024"))?
            }
            None => std::thread::available_parallelism().map_or(1, usize::from),
        };
        let memory = memory()?;
        let properties = Properties::of(target, memory.free_bytes());
        let mut gpu = Gpu::with_memory(target, memory, maker(cache));
        gpu.set_recording_engine(maker(recording));
        Ok(Runtime {
            gpu: Arc::new(gpu),
            properties,
            threads,
            signals: Signals::default(),
            queues: Queues::default(),
            executables: Executables::default(),
            allocations: Mutex::default(),
            copies: Copies::default(),
            images: Images::default(),
            busy: AtomicU64::new(0),
            count: AtomicU64::new(0),
            launches: Launches::new()?,
            checks: Checks::new(target.generation() == Gen::Gfx7)?,
            debugger,
        })
    }

    pub fn memory(&self) -> &Memory {
        &self.gpu.memory
    }

    /// Returns nanoseconds of the clock that HIP also reads.
    pub fn now(&self) -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    /// Returns true if kernels are running.
    pub fn running(&self) -> bool {
        self.busy.load(Relaxed) != 0
    }

    /// Marks a kernel as running until the result is dropped. Returns its number, from 1.
    pub fn begin(&self) -> (u64, impl Drop + use<'_>) {
        struct Busy<'a>(&'a AtomicU64);
        impl Drop for Busy<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Relaxed);
            }
        }
        self.busy.fetch_add(1, Relaxed);
        let number = self.count.fetch_add(1, Relaxed) + 1;
        (number, Busy(&self.busy))
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn hsa_init() -> u32 {
    let made = RUNTIME.get_or_init(Runtime::new);
    match made {
        Ok(_) => {
            *lock(&USERS) += 1;
            0
        }
        Err(why) => {
            crate::report::line(why);
            Status::OutOfResources as u32
        }
    }
}

/// The runtime is kept, because threads of the program may still use it.
#[unsafe(no_mangle)]
pub extern "C" fn hsa_shut_down() -> u32 {
    let mut users = lock(&USERS);
    code(match *users {
        0 => Err(Status::NotInitialized),
        _ => {
            *users -= 1;
            Ok(())
        }
    })
}
