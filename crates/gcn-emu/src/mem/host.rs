//! Address space of the host: ranges that are reserved at once and committed part by part, and queries about pages
//! that others own.

use super::guard::{Access, GUARDED};
use super::{MemError, PAGE_SIZE};

/// The number of bytes that are committed at a time. It is one page in a guarded build, where unused pages must be inaccessible.
const BLOCK: usize = if GUARDED { PAGE_SIZE as usize } else { 2 << 20 };

/// The state of a reserved range before it is committed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// Zeros that may be read.
    Zeros,
    /// Inaccessible.
    Nothing,
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod linux {
    use super::*;
    use rustix::mm::{self, Advice, MapFlags, MprotectFlags, ProtFlags};
    use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};
    use std::sync::{Mutex, PoisonError};

    fn refused(what: &str, bytes: usize, error: rustix::io::Errno) -> MemError {
        MemError::Host(format!("{what} of {bytes} bytes: {error}"))
    }

    /// Addresses of the host that nothing else uses; released on drop.
    pub(in crate::mem) struct Reserved {
        at: usize,
        len: usize,
        /// For each [`BLOCK`], true if it is committed.
        used: Vec<AtomicBool>,
        /// Held while a block is committed.
        taking: Mutex<()>,
    }

    impl Reserved {
        /// Reserves `bytes` bytes, rounded up to whole blocks, at `wanted` if those addresses are free, otherwise anywhere.
        ///
        /// A private range without write permission does not count against the host's commit limit, even if the host does not
        /// overcommit.
        pub fn new(
            bytes: usize,
            wanted: Option<usize>,
            before: Before,
        ) -> Result<Reserved, MemError> {
            let len = bytes.next_multiple_of(BLOCK);
            let prot = match before {
                Before::Zeros => ProtFlags::READ,
                Before::Nothing => ProtFlags::empty(),
            };
            let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
            let map = |at: Option<usize>| {
                let (hint, flags) = match at {
                    Some(at) => (at, flags | MapFlags::FIXED_NOREPLACE),
                    None => (0, flags),
                };
                let hint = std::ptr::with_exposed_provenance_mut(hint);
                // SAFETY: no existing mapping is replaced.
                unsafe { mm::mmap_anonymous(hint, len, prot, flags) }
            };
            let at = match wanted.map(|at| (at, map(Some(at)))) {
                // A host that does not know the flag may have chosen another address, which is acceptable.
                Some((_, Ok(at))) => at,
                _ => map(None).map_err(|e| refused("an address range", len, e))?,
            };
            Ok(Reserved {
                at: at.expose_provenance(),
                len,
                used: (0..len / BLOCK).map(|_| AtomicBool::new(false)).collect(),
                taking: Mutex::new(()),
            })
        }

        /// Returns the address of the first byte.
        pub fn address(&self) -> usize {
            self.at
        }

        /// Commits the blocks of `bytes` bytes at offset `from`: they become writable. Bytes that were never written are zeros.
        pub fn take(&self, from: usize, bytes: usize) -> Result<(), MemError> {
            assert!(bytes > 0 && from < self.len && bytes <= self.len - from);
            for block in from / BLOCK..=(from + bytes - 1) / BLOCK {
                if self.used[block].load(Acquire) {
                    continue;
                }
                let _taking = self.taking.lock().unwrap_or_else(PoisonError::into_inner);
                if self.used[block].load(Acquire) {
                    continue;
                }
                let at = std::ptr::with_exposed_provenance_mut(self.at + block * BLOCK);
                let access = MprotectFlags::READ | MprotectFlags::WRITE;
                // SAFETY: the block lies in the range, which belongs to `self`.
                unsafe { mm::mprotect(at, BLOCK, access) }
                    .map_err(|e| refused("memory", BLOCK, e))?;
                self.used[block].store(true, Release);
            }
            Ok(())
        }

        /// Sets the host's permissions of whole committed pages.
        pub fn allow(&self, from: usize, bytes: usize, access: Access) -> Result<(), MemError> {
            assert!(from <= self.len && bytes <= self.len - from);
            let flags = match access {
                Access::Nothing => MprotectFlags::empty(),
                Access::Read => MprotectFlags::READ,
                Access::Write => MprotectFlags::READ | MprotectFlags::WRITE,
            };
            let at = std::ptr::with_exposed_provenance_mut(self.at + from);
            // SAFETY: the pages lie in the range. Only pages that no access may reach become inaccessible.
            unsafe { mm::mprotect(at, bytes, flags) }.map_err(|e| refused("access", bytes, e))
        }

        /// Returns the memory of whole pages to the host; they become zeros again and stay writable.
        pub fn discard(&self, from: usize, bytes: usize) {
            assert!(from <= self.len && bytes <= self.len - from);
            assert!(
                from.is_multiple_of(PAGE_SIZE as usize) && bytes.is_multiple_of(PAGE_SIZE as usize)
            );
            let at = std::ptr::with_exposed_provenance_mut(self.at + from);
            // SAFETY: the pages lie in the range, whose bytes are accessed only by atomics: zeros are valid values.
            let done = unsafe { mm::madvise(at, bytes, Advice::LinuxDontNeed) };
            debug_assert!(done.is_ok());
        }
    }

    impl Drop for Reserved {
        fn drop(&mut self) {
            let at = std::ptr::with_exposed_provenance_mut(self.at);
            // SAFETY: the range was mapped by `new`, and every user of it owns `self`.
            let done = unsafe { mm::munmap(at, self.len) };
            debug_assert!(done.is_ok());
        }
    }

    /// Returns true in the first value if all of these pages of the process are readable, and true in the second if they are
    /// writable. The query populates the pages, as pinning them for a device does; their contents stay.
    pub(in crate::mem) fn access(at: usize, bytes: usize) -> (bool, bool) {
        let may = |advice| {
            let at = std::ptr::with_exposed_provenance_mut(at);
            // SAFETY: the advice changes no byte.
            match unsafe { mm::madvise(at, bytes, advice) } {
                Ok(()) => true,
                // Linux before 5.14 does not support the query. Then the caller is trusted.
                Err(rustix::io::Errno::INVAL) => !matches!(probe(), Some(true)),
                Err(_) => false,
            }
        };
        if may(Advice::LinuxPopulateWrite) {
            return (true, true);
        }
        (may(Advice::LinuxPopulateRead), false)
    }

    /// Returns true if the host supports the advice, tested on memory of our own. Returns `None` if the test was not possible.
    fn probe() -> Option<bool> {
        static KNOWN: std::sync::OnceLock<Option<bool>> = std::sync::OnceLock::new();
        *KNOWN.get_or_init(|| {
            let own = Reserved::new(BLOCK, None, Before::Zeros).ok()?;
            own.take(0, BLOCK).ok()?;
            let at = std::ptr::with_exposed_provenance_mut(own.address());
            // SAFETY: the page belongs to `own`.
            Some(unsafe { mm::madvise(at, PAGE_SIZE as usize, Advice::LinuxPopulateWrite) }.is_ok())
        })
    }
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub(super) use linux::{Reserved, access};

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
mod elsewhere {
    use super::*;

    /// Does not exist on this host.
    pub(in crate::mem) enum Reserved {}

    impl Reserved {
        pub fn new(_: usize, _: Option<usize>, _: Before) -> Result<Reserved, MemError> {
            let why = "guest addresses that are the host's need 64-bit Linux";
            Err(MemError::Host(why.into()))
        }

        pub fn address(&self) -> usize {
            match *self {}
        }

        pub fn take(&self, _: usize, _: usize) -> Result<(), MemError> {
            match *self {}
        }

        pub fn allow(&self, _: usize, _: usize, _: Access) -> Result<(), MemError> {
            match *self {}
        }

        pub fn discard(&self, _: usize, _: usize) {
            match *self {}
        }
    }

    pub(in crate::mem) fn access(_: usize, _: usize) -> (bool, bool) {
        (false, false)
    }
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
pub(super) use elsewhere::{Reserved, access};
