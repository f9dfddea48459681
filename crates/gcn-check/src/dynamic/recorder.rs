//! Records the accesses of a dispatch without an observer, to decide whether it needs one.
//!
//! The records suffice to say that nothing was wrong, not to say what was wrong: where two accesses are not plainly ordered, the dispatch runs
//! again under the observer, whose records are finer. A write is ordered before an access of the same wave, or of a wave of the workgroup
//! after a barrier. Accesses beside atomics are the observer's to judge.
//!
//! Of *LDS* each wave keeps three maps of a bit a byte between two barriers: what it loads before it stores it, stores, and changes
//! atomically. At the barrier those of the waves are compared.
//!
//! Of *memory* nothing is kept for an extent that is only read. Otherwise each dword remembers one write and one read, once for 16
//! dwords as long as they are accessed alike. If an extent is read and written, its reads must be recorded from the first one on: the dispatch
//! runs once more.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU8};
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::HashMap;
use gcn_emu::probe::{
    self, Access, AccessLocation, Addresses, Executed, Lanes, Probe, RecordedAccess, Runs,
};
use gcn_isa::access::MemoryKind;

use super::bounds::Class;
use super::undefined::Fresh;

/// Dwords of a page.
const WORDS: usize = 1024;

/// Pages are kept in as many tables, each with a lock.
const TABLES: usize = 64;

/// Several workgroups.
const MANY_GROUPS: u32 = u32::MAX;
/// Several waves of a workgroup.
const MANY_WAVES: u32 = 63;
/// Barriers of a workgroup that can be counted.
const MOST_EPOCHS: u32 = 1 << 17;

/// A wave's place in time: its workgroup, from 1 on; the barriers that it has passed; and its number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Stamp {
    group: u32,
    /// From the lowest bit: the bytes of the dword, 4 bits; the wave, 6 bits; it is atomic; the epoch, 17 bits; of a write, the bytes that
    /// were ever written.
    rest: u32,
}

const MASK: u32 = 15;
const WAVE: u32 = 63 << 4;
const ATOMIC: u32 = 1 << 10;
const EPOCH: u32 = (MOST_EPOCHS - 1) << 11;
const WRITTEN: u32 = 28;

impl Stamp {
    fn wave(self) -> u32 {
        (self.rest & WAVE) >> 4
    }

    /// Whether it comes before what a wave does now.
    fn before(self, now: Stamp) -> bool {
        let same = self.group == now.group;
        same && (self.rest & EPOCH < now.rest & EPOCH || self.rest & WAVE == now.rest & WAVE)
    }

    /// It and another one of a dword, neither of which is before the other: of several waves or workgroups.
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

/// What is known of a dword.
#[derive(Clone, Copy, Default)]
struct Word {
    write: Stamp,
    read: Stamp,
}

/// What an access is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Load,
    Store,
    Atomic,
}

/// Returns true if an access may race with an earlier one, and remembers it.
#[inline]
fn access(word: &mut Word, now: Stamp, mask: u32, what: What, lds: bool) -> bool {
    let overlaps = |s: Stamp| s.group != 0 && s.rest & mask != 0;
    let mine = Stamp {
        rest: now.rest | mask,
        ..now
    };
    // In memory, what is plain beside atomics may be atomic.
    let apart = |s: Stamp| match (s.rest & ATOMIC != 0, what == What::Atomic) {
        (true, true) => false,
        (false, false) => true,
        _ => lds,
    };
    let races = |s: Stamp| overlaps(s) && !s.before(now) && apart(s);
    match what {
        What::Load => {
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
        What::Store | What::Atomic => {
            let found = races(word.write) || races(word.read);
            let atomic = if what == What::Atomic { ATOMIC } else { 0 };
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
                    // The plain one is what others race with.
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

/// Dwords that have one record as long as they are accessed alike.
const UNIT: usize = 16;
const UNITS: usize = WORDS / UNIT;

/// The records of a page.
struct Page {
    /// Of each unit, unless its dwords have their own.
    whole: [Word; UNITS],
    own: [Option<Box<[Word; UNIT]>>; UNITS],
}

impl Default for Page {
    fn default() -> Page {
        Page {
            whole: [Word::default(); UNITS],
            own: [const { None }; UNITS],
        }
    }
}

impl Page {
    /// An access of these dwords of scratch. Returns true if one of them has not been written.
    fn scratch(&mut self, words: Range<usize>, what: What) -> bool {
        let (mut written, mut at) = (MASK, words.start);
        let mut one = |word: &mut Word| {
            written &= word.write.rest >> WRITTEN;
            if what != What::Load {
                word.write.rest |= MASK << WRITTEN;
            }
        };
        while at < words.end {
            let unit = at / UNIT;
            let end = words.end.min((unit + 1) * UNIT);
            if end - at == UNIT && self.own[unit].is_none() {
                one(&mut self.whole[unit]);
            } else {
                (at..end).for_each(|at| one(self.word(at)));
            }
            at = end;
        }
        // Of one wave after the other: what was written once is defined.
        written != MASK && what != What::Store
    }

    /// Returns true if one of these bytes has not been written plainly before now.
    fn unwritten(&self, (from, to): (u64, u64), now: Stamp) -> bool {
        words(from, to - from).any(|(word, mask)| {
            let (unit, n) = (word as usize % WORDS / UNIT, word as usize % UNIT);
            let write = match &self.own[unit] {
                Some(own) => own[n].write,
                None => self.whole[unit].write,
            };
            write.rest >> WRITTEN & mask != mask || !write.before(now)
        })
    }

    /// Adds the bytes that were written of the page at an address.
    fn written(&self, at: u64, all: &mut Vec<(u64, u64)>) {
        let mut add = |at: u64, bits: u32, bytes: u64| {
            let on = |n: &u64| bits >> n & 1 != 0;
            match bits {
                0 => {}
                MASK => all.push((at, at + bytes)),
                _ => all.extend((0..4).filter(on).map(|n| (at + n, at + n + 1))),
            }
        };
        for unit in 0..UNITS {
            let at = at + 4 * (unit * UNIT) as u64;
            match &self.own[unit] {
                None => add(at, self.whole[unit].write.rest >> WRITTEN, 4 * UNIT as u64),
                Some(own) => {
                    for (n, word) in own.iter().enumerate() {
                        add(at + 4 * n as u64, word.write.rest >> WRITTEN, 4);
                    }
                }
            }
        }
    }

    fn word(&mut self, word: usize) -> &mut Word {
        let unit = word / UNIT % UNITS;
        let own = self.own[unit].get_or_insert_with(|| Box::new([self.whole[unit]; UNIT]));
        &mut own[word % UNIT]
    }

    /// An access of all of these dwords.
    fn words(&mut self, words: Range<usize>, now: Stamp, what: What) -> bool {
        let mut found = false;
        let mut at = words.start;
        while at < words.end {
            let unit = at / UNIT;
            let end = words.end.min((unit + 1) * UNIT);
            if end - at < UNIT && self.own[unit].is_none() {
                self.own[unit] = Some(Box::new([self.whole[unit]; UNIT]));
            }
            match &mut self.own[unit] {
                None => found |= access(&mut self.whole[unit], now, MASK, what, false),
                Some(own) => {
                    for word in &mut own[at % UNIT..][..end - at] {
                        found |= access(word, now, MASK, what, false);
                    }
                }
            }
            at = end;
        }
        found
    }
}

type Pages = HashMap<u64, Box<Page>>;

/// An extent is read.
const READ: u8 = 1;
/// It is written.
const WRITTEN_TO: u8 = 2;
/// Each access is recorded.
const EXACT: u8 = 4;

/// Memory whose accesses are recorded.
struct Extent {
    start: u64,
    end: u64,
    class: Class,
    state: AtomicU8,
    /// Some of its bytes were undefined when the dispatch began.
    fresh: bool,
}

/// What the recorders of a dispatch's threads share.
pub struct Shared {
    memory: Vec<Mutex<Pages>>,
    /// All memory that may be accessed, in ascending order.
    extents: Vec<Extent>,
    /// The bytes of it that were undefined when the dispatch began. They stay so until it has ended.
    undefined: Option<Arc<Fresh>>,
    /// Bytes of LDS of a workgroup.
    lds: usize,
    wanted: Wanted,
    /// Something was found.
    found: AtomicBool,
    /// Accesses were not recorded that should have been.
    missed: AtomicBool,
}

/// What is to be recorded.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// Races, and stale data.
    pub races: bool,
    /// LDS and scratch that are read before they are written.
    pub undefined: bool,
    /// Waves that end before barriers.
    pub barriers: bool,
}

impl Shared {
    /// Nothing was accessed.
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

    /// The state before a second run, if nothing was found and the first run did not record accesses that it should have. The second one
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

    /// Compares what the waves of a workgroup have done.
    fn compared(&self, group: &mut Group) {
        let (raced, undefined) = group.compare();
        if raced && self.wanted.races || undefined && self.wanted.undefined {
            self.find();
        }
    }

    fn failed(&self) -> bool {
        self.found.load(Relaxed) || self.missed.load(Relaxed)
    }

    /// Whether each access of this kind to an extent is recorded.
    fn records(&self, extent: &Extent, what: What) -> bool {
        match extent.class {
            Class::Data => {}
            Class::Scratch => return true,
            // Memory decides.
            _ => return false,
        }
        let bit = match what {
            What::Load => READ,
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
        what != What::Load
    }

    /// The bytes that were undefined when the dispatch began and that it has written: each first one, and the one after the last.
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

/// What a wave has done to LDS since the last barrier: a bit a byte.
#[derive(Default)]
struct Maps {
    /// It loaded the byte before it stored it.
    loaded: Vec<u64>,
    stored: Vec<u64>,
    /// It changed it atomically.
    atomic: Vec<u64>,
    /// The words of the maps that are not 0.
    used: Range<usize>,
}

/// A workgroup that has begun and not ended.
#[derive(Default)]
struct Group {
    epoch: u32,
    /// By wave.
    maps: Vec<Maps>,
    /// What all waves have done since the last barrier; empty between comparisons.
    all: Maps,
    /// The bytes of LDS that were written before the last barrier.
    written: Vec<u64>,
}

impl Group {
    /// Begins anew.
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

    /// Compares what the waves have done. Returns whether they may race, and whether something was loaded that nothing had written.
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

    /// An access of consecutive bytes by a wave. Returns true if it must be looked at.
    fn mark(&mut self, wave: usize, at: u64, bytes: u64, what: What) -> bool {
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
            match what {
                What::Load => maps.loaded[word] |= mask & !maps.stored[word],
                What::Store => maps.stored[word] |= mask,
                What::Atomic => {
                    let defined = maps.stored[word] | maps.atomic[word] | self.written[word];
                    found |= mask & !defined != 0;
                    maps.atomic[word] |= mask;
                }
            }
        }
        found
    }
}

/// The least range that holds both, the second of which is not empty.
fn union(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    match a.is_empty() {
        true => b.clone(),
        false => a.start.min(b.start)..a.end.max(b.end),
    }
}

#[derive(Default)]
struct Own {
    groups: HashMap<u64, Group>,
    now: Stamp,
    group: u64,
    wave: usize,
    /// The extent that was accessed last.
    last: usize,
    /// Workgroups that have ended.
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
    /// A recorder for another thread.
    pub fn new(shared: Arc<Shared>) -> Recorder {
        Recorder {
            shared,
            own: RefCell::default(),
        }
    }
}

/// The dwords that an access touches, and the bytes of each.
#[inline]
fn words(at: u64, size: u64) -> impl Iterator<Item = (u64, u32)> {
    let end = at + size;
    (at / 4..end.div_ceil(4)).map(move |word| {
        let first = at.saturating_sub(word * 4).min(4);
        let last = (end - word * 4).min(4);
        (word, (1u32 << last) - (1 << first))
    })
}

/// What a kind of access is.
fn what(kind: MemoryKind) -> What {
    match kind {
        MemoryKind::Load => What::Load,
        MemoryKind::Store => What::Store,
        MemoryKind::Atomic => What::Atomic,
    }
}

impl Own {
    /// An access of consecutive bytes of LDS. Returns true if it must be looked at.
    fn in_lds(&mut self, shared: &Shared, at: u64, bytes: u64, what: What) -> bool {
        match &mut self.running {
            Some(group) => {
                let found = group.mark(self.wave, at, bytes, what);
                // What is undefined counts if it was asked for; the end of LDS counts always.
                found
                    && (what != What::Atomic || shared.wanted.undefined || at >= shared.lds as u64)
            }
            None => true,
        }
    }

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

    /// An access of consecutive bytes of memory. Returns true if it must be looked at.
    fn in_memory(
        &mut self,
        shared: &Shared,
        (at, bytes): (u64, u64),
        (what, scalar): (What, bool),
    ) -> bool {
        let Some(n) = self.extent(shared, at) else {
            return false;
        };
        let extent = &shared.extents[n];
        if !shared.records(extent, what) {
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
                if let (true, Some(all)) = (extent.fresh && what != What::Store, &shared.undefined)
                {
                    undefined |= all.any(at, until, |bytes| page.unwritten(bytes, now));
                }
                if !scalar && at % 4 == 0 && until % 4 == 0 {
                    let first = (at / 4) as usize % WORDS;
                    let those = first..first + (until - at) as usize / 4;
                    return match extent.class {
                        Class::Scratch => page.scratch(those, what) && shared.wanted.undefined,
                        _ => page.words(those, now, what),
                    };
                }
                for (word, mask) in words(at, until - at) {
                    let cell = page.word(word as usize % WORDS);
                    let kind = (what, scalar, extent.class);
                    found |= in_word(shared, cell, now, mask, kind);
                }
                found
            });
            at = until;
        }
        undefined || found && (shared.wanted.races || extent.class == Class::Scratch)
    }

    /// An access of all active lanes. Returns true if it must be looked at.
    fn recorded(&mut self, shared: &Shared, access: &RecordedAccess<'_>) -> bool {
        let (what, size) = (what(access.kind), access.size as u64);
        let one = |own: &mut Own, at: u64, bytes: u64| match access.lds {
            true => own.in_lds(shared, at & 0xffff_ffff, bytes, what),
            false => own.in_memory(shared, (at, bytes), (what, access.scalar)),
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
        if !access.lds && what == What::Load {
            // Mostly of an extent that is only read.
            let (low, high) = ends(access);
            if let Some(n) = self.extent(shared, low)
                && high < shared.extents[n].end
                && !shared.records(&shared.extents[n], what)
            {
                return false;
            }
        }
        // Lanes that follow each other, or share an address, in one go.
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

/// The lowest and the highest address of lanes.
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

/// An access of a dword of memory. Returns true if it must be looked at.
#[inline]
fn in_word(
    shared: &Shared,
    cell: &mut Word,
    now: Stamp,
    mask: u32,
    (what, scalar, class): (What, bool, Class),
) -> bool {
    if class == Class::Scratch {
        // Of one wave after the other: what was written once is defined.
        let unwritten = cell.write.rest >> WRITTEN & mask != mask;
        if what != What::Load {
            cell.write.rest |= mask << WRITTEN;
        }
        return unwritten && what != What::Store && shared.wanted.undefined;
    }
    // The scalar cache may have older data.
    let stale = scalar && cell.write.group != 0;
    access(cell, now, mask, what, false) || stale
}

impl Probe for Recorder {
    fn access(&self, made: &Access) -> bool {
        let (shared, mut own) = (&*self.shared, self.own.borrow_mut());
        let what = what(made.kind);
        let found = match made.location {
            AccessLocation::Lds(at) => own.in_lds(shared, at, made.size as u64, what),
            AccessLocation::Memory(at) => {
                own.in_memory(shared, (at, made.size as u64), (what, made.scalar))
            }
            _ => false,
        };
        if found && !(made.unchanged && what == What::Store) {
            shared.find();
        }
        true
    }

    fn lanes(&self, lanes: &Lanes<'_>) -> bool {
        let (shared, mut own) = (&*self.shared, self.own.borrow_mut());
        if lanes.kind == MemoryKind::Atomic {
            return false;
        }
        let (what, size) = (what(lanes.kind), lanes.size as u64);
        let mut found = false;
        for (_, at) in lanes.each() {
            found |= match lanes.lds {
                true => own.in_lds(shared, at, size, what),
                false => own.in_memory(shared, (at, size), (what, lanes.scalar)),
            };
        }
        match (found, what) {
            // A store of what is there already is none; each lane is asked.
            (true, What::Store) => return false,
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
    /// What follows is done by this wave.
    fn turn(&mut self, shared: &Shared, wave: usize) {
        // More waves than there are numbers for.
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
        // More workgroups than there are numbers for.
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
    fn what_is_not_ordered_is_found() {
        use What::{Atomic, Load, Store};
        let run = |lds: bool, steps: &[(u32, u32, u32, u32, What)]| {
            let mut word = Word::default();
            let each = steps.iter().map(|&(group, epoch, wave, mask, what)| {
                access(&mut word, stamp(group, epoch, wave), mask, what, lds)
            });
            each.collect::<Vec<bool>>()
        };
        // One wave; another one after a barrier, and without.
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
        // Bytes of a dword by two workgroups; then neither may touch all.
        let bytes = [
            (1, 0, 0, 3, Store),
            (2, 0, 0, 12, Store),
            (1, 0, 0, 3, Store),
        ];
        assert_eq!(run(false, &bytes), [false, false, true]);
        // Atomics: with each other nowhere, beside plain accesses in LDS alone.
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

    /// However memory is accessed, it has no more than four and a half bytes for each of its bytes.
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
            for what in [What::Load, What::Store] {
                shared.records(&shared.extents[0], what);
            }
            shared.again().expect("accesses that were missed")
        };
        let kept = || {
            let pages = |table: &Mutex<Pages>| {
                let pages = table.lock().unwrap_or_else(PoisonError::into_inner);
                let own = pages.values().flat_map(|page| &page.own).flatten().count();
                let entries = pages.capacity() * (size_of::<(u64, Box<Page>)>() + 1);
                pages.len() * size_of::<Page>() + own * size_of::<[Word; UNIT]>() + entries
            };
            shared.memory.iter().map(pages).sum::<usize>()
        };
        let mut own = Own::default();
        own.turn(&shared, 0);
        // By rows of 256 bytes, all alike; then single bytes.
        for at in (start..start + bytes).step_by(256) {
            own.in_memory(&shared, (at, 256), (What::Load, false));
        }
        let alike = kept() as f64 / bytes as f64;
        for at in (start..start + bytes).step_by(5) {
            own.in_memory(&shared, (at, 1), (What::Store, false));
        }
        let each = kept() as f64 / bytes as f64;
        assert!(alike > 0.2 && alike < 0.5, "{alike}");
        assert!(each > 4.0 && each < 4.5, "{each}");
    }
}
