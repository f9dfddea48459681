//! Data races: unordered accesses of two waves to one byte, at least one of them a store.
//!
//! Every word of memory and LDS remembers two writes and two reads, each with the wave, the time and the bytes. Time is the number of the
//! instruction in the order in which the dispatch ran. Each wave knows, of each other wave, the time up to which it is ordered after it:
//! barriers and atomics pass this knowledge on.

use foldhash::HashMap;

/// What a wave knows of others: the time up to which it is ordered after them.
pub type Known = HashMap<u32, u32>;

/// An access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// The number of the wave in the order in which they began.
    pub wave: u32,
    /// When.
    pub time: u32,
    /// The instruction, and in the top bit that it is atomic.
    pub site: u32,
    /// The bytes of the word, a bit each; 0 if there was no access.
    mask: u32,
}

const ATOMIC: u32 = 1 << 31;

impl Stamp {
    const NONE: Stamp = Stamp {
        wave: 0,
        time: 0,
        site: 0,
        mask: 0,
    };

    /// Its instruction.
    pub fn site(&self) -> usize {
        (self.site & !ATOMIC) as usize
    }

    /// It is atomic.
    pub fn is_atomic(&self) -> bool {
        self.site & ATOMIC != 0
    }
}

#[derive(Clone, Copy)]
struct Word {
    writes: [Stamp; 2],
    reads: [Stamp; 2],
}

const EMPTY: Word = Word {
    writes: [Stamp::NONE; 2],
    reads: [Stamp::NONE; 2],
};

/// Words of a page.
const WORDS: usize = 256;

/// The accesses of a memory.
#[derive(Default)]
pub struct Accesses {
    pages: Vec<Box<[Word]>>,
    numbers: HashMap<u64, usize>,
    /// The page that was accessed last, and its place.
    last: Option<(u64, usize)>,
    /// By word: the waves that released something there, and when.
    released: HashMap<u64, Known>,
}

/// How an access counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A load.
    Load,
    /// A load that other waves' stores may meet: GLC.
    Volatile,
    /// A store.
    Store,
    /// An atomic.
    Atomic,
}

/// An access that is made.
#[derive(Clone, Copy, Debug)]
pub struct Made {
    /// The wave.
    pub wave: u32,
    /// When.
    pub time: u32,
    /// The instruction.
    pub site: u32,
    /// What it is.
    pub kind: Kind,
    /// It is in LDS, where plain accesses beside atomics are races.
    pub lds: bool,
    /// A store of what is there.
    pub unchanged: bool,
}

impl Accesses {
    /// Makes an access of up to 16 bytes. Returns an earlier one that it races with.
    pub fn access(&mut self, made: Made, known: &Known, at: u64, size: u8) -> Option<Stamp> {
        let mut found = None;
        let end = at.wrapping_add(size as u64);
        let mut word = at / 4;
        while word * 4 < end {
            let first = at.saturating_sub(word * 4).min(4);
            let last = (end - word * 4).min(4);
            let mask = (1u32 << last) - (1 << first);
            let race = self.word(made, known, word, mask);
            found = found.or(race);
            word += 1;
        }
        found
    }

    fn word(&mut self, made: Made, known: &Known, word: u64, mask: u32) -> Option<Stamp> {
        let number = word / WORDS as u64;
        let place = match self.last {
            Some((last, place)) if last == number => place,
            _ => *self.numbers.entry(number).or_insert_with(|| {
                self.pages.push(vec![EMPTY; WORDS].into_boxed_slice());
                self.pages.len() - 1
            }),
        };
        self.last = Some((number, place));
        let cell = &mut self.pages[place][word as usize % WORDS];
        let atomic = matches!(made.kind, Kind::Atomic | Kind::Volatile);
        let ordered = |s: &Stamp| {
            s.wave == made.wave || known.get(&s.wave).is_some_and(|time| s.time <= *time)
        };
        let racing = |s: &Stamp| {
            let both = s.is_atomic() && atomic;
            // In memory, a plain store beside atomics may be an atomic one, such as the release of a lock.
            let mixed = !made.lds && (s.is_atomic() || atomic);
            s.mask & mask != 0 && !both && !mixed && !ordered(s)
        };
        let writes = matches!(made.kind, Kind::Store | Kind::Atomic);
        let write = cell
            .writes
            .iter()
            .copied()
            .find(|s| racing(s) && !made.unchanged);
        let read = || {
            cell.reads
                .iter()
                .copied()
                .find(|s| writes && racing(s) && !made.unchanged)
        };
        let found = write.or_else(read);
        let slots = if writes {
            &mut cell.writes
        } else {
            &mut cell.reads
        };
        let own = slots
            .iter()
            .position(|s| s.mask != 0 && s.wave == made.wave);
        let free = || slots.iter().position(|s| s.mask == 0 || ordered(s));
        let slot = own.or_else(free).unwrap_or(1);
        slots[slot] = Stamp {
            wave: made.wave,
            time: made.time,
            site: made.site | if atomic { ATOMIC } else { 0 },
            mask,
        };
        found
    }

    /// The last write of a word.
    pub fn written(&self, at: u64) -> Option<Stamp> {
        let word = at / 4;
        let place = *self.numbers.get(&(word / WORDS as u64))?;
        let cell = &self.pages[place][word as usize % WORDS];
        let writes = cell.writes.iter().filter(|s| s.mask != 0);
        writes.max_by_key(|s| s.time).copied()
    }

    /// A wave passes on what it knows, by an atomic.
    pub fn release(&mut self, at: u64, wave: u32, time: u32) {
        self.released.entry(at / 4).or_default().insert(wave, time);
    }

    /// What the waves that released something at an address have passed on.
    pub fn acquire(&self, at: u64) -> Vec<(u32, u32)> {
        let released = self.released.get(&(at / 4));
        let released = released.into_iter().flatten().map(|(w, t)| (*w, *t));
        let stored = self.written(at).map(|s| (s.wave, s.time));
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
            site: time,
            kind,
            lds: true,
            unchanged: false,
        }
    }

    #[test]
    fn stores_race_with_what_nothing_orders() {
        let mut memory = Accesses::default();
        let none = Known::default();
        assert_eq!(memory.access(made(0, 1, Kind::Store), &none, 8, 4), None);
        assert_eq!(memory.access(made(0, 2, Kind::Load), &none, 8, 4), None);
        // Other bytes of the word are other bytes.
        assert_eq!(memory.access(made(1, 3, Kind::Load), &none, 12, 4), None);
        let race = memory.access(made(1, 4, Kind::Load), &none, 10, 1);
        assert_eq!(race.map(|s| (s.wave, s.time)), Some((0, 1)));
        let after: Known = [(0, 2)].into_iter().collect();
        assert_eq!(memory.access(made(2, 5, Kind::Load), &after, 8, 4), None);
        let race = memory.access(made(0, 6, Kind::Store), &none, 8, 4);
        assert!(race.is_some_and(|s| s.wave != 0));
    }

    #[test]
    fn atomics_do_not_race_with_each_other() {
        let mut memory = Accesses::default();
        let none = Known::default();
        assert_eq!(memory.access(made(0, 1, Kind::Atomic), &none, 0, 4), None);
        assert_eq!(memory.access(made(1, 2, Kind::Atomic), &none, 0, 4), None);
        assert!(memory.access(made(2, 3, Kind::Load), &none, 0, 4).is_some());
    }
}
