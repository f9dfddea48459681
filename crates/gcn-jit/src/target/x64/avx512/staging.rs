//! Operands of wave-wide helpers. Code does some helpers' work itself.

use super::inst::bcast_const;
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
                bcast_const(self.a, to, j.none() as u64, false);
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

    /// Jumps unless all addresses in the staged operands are multiples of a power of two and the bytes from them on are
    /// within LDS. All vector registers and opmasks may be clobbered; RAX and RDX are.
    pub(super) fn staged_in_lds(
        &mut self,
        operands: &[usize],
        limit: Id,
        bytes: i32,
        multiple: u64,
        other: Label,
    ) {
        // The highest address, and the bits that are 1 in some.
        self.a.z(op::XORD, 0, 0, Rm::R(0));
        self.a.z(op::XORD, 1, 1, Rm::R(1));
        for slice in 0..4 {
            self.a.kload16(1, exec_of(slice));
            for &operand in operands {
                let from = Rm::M(staged(operand, slice));
                self.a.zk(op::MAXUD, 0, 0, from, keep(1));
                if multiple > 1 {
                    self.a.zk(op::ORD, 1, 1, from, keep(1));
                }
            }
        }
        self.last_in_lds(limit, bytes, other);
        self.a.z(op::BCASTD_R, 2, 0, Rm::R(RAX));
        self.a.zi(op::CMPUD, 1, 0, Rm::R(2), ALL, 6);
        if multiple > 1 {
            self.a.zk(op::TESTMD, 2, 1, Rm::C(multiple - 1), ALL);
            self.a.kop(kop::OR, 1, 1, 2);
        }
        self.a.kortest(1, 1);
        self.a.jcc(Cc::Ne, other);
    }

    /// Stores what is staged to LDS at RCX: all lanes' first values, then the second ones.
    pub(super) fn store_two(&mut self, two: Two) {
        let to = |index: u8| {
            Rm::M(Mem {
                base: RCX,
                index: Some((index, 1)),
                disp: 0,
            })
        };
        for which in 0..2 {
            for slice in 0..4 {
                let data = 4 + which * two.dwords;
                self.a.kload16(1, exec_of(slice));
                self.a
                    .z(op::MOVDQU32, 0, 0, Rm::M(staged(2 * which, slice)));
                self.a.z(op::MOVDQU32, 1, 0, Rm::M(staged(data, slice)));
                if two.dwords == 1 {
                    self.a.zk(op::SCATTERDD, 1, 0, to(0), keep(1));
                    continue;
                }
                let high = Rm::M(staged(data + 1, slice));
                self.a.kshiftr(2, 1, 8);
                self.mix(Mix::ZipLow, 2, 1, high);
                self.a.zk(op::SCATTERDQ, 2, 0, to(0), keep(1));
                self.mix(Mix::ZipHigh, 3, 1, high);
                self.a.zi(op::EXTRACT256, 0, 0, Rm::R(4), ALL, 1);
                self.a.zk(op::SCATTERDQ, 3, 0, to(4), keep(2));
            }
        }
    }
}
