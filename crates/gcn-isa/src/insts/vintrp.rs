//! VINTRP: interpolation of vertex attributes; and the shapes of what has the VOP3 form only.

use crate::format::Format;
use crate::inst::Inst;
use crate::meaning::Meaning;
use crate::shape::{Mods, Role::*, Shape, Slot, Ty, read, write};

const fn interp(slots: &'static [Slot]) -> Shape {
    Shape {
        slots,
        mods: Mods::Interp,
    }
}

const fn half(slots: &'static [Slot]) -> Shape {
    Shape {
        slots,
        mods: Mods::InterpHigh,
    }
}

static P1: Shape = interp(&[
    write(Vdst, Ty::F32),
    read(Src1, Ty::F32),
    read(Attr, Ty::F32),
]);
static P2: Shape = interp(&[
    write(Vdst, Ty::F32).read_too(),
    read(Src1, Ty::F32),
    read(Attr, Ty::F32),
]);
static MOV: Shape = interp(&[
    write(Vdst, Ty::F32),
    read(Param, Ty::F32),
    read(Attr, Ty::F32),
]);
/// v_interp_p1ll_f16.
pub static P1LL: Shape = half(&[
    write(Vdst, Ty::F32),
    read(Src1, Ty::F32),
    read(Attr, Ty::F32),
]);
/// v_interp_p1lv_f16, whose third source holds P0.
pub static P1LV: Shape = half(&[
    write(Vdst, Ty::F32),
    read(Src1, Ty::F32),
    read(Attr, Ty::F32),
    read(Src2, Ty::F16),
]);
/// v_interp_p2_f16.
pub static P2_F16: Shape = half(&[
    write(Vdst, Ty::F16),
    read(Src1, Ty::F32),
    read(Attr, Ty::F32),
    read(Src2, Ty::F32),
]);

const fn vintrp(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Vintrp, name, opcode, shape, meaning)
}

/// The rows. On gfx8 and gfx9 they have a VOP3 form, whose opcode is 624 more.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //      name               gfx6 gfx7 gfx8 gfx9  shape   meaning
    vintrp("v_interp_p1_f32",  [  0,   0,   0,   0], &P1,    p1),
    vintrp("v_interp_p2_f32",  [  1,   1,   1,   1], &P2,    p2),
    vintrp("v_interp_mov_f32", [  2,   2,   2,   2], &MOV,   mov),
];

fn p1(m: &Meaning) {
    m.untold("The first step of interpolating an attribute: P10 * I + P0.");
}

fn p2(m: &Meaning) {
    m.untold("The second step of interpolating an attribute: adds P20 * J.");
}

fn mov(m: &Meaning) {
    m.untold("Takes a parameter of an attribute as it is.");
}

/// The rows of format VOP3 that interpolate halves.
pub fn p1_f16(m: &Meaning) {
    m.untold("The first step of interpolating an f16 attribute: P10 * I + P0.");
}

/// See [`p1_f16`].
pub fn p2_f16(m: &Meaning) {
    m.untold("The second step of interpolating an f16 attribute: adds P20 * J, and rounds to f16.");
}
