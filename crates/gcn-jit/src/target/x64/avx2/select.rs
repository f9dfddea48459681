//! Instruction selection: the operations of a block, in their order, become machine instructions.

use super::*;
use crate::lir::{Again, Role, VReg};

/// The code of 8 lanes, or of both halves of a slice, under selection.
pub(super) struct Select<'s, 'a> {
    pub e: &'s mut Emit<'a, Avx2>,
    pub code: Code<M>,
    /// The half that is selected for, where both are.
    pub now: Option<u8>,
    /// Each value's register, or its two.
    values: [Vec<Option<[VReg; 2]>>; 2],
    /// Constants that have registers.
    constants: Vec<(Constant, VReg)>,
    /// What lanes must not have: checked before anything is stored.
    bad: [Option<VReg>; 2],
    /// A value that is still to be checked, together with another of its kind.
    unchecked: [Option<VReg>; 2],
    /// The VGPRs that the block reads and writes, where they are written at the slice's end.
    late: Vec<(At, VReg)>,
    /// The position of the current operation.
    pos: u32,
    critical: Vec<bool>,
    fallible: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Constant {
    Zero,
    Ones,
    Line([u32; 8]),
    Lines([[u32; 8]; 2]),
    Active(u8),
}

/// Whether a shuffle moves values between the halves of a slice.
pub(super) fn crosses(digits: u64) -> bool {
    (0..16).any(|lane| (digits >> (4 * lane) & 15) / 8 != lane / 8)
}

/// The maximum number of VGPRs that are written by one instruction.
const TOGETHER: usize = 12;

impl<'s, 'a> Select<'s, 'a> {
    pub fn new(e: &'s mut Emit<'a, Avx2>, both: bool) -> Select<'s, 'a> {
        let n = e.c.graph.len();
        Select {
            e,
            code: Code::default(),
            now: both.then_some(0),
            values: [vec![None; n], if both { vec![None; n] } else { Vec::new() }],
            constants: Vec::new(),
            bad: [None; 2],
            unchecked: [None; 2],
            late: Vec::new(),
            pos: 0,
            critical: Vec::new(),
            fallible: false,
        }
    }

    fn half(&self) -> usize {
        self.now.unwrap_or(0) as usize
    }

    // ---- instructions ----

    pub fn reg(&mut self) -> VReg {
        self.code.reg(0)
    }

    pub fn one(&mut self, x: X, a: VReg) -> VReg {
        self.one_of(x, 1, a, None)
    }

    pub fn one_of(&mut self, x: X, l: u8, a: VReg, imm: Option<u8>) -> VReg {
        let d = self.reg();
        self.code
            .push(M::One(x, l, imm), &[(a, Role::Any), (d, Role::Def)]);
        d
    }

    pub fn two(&mut self, x: X, a: VReg, b: VReg) -> VReg {
        self.two_of(x, 1, a, b, None)
    }

    pub fn two_imm(&mut self, x: X, a: VReg, b: VReg, imm: u8) -> VReg {
        self.two_of(x, 1, a, b, Some(imm))
    }

    pub fn two_of(&mut self, x: X, l: u8, a: VReg, b: VReg, imm: Option<u8>) -> VReg {
        let d = self.reg();
        let operands = [(a, Role::Use), (b, Role::Any), (d, Role::Def)];
        self.code.push(M::Two(x, l, imm), &operands);
        d
    }

    /// `c` is what the result replaces.
    pub fn three(&mut self, x: X, c: VReg, a: VReg, b: VReg) -> VReg {
        let d = self.reg();
        let operands = [
            (c, Role::Use),
            (d, Role::Tied),
            (a, Role::Use),
            (b, Role::Any),
        ];
        self.code.push(M::Three(x, 1), &operands);
        d
    }

    /// `b` where the mask is true, elsewhere `a`.
    pub fn blend(&mut self, a: VReg, b: VReg, mask: VReg) -> VReg {
        self.blend_of(1, a, b, mask)
    }

    pub fn blend_of(&mut self, l: u8, a: VReg, b: VReg, mask: VReg) -> VReg {
        let d = self.reg();
        let operands = [
            (a, Role::Use),
            (b, Role::Any),
            (mask, Role::Use),
            (d, Role::Def),
        ];
        self.code.push(M::Blend(l), &operands);
        d
    }

    fn shift_of(&mut self, op: u8, ext: u8, a: VReg, by: u8, l: u8) -> VReg {
        let d = self.reg();
        self.code.push(
            M::Shift { op, ext, by, l },
            &[(a, Role::Use), (d, Role::Def)],
        );
        d
    }

    /// Shifts dwords: left, right, right with the sign.
    pub fn shl(&mut self, a: VReg, by: u8) -> VReg {
        self.shift_of(0x72, 6, a, by, 1)
    }

    pub fn shr(&mut self, a: VReg, by: u8) -> VReg {
        self.shift_of(0x72, 2, a, by, 1)
    }

    pub fn sar(&mut self, a: VReg, by: u8) -> VReg {
        self.shift_of(0x72, 4, a, by, 1)
    }

    /// Shifts qwords.
    pub fn shlq(&mut self, a: VReg, by: u8) -> VReg {
        self.shift_of(0x73, 6, a, by, 1)
    }

    pub fn shrq(&mut self, a: VReg, by: u8) -> VReg {
        self.shift_of(0x73, 2, a, by, 1)
    }

    /// The upper 128 bits.
    pub fn upper(&mut self, a: VReg) -> VReg {
        let d = self.reg();
        self.code
            .push(M::Reverse(EXTRACT, 1, 1), &[(a, Role::Use), (d, Role::Def)]);
        d
    }

    /// 128 bits and 128 bits.
    pub fn join(&mut self, low: VReg, high: VReg) -> VReg {
        self.two_imm(INSERT, low, high, 1)
    }

    /// Lanes 0, 1, 4, 5, 2, 3, 6, 7 in the order of lanes, and back.
    pub fn in_order(&mut self, a: VReg) -> VReg {
        self.one_of(PERMQ, 1, a, Some(0xd8))
    }

    // ---- constants ----

    fn constant(&mut self, which: Constant, make: impl FnOnce(&mut Self) -> (M, Again)) -> VReg {
        if let Some(&(_, r)) = self.constants.iter().find(|k| k.0 == which) {
            return r;
        }
        let (op, again) = make(self);
        let r = self.code.push_again(op, again, 0);
        self.constants.push((which, r));
        r
    }

    pub fn zero(&mut self) -> VReg {
        self.constant(Constant::Zero, |_| (M::Zero, Again::Value))
    }

    pub fn ones(&mut self) -> VReg {
        self.constant(Constant::Ones, |_| (M::Ones, Again::Value))
    }

    pub fn words(&mut self, words: [u32; 8]) -> VReg {
        match words {
            [0, 0, 0, 0, 0, 0, 0, 0] => return self.zero(),
            w if w == [u32::MAX; 8] => return self.ones(),
            _ => {}
        }
        self.constant(Constant::Line(words), |s| {
            (M::Line(s.line(words)), Again::Memory)
        })
    }

    fn line(&mut self, words: [u32; 8]) -> u32 {
        match self.e.a.line(words) {
            H::L(line) => line,
            _ => 0,
        }
    }

    /// A dword in all lanes.
    pub fn d32(&mut self, value: u32) -> VReg {
        self.words([value; 8])
    }

    /// A qword.
    pub fn q64(&mut self, value: u64) -> VReg {
        let (lo, hi) = (value as u32, (value >> 32) as u32);
        self.words([lo, hi, lo, hi, lo, hi, lo, hi])
    }

    pub fn every(&mut self, value: u64, wide: bool) -> VReg {
        match wide {
            true => self.q64(value),
            false => self.d32(value as u32),
        }
    }

    /// A constant of each of the slice's lanes.
    pub fn by_lane(&mut self, of: impl Fn(u32) -> u32) -> VReg {
        let lines = [0, 8].map(|first| std::array::from_fn(|i| of(first + i as u32)));
        if let Some(half) = self.now {
            return self.words(lines[half as usize]);
        }
        self.constant(Constant::Lines(lines), |s| {
            (M::HalfLine(lines.map(|l| s.line(l))), Again::Memory)
        })
    }

    /// What is in memory, for the current half.
    pub fn at(&self, at: At) -> At {
        match self.now {
            Some(half) => At {
                mem: Mem {
                    disp: at.mem.disp + at.half * half as i32,
                    ..at.mem
                },
                half: 0,
                ..at
            },
            None => at,
        }
    }

    /// The active lanes.
    pub fn active(&mut self) -> VReg {
        if self.e.full.is_some() {
            return self.ones();
        }
        let at = self.at(EXEC_BITS);
        self.constant(Constant::Active(self.half() as u8), |_| {
            (M::Bits(at), Again::Value)
        })
    }

    pub fn not(&mut self, a: VReg) -> VReg {
        let ones = self.ones();
        self.two(XOR, a, ones)
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

    /// A value of 32 bits; a truth value of lanes. That of a scalar is 1 or 0 here.
    pub fn val(&mut self, id: Id) -> VReg {
        if let Some([r, _]) = self.have(id) {
            return r;
        }
        let n = *self.e.node(id);
        let boolean = n.out == Ty::Bool;
        let r = match n.op {
            Inst::Const(v) => self.d32(v as u32),
            Inst::Exec => self.active(),
            Inst::VIn(v) => {
                let at = self.at(At::dwords(vgpr_line(v, 0)));
                self.code.push_again(M::Load(at), Again::Memory, 0)
            }
            Inst::Lane => {
                let at = self.at(At::dwords(ctx!(lanes)));
                self.code.push_again(M::Load(at), Again::Memory, 0)
            }
            Inst::Affine { base, .. } if boolean => self.affine(base, 0),
            Inst::Affine { base, step } => self.affine(base, step),
            Inst::Part(k) if n.vec => {
                let Some(r) = self.part(n.args[0], k) else {
                    self.e.mistaken();
                    return self.zero();
                };
                r
            }
            _ if !n.vec => {
                let at = At::same(self.e.smem(id));
                self.code.push_again(M::Broadcast(at, 4), Again::Value, 0)
            }
            _ => {
                // It must have been computed.
                self.e.mistaken();
                self.zero()
            }
        };
        self.define(id, r);
        r
    }

    /// A truth value.
    pub fn mask(&mut self, id: Id) -> VReg {
        let n = *self.e.node(id);
        if n.vec {
            return self.val(id);
        }
        if let Some(v) = self.e.konst(id) {
            return match v & 1 {
                0 => self.zero(),
                _ => self.ones(),
            };
        }
        let (zero, bit) = (self.zero(), self.val(id));
        self.two(SUBD, zero, bit)
    }

    /// A value of 64 bits.
    pub fn wide(&mut self, id: Id) -> [VReg; 2] {
        let n = *self.e.node(id);
        if n.vec && n.out.bits() > 32 {
            let Some(r) = self.have(id) else {
                self.e.mistaken();
                return [self.zero(); 2];
            };
            return r;
        }
        let r = match n.op {
            Inst::Const(v) => self.q64(v),
            _ => {
                let at = At::same(self.e.smem_wide(id));
                self.code.push_again(M::Broadcast(at, 8), Again::Value, 0)
            }
        };
        [r, r]
    }

    /// Whether a value is not used after the current operation.
    pub fn dies(&self, id: Id) -> bool {
        let uses = &self.e.plan.uses[id as usize];
        let at = uses.partition_point(|&p| p <= self.pos);
        uses.get(at).is_none() && self.e.node(id).vec
    }

    /// Truth values of qwords, of dwords.
    pub fn pack(&mut self, m: [VReg; 2]) -> VReg {
        self.two_imm(SHUFPS, m[0], m[1], 0x88)
    }

    pub fn unpack(&mut self, m: VReg) -> [VReg; 2] {
        [self.two(UNPCKL, m, m), self.two(UNPCKH, m, m)]
    }

    // ---- the slice ----

    /// The whole code.
    pub fn slice(&mut self) {
        let c = self.e.c;
        let halves = 1 + self.now.is_some() as u8;
        self.plan_writes();
        for pos in 0..self.e.plan.ops.len() {
            self.pos = pos as u32;
            let op = self.e.plan.ops[pos];
            // The halves of a shuffle need each other's operands.
            for half in 0..halves {
                self.enter(half);
                match op.commit {
                    None => self.operation(&op),
                    Some(i) => self.write(i),
                }
            }
        }
        self.pos = self.e.plan.ops.len() as u32;
        let whole = self.e.whole();
        for half in 0..halves {
            self.enter(half);
            for i in 0..self.e.v.ballots.len() {
                let of = self.e.node(self.e.v.ballots[i]).args[0];
                let r = self.mask(of);
                self.ballot(i, r);
            }
            for &g in &c.guards {
                if c.graph[g as usize].vec {
                    let r = self.mask(g);
                    self.must_not(r);
                }
            }
            self.check();
        }
        // Nothing is stored before all is checked.
        for half in 0..halves {
            self.enter(half);
            for row in 0..c.effects.rows.len() {
                let (address, offset, value) = c.effects.rows[row];
                self.store_row(address, offset, value);
            }
            match (&whole, &c.effects.store, c.affine.store) {
                (Some(w), ..) => self.stage(w),
                (None, Some(store), Some((address, offset))) => {
                    self.affine_store(store, address, offset);
                }
                (None, Some(store), None) => self.store(store),
                (None, None, _) => {}
            }
            self.keep_stores();
        }
        for late in std::mem::take(&mut self.late).chunks(TOGETHER) {
            let operands: Vec<_> = late.iter().map(|w| (w.1, Role::Use)).collect();
            let all = late.iter().map(|w| w.0).collect();
            self.code.push(M::StoreAll(all), &operands);
        }
    }

    fn enter(&mut self, half: u8) {
        if self.now.is_some() {
            self.now = Some(half);
        }
    }

    /// The bits of the upper half come above those of the lower where both are selected.
    fn ballot(&mut self, n: usize, r: VReg) {
        self.code
            .push(M::Ballot(n, self.half() as u8), &[(r, Role::Use)]);
    }

    fn stage(&mut self, w: &crate::ir::region::WaveHelperCall) {
        for (n, &id) in w.inputs.iter().enumerate() {
            if self.e.staged(w, n) {
                let r = self.val(id);
                let at = self.at(At::dwords(ctx!(stage, 256 * n)));
                self.code.push(M::Store(at), &[(r, Role::Use)]);
            }
        }
    }

    // ---- writes of VGPRs ----

    fn plan_writes(&mut self) {
        let e = &*self.e;
        let c = e.c;
        let n = c.effects.vgprs.len();
        let mut critical = vec![e.common.precise; n];
        for (i, w) in c.effects.vgprs.iter().enumerate() {
            let v = w.0;
            let read = |(at, n): (usize, &Node)| match n.op {
                Inst::VIn(n) => n == v && !e.plan.uses[at].is_empty(),
                Inst::LaneIn(n) | Inst::LanesIn(n) => n == v,
                Inst::VgprAt => true,
                _ => false,
            };
            let base = c.affine.ops.iter().any(|q| q.op == BaseKind::Vgpr(v));
            critical[i] |= base || c.graph.iter().enumerate().any(read);
        }
        let lane_guards = c.guards.iter().any(|&g| c.graph[g as usize].vec);
        let loads = |n: &Node| matches!(n.op, Inst::Group { .. } | Inst::Row(_));
        self.fallible = e.plan.checks
            || lane_guards
            || !c.effects.rows.is_empty()
            || c.graph.iter().any(loads)
            || c.effects.store.is_some() && c.affine.store.is_none()
            || c.effects.wave_helper.is_some();
        // Other slices and later code read VGPRs as they were.
        let others = |n: &Node| matches!(n.op, Inst::LaneIn(_) | Inst::LanesIn(_) | Inst::VgprAt);
        self.fallible |= c.graph.iter().any(others) || critical.len() > TOGETHER;
        self.critical = critical;
    }

    /// Writes a VGPR, now or when nothing can fail.
    fn write(&mut self, i: usize) {
        let (v, id, live) = self.e.c.effects.vgprs[i];
        let home = self.at(At::dwords(vgpr_line(v, 0)));
        let mut r = self.val(id);
        if live == LiveLanes::All && self.e.full.is_none() {
            let old = self.code.push_again(M::Load(home), Again::Memory, 0);
            let active = self.active();
            r = self.blend(old, r, active);
        }
        let to = match (self.critical[i], self.fallible) {
            (true, false) => {
                self.late.push((home, r));
                return;
            }
            (true, true) => {
                let found = self.e.v.deferred.iter().find(|d| d.0 == v).copied();
                let (_, line) = found.unwrap_or_else(|| {
                    let line = self.e.lines();
                    self.e.v.deferred.push((v, line));
                    (v, line)
                });
                self.at(At::dwords(line_mem(line)))
            }
            _ => home,
        };
        self.code.push(M::Store(to), &[(r, Role::Use)]);
    }

    // ---- checks ----

    /// The block restarts where an active lane has this.
    pub fn must_not(&mut self, r: VReg) {
        let half = self.half();
        self.bad[half] = Some(match self.bad[half] {
            Some(bad) => self.two(OR, bad, r),
            None => r,
        });
    }

    fn check(&mut self) {
        let half = self.half();
        if let Some(r) = self.unchecked[half].take() {
            self.no_nans(r, r);
        }
        if let Some(bad) = self.bad[half].take() {
            let at = self.at(EXEC_BITS);
            self.code.push(M::Check(at), &[(bad, Role::Use)]);
        }
    }

    /// Notes NaNs of two values of 32 bits.
    fn no_nans(&mut self, a: VReg, b: VReg) {
        let r = self.two_imm(X(1, 0, 0, 0xc2), a, b, 3);
        self.must_not(r);
    }

    /// Flushes a result and notes NaNs.
    fn look(&mut self, op: &VectorOp, wide: bool) {
        let Some(mut r) = self.have(op.id) else {
            return;
        };
        let parts = 1 + wide as usize;
        if op.flush {
            let (exponent, sign) = match wide {
                true => (0x7ff << 52, 1 << 63),
                false => (0x7f80_0000, 0x8000_0000),
            };
            for r in &mut r[..parts] {
                let e = self.every(exponent, wide);
                let (zero, magnitude) = (self.zero(), self.every(!sign, wide));
                let t = self.two(AND, *r, e);
                let tiny = self.two(if wide { EQQ } else { EQD }, t, zero);
                let t = self.two(AND, tiny, magnitude);
                *r = self.two(ANDN, t, *r);
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
            let x = X(1, 1, 0, 0xc2);
            let m = [0, 1].map(|k| self.two_imm(x, r[k], r[k], 3));
            let m = self.pack(m);
            self.must_not(m);
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
        let [x, y, _] = op.args;
        let id = op.id;
        match n.op {
            Inst::MaskOf => {
                let m = self.e.smem(x);
                let at = self.at(At::bits(m));
                let r = self.code.push_again(M::Bits(at), Again::Value, 0);
                self.define(id, r);
            }
            Inst::Pair => {
                let r = match self.loaded_pair(x, y) {
                    Some(r) => r,
                    None => {
                        let (a, b) = (self.val(x), self.val(y));
                        [self.two(UNPCKL, a, b), self.two(UNPCKH, a, b)]
                    }
                };
                self.define_wide(id, r);
            }
            Inst::Lo | Inst::Hi => {
                let [a, b] = self.wide(x);
                let by = if n.op == Inst::Lo { 0x88 } else { 0xdd };
                let r = self.two_imm(SHUFPS, a, b, by);
                self.define(id, r);
            }
            Inst::LanesIn(v) => {
                let (mask, index) = (self.active(), self.val(x));
                let (m, d) = (self.reg(), self.reg());
                let operands = [
                    (mask, Role::Use),
                    (m, Role::Tied),
                    (index, Role::Use),
                    (d, Role::Early),
                ];
                self.code.push(M::Gather(vgpr_line(v, 0)), &operands);
                self.define(id, d);
            }
            Inst::VgprAt => {
                let d = self.reg();
                let at = self.at(At::dwords(mem(RAX, -VGPR_BIAS * 256)));
                self.code.push(M::VgprAt(x, at), &[(d, Role::Def)]);
                self.define(id, d);
            }
            Inst::Shuffle(digits) => self.shuffle(id, digits, x),
            Inst::Shld(by) | Inst::Shrd(by) => {
                let left = matches!(n.op, Inst::Shld(_));
                let (a, b) = (self.val(x), self.val(y));
                let r = self.double_shift(left, a, b, by, 1);
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
            Inst::Alu(o) => self.alu(op, o, &n),
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

    /// The bits of two values, moved by a constant.
    pub fn double_shift(&mut self, left: bool, a: VReg, b: VReg, by: u8, l: u8) -> VReg {
        let by = by % 32;
        let (one, other) = if left { (6, 2) } else { (2, 6) };
        let t = self.shift_of(0x72, other, b, 32 - by, l);
        let d = self.shift_of(0x72, one, a, by, l);
        self.two(OR, d, t)
    }

    fn shuffle(&mut self, id: Id, digits: u64, x: Id) {
        let half = self.half() as u64;
        let digit = |lane: u64| digits >> (4 * lane) & 15;
        let Some(_) = self.now else {
            // Each half has its own: digits differ, lanes do not cross.
            let index = self.by_lane(|lane| (digit(lane as u64) & 7) as u32);
            let a = self.val(x);
            let r = self.two(PERMD, index, a);
            self.define(id, r);
            return;
        };
        let here = self.now;
        let from = [0, 1].map(|h| {
            self.now = Some(h);
            self.val(x)
        });
        self.now = here;
        let lanes = 8 * half..8 * half + 8;
        let index = std::array::from_fn(|i| (digit(8 * half + i as u64) & 7) as u32);
        let upper: [u32; 8] = std::array::from_fn(|i| {
            if digit(8 * half + i as u64) > 7 {
                u32::MAX
            } else {
                0
            }
        });
        let index = self.words(index);
        let needs = |h: u64| lanes.clone().any(|lane| digit(lane) / 8 == h);
        let r = match (needs(0), needs(1)) {
            (true, true) => {
                let a = self.two(PERMD, index, from[0]);
                let b = self.two(PERMD, index, from[1]);
                let upper = self.words(upper);
                self.blend(a, b, upper)
            }
            (true, false) => self.two(PERMD, index, from[0]),
            _ => self.two(PERMD, index, from[1]),
        };
        self.define(id, r);
    }

    fn alu(&mut self, op: &VectorOp, o: Op, n: &Node) {
        if n.out == Ty::Bool {
            let r = self.truth(o, n, op.args);
            self.define(op.id, r);
        } else if n.ty.bits() > 32 || n.out.bits() > 32 {
            self.wide_alu(op, o, n);
        } else if matches!(o, Op::IntToFloat | Op::FloatToInt | Op::FloatToFloat) {
            let r = self.convert(o, n, op.args[0]);
            self.define(op.id, r);
        } else if n.ty == Ty::F32 && o != Op::Select || o == Op::Fma {
            let r = self.float(op, o, n);
            self.define(op.id, r);
        } else {
            let r = self.integer(op, o, n);
            self.define(op.id, r);
        }
    }

    /// The operands in the order in which the second is rather the one that is in memory.
    fn ordered(&mut self, x: Id, y: Id) -> (VReg, VReg) {
        let again = |e: &Emit<'_, Avx2>, id: Id| {
            matches!(e.node(id).op, Inst::Const(_) | Inst::VIn(_) | Inst::Lane)
        };
        let (a, b) = (self.val(x), self.val(y));
        match again(self.e, x) && !again(self.e, y) {
            true => (b, a),
            false => (a, b),
        }
    }

    pub fn commutes(&mut self, x: X, a: Id, b: Id) -> VReg {
        let (a, b) = self.ordered(a, b);
        self.two(x, a, b)
    }

    fn integer(&mut self, op: &VectorOp, o: Op, n: &Node) -> VReg {
        let [x, y, w] = op.args;
        let signed = n.ty.is_signed();
        match o {
            Op::Zext => {
                let m = self.mask(x);
                self.shr(m, 31)
            }
            Op::Not => {
                let mask = gcn_isa::meaning::width_mask(n.out) as u32;
                let (a, mask) = (self.val(x), self.d32(mask));
                self.two(XOR, a, mask)
            }
            Op::And => self.commutes(AND, x, y),
            Op::Or => self.commutes(OR, x, y),
            Op::Xor => self.commutes(XOR, x, y),
            Op::Add | Op::Sub => {
                // A truth value as a number is 1 where its mask is -1.
                let b = *self.e.node(y);
                let bit = b.op == Inst::Alu(Op::Zext) && b.ty == Ty::Bool && n.out.bits() == 32;
                let mask = match bit {
                    true => self.known(b.args[0]),
                    false => None,
                };
                let r = match (mask, o) {
                    (Some(mask), _) => {
                        let a = self.val(x);
                        self.two(if o == Op::Add { SUBD } else { ADDD }, a, mask)
                    }
                    (None, Op::Add) => self.commutes(ADDD, x, y),
                    _ => {
                        let (a, b) = (self.val(x), self.val(y));
                        self.two(SUBD, a, b)
                    }
                };
                self.narrowed(r, n.out)
            }
            Op::Mul => {
                let r = self.commutes(X(2, 1, 0, 0x40), x, y);
                self.narrowed(r, n.out)
            }
            Op::Neg => {
                let (zero, a) = (self.zero(), self.val(x));
                self.two(SUBD, zero, a)
            }
            Op::Abs if signed => {
                let a = self.val(x);
                self.one(X(2, 1, 0, 0x1e), a)
            }
            Op::Abs => self.val(x),
            Op::Popcount => {
                let a = self.val(x);
                self.population(a)
            }
            Op::Clz => {
                let a = self.val(x);
                self.leading_zeros(a)
            }
            Op::Ctz => {
                // The bits below the lowest 1, counted.
                let (a, ones) = (self.val(x), self.ones());
                let t = self.two(ADDD, a, ones);
                let t = self.two(ANDN, a, t);
                self.population(t)
            }
            Op::Shl | Op::Shr => {
                let r = self.shift(o, n, x, y);
                match o {
                    Op::Shl => self.narrowed(r, n.out),
                    _ => r,
                }
            }
            Op::MulHi => self.high_product(signed, x, y),
            Op::Min | Op::Max => {
                let e = match (o == Op::Min, signed) {
                    (true, true) => MINSD,
                    (true, false) => MINUD,
                    (false, true) => MAXSD,
                    (false, false) => MAXUD,
                };
                self.commutes(e, x, y)
            }
            Op::Select => {
                let (m, a, b) = (self.mask(x), self.val(w), self.val(y));
                self.blend(a, b, m)
            }
            _ => {
                self.e.mistaken();
                self.zero()
            }
        }
    }

    /// A value that has a register, or can have one at any time.
    fn known(&mut self, id: Id) -> Option<VReg> {
        let n = *self.e.node(id);
        let any = matches!(n.op, Inst::Exec | Inst::Const(_) | Inst::Affine { .. });
        match any || !n.vec || self.have(id).is_some() {
            true => Some(self.mask(id)),
            false => None,
        }
    }

    fn narrowed(&mut self, r: VReg, out: Ty) -> VReg {
        if out.bits() >= 32 {
            return r;
        }
        let mask = self.d32(gcn_isa::meaning::width_mask(out) as u32);
        self.two(AND, r, mask)
    }

    /// A shift of 32 bits or less.
    fn shift(&mut self, o: Op, n: &Node, x: Id, y: Id) -> VReg {
        let signed = n.ty.is_signed();
        let a = self.val(x);
        if let Some(by) = self.e.konst(y) {
            return match o {
                Op::Shl => self.shl(a, by.min(32) as u8),
                _ if signed => self.sar(a, by.min(31) as u8),
                _ => self.shr(a, by.min(32) as u8),
            };
        }
        let b = self.val(y);
        let op = match o {
            Op::Shl => 0x47,
            _ if signed => 0x46,
            _ => 0x45,
        };
        self.two(X(2, 1, 0, op), a, b)
    }

    fn high_product(&mut self, signed: bool, x: Id, y: Id) -> VReg {
        let e = if signed { X(2, 1, 0, 0x28) } else { MULUDQ };
        let (a, b) = (self.val(x), self.val(y));
        // Of even lanes; then of odd ones, moved down.
        let even = self.two(e, a, b);
        let (a, b) = (self.shrq(a, 32), self.shrq(b, 32));
        let odd = self.two(e, a, b);
        let even = self.shrq(even, 32);
        self.two_imm(X(3, 1, 0, 0x02), even, odd, 0xaa)
    }

    /// The exponent of the number as a float tells.
    fn leading_zeros(&mut self, a: VReg) -> VReg {
        // Bits below the first eight must not round it up.
        let t = self.shr(a, 8);
        let t = self.two(ANDN, t, a);
        let t = self.one(CVTDQ2PS, t);
        let t = self.shr(t, 23);
        let bias = self.d32(158);
        // Saturating: negative numbers, whose sign is among the bits, become 0.
        let t = self.two(X(1, 1, 0, 0xd9), bias, t);
        let most = self.d32(32);
        self.two(MINSD, t, most)
    }

    fn population(&mut self, a: VReg) -> VReg {
        const COUNTS: [u32; 4] = [0x0201_0100, 0x0302_0201, 0x0302_0201, 0x0403_0302];
        let table = self.words(std::array::from_fn(|i| COUNTS[i % 4]));
        let nibble = self.d32(0x0f0f_0f0f);
        let high = self.shr(a, 4);
        let high = self.two(AND, high, nibble);
        let low = self.two(AND, a, nibble);
        let high = self.two(SHUFB, table, high);
        let low = self.two(SHUFB, table, low);
        let sum = self.two(X(1, 1, 0, 0xfc), low, high);
        // Bytes to words to dwords.
        let ones = self.d32(0x0101_0101);
        let sum = self.two(X(2, 1, 0, 0x04), sum, ones);
        let words = self.d32(0x0001_0001);
        self.two(X(1, 1, 0, 0xf5), sum, words)
    }

    /// An operation whose result is a truth value.
    fn truth(&mut self, o: Op, n: &Node, [x, y, _]: [Id; 3]) -> VReg {
        if n.ty == Ty::Bool {
            let a = self.mask(x);
            if o == Op::Not {
                return self.not(a);
            }
            let b = self.mask(y);
            let e = match o {
                Op::And => AND,
                Op::Or => OR,
                Op::Xor | Op::Ne | Op::Eq => XOR,
                _ => {
                    self.e.mistaken();
                    AND
                }
            };
            let r = self.two(e, a, b);
            return match o {
                Op::Eq => self.not(r),
                _ => r,
            };
        }
        if o == Op::Class {
            return self.class(n, x, y);
        }
        if n.ty.is_float() {
            // Ordered and quiet.
            let predicate = match o {
                Op::Eq => 0,
                Op::Lt => 0x11,
                Op::Le => 0x12,
                Op::Gt => 0x1e,
                Op::Ge => 0x1d,
                Op::Ne => 0x0c,
                Op::Unord => 3,
                _ => {
                    self.e.mistaken();
                    0
                }
            };
            if n.ty == Ty::F64 {
                let (a, b) = (self.wide(x), self.wide(y));
                let m = [0, 1].map(|k| self.two_imm(X(1, 1, 0, 0xc2), a[k], b[k], predicate));
                return self.pack(m);
            }
            let (a, b) = (self.val(x), self.val(y));
            return self.two_imm(X(1, 0, 0, 0xc2), a, b, predicate);
        }
        let (a, b) = (self.val(x), self.val(y));
        self.compare(o, n.ty.is_signed(), a, b)
    }

    /// A comparison of integers of 32 bits.
    pub fn compare(&mut self, o: Op, signed: bool, a: VReg, b: VReg) -> VReg {
        let (r, invert) = match (o, signed) {
            (Op::Eq | Op::Ne, _) => (self.two(EQD, a, b), o == Op::Ne),
            (Op::Gt | Op::Le, true) => (self.two(GTD, a, b), o == Op::Le),
            (Op::Lt | Op::Ge, true) => (self.two(GTD, b, a), o == Op::Ge),
            (Op::Le | Op::Gt, false) => {
                let t = self.two(MINUD, a, b);
                (self.two(EQD, a, t), o == Op::Gt)
            }
            (Op::Ge | Op::Lt, false) => {
                let t = self.two(MAXUD, a, b);
                (self.two(EQD, a, t), o == Op::Lt)
            }
            _ => {
                self.e.mistaken();
                (a, false)
            }
        };
        match invert {
            true => self.not(r),
            false => r,
        }
    }
}
