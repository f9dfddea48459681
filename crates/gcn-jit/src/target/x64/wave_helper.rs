//! Calls of wave-wide helpers, and their operands.

use super::*;
use crate::ir::region::WaveHelper;
use crate::ir::region::WaveHelperCall;

impl<V: Vectors> Emit<'_, V> {
    /// Returns the helper call at the block's end. Stores of several dwords to memory also use a helper, because after a fault memory
    /// must contain the preceding lanes' stores, element by element.
    pub fn wave_helper_call(&self) -> Option<WaveHelperCall> {
        let c = self.c;
        if c.effects.wave_helper.is_some() {
            return c.effects.wave_helper.clone();
        }
        let s = c
            .effects
            .store
            .as_ref()
            .filter(|_| c.affine.store.is_none())?;
        if s.space == Space::Lds || s.data.len() < 2 || s.bytes != 4 {
            return None;
        }
        let mut inputs = vec![s.lo, s.hi];
        inputs.extend(&s.data);
        let helper = WaveHelper::Store {
            space: s.space,
            dwords: s.data.len() as u8,
            two: false,
            offset: s.offset,
        };
        Some(WaveHelperCall { helper, inputs })
    }

    /// Calls the helper after all lanes' operands have been staged. Vector registers are free at this point.
    pub fn call_wave_helper(&mut self, w: &WaveHelperCall) {
        let Some(what) = w.helper.encode() else {
            self.mistaken();
            return;
        };
        let done = match (self.joined(w), self.two_in_lds(w), self.lanes_in_lds(w)) {
            (Some(j), ..) => Some(self.join(&j)),
            (_, Some(two), _) => Some(self.two_to_lds(two)),
            (.., Some(lanes)) => Some(self.lane_after_lane(lanes)),
            _ => None,
        };
        let done = done.or_else(|| self.store_together(w));
        let lanes = self.in_memory(w).map(|m| self.lanes_to_memory(m));
        let restart = self.restart();
        self.a.ldmxcsr(ctx!(call.host_mxcsr));
        self.a.vzeroupper();
        self.a.mov(true, RDI, Rm::R(CTX));
        self.a.imm(RSI, what);
        self.a.call(Rm::M(ctx!(helpers.wave)));
        self.a.ldmxcsr(mxcsr_of(self.common.default));
        self.a.test(false, RAX, RAX);
        self.a.jcc(Cc::Ne, restart);
        for done in done.into_iter().chain(lanes) {
            self.a.bind(done);
        }
    }

    /// Reports the block's accesses to a probe. Nothing can fail any more, and vector registers are free.
    pub fn call_recorder(&mut self) {
        let c = self.c;
        if c.effects.accesses.is_empty() {
            return;
        }
        self.leave_regs(0);
        let mut what = 0;
        for (n, access) in c.effects.accesses.iter().enumerate() {
            let Some(code) = access.encode(&c.graph) else {
                self.mistaken();
                return;
            };
            what |= (code as u64) << (8 * n);
            if !access.is_uniform(&c.graph) {
                continue;
            }
            if access.lds {
                self.sload(RAX, access.lo);
                self.a.mov(false, RAX, Rm::R(RAX));
            } else {
                self.sload(RAX, access.hi);
                self.a.shift_imm(4, true, RAX, 32);
                self.sload(RDX, access.lo);
                self.a.mov(false, RDX, Rm::R(RDX));
                self.a.alu(alu::OR, true, RAX, Rm::R(RDX));
            }
            self.a.store(true, ctx!(recorded.addresses, 512 * n), RAX);
        }
        self.a.vzeroupper();
        self.a.mov(true, RDI, Rm::R(CTX));
        self.a.imm(RSI, what);
        self.a.call(Rm::M(ctx!(recorded.tell)));
    }
}
