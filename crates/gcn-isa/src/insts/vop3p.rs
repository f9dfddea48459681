//! VOP3P: packed 16-bit arithmetic, mixed precision and dot products.
//!
//! op_sel and op_sel_hi choose the halves that the low and the high result are computed from.

use crate::format::Format;
use crate::inst::{Flags, Inst, NO};
use crate::meaning::Meaning;
use crate::shape::{Mods, Role::*, Shape, Slot, Ty, read, write};
use crate::target::Features;

const fn packed(slots: &'static [Slot]) -> Shape {
    Shape {
        slots,
        mods: Mods::Packed,
    }
}

const fn pair(ty: Ty) -> [Slot; 3] {
    [write(Vdst, Ty::B32), read(Src0, ty), read(Src1, ty)]
}

const fn triple(ty: Ty) -> [Slot; 4] {
    [
        write(Vdst, Ty::B32),
        read(Src0, ty),
        read(Src1, ty),
        read(Src2, ty),
    ]
}

const fn dot(ty: Ty, sum: Ty) -> [Slot; 4] {
    [
        write(Vdst, sum),
        read(Src0, ty),
        read(Src1, ty),
        read(Src2, sum),
    ]
}

const fn mix(d: Slot) -> [Slot; 4] {
    // A source is f32 or, by op_sel_hi, a half as f16; constants are those of f16.
    [
        d,
        read(Src0, Ty::F16),
        read(Src1, Ty::F16),
        read(Src2, Ty::F16),
    ]
}

static F16X2: Shape = packed(&pair(Ty::F16));
static I16X2: Shape = packed(&pair(Ty::I16));
static U16X2: Shape = packed(&pair(Ty::U16));
static F16X3: Shape = packed(&triple(Ty::F16));
static I16X3: Shape = packed(&triple(Ty::I16));
static U16X3: Shape = packed(&triple(Ty::U16));
static DOT_F16: Shape = packed(&dot(Ty::F16, Ty::F32));
static DOT_I16: Shape = packed(&dot(Ty::I16, Ty::I32));
static DOT_U16: Shape = packed(&dot(Ty::U16, Ty::U32));
static DOT_I32: Shape = packed(&dot(Ty::I32, Ty::I32));
static DOT_U32: Shape = packed(&dot(Ty::U32, Ty::U32));
static MIX_F32: Shape = Shape {
    slots: &mix(write(Vdst, Ty::F32)),
    mods: Mods::Mix,
};
static MIX_HALF: Shape = Shape {
    slots: &mix(write(Vdst, Ty::F16).read_too()),
    mods: Mods::Mix,
};

const fn vop3p(
    name: &'static str,
    opcode: u16,
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Vop3p, name, [NO, NO, NO, opcode], shape, meaning)
}

/// The rows; only gfx9 has the format.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //     name               gfx9  shape      meaning
    vop3p("v_pk_mad_i16",         0, &I16X3,    packed_halves),
    vop3p("v_pk_mul_lo_u16",      1, &U16X2,    packed_halves),
    vop3p("v_pk_add_i16",         2, &I16X2,    packed_halves),
    vop3p("v_pk_sub_i16",         3, &I16X2,    packed_halves),
    vop3p("v_pk_lshlrev_b16",     4, &U16X2,    packed_halves).flag(Flags::SWAPPED),
    vop3p("v_pk_lshrrev_b16",     5, &U16X2,    packed_halves).flag(Flags::SWAPPED),
    vop3p("v_pk_ashrrev_i16",     6, &I16X2,    packed_halves).flag(Flags::SWAPPED),
    vop3p("v_pk_max_i16",         7, &I16X2,    packed_halves),
    vop3p("v_pk_min_i16",         8, &I16X2,    packed_halves),
    vop3p("v_pk_mad_u16",         9, &U16X3,    packed_halves),
    vop3p("v_pk_add_u16",        10, &U16X2,    packed_halves),
    vop3p("v_pk_sub_u16",        11, &U16X2,    packed_halves),
    vop3p("v_pk_max_u16",        12, &U16X2,    packed_halves),
    vop3p("v_pk_min_u16",        13, &U16X2,    packed_halves),
    vop3p("v_pk_fma_f16",        14, &F16X3,    packed_halves),
    vop3p("v_pk_add_f16",        15, &F16X2,    packed_halves),
    vop3p("v_pk_mul_f16",        16, &F16X2,    packed_halves),
    vop3p("v_pk_min_f16",        17, &F16X2,    packed_halves),
    vop3p("v_pk_max_f16",        18, &F16X2,    packed_halves),
    vop3p("v_mad_mix_f32",       32, &MIX_F32,  mad_mix).needs(Features::MAD_MIX),
    vop3p("v_fma_mix_f32",       32, &MIX_F32,  fma_mix).needs(Features::FMA_MIX),
    vop3p("v_mad_mixlo_f16",     33, &MIX_HALF, mad_mix).needs(Features::MAD_MIX),
    vop3p("v_fma_mixlo_f16",     33, &MIX_HALF, fma_mix).needs(Features::FMA_MIX),
    vop3p("v_mad_mixhi_f16",     34, &MIX_HALF, mad_mix).needs(Features::MAD_MIX),
    vop3p("v_fma_mixhi_f16",     34, &MIX_HALF, fma_mix).needs(Features::FMA_MIX),
    vop3p("v_dot2_f32_f16",      35, &DOT_F16,  dot_product).needs(Features::DL),
    vop3p("v_dot2_i32_i16",      38, &DOT_I16,  dot_product).needs(Features::DL),
    vop3p("v_dot2_u32_u16",      39, &DOT_U16,  dot_product).needs(Features::DL),
    vop3p("v_dot4_i32_i8",       40, &DOT_I32,  dot_product).needs(Features::DL),
    vop3p("v_dot4_u32_u8",       41, &DOT_U32,  dot_product).needs(Features::DL),
    vop3p("v_dot8_i32_i4",       42, &DOT_I32,  dot_product).needs(Features::DL),
    vop3p("v_dot8_u32_u4",       43, &DOT_U32,  dot_product).needs(Features::DL),
];

fn packed_halves(m: &Meaning) {
    m.untold("Computes the low and the high half of the result, each from a half of every source.");
}

fn mad_mix(m: &Meaning) {
    m.untold(
        "Multiplies two sources and adds the third, rounding twice; each is f32 or a half as f16.",
    );
}

fn fma_mix(m: &Meaning) {
    m.untold(
        "Multiplies two sources and adds the third, rounding once; each is f32 or a half as f16.",
    );
}

fn dot_product(m: &Meaning) {
    m.untold("Adds the products of the elements of two sources to the third.");
}
