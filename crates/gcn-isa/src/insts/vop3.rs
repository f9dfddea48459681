//! VOP3: the vector instructions that have no shorter encoding.

use super::approx;
use super::vintrp::{P1LL, P1LV, P2_F16, p1ll_f16, p1lv_f16, p2_f16};
use super::vop2::{clamped, mac_legacy};
use crate::format::Format;
use crate::inst::{Flags, Inst, NO};
use crate::meaning::{Meaning, State, V, exception};
use crate::shape::{Role::*, Shape, Ty, plain, read, valu, write};
use crate::target::Gen;

static F32X3: Shape = valu(&[
    write(Vdst, Ty::F32),
    read(Src0, Ty::F32),
    read(Src1, Ty::F32),
    read(Src2, Ty::F32),
]);
static F64X3: Shape = valu(&[
    write(Vdst, Ty::F64),
    read(Src0, Ty::F64),
    read(Src1, Ty::F64),
    read(Src2, Ty::F64),
]);
static F64X2: Shape = valu(&[
    write(Vdst, Ty::F64),
    read(Src0, Ty::F64),
    read(Src1, Ty::F64),
]);
static B32X3: Shape = valu(&[
    write(Vdst, Ty::B32),
    read(Src0, Ty::B32),
    read(Src1, Ty::B32),
    read(Src2, Ty::B32),
]);
static U32X3: Shape = valu(&[
    write(Vdst, Ty::U32),
    read(Src0, Ty::U32),
    read(Src1, Ty::U32),
    read(Src2, Ty::U32),
]);
static I32X3: Shape = valu(&[
    write(Vdst, Ty::I32),
    read(Src0, Ty::I32),
    read(Src1, Ty::I32),
    read(Src2, Ty::I32),
]);
static F16X3: Shape = valu(&[
    write(Vdst, Ty::F16),
    read(Src0, Ty::F16),
    read(Src1, Ty::F16),
    read(Src2, Ty::F16),
]);
static U16X3: Shape = valu(&[
    write(Vdst, Ty::U16),
    read(Src0, Ty::U16),
    read(Src1, Ty::U16),
    read(Src2, Ty::U16),
]);
static I16X3: Shape = valu(&[
    write(Vdst, Ty::I16),
    read(Src0, Ty::I16),
    read(Src1, Ty::I16),
    read(Src2, Ty::I16),
]);
static BFE_I32: Shape = valu(&[
    write(Vdst, Ty::I32),
    read(Src0, Ty::I32),
    read(Src1, Ty::U32),
    read(Src2, Ty::U32),
]);
static U32_U16: Shape = valu(&[
    write(Vdst, Ty::U32),
    read(Src0, Ty::U16),
    read(Src1, Ty::U16),
    read(Src2, Ty::U32),
]);
static I32_I16: Shape = valu(&[
    write(Vdst, Ty::I32),
    read(Src0, Ty::I16),
    read(Src1, Ty::I16),
    read(Src2, Ty::I32),
]);
static B32X2: Shape = valu(&[
    write(Vdst, Ty::B32),
    read(Src0, Ty::B32),
    read(Src1, Ty::B32),
]);
static U32X2: Shape = valu(&[
    write(Vdst, Ty::U32),
    read(Src0, Ty::U32),
    read(Src1, Ty::U32),
]);
static I32X2: Shape = valu(&[
    write(Vdst, Ty::I32),
    read(Src0, Ty::I32),
    read(Src1, Ty::I32),
]);
static I16X2: Shape = valu(&[
    write(Vdst, Ty::I16),
    read(Src0, Ty::I16),
    read(Src1, Ty::I16),
]);
static PACK_F16: Shape = valu(&[
    write(Vdst, Ty::B32),
    read(Src0, Ty::F16),
    read(Src1, Ty::F16),
]);
pub(super) static PACK_F32: Shape = valu(&[
    write(Vdst, Ty::B32),
    read(Src0, Ty::F32),
    read(Src1, Ty::F32),
]);
/// A float, the number of a byte, and the other bytes.
static PK_U8: Shape = valu(&[
    write(Vdst, Ty::B32),
    read(Src0, Ty::F32),
    read(Src1, Ty::U32),
    read(Src2, Ty::B32),
]);
pub(super) static PKACCUM: Shape = valu(&[
    write(Vdst, Ty::B32).read_too(),
    read(Src0, Ty::F32),
    read(Src1, Ty::U32),
]);
static MAC: Shape = valu(&[
    write(Vdst, Ty::F32).read_too(),
    read(Src0, Ty::F32),
    read(Src1, Ty::F32),
]);
static QSAD: Shape = valu(&[
    write(Vdst, Ty::U64),
    read(Src0, Ty::B64),
    read(Src1, Ty::B32),
    read(Src2, Ty::B64),
]);
static MQSAD32: Shape = valu(&[
    write(Vdst, Ty::B128),
    read(Src0, Ty::B64),
    read(Src1, Ty::B32),
    read(Src2, Ty::B128),
]);
/// A 64-bit value and a count; a count and a 64-bit value.
static B64_BY: Shape = valu(&[
    write(Vdst, Ty::B64),
    read(Src0, Ty::B64),
    read(Src1, Ty::U32),
]);
static I64_BY: Shape = valu(&[
    write(Vdst, Ty::I64),
    read(Src0, Ty::I64),
    read(Src1, Ty::U32),
]);
static B64_REV: Shape = valu(&[
    write(Vdst, Ty::B64),
    read(Src0, Ty::U32),
    read(Src1, Ty::B64),
]);
static I64_REV: Shape = valu(&[
    write(Vdst, Ty::I64),
    read(Src0, Ty::U32),
    read(Src1, Ty::I64),
]);
pub(super) static LDEXP32: Shape = valu(&[
    write(Vdst, Ty::F32),
    read(Src0, Ty::F32),
    read(Src1, Ty::I32),
]);
static LDEXP64: Shape = valu(&[
    write(Vdst, Ty::F64),
    read(Src0, Ty::F64),
    read(Src1, Ty::I32),
]);
static MAD_U64: Shape = valu(&[
    write(Vdst, Ty::U64),
    write(CarryOut, Ty::Mask),
    read(Src0, Ty::U32),
    read(Src1, Ty::U32),
    read(Src2, Ty::U64),
]);
static MAD_I64: Shape = valu(&[
    write(Vdst, Ty::I64),
    write(CarryOut, Ty::Mask),
    read(Src0, Ty::I32),
    read(Src1, Ty::I32),
    read(Src2, Ty::I64),
]);
static SCALE32: Shape = valu(&[
    write(Vdst, Ty::F32),
    write(CarryOut, Ty::Mask),
    read(Src0, Ty::F32),
    read(Src1, Ty::F32),
    read(Src2, Ty::F32),
]);
static SCALE64: Shape = valu(&[
    write(Vdst, Ty::F64),
    write(CarryOut, Ty::Mask),
    read(Src0, Ty::F64),
    read(Src1, Ty::F64),
    read(Src2, Ty::F64),
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

const fn vop3(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Vop3, name, opcode, shape, meaning)
}

/// The rows.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //   name                   gfx6 gfx7 gfx8 gfx9  shape     meaning
    vop3("v_mad_legacy_f32",   [320, 320, 448, 448], &F32X3,   mad_legacy).errata(&["float-mad", "float-tiny", "float-nan", "float-modifiers"]),
    vop3("v_mad_f32",          [321, 321, 449, 449], &F32X3,   mad_float).errata(&["float-mad", "float-tiny", "float-nan", "float-modifiers"]),
    vop3("v_mad_i32_i24",      [322, 322, 450, 450], &I32X3,   mad_i24),
    vop3("v_mad_u32_u24",      [323, 323, 451, 451], &U32X3,   mad_u24),
    vop3("v_bfe_u32",          [328, 328, 456, 456], &U32X3,   bfe),
    vop3("v_bfe_i32",          [329, 329, 457, 457], &BFE_I32, bfe),
    vop3("v_bfi_b32",          [330, 330, 458, 458], &B32X3,   bfi),
    vop3("v_fma_f32",          [331, 331, 459, 459], &F32X3,   fma).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop3("v_fma_f64",          [332, 332, 460, 460], &F64X3,   fma).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop3("v_lerp_u8",          [333, 333, 461, 461], &U32X3,   lerp_u8),
    vop3("v_alignbit_b32",     [334, 334, 462, 462], &B32X3,   alignbit),
    vop3("v_alignbyte_b32",    [335, 335, 463, 463], &B32X3,   alignbyte),
    vop3("v_min3_f32",         [337, 337, 464, 464], &F32X3,   min3).errata(&["float-min-max"]),
    vop3("v_min3_i32",         [338, 338, 465, 465], &I32X3,   min3),
    vop3("v_min3_u32",         [339, 339, 466, 466], &U32X3,   min3),
    vop3("v_max3_f32",         [340, 340, 467, 467], &F32X3,   max3).errata(&["float-min-max"]),
    vop3("v_max3_i32",         [341, 341, 468, 468], &I32X3,   max3),
    vop3("v_max3_u32",         [342, 342, 469, 469], &U32X3,   max3),
    vop3("v_med3_f32",         [343, 343, 470, 470], &F32X3,   med3_float).errata(&["float-min-max"]),
    vop3("v_med3_i32",         [344, 344, 471, 471], &I32X3,   med3),
    vop3("v_med3_u32",         [345, 345, 472, 472], &U32X3,   med3),
    vop3("v_sad_u8",           [346, 346, 473, 473], &U32X3,   sad_u8),
    vop3("v_sad_hi_u8",        [347, 347, 474, 474], &U32X3,   sad_hi_u8),
    vop3("v_sad_u16",          [348, 348, 475, 475], &U32X3,   sad_u16),
    vop3("v_sad_u32",          [349, 349, 476, 476], &U32X3,   sad_u32),
    vop3("v_mullit_f32",       [336, 336,  NO,  NO], &F32X3,   mullit).errata(&["vop3-mullit"]),
    vop3("v_qsad_u8",          [370,  NO,  NO,  NO], &QSAD,    qsad).errata(&["vop3-sums"]),
    vop3("v_lshl_b64",         [353, 353,  NO,  NO], &B64_BY,  shl64),
    vop3("v_lshr_b64",         [354, 354,  NO,  NO], &B64_BY,  shr64),
    vop3("v_ashr_i64",         [355, 355,  NO,  NO], &I64_BY,  shr64),
    vop3("v_add_f64",          [356, 356, 640, 640], &F64X2,   add_float).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop3("v_mul_f64",          [357, 357, 641, 641], &F64X2,   mul_float).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop3("v_min_f64",          [358, 358, 642, 642], &F64X2,   min).errata(&["float-min-max"]),
    vop3("v_max_f64",          [359, 359, 643, 643], &F64X2,   max).errata(&["float-min-max"]),
    vop3("v_ldexp_f64",        [360, 360, 644, 644], &LDEXP64, ldexp).errata(&["float-tiny"]),
    vop3("v_mul_lo_u32",       [361, 361,  NO,  NO], &U32X2,   mul_lo),
    // The low half does not depend on the signs.
    vop3("v_mul_lo_u32",       [ NO,  NO, 645, 645], &U32X2,   mul_lo).alias(&["v_mul_lo_i32"]),
    vop3("v_mul_hi_u32",       [362, 362, 646, 646], &U32X2,   mul_hi),
    vop3("v_mul_lo_i32",       [363, 363,  NO,  NO], &I32X2,   mul_lo),
    vop3("v_cubeid_f32",       [324, 324, 452, 452], &F32X3,   cube_id).errata(&["cube"]),
    vop3("v_cubesc_f32",       [325, 325, 453, 453], &F32X3,   cube_sc).errata(&["cube"]),
    vop3("v_cubetc_f32",       [326, 326, 454, 454], &F32X3,   cube_tc).errata(&["cube"]),
    vop3("v_cubema_f32",       [327, 327, 455, 455], &F32X3,   cube_ma).errata(&["cube"]),
    vop3("v_cvt_pk_u8_f32",    [350, 350, 477, 477], &PK_U8,   cvt_pk_u8).errata(&["float-norm"]),
    vop3("v_mul_hi_i32",       [364, 364, 647, 647], &I32X2,   mul_hi),
    vop3("v_div_fixup_f32",    [351, 351, 478, 478], &F32X3,   div_fixup).errata(&["vop3-div-fixup"]),
    vop3("v_div_fixup_f64",    [352, 352, 479, 479], &F64X3,   div_fixup).errata(&["vop3-div-fixup"]),
    vop3("v_div_scale_f32",    [365, 365, 480, 480], &SCALE32, div_scale).errata(&["vop3-div-scale"]),
    vop3("v_div_scale_f64",    [366, 366, 481, 481], &SCALE64, div_scale).errata(&["vop3-div-scale"]),
    vop3("v_div_fmas_f32",     [367, 367, 482, 482], &F32X3,   div_fmas).flag(Flags::READS_VCC).errata(&["valu-div-fmas"]),
    vop3("v_div_fmas_f64",     [368, 368, 483, 483], &F64X3,   div_fmas).flag(Flags::READS_VCC).errata(&["valu-div-fmas"]),
    vop3("v_msad_u8",          [369, 369, 484, 484], &U32X3,   msad_u8),
    vop3("v_qsad_pk_u16_u8",   [ NO, 370, 485, 485], &QSAD,    qsad).alias(&["v_qsad_u8"]).flag(Flags::EARLY_WRITE).errata(&["vop3-sums"]),
    vop3("v_mqsad_pk_u16_u8",  [371,  NO,  NO,  NO], &QSAD,    mqsad).clrx("v_mqsad_u8").flag(Flags::EARLY_WRITE).errata(&["vop3-sums"]),
    vop3("v_mqsad_pk_u16_u8",  [ NO, 371, 486, 486], &QSAD,    mqsad).alias(&["v_mqsad_u8"]).flag(Flags::EARLY_WRITE).errata(&["vop3-sums"]),
    vop3("v_mqsad_u32_u8",     [ NO, 373, 487, 487], &MQSAD32, mqsad_u32).flag(Flags::EARLY_WRITE).errata(&["vop3-sums"]),
    vop3("v_mad_u64_u32",      [ NO, 374, 488, 488], &MAD_U64, mad_u64),
    vop3("v_mad_i64_i32",      [ NO, 375, 489, 489], &MAD_I64, mad_i64),
    vop3("v_mad_f16",          [ NO,  NO, 490,  NO], &F16X3,   mad_float).errata(&["float-mad", "valu-16-bit-high", "float-tiny", "float-nan", "float-modifiers"]),
    vop3("v_interp_p1ll_f16",  [ NO,  NO, 628, 628], &P1LL,    p1ll_f16).errata(&["interpolation"]),
    vop3("v_interp_p1lv_f16",  [ NO,  NO, 629, 629], &P1LV,    p1lv_f16).errata(&["interpolation"]),
    vop3("v_interp_p2_legacy_f16", [ NO,  NO,  NO, 630], &P2_F16,  p2_f16).errata(&["interpolation"]),
    vop3("v_interp_p2_f16",    [ NO,  NO, 630, 631], &P2_F16,  p2_f16).flag(Flags::KEEPS_UPPER).errata(&["interpolation"]),
    vop3("v_mad_legacy_f16",   [ NO,  NO,  NO, 490], &F16X3,   mad_float).flag(Flags::CLEARS_UPPER).errata(&["float-mad", "float-tiny", "float-nan", "float-modifiers"]),
    vop3("v_mad_u16",          [ NO,  NO, 491,  NO], &U16X3,   mad_u16).errata(&["valu-16-bit-high"]),
    vop3("v_mad_legacy_u16",   [ NO,  NO,  NO, 491], &U16X3,   mad_u16).flag(Flags::CLEARS_UPPER),
    vop3("v_mad_i16",          [ NO,  NO, 492,  NO], &I16X3,   mad_i16).errata(&["valu-16-bit-high"]),
    vop3("v_mad_legacy_i16",   [ NO,  NO,  NO, 492], &I16X3,   mad_i16).flag(Flags::CLEARS_UPPER),
    vop3("v_perm_b32",         [ NO,  NO, 493, 493], &B32X3,   perm),
    vop3("v_fma_f16",          [ NO,  NO, 494,  NO], &F16X3,   fma).errata(&["valu-16-bit-high", "float-tiny", "float-nan", "float-modifiers"]),
    vop3("v_fma_legacy_f16",   [ NO,  NO,  NO, 494], &F16X3,   fma).flag(Flags::CLEARS_UPPER).errata(&["float-tiny", "float-nan", "float-modifiers"]),
    vop3("v_div_fixup_f16",    [ NO,  NO, 495,  NO], &F16X3,   div_fixup).errata(&["valu-16-bit-high", "vop3-div-fixup"]),
    vop3("v_div_fixup_legacy_f16", [ NO,  NO,  NO, 495], &F16X3,   div_fixup).flag(Flags::CLEARS_UPPER).errata(&["vop3-div-fixup"]),
    vop3("v_cvt_pkaccum_u8_f32", [ NO,  NO, 496, 496], &PKACCUM, cvt_pkaccum).errata(&["float-norm"]),
    vop3("v_mad_u32_u16",      [ NO,  NO,  NO, 497], &U32_U16, mad_u32_u16),
    vop3("v_mad_i32_i16",      [ NO,  NO,  NO, 498], &I32_I16, mad_i32_i16),
    vop3("v_xad_u32",          [ NO,  NO,  NO, 499], &U32X3,   xad),
    vop3("v_min3_f16",         [ NO,  NO,  NO, 500], &F16X3,   min3),
    vop3("v_min3_i16",         [ NO,  NO,  NO, 501], &I16X3,   min3),
    vop3("v_min3_u16",         [ NO,  NO,  NO, 502], &U16X3,   min3),
    vop3("v_max3_f16",         [ NO,  NO,  NO, 503], &F16X3,   max3),
    vop3("v_max3_i16",         [ NO,  NO,  NO, 504], &I16X3,   max3),
    vop3("v_max3_u16",         [ NO,  NO,  NO, 505], &U16X3,   max3),
    vop3("v_med3_f16",         [ NO,  NO,  NO, 506], &F16X3,   med3_float),
    vop3("v_med3_i16",         [ NO,  NO,  NO, 507], &I16X3,   med3),
    vop3("v_med3_u16",         [ NO,  NO,  NO, 508], &U16X3,   med3),
    vop3("v_lshl_add_u32",     [ NO,  NO,  NO, 509], &U32X3,   lshl_add),
    vop3("v_add_lshl_u32",     [ NO,  NO,  NO, 510], &U32X3,   add_lshl),
    vop3("v_add3_u32",         [ NO,  NO,  NO, 511], &U32X3,   add3),
    vop3("v_lshl_or_b32",      [ NO,  NO,  NO, 512], &B32X3,   lshl_or),
    vop3("v_and_or_b32",       [ NO,  NO,  NO, 513], &B32X3,   and_or),
    vop3("v_or3_b32",          [ NO,  NO,  NO, 514], &B32X3,   or3),
    vop3("v_mad_f16",          [ NO,  NO,  NO, 515], &F16X3,   mad_float).errata(&["float-mad", "valu-16-bit-high", "float-tiny", "float-nan", "float-modifiers"]),
    vop3("v_mad_u16",          [ NO,  NO,  NO, 516], &U16X3,   mad_u16).errata(&["valu-16-bit-high"]),
    vop3("v_mad_i16",          [ NO,  NO,  NO, 517], &I16X3,   mad_i16).errata(&["valu-16-bit-high"]),
    vop3("v_fma_f16",          [ NO,  NO,  NO, 518], &F16X3,   fma).errata(&["valu-16-bit-high", "float-tiny", "float-nan", "float-modifiers"]),
    vop3("v_div_fixup_f16",    [ NO,  NO,  NO, 519], &F16X3,   div_fixup).errata(&["valu-16-bit-high", "vop3-div-fixup"]),
    vop3("v_ldexp_f32",        [ NO,  NO, 648, 648], &LDEXP32, ldexp).errata(&["float-tiny"]),
    vop3("v_readlane_b32",     [ NO,  NO, 649, 649], &READ_LANE, v_readlane),
    vop3("v_writelane_b32",    [ NO,  NO, 650, 650], &WRITE_LANE, v_writelane),
    vop3("v_bcnt_u32_b32",     [ NO,  NO, 651, 651], &B32X2,   v_bcnt),
    vop3("v_mbcnt_lo_u32_b32", [ NO,  NO, 652, 652], &B32X2,   v_mbcnt_lo),
    vop3("v_mbcnt_hi_u32_b32", [ NO,  NO, 653, 653], &B32X2,   v_mbcnt_hi),
    vop3("v_mac_legacy_f32",   [ NO,  NO, 654, 654], &MAC,     mac_legacy).errata(&["float-mad", "float-tiny", "float-nan", "float-modifiers"]),
    vop3("v_lshlrev_b64",      [ NO,  NO, 655, 655], &B64_REV, shlrev64).flag(Flags::SWAPPED),
    vop3("v_lshrrev_b64",      [ NO,  NO, 656, 656], &B64_REV, shrrev64).flag(Flags::SWAPPED),
    vop3("v_ashrrev_i64",      [ NO,  NO, 657, 657], &I64_REV, shrrev64).flag(Flags::SWAPPED),
    vop3("v_trig_preop_f64",   [372, 372, 658, 658], &LDEXP64, trig_preop).errata(&["trig-preop"]),
    vop3("v_bfm_b32",          [ NO,  NO, 659, 659], &B32X2,   v_bfm),
    vop3("v_cvt_pknorm_i16_f32", [ NO,  NO, 660, 660], &PACK_F32, cvt_pknorm_i16).errata(&["float-norm"]),
    vop3("v_cvt_pknorm_u16_f32", [ NO,  NO, 661, 661], &PACK_F32, cvt_pknorm_u16).errata(&["float-norm"]),
    vop3("v_cvt_pkrtz_f16_f32", [ NO,  NO, 662, 662], &PACK_F32, cvt_pkrtz),
    vop3("v_cvt_pk_u16_u32",   [ NO,  NO, 663, 663], &U32X2,   cvt_pk_u16),
    vop3("v_cvt_pk_i16_i32",   [ NO,  NO, 664, 664], &I32X2,   cvt_pk_i16),
    vop3("v_cvt_pknorm_i16_f16", [ NO,  NO,  NO, 665], &PACK_F16, cvt_pknorm_i16).errata(&["float-norm"]),
    vop3("v_cvt_pknorm_u16_f16", [ NO,  NO,  NO, 666], &PACK_F16, cvt_pknorm_u16).errata(&["float-norm"]),
    vop3("v_readlane_regrd_b32", [ NO,  NO,  NO, 667], &READ_LANE, v_readlane).errata(&["regrd"]),
    vop3("v_add_i32",          [ NO,  NO,  NO, 668], &I32X2,   add_signed),
    vop3("v_sub_i32",          [ NO,  NO,  NO, 669], &I32X2,   sub_signed),
    vop3("v_add_i16",          [ NO,  NO,  NO, 670], &I16X2,   add_signed).flag(Flags::KEEPS_UPPER),
    vop3("v_sub_i16",          [ NO,  NO,  NO, 671], &I16X2,   sub_signed).flag(Flags::KEEPS_UPPER),
    vop3("v_pack_b32_f16",     [ NO,  NO,  NO, 672], &PACK_F16, pack),
];

/// Returns true if one of the first two sources is a zero. The legacy product is then 0.
pub(super) fn either_zero(m: &Meaning) -> V<'_> {
    let zero = m.c(Ty::F32, 0);
    m.s(0).eq(zero) | m.s(1).eq(zero)
}

/// As [`either_zero`], with denormals flushed independently of MODE.
pub(super) fn either_flushed(m: &Meaning) -> V<'_> {
    let least = m.c(Ty::B32, 0x0080_0000);
    magnitude(m, m.s(0)).lt(least) | magnitude(m, m.s(1)).lt(least)
}

fn mad_legacy(m: &Meaning) {
    m.about("The product of the first two sources, rounded, plus the third; the product is 0 where either factor is 0, whatever the other one is.");
    let (zero, c) = (m.c(Ty::F32, 0), m.s(2));
    m.d(either_flushed(m).select(zero.mad(zero, c), m.s(0).mad(m.s(1), c)));
}

pub(super) fn mad_float(m: &Meaning) {
    m.about(
        "The product of the first two sources, rounded, plus the third. Denormals are flushed.",
    );
    m.d(m.s(0).mad(m.s(1), m.s(2)));
}

pub(super) fn fma(m: &Meaning) {
    m.about("The product of the first two sources plus the third, rounded once.");
    m.d(m.s(0).fma(m.s(1), m.s(2)));
}

/// The low 24 bits, sign-extended.
pub(super) fn signed24(x: V<'_>) -> V<'_> {
    (x << 8) >> 8
}

/// Writes the low bits of a signed sum, or with CLAMP the nearest number of the type.
pub(super) fn write_signed(m: &Meaning, sum: V<'_>, ty: Ty) {
    let low = sum.trunc(ty);
    let top = 1u64 << (ty.bits() - 1);
    let negative = sum.lt(m.c(sum.ty, 0));
    let limit = negative.select(m.c(ty, top), m.c(ty, top - 1));
    m.d(clamped(m, low, low.sext(sum.ty).ne(sum), limit));
}

/// Writes the low bits of an unsigned sum, or with CLAMP the largest number if the sum exceeds it.
pub(super) fn write_unsigned(m: &Meaning, sum: V<'_>, ty: Ty) {
    let low = sum.trunc(ty);
    m.d(clamped(m, low, low.zext(sum.ty).ne(sum), m.c(ty, u64::MAX)));
}

fn mad_i24(m: &Meaning) {
    m.about("The product of the low 24 bits of the first two sources, signed, plus the third. With clamp, the sum saturates.");
    let (a, b) = (
        signed24(m.s(0)).sext(Ty::I64),
        signed24(m.s(1)).sext(Ty::I64),
    );
    write_signed(m, a * b + m.s(2).sext(Ty::I64), Ty::I32);
}

fn mad_u24(m: &Meaning) {
    m.about("The product of the low 24 bits of the first two sources plus the third. With clamp, the sum saturates.");
    let (a, b) = (
        m.s(0).bits(0, 24).zext(Ty::U64),
        m.s(1).bits(0, 24).zext(Ty::U64),
    );
    write_unsigned(m, a * b + m.s(2).zext(Ty::U64), Ty::U32);
}

pub(super) fn mad_u16(m: &Meaning) {
    m.about("The product of the first two sources plus the third, 16 bits. With clamp, the sum saturates.");
    let (a, b, c) = (
        m.s(0).zext(Ty::U64),
        m.s(1).zext(Ty::U64),
        m.s(2).zext(Ty::U64),
    );
    write_unsigned(m, a * b + c, Ty::U16);
}

pub(super) fn mad_i16(m: &Meaning) {
    m.about("The product of the first two sources plus the third, 16 bits. With clamp, the sum saturates.");
    let (a, b, c) = (
        m.s(0).sext(Ty::I64),
        m.s(1).sext(Ty::I64),
        m.s(2).sext(Ty::I64),
    );
    write_signed(m, a * b + c, Ty::I16);
}

fn mad_u32_u16(m: &Meaning) {
    m.about("The product of the first two sources, 16 bits, plus the third, 32 bits. With clamp, the sum saturates.");
    let (a, b, c) = (
        m.s(0).zext(Ty::U64),
        m.s(1).zext(Ty::U64),
        m.s(2).zext(Ty::U64),
    );
    write_unsigned(m, a * b + c, Ty::U32);
}

fn mad_i32_i16(m: &Meaning) {
    m.about("The product of the first two sources, 16 bits, plus the third, 32 bits. With clamp, the sum saturates.");
    let (a, b, c) = (
        m.s(0).sext(Ty::I64),
        m.s(1).sext(Ty::I64),
        m.s(2).sext(Ty::I64),
    );
    write_signed(m, a * b + c, Ty::I32);
}

fn mad_u64(m: &Meaning) {
    m.about("The 64-bit product of the first two sources plus the third; each lane's carry goes to the mask. With clamp, the sum saturates.");
    let sum = m.s(0).zext(Ty::U64) * m.s(1).zext(Ty::U64) + m.s(2);
    let carry = sum.lt(m.s(2));
    m.d(clamped(m, sum, carry, m.c(Ty::U64, u64::MAX)));
    m.write(CarryOut, carry);
}

fn mad_i64(m: &Meaning) {
    m.about("The 64-bit signed product of the first two sources plus the third; bit 64 of the sum, its sign, goes to the mask. With clamp, the sum saturates.");
    let product = m.s(0).sext(Ty::I64) * m.s(1).sext(Ty::I64);
    let sum = product + m.s(2);
    let zero = m.c(Ty::I64, 0);
    let overflow = ((product ^ sum) & (m.s(2) ^ sum)).lt(zero);
    let negative = sum.lt(zero) ^ overflow;
    let limit = negative.select(m.c(Ty::I64, 1 << 63), m.c(Ty::I64, (1 << 63) - 1));
    m.d(clamped(m, sum, overflow, limit));
    m.write(CarryOut, negative);
}

fn bfe(m: &Meaning) {
    m.about("Extracts bits of the first source, zero- or sign-extended as the type says. The second source's low five bits are the offset, the third's the length. Length 0 gives 0.");
    let x = m.s(0);
    let (offset, length) = (m.s(1) & 31, m.s(2) & 31);
    let end = offset + length;
    let width = m.c(Ty::U32, 32);
    let cut = (x << (width - end)) >> (width - length);
    let field = end.lt(width).select(cut, x >> offset);
    m.d(length.nonzero().select(field, m.c(x.ty, 0)));
}

fn bfi(m: &Meaning) {
    m.about(
        "The bits of the second source where the first has ones, and those of the third elsewhere.",
    );
    m.d((m.s(0) & m.s(1)) | (!m.s(0) & m.s(2)));
}

fn lerp_u8(m: &Meaning) {
    m.about("In each byte, half the sum of the first two sources and the lowest bit of the third.");
    let byte = |k: u32| {
        let sum = m.s(0).bits(8 * k, 8) + m.s(1).bits(8 * k, 8) + m.s(2).bits(8 * k, 1);
        (sum >> 1) << (8 * k) as u64
    };
    m.d(byte(0) | byte(1) | byte(2) | byte(3));
}

/// Writes the low half of the first two sources, the first one above, shifted right.
fn align(m: &Meaning, count: V<'_>) {
    let pair = (m.s(0).zext(Ty::B64) << 32) | m.s(1).zext(Ty::B64);
    m.d((pair >> count).trunc(Ty::B32));
}

fn alignbit(m: &Meaning) {
    m.about("32 bits of the 64-bit number whose upper half is the first source and whose lower half is the second. The third source's low five bits are the number of the first bit.");
    align(m, m.s(2) & 31);
}

fn alignbyte(m: &Meaning) {
    m.about("32 bits of the 64-bit number whose upper half is the first source and whose lower half is the second. The third source's low two bits are the number of the first byte.");
    align(m, (m.s(2) & 3) << 3);
}

fn min3(m: &Meaning) {
    m.about("The smallest of the three sources. NaNs are ignored unless all sources are NaNs.");
    m.d(m.s(0).min(m.s(1)).min(m.s(2)));
}

fn max3(m: &Meaning) {
    m.about("The largest of the three sources. NaNs are ignored unless all sources are NaNs.");
    m.d(m.s(0).max(m.s(1)).max(m.s(2)));
}

/// The middle one of the three sources: the larger of the two that remain without the largest.
fn middle(m: &Meaning) -> V<'_> {
    let (a, b, c) = (m.s(0), m.s(1), m.s(2));
    let most = a.max(b).max(c);
    most.eq(a)
        .select(b.max(c), most.eq(b).select(a.max(c), a.max(b)))
}

fn med3(m: &Meaning) {
    m.about("The middle one of the three sources.");
    m.d(middle(m));
}

fn med3_float(m: &Meaning) {
    m.about("The middle one of the three sources; the smallest where one is NaN.");
    let (a, b, c) = (m.s(0), m.s(1), m.s(2));
    let nan = a.unordered(b) | c.unordered(c);
    let middle = if m.target().generation() < Gen::Gfx9 {
        let [x, y, z] = [a, b, c].map(|v| ordered(m, v));
        let most = x.max(y).max(z);
        most.eq(x)
            .select(b.max(c), most.eq(y).select(a.max(c), a.max(b)))
    } else {
        middle(m)
    };
    m.d(nan.select(a.min(b).min(c), middle));
}

/// An integer that compares like a float that is not a NaN, without flushing denormals. It is 0 for both zeros.
pub(super) fn ordered<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    let zero = m.c(Ty::I32, 0);
    let size = magnitude(m, x).as_(Ty::I32);
    x.as_(Ty::I32).lt(zero).select(zero - size, size)
}

/// The magnitude of the difference of unsigned numbers.
fn distance<'m>(a: V<'m>, b: V<'m>) -> V<'m> {
    a.gt(b).select(a - b, b - a)
}

/// The sum of the distances of four bytes.
fn byte_distances(m: &Meaning) -> V<'_> {
    let d = |k: u32| distance(m.s(0).bits(8 * k, 8), m.s(1).bits(8 * k, 8));
    d(0) + d(1) + d(2) + d(3)
}

/// Writes the sum, or with CLAMP the largest number if the sum does not fit.
fn write_sum<'m>(m: &'m Meaning, a: V<'m>, b: V<'m>) {
    let sum = a + b;
    m.d(clamped(m, sum, sum.lt(a), m.c(Ty::U32, u64::MAX)));
}

fn sad_u8(m: &Meaning) {
    m.about("The third source plus the distances of the four bytes of the first two. With clamp, the sum saturates.");
    write_sum(m, byte_distances(m), m.s(2));
}

fn sad_hi_u8(m: &Meaning) {
    m.about("The third source plus 65536 times the distances of the four bytes of the first two. With clamp, the sum saturates.");
    write_sum(m, byte_distances(m) << 16, m.s(2));
}

fn sad_u16(m: &Meaning) {
    m.about("The third source plus the distances of the halves of the first two. With clamp, the sum saturates.");
    let d = |k: u32| distance(m.s(0).bits(16 * k, 16), m.s(1).bits(16 * k, 16));
    write_sum(m, d(0) + d(1), m.s(2));
}

fn sad_u32(m: &Meaning) {
    m.about("The third source plus the distance of the first two. With clamp, the sum saturates.");
    write_sum(m, distance(m.s(0), m.s(1)), m.s(2));
}

fn msad_u8(m: &Meaning) {
    m.about("The third source plus the distances of those bytes of the first two that are not 0 in the second. With clamp, the sum saturates.");
    let d = |k: u32| {
        let (a, b) = (m.s(0).bits(8 * k, 8), m.s(1).bits(8 * k, 8));
        b.nonzero().select(distance(a, b), m.c(Ty::U32, 0))
    };
    write_sum(m, d(0) + d(1) + d(2) + d(3), m.s(2));
}

fn shl64(m: &Meaning) {
    m.about("Shifts the first source left by the second, modulo 64.");
    m.d(m.s(0) << (m.s(1) & 63));
}

fn shr64(m: &Meaning) {
    m.about(
        "Shifts the first source right by the second, modulo 64; a signed type keeps its sign.",
    );
    m.d(m.s(0) >> (m.s(1) & 63));
}

fn shlrev64(m: &Meaning) {
    m.about("Shifts the second source left by the first, modulo 64.");
    m.d(m.s(1) << (m.s(0) & 63));
}

fn shrrev64(m: &Meaning) {
    m.about(
        "Shifts the second source right by the first, modulo 64; a signed type keeps its sign.",
    );
    m.d(m.s(1) >> (m.s(0) & 63));
}

fn add_float(m: &Meaning) {
    m.about("Adds floats.");
    m.d(m.s(0) + m.s(1));
}

fn mul_float(m: &Meaning) {
    m.about("Multiplies floats.");
    m.d(m.s(0) * m.s(1));
}

fn min(m: &Meaning) {
    m.about("The smaller source. If one source is a NaN, the result is the other.");
    m.d(m.s(0).min(m.s(1)));
}

fn max(m: &Meaning) {
    m.about("The larger source. If one source is a NaN, the result is the other.");
    m.d(m.s(0).max(m.s(1)));
}

pub(super) fn ldexp(m: &Meaning) {
    m.about("The first source times two to the power of the second, a signed integer.");
    m.d(m.s(0).ldexp(m.s(1)));
}

pub(super) fn mul_lo(m: &Meaning) {
    m.about("The low half of the product.");
    m.d(m.s(0) * m.s(1));
}

fn mul_hi(m: &Meaning) {
    m.about("The high half of the 64-bit product.");
    m.d(m.s(0).mul_hi(m.s(1)));
}

fn perm(m: &Meaning) {
    m.about("Each byte of the third source selects a byte of the first source above the second: 0 to 7 by number, 8 to 11 the sign of byte 1, 3, 5 or 7 in all bits, 12 zeros, above that ones.");
    let pair = (m.s(0).zext(Ty::B64) << 32) | m.s(1).zext(Ty::B64);
    let byte = |k: u32| {
        let selector = m.s(2).bits(8 * k, 8).as_(Ty::U32);
        let chosen = (pair >> ((selector & 7) << 3)).trunc(Ty::B32) & 0xff;
        // Selectors 8 to 11 read bit 15, 31, 47 or 63.
        let top = (pair >> (((selector & 3) << 4) + 15)).trunc(Ty::B32) & 1;
        let ones = m.c(Ty::B32, 0xff);
        let sign = top.nonzero().select(ones, m.c(Ty::B32, 0));
        let c = |n| m.c(Ty::U32, n);
        let constant = selector.eq(c(12)).select(m.c(Ty::B32, 0), ones);
        let special = selector.lt(c(12)).select(sign, constant);
        selector.lt(c(8)).select(chosen, special) << (8 * k) as u64
    };
    m.d(byte(0) | byte(1) | byte(2) | byte(3));
}

fn xad(m: &Meaning) {
    m.about("The XOR of the first two sources plus the third.");
    m.d((m.s(0) ^ m.s(1)) + m.s(2));
}

fn lshl_add(m: &Meaning) {
    m.about("Shifts the first source left by the second, modulo 32, and adds the third.");
    m.d((m.s(0) << (m.s(1) & 31)) + m.s(2));
}

fn add_lshl(m: &Meaning) {
    m.about("Adds the first two sources and shifts left by the third, modulo 32.");
    m.d((m.s(0) + m.s(1)) << (m.s(2) & 31));
}

fn add3(m: &Meaning) {
    m.about("Adds the three sources.");
    m.d(m.s(0) + m.s(1) + m.s(2));
}

fn lshl_or(m: &Meaning) {
    m.about("Shifts the first source left by the second, modulo 32, and ORs the third in.");
    m.d((m.s(0) << (m.s(1) & 31)) | m.s(2));
}

fn and_or(m: &Meaning) {
    m.about("The AND of the first two sources, ORed with the third.");
    m.d((m.s(0) & m.s(1)) | m.s(2));
}

fn or3(m: &Meaning) {
    m.about("The OR of the three sources.");
    m.d(m.s(0) | m.s(1) | m.s(2));
}

pub(super) fn v_readlane(m: &Meaning) {
    m.about("Copies the source of one lane, active or not, to an SGPR. The second operand, modulo 64, is the lane's number.");
    m.d(m.s(0).read_lane(m.s(1)));
}

pub(super) fn v_writelane(m: &Meaning) {
    m.about("Copies the scalar source to one lane of the destination, active or not. The second operand, modulo 64, is the lane's number.");
    m.d_lane(m.s(1), m.s(0));
}

pub(super) fn v_bcnt(m: &Meaning) {
    m.about("The number of ones in the first source, plus the second.");
    m.d(m.s(0).popcount().as_(Ty::B32) + m.s(1));
}

/// The mask of the lanes below the lane itself.
fn lanes_below(m: &Meaning) -> V<'_> {
    (m.c(Ty::B64, 1) << m.lane()) - 1
}

pub(super) fn v_mbcnt_lo(m: &Meaning) {
    m.about("The number of ones in the first source, a mask of lanes 31:0, that belong to lower lanes, plus the second source.");
    let below = lanes_below(m).trunc(Ty::B32);
    m.d((m.s(0) & below).popcount().as_(Ty::B32) + m.s(1));
}

pub(super) fn v_mbcnt_hi(m: &Meaning) {
    m.about("The number of ones in the first source, a mask of lanes 63:32, that belong to lower lanes, plus the second source.");
    let below = (lanes_below(m) >> 32).trunc(Ty::B32);
    m.d((m.s(0) & below).popcount().as_(Ty::B32) + m.s(1));
}

pub(super) fn v_bfm(m: &Meaning) {
    m.about("A mask of ones, shifted left. The first source is the number of ones, the second the shift, both modulo 32.");
    m.d(((m.c(Ty::B32, 1) << (m.s(0) & 31)) - 1) << (m.s(1) & 31));
}

pub(super) fn cvt_pk_u16(m: &Meaning) {
    m.about("Each source to 16 bits, saturating: the first in the low half, the second in the high half.");
    let most = m.c(Ty::U32, 0xffff);
    m.d(m.s(0).min(most) | (m.s(1).min(most) << 16));
}

pub(super) fn cvt_pk_i16(m: &Meaning) {
    m.about("Each source to 16 bits, signed and saturating: the first in the low half, the second in the high half.");
    let (least, most) = (m.c(Ty::I32, 0xffff_8000), m.c(Ty::I32, 0x7fff));
    let (low, high) = (m.s(0).min(most).max(least), m.s(1).min(most).max(least));
    m.d((low & 0xffff) | (high << 16));
}

pub(super) fn add_signed(m: &Meaning) {
    m.about("Adds. With clamp, the signed sum saturates.");
    write_signed(m, m.s(0).sext(Ty::I64) + m.s(1).sext(Ty::I64), m.s(0).ty);
}

pub(super) fn sub_signed(m: &Meaning) {
    m.about(
        "Subtracts the second source from the first. With clamp, the signed difference saturates.",
    );
    write_signed(m, m.s(0).sext(Ty::I64) - m.s(1).sext(Ty::I64), m.s(0).ty);
}

fn pack(m: &Meaning) {
    m.about("The first source in the low half, the second in the high half.");
    let (low, high) = (m.s(0).as_(Ty::B16), m.s(1).as_(Ty::B16));
    m.d(low.zext(Ty::B32) | (high.zext(Ty::B32) << 16));
}

/// The constants of the division steps for the width of a float.
struct Division {
    /// Bits of the fraction field, and the largest exponent field.
    mantissa: u64,
    exponent_max: u64,
    bias: u64,
    /// The number of powers of two by which v_div_scale scales a number.
    scale: u64,
    /// The difference of the exponents from which the quotient is too near to the ends of the range.
    far: u64,
    /// A quotient below 2^-`tiny` is less than half the smallest denormal.
    tiny: u64,
}

fn division(ty: Ty) -> Division {
    match ty {
        Ty::F16 => Division {
            mantissa: 10,
            exponent_max: 0x1f,
            bias: 15,
            // Half precision has neither v_div_scale nor v_div_fmas.
            scale: 0,
            far: 0,
            tiny: 0,
        },
        Ty::F64 => Division {
            mantissa: 52,
            exponent_max: 0x7ff,
            bias: 1023,
            scale: 128,
            far: 768,
            tiny: 1075,
        },
        _ => Division {
            mantissa: 23,
            exponent_max: 0xff,
            bias: 127,
            scale: 64,
            far: 96,
            tiny: 150,
        },
    }
}

/// The exponent field, in 32 bits.
fn exponent<'m>(x: V<'m>) -> V<'m> {
    let d = division(x.ty);
    let field = (x.as_(x.ty.as_bits()) >> d.mantissa) & d.exponent_max;
    (if field.ty.bits() == 64 {
        field.trunc(Ty::I32)
    } else {
        field
    })
    .as_(Ty::I32)
}

/// A 32-bit signed constant.
fn int(m: &Meaning, value: i64) -> V<'_> {
    m.c(Ty::I32, value as u64)
}

/// The bits without the sign.
fn magnitude<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    x.as_(x.ty.as_bits()) & m.c(x.ty.as_bits(), (1 << (x.ty.bits() - 1)) - 1)
}

fn div_scale(m: &Meaning) {
    m.about("The first step of a division of the third source by the second: the first source, which is one of them, times a power of two that keeps the steps in range. The mask says where v_div_fmas must scale the quotient.");
    let (x, y, z) = (m.s(0), m.s(1), m.s(2));
    let d = division(x.ty);
    let bits = x.ty.as_bits();
    // Only the exponent fields are tested, also those of infinities and NaNs.
    let is_y = x.as_(bits).eq(y.as_(bits));
    let difference = exponent(z) - exponent(y);
    let huge = difference.ge(int(m, d.far as i64));
    let small = difference.le(int(m, -(d.far as i64)));
    let y_denormal = exponent(y).eq(int(m, 0));
    // The reciprocal would be a denormal.
    let y_large = exponent(y).ge(int(m, d.exponent_max as i64 - 2));
    let z_small = exponent(z).le(int(m, d.mantissa as i64 + 1));
    let (none, up, down) = (int(m, 0), int(m, d.scale as i64), int(m, -(d.scale as i64)));
    let power = huge.select(
        is_y.select(up, none),
        y_denormal.select(
            up,
            y_large.select(
                small.select(is_y.select(down, none), down),
                small.select(is_y.select(none, up), z_small.select(up, none)),
            ),
        ),
    );
    // A denormal that MODE flushes counts as zero.
    let no = m.c(x.ty, 0);
    let invalid = y.eq(no) | z.eq(no);
    let nan = m.c(
        x.ty,
        1 << (x.ty.bits() - 1) | ((d.exponent_max << 1 | 1) << (d.mantissa - 1)),
    );
    let scaled = invalid.select(nan, x.ldexp(power));
    let mask = huge | (!y_denormal & small);
    m.d(scaled);
    m.write(CarryOut, mask);
    m.shortcut(scaled, true, || {
        let one_of_them = x.as_(bits).eq(y.as_(bits)) | x.as_(bits).eq(z.as_(bits));
        (moderate(m, y, z) & one_of_them, x)
    });
    m.shortcut(mask, true, || (moderate(m, y, z), m.c(Ty::Bool, 0)));
}

/// The upper bits of a float's magnitude, in 32 bits, and the position of the exponent in them.
fn top<'m>(x: V<'m>) -> (V<'m>, u64) {
    let bits = x.as_(x.ty.as_bits());
    let locations = division(x.ty).mantissa;
    let (high, location) = match x.ty {
        Ty::F64 => ((bits >> 32).trunc(Ty::U32), locations - 32),
        _ => (bits.as_(Ty::U32), locations),
    };
    (high & 0x7fff_ffff, location)
}

/// Returns true if a number from [`top`] has an exponent field from `least` on and below `end`.
pub(super) fn exponent_within<'m>(m: &'m Meaning, x: V<'m>, least: u64, end: u64) -> V<'m> {
    let (top, location) = top(x);
    (top - m.c(Ty::U32, least << location)).lt(m.c(Ty::U32, (end - least) << location))
}

/// Returns true if a division of `z` by `y` needs no scaling: neither the operands nor the quotient nor an intermediate result is
/// a denormal or beyond the range of a float.
fn moderate<'m>(m: &'m Meaning, y: V<'m>, z: V<'m>) -> V<'m> {
    let d = division(y.ty);
    let divisor = exponent_within(m, y, 1, d.exponent_max - 2);
    let dividend = exponent_within(m, z, d.mantissa + 2, d.exponent_max);
    let ((z_top, location), (y_top, _)) = (top(z), top(y));
    let near = (d.far - 1) << location;
    let quotient = (z_top - y_top + near).lt(m.c(Ty::U32, 2 * near));
    divisor & dividend & quotient
}

fn div_fmas(m: &Meaning) {
    m.about("A step of a division: the product of the first two sources plus the third. Where the lane's bit of VCC is 1, the scale of v_div_scale is undone before the one rounding: up where the third source is 2 or more, else down. Denormal sources are kept whatever MODE says.");
    let (a, b, c) = (m.s(0), m.s(1), m.s(2));
    let d = division(a.ty);
    // The scale factor of one operand: 2^64 (2^128 in double precision).
    let n = d.scale as i16;
    let scaled = ((m.get(State::Vcc) >> m.lane()) & 1).nonzero();
    let up = exponent(c).gt(int(m, d.bias as i64));
    let moved = up.select(a.fma_ldexp(b, c, n), a.fma_ldexp(b, c, -n));
    let result = scaled.select(moved, a.fma_ldexp(b, c, 0));
    m.d(result);
    m.shortcut(result, false, || {
        // Where MODE does not flush a source, an fma gives the same result. MODE flushes none if the least denormal is not read as zero.
        let zero = m.c(a.ty, 0);
        let kept = !m.c(a.ty, 1).eq(zero);
        let [x, y, z] = [a, b, c].map(|x| x.eq(zero) & magnitude(m, x).nonzero());
        (!scaled & (kept | !(x | y | z)), a.fma(b, c))
    });
}

/// Quiets a NaN.
fn quiet(x: V<'_>) -> V<'_> {
    let bit = 1 << (division(x.ty).mantissa - 1);
    (x.as_(x.ty.as_bits()) | bit).as_(x.ty)
}

fn div_fixup(m: &Meaning) {
    m.about("The last step of a division of the third source by the second: the first source is the quotient so far; signs, zeros, infinities, NaNs, overflow and underflow are put right.");
    let (q, y, z) = (m.s(0), m.s(1), m.s(2));
    let d = division(q.ty);
    let bits = q.ty.as_bits();
    let top = 1u64 << (q.ty.bits() - 1);
    let sign = (y.as_(bits) ^ z.as_(bits)) & top;
    let (y_magnitude, z_magnitude) = (magnitude(m, y), magnitude(m, z));
    let infinity = m.c(bits, d.exponent_max << d.mantissa);
    // A denormal that MODE flushes counts as zero, but the quotient is passed on unchanged.
    let zero = m.c(q.ty, 0);
    let (y_zero, z_zero) = (y.eq(zero), z.eq(zero));
    let (y_infinite, z_infinite) = (y_magnitude.eq(infinity), z_magnitude.eq(infinity));
    let nan = m.c(q.ty, top | ((d.exponent_max << 1 | 1) << (d.mantissa - 1)));
    let q_magnitude = magnitude(m, q);
    let passed = (q_magnitude | sign).as_(q.ty);
    // The rounding mode decides between infinity and the largest number, or between 0 and the smallest.
    let one = (m.c(bits, d.bias << d.mantissa) | sign).as_(q.ty);
    let over = q_magnitude.ge(infinity);
    let mut result = over.select(one.ldexp(int(m, 4000)), passed);
    // Half precision does not have this check.
    if q.ty != Ty::F16 {
        let under = (exponent(z) - exponent(y)).lt(int(m, -(d.tiny as i64)));
        result = under.select(one.ldexp(int(m, -4000)), result);
    }
    result = (y_infinite | z_zero).select(sign.as_(q.ty), result);
    result = (y_zero | z_infinite).select((infinity | sign).as_(q.ty), result);
    let invalid = (y_zero & z_zero) | (y_infinite & z_infinite);
    result = invalid.select(nan, result);
    result = y_magnitude.gt(infinity).select(quiet(y), result);
    let result = z_magnitude.gt(infinity).select(quiet(z), result);
    m.d(result);
    m.raise(exception::INVALID, invalid);
    let finite = z_magnitude.lt(infinity);
    m.raise(exception::DIVIDE_BY_ZERO, y_zero & !z_zero & finite);
    if q.ty != Ty::F16 {
        m.shortcut(result, true, || {
            let normal = exponent_within(m, q, 1, d.exponent_max);
            let bits = magnitude(m, q) | sign;
            (moderate(m, y, z) & normal, bits.as_(q.ty))
        });
    }
}

fn mullit(m: &Meaning) {
    m.about("The product of the first two sources, which is 0 where either is 0, whatever the other one is; or the lowest float where the second source is that, minus infinity or NaN, or the third is NaN or not above 0.");
    let (b, c) = (m.s(1), m.s(2));
    let (zero, lowest) = (m.c(Ty::F32, 0), m.c(Ty::F32, 0xff7f_ffff));
    let product = either_zero(m).select(zero, m.s(0) * b);
    let useful = b.gt(lowest) & c.gt(zero);
    m.d(useful.select(product, lowest));
}

/// A source of the cube instructions for comparisons: a denormal is a zero, independently of MODE.
fn coordinate(m: &Meaning, n: usize) -> V<'_> {
    let x = m.s(n);
    let normal = magnitude(m, x).ge(m.c(Ty::B32, 0x0080_0000));
    normal.select(x, m.c(Ty::F32, 0))
}

/// For the cube's faces: true if Z has the largest magnitude of the vector; and true if Y has it, for vectors where Z does not.
fn cube_axis(m: &Meaning) -> (V<'_>, V<'_>) {
    let [x, y, z] = [0, 1, 2].map(|n| coordinate(m, n).abs());
    (z.ge(x) & z.ge(y), y.ge(x))
}

/// Selects one of six values by the axis and its sign: for X, Y and Z, each negative or not.
fn cube<'m>(m: &'m Meaning, x: [V<'m>; 2], y: [V<'m>; 2], z: [V<'m>; 2]) -> V<'m> {
    let zero = m.c(Ty::F32, 0);
    let (is_z, is_y) = cube_axis(m);
    let pick = |n, [below, above]: [V<'m>; 2]| coordinate(m, n).lt(zero).select(below, above);
    is_z.select(pick(2, z), is_y.select(pick(1, y), pick(0, x)))
}

/// A result that is one of the sources: a NaN is quieted with MODE.IEEE; nothing else changes.
fn chosen<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    let one = m.c(Ty::F32, 0x3f80_0000);
    x.unordered(x).select(x * one, x)
}

fn cube_id(m: &Meaning) {
    m.about("The number, a float, of the cube's face that the vector of the three sources points at: 0 and 1 at X and -X, 2 and 3 at Y and -Y, 4 and 5 at Z and -Z.");
    let c = |bits: u64| m.c(Ty::F32, bits);
    let (one, two, three) = (c(0x3f80_0000), c(0x4000_0000), c(0x4040_0000));
    let (four, five) = (c(0x4080_0000), c(0x40a0_0000));
    m.d(cube(m, [one, c(0)], [three, two], [five, four]));
}

fn cube_sc(m: &Meaning) {
    m.about("The S coordinate on the cube's face that the vector of the three sources points at.");
    let (x, z) = (m.s(0), m.s(2));
    m.d(chosen(m, cube(m, [z, -z], [x, x], [-x, x])));
}

fn cube_tc(m: &Meaning) {
    m.about("The T coordinate on the cube's face that the vector of the three sources points at.");
    let (y, z) = (m.s(1), m.s(2));
    m.d(chosen(m, cube(m, [-y, -y], [-z, z], [-y, -y])));
}

fn cube_ma(m: &Meaning) {
    m.about(
        "Twice the component, of the vector of the three sources, that has the largest magnitude.",
    );
    let two = m.c(Ty::F32, 0x4000_0000);
    let [x, y, z] = [0, 1, 2].map(|n| coordinate(m, n));
    // For a vector whose components are all 0 the result is 0, independently of their signs.
    let axis = cube(m, [x, x], [y, y], [z, z]);
    let zero = m.c(Ty::F32, 0);
    m.d(axis.eq(zero).select(zero, axis * two));
}

/// Replaces a byte of `other` by the first source as an unsigned byte, rounded as MODE says.
fn replace_byte<'m>(m: &'m Meaning, other: V<'m>) {
    let x = m.s(0);
    let c = |value: f32| m.c(Ty::F32, u64::from(value.to_bits()));
    // Selected instead of computed by a minimum and a maximum, which may flush a denormal that the sum rounds up.
    let (least, most) = (c(0.0), c(255.0));
    let held = x.lt(least).select(least, x.gt(most).select(most, x));
    // One unit in the last place of this number is 1.
    let whole = (held + c(8_388_608.0)).as_(Ty::B32) & 0xff;
    let byte = x.unordered(x).select(m.c(Ty::B32, 0), whole);
    let location = (m.s(1) & 3) << 3;
    let hole = m.c(Ty::B32, 0xff) << location;
    m.d((other & !hole) | (byte << location));
}

fn cvt_pk_u8(m: &Meaning) {
    m.about("The first source to an unsigned byte, rounded as MODE says and saturating, NaN to 0. It replaces one byte of the third source. The second source's low two bits are the byte's number.");
    replace_byte(m, m.s(2));
}

pub(super) fn cvt_pkaccum(m: &Meaning) {
    m.about("The first source to an unsigned byte, rounded as MODE says and saturating, NaN to 0. It replaces one byte of the destination. The second source's low two bits are the byte's number.");
    replace_byte(m, m.old());
}

/// The first two sources, floats, as 16-bit integers: times `most`, clamped to `least` and `most`, rounded to nearest even; 0 for
/// NaN.
fn pack_norm(m: &Meaning, least: f64, most: f64) {
    let c = |value| approx::f64(m, value);
    let [low, high] = [m.s(0), m.s(1)].map(|x| {
        m.nearest(|| {
            let x = x.to_width(Ty::F64);
            let held = (x * c(most)).min(c(most)).max(c(least)).round_even();
            let held = x.unordered(x).select(c(0.0), held);
            held.to_int(Ty::I32).as_(Ty::B32) & 0xffff
        })
    });
    m.d(low | (high << 16));
}

pub(super) fn cvt_pknorm_i16(m: &Meaning) {
    m.about("Two floats from -1 to 1 to signed numbers of 16 bits: times 32767, rounded to nearest even. NaN gives 0. The first is in the low half.");
    pack_norm(m, -32767.0, 32767.0);
}

pub(super) fn cvt_pknorm_u16(m: &Meaning) {
    m.about("Two floats from 0 to 1 to unsigned numbers of 16 bits: times 65535, rounded to nearest even. NaN gives 0. The first is in the low half.");
    pack_norm(m, 0.0, 65535.0);
}

pub(super) fn cvt_pkrtz(m: &Meaning) {
    m.about("Two floats to half precision, rounded towards zero; the first is in the low half.");
    let c = |value| m.c(Ty::B32, value);
    let [low, high] = [m.s(0), m.s(1)].map(|x| {
        // Without the bits that an f16 does not have, the conversion is exact, independently of MODE's rounding: these are
        // 13 bits of a normal result, and more for a denormal result, the more the smaller it is.
        let bits = x.as_(Ty::B32);
        let magnitude = bits & 0x7fff_ffff;
        let exponent = magnitude >> 23;
        let small = exponent.lt(c(113));
        let cut = small.select(c(113) - exponent, c(0)) + 13;
        let short = magnitude & !((c(1) << cut) - 1);
        let held = magnitude.lt(c(0x4780_0000)).select(short, c(0x477f_e000));
        let short = (bits & 0x8000_0000 | held).as_(Ty::F32);
        let exact = m.nearest(|| short.to_width(Ty::F16));
        let special = exponent.eq(c(255));
        (special.select(x.to_width(Ty::F16), exact))
            .as_(Ty::B16)
            .zext(Ty::B32)
    });
    m.d(low | (high << 16));
}

/// The sum of the distances of four bytes of the first source, from byte `from` on, from those of the second source; with
/// `masked`, only of bytes that are not 0 in the second source.
fn byte_distances_from(m: &Meaning, from: u32, masked: bool) -> V<'_> {
    let distance_of = |k: u32| {
        let a = m.s(0).bits(8 * (from + k), 8).trunc(Ty::U32);
        let b = m.s(1).as_(Ty::U32).bits(8 * k, 8);
        let d = distance(a, b);
        match masked {
            true => b.nonzero().select(d, m.c(Ty::U32, 0)),
            false => d,
        }
    };
    distance_of(0) + distance_of(1) + distance_of(2) + distance_of(3)
}

/// Four 16-bit sums, each of the distances at one offset and 16 bits of the third source.
fn four_sums(m: &Meaning, masked: bool) {
    let sum = |k: u32| {
        let sum = byte_distances_from(m, k, masked) + m.s(2).bits(16 * k, 16).trunc(Ty::U32);
        let most = m.c(Ty::U32, 0xffff);
        let held = clamped(m, sum & 0xffff, sum.gt(most), most);
        held.zext(Ty::U64) << (16 * k) as u64
    };
    m.d(sum(0) | sum(1) | sum(2) | sum(3));
}

fn qsad(m: &Meaning) {
    m.about("Four sums of the distances of the second source's bytes and four bytes of the first, at offsets 0 to 3; to each is added 16 bits of the third. With clamp, the sums saturate.");
    four_sums(m, false);
}

fn mqsad(m: &Meaning) {
    m.about("Four sums of the distances of the second source's bytes, except those that are 0, and four bytes of the first, at offsets 0 to 3; to each is added 16 bits of the third. With clamp, the sums saturate.");
    four_sums(m, true);
}

fn mqsad_u32(m: &Meaning) {
    m.about("Four sums of the distances of the second source's bytes, except those that are 0, and four bytes of the first, at offsets 0 to 3; to each is added 32 bits of the third. The sums saturate.");
    for k in 0..4 {
        let other = m.dword(Src2, k).as_(Ty::U32);
        let sum = byte_distances_from(m, k as u32, true) + other;
        let most = m.c(Ty::U32, u64::MAX);
        m.d_dword(k, sum.lt(other).select(most, sum));
    }
}

/// The fraction of 2/π in binary, 1184 digits, the highest first.
static TWO_BY_PI: &[u64] = &[
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_0000_0000,
];

fn trig_preop(m: &Meaning) {
    m.about("53 binary places of 2/π, for the reduction of the first source. They begin at place 53 times the second source's low five bits, and at later ones for a source of 2^55 or more. For a source of 2^945 or more they are multiplied by 2^128.");
    let c = |value: u64| m.c(Ty::I32, value);
    let exponent = exponent(m.s(0));
    let segment = (m.s(1) & 31) * c(53);
    let far = exponent - c(1077);
    let shift = segment + far.gt(c(0)).select(far, c(0));
    let word = (shift >> 6).as_(Ty::U32);
    let part = shift & 63;
    let high = word.look_up(Ty::U64, &TWO_BY_PI) << part;
    // A shift by 64 must give 0.
    let low = (word + 1).look_up(Ty::U64, &TWO_BY_PI) >> (c(64) - part);
    let large = exponent.ge(c(1968)).select(c(128), c(0));
    // Bits below the least denormal are cut off, independently of MODE's rounding.
    let beyond = shift - large - c(1021);
    let cut = beyond.gt(c(0)).select(beyond.min(c(53)), c(0));
    let locations = (((high | low) >> 11) >> cut << cut).to_float(Ty::F64);
    m.d(locations.ldexp(large - c(53) - shift));
}
