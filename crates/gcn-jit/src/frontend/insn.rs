//! Lowers one instruction: the nodes of its row's meaning become values of the block, and its effects become changes of the block.

use super::value::Written;
use super::*;

/// The value of a node of the instruction that is being lowered.
#[derive(Clone, Copy)]
pub(super) enum Val {
    Id(Id),
    /// A memory address: the value and a constant.
    Address(Id, i32),
    /// The address of the first lane's dword in a row of dwords, and an offset within the lanes' elements.
    Row(Id, i32),
    /// The table of the node: see [`cross_lane::tables`].
    Table(usize),
    /// An atomic's result, from this bit on.
    Old(u8),
    /// Not computed: a guard ensures that it is not used.
    Never,
    /// A value that has not been used yet and has no code.
    None,
}

/// An instruction that is being lowered.
struct Lowering<'b, 'a, 'k> {
    b: &'b mut Builder<'a>,
    insn: &'k Insn,
    parts: &'k Parts,
    vector: bool,
    /// The address of the next instruction.
    next: u64,
    /// The number of the block's values before the instruction.
    first: usize,
    /// The load of each group that has been made, by the group's first node.
    made: Map<usize, Id>,
    vals: Vec<Val>,
    out: Changes,
}

impl Builder<'_> {
    /// Lowers an instruction. On failure the builder's state is restored.
    pub(super) fn lower(&mut self, pc: u64, k: &InsnInfo) -> Result<Changes, Refusal> {
        let nodes = self.g.nodes.len();
        let (scc, fp) = (self.regs.scc, self.fp);
        let exec = [0, 1].map(|half| self.regs.sgprs.get(&(EXEC as u8 + half)).copied());
        let (loads, row_loads) = (self.memory.loads, self.memory.row_loads.len());
        self.joins.narrowed = None;
        let result = self.try_lower(pc, k);
        if result.is_err() {
            self.g.nodes.truncate(nodes);
            self.late.truncate(nodes);
            // The failed attempt may have added register values, and may have recorded that EXEC is again as at the start.
            self.regs.vgprs.retain(|_, id| (*id as usize) < nodes);
            self.regs.sgprs.retain(|_, id| (*id as usize) < nodes);
            for (code, id) in (EXEC as u8..).zip(exec) {
                self.regs.sgprs.extend(id.map(|id| (code, id)));
            }
            (self.regs.scc, self.fp) = (scc, fp);
            self.memory.loads = loads;
            self.memory.row_loads.truncate(row_loads);
        }
        result
    }

    fn try_lower(&mut self, pc: u64, k: &InsnInfo) -> Result<Changes, Refusal> {
        self.in_mode(k.mode);
        if let Some(change) = &k.sets_mode {
            return self.change_mode(change);
        }
        if !k.sequence.is_empty() {
            return self.lower_sequence(pc, k);
        }
        let insn = &k.insn;
        let first = self.g.nodes.len();
        self.accept(k)?;
        let parts = &k.parts;
        self.dpp = parts.mods.dpp.clone();
        let mut l = Lowering {
            insn,
            parts,
            vector: insn.row.format.is_vector(),
            next: pc + insn.len as u64,
            first: self.g.nodes.len(),
            made: Map::default(),
            vals: Vec::with_capacity(parts.row.program.nodes.len()),
            out: Changes::default(),
            b: self,
        };
        l.nodes()?;
        l.effects()?;
        let mut out = l.out;
        self.record_stores(&mut out)?;
        if let Some(b) = out.store2.take() {
            self.two_stores(b, &mut out)?;
        }
        if out.waits
            && let Some(store) = &out.store
        {
            let new = [store].into_iter().chain(&out.store2);
            let all: Vec<&Store> = self.memory.store.iter().chain(new).collect();
            if !self.affine_addresses(&all) {
                return Err(Refusal::NewBlock);
            }
        }
        // Guards on lanes apply only to active lanes.
        for g in &mut out.guards {
            if self.g.get(*g).vec {
                let exec = self.exec();
                *g = self.g.alu(Op::And, Ty::Bool, Ty::Bool, [*g, exec, 0])?;
            }
        }
        self.select_narrowed(&mut out, first, pc + insn.len as u64)?;
        self.check_late(&out)?;
        Ok(out)
    }

    /// Refuses instructions that cannot be compiled at this point.
    fn accept(&mut self, k: &InsnInfo) -> Result<(), Refusal> {
        let insn = &k.insn;
        if insn.row.format.is_vector() {
            self.accept_vector(k)?;
        }
        let format = insn.row.format;
        if matches!(
            format,
            Format::Mtbuf | Format::Mimg | Format::Exp | Format::Vintrp
        ) && (k.parts.row.program.nodes.iter()).any(|n| matches!(n.op, Op::Address))
        {
            return Err(Refusal::Interpreter);
        }
        if insn.data_in_lds() || format == Format::Ds && insn.field(Field::Gds) != 0 {
            return Err(Refusal::Interpreter);
        }
        Ok(())
    }

    fn accept_vector(&mut self, k: &InsnInfo) -> Result<(), Refusal> {
        let gfx8 = self.s.target.generation() >= Gen::Gfx8;
        if self.g.mode & gcn_emu::wave::mode::GPR_IDX_EN != 0 && gfx8 {
            return Err(Refusal::Interpreter);
        }
        // Inactive lanes have the VGPR's old value, not the value that the block has computed for active lanes. (Operations
        // that test whether the other lane is active, as DPP does, may read the computed value.)
        let one = k.parts.row.single_lanes;
        let made = |v: &u16| {
            let value = self.regs.vgprs.get(v);
            value.is_some_and(|&id| self.g.get(id).op != Inst::VIn(*v))
                || self.indexed.iter().any(|w| w.reaches(*v))
        };
        if one && k.vreads.iter().any(made) {
            return Err(Refusal::NewBlock);
        }
        // Inserted lanes can only be read one by one.
        let touched = |v: &u16| self.inserted_lanes.contains(v);
        if !(one && k.insn.row.format.is_valu())
            && (k.vreads.iter().any(touched)
                || k.vwrites.iter().any(touched)
                || k.may_write.clone().any(|v| touched(&v)))
        {
            return Err(Refusal::NewBlock);
        }
        let exec_changed = |c: u16| {
            self.regs.sgprs.get(&(c as u8)).is_some_and(|&id| {
                let on = self.all_active && self.g.value_of(id) == Some(u32::MAX as u64);
                !on && self.g.get(id).op != Inst::SIn(c as u8)
            })
        };
        match exec_changed(EXEC) || exec_changed(EXEC + 1) {
            true => self.accept_narrowed(k),
            false => Ok(()),
        }
    }

    /// Returns true if a value depends on a scalar that depends on lanes of this block. Nodes of the current instruction are not in `late` yet.
    pub(super) fn is_late(&self, id: Id) -> bool {
        if let Some(&late) = self.late.get(id as usize) {
            return late;
        }
        let n = self.g.get(id);
        let leaves = match n.op {
            Inst::FastPath(number) => &self.g.fast_paths[number as usize].leaves[..],
            _ => &[],
        };
        let mut inputs = n.inputs().iter().chain(leaves);
        !n.vec && n.op == Inst::Ballot || inputs.any(|&id| self.is_late(id))
    }

    /// Refuses vector values and vector effects that depend on a scalar which depends on lanes of this block: such scalars
    /// are computed after the vectors.
    fn check_late(&mut self, out: &Changes) -> Result<(), Refusal> {
        for at in self.late.len()..self.g.nodes.len() {
            let late = self.is_late(at as Id);
            let n = &self.g.nodes[at];
            // A shift of a mask by the lane's number has no code: the lane's bit is taken from the truth value.
            if n.vec && late && n.op != Inst::ShrLane {
                return Err(Refusal::NewBlock);
            }
            self.late.push(late);
        }
        let late = |id: Id| self.late.get(id as usize).copied().unwrap_or(false);
        let of_store = |s: &Store| late(s.lo) || late(s.hi) || s.data.iter().any(|&id| late(id));
        let of_helper = |w: &WaveHelperCall| w.inputs.iter().any(|&id| late(id));
        if out.vgprs.iter().any(|w| late(w.1))
            || (out.indexed.iter()).any(|w| late(w.number) || late(w.value))
            || out.rows.iter().any(|r| late(r.0) || late(r.2))
            || out.store.iter().chain(&out.store2).any(of_store)
            || out.wave_helper.as_ref().is_some_and(of_helper)
            || (out.accesses.iter()).any(|n| !n.scalar && (late(n.lo) || late(n.hi)))
            || out.guards.iter().any(|&id| late(id))
        {
            return Err(Refusal::NewBlock);
        }
        Ok(())
    }
}

impl Lowering<'_, '_, '_> {
    /// Returns the value of a node's operand.
    fn arg(&self, node: &gcn_isa::meaning::Node, k: usize) -> Result<Id, Refusal> {
        self.value(node.args[k])
    }

    fn value(&self, at: u16) -> Result<Id, Refusal> {
        match self.vals[at as usize] {
            Val::Id(id) => Ok(id),
            _ => Err(Refusal::Interpreter),
        }
    }

    /// Returns the address that a node computes, as a value and a constant.
    fn address(&self, val: Val) -> Result<(Id, i32), Refusal> {
        match val {
            Val::Address(id, plus) => Ok((id, plus)),
            Val::Id(id) => Ok((id, 0)),
            _ => Err(Refusal::Interpreter),
        }
    }

    /// Makes the values of all nodes that effects depend on.
    fn nodes(&mut self) -> Result<(), Refusal> {
        let parts = self.parts;
        let short = parts.row.shortcuts;
        let needed = parts.needed();
        for (at, node) in fast_path::nodes(self.parts.row.program).enumerate() {
            let val = match needed[at] {
                true => self.node(at, node)?,
                false => Val::None,
            };
            self.vals.push(val);
        }
        for s in short {
            let id =
                self.b
                    .shortcut(self.parts.row.program, s, &self.vals, &self.parts.operands)?;
            self.vals[s.of as usize] = Val::Id(id);
        }
        Ok(())
    }

    fn node(&mut self, at: usize, node: &gcn_isa::meaning::Node) -> Result<Val, Refusal> {
        if let Some(Some(table)) = self.parts.tables.get(at) {
            return Ok(match table.iter().all(|v| *v == table[0]) {
                true => Val::Id(self.b.g.constant(node.out, table[0])),
                false => Val::Table(at),
            });
        }
        let (b, vector) = (&mut *self.b, self.vector);
        let id = match node.op {
            Op::Const(value) => b.g.constant(node.out, value),
            Op::Src(slot) => b.read(&self.parts.operands[slot as usize], None, vector)?,
            Op::SrcDword(slot, d) => {
                b.read(&self.parts.operands[slot as usize], Some(d), vector)?
            }
            Op::SrcHalf(slot, half) => b.read_half(&self.parts.operands[slot as usize], half)?,
            Op::Field(field) => b.c32(self.insn.field(field) as u64),
            Op::CodeOf(slot) => {
                let code = self.parts.operands[slot as usize].code.unwrap_or(0);
                b.c32(code as u64)
            }
            Op::Lane if vector => b.g.node(Inst::Lane, Ty::U32, Ty::U32, true, [0; 3]),
            Op::Get(state) => match state {
                State::Scc => b.scc(),
                State::Exec => b.sgpr_pair(EXEC),
                State::Vcc => b.sgpr_pair(VCC),
                State::M0 => b.sgpr(M0),
                State::Pc => b.g.constant(Ty::B64, self.next),
                _ => return Err(Refusal::Interpreter),
            },
            Op::Address if self.insn.row.format == Format::Mubuf => {
                return b.buffer(self.insn, &self.parts.operands, &mut self.out);
            }
            Op::Address => {
                let (id, offset) = b.address(self.insn, &self.parts.operands)?;
                return Ok(Val::Address(id, offset));
            }
            Op::Load(space, offset) => return self.load(at, node, space, offset),
            Op::Atomic(space, op) if vector => {
                let [address, data, second] = node.args.map(|a| self.vals[a as usize]);
                let what = (space, op, node.ty);
                return b.atomic(what, address, [data, second], &mut self.out);
            }
            Op::FmaLdexp(_) => return Ok(Val::Never),
            Op::Sgpr | Op::Lane | Op::Atomic(..) | Op::Getreg => return Err(Refusal::Interpreter),
            Op::Vgpr => {
                let number = self.arg(node, 0)?;
                self.b.vgpr_numbered(number, node.out.bits() > 32)?
            }
            Op::FirstLane | Op::ReadLane | Op::SendLane => return self.other_lanes(node),
            _ => return self.compute(node),
        };
        Ok(Val::Id(id))
    }

    /// Lowers an operation that reads other lanes.
    fn other_lanes(&mut self, node: &gcn_isa::meaning::Node) -> Result<Val, Refusal> {
        if !self.vector {
            return Err(Refusal::Interpreter);
        }
        let id = match node.op {
            Op::FirstLane => self.b.first_lane()?,
            Op::ReadLane => {
                let value = self.arg(node, 0)?;
                match self.table(node, 1).copied() {
                    Some(from) => {
                        let moved = self.b.shuffle(value, &from);
                        moved.ok_or(Refusal::Interpreter)?
                    }
                    None => {
                        let lane = self.arg(node, 1)?;
                        self.b.read_lane(value, lane, self.first)?
                    }
                }
            }
            _ if node.out.bits() <= 32 => {
                let (to, value) = (self.arg(node, 1)?, self.arg(node, 0)?);
                let inputs = vec![self.b.g.lo(to), value];
                let send = WaveHelper::Send { dst: 0 };
                self.b.helper(send, inputs, &mut self.out)?;
                return Ok(Val::Old(0));
            }
            _ => return Err(Refusal::Interpreter),
        };
        Ok(Val::Id(id))
    }

    /// Returns the table of a node's operand.
    fn table(&self, node: &gcn_isa::meaning::Node, k: usize) -> Option<&[u64; 64]> {
        match self.vals[node.args[k] as usize] {
            Val::Table(at) => self.parts.tables[at].as_deref(),
            _ => None,
        }
    }

    fn load(
        &mut self,
        at: usize,
        node: &gcn_isa::meaning::Node,
        space: Space,
        offset: i32,
    ) -> Result<Val, Refusal> {
        let b = &mut *self.b;
        let lds = |space: Space| space == Space::Lds;
        let mut before = b.memory.store.iter().chain(&b.memory.deferred);
        let passes = b.passing && !lds(space);
        if !passes && before.any(|s| lds(s.space) == lds(space)) {
            return Err(Refusal::NewBlock);
        }
        if let Some(store) = &b.memory.store {
            if b.by_lane || !b.affine_addresses(&[store]) {
                return Err(Refusal::NewBlock);
            }
            self.out.waits = true;
        }
        let address = self.vals[node.args[0] as usize];
        if let Val::Row(address, plus) = address {
            if node.out.bits() != 32 {
                return Err(Refusal::Interpreter);
            }
            let at = row_offset(plus + offset).ok_or(Refusal::Interpreter)?;
            b.record_row(MemoryKind::Load, address, at, &mut self.out)?;
            return b.load_row(address, at);
        }
        if !b.memory.rows.is_empty() && space != Space::Lds {
            return Err(Refusal::NewBlock);
        }
        let (address, plus) = self.address(address)?;
        let b = &mut *self.b;
        let bytes = (node.out.bits() / 8).max(1) as u8;
        let group = self.parts.row.groups[&at];
        b.memory.loads = true;
        let id = match self.made.get(&group.first) {
            Some(&id) => id,
            None => {
                let offset = plus.checked_add(group.offset).ok_or(Refusal::Interpreter)?;
                let what = (space, bytes, group.count);
                let id = b.load(what, address, offset, self.vector, &mut self.out)?;
                self.made.insert(group.first, id);
                id
            }
        };
        let part = Inst::Part(group.part);
        let id = b.g.node(part, Ty::B32, Ty::B32, self.vector, [id, 0, 0]);
        Ok(Val::Id(id))
    }

    /// Lowers an operation on values.
    fn compute(&mut self, node: &gcn_isa::meaning::Node) -> Result<Val, Refusal> {
        let first = self.vals.get(node.args[0] as usize).copied();
        match node.op {
            Op::Trunc if let Some(Val::Old(shift)) = first => return Ok(Val::Old(shift)),
            Op::Shr if let Some(Val::Old(0)) = first => {
                if self.b.g.value_of(self.arg(node, 1)?) != Some(32) {
                    return Err(Refusal::Interpreter);
                }
                return Ok(Val::Old(32));
            }
            // This tests whether the lanes of a table are active.
            Op::Shr
                if self.table(node, 1).is_some()
                    && self.parts.row.program.nodes[node.args[0] as usize].op
                        == Op::Get(State::Exec) =>
            {
                let Some(&from) = self.table(node, 1) else {
                    return Err(Refusal::Interpreter);
                };
                let (one, zero) = (self.b.shuffled_exec(&from)?, self.b.c32(0));
                return Ok(Val::Id(self.b.g.pair(one, zero)));
            }
            Op::Select => return self.select(node),
            _ => {}
        }
        let mut args = [0; 3];
        for (k, a) in args.iter_mut().enumerate().take(node.op.arity()) {
            *a = match self.vals[node.args[k] as usize] {
                Val::Id(id) => id,
                Val::Address(id, plus) => self.b.plus(id, plus)?,
                _ => return Err(Refusal::Interpreter),
            };
        }
        if node.nearest && (node.ty.is_float() || node.out.is_float()) {
            // The operation always rounds to nearest, whatever MODE says.
            let mode = Mode(self.b.g.mode);
            let other = |e: &gcn_emu::fp::Env| e.round != Round::NearestEven;
            if [mode.env32(), mode.env64()].iter().any(other) {
                return Err(Refusal::Interpreter);
            }
        }
        self.b
            .float_env(node.op, node.ty, node.out, self.parts.row.narrow)?;
        if node.op == Op::Mul {
            args = self.b.guess_factor(node.ty, args, &mut self.out.guesses);
        }
        if let Some(id) = self
            .b
            .unclamped(node.op, node.ty, args, &mut self.out.guesses)
        {
            return Ok(Val::Id(id));
        }
        let id = self.b.g.alu(node.op, node.ty, node.out, args)?;
        Ok(Val::Id(id))
    }

    fn select(&mut self, node: &gcn_isa::meaning::Node) -> Result<Val, Refusal> {
        let cond = self.arg(node, 0)?;
        let [_, yes, no] = node.args.map(|a| self.vals[a as usize]);
        let chosen = match self.b.g.value_of(cond) {
            Some(v) if v & 1 != 0 => Some(yes),
            Some(_) => Some(no),
            None => None,
        };
        Ok(match (yes, no) {
            _ if let Some(Val::Id(id)) = chosen => Val::Id(id),
            (Val::Never, Val::Never) => Val::Never,
            (Val::Never, Val::Id(no)) => {
                self.out.guards.push(cond);
                Val::Id(no)
            }
            (Val::Id(yes), Val::Id(no)) => {
                let args = [cond, yes, no];
                Val::Id(self.b.g.alu(Op::Select, node.ty, node.out, args)?)
            }
            _ => return Err(Refusal::Interpreter),
        })
    }

    /// Adds all effects to the instruction's changes.
    fn effects(&mut self) -> Result<(), Refusal> {
        let written = match &self.parts.mods.dpp {
            Some(dpp) => self.b.dpp_written(dpp)?,
            None => None,
        };
        for effect in &self.parts.row.program.effects {
            // Exceptions are not visible where compiled code runs.
            if matches!(effect.change, Change::Raise(_)) {
                continue;
            }
            let when = match effect.when {
                None => written,
                Some(_) if written.is_some() => return Err(Refusal::Interpreter),
                Some(w) => {
                    let id = self.value(w)?;
                    match self.b.g.value_of(id) {
                        Some(v) if v & 1 == 0 => continue,
                        Some(_) => None,
                        None => Some(id),
                    }
                }
            };
            self.effect(effect, when)?;
        }
        Ok(())
    }

    fn effect(
        &mut self,
        effect: &gcn_isa::meaning::Effect,
        when: Option<Id>,
    ) -> Result<(), Refusal> {
        let val = self.vals[effect.value as usize];
        let ty = self.parts.row.program.nodes[effect.value as usize].out;
        let value = self.value(effect.value);
        match effect.change {
            Change::Dst(slot) => self.destination(slot, None, val, ty, when),
            Change::DstDword(slot, d) => self.destination(slot, Some(d), val, ty, when),
            Change::DstHalf(slot, half) => {
                let o = &self.parts.operands[slot as usize];
                let value = value?;
                let written = Written { value, ty, when };
                self.b
                    .write_half(o, &self.parts.mods, half, written, &mut self.out)
            }
            Change::DstLane(slot) => self.insert_lane(effect, slot, value?, when),
            Change::Vgpr => {
                let data = self.value(effect.second)?;
                let wide = self.parts.row.program.nodes[effect.second as usize]
                    .out
                    .bits()
                    > 32;
                if when.is_some() || wide {
                    return Err(Refusal::Interpreter);
                }
                self.b.set_vgpr_numbered(value?, data, &mut self.out)
            }
            Change::Set(State::Pc) => self.jump(value?, when),
            Change::Set(state) => self.set(state, value?, ty, when),
            Change::Store(_, offset) if let Val::Row(address, plus) = val => {
                self.store_row(effect, address, plus, offset, when)
            }
            Change::Store(space, offset) => self.store(effect, space, offset, when),
            Change::Signal(signal) => match signal {
                Signal::Nop
                | Signal::Waitcnt
                | Signal::Cache
                | Signal::PerfUp
                | Signal::PerfDown
                | Signal::ThreadTrace => Ok(()),
                Signal::Endpgm | Signal::Barrier => {
                    self.out.signal = Some(signal);
                    Ok(())
                }
                _ => Err(Refusal::Interpreter),
            },
            _ => Err(Refusal::Interpreter),
        }
    }

    fn destination(
        &mut self,
        slot: u8,
        dword: Option<u8>,
        val: Val,
        ty: Ty,
        when: Option<Id>,
    ) -> Result<(), Refusal> {
        let o = &self.parts.operands[slot as usize];
        // v_swap_b32 of an SGPR gives it lane 0's value, which may be another than the active lanes' known one.
        let exchanged = self.insn.row.shape.slots[slot as usize].access == Access::ReadWrite;
        if self.vector
            && exchanged
            && o.ty != Ty::Mask
            && matches!(o.location, OperandLocation::Scalar(_))
        {
            return Err(Refusal::Interpreter);
        }
        match val {
            Val::Old(_) if when.is_some() => Err(Refusal::Interpreter),
            Val::Old(shift) => self.b.give_old(o, dword.unwrap_or(0), shift, &mut self.out),
            Val::Id(value) => {
                let written = Written { value, ty, when };
                let (mods, vector) = (&self.parts.mods, self.vector);
                self.b.write(o, mods, dword, written, vector, &mut self.out)
            }
            _ => Err(Refusal::Interpreter),
        }
    }

    fn insert_lane(
        &mut self,
        effect: &gcn_isa::meaning::Effect,
        slot: u8,
        value: Id,
        when: Option<Id>,
    ) -> Result<(), Refusal> {
        let OperandLocation::Vgpr(n) = self.parts.operands[slot as usize].location else {
            return Err(Refusal::Interpreter);
        };
        let lane = self.value(effect.second)?;
        let b = &mut *self.b;
        let (lane, mask) = (b.g.lo(lane), b.c32(63));
        let lane = b.g.alu(Op::And, Ty::B32, Ty::B32, [lane, mask, 0])?;
        if b.g.get(value).vec || b.g.get(lane).vec || when.is_some() {
            return Err(Refusal::Interpreter);
        }
        if n < b.s.vgprs {
            self.out.lane_inserts.push((n, lane, value));
        }
        Ok(())
    }

    fn jump(&mut self, to: Id, when: Option<Id>) -> Result<(), Refusal> {
        match self.b.g.value_of(to) {
            Some(_) if self.out.jump.is_some() => return Err(Refusal::Interpreter),
            Some(to) => self.out.jump = Some((when, to & !3)),
            None if when.is_none() && self.out.jump.is_none() => self.out.indirect = Some(to),
            None => return Err(Refusal::Interpreter),
        }
        Ok(())
    }

    /// Writes a named state other than the PC.
    fn set(&mut self, state: State, value: Id, ty: Ty, when: Option<Id>) -> Result<(), Refusal> {
        let b = &mut *self.b;
        let mut v = value;
        if when.is_some() {
            let code = if state == State::Exec { EXEC } else { VCC };
            if !matches!(state, State::Exec | State::Vcc) || ty != Ty::Bool {
                return Err(Refusal::Interpreter);
            }
            v = b.kept_mask(v, when, code)?;
        }
        let code = match state {
            // Which operands are indexed is known.
            State::GprIdxEn if b.indexing.is_some() => return Ok(()),
            State::Scc if !b.g.get(v).vec => {
                self.out.scc = Some(v);
                return Ok(());
            }
            State::Exec => EXEC,
            State::Vcc => VCC,
            State::M0 => M0,
            _ => return Err(Refusal::Interpreter),
        } as u8;
        if self.vector && ty == Ty::Bool {
            v = b.ballot(v)?;
        } else if b.g.get(v).vec {
            return Err(Refusal::Interpreter);
        }
        let lo = b.g.lo(v);
        self.out.sgprs.push((code, lo));
        if state != State::M0 {
            let hi = b.g.hi(v);
            self.out.sgprs.push((code + 1, hi));
        }
        Ok(())
    }

    fn store_row(
        &mut self,
        effect: &gcn_isa::meaning::Effect,
        address: Id,
        plus: i32,
        offset: i32,
        when: Option<Id>,
    ) -> Result<(), Refusal> {
        let data = self.value(effect.second)?;
        let bits = self.parts.row.program.nodes[effect.second as usize]
            .out
            .bits();
        if bits != 32 || when.is_some() {
            return Err(Refusal::Interpreter);
        }
        let at = row_offset(plus + offset).ok_or(Refusal::Interpreter)?;
        let b = &*self.b;
        let read = |r: &(Id, i32)| *r == (address, at) || r.0 != address;
        let other = |r: &(Id, i32, Id)| r.0 != address;
        let group = |n: &crate::ir::Node| matches!(n.op, Inst::Group { .. });
        let loads = b.memory.loads && b.memory.row_loads.is_empty() && b.g.nodes.iter().any(group);
        if b.memory.store.is_some()
            || !b.memory.deferred.is_empty()
            || loads
            || b.memory.row_loads.iter().any(read)
            || b.memory.rows.iter().any(other)
        {
            return Err(Refusal::NewBlock);
        }
        let kind = MemoryKind::Store;
        self.b.record_row(kind, address, at, &mut self.out)?;
        self.out.rows.push((address, at, data));
        Ok(())
    }

    fn store(
        &mut self,
        effect: &gcn_isa::meaning::Effect,
        space: Space,
        offset: i32,
        when: Option<Id>,
    ) -> Result<(), Refusal> {
        let b = &*self.b;
        if !b.memory.rows.is_empty() {
            return Err(Refusal::NewBlock);
        }
        if b.by_lane && b.memory.store.is_some() {
            return Err(Refusal::NewBlock);
        }
        self.out.waits |= !b.by_lane
            && (b.memory.loads || b.memory.store.is_some() || !b.memory.deferred.is_empty());
        if self.out.waits && b.affine.is_none() {
            b.asked.set(true);
            return Err(Refusal::NewBlock);
        }
        if when.is_some() || !self.vector {
            return Err(Refusal::Interpreter);
        }
        let (address, plus) = self.address(self.vals[effect.value as usize])?;
        let data = self.value(effect.second)?;
        let bits = self.parts.row.program.nodes[effect.second as usize]
            .out
            .bits();
        if bits > 32 {
            return Err(Refusal::Interpreter);
        }
        let bytes = (bits / 8) as u8;
        let offset = plus.checked_add(offset).ok_or(Refusal::Interpreter)?;
        let (lo, hi) = self.b.split_address(space, address, &mut self.out)?;
        let one = Store {
            space,
            lo,
            hi,
            offset,
            bytes,
            data: vec![data],
            in_order: false,
        };
        let adjacent = |s: &Store| {
            (s.lo, s.hi, s.bytes) == (lo, hi, bytes)
                && s.offset + bytes as i32 * s.data.len() as i32 == offset
        };
        match &mut self.out.store {
            None => self.out.store = Some(one),
            Some(s) if adjacent(s) => s.data.push(data),
            // ds_write2.
            Some(_) if space == Space::Lds && bytes == 4 => match &mut self.out.store2 {
                None => self.out.store2 = Some(one),
                Some(s) if s.lo == lo => s.data.push(data),
                Some(_) => return Err(Refusal::Interpreter),
            },
            Some(_) => return Err(Refusal::Interpreter),
        }
        Ok(())
    }
}

/// Returns the offset, in rows of 64 dwords, of the dword at an offset within the lanes' elements.
fn row_offset(offset: i32) -> Option<i32> {
    (offset % 4 == 0).then_some(offset.checked_mul(64)?)
}
