//! The moments of a launch that the session can return to.
//!
//! A *checkpoint* is a copy of the machine at a tick, except memory. A *segment* lies between two neighbouring checkpoints: it
//! holds the contents of the pages that differ between the two, with the values at the checkpoint that is farther from the
//! present. Moving back or forward over a segment exchanges its pages with memory's, and executes nothing. Memory's journal has
//! the changes between the last checkpoint before the present and the present itself.
//!
//! A segment also records the instructions that ran in it and their workgroups ([`Coverage`]). A search for the last breakpoint,
//! or for the instruction that wrote a value, skips the segments that cannot contain it.
//!
//! A segment in which compiled code ran has only the pages, without that record; checkpoints are farther apart there.
//!
//! Checkpoints are [`SPACING`] instructions apart, more for a large machine. When they take too much memory, checkpoints are
//! dropped whose neighbours are near compared with their own distance from the end: the distances grow with age. Running from an
//! old checkpoint adds new ones.

use std::collections::HashMap;

use gcn_emu::dispatch::step::{Saved, Stepper};
use gcn_emu::mem::{Memory, PAGE_SIZE, PageBytes};

use crate::calls::Calls;

/// Instructions from one checkpoint to the next, at least, if the options of the session do not say otherwise.
pub const SPACING: u64 = 20_000;

/// The factor by which the spacing grows while compiled code runs.
const FAST: u64 = 200;

/// Contents of pages by number.
type Pages = HashMap<u64, PageBytes>;

/// The instructions that may have run in a segment: a superset of those that did.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// A bit for each instruction by its number in [`CodeMap`](crate::code::CodeMap).
    bits: Vec<u64>,
    /// The lowest and the highest number of a workgroup.
    groups: Option<(u64, u64)>,
    /// A bit for each number of a wave modulo 64.
    waves: u64,
    /// An instruction could not be decoded.
    unknown: bool,
}

impl Coverage {
    pub(crate) fn add(&mut self, number: Option<u32>, group: u64, wave: usize) {
        match number {
            Some(number) => {
                let (word, bit) = (number as usize / 64, number % 64);
                if word >= self.bits.len() {
                    self.bits.resize(word + 1, 0);
                }
                self.bits[word] |= 1 << bit;
            }
            None => self.unknown = true,
        }
        self.waves |= 1 << (wave % 64);
        self.groups = match self.groups {
            Some((low, high)) => Some((low.min(group), high.max(group))),
            None => Some((group, group)),
        };
    }

    /// Any instruction may have run.
    fn anything() -> Coverage {
        Coverage {
            groups: Some((0, u64::MAX)),
            waves: u64::MAX,
            unknown: true,
            ..Coverage::default()
        }
    }

    /// Returns true if nothing is known about the segment.
    pub(crate) fn is_anything(&self) -> bool {
        self.unknown && self.groups == Some((0, u64::MAX))
    }

    /// Returns true if an instruction that satisfies a condition may have run.
    pub fn any(&self, mut is_it: impl FnMut(u32) -> bool) -> bool {
        let words = self.bits.iter().enumerate();
        let numbers = words.flat_map(|(n, &word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 != 0)
                .map(move |bit| n as u32 * 64 + bit)
        });
        self.unknown || numbers.into_iter().any(&mut is_it)
    }

    /// Returns true if an instruction of a wave of a workgroup, by its number, may have run.
    pub fn has_wave(&self, group: u64, wave: usize) -> bool {
        let within = |(low, high): (u64, u64)| (low..=high).contains(&group);
        self.groups.is_some_and(within) && self.waves >> (wave % 64) & 1 != 0
    }

    fn union(&mut self, other: &Coverage) {
        if self.bits.len() < other.bits.len() {
            self.bits.resize(other.bits.len(), 0);
        }
        for (mine, other) in self.bits.iter_mut().zip(&other.bits) {
            *mine |= other;
        }
        self.waves |= other.waves;
        self.unknown |= other.unknown;
        self.groups = match (self.groups, other.groups) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, other) => one.or(other),
        };
    }
}

struct Checkpoint {
    saved: Saved,
    calls: Calls,
    /// The user changed the machine here: execution from an earlier moment does not lead to this state.
    changed: bool,
    /// The pages of the segment from here to the next checkpoint.
    pages: Pages,
    coverage: Coverage,
    /// Bytes of `saved`.
    bytes: usize,
}

impl Checkpoint {
    fn total(&self) -> usize {
        self.bytes + self.pages.len() * PAGE_SIZE as usize + self.coverage.bits.len() * 8
    }
}

/// The history of one launch.
pub struct History {
    list: Vec<Checkpoint>,
    /// The last checkpoint before the present, or at it.
    at: usize,
    /// The tick at which a checkpoint is due.
    next: u64,
    /// The maximum bytes of all checkpoints.
    most: usize,
    /// Instructions from one checkpoint to the next, at least.
    spacing: u64,
    /// The contents of pages before the user changed them at the first checkpoint.
    base: Pages,
    /// Compiled code has run since the last checkpoint before the present.
    unseen: bool,
}

/// Keeps the older contents of each page.
fn merge(older: &mut Pages, newer: Pages) {
    for (page, bytes) in newer {
        older.entry(page).or_insert(bytes);
    }
}

fn put(memory: &Memory, pages: &Pages) {
    for (&page, bytes) in pages {
        memory.put_page(page, bytes);
    }
}

/// Exchanges contents with memory's.
fn exchange(memory: &Memory, pages: &mut Pages) {
    for (&page, bytes) in pages {
        if let Some(now) = memory.page(page) {
            memory.put_page(page, bytes);
            *bytes = now;
        }
    }
}

impl History {
    /// A history that begins with this moment.
    pub fn new(stepper: &Stepper, memory: &Memory, most: usize, spacing: u64) -> History {
        memory.take_journal();
        let mut history = History {
            list: Vec::new(),
            at: 0,
            next: 0,
            most,
            spacing,
            base: Pages::new(),
            unseen: false,
        };
        history.list.push(checkpoint(stepper, &Calls::default()));
        history.plan_next();
        history
    }

    /// The number of checkpoints.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns true if there is no checkpoint, which never happens.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The bytes that all checkpoints take.
    pub fn bytes(&self) -> usize {
        self.list.iter().map(Checkpoint::total).sum()
    }

    /// The last checkpoint before the present.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The tick of a checkpoint.
    pub fn ticks(&self, n: usize) -> u64 {
        self.list[n].saved.ticks()
    }

    /// The instructions that may have run between a checkpoint and the next one.
    pub fn coverage(&self, n: usize) -> &Coverage {
        &self.list[n].coverage
    }

    /// The last checkpoint at a tick or before it.
    pub fn before(&self, ticks: u64) -> usize {
        let after = self.list.partition_point(|c| c.saved.ticks() <= ticks);
        after.saturating_sub(1)
    }

    /// Records an instruction that is about to run.
    #[inline]
    pub(crate) fn cover(&mut self, number: Option<u32>, group: u64, wave: usize) {
        self.list[self.at].coverage.add(number, group, wave);
    }

    /// Records that compiled code is about to run: any instruction may run in this segment.
    pub(crate) fn is_unseen(&mut self) {
        self.unseen = true;
        // The segment between two existing checkpoints is known already.
        if self.at + 1 == self.list.len() {
            self.list[self.at].coverage = Coverage::anything();
        }
        self.plan_next();
    }

    /// Returns true if compiled code has run since the last checkpoint.
    pub(crate) fn has_unseen(&self) -> bool {
        self.unseen
    }

    /// The tick at which compiled code must stop, for a checkpoint.
    pub(crate) fn horizon(&self) -> u64 {
        self.next
    }

    /// Takes the pages that have changed since the last checkpoint, with their contents at that checkpoint. The journal begins
    /// again at the present.
    fn changed_pages(&mut self, memory: &Memory) -> Pages {
        self.unseen = false;
        memory.take_journal()
    }

    fn plan_next(&mut self) {
        let here = &self.list[self.at];
        // A large machine takes long to copy.
        let spacing = match self.unseen {
            false => self.spacing.max(here.bytes as u64 / 100),
            true => (FAST * self.spacing).max(here.bytes as u64 / 8),
        };
        let own = here.saved.ticks() + spacing;
        let known = self.list.get(self.at + 1).map(|c| c.saved.ticks());
        self.next = known.map_or(own, |known| known.min(own));
    }

    /// Called after instructions ran, never beyond [`History::horizon`].
    #[inline]
    pub(crate) fn advanced(&mut self, stepper: &mut Stepper, memory: &Memory, calls: &mut Calls) {
        if stepper.ticks() >= self.next {
            self.arrive(stepper, memory, calls);
        }
    }

    fn arrive(&mut self, stepper: &mut Stepper, memory: &Memory, calls: &mut Calls) {
        let ticks = stepper.ticks();
        match self.list.get(self.at + 1) {
            Some(next) if next.saved.ticks() == ticks && next.changed => {
                *calls = self.go(self.at + 1, stepper, memory);
            }
            Some(next) if next.saved.ticks() == ticks => {
                self.list[self.at].pages = self.changed_pages(memory);
                self.at += 1;
                self.plan_next();
            }
            _ => self.mark(stepper, memory, calls),
        }
    }

    /// Makes the present a checkpoint, so that it can be returned to without executing anything.
    pub fn mark(&mut self, stepper: &Stepper, memory: &Memory, calls: &Calls) {
        if stepper.ticks() == self.ticks(self.at) {
            return;
        }
        let mut new = checkpoint(stepper, calls);
        let pages = self.changed_pages(memory);
        let followed = self.at + 1 < self.list.len();
        let old = &mut self.list[self.at];
        new.pages = std::mem::take(&mut old.pages);
        if followed {
            new.coverage = old.coverage.clone();
            // The pages that lead to the next checkpoint also lead there from here. Pages that are not among them have the same
            // contents at the next one.
            for (&page, bytes) in &pages {
                new.pages.entry(page).or_insert_with(|| bytes.clone());
            }
        }
        old.pages = pages;
        self.list.insert(self.at + 1, new);
        self.at += 1;
        self.thin();
        self.plan_next();
    }

    /// Goes to a checkpoint, back or forward.
    pub fn go(&mut self, to: usize, stepper: &mut Stepper, memory: &Memory) -> Calls {
        put(memory, &self.changed_pages(memory));
        while self.at > to {
            self.at -= 1;
            exchange(memory, &mut self.list[self.at].pages);
        }
        while self.at < to {
            exchange(memory, &mut self.list[self.at].pages);
            self.at += 1;
        }
        stepper.restore(&self.list[to].saved);
        self.plan_next();
        self.list[to].calls.clone()
    }

    /// Drops the checkpoints after the present, because the user is about to change something.
    pub fn discard_future(&mut self) {
        self.list.truncate(self.at + 1);
        self.list[self.at].pages = Pages::new();
        self.plan_next();
    }

    /// The user has changed the machine. The present becomes a checkpoint.
    pub fn changed(&mut self, stepper: &Stepper, memory: &Memory, calls: &Calls) {
        if stepper.ticks() != self.ticks(self.at) {
            self.mark(stepper, memory, calls);
        } else {
            let journal = self.changed_pages(memory);
            let new = checkpoint(stepper, calls);
            let here = &mut self.list[self.at];
            (here.saved, here.bytes) = (new.saved, new.bytes);
            match self.at {
                0 => merge(&mut self.base, journal),
                n => merge(&mut self.list[n - 1].pages, journal),
            }
        }
        self.list[self.at].changed = true;
    }

    /// Ends the history of a launch that has ended at the present. Returns the contents of the changed pages before the launch.
    pub fn into_past(mut self, memory: &Memory) -> HashMap<u64, PageBytes> {
        let last = self.changed_pages(memory);
        let mut pages = self.base;
        let at = self.at;
        for checkpoint in self.list.drain(..at) {
            merge(&mut pages, checkpoint.pages);
        }
        merge(&mut pages, last);
        pages
    }

    /// Restores memory to its contents before the launch, except for the memory of the launch itself.
    pub fn undo(mut self, memory: &Memory) {
        put(memory, &self.changed_pages(memory));
        while self.at > 0 {
            self.at -= 1;
            put(memory, &self.list[self.at].pages);
        }
        put(memory, &self.base);
    }

    /// Drops checkpoints until they take three quarters of the permitted memory.
    fn thin(&mut self) {
        let mut total = self.bytes();
        if total <= self.most {
            return;
        }
        while total > self.most / 4 * 3 && self.list.len() > 3 {
            let end = self.list.last().map_or(0, |c| c.saved.ticks());
            let tick = |n: usize| self.list[n].saved.ticks();
            let may = |n: &usize| *n != self.at && !self.list[*n].changed;
            let cost = |n: &usize| {
                let gap = (tick(n + 1) - tick(n - 1)) as f64;
                gap / (end - tick(*n) + 1) as f64
            };
            let worst = (1..self.list.len() - 1).filter(may);
            let Some(n) = worst.min_by(|a, b| cost(a).total_cmp(&cost(b))) else {
                return;
            };
            let before = self.list[n - 1].total() + self.list[n].total();
            let dropped = self.list.remove(n);
            if n < self.at {
                self.at -= 1;
            }
            let first = &mut self.list[n - 1];
            first.coverage.union(&dropped.coverage);
            if n - 1 < self.at {
                // The pages of both lead back.
                merge(&mut first.pages, dropped.pages);
            } else {
                first.pages.extend(dropped.pages);
            }
            total = total - before + first.total();
        }
    }
}

fn checkpoint(stepper: &Stepper, calls: &Calls) -> Checkpoint {
    let saved = stepper.save();
    Checkpoint {
        bytes: saved.bytes(),
        saved,
        calls: calls.clone(),
        changed: false,
        pages: Pages::new(),
        coverage: Coverage::default(),
    }
}
