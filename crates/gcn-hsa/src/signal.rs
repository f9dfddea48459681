//! Signals: values in memory that kernels and the program change and wait for.
//!
//! A signal is an `amd_signal_t` in guest memory, and its handle is its address. A waiting thread polls the value for some
//! microseconds, then sleeps. Changes of a value through this library wake the threads that wait for it. Changes by kernels
//! do not wake threads, so sleeping threads poll at intervals while a kernel runs.

use crate::runtime::{self, Runtime};
use crate::status::{Status, code};
use crate::types::{Handle, SignalHandler, Value};
use gcn_emu::mem::{PAGE_SIZE, Perm};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::*, fence};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The size of an `amd_signal_t`, and the offsets of its fields.
const BYTES: u64 = 64;
const VALUE: u64 = 8;
const START: u64 = 32;
const END: u64 = 40;

/// The number of signals allocated at once.
const SLAB: u64 = 16 * PAGE_SIZE;

/// The time for which a thread polls a value before it sleeps.
const LOOK: Duration = Duration::from_micros(40);

/// The time between polls while kernels run that may change the value, which grows with the time waited; and the time
/// while none runs.
const NAP: Duration = Duration::from_micros(50);
const LONGEST_NAP: Duration = Duration::from_millis(1);
const SLEEP: Duration = Duration::from_millis(20);

pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Signals, and the threads that wait for them.
pub struct Signals {
    room: Mutex<Room>,
    /// Sleeping threads by the signal that they wait for.
    beds: [Bed; 64],
    /// Handlers to be called, and whether a thread for them exists.
    handlers: Mutex<Handlers>,
    handled: Bed,
    waiting: AtomicU32,
}

/// Memory for signals.
#[derive(Default)]
struct Room {
    /// The free slots.
    free: Vec<u64>,
    /// By first address: the slots of a slab that are in use.
    used: BTreeMap<u64, Vec<bool>>,
}

impl Room {
    /// Returns true if a slot is in use.
    fn state(&mut self, slot: u64) -> Option<&mut bool> {
        let (first, used) = self.used.range_mut(..=slot).next_back()?;
        let at = slot - first;
        match at.is_multiple_of(BYTES) {
            true => used.get_mut((at / BYTES) as usize),
            false => None,
        }
    }
}

impl Default for Signals {
    fn default() -> Signals {
        Signals {
            room: Mutex::default(),
            beds: std::array::from_fn(|_| Bed::default()),
            handlers: Mutex::default(),
            handled: Bed::default(),
            waiting: AtomicU32::new(0),
        }
    }
}

/// A condition variable on which threads sleep.
#[derive(Default)]
struct Bed {
    sleepers: AtomicU64,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Bed {
    fn wake(&self) {
        if self.sleepers.load(SeqCst) != 0 {
            // A thread that held the lock now sleeps or has seen the change. The lock is released first because woken threads
            // take it.
            drop(lock(&self.lock));
            self.wake.notify_all();
        }
    }

    /// Sleeps until woken or until the time is over, unless it is already `awake`.
    fn sleep(&self, time: Duration, awake: impl Fn() -> bool) {
        self.sleepers.fetch_add(1, SeqCst);
        {
            let guard = lock(&self.lock);
            if !awake() {
                drop(self.wake.wait_timeout(guard, time));
            }
        }
        self.sleepers.fetch_sub(1, SeqCst);
    }
}

#[derive(Default)]
struct Handlers {
    list: Vec<Handler>,
    running: bool,
}

#[derive(Clone, Copy)]
struct Handler {
    signal: u64,
    condition: u32,
    compare: Value,
    handler: SignalHandler,
    /// A value of the program, which is passed back to it.
    arg: usize,
}

/// Returns true if a value meets a condition, or if the condition does not exist.
pub fn holds(condition: u32, value: Value, compare: Value) -> bool {
    match condition {
        0 => value == compare,
        1 => value != compare,
        2 => value < compare,
        3 => value >= compare,
        _ => true,
    }
}

/// Returns the value of a signal of the program.
fn cell<'a>(signal: Handle) -> &'a AtomicI64 {
    // SAFETY: the manual requires a handle that `create` returned. The memory of signals stays mapped until the process
    // ends, and values are accessed only by atomics.
    unsafe { &*std::ptr::with_exposed_provenance::<AtomicI64>((signal + VALUE) as usize) }
}

impl Runtime {
    pub fn new_signal(&self, value: Value) -> Result<Handle, Status> {
        self.new_slot([1, value as u64, 0, 0, 0, 0, 0, 0])
    }

    /// Allocates memory for a signal, or for other data of up to 64 bytes that kernels read, with these contents.
    pub fn new_slot(&self, words: [u64; 8]) -> Result<u64, Status> {
        let mut room = lock(&self.signals.room);
        if room.free.is_empty() {
            let slab = self.memory().alloc(SLAB, BYTES, Perm::RW);
            let slab = slab.map_err(|_| Status::OutOfResources)?;
            let count = SLAB / BYTES;
            room.free.extend((0..count).rev().map(|n| slab + n * BYTES));
            room.used.insert(slab, vec![false; count as usize]);
        }
        let at = room.free.pop().ok_or(Status::OutOfResources)?;
        if let Some(used) = room.state(at) {
            *used = true;
        }
        drop(room);
        let memory = self.memory();
        for (n, word) in words.into_iter().enumerate() {
            let stored = memory.store_u64(at + 8 * n as u64, word);
            stored.map_err(|_| Status::Error)?;
        }
        Ok(at)
    }

    /// Frees memory of [`Runtime::new_slot`].
    ///
    /// # Errors
    /// If it was not allocated there or is already free.
    pub fn free_slot(&self, slot: u64) -> Result<(), Status> {
        let mut room = lock(&self.signals.room);
        match room.state(slot) {
            Some(used) if *used => *used = false,
            _ => return Err(Status::InvalidSignal),
        }
        room.free.push(slot);
        Ok(())
    }

    /// Wakes the threads that wait for a signal that has changed.
    pub fn signalled(&self, signal: Handle) {
        self.bed(signal).wake();
        if self.signals.waiting.load(SeqCst) != 0 {
            self.signals.handled.wake();
        }
    }

    fn bed(&self, signal: Handle) -> &Bed {
        &self.signals.beds[(signal / BYTES % 64) as usize]
    }

    /// Returns the value of a signal in a packet; `None` if its memory is not mapped.
    pub fn signal_value(&self, signal: Handle) -> Option<Value> {
        let value = self.memory().load_u64(signal.checked_add(VALUE)?).ok()?;
        fence(Acquire);
        Some(value as Value)
    }

    /// Stores the start and end of a packet's work in the packet's signal, and decrements the signal.
    pub fn complete(&self, signal: Handle, times: Option<(u64, u64)>) -> Result<(), Status> {
        if signal == 0 {
            return Ok(());
        }
        let memory = self.memory();
        let bad = |_| Status::InvalidSignal;
        if signal.checked_add(BYTES).is_none() {
            return Err(Status::InvalidSignal);
        }
        if let Some((start, end)) = times {
            memory.store_u64(signal + START, start).map_err(bad)?;
            memory.store_u64(signal + END, end).map_err(bad)?;
        }
        let less = |value: u64| value.wrapping_sub(1);
        memory.fetch_update_u64(signal + VALUE, less).map_err(bad)?;
        self.signalled(signal);
        Ok(())
    }

    /// Returns the start and end of a signal's work.
    pub fn times(&self, signal: Handle) -> Result<(u64, u64), Status> {
        let word = |at: u64| {
            let at = signal.checked_add(at).ok_or(Status::InvalidSignal)?;
            let word = self.memory().load_u64(at);
            word.map_err(|_| Status::InvalidSignal)
        };
        Ok((word(START)?, word(END)?))
    }

    /// Returns the time to sleep after some time of waiting.
    fn nap(&self, kernels: bool, passed: Duration) -> Duration {
        match kernels && self.running() {
            true => (passed / 8).clamp(NAP, LONGEST_NAP),
            false => SLEEP,
        }
    }

    /// Waits until `ready` returns a value. Any signal may change the result, as copies wait for several.
    pub fn wait_any<T>(&self, ready: impl Fn() -> Option<T>) -> T {
        self.signals.waiting.fetch_add(1, SeqCst);
        let begun = Instant::now();
        let found = Cell::new(None);
        let look = || {
            let now = ready();
            let awake = now.is_some();
            found.set(now);
            awake
        };
        let found = loop {
            let nap = self.nap(true, begun.elapsed());
            self.signals.handled.sleep(nap, look);
            if let Some(found) = found.take() {
                break found;
            }
        };
        self.signals.waiting.fetch_sub(1, SeqCst);
        found
    }

    /// Waits until `ready` returns a value or the time is over. Changes of the data that it reads are followed by a call of
    /// [`Runtime::signalled`] with `signal`, except for changes by kernels, which `kernels` allows.
    pub fn wait<T>(
        &self,
        signal: Handle,
        time: Option<Duration>,
        kernels: bool,
        ready: impl Fn() -> Option<T>,
    ) -> Option<T> {
        if let Some(found) = ready() {
            return Some(found);
        }
        let begun = Instant::now();
        loop {
            for _ in 0..64 {
                if let Some(found) = ready() {
                    return Some(found);
                }
                std::hint::spin_loop();
            }
            // If there are more threads than processors, the other thread may need this processor.
            std::thread::yield_now();
            let passed = begun.elapsed();
            if time.is_some_and(|time| passed >= time) {
                return None;
            }
            if passed < LOOK {
                continue;
            }
            let mut nap = self.nap(kernels, passed);
            if let Some(time) = time {
                nap = nap.min(time.saturating_sub(passed));
            }
            self.bed(signal).sleep(nap, || ready().is_some());
        }
    }

    /// Waits for a signal. Returns its value then, or when the time is over.
    fn wait_for(&self, signal: Handle, condition: u32, compare: Value, time: u64) -> Value {
        let cell = cell(signal);
        let time = (time < u64::MAX / 2).then(|| Duration::from_nanos(time));
        let ready = || {
            let value = cell.load(Acquire);
            holds(condition, value, compare).then_some(value)
        };
        let found = self.wait(signal, time, true, ready);
        found.unwrap_or_else(|| cell.load(Acquire))
    }

    fn add_handler(&'static self, handler: Handler) -> Result<(), Status> {
        let mut handlers = lock(&self.signals.handlers);
        handlers.list.push(handler);
        self.signals.waiting.fetch_add(1, SeqCst);
        if !handlers.running {
            let thread = std::thread::Builder::new().name("gcn-handlers".into());
            let spawned = thread.spawn(move || self.handle());
            spawned.map_err(|_| Status::OutOfResources)?;
            handlers.running = true;
        }
        drop(handlers);
        self.signals.handled.wake();
        Ok(())
    }

    /// Calls the handlers whose conditions are met. Programs expect one call at a time.
    fn handle(&self) {
        let met = |h: &Handler| holds(h.condition, cell(h.signal).load(Acquire), h.compare);
        loop {
            let next = {
                let mut handlers = lock(&self.signals.handlers);
                let found = handlers.list.iter().position(met);
                found.map(|at| handlers.list.remove(at))
            };
            let Some(h) = next else {
                let nap = self.nap(true, LONGEST_NAP * 8);
                let waits = lock(&self.signals.handlers).list.len();
                let seen = || {
                    let handlers = lock(&self.signals.handlers);
                    handlers.list.len() != waits || handlers.list.iter().any(met)
                };
                self.signals.handled.sleep(nap, seen);
                continue;
            };
            let value = cell(h.signal).load(Acquire);
            let arg = std::ptr::with_exposed_provenance_mut(h.arg);
            if (h.handler)(value, arg) {
                lock(&self.signals.handlers).list.push(h);
            } else {
                self.signals.waiting.fetch_sub(1, SeqCst);
            }
        }
    }
}

/// # Safety
/// The caller follows the manual; this applies to all functions of the interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_signal_create(
    value: Value,
    _consumers: u32,
    _agents: *const Handle,
    signal: *mut Handle,
) -> u32 {
    code(runtime::get().and_then(|r| {
        let made = r.new_signal(value)?;
        // SAFETY: guaranteed by the caller.
        unsafe { crate::types::put(signal.cast(), made) }
    }))
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_signal_create(
    value: Value,
    consumers: u32,
    agents: *const Handle,
    _attributes: u64,
    signal: *mut Handle,
) -> u32 {
    // SAFETY: guaranteed by the caller.
    unsafe { hsa_signal_create(value, consumers, agents, signal) }
}

#[unsafe(no_mangle)]
pub extern "C" fn hsa_signal_destroy(signal: Handle) -> u32 {
    code(runtime::get().and_then(|r| r.free_slot(signal)))
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_signal_value_pointer(
    signal: Handle,
    value: *mut *mut Value,
) -> u32 {
    let at: *mut Value = std::ptr::with_exposed_provenance_mut((signal + VALUE) as usize);
    // SAFETY: guaranteed by the caller.
    code(unsafe { crate::types::put(value.cast(), at) })
}

macro_rules! loads {
    ($($name:ident $order:ident;)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(signal: Handle) -> Value {
            cell(signal).load($order)
        }
    )* };
}

loads! {
    hsa_signal_load_relaxed Relaxed;
    hsa_signal_load_scacquire Acquire;
    hsa_signal_load_acquire Acquire;
}

macro_rules! stores {
    ($($name:ident $change:ident;)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(signal: Handle, value: Value) {
            // All use the strongest ordering, because the search for sleeping threads must come after the change.
            cell(signal).$change(value, SeqCst);
            if let Ok(r) = runtime::get() {
                r.signalled(signal);
            }
        }
    )* };
}

stores! {
    hsa_signal_store_relaxed store;
    hsa_signal_store_screlease store;
    hsa_signal_store_release store;
    hsa_signal_add_relaxed fetch_add;
    hsa_signal_add_screlease fetch_add;
    hsa_signal_add_release fetch_add;
    hsa_signal_add_scacq_screl fetch_add;
    hsa_signal_subtract_relaxed fetch_sub;
    hsa_signal_subtract_screlease fetch_sub;
    hsa_signal_subtract_release fetch_sub;
    hsa_signal_subtract_scacq_screl fetch_sub;
    hsa_signal_and_relaxed fetch_and;
    hsa_signal_and_screlease fetch_and;
    hsa_signal_or_relaxed fetch_or;
    hsa_signal_or_screlease fetch_or;
    hsa_signal_xor_relaxed fetch_xor;
    hsa_signal_xor_screlease fetch_xor;
}

#[unsafe(no_mangle)]
pub extern "C" fn hsa_signal_silent_store_relaxed(signal: Handle, value: Value) {
    cell(signal).store(value, Relaxed);
}

#[unsafe(no_mangle)]
pub extern "C" fn hsa_signal_silent_store_screlease(signal: Handle, value: Value) {
    cell(signal).store(value, Release);
}

macro_rules! exchanges {
    ($($name:ident;)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(signal: Handle, value: Value) -> Value {
            let old = cell(signal).swap(value, SeqCst);
            if let Ok(r) = runtime::get() {
                r.signalled(signal);
            }
            old
        }
    )* };
}

exchanges! {
    hsa_signal_exchange_relaxed;
    hsa_signal_exchange_screlease;
    hsa_signal_exchange_scacquire;
    hsa_signal_exchange_scacq_screl;
}

macro_rules! swaps {
    ($($name:ident;)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(signal: Handle, expected: Value, value: Value) -> Value {
            match cell(signal).compare_exchange(expected, value, SeqCst, SeqCst) {
                Ok(old) => {
                    if let Ok(r) = runtime::get() {
                        r.signalled(signal);
                    }
                    old
                }
                Err(old) => old,
            }
        }
    )* };
}

swaps! {
    hsa_signal_cas_relaxed;
    hsa_signal_cas_screlease;
    hsa_signal_cas_scacquire;
    hsa_signal_cas_scacq_screl;
}

macro_rules! waits {
    ($($name:ident;)*) => { $(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(
            signal: Handle,
            condition: u32,
            compare: Value,
            time: u64,
            _state: u32,
        ) -> Value {
            match runtime::get() {
                Ok(r) => r.wait_for(signal, condition, compare, time),
                Err(_) => cell(signal).load(Acquire),
            }
        }
    )* };
}

waits! {
    hsa_signal_wait_scacquire;
    hsa_signal_wait_relaxed;
    hsa_signal_wait_acquire;
}

/// # Safety
/// The caller follows the manual.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_signal_async_handler(
    signal: Handle,
    condition: u32,
    compare: Value,
    handler: Option<SignalHandler>,
    arg: *mut c_void,
) -> u32 {
    let add = || {
        let handler = handler.ok_or(Status::InvalidArgument)?;
        if signal == 0 {
            return Err(Status::InvalidSignal);
        }
        runtime::get()?.add_handler(Handler {
            signal,
            condition,
            compare,
            handler,
            arg: arg.expose_provenance(),
        })
    };
    code(add())
}
