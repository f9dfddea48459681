//! VGPRs that are numbered at run time: VGPR indexing (MODE.GPR_IDX_EN) and v_movrel*.
//!
//! A block reads such a VGPR from memory, as it was at the block's start. Where the block may have changed it, the new value is selected by
//! a comparison of numbers. Writes ([`IndexedWrite`]) are executed after everything that can fail. A VGPR that is read after one is selected
//! in the same way.
//!
//! MODE is part of a region's key. Code of regions in which indexing is disabled compiles `s_set_gpr_idx_on`, what follows, and
//! `s_set_gpr_idx_off` as if they were one instruction, a *sequence*: then no block begins or ends where indexing is enabled. The operands
//! that are indexed are known from the instructions, the index is `M0[7:0]`. Otherwise the interpreter runs the first instruction, and the
//! wave continues in a region in which indexing is enabled.

use super::*;
use gcn_emu::operands::Indexed;
use gcn_emu::wave::mode::GPR_IDX_EN;
use gcn_isa::shape::Imm;

/// The maximum number of instructions of a sequence.
const SEQUENCE_INSNS: usize = 24;

/// The maximum number of changed VGPRs that may be the one that is read or written.
const OVERLAYS: usize = 12;

/// What an instruction does to VGPR indexing.
enum Indexing {
    /// Enables it for the operands of these bits of M0.
    On(u32),
    Off,
    /// Changes the indexed operands.
    Operands(u32),
    /// Changes the index.
    Index,
    Nothing,
}

impl Indexing {
    /// What the meaning of an instruction sets, and its `gpr_idx(…)` if it has one.
    fn of(insn: &Insn) -> Indexing {
        let imm = insn
            .row
            .shape
            .slots
            .iter()
            .find_map(|slot| match slot.role {
                Role::Imm(imm @ (Imm::GprIdx | Imm::GprIdxSsrc1)) => Some(imm),
                _ => None,
            });
        let operands = imm.map(|imm| (insn.field(imm.field()) & 15) << 12);
        let effects = &gcn_emu::interp::program(insn).effects;
        let sets = |state| effects.iter().any(|e| e.change == Change::Set(state));
        match (sets(State::GprIdxEn), sets(State::M0), operands) {
            (true, _, Some(operands)) => Indexing::On(operands),
            (true, _, None) => Indexing::Off,
            (false, true, Some(operands)) => Indexing::Operands(operands),
            (false, true, None) => Indexing::Index,
            (false, false, _) => Indexing::Nothing,
        }
    }
}

/// Joins the instructions of each sequence. None of them but the first is a leader.
pub(super) fn find_sequences(
    insns: &mut BTreeMap<u64, InsnInfo>,
    leaders: &BTreeSet<u64>,
    s: &CompileRequest<'_>,
) {
    if s.mode & GPR_IDX_EN != 0 || s.target.generation() < Gen::Gfx8 {
        return;
    }
    let begins = |k: &InsnInfo| matches!(Indexing::of(&k.insn), Indexing::On(_));
    let firsts = insns.iter().filter(|(_, k)| begins(k));
    for pc in firsts.map(|(&pc, _)| pc).collect::<Vec<u64>>() {
        let Some(operands) = sequence(insns, leaders, pc) else {
            continue;
        };
        let mut at = pc;
        let mut all = Vec::new();
        for bits in operands {
            let Some(mut k) = insns.remove(&at) else {
                break;
            };
            at += k.len;
            k.index_operands(bits, s);
            all.push(k);
        }
        insns.insert(pc, joined(all));
    }
}

/// Returns the indexed operands of each instruction of the sequence that begins at an address.
fn sequence(
    insns: &BTreeMap<u64, InsnInfo>,
    leaders: &BTreeSet<u64>,
    start: u64,
) -> Option<Vec<u32>> {
    let mut pc = start;
    let mut bits = 0;
    let mut operands = Vec::new();
    loop {
        let k = insns.get(&pc)?;
        if pc != start && leaders.contains(&pc) || operands.len() >= SEQUENCE_INSNS {
            return None;
        }
        let indexing = Indexing::of(&k.insn);
        let valu = matches!(indexing, Indexing::Nothing) && k.insn.row.format.is_valu();
        operands.push(if valu { bits } else { 0 });
        match indexing {
            Indexing::On(which) | Indexing::Operands(which) => bits = which,
            Indexing::Off => return Some(operands),
            Indexing::Index => {}
            Indexing::Nothing if joins(k) => {}
            Indexing::Nothing => return None,
        }
        pc += k.len;
    }
}

/// Returns true if an instruction may be part of a sequence: it computes values, and changes neither EXEC nor M0.
fn joins(k: &InsnInfo) -> bool {
    let insn = &k.insn;
    let program = k.parts.row.program;
    let scalar = matches!(
        insn.row.format,
        Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp
    );
    let lanes = |op: Op| {
        matches!(
            op,
            Op::ReadLane | Op::SendLane | Op::FirstLane | Op::Vgpr | Op::Turn
        )
    };
    let single = |c: Change| matches!(c, Change::DstLane(_) | Change::Vgpr);
    let states = |&(pair, _): &(u8, _)| pair as u16 == EXEC / 2 || pair as u16 == M0 / 2;
    (scalar || insn.row.format.is_valu())
        && k.flow == Flow::Next
        && !k.unknown_effects
        && k.sets_mode.is_none()
        && k.parts.mods.dpp.is_none()
        && instruction_info(insn).memory(insn).is_none()
        && !program.nodes.iter().any(|n| lanes(n.op))
        && !program.effects.iter().any(|e| single(e.change))
        && !k.masks.iter().any(states)
}

/// Returns the sequence of instructions. What it reads and writes is what any of them does.
fn joined(all: Vec<InsnInfo>) -> InsnInfo {
    let mut k = InsnInfo {
        insn: all[0].insn,
        parts: Parts::of(&all[0].insn),
        mode: all[0].mode,
        sets_mode: None,
        len: all.iter().map(|k| k.len).sum(),
        count: all.len() as u32,
        sequence: Vec::new(),
        indexed: 0,
        may_write: 0..0,
        flow: Flow::Next,
        vreads: Vec::new(),
        vwrites: Vec::new(),
        sreads: 0,
        swrites: 0,
        scc: (false, false),
        masks: Vec::new(),
        touches_inactive: false,
        unknown_effects: false,
        polls: false,
    };
    for one in &all {
        k.vreads.extend(&one.vreads);
        k.vwrites.extend(&one.vwrites);
        k.sreads |= one.sreads;
        k.swrites |= one.swrites;
        k.scc.0 |= one.scc.0;
        k.scc.1 |= one.scc.1;
        k.touches_inactive |= one.touches_inactive;
        if !one.may_write.is_empty() {
            let (a, b) = (&k.may_write, &one.may_write);
            k.may_write = match a.is_empty() {
                true => b.clone(),
                false => a.start.min(b.start)..a.end.max(b.end),
            };
        }
        for &(pair, _) in &one.masks {
            if k.masks.iter().all(|m| m.0 != pair) {
                k.masks.push((pair, None));
            }
        }
    }
    for list in [&mut k.vreads, &mut k.vwrites] {
        list.sort_unstable();
        list.dedup();
    }
    k.sequence = all;
    k
}

impl InsnInfo {
    /// Makes an instruction one of a sequence, with these indexed operands. Operands that are indexed may be any VGPR.
    fn index_operands(&mut self, bits: u32, s: &CompileRequest<'_>) {
        const DESTINATION: u32 = 8 << 12;
        self.indexed = bits;
        // Those of `s_set_gpr_idx_*` are known.
        self.unknown_effects = false;
        let reads_destination =
            self.touches_inactive || self.vwrites.iter().any(|v| self.vreads.contains(v));
        if bits & DESTINATION != 0
            && let Some(&first) = self.vwrites.iter().min()
        {
            self.may_write = first..s.vgprs;
            self.vwrites.clear();
        }
        if bits & !DESTINATION != 0 || bits != 0 && reads_destination {
            self.vreads = (0..s.vgprs).collect();
        }
    }
}

impl Builder<'_> {
    /// Lowers the instructions of a sequence.
    pub(super) fn lower_sequence(&mut self, pc: u64, k: &InsnInfo) -> Result<Changes, Refusal> {
        let (before, indexed) = (self.regs.clone(), self.indexed.len());
        let lowered = self.lower_all(pc, &k.sequence);
        self.indexing = None;
        self.indexed.truncate(indexed);
        let after = std::mem::replace(&mut self.regs, before);
        let mut out = lowered?;
        let before = &self.regs;
        let vgpr = |&(&n, &id): &(&u16, &Id)| match before.vgprs.get(&n) {
            Some(&had) => had != id,
            None => self.g.get(id).op != Inst::VIn(n),
        };
        let sgpr = |&(&code, &id): &(&u8, &Id)| match before.sgprs.get(&code) {
            Some(&had) => had != id,
            None => self.g.get(id).op != Inst::SIn(code),
        };
        out.vgprs = after
            .vgprs
            .iter()
            .filter(vgpr)
            .map(|(&n, &id)| (n, id))
            .collect();
        out.sgprs = after
            .sgprs
            .iter()
            .filter(sgpr)
            .map(|(&code, &id)| (code, id))
            .collect();
        out.vgprs.sort_unstable();
        out.sgprs.sort_unstable();
        out.scc = after.scc.filter(|_| after.scc != before.scc);
        Ok(out)
    }

    /// Lowers instructions one after the other and makes their changes. Returns the changes other than those of registers.
    fn lower_all(&mut self, mut pc: u64, all: &[InsnInfo]) -> Result<Changes, Refusal> {
        let mut out = Changes::default();
        for k in all {
            self.indexing = Some(k.indexed);
            let mut changes = self.lower(pc, k)?;
            let other = changes.jump.is_some()
                || changes.signal.is_some()
                || changes.store.is_some()
                || changes.wave_helper.is_some()
                || changes.indirect.is_some()
                || !changes.rows.is_empty()
                || !changes.accesses.is_empty()
                || !changes.lane_inserts.is_empty();
            if other {
                return Err(Refusal::Interpreter);
            }
            for &w in &changes.indexed {
                self.write_indexed(w);
            }
            out.indexed.append(&mut changes.indexed);
            out.guards.append(&mut changes.guards);
            out.guesses.append(&mut changes.guesses);
            self.regs.vgprs.extend(changes.vgprs);
            self.regs.sgprs.extend(changes.sgprs);
            self.regs.scc = changes.scc.or(self.regs.scc);
            pc += k.len;
        }
        Ok(out)
    }

    /// Returns true if M0 is added to the number of an operand's VGPR.
    pub(super) fn is_indexed(&self, o: &Opnd) -> bool {
        match (o.indexed, self.indexing) {
            (Indexed::By(bit), Some(bits)) => bits & bit != 0,
            _ => false,
        }
    }

    /// Returns the number of an indexed VGPR.
    fn indexed_number(&mut self, n: u16) -> Result<Id, Refusal> {
        let (m0, mask, n) = (self.sgpr(M0), self.c32(0xff), self.c32(n as u64));
        let index = self.g.alu(Op::And, Ty::B32, Ty::B32, [m0, mask, 0])?;
        Ok(self.g.alu(Op::Add, Ty::U32, Ty::U32, [index, n, 0])?)
    }

    /// Returns the value of VGPR `n` of an operand, or of the VGPR that it is with the index.
    pub(super) fn vgpr_of(&mut self, o: &Opnd, n: u16) -> Result<Id, Refusal> {
        if !self.is_indexed(o) {
            return Ok(self.vgpr(n));
        }
        let number = self.indexed_number(n)?;
        self.vgpr_at(number, (n, n + 0xff))
    }

    /// Writes VGPR `n` of an operand, or the VGPR that it is with the index.
    pub(super) fn put_vgpr(
        &mut self,
        o: &Opnd,
        n: u16,
        value: Id,
        out: &mut Changes,
    ) -> Result<(), Refusal> {
        if !self.is_indexed(o) {
            out.vgprs.push((n, value));
            return Ok(());
        }
        let number = self.indexed_number(n)?;
        self.set_vgpr_at(number, (n, n + 0xff), value, out)
    }

    /// Returns the VGPR with a number, or the pair.
    pub(super) fn vgpr_numbered(&mut self, number: Id, wide: bool) -> Result<Id, Refusal> {
        let number = self.g.lo(number);
        let low = self.vgpr_at(number, (0, u16::MAX))?;
        if !wide {
            return Ok(low);
        }
        let next = self.c32(1);
        let next = self.g.alu(Op::Add, Ty::U32, Ty::U32, [number, next, 0])?;
        let high = self.vgpr_at(next, (0, u16::MAX))?;
        Ok(self.g.pair(low, high))
    }

    /// Writes the VGPR with a number.
    pub(super) fn set_vgpr_numbered(
        &mut self,
        number: Id,
        value: Id,
        out: &mut Changes,
    ) -> Result<(), Refusal> {
        let (number, value) = (self.g.lo(number), self.g.lo(value));
        self.set_vgpr_at(number, (0, u16::MAX), value, out)
    }

    /// Returns the value of the VGPR with a number, which is within the bounds. For a number beyond the wave's VGPRs it is v0.
    fn vgpr_at(&mut self, number: Id, (first, last): (u16, u16)) -> Result<Id, Refusal> {
        if let Some(n) = self.g.value_of(number) {
            return Ok(self.vgpr(n.min(u16::MAX as u64) as u16));
        }
        if self.g.get(number).vec {
            return Err(Refusal::Interpreter);
        }
        let count = self.s.vgprs;
        let beyond = last >= count;
        let changed = self.changed(|n| (first..=last).contains(&n) || beyond && n == 0);
        if !self.lane_inserts.is_empty() || changed.len() + self.indexed.len() > OVERLAYS {
            return Err(Refusal::NewBlock);
        }
        let mut there = number;
        if beyond {
            let (count, zero) = (self.c32(count as u64), self.c32(0));
            let within = (self.g).alu(Op::Lt, Ty::U32, Ty::Bool, [number, count, 0])?;
            there = (self.g).alu(Op::Select, Ty::B32, Ty::B32, [within, number, zero])?;
        }
        // What was written to the same number is read.
        let mut writes = self.indexed.clone();
        let known = writes.iter().rposition(|w| w.number == there);
        let mut value = match known {
            Some(at) => writes.drain(..=at).next_back().map(|w| w.value),
            None => None,
        }
        .unwrap_or_else(|| {
            let args = [there, 0, 0];
            self.g.node(Inst::VgprAt, Ty::B32, Ty::B32, true, args)
        });
        for w in writes {
            value = self.where_same([there, w.number], w.value, value);
        }
        for (n, new) in changed {
            let n = self.c32(n as u64);
            value = self.where_same([there, n], new, value);
        }
        Ok(value)
    }

    /// Writes the active lanes of the VGPR with a number, which is within the bounds.
    fn set_vgpr_at(
        &mut self,
        number: Id,
        (first, last): (u16, u16),
        value: Id,
        out: &mut Changes,
    ) -> Result<(), Refusal> {
        let count = self.s.vgprs;
        if let Some(n) = self.g.value_of(number) {
            if n < count as u64 {
                out.vgprs.push((n as u16, value));
            }
            return Ok(());
        }
        let w = IndexedWrite {
            number,
            value,
            first,
            end: last.saturating_add(1).min(count),
        };
        if w.first >= w.end {
            return Ok(());
        }
        if self.g.get(number).vec || !out.vgprs.is_empty() {
            return Err(Refusal::Interpreter);
        }
        let changed = self.changed(|n| w.reaches(n)).len();
        if !self.lane_inserts.is_empty() || changed + self.indexed.len() > OVERLAYS {
            return Err(Refusal::NewBlock);
        }
        out.indexed.push(w);
        Ok(())
    }

    /// Returns the VGPRs that the block has changed, other than by numbers, and their values.
    fn changed(&self, which: impl Fn(u16) -> bool) -> Vec<(u16, Id)> {
        let changed = |&(&n, &id): &(&u16, &Id)| which(n) && self.g.get(id).op != Inst::VIn(n);
        let found = self.regs.vgprs.iter().filter(changed);
        let mut found: Vec<(u16, Id)> = found.map(|(&n, &id)| (n, id)).collect();
        found.sort_unstable();
        found
    }

    /// Adds a write of a VGPR that is numbered at run time.
    pub(super) fn write_indexed(&mut self, w: IndexedWrite) {
        for (n, id) in self.changed(|n| w.reaches(n)) {
            let number = self.c32(n as u64);
            let value = self.where_same([w.number, number], w.value, id);
            self.regs.vgprs.insert(n, value);
        }
        // Values of unchanged VGPRs are read again.
        let g = &self.g;
        (self.regs.vgprs).retain(|&n, id| !w.reaches(n) || g.get(*id).op != Inst::VIn(n));
        self.indexed.push(w);
    }

    /// Returns the value of a VGPR that only writes by number may have changed. `old` is its value at the block's start.
    pub(super) fn after_indexed(&mut self, n: u16, old: Id) -> Id {
        let number = self.c32(n as u64);
        let mut value = old;
        for w in self.indexed.clone() {
            if w.reaches(n) {
                value = self.where_same([w.number, number], w.value, value);
            }
        }
        value
    }

    /// Returns one value if two numbers are the same, otherwise another.
    fn where_same(&mut self, numbers: [Id; 2], same: Id, other: Id) -> Id {
        let [a, b] = numbers;
        let mut alu =
            |op: Op, ty: Ty, out: Ty, vec: bool, args: [Id; 3]| match self.g.alu(op, ty, out, args)
            {
                Ok(id) => id,
                Err(_) => self.g.node(Inst::Alu(op), ty, out, vec, args),
            };
        let equal = alu(Op::Eq, Ty::U32, Ty::Bool, false, [a, b, 0]);
        alu(Op::Select, Ty::B32, Ty::B32, true, [equal, same, other])
    }
}
