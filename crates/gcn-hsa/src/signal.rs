//! Signals: values in memory that kernels and the program change and wait for.
//!
//! A signal is an `amd_signal_t` in guest memory, and its handle is its address. A thread that waits looks at the value for
//! some microseconds, then sleeps; whoever changes a value through this library wakes those that wait for it. Kernels
//! change values, too, and wake nobody: while one runs, those that sleep look again every now and then.

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

/// Bytes of an `amd_signal_t`, and where its parts are.
const BYTES: u64 = 64;
const VALUE: u64 = 8;
const START: u64 = 32;
const END: u64 = 40;

/// Signals that are made at a time.
const SLAB: u64 = 16 * PAGE_SIZE;

/// How long a thread looks at a value before it sleeps.
const LOOK: Duration = Duration::from_micros(40);

/// How long it sleeps while kernels run that may change the value: longer, the longer it has waited. And while none does.
const NAP: Duration = Duration::from_micros(50);
const LONGEST_NAP: Duration = Duration::from_millis(1);
const SLEEP: Duration = Duration::from_millis(20);

pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Signals, and who waits for them.
pub struct Signals {
    room: Mutex<Room>,
    /// Threads that sleep, by the signal they wait for.
    beds: [Bed; 64],
    /// Handlers that are to be called, and whether there is a thread that does.
    handlers: Mutex<Handlers>,
    handled: Bed,
    waiting: AtomicU32,
}

/// Room for signals.
#[derive(Default)]
struct Room {
    /// What is not in use.
    free: Vec<u64>,
    /// By first address, which parts of a slab are in use.
    used: BTreeMap<u64, Vec<bool>>,
}

impl Room {
    /// Whether a slot is in use.
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

/// Where threads sleep.
#[derive(Default)]
struct Bed {
    sleepers: AtomicU64,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Bed {
    fn wake(&self) {
        if self.sleepers.load(SeqCst) != 0 {
            // Who had the lock sleeps by now, or has seen why not to. It is free again before they wake, as they take it.
            drop(lock(&self.lock));
            self.wake.notify_all();
        }
    }

    /// Sleeps until somebody wakes this bed, or for so long, unless it is `awake` already.
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
    /// The program's, which it gets back.
    arg: usize,
}

/// Whether a value meets a condition; one that there is not is met.
pub fn holds(condition: u32, value: Value, compare: Value) -> bool {
    match condition {
        0 => value == compare,
        1 => value != compare,
        2 => value < compare,
        3 => value >= compare,
        _ => true,
    }
}

/// The value of a signal of the program.
fn cell<'a>(signal: Handle) -> &'a AtomicI64 {
    // SAFETY: the handle is one that `create` gave, as the manual asks of callers: the signal's room stays mapped for as
    // long as the process lives, and its value is accessed by atomics alone.
    unsafe { &*std::ptr::with_exposed_provenance::<AtomicI64>((signal + VALUE) as usize) }
}

impl Runtime {
    pub fn new_signal(&self, value: Value) -> Result<Handle, Status> {
        self.new_slot([1, value as u64, 0, 0, 0, 0, 0, 0])
    }

    /// Room for a signal, or for what else takes no more than 64 bytes and kernels read, with these in it.
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

    /// Gives room back that [`Runtime::new_slot`] gave.
    ///
    /// # Errors
    /// It gave none there, or it has it back already.
    pub fn free_slot(&self, slot: u64) -> Result<(), Status> {
        let mut room = lock(&self.signals.room);
        match room.state(slot) {
            Some(used) if *used => *used = false,
            _ => return Err(Status::InvalidSignal),
        }
        room.free.push(slot);
        Ok(())
    }

    /// Wakes those who wait for a signal that has changed.
    pub fn signalled(&self, signal: Handle) {
        self.bed(signal).wake();
        if self.signals.waiting.load(SeqCst) != 0 {
            self.signals.handled.wake();
        }
    }

    fn bed(&self, signal: Handle) -> &Bed {
        &self.signals.beds[(signal / BYTES % 64) as usize]
    }

    /// The value of a signal that a packet names; nothing where there is no memory.
    pub fn signal_value(&self, signal: Handle) -> Option<Value> {
        let value = self.memory().load_u64(signal.checked_add(VALUE)?).ok()?;
        fence(Acquire);
        Some(value as Value)
    }

    /// Takes 1 from a signal that a packet names, having noted when the packet's work began and ended.
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

    /// When the work that a signal stands for began and ended.
    pub fn times(&self, signal: Handle) -> Result<(u64, u64), Status> {
        let word = |at: u64| {
            let at = signal.checked_add(at).ok_or(Status::InvalidSignal)?;
            let word = self.memory().load_u64(at);
            word.map_err(|_| Status::InvalidSignal)
        };
        Ok((word(START)?, word(END)?))
    }

    /// How long to sleep that has waited for so long.
    fn nap(&self, kernels: bool, passed: Duration) -> Duration {
        match kernels && self.running() {
            true => (passed / 8).clamp(NAP, LONGEST_NAP),
            false => SLEEP,
        }
    }

    /// Waits until `ready` gives something, of what copies wait for: any signal may matter.
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

    /// Waits until `ready` gives something or the time is over. Whoever changes what it looks at calls
    /// [`Runtime::signalled`] with `signal`, unless it is a kernel, if `kernels` may.
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
            // Where threads are more than processors, this one's may be what the other one needs.
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

    /// Waits for a signal; gives its value then, or what it is when the time is over.
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

    /// Calls handlers whose signals are as they are to be. One at a time: so programs expect it.
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
/// As the manual says, here as of all functions of the interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_signal_create(
    value: Value,
    _consumers: u32,
    _agents: *const Handle,
    signal: *mut Handle,
) -> u32 {
    code(runtime::get().and_then(|r| {
        let made = r.new_signal(value)?;
        // SAFETY: the caller's.
        unsafe { crate::types::put(signal.cast(), made) }
    }))
}

/// # Safety
/// As the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_signal_create(
    value: Value,
    consumers: u32,
    agents: *const Handle,
    _attributes: u64,
    signal: *mut Handle,
) -> u32 {
    // SAFETY: the caller's.
    unsafe { hsa_signal_create(value, consumers, agents, signal) }
}

#[unsafe(no_mangle)]
pub extern "C" fn hsa_signal_destroy(signal: Handle) -> u32 {
    code(runtime::get().and_then(|r| r.free_slot(signal)))
}

/// # Safety
/// As the manual says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hsa_amd_signal_value_pointer(
    signal: Handle,
    value: *mut *mut Value,
) -> u32 {
    let at: *mut Value = std::ptr::with_exposed_provenance_mut((signal + VALUE) as usize);
    // SAFETY: the caller's.
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
            // All are as strong as the strongest: those who sleep are looked for behind them.
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
/// As the manual says.
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
