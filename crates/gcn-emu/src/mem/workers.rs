//! Threads that run kernels, and who waits until none of them uses what was mapped before.
//!
//! An access looks at the page map and happens then; compiled code remembers for as long as it runs what it saw there. So
//! whoever wants to be sure that no access comes any more after a change waits until each thread has begun anew since.

use super::Memory;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// A thread that runs nothing now.
const IDLE: u64 = u64::MAX;

/// How often a thread that waits looks before it sleeps, and how long it sleeps then.
const LOOKS: u32 = 64;
const NAP: Duration = Duration::from_micros(50);

/// A thread that runs kernels, as [`Memory::take_back`] sees it.
pub(crate) struct Worker<'m> {
    memory: &'m Memory,
    /// The state of the mapping when it began to run what it runs now.
    since: Arc<AtomicU64>,
}

/// While this lives, the thread may access what is mapped.
pub(crate) struct AtWork<'w>(&'w AtomicU64);

impl Memory {
    /// Another thread that is to run kernels.
    pub(crate) fn worker(&self) -> Worker<'_> {
        let since = Arc::new(AtomicU64::new(IDLE));
        let mut workers = (self.workers.lock()).unwrap_or_else(PoisonError::into_inner);
        workers.push(since.clone());
        Worker {
            memory: self,
            since,
        }
    }

    /// Waits until no thread runs what it ran when this was called: all of them see the page map as it is now. None runs
    /// longer than a time slice without a look at it.
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
    /// The thread runs something now, which has not looked at the page map yet.
    #[inline]
    pub fn begin(&self) -> AtWork<'_> {
        // Whoever has changed the page map and did not see this to be at work is seen by whatever looks at the map from now on.
        self.since.store(self.memory.epoch.load(SeqCst), SeqCst);
        AtWork(&self.since)
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
        let workers = self.memory.workers.lock();
        let mut workers = workers.unwrap_or_else(PoisonError::into_inner);
        workers.retain(|w| !Arc::ptr_eq(w, &self.since));
    }
}
