//! SOPK: a scalar register and a SIMM16.

use super::common::fork;
use crate::format::Format;
use crate::inst::{Inst, NO};
use crate::meaning::{Meaning, State};
use crate::shape::{Imm as ImmKind, Role::*, Shape, Ty, imm, plain, read, write};

static MOVE: Shape = plain(&[write(Sdst, Ty::I32), imm(ImmKind::Hex16)]);
static ARITHMETIC: Shape = plain(&[write(Sdst, Ty::I32).read_too(), imm(ImmKind::Hex16)]);
static COMPARE_I32: Shape = plain(&[read(SsrcK, Ty::I32), imm(ImmKind::Hex16)]);
static COMPARE_U32: Shape = plain(&[read(SsrcK, Ty::U32), imm(ImmKind::Hex16)]);
static FORK: Shape = plain(&[read(SsrcK, Ty::B64), imm(ImmKind::Branch)]);
static CALL: Shape = plain(&[write(Sdst, Ty::B64), imm(ImmKind::Branch)]);
static GETREG: Shape = plain(&[write(Sdst, Ty::B32), imm(ImmKind::Hwreg)]);
static SETREG: Shape = plain(&[imm(ImmKind::Hwreg), read(SsrcK, Ty::B32)]);
static SETREG_IMM: Shape = plain(&[imm(ImmKind::Hwreg), read(K, Ty::B32)]);

const fn sopk(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Sopk, name, opcode, shape, meaning)
}

/// The rows.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //   name                    gfx6 gfx7 gfx8 gfx9  shape         meaning
    sopk("s_movk_i32",          [  0,   0,   0,   0], &MOVE,        s_movk_i32),
    sopk("s_cmovk_i32",         [  2,   2,   1,   1], &MOVE,        s_cmovk_i32),
    sopk("s_cmpk_eq_i32",       [  3,   3,   2,   2], &COMPARE_I32, s_cmpk_eq_i32),
    sopk("s_cmpk_lg_i32",       [  4,   4,   3,   3], &COMPARE_I32, s_cmpk_lg_i32),
    sopk("s_cmpk_gt_i32",       [  5,   5,   4,   4], &COMPARE_I32, s_cmpk_gt_i32),
    sopk("s_cmpk_ge_i32",       [  6,   6,   5,   5], &COMPARE_I32, s_cmpk_ge_i32),
    sopk("s_cmpk_lt_i32",       [  7,   7,   6,   6], &COMPARE_I32, s_cmpk_lt_i32),
    sopk("s_cmpk_le_i32",       [  8,   8,   7,   7], &COMPARE_I32, s_cmpk_le_i32),
    sopk("s_cmpk_eq_u32",       [  9,   9,   8,   8], &COMPARE_U32, s_cmpk_eq_u32),
    sopk("s_cmpk_lg_u32",       [ 10,  10,   9,   9], &COMPARE_U32, s_cmpk_lg_u32),
    sopk("s_cmpk_gt_u32",       [ 11,  11,  10,  10], &COMPARE_U32, s_cmpk_gt_u32),
    sopk("s_cmpk_ge_u32",       [ 12,  12,  11,  11], &COMPARE_U32, s_cmpk_ge_u32),
    sopk("s_cmpk_lt_u32",       [ 13,  13,  12,  12], &COMPARE_U32, s_cmpk_lt_u32),
    sopk("s_cmpk_le_u32",       [ 14,  14,  13,  13], &COMPARE_U32, s_cmpk_le_u32),
    sopk("s_addk_i32",          [ 15,  15,  14,  14], &ARITHMETIC,  s_addk_i32).errata(&["sopk-addk"]),
    sopk("s_mulk_i32",          [ 16,  16,  15,  15], &ARITHMETIC,  s_mulk_i32),
    sopk("s_cbranch_i_fork",    [ 17,  17,  16,  16], &FORK,        s_cbranch_i_fork).errata(&["sop2-fork", "sopp-reladdr"]),
    sopk("s_getreg_b32",        [ 18,  18,  17,  17], &GETREG,      s_getreg_b32).errata(&["hwreg-values"]),
    sopk("s_setreg_b32",        [ 19,  19,  18,  18], &SETREG,      s_setreg_b32).errata(&["hwreg-writes"]),
    sopk("s_getreg_regrd_b32",  [ 20,  20,  19,  19], &GETREG,      s_getreg_b32).errata(&["regrd", "hwreg-values"]),
    sopk("s_setreg_imm32_b32",  [ 21,  21,  20,  20], &SETREG_IMM,  s_setreg_imm32_b32).errata(&["hwreg-writes"]),
    sopk("s_call_b64",          [ NO,  NO,  NO,  21], &CALL,        s_call_b64).errata(&["sopp-reladdr"]),
];

fn s_movk_i32(m: &Meaning) {
    m.about("The sign-extended SIMM16. SCC is kept.");
    m.d(m.simm16_signed());
}

fn s_cmovk_i32(m: &Meaning) {
    m.about("The destination takes the sign-extended SIMM16 if SCC is 1. SCC is kept.");
    m.when(m.get(State::Scc), || m.d(m.simm16_signed()));
}

fn s_cmpk_eq_i32(m: &Meaning) {
    m.about("SCC says whether the register equals the sign-extended SIMM16.");
    m.scc(m.s(0).eq(m.simm16_signed()));
}

fn s_cmpk_lg_i32(m: &Meaning) {
    m.about("SCC says whether the register differs from the sign-extended SIMM16.");
    m.scc(m.s(0).ne(m.simm16_signed()));
}

fn s_cmpk_gt_i32(m: &Meaning) {
    m.about("SCC says whether the signed register is greater than the sign-extended SIMM16.");
    m.scc(m.s(0).gt(m.simm16_signed()));
}

fn s_cmpk_ge_i32(m: &Meaning) {
    m.about(
        "SCC says whether the signed register is greater than or equal to the sign-extended SIMM16.",
    );
    m.scc(m.s(0).ge(m.simm16_signed()));
}

fn s_cmpk_lt_i32(m: &Meaning) {
    m.about("SCC says whether the signed register is less than the sign-extended SIMM16.");
    m.scc(m.s(0).lt(m.simm16_signed()));
}

fn s_cmpk_le_i32(m: &Meaning) {
    m.about(
        "SCC says whether the signed register is less than or equal to the sign-extended SIMM16.",
    );
    m.scc(m.s(0).le(m.simm16_signed()));
}

fn s_cmpk_eq_u32(m: &Meaning) {
    m.about("SCC says whether the register equals the zero-extended SIMM16.");
    m.scc(m.s(0).eq(m.simm16()));
}

fn s_cmpk_lg_u32(m: &Meaning) {
    m.about("SCC says whether the register differs from the zero-extended SIMM16.");
    m.scc(m.s(0).ne(m.simm16()));
}

fn s_cmpk_gt_u32(m: &Meaning) {
    m.about("SCC says whether the unsigned register is greater than the zero-extended SIMM16.");
    m.scc(m.s(0).gt(m.simm16()));
}

fn s_cmpk_ge_u32(m: &Meaning) {
    m.about("SCC says whether the unsigned register is greater than or equal to the zero-extended SIMM16.");
    m.scc(m.s(0).ge(m.simm16()));
}

fn s_cmpk_lt_u32(m: &Meaning) {
    m.about("SCC says whether the unsigned register is less than the zero-extended SIMM16.");
    m.scc(m.s(0).lt(m.simm16()));
}

fn s_cmpk_le_u32(m: &Meaning) {
    m.about(
        "SCC says whether the unsigned register is less than or equal to the zero-extended SIMM16.",
    );
    m.scc(m.s(0).le(m.simm16()));
}

fn s_addk_i32(m: &Meaning) {
    m.about("Adds the sign-extended SIMM16 to the register. SCC says whether the signed sum overflowed.");
    let (a, b) = (m.old(), m.simm16_signed());
    let sum = a + b;
    m.d(sum);
    m.scc(((a ^ sum) & (b ^ sum)).lt(m.c(Ty::I32, 0)));
}

fn s_mulk_i32(m: &Meaning) {
    m.about("The low half of the register's product with the sign-extended SIMM16. SCC is kept.");
    m.d(m.old() * m.simm16_signed());
}

fn s_cbranch_i_fork(m: &Meaning) {
    m.about("Forks: lanes whose bit in the register pair is set jump by four times the signed SIMM16, the others continue. The smaller part runs first; the other part's EXEC and address are pushed onto the control stack, SGPRs 4*CSP to 4*CSP+3.");
    fork(m, m.s(0), m.branch_target());
}

fn s_getreg_b32(m: &Meaning) {
    m.about("The field of a hardware register that SIMM16 names: bits 5:0 the register, 10:6 the first bit, 15:11 the number of bits less 1.");
    m.d(m.getreg(m.simm16()));
}

fn s_setreg_b32(m: &Meaning) {
    m.about("The field of a hardware register that SIMM16 names takes the register's low bits: bits 5:0 the hardware register, 10:6 the first bit, 15:11 the number of bits less 1.");
    m.setreg(m.simm16(), m.s(0));
}

fn s_setreg_imm32_b32(m: &Meaning) {
    m.about("The field of a hardware register that SIMM16 names takes the low bits of the literal: bits 5:0 the hardware register, 10:6 the first bit, 15:11 the number of bits less 1.");
    m.setreg(m.simm16(), m.operand(K));
}

fn s_call_b64(m: &Meaning) {
    m.about("The destination takes the address of the next instruction; then jumps by four times the signed SIMM16.");
    m.d(m.get(State::Pc));
    m.set(State::Pc, m.branch_target());
}
