//! Host threads that dispatches use one after the other.
//!
//! A waiting thread begins to work after a few microseconds. A new thread does not: Linux starts it on the processor of the
//! thread that created it, and may take half a millisecond to move it to a free one. Small dispatches have ended by then. In a virtual
//! machine Linux may start a waiting thread, too, on the processor of the thread that wakes it although another one is free, and one of
//! them waits until the other one has ended: [`Places`] keeps them apart.

use super::schedule::lock;
use places::Places;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The pools that no dispatch uses.
static IDLE: Mutex<Idle> = Mutex::new(Idle {
    process: 0,
    pools: Vec::new(),
});

struct Idle {
    /// The process whose threads they have. A forked one has the pools, but none of their threads.
    process: u32,
    pools: Vec<Pool>,
}

struct Pool {
    threads: ThreadPool,
    places: Arc<Places>,
}

impl Idle {
    /// The pools of this process.
    fn pools(&mut self) -> &mut Vec<Pool> {
        let process = std::process::id();
        if self.process != process {
            // Ending their threads would wait for them.
            std::mem::forget(std::mem::take(&mut self.pools));
            self.process = process;
        }
        &mut self.pools
    }
}

/// The maximum number of pools that are kept.
const KEPT: usize = 8;

/// For how long a thread whose work has ended watches others before it sleeps. The last workgroups end within this time, as a rule, and waking the
/// thread takes as long.
const WATCH: Duration = Duration::from_micros(30);

/// Threads that only one dispatch uses. No dispatch can then wait for a thread that waits for it.
pub(super) struct Threads(Option<Pool>);

/// How many threads of a dispatch have begun their work, and how many of these have ended it.
#[derive(Default)]
struct Progress {
    begun: AtomicUsize,
    ended: AtomicUsize,
}

impl Threads {
    /// Returns at least this number of threads. `None` if it is 0, or if the host refuses them.
    pub(super) fn take(wanted: usize) -> Option<Threads> {
        if wanted == 0 {
            return None;
        }
        let mut idle = lock(&IDLE);
        let pools = idle.pools();
        let fitting = (pools.iter().enumerate())
            .filter(|(_, pool)| pool.threads.current_num_threads() >= wanted)
            .min_by_key(|(_, pool)| pool.threads.current_num_threads());
        if let Some((at, _)) = fitting {
            return Some(Threads(Some(pools.swap_remove(at))));
        }
        drop(idle);
        // The number is rounded up, so that dispatches of other sizes can use the pool later.
        let host = std::thread::available_parallelism().map_or(1, |n| n.get() - 1);
        let count = match wanted <= host {
            true => wanted.next_power_of_two().min(host),
            false => wanted,
        };
        let places = Arc::new(Places::of(count));
        let those = places.clone();
        let made = ThreadPoolBuilder::new()
            .num_threads(count)
            .thread_name(|n| format!("gcn-waves-{n}"))
            .start_handler(move |n| those.started(n))
            .build();
        let pool = made.ok().map(|threads| Pool { threads, places });
        pool.map(|pool| Threads(Some(pool)))
    }

    /// Calls `first` on this thread, which may call its argument to start `other` on the other threads, with the numbers from 1 to
    /// `count`. Returns when all have ended.
    pub(super) fn run(
        &self,
        count: usize,
        first: impl FnOnce(&dyn Fn()),
        other: impl Fn(usize) + Sync,
    ) {
        let pool = self.0.as_ref().expect("it is there until it is dropped");
        let (places, other) = (&*pool.places, &other);
        let progress = &Progress::default();
        pool.threads.in_place_scope(|scope| {
            first(&|| {
                places.leave_this_processor();
                for thread in 1..=count {
                    scope.spawn(move |_| {
                        progress.begun.fetch_add(1, SeqCst);
                        places.begin(rayon::current_thread_index());
                        other(thread);
                        places.end(rayon::current_thread_index());
                        progress.ended.fetch_add(1, SeqCst);
                    });
                }
            });
            let since = Instant::now();
            while progress.ended.load(SeqCst) < progress.begun.load(SeqCst)
                && since.elapsed() < WATCH
            {
                std::hint::spin_loop();
            }
        });
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let mut idle = lock(&IDLE);
        let pools = idle.pools();
        if pools.len() < KEPT {
            pools.extend(self.0.take());
        }
    }
}

/// Where the threads of a pool work.
#[cfg(target_os = "linux")]
mod places {
    use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering::Relaxed};

    /// Up to this number of threads, all are kept apart from the thread that wakes them.
    const FEW: usize = 4;

    /// Where a thread works.
    #[derive(Default)]
    struct Place {
        /// The thread, as the operating system numbers it; 0 if it has not started.
        thread: AtomicI32,
        /// The processor on which it worked last.
        processor: AtomicUsize,
        /// The processors on which it may work, if it was kept from one of them.
        whole: Mutex<Option<CpuSet>>,
    }

    impl Place {
        /// Keeps the thread from a processor until it begins, if it may work on another one.
        fn leave(&self, processor: usize) {
            let mut whole = super::lock(&self.whole);
            let thread = Pid::from_raw(self.thread.load(Relaxed));
            let Ok(all) = sched_getaffinity(thread) else {
                return;
            };
            let (mut others, there) = (all, processor < CpuSet::MAX_CPU);
            if whole.is_some() || !there || !all.is_set(processor) || all.count() < 2 {
                return;
            }
            others.unset(processor);
            if sched_setaffinity(thread, &others).is_ok() {
                *whole = Some(all);
            }
        }
    }

    pub(super) struct Places(Vec<Place>);

    impl Places {
        pub(super) fn of(threads: usize) -> Places {
            Places((0..threads).map(|_| Place::default()).collect())
        }

        fn get(&self, thread: Option<usize>) -> Option<&Place> {
            self.0.get(thread?)
        }

        pub(super) fn started(&self, thread: usize) {
            if let Some(place) = self.0.get(thread) {
                place.processor.store(sched_getcpu(), Relaxed);
                place.thread.store(gettid().as_raw_pid(), Relaxed);
            }
        }

        /// Keeps the threads from this thread's processor until they begin, if they may work on another one. If there are many, only those that
        /// worked there last: each takes about a microsecond.
        pub(super) fn leave_this_processor(&self) {
            let here = sched_getcpu();
            let few = self.0.len() <= FEW;
            let started = |place: &&Place| place.thread.load(Relaxed) != 0;
            for place in self.0.iter().filter(started) {
                if few || place.processor.load(Relaxed) == here {
                    place.leave(here);
                }
            }
        }

        pub(super) fn begin(&self, thread: Option<usize>) {
            if let Some(place) = self.get(thread)
                && let Some(whole) = super::lock(&place.whole).take()
            {
                // If the processors are not its own any more, it stays where it is.
                let _ = sched_setaffinity(None, &whole);
            }
        }

        pub(super) fn end(&self, thread: Option<usize>) {
            if let Some(place) = self.get(thread) {
                place.processor.store(sched_getcpu(), Relaxed);
            }
        }
    }
}

/// Other operating systems place threads themselves.
#[cfg(not(target_os = "linux"))]
mod places {
    pub(super) struct Places;

    impl Places {
        pub(super) fn of(_: usize) -> Places {
            Places
        }
        pub(super) fn started(&self, _: usize) {}
        pub(super) fn leave_this_processor(&self) {}
        pub(super) fn begin(&self, _: Option<usize>) {}
        pub(super) fn end(&self, _: Option<usize>) {}
    }
}

#[cfg(test)]
mod tests {
    use super::{Threads, lock};
    use std::sync::{Mutex, mpsc};
    use std::time::Duration;

    #[test]
    fn a_dispatch_does_not_wait_for_the_threads_of_another() {
        let (send, receive) = mpsc::channel();
        let first = Threads::take(1).expect("a thread");
        let receive = Mutex::new(receive);
        let send = |_| send.send(()).expect("it waits");
        let start_second = || {
            let second = Threads::take(1).expect("a thread");
            second.run(1, |start| start(), send);
        };
        let wait = |_| {
            let received = lock(&receive).recv_timeout(Duration::from_secs(60));
            assert!(received.is_ok(), "the second dispatch has no thread");
        };
        let first_work = |start: &dyn Fn()| {
            start();
            start_second();
        };
        first.run(1, first_work, wait);
    }

    /// A thread is kept from a processor only until it begins.
    #[cfg(target_os = "linux")]
    #[test]
    fn threads_may_work_on_all_processors() {
        use rustix::thread::sched_getaffinity;
        let all = sched_getaffinity(None).expect("its processors");
        let threads = Threads::take(3).expect("threads");
        for _ in 0..20 {
            let seen = Mutex::new(Vec::new());
            let see = |_| lock(&seen).push(sched_getaffinity(None).expect("its processors"));
            threads.run(3, |start| start(), see);
            let seen = seen.into_inner().expect("all have ended");
            assert!(seen.len() == 3 && seen.iter().all(|own| *own == all));
        }
    }

    #[test]
    fn a_dispatch_has_all_the_threads_that_it_wants() {
        for wanted in [1, 2, 3, 200] {
            let threads = Threads::take(wanted).expect("threads");
            let numbers = Mutex::new(Vec::new());
            threads.run(wanted, |start| start(), |n| lock(&numbers).push(n));
            let mut numbers = numbers.into_inner().expect("all have ended");
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(1..=wanted));
        }
        assert!(Threads::take(0).is_none());
    }
}
