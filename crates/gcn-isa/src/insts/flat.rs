//! FLAT, GLOBAL and SCRATCH.
//!
//! The address of GLOBAL is a 64-bit VGPR pair, or with SADDR a 32-bit VGPR plus an SGPR pair; the address of SCRATCH is one VGPR
//! or one SGPR. NV and LDS are not part of the meanings.

use super::memory::*;
use crate::format::Format;
use crate::inst::{Inst, NO};
use crate::meaning::Meaning;
use crate::shape::{Mods, Role::*, Shape, Slot, Ty, read, write};

const fn flat_shape(slots: &'static [Slot]) -> Shape {
    Shape {
        slots,
        mods: Mods::Flat,
    }
}

// C2 and C4: compare-and-swap, whose data hold two values.
static FLAT_LOAD1: Shape = flat_shape(&[write(Vdst, Ty::B32), read(FlatAddr, Ty::B64)]);
static FLAT_LOAD2: Shape = flat_shape(&[write(Vdst, Ty::B64), read(FlatAddr, Ty::B64)]);
static FLAT_LOAD3: Shape = flat_shape(&[write(Vdst, Ty::B96), read(FlatAddr, Ty::B64)]);
static FLAT_LOAD4: Shape = flat_shape(&[write(Vdst, Ty::B128), read(FlatAddr, Ty::B64)]);
static FLAT_LOAD_D16: Shape =
    flat_shape(&[write(Vdst, Ty::B32).read_too(), read(FlatAddr, Ty::B64)]);
static FLAT_STORE1: Shape = flat_shape(&[read(FlatAddr, Ty::B64), read(Data0, Ty::B32)]);
static FLAT_STORE2: Shape = flat_shape(&[read(FlatAddr, Ty::B64), read(Data0, Ty::B64)]);
static FLAT_STORE3: Shape = flat_shape(&[read(FlatAddr, Ty::B64), read(Data0, Ty::B96)]);
static FLAT_STORE4: Shape = flat_shape(&[read(FlatAddr, Ty::B64), read(Data0, Ty::B128)]);
static FLAT_ATOMIC_1: Shape = flat_shape(&[
    write(VdstIfGlc, Ty::B32),
    read(FlatAddr, Ty::B64),
    read(Data0, Ty::B32),
]);
static FLAT_ATOMIC_2: Shape = flat_shape(&[
    write(VdstIfGlc, Ty::B64),
    read(FlatAddr, Ty::B64),
    read(Data0, Ty::B64),
]);
static FLAT_ATOMIC_C2: Shape = flat_shape(&[
    write(VdstIfGlc, Ty::B32),
    read(FlatAddr, Ty::B64),
    read(Data0, Ty::B64),
]);
static FLAT_ATOMIC_C4: Shape = flat_shape(&[
    write(VdstIfGlc, Ty::B64),
    read(FlatAddr, Ty::B64),
    read(Data0, Ty::B128),
]);

static GLOBAL_LOAD1: Shape = flat_shape(&[
    write(Vdst, Ty::B32),
    read(FlatAddr, Ty::B64),
    read(Saddr, Ty::B64),
]);
static GLOBAL_LOAD2: Shape = flat_shape(&[
    write(Vdst, Ty::B64),
    read(FlatAddr, Ty::B64),
    read(Saddr, Ty::B64),
]);
static GLOBAL_LOAD3: Shape = flat_shape(&[
    write(Vdst, Ty::B96),
    read(FlatAddr, Ty::B64),
    read(Saddr, Ty::B64),
]);
static GLOBAL_LOAD4: Shape = flat_shape(&[
    write(Vdst, Ty::B128),
    read(FlatAddr, Ty::B64),
    read(Saddr, Ty::B64),
]);
static GLOBAL_LOAD_D16: Shape = flat_shape(&[
    write(Vdst, Ty::B32).read_too(),
    read(FlatAddr, Ty::B64),
    read(Saddr, Ty::B64),
]);
static GLOBAL_STORE1: Shape = flat_shape(&[
    read(FlatAddr, Ty::B64),
    read(Data0, Ty::B32),
    read(Saddr, Ty::B64),
]);
static GLOBAL_STORE2: Shape = flat_shape(&[
    read(FlatAddr, Ty::B64),
    read(Data0, Ty::B64),
    read(Saddr, Ty::B64),
]);
static GLOBAL_STORE3: Shape = flat_shape(&[
    read(FlatAddr, Ty::B64),
    read(Data0, Ty::B96),
    read(Saddr, Ty::B64),
]);
static GLOBAL_STORE4: Shape = flat_shape(&[
    read(FlatAddr, Ty::B64),
    read(Data0, Ty::B128),
    read(Saddr, Ty::B64),
]);
static GLOBAL_ATOMIC_1: Shape = flat_shape(&[
    write(VdstIfGlc, Ty::B32),
    read(FlatAddr, Ty::B64),
    read(Data0, Ty::B32),
    read(Saddr, Ty::B64),
]);
static GLOBAL_ATOMIC_2: Shape = flat_shape(&[
    write(VdstIfGlc, Ty::B64),
    read(FlatAddr, Ty::B64),
    read(Data0, Ty::B64),
    read(Saddr, Ty::B64),
]);
static GLOBAL_ATOMIC_C2: Shape = flat_shape(&[
    write(VdstIfGlc, Ty::B32),
    read(FlatAddr, Ty::B64),
    read(Data0, Ty::B64),
    read(Saddr, Ty::B64),
]);
static GLOBAL_ATOMIC_C4: Shape = flat_shape(&[
    write(VdstIfGlc, Ty::B64),
    read(FlatAddr, Ty::B64),
    read(Data0, Ty::B128),
    read(Saddr, Ty::B64),
]);

static SCRATCH_LOAD1: Shape = flat_shape(&[
    write(Vdst, Ty::B32),
    read(FlatAddr, Ty::B32),
    read(Saddr, Ty::B32),
]);
static SCRATCH_LOAD2: Shape = flat_shape(&[
    write(Vdst, Ty::B64),
    read(FlatAddr, Ty::B32),
    read(Saddr, Ty::B32),
]);
static SCRATCH_LOAD3: Shape = flat_shape(&[
    write(Vdst, Ty::B96),
    read(FlatAddr, Ty::B32),
    read(Saddr, Ty::B32),
]);
static SCRATCH_LOAD4: Shape = flat_shape(&[
    write(Vdst, Ty::B128),
    read(FlatAddr, Ty::B32),
    read(Saddr, Ty::B32),
]);
static SCRATCH_LOAD_D16: Shape = flat_shape(&[
    write(Vdst, Ty::B32).read_too(),
    read(FlatAddr, Ty::B32),
    read(Saddr, Ty::B32),
]);
static SCRATCH_STORE1: Shape = flat_shape(&[
    read(FlatAddr, Ty::B32),
    read(Data0, Ty::B32),
    read(Saddr, Ty::B32),
]);
static SCRATCH_STORE2: Shape = flat_shape(&[
    read(FlatAddr, Ty::B32),
    read(Data0, Ty::B64),
    read(Saddr, Ty::B32),
]);
static SCRATCH_STORE3: Shape = flat_shape(&[
    read(FlatAddr, Ty::B32),
    read(Data0, Ty::B96),
    read(Saddr, Ty::B32),
]);
static SCRATCH_STORE4: Shape = flat_shape(&[
    read(FlatAddr, Ty::B32),
    read(Data0, Ty::B128),
    read(Saddr, Ty::B32),
]);

const fn flat(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Flat, name, opcode, shape, meaning)
}

const fn global(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Global, name, opcode, shape, meaning)
}

const fn scratch(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Scratch, name, opcode, shape, meaning)
}

/// FLAT.
#[rustfmt::skip]
pub static FLAT: &[Inst] = &[
    flat("flat_load_ubyte",               [ NO,   8,  16,  16], &FLAT_LOAD1,    load_ubyte),
    flat("flat_load_sbyte",               [ NO,   9,  17,  17], &FLAT_LOAD1,    load_sbyte),
    flat("flat_load_ushort",              [ NO,  10,  18,  18], &FLAT_LOAD1,    load_ushort),
    flat("flat_load_sshort",              [ NO,  11,  19,  19], &FLAT_LOAD1,    load_sshort),
    flat("flat_load_dword",               [ NO,  12,  20,  20], &FLAT_LOAD1,    load),
    flat("flat_load_dwordx2",             [ NO,  13,  21,  21], &FLAT_LOAD2,    load),
    flat("flat_load_dwordx3",             [ NO,  15,  22,  22], &FLAT_LOAD3,    load),
    flat("flat_load_dwordx4",             [ NO,  14,  23,  23], &FLAT_LOAD4,    load),
    flat("flat_store_byte",               [ NO,  24,  24,  24], &FLAT_STORE1,   store_byte),
    flat("flat_store_byte_d16_hi",        [ NO,  NO,  NO,  25], &FLAT_STORE1,   store_byte_d16_hi),
    flat("flat_store_short",              [ NO,  26,  26,  26], &FLAT_STORE1,   store_short),
    flat("flat_store_short_d16_hi",       [ NO,  NO,  NO,  27], &FLAT_STORE1,   store_short_d16_hi),
    flat("flat_store_dword",              [ NO,  28,  28,  28], &FLAT_STORE1,   store),
    flat("flat_store_dwordx2",            [ NO,  29,  29,  29], &FLAT_STORE2,   store),
    flat("flat_store_dwordx3",            [ NO,  31,  30,  30], &FLAT_STORE3,   store),
    flat("flat_store_dwordx4",            [ NO,  30,  31,  31], &FLAT_STORE4,   store),
    flat("flat_load_ubyte_d16",           [ NO,  NO,  NO,  32], &FLAT_LOAD_D16, load_ubyte_d16),
    flat("flat_load_ubyte_d16_hi",        [ NO,  NO,  NO,  33], &FLAT_LOAD_D16, load_ubyte_d16_hi),
    flat("flat_load_sbyte_d16",           [ NO,  NO,  NO,  34], &FLAT_LOAD_D16, load_sbyte_d16),
    flat("flat_load_sbyte_d16_hi",        [ NO,  NO,  NO,  35], &FLAT_LOAD_D16, load_sbyte_d16_hi),
    flat("flat_load_short_d16",           [ NO,  NO,  NO,  36], &FLAT_LOAD_D16, load_short_d16),
    flat("flat_load_short_d16_hi",        [ NO,  NO,  NO,  37], &FLAT_LOAD_D16, load_short_d16_hi),
    flat("flat_atomic_swap",              [ NO,  48,  64,  64], &FLAT_ATOMIC_1, swap),
    flat("flat_atomic_cmpswap",           [ NO,  49,  65,  65], &FLAT_ATOMIC_C2, cmpswap),
    flat("flat_atomic_add",               [ NO,  50,  66,  66], &FLAT_ATOMIC_1, add),
    flat("flat_atomic_sub",               [ NO,  51,  67,  67], &FLAT_ATOMIC_1, sub),
    flat("flat_atomic_smin",              [ NO,  53,  68,  68], &FLAT_ATOMIC_1, smin),
    flat("flat_atomic_umin",              [ NO,  54,  69,  69], &FLAT_ATOMIC_1, umin),
    flat("flat_atomic_smax",              [ NO,  55,  70,  70], &FLAT_ATOMIC_1, smax),
    flat("flat_atomic_umax",              [ NO,  56,  71,  71], &FLAT_ATOMIC_1, umax),
    flat("flat_atomic_and",               [ NO,  57,  72,  72], &FLAT_ATOMIC_1, and),
    flat("flat_atomic_or",                [ NO,  58,  73,  73], &FLAT_ATOMIC_1, or),
    flat("flat_atomic_xor",               [ NO,  59,  74,  74], &FLAT_ATOMIC_1, xor),
    flat("flat_atomic_inc",               [ NO,  60,  75,  75], &FLAT_ATOMIC_1, inc),
    flat("flat_atomic_dec",               [ NO,  61,  76,  76], &FLAT_ATOMIC_1, dec),
    flat("flat_atomic_swap_x2",           [ NO,  80,  96,  96], &FLAT_ATOMIC_2, swap),
    flat("flat_atomic_cmpswap_x2",        [ NO,  81,  97,  97], &FLAT_ATOMIC_C4, cmpswap),
    flat("flat_atomic_add_x2",            [ NO,  82,  98,  98], &FLAT_ATOMIC_2, add),
    flat("flat_atomic_sub_x2",            [ NO,  83,  99,  99], &FLAT_ATOMIC_2, sub),
    flat("flat_atomic_smin_x2",           [ NO,  85, 100, 100], &FLAT_ATOMIC_2, smin),
    flat("flat_atomic_umin_x2",           [ NO,  86, 101, 101], &FLAT_ATOMIC_2, umin),
    flat("flat_atomic_smax_x2",           [ NO,  87, 102, 102], &FLAT_ATOMIC_2, smax),
    flat("flat_atomic_umax_x2",           [ NO,  88, 103, 103], &FLAT_ATOMIC_2, umax),
    flat("flat_atomic_and_x2",            [ NO,  89, 104, 104], &FLAT_ATOMIC_2, and),
    flat("flat_atomic_or_x2",             [ NO,  90, 105, 105], &FLAT_ATOMIC_2, or),
    flat("flat_atomic_xor_x2",            [ NO,  91, 106, 106], &FLAT_ATOMIC_2, xor),
    flat("flat_atomic_inc_x2",            [ NO,  92, 107, 107], &FLAT_ATOMIC_2, inc),
    flat("flat_atomic_dec_x2",            [ NO,  93, 108, 108], &FLAT_ATOMIC_2, dec),
    flat("flat_atomic_fcmpswap",          [ NO,  62,  NO,  NO], &FLAT_ATOMIC_C2, fcmpswap).errata(&["float-atomics"]),
    flat("flat_atomic_fmin",              [ NO,  63,  NO,  NO], &FLAT_ATOMIC_1, fmin).errata(&["float-atomics"]),
    flat("flat_atomic_fmax",              [ NO,  64,  NO,  NO], &FLAT_ATOMIC_1, fmax).errata(&["float-atomics"]),
    flat("flat_atomic_fcmpswap_x2",       [ NO,  94,  NO,  NO], &FLAT_ATOMIC_C4, fcmpswap).errata(&["float-atomics"]),
    flat("flat_atomic_fmin_x2",           [ NO,  95,  NO,  NO], &FLAT_ATOMIC_2, fmin).errata(&["float-atomics"]),
    flat("flat_atomic_fmax_x2",           [ NO,  96,  NO,  NO], &FLAT_ATOMIC_2, fmax).errata(&["float-atomics"]),
];

/// GLOBAL.
#[rustfmt::skip]
pub static GLOBAL: &[Inst] = &[
    global("global_load_ubyte",             [ NO,  NO,  NO,  16], &GLOBAL_LOAD1,    load_ubyte),
    global("global_load_sbyte",             [ NO,  NO,  NO,  17], &GLOBAL_LOAD1,    load_sbyte),
    global("global_load_ushort",            [ NO,  NO,  NO,  18], &GLOBAL_LOAD1,    load_ushort),
    global("global_load_sshort",            [ NO,  NO,  NO,  19], &GLOBAL_LOAD1,    load_sshort),
    global("global_load_dword",             [ NO,  NO,  NO,  20], &GLOBAL_LOAD1,    load),
    global("global_load_dwordx2",           [ NO,  NO,  NO,  21], &GLOBAL_LOAD2,    load),
    global("global_load_dwordx3",           [ NO,  NO,  NO,  22], &GLOBAL_LOAD3,    load),
    global("global_load_dwordx4",           [ NO,  NO,  NO,  23], &GLOBAL_LOAD4,    load),
    global("global_store_byte",             [ NO,  NO,  NO,  24], &GLOBAL_STORE1,   store_byte),
    global("global_store_byte_d16_hi",      [ NO,  NO,  NO,  25], &GLOBAL_STORE1,   store_byte_d16_hi),
    global("global_store_short",            [ NO,  NO,  NO,  26], &GLOBAL_STORE1,   store_short),
    global("global_store_short_d16_hi",     [ NO,  NO,  NO,  27], &GLOBAL_STORE1,   store_short_d16_hi),
    global("global_store_dword",            [ NO,  NO,  NO,  28], &GLOBAL_STORE1,   store),
    global("global_store_dwordx2",          [ NO,  NO,  NO,  29], &GLOBAL_STORE2,   store),
    global("global_store_dwordx3",          [ NO,  NO,  NO,  30], &GLOBAL_STORE3,   store),
    global("global_store_dwordx4",          [ NO,  NO,  NO,  31], &GLOBAL_STORE4,   store),
    global("global_load_ubyte_d16",         [ NO,  NO,  NO,  32], &GLOBAL_LOAD_D16, load_ubyte_d16),
    global("global_load_ubyte_d16_hi",      [ NO,  NO,  NO,  33], &GLOBAL_LOAD_D16, load_ubyte_d16_hi),
    global("global_load_sbyte_d16",         [ NO,  NO,  NO,  34], &GLOBAL_LOAD_D16, load_sbyte_d16),
    global("global_load_sbyte_d16_hi",      [ NO,  NO,  NO,  35], &GLOBAL_LOAD_D16, load_sbyte_d16_hi),
    global("global_load_short_d16",         [ NO,  NO,  NO,  36], &GLOBAL_LOAD_D16, load_short_d16),
    global("global_load_short_d16_hi",      [ NO,  NO,  NO,  37], &GLOBAL_LOAD_D16, load_short_d16_hi),
    global("global_atomic_swap",            [ NO,  NO,  NO,  64], &GLOBAL_ATOMIC_1, swap),
    global("global_atomic_cmpswap",         [ NO,  NO,  NO,  65], &GLOBAL_ATOMIC_C2, cmpswap),
    global("global_atomic_add",             [ NO,  NO,  NO,  66], &GLOBAL_ATOMIC_1, add),
    global("global_atomic_sub",             [ NO,  NO,  NO,  67], &GLOBAL_ATOMIC_1, sub),
    global("global_atomic_smin",            [ NO,  NO,  NO,  68], &GLOBAL_ATOMIC_1, smin),
    global("global_atomic_umin",            [ NO,  NO,  NO,  69], &GLOBAL_ATOMIC_1, umin),
    global("global_atomic_smax",            [ NO,  NO,  NO,  70], &GLOBAL_ATOMIC_1, smax),
    global("global_atomic_umax",            [ NO,  NO,  NO,  71], &GLOBAL_ATOMIC_1, umax),
    global("global_atomic_and",             [ NO,  NO,  NO,  72], &GLOBAL_ATOMIC_1, and),
    global("global_atomic_or",              [ NO,  NO,  NO,  73], &GLOBAL_ATOMIC_1, or),
    global("global_atomic_xor",             [ NO,  NO,  NO,  74], &GLOBAL_ATOMIC_1, xor),
    global("global_atomic_inc",             [ NO,  NO,  NO,  75], &GLOBAL_ATOMIC_1, inc),
    global("global_atomic_dec",             [ NO,  NO,  NO,  76], &GLOBAL_ATOMIC_1, dec),
    global("global_atomic_swap_x2",         [ NO,  NO,  NO,  96], &GLOBAL_ATOMIC_2, swap),
    global("global_atomic_cmpswap_x2",      [ NO,  NO,  NO,  97], &GLOBAL_ATOMIC_C4, cmpswap),
    global("global_atomic_add_x2",          [ NO,  NO,  NO,  98], &GLOBAL_ATOMIC_2, add),
    global("global_atomic_sub_x2",          [ NO,  NO,  NO,  99], &GLOBAL_ATOMIC_2, sub),
    global("global_atomic_smin_x2",         [ NO,  NO,  NO, 100], &GLOBAL_ATOMIC_2, smin),
    global("global_atomic_umin_x2",         [ NO,  NO,  NO, 101], &GLOBAL_ATOMIC_2, umin),
    global("global_atomic_smax_x2",         [ NO,  NO,  NO, 102], &GLOBAL_ATOMIC_2, smax),
    global("global_atomic_umax_x2",         [ NO,  NO,  NO, 103], &GLOBAL_ATOMIC_2, umax),
    global("global_atomic_and_x2",          [ NO,  NO,  NO, 104], &GLOBAL_ATOMIC_2, and),
    global("global_atomic_or_x2",           [ NO,  NO,  NO, 105], &GLOBAL_ATOMIC_2, or),
    global("global_atomic_xor_x2",          [ NO,  NO,  NO, 106], &GLOBAL_ATOMIC_2, xor),
    global("global_atomic_inc_x2",          [ NO,  NO,  NO, 107], &GLOBAL_ATOMIC_2, inc),
    global("global_atomic_dec_x2",          [ NO,  NO,  NO, 108], &GLOBAL_ATOMIC_2, dec),
];

/// SCRATCH.
#[rustfmt::skip]
pub static SCRATCH: &[Inst] = &[
    scratch("scratch_load_ubyte",            [ NO,  NO,  NO,  16], &SCRATCH_LOAD1,    load_ubyte).errata(&["scratch-address"]),
    scratch("scratch_load_sbyte",            [ NO,  NO,  NO,  17], &SCRATCH_LOAD1,    load_sbyte).errata(&["scratch-address"]),
    scratch("scratch_load_ushort",           [ NO,  NO,  NO,  18], &SCRATCH_LOAD1,    load_ushort).errata(&["scratch-address"]),
    scratch("scratch_load_sshort",           [ NO,  NO,  NO,  19], &SCRATCH_LOAD1,    load_sshort).errata(&["scratch-address"]),
    scratch("scratch_load_dword",            [ NO,  NO,  NO,  20], &SCRATCH_LOAD1,    load).errata(&["scratch-address"]),
    scratch("scratch_load_dwordx2",          [ NO,  NO,  NO,  21], &SCRATCH_LOAD2,    load).errata(&["scratch-address"]),
    scratch("scratch_load_dwordx3",          [ NO,  NO,  NO,  22], &SCRATCH_LOAD3,    load).errata(&["scratch-address"]),
    scratch("scratch_load_dwordx4",          [ NO,  NO,  NO,  23], &SCRATCH_LOAD4,    load).errata(&["scratch-address"]),
    scratch("scratch_store_byte",            [ NO,  NO,  NO,  24], &SCRATCH_STORE1,   store_byte).errata(&["scratch-address"]),
    scratch("scratch_store_byte_d16_hi",     [ NO,  NO,  NO,  25], &SCRATCH_STORE1,   store_byte_d16_hi).errata(&["scratch-address"]),
    scratch("scratch_store_short",           [ NO,  NO,  NO,  26], &SCRATCH_STORE1,   store_short).errata(&["scratch-address"]),
    scratch("scratch_store_short_d16_hi",    [ NO,  NO,  NO,  27], &SCRATCH_STORE1,   store_short_d16_hi).errata(&["scratch-address"]),
    scratch("scratch_store_dword",           [ NO,  NO,  NO,  28], &SCRATCH_STORE1,   store).errata(&["scratch-address"]),
    scratch("scratch_store_dwordx2",         [ NO,  NO,  NO,  29], &SCRATCH_STORE2,   store).errata(&["scratch-address"]),
    scratch("scratch_store_dwordx3",         [ NO,  NO,  NO,  30], &SCRATCH_STORE3,   store).errata(&["scratch-address"]),
    scratch("scratch_store_dwordx4",         [ NO,  NO,  NO,  31], &SCRATCH_STORE4,   store).errata(&["scratch-address"]),
    scratch("scratch_load_ubyte_d16",        [ NO,  NO,  NO,  32], &SCRATCH_LOAD_D16, load_ubyte_d16).errata(&["scratch-address"]),
    scratch("scratch_load_ubyte_d16_hi",     [ NO,  NO,  NO,  33], &SCRATCH_LOAD_D16, load_ubyte_d16_hi).errata(&["scratch-address"]),
    scratch("scratch_load_sbyte_d16",        [ NO,  NO,  NO,  34], &SCRATCH_LOAD_D16, load_sbyte_d16).errata(&["scratch-address"]),
    scratch("scratch_load_sbyte_d16_hi",     [ NO,  NO,  NO,  35], &SCRATCH_LOAD_D16, load_sbyte_d16_hi).errata(&["scratch-address"]),
    scratch("scratch_load_short_d16",        [ NO,  NO,  NO,  36], &SCRATCH_LOAD_D16, load_short_d16).errata(&["scratch-address"]),
    scratch("scratch_load_short_d16_hi",     [ NO,  NO,  NO,  37], &SCRATCH_LOAD_D16, load_short_d16_hi).errata(&["scratch-address"]),
];
