//! Asynchronous copies, and work that waits for signals.

use crate::agent::is_gpu;
use crate::memory::{GPU_POOL, of_host};
use crate::runtime::{self, Runtime};
use crate::signal::lock;
use crate::status::{Status, code};
use crate::types::{Dim3, Handle, Pitched, items, put};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::Mutex;

/// Copies of up to this number of bytes that wait for no signal are synchronous.
const SMALL: usize = 256 << 10;

/// A pseudo-address of a signal that stands for new copies.
const ASKED: Handle = 0;

/// The waiting copies.
#[derive(Default)]
pub struct Copies {
    queue: Mutex<(VecDeque<Copy>, bool)>,
}

/// A copy of `rows` times `slices` rows.
pub struct Copy {
    to: usize,
    from: usize,
    bytes: usize,
    rows: usize,
    slices: usize,
    /// The pitch of rows and slices in bytes, for both sides.
    to_pitch: [usize; 2],
    from_pitch: [usize; 2],
    after: Vec<Handle>,
    completion: Handle,
}

impl Copy {
    /// A copy without bytes, which only changes the signal.
    pub fn nothing(after: &[Handle], completion: Handle) -> Copy {
        Copy {
            to: 0,
            from: 0,
            bytes: 0,
            rows: 0,
            slices: 0,
            to_pitch: [0; 2],
            from_pitch: [0; 2],
            after: after.to_vec(),
            completion,
        }
    }

    /// Copies the bytes.
    ///
    /// # Safety
    /// Both ranges are mapped, and the program does not access them in a conflicting way.
    unsafe fn run(&self) {
        let r = runtime::get().ok();
        // Kernels that may be rolled back store only to the GPU's memory.
        let of_gpu = |r: &&Runtime| r.pool_of(of_host(self.to as u64)) == Some(GPU_POOL);
        let _outside = r
            .filter(|_| self.slices > 0)
            .filter(of_gpu)
            .and_then(Runtime::outside);
        for slice in 0..self.slices {
            for row in 0..self.rows {
                let location = |base: usize, [a, b]: [usize; 2]| base + a * row + b * slice;
                let to = location(self.to, self.to_pitch);
                let from = location(self.from, self.from_pitch);
                let to: *mut u8 = std::ptr::with_exposed_provenance_mut(to);
                let from: *const u8 = std::ptr::with_exposed_provenance(from);
                // SAFETY: guaranteed by the caller; the ranges may overlap.
                unsafe { to.copy_from(from, self.bytes) };
                if let Some(r) = r {
                    r.with_checks(|checks| checks.written(to.addr() as u64, self.bytes as u64));
                }
            }
        }
    }
}

impl Runtime {
    fn ready(&self, copy: &Copy) -> bool {
        // The condition of a signal without memory counts as met.
        let done = |&s: &Handle| s == 0 || self.signal_value(s).is_none_or(|v| v == 0);
        copy.after.iter().all(done)
    }

    fn finish(&self, copy: &Copy) {
        let start = self.now();
        // SAFETY: the program guaranteed it when it requested the copy.
        unsafe { copy.run() };
        if let Err(status) = self.complete(copy.completion, Some((start, self.now()))) {
            crate::report::line(&format!("a copy's completion signal: {status:?}"));
        }
    }

    /// Copies now, or queues the copy until its signals are 0.
    pub fn start_copy(&'static self, copy: Copy) -> Result<(), Status> {
        let bytes = copy.bytes.saturating_mul(copy.rows * copy.slices);
        if bytes <= SMALL && self.ready(&copy) {
            self.finish(&copy);
            return Ok(());
        }
        let mut queue = lock(&self.copies.queue);
        if !queue.1 {
            let thread = std::thread::Builder::new().name("gcn-copies".into());
            let spawned = thread.spawn(move || self.copy_on());
            spawned.map_err(|_| Status::OutOfResources)?;
            queue.1 = true;
        }
        queue.0.push_back(copy);
        drop(queue);
        self.signalled(ASKED);
        Ok(())
    }

    /// The loop of the copy thread: it takes the first copy that need not wait.
    fn copy_on(&self) {
        loop {
            let next = || {
                let queue = &mut lock(&self.copies.queue).0;
                let first = queue.iter().position(|copy| self.ready(copy))?;
                queue.remove(first)
            };
            let asked = || (!lock(&self.copies.queue).0.is_empty()).then_some(());
            if self.wait(ASKED, None, false, asked).is_some() {
                let copy = self.wait_any(next);
                self.finish(&copy);
            }
        }
    }
}

/// # Safety
/// The caller follows the manual; this applies to all functions of the interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_memory_async_copy(
    to: *mut c_void,
    to_agent: Handle,
    from: *const c_void,
    from_agent: Handle,
    size: usize,
    count: u32,
    after: *const Handle,
    completion: Handle,
) -> u32 {
    code(runtime::get().and_then(|r| {
        is_gpu(to_agent)?;
        is_gpu(from_agent)?;
        if size != 0 && (to.is_null() || from.is_null()) {
            return Err(Status::InvalidArgument);
        }
        // SAFETY: guaranteed by the caller.
        let after = unsafe { items(after, count as usize)? };
        r.start_copy(Copy {
            to: of_host(to.expose_provenance() as u64) as usize,
            from: of_host(from.expose_provenance() as u64) as usize,
            bytes: size,
            rows: 1,
            slices: 1,
            ..Copy::nothing(after, completion)
        })
    }))
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_memory_async_copy_rect(
    to: *const Pitched,
    to_offset: *const Dim3,
    from: *const Pitched,
    from_offset: *const Dim3,
    range: *const Dim3,
    _agent: Handle,
    _direction: u32,
    count: u32,
    after: *const Handle,
    completion: Handle,
) -> u32 {
    code(runtime::get().and_then(|r| {
        // SAFETY: the caller follows the manual: each pointer is null or points to the stated number of items.
        let (to, from, range, after) = unsafe {
            let location = |p: *const Pitched, o: *const Dim3| -> Result<_, Status> {
                let ([p], [o]) = (items(p, 1)?, items(o, 1)?) else {
                    return Err(Status::InvalidArgument);
                };
                let base = of_host(p.base.expose_provenance() as u64) as usize;
                let at = base + o.x as usize + o.y as usize * p.pitch + o.z as usize * p.slice;
                Ok((at, [p.pitch, p.slice]))
            };
            let [range] = items(range, 1)? else {
                return Err(Status::InvalidArgument);
            };
            let after = items(after, count as usize)?;
            (
                location(to, to_offset)?,
                location(from, from_offset)?,
                *range,
                after,
            )
        };
        r.start_copy(Copy {
            to: to.0,
            from: from.0,
            bytes: range.x as usize,
            rows: range.y as usize,
            slices: range.z as usize,
            to_pitch: to.1,
            from_pitch: from.1,
            ..Copy::nothing(after, completion)
        })
    }))
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_memory_copy(to: *mut c_void, from: *const c_void, size: usize) -> u32 {
    if size == 0 {
        return 0;
    }
    if to.is_null() || from.is_null() {
        return Status::InvalidArgument as u32;
    }
    let copy = Copy {
        to: of_host(to.expose_provenance() as u64) as usize,
        from: of_host(from.expose_provenance() as u64) as usize,
        bytes: size,
        rows: 1,
        slices: 1,
        ..Copy::nothing(&[], 0)
    };
    // SAFETY: guaranteed by the caller.
    unsafe { copy.run() };
    0
}

#[unsafe(no_mangle)]
pub extern "C" fn hsa_amd_profiling_async_copy_enable(_enable: bool) -> u32 {
    0
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_profiling_get_async_copy_time(
    signal: Handle,
    time: *mut c_void,
) -> u32 {
    code(runtime::get().and_then(|r| {
        let (start, end) = r.times(signal)?;
        // SAFETY: guaranteed by the caller.
        unsafe { put(time, [start, end]) }
    }))
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_profiling_get_dispatch_time(
    _agent: Handle,
    signal: Handle,
    time: *mut c_void,
) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe { hsa_amd_profiling_get_async_copy_time(signal, time) }
}
