//! Guest memory: the memory that flat, buffer, image and scalar memory instructions access.
//!
//! One host range is reserved up front and filled page by page. Its first part is *linear*: host address = base + guest
//! address, for the guest addresses from [`LINEAR_BASE`] on, with one byte per page that holds the state and permissions of
//! the page. Its second part, the *pool*, holds single pages for [`Memory::map_at`] at any other guest address, found
//! through a table. Whatever address a program computes, an access either hits a mapped page that permits it or gives a
//! [`Fault`].
//!
//! Loads, stores and atomics take `&Memory` and may run on any number of host threads at once: every byte is accessed only
//! through relaxed atomic operations of the widest naturally aligned parts, so racing guest accesses are not undefined
//! behaviour of the host. A naturally aligned access of up to 8 bytes is single-copy atomic; other accesses may be observed
//! in parts. Mapping takes `&Memory` too: the mapped regions are kept under a lock that accesses do not take. An access that
//! races with the mapping or unmapping of its page either succeeds or faults. Guest memory is little-endian.
//!
//! There are two configurations. The one described so far ([`Memory::new`]) has an arena that this module owns. In the
//! other one ([`Memory::of_host`]) guest addresses are host addresses. Its linear part covers all of the host's addresses
//! and, from [`ALIAS`] on, the same addresses a second time. Allocations come from a reserved range of host addresses, and
//! pages of the host program can be lent ([`Memory::lend`]). Both configurations check accesses against the page map.
//!
//! The modules `arena`, `guard` and `host` contain the crate's `unsafe` code, and `alloc` contains its only public unsafe
//! function ([`Memory::lend`]).

#![allow(unsafe_code)]

mod access;
mod alloc;
mod arena;
mod exclusion;
mod guard;
mod host;
mod journal;
mod transaction;
mod workers;

pub use access::take_stores;
use arena::{Arena, Owner, PageMap};
use exclusion::Exclusion;
pub(crate) use exclusion::RunsWaves;
pub use exclusion::{Alone, Outside};
use gcn_isa::target::Target;
pub use guard::{Guarded, Plain};
use host::{Before, Reserved};
use journal::Journal;
pub use journal::{PageBytes, note_stores};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::ops::{BitOr, Range};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
pub use transaction::Extent;
use transaction::Transaction;
pub(crate) use workers::Worker;

/// Bytes per page.
pub const PAGE_SIZE: u64 = 4096;

/// The guest address of the linear part, where [`Memory::alloc`] allocates. Small addresses, and addresses that lost
/// their upper half, fault unless something was mapped there on purpose.
pub const LINEAR_BASE: u64 = 0x1_0000_0000;

/// Guest virtual addresses have 48 bits.
pub const ADDRESS_END: u64 = 1 << 48;

/// The maximum bytes of LDS of a workgroup.
pub const LDS_MOST: usize = 64 << 10;

/// The offset from the host address of a lent page to its alias. It is used only in the configuration of host addresses.
pub const ALIAS: u64 = 1 << 47;

/// The permissions of a page.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Perm(u8);

impl Perm {
    /// No permission: mapped, but every access faults.
    pub const NONE: Perm = Perm(0);
    /// Loads.
    pub const READ: Perm = Perm(1);
    /// Stores. An atomic needs both loads and stores.
    pub const WRITE: Perm = Perm(2);
    /// Instruction fetch.
    pub const EXEC: Perm = Perm(4);
    /// Loads and stores.
    pub const RW: Perm = Perm(1 | 2);
    /// Loads and instruction fetch.
    pub const RX: Perm = Perm(1 | 4);
    /// All permissions.
    pub const RWX: Perm = Perm(1 | 2 | 4);

    /// Returns true if all permissions of `other` are included.
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

/// The reason why an access was not performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// No page is mapped there, or the address has more than 48 bits.
    Unmapped,
    /// The page may not be read.
    NoRead,
    /// The page may not be written.
    NoWrite,
    /// The page may not be executed.
    NoExec,
    /// An atomic's address is not a multiple of its size, or an instruction's address is not a multiple of 4.
    Misaligned,
}

/// An access that was not performed. A store that faults has written nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The address of the access; if the access spans pages, the fault may be in a later page.
    pub addr: u64,
    /// Bytes of the access.
    pub size: u64,
    /// The reason.
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

/// The reason why memory could not be mapped or unmapped.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemError {
    /// `free` bytes of the limit given to [`Memory::new`] are left, or no gap is large enough.
    OutOfMemory {
        /// The bytes that were asked for.
        wanted: u64,
        /// The bytes that are left.
        free: u64,
    },
    /// A size of zero, or a region that ends beyond 48 bits.
    BadRegion {
        /// The first byte.
        addr: u64,
        /// The number of bytes.
        size: u64,
    },
    /// An alignment that is not a power of two.
    BadAlign(u64),
    /// A page of the region is already mapped.
    Overlap {
        /// The first byte of the region.
        addr: u64,
    },
    /// No region starts there, or a page of the region is not mapped.
    NotMapped {
        /// The first byte of the region.
        addr: u64,
    },
    /// The host did not provide an address range.
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
            MemError::BadAlign(align) => write!(f, "alignment {align} is not a power of two"),
            MemError::Overlap { addr } => write!(f, "the page at {addr:#x} is mapped already"),
            MemError::NotMapped { addr } => write!(f, "nothing is mapped at {addr:#x}"),
            MemError::Host(why) => write!(f, "the host gave no memory: {why}"),
        }
    }
}

impl std::error::Error for MemError {}

/// The linear part as compiled code accesses it. Valid while the [`Memory`] is borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Linear {
    /// The guest address of the first byte.
    pub start: u64,
    /// The host address of the first byte.
    pub base: *mut u8,
    /// One byte per page: the bits of its [`Perm`], and [`MAPPED`].
    pub pages: *const u8,
    /// The size in bytes.
    pub bytes: u64,
    /// True if the host's addresses exist twice, the second time with [`ALIAS`] added.
    pub aliased: bool,
}

/// A number that is less than the number of pages of any linear part.
pub const LEAST_PAGES: u64 = 64;

/// The bit of a page's state that says: the page is mapped. Pages of the pool do not have it.
pub const MAPPED: u8 = 8;
/// The bit of a page's state that says: the page was mapped before, and must be zeroed before it is mapped again.
const USED: u8 = 16;

/// A kind of recording: the addresses of stores.
const NOTE_STORES: u8 = 1;
/// A kind of recording: the contents of pages before stores change them.
const NOTE_PAGES: u8 = 2;
/// Restricts [`NOTE_PAGES`] to stores of the threads that have called [`note_stores`].
const NOTE_MARKED: u8 = 4;
/// Extends [`NOTE_PAGES`] to stores of compiled code.
const NOTE_COMPILED: u8 = 8;

/// A page in the pool.
#[derive(Clone, Copy)]
struct FarPage {
    /// The page number in the arena.
    page: u64,
    perm: Perm,
}

/// Guest memory. See the module's documentation.
pub struct Memory {
    arena: Arena,
    /// The state of every page of the arena, linear part and pool, one byte each: a [`Perm`] and [`MAPPED`] (linear part only),
    /// and [`USED`]. With host addresses the linear part contains the pool.
    pages: PageMap,
    /// The guest address of the linear part's first byte.
    linear_base: u64,
    /// Bytes of the linear part.
    linear_bytes: u64,
    /// The offset of the linear part in the arena.
    origin: u64,
    /// The pages of the linear part that allocations come from.
    own: Range<u64>,
    /// The pages of the pool, by guest page number.
    far: RwLock<HashMap<u64, FarPage>>,
    book: Mutex<Book>,
    /// True if an atomic has changed a value since [`Memory::discard_changes`].
    changed: AtomicBool,
    /// The kinds of recording that are on: [`NOTE_STORES`], [`NOTE_PAGES`], [`NOTE_MARKED`], [`NOTE_COMPILED`].
    recording: AtomicU8,
    journal: Mutex<Journal>,
    /// The current transaction.
    transaction: RwLock<Option<Transaction>>,
    /// Keeps transactions beside a program and changes of the mapping apart.
    exclusion: Exclusion,
    /// True during a transaction.
    in_transaction: AtomicBool,
    /// True if the transaction refused an access or [`Memory::suspect`] was called in it.
    suspected: AtomicBool,
    /// Changes whenever pages are mapped or unmapped or their permissions change; unique among all memories of the process.
    mapping: AtomicU64,
    /// Incremented when executable pages are mapped or unmapped or their permissions change.
    code_changes: AtomicU64,
    /// The cached answer of [`Memory::about_code`], with the value of `code_changes` and the target it holds for.
    about_code: Mutex<Option<(u64, Target, bool)>>,
    /// Incremented when a thread waits until the workers have seen a change of the mapping.
    epoch: AtomicU64,
    /// The threads that run kernels.
    workers: workers::Workers,
}

/// The record of mapped memory. `pages` and `far` are changed only while its lock is held.
struct Book {
    /// Pages of the linear part that are not mapped: ranges by first page, with their lengths.
    gaps: BTreeMap<u64, u64>,
    /// Pages of the pool that were mapped before and are free now.
    pool_free: Vec<u64>,
    /// The first page of the pool that was never mapped.
    pool_next: u64,
    /// Regions by the guest address at which they begin: first guest page and number of pages.
    regions: BTreeMap<u64, (u64, u64)>,
    /// The bytes that were asked for, by address.
    sizes: BTreeMap<u64, u64>,
    /// The addresses of regions in small pages of the host.
    in_small_pages: BTreeSet<u64>,
    /// The number of pages that may still be mapped.
    budget: u64,
    /// One entry for each loan of pages: the first guest page, the page after the last, and the permissions.
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
    /// Creates memory of which up to `limit_bytes` (rounded up to whole pages) may be mapped at a time. Until pages are
    /// touched it uses only address space of the host.
    ///
    /// # Errors
    /// [`MemError::Host`] if the host cannot provide the range.
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

    /// Creates memory whose guest addresses are host addresses. Allocations, of up to `limit_bytes` at a time, come from a
    /// range that begins at `wanted` if those addresses are free, or anywhere otherwise. All other memory that kernels access
    /// must be lent to them.
    ///
    /// The page map covers all of the host's addresses and their aliases. It takes 64 GiB of address space, and memory only
    /// for the parts that describe mapped pages. If the host refuses that (`ulimit -v`), the map covers the terabyte around
    /// the allocations, and accesses to pages elsewhere are slower.
    ///
    /// # Errors
    /// [`MemError::Host`] if the host cannot provide the ranges, or does not run 64-bit Linux.
    pub fn of_host(limit_bytes: u64, wanted: Option<u64>) -> Result<Memory, MemError> {
        let (linear, all) = sizes(limit_bytes)?;
        let bytes = usize::try_from(all * PAGE_SIZE).map_err(|e| MemError::Host(e.to_string()))?;
        let wanted = wanted.and_then(|at| usize::try_from(at).ok());
        let range = Reserved::new(bytes, wanted, Before::Nothing)?;
        let first = range.address() as u64 / PAGE_SIZE;
        let (pages, start, end) = match PageMap::reserved((ADDRESS_END / PAGE_SIZE) as usize) {
            Ok(pages) => (pages, 0, ADDRESS_END),
            Err(_) => {
                // A program and its libraries are close together, near the end of the address space.
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
                sizes: BTreeMap::new(),
                in_small_pages: BTreeSet::new(),
                budget: limit,
                lent: Vec::new(),
            }),
            own,
            changed: AtomicBool::new(false),
            recording: AtomicU8::new(0),
            journal: Mutex::default(),
            transaction: RwLock::default(),
            exclusion: Exclusion::default(),
            in_transaction: AtomicBool::new(false),
            suspected: AtomicBool::new(false),
            mapping: AtomicU64::new(0),
            code_changes: AtomicU64::new(0),
            about_code: Mutex::new(None),
            epoch: AtomicU64::new(0),
            workers: workers::Workers::default(),
        }
    }

    /// Returns true if guest addresses are host addresses.
    pub fn is_of_host(&self) -> bool {
        matches!(self.arena.owner, Owner::Reserved(_))
    }

    /// Returns the guest addresses that allocations come from.
    pub fn own(&self) -> Range<u64> {
        let at = |page: u64| self.linear_base + page * PAGE_SIZE;
        at(self.own.start)..at(self.own.end)
    }

    /// Locks the book, even if the lock is poisoned: the panic of the other thread matters more than an incomplete change.
    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state of a page of the arena, or 0 beyond its end.
    #[inline]
    fn state(&self, page: u64) -> u8 {
        self.pages.get(page)
    }

    fn set_state(&self, page: u64, state: u8) -> Result<(), MemError> {
        self.set_states(page, 1, state)
    }

    /// Sets the state of consecutive pages.
    fn set_states(&self, first: u64, count: u64, state: u8) -> Result<(), MemError> {
        let before = (first..first + count).fold(0, |all, page| all | self.state(page));
        self.note_code(Perm(before | state));
        self.pages.fill(first, count, state)?;
        self.mapping.store(0, SeqCst);
        Ok(())
    }

    /// Returns an identifier of the current mapping and permissions. Every change gives a new one, unique among all memories
    /// of the process.
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

    /// Returns a number that changes whenever executable pages are mapped or unmapped or their permissions change.
    pub fn code_version(&self) -> u64 {
        self.code_changes.load(SeqCst)
    }

    /// Counts a change of a page as a change of code if `perm`, which the page has before or after the change, contains
    /// [`Perm::EXEC`].
    fn note_code(&self, perm: Perm) {
        if perm.contains(Perm::EXEC) {
            self.code_changes.fetch_add(1, SeqCst);
        }
    }

    /// Returns true if `ask` returns true for the bytes of some page of the code. The answer is cached until a page of code
    /// changes; the cache has one entry, for a target, so all callers must ask the same question. If code is writable, `ask` is
    /// called each time.
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

    /// Returns true if an atomic has changed a value since [`Memory::discard_changes`].
    pub(crate) fn atomics_changed(&self) -> bool {
        self.changed.load(SeqCst)
    }

    pub(crate) fn discard_changes(&self) {
        self.changed.store(false, SeqCst);
    }

    pub(crate) fn set_atomics_changed(&self, changed: bool) {
        self.changed.store(changed, SeqCst);
    }

    /// Returns the location of the linear part in the host, for compiled code that performs the checks of [`Memory::load_u32`].
    pub fn linear(&self) -> Linear {
        Linear {
            start: self.linear_base,
            base: std::ptr::with_exposed_provenance_mut(self.arena.base + self.origin as usize),
            pages: self.pages.as_ptr(),
            bytes: self.linear_bytes,
            aliased: self.is_of_host(),
        }
    }
}

/// The location of the linear part, and the pages of it that allocations come from.
struct Parts {
    linear_base: u64,
    linear_bytes: u64,
    origin: u64,
    own: Range<u64>,
}

/// The bytes of address space that the page map covers if the host refuses a map of all addresses.
const WINDOW: u64 = 1 << 40;

/// Returns two numbers of pages for memory with a limit: those that allocations come from, and those plus the pool.
fn sizes(limit_bytes: u64) -> Result<(u64, u64), MemError> {
    let limit = limit_bytes.div_ceil(PAGE_SIZE).max(1);
    if limit > (ADDRESS_END - LINEAR_BASE) / PAGE_SIZE / 4 {
        return Err(MemError::Host(format!(
            "{limit_bytes} bytes exceed the guest's addresses"
        )));
    }
    // This leaves room for the unmapped page between any two allocations, even the smallest ones, and for alignment.
    let linear = 2 * limit + LEAST_PAGES;
    Ok((linear, linear + limit))
}

/// Returns true if `GCN_MEMORY=host` asks for host addresses everywhere, so that tests can run in both configurations.
fn of_host_everywhere() -> bool {
    static ASKED: OnceLock<bool> = OnceLock::new();
    *ASKED.get_or_init(|| std::env::var_os("GCN_MEMORY").is_some_and(|v| v == "host"))
}

/// Returns the first page of a region and the page after its last one.
fn page_range(addr: u64, size: u64) -> Result<(u64, u64), MemError> {
    match addr.checked_add(size) {
        Some(end) if size != 0 && end <= ADDRESS_END => {
            Ok((addr / PAGE_SIZE, end.div_ceil(PAGE_SIZE)))
        }
        _ => Err(MemError::BadRegion { addr, size }),
    }
}

#[cfg(test)]
mod tests;
