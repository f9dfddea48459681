//! Sets of registers, and their names.

use gcn_isa::access::{File, InstructionInfo, RegAccess};
use gcn_isa::decode::Insn;
use gcn_isa::target::Gen;

/// A set of scalar registers (codes 0 to 127), VGPRs and SCC.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RegisterSet {
    scalar: [u64; 2],
    vector: [u64; 4],
    scc: bool,
}

impl RegisterSet {
    /// No register.
    pub const EMPTY: RegisterSet = RegisterSet {
        scalar: [0; 2],
        vector: [0; 4],
        scc: false,
    };

    fn word(&mut self, file: File, register: u16) -> Option<(&mut u64, u32)> {
        let (word, bit) = (register as usize / 64, register as u32 % 64);
        match file {
            File::Scalar => self.scalar.get_mut(word).map(|w| (w, bit)),
            File::Vector => self.vector.get_mut(word).map(|w| (w, bit)),
            _ => None,
        }
    }

    /// Adds a register. Returns true if it was not in the set.
    pub fn insert(&mut self, file: File, register: u16) -> bool {
        if file == File::Scc {
            return !std::mem::replace(&mut self.scc, true);
        }
        match self.word(file, register) {
            Some((word, bit)) => {
                let new = *word >> bit & 1 == 0;
                *word |= 1 << bit;
                new
            }
            None => false,
        }
    }

    /// Removes a register.
    pub fn remove(&mut self, file: File, register: u16) {
        if file == File::Scc {
            self.scc = false;
        } else if let Some((word, bit)) = self.word(file, register) {
            *word &= !(1 << bit);
        }
    }

    /// Returns true if a register is in the set.
    pub fn contains(&self, file: File, register: u16) -> bool {
        let (word, bit) = (register as usize / 64, register as u32 % 64);
        match file {
            File::Scc => self.scc,
            File::Scalar => self.scalar.get(word).is_some_and(|w| w >> bit & 1 != 0),
            File::Vector => self.vector.get(word).is_some_and(|w| w >> bit & 1 != 0),
            File::Hwreg => false,
        }
    }

    /// Adds the registers of an access.
    pub fn add(&mut self, access: &RegAccess) {
        for n in 0..access.count as u16 {
            self.insert(access.file, access.first + n);
        }
    }

    /// Adds the registers of another set. Returns true if one of them was not in the set.
    pub fn unite(&mut self, other: &RegisterSet) -> bool {
        let before = *self;
        for (a, b) in self.scalar.iter_mut().zip(other.scalar) {
            *a |= b;
        }
        for (a, b) in self.vector.iter_mut().zip(other.vector) {
            *a |= b;
        }
        self.scc |= other.scc;
        *self != before
    }

    /// Keeps the registers that are in another set, too. Returns true if one was removed.
    pub fn intersect(&mut self, other: &RegisterSet) -> bool {
        let before = *self;
        for (a, b) in self.scalar.iter_mut().zip(other.scalar) {
            *a &= b;
        }
        for (a, b) in self.vector.iter_mut().zip(other.vector) {
            *a &= b;
        }
        self.scc &= other.scc;
        *self != before
    }

    /// Removes the registers of another set.
    pub fn subtract(&mut self, other: &RegisterSet) {
        for (a, b) in self.scalar.iter_mut().zip(other.scalar) {
            *a &= !b;
        }
        for (a, b) in self.vector.iter_mut().zip(other.vector) {
            *a &= !b;
        }
        self.scc &= !other.scc;
    }

    /// Returns the registers of a file, in ascending order.
    pub fn of(&self, file: File) -> impl Iterator<Item = u16> {
        let words: &[u64] = match file {
            File::Scalar => &self.scalar,
            File::Vector => &self.vector,
            _ => &[],
        };
        let in_words = words.iter().enumerate().flat_map(|(n, word)| {
            let word = *word;
            let bits = (0..64u16).filter(move |bit| word >> bit & 1 != 0);
            bits.map(move |bit| 64 * n as u16 + bit)
        });
        in_words.chain((file == File::Scc && self.scc).then_some(0))
    }

    /// Returns true if there is no register in the set.
    pub fn is_empty(&self) -> bool {
        *self == RegisterSet::EMPTY
    }

    /// Returns the first register that is in both sets.
    pub fn common(&self, other: &RegisterSet) -> Option<(File, u16)> {
        let mut both = *self;
        both.intersect(other);
        both.first()
    }

    /// Returns the first register of the set.
    pub fn first(&self) -> Option<(File, u16)> {
        let lowest = |words: &[u64]| {
            let at = words.iter().position(|w| *w != 0)?;
            Some(64 * at as u16 + words[at].trailing_zeros() as u16)
        };
        let scalar = lowest(&self.scalar).map(|n| (File::Scalar, n));
        let vector = || lowest(&self.vector).map(|n| (File::Vector, n));
        scalar
            .or_else(vector)
            .or(self.scc.then_some((File::Scc, 0)))
    }
}

/// Returns the registers that an instruction reads and those that it writes, without EXEC, hardware registers, and registers
/// with computed numbers.
pub fn sets(info: &InstructionInfo, insn: &Insn) -> (RegisterSet, RegisterSet) {
    let (mut reads, mut writes) = (RegisterSet::default(), RegisterSet::default());
    for access in info.accesses(insn) {
        let exec = access.file == File::Scalar && access.first == gcn_isa::operand::EXEC;
        if !(access.anywhere || exec && access.implicit) {
            match access.write {
                true => writes.add(&access),
                false => reads.add(&access),
            }
        }
    }
    (reads, writes)
}

/// The name of a register: `s4`, `v0`, `vcc_lo`, `mode`.
pub fn name(file: File, register: u16, generation: Gen) -> String {
    names(file, register, 1, generation)
}

/// The names of consecutive registers: `s[4:7]`, `vcc`.
pub fn names(file: File, first: u16, count: u8, generation: Gen) -> String {
    let access = RegAccess {
        file,
        first,
        count,
        write: false,
        partial: false,
        slot: None,
        implicit: false,
        anywhere: false,
    };
    let mut text = String::new();
    access.each_name(generation, |name| {
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(name);
    });
    text
}
