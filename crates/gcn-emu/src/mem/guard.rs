//! Host memory between inaccessible pages: the arena of guest memory, LDS and, in a guarded build, VGPRs.
//!
//! Nothing relies on the guards: every access is checked before it is performed. The guards turn a bug in such a check into a
//! crash of the process, so that it cannot corrupt memory of the host. A guarded build (the feature `guarded`) makes every
//! such bug visible to tests: its guards are wider than any displacement that an instruction of the host can have, LDS and
//! VGPRs end exactly at a guard, and pages that the guest may not access are inaccessible to the host.
//!
//! Guards exist on Unix. On other systems the memory has no guards.

use memmap2::{MmapMut, MmapOptions, MmapRaw};
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// True in a guarded build.
pub(super) const GUARDED: bool = cfg!(all(feature = "guarded", unix));

/// Inaccessible bytes on each side of the arena. An instruction of the host adds a base, a signed index of 32 bits and a
/// displacement of 32 bits, so in a guarded build no wrong index gets beyond a guard. In other builds the guards catch
/// accesses that run past an end, and use little of an address space that may be limited. It is a multiple of 2 MiB, the
/// size of large pages.
pub(super) const ARENA_GUARD: usize = if GUARDED { 6 << 30 } else { 2 << 20 };

/// The largest index plus the largest displacement, relative to a base within the arena, plus the widest access.
const FARTHEST: usize = (1 << 31) + (1 << 31) + 64;
const _: () = assert!(!GUARDED || ARENA_GUARD > FARTHEST);

/// Inaccessible bytes on each side of a [`Guarded`].
const GUARD: usize = 64 << 10;

/// Accessible bytes on each side of the elements of a [`Guarded`], in which nothing is. A vector instruction of the host that loads or stores some of
/// its elements is slow (hundreds of cycles) where one of the others is inaccessible, or in a page that was never touched.
const MARGIN: usize = if GUARDED { 0 } else { 64 };

/// The size in bytes of the [`Guarded`] mappings that are cached for reuse: enough for all of LDS, and for all VGPRs of a wave, with their margins.
/// It is a multiple of any host's page.
pub(super) const USUAL: usize = if GUARDED { 1 } else { 2 } * super::LDS_MOST;
const _: () = assert!(super::LDS_MOST >= 256 * 64 * 4);

/// The maximum number of cached mappings.
const MOST_CACHED: usize = if GUARDED { 4096 } else { 64 };

/// Returns the size in bytes of the host's pages.
#[cfg(unix)]
fn host_page() -> usize {
    rustix::param::page_size()
}
#[cfg(not(unix))]
fn host_page() -> usize {
    64 << 10
}

/// The host's permissions of pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    Nothing,
    Read,
    Write,
}

/// A mapping of zeros between inaccessible pages.
pub(super) struct Mapping {
    map: MmapRaw,
    guard: usize,
    len: usize,
}

impl Mapping {
    /// Maps `len` bytes (rounded up to whole pages), with at least `guard` inaccessible bytes on each side. With `huge`, large
    /// pages are used if the host has them.
    pub fn new(len: usize, guard: usize, huge: bool) -> io::Result<Mapping> {
        let too_large = || io::Error::from(io::ErrorKind::OutOfMemory);
        let len = len
            .checked_next_multiple_of(host_page())
            .ok_or_else(too_large)?;
        let guard = if cfg!(unix) { guard } else { 0 };
        let all = guard.checked_mul(2).and_then(|g| g.checked_add(len));
        // Pages are committed when they are first touched; because no swap is reserved, a large limit costs nothing.
        let map: MmapMut = MmapOptions::new()
            .len(all.ok_or_else(too_large)?)
            .no_reserve_swap()
            .map_anon()?;
        // Kernels access memory with long strides; with small pages they spend much of their time on address translation. A
        // host without large pages uses small ones.
        #[cfg(target_os = "linux")]
        if huge && !GUARDED {
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = huge;
        let mapping = Mapping {
            map: map.into(),
            guard,
            len,
        };
        mapping.protect(0, guard, Access::Nothing)?;
        mapping.protect(guard + len, guard, Access::Nothing)?;
        Ok(mapping)
    }

    /// Returns the address of the first byte after the guard.
    pub fn start(&self) -> *mut u8 {
        self.map.as_mut_ptr().wrapping_add(self.guard)
    }

    /// Sets the host's permissions of `len` bytes at offset `at` from the start. Both must be whole pages.
    pub fn allow(&self, at: usize, len: usize, access: Access) -> io::Result<()> {
        assert!(at <= self.len && len <= self.len - at);
        self.protect(self.guard + at, len, access)
    }

    /// Asks the host for small pages instead of large ones for `len` bytes at offset `at` from the start, or for large ones again. Both must be whole pages.
    pub fn use_small_pages(&self, at: usize, len: usize, small: bool) {
        assert!(at <= self.len && len <= self.len - at);
        #[cfg(target_os = "linux")]
        if !GUARDED {
            let advice = match small {
                true => memmap2::Advice::NoHugePage,
                false => memmap2::Advice::HugePage,
            };
            // Without either, the memory is the same.
            let _ = self.map.advise_range(advice, self.guard + at, len);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = small;
    }

    #[cfg(unix)]
    fn protect(&self, at: usize, len: usize, access: Access) -> io::Result<()> {
        use rustix::mm::{MprotectFlags, mprotect};
        let flags = match access {
            Access::Nothing => MprotectFlags::empty(),
            Access::Read => MprotectFlags::READ,
            Access::Write => MprotectFlags::READ | MprotectFlags::WRITE,
        };
        if len == 0 {
            return Ok(());
        }
        // SAFETY: the range belongs to this mapping. Only its guards and, in a guarded build, pages that no access may
        // reach become inaccessible.
        let done = unsafe { mprotect(self.map.as_mut_ptr().wrapping_add(at).cast(), len, flags) };
        done.map_err(io::Error::from)
    }

    #[cfg(not(unix))]
    fn protect(&self, _: usize, _: usize, _: Access) -> io::Result<()> {
        Ok(())
    }
}

/// The memory of the elements of a [`Guarded`].
enum Backing {
    Mapped(Mapping),
    /// Used if the host cannot provide another mapping.
    Heap(Box<[u64]>),
}

impl Backing {
    fn new(bytes: usize) -> Backing {
        let usual = bytes <= USUAL;
        let cached = match usual {
            true => cache().pop(),
            false => None,
        };
        let new = || Mapping::new(bytes.max(USUAL), GUARD, false).ok();
        match cached.or_else(new) {
            Some(mapping) => Backing::Mapped(mapping),
            None => Backing::Heap(vec![0; bytes.div_ceil(8) + 8].into()),
        }
    }

    /// Returns the number of bytes.
    fn len(&self) -> usize {
        match self {
            Backing::Mapped(mapping) => mapping.len,
            Backing::Heap(words) => 8 * words.len(),
        }
    }

    /// Returns the address of the last `bytes` bytes before the margin at the end. There is a margin before them, too. Both margins are touched.
    fn last(&mut self, bytes: usize) -> *mut u8 {
        let start = match self {
            Backing::Mapped(mapping) => mapping.start(),
            Backing::Heap(words) => words.as_mut_ptr().cast(),
        };
        let at = self.len() - bytes - MARGIN;
        if MARGIN > 0 {
            for byte in [at - MARGIN, at + bytes] {
                // SAFETY: the memory has `len` bytes, which are `bytes` and at least two margins; `self` owns them.
                unsafe { start.add(byte).write_volatile(0) };
            }
        }
        start.wrapping_add(at)
    }
}

/// Locks the cache of mappings.
fn cache() -> std::sync::MutexGuard<'static, Vec<Mapping>> {
    static IDLE: Mutex<Vec<Mapping>> = Mutex::new(Vec::new());
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number type for which every bit pattern is valid.
pub trait Plain: Copy + Default + private::Sealed {}
impl Plain for u8 {}
impl Plain for u32 {}

mod private {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u32 {}
}

/// Numbers in host memory, between inaccessible pages. The last one is at the end (exactly in a guarded build,
/// otherwise within 128 bytes), and the first one is at a multiple of 64 bytes if the total size is such a multiple.
pub struct Guarded<T: Plain> {
    /// The memory. `None` if there were never any elements.
    backing: Option<Backing>,
    at: NonNull<T>,
    len: usize,
}

// SAFETY: it owns its memory, as a vector does.
unsafe impl<T: Plain + Send> Send for Guarded<T> {}
// SAFETY: as above.
unsafe impl<T: Plain + Sync> Sync for Guarded<T> {}

impl<T: Plain> Guarded<T> {
    /// Creates `len` zeros.
    pub fn new(len: usize) -> Guarded<T> {
        let mut new = Guarded {
            backing: None,
            at: NonNull::dangling(),
            len: 0,
        };
        new.reset(len);
        new
    }

    /// Resizes to `len` zeros.
    pub fn reset(&mut self, len: usize) {
        self.resize(len);
        self.fill(T::default());
    }

    /// Resizes to `len` elements with unspecified values.
    fn resize(&mut self, len: usize) {
        if len == self.len {
            return;
        }
        let bytes = len * size_of::<T>();
        let taken = match GUARDED {
            true => bytes,
            false => bytes.next_multiple_of(64),
        };
        (self.at, self.len) = (NonNull::dangling(), 0);
        if len == 0 {
            return;
        }
        let all = taken + 2 * MARGIN;
        let backing = self.backing.take().filter(|backing| backing.len() >= all);
        let backing = backing.unwrap_or_else(|| Backing::new(all));
        let at = self.backing.insert(backing).last(taken);
        self.at = NonNull::new(at.cast()).unwrap_or(NonNull::dangling());
        self.len = len;
    }
}

impl<T: Plain> Default for Guarded<T> {
    fn default() -> Guarded<T> {
        Guarded::new(0)
    }
}

impl<T: Plain> Drop for Guarded<T> {
    fn drop(&mut self) {
        if let Some(Backing::Mapped(mapping)) = self.backing.take()
            && mapping.len == USUAL
        {
            let mut cache = cache();
            if cache.len() < MOST_CACHED {
                cache.push(mapping);
            }
        }
    }
}

impl<T: Plain> Deref for Guarded<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `at` points to `len` elements in memory that `self` owns, or `len` is 0. They are aligned, because the
        // memory is aligned to a page or to 8 bytes and the bytes taken from its end are a multiple of the element's size; and all
        // bytes of the memory are initialised.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }
}

impl<T: Plain> DerefMut for Guarded<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; nothing else accesses the memory.
        unsafe { std::slice::from_raw_parts_mut(self.at.as_ptr(), self.len) }
    }
}

impl<T: Plain> Clone for Guarded<T> {
    fn clone(&self) -> Guarded<T> {
        let mut new = Guarded::default();
        new.clone_from(self);
        new
    }

    fn clone_from(&mut self, from: &Guarded<T>) {
        self.resize(from.len);
        self.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_at_the_end_of_the_memory_whatever_was_there() {
        let mut a = Guarded::<u8>::new(100);
        a.fill(7);
        let b = a.clone();
        assert!(*a == *b && b.len() == 100 && b[99] == 7);
        a.reset(5000);
        assert!(a.len() == 5000 && a.iter().all(|&byte| byte == 0));
        a.fill(9);
        a.reset(0);
        assert!(a.is_empty());
        a.reset(USUAL + 1);
        assert!(a.iter().all(|&byte| byte == 0));
        drop((a, b));
        // This one reuses a mapping.
        let c = Guarded::<u32>::new(64);
        assert!(c.iter().all(|&word| word == 0));
        assert_eq!(c.as_ptr().align_offset(64), 0);
    }
}
