//! The four slices.

use super::*;

impl Emit<'_, Avx512> {
    /// The active lanes, for an instruction that leaves others as they are.
    pub fn on(&self) -> K {
        match self.full {
            Some(_) => ALL,
            None => keep(K_EXEC),
        }
    }

    /// The same, for one that makes others 0.
    pub fn on_or_zero(&self) -> K {
        match self.full {
            Some(_) => ALL,
            None => zero(K_EXEC),
        }
    }

    /// The active lanes of the upper or the lower eight, of 64 bits each.
    pub fn upper_on(&mut self, upper: bool) -> K {
        if !upper || self.full.is_some() {
            return self.on();
        }
        let k = self.ktemp();
        self.a.kshiftr(k, K_EXEC, 8);
        keep(k)
    }

    /// Writes the code of `turn` for each slice, or once in a loop. The code is skipped for a slice without active lanes; that of `end`
    /// is not. `turn` is given the address of the slice's bits of EXEC.
    pub(super) fn turns(&mut self, turn: impl Fn(&mut Self, Mem), end: impl Fn(&mut Self)) {
        let times = if self.looped { 1 } else { 4 };
        if self.full.is_some() {
            self.a.kop(kop::XNOR, K_EXEC, K_EXEC, K_EXEC);
        }
        if self.looped {
            self.a.imm(SLICE, 0);
        }
        let top = self.a.here();
        for slice in 0..times {
            self.slice = slice;
            if self.full.is_some() {
                turn(self, sgpr_home(EXEC as u8));
                end(self);
                continue;
            }
            let over = self.a.label();
            let exec = self.exec_bits();
            self.a.cmp16_zero(exec);
            self.a.jcc(Cc::E, over);
            turn(self, exec);
            self.a.bind(over);
            end(self);
        }
        if self.looped {
            self.a.alu_imm(alu::ADD, false, Rm::R(SLICE), 8);
            self.a.alu_imm(alu::CMP, false, Rm::R(SLICE), 32);
            self.a.jcc(Cc::Ne, top);
        }
    }
}
