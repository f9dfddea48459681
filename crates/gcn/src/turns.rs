//! Text that several threads make in parts and that is written in order.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A part that holds this many bytes before its turn waits for it.
const MOST_OF_ONE: usize = 1 << 20;
/// The finished parts that wait for their turn hold at most this many bytes, or one part more.
const MOST_HELD: usize = 1 << 25;
/// The buffers that are kept to be used again.
const MOST_BUFFERS: usize = 16;

/// What the threads share.
struct Turn<'a> {
    /// The number of the part that is to be written next.
    next: usize,
    /// Finished parts whose turn has not come.
    held: BTreeMap<usize, Vec<u8>>,
    held_bytes: usize,
    /// Buffers to be used again.
    buffers: Vec<Vec<u8>>,
    /// The first error; it ends all work.
    result: io::Result<()>,
    out: &'a mut (dyn Write + Send),
}

struct Shared<'a> {
    turn: Mutex<Turn<'a>>,
    passed: Condvar,
}

impl<'a> Shared<'a> {
    fn lock(&self) -> MutexGuard<'_, Turn<'a>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, error: io::Error) {
        let mut turn = self.lock();
        if turn.result.is_ok() {
            turn.result = Err(error);
        }
        self.passed.notify_all();
    }
}

/// Takes the text of one part.
struct Part<'s, 'a> {
    shared: &'s Shared<'a>,
    number: usize,
    buffer: Vec<u8>,
}

fn stopped() -> io::Error {
    io::Error::other("another part of the text failed")
}

impl Part<'_, '_> {
    /// Hands in the rest. Writes what waits for this part alone.
    fn finish(mut self) {
        let mut turn = self.shared.lock();
        while turn.next != self.number && turn.held_bytes > MOST_HELD && turn.result.is_ok() {
            turn = (self.shared.passed.wait(turn)).unwrap_or_else(PoisonError::into_inner);
        }
        turn.held_bytes += self.buffer.len();
        turn.held
            .insert(self.number, std::mem::take(&mut self.buffer));
        while turn.result.is_ok() {
            let next = turn.next;
            let Some(mut text) = turn.held.remove(&next) else {
                break;
            };
            turn.held_bytes -= text.len();
            turn.result = turn.out.write_all(&text);
            turn.next += 1;
            text.clear();
            if turn.buffers.len() < MOST_BUFFERS {
                turn.buffers.push(text);
            }
        }
        drop(turn);
        self.shared.passed.notify_all();
    }
}

impl Drop for Part<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The others would wait for this part.
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
        let turn = self.shared.lock();
        let waits = |turn: &mut Turn| turn.next != self.number && turn.result.is_ok();
        let mut turn =
            (self.shared.passed.wait_while(turn, waits)).unwrap_or_else(PoisonError::into_inner);
        if turn.result.is_err() {
            return Err(stopped());
        }
        turn.out.write_all(&self.buffer)?;
        turn.out.write_all(bytes)?;
        self.buffer.clear();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Has `make` write the text of the parts from 0 on, on up to `threads` threads, until it returns false: there is no
/// such part. Each thread calls `begin` once for what it uses again from part to part. The text is written to `out` in
/// the order of the parts; the parts before `first` write nothing, and the others do not wait for them.
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
        let mut own = begin();
        let mut number = 0;
        while make(number, &mut own, out)? {
            number += 1;
        }
        return Ok(());
    }
    let shared = Shared {
        turn: Mutex::new(Turn {
            next: first,
            held: BTreeMap::new(),
            held_bytes: 0,
            buffers: Vec::new(),
            result: Ok(()),
            out,
        }),
        passed: Condvar::new(),
    };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut own = begin();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let mut turn = shared.lock();
            if turn.result.is_err() {
                return;
            }
            let buffer = turn.buffers.pop().unwrap_or_default();
            drop(turn);
            let mut part = Part {
                shared: &shared,
                number,
                buffer,
            };
            match make(number, &mut own, &mut part) {
                Ok(false) => return,
                Ok(true) if number < first => {}
                Ok(true) => part.finish(),
                Err(error) => return shared.fail(error),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // A host that refuses a thread refuses the next one, too: the threads there are do the work.
            let started = std::thread::Builder::new().spawn_scoped(scope, work);
            if started.is_err() {
                break;
            }
        }
        work();
    });
    (shared.turn.into_inner())
        .unwrap_or_else(PoisonError::into_inner)
        .result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a part: long and short ones, in several pieces.
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
