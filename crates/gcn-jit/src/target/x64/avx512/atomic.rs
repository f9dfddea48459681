//! Reductions of staged data, and staged results.

use super::*;
use crate::target::x64::atomic::DATA;
use crate::target::x64::lds::{exec_of, staged};
use gcn_isa::meaning::AtomicOp;

/// The operation that reduces data.
fn reduction(j: &Joined) -> E {
    match (j.op, j.signed) {
        (AtomicOp::Min, true) => op::MINSD,
        (AtomicOp::Min, false) => op::MINUD,
        (AtomicOp::Max, true) => op::MAXSD,
        (AtomicOp::Max, false) => op::MAXUD,
        (AtomicOp::And, _) => op::ANDD,
        (AtomicOp::Or, _) => op::ORD,
        (AtomicOp::Xor, _) => op::XORD,
        _ => op::ADDD,
    }
}

impl Emit<'_, Avx512> {
    pub(super) fn reduce_staged(&mut self, j: &Joined) {
        // Two registers gather the data of the active lanes, of two slices each.
        let with = reduction(j);
        for slice in 0..4 {
            let to = slice & 1;
            if slice < 2 {
                self.bcast_const(to, j.none() as u64, false);
            }
            self.a.kload16(1, exec_of(slice));
            let data = Rm::M(staged(DATA, slice));
            self.a.zk(with, to, to, data, keep(1));
        }
        self.a.z(with, 0, 0, Rm::R(1));
        for _ in 0..4 {
            self.mix(Mix::Even, 1, 0, Rm::R(0));
            self.mix(Mix::Odd, 2, 0, Rm::R(0));
            self.a.z(with, 0, 1, Rm::R(2));
        }
        self.a.evex(op::MOVD_ST, 0, 0, 0, Rm::R(RCX), ALL, None);
    }

    pub(super) fn write_staged(&mut self, operand: usize, vgpr: u8) {
        for slice in 0..4 {
            self.a.kload16(1, exec_of(slice));
            let from = Rm::M(staged(operand, slice));
            self.a.z(op::MOVDQU32, 0, 0, from);
            let home = vgpr_line(vgpr as u16, slice);
            self.a.zk(op::MOVDQU32_ST, 0, 0, Rm::M(home), keep(1));
        }
    }
}
