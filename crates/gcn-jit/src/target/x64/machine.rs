//! Machine code with allocated registers, for all levels: locations of operands, and code for each slice.
//!
//! A block's vector operations become machine instructions ([`super::select`]) once, for the lanes of one register; registers are
//! allocated ([`crate::lir`]); and the result is encoded for each part of each slice, or for the parts in a loop of four slices.

use super::encode::vex::{H, LOAD, X};
use super::slice::{SLICE, SLICE_BITS, vgpr_line};
use super::*;
use crate::ir::affine::BaseKind;
use crate::lir::regalloc::{Allocation, CLASSES, Location, Step};
use crate::lir::{Class, Code};

/// The number of ballots that are collected in registers. Others are collected in memory.
const BALLOT_REGISTERS: usize = 3;

/// Memory of the current lanes: an address, the distance to the next slice of 16 lanes, and the distance to a slice's upper half, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct At {
    pub mem: Mem,
    pub slice: i32,
    pub half: i32,
}

impl At {
    /// Memory that all lanes share.
    pub const fn same(mem: Mem) -> At {
        At {
            mem,
            slice: 0,
            half: 0,
        }
    }

    /// Dwords of 64 lanes, from `mem` on.
    pub const fn dwords(mem: Mem) -> At {
        At {
            mem,
            slice: 64,
            half: 32,
        }
    }

    /// Bits of 64 lanes, from `mem` on.
    pub const fn bits(mem: Mem) -> At {
        At {
            mem,
            slice: 2,
            half: 1,
        }
    }
}

/// The bits of EXEC.
pub(crate) const EXEC_BITS: At = At::bits(mem(
    WAVE,
    (offset_of!(WaveState, sgprs) + 4 * EXEC as usize) as i32,
));

/// Returns the memory operand `by` bytes farther.
pub(crate) fn plus(m: Mem, by: i32) -> Mem {
    Mem {
        disp: m.disp + by,
        ..m
    }
}

/// Returns a line of [`Ctx::vectors`].
pub(crate) fn line_mem(line: u16) -> Mem {
    let n = (line as usize).min(VECTORS - 1);
    mem(CTX, (offset_of!(Ctx, vectors) + 64 * n) as i32)
}

/// A machine instruction of vector code.
pub(crate) trait Machine<V: VectorIsa>: Sized {
    /// The size of a spill slot, and the part of it that a register takes, in bytes.
    const SLOT: usize = V::BYTES as usize;
    const BYTES: u8 = V::BYTES;

    /// Encodes the instruction.
    fn encode(&self, e: &mut Emit<'_, V>, p: OperandRegisters<'_, Self>);

    /// Stores a register.
    fn spill(a: &mut Asm, class: Class, r: u8, to: Mem) {
        match class {
            0 => V::store(a, Self::BYTES, r, to),
            _ => V::store_truth(a, r, to),
        }
    }

    /// Loads a register.
    fn reload(a: &mut Asm, class: Class, r: u8, from: Mem) {
        match class {
            0 => V::load(a, Self::BYTES, r, from),
            _ => V::load_truth(a, r, from),
        }
    }

    /// Copies a register.
    fn copy(a: &mut Asm, class: Class, from: u8, to: u8) {
        match class {
            0 => V::move_register(a, Self::BYTES, from, to),
            _ => V::move_truth(a, from, to),
        }
    }
}

/// The locations of an instruction's operands.
pub(crate) struct OperandRegisters<'a, O> {
    pub code: &'a Code<O>,
    pub locations: &'a [Location],
    /// The host's register numbers for the first class.
    pub names: &'a [u8; 32],
}

impl<O> Clone for OperandRegisters<'_, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<O> Copy for OperandRegisters<'_, O> {}

impl<'a, O> OperandRegisters<'a, O> {
    /// Returns the vector register of an operand.
    pub fn r(&self, k: usize) -> u8 {
        match self.locations[k] {
            Location::Reg(r) => self.names[r as usize],
            _ => 0,
        }
    }

    pub fn range(&self, from: usize, count: usize) -> Vec<u8> {
        (from..from + count).map(|k| self.r(k)).collect()
    }
}

/// The state of a block's vector code.
pub(crate) struct State<V: VectorIsa> {
    /// The part of the slice for which code is emitted.
    pub half: u8,
    /// The number of allocated lines of [`Ctx::vectors`]. Spill slots follow.
    pub next_slot: u16,
    /// The VGPRs that are written at the end, with the locations of their values.
    pub deferred: Vec<(u16, Deferred)>,
    /// The locations of the deferred stores' data.
    pub stored: Vec<Vec<Deferred>>,
    /// The lines of the values of [`Effects::indexed`](crate::ir::region::Effects::indexed).
    pub indexed: Vec<u16>,
    /// The registers in which each slice's values are kept.
    pub kept: [Vec<u8>; 4],
    pub ballots: Vec<Id>,
    /// The locations of values that are computed once for all slices.
    pub uniform: Map<Id, [At; 2]>,
    /// The operations of the plan that compute `uniform`.
    pub before: Vec<bool>,
    /// The code belongs to no slice: it computes values that all lanes share, active or not.
    pub everywhere: bool,
    /// The numbers of the remembered addresses of affine accesses: by the address, a constant, and whether it is stored to.
    pub paces: Map<(u16, i32, bool), usize>,
    sections: Vec<Section<V>>,
    /// The exit to code without affine values.
    pub leave: Option<Label>,
}

impl<V: VectorIsa> Default for State<V> {
    fn default() -> Self {
        State {
            half: 0,
            next_slot: 0,
            deferred: Vec::new(),
            stored: Vec::new(),
            indexed: Vec::new(),
            kept: Default::default(),
            ballots: Vec::new(),
            uniform: Map::default(),
            before: Vec::new(),
            everywhere: false,
            paces: Map::default(),
            sections: Vec::new(),
            leave: None,
        }
    }
}

/// The location of a slice's value until nothing can fail any more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Deferred {
    /// In lines of [`Ctx::vectors`].
    Line(u16),
    /// In one of the kept registers.
    InRegister(usize),
}

/// Out-of-line code of an instruction, and the part of the vector code to which it belongs.
struct Section<V: VectorIsa> {
    slice: u8,
    half: u8,
    everywhere: bool,
    code: Box<SectionCode<V>>,
}

type SectionCode<V> = dyn for<'x> FnOnce(&mut Emit<'x, V>);

impl<V: Vectors> Emit<'_, V> {
    /// Allocates a line of [`Ctx::vectors`] for each slice.
    pub(super) fn lines(&mut self) -> u16 {
        let n = self.v.next_slot;
        self.v.next_slot += 4;
        if self.v.next_slot as usize > VECTORS {
            self.out.too_large = true;
            self.v.next_slot = 0;
            return 0;
        }
        n
    }

    /// Allocates one line of [`Ctx::vectors`].
    fn line(&mut self) -> u16 {
        let n = self.v.next_slot;
        self.v.next_slot += 1;
        if self.v.next_slot as usize > VECTORS {
            self.out.too_large = true;
            self.v.next_slot = 0;
        }
        n
    }

    /// Returns the current lanes' memory.
    pub(super) fn at(&mut self, at: At) -> Mem {
        let m = plus(at.mem, at.half * self.v.half as i32);
        if at.slice == 0 {
            return m;
        }
        if !self.looped {
            return plus(m, at.slice * self.slice as i32);
        }
        let index = match at.slice {
            2 => (SLICE_BITS, 1),
            4 => (SLICE_BITS, 2),
            8 => (SLICE, 1),
            _ => (SLICE, 8),
        };
        Mem {
            index: Some(index),
            ..m
        }
    }

    /// Records code that is emitted after the block.
    pub(super) fn section(&mut self, code: impl for<'x> FnOnce(&mut Emit<'x, V>) + 'static) {
        self.v.sections.push(Section {
            slice: self.slice,
            half: self.v.half,
            everywhere: self.v.everywhere,
            code: Box::new(code),
        });
    }

    pub(super) fn write_sections(&mut self) {
        while !self.v.sections.is_empty() {
            for s in std::mem::take(&mut self.v.sections) {
                (self.slice, self.v.half) = (s.slice, s.half);
                self.v.everywhere = s.everywhere;
                let looped = self.looped;
                self.looped &= !s.everywhere;
                (s.code)(self);
                self.looped = looped;
            }
        }
        self.v.everywhere = false;
    }

    /// Returns true if the code need not exclude inactive lanes.
    pub(super) fn no_inactive_lanes(&self) -> bool {
        self.all_active.is_some() || self.v.everywhere
    }

    /// Returns the vector operations whose operands are the same in all lanes, because they come from scalars.
    fn uniform_operations(&self) -> Vec<bool> {
        let (c, plan) = (self.c, &self.plan);
        let mut same: Vec<bool> = (0..c.graph.len())
            .map(|at| match c.graph[at].op {
                Inst::Affine { base, step: 0 } => {
                    let op = c.affine.ops[base as usize].op;
                    c.graph[at].out != Ty::Bool
                        && matches!(op, BaseKind::Scalar(_) | BaseKind::Const(_))
                }
                _ => !c.graph[at].vec && !plan.late[at],
            })
            .collect();
        let mut out = Vec::with_capacity(plan.ops.len());
        for op in &plan.ops {
            let n = &c.graph[op.id as usize];
            let leaves = match n.op {
                Inst::FastPath(number) => &c.fast_paths[number as usize].leaves[..],
                _ => &[],
            };
            let pure = match n.op {
                Inst::Alu(Op::Zext) => n.ty != Ty::Bool,
                Inst::Alu(_)
                | Inst::FastPath(_)
                | Inst::Pair
                | Inst::Lo
                | Inst::Hi
                | Inst::Shld(_)
                | Inst::Shrd(_) => true,
                _ => false,
            };
            let args = &op.args[..plan.arity(op.id, n)];
            let uniform =
                op.commit.is_none() && pure && args.iter().chain(leaves).all(|&a| same[a as usize]);
            out.push(uniform);
            if uniform {
                same[op.id as usize] = true;
            }
        }
        out
    }

    /// Computes values that are the same in all lanes once, before the slices, and keeps them in memory. Truth values are recomputed where
    /// slices need them.
    fn uniform_values(&mut self) {
        const MOST: usize = 64;
        if !self.with(Optional::Uniform) {
            return;
        }
        let ops = self.uniform_operations();
        let plan = &self.plan;
        let mut again = ops.iter().map(|uniform| !uniform).collect::<Vec<bool>>();
        let mut kept = Vec::new();
        for (at, op) in plan.ops.iter().enumerate().rev() {
            if again[at] {
                continue;
            }
            let used = |&p: &u32| again.get(p as usize).is_none_or(|&again| again);
            if plan.uses[op.id as usize].iter().any(used) {
                match self.node(op.id).out {
                    Ty::Bool => again[at] = true,
                    _ => kept.push(op.id),
                }
            }
        }
        if kept.is_empty() || kept.len() > MOST {
            return;
        }
        for &id in &kept {
            let wide = self.node(id).out.bits() > 32;
            let mut line = || At::same(line_mem(self.line()));
            let first = line();
            let both = [first, if wide { line() } else { first }];
            self.v.uniform.insert(id, both);
        }
        let looped = std::mem::replace(&mut self.looped, false);
        self.v.everywhere = true;
        V::all_active(self.a);
        let mut s = select::Select::new(self, false);
        s.uniform(&ops, &kept);
        let code = s.code;
        if let Some(out) = self.allocate(&code, V::REGISTERS, 0) {
            self.steps(&code, &out);
        }
        self.v.before = again.iter().map(|again| !again).collect();
        self.v.everywhere = false;
        self.looped = looped;
    }

    /// Returns the memory of a spill slot.
    pub(super) fn spill_slot(&self, slot: u16, bytes: usize) -> Mem {
        let at = 64 * self.v.next_slot as usize + bytes * slot as usize;
        ctx!(vectors, at.min(64 * (VECTORS - 1)))
    }

    /// Allocates registers, leaving out `fewer` registers of the first class.
    pub(super) fn allocate<O: Machine<V>>(
        &mut self,
        code: &Code<O>,
        mut registers: [u8; CLASSES],
        fewer: usize,
    ) -> Option<Allocation> {
        registers[0] -= fewer as u8;
        let Some(out) = crate::lir::regalloc::allocate(code, registers) else {
            self.mistaken();
            return None;
        };
        if 64 * self.v.next_slot as usize + O::SLOT * out.slots as usize > 64 * (VECTORS - 1) {
            self.out.too_large = true;
        }
        Some(out)
    }

    /// Returns the host's numbers of the free registers, in order.
    fn names(&self) -> [u8; 32] {
        let kept = self.v.kept.iter().flatten().fold(0, |b, &r| b | 1u32 << r);
        let mut names = [0; 32];
        let free = (0..32u8).filter(|r| kept >> r & 1 == 0);
        names.iter_mut().zip(free).for_each(|(n, r)| *n = r);
        names
    }

    /// Returns a vector register that is free outside of the slices' code.
    pub(super) fn free_register(&self) -> u8 {
        self.names()[0]
    }

    /// Emits allocated code.
    pub(super) fn steps<O: Machine<V>>(&mut self, code: &Code<O>, out: &Allocation) {
        let names = self.names();
        let name = |class: Class, r: u8| if class == 0 { names[r as usize] } else { r };
        for step in &out.steps {
            match *step {
                Step::Inst { inst, locations } => {
                    let locations = out.locations(code, inst, locations);
                    let p = OperandRegisters {
                        code,
                        locations,
                        names: &names,
                    };
                    code.insts[inst as usize].op.encode(self, p);
                }
                Step::Spill { class, reg, slot } => {
                    let to = self.spill_slot(slot, O::SLOT);
                    O::spill(self.a, class, name(class, reg), to);
                }
                Step::Reload { class, reg, slot } => {
                    let from = self.spill_slot(slot, O::SLOT);
                    O::reload(self.a, class, name(class, reg), from);
                }
                Step::Move { class, from, to } => {
                    O::copy(self.a, class, name(class, from), name(class, to));
                }
            }
        }
    }

    /// Emits the code of the slices: all vector values and their effects. `used` marks the used values.
    pub(super) fn vector_code(&mut self, used: &[bool]) {
        let c = self.c;
        let mut ballots: Vec<Id> = (0..c.graph.len())
            .filter(|&at| used[at] && c.graph[at].op == Inst::Ballot)
            .map(|at| at as Id)
            .collect();
        let done = self.ballots_of_slices(&mut ballots);
        for (i, &b) in ballots.iter().enumerate() {
            if i < BALLOT_REGISTERS {
                self.a.imm(R8 + i as u8, 0);
            } else {
                let slot = self.slot(b);
                self.a.imm(RAX, 0);
                self.a.store(true, slot, RAX);
            }
        }
        self.v.ballots = ballots;
        // The register that collects failed checks is cleared first.
        V::before(self);
        self.uniform_values();
        self.v.before.resize(self.plan.ops.len(), false);
        for (before, op) in self.v.before.iter_mut().zip(&self.plan.ops) {
            *before |= op.commit.is_none() && done.contains(&op.id);
        }
        let both = V::PARTS == 2 && V::both(self);
        let mut s = select::Select::new(self, both);
        s.slice();
        let (code, kept) = (s.code, s.kept.len());
        if !code.insts.is_empty() {
            self.run(&code, both, true, 3 * kept);
        }
        V::after(self);
        for i in 0..self.v.ballots.len().min(BALLOT_REGISTERS) {
            self.ballot_in(self.v.ballots[i], R8 + i as u8);
        }
    }

    /// Collects ballots of truth values that are the same in all lanes of a slice at once, and removes them from those that slices collect. Returns
    /// the truth values that nothing else needs.
    fn ballots_of_slices(&mut self, ballots: &mut Vec<Id>) -> Vec<Id> {
        let c = self.c;
        let mut found = Vec::new();
        ballots.retain(|&b| {
            let truth = c.graph[b as usize].args[0];
            let n = &c.graph[truth as usize];
            let inner = crate::ir::limited_to_active(&c.graph, n);
            let of = c.graph[inner.unwrap_or(truth) as usize].op;
            if let Inst::Affine { base, .. } = of
                && (inner.is_some() || self.all_active.is_some())
                && !matches!(
                    c.affine.ops[base as usize].op,
                    BaseKind::Scalar(_) | BaseKind::Const(_)
                )
            {
                found.push((b, truth, base));
                return false;
            }
            true
        });
        for &(b, _, base) in &found {
            let (from, to) = (self.base_slot(base), self.slot(b));
            let a = &mut *self.a;
            // Four dwords of 32 equal bits become four words.
            a.x(LOAD, 0, 0, H::M(from));
            a.x(X(1, 1, 0, 0x6b), 0, 0, H::R(0)); // vpackssdw
            a.x(X(1, 1, 1, 0x7e), 0, 0, H::R(RAX)); // vmovq
            if self.all_active.is_none() {
                a.alu(alu::AND, true, RAX, Rm::M(sgpr_home(EXEC as u8)));
            }
            a.store(true, to, RAX);
        }
        // Besides ballots, only guards use truth values at the block's end.
        let end = self.plan.ops.len() as u32;
        let unused = |truth: Id| {
            let only_at_end = self.plan.uses[truth as usize].iter().all(|&at| at == end);
            only_at_end && !c.guards.contains(&truth)
        };
        found.iter().map(|f| f.1).filter(|&t| unused(t)).collect()
    }

    /// Allocates registers and emits the code of all slices with active lanes. `both`: the code is for both halves. `fewer`: the
    /// number of registers that hold values of other slices.
    pub(super) fn run(&mut self, code: &Code<V::Op>, both: bool, ballots: bool, fewer: usize) {
        if let Some(out) = self.allocate(code, V::REGISTERS, fewer) {
            /// The most instructions of a part that is not skipped where it has no active lanes: a branch that is mispredicted takes as long.
            const SHORT: usize = 16;
            let skips = code.insts.len() > SHORT || self.accesses_memory();
            self.each_slice(both, skips, |e| e.steps(code, &out), ballots);
        }
    }

    /// Returns true if lanes of the block access memory.
    fn accesses_memory(&self) -> bool {
        let c = self.c;
        let loads = |n: &Node| matches!(n.op, Inst::Group { .. } | Inst::AffineLoad { .. });
        c.effects.store.is_some() || c.affine.store.is_some() || c.graph.iter().any(loads)
    }

    /// Emits code for each part of each slice, or in a loop of four slices. Parts without active lanes are skipped if `skips`.
    pub(super) fn each_slice(
        &mut self,
        both: bool,
        skips: bool,
        code: impl Fn(&mut Self),
        ballots: bool,
    ) {
        let slices = if self.looped { 1 } else { self.common.slices };
        let halves = if both { 1 } else { V::PARTS };
        if self.all_active.is_some() {
            V::all_active(self.a);
        }
        self.leave_slice_bits();
        if self.looped {
            self.a.imm(SLICE, 0);
            self.a.imm(SLICE_BITS, 0);
        }
        let top = self.a.here();
        for slice in 0..slices {
            for half in 0..halves {
                (self.slice, self.v.half) = (slice, half);
                let over = self.a.label();
                if self.all_active.is_none() {
                    let m = self.at(EXEC_BITS);
                    if skips {
                        match halves {
                            1 => self.a.cmp16_zero(m),
                            _ => self.a.cmp8(m, 0),
                        }
                        self.a.jcc(Cc::E, over);
                    }
                    V::active(self.a, m);
                }
                code(self);
                self.a.bind(over);
                if ballots {
                    self.rotate_ballots(16 / halves);
                }
            }
        }
        if ballots && self.common.slices < SLICES {
            self.rotate_ballots(16 * (SLICES - self.common.slices));
        }
        self.v.half = 0;
        if self.looped {
            self.a.alu_imm(alu::ADD, false, Rm::R(SLICE_BITS), 2);
            self.a.alu_imm(alu::ADD, false, Rm::R(SLICE), 8);
            self.a.alu_imm(alu::CMP, false, Rm::R(SLICE), 32);
            self.a.jcc(Cc::Ne, top);
        }
    }

    /// Rotates the ballots, so that each part's bits can be added at the same position.
    fn rotate_ballots(&mut self, by: u8) {
        for i in 0..self.v.ballots.len() {
            let to = if i < BALLOT_REGISTERS {
                Rm::R(R8 + i as u8)
            } else {
                Rm::M(self.slot(self.v.ballots[i]))
            };
            self.a.rotate_right(true, to, by);
        }
    }

    /// Adds bits of a ballot, which are in RAX.
    pub(super) fn collect_ballot(&mut self, n: usize) {
        if n < BALLOT_REGISTERS {
            self.a.alu(alu::OR, true, R8 + n as u8, Rm::R(RAX));
        } else {
            let slot = self.slot(self.v.ballots[n]);
            self.a.g(true, &[0x09], RAX, Rm::M(slot));
        }
    }

    /// Makes RAX point to the VGPR that a scalar numbers, as R12 does to v0.
    pub(super) fn vgpr_at(&mut self, number: Id) {
        self.sload(RAX, number);
        self.a.shift_imm(4, true, RAX, 8);
        self.a.alu(alu::ADD, true, RAX, Rm::R(VGPRS));
    }

    /// Writes the VGPRs that are numbered at run time, one after the other.
    pub(super) fn indexed_writes(&mut self) {
        let c = self.c;
        let kept: usize = self.v.kept.iter().map(Vec::len).sum();
        let lines = std::mem::take(&mut self.v.indexed);
        // The writes may be skipped, but not this.
        if !lines.is_empty() {
            self.leave_slice_bits();
        }
        for (w, line) in c.effects.indexed.iter().zip(lines) {
            let over = self.a.label();
            self.sload(RAX, w.number);
            self.a.alu_imm(alu::CMP, false, Rm::R(RAX), w.end as i32);
            self.a.jcc(Cc::Ae, over);
            let mut s = select::Select::new(self, false);
            s.indexed_write(w.number, line);
            let code = s.code;
            self.run(&code, false, false, kept);
            self.a.bind(over);
        }
    }

    /// Writes the VGPRs whose values were deferred.
    pub(super) fn deferred_writes(&mut self) {
        let all = std::mem::take(&mut self.v.deferred);
        if !all.is_empty() {
            self.write_deferred(&all);
        }
        self.v.kept = Default::default();
    }

    fn write_deferred(&mut self, all: &[(u16, Deferred)]) {
        let names = self.names();
        let free = V::REGISTERS[0] as usize - self.v.kept.iter().map(Vec::len).sum::<usize>();
        let copy = |e: &mut Self| {
            for (k, &(v, from)) in all.iter().enumerate() {
                let r = match from {
                    Deferred::InRegister(n) => e.v.kept[e.slice as usize][n],
                    Deferred::Line(line) => {
                        let r = names[k % free];
                        let from = e.at(At::dwords(line_mem(line)));
                        V::Op::reload(e.a, 0, r, from);
                        r
                    }
                };
                let to = e.at(At::dwords(vgpr_line(v, 0)));
                V::Op::spill(e.a, 0, r, to);
            }
        };
        self.each_slice(false, true, copy, false);
    }

    /// Stages operands of a wave-wide helper that are the same within a slice.
    pub(super) fn stage_apart(&mut self, inputs: &[(usize, Id)]) {
        let mut s = select::Select::new(self, false);
        for &(n, id) in inputs {
            s.stage_input(n, id);
        }
        let code = s.code;
        self.each_part(&code);
    }

    /// Emits code for each part of each slice, with active lanes or without. These are all four, because the bases of affine values are tested in all.
    pub(super) fn each_part(&mut self, code: &Code<V::Op>) {
        let looped = std::mem::take(&mut self.looped);
        if let Some(out) = self.allocate(code, V::REGISTERS, 0) {
            for slice in 0..SLICES {
                for half in 0..V::PARTS {
                    (self.slice, self.v.half) = (slice, half);
                    self.steps(code, &out);
                }
            }
        }
        self.v.half = 0;
        self.looped = looped;
    }

    /// Writes affine values to VGPRs, in all lanes.
    pub(super) fn affine_writes(&mut self) {
        let c = self.c;
        for &(v, base, step) in &c.affine.writes {
            let looped = std::mem::take(&mut self.looped);
            let mut s = select::Select::new(self, false);
            s.affine_write(v, base, step);
            let code = s.code;
            self.looped = looped;
            self.each_part(&code);
        }
    }
}
