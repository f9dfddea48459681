//! The initial state of a kernel: kernel arguments, packet, queue, scratch and the registers of its waves, according to the
//! HSA ABI.

use super::host::{Channel, Host, PRINTF_BYTES};
use super::hostcall::{Heap, Hostcall};
use super::observers::Service;
use super::printf::Declared;
use super::{Gpu, Launch, Loaded, Packet, Queue, RunError, WaveLocation};
use crate::global::WaveSync;
use crate::group::{Like, Row};
use crate::mem::{Fault, MemError, PAGE_SIZE, Perm};
use crate::wave::{self, LANES, WaveState, status};
use gcn_isa::target::{Gen, Target};
use gcn_object::descriptor::UserSgpr;
use gcn_object::kernel_code::KernelCode;
use gcn_object::metadata::ValueKind;
use gcn_object::read::Kernel;
use gcn_object::target::Os;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

impl Gpu {
    /// Puts kernel arguments, packet, queue and scratch into memory.
    pub(super) fn prepare<'a>(
        &self,
        loaded: &Loaded,
        kernel: &'a Kernel,
        launch: &Launch,
        shape: &'a Shape,
        regions: &mut Vec<u64>,
    ) -> Result<Setup<'a>, RunError> {
        let fail = |why: String| RunError::Launch {
            kernel: kernel.name.clone(),
            why,
        };
        let fault = |fault: Fault| fail(fault.to_string());
        let wants = |kind| wants(kernel, kind);
        let formats = loaded.printf.iter().map(|text| Declared::parse(text));
        let formats: Vec<_> = formats.collect::<Result<_, _>>().map_err(fail)?;
        let prints = wants(ValueKind::HiddenPrintfBuffer) && !formats.is_empty();
        let calls = wants(ValueKind::HiddenHostcallBuffer);
        if calls || wants(ValueKind::HiddenHeapV1) {
            self.open_heap()?;
        }
        // What is in scratch and in buffers for messages does not matter.
        let mut alloc_unspecified = |size: u64, align: u64| -> Result<u64, MemError> {
            let at = self.memory.alloc_unspecified(size, align, Perm::RW)?;
            regions.push(at);
            Ok(at)
        };
        let slots = (shape.resident * shape.waves_of(launch.group)) as u64;
        let scratch = match slots * shape.wave_scratch {
            0 => 0,
            bytes if bytes > u32::MAX as u64 => {
                let why = format!("it needs {bytes} bytes of scratch for {slots} waves at a time");
                return Err(fail(why));
            }
            // Waves find what earlier ones have left there, and so do those of the next dispatch.
            bytes => alloc_unspecified(bytes, 256)?,
        };
        let waves = shape.waves_of(launch.group);
        // Workgroups that print have their own arguments, which point to their own buffer.
        let residents = if prints || calls { shape.resident } else { 1 };
        // All buffers of a kind are one region: for each one, the host would be asked for small pages.
        let mut alloc_sparse = |wanted: bool, size: u64| -> Result<Option<u64>, MemError> {
            if !wanted {
                return Ok(None);
            }
            let all = residents as u64 * size;
            let at = self.memory.alloc_sparse(all, 64, Perm::RW)?;
            regions.push(at);
            Ok(Some(at))
        };
        let hostcall_bytes = Hostcall::bytes(waves).next_multiple_of(64);
        let printf = alloc_sparse(prints, PRINTF_BYTES)?;
        let hostcalls = alloc_sparse(calls, hostcall_bytes)?;
        let channels = (0..residents as u64).map(|n| {
            let mut channel = Channel::default();
            channel.printf = printf.map(|at| at + n * PRINTF_BYTES);
            (channel, hostcalls.map(|at| at + n * hostcall_bytes))
        });
        let channels: Vec<_> = channels.collect();
        let mut alloc = |size: u64, align: u64| -> Result<u64, MemError> {
            let at = self.memory.alloc(size, align, Perm::RW)?;
            regions.push(at);
            Ok(at)
        };
        let queue = alloc(PAGE_SIZE, 64)?;
        let multigrid = match wants(ValueKind::HiddenMultigridSyncArg) {
            true => alloc(128, 64)?,
            false => 0,
        };
        let arguments_stride = shape.kernarg_size.next_multiple_of(shape.kernarg_align);
        let kernarg = alloc(arguments_stride * residents as u64, shape.kernarg_align)?;
        let packet = alloc(64 * residents as u64, 64)?;
        let memory = &self.memory;
        let channels = channels.into_iter().map(|(mut channel, hostcall)| {
            if let Some(at) = channel.printf {
                Host::open_printf(memory, at)?;
            }
            if let Some(at) = hostcall {
                channel.hostcall = Some(Hostcall::new(memory, at, waves)?);
            }
            Ok(channel)
        });
        let channels: Vec<Channel> = channels.collect::<Result<_, _>>().map_err(fault)?;
        let apertures = WaveState::new(1);
        let kernel_object = loaded.base.wrapping_add(kernel.descriptor_address);
        for (n, channel) in channels.iter().enumerate() {
            let own = Hidden {
                queue,
                multigrid,
                printf: channel.printf.unwrap_or(0),
                hostcall: channel.hostcall.as_ref().map_or(0, Hostcall::address),
                heap: self.heap.get().map_or(0, |heap| heap.header),
            };
            let own_kernarg = kernarg + n as u64 * arguments_stride;
            let arguments = arguments(kernel, launch, shape, &own, &apertures);
            let packet_bytes = aql_packet(launch, shape, kernel_object, own_kernarg);
            memory.write(own_kernarg, &arguments).map_err(fault)?;
            memory
                .write(packet + n as u64 * 64, &packet_bytes)
                .map_err(fault)?;
        }
        let setup = Setup {
            kernel: Cow::Borrowed(kernel),
            shape: Cow::Borrowed(shape),
            entry: loaded.base.wrapping_add(kernel.entry),
            kernarg,
            arguments_stride,
            packet,
            queue,
            scratch,
            dispatch_id: self.dispatches.load(Relaxed),
            service: launch.observers.service.clone(),
            wave_sync: None,
            host: (prints || calls).then(|| Host::new(channels, formats, self.heap.get().cloned())),
        };
        let generation = self.target.generation();
        memory
            .write(queue, &setup.amd_queue(generation, &apertures))
            .map_err(fault)?;
        if multigrid != 0 {
            // There is one grid: its own state, its number, the number of grids, the work-items before it and in total.
            let items = shape.grid.iter().map(|&n| n as u64).product::<u64>();
            memory.store_u64(multigrid, multigrid + 64).map_err(fault)?;
            memory.store_u32(multigrid + 12, 1).map_err(fault)?;
            memory.store_u64(multigrid + 24, items).map_err(fault)?;
        }
        Ok(setup)
    }

    /// The initial state of waves whose packet is on a queue of the caller.
    pub(super) fn of_packet<'a>(
        &self,
        queue: &Queue,
        packet: &Packet,
        base: u64,
        kernel: &'a Kernel,
        shape: &'a Shape,
    ) -> Result<Setup<'a>, RunError> {
        let slots = (shape.resident * shape.waves_of(shape.group)) as u64;
        let bytes = slots * shape.wave_scratch;
        if bytes > u32::MAX as u64 {
            return Err(RunError::Launch {
                kernel: kernel.name.clone(),
                why: format!("it needs {bytes} bytes of scratch for {slots} waves at a time"),
            });
        }
        Ok(Setup {
            kernel: Cow::Borrowed(kernel),
            shape: Cow::Borrowed(shape),
            entry: base.wrapping_add(kernel.entry),
            kernarg: packet.kernarg,
            arguments_stride: 0,
            packet: packet.address,
            queue: queue.address,
            scratch: queue.scratch(&self.memory, bytes)?,
            dispatch_id: packet.number,
            service: None,
            wave_sync: Some(self.wave_sync.clone()),
            host: None,
        })
    }

    /// Creates the heap of device memory, at its first use.
    fn open_heap(&self) -> Result<(), RunError> {
        if self.heap.get().is_none() {
            let size = (self.memory.free_bytes() / 4).min(LARGEST_HEAP);
            let header = self
                .memory
                .alloc(Heap::HEADER_BYTES, Heap::ALIGN, Perm::RW)?;
            let start = self.memory.alloc(size, Heap::ALIGN, Perm::RW)?;
            // Another thread may have been faster; then the memory mapped here stays unused.
            let _ = self.heap.set(Arc::new(Heap::new(header, start, size)));
        }
        Ok(())
    }
}

/// The maximum bytes that kernels can allocate at run time, in total.
const LARGEST_HEAP: u64 = 256 << 20;

/// The addresses in hidden arguments.
struct Hidden {
    queue: u64,
    multigrid: u64,
    printf: u64,
    hostcall: u64,
    heap: u64,
}

/// Returns true if a kernel has a hidden argument of a kind.
fn wants(kernel: &Kernel, kind: ValueKind) -> bool {
    let mut args = kernel.metadata.iter().flat_map(|m| &m.args);
    args.any(|a| a.value_kind == kind)
}

/// The properties that follow from kernel and launch alone.
#[derive(Clone)]
pub(super) struct Shape {
    pub(super) grid: [u32; 3],
    pub(super) group: [u32; 3],
    /// The number of workgroups in each dimension.
    pub(super) groups: [u32; 3],
    /// The number of the first workgroup to run.
    pub(super) first: u64,
    /// The number after the last workgroup to run: all workgroups, or those up to the end of a part.
    pub(super) total: u64,
    pub(super) lds_bytes: u32,
    /// Bytes of scratch per lane and per wave.
    pub(super) lane_scratch: u32,
    pub(super) wave_scratch: u64,
    pub(super) kernarg_size: u64,
    pub(super) kernarg_align: u64,
    pub(super) threads: usize,
    /// The maximum number of workgroups that run at a time, each with a slot of scratch.
    pub(super) resident: usize,
    /// The offset of the data that Mesa's kernels read after their arguments.
    mesa_implicit: Option<usize>,
}

impl Shape {
    /// Reduces the number of workgroups that run at a time, if each needs a buffer for its requests to the host.
    pub(super) fn make_room_for_host(&mut self, loaded: &Loaded, kernel: &Kernel, free: u64) {
        let mut own = 0;
        if wants(kernel, ValueKind::HiddenPrintfBuffer) && !loaded.printf.is_empty() {
            own += PRINTF_BYTES;
        }
        if wants(kernel, ValueKind::HiddenHostcallBuffer) {
            own += Hostcall::bytes(self.waves_of(self.group));
        }
        if let Some(most) = (free / 4).checked_div(own) {
            self.resident = self.resident.min(most.clamp(1, 64) as usize);
        }
    }

    /// Increases the scratch of each lane to at least this number of bytes.
    pub(super) fn widen_scratch(&mut self, bytes: u32) {
        let bytes = bytes.checked_next_multiple_of(4).unwrap_or(!3);
        self.lane_scratch = self.lane_scratch.max(bytes);
        self.wave_scratch = (self.lane_scratch as u64 * LANES as u64).next_multiple_of(1024);
    }

    pub(super) fn new(
        target: Target,
        os: Os,
        kernel: &Kernel,
        launch: &Launch,
    ) -> Result<Shape, RunError> {
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
        // The hardware allocates LDS in these units.
        let granule = if target.generation() == Gen::Gfx6 {
            256
        } else {
            512
        };
        let mut lane_scratch = kernel.descriptor.private_segment_fixed_size as u64;
        if metadata.is_some_and(|m| m.uses_dynamic_stack) {
            // The required size is unknown; the ROCm runtime's default is of this order.
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
        let part = launch.workgroups.clone().unwrap_or(0..total);
        if part.start > part.end || part.end > total {
            return Err(fail(format!(
                "it has {total} workgroups, and those from {} to {} are to run",
                part.start, part.end
            )));
        }
        let (first, total) = (part.start, part.end);
        Ok(Shape {
            grid,
            group,
            groups,
            first,
            total,
            lds_bytes: (lds.next_multiple_of(granule)).min(limit) as u32,
            lane_scratch,
            wave_scratch: (lane_scratch as u64 * LANES as u64).next_multiple_of(1024),
            mesa_implicit: (kernel.descriptor.kernarg_size as usize)
                .checked_sub(MESA_IMPLICIT)
                .filter(|at| os == Os::Mesa3d && *at >= launch.kernarg.len()),
            kernarg_size: size.max(1),
            kernarg_align: metadata
                .map_or(64, |m| m.kernarg_segment_align)
                .clamp(64, PAGE_SIZE)
                .next_power_of_two(),
            threads: match launch.deterministic {
                true => 1,
                false => {
                    let groups = usize::try_from(total - first).unwrap_or(1024);
                    launch.threads.min(groups).clamp(1, 1024)
                }
            },
            resident: 1,
        })
    }

    pub(super) fn waves_of(&self, group: [u32; 3]) -> usize {
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

/// Bytes that Mesa's kernels read after their arguments: the number of dimensions and the global offsets.
const MESA_IMPLICIT: usize = 16;

/// The kernel arguments: those of the launch, and the hidden ones.
fn arguments(
    kernel: &Kernel,
    launch: &Launch,
    shape: &Shape,
    hidden: &Hidden,
    apertures: &WaveState,
) -> Vec<u8> {
    let mut bytes = vec![0; shape.kernarg_size as usize];
    bytes[..launch.kernarg.len()].copy_from_slice(&launch.kernarg);
    if let Some(at) = shape.mesa_implicit
        && let Some(location) = bytes.get_mut(at..at + MESA_IMPLICIT)
    {
        let offset = launch.offset.map(|n| n as u32);
        let words = [shape.dimensions() as u32, offset[0], offset[1], offset[2]];
        for (location, word) in location.chunks_exact_mut(4).zip(words) {
            location.copy_from_slice(&word.to_le_bytes());
        }
    }
    for arg in kernel.metadata.iter().flat_map(|m| &m.args) {
        // Counts exclude partial workgroups, whose sizes are the remainders.
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
            ValueKind::HiddenQueuePtr => hidden.queue,
            ValueKind::HiddenDynamicLdsSize => launch.dynamic_lds as u64,
            ValueKind::HiddenGlobalOffsetX => launch.offset[0],
            ValueKind::HiddenGlobalOffsetY => launch.offset[1],
            ValueKind::HiddenGlobalOffsetZ => launch.offset[2],
            ValueKind::HiddenPrintfBuffer => hidden.printf,
            ValueKind::HiddenHostcallBuffer => hidden.hostcall,
            ValueKind::HiddenMultigridSyncArg => hidden.multigrid,
            ValueKind::HiddenHeapV1 => hidden.heap,
            // Kernels cannot enqueue anything: there is no default queue and no completion action.
            kind if kind.hidden() => 0,
            _ => continue,
        };
        let at = usize::try_from(arg.offset).unwrap_or(usize::MAX);
        let len = arg.size.min(8) as usize;
        if let Some(location) = at.checked_add(len).and_then(|end| bytes.get_mut(at..end)) {
            location.copy_from_slice(&value.to_le_bytes()[..len]);
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

/// The initial state that all waves of a dispatch share.
pub(super) struct Setup<'a> {
    pub(super) kernel: Cow<'a, Kernel>,
    pub(super) shape: Cow<'a, Shape>,
    pub(super) entry: u64,
    pub(super) kernarg: u64,
    pub(super) packet: u64,
    pub(super) queue: u64,
    pub(super) scratch: u64,
    pub(super) dispatch_id: u64,
    /// Resources of global wave sync that are shared with other dispatches.
    pub(super) wave_sync: Option<WaveSync>,
    /// The host's service for waves while they run.
    pub(super) service: Option<Arc<dyn Service>>,
    /// The distance in bytes from one resident workgroup's arguments to the next one's, if each has its own.
    pub(super) arguments_stride: u64,
    /// Serves the requests of kernels while they run, for kernels that can make any.
    pub(super) host: Option<Host>,
}

impl Setup<'_> {
    /// The same, with its own kernel and shape.
    pub(super) fn into_owned(self) -> Setup<'static> {
        Setup {
            kernel: Cow::Owned(self.kernel.into_owned()),
            shape: Cow::Owned(self.shape.into_owned()),
            entry: self.entry,
            kernarg: self.kernarg,
            packet: self.packet,
            queue: self.queue,
            scratch: self.scratch,
            dispatch_id: self.dispatch_id,
            wave_sync: self.wave_sync,
            service: self.service,
            arguments_stride: self.arguments_stride,
            host: self.host,
        }
    }

    /// The location of a wave.
    pub(super) fn location(&self, group: [u32; 3], wave: usize, pc: u64) -> WaveLocation {
        WaveLocation {
            kernel: self.kernel.name.clone(),
            workgroup: group,
            wave,
            pc,
            offset: pc.wrapping_sub(self.entry) as i64,
            address: pc.wrapping_sub(self.entry).wrapping_add(self.kernel.entry),
            source: None,
        }
    }

    /// The V# of scratch: 4-byte elements; those of the 64 lanes are adjacent.
    fn scratch_resource(&self, generation: Gen) -> [u32; 4] {
        let element = match (&self.kernel.kernel_code, generation) {
            (_, Gen::Gfx9) => 0,
            (None, _) => 1,
            // Older compilers may need elements of up to 16 bytes.
            (Some(code), _) => KernelCode::from_bytes(**code).named("private_element_size") as u32,
        } << 19;
        let (index_stride, add_tid) = (3 << 21, 1 << 23);
        [
            self.scratch as u32,
            (self.scratch >> 32) as u32 & 0xffff | 1 << 31,
            u32::MAX,
            element | index_stride | add_tid,
        ]
    }

    /// amd_queue_t: the queue that contains the packet, with the upper halves of the apertures, and scratch.
    fn amd_queue(&self, generation: Gen, apertures: &WaveState) -> [u8; 256] {
        let mut queue = [0; 256];
        let mut put = |at: usize, bytes: &[u8]| queue[at..at + bytes.len()].copy_from_slice(bytes);
        // The queue accepts kernel dispatches.
        put(4, &1u32.to_le_bytes());
        put(8, &self.packet.to_le_bytes());
        put(24, &1u32.to_le_bytes());
        put(56, &(self.dispatch_id + 1).to_le_bytes());
        put(64, &((apertures.shared_base() >> 32) as u32).to_le_bytes());
        put(68, &((apertures.private_base() >> 32) as u32).to_le_bytes());
        put(128, &self.dispatch_id.to_le_bytes());
        for (n, word) in self.scratch_resource(generation).into_iter().enumerate() {
            put(144 + 4 * n, &word.to_le_bytes());
        }
        put(160, &self.scratch.to_le_bytes());
        let slots = (self.shape.resident * self.shape.waves_of(self.shape.group)) as u64;
        put(168, &(slots * self.shape.wave_scratch).to_le_bytes());
        put(176, &self.shape.lane_scratch.to_le_bytes());
        // IS_PTR64.
        put(180, &2u32.to_le_bytes());
        queue
    }

    /// The registers of wave `wave` of a workgroup of `size` work-items in each dimension.
    pub(super) fn wave(
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
            // The offset from the hidden base, which is the scratch's address, and the size of a lane's scratch.
            _ => (self.shape.lane_scratch as u64) << 32,
        };
        let pair = |value: u64| vec![value as u32, (value >> 32) as u32];
        // The slot of this workgroup among those that run at a time.
        let resident = match &self.host {
            Some(_) => slot / self.shape.waves_of(self.shape.group) as u64,
            None => 0,
        };
        let user = descriptor.user_sgprs().flat_map(|value| match value {
            UserSgpr::PrivateSegmentBuffer => self.scratch_resource(generation).to_vec(),
            UserSgpr::DispatchPtr => pair(self.packet + 64 * resident),
            UserSgpr::QueuePtr => pair(self.queue),
            UserSgpr::KernargSegmentPtr => pair(self.kernarg + self.arguments_stride * resident),
            UserSgpr::DispatchId => pair(self.dispatch_id),
            UserSgpr::FlatScratchInit => pair(flat_scratch),
            UserSgpr::PrivateSegmentSize => vec![self.shape.lane_scratch],
        });
        // Kernels of v2 may also request the number of workgroups, by bits that are reserved in later descriptors.
        let counts = (0..3).filter(|d| {
            self.kernel.kernel_code.is_some()
                && descriptor.kernel_code_properties >> (7 + d) & 1 != 0
        });
        let counts = counts.map(|d| self.shape.groups[d]);
        for (register, value) in state.sgprs.iter_mut().zip(user.chain(counts)) {
            *register = value;
        }
        // The system SGPRs follow the user SGPRs, even if not all of those have a value.
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
        // What lanes without a work-item have is unspecified. Their numbers continue the last work-item's row (or column, if rows have one work-item), so
        // that what compiled code assumes of the numbers of 16 lanes also holds for the last wave of a workgroup.
        let along = size.iter().position(|&n| n > 1).unwrap_or(0);
        for lane in 0..LANES {
            let beyond = (lane + 1).saturating_sub(lanes) as u32;
            let item = (first + lane) as u32 - beyond;
            let mut id = [
                item % size[0],
                item / size[0] % size[1],
                item / (size[0] * size[1]),
            ];
            id[along] += beyond;
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
        // Compilers set M0 before they use it; until then all of the LDS is accessible.
        state.sgprs[gcn_isa::operand::M0 as usize] = self.shape.lds_bytes;
        state.lds_alloc = wave::lds_alloc(self.shape.lds_bytes);
        state.gpr_alloc = wave::gpr_alloc(
            4 * (descriptor.granulated_workitem_vgpr_count() + 1),
            8 * (descriptor.granulated_wavefront_sgpr_count() + 1),
            generation,
        );
        state.hw_id = self.hw_id(group, wave);
        state.pc = self.entry;
        state
    }

    fn hw_id(&self, group: [u32; 3], wave: usize) -> u32 {
        let [x, y, z] = group.map(u64::from);
        let [across, down, _] = self.shape.groups.map(u64::from);
        wave::hw_id((z * down + y) * across + x, wave)
    }

    /// The initial state of wave `wave` of workgroups of `size` work-items in each dimension.
    pub(super) fn like(&self, target: Target, size: [u32; 3], wave: usize) -> Like {
        Like::new(self.wave(target, [0; 3], size, wave, 0))
    }

    /// The values specific to the waves of a workgroup; the first wave has scratch slot `slot`.
    pub(super) fn own(&self, group: [u32; 3], slot: u64) -> Own {
        let descriptor = &self.kernel.descriptor;
        let mut at = descriptor.user_sgpr_count() as u16;
        let mut own = Own {
            hw_id: self.hw_id(group, 0),
            ..Own::default()
        };
        for (d, on) in descriptor.enable_workgroup_id().into_iter().enumerate() {
            if on {
                own.ids[own.count] = (at, group[d]);
                own.dimensions[own.count] = d as u8;
                own.count += 1;
                at += 1;
            }
        }
        // They are followed by the first one again.
        let first = own.dimensions[0];
        own.dimensions[own.count..].fill(first);
        at += descriptor.enable_workgroup_info() as u16;
        if descriptor.enable_private_segment() {
            let stride = self.shape.wave_scratch as u32;
            own.scratch = Some((at, (slot as u32).wrapping_mul(stride), stride));
        }
        own
    }

    /// Changes the values of another workgroup to those of this one, as [`Setup::own`] returns them.
    pub(super) fn own_again(&self, own: &mut Own, group: [u32; 3], slot: u64) {
        own.hw_id = self.hw_id(group, 0);
        let row = own.row(group);
        for (id, value) in own.ids.iter_mut().zip(row) {
            id.1 = value;
        }
        if let Some((_, first, stride)) = &mut own.scratch {
            *first = (slot as u32).wrapping_mul(*stride);
        }
    }
}

/// The values specific to the waves of a workgroup: see [`Starts`](crate::group::Starts).
#[derive(Clone, Copy, Default)]
pub(super) struct Own {
    ids: [(u16, u32); 3],
    /// Their dimensions; the unused entries repeat the first one.
    dimensions: [u8; 3],
    count: usize,
    pub(super) scratch: Option<(u16, u32, u32)>,
    pub(super) hw_id: u32,
}

impl Own {
    pub(super) fn ids(&self) -> &[(u16, u32)] {
        &self.ids[..self.count]
    }

    /// The SGPRs that take the workgroup's IDs; `count` of them are valid.
    pub(super) fn registers(&self) -> ([u16; 3], usize) {
        (self.ids.map(|id| id.0), self.count)
    }

    /// The IDs of a workgroup as its waves take them.
    pub(super) fn row(&self, group: [u32; 3]) -> Row {
        let [a, b, c] = self.dimensions;
        let of = |d: u8| group[d as usize % 3];
        [of(a), of(b), of(c)]
    }
}
