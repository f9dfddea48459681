//! What a kernel finds when it starts: kernel arguments, packet, queue, scratch and the registers of its waves, as the
//! HSA ABI has them.

use super::watch::Service;
use super::{Gpu, Launch, Loaded, RunError};
use crate::mem::{MemError, PAGE_SIZE, Perm};
use crate::wave::{self, LANES, WaveState, status};
use gcn_isa::target::{Gen, Target};
use gcn_object::descriptor::UserSgpr;
use gcn_object::metadata::ValueKind;
use gcn_object::read::Kernel;
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
        let mut alloc = |size: u64, align: u64| -> Result<u64, MemError> {
            let at = self.memory.alloc(size, align, Perm::RW)?;
            regions.push(at);
            Ok(at)
        };
        let kernarg = alloc(shape.kernarg_size, shape.kernarg_align)?;
        let packet = alloc(64, 64)?;
        let queue = alloc(PAGE_SIZE, 64)?;
        let slots = (shape.resident * shape.waves_of(launch.group)) as u64;
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
            dispatch_id: self.dispatches.load(Relaxed),
            service: launch.watch.service.clone(),
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
}

/// What follows from kernel and launch alone.
pub(super) struct Shape {
    pub(super) grid: [u32; 3],
    pub(super) group: [u32; 3],
    /// Workgroups in each dimension.
    pub(super) groups: [u32; 3],
    /// Workgroups.
    pub(super) total: u64,
    pub(super) lds_bytes: u32,
    /// Bytes of scratch of a lane and of a wave.
    pub(super) lane_scratch: u32,
    pub(super) wave_scratch: u64,
    pub(super) kernarg_size: u64,
    pub(super) kernarg_align: u64,
    pub(super) threads: usize,
    /// Workgroups that are under way at a time, each with a slot of scratch.
    pub(super) resident: usize,
}

impl Shape {
    pub(super) fn new(target: Target, kernel: &Kernel, launch: &Launch) -> Result<Shape, RunError> {
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
            threads: match launch.deterministic {
                true => 1,
                false => {
                    (launch.threads.clamp(1, 1024)).min(usize::try_from(total).unwrap_or(1024))
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
pub(super) struct Setup<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) shape: &'a Shape,
    pub(super) entry: u64,
    pub(super) kernarg: u64,
    pub(super) packet: u64,
    pub(super) queue: u64,
    pub(super) scratch: u64,
    pub(super) dispatch_id: u64,
    /// What the host does for waves while they run.
    pub(super) service: Option<Arc<dyn Service>>,
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
        state.lds_alloc = wave::lds_alloc(self.shape.lds_bytes);
        state.gpr_alloc = wave::gpr_alloc(
            4 * (descriptor.granulated_workitem_vgpr_count() + 1),
            8 * (descriptor.granulated_wavefront_sgpr_count() + 1),
            generation,
        );
        let [x, y, z] = group.map(u64::from);
        let [across, down, _] = self.shape.groups.map(u64::from);
        state.hw_id = wave::hw_id((z * down + y) * across + x, wave);
        state.pc = self.entry;
        state
    }
}
