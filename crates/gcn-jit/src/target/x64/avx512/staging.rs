//! Operands of wave-wide helpers.

use super::*;
use crate::ir::region::WaveHelperCall;

impl Emit<'_, Avx512> {
    /// Stores the slice's operands where the helper reads them.
    pub fn stage(&mut self, w: &WaveHelperCall) {
        self.let_go();
        for (n, &id) in w.inputs.iter().enumerate() {
            if !self.staged(w, n) {
                continue;
            }
            let r = self.zreg(id, 0);
            let to = self.by_slice(ctx!(stage, 256 * n));
            self.a.z(op::MOVDQU32_ST, r, 0, Rm::M(to));
        }
    }

    /// Stores operands that are the same for a slice where the helper reads them.
    pub(super) fn stage_apart(&mut self, inputs: &[(usize, Id)]) {
        let looped = std::mem::take(&mut self.looped);
        for slice in 0..4 {
            self.slice = slice;
            self.v.z = Bank::default();
            self.let_go();
            for &(n, id) in inputs {
                let r = self.zreg(id, 0);
                let to = self.by_slice(ctx!(stage, 256 * n));
                self.a.z(op::MOVDQU32_ST, r, 0, Rm::M(to));
            }
        }
        self.v.z = Bank::default();
        self.looped = looped;
    }
}
