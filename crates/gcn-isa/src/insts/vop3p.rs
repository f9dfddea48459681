//! VOP3P: packed 16-bit arithmetic, mixed precision and dot products.
//!
//! op_sel and op_sel_hi choose the halves that the low and the high result are computed from.

use super::{vop2, vop3};
use crate::format::Format;
use crate::inst::{Flags, Inst, NO};
use crate::meaning::{Meaning, V};
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

const fn product(ty: Ty, sum: Ty) -> [Slot; 4] {
    [
        write(Vdst, sum),
        read(Src0, ty),
        read(Src1, ty),
        read(Src2, sum),
    ]
}

const fn mix(d: Slot) -> [Slot; 4] {
    // A source is an f32 or, with op_sel_hi, a half read as f16; constants are read as f16.
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
static DOT_F16: Shape = packed(&product(Ty::F16, Ty::F32));
static DOT_I16: Shape = packed(&product(Ty::I16, Ty::I32));
static DOT_U16: Shape = packed(&product(Ty::U16, Ty::U32));
static DOT_I32: Shape = packed(&product(Ty::I32, Ty::I32));
static DOT_U32: Shape = packed(&product(Ty::U32, Ty::U32));
static MIX_F32: Shape = Shape {
    slots: &mix(write(Vdst, Ty::F32)),
    mods: Mods::Mix,
};
static MIX_HALF: Shape = Shape {
    slots: &mix(write(Vdst, Ty::F16)),
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
    vop3p("v_pk_mad_i16",         0, &I16X3,    pk_mad_i16).errata(&["vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_pk_mul_lo_u16",      1, &U16X2,    pk_mul_lo).errata(&["vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_pk_add_i16",         2, &I16X2,    pk_add_signed).errata(&["vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_pk_sub_i16",         3, &I16X2,    pk_sub_signed).errata(&["vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_pk_lshlrev_b16",     4, &U16X2,    pk_shlrev).flag(Flags::SWAPPED).errata(&["vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_pk_lshrrev_b16",     5, &U16X2,    pk_shrrev).flag(Flags::SWAPPED).errata(&["vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_pk_ashrrev_i16",     6, &I16X2,    pk_shrrev).flag(Flags::SWAPPED).errata(&["vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_pk_max_i16",         7, &I16X2,    pk_max).errata(&["vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_pk_min_i16",         8, &I16X2,    pk_min).errata(&["vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_pk_mad_u16",         9, &U16X3,    pk_mad_u16).errata(&["vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_pk_add_u16",        10, &U16X2,    pk_add).errata(&["vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_pk_sub_u16",        11, &U16X2,    pk_sub).errata(&["vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_pk_max_u16",        12, &U16X2,    pk_max).errata(&["vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_pk_min_u16",        13, &U16X2,    pk_min).errata(&["vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_pk_fma_f16",        14, &F16X3,    pk_fma).errata(&["vop3p-modifiers", "vop3p-constants", "float-tiny", "float-nan"]),
    vop3p("v_pk_add_f16",        15, &F16X2,    pk_add_float).errata(&["vop3p-modifiers", "vop3p-constants", "float-tiny", "float-nan"]),
    vop3p("v_pk_mul_f16",        16, &F16X2,    pk_mul_float).errata(&["vop3p-modifiers", "vop3p-constants", "float-tiny", "float-nan"]),
    vop3p("v_pk_min_f16",        17, &F16X2,    pk_min).errata(&["vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_pk_max_f16",        18, &F16X2,    pk_max).errata(&["vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_mad_mix_f32",       32, &MIX_F32,  mad_mix).needs(Features::MAD_MIX).errata(&["vop3p-mix", "vop3p-constants", "float-tiny", "float-nan"]),
    vop3p("v_fma_mix_f32",       32, &MIX_F32,  fma_mix).needs(Features::FMA_MIX).errata(&["vop3p-mix", "vop3p-constants", "float-tiny", "float-nan"]),
    vop3p("v_mad_mixlo_f16",     33, &MIX_HALF, mad_mix_half).needs(Features::MAD_MIX).errata(&["vop3p-mix", "vop3p-constants", "float-tiny", "float-nan"]),
    vop3p("v_fma_mixlo_f16",     33, &MIX_HALF, fma_mix_half).needs(Features::FMA_MIX).errata(&["vop3p-mix", "vop3p-constants", "float-tiny", "float-nan"]),
    vop3p("v_mad_mixhi_f16",     34, &MIX_HALF, mad_mix_half).needs(Features::MAD_MIX).flag(Flags::WRITES_UPPER).errata(&["vop3p-mix", "vop3p-constants", "float-tiny", "float-nan"]),
    vop3p("v_fma_mixhi_f16",     34, &MIX_HALF, fma_mix_half).needs(Features::FMA_MIX).flag(Flags::WRITES_UPPER).errata(&["vop3p-mix", "vop3p-constants", "float-tiny", "float-nan"]),
    vop3p("v_dot2_f32_f16",      35, &DOT_F16,  dot2_float).needs(Features::DL).errata(&["vop3p-dot", "vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_dot2_i32_i16",      38, &DOT_I16,  dot2_i16).needs(Features::DL).errata(&["vop3p-dot", "vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_dot2_u32_u16",      39, &DOT_U16,  dot2_u16).needs(Features::DL).errata(&["vop3p-dot", "vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_dot4_i32_i8",       40, &DOT_I32,  dot4_i8).needs(Features::DL).errata(&["vop3p-dot", "vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_dot4_u32_u8",       41, &DOT_U32,  dot4_u8).needs(Features::DL).errata(&["vop3p-dot", "vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_dot8_i32_i4",       42, &DOT_I32,  dot8_i4).needs(Features::DL).errata(&["vop3p-dot", "vop3p-modifiers", "vop3p-constants"]),
    vop3p("v_dot8_u32_u4",       43, &DOT_U32,  dot8_u4).needs(Features::DL).errata(&["vop3p-dot", "vop3p-modifiers", "vop3p-constants"]),
];

fn pk_mad_i16(m: &Meaning) {
    m.halves(vop3::mad_i16);
    m.about("Each half of the result: the product of the first two sources' halves plus the third's. With clamp, the signed sum saturates.");
}

fn pk_mad_u16(m: &Meaning) {
    m.halves(vop3::mad_u16);
    m.about("Each half of the result: the product of the first two sources' halves plus the third's. With clamp, the sum saturates.");
}

fn pk_mul_lo(m: &Meaning) {
    m.halves(vop3::mul_lo);
    m.about("Each half of the result: the low half of the product of the sources' halves.");
}

fn pk_add_signed(m: &Meaning) {
    m.halves(vop3::add_signed);
    m.about("Adds halves. With clamp, the signed sums saturate.");
}

fn pk_sub_signed(m: &Meaning) {
    m.halves(vop3::sub_signed);
    m.about("Subtracts the second source's halves from the first's. With clamp, the signed differences saturate.");
}

fn pk_add(m: &Meaning) {
    m.halves(vop2::add);
    m.about("Adds halves. With clamp, a sum that is too large becomes the largest number.");
}

fn pk_sub(m: &Meaning) {
    m.halves(vop2::sub);
    m.about("Subtracts the second source's halves from the first's. With clamp, a negative difference becomes 0.");
}

fn pk_shlrev(m: &Meaning) {
    m.halves(vop2::shlrev);
    m.about("Shifts the second source's halves left by the first's, modulo 16.");
}

fn pk_shrrev(m: &Meaning) {
    m.halves(vop2::shrrev);
    m.about("Shifts the second source's halves right by the first's, modulo 16; a signed type keeps its sign.");
}

fn pk_max(m: &Meaning) {
    m.halves(vop2::max);
    m.about("The larger of the sources' halves. If one source is a NaN, the result is the other.");
}

fn pk_min(m: &Meaning) {
    m.halves(vop2::min);
    m.about("The smaller of the sources' halves. If one source is a NaN, the result is the other.");
}

fn pk_fma(m: &Meaning) {
    m.halves(vop3::fma);
    m.about("Each half of the result: the product of the first two sources' halves plus the third's, rounded once.");
}

fn pk_add_float(m: &Meaning) {
    m.halves(vop2::add_float);
    m.about("Adds the halves as floats.");
}

fn pk_mul_float(m: &Meaning) {
    m.halves(vop2::mul_float);
    m.about("Multiplies the halves as floats.");
}

fn mad_mix(m: &Meaning) {
    vop3::mad_float(m);
    m.about("The product of the first two sources, rounded, plus the third, as f32; each source is f32 or a half as f16. Denormals are flushed.");
}

fn fma_mix(m: &Meaning) {
    vop3::fma(m);
    m.about("The product of the first two sources plus the third, rounded once, as f32; each source is f32 or a half as f16.");
}

fn mad_mix_half(m: &Meaning) {
    m.about("The product of the first two sources, rounded, plus the third, as f32 and then rounded to f16; each source is f32 or a half as f16. f32 denormals are flushed. The other half of the destination is kept.");
    m.d(m.s(0).mad(m.s(1), m.s(2)).to_width(Ty::F16));
}

fn fma_mix_half(m: &Meaning) {
    m.about("The product of the first two sources plus the third, rounded once, to f16; each source is f32 or a half as f16. The other half of the destination is kept.");
    m.d(m.s(0).fma_to(m.s(1), m.s(2), Ty::F16));
}

fn dot2_float(m: &Meaning) {
    m.about("Adds the product of the low halves to the third source, then that of the high halves, each time rounded to f32. f32 denormals are flushed, whatever MODE says.");
    let half = |role, k| m.half(role, k).to_width(Ty::F32);
    // The product of two f16 numbers is exact.
    let low = half(Src0, 0).mad(half(Src1, 0), m.s(2));
    m.d(half(Src0, 1).mad(half(Src1, 1), low));
}

/// Extends a value according to its type.
fn extend<'m>(v: V<'m>, to: Ty) -> V<'m> {
    if to.is_signed() {
        v.sext(to)
    } else {
        v.zext(to)
    }
}

/// Adds the products of the elements of `bits` bits of two sources to the third source, exactly.
fn dot(m: &Meaning, bits: u32) -> V<'_> {
    let (narrow, wide) = match m.s(2).ty {
        Ty::I32 => (Ty::I16, Ty::I64),
        _ => (Ty::U16, Ty::U64),
    };
    let mut sum = extend(m.s(2), wide);
    for half in 0..2 {
        for at in (0..16).step_by(bits as usize) {
            let element = |role| {
                let up = m.half(role, half).as_(narrow) << (16 - bits - at) as u64;
                extend(up >> (16 - bits) as u64, wide)
            };
            sum = sum + element(Src0) * element(Src1);
        }
    }
    sum
}

fn dot_signed(m: &Meaning, bits: u32) {
    vop3::write_signed(m, dot(m, bits), Ty::I32);
}

fn dot_unsigned(m: &Meaning, bits: u32) {
    vop3::write_unsigned(m, dot(m, bits), Ty::U32);
}

fn dot2_i16(m: &Meaning) {
    m.about("Adds the products of the two signed halves of the first two sources to the third. With clamp, the sum saturates.");
    dot_signed(m, 16);
}

fn dot2_u16(m: &Meaning) {
    m.about("Adds the products of the two halves of the first two sources to the third. With clamp, the sum saturates.");
    dot_unsigned(m, 16);
}

fn dot4_i8(m: &Meaning) {
    m.about("Adds the products of the four signed bytes of the first two sources to the third. With clamp, the sum saturates.");
    dot_signed(m, 8);
}

fn dot4_u8(m: &Meaning) {
    m.about("Adds the products of the four bytes of the first two sources to the third. With clamp, the sum saturates.");
    dot_unsigned(m, 8);
}

fn dot8_i4(m: &Meaning) {
    m.about("Adds the products of the eight signed fields of four bits of the first two sources to the third. With clamp, the sum saturates.");
    dot_signed(m, 4);
}

fn dot8_u4(m: &Meaning) {
    m.about("Adds the products of the eight fields of four bits of the first two sources to the third. With clamp, the sum saturates.");
    dot_unsigned(m, 4);
}
