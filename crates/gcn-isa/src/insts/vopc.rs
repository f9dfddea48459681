//! VOPC: vector compares. Each lane's truth value goes to its bit of VCC, or of SDST in VOP3 and
//! gfx9's SDWA.

use crate::format::Format;
use crate::inst::{Inst, NO};
use crate::meaning::{Meaning, State, V};
use crate::shape::{Role::*, Shape, Ty, read, valu, write};

static F16: Shape = valu(&[
    write(CmpDst, Ty::Mask),
    read(Src0, Ty::F16),
    read(Src1, Ty::F16),
]);
static F32: Shape = valu(&[
    write(CmpDst, Ty::Mask),
    read(Src0, Ty::F32),
    read(Src1, Ty::F32),
]);
static F64: Shape = valu(&[
    write(CmpDst, Ty::Mask),
    read(Src0, Ty::F64),
    read(Src1, Ty::F64),
]);
static I16: Shape = valu(&[
    write(CmpDst, Ty::Mask),
    read(Src0, Ty::I16),
    read(Src1, Ty::I16),
]);
static U16: Shape = valu(&[
    write(CmpDst, Ty::Mask),
    read(Src0, Ty::U16),
    read(Src1, Ty::U16),
]);
static I32: Shape = valu(&[
    write(CmpDst, Ty::Mask),
    read(Src0, Ty::I32),
    read(Src1, Ty::I32),
]);
static U32: Shape = valu(&[
    write(CmpDst, Ty::Mask),
    read(Src0, Ty::U32),
    read(Src1, Ty::U32),
]);
static I64: Shape = valu(&[
    write(CmpDst, Ty::Mask),
    read(Src0, Ty::I64),
    read(Src1, Ty::I64),
]);
static U64: Shape = valu(&[
    write(CmpDst, Ty::Mask),
    read(Src0, Ty::U64),
    read(Src1, Ty::U64),
]);
/// A float, and a mask of the classes that are tested.
static CLASS_F16: Shape = valu(&[
    write(CmpDst, Ty::Mask),
    read(Src0, Ty::F16),
    read(Src1, Ty::U32),
]);
static CLASS_F32: Shape = valu(&[
    write(CmpDst, Ty::Mask),
    read(Src0, Ty::F32),
    read(Src1, Ty::U32),
]);
static CLASS_F64: Shape = valu(&[
    write(CmpDst, Ty::Mask),
    read(Src0, Ty::F64),
    read(Src1, Ty::U32),
]);

const fn vopc(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Vopc, name, opcode, shape, meaning)
}

/// The rows. Modifiers on compares: docs/errata.md, vopc-modifiers.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //   name                 gfx6 gfx7 gfx8 gfx9  shape   meaning
    vopc("v_cmp_class_f16",   [ NO,  NO,  20,  20], &CLASS_F16, class).errata(&["vopc-class-f16-mask", "vopc-class-denormals"]),
    vopc("v_cmpx_class_f16",  [ NO,  NO,  21,  21], &CLASS_F16, x_class).errata(&["vopc-class-f16-mask", "vopc-cmpx", "vopc-class-denormals"]),
    vopc("v_cmp_class_f32",   [136, 136,  16,  16], &CLASS_F32, class).errata(&["vopc-class-denormals"]),
    vopc("v_cmpx_class_f32",  [152, 152,  17,  17], &CLASS_F32, x_class).errata(&["vopc-cmpx", "vopc-class-denormals"]),
    vopc("v_cmp_class_f64",   [168, 168,  18,  18], &CLASS_F64, class).errata(&["vopc-class-f64-mask", "vopc-class-denormals"]),
    vopc("v_cmpx_class_f64",  [184, 184,  19,  19], &CLASS_F64, x_class).errata(&["vopc-class-f64-mask", "vopc-cmpx", "vopc-class-denormals"]),
    vopc("v_cmp_f_f16",       [ NO,  NO,  32,  32], &F16,   f),
    vopc("v_cmp_lt_f16",      [ NO,  NO,  33,  33], &F16,   lt),
    vopc("v_cmp_eq_f16",      [ NO,  NO,  34,  34], &F16,   eq),
    vopc("v_cmp_le_f16",      [ NO,  NO,  35,  35], &F16,   le),
    vopc("v_cmp_gt_f16",      [ NO,  NO,  36,  36], &F16,   gt),
    vopc("v_cmp_lg_f16",      [ NO,  NO,  37,  37], &F16,   ne).errata(&["vopc-lg"]),
    vopc("v_cmp_ge_f16",      [ NO,  NO,  38,  38], &F16,   ge),
    vopc("v_cmp_o_f16",       [ NO,  NO,  39,  39], &F16,   ordered),
    vopc("v_cmp_u_f16",       [ NO,  NO,  40,  40], &F16,   unordered).errata(&["vopc-u"]),
    vopc("v_cmp_nge_f16",     [ NO,  NO,  41,  41], &F16,   nge),
    vopc("v_cmp_nlg_f16",     [ NO,  NO,  42,  42], &F16,   nlg).errata(&["vopc-lg"]),
    vopc("v_cmp_ngt_f16",     [ NO,  NO,  43,  43], &F16,   ngt),
    vopc("v_cmp_nle_f16",     [ NO,  NO,  44,  44], &F16,   nle),
    vopc("v_cmp_neq_f16",     [ NO,  NO,  45,  45], &F16,   neq),
    vopc("v_cmp_nlt_f16",     [ NO,  NO,  46,  46], &F16,   nlt),
    vopc("v_cmp_tru_f16",     [ NO,  NO,  47,  47], &F16,   t).alias(&["v_cmp_t_f16"]),
    vopc("v_cmpx_f_f16",      [ NO,  NO,  48,  48], &F16,   x_f).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_lt_f16",     [ NO,  NO,  49,  49], &F16,   x_lt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_eq_f16",     [ NO,  NO,  50,  50], &F16,   x_eq).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_le_f16",     [ NO,  NO,  51,  51], &F16,   x_le).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_gt_f16",     [ NO,  NO,  52,  52], &F16,   x_gt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_lg_f16",     [ NO,  NO,  53,  53], &F16,   x_ne).errata(&["vopc-lg", "vopc-cmpx"]),
    vopc("v_cmpx_ge_f16",     [ NO,  NO,  54,  54], &F16,   x_ge).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_o_f16",      [ NO,  NO,  55,  55], &F16,   x_ordered).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_u_f16",      [ NO,  NO,  56,  56], &F16,   x_unordered).errata(&["vopc-u", "vopc-cmpx"]),
    vopc("v_cmpx_nge_f16",    [ NO,  NO,  57,  57], &F16,   x_nge).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_nlg_f16",    [ NO,  NO,  58,  58], &F16,   x_nlg).errata(&["vopc-lg", "vopc-cmpx"]),
    vopc("v_cmpx_ngt_f16",    [ NO,  NO,  59,  59], &F16,   x_ngt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_nle_f16",    [ NO,  NO,  60,  60], &F16,   x_nle).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_neq_f16",    [ NO,  NO,  61,  61], &F16,   x_neq).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_nlt_f16",    [ NO,  NO,  62,  62], &F16,   x_nlt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_tru_f16",    [ NO,  NO,  63,  63], &F16,   x_t).alias(&["v_cmpx_t_f16"]).errata(&["vopc-cmpx"]),
    vopc("v_cmp_f_f32",       [  0,   0,  64,  64], &F32,   f),
    vopc("v_cmp_lt_f32",      [  1,   1,  65,  65], &F32,   lt),
    vopc("v_cmp_eq_f32",      [  2,   2,  66,  66], &F32,   eq),
    vopc("v_cmp_le_f32",      [  3,   3,  67,  67], &F32,   le),
    vopc("v_cmp_gt_f32",      [  4,   4,  68,  68], &F32,   gt),
    vopc("v_cmp_lg_f32",      [  5,   5,  69,  69], &F32,   ne).errata(&["vopc-lg"]),
    vopc("v_cmp_ge_f32",      [  6,   6,  70,  70], &F32,   ge),
    vopc("v_cmp_o_f32",       [  7,   7,  71,  71], &F32,   ordered),
    vopc("v_cmp_u_f32",       [  8,   8,  72,  72], &F32,   unordered).errata(&["vopc-u"]),
    vopc("v_cmp_nge_f32",     [  9,   9,  73,  73], &F32,   nge),
    vopc("v_cmp_nlg_f32",     [ 10,  10,  74,  74], &F32,   nlg).errata(&["vopc-lg"]),
    vopc("v_cmp_ngt_f32",     [ 11,  11,  75,  75], &F32,   ngt),
    vopc("v_cmp_nle_f32",     [ 12,  12,  76,  76], &F32,   nle),
    vopc("v_cmp_neq_f32",     [ 13,  13,  77,  77], &F32,   neq),
    vopc("v_cmp_nlt_f32",     [ 14,  14,  78,  78], &F32,   nlt),
    vopc("v_cmp_tru_f32",     [ 15,  15,  79,  79], &F32,   t).alias(&["v_cmp_t_f32"]),
    vopc("v_cmpx_f_f32",      [ 16,  16,  80,  80], &F32,   x_f).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_lt_f32",     [ 17,  17,  81,  81], &F32,   x_lt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_eq_f32",     [ 18,  18,  82,  82], &F32,   x_eq).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_le_f32",     [ 19,  19,  83,  83], &F32,   x_le).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_gt_f32",     [ 20,  20,  84,  84], &F32,   x_gt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_lg_f32",     [ 21,  21,  85,  85], &F32,   x_ne).errata(&["vopc-lg", "vopc-cmpx"]),
    vopc("v_cmpx_ge_f32",     [ 22,  22,  86,  86], &F32,   x_ge).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_o_f32",      [ 23,  23,  87,  87], &F32,   x_ordered).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_u_f32",      [ 24,  24,  88,  88], &F32,   x_unordered).errata(&["vopc-u", "vopc-cmpx"]),
    vopc("v_cmpx_nge_f32",    [ 25,  25,  89,  89], &F32,   x_nge).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_nlg_f32",    [ 26,  26,  90,  90], &F32,   x_nlg).errata(&["vopc-lg", "vopc-cmpx"]),
    vopc("v_cmpx_ngt_f32",    [ 27,  27,  91,  91], &F32,   x_ngt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_nle_f32",    [ 28,  28,  92,  92], &F32,   x_nle).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_neq_f32",    [ 29,  29,  93,  93], &F32,   x_neq).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_nlt_f32",    [ 30,  30,  94,  94], &F32,   x_nlt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_tru_f32",    [ 31,  31,  95,  95], &F32,   x_t).alias(&["v_cmpx_t_f32"]).errata(&["vopc-cmpx"]),
    vopc("v_cmp_f_f64",       [ 32,  32,  96,  96], &F64,   f),
    vopc("v_cmp_lt_f64",      [ 33,  33,  97,  97], &F64,   lt),
    vopc("v_cmp_eq_f64",      [ 34,  34,  98,  98], &F64,   eq),
    vopc("v_cmp_le_f64",      [ 35,  35,  99,  99], &F64,   le),
    vopc("v_cmp_gt_f64",      [ 36,  36, 100, 100], &F64,   gt),
    vopc("v_cmp_lg_f64",      [ 37,  37, 101, 101], &F64,   ne).errata(&["vopc-lg"]),
    vopc("v_cmp_ge_f64",      [ 38,  38, 102, 102], &F64,   ge),
    vopc("v_cmp_o_f64",       [ 39,  39, 103, 103], &F64,   ordered),
    vopc("v_cmp_u_f64",       [ 40,  40, 104, 104], &F64,   unordered).errata(&["vopc-u"]),
    vopc("v_cmp_nge_f64",     [ 41,  41, 105, 105], &F64,   nge),
    vopc("v_cmp_nlg_f64",     [ 42,  42, 106, 106], &F64,   nlg).errata(&["vopc-lg"]),
    vopc("v_cmp_ngt_f64",     [ 43,  43, 107, 107], &F64,   ngt),
    vopc("v_cmp_nle_f64",     [ 44,  44, 108, 108], &F64,   nle),
    vopc("v_cmp_neq_f64",     [ 45,  45, 109, 109], &F64,   neq),
    vopc("v_cmp_nlt_f64",     [ 46,  46, 110, 110], &F64,   nlt),
    vopc("v_cmp_tru_f64",     [ 47,  47, 111, 111], &F64,   t).alias(&["v_cmp_t_f64"]),
    vopc("v_cmpx_f_f64",      [ 48,  48, 112, 112], &F64,   x_f).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_lt_f64",     [ 49,  49, 113, 113], &F64,   x_lt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_eq_f64",     [ 50,  50, 114, 114], &F64,   x_eq).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_le_f64",     [ 51,  51, 115, 115], &F64,   x_le).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_gt_f64",     [ 52,  52, 116, 116], &F64,   x_gt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_lg_f64",     [ 53,  53, 117, 117], &F64,   x_ne).errata(&["vopc-lg", "vopc-cmpx"]),
    vopc("v_cmpx_ge_f64",     [ 54,  54, 118, 118], &F64,   x_ge).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_o_f64",      [ 55,  55, 119, 119], &F64,   x_ordered).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_u_f64",      [ 56,  56, 120, 120], &F64,   x_unordered).errata(&["vopc-u", "vopc-cmpx"]),
    vopc("v_cmpx_nge_f64",    [ 57,  57, 121, 121], &F64,   x_nge).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_nlg_f64",    [ 58,  58, 122, 122], &F64,   x_nlg).errata(&["vopc-lg", "vopc-cmpx"]),
    vopc("v_cmpx_ngt_f64",    [ 59,  59, 123, 123], &F64,   x_ngt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_nle_f64",    [ 60,  60, 124, 124], &F64,   x_nle).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_neq_f64",    [ 61,  61, 125, 125], &F64,   x_neq).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_nlt_f64",    [ 62,  62, 126, 126], &F64,   x_nlt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_tru_f64",    [ 63,  63, 127, 127], &F64,   x_t).alias(&["v_cmpx_t_f64"]).errata(&["vopc-cmpx"]),
    vopc("v_cmps_f_f32",      [ 64,  64,  NO,  NO], &F32,   f).errata(&["vopc-cmps"]),
    vopc("v_cmps_lt_f32",     [ 65,  65,  NO,  NO], &F32,   lt).errata(&["vopc-cmps"]),
    vopc("v_cmps_eq_f32",     [ 66,  66,  NO,  NO], &F32,   eq).errata(&["vopc-cmps"]),
    vopc("v_cmps_le_f32",     [ 67,  67,  NO,  NO], &F32,   le).errata(&["vopc-cmps"]),
    vopc("v_cmps_gt_f32",     [ 68,  68,  NO,  NO], &F32,   gt).errata(&["vopc-cmps"]),
    vopc("v_cmps_lg_f32",     [ 69,  69,  NO,  NO], &F32,   ne).errata(&["vopc-lg", "vopc-cmps"]),
    vopc("v_cmps_ge_f32",     [ 70,  70,  NO,  NO], &F32,   ge).errata(&["vopc-cmps"]),
    vopc("v_cmps_o_f32",      [ 71,  71,  NO,  NO], &F32,   ordered).errata(&["vopc-cmps"]),
    vopc("v_cmps_u_f32",      [ 72,  72,  NO,  NO], &F32,   unordered).errata(&["vopc-u", "vopc-cmps"]),
    vopc("v_cmps_nge_f32",    [ 73,  73,  NO,  NO], &F32,   nge).errata(&["vopc-cmps"]),
    vopc("v_cmps_nlg_f32",    [ 74,  74,  NO,  NO], &F32,   nlg).errata(&["vopc-lg", "vopc-cmps"]),
    vopc("v_cmps_ngt_f32",    [ 75,  75,  NO,  NO], &F32,   ngt).errata(&["vopc-cmps"]),
    vopc("v_cmps_nle_f32",    [ 76,  76,  NO,  NO], &F32,   nle).errata(&["vopc-cmps"]),
    vopc("v_cmps_neq_f32",    [ 77,  77,  NO,  NO], &F32,   neq).errata(&["vopc-cmps"]),
    vopc("v_cmps_nlt_f32",    [ 78,  78,  NO,  NO], &F32,   nlt).errata(&["vopc-cmps"]),
    vopc("v_cmps_tru_f32",    [ 79,  79,  NO,  NO], &F32,   t).alias(&["v_cmps_t_f32"]).errata(&["vopc-cmps"]),
    vopc("v_cmpsx_f_f32",     [ 80,  80,  NO,  NO], &F32,   x_f).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_lt_f32",    [ 81,  81,  NO,  NO], &F32,   x_lt).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_eq_f32",    [ 82,  82,  NO,  NO], &F32,   x_eq).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_le_f32",    [ 83,  83,  NO,  NO], &F32,   x_le).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_gt_f32",    [ 84,  84,  NO,  NO], &F32,   x_gt).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_lg_f32",    [ 85,  85,  NO,  NO], &F32,   x_ne).errata(&["vopc-lg", "vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_ge_f32",    [ 86,  86,  NO,  NO], &F32,   x_ge).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_o_f32",     [ 87,  87,  NO,  NO], &F32,   x_ordered).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_u_f32",     [ 88,  88,  NO,  NO], &F32,   x_unordered).errata(&["vopc-u", "vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_nge_f32",   [ 89,  89,  NO,  NO], &F32,   x_nge).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_nlg_f32",   [ 90,  90,  NO,  NO], &F32,   x_nlg).errata(&["vopc-lg", "vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_ngt_f32",   [ 91,  91,  NO,  NO], &F32,   x_ngt).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_nle_f32",   [ 92,  92,  NO,  NO], &F32,   x_nle).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_neq_f32",   [ 93,  93,  NO,  NO], &F32,   x_neq).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_nlt_f32",   [ 94,  94,  NO,  NO], &F32,   x_nlt).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_tru_f32",   [ 95,  95,  NO,  NO], &F32,   x_t).alias(&["v_cmpsx_t_f32"]).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmps_f_f64",      [ 96,  96,  NO,  NO], &F64,   f).errata(&["vopc-cmps"]),
    vopc("v_cmps_lt_f64",     [ 97,  97,  NO,  NO], &F64,   lt).errata(&["vopc-cmps"]),
    vopc("v_cmps_eq_f64",     [ 98,  98,  NO,  NO], &F64,   eq).errata(&["vopc-cmps"]),
    vopc("v_cmps_le_f64",     [ 99,  99,  NO,  NO], &F64,   le).errata(&["vopc-cmps"]),
    vopc("v_cmps_gt_f64",     [100, 100,  NO,  NO], &F64,   gt).errata(&["vopc-cmps"]),
    vopc("v_cmps_lg_f64",     [101, 101,  NO,  NO], &F64,   ne).errata(&["vopc-lg", "vopc-cmps"]),
    vopc("v_cmps_ge_f64",     [102, 102,  NO,  NO], &F64,   ge).errata(&["vopc-cmps"]),
    vopc("v_cmps_o_f64",      [103, 103,  NO,  NO], &F64,   ordered).errata(&["vopc-cmps"]),
    vopc("v_cmps_u_f64",      [104, 104,  NO,  NO], &F64,   unordered).errata(&["vopc-u", "vopc-cmps"]),
    vopc("v_cmps_nge_f64",    [105, 105,  NO,  NO], &F64,   nge).errata(&["vopc-cmps"]),
    vopc("v_cmps_nlg_f64",    [106, 106,  NO,  NO], &F64,   nlg).errata(&["vopc-lg", "vopc-cmps"]),
    vopc("v_cmps_ngt_f64",    [107, 107,  NO,  NO], &F64,   ngt).errata(&["vopc-cmps"]),
    vopc("v_cmps_nle_f64",    [108, 108,  NO,  NO], &F64,   nle).errata(&["vopc-cmps"]),
    vopc("v_cmps_neq_f64",    [109, 109,  NO,  NO], &F64,   neq).errata(&["vopc-cmps"]),
    vopc("v_cmps_nlt_f64",    [110, 110,  NO,  NO], &F64,   nlt).errata(&["vopc-cmps"]),
    vopc("v_cmps_tru_f64",    [111, 111,  NO,  NO], &F64,   t).alias(&["v_cmps_t_f64"]).errata(&["vopc-cmps"]),
    vopc("v_cmpsx_f_f64",     [112, 112,  NO,  NO], &F64,   x_f).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_lt_f64",    [113, 113,  NO,  NO], &F64,   x_lt).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_eq_f64",    [114, 114,  NO,  NO], &F64,   x_eq).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_le_f64",    [115, 115,  NO,  NO], &F64,   x_le).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_gt_f64",    [116, 116,  NO,  NO], &F64,   x_gt).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_lg_f64",    [117, 117,  NO,  NO], &F64,   x_ne).errata(&["vopc-lg", "vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_ge_f64",    [118, 118,  NO,  NO], &F64,   x_ge).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_o_f64",     [119, 119,  NO,  NO], &F64,   x_ordered).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_u_f64",     [120, 120,  NO,  NO], &F64,   x_unordered).errata(&["vopc-u", "vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_nge_f64",   [121, 121,  NO,  NO], &F64,   x_nge).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_nlg_f64",   [122, 122,  NO,  NO], &F64,   x_nlg).errata(&["vopc-lg", "vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_ngt_f64",   [123, 123,  NO,  NO], &F64,   x_ngt).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_nle_f64",   [124, 124,  NO,  NO], &F64,   x_nle).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_neq_f64",   [125, 125,  NO,  NO], &F64,   x_neq).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_nlt_f64",   [126, 126,  NO,  NO], &F64,   x_nlt).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmpsx_tru_f64",   [127, 127,  NO,  NO], &F64,   x_t).alias(&["v_cmpsx_t_f64"]).errata(&["vopc-cmps", "vopc-cmpx"]),
    vopc("v_cmp_f_i16",       [ NO,  NO, 160, 160], &I16,   f),
    vopc("v_cmp_lt_i16",      [ NO,  NO, 161, 161], &I16,   lt),
    vopc("v_cmp_eq_i16",      [ NO,  NO, 162, 162], &I16,   eq),
    vopc("v_cmp_le_i16",      [ NO,  NO, 163, 163], &I16,   le),
    vopc("v_cmp_gt_i16",      [ NO,  NO, 164, 164], &I16,   gt),
    vopc("v_cmp_ne_i16",      [ NO,  NO, 165, 165], &I16,   ne).clrx("v_cmp_lg_i16"),
    vopc("v_cmp_ge_i16",      [ NO,  NO, 166, 166], &I16,   ge),
    vopc("v_cmp_t_i16",       [ NO,  NO, 167, 167], &I16,   t).clrx("v_cmp_tru_i16"),
    vopc("v_cmp_f_u16",       [ NO,  NO, 168, 168], &U16,   f),
    vopc("v_cmp_lt_u16",      [ NO,  NO, 169, 169], &U16,   lt),
    vopc("v_cmp_eq_u16",      [ NO,  NO, 170, 170], &U16,   eq),
    vopc("v_cmp_le_u16",      [ NO,  NO, 171, 171], &U16,   le),
    vopc("v_cmp_gt_u16",      [ NO,  NO, 172, 172], &U16,   gt),
    vopc("v_cmp_ne_u16",      [ NO,  NO, 173, 173], &U16,   ne).clrx("v_cmp_lg_u16"),
    vopc("v_cmp_ge_u16",      [ NO,  NO, 174, 174], &U16,   ge),
    vopc("v_cmp_t_u16",       [ NO,  NO, 175, 175], &U16,   t).clrx("v_cmp_tru_u16"),
    vopc("v_cmpx_f_i16",      [ NO,  NO, 176, 176], &I16,   x_f).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_lt_i16",     [ NO,  NO, 177, 177], &I16,   x_lt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_eq_i16",     [ NO,  NO, 178, 178], &I16,   x_eq).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_le_i16",     [ NO,  NO, 179, 179], &I16,   x_le).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_gt_i16",     [ NO,  NO, 180, 180], &I16,   x_gt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_ne_i16",     [ NO,  NO, 181, 181], &I16,   x_ne).clrx("v_cmpx_lg_i16").errata(&["vopc-cmpx"]),
    vopc("v_cmpx_ge_i16",     [ NO,  NO, 182, 182], &I16,   x_ge).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_t_i16",      [ NO,  NO, 183, 183], &I16,   x_t).clrx("v_cmpx_tru_i16").errata(&["vopc-cmpx"]),
    vopc("v_cmpx_f_u16",      [ NO,  NO, 184, 184], &U16,   x_f).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_lt_u16",     [ NO,  NO, 185, 185], &U16,   x_lt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_eq_u16",     [ NO,  NO, 186, 186], &U16,   x_eq).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_le_u16",     [ NO,  NO, 187, 187], &U16,   x_le).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_gt_u16",     [ NO,  NO, 188, 188], &U16,   x_gt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_ne_u16",     [ NO,  NO, 189, 189], &U16,   x_ne).clrx("v_cmpx_lg_u16").errata(&["vopc-cmpx"]),
    vopc("v_cmpx_ge_u16",     [ NO,  NO, 190, 190], &U16,   x_ge).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_t_u16",      [ NO,  NO, 191, 191], &U16,   x_t).clrx("v_cmpx_tru_u16").errata(&["vopc-cmpx"]),
    vopc("v_cmp_f_i32",       [128, 128, 192, 192], &I32,   f),
    vopc("v_cmp_lt_i32",      [129, 129, 193, 193], &I32,   lt),
    vopc("v_cmp_eq_i32",      [130, 130, 194, 194], &I32,   eq),
    vopc("v_cmp_le_i32",      [131, 131, 195, 195], &I32,   le),
    vopc("v_cmp_gt_i32",      [132, 132, 196, 196], &I32,   gt),
    vopc("v_cmp_ne_i32",      [133, 133, 197, 197], &I32,   ne).clrx("v_cmp_lg_i32"),
    vopc("v_cmp_ge_i32",      [134, 134, 198, 198], &I32,   ge),
    vopc("v_cmp_t_i32",       [135, 135, 199, 199], &I32,   t).clrx("v_cmp_tru_i32"),
    vopc("v_cmp_f_u32",       [192, 192, 200, 200], &U32,   f),
    vopc("v_cmp_lt_u32",      [193, 193, 201, 201], &U32,   lt),
    vopc("v_cmp_eq_u32",      [194, 194, 202, 202], &U32,   eq),
    vopc("v_cmp_le_u32",      [195, 195, 203, 203], &U32,   le),
    vopc("v_cmp_gt_u32",      [196, 196, 204, 204], &U32,   gt),
    vopc("v_cmp_ne_u32",      [197, 197, 205, 205], &U32,   ne).clrx("v_cmp_lg_u32"),
    vopc("v_cmp_ge_u32",      [198, 198, 206, 206], &U32,   ge),
    vopc("v_cmp_t_u32",       [199, 199, 207, 207], &U32,   t).clrx("v_cmp_tru_u32"),
    vopc("v_cmpx_f_i32",      [144, 144, 208, 208], &I32,   x_f).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_lt_i32",     [145, 145, 209, 209], &I32,   x_lt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_eq_i32",     [146, 146, 210, 210], &I32,   x_eq).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_le_i32",     [147, 147, 211, 211], &I32,   x_le).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_gt_i32",     [148, 148, 212, 212], &I32,   x_gt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_ne_i32",     [149, 149, 213, 213], &I32,   x_ne).clrx("v_cmpx_lg_i32").errata(&["vopc-cmpx"]),
    vopc("v_cmpx_ge_i32",     [150, 150, 214, 214], &I32,   x_ge).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_t_i32",      [151, 151, 215, 215], &I32,   x_t).clrx("v_cmpx_tru_i32").errata(&["vopc-cmpx"]),
    vopc("v_cmpx_f_u32",      [208, 208, 216, 216], &U32,   x_f).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_lt_u32",     [209, 209, 217, 217], &U32,   x_lt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_eq_u32",     [210, 210, 218, 218], &U32,   x_eq).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_le_u32",     [211, 211, 219, 219], &U32,   x_le).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_gt_u32",     [212, 212, 220, 220], &U32,   x_gt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_ne_u32",     [213, 213, 221, 221], &U32,   x_ne).clrx("v_cmpx_lg_u32").errata(&["vopc-cmpx"]),
    vopc("v_cmpx_ge_u32",     [214, 214, 222, 222], &U32,   x_ge).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_t_u32",      [215, 215, 223, 223], &U32,   x_t).clrx("v_cmpx_tru_u32").errata(&["vopc-cmpx"]),
    vopc("v_cmp_f_i64",       [160, 160, 224, 224], &I64,   f),
    vopc("v_cmp_lt_i64",      [161, 161, 225, 225], &I64,   lt),
    vopc("v_cmp_eq_i64",      [162, 162, 226, 226], &I64,   eq),
    vopc("v_cmp_le_i64",      [163, 163, 227, 227], &I64,   le),
    vopc("v_cmp_gt_i64",      [164, 164, 228, 228], &I64,   gt),
    vopc("v_cmp_ne_i64",      [165, 165, 229, 229], &I64,   ne).clrx("v_cmp_lg_i64"),
    vopc("v_cmp_ge_i64",      [166, 166, 230, 230], &I64,   ge),
    vopc("v_cmp_t_i64",       [167, 167, 231, 231], &I64,   t).clrx("v_cmp_tru_i64"),
    vopc("v_cmp_f_u64",       [224, 224, 232, 232], &U64,   f),
    vopc("v_cmp_lt_u64",      [225, 225, 233, 233], &U64,   lt),
    vopc("v_cmp_eq_u64",      [226, 226, 234, 234], &U64,   eq),
    vopc("v_cmp_le_u64",      [227, 227, 235, 235], &U64,   le),
    vopc("v_cmp_gt_u64",      [228, 228, 236, 236], &U64,   gt),
    vopc("v_cmp_ne_u64",      [229, 229, 237, 237], &U64,   ne).clrx("v_cmp_lg_u64"),
    vopc("v_cmp_ge_u64",      [230, 230, 238, 238], &U64,   ge),
    vopc("v_cmp_t_u64",       [231, 231, 239, 239], &U64,   t).clrx("v_cmp_tru_u64"),
    vopc("v_cmpx_f_i64",      [176, 176, 240, 240], &I64,   x_f).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_lt_i64",     [177, 177, 241, 241], &I64,   x_lt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_eq_i64",     [178, 178, 242, 242], &I64,   x_eq).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_le_i64",     [179, 179, 243, 243], &I64,   x_le).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_gt_i64",     [180, 180, 244, 244], &I64,   x_gt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_ne_i64",     [181, 181, 245, 245], &I64,   x_ne).clrx("v_cmpx_lg_i64").errata(&["vopc-cmpx"]),
    vopc("v_cmpx_ge_i64",     [182, 182, 246, 246], &I64,   x_ge).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_t_i64",      [183, 183, 247, 247], &I64,   x_t).clrx("v_cmpx_tru_i64").errata(&["vopc-cmpx"]),
    vopc("v_cmpx_f_u64",      [240, 240, 248, 248], &U64,   x_f).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_lt_u64",     [241, 241, 249, 249], &U64,   x_lt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_eq_u64",     [242, 242, 250, 250], &U64,   x_eq).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_le_u64",     [243, 243, 251, 251], &U64,   x_le).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_gt_u64",     [244, 244, 252, 252], &U64,   x_gt).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_ne_u64",     [245, 245, 253, 253], &U64,   x_ne).clrx("v_cmpx_lg_u64").errata(&["vopc-cmpx"]),
    vopc("v_cmpx_ge_u64",     [246, 246, 254, 254], &U64,   x_ge).errata(&["vopc-cmpx"]),
    vopc("v_cmpx_t_u64",      [247, 247, 255, 255], &U64,   x_t).clrx("v_cmpx_tru_u64").errata(&["vopc-cmpx"]),
];

/// cmpx: writes the result to EXEC as well.
fn and_exec(m: &Meaning, value: V<'_>) {
    m.d(value);
    m.set(State::Exec, value);
}

fn f(m: &Meaning) {
    m.about("Never true.");
    m.d(m.c(Ty::Bool, 0));
}

fn lt(m: &Meaning) {
    m.about("True where the first source is less than the second.");
    m.d(m.s(0).lt(m.s(1)));
}

fn eq(m: &Meaning) {
    m.about("True where the sources are equal.");
    m.d(m.s(0).eq(m.s(1)));
}

fn le(m: &Meaning) {
    m.about("True where the first source is less than or equal to the second.");
    m.d(m.s(0).le(m.s(1)));
}

fn gt(m: &Meaning) {
    m.about("True where the first source is greater than the second.");
    m.d(m.s(0).gt(m.s(1)));
}

fn ne(m: &Meaning) {
    m.about("True where the sources differ; floats differ where one is less or greater, which excludes NaNs.");
    m.d(m.s(0).ne(m.s(1)));
}

fn ge(m: &Meaning) {
    m.about("True where the first source is greater than or equal to the second.");
    m.d(m.s(0).ge(m.s(1)));
}

fn ordered(m: &Meaning) {
    m.about("True where neither source is a NaN.");
    m.d(!m.s(0).unordered(m.s(1)));
}

fn unordered(m: &Meaning) {
    m.about("True where a source is a NaN.");
    m.d(m.s(0).unordered(m.s(1)));
}

fn nge(m: &Meaning) {
    m.about("True where the first source is not greater than or equal to the second, which includes NaNs.");
    m.d(!m.s(0).ge(m.s(1)));
}

fn nlg(m: &Meaning) {
    m.about("True where the first source is neither less nor greater than the second, which includes NaNs.");
    m.d(!m.s(0).ne(m.s(1)));
}

fn ngt(m: &Meaning) {
    m.about("True where the first source is not greater than the second, which includes NaNs.");
    m.d(!m.s(0).gt(m.s(1)));
}

fn nle(m: &Meaning) {
    m.about(
        "True where the first source is not less than or equal to the second, which includes NaNs.",
    );
    m.d(!m.s(0).le(m.s(1)));
}

fn neq(m: &Meaning) {
    m.about("True where the sources are not equal, which includes NaNs.");
    m.d(!m.s(0).eq(m.s(1)));
}

fn nlt(m: &Meaning) {
    m.about("True where the first source is not less than the second, which includes NaNs.");
    m.d(!m.s(0).lt(m.s(1)));
}

fn t(m: &Meaning) {
    m.about("Always true.");
    m.d(m.c(Ty::Bool, 1));
}

fn class(m: &Meaning) {
    m.about("True where the float is of a class whose bit is set in the second source: 0 signalling NaN, 1 quiet NaN, 2 -infinity, 3 negative normal, 4 negative denormal, 5 -0, 6 +0, 7 positive denormal, 8 positive normal, 9 +infinity.");
    m.d(m.s(0).class(m.s(1)));
}

fn x_f(m: &Meaning) {
    m.about("Never true. EXEC takes the result as well.");
    and_exec(m, m.c(Ty::Bool, 0));
}

fn x_lt(m: &Meaning) {
    m.about("True where the first source is less than the second. EXEC takes the result as well.");
    and_exec(m, m.s(0).lt(m.s(1)));
}

fn x_eq(m: &Meaning) {
    m.about("True where the sources are equal. EXEC takes the result as well.");
    and_exec(m, m.s(0).eq(m.s(1)));
}

fn x_le(m: &Meaning) {
    m.about("True where the first source is less than or equal to the second. EXEC takes the result as well.");
    and_exec(m, m.s(0).le(m.s(1)));
}

fn x_gt(m: &Meaning) {
    m.about(
        "True where the first source is greater than the second. EXEC takes the result as well.",
    );
    and_exec(m, m.s(0).gt(m.s(1)));
}

fn x_ne(m: &Meaning) {
    m.about("True where the sources differ; floats differ where one is less or greater, which excludes NaNs. EXEC takes the result as well.");
    and_exec(m, m.s(0).ne(m.s(1)));
}

fn x_ge(m: &Meaning) {
    m.about("True where the first source is greater than or equal to the second. EXEC takes the result as well.");
    and_exec(m, m.s(0).ge(m.s(1)));
}

fn x_ordered(m: &Meaning) {
    m.about("True where neither source is a NaN. EXEC takes the result as well.");
    and_exec(m, !m.s(0).unordered(m.s(1)));
}

fn x_unordered(m: &Meaning) {
    m.about("True where a source is a NaN. EXEC takes the result as well.");
    and_exec(m, m.s(0).unordered(m.s(1)));
}

fn x_nge(m: &Meaning) {
    m.about("True where the first source is not greater than or equal to the second, which includes NaNs. EXEC takes the result as well.");
    and_exec(m, !m.s(0).ge(m.s(1)));
}

fn x_nlg(m: &Meaning) {
    m.about("True where the first source is neither less nor greater than the second, which includes NaNs. EXEC takes the result as well.");
    and_exec(m, !m.s(0).ne(m.s(1)));
}

fn x_ngt(m: &Meaning) {
    m.about("True where the first source is not greater than the second, which includes NaNs. EXEC takes the result as well.");
    and_exec(m, !m.s(0).gt(m.s(1)));
}

fn x_nle(m: &Meaning) {
    m.about("True where the first source is not less than or equal to the second, which includes NaNs. EXEC takes the result as well.");
    and_exec(m, !m.s(0).le(m.s(1)));
}

fn x_neq(m: &Meaning) {
    m.about(
        "True where the sources are not equal, which includes NaNs. EXEC takes the result as well.",
    );
    and_exec(m, !m.s(0).eq(m.s(1)));
}

fn x_nlt(m: &Meaning) {
    m.about("True where the first source is not less than the second, which includes NaNs. EXEC takes the result as well.");
    and_exec(m, !m.s(0).lt(m.s(1)));
}

fn x_t(m: &Meaning) {
    m.about("Always true. EXEC takes the result as well.");
    and_exec(m, m.c(Ty::Bool, 1));
}

fn x_class(m: &Meaning) {
    m.about("True where the float is of a class whose bit is set in the second source: 0 signalling NaN, 1 quiet NaN, 2 -infinity, 3 negative normal, 4 negative denormal, 5 -0, 6 +0, 7 positive denormal, 8 positive normal, 9 +infinity. EXEC takes the result as well.");
    and_exec(m, m.s(0).class(m.s(1)));
}
