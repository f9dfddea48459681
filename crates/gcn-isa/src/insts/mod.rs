//! The tables: one row an instruction, one file a format.

use crate::format::{FORMATS, Format};
use crate::inst::{Inst, NO};
use crate::target::{TABLE, TABLES, Target};

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

/// How many rows there are.
pub const fn count() -> usize {
    COUNT
}

/// The number of each format's first row.
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

/// The number of a row among all: what caches keep of it. The row must be an element of
/// [`ROWS`], as every row that decoding or a look-up gives is.
pub fn number(row: &'static Inst) -> usize {
    let f = row.format as usize;
    let rows = ROWS[f];
    let within = (core::ptr::from_ref(row).addr() - rows.as_ptr().addr()) / size_of::<Inst>();
    assert!(core::ptr::eq(&rows[within], row));
    BASE[f] + within
}

const SPAN: usize = offset(FORMATS);

/// Where a format's part of an index begins.
const fn offset(format: usize) -> usize {
    let mut n = 0;
    let mut f = 0;
    while f < format {
        n += 1 << Format::ALL[f].opcode_bits();
        f += 1;
    }
    n
}

static OFFSET: [u16; FORMATS] = {
    let mut o = [0; FORMATS];
    let mut f = 0;
    while f < FORMATS {
        o[f] = offset(f) as u16;
        f += 1;
    }
    o
};

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

/// (table, format, opcode) to row; VOP3's part holds the promoted rows too. Two rows on one opcode
/// do not compile.
static INDEX: [[u16; SPAN]; TABLES] = {
    let mut index = [[NO; SPAN]; TABLES];
    let mut t = 0;
    while t < TABLES {
        let (generation, features) = TABLE[t];
        let mut n = 0;
        while n < COUNT {
            let row = FLAT[n];
            if let Some(op) = row.opcode_in(generation)
                && features.has(row.needs)
            {
                put(&mut index[t], row.format as usize, op, n as u16);
                if !matches!(row.format, Format::Vop3)
                    && row.has_vop3()
                    && let Some(plus) = row.format.vop3_offset(generation)
                {
                    put(&mut index[t], Format::Vop3 as usize, op + plus, n as u16);
                }
            }
            n += 1;
        }
        t += 1;
    }
    index
};

const fn put(index: &mut [u16; SPAN], format: usize, op: u16, row: u16) {
    assert!(
        (op as usize) < 1 << Format::ALL[format].opcode_bits(),
        "an opcode is too large for its format"
    );
    let at = offset(format) + op as usize;
    assert!(index[at] == NO, "two rows have the same opcode");
    index[at] = row;
}

/// The row with an opcode in a format; with [`Format::Vop3`] that may be a promoted row of
/// another format.
#[inline]
pub fn lookup(target: Target, format: Format, op: u32) -> Option<&'static Inst> {
    if op >= 1 << format.opcode_bits() {
        return None;
    }
    let at = OFFSET[format as usize] as usize + op as usize;
    match INDEX[target.table()][at] {
        NO => None,
        n => Some(FLAT[n as usize]),
    }
}

/// The rows that a target has.
pub fn of_target(target: Target) -> impl Iterator<Item = &'static Inst> {
    all().filter(move |row| exists(row, target))
}

/// Whether a target has an instruction.
pub fn exists(row: &Inst, target: Target) -> bool {
    row.opcode_in(target.generation()).is_some() && target.features().has(row.needs)
}

const NAME_SLOTS: usize = 4096;

/// An open hash table of every name, CLRX name and alias to row numbers; made by the compiler.
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
