//! Staged operands of wave-wide helpers. Compiled code does some helpers' work itself.

use super::inst::bcast_const;
use super::*;
use crate::target::x64::atomic::DATA;
use crate::target::x64::lds::{exec_of, staged};
use crate::target::x64::vectors::StagedAddresses;
use gcn_isa::meaning::AtomicOp;

/// Returns the operation that reduces data.
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

impl Staging for Avx512 {
    fn staged_in_lds(e: &mut Emit<'_, Avx512>, addresses: StagedAddresses<'_>, other: Label) {
        let StagedAddresses {
            operands,
            limit,
            bytes,
            multiple,
        } = addresses;
        // The registers get the highest address, and the bits that are 1 in any address.
        e.a.z(op::XORD, 0, 0, Rm::R(0));
        e.a.z(op::XORD, 1, 1, Rm::R(1));
        for slice in 0..4 {
            e.a.kload16(1, exec_of(slice));
            for &operand in operands {
                let from = Rm::M(staged(operand, slice));
                e.a.zk(op::MAXUD, 0, 0, from, keep(1));
                if multiple > 1 {
                    e.a.zk(op::ORD, 1, 1, from, keep(1));
                }
            }
        }
        e.last_in_lds(limit, bytes, other);
        e.a.z(op::BCASTD_R, 2, 0, Rm::R(RAX));
        e.a.zi(op::CMPUD, 1, 0, Rm::R(2), ALL, 6);
        if multiple > 1 {
            e.a.zk(op::TESTMD, 2, 1, Rm::C(multiple - 1), ALL);
            e.a.kop(kop::OR, 1, 1, 2);
        }
        e.a.kortest(1, 1);
        e.a.jcc(Cc::Ne, other);
    }

    fn reduce_staged(e: &mut Emit<'_, Avx512>, j: &Joined) {
        // Two registers accumulate the data of the active lanes, of two slices each.
        let with = reduction(j);
        for slice in 0..4 {
            let to = slice & 1;
            if slice < 2 {
                bcast_const(e.a, to, j.none() as u64, false);
            }
            e.a.kload16(1, exec_of(slice));
            let data = Rm::M(staged(DATA, slice));
            e.a.zk(with, to, to, data, keep(1));
        }
        e.a.z(with, 0, 0, Rm::R(1));
        for _ in 0..4 {
            e.mix(Mix::Even, 1, 0, Rm::R(0));
            e.mix(Mix::Odd, 2, 0, Rm::R(0));
            e.a.z(with, 0, 1, Rm::R(2));
        }
        e.a.evex(op::MOVD_ST.l(0), 0, 0, Rm::R(RCX), ALL, None);
    }

    fn store_staged(e: &mut Emit<'_, Self>, l: &Lanes, range: Range) -> Label {
        e.store_staged(l, range)
    }

    fn write_staged(e: &mut Emit<'_, Avx512>, operand: usize, vgpr: u8) {
        for slice in 0..4 {
            e.a.kload16(1, exec_of(slice));
            let from = Rm::M(staged(operand, slice));
            e.a.z(op::MOVDQU32, 0, 0, from);
            let home = vgpr_line(vgpr as u16, slice);
            e.a.zk(op::MOVDQU32_ST, 0, 0, Rm::M(home), keep(1));
        }
    }

    fn store_two(e: &mut Emit<'_, Avx512>, two: Two) {
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
                e.a.kload16(1, exec_of(slice));
                e.a.z(op::MOVDQU32, 0, 0, Rm::M(staged(2 * which, slice)));
                e.a.z(op::MOVDQU32, 1, 0, Rm::M(staged(data, slice)));
                if two.dwords == 1 {
                    e.a.zk(op::SCATTERDD, 1, 0, to(0), keep(1));
                    continue;
                }
                let high = Rm::M(staged(data + 1, slice));
                e.a.kshiftr(2, 1, 8);
                e.mix(Mix::ZipLow, 2, 1, high);
                e.a.zk(op::SCATTERDQ, 2, 0, to(0), keep(1));
                e.mix(Mix::ZipHigh, 3, 1, high);
                e.a.zi(op::EXTRACT256, 0, 0, Rm::R(4), ALL, 1);
                e.a.zk(op::SCATTERDQ, 3, 0, to(4), keep(2));
            }
        }
    }
}
