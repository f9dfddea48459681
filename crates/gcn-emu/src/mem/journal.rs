//! The journal: what pages held before they were written, for a debugger that goes back in time.
//!
//! Stores through [`Memory`]'s functions note their pages. Compiled code looks at the page map alone, so for it a page that may be written
//! is read-only in the map until its first store since the journal was taken: the runtime of compiled code then asks
//! [`Memory::transaction_range`], which keeps the page and permits stores to it.

use super::transaction::UNKEPT;
use super::*;
use std::cell::Cell;
use std::sync::atomic::fence;

/// A page that is mapped and may be written.
const ARMS: u8 = MAPPED | Perm::WRITE.0;
/// A page that is mapped and may be read.
const READS: u8 = MAPPED | Perm::READ.0;

thread_local! {
    static NOTED: Cell<bool> = const { Cell::new(false) };
}

/// The stores of this thread are those of a debugger's session ([`Memory::keep_journal_of_threads`]), or from now on they are not.
pub fn note_stores(on: bool) {
    NOTED.set(on);
}

/// The bytes of a page.
pub type PageBytes = Box<[u8; PAGE_SIZE as usize]>;

/// The pages that were written since the journal was taken, as they were before.
#[derive(Default)]
pub(super) struct Journal {
    /// The page that was written last. Neighbouring lanes mostly write the same page.
    last: Option<u64>,
    pages: HashMap<u64, PageBytes>,
}

impl Memory {
    /// Turns the journal on or off. While it is on, the contents of each page before its first store are kept for
    /// [`Memory::take_journal`]. Stores of compiled code are seen after [`Memory::keep_journal_of_compiled`].
    pub fn keep_journal(&self, on: bool) {
        if on {
            return self.record(NOTE_PAGES, true);
        }
        self.record(NOTE_PAGES | NOTE_MARKED | NOTE_COMPILED, false);
        self.arm_all(false);
        *self.journal() = Journal::default();
    }

    /// As [`Memory::keep_journal`], but only stores of threads that have called [`note_stores`] are seen: the program that shares the
    /// memory goes on meanwhile, and what it writes is its own.
    pub fn keep_journal_of_threads(&self) {
        self.record(NOTE_PAGES | NOTE_MARKED, true);
    }

    /// From now on, until it is turned off, the journal sees the stores of compiled code, too.
    pub fn keep_journal_of_compiled(&self) {
        if !self.sees_compiled() {
            self.record(NOTE_COMPILED, true);
            self.arm_all(true);
        }
    }

    /// Returns true if the journal sees the stores of compiled code.
    pub(super) fn sees_compiled(&self) -> bool {
        self.recording.load(Relaxed) & NOTE_COMPILED != 0
    }

    /// The state of a page that is mapped now: stores of compiled code are to be seen.
    pub(super) fn armed(&self, state: u8) -> u8 {
        match self.sees_compiled() && state & ARMS == ARMS {
            true => state & !Perm::WRITE.0 | UNKEPT,
            false => state,
        }
    }

    /// Makes pages that may be written read-only for compiled code, or permits stores to all of them again.
    fn arm_all(&self, on: bool) {
        let book = self.book();
        let own = book.regions.values().map(|r| r.0..r.0 + r.1);
        let lent = book.lent.iter().map(|l| l.0..l.1);
        for page in own.chain(lent).flatten() {
            match on {
                true => self.arm(page),
                false => self.permit(page),
            }
        }
        self.mapping.store(0, SeqCst);
        self.journal().last = None;
    }

    fn arm(&self, page: u64) {
        if let Some(linear) = self.linear_page(page) {
            self.pages.change(linear, |state| self.armed(state));
        }
    }

    /// Permits stores of compiled code to a page that is kept.
    fn permit(&self, page: u64) {
        if let Some(linear) = self.linear_page(page) {
            self.pages.change(linear, |state| match state & UNKEPT {
                0 => state,
                _ => state & !UNKEPT | Perm::WRITE.0,
            });
        }
    }

    /// Returns the pages that were written since the last call, by page number, with the bytes that they held then.
    pub fn take_journal(&self) -> HashMap<u64, PageBytes> {
        let pages = std::mem::take(&mut *self.journal()).pages;
        if self.sees_compiled() && !pages.is_empty() {
            pages.keys().for_each(|&page| self.arm(page));
            self.mapping.store(0, SeqCst);
        }
        pages
    }

    /// Keeps the pages of a store of compiled code, if it is to be seen. Returns the bytes around it, at most `far` pages on each side,
    /// to which stores are permitted from now on. The inner value is `None` if the pages may not be written, the outer one if nothing is to be seen.
    pub(super) fn kept_range(
        &self,
        first: u64,
        last: u64,
        need: Perm,
        far: u64,
    ) -> Option<Option<Range<u64>>> {
        if !self.sees_compiled() || !need.contains(Perm::WRITE) {
            return None;
        }
        let (low, high) = (first / PAGE_SIZE, last / PAGE_SIZE);
        let permits = |page: u64, bits: u8| {
            let state = self.linear_page(page).map_or(0, |page| self.state(page));
            state & READS == READS && state & bits != 0
        };
        if !(low..=high).all(|page| permits(page, UNKEPT | Perm::WRITE.0)) {
            return Some(None);
        }
        let seen = self.recording.load(Relaxed) & NOTE_MARKED == 0 || NOTED.get();
        let bits = match seen {
            true => Perm::WRITE.0,
            false => UNKEPT | Perm::WRITE.0,
        };
        if seen {
            let mut journal = self.journal();
            for page in low..=high {
                self.keep_page(&mut journal, page);
            }
        }
        let writable = |page: &u64| permits(*page, bits);
        let below = (low.saturating_sub(far)..low).rev().take_while(writable);
        let above = (high + 1..high.saturating_add(far)).take_while(writable);
        let from = below.last().unwrap_or(low);
        let to = above.last().unwrap_or(high);
        Some(Some(from * PAGE_SIZE..(to + 1) * PAGE_SIZE))
    }

    /// Keeps a page before a store, unless it is kept.
    fn keep_page(&self, journal: &mut Journal, page: u64) {
        if !journal.pages.contains_key(&page)
            && let Some(bytes) = self.page(page)
        {
            journal.pages.insert(page, bytes);
        }
        // Other threads store to the page only after they have seen its new state.
        fence(SeqCst);
        self.permit(page);
    }

    /// The numbers of the pages that are in the journal.
    pub fn journal_pages(&self) -> Vec<u64> {
        self.journal().pages.keys().copied().collect()
    }

    /// The bytes of a page, whatever its permissions. Returns `None` if it is not mapped.
    pub fn page(&self, page: u64) -> Option<PageBytes> {
        let (at, _) = self.guest_page(page)?;
        let mut bytes: PageBytes = Box::new([0; PAGE_SIZE as usize]);
        self.arena.read((at * PAGE_SIZE) as usize, &mut bytes[..]);
        Some(bytes)
    }

    /// Replaces the bytes of a page, whatever its permissions; the journal does not see it. Returns false if the page is not
    /// mapped.
    pub fn put_page(&self, page: u64, bytes: &[u8; PAGE_SIZE as usize]) -> bool {
        let Some((at, _)) = self.guest_page(page) else {
            return false;
        };
        self.arena.write((at * PAGE_SIZE) as usize, bytes);
        true
    }

    /// Keeps the pages of a store that is about to be made.
    pub(super) fn note_pages(&self, addr: u64, size: u64) {
        if self.recording.load(Relaxed) & NOTE_MARKED != 0 && !NOTED.get() {
            return;
        }
        let last = addr.saturating_add(size.max(1) - 1) / PAGE_SIZE;
        let mut journal = self.journal();
        for page in addr / PAGE_SIZE..=last {
            if journal.last == Some(page) {
                continue;
            }
            journal.last = Some(page);
            self.keep_page(&mut journal, page);
        }
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
