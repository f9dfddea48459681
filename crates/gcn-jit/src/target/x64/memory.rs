//! Memory accesses, for all targets.

use super::affine::address_plus;
use super::machine::{At, Deferred, EXEC_BITS, Machine, OperandRegisters, line_mem, plus};
use super::range::Range;
use super::select::{Select, Shared};
use super::tiles::TileAt;
use super::*;
use crate::context::FOLLOWING;
use crate::ir::region::{Store, WaveHelper, WaveHelperCall};
use crate::lir::{Remat, Role, VReg};
use crate::passes::affine::{Shape, row_of, within_register};
use std::rc::Rc;

/// Bytes from an address on that an access may touch: gathers have no elements of less than four.
pub(super) fn reach(bytes: u8, count: usize) -> u64 {
    (bytes as u64 * count as u64).max(4)
}

/// Returns true if no load of a block is among what computes these values.
pub(super) fn computed(graph: &[Node], of: [Id; 2]) -> bool {
    let mut work = of.to_vec();
    let mut seen = Vec::new();
    while let Some(id) = work.pop() {
        let n = &graph[id as usize];
        if !n.vec || seen.contains(&id) {
            continue;
        }
        match n.op {
            Inst::Group { .. } | Inst::Row(_) | Inst::LanesIn(_) | Inst::AffineLoad { .. } => {
                return false;
            }
            _ => work.extend(n.inputs()),
        }
        seen.push(id);
    }
    true
}

impl<V: Vectors> Emit<'_, V> {
    pub(super) fn parts(&self, id: Id, count: u8) -> Vec<Option<Id>> {
        let mut parts = vec![None; count as usize];
        for (at, n) in self.c.graph.iter().enumerate() {
            if let Inst::Part(k) = n.op
                && n.args[0] == id
                && n.vec
                && !self.plan.uses[at].is_empty()
            {
                parts[k as usize] = Some(at as Id);
            }
        }
        parts
    }

    /// Returns true if each lane's element is right before the one of the lane before it.
    pub(super) fn reversed(&self, a: Affine) -> bool {
        a.count == 1
            && a.bytes <= 4
            && a.step == -(a.bytes as i32)
            && self.with(Optional::Consecutive)
    }

    /// Returns true if a test pays whether the elements at these addresses are adjacent.
    fn consecutive(&self, of: [Id; 2]) -> bool {
        self.with(Optional::Consecutive) && computed(&self.c.graph, of)
    }

    fn new_counter(&mut self) -> usize {
        self.out.following += 1;
        (self.out.following - 1) % FOLLOWING
    }

    /// Goes to `apart` without a test if lanes' elements have not followed each other lately.
    pub(super) fn may_follow(&mut self, l: &Lanes, apart: Label) {
        let counter = Rm::M(ctx!(remembered.following, 4 * l.counter));
        let test = self.a.label();
        self.a.alu_imm(alu::CMP, false, counter, 0);
        self.a.jcc(Cc::Ge, test);
        self.a.alu_imm(alu::ADD, false, counter, 1);
        self.a.jmp(apart);
        self.a.bind(test);
    }

    /// Counts that lanes' elements follow each other.
    pub(super) fn follow(&mut self, l: &Lanes) {
        self.a
            .store_imm(ctx!(remembered.following, 4 * l.counter), 0);
    }

    /// Counts that lanes' elements do not follow each other. After some times the next ones are not tested.
    pub(super) fn do_not_follow(&mut self, l: &Lanes) {
        /// How often elements are tested in vain, and how often they are not tested then.
        const TESTS: i32 = 16;
        const UNTESTED: i32 = 240;
        let few = self.a.label();
        let counter = ctx!(remembered.following, 4 * l.counter);
        self.a.alu_imm(alu::ADD, false, Rm::M(counter), 1);
        self.a.alu_imm(alu::CMP, false, Rm::M(counter), TESTS);
        self.a.jcc(Cc::L, few);
        self.a.store_imm(counter, -UNTESTED as u32);
        self.a.bind(few);
    }

    /// Stores the staged dwords of several elements to memory where all lanes' follow each other, and goes to the label that is returned.
    pub(super) fn store_together(&mut self, w: &WaveHelperCall) -> Option<Label> {
        let WaveHelper::Store {
            space: Space::Global,
            dwords: count,
            two: false,
            offset,
        } = w.helper
        else {
            return None;
        };
        let of = [w.inputs[0], w.inputs[1]];
        if !self.consecutive(of) || count == 3 && !self.with(Optional::Triples) {
            return None;
        }
        let range = self.new_range();
        let lanes = Lanes {
            active: EXEC_BITS,
            store: true,
            space: Space::Global,
            bytes: 4,
            count,
            offset,
            high: true,
            scalar: None,
            range: Some(range),
            second: None,
            wanted: Vec::new(),
            computed: true,
            counter: 0,
            rows: false,
            tiles: Vec::new(),
        };
        Some(V::store_staged(self, &lanes, range))
    }

    /// RAX becomes the host's address of `bytes` bytes of LDS from EAX on; jumps to `bad` if they are not all within it. RCX is clobbered.
    pub(super) fn lds_range(&mut self, bytes: i32, limit: Id, bad: Label) {
        self.a.lea(RCX, mem(RAX, bytes));
        self.a.alu(alu::CMP, true, RCX, Rm::M(ctx!(lds.bytes)));
        self.a.jcc(Cc::A, bad);
        if self.konst(limit).is_none_or(|l| l < u32::MAX as u64) {
            self.sload(RDX, limit);
            self.a.alu(alu::CMP, true, RCX, Rm::R(RDX));
            self.a.jcc(Cc::A, bad);
        }
        self.a.alu(alu::ADD, true, RAX, Rm::M(ctx!(lds.base)));
    }

    pub(super) fn add_high(&mut self, hi: Id, offset: i32) {
        if !self.node(hi).vec && self.konst(hi) != Some(0) {
            self.sload(RDX, hi);
            self.a.shift_imm(4, true, RDX, 32);
            self.a.alu(alu::OR, true, RAX, Rm::R(RDX));
        }
        if offset != 0 {
            self.a.lea(RAX, mem(RAX, offset));
        }
    }

    /// RAX: the address of the slice's part of a row of dwords, which may be accessed as `need` says.
    pub(super) fn row_address(&mut self, address: Id, offset: i32, need: u8) -> Mem {
        self.sload(RAX, address);
        self.add_slice(offset);
        let restart = self.restart();
        self.row_range(need, restart);
        self.of_host(RAX);
        guest_memory(RAX, 0)
    }
}

/// A memory access. Temporary registers are those of [`Selection::temps`].
#[derive(Debug)]
pub(crate) enum Access {
    /// A load at one address for all lanes. Operands: the wanted elements.
    Uniform {
        space: Space,
        bytes: u8,
        count: u8,
        offset: i32,
        address: [Id; 2],
        wanted: Vec<u8>,
    },
    /// At lanes' own addresses. Operands: the lower half, the upper half if lanes have it; of a load the mask if lanes may be inactive
    /// and masks are vectors; of a store the data; temporary registers; of a load the wanted elements.
    Lanes(Lanes),
    /// A load of elements that are the same for all lanes. Operands: the wanted elements.
    Same {
        bytes: u8,
        address: u16,
        offset: i32,
        wanted: Vec<u8>,
    },
    /// A load at affine addresses. Operands: temporary registers; the elements, all of them, two as 64-bit values.
    Load(Affine),
    /// Operands: the data; a 64-bit value has two registers; temporary registers.
    Store(Affine),
    /// A gather at affine addresses. Operands: distances, the mask as above, temporary registers, the wanted elements.
    Gather(Affine, Vec<u8>),
    /// A load of a row: the result, if it is wanted.
    Row { address: Id, offset: i32, half: i32 },
    /// Operands: the value, temporary registers.
    StoreRow {
        address: Id,
        offset: i32,
        half: i32,
        active: At,
    },
}

/// An access at lanes' own addresses.
#[derive(Debug)]
pub(crate) struct Lanes {
    pub active: At,
    pub store: bool,
    pub space: Space,
    pub bytes: u8,
    pub count: u8,
    pub offset: i32,
    /// Lanes have an upper half of their own.
    pub high: bool,
    /// The scalar that is the upper half, or the limit of LDS.
    pub scalar: Option<Id>,
    pub range: Option<Range>,
    /// Lanes may also be in this range, for instance of the other buffer if each lane chooses between two. Upper halves are lanes' own.
    pub second: Option<Range>,
    pub wanted: Vec<u8>,
    /// Lanes' elements may follow each other: the address is no number that was loaded.
    pub computed: bool,
    /// The number of its counter of tests for that. Staged stores are always tested.
    pub counter: usize,
    /// 16 bytes of each lane may be loaded.
    pub rows: bool,
    /// Of a load: its tile. Of a store: the tiles whose memory it may change.
    pub tiles: Vec<TileAt>,
}

impl Lanes {
    /// Bytes from a lane's address on that the access may touch.
    pub fn reach(&self) -> u64 {
        match (self.store, self.in_rows()) {
            (false, true) => 16,
            _ => reach(self.bytes, self.count as usize),
        }
    }

    /// Returns true if the code tests whether lanes' elements are adjacent. It does not for three dwords a lane.
    pub fn consecutive(&self) -> bool {
        self.computed && self.count != 3
    }

    /// Returns true if 16 bytes of each lane may be loaded. Remembered ranges of memory reach that far.
    pub fn in_rows(&self) -> bool {
        self.rows && self.bytes == 4 && (self.count == 4 || self.count == 3 && self.range.is_some())
    }
}

/// An access at affine addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Affine {
    pub active: At,
    pub address: u16,
    pub bytes: u8,
    pub count: u8,
    pub step: i32,
    pub offset: i32,
    /// The offset of the upper half relative to the lower one.
    pub half: i32,
    /// It is the slice's first half.
    pub first: bool,
    /// The bits of the elements that are wanted.
    pub wanted: u8,
    /// The memory of 16 lanes in its own order; a half has half of each 64 bytes.
    pub in_order: bool,
}

/// Elements of each lane that are loaded to registers.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a> {
    pub bytes: u8,
    /// The distance of the first element from the lane's address.
    pub offset: i32,
    /// The numbers of the elements, and a register for each.
    pub wanted: &'a [u8],
    pub loaded: &'a [u8],
}

/// The uses of temporary registers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Temps {
    /// Of accesses at lanes' own addresses: whether it is a store.
    Lanes(bool),
    /// Of affine loads: the number of elements.
    Load(u8),
    /// Of affine loads of elements that lie within a register.
    Close,
    /// Affine loads in the order of memory.
    InOrder,
    Gather,
    Store,
    StoreRow,
    Slow,
    Fix,
}

impl<V: Vectors> Select<'_, '_, V> {
    fn access(&mut self, access: Access, operands: &[(VReg, Role)]) {
        self.push(Shared::Access(Rc::new(access)), operands);
    }

    pub(super) fn temps(&mut self, what: Temps) -> Vec<(VReg, Role)> {
        let classes = V::temps(what).iter();
        classes.map(|&c| (self.code.reg(c), Role::Temp)).collect()
    }

    /// The mask of active lanes, if it is an operand.
    fn active_operand(&mut self) -> Option<(VReg, Role)> {
        let needed = V::TRUTH == 0 && self.e.all_active.is_none();
        needed.then(|| (V::active_lanes(self), Role::Use))
    }

    /// Registers for the elements of a load that are wanted, and their numbers.
    fn wanted(&mut self, id: Id, count: u8) -> (Vec<u8>, Vec<(VReg, Role)>) {
        let parts = self.e.parts(id, count);
        let (mut wanted, mut operands) = (Vec::new(), Vec::new());
        for (k, part) in parts.into_iter().enumerate() {
            if let Some(part) = part {
                let d = self.reg();
                self.define(part, d);
                wanted.push(k as u8);
                operands.push((d, Role::Early));
            }
        }
        (wanted, operands)
    }

    pub(super) fn group(
        &mut self,
        id: Id,
        space: Space,
        bytes: u8,
        count: u8,
        offset: i32,
        [lo, hi]: [Id; 2],
    ) {
        let lds = space == Space::Lds;
        let uniform_high = !self.e.node(hi).vec;
        if !self.e.node(lo).vec && uniform_high && (!lds || bytes == 4 && offset == 0) {
            let (wanted, operands) = self.wanted(id, count);
            let access = Access::Uniform {
                space,
                bytes,
                count,
                offset,
                address: [lo, hi],
                wanted,
            };
            self.access(access, &operands);
            return;
        }
        let mut operands = vec![(self.val(lo), Role::Use)];
        let high = !lds && !uniform_high;
        if high {
            operands.push((self.val(hi), Role::Use));
        }
        operands.extend(self.active_operand());
        operands.extend(self.temps(Temps::Lanes(false)));
        let (wanted, defined) = self.wanted(id, count);
        operands.extend(defined);
        let access = Access::Lanes(Lanes {
            active: self.at(EXEC_BITS),
            store: false,
            space,
            bytes,
            count,
            offset,
            high,
            scalar: (!high).then_some(hi),
            range: (!lds).then(|| self.e.new_range()),
            second: high.then(|| self.e.new_range()),
            wanted,
            computed: self.e.consecutive([lo, hi]),
            counter: self.e.new_counter(),
            rows: self.e.with(Optional::GatherRows),
            tiles: self.tile(id).into_iter().collect(),
        });
        self.access(access, &operands);
    }

    pub(super) fn store(&mut self, s: &Store) {
        let lds = s.space == Space::Lds;
        let mut operands = vec![(self.val(s.lo), Role::Use)];
        let high = !lds && self.e.node(s.hi).vec;
        if high {
            operands.push((self.val(s.hi), Role::Use));
        }
        for &d in &s.data {
            operands.push((self.val(d), Role::Use));
        }
        operands.extend(self.temps(Temps::Lanes(true)));
        let access = Access::Lanes(Lanes {
            active: self.at(EXEC_BITS),
            store: true,
            space: s.space,
            bytes: s.bytes,
            count: s.data.len() as u8,
            offset: s.offset,
            high,
            scalar: (!high).then_some(s.hi),
            range: (!lds).then(|| self.e.new_range()),
            second: (high && s.data.len() == 1).then(|| self.e.new_range()),
            wanted: Vec::new(),
            computed: self.e.consecutive([s.lo, s.hi]),
            counter: self.e.new_counter(),
            rows: false,
            tiles: if lds { Vec::new() } else { self.tiles() },
        });
        self.access(access, &operands);
    }

    /// An access at an affine address, of the current half.
    fn at_affine(&self, address: u16, bytes: u8, count: u8, offset: i32) -> Affine {
        let step = self.e.c.affine.addresses[address as usize].step;
        let half = 8 * step;
        let (offset, half) = match self.now {
            Some(now) => (offset + half * now as i32, 0),
            None => (offset, half),
        };
        Affine {
            active: self.at(EXEC_BITS),
            address,
            bytes,
            count,
            step,
            offset,
            half,
            first: self.now != Some(1),
            wanted: u8::MAX,
            in_order: false,
        }
    }

    /// The same for the memory of 16 lanes in its own order.
    fn at_affine_in_order(&mut self, address: u16, bytes: u8, count: u8, offset: i32) -> Affine {
        let (start, half) = match self.now {
            Some(now) => (offset + 32 * now as i32, 0),
            None => (offset, 32),
        };
        Affine {
            offset: start,
            half,
            in_order: true,
            ..self.at_affine(address, bytes, count, offset)
        }
    }

    /// A load of the memory of 16 lanes in its own order.
    pub(super) fn load_in_order(
        &mut self,
        id: Id,
        bytes: u8,
        count: u8,
        offset: i32,
        address: u16,
    ) {
        let parts = self.e.parts(id, count);
        if parts.iter().all(Option::is_none) {
            return;
        }
        let mut a = self.at_affine_in_order(address, bytes, count, offset);
        a.wanted = bits_of(&parts);
        let mut operands = self.temps(Temps::InOrder);
        for part in parts {
            let d = self.reg();
            if let Some(part) = part {
                self.define(part, d);
            }
            operands.push((d, Role::Early));
        }
        self.access(Access::Load(a), &operands);
    }

    pub(super) fn affine_load(
        &mut self,
        id: Id,
        bytes: u8,
        count: u8,
        offset: i32,
        address: u16,
        broadcast: bool,
    ) {
        let parts = self.e.parts(id, count);
        if parts.iter().all(Option::is_none) {
            return;
        }
        if broadcast {
            let (wanted, operands) = self.wanted(id, count);
            let access = Access::Same {
                bytes,
                address,
                offset,
                wanted,
            };
            self.access(access, &operands);
            return;
        }
        let mut a = self.at_affine(address, bytes, count, offset);
        let mut shape = Shape::of(a.step, bytes, count, false);
        if shape == Some(Shape::Rows) && !self.e.with(Optional::Rows) {
            shape = Some(Shape::Apart);
        }
        let close = within_register(a.step) && count == 1;
        if shape == Some(Shape::Apart) && !close {
            // The lanes' numbers say which half it is.
            a.offset = offset;
            let distances = V::distances(self, a.step);
            let mut operands = vec![(distances, Role::Use)];
            operands.extend(self.active_operand());
            operands.extend(self.temps(Temps::Gather));
            let (wanted, defined) = self.wanted(id, count);
            operands.extend(defined);
            self.access(Access::Gather(a, wanted), &operands);
            return;
        }
        if shape == Some(Shape::Rows) {
            self.load_rows(&parts, a, row_of(a.step, offset) - offset);
            return;
        }
        let mut operands = self.temps(match shape {
            Some(Shape::Apart) => Temps::Close,
            _ => Temps::Load(count),
        });
        if count == 2 {
            // Pairs of dwords are 64-bit values already; what else reads the elements takes them apart.
            let r = [self.reg(), self.reg()];
            operands.extend(r.map(|r| (r, Role::Early)));
            self.access(Access::Load(a), &operands);
            self.define_wide(id, r);
            return;
        }
        a.wanted = bits_of(&parts);
        for part in parts {
            let d = self.reg();
            if let Some(part) = part {
                self.define(part, d);
            }
            operands.push((d, Role::Early));
        }
        self.access(Access::Load(a), &operands);
    }

    /// Loads of dwords of lanes that are one, two or four dwords apart, by whole rows. They begin `before` (not positive) the access.
    fn load_rows(&mut self, parts: &[Option<Id>], a: Affine, before: i32) {
        let row = (a.step / 4) as usize;
        let first = before.unsigned_abs() as usize / 4;
        let mut load = Affine {
            count: row as u8,
            offset: a.offset + before,
            ..a
        };
        for at in 0..(first + parts.len()).div_ceil(row) {
            let wanted = |k: usize| *parts.get((at * row + k).checked_sub(first)?)?;
            let wanted: Vec<Option<Id>> = (0..row).map(wanted).collect();
            if wanted.iter().any(Option::is_some) {
                load.wanted = bits_of(&wanted);
                let mut operands = self.temps(Temps::Load(row as u8));
                let r: Vec<VReg> = (0..row).map(|_| self.reg()).collect();
                operands.extend(r.iter().map(|&r| (r, Role::Early)));
                self.access(Access::Load(load), &operands);
                load.first = false;
                for (k, part) in wanted.into_iter().enumerate() {
                    let Some(part) = part else {
                        continue;
                    };
                    let d = match row {
                        2 => V::half_of(self, [r[0], r[1]], k == 1),
                        _ => r[k],
                    };
                    self.define(part, d);
                }
            }
            load.offset += a.step;
        }
    }

    /// An element of a load of two, which was loaded as 64-bit values.
    pub(super) fn part(&mut self, load: Id, k: u8) -> Option<VReg> {
        let r = self.have(load)?;
        Some(V::half_of(self, r, k == 1))
    }

    /// The 64-bit value of the two elements of a load.
    pub(super) fn loaded_pair(&mut self, lo: Id, hi: Id) -> Option<[VReg; 2]> {
        let (lo, hi) = (self.e.node(lo), self.e.node(hi));
        let both = lo.op == Inst::Part(0) && hi.op == Inst::Part(1) && lo.args[0] == hi.args[0];
        match both && lo.vec && hi.vec {
            true => self.have(lo.args[0]),
            false => None,
        }
    }

    pub(super) fn row(&mut self, id: Id, address: Id, offset: i32) {
        let half = 32 * self.now.unwrap_or(0) as i32;
        let access = Access::Row {
            address,
            offset,
            half,
        };
        if self.e.plan.uses[id as usize].is_empty() {
            self.access(access, &[]);
            return;
        }
        let d = self.reg();
        self.access(access, &[(d, Role::Def)]);
        self.define(id, d);
    }

    pub(super) fn store_row(&mut self, address: Id, offset: i32, value: Id) {
        let access = Access::StoreRow {
            address,
            offset,
            half: 32 * self.now.unwrap_or(0) as i32,
            active: self.at(EXEC_BITS),
        };
        let mut operands = vec![(self.val(value), Role::Use)];
        operands.extend(self.temps(Temps::StoreRow));
        self.access(access, &operands);
    }

    pub(super) fn store_data(&mut self, s: &Store) -> Vec<VReg> {
        let mut data = Vec::new();
        for &d in &s.data {
            match s.bytes {
                8 => data.extend(self.wide(d)),
                _ => data.push(self.val(d)),
            }
        }
        data
    }

    pub(super) fn affine_store(&mut self, s: &Store, address: u16, offset: i32) {
        let data = self.store_data(s);
        self.store_parts(s, &data, address, offset);
    }

    fn store_parts(&mut self, s: &Store, data: &[VReg], address: u16, offset: i32) {
        let count = s.data.len() as u8;
        let a = match s.in_order {
            true => self.at_affine_in_order(address, s.bytes, count, offset),
            false => self.at_affine(address, s.bytes, count, offset),
        };
        let mut operands: Vec<_> = data.iter().map(|&r| (r, Role::Use)).collect();
        operands.extend(self.temps(Temps::Store));
        self.access(Access::Store(a), &operands);
    }
}

fn bits_of(parts: &[Option<Id>]) -> u8 {
    let bit = |(k, part): (usize, &Option<Id>)| (part.is_some() as u8) << k;
    parts.iter().enumerate().map(bit).sum()
}

impl<V: Vectors> Emit<'_, V> {
    /// Does the deferred stores, one after the other. Nothing can fail from the first one on.
    pub(super) fn deferred_stores(&mut self) {
        let c = self.c;
        let stored = std::mem::take(&mut self.v.stored);
        let kept: usize = self.v.kept.iter().map(Vec::len).sum();
        for (n, s) in c.effects.deferred_stores.iter().enumerate() {
            let (address, offset) = c.affine.stores[n];
            let mut select = Select::new(self, false);
            let locations = stored.get(n).map_or(&[][..], |l| &l[..]);
            let data: Vec<VReg> = locations
                .iter()
                .map(|&address_plus| match address_plus {
                    Deferred::Line(line) => select.load(At::dwords(line_mem(line))),
                    Deferred::InRegister(n) => {
                        let kept = Shared::InRegister(n).into();
                        select.code.push_remat(kept, Remat::Value, 0)
                    }
                })
                .collect();
            select.store_parts(s, &data, address, offset);
            let code = select.code;
            self.run(&code, false, false, kept);
        }
    }

    pub(super) fn access_code(&mut self, access: &Rc<Access>, p: OperandRegisters<'_, V::Op>) {
        match &**access {
            Access::Uniform {
                space,
                bytes,
                count,
                offset,
                address: [lo, hi],
                wanted,
            } => {
                let total = *bytes as i32 * *count as i32;
                self.sload(RAX, *lo);
                let restart = self.restart();
                let from = if *space == Space::Lds {
                    self.lds_range(total, *hi, restart);
                    mem(RAX, 0)
                } else {
                    self.add_high(*hi, *offset);
                    self.check_range(total, 1, restart);
                    self.of_host(RAX);
                    guest_memory(RAX, 0)
                };
                for (n, &k) in wanted.iter().enumerate() {
                    let from = plus(from, k as i32 * *bytes as i32);
                    self.broadcast_element(p.r(n), *bytes, from);
                }
            }
            Access::Lanes(_) => V::lanes_code(self, access, p),
            Access::Same {
                bytes,
                address,
                offset,
                wanted,
            } => {
                self.affine_address(*address);
                for (n, &k) in wanted.iter().enumerate() {
                    let from = address_plus(*offset + k as i32 * *bytes as i32);
                    self.broadcast_element(p.r(n), *bytes, from);
                }
            }
            Access::Load(a) => V::load_code(self, *a, p),
            Access::Store(a) => {
                V::store_code(self, *a, p);
                self.affine_stored(*a);
            }
            Access::Gather(a, wanted) => V::gather_code(self, *a, wanted, p),
            &Access::Row {
                address,
                offset,
                half,
            } => {
                let at = self.row_address(address, offset, 1);
                if !p.locations.is_empty() {
                    let at = plus(at, half + 32 * self.v.half as i32);
                    V::Op::reload(self.a, 0, p.r(0), at);
                }
            }
            &Access::StoreRow {
                address,
                offset,
                half,
                active,
            } => {
                let at = self.row_address(address, offset, 3);
                let at = plus(at, half + 32 * self.v.half as i32);
                V::store_row_code(self, active, at, p);
            }
        }
    }

    /// An element from memory to all lanes. RCX is clobbered.
    fn broadcast_element(&mut self, d: u8, bytes: u8, from: Mem) {
        if bytes == 4 {
            V::broadcast(self.a, d, 4, from);
            return;
        }
        let load: &[u8] = if bytes == 1 {
            &[0x0f, 0xb6]
        } else {
            &[0x0f, 0xb7]
        };
        self.a.g(false, load, RCX, Rm::M(from));
        V::broadcast_gpr(self.a, d, RCX);
    }

    /// RAX: the host's address of the current slice's part of an access. Flags stay.
    pub(super) fn affine_address(&mut self, address: u16) {
        let slot = At {
            mem: self.address_slot(address),
            slice: 8,
            half: 0,
        };
        let from = self.at(slot);
        self.a.mov(true, RAX, Rm::M(from));
    }

    /// RAX: the highest address from which `bytes` bytes are within LDS and the limit. Jumps to `none` if there is none. RDX is
    /// clobbered.
    pub(super) fn last_in_lds(&mut self, limit: Id, bytes: i32, none: Label) {
        self.a.mov(true, RAX, Rm::M(ctx!(lds.bytes)));
        if self.konst(limit).is_none_or(|l| l < u32::MAX as u64) {
            self.sload(RDX, limit);
            self.a.alu(alu::CMP, true, RDX, Rm::R(RAX));
            self.a.cmov(Cc::B, true, RAX, Rm::R(RDX));
        }
        self.a.alu_imm(alu::SUB, true, Rm::R(RAX), bytes);
        self.a.jcc(Cc::S, none);
    }

    /// Prefetches for later waves, once a slice.
    pub(super) fn fetch(&mut self, a: Affine, stores: bool) {
        if a.first && self.v.half == 0 {
            self.fetch_ahead(a.step, a.offset, a.address, stores);
        }
    }

    /// Asks the helper for the memory around lanes' addresses, which are where it reads them. Goes back to `again` with it, or on.
    pub(super) fn ask_around(&mut self, l: &Lanes, range: Range, again: Label) {
        let total = l.reach();
        let mut what = total | if l.store { 2 } else { 1 } << 8;
        if let Some(second) = l.second {
            what |= self.ask_second_range(range, second);
        }
        self.ask_range(what | (l.offset as u32 as u64) << 32, range);
        let call = self.common.around_call;
        self.a.call_label(call);
        self.a.test(false, RAX, RAX);
        let other = self.a.label();
        self.a.jcc(Cc::Ne, other);
        self.tag(range);
        if let Some(second) = l.second {
            self.tag(second);
        }
        self.a.jmp(again);
        self.a.bind(other);
    }

    /// Jumps to the label unless the two ranges of an access are known and have one upper half. RAX is clobbered.
    pub(super) fn both_ranges(&mut self, [first, second]: [Range; 2], ask: Label) {
        self.check_tag(second, ask);
        self.a.alu_imm(alu::CMP, true, Rm::M(first.bytes()), 0);
        self.a.jcc(Cc::E, ask);
        self.a.mov(false, RAX, Rm::M(first.upper()));
        self.a.alu(alu::CMP, false, RAX, Rm::M(second.upper()));
        self.a.jcc(Cc::Ne, ask);
    }

    /// RAX: the beginning of the lower one of two ranges. RCX is clobbered.
    pub(super) fn lower_range(&mut self, [first, second]: [Range; 2]) {
        self.a.mov(true, RAX, Rm::M(first.start()));
        self.a.mov(true, RCX, Rm::M(second.start()));
        self.a.alu(alu::CMP, true, RCX, Rm::R(RAX));
        self.a.cmov(Cc::B, true, RAX, Rm::R(RCX));
    }

    /// Exchanges the two ranges of an access. RAX and RCX are clobbered.
    pub(super) fn exchange_ranges(&mut self, [first, second]: [Range; 2]) {
        for field in [Range::start, Range::bytes] {
            self.a.mov(true, RAX, Rm::M(field(first)));
            self.a.mov(true, RCX, Rm::M(field(second)));
            self.a.store(true, field(first), RCX);
            self.a.store(true, field(second), RAX);
        }
    }

    /// Calls the helper that loads or stores lane by lane.
    pub(super) fn lanes_helper(&mut self, l: &Lanes) {
        let lds = l.space == Space::Lds;
        let what = l.bytes as u64
            | (l.count as u64) << 8
            | (lds as u64) << 16
            | ((l.space == Space::Flat) as u64) << 17;
        self.a.imm(RSI, what | (l.offset as u32 as u64) << 32);
        let slow = self.common.slow[l.store as usize];
        self.a.call_label(slow);
        self.a.test(false, RAX, RAX);
        let restart = self.restart();
        self.a.jcc(Cc::Ne, restart);
    }
}
