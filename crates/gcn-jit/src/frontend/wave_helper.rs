//! Instructions that a wave-wide helper executes: atomics, and values sent to other lanes.

use super::*;

impl Builder<'_> {
    /// Makes a helper call with these operands the block's last instruction.
    pub(super) fn helper(
        &mut self,
        act: WaveHelper,
        inputs: Vec<Id>,
        out: &mut Changes,
    ) -> Result<(), Refusal> {
        if out.wave_helper.is_some() || out.store.is_some() || !out.rows.is_empty() {
            return Err(Refusal::Interpreter);
        }
        if inputs.len() > WaveHelper::OPERANDS {
            return Err(Refusal::Interpreter);
        }
        if self.memory.store.is_some()
            || !self.memory.deferred.is_empty()
            || !self.memory.rows.is_empty()
            || !self.indexed.is_empty()
        {
            return Err(Refusal::NewBlock);
        }
        act.encode().ok_or(Refusal::Interpreter)?;
        out.wave_helper = Some(WaveHelperCall {
            helper: act,
            inputs,
        });
        Ok(())
    }

    /// Adds two stores to LDS, one after the other: as deferred stores if the addresses are affine, otherwise by a helper.
    pub(super) fn two_stores(&mut self, b: Store, out: &mut Changes) -> Result<(), Refusal> {
        let Some(a) = out.store.take().filter(|a| a.data.len() == b.data.len()) else {
            return Err(Refusal::Interpreter);
        };
        if a.data.len() <= 2 && self.side_by_side(&a, &b) {
            let mut both = a.clone();
            both.data.extend(&b.data);
            if self.affine_addresses(&[&both]) {
                out.waits = true;
                out.store = Some(both);
                return Ok(());
            }
        }
        if self.affine_addresses(&[&a, &b]) {
            out.waits = true;
            (out.store, out.store2) = (Some(a), Some(b));
            return Ok(());
        }
        let act = WaveHelper::Store {
            space: Space::Lds,
            dwords: a.data.len() as u8,
            two: true,
            offset: 0,
        };
        let mut inputs = vec![a.lo, a.hi, b.lo, b.hi];
        inputs.extend(a.data.iter().chain(&b.data));
        self.helper(act, inputs, out)
    }

    /// Returns true if the second store begins where the first one ends.
    fn side_by_side(&self, a: &Store, b: &Store) -> bool {
        let base = |id: Id| {
            let n = self.g.get(id);
            match (n.op, self.g.value_of(n.args[1])) {
                (Inst::Alu(Op::Add), Some(by)) if n.ty.bits() == 32 => (n.args[0], by),
                _ => (id, 0),
            }
        };
        let ((x, from), (y, to)) = (base(a.lo), base(b.lo));
        x == y && to == from + 4 * a.data.len() as u64 && (a.hi, a.offset) == (b.hi, b.offset)
    }

    pub(super) fn atomic(
        &mut self,
        (space, op, ty): (Space, AtomicOp, Ty),
        address: Val,
        data: [Val; 2],
        out: &mut Changes,
    ) -> Result<Val, Refusal> {
        let address = match address {
            Val::Address(id, plus) => self.plus(id, plus)?,
            Val::Id(id) => id,
            _ => return Err(Refusal::Interpreter),
        };
        let (lo, hi) = self.split_address(space, address, out)?;
        let bytes = ty.bits() as u8 / 8;
        self.record_lanes((MemoryKind::Atomic, space, bytes), (lo, hi, 0), out)?;
        let mut inputs = vec![lo, hi];
        for value in data {
            let Val::Id(value) = value else {
                return Err(Refusal::Interpreter);
            };
            inputs.extend([self.g.lo(value), self.g.hi(value)]);
        }
        let dst = None;
        self.helper(WaveHelper::Atomic { space, op, ty, dst }, inputs, out)?;
        Ok(Val::Old(0))
    }

    /// Writes 32 bits of an atomic's old value, from bit `shift` on, to a register.
    pub(super) fn give_old(
        &mut self,
        o: &Opnd,
        dword: u8,
        shift: u8,
        out: &mut Changes,
    ) -> Result<(), Refusal> {
        let OperandLocation::Vgpr(n) = o.location else {
            return Err(Refusal::Interpreter);
        };
        let first = (n + dword as u16)
            .checked_sub(shift as u16 / 32)
            .and_then(|n| u8::try_from(n).ok())
            .ok_or(Refusal::Interpreter)?;
        let Some(WaveHelperCall {
            helper: WaveHelper::Atomic { dst, ty, .. },
            ..
        }) = &mut out.wave_helper
        else {
            return Err(Refusal::Interpreter);
        };
        // VGPRs that the wave does not have are not written.
        if ty.bits() == 32 && first as u16 >= self.s.vgprs {
            return Ok(());
        }
        if dst.is_some_and(|d| d != first) {
            return Err(Refusal::Interpreter);
        }
        *dst = Some(first);
        let count = ty.dwords() as u16;
        out.helped = (0..count).map(|k| first as u16 + k).collect();
        Ok(())
    }
}
