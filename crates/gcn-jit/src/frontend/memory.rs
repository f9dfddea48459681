//! Addresses of memory instructions, and loads.

use super::*;

impl Builder<'_> {
    /// Returns the address of a memory instruction, and a constant that is added.
    pub(super) fn address(&mut self, insn: &Insn, operands: &[Opnd]) -> Result<(Id, i32), Refusal> {
        let generation = self.s.target.generation();
        let find = |role: Role| find(insn, operands, role);
        match insn.row.format {
            Format::Smem => {
                let raw = insn.field(Field::Offset);
                let immediate = insn.field(Field::Imm) != 0;
                if insn.row.shape.mods == Mods::SmemScratch {
                    return Err(Refusal::Interpreter);
                }
                let sgpr = |b: &mut Self, code: u32| match reg(code as u16, generation) {
                    // The literal counts dwords, like the immediate.
                    Reg::Literal if generation == Gen::Gfx7 => b.c32(insn.literal as u64 * 4),
                    Reg::Sgpr(_) | Reg::Ttmp(_) | Reg::Half(..) | Reg::M0 => b.sgpr(code as u16),
                    _ => b.c32(0),
                };
                let (id, plus): (Option<Id>, i64) = match generation {
                    Gen::Gfx6 | Gen::Gfx7 if immediate => (None, raw as i64 * 4),
                    Gen::Gfx6 | Gen::Gfx7 => (Some(sgpr(self, raw)), 0),
                    Gen::Gfx8 if immediate => (None, raw as i64),
                    Gen::Gfx8 => (Some(sgpr(self, raw & 0x7f)), 0),
                    Gen::Gfx9 => {
                        let signed = ((raw << 11) as i32 >> 11) as i64;
                        match (immediate, insn.field(Field::SoffsetEn) != 0) {
                            (true, true) => (Some(sgpr(self, insn.field(Field::Soffset))), signed),
                            (true, false) => (None, signed),
                            (false, true) => (Some(sgpr(self, insn.field(Field::Soffset))), 0),
                            (false, false) => (Some(sgpr(self, raw & 0x7f)), 0),
                        }
                    }
                };
                let Some(base) = find(Role::Sbase) else {
                    return Err(Refusal::Interpreter);
                };
                if base.ty.bits() > 64 {
                    return Err(Refusal::Interpreter);
                }
                let OperandLocation::Scalar(code) = base.location else {
                    return Err(Refusal::Interpreter);
                };
                let pair = self.sgpr_pair(code);
                let (pair, plus) = self.without_constant(pair, plus);
                let mask = self.g.constant(Ty::B64, !3);
                let mut a = self.g.alu(Op::And, Ty::B64, Ty::B64, [pair, mask, 0])?;
                if let Some(id) = id {
                    let m = self.c32(0xffff_fffc);
                    let id = self.g.alu(Op::And, Ty::B32, Ty::B32, [id, m, 0])?;
                    a = self.g.alu(Op::Add, Ty::U64, Ty::U64, [a, id, 0])?;
                }
                Ok((a, (plus & !3) as i32))
            }
            Format::Ds => {
                let offset = match insn.row.shape.mods {
                    Mods::Ds2 => 0,
                    _ => insn.field(Field::Offset0) | insn.field(Field::Offset1) << 8,
                };
                let base = match find(Role::DsAddr).map(|o| o.location) {
                    Some(OperandLocation::Vgpr(n)) => self.vgpr(n),
                    _ => self.c32(0),
                };
                let zero = self.c32(0);
                let wide = self.g.pair(base, zero);
                let id = self.plus(wide, offset as i32)?;
                Ok((id, 0))
            }
            Format::Flat | Format::Global => {
                let raw = insn.field(Field::Offset);
                let offset = match insn.row.format {
                    Format::Flat => (raw & 0xfff) as i32,
                    _ => (raw << 19) as i32 >> 19,
                };
                let saddr = find(Role::Saddr)
                    .map(|o| o.location)
                    .filter(|p| *p != OperandLocation::Nothing);
                let Some(OperandLocation::Vgpr(n)) = find(Role::FlatAddr).map(|o| o.location)
                else {
                    return Err(Refusal::Interpreter);
                };
                match saddr {
                    None => {
                        let (lo, hi) = (self.vgpr(n), self.vgpr(n + 1));
                        Ok((self.g.pair(lo, hi), offset))
                    }
                    Some(OperandLocation::Scalar(code)) if insn.row.format == Format::Global => {
                        let base = self.sgpr_pair(code);
                        let (lo, zero) = (self.vgpr(n), self.c32(0));
                        let wide = self.g.pair(lo, zero);
                        Ok((
                            self.g.alu(Op::Add, Ty::U64, Ty::U64, [wide, base, 0])?,
                            offset,
                        ))
                    }
                    _ => Err(Refusal::Interpreter),
                }
            }
            _ => Err(Refusal::Interpreter),
        }
    }

    /// Returns the address of a buffer instruction. The kind of its resource is guessed from known bits: a scratch resource has
    /// 4-byte elements that are contiguous for the 64 lanes.
    pub(super) fn buffer(
        &mut self,
        insn: &Insn,
        operands: &[Opnd],
        out: &mut Changes,
    ) -> Result<Val, Refusal> {
        let find = |role: Role| find(insn, operands, role);
        let flag = |f: Field| insn.field(f) != 0;
        if insn.data_in_lds() || flag(Field::Tfe) {
            return Err(Refusal::Interpreter);
        }
        let Some(OperandLocation::Scalar(code)) = find(Role::Srsrc).map(|o| o.location) else {
            return Err(Refusal::Interpreter);
        };
        if flag(Field::Addr64) {
            let at = self.buffer_addr64(insn, operands, code)?;
            return self.aligned(insn, at, out);
        }
        let upper = self.guess(code + 1, 0xffff_0000);
        let [records, last] = [2, 3].map(|k| self.guess(code + k, u32::MAX));
        let gfx9 = self.s.target.generation() == Gen::Gfx9;
        // A scratch resource is swizzled, has no stride or size limit, adds the lane's number, and has 64 contiguous lanes.
        let scratch = upper == 0x8000_0000
            && records == u32::MAX
            && last >> 23 & 1 != 0
            && last >> 21 & 3 == 3;
        let element = gfx9 || last >> 19 & 3 == 1;
        // From gfx8 on, DATA_FORMAT is a part of the stride if the lane's number is added.
        let stride = self.s.target.generation() >= Gen::Gfx8 && last >> 15 & 15 != 0;
        if !scratch || flag(Field::Idxen) {
            let at = self.buffer_linear(insn, operands, code, out)?;
            return self.aligned(insn, at, out);
        }
        if self.s.target.generation() == Gen::Gfx6 && insn.field(Field::Offset) & 3 != 0 {
            return Err(Refusal::Interpreter);
        }
        if !element || stride {
            return Err(Refusal::Interpreter);
        }
        self.scratch(insn, operands, (code, upper, last), out)
    }

    /// Returns the address of an access to scratch. The resource is guessed from the upper half of its second dword and from its last dword.
    fn scratch(
        &mut self,
        insn: &Insn,
        operands: &[Opnd],
        (code, upper, last): (u16, u32, u32),
        out: &mut Changes,
    ) -> Result<Val, Refusal> {
        let [w0, w1, w2, w3] = [0, 1, 2, 3].map(|k| self.sgpr(code + k));
        let mask = self.c32(0xffff_0000);
        let high = self.g.alu(Op::And, Ty::B32, Ty::B32, [w1, mask, 0])?;
        for (have, guess) in [(high, upper), (w2, u32::MAX), (w3, last)] {
            let guess = self.c32(guess as u64);
            let differs = self.g.alu(Op::Ne, Ty::U32, Ty::Bool, [have, guess, 0])?;
            if !self.guards.contains(&differs) {
                out.guards.push(differs);
            }
        }
        let low = self.c32(0xffff);
        let top = self.g.alu(Op::And, Ty::B32, Ty::B32, [w1, low, 0])?;
        let mut base = self.g.pair(w0, top);
        if let Some(o) = find(insn, operands, Role::Soffset) {
            let by = self.read(o, Some(0), false)?;
            base = self.g.alu(Op::Add, Ty::U64, Ty::U64, [base, by, 0])?;
        }
        let offset = insn.field(Field::Offset);
        if insn.field(Field::Offen) == 0 {
            return Ok(Val::Row(base, offset as i32));
        }
        let Some(OperandLocation::Vgpr(v)) =
            find(insn, operands, Role::BufAddr).map(|o| o.location)
        else {
            return Err(Refusal::Interpreter);
        };
        self.scratch_element(insn, base, v, out)
    }

    /// Returns the address of the scratch element that a VGPR and the instruction's offset select. The 4-byte elements of the 64 lanes are
    /// contiguous.
    fn scratch_element(
        &mut self,
        insn: &Insn,
        base: Id,
        v: u16,
        out: &mut Changes,
    ) -> Result<Val, Refusal> {
        let offset = insn.field(Field::Offset);
        if insn
            .row
            .shape
            .slots
            .iter()
            .any(|s| matches!(s.role, Role::Vdata) && s.ty.dwords() > 1)
        {
            return Err(Refusal::Interpreter);
        }
        let (v, by, most) = (self.vgpr(v), self.c32(offset as u64), self.c32(1 << 24));
        let at = self.g.alu(Op::Add, Ty::U32, Ty::U32, [v, by, 0])?;
        let far = self.g.alu(Op::Ge, Ty::U32, Ty::Bool, [at, most, 0])?;
        let (low, part) = (self.c32(0xffff_fffc), self.c32(3));
        let element = self.g.alu(Op::And, Ty::U32, Ty::U32, [at, low, 0])?;
        let part = self.g.alu(Op::And, Ty::U32, Ty::U32, [at, part, 0])?;
        // The parts of an element that crosses a row are not adjacent.
        let zero = self.c32(0);
        let bytes = buffer::extent(gcn_emu::interp::program(insn));
        let most_part = self.c32(4u64.checked_sub(bytes).ok_or(Refusal::Interpreter)?);
        if bytes > 1 {
            let cut = self
                .g
                .alu(Op::Gt, Ty::U32, Ty::Bool, [part, most_part, 0])?;
            out.guards.push(cut);
        }
        out.guards.push(far);
        let (six, two) = (self.c32(6), self.c32(2));
        let row = self.g.alu(Op::Shl, Ty::U32, Ty::U32, [element, six, 0])?;
        let lane = self.g.node(Inst::Lane, Ty::U32, Ty::U32, true, [0; 3]);
        let lane = self.g.alu(Op::Shl, Ty::U32, Ty::U32, [lane, two, 0])?;
        let mut sum = self.g.alu(Op::Add, Ty::U32, Ty::U32, [row, lane, 0])?;
        if bytes < 4 {
            sum = self.g.alu(Op::Add, Ty::U32, Ty::U32, [sum, part, 0])?;
        }
        let wide = self.g.pair(sum, zero);
        Ok(Val::Address(
            self.g.alu(Op::Add, Ty::U64, Ty::U64, [wide, base, 0])?,
            0,
        ))
    }

    /// Returns the halves of an address, or an LDS address and the limit.
    pub(super) fn split_address(
        &mut self,
        space: Space,
        address: Id,
        out: &mut Changes,
    ) -> Result<(Id, Id), Refusal> {
        let (lo, hi) = (self.g.lo(address), self.g.hi(address));
        match space {
            Space::Lds => match self.s.target.generation() {
                Gen::Gfx6 => {
                    // A sum that exceeds 32 bits is out of range; it does not wrap.
                    let zero = self.c32(0);
                    let far = self.g.alu(Op::Ne, Ty::U32, Ty::Bool, [hi, zero, 0])?;
                    if self.g.value_of(far) != Some(0) && !out.guards.contains(&far) {
                        out.guards.push(far);
                    }
                    Ok((lo, self.sgpr(M0)))
                }
                Gen::Gfx9 => Ok((lo, self.c32(u32::MAX as u64))),
                _ => {
                    let m0 = self.sgpr(M0);
                    Ok((lo, m0))
                }
            },
            Space::Global | Space::Flat => Ok((lo, hi)),
            Space::Scratch | Space::Parameters | Space::Gds => Err(Refusal::Interpreter),
        }
    }

    /// Takes a multiple of 4 that is added to an address out of it, and into the constant of the access.
    fn without_constant(&self, address: Id, plus: i64) -> (Id, i64) {
        let n = self.g.get(address);
        let sum = n.op == Inst::Alu(Op::Add) && !n.vec && n.ty.bits() == 64;
        let by = self.g.value_of(n.args[1]).filter(|by| sum && by % 4 == 0);
        let both = by.and_then(|by| plus.checked_add(by as i64));
        match both.filter(|both| i32::try_from(*both).is_ok()) {
            Some(both) => (n.args[0], both),
            None => (address, plus),
        }
    }

    /// Returns a dword for each lane; the dwords are contiguous from the address plus the constant on.
    pub(super) fn load_row(&mut self, address: Id, at: i32) -> Result<Val, Refusal> {
        if let Some(row) = self
            .memory
            .rows
            .iter()
            .find(|r| (r.0, r.1) == (address, at))
        {
            return Ok(Val::Id(row.2));
        }
        if self.memory.rows.iter().any(|r| r.0 != address) {
            return Err(Refusal::NewBlock);
        }
        self.memory.loads = true;
        self.memory.row_loads.push((address, at));
        let args = [address, 0, 0];
        let id = self.g.node(Inst::Row(at), Ty::B32, Ty::B32, true, args);
        Ok(Val::Id(id))
    }

    pub(super) fn load(
        &mut self,
        (space, bytes, count): (Space, u8, u8),
        address: Id,
        offset: i32,
        vector: bool,
        out: &mut Changes,
    ) -> Result<Id, Refusal> {
        if !vector {
            if bytes != 4 || space != Space::Global {
                return Err(Refusal::Interpreter);
            }
            if self.records_accesses() {
                let at = self.plus(address, offset)?;
                let (lo, hi) = (self.g.lo(at), self.g.hi(at));
                let access = AccessRecord {
                    kind: MemoryKind::Load,
                    lds: false,
                    scalar: true,
                    row: false,
                    bytes: 4 * count,
                    lo,
                    hi,
                };
                self.record(access, out)?;
            }
            return Ok(self.g.node(
                Inst::SLoad { count, offset },
                Ty::B64,
                Ty::B32,
                false,
                [address, 0, 0],
            ));
        }
        if bytes > 4 || bytes < 4 && count != 1 {
            return Err(Refusal::Interpreter);
        }
        let (lo, hi) = self.split_address(space, address, out)?;
        self.record_lanes(
            (MemoryKind::Load, space, bytes * count),
            (lo, hi, offset),
            out,
        )?;
        Ok(self.g.node(
            Inst::Group {
                space,
                bytes,
                count,
                offset,
            },
            Ty::B32,
            Ty::B32,
            true,
            [lo, hi, 0],
        ))
    }

    /// Returns true if accesses are recorded for a probe.
    pub(super) fn records_accesses(&self) -> bool {
        self.s.left_out.has(Optional::Accesses)
    }

    fn record(&mut self, access: AccessRecord, out: &mut Changes) -> Result<(), Refusal> {
        if !AccessRecord::SIZES.contains(&access.bytes) || out.accesses.len() == AccessRecord::MOST
        {
            return Err(Refusal::Interpreter);
        }
        if self.accesses.len() + out.accesses.len() >= AccessRecord::MOST {
            return Err(Refusal::NewBlock);
        }
        out.accesses.push(access);
        Ok(())
    }

    /// Records an access at the halves of an address and a constant, if accesses are recorded.
    pub(super) fn record_lanes(
        &mut self,
        (kind, space, bytes): (MemoryKind, Space, u8),
        (lo, hi, offset): (Id, Id, i32),
        out: &mut Changes,
    ) -> Result<(), Refusal> {
        if !self.records_accesses() {
            return Ok(());
        }
        let lds = space == Space::Lds;
        let (lo, hi) = if lds {
            let by = self.c32(offset as u32 as u64);
            let at = self.g.alu(Op::Add, Ty::U32, Ty::U32, [lo, by, 0])?;
            (at, at)
        } else {
            let at = self.g.pair(lo, hi);
            let at = self.plus(at, offset)?;
            (self.g.lo(at), self.g.hi(at))
        };
        let (scalar, row) = (false, false);
        let access = AccessRecord {
            kind,
            lds,
            scalar,
            row,
            bytes,
            lo,
            hi,
        };
        self.record(access, out)
    }

    /// Records an access of a row, if accesses are recorded.
    pub(super) fn record_row(
        &mut self,
        kind: MemoryKind,
        address: Id,
        at: i32,
        out: &mut Changes,
    ) -> Result<(), Refusal> {
        if !self.records_accesses() {
            return Ok(());
        }
        let at = self.plus(address, at)?;
        let (lo, hi) = (self.g.lo(at), self.g.hi(at));
        let access = AccessRecord {
            kind,
            lds: false,
            scalar: false,
            row: true,
            bytes: 4,
            lo,
            hi,
        };
        self.record(access, out)
    }

    /// Records the stores of an instruction.
    pub(super) fn record_stores(&mut self, out: &mut Changes) -> Result<(), Refusal> {
        let stores = out.store.iter().chain(&out.store2);
        let stores: Vec<_> = stores
            .map(|s| {
                let bytes = s.bytes * s.data.len() as u8;
                ((MemoryKind::Store, s.space, bytes), (s.lo, s.hi, s.offset))
            })
            .collect();
        for (what, at) in stores {
            self.record_lanes(what, at, out)?;
        }
        Ok(())
    }
}
