//! Records the accesses of a dispatch without an observer, to decide whether it needs one.
//!
//! The records are enough to prove that nothing was wrong, but not to say what was wrong. If two accesses are not obviously ordered, the
//! dispatch runs again under the observer, whose records are finer. A write is ordered before later accesses of the same wave, and before
//! accesses of the workgroup's waves after a barrier. In memory, a plain access and an
//! atomic do not race, because the plain one may be an atomic load or store, which has the same code.
//!
//! For *LDS* each wave has three bitmaps with a bit per byte: the bytes that it has loaded before storing them, stored, and changed
//! atomically since the last barrier. At a barrier the bitmaps of the waves are compared.
//!
//! For *memory* nothing is recorded in extents that are only read. In other extents one write and one read are recorded for each dword, or
//! for a block of 16 dwords as long as all of them are accessed alike. If an extent turns out to be both read and written, its earlier
//! reads are missing, so the dispatch runs a second time and records all accesses to the extent.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8};
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::HashMap;
use gcn_emu::probe::{
    self, Access, AccessLocation, Addresses, Executed, Lanes, Probe, RecordedAccess, Runs,
};
use gcn_isa::access::MemoryKind::{self, Atomic, Load, Store};

use super::bounds::Class;
use super::undefined::Fresh;

/// The number of dwords of a page.
const WORDS: usize = 1024;

/// The number of tables of pages. Each has a lock.
const TABLES: usize = 64;

/// The workgroup of a [`Stamp`] that stands for several workgroups.
const MANY_GROUPS: u32 = u32::MAX;
/// The wave of a [`Stamp`] that stands for several waves of a workgroup.
const MANY_WAVES: u32 = 63;
/// The number of barriers of a workgroup that can be counted.
const MOST_EPOCHS: u32 = 1 << 17;

/// A recorded access to a dword: its wave, and its order relative to barriers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Stamp {
    /// The workgroup's number plus 1. 0 if there was no access.
    group: u32,
    /// Bit fields: see [`MASK`], [`WAVE`], [`ATOMIC`], [`EPOCH`] and [`WRITTEN`].
    rest: u32,
}

/// The accessed bytes of the dword, a bit for each.
const MASK: u32 = 15;
/// The wave's number in the workgroup.
const WAVE: u32 = 63 << 4;
/// The access is atomic.
const ATOMIC: u32 = 1 << 10;
/// The number of barriers that the workgroup has passed.
const EPOCH: u32 = (MOST_EPOCHS - 1) << 11;
/// The lowest bit of four that are used in the stamps of writes: all bytes that were ever written, not only by the recorded write.
const WRITTEN: u32 = 28;

impl Stamp {
    fn wave(self) -> u32 {
        (self.rest & WAVE) >> 4
    }

    /// Returns true if the access is ordered before an access of the wave of `now`.
    fn before(self, now: Stamp) -> bool {
        let same = self.group == now.group;
        same && (self.rest & EPOCH < now.rest & EPOCH || self.rest & WAVE == now.rest & WAVE)
    }

    /// Returns a stamp that stands for both this and another access to the same dword that are not ordered.
    fn with(self, other: Stamp) -> Stamp {
        let mask = (self.rest | other.rest) & MASK;
        match self.group == other.group {
            true if self.wave() == other.wave() => Stamp {
                rest: other.rest | mask,
                ..other
            },
            true => Stamp {
                rest: other.rest & (EPOCH | ATOMIC) | MANY_WAVES << 4 | mask,
                ..other
            },
            false => Stamp {
                group: MANY_GROUPS,
                rest: other.rest | mask,
            },
        }
    }
}

/// The records of a dword, or of a block of dwords.
#[derive(Clone, Copy, Default)]
struct Word {
    write: Stamp,
    read: Stamp,
}

/// Records an access. Returns true if it may race with an earlier one.
#[inline]
fn access(word: &mut Word, now: Stamp, mask: u32, kind: MemoryKind, lds: bool) -> bool {
    let overlaps = |s: Stamp| s.group != 0 && s.rest & mask != 0;
    let mine = Stamp {
        rest: now.rest | mask,
        ..now
    };
    // In memory, a plain access beside an atomic may be an atomic load or store, which has the same code.
    let apart = |s: Stamp| match (s.rest & ATOMIC != 0, kind == Atomic) {
        (true, true) => false,
        (false, false) => true,
        _ => lds,
    };
    let races = |s: Stamp| overlaps(s) && !s.before(now) && apart(s);
    match kind {
        Load => {
            let found = races(word.write);
            let old = word.read;
            word.read = match old.group == 0
                || old.group == now.group && old.rest & EPOCH < now.rest & EPOCH
            {
                true => mine,
                false => old.with(mine),
            };
            found
        }
        Store | Atomic => {
            let found = races(word.write) || races(word.read);
            let atomic = if kind == Atomic { ATOMIC } else { 0 };
            let old = word.write;
            let mut new = Stamp {
                rest: mine.rest | atomic,
                ..mine
            };
            if old.group != 0 {
                let plain = old.rest & ATOMIC == 0;
                if !old.before(now) {
                    new = old.with(new);
                } else if old.rest & (EPOCH | WAVE) == now.rest & (EPOCH | WAVE) {
                    new.rest |= old.rest & MASK;
                }
                if plain && atomic != 0 {
                    // The record counts as plain, because an access that does not race with the atomic may race with the plain one.
                    new = if lds { new } else { old };
                    new.rest &= !ATOMIC;
                }
            }
            let written = old.rest >> WRITTEN | mask;
            new.rest = new.rest & !(MASK << WRITTEN) | written << WRITTEN;
            word.write = new;
            found
        }
    }
}

/// The number of dwords of a block, which share a record as long as they are accessed alike.
const BLOCK: usize = 16;
const BLOCKS: usize = WORDS / BLOCK;

/// The records of a page.
struct Page {
    /// The shared record of each block.
    whole: [Word; BLOCKS],
    /// The records of each block's dwords, which replace the shared one.
    own: [Option<Box<[Word; BLOCK]>>; BLOCKS],
}

impl Default for Page {
    fn default() -> Page {
        Page {
            whole: [Word::default(); BLOCKS],
            own: [const { None }; BLOCKS],
        }
    }
}

impl Page {
    /// Records an access to dwords of scratch. Returns true if it reads one that was never written.
    fn scratch(&mut self, words: Range<usize>, kind: MemoryKind) -> bool {
        let (mut written, mut at) = (MASK, words.start);
        let mut one = |word: &mut Word| {
            written &= word.write.rest >> WRITTEN;
            if kind != Load {
                word.write.rest |= MASK << WRITTEN;
            }
        };
        while at < words.end {
            let block = at / BLOCK;
            let end = words.end.min((block + 1) * BLOCK);
            if end - at == BLOCK && self.own[block].is_none() {
                one(&mut self.whole[block]);
            } else {
                (at..end).for_each(|at| one(self.word(at)));
            }
            at = end;
        }
        // Waves use the same scratch one after the other. Bytes count as defined when any of them has written them.
        written != MASK && kind != Store
    }

    /// Returns true if one of these bytes was never written, or its last write is not ordered before `now`.
    fn unwritten(&self, (from, to): (u64, u64), now: Stamp) -> bool {
        words(from, to - from).any(|(word, mask)| {
            let (block, n) = (word as usize % WORDS / BLOCK, word as usize % BLOCK);
            let write = match &self.own[block] {
                Some(own) => own[n].write,
                None => self.whole[block].write,
            };
            write.rest >> WRITTEN & mask != mask || !write.before(now)
        })
    }

    /// Adds the written bytes of this page, which begins at address `at`, to `all`.
    fn written(&self, at: u64, all: &mut Vec<(u64, u64)>) {
        let mut add = |at: u64, bits: u32, bytes: u64| {
            let on = |n: &u64| bits >> n & 1 != 0;
            match bits {
                0 => {}
                MASK => all.push((at, at + bytes)),
                _ => all.extend((0..4).filter(on).map(|n| (at + n, at + n + 1))),
            }
        };
        for block in 0..BLOCKS {
            let at = at + 4 * (block * BLOCK) as u64;
            match &self.own[block] {
                None => add(
                    at,
                    self.whole[block].write.rest >> WRITTEN,
                    4 * BLOCK as u64,
                ),
                Some(own) => {
                    for (n, word) in own.iter().enumerate() {
                        add(at + 4 * n as u64, word.write.rest >> WRITTEN, 4);
                    }
                }
            }
        }
    }

    /// Returns the record of a dword. From now on the dwords of its block have separate records.
    fn word(&mut self, word: usize) -> &mut Word {
        let block = word / BLOCK % BLOCKS;
        let own = self.own[block].get_or_insert_with(|| Box::new([self.whole[block]; BLOCK]));
        &mut own[word % BLOCK]
    }

    /// Records an access to all bytes of these dwords. Returns true if it may race with an earlier one.
    fn words(&mut self, words: Range<usize>, now: Stamp, kind: MemoryKind) -> bool {
        let mut found = false;
        let mut at = words.start;
        while at < words.end {
            let block = at / BLOCK;
            let end = words.end.min((block + 1) * BLOCK);
            if end - at < BLOCK && self.own[block].is_none() {
                self.own[block] = Some(Box::new([self.whole[block]; BLOCK]));
            }
            match &mut self.own[block] {
                None => found |= access(&mut self.whole[block], now, MASK, kind, false),
                Some(own) => {
                    for word in &mut own[at % BLOCK..][..end - at] {
                        found |= access(word, now, MASK, kind, false);
                    }
                }
            }
            at = end;
        }
        found
    }
}

type Pages = HashMap<u64, Box<Page>>;

/// The state bit of an extent that was read.
const READ: u8 = 1;
/// The state bit of an extent that was written.
const WRITTEN_TO: u8 = 2;
/// The state bit of an extent to which all accesses are recorded.
const EXACT: u8 = 4;

/// An extent of memory.
struct Extent {
    start: u64,
    end: u64,
    class: Class,
    state: AtomicU8,
    /// True if some of its bytes were undefined when the dispatch began.
    fresh: bool,
}

/// The state that the recorders of a dispatch's threads share.
pub struct Shared {
    memory: Vec<Mutex<Pages>>,
    /// All memory that may be accessed, in ascending order.
    extents: Vec<Extent>,
    /// The bytes that were undefined when the dispatch began. This does not change before the dispatch has ended.
    undefined: Option<Arc<Fresh>>,
    /// The number of bytes of LDS of a workgroup.
    lds: usize,
    wanted: Wanted,
    /// True if the dispatch may have failed a check.
    found: AtomicBool,
    /// True if accesses were not recorded that should have been.
    missed: AtomicBool,
}

/// The checks that the recorder makes.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// Finds races and stale data.
    pub races: bool,
    /// Finds reads of LDS and scratch that were not written.
    pub undefined: bool,
    /// Finds waves that end before barriers.
    pub barriers: bool,
}

impl Shared {
    /// Returns the state before the first access.
    pub fn new(
        data: Vec<(u64, u64, Class)>,
        lds: u32,
        wanted: Wanted,
        undefined: Option<Arc<Fresh>>,
    ) -> Arc<Shared> {
        let extent = |(start, end, class)| {
            let begins = |fresh: &Arc<Fresh>| fresh.any(start, end, |_| true);
            let fresh = class == Class::Data && undefined.as_ref().is_some_and(begins);
            Extent {
                start,
                end,
                class,
                state: AtomicU8::new(if fresh { EXACT } else { 0 }),
                fresh,
            }
        };
        let extents = data.into_iter().map(extent).collect();
        Arc::new(Shared {
            memory: (0..TABLES).map(|_| Mutex::default()).collect(),
            extents,
            undefined,
            lds: lds as usize,
            wanted,
            found: AtomicBool::new(false),
            missed: AtomicBool::new(false),
        })
    }

    /// Returns the state before a second run, if the first run found nothing but missed accesses that it should have recorded. The second run
    /// records them.
    pub fn again(&self) -> Option<Arc<Shared>> {
        if self.found.load(Relaxed) || !self.missed.load(Relaxed) {
            return None;
        }
        let data = self.extents.iter().map(|e| (e.start, e.end, e.class));
        let undefined = self.undefined.clone();
        let again = Shared::new(data.collect(), self.lds as u32, self.wanted, undefined);
        for (old, new) in self.extents.iter().zip(&again.extents) {
            let state = old.state.load(Relaxed);
            let both = state & (READ | WRITTEN_TO) == READ | WRITTEN_TO;
            if both || state & EXACT != 0 {
                new.state.store(EXACT, Relaxed);
            }
        }
        Some(again)
    }

    fn find(&self) {
        self.found.store(true, Relaxed);
    }

    /// Compares the accesses to LDS of a workgroup's waves.
    fn compared(&self, group: &mut Group) {
        let (raced, undefined) = group.compare();
        if raced && self.wanted.races || undefined && self.wanted.undefined {
            self.find();
        }
    }

    fn failed(&self) -> bool {
        self.found.load(Relaxed) || self.missed.load(Relaxed)
    }

    /// Returns true if this access to an extent must be recorded. Notes that the extent is read or written.
    fn records(&self, extent: &Extent, kind: MemoryKind) -> bool {
        match extent.class {
            Class::Data => {}
            Class::Scratch => return true,
            // The page map of the transaction refuses invalid accesses to the others.
            _ => return false,
        }
        let bit = match kind {
            Load => READ,
            _ => WRITTEN_TO,
        };
        let mut state = extent.state.load(Relaxed);
        if state & bit == 0 {
            state = extent.state.fetch_or(bit, SeqCst) | bit;
        }
        if state & EXACT != 0 {
            return true;
        }
        if state == READ | WRITTEN_TO {
            self.missed.store(true, Relaxed);
        }
        kind != Load
    }

    /// Returns the ranges of bytes that the dispatch has written in pages with undefined bytes: the first byte, and the one after the last.
    pub fn written(&self) -> Vec<(u64, u64)> {
        let mut all = Vec::new();
        for table in &self.memory {
            let pages = table.lock().unwrap_or_else(PoisonError::into_inner);
            for (number, page) in &*pages {
                let at = number * 4 * WORDS as u64;
                let undefined = self.undefined.as_ref();
                if undefined.is_some_and(|all| all.any(at, at + 4 * WORDS as u64, |_| true)) {
                    page.written(at, &mut all);
                }
            }
        }
        all.sort_unstable();
        all.dedup_by(|next, last| {
            let follows = next.0 == last.1;
            if follows {
                last.1 = next.1;
            }
            follows
        });
        all
    }

    /// Calls `f` with the records of a page.
    fn page<T>(&self, page: u64, f: impl FnOnce(&mut Page) -> T) -> T {
        let table = &self.memory[page as usize % TABLES];
        let mut pages = table.lock().unwrap_or_else(PoisonError::into_inner);
        f(pages.entry(page).or_default())
    }
}

/// A wave's accesses to LDS since the last barrier: bitmaps with a bit per byte.
#[derive(Default)]
struct Maps {
    /// The bytes that the wave loaded before it stored them.
    loaded: Vec<u64>,
    /// The bytes that the wave stored.
    stored: Vec<u64>,
    /// The bytes that the wave changed atomically.
    atomic: Vec<u64>,
    /// The words of the maps that are not 0.
    used: Range<usize>,
}

/// A workgroup that has begun and not ended.
#[derive(Default)]
struct Group {
    /// The number of barriers that the workgroup has passed.
    epoch: u32,
    /// The accesses of each wave.
    maps: Vec<Maps>,
    /// The accesses of the waves compared so far; empty except during a comparison.
    all: Maps,
    /// The bytes of LDS that were written before the last barrier.
    written: Vec<u64>,
}

impl Group {
    /// Prepares this for a new workgroup.
    fn reset(&mut self, waves: usize, lds: usize) {
        let words = lds.div_ceil(64) + 1;
        self.written.clear();
        self.written.resize(words, 0);
        self.maps
            .resize_with(waves.max(self.maps.len()), Maps::default);
        for maps in self.maps.iter_mut().chain([&mut self.all]) {
            for map in [&mut maps.loaded, &mut maps.stored, &mut maps.atomic] {
                map.resize(words, 0);
            }
        }
        self.epoch = 0;
    }

    /// Compares the accesses of the waves. The first result is true if they may race, the second if a byte was loaded that nothing had
    /// written.
    fn compare(&mut self) -> (bool, bool) {
        let (mut raced, mut undefined) = (0, 0);
        let all = &mut self.all;
        let mut used = 0..0;
        for maps in &mut self.maps {
            let own = std::mem::replace(&mut maps.used, 0..0);
            if own.is_empty() {
                continue;
            }
            used = union(&used, &own);
            let theirs = all.loaded[own.clone()].iter_mut();
            let theirs = theirs.zip(&mut all.stored[own.clone()]);
            let theirs = theirs.zip(&mut all.atomic[own.clone()]);
            let mine = maps.loaded[own.clone()].iter_mut();
            let mine = mine.zip(&mut maps.stored[own.clone()]);
            let mine = mine.zip(&mut maps.atomic[own.clone()]);
            let written = &self.written[own];
            for ((((l, s), a), ((loaded, stored), atomic)), written) in
                theirs.zip(mine).zip(written)
            {
                raced |= *stored & (*l | *s | *a) | *loaded & (*s | *a) | *atomic & (*l | *s);
                undefined |= *loaded & !written;
                *l |= std::mem::take(loaded);
                *s |= std::mem::take(stored);
                *a |= std::mem::take(atomic);
            }
        }
        for at in used {
            all.loaded[at] = 0;
            let written = std::mem::take(&mut all.stored[at]) | std::mem::take(&mut all.atomic[at]);
            self.written[at] |= written;
        }
        (raced != 0, undefined != 0)
    }

    /// Records a wave's access to consecutive bytes. Returns true if the bytes are out of bounds, or if an atomic reads undefined ones.
    fn mark(&mut self, wave: usize, at: u64, bytes: u64, kind: MemoryKind) -> bool {
        let end = at + bytes;
        let words = (at / 64) as usize..end.div_ceil(64) as usize;
        let Some(maps) = self.maps.get_mut(wave) else {
            return true;
        };
        if words.end > maps.stored.len() {
            return true;
        }
        maps.used = union(&maps.used, &words);
        let mut found = false;
        for word in words {
            let from = at.saturating_sub(64 * word as u64);
            let to = (end - 64 * word as u64).min(64);
            let mask = !0 >> (64 - (to - from)) << from;
            match kind {
                Load => maps.loaded[word] |= mask & !maps.stored[word],
                Store => maps.stored[word] |= mask,
                Atomic => {
                    let defined = maps.stored[word] | maps.atomic[word] | self.written[word];
                    found |= mask & !defined != 0;
                    maps.atomic[word] |= mask;
                }
            }
        }
        found
    }
}

/// Returns the smallest range that contains both. The second one must not be empty.
fn union(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    match a.is_empty() {
        true => b.clone(),
        false => a.start.min(b.start)..a.end.max(b.end),
    }
}

/// The state of one host thread's recorder.
#[derive(Default)]
struct Own {
    /// The workgroups that have begun and do not run now, by number.
    groups: HashMap<u64, Group>,
    /// The stamp of the wave that runs.
    now: Stamp,
    /// The number of the workgroup that runs.
    group: u64,
    /// The number of the wave that runs.
    wave: usize,
    /// The extent that was accessed last.
    last: usize,
    /// Workgroups that have ended, to be reused.
    spare: Vec<Group>,
    /// The workgroup that runs.
    running: Option<Group>,
}

/// The recorder of a host thread.
pub struct Recorder {
    shared: Arc<Shared>,
    own: RefCell<Own>,
}

impl Recorder {
    /// Returns a recorder for another thread.
    pub fn new(shared: Arc<Shared>) -> Recorder {
        Recorder {
            shared,
            own: RefCell::default(),
        }
    }
}

/// Returns the numbers of the dwords that an access touches, each with a mask of its accessed bytes.
#[inline]
fn words(at: u64, size: u64) -> impl Iterator<Item = (u64, u32)> {
    let end = at + size;
    (at / 4..end.div_ceil(4)).map(move |word| {
        let first = at.saturating_sub(word * 4).min(4);
        let last = (end - word * 4).min(4);
        (word, (1u32 << last) - (1 << first))
    })
}

impl Own {
    /// Records an access to consecutive bytes of LDS. Returns true if it may have failed a check.
    fn in_lds(&mut self, shared: &Shared, at: u64, bytes: u64, kind: MemoryKind) -> bool {
        match &mut self.running {
            Some(group) => {
                let found = group.mark(self.wave, at, bytes, kind);
                // Undefined bytes matter only if that check is wanted. Accesses past the end of LDS always matter.
                found && (kind != Atomic || shared.wanted.undefined || at >= shared.lds as u64)
            }
            None => true,
        }
    }

    /// Returns the extent that contains an address.
    fn extent(&mut self, shared: &Shared, at: u64) -> Option<usize> {
        let holds = |e: &Extent| (e.start..e.end).contains(&at);
        if shared.extents.get(self.last).is_some_and(holds) {
            return Some(self.last);
        }
        let after = shared.extents.partition_point(|e| e.start <= at);
        let n = after.checked_sub(1)?;
        holds(&shared.extents[n]).then(|| {
            self.last = n;
            n
        })
    }

    /// Records an access to consecutive bytes of memory. Returns true if it may have failed a check.
    fn in_memory(
        &mut self,
        shared: &Shared,
        (at, bytes): (u64, u64),
        (kind, scalar): (MemoryKind, bool),
    ) -> bool {
        let Some(n) = self.extent(shared, at) else {
            return false;
        };
        let extent = &shared.extents[n];
        if !shared.records(extent, kind) {
            return false;
        }
        let now = self.now;
        let (mut found, mut undefined) = (false, false);
        let (mut at, end) = (at, at + bytes);
        while at < end {
            let page = at / (4 * WORDS as u64);
            let until = end.min((page + 1) * 4 * WORDS as u64);
            found |= shared.page(page, |page| {
                let mut found = false;
                if let (true, Some(all)) = (extent.fresh && kind != Store, &shared.undefined) {
                    undefined |= all.any(at, until, |bytes| page.unwritten(bytes, now));
                }
                if !scalar && at % 4 == 0 && until % 4 == 0 {
                    let first = (at / 4) as usize % WORDS;
                    let those = first..first + (until - at) as usize / 4;
                    return match extent.class {
                        Class::Scratch => page.scratch(those, kind) && shared.wanted.undefined,
                        _ => page.words(those, now, kind),
                    };
                }
                for (word, mask) in words(at, until - at) {
                    let cell = page.word(word as usize % WORDS);
                    let access = (kind, scalar, extent.class);
                    found |= in_word(shared, cell, now, mask, access);
                }
                found
            });
            at = until;
        }
        undefined || found && (shared.wanted.races || extent.class == Class::Scratch)
    }

    /// Records an access of all active lanes. Returns true if it may have failed a check.
    fn recorded(&mut self, shared: &Shared, access: &RecordedAccess<'_>) -> bool {
        let (kind, size) = (access.kind, access.size as u64);
        let one = |own: &mut Own, at: u64, bytes: u64| match access.lds {
            true => own.in_lds(shared, at & 0xffff_ffff, bytes, kind),
            false => own.in_memory(shared, (at, bytes), (kind, access.scalar)),
        };
        let outer = |exec: u64| {
            let last = 63 - exec.leading_zeros() as usize;
            (exec.trailing_zeros() as usize, last)
        };
        match access.addresses {
            Addresses::Same(at) => return one(self, at, size),
            Addresses::Apart(_, step) if step.unsigned_abs() == size => {
                let (first, last) = outer(access.exec);
                let low = access.address(if step > 0 { first } else { last });
                return one(self, low, size * (last - first + 1) as u64);
            }
            Addresses::Slices(slices)
                if access.lds
                    && slices
                        .iter()
                        .all(|s| [0, size].contains(&s.1.unsigned_abs())) =>
            {
                let mut found = false;
                for (n, (_, step)) in slices.iter().enumerate() {
                    let on = access.exec & 0xffff << (16 * n);
                    if on != 0 {
                        let (first, last) = outer(on);
                        let low = access.address(if *step > 0 { first } else { last });
                        let bytes = size + step.unsigned_abs() * (last - first) as u64;
                        found |= one(self, low, bytes);
                    }
                }
                return found;
            }
            _ => {}
        }
        if !access.lds && kind == Load {
            // Mostly the loads are from one extent that is only read, and are not recorded.
            let (low, high) = ends(access);
            if let Some(n) = self.extent(shared, low)
                && high < shared.extents[n].end
                && !shared.records(&shared.extents[n], kind)
            {
                return false;
            }
        }
        // Consecutive lanes with adjacent or equal addresses are recorded as one access.
        let (mut found, mut low, mut end) = (false, 0, 0);
        for at in access.each() {
            if at == end && end > low {
                end += size;
            } else if !(low..end).contains(&at) || at + size > end {
                if end > low {
                    found |= one(self, low, end - low);
                }
                (low, end) = (at, at + size);
            }
        }
        found | one(self, low, end - low)
    }
}

/// Returns the lowest and the highest address of the active lanes.
fn ends(access: &RecordedAccess<'_>) -> (u64, u64) {
    if let (Addresses::Each(low, Some(high)), u64::MAX) = (access.addresses, access.exec) {
        let upper = high[0];
        if high.iter().fold(0, |d, h| d | (h ^ upper)) == 0 {
            let (least, most) =
                (low.iter()).fold((u32::MAX, 0), |(a, b), &at| (at.min(a), at.max(b)));
            let whole = |at: u32| at as u64 | (upper as u64) << 32;
            return (whole(least), whole(most));
        }
    }
    (access.each()).fold((u64::MAX, 0), |(low, high), at| (low.min(at), high.max(at)))
}

/// Records an access to a dword of memory. Returns true if it may have failed a check.
#[inline]
fn in_word(
    shared: &Shared,
    cell: &mut Word,
    now: Stamp,
    mask: u32,
    (kind, scalar, class): (MemoryKind, bool, Class),
) -> bool {
    if class == Class::Scratch {
        // Waves use the same scratch one after the other. Bytes count as defined when any of them has written them.
        let unwritten = cell.write.rest >> WRITTEN & mask != mask;
        if kind != Load {
            cell.write.rest |= mask << WRITTEN;
        }
        return unwritten && kind != Store && shared.wanted.undefined;
    }
    // A scalar load of a dword that was written may return stale data from the scalar cache.
    let stale = scalar && cell.write.group != 0;
    access(cell, now, mask, kind, false) || stale
}

impl Probe for Recorder {
    fn access(&self, made: &Access) -> bool {
        let (shared, mut own) = (&*self.shared, self.own.borrow_mut());
        let kind = made.kind;
        let found = match made.location {
            AccessLocation::Lds(at) => own.in_lds(shared, at, made.size as u64, kind),
            AccessLocation::Memory(at) => {
                own.in_memory(shared, (at, made.size as u64), (kind, made.scalar))
            }
            _ => false,
        };
        if found && !(made.unchanged && kind == Store) {
            shared.find();
        }
        true
    }

    fn lanes(&self, lanes: &Lanes<'_>) -> bool {
        let (shared, mut own) = (&*self.shared, self.own.borrow_mut());
        if lanes.kind == Atomic {
            return false;
        }
        let (kind, size) = (lanes.kind, lanes.size as u64);
        let mut found = false;
        for (_, at) in lanes.each() {
            found |= match lanes.lds {
                true => own.in_lds(shared, at, size, kind),
                false => own.in_memory(shared, (at, size), (kind, lanes.scalar)),
            };
        }
        match (found, kind) {
            // A store that changes nothing is not a race. To find that out, `access` is called for each lane.
            (true, Store) => return false,
            (true, _) => shared.find(),
            _ => {}
        }
        true
    }

    fn executed(&self, _executed: &Executed<'_>) {}

    fn recorded(&self, access: &RecordedAccess<'_>) {
        if self.own.borrow_mut().recorded(&self.shared, access) {
            self.shared.find();
        }
    }

    fn turn(&self, wave: usize) {
        self.own.borrow_mut().turn(&self.shared, wave);
    }

    fn released(&self, some_ended: bool) {
        let shared = &*self.shared;
        let own = &mut *self.own.borrow_mut();
        if some_ended && shared.wanted.barriers {
            shared.find();
        }
        if let Some(group) = &mut own.running {
            shared.compared(group);
            group.epoch += 1;
            if group.epoch >= MOST_EPOCHS {
                shared.find();
            }
        }
    }
}

impl Own {
    /// Attributes the following accesses to this wave.
    fn turn(&mut self, shared: &Shared, wave: usize) {
        // A stamp has no room for larger numbers of waves.
        if wave >= MANY_WAVES as usize {
            shared.find();
        }
        let epoch = self.running.as_ref().map_or(0, |group| group.epoch);
        self.wave = wave;
        self.now = Stamp {
            group: self.group as u32 + 1,
            rest: epoch << 11 | (wave as u32 & 63) << 4,
        };
    }

    /// Makes a workgroup the one that runs.
    fn run(&mut self, shared: &Shared, wave: &Runs) {
        if self.running.is_some() && self.group == wave.group {
            return;
        }
        if let Some(group) = self.running.take() {
            self.groups.insert(self.group, group);
        }
        self.group = wave.group;
        let group = self.groups.remove(&wave.group);
        self.running = group.or_else(|| {
            let mut group = self.spare.pop().unwrap_or_default();
            group.reset(wave.waves, shared.lds);
            Some(group)
        });
    }
}

impl probe::AccessRecorder for Recorder {
    fn runs(&self, wave: Runs) {
        let shared = &*self.shared;
        let own = &mut *self.own.borrow_mut();
        own.run(shared, &wave);
        // A stamp has no room for larger numbers of workgroups.
        if wave.group >= MANY_GROUPS as u64 - 1 {
            shared.find();
        }
        own.turn(shared, wave.wave);
    }

    fn ended(&self) {
        let own = &mut *self.own.borrow_mut();
        if let Some(mut group) = own.running.take() {
            self.shared.compared(&mut group);
            own.spare.push(group);
        }
    }

    fn failed(&self) -> bool {
        self.shared.failed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(group: u32, epoch: u32, wave: u32) -> Stamp {
        Stamp {
            group,
            rest: epoch << 11 | wave << 4,
        }
    }

    #[test]
    fn accesses_that_are_not_ordered_are_found() {
        let run = |lds: bool, steps: &[(u32, u32, u32, u32, MemoryKind)]| {
            let mut word = Word::default();
            let each = steps.iter().map(|&(group, epoch, wave, mask, kind)| {
                access(&mut word, stamp(group, epoch, wave), mask, kind, lds)
            });
            each.collect::<Vec<bool>>()
        };
        // Accesses of one wave are ordered, and of two waves only by a barrier.
        let own = [
            (1, 0, 0, 15, Store),
            (1, 0, 0, 15, Load),
            (1, 1, 1, 15, Store),
        ];
        assert_eq!(run(true, &own), [false; 3]);
        let race = [(1, 0, 0, 15, Store), (1, 0, 1, 15, Load)];
        assert_eq!(run(true, &race), [false, true]);
        // A second reader does not hide the first one.
        let readers = [
            (1, 0, 0, 15, Load),
            (1, 0, 1, 15, Load),
            (1, 0, 1, 15, Store),
        ];
        assert_eq!(run(true, &readers), [false, false, true]);
        let groups = [
            (1, 0, 0, 15, Load),
            (2, 0, 0, 15, Load),
            (2, 5, 0, 15, Store),
        ];
        assert_eq!(run(false, &groups), [false, false, true]);
        // A barrier orders waves of one workgroup, not of two.
        let other = [(1, 0, 0, 15, Store), (2, 3, 0, 15, Load)];
        assert_eq!(run(false, &other), [false, true]);
        // Two workgroups store to different bytes of a dword. After that a store of either one is reported.
        let bytes = [
            (1, 0, 0, 3, Store),
            (2, 0, 0, 12, Store),
            (1, 0, 0, 3, Store),
        ];
        assert_eq!(run(false, &bytes), [false, false, true]);
        // Atomics do not race with each other. With plain accesses they race only in LDS.
        let atomics = [(1, 0, 0, 15, Atomic), (1, 0, 1, 15, Atomic)];
        assert_eq!(run(true, &atomics), [false; 2]);
        let mixed = [(1, 0, 0, 15, Atomic), (1, 0, 1, 15, Load)];
        assert_eq!(run(true, &mixed), [false, true]);
        assert_eq!(run(false, &mixed), [false; 2]);
        let hidden = [
            (1, 0, 0, 15, Store),
            (1, 0, 0, 15, Atomic),
            (2, 0, 0, 15, Load),
        ];
        assert_eq!(run(false, &hidden), [false, false, true]);
    }

    /// The records take at most four and a half bytes for each byte of memory, however it is accessed.
    #[test]
    fn records_are_small() {
        let wanted = Wanted {
            races: true,
            undefined: true,
            barriers: true,
        };
        let (start, bytes) = (1u64 << 20, 1u64 << 20);
        let data = vec![(start, start + bytes, Class::Data)];
        let shared = Shared::new(data, 0, wanted, None);
        let shared = {
            for kind in [Load, Store] {
                shared.records(&shared.extents[0], kind);
            }
            shared.again().expect("the first run missed accesses")
        };
        let record_bytes = || {
            let pages = |table: &Mutex<Pages>| {
                let pages = table.lock().unwrap_or_else(PoisonError::into_inner);
                let own = pages.values().flat_map(|page| &page.own).flatten().count();
                let entries = pages.capacity() * (size_of::<(u64, Box<Page>)>() + 1);
                pages.len() * size_of::<Page>() + own * size_of::<[Word; BLOCK]>() + entries
            };
            shared.memory.iter().map(pages).sum::<usize>()
        };
        let mut own = Own::default();
        own.turn(&shared, 0);
        // First all bytes in rows of 256, then every fifth byte.
        for at in (start..start + bytes).step_by(256) {
            own.in_memory(&shared, (at, 256), (Load, false));
        }
        let alike = record_bytes() as f64 / bytes as f64;
        for at in (start..start + bytes).step_by(5) {
            own.in_memory(&shared, (at, 1), (Store, false));
        }
        let each = record_bytes() as f64 / bytes as f64;
        assert!(alike > 0.2 && alike < 0.5, "{alike}");
        assert!(each > 4.0 && each < 4.5, "{each}");
    }
}
