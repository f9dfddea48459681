//! SOPP: program flow and the state of the machine; at most a SIMM16.

use crate::format::Format;
use crate::inst::{Inst, NO};
use crate::meaning::{Meaning, Signal, State, V};
use crate::shape::{Imm as ImmKind, Shape, Ty, imm, plain};
use crate::target::Gen;

/// SIMM16 is ignored, and printed if it is not 0.
static UNUSED: Shape = plain(&[imm(ImmKind::Optional)]);
static NUMBER: Shape = plain(&[imm(ImmKind::U16)]);
static BRANCH: Shape = plain(&[imm(ImmKind::Branch)]);
static WAITCNT: Shape = plain(&[imm(ImmKind::Waitcnt)]);
static SENDMSG: Shape = plain(&[imm(ImmKind::Sendmsg)]);
static GPR_IDX: Shape = plain(&[imm(ImmKind::GprIdx)]);

const fn sopp(
    name: &'static str,
    opcode: [u16; 4],
    shape: &'static Shape,
    meaning: fn(&Meaning),
) -> Inst {
    Inst::new(Format::Sopp, name, opcode, shape, meaning)
}

/// The rows. For those without operands see docs/errata.md, sopp-unused-simm16.
#[rustfmt::skip]
pub static ROWS: &[Inst] = &[
    //   name                           gfx6 gfx7 gfx8 gfx9  shape     meaning
    sopp("s_nop",                      [  0,   0,   0,   0], &NUMBER,  s_nop).errata(&["sopp-nop"]),
    sopp("s_endpgm",                   [  1,   1,   1,   1], &UNUSED,  s_endpgm).errata(&["sopp-endpgm"]),
    sopp("s_branch",                   [  2,   2,   2,   2], &BRANCH,  s_branch).errata(&["sopp-reladdr"]),
    sopp("s_wakeup",                   [ NO,  NO,   3,   3], &UNUSED,   s_wakeup).errata(&["sopp-wakeup", "sopp-unused-simm16"]),
    sopp("s_cbranch_scc0",             [  4,   4,   4,   4], &BRANCH,  s_cbranch_scc0).errata(&["sopp-reladdr", "sopp-scc"]),
    sopp("s_cbranch_scc1",             [  5,   5,   5,   5], &BRANCH,  s_cbranch_scc1).errata(&["sopp-reladdr", "sopp-scc"]),
    sopp("s_cbranch_vccz",             [  6,   6,   6,   6], &BRANCH,  s_cbranch_vccz).errata(&["sopp-reladdr"]),
    sopp("s_cbranch_vccnz",            [  7,   7,   7,   7], &BRANCH,  s_cbranch_vccnz).errata(&["sopp-reladdr"]),
    sopp("s_cbranch_execz",            [  8,   8,   8,   8], &BRANCH,  s_cbranch_execz).errata(&["sopp-reladdr"]),
    sopp("s_cbranch_execnz",           [  9,   9,   9,   9], &BRANCH,  s_cbranch_execnz).errata(&["sopp-reladdr"]),
    sopp("s_barrier",                  [ 10,  10,  10,  10], &UNUSED,   s_barrier).errata(&["sopp-unused-simm16"]),
    sopp("s_setkill",                  [ NO,  11,  11,  11], &NUMBER,  s_setkill).errata(&["sopp-setkill", "sopp-gfx6"]),
    sopp("s_waitcnt",                  [ 12,  12,  12,  12], &WAITCNT, s_waitcnt).errata(&["sopp-waitcnt"]),
    sopp("s_sethalt",                  [ 13,  13,  13,  13], &NUMBER,  s_sethalt).errata(&["sopp-halt"]),
    sopp("s_sleep",                    [ 14,  14,  14,  14], &NUMBER,  s_sleep).errata(&["sopp-sleep"]),
    sopp("s_setprio",                  [ 15,  15,  15,  15], &NUMBER,  s_setprio),
    sopp("s_sendmsg",                  [ 16,  16,  16,  16], &SENDMSG, s_sendmsg).errata(&["sopp-sendmsg"]),
    sopp("s_sendmsghalt",              [ 17,  17,  17,  17], &SENDMSG, s_sendmsghalt).errata(&["sopp-sendmsg", "sopp-halt"]),
    sopp("s_trap",                     [ 18,  18,  18,  18], &NUMBER,  s_trap).errata(&["sopp-trap"]),
    sopp("s_icache_inv",               [ 19,  19,  19,  19], &UNUSED,   s_icache_inv).errata(&["sopp-unused-simm16"]),
    sopp("s_incperflevel",             [ 20,  20,  20,  20], &NUMBER,  s_incperflevel),
    sopp("s_decperflevel",             [ 21,  21,  21,  21], &NUMBER,  s_decperflevel),
    sopp("s_ttracedata",               [ 22,  22,  22,  22], &UNUSED,   s_ttracedata).errata(&["sopp-unused-simm16"]),
    sopp("s_cbranch_cdbgsys",          [ NO,  23,  23,  23], &BRANCH,  s_cbranch_cdbgsys).errata(&["sopp-reladdr", "sopp-cdbg", "sopp-gfx6"]),
    sopp("s_cbranch_cdbguser",         [ NO,  24,  24,  24], &BRANCH,  s_cbranch_cdbguser).errata(&["sopp-reladdr", "sopp-cdbg", "sopp-gfx6"]),
    sopp("s_cbranch_cdbgsys_or_user",  [ NO,  25,  25,  25], &BRANCH,  s_cbranch_cdbgsys_or_user).errata(&["sopp-reladdr", "sopp-cdbg", "sopp-gfx6"]),
    sopp("s_cbranch_cdbgsys_and_user", [ NO,  26,  26,  26], &BRANCH,  s_cbranch_cdbgsys_and_user).errata(&["sopp-reladdr", "sopp-cdbg", "sopp-gfx6"]),
    sopp("s_endpgm_saved",             [ NO,  NO,  27,  27], &UNUSED,   s_endpgm_saved).errata(&["sopp-unused-simm16"]),
    sopp("s_set_gpr_idx_off",          [ NO,  NO,  28,  28], &UNUSED,   s_set_gpr_idx_off).errata(&["sopp-unused-simm16", "gpr-indexing"]),
    sopp("s_set_gpr_idx_mode",         [ NO,  NO,  29,  29], &GPR_IDX, s_set_gpr_idx_mode).errata(&["gpr-indexing"]),
    sopp("s_endpgm_ordered_ps_done",   [ NO,  NO,  NO,  30], &UNUSED,   s_endpgm_ordered_ps_done).errata(&["sopp-unused-simm16"]),
];

fn s_nop(m: &Meaning) {
    m.about("Does nothing for SIMM16's low bits plus 1 cycles: three bits on gfx6 and gfx7, four after.");
    let mask = if m.target().generation() >= Gen::Gfx8 {
        15
    } else {
        7
    };
    m.signal(Signal::Nop, (m.simm16() & mask) + 1);
}

fn s_endpgm(m: &Meaning) {
    m.about("Ends the wave.");
    m.signal(Signal::Endpgm, m.c(Ty::U32, 0));
}

fn s_endpgm_saved(m: &Meaning) {
    m.about("Ends the wave once its memory operations are done, and tells that the context-switch handler has saved it.");
    m.signal(Signal::Endpgm, m.c(Ty::U32, 0));
}

fn s_endpgm_ordered_ps_done(m: &Meaning) {
    m.about("Ends the wave once its memory operations are done, and tells that it has left its ordered section.");
    m.signal(Signal::Endpgm, m.c(Ty::U32, 0));
}

fn s_branch(m: &Meaning) {
    m.about("Jumps to the next instruction's address plus four times the signed SIMM16.");
    m.set(State::Pc, m.branch_target());
}

/// Jumps if `condition` holds.
fn branch_if(m: &Meaning, condition: V<'_>) {
    m.when(condition, || m.set(State::Pc, m.branch_target()));
}

fn s_cbranch_scc0(m: &Meaning) {
    m.about("Jumps if SCC is 0.");
    branch_if(m, !m.get(State::Scc));
}

fn s_cbranch_scc1(m: &Meaning) {
    m.about("Jumps if SCC is 1.");
    branch_if(m, m.get(State::Scc));
}

fn s_cbranch_vccz(m: &Meaning) {
    m.about("Jumps if VCC is 0.");
    branch_if(m, !m.get(State::Vcc).nonzero());
}

fn s_cbranch_vccnz(m: &Meaning) {
    m.about("Jumps if VCC is not 0.");
    branch_if(m, m.get(State::Vcc).nonzero());
}

fn s_cbranch_execz(m: &Meaning) {
    m.about("Jumps if EXEC is 0: no lane is active.");
    branch_if(m, !m.get(State::Exec).nonzero());
}

fn s_cbranch_execnz(m: &Meaning) {
    m.about("Jumps if EXEC is not 0: some lane is active.");
    branch_if(m, m.get(State::Exec).nonzero());
}

fn s_cbranch_cdbgsys(m: &Meaning) {
    m.about("Jumps if STATUS.COND_DBG_SYS is 1.");
    branch_if(m, m.get(State::CondDbgSys));
}

fn s_cbranch_cdbguser(m: &Meaning) {
    m.about("Jumps if STATUS.COND_DBG_USER is 1.");
    branch_if(m, m.get(State::CondDbgUser));
}

fn s_cbranch_cdbgsys_or_user(m: &Meaning) {
    m.about("Jumps if STATUS.COND_DBG_SYS or STATUS.COND_DBG_USER is 1.");
    branch_if(m, m.get(State::CondDbgSys) | m.get(State::CondDbgUser));
}

fn s_cbranch_cdbgsys_and_user(m: &Meaning) {
    m.about("Jumps if STATUS.COND_DBG_SYS and STATUS.COND_DBG_USER are 1.");
    branch_if(m, m.get(State::CondDbgSys) & m.get(State::CondDbgUser));
}

fn s_wakeup(m: &Meaning) {
    m.about("Wakes the workgroup's other waves if they sleep.");
    m.signal(Signal::Wakeup, m.c(Ty::U32, 0));
}

fn s_barrier(m: &Meaning) {
    m.about("Waits until every wave of the workgroup has come to a barrier or has ended.");
    m.signal(Signal::Barrier, m.c(Ty::U32, 0));
}

fn s_setkill(m: &Meaning) {
    m.about("Ends the wave if bit 0 of SIMM16 is 1.");
    m.set(State::Kill, m.simm16().trunc(Ty::Bool));
}

fn s_waitcnt(m: &Meaning) {
    m.about("Waits until the number of unfinished operations of each kind is at most the field of its counter: VM_CNT for vector memory (bits 3:0, on gfx9 15:14 above them), EXP_CNT for exports (bits 6:4), LGKM_CNT for LDS, scalar memory and messages (bits 11:8). A field of ones does not wait.");
    m.signal(Signal::Waitcnt, m.simm16());
}

fn s_sethalt(m: &Meaning) {
    m.about("STATUS.HALT takes bit 0 of SIMM16. A wave with HALT stops unless it is privileged.");
    m.set(State::Halt, m.simm16().trunc(Ty::Bool));
}

fn s_sleep(m: &Meaning) {
    m.about(
        "Sleeps for about 64 times SIMM16's low bits cycles: three bits up to gfx8, seven on gfx9.",
    );
    let mask = if m.target().generation() >= Gen::Gfx9 {
        0x7f
    } else {
        7
    };
    m.signal(Signal::Sleep, m.simm16() & mask);
}

fn s_setprio(m: &Meaning) {
    m.about("The wave's priority takes the low two bits of SIMM16.");
    m.set(State::Prio, (m.simm16() & 3).as_(Ty::B32));
}

/// Sends SIMM16's message. The answer to gfx9's GET_DOORBELL, a number in bits 9:0 and 0 in bit 31, is in EXEC_LO immediately.
fn send(m: &Meaning) {
    const GET_DOORBELL: u64 = 10;
    m.signal(Signal::Sendmsg, m.simm16());
    if m.target().generation() >= Gen::Gfx9 {
        let asked = (m.simm16() & 15).eq(m.c(Ty::U32, GET_DOORBELL));
        m.when(asked, || {
            m.set(State::Exec, m.get(State::Exec) & 0xffff_ffff_0000_0000);
        });
    }
}

fn s_sendmsg(m: &Meaning) {
    m.about("Sends the message that SIMM16 names, with M0 as its data. On gfx9 GET_DOORBELL puts the doorbell's number, which is 0 here, into EXEC_LO.");
    send(m);
}

fn s_sendmsghalt(m: &Meaning) {
    m.about("Sends the message that SIMM16 names, with M0 as its data, and sets STATUS.HALT.");
    send(m);
    m.set(State::Halt, m.c(Ty::Bool, 1));
}

fn s_trap(m: &Meaning) {
    m.about("Enters the trap handler with the low eight bits of SIMM16 as the trap's number.");
    m.signal(Signal::Trap, m.simm16() & 0xff);
}

fn s_icache_inv(m: &Meaning) {
    m.about("Invalidates the instruction cache.");
    m.signal(Signal::Cache, m.c(Ty::U32, 0));
}

fn s_incperflevel(m: &Meaning) {
    m.about("Adds 1 to the performance counter whose number is in the low four bits of SIMM16.");
    m.signal(Signal::PerfUp, m.simm16() & 15);
}

fn s_decperflevel(m: &Meaning) {
    m.about(
        "Subtracts 1 from the performance counter whose number is in the low four bits of SIMM16.",
    );
    m.signal(Signal::PerfDown, m.simm16() & 15);
}

fn s_ttracedata(m: &Meaning) {
    m.about("Sends M0 to the thread trace.");
    m.signal(Signal::ThreadTrace, m.get(State::M0));
}

fn s_set_gpr_idx_off(m: &Meaning) {
    m.about("Turns VGPR indexing off: MODE.GPR_IDX_EN is cleared.");
    m.set(State::GprIdxEn, m.c(Ty::Bool, 0));
}

fn s_set_gpr_idx_mode(m: &Meaning) {
    m.about("M0[15:12], which say the operands that VGPR indexing indexes, take the low four bits of SIMM16: SRC0, SRC1, SRC2, DST.");
    let which = (m.simm16() & 15) << 12;
    m.set(
        State::M0,
        (m.get(State::M0) & 0xffff_0fff) | which.as_(Ty::B32),
    );
}
