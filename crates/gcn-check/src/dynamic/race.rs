//! Data races: unordered accesses of two waves to one byte, at least one of them a store.
//!
//! Every word of memory and LDS has records of two writes and two reads, each with the wave, the time and the bytes. Time is the number
//! of the instruction in the order in which the dispatch ran. For each other wave, a wave has the time up to which it is ordered after
//! that wave. Barriers and atomics pass these times on.

use foldhash::HashMap;

/// For each other wave, by number: the time up to which this wave is ordered after it.
pub type VectorClock = HashMap<u32, u32>;

/// An access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// The number of the wave in the order in which they began.
    pub wave: u32,
    /// The time.
    pub time: u32,
    /// The time up to which the wave's earlier memory accesses were complete when it made this access.
    pub done: u32,
    /// The instruction's number. The top bit is set if the access is atomic.
    site: u32,
}

const ATOMIC: u32 = 1 << 31;

impl Stamp {
    /// Returns the number of the instruction.
    pub fn site(&self) -> usize {
        (self.site & !ATOMIC) as usize
    }

    /// Returns true if the access is atomic.
    pub fn is_atomic(&self) -> bool {
        self.site & ATOMIC != 0
    }
}

/// An access of a word. The lowest bits are the accessed bytes, one bit each; the next bit says that it is a store of the value that was
/// there already; the upper bits are the number of the stamp, which all lanes of an instruction share. 0 means no access.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Mark(u32);

impl Mark {
    const NONE: Mark = Mark(0);
    const BYTES: u32 = 4;
    const SILENT: u32 = 1 << Mark::BYTES;
    const STAMP: u32 = Mark::BYTES + 1;

    fn new(stamp: u32, bytes: u32, silent: bool) -> Mark {
        Mark(stamp << Mark::STAMP | bytes | if silent { Mark::SILENT } else { 0 })
    }

    fn bytes(self) -> u32 {
        self.0 & ((1 << Mark::BYTES) - 1)
    }

    fn is_silent(self) -> bool {
        self.0 & Mark::SILENT != 0
    }

    /// Nothing is there, or a store that changed nothing.
    fn may_give_way(self) -> bool {
        self.bytes() == 0 || self.is_silent()
    }

    fn stamp(self) -> usize {
        (self.0 >> Mark::STAMP) as usize
    }
}

/// The maximum number of stamps, which the bits of [`Mark`] limit.
const MOST_STAMPS: usize = 1 << (32 - Mark::STAMP);

/// The number of stamps below which unused stamps are not removed.
const FEW_STAMPS: usize = 1 << 12;

#[derive(Clone, Copy)]
struct Word {
    writes: [Mark; 2],
    reads: [Mark; 2],
}

const EMPTY: Word = Word {
    writes: [Mark::NONE; 2],
    reads: [Mark::NONE; 2],
};

/// The number of words in a page.
const WORDS: usize = 256;

/// Unused stamps are not removed while there is at most one stamp per this number of words.
const WORDS_A_STAMP: usize = 8;

/// A release by a wave.
#[derive(Clone, Copy, Debug)]
pub struct Released {
    /// The wave.
    pub wave: u32,
    /// The time.
    pub time: u32,
    /// See [`Stamp::done`].
    pub done: u32,
}

/// The recorded accesses of a memory.
#[derive(Default)]
pub struct Accesses {
    pages: Vec<Box<[Word]>>,
    numbers: HashMap<u64, usize>,
    /// The page that was accessed last, and its index in `pages`.
    last: Option<(u64, usize)>,
    stamps: Vec<Stamp>,
    /// The number of stamps at which unused ones are removed.
    limit: usize,
    /// The releases by word and wave: the time and [`Stamp::done`].
    released: HashMap<u64, HashMap<u32, (u32, u32)>>,
}

/// The kind of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A load.
    Load,
    /// A load with GLC. It does not race with atomics.
    Volatile,
    /// A store.
    Store,
    /// An atomic.
    Atomic,
}

/// A new access.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    /// The wave.
    pub wave: u32,
    /// The time.
    pub time: u32,
    /// See [`Stamp::done`].
    pub done: u32,
    /// The instruction.
    pub site: u32,
    /// The kind of the access.
    pub kind: Kind,
    /// The access is in LDS, where a plain access can race with an atomic.
    pub lds: bool,
    /// The value does not change. An atomic then counts as a read, and a store races only with later writes.
    pub unchanged: bool,
}

impl Accesses {
    /// Records an access of up to 16 bytes. Returns an earlier one that it races with.
    pub fn access(&mut self, made: Made, known: &VectorClock, at: u64, size: u8) -> Option<Stamp> {
        let stamp = self.stamp(made);
        let mut found = None;
        let end = at.wrapping_add(size as u64);
        let mut word = at / 4;
        while word * 4 < end {
            let first = at.saturating_sub(word * 4).min(4);
            let last = (end - word * 4).min(4);
            let silent = made.kind == Kind::Store && made.unchanged;
            let mark = Mark::new(stamp, (1u32 << last) - (1 << first), silent);
            let race = self.word(made, known, word, mark);
            found = found.or(race);
            word += 1;
        }
        found
    }

    /// Returns the number of an access's stamp. All lanes of an instruction share the last stamp, because they come one after the other.
    fn stamp(&mut self, made: Made) -> u32 {
        let atomic = matches!(made.kind, Kind::Atomic | Kind::Volatile);
        let new = Stamp {
            wave: made.wave,
            time: made.time,
            done: made.done,
            site: made.site | if atomic { ATOMIC } else { 0 },
        };
        if self.stamps.last() != Some(&new) {
            let more = self.pages.len() * WORDS / WORDS_A_STAMP;
            if self.stamps.len() >= self.limit.max(FEW_STAMPS).max(more).min(MOST_STAMPS) {
                self.invalidate();
            }
            self.stamps.push(new);
        }
        self.stamps.len() as u32 - 1
    }

    /// Removes the unused stamps.
    fn invalidate(&mut self) {
        let words = || self.pages.iter().flatten();
        let mut numbers = vec![u32::MAX; self.stamps.len()];
        for mark in words().flat_map(|w| w.writes.iter().chain(&w.reads)) {
            if *mark != Mark::NONE {
                numbers[mark.stamp()] = 0;
            }
        }
        let mut kept = Vec::new();
        for (number, stamp) in numbers.iter_mut().zip(&self.stamps) {
            if *number == 0 {
                *number = kept.len() as u32;
                kept.push(*stamp);
            }
        }
        if kept.len() > MOST_STAMPS / 2 {
            // Too few free numbers remain, so all earlier accesses are dropped.
            *self = Accesses {
                released: std::mem::take(&mut self.released),
                ..Accesses::default()
            };
            return;
        }
        for mark in (self.pages.iter_mut().flatten())
            .flat_map(|w| w.writes.iter_mut().chain(&mut w.reads))
            .filter(|mark| **mark != Mark::NONE)
        {
            *mark = Mark::new(numbers[mark.stamp()], mark.bytes(), mark.is_silent());
        }
        self.limit = kept.len() + kept.len() / 2;
        self.stamps = kept;
    }

    fn word(&mut self, made: Made, known: &VectorClock, word: u64, mark: Mark) -> Option<Stamp> {
        let number = word / WORDS as u64;
        let location = match self.last {
            Some((last, location)) if last == number => location,
            _ => *self.numbers.entry(number).or_insert_with(|| {
                self.pages.push(vec![EMPTY; WORDS].into_boxed_slice());
                self.pages.len() - 1
            }),
        };
        self.last = Some((number, location));
        let stamps = &self.stamps;
        let cell = &mut self.pages[location][word as usize % WORDS];
        let atomic = matches!(made.kind, Kind::Atomic | Kind::Volatile);
        let ordered = |s: &Stamp| {
            s.wave == made.wave || known.get(&s.wave).is_some_and(|time| s.time <= *time)
        };
        let silent = mark.is_silent();
        let writes = match made.kind {
            Kind::Load | Kind::Volatile => false,
            Kind::Store => true,
            Kind::Atomic => !made.unchanged,
        };
        let racing = |m: &Mark| {
            let s = stamps[m.stamp()];
            let both = s.is_atomic() && atomic;
            // In memory, a plain store beside atomics may be an atomic one, such as the release of a lock.
            let mixed = !made.lds && (s.is_atomic() || atomic);
            // A load gets the same value before and after a store that changes nothing.
            let alike = m.is_silent() && !writes;
            let excused = both || mixed || alike || ordered(&s);
            (m.bytes() & mark.bytes() != 0 && !excused).then_some(s)
        };
        let first = |of: &[Mark; 2]| of.iter().find_map(racing).filter(|_| !silent);
        let read = || first(&cell.reads).filter(|_| writes);
        let found = first(&cell.writes).or_else(read);
        let slots = if writes {
            &mut cell.writes
        } else {
            &mut cell.reads
        };
        // A wave's plain and atomic accesses have separate slots, because another wave may race with one and not with the other.
        let by_wave = |m: &Mark| stamps[m.stamp()].wave == made.wave;
        let is_own =
            |m: &Mark| m.bytes() != 0 && by_wave(m) && stamps[m.stamp()].is_atomic() == atomic;
        let is_free = |m: &Mark| m.bytes() == 0 || !by_wave(m) && ordered(&stamps[m.stamp()]);
        let free = || slots.iter().position(is_free);
        let own = slots.iter().position(is_own);
        let empty = || slots.iter().position(|m| m.bytes() == 0);
        let by_silent = || slots.iter().position(|m| m.is_silent());
        let slot = match silent {
            // It takes no other store's place: others' loads race with that one.
            true => (own.or_else(empty).or_else(by_silent)).filter(|n| slots[*n].may_give_way()),
            false => Some(own.or_else(free).or_else(by_silent).unwrap_or(1)),
        };
        if let Some(slot) = slot {
            slots[slot] = mark;
        }
        found
    }

    fn find(&self, word: u64) -> Option<&Word> {
        let location = *self.numbers.get(&(word / WORDS as u64))?;
        Some(&self.pages[location][word as usize % WORDS])
    }

    /// The last store that changed a word.
    pub fn changed(&self, at: u64) -> Option<Stamp> {
        self.last_write(at, |m| !m.is_silent())
    }

    fn last_write(&self, at: u64, counts: impl Fn(&Mark) -> bool) -> Option<Stamp> {
        let cell = self.find(at / 4)?;
        let writes = (cell.writes.iter()).filter(|m| m.bytes() != 0 && counts(m));
        let writes = writes.map(|m| self.stamps[m.stamp()]);
        writes.max_by_key(|s| s.time)
    }

    /// Returns the plain loads from the 64-byte line that contains an address.
    pub fn loads_of_line(&self, at: u64) -> impl Iterator<Item = Stamp> {
        let words = (at / 64 * 16..).take(16).filter_map(|word| self.find(word));
        let marks = words.flat_map(|cell| cell.reads).filter(|m| m.bytes() != 0);
        let stamps = marks.map(|m| self.stamps[m.stamp()]);
        stamps.filter(|s| !s.is_atomic())
    }

    /// Records that a wave releases its accesses by an atomic.
    pub fn release(&mut self, at: u64, released: Released) {
        let of_word = self.released.entry(at / 4).or_default();
        of_word.insert(released.wave, (released.time, released.done));
    }

    /// Returns the releases and the last store at an address.
    pub fn acquire(&self, at: u64) -> Vec<Released> {
        let released = self.released.get(&(at / 4)).into_iter().flatten();
        let released = released.map(|(&wave, &(time, done))| Released { wave, time, done });
        let stored = self.last_write(at, |_| true).map(|s| Released {
            wave: s.wave,
            time: s.time,
            done: s.done,
        });
        released.chain(stored).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(wave: u32, time: u32, kind: Kind) -> Made {
        Made {
            wave,
            time,
            done: time,
            site: time,
            kind,
            lds: true,
            unchanged: false,
        }
    }

    #[test]
    fn stores_race_with_what_nothing_orders() {
        let mut memory = Accesses::default();
        let none = VectorClock::default();
        assert_eq!(memory.access(made(0, 1, Kind::Store), &none, 8, 4), None);
        assert_eq!(memory.access(made(0, 2, Kind::Load), &none, 8, 4), None);
        // Another word does not race; a byte of the stored word does.
        assert_eq!(memory.access(made(1, 3, Kind::Load), &none, 12, 4), None);
        let race = memory.access(made(1, 4, Kind::Load), &none, 10, 1);
        assert_eq!(race.map(|s| (s.wave, s.time)), Some((0, 1)));
        let after: VectorClock = [(0, 2)].into_iter().collect();
        assert_eq!(memory.access(made(2, 5, Kind::Load), &after, 8, 4), None);
        let race = memory.access(made(0, 6, Kind::Store), &none, 8, 4);
        assert!(race.is_some_and(|s| s.wave != 0));
    }

    #[test]
    fn atomics_do_not_race_with_each_other() {
        let mut memory = Accesses::default();
        let none = VectorClock::default();
        assert_eq!(memory.access(made(0, 1, Kind::Atomic), &none, 0, 4), None);
        assert_eq!(memory.access(made(1, 2, Kind::Atomic), &none, 0, 4), None);
        assert!(memory.access(made(2, 3, Kind::Load), &none, 0, 4).is_some());
        // A store stays recorded after an atomic of the same wave.
        assert_eq!(memory.access(made(0, 4, Kind::Store), &none, 8, 4), None);
        assert_eq!(memory.access(made(0, 5, Kind::Atomic), &none, 8, 4), None);
        let race = memory.access(made(1, 6, Kind::Atomic), &none, 8, 4);
        assert_eq!(race.map(|s| (s.wave, s.time)), Some((0, 4)));
    }

    /// A store of what is there races with stores of other values and not with loads, whichever comes first, and does not hide another
    /// store.
    #[test]
    fn stores_of_what_is_there_race_with_stores_alone() {
        let none = VectorClock::default();
        let store = |wave, time, unchanged| Made {
            unchanged,
            ..made(wave, time, Kind::Store)
        };
        let mut memory = Accesses::default();
        assert_eq!(memory.access(made(0, 1, Kind::Load), &none, 8, 4), None);
        assert_eq!(memory.access(store(1, 2, true), &none, 8, 4), None);
        assert_eq!(memory.access(made(2, 3, Kind::Load), &none, 8, 4), None);
        memory.invalidate();
        assert_eq!(memory.access(made(3, 4, Kind::Load), &none, 8, 4), None);
        let mut others = Accesses::default();
        assert_eq!(others.access(store(1, 2, true), &none, 8, 4), None);
        let race = others.access(store(2, 3, false), &none, 8, 4);
        assert_eq!(race.map(|s| s.wave), Some(1));
        // The second store is by the same wave, or by one that is ordered after the first.
        for (wave, known) in [(1, &none), (3, &VectorClock::from_iter([(1, 2)]))] {
            let mut hidden = Accesses::default();
            assert_eq!(hidden.access(store(1, 2, false), &none, 8, 4), None);
            assert_eq!(hidden.access(store(wave, 3, true), known, 8, 4), None);
            let race = hidden.access(made(2, 4, Kind::Load), &none, 8, 4);
            assert_eq!(race.map(|s| s.time), Some(2));
        }
    }

    /// The size of the records does not grow with the number of accesses.
    #[test]
    fn records_are_small() {
        let known = VectorClock::default();
        let mut memory = Accesses::default();
        let (words, mut seed, mut time) = (1u64 << 18, 1u64, 0);
        for _ in 0..1 << 15 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
            // Waves access rows of dwords, and sometimes a single lane accesses one.
            let (first, lanes) = (
                seed >> 40 & (words - 64),
                if seed >> 33 & 7 == 0 { 1 } else { 64 },
            );
            time += 1;
            let kind = if seed >> 60 & 1 == 0 {
                Kind::Load
            } else {
                Kind::Store
            };
            for lane in 0..lanes {
                memory.access(
                    made(seed as u32 >> 24, time, kind),
                    &known,
                    4 * (first + lane),
                    4,
                );
            }
        }
        let touched = memory.pages.len() * WORDS * 4;
        assert!(touched as u64 > 2 * words, "{touched}");
        let stamps = memory.stamps.capacity() * size_of::<Stamp>();
        let kept = memory.pages.len() * (WORDS * size_of::<Word>() + 48) + stamps;
        assert!(kept < 5 * touched, "{kept} for {touched}");
        // The last access of each word is still recorded.
        memory.invalidate();
        memory.access(made(7, time + 1, Kind::Store), &known, 64, 4);
        memory.invalidate();
        assert_eq!(
            memory.changed(64).map(|s| (s.wave, s.time)),
            Some((7, time + 1))
        );
    }
}
