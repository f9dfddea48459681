//! Values of other lanes: VGPRs in memory as they were at the block's start, and permutations within 16 lanes.

use super::*;

impl Emit<'_, Avx512> {
    /// Of each lane: what the lane that it numbers had.
    pub(super) fn lanes_in(&mut self, id: Id, v: u16, lanes: Id) {
        let x = self.zreg(lanes, 0);
        self.hold(x);
        let d = self.define(id, 0);
        let k = self.ktemp();
        self.a.kop(kop::OR, k, K_EXEC, K_EXEC);
        self.a.z(op::XORD, d, d, Rm::R(d));
        let at = Mem {
            index: Some((x, 4)),
            ..vgpr_line(v, 0)
        };
        self.a.zk(op::GATHERDD, d, 0, Rm::M(at), keep(k));
    }

    /// The VGPR that a scalar numbers.
    pub(super) fn vgpr_at(&mut self, id: Id, number: Id) {
        let d = self.define(id, 0);
        self.sload(RAX, number);
        self.a.shift_imm(4, true, RAX, 8);
        self.a.alu(alu::ADD, true, RAX, Rm::R(VGPRS));
        let at = self.by_slice(mem(RAX, -VGPR_BIAS * 256));
        self.a.z(op::MOVDQU32, d, 0, Rm::M(at));
    }

    /// The lanes of `x` that the digits number.
    pub(super) fn shuffle(&mut self, id: Id, digits: u64, x: Id) {
        let x = self.zreg(x, 0);
        self.hold(x);
        let d = self.define(id, 0);
        // Digits of even lanes in the lower half, of odd ones in the upper.
        let mut packed = 0u64;
        for lane in 0..16 {
            let digit = digits >> (4 * lane) & 15;
            packed |= digit << (4 * (lane / 2) + 32 * (lane % 2));
        }
        self.a.z(op::BCASTQ, d, 0, Rm::C(packed));
        self.a.z(op::SRLVD, d, d, Rm::M(ctx!(nibbles)));
        self.a.z(op::PERMD, d, d, Rm::R(x));
    }
}
