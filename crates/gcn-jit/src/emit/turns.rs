//! What compiled code does between the turns of waves: the next wave's turn, at the end of a round the next one behind the
//! barrier, and where all waves of a workgroup have ended the next workgroup ([`Series`]).

use super::*;
use crate::ctx::Series;
use crate::group::Needs;
use gcn_emu::group::Row;

macro_rules! turn {
    ($field:ident) => {
        mem(RCX, offset_of!(Turn, $field) as i32)
    };
}

macro_rules! series {
    ($field:ident) => {
        ctx!(series, offset_of!(Series, $field))
    };
    ($field:ident, $plus:expr) => {
        ctx!(series, offset_of!(Series, $field) + $plus)
    };
}

/// Where code goes to at a barrier, and at a wave's end. At a barrier it notes in the turn where the wave goes on (RDX) and
/// puts the wave's clock right; at the end, that the wave has ended. Then the next turn begins; at the last of them it
/// leaves with RAX, and where a turn is not to begin with [`EXIT_NEXT`]. No host register holds anything of a wave here.
pub(super) fn between(a: &mut Asm, exit: Label) -> (Label, Label) {
    const BYTES: i32 = size_of::<Turn>() as i32;
    let [next, step, begin, around, again, pause, leave] = std::array::from_fn(|_| a.label());
    let barrier = a.here();
    // Every instruction takes four of the clock.
    a.mov(true, RCX, Rm::M(ctx!(synced)));
    a.store(true, ctx!(synced), FUEL);
    a.alu(alu::SUB, true, RCX, Rm::R(FUEL));
    a.shift_imm(4, true, RCX, 2);
    let clock = mem(WAVE, offset_of!(WaveState, clock) as i32);
    a.g(true, &[0x01], RCX, Rm::M(clock));
    a.jmp(next);
    let ended = a.here();
    a.imm(RDX, Turn::ENDED as u64);
    a.alu_imm(alu::SUB, true, Rm::M(series!(alive)), 1);
    a.bind(next);
    a.mov(true, RCX, Rm::M(ctx!(turn)));
    a.store(true, turn!(code), RDX);
    a.alu_imm(alu::ADD, false, Rm::M(turn!(turns)), 1);
    a.mov(true, RSI, Rm::R(FUEL));
    a.alu(alu::SUB, true, RSI, Rm::M(turn!(given)));
    a.g(true, &[0x01], RSI, Rm::M(series!(spare)));
    a.mov(true, RSI, Rm::M(turn!(again)));
    a.store(true, turn!(given), RSI);
    a.bind(step);
    a.alu_imm(alu::ADD, true, Rm::R(RCX), BYTES);
    a.bind(begin);
    a.store(true, ctx!(turn), RCX);
    a.alu(alu::CMP, true, RCX, Rm::M(ctx!(turns_end)));
    a.jcc(Cc::E, around);
    a.mov(true, RDX, Rm::M(turn!(code)));
    a.alu_imm(alu::CMP, true, Rm::R(RDX), Turn::ENDED as i32);
    a.jcc(Cc::E, step);
    a.jcc(Cc::B, pause);
    a.mov(true, FUEL, Rm::M(turn!(given)));
    a.alu(alu::CMP, true, FUEL, Rm::M(series!(spare)));
    a.jcc(Cc::G, pause);
    a.store(true, ctx!(synced), FUEL);
    a.mov(true, WAVE, Rm::M(turn!(wave)));
    a.store(true, ctx!(wave), WAVE);
    a.mov(true, VGPRS, Rm::M(turn!(vgprs)));
    a.store(true, ctx!(vgprs), VGPRS);
    a.lea(VGPRS, mem(VGPRS, VGPR_BIAS * 256));
    a.jmp_to(Rm::R(RDX));
    a.bind(pause);
    a.imm(RAX, EXIT_NEXT);
    a.bind(leave);
    a.jmp(exit);
    // All had their turns.
    a.bind(around);
    a.mov(true, RCX, Rm::M(series!(turns)));
    a.test(true, RCX, RCX);
    a.jcc(Cc::E, leave);
    a.alu_imm(alu::CMP, true, Rm::M(series!(alive)), 0);
    a.jcc(Cc::Ne, begin);
    // All have ended.
    a.mov(true, RDX, Rm::M(series!(row)));
    a.alu_imm(alu::ADD, true, Rm::R(RDX), size_of::<Row>() as i32);
    a.store(true, series!(row), RDX);
    a.alu(alu::CMP, true, RDX, Rm::M(series!(rows_end)));
    a.jcc(Cc::E, leave);
    a.mov(true, RDX, Rm::M(series!(begin)));
    a.mov(true, RSI, Rm::M(series!(given)));
    a.bind(again);
    a.store(true, turn!(code), RDX);
    a.store(true, turn!(given), RSI);
    a.store_imm(turn!(turns), 0);
    a.alu_imm(alu::ADD, true, Rm::R(RCX), BYTES);
    a.alu(alu::CMP, true, RCX, Rm::M(ctx!(turns_end)));
    a.jcc(Cc::Ne, again);
    a.mov(true, RDX, Rm::M(series!(waves)));
    a.store(true, series!(alive), RDX);
    let no_lds = a.label();
    a.mov(true, RCX, Rm::M(ctx!(lds_bytes)));
    a.test(true, RCX, RCX);
    a.jcc(Cc::E, no_lds);
    a.mov(true, RDI, Rm::M(ctx!(lds)));
    a.imm(RAX, 0);
    a.stosb();
    a.bind(no_lds);
    a.mov(true, RCX, Rm::M(series!(turns)));
    a.jmp(begin);
    (barrier, ended)
}

/// Where a wave of a series begins: it takes the registers that the unit needs, and goes to the unit's first chunk. Gives
/// where that is.
pub(super) fn begin(a: &mut Asm, needs: &Needs) -> usize {
    const LINE: i32 = 64;
    let here = a.buf.len();
    a.mov(true, RCX, Rm::M(ctx!(turn)));
    a.mov(true, RDX, Rm::M(turn!(start)));
    let mut at = 0;
    let mut copy = |a: &mut Asm, to: Mem| {
        let z = (at / LINE % 8) as u8;
        a.z(op::MOVDQU32, z, 0, Rm::M(mem(RDX, at)));
        a.z(op::MOVDQU32_ST, z, 0, Rm::M(to));
        at += LINE;
    };
    for &line in &needs.sgprs {
        copy(a, sgpr_home(16 * line));
    }
    let lines = |n: u16| (0..4).map(move |slice| vgpr_line(n, slice));
    for to in needs.given().iter().flat_map(|&n| lines(n)) {
        copy(a, to);
    }
    if !needs.zeros().is_empty() {
        a.z(op::XORD, 0, 0, Rm::R(0));
    }
    for to in needs.zeros().iter().flat_map(|&n| lines(n)) {
        a.z(op::MOVDQU32_ST, 0, 0, Rm::M(to));
    }
    a.mov(true, RCX, Rm::M(series!(row)));
    for id in 0..3 {
        let value = mem(RCX, (offset_of!(Row, ids) + 4 * id) as i32);
        a.mov(false, RAX, Rm::M(value));
        a.mov(true, RDI, Rm::M(series!(ids, 8 * id)));
        a.alu(alu::ADD, true, RDI, Rm::R(WAVE));
        a.store(false, mem(RDI, 0), RAX);
    }
    a.imm(RAX, 0);
    a.store(true, mem(WAVE, offset_of!(WaveState, clock) as i32), RAX);
    a.store_imm8(mem(WAVE, offset_of!(WaveState, scc) as i32), 0);
    a.jmp_to(Rm::M(series!(code)));
    here
}

/// 16 lanes of a VGPR.
fn vgpr_line(n: u16, slice: i32) -> Mem {
    mem(VGPRS, 256 * (n as i32 - VGPR_BIAS) + 64 * slice)
}
