//! Scalars: in general registers, and in slots of the context if vector code needs them or registers run out.
//!
//! Scalars that do not depend on lanes are computed before the vector code, the others after it. Between the two no register
//! holds one. Values that are in memory anyway (registers as they were at the block's start, halves of values in slots, loaded
//! values) are read where they are used.

use super::range::ExactOut;
use super::slice::{SLICE, SLICE_BITS};
use super::*;
use crate::passes::lists::Lists;

/// The registers for scalars. RAX, RCX, RDX and RSI are temporary.
const BANK: [Gpr; 5] = [RDI, R8, R9, R10, SLICE];

/// The contents of general registers, and the uses of scalars in a block.
#[derive(Default)]
pub(crate) struct Scalars {
    regs: [Option<Id>; 16],
    /// Registers that the operation at hand needs.
    busy: u16,
    /// The times at which each scalar is used, in order. See [`Emit::time`].
    uses: Lists,
    now: u32,
    /// Conditions that are only used as flags: they are computed where they are used.
    flags: Vec<bool>,
    /// The values that scalar registers hold.
    takes: Vec<Take>,
    /// The values that were spilled at the block's end, while registers are written.
    kept: Vec<Id>,
    /// Addresses from which all loads have been checked.
    looked: Vec<Id>,
}

/// The scalars that are computed, and the times at which each is used, in any order.
struct Needed {
    values: Vec<bool>,
    uses: Vec<(Id, u32)>,
}

/// The values that scalar registers hold at a block's end.
#[derive(Clone, Copy)]
enum Take {
    /// A register takes a value, or its lower half.
    One(u8, Id),
    /// Two registers take a value.
    Two(u8, Id),
    /// Two registers that instructions can read as 64 bits take two values. They are stored together: the host stalls at a load of
    /// 64 bits of which two stores have written a half each.
    Joined(u8, Id, Id),
    /// Several registers take elements of a load, from one on.
    Loaded(u8, Id, u8, u8),
}

impl Take {
    /// The values, if they are not elements of a load.
    fn computed(&self) -> impl Iterator<Item = Id> + use<> {
        let (first, second) = match *self {
            Take::One(_, id) | Take::Two(_, id) => (Some(id), None),
            Take::Joined(_, low, high) => (Some(low), Some(high)),
            Take::Loaded(..) => (None, None),
        };
        first.into_iter().chain(second)
    }
}

impl<V: Vectors> Emit<'_, V> {
    // ---- when ----

    /// The time at which a scalar is computed: before the vector code, whose time is the graph's length, or after it.
    fn time(&self, id: Id) -> u32 {
        if self.plan.late[id as usize] {
            self.c.graph.len() as u32 + 1 + id
        } else {
            id
        }
    }

    /// The time of the block's end.
    fn end_time(&self) -> u32 {
        2 * self.c.graph.len() as u32 + 2
    }

    /// Finds out which scalars are needed, and when.
    pub(super) fn scalar_uses(&mut self) -> Vec<bool> {
        let c = self.c;
        let n = c.graph.len();
        let vectors = n as u32;
        let end = self.end_time();
        self.plan_takes();
        // A value that is used as anything but a condition is not computed as flags.
        let mut flags: Vec<bool> = c
            .graph
            .iter()
            .map(|node| !node.vec && node.out == Ty::Bool && condition(node))
            .collect();
        for id in self.s.takes.iter().flat_map(Take::computed) {
            flags[id as usize] = false;
        }
        let bases = self.base_scalars();
        for &id in &bases {
            flags[id as usize] = false;
        }
        let of_lanes = self.lane_block.iter().flat_map(|l| l.scalars());
        let of_lanes: Vec<Id> = of_lanes.collect();
        for &id in &of_lanes {
            flags[id as usize] = false;
        }
        for access in &c.effects.accesses {
            flags[access.lo as usize] = false;
            flags[access.hi as usize] = false;
        }
        for w in &c.effects.indexed {
            flags[w.number as usize] = false;
        }
        for &(_, lane, value) in &c.effects.lane_inserts {
            flags[lane as usize] = false;
            flags[value as usize] = false;
        }
        for at in (0..n).rev() {
            let node = &c.graph[at];
            if !self.plan.uses[at].is_empty() {
                flags[at] = false;
            }
            for (k, &i) in node.inputs().iter().enumerate() {
                let asks = match node.op {
                    Inst::Alu(Op::Select) => !node.vec && k == 0,
                    Inst::Alu(Op::Not) => !node.vec && flags[at],
                    _ => false,
                };
                flags[i as usize] &= asks;
            }
        }
        self.s.flags = flags;
        let mut needed = Needed {
            values: vec![false; n],
            uses: Vec::new(),
        };
        for k in 0..self.s.takes.len() {
            match self.s.takes[k] {
                Take::Loaded(_, id, ..) => self.mark_needed(id, end, &mut needed),
                take => {
                    for id in take.computed() {
                        self.mark_needed(id, end, &mut needed);
                    }
                }
            }
        }
        if let Some(id) = c.effects.scc {
            self.mark_needed(id, end + 1, &mut needed);
        }
        if let Terminator::Branch { when, .. } = c.terminator {
            self.mark_needed(when, end + 1, &mut needed);
        }
        if let Some(to) = self.jumps_to() {
            self.mark_needed(to, end, &mut needed);
        }
        for &(id, _) in &c.skipped {
            self.mark_needed(id, end, &mut needed);
        }
        for access in c.effects.accesses.iter().filter(|n| n.is_uniform(&c.graph)) {
            self.mark_needed(access.lo, end, &mut needed);
            self.mark_needed(access.hi, end, &mut needed);
        }
        for w in &c.effects.indexed {
            self.mark_needed(w.number, end, &mut needed);
        }
        for &(_, lane, value) in &c.effects.lane_inserts {
            self.mark_needed(lane, end, &mut needed);
            self.mark_needed(value, end, &mut needed);
        }
        for &g in &c.guards {
            if !c.graph[g as usize].vec {
                self.mark_needed(g, self.time(g) + 1, &mut needed);
            }
        }
        for id in bases.into_iter().chain(of_lanes) {
            self.mark_needed(id, vectors, &mut needed);
        }
        for at in (0..n).rev() {
            let node = &c.graph[at];
            if !node.vec && !self.plan.uses[at].is_empty() {
                self.mark_needed(at as Id, vectors, &mut needed);
            }
            needed.values[at] |= matches!(node.op, Inst::SLoad { .. });
            if node.vec || !needed.values[at] || self.on_demand(at as Id) {
                continue;
            }
            let time = self.time(at as Id);
            for &i in node.inputs() {
                if node.op != Inst::Ballot {
                    self.mark_needed(i, time, &mut needed);
                }
            }
        }
        self.s.uses = Lists::of(n, &needed.uses);
        for at in 0..n {
            self.s.uses[at].sort_unstable();
        }
        needed.values
    }

    /// Records that a value is used at a time, and so are the values that it is computed from then.
    fn mark_needed(&mut self, id: Id, time: u32, needed: &mut Needed) {
        let node = self.c.graph[id as usize];
        if self.s.flags[id as usize] {
            for &i in node.inputs() {
                self.mark_needed(i, time, needed);
            }
            return;
        }
        needed.values[id as usize] = true;
        needed.uses.push((id, time));
        if let Inst::Lo | Inst::Hi | Inst::Part(_) = node.op {
            self.mark_needed(node.args[0], time, needed);
        } else if let Some((load, _)) = self.loaded_pair(id) {
            self.mark_needed(load, time, needed);
        }
    }

    fn used_from(&self, id: Id, time: u32) -> Option<u32> {
        let u = &self.s.uses[id as usize];
        u.get(u.partition_point(|&p| p < time)).copied()
    }

    fn used_later(&self, id: Id) -> bool {
        self.used_from(id, self.s.now + 1).is_some()
    }

    // ---- where ----

    /// Returns true if a value is read from elsewhere whenever it is used.
    pub(super) fn on_demand(&self, id: Id) -> bool {
        matches!(
            self.node(id).op,
            Inst::Const(_) | Inst::SIn(_) | Inst::SccIn | Inst::Lo | Inst::Hi | Inst::Part(_)
        ) || self.loaded_pair(id).is_some()
            || self.s.flags[id as usize]
    }

    /// Two elements of a load that lie side by side: the load and the first's number.
    fn loaded_pair(&self, id: Id) -> Option<(Id, u8)> {
        let n = self.node(id);
        if n.op != Inst::Pair || n.vec {
            return None;
        }
        let (lo, hi) = (self.node(n.args[0]), self.node(n.args[1]));
        match (lo.op, hi.op) {
            (Inst::Part(k), Inst::Part(l)) if l == k + 1 && lo.args[0] == hi.args[0] => {
                Some((lo.args[0], k))
            }
            _ => None,
        }
    }

    /// Allocates room in the context for scalars. Returns its offset from the first scalar.
    fn scalar_room(&mut self, bytes: u32) -> u32 {
        let align = bytes.next_power_of_two().clamp(8, 64);
        let at = self.next_scalar.next_multiple_of(align);
        self.next_scalar = at + bytes;
        if self.next_scalar as usize > 8 * SCALARS {
            self.out.too_large = true;
            self.next_scalar = 0;
            return 0;
        }
        at
    }

    pub fn slot(&mut self, id: Id) -> Mem {
        let at = match self.slot_of.get(&id) {
            Some(&at) => at,
            None => {
                let at = self.scalar_room(8);
                self.slot_of.insert(id, at);
                at
            }
        };
        room_mem(at)
    }

    /// The address of a scalar, if it is in memory, and whether it has 64 bits.
    fn scalar_address(&self, id: Id) -> Option<(Mem, bool)> {
        let n = self.node(id);
        let wide = n.out.bits() > 32;
        if let Some(&at) = self.slot_of.get(&id) {
            return Some((room_mem(at), wide));
        }
        let plus = |m: Mem, by: i32| Mem {
            disp: m.disp + by,
            ..m
        };
        match n.op {
            Inst::SIn(code) => Some((sgpr_home(code), wide)),
            Inst::Part(k) if !n.vec => {
                let at = *self.slot_of.get(&n.args[0])?;
                Some((room_mem(at + 4 * k as u32), false))
            }
            Inst::Lo if !n.vec => Some((self.scalar_address(n.args[0])?.0, false)),
            Inst::Hi if !n.vec => {
                let (m, wide) = self.scalar_address(n.args[0])?;
                wide.then_some((plus(m, 4), false))
            }
            Inst::Pair => {
                let (load, k) = self.loaded_pair(id)?;
                let at = *self.slot_of.get(&load)?;
                Some((room_mem(at + 4 * k as u32), true))
            }
            _ => None,
        }
    }

    /// The address of a scalar in memory. Clobbers RAX.
    pub(super) fn smem(&mut self, id: Id) -> Mem {
        if let Some((m, _)) = self.scalar_address(id) {
            return m;
        }
        match self.node(id).op {
            Inst::Const(v) => {
                // A constant that must be in memory. It is stored wherever it is used, since earlier code may be skipped.
                let at = self.scalar_room(8);
                self.a.imm(RAX, v);
                self.a.store(true, room_mem(at), RAX);
                room_mem(at)
            }
            _ => {
                self.mistaken();
                ctx!(scalars)
            }
        }
    }

    /// The same with 64 bits. The upper half is 0 if the scalar has none.
    pub(super) fn smem_wide(&mut self, id: Id) -> Mem {
        if self.node(id).out.bits() > 32 {
            return self.smem(id);
        }
        self.sload(RAX, id);
        let at = self.scalar_room(8);
        self.a.store(true, room_mem(at), RAX);
        room_mem(at)
    }

    /// The address of two scalars side by side in memory. Clobbers RAX and RDX.
    pub(super) fn scalar_halves(&mut self, low: Id, high: Id) -> Mem {
        if let (Some((a, _)), Some((b, _))) = (self.scalar_address(low), self.scalar_address(high))
            && (a.base, a.index, a.disp + 4) == (b.base, b.index, b.disp)
        {
            return a;
        }
        self.join_halves(low, high, RDX);
        let at = self.scalar_room(8);
        self.a.store(true, room_mem(at), RAX);
        room_mem(at)
    }

    fn in_reg(&self, id: Id) -> Option<Gpr> {
        BANK.into_iter()
            .find(|&r| self.s.regs[r as usize] == Some(id))
    }

    /// Loads a scalar's value to a register. Clobbers the flags.
    pub fn sload(&mut self, to: Gpr, id: Id) {
        let n = *self.node(id);
        if let Inst::Const(v) = n.op {
            self.a.imm(to, v);
        } else if let Some(r) = self.in_reg(id) {
            self.a.mov(true, to, Rm::R(r));
        } else if let Some((m, wide)) = self.scalar_address(id) {
            self.a.mov(wide, to, Rm::M(m));
        } else {
            match n.op {
                Inst::SccIn => self.a.movzx8(to, scc_home()),
                Inst::Lo => {
                    self.sload(to, n.args[0]);
                    self.a.mov(false, to, Rm::R(to));
                }
                Inst::Hi => {
                    self.sload(to, n.args[0]);
                    self.a.shift_imm(5, true, to, 32);
                }
                _ => self.mistaken(),
            }
        }
    }

    /// A free register for the current operation.
    fn sfree(&mut self) -> Gpr {
        let mut best: Option<(u32, Gpr)> = None;
        for r in BANK {
            if self.s.busy >> r & 1 != 0 || r == SLICE && self.looped {
                continue;
            }
            let when = match self.s.regs[r as usize] {
                None => u32::MAX,
                Some(id) => self.used_from(id, self.s.now).unwrap_or(u32::MAX),
            };
            if best.is_none_or(|b| when > b.0) {
                best = Some((when, r));
            }
        }
        let Some((_, r)) = best else {
            self.mistaken();
            return RDI;
        };
        self.leave_reg(r, self.s.now);
        self.s.busy |= 1 << r;
        r
    }

    /// Spills a register's value if it is used from a time on and is nowhere else.
    fn leave_reg(&mut self, r: Gpr, from: u32) {
        let Some(id) = self.s.regs[r as usize].take() else {
            return;
        };
        if !self.on_demand(id)
            && !self.slot_of.contains_key(&id)
            && self.used_from(id, from).is_some()
        {
            let slot = self.slot(id);
            self.a.store(true, slot, r);
        }
    }

    /// Spills all registers whose values are used from a time on, and frees all.
    pub(super) fn leave_regs(&mut self, from: u32) {
        for r in BANK {
            self.leave_reg(r, from);
        }
    }

    /// Frees the register that code for slices needs besides [`SLICE`], which holds no scalar in blocks that loop over slices.
    pub(super) fn leave_slice_bits(&mut self) {
        if self.looped {
            self.leave_reg(SLICE_BITS, self.s.now);
        }
    }

    /// Before the vector code.
    pub(super) fn before_vectors(&mut self) {
        let vectors = self.c.graph.len() as u32;
        self.leave_regs(vectors);
        let bases = self.base_scalars();
        for at in 0..self.c.graph.len() {
            let used = !self.plan.uses[at].is_empty() || bases.contains(&(at as Id));
            if self.c.graph[at].op == Inst::SccIn && used {
                self.keep(at as Id);
            }
        }
        self.s.now = vectors;
    }

    /// Takes a ballot from the register in which it was collected.
    pub(super) fn ballot_in(&mut self, id: Id, r: Gpr) {
        if self.c.effects.wave_helper.is_some() {
            let slot = self.slot(id);
            self.a.store(true, slot, r);
        } else {
            self.s.regs[r as usize] = Some(id);
        }
    }

    /// Spills a value that is nowhere else.
    fn keep(&mut self, id: Id) {
        self.sload(RAX, id);
        let slot = self.slot(id);
        self.a.store(true, slot, RAX);
    }

    /// A register that holds a scalar, to be read.
    fn sreg(&mut self, id: Id) -> Gpr {
        if let Some(r) = self.in_reg(id) {
            self.s.busy |= 1 << r;
            return r;
        }
        let r = self.sfree();
        self.sload(r, id);
        self.s.regs[r as usize] = Some(id);
        r
    }

    /// A scalar as the second operand of an operation of 32 or 64 bits.
    fn srm(&mut self, id: Id, wide: bool) -> Rm {
        if self.in_reg(id).is_none()
            && let Some((m, has_64)) = self.scalar_address(id)
            && (has_64 || !wide)
        {
            return Rm::M(m);
        }
        Rm::R(self.sreg(id))
    }

    /// A register that holds a scalar's value, to be changed.
    fn scopy(&mut self, id: Id) -> Gpr {
        if let Some(r) = self.in_reg(id)
            && self.s.busy >> r & 1 == 0
            && !self.used_later(id)
        {
            self.s.regs[r as usize] = None;
            self.s.busy |= 1 << r;
            return r;
        }
        let r = self.sfree();
        self.sload(r, id);
        r
    }

    fn simm(&self, id: Id, wide: bool) -> Option<i32> {
        let v = self.konst(id)?;
        if wide {
            i32::try_from(v as i64).ok()
        } else {
            Some(v as u32 as i32)
        }
    }

    // ---- what ----

    /// Computes a scalar.
    pub(super) fn scalar(&mut self, id: Id) {
        if self.on_demand(id) || self.node(id).op == Inst::Ballot {
            return;
        }
        self.s.now = self.time(id);
        self.s.busy = 0;
        let n = *self.node(id);
        let [x, y, _] = n.args;
        let r = match n.op {
            Inst::Pair => {
                if self.konst(y) != Some(0) {
                    self.sload(RCX, y);
                    self.a.shift_imm(4, true, RCX, 32);
                    let r = self.scopy(x);
                    self.a.alu(alu::OR, true, r, Rm::R(RCX));
                    r
                } else {
                    self.scopy(x)
                }
            }
            Inst::SLoad { count, offset } => {
                self.scalar_load(id, x, count, offset);
                return;
            }
            Inst::LaneIn(v) => {
                let r = self.sfree();
                self.lane_in(r, v, x);
                r
            }
            Inst::Alu(o) => self.scalar_alu(o, &n),
            _ => {
                self.mistaken();
                return;
            }
        };
        self.s.regs[r as usize] = Some(id);
        self.s.busy = 0;
    }

    fn scalar_load(&mut self, id: Id, address: Id, count: u8, offset: i32) {
        self.sload(RAX, address);
        if !self.s.looked.contains(&address) {
            // All loads from the address are checked together, if they are not far apart.
            let ends = |n: &Node| match n.op {
                Inst::SLoad { count, offset } if n.args[0] == address => {
                    Some((offset as i64, offset as i64 + 4 * count as i64))
                }
                _ => None,
            };
            let all = self.c.graph.iter().filter_map(ends);
            let (from, to) = all.fold((i64::MAX, i64::MIN), |(a, b), (c, d)| (a.min(c), b.max(d)));
            let (from, bytes) = match to - from {
                together @ 1..=1024 => {
                    self.s.looked.push(address);
                    (from as i32, together as i32)
                }
                _ => (offset, 4 * count as i32),
            };
            if from != 0 {
                self.a.lea(RAX, mem(RAX, from));
            }
            self.scalar_range(bytes);
            if from != 0 {
                self.a.lea(RAX, mem(RAX, -from));
            }
        }
        let room = self.scalar_room(4 * count as u32);
        self.slot_of.insert(id, room);
        let mut disp = offset;
        if self.common.aliased {
            self.a.lea(RAX, mem(RAX, offset));
            self.of_host(RAX);
            disp = 0;
        }
        self.copy(guest_memory(RAX, disp), room_mem(room), count);
    }

    /// Copies dwords. Clobbers RCX.
    fn copy(&mut self, from: Mem, to: Mem, dwords: u8) {
        let z = self.free_register();
        let mut done = 0;
        while done < dwords {
            let left = dwords - done;
            let n = 1u8 << left.min(16).ilog2();
            let at = |m: Mem| Mem {
                disp: m.disp + 4 * done as i32,
                ..m
            };
            if n <= 2 {
                self.a.mov(n == 2, RCX, Rm::M(at(from)));
                self.a.store(n == 2, at(to), RCX);
            } else {
                V::copy(self.a, 4 * n, z, at(from), at(to));
            }
            done += n;
        }
    }

    /// Turns an address that may be accessed into the host's less [`BIAS`].
    pub(super) fn of_host(&mut self, r: Gpr) {
        if self.common.aliased {
            self.a.clear_bit(r, ALIAS.trailing_zeros() as u8);
        }
    }

    /// Jumps if one of the `bytes` from RAX on may not be accessed (1 read, 2 written). Clobbers RCX, RDX and RSI.
    pub fn check_range(&mut self, bytes: i32, need: u8, bad: Label) {
        let (from, back) = (self.a.label(), self.a.label());
        self.check_pages(bytes, need, from, bad);
        self.a.bind(back);
        self.out_of_line.exact.push(ExactOut {
            from,
            back,
            bytes,
            need,
            bad,
        });
    }

    /// Jumps to `refused` where the page map does not permit an access, to `bad` where it has no such pages.
    pub(super) fn check_pages(&mut self, bytes: i32, need: u8, refused: Label, bad: Label) {
        self.a.mov(true, RCX, Rm::R(RAX));
        self.a.alu(alu::SUB, true, RCX, Rm::M(ctx!(memory.start)));
        self.a.lea(RSI, mem(RCX, bytes - 1));
        self.a.alu(alu::CMP, true, RCX, Rm::M(ctx!(memory.bytes)));
        self.a.jcc(Cc::Ae, bad);
        self.a.alu(alu::CMP, true, RSI, Rm::M(ctx!(memory.bytes)));
        self.a.jcc(Cc::Ae, bad);
        self.a.shift_imm(5, true, RCX, 12);
        self.a.shift_imm(5, true, RSI, 12);
        self.a.movzx8(
            RDX,
            Mem {
                base: PAGES,
                index: Some((RCX, 1)),
                disp: 0,
            },
        );
        // AND r32, m8 does not exist. The bytes after the first do not matter.
        self.a.movzx8(
            RCX,
            Mem {
                base: PAGES,
                index: Some((RSI, 1)),
                disp: 0,
            },
        );
        self.a.alu(alu::AND, false, RDX, Rm::R(RCX));
        let need = (MAPPED | need) as i32;
        self.a.alu_imm(alu::AND, false, Rm::R(RDX), need);
        self.a.alu_imm(alu::CMP, false, Rm::R(RDX), need);
        self.a.jcc(Cc::Ne, refused);
    }

    /// Compares, and returns the condition of the flags.
    fn compare(&mut self, n: &Node) -> Cc {
        let [x, y, _] = n.args;
        let wide = n.ty.bits() > 32;
        match self.simm(y, wide) {
            Some(imm) => match self.srm(x, wide) {
                Rm::R(r) if imm == 0 => self.a.test(wide, r, r),
                rm => self.a.alu_imm(alu::CMP, wide, rm, imm),
            },
            None => {
                let q = self.srm(y, wide);
                let p = self.sreg(x);
                self.a.alu(alu::CMP, wide, p, q);
            }
        }
        let signed = n.ty.is_signed();
        match n.op {
            Inst::Alu(Op::Eq) => Cc::E,
            Inst::Alu(Op::Lt) if signed => Cc::L,
            Inst::Alu(Op::Lt) => Cc::B,
            Inst::Alu(Op::Le) if signed => Cc::Le,
            Inst::Alu(Op::Le) => Cc::Be,
            Inst::Alu(Op::Gt) if signed => Cc::G,
            Inst::Alu(Op::Gt) => Cc::A,
            Inst::Alu(Op::Ge) if signed => Cc::Ge,
            Inst::Alu(Op::Ge) => Cc::Ae,
            _ => Cc::Ne,
        }
    }

    /// Sets the flags by a truth value, and returns the condition.
    fn ask(&mut self, id: Id) -> Cc {
        let n = *self.node(id);
        if self.s.flags[id as usize] {
            return match n.op {
                Inst::Alu(Op::Not) => self.ask(n.args[0]).not(),
                _ => self.compare(&n),
            };
        }
        match self.srm(id, false) {
            Rm::R(r) => self.a.test(false, r, r),
            rm => self.a.alu_imm(alu::CMP, false, rm, 0),
        }
        Cc::Ne
    }

    /// A guard of the whole wave, where its value has just been computed: scalars after it may depend on it, such as loads of a loop's next round.
    pub(super) fn scalar_guard(&mut self, id: Id) {
        self.s.now = self.time(id);
        self.s.busy = 0;
        let cc = self.ask(id);
        let restart = self.restart();
        self.a.jcc(cc, restart);
    }

    fn scalar_alu(&mut self, o: Op, n: &Node) -> Gpr {
        let [x, y, w] = n.args;
        let bits = n.ty.bits();
        let wide = bits > 32;
        let signed = n.ty.is_signed();
        match o {
            Op::Zext | Op::Trunc => self.scopy(x),
            Op::Not if bits == 1 => {
                let r = self.scopy(x);
                self.a.alu_imm(alu::XOR, false, Rm::R(r), 1);
                r
            }
            Op::Not => {
                let r = self.scopy(x);
                self.a.g(wide, &[0xf7], 2, Rm::R(r));
                r
            }
            Op::Neg => {
                let r = self.scopy(x);
                self.a.g(wide, &[0xf7], 3, Rm::R(r));
                r
            }
            Op::And | Op::Or | Op::Xor | Op::Add | Op::Sub => self.scalar_sum(o, x, y, wide),
            Op::Mul => {
                let q = self.srm(y, wide);
                let r = self.scopy(x);
                self.a.imul(wide, r, q);
                r
            }
            Op::MulHi => {
                self.sload(RCX, y);
                let r = self.scopy(x);
                if signed {
                    self.a.g(true, &[0x63], r, Rm::R(r));
                    self.a.g(true, &[0x63], RCX, Rm::R(RCX));
                }
                self.a.imul(true, r, Rm::R(RCX));
                self.a.shift_imm(5, true, r, 32);
                r
            }
            Op::Shl | Op::Shr => self.scalar_shift(o, n, x, y),
            Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => {
                let cc = self.compare(n);
                let r = self.sfree();
                self.a.setcc(cc, r);
                r
            }
            Op::Min | Op::Max => {
                self.sload(RCX, y);
                let r = self.scopy(x);
                self.a.alu(alu::CMP, wide, RCX, Rm::R(r));
                let cc = match (o == Op::Min, signed) {
                    (true, true) => Cc::L,
                    (true, false) => Cc::B,
                    (false, true) => Cc::G,
                    (false, false) => Cc::A,
                };
                self.a.cmov(cc, wide, r, Rm::R(RCX));
                r
            }
            Op::Select => {
                self.sload(RCX, y);
                // The condition may be one of what it chooses from.
                let r = self.sfree();
                self.sload(r, w);
                let cc = self.ask(x);
                self.a.cmov(cc, true, r, Rm::R(RCX));
                r
            }
            Op::Popcount => {
                let r = self.scopy(x);
                self.a.buf.push(0xf3);
                self.a.g(true, &[0x0f, 0xb8], r, Rm::R(r));
                r
            }
            Op::Clz | Op::Ctz => {
                let r = self.scopy(x);
                let which = if o == Op::Clz { 0xbd } else { 0xbc };
                self.a.buf.push(0xf3);
                self.a.g(wide, &[0x0f, which], r, Rm::R(r));
                r
            }
            Op::Abs => {
                let r = self.scopy(x);
                self.a.mov(wide, RCX, Rm::R(r));
                self.a.g(wide, &[0xf7], 3, Rm::R(r));
                self.a.cmov(Cc::S, wide, r, Rm::R(RCX));
                r
            }
            _ => {
                self.mistaken();
                RDI
            }
        }
    }

    /// A sum, a difference or a bitwise operation.
    fn scalar_sum(&mut self, o: Op, x: Id, y: Id, wide: bool) -> Gpr {
        let which = match o {
            Op::And => 4,
            Op::Or => 1,
            Op::Xor => 6,
            Op::Add => 0,
            _ => 5,
        };
        // A constant, or an operand that is used again, becomes the second one.
        let swap = o != Op::Sub
            && (self.konst(x).is_some()
                || self.konst(y).is_none() && self.in_reg(y).is_some() && !self.used_later(y));
        let (x, y) = if swap { (y, x) } else { (x, y) };
        match self.simm(y, wide) {
            Some(imm) => {
                let r = self.scopy(x);
                self.a.alu_imm(which, wide, Rm::R(r), imm);
                r
            }
            None => {
                let q = self.srm(y, wide);
                let r = self.scopy(x);
                self.a.alu(which, wide, r, q);
                r
            }
        }
    }

    fn scalar_shift(&mut self, o: Op, n: &Node, x: Id, y: Id) -> Gpr {
        let wide = n.ty.bits() > 32;
        let width = if wide { 64 } else { 32 };
        let signed = n.ty.is_signed();
        let pp = match o {
            Op::Shl => 1,
            _ if signed => 2,
            _ => 3,
        };
        match self.konst(y) {
            Some(by) if by >= width => {
                let r = self.scopy(x);
                if pp == 2 {
                    self.a.shift_imm(7, wide, r, width as u8 - 1);
                } else {
                    self.a.imm(r, 0);
                }
                r
            }
            Some(by) => {
                let r = self.scopy(x);
                self.a
                    .shift_imm([0, 4, 7, 5][pp as usize], wide, r, by as u8);
                r
            }
            None => {
                self.sload(RCX, y);
                let r = self.scopy(x);
                let count = *self.node(y);
                let small = count.op == Inst::Alu(Op::And)
                    && count.args[..2]
                        .iter()
                        .any(|&a| self.konst(a).is_some_and(|v| v < width));
                if small {
                    self.a.shift_by(pp, wide, r, r, RCX);
                    return r;
                }
                self.a.imm(RDX, width - 1);
                self.a.imm(RSI, 0);
                self.a.alu(alu::CMP, true, RCX, Rm::R(RDX));
                if pp == 2 {
                    self.a.cmov(Cc::A, true, RCX, Rm::R(RDX));
                }
                // The comparison's flags outlive the shift.
                self.a.shift_by(pp, wide, r, r, RCX);
                if pp != 2 {
                    self.a.cmov(Cc::A, true, r, Rm::R(RSI));
                }
                r
            }
        }
    }

    // ---- the block's end ----

    fn plan_takes(&mut self) {
        let c = self.c;
        let mut takes = Vec::new();
        let mut i = 0;
        while i < c.effects.sgprs.len() {
            let (code, id) = c.effects.sgprs[i];
            let n = *self.node(id);
            let next = c
                .effects
                .sgprs
                .get(i + 1)
                .filter(|next| next.0 == code + 1)
                .map(|&(_, id)| *self.node(id));
            if let (Inst::Lo, Some(hi)) = (n.op, next)
                && hi.op == Inst::Hi
                && n.args[0] == hi.args[0]
            {
                takes.push(Take::Two(code, n.args[0]));
                i += 2;
                continue;
            }
            if let Inst::Part(first) = n.op {
                let mut count = 1;
                while c.effects.sgprs.get(i + count).is_some_and(|&(other, id)| {
                    let m = self.node(id);
                    other as usize == code as usize + count
                        && m.op == Inst::Part(first + count as u8)
                        && m.args[0] == n.args[0]
                }) {
                    count += 1;
                }
                takes.push(Take::Loaded(code, n.args[0], first, count as u8));
                i += count;
                continue;
            }
            if code.is_multiple_of(2)
                && let Some(&(other, high)) = c.effects.sgprs.get(i + 1)
                && other == code + 1
                && !matches!(self.node(high).op, Inst::Part(_))
            {
                takes.push(Take::Joined(code, id, high));
                i += 2;
                continue;
            }
            takes.push(Take::One(code, id));
            i += 1;
        }
        self.s.takes = takes;
    }

    /// Spills values that are read after the registers that they are in were written.
    fn keep_from(&mut self, id: Id, written: u128) {
        let n = *self.node(id);
        if self.s.flags[id as usize] {
            for &i in n.inputs() {
                self.keep_from(i, written);
            }
            return;
        }
        let lost = match n.op {
            Inst::SccIn => self.c.effects.scc.is_some(),
            Inst::SIn(code) => written >> code & if n.out.bits() > 32 { 3 } else { 1 } != 0,
            Inst::Lo | Inst::Hi => match self.node(n.args[0]).op {
                Inst::SIn(code) => written >> code & 3 != 0,
                _ => false,
            },
            _ => false,
        };
        if lost && !self.slot_of.contains_key(&id) {
            self.keep(id);
            self.s.kept.push(id);
        }
    }

    /// Takes off the instructions that were skipped from those that were executed.
    pub(super) fn take_off_skipped(&mut self) {
        let c = self.c;
        self.s.now = self.end_time();
        for &(id, count) in &c.skipped {
            self.s.busy = 0;
            let cc = self.ask(id);
            self.a.lea(RCX, mem(FUEL, count as i32));
            self.a.cmov(cc, true, FUEL, Rm::R(RCX));
        }
    }

    /// Writes the scalar registers. Returns the branch's condition of the flags, if the block branches.
    pub(super) fn commit_scalars(&mut self) -> Option<Cc> {
        let c = self.c;
        let when = match c.terminator {
            Terminator::Branch { when, .. } => Some(when),
            _ => None,
        };
        self.s.now = self.end_time();
        let written = c
            .effects
            .sgprs
            .iter()
            .fold(0u128, |bits, w| bits | 1 << w.0);
        let takes = std::mem::take(&mut self.s.takes);
        for id in takes.iter().flat_map(Take::computed) {
            self.keep_from(id, written);
        }
        for id in c.effects.scc.into_iter().chain(when) {
            self.keep_from(id, written);
        }
        for &take in &takes {
            self.s.busy = 0;
            match take {
                Take::One(code, id) => match self.node(id).op {
                    Inst::Const(v) => self.a.store_imm(sgpr_home(code), v as u32),
                    _ => {
                        let r = self.at_hand(id);
                        self.a.store(false, sgpr_home(code), r);
                    }
                },
                Take::Two(code, id) => {
                    let r = self.at_hand(id);
                    self.a.store(true, sgpr_home(code), r);
                }
                Take::Joined(code, low, high) => {
                    // RDX has the address of an indirect jump.
                    self.join_halves(low, high, RCX);
                    self.a.store(true, sgpr_home(code), RAX);
                }
                Take::Loaded(code, load, first, count) => {
                    let at = self.slot_of.get(&load).copied();
                    if at.is_none() {
                        self.mistaken();
                    }
                    let at = at.unwrap_or(0);
                    let from = room_mem(at + 4 * first as u32);
                    self.copy(from, sgpr_home(code), count);
                }
            }
        }
        self.s.busy = 0;
        let mut asked = None;
        if let Some(id) = c.effects.scc {
            match self.node(id).op {
                Inst::Const(v) => self.a.store_imm8(scc_home(), v as u8 & 1),
                _ if self.s.flags[id as usize] => {
                    let cc = self.ask(id);
                    self.a.setcc_to(cc, scc_home());
                    asked = Some((id, cc));
                }
                _ => {
                    let r = self.at_hand(id);
                    self.a.store8(scc_home(), r);
                }
            }
        }
        if let Some(mode) = c.effects.mode {
            self.a.store_imm(mode_home(), mode);
        }
        let when = when?;
        self.s.busy = 0;
        // The same condition, or its opposite, needs no second comparison.
        let opposite = |a: Id, b: Id| {
            let n = self.node(a);
            n.op == Inst::Alu(Op::Not) && n.ty == Ty::Bool && n.args[0] == b
        };
        match asked {
            Some((id, cc)) if id == when => return Some(cc),
            Some((id, cc)) if opposite(id, when) || opposite(when, id) => return Some(cc.not()),
            _ => {}
        }
        Some(self.ask(when))
    }

    /// Loads two scalars of 32 bits as one of 64 bits to RAX. The temporary register is clobbered.
    fn join_halves(&mut self, low: Id, high: Id, t: Gpr) {
        match (self.konst(low), self.konst(high)) {
            (Some(l), Some(h)) => return self.a.imm(RAX, l as u32 as u64 | h << 32),
            (_, Some(h)) => self.a.imm(RAX, h << 32),
            (_, None) => {
                self.sload(RAX, high);
                self.a.shift_imm(4, true, RAX, 32);
            }
        }
        let r = match self.in_reg(low) {
            Some(r) => r,
            None => {
                self.sload(t, low);
                t
            }
        };
        self.a.mov(false, t, Rm::R(r));
        self.a.alu(alu::OR, true, RAX, Rm::R(t));
    }

    /// Restores where scalars are for vector code, since out-of-line code of it follows.
    pub(super) fn as_in_vectors(&mut self) {
        self.s.regs = [None; 16];
        for id in std::mem::take(&mut self.s.kept) {
            self.slot_of.remove(&id);
        }
    }

    /// A scalar in the register that it is in, or in RAX.
    fn at_hand(&mut self, id: Id) -> Gpr {
        if let Some(r) = self.in_reg(id) {
            return r;
        }
        self.sload(RAX, id);
        RAX
    }
}

/// Returns true if flags can hold a value.
fn condition(n: &Node) -> bool {
    match n.op {
        Inst::Alu(Op::Not) => n.ty == Ty::Bool,
        Inst::Alu(Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge) => true,
        _ => false,
    }
}

fn room_mem(at: u32) -> Mem {
    mem(CTX, (offset_of!(Ctx, scalars) + at as usize) as i32)
}

pub(super) fn mode_home() -> Mem {
    mem(WAVE, offset_of!(WaveState, mode) as i32)
}

pub(super) fn scc_home() -> Mem {
    mem(WAVE, offset_of!(WaveState, scc) as i32)
}
