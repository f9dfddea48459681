//! The host bytes of guest memory, and the state of each page.

use super::guard::{ARENA_GUARD, Access, GUARDED, Mapping};
use super::host::{Before, Reserved};
use super::{MemError, PAGE_SIZE, Perm};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// The bytes of guest memory: a reserved host range between inaccessible pages, zero where it was never written, or all of the host's
/// addresses. It provides only atomics within its bounds. Offsets are bytes from its start; an offset that is out of bounds or
/// misaligned is a bug in this module and panics. With host addresses it accesses only pages that the page map contains.
pub(super) struct Arena {
    /// The host address of the first byte.
    pub(super) base: usize,
    pub(super) len: usize,
    /// The significant bits of a host address: with host addresses those below [`ALIAS`](super::ALIAS), otherwise all.
    pub(super) mask: usize,
    /// The number of the first page that `owner` contains.
    pub(super) first: u64,
    /// The host memory that allocations come from.
    pub(super) owner: Owner,
}

/// The host memory that allocations come from.
pub(super) enum Owner {
    /// The arena is this mapping.
    Map(Mapping),
    /// With host addresses: a range among them.
    Reserved(Reserved),
}

macro_rules! arena_cell {
    ($name:ident, $atomic:ty) => {
        #[inline]
        pub(super) fn $name(&self, offset: usize) -> &$atomic {
            const SIZE: usize = size_of::<$atomic>();
            assert!(offset.is_multiple_of(SIZE) && offset < self.len);
            // SAFETY: `len` is a multiple of the page size, so an aligned offset below it leaves room for the whole cell.
            // The range starts on a page, so the pointer is aligned as the offset is. An arena of our own is readable
            // and writable, lives as long as `self`, and nothing else in the process knows its address. With host
            // addresses, `Memory` asks only for addresses in pages that its page map contains: pages of the reserved range,
            // which lives as long as `self` and stays writable when they are freed, and lent pages, for which the
            // caller of `Memory::lend` is responsible. All accesses are atomic. Cells of different sizes may overlap; the hosts
            // this runs on define such accesses. In a guarded build unmapped pages are inaccessible, and no caller asks for
            // an address in them.
            unsafe { <$atomic>::from_ptr(self.address(offset).cast()) }
        }
    };
}

impl Arena {
    pub(super) fn new(pages: u64) -> Result<Arena, MemError> {
        let bytes = pages
            .checked_mul(PAGE_SIZE)
            .and_then(|n| usize::try_from(n).ok());
        let len =
            bytes.ok_or_else(|| MemError::Host(format!("{pages} pages exceed its addresses")))?;
        let map =
            Mapping::new(len, ARENA_GUARD, true).map_err(|e| {
                let all = len.saturating_add(2 * ARENA_GUARD) >> 30;
                MemError::Host(format!("{e}; the machine needs {all} GiB of address space, most of it never used: is there a limit (ulimit -v)?"))
            })?;
        let arena = Arena {
            base: map.start().expose_provenance(),
            len,
            mask: usize::MAX,
            first: 0,
            owner: Owner::Map(map),
        };
        arena.confine(0, pages, Perm::NONE);
        Ok(arena)
    }

    /// In a guarded build, sets the host's permissions of the owner's pages to the guest's. Executable pages are readable,
    /// because code is fetched by reading it; writable pages are readable, because hosts have no write-only pages.
    #[inline]
    pub(super) fn confine(&self, page: u64, count: u64, perm: Perm) {
        if GUARDED {
            let access = match perm {
                Perm::NONE => Access::Nothing,
                perm if perm.contains(Perm::WRITE) => Access::Write,
                _ => Access::Read,
            };
            let page = page - self.first;
            let (at, len) = ((page * PAGE_SIZE) as usize, (count * PAGE_SIZE) as usize);
            let done = match &self.owner {
                Owner::Map(map) => map.allow(at, len, access).is_ok(),
                Owner::Reserved(range) => range.allow(at, len, access).is_ok(),
            };
            assert!(done, "a guarded build needs a host with pages of 4 KiB");
        }
    }

    /// Lets the host use small pages for these pages, or large ones again.
    pub(super) fn use_small_pages(&self, page: u64, count: u64, small: bool) {
        if let Owner::Map(map) = &self.owner {
            let page = page - self.first;
            let (at, len) = ((page * PAGE_SIZE) as usize, (count * PAGE_SIZE) as usize);
            map.use_small_pages(at, len, small);
        }
    }

    /// Lets the host provide a page that the guest may not access. A vector instruction of the host that loads or stores some of its elements is slow
    /// (hundreds of cycles) where one of the others is in a page that was never touched.
    pub(super) fn touch(&self, page: u64) {
        if !GUARDED && let Owner::Map(_) = self.owner {
            self.u8((page * PAGE_SIZE) as usize).fetch_or(0, Relaxed);
        }
    }

    /// Returns the host address of an offset.
    #[inline]
    pub(super) fn address(&self, offset: usize) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut((self.base + offset) & self.mask)
    }

    arena_cell!(u8, AtomicU8);
    arena_cell!(u16, AtomicU16);
    arena_cell!(u32, AtomicU32);
    arena_cell!(u64, AtomicU64);

    /// Loads `out.len()` bytes in the widest aligned parts.
    pub(super) fn read(&self, mut offset: usize, mut out: &mut [u8]) {
        while !out.is_empty() {
            if offset.is_multiple_of(8) && out.len() >= 8 {
                let (words, rest) = out.as_chunks_mut::<8>();
                for word in words {
                    *word = self.u64(offset).load(Relaxed).to_ne_bytes();
                    offset += 8;
                }
                out = rest;
                continue;
            }
            let width = part(offset, out.len());
            let (head, tail) = out.split_at_mut(width);
            match width {
                4 => head.copy_from_slice(&self.u32(offset).load(Relaxed).to_ne_bytes()),
                2 => head.copy_from_slice(&self.u16(offset).load(Relaxed).to_ne_bytes()),
                _ => head[0] = self.u8(offset).load(Relaxed),
            }
            out = tail;
            offset += width;
        }
    }

    /// Stores `data` in the widest aligned parts.
    pub(super) fn write(&self, mut offset: usize, mut data: &[u8]) {
        while !data.is_empty() {
            if offset.is_multiple_of(8) && data.len() >= 8 {
                let (words, rest) = data.as_chunks::<8>();
                for word in words {
                    self.u64(offset).store(u64::from_ne_bytes(*word), Relaxed);
                    offset += 8;
                }
                data = rest;
                continue;
            }
            let width = part(offset, data.len());
            let (head, tail) = data.split_at(width);
            match *head {
                [a, b, c, d] => self
                    .u32(offset)
                    .store(u32::from_ne_bytes([a, b, c, d]), Relaxed),
                [a, b] => self.u16(offset).store(u16::from_ne_bytes([a, b]), Relaxed),
                _ => self.u8(offset).store(head[0], Relaxed),
            }
            data = tail;
            offset += width;
        }
    }

    pub(super) fn zero_page(&self, page: u64) {
        let start = (page * PAGE_SIZE) as usize;
        for offset in (start..start + PAGE_SIZE as usize).step_by(8) {
            self.u64(offset).store(0, Relaxed);
        }
    }
}

/// Returns the size of the widest naturally aligned part, of at most 4 bytes, with which an access of `left` bytes at `offset` can begin.
#[inline]
fn part(offset: usize, left: usize) -> usize {
    let aligned = 1 << (offset | 4).trailing_zeros();
    if aligned <= left {
        aligned
    } else {
        1 << left.ilog2()
    }
}

/// The state of each page. Memory is used only for the states of pages that were mapped.
pub(super) struct PageMap {
    cells: Cells,
    len: usize,
}

enum Cells {
    Own(Vec<AtomicU8>),
    Reserved(Reserved),
}

impl PageMap {
    pub(super) fn own(len: usize) -> PageMap {
        PageMap {
            cells: Cells::Own((0..len).map(|_| AtomicU8::new(0)).collect()),
            len,
        }
    }

    pub(super) fn reserved(len: usize) -> Result<PageMap, MemError> {
        Ok(PageMap {
            cells: Cells::Reserved(Reserved::new(len, None, Before::Zeros)?),
            len,
        })
    }

    pub(super) fn as_ptr(&self) -> *const u8 {
        match &self.cells {
            Cells::Own(cells) => cells.as_ptr().cast(),
            Cells::Reserved(range) => std::ptr::with_exposed_provenance(range.address()),
        }
    }

    /// Returns the cell of a page.
    #[inline]
    fn cell(&self, page: u64) -> &AtomicU8 {
        assert!(page < self.len as u64);
        // SAFETY: there are `len` readable bytes from the pointer on, which live as long as `self` and are accessed only by
        // atomics.
        unsafe { &*self.as_ptr().add(page as usize).cast::<AtomicU8>() }
    }

    /// Returns the cells of the eight pages from `page` on, if the cells are aligned and the pages end at or before `end`.
    #[inline]
    fn cells(&self, page: u64, end: u64) -> Option<&AtomicU64> {
        assert!(end <= self.len as u64);
        let cells = self.as_ptr().wrapping_add(page as usize);
        let whole = cells.addr().is_multiple_of(8) && end.saturating_sub(page) >= 8;
        // SAFETY: as in `cell`, for eight bytes that are aligned. Cells of different sizes may overlap; the hosts this runs on define
        // such accesses.
        whole.then(|| unsafe { &*cells.cast::<AtomicU64>() })
    }

    /// Returns the state of a page, or 0 beyond the end.
    #[inline]
    pub(super) fn get(&self, page: u64) -> u8 {
        if page >= self.len as u64 {
            return 0;
        }
        self.cell(page).load(Relaxed)
    }

    /// Returns the number of consecutive pages from `first` on, up to `end`, that have the same state as `first`: at least one.
    pub(super) fn alike(&self, first: u64, end: u64) -> u64 {
        let state = self.get(first);
        let mut page = first + 1;
        while page < end {
            match self.cells(page, end) {
                Some(eight) if eight.load(Relaxed) == u64::from_ne_bytes([state; 8]) => page += 8,
                _ if self.get(page) == state => page += 1,
                _ => break,
            }
        }
        page - first
    }

    /// Changes the state of a page. `change` must leave 0, the state of a page that was never set, as it is.
    pub(super) fn change(&self, page: u64, change: impl Fn(u8) -> u8) {
        if change(self.get(page)) == self.get(page) {
            return;
        }
        // The cell is writable, because the state of its page has been set before. The closure always returns a state, so this cannot
        // fail.
        let _ = (self.cell(page)).fetch_update(SeqCst, SeqCst, |state| Some(change(state)));
    }

    /// Sets the state of consecutive pages.
    pub(super) fn fill(&self, first: u64, count: u64, state: u8) -> Result<(), MemError> {
        assert!(first < self.len as u64 && count <= self.len as u64 - first);
        if let Cells::Reserved(range) = &self.cells {
            range.take(first as usize, count as usize)?;
        }
        let (mut page, end) = (first, first + count);
        while page < end {
            match self.cells(page, end) {
                Some(eight) => {
                    eight.store(u64::from_ne_bytes([state; 8]), Relaxed);
                    page += 8;
                }
                None => {
                    self.cell(page).store(state, Relaxed);
                    page += 1;
                }
            }
        }
        Ok(())
    }
}
