//! Affine values: the bases of the four slices are computed at once, before the slices; then values and accesses are made of
//! them.

use super::*;
use crate::context::{AFFINE_ADDRESSES, AFFINE_BASES};
use crate::ir::affine::{Address, Base, BaseKind, BaseOp, Guard, SliceLayout};
use crate::ir::region::Store;
use crate::passes::affine::{Shape, row_of, within_register};
use crate::target::x64::affine::{decided, place};
use crate::target::x64::range::Range;

/// The number of registers for bases. Those above are temporary.
const MOST: u8 = 26;
/// Two bases as halves of 64 bits ([`BaseRegisters::pair`]).
const PAIR: u8 = 26;
const T: u8 = 28;
const U: u8 = 29;
const ON: u8 = 31;
/// Slices in which a guard does not hold.
const K_FAIL: u8 = 5;

/// The state of computing bases.
#[derive(Default)]
pub(crate) struct BaseRegisters {
    /// The registers of bases, the bases in memory, and the last use of each.
    reg: Vec<Option<u8>>,
    saved: Vec<bool>,
    last: Vec<usize>,
    holds: [Option<Base>; MOST as usize],
    /// Which are in [`PAIR`].
    pair: Option<(Base, Base, Option<u8>)>,
    out_of_line: Vec<OutOfLine>,
    /// The data of deferred stores.
    kept: Vec<Kept>,
    /// Where the block is left for code without affine values.
    leave: Option<Label>,
}

#[derive(Clone, Copy)]
struct OutOfLine {
    from: Label,
    back: Label,
    /// The slices in question; or the address whose range is to be found.
    mask: u8,
    look: Look,
}

/// What the out-of-line code checks.
#[derive(Clone, Copy)]
enum Look {
    Nothing,
    /// An address whose range is to be found.
    Range(u16, Range),
    /// An address of LDS, whose lower half is in a register, of the active lanes alone.
    Lds(u16, u8),
}

/// A part of the data of a deferred store, of one slice, in a register or in memory.
#[derive(Clone, Copy)]
struct Kept {
    store: usize,
    slice: u8,
    reg: Option<u8>,
    slot: u16,
}

impl BaseRegisters {
    /// The registers that have data of deferred stores.
    pub(super) fn kept(&self) -> u32 {
        let regs = self.kept.iter().filter_map(|k| k.reg);
        regs.fold(0, |b, r| b | 1 << r)
    }
}

/// The maximum number of registers per slice for data of deferred stores.
const KEPT: usize = 2;

impl Emit<'_, Avx512> {
    /// Computes all bases, and checks the guards and the addresses.
    pub(super) fn compute_bases(&mut self) {
        let c = self.c;
        let bases = &c.affine;
        if bases.ops.len() > AFFINE_BASES || bases.addresses.len() > AFFINE_ADDRESSES {
            self.too_large = true;
            return;
        }
        let n = bases.ops.len();
        let mut last = vec![0; n];
        for g in &bases.guards {
            let (a, b) = match *g {
                Guard::Top { of, .. } | Guard::NoWrap { of, .. } => (of, of),
                Guard::Less { of, .. } => (of[0], of[1]),
                Guard::Bits { of, mask, .. } => (of, mask),
                Guard::AssumedCompare { of, .. } => (of[0], of[1]),
            };
            (last[a as usize], last[b as usize]) = (n, n);
        }
        for a in &bases.addresses {
            last[a.lo as usize] = n;
            if a.limit.is_none() {
                last[a.hi as usize] = n;
            }
        }
        let mut needed: Vec<bool> = (0..n)
            .map(|at| last[at] == n || bases.ops[at].stored)
            .collect();
        for (at, q) in bases.ops.iter().enumerate().rev() {
            if !needed[at] {
                continue;
            }
            for &i in q.inputs() {
                needed[i as usize] = true;
                last[i as usize] = last[i as usize].max(at);
            }
        }
        self.v.bases = BaseRegisters {
            reg: vec![None; n],
            saved: vec![false; n],
            last,
            ..BaseRegisters::default()
        };
        // Assumed comparisons come first: if one fails, everything else would be wasted.
        let early: Vec<Guard> = bases
            .guards
            .iter()
            .filter(|g| decided(g))
            .copied()
            .collect();
        let is_leaf = |q: &BaseOp| q.inputs().is_empty();
        let asked = early.iter().flat_map(|g| match g {
            Guard::AssumedCompare { of, .. } => *of,
            _ => [0; 2],
        });
        // What has no operands is had when it is asked for.
        let asked = asked.filter(|&q| !is_leaf(&bases.ops[q as usize]));
        let ready = asked.max().unwrap_or(0) as usize;
        for (at, &needed) in needed.iter().enumerate() {
            let q = bases.ops[at];
            if !is_leaf(&q) && needed {
                self.base_op(at);
            }
            let direct = matches!(q.op, BaseKind::Scalar(_) | BaseKind::Const(_));
            if q.stored && !direct {
                let r = self.base_reg(at as Base, at);
                self.save(at as Base, r);
            }
            if ready == at {
                self.guards(&early, n);
            }
            for r in 0..MOST as usize {
                if let Some(held) = self.v.bases.holds[r]
                    && self.v.bases.last[held as usize] <= at
                {
                    self.v.bases.holds[r] = None;
                    self.v.bases.reg[held as usize] = None;
                }
            }
        }
        let rest: Vec<Guard> = bases
            .guards
            .iter()
            .filter(|g| !decided(g))
            .copied()
            .collect();
        self.guards(&rest, n);
        for (i, &a) in bases.addresses.iter().enumerate() {
            self.base(i as u16, a, n);
        }
    }

    fn save(&mut self, q: Base, r: u8) {
        if !self.v.bases.saved[q as usize] {
            let slot = self.base_slot(q);
            self.a
                .evex(op::MOVDQU32_ST, 0, r, 0, Rm::M(slot), ALL, None);
            self.v.bases.saved[q as usize] = true;
        }
    }

    /// A register for a new base. `keep`: bases that stay where they are.
    fn base_define(&mut self, q: Base, keep: &[Base]) -> u8 {
        let free = (0..MOST).find(|&r| self.v.bases.holds[r as usize].is_none());
        let r = free.unwrap_or_else(|| {
            let held = |r: u8| self.v.bases.holds[r as usize].unwrap_or(0);
            let r = (0..MOST)
                .filter(|&r| !keep.contains(&held(r)))
                .max_by_key(|&r| self.v.bases.last[held(r) as usize])
                .unwrap_or(0);
            let old = held(r);
            let again = matches!(
                self.c.affine.ops[old as usize].op,
                BaseKind::Scalar(_) | BaseKind::Const(_)
            );
            if !again {
                self.save(old, r);
            }
            self.v.bases.reg[old as usize] = None;
            r
        });
        self.v.bases.holds[r as usize] = Some(q);
        self.v.bases.reg[q as usize] = Some(r);
        r
    }

    /// A base in a register; what has operands was computed before.
    fn base_reg(&mut self, q: Base, keep: usize) -> u8 {
        if let Some(r) = self.v.bases.reg[q as usize] {
            return r;
        }
        let ops = &self.c.affine.ops;
        let mut stay = ops.get(keep).map_or(Vec::new(), |o| o.inputs().to_vec());
        stay.push(keep as Base);
        let r = self.base_define(q, &stay);
        if self.v.bases.saved[q as usize] {
            let slot = self.base_slot(q);
            self.x(op::MOVDQU32, r, 0, Rm::M(slot));
            return r;
        }
        match self.c.affine.ops[q as usize].op {
            BaseKind::Vgpr(v) => {
                let home = |slice: i32| mem(VGPRS, (v as i32 - VGPR_BIAS) * 256 + 64 * slice);
                self.x(op::MOVD_LD, r, 0, Rm::M(home(0)));
                for slice in 1..4 {
                    let from = Rm::M(home(slice));
                    self.a
                        .evex(op::PINSRD, 0, r, r, from, ALL, Some(slice as u8));
                }
            }
            BaseKind::Lane => self.x(op::MOVDQU32, r, 0, Rm::M(ctx!(firsts))),
            BaseKind::Const(v) => self.x(op::BCASTD, r, 0, Rm::C(v as u64)),
            BaseKind::Scalar(id) => {
                let from = self.smem(id);
                self.x(op::BCASTD, r, 0, Rm::M(from));
            }
            _ => self.mistaken(),
        }
        r
    }

    /// A base as the second operand.
    fn base_rm(&mut self, q: Base, keep: usize) -> Rm {
        if let Some(r) = self.v.bases.reg[q as usize] {
            return Rm::R(r);
        }
        match self.c.affine.ops[q as usize].op {
            BaseKind::Const(v) => Rm::C(v as u64),
            BaseKind::Scalar(id) => Rm::B(self.smem(id)),
            _ => Rm::R(self.base_reg(q, keep)),
        }
    }

    /// An instruction on 128 bits.
    fn x(&mut self, e: E, d: u8, a: u8, rm: Rm) {
        self.a.evex(e, 0, d, a, rm, ALL, None);
    }

    /// An instruction on 256 bits.
    fn y(&mut self, e: E, d: u8, a: u8, rm: Rm) {
        self.a.evex(e, 1, d, a, rm, ALL, None);
    }

    fn base_op(&mut self, at: usize) {
        let q = self.c.affine.ops[at];
        let [x, y, w] = q.args;
        let p = self.base_reg(x, at);
        let konst = |e: &Self, q: Base| match e.c.affine.ops[q as usize].op {
            BaseKind::Const(v) => Some(v),
            _ => None,
        };
        let two = |e: &mut Self, i: E| {
            let r = e.base_rm(y, at);
            let d = e.base_define(at as Base, &[x, y]);
            e.x(i, d, p, r);
        };
        let (o, ty) = match q.op {
            BaseKind::Shld(by) | BaseKind::Shrd(by) => {
                let left = matches!(q.op, BaseKind::Shld(_));
                let r = self.base_rm(y, at);
                let d = self.base_define(at as Base, &[x, y]);
                let e = if left { op::SHLDD } else { op::SHRDD };
                self.a.evex(e, 0, d, p, r, ALL, Some(by));
                return;
            }
            BaseKind::Alu(o, ty) => (o, ty),
            _ => return,
        };
        let signed = ty.is_signed();
        match o {
            Op::Add => two(self, op::ADDD),
            Op::Sub => two(self, op::SUBD),
            Op::Mul => two(self, op::MULLD),
            Op::And => two(self, op::ANDD),
            Op::Or => two(self, op::ORD),
            Op::Xor => two(self, op::XORD),
            Op::Min if signed => two(self, op::MINSD),
            Op::Min => two(self, op::MINUD),
            Op::Max if signed => two(self, op::MAXSD),
            Op::Max => two(self, op::MAXUD),
            Op::Shl | Op::Shr => {
                let (ext, by) = match (o, signed) {
                    (Op::Shl, _) => (6, op::SLLVD),
                    (_, true) => (4, op::SRAVD),
                    _ => (2, op::SRLVD),
                };
                match konst(self, y) {
                    Some(v) => {
                        let d = self.base_define(at as Base, &[x]);
                        let most = if ext == 4 { 31 } else { 32 };
                        let v = Some(v.min(most) as u8);
                        self.a.evex(op::SHIFTD_I, 0, ext, d, Rm::R(p), ALL, v);
                    }
                    None => two(self, by),
                }
            }
            Op::Not => {
                let d = self.base_define(at as Base, &[x]);
                self.x(op::XORD, d, p, Rm::C(u32::MAX as u64));
            }
            Op::Zext => {
                let d = self.base_define(at as Base, &[x]);
                self.a.evex(op::SHIFTD_I, 0, 2, d, Rm::R(p), ALL, Some(31));
            }
            Op::Select => {
                let r = self.base_reg(y, at);
                let s = self.base_rm(w, at);
                let d = self.base_define(at as Base, &[x, y, w]);
                self.x(op::MOVDQU32, T, 0, Rm::R(p));
                self.a.evex(op::TERND, 0, T, r, s, ALL, Some(0xca));
                self.x(op::MOVDQU32, d, 0, Rm::R(T));
            }
            Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => {
                let predicate = match o {
                    Op::Eq => 0,
                    Op::Lt => 1,
                    Op::Le => 2,
                    Op::Ne => 4,
                    Op::Ge => 5,
                    _ => 6,
                };
                let r = self.base_rm(y, at);
                let d = self.base_define(at as Base, &[x, y]);
                let e = if signed { op::CMPD } else { op::CMPUD };
                self.a.evex(e, 0, 1, p, r, ALL, Some(predicate));
                self.x(op::MOVM2D, d, 0, Rm::R(1));
            }
            _ => self.mistaken(),
        }
    }

    /// Checks all guards. An opmask has the slices for which all hold so far; comparisons are masked by it.
    fn guards(&mut self, guards: &[Guard], end: usize) {
        let mut begun = false;
        // Those who have come so far, if any have.
        let mut held = move || {
            let on = if begun { keep(K_FAIL) } else { ALL };
            begun = true;
            on
        };
        let mut within: Vec<(Base, i32)> = Vec::new();
        for &g in guards {
            match g {
                Guard::Top { of, step, bits } => {
                    let r = self.base_reg(of, end);
                    self.x(op::ADDD, T, r, Rm::C(step as u32 as u64));
                    self.x(op::XORD, T, T, Rm::R(r));
                    let mask = Rm::C(!(u32::MAX >> bits) as u64);
                    self.a.evex(op::TESTNMD, 0, K_FAIL, T, mask, held(), None);
                }
                Guard::NoWrap {
                    of,
                    step,
                    signed: false,
                } => {
                    let r = self.base_reg(of, end);
                    self.within(of, step, r, &mut within, &mut held);
                }
                Guard::NoWrap { of, step, .. } => {
                    let r = self.base_reg(of, end);
                    let (limit, predicate) = match step > 0 {
                        true => (i32::MAX - step, 2),
                        false => (i32::MIN - step, 5),
                    };
                    let limit = Rm::C(limit as u32 as u64);
                    self.a
                        .evex(op::CMPD, 0, K_FAIL, r, limit, held(), Some(predicate));
                }
                Guard::Less { of, step } => {
                    let mut ends = [T, U];
                    let mut firsts = [0; 2];
                    for k in 0..2 {
                        let r = self.base_reg(of[k], end);
                        // It must not be moved while the other is fetched.
                        let hold = [30, 27][k];
                        self.x(op::MOVDQU32, hold, 0, Rm::R(r));
                        firsts[k] = hold;
                        if step[k] == 0 {
                            ends[k] = hold;
                            continue;
                        }
                        self.x(op::ADDD, ends[k], hold, Rm::C(step[k] as u32 as u64));
                        self.within(of[k], step[k], hold, &mut within, &mut held);
                    }
                    let less = |e: &mut Self, k: u8, ends: [u8; 2]| {
                        let [a, b] = ends;
                        e.a.evex(op::CMPUD, 0, k, a, Rm::R(b), ALL, Some(1));
                    };
                    less(self, 1, firsts);
                    less(self, 2, ends);
                    self.a.kop(kop::XNOR, 1, 1, 2);
                    let on = held();
                    let so_far = if on.k == 0 { 1 } else { K_FAIL };
                    self.a.kop(kop::AND, K_FAIL, so_far, 1);
                }
                Guard::Bits {
                    of,
                    step,
                    mask,
                    ones,
                } => {
                    let r = self.base_reg(of, end);
                    self.x(op::ADDD, T, r, Rm::C(step as u32 as u64));
                    self.x(op::XORD, T, T, Rm::R(r));
                    // All bits up to the highest in which two lanes differ.
                    self.x(op::LZCNTD, T, 0, Rm::R(T));
                    self.a.evex(op::TERND, 0, U, U, Rm::R(U), ALL, Some(0xff));
                    self.x(op::SRLVD, T, U, Rm::R(T));
                    if Guard::moving(step) != u32::MAX {
                        self.x(op::ANDD, T, T, Rm::C(Guard::moving(step) as u64));
                    }
                    let m = self.base_reg(mask, end);
                    let with = if ones {
                        self.x(op::ANDND, T, m, Rm::R(T));
                        T
                    } else {
                        m
                    };
                    self.a
                        .evex(op::TESTNMD, 0, K_FAIL, T, Rm::R(with), held(), None);
                }
                Guard::AssumedCompare {
                    op: o,
                    signed,
                    of,
                    step,
                } => {
                    let (hold, other) = (30, 27);
                    let r = self.base_reg(of[0], end);
                    self.x(op::MOVDQU32, hold, 0, Rm::R(r));
                    let r = self.base_reg(of[1], end);
                    self.x(op::MOVDQU32, other, 0, Rm::R(r));
                    if o == Op::Ne {
                        // How much more the first is, from the lane on where that is least: not 0, and not all the way round.
                        let by = step[0].wrapping_sub(step[1]);
                        self.x(op::SUBD, T, hold, Rm::R(other));
                        if by > 0 {
                            self.x(op::ADDD, T, T, Rm::C(by as u32 as u64));
                        }
                        let limit = Rm::C(by.unsigned_abs() as u64);
                        self.a.evex(op::CMPUD, 0, K_FAIL, T, limit, held(), Some(6));
                        continue;
                    }
                    // The first one's greatest and the second one's least value.
                    for (k, (q, r)) in [hold, other].into_iter().zip(of).enumerate() {
                        if step[k] == 0 {
                            continue;
                        }
                        if signed {
                            let (limit, predicate) = match step[k] > 0 {
                                true => (i32::MAX - step[k], 2),
                                false => (i32::MIN - step[k], 5),
                            };
                            let limit = Rm::C(limit as u32 as u64);
                            self.a
                                .evex(op::CMPD, 0, K_FAIL, q, limit, held(), Some(predicate));
                        } else {
                            self.within(r, step[k], q, &mut within, &mut held);
                        }
                        if (step[k] > 0) == (k == 0) {
                            self.x(op::ADDD, q, q, Rm::C(step[k] as u32 as u64));
                        }
                    }
                    let e = if signed { op::CMPD } else { op::CMPUD };
                    let predicate = if o == Op::Lt { 1 } else { 2 };
                    let rm = Rm::R(other);
                    self.a.evex(e, 0, K_FAIL, hold, rm, held(), Some(predicate));
                }
            }
        }
        let any = held().k != 0;
        if any && self.full.is_some() {
            // All four.
            self.a.k_to_gpr(RAX, K_FAIL);
            self.a.alu_imm(alu::CMP, false, Rm::R(RAX), 15);
            let leave = self.leave_quads();
            self.a.jcc(Cc::Ne, leave);
        } else if any {
            // Those of the four slices that are not among them.
            self.a.evex(op::CMPUD, 0, 1, T, Rm::R(T), ALL, Some(0));
            self.a.kop(kop::ANDN, K_FAIL, K_FAIL, 1);
            self.a.kortest(K_FAIL, K_FAIL);
            self.otherwise(K_FAIL, Look::Nothing);
        }
    }

    /// Checks that the values of a base do not wrap at 32 bits, once for all guards that need it.
    fn within(
        &mut self,
        of: Base,
        step: i32,
        r: u8,
        known: &mut Vec<(Base, i32)>,
        held: &mut impl FnMut() -> K,
    ) {
        if step == 0 || known.contains(&(of, step)) {
            return;
        }
        known.push((of, step));
        self.not_wrapping(step, r, held());
    }

    /// Compares unsigned numbers with what they may be at most, or at least, so that adding the step does not wrap.
    fn not_wrapping(&mut self, step: i32, r: u8, held: K) {
        let (limit, predicate) = match step > 0 {
            true => (!(step as u32), 2),
            false => (step.unsigned_abs(), 5),
        };
        let limit = Rm::C(limit as u64);
        self.a
            .evex(op::CMPUD, 0, K_FAIL, r, limit, held, Some(predicate));
    }

    /// Goes on after the block where the last comparison was not of zeros.
    fn otherwise(&mut self, mask: u8, look: Look) {
        let from = self.a.label();
        self.otherwise_at(from, mask, look);
    }

    fn otherwise_at(&mut self, from: Label, mask: u8, look: Look) {
        let back = self.a.label();
        self.a.jcc(Cc::Ne, from);
        self.a.bind(back);
        self.v.bases.out_of_line.push(OutOfLine {
            from,
            back,
            mask,
            look,
        });
    }

    fn leave_quads(&mut self) -> Label {
        match self.v.bases.leave {
            Some(l) => l,
            None => {
                let l = self.a.label();
                self.v.bases.leave = Some(l);
                l
            }
        }
    }

    /// The host's addresses of the slices' first lanes, which may be accessed.
    fn base(&mut self, i: u16, a: Address, end: usize) {
        let lo = self.base_reg(a.lo, end);
        let slot = self.address_slot(i);
        if let Some(slice_layout) = a.slice_layout {
            self.x(op::BCASTD, T, 0, Rm::R(lo));
            match slice_layout {
                SliceLayout::Multiples(bytes) => {
                    self.x(op::XORD, T, T, Rm::R(lo));
                    let apart = Rm::C(bytes as u64 - 1);
                    self.a.evex(op::TESTMD, 0, 1, T, apart, ALL, None);
                }
                SliceLayout::Rows => {
                    self.x(op::MOVDQU32, U, 0, Rm::M(ctx!(firsts)));
                    let step = a.step >> a.index.unwrap_or(0);
                    self.x(op::MULLD, U, U, Rm::C(step as u32 as u64));
                    self.x(op::ADDD, T, T, Rm::R(U));
                    self.a.evex(op::CMPUD, 0, 1, T, Rm::R(lo), ALL, Some(4));
                }
            }
            self.a.kortest(1, 1);
            self.otherwise(1, Look::Nothing);
        }
        if let Some(limit) = a.limit {
            let leave = self.leave_quads();
            self.last_in_lds(limit, a.to, T, leave);
            self.a.evex(op::CMPUD, 0, 1, lo, Rm::R(T), ALL, Some(6));
            self.y(op::PMOVZXDQ, U, 0, Rm::R(lo));
            self.y(op::ADDQ, U, U, Rm::B(ctx!(lds)));
            self.y(op::MOVDQU32_ST, U, 0, Rm::M(slot));
            self.a.kortest(1, 1);
            let look = match a.whole {
                true => Look::Nothing,
                false => Look::Lds(i, lo),
            };
            self.otherwise(1, look);
            return;
        }
        let whole = if a.plus.is_some() { PAIR } else { T };
        let pair = (a.lo, a.hi, a.index);
        if whole != T && self.v.bases.pair == Some(pair) {
            // It is there.
        } else if let Some(by) = a.index {
            self.y(op::PMOVSXDQ, whole, 0, Rm::R(lo));
            if by != 0 {
                self.a
                    .evex(op::SHIFTQ_I, 1, 6, whole, Rm::R(whole), ALL, Some(by));
            }
        } else {
            self.y(op::PMOVZXDQ, whole, 0, Rm::R(lo));
            if self.c.affine.ops[a.hi as usize].op != BaseKind::Const(0) {
                let hi = self.base_reg(a.hi, end);
                self.y(op::PMOVZXDQ, U, 0, Rm::R(hi));
                self.a.evex(op::SHIFTQ_I, 1, 6, U, Rm::R(U), ALL, Some(32));
                self.y(op::ORQ, whole, whole, Rm::R(U));
            }
        }
        if let Some((low, high)) = a.plus {
            self.v.bases.pair = Some(pair);
            let plus = self.scalar_halves(low, high);
            self.y(op::ADDQ, T, PAIR, Rm::B(plus));
        }
        let range = self.new_range();
        let from = self.a.label();
        if self.common.aliased {
            self.y(op::MOVDQU32_ST, T, 0, Rm::M(ctx!(guest_bases)));
            self.y(op::ANDQ, U, T, Rm::C(!ALIAS));
            self.y(op::ADDQ, U, U, Rm::B(ctx!(bias)));
        } else {
            self.y(op::ADDQ, U, T, Rm::B(ctx!(bias)));
        }
        self.y(op::MOVDQU32_ST, U, 0, Rm::M(slot));
        self.y(op::SUBQ, T, T, Rm::B(range.start()));
        self.a
            .evex(op::CMPUQ, 1, 1, T, Rm::B(range.bytes()), ALL, Some(5));
        self.check_tag(range, from);
        self.a.kortest(1, 1);
        self.otherwise_at(from, 1, Look::Range(i, range));
    }

    /// The code after the block.
    pub(super) fn bases_out_of_line(&mut self) {
        let c = self.c;
        for out in std::mem::take(&mut self.v.bases.out_of_line) {
            self.a.bind(out.from);
            let leave = self.leave_quads();
            match out.look {
                Look::Nothing if self.full.is_some() => {
                    self.a.jmp(leave);
                    continue;
                }
                Look::Nothing => {
                    // Slices without lanes do not matter.
                    let exec = sgpr_home(EXEC as u8);
                    self.x(op::PMOVZXWD, ON, 0, Rm::M(exec));
                    self.x(op::TESTMD, 2, ON, Rm::R(ON));
                    self.a.kop(kop::AND, 2, 2, out.mask);
                    self.a.kortest(2, 2);
                    self.a.jcc(Cc::Ne, leave);
                }
                Look::Lds(i, lo) => self.lanes_of_lds(i, lo, leave),
                Look::Range(i, range) => {
                    let a = c.affine.addresses[i as usize];
                    let asked = a.from as u32 as u64 | (a.to as u32 as u64) << 32;
                    self.a.imm(RAX, asked);
                    self.a.store(true, ctx!(asked), RAX);
                    let step = if a.whole { 0 } else { a.step as u32 };
                    let what = i as u64 | (a.need as u64) << 8 | (step as u64) << 32;
                    self.ask_range(what, range);
                    let call = self.common.range_call;
                    self.a.call_label(call);
                    self.a.test(false, RAX, RAX);
                    self.a.jcc(Cc::Ne, leave);
                    self.tag(range);
                }
            }
            self.a.jmp(out.back);
        }
        if let Some(leave) = self.v.bases.leave {
            self.a.bind(leave);
            self.a.alu_imm(alu::ADD, true, Rm::R(FUEL), c.insns as i32);
            if c.fp.is_some_and(|f| f != self.common.default) {
                self.a.ldmxcsr(mxcsr_of(self.common.default));
            }
            self.leave(EXIT_NOT_AFFINE);
        }
    }

    /// Looks at an address of LDS, of the active lanes alone: what these access is to be within the limit, which RAX
    /// is less what all 16 lanes access.
    fn lanes_of_lds(&mut self, i: u16, lo: u8, leave: Label) {
        let a = self.c.affine.addresses[i as usize];
        let [first, last, t] = [U, 30, 27];
        let step = Rm::C(a.step as u32 as u64);
        let exec = sgpr_home(EXEC as u8);
        self.x(op::PMOVZXWD, ON, 0, Rm::M(exec));
        // The first lane is as many as there are zeros below the lowest one, the last 31 less those above the highest.
        self.x(op::XORD, t, t, Rm::R(t));
        self.x(op::SUBD, first, t, Rm::R(ON));
        self.x(op::ANDD, first, first, Rm::R(ON));
        self.x(op::ADDD, first, first, Rm::C(u32::MAX as u64));
        self.x(op::POPCNTD, first, 0, Rm::R(first));
        self.x(op::MULLD, first, first, step);
        self.x(op::LZCNTD, last, 0, Rm::R(ON));
        self.x(op::BCASTD, t, 0, Rm::C(31));
        self.x(op::SUBD, last, t, Rm::R(last));
        self.x(op::MULLD, last, last, step);
        // Their addresses; and the slices in which one is not within.
        self.x(op::ADDD, last, last, Rm::R(lo));
        self.x(op::ADDD, t, first, Rm::R(lo));
        self.a.evex(op::CMPUD, 0, 1, t, Rm::R(last), ALL, Some(6));
        self.a.alu_imm(alu::ADD, true, Rm::R(RAX), 15 * a.step);
        self.x(op::BCASTD_R, T, 0, Rm::R(RAX));
        self.a.evex(op::CMPUD, 0, 2, last, Rm::R(T), ALL, Some(6));
        self.a.kop(kop::OR, 1, 1, 2);
        self.x(op::TESTMD, 2, ON, Rm::R(ON));
        self.a.kop(kop::AND, 2, 2, 1);
        self.a.kortest(2, 2);
        self.a.jcc(Cc::Ne, leave);
        // The first lane's place may lie in front of LDS: 64 bits tell.
        self.y(op::PMOVZXDQ, T, 0, Rm::R(t));
        self.y(op::PMOVZXDQ, first, 0, Rm::R(first));
        self.y(op::SUBQ, T, T, Rm::R(first));
        self.y(op::ADDQ, T, T, Rm::B(ctx!(lds)));
        let slot = self.address_slot(i);
        self.y(op::MOVDQU32_ST, T, 0, Rm::M(slot));
    }

    /// The base of the current 16 lanes in memory.
    fn base_element(&mut self, q: Base) -> Mem {
        match self.c.affine.ops[q as usize].op {
            BaseKind::Scalar(id) => self.smem(id),
            _ => {
                let slot = self.base_slot(q);
                self.element(slot, 4)
            }
        }
    }

    /// Loads an affine value of the current 16 lanes to a register.
    pub(super) fn base_lanes(&mut self, base: Base, step: i32, d: u8) {
        if let BaseKind::Const(v) = self.c.affine.ops[base as usize].op {
            self.bcast_const(d, v as u64, false);
        } else {
            let from = self.base_element(base);
            self.a.z(op::BCASTD, d, 0, Rm::M(from));
        }
        self.add_steps(d, step);
    }

    /// Adds to each lane its distance from the first one's value.
    fn add_steps(&mut self, d: u8, step: i32) {
        match step {
            0 => {}
            1 | 2 | 4 | 8 | 16 | 32 | 64 | 128 => {
                let log = step.trailing_zeros() as usize;
                self.a.z(op::ADDD, d, d, Rm::M(ctx!(strides, 64 * log)));
            }
            _ => {
                let t = if d == 0 { 1 } else { 0 };
                // A register's place beside the stack's, for there may be none free.
                self.a.z(op::MOVDQU32_ST, t, 0, Rm::M(ctx!(data)));
                self.a.z(op::MOVDQU32, t, 0, Rm::M(ctx!(strides)));
                self.a.z(op::MULLD, t, t, Rm::C(step as u32 as u64));
                self.a.z(op::ADDD, d, d, Rm::R(t));
                self.a.z(op::MOVDQU32, t, 0, Rm::M(ctx!(data)));
            }
        }
    }

    /// A base as an operand for all of the current 16 lanes.
    pub(super) fn base_operand(&mut self, base: Base) -> Rm {
        match self.c.affine.ops[base as usize].op {
            BaseKind::Const(v) => Rm::C(v as u64),
            _ => Rm::B(self.base_element(base)),
        }
    }

    /// A truth value of the current 16 lanes to an opmask.
    pub(super) fn base_mask(&mut self, base: Base, k: u8) {
        let from = self.base_element(base);
        self.a.kload16(k, from);
    }

    /// Writes affine values to VGPRs, in all lanes.
    pub(super) fn base_writes(&mut self) {
        let c = self.c;
        let looped = std::mem::take(&mut self.looped);
        for &(v, base, step) in &c.affine.writes {
            let same = matches!(
                c.affine.ops[base as usize].op,
                BaseKind::Const(_) | BaseKind::Scalar(_)
            );
            for slice in 0..4 {
                self.slice = slice;
                if slice == 0 || !same {
                    self.base_lanes(base, step, 0);
                }
                let home = self.home(v);
                self.a.z(op::MOVDQU32_ST, 0, 0, Rm::M(home));
            }
        }
        self.looped = looped;
    }

    /// RAX: the host's address of the current slice's part of an access.
    fn base_of(&mut self, address: u16) {
        let slot = self.address_slot(address);
        let from = self.element(slot, 8);
        self.a.mov(true, RAX, Rm::M(from));
    }

    pub(super) fn linear_group(
        &mut self,
        id: Id,
        bytes: u8,
        count: u8,
        offset: i32,
        address: u16,
        broadcast: bool,
    ) {
        let parts = self.parts(id, count);
        if parts.iter().all(Option::is_none) {
            return;
        }
        if broadcast {
            self.base_of(address);
            for (k, part) in parts.iter().enumerate() {
                let Some(part) = *part else { continue };
                let d = self.define(part, 0);
                self.hold(d);
                self.broadcast_element(d, bytes, place(offset + k as i32 * bytes as i32));
            }
            return;
        }
        let step = self.c.affine.addresses[address as usize].step;
        match Shape::of(step, bytes, count, false) {
            Some(Shape::Apart) => {
                self.load_apart(bytes, &parts, address, step, offset);
                return;
            }
            Some(Shape::Rows) => {
                self.load_rows(&parts, address, step, row_of(step, offset), offset);
                return;
            }
            Some(Shape::Dense) if bytes == 4 && count > 1 => {
                if count != 2 || !self.load_whole(&parts, offset, address) {
                    self.load_rows(&parts, address, step, offset, offset);
                }
                return;
            }
            _ => {}
        }
        for &part in parts.iter().flatten() {
            let d = self.define(part, 0);
            self.hold(d);
            self.base_of(address);
            self.fetch_ahead(bytes as i32, offset, address, false);
            self.load_elements(bytes, &[d], place(offset), 0, 0);
        }
    }

    /// A load of the memory of 16 lanes as it lies there.
    pub(super) fn load_in_order(&mut self, id: Id, stride: u8, offset: i32, address: u16) {
        let parts = self.parts(id, stride / 4);
        for (k, part) in parts.into_iter().enumerate() {
            let Some(part) = part else { continue };
            let d = self.define(part, 0);
            self.hold(d);
            self.base_of(address);
            if k == 0 {
                self.fetch_ahead(stride as i32, offset, address, false);
            }
            let from = Rm::M(place(offset + 64 * k as i32));
            self.a.z(op::MOVDQU32, d, 0, from);
        }
    }

    /// Stores the memory of 16 lanes as it is to lie there.
    fn store_in_order(&mut self, data: &[u8], address: u16, offset: i32) {
        self.base_of(address);
        self.fetch_ahead(4 * data.len() as i32, offset, address, true);
        for (k, &r) in data.iter().enumerate() {
            let to = Rm::M(place(offset + 64 * k as i32));
            self.a.z(op::MOVDQU32_ST, r, 0, to);
        }
    }

    /// Loads of two dwords a lane that are one 64-bit value to all who need them: they lie as this does.
    fn load_whole(&mut self, parts: &[Option<Id>], offset: i32, address: u16) -> bool {
        let [Some(lo), Some(hi)] = *parts else {
            return false;
        };
        let graph = &self.c.graph;
        let whole = |n: &Node| n.op == Inst::Pair && n.args[..2] == [lo, hi];
        let Some(pair) = graph.iter().position(whole) else {
            return false;
        };
        let at = |&pos: &u32| self.plan.ops.get(pos as usize).map(|o| o.id);
        let mut uses = self.plan.uses[lo as usize]
            .iter()
            .chain(&self.plan.uses[hi as usize]);
        if !uses.all(|pos| at(pos) == Some(pair as Id)) || self.plan.uses[pair].is_empty() {
            return false;
        }
        let regs = [0, 1].map(|part| {
            let d = self.define(pair as Id, part);
            self.hold(d);
            d
        });
        self.base_of(address);
        self.fetch_ahead(8, offset, address, false);
        for (k, d) in regs.into_iter().enumerate() {
            let from = Rm::M(place(offset + 64 * k as i32));
            self.a.z(op::MOVDQU32, d, 0, from);
        }
        true
    }

    /// The registers of what a store writes.
    fn store_data(&mut self, s: &Store) -> Vec<u8> {
        let mut data = Vec::new();
        for &d in &s.data {
            for part in 0..1 + (s.bytes == 8) as u8 {
                let r = self.zreg(d, part);
                self.hold(r);
                data.push(r);
            }
        }
        data
    }

    /// Keeps the data that deferred stores will write for the current slice.
    pub(super) fn keep_stores(&mut self) {
        let c = self.c;
        if c.effects.deferred_stores.is_empty() {
            return;
        }
        self.let_go();
        let parts = |s: &Store| s.data.len() * if s.bytes == 8 { 2 } else { 1 };
        let few =
            c.effects.deferred_stores.iter().map(parts).sum::<usize>() <= KEPT && !self.looped;
        for (store, s) in c.effects.deferred_stores.iter().enumerate() {
            for r in self.store_data(s) {
                let mut kept = Kept {
                    store,
                    slice: self.slice,
                    reg: Some(r),
                    slot: 0,
                };
                if !few {
                    kept.reg = None;
                    kept.slot = self.v.next_slot;
                    self.v.next_slot += if self.looped { 4 } else { 1 };
                    let to = self.kept_back(kept.slot);
                    self.a.z(op::MOVDQU32_ST, r, 0, Rm::M(to));
                }
                self.v.bases.kept.push(kept);
            }
            self.let_go();
        }
    }

    /// Does the deferred stores, one after the other. Nothing can fail from the first one on.
    pub(super) fn deferred_stores(&mut self) {
        let c = self.c;
        let all = std::mem::take(&mut self.v.bases.kept);
        for (n, s) in c.effects.deferred_stores.iter().enumerate() {
            let (address, offset) = c.affine.stores[n];
            let turn = |e: &mut Self, exec: Mem| {
                if e.full.is_none() {
                    e.a.kload16(K_EXEC, exec);
                }
                e.v.z = Bank::default();
                e.v.k = Bank::default();
                e.v.k.busy = 1 | 1 << K_EXEC | 1 << K_BAD | !0xff;
                e.v.bases.kept = all.clone();
                e.let_go();
                let mut data = Vec::new();
                let slice = e.slice;
                for k in all.iter().filter(|k| k.store == n && k.slice == slice) {
                    let r = k.reg.unwrap_or_else(|| {
                        let r = e.temp();
                        let from = e.kept_back(k.slot);
                        e.a.z(op::MOVDQU32, r, 0, Rm::M(from));
                        r
                    });
                    e.hold(r);
                    data.push(r);
                }
                match s.in_order {
                    true => e.store_in_order(&data, address, offset),
                    false => e.store_parts(s.bytes, &data, address, offset),
                }
            };
            self.turns(turn, |_| ());
        }
        self.v.bases.kept.clear();
        self.let_go();
    }

    /// Loads of dwords of lanes that are one, two or four dwords apart, by whole rows.
    /// They begin at `from`.
    fn load_rows(&mut self, parts: &[Option<Id>], address: u16, step: i32, from: i32, offset: i32) {
        let row = (step / 4) as usize;
        let first = (offset - from) as usize / 4;
        let temps: Vec<u8> = (1..row)
            .map(|_| {
                let t = self.temp();
                self.hold(t);
                t
            })
            .collect();
        self.base_of(address);
        self.fetch_ahead(step, from, address, false);
        for at in 0..(first + parts.len()).div_ceil(row) {
            let mut data = [None; 4];
            for (k, d) in data.iter_mut().take(row).enumerate() {
                let part = (at * row + k).checked_sub(first);
                if let Some(part) = part.and_then(|k| *parts.get(k)?) {
                    let r = self.define(part, 0);
                    self.hold(r);
                    *d = Some(r);
                }
            }
            let from = from + at as i32 * step;
            match (row, temps.as_slice()) {
                (2, &[t]) => self.row_of_two(data, from, t),
                (4, &[t, u, v]) => self.row_of_four(data, from, [t, u, v]),
                _ => {
                    if let Some(d) = data[0] {
                        let on = self.on_or_zero();
                        self.a.zk(op::MOVDQU32, d, 0, Rm::M(place(from)), on);
                    }
                }
            }
        }
    }

    /// Those wanted of a row of two dwords a lane.
    fn row_of_two(&mut self, data: [Option<u8>; 4], from: i32, t: u8) {
        if data == [None; 4] {
            return;
        }
        self.a.z(op::MOVDQU32, t, 0, Rm::M(place(from)));
        for (mix, d) in [Mix::Even, Mix::Odd].into_iter().zip(data) {
            if let Some(d) = d {
                self.mix(mix, d, t, Rm::M(place(from + 64)));
            }
        }
    }

    /// Those wanted of a row of four dwords a lane: every other dword, then again.
    fn row_of_four(&mut self, data: [Option<u8>; 4], from: i32, [t, u, v]: [u8; 3]) {
        for (k, mix) in [Mix::Even, Mix::Odd].into_iter().enumerate() {
            if (data[k], data[k + 2]) == (None, None) {
                continue;
            }
            for (half, to) in [(0, u), (128, v)] {
                self.a.z(op::MOVDQU32, t, 0, Rm::M(place(from + half)));
                self.mix(mix, to, t, Rm::M(place(from + half + 64)));
            }
            for (mix, d) in [(Mix::Even, data[k]), (Mix::Odd, data[k + 2])] {
                if let Some(d) = d {
                    self.mix(mix, d, u, Rm::R(v));
                }
            }
        }
    }

    /// Loads of elements that do not lie one behind the other.
    fn load_apart(
        &mut self,
        bytes: u8,
        parts: &[Option<Id>],
        address: u16,
        step: i32,
        offset: i32,
    ) {
        let t = self.temp();
        self.hold(t);
        let u = self.temp();
        self.hold(u);
        let wanted: Vec<bool> = parts.iter().map(Option::is_some).collect();
        let data: Vec<u8> = parts
            .iter()
            .map(|part| {
                let r = part.map_or(t, |part| self.define(part, 0));
                self.hold(r);
                r
            })
            .collect();
        self.base_of(address);
        if within_register(step) && data.len() == 1 {
            self.load_close(bytes, data[0], t, step, offset);
        } else {
            self.distances(t, step);
            self.gather(bytes, &data, &wanted, t, u, offset);
        }
    }

    /// Stores registers at an affine address.
    fn store_parts(&mut self, bytes: u8, data: &[u8], address: u16, offset: i32) {
        let step = self.c.affine.addresses[address as usize].step;
        let count = if bytes == 8 { 1 } else { data.len() as u8 };
        if Shape::of(step, bytes, count, true) == Some(Shape::Apart) {
            let t = self.temp();
            self.hold(t);
            self.base_of(address);
            if within_register(step) && count == 1 {
                self.store_close(bytes, data[0], t, step, offset);
                return;
            }
            self.distances(t, step);
            if data.len().is_multiple_of(2) {
                self.scatter_pairs(data, t, step, offset);
                return;
            }
            for (n, &r) in data.iter().enumerate() {
                self.scatter(bytes, r, t, offset + 4 * n as i32);
            }
            return;
        }
        if bytes == 8 {
            self.base_of(address);
            self.fetch_ahead(8, offset, address, true);
            let q = op::MOVDQU32_ST.pd();
            for (part, &r) in data.iter().enumerate() {
                let on = self.upper_on(part == 1);
                let to = Rm::M(place(offset + 64 * part as i32));
                self.a.zk(q, r, 0, to, on);
            }
            return;
        }
        let (t, u) = if data.len() > 1 {
            let t = self.temp();
            self.hold(t);
            let u = self.temp();
            self.hold(u);
            (t, u)
        } else {
            (0, 0)
        };
        self.base_of(address);
        self.fetch_ahead(bytes as i32 * data.len() as i32, offset, address, true);
        self.store_elements(bytes, data, place(offset), t, u);
    }

    pub(super) fn linear_store(&mut self, s: &Store, address: u16, offset: i32) {
        self.let_go();
        let data = self.store_data(s);
        match s.in_order {
            true => self.store_in_order(&data, address, offset),
            false => self.store_parts(s.bytes, &data, address, offset),
        }
        self.let_go();
    }
}
