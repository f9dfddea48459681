//! Memory at linear addresses whose elements do not lie side by side: gathers and scatters with constant distances.

use super::quad::place;
use super::*;

impl Emit<'_> {
    /// The bytes from lane to lane, where these are not the element's.
    pub(super) fn step_apart(&self, address: u16, size: i32) -> Option<i32> {
        let step = self.c.quads.addresses[address as usize].step;
        (step != size).then_some(step)
    }

    /// A register with the lanes' distances from the first one's place, which stays taken.
    fn distances(&mut self, step: i32) -> u8 {
        let t = self.temp();
        self.hold(t);
        let log = step.trailing_zeros() as usize;
        if step.count_ones() == 1 && log < 8 {
            self.a.z(op::MOVDQU32, t, 0, Rm::M(ctx!(strides, 64 * log)));
        } else {
            self.a.z(op::MOVDQU32, t, 0, Rm::M(ctx!(strides)));
            self.a.z(op::MULLD, t, t, Rm::C(step as u32 as u64));
        }
        t
    }

    pub(super) fn gather_apart(
        &mut self,
        parts: &[Option<Id>],
        step: i32,
        address: u16,
        offset: i32,
    ) {
        let index = self.distances(step);
        let k = self.ktemp();
        self.base_of(address);
        for (n, part) in parts.iter().enumerate() {
            let Some(part) = *part else { continue };
            let d = self.define(part, 0);
            self.hold(d);
            self.a.z(op::XORD, d, d, Rm::R(d));
            self.a.kop(kop::OR, k, K_EXEC, K_EXEC);
            let from = Mem {
                index: Some((index, 1)),
                ..place(offset + 4 * n as i32)
            };
            self.a.zk(op::GATHERDD, d, 0, Rm::M(from), keep(k));
        }
    }

    /// Stores one, two or four dwords a lane, or a number of 64 bits.
    pub(super) fn scatter_apart(
        &mut self,
        bytes: u8,
        data: &[u8],
        step: i32,
        address: u16,
        offset: i32,
    ) {
        let index = self.distances(step);
        let t = self.temp();
        self.hold(t);
        let k = self.ktemp();
        self.base_of(address);
        let at = |disp: i32| {
            Rm::M(Mem {
                index: Some((index, 1)),
                ..place(offset + disp)
            })
        };
        if let (4, &[d]) = (bytes, data) {
            self.a.kop(kop::OR, k, K_EXEC, K_EXEC);
            self.a.zk(op::SCATTERDD, d, 0, at(0), keep(k));
            return;
        }
        // Eight lanes at a time; the others are as far from the ninth as these from the first.
        for (half, mix) in [Mix::ZipLow, Mix::ZipHigh].into_iter().enumerate() {
            let beyond = 8 * step * half as i32;
            let on = |e: &mut Self| match half {
                0 => e.a.kop(kop::OR, k, K_EXEC, K_EXEC),
                _ => e.a.kshiftr(k, K_EXEC, 8),
            };
            if bytes == 8 {
                on(self);
                self.a.zk(op::SCATTERDQ, data[half], 0, at(beyond), keep(k));
                continue;
            }
            for (n, pair) in data.chunks(2).enumerate() {
                self.mix(mix, t, pair[0], Rm::R(pair[1]));
                on(self);
                let to = at(beyond + 8 * n as i32);
                self.a.zk(op::SCATTERDQ, t, 0, to, keep(k));
            }
        }
    }
}
