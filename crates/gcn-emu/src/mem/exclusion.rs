//! Mutual exclusion of transactions beside a program and changes of the mapping.
//!
//! A transaction changes the page map and rolls back whole pages. While one runs beside a program that shares the memory, no other thread
//! may map, unmap or copy memory or run another dispatch. A thread that is about to do so calls [`Memory::outside`], which stops the
//! running transaction and waits until it has ended; the transaction's dispatch then runs in another way. The transaction is stopped
//! because its kernel may wait for that thread.

use super::*;
use std::cell::Cell;
use std::sync::Condvar;

thread_local! {
    static RUNS_WAVES: Cell<bool> = const { Cell::new(false) };
}

/// Marks the current thread, as long as this exists, as one that runs waves of a dispatch.
pub(crate) struct RunsWaves {
    before: bool,
}

impl RunsWaves {
    pub fn new() -> RunsWaves {
        RunsWaves {
            before: RUNS_WAVES.replace(true),
        }
    }
}

impl Drop for RunsWaves {
    fn drop(&mut self) {
        RUNS_WAVES.set(self.before);
    }
}

/// Returns true if this thread runs waves.
pub(super) fn runs_waves() -> bool {
    RUNS_WAVES.get()
}

/// A lock that either one transaction or any number of [`Outside`]s hold.
#[derive(Default)]
pub(super) struct Exclusion {
    holders: Mutex<Holders>,
    ended: Condvar,
}

#[derive(Default)]
struct Holders {
    /// The number of [`Outside`]s that exist or wait.
    outside: usize,
    /// The flag that stops the transaction, if an [`Alone`] exists.
    alone: Option<Arc<AtomicBool>>,
}

impl Exclusion {
    fn lock(&self) -> MutexGuard<'_, Holders> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As long as this exists, [`Memory::alone`] returns `None`, so no transaction begins beside a program.
pub struct Outside<'m>(&'m Exclusion);

impl Drop for Outside<'_> {
    fn drop(&mut self) {
        self.0.lock().outside -= 1;
    }
}

/// As long as this exists, [`Memory::outside`] waits, so other threads do not change the mapping.
pub struct Alone<'m>(&'m Exclusion);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.lock().alone = None;
        self.0.ended.notify_all();
    }
}

impl Memory {
    /// Stops the running transaction if it began with [`Memory::alone`], and waits until it has ended. A thread that holds the [`Alone`]
    /// must not call this.
    pub fn outside(&self) -> Outside<'_> {
        let mut holders = self.exclusion.lock();
        holders.outside += 1;
        while let Some(stop) = &holders.alone {
            stop.store(true, SeqCst);
            holders = (self.exclusion.ended.wait(holders)).unwrap_or_else(PoisonError::into_inner);
        }
        Outside(&self.exclusion)
    }

    /// Keeps other threads from changing the mapping. A thread that waits to do so sets `stop`. Returns `None` if a thread is changing the
    /// mapping or another [`Alone`] exists.
    pub fn alone(&self, stop: &Arc<AtomicBool>) -> Option<Alone<'_>> {
        let mut holders = self.exclusion.lock();
        if holders.outside > 0 || holders.alone.is_some() {
            return None;
        }
        holders.alone = Some(stop.clone());
        Some(Alone(&self.exclusion))
    }
}
