//! Single lanes of VGPRs.

use super::*;

impl<V: Vectors> Emit<'_, V> {
    /// Loads the lane of a VGPR that the scalar `lane` numbers into `to`.
    pub(super) fn lane_in(&mut self, to: Gpr, v: u16, lane: Id) {
        let at = self.lane_of(v, lane);
        self.a.mov(false, to, Rm::M(at));
    }

    /// Returns the memory of the lane of a VGPR that a scalar numbers. RAX may be clobbered.
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

    /// Writes scalars to the inserted lanes.
    pub(super) fn lane_inserts(&mut self) {
        let c = self.c;
        for &(v, lane, value) in &c.effects.lane_inserts {
            self.sload(RCX, value);
            let at = self.lane_of(v, lane);
            self.a.store(false, at, RCX);
        }
    }
}
