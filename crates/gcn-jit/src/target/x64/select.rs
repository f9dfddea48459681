//! Instruction selection: the operations of a block, in their order, become machine instructions. This module has the parts that are the
//! same at all levels: values and their sources, writes of VGPRs, checks, and their order. Each level selects the instructions of
//! operations ([`Selection`]).

use super::machine::{At, Deferred, OperandRegisters, line_mem, plus};
use super::memory::Access;
use super::slice::vgpr_line;
use super::slow::{Fix, Slow};
use super::*;
use crate::ir::affine::Base;
use crate::ir::region::Store;
use crate::lir::{Code, Remat, Role, VReg};
use gcn_emu::fp::Round;
use std::rc::Rc;

/// The machine instructions that all levels have.
pub(crate) enum Shared {
    /// All lanes' dwords.
    Load(At),
    Store(At),
    /// Stores one register to each location.
    StoreAll(Vec<At>),
    /// An element of 4 or 8 bytes in all lanes.
    Broadcast(At, u8),
    /// Truth values from bits in memory.
    Bits(At),
    /// Collects the bits of truth values. The second number is 1 for the upper half if the code is for both halves.
    Ballot(usize, u8),
    /// The VGPR whose number is a scalar.
    VgprAt(Id, At),
    /// Stores a register to the VGPR whose number is a scalar.
    StoreVgprAt(Id, At),
    /// The last instruction, which uses the slice's values that stay in registers while other slices are computed.
    Keep,
    /// One of these values.
    InRegister(usize),
    Access(Rc<Access>),
    Slow(Rc<Slow>),
    Fix(Fix),
}

impl Shared {
    /// Encodes the instruction.
    pub fn encode<V: Vectors>(&self, e: &mut Emit<'_, V>, p: OperandRegisters<'_, V::Op>) {
        use super::machine::Machine;
        match self {
            &Shared::Load(at) => {
                let m = e.at(at);
                V::Op::reload(e.a, 0, p.r(0), m);
            }
            &Shared::Store(at) => {
                let m = e.at(at);
                V::Op::spill(e.a, 0, p.r(0), m);
            }
            Shared::StoreAll(all) => {
                for (k, &at) in all.iter().enumerate() {
                    let m = e.at(at);
                    V::Op::spill(e.a, 0, p.r(k), m);
                }
            }
            &Shared::Broadcast(at, bytes) => {
                let m = e.at(at);
                V::broadcast(e.a, p.r(0), bytes, m);
            }
            &Shared::Bits(at) => V::bits(e, at, V::truth(p, 0)),
            &Shared::Ballot(n, half) => {
                V::truth_to(e.a, RAX, V::truth(p, 0));
                if half == 1 {
                    e.a.shift_imm(4, false, RAX, 8);
                }
                e.collect_ballot(n);
            }
            &Shared::VgprAt(number, at) => {
                e.vgpr_at(number);
                let m = e.at(at);
                V::Op::reload(e.a, 0, p.r(0), m);
            }
            &Shared::StoreVgprAt(number, at) => {
                e.vgpr_at(number);
                let m = e.at(at);
                V::Op::spill(e.a, 0, p.r(0), m);
            }
            Shared::Keep => {
                let slice = e.slice as usize;
                e.v.kept[slice] = p.range(0, p.locations.len());
            }
            &Shared::InRegister(n) => {
                let from = e.v.kept[e.slice as usize][n];
                V::Op::copy(e.a, 0, from, p.r(0));
            }
            Shared::Access(access) => e.access_code(access, p),
            Shared::Slow(slow) => V::slow_code(e, slow, p),
            Shared::Fix(fix) => V::fix_code(e, *fix, p),
        }
    }
}

/// Instruction selection for a part of a slice, or for both halves.
pub(crate) struct Select<'s, 'a, V: VectorIsa> {
    pub e: &'s mut Emit<'a, V>,
    pub code: Code<V::Op>,
    /// The current half, if both halves are selected.
    pub now: Option<u8>,
    /// The register or the two registers of each value.
    values: [Vec<Option<[VReg; 2]>>; 2],
    /// The registers of constants.
    constants: Map<V::Constant, VReg>,
    /// Conditions that no active lane may meet: checked before any store.
    pub bad: [Option<VReg>; 2],
    /// A value whose check is pending, so that it can be combined with another one's.
    unchecked: [Option<VReg>; 2],
    /// The writes of VGPRs at the slice's end, because the block also reads them.
    late: Vec<(At, VReg)>,
    /// The values that stay in registers until the block cannot be left any more.
    pub kept: Vec<VReg>,
    /// VGPR values may be kept in this way.
    keep: bool,
    /// The position of the current operation.
    pos: u32,
    critical: Vec<bool>,
    fallible: bool,
    /// Conversions of truth values to numbers, which are computed at their first use, because sums use the truth values directly.
    numbers: Map<Id, VectorOp>,
}

impl<V: Vectors> Emit<'_, V> {
    /// Returns for each VGPR that the block writes whether it must not be written before the last point of failure.
    pub fn critical_writes(&self) -> Vec<bool> {
        let c = self.c;
        // Writes that are numbered at run time come before all others, and after the last point of failure.
        let always = self.common.precise || !c.effects.indexed.is_empty();
        match always {
            true => vec![true; c.effects.vgprs.len()],
            false => c.reads_what_it_writes(),
        }
    }

    /// Returns true if the slices of the block can keep values in registers until nothing can fail any more.
    fn can_keep(&self) -> bool {
        V::KEEPS && self.wave_helper_call().is_none() && self.with(Optional::Keep)
    }

    /// Returns true if VGPRs are written with values that would be kept in registers.
    pub fn keeps_writes(&self) -> bool {
        self.can_keep() && self.kept_writes() > 0
    }

    /// Returns the number of VGPRs whose values would be kept in registers.
    fn kept_writes(&self) -> usize {
        let kept = self.critical_writes().iter().filter(|c| **c).count();
        if kept <= KEPT_VGPRS { kept } else { 0 }
    }

    /// Returns true if the data of deferred stores would be kept in registers.
    pub fn keeps_stores(&self) -> bool {
        let parts = |s: &Store| s.data.len() * if s.bytes == 8 { 2 } else { 1 };
        let data = self.c.effects.deferred_stores.iter().map(parts).sum();
        let few = (1..=KEPT_DATA).contains(&data) && data + self.kept_writes() <= KEPT_TOGETHER;
        self.can_keep() && few
    }
}

/// The current lanes of the VGPR to which [`Emit::vgpr_at`] points.
const NUMBERED: At = At::dwords(mem(RAX, -VGPR_BIAS * 256));

/// The maximum number of VGPRs that are written by one instruction.
const TOGETHER: usize = 12;

/// The maximum number of VGPRs' values, and of registers of stored data, that a slice keeps in registers.
const KEPT_VGPRS: usize = 4;
const KEPT_DATA: usize = 4;
/// The maximum number of both.
const KEPT_TOGETHER: usize = 6;

impl<'s, 'a, V: Vectors> Select<'s, 'a, V> {
    pub fn new(e: &'s mut Emit<'a, V>, both: bool) -> Select<'s, 'a, V> {
        let n = e.c.graph.len();
        let mut s = Select {
            e,
            code: Code::default(),
            now: both.then_some(0),
            values: [vec![None; n], if both { vec![None; n] } else { Vec::new() }],
            constants: Map::default(),
            bad: [None; 2],
            unchecked: [None; 2],
            late: Vec::new(),
            kept: Vec::new(),
            keep: false,
            pos: 0,
            critical: Vec::new(),
            fallible: false,
            numbers: Map::default(),
        };
        s.before_slices();
        s
    }

    /// Makes the values that were computed before the slices available.
    fn before_slices(&mut self) {
        if self.e.v.everywhere {
            return;
        }
        for (id, at) in self.e.v.uniform.clone() {
            let r = match self.e.node(id).out.bits() > 32 {
                true => at.map(|at| self.load(at)),
                false => [self.load(at[0]); 2],
            };
            self.values
                .iter_mut()
                .filter(|v| !v.is_empty())
                .for_each(|v| v[id as usize] = Some(r));
        }
    }

    /// Selects the code before the slices: some operations of the plan, and the stores of their kept results.
    pub fn uniform(&mut self, ops: &[bool], kept: &[Id]) {
        for (pos, _) in ops.iter().enumerate().filter(|op| *op.1) {
            self.pos = pos as u32;
            let op = self.e.plan.ops[pos];
            self.compute(&op);
        }
        if let Some(r) = self.unchecked[0].take() {
            self.no_nans(r, r);
        }
        V::check(self);
        for &id in kept {
            let (r, at) = (self.have(id), self.e.v.uniform.get(&id).copied());
            let (Some(r), Some(at)) = (r, at) else {
                self.e.mistaken();
                continue;
            };
            let wide = self.e.node(id).out.bits() > 32;
            for k in 0..1 + wide as usize {
                self.store_to(at[k], r[k]);
            }
        }
    }

    pub fn half(&self) -> usize {
        self.now.unwrap_or(0) as usize
    }

    pub fn push(&mut self, op: impl Into<V::Op>, operands: &[(VReg, Role)]) {
        self.code.push(op.into(), operands);
    }

    /// Returns a new vector register.
    pub fn reg(&mut self) -> VReg {
        self.code.reg(0)
    }

    /// Returns a new register for truth values.
    pub fn truth_reg(&mut self) -> VReg {
        self.code.reg(V::TRUTH)
    }

    /// Returns a value that one instruction computes, independent of where it is executed.
    pub fn constant(
        &mut self,
        which: V::Constant,
        make: impl FnOnce(&mut Self) -> (V::Op, Remat, crate::lir::Class),
    ) -> VReg {
        if let Some(&r) = self.constants.get(&which) {
            return r;
        }
        let (op, again, class) = make(self);
        let r = self.code.push_remat(op, again, class);
        self.constants.insert(which, r);
        r
    }

    /// Adjusts a memory location for the current half.
    pub fn at(&self, at: At) -> At {
        match self.now {
            Some(half) => At {
                mem: plus(at.mem, at.half * half as i32),
                half: 0,
                ..at
            },
            None => at,
        }
    }

    /// Loads dwords from memory.
    pub fn load(&mut self, at: At) -> VReg {
        let at = self.at(at);
        self.code
            .push_remat(Shared::Load(at).into(), Remat::Memory, 0)
    }

    pub fn store_to(&mut self, at: At, r: VReg) {
        let at = self.at(at);
        self.push(Shared::Store(at), &[(r, Role::Use)]);
    }

    /// Broadcasts an element of 4 or 8 bytes to all lanes.
    pub fn broadcast(&mut self, at: At, bytes: u8) -> VReg {
        self.code
            .push_remat(Shared::Broadcast(at, bytes).into(), V::BROADCAST, 0)
    }

    /// Loads truth values from bits in memory.
    pub fn bits(&mut self, at: At) -> VReg {
        let at = self.at(at);
        self.code
            .push_remat(Shared::Bits(at).into(), Remat::Value, V::TRUTH)
    }

    // ---- values ----

    fn set(&mut self, id: Id, r: [VReg; 2]) {
        let half = self.half();
        self.values[half][id as usize] = Some(r);
    }

    pub fn define(&mut self, id: Id, r: VReg) {
        self.set(id, [r, r]);
    }

    pub fn define_wide(&mut self, id: Id, r: [VReg; 2]) {
        self.set(id, r);
    }

    pub fn have(&self, id: Id) -> Option<[VReg; 2]> {
        self.values[self.half()][id as usize]
    }

    /// Returns a dword constant in all lanes.
    pub fn d32(&mut self, value: u32) -> VReg {
        V::constant(self, value as u64, false)
    }

    /// Returns a qword constant in all lanes.
    pub fn q64(&mut self, value: u64) -> VReg {
        V::constant(self, value, true)
    }

    pub fn every(&mut self, value: u64, wide: bool) -> VReg {
        match wide {
            true => self.q64(value),
            false => self.d32(value as u32),
        }
    }

    /// Returns a 32-bit value or a truth value per lane. A scalar truth value is a number here, 1 or 0.
    pub fn val(&mut self, id: Id) -> VReg {
        if let Some([r, _]) = self.have(id) {
            return r;
        }
        let n = *self.e.node(id);
        let boolean = n.out == Ty::Bool;
        let r = match n.op {
            Inst::Const(v) => self.d32(v as u32),
            Inst::Exec => V::active_lanes(self),
            Inst::VIn(v) => self.load(At::dwords(vgpr_line(v, 0))),
            Inst::Lane => self.load(At::dwords(ctx!(tables.lanes))),
            Inst::Affine { base, .. } if boolean => V::affine_truth(self, base),
            Inst::Affine { base, step } => V::affine(self, base, step),
            Inst::Part(k) if n.vec => {
                let Some(r) = self.part(n.args[0], k) else {
                    self.e.mistaken();
                    return self.d32(0);
                };
                r
            }
            _ if !n.vec => {
                let at = At::same(self.e.smem(id));
                self.broadcast(at, 4)
            }
            _ => {
                if let Some(op) = self.numbers.get(&id).copied() {
                    self.compute(&op);
                    if let Some([r, _]) = self.have(id) {
                        return r;
                    }
                }
                // The value must have been computed before.
                self.e.mistaken();
                match boolean {
                    true => V::same_truth(self, false),
                    false => self.d32(0),
                }
            }
        };
        self.define(id, r);
        r
    }

    /// Returns a truth value.
    pub fn mask(&mut self, id: Id) -> VReg {
        if self.e.node(id).vec {
            return self.val(id);
        }
        if let Some(v) = self.e.konst(id) {
            return V::same_truth(self, v & 1 != 0);
        }
        V::scalar_truth(self, id)
    }

    /// Returns a 64-bit value.
    pub fn wide(&mut self, id: Id) -> [VReg; 2] {
        let n = *self.e.node(id);
        if n.vec && n.out.bits() > 32 {
            let Some(r) = self.have(id) else {
                self.e.mistaken();
                return [self.d32(0); 2];
            };
            return r;
        }
        let r = match n.op {
            Inst::Const(v) => self.q64(v),
            _ => {
                let at = At::same(self.e.smem_wide(id));
                self.broadcast(at, 8)
            }
        };
        [r, r]
    }

    /// Returns true if a value is not used after the current operation.
    pub fn dies(&self, id: Id) -> bool {
        let uses = &self.e.plan.uses[id as usize];
        let at = uses.partition_point(|&p| p <= self.pos);
        uses.get(at).is_none() && self.e.node(id).vec
    }

    /// Returns a value that has a register, or that can be loaded at any time.
    pub fn known(&mut self, id: Id) -> Option<VReg> {
        let n = *self.e.node(id);
        let any = matches!(n.op, Inst::Exec | Inst::Const(_) | Inst::Affine { .. });
        match any || !n.vec || self.have(id).is_some() {
            true => Some(self.mask(id)),
            false => None,
        }
    }

    // ---- the slice ----

    /// Selects the code of the slice.
    pub fn slice(&mut self) {
        let c = self.e.c;
        let halves = 1 + self.now.is_some() as u8;
        self.plan_writes();
        for pos in 0..self.e.plan.ops.len() {
            self.pos = pos as u32;
            if self.e.v.before.get(pos) == Some(&true) {
                continue;
            }
            let op = self.e.plan.ops[pos];
            // The halves of a shuffle need each other's operands.
            for half in 0..halves {
                self.enter(half);
                match op.commit {
                    None => self.operation(&op),
                    Some(i) => self.write(i),
                }
                // What comes after a guard may rely on it, such as loads of a loop's next round.
                if op.commit.is_none() && c.guards.contains(&op.id) {
                    let r = self.mask(op.id);
                    V::must_not(self, r);
                    V::check_now(self);
                }
            }
        }
        self.pos = self.e.plan.ops.len() as u32;
        let call = self.e.wave_helper_call();
        for half in 0..halves {
            self.enter(half);
            for i in 0..self.e.v.ballots.len() {
                let of = self.e.node(self.e.v.ballots[i]).args[0];
                let r = self.mask(of);
                // If both halves are selected, the upper half's bits are above the lower half's.
                self.push(Shared::Ballot(i, half), &[(r, V::truth_role(self, r))]);
            }
            for &g in &c.guards {
                if c.graph[g as usize].vec && !self.e.plan.ops.iter().any(|op| op.id == g) {
                    let r = self.mask(g);
                    V::must_not(self, r);
                }
            }
            if let Some(r) = self.unchecked[self.half()].take() {
                self.no_nans(r, r);
            }
            V::check(self);
        }
        // Nothing is stored before all checks.
        for half in 0..halves {
            self.enter(half);
            for row in 0..c.effects.rows.len() {
                let (address, offset, value) = c.effects.rows[row];
                self.store_row(address, offset, value);
            }
            match (&call, &c.effects.store, c.affine.store) {
                (Some(w), ..) => self.stage(w),
                (None, Some(store), Some((address, offset))) => {
                    self.affine_store(store, address, offset);
                }
                (None, Some(store), None) => self.store(store),
                (None, None, _) => {}
            }
            self.stage_accesses();
            self.keep_stores();
            self.keep_indexed();
        }
        for late in std::mem::take(&mut self.late).chunks(TOGETHER) {
            let operands: Vec<_> = late.iter().map(|w| (w.1, Role::Use)).collect();
            let all = late.iter().map(|w| w.0).collect();
            self.push(Shared::StoreAll(all), &operands);
        }
        if !self.kept.is_empty() {
            let operands: Vec<_> = self.kept.iter().map(|&r| (r, Role::Use)).collect();
            self.push(Shared::Keep, &operands);
        }
    }

    fn enter(&mut self, half: u8) {
        if self.now.is_some() {
            self.now = Some(half);
        }
    }

    fn stage(&mut self, w: &crate::ir::region::WaveHelperCall) {
        for (n, &id) in w.inputs.iter().enumerate() {
            if self.e.staged(w, n) {
                self.stage_input(n, id);
            }
        }
    }

    /// Stages the addresses of recorded accesses for the recorder.
    fn stage_accesses(&mut self) {
        let c = self.e.c;
        for (n, access) in c.effects.accesses.iter().enumerate() {
            if access.is_uniform(&c.graph) {
                continue;
            }
            let lo = self.val(access.lo);
            self.store_to(At::dwords(ctx!(recorded.addresses, 512 * n)), lo);
            if !access.lds {
                let hi = self.val(access.hi);
                self.store_to(At::dwords(ctx!(recorded.addresses, 512 * n + 256)), hi);
            }
        }
    }

    /// Stages an operand of a wave-wide helper.
    pub fn stage_input(&mut self, n: usize, id: Id) {
        let r = self.val(id);
        self.store_to(At::dwords(ctx!(stage, 256 * n)), r);
    }

    /// Writes an affine value to a VGPR.
    pub fn affine_write(&mut self, v: u16, base: Base, step: i32) {
        let r = V::affine(self, base, step);
        self.store_to(At::dwords(vgpr_line(v, 0)), r);
    }

    // ---- writes of VGPRs ----

    fn plan_writes(&mut self) {
        let e = &*self.e;
        let c = e.c;
        let indexed = !c.effects.indexed.is_empty();
        let critical = e.critical_writes();
        let lane_guards = c.guards.iter().any(|&g| c.graph[g as usize].vec);
        let loads = |n: &Node| matches!(n.op, Inst::Group { .. } | Inst::Row(_));
        self.fallible = e.plan.checks
            || lane_guards
            || indexed
            || !c.effects.rows.is_empty()
            || c.graph.iter().any(loads)
            || c.effects.store.is_some() && c.affine.store.is_none()
            || c.effects.wave_helper.is_some();
        // Scalars that depend on lanes come after all slices, and their loads may leave the block.
        let late_load =
            |(at, n): (usize, &Node)| e.plan.late[at] && matches!(n.op, Inst::SLoad { .. });
        self.fallible |= c.graph.iter().enumerate().any(late_load);
        // Data of deferred stores that stay in registers may be loaded from their VGPRs after a slice's writes.
        self.fallible |= !c.effects.deferred_stores.is_empty() && self.can_keep();
        // Other slices and later code read VGPRs as they were.
        let others = |n: &Node| matches!(n.op, Inst::LaneIn(_) | Inst::LanesIn(_) | Inst::VgprAt);
        self.fallible |= c.graph.iter().any(others) || critical.len() > TOGETHER;
        let few = critical.iter().filter(|c| **c).count() <= KEPT_VGPRS;
        self.keep = few && self.can_keep();
        self.critical = critical;
    }

    /// Writes a VGPR, now or after the last point of failure.
    fn write(&mut self, i: usize) {
        let (v, id, live) = self.e.c.effects.vgprs[i];
        let home = At::dwords(vgpr_line(v, 0));
        let mut r = self.val(id);
        if live == LiveLanes::All && self.e.all_active.is_none() {
            let old = self.load(home);
            r = V::in_active(self, old, r);
        }
        let to = match (self.critical[i], self.fallible) {
            (true, false) => {
                self.late.push((self.at(home), r));
                return;
            }
            (true, true) => {
                let found = self.e.v.deferred.iter().find(|d| d.0 == v).copied();
                let (_, to) = found.unwrap_or_else(|| {
                    let to = self.deferred(r, self.keep);
                    self.e.v.deferred.push((v, to));
                    (v, to)
                });
                match to {
                    Deferred::Line(line) => At::dwords(line_mem(line)),
                    Deferred::InRegister(_) => return,
                }
            }
            _ => home,
        };
        self.store_to(to, r);
    }

    /// Returns a location for a value until nothing can fail any more.
    fn deferred(&mut self, r: VReg, keep: bool) -> Deferred {
        if keep {
            self.kept.push(r);
            return Deferred::InRegister(self.kept.len() - 1);
        }
        Deferred::Line(self.e.lines())
    }

    /// Returns true if values of a slice can stay in registers while others are computed.
    fn can_keep(&self) -> bool {
        !self.e.looped && self.e.can_keep()
    }

    /// Keeps the data that deferred stores will write.
    fn keep_stores(&mut self) {
        let c = self.e.c;
        let stores = &c.effects.deferred_stores;
        let keep = !self.e.looped && self.e.keeps_stores();
        for (n, s) in stores.iter().enumerate() {
            let data = self.store_data(s);
            if self.e.v.stored.len() <= n {
                let locations = data.iter().map(|&r| self.deferred(r, keep)).collect();
                self.e.v.stored.push(locations);
            }
            for (k, r) in data.into_iter().enumerate() {
                if let Deferred::Line(line) = self.e.v.stored[n][k] {
                    self.store_to(At::dwords(line_mem(line)), r);
                }
            }
        }
    }

    /// Loads the VGPR whose number is a scalar.
    fn vgpr_at(&mut self, number: Id) -> VReg {
        let d = self.reg();
        let at = self.at(NUMBERED);
        self.push(Shared::VgprAt(number, at), &[(d, Role::Def)]);
        d
    }

    /// Keeps the values of writes of VGPRs that are numbered at run time.
    fn keep_indexed(&mut self) {
        for n in 0..self.e.c.effects.indexed.len() {
            let r = self.val(self.e.c.effects.indexed[n].value);
            if self.e.v.indexed.len() <= n {
                let line = self.e.lines();
                self.e.v.indexed.push(line);
            }
            let line = self.e.v.indexed[n];
            self.store_to(At::dwords(line_mem(line)), r);
        }
    }

    /// Writes a kept value to the VGPR whose number is a scalar.
    pub fn indexed_write(&mut self, number: Id, line: u16) {
        let mut r = self.load(At::dwords(line_mem(line)));
        if self.e.all_active.is_none() {
            let old = self.vgpr_at(number);
            r = V::in_active(self, old, r);
        }
        let at = self.at(NUMBERED);
        self.push(Shared::StoreVgprAt(number, at), &[(r, Role::Use)]);
    }

    // ---- checks ----

    /// Records the NaNs of two values of 32 bits.
    fn no_nans(&mut self, a: VReg, b: VReg) {
        let r = V::unordered(self, a, b);
        V::must_not(self, r);
    }

    /// Flushes a result and records its NaNs.
    fn look(&mut self, op: &VectorOp, wide: bool) {
        let Some(mut r) = self.have(op.id) else {
            return;
        };
        let parts = 1 + wide as usize;
        if op.flush {
            for r in &mut r[..parts] {
                *r = V::flushed(self, *r, wide);
            }
            if !wide {
                r[1] = r[0];
            }
            self.set(op.id, r);
        }
        if !op.check {
            return;
        }
        if wide {
            let r = V::unordered_wide(self, r);
            V::must_not(self, r);
            return;
        }
        let half = self.half();
        match self.unchecked[half].take() {
            Some(other) => self.no_nans(other, r[0]),
            None => self.unchecked[half] = Some(r[0]),
        }
    }

    // ---- operations ----

    fn operation(&mut self, op: &VectorOp) {
        let n = *self.e.node(op.id);
        let number = n.op == Inst::Alu(Op::Zext) && n.ty == Ty::Bool && n.out.bits() == 32;
        if number && self.e.with(Optional::Carries) && !self.e.plan.ternary.contains_key(&op.id) {
            self.numbers.insert(op.id, *op);
            return;
        }
        self.compute(op);
    }

    fn compute(&mut self, op: &VectorOp) {
        let n = *self.e.node(op.id);
        let [x, y, _] = op.args;
        let id = op.id;
        if let Some(ternary) = self.e.plan.ternary.get(&id) {
            let table = ternary.table;
            let r = V::ternary(self, op, table);
            self.define(id, r);
            return;
        }
        if let Some(extreme) = self.e.plan.extreme(id) {
            let r = V::extreme(self, extreme, [x, y]);
            self.define(id, r);
            return;
        }
        match n.op {
            Inst::Cycle => {
                let halves = [x, y].map(|id| match self.e.konst(id) {
                    Some(v) => V::constant(self, v, true),
                    None => {
                        let at = At::same(self.e.smem(id));
                        self.broadcast(at, 8)
                    }
                });
                let r = V::interleaved(self, halves);
                self.define(id, r);
            }
            Inst::MaskOf => {
                let r = match self.e.konst(x) {
                    Some(bits) if bits == bits.rotate_left(16) => V::lanes_of(self, bits as u16),
                    _ => {
                        let m = self.e.smem(x);
                        self.bits(At::bits(m))
                    }
                };
                self.define(id, r);
            }
            Inst::Pair => {
                let r = match self.loaded_pair(x, y) {
                    Some(r) => r,
                    None => V::pair(self, x, y),
                };
                self.define_wide(id, r);
            }
            Inst::Lo | Inst::Hi => {
                let r = self.wide(x);
                let r = V::half_of(self, r, n.op == Inst::Hi);
                self.define(id, r);
            }
            Inst::LanesIn(v) => {
                let r = V::lanes_in(self, v, x);
                self.define(id, r);
            }
            Inst::VgprAt => {
                let d = self.vgpr_at(x);
                self.define(id, d);
            }
            Inst::Shuffle(digits) => {
                let r = V::shuffle(self, digits, x);
                self.define(id, r);
            }
            Inst::Shld(by) | Inst::Shrd(by) => {
                let left = matches!(n.op, Inst::Shld(_));
                let r = V::double_shift(self, left, [x, y], by);
                self.define(id, r);
            }
            Inst::Group {
                space,
                bytes,
                count,
                offset,
            } => self.group(id, space, bytes, count, offset, [x, y]),
            Inst::AffineLoad {
                bytes,
                count,
                offset,
                address,
                in_order: true,
                ..
            } => self.load_in_order(id, bytes, count, offset, address),
            Inst::AffineLoad {
                bytes,
                count,
                offset,
                address,
                broadcast,
                ..
            } => self.affine_load(id, bytes, count, offset, address, broadcast),
            Inst::Row(offset) => self.row(id, x, offset),
            Inst::Part(_) | Inst::ShrLane => {}
            Inst::FastPath(number) => self.fast_path(op, &n, number),
            Inst::Alu(o) => V::alu(self, op, o, &n),
            _ => self.e.mistaken(),
        }
        let wide = n.out.bits() > 32;
        if let (true, Inst::Alu(o)) = (op.fix, n.op) {
            self.fix(op, o, wide);
        }
        if op.flush || op.check {
            self.look(op, wide);
        }
    }

    /// Returns true if the product of two 64-bit values needs only their lower halves.
    pub fn short_product(&self, ids: [Id; 2]) -> bool {
        let short = |i: Id| {
            let n = self.e.node(i);
            match n.op {
                Inst::Pair => self.e.konst(n.args[1]) == Some(0),
                Inst::Const(v) => v >> 32 == 0,
                _ => !n.vec && n.out.bits() <= 32,
            }
        };
        ids.into_iter().all(short)
    }

    /// Returns true if the order of the two operands decides which NaN the result is: neither is a constant number.
    pub fn stays(&self, op: &VectorOp) -> bool {
        let number = |id: Id| {
            let bits = self.e.konst(id);
            bits.is_some_and(|bits| !f32::from_bits(bits as u32).is_nan())
        };
        self.e.plan.ordered[op.id as usize] && !op.args[..2].iter().any(|&id| number(id))
    }

    /// Returns the operands, ordered so that one in memory comes second.
    pub fn ordered(&mut self, x: Id, y: Id) -> (VReg, VReg) {
        let again = |e: &Emit<'_, V>, id: Id| {
            let n = e.node(id);
            V::BROADCAST == Remat::Memory && !n.vec
                || matches!(n.op, Inst::Const(_) | Inst::VIn(_) | Inst::Lane)
        };
        let (a, b) = (self.val(x), self.val(y));
        match again(self.e, x) && !again(self.e, y) {
            true => (b, a),
            false => (a, b),
        }
    }
}

/// Returns the bounds for finding results that are tiny as f32: for a positive f64, and for the negation of a negative one. A bound is its
/// bits, and the predicate of the comparison (1 for less, 2 for less or equal). Whether a number is tiny is decided after rounding to 24
/// bits with an unbounded exponent, so the bound depends on the rounding mode.
pub(crate) fn bounds_of_tiny_as_f32(round: Round) -> [(u64, u8); 2] {
    const LESS: u8 = 1;
    const LESS_OR_EQUAL: u8 = 2;
    /// 2^-126, the least normal f32. Below it, f32 numbers of 24 bits are `STEP` apart.
    const LEAST: u64 = (1023 - 126) << 52;
    const STEP: u64 = 1 << 29;
    let toward_zero = (LEAST, LESS);
    // Everything above the f32 number before LEAST rounds to LEAST.
    let away_from_zero = (LEAST - STEP, LESS_OR_EQUAL);
    match round {
        // The midpoint between the two rounds to LEAST, which is even.
        Round::NearestEven => [(LEAST - STEP / 2, LESS); 2],
        Round::PlusInf => [away_from_zero, toward_zero],
        Round::MinusInf => [toward_zero, away_from_zero],
        Round::Zero => [toward_zero; 2],
    }
}

/// Returns the immediate of VPSHUFD, if a [shuffle](Inst::Shuffle) does the same within each four lanes.
pub(super) fn each_four(digits: u64) -> Option<u8> {
    let digit = |lane: u64| digits >> (4 * lane) & 15;
    let same = (0..16).all(|lane| digit(lane) == (lane & !3) + (digit(lane % 4) & 3));
    let four = (0..4).map(|lane| (digit(lane) as u8 & 3) << (2 * lane));
    same.then(|| four.sum())
}

/// Returns the predicate of a host's comparison of floats. All are quiet, and false for NaNs but for the last one.
pub(super) fn predicate_of(o: Op) -> Option<u8> {
    Some(match o {
        Op::Eq => 0,
        Op::Lt => 0x11,
        Op::Le => 0x12,
        Op::Gt => 0x1e,
        Op::Ge => 0x1d,
        Op::Ne => 0x0c,
        Op::Unord => 3,
        _ => return None,
    })
}

/// Returns the immediate of VROUND and VRNDSCALE.
pub(super) fn rounding_of(o: Op) -> u8 {
    8 | match o {
        Op::RoundEven => 0,
        Op::Floor => 1,
        Op::Ceil => 2,
        _ => 3,
    }
}
