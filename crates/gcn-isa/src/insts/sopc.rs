//! SOPC: two scalar sources, a truth value in SCC.

use crate::format::{Field, Format};
use crate::inst::{Inst, NO};
use crate::meaning::{Meaning, State, V};
use crate::shape::{Imm as ImmKind, Role::*, Shape, Ty, imm, plain, read};

static B32: Shape = plain(&[read(Ssrc0, Ty::B32), read(Ssrc1, Ty::B32)]);
static I32: Shape = plain(&[read(Ssrc0, Ty::I32), read(Ssrc1, Ty::I32)]);
static U32: Shape = plain(&[read(Ssrc0, Ty::U32), read(Ssrc1, Ty::U32)]);
static U64: Shape = plain(&[read(Ssrc0, Ty::U64), read(Ssrc1, Ty::U64)]);
/// A 64-bit value and the number of a bit.
static B64_32: Shape = plain(&[read(Ssrc0, Ty::B64), read(Ssrc1, Ty::B32)]);
/// An index, and four bits that select the operands to which it is added.
static GPR_IDX: Shape = plain(&[read(Ssrc0, Ty::B32), imm(ImmKind::GprIdxSsrc1)]);

const fn sopc(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Sopc, name, opcode, shape, meaning)
}

/// The rows.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //   name                 gfx6 gfx7 gfx8 gfx9  shape     meaning
    sopc("s_cmp_eq_i32",     [  0,   0,   0,   0], &I32,     s_cmp_eq),
    sopc("s_cmp_lg_i32",     [  1,   1,   1,   1], &I32,     s_cmp_lg),
    sopc("s_cmp_gt_i32",     [  2,   2,   2,   2], &I32,     s_cmp_gt),
    sopc("s_cmp_ge_i32",     [  3,   3,   3,   3], &I32,     s_cmp_ge),
    sopc("s_cmp_lt_i32",     [  4,   4,   4,   4], &I32,     s_cmp_lt),
    sopc("s_cmp_le_i32",     [  5,   5,   5,   5], &I32,     s_cmp_le),
    sopc("s_cmp_eq_u32",     [  6,   6,   6,   6], &U32,     s_cmp_eq),
    sopc("s_cmp_lg_u32",     [  7,   7,   7,   7], &U32,     s_cmp_lg).errata(&["sopc-slips"]),
    sopc("s_cmp_gt_u32",     [  8,   8,   8,   8], &U32,     s_cmp_gt),
    sopc("s_cmp_ge_u32",     [  9,   9,   9,   9], &U32,     s_cmp_ge),
    sopc("s_cmp_lt_u32",     [ 10,  10,  10,  10], &U32,     s_cmp_lt),
    sopc("s_cmp_le_u32",     [ 11,  11,  11,  11], &U32,     s_cmp_le),
    sopc("s_bitcmp0_b32",    [ 12,  12,  12,  12], &B32,     s_bitcmp0),
    sopc("s_bitcmp1_b32",    [ 13,  13,  13,  13], &B32,     s_bitcmp1),
    sopc("s_bitcmp0_b64",    [ 14,  14,  14,  14], &B64_32,  s_bitcmp0),
    sopc("s_bitcmp1_b64",    [ 15,  15,  15,  15], &B64_32,  s_bitcmp1),
    sopc("s_setvskip",       [ 16,  16,  16,  16], &B32,     s_setvskip),
    sopc("s_set_gpr_idx_on", [ NO,  NO,  17,  17], &GPR_IDX, s_set_gpr_idx_on).errata(&["sopc-gpr-idx-on", "gpr-indexing"]),
    sopc("s_cmp_eq_u64",     [ NO,  NO,  18,  18], &U64,     s_cmp_eq),
    sopc("s_cmp_lg_u64",     [ NO,  NO,  19,  19], &U64,     s_cmp_lg).alias(&["s_cmp_ne_u64"]).errata(&["sopc-slips"]),
];

fn s_cmp_eq(m: &Meaning) {
    m.about("SCC says whether the sources are equal.");
    m.scc(m.s(0).eq(m.s(1)));
}

fn s_cmp_lg(m: &Meaning) {
    m.about("SCC says whether the sources differ.");
    m.scc(m.s(0).ne(m.s(1)));
}

fn s_cmp_gt(m: &Meaning) {
    m.about("SCC says whether the first source is greater than the second.");
    m.scc(m.s(0).gt(m.s(1)));
}

fn s_cmp_ge(m: &Meaning) {
    m.about("SCC says whether the first source is greater than or equal to the second.");
    m.scc(m.s(0).ge(m.s(1)));
}

fn s_cmp_lt(m: &Meaning) {
    m.about("SCC says whether the first source is less than the second.");
    m.scc(m.s(0).lt(m.s(1)));
}

fn s_cmp_le(m: &Meaning) {
    m.about("SCC says whether the first source is less than or equal to the second.");
    m.scc(m.s(0).le(m.s(1)));
}

/// The bit of the first source whose number is the second source, modulo the width.
fn chosen_bit(m: &Meaning) -> V<'_> {
    let last = m.s(0).ty.bits() as u64 - 1;
    (m.s(0) >> (m.s(1) & last)).trunc(Ty::Bool)
}

fn s_bitcmp0(m: &Meaning) {
    m.about("SCC says whether a bit of the first source is 0. The second source, modulo the width, is the bit's number.");
    m.scc(!chosen_bit(m));
}

fn s_bitcmp1(m: &Meaning) {
    m.about("SCC says whether a bit of the first source is 1. The second source, modulo the width, is the bit's number.");
    m.scc(chosen_bit(m));
}

fn s_setvskip(m: &Meaning) {
    m.about("Copies a bit of the first source to MODE.VSKIP. The second source, modulo 32, is the bit's number. While VSKIP is 1, vector instructions are skipped. SCC is kept.");
    m.set(State::Vskip, chosen_bit(m));
}

fn s_set_gpr_idx_on(m: &Meaning) {
    m.about("Turns VGPR indexing on: MODE.GPR_IDX_EN is set, M0[7:0] takes the index from the first source and M0[15:12] the four bits of the second: SRC0, SRC1, SRC2, DST. SCC is kept.");
    m.set(State::GprIdxEn, m.c(Ty::Bool, 1));
    let which = (m.field(Field::Ssrc1) & 15) << 12;
    let kept = m.get(State::M0) & 0xffff_0f00;
    m.set(State::M0, kept | which.as_(Ty::B32) | (m.s(0) & 0xff));
}
