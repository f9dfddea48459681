//! The tables: one row per instruction, one file per format.

use crate::format::{FORMATS, Format, layout_in};
use crate::inst::{Inst, NO};
use crate::shape::{Imm, Role};
use crate::target::{Gen, TABLE, TABLES, Target};

mod approx;
pub mod common;
pub mod ds;
pub mod exp;
pub mod flat;
pub mod memory;
pub mod mimg;
pub mod mtbuf;
pub mod mubuf;
pub mod smem;
pub mod sop1;
pub mod sop2;
pub mod sopc;
pub mod sopk;
pub mod sopp;
pub mod timing;
pub mod typed;
pub mod vintrp;
pub mod vop1;
pub mod vop2;
pub mod vop3;
pub mod vop3p;
pub mod vopc;

/// The rows of each format, indexed by `Format as usize`.
pub static ROWS: [&[Inst]; FORMATS] = [
    sop1::ROWS,
    sop2::ROWS,
    sopc::ROWS,
    sopk::ROWS,
    sopp::ROWS,
    smem::ROWS,
    vop1::ROWS,
    vop2::ROWS,
    vopc::ROWS,
    vop3::ROWS,
    vop3p::ROWS,
    vintrp::ROWS,
    ds::ROWS,
    mubuf::ROWS,
    mtbuf::ROWS,
    mimg::ROWS,
    flat::FLAT,
    flat::GLOBAL,
    flat::SCRATCH,
    exp::ROWS,
];

/// Every row, in the order of the formats.
pub fn all() -> impl Iterator<Item = &'static Inst> {
    ROWS.iter().flat_map(|rows| rows.iter())
}

/// The number of rows.
pub const fn count() -> usize {
    COUNT
}

/// The number of the first row of each format.
static BASE: [usize; FORMATS] = {
    let mut base = [0; FORMATS];
    let mut f = 1;
    while f < FORMATS {
        base[f] = base[f - 1] + ROWS[f - 1].len();
        f += 1;
    }
    base
};

const COUNT: usize = {
    let mut n = 0;
    let mut f = 0;
    while f < FORMATS {
        n += ROWS[f].len();
        f += 1;
    }
    n
};

/// The number of a row among all rows, for caches. The row must be an element of [`ROWS`], as every row from decoding or a
/// look-up is.
#[inline]
pub fn number(row: &'static Inst) -> usize {
    let f = row.format as usize;
    let rows = ROWS[f];
    let within = (core::ptr::from_ref(row).addr() - rows.as_ptr().addr()) / size_of::<Inst>();
    assert!(core::ptr::eq(&rows[within], row));
    BASE[f] + within
}

/// The number of entries of all formats in an index.
pub(crate) const SPAN: usize = offset(FORMATS);

/// The first entry of a format in an index.
pub(crate) const fn offset(format: usize) -> usize {
    let mut n = 0;
    let mut f = 0;
    while f < format {
        n += 1 << Format::ALL[f].opcode_bits();
        f += 1;
    }
    n
}

/// The flat list that the indices point into.
static FLAT: [&Inst; COUNT] = {
    let mut flat = [&ROWS[Format::Sop2 as usize][0]; COUNT];
    let mut n = 0;
    let mut f = 0;
    while f < FORMATS {
        let mut r = 0;
        while r < ROWS[f].len() {
            flat[n] = &ROWS[f][r];
            n += 1;
            r += 1;
        }
        f += 1;
    }
    flat
};

/// The decoder's data about an instruction, in addition to its row.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// The row's number, or [`NO`].
    pub number: u16,
    /// Bits: [`Entry::LITERAL0`] and the constants after it.
    pub what: u8,
}

impl Entry {
    /// Its first source (or SMEM's offset) may be a literal.
    pub const LITERAL0: u8 = 1;
    /// SSRC1 may be a literal.
    pub const LITERAL1: u8 = 2;
    /// A literal always follows.
    pub const K: u8 = 4;
    /// SRC0 may be the code for SDWA.
    pub const SDWA: u8 = 8;
    /// SRC0 may be the code for DPP.
    pub const DPP: u8 = 16;
    /// Its VOP3 encoding is VOP3B.
    pub const VOP3B: u8 = 32;
    /// SIMM16 is a branch's target.
    pub const BRANCH: u8 = 64;
    /// Its encoding has 8 bytes.
    pub const WIDE: u8 = 128;

    /// Returns true if there is an instruction.
    pub const fn exists(self) -> bool {
        self.number != NO
    }

    const NONE: Entry = Entry {
        number: NO,
        what: 0,
    };

    const fn new(number: u16, row: &Inst, generation: Gen, promoted: bool) -> Entry {
        let mut what = 0;
        if promoted || layout_in(row.format.encoding(), generation).bytes == 8 {
            what |= Entry::WIDE;
        }
        if promoted {
            if row.shape.is_vop3b() {
                what |= Entry::VOP3B;
            }
            return Entry { number, what };
        }
        // v_nop has no SRC0, but it has DPP and SDWA forms.
        if row.shape.slots.is_empty()
            && matches!(row.format, Format::Vop1)
            && row.has_dpp(generation)
        {
            what |= Entry::DPP;
            if row.has_sdwa(generation) {
                what |= Entry::SDWA;
            }
        }
        let mut n = 0;
        while n < row.shape.slots.len() {
            what |= match row.shape.slots[n].role {
                Role::Ssrc0 => Entry::LITERAL0,
                Role::Ssrc1 => Entry::LITERAL1,
                Role::K => Entry::K,
                Role::Imm(Imm::Branch) => Entry::BRANCH,
                Role::Soff if matches!(generation, Gen::Gfx7) => Entry::LITERAL0,
                Role::Src0 if matches!(row.format, Format::Vop1 | Format::Vop2 | Format::Vopc) => {
                    let sdwa = row.has_sdwa(generation);
                    let dpp = row.has_dpp(generation);
                    let sdwa = if sdwa { Entry::SDWA } else { 0 };
                    let dpp = if dpp { Entry::DPP } else { 0 };
                    Entry::LITERAL0 | sdwa | dpp
                }
                _ => 0,
            };
            n += 1;
        }
        Entry { number, what }
    }
}

/// The index of one table: (format, opcode) to row; the last entry has no row. VOP3's part also holds the promoted rows.
pub(crate) type Index = [Entry; SPAN + 1];

/// The indices of the tables. Two rows with one opcode cause a compile error.
static INDEX: [Index; TABLES] = {
    let mut index = [[Entry::NONE; SPAN + 1]; TABLES];
    let mut t = 0;
    while t < TABLES {
        let (generation, features) = TABLE[t];
        let mut n = 0;
        while n < COUNT {
            let row = FLAT[n];
            if let Some(op) = row.opcode_in(generation)
                && features.has(row.needs)
            {
                let vop3 = matches!(row.format, Format::Vop3);
                let entry = Entry::new(n as u16, row, generation, vop3);
                put(&mut index[t], row.format as usize, op, entry);
                if row.also_read != NO && generation as u8 >= Gen::Gfx8 as u8 {
                    let entry = Entry::new(n as u16, row, generation, vop3);
                    put(&mut index[t], row.format as usize, row.also_read, entry);
                }
                if !vop3
                    && row.has_vop3()
                    && let Some(plus) = row.format.vop3_offset(generation)
                {
                    let entry = Entry::new(n as u16, row, generation, true);
                    put(&mut index[t], Format::Vop3 as usize, op + plus, entry);
                }
            }
            n += 1;
        }
        t += 1;
    }
    index
};

const fn put(index: &mut Index, format: usize, op: u16, entry: Entry) {
    assert!(
        (op as usize) < 1 << Format::ALL[format].opcode_bits(),
        "an opcode is too large for its format"
    );
    let at = offset(format) + op as usize;
    assert!(index[at].number == NO, "two rows have the same opcode");
    index[at] = entry;
}

/// The index of a target.
pub(crate) fn index(target: Target) -> &'static Index {
    index_of(target.table())
}

/// A table's index.
pub(crate) const fn index_of(table: usize) -> &'static Index {
    &INDEX[table]
}

/// The row with a number.
#[inline]
pub(crate) fn numbered(number: u16) -> Option<&'static Inst> {
    FLAT.get(number as usize).copied()
}

/// The row with an opcode in a format; with [`Format::Vop3`] that may be a promoted row of
/// another format.
#[inline]
pub fn lookup(target: Target, format: Format, op: u32) -> Option<&'static Inst> {
    if op >= 1 << format.opcode_bits() {
        return None;
    }
    let at = offset(format as usize) + op as usize;
    numbered(index(target)[at].number)
}

/// The rows that a target has.
pub fn of_target(target: Target) -> impl Iterator<Item = &'static Inst> {
    all().filter(move |row| exists(row, target))
}

/// Returns true if a target has an instruction.
pub fn exists(row: &Inst, target: Target) -> bool {
    row.opcode_in(target.generation()).is_some() && target.features().has(row.needs)
}

const NAME_SLOTS: usize = 4096;

/// An open hash table of every name, CLRX name and alias to row numbers, computed at compile time.
static NAMES: [u16; NAME_SLOTS] = {
    let mut slots = [NO; NAME_SLOTS];
    let mut n = 0;
    while n < COUNT {
        let row = FLAT[n];
        insert(&mut slots, row.name, n as u16);
        if let Some(name) = row.clrx {
            insert(&mut slots, name, n as u16);
        }
        let mut a = 0;
        while a < row.aliases.len() {
            insert(&mut slots, row.aliases[a], n as u16);
            a += 1;
        }
        n += 1;
    }
    slots
};

const fn hash(name: &[u8]) -> usize {
    let mut h = 0x811c_9dc5u32;
    let mut i = 0;
    while i < name.len() {
        h = (h ^ name[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    ((h ^ (h >> 15)) as usize) % NAME_SLOTS
}

const fn insert(slots: &mut [u16; NAME_SLOTS], name: &str, row: u16) {
    let mut at = hash(name.as_bytes());
    while slots[at] != NO {
        at = (at + 1) % NAME_SLOTS;
    }
    slots[at] = row;
}

/// The rows that a mnemonic names in any generation: by LLVM's name, CLRX's or an alias, in lower
/// case and without `_e32` and the like.
pub fn by_name(name: &str) -> impl Iterator<Item = &'static Inst> {
    let mut at = hash(name.as_bytes());
    core::iter::from_fn(move || {
        let n = NAMES[at];
        at = (at + 1) % NAME_SLOTS;
        (n != NO).then(|| FLAT[n as usize])
    })
    .filter(move |row| row.name == name || row.clrx == Some(name) || row.aliases.contains(&name))
}
