//! What targets share of memory accesses.

use super::*;

/// Bytes from an address on that an access may touch: gathers have no elements of less than four.
pub(super) fn reach(bytes: u8, count: usize) -> u64 {
    (bytes as u64 * count as u64).max(4)
}

impl<V: Vectors> Emit<'_, V> {
    pub(super) fn parts(&self, id: Id, count: u8) -> Vec<Option<Id>> {
        let mut parts = vec![None; count as usize];
        for (at, n) in self.c.graph.iter().enumerate() {
            if let Inst::Part(k) = n.op
                && n.args[0] == id
                && n.vec
                && !self.plan.uses[at].is_empty()
            {
                parts[k as usize] = Some(at as Id);
            }
        }
        parts
    }

    /// RAX becomes the host's address of `bytes` of LDS from EAX on; jumps where they are not all there. RCX is spent.
    pub(super) fn lds_range(&mut self, bytes: i32, limit: Id, bad: Label) {
        self.a.lea(RCX, mem(RAX, bytes));
        self.a.alu(alu::CMP, true, RCX, Rm::M(ctx!(lds_bytes)));
        self.a.jcc(Cc::A, bad);
        if self.konst(limit).is_none_or(|l| l < u32::MAX as u64) {
            self.sload(RDX, limit);
            self.a.alu(alu::CMP, true, RCX, Rm::R(RDX));
            self.a.jcc(Cc::A, bad);
        }
        self.a.alu(alu::ADD, true, RAX, Rm::M(ctx!(lds)));
    }

    pub(super) fn add_high(&mut self, hi: Id, offset: i32) {
        if !self.node(hi).vec && self.konst(hi) != Some(0) {
            self.sload(RDX, hi);
            self.a.shift_imm(4, true, RDX, 32);
            self.a.alu(alu::OR, true, RAX, Rm::R(RDX));
        }
        if offset != 0 {
            self.a.lea(RAX, mem(RAX, offset));
        }
    }

    pub(super) fn add_high_offset(&mut self, offset: i32) {
        if offset != 0 {
            self.a.lea(RAX, mem(RAX, offset));
        }
    }

    /// RAX: the address of the slice's part of a row of dwords, which may be accessed as `need` says.
    pub(super) fn row_address(&mut self, address: Id, offset: i32, need: u8) -> Mem {
        self.sload(RAX, address);
        self.add_slice(offset);
        let restart = self.restart();
        self.check_range(64, need, restart);
        self.of_host(RAX);
        Mem {
            base: BIAS,
            index: Some((RAX, 1)),
            disp: 0,
        }
    }
}
