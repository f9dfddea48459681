//! SMEM (SMRD on gfx6 and gfx7): scalar memory.

use super::common::BARE;
use super::memory::*;
use crate::format::Format;
use crate::inst::{Inst, NO};
use crate::meaning::{Meaning, Signal, State};
use crate::shape::{Imm, Mods, Role::*, Shape, Slot, Ty, imm, plain, read, write};

const fn smem_shape(slots: &'static [Slot]) -> Shape {
    Shape {
        slots,
        mods: Mods::Smem,
    }
}

/// Scratch: an offset in an SGPR counts 64 bytes.
const fn scratch_shape(slots: &'static [Slot]) -> Shape {
    Shape {
        slots,
        mods: Mods::SmemScratch,
    }
}

static SLOAD1: Shape = scratch_shape(LOAD1.slots);
static SLOAD2: Shape = scratch_shape(LOAD2.slots);
static SLOAD4: Shape = scratch_shape(LOAD4.slots);
static SSTORE1: Shape = scratch_shape(STORE1.slots);
static SSTORE2: Shape = scratch_shape(STORE2.slots);
static SSTORE4: Shape = scratch_shape(STORE4.slots);
/// Loads relative to a 64-bit base.
static LOAD1: Shape = smem_shape(&[
    write(Sdata, Ty::B32),
    read(Sbase, Ty::B64),
    read(Soff, Ty::B32),
]);
static LOAD2: Shape = smem_shape(&[
    write(Sdata, Ty::B64),
    read(Sbase, Ty::B64),
    read(Soff, Ty::B32),
]);
static LOAD4: Shape = smem_shape(&[
    write(Sdata, Ty::B128),
    read(Sbase, Ty::B64),
    read(Soff, Ty::B32),
]);
static LOAD8: Shape = smem_shape(&[
    write(Sdata, Ty::B256),
    read(Sbase, Ty::B64),
    read(Soff, Ty::B32),
]);
static LOAD16: Shape = smem_shape(&[
    write(Sdata, Ty::B512),
    read(Sbase, Ty::B64),
    read(Soff, Ty::B32),
]);
/// Loads through a buffer resource.
static BLOAD1: Shape = smem_shape(&[
    write(Sdata, Ty::B32),
    read(Sbase, Ty::B128),
    read(Soff, Ty::B32),
]);
static BLOAD2: Shape = smem_shape(&[
    write(Sdata, Ty::B64),
    read(Sbase, Ty::B128),
    read(Soff, Ty::B32),
]);
static BLOAD4: Shape = smem_shape(&[
    write(Sdata, Ty::B128),
    read(Sbase, Ty::B128),
    read(Soff, Ty::B32),
]);
static BLOAD8: Shape = smem_shape(&[
    write(Sdata, Ty::B256),
    read(Sbase, Ty::B128),
    read(Soff, Ty::B32),
]);
static BLOAD16: Shape = smem_shape(&[
    write(Sdata, Ty::B512),
    read(Sbase, Ty::B128),
    read(Soff, Ty::B32),
]);
static STORE1: Shape = smem_shape(&[
    read(Sdata, Ty::B32),
    read(Sbase, Ty::B64),
    read(Soff, Ty::B32),
]);
static STORE2: Shape = smem_shape(&[
    read(Sdata, Ty::B64),
    read(Sbase, Ty::B64),
    read(Soff, Ty::B32),
]);
static STORE4: Shape = smem_shape(&[
    read(Sdata, Ty::B128),
    read(Sbase, Ty::B64),
    read(Soff, Ty::B32),
]);
static BSTORE1: Shape = smem_shape(&[
    read(Sdata, Ty::B32),
    read(Sbase, Ty::B128),
    read(Soff, Ty::B32),
]);
static BSTORE2: Shape = smem_shape(&[
    read(Sdata, Ty::B64),
    read(Sbase, Ty::B128),
    read(Soff, Ty::B32),
]);
static BSTORE4: Shape = smem_shape(&[
    read(Sdata, Ty::B128),
    read(Sbase, Ty::B128),
    read(Soff, Ty::B32),
]);
/// Atomics: SDATA is read, and written with the old value if GLC is set.
static ATOMIC1: Shape = smem_shape(&[
    write(Sdata, Ty::B32).read_too(),
    read(Sbase, Ty::B64),
    read(Soff, Ty::B32),
]);
static ATOMIC2: Shape = smem_shape(&[
    write(Sdata, Ty::B64).read_too(),
    read(Sbase, Ty::B64),
    read(Soff, Ty::B32),
]);
static ATOMIC4: Shape = smem_shape(&[
    write(Sdata, Ty::B128).read_too(),
    read(Sbase, Ty::B64),
    read(Soff, Ty::B32),
]);
static BATOMIC1: Shape = smem_shape(&[
    write(Sdata, Ty::B32).read_too(),
    read(Sbase, Ty::B128),
    read(Soff, Ty::B32),
]);
static BATOMIC2: Shape = smem_shape(&[
    write(Sdata, Ty::B64).read_too(),
    read(Sbase, Ty::B128),
    read(Soff, Ty::B32),
]);
static BATOMIC4: Shape = smem_shape(&[
    write(Sdata, Ty::B128).read_too(),
    read(Sbase, Ty::B128),
    read(Soff, Ty::B32),
]);
static TIME: Shape = plain(&[write(Sdata, Ty::B64)]);
static PROBE: Shape = smem_shape(&[imm(Imm::Sdata), read(Sbase, Ty::B64), read(Soff, Ty::B32)]);
static BPROBE: Shape = smem_shape(&[imm(Imm::Sdata), read(Sbase, Ty::B128), read(Soff, Ty::B32)]);
static DISCARD: Shape = smem_shape(&[read(Sbase, Ty::B64), read(Soff, Ty::B32)]);

const fn smem(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Smem, name, opcode, shape, meaning)
}

/// The rows.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //   name                         gfx6 gfx7 gfx8 gfx9  shape    meaning
    smem("s_load_dword",             [  0,   0,   0,   0], &LOAD1,   load).errata(&["smem-offset"]),
    smem("s_load_dwordx2",           [  1,   1,   1,   1], &LOAD2,   load).errata(&["smem-offset"]),
    smem("s_load_dwordx4",           [  2,   2,   2,   2], &LOAD4,   load).errata(&["smem-offset"]),
    smem("s_load_dwordx8",           [  3,   3,   3,   3], &LOAD8,   load).errata(&["smem-offset"]),
    smem("s_load_dwordx16",          [  4,   4,   4,   4], &LOAD16,  load).errata(&["smem-offset"]),
    smem("s_scratch_load_dword",     [ NO,  NO,  NO,   5], &SLOAD1,  scratch_load).errata(&["smem-scratch"]),
    smem("s_scratch_load_dwordx2",   [ NO,  NO,  NO,   6], &SLOAD2,  scratch_load).errata(&["smem-scratch"]),
    smem("s_scratch_load_dwordx4",   [ NO,  NO,  NO,   7], &SLOAD4,  scratch_load).errata(&["smem-scratch"]),
    smem("s_buffer_load_dword",      [  8,   8,   8,   8], &BLOAD1,  load).errata(&["smem-offset"]),
    smem("s_buffer_load_dwordx2",    [  9,   9,   9,   9], &BLOAD2,  load).errata(&["smem-offset"]),
    smem("s_buffer_load_dwordx4",    [ 10,  10,  10,  10], &BLOAD4,  load).errata(&["smem-offset"]),
    smem("s_buffer_load_dwordx8",    [ 11,  11,  11,  11], &BLOAD8,  load).errata(&["smem-offset"]),
    smem("s_buffer_load_dwordx16",   [ 12,  12,  12,  12], &BLOAD16, load).errata(&["smem-offset"]),
    smem("s_store_dword",            [ NO,  NO,  16,  16], &STORE1,  store).errata(&["smem-offset"]),
    smem("s_store_dwordx2",          [ NO,  NO,  17,  17], &STORE2,  store).errata(&["smem-offset"]),
    smem("s_store_dwordx4",          [ NO,  NO,  18,  18], &STORE4,  store).errata(&["smem-offset"]),
    smem("s_scratch_store_dword",    [ NO,  NO,  NO,  21], &SSTORE1, scratch_store).errata(&["smem-scratch"]),
    smem("s_scratch_store_dwordx2",  [ NO,  NO,  NO,  22], &SSTORE2, scratch_store).errata(&["smem-scratch"]),
    smem("s_scratch_store_dwordx4",  [ NO,  NO,  NO,  23], &SSTORE4, scratch_store).errata(&["smem-scratch"]),
    smem("s_buffer_store_dword",     [ NO,  NO,  24,  24], &BSTORE1, store).errata(&["smem-offset"]),
    smem("s_buffer_store_dwordx2",   [ NO,  NO,  25,  25], &BSTORE2, store).errata(&["smem-offset"]),
    smem("s_buffer_store_dwordx4",   [ NO,  NO,  26,  26], &BSTORE4, store).errata(&["smem-offset"]),
    smem("s_dcache_inv",             [ 31,  31,  32,  32], &BARE,    s_dcache),
    smem("s_dcache_wb",              [ NO,  NO,  33,  33], &BARE,    s_dcache),
    smem("s_dcache_inv_vol",         [ NO,  29,  34,  34], &BARE,    s_dcache),
    smem("s_dcache_wb_vol",          [ NO,  NO,  35,  35], &BARE,    s_dcache),
    smem("s_memtime",                [ 30,  30,  36,  36], &TIME,    s_memtime).errata(&["clock"]),
    smem("s_memrealtime",            [ NO,  NO,  37,  37], &TIME,    s_memrealtime).errata(&["clock"]),
    smem("s_atc_probe",              [ NO,  NO,  38,  38], &PROBE,   s_atc_probe),
    smem("s_atc_probe_buffer",       [ NO,  NO,  39,  39], &BPROBE,  s_atc_probe),
    smem("s_dcache_discard",         [ NO,  NO,  NO,  40], &DISCARD, s_dcache_discard),
    smem("s_dcache_discard_x2",      [ NO,  NO,  NO,  41], &DISCARD, s_dcache_discard),
    smem("s_buffer_atomic_swap",     [ NO,  NO,  NO,  64], &BATOMIC1, swap).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_cmpswap",  [ NO,  NO,  NO,  65], &BATOMIC2, cmpswap).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_add",      [ NO,  NO,  NO,  66], &BATOMIC1, add).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_sub",      [ NO,  NO,  NO,  67], &BATOMIC1, sub).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_smin",     [ NO,  NO,  NO,  68], &BATOMIC1, smin).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_umin",     [ NO,  NO,  NO,  69], &BATOMIC1, umin).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_smax",     [ NO,  NO,  NO,  70], &BATOMIC1, smax).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_umax",     [ NO,  NO,  NO,  71], &BATOMIC1, umax).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_and",      [ NO,  NO,  NO,  72], &BATOMIC1, and).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_or",       [ NO,  NO,  NO,  73], &BATOMIC1, or).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_xor",      [ NO,  NO,  NO,  74], &BATOMIC1, xor).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_inc",      [ NO,  NO,  NO,  75], &BATOMIC1, inc).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_dec",      [ NO,  NO,  NO,  76], &BATOMIC1, dec).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_swap_x2",  [ NO,  NO,  NO,  96], &BATOMIC2, swap).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_cmpswap_x2", [ NO,  NO,  NO,  97], &BATOMIC4, cmpswap).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_add_x2",   [ NO,  NO,  NO,  98], &BATOMIC2, add).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_sub_x2",   [ NO,  NO,  NO,  99], &BATOMIC2, sub).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_smin_x2",  [ NO,  NO,  NO, 100], &BATOMIC2, smin).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_umin_x2",  [ NO,  NO,  NO, 101], &BATOMIC2, umin).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_smax_x2",  [ NO,  NO,  NO, 102], &BATOMIC2, smax).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_umax_x2",  [ NO,  NO,  NO, 103], &BATOMIC2, umax).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_and_x2",   [ NO,  NO,  NO, 104], &BATOMIC2, and).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_or_x2",    [ NO,  NO,  NO, 105], &BATOMIC2, or).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_xor_x2",   [ NO,  NO,  NO, 106], &BATOMIC2, xor).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_inc_x2",   [ NO,  NO,  NO, 107], &BATOMIC2, inc).errata(&["smem-buffer-atomics"]),
    smem("s_buffer_atomic_dec_x2",   [ NO,  NO,  NO, 108], &BATOMIC2, dec).errata(&["smem-buffer-atomics"]),
    smem("s_atomic_swap",            [ NO,  NO,  NO, 128], &ATOMIC1, swap).errata(&["smem-offset"]),
    smem("s_atomic_cmpswap",         [ NO,  NO,  NO, 129], &ATOMIC2, cmpswap).errata(&["smem-offset"]),
    smem("s_atomic_add",             [ NO,  NO,  NO, 130], &ATOMIC1, add).errata(&["smem-offset"]),
    smem("s_atomic_sub",             [ NO,  NO,  NO, 131], &ATOMIC1, sub).errata(&["smem-offset"]),
    smem("s_atomic_smin",            [ NO,  NO,  NO, 132], &ATOMIC1, smin).errata(&["smem-offset"]),
    smem("s_atomic_umin",            [ NO,  NO,  NO, 133], &ATOMIC1, umin).errata(&["smem-offset"]),
    smem("s_atomic_smax",            [ NO,  NO,  NO, 134], &ATOMIC1, smax).errata(&["smem-offset"]),
    smem("s_atomic_umax",            [ NO,  NO,  NO, 135], &ATOMIC1, umax).errata(&["smem-offset"]),
    smem("s_atomic_and",             [ NO,  NO,  NO, 136], &ATOMIC1, and).errata(&["smem-offset"]),
    smem("s_atomic_or",              [ NO,  NO,  NO, 137], &ATOMIC1, or).errata(&["smem-offset"]),
    smem("s_atomic_xor",             [ NO,  NO,  NO, 138], &ATOMIC1, xor).errata(&["smem-offset"]),
    smem("s_atomic_inc",             [ NO,  NO,  NO, 139], &ATOMIC1, inc).errata(&["smem-offset"]),
    smem("s_atomic_dec",             [ NO,  NO,  NO, 140], &ATOMIC1, dec).errata(&["smem-offset"]),
    smem("s_atomic_swap_x2",         [ NO,  NO,  NO, 160], &ATOMIC2, swap).errata(&["smem-offset"]),
    smem("s_atomic_cmpswap_x2",      [ NO,  NO,  NO, 161], &ATOMIC4, cmpswap).errata(&["smem-offset"]),
    smem("s_atomic_add_x2",          [ NO,  NO,  NO, 162], &ATOMIC2, add).errata(&["smem-offset"]),
    smem("s_atomic_sub_x2",          [ NO,  NO,  NO, 163], &ATOMIC2, sub).errata(&["smem-offset"]),
    smem("s_atomic_smin_x2",         [ NO,  NO,  NO, 164], &ATOMIC2, smin).errata(&["smem-offset"]),
    smem("s_atomic_umin_x2",         [ NO,  NO,  NO, 165], &ATOMIC2, umin).errata(&["smem-offset"]),
    smem("s_atomic_smax_x2",         [ NO,  NO,  NO, 166], &ATOMIC2, smax).errata(&["smem-offset"]),
    smem("s_atomic_umax_x2",         [ NO,  NO,  NO, 167], &ATOMIC2, umax).errata(&["smem-offset"]),
    smem("s_atomic_and_x2",          [ NO,  NO,  NO, 168], &ATOMIC2, and).errata(&["smem-offset"]),
    smem("s_atomic_or_x2",           [ NO,  NO,  NO, 169], &ATOMIC2, or).errata(&["smem-offset"]),
    smem("s_atomic_xor_x2",          [ NO,  NO,  NO, 170], &ATOMIC2, xor).errata(&["smem-offset"]),
    smem("s_atomic_inc_x2",          [ NO,  NO,  NO, 171], &ATOMIC2, inc).errata(&["smem-offset"]),
    smem("s_atomic_dec_x2",          [ NO,  NO,  NO, 172], &ATOMIC2, dec).errata(&["smem-offset"]),
];

fn s_dcache(m: &Meaning) {
    m.about("Invalidates (inv) or writes back (wb) the scalar data cache; vol: only its volatile lines.");
    m.signal(Signal::Cache, m.c(Ty::B32, 0));
}

fn s_dcache_discard(m: &Meaning) {
    m.about("Discards one (x2: two) of the scalar data cache's dirty lines of 64 bytes.");
    m.signal(Signal::Cache, m.c(Ty::B32, 0));
}

fn s_memtime(m: &Meaning) {
    m.about("The 64-bit counter of the core's clock.");
    m.d(m.get(State::Time));
}

fn s_memrealtime(m: &Meaning) {
    m.about("The 64-bit real-time counter, of constant frequency.");
    m.d(m.get(State::RealTime));
}

fn scratch_load(m: &Meaning) {
    load(m);
    m.about("Loads consecutive dwords at the base plus the offset, which counts bytes as an immediate and 64 bytes in an SGPR.");
}

fn scratch_store(m: &Meaning) {
    store(m);
    m.about("Stores consecutive dwords at the base plus the offset, which counts bytes as an immediate and 64 bytes in an SGPR.");
}

fn s_atc_probe(m: &Meaning) {
    m.about("Requests the translation of an address before its use. The number says for which kind of access. Memory is neither read nor written, and no register is.");
    m.signal(Signal::Cache, m.c(Ty::B32, 0));
}
