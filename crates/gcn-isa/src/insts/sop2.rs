//! SOP2: two scalar sources, one scalar destination.

use super::common::{bit_field, fork};
use crate::format::Format;
use crate::inst::{Flags, Inst, NO};
use crate::meaning::{Meaning, State};
use crate::shape::{Role::*, Shape, Ty, plain, read, write};

static B32: Shape = plain(&[
    write(Sdst, Ty::B32),
    read(Ssrc0, Ty::B32),
    read(Ssrc1, Ty::B32),
]);
static U32: Shape = plain(&[
    write(Sdst, Ty::U32),
    read(Ssrc0, Ty::U32),
    read(Ssrc1, Ty::U32),
]);
static I32: Shape = plain(&[
    write(Sdst, Ty::I32),
    read(Ssrc0, Ty::I32),
    read(Ssrc1, Ty::I32),
]);
static B64: Shape = plain(&[
    write(Sdst, Ty::B64),
    read(Ssrc0, Ty::B64),
    read(Ssrc1, Ty::B64),
]);
/// A 64-bit value and a 32-bit count or field.
static B64_32: Shape = plain(&[
    write(Sdst, Ty::B64),
    read(Ssrc0, Ty::B64),
    read(Ssrc1, Ty::U32),
]);
static U64_32: Shape = plain(&[
    write(Sdst, Ty::U64),
    read(Ssrc0, Ty::U64),
    read(Ssrc1, Ty::U32),
]);
static I64_32: Shape = plain(&[
    write(Sdst, Ty::I64),
    read(Ssrc0, Ty::I64),
    read(Ssrc1, Ty::U32),
]);
static I32_32: Shape = plain(&[
    write(Sdst, Ty::I32),
    read(Ssrc0, Ty::I32),
    read(Ssrc1, Ty::U32),
]);
/// A 64-bit mask from two 32-bit numbers.
static BFM64: Shape = plain(&[
    write(Sdst, Ty::B64),
    read(Ssrc0, Ty::B32),
    read(Ssrc1, Ty::B32),
]);
static FORK: Shape = plain(&[read(Ssrc0, Ty::B64), read(Ssrc1, Ty::B64)]);
static RFE: Shape = plain(&[read(Ssrc0, Ty::B64), read(Ssrc1, Ty::B32)]);

const fn sop2(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Sop2, name, opcode, shape, meaning)
}

/// The rows.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //   name                  gfx6 gfx7 gfx8 gfx9  shape    meaning
    sop2("s_add_u32",         [  0,   0,   0,   0], &U32,    s_add_u32),
    sop2("s_sub_u32",         [  1,   1,   1,   1], &U32,    s_sub_u32),
    sop2("s_add_i32",         [  2,   2,   2,   2], &I32,    s_add_i32),
    sop2("s_sub_i32",         [  3,   3,   3,   3], &I32,    s_sub_i32).errata(&["sop2-sub-i32-scc"]),
    sop2("s_addc_u32",        [  4,   4,   4,   4], &U32,    s_addc_u32),
    sop2("s_subb_u32",        [  5,   5,   5,   5], &U32,    s_subb_u32),
    sop2("s_min_i32",         [  6,   6,   6,   6], &I32,    s_min),
    sop2("s_min_u32",         [  7,   7,   7,   7], &U32,    s_min),
    sop2("s_max_i32",         [  8,   8,   8,   8], &I32,    s_max).errata(&["sop2-max-scc", "sop2-slips"]),
    sop2("s_max_u32",         [  9,   9,   9,   9], &U32,    s_max).errata(&["sop2-max-scc"]),
    sop2("s_cselect_b32",     [ 10,  10,  10,  10], &B32,    s_cselect),
    sop2("s_cselect_b64",     [ 11,  11,  11,  11], &B64,    s_cselect).errata(&["sop2-slips"]),
    sop2("s_and_b32",         [ 14,  14,  12,  12], &B32,    s_and),
    sop2("s_and_b64",         [ 15,  15,  13,  13], &B64,    s_and),
    sop2("s_or_b32",          [ 16,  16,  14,  14], &B32,    s_or),
    sop2("s_or_b64",          [ 17,  17,  15,  15], &B64,    s_or),
    sop2("s_xor_b32",         [ 18,  18,  16,  16], &B32,    s_xor),
    sop2("s_xor_b64",         [ 19,  19,  17,  17], &B64,    s_xor),
    sop2("s_andn2_b32",       [ 20,  20,  18,  18], &B32,    s_andn2),
    sop2("s_andn2_b64",       [ 21,  21,  19,  19], &B64,    s_andn2),
    sop2("s_orn2_b32",        [ 22,  22,  20,  20], &B32,    s_orn2),
    sop2("s_orn2_b64",        [ 23,  23,  21,  21], &B64,    s_orn2),
    sop2("s_nand_b32",        [ 24,  24,  22,  22], &B32,    s_nand),
    sop2("s_nand_b64",        [ 25,  25,  23,  23], &B64,    s_nand),
    sop2("s_nor_b32",         [ 26,  26,  24,  24], &B32,    s_nor),
    sop2("s_nor_b64",         [ 27,  27,  25,  25], &B64,    s_nor),
    sop2("s_xnor_b32",        [ 28,  28,  26,  26], &B32,    s_xnor),
    sop2("s_xnor_b64",        [ 29,  29,  27,  27], &B64,    s_xnor),
    sop2("s_lshl_b32",        [ 30,  30,  28,  28], &B32,    s_lshl),
    sop2("s_lshl_b64",        [ 31,  31,  29,  29], &B64_32, s_lshl),
    sop2("s_lshr_b32",        [ 32,  32,  30,  30], &B32,    s_shr),
    sop2("s_lshr_b64",        [ 33,  33,  31,  31], &B64_32, s_shr),
    sop2("s_ashr_i32",        [ 34,  34,  32,  32], &I32_32, s_shr),
    sop2("s_ashr_i64",        [ 35,  35,  33,  33], &I64_32, s_shr),
    sop2("s_bfm_b32",         [ 36,  36,  34,  34], &B32,    s_bfm),
    sop2("s_bfm_b64",         [ 37,  37,  35,  35], &BFM64,  s_bfm),
    sop2("s_mul_i32",         [ 38,  38,  36,  36], &I32,    s_mul_i32),
    sop2("s_bfe_u32",         [ 39,  39,  37,  37], &U32,    s_bfe).errata(&["sop2-bfe"]),
    sop2("s_bfe_i32",         [ 40,  40,  38,  38], &I32_32, s_bfe).errata(&["sop2-bfe"]),
    sop2("s_bfe_u64",         [ 41,  41,  39,  39], &U64_32, s_bfe).errata(&["sop2-bfe"]),
    sop2("s_bfe_i64",         [ 42,  42,  40,  40], &I64_32, s_bfe).errata(&["sop2-bfe"]),
    sop2("s_cbranch_g_fork",  [ 43,  43,  41,  41], &FORK,   s_cbranch_g_fork).flag(Flags::NO_LITERAL).errata(&["sop2-fork"]),
    sop2("s_absdiff_i32",     [ 44,  44,  42,  42], &I32,    s_absdiff_i32).errata(&["sop2-absdiff"]),
    sop2("s_rfe_restore_b64", [ NO,  NO,  43,  43], &RFE,    s_rfe_restore_b64).errata(&["sop2-rfe-restore"]),
    sop2("s_mul_hi_u32",      [ NO,  NO,  NO,  44], &U32,    s_mul_hi),
    sop2("s_mul_hi_i32",      [ NO,  NO,  NO,  45], &I32,    s_mul_hi).errata(&["sop2-mul-hi"]),
    sop2("s_lshl1_add_u32",   [ NO,  NO,  NO,  46], &U32,    s_lshl1_add).errata(&["sop2-lshl-add"]),
    sop2("s_lshl2_add_u32",   [ NO,  NO,  NO,  47], &U32,    s_lshl2_add).errata(&["sop2-lshl-add"]),
    sop2("s_lshl3_add_u32",   [ NO,  NO,  NO,  48], &U32,    s_lshl3_add).errata(&["sop2-lshl-add"]),
    sop2("s_lshl4_add_u32",   [ NO,  NO,  NO,  49], &U32,    s_lshl4_add).errata(&["sop2-lshl-add"]),
    sop2("s_pack_ll_b32_b16", [ NO,  NO,  NO,  50], &B32,    s_pack_ll),
    sop2("s_pack_lh_b32_b16", [ NO,  NO,  NO,  51], &B32,    s_pack_lh),
    sop2("s_pack_hh_b32_b16", [ NO,  NO,  NO,  52], &B32,    s_pack_hh),
];

fn s_add_u32(m: &Meaning) {
    m.about("Adds. SCC is the carry out.");
    let sum = m.s(0).zext(Ty::U64) + m.s(1).zext(Ty::U64);
    m.d(sum.trunc(Ty::U32));
    m.scc_nonzero(sum >> 32);
}

fn s_sub_u32(m: &Meaning) {
    m.about("Subtracts the second source from the first. SCC is the borrow.");
    m.d(m.s(0) - m.s(1));
    m.scc(m.s(0).lt(m.s(1)));
}

fn s_add_i32(m: &Meaning) {
    m.about("Adds. SCC says whether the signed sum overflowed.");
    let (a, b) = (m.s(0), m.s(1));
    let sum = a + b;
    m.d(sum);
    m.scc(((a ^ sum) & (b ^ sum)).lt(m.c(Ty::I32, 0)));
}

fn s_sub_i32(m: &Meaning) {
    m.about("Subtracts the second source from the first. SCC says whether the signed difference overflowed.");
    let (a, b) = (m.s(0), m.s(1));
    let difference = a - b;
    m.d(difference);
    m.scc(((a ^ b) & (a ^ difference)).lt(m.c(Ty::I32, 0)));
}

fn s_addc_u32(m: &Meaning) {
    m.about("Adds the sources and SCC. SCC is the carry out.");
    let sum = m.s(0).zext(Ty::U64) + m.s(1).zext(Ty::U64) + m.get(State::Scc).zext(Ty::U64);
    m.d(sum.trunc(Ty::U32));
    m.scc_nonzero(sum >> 32);
}

fn s_subb_u32(m: &Meaning) {
    m.about("Subtracts the second source and SCC from the first. SCC is the borrow.");
    let difference = m.s(0).zext(Ty::U64) - m.s(1).zext(Ty::U64) - m.get(State::Scc).zext(Ty::U64);
    m.d(difference.trunc(Ty::U32));
    m.scc_nonzero(difference >> 32);
}

fn s_min(m: &Meaning) {
    m.about("The smaller source. SCC says whether it is the first, 0 where both are equal.");
    m.d(m.s(0).min(m.s(1)));
    m.scc(m.s(0).lt(m.s(1)));
}

fn s_max(m: &Meaning) {
    m.about("The larger source. SCC says whether it is the first, 0 where both are equal.");
    m.d(m.s(0).max(m.s(1)));
    m.scc(m.s(0).gt(m.s(1)));
}

fn s_cselect(m: &Meaning) {
    m.about("The first source where SCC is 1, else the second.");
    m.d(m.get(State::Scc).select(m.s(0), m.s(1)));
}

fn s_and(m: &Meaning) {
    m.about("Bitwise AND. SCC says whether the result is not zero.");
    let d = m.s(0) & m.s(1);
    m.d(d);
    m.scc_nonzero(d);
}

fn s_or(m: &Meaning) {
    m.about("Bitwise OR. SCC says whether the result is not zero.");
    let d = m.s(0) | m.s(1);
    m.d(d);
    m.scc_nonzero(d);
}

fn s_xor(m: &Meaning) {
    m.about("Bitwise XOR. SCC says whether the result is not zero.");
    let d = m.s(0) ^ m.s(1);
    m.d(d);
    m.scc_nonzero(d);
}

fn s_andn2(m: &Meaning) {
    m.about(
        "Bitwise AND with the second source inverted. SCC says whether the result is not zero.",
    );
    let d = m.s(0) & !m.s(1);
    m.d(d);
    m.scc_nonzero(d);
}

fn s_orn2(m: &Meaning) {
    m.about("Bitwise OR with the second source inverted. SCC says whether the result is not zero.");
    let d = m.s(0) | !m.s(1);
    m.d(d);
    m.scc_nonzero(d);
}

fn s_nand(m: &Meaning) {
    m.about("Bitwise NAND. SCC says whether the result is not zero.");
    let d = !(m.s(0) & m.s(1));
    m.d(d);
    m.scc_nonzero(d);
}

fn s_nor(m: &Meaning) {
    m.about("Bitwise NOR. SCC says whether the result is not zero.");
    let d = !(m.s(0) | m.s(1));
    m.d(d);
    m.scc_nonzero(d);
}

fn s_xnor(m: &Meaning) {
    m.about("Bitwise XNOR. SCC says whether the result is not zero.");
    let d = !(m.s(0) ^ m.s(1));
    m.d(d);
    m.scc_nonzero(d);
}

fn s_lshl(m: &Meaning) {
    m.about("Shifts the first source left by the second, modulo the width. SCC says whether the result is not zero.");
    let d = m.s(0) << (m.s(1) & (m.s(0).ty.bits() as u64 - 1));
    m.d(d);
    m.scc_nonzero(d);
}

fn s_shr(m: &Meaning) {
    m.about("Shifts the first source right by the second, modulo the width; a signed type keeps its sign. SCC says whether the result is not zero.");
    let d = m.s(0) >> (m.s(1) & (m.s(0).ty.bits() as u64 - 1));
    m.d(d);
    m.scc_nonzero(d);
}

fn s_bfm(m: &Meaning) {
    m.about("A mask of ones, shifted left. The first source is the number of ones, the second the shift, both modulo the width. SCC is kept.");
    let ty = m.row().shape.slots[0].ty;
    let last = ty.bits() as u64 - 1;
    let ones = (m.c(ty, 1) << (m.s(0) & last)) - 1;
    m.d(ones << (m.s(1) & last));
}

fn s_mul_i32(m: &Meaning) {
    m.about("The low half of the product. SCC is kept.");
    m.d(m.s(0) * m.s(1));
}

fn s_bfe(m: &Meaning) {
    m.about("Extracts bits of the first source, zero- or sign-extended as the type says. The second source's low bits are the offset, its bits 22:16 the length. Length 0 gives 0. SCC says whether the result is not zero.");
    let d = bit_field(m, m.s(0), m.s(1).as_(Ty::U32));
    m.d(d);
    m.scc_nonzero(d);
}

fn s_cbranch_g_fork(m: &Meaning) {
    m.about("Forks: lanes whose bit in the first source is set jump to the address in the second, the others continue. The smaller part runs first; the other part's EXEC and address are pushed onto the control stack, SGPRs 4*CSP to 4*CSP+3.");
    fork(m, m.s(0), m.s(1));
}

fn s_absdiff_i32(m: &Meaning) {
    m.about("The magnitude of the difference, modulo 2^32. SCC says whether it is not zero.");
    let d = (m.s(0) - m.s(1)).abs();
    m.d(d);
    m.scc_nonzero(d);
}

fn s_rfe_restore_b64(m: &Meaning) {
    m.about("Returns from the trap handler to the address in the first source: STATUS.PRIV is cleared and STATUS.INST_ATC takes bit 0 of the second source.");
    m.set(State::Pc, m.s(0) & !3u64);
    m.set(State::Priv, m.c(Ty::Bool, 0));
    m.set(State::InstAtc, m.s(1).trunc(Ty::Bool));
}

fn s_mul_hi(m: &Meaning) {
    m.about("The high half of the 64-bit product. SCC is kept.");
    m.d(m.s(0).mul_hi(m.s(1)));
}

fn lshl_add(m: &Meaning, shift: u64) {
    m.about("Shifts the first source left by the number in the name and adds the second. SCC says whether the 64-bit sum exceeds 32 bits.");
    let sum = (m.s(0).zext(Ty::U64) << shift) + m.s(1).zext(Ty::U64);
    m.d(sum.trunc(Ty::U32));
    m.scc_nonzero(sum >> 32);
}

fn s_lshl1_add(m: &Meaning) {
    lshl_add(m, 1);
}

fn s_lshl2_add(m: &Meaning) {
    lshl_add(m, 2);
}

fn s_lshl3_add(m: &Meaning) {
    lshl_add(m, 3);
}

fn s_lshl4_add(m: &Meaning) {
    lshl_add(m, 4);
}

fn s_pack_ll(m: &Meaning) {
    m.about(
        "Low half: the first source's low half. High half: the second's low half. SCC is kept.",
    );
    m.d((m.s(0) & 0xffff) | (m.s(1) << 16));
}

fn s_pack_lh(m: &Meaning) {
    m.about(
        "Low half: the first source's low half. High half: the second's high half. SCC is kept.",
    );
    m.d((m.s(0) & 0xffff) | (m.s(1) & 0xffff_0000));
}

fn s_pack_hh(m: &Meaning) {
    m.about(
        "Low half: the first source's high half. High half: the second's high half. SCC is kept.",
    );
    m.d((m.s(0) >> 16) | (m.s(1) & 0xffff_0000));
}
