//! VOP2: two vector sources.

use super::vop3;
use crate::format::{Field, Format};
use crate::inst::{Flags, Inst, NO};
use crate::meaning::{Meaning, V};
use crate::shape::{Role::*, Shape, Ty, plain, read, valu, write};
use crate::target::{Features, Gen};

static B32: Shape = valu(&[
    write(Vdst, Ty::B32),
    read(Src0, Ty::B32),
    read(Src1, Ty::B32),
]);
static U32: Shape = valu(&[
    write(Vdst, Ty::U32),
    read(Src0, Ty::U32),
    read(Src1, Ty::U32),
]);
static I32: Shape = valu(&[
    write(Vdst, Ty::I32),
    read(Src0, Ty::I32),
    read(Src1, Ty::I32),
]);
static F32: Shape = valu(&[
    write(Vdst, Ty::F32),
    read(Src0, Ty::F32),
    read(Src1, Ty::F32),
]);
static F16: Shape = valu(&[
    write(Vdst, Ty::F16),
    read(Src0, Ty::F16),
    read(Src1, Ty::F16),
]);
static U16: Shape = valu(&[
    write(Vdst, Ty::U16),
    read(Src0, Ty::U16),
    read(Src1, Ty::U16),
]);
static I16: Shape = valu(&[
    write(Vdst, Ty::I16),
    read(Src0, Ty::I16),
    read(Src1, Ty::I16),
]);
/// A count and a signed value; a signed value and a count.
static I32_REV: Shape = valu(&[
    write(Vdst, Ty::I32),
    read(Src0, Ty::U32),
    read(Src1, Ty::I32),
]);
static I32_BY: Shape = valu(&[
    write(Vdst, Ty::I32),
    read(Src0, Ty::I32),
    read(Src1, Ty::U32),
]);
static I16_REV: Shape = valu(&[
    write(Vdst, Ty::I16),
    read(Src0, Ty::U16),
    read(Src1, Ty::I16),
]);
static LDEXP16: Shape = valu(&[
    write(Vdst, Ty::F16),
    read(Src0, Ty::F16),
    // It is an integer, but an inline float stands for that float's bits.
    read(Src1, Ty::B16),
]);
static MAC: Shape = valu(&[
    write(Vdst, Ty::F32).read_too(),
    read(Src0, Ty::F32),
    read(Src1, Ty::F32),
]);
static MAC16: Shape = valu(&[
    write(Vdst, Ty::F16).read_too(),
    read(Src0, Ty::F16),
    read(Src1, Ty::F16),
]);
static CNDMASK: Shape = valu(&[
    write(Vdst, Ty::B32),
    read(Src0, Ty::B32),
    read(Src1, Ty::B32),
    read(CarryIn, Ty::Mask),
]);
/// A sum and its carry.
static CO: Shape = valu(&[
    write(Vdst, Ty::U32),
    write(CarryOut, Ty::Mask),
    read(Src0, Ty::U32),
    read(Src1, Ty::U32),
]);
/// A sum with carry, and its carry.
static CI_CO: Shape = valu(&[
    write(Vdst, Ty::U32),
    write(CarryOut, Ty::Mask),
    read(Src0, Ty::U32),
    read(Src1, Ty::U32),
    read(CarryIn, Ty::Mask),
]);
static MADMK: Shape = plain(&[
    write(Vdst, Ty::F32),
    read(Src0, Ty::F32),
    read(K, Ty::F32),
    read(Src1, Ty::F32),
]);
static MADAK: Shape = plain(&[
    write(Vdst, Ty::F32),
    read(Src0, Ty::F32),
    read(Src1, Ty::F32),
    read(K, Ty::F32),
]);
static MADMK16: Shape = plain(&[
    write(Vdst, Ty::F16),
    read(Src0, Ty::F16),
    read(K, Ty::F16),
    read(Src1, Ty::F16),
]);
static MADAK16: Shape = plain(&[
    write(Vdst, Ty::F16),
    read(Src0, Ty::F16),
    read(Src1, Ty::F16),
    read(K, Ty::F16),
]);
static READ_LANE: Shape = plain(&[
    write(SdstV, Ty::B32),
    read(Src0, Ty::B32),
    read(LaneSel, Ty::B32),
]);
static WRITE_LANE: Shape = plain(&[
    write(Vdst, Ty::B32).read_too(),
    read(Src0, Ty::B32),
    read(LaneSel, Ty::B32),
]);

const fn vop2(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Vop2, name, opcode, shape, meaning)
}

/// The rows.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //   name                   gfx6 gfx7 gfx8 gfx9  shape     meaning
    vop2("v_cndmask_b32",      [  0,   0,   0,   0], &CNDMASK, v_cndmask),
    vop2("v_readlane_b32",     [  1,   1,  NO,  NO], &READ_LANE, vop3::v_readlane).flag(Flags::ONLY_E32),
    vop2("v_writelane_b32",    [  2,   2,  NO,  NO], &WRITE_LANE, vop3::v_writelane).flag(Flags::ONLY_E32),
    vop2("v_add_f32",          [  3,   3,   1,   1], &F32,     add_float).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_sub_f32",          [  4,   4,   2,   2], &F32,     sub_float).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_subrev_f32",       [  5,   5,   3,   3], &F32,     subrev_float).flag(Flags::SWAPPED).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_mac_legacy_f32",   [  6,   6,  NO,  NO], &MAC,     mac_legacy).errata(&["float-mad", "float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_mul_legacy_f32",   [  7,   7,   4,   4], &F32,     mul_legacy).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_mul_f32",          [  8,   8,   5,   5], &F32,     mul_float).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_mul_i32_i24",      [  9,   9,   6,   6], &I32,     mul_i24),
    vop2("v_mul_hi_i32_i24",   [ 10,  10,   7,   7], &I32,     mul_hi_i24),
    vop2("v_mul_u32_u24",      [ 11,  11,   8,   8], &U32,     mul_u24),
    vop2("v_mul_hi_u32_u24",   [ 12,  12,   9,   9], &U32,     mul_hi_u24),
    vop2("v_min_legacy_f32",   [ 13,  13,  NO,  NO], &F32,     min_legacy).errata(&["float-min-max"]),
    vop2("v_max_legacy_f32",   [ 14,  14,  NO,  NO], &F32,     max_legacy).errata(&["float-min-max"]),
    vop2("v_min_f32",          [ 15,  15,  10,  10], &F32,     min),
    vop2("v_max_f32",          [ 16,  16,  11,  11], &F32,     max),
    vop2("v_min_i32",          [ 17,  17,  12,  12], &I32,     min),
    vop2("v_max_i32",          [ 18,  18,  13,  13], &I32,     max),
    vop2("v_min_u32",          [ 19,  19,  14,  14], &U32,     min),
    vop2("v_max_u32",          [ 20,  20,  15,  15], &U32,     max),
    vop2("v_lshr_b32",         [ 21,  21,  NO,  NO], &B32,     shr),
    vop2("v_lshrrev_b32",      [ 22,  22,  16,  16], &B32,     shrrev).flag(Flags::SWAPPED),
    vop2("v_ashr_i32",         [ 23,  23,  NO,  NO], &I32_BY,  shr),
    vop2("v_ashrrev_i32",      [ 24,  24,  17,  17], &I32_REV, shrrev).flag(Flags::SWAPPED),
    vop2("v_lshl_b32",         [ 25,  25,  NO,  NO], &B32,     shl),
    vop2("v_lshlrev_b32",      [ 26,  26,  18,  18], &B32,     shlrev).flag(Flags::SWAPPED),
    vop2("v_and_b32",          [ 27,  27,  19,  19], &B32,     and),
    vop2("v_or_b32",           [ 28,  28,  20,  20], &B32,     or),
    vop2("v_xor_b32",          [ 29,  29,  21,  21], &B32,     xor),
    vop2("v_bfm_b32",          [ 30,  30,  NO,  NO], &B32,     vop3::v_bfm),
    // gfx9 has no SDWA form of this instruction.
    vop2("v_mac_f32",          [ 31,  31,  22,  NO], &MAC,     mac).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_mac_f32",          [ NO,  NO,  NO,  22], &MAC,     mac).flag(Flags::NO_SDWA).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_madmk_f32",        [ 32,  32,  23,  23], &MADMK,   v_madmk).flag(Flags::ONLY_E32).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_madak_f32",        [ 33,  33,  24,  24], &MADAK,   v_madak).flag(Flags::ONLY_E32).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_bcnt_u32_b32",     [ 34,  34,  NO,  NO], &B32,     vop3::v_bcnt),
    vop2("v_mbcnt_lo_u32_b32", [ 35,  35,  NO,  NO], &B32,     vop3::v_mbcnt_lo),
    vop2("v_mbcnt_hi_u32_b32", [ 36,  36,  NO,  NO], &B32,     vop3::v_mbcnt_hi),
    vop2("v_add_i32",          [ 37,  37,  NO,  NO], &CO,      add_co).alias(&["v_add_u32", "v_add_co_u32"]),
    vop2("v_add_u32",          [ NO,  NO,  25,  NO], &CO,      add_co).alias(&["v_add_i32"]),
    vop2("v_add_co_u32",       [ NO,  NO,  NO,  25], &CO,      add_co),
    vop2("v_sub_i32",          [ 38,  38,  NO,  NO], &CO,      sub_co).alias(&["v_sub_u32", "v_sub_co_u32"]),
    vop2("v_sub_u32",          [ NO,  NO,  26,  NO], &CO,      sub_co).alias(&["v_sub_i32"]),
    vop2("v_sub_co_u32",       [ NO,  NO,  NO,  26], &CO,      sub_co),
    vop2("v_subrev_i32",       [ 39,  39,  NO,  NO], &CO,      subrev_co).alias(&["v_subrev_u32", "v_subrev_co_u32"]).flag(Flags::SWAPPED),
    vop2("v_subrev_u32",       [ NO,  NO,  27,  NO], &CO,      subrev_co).alias(&["v_subrev_i32"]).flag(Flags::SWAPPED),
    vop2("v_subrev_co_u32",    [ NO,  NO,  NO,  27], &CO,      subrev_co).flag(Flags::SWAPPED),
    vop2("v_addc_u32",         [ 40,  40,  28,  NO], &CI_CO,   addc),
    vop2("v_addc_co_u32",      [ NO,  NO,  NO,  28], &CI_CO,   addc),
    vop2("v_subb_u32",         [ 41,  41,  29,  NO], &CI_CO,   subb),
    vop2("v_subb_co_u32",      [ NO,  NO,  NO,  29], &CI_CO,   subb),
    vop2("v_subbrev_u32",      [ 42,  42,  30,  NO], &CI_CO,   subbrev).flag(Flags::SWAPPED),
    vop2("v_subbrev_co_u32",   [ NO,  NO,  NO,  30], &CI_CO,   subbrev).flag(Flags::SWAPPED),
    vop2("v_ldexp_f32",        [ 43,  43,  NO,  NO], &vop3::LDEXP32, vop3::ldexp).errata(&["float-tiny"]),
    vop2("v_cvt_pkaccum_u8_f32", [ 44,  44,  NO,  NO], &vop3::PKACCUM, vop3::cvt_pkaccum),
    vop2("v_cvt_pknorm_i16_f32", [ 45,  45,  NO,  NO], &vop3::PACK_F32, vop3::cvt_pknorm_i16),
    vop2("v_cvt_pknorm_u16_f32", [ 46,  46,  NO,  NO], &vop3::PACK_F32, vop3::cvt_pknorm_u16),
    vop2("v_cvt_pkrtz_f16_f32", [ 47,  47,  NO,  NO], &vop3::PACK_F32, vop3::cvt_pkrtz),
    vop2("v_cvt_pk_u16_u32",   [ 48,  48,  NO,  NO], &U32,     vop3::cvt_pk_u16),
    vop2("v_cvt_pk_i16_i32",   [ 49,  49,  NO,  NO], &I32,     vop3::cvt_pk_i16),
    vop2("v_add_f16",          [ NO,  NO,  31,  31], &F16,     add_float).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_sub_f16",          [ NO,  NO,  32,  32], &F16,     sub_float).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_subrev_f16",       [ NO,  NO,  33,  33], &F16,     subrev_float).flag(Flags::SWAPPED).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_mul_f16",          [ NO,  NO,  34,  34], &F16,     mul_float).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_mac_f16",          [ NO,  NO,  35,  NO], &MAC16,   mac).errata(&["valu-16-bit-high", "float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_mac_f16",          [ NO,  NO,  NO,  35], &MAC16,   mac).flag(Flags::NO_SDWA).errata(&["valu-16-bit-high", "float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_madmk_f16",        [ NO,  NO,  36,  36], &MADMK16, v_madmk).flag(Flags::ONLY_E32).errata(&["valu-16-bit-high", "float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_madak_f16",        [ NO,  NO,  37,  37], &MADAK16, v_madak).flag(Flags::ONLY_E32).errata(&["valu-16-bit-high", "float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_add_u16",          [ NO,  NO,  38,  38], &U16,     add),
    vop2("v_sub_u16",          [ NO,  NO,  39,  39], &U16,     sub),
    vop2("v_subrev_u16",       [ NO,  NO,  40,  40], &U16,     subrev).flag(Flags::SWAPPED),
    vop2("v_mul_lo_u16",       [ NO,  NO,  41,  41], &U16,     vop3::mul_lo),
    vop2("v_lshlrev_b16",      [ NO,  NO,  42,  42], &U16,     shlrev).flag(Flags::SWAPPED),
    vop2("v_lshrrev_b16",      [ NO,  NO,  43,  43], &U16,     shrrev).flag(Flags::SWAPPED),
    vop2("v_ashrrev_i16",      [ NO,  NO,  44,  44], &I16_REV, shrrev).flag(Flags::SWAPPED),
    vop2("v_max_f16",          [ NO,  NO,  45,  45], &F16,     max),
    vop2("v_min_f16",          [ NO,  NO,  46,  46], &F16,     min),
    vop2("v_max_u16",          [ NO,  NO,  47,  47], &U16,     max),
    vop2("v_max_i16",          [ NO,  NO,  48,  48], &I16,     max),
    vop2("v_min_u16",          [ NO,  NO,  49,  49], &U16,     min),
    vop2("v_min_i16",          [ NO,  NO,  50,  50], &I16,     min),
    vop2("v_ldexp_f16",        [ NO,  NO,  51,  51], &LDEXP16, ldexp_f16).errata(&["float-tiny"]),
    vop2("v_add_u32",          [ NO,  NO,  NO,  52], &U32,     add),
    vop2("v_sub_u32",          [ NO,  NO,  NO,  53], &U32,     sub),
    vop2("v_subrev_u32",       [ NO,  NO,  NO,  54], &U32,     subrev).flag(Flags::SWAPPED),
    vop2("v_fmac_f32",         [ NO,  NO,  NO,  59], &MAC,     v_fmac).needs(Features::DL).flag(Flags::NO_SDWA).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop2("v_xnor_b32",         [ NO,  NO,  NO,  61], &B32,     xnor).needs(Features::DL),
];

fn v_cndmask(m: &Meaning) {
    m.about("The second source in lanes whose bit of the mask is 1, else the first.");
    m.d(m.operand(CarryIn).select(m.s(1), m.s(0)));
}

pub(super) fn add_float(m: &Meaning) {
    m.about("Adds floats.");
    m.d(m.s(0) + m.s(1));
}

fn sub_float(m: &Meaning) {
    m.about("Subtracts the second source from the first, floats.");
    m.d(m.s(0) - m.s(1));
}

fn subrev_float(m: &Meaning) {
    m.about("Subtracts the first source from the second, floats.");
    m.d(m.s(1) - m.s(0));
}

pub(super) fn mul_float(m: &Meaning) {
    m.about("Multiplies floats.");
    m.d(m.s(0) * m.s(1));
}

fn mul_legacy(m: &Meaning) {
    m.about("Multiplies floats; 0 where either factor is 0, whatever the other one is.");
    m.d(vop3::either_zero(m).select(m.c(Ty::F32, 0), m.s(0) * m.s(1)));
}

pub(super) fn mac_legacy(m: &Meaning) {
    m.about("Adds the product, rounded, to the destination; the product is 0 where either factor is 0, whatever the other one is.");
    let c = m.old();
    let zero = m.c(Ty::F32, 0);
    m.d(vop3::either_flushed(m).select(zero.mad(zero, c), m.s(0).mad(m.s(1), c)));
}

fn mac(m: &Meaning) {
    m.about("Adds the product, rounded, to the destination. Denormals are flushed.");
    m.d(m.s(0).mad(m.s(1), m.old()));
}

fn v_fmac(m: &Meaning) {
    m.about("Adds the product to the destination, rounded once.");
    m.d(m.s(0).fma(m.s(1), m.old()));
}

fn v_madmk(m: &Meaning) {
    m.about("The first source times the literal, rounded, plus the second source. Denormals are flushed.");
    m.d(m.s(0).mad(m.operand(K), m.s(1)));
}

fn v_madak(m: &Meaning) {
    m.about("The product of the sources, rounded, plus the literal. Denormals are flushed.");
    m.d(m.s(0).mad(m.s(1), m.operand(K)));
}

fn mul_i24(m: &Meaning) {
    m.about("The low 32 bits of the product of the sources' low 24 bits, signed.");
    m.d(vop3::signed24(m.s(0)) * vop3::signed24(m.s(1)));
}

fn mul_hi_i24(m: &Meaning) {
    m.about("Bits 63:32 of the product of the sources' low 24 bits, signed.");
    m.d(vop3::signed24(m.s(0)).mul_hi(vop3::signed24(m.s(1))));
}

fn mul_u24(m: &Meaning) {
    m.about("The low 32 bits of the product of the sources' low 24 bits.");
    m.d(m.s(0).bits(0, 24) * m.s(1).bits(0, 24));
}

fn mul_hi_u24(m: &Meaning) {
    m.about("Bits 63:32 of the product of the sources' low 24 bits.");
    m.d(m.s(0).bits(0, 24).mul_hi(m.s(1).bits(0, 24)));
}

fn min_legacy(m: &Meaning) {
    m.about("The first source if it is less than the second, otherwise the second, also if either is a NaN.");
    let (a, b) = (m.s(0), m.s(1));
    let less = vop3::ordered(m, a).lt(vop3::ordered(m, b));
    m.d((less & !a.unordered(b)).select(a, b));
}

fn max_legacy(m: &Meaning) {
    m.about("The first source if it is greater than or equal to the second, otherwise the second, also if either is a NaN.");
    let (a, b) = (m.s(0), m.s(1));
    let less = vop3::ordered(m, a).lt(vop3::ordered(m, b));
    m.d((less | a.unordered(b)).select(b, a));
}

pub(super) fn min(m: &Meaning) {
    m.about("The smaller source. If one source is a NaN, the result is the other.");
    m.d(m.s(0).min(m.s(1)));
}

pub(super) fn max(m: &Meaning) {
    m.about("The larger source. If one source is a NaN, the result is the other.");
    m.d(m.s(0).max(m.s(1)));
}

/// A shift count, modulo the width of the value.
fn count<'m>(value: V<'m>, count: V<'m>) -> V<'m> {
    count & (value.ty.bits() as u64 - 1)
}

fn shr(m: &Meaning) {
    m.about("Shifts the first source right by the second, modulo the width; a signed type keeps its sign.");
    m.d(m.s(0) >> count(m.s(0), m.s(1)));
}

pub(super) fn shrrev(m: &Meaning) {
    m.about("Shifts the second source right by the first, modulo the width; a signed type keeps its sign.");
    m.d(m.s(1) >> count(m.s(1), m.s(0)));
}

fn shl(m: &Meaning) {
    m.about("Shifts the first source left by the second, modulo the width.");
    m.d(m.s(0) << count(m.s(0), m.s(1)));
}

pub(super) fn shlrev(m: &Meaning) {
    m.about("Shifts the second source left by the first, modulo the width.");
    m.d(m.s(1) << count(m.s(1), m.s(0)));
}

fn and(m: &Meaning) {
    m.about("Bitwise AND.");
    m.d(m.s(0) & m.s(1));
}

fn or(m: &Meaning) {
    m.about("Bitwise OR.");
    m.d(m.s(0) | m.s(1));
}

fn xor(m: &Meaning) {
    m.about("Bitwise XOR.");
    m.d(m.s(0) ^ m.s(1));
}

fn xnor(m: &Meaning) {
    m.about("Bitwise XNOR.");
    m.d(!(m.s(0) ^ m.s(1)));
}

/// `wrapped`, or with CLAMP the number `limit` if `overflow` holds.
pub(super) fn clamped<'m>(m: &'m Meaning, wrapped: V<'m>, overflow: V<'m>, limit: V<'m>) -> V<'m> {
    // Up to gfx7 the bit applies only to float results (docs/errata.md, integer-clamp).
    if m.target().generation() < Gen::Gfx8 {
        return wrapped;
    }
    (m.field(Field::Clamp).nonzero() & overflow).select(limit, wrapped)
}

fn write_sum(m: &Meaning, sum: V<'_>, carry: V<'_>) {
    m.d(clamped(m, sum, carry, m.c(sum.ty, u64::MAX)));
}

fn write_difference(m: &Meaning, difference: V<'_>, borrow: V<'_>) {
    m.d(clamped(m, difference, borrow, m.c(difference.ty, 0)));
}

pub(super) fn add(m: &Meaning) {
    m.about("Adds. With clamp, a sum that is too large becomes the largest number.");
    let sum = m.s(0) + m.s(1);
    write_sum(m, sum, sum.lt(m.s(0)));
}

fn difference(m: &Meaning, a: V<'_>, b: V<'_>) {
    m.d(clamped(m, a - b, a.lt(b), m.c(a.ty, 0)));
}

pub(super) fn sub(m: &Meaning) {
    m.about(
        "Subtracts the second source from the first. With clamp, a negative difference becomes 0.",
    );
    difference(m, m.s(0), m.s(1));
}

fn subrev(m: &Meaning) {
    m.about(
        "Subtracts the first source from the second. With clamp, a negative difference becomes 0.",
    );
    difference(m, m.s(1), m.s(0));
}

fn add_co(m: &Meaning) {
    m.about("Adds; each lane's carry goes to the mask. With clamp, a sum that is too large becomes the largest number.");
    let sum = m.s(0) + m.s(1);
    let carry = sum.lt(m.s(0));
    write_sum(m, sum, carry);
    m.write(CarryOut, carry);
}

fn difference_co(m: &Meaning, a: V<'_>, b: V<'_>) {
    let borrow = a.lt(b);
    write_difference(m, a - b, borrow);
    m.write(CarryOut, borrow);
}

fn sub_co(m: &Meaning) {
    m.about("Subtracts the second source from the first; each lane's borrow goes to the mask. With clamp, a negative difference becomes 0.");
    difference_co(m, m.s(0), m.s(1));
}

fn subrev_co(m: &Meaning) {
    m.about("Subtracts the first source from the second; each lane's borrow goes to the mask. With clamp, a negative difference becomes 0.");
    difference_co(m, m.s(1), m.s(0));
}

fn addc(m: &Meaning) {
    m.about("Adds the sources and the lane's carry; its new carry goes to the mask. With clamp, a sum that is too large becomes the largest number.");
    let sum = m.s(0).zext(Ty::U64) + m.s(1).zext(Ty::U64) + m.operand(CarryIn).zext(Ty::U64);
    let carry = (sum >> 32).nonzero();
    write_sum(m, sum.trunc(Ty::U32), carry);
    m.write(CarryOut, carry);
}

fn difference_with_borrow(m: &Meaning, a: V<'_>, b: V<'_>) {
    let wide = a.zext(Ty::U64) - b.zext(Ty::U64) - m.operand(CarryIn).zext(Ty::U64);
    let borrow = (wide >> 32).nonzero();
    write_difference(m, wide.trunc(Ty::U32), borrow);
    m.write(CarryOut, borrow);
}

fn subb(m: &Meaning) {
    m.about("Subtracts the second source and the lane's borrow from the first; its new borrow goes to the mask. With clamp, a negative difference becomes 0.");
    difference_with_borrow(m, m.s(0), m.s(1));
}

fn subbrev(m: &Meaning) {
    m.about("Subtracts the first source and the lane's borrow from the second; its new borrow goes to the mask. With clamp, a negative difference becomes 0.");
    difference_with_borrow(m, m.s(1), m.s(0));
}

fn ldexp_f16(m: &Meaning) {
    m.about("The first source times two to the power of the second, a signed integer.");
    m.d(m.s(0).ldexp(m.s(1).sext(Ty::I32)));
}
