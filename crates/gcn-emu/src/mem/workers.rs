//! Threads that run kernels, and waiting until none of them uses an old mapping.
//!
//! An access checks the page map and is then performed; compiled code caches the result of the check for as long as it runs. So
//! to be sure that no access with the old mapping follows a change, one waits until each thread has begun a new time slice since.

use super::Memory;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// The state of a thread that runs nothing now.
const IDLE: u64 = u64::MAX;

/// The number of times that a waiting thread checks before it begins to sleep between checks, and the duration of the sleep.
const LOOKS: u32 = 64;
const NAP: Duration = Duration::from_micros(50);

/// A thread that runs kernels, as [`Memory::take_back`] observes it.
pub(crate) struct Worker<'m> {
    memory: &'m Memory,
    /// The epoch of the mapping at which its current work began.
    since: Arc<AtomicU64>,
}

/// While this is alive, the thread may access what is mapped.
pub(crate) struct AtWork<'w>(&'w AtomicU64);

impl Memory {
    /// Registers another thread that will run kernels.
    pub(crate) fn worker(&self) -> Worker<'_> {
        Worker {
            memory: self,
            since: self.register(),
        }
    }

    /// As [`Memory::worker`], for one that is moved from thread to thread and borrows nothing.
    pub(crate) fn register(&self) -> Arc<AtomicU64> {
        let since = Arc::new(AtomicU64::new(IDLE));
        let mut workers = (self.workers.lock()).unwrap_or_else(PoisonError::into_inner);
        workers.push(since.clone());
        since
    }

    /// It runs nothing any more.
    pub(crate) fn unregister(&self, since: &Arc<AtomicU64>) {
        let mut workers = (self.workers.lock()).unwrap_or_else(PoisonError::into_inner);
        workers.retain(|w| !Arc::ptr_eq(w, since));
    }

    /// A registered thread begins work that has not read the page map yet.
    #[inline]
    pub(crate) fn at_work<'w>(&self, since: &'w AtomicU64) -> AtWork<'w> {
        // A thread that changed the page map before it could see this one at work is no problem: every later check reads the new
        // map.
        since.store(self.epoch.load(SeqCst), SeqCst);
        AtWork(since)
    }

    /// Waits until no thread runs the work that it ran when this was called: then all of them use the current page map. No
    /// thread runs longer than a time slice without checking the epoch.
    pub(super) fn settle(&self) {
        let now = self.epoch.fetch_add(1, SeqCst) + 1;
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let workers = workers.clone();
        for worker in workers {
            let mut looks = 0;
            while worker.load(SeqCst) < now {
                looks += 1;
                match looks {
                    ..LOOKS => std::thread::yield_now(),
                    _ => std::thread::sleep(NAP),
                }
            }
        }
    }
}

impl Worker<'_> {
    /// The thread begins work that has not read the page map yet.
    #[inline]
    pub fn begin(&self) -> AtWork<'_> {
        self.memory.at_work(&self.since)
    }
}

impl Drop for AtWork<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.store(IDLE, SeqCst);
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.memory.unregister(&self.since);
    }
}
