//! Loads and stores: at lanes' own addresses, at affine addresses, and of rows.

use super::*;
use crate::ir::region::Store;
use crate::lir::{Role, VReg};
use crate::passes::affine::{Shape, row_of, within_register};
use crate::target::x64::affine::place;
use crate::target::x64::memory::reach;
use crate::target::x64::range::Range;

/// A memory access.
#[derive(Debug)]
pub(super) enum Access {
    /// A load at one address for all lanes. Operands: the wanted elements.
    Uniform {
        space: Space,
        bytes: u8,
        count: u8,
        offset: i32,
        address: [Id; 2],
        wanted: Vec<u8>,
    },
    /// At lanes' own addresses. Operands: the lower half, the upper half if lanes have it; of a load the mask if lanes may be inactive;
    /// of a store the data; three temporary registers; of a load the wanted elements.
    Lanes(Lanes),
    /// A load of elements that are the same for all lanes. Operands: the wanted elements.
    Same {
        bytes: u8,
        address: u16,
        offset: i32,
        wanted: Vec<u8>,
    },
    /// A load at affine addresses. Operands: two temporary registers; the elements, all of them, two as 64-bit values.
    Load(Affine),
    /// Operands: the data; a 64-bit value has two registers; five temporary registers.
    Store(Affine),
    /// A gather at affine addresses. Operands: distances, the mask if lanes may be inactive, a temporary register, the wanted elements.
    Gather(Affine, Vec<u8>),
    /// A load of a row: the result, if it is wanted.
    Row { address: Id, offset: i32, half: i32 },
    /// Operands: the value, a temporary register.
    StoreRow {
        address: Id,
        offset: i32,
        half: i32,
        active: At,
    },
}

#[derive(Debug)]
pub(super) struct Lanes {
    active: At,
    store: bool,
    space: Space,
    bytes: u8,
    count: u8,
    offset: i32,
    /// Lanes have an upper half of their own.
    high: bool,
    /// The scalar that is the upper half, or the limit of LDS.
    scalar: Option<Id>,
    range: Option<Range>,
    wanted: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Affine {
    active: At,
    address: u16,
    bytes: u8,
    count: u8,
    step: i32,
    offset: i32,
    /// What the upper half adds to the offset.
    half: i32,
    /// It is the slice's first half.
    first: bool,
    /// 16 lanes' memory as it lies there, of which a half is the half of each 64 bytes.
    in_order: bool,
}

fn plus(m: Mem, by: i32) -> Mem {
    Mem {
        disp: m.disp + by,
        ..m
    }
}

impl Select<'_, '_> {
    fn access(&mut self, access: Access, operands: &[(VReg, Role)]) {
        self.code.push(M::Access(Rc::new(access)), operands);
    }

    fn temps(&mut self, n: usize) -> Vec<(VReg, Role)> {
        (0..n).map(|_| (self.reg(), Role::Temp)).collect()
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
        if self.e.full.is_none() {
            operands.push((self.active(), Role::Use));
        }
        operands.extend(self.temps(3));
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
            wanted,
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
        operands.extend(self.temps(3));
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
            wanted: Vec::new(),
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
            in_order: false,
        }
    }

    /// The same of 16 lanes' memory as it lies there.
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

    /// A load of the memory of 16 lanes as it lies there.
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
        let a = self.at_affine_in_order(address, bytes, count, offset);
        let mut operands = self.temps(2);
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
        let shape = Shape::of(a.step, bytes, count, false);
        let close = within_register(a.step) && count == 1;
        if shape == Some(Shape::Apart) && !close {
            // The lanes' numbers say which half it is.
            a.offset = offset;
            let step = a.step;
            let distances = self.by_lane(|lane| (lane as i32 * step) as u32);
            let mut operands = vec![(distances, Role::Use)];
            if self.e.full.is_none() {
                operands.push((self.active(), Role::Use));
            }
            operands.extend(self.temps(1));
            let (wanted, defined) = self.wanted(id, count);
            operands.extend(defined);
            self.access(Access::Gather(a, wanted), &operands);
            return;
        }
        if shape == Some(Shape::Rows) {
            self.load_rows(&parts, a, row_of(a.step, offset) - offset);
            return;
        }
        let mut operands = self.temps(2);
        if count == 2 {
            // Pairs of dwords are 64-bit values already; what else reads the elements takes them apart.
            let r = [self.reg(), self.reg()];
            operands.extend(r.map(|r| (r, Role::Early)));
            self.access(Access::Load(a), &operands);
            self.define_wide(id, r);
            return;
        }
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
                let mut operands = self.temps(2);
                let r: Vec<VReg> = (0..row).map(|_| self.reg()).collect();
                operands.extend(r.iter().map(|&r| (r, Role::Early)));
                self.access(Access::Load(load), &operands);
                load.first = false;
                for (k, part) in wanted.into_iter().enumerate() {
                    let Some(part) = part else {
                        continue;
                    };
                    let d = match row {
                        2 => self.two_imm(SHUFPS, r[0], r[1], if k == 0 { 0x88 } else { 0xdd }),
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
        let [a, b] = self.have(load)?;
        let by = if k == 0 { 0x88 } else { 0xdd };
        Some(self.two_imm(SHUFPS, a, b, by))
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
        operands.extend(self.temps(1));
        self.access(access, &operands);
    }

    fn store_data(&mut self, s: &Store) -> Vec<VReg> {
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
        operands.extend(self.temps(5));
        self.access(Access::Store(a), &operands);
    }

    /// Keeps the data that deferred stores will write.
    pub(super) fn keep_stores(&mut self) {
        let c = self.e.c;
        for (n, s) in c.effects.deferred_stores.iter().enumerate() {
            let data = self.store_data(s);
            if self.e.v.stored.len() <= n {
                let lines = data.iter().map(|_| self.e.lines()).collect();
                self.e.v.stored.push(lines);
            }
            for (k, r) in data.into_iter().enumerate() {
                let line = self.e.v.stored[n][k];
                let at = self.at(At::dwords(line_mem(line)));
                self.code.push(M::Store(at), &[(r, Role::Use)]);
            }
        }
    }
}

impl Emit<'_, Avx2> {
    /// Does the deferred stores, one after the other. Nothing can fail from the first one on.
    pub(super) fn deferred_stores(&mut self) {
        let c = self.c;
        let stored = std::mem::take(&mut self.v.stored);
        for (n, s) in c.effects.deferred_stores.iter().enumerate() {
            let (address, offset) = c.affine.stores[n];
            let mut select = Select::new(self, false);
            let lines = stored.get(n).map_or(&[][..], |l| &l[..]);
            let data: Vec<VReg> = lines
                .iter()
                .map(|&line| {
                    let at = At::dwords(line_mem(line));
                    let load = M::Load(at);
                    select.code.push_again(load, crate::lir::Again::Memory, 0)
                })
                .collect();
            select.store_parts(s, &data, address, offset);
            let code = select.code;
            self.run(&code, false, false);
        }
    }

    pub(super) fn access_code(&mut self, access: &Rc<Access>, p: Places<'_>) {
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
                    Mem {
                        index: Some((RAX, 1)),
                        ..mem(BIAS, 0)
                    }
                };
                for (n, &k) in wanted.iter().enumerate() {
                    let from = plus(from, k as i32 * *bytes as i32);
                    self.broadcast_element(p.r(n), *bytes, from);
                }
            }
            Access::Lanes(_) => self.lanes_code(access, p),
            Access::Same {
                bytes,
                address,
                offset,
                wanted,
            } => {
                self.affine_address(*address);
                for (n, &k) in wanted.iter().enumerate() {
                    let from = place(*offset + k as i32 * *bytes as i32);
                    self.broadcast_element(p.r(n), *bytes, from);
                }
            }
            Access::Load(a) => self.affine_load_code(*a, p),
            Access::Store(a) => self.affine_store_code(*a, p),
            Access::Gather(a, wanted) => {
                let masked = self.full.is_none();
                let mask = masked.then(|| p.r(1));
                let first = 1 + masked as usize;
                self.affine_address(a.address);
                let d = p.range(first + 1, wanted.len());
                let index = p.r(0);
                self.gather_elements(a.bytes, &d, wanted, index, mask, p.r(first), a.offset);
            }
            &Access::Row {
                address,
                offset,
                half,
            } => {
                let at = self.row_address(address, offset, 1);
                if !p.places.is_empty() {
                    let at = plus(at, half + 32 * self.v.half as i32);
                    self.a.y(LOAD, p.r(0), 0, H::M(at));
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
                self.store_dwords(active, p.r(0), p.r(1), at);
            }
        }
    }

    /// An element from memory to all lanes. RCX is clobbered.
    fn broadcast_element(&mut self, d: u8, bytes: u8, from: Mem) {
        if bytes == 4 {
            self.a.y(BROADCASTD, d, 0, H::M(from));
            return;
        }
        let load: &[u8] = if bytes == 1 {
            &[0x0f, 0xb6]
        } else {
            &[0x0f, 0xb7]
        };
        self.a.g(false, load, RCX, Rm::M(from));
        self.broadcast_gpr(d, RCX);
    }

    /// A general register's dword in all lanes.
    pub(super) fn broadcast_gpr(&mut self, d: u8, from: Gpr) {
        self.a.x(MOVD, d, 0, H::R(from));
        self.a.y(BROADCASTD, d, 0, H::R(d));
    }

    /// RAX: the host's address of the current slice's part of an access. Flags stay.
    fn affine_address(&mut self, address: u16) {
        let slot = At {
            mem: self.address_slot(address),
            slice: 8,
            half: 0,
        };
        let from = self.at(slot, RAX);
        self.a.mov(true, RAX, Rm::M(from));
    }

    /// RAX: the last address at which so many bytes are within LDS and the limit. Jumps to `none` where there is none. RDX is
    /// clobbered.
    pub(super) fn last_in_lds(&mut self, limit: Id, bytes: i32, none: Label) {
        self.a.mov(true, RAX, Rm::M(ctx!(lds_bytes)));
        if self.konst(limit).is_none_or(|l| l < u32::MAX as u64) {
            self.sload(RDX, limit);
            self.a.alu(alu::CMP, true, RDX, Rm::R(RAX));
            self.a.cmov(Cc::B, true, RAX, Rm::R(RDX));
        }
        self.a.alu_imm(alu::SUB, true, Rm::R(RAX), bytes);
        self.a.jcc(Cc::S, none);
    }

    // ---- lanes' own addresses ----

    fn lanes_code(&mut self, access: &Rc<Access>, p: Places<'_>) {
        let Access::Lanes(l) = &**access else {
            return;
        };
        let masked = !l.store && self.full.is_none();
        let lo = p.r(0);
        let high = l.high.then(|| p.r(1));
        let mut k = 1 + l.high as usize;
        let mask = masked.then(|| p.r(k));
        k += masked as usize;
        let data = if l.store { l.count as usize } else { 0 };
        let stored = p.range(k, data);
        k += data;
        let [t, u, w] = [0, 1, 2].map(|i| p.r(k + i));
        let loaded = p.range(k + 3, l.wanted.len());
        let (from, back, again) = (self.a.label(), self.a.label(), self.a.here());
        let lds = l.space == Space::Lds;
        let index = match l.range {
            None => self.in_lds(l, lo, t, u, from),
            Some(range) => {
                self.in_range(l, range, [lo, t, u, w], high, from);
                t
            }
        };
        let offset = if lds { 0 } else { l.offset };
        if l.store {
            self.a.y(STORE, index, 0, H::M(ctx!(addresses)));
            self.scatter_lanes(l.active, l.bytes, &stored, None, offset);
        } else {
            self.gather_elements(l.bytes, &loaded, &l.wanted, index, mask, w, offset);
        }
        self.a.bind(back);
        let access = access.clone();
        self.section(move |e| {
            let Access::Lanes(l) = &*access else {
                return;
            };
            e.a.bind(from);
            if let Some(range) = l.range {
                e.hand_over(l, lo, high, u);
                let total = reach(l.bytes, l.count as usize);
                let what = total | if l.store { 2 } else { 1 } << 8;
                e.ask_range(what | (l.offset as u32 as u64) << 32, range);
                let call = e.common.around_call;
                e.a.call_label(call);
                e.a.test(false, RAX, RAX);
                let other = e.a.label();
                e.a.jcc(Cc::Ne, other);
                e.tag(range);
                e.a.jmp(again);
                e.a.bind(other);
            }
            e.hand_over(l, lo, high, u);
            for (k, &d) in stored.iter().enumerate() {
                e.a.y(STORE, d, 0, H::M(ctx!(data, 64 * k)));
            }
            let lds = l.space == Space::Lds;
            let what = l.bytes as u64
                | (l.count as u64) << 8
                | (lds as u64) << 16
                | ((l.space == Space::Flat) as u64) << 17;
            e.a.imm(RSI, what | (l.offset as u32 as u64) << 32);
            let slow = e.common.slow[l.store as usize];
            e.a.call_label(slow);
            e.a.test(false, RAX, RAX);
            let restart = e.restart();
            e.a.jcc(Cc::Ne, restart);
            for (&d, &k) in loaded.iter().zip(&l.wanted) {
                e.a.y(LOAD, d, 0, H::M(ctx!(data, 64 * k as usize)));
            }
            e.a.jmp(back);
        });
    }

    /// The active lanes and their addresses go where helpers read them.
    fn hand_over(&mut self, l: &Lanes, lo: u8, high: Option<u8>, u: u8) {
        self.a.y(STORE, lo, 0, H::M(ctx!(addresses)));
        let upper = match (high, l.scalar) {
            (Some(high), _) => high,
            (None, Some(scalar)) => {
                self.sload(RAX, scalar);
                self.broadcast_gpr(u, RAX);
                u
            }
            (None, None) => lo,
        };
        self.a.y(STORE, upper, 0, H::M(ctx!(addresses, 64)));
        self.active_to(l.active, RAX);
        self.a.store16(ctx!(lanes_on), RAX);
    }

    /// `t`: how far behind the beginning of the remembered range the addresses of active lanes are; RAX: the host's address of that
    /// beginning. Jumps to `from` unless all are in it.
    fn in_range(
        &mut self,
        l: &Lanes,
        range: Range,
        [lo, t, u, w]: [u8; 4],
        high: Option<u8>,
        from: Label,
    ) {
        self.check_tag(range, from);
        let start = range.start();
        let upper = plus(start, 4);
        self.a.y(BROADCASTD, u, 0, H::M(start));
        self.a.y(SUBD, t, lo, H::R(u));
        self.a.y(BROADCASTD, u, 0, H::M(range.bytes()));
        self.a.y(MAXUD, u, t, H::R(u));
        self.a.y(EQD, u, u, H::R(t));
        match (high, l.scalar) {
            (Some(high), _) => {
                self.a.y(BROADCASTD, w, 0, H::M(upper));
                self.a.y(EQD, w, w, H::R(high));
                self.a.y(ANDN, u, u, H::R(w));
                self.bits_of(RCX, u);
                self.a.alu_imm(alu::XOR, false, Rm::R(RCX), 0xff);
            }
            (None, scalar) => {
                if let Some(scalar) = scalar {
                    self.sload(RAX, scalar);
                    self.a.alu(alu::CMP, false, RAX, Rm::M(upper));
                    self.a.jcc(Cc::Ne, from);
                }
                self.bits_of(RCX, u);
            }
        }
        self.test_active(l.active, RCX, RAX);
        self.a.jcc(Cc::Ne, from);
        self.a.mov(true, RAX, Rm::M(start));
        self.of_host(RAX);
        self.a.alu(alu::ADD, true, RAX, Rm::R(BIAS));
    }

    /// The register of active lanes' addresses, which is `lo` or `t`; RAX: where LDS is. Jumps to `from` unless all bytes are in LDS
    /// and below the limit, and those of several elements are multiples of their size.
    fn in_lds(&mut self, l: &Lanes, lo: u8, t: u8, u: u8, from: Label) -> u8 {
        let bytes = match l.store {
            true => l.bytes as u64 * l.count as u64,
            false => reach(l.bytes, l.count as usize),
        };
        let limit = l.scalar.unwrap_or(0);
        let mut index = lo;
        if l.offset != 0 {
            let offset = self.a.d32(l.offset as u32);
            self.a.y(ADDD, t, lo, offset);
            index = t;
        }
        if l.store && l.count > 1 && !bytes.is_power_of_two() {
            self.a.jmp(from);
            return index;
        }
        let unlimited = self.konst(limit).is_some_and(|l| l >= u32::MAX as u64);
        if unlimited && matches!(bytes, 4 | 8 | 12 | 16) {
            let places = ctx!(lds_places, bytes as usize);
            self.a.y(BROADCASTD, u, 0, H::M(places));
            self.a.y(MAXUD, u, u, H::R(index));
            self.a.y(EQD, u, u, H::R(index));
            self.bits_of(RCX, u);
        } else {
            self.last_in_lds(limit, bytes as i32, from);
            self.broadcast_gpr(u, RAX);
            self.a.y(MINUD, u, u, H::R(index));
            self.a.y(EQD, u, u, H::R(index));
            self.bits_of(RCX, u);
            self.a.alu_imm(alu::XOR, false, Rm::R(RCX), 0xff);
        }
        if l.store && l.count > 1 {
            let cut = self.a.d32(bytes as u32 - 1);
            let zero = self.a.d32(0);
            self.a.y(AND, u, index, cut);
            self.a.y(EQD, u, u, zero);
            self.bits_of(RDX, u);
            self.a.alu_imm(alu::XOR, false, Rm::R(RDX), 0xff);
            self.a.alu(alu::OR, false, RCX, Rm::R(RDX));
        }
        self.test_active(l.active, RCX, RAX);
        self.a.jcc(Cc::Ne, from);
        self.a.mov(true, RAX, Rm::M(ctx!(lds)));
        index
    }

    /// Elements at RAX plus an index plus a constant; 0 to inactive lanes. `w` is clobbered.
    #[allow(clippy::too_many_arguments)]
    fn gather_elements(
        &mut self,
        bytes: u8,
        loaded: &[u8],
        wanted: &[u8],
        index: u8,
        mask: Option<u8>,
        w: u8,
        offset: i32,
    ) {
        for (&d, &k) in loaded.iter().zip(wanted) {
            match mask {
                Some(mask) => self.a.y(LOAD, w, 0, H::R(mask)),
                None => self.a.y(EQD, w, w, H::R(w)),
            }
            let at = Mem {
                index: Some((index, 1)),
                ..mem(RAX, offset + k as i32 * bytes as i32)
            };
            self.a.y(XOR, d, d, H::R(d));
            self.a.y(GATHERDD, d, w, H::M(at));
            if bytes < 4 {
                let low = self.a.d32((1u32 << (8 * bytes)) - 1);
                self.a.y(AND, d, d, low);
            }
        }
    }

    /// Stores elements of each active lane at RAX plus a constant plus the lane's distance, which is a multiple of the lane's number or
    /// in the context: the first elements of all lanes, then the second. RCX, RDX and RSI are clobbered.
    fn scatter_lanes(
        &mut self,
        active: At,
        bytes: u8,
        data: &[u8],
        step: Option<i32>,
        offset: i32,
    ) {
        for (k, &d) in data.iter().enumerate() {
            self.a.y(STORE, d, 0, H::M(ctx!(data, 64 * k)));
        }
        for k in 0..data.len() {
            let from = ctx!(data, 64 * k);
            self.each_lane(active, step, |e| {
                let value = Mem {
                    index: Some((RCX, 4)),
                    ..from
                };
                e.a.mov(false, RCX, Rm::M(value));
                let at = Mem {
                    index: Some((RSI, 1)),
                    ..mem(RAX, offset + k as i32 * bytes as i32)
                };
                match bytes {
                    1 => e.a.store8(at, RCX),
                    2 => e.a.store16(at, RCX),
                    _ => e.a.store(false, at, RCX),
                }
            });
        }
    }

    /// Writes a loop over the active lanes: RCX is the lane, RSI its distance. RDX is clobbered.
    fn each_lane(&mut self, active: At, step: Option<i32>, lane: impl FnOnce(&mut Self)) {
        self.active_to(active, RDX);
        let (top, done) = (self.a.label(), self.a.label());
        self.a.test(false, RDX, RDX);
        self.a.jcc(Cc::E, done);
        self.a.bind(top);
        self.a.tzcnt(false, RCX, RDX);
        match step {
            Some(step) => self.a.imul_imm(true, RSI, RCX, step),
            None => {
                let from = Mem {
                    index: Some((RCX, 4)),
                    ..ctx!(addresses)
                };
                self.a.movsxd(RSI, Rm::M(from));
            }
        }
        lane(self);
        self.a.blsr(false, RDX, RDX);
        self.a.jcc(Cc::Ne, top);
        self.a.bind(done);
    }

    // ---- affine addresses ----

    /// Loads one element of each active lane at RAX by way of the context.
    fn load_lanes(&mut self, a: Affine, d: u8) {
        let offset = a.offset + a.half * self.v.half as i32;
        self.a.y(XOR, d, d, H::R(d));
        self.a.y(STORE, d, 0, H::M(ctx!(data)));
        self.each_lane(a.active, Some(a.step), |e| {
            let at = Mem {
                index: Some((RSI, 1)),
                ..mem(RAX, offset)
            };
            match a.bytes {
                1 => e.a.g(false, &[0x0f, 0xb6], RSI, Rm::M(at)),
                2 => e.a.g(false, &[0x0f, 0xb7], RSI, Rm::M(at)),
                _ => e.a.mov(false, RSI, Rm::M(at)),
            }
            let to = Mem {
                index: Some((RCX, 4)),
                ..ctx!(data)
            };
            e.a.store(false, to, RSI);
        });
        self.a.y(LOAD, d, 0, H::M(ctx!(data)));
    }

    fn affine_load_code(&mut self, a: Affine, p: Places<'_>) {
        let (t, u) = (p.r(0), p.r(1));
        let offset = a.offset + a.half * self.v.half as i32;
        if a.count == 1 {
            let d = p.r(2);
            if Shape::of(a.step, a.bytes, 1, false) != Some(Shape::Dense) {
                self.affine_address(a.address);
                self.load_lanes(a, d);
                return;
            }
            let masked = self.full.is_none();
            let (from, back) = (self.a.label(), self.a.label());
            if masked {
                self.compare_all_active(a.active, RAX);
            }
            self.affine_address(a.address);
            if masked {
                self.a.jcc(Cc::Ne, from);
            }
            self.fetch(a, false);
            let at = H::M(place(offset));
            match a.bytes {
                1 => self.a.y(X(2, 1, 0, 0x31), d, 0, at),
                2 => self.a.y(X(2, 1, 0, 0x33), d, 0, at),
                _ => self.a.y(LOAD, d, 0, at),
            }
            self.a.bind(back);
            if masked {
                self.section(move |e| {
                    e.a.bind(from);
                    if a.bytes == 4 {
                        e.mask_of_bits(a.active, t, RCX);
                        e.a.y(MASKLOAD, d, t, at);
                    } else {
                        e.load_lanes(a, d);
                    }
                    e.a.jmp(back);
                });
            }
            return;
        }
        // All lanes may be read.
        self.affine_address(a.address);
        self.fetch(a, false);
        if a.in_order {
            for k in 0..a.count as usize {
                let at = H::M(place(offset + 64 * k as i32));
                self.a.y(LOAD, p.r(2 + k), 0, at);
            }
            return;
        }
        let halves = |e: &mut Self, d: u8, low: i32, high: i32| {
            e.a.x(LOAD, d, 0, H::M(place(offset + low)));
            let from = H::M(place(offset + high));
            e.a.yi(INSERT, d, d, from, 1);
        };
        if a.count == 2 {
            halves(self, p.r(2), 0, 32);
            halves(self, p.r(3), 16, 48);
            return;
        }
        let [x, y, z, w] = [2, 3, 4, 5].map(|k| p.r(k));
        for (k, d) in [x, y, z, w].into_iter().enumerate() {
            halves(self, d, 16 * k as i32, 64 + 16 * k as i32);
        }
        // Four lanes' dwords in each 128 bits, to be transposed.
        self.a.y(UNPCKL, t, x, H::R(y));
        self.a.y(UNPCKH, x, x, H::R(y));
        self.a.y(UNPCKL, u, z, H::R(w));
        self.a.y(UNPCKH, z, z, H::R(w));
        self.a.y(UNPCKHQ, y, t, H::R(u));
        self.a.y(UNPCKHQ, w, x, H::R(z));
        self.a.y(UNPCKLQ, z, x, H::R(z));
        self.a.y(UNPCKLQ, x, t, H::R(u));
    }

    /// Prefetches for later waves, once a slice.
    fn fetch(&mut self, a: Affine, stores: bool) {
        if a.first && self.v.half == 0 {
            let stride = a.bytes as i32 * a.count as i32;
            self.fetch_ahead(stride, a.offset, a.address, stores);
        }
    }

    /// Stores the dwords of active lanes at an address of RAX. `t` is for the mask; RCX is clobbered.
    fn store_dwords(&mut self, active: At, r: u8, t: u8, at: Mem) {
        if self.full.is_some() {
            self.a.y(STORE, r, 0, H::M(at));
            return;
        }
        let (from, back) = (self.a.label(), self.a.label());
        self.compare_all_active(active, RCX);
        self.a.jcc(Cc::Ne, from);
        self.a.y(STORE, r, 0, H::M(at));
        self.a.bind(back);
        self.section(move |e| {
            e.a.bind(from);
            e.mask_of_bits(active, t, RCX);
            e.a.y(MASKSTORE, r, t, H::M(at));
            e.a.jmp(back);
        });
    }

    fn affine_store_code(&mut self, a: Affine, p: Places<'_>) {
        let wide = a.bytes == 8;
        let registers = if wide { 2 } else { a.count as usize };
        let data = p.range(0, registers);
        let temps: [u8; 5] = std::array::from_fn(|k| p.r(registers + k));
        let offset = a.offset + a.half * self.v.half as i32;
        self.affine_address(a.address);
        if Shape::of(a.step, a.bytes, a.count, true) == Some(Shape::Apart) {
            self.scatter_lanes(a.active, a.bytes, &data, Some(a.step), offset);
            return;
        }
        self.fetch(a, true);
        if a.in_order {
            for (k, &r) in data.iter().enumerate() {
                let at = H::M(place(offset + 64 * k as i32));
                self.a.y(STORE, r, 0, at);
            }
            return;
        }
        if (a.bytes, a.count) == (4, 1) {
            self.store_dwords(a.active, data[0], temps[0], place(offset));
            return;
        }
        let masked = self.full.is_none();
        let (from, back) = (self.a.label(), self.a.label());
        if masked {
            self.compare_all_active(a.active, RCX);
            self.a.jcc(Cc::Ne, from);
        }
        self.store_dense(a, &data, temps, offset);
        self.a.bind(back);
        if masked {
            self.section(move |e| {
                e.a.bind(from);
                if wide {
                    e.store_wide_lanes(a, &data, offset);
                } else {
                    e.scatter_lanes(a.active, a.bytes, &data, Some(a.step), offset);
                }
                e.a.jmp(back);
            });
        }
    }

    /// 64-bit values to each active lane's place.
    fn store_wide_lanes(&mut self, a: Affine, data: &[u8], offset: i32) {
        for (k, &r) in data.iter().enumerate() {
            self.store_quarters(r, ctx!(data, 16 * k), 32);
        }
        self.each_lane(a.active, Some(a.step), |e| {
            let value = Mem {
                index: Some((RCX, 8)),
                ..ctx!(data)
            };
            e.a.mov(true, RCX, Rm::M(value));
            let at = Mem {
                index: Some((RSI, 1)),
                ..mem(RAX, offset)
            };
            e.a.store(true, at, RCX);
        });
    }

    /// The two 128 bits of a register, so many bytes apart.
    fn store_quarters(&mut self, r: u8, at: Mem, apart: i32) {
        self.a.x(STORE, r, 0, H::M(at));
        self.a.yi(EXTRACT, r, 0, H::M(plus(at, apart)), 1);
    }

    /// Elements of all 8 lanes, one lane's after the other's.
    fn store_dense(&mut self, a: Affine, data: &[u8], temps: [u8; 5], offset: i32) {
        let at = |by: i32| place(offset + by);
        let [t, u, v, w, r] = temps;
        match (a.bytes, data) {
            (8, _) => {
                for (k, &d) in data.iter().enumerate() {
                    self.store_quarters(d, at(16 * k as i32), 32);
                }
            }
            (1, _) => {
                let words = [0x0c08_0400, u32::MAX, u32::MAX, u32::MAX];
                let index = self.a.line(std::array::from_fn(|i| words[i % 4]));
                self.a.y(SHUFB, t, data[0], index);
                self.a.yi(EXTRACT, t, 0, H::R(u), 1);
                self.a.x(MOVD_TO, t, 0, H::M(at(0)));
                self.a.x(MOVD_TO, u, 0, H::M(at(4)));
            }
            (2, _) => {
                let words = [0x0504_0100, 0x0d0c_0908, u32::MAX, u32::MAX];
                let index = self.a.line(std::array::from_fn(|i| words[i % 4]));
                self.a.y(SHUFB, t, data[0], index);
                self.a.yi(PERMQ, t, 0, H::R(t), 0x08);
                self.a.x(STORE, t, 0, H::M(at(0)));
            }
            (_, &[x, y]) => {
                self.a.y(UNPCKL, t, x, H::R(y));
                self.a.y(UNPCKH, u, x, H::R(y));
                self.store_quarters(t, at(0), 32);
                self.store_quarters(u, at(16), 32);
            }
            (_, &[x, y, z, w4]) => {
                self.a.y(UNPCKL, t, x, H::R(y));
                self.a.y(UNPCKH, u, x, H::R(y));
                self.a.y(UNPCKL, v, z, H::R(w4));
                self.a.y(UNPCKH, w, z, H::R(w4));
                let lanes = [
                    (UNPCKLQ, t, v),
                    (UNPCKHQ, t, v),
                    (UNPCKLQ, u, w),
                    (UNPCKHQ, u, w),
                ];
                for (k, (e, a, b)) in lanes.into_iter().enumerate() {
                    self.a.y(e, r, a, H::R(b));
                    self.store_quarters(r, at(16 * k as i32), 64);
                }
            }
            _ => self.mistaken(),
        }
    }
}
