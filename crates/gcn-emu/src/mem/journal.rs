//! The journal: what pages held before they were written, for a debugger that goes back in time.

use super::*;
use std::cell::Cell;

thread_local! {
    static NOTED: Cell<bool> = const { Cell::new(false) };
}

/// The stores of this thread are those of a debugger's session ([`Memory::keep_journal_of_threads`]).
pub fn note_stores() {
    NOTED.set(true);
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

/// A copy of all writable memory, to find what code has changed whose stores nobody sees.
pub struct Shadow {
    /// Ranges of pages: the first page, their number, and where their bytes begin.
    ranges: Vec<(u64, u64, usize)>,
    bytes: Vec<u8>,
}

impl Shadow {
    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    fn place(&self, page: u64) -> Option<usize> {
        let after = self.ranges.partition_point(|range| range.0 <= page);
        let (first, count, at) = *self.ranges.get(after.checked_sub(1)?)?;
        let within = page - first < count;
        within.then(|| at + ((page - first) * PAGE_SIZE) as usize)
    }

    /// Takes over what a page holds now.
    pub fn refresh(&mut self, memory: &Memory, page: u64) {
        if let (Some(at), Some(now)) = (self.place(page), memory.page(page)) {
            self.bytes[at..at + PAGE_SIZE as usize].copy_from_slice(&now[..]);
        }
    }
}

impl Memory {
    /// A copy of all pages that may be written.
    pub fn shadow(&self) -> Shadow {
        let regions: Vec<(u64, u64)> = self.book().regions.values().copied().collect();
        let mut ranges: Vec<(u64, u64, usize)> = Vec::new();
        let mut bytes = Vec::new();
        for page in regions
            .iter()
            .flat_map(|&(first, count)| first..first + count)
        {
            let writable = |(_, perm): &(u64, Perm)| perm.contains(Perm::WRITE);
            let Some((at, _)) = self.guest_page(page).filter(writable) else {
                continue;
            };
            match ranges.last_mut() {
                Some((first, count, _)) if *first + *count == page => *count += 1,
                _ => ranges.push((page, 1, bytes.len())),
            }
            let from = bytes.len();
            bytes.resize(from + PAGE_SIZE as usize, 0);
            self.arena
                .read((at * PAGE_SIZE) as usize, &mut bytes[from..]);
        }
        ranges.sort_unstable();
        Shadow { ranges, bytes }
    }

    /// The pages that differ from a copy, by page number, with the bytes of the copy.
    pub fn differs(&self, shadow: &Shadow) -> HashMap<u64, PageBytes> {
        let mut out = HashMap::new();
        let mut now = [0; PAGE_SIZE as usize];
        for &(first, count, from) in &shadow.ranges {
            for n in 0..count {
                let Some((at, _)) = self.guest_page(first + n) else {
                    continue;
                };
                self.arena.read((at * PAGE_SIZE) as usize, &mut now);
                let start = from + (n * PAGE_SIZE) as usize;
                let then = &shadow.bytes[start..start + PAGE_SIZE as usize];
                if then != now {
                    let mut bytes: PageBytes = Box::new([0; PAGE_SIZE as usize]);
                    bytes.copy_from_slice(then);
                    out.insert(first + n, bytes);
                }
            }
        }
        out
    }

    /// Turns the journal on or off. While it is on, the contents of each page before its first store are kept for
    /// [`Memory::take_journal`]. Stores of compiled code are not seen.
    pub fn keep_journal(&self, on: bool) {
        self.record(NOTE_PAGES, on);
        if !on {
            *self.journal() = Journal::default();
        }
    }

    /// As [`Memory::keep_journal`], but only stores of threads that have called [`note_stores`] are seen: the program that shares the
    /// memory goes on meanwhile, and what it writes is its own.
    pub fn keep_journal_of_threads(&self) {
        self.record(NOTE_PAGES | NOTE_MARKED, true);
    }

    /// Returns the pages that were written since the last call, by page number, with the bytes that they held then.
    pub fn take_journal(&self) -> HashMap<u64, PageBytes> {
        std::mem::take(&mut *self.journal()).pages
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
            if !journal.pages.contains_key(&page)
                && let Some(bytes) = self.page(page)
            {
                journal.pages.insert(page, bytes);
            }
        }
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
