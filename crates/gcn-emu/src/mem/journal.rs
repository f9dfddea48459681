//! The journal: the contents of pages before stores changed them, for a debugger that goes backwards.
//!
//! Stores through [`Memory`]'s functions save their pages themselves. Compiled code checks only the page map. Therefore the map
//! write-protects each writable page until the first store since the journal was taken. At this store the runtime of compiled code calls
//! [`Memory::transaction_range`], which saves the page and permits stores to it.

use super::transaction::UNSAVED;
use super::*;
use std::cell::Cell;
use std::sync::atomic::fence;

/// The state bits of a page that is mapped and may be written.
const WRITABLE: u8 = MAPPED | Perm::WRITE.0;
/// The state bits of a page that is mapped and may be read.
const READABLE: u8 = MAPPED | Perm::READ.0;

thread_local! {
    static MARKED: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread as one whose stores [`Memory::keep_journal_of_threads`] records, or removes the mark.
pub fn note_stores(on: bool) {
    MARKED.set(on);
}

/// The bytes of a page.
pub type PageBytes = Box<[u8; PAGE_SIZE as usize]>;

/// The pages that were written since the journal was taken, with their contents before that.
#[derive(Default)]
pub(super) struct Journal {
    /// The page that was written last. It is cached because neighbouring lanes mostly write the same page.
    last: Option<u64>,
    pages: HashMap<u64, PageBytes>,
}

impl Memory {
    /// Turns the journal on or off. While it is on, the first store to a page saves the page's contents for
    /// [`Memory::take_journal`]. Stores of compiled code are recorded only after [`Memory::keep_journal_of_compiled`].
    pub fn keep_journal(&self, on: bool) {
        if on {
            return self.record(NOTE_PAGES, true);
        }
        self.record(NOTE_PAGES | NOTE_MARKED | NOTE_COMPILED, false);
        self.write_protect_all(false);
        *self.journal() = Journal::default();
    }

    /// Turns the journal on as [`Memory::keep_journal`] does, but for stores of threads that have called [`note_stores`] only. The program
    /// that shares the memory continues meanwhile, and its stores are not recorded.
    pub fn keep_journal_of_threads(&self) {
        self.record(NOTE_PAGES | NOTE_MARKED, true);
    }

    /// Extends the journal to stores of compiled code, until it is turned off.
    pub fn keep_journal_of_compiled(&self) {
        if !self.records_compiled() {
            self.record(NOTE_COMPILED, true);
            self.write_protect_all(true);
        }
    }

    /// Returns true if the journal records stores of compiled code.
    pub(super) fn records_compiled(&self) -> bool {
        self.recording.load(Relaxed) & NOTE_COMPILED != 0
    }

    /// Returns the state that the page map gets for a page with this state: if the journal records stores of compiled code, writable pages
    /// are write-protected.
    pub(super) fn write_protected(&self, state: u8) -> u8 {
        match self.records_compiled() && state & WRITABLE == WRITABLE {
            true => state & !Perm::WRITE.0 | UNSAVED,
            false => state,
        }
    }

    /// Write-protects all writable pages, or permits stores to all of them again.
    fn write_protect_all(&self, on: bool) {
        let book = self.book();
        let own = book.regions.values().map(|r| r.0..r.0 + r.1);
        let lent = book.lent.iter().map(|l| l.0..l.1);
        for page in own.chain(lent).flatten() {
            match on {
                true => self.write_protect(page),
                false => self.permit_stores(page),
            }
        }
        self.mapping.store(0, SeqCst);
        self.journal().last = None;
    }

    fn write_protect(&self, page: u64) {
        if let Some(linear) = self.linear_page(page) {
            self.pages
                .change(linear, |state| self.write_protected(state));
        }
    }

    /// Permits stores of compiled code to a page that was write-protected.
    fn permit_stores(&self, page: u64) {
        if let Some(linear) = self.linear_page(page) {
            self.pages.change(linear, |state| match state & UNSAVED {
                0 => state,
                _ => state & !UNSAVED | Perm::WRITE.0,
            });
        }
    }

    /// Returns the pages that were written since the last call, by page number, with their contents at that call.
    pub fn take_journal(&self) -> HashMap<u64, PageBytes> {
        let pages = std::mem::take(&mut *self.journal()).pages;
        if self.records_compiled() && !pages.is_empty() {
            pages.keys().for_each(|&page| self.write_protect(page));
            self.mapping.store(0, SeqCst);
        }
        pages
    }

    /// Saves the pages of a store of compiled code if the journal records it. Returns the range of bytes around the store, at most `far`
    /// pages on each side, to which stores are permitted from now on. The inner value is `None` if the pages may not be written. The outer
    /// one is `None` if the access is not a store or the journal does not record stores of compiled code.
    pub(super) fn journal_range(
        &self,
        first: u64,
        last: u64,
        need: Perm,
        far: u64,
    ) -> Option<Option<Range<u64>>> {
        if !self.records_compiled() || !need.contains(Perm::WRITE) {
            return None;
        }
        let (low, high) = (first / PAGE_SIZE, last / PAGE_SIZE);
        let permits = |page: u64, bits: u8| {
            let state = self.linear_page(page).map_or(0, |page| self.state(page));
            state & READABLE == READABLE && state & bits != 0
        };
        if !(low..=high).all(|page| permits(page, UNSAVED | Perm::WRITE.0)) {
            return Some(None);
        }
        let recorded = self.recording.load(Relaxed) & NOTE_MARKED == 0 || MARKED.get();
        let bits = match recorded {
            true => Perm::WRITE.0,
            false => UNSAVED | Perm::WRITE.0,
        };
        if recorded {
            let mut journal = self.journal();
            for page in low..=high {
                self.save_page(&mut journal, page);
            }
        }
        let writable = |page: &u64| permits(*page, bits);
        let below = (low.saturating_sub(far)..low).rev().take_while(writable);
        let above = (high + 1..high.saturating_add(far)).take_while(writable);
        let from = below.last().unwrap_or(low);
        let to = above.last().unwrap_or(high);
        Some(Some(from * PAGE_SIZE..(to + 1) * PAGE_SIZE))
    }

    /// Saves a page before a store, unless it is saved already.
    fn save_page(&self, journal: &mut Journal, page: u64) {
        if !journal.pages.contains_key(&page)
            && let Some(bytes) = self.page(page)
        {
            journal.pages.insert(page, bytes);
        }
        // Other threads store to the page only after they have seen its new state.
        fence(SeqCst);
        self.permit_stores(page);
    }

    /// Returns the numbers of the pages in the journal.
    pub fn journal_pages(&self) -> Vec<u64> {
        self.journal().pages.keys().copied().collect()
    }

    /// Returns the bytes of a page, whatever its permissions, or `None` if it is not mapped.
    pub fn page(&self, page: u64) -> Option<PageBytes> {
        let (at, _) = self.guest_page(page)?;
        let mut bytes: PageBytes = Box::new([0; PAGE_SIZE as usize]);
        self.arena.read((at * PAGE_SIZE) as usize, &mut bytes[..]);
        Some(bytes)
    }

    /// Replaces the bytes of a page, whatever its permissions. The journal does not record that. Returns false if the page is
    /// not mapped.
    pub fn put_page(&self, page: u64, bytes: &[u8; PAGE_SIZE as usize]) -> bool {
        let Some((at, _)) = self.guest_page(page) else {
            return false;
        };
        self.arena.write((at * PAGE_SIZE) as usize, bytes);
        true
    }

    /// Saves the pages of a store before it is made.
    pub(super) fn note_pages(&self, addr: u64, size: u64) {
        if self.recording.load(Relaxed) & NOTE_MARKED != 0 && !MARKED.get() {
            return;
        }
        let last = addr.saturating_add(size.max(1) - 1) / PAGE_SIZE;
        let mut journal = self.journal();
        for page in addr / PAGE_SIZE..=last {
            if journal.last == Some(page) {
                continue;
            }
            journal.last = Some(page);
            self.save_page(&mut journal, page);
        }
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
