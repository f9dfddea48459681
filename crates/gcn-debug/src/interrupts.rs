//! Interrupts of motions by the thread that reads a client's messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// The flag that interrupts a session's motions, and the number of interrupting messages that have not reached the thread that
/// moves the session. A message that was sent during a motion must not interrupt the next motion, and a message that was sent
/// after it must.
#[derive(Clone)]
pub(crate) struct Interrupts {
    flag: Arc<AtomicBool>,
    sent: Arc<AtomicUsize>,
}

impl Interrupts {
    /// Creates interrupts for the session that has this flag.
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

    /// Records that the message has arrived. No motion is running.
    pub(crate) fn arrived(&self) {
        self.sent.fetch_sub(1, SeqCst);
        self.flag.store(false, SeqCst);
        // Another message may have been raised in between.
        if self.sent.load(SeqCst) > 0 {
            self.flag.store(true, SeqCst);
        }
    }
}
