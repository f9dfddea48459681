//! The code of slices of 16 lanes, and the allocation of vector registers and opmasks in them.

use super::*;
use crate::ir::affine::BaseKind;

/// The number of ballots that are collected in registers, from R8 on. The others are collected in memory.
const ACCUMULATORS: usize = 3;

impl Emit<'_, Avx512> {
    pub(super) fn slices(&mut self, used: &[bool]) {
        let c = self.c;
        // Constants that vector code needs in memory are stored once.
        let ballots: Vec<Id> = (0..c.graph.len())
            .filter(|&at| used[at] && c.graph[at].op == Inst::Ballot)
            .map(|at| at as Id)
            .collect();
        for (i, &b) in ballots.iter().enumerate() {
            if i < ACCUMULATORS {
                self.a.imm(R8 + i as u8, 0);
            } else {
                let slot = self.slot(b);
                self.a.imm(RAX, 0);
                self.a.store(true, slot, RAX);
            }
        }
        self.v.accumulators = ballots;
        let lane_guards = c.guards.iter().any(|&g| c.graph[g as usize].vec);
        if self.plan.checks || lane_guards {
            self.a.kop(kop::XOR, K_BAD, K_BAD, K_BAD);
        }
        let has_group = !c.effects.rows.is_empty()
            || c.graph
                .iter()
                .any(|n| matches!(n.op, Inst::Group { .. } | Inst::Row(_)));
        let store = c.effects.store.is_some() && c.affine.store.is_none();
        let fallible = self.plan.checks
            || lane_guards
            || has_group
            || store
            || c.effects.wave_helper.is_some();
        let critical: Vec<usize> = self.critical();
        // A few values are kept in registers until nothing can fail.
        let keep = fallible
            && !critical.is_empty()
            && critical.len() <= 4
            && !self.looped
            && self.whole().is_none();
        if keep {
            self.v.deferred_values = critical.iter().map(|&i| c.effects.vgprs[i].1).collect();
        }
        let turn = |e: &mut Self, exec: Mem| e.slice_code(exec, &critical, fallible, keep);
        let end = |e: &mut Self| e.turn_ballots();
        self.turns(turn, end);
        if self.plan.checks || lane_guards {
            self.a.kortest(K_BAD, K_BAD);
            let r = self.restart();
            self.a.jcc(Cc::Ne, r);
        }
        for i in 0..self.v.accumulators.len().min(ACCUMULATORS) {
            self.ballot_in(self.v.accumulators[i], R8 + i as u8);
        }
    }

    /// The code of a slice with active lanes.
    fn slice_code(&mut self, exec: Mem, critical: &[usize], fallible: bool, keep: bool) {
        let c = self.c;
        if self.full.is_none() {
            self.a.kload16(K_EXEC, exec);
        }
        self.v.z = Bank::default();
        self.v.k = Bank::default();
        self.v.k.busy = 1 | 1 << K_EXEC | 1 << K_BAD | !0xff;
        self.let_go();
        for pos in 0..self.plan.ops.len() {
            self.v.pos = pos as u32;
            let vop = self.plan.ops[pos];
            match vop.commit {
                None => self.vector(&vop),
                Some(i) => self.commit(i, critical.contains(&i), fallible, keep),
            }
            self.release(&vop);
        }
        self.v.pos = self.plan.ops.len() as u32;
        self.check_deferred();
        for i in 0..self.v.accumulators.len() {
            let b = self.v.accumulators[i];
            let k = self.kreg(self.node(b).args[0]);
            self.a.k_to_gpr(RAX, k);
            if self.slice > 0 {
                self.a.shift_imm(4, true, RAX, 16 * self.slice);
            }
            if i < ACCUMULATORS {
                self.a.alu(alu::OR, true, R8 + i as u8, Rm::R(RAX));
            } else {
                let slot = self.slot(b);
                self.a.g(true, &[0x09], RAX, Rm::M(slot));
            }
        }
        for gi in 0..c.guards.len() {
            let g = c.guards[gi];
            if c.graph[g as usize].vec {
                let k = self.kreg(g);
                self.a.kop(kop::OR, K_BAD, K_BAD, k);
            }
        }
        // Nothing is stored before the guards have been checked.
        if (self.plan.checks || c.guards.iter().any(|&g| c.graph[g as usize].vec))
            && (c.effects.store.is_some() || !c.effects.rows.is_empty())
        {
            self.a.kortest(K_BAD, K_BAD);
            let r = self.restart();
            self.a.jcc(Cc::Ne, r);
        }
        for row in 0..c.effects.rows.len() {
            let (address, offset, value) = c.effects.rows[row];
            self.store_row(address, offset, value);
        }
        match (self.whole(), &c.effects.store, c.affine.store) {
            (Some(w), ..) => self.stage(&w),
            (None, Some(store), Some((address, offset))) => {
                self.linear_store(store, address, offset);
            }
            (None, Some(store), None) => self.store_slice(store),
            (None, None, _) => {}
        }
        self.keep_stores();
    }

    /// In the loop each slice's bits are rotated in, so that the earlier ones move on.
    fn turn_ballots(&mut self) {
        if !self.looped {
            return;
        }
        for i in 0..self.v.accumulators.len() {
            let to = if i < ACCUMULATORS {
                Rm::R(R8 + i as u8)
            } else {
                Rm::M(self.slot(self.v.accumulators[i]))
            };
            self.a.rotate_right(true, to, 16);
        }
    }

    pub(super) fn critical(&self) -> Vec<usize> {
        let c = self.c;
        (0..c.effects.vgprs.len())
            .filter(|&i| {
                let v = c.effects.vgprs[i].0;
                let read = |(at, n): (usize, &Node)| match n.op {
                    Inst::VIn(n) => n == v && !self.plan.uses[at].is_empty(),
                    Inst::LaneIn(n) | Inst::LanesIn(n) => n == v,
                    Inst::VgprAt => true,
                    _ => false,
                };
                let base = c.affine.ops.iter().any(|q| q.op == BaseKind::Vgpr(v));
                self.common.precise || base || c.graph.iter().enumerate().any(read)
            })
            .collect()
    }

    /// Writes a VGPR, now or when nothing can fail.
    pub(super) fn commit(&mut self, i: usize, critical: bool, fallible: bool, keep: bool) {
        let (v, id, live) = self.c.effects.vgprs[i];
        let value = self.zreg(id, 0);
        let home = self.home(v);
        let late = critical && fallible;
        self.v.z.busy |= 1 << value;
        let from = if live == LiveLanes::All {
            let t = self.temp();
            self.a.z(op::MOVDQU32, t, 0, Rm::M(home));
            self.a.zk(op::MOVDQU32, t, 0, Rm::R(value), keep_on());
            t
        } else if critical && keep && late && self.next_use(id) != u32::MAX {
            // A register of its own, since others hold the value too.
            let t = self.temp();
            self.a.z(op::MOVDQU32, t, 0, Rm::R(value));
            t
        } else {
            value
        };
        self.v.z.busy &= !(1 << value);
        if !late && !critical {
            self.a.z(op::MOVDQU32_ST, from, 0, Rm::M(home));
        } else if late && keep {
            self.v.deferred_writes.push(DeferredWrite {
                reg: Some(from),
                slot: 0,
                write: i,
                slice: self.slice,
            });
            self.let_go();
        } else {
            // One write may be the source of another, so all are deferred.
            let slot = self.v.next_slot;
            self.v.next_slot += if self.looped { 4 } else { 1 };
            let m = self.kept_back(slot);
            self.a.z(op::MOVDQU32_ST, from, 0, Rm::M(m));
            self.v.deferred_writes.push(DeferredWrite {
                reg: None,
                slot,
                write: i,
                slice: self.slice,
            });
        }
    }

    /// Does the deferred writes.
    pub(super) fn commit_deferred_writes(&mut self) {
        if self.v.deferred_writes.is_empty() {
            return;
        }
        let deferred_values = std::mem::take(&mut self.v.deferred_writes);
        // Every register without a deferred write is free by now.
        let held = deferred_values
            .iter()
            .filter_map(|p| p.reg)
            .fold(0, |b, r| b | 1u32 << r);
        let free = (!held).trailing_zeros().min(31) as u8;
        let turn = |e: &mut Self, _: Mem| {
            let slice = e.slice;
            for pin in deferred_values.iter().filter(|p| p.slice == slice) {
                let home = e.home(e.c.effects.vgprs[pin.write].0);
                let r = pin.reg.unwrap_or_else(|| {
                    let from = e.kept_back(pin.slot);
                    e.a.z(op::MOVDQU32, free, 0, Rm::M(from));
                    free
                });
                e.a.z(op::MOVDQU32_ST, r, 0, Rm::M(home));
            }
        };
        self.turns(turn, |_| ());
    }

    /// The slots of a deferred value, one for each slice.
    pub(super) fn kept_back(&self, slot: u16) -> Mem {
        if self.looped {
            return self.by_slice(vslot_mem(slot));
        }
        vslot_mem(slot)
    }

    pub(super) fn vslot(&mut self) -> (u16, Mem) {
        let n = self.v.next_slot;
        self.v.next_slot += 1;
        (n, vslot_mem(n))
    }

    /// The position of the next use of a value.
    pub fn next_use(&self, id: Id) -> u32 {
        let u = &self.plan.uses[id as usize];
        let at = u.partition_point(|&p| p <= self.v.pos);
        u.get(at).copied().unwrap_or(u32::MAX)
    }

    /// Frees registers whose values are dead.
    pub(super) fn release(&mut self, vop: &VectorOp) {
        let mut ids = vec![vop.id];
        ids.extend_from_slice(&vop.args);
        if vop.commit.is_none() {
            ids.extend_from_slice(self.leaves(vop.id));
        }
        if let Inst::Group { .. } | Inst::AffineLoad { .. } = self.node(vop.id).op {
            return;
        }
        for id in ids {
            if self.next_use(id) == u32::MAX {
                for part in 0..2 {
                    self.drop_part((id, part));
                }
            }
        }
    }

    pub(super) fn drop_part(&mut self, part: Part) {
        if let Some(r) = self.v.z.at.remove(&part) {
            self.v.z.regs[r as usize] = None;
        }
        if let Some(r) = self.v.k.at.remove(&part) {
            self.v.k.regs[r as usize] = None;
        }
    }

    /// A free vector register, which is not allocated. Spills a value if needed.
    pub fn temp(&mut self) -> u8 {
        if let Some(r) = (0..REGISTERS)
            .find(|&r| self.v.z.busy >> r & 1 == 0 && self.v.z.regs[r as usize].is_none())
        {
            return r;
        }
        let mut best: Option<(u32, u8)> = None;
        for r in 0..REGISTERS {
            if self.v.z.busy >> r & 1 != 0 {
                continue;
            }
            if let Some((id, _)) = self.v.z.regs[r as usize] {
                // A value that is also in memory costs nothing to drop.
                let clean = matches!(
                    self.node(id).op,
                    Inst::VIn(_) | Inst::Const(_) | Inst::SIn(_) | Inst::Lane | Inst::Affine { .. }
                ) || !self.node(id).vec;
                let mut when = self.next_use(id);
                if clean {
                    when = when.saturating_add(4);
                }
                if best.is_none_or(|b| when > b.0) {
                    best = Some((when, r));
                }
            }
        }
        let Some((_, r)) = best else {
            self.mistaken();
            return REGISTERS - 1;
        };
        let part = self.v.z.regs[r as usize].take().unwrap_or((0, 0));
        self.v.z.at.remove(&part);
        let n = self.node(part.0);
        let clean = matches!(
            n.op,
            Inst::VIn(_) | Inst::Const(_) | Inst::SIn(_) | Inst::Lane | Inst::Affine { .. }
        ) || !n.vec;
        if !clean && !self.v.z.spilled.contains_key(&part) && self.next_use_or_now(part.0) {
            self.spill();
            let (slot, m) = self.vslot();
            self.a.z(op::MOVDQU32_ST, r, 0, Rm::M(m));
            self.v.z.spilled.insert(part, slot);
        }
        r
    }

    /// Jumps to out-of-line code follow, until [`Emit::rejoined`]. That code returns after the code between, so nothing may be spilled
    /// there. Room is made now: two opmasks, and a vector register if one is needed.
    pub(super) fn forked(&mut self, vector: bool) {
        let k = self.ktemp();
        self.v.k.busy |= 1 << k;
        self.ktemp();
        self.v.k.busy &= !(1 << k);
        if vector {
            self.temp();
        }
        self.v.forked = true;
    }

    /// Where out-of-line code returns.
    pub(super) fn rejoined(&mut self, back: Label) {
        self.a.bind(back);
        self.v.forked = false;
    }

    /// Notes that a value is spilled, which must not happen in code that may be skipped.
    fn spill(&mut self) {
        debug_assert!(
            !self.v.forked,
            "a value is put by where it may be passed over"
        );
        if self.v.forked {
            self.mistaken();
        }
    }

    pub(super) fn next_use_or_now(&self, id: Id) -> bool {
        self.plan.uses[id as usize].iter().any(|&p| p >= self.v.pos) || self.is_group_part(id)
    }

    pub(super) fn is_group_part(&self, id: Id) -> bool {
        matches!(self.node(id).op, Inst::Part(_))
    }

    /// A register that holds a new value.
    pub fn define(&mut self, id: Id, part: u8) -> u8 {
        let r = self.temp();
        self.put(id, part, r);
        r
    }

    pub fn put(&mut self, id: Id, part: u8, r: u8) {
        self.v.z.regs[r as usize] = Some((id, part));
        self.v.z.at.insert((id, part), r);
    }

    /// A part of a value in a register.
    pub fn zreg(&mut self, id: Id, part: u8) -> u8 {
        if let Some(&r) = self.v.z.at.get(&(id, part)) {
            return r;
        }
        let r = self.temp();
        if let Some(&slot) = self.v.z.spilled.get(&(id, part)) {
            self.a.z(op::MOVDQU32, r, 0, Rm::M(vslot_mem(slot)));
            self.put(id, part, r);
            return r;
        }
        let n = *self.node(id);
        match n.op {
            Inst::Const(0) => self.a.evex(op::XORD, 2, r, r, Rm::R(r), ALL, None),
            Inst::Const(v) => self.bcast_const(r, v as u32 as u64, false),
            Inst::VIn(v) => {
                let home = self.home(v);
                self.a.z(op::MOVDQU32, r, 0, Rm::M(home));
            }
            Inst::Affine { base, step } => self.base_lanes(base, step, r),
            Inst::Lane => {
                let m = self.lane_line();
                self.a.z(op::MOVDQU32, r, 0, Rm::M(m));
            }
            _ if !n.vec => {
                let m = self.smem(id);
                self.a.z(op::BCASTD, r, 0, Rm::M(m));
            }
            _ => {
                // A vector value that is not in a register must have been computed.
                self.mistaken();
            }
        }
        self.put(id, part, r);
        r
    }

    /// A part of a value in a register that is about to change. A copy in memory becomes invalid.
    pub(super) fn changed(&mut self, id: Id, part: u8) -> u8 {
        let r = self.zreg(id, part);
        self.v.z.spilled.remove(&(id, part));
        r
    }

    /// A constant in every element.
    pub(super) fn bcast_const(&mut self, r: u8, v: u64, wide: bool) {
        // vpternlog makes all ones without memory.
        if !wide && v == 0xffff_ffff || wide && v == u64::MAX {
            self.a.zi(op::TERND, r, r, Rm::R(r), ALL, 0xff);
            return;
        }
        self.a
            .z(if wide { op::BCASTQ } else { op::BCASTD }, r, 0, Rm::C(v));
    }

    /// A half of a 64-bit value per lane, in a register of 8 elements.
    pub(super) fn wreg(&mut self, id: Id, part: u8) -> u8 {
        let n = *self.node(id);
        if n.vec && n.out.bits() > 32 {
            return self.zreg(id, part);
        }
        // Uniform: both parts are the same. Their key is apart from that of the 32-bit broadcast.
        let key = (id, 2);
        if let Some(&r) = self.v.z.at.get(&key) {
            return r;
        }
        let r = self.temp();
        match n.op {
            Inst::Const(v) => self.bcast_const(r, v, true),
            _ => {
                let m = self.smem_wide(id);
                self.a.z(op::BCASTQ, r, 0, Rm::M(m));
            }
        }
        self.put(id, 2, r);
        r
    }

    pub(super) fn wrm(&mut self, id: Id, part: u8) -> Rm {
        let n = *self.node(id);
        match n.op {
            Inst::Const(v) => Rm::C(v),
            _ if !n.vec => Rm::B(self.smem_wide(id)),
            _ => Rm::R(self.wreg(id, part)),
        }
    }

    /// The second operand of an instruction: a register, memory, a constant.
    pub fn rm(&mut self, id: Id) -> Rm {
        if let Some(&r) = self.v.z.at.get(&(id, 0)) {
            return Rm::R(r);
        }
        let last = self.next_use(id) == u32::MAX;
        if last && let Some(&slot) = self.v.z.spilled.get(&(id, 0)) {
            return Rm::M(vslot_mem(slot));
        }
        let n = *self.node(id);
        match n.op {
            Inst::Const(v) if n.out.bits() <= 64 => Rm::C(v as u32 as u64),
            Inst::VIn(v) if last => Rm::M(self.home(v)),
            Inst::Affine { base, step: 0 } if !self.looped => self.base_operand(base),
            _ if !n.vec => Rm::B(self.smem(id)),
            _ => Rm::R(self.zreg(id, 0)),
        }
    }

    pub fn hold(&mut self, r: u8) {
        self.v.z.busy |= 1 << r;
    }

    pub fn hold_rm(&mut self, rm: Rm) {
        if let Rm::R(r) = rm {
            self.hold(r);
        }
    }

    pub fn let_go(&mut self) {
        self.v.z.busy = self
            .v
            .deferred_writes
            .iter()
            .filter_map(|p| p.reg)
            .fold(self.v.bases.kept(), |b, r| b | 1u32 << r);
    }

    // ---- opmasks ----

    pub fn ktemp(&mut self) -> u8 {
        if let Some(r) = (1..OPMASKS)
            .find(|&r| self.v.k.busy >> r & 1 == 0 && self.v.k.regs[r as usize].is_none())
        {
            return r;
        }
        let mut best: Option<(u32, u8)> = None;
        for r in 1..OPMASKS {
            if self.v.k.busy >> r & 1 != 0 {
                continue;
            }
            if let Some((id, _)) = self.v.k.regs[r as usize] {
                let when = self.next_use(id);
                if best.is_none_or(|b| when > b.0) {
                    best = Some((when, r));
                }
            }
        }
        let Some((_, r)) = best else {
            self.mistaken();
            return 1;
        };
        let part = self.v.k.regs[r as usize].take().unwrap_or((0, 0));
        self.v.k.at.remove(&part);
        if !self.v.k.spilled.contains_key(&part) && self.next_use_or_now(part.0) {
            self.spill();
            let slot = self.v.next_mask.min(MASKS as u16 - 1);
            self.v.next_mask += 1;
            self.a.kstore16(ctx!(masks, 2 * slot as usize), r);
            self.v.k.spilled.insert(part, slot);
        }
        r
    }

    pub(super) fn kput(&mut self, id: Id, r: u8) {
        self.v.k.regs[r as usize] = Some((id, 0));
        self.v.k.at.insert((id, 0), r);
    }

    pub(super) fn kdefine(&mut self, id: Id) -> u8 {
        let r = self.ktemp();
        self.kput(id, r);
        r
    }

    /// A truth value per lane in an opmask.
    pub fn kreg(&mut self, id: Id) -> u8 {
        let n = *self.node(id);
        if n.op == Inst::Exec {
            return K_EXEC;
        }
        if let Some(&r) = self.v.k.at.get(&(id, 0)) {
            return r;
        }
        let r = self.ktemp();
        if let Some(&slot) = self.v.k.spilled.get(&(id, 0)) {
            self.a.kload16(r, ctx!(masks, 2 * slot as usize));
        } else {
            match n.op {
                Inst::Const(v) => {
                    let o = if v & 1 != 0 { kop::XNOR } else { kop::XOR };
                    self.a.kop(o, r, r, r);
                }
                Inst::Affine { base, .. } => self.base_mask(base, r),
                _ if !n.vec => {
                    self.sload(RAX, id);
                    self.a.g(false, &[0xf7], 3, Rm::R(RAX));
                    self.a.gpr_to_k(r, RAX);
                }
                _ => self.mistaken(),
            }
        }
        self.kput(id, r);
        r
    }
}
