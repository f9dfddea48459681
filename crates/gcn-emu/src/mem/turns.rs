//! Turns: a transaction beside a program that shares the memory.
//!
//! A transaction changes the page map, and takes back whole pages. So it runs while nothing else maps, unmaps or copies memory, and while no other
//! dispatch runs. Whoever is about to do so says it with [`Memory::outside`], which stops a transaction that runs and waits until it has
//! ended; then the dispatch runs in another way. So nobody waits for a kernel that waits for them.

use super::*;
use std::cell::Cell;
use std::sync::Condvar;

thread_local! {
    static RUNS_WAVES: Cell<bool> = const { Cell::new(false) };
}

/// This thread runs waves of a dispatch, as long as it exists.
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

/// Whose turn it is.
#[derive(Default)]
pub(super) struct Turns {
    now: Mutex<Now>,
    ended: Condvar,
}

#[derive(Default)]
struct Now {
    /// The number of [`Outside`]s.
    outside: usize,
    /// Stops the transaction that runs.
    alone: Option<Arc<AtomicBool>>,
}

impl Turns {
    fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As long as it exists, no transaction begins beside a program ([`Memory::alone`]).
pub struct Outside<'m>(&'m Turns);

impl Drop for Outside<'_> {
    fn drop(&mut self) {
        self.0.lock().outside -= 1;
    }
}

/// As long as it exists, others wait before they change the mapping ([`Memory::outside`]).
pub struct Alone<'m>(&'m Turns);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.lock().alone = None;
        self.0.ended.notify_all();
    }
}

impl Memory {
    /// Stops the transaction that runs, if there is one that began with [`Memory::alone`], and waits until it has ended. Must not be
    /// called by a thread that holds the [`Alone`].
    pub fn outside(&self) -> Outside<'_> {
        let mut now = self.turns.lock();
        now.outside += 1;
        while let Some(stop) = &now.alone {
            stop.store(true, SeqCst);
            now = (self.turns.ended.wait(now)).unwrap_or_else(PoisonError::into_inner);
        }
        Outside(&self.turns)
    }

    /// Keeps others from changing the mapping. They set `stop` when they wait. Returns `None` if someone is changing it, or is alone already.
    pub fn alone(&self, stop: &Arc<AtomicBool>) -> Option<Alone<'_>> {
        let mut now = self.turns.lock();
        if now.outside > 0 || now.alone.is_some() {
            return None;
        }
        now.alone = Some(stop.clone());
        Some(Alone(&self.turns))
    }
}
