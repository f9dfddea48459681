//! The memory of random code: pages of every permission with holes between them, at the edges of the arena and far
//! from it, with known contents.

use super::rng::Rng;
use gcn_emu::mem::{ADDRESS_END, LINEAR_BASE, Memory, PAGE_SIZE, Perm};

/// Pages of code from [`Pages::code`] on.
const CODE_PAGES: u64 = 4;
/// Where memory for code begins.
const CODE: u64 = LINEAR_BASE + 32 * PAGE_SIZE;
/// Consecutive writable pages.
pub const DATA: u64 = LINEAR_BASE + 4 * PAGE_SIZE;
pub const DATA_PAGES: u64 = 3;
/// A separate area where registers are stored for the comparison.
pub const DUMP: u64 = LINEAR_BASE + 20 * PAGE_SIZE;

/// Memory and its contents before each run.
pub struct Pages {
    pub memory: Memory,
    pages: Vec<(u64, Perm)>,
    before: Vec<u8>,
}

impl Pages {
    pub fn new() -> Pages {
        let memory = Memory::new(1 << 20).expect("memory");
        let linear_end = memory.own().end;
        assert_eq!(
            memory.own().start,
            LINEAR_BASE,
            "with GCN_MEMORY=host tests run one after the other: --test-threads=1"
        );
        let page = |n: u64| LINEAR_BASE + n * PAGE_SIZE;
        let mut pages = vec![
            (0, Perm::RW),
            (LINEAR_BASE - PAGE_SIZE, Perm::RW),
            (LINEAR_BASE, Perm::RW),
            (page(8), Perm::READ),
            (page(9), Perm::RW),
            (page(10), Perm::WRITE),
            (page(11), Perm::RW),
            (page(12), Perm::NONE),
            (linear_end - PAGE_SIZE, Perm::RW),
            (0x7000_0000_0000, Perm::RW),
            (ADDRESS_END - PAGE_SIZE, Perm::RW),
        ];
        pages.extend((0..DATA_PAGES).map(|n| (DATA + n * PAGE_SIZE, Perm::RW)));
        pages.extend((0..2).map(|n| (DUMP + n * PAGE_SIZE, Perm::RW)));
        for &(at, perm) in &pages {
            memory.map_at(at, PAGE_SIZE, perm).expect("a page");
        }
        memory
            .map_at(CODE, CODE_PAGES * PAGE_SIZE, Perm::RX)
            .expect("pages");
        let mut r = Rng(77);
        let mut before = Vec::new();
        for _ in &pages {
            // The contents are small numbers, which may be offsets, and random ones.
            before.extend((0..PAGE_SIZE / 4).flat_map(|_| r.word().to_le_bytes()));
        }
        Pages {
            memory,
            pages,
            before,
        }
    }

    /// Restores all contents.
    pub fn reset(&self) {
        let contents = self.before.chunks_exact(PAGE_SIZE as usize);
        for (&(at, perm), bytes) in self.pages.iter().zip(contents) {
            if perm != Perm::RW {
                self.memory
                    .protect(at, PAGE_SIZE, Perm::RW)
                    .expect("mapped");
            }
            self.memory.write(at, bytes).expect("writable");
            if perm != Perm::RW {
                self.memory.protect(at, PAGE_SIZE, perm).expect("mapped");
            }
        }
    }

    /// Reads the current contents.
    pub fn contents(&self, out: &mut Vec<u8>) {
        out.resize(self.before.len(), 0);
        let contents = out.chunks_exact_mut(PAGE_SIZE as usize);
        for (&(at, perm), bytes) in self.pages.iter().zip(contents) {
            if perm != Perm::RW {
                self.memory
                    .protect(at, PAGE_SIZE, Perm::RW)
                    .expect("mapped");
            }
            self.memory.read(at, bytes).expect("readable");
            if perm != Perm::RW {
                self.memory.protect(at, PAGE_SIZE, perm).expect("mapped");
            }
        }
    }

    /// Returns the first difference of two contents.
    pub fn difference(&self, a: &[u8], b: &[u8]) -> Option<String> {
        let at = (0..a.len()).find(|&at| a[at] != b[at])? & !3;
        let page = PAGE_SIZE as usize;
        let word = |m: &[u8]| u32::from_le_bytes([m[at], m[at + 1], m[at + 2], m[at + 3]]);
        Some(format!(
            "memory at {:#x}: {:#x}, compiled {:#x}, before {:#x}\n",
            self.pages[at / page].0 + (at % page) as u64,
            word(a),
            word(b),
            word(&self.before)
        ))
    }

    /// Puts code where it can be executed and returns its address.
    pub fn set_code(&self, code: &[u8]) -> u64 {
        let bytes = CODE_PAGES * PAGE_SIZE;
        assert!(code.len() as u64 <= bytes);
        self.memory.protect(CODE, bytes, Perm::RW).expect("mapped");
        self.memory.write(CODE, code).expect("writable");
        self.memory.protect(CODE, bytes, Perm::RX).expect("mapped");
        CODE
    }

    /// Returns an address, which is mostly valid.
    pub fn address(&self, r: &mut Rng) -> u64 {
        let page = |n: u64| LINEAR_BASE + n * PAGE_SIZE;
        let inside = r.below(DATA_PAGES * PAGE_SIZE);
        match r.below(40) {
            0 => page(8) + inside % PAGE_SIZE,
            1 => page(10) + inside % PAGE_SIZE,
            2 => page(9) - 1 - inside % 64,
            3 => page(10) - 1 - inside % 64,
            4 => page(12) - 1 - inside % 64,
            5 => LINEAR_BASE - 1 - inside % 64,
            6 => self.memory.own().end - 1 - inside % 300,
            7 => ADDRESS_END - 1 - inside % 300,
            8 => inside % PAGE_SIZE,
            9 => 0x7000_0000_0000 + inside % PAGE_SIZE,
            10 => DATA - 1 - inside % 64,
            11 => DATA + DATA_PAGES * PAGE_SIZE - 1 - inside % 300,
            12 => r.next(),
            13 => u64::MAX - inside % 300,
            14 => 0x0001_0000_0000_0000 + inside % 1200,
            15 => 0x0002_0000_0000_0000 + inside % 1200,
            16 => CODE + inside % PAGE_SIZE,
            17 => self.memory.own().end + inside % 5000,
            18 => LINEAR_BASE + inside % PAGE_SIZE,
            19 => DATA + inside,
            _ => DATA + (inside & !15),
        }
    }

    /// Returns true if nothing was written to unmapped pages. Ends the use of this memory.
    pub fn holes_are_empty(&self) -> bool {
        let end = self.memory.own().end;
        let mut bytes = [0; PAGE_SIZE as usize];
        (LINEAR_BASE..end).step_by(PAGE_SIZE as usize).all(|at| {
            // A page that was never mapped is not cleared by mapping it.
            self.memory.map_at(at, PAGE_SIZE, Perm::RW).is_err()
                || (self.memory.read(at, &mut bytes).is_ok()
                    && self.memory.free(at).is_ok()
                    && bytes == [0; PAGE_SIZE as usize])
        })
    }
}
