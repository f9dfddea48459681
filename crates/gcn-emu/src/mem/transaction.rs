//! Trials: a run within exact bounds that can be taken back, for checkers.
//!
//! During a transaction the page map permits less than memory does, and the accesses that it refuses are looked at one by one. A page that is not
//! wholly within bounds is not mapped for code that asks the map alone, so each access of it is compared with the bounds to the byte. A page
//! that may be written is read-only until its first store, when its contents are kept. So compiled code, which looks at the map
//! before it accesses a page, runs in a transaction as it does otherwise.

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
    /// Stores are permitted.
    pub writable: bool,
}

/// A page of which some bytes are out of bounds: accesses are compared with the extents.
pub(super) const PARTLY: u8 = 32;
/// A page that may be written when its contents have been kept: by a transaction, or by the journal.
pub(super) const UNKEPT: u8 = 64;

/// Pages that are kept together when stores go up through memory.
const AHEAD: u64 = 16;

/// The state of a transaction.
#[derive(Default)]
pub(super) struct Transaction {
    /// In ascending order; they do not overlap.
    extents: Vec<Extent>,
    /// The states before the transaction of pages of the linear part that have another one in it: the first page and the number of those that
    /// had the same state.
    pub(super) before: Vec<(u64, u64, u8)>,
    /// Only threads that run waves are confined.
    shared: bool,
    /// The contents of pages before their first store, by page of the linear part.
    kept: Mutex<HashMap<u64, PageBytes>>,
}

impl Transaction {
    /// The extent that holds all of these bytes.
    fn extent(&self, first: u64, last: u64) -> Option<&Extent> {
        let after = self.extents.partition_point(|e| e.start <= first);
        let extent = self.extents.get(after.checked_sub(1)?)?;
        (last < extent.end && first <= last).then_some(extent)
    }

    /// The extent that holds all bytes of a page, if there is one; and the page, at most `end`, up to which that is so of all pages.
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
    /// Begins a transaction: until its end kernels may access these bytes alone, and their stores can be taken back. Code is fetched as
    /// before. Nothing else may be mapped or unmapped until then. Returns false, and begins none, if there is a transaction already
    /// or memory has pages that a transaction cannot confine: those outside of the linear part; or the journal sees compiled code.
    ///
    /// With `shared`, memory is that of a program, too, which goes on to access it: only threads that run waves are confined. The caller is
    /// [`Memory::alone`], and what the program may store to meanwhile must not be writable here. Without, there must not be lent pages.
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
        if now.is_some() || !confined || self.sees_compiled() {
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
        // Mostly many pages in succession have one state and lie in one extent.
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
        self.trying.store(true, SeqCst);
        self.suspected.store(false, SeqCst);
        self.mapping.store(0, SeqCst);
        true
    }

    /// Gives pages of the linear part the states that they have in a transaction. All bytes of each lie in `whole`, if that is an extent.
    fn confine(&self, (mut page, end): (u64, u64), whole: Option<Extent>, now: &mut Transaction) {
        while page < end {
            let (state, count) = (self.state(page), self.pages.alike(page, end));
            let mut new = state & !Perm::WRITE.0;
            if whole.is_none() {
                new = new & !MAPPED | PARTLY;
            }
            // The program may store to what kernels may not.
            if state & Perm::WRITE.0 != 0 && whole.is_none_or(|e| e.writable || now.shared) {
                new |= UNKEPT;
            }
            if new != state {
                // These pages have a state, so their cells may be written.
                let _ = self.pages.fill(page, count, new);
                now.before.push((page, count, state));
            }
            page += count;
        }
    }

    /// Ends the transaction. With `take_back`, memory has the contents that it had at its beginning. Returns true if an access was refused in
    /// it or [`Memory::suspect`] was called.
    pub fn end_transaction(&self, take_back: bool) -> bool {
        let mut now = self
            .transaction
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(transaction) = now.take() else {
            return false;
        };
        self.trying.store(false, SeqCst);
        let kept = transaction.kept.into_inner();
        for (page, bytes) in kept.unwrap_or_else(PoisonError::into_inner) {
            if take_back {
                let at = page * PAGE_SIZE + self.origin;
                self.arena.write(at as usize, &bytes[..]);
            }
        }
        // A page may have been lent twice; its first state is the one before.
        for (page, count, state) in transaction.before.into_iter().rev() {
            let _ = self.pages.fill(page, count, state);
        }
        self.mapping.store(0, SeqCst);
        self.suspected.swap(false, SeqCst)
    }

    /// Returns true if there is a transaction.
    pub fn tries(&self) -> bool {
        self.trying.load(Relaxed)
    }

    /// Records that the transaction, if there is one, did something that a checker must look at.
    pub fn suspect(&self) {
        if self.trying.load(Relaxed) {
            self.suspected.store(true, Relaxed);
        }
    }

    /// Returns true if the transaction is to be looked at.
    pub fn suspected(&self) -> bool {
        self.suspected.load(Relaxed)
    }

    fn transaction(&self) -> RwLockReadGuard<'_, Option<Transaction>> {
        self.transaction
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if an access of `size` bytes is permitted, as far as a transaction says. Keeps the pages of a store.
    #[inline]
    pub(super) fn try_access(&self, addr: u64, size: u64, need: Perm) -> bool {
        !self.trying.load(Relaxed) || self.try_slowly(addr, size, need)
    }

    #[cold]
    fn try_slowly(&self, addr: u64, size: u64, need: Perm) -> bool {
        if need.contains(Perm::EXEC) {
            return true;
        }
        match &*self.transaction() {
            None => true,
            Some(transaction) if transaction.shared && !turns::runs_waves() => true,
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

    /// Returns true if a transaction permits an access, from its first byte to its last one.
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
            self.keep(transaction, page);
        }
        true
    }

    /// Keeps the contents of a guest page, if they are not kept yet; from then on stores to it are permitted.
    fn keep(&self, transaction: &Transaction, page: u64) {
        let Some(own) = self.own_page(page) else {
            return;
        };
        if self.state(own) & UNKEPT == 0 {
            return;
        }
        let mut kept = transaction
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let state = self.state(own);
        if state & UNKEPT == 0 {
            return;
        }
        let mut bytes: PageBytes = Box::new([0; PAGE_SIZE as usize]);
        let at = own * PAGE_SIZE + self.origin;
        self.arena.read(at as usize, &mut bytes[..]);
        kept.insert(own, bytes);
        // Other threads store to the page only after they have seen its new state.
        fence(SeqCst);
        let _ = self.pages.fill(own, 1, state & !UNKEPT | Perm::WRITE.0);
    }

    /// Checks an access in a transaction, as compiled code does that remembers ranges: returns the bytes around it that may be accessed as
    /// `need` says, at most `far` pages on each side. The inner value is `None` if it itself may not, the outer one without a transaction. Stores
    /// that the journal is to see are kept here, too.
    pub fn transaction_range(
        &self,
        first: u64,
        last: u64,
        need: Perm,
        far: u64,
    ) -> Option<Option<Range<u64>>> {
        if !self.trying.load(Relaxed) {
            return self.kept_range(first, last, need, far);
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
                self.keep(transaction, page);
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
