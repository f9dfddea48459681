//! Addresses of buffer instructions: ADDR64, and resources whose elements are contiguous.

use super::*;

/// Returns the number of bytes that an instruction accesses from its address on.
pub(super) fn extent(program: &Program) -> u64 {
    let bytes = |node: u16| (program.nodes[node as usize].out.bits() as u64).div_ceil(8);
    let loads = program.nodes.iter().enumerate().map(|(at, n)| match n.op {
        Op::Load(_, offset) => offset as u64 + bytes(at as u16),
        Op::Atomic(..) => (n.ty.bits() as u64).div_ceil(8),
        _ => 0,
    });
    let stores = program.effects.iter().map(|e| match e.change {
        Change::Store(_, offset) => offset as u64 + bytes(e.second),
        _ => 0,
    });
    loads.chain(stores).max().unwrap_or(0)
}

/// Returns the size in bytes of the widest single access of an instruction.
fn widest(program: &Program) -> u64 {
    let bytes = |node: u16| (program.nodes[node as usize].out.bits() as u64).div_ceil(8);
    let loads = program.nodes.iter().enumerate().map(|(at, n)| match n.op {
        Op::Load(..) => bytes(at as u16),
        Op::Atomic(..) => (n.ty.bits() as u64).div_ceil(8),
        _ => 0,
    });
    let stores = program.effects.iter().map(|e| match e.change {
        Change::Store(..) => bytes(e.second),
        _ => 0,
    });
    loads.chain(stores).max().unwrap_or(0)
}

/// The components of the offset of an access to a buffer without swizzling.
struct BufferOffset {
    records: Id,
    stride: Id,
    index: Id,
    /// The offset within an element, and the offset within the buffer.
    offset: Id,
    linear: Id,
}

impl Builder<'_> {
    /// Returns bits of a scalar register's value if it is known, otherwise of its value at the region's entry, which is recorded as a guess.
    pub(super) fn guess(&self, code: u16, mask: u32) -> u32 {
        let code8 = code as u8;
        let made = self
            .regs
            .sgprs
            .get(&code8)
            .and_then(|&id| self.g.value_of(id));
        let value = match made {
            Some(v) => v as u32,
            None => match self.regs.known.get(&code8) {
                Some(&v) => v,
                None => {
                    *self.s.guessed.borrow_mut().entry(code8).or_default() |= mask;
                    self.s.sgprs.get(code as usize).copied().unwrap_or(0)
                }
            },
        };
        value & mask
    }

    /// Adds a guard against a truth value, unless the value is known to be false.
    fn guard(&mut self, id: Id, out: &mut Changes) -> Result<(), Refusal> {
        match self.g.value_of(id) {
            Some(v) if v & 1 != 0 => return Err(Refusal::Interpreter),
            Some(_) => {}
            None if self.guards.contains(&id) || out.guards.contains(&id) => {}
            None => out.guards.push(id),
        }
        Ok(())
    }

    fn bits(&mut self, id: Id, from: u64, mask: u64) -> Result<Id, Refusal> {
        let (from, mask) = (self.c32(from), self.c32(mask));
        let id = self.g.alu(Op::Shr, Ty::U32, Ty::U32, [id, from, 0])?;
        Ok(self.g.alu(Op::And, Ty::B32, Ty::B32, [id, mask, 0])?)
    }

    /// Returns BASE of a resource plus SOFFSET.
    fn buffer_start(&mut self, insn: &Insn, operands: &[Opnd], code: u16) -> Result<Id, Refusal> {
        let (w0, w1) = (self.sgpr(code), self.sgpr(code + 1));
        let top = self.bits(w1, 0, 0xffff)?;
        let base = self.g.pair(w0, top);
        match find(insn, operands, Role::Soffset) {
            Some(o) => {
                let (by, zero) = (self.read(o, Some(0), false)?, self.c32(0));
                let by = self.g.pair(by, zero);
                Ok(self.g.alu(Op::Add, Ty::U64, Ty::U64, [base, by, 0])?)
            }
            None => Ok(base),
        }
    }

    /// Returns the address with ADDR64: the sum of all parts has 48 bits, and the resource's size is ignored.
    pub(super) fn buffer_addr64(
        &mut self,
        insn: &Insn,
        operands: &[Opnd],
        code: u16,
    ) -> Result<Val, Refusal> {
        let start = self.buffer_start(insn, operands, code)?;
        let start = self.plus(start, insn.field(Field::Offset) as i32)?;
        let Some(OperandLocation::Vgpr(v)) =
            find(insn, operands, Role::BufAddr).map(|o| o.location)
        else {
            return Err(Refusal::Interpreter);
        };
        let (lo, hi) = (self.vgpr(v), self.vgpr(v + 1));
        let wide = self.g.pair(lo, hi);
        let sum = self.g.alu(Op::Add, Ty::U64, Ty::U64, [wide, start, 0])?;
        let (lo, hi) = (self.g.lo(sum), self.g.hi(sum));
        let top = self.bits(hi, 0, 0xffff)?;
        Ok(Val::Address(self.g.pair(lo, top), 0))
    }

    /// On gfx6 an address is rounded down to a multiple of the access's size, at most 4. The interpreter runs accesses whose
    /// scalar parts are not such multiples.
    pub(super) fn aligned(
        &mut self,
        insn: &Insn,
        at: Val,
        out: &mut Changes,
    ) -> Result<Val, Refusal> {
        let (Gen::Gfx6, Val::Address(id, 0)) = (self.s.target.generation(), at) else {
            return Ok(at);
        };
        let low = widest(gcn_emu::interp::program(insn)).clamp(1, 4) - 1;
        if low == 0 {
            return Ok(at);
        }
        let mut scalars = Vec::new();
        if self.multiple(id, low, &mut scalars) {
            for id in scalars {
                let (part, zero) = (self.g.lo(id), self.c32(0));
                let part = self.bits(part, 0, low)?;
                let odd = self.g.alu(Op::Ne, Ty::U32, Ty::Bool, [part, zero, 0])?;
                self.guard(odd, out)?;
            }
            return Ok(at);
        }
        let mask = self.g.constant(Ty::B64, !low);
        Ok(Val::Address(
            self.g.alu(Op::And, Ty::B64, Ty::B64, [id, mask, 0])?,
            0,
        ))
    }

    /// Returns true if the bits `low` of a number are 0 whenever these bits of `scalars` are 0.
    fn multiple(&self, id: Id, low: u64, scalars: &mut Vec<Id>) -> bool {
        let node = self.g.get(id);
        let [a, b, _] = node.args;
        match node.op {
            Inst::Const(v) => v & low == 0,
            _ if !node.vec => {
                scalars.push(id);
                true
            }
            Inst::Pair => self.multiple(a, low, scalars),
            Inst::Alu(Op::Shl)
                if self
                    .g
                    .value_of(b)
                    .is_some_and(|by| by >= low.count_ones() as u64) =>
            {
                true
            }
            Inst::Alu(Op::Add | Op::Sub) => {
                self.multiple(a, low, scalars) && self.multiple(b, low, scalars)
            }
            _ => false,
        }
    }

    /// Returns the address with a resource without swizzling. The interpreter runs accesses that are out of range.
    pub(super) fn buffer_linear(
        &mut self,
        insn: &Insn,
        operands: &[Opnd],
        code: u16,
        out: &mut Changes,
    ) -> Result<Val, Refusal> {
        // Swizzled resources and those that add the lane's number are refused.
        for (word, bit) in [(code + 1, 31), (code + 3, 23)] {
            if self.written & analyze::bit(word) == 0 && self.guess(word, 1 << bit) != 0 {
                return Err(Refusal::Interpreter);
            }
        }
        let [w1, records, w3] = [1, 2, 3].map(|k| self.sgpr(code + k));
        for (word, bit) in [(w1, 31), (w3, 23)] {
            let (bit, zero) = (self.bits(word, bit, 1)?, self.c32(0));
            let odd = self.g.alu(Op::Ne, Ty::U32, Ty::Bool, [bit, zero, 0])?;
            self.guard(odd, out)?;
        }
        let (idxen, offen) = (insn.field(Field::Idxen) != 0, insn.field(Field::Offen) != 0);
        let dword = |b: &mut Self, k: u16| match find(insn, operands, Role::BufAddr) {
            Some(Opnd {
                location: OperandLocation::Vgpr(v),
                ..
            }) => Ok(b.vgpr(v + k)),
            _ => Err(Refusal::Interpreter),
        };
        let mut offset = self.c32(insn.field(Field::Offset) as u64);
        if offen {
            let v = dword(self, idxen as u16)?;
            offset = self.sum_in_range(v, offset, out)?;
        }
        let stride = self.bits(w1, 16, 0x3fff)?;
        let zero = self.c32(0);
        let (mut index, mut linear) = (zero, offset);
        if idxen {
            index = dword(self, 0)?;
            let at = self.g.alu(Op::Mul, Ty::U32, Ty::U32, [index, stride, 0])?;
            let over = self
                .g
                .alu(Op::MulHi, Ty::U32, Ty::U32, [index, stride, 0])?;
            let over = self.g.alu(Op::Ne, Ty::U32, Ty::Bool, [over, zero, 0])?;
            self.guard(over, out)?;
            linear = self.sum_in_range(at, offset, out)?;
        }
        let parts = BufferOffset {
            records,
            stride,
            index,
            offset,
            linear,
        };
        self.guard_buffer_range(insn, operands, parts, out)?;
        let start = self.buffer_start(insn, operands, code)?;
        let wide = self.g.pair(linear, zero);
        Ok(Val::Address(
            self.g.alu(Op::Add, Ty::U64, Ty::U64, [wide, start, 0])?,
            0,
        ))
    }

    /// Returns a sum, guarded against exceeding 32 bits.
    fn sum_in_range(&mut self, x: Id, y: Id, out: &mut Changes) -> Result<Id, Refusal> {
        if self.g.value_of(y) == Some(0) {
            return Ok(x);
        }
        let sum = self.g.alu(Op::Add, Ty::U32, Ty::U32, [x, y, 0])?;
        let over = self.g.alu(Op::Lt, Ty::U32, Ty::Bool, [sum, y, 0])?;
        self.guard(over, out)?;
        Ok(sum)
    }

    /// Guards against accesses that are out of a resource's range.
    fn guard_buffer_range(
        &mut self,
        insn: &Insn,
        operands: &[Opnd],
        parts: BufferOffset,
        out: &mut Changes,
    ) -> Result<(), Refusal> {
        let BufferOffset {
            records,
            stride,
            index,
            offset,
            linear,
        } = parts;
        let (generation, zero) = (self.s.target.generation(), self.c32(0));
        let idxen = insn.field(Field::Idxen) != 0;
        // NUM_RECORDS counts elements of STRIDE bytes, or single bytes.
        let counts = match generation {
            Gen::Gfx6 | Gen::Gfx7 => true,
            Gen::Gfx8 => false,
            Gen::Gfx9 => idxen,
        };
        let structured = match counts {
            true => self.g.alu(Op::Ne, Ty::U32, Ty::Bool, [stride, zero, 0])?,
            false => self.g.constant(Ty::Bool, 0),
        };
        let within = |b: &mut Self, id: Id, when: Id, out: &mut Changes| {
            let bad = b.g.alu(Op::And, Ty::Bool, Ty::Bool, [id, when, 0])?;
            b.guard(bad, out)
        };
        if self.g.value_of(structured) != Some(0) {
            let far = self.g.alu(Op::Ge, Ty::U32, Ty::Bool, [index, records, 0])?;
            within(self, far, structured, out)?;
            if idxen && generation <= Gen::Gfx7 {
                let need = self.c32(extent(gcn_emu::interp::program(insn)));
                let end = self.sum_in_range(offset, need, out)?;
                let far = self.g.alu(Op::Gt, Ty::U32, Ty::Bool, [end, stride, 0])?;
                within(self, far, structured, out)?;
            }
        }
        let raw = self
            .g
            .alu(Op::Not, Ty::Bool, Ty::Bool, [structured, 0, 0])?;
        if self.g.value_of(raw) != Some(0) {
            let mut need = self.c32(extent(gcn_emu::interp::program(insn)));
            if let Some(o) = find(insn, operands, Role::Soffset) {
                let by = self.read(o, Some(0), false)?;
                need = self.sum_in_range(by, need, out)?;
            }
            let short = self.g.alu(Op::Lt, Ty::U32, Ty::Bool, [records, need, 0])?;
            within(self, short, raw, out)?;
            let most = self.g.alu(Op::Sub, Ty::U32, Ty::U32, [records, need, 0])?;
            let far = self.g.alu(Op::Gt, Ty::U32, Ty::Bool, [linear, most, 0])?;
            within(self, far, raw, out)?;
        }
        Ok(())
    }
}
