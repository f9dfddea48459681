//! Single lanes of VGPRs.

use super::*;

impl<V: Vectors> Emit<'_, V> {
    /// `to`: what the lane that `lane` numbers had.
    pub(super) fn lane_in(&mut self, to: Gpr, v: u16, lane: Id) {
        let at = self.lane_of(v, lane);
        self.a.mov(false, to, Rm::M(at));
    }

    /// Where the lane of a VGPR is that a scalar numbers. RAX may be spent.
    pub(super) fn lane_of(&mut self, v: u16, lane: Id) -> Mem {
        let home = vgpr_line(v, 0);
        match self.konst(lane) {
            Some(lane) => Mem {
                disp: home.disp + 4 * (lane as i32 & 63),
                ..home
            },
            None => {
                self.sload(RAX, lane);
                Mem {
                    index: Some((RAX, 4)),
                    ..home
                }
            }
        }
    }

    /// Lanes that take a scalar.
    pub(super) fn lane_inserts(&mut self) {
        let c = self.c;
        for &(v, lane, value) in &c.effects.lane_inserts {
            self.sload(RCX, value);
            let at = self.lane_of(v, lane);
            self.a.store(false, at, RCX);
        }
    }
}
