//! Code that counts, and names of memory operands for listings.
//!
//! Code made for counting begins each block by adding one to the block's runs, the active lanes to its lanes, and the time
//! since the previous block began to the previous block's ticks. The clock is the host's time stamp counter.

use super::*;
use crate::context::Tally;

/// Returns the name of the context's field at a displacement.
pub(super) fn field(displacement: usize) -> Option<&'static str> {
    let fields = [
        (offset_of!(Ctx, tables.lanes), "lane numbers"),
        (offset_of!(Ctx, tables.strides), "strides"),
        (offset_of!(Ctx, tables.even), "even elements"),
        (offset_of!(Ctx, tables.odd), "odd elements"),
        (offset_of!(Ctx, tables.zip_low), "zip"),
        (offset_of!(Ctx, addresses), "helper's addresses"),
        (offset_of!(Ctx, data), "helper's data"),
        (offset_of!(Ctx, current.wave), ""),
        (offset_of!(Ctx, memory.bias), "bias"),
        (offset_of!(Ctx, memory.pages), ""),
        (offset_of!(Ctx, memory.start), "linear base"),
        (offset_of!(Ctx, memory.bytes), "linear bytes"),
        (offset_of!(Ctx, lds.base), "LDS"),
        (offset_of!(Ctx, lds.bytes), "LDS bytes"),
        (offset_of!(Ctx, clock.fuel), "fuel"),
        (offset_of!(Ctx, clock.synced), ""),
        (offset_of!(Ctx, helpers.interpret), "interpreter"),
        (offset_of!(Ctx, helpers.load), ""),
        (offset_of!(Ctx, call.mxcsr), "MXCSR"),
        (offset_of!(Ctx, call.lanes), "lanes on"),
        (offset_of!(Ctx, scalars), "scalar"),
        (offset_of!(Ctx, grid), "grid"),
        (offset_of!(Ctx, saved.vectors), "saved"),
        (offset_of!(Ctx, vectors), "spilled"),
        (offset_of!(Ctx, remembered.ranges), "range"),
        (offset_of!(Ctx, remembered.tags), "range's tag"),
        (offset_of!(Ctx, lookup), "look-up"),
        (offset_of!(Ctx, tiles), "tiles"),
        (offset_of!(Ctx, lanes.vgprs), "the lane's VGPR"),
        (offset_of!(Ctx, lanes.sgprs), "the lane's SGPR"),
        (offset_of!(Ctx, lanes.bits), "the lane's bit"),
        (offset_of!(Ctx, lanes.masks), "lanes' masks"),
        (offset_of!(Ctx, lanes.last), "last lane's SGPR"),
        (offset_of!(Ctx, lanes.spills), "spilled"),
        (offset_of!(Ctx, lanes.exec), "lanes"),
        (offset_of!(Ctx, lanes.saved), "saved VGPR"),
        (offset_of!(Ctx, lanes.held), "held fuel"),
        (offset_of!(Ctx, lanes.reached), "reached"),
        (offset_of!(Ctx, lanes.accessed), "lanes' ranges"),
        (offset_of!(Ctx, lanes.log), "log"),
        (offset_of!(Ctx, lanes.choices), "choice of lanes"),
        (offset_of!(Ctx, left_early), "left early"),
        (offset_of!(Ctx, outside), ""),
    ];
    let known = fields.into_iter().filter(|f| f.0 <= displacement);
    let (_, name) = known.max_by_key(|f| f.0)?;
    (!name.is_empty()).then_some(name)
}

impl<V: Vectors> Emit<'_, V> {
    /// Emits the counting at a block's start.
    pub(super) fn tally(&mut self, number: usize) {
        let at = |field: usize| mem(CTX, field as i32);
        let kept = [RAX, RCX, RDX];
        for (n, r) in kept.into_iter().enumerate() {
            self.a
                .store(true, at(offset_of!(Ctx, counts.saved) + 8 * n), r);
        }
        let here = |offset: usize| Mem {
            index: None,
            ..mem(RCX, offset as i32)
        };
        self.a.buf.extend([0x0f, 0x31]); // rdtsc
        self.a.shift_imm(4, true, RDX, 32);
        self.a.alu(alu::OR, true, RAX, Rm::R(RDX));
        self.a.mov(true, RDX, Rm::R(RAX));
        self.a.alu(
            alu::SUB,
            true,
            RDX,
            Rm::M(at(offset_of!(Ctx, counts.since))),
        );
        self.a.store(true, at(offset_of!(Ctx, counts.since)), RAX);
        self.a
            .mov(true, RCX, Rm::M(at(offset_of!(Ctx, counts.now))));
        self.a
            .g(true, &[0x01], RDX, Rm::M(here(offset_of!(Tally, ticks)))); // add
        self.a
            .mov(true, RCX, Rm::M(at(offset_of!(Ctx, counts.tallies))));
        let bytes = (number * size_of::<Tally>()) as i32;
        self.a.alu_imm(alu::ADD, true, Rm::R(RCX), bytes);
        self.a.store(true, at(offset_of!(Ctx, counts.now)), RCX);
        self.a
            .alu_imm(alu::ADD, true, Rm::M(here(offset_of!(Tally, times))), 1);
        self.a.buf.push(0xf3); // popcnt
        self.a
            .g(true, &[0x0f, 0xb8], RAX, Rm::M(sgpr_home(EXEC as u8)));
        self.a
            .g(true, &[0x01], RAX, Rm::M(here(offset_of!(Tally, lanes))));
        for (n, r) in kept.into_iter().enumerate() {
            self.a
                .mov(true, r, Rm::M(at(offset_of!(Ctx, counts.saved) + 8 * n)));
        }
    }

    /// Emits the counting of one more run by all lanes of some blocks, or of one less.
    pub(super) fn tally_runs(&mut self, numbers: &[usize], more: bool) {
        if numbers.is_empty() {
            return;
        }
        let kept = mem(CTX, offset_of!(Ctx, counts.saved) as i32);
        self.a.store(true, kept, RCX);
        self.a.mov(
            true,
            RCX,
            Rm::M(mem(CTX, offset_of!(Ctx, counts.tallies) as i32)),
        );
        for number in numbers {
            for (field, by) in [
                (offset_of!(Tally, times), 1),
                (offset_of!(Tally, lanes), 64),
            ] {
                let at = mem(RCX, (number * size_of::<Tally>() + field) as i32);
                let op = if more { alu::ADD } else { alu::SUB };
                self.a.alu_imm(op, true, Rm::M(at), by);
            }
        }
        self.a.mov(true, RCX, Rm::M(kept));
    }
}
