//! Threads that run kernels, and waiting until none of them uses an old mapping.
//!
//! An access checks the page map and is then performed, and compiled code caches the result of the check as long as it runs. After a
//! change of the page map, accesses by the old mapping are possible until each thread has begun a new time slice.
//! [`Memory::settle`] waits for that.

use super::Memory;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The epoch of a thread that runs nothing now.
const IDLE: u64 = u64::MAX;

/// The number of times that a waiting thread polls before it begins to sleep between polls.
const POLLS: u32 = 64;
/// The duration of a sleep between polls.
const PAUSE: Duration = Duration::from_micros(50);

/// The registration of a thread that runs kernels, for which [`Memory::take_back`] waits.
pub(crate) struct Worker<'m> {
    memory: &'m Memory,
    /// The epoch at which the thread's current work began, or [`IDLE`].
    since: Arc<AtomicU64>,
}

/// A thread's current work. While this exists, the thread may access mapped pages.
pub(crate) struct AtWork<'w>(&'w AtomicU64);

/// A registered thread: its [`Worker::since`], and whether its dispatch has no other thread, and no code outside the dispatch stores meanwhile.
type Registered = (Arc<AtomicU64>, bool);

/// The registered threads.
#[derive(Default)]
pub(super) struct Workers {
    all: Mutex<Vec<Registered>>,
    /// There is one thread, and nothing else stores while it is at work.
    exclusive: AtomicBool,
}

impl Workers {
    fn lock(&self) -> MutexGuard<'_, Vec<Registered>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds out again whether there is one thread alone. Returns true if there was one, and is none any more.
    fn count(&self, all: &[Registered]) -> bool {
        let now = matches!(all, [(_, true)]);
        self.exclusive.swap(now, SeqCst) && !now
    }
}

impl Memory {
    /// Registers another thread that will run kernels. `alone`: its dispatch has no other thread, and no code outside the dispatch stores meanwhile.
    pub(crate) fn worker(&self, alone: bool) -> Worker<'_> {
        Worker {
            memory: self,
            since: self.register(alone),
        }
    }

    /// Registers a thread as [`Memory::worker`] does. The registration borrows nothing, so it can be moved from thread to thread.
    pub(crate) fn register(&self, alone: bool) -> Arc<AtomicU64> {
        let since = Arc::new(AtomicU64::new(IDLE));
        let mut all = self.workers.lock();
        all.push((since.clone(), alone && !self.is_of_host()));
        let shares = self.workers.count(&all);
        drop(all);
        if shares {
            // The other thread learns of this one when it begins its next work.
            self.settle();
        }
        since
    }

    /// Removes the registration of a thread that runs no more kernels.
    pub(crate) fn unregister(&self, since: &Arc<AtomicU64>) {
        let mut all = self.workers.lock();
        all.retain(|w| !Arc::ptr_eq(&w.0, since));
        self.workers.count(&all);
    }

    /// Returns true if nothing but the registered thread that asks accesses the memory until its current work ends.
    pub fn is_exclusive(&self) -> bool {
        self.workers.exclusive.load(SeqCst)
    }

    /// Records that a registered thread begins work, which has not read the page map yet.
    #[inline]
    pub(crate) fn at_work<'w>(&self, since: &'w AtomicU64) -> AtWork<'w> {
        // If another thread changed the page map and does not see this one at work, it does not wait. It need not: all checks of this
        // work read the new map.
        since.store(self.epoch.load(SeqCst), SeqCst);
        AtWork(since)
    }

    /// Waits until every thread has ended the work that it runs at the time of the call; then all threads use the current page map.
    /// The work of a thread takes at most a time slice.
    pub(super) fn settle(&self) {
        let now = self.epoch.fetch_add(1, SeqCst) + 1;
        let workers = self.workers.lock().clone();
        for (worker, _) in workers {
            let mut polls = 0;
            while worker.load(SeqCst) < now {
                polls += 1;
                match polls {
                    ..POLLS => std::thread::yield_now(),
                    _ => std::thread::sleep(PAUSE),
                }
            }
        }
    }
}

impl Worker<'_> {
    /// Records that the thread begins work, which has not read the page map yet.
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
