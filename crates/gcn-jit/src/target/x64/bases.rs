//! Affine values: the bases of the four slices in registers of 128 bits, their guards and addresses; and values computed from them.

use super::affine::decided;
use super::machine::{At, Machine};
use super::range::Range;
use super::*;
use crate::context::{AFFINE_ADDRESSES, AFFINE_BASES};
use crate::ir::affine::{Address, Base, BaseOp, Guard, SliceLayout};
use crate::lir::{Code, Remat, Role, VReg};
use std::rc::Rc;

/// The machine instructions of a level for bases: on the four slices' dwords in the lower 128 bits of a register, or on their qwords in
/// 256 bits. Truth values are dwords of ones or zeros.
pub(crate) trait BaseOps<V: VectorIsa<Base = Self>>: Machine<V> + From<SharedBase> {
    /// The number of host registers that are allocated.
    const REGISTERS: u8;

    /// The number of temporary registers of [`SharedBase::Address`].
    const TEMPS: usize;

    fn constant(b: &mut Bases<'_, '_, V>, value: u32) -> VReg;

    /// Returns the numbers of the slices' first lanes times a number.
    fn firsts(b: &mut Bases<'_, '_, V>, step: u32) -> VReg;

    /// Selects arithmetic, bitwise operations and shifts.
    fn dword(b: &mut Bases<'_, '_, V>, o: Op, signed: bool, of: [VReg; 2]) -> VReg;

    /// Returns the upper halves of products.
    fn high_product(b: &mut Bases<'_, '_, V>, signed: bool, of: [VReg; 2]) -> VReg;

    /// Returns the second operand's bits without the first's.
    fn and_not(b: &mut Bases<'_, '_, V>, of: [VReg; 2]) -> VReg;

    /// Shifts by a constant: `ext` 2 right, 4 right with the sign, 6 left.
    fn shift(b: &mut Bases<'_, '_, V>, ext: u8, a: VReg, by: u8) -> VReg;
    fn double_shift(b: &mut Bases<'_, '_, V>, left: bool, of: [VReg; 2], by: u8) -> VReg;
    fn compare(b: &mut Bases<'_, '_, V>, o: Op, signed: bool, of: [VReg; 2]) -> VReg;

    /// Returns the first value where the mask is true, elsewhere the second.
    fn select(b: &mut Bases<'_, '_, V>, mask: VReg, of: [VReg; 2]) -> VReg;

    /// Sets all bits up to the highest 1.
    fn to_highest(b: &mut Bases<'_, '_, V>, a: VReg) -> VReg;

    /// Returns the first slice's value for all slices.
    fn first(b: &mut Bases<'_, '_, V>, a: VReg) -> VReg;

    /// Operations on qwords: extension of dwords, left shift, disjunction and sum.
    fn qword(b: &mut Bases<'_, '_, V>, signed: bool, a: VReg) -> VReg;
    fn qword_shl(b: &mut Bases<'_, '_, V>, a: VReg, by: u8) -> VReg;
    fn qword_or(b: &mut Bases<'_, '_, V>, of: [VReg; 2]) -> VReg;
    fn qword_add(b: &mut Bases<'_, '_, V>, of: [VReg; 2]) -> VReg;

    /// Adds a condition that must hold in all slices with active lanes: that no bit is 1 in both operands, or a comparison.
    /// [`BaseOps::checked`] leaves the block if one does not hold.
    fn hold_zero(b: &mut Bases<'_, '_, V>, of: [VReg; 2]);
    fn hold(b: &mut Bases<'_, '_, V>, o: Op, signed: bool, of: [VReg; 2]);
    fn checked(b: &mut Bases<'_, '_, V>);
}

/// The machine instructions of bases that all levels have.
#[derive(Debug)]
pub(crate) enum SharedBase {
    /// An element of 4 or 8 bytes in memory, for all slices.
    Broadcast(Mem, u8),
    /// Lanes 0, 16, 32 and 48 of a VGPR.
    Vgpr(u16),
    /// Stores the slices' dwords.
    Store(Mem),
    /// Finds the host's addresses of the slices' first lanes, or leaves the block.
    Address(Rc<BaseAddress>),
}

/// An affine address. Operands: the slices' first addresses (lower halves in LDS, 64 bits in memory); temporary registers.
#[derive(Debug)]
pub(crate) struct BaseAddress {
    pub number: u16,
    pub address: Address,
    /// The remembered range. `None` if the address is in LDS.
    pub range: Option<Range>,
}

/// The operands of an address: see [`Address`].
type AddressOperands = (Base, Base, Option<u8>);

/// The selection of bases.
pub(crate) struct Bases<'t, 'a, V: VectorIsa> {
    pub e: &'t mut Emit<'a, V>,
    pub code: Code<V::Base>,
    /// The registers of constants.
    pub constants: Map<[u32; 8], VReg>,
    values: Vec<Option<VReg>>,
    /// There are conditions so far; and the register with the slices in which all of them hold, if it is allocated.
    pub begun: bool,
    pub held: Option<VReg>,
    within: Vec<(Base, i32)>,
    /// The last result of [`Bases::full_address`].
    last_full_address: Option<(AddressOperands, VReg)>,
}

/// Returns which bases are computed: those that are stored or checked, and the bases that they depend on.
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

impl<V: Vectors> Emit<'_, V> {
    /// Computes all bases, and checks the guards and the addresses.
    pub(super) fn affine_bases(&mut self) {
        let c = self.c;
        let bases = &c.affine;
        if bases.ops.len() > AFFINE_BASES || bases.addresses.len() > AFFINE_ADDRESSES {
            self.out.too_large = true;
            return;
        }
        if bases.ops.is_empty() {
            return;
        }
        let mut b = Bases {
            e: self,
            code: Code::default(),
            constants: Map::default(),
            values: vec![None; bases.ops.len()],
            begun: false,
            held: None,
            within: Vec::new(),
            last_full_address: None,
        };
        b.all();
        let code = b.code;
        if let Some(out) = self.allocate(&code, [V::Base::REGISTERS, 0], 0) {
            self.steps(&code, &out);
        }
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

    /// Emits the code that leaves the block for code without affine values.
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

    /// Emits the code for an address outside of the remembered range: the helper looks it up.
    pub(super) fn find_base(&mut self, base: &BaseAddress, range: Range, leave: Label) {
        let a = base.address;
        let asked = a.from as u32 as u64 | (a.to as u32 as u64) << 32;
        self.a.imm(RAX, asked);
        self.a.store(true, ctx!(lookup.bytes), RAX);
        let step = if a.reads_inactive { 0 } else { a.step as u32 };
        let what = base.number as u64 | (a.need as u64) << 8 | (step as u64) << 32;
        self.ask_range(what, range);
        let call = self.common.range_call;
        self.a.call_label(call);
        self.a.test(false, RAX, RAX);
        self.a.jcc(Cc::Ne, leave);
        self.tag(range);
    }

    /// Returns the location of a base for the current slice.
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
}

impl<V: Vectors> Bases<'_, '_, V> {
    fn dword(&mut self, o: Op, a: VReg, b: VReg) -> VReg {
        V::Base::dword(self, o, false, [a, b])
    }

    fn constant(&mut self, value: u32) -> VReg {
        V::Base::constant(self, value)
    }

    fn broadcast(&mut self, from: Mem, bytes: u8) -> VReg {
        let op = SharedBase::Broadcast(from, bytes).into();
        self.code.push_remat(op, V::BROADCAST, 0)
    }

    fn all(&mut self) {
        let c = self.e.c;
        let bases = &c.affine;
        let needed = needed(&bases.ops, &bases.guards, &bases.addresses);
        // Assumed comparisons come first: if one fails, nothing else needs to be computed.
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
                    let slot = self.e.base_slot(at as Base);
                    let store = SharedBase::Store(slot);
                    self.code.push(store.into(), &[(r, Role::Use)]);
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
        let op = self.e.c.affine.ops[q as usize];
        let r = match op.op {
            BaseKind::Vgpr(v) => self
                .code
                .push_remat(SharedBase::Vgpr(v).into(), Remat::Value, 0),
            BaseKind::Lane => V::Base::firsts(self, 1),
            BaseKind::Const(v) => self.constant(v),
            BaseKind::Scalar(id) => {
                let from = self.e.smem(id);
                self.broadcast(from, 4)
            }
            _ => self.operation(op),
        };
        self.values[q as usize] = Some(r);
        r
    }

    fn operation(&mut self, q: BaseOp) -> VReg {
        let konst = |e: &Emit<'_, V>, q: Base| match e.c.affine.ops[q as usize].op {
            BaseKind::Const(v) => Some(v),
            _ => None,
        };
        let [x, y, w] = q.args;
        let a = self.base(x);
        let (o, ty) = match q.op {
            BaseKind::Shld(by) | BaseKind::Shrd(by) => {
                let left = matches!(q.op, BaseKind::Shld(_));
                let b = self.base(y);
                return V::Base::double_shift(self, left, [a, b], by);
            }
            BaseKind::Alu(o, ty) => (o, ty),
            _ => return a,
        };
        let signed = ty.is_signed();
        match o {
            Op::Shl | Op::Shr => {
                if let Some(by) = konst(self.e, y) {
                    let (ext, most) = match (o, signed) {
                        (Op::Shl, _) => (6, 32),
                        (_, true) => (4, 31),
                        _ => (2, 32),
                    };
                    return V::Base::shift(self, ext, a, by.min(most) as u8);
                }
            }
            Op::Not => {
                let ones = self.constant(u32::MAX);
                return self.dword(Op::Xor, a, ones);
            }
            Op::Zext => return V::Base::shift(self, 2, a, 31),
            Op::Select => {
                let of = [self.base(y), self.base(w)];
                return V::Base::select(self, a, of);
            }
            Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge => {
                let b = self.base(y);
                return V::Base::compare(self, o, signed, [a, b]);
            }
            Op::MulHi => {
                let b = self.base(y);
                return V::Base::high_product(self, signed, [a, b]);
            }
            _ => {}
        }
        let b = self.base(y);
        V::Base::dword(self, o, signed, [a, b])
    }

    // ---- guards ----

    fn plus(&mut self, r: VReg, by: i32) -> VReg {
        let by = self.constant(by as u32);
        self.dword(Op::Add, r, by)
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

    /// Compares unsigned numbers with the limit beyond which adding the step wraps.
    fn not_beyond(&mut self, r: VReg, step: i32) {
        let (o, limit) = match step > 0 {
            true => (Op::Le, !(step as u32)),
            false => (Op::Ge, step.unsigned_abs()),
        };
        let limit = self.constant(limit);
        V::Base::hold(self, o, false, [r, limit]);
    }

    /// Compares signed numbers with the limit beyond which adding the step wraps.
    fn not_beyond_signed(&mut self, r: VReg, step: i32) {
        let (o, limit) = match step > 0 {
            true => (Op::Le, i32::MAX - step),
            false => (Op::Ge, i32::MIN - step),
        };
        let limit = self.constant(limit as u32);
        V::Base::hold(self, o, true, [r, limit]);
    }

    fn guards(&mut self, guards: &[Guard]) {
        // Conditions up to here have been checked, so later guards are checked anew.
        self.within.clear();
        for &g in guards {
            match g {
                Guard::Top { of, step, bits } => {
                    let r = self.base(of);
                    let t = self.plus(r, step);
                    let t = self.dword(Op::Xor, t, r);
                    let mask = self.constant(!(u32::MAX >> bits));
                    V::Base::hold_zero(self, [t, mask]);
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
                    let less = [firsts, lasts].map(|of| V::Base::compare(self, Op::Lt, false, of));
                    V::Base::hold(self, Op::Eq, false, less);
                }
                Guard::Bits {
                    of,
                    step,
                    mask,
                    ones,
                } => {
                    let r = self.base(of);
                    let t = self.plus(r, step);
                    let t = self.dword(Op::Xor, t, r);
                    // The bits in which two lanes may differ.
                    let mut t = V::Base::to_highest(self, t);
                    if Guard::moving(step) != u32::MAX {
                        let moving = self.constant(Guard::moving(step));
                        t = self.dword(Op::And, t, moving);
                    }
                    let m = self.base(mask);
                    let of = match ones {
                        true => {
                            let others = V::Base::and_not(self, [m, t]);
                            [others, others]
                        }
                        false => [t, m],
                    };
                    V::Base::hold_zero(self, of);
                }
                Guard::AssumedCompare {
                    op,
                    signed,
                    of,
                    step,
                } => self.assumed(op, signed, of, step),
            }
        }
        V::Base::checked(self);
    }

    fn assumed(&mut self, o: Op, signed: bool, of: [Base; 2], step: [i32; 2]) {
        let mut values = of.map(|q| self.base(q));
        if o == Op::Ne {
            // The difference of the values is taken at the lane where it is least: it must not be 0, nor wrap around.
            let by = step[0].wrapping_sub(step[1]);
            let mut t = self.dword(Op::Sub, values[0], values[1]);
            if by > 0 {
                t = self.plus(t, by);
            }
            let limit = self.constant(by.unsigned_abs());
            V::Base::hold(self, Op::Gt, false, [t, limit]);
            return;
        }
        if o == Op::Eq {
            let of = match step[0] == step[1] {
                true => values,
                false => [0, 1].map(|value| self.constant(value)),
            };
            V::Base::hold(self, Op::Eq, false, of);
            return;
        }
        // The first value's maximum is compared with the second value's minimum.
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
        V::Base::hold(self, o, signed, values);
    }

    // ---- addresses ----

    /// Computes and checks the host's addresses of the slices' first lanes.
    fn address(&mut self, i: u16, a: Address) {
        let lo = self.base(a.lo);
        if let Some(layout) = a.slice_layout {
            let first = V::Base::first(self, lo);
            match layout {
                SliceLayout::Multiples(bytes) => {
                    let t = self.dword(Op::Xor, first, lo);
                    let apart = self.constant(bytes as u32 - 1);
                    V::Base::hold_zero(self, [t, apart]);
                }
                SliceLayout::Rows => {
                    let step = a.step >> a.index.unwrap_or(0);
                    let rows = V::Base::firsts(self, step as u32);
                    let t = self.dword(Op::Add, first, rows);
                    V::Base::hold(self, Op::Eq, false, [t, lo]);
                }
            }
            V::Base::checked(self);
        }
        let mut base = BaseAddress {
            number: i,
            address: a,
            range: None,
        };
        let r = match a.limit {
            Some(_) => lo,
            None => {
                base.range = Some(self.e.new_range());
                let mut address = self.full_address(a, lo);
                if let Some((low, high)) = a.plus {
                    let plus = self.e.scalar_halves(low, high);
                    let plus = self.broadcast(plus, 8);
                    address = V::Base::qword_add(self, [address, plus]);
                }
                address
            }
        };
        let mut operands = vec![(r, Role::Use)];
        operands.extend((0..V::Base::TEMPS).map(|_| (self.code.reg(0), Role::Temp)));
        let op = SharedBase::Address(Rc::new(base));
        self.code.push(op.into(), &operands);
    }

    /// Returns the 64-bit address without the added scalar. Consecutive accesses often share it.
    fn full_address(&mut self, a: Address, lo: VReg) -> VReg {
        let which = (a.lo, a.hi, a.index);
        if let Some((last, r)) = self.last_full_address
            && last == which
        {
            return r;
        }
        let r = match a.index {
            Some(by) => {
                let address = V::Base::qword(self, true, lo);
                match by {
                    0 => address,
                    _ => V::Base::qword_shl(self, address, by),
                }
            }
            None => {
                let address = V::Base::qword(self, false, lo);
                match self.e.c.affine.ops[a.hi as usize].op {
                    BaseKind::Const(0) => address,
                    _ => {
                        let hi = self.base(a.hi);
                        let hi = V::Base::qword(self, false, hi);
                        let hi = V::Base::qword_shl(self, hi, 32);
                        V::Base::qword_or(self, [address, hi])
                    }
                }
            }
        };
        self.last_full_address = Some((which, r));
        r
    }
}
