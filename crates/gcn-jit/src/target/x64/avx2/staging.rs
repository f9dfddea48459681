//! Operands of wave-wide helpers. Code does some helpers' work itself.

use super::*;
use crate::target::x64::atomic::DATA;
use crate::target::x64::lds::staged;
use gcn_isa::meaning::AtomicOp;

/// The operation that reduces data.
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

/// 8 lanes' staged operand.
fn staged_half(operand: usize, half: u8) -> H {
    let m = staged(operand, 0);
    H::M(Mem {
        disp: m.disp + 32 * half as i32,
        ..m
    })
}

impl Emit<'_, Avx2> {
    /// A mask of the active lanes among the eight of this number.
    fn active_lanes(&mut self, half: u8, r: u8) {
        let m = sgpr_home(EXEC as u8);
        let at = At::same(Mem {
            disp: m.disp + half as i32,
            ..m
        });
        self.mask_of_bits(at, r, RCX);
    }

    pub(super) fn staged_in_lds(
        &mut self,
        operands: &[usize],
        limit: Id,
        bytes: i32,
        multiple: u64,
        other: Label,
    ) {
        // The highest address, and the bits that are 1 in some.
        let (most, any, mask, t) = (0, 1, 2, 3);
        self.a.y(XOR, most, most, H::R(most));
        self.a.y(XOR, any, any, H::R(any));
        for half in 0..8 {
            self.active_lanes(half, mask);
            for &operand in operands {
                self.a.y(AND, t, mask, staged_half(operand, half));
                self.a.y(MAXUD, most, most, H::R(t));
                if multiple > 1 {
                    self.a.y(OR, any, any, H::R(t));
                }
            }
        }
        self.last_in_lds(limit, bytes, other);
        Avx2::broadcast_gpr(self.a, t, RAX);
        self.a.y(MINUD, t, t, H::R(most));
        self.a.y(EQD, t, t, H::R(most));
        if multiple > 1 {
            let cut = self.a.d32(multiple as u32 - 1);
            let zero = self.a.d32(0);
            self.a.y(AND, any, any, cut);
            self.a.y(EQD, any, any, zero);
            self.a.y(AND, t, t, H::R(any));
        }
        self.bits_of(RAX, t);
        self.a.alu_imm(alu::CMP, false, Rm::R(RAX), 0xff);
        self.a.jcc(Cc::Ne, other);
    }

    pub(super) fn reduce_staged(&mut self, j: &Joined) {
        let with = reduction(j);
        let none = self.a.d32(j.none());
        let (mask, t) = (2, 3);
        // Two registers gather the data of the active lanes.
        for r in [0, 1] {
            self.a.y(LOAD, r, 0, none);
        }
        for half in 0..8 {
            self.active_lanes(half, mask);
            self.a.y(LOAD, t, 0, none);
            self.a.yi(BLENDV, t, t, staged_half(DATA, half), mask << 4);
            let to = half & 1;
            self.a.y(with, to, to, H::R(t));
        }
        self.a.y(with, 0, 0, H::R(1));
        self.a.yi(EXTRACT, 0, 0, H::R(1), 1);
        self.a.y(with, 0, 0, H::R(1));
        for by in [0x4e, 0xb1] {
            self.a.yi(X(1, 1, 0, 0x70), 1, 0, H::R(0), by);
            self.a.y(with, 0, 0, H::R(1));
        }
        self.a.x(MOVD_TO, 0, 0, H::R(RCX));
    }

    pub(super) fn write_staged(&mut self, operand: usize, vgpr: u8) {
        for half in 0..8 {
            let home = vgpr_line(vgpr as u16, 0);
            let home = Mem {
                disp: home.disp + 32 * half as i32,
                ..home
            };
            self.active_lanes(half, 2);
            self.a.y(LOAD, 0, 0, H::M(home));
            self.a.yi(BLENDV, 0, 0, staged_half(operand, half), 2 << 4);
            self.a.y(STORE, 0, 0, H::M(home));
        }
    }

    pub(super) fn store_two(&mut self, two: Two) {
        self.a.mov(true, RDI, Rm::R(RCX));
        let of = |operand: usize| Mem {
            index: Some((RCX, 4)),
            ..ctx!(stage, 256 * operand)
        };
        for which in 0..2 {
            for k in 0..two.dwords {
                let (top, done) = (self.a.label(), self.a.label());
                self.a.mov(true, R8, Rm::M(sgpr_home(EXEC as u8)));
                self.a.test(true, R8, R8);
                self.a.jcc(Cc::E, done);
                self.a.bind(top);
                self.a.tzcnt(true, RCX, R8);
                self.a.mov(false, RDX, Rm::M(of(2 * which)));
                self.a
                    .mov(false, RSI, Rm::M(of(4 + which * two.dwords + k)));
                let to = Mem {
                    index: Some((RDX, 1)),
                    ..mem(RDI, 4 * k as i32)
                };
                self.a.store(false, to, RSI);
                self.a.blsr(true, R8, R8);
                self.a.jcc(Cc::Ne, top);
                self.a.bind(done);
            }
        }
    }
}
