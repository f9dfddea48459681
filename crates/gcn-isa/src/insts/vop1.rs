//! VOP1: one vector source.

use super::approx;
use super::common::VBARE;
use super::vop3::exponent_within;
use crate::format::Format;
use crate::inst::{Flags, Inst, NO};
use crate::meaning::{Meaning, State, V, exception};
use crate::operand::VGPR0;
use crate::shape::{Role, Role::*, Shape, Ty, plain, read, valu, write};
use crate::target::Gen;

static B32: Shape = valu(&[write(Vdst, Ty::B32), read(Src0, Ty::B32)]);
static I32: Shape = valu(&[write(Vdst, Ty::I32), read(Src0, Ty::I32)]);
static F32: Shape = valu(&[write(Vdst, Ty::F32), read(Src0, Ty::F32)]);
static F64: Shape = valu(&[write(Vdst, Ty::F64), read(Src0, Ty::F64)]);
static F16: Shape = valu(&[write(Vdst, Ty::F16), read(Src0, Ty::F16)]);
static I32_F64: Shape = valu(&[write(Vdst, Ty::I32), read(Src0, Ty::F64)]);
static U32_F64: Shape = valu(&[write(Vdst, Ty::U32), read(Src0, Ty::F64)]);
static F64_I32: Shape = valu(&[write(Vdst, Ty::F64), read(Src0, Ty::I32)]);
static F64_U32: Shape = valu(&[write(Vdst, Ty::F64), read(Src0, Ty::U32)]);
static F32_I32: Shape = valu(&[write(Vdst, Ty::F32), read(Src0, Ty::I32)]);
static F32_U32: Shape = valu(&[write(Vdst, Ty::F32), read(Src0, Ty::U32)]);
static U32_F32: Shape = valu(&[write(Vdst, Ty::U32), read(Src0, Ty::F32)]);
static I32_F32: Shape = valu(&[write(Vdst, Ty::I32), read(Src0, Ty::F32)]);
static F16_F32: Shape = valu(&[write(Vdst, Ty::F16), read(Src0, Ty::F32)]);
static F32_F16: Shape = valu(&[write(Vdst, Ty::F32), read(Src0, Ty::F16)]);
static F32_F64: Shape = valu(&[write(Vdst, Ty::F32), read(Src0, Ty::F64)]);
static F64_F32: Shape = valu(&[write(Vdst, Ty::F64), read(Src0, Ty::F32)]);
static F16_U16: Shape = valu(&[write(Vdst, Ty::F16), read(Src0, Ty::U16)]);
static F16_I16: Shape = valu(&[write(Vdst, Ty::F16), read(Src0, Ty::I16)]);
static U16_F16: Shape = valu(&[write(Vdst, Ty::U16), read(Src0, Ty::F16)]);
static I16_F16: Shape = valu(&[write(Vdst, Ty::I16), read(Src0, Ty::F16)]);
/// Two signed numbers of 16 bits.
static SAT_PK: Shape = valu(&[write(Vdst, Ty::B32), read(Src0, Ty::B32)]);
static FIRST_LANE: Shape = plain(&[write(SdstV, Ty::B32), read(Src0, Ty::B32)]);
static SWAP: Shape = plain(&[
    write(Vdst, Ty::B32).read_too(),
    write(Src0, Ty::B32).read_too(),
]);

const fn vop1(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Vop1, name, opcode, shape, meaning)
}

/// The rows.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //   name                        gfx6 gfx7 gfx8 gfx9  shape      meaning
    vop1("v_nop",                   [  0,   0,   0,   0], &VBARE,    v_nop),
    vop1("v_mov_b32",               [  1,   1,   1,   1], &B32,      v_mov),
    vop1("v_readfirstlane_b32",     [  2,   2,   2,   2], &FIRST_LANE, v_readfirstlane).flag(Flags::ONLY_E32),
    vop1("v_cvt_i32_f64",           [  3,   3,   3,   3], &I32_F64,  to_i32),
    vop1("v_cvt_f64_i32",           [  4,   4,   4,   4], &F64_I32,  to_f64),
    vop1("v_cvt_f32_i32",           [  5,   5,   5,   5], &F32_I32,  to_f32),
    vop1("v_cvt_f32_u32",           [  6,   6,   6,   6], &F32_U32,  to_f32),
    vop1("v_cvt_u32_f32",           [  7,   7,   7,   7], &U32_F32,  to_u32),
    vop1("v_cvt_i32_f32",           [  8,   8,   8,   8], &I32_F32,  to_i32),
    vop1("v_mov_fed_b32",           [  9,   9,   9,   9], &B32,      v_mov_fed).errata(&["undescribed-moves"]),
    vop1("v_cvt_f16_f32",           [ 10,  10,  10,  10], &F16_F32,  to_width).errata(&["float-tiny"]),
    vop1("v_cvt_f32_f16",           [ 11,  11,  11,  11], &F32_F16,  to_width),
    vop1("v_cvt_rpi_i32_f32",       [ 12,  12,  12,  12], &I32_F32,  v_cvt_rpi).errata(&["float-to-integer"]),
    vop1("v_cvt_flr_i32_f32",       [ 13,  13,  13,  13], &I32_F32,  v_cvt_flr).errata(&["float-to-integer"]),
    vop1("v_cvt_off_f32_i4",        [ 14,  14,  14,  14], &F32_I32,  v_cvt_off),
    vop1("v_cvt_f32_f64",           [ 15,  15,  15,  15], &F32_F64,  to_width).errata(&["float-tiny"]),
    vop1("v_cvt_f64_f32",           [ 16,  16,  16,  16], &F64_F32,  to_width),
    vop1("v_cvt_f32_ubyte0",        [ 17,  17,  17,  17], &F32_U32,  ubyte0),
    vop1("v_cvt_f32_ubyte1",        [ 18,  18,  18,  18], &F32_U32,  ubyte1),
    vop1("v_cvt_f32_ubyte2",        [ 19,  19,  19,  19], &F32_U32,  ubyte2),
    vop1("v_cvt_f32_ubyte3",        [ 20,  20,  20,  20], &F32_U32,  ubyte3),
    vop1("v_cvt_u32_f64",           [ 21,  21,  21,  21], &U32_F64,  to_u32),
    vop1("v_cvt_f64_u32",           [ 22,  22,  22,  22], &F64_U32,  to_f64),
    vop1("v_trunc_f64",             [ NO,  23,  23,  23], &F64,      trunc),
    vop1("v_ceil_f64",              [ NO,  24,  24,  24], &F64,      ceil),
    vop1("v_rndne_f64",             [ NO,  25,  25,  25], &F64,      rndne),
    vop1("v_floor_f64",             [ NO,  26,  26,  26], &F64,      floor),
    vop1("v_fract_f32",             [ 32,  32,  27,  27], &F32,      fract).errata(&["float-fract"]),
    vop1("v_trunc_f32",             [ 33,  33,  28,  28], &F32,      trunc),
    vop1("v_ceil_f32",              [ 34,  34,  29,  29], &F32,      ceil),
    vop1("v_rndne_f32",             [ 35,  35,  30,  30], &F32,      rndne),
    vop1("v_floor_f32",             [ 36,  36,  31,  31], &F32,      floor),
    vop1("v_exp_f32",               [ 37,  37,  32,  32], &F32,      exp).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_log_f32",               [ 39,  39,  33,  33], &F32,      log).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_log_clamp_f32",         [ 38,  38,  NO,  NO], &F32,      log_clamp).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_rcp_clamp_f32",         [ 40,  40,  NO,  NO], &F32,      rcp_clamp).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_rcp_legacy_f32",        [ 41,  41,  NO,  NO], &F32,      rcp_legacy).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_rcp_f32",               [ 42,  42,  34,  34], &F32,      rcp).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_rcp_iflag_f32",         [ 43,  43,  35,  35], &F32,      rcp_iflag).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_rsq_clamp_f32",         [ 44,  44,  NO,  NO], &F32,      rsq_clamp).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_rsq_legacy_f32",        [ 45,  45,  NO,  NO], &F32,      rsq_legacy).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_rsq_f32",               [ 46,  46,  36,  36], &F32,      rsq).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_rcp_f64",               [ 47,  47,  37,  37], &F64,      rcp).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_rcp_clamp_f64",         [ 48,  48,  NO,  NO], &F64,      rcp_clamp).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_rsq_f64",               [ 49,  49,  38,  38], &F64,      rsq).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_rsq_clamp_f64",         [ 50,  50,  NO,  NO], &F64,      rsq_clamp).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_sqrt_f32",              [ 51,  51,  39,  39], &F32,      sqrt).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_sqrt_f64",              [ 52,  52,  40,  40], &F64,      sqrt).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_sin_f32",               [ 53,  53,  41,  41], &F32,      sin).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_cos_f32",               [ 54,  54,  42,  42], &F32,      cos).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_not_b32",               [ 55,  55,  43,  43], &B32,      v_not),
    vop1("v_bfrev_b32",             [ 56,  56,  44,  44], &B32,      v_bfrev),
    vop1("v_ffbh_u32",              [ 57,  57,  45,  45], &B32,      v_ffbh_u32),
    vop1("v_ffbl_b32",              [ 58,  58,  46,  46], &B32,      v_ffbl),
    vop1("v_ffbh_i32",              [ 59,  59,  47,  47], &I32,      v_ffbh_i32),
    vop1("v_frexp_exp_i32_f64",     [ 60,  60,  48,  48], &I32_F64,  frexp_exp).errata(&["frexp-gfx6"]),
    vop1("v_frexp_mant_f64",        [ 61,  61,  49,  49], &F64,      frexp_mant).errata(&["frexp-gfx6"]),
    vop1("v_fract_f64",             [ 62,  62,  50,  50], &F64,      fract).errata(&["float-fract"]),
    vop1("v_frexp_exp_i32_f32",     [ 63,  63,  51,  51], &I32_F32,  frexp_exp).errata(&["frexp-gfx6"]),
    vop1("v_frexp_mant_f32",        [ 64,  64,  52,  52], &F32,      frexp_mant).errata(&["frexp-gfx6"]),
    vop1("v_clrexcp",               [ 65,  65,  53,  53], &VBARE,    v_clrexcp).flag(Flags::NO_SDWA).flag(Flags::NO_DPP).errata(&["float-exceptions"]),
    vop1("v_movreld_b32",           [ 66,  66,  54,  NO], &B32,      v_movreld).flag(Flags::NO_SDWA).flag(Flags::NO_DPP).flag(Flags::READS_M0).errata(&["movrel-range"]),
    vop1("v_mov_prsv_b32",          [ NO,  NO,  NO,  54], &B32,      v_mov_prsv).errata(&["undescribed-moves"]),
    vop1("v_movrels_b32",           [ 67,  67,  55,  NO], &B32,      v_movrels).flag(Flags::NO_SDWA).flag(Flags::NO_DPP).flag(Flags::READS_M0).flag(Flags::REGISTERS).errata(&["movrel-range"]),
    vop1("v_screen_partition_4se_b32", [ NO,  NO,  NO,  55], &B32,      v_screen_partition),
    vop1("v_movrelsd_b32",          [ 68,  68,  56,  NO], &B32,      v_movrelsd).flag(Flags::NO_SDWA).flag(Flags::NO_DPP).flag(Flags::READS_M0).flag(Flags::REGISTERS).errata(&["movrel-range"]),
    vop1("v_cvt_f16_u16",           [ NO,  NO,  57,  57], &F16_U16,  to_f16),
    vop1("v_cvt_f16_i16",           [ NO,  NO,  58,  58], &F16_I16,  to_f16),
    vop1("v_cvt_u16_f16",           [ NO,  NO,  59,  59], &U16_F16,  to_u16),
    vop1("v_cvt_i16_f16",           [ NO,  NO,  60,  60], &I16_F16,  to_i16),
    vop1("v_rcp_f16",               [ NO,  NO,  61,  61], &F16,      rcp).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_sqrt_f16",              [ NO,  NO,  62,  62], &F16,      sqrt).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_rsq_f16",               [ NO,  NO,  63,  63], &F16,      rsq).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_log_f16",               [ NO,  NO,  64,  64], &F16,      log).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_exp_f16",               [ NO,  NO,  65,  65], &F16,      exp).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_frexp_mant_f16",        [ NO,  NO,  66,  66], &F16,      frexp_mant),
    vop1("v_frexp_exp_i16_f16",     [ NO,  NO,  67,  67], &I16_F16,  frexp_exp),
    vop1("v_floor_f16",             [ NO,  NO,  68,  68], &F16,      floor),
    vop1("v_ceil_f16",              [ NO,  NO,  69,  69], &F16,      ceil),
    vop1("v_trunc_f16",             [ NO,  NO,  70,  70], &F16,      trunc),
    vop1("v_rndne_f16",             [ NO,  NO,  71,  71], &F16,      rndne),
    vop1("v_fract_f16",             [ NO,  NO,  72,  72], &F16,      fract).errata(&["float-fract"]),
    vop1("v_sin_f16",               [ NO,  NO,  73,  73], &F16,      sin).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_cos_f16",               [ NO,  NO,  74,  74], &F16,      cos).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_exp_legacy_f32",        [ NO,  70,  75,  75], &F32,      exp_legacy).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_log_legacy_f32",        [ NO,  69,  76,  76], &F32,      log_legacy).flag(Flags::TRANS).errata(&["approximations"]),
    vop1("v_cvt_norm_i16_f16",      [ NO,  NO,  NO,  77], &I16_F16,  cvt_norm_i16).errata(&["float-norm"]),
    vop1("v_cvt_norm_u16_f16",      [ NO,  NO,  NO,  78], &U16_F16,  cvt_norm_u16).errata(&["float-norm"]),
    vop1("v_sat_pk_u8_i16",         [ NO,  NO,  NO,  79], &SAT_PK,   v_sat_pk),
    vop1("v_writelane_regwr_b32",   [ NO,  NO,  NO,  80], &B32,      v_writelane_regwr).errata(&["undescribed-moves"]),
    vop1("v_swap_b32",              [ NO,  NO,  NO,  81], &SWAP,     v_swap).flag(Flags::ONLY_E32),
];

fn v_nop(m: &Meaning) {
    m.about("Does nothing.");
}

fn v_mov(m: &Meaning) {
    m.about("Copies the source.");
    m.d(m.s(0));
}

fn v_readfirstlane(m: &Meaning) {
    m.about(
        "The source of the lowest active lane, or of lane 0 if no lane is active, goes to an SGPR.",
    );
    m.d(m.s(0).read_lane(m.first_lane()));
}

fn to_i32(m: &Meaning) {
    m.about("Float to signed integer: towards zero, saturating, NaN to 0.");
    m.d(m.s(0).to_int(Ty::I32));
}

fn to_u32(m: &Meaning) {
    m.about("Float to unsigned integer: towards zero, saturating, NaN to 0.");
    m.d(m.s(0).to_int(Ty::U32));
}

fn to_i16(m: &Meaning) {
    m.about("Float to signed 16-bit integer: towards zero, saturating, NaN to 0.");
    m.d(m.s(0).to_int(Ty::I16));
}

fn to_u16(m: &Meaning) {
    m.about("Float to unsigned 16-bit integer: towards zero, saturating, NaN to 0.");
    m.d(m.s(0).to_int(Ty::U16));
}

fn to_f16(m: &Meaning) {
    m.about("Integer to half-precision float.");
    m.d(m.s(0).to_float(Ty::F16));
}

fn to_f32(m: &Meaning) {
    m.about("Integer to single-precision float.");
    m.d(m.s(0).to_float(Ty::F32));
}

fn to_f64(m: &Meaning) {
    m.about("Integer to double-precision float; exact.");
    m.d(m.s(0).to_float(Ty::F64));
}

fn to_width(m: &Meaning) {
    m.about("Float to a float of another width.");
    m.d(m.s(0).to_width(m.row().shape.slots[0].ty));
}

/// Writes the integer, saturated; for a NaN the end of the range with its sign.
fn write_signed<'m>(m: &'m Meaning, whole: V<'m>) {
    let x = m.s(0);
    let end = (x.as_(Ty::B32) >> 31) + 0x7fff_ffff;
    let number = whole.to_int(Ty::I32).as_(Ty::B32);
    m.d(x.unordered(x).select(end, number));
}

fn v_cvt_rpi(m: &Meaning) {
    m.about("Float to signed integer: the floor of the source plus 0.5, saturating. NaN gives the largest number, a negative one the smallest.");
    // The sum itself would be rounded.
    let x = m.s(0);
    let floor = x.floor();
    let up = m.nearest(|| x - floor).ge(one_half(m));
    write_signed(m, up.select(m.nearest(|| floor + one(m)), floor));
}

fn v_cvt_flr(m: &Meaning) {
    m.about("Float to signed integer: towards minus infinity, saturating. NaN gives the largest number, a negative one the smallest.");
    write_signed(m, m.s(0).floor());
}

fn v_cvt_off(m: &Meaning) {
    m.about("The low four bits, a signed number, in sixteenths: -0.5 to 0.4375.");
    let number = (m.s(0) << 28) >> 28;
    m.d(number.to_float(Ty::F32) * m.c(Ty::F32, 0x3d80_0000));
}

fn ubyte(m: &Meaning, n: u32) {
    m.about("Converts an unsigned byte of the source to float. The byte's number is in the name.");
    m.d(m.s(0).bits(8 * n, 8).to_float(Ty::F32));
}

fn ubyte0(m: &Meaning) {
    ubyte(m, 0);
}

fn ubyte1(m: &Meaning) {
    ubyte(m, 1);
}

fn ubyte2(m: &Meaning) {
    ubyte(m, 2);
}

fn ubyte3(m: &Meaning) {
    ubyte(m, 3);
}

fn trunc(m: &Meaning) {
    m.about("The source without its fraction.");
    m.d(m.s(0).round_zero());
}

fn ceil(m: &Meaning) {
    m.about("The smallest integral value that is not below the source.");
    m.d(m.s(0).ceil());
}

fn rndne(m: &Meaning) {
    m.about("The nearest integral value, or the even one of the two nearest.");
    m.d(m.s(0).round_even());
}

fn floor(m: &Meaning) {
    m.about("The largest integral value that is not above the source.");
    m.d(m.s(0).floor());
}

/// The bits of a few floats of the row's width.
struct Floats {
    one: u64,
    half: u64,
    /// The largest below one.
    below_one: u64,
    max: u64,
    infinity: u64,
}

fn floats(ty: Ty) -> Floats {
    let (mantissa, bias) = match ty.bits() {
        16 => (10, 15u64),
        32 => (23, 127),
        _ => (52, 1023),
    };
    Floats {
        one: bias << mantissa,
        half: (bias - 1) << mantissa,
        below_one: (bias << mantissa) - 1,
        max: ((2 * bias + 1) << mantissa) - 1,
        infinity: (2 * bias + 1) << mantissa,
    }
}

fn one(m: &Meaning) -> V<'_> {
    let ty = m.s(0).ty;
    m.c(ty, floats(ty).one)
}

fn one_half(m: &Meaning) -> V<'_> {
    let ty = m.s(0).ty;
    m.c(ty, floats(ty).half)
}

fn fract(m: &Meaning) {
    m.about(
        "The source minus its floor, at most the largest float below 1. NaN and infinity give NaN.",
    );
    let x = m.s(0);
    let part = x - x.floor();
    let most = m.c(x.ty, floats(x.ty).below_one);
    // A minimum would discard a NaN.
    m.d(part.gt(most).select(most, part));
}

/// A negative quiet NaN: the result of an approximation for an invalid source.
fn negative_nan(m: &Meaning, ty: Ty) -> V<'_> {
    let Floats { infinity, .. } = floats(ty);
    m.c(ty, u64::MAX << (ty.bits() - 1) | infinity | (infinity >> 1))
}

/// A single-precision source or result of an approximation: denormals are zeros, independently of MODE. The other precisions
/// follow MODE.
fn without_denormals(x: V<'_>) -> V<'_> {
    if x.ty != Ty::F32 {
        return x;
    }
    let bits = x.as_(Ty::B32);
    let exponent = bits & floats(Ty::F32).infinity;
    let zero = bits & 0x8000_0000;
    exponent.nonzero().select(bits, zero).as_(x.ty)
}

/// The source of an approximation.
fn approximated(m: &Meaning) -> V<'_> {
    raising_invalid(m, without_denormals(m.s(0)))
}

/// The source. A signalling NaN raises the exception.
fn raising_invalid<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    m.raise(exception::INVALID, x.class(m.c(Ty::B32, 1)));
    x
}

fn is_zero<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    x.eq(m.c(x.ty, 0))
}

fn is_negative<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    x.lt(m.c(x.ty, 0))
}

fn reciprocal(m: &Meaning) -> V<'_> {
    let x = approximated(m);
    m.nearest(|| without_denormals(one(m).fdiv(x)))
}

fn rcp(m: &Meaning) {
    m.about("The reciprocal.");
    m.bounded(ROUNDED);
    let result = reciprocal(m);
    m.d(result);
    m.raise(exception::DIVIDE_BY_ZERO, is_zero(m, m.s(0)));
    short_reciprocal(m, result);
}

/// The fast path of [`reciprocal`], for normal results.
fn short_reciprocal<'m>(m: &'m Meaning, result: V<'m>) {
    let x = m.s(0);
    if x.ty != Ty::F16 {
        let Floats { infinity, .. } = floats(x.ty);
        let most = infinity >> infinity.trailing_zeros();
        m.shortcut(result, true, || {
            let when = exponent_within(m, x, 1, most - 2);
            (when, m.nearest(|| one(m).fdiv(x)))
        });
    }
}

/// Returns true for a float that is positive, normal and finite.
fn is_plain<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    let bits = x.as_(x.ty.as_bits());
    // The upper half of a double is sufficient for the test.
    let top = match x.ty {
        Ty::F64 => (bits >> 32).trunc(Ty::U32),
        _ => bits.as_(Ty::U32),
    };
    let (least, most) = match x.ty {
        Ty::F64 => (0x0010_0000, 0x7ff0_0000),
        _ => (0x0080_0000, 0x7f80_0000),
    };
    (top - m.c(Ty::U32, least)).lt(m.c(Ty::U32, most - least))
}

fn rcp_iflag(m: &Meaning) {
    m.about("The reciprocal. A source of 0 raises the exception of an integer division.");
    m.bounded(ROUNDED);
    let x = without_denormals(m.s(0));
    let result = m.nearest(|| without_denormals(one(m).fdiv(x)));
    m.d(result);
    m.raise(exception::INTEGER_DIVIDE_BY_ZERO, is_zero(m, x));
    short_reciprocal(m, result);
}

/// The reciprocal of the square root. Half and single precision are computed in f64 and rounded once more.
fn reciprocal_root(m: &Meaning) -> V<'_> {
    let x = approximated(m);
    m.raise(exception::INVALID, is_negative(m, x));
    m.raise(exception::DIVIDE_BY_ZERO, is_zero(m, x));
    let one = approx::f64(m, 1.0);
    let quotient = m.nearest(|| {
        if x.ty != Ty::F64 {
            return one.fdiv(x.to_width(Ty::F64).sqrt()).to_width(x.ty);
        }
        let y = one.fdiv(x.sqrt());
        let better = better_root(m, x, y);
        let special = y.abs().eq(approx::f64(m, f64::INFINITY)) | is_zero(m, y);
        special.select(y, better)
    });
    is_negative(m, x).select(negative_nan(m, x.ty), quotient)
}

/// Corrects the quotient of the rounded root, which may be off by one unit in the last place, by the difference of x × y² from 1.
fn better_root<'m>(m: &'m Meaning, x: V<'m>, y: V<'m>) -> V<'m> {
    let product = x * y;
    let lost = x.fma(y, -product);
    let missing = (-product).fma(y, approx::f64(m, 1.0)) - lost * y;
    (y * approx::f64(m, 0.5)).fma(missing, y)
}

fn rsq(m: &Meaning) {
    m.about("The reciprocal of the square root.");
    m.bounded(root_bound(m));
    let result = reciprocal_root(m);
    m.d(result);
    let x = m.s(0);
    if x.ty != Ty::F16 {
        m.shortcut(result, true, || {
            let root = m.nearest(|| match x.ty {
                Ty::F64 => better_root(m, x, approx::f64(m, 1.0).fdiv(x.sqrt())),
                _ => approx::f64(m, 1.0)
                    .fdiv(x.to_width(Ty::F64).sqrt())
                    .to_width(x.ty),
            });
            (is_plain(m, x), root)
        });
    }
}

fn sqrt(m: &Meaning) {
    m.about("The square root.");
    m.bounded(ROUNDED);
    let x = approximated(m);
    m.raise(exception::INVALID, is_negative(m, x));
    let root = m.nearest(|| x.sqrt());
    let result = is_negative(m, x).select(negative_nan(m, x.ty), root);
    m.d(result);
    let x = m.s(0);
    if x.ty != Ty::F16 {
        m.shortcut(result, true, || (is_plain(m, x), m.nearest(|| x.sqrt())));
    }
}

/// The bound of results that are correctly rounded here.
const ROUNDED: &str = "the hardware is within 1 ulp (in double precision within 2^-28 of the result); this is the value rounded to nearest even";
/// The bound of a reciprocal root.
fn root_bound(m: &Meaning) -> &'static str {
    match m.s(0).ty {
        Ty::F64 => "the hardware is within 2^-28 of the result; this is within 0.5001 ulp",
        _ => ROUNDED,
    }
}
/// The bound of exponentials and logarithms.
const NEARLY_ROUNDED: &str =
    "the hardware is within 1 ulp; this is the value rounded to nearest even";
/// The bound of sines.
const SINE: &str =
    "the hardware is within about 2^-20 of the value; this is within 0.50000001 ulp of it";

/// An infinite result becomes the number of magnitude `finite` with its sign.
fn no_infinity<'m>(m: &'m Meaning, x: V<'m>, finite: u64) -> V<'m> {
    let bits = x.as_(x.ty.as_bits());
    let top = 1u64 << (x.ty.bits() - 1);
    let magnitude = bits & (top - 1);
    let infinite = magnitude.eq(m.c(bits.ty, floats(x.ty).infinity));
    infinite.select((bits & top) | finite, bits).as_(x.ty)
}

fn rcp_clamp(m: &Meaning) {
    m.about("The reciprocal, with the largest finite float in place of infinity.");
    m.bounded(ROUNDED);
    m.d(no_infinity(m, reciprocal(m), floats(m.s(0).ty).max));
    m.raise(exception::DIVIDE_BY_ZERO, is_zero(m, m.s(0)));
}

fn rcp_legacy(m: &Meaning) {
    m.about("The reciprocal, with a zero of its sign in place of infinity.");
    m.bounded(ROUNDED);
    m.d(no_infinity(m, reciprocal(m), 0));
}

fn rsq_clamp(m: &Meaning) {
    m.about(
        "The reciprocal of the square root, with the largest finite float in place of infinity.",
    );
    let ty = m.s(0).ty;
    m.bounded(root_bound(m));
    m.d(no_infinity(m, reciprocal_root(m), floats(ty).max));
}

fn rsq_legacy(m: &Meaning) {
    m.about("The reciprocal of the square root, with a zero of its sign in place of infinity.");
    m.bounded(ROUNDED);
    m.d(no_infinity(m, reciprocal_root(m), 0));
}

fn v_not(m: &Meaning) {
    m.about("Bitwise NOT.");
    m.d(!m.s(0));
}

fn v_bfrev(m: &Meaning) {
    m.about("The bits in reverse order.");
    m.d(m.s(0).rev());
}

/// `count`, or all ones if `x` is 0.
fn or_ones<'m>(m: &'m Meaning, x: V<'m>, count: V<'m>) -> V<'m> {
    x.nonzero().select(count, m.c(Ty::U32, 0xffff_ffff))
}

fn v_ffbh_u32(m: &Meaning) {
    m.about("The number of zeros above the highest 1; -1 where there is none.");
    m.d(or_ones(m, m.s(0), m.s(0).clz()));
}

fn v_ffbl(m: &Meaning) {
    m.about("The number of zeros below the lowest 1; -1 where there is none.");
    m.d(or_ones(m, m.s(0), m.s(0).ctz()));
}

fn v_ffbh_i32(m: &Meaning) {
    m.about(
        "The number of bits at the top that equal the sign, the sign included; -1 where all do.",
    );
    let x = m.s(0);
    let differ = (x ^ (x >> 31)).as_(Ty::U32);
    m.d(or_ones(m, differ, differ.clz()));
}

fn v_clrexcp(m: &Meaning) {
    m.about("Clears the exceptions in TRAPSTS.");
    // hwreg 3, bits 8:0.
    m.setreg(m.c(Ty::B32, 3 | 8 << 11), m.c(Ty::B32, 0));
}

fn v_swap(m: &Meaning) {
    m.about("The two VGPRs exchange their values.");
    let (d, s) = (m.old(), m.s(0));
    m.d(s);
    m.write(Src0, d);
}

fn v_mov_fed(m: &Meaning) {
    m.about("Copies the source, and marks the register for tests of the error detection, which the machine does not have.");
    m.d(m.s(0));
}

fn v_mov_prsv(m: &Meaning) {
    m.about("Copies the source.");
    m.bounded("no document describes it; by its name it is v_mov_b32");
    m.d(m.s(0));
}

fn v_writelane_regwr(m: &Meaning) {
    m.about("Copies the source.");
    m.bounded("no document describes it, and it names no lane; it is taken for v_mov_b32");
    m.d(m.s(0));
}

/// Indexed by the low byte of the source, four bits per entry, the lowest first. Source: the Vega manual.
static SCREEN_PARTITION: &[u64] = &[
    0xffff_fff7_fff5_f731,
    0xffff_ffbf_ffaf_e62f,
    0xffff_fdff_f5ff_c4fd,
    0xffff_efff_afff_8fb9,
    0xfffe_fff6_fdc4_ffff,
    0xffdf_f99f_b98f_ffff,
    0xfbff_f9ff_31f7_ffff,
    0x7fff_6ff6_2fe6_ffff,
    0xfffa_fb32_ffff_fffb,
    0xff5f_d91f_ffff_ff7f,
    0xfaff_c8fe_ffff_feff,
    0x5fff_4f76_ffff_dfff,
    0xfec8_ffff_fffd_fff9,
    0x764f_ffff_ffef_f66f,
    0x32fb_ffff_f7ff_f6ff,
    0x1fd9_ffff_bfff_9ff9,
];

fn v_screen_partition(m: &Meaning) {
    m.about("The shader engines, a bit for each of four, that draw in the part of the screen that the source's low byte stands for.");
    let byte = m.s(0) & 0xff;
    let row = (byte >> 4).look_up(Ty::B64, &SCREEN_PARTITION);
    m.d((row >> ((byte & 15) << 2)).trunc(Ty::B32) & 15);
}

/// Writes an approximation that `formula` computes in f64. A NaN is quieted.
fn write_approximation<'m>(
    m: &'m Meaning,
    x: V<'m>,
    formula: impl FnOnce(V<'m>) -> V<'m>,
) -> V<'m> {
    let result = m.nearest(|| {
        let wide = x.to_width(Ty::F64);
        let value = formula(wide);
        wide.unordered(wide).select(wide, value).to_width(x.ty)
    });
    m.d(result);
    result
}

/// The fast path of an approximation in single precision: only `formula`, which gives an f64, in the lanes where `when` is true. `when` must be
/// false for a NaN.
fn short_approximation<'m>(
    m: &'m Meaning,
    of: V<'m>,
    when: impl FnOnce(V<'m>) -> V<'m>,
    formula: impl FnOnce(V<'m>) -> V<'m>,
) {
    let x = m.s(0);
    if x.ty == Ty::F32 {
        m.shortcut(of, true, || {
            let value = m.nearest(|| formula(x).to_width(x.ty));
            (when(x), value)
        });
    }
}

fn exp(m: &Meaning) {
    m.about("Two to the power of the source. In single precision, a source below -126 gives 0.");
    m.bounded(NEARLY_ROUNDED);
    let x = approximated(m);
    // The bounds from which the result is infinite, or zero.
    let (most, least) = match x.ty {
        Ty::F16 => (16.0, -26.0),
        _ => (128.0, -126.0),
    };
    let result = write_approximation(m, x, |x| {
        let c = |value| approx::f64(m, value);
        let (over, under) = (x.ge(c(most)), x.lt(c(least)));
        m.raise(exception::OVERFLOW, over & x.ne(c(f64::INFINITY)));
        m.raise(exception::UNDERFLOW, under & x.ne(c(f64::NEG_INFINITY)));
        let power = match m.s(0).ty {
            Ty::F32 => approx::exp2_single(m, x.to_width(Ty::F32)).to_width(Ty::F64),
            _ => approx::exp2(m, x),
        };
        let power = under.select(c(0.0), power);
        over.select(c(f64::INFINITY), power)
    });
    let x = m.s(0);
    if x.ty == Ty::F32 {
        // Exponentials of large negative numbers are as common as others.
        m.shortcut(result, true, || {
            let c = |value: f32| m.c(Ty::F32, value.to_bits() as u64);
            let (over, under) = (x.ge(c(most as f32)), x.lt(c(least as f32)));
            let power = m.nearest(|| approx::exp2_single(m, x));
            let power = under.select(c(0.0), power);
            let value = over.select(c(f32::INFINITY), power);
            (!x.unordered(x), value)
        });
    }
}

fn exp_legacy(m: &Meaning) {
    exp(m);
    m.about("Two to the power of the source; a source below -126 gives 0. Hardware is a little less exact here than in v_exp_f32.");
}

/// The logarithm to base 2, in f64.
fn logarithm<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    let c = |value| approx::f64(m, value);
    let (zero, negative) = (is_zero(m, x), is_negative(m, x));
    m.raise(exception::DIVIDE_BY_ZERO, zero);
    m.raise(exception::INVALID, negative);
    let infinite = x.eq(c(f64::INFINITY));
    let log = match m.s(0).ty {
        Ty::F32 => approx::log2_single(m, x.to_width(Ty::F32)),
        _ => approx::log2(m, x),
    };
    let log = infinite.select(x, log);
    let log = negative.select(negative_nan(m, Ty::F64), log);
    zero.select(c(f64::NEG_INFINITY), log)
}

fn log(m: &Meaning) {
    m.about("The logarithm to base 2.");
    m.bounded(NEARLY_ROUNDED);
    let result = write_approximation(m, approximated(m), |x| logarithm(m, x));
    short_approximation(m, result, |x| is_plain(m, x), |x| approx::log2_single(m, x));
}

fn log_legacy(m: &Meaning) {
    log(m);
    m.about("The logarithm to base 2. Hardware is a little less exact here than in v_log_f32.");
}

fn log_clamp(m: &Meaning) {
    m.about("The logarithm to base 2, with the lowest finite float in place of minus infinity.");
    m.bounded(NEARLY_ROUNDED);
    write_approximation(m, approximated(m), |x| {
        let lowest = approx::f64(m, f64::from(f32::MIN));
        let log = logarithm(m, x);
        log.eq(approx::f64(m, f64::NEG_INFINITY))
            .select(lowest, log)
    });
}

/// Writes a sine or cosine. Up to gfx8 a source beyond 256 turns gives `beyond`.
fn write_turns<'m>(
    m: &'m Meaning,
    beyond: f64,
    formula: impl FnOnce(V<'m>) -> V<'m>,
    short: impl FnOnce(V<'m>) -> V<'m>,
) {
    m.bounded(SINE);
    let source = if m.target().generation() < Gen::Gfx9 {
        approximated(m)
    } else {
        raising_invalid(m, m.s(0))
    };
    let gfx9 = m.target().generation() >= Gen::Gfx9;
    let result = write_approximation(m, source, |x| {
        let infinite = x.abs().eq(approx::f64(m, f64::INFINITY));
        m.raise(exception::INVALID, infinite);
        let mut value = formula(x);
        if m.target().generation() < Gen::Gfx9 {
            let outside = x.abs().gt(approx::f64(m, 256.0));
            value = outside.select(approx::f64(m, beyond), value);
        }
        infinite.select(negative_nan(m, Ty::F64), value)
    });
    // Normal numbers; up to gfx8 also below 256 turns.
    let end = if gfx9 { 0xff } else { 127 + 8 };
    short_approximation(m, result, |x| exponent_within(m, x, 1, end), short);
}

fn sin(m: &Meaning) {
    m.about(if m.target().generation() < Gen::Gfx9 {
        "The sine of the source times 2π. A source beyond -256 to 256 gives 0."
    } else {
        "The sine of the source times 2π."
    });
    // The sign of a zero is kept.
    write_turns(
        m,
        0.0,
        |x| is_zero(m, x).select(x, approx::sine(m, x)),
        |x| approx::sine(m, x),
    );
}

fn cos(m: &Meaning) {
    m.about(if m.target().generation() < Gen::Gfx9 {
        "The cosine of the source times 2π. A source beyond -256 to 256 gives 1."
    } else {
        "The cosine of the source times 2π."
    });
    write_turns(m, 1.0, |x| approx::cosine(m, x), |x| approx::cosine(m, x));
}

/// A finite float that is not zero, as a mantissa from 0.5 to 1 and an exponent of two.
struct Apart<'m> {
    mantissa: V<'m>,
    /// 32 bits, signed.
    exponent: V<'m>,
    /// The source is a zero after MODE's flushing.
    zero: V<'m>,
    /// The source is an infinity or a NaN.
    special: V<'m>,
}

fn apart(m: &Meaning) -> Apart<'_> {
    let x = m.s(0);
    let bits = x.ty.as_bits();
    let Floats { half, infinity, .. } = floats(x.ty);
    let locations = infinity.trailing_zeros() as u64;
    // A denormal multiplied by this power of two is normal.
    let up = locations + 1;
    let normal = x.ldexp(m.c(Ty::I32, up));
    let denormal = (x.as_(bits) & infinity).eq(m.c(bits, 0));
    let number = denormal.select(normal, x).as_(bits);
    let exponent = (number & infinity) >> locations;
    let exponent = match bits {
        Ty::B16 => exponent.zext(Ty::B32),
        Ty::B64 => exponent.trunc(Ty::B32),
        _ => exponent,
    }
    .as_(Ty::I32);
    let moved = m.c(Ty::I32, up);
    let none = m.c(Ty::I32, 0);
    let bias = m.c(Ty::I32, half >> locations);
    let kept = 1u64 << (x.ty.bits() - 1) | ((1 << locations) - 1);
    Apart {
        mantissa: ((number & kept) | half).as_(x.ty),
        exponent: exponent - bias - denormal.select(moved, none),
        zero: is_zero(m, x),
        special: (x.as_(bits) & infinity).eq(m.c(bits, infinity)),
    }
}

fn frexp_exp(m: &Meaning) {
    let gfx6 = m.target().generation() == Gen::Gfx6;
    m.about(if gfx6 {
        "The exponent of the source as a mantissa from 0.5 to 1 times a power of two; 0 for zero, -1 for infinity and NaN."
    } else {
        "The exponent of the source as a mantissa from 0.5 to 1 times a power of two; 0 for zero, infinity and NaN."
    });
    let parts = apart(m);
    let c = |value: u64| m.c(Ty::I32, value);
    let exponent = parts.zero.select(c(0), parts.exponent);
    let special = if gfx6 { c(u64::MAX) } else { c(0) };
    let exponent = parts.special.select(special, exponent);
    m.d(match m.s(0).ty {
        Ty::F16 => exponent.trunc(Ty::I16),
        _ => exponent,
    });
}

fn frexp_mant(m: &Meaning) {
    let gfx6 = m.target().generation() == Gen::Gfx6;
    m.about(if gfx6 {
        "The source scaled by a power of two to a magnitude from 0.5 to 1; zero and NaN are kept, infinity gives NaN."
    } else {
        "The source scaled by a power of two to a magnitude from 0.5 to 1; zero, infinity and NaN are kept."
    });
    let x = m.s(0);
    let parts = apart(m);
    // ldexp reads the source according to MODE and quiets a NaN.
    let read = x.ldexp(m.c(Ty::I32, 0));
    let number = (parts.zero | parts.special).select(read, parts.mantissa);
    let infinite = x.abs().eq(m.c(x.ty, floats(x.ty).infinity));
    m.d(match gfx6 {
        true => infinite.select(negative_nan(m, x.ty), number),
        false => number,
    });
}

/// The number of the VGPR of a role plus M0.
fn by_m0(m: &Meaning, role: Role) -> V<'_> {
    (m.code_of(role) - VGPR0 as u64) + m.get(State::M0).as_(Ty::U32)
}

fn v_movreld(m: &Meaning) {
    m.about("Copies the source to the VGPR that is M0 registers after the destination.");
    m.set_vgpr(by_m0(m, Vdst), m.s(0));
}

fn v_movrels(m: &Meaning) {
    m.about("Copies the VGPR that is M0 registers after the source.");
    m.d(m.vgpr(Ty::B32, by_m0(m, Src0)));
}

fn v_movrelsd(m: &Meaning) {
    m.about("Copies the VGPR that is M0 registers after the source to the one that is M0 registers after the destination.");
    m.set_vgpr(by_m0(m, Vdst), m.vgpr(Ty::B32, by_m0(m, Src0)));
}

/// The source times `most`, rounded to an integer with MODE's rounding for double precision, clamped to `least` and `most`; 0 for
/// NaN.
fn norm<'m>(m: &'m Meaning, least: f64, most: f64) -> V<'m> {
    let c = |value| approx::f64(m, value);
    let x = m.s(0).to_width(Ty::F64);
    let held = (x * c(most)).min(c(most)).max(c(least));
    // One unit in the last place of these numbers is 1. The sum has the sign of the number that is rounded.
    let shift = c(4_503_599_627_370_496.0);
    let shift = held.lt(c(0.0)).select(-shift, shift);
    let whole = (held + shift) - shift;
    x.unordered(x).select(c(0.0), whole)
}

fn cvt_norm_i16(m: &Meaning) {
    m.about("Float from -1 to 1 to a signed number of 16 bits: times 32767, rounded as MODE says. NaN gives 0.");
    m.d(norm(m, -32767.0, 32767.0).to_int(Ty::I16));
}

fn cvt_norm_u16(m: &Meaning) {
    m.about("Float from 0 to 1 to an unsigned number of 16 bits: times 65535, rounded as MODE says. NaN gives 0.");
    m.d(norm(m, 0.0, 65535.0).to_int(Ty::U16));
}

fn v_sat_pk(m: &Meaning) {
    m.about("Each half of the source, signed, is held between 0 and 255; the two bytes go to the low half, and 0 to the high half.");
    let x = m.s(0).as_(Ty::I32);
    let (least, most) = (m.c(Ty::I32, 0), m.c(Ty::I32, 255));
    let [low, high] = [(x << 16) >> 16, x >> 16].map(|half| half.max(least).min(most));
    m.d((low | (high << 8)).as_(Ty::B32));
}
