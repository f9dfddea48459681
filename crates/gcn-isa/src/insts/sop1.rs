//! SOP1: one scalar source, one scalar destination.

use super::common::join;
use crate::format::Format;
use crate::inst::{Flags, Inst, NO};
use crate::meaning::{Meaning, State, V};
use crate::shape::{Role::*, Shape, Ty, plain, read, write};

static B32: Shape = plain(&[write(Sdst, Ty::B32), read(Ssrc0, Ty::B32)]);
static I32: Shape = plain(&[write(Sdst, Ty::I32), read(Ssrc0, Ty::I32)]);
static B64: Shape = plain(&[write(Sdst, Ty::B64), read(Ssrc0, Ty::B64)]);
/// A 32-bit number from a 64-bit value.
static COUNT_B64: Shape = plain(&[write(Sdst, Ty::I32), read(Ssrc0, Ty::B64)]);
static COUNT_I64: Shape = plain(&[write(Sdst, Ty::I32), read(Ssrc0, Ty::I64)]);
static COUNT_B32: Shape = plain(&[write(Sdst, Ty::I32), read(Ssrc0, Ty::B32)]);
/// The other bits of the destination are kept.
static BITSET_B32: Shape = plain(&[write(Sdst, Ty::B32).read_too(), read(Ssrc0, Ty::B32)]);
static BITSET_B64: Shape = plain(&[write(Sdst, Ty::B64).read_too(), read(Ssrc0, Ty::B32)]);
static REPLICATE: Shape = plain(&[write(Sdst, Ty::B64), read(Ssrc0, Ty::B32)]);
static GET: Shape = plain(&[write(Sdst, Ty::B64)]);
static SET: Shape = plain(&[read(Ssrc0, Ty::B64)]);
static NUMBER: Shape = plain(&[read(Ssrc0, Ty::B32)]);

const fn sop1(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Sop1, name, opcode, shape, meaning)
}

/// The rows.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //   name                       gfx6 gfx7 gfx8 gfx9  shape        meaning
    sop1("s_mov_b32",              [  3,   3,   0,   0], &B32,        s_mov),
    sop1("s_mov_b64",              [  4,   4,   1,   1], &B64,        s_mov),
    sop1("s_cmov_b32",             [  5,   5,   2,   2], &B32,        s_cmov),
    sop1("s_cmov_b64",             [  6,   6,   3,   3], &B64,        s_cmov),
    sop1("s_not_b32",              [  7,   7,   4,   4], &B32,        s_not),
    sop1("s_not_b64",              [  8,   8,   5,   5], &B64,        s_not),
    sop1("s_wqm_b32",              [  9,   9,   6,   6], &B32,        s_wqm),
    sop1("s_wqm_b64",              [ 10,  10,   7,   7], &B64,        s_wqm),
    sop1("s_brev_b32",             [ 11,  11,   8,   8], &B32,        s_brev),
    sop1("s_brev_b64",             [ 12,  12,   9,   9], &B64,        s_brev),
    sop1("s_bcnt0_i32_b32",        [ 13,  13,  10,  10], &COUNT_B32,  s_bcnt0),
    sop1("s_bcnt0_i32_b64",        [ 14,  14,  11,  11], &COUNT_B64,  s_bcnt0),
    sop1("s_bcnt1_i32_b32",        [ 15,  15,  12,  12], &COUNT_B32,  s_bcnt1),
    sop1("s_bcnt1_i32_b64",        [ 16,  16,  13,  13], &COUNT_B64,  s_bcnt1),
    sop1("s_ff0_i32_b32",          [ 17,  17,  14,  14], &COUNT_B32,  s_ff0),
    sop1("s_ff0_i32_b64",          [ 18,  18,  15,  15], &COUNT_B64,  s_ff0),
    sop1("s_ff1_i32_b32",          [ 19,  19,  16,  16], &COUNT_B32,  s_ff1),
    sop1("s_ff1_i32_b64",          [ 20,  20,  17,  17], &COUNT_B64,  s_ff1),
    sop1("s_flbit_i32_b32",        [ 21,  21,  18,  18], &COUNT_B32,  s_flbit),
    sop1("s_flbit_i32_b64",        [ 22,  22,  19,  19], &COUNT_B64,  s_flbit),
    sop1("s_flbit_i32",            [ 23,  23,  20,  20], &I32,        s_flbit_signed),
    sop1("s_flbit_i32_i64",        [ 24,  24,  21,  21], &COUNT_I64,  s_flbit_signed),
    sop1("s_sext_i32_i8",          [ 25,  25,  22,  22], &I32,        s_sext_i32_i8),
    sop1("s_sext_i32_i16",         [ 26,  26,  23,  23], &I32,        s_sext_i32_i16),
    sop1("s_bitset0_b32",          [ 27,  27,  24,  24], &BITSET_B32, s_bitset0),
    sop1("s_bitset0_b64",          [ 28,  28,  25,  25], &BITSET_B64, s_bitset0),
    sop1("s_bitset1_b32",          [ 29,  29,  26,  26], &BITSET_B32, s_bitset1),
    sop1("s_bitset1_b64",          [ 30,  30,  27,  27], &BITSET_B64, s_bitset1),
    sop1("s_getpc_b64",            [ 31,  31,  28,  28], &GET,        s_getpc_b64),
    sop1("s_setpc_b64",            [ 32,  32,  29,  29], &SET,        s_setpc_b64).flag(Flags::REGISTERS).errata(&["sop1-pc"]),
    sop1("s_swappc_b64",           [ 33,  33,  30,  30], &B64,        s_swappc_b64).errata(&["sop1-pc"]),
    sop1("s_rfe_b64",              [ 34,  34,  31,  31], &SET,        s_rfe_b64).flag(Flags::REGISTERS).errata(&["sop1-pc", "sop1-rfe"]),
    sop1("s_and_saveexec_b64",     [ 36,  36,  32,  32], &B64,        s_and_saveexec),
    sop1("s_or_saveexec_b64",      [ 37,  37,  33,  33], &B64,        s_or_saveexec),
    sop1("s_xor_saveexec_b64",     [ 38,  38,  34,  34], &B64,        s_xor_saveexec),
    sop1("s_andn2_saveexec_b64",   [ 39,  39,  35,  35], &B64,        s_andn2_saveexec),
    sop1("s_orn2_saveexec_b64",    [ 40,  40,  36,  36], &B64,        s_orn2_saveexec).errata(&["sop1-slips"]),
    sop1("s_nand_saveexec_b64",    [ 41,  41,  37,  37], &B64,        s_nand_saveexec),
    sop1("s_nor_saveexec_b64",     [ 42,  42,  38,  38], &B64,        s_nor_saveexec),
    sop1("s_xnor_saveexec_b64",    [ 43,  43,  39,  39], &B64,        s_xnor_saveexec),
    sop1("s_quadmask_b32",         [ 44,  44,  40,  40], &B32,        s_quadmask),
    sop1("s_quadmask_b64",         [ 45,  45,  41,  41], &B64,        s_quadmask),
    sop1("s_movrels_b32",          [ 46,  46,  42,  42], &B32,        s_movrels).flag(Flags::REGISTERS).errata(&["movrel-range"]),
    sop1("s_movrels_b64",          [ 47,  47,  43,  43], &B64,        s_movrels).flag(Flags::REGISTERS).errata(&["movrel-range"]),
    sop1("s_movreld_b32",          [ 48,  48,  44,  44], &B32,        s_movreld).errata(&["movrel-range"]),
    sop1("s_movreld_b64",          [ 49,  49,  45,  45], &B64,        s_movreld).errata(&["movrel-range", "sop1-slips"]),
    sop1("s_cbranch_join",         [ 50,  50,  46,  46], &NUMBER,     s_cbranch_join).flag(Flags::REGISTERS).errata(&["sop2-fork"]),
    sop1("s_mov_regrd_b32",        [ 51,  51,  47,  47], &B32,        s_mov).errata(&["regrd"]),
    sop1("s_abs_i32",              [ 52,  52,  48,  48], &I32,        s_abs_i32),
    sop1("s_set_gpr_idx_idx",      [ NO,  NO,  50,  50], &NUMBER,     s_set_gpr_idx_idx),
    sop1("s_andn1_saveexec_b64",   [ NO,  NO,  NO,  51], &B64,        s_andn1_saveexec),
    sop1("s_orn1_saveexec_b64",    [ NO,  NO,  NO,  52], &B64,        s_orn1_saveexec),
    sop1("s_andn1_wrexec_b64",     [ NO,  NO,  NO,  53], &B64,        s_andn1_wrexec),
    sop1("s_andn2_wrexec_b64",     [ NO,  NO,  NO,  54], &B64,        s_andn2_wrexec),
    sop1("s_bitreplicate_b64_b32", [ NO,  NO,  NO,  55], &REPLICATE,  s_bitreplicate),
];

fn s_mov(m: &Meaning) {
    m.about("Copies the source. SCC is kept.");
    m.d(m.s(0));
}

fn s_cmov(m: &Meaning) {
    m.about("The destination takes the source if SCC is 1. SCC is kept.");
    m.when(m.get(State::Scc), || m.d(m.s(0)));
}

fn s_not(m: &Meaning) {
    m.about("Bitwise NOT. SCC says whether the result is not zero.");
    let d = !m.s(0);
    m.d(d);
    m.scc_nonzero(d);
}

/// Bit 4n is 1 if any of bits 4n to 4n+3 is 1; the other bits are 0.
fn any_of_quad(x: V<'_>) -> V<'_> {
    let pairs = x | (x >> 1);
    (pairs | (pairs >> 2)) & 0x1111_1111_1111_1111
}

fn s_wqm(m: &Meaning) {
    m.about("Whole quads: each group of four bits becomes ones if any of its bits is 1. SCC says whether the result is not zero.");
    let quads = any_of_quad(m.s(0));
    let pairs = quads | (quads << 1);
    let d = pairs | (pairs << 2);
    m.d(d);
    m.scc_nonzero(d);
}

fn s_quadmask(m: &Meaning) {
    m.about("One bit for each group of four bits, 1 if any of its bits is 1. SCC says whether the result is not zero.");
    // The bits, four apart, are moved together in steps; each step doubles the number of adjacent bits.
    let quads = any_of_quad(m.s(0));
    let twos = (quads | (quads >> 3)) & 0x0303_0303_0303_0303;
    let fours = (twos | (twos >> 6)) & 0x000f_000f_000f_000f;
    let eights = (fours | (fours >> 12)) & 0x0000_00ff_0000_00ff;
    let d = if eights.ty.bits() == 64 {
        (eights | (eights >> 24)) & 0xffff
    } else {
        eights
    };
    m.d(d);
    m.scc_nonzero(d);
}

fn s_brev(m: &Meaning) {
    m.about("The bits in reverse order. SCC is kept.");
    m.d(m.s(0).rev());
}

fn s_bcnt0(m: &Meaning) {
    m.about("The number of bits that are 0. SCC says whether the result is not zero.");
    let d = (!m.s(0)).popcount();
    m.d(d);
    m.scc_nonzero(d);
}

fn s_bcnt1(m: &Meaning) {
    m.about("The number of bits that are 1. SCC says whether the result is not zero.");
    let d = m.s(0).popcount();
    m.d(d);
    m.scc_nonzero(d);
}

/// The result of a search of `width` bits that passed `count` zeros: -1 if it passed all of them.
fn or_none<'m>(m: &'m Meaning, count: V<'m>, width: u32) -> V<'m> {
    count
        .eq(m.c(Ty::U32, width as u64))
        .select(m.c(Ty::U32, 0xffff_ffff), count)
}

fn s_ff0(m: &Meaning) {
    m.about("The number of the lowest bit that is 0, or -1. SCC is kept.");
    m.d(or_none(m, (!m.s(0)).ctz(), m.s(0).ty.bits()));
}

fn s_ff1(m: &Meaning) {
    m.about("The number of the lowest bit that is 1, or -1. SCC is kept.");
    m.d(or_none(m, m.s(0).ctz(), m.s(0).ty.bits()));
}

fn s_flbit(m: &Meaning) {
    m.about(
        "The number of zeros above the highest bit that is 1, or -1 if no bit is 1. SCC is kept.",
    );
    m.d(or_none(m, m.s(0).clz(), m.s(0).ty.bits()));
}

fn s_flbit_signed(m: &Meaning) {
    m.about("The number of bits from the top that equal the sign, or -1 if all do. SCC is kept.");
    let width = m.s(0).ty.bits();
    let sign = m.s(0) >> (width as u64 - 1);
    m.d(or_none(m, (m.s(0) ^ sign).clz(), width));
}

fn s_sext_i32_i8(m: &Meaning) {
    m.about("The source's low byte, sign-extended. SCC is kept.");
    m.d((m.s(0) << 24) >> 24);
}

fn s_sext_i32_i16(m: &Meaning) {
    m.about("The source's low half, sign-extended. SCC is kept.");
    m.d(m.s(0).trunc(Ty::I16).sext(Ty::I32));
}

/// The bit of the destination whose number is the source, modulo the width.
fn numbered_bit(m: &Meaning) -> V<'_> {
    let ty = m.old().ty;
    m.c(ty, 1) << (m.s(0) & (ty.bits() as u64 - 1))
}

fn s_bitset0(m: &Meaning) {
    m.about(
        "Clears one bit of the destination. The source, modulo the width, is the bit's number. SCC is kept.",
    );
    m.d(m.old() & !numbered_bit(m));
}

fn s_bitset1(m: &Meaning) {
    m.about(
        "Sets one bit of the destination. The source, modulo the width, is the bit's number. SCC is kept.",
    );
    m.d(m.old() | numbered_bit(m));
}

fn s_getpc_b64(m: &Meaning) {
    m.about("The address of the next instruction.");
    m.d(m.get(State::Pc));
}

/// The source as an address to jump to: instructions are dwords.
fn jump_target(m: &Meaning) -> V<'_> {
    m.s(0) & !3u64
}

fn s_setpc_b64(m: &Meaning) {
    m.about("Jumps to the address in the source.");
    m.set(State::Pc, jump_target(m));
}

fn s_swappc_b64(m: &Meaning) {
    m.about("The destination takes the address of the next instruction; then jumps to the address in the source.");
    m.d(m.get(State::Pc));
    m.set(State::Pc, jump_target(m));
}

fn s_rfe_b64(m: &Meaning) {
    m.about("Returns from the trap handler to the address in the source: STATUS.PRIV is cleared.");
    m.set(State::Pc, jump_target(m));
    m.set(State::Priv, m.c(Ty::Bool, 0));
}

/// The destination takes EXEC, EXEC takes `exec`.
fn save_exec<'m>(m: &'m Meaning, exec: V<'m>) {
    m.d(m.get(State::Exec));
    m.set(State::Exec, exec);
    m.scc_nonzero(exec);
}

fn s_and_saveexec(m: &Meaning) {
    m.about("The destination takes EXEC; EXEC takes source AND EXEC. SCC says whether the new EXEC is not zero.");
    save_exec(m, m.s(0) & m.get(State::Exec));
}

fn s_or_saveexec(m: &Meaning) {
    m.about("The destination takes EXEC; EXEC takes source OR EXEC. SCC says whether the new EXEC is not zero.");
    save_exec(m, m.s(0) | m.get(State::Exec));
}

fn s_xor_saveexec(m: &Meaning) {
    m.about("The destination takes EXEC; EXEC takes source XOR EXEC. SCC says whether the new EXEC is not zero.");
    save_exec(m, m.s(0) ^ m.get(State::Exec));
}

fn s_andn2_saveexec(m: &Meaning) {
    m.about("The destination takes EXEC; EXEC takes source AND NOT EXEC. SCC says whether the new EXEC is not zero.");
    save_exec(m, m.s(0) & !m.get(State::Exec));
}

fn s_orn2_saveexec(m: &Meaning) {
    m.about("The destination takes EXEC; EXEC takes source OR NOT EXEC. SCC says whether the new EXEC is not zero.");
    save_exec(m, m.s(0) | !m.get(State::Exec));
}

fn s_nand_saveexec(m: &Meaning) {
    m.about("The destination takes EXEC; EXEC takes NOT (source AND EXEC). SCC says whether the new EXEC is not zero.");
    save_exec(m, !(m.s(0) & m.get(State::Exec)));
}

fn s_nor_saveexec(m: &Meaning) {
    m.about("The destination takes EXEC; EXEC takes NOT (source OR EXEC). SCC says whether the new EXEC is not zero.");
    save_exec(m, !(m.s(0) | m.get(State::Exec)));
}

fn s_xnor_saveexec(m: &Meaning) {
    m.about("The destination takes EXEC; EXEC takes NOT (source XOR EXEC). SCC says whether the new EXEC is not zero.");
    save_exec(m, !(m.s(0) ^ m.get(State::Exec)));
}

fn s_andn1_saveexec(m: &Meaning) {
    m.about("The destination takes EXEC; EXEC takes NOT source AND EXEC. SCC says whether the new EXEC is not zero.");
    save_exec(m, !m.s(0) & m.get(State::Exec));
}

fn s_orn1_saveexec(m: &Meaning) {
    m.about("The destination takes EXEC; EXEC takes NOT source OR EXEC. SCC says whether the new EXEC is not zero.");
    save_exec(m, !m.s(0) | m.get(State::Exec));
}

/// EXEC and the destination take `exec`.
fn write_exec<'m>(m: &'m Meaning, exec: V<'m>) {
    m.d(exec);
    m.set(State::Exec, exec);
    m.scc_nonzero(exec);
}

fn s_andn1_wrexec(m: &Meaning) {
    m.about(
        "EXEC and the destination take NOT source AND EXEC. SCC says whether that is not zero.",
    );
    write_exec(m, !m.s(0) & m.get(State::Exec));
}

fn s_andn2_wrexec(m: &Meaning) {
    m.about(
        "EXEC and the destination take source AND NOT EXEC. SCC says whether that is not zero.",
    );
    write_exec(m, m.s(0) & !m.get(State::Exec));
}

/// The register code plus M0.
fn by_m0<'m>(m: &'m Meaning, code: V<'m>) -> V<'m> {
    code + m.get(State::M0).as_(Ty::U32)
}

fn s_movrels(m: &Meaning) {
    m.about("Copies the SGPR, or pair, that is M0 registers after the source. SCC is kept.");
    m.d(m.sgpr(m.row().shape.slots[0].ty, by_m0(m, m.code_of(Ssrc0))));
}

fn s_movreld(m: &Meaning) {
    m.about("The SGPR, or pair, that is M0 registers after the destination takes the source. SCC is kept.");
    m.set_sgpr(by_m0(m, m.code_of(Sdst)), m.s(0));
}

fn s_cbranch_join(m: &Meaning) {
    m.about("Ends a fork: continues if MODE.CSP equals the source; otherwise pops EXEC and the address to jump to from the control stack.");
    join(m, m.s(0));
}

fn s_abs_i32(m: &Meaning) {
    m.about("The magnitude, modulo 2^32. SCC says whether the result is not zero.");
    let d = m.s(0).abs();
    m.d(d);
    m.scc_nonzero(d);
}

fn s_set_gpr_idx_idx(m: &Meaning) {
    m.about(
        "M0[7:0], the index that VGPR indexing adds, takes the source's low byte. SCC is kept.",
    );
    m.set(
        State::M0,
        (m.get(State::M0) & 0xffff_ff00) | (m.s(0) & 0xff),
    );
}

fn s_bitreplicate(m: &Meaning) {
    m.about("Each bit of the source twice, side by side. SCC is kept.");
    // The bits are moved apart in steps; each step halves the number of adjacent bits.
    let x = m.s(0).zext(Ty::B64);
    let x = (x | (x << 16)) & 0x0000_ffff_0000_ffff;
    let x = (x | (x << 8)) & 0x00ff_00ff_00ff_00ff;
    let x = (x | (x << 4)) & 0x0f0f_0f0f_0f0f_0f0f;
    let x = (x | (x << 2)) & 0x3333_3333_3333_3333;
    let x = (x | (x << 1)) & 0x5555_5555_5555_5555;
    m.d(x | (x << 1));
}
