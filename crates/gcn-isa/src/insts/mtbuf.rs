//! MTBUF: buffer accesses whose data and number format are in the instruction.

use super::typed::*;
use crate::format::Format;
use crate::inst::{Inst, NO};
use crate::meaning::Meaning;
use crate::shape::{Mods, Role::*, Shape, Slot, Ty, read, write};
use crate::target::Features;

const fn typed(slots: &'static [Slot]) -> Shape {
    Shape {
        slots,
        mods: Mods::Typed,
    }
}

const fn slots(data: Slot) -> [Slot; 4] {
    [
        data,
        read(BufAddr, Ty::B32),
        read(Srsrc, Ty::B128),
        read(Soffset, Ty::B32),
    ]
}

static LOAD1: Shape = typed(&slots(write(Vdata, Ty::B32)));
static LOAD2: Shape = typed(&slots(write(Vdata, Ty::B64)));
static LOAD3: Shape = typed(&slots(write(Vdata, Ty::B96)));
static LOAD4: Shape = typed(&slots(write(Vdata, Ty::B128)));
// A load into one half of a VGPR keeps the other half.
static LOAD_D16: Shape = typed(&slots(write(Vdata, Ty::B32).read_too()));
static LOAD_D16X3: Shape = typed(&slots(write(Vdata, Ty::B64).read_too()));
static STORE1: Shape = typed(&slots(read(Vdata, Ty::B32)));
static STORE2: Shape = typed(&slots(read(Vdata, Ty::B64)));
static STORE3: Shape = typed(&slots(read(Vdata, Ty::B96)));
static STORE4: Shape = typed(&slots(read(Vdata, Ty::B128)));

const fn tbuffer(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Mtbuf, name, opcode, shape, meaning)
}

const PACKED: Features = Features::PACKED_D16;
const UNPACKED: Features = Features::UNPACKED_D16;

/// The rows. Where a target packs 16-bit elements, their rows have half the registers.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //       name                                 gfx6 gfx7 gfx8 gfx9  shape       meaning
    tbuffer("tbuffer_load_format_x",              [  0,   0,   0,   0], &LOAD1, load_format).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_load_format_xy",             [  1,   1,   1,   1], &LOAD2, load_format).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_load_format_xyz",            [  2,   2,   2,   2], &LOAD3, load_format).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_load_format_xyzw",           [  3,   3,   3,   3], &LOAD4, load_format).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_store_format_x",             [  4,   4,   4,   4], &STORE1, store_format).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_store_format_xy",            [  5,   5,   5,   5], &STORE2, store_format).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_store_format_xyz",           [  6,   6,   6,   6], &STORE3, store_format).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_store_format_xyzw",          [  7,   7,   7,   7], &STORE4, store_format).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_load_format_d16_x",          [ NO,  NO,   8,  NO], &LOAD1, load_format_d16::<1>).needs(UNPACKED).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_load_format_d16_x",          [ NO,  NO,   8,   8], &LOAD_D16, load_format_d16::<1>).needs(PACKED).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_load_format_d16_xy",         [ NO,  NO,   9,  NO], &LOAD2, load_format_d16::<2>).needs(UNPACKED).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_load_format_d16_xy",         [ NO,  NO,   9,   9], &LOAD1, load_format_d16::<2>).needs(PACKED).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_load_format_d16_xyz",        [ NO,  NO,  10,  NO], &LOAD3, load_format_d16::<3>).needs(UNPACKED).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_load_format_d16_xyz",        [ NO,  NO,  10,  10], &LOAD_D16X3, load_format_d16::<3>).needs(PACKED).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_load_format_d16_xyzw",       [ NO,  NO,  11,  NO], &LOAD4, load_format_d16::<4>).needs(UNPACKED).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_load_format_d16_xyzw",       [ NO,  NO,  11,  11], &LOAD2, load_format_d16::<4>).needs(PACKED).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_store_format_d16_x",         [ NO,  NO,  12,  12], &STORE1, store_format_d16::<1>).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_store_format_d16_xy",        [ NO,  NO,  13,  NO], &STORE2, store_format_d16::<2>).needs(UNPACKED).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_store_format_d16_xy",        [ NO,  NO,  13,  13], &STORE1, store_format_d16::<2>).needs(PACKED).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_store_format_d16_xyz",       [ NO,  NO,  14,  NO], &STORE3, store_format_d16::<3>).needs(UNPACKED).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_store_format_d16_xyz",       [ NO,  NO,  14,  14], &STORE2, store_format_d16::<3>).needs(PACKED).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_store_format_d16_xyzw",      [ NO,  NO,  15,  NO], &STORE4, store_format_d16::<4>).needs(UNPACKED).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    tbuffer("tbuffer_store_format_d16_xyzw",      [ NO,  NO,  15,  15], &STORE2, store_format_d16::<4>).needs(PACKED).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
];
