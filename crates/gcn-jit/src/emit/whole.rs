//! Operands on their way to a helper that does something for all lanes at once, and its call.

use super::*;
use crate::lower::Whole;

impl Emit<'_> {
    /// The slice's operands go where the helper reads them.
    pub fn stage(&mut self, w: &Whole) {
        self.let_go();
        for (n, &id) in w.inputs.iter().enumerate() {
            let r = self.zreg(id, 0);
            let to = self.by_slice(ctx!(stage, 256 * n));
            self.a.z(op::MOVDQU32_ST, r, 0, Rm::M(to));
        }
    }

    /// Calls the helper when all lanes' operands are there. No vector register holds anything then.
    pub fn call_whole(&mut self, w: &Whole) {
        let Some(what) = w.act.encode() else {
            self.failed = true;
            return;
        };
        let restart = self.restart();
        self.a.ldmxcsr(ctx!(host_mxcsr));
        self.a.vzeroupper();
        self.a.mov(true, RDI, Rm::R(CTX));
        self.a.imm(RSI, what);
        self.a.call(Rm::M(ctx!(whole)));
        self.a.ldmxcsr(mxcsr_of(self.default));
        self.a.test(false, RAX, RAX);
        self.a.jcc(Cc::Ne, restart);
    }
}
