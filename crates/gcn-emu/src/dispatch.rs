//! Kernels of code objects: loading, the initial state of waves as the HSA ABI has it, workgroups and threads.
//!
//! Source: "User Guide for AMDGPU Backend" of LLVM, code objects v3 to v5 on gfx6 to gfx9; AQL packets: "HSA Platform System
//! Architecture Specification".

use crate::engine::{Code, Engine, FaultReport, Machine, Stop};
use crate::interp::Interp;
use crate::mem::{Fault, MemError, Memory, PAGE_SIZE, Perm};
use crate::wave::{LANES, Lds, WaveState, status};
use gcn_isa::target::{Gen, Target};
use gcn_object::descriptor::UserSgpr;
use gcn_object::metadata::ValueKind;
use gcn_object::read::{CodeObject, Kernel};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One GPU: its memory and what runs its waves.
pub struct Gpu {
    /// Guest memory. Buffers of kernels are allocated here.
    pub memory: Memory,
    target: Target,
    engine: fn() -> Box<dyn Engine>,
    dispatches: u64,
}

/// A code object in guest memory.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What was added to the file's virtual addresses.
    pub base: u64,
    /// Its kernels; their addresses are the file's.
    pub kernels: Vec<Kernel>,
}

impl Loaded {
    /// The kernel with a name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|k| k.name == name)
    }
}

/// What a kernel is launched with.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Work-items in each dimension.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in each dimension; a workgroup at the grid's edge may have fewer.
    pub group: [u32; 3],
    /// The explicit arguments, laid out as the metadata say. Hidden ones are filled in.
    pub kernarg: Vec<u8>,
    /// Bytes of LDS beyond those that the kernel declares.
    pub dynamic_lds: u32,
    /// The most instructions, of all waves together.
    pub max_instructions: Option<u64>,
    /// Host threads that run workgroups; 0 is taken as 1.
    pub threads: usize,
}

/// What a dispatch came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Instructions that waves executed.
    pub instructions: u64,
    /// Waves that ran.
    pub waves: u64,
}

/// Why a code object was not loaded.
#[derive(Debug)]
pub enum LoadError {
    /// It cannot be laid out.
    Object(gcn_object::Error),
    /// It is for another target.
    Target { object: String, gpu: &'static str },
    /// Guest memory did not hold it.
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

/// Where a wave was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The kernel's name.
    pub kernel: String,
    /// The workgroup's numbers.
    pub workgroup: [u32; 3],
    /// The wave's number in the workgroup.
    pub wave: usize,
    /// The PC.
    pub pc: u64,
    /// The PC less the kernel's first address.
    pub offset: i64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup;
        let Place {
            kernel,
            wave,
            pc,
            offset,
            ..
        } = self;
        let (sign, distance) = if *offset < 0 {
            ('-', offset.unsigned_abs())
        } else {
            ('+', *offset as u64)
        };
        write!(
            f,
            "kernel {kernel}, workgroup ({x}, {y}, {z}), wave {wave}, pc {pc:#x} ({kernel}{sign}{distance:#x})"
        )
    }
}

/// Why a dispatch did not finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The code object has no such kernel.
    NoKernel { name: String, have: Vec<String> },
    /// The launch is impossible.
    Launch { kernel: String, why: String },
    /// Guest memory did not hold what the dispatch needs.
    Memory(MemError),
    /// An instruction failed.
    Fault {
        place: Place,
        report: Box<FaultReport>,
    },
    /// A wave executed s_trap.
    Trap { place: Place, id: u32 },
    /// A wave halted, and nobody wakes it.
    Halted { place: Place },
    /// Waves wait at a barrier for waves that have halted.
    Deadlock {
        place: Place,
        waiting: Vec<usize>,
        halted: Vec<usize>,
    },
    /// As many instructions as allowed have run.
    Limit { place: Place, instructions: u64 },
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
            RunError::Fault { place, report } => {
                write!(f, "{}", report.kind)?;
                if let Some(addr) = report.addr {
                    write!(f, ": address {addr:#x}")?;
                }
                write!(f, "\n  in {place}")?;
                if let Some(lane) = report.lane {
                    write!(f, ", lane {lane}")?;
                }
                write!(f, "\n  at {}", report.text)
            }
            RunError::Trap { place, id } => write!(f, "s_trap {id}\n  in {place}"),
            RunError::Halted { place } => {
                write!(f, "the wave halted and nothing wakes it\n  in {place}")
            }
            RunError::Deadlock {
                place,
                waiting,
                halted,
            } => write!(
                f,
                "deadlock: waves {waiting:?} wait at a barrier that the halted waves {halted:?} never reach\n  in {place}"
            ),
            RunError::Limit {
                place,
                instructions,
            } => {
                write!(f, "stopped after {instructions} instructions\n  in {place}")
            }
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

    /// As [`Gpu::new`] with another engine, of which `engine` makes one for each host thread.
    ///
    /// # Errors
    /// As [`Memory::new`].
    pub fn with_engine(
        target: Target,
        memory_limit: u64,
        engine: fn() -> Box<dyn Engine>,
    ) -> Result<Gpu, MemError> {
        Ok(Gpu {
            memory: Memory::new(memory_limit)?,
            target,
            engine,
            dispatches: 0,
        })
    }

    /// The chip.
    pub fn target(&self) -> Target {
        self.target
    }

    /// Lays a code object out in guest memory, with each page's permissions as its segment says.
    ///
    /// # Errors
    /// A [`LoadError`]; nothing stays mapped then.
    pub fn load(&mut self, object: &CodeObject) -> Result<Loaded, LoadError> {
        if object.target_name() != self.target.name() {
            let object = object.target_name().to_string();
            return Err(LoadError::Target {
                object,
                gpu: self.target.name(),
            });
        }
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
        match self.fill(object, base, end) {
            Ok(()) => Ok(Loaded {
                base,
                kernels: object.kernels.clone(),
            }),
            Err(e) => {
                // It was just mapped.
                let _ = self.memory.free(base);
                Err(e)
            }
        }
    }

    fn fill(&mut self, object: &CodeObject, base: u64, size: u64) -> Result<(), LoadError> {
        let image = object.image(base).map_err(LoadError::Object)?;
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

    /// Takes a code object out of memory.
    ///
    /// # Errors
    /// [`MemError::NotMapped`] if it was taken out before.
    pub fn unload(&mut self, loaded: &Loaded) -> Result<(), MemError> {
        self.memory.free(loaded.base)
    }

    /// Runs a kernel to its end.
    ///
    /// # Errors
    /// A [`RunError`]: with several, that of the lowest workgroup. What waves stored until then stays in memory.
    pub fn dispatch(
        &mut self,
        loaded: &Loaded,
        kernel: &str,
        launch: &Launch,
    ) -> Result<Stats, RunError> {
        let kernel = loaded.kernel(kernel).ok_or_else(|| RunError::NoKernel {
            name: kernel.to_string(),
            have: loaded.kernels.iter().map(|k| k.name.clone()).collect(),
        })?;
        let shape = Shape::new(self.target, kernel, launch)?;
        let mut regions = Vec::new();
        let result = self
            .prepare(loaded, kernel, launch, &shape, &mut regions)
            .and_then(|setup| self.run(&setup, launch));
        for region in regions {
            // Each was mapped by `prepare`.
            let _ = self.memory.free(region);
        }
        self.dispatches += 1;
        result
    }

    /// Puts kernel arguments, packet, queue and scratch into memory.
    fn prepare<'a>(
        &mut self,
        loaded: &Loaded,
        kernel: &'a Kernel,
        launch: &Launch,
        shape: &'a Shape,
        regions: &mut Vec<u64>,
    ) -> Result<Setup<'a>, RunError> {
        let mut alloc = |size: u64, align: u64| -> Result<u64, MemError> {
            let at = self.memory.alloc(size, align, Perm::RW)?;
            regions.push(at);
            Ok(at)
        };
        let kernarg = alloc(shape.kernarg_size, shape.kernarg_align)?;
        let packet = alloc(64, 64)?;
        let queue = alloc(PAGE_SIZE, 64)?;
        let slots = shape.threads as u64 * shape.waves_of(launch.group) as u64;
        let scratch = match slots * shape.wave_scratch {
            0 => 0,
            bytes if bytes > u32::MAX as u64 => {
                let why = format!("it needs {bytes} bytes of scratch for {slots} waves at a time");
                return Err(RunError::Launch {
                    kernel: kernel.name.clone(),
                    why,
                });
            }
            bytes => alloc(bytes, 256)?,
        };
        let apertures = WaveState::new(1);
        let setup = Setup {
            kernel,
            shape,
            entry: loaded.base.wrapping_add(kernel.entry),
            kernarg,
            packet,
            queue,
            scratch,
            dispatch_id: self.dispatches,
        };
        let put = |at: u64, bytes: &[u8]| self.memory.write(at, bytes);
        let kernel_object = loaded.base.wrapping_add(kernel.descriptor_address);
        put(
            kernarg,
            &arguments(kernel, launch, shape, queue, &apertures),
        )
        .and_then(|()| put(packet, &aql_packet(launch, shape, kernel_object, kernarg)))
        // amd_queue_t: the upper halves of the apertures.
        .and_then(|()| {
            put(
                queue + 0x40,
                &((apertures.shared_base() >> 32) as u32).to_le_bytes(),
            )
        })
        .and_then(|()| {
            put(
                queue + 0x44,
                &((apertures.private_base() >> 32) as u32).to_le_bytes(),
            )
        })
        .map_err(|fault| RunError::Launch {
            kernel: kernel.name.clone(),
            why: fault.to_string(),
        })?;
        Ok(setup)
    }

    /// Runs all workgroups.
    fn run(&self, setup: &Setup<'_>, launch: &Launch) -> Result<Stats, RunError> {
        let groups = setup.shape.groups;
        let total = setup.shape.total;
        let shared = Shared {
            next: AtomicU64::new(0),
            fuel: launch.max_instructions.map(AtomicU64::new),
            failed: AtomicU64::new(u64::MAX),
            error: Mutex::new(None),
        };
        let work = |thread: usize| {
            let mut engine = (self.engine)();
            let mut stats = Stats::default();
            let mut lds = Lds(vec![0; setup.shape.lds_bytes as usize]);
            loop {
                let number = shared.next.fetch_add(1, Relaxed);
                // Every workgroup before a failed one has been taken by some thread, which finishes it.
                if number >= total || number > shared.failed.load(Relaxed) {
                    return stats;
                }
                let (x, y) = (groups[0] as u64, groups[1] as u64);
                let group = [number % x, number / x % y, number / (x * y)].map(|n| n as u32);
                let mut workgroup = Workgroup {
                    setup,
                    memory: &self.memory,
                    target: self.target,
                    group,
                    number,
                    thread,
                    shared: &shared,
                    stats: &mut stats,
                };
                lds.0.fill(0);
                if let Err(e) = workgroup.run(engine.as_mut(), &mut lds, launch) {
                    shared.fail(number, e);
                }
            }
        };
        let mut stats = Stats::default();
        let mut add = |s: Stats| {
            stats.instructions += s.instructions;
            stats.waves += s.waves;
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..setup.shape.threads)
                .map(|t| scope.spawn(move || work(t)))
                .collect();
            add(work(0));
            for other in others {
                match other.join() {
                    Ok(stats) => add(stats),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        let error = shared
            .error
            .into_inner()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        match error {
            Some((_, error)) => Err(error),
            None => Ok(stats),
        }
    }
}

/// What follows from kernel and launch alone.
struct Shape {
    grid: [u32; 3],
    group: [u32; 3],
    /// Workgroups in each dimension.
    groups: [u32; 3],
    /// Workgroups.
    total: u64,
    lds_bytes: u32,
    /// Bytes of scratch of a lane and of a wave.
    lane_scratch: u32,
    wave_scratch: u64,
    kernarg_size: u64,
    kernarg_align: u64,
    threads: usize,
}

impl Shape {
    fn new(target: Target, kernel: &Kernel, launch: &Launch) -> Result<Shape, RunError> {
        let fail = |why: String| RunError::Launch {
            kernel: kernel.name.clone(),
            why,
        };
        let (grid, group) = (launch.grid, launch.group);
        if grid.contains(&0) || group.contains(&0) {
            return Err(fail(format!(
                "no dimension of grid {grid:?} and workgroup {group:?} may be 0"
            )));
        }
        let metadata = kernel.metadata.as_ref();
        if group.iter().any(|&n| n > 1024) {
            return Err(fail(format!("workgroup {group:?} exceeds 1024 work-items")));
        }
        let items = group.iter().map(|&n| n as u64).product::<u64>();
        let most = metadata.map_or(0, |m| m.max_flat_workgroup_size);
        let most = if most == 0 { 1024 } else { most.min(1024) };
        if items > most {
            return Err(fail(format!(
                "a workgroup of {items} work-items exceeds the {most} it may have"
            )));
        }
        if let Some(required) = metadata.and_then(|m| m.reqd_workgroup_size)
            && required != group.map(u64::from)
        {
            return Err(fail(format!(
                "it requires workgroups of {required:?} work-items, not {group:?}"
            )));
        }
        let fixed = kernel.descriptor.group_segment_fixed_size as u64;
        let lds = fixed + launch.dynamic_lds as u64;
        let limit = target.generation().lds_bytes() as u64;
        if lds > limit {
            return Err(fail(format!(
                "{lds} bytes of LDS exceed the {limit} of {}",
                target.name()
            )));
        }
        // The hardware gives LDS in these units.
        let granule = if target.generation() == Gen::Gfx6 {
            256
        } else {
            512
        };
        let mut lane_scratch = kernel.descriptor.private_segment_fixed_size as u64;
        if metadata.is_some_and(|m| m.uses_dynamic_stack) {
            // Nobody knows; the ROCm runtime's default is of this order.
            lane_scratch += 16 << 10;
        }
        let lane_scratch = u32::try_from(lane_scratch.next_multiple_of(4)).map_err(|_| {
            fail(format!(
                "{lane_scratch} bytes of scratch a work-item are too many"
            ))
        })?;
        let size = (kernel.descriptor.kernarg_size as u64)
            .max(metadata.map_or(0, |m| m.kernarg_segment_size))
            .max(launch.kernarg.len() as u64);
        if size > 1 << 20 {
            return Err(fail(format!(
                "{size} bytes of kernel arguments are too many"
            )));
        }
        let groups: [u32; 3] = std::array::from_fn(|d| grid[d].div_ceil(group[d]));
        let total = groups
            .iter()
            .try_fold(1u64, |total, &n| total.checked_mul(n as u64));
        let total = total.ok_or_else(|| fail(format!("grid {grid:?} has too many workgroups")))?;
        Ok(Shape {
            grid,
            group,
            groups,
            total,
            lds_bytes: (lds.next_multiple_of(granule)).min(limit) as u32,
            lane_scratch,
            wave_scratch: (lane_scratch as u64 * LANES as u64).next_multiple_of(1024),
            kernarg_size: size.max(1),
            kernarg_align: metadata
                .map_or(64, |m| m.kernarg_segment_align)
                .clamp(64, PAGE_SIZE)
                .next_power_of_two(),
            threads: launch
                .threads
                .clamp(1, 1024)
                .min(usize::try_from(total).unwrap_or(1024)),
        })
    }

    fn waves_of(&self, group: [u32; 3]) -> usize {
        (group.iter().map(|&n| n as usize).product::<usize>()).div_ceil(LANES)
    }

    fn dimensions(&self) -> u16 {
        match self.grid {
            [_, 1, 1] => 1,
            [_, _, 1] => 2,
            _ => 3,
        }
    }
}

/// The kernel arguments: the launch's, and the hidden ones.
fn arguments(
    kernel: &Kernel,
    launch: &Launch,
    shape: &Shape,
    queue: u64,
    apertures: &WaveState,
) -> Vec<u8> {
    let mut bytes = vec![0; shape.kernarg_size as usize];
    bytes[..launch.kernarg.len()].copy_from_slice(&launch.kernarg);
    for arg in kernel.metadata.iter().flat_map(|m| &m.args) {
        // Counts leave out partial workgroups, whose sizes are the remainders.
        let count = |d: usize| (shape.grid[d] / shape.group[d]) as u64;
        let size = |d: usize| shape.group[d] as u64;
        let rest = |d: usize| (shape.grid[d] % shape.group[d]) as u64;
        let value = match arg.value_kind {
            ValueKind::HiddenBlockCountX => count(0),
            ValueKind::HiddenBlockCountY => count(1),
            ValueKind::HiddenBlockCountZ => count(2),
            ValueKind::HiddenGroupSizeX => size(0),
            ValueKind::HiddenGroupSizeY => size(1),
            ValueKind::HiddenGroupSizeZ => size(2),
            ValueKind::HiddenRemainderX => rest(0),
            ValueKind::HiddenRemainderY => rest(1),
            ValueKind::HiddenRemainderZ => rest(2),
            ValueKind::HiddenGridDims => shape.dimensions() as u64,
            ValueKind::HiddenPrivateBase => apertures.private_base() >> 32,
            ValueKind::HiddenSharedBase => apertures.shared_base() >> 32,
            ValueKind::HiddenQueuePtr => queue,
            ValueKind::HiddenDynamicLdsSize => launch.dynamic_lds as u64,
            // Offsets are 0; there is no printf buffer, host call, default queue, heap or other grid.
            kind if kind.hidden() => 0,
            _ => continue,
        };
        let at = usize::try_from(arg.offset).unwrap_or(usize::MAX);
        let len = arg.size.min(8) as usize;
        if let Some(place) = at.checked_add(len).and_then(|end| bytes.get_mut(at..end)) {
            place.copy_from_slice(&value.to_le_bytes()[..len]);
        }
    }
    bytes
}

/// hsa_kernel_dispatch_packet_t.
fn aql_packet(launch: &Launch, shape: &Shape, kernel_object: u64, kernarg: u64) -> [u8; 64] {
    let mut packet = [0; 64];
    let mut put = |at: usize, bytes: &[u8]| packet[at..at + bytes.len()].copy_from_slice(bytes);
    // A kernel dispatch, acquiring from and releasing to the system.
    put(0, &(2u16 | 2 << 9 | 2 << 11).to_le_bytes());
    put(2, &shape.dimensions().to_le_bytes());
    for d in 0..3 {
        put(4 + 2 * d, &(launch.group[d] as u16).to_le_bytes());
        put(12 + 4 * d, &launch.grid[d].to_le_bytes());
    }
    put(24, &shape.lane_scratch.to_le_bytes());
    put(28, &shape.lds_bytes.to_le_bytes());
    put(32, &kernel_object.to_le_bytes());
    put(40, &kernarg.to_le_bytes());
    packet
}

/// What all waves of a dispatch start from.
struct Setup<'a> {
    kernel: &'a Kernel,
    shape: &'a Shape,
    entry: u64,
    kernarg: u64,
    packet: u64,
    queue: u64,
    scratch: u64,
    dispatch_id: u64,
}

impl Setup<'_> {
    /// The V# of scratch: elements of 4 bytes of 64 lanes side by side.
    fn scratch_resource(&self, generation: Gen) -> [u32; 4] {
        let element = if generation == Gen::Gfx9 { 0 } else { 1 << 19 };
        let (index_stride, add_tid) = (3 << 21, 1 << 23);
        [
            self.scratch as u32,
            (self.scratch >> 32) as u32 & 0xffff | 1 << 31,
            u32::MAX,
            element | index_stride | add_tid,
        ]
    }

    /// The registers of wave `wave` of a workgroup of `size` work-items in each dimension.
    fn wave(
        &self,
        target: Target,
        group: [u32; 3],
        size: [u32; 3],
        wave: usize,
        slot: u64,
    ) -> WaveState {
        let descriptor = &self.kernel.descriptor;
        let generation = target.generation();
        let mut state = WaveState::new(descriptor.vgpr_count() as usize);
        let waves = self.shape.waves_of(size);
        let flat_scratch = match generation {
            Gen::Gfx9 => self.scratch,
            // The offset from the hidden base, which is the scratch's, and the size of a lane's.
            _ => (self.shape.lane_scratch as u64) << 32,
        };
        let pair = |value: u64| vec![value as u32, (value >> 32) as u32];
        let user = descriptor.user_sgprs().flat_map(|value| match value {
            UserSgpr::PrivateSegmentBuffer => self.scratch_resource(generation).to_vec(),
            UserSgpr::DispatchPtr => pair(self.packet),
            UserSgpr::QueuePtr => pair(self.queue),
            UserSgpr::KernargSegmentPtr => pair(self.kernarg),
            UserSgpr::DispatchId => pair(self.dispatch_id),
            UserSgpr::FlatScratchInit => pair(flat_scratch),
            UserSgpr::PrivateSegmentSize => vec![self.shape.lane_scratch],
        });
        // Kernels of v2 may want the numbers of workgroups too, by bits that are reserved in later descriptors.
        let counts = (0..3).filter(|d| {
            self.kernel.kernel_code.is_some()
                && descriptor.kernel_code_properties >> (7 + d) & 1 != 0
        });
        let counts = counts.map(|d| self.shape.groups[d]);
        for (register, value) in state.sgprs.iter_mut().zip(user.chain(counts)) {
            *register = value;
        }
        // The system's values follow the user SGPRs, however many of those have a value.
        let mut system = state.sgprs[descriptor.user_sgpr_count() as usize..].iter_mut();
        let mut put = |value: u32| {
            if let Some(register) = system.next() {
                *register = value;
            }
        };
        for (d, on) in descriptor.enable_workgroup_id().into_iter().enumerate() {
            if on {
                put(group[d]);
            }
        }
        if descriptor.enable_workgroup_info() {
            put(((wave == 0) as u32) << 31 | waves as u32);
        }
        if descriptor.enable_private_segment() {
            put((slot * self.shape.wave_scratch) as u32);
        }
        let items = size.iter().map(|&n| n as usize).product::<usize>();
        let first = wave * LANES;
        let lanes = (items - first.min(items)).min(LANES);
        state.set_exec(if lanes == LANES { !0 } else { (1 << lanes) - 1 });
        for lane in 0..lanes {
            let item = (first + lane) as u32;
            let id = [
                item % size[0],
                item / size[0] % size[1],
                item / (size[0] * size[1]),
            ];
            for (d, id) in id
                .into_iter()
                .enumerate()
                .take(descriptor.enable_vgpr_workitem_id() as usize + 1)
            {
                if let Some(register) = state.vgprs.get_mut(d) {
                    register[lane] = id;
                }
            }
        }
        let flag = |on: bool, bit: u32| (on as u32) << bit;
        state.mode = descriptor.float_mode()
            | flag(descriptor.dx10_clamp(), 8)
            | flag(descriptor.ieee_mode(), 9)
            | descriptor.exceptions() << 12
            | flag(generation == Gen::Gfx9 && descriptor.fp16_overflow(), 23);
        state.status = status::VALID | flag(waves > 1, 11) | flag(descriptor.priv_(), 5);
        // Compilers set M0 before they use it; until then all of the LDS is in reach.
        state.sgprs[gcn_isa::operand::M0 as usize] = self.shape.lds_bytes;
        // Blocks of 64 dwords.
        state.lds_alloc = (self.shape.lds_bytes / 256) << 12;
        state.gpr_alloc = descriptor.granulated_workitem_vgpr_count() << 8
            | descriptor.granulated_wavefront_sgpr_count() << 24;
        state.pc = self.entry;
        state
    }
}

/// What the threads of a dispatch share.
struct Shared {
    /// The next workgroup.
    next: AtomicU64,
    /// Instructions that may still run.
    fuel: Option<AtomicU64>,
    /// The lowest workgroup that failed.
    failed: AtomicU64,
    error: Mutex<Option<(u64, RunError)>>,
}

impl Shared {
    fn fail(&self, number: u64, error: RunError) {
        self.failed.fetch_min(number, Relaxed);
        let mut lowest = self
            .error
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if lowest.as_ref().is_none_or(|(at, _)| number < *at) {
            *lowest = Some((number, error));
        }
    }

    /// Takes up to `wanted` instructions' fuel.
    fn take(&self, wanted: u64) -> u64 {
        let Some(fuel) = &self.fuel else {
            return wanted;
        };
        let taken = |left: u64| left.min(wanted);
        match fuel.fetch_update(Relaxed, Relaxed, |left| Some(left - taken(left))) {
            Ok(left) | Err(left) => taken(left),
        }
    }

    fn give_back(&self, unused: u64) {
        if let Some(fuel) = &self.fuel {
            fuel.fetch_add(unused, Relaxed);
        }
    }
}

/// Instructions that a wave runs before the next wave's turn.
const SLICE: u64 = 4096;

#[derive(Clone, Copy, PartialEq)]
enum Doing {
    Running,
    Waiting,
    Halted,
    Ended,
}

/// One workgroup on one thread.
struct Workgroup<'a> {
    setup: &'a Setup<'a>,
    memory: &'a Memory,
    target: Target,
    group: [u32; 3],
    number: u64,
    thread: usize,
    shared: &'a Shared,
    stats: &'a mut Stats,
}

impl Workgroup<'_> {
    fn place(&self, wave: usize, state: &WaveState) -> Place {
        Place {
            kernel: self.setup.kernel.name.clone(),
            workgroup: self.group,
            wave,
            pc: state.pc,
            offset: state.pc.wrapping_sub(self.setup.entry) as i64,
        }
    }

    fn run(
        &mut self,
        engine: &mut dyn Engine,
        lds: &mut Lds,
        launch: &Launch,
    ) -> Result<(), RunError> {
        let shape = self.setup.shape;
        let size: [u32; 3] = std::array::from_fn(|d| {
            shape.group[d].min(shape.grid[d] - self.group[d] * shape.group[d])
        });
        let count = shape.waves_of(size);
        let slots = (self.thread * shape.waves_of(shape.group)) as u64;
        let mut waves: Vec<WaveState> = (0..count)
            .map(|w| {
                self.setup
                    .wave(self.target, self.group, size, w, slots + w as u64)
            })
            .collect();
        let mut doing = vec![Doing::Running; count];
        self.stats.waves += count as u64;
        let mut machine = Machine {
            target: self.target,
            memory: self.memory,
            code: Code::Memory,
            lds,
            hidden_private_base: self.setup.scratch,
        };
        loop {
            for w in 0..count {
                if doing[w] != Doing::Running {
                    continue;
                }
                // A lower workgroup's error is the one to report.
                if self.shared.failed.load(Relaxed) < self.number {
                    return Ok(());
                }
                let given = self.shared.take(SLICE);
                let mut fuel = given;
                let stop = engine.run(&mut waves[w], &mut machine, &mut fuel);
                self.shared.give_back(fuel);
                self.stats.instructions += given - fuel;
                let place = || self.place(w, &waves[w]);
                doing[w] = match stop {
                    Stop::Endpgm | Stop::FellOff => Doing::Ended,
                    Stop::Barrier => Doing::Waiting,
                    Stop::Halt => Doing::Halted,
                    Stop::Limit if given == 0 => {
                        let instructions = launch.max_instructions.unwrap_or(0);
                        return Err(RunError::Limit {
                            place: place(),
                            instructions,
                        });
                    }
                    Stop::Limit => Doing::Running,
                    Stop::Trap(id) => return Err(RunError::Trap { place: place(), id }),
                    Stop::Fault(report) => {
                        return Err(RunError::Fault {
                            place: place(),
                            report: Box::new(report),
                        });
                    }
                };
            }
            if doing.contains(&Doing::Running) {
                continue;
            }
            let those =
                |what: Doing| -> Vec<usize> { (0..count).filter(|&w| doing[w] == what).collect() };
            let (waiting, halted) = (those(Doing::Waiting), those(Doing::Halted));
            match (waiting.first(), halted.first()) {
                (None, None) => return Ok(()),
                (None, Some(&w)) => {
                    return Err(RunError::Halted {
                        place: self.place(w, &waves[w]),
                    });
                }
                (Some(&w), Some(_)) => {
                    let place = self.place(w, &waves[w]);
                    return Err(RunError::Deadlock {
                        place,
                        waiting,
                        halted,
                    });
                }
                (Some(_), None) => {
                    for w in waiting {
                        doing[w] = Doing::Running;
                    }
                }
            }
        }
    }
}
