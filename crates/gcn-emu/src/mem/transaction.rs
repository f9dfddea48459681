//! Transactions: runs within exact bounds whose stores can be rolled back, for checkers.
//!
//! During a transaction the page map permits less than memory does, and each access that it refuses is checked separately. The map marks a
//! page that is not wholly within bounds as unmapped, so each access to it is compared with the bounds to the byte. The map marks a
//! writable page as read-only until its first store, before which its contents are saved. Compiled code checks the map before it accesses a
//! page, so it runs in a transaction without changes.

use super::*;
use std::sync::RwLockReadGuard;
use std::sync::atomic::fence;

/// Bytes that kernels may access in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The address of the first byte.
    pub start: u64,
    /// The address after the last one.
    pub end: u64,
    /// True if stores are permitted.
    pub writable: bool,
}

/// The state bit of a page that has bytes out of bounds. Accesses to it are compared with the extents.
pub(super) const PARTLY: u8 = 32;
/// The state bit of a page that may be written after its contents have been saved, by a transaction or by the journal.
pub(super) const UNSAVED: u8 = 64;

/// The number of pages after a store that are saved with its own, because stores mostly proceed to higher addresses.
const AHEAD: u64 = 16;

/// The state of a transaction.
#[derive(Default)]
pub(super) struct Transaction {
    /// The accessible bytes, in ascending order and without overlaps.
    extents: Vec<Extent>,
    /// The earlier states of the pages whose states the transaction has changed: the first page in the linear part, the number of
    /// consecutive pages that had the same state, and this state.
    pub(super) before: Vec<(u64, u64, u8)>,
    /// True if only threads that run waves are confined, because a program shares the memory.
    shared: bool,
    /// The contents of pages before their first store, by page of the linear part.
    saved: Mutex<HashMap<u64, PageBytes>>,
}

impl Transaction {
    /// Returns the extent that contains all bytes from `first` to `last`.
    fn extent(&self, first: u64, last: u64) -> Option<&Extent> {
        let after = self.extents.partition_point(|e| e.start <= first);
        let extent = self.extents.get(after.checked_sub(1)?)?;
        (last < extent.end && first <= last).then_some(extent)
    }

    /// Returns the extent that contains a whole page, if there is one, and the end of the range of pages for which the answer is the same.
    /// This end is at most `end`.
    fn extent_of_pages(&self, page: u64, end: u64) -> (Option<Extent>, u64) {
        let (first, last) = (page * PAGE_SIZE, (page + 1) * PAGE_SIZE - 1);
        if let Some(&extent) = self.extent(first, last) {
            return (Some(extent), end.min(extent.end / PAGE_SIZE));
        }
        let after = self.extents.partition_point(|e| e.start <= last);
        let reaches = |n: usize| self.extents[n].end > last + 1;
        let next = match self.extents.get(after) {
            _ if after.checked_sub(1).is_some_and(reaches) => page + 1,
            Some(next) => next.start / PAGE_SIZE,
            None => end,
        };
        (None, end.min(next))
    }
}

impl Memory {
    /// Begins a transaction. Until its end kernels may access only these bytes, and their stores can be rolled back. Code is fetched as
    /// before. Nothing may be mapped or unmapped until the end. Returns false without beginning a transaction if there is one already, if
    /// extents overlap, if pages outside of the linear part are mapped, or if the journal records stores of compiled code.
    ///
    /// With `shared`, a program shares the memory and continues to access it: only threads that run waves are confined. The caller must
    /// hold [`Memory::alone`], and no extent may be writable that contains bytes to which the program may store meanwhile. Without
    /// `shared`, lent pages are also a reason to return false.
    pub fn begin_transaction(&self, mut extents: Vec<Extent>, shared: bool) -> bool {
        let book = self.book();
        let mut now = self
            .transaction
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let linear = |first: u64, count: u64| {
            self.own_page(first).is_some() && self.own_page(first + count - 1).is_some()
        };
        let lent = |&(first, end, _): &(u64, u64, Perm)| {
            shared && self.linear_page(first).is_some() && self.linear_page(end - 1).is_some()
        };
        let confined =
            book.lent.iter().all(lent) && book.regions.values().all(|r| linear(r.0, r.1));
        if now.is_some() || !confined || self.records_compiled() {
            return false;
        }
        extents.retain(|e| e.start < e.end);
        extents.sort_by_key(|e| (e.start, e.end));
        if extents.windows(2).any(|w| w[0].end > w[1].start) {
            return false;
        }
        let mut transaction = Transaction {
            extents,
            shared,
            ..Transaction::default()
        };
        let regions = book.regions.values().map(|r| r.0..r.0 + r.1);
        let lent = book.lent.iter().map(|l| l.0..l.1);
        // Mostly many consecutive pages have the same state and lie in the same extent.
        for pages in regions.chain(lent) {
            let mut page = pages.start;
            while page < pages.end {
                let (whole, end) = transaction.extent_of_pages(page, pages.end);
                if let Some(own) = self.linear_page(page) {
                    self.confine((own, own + end - page), whole, &mut transaction);
                }
                page = end;
            }
        }
        *now = Some(transaction);
        self.in_transaction.store(true, SeqCst);
        self.suspected.store(false, SeqCst);
        self.mapping.store(0, SeqCst);
        true
    }

    /// Gives pages of the linear part the states that they have in a transaction. `whole` is the extent that contains all of them.
    fn confine(&self, (mut page, end): (u64, u64), whole: Option<Extent>, now: &mut Transaction) {
        while page < end {
            let (state, count) = (self.state(page), self.pages.alike(page, end));
            let mut new = state & !Perm::WRITE.0;
            if whole.is_none() {
                new = new & !MAPPED | PARTLY;
            }
            // The program may store where kernels may not.
            if state & Perm::WRITE.0 != 0 && whole.is_none_or(|e| e.writable || now.shared) {
                new |= UNSAVED;
            }
            if new != state {
                // The cells of mapped pages are writable, so this cannot fail.
                let _ = self.pages.fill(page, count, new);
                now.before.push((page, count, state));
            }
            page += count;
        }
    }

    /// Ends the transaction. With `roll_back`, memory gets back the contents that it had at the beginning. Returns true if the transaction
    /// refused an access or [`Memory::suspect`] was called.
    pub fn end_transaction(&self, roll_back: bool) -> bool {
        let mut now = self
            .transaction
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(transaction) = now.take() else {
            return false;
        };
        self.in_transaction.store(false, SeqCst);
        let saved = transaction.saved.into_inner();
        for (page, bytes) in saved.unwrap_or_else(PoisonError::into_inner) {
            if roll_back {
                let at = page * PAGE_SIZE + self.origin;
                self.arena.write(at as usize, &bytes[..]);
            }
        }
        // A page that was lent twice has two entries, of which the first has its state before the transaction.
        for (page, count, state) in transaction.before.into_iter().rev() {
            let _ = self.pages.fill(page, count, state);
        }
        self.mapping.store(0, SeqCst);
        self.suspected.swap(false, SeqCst)
    }

    /// Returns true if there is a transaction.
    pub fn tries(&self) -> bool {
        self.in_transaction.load(Relaxed)
    }

    /// Records that the current transaction, if there is one, did something that a checker must examine.
    pub fn suspect(&self) {
        if self.in_transaction.load(Relaxed) {
            self.suspected.store(true, Relaxed);
        }
    }

    /// Returns true if the transaction refused an access or [`Memory::suspect`] was called.
    pub fn suspected(&self) -> bool {
        self.suspected.load(Relaxed)
    }

    fn transaction(&self) -> RwLockReadGuard<'_, Option<Transaction>> {
        self.transaction
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if no transaction refuses an access of `size` bytes. Saves the pages of a store.
    #[inline]
    pub(super) fn try_access(&self, addr: u64, size: u64, need: Perm) -> bool {
        !self.in_transaction.load(Relaxed) || self.try_slowly(addr, size, need)
    }

    #[cold]
    fn try_slowly(&self, addr: u64, size: u64, need: Perm) -> bool {
        if need.contains(Perm::EXEC) {
            return true;
        }
        match &*self.transaction() {
            None => true,
            Some(transaction) if transaction.shared && !exclusion::runs_waves() => true,
            Some(transaction) => {
                let last = addr.saturating_add(size.max(1) - 1);
                let may = self.tried(transaction, addr, last, need);
                if !may {
                    self.suspect();
                }
                may
            }
        }
    }

    /// Returns true if a transaction permits an access to the bytes from `first` to `last`. Saves the pages of a store.
    fn tried(&self, transaction: &Transaction, first: u64, last: u64, need: Perm) -> bool {
        let Some(extent) = transaction.extent(first, last) else {
            return false;
        };
        if !need.contains(Perm::WRITE) {
            return true;
        }
        if !extent.writable {
            return false;
        }
        for page in first / PAGE_SIZE..=last / PAGE_SIZE {
            self.save(transaction, page);
        }
        true
    }

    /// Saves the contents of a guest page, unless they are saved already, and permits stores to it.
    fn save(&self, transaction: &Transaction, page: u64) {
        let Some(own) = self.own_page(page) else {
            return;
        };
        if self.state(own) & UNSAVED == 0 {
            return;
        }
        let mut saved = transaction
            .saved
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let state = self.state(own);
        if state & UNSAVED == 0 {
            return;
        }
        let mut bytes: PageBytes = Box::new([0; PAGE_SIZE as usize]);
        let at = own * PAGE_SIZE + self.origin;
        self.arena.read(at as usize, &mut bytes[..]);
        saved.insert(own, bytes);
        // Other threads store to the page only after they have seen its new state.
        fence(SeqCst);
        let _ = self.pages.fill(own, 1, state & !UNSAVED | Perm::WRITE.0);
    }

    /// Checks an access to the bytes from `first` to `last` for compiled code, which caches ranges. Returns the range of bytes around the
    /// access, at most `far` pages on each side, that a transaction permits to access with `need`. The inner value is `None` if the access
    /// itself is refused, the outer one if there is no transaction. Saves the pages of a store, also for the journal if it records stores
    /// of compiled code.
    pub fn transaction_range(
        &self,
        first: u64,
        last: u64,
        need: Perm,
        far: u64,
    ) -> Option<Option<Range<u64>>> {
        if !self.in_transaction.load(Relaxed) {
            return self.journal_range(first, last, need, far);
        }
        let transaction = self.transaction();
        let transaction = transaction.as_ref()?;
        if !self.tried(transaction, first, last, need) {
            return Some(None);
        }
        let extent = *transaction.extent(first, last)?;
        let (low, high) = (first / PAGE_SIZE, last / PAGE_SIZE);
        let end = (extent.end - 1) / PAGE_SIZE;
        let (mut from, mut to) = (
            low.saturating_sub(far).max(extent.start / PAGE_SIZE),
            (high + far).min(end),
        );
        if need.contains(Perm::WRITE) {
            for page in high + 1..=(high + AHEAD).min(to) {
                self.save(transaction, page);
            }
            let writable = |page: u64| {
                let own = self.own_page(page);
                own.is_some_and(|own| self.state(own) & Perm::WRITE.0 != 0)
            };
            let below = (from..low).rev().find(|&page| !writable(page));
            from = below.map_or(from, |page| page + 1);
            let above = (high + 1..=to).find(|&page| !writable(page));
            to = above.map_or(to, |page| page - 1);
        }
        let start = (from * PAGE_SIZE).max(extent.start);
        Some(Some(start..((to + 1) * PAGE_SIZE).min(extent.end)))
    }
}
