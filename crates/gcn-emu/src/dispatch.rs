//! Kernels of code objects: loading, the initial state of waves according to the HSA ABI, workgroups and threads.
//!
//! Source: "User Guide for AMDGPU Backend" of LLVM, code objects v3 to v5 on gfx6 to gfx9; AQL packets: "HSA Platform System
//! Architecture Specification".

mod abi;
mod host;
mod hostcall;
pub mod observers;
mod printf;
mod schedule;
pub mod step;
mod stuck;
mod threads;

use crate::engine::{Engine, FaultReport};
use crate::global::WaveSync;
use crate::interp::Interp;
use crate::mem::{Fault, MemError, Memory, PAGE_SIZE, Perm};
use abi::Shape;
use gcn_isa::target::Target;
use gcn_object::Builder;
use gcn_object::read::{CodeObject, FileKind, Kernel};
use gcn_object::target::Os;
use observers::Observers;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
pub use stuck::{StuckWave, Waits};

type EngineMaker = Arc<dyn Fn() -> Box<dyn Engine> + Send + Sync>;

/// One GPU: its memory and the engines that run its waves.
pub struct Gpu {
    /// Guest memory. Buffers of kernels are allocated here.
    pub memory: Memory,
    target: Target,
    engine: EngineMaker,
    /// Makes engines that leave memory accesses to the interpreter, which reports them to the probe.
    recording_engine: EngineMaker,
    dispatches: AtomicU64,
    work: schedule::Work,
    output: host::Output,
    heap: OnceLock<Arc<hostcall::Heap>>,
    /// The resources of global wave sync as dispatches from queues left them.
    wave_sync: WaveSync,
}

/// A queue of packets that the caller maintains (`amd_queue_t`), and the state that its dispatches pass on to later ones.
#[derive(Debug)]
pub struct Queue {
    /// Its guest address.
    address: u64,
    /// Scratch: its address and its size in bytes.
    scratch: Mutex<(u64, u64)>,
}

impl Queue {
    /// The queue at a guest address.
    pub fn new(address: u64) -> Queue {
        Queue {
            address,
            scratch: Mutex::new((0, 0)),
        }
    }

    /// Allocates at least `bytes` bytes of scratch. The next dispatch gets the scratch with the contents that this one leaves.
    fn scratch(&self, memory: &Memory, bytes: u64) -> Result<u64, MemError> {
        let mut now = self.scratch.lock().unwrap_or_else(|e| e.into_inner());
        if bytes > now.1 {
            let (old, _) = std::mem::take(&mut *now);
            if old != 0 {
                memory.free(old)?;
            }
            *now = (memory.alloc(bytes, 256, Perm::RW)?, bytes);
        }
        Ok(now.0)
    }

    /// Frees the scratch. No dispatch of the queue may be running.
    pub fn close(&self, memory: &Memory) {
        let (at, _) = std::mem::take(&mut *self.scratch.lock().unwrap_or_else(|e| e.into_inner()));
        if at != 0 {
            // It was allocated by `scratch`.
            let _ = memory.free(at);
        }
    }
}

/// A dispatch's packet (`hsa_kernel_dispatch_packet_t`) that the caller has put into guest memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Packet {
    /// Its guest address.
    pub address: u64,
    /// Its number on the queue.
    pub number: u64,
    /// The guest address of the kernel's arguments, including the hidden ones.
    pub kernarg: u64,
    /// Bytes of scratch for each work-item; if the kernel declares more, the kernel's number is used.
    pub private_bytes: u32,
    /// Bytes of LDS of a workgroup, including those that the kernel declares.
    pub group_bytes: u32,
}

/// A code object in guest memory.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The offset added to the file's virtual addresses.
    pub base: u64,
    /// Its kernels; their addresses are those in the file, or for a relocatable object those to which it was linked.
    pub kernels: Vec<Kernel>,
    /// OpenCL printf's formats, as in the metadata.
    pub printf: Vec<String>,
    /// The system whose conventions the kernels follow.
    pub os: Os,
}

impl Loaded {
    /// The kernel with a name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|k| k.name == name)
    }
}

/// The parameters of a launch of a kernel.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// Work-items in each dimension.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in each dimension; a workgroup at the grid's edge may have fewer.
    pub group: [u32; 3],
    /// The offset of OpenCL's get_global_id in each dimension: a hidden argument, if the kernel has it.
    pub offset: [u64; 3],
    /// The explicit arguments, laid out according to the metadata. Hidden ones are filled in.
    pub kernarg: Vec<u8>,
    /// Bytes of LDS in addition to those that the kernel declares.
    pub dynamic_lds: u32,
    /// The maximum number of instructions, of all waves together. On one thread, waves then run in the same order with every
    /// engine.
    pub max_instructions: Option<u64>,
    /// Runs only the workgroups with these numbers, in the order in which they start; by default all. What kernels see of the grid
    /// does not change.
    pub workgroups: Option<Range<u64>>,
    /// Host threads that run workgroups; 0 is treated as 1.
    pub threads: usize,
    /// One defined order, on one thread: the same results every time and with every engine, for every program.
    pub deterministic: bool,
    /// s_trap 3, a debugger's breakpoint, ends the dispatch like other traps. Otherwise it has no effect.
    pub debug_traps: bool,
    /// Code outside the dispatch may store to its memory while it runs, so waves that wait forever are not
    /// reported.
    pub outside_stores: bool,
    /// The observers.
    pub observers: Observers,
}

/// The result of a dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Instructions that waves executed.
    pub instructions: u64,
    /// Waves that ran.
    pub waves: u64,
}

/// The reason why a code object was not loaded.
#[derive(Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// It cannot be laid out.
    Object(gcn_object::Error),
    /// It is for another target.
    Target {
        /// The target of the code object.
        object: String,
        /// The target of the GPU.
        gpu: &'static str,
    },
    /// Guest memory could not be allocated for it.
    Memory(MemError),
    /// A segment's bytes could not be stored.
    Fault(Fault),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Object(e) => write!(f, "{e}"),
            LoadError::Target { object, gpu } => {
                write!(f, "the code object is for {object}, the GPU is a {gpu}")
            }
            LoadError::Memory(e) => write!(f, "{e}"),
            LoadError::Fault(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for LoadError {}

/// The location of a wave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaveLocation {
    /// The kernel's name.
    pub kernel: String,
    /// The workgroup's ID in each dimension.
    pub workgroup: [u32; 3],
    /// The wave's number in the workgroup.
    pub wave: usize,
    /// The PC.
    pub pc: u64,
    /// The PC relative to the kernel's first address.
    pub offset: i64,
    /// The PC as an address in the code object's file, as its disassembly shows it.
    pub address: u64,
    /// The source line, as `vadd.cl:5`, followed by a line break and its text, if a reader of line tables has set it.
    pub source: Option<String>,
}

impl fmt::Display for WaveLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup;
        let at = Offset(&self.kernel, self.offset);
        write!(
            f,
            "kernel {}, workgroup ({x}, {y}, {z}), wave {}, pc {:#x} ({at})",
            self.kernel, self.wave, self.pc
        )
    }
}

impl WaveLocation {
    /// Writes separate lines: the address, and the source line if it is known.
    fn lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n  address {:#x} in `gcn dis`", self.address)?;
        let Some(source) = &self.source else {
            return Ok(());
        };
        match source.split_once('\n') {
            Some((line, text)) => write!(f, "\n  source {line}: {}", text.trim()),
            None => write!(f, "\n  source {source}"),
        }
    }
}

/// An offset in bytes from a kernel's first instruction, written as `name+0x10`.
struct Offset<'a>(&'a str, i64);

impl fmt::Display for Offset<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.1 < 0 { '-' } else { '+' };
        write!(f, "{}{sign}{:#x}", self.0, self.1.unsigned_abs())
    }
}

/// The reason why a dispatch did not finish.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunError {
    /// The code object has no such kernel.
    NoKernel {
        /// The name that was asked for.
        name: String,
        /// The names of the kernels that exist.
        have: Vec<String>,
    },
    /// The launch is impossible.
    Launch {
        /// The kernel.
        kernel: String,
        /// A sentence that says why.
        why: String,
    },
    /// Guest memory that the dispatch needs could not be allocated.
    Memory(MemError),
    /// An instruction failed.
    Fault {
        /// The location of the wave.
        location: WaveLocation,
        /// The fault and the operands of the instruction.
        report: Box<FaultReport>,
    },
    /// A wave executed s_trap.
    Trap {
        /// The location of the wave.
        location: WaveLocation,
        /// The operand of s_trap.
        id: u32,
    },
    /// A kernel requested something from the host that does not exist, or its text could not be written.
    Host {
        /// The location of the wave.
        location: WaveLocation,
        /// A sentence about the error.
        why: String,
    },
    /// A wave halted, and nothing wakes it.
    Halted {
        /// The location of the wave.
        location: WaveLocation,
    },
    /// No wave can continue: all wait at barriers or for global wave sync, or have halted.
    Deadlock {
        /// The waves that are listed.
        waves: Vec<StuckWave>,
        /// The number of waves that are not listed.
        others: usize,
    },
    /// Some waves run, but only in loops that change nothing and that no other wave ends.
    Livelock {
        /// The waves that are listed.
        waves: Vec<StuckWave>,
        /// The number of waves that are not listed.
        others: usize,
    },
    /// It was ended from outside ([`observers::Control`]). The waves had begun and had not ended.
    Interrupted {
        /// The kernel.
        kernel: String,
        /// The waves that are listed.
        waves: Vec<StuckWave>,
        /// The number of waves that are not listed.
        others: usize,
    },
    /// The maximum number of instructions has run. The waves are those of one host thread that had not ended.
    Limit {
        /// The location of the wave that reached the limit.
        location: Box<WaveLocation>,
        /// The limit.
        instructions: u64,
        /// The waves that are listed.
        waves: Vec<StuckWave>,
        /// The number of waves that are not listed.
        others: usize,
    },
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::NoKernel { name, have } => {
                write!(
                    f,
                    "no kernel '{name}'; the code object has: {}",
                    have.join(", ")
                )
            }
            RunError::Launch { kernel, why } => {
                write!(f, "kernel {kernel} cannot be launched: {why}")
            }
            RunError::Memory(e) => write!(f, "{e}"),
            RunError::Fault { location, report } => {
                write!(f, "{}", report.kind)?;
                if let Some(addr) = report.addr {
                    write!(f, ": address {addr:#x}")?;
                }
                write!(f, "\n  in {location}")?;
                if let Some(lane) = report.lane {
                    write!(f, ", lane {lane}")?;
                }
                write!(f, "\n  at {}", report.text)?;
                location.lines(f)?;
                for held in &report.operands {
                    write!(f, "\n  {held}")?;
                }
                Ok(())
            }
            RunError::Trap { location, id } => {
                write!(f, "s_trap {id}\n  in {location}")?;
                location.lines(f)
            }
            RunError::Host { location, why } => {
                write!(f, "{why}\n  in {location}")?;
                location.lines(f)
            }
            RunError::Halted { location } => {
                write!(f, "the wave halted and nothing wakes it\n  in {location}")?;
                location.lines(f)
            }
            RunError::Deadlock { waves, others } => {
                let kernel = stuck::kernel(waves);
                write!(f, "deadlock in kernel {kernel}: no wave can go on")?;
                stuck::list(f, waves, *others)
            }
            RunError::Livelock { waves, others } => {
                let kernel = stuck::kernel(waves);
                write!(
                    f,
                    "livelock in kernel {kernel}: waves run in loops that change nothing and that no other wave ends"
                )?;
                stuck::list(f, waves, *others)
            }
            RunError::Interrupted {
                kernel,
                waves,
                others,
            } => {
                write!(f, "interrupted: kernel {kernel} had not ended")?;
                stuck::list(f, waves, *others)
            }
            RunError::Limit {
                location,
                instructions,
                waves,
                others,
            } => {
                write!(
                    f,
                    "stopped after {instructions} instructions\n  in {location}"
                )?;
                stuck::list(f, waves, *others)
            }
        }
    }
}

impl RunError {
    /// The locations in the error, for callers that add more information: the source lines.
    pub fn locations_mut(&mut self) -> Vec<&mut WaveLocation> {
        match self {
            RunError::NoKernel { .. } | RunError::Launch { .. } | RunError::Memory(_) => Vec::new(),
            RunError::Fault { location, .. }
            | RunError::Trap { location, .. }
            | RunError::Host { location, .. }
            | RunError::Halted { location } => vec![location],
            RunError::Deadlock { waves, .. }
            | RunError::Livelock { waves, .. }
            | RunError::Interrupted { waves, .. } => {
                waves.iter_mut().map(|w| &mut w.location).collect()
            }
            RunError::Limit {
                location, waves, ..
            } => {
                let waves = waves.iter_mut().map(|w| &mut w.location);
                std::iter::once(&mut **location).chain(waves).collect()
            }
        }
    }

    /// The location of the error, if it concerns one wave.
    pub fn location(&self) -> Option<&WaveLocation> {
        match self {
            RunError::Fault { location, .. }
            | RunError::Trap { location, .. }
            | RunError::Host { location, .. }
            | RunError::Halted { location } => Some(location),
            RunError::Limit { location, .. } => Some(location),
            _ => None,
        }
    }
}

impl std::error::Error for RunError {}

impl From<MemError> for RunError {
    fn from(e: MemError) -> RunError {
        RunError::Memory(e)
    }
}

impl Gpu {
    /// A GPU with up to `memory_limit` bytes of memory, run by the interpreter.
    ///
    /// # Errors
    /// As [`Memory::new`].
    pub fn new(target: Target, memory_limit: u64) -> Result<Gpu, MemError> {
        Gpu::with_engine(target, memory_limit, || Box::new(Interp::new()))
    }

    /// As [`Gpu::new`] with another engine; `engine` creates one for each host thread.
    ///
    /// # Errors
    /// As [`Memory::new`].
    pub fn with_engine(
        target: Target,
        memory_limit: u64,
        engine: impl Fn() -> Box<dyn Engine> + Send + Sync + 'static,
    ) -> Result<Gpu, MemError> {
        Ok(Gpu::with_memory(target, Memory::new(memory_limit)?, engine))
    }

    /// As [`Gpu::with_engine`], with memory that was created by the caller.
    pub fn with_memory(
        target: Target,
        memory: Memory,
        engine: impl Fn() -> Box<dyn Engine> + Send + Sync + 'static,
    ) -> Gpu {
        Gpu {
            memory,
            target,
            engine: Arc::new(engine),
            recording_engine: Arc::new(|| Box::new(Interp::new())),
            dispatches: AtomicU64::new(0),
            work: schedule::Work::default(),
            output: Mutex::new(Box::new(std::io::stdout())),
            heap: OnceLock::new(),
            wave_sync: WaveSync::default(),
        }
    }

    /// Sets the maker of engines for runs whose memory accesses are recorded. Such engines leave these accesses to the
    /// interpreter. The default engine is the interpreter.
    pub fn set_recording_engine(
        &mut self,
        engine: impl Fn() -> Box<dyn Engine> + Send + Sync + 'static,
    ) {
        self.recording_engine = Arc::new(engine);
    }

    /// Sets the destination of the text that kernels print, by OpenCL's printf or by host calls; the default is standard output.
    pub fn set_output(&self, output: impl Write + Send + 'static) {
        let mut now = self.output.lock().unwrap_or_else(|e| e.into_inner());
        *now = Box::new(output);
    }

    /// The chip.
    pub fn target(&self) -> Target {
        self.target
    }

    /// Loads a code object into guest memory; each page has the permissions of its segment. A relocatable object, as
    /// Mesa produces, is linked first.
    ///
    /// # Errors
    /// A [`LoadError`]; then nothing stays mapped.
    pub fn load(&self, object: &CodeObject) -> Result<Loaded, LoadError> {
        self.load_with(object, |_| None)
    }

    /// As [`Gpu::load`]; `resolver` returns the address, by name, of each symbol that the object does not define.
    ///
    /// # Errors
    /// As [`Gpu::load`].
    pub fn load_with(
        &self,
        object: &CodeObject,
        resolver: impl Fn(&str) -> Option<u64>,
    ) -> Result<Loaded, LoadError> {
        if object.target_name() != self.target.name() {
            let object = object.target_name().to_string();
            return Err(LoadError::Target {
                object,
                gpu: self.target.name(),
            });
        }
        let linked;
        let object = match object.kind {
            FileKind::Loadable => object,
            FileKind::Relocatable => {
                let bytes = Builder::from_relocatable(object).and_then(|b| b.loadable());
                linked = bytes
                    .and_then(|bytes| CodeObject::parse(&bytes))
                    .map_err(LoadError::Object)?;
                &linked
            }
        };
        let end = object
            .segments
            .last()
            .map_or(1, |s| s.address.saturating_add(s.size));
        let align = object.segments.iter().map(|s| s.align).max().unwrap_or(1);
        let align = align
            .clamp(PAGE_SIZE, 1 << 21)
            .checked_next_power_of_two()
            .unwrap_or(PAGE_SIZE);
        let base = self
            .memory
            .alloc(end, align, Perm::RW)
            .map_err(LoadError::Memory)?;
        match self.fill(object, base, end, resolver) {
            Ok(()) => Ok(Loaded {
                base,
                kernels: object.kernels.clone(),
                printf: object.metadata.printf.clone(),
                os: object.os,
            }),
            Err(e) => {
                // It was mapped above.
                let _ = self.memory.free(base);
                Err(e)
            }
        }
    }

    fn fill(
        &self,
        object: &CodeObject,
        base: u64,
        size: u64,
        resolver: impl Fn(&str) -> Option<u64>,
    ) -> Result<(), LoadError> {
        let image = object
            .image_with(base, resolver)
            .map_err(LoadError::Object)?;
        let mut pages = BTreeMap::new();
        for segment in &image.segments {
            self.memory
                .write(segment.address, &segment.bytes)
                .map_err(LoadError::Fault)?;
            let permit = |on, perm| if on { perm } else { Perm::NONE };
            let perm = permit(segment.readable, Perm::READ)
                | permit(segment.writable, Perm::WRITE)
                | permit(segment.executable, Perm::EXEC);
            let mut page = segment.address / PAGE_SIZE * PAGE_SIZE;
            while page < segment.address + segment.size {
                let old = pages.insert(page, perm);
                if let Some(old) = old {
                    pages.insert(page, old | perm);
                }
                page += PAGE_SIZE;
            }
        }
        self.memory
            .protect(base, size, Perm::NONE)
            .map_err(LoadError::Memory)?;
        for (page, perm) in pages {
            self.memory
                .protect(page, PAGE_SIZE, perm)
                .map_err(LoadError::Memory)?;
        }
        Ok(())
    }

    /// Unloads a code object from memory.
    ///
    /// # Errors
    /// [`MemError::NotMapped`] if it was unloaded before.
    pub fn unload(&self, loaded: &Loaded) -> Result<(), MemError> {
        self.memory.free(loaded.base)
    }

    /// Runs a kernel to its end. Several threads may call this at once.
    ///
    /// # Errors
    /// A [`RunError`]: if there are several, that of the lowest workgroup. Stores that waves made before it stay in memory.
    pub fn dispatch(
        &self,
        loaded: &Loaded,
        kernel: &str,
        launch: &Launch,
    ) -> Result<Stats, RunError> {
        let kernel = loaded.kernel(kernel).ok_or_else(|| RunError::NoKernel {
            name: kernel.to_string(),
            have: loaded.kernels.iter().map(|k| k.name.clone()).collect(),
        })?;
        let mut shape = Shape::new(self.target, loaded.os, kernel, launch)?;
        shape.resident = schedule::resident(&shape, self.memory.free_bytes());
        shape.make_room_for_host(loaded, kernel, self.memory.free_bytes());
        let mut regions = Vec::new();
        let result = self
            .prepare(loaded, kernel, launch, &shape, &mut regions)
            .and_then(|setup| self.run(&setup, launch));
        for region in regions {
            // Each was mapped by `prepare`.
            let _ = self.memory.free(region);
        }
        self.dispatches.fetch_add(1, Relaxed);
        result
    }

    /// Runs the dispatch of a packet, whose kernel was loaded at `base`, as a packet processor does: the caller has put
    /// packet, arguments and queue into guest memory. The launch's arguments and offset are ignored. Several threads
    /// may call this at once, but only one at a time for each queue.
    ///
    /// A [`RunError`]; of several, the one of the lowest workgroup. Stores that waves made before it stay in memory.
    /// As [`Gpu::dispatch`].
    pub fn dispatch_packet(
        &self,
        queue: &Queue,
        packet: &Packet,
        base: u64,
        kernel: &Kernel,
        launch: &Launch,
    ) -> Result<Stats, RunError> {
        let fixed = kernel.descriptor.group_segment_fixed_size;
        let launch = Launch {
            dynamic_lds: packet.group_bytes.saturating_sub(fixed),
            ..launch.clone()
        };
        let mut shape = Shape::new(self.target, Os::Hsa, kernel, &launch)?;
        shape.widen_scratch(packet.private_bytes);
        shape.resident = schedule::resident(&shape, self.memory.free_bytes());
        let setup = self.of_packet(queue, packet, base, kernel, &shape)?;
        self.run(&setup, &launch)
    }
}
