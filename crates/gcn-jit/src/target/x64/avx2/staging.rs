//! Staged operands of wave-wide helpers. Compiled code does some helpers' work itself.

use super::*;
use crate::target::x64::atomic::DATA;
use crate::target::x64::lds::staged;
use crate::target::x64::vectors::StagedAddresses;
use gcn_isa::meaning::AtomicOp;

/// Returns the operation that reduces data.
fn reduction(j: &Joined) -> X {
    match (j.op, j.signed) {
        (AtomicOp::Min, true) => MINSD,
        (AtomicOp::Min, false) => MINUD,
        (AtomicOp::Max, true) => MAXSD,
        (AtomicOp::Max, false) => MAXUD,
        (AtomicOp::And, _) => AND,
        (AtomicOp::Or, _) => OR,
        (AtomicOp::Xor, _) => XOR,
        _ => ADDD,
    }
}

/// Returns the staged operand of 8 lanes.
fn staged_half(operand: usize, half: u8) -> H {
    let m = staged(operand, 0);
    H::M(Mem {
        disp: m.disp + 32 * half as i32,
        ..m
    })
}

impl Emit<'_, Avx2> {
    /// Loads a mask of the active lanes of a half.
    fn active_lanes(&mut self, half: u8, r: u8) {
        let m = sgpr_home(EXEC as u8);
        let at = At::same(Mem {
            disp: m.disp + half as i32,
            ..m
        });
        self.mask_of_bits(at, r);
    }
}

impl Staging for Avx2 {
    fn staged_in_lds(e: &mut Emit<'_, Avx2>, addresses: StagedAddresses<'_>, other: Label) {
        let StagedAddresses {
            operands,
            limit,
            bytes,
            multiple,
        } = addresses;
        // The registers get the highest address, and the bits that are 1 in any address.
        let (most, any, mask, t) = (0, 1, 2, 3);
        e.a.y(XOR, most, most, H::R(most));
        e.a.y(XOR, any, any, H::R(any));
        for half in 0..8 {
            e.active_lanes(half, mask);
            for &operand in operands {
                e.a.y(AND, t, mask, staged_half(operand, half));
                e.a.y(MAXUD, most, most, H::R(t));
                if multiple > 1 {
                    e.a.y(OR, any, any, H::R(t));
                }
            }
        }
        e.last_in_lds(limit, bytes, other);
        Avx2::broadcast_gpr(e.a, t, RAX);
        e.a.y(MINUD, t, t, H::R(most));
        e.a.y(EQD, t, t, H::R(most));
        if multiple > 1 {
            let cut = e.a.d32(multiple as u32 - 1);
            let zero = e.a.d32(0);
            e.a.y(AND, any, any, cut);
            e.a.y(EQD, any, any, zero);
            e.a.y(AND, t, t, H::R(any));
        }
        e.bits_of(RAX, t);
        e.a.alu_imm(alu::CMP, false, Rm::R(RAX), 0xff);
        e.a.jcc(Cc::Ne, other);
    }

    fn reduce_staged(e: &mut Emit<'_, Avx2>, j: &Joined) {
        let with = reduction(j);
        let none = e.a.d32(j.none());
        let (mask, t) = (2, 3);
        // Two registers accumulate the data of the active lanes.
        for r in [0, 1] {
            e.a.y(LOAD, r, 0, none);
        }
        for half in 0..8 {
            e.active_lanes(half, mask);
            e.a.y(LOAD, t, 0, none);
            e.a.yi(BLENDV, t, t, staged_half(DATA, half), mask << 4);
            let to = half & 1;
            e.a.y(with, to, to, H::R(t));
        }
        e.a.y(with, 0, 0, H::R(1));
        e.a.yi(EXTRACT, 0, 0, H::R(1), 1);
        e.a.y(with, 0, 0, H::R(1));
        for by in [0x4e, 0xb1] {
            e.a.yi(X(1, 1, 0, 0x70), 1, 0, H::R(0), by);
            e.a.y(with, 0, 0, H::R(1));
        }
        e.a.x(MOVD_TO, 0, 0, H::R(RCX));
    }

    fn store_staged(e: &mut Emit<'_, Self>, l: &Lanes, range: Range) -> Label {
        e.store_staged(l, range)
    }

    fn write_staged(e: &mut Emit<'_, Avx2>, operand: usize, vgpr: u8) {
        for half in 0..8 {
            let home = vgpr_line(vgpr as u16, 0);
            let home = Mem {
                disp: home.disp + 32 * half as i32,
                ..home
            };
            e.active_lanes(half, 2);
            e.a.y(LOAD, 0, 0, H::M(home));
            e.a.yi(BLENDV, 0, 0, staged_half(operand, half), 2 << 4);
            e.a.y(STORE, 0, 0, H::M(home));
        }
    }

    fn store_two(e: &mut Emit<'_, Avx2>, two: Two) {
        e.a.mov(true, RDI, Rm::R(RCX));
        let of = |operand: usize| Mem {
            index: Some((RCX, 4)),
            ..ctx!(stage, 256 * operand)
        };
        for which in 0..2 {
            for k in 0..two.dwords {
                let (top, done) = (e.a.label(), e.a.label());
                e.a.mov(true, R8, Rm::M(sgpr_home(EXEC as u8)));
                e.a.test(true, R8, R8);
                e.a.jcc(Cc::E, done);
                e.a.bind(top);
                e.a.tzcnt(true, RCX, R8);
                e.a.mov(false, RDX, Rm::M(of(2 * which)));
                e.a.mov(false, RSI, Rm::M(of(4 + which * two.dwords + k)));
                let to = Mem {
                    index: Some((RDX, 1)),
                    ..mem(RDI, 4 * k as i32)
                };
                e.a.store(false, to, RSI);
                e.a.blsr(true, R8, R8);
                e.a.jcc(Cc::Ne, top);
                e.a.bind(done);
            }
        }
    }
}
