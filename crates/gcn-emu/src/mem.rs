//! Guest memory: what flat, buffer, image and scalar memory instructions reach.
//!
//! One host range is reserved up front and filled page by page. Its first part is *linear*: host address = base + guest
//! address, for the guest addresses from [`LINEAR_BASE`] on, with one byte a page that says what is mapped there and how.
//! Its second part, the *pool*, holds single pages for [`Memory::map_at`] at any other guest address, found through a
//! table. Whatever address a program forms, an access either hits a mapped page that permits it or gives a [`Fault`].
//!
//! Loads, stores and atomics take `&Memory` and may run on any number of host threads at once: every byte is only ever
//! touched through relaxed atomic operations of the widest naturally aligned parts, so racing guest accesses are no
//! undefined behaviour of the host. A naturally aligned access of up to 8 bytes is single-copy atomic; others may be seen
//! in parts. Mapping takes `&Memory` too: what is mapped is kept under a lock that accesses do not take. An access that
//! races with the mapping or unmapping of its page happens or faults. Guest memory is little-endian.
//!
//! There are two configurations. In the one described so far the range is an arena of this module's own
//! ([`Memory::new`]). In the other ([`Memory::of_host`]) guest addresses are the host's: the linear part is all of the
//! host's addresses, and once more, from [`ALIAS`] on, the same ones again; allocations come from a range that is reserved
//! among them, and pages of the program around can be lent ([`Memory::lend`]). Accesses are checked against the page map
//! in both.
//!
//! This module, `guard` and `host` are the only ones of the crate with `unsafe` code: here all of it is in `Arena` and
//! `PageMap`.

#![allow(unsafe_code)]

mod guard;
mod host;

use gcn_isa::target::Target;
use guard::{ARENA_GUARD, Access, GUARDED, Mapping};
pub use guard::{Guarded, Plain};
use host::{Before, Reserved};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::{BitOr, Range};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

/// Bytes a page.
pub const PAGE_SIZE: u64 = 4096;

/// The guest address of the linear part, where [`Memory::alloc`] gives addresses. Small addresses, and those that lost
/// their upper half, fault unless something was mapped there on purpose.
pub const LINEAR_BASE: u64 = 0x1_0000_0000;

/// Guest virtual addresses have 48 bits.
pub const ADDRESS_END: u64 = 1 << 48;

/// The most bytes of LDS that a workgroup has.
pub const LDS_MOST: usize = 64 << 10;

/// In the configuration of host addresses: what is added to the address of a page that is lent under another one.
pub const ALIAS: u64 = 1 << 47;

/// What a page permits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Perm(u8);

impl Perm {
    /// Nothing: mapped, but every access faults.
    pub const NONE: Perm = Perm(0);
    /// Loads.
    pub const READ: Perm = Perm(1);
    /// Stores. An atomic needs both.
    pub const WRITE: Perm = Perm(2);
    /// Instruction fetch.
    pub const EXEC: Perm = Perm(4);
    /// Loads and stores.
    pub const RW: Perm = Perm(1 | 2);
    /// Loads and instruction fetch.
    pub const RX: Perm = Perm(1 | 4);
    /// Everything.
    pub const RWX: Perm = Perm(1 | 2 | 4);

    /// Whether all of `other` is permitted.
    #[inline]
    pub const fn contains(self, other: Perm) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Perm {
    type Output = Perm;
    fn bitor(self, other: Perm) -> Perm {
        Perm(self.0 | other.0)
    }
}

impl fmt::Debug for Perm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (perm, letter) in [(Perm::READ, 'r'), (Perm::WRITE, 'w'), (Perm::EXEC, 'x')] {
            write!(f, "{}", if self.contains(perm) { letter } else { '-' })?;
        }
        Ok(())
    }
}

/// Why an access did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// No page is mapped there, or the address has more than 48 bits.
    Unmapped,
    /// The page may not be read.
    NoRead,
    /// The page may not be written.
    NoWrite,
    /// The page may not be executed.
    NoExec,
    /// An atomic's address is no multiple of its size, or an instruction's no multiple of 4.
    Misaligned,
}

/// An access that did not happen. A store that faults has written nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The address of the access; where the access spans pages, a later one may be at fault.
    pub addr: u64,
    /// Bytes of the access.
    pub size: u64,
    pub kind: FaultKind,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { addr, size, kind } = *self;
        let what = match kind {
            FaultKind::Unmapped => "is not mapped",
            FaultKind::NoRead => "may not be read",
            FaultKind::NoWrite => "may not be written",
            FaultKind::NoExec => "may not be executed",
            FaultKind::Misaligned => "is misaligned",
        };
        write!(f, "memory fault: address {addr:#x} ({size} bytes) {what}")
    }
}

impl std::error::Error for Fault {}

/// Why memory could not be mapped or unmapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemError {
    /// The limit given to [`Memory::new`] leaves `free` bytes, or no gap among them is large enough.
    OutOfMemory { wanted: u64, free: u64 },
    /// A size of zero, or a region that ends beyond 48 bits.
    BadRegion { addr: u64, size: u64 },
    /// An alignment that is no power of two.
    BadAlign(u64),
    /// A page of the region is mapped already.
    Overlap { addr: u64 },
    /// No region starts there, or a page of the region is not mapped.
    NotMapped { addr: u64 },
    /// The host gave no address range.
    Host(String),
}

impl fmt::Display for MemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemError::OutOfMemory { wanted, free } => {
                write!(f, "out of guest memory: {wanted} bytes wanted, {free} free")
            }
            MemError::BadRegion { addr, size } => {
                write!(f, "no such region of memory: {size} bytes at {addr:#x}")
            }
            MemError::BadAlign(align) => write!(f, "alignment {align} is no power of two"),
            MemError::Overlap { addr } => write!(f, "the page at {addr:#x} is mapped already"),
            MemError::NotMapped { addr } => write!(f, "nothing is mapped at {addr:#x}"),
            MemError::Host(why) => write!(f, "the host gave no memory: {why}"),
        }
    }
}

impl std::error::Error for MemError {}

/// The reserved host range, zero where never written, between inaccessible pages; or all of the host's addresses. Hands out
/// atomics within its bounds and nothing else; offsets are bytes from its start, and an offset out of bounds or misaligned
/// is a mistake of this module and panics. Of host addresses, only those are accessed whose pages the page map says to be
/// mapped.
struct Arena {
    /// Where it begins.
    base: usize,
    len: usize,
    /// The bits of an address that count: [`ALIAS`] does not.
    mask: usize,
    /// The number of the page with which what is its own begins.
    first: u64,
    /// What is its own.
    owner: Owner,
}

/// Who gives the arena's bytes.
enum Owner {
    Map(Mapping),
    /// The range that allocations come from.
    Reserved(Reserved),
}

macro_rules! arena_cell {
    ($name:ident, $atomic:ty) => {
        #[inline]
        fn $name(&self, offset: usize) -> &$atomic {
            const SIZE: usize = size_of::<$atomic>();
            assert!(offset.is_multiple_of(SIZE) && offset < self.len);
            // SAFETY: `len` is a multiple of the page size, so an aligned offset below it leaves room for the whole cell.
            // The range starts on a page, which aligns the pointer as the offset is. An arena of our own is readable
            // and writable, lives as long as `self`, and nothing else in the process knows its address. Of host
            // addresses, `Memory` asks only for those in pages that its page map has: pages of the reserved range,
            // which lives as long as `self` and stays writable when they are freed, and lent pages, for which the
            // caller of `Memory::lend` answers. All accesses are atomic. Cells of different sizes may overlap; the hosts
            // this runs on define such accesses. In a guarded build a page that is not mapped is none of these, and none
            // of the callers asks for it.
            unsafe { <$atomic>::from_ptr(self.address(offset).cast()) }
        }
    };
}

impl Arena {
    fn new(pages: u64) -> Result<Arena, MemError> {
        let bytes = pages
            .checked_mul(PAGE_SIZE)
            .and_then(|n| usize::try_from(n).ok());
        let len =
            bytes.ok_or_else(|| MemError::Host(format!("{pages} pages exceed its addresses")))?;
        let map =
            Mapping::new(len, ARENA_GUARD, true).map_err(|e| MemError::Host(e.to_string()))?;
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

    /// In a guarded build, lets the host do with pages of its own what the guest may, and nothing else. Code is read to be
    /// fetched, and hosts have no pages that can only be written.
    #[inline]
    fn confine(&self, page: u64, count: u64, perm: Perm) {
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

    /// The host's address of an offset.
    #[inline]
    fn address(&self, offset: usize) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut((self.base + offset) & self.mask)
    }

    arena_cell!(u8, AtomicU8);
    arena_cell!(u16, AtomicU16);
    arena_cell!(u32, AtomicU32);
    arena_cell!(u64, AtomicU64);

    /// Loads `out.len()` bytes in the widest aligned parts.
    fn read(&self, mut offset: usize, mut out: &mut [u8]) {
        while !out.is_empty() {
            let width = part(offset, out.len());
            let (head, tail) = out.split_at_mut(width);
            match width {
                8 => head.copy_from_slice(&self.u64(offset).load(Relaxed).to_ne_bytes()),
                4 => head.copy_from_slice(&self.u32(offset).load(Relaxed).to_ne_bytes()),
                2 => head.copy_from_slice(&self.u16(offset).load(Relaxed).to_ne_bytes()),
                _ => head[0] = self.u8(offset).load(Relaxed),
            }
            out = tail;
            offset += width;
        }
    }

    /// Stores `data` in the widest aligned parts.
    fn write(&self, mut offset: usize, mut data: &[u8]) {
        while !data.is_empty() {
            let width = part(offset, data.len());
            let (head, tail) = data.split_at(width);
            match *head {
                [a, b, c, d, e, f, g, h] => {
                    self.u64(offset)
                        .store(u64::from_ne_bytes([a, b, c, d, e, f, g, h]), Relaxed);
                }
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

    fn zero_page(&self, page: u64) {
        let start = (page * PAGE_SIZE) as usize;
        for offset in (start..start + PAGE_SIZE as usize).step_by(8) {
            self.u64(offset).store(0, Relaxed);
        }
    }
}

/// The widest naturally aligned part that an access of `left` bytes at `offset` can begin with.
#[inline]
fn part(offset: usize, left: usize) -> usize {
    let aligned = 1 << (offset | 8).trailing_zeros();
    if aligned <= left {
        aligned
    } else {
        1 << left.ilog2()
    }
}

/// The state of each page. It takes memory only where a page has been mapped.
struct PageMap {
    cells: Cells,
    len: usize,
}

enum Cells {
    Own(Vec<AtomicU8>),
    Reserved(Reserved),
}

impl PageMap {
    fn own(len: usize) -> PageMap {
        PageMap {
            cells: Cells::Own((0..len).map(|_| AtomicU8::new(0)).collect()),
            len,
        }
    }

    fn reserved(len: usize) -> Result<PageMap, MemError> {
        Ok(PageMap {
            cells: Cells::Reserved(Reserved::new(len, None, Before::Zeros)?),
            len,
        })
    }

    fn as_ptr(&self) -> *const u8 {
        match &self.cells {
            Cells::Own(cells) => cells.as_ptr().cast(),
            Cells::Reserved(range) => std::ptr::with_exposed_provenance(range.address()),
        }
    }

    /// The state of a page; 0 beyond the end.
    #[inline]
    fn get(&self, page: u64) -> u8 {
        if page >= self.len as u64 {
            return 0;
        }
        // SAFETY: there are `len` readable bytes from the pointer on, which live as long as `self` and are accessed by
        // atomics alone.
        let cell = unsafe { &*self.as_ptr().add(page as usize).cast::<AtomicU8>() };
        cell.load(Relaxed)
    }

    /// Sets the state of pages that there are.
    fn fill(&self, first: u64, count: u64, state: u8) -> Result<(), MemError> {
        assert!(first < self.len as u64 && count <= self.len as u64 - first);
        let (first, count) = (first as usize, count as usize);
        if let Cells::Reserved(range) = &self.cells {
            range.take(first, count)?;
        }
        for page in first..first + count {
            // SAFETY: as in `get`; and the bytes may be written, those of a reserved range since they were taken.
            let cell = unsafe { &*self.as_ptr().add(page).cast::<AtomicU8>() };
            cell.store(state, Relaxed);
        }
        Ok(())
    }
}

/// The linear part as compiled code sees it. Valid while the [`Memory`] is borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Linear {
    /// The guest address of its first byte.
    pub start: u64,
    /// The host address of that byte.
    pub base: *mut u8,
    /// A byte for each page of it: the [`Perm`]'s bits and [`MAPPED`].
    pub pages: *const u8,
    /// Its bytes.
    pub bytes: u64,
    /// Whether the host's addresses come twice, the second time with [`ALIAS`] added.
    pub aliased: bool,
}

/// The linear part has more pages than these.
pub const LEAST_PAGES: u64 = 64;

/// A page of the linear part is mapped.
pub const MAPPED: u8 = 8;
/// A page of the arena was mapped before, and is to be zeroed before it is mapped again.
const USED: u8 = 16;

/// A page in the pool.
#[derive(Clone, Copy)]
struct FarPage {
    /// Its page number in the arena.
    page: u64,
    perm: Perm,
}

/// Guest memory. See the module's documentation.
pub struct Memory {
    arena: Arena,
    /// One byte for every page of the arena, linear part and pool: a [`Perm`] and [`MAPPED`] (linear part only), [`USED`].
    /// Of host addresses one for every page of the linear part, which the pool lies in.
    pages: PageMap,
    /// The guest address of the linear part's first byte.
    linear_base: u64,
    /// Bytes of the linear part.
    linear_bytes: u64,
    /// Where the linear part begins in the arena.
    origin: u64,
    /// The pages of the linear part that allocations come from.
    own: Range<u64>,
    /// The pages of the pool by guest page number.
    far: RwLock<HashMap<u64, FarPage>>,
    book: Mutex<Book>,
    /// Some atomic changed a value.
    changed: AtomicBool,
    /// Stores are recorded.
    recording: AtomicBool,
    /// Another number, of all that memories have had, whenever pages come, go or permit something else.
    mapping: AtomicU64,
    /// Grows when executable pages come, go or permit something else.
    code_changes: AtomicU64,
    /// The answer of [`Memory::about_code`], at which of these changes and for which target.
    about_code: Mutex<Option<(u64, Target, bool)>>,
}

/// What is mapped and what is not. Whoever changes `pages` or `far` holds its lock.
struct Book {
    /// Pages of the linear part that are not mapped: runs by first page, with their lengths.
    gaps: BTreeMap<u64, u64>,
    /// Pages of the pool that were mapped and are not now.
    pool_free: Vec<u64>,
    /// The first page of the pool that was never mapped.
    pool_next: u64,
    /// Regions by the address they were given at: first guest page and number of pages.
    regions: BTreeMap<u64, (u64, u64)>,
    /// Pages that may still be mapped.
    budget: u64,
    /// Pages that are lent, as often as they are: the first guest page, the one behind the last, and what they permit.
    lent: Vec<(u64, u64, Perm)>,
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map = f.debug_map();
        for (addr, bytes) in self.regions() {
            map.entry(&format_args!("{addr:#x}"), &format_args!("{bytes} bytes"));
        }
        map.finish()
    }
}

impl Memory {
    /// Memory of which up to `limit_bytes` (rounded up to whole pages) may be mapped at a time. Costs address space of
    /// the host only, until pages are touched.
    ///
    /// # Errors
    /// [`MemError::Host`] if the host has no such range.
    pub fn new(limit_bytes: u64) -> Result<Memory, MemError> {
        if of_host_everywhere() {
            return Memory::of_host(limit_bytes, Some(LINEAR_BASE));
        }
        let (linear, pages) = sizes(limit_bytes)?;
        let bytes = usize::try_from(pages).map_err(|e| MemError::Host(e.to_string()))?;
        let parts = Parts {
            linear_base: LINEAR_BASE,
            linear_bytes: linear * PAGE_SIZE,
            origin: 0,
            own: 0..linear,
        };
        Ok(Memory::of(
            Arena::new(pages)?,
            PageMap::own(bytes),
            parts,
            pages - linear,
        ))
    }

    /// Memory whose guest addresses are the host's. Allocations, of up to `limit_bytes` at a time, come from a range that
    /// begins at `wanted`, if that is free, or anywhere; what else kernels are to reach is lent to them.
    ///
    /// The page map covers all of the host's addresses and their aliases; it takes 64 GiB of address space, of which
    /// memory is used where pages are mapped. Where the host refuses that (`ulimit -v`), it covers the terabyte around
    /// the allocations, and pages elsewhere are reached more slowly.
    ///
    /// # Errors
    /// [`MemError::Host`] if the host has no such ranges, or is not a 64-bit Linux.
    pub fn of_host(limit_bytes: u64, wanted: Option<u64>) -> Result<Memory, MemError> {
        let (linear, all) = sizes(limit_bytes)?;
        let bytes = usize::try_from(all * PAGE_SIZE).map_err(|e| MemError::Host(e.to_string()))?;
        let wanted = wanted.and_then(|at| usize::try_from(at).ok());
        let range = Reserved::new(bytes, wanted, Before::Nothing)?;
        let first = range.address() as u64 / PAGE_SIZE;
        let (pages, start, end) = match PageMap::reserved((ADDRESS_END / PAGE_SIZE) as usize) {
            Ok(pages) => (pages, 0, ADDRESS_END),
            Err(_) => {
                // Programs and their libraries lie close together, below the end of addresses.
                let end = (first * PAGE_SIZE + bytes as u64).next_multiple_of(WINDOW);
                let start = end.saturating_sub(WINDOW.max(bytes as u64 + WINDOW));
                let pages = (end - start) / PAGE_SIZE;
                (PageMap::reserved(pages as usize)?, start, end)
            }
        };
        let at = first - start / PAGE_SIZE;
        let parts = Parts {
            linear_base: start,
            linear_bytes: end - start,
            origin: start,
            own: at..at + linear,
        };
        let arena = Arena {
            base: 0,
            len: ADDRESS_END as usize,
            mask: ALIAS as usize - 1,
            first: at,
            owner: Owner::Reserved(range),
        };
        Ok(Memory::of(arena, pages, parts, all - linear))
    }

    fn of(arena: Arena, pages: PageMap, parts: Parts, limit: u64) -> Memory {
        let Parts {
            linear_base,
            linear_bytes,
            origin,
            own,
        } = parts;
        Memory {
            arena,
            pages,
            linear_base,
            linear_bytes,
            origin,
            far: RwLock::default(),
            book: Mutex::new(Book {
                gaps: BTreeMap::from([(own.start, own.end - own.start)]),
                pool_free: Vec::new(),
                pool_next: own.end,
                regions: BTreeMap::new(),
                budget: limit,
                lent: Vec::new(),
            }),
            own,
            changed: AtomicBool::new(false),
            recording: AtomicBool::new(false),
            mapping: AtomicU64::new(0),
            code_changes: AtomicU64::new(0),
            about_code: Mutex::new(None),
        }
    }

    /// Whether guest addresses are the host's.
    pub fn is_of_host(&self) -> bool {
        matches!(self.arena.owner, Owner::Reserved(_))
    }

    /// The guest addresses that allocations come from.
    pub fn own(&self) -> Range<u64> {
        let at = |page: u64| self.linear_base + page * PAGE_SIZE;
        at(self.own.start)..at(self.own.end)
    }

    /// A panic of another thread leaves nothing half done that matters more than the panic.
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of a page of the arena; 0 beyond its end.
    #[inline]
    fn state(&self, page: u64) -> u8 {
        self.pages.get(page)
    }

    fn set_state(&self, page: u64, state: u8) -> Result<(), MemError> {
        self.note_code(Perm(self.state(page) | state));
        self.pages.fill(page, 1, state)?;
        self.mapping.store(0, SeqCst);
        Ok(())
    }

    /// A number that stands for what is mapped now and how: another one, of any memory of the process, when that has
    /// changed.
    pub fn mapping(&self) -> u64 {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let now = self.mapping.load(SeqCst);
        if now != 0 {
            return now;
        }
        let new = NUMBERS.fetch_add(1, SeqCst);
        match self.mapping.compare_exchange(0, new, SeqCst, SeqCst) {
            Ok(_) => new,
            Err(other) => other,
        }
    }

    /// Notes that a page changes, which permits this before or after.
    fn note_code(&self, perm: Perm) {
        if perm.contains(Perm::EXEC) {
            self.code_changes.fetch_add(1, SeqCst);
        }
    }

    /// Whether `ask` says yes to some page of the code, by its bytes. While no page of code changes, the answer is
    /// remembered, so that a question belongs to a target and there is only one. Where code may be stored to, it is asked
    /// anew each time.
    pub(crate) fn about_code(&self, target: Target, mut ask: impl FnMut(&[u8]) -> bool) -> bool {
        let mut known = (self.about_code.lock()).unwrap_or_else(PoisonError::into_inner);
        let now = self.code_changes.load(SeqCst);
        if let Some((then, of, answer)) = *known
            && (then, of) == (now, target)
        {
            return answer;
        }
        let regions: Vec<(u64, u64)> = self.book().regions.values().copied().collect();
        let mut bytes = [0; PAGE_SIZE as usize];
        let (mut answer, mut writable) = (false, false);
        for page in regions.iter().flat_map(|&(first, n)| first..first + n) {
            let Some((at, perm)) = self.guest_page(page) else {
                continue;
            };
            if perm.contains(Perm::EXEC) {
                writable |= perm.contains(Perm::WRITE);
                if !answer {
                    self.arena.read((at * PAGE_SIZE) as usize, &mut bytes);
                    answer = ask(&bytes);
                }
            }
        }
        *known = (!writable).then_some((now, target, answer));
        answer
    }

    /// Whether some atomic has changed a value since [`Memory::forget_changes`].
    pub(crate) fn atomics_changed(&self) -> bool {
        self.changed.load(SeqCst)
    }

    pub(crate) fn forget_changes(&self) {
        self.changed.store(false, SeqCst);
    }

    /// Has each thread keep the addresses of its stores and atomics, for [`take_stores`], from now on or no more.
    pub fn record_stores(&self, on: bool) {
        self.recording.store(on, SeqCst);
    }

    #[inline]
    fn note_store(&self, addr: u64, size: u64) {
        if self.recording.load(Relaxed) {
            note_store(addr, size);
        }
    }

    /// Notes that an atomic changed a value. The flag is written once only, as threads would contend for it.
    #[inline]
    fn note_change(&self) {
        if !self.changed.load(Relaxed) {
            self.changed.store(true, Relaxed);
        }
    }

    /// Where the linear part lies in the host, for compiled code that checks as [`Memory::load_u32`] does.
    pub fn linear(&self) -> Linear {
        Linear {
            start: self.linear_base,
            base: std::ptr::with_exposed_provenance_mut(self.arena.base + self.origin as usize),
            pages: self.pages.as_ptr(),
            bytes: self.linear_bytes,
            aliased: self.is_of_host(),
        }
    }

    /// Bytes that may still be mapped.
    pub fn free_bytes(&self) -> u64 {
        self.book().budget * PAGE_SIZE
    }

    /// Maps `size` bytes of zeros (rounded up to whole pages, at least one) at an address of the linear part's choice
    /// that is a multiple of `align` and of the page size. An unmapped page stays on both sides, so that running over
    /// an end faults.
    ///
    /// # Errors
    /// [`MemError::OutOfMemory`], [`MemError::BadAlign`].
    pub fn alloc(&self, size: u64, align: u64, perm: Perm) -> Result<u64, MemError> {
        if !align.is_power_of_two() {
            return Err(MemError::BadAlign(align));
        }
        let mut book = self.book();
        let out_of_memory = MemError::OutOfMemory {
            wanted: size,
            free: book.budget * PAGE_SIZE,
        };
        let count = size.div_ceil(PAGE_SIZE).max(1);
        if count > book.budget {
            return Err(out_of_memory);
        }
        let base = self.linear_base / PAGE_SIZE;
        let align = (align / PAGE_SIZE).max(1);
        // The first gap with room for the pages and one more on either side.
        let fit = book.gaps.iter().find_map(|(&first, &len)| {
            let start = (base + first + 1).checked_next_multiple_of(align)? - base;
            (start + count < first + len).then_some(start)
        });
        let start = fit.ok_or(out_of_memory)?;
        self.map_linear(&mut book, start, count, perm)?;
        let addr = self.linear_base + start * PAGE_SIZE;
        book.regions.insert(addr, (base + start, count));
        Ok(addr)
    }

    /// Maps zeros at the pages that hold the `size` bytes from `addr`, anywhere in the 48 bits of guest addresses.
    ///
    /// # Errors
    /// [`MemError::BadRegion`] for an empty one or one that leaves the 48 bits, [`MemError::Overlap`] if a page is
    /// mapped already, [`MemError::OutOfMemory`]. Nothing is mapped then.
    pub fn map_at(&self, addr: u64, size: u64, perm: Perm) -> Result<(), MemError> {
        let (first, end) = page_range(addr, size)?;
        let mut book = self.book();
        // First, so that no huge region is walked page by page in vain.
        if end - first > book.budget {
            return Err(MemError::OutOfMemory {
                wanted: size,
                free: book.budget * PAGE_SIZE,
            });
        }
        if let Some(page) = (first..end).find(|&page| self.guest_page(page).is_some()) {
            return Err(MemError::Overlap {
                addr: page * PAGE_SIZE,
            });
        }
        for page in first..end {
            match self.own_page(page) {
                Some(own) => self.map_linear(&mut book, own, 1, perm)?,
                None => self.map_far(&mut book, page, perm)?,
            }
        }
        book.regions.insert(addr, (first, end - first));
        Ok(())
    }

    /// Unmaps the region that [`Memory::alloc`] or [`Memory::map_at`] gave at `addr`.
    ///
    /// # Errors
    /// [`MemError::NotMapped`] if there is none.
    pub fn free(&self, addr: u64) -> Result<(), MemError> {
        let mut book = self.book();
        let (first, count) = book
            .regions
            .remove(&addr)
            .ok_or(MemError::NotMapped { addr })?;
        if let Owner::Reserved(range) = &self.arena.owner {
            let own = |page: u64| page.clamp(self.own.start, self.own.end);
            let base = self.linear_base / PAGE_SIZE;
            let (start, end) = (own(first - base), own(first + count - base));
            let at = (start - self.own.start) * PAGE_SIZE;
            range.discard(at as usize, ((end - start) * PAGE_SIZE) as usize);
        }
        for page in first..first + count {
            if let Some(own) = self.own_page(page) {
                self.unmap_linear(&mut book, own)?;
            } else if let Some(far) = self.far_mut().remove(&page) {
                self.note_code(far.perm);
                let page = far.page - self.origin / PAGE_SIZE;
                self.arena.confine(page, 1, Perm::NONE);
                book.pool_free.push(page);
                book.budget += 1;
            }
        }
        Ok(())
    }

    /// Changes what the pages that hold the `size` bytes from `addr` permit.
    ///
    /// # Errors
    /// [`MemError::BadRegion`]; [`MemError::NotMapped`] if a page is not mapped. Nothing is changed then.
    pub fn protect(&self, addr: u64, size: u64, perm: Perm) -> Result<(), MemError> {
        let (first, end) = page_range(addr, size)?;
        let _book = self.book();
        if let Some(page) = (first..end).find(|&page| self.guest_page(page).is_none()) {
            return Err(MemError::NotMapped {
                addr: page * PAGE_SIZE,
            });
        }
        for page in first..end {
            if let Some(own) = self.own_page(page) {
                self.set_state(own, USED | MAPPED | perm.0)?;
                self.arena.confine(own, 1, perm);
            } else if let Some(far) = self.far_mut().get_mut(&page) {
                self.note_code(Perm(far.perm.0 | perm.0));
                far.perm = perm;
                let page = far.page - self.origin / PAGE_SIZE;
                self.arena.confine(page, 1, perm);
            }
        }
        Ok(())
    }

    /// What the page of `addr` permits, or nothing if it is not mapped.
    pub fn perm(&self, addr: u64) -> Option<Perm> {
        self.guest_page(addr / PAGE_SIZE).map(|(_, perm)| perm)
    }

    /// The regions mapped, in the order of their addresses: address and bytes (whole pages).
    pub fn regions(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let regions: Vec<(u64, u64)> = (self.book().regions.iter())
            .map(|(&addr, &(_, count))| (addr, count * PAGE_SIZE))
            .collect();
        regions.into_iter()
    }

    fn far_mut(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<u64, FarPage>> {
        self.far.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page of the linear part at guest page `page`.
    fn linear_page(&self, page: u64) -> Option<u64> {
        let linear = page.wrapping_sub(self.linear_base / PAGE_SIZE);
        (linear < self.linear_bytes / PAGE_SIZE).then_some(linear)
    }

    /// The same, of a page that allocations come from.
    fn own_page(&self, page: u64) -> Option<u64> {
        self.linear_page(page)
            .filter(|linear| self.own.contains(linear))
    }

    /// The page of the arena behind guest page `page`, if mapped, and what it permits.
    fn guest_page(&self, page: u64) -> Option<(u64, Perm)> {
        if let Some(linear) = self.linear_page(page) {
            let state = self.state(linear);
            if state & MAPPED != 0 {
                let page = linear + self.origin / PAGE_SIZE;
                return Some((page, Perm(state & Perm::RWX.0)));
            }
            if self.own.contains(&linear) {
                return None;
            }
        }
        let far = self.far.read().unwrap_or_else(PoisonError::into_inner);
        far.get(&page).map(|far| (far.page, far.perm))
    }

    /// Sees to it that the host has memory for pages of the arena's own.
    fn commit(&self, page: u64, count: u64) -> Result<(), MemError> {
        match &self.arena.owner {
            // It has had it from the first.
            Owner::Map(_) => Ok(()),
            Owner::Reserved(range) => {
                let from = (page - self.own.start) * PAGE_SIZE;
                range.take(from as usize, (count * PAGE_SIZE) as usize)
            }
        }
    }

    /// Maps pages of the linear part that lie within one gap.
    fn map_linear(
        &self,
        book: &mut Book,
        start: u64,
        count: u64,
        perm: Perm,
    ) -> Result<(), MemError> {
        self.commit(start, count)?;
        if let Some((&first, &len)) = book.gaps.range(..=start).next_back() {
            book.gaps.remove(&first);
            if start > first {
                book.gaps.insert(first, start - first);
            }
            if first + len > start + count {
                book.gaps.insert(start + count, first + len - start - count);
            }
        }
        for page in start..start + count {
            self.take(book, page)?;
            self.set_state(page, USED | MAPPED | perm.0)?;
        }
        self.arena.confine(start, count, perm);
        Ok(())
    }

    fn unmap_linear(&self, book: &mut Book, page: u64) -> Result<(), MemError> {
        // What the host has taken back is zeros.
        let state = if self.is_of_host() { 0 } else { USED };
        self.set_state(page, state)?;
        self.arena.confine(page, 1, Perm::NONE);
        book.budget += 1;
        let (mut first, mut len) = (page, 1);
        if let Some(after) = book.gaps.remove(&(page + 1)) {
            len += after;
        }
        if let Some((&before, &n)) = book.gaps.range(..page).next_back()
            && before + n == page
        {
            first = before;
            len += n;
        }
        book.gaps.insert(first, len);
        Ok(())
    }

    fn map_far(&self, book: &mut Book, guest_page: u64, perm: Perm) -> Result<(), MemError> {
        // The pool has as many pages as the budget began with, so there is one.
        let page = book.pool_free.pop().unwrap_or_else(|| {
            book.pool_next += 1;
            book.pool_next - 1
        });
        self.commit(page, 1)?;
        self.take(book, page)?;
        self.note_code(perm);
        self.arena.confine(page, 1, perm);
        let far = FarPage {
            page: page + self.origin / PAGE_SIZE,
            perm,
        };
        self.far_mut().insert(guest_page, far);
        Ok(())
    }

    /// Counts a page of the arena against the budget and sees to it that it is zero.
    fn take(&self, book: &mut Book, page: u64) -> Result<(), MemError> {
        if self.state(page) & USED != 0 {
            self.arena.confine(page, 1, Perm::WRITE);
            self.arena.zero_page(page + self.origin / PAGE_SIZE);
        }
        self.set_state(page, USED)?;
        book.budget -= 1;
        Ok(())
    }

    /// The arena offset of an access of `size` bytes at `addr` that needs `need`, if it lies within one page of the
    /// linear part that permits it: nearly every access there is.
    #[inline]
    fn near(&self, addr: u64, size: u64, need: Perm) -> Option<usize> {
        let offset = addr.wrapping_sub(self.linear_base);
        let within = offset < self.linear_bytes && offset % PAGE_SIZE <= PAGE_SIZE - size;
        let state = self.state(offset / PAGE_SIZE);
        let found = within && state & (MAPPED | need.0) == MAPPED | need.0;
        if found && need.contains(Perm::WRITE) {
            self.note_store(addr, size);
        }
        found.then_some((offset + self.origin) as usize)
    }

    /// The arena offset of the byte at `addr`, whose page must permit `need`.
    fn locate(&self, addr: u64, need: Perm) -> Result<usize, FaultKind> {
        let (page, perm) = self
            .guest_page(addr / PAGE_SIZE)
            .ok_or(FaultKind::Unmapped)?;
        if perm.contains(need) {
            Ok((page * PAGE_SIZE + addr % PAGE_SIZE) as usize)
        } else if need.contains(Perm::EXEC) {
            Err(FaultKind::NoExec)
        } else if need.contains(Perm::READ) && !perm.contains(Perm::READ) {
            Err(FaultKind::NoRead)
        } else {
            Err(FaultKind::NoWrite)
        }
    }

    /// Checks the whole access, then calls `each` with an arena offset and a range of the access for each page of it.
    fn by_page(
        &self,
        addr: u64,
        size: usize,
        need: Perm,
        mut each: impl FnMut(usize, std::ops::Range<usize>),
    ) -> Result<(), Fault> {
        let fault = |kind| Fault {
            addr,
            size: size as u64,
            kind,
        };
        let end = addr
            .checked_add(size as u64)
            .filter(|&end| end <= ADDRESS_END);
        let end = end.ok_or(fault(FaultKind::Unmapped))?;
        let mut page = addr - addr % PAGE_SIZE;
        while page < end {
            self.locate(page, need).map_err(fault)?;
            page += PAGE_SIZE;
        }
        if need.contains(Perm::WRITE) {
            self.note_store(addr, size as u64);
        }
        let mut at = addr;
        while at < end {
            let next = (at - at % PAGE_SIZE + PAGE_SIZE).min(end);
            let offset = self.locate(at, need).map_err(fault)?;
            each(offset, (at - addr) as usize..(next - addr) as usize);
            at = next;
        }
        Ok(())
    }

    /// Loads `out.len()` bytes from `addr`. An empty access never faults.
    ///
    /// # Errors
    /// A [`Fault`] if a page is not mapped or may not be read.
    pub fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), Fault> {
        if out.is_empty() {
            return Ok(());
        }
        self.by_page(addr, out.len(), Perm::READ, |offset, range| {
            self.arena.read(offset, &mut out[range]);
        })
    }

    /// Stores `data` from `addr` on. An empty access never faults.
    ///
    /// # Errors
    /// A [`Fault`] if a page is not mapped or may not be written; nothing is written then.
    pub fn write(&self, addr: u64, data: &[u8]) -> Result<(), Fault> {
        if data.is_empty() {
            return Ok(());
        }
        self.by_page(addr, data.len(), Perm::WRITE, |offset, range| {
            self.arena.write(offset, &data[range]);
        })
    }

    #[cold]
    #[inline(never)]
    fn load_slow<const N: usize>(&self, addr: u64) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        self.read(addr, &mut bytes)?;
        Ok(bytes)
    }

    #[cold]
    #[inline(never)]
    fn store_slow<const N: usize>(&self, addr: u64, bytes: [u8; N]) -> Result<(), Fault> {
        self.write(addr, &bytes)
    }

    /// The dword of machine code at `addr`.
    ///
    /// # Errors
    /// A [`Fault`] if the page is not mapped or not executable, or if `addr` is no multiple of 4.
    #[inline]
    pub fn fetch_u32(&self, addr: u64) -> Result<u32, Fault> {
        let offset = self.aligned(addr, 4, Perm::EXEC)?;
        Ok(u32::from_le(self.arena.u32(offset).load(Relaxed)))
    }

    /// The arena offset of an aligned access of `size` bytes (a power of two up to the page size).
    #[inline]
    fn aligned(&self, addr: u64, size: u64, need: Perm) -> Result<usize, Fault> {
        let fault = |kind| Fault { addr, size, kind };
        if !addr.is_multiple_of(size) {
            return Err(fault(FaultKind::Misaligned));
        }
        match self.near(addr, size, need) {
            Some(offset) => Ok(offset),
            None => {
                let offset = self.locate(addr, need).map_err(fault)?;
                if need.contains(Perm::WRITE) {
                    self.note_store(addr, size);
                }
                Ok(offset)
            }
        }
    }
}

macro_rules! access {
    ($load:ident, $store:ident, $t:ident) => {
        impl Memory {
            /// Loads a little-endian value; `addr` need not be aligned.
            ///
            /// # Errors
            /// A [`Fault`] if a page is not mapped or may not be read.
            #[inline]
            pub fn $load(&self, addr: u64) -> Result<$t, Fault> {
                const SIZE: usize = size_of::<$t>();
                match self.near(addr, SIZE as u64, Perm::READ) {
                    Some(offset) if offset.is_multiple_of(SIZE) => {
                        Ok($t::from_le(self.arena.$t(offset).load(Relaxed)))
                    }
                    _ => self.load_slow(addr).map($t::from_le_bytes),
                }
            }

            /// Stores a little-endian value; `addr` need not be aligned.
            ///
            /// # Errors
            /// A [`Fault`] if a page is not mapped or may not be written; nothing is written then.
            #[inline]
            pub fn $store(&self, addr: u64, value: $t) -> Result<(), Fault> {
                const SIZE: usize = size_of::<$t>();
                match self.near(addr, SIZE as u64, Perm::WRITE) {
                    Some(offset) if offset.is_multiple_of(SIZE) => {
                        self.arena.$t(offset).store(value.to_le(), Relaxed);
                        Ok(())
                    }
                    _ => self.store_slow(addr, value.to_le_bytes()),
                }
            }
        }
    };
}

access!(load_u8, store_u8, u8);
access!(load_u16, store_u16, u16);
access!(load_u32, store_u32, u32);

impl Memory {
    /// Loads a little-endian value; `addr` need not be aligned.
    ///
    /// # Errors
    /// A [`Fault`] if a page is not mapped or may not be read.
    #[inline]
    pub fn load_u64(&self, addr: u64) -> Result<u64, Fault> {
        match self.near(addr, 8, Perm::READ) {
            Some(offset) if offset.is_multiple_of(8) => {
                Ok(u64::from_le(self.arena.u64(offset).load(Relaxed)))
            }
            // Two-dword loads are often aligned to one dword only.
            Some(offset) if offset.is_multiple_of(4) => {
                let low = u32::from_le(self.arena.u32(offset).load(Relaxed));
                let high = u32::from_le(self.arena.u32(offset + 4).load(Relaxed));
                Ok(low as u64 | (high as u64) << 32)
            }
            _ => self.load_slow(addr).map(u64::from_le_bytes),
        }
    }

    /// Stores a little-endian value; `addr` need not be aligned.
    ///
    /// # Errors
    /// A [`Fault`] if a page is not mapped or may not be written; nothing is written then.
    #[inline]
    pub fn store_u64(&self, addr: u64, value: u64) -> Result<(), Fault> {
        match self.near(addr, 8, Perm::WRITE) {
            Some(offset) if offset.is_multiple_of(8) => {
                self.arena.u64(offset).store(value.to_le(), Relaxed);
                Ok(())
            }
            Some(offset) if offset.is_multiple_of(4) => {
                self.arena
                    .u32(offset)
                    .store((value as u32).to_le(), Relaxed);
                self.arena
                    .u32(offset + 4)
                    .store(((value >> 32) as u32).to_le(), Relaxed);
                Ok(())
            }
            _ => self.store_slow(addr, value.to_le_bytes()),
        }
    }

    /// Loads `N` consecutive dwords, as the multi-dword loads do; `addr` need not be aligned.
    ///
    /// # Errors
    /// A [`Fault`] if a page is not mapped or may not be read.
    #[inline]
    pub fn load_dwords<const N: usize>(&self, addr: u64) -> Result<[u32; N], Fault> {
        if N as u64 * 4 <= PAGE_SIZE
            && let Some(offset) = self.near(addr, N as u64 * 4, Perm::READ)
            && offset.is_multiple_of(4)
        {
            return Ok(std::array::from_fn(|i| {
                u32::from_le(self.arena.u32(offset + 4 * i).load(Relaxed))
            }));
        }
        let mut bytes = [[0; 4]; N];
        self.read(addr, bytes.as_flattened_mut())?;
        Ok(bytes.map(u32::from_le_bytes))
    }

    /// Stores `N` consecutive dwords, as the multi-dword stores do; `addr` need not be aligned.
    ///
    /// # Errors
    /// A [`Fault`] if a page is not mapped or may not be written; nothing is written then.
    #[inline]
    pub fn store_dwords<const N: usize>(&self, addr: u64, values: [u32; N]) -> Result<(), Fault> {
        if N as u64 * 4 <= PAGE_SIZE
            && let Some(offset) = self.near(addr, N as u64 * 4, Perm::WRITE)
            && offset.is_multiple_of(4)
        {
            for (i, value) in values.into_iter().enumerate() {
                self.arena.u32(offset + 4 * i).store(value.to_le(), Relaxed);
            }
            return Ok(());
        }
        self.write(addr, values.map(u32::to_le_bytes).as_flattened())
    }

    /// Replaces the value at `addr` by `f` of it in one indivisible step, and gives the old value. `f` may be called more
    /// than once when host threads contend. Sequentially consistent with all other atomics.
    ///
    /// # Errors
    /// A [`Fault`] if `addr` is no multiple of 4, or if the page is not mapped or not both readable and writable.
    #[inline]
    pub fn fetch_update_u32(&self, addr: u64, mut f: impl FnMut(u32) -> u32) -> Result<u32, Fault> {
        let cell = self.arena.u32(self.aligned(addr, 4, Perm::RW)?);
        let mut old = cell.load(Relaxed);
        loop {
            let new = f(u32::from_le(old)).to_le();
            match cell.compare_exchange_weak(old, new, SeqCst, Relaxed) {
                Ok(_) => {
                    if new != old {
                        self.note_change();
                    }
                    return Ok(u32::from_le(old));
                }
                Err(seen) => old = seen,
            }
        }
    }

    /// As [`Memory::fetch_update_u32`] for 8 bytes, aligned to 8.
    ///
    /// # Errors
    /// As [`Memory::fetch_update_u32`].
    #[inline]
    pub fn fetch_update_u64(&self, addr: u64, mut f: impl FnMut(u64) -> u64) -> Result<u64, Fault> {
        let cell = self.arena.u64(self.aligned(addr, 8, Perm::RW)?);
        let mut old = cell.load(Relaxed);
        loop {
            let new = f(u64::from_le(old)).to_le();
            match cell.compare_exchange_weak(old, new, SeqCst, Relaxed) {
                Ok(_) => {
                    if new != old {
                        self.note_change();
                    }
                    return Ok(u64::from_le(old));
                }
                Err(seen) => old = seen,
            }
        }
    }
}

impl Memory {
    /// Lets kernels reach the pages of the program around that hold these bytes: at the host's address, or at that plus
    /// [`ALIAS`]. What the host lets the program do there, and no more, is permitted. Gives the guest address. Pages can
    /// be lent several times, and are mapped until they have been taken back as often.
    ///
    /// # Safety
    /// The pages stay mapped, and what they permit stays permitted, until they have been taken back and no kernel runs
    /// that could have found them before; and whoever else accesses them bears that kernels do, too.
    ///
    /// # Errors
    /// [`MemError::BadRegion`] where this memory does not have host addresses, the range is empty or leaves them, or has
    /// pages of allocations; [`MemError::NotMapped`] where the program may not read all of it.
    pub unsafe fn lend(&self, host: u64, size: u64, alias: bool) -> Result<u64, MemError> {
        let bad = MemError::BadRegion { addr: host, size };
        let (first, end) = page_range(host, size)?;
        let ours = (self.own().start / PAGE_SIZE, self.own().end / PAGE_SIZE);
        if !self.is_of_host() || end > ALIAS / PAGE_SIZE || first < ours.1 && end > ours.0 {
            return Err(bad);
        }
        let (at, bytes) = (first * PAGE_SIZE, (end - first) * PAGE_SIZE);
        let perm = match host::access(at as usize, bytes as usize) {
            (true, true) => Perm::RW,
            (true, false) => Perm::READ,
            _ => return Err(MemError::NotMapped { addr: host }),
        };
        let more = if alias { ALIAS } else { 0 };
        let (first, end) = (first + more / PAGE_SIZE, end + more / PAGE_SIZE);
        let mut book = self.book();
        book.lent.push((first, end, perm));
        self.set_lent(first, end, Some(perm))?;
        Ok(host + more)
    }

    /// Takes pages back that were lent at this guest address, with this size.
    ///
    /// # Errors
    /// [`MemError::NotMapped`] where they were not.
    pub fn take_back(&self, addr: u64, size: u64) -> Result<(), MemError> {
        let (first, end) = page_range(addr, size)?;
        let mut book = self.book();
        let found = book.lent.iter().position(|l| (l.0, l.1) == (first, end));
        book.lent
            .swap_remove(found.ok_or(MemError::NotMapped { addr })?);
        // What others have been lent stays.
        let others = book.lent.iter().filter(|l| l.0 < end && l.1 > first);
        let mut others: Vec<(u64, u64)> = others.map(|l| (l.0, l.1)).collect();
        others.sort_unstable();
        let mut at = first;
        for (from, to) in others {
            if from > at {
                self.set_lent(at, from, None)?;
            }
            at = at.max(to);
        }
        if at < end {
            self.set_lent(at, end, None)?;
        }
        Ok(())
    }

    /// Says of guest pages that do not belong to allocations that they are mapped, or are not.
    fn set_lent(&self, first: u64, end: u64, perm: Option<Perm>) -> Result<(), MemError> {
        let state = perm.map_or(0, |perm| MAPPED | perm.0);
        match (self.linear_page(first), self.linear_page(end - 1)) {
            (Some(start), Some(_)) => self.pages.fill(start, end - first, state)?,
            _ => {
                let mut far = self.far_mut();
                for page in first..end {
                    // The arena's page is the host's.
                    let page_of_host = page % (ALIAS / PAGE_SIZE);
                    match perm {
                        Some(perm) => far.insert(
                            page,
                            FarPage {
                                page: page_of_host,
                                perm,
                            },
                        ),
                        None => far.remove(&page),
                    };
                }
            }
        }
        self.mapping.store(0, SeqCst);
        Ok(())
    }

    /// The allocation that holds an address: where it begins, and its bytes (whole pages).
    pub fn region_of(&self, addr: u64) -> Option<(u64, u64)> {
        let book = self.book();
        let (&at, &(first, count)) = book.regions.range(..=addr).next_back()?;
        let end = (first + count) * PAGE_SIZE;
        (addr < end).then_some((at, end - at))
    }
}

thread_local! {
    static STORES: RefCell<Vec<(u64, u64)>> = const { RefCell::new(Vec::new()) };
}

#[cold]
fn note_store(addr: u64, size: u64) {
    STORES.with_borrow_mut(|stores| stores.push((addr, size)));
}

/// The address and size of each store and atomic of this thread since the last call, where [`Memory::record_stores`] is on.
pub fn take_stores() -> Vec<(u64, u64)> {
    STORES.take()
}

/// Where the linear part lies, and which of its pages allocations come from.
struct Parts {
    linear_base: u64,
    linear_bytes: u64,
    origin: u64,
    own: Range<u64>,
}

/// Bytes of addresses that a page map covers where the host refuses one for all of them.
const WINDOW: u64 = 1 << 40;

/// The pages of the part that allocations come from, and those of it and the pool, of memory with a limit.
fn sizes(limit_bytes: u64) -> Result<(u64, u64), MemError> {
    let limit = limit_bytes.div_ceil(PAGE_SIZE).max(1);
    if limit > (ADDRESS_END - LINEAR_BASE) / PAGE_SIZE / 4 {
        return Err(MemError::Host(format!(
            "{limit_bytes} bytes exceed the guest's addresses"
        )));
    }
    // Room for the unmapped page between any two allocations, however small, and for alignment.
    let linear = 2 * limit + LEAST_PAGES;
    Ok((linear, linear + limit))
}

/// Whether all memory is to have the host's addresses: tests run in both configurations.
fn of_host_everywhere() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    *ASKED.get_or_init(|| std::env::var_os("GCN_MEMORY").is_some_and(|v| v == "host"))
}

/// The first page of a region and the page after its last.
fn page_range(addr: u64, size: u64) -> Result<(u64, u64), MemError> {
    match addr.checked_add(size) {
        Some(end) if size != 0 && end <= ADDRESS_END => {
            Ok((addr / PAGE_SIZE, end.div_ceil(PAGE_SIZE)))
        }
        _ => Err(MemError::BadRegion { addr, size }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Tests of what both configurations have in common.
    macro_rules! in_both {
        ($($test:ident)*) => {
            mod arena {
                $(#[test]
                fn $test() {
                    super::$test(super::Memory::new(super::MIB).unwrap());
                })*
            }

            #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
            mod of_host {
                $(#[test]
                fn $test() {
                    super::$test(super::Memory::of_host(super::MIB, None).unwrap());
                })*
            }
        };
    }

    in_both! {
        allocations_are_zero_aligned_and_apart
        all_of_the_limit_can_be_mapped_and_no_more
        bad_requests
        no_address_escapes
        permissions
        any_alignment_and_page_crossings
        far_mappings_anywhere
        atomics_of_two_threads_lose_nothing
        faults_say_what_happened
        mapping_agrees_with_a_model
    }

    fn fault<T: fmt::Debug>(r: Result<T, Fault>) -> FaultKind {
        r.unwrap_err().kind
    }

    /// What a wrong access of the host comes to: the process ends. Runs itself again for each.
    #[cfg(unix)]
    #[test]
    fn what_checks_would_miss_ends_the_process() {
        use std::os::unix::process::ExitStatusExt;
        use std::process::{Command, Stdio};

        let m = Memory::new(MIB).unwrap();
        let (data, read) = (m.alloc(1, 1, Perm::RW), m.alloc(1, 1, Perm::READ));
        let (data, read) = (data.unwrap(), read.unwrap());
        let freed = m.alloc(1, 1, Perm::RW).unwrap();
        m.store_u8(freed, 1).unwrap();
        m.free(freed).unwrap();
        let none = m.alloc(1, 1, Perm::NONE).unwrap();
        m.map_at(0x1000, 1, Perm::READ).unwrap();
        let host = |guest: u64| m.arena.address((guest - LINEAR_BASE) as usize);
        let (start, pool) = (m.arena.address(0), m.linear_bytes as usize);
        let mut lds = crate::wave::Lds::new(1024);
        let mut vgprs = crate::wave::Vgprs::new(3);
        let (lds, vgprs) = (lds.as_mut_ptr(), vgprs.as_mut_ptr().cast::<u8>());
        // What is touched, whether it is written, and whether the process lives: in any build, in a guarded one.
        let spots = [
            (host(data), true, true, true),
            (host(read), false, true, true),
            (start.wrapping_sub(1), false, false, false),
            (start.wrapping_sub(ARENA_GUARD), false, false, false),
            (start.wrapping_add(m.arena.len), false, false, false),
            (
                start.wrapping_add(m.arena.len + ARENA_GUARD - 1),
                false,
                false,
                false,
            ),
            (lds.wrapping_add(1023), true, true, true),
            (lds.wrapping_add(1024), false, false, false),
            (lds.wrapping_sub(LDS_MOST), false, false, false),
            (host(read), true, true, false),
            (host(none), false, true, false),
            (host(freed), false, true, false),
            (
                host(data).wrapping_add(PAGE_SIZE as usize),
                false,
                true,
                false,
            ),
            (start.wrapping_add(pool), false, true, true),
            (start.wrapping_add(pool), true, true, false),
            (vgprs.wrapping_add(3 * 256 - 1), true, true, true),
            (vgprs.wrapping_add(3 * 256 + 64), false, true, false),
        ];
        const WHICH: &str = "GCN_TEST_TOUCHES";
        if let Ok(which) = std::env::var(WHICH) {
            let (at, write, ..) = spots[which.parse::<usize>().unwrap()];
            // SAFETY: either the byte is one of these buffers' own, or the process ends here.
            unsafe {
                match write {
                    true => at.write_volatile(1),
                    false => drop(at.read_volatile()),
                }
            }
            return;
        }
        const NAME: &str = "mem::tests::what_checks_would_miss_ends_the_process";
        for (n, &(.., any, guarded)) in spots.iter().enumerate() {
            // What lies behind VGPRs is not known in other builds.
            if n == spots.len() - 1 && !GUARDED {
                continue;
            }
            let mut again = Command::new(std::env::current_exe().unwrap());
            let again = again.args([NAME, "--exact"]).env(WHICH, n.to_string());
            let ended = again
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .unwrap();
            let lives = if GUARDED { guarded } else { any };
            // SIGSEGV, or what some systems have in its place: SIGBUS.
            let killed = matches!(ended.signal(), Some(11 | 7 | 10));
            assert_eq!(
                (ended.success(), killed),
                (lives, !lives),
                "spot {n}: {ended}"
            );
        }
    }

    fn allocations_are_zero_aligned_and_apart(m: Memory) {
        let a = m.alloc(100, 256, Perm::RW).unwrap();
        let b = m.alloc(5000, 1 << 16, Perm::RW).unwrap();
        let c = m.alloc(0, 1, Perm::RW).unwrap();
        assert!(a >= m.own().start && a.is_multiple_of(PAGE_SIZE) && b.is_multiple_of(1 << 16));
        assert_eq!(m.load_u64(b + 4996).unwrap(), 0);
        for region in [a, b, c] {
            assert_eq!(fault(m.load_u8(region - 1)), FaultKind::Unmapped);
        }
        assert_eq!(fault(m.load_u8(a + 4096)), FaultKind::Unmapped);
        assert_eq!(fault(m.load_u8(b + 8192)), FaultKind::Unmapped);
        assert_eq!(m.regions().map(|r| r.1).sum::<u64>(), 4 * PAGE_SIZE);
    }

    fn all_of_the_limit_can_be_mapped_and_no_more(m: Memory) {
        let a = m.alloc(MIB, 1, Perm::RW).unwrap();
        assert_eq!(m.free_bytes(), 0);
        let none = MemError::OutOfMemory { wanted: 1, free: 0 };
        assert_eq!(m.alloc(1, 1, Perm::RW), Err(none.clone()));
        assert_eq!(m.map_at(0x1000, 1, Perm::RW), Err(none));
        m.store_u32(a + MIB - 4, 7).unwrap();
        assert_eq!(fault(m.store_u32(a + MIB - 3, 7)), FaultKind::Unmapped);
        m.free(a).unwrap();
        assert_eq!(m.free(a), Err(MemError::NotMapped { addr: a }));
        assert_eq!(fault(m.load_u8(a)), FaultKind::Unmapped);
        // What was freed comes back as zeros, and in one piece.
        let a = m.alloc(MIB, 1, Perm::RW).unwrap();
        assert_eq!(m.load_u32(a + MIB - 4).unwrap(), 0);
        m.free(a).unwrap();
        for i in 0..MIB / PAGE_SIZE {
            m.map_at(0x7f00_0000_0000 + i * 3 * PAGE_SIZE, 1, Perm::RW)
                .unwrap();
        }
        assert_eq!(m.free_bytes(), 0);
    }

    fn bad_requests(m: Memory) {
        assert_eq!(m.alloc(1, 3, Perm::RW), Err(MemError::BadAlign(3)));
        assert_eq!(m.alloc(1, 0, Perm::RW), Err(MemError::BadAlign(0)));
        assert!(matches!(
            m.alloc(1, 1 << 63, Perm::RW),
            Err(MemError::OutOfMemory { .. })
        ));
        assert!(matches!(
            m.alloc(u64::MAX, 1, Perm::RW),
            Err(MemError::OutOfMemory { .. })
        ));
        for (addr, size) in [
            (0, 0),
            (u64::MAX, 1),
            (u64::MAX, 2),
            (ADDRESS_END, 1),
            (1, ADDRESS_END),
        ] {
            assert_eq!(
                m.map_at(addr, size, Perm::RW),
                Err(MemError::BadRegion { addr, size })
            );
        }
        assert!(m.map_at(1 << 40, 1 << 47, Perm::RW).is_err());
        assert!(Memory::new(u64::MAX).is_err());
        assert_eq!(m.free(0x1234), Err(MemError::NotMapped { addr: 0x1234 }));
    }

    fn no_address_escapes(m: Memory) {
        m.alloc(1, 1, Perm::RWX).unwrap();
        m.map_at(ADDRESS_END - 1, 1, Perm::RWX).unwrap();
        m.map_at(0, 1, Perm::RWX).unwrap();
        let bad = [
            0x1000,
            m.own().start - 8,
            m.own().start,
            m.own().start + 2 * PAGE_SIZE,
            m.own().end - 8,
            m.own().end,
            m.own().start + 3 * MIB - 8,
            m.own().start + 3 * MIB,
            ADDRESS_END - PAGE_SIZE - 8,
            ADDRESS_END,
            ADDRESS_END + m.own().start + PAGE_SIZE,
            1 << 63,
            u64::MAX - 15,
            u64::MAX - 7,
        ];
        for addr in bad {
            assert_eq!(fault(m.load_u8(addr)), FaultKind::Unmapped, "{addr:#x}");
            assert_eq!(fault(m.load_u16(addr)), FaultKind::Unmapped, "{addr:#x}");
            assert_eq!(fault(m.load_u32(addr)), FaultKind::Unmapped, "{addr:#x}");
            assert_eq!(fault(m.load_u64(addr)), FaultKind::Unmapped, "{addr:#x}");
            assert_eq!(
                fault(m.load_dwords::<4>(addr)),
                FaultKind::Unmapped,
                "{addr:#x}"
            );
            assert_eq!(
                fault(m.store_u64(addr, 1)),
                FaultKind::Unmapped,
                "{addr:#x}"
            );
            assert_eq!(fault(m.fetch_u32(addr)), FaultKind::Unmapped, "{addr:#x}");
            assert_eq!(
                fault(m.fetch_update_u32(addr, |x| x)),
                FaultKind::Unmapped,
                "{addr:#x}"
            );
            assert_eq!(
                fault(m.fetch_update_u64(addr, |x| x)),
                FaultKind::Unmapped,
                "{addr:#x}"
            );
            assert_eq!(
                fault(m.read(addr, &mut [0; 20])),
                FaultKind::Unmapped,
                "{addr:#x}"
            );
        }
        // Accesses that begin inside and end outside, by wrapping even.
        for addr in [
            ADDRESS_END - 1,
            PAGE_SIZE - 1,
            m.own().start + 2 * PAGE_SIZE - 1,
        ] {
            m.store_u8(addr, 1).unwrap();
            assert_eq!(fault(m.load_u16(addr)), FaultKind::Unmapped);
            assert_eq!(fault(m.store_u64(addr, 0)), FaultKind::Unmapped);
            assert_eq!(m.load_u8(addr), Ok(1), "a faulting store writes nothing");
        }
        assert_eq!(fault(m.load_u64(u64::MAX)), FaultKind::Unmapped);
        assert_eq!(fault(m.write(u64::MAX, &[1, 2])), FaultKind::Unmapped);
        assert_eq!(m.read(u64::MAX, &mut []), Ok(()));
    }

    fn permissions(m: Memory) {
        let r = m.alloc(1, 1, Perm::READ).unwrap();
        let w = m.alloc(1, 1, Perm::WRITE).unwrap();
        let x = m.alloc(1, 1, Perm::EXEC).unwrap();
        let far = 0x7000_0000_0000;
        m.map_at(far, 1, Perm::READ).unwrap();
        for addr in [r, far] {
            assert_eq!(m.load_u32(addr), Ok(0));
            assert_eq!(fault(m.store_u32(addr, 1)), FaultKind::NoWrite);
            assert_eq!(fault(m.fetch_update_u32(addr, |x| x)), FaultKind::NoWrite);
            assert_eq!(fault(m.fetch_u32(addr)), FaultKind::NoExec);
        }
        assert_eq!(m.store_u32(w, 1), Ok(()));
        assert_eq!(fault(m.load_u32(w)), FaultKind::NoRead);
        assert_eq!(fault(m.fetch_update_u64(w, |x| x)), FaultKind::NoRead);
        assert_eq!(m.fetch_u32(x), Ok(0));
        assert_eq!(fault(m.fetch_u32(x + 2)), FaultKind::Misaligned);
        assert_eq!(fault(m.load_u8(x)), FaultKind::NoRead);
        m.protect(x, 1, Perm::RW).unwrap();
        m.protect(far, 1, Perm::RW).unwrap();
        for addr in [x, far] {
            m.store_u32(addr, 5).unwrap();
            assert_eq!(m.perm(addr + 9), Some(Perm::RW));
            assert_eq!(fault(m.fetch_u32(addr)), FaultKind::NoExec);
        }
        m.protect(x, 1, Perm::RX).unwrap();
        assert_eq!(m.fetch_u32(x), Ok(5));
        m.protect(x, 1, Perm::NONE).unwrap();
        assert_eq!(fault(m.load_u32(x)), FaultKind::NoRead);
        assert_eq!(m.perm(x), Some(Perm::NONE));
        assert_eq!(m.perm(x + PAGE_SIZE), None);
        assert_eq!(
            m.protect(x, 2 * PAGE_SIZE, Perm::RW),
            Err(MemError::NotMapped {
                addr: x + PAGE_SIZE
            })
        );
    }

    fn any_alignment_and_page_crossings(m: Memory) {
        let near = m.alloc(3 * PAGE_SIZE, 1, Perm::RW).unwrap();
        let far = 0x1000;
        m.map_at(far, 3 * PAGE_SIZE, Perm::RW).unwrap();
        for base in [near, far] {
            for at in [base, base + PAGE_SIZE - 20] {
                for shift in 0..24 {
                    let addr = at + shift;
                    let bytes: [u8; 32] = std::array::from_fn(|i| (i as u64 * 7 + addr) as u8);
                    m.write(addr, &bytes).unwrap();
                    let mut back = [0; 32];
                    m.read(addr, &mut back).unwrap();
                    assert_eq!(back, bytes);
                    let eight = u64::from_le_bytes(bytes[..8].try_into().unwrap());
                    assert_eq!(m.load_u8(addr), Ok(eight as u8));
                    assert_eq!(m.load_u16(addr), Ok(eight as u16));
                    assert_eq!(m.load_u32(addr), Ok(eight as u32));
                    assert_eq!(m.load_u64(addr), Ok(eight));
                    let dwords = m.load_dwords::<4>(addr).unwrap();
                    assert_eq!(dwords.map(u32::to_le_bytes).as_flattened(), &bytes[..16]);
                    m.store_u16(addr, 0x1122).unwrap();
                    m.store_u32(addr + 2, 0x3344_5566).unwrap();
                    m.store_u64(addr + 6, 0x0102_0304_0506_0708).unwrap();
                    m.store_dwords(addr + 14, [1, 0xfedc_ba98, 3]).unwrap();
                    m.store_u8(addr + 26, 0xee).unwrap();
                    m.read(addr, &mut back).unwrap();
                    let head = [0x22, 0x11, 0x66, 0x55, 0x44, 0x33, 8, 7, 6, 5, 4, 3, 2, 1];
                    let tail = [1, 0, 0, 0, 0x98, 0xba, 0xdc, 0xfe, 3, 0, 0, 0, 0xee];
                    assert_eq!(back[..14], head);
                    assert_eq!(back[14..27], tail);
                    assert_eq!(back[27..], bytes[27..]);
                }
            }
        }
    }

    fn far_mappings_anywhere(m: Memory) {
        let linear_end = m.own().end;
        let places = [
            0,
            0x1000,
            m.own().start - PAGE_SIZE,
            m.own().start + 0x5000,
            linear_end,
            1 << 47,
            ADDRESS_END - PAGE_SIZE,
        ];
        for (i, addr) in places.into_iter().enumerate() {
            m.map_at(addr + 8, 4, Perm::RW).unwrap();
            m.store_u64(addr + 8, i as u64 + 1).unwrap();
        }
        for (i, addr) in places.into_iter().enumerate() {
            assert_eq!(m.load_u64(addr + 8), Ok(i as u64 + 1));
            assert_eq!(m.map_at(addr, 1, Perm::RW), Err(MemError::Overlap { addr }));
            assert_eq!(m.fetch_update_u64(addr + 8, |x| x + 10), Ok(i as u64 + 1));
        }
        // An allocation goes round what was mapped in the linear part.
        let big = m.alloc(MIB / 2, 1, Perm::RW).unwrap();
        assert!(big > m.own().start + 0x6000);
        m.free(places[0] + 8).unwrap();
        assert_eq!(fault(m.load_u8(8)), FaultKind::Unmapped);
        m.map_at(1 << 46, 1, Perm::RW).unwrap();
        assert_eq!(
            m.load_u64((1 << 46) + 8),
            Ok(0),
            "a page used before comes back as zeros"
        );
        // A region that runs from the far side into the linear part.
        m.free(places[2] + 8).unwrap();
        m.map_at(m.own().start - 4, 8, Perm::RW).unwrap();
        m.store_u64(m.own().start - 4, 0x1111_2222_3333_4444)
            .unwrap();
        assert_eq!(m.load_u32(m.own().start), Ok(0x1111_2222));
        assert_eq!(m.load_u64(m.own().start - 4), Ok(0x1111_2222_3333_4444));
        m.free(m.own().start - 4).unwrap();
        assert_eq!(fault(m.load_u8(m.own().start)), FaultKind::Unmapped);
    }

    fn atomics_of_two_threads_lose_nothing(m: Memory) {
        let a = m.alloc(64, 1, Perm::RW).unwrap();
        m.map_at(0x2000, 8, Perm::RW).unwrap();
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    for i in 0..50_000u32 {
                        m.fetch_update_u32(a + 4, |x| x.wrapping_add(1)).unwrap();
                        m.fetch_update_u64(0x2000, |x| x + (1 << 32)).unwrap();
                        m.store_u32(a + 8, i).unwrap();
                        m.load_u64(a + 8).unwrap();
                    }
                });
            }
        });
        assert_eq!(m.load_u32(a + 4), Ok(100_000));
        assert_eq!(m.load_u64(0x2000), Ok(100_000 << 32));
        assert_eq!(m.load_u32(a + 8), Ok(49_999));
        assert_eq!(
            fault(m.fetch_update_u32(a + 2, |x| x)),
            FaultKind::Misaligned
        );
        assert_eq!(
            fault(m.fetch_update_u64(a + 4, |x| x)),
            FaultKind::Misaligned
        );
    }

    fn faults_say_what_happened(m: Memory) {
        let fault = m.load_u32(0x10).unwrap_err();
        assert_eq!(
            fault,
            Fault {
                addr: 0x10,
                size: 4,
                kind: FaultKind::Unmapped
            }
        );
        assert_eq!(
            fault.to_string(),
            "memory fault: address 0x10 (4 bytes) is not mapped"
        );
    }

    /// Random mapping and unmapping against a plain model of which pages are mapped.
    fn mapping_agrees_with_a_model(m: Memory) {
        let mut model: BTreeMap<u64, u64> = BTreeMap::new();
        let mut seed = 1u64;
        for _ in 0..5000 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let r = seed >> 33;
            if r.is_multiple_of(2) && !model.is_empty() {
                let addr = *model.keys().nth((r >> 1) as usize % model.len()).unwrap();
                model.remove(&addr);
                m.free(addr).unwrap();
            } else if r.is_multiple_of(3) {
                let addr = m.own().start - 5 * PAGE_SIZE + (r >> 8) % 400 * PAGE_SIZE;
                if m.map_at(addr, PAGE_SIZE * 2, Perm::RW).is_ok() {
                    model.insert(addr, 2);
                }
            } else if let Ok(addr) =
                m.alloc((r >> 8) % 20 * PAGE_SIZE, 1 << (r >> 4 & 15), Perm::RW)
            {
                model.insert(addr, ((r >> 8) % 20).max(1));
            }
            let mut end = 0;
            for (&addr, &count) in &model {
                assert!(addr >= end, "regions do not overlap");
                end = addr + count * PAGE_SIZE;
                assert!(m.store_u32(addr, 1).and(m.load_u32(end - 4)).is_ok());
            }
            let mapped: u64 = model.values().sum();
            assert_eq!(m.free_bytes(), MIB - mapped * PAGE_SIZE);
            let gaps: u64 = m.book().gaps.values().sum();
            let far: u64 = m.far_mut().len() as u64;
            assert_eq!(gaps + mapped - far, m.own.end - m.own.start);
        }
    }

    /// Memory of a program that lends it.
    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    fn pages(count: usize) -> memmap2::MmapMut {
        memmap2::MmapMut::map_anon(count * PAGE_SIZE as usize).unwrap()
    }

    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    #[test]
    fn lent_pages_are_the_programs() {
        let m = Memory::of_host(MIB, None).unwrap();
        let map = pages(4);
        let at = map.as_ptr().expose_provenance() as u64;
        assert_eq!(fault(m.load_u32(at)), FaultKind::Unmapped);
        // SAFETY: the pages live as long as the memory, and are not looked at otherwise while it writes.
        let (here, there) = unsafe {
            (
                m.lend(at + 100, 2 * PAGE_SIZE, false).unwrap(),
                m.lend(at + 100, 8, true).unwrap(),
            )
        };
        assert_eq!((here, there), (at + 100, at + 100 + ALIAS));
        let mapping = m.mapping();
        m.store_u64(here, 0x1234_5678_9abc_def0).unwrap();
        assert_eq!(m.load_u64(there), Ok(0x1234_5678_9abc_def0));
        assert_eq!(m.fetch_update_u32(there, |x| x + 1), Ok(0x9abc_def0));
        assert_eq!(map[100], 0xf1);
        // Whole pages, of which the third begins behind the second's 100 bytes.
        assert_eq!(m.load_u8(at + 3 * PAGE_SIZE - 1), Ok(0));
        assert_eq!(fault(m.load_u8(at + 3 * PAGE_SIZE)), FaultKind::Unmapped);
        assert_eq!(fault(m.load_u8(there + PAGE_SIZE)), FaultKind::Unmapped);
        assert_eq!(fault(m.fetch_u32(at)), FaultKind::NoExec);
        // What is lent twice stays until it has been taken back twice.
        // SAFETY: as above.
        unsafe { m.lend(at + PAGE_SIZE, 1, false).unwrap() };
        assert_eq!(m.take_back(at, 1), Err(MemError::NotMapped { addr: at }));
        m.take_back(here, 2 * PAGE_SIZE).unwrap();
        assert_ne!(m.mapping(), mapping);
        assert_eq!(fault(m.load_u8(here)), FaultKind::Unmapped);
        assert_eq!(m.load_u8(at + PAGE_SIZE), Ok(0));
        assert_eq!(fault(m.load_u8(at + 2 * PAGE_SIZE)), FaultKind::Unmapped);
        m.take_back(at + PAGE_SIZE, 1).unwrap();
        assert_eq!(fault(m.load_u8(at + PAGE_SIZE)), FaultKind::Unmapped);
        assert_eq!(m.load_u8(there), Ok(0xf1));
        m.take_back(there, 8).unwrap();
        assert_eq!(fault(m.load_u8(there)), FaultKind::Unmapped);
        assert_eq!(m.free_bytes(), MIB);
    }

    #[cfg(all(target_os = "linux", target_pointer_width = "64"))]
    #[test]
    fn lending_asks_the_host() {
        let m = Memory::of_host(MIB, None).unwrap();
        let map = pages(2).make_read_only().unwrap();
        let at = map.as_ptr().expose_provenance() as u64;
        let own = m.alloc(1, 1, Perm::RW).unwrap();
        // SAFETY: the pages live as long as the memory, where there are any.
        let lend = |at, size| unsafe { m.lend(at, size, false) };
        assert_eq!(lend(at, 1), Ok(at));
        assert_eq!(m.load_u8(at), Ok(0));
        assert_eq!(fault(m.store_u8(at, 1)), FaultKind::NoWrite);
        for (at, size) in [(own, 1), (at, 0), (ALIAS, 1), (ALIAS - 1, 2), (u64::MAX, 1)] {
            assert_eq!(lend(at, size), Err(MemError::BadRegion { addr: at, size }));
        }
        drop(map);
        m.take_back(at, 1).unwrap();
        assert!(matches!(lend(0x1000, 1), Err(MemError::NotMapped { .. })));
        let arena = Memory::new(MIB).unwrap();
        if !arena.is_of_host() {
            // SAFETY: nothing is lent.
            assert!(unsafe { arena.lend(at, 1, false) }.is_err());
        }
    }
}
