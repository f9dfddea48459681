//! Interrupts of motions by a thread that reads what a client sends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// The flag that interrupts a session's motions, and the number of interrupting messages that are on their way to the thread that moves it.
/// A message that was sent during a motion must not interrupt the next one, and one that was sent since must.
#[derive(Clone)]
pub(crate) struct Interrupts {
    flag: Arc<AtomicBool>,
    sent: Arc<AtomicUsize>,
}

impl Interrupts {
    /// Interrupts for the session that has this flag.
    pub(crate) fn new(flag: &Arc<AtomicBool>) -> Interrupts {
        Interrupts {
            flag: flag.clone(),
            sent: Arc::default(),
        }
    }

    /// Interrupts the motion, before the message about it is sent.
    pub(crate) fn raise(&self) {
        self.sent.fetch_add(1, SeqCst);
        self.flag.store(true, SeqCst);
    }

    /// The message has arrived: no motion is under way.
    pub(crate) fn arrived(&self) {
        self.sent.fetch_sub(1, SeqCst);
        self.flag.store(false, SeqCst);
        // Another one may have been raised between.
        if self.sent.load(SeqCst) > 0 {
            self.flag.store(true, SeqCst);
        }
    }
}
