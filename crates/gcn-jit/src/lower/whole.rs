//! What a helper does for all lanes at once: atomics, and what other lanes receive.

use super::*;

impl Builder<'_> {
    /// A helper does the last instruction of the chunk with these operands.
    pub(super) fn helper(
        &mut self,
        act: Act,
        inputs: Vec<Id>,
        out: &mut Changes,
    ) -> Result<(), Not> {
        if out.whole.is_some() || out.store.is_some() || !out.rows.is_empty() {
            return Err(Not::Ever);
        }
        if self.store.is_some() || !self.stores.is_empty() || !self.rows.is_empty() {
            return Err(Not::Here);
        }
        act.encode().ok_or(Not::Ever)?;
        out.whole = Some(Whole { act, inputs });
        Ok(())
    }

    /// A helper stores to two addresses of LDS, one after the other.
    pub(super) fn two_stores(&mut self, b: Store, out: &mut Changes) -> Result<(), Not> {
        let Some(a) = out.store.take().filter(|a| a.data.len() == b.data.len()) else {
            return Err(Not::Ever);
        };
        let act = Act::Store {
            space: Space::Lds,
            dwords: a.data.len() as u8,
            two: true,
            offset: 0,
        };
        let mut inputs = vec![a.lo, a.hi, b.lo, b.hi];
        inputs.extend(a.data.iter().chain(&b.data));
        if inputs.len() > 8 {
            return Err(Not::Ever);
        }
        self.helper(act, inputs, out)
    }

    pub(super) fn atomic(
        &mut self,
        (space, op, ty): (Space, AtomicOp, Ty),
        address: Val,
        data: [Val; 2],
        out: &mut Changes,
    ) -> Result<Val, Not> {
        let address = match address {
            Val::Address(id, plus) => self.plus(id, plus)?,
            Val::Id(id) => id,
            _ => return Err(Not::Ever),
        };
        let (lo, hi) = self.place(space, address, out)?;
        let mut inputs = vec![lo, hi];
        for value in data {
            let Val::Id(value) = value else {
                return Err(Not::Ever);
            };
            inputs.extend([self.g.lo(value), self.g.hi(value)]);
        }
        let dst = None;
        self.helper(Act::Atomic { space, op, ty, dst }, inputs, out)?;
        Ok(Val::Old(0))
    }

    /// A register takes 32 bits of what an atomic found, from bit `shift` on.
    pub(super) fn give_old(
        &mut self,
        o: &Opnd,
        dword: u8,
        shift: u8,
        out: &mut Changes,
    ) -> Result<(), Not> {
        let Place::Vgpr(n) = o.place else {
            return Err(Not::Ever);
        };
        let first = (n + dword as u16)
            .checked_sub(shift as u16 / 32)
            .and_then(|n| u8::try_from(n).ok())
            .ok_or(Not::Ever)?;
        let Some(Whole {
            act: Act::Atomic { dst, ty, .. },
            ..
        }) = &mut out.whole
        else {
            return Err(Not::Ever);
        };
        if dst.is_some_and(|d| d != first) {
            return Err(Not::Ever);
        }
        *dst = Some(first);
        let count = ty.dwords() as u16;
        out.helped = (0..count).map(|k| first as u16 + k).collect();
        Ok(())
    }
}
