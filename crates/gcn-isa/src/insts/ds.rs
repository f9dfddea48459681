//! DS: the local data share.
//!
//! With GDS set, the instruction accesses the global data share, from M0's base and within M0's size. The meanings name LDS for
//! both, and GDS for instructions that access only GDS.

use crate::format::{Field, Format};
use crate::inst::{Inst, NO};
use crate::meaning::{AtomicOp, GwsOp, Meaning, Signal, Space, State, V};
use crate::shape::{Mods, Role, Role::*, Shape, Slot, Ty, read, write};
use crate::target::Gen;

const fn one(slots: &'static [Slot]) -> Shape {
    Shape {
        slots,
        mods: Mods::Ds,
    }
}

const fn two(slots: &'static [Slot]) -> Shape {
    Shape {
        slots,
        mods: Mods::Ds2,
    }
}

/// The instructions that access only the global data share: GDS is always set.
const fn gds(slots: &'static [Slot]) -> Shape {
    Shape {
        slots,
        mods: Mods::Gds,
    }
}

static GWS: Shape = gds(&[]);
static GWS_DATA: Shape = gds(&[read(DsAddr, Ty::B32)]);
static ORDERED: Shape = gds(&[write(Vdst, Ty::B32), read(DsAddr, Ty::B32)]);
static SWIZZLE: Shape = Shape {
    slots: &[write(Vdst, Ty::B32), read(DsAddr, Ty::B32)],
    mods: Mods::Swizzle,
};
/// Both values are in LDS. The second address is computed from the offset or the address.
static SRC2: Shape = one(&[read(DsAddr, Ty::B32)]);
static DST128: Shape = one(&[write(Vdst, Ty::B128)]);
static BARE_DS: Shape = crate::shape::plain(&[]);
static READ32: Shape = one(&[write(Vdst, Ty::B32), read(DsAddr, Ty::B32)]);
static READ64: Shape = one(&[write(Vdst, Ty::B64), read(DsAddr, Ty::B32)]);
static READ96: Shape = one(&[write(Vdst, Ty::B96), read(DsAddr, Ty::B32)]);
static READ128: Shape = one(&[write(Vdst, Ty::B128), read(DsAddr, Ty::B32)]);
static READ2_32: Shape = two(&[write(Vdst, Ty::B64), read(DsAddr, Ty::B32)]);
static READ2_64: Shape = two(&[write(Vdst, Ty::B128), read(DsAddr, Ty::B32)]);
/// A load into half of the destination, which keeps the other half.
static READ_D16: Shape = one(&[write(Vdst, Ty::B32).read_too(), read(DsAddr, Ty::B32)]);
static READ_TID: Shape = one(&[write(Vdst, Ty::B32)]);
static WRITE_TID: Shape = one(&[read(Data0, Ty::B32)]);
static WRITE32: Shape = one(&[read(DsAddr, Ty::B32), read(Data0, Ty::B32)]);
static WRITE64: Shape = one(&[read(DsAddr, Ty::B32), read(Data0, Ty::B64)]);
static WRITE96: Shape = one(&[read(DsAddr, Ty::B32), read(Data0, Ty::B96)]);
static WRITE128: Shape = one(&[read(DsAddr, Ty::B32), read(Data0, Ty::B128)]);
static WRITE2_32: Shape = two(&[
    read(DsAddr, Ty::B32),
    read(Data0, Ty::B32),
    read(Data1, Ty::B32),
]);
static WRITE2_64: Shape = two(&[
    read(DsAddr, Ty::B32),
    read(Data0, Ty::B64),
    read(Data1, Ty::B64),
]);
static ATOMIC32: Shape = one(&[read(DsAddr, Ty::B32), read(Data0, Ty::B32)]);
static ATOMIC64: Shape = one(&[read(DsAddr, Ty::B32), read(Data0, Ty::B64)]);
static ATOMIC32X2: Shape = one(&[
    read(DsAddr, Ty::B32),
    read(Data0, Ty::B32),
    read(Data1, Ty::B32),
]);
static ATOMIC64X2: Shape = one(&[
    read(DsAddr, Ty::B32),
    read(Data0, Ty::B64),
    read(Data1, Ty::B64),
]);
static RTN32: Shape = one(&[
    write(Vdst, Ty::B32),
    read(DsAddr, Ty::B32),
    read(Data0, Ty::B32),
]);
static RTN64: Shape = one(&[
    write(Vdst, Ty::B64),
    read(DsAddr, Ty::B32),
    read(Data0, Ty::B64),
]);
static RTN32X2: Shape = one(&[
    write(Vdst, Ty::B32),
    read(DsAddr, Ty::B32),
    read(Data0, Ty::B32),
    read(Data1, Ty::B32),
]);
static RTN64X2: Shape = one(&[
    write(Vdst, Ty::B64),
    read(DsAddr, Ty::B32),
    read(Data0, Ty::B64),
    read(Data1, Ty::B64),
]);
static XCHG2_32: Shape = two(&[
    write(Vdst, Ty::B64),
    read(DsAddr, Ty::B32),
    read(Data0, Ty::B32),
    read(Data1, Ty::B32),
]);
static XCHG2_64: Shape = two(&[
    write(Vdst, Ty::B128),
    read(DsAddr, Ty::B32),
    read(Data0, Ty::B64),
    read(Data1, Ty::B64),
]);
static PERMUTE: Shape = one(&[
    write(Vdst, Ty::B32),
    read(DsAddr, Ty::B32),
    read(Data0, Ty::B32),
]);

const fn ds(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Ds, name, opcode, shape, meaning)
}

/// The rows.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //  name                        gfx6 gfx7 gfx8 gfx9  shape         meaning
    ds("ds_add_u32",                [  0,   0,   0,   0], &ATOMIC32,     add),
    ds("ds_sub_u32",                [  1,   1,   1,   1], &ATOMIC32,     sub),
    ds("ds_rsub_u32",               [  2,   2,   2,   2], &ATOMIC32,     rsub),
    ds("ds_inc_u32",                [  3,   3,   3,   3], &ATOMIC32,     inc),
    ds("ds_dec_u32",                [  4,   4,   4,   4], &ATOMIC32,     dec),
    ds("ds_min_i32",                [  5,   5,   5,   5], &ATOMIC32,     smin),
    ds("ds_max_i32",                [  6,   6,   6,   6], &ATOMIC32,     smax),
    ds("ds_min_u32",                [  7,   7,   7,   7], &ATOMIC32,     umin),
    ds("ds_max_u32",                [  8,   8,   8,   8], &ATOMIC32,     umax),
    ds("ds_and_b32",                [  9,   9,   9,   9], &ATOMIC32,     and),
    ds("ds_or_b32",                 [ 10,  10,  10,  10], &ATOMIC32,     or),
    ds("ds_xor_b32",                [ 11,  11,  11,  11], &ATOMIC32,     xor),
    ds("ds_mskor_b32",              [ 12,  12,  12,  12], &ATOMIC32X2,   mskor),
    ds("ds_write_b32",              [ 13,  13,  13,  13], &WRITE32,      write_dwords),
    ds("ds_write2_b32",             [ 14,  14,  14,  14], &WRITE2_32,    write2).errata(&["ds-write2"]),
    ds("ds_write2st64_b32",         [ 15,  15,  15,  15], &WRITE2_32,    write2st64).errata(&["ds-write2"]),
    ds("ds_cmpst_b32",              [ 16,  16,  16,  16], &ATOMIC32X2,   cmpst),
    ds("ds_cmpst_f32",              [ 17,  17,  17,  17], &ATOMIC32X2,   cmpst_float).errata(&["float-atomics"]),
    ds("ds_min_f32",                [ 18,  18,  18,  18], &ATOMIC32,     min_float).errata(&["float-atomics"]),
    ds("ds_max_f32",                [ 19,  19,  19,  19], &ATOMIC32,     max_float).errata(&["float-atomics"]),
    ds("ds_nop",                    [ NO,  20,  20,  20], &BARE_DS,      ds_nop),
    ds("ds_add_f32",                [ NO,  NO,  21,  21], &ATOMIC32,     add_float).errata(&["float-atomics"]),
    ds("ds_write_addtid_b32",       [ NO,  NO,  NO,  29], &WRITE_TID,    write_addtid),
    ds("ds_write_b8",               [ 30,  30,  30,  30], &WRITE32,      write_b8),
    ds("ds_write_b16",              [ 31,  31,  31,  31], &WRITE32,      write_b16),
    ds("ds_add_rtn_u32",            [ 32,  32,  32,  32], &RTN32,        add),
    ds("ds_sub_rtn_u32",            [ 33,  33,  33,  33], &RTN32,        sub),
    ds("ds_rsub_rtn_u32",           [ 34,  34,  34,  34], &RTN32,        rsub),
    ds("ds_inc_rtn_u32",            [ 35,  35,  35,  35], &RTN32,        inc),
    ds("ds_dec_rtn_u32",            [ 36,  36,  36,  36], &RTN32,        dec),
    ds("ds_min_rtn_i32",            [ 37,  37,  37,  37], &RTN32,        smin),
    ds("ds_max_rtn_i32",            [ 38,  38,  38,  38], &RTN32,        smax),
    ds("ds_min_rtn_u32",            [ 39,  39,  39,  39], &RTN32,        umin),
    ds("ds_max_rtn_u32",            [ 40,  40,  40,  40], &RTN32,        umax),
    ds("ds_and_rtn_b32",            [ 41,  41,  41,  41], &RTN32,        and),
    ds("ds_or_rtn_b32",             [ 42,  42,  42,  42], &RTN32,        or),
    ds("ds_xor_rtn_b32",            [ 43,  43,  43,  43], &RTN32,        xor),
    ds("ds_mskor_rtn_b32",          [ 44,  44,  44,  44], &RTN32X2,      mskor),
    ds("ds_wrxchg_rtn_b32",         [ 45,  45,  45,  45], &RTN32,        swap),
    ds("ds_wrxchg2_rtn_b32",        [ 46,  46,  46,  46], &XCHG2_32,     wrxchg2),
    ds("ds_wrxchg2st64_rtn_b32",    [ 47,  47,  47,  47], &XCHG2_32,     wrxchg2st64),
    ds("ds_cmpst_rtn_b32",          [ 48,  48,  48,  48], &RTN32X2,      cmpst),
    ds("ds_cmpst_rtn_f32",          [ 49,  49,  49,  49], &RTN32X2,      cmpst_float).errata(&["float-atomics"]),
    ds("ds_min_rtn_f32",            [ 50,  50,  50,  50], &RTN32,        min_float).errata(&["float-atomics"]),
    ds("ds_max_rtn_f32",            [ 51,  51,  51,  51], &RTN32,        max_float).errata(&["float-atomics"]),
    ds("ds_wrap_rtn_b32",           [ NO,  52,  52,  52], &RTN32X2,      wrap),
    ds("ds_add_rtn_f32",            [ NO,  NO,  53,  53], &RTN32,        add_float).errata(&["float-atomics"]),
    ds("ds_read_b32",               [ 54,  54,  54,  54], &READ32,       read_dwords),
    ds("ds_read2_b32",              [ 55,  55,  55,  55], &READ2_32,     read2),
    ds("ds_read2st64_b32",          [ 56,  56,  56,  56], &READ2_32,     read2st64),
    ds("ds_read_i8",                [ 57,  57,  57,  57], &READ32,       read_i8),
    ds("ds_read_u8",                [ 58,  58,  58,  58], &READ32,       read_u8),
    ds("ds_read_i16",               [ 59,  59,  59,  59], &READ32,       read_i16),
    ds("ds_read_u16",               [ 60,  60,  60,  60], &READ32,       read_u16),
    ds("ds_swizzle_b32",            [ 53,  53,  61,  61], &SWIZZLE,      swizzle).errata(&["ds-swizzle"]),
    ds("ds_permute_b32",            [ NO,  NO,  62,  62], &PERMUTE,      permute),
    ds("ds_bpermute_b32",           [ NO,  NO,  63,  63], &PERMUTE,      bpermute),
    ds("ds_add_u64",                [ 64,  64,  64,  64], &ATOMIC64,     add).errata(&["lds-m0-clamp"]),
    ds("ds_sub_u64",                [ 65,  65,  65,  65], &ATOMIC64,     sub).errata(&["lds-m0-clamp"]),
    ds("ds_rsub_u64",               [ 66,  66,  66,  66], &ATOMIC64,     rsub),
    ds("ds_inc_u64",                [ 67,  67,  67,  67], &ATOMIC64,     inc).errata(&["lds-m0-clamp"]),
    ds("ds_dec_u64",                [ 68,  68,  68,  68], &ATOMIC64,     dec).errata(&["lds-m0-clamp"]),
    ds("ds_min_i64",                [ 69,  69,  69,  69], &ATOMIC64,     smin).errata(&["lds-m0-clamp"]),
    ds("ds_max_i64",                [ 70,  70,  70,  70], &ATOMIC64,     smax).errata(&["lds-m0-clamp"]),
    ds("ds_min_u64",                [ 71,  71,  71,  71], &ATOMIC64,     umin).errata(&["lds-m0-clamp"]),
    ds("ds_max_u64",                [ 72,  72,  72,  72], &ATOMIC64,     umax).errata(&["lds-m0-clamp"]),
    ds("ds_and_b64",                [ 73,  73,  73,  73], &ATOMIC64,     and).errata(&["lds-m0-clamp"]),
    ds("ds_or_b64",                 [ 74,  74,  74,  74], &ATOMIC64,     or).errata(&["lds-m0-clamp"]),
    ds("ds_xor_b64",                [ 75,  75,  75,  75], &ATOMIC64,     xor).errata(&["lds-m0-clamp"]),
    ds("ds_mskor_b64",              [ 76,  76,  76,  76], &ATOMIC64X2,   mskor),
    ds("ds_write_b64",              [ 77,  77,  77,  77], &WRITE64,      write_dwords),
    ds("ds_write2_b64",             [ 78,  78,  78,  78], &WRITE2_64,    write2).errata(&["ds-write2"]),
    ds("ds_write2st64_b64",         [ 79,  79,  79,  79], &WRITE2_64,    write2st64).errata(&["ds-write2"]),
    ds("ds_cmpst_b64",              [ 80,  80,  80,  80], &ATOMIC64X2,   cmpst).errata(&["lds-m0-clamp"]),
    ds("ds_cmpst_f64",              [ 81,  81,  81,  81], &ATOMIC64X2,   cmpst_float).errata(&["float-atomics", "lds-m0-clamp"]),
    ds("ds_min_f64",                [ 82,  82,  82,  82], &ATOMIC64,     min_float).errata(&["float-atomics", "lds-m0-clamp"]),
    ds("ds_max_f64",                [ 83,  83,  83,  83], &ATOMIC64,     max_float).errata(&["float-atomics", "lds-m0-clamp"]),
    ds("ds_write_b8_d16_hi",        [ NO,  NO,  NO,  84], &WRITE32,      write_b8_hi),
    ds("ds_write_b16_d16_hi",       [ NO,  NO,  NO,  85], &WRITE32,      write_b16_hi),
    ds("ds_read_u8_d16",            [ NO,  NO,  NO,  86], &READ_D16,     read_u8_d16),
    ds("ds_read_u8_d16_hi",         [ NO,  NO,  NO,  87], &READ_D16,     read_u8_d16_hi),
    ds("ds_read_i8_d16",            [ NO,  NO,  NO,  88], &READ_D16,     read_i8_d16),
    ds("ds_read_i8_d16_hi",         [ NO,  NO,  NO,  89], &READ_D16,     read_i8_d16_hi),
    ds("ds_read_u16_d16",           [ NO,  NO,  NO,  90], &READ_D16,     read_u16_d16),
    ds("ds_read_u16_d16_hi",        [ NO,  NO,  NO,  91], &READ_D16,     read_u16_d16_hi),
    ds("ds_add_rtn_u64",            [ 96,  96,  96,  96], &RTN64,        add).errata(&["lds-m0-clamp"]),
    ds("ds_sub_rtn_u64",            [ 97,  97,  97,  97], &RTN64,        sub).errata(&["lds-m0-clamp"]),
    ds("ds_rsub_rtn_u64",           [ 98,  98,  98,  98], &RTN64,        rsub),
    ds("ds_inc_rtn_u64",            [ 99,  99,  99,  99], &RTN64,        inc).errata(&["lds-m0-clamp"]),
    ds("ds_dec_rtn_u64",            [100, 100, 100, 100], &RTN64,        dec).errata(&["lds-m0-clamp"]),
    ds("ds_min_rtn_i64",            [101, 101, 101, 101], &RTN64,        smin).errata(&["lds-m0-clamp"]),
    ds("ds_max_rtn_i64",            [102, 102, 102, 102], &RTN64,        smax).errata(&["lds-m0-clamp"]),
    ds("ds_min_rtn_u64",            [103, 103, 103, 103], &RTN64,        umin).errata(&["lds-m0-clamp"]),
    ds("ds_max_rtn_u64",            [104, 104, 104, 104], &RTN64,        umax).errata(&["lds-m0-clamp"]),
    ds("ds_and_rtn_b64",            [105, 105, 105, 105], &RTN64,        and).errata(&["lds-m0-clamp"]),
    ds("ds_or_rtn_b64",             [106, 106, 106, 106], &RTN64,        or).errata(&["lds-m0-clamp"]),
    ds("ds_xor_rtn_b64",            [107, 107, 107, 107], &RTN64,        xor).errata(&["lds-m0-clamp"]),
    ds("ds_mskor_rtn_b64",          [108, 108, 108, 108], &RTN64X2,      mskor),
    ds("ds_wrxchg_rtn_b64",         [109, 109, 109, 109], &RTN64,        swap),
    ds("ds_wrxchg2_rtn_b64",        [110, 110, 110, 110], &XCHG2_64,     wrxchg2),
    ds("ds_wrxchg2st64_rtn_b64",    [111, 111, 111, 111], &XCHG2_64,     wrxchg2st64),
    ds("ds_cmpst_rtn_b64",          [112, 112, 112, 112], &RTN64X2,      cmpst).errata(&["lds-m0-clamp"]),
    ds("ds_cmpst_rtn_f64",          [113, 113, 113, 113], &RTN64X2,      cmpst_float).errata(&["float-atomics", "lds-m0-clamp"]),
    ds("ds_min_rtn_f64",            [114, 114, 114, 114], &RTN64,        min_float).errata(&["float-atomics", "lds-m0-clamp"]),
    ds("ds_max_rtn_f64",            [115, 115, 115, 115], &RTN64,        max_float).errata(&["float-atomics", "lds-m0-clamp"]),
    ds("ds_read_b64",               [118, 118, 118, 118], &READ64,       read_dwords),
    ds("ds_read2_b64",              [119, 119, 119, 119], &READ2_64,     read2),
    ds("ds_read2st64_b64",          [120, 120, 120, 120], &READ2_64,     read2st64),
    ds("ds_condxchg32_rtn_b64",     [ NO, 126, 126, 126], &RTN64,        condxchg32).errata(&["ds-condxchg"]),
    ds("ds_add_src2_u32",           [128, 128, 128, 128], &SRC2,         add_src2::<32>).errata(&["ds-src2"]),
    ds("ds_sub_src2_u32",           [129, 129, 129, 129], &SRC2,         sub_src2::<32>).errata(&["ds-src2"]),
    ds("ds_rsub_src2_u32",          [130, 130, 130, 130], &SRC2,         rsub_src2::<32>).errata(&["ds-src2"]),
    ds("ds_inc_src2_u32",           [131, 131, 131, 131], &SRC2,         inc_src2::<32>).errata(&["ds-src2"]),
    ds("ds_dec_src2_u32",           [132, 132, 132, 132], &SRC2,         dec_src2::<32>).errata(&["ds-src2"]),
    ds("ds_min_src2_i32",           [133, 133, 133, 133], &SRC2,         smin_src2::<32>).errata(&["ds-src2"]),
    ds("ds_max_src2_i32",           [134, 134, 134, 134], &SRC2,         smax_src2::<32>).errata(&["ds-src2"]),
    ds("ds_min_src2_u32",           [135, 135, 135, 135], &SRC2,         umin_src2::<32>).errata(&["ds-src2"]),
    ds("ds_max_src2_u32",           [136, 136, 136, 136], &SRC2,         umax_src2::<32>).errata(&["ds-src2"]),
    ds("ds_and_src2_b32",           [137, 137, 137, 137], &SRC2,         and_src2::<32>).errata(&["ds-src2"]),
    ds("ds_or_src2_b32",            [138, 138, 138, 138], &SRC2,         or_src2::<32>).errata(&["ds-src2"]),
    ds("ds_xor_src2_b32",           [139, 139, 139, 139], &SRC2,         xor_src2::<32>).errata(&["ds-src2"]),
    ds("ds_write_src2_b32",         [141, 141, 141, 141], &SRC2,         write_src2::<32>).errata(&["ds-src2"]),
    ds("ds_min_src2_f32",           [146, 146, 146, 146], &SRC2,         min_float_src2::<32>).errata(&["ds-src2"]),
    ds("ds_max_src2_f32",           [147, 147, 147, 147], &SRC2,         max_float_src2::<32>).errata(&["ds-src2"]),
    ds("ds_add_src2_f32",           [ NO,  NO, 149, 149], &SRC2,         add_float_src2::<32>).errata(&["ds-src2"]),
    ds("ds_gws_sema_release_all",   [ NO,  24, 152, 152], &GWS,          gws_sema_release_all).errata(&["gws"]),
    ds("ds_gws_init",               [ 25,  25, 153, 153], &GWS_DATA,     gws_init).errata(&["gws"]),
    ds("ds_gws_sema_v",             [ 26,  26, 154, 154], &GWS,          gws_sema_v).errata(&["gws"]),
    ds("ds_gws_sema_br",            [ 27,  27, 155, 155], &GWS_DATA,     gws_sema_br).errata(&["gws"]),
    ds("ds_gws_sema_p",             [ 28,  28, 156, 156], &GWS,          gws_sema_p).errata(&["gws"]),
    ds("ds_gws_barrier",            [ 29,  29, 157, 157], &GWS_DATA,     gws_barrier).errata(&["gws"]),
    ds("ds_read_addtid_b32",        [ NO,  NO,  NO, 182], &READ_TID,     read_addtid),
    ds("ds_consume",                [ 61,  61, 189, 189], &READ_TID,     consume).errata(&["ds-append"]),
    ds("ds_append",                 [ 62,  62, 190, 190], &READ_TID,     append).errata(&["ds-append"]),
    ds("ds_ordered_count",          [ 63,  63, 191, 191], &ORDERED,      ordered_count).errata(&["ds-ordered-count"]),
    ds("ds_add_src2_u64",           [192, 192, 192, 192], &SRC2,         add_src2::<64>).errata(&["ds-src2"]),
    ds("ds_sub_src2_u64",           [193, 193, 193, 193], &SRC2,         sub_src2::<64>).errata(&["ds-src2"]),
    ds("ds_rsub_src2_u64",          [194, 194, 194, 194], &SRC2,         rsub_src2::<64>).errata(&["ds-src2"]),
    ds("ds_inc_src2_u64",           [195, 195, 195, 195], &SRC2,         inc_src2::<64>).errata(&["ds-src2"]),
    ds("ds_dec_src2_u64",           [196, 196, 196, 196], &SRC2,         dec_src2::<64>).errata(&["ds-src2"]),
    ds("ds_min_src2_i64",           [197, 197, 197, 197], &SRC2,         smin_src2::<64>).errata(&["ds-src2"]),
    ds("ds_max_src2_i64",           [198, 198, 198, 198], &SRC2,         smax_src2::<64>).errata(&["ds-src2"]),
    ds("ds_min_src2_u64",           [199, 199, 199, 199], &SRC2,         umin_src2::<64>).errata(&["ds-src2"]),
    ds("ds_max_src2_u64",           [200, 200, 200, 200], &SRC2,         umax_src2::<64>).errata(&["ds-src2"]),
    ds("ds_and_src2_b64",           [201, 201, 201, 201], &SRC2,         and_src2::<64>).errata(&["ds-src2"]),
    ds("ds_or_src2_b64",            [202, 202, 202, 202], &SRC2,         or_src2::<64>).errata(&["ds-src2"]),
    ds("ds_xor_src2_b64",           [203, 203, 203, 203], &SRC2,         xor_src2::<64>).errata(&["ds-src2"]),
    ds("ds_write_src2_b64",         [205, 205, 205, 205], &SRC2,         write_src2::<64>).errata(&["ds-src2"]),
    ds("ds_min_src2_f64",           [210, 210, 210, 210], &SRC2,         min_float_src2::<64>).errata(&["ds-src2"]),
    ds("ds_max_src2_f64",           [211, 211, 211, 211], &SRC2,         max_float_src2::<64>).errata(&["ds-src2"]),
    ds("ds_write_b96",              [ NO, 222, 222, 222], &WRITE96,      write_dwords),
    ds("ds_write_b128",             [ NO, 223, 223, 223], &WRITE128,     write_dwords),
    ds("ds_condxchg32_rtn_b128",    [ NO, 253, 253, 253], &DST128,       condxchg32_b128).errata(&["ds-condxchg"]),
    ds("ds_read_b96",               [ NO, 254, 254, 254], &READ96,       read_dwords),
    ds("ds_read_b128",              [ NO, 255, 255, 255], &READ128,      read_dwords),
];

fn ty_of(m: &Meaning, role: Role) -> Ty {
    m.operand(role).ty
}

/// The first dword or two of an operand, as a value of type `ty`.
fn dwords(m: &Meaning, role: Role, ty: Ty) -> V<'_> {
    let low = m.dword(role, 0);
    if ty.bits() == 32 {
        return low.as_(ty);
    }
    (low.zext(Ty::B64) | (m.dword(role, 1).zext(Ty::B64) << 32)).as_(ty)
}

/// Writes a value of 32 or 64 bits to the destination from dword `first` on.
fn give(m: &Meaning, first: u8, value: V<'_>) {
    if value.ty.bits() == 32 {
        m.d_dword(first, value.as_(Ty::B32));
    } else {
        m.d_dword(first, value.trunc(Ty::B32));
        m.d_dword(first + 1, (value.as_(Ty::B64) >> 32).trunc(Ty::B32));
    }
}

/// Up to gfx8, LDS ignores the low bits of an address that is not a multiple of the element's size.
fn aligned<'m>(m: &'m Meaning, address: V<'m>, bytes: u8) -> V<'m> {
    if m.target().generation() == Gen::Gfx9 || bytes == 1 {
        return address;
    }
    address & !(bytes as u64 - 1)
}

/// The address of an element of `bytes` bytes, which is a power of two.
fn address(m: &Meaning, bytes: u8) -> V<'_> {
    aligned(m, m.address(), bytes)
}

/// The two addresses of the instructions with two offsets, which count elements of `bytes` bytes (st64: 64 of them).
fn addresses(m: &Meaning, bytes: u8, stride: u64) -> [V<'_>; 2] {
    let base = m.operand(DsAddr).zext(Ty::U64);
    [Field::Offset0, Field::Offset1].map(|f| {
        let offset = m.field(f).zext(Ty::U64) * (bytes as u64 * stride);
        aligned(m, base + offset, bytes)
    })
}

/// The size for which the address of a value of consecutive dwords is aligned: three dwords are aligned as four.
fn element(dwords: u8) -> u8 {
    4 * dwords.next_power_of_two()
}

fn ds_nop(m: &Meaning) {
    m.about("Does nothing.");
}

fn load_at(m: &Meaning, first: u8, count: u8, address: V<'_>) {
    for k in 0..count {
        m.d_dword(
            first + k,
            m.load(Space::Lds, Ty::B32, address, 4 * k as i32),
        );
    }
}

fn store_at(m: &Meaning, role: Role, address: V<'_>) {
    for k in 0..ty_of(m, role).dwords() {
        m.store(Space::Lds, address, 4 * k as i32, m.dword(role, k));
    }
}

fn read_dwords(m: &Meaning) {
    m.about("Reads consecutive dwords of LDS.");
    let count = m.row().shape.slots[0].ty.dwords();
    load_at(m, 0, count, address(m, element(count)));
}

fn read2_by(m: &Meaning, stride: u64) {
    let each = m.row().shape.slots[0].ty.dwords() / 2;
    let [a, b] = addresses(m, 4 * each, stride);
    load_at(m, 0, each, a);
    load_at(m, each, each, b);
}

fn read2(m: &Meaning) {
    m.about("Reads two elements of LDS, at the address plus offset0 and offset1 elements.");
    read2_by(m, 1);
}

fn read2st64(m: &Meaning) {
    m.about(
        "Reads two elements of LDS, at the address plus 64 times offset0 and offset1 elements.",
    );
    read2_by(m, 64);
}

fn read_part(m: &Meaning, ty: Ty, signed: bool) -> V<'_> {
    let part = m.load(Space::Lds, ty, address(m, ty.bits() as u8 / 8), 0);
    if signed {
        part.sext(Ty::B32)
    } else {
        part.zext(Ty::B32)
    }
}

fn read_i8(m: &Meaning) {
    m.about("Reads a byte of LDS, sign-extended.");
    m.d(read_part(m, Ty::B8, true));
}

fn read_u8(m: &Meaning) {
    m.about("Reads a byte of LDS.");
    m.d(read_part(m, Ty::B8, false));
}

fn read_i16(m: &Meaning) {
    m.about("Reads 16 bits of LDS, sign-extended.");
    m.d(read_part(m, Ty::B16, true));
}

fn read_u16(m: &Meaning) {
    m.about("Reads 16 bits of LDS.");
    m.d(read_part(m, Ty::B16, false));
}

fn to_low(m: &Meaning, part: V<'_>) {
    m.d((m.old() & 0xffff_0000) | (part & 0xffff));
}

fn to_high(m: &Meaning, part: V<'_>) {
    m.d((m.old() & 0xffff) | (part << 16));
}

fn read_u8_d16(m: &Meaning) {
    m.about("Reads a byte of LDS into the destination's low half; the high half is kept.");
    to_low(m, read_part(m, Ty::B8, false));
}

fn read_u8_d16_hi(m: &Meaning) {
    m.about("Reads a byte of LDS into the destination's high half; the low half is kept.");
    to_high(m, read_part(m, Ty::B8, false));
}

fn read_i8_d16(m: &Meaning) {
    m.about("Reads a byte of LDS, sign-extended, into the destination's low half; the high half is kept.");
    to_low(m, read_part(m, Ty::B8, true));
}

fn read_i8_d16_hi(m: &Meaning) {
    m.about("Reads a byte of LDS, sign-extended, into the destination's high half; the low half is kept.");
    to_high(m, read_part(m, Ty::B8, true));
}

fn read_u16_d16(m: &Meaning) {
    m.about("Reads 16 bits of LDS into the destination's low half; the high half is kept.");
    to_low(m, read_part(m, Ty::B16, false));
}

fn read_u16_d16_hi(m: &Meaning) {
    m.about("Reads 16 bits of LDS into the destination's high half; the low half is kept.");
    to_high(m, read_part(m, Ty::B16, false));
}

/// The 16-bit offset that the two offset fields form, plus M0's low half, plus four times the lane.
fn tid_address(m: &Meaning) -> V<'_> {
    let offset = m.field(Field::Offset0) | (m.field(Field::Offset1) << 8);
    (offset + (m.get(State::M0) & 0xffff) + (m.lane() << 2)).zext(Ty::U64)
}

fn read_addtid(m: &Meaning) {
    m.about(
        "Reads a dword of LDS at the offset plus M0's low half plus four times the lane's number.",
    );
    m.d(m.load(Space::Lds, Ty::B32, tid_address(m), 0));
}

fn write_addtid(m: &Meaning) {
    m.about(
        "Writes a dword of LDS at the offset plus M0's low half plus four times the lane's number.",
    );
    m.store(Space::Lds, tid_address(m), 0, m.operand(Data0));
}

fn write_dwords(m: &Meaning) {
    m.about("Writes consecutive dwords of LDS.");
    let count = ty_of(m, Data0).dwords();
    store_at(m, Data0, address(m, element(count)));
}

fn write2_by(m: &Meaning, stride: u64) {
    let dwords = ty_of(m, Data0).dwords();
    let [a, b] = addresses(m, 4 * dwords, stride);
    // If the offsets are equal, only the first data is written.
    let same = m.field(Field::Offset0).eq(m.field(Field::Offset1));
    store_at(m, Data0, a);
    for k in 0..dwords {
        let value = same.select(m.dword(Data0, k), m.dword(Data1, k));
        m.store(Space::Lds, b, 4 * k as i32, value);
    }
}

fn write2(m: &Meaning) {
    m.about("Writes two elements of LDS, at the address plus offset0 and offset1 elements; with equal offsets the first alone.");
    write2_by(m, 1);
}

fn write2st64(m: &Meaning) {
    m.about(
        "Writes two elements of LDS, at the address plus 64 times offset0 and offset1 elements; with equal offsets the first alone.",
    );
    write2_by(m, 64);
}

fn write_part(m: &Meaning, ty: Ty, shift: u64) {
    let data = m.operand(Data0);
    let at = address(m, ty.bits() as u8 / 8);
    m.store(Space::Lds, at, 0, (data >> shift).trunc(ty));
}

fn write_b8(m: &Meaning) {
    m.about("Writes the low byte of the data to LDS.");
    write_part(m, Ty::B8, 0);
}

fn write_b16(m: &Meaning) {
    m.about("Writes the low half of the data to LDS.");
    write_part(m, Ty::B16, 0);
}

fn write_b8_hi(m: &Meaning) {
    m.about("Writes bits 23:16 of the data to LDS.");
    write_part(m, Ty::B8, 16);
}

fn write_b16_hi(m: &Meaning) {
    m.about("Writes the high half of the data to LDS.");
    write_part(m, Ty::B16, 16);
}

fn returns(m: &Meaning, old: V<'_>) {
    if m.row().shape.slot(Vdst).is_some() {
        give(m, 0, old);
    }
}

/// The integer or float type of 32 or 64 bits.
fn typed(bits: u32, kind: Kind) -> Ty {
    match (bits, kind) {
        (32, Kind::Unsigned) => Ty::U32,
        (32, Kind::Signed) => Ty::I32,
        (32, Kind::Float) => Ty::F32,
        (_, Kind::Unsigned) => Ty::U64,
        (_, Kind::Signed) => Ty::I64,
        (_, Kind::Float) => Ty::F64,
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Unsigned,
    Signed,
    Float,
}
use Kind::*;

/// An atomic on DATA0.
fn atomic(m: &Meaning, op: AtomicOp, kind: Kind) {
    let ty = typed(ty_of(m, Data0).bits(), kind);
    let data = dwords(m, Data0, ty);
    let at = address(m, 4 * ty.dwords());
    returns(m, m.atomic(Space::Lds, op, at, data, data));
}

/// Returns the two addresses of instructions whose values are both in LDS: the address, and the address plus a number of
/// dwords, which is the offset's low 15 bits, signed, or if the offset's top bit is set, bits 31:17 of the address.
fn src2_addresses(m: &Meaning, bytes: u8) -> [V<'_>; 2] {
    let offset = m.field(Field::Offset0) | (m.field(Field::Offset1) << 8);
    let address = m.operand(DsAddr).as_(Ty::U32);
    let own = (offset & 0x8000).nonzero();
    let low = !(bytes as u64 - 1) & 0xffff_ffff;
    let first = own.select(address & 0x1_ffff, address) & low;
    let distance = own.select(address >> 17, offset & 0x7fff);
    // Fifteen bits, signed, times four.
    let distance = ((distance << 17).as_(Ty::I32) >> 15).as_(Ty::U32);
    let second = (first + distance) & low;
    [first.zext(Ty::U64), second.zext(Ty::U64)]
}

/// An atomic whose data are the value at the second address. Every lane reads it before any lane writes.
fn atomic_src2(m: &Meaning, op: AtomicOp, bits: u32, kind: Kind) {
    let ty = typed(bits, kind);
    let [first, second] = src2_addresses(m, 4 * ty.dwords());
    let data = m.load(Space::Lds, ty, second, 0);
    m.atomic(Space::Lds, op, first, data, data);
}

fn add(m: &Meaning) {
    m.about("Atomically adds the data to LDS; rtn gives the old value.");
    atomic(m, AtomicOp::Add, Unsigned);
}

fn sub(m: &Meaning) {
    m.about("Atomically subtracts the data from LDS; rtn gives the old value.");
    atomic(m, AtomicOp::Sub, Unsigned);
}

fn rsub(m: &Meaning) {
    m.about("Atomically stores the data minus LDS; rtn gives the old value.");
    atomic(m, AtomicOp::Rsub, Unsigned);
}

fn inc(m: &Meaning) {
    m.about("Atomically counts up: 0 where LDS is at least the data, else LDS plus 1; rtn gives the old value.");
    atomic(m, AtomicOp::Inc, Unsigned);
}

fn dec(m: &Meaning) {
    m.about("Atomically counts down: the data where LDS is 0 or above it, else LDS minus 1; rtn gives the old value.");
    atomic(m, AtomicOp::Dec, Unsigned);
}

fn smin(m: &Meaning) {
    m.about("Atomically stores the smaller, signed, of LDS and the data; rtn gives the old value.");
    atomic(m, AtomicOp::Min, Signed);
}

fn smax(m: &Meaning) {
    m.about("Atomically stores the larger, signed, of LDS and the data; rtn gives the old value.");
    atomic(m, AtomicOp::Max, Signed);
}

fn umin(m: &Meaning) {
    m.about(
        "Atomically stores the smaller, unsigned, of LDS and the data; rtn gives the old value.",
    );
    atomic(m, AtomicOp::Min, Unsigned);
}

fn umax(m: &Meaning) {
    m.about(
        "Atomically stores the larger, unsigned, of LDS and the data; rtn gives the old value.",
    );
    atomic(m, AtomicOp::Max, Unsigned);
}

fn and(m: &Meaning) {
    m.about("Atomically ANDs the data into LDS; rtn gives the old value.");
    atomic(m, AtomicOp::And, Unsigned);
}

fn or(m: &Meaning) {
    m.about("Atomically ORs the data into LDS; rtn gives the old value.");
    atomic(m, AtomicOp::Or, Unsigned);
}

fn xor(m: &Meaning) {
    m.about("Atomically XORs the data into LDS; rtn gives the old value.");
    atomic(m, AtomicOp::Xor, Unsigned);
}

fn swap(m: &Meaning) {
    m.about("Atomically stores the data; gives the old value.");
    atomic(m, AtomicOp::Swap, Unsigned);
}

/// An atomic on two data operands.
fn atomic2(m: &Meaning, op: AtomicOp, kind: Kind, data: Role, second: Role) {
    let ty = typed(ty_of(m, Data0).bits(), kind);
    let old = m.atomic(
        Space::Lds,
        op,
        address(m, 4 * ty.dwords()),
        dwords(m, data, ty),
        dwords(m, second, ty),
    );
    returns(m, old);
}

fn mskor(m: &Meaning) {
    m.about("Atomically clears the bits of LDS that the first data sets and sets those of the second; rtn gives the old value.");
    atomic2(m, AtomicOp::Mskor, Unsigned, Data0, Data1);
}

fn cmpst(m: &Meaning) {
    m.about(
        "Atomically stores the second data where LDS equals the first; rtn gives the old value.",
    );
    atomic2(m, AtomicOp::CmpSwap, Unsigned, Data1, Data0);
}

fn wrap(m: &Meaning) {
    m.about("Atomically subtracts the first data from LDS if LDS is at least as large, otherwise adds the second; gives the old value.");
    atomic2(m, AtomicOp::Wrap, Unsigned, Data0, Data1);
}

fn wrxchg2_by(m: &Meaning, stride: u64) {
    let ty = ty_of(m, Data0);
    let [a, b] = addresses(m, 4 * ty.dwords(), stride);
    let (x, y) = (dwords(m, Data0, ty), dwords(m, Data1, ty));
    let first = m.atomic(Space::Lds, AtomicOp::Swap, a, x, x);
    let second = m.atomic(Space::Lds, AtomicOp::Swap, b, y, y);
    give(m, 0, first);
    give(m, ty.dwords(), second);
}

fn wrxchg2(m: &Meaning) {
    m.about("Atomically stores two elements, at the address plus offset0 and offset1 elements; gives the old values.");
    wrxchg2_by(m, 1);
}

fn wrxchg2st64(m: &Meaning) {
    m.about("Atomically stores two elements, at the address plus 64 times offset0 and offset1 elements; gives the old values.");
    wrxchg2_by(m, 64);
}

/// The lane that the address, in bytes, names.
fn lane_of_address(m: &Meaning) -> V<'_> {
    (m.address().trunc(Ty::U32) >> 2) & 63
}

fn permute(m: &Meaning) {
    m.about("Each lane sends its data to the lane whose number is the address divided by 4, modulo 64. A lane to which no lane sends takes 0; if several send to one lane, the data of the highest sender are used. LDS is not accessed.");
    m.d(m.operand(Data0).send_lane(lane_of_address(m)));
}

fn bpermute(m: &Meaning) {
    m.about("The data of the lane whose number is the address divided by 4, modulo 64; 0 if that lane is inactive. LDS is not accessed.");
    let lane = lane_of_address(m);
    let on = ((m.get(State::Exec) >> lane) & 1).nonzero();
    m.d(on.select(m.operand(Data0).read_lane(lane), m.c(Ty::B32, 0)));
}

fn cmpst_float(m: &Meaning) {
    m.about("Atomically stores the second data where LDS equals the first, compared as floats: zeros are equal whatever their signs, a NaN equals nothing. Denormals are compared as MODE says. rtn gives the old value.");
    atomic2(m, AtomicOp::CmpSwap, Float, Data1, Data0);
}

fn min_float(m: &Meaning) {
    m.about("Atomically stores the smaller of the data and LDS, floats, -0 being below +0; if one is a quiet NaN, the other; a signalling NaN is made quiet. Denormals are as MODE says. rtn gives the old value.");
    atomic(m, AtomicOp::Min, Float);
}

fn max_float(m: &Meaning) {
    m.about("Atomically stores the larger of the data and LDS, floats, +0 being above -0; if one is a quiet NaN, the other; a signalling NaN is made quiet. Denormals are as MODE says. rtn gives the old value.");
    atomic(m, AtomicOp::Max, Float);
}

fn add_float(m: &Meaning) {
    m.about("Atomically adds the data to LDS as floats, rounded to nearest even whatever MODE says; rtn gives the old value.");
    atomic(m, AtomicOp::Add, Float);
}

/// The resource number of global wave sync: M0 plus the offset, modulo 64.
fn gws_resource(m: &Meaning) -> V<'_> {
    ((m.get(State::M0).as_(Ty::U32) >> 16) + m.field(Field::Offset0)) & 63
}

/// The value that global wave sync takes from a VGPR, in the lowest active lane.
fn gws_value(m: &Meaning) -> V<'_> {
    m.operand(DsAddr).as_(Ty::U32).read_lane(m.first_lane())
}

fn gws_sema_release_all(m: &Meaning) {
    m.about("Global wave sync: releases all waves that wait at the semaphore numbered M0[21:16] plus the offset; the counter becomes the number of those waves.");
    m.gws(GwsOp::ReleaseAll, gws_resource(m), m.c(Ty::U32, 0));
}

fn gws_init(m: &Meaning) {
    m.about("Global wave sync: the counter of the barrier or semaphore numbered M0[21:16] plus the offset takes the value of the lowest active lane.");
    m.gws(GwsOp::Init, gws_resource(m), gws_value(m));
}

fn gws_sema_v(m: &Meaning) {
    m.about("Global wave sync: adds 1 to the semaphore numbered M0[21:16] plus the offset.");
    m.gws(GwsOp::Signal, gws_resource(m), m.c(Ty::U32, 1));
}

fn gws_sema_br(m: &Meaning) {
    m.about("Global wave sync: adds the value of the lowest active lane to the semaphore numbered M0[21:16] plus the offset.");
    m.gws(GwsOp::Signal, gws_resource(m), gws_value(m));
}

fn gws_sema_p(m: &Meaning) {
    m.about("Global wave sync: waits until the semaphore numbered M0[21:16] plus the offset is above 0, in the order of arrival, and takes 1 from it.");
    m.gws(GwsOp::Take, gws_resource(m), m.c(Ty::U32, 0));
}

fn gws_barrier(m: &Meaning) {
    m.about("Global wave sync: a barrier numbered M0[21:16] plus the offset. If its counter is above 0, the counter is decremented and the wave waits. If it is 0, all waiting waves continue, and the counter takes the value of the lowest active lane: the number of waves that meet next, minus 1.");
    m.gws(GwsOp::Barrier, gws_resource(m), gws_value(m));
}

/// Adds or subtracts the number of active lanes at the dword at M0's low half (GDS: M0's base) plus the offset.
fn count(m: &Meaning, op: AtomicOp) {
    let lanes = m.get(State::Exec).popcount();
    m.d(m.wave_atomic(Space::Lds, op, address(m, 4), lanes, lanes));
}

fn consume(m: &Meaning) {
    m.about("Atomically, once for the wave, subtracts the number of active lanes from the dword at M0[15:0] plus the offset (GDS: at M0[31:16]); gives its old value to every lane.");
    count(m, AtomicOp::Sub);
}

fn append(m: &Meaning) {
    m.about("Atomically, once for the wave, adds the number of active lanes to the dword at M0[15:0] plus the offset (GDS: at M0[31:16]); gives its old value to every lane.");
    count(m, AtomicOp::Add);
}

fn ordered_count(m: &Meaning) {
    m.about("Wave after wave in the order of their dispatch, adds the value of the lowest active lane to the dword of GDS at M0[31:16] plus offset0, or with operation (offset1[5:4]) 1 stores it there; gives the old value to every lane. wave_release (offset1[0]) ends the wave's turn, wave_done (offset1[1]) all its turns.");
    let how = m.field(Field::Offset1);
    let operation = (how >> 4) & 3;
    let is = |number| operation.eq(m.c(Ty::U32, number));
    let (none, all) = (m.c(Ty::U32, 0), m.c(Ty::U32, 0xffff_ffff));
    let value = m.operand(DsAddr).as_(Ty::U32);
    let data = is(0).select(value, is(1).select(value, none));
    let kept = is(1).select(none, all);
    let base = (m.get(State::M0).as_(Ty::U32) >> 16) & 0xfffc;
    let at = (base + (m.field(Field::Offset0) & 0xfc)).zext(Ty::U64);
    m.turn();
    m.d(m.wave_atomic(Space::Gds, AtomicOp::AndAdd, at, data, kept));
    m.when((how & 3).nonzero(), || {
        m.signal(Signal::Release, (how >> 1) & 1)
    });
}

fn condxchg32(m: &Meaning) {
    m.about("Two conditional exchanges of 32 bits, at the address and the dword after it: if the top bit of a half of the data is set, its other bits are stored. Gives the old values.");
    let at = m.address() & !7;
    for k in 0..2 {
        conditional_exchange(m, at, k, m.dword(Data0, k).as_(Ty::U32));
    }
}

/// A conditional exchange of dword `k` from `at` on.
fn conditional_exchange<'m>(m: &'m Meaning, at: V<'m>, k: u8, data: V<'m>) {
    let location = at + 4 * k as u64;
    let old = m.atomic(Space::Lds, AtomicOp::CondSwap, location, data, data);
    m.d_dword(k, old.as_(Ty::B32));
}

fn condxchg32_b128(m: &Meaning) {
    m.about("Four conditional exchanges of 32 bits, at the address in the VGPR of the ADDR field and the dwords after it, with the data in the VGPRs of the DATA0 field: if the top bit of a dword of the data is set, its other bits are stored. Gives the old values.");
    let offset = m.field(Field::Offset0) | (m.field(Field::Offset1) << 8);
    let base = m.vgpr(Ty::U32, m.field(Field::Addr));
    let at = (base.zext(Ty::U64) + offset.zext(Ty::U64)) & !15;
    for k in 0..4 {
        let data = m.vgpr(Ty::U32, m.field(Field::Data0) + k as u64);
        conditional_exchange(m, at, k, data);
    }
}

fn add_src2<const BITS: u32>(m: &Meaning) {
    m.about("Atomically adds the value at the second address in LDS to that at the first.");
    atomic_src2(m, AtomicOp::Add, BITS, Unsigned);
}

fn sub_src2<const BITS: u32>(m: &Meaning) {
    m.about("Atomically subtracts the value at the second address in LDS from that at the first.");
    atomic_src2(m, AtomicOp::Sub, BITS, Unsigned);
}

fn rsub_src2<const BITS: u32>(m: &Meaning) {
    m.about("Atomically stores at the first address in LDS the value at the second minus that at the first.");
    atomic_src2(m, AtomicOp::Rsub, BITS, Unsigned);
}

fn inc_src2<const BITS: u32>(m: &Meaning) {
    m.about("Atomically counts up at the first address in LDS: 0 where that is at least the value at the second, else 1 more.");
    atomic_src2(m, AtomicOp::Inc, BITS, Unsigned);
}

fn dec_src2<const BITS: u32>(m: &Meaning) {
    m.about("Atomically counts down at the first address in LDS: the value at the second where that is 0 or above it, else 1 less.");
    atomic_src2(m, AtomicOp::Dec, BITS, Unsigned);
}

fn smin_src2<const BITS: u32>(m: &Meaning) {
    m.about(
        "Atomically stores at the first address in LDS the smaller, signed, of the values at both.",
    );
    atomic_src2(m, AtomicOp::Min, BITS, Signed);
}

fn smax_src2<const BITS: u32>(m: &Meaning) {
    m.about(
        "Atomically stores at the first address in LDS the larger, signed, of the values at both.",
    );
    atomic_src2(m, AtomicOp::Max, BITS, Signed);
}

fn umin_src2<const BITS: u32>(m: &Meaning) {
    m.about("Atomically stores at the first address in LDS the smaller, unsigned, of the values at both.");
    atomic_src2(m, AtomicOp::Min, BITS, Unsigned);
}

fn umax_src2<const BITS: u32>(m: &Meaning) {
    m.about("Atomically stores at the first address in LDS the larger, unsigned, of the values at both.");
    atomic_src2(m, AtomicOp::Max, BITS, Unsigned);
}

fn and_src2<const BITS: u32>(m: &Meaning) {
    m.about("Atomically ANDs the value at the second address in LDS into that at the first.");
    atomic_src2(m, AtomicOp::And, BITS, Unsigned);
}

fn or_src2<const BITS: u32>(m: &Meaning) {
    m.about("Atomically ORs the value at the second address in LDS into that at the first.");
    atomic_src2(m, AtomicOp::Or, BITS, Unsigned);
}

fn xor_src2<const BITS: u32>(m: &Meaning) {
    m.about("Atomically XORs the value at the second address in LDS into that at the first.");
    atomic_src2(m, AtomicOp::Xor, BITS, Unsigned);
}

fn min_float_src2<const BITS: u32>(m: &Meaning) {
    m.about("Atomically stores the value at the second address in LDS at the first where it is less, compared as floats.");
    atomic_src2(m, AtomicOp::Min, BITS, Float);
}

fn max_float_src2<const BITS: u32>(m: &Meaning) {
    m.about("Atomically stores the value at the second address in LDS at the first where it is greater, compared as floats.");
    atomic_src2(m, AtomicOp::Max, BITS, Float);
}

fn add_float_src2<const BITS: u32>(m: &Meaning) {
    m.about("Atomically adds the float at the second address in LDS to that at the first, rounded to nearest even whatever MODE says.");
    atomic_src2(m, AtomicOp::Add, BITS, Float);
}

fn write_src2<const BITS: u32>(m: &Meaning) {
    m.about("Copies the value at the second address in LDS to the first. The second is the first plus four times the offset's 15 bits, signed, or with the offset's top bit the address's bits 31:17.");
    let bytes = (BITS / 8) as u8;
    let [first, second] = src2_addresses(m, bytes);
    for k in (0..bytes as i32).step_by(4) {
        m.store(Space::Lds, first, k, m.load(Space::Lds, Ty::B32, second, k));
    }
}

fn swizzle(m: &Meaning) {
    m.about("The source of another lane, whose number is computed from the lane's number as the offset says: one of the same four lanes, or within 32 lanes by AND, OR and XOR; gfx9 can also rotate and reverse bits. 0 if that lane is inactive. LDS is not accessed.");
    let offset = m.field(Field::Offset0) | (m.field(Field::Offset1) << 8);
    let at_least = |least| offset.ge(m.c(Ty::U32, least));
    let lane = m.lane();
    let (low, half) = (lane & 31, lane & 32);
    let quad = (lane & 60) | ((offset >> ((lane & 3) << 1)) & 3);
    let (first, second, third) = (offset & 31, (offset >> 5) & 31, (offset >> 10) & 31);
    let masks = (((low & first) | second) ^ third) | half;
    let mut from = at_least(0x8000).select(quad, masks);
    if m.target().generation() == Gen::Gfx9 {
        let kept = low & first;
        let back = (offset & 0x400).nonzero();
        let moved = back.select(low - second, low + second);
        let rotated = kept | (moved & !first & 31) | half;
        let reversed = ((low.rev() >> 27) >> first.popcount()) | kept | half;
        from = at_least(0xc000).select(rotated, from);
        from = at_least(0xe000).select(reversed, from);
    }
    let on = ((m.get(State::Exec) >> from) & 1).nonzero();
    let value = m.operand(DsAddr).read_lane(from);
    m.d(on.select(value, m.c(value.ty, 0)));
}
