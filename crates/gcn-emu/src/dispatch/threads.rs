//! Host threads that dispatches use one after the other.
//!
//! A waiting thread begins to work after a few microseconds. A new thread does not: Linux starts it on the processor of the
//! thread that created it, and may take half a millisecond to move it to a free one. Small dispatches have ended by then.

use super::schedule::lock;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ops::Deref;
use std::sync::Mutex;

/// The pools that no dispatch uses.
static IDLE: Mutex<Idle> = Mutex::new(Idle {
    process: 0,
    pools: Vec::new(),
});

struct Idle {
    /// The process whose threads they have. A forked one has the pools, but none of their threads.
    process: u32,
    pools: Vec<ThreadPool>,
}

impl Idle {
    /// The pools of this process.
    fn pools(&mut self) -> &mut Vec<ThreadPool> {
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

/// Threads that only one dispatch uses. No dispatch can then wait for a thread that waits for it.
pub(super) struct Threads(Option<ThreadPool>);

impl Threads {
    /// Returns at least this number of threads. `None` if it is 0, or if the host refuses them.
    pub(super) fn take(wanted: usize) -> Option<Threads> {
        if wanted == 0 {
            return None;
        }
        let mut idle = lock(&IDLE);
        let pools = idle.pools();
        let fitting = (pools.iter().enumerate())
            .filter(|(_, pool)| pool.current_num_threads() >= wanted)
            .min_by_key(|(_, pool)| pool.current_num_threads());
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
        let made = ThreadPoolBuilder::new()
            .num_threads(count)
            .thread_name(|n| format!("gcn-waves-{n}"))
            .build();
        made.ok().map(|pool| Threads(Some(pool)))
    }
}

impl Deref for Threads {
    type Target = ThreadPool;

    fn deref(&self) -> &ThreadPool {
        self.0.as_ref().expect("it is there until it is dropped")
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

#[cfg(test)]
mod tests {
    use super::Threads;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn a_dispatch_does_not_wait_for_the_threads_of_another() {
        let (send, receive) = mpsc::channel();
        let first = Threads::take(1).expect("a thread");
        first.in_place_scope(|scope| {
            scope.spawn(move |_| {
                let received = receive.recv_timeout(Duration::from_secs(60));
                assert!(received.is_ok(), "the second dispatch has no thread");
            });
            let second = Threads::take(1).expect("a thread");
            second.in_place_scope(|scope| scope.spawn(|_| send.send(()).expect("it waits")));
        });
    }

    #[test]
    fn a_dispatch_has_all_the_threads_that_it_wants() {
        for wanted in [1, 2, 3, 200] {
            let threads = Threads::take(wanted).expect("threads");
            assert!(threads.current_num_threads() >= wanted);
        }
        assert!(Threads::take(0).is_none());
    }
}
