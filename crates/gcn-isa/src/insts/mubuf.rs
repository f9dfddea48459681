//! MUBUF: buffer accesses of untyped data.
//!
//! The machine, not the meanings, handles TFE's status, a zero after the data, and loads to LDS. GLC and SLC select the caches
//! that may hold the data; here every access is complete and visible to all waves when its instruction is complete.

use super::memory::*;
use super::typed::*;
use crate::format::Format;
use crate::inst::{Inst, NO};
use crate::meaning::{Halves, Meaning, Signal, Space};
use crate::shape::{Access, Mods, Role, Role::*, Shape, Slot, Ty, read};
use crate::target::Features;

const fn buffer(slots: &'static [Slot]) -> Shape {
    Shape {
        slots,
        mods: Mods::Buffer,
    }
}

/// VDATA and the address operands.
macro_rules! buffer_shape {
    ($name:ident, $ty:ident, $access:ident) => {
        static $name: Shape = buffer(&[
            Slot {
                role: Vdata,
                ty: Ty::$ty,
                access: Access::$access,
            },
            read(BufAddr, Ty::B64),
            read(Srsrc, Ty::B128),
            read(Soffset, Ty::B32),
        ]);
    };
}

buffer_shape!(LOAD1, B32, Write);
buffer_shape!(LOAD2, B64, Write);
buffer_shape!(LOAD3, B96, Write);
buffer_shape!(LOAD4, B128, Write);
// A load into one half of a VGPR keeps the other half.
buffer_shape!(LOAD_D16, B32, ReadWrite);
buffer_shape!(LOAD_D16X3, B64, ReadWrite);
buffer_shape!(STORE1, B32, Read);
buffer_shape!(STORE2, B64, Read);
buffer_shape!(STORE3, B96, Read);
buffer_shape!(STORE4, B128, Read);
// VDATA is read; it is written only if GLC is set.
buffer_shape!(ATOMIC1, B32, ReadWrite);
buffer_shape!(ATOMIC2, B64, ReadWrite);
buffer_shape!(ATOMIC4, B128, ReadWrite);
static STORE_LDS: Shape = Shape {
    slots: &[read(Srsrc, Ty::B128), read(Soffset, Ty::B32)],
    mods: Mods::BufferLds,
};
static BARE: Shape = Shape {
    slots: &[],
    mods: Mods::BufferBare,
};

const fn mubuf(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Mubuf, name, opcode, shape, meaning)
}

/// The rows.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //    name                          gfx6 gfx7 gfx8 gfx9  shape      meaning
    mubuf("buffer_load_ubyte",           [  8,   8,  16,  16], &LOAD1,    load_ubyte).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_load_sbyte",           [  9,   9,  17,  17], &LOAD1,    load_sbyte).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_load_ushort",          [ 10,  10,  18,  18], &LOAD1,    load_ushort).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_load_sshort",          [ 11,  11,  19,  19], &LOAD1,    load_sshort).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_load_dword",           [ 12,  12,  20,  20], &LOAD1,    load).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_load_dwordx2",         [ 13,  13,  21,  21], &LOAD2,    load).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_load_dwordx3",         [ NO,  15,  22,  22], &LOAD3,    load).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_load_dwordx4",         [ 14,  14,  23,  23], &LOAD4,    load).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_store_byte",           [ 24,  24,  24,  24], &STORE1,   store_byte).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_store_byte_d16_hi",    [ NO,  NO,  NO,  25], &STORE1,   store_byte_d16_hi).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_store_short",          [ 26,  26,  26,  26], &STORE1,   store_short).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_store_short_d16_hi",   [ NO,  NO,  NO,  27], &STORE1,   store_short_d16_hi).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_store_dword",          [ 28,  28,  28,  28], &STORE1,   store).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_store_dwordx2",        [ 29,  29,  29,  29], &STORE2,   store).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_store_dwordx3",        [ NO,  31,  30,  30], &STORE3,   store).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_store_dwordx4",        [ 30,  30,  31,  31], &STORE4,   store).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_load_ubyte_d16",       [ NO,  NO,  NO,  32], &LOAD_D16, load_ubyte_d16).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_load_ubyte_d16_hi",    [ NO,  NO,  NO,  33], &LOAD_D16, load_ubyte_d16_hi).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_load_sbyte_d16",       [ NO,  NO,  NO,  34], &LOAD_D16, load_sbyte_d16).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_load_sbyte_d16_hi",    [ NO,  NO,  NO,  35], &LOAD_D16, load_sbyte_d16_hi).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_load_short_d16",       [ NO,  NO,  NO,  36], &LOAD_D16, load_short_d16).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_load_short_d16_hi",    [ NO,  NO,  NO,  37], &LOAD_D16, load_short_d16_hi).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_swap",          [ 48,  48,  64,  64], &ATOMIC1,  swap).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_cmpswap",       [ 49,  49,  65,  65], &ATOMIC2,  cmpswap).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_add",           [ 50,  50,  66,  66], &ATOMIC1,  add).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_sub",           [ 51,  51,  67,  67], &ATOMIC1,  sub).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_smin",          [ 53,  53,  68,  68], &ATOMIC1,  smin).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_umin",          [ 54,  54,  69,  69], &ATOMIC1,  umin).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_smax",          [ 55,  55,  70,  70], &ATOMIC1,  smax).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_umax",          [ 56,  56,  71,  71], &ATOMIC1,  umax).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_and",           [ 57,  57,  72,  72], &ATOMIC1,  and).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_or",            [ 58,  58,  73,  73], &ATOMIC1,  or).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_xor",           [ 59,  59,  74,  74], &ATOMIC1,  xor).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_inc",           [ 60,  60,  75,  75], &ATOMIC1,  inc).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_dec",           [ 61,  61,  76,  76], &ATOMIC1,  dec).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_rsub",          [ 52,  NO,  NO,  NO], &ATOMIC1,  rsub).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_swap_x2",       [ 80,  80,  96,  96], &ATOMIC2,  swap).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_cmpswap_x2",    [ 81,  81,  97,  97], &ATOMIC4,  cmpswap).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_add_x2",        [ 82,  82,  98,  98], &ATOMIC2,  add).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_sub_x2",        [ 83,  83,  99,  99], &ATOMIC2,  sub).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_smin_x2",       [ 85,  85, 100, 100], &ATOMIC2,  smin).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_umin_x2",       [ 86,  86, 101, 101], &ATOMIC2,  umin).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_smax_x2",       [ 87,  87, 102, 102], &ATOMIC2,  smax).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_umax_x2",       [ 88,  88, 103, 103], &ATOMIC2,  umax).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_and_x2",        [ 89,  89, 104, 104], &ATOMIC2,  and).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_or_x2",         [ 90,  90, 105, 105], &ATOMIC2,  or).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_xor_x2",        [ 91,  91, 106, 106], &ATOMIC2,  xor).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_inc_x2",        [ 92,  92, 107, 107], &ATOMIC2,  inc).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_dec_x2",        [ 93,  93, 108, 108], &ATOMIC2,  dec).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_rsub_x2",       [ 84,  NO,  NO,  NO], &ATOMIC2,  rsub).errata(&["buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_fcmpswap",      [ 62,  62,  NO,  NO], &ATOMIC2,  fcmpswap).errata(&["float-atomics", "buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_fmin",          [ 63,  63,  NO,  NO], &ATOMIC1,  fmin).errata(&["float-atomics", "buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_fmax",          [ 64,  64,  NO,  NO], &ATOMIC1,  fmax).errata(&["float-atomics", "buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_fcmpswap_x2",   [ 94,  94,  NO,  NO], &ATOMIC4,  fcmpswap).errata(&["float-atomics", "buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_fmin_x2",       [ 95,  95,  NO,  NO], &ATOMIC2,  fmin).errata(&["float-atomics", "buffer-range", "buffer-alignment"]),
    mubuf("buffer_atomic_fmax_x2",       [ 96,  96,  NO,  NO], &ATOMIC2,  fmax).errata(&["float-atomics", "buffer-range", "buffer-alignment"]),
    mubuf("buffer_wbinvl1_sc",           [112,  NO,  NO,  NO], &BARE,     cache),
    mubuf("buffer_wbinvl1_vol",          [ NO, 112,  NO,  NO], &BARE,     cache).clrx("buffer_wbinvl1_sc"),
    mubuf("buffer_wbinvl1_vol",          [ NO,  NO,  63,  63], &BARE,     cache),
    // LLVM's disassemblers up to version 16 decode gfx6's opcode on all generations.
    mubuf("buffer_wbinvl1",              [113, 113,  62,  62], &BARE,     cache).also_read(113),
    mubuf("buffer_load_format_x",        [  0,   0,   0,   0], &LOAD1,    load_format).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_load_format_xy",       [  1,   1,   1,   1], &LOAD2,    load_format).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_load_format_xyz",      [  2,   2,   2,   2], &LOAD3,    load_format).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_load_format_xyzw",     [  3,   3,   3,   3], &LOAD4,    load_format).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_store_format_x",       [  4,   4,   4,   4], &STORE1,   store_format).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_store_format_xy",      [  5,   5,   5,   5], &STORE2,   store_format).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_store_format_xyz",     [  6,   6,   6,   6], &STORE3,   store_format).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_store_format_xyzw",    [  7,   7,   7,   7], &STORE4,   store_format).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_load_format_d16_x",    [ NO,  NO,   8,  NO], &LOAD1,    load_format_d16::<1>).needs(Features::UNPACKED_D16).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_load_format_d16_x",    [ NO,  NO,   8,   8], &LOAD_D16, load_format_d16::<1>).needs(Features::PACKED_D16).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_load_format_d16_xy",   [ NO,  NO,   9,  NO], &LOAD2,    load_format_d16::<2>).needs(Features::UNPACKED_D16).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_load_format_d16_xy",   [ NO,  NO,   9,   9], &LOAD1,    load_format_d16::<2>).needs(Features::PACKED_D16).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_load_format_d16_xyz",  [ NO,  NO,  10,  NO], &LOAD3,    load_format_d16::<3>).needs(Features::UNPACKED_D16).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_load_format_d16_xyz",  [ NO,  NO,  10,  10], &LOAD_D16X3, load_format_d16::<3>).needs(Features::PACKED_D16).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_load_format_d16_xyzw", [ NO,  NO,  11,  NO], &LOAD4,    load_format_d16::<4>).needs(Features::UNPACKED_D16).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_load_format_d16_xyzw", [ NO,  NO,  11,  11], &LOAD2,    load_format_d16::<4>).needs(Features::PACKED_D16).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_store_format_d16_x",   [ NO,  NO,  12,  12], &STORE1,   store_format_d16::<1>).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_store_format_d16_xy",  [ NO,  NO,  13,  NO], &STORE2,   store_format_d16::<2>).needs(Features::UNPACKED_D16).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_store_format_d16_xy",  [ NO,  NO,  13,  13], &STORE1,   store_format_d16::<2>).needs(Features::PACKED_D16).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_store_format_d16_xyz", [ NO,  NO,  14,  NO], &STORE3,   store_format_d16::<3>).needs(Features::UNPACKED_D16).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_store_format_d16_xyz", [ NO,  NO,  14,  14], &STORE2,   store_format_d16::<3>).needs(Features::PACKED_D16).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_store_format_d16_xyzw", [ NO,  NO,  15,  NO], &STORE4,   store_format_d16::<4>).needs(Features::UNPACKED_D16).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_store_format_d16_xyzw", [ NO,  NO,  15,  15], &STORE2,   store_format_d16::<4>).needs(Features::PACKED_D16).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_load_format_d16_hi_x", [ NO,  NO,  NO,  38], &LOAD_D16, load_format_d16_hi).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_store_format_d16_hi_x", [ NO,  NO,  NO,  39], &STORE1,   store_format_d16_hi).errata(&["buffer-range", "buffer-alignment", "format-conversion"]),
    mubuf("buffer_store_lds_dword",      [ NO,  NO,  61,  61], &STORE_LDS, store_lds).errata(&["buffer-range", "buffer-alignment"]),
];

fn cache(m: &Meaning) {
    m.about("Writes back and invalidates the vector L1 cache: all of it, or (sc, vol) its volatile lines.");
    m.signal(Signal::Cache, m.c(Ty::B32, 0));
}

fn load_format_d16_hi(m: &Meaning) {
    m.about("Loads the first component of an element of the buffer's format, converted to 16 bits, into the destination's high half; the low half is kept.");
    let x = m.load_format(Ty::B16, m.address(), 0).zext(Ty::B32);
    m.d((m.old() & 0xffff) | (x << 16));
}

fn store_format_d16_hi(m: &Meaning) {
    m.about("Stores the first component of an element of the buffer's format, converted from the data's high half; the others are 0.");
    m.store_format(Role::Vdata, m.address(), 1, Halves::High);
}

fn store_lds(m: &Meaning) {
    m.about("Stores a dword of LDS for each lane.");
    let dword = m.lds_of_lane();
    m.store(Space::Global, m.address(), 0, dword);
}
