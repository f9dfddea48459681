//! MTBUF: buffer accesses whose data and number format are the instruction's.

use crate::format::Format;
use crate::inst::{Inst, NO};
use crate::meaning::Meaning;
use crate::shape::{Access, Mods, Role::*, Shape, Slot, Ty, read, write};
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
static STORE1: Shape = typed(&slots(read(Vdata, Ty::B32)));
static STORE2: Shape = typed(&slots(read(Vdata, Ty::B64)));
static STORE3: Shape = typed(&slots(read(Vdata, Ty::B96)));
static STORE4: Shape = typed(&slots(read(Vdata, Ty::B128)));

const fn tbuffer(name: &'static str, opcode: [u16; 4], shape: &'static Shape) -> Inst {
    let load = matches!(shape.slots[0].access, Access::Write);
    Inst::new(
        Format::Mtbuf,
        name,
        opcode,
        shape,
        if load { typed_load } else { typed_store },
    )
}

const PACKED: Features = Features::PACKED_D16;
const UNPACKED: Features = Features::UNPACKED_D16;

/// The rows. Where a target packs 16-bit elements, their rows have half the registers.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //       name                                 gfx6 gfx7 gfx8 gfx9  shape
    tbuffer("tbuffer_load_format_x",              [  0,   0,   0,   0], &LOAD1),
    tbuffer("tbuffer_load_format_xy",             [  1,   1,   1,   1], &LOAD2),
    tbuffer("tbuffer_load_format_xyz",            [  2,   2,   2,   2], &LOAD3),
    tbuffer("tbuffer_load_format_xyzw",           [  3,   3,   3,   3], &LOAD4),
    tbuffer("tbuffer_store_format_x",             [  4,   4,   4,   4], &STORE1),
    tbuffer("tbuffer_store_format_xy",            [  5,   5,   5,   5], &STORE2),
    tbuffer("tbuffer_store_format_xyz",           [  6,   6,   6,   6], &STORE3),
    tbuffer("tbuffer_store_format_xyzw",          [  7,   7,   7,   7], &STORE4),
    tbuffer("tbuffer_load_format_d16_x",          [ NO,  NO,   8,   8], &LOAD1),
    tbuffer("tbuffer_load_format_d16_xy",         [ NO,  NO,   9,  NO], &LOAD2).needs(UNPACKED),
    tbuffer("tbuffer_load_format_d16_xy",         [ NO,  NO,   9,   9], &LOAD1).needs(PACKED),
    tbuffer("tbuffer_load_format_d16_xyz",        [ NO,  NO,  10,  NO], &LOAD3).needs(UNPACKED),
    tbuffer("tbuffer_load_format_d16_xyz",        [ NO,  NO,  10,  10], &LOAD2).needs(PACKED),
    tbuffer("tbuffer_load_format_d16_xyzw",       [ NO,  NO,  11,  NO], &LOAD4).needs(UNPACKED),
    tbuffer("tbuffer_load_format_d16_xyzw",       [ NO,  NO,  11,  11], &LOAD2).needs(PACKED),
    tbuffer("tbuffer_store_format_d16_x",         [ NO,  NO,  12,  12], &STORE1),
    tbuffer("tbuffer_store_format_d16_xy",        [ NO,  NO,  13,  NO], &STORE2).needs(UNPACKED),
    tbuffer("tbuffer_store_format_d16_xy",        [ NO,  NO,  13,  13], &STORE1).needs(PACKED),
    tbuffer("tbuffer_store_format_d16_xyz",       [ NO,  NO,  14,  NO], &STORE3).needs(UNPACKED),
    tbuffer("tbuffer_store_format_d16_xyz",       [ NO,  NO,  14,  14], &STORE2).needs(PACKED),
    tbuffer("tbuffer_store_format_d16_xyzw",      [ NO,  NO,  15,  NO], &STORE4).needs(UNPACKED),
    tbuffer("tbuffer_store_format_d16_xyzw",      [ NO,  NO,  15,  15], &STORE2).needs(PACKED),
];

fn typed_load(m: &Meaning) {
    m.untold("Loads elements of a buffer and converts them from the instruction's format.");
}

fn typed_store(m: &Meaning) {
    m.untold("Converts elements to the instruction's format and stores them into a buffer.");
}
