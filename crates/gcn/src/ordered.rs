//! Writes text in order while several threads produce its parts.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A part with this many bytes waits until it is the next to be written.
const MOST_OF_ONE: usize = 1 << 20;
/// The maximum bytes in finished parts that are not yet written; one further part may exceed it.
const MOST_HELD: usize = 1 << 25;
/// The maximum number of buffers kept for reuse.
const MOST_BUFFERS: usize = 16;

/// The state that the threads share.
struct Output<'a> {
    /// The number of the part to write next.
    next: usize,
    /// Finished parts that are not the next to be written.
    held: BTreeMap<usize, Vec<u8>>,
    held_bytes: usize,
    /// The number of threads that wait until their part is the next to be written.
    waiting: usize,
    /// Buffers for reuse.
    buffers: Vec<Vec<u8>>,
    /// The first error, which ends the work.
    result: io::Result<()>,
    out: &'a mut (dyn Write + Send),
}

struct Shared<'a> {
    output: Mutex<Output<'a>>,
    changed: Condvar,
}

impl<'a> Shared<'a> {
    fn lock(&self) -> MutexGuard<'_, Output<'a>> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, error: io::Error) {
        let mut output = self.lock();
        if output.result.is_ok() {
            output.result = Err(error);
        }
        self.wake(output);
    }

    /// Wakes the threads that wait. Waking is a system call even if there are none.
    fn wake(&self, output: MutexGuard<'_, Output<'a>>) {
        let waiting = output.waiting > 0;
        drop(output);
        if waiting {
            self.changed.notify_all();
        }
    }

    /// Waits while a condition holds.
    fn wait_while<'s>(
        &'s self,
        mut output: MutexGuard<'s, Output<'a>>,
        condition: impl Fn(&mut Output) -> bool,
    ) -> MutexGuard<'s, Output<'a>> {
        output.waiting += 1;
        let mut output = (self.changed.wait_while(output, |output| condition(output)))
            .unwrap_or_else(PoisonError::into_inner);
        output.waiting -= 1;
        output
    }
}

/// The output of one part.
struct Part<'s, 'a> {
    shared: &'s Shared<'a>,
    number: usize,
    buffer: Vec<u8>,
}

fn stopped() -> io::Error {
    io::Error::other("another part of the text failed")
}

impl Part<'_, '_> {
    /// Finishes the part. Writes it, and the finished parts after it, if it is the next one.
    fn finish(mut self) {
        let output = self.shared.lock();
        let full = |output: &mut Output| {
            output.next != self.number && output.held_bytes > MOST_HELD && output.result.is_ok()
        };
        let mut output = self.shared.wait_while(output, full);
        output.held_bytes += self.buffer.len();
        output
            .held
            .insert(self.number, std::mem::take(&mut self.buffer));
        while output.result.is_ok() {
            let next = output.next;
            let Some(mut text) = output.held.remove(&next) else {
                break;
            };
            output.held_bytes -= text.len();
            output.result = output.out.write_all(&text);
            output.next += 1;
            text.clear();
            if output.buffers.len() < MOST_BUFFERS {
                output.buffers.push(text);
            }
        }
        self.shared.wake(output);
    }
}

impl Drop for Part<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Otherwise the other threads would wait for this part forever.
            self.shared.fail(stopped());
        }
    }
}

impl Write for Part<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() <= MOST_OF_ONE {
            self.buffer.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        let output = self.shared.lock();
        let waits = |output: &mut Output| output.next != self.number && output.result.is_ok();
        let mut output = self.shared.wait_while(output, waits);
        if output.result.is_err() {
            return Err(stopped());
        }
        output.out.write_all(&self.buffer)?;
        output.out.write_all(bytes)?;
        self.buffer.clear();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Calls `make` for the parts from 0 on, on up to `threads` threads, until it returns false: there is no such part. Each
/// thread calls `begin` once for the memory that it reuses from part to part. The text is written to `out` in the order of
/// the parts. The parts before `first` write nothing, and the others do not wait for them.
///
/// # Errors
/// The first error of `out` or of a part.
pub(crate) fn write<S>(
    threads: usize,
    first: usize,
    out: &mut (dyn Write + Send),
    begin: impl Fn() -> S + Sync,
    make: impl Fn(usize, &mut S, &mut (dyn Write + Send)) -> io::Result<bool> + Sync,
) -> io::Result<()> {
    if threads < 2 {
        let mut scratch = begin();
        let mut number = 0;
        while make(number, &mut scratch, out)? {
            number += 1;
        }
        return Ok(());
    }
    let shared = Shared {
        output: Mutex::new(Output {
            next: first,
            held: BTreeMap::new(),
            held_bytes: 0,
            waiting: 0,
            buffers: Vec::new(),
            result: Ok(()),
            out,
        }),
        changed: Condvar::new(),
    };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut scratch = begin();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let mut output = shared.lock();
            if output.result.is_err() {
                return;
            }
            let buffer = output.buffers.pop().unwrap_or_default();
            drop(output);
            let mut part = Part {
                shared: &shared,
                number,
                buffer,
            };
            match make(number, &mut scratch, &mut part) {
                Ok(false) => return,
                Ok(true) if number < first => {}
                Ok(true) => part.finish(),
                Err(error) => return shared.fail(error),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // If the host refuses a thread, the existing ones do the work.
            let started = std::thread::Builder::new().spawn_scoped(scope, work);
            if started.is_err() {
                break;
            }
        }
        work();
    });
    (shared.output.into_inner())
        .unwrap_or_else(PoisonError::into_inner)
        .result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a long or short part in several pieces.
    fn piece(n: usize, out: &mut (dyn Write + Send)) -> io::Result<bool> {
        for k in 0..n % 7 {
            write!(out, "{n}.{k} ")?;
            if n % 50 == 3 {
                out.write_all(&vec![b'x'; MOST_OF_ONE / 2 + 1])?;
            }
        }
        Ok(n < 200)
    }

    #[test]
    fn parts_come_in_order() {
        let mut whole = Vec::new();
        for n in 1..200 {
            piece(n, &mut whole).expect("memory takes all");
        }
        for threads in 1..5 {
            for first in 0..2 {
                let mut out = Vec::new();
                let make = |n: usize, (): &mut (), out: &mut (dyn Write + Send)| match n {
                    0 => Ok(true),
                    200.. => Ok(false),
                    n => piece(n, out),
                };
                write(threads, first, &mut out, || (), make).expect("memory takes all");
                assert!(out == whole, "{threads} threads");
            }
        }
    }

    #[test]
    fn an_error_ends_all() {
        for threads in 1..4 {
            let mut out = Vec::new();
            let make = |n: usize, (): &mut (), out: &mut (dyn Write + Send)| match n {
                5 => Err(io::Error::other("five")),
                _ => out.write_all(&[b'.'; 1 << 16]).map(|()| true),
            };
            let result = write(threads, 0, &mut out, || (), make);
            assert_eq!(result.map_err(|e| e.to_string()), Err("five".to_string()));
            assert!(out.len() <= 5 << 16);
        }
    }

    #[test]
    fn an_output_that_fails_ends_all() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::other("full"))
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let make = |n: usize, (): &mut (), out: &mut (dyn Write + Send)| piece(n, out);
        let result = write(3, 0, &mut Full, || (), make);
        assert_eq!(result.map_err(|e| e.to_string()), Err("full".to_string()));
    }
}
