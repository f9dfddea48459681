//! Waves of workgroups that follow each other in one state: at a wave's end the next one starts.

use super::*;
use crate::ctx::{Line, Series};
use crate::group::Needs;
use gcn_emu::group::Row;

macro_rules! series {
    ($field:ident) => {
        ctx!(series, offset_of!(Series, $field))
    };
    ($field:ident, $plus:expr) => {
        ctx!(series, offset_of!(Series, $field) + $plus)
    };
}

/// Sees where a wave ends that is one of a series, and starts the next one; other waves go on to `alone`. Leaves by `exit`
/// with [`EXIT_NEXT`] where a wave is not to start now. Gives where waves end, and where the first one of a series starts.
pub(super) fn series(a: &mut Asm, needs: &Needs, exit: Label, alone: Label) -> (Label, usize) {
    const LINE: i32 = size_of::<Line>() as i32;
    let (same, full, leave) = (a.label(), a.label(), a.label());
    let ended = a.here();
    a.mov(true, RCX, Rm::M(series!(row)));
    a.test(true, RCX, RCX);
    a.jcc(Cc::E, alone);
    a.mov(true, RSI, Rm::M(series!(given)));
    a.mov(true, RDI, Rm::M(series!(spare)));
    a.alu(alu::SUB, true, RDI, Rm::R(RSI));
    a.alu(alu::ADD, true, RDI, Rm::R(FUEL));
    a.store(true, series!(spare), RDI);
    a.mov(true, RDX, Rm::M(series!(start)));
    let bytes = LINE * needs.lines() as i32;
    a.alu_imm(alu::ADD, true, Rm::R(RDX), bytes);
    a.alu(alu::CMP, true, RDX, Rm::M(series!(starts_end)));
    a.jcc(Cc::Ne, same);
    a.mov(true, RDX, Rm::M(series!(starts)));
    a.alu_imm(alu::ADD, true, Rm::R(RCX), size_of::<Row>() as i32);
    a.store(true, series!(row), RCX);
    a.bind(same);
    a.store(true, series!(start), RDX);
    a.alu(alu::CMP, true, RCX, Rm::M(series!(rows_end)));
    a.jcc(Cc::E, leave);
    a.alu(alu::CMP, true, RDI, Rm::R(RSI));
    a.jcc(Cc::Ge, full);
    a.bind(leave);
    a.imm(RAX, EXIT_NEXT);
    a.jmp(exit);
    let first = a.buf.len();
    a.mov(true, RCX, Rm::M(series!(row)));
    a.mov(true, RDX, Rm::M(series!(start)));
    a.mov(true, RSI, Rm::R(FUEL));
    a.bind(full);
    a.mov(true, FUEL, Rm::R(RSI));
    a.store(true, ctx!(synced), FUEL);
    let mut at = 0;
    let mut copy = |a: &mut Asm, to: Mem| {
        a.z(op::MOVDQU32, (at / LINE % 8) as u8, 0, Rm::M(mem(RDX, at)));
        a.z(op::MOVDQU32_ST, (at / LINE % 8) as u8, 0, Rm::M(to));
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
    for id in 0..3 {
        let at = offset_of!(Row, ids) + 4 * id;
        a.mov(false, RAX, Rm::M(mem(RCX, at as i32)));
        a.mov(true, RDI, Rm::M(series!(ids, 8 * id)));
        a.store(false, mem(RDI, 0), RAX);
    }
    a.store_imm8(mem(WAVE, offset_of!(WaveState, scc) as i32), 0);
    a.jmp_to(Rm::M(series!(code)));
    (ended, first)
}

/// 16 lanes of a VGPR.
fn vgpr_line(n: u16, slice: i32) -> Mem {
    mem(VGPRS, 256 * (n as i32 - VGPR_BIAS) + 64 * slice)
}
