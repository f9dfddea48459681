//! Queues of packets, and the thread of each that processes them.
//!
//! A queue is an `amd_queue_t` and a ring of packets of 64 bytes, in memory that the program and kernels share. A thread
//! processes the packets in order, each to its end; a packet's barrier bit is therefore always obeyed. The thread keeps its own
//! copy of the ring's address and the next index: a kernel that overwrites the queue can only produce bad packets.

use crate::agent::is_gpu;
use crate::report;
use crate::runtime::{self, Runtime};
use crate::signal::{holds, lock};
use crate::status::{Status, code};
use crate::types::{Handle, QueueCallback, QueueHead, Value};
use gcn_emu::dispatch::observers::{Control, Observers};
use gcn_emu::dispatch::step::Stepper;
use gcn_emu::dispatch::{self, Launch, Packet, RunError};
use gcn_emu::engine::FaultKind;
use gcn_emu::mem::{PAGE_SIZE, Perm};
use gcn_emu::wave::WaveState;
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*, fence};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// The size of a packet in bytes.
const PACKET: u64 = 64;

/// The offsets of the fields of `amd_queue_t`.
const WRITE_INDEX: u64 = 56;
const SHARED_BASE: u64 = 64;
const PRIVATE_BASE: u64 = 68;
const READ_INDEX: u64 = 128;
const PROPERTIES: u64 = 180;
const INACTIVE: u64 = 192;

/// A queue and the thread that processes its packets.
type Running = (Arc<Queue>, JoinHandle<()>);

/// The queues by their addresses.
#[derive(Default)]
pub struct Queues {
    list: Mutex<HashMap<u64, Running>>,
    made: AtomicU64,
}

/// The state of a queue's thread.
pub struct Queue {
    at: u64,
    ring: u64,
    size: u64,
    doorbell: Handle,
    inactive: Handle,
    /// True if the thread must end.
    ends: AtomicBool,
    callback: Option<QueueCallback>,
    /// A value of the program, which is passed back to it.
    data: usize,
    state: dispatch::Queue,
}

/// A signal of a packet.
fn word(bytes: &[u8; 64], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

fn half(bytes: &[u8; 64], at: usize) -> u32 {
    word(bytes, at & !7).wrapping_shr(8 * (at as u32 & 4)) as u32
}

fn quarter(bytes: &[u8; 64], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

impl Runtime {
    /// Creates a queue and its thread. Returns its address.
    fn new_queue(
        &'static self,
        kind: u32,
        size: u32,
        callback: Option<QueueCallback>,
        data: usize,
    ) -> Result<u64, Status> {
        let memory = self.memory();
        let alloc = |bytes: u64| {
            let at = memory.alloc(bytes, PAGE_SIZE, Perm::RW);
            at.map_err(|_| Status::OutOfResources)
        };
        let at = alloc(PAGE_SIZE)?;
        let ring = alloc(size as u64 * PACKET)?;
        let (doorbell, inactive) = (self.new_signal(0)?, self.new_signal(0)?);
        let apertures = WaveState::new(1);
        let number = self.queues.made.fetch_add(1, Relaxed);
        let upper = |base: u64| (base >> 32) as u32;
        let fill = || {
            memory.store_u32(at, kind)?;
            // The queue accepts kernel dispatches.
            memory.store_u32(at + 4, 1)?;
            memory.store_u64(at + 8, ring)?;
            memory.store_u64(at + 16, doorbell)?;
            memory.store_u32(at + 24, size)?;
            memory.store_u64(at + 32, number)?;
            memory.store_u32(at + SHARED_BASE, upper(apertures.shared_base()))?;
            memory.store_u32(at + PRIVATE_BASE, upper(apertures.private_base()))?;
            // IS_PTR64, and profiling.
            memory.store_u32(at + PROPERTIES, 2 | 8)?;
            memory.store_u64(at + INACTIVE, inactive)?;
            (0..size as u64).try_for_each(|n| memory.store_u16(ring + n * PACKET, 1))
        };
        fill().map_err(|_| Status::Error)?;
        let queue = Arc::new(Queue {
            at,
            ring,
            size: size as u64,
            doorbell,
            inactive,
            ends: AtomicBool::new(false),
            callback,
            data,
            state: dispatch::Queue::new(at),
        });
        let thread = std::thread::Builder::new().name(format!("gcn-queue-{number}"));
        let own = queue.clone();
        let spawned = thread.spawn(move || own.work(self));
        let spawned = spawned.map_err(|_| Status::OutOfResources)?;
        lock(&self.queues.list).insert(at, (queue, spawned));
        Ok(at)
    }

    fn end_queue(&self, at: u64) -> Result<(), Status> {
        let found = lock(&self.queues.list).remove(&at);
        let (queue, thread) = found.ok_or(Status::InvalidQueue)?;
        queue.ends.store(true, SeqCst);
        self.signalled(queue.doorbell);
        if thread.thread().id() != std::thread::current().id() {
            // The error was already reported.
            let _ = thread.join();
        }
        queue.state.close(self.memory());
        // The program may have destroyed them.
        let _ = self.free_slot(queue.doorbell);
        let _ = self.free_slot(queue.inactive);
        for region in [queue.at, queue.ring] {
            // Each was allocated for this queue.
            let _ = self.memory().free(region);
        }
        Ok(())
    }
}

/// The reason why a queue stopped.
struct Broken {
    status: Status,
    text: String,
}

impl Broken {
    fn new(status: Status, text: impl Into<String>) -> Broken {
        Broken {
            status,
            text: text.into(),
        }
    }
}

impl Queue {
    /// Processes packets until the queue is destroyed or stops with an error.
    fn work(&self, r: &'static Runtime) {
        let memory = r.memory();
        let mut next = 0;
        loop {
            let at = self.ring + next % self.size * PACKET;
            let ready = || {
                if self.ends.load(SeqCst) {
                    return Some(None);
                }
                match memory.load_u32(at) {
                    Ok(header) if header as u8 == 1 => None,
                    Ok(header) => Some(Some(header as u16)),
                    Err(_) => Some(None),
                }
            };
            let Some(Some(header)) = r.wait(self.doorbell, None, false, ready) else {
                return;
            };
            fence(Acquire);
            let mut bytes = [0; 64];
            let read = memory.read(at, &mut bytes);
            let done = match read {
                Ok(()) => self.process(r, header, next, at, &bytes),
                Err(e) => Err(Broken::new(Status::InvalidPacket, e.to_string())),
            };
            if let Err(broken) = done {
                return self.fail(r, &broken);
            }
            next += 1;
            // The writer of the next packet in this slot waits until the read index has passed this one.
            let gone = memory.store_u16(at, 1);
            fence(Release);
            if gone
                .and(memory.store_u64(self.at + READ_INDEX, next))
                .is_err()
            {
                return;
            }
        }
    }

    /// Processes a packet.
    fn process(
        &self,
        r: &Runtime,
        header: u16,
        number: u64,
        at: u64,
        bytes: &[u8; 64],
    ) -> Result<(), Broken> {
        let completion = word(bytes, 56);
        let times = match header as u8 {
            2 => Some(self.dispatch(r, number, at, bytes)?),
            3 => {
                self.barrier(r, |done| (0..5).all(|n| done(word(bytes, 8 + 8 * n))));
                None
            }
            5 => {
                let signals: Vec<u64> = (0..5).map(|n| word(bytes, 8 + 8 * n)).collect();
                let none = signals.iter().all(|&s| s == 0);
                self.barrier(r, |done| none || signals.iter().any(|&s| s != 0 && done(s)));
                None
            }
            // AMD's vendor-specific packets; the one for queues is the barrier on a value.
            0 if bytes[2] == 2 => {
                let (signal, value, mask) = (word(bytes, 8), word(bytes, 16), word(bytes, 24));
                let condition = half(bytes, 32);
                let met = |now: Value| holds(condition, now & mask as Value, value as Value);
                self.wait(r, signal, || {
                    signal == 0 || r.signal_value(signal).is_none_or(met)
                });
                None
            }
            4 => {
                let text =
                    format!("packet {number} is an agent dispatch, which a GPU does not take");
                return Err(Broken::new(Status::InvalidPacket, text));
            }
            kind => {
                let text = format!("packet {number} has a header of no kind: {kind}");
                return Err(Broken::new(Status::InvalidPacket, text));
            }
        };
        if self.ends.load(SeqCst) {
            return Ok(());
        }
        let now = || r.now();
        let times = times.unwrap_or_else(|| (now(), now()));
        r.complete(completion, Some(times)).map_err(|status| {
            let text = format!("packet {number}: no signal at {completion:#x} to complete");
            Broken::new(status, text)
        })
    }

    /// Waits until the conditions of signals are met. The condition of a signal without memory counts as met.
    fn barrier(&self, r: &Runtime, all: impl Fn(&dyn Fn(u64) -> bool) -> bool) {
        let done = |s: u64| s == 0 || r.signal_value(s).is_none_or(|v| v == 0);
        if !all(&done) {
            let ready = || (self.ends.load(SeqCst) || all(&done)).then_some(());
            r.wait_any(ready);
        }
    }

    fn wait(&self, r: &Runtime, signal: Handle, met: impl Fn() -> bool) {
        let ready = || (self.ends.load(SeqCst) || met()).then_some(());
        r.wait(signal, None, true, ready);
    }

    /// Runs a kernel. Returns the times of its start and end.
    fn dispatch(
        &self,
        r: &Runtime,
        number: u64,
        at: u64,
        bytes: &[u8; 64],
    ) -> Result<(u64, u64), Broken> {
        let object = word(bytes, 32);
        let Some(kernel) = r.executables.kernel(object) else {
            let text = format!("packet {number}: there is no kernel at {object:#x}");
            return Err(Broken::new(Status::InvalidPacket, text));
        };
        let packet = Packet {
            address: at,
            number,
            kernarg: word(bytes, 40),
            private_bytes: half(bytes, 24),
            group_bytes: half(bytes, 28),
        };
        // Unused dimensions are 1; their fields are ignored.
        let used = (quarter(bytes, 2) & 3).max(1) as usize;
        let dimension = |d: usize, n: u32| if d < used { n } else { 1 };
        let (launched, busy) = r.begin();
        let mut launch = Launch {
            grid: std::array::from_fn(|d| dimension(d, half(bytes, 12 + 4 * d))),
            group: std::array::from_fn(|d| dimension(d, quarter(bytes, 4 + 2 * d) as u32)),
            threads: r.threads,
            outside_stores: true,
            observers: r.launches.observers(r, launched, &kernel),
            ..Launch::default()
        };
        let stack = (r.checks.as_ref()).and_then(|c| c.stack(self.at, number));
        let recording = (r.launches).begins(r, launched, &kernel, &launch, &packet);
        let start = r.now();
        let running = crate::lent::Running::new(launched, &kernel.kernel.name);
        let debugger = Runtime::debugger().filter(|d| d.takes(r, launched, &kernel));
        let run = |launch: &Launch| {
            (r.gpu).dispatch_packet(&self.state, &packet, kernel.base, &kernel.kernel, launch)
        };
        let checked = Cell::new(false);
        let done = debugger.and_then(|debugger| {
            let reports = |stop: Arc<Control>| {
                let Some(checks) = &r.checks else {
                    return Vec::new();
                };
                checked.set(true);
                let mut launch = launch.clone();
                launch.observers.control = Some(stop);
                // The failure occurs again under the debugger.
                let _ = r.taken_back(|| run(&launch));
                checks.moments(launched, &kernel, stack.as_deref())
            };
            let sizes = (launch.grid, launch.group);
            debugger.run(launched, sizes, reports, || {
                let gpu = r.gpu.clone();
                let (state, code) = (&self.state, &kernel.kernel);
                Stepper::of_packet(gpu, state, &packet, kernel.base, code, &launch)
            })
        });
        if checked.get() {
            launch.observers = Observers::default();
        }
        let done = done.unwrap_or_else(|| run(&launch));
        let end = r.now();
        drop(running);
        drop(busy);
        if !checked.get() {
            r.with_checks(|checks| checks.ended(r, launched, &kernel, stack.as_deref()));
        }
        match done {
            Ok(stats) => {
                r.launches.ended(&kernel, end - start, &stats);
                if let Some(recording) = recording {
                    recording.end(r);
                }
                Ok((start, end))
            }
            Err(error) => {
                let status = status_of(&error);
                let text = r.launches.explain(launched, &kernel, error);
                Err(Broken::new(status, text))
            }
        }
    }

    /// Reports an error on standard error and to the queue's callback, which usually ends the program.
    fn fail(&self, r: &Runtime, broken: &Broken) {
        report::line(&broken.text);
        r.launches.failed(&broken.text);
        if self.ends.load(SeqCst) {
            return;
        }
        let inactive = r
            .memory()
            .store_u64(self.inactive + 8, broken.status as u64);
        r.signalled(self.inactive);
        if inactive.is_ok()
            && let Some(callback) = self.callback
        {
            let head: *mut QueueHead = std::ptr::with_exposed_provenance_mut(self.at as usize);
            let data = std::ptr::with_exposed_provenance_mut(self.data);
            callback(broken.status as u32, head, data);
            return;
        }
        std::process::abort();
    }
}

/// Returns the manual's status for an error of a kernel.
fn status_of(error: &RunError) -> Status {
    match error {
        RunError::Fault { report, .. } => match report.kind {
            FaultKind::Memory(_) | FaultKind::Fetch(_) => Status::MemoryFault,
            _ => Status::IllegalInstruction,
        },
        RunError::Launch { .. } => Status::InvalidPacket,
        RunError::Memory(_) => Status::OutOfResources,
        _ => Status::Exception,
    }
}

/// # Safety
/// The caller follows the manual; this applies to all functions of the interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_queue_create(
    agent: Handle,
    size: u32,
    kind: u32,
    callback: Option<QueueCallback>,
    data: *mut c_void,
    _private: u32,
    _group: u32,
    queue: *mut *mut QueueHead,
) -> u32 {
    code(runtime::get().and_then(|r| {
        if !is_gpu(agent)? || kind > 2 {
            return Err(Status::InvalidQueueCreation);
        }
        if queue.is_null() || !size.is_power_of_two() || size > 1 << 17 {
            return Err(Status::InvalidArgument);
        }
        let made = r.new_queue(kind, size, callback, data.expose_provenance())?;
        // SAFETY: guaranteed by the caller.
        unsafe { crate::types::put(queue.cast(), made) }
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn hsa_queue_destroy(queue: *mut QueueHead) -> u32 {
    code(runtime::get().and_then(|r| r.end_queue(queue.addr() as u64)))
}

/// Returns an index of a queue of the program.
///
/// # Safety
/// The queue was created here and is not destroyed while the result is used.
unsafe fn index<'a>(queue: *const QueueHead, which: u64) -> &'a AtomicU64 {
    let at = queue.expose_provenance() + which as usize;
    // SAFETY: guaranteed by the caller; indices are accessed only by atomics.
    unsafe { &*std::ptr::with_exposed_provenance::<AtomicU64>(at) }
}

macro_rules! indices {
    ($($name:ident $which:ident $order:ident;)*) => { $(
        /// # Safety
        /// The queue was created here and is not destroyed.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(queue: *const QueueHead) -> u64 {
            // SAFETY: guaranteed by the caller.
            unsafe { index(queue, $which).load($order) }
        }
    )* };
}

indices! {
    hsa_queue_load_read_index_relaxed READ_INDEX Relaxed;
    hsa_queue_load_read_index_scacquire READ_INDEX Acquire;
    hsa_queue_load_write_index_relaxed WRITE_INDEX Relaxed;
    hsa_queue_load_write_index_scacquire WRITE_INDEX Acquire;
}

macro_rules! changes {
    ($($name:ident $change:ident $order:ident $which:ident;)*) => { $(
        /// # Safety
        /// The queue was created here and is not destroyed.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(queue: *const QueueHead, value: u64) -> u64 {
            // SAFETY: guaranteed by the caller.
            let first = unsafe { index(queue, $which).$change(value, $order) };
            if let Ok(r) = runtime::get() {
                r.with_checks(|checks| checks.submits(queue.addr() as u64, first, value));
            }
            first
        }
    )* };
}

changes! {
    hsa_queue_add_write_index_relaxed fetch_add Relaxed WRITE_INDEX;
    hsa_queue_add_write_index_screlease fetch_add AcqRel WRITE_INDEX;
    hsa_queue_add_write_index_scacquire fetch_add AcqRel WRITE_INDEX;
    hsa_queue_add_write_index_scacq_screl fetch_add AcqRel WRITE_INDEX;
}

macro_rules! writes {
    ($($name:ident $which:ident;)*) => { $(
        /// # Safety
        /// The queue was created here and is not destroyed.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(queue: *const QueueHead, value: u64) {
            // SAFETY: guaranteed by the caller.
            unsafe { index(queue, $which).store(value, Release) };
        }
    )* };
}

writes! {
    hsa_queue_store_write_index_relaxed WRITE_INDEX;
    hsa_queue_store_write_index_screlease WRITE_INDEX;
    hsa_queue_store_read_index_relaxed READ_INDEX;
    hsa_queue_store_read_index_screlease READ_INDEX;
}

macro_rules! accepted {
    ($($name:ident($($arg:ident: $ty:ty),*) $why:literal;)*) => { $(
        #[doc = concat!("Accepted, with no effect: ", $why, ".")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(queue: *const QueueHead $(, $arg: $ty)*) -> u32 {
            $(let _ = $arg;)*
            if queue.is_null() {
                return Status::InvalidQueue as u32;
            }
            0
        }
    )* };
}

accepted! {
    hsa_amd_queue_cu_set_mask(count: u32, mask: *const u32) "results do not depend on compute units";
    hsa_amd_queue_set_priority(priority: u32) "the host's scheduler decides";
    hsa_amd_profiling_set_profiler_enabled(enable: i32) "times are always taken";
}
