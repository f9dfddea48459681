//! Affine values: the bases of the four slices in registers of 128 bits, their guards and addresses; and values made of them.

use super::*;
use crate::context::{AFFINE_ADDRESSES, AFFINE_BASES};
use crate::ir::affine::{Address, Base, BaseOp, Guard, SliceLayout};
use crate::lir::{Again, Role, VReg};
use crate::target::x64::affine::decided;
use crate::target::x64::range::Range;

/// An affine address. Operands: of LDS the lower halves of the slices' first addresses, in memory these addresses of 64 bits; two
/// temporary registers.
#[derive(Debug)]
pub(super) struct BaseAddress {
    number: u16,
    address: Address,
    /// `None`: it is in LDS.
    range: Option<Range>,
}

/// The selection of bases.
struct Bases<'s, 't, 'a> {
    s: &'s mut Select<'t, 'a>,
    values: Vec<Option<VReg>>,
    /// The slices in which all guards hold so far.
    held: Option<VReg>,
    within: Vec<(Base, i32)>,
}

/// The bases that are computed: those that are stored or checked, and what they need.
fn needed(ops: &[BaseOp], guards: &[Guard], addresses: &[Address]) -> Vec<bool> {
    let mut needed: Vec<bool> = ops.iter().map(|q| q.stored).collect();
    for g in guards {
        let of = match *g {
            Guard::Top { of, .. } | Guard::NoWrap { of, .. } => [of, of],
            Guard::Less { of, .. } | Guard::AssumedCompare { of, .. } => of,
            Guard::Bits { of, mask, .. } => [of, mask],
        };
        of.iter().for_each(|&q| needed[q as usize] = true);
    }
    for a in addresses {
        needed[a.lo as usize] = true;
        if a.limit.is_none() {
            needed[a.hi as usize] = true;
        }
    }
    for (at, q) in ops.iter().enumerate().rev() {
        if needed[at] {
            q.inputs().iter().for_each(|&i| needed[i as usize] = true);
        }
    }
    needed
}

impl Emit<'_, Avx2> {
    /// Computes all bases, and checks the guards and the addresses.
    pub(super) fn affine_bases(&mut self) {
        let c = self.c;
        let bases = &c.affine;
        if bases.ops.len() > AFFINE_BASES || bases.addresses.len() > AFFINE_ADDRESSES {
            self.too_large = true;
            return;
        }
        if bases.ops.is_empty() {
            return;
        }
        let mut s = Select::new(self, false);
        let mut b = Bases {
            s: &mut s,
            values: vec![None; bases.ops.len()],
            held: None,
            within: Vec::new(),
        };
        b.all();
        let code = s.code;
        let Some(out) = crate::lir::regalloc::allocate(&code, [REGISTERS, 0]) else {
            self.mistaken();
            return;
        };
        if 64 * self.v.next_slot as usize + 32 * out.slots as usize > 64 * (VECTORS - 1) {
            self.too_large = true;
        }
        self.steps(&code, &out);
    }

    pub(super) fn leave_label(&mut self) -> Label {
        match self.v.leave {
            Some(l) => l,
            None => {
                let l = self.a.label();
                self.v.leave = Some(l);
                l
            }
        }
    }

    /// The code that leaves the block for code without affine values.
    pub(super) fn leave_affine(&mut self) {
        let c = self.c;
        if let Some(leave) = self.v.leave {
            self.a.bind(leave);
            self.a.alu_imm(alu::ADD, true, Rm::R(FUEL), c.insns as i32);
            if c.fp.is_some_and(|f| f != self.common.default) {
                self.a.ldmxcsr(mxcsr_of(self.common.default));
            }
            self.leave(EXIT_NOT_AFFINE);
        }
    }

    /// Goes on if a condition holds in all slices, whose truth values are the operand, or in all with active lanes.
    pub(super) fn guards_code(&mut self, p: Places<'_>) {
        let (held, t, u) = (p.r(0), p.r(1), p.r(2));
        self.a.x(MOVMSKPS, RAX, 0, H::R(held));
        self.a.alu_imm(alu::CMP, false, Rm::R(RAX), 15);
        let leave = self.leave_label();
        if self.full.is_some() {
            self.a.jcc(Cc::Ne, leave);
            return;
        }
        let (from, back) = (self.a.label(), self.a.label());
        self.a.jcc(Cc::Ne, from);
        self.a.bind(back);
        self.section(move |e| {
            e.a.bind(from);
            e.or_inactive(t, u);
            e.a.jcc(Cc::Ne, leave);
            e.a.jmp(back);
        });
    }

    /// Adds to RAX the bits of slices without active lanes, and compares it with all. RDX is clobbered.
    fn or_inactive(&mut self, t: u8, u: u8) {
        let exec = H::M(sgpr_home(EXEC as u8));
        self.a.x(X(2, 1, 0, 0x33), t, 0, exec);
        self.a.x(XOR, u, u, H::R(u));
        self.a.x(EQD, t, t, H::R(u));
        self.a.x(MOVMSKPS, RDX, 0, H::R(t));
        self.a.alu(alu::OR, false, RAX, Rm::R(RDX));
        self.a.alu_imm(alu::CMP, false, Rm::R(RAX), 15);
    }

    pub(super) fn base_code(&mut self, base: &Rc<BaseAddress>, p: Places<'_>) {
        let (r, t, u) = (p.r(0), p.r(1), p.r(2));
        let (i, a) = (base.number, base.address);
        let slot = self.address_slot(i);
        let leave = self.leave_label();
        let (from, back) = (self.a.label(), self.a.label());
        let Some(range) = base.range else {
            let limit = a.limit.unwrap_or(0);
            self.last_in_lds(limit, a.to, leave);
            self.broadcast_gpr(t, RAX);
            self.a.y(ZXDQ, u, 0, H::R(r));
            let lds = ctx!(lds);
            self.a.x(MINUD, t, t, H::R(r));
            self.a.x(EQD, t, t, H::R(r));
            self.a.x(MOVMSKPS, RDX, 0, H::R(t));
            self.a.y(BROADCASTQ, t, 0, H::M(lds));
            self.a.y(ADDQ, u, u, H::R(t));
            self.a.y(STORE, u, 0, H::M(slot));
            self.a.alu_imm(alu::CMP, false, Rm::R(RDX), 15);
            self.a.jcc(Cc::Ne, from);
            self.a.bind(back);
            self.section(move |e| {
                e.a.bind(from);
                if !a.whole {
                    e.lanes_of_lds(a, slot, r, leave);
                } else if e.full.is_some() {
                    e.a.jmp(leave);
                } else {
                    e.a.mov(false, RAX, Rm::R(RDX));
                    e.or_inactive(t, u);
                    e.a.jcc(Cc::Ne, leave);
                }
                e.a.jmp(back);
            });
            return;
        };
        if self.common.aliased {
            self.a.y(STORE, r, 0, H::M(ctx!(guest_bases)));
            let bits = self.a.every(!ALIAS, true);
            self.a.y(AND, u, r, bits);
        }
        self.a.y(BROADCASTQ, t, 0, H::M(ctx!(bias)));
        self.a
            .y(ADDQ, u, if self.common.aliased { u } else { r }, H::R(t));
        self.a.y(STORE, u, 0, H::M(slot));
        // Without a sign: the upper bits of both are turned.
        let sign = self.a.every(1 << 63, true);
        self.a.y(BROADCASTQ, t, 0, H::M(range.start()));
        self.a.y(SUBQ, u, r, H::R(t));
        self.a.y(XOR, u, u, sign);
        self.a.y(BROADCASTQ, t, 0, H::M(range.bytes()));
        self.a.y(XOR, t, t, sign);
        self.a.y(GTQ, t, t, H::R(u));
        self.check_tag(range, from);
        self.a.y(MOVMSKPD, RAX, 0, H::R(t));
        self.a.alu_imm(alu::CMP, false, Rm::R(RAX), 15);
        self.a.jcc(Cc::Ne, from);
        self.a.bind(back);
        self.section(move |e| {
            e.a.bind(from);
            let asked = a.from as u32 as u64 | (a.to as u32 as u64) << 32;
            e.a.imm(RAX, asked);
            e.a.store(true, ctx!(asked), RAX);
            let step = if a.whole { 0 } else { a.step as u32 };
            let what = i as u64 | (a.need as u64) << 8 | (step as u64) << 32;
            e.ask_range(what, range);
            let call = e.common.range_call;
            e.a.call_label(call);
            e.a.test(false, RAX, RAX);
            e.a.jcc(Cc::Ne, leave);
            e.tag(range);
            e.a.jmp(back);
        });
    }

    /// Looks at an address of LDS, of the active lanes alone: what these access must be within the limit. RAX is the last address for
    /// all 16 lanes. The address of a slice's first lane may lie before LDS. RCX, RDX and RSI are clobbered.
    fn lanes_of_lds(&mut self, a: Address, slot: Mem, lo: u8, leave: Label) {
        let step = a.step;
        self.a.alu_imm(alu::ADD, true, Rm::R(RAX), 15 * step);
        self.a.x(STORE, lo, 0, H::M(ctx!(data)));
        for slice in 0..4 {
            let next = self.a.label();
            let exec = Mem {
                disp: sgpr_home(EXEC as u8).disp + 2 * slice,
                ..sgpr_home(EXEC as u8)
            };
            let first = ctx!(data, 4 * slice as usize);
            self.a.g(false, &[0x0f, 0xb7], RDX, Rm::M(exec));
            self.a.test(false, RDX, RDX);
            self.a.jcc(Cc::E, next);
            // The first active lane's address, and the last one's.
            self.a.tzcnt(false, RCX, RDX);
            self.a.imul_imm(false, RCX, RCX, step);
            self.a.mov(false, RSI, Rm::R(RCX));
            self.a.alu(alu::ADD, false, RSI, Rm::M(first));
            // BSR
            self.a.g(false, &[0x0f, 0xbd], RDX, Rm::R(RDX));
            self.a.imul_imm(false, RDX, RDX, step);
            self.a.alu(alu::ADD, false, RDX, Rm::M(first));
            self.a.alu(alu::CMP, false, RSI, Rm::R(RDX));
            self.a.jcc(Cc::A, leave);
            self.a.alu(alu::CMP, false, RDX, Rm::R(RAX));
            self.a.jcc(Cc::A, leave);
            self.a.alu(alu::SUB, true, RSI, Rm::R(RCX));
            self.a.alu(alu::ADD, true, RSI, Rm::M(ctx!(lds)));
            let to = Mem {
                disp: slot.disp + 8 * slice,
                ..slot
            };
            self.a.store(true, to, RSI);
            self.a.bind(next);
        }
    }

    /// Where the current slice has a base.
    pub(super) fn base_at(&mut self, q: Base) -> At {
        match self.c.affine.ops[q as usize].op {
            BaseKind::Scalar(id) => At::same(self.smem(id)),
            _ => At {
                mem: self.base_slot(q),
                slice: 4,
                half: 0,
            },
        }
    }

    /// Writes affine values to VGPRs, in all lanes.
    pub(super) fn affine_writes(&mut self) {
        let c = self.c;
        let looped = std::mem::take(&mut self.looped);
        for &(v, base, step) in &c.affine.writes {
            let mut s = Select::new(self, false);
            let r = s.affine(base, step);
            let at = At::dwords(vgpr_line(v, 0));
            s.code.push(M::Store(at), &[(r, Role::Use)]);
            let code = s.code;
            let Some(out) = crate::lir::regalloc::allocate(&code, [REGISTERS, 0]) else {
                self.mistaken();
                return;
            };
            for slice in 0..4 {
                for half in 0..2 {
                    (self.slice, self.v.half) = (slice, half);
                    self.steps(&code, &out);
                }
            }
        }
        self.v.half = 0;
        self.looped = looped;
    }
}

impl Select<'_, '_> {
    /// An affine value of the current lanes.
    pub(super) fn affine(&mut self, base: Base, step: i32) -> VReg {
        let steps = [0, 8].map(|first: u32| {
            std::array::from_fn(|i| (first + i as u32).wrapping_mul(step as u32))
        });
        if let BaseKind::Const(v) = self.e.c.affine.ops[base as usize].op {
            return self.by_lane(|lane| v.wrapping_add(lane.wrapping_mul(step as u32)));
        }
        let from = self.e.base_at(base);
        let op = match step {
            0 => M::Broadcast(from, 4),
            _ => {
                let lines = match self.now {
                    Some(half) => [steps[half as usize]; 2],
                    None => steps,
                };
                let lines = lines.map(|l| match self.e.a.line(l) {
                    H::L(line) => line,
                    _ => 0,
                });
                M::Affine(from, lines)
            }
        };
        self.code.push_again(op, Again::Value, 0)
    }

    /// A comparison of dwords of 128 bits.
    fn short(&mut self, x: X, a: VReg, b: VReg) -> VReg {
        self.two_of(x, 0, a, b, None)
    }
}

impl Bases<'_, '_, '_> {
    fn all(&mut self) {
        let c = self.s.e.c;
        let bases = &c.affine;
        let needed = needed(&bases.ops, &bases.guards, &bases.addresses);
        // Assumed comparisons come first: if one fails, everything else would be wasted.
        let (early, rest): (Vec<Guard>, Vec<Guard>) = bases.guards.iter().partition(|g| decided(g));
        let asked = early.iter().flat_map(|g| match g {
            Guard::AssumedCompare { of, .. } => *of,
            _ => [0; 2],
        });
        let asked = asked.filter(|&q| !bases.ops[q as usize].inputs().is_empty());
        let ready = asked.max().unwrap_or(0) as usize;
        for (at, &needed) in needed.iter().enumerate() {
            let q = bases.ops[at];
            if needed {
                let direct = matches!(q.op, BaseKind::Scalar(_) | BaseKind::Const(_));
                let r = self.base(at as Base);
                if q.stored && !direct {
                    let slot = self.s.e.base_slot(at as Base);
                    self.s.code.push(M::StoreBase(slot, 0), &[(r, Role::Use)]);
                }
            }
            if ready == at {
                self.guards(&early);
            }
        }
        self.guards(&rest);
        for (i, &a) in bases.addresses.iter().enumerate() {
            self.address(i as u16, a);
        }
    }

    fn base(&mut self, q: Base) -> VReg {
        if let Some(r) = self.values[q as usize] {
            return r;
        }
        let op = self.s.e.c.affine.ops[q as usize];
        let r = match op.op {
            BaseKind::Vgpr(v) => self.s.code.push_again(M::BaseVgpr(v), Again::Value, 0),
            BaseKind::Lane => self.s.words([0, 16, 32, 48, 0, 0, 0, 0]),
            BaseKind::Const(v) => self.s.d32(v),
            BaseKind::Scalar(id) => {
                let at = At::same(self.s.e.smem(id));
                self.s.code.push_again(M::Broadcast(at, 4), Again::Value, 0)
            }
            _ => self.operation(op),
        };
        self.values[q as usize] = Some(r);
        r
    }

    fn operation(&mut self, q: BaseOp) -> VReg {
        let konst = |e: &Emit<'_, Avx2>, q: Base| match e.c.affine.ops[q as usize].op {
            BaseKind::Const(v) => Some(v),
            _ => None,
        };
        let [x, y, w] = q.args;
        let a = self.base(x);
        let (o, ty) = match q.op {
            BaseKind::Shld(by) | BaseKind::Shrd(by) => {
                let left = matches!(q.op, BaseKind::Shld(_));
                let b = self.base(y);
                return self.s.double_shift(left, a, b, by, 0);
            }
            BaseKind::Alu(o, ty) => (o, ty),
            _ => return a,
        };
        let signed = ty.is_signed();
        let e = match (o, signed) {
            (Op::Add, _) => ADDD,
            (Op::Sub, _) => SUBD,
            (Op::Mul, _) => X(2, 1, 0, 0x40),
            (Op::And, _) => AND,
            (Op::Or, _) => OR,
            (Op::Xor, _) => XOR,
            (Op::Min, true) => MINSD,
            (Op::Min, false) => MINUD,
            (Op::Max, true) => MAXSD,
            (Op::Max, false) => MAXUD,
            (Op::Shl | Op::Shr, _) => {
                if let Some(by) = konst(self.s.e, y) {
                    return match (o, signed) {
                        (Op::Shl, _) => self.s.shl(a, by.min(32) as u8),
                        (_, true) => self.s.sar(a, by.min(31) as u8),
                        _ => self.s.shr(a, by.min(32) as u8),
                    };
                }
                let op = match (o, signed) {
                    (Op::Shl, _) => 0x47,
                    (_, true) => 0x46,
                    _ => 0x45,
                };
                X(2, 1, 0, op)
            }
            (Op::Not, _) => return self.s.not(a),
            (Op::Zext, _) => return self.s.shr(a, 31),
            (Op::Select, _) => {
                let (b, c) = (self.base(y), self.base(w));
                return self.s.blend_of(0, c, b, a);
            }
            (Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge, _) => {
                let b = self.base(y);
                return self.s.compare(o, signed, a, b);
            }
            _ => {
                self.s.e.mistaken();
                return a;
            }
        };
        let b = self.base(y);
        self.s.short(e, a, b)
    }

    // ---- guards ----

    fn hold(&mut self, r: VReg) {
        self.held = Some(match self.held {
            Some(held) => self.s.short(AND, held, r),
            None => r,
        });
    }

    /// Checks all that was held.
    fn checked(&mut self) {
        if let Some(held) = self.held.take() {
            let (t, u) = (self.s.reg(), self.s.reg());
            let operands = [(held, Role::Use), (t, Role::Temp), (u, Role::Temp)];
            self.s.code.push(M::Guards, &operands);
        }
    }

    fn is_zero(&mut self, r: VReg) {
        let zero = self.s.zero();
        let r = self.s.short(EQD, r, zero);
        self.hold(r);
    }

    fn plus(&mut self, r: VReg, by: i32) -> VReg {
        let by = self.s.d32(by as u32);
        self.s.short(ADDD, r, by)
    }

    /// Checks that the values of a base do not wrap at 32 bits, once for all guards that need it.
    fn not_wrapping(&mut self, of: Base, step: i32) {
        if step == 0 || self.within.contains(&(of, step)) {
            return;
        }
        self.within.push((of, step));
        let r = self.base(of);
        self.not_beyond(r, step);
    }

    /// Compares unsigned numbers with what they may be at most, or at least, so that adding the step does not wrap.
    fn not_beyond(&mut self, r: VReg, step: i32) {
        let (o, limit) = match step > 0 {
            true => (Op::Le, !(step as u32)),
            false => (Op::Ge, step.unsigned_abs()),
        };
        let limit = self.s.d32(limit);
        let r = self.s.compare(o, false, r, limit);
        self.hold(r);
    }

    /// The same of signed numbers.
    fn not_beyond_signed(&mut self, r: VReg, step: i32) {
        let (o, limit) = match step > 0 {
            true => (Op::Le, i32::MAX - step),
            false => (Op::Ge, i32::MIN - step),
        };
        let limit = self.s.d32(limit as u32);
        let r = self.s.compare(o, true, r, limit);
        self.hold(r);
    }

    fn guards(&mut self, guards: &[Guard]) {
        // What was found before is checked by then.
        self.within.clear();
        for &g in guards {
            match g {
                Guard::Top { of, step, bits } => {
                    let r = self.base(of);
                    let t = self.plus(r, step);
                    let t = self.s.short(XOR, t, r);
                    let mask = self.s.d32(!(u32::MAX >> bits));
                    let t = self.s.short(AND, t, mask);
                    self.is_zero(t);
                }
                Guard::NoWrap {
                    of,
                    step,
                    signed: false,
                } => self.not_wrapping(of, step),
                Guard::NoWrap { of, step, .. } => {
                    let r = self.base(of);
                    self.not_beyond_signed(r, step);
                }
                Guard::Less { of, step } => {
                    let firsts = of.map(|q| self.base(q));
                    let mut lasts = firsts;
                    for k in 0..2 {
                        if step[k] != 0 {
                            lasts[k] = self.plus(firsts[k], step[k]);
                            self.not_wrapping(of[k], step[k]);
                        }
                    }
                    let [a, b] = [firsts, lasts].map(|[x, y]| self.s.compare(Op::Lt, false, x, y));
                    let r = self.s.short(EQD, a, b);
                    self.hold(r);
                }
                Guard::Bits {
                    of,
                    step,
                    mask,
                    ones,
                } => {
                    let r = self.base(of);
                    let t = self.plus(r, step);
                    let mut t = self.s.short(XOR, t, r);
                    // All bits up to the highest in which two lanes differ.
                    for by in [1, 2, 4, 8, 16] {
                        let u = self.s.shr(t, by);
                        t = self.s.short(OR, t, u);
                    }
                    if Guard::moving(step) != u32::MAX {
                        let moving = self.s.d32(Guard::moving(step));
                        t = self.s.short(AND, t, moving);
                    }
                    let m = self.base(mask);
                    let t = match ones {
                        true => self.s.short(ANDN, m, t),
                        false => self.s.short(AND, t, m),
                    };
                    self.is_zero(t);
                }
                Guard::AssumedCompare {
                    op,
                    signed,
                    of,
                    step,
                } => self.assumed(op, signed, of, step),
            }
        }
        self.checked();
    }

    fn assumed(&mut self, o: Op, signed: bool, of: [Base; 2], step: [i32; 2]) {
        let mut values = of.map(|q| self.base(q));
        if o == Op::Ne {
            // How much more the first is, from the lane on where that is least: not 0, and not all the way round.
            let by = step[0].wrapping_sub(step[1]);
            let mut t = self.s.short(SUBD, values[0], values[1]);
            if by > 0 {
                t = self.plus(t, by);
            }
            let limit = self.s.d32(by.unsigned_abs());
            let r = self.s.compare(Op::Gt, false, t, limit);
            self.hold(r);
            return;
        }
        // The first one's greatest and the second one's least value.
        for k in 0..2 {
            if step[k] == 0 {
                continue;
            }
            if signed {
                self.not_beyond_signed(values[k], step[k]);
            } else {
                self.not_wrapping(of[k], step[k]);
            }
            if (step[k] > 0) == (k == 0) {
                values[k] = self.plus(values[k], step[k]);
            }
        }
        let o = if o == Op::Lt { Op::Lt } else { Op::Le };
        let r = self.s.compare(o, signed, values[0], values[1]);
        self.hold(r);
    }

    // ---- addresses ----

    /// The host's addresses of the slices' first lanes, which may be accessed.
    fn address(&mut self, i: u16, a: Address) {
        let lo = self.base(a.lo);
        if let Some(layout) = a.slice_layout {
            let first = self.s.one_of(BROADCASTD, 0, lo, None);
            match layout {
                SliceLayout::Multiples(bytes) => {
                    let t = self.s.short(XOR, first, lo);
                    let apart = self.s.d32(bytes as u32 - 1);
                    let t = self.s.short(AND, t, apart);
                    self.is_zero(t);
                }
                SliceLayout::Rows => {
                    let step = a.step >> a.index.unwrap_or(0);
                    let rows =
                        [0, 16, 32, 48, 0, 0, 0, 0].map(|n: u32| n.wrapping_mul(step as u32));
                    let rows = self.s.words(rows);
                    let t = self.s.short(ADDD, first, rows);
                    let r = self.s.short(EQD, t, lo);
                    self.hold(r);
                }
            }
            self.checked();
        }
        let mut base = BaseAddress {
            number: i,
            address: a,
            range: None,
        };
        let r = match a.limit {
            Some(_) => lo,
            None => {
                base.range = Some(self.s.e.new_range());
                let mut whole = match a.index {
                    Some(_) => self.s.one(SXDQ, lo),
                    None => self.s.one(ZXDQ, lo),
                };
                if let Some(by) = a.index {
                    if by != 0 {
                        whole = self.s.shlq(whole, by);
                    }
                } else if self.s.e.c.affine.ops[a.hi as usize].op != BaseKind::Const(0) {
                    let hi = self.base(a.hi);
                    let hi = self.s.one(ZXDQ, hi);
                    let hi = self.s.shlq(hi, 32);
                    whole = self.s.two(OR, whole, hi);
                }
                if let Some((low, high)) = a.plus {
                    let at = At::same(self.s.e.scalar_halves(low, high));
                    let plus = self.s.code.push_again(M::Broadcast(at, 8), Again::Value, 0);
                    whole = self.s.two(ADDQ, whole, plus);
                }
                whole
            }
        };
        let (t, u) = (self.s.reg(), self.s.reg());
        let operands = [(r, Role::Use), (t, Role::Temp), (u, Role::Temp)];
        self.s.code.push(M::Base(Rc::new(base)), &operands);
    }
}
