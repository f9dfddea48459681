//! Operations on the values of 16 lanes.

use super::*;

impl Emit<'_, Avx512> {
    pub(super) fn vector(&mut self, vop: &VectorOp) {
        let n = *self.node(vop.id);
        let [x, y, w] = vop.args;
        self.let_go();
        self.v.k.busy = 1 | 1 << K_EXEC | 1 << K_BAD;
        if let Some(ternary) = self.plan.ternary.get(&vop.id) {
            let table = ternary.table;
            self.tern(vop.id, table, vop.args);
            self.let_go();
            return;
        }
        match n.op {
            Inst::MaskOf => {
                let m = self.smem(x);
                let m = self.mask_bits(m);
                let k = self.kdefine(vop.id);
                self.a.kload16(k, m);
            }
            // It may have been loaded as it is.
            Inst::Pair if self.v.z.holds(vop.id) => {}
            Inst::Pair => self.combine(vop.id, x, y),
            Inst::LanesIn(v) => self.lanes_in(vop.id, v, x),
            Inst::VgprAt => self.vgpr_at(vop.id, x),
            Inst::Shuffle(digits) => self.shuffle(vop.id, digits, x),
            Inst::Lo | Inst::Hi => {
                let (p, q) = (self.wreg(x, 0), {
                    let p = self.wreg(x, 0);
                    self.hold(p);
                    self.wreg(x, 1)
                });
                self.hold(q);
                let d = self.define(vop.id, 0);
                let mix = if n.op == Inst::Lo {
                    Mix::Even
                } else {
                    Mix::Odd
                };
                self.mix(mix, d, p, Rm::R(q));
            }
            Inst::Shld(by) | Inst::Shrd(by) => {
                let left = matches!(n.op, Inst::Shld(_));
                let p = self.zreg(x, 0);
                self.hold(p);
                if x == y {
                    let d = self.define(vop.id, 0);
                    self.a
                        .evex(op::SHIFTD_I, 2, left as u8, d, Rm::R(p), ALL, Some(by));
                } else {
                    let q = self.rm(y);
                    self.hold_rm(q);
                    let d = self.define(vop.id, 0);
                    self.a
                        .zi(if left { op::SHLDD } else { op::SHRDD }, d, p, q, ALL, by);
                }
            }
            Inst::Group {
                space,
                bytes,
                count,
                offset,
            } => self.group(vop.id, space, bytes, count, offset, x, y),
            Inst::AffineLoad {
                bytes,
                count,
                offset,
                address,
                in_order: true,
                ..
            } => self.load_in_order(vop.id, bytes * count, offset, address),
            Inst::AffineLoad {
                bytes,
                count,
                offset,
                address,
                broadcast,
                ..
            } => self.linear_group(vop.id, bytes, count, offset, address, broadcast),
            Inst::Row(offset) => self.row(vop.id, x, offset),
            Inst::Part(_) | Inst::ShrLane => {}
            Inst::FastPath(number) => self.rare(vop, &n, number),
            Inst::Alu(o) => {
                if n.out == Ty::Bool {
                    self.truth(vop.id, o, &n, x, y);
                } else if n.ty.bits() > 32 || n.out.bits() > 32 {
                    self.wide(vop, o, &n);
                } else {
                    self.narrow(vop, o, &n, x, y, w);
                }
            }
            _ => self.mistaken(),
        }
        self.let_go();
        if vop.flush || vop.check {
            let wide = n.out.bits() > 32;
            if wide && !vop.flush && self.full.is_some() {
                // Both halves of the lanes at once.
                let r = self.zreg(vop.id, 0);
                self.hold(r);
                let u = self.zreg(vop.id, 1);
                let k = self.ktemp();
                self.a.zi(op::CMPPS.pd(), k, r, Rm::R(u), ALL, 3);
                self.a.kop(kop::OR, K_BAD, K_BAD, k);
            } else {
                for part in 0..1 + wide as u8 {
                    self.look(vop, part, wide);
                }
            }
        }
        self.let_go();
        if let (true, Inst::Alu(o)) = (vop.fix, n.op) {
            let wide = n.out.bits() > 32;
            for part in 0..1 + wide as u8 {
                self.fix(vop, o, part, wide);
                self.let_go();
                self.v.k.busy = 1 | 1 << K_EXEC | 1 << K_BAD | !0xff;
            }
        }
    }

    /// Flushes a result and notes NaNs.
    pub(super) fn look(&mut self, vop: &VectorOp, part: u8, wide: bool) {
        let r = self.changed(vop.id, part);
        self.hold(r);
        let k = self.ktemp();
        if vop.flush {
            let (exponent, sign) = if wide {
                (0x7ff << 52, 1 << 63)
            } else {
                (0x7f80_0000, 0x8000_0000)
            };
            self.a
                .zk(op::TESTNMD.wide(wide), k, r, Rm::C(exponent), ALL);
            self.a.zk(op::ANDD.wide(wide), r, r, Rm::C(sign), keep(k));
        }
        if vop.check && !wide && self.v.deferred_values.contains(&vop.id) {
            // Looked at where the slice ends, two at a time.
            self.v.unchecked_values.push(vop.id);
        } else if vop.check {
            let mut on = self.on();
            if part == 1 && self.full.is_none() {
                self.a.kshiftr(k, K_EXEC, 8);
                on = keep(k);
            }
            let e = if wide { op::CMPPS.pd() } else { op::CMPPS };
            self.a.zi(e, k, r, Rm::R(r), on, 3);
            self.a.kop(kop::OR, K_BAD, K_BAD, k);
        }
    }

    /// Notes NaNs of the values that are kept in registers until nothing can fail.
    pub(super) fn check_deferred(&mut self) {
        let mut registers = Vec::new();
        for id in std::mem::take(&mut self.v.unchecked_values) {
            let of =
                |p: &&DeferredWrite| p.slice == self.slice && self.c.effects.vgprs[p.write].1 == id;
            let r = self.v.deferred_writes.iter().find(of).and_then(|p| p.reg);
            if r.is_none() {
                self.mistaken();
            }
            registers.extend(r);
        }
        for two in registers.chunks(2) {
            let (a, b) = (two[0], two[two.len() - 1]);
            let (k, on) = (self.ktemp(), self.on());
            self.a.zi(op::CMPPS, k, a, Rm::R(b), on, 3);
            self.a.kop(kop::OR, K_BAD, K_BAD, k);
        }
    }

    pub(super) fn tern(&mut self, id: Id, table: u8, args: [Id; 3]) {
        let [x, y, w] = args;
        let q = self.zreg(y, 0);
        self.hold(q);
        let r = self.rm(w);
        self.hold_rm(r);
        let d = self.overwrite(id, x);
        self.a.zi(op::TERND, d, q, r, ALL, table);
    }

    /// A register for a new value that holds the value `x` now: that of `x` itself where nothing else needs it.
    pub(super) fn overwrite(&mut self, id: Id, x: Id) -> u8 {
        let r = self.zreg(x, 0);
        self.reuse((x, 0), (id, 0), r)
    }

    pub(super) fn reuse(&mut self, from: Part, to: Part, r: u8) -> u8 {
        let held = self.v.z.busy >> r & 1 != 0;
        if self.next_use(from.0) == u32::MAX
            && !held
            && !self.common.exact
            && self.v.z.at.get(&from) == Some(&r)
        {
            self.v.z.at.remove(&from);
            self.put(to.0, to.1, r);
            return r;
        }
        self.hold(r);
        let d = self.define(to.0, to.1);
        self.a.z(op::MOVDQU32, d, 0, Rm::R(r));
        d
    }

    /// 64-bit values of halves.
    pub(super) fn combine(&mut self, id: Id, lo: Id, hi: Id) {
        let p = self.zreg(lo, 0);
        self.hold(p);
        if self.konst(hi) == Some(0) {
            let d = self.define(id, 0);
            self.hold(d);
            self.a.z(op::PMOVZXDQ, d, 0, Rm::R(p));
            let e = self.define(id, 1);
            self.a.zi(op::EXTRACT256, p, 0, Rm::R(e), ALL, 1);
            self.a.z(op::PMOVZXDQ, e, 0, Rm::R(e));
            return;
        }
        let q = self.zreg(hi, 0);
        self.hold(q);
        let d = self.define(id, 0);
        self.hold(d);
        self.mix(Mix::ZipLow, d, p, Rm::R(q));
        let e = self.define(id, 1);
        self.mix(Mix::ZipHigh, e, p, Rm::R(q));
    }

    /// A mix of two registers' elements in `d`.
    pub fn mix(&mut self, mix: Mix, d: u8, p: u8, q: Rm) {
        let index = match mix {
            Mix::Even => ctx!(even),
            Mix::Odd => ctx!(odd),
            Mix::ZipLow => ctx!(zip_low),
            Mix::ZipHigh => ctx!(zip_high),
        };
        self.a.z(op::MOVDQU32, d, 0, Rm::M(index));
        self.a.z(op::PERMI2D, d, p, q);
    }

    /// An operation whose result is a truth value.
    pub(super) fn truth(&mut self, id: Id, o: Op, n: &Node, x: Id, y: Id) {
        if n.ty == Ty::Bool {
            let p = self.kreg(x);
            self.v.k.busy |= 1 << p;
            if o == Op::Not {
                let d = self.kdefine(id);
                self.a.knot(d, p);
                return;
            }
            let q = self.kreg(y);
            self.v.k.busy |= 1 << q;
            let d = self.kdefine(id);
            let code = match o {
                Op::And => kop::AND,
                Op::Or => kop::OR,
                Op::Xor | Op::Ne => kop::XOR,
                Op::Eq => kop::XNOR,
                _ => {
                    self.mistaken();
                    kop::AND
                }
            };
            self.a.kop(code, d, p, q);
            return;
        }
        if o == Op::Class {
            self.class(id, n, x, y);
            return;
        }
        let float = n.ty.is_float();
        let predicate = match (o, float) {
            (Op::Eq, _) => 0,
            (Op::Lt, false) => 1,
            (Op::Le, false) => 2,
            (Op::Ne, false) => 4,
            (Op::Ge, false) => 5,
            (Op::Gt, false) => 6,
            // Ordered and quiet.
            (Op::Lt, true) => 0x11,
            (Op::Le, true) => 0x12,
            (Op::Gt, true) => 0x1e,
            (Op::Ge, true) => 0x1d,
            (Op::Ne, true) => 0x0c,
            (Op::Unord, _) => 3,
            _ => {
                self.mistaken();
                0
            }
        };
        if n.ty == Ty::F64 {
            let p = self.wreg(x, 0);
            self.hold(p);
            let q = self.wrm(y, 0);
            self.hold_rm(q);
            let low = self.ktemp();
            self.v.k.busy |= 1 << low;
            self.a.zi(op::CMPPS.pd(), low, p, q, ALL, predicate);
            let p = self.wreg(x, 1);
            self.hold(p);
            let q = self.wrm(y, 1);
            self.hold_rm(q);
            let high = self.ktemp();
            self.v.k.busy |= 1 << high;
            self.a.zi(op::CMPPS.pd(), high, p, q, ALL, predicate);
            let d = self.kdefine(id);
            self.a.kunpckbw(d, high, low);
            return;
        }
        let p = self.zreg(x, 0);
        self.hold(p);
        let q = self.rm(y);
        self.hold_rm(q);
        let d = self.kdefine(id);
        let e = match (float, n.ty.is_signed()) {
            (true, _) => op::CMPPS,
            (_, true) => op::CMPD,
            _ => op::CMPUD,
        };
        self.a.zi(e, d, p, q, ALL, predicate);
    }

    /// Whether a float is of one of the classes that a constant names: NaNs and infinities.
    pub(super) fn class(&mut self, id: Id, n: &Node, x: Id, mask: Id) {
        let mask = self.konst(mask).unwrap_or(0);
        // Signalling, quiet, minus and plus infinity, as the meaning numbers them and as the host does.
        let classes = [(0x001, 0x80), (0x002, 0x01), (0x004, 0x10), (0x200, 0x08)];
        let imm = classes.iter().fold(
            0,
            |imm, &(bit, host)| if mask & bit != 0 { imm | host } else { imm },
        );
        if n.ty == Ty::F32 {
            let p = self.zreg(x, 0);
            let d = self.kdefine(id);
            self.a.zi(op::FPCLASSPS, d, 0, Rm::R(p), ALL, imm);
            return;
        }
        let mut halves = [0; 2];
        for part in 0..2 {
            let p = self.wreg(x, part);
            self.hold(p);
            let k = self.ktemp();
            self.v.k.busy |= 1 << k;
            self.a.zi(op::FPCLASSPS.pd(), k, 0, Rm::R(p), ALL, imm);
            halves[part as usize] = k;
        }
        let d = self.kdefine(id);
        self.a.kunpckbw(d, halves[1], halves[0]);
    }

    pub(super) fn narrow(&mut self, vop: &VectorOp, o: Op, n: &Node, x: Id, y: Id, w: Id) {
        let id = vop.id;
        let bits = n.out.bits();
        let float = n.ty == Ty::F32;
        let (p, q) = self.operand_order(vop, o, n, x, y);
        if matches!(o, Op::IntToFloat | Op::FloatToInt | Op::FloatToFloat) {
            return self.convert(id, o, n, x);
        }
        if float && o != Op::Select || o == Op::Fma {
            return self.narrow_float(vop, o, n, [p, q, w]);
        }
        match o {
            Op::Zext => {
                // A truth value as a number.
                let k = self.kreg(x);
                let d = self.define(id, 0);
                self.a.zk(op::BCASTD, d, 0, Rm::C(1), zero(k));
            }
            Op::Not => {
                let mask = gcn_isa::meaning::width_mask(n.out);
                let p = self.zreg(x, 0);
                self.hold(p);
                let d = self.define(id, 0);
                self.a.z(op::XORD, d, p, Rm::C(mask));
            }
            Op::And => drop(self.binary(id, op::ANDD, p, q)),
            Op::Or => drop(self.binary(id, op::ORD, p, q)),
            Op::Xor => drop(self.binary(id, op::XORD, p, q)),
            Op::Add | Op::Sub => {
                // A truth value as the second operand counts under its mask.
                let b = *self.node(y);
                if b.op == Inst::Alu(Op::Zext) && b.ty == Ty::Bool && bits == 32 {
                    let k = self.kreg_of_zext(y);
                    let d = self.overwrite(id, x);
                    let e = if o == Op::Add { op::ADDD } else { op::SUBD };
                    self.a.zk(e, d, d, Rm::C(1), keep(k));
                    return;
                }
                let d = self.binary(id, if o == Op::Add { op::ADDD } else { op::SUBD }, p, q);
                self.narrow_to(d, n.out);
            }
            Op::Mul => {
                let d = self.binary(id, op::MULLD, p, q);
                self.narrow_to(d, n.out);
            }
            Op::Neg => {
                let p = self.rm(x);
                self.hold_rm(p);
                let t = self.temp();
                self.hold(t);
                self.a.z(op::XORD, t, t, Rm::R(t));
                let d = self.define(id, 0);
                self.a.z(op::SUBD, d, t, p);
            }
            Op::Abs => {
                if n.ty.is_signed() {
                    self.unary(id, op::ABSD, x);
                } else {
                    self.overwrite(id, x);
                }
            }
            Op::Popcount => self.unary(id, op::POPCNTD, x),
            Op::Clz => self.unary(id, op::LZCNTD, x),
            Op::Ctz => {
                // The bits below the lowest 1, counted.
                let p = self.zreg(x, 0);
                self.hold(p);
                let t = self.temp();
                self.hold(t);
                self.a.zi(op::TERND, t, t, Rm::R(t), ALL, 0xff);
                let d = self.define(id, 0);
                self.a.z(op::ADDD, d, p, Rm::R(t));
                self.a.z(op::ANDND, d, p, Rm::R(d));
                self.a.z(op::POPCNTD, d, 0, Rm::R(d));
            }
            Op::Shl | Op::Shr => self.shift(id, o, n, x, y),
            Op::MulHi => self.mul_hi(id, n, x, y),
            Op::Min | Op::Max => {
                let e = match (o == Op::Min, n.ty.is_signed()) {
                    (true, true) => op::MINSD,
                    (true, false) => op::MINUD,
                    (false, true) => op::MAXSD,
                    (false, false) => op::MAXUD,
                };
                self.binary(id, e, p, q);
            }
            Op::Select => {
                let k = self.kreg(x);
                self.v.k.busy |= 1 << k;
                let p = self.zreg(w, 0);
                self.hold(p);
                let q = self.rm(y);
                self.hold_rm(q);
                let d = self.target(id, &[w, y]);
                self.a.zk(op::BLENDD, d, p, q, keep(k));
            }
            _ => self.mistaken(),
        }
    }

    /// An operation on two values.
    fn binary(&mut self, id: Id, i: E, a: Id, b: Id) -> u8 {
        let p = self.zreg(a, 0);
        self.hold(p);
        let q = self.rm(b);
        self.hold_rm(q);
        let d = self.target(id, &[a, b]);
        self.a.z(i, d, p, q);
        d
    }

    /// An operation on one value.
    fn unary(&mut self, id: Id, i: E, a: Id) {
        let p = self.rm(a);
        self.hold_rm(p);
        let d = self.define(id, 0);
        self.a.z(i, d, 0, p);
    }

    /// The operands in the order in which the first is rather in a register, where it may change.
    fn operand_order(&self, vop: &VectorOp, o: Op, n: &Node, x: Id, y: Id) -> (Id, Id) {
        let swap = matches!(o, Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor)
            && n.arity() == 2
            && !self.v.z.at.contains_key(&(x, 0))
            && (self.v.z.at.contains_key(&(y, 0)) || !self.node(x).vec)
            && !vop.neg[0];
        if swap { (y, x) } else { (x, y) }
    }

    /// A shift of 32 bits or less.
    fn shift(&mut self, id: Id, o: Op, n: &Node, x: Id, y: Id) {
        let signed = n.ty.is_signed();
        if let Some(by) = self.konst(y) {
            let p = self.zreg(x, 0);
            self.hold(p);
            let d = self.target(id, &[x]);
            let ext = match o {
                Op::Shl => 6,
                _ if signed => 4,
                _ => 2,
            };
            let by = if signed && o == Op::Shr {
                by.min(31)
            } else {
                by.min(32)
            };
            self.a
                .evex(op::SHIFTD_I, 2, ext, d, Rm::R(p), ALL, Some(by as u8));
            if o == Op::Shl {
                self.narrow_to(d, n.out);
            }
        } else {
            let e = match o {
                Op::Shl => op::SLLVD,
                _ if signed => op::SRAVD,
                _ => op::SRLVD,
            };
            let d = self.binary(id, e, x, y);
            if o == Op::Shl {
                self.narrow_to(d, n.out);
            }
        }
    }

    /// A conversion between 32-bit integers and floats, or between f16 and f32.
    fn convert(&mut self, id: Id, o: Op, n: &Node, x: Id) {
        match o {
            Op::FloatToFloat if n.ty == Ty::F16 => {
                let p = self.zreg(x, 0);
                self.hold(p);
                let d = self.define(id, 0);
                self.a.z(op::PMOVDW_ST, p, 0, Rm::R(d));
                self.a.z(op::CVTPH2PS, d, 0, Rm::R(d));
            }
            Op::FloatToFloat if n.out == Ty::F16 => {
                let p = self.zreg(x, 0);
                self.hold(p);
                let d = self.define(id, 0);
                self.a.zi(op::CVTPS2PH, p, 0, Rm::R(d), ALL, 4);
                self.a.z(op::PMOVZXWD, d, 0, Rm::R(d));
            }
            Op::IntToFloat if n.ty.is_signed() => self.unary(id, op::CVTDQ2PS, x),
            Op::IntToFloat => self.unary(id, op::CVTUDQ2PS, x),
            Op::FloatToInt => {
                let p = self.zreg(x, 0);
                self.hold(p);
                let d = self.define(id, 0);
                let k = self.ktemp();
                if n.out.is_signed() {
                    self.a.z(op::CVTTPS2DQ, d, 0, Rm::R(p));
                    self.a.zi(op::CMPPS, k, p, Rm::C(0x4f00_0000), ALL, 0x1d);
                    self.a.zk(op::BCASTD, d, 0, Rm::C(0x7fff_ffff), keep(k));
                    self.a.zi(op::CMPPS, k, p, Rm::R(p), ALL, 7);
                    self.a.zk(op::MOVDQU32, d, 0, Rm::R(d), zero(k));
                } else {
                    // The larger of it and 0; of a NaN the second operand.
                    self.hold(d);
                    let t = self.temp();
                    self.a.z(op::XORD, t, t, Rm::R(t));
                    self.a.z(op::MAXPS, d, p, Rm::R(t));
                    self.a.z(op::CVTTPS2UDQ, d, 0, Rm::R(d));
                }
            }
            _ => self.mistaken(),
        }
    }

    /// An operation on f32, or on f16 in f32. The first two operands are in their best order.
    fn narrow_float(&mut self, vop: &VectorOp, o: Op, n: &Node, [p, q, w]: [Id; 3]) {
        let id = vop.id;
        let [x, y, _] = vop.args;
        match o {
            Op::Add | Op::Sub => {
                let minus = vop.neg[1] != (o == Op::Sub);
                match (vop.neg[0], minus) {
                    (false, false) => drop(self.binary(id, op::ADDPS, p, q)),
                    (false, true) => drop(self.binary(id, op::SUBPS, x, y)),
                    (true, false) => drop(self.binary(id, op::SUBPS, y, x)),
                    (true, true) => {
                        let d = self.binary(id, op::ADDPS, x, y);
                        self.a.z(op::XORD, d, d, Rm::C(0x8000_0000));
                    }
                }
            }
            Op::Mul => drop(self.binary(id, op::MULPS, p, q)),
            Op::Div => drop(self.binary(id, op::DIVPS, x, y)),
            Op::Sqrt => {
                self.unary(id, op::SQRTPS, x);
            }
            Op::Neg => {
                let p = self.zreg(x, 0);
                self.hold(p);
                let d = self.define(id, 0);
                self.a.z(op::XORD, d, p, Rm::C(0x8000_0000));
            }
            Op::Abs => {
                let p = self.zreg(x, 0);
                self.hold(p);
                let d = self.define(id, 0);
                self.a.z(op::ANDD, d, p, Rm::C(0x7fff_ffff));
            }
            Op::Min | Op::Max => {
                let p = self.zreg(x, 0);
                self.hold(p);
                let q = self.rm(y);
                self.hold_rm(q);
                let d = self.define(id, 0);
                // The sign of the operand that is chosen; -0 is below +0.
                self.a
                    .zi(op::RANGEPS, d, p, q, ALL, 4 | (o == Op::Max) as u8);
            }
            Op::Fma if n.ty == Ty::F16 => {
                // The product is exact. The sum towards zero, its last bit 1 where it is not, is rounded to odd.
                let p = self.zreg(x, 0);
                self.hold(p);
                let q = self.rm(y);
                self.hold_rm(q);
                let r = self.zreg(w, 0);
                self.hold(r);
                let t = self.temp();
                self.hold(t);
                let u = self.temp();
                self.hold(u);
                let d = self.define(id, 0);
                let k = self.ktemp();
                self.a.z(op::MULPS, t, p, q);
                self.a.zr(op::ADDPS, d, t, r, 3);
                self.a.zr(op::ADDPS, u, t, r, 1);
                self.a.zr(op::ADDPS, t, t, r, 2);
                self.a.zi(op::CMPPS, k, t, Rm::R(u), ALL, 0x0c);
                self.a.zk(op::ORD, d, d, Rm::C(1), keep(k));
            }
            Op::Fma => self.fma(vop, x, y, w),
            Op::Mad => {
                let p = self.zreg(x, 0);
                self.hold(p);
                let q = self.rm(y);
                self.hold_rm(q);
                let t = self.temp();
                self.hold(t);
                self.a.z(op::MULPS, t, p, q);
                if vop.neg[0] != vop.neg[1] {
                    self.a.z(op::XORD, t, t, Rm::C(0x8000_0000));
                }
                let r = self.rm(w);
                self.hold_rm(r);
                let d = self.define(id, 0);
                self.a
                    .z(if vop.neg[2] { op::SUBPS } else { op::ADDPS }, d, t, r);
            }
            Op::Ldexp => {
                let q = self.rm(y);
                self.hold_rm(q);
                let t = self.temp();
                self.hold(t);
                self.a.z(op::CVTDQ2PS, t, 0, q);
                let p = self.zreg(x, 0);
                self.hold(p);
                let d = self.define(id, 0);
                self.a.z(op::SCALEFPS, d, p, Rm::R(t));
            }
            Op::Floor | Op::Ceil | Op::RoundZero | Op::RoundEven => {
                let imm = 8 | match o {
                    Op::RoundEven => 0,
                    Op::Floor => 1,
                    Op::Ceil => 2,
                    _ => 3,
                };
                let p = self.rm(x);
                self.hold_rm(p);
                let d = self.define(id, 0);
                self.a.zi(op::RNDSCALEPS, d, 0, p, ALL, imm);
            }
            _ => self.mistaken(),
        }
    }

    /// A register for a result, one of an operand's that dies among them.
    pub(super) fn target(&mut self, id: Id, sources: &[Id]) -> u8 {
        for &s in sources {
            if self.next_use(s) == u32::MAX
                && !self.common.exact
                && let Some(&r) = self.v.z.at.get(&(s, 0))
                && !self.v.deferred_writes.iter().any(|p| p.reg == Some(r))
            {
                self.v.z.at.remove(&(s, 0));
                self.put(id, 0, r);
                return r;
            }
        }
        self.define(id, 0)
    }

    pub(super) fn narrow_to(&mut self, d: u8, out: Ty) {
        if out.bits() < 32 {
            self.a
                .z(op::ANDD, d, d, Rm::C(gcn_isa::meaning::width_mask(out)));
        }
    }

    pub(super) fn kreg_of_zext(&mut self, id: Id) -> u8 {
        let k = self.node(id).args[0];
        if let Some(&r) = self.v.k.at.get(&(k, 0)) {
            return r;
        }
        if self.v.k.spilled.contains_key(&(k, 0))
            || matches!(
                self.node(k).op,
                Inst::Exec | Inst::Const(_) | Inst::Affine { .. }
            )
            || !self.node(k).vec
        {
            return self.kreg(k);
        }
        // The mask is gone: made again of the number.
        let p = self.zreg(id, 0);
        let r = self.ktemp();
        self.a.zi(op::CMPUD, r, p, Rm::C(0), ALL, 4);
        r
    }

    pub(super) fn fma(&mut self, vop: &VectorOp, x: Id, y: Id, w: Id) {
        // d = x * y + w, over the register of x or of w.
        let signs = |e: E| e.turned(vop.neg[0] != vop.neg[1], vop.neg[2]);
        let dies = |e: &Self, id: Id| {
            e.next_use(id) == u32::MAX && e.v.z.at.contains_key(&(id, 0)) && e.node(id).vec
        };
        if dies(self, w) || !dies(self, x) && !dies(self, y) {
            let p = self.zreg(x, 0);
            self.hold(p);
            let q = self.rm(y);
            self.hold_rm(q);
            let d = self.overwrite(vop.id, w);
            self.a.z(signs(op::FMADD231PS), d, p, q);
        } else {
            let (x, y) = if dies(self, x) { (x, y) } else { (y, x) };
            let q = self.zreg(y, 0);
            self.hold(q);
            let r = self.rm(w);
            self.hold_rm(r);
            let d = self.overwrite(vop.id, x);
            self.a.z(signs(op::FMADD213PS), d, q, r);
        }
    }

    pub(super) fn mul_hi(&mut self, id: Id, n: &Node, x: Id, y: Id) {
        let e = if n.ty.is_signed() {
            op::MULDQ
        } else {
            op::MULUDQ
        };
        let p = self.zreg(x, 0);
        self.hold(p);
        let q = self.zreg(y, 0);
        self.hold(q);
        let d = self.define(id, 0);
        self.hold(d);
        let t = self.temp();
        self.hold(t);
        let u = self.temp();
        let down = |s: &mut Self, to: u8, from: u8| {
            s.a.evex(op::SHIFTQ_I, 2, 2, to, Rm::R(from), ALL, Some(32));
        };
        // Of even lanes; then of odd ones, moved down.
        self.a.z(e, d, p, Rm::R(q));
        down(self, t, p);
        down(self, u, q);
        self.a.z(e, t, t, Rm::R(u));
        // The upper halves: of d moved down, of t in place.
        down(self, d, d);
        self.a.imm(RAX, 0xaaaa);
        let k = self.ktemp();
        self.a.gpr_to_k(k, RAX);
        self.a.zk(op::MOVDQU32, d, 0, Rm::R(t), keep(k));
    }

    /// Operations with 64 bits a lane on one side or both.
    pub(super) fn wide(&mut self, vop: &VectorOp, o: Op, n: &Node) {
        let id = vop.id;
        let [x, y, w] = vop.args;
        let out_wide = n.out.bits() > 32;
        let in_wide = n.ty.bits() > 32;
        if out_wide && in_wide {
            for part in 0..2 {
                self.wide_part(vop, o, n, part);
                self.let_go();
            }
            return;
        }
        if out_wide {
            // 32 bits to 64.
            let e = match (o, n.ty) {
                (Op::FloatToFloat, _) => op::CVTPS2PD,
                (Op::IntToFloat, t) if t.is_signed() => op::CVTDQ2PD,
                (Op::IntToFloat, _) => op::CVTUDQ2PD,
                (Op::Ldexp, _) => op::CVTDQ2PD,
                _ => {
                    self.mistaken();
                    return;
                }
            };
            let p = self.zreg(x, 0);
            self.hold(p);
            let d = self.define(id, 0);
            self.hold(d);
            let u = self.define(id, 1);
            self.a.z(e, d, 0, Rm::R(p));
            self.a.zi(op::EXTRACT256, p, 0, Rm::R(u), ALL, 1);
            self.a.z(e, u, 0, Rm::R(u));
            return;
        }
        let _ = (y, w);
        // 64 bits to 32: each half of the lanes to half a register.
        match o {
            Op::FloatToFloat if n.out == Ty::F16 => {
                // To f32 rounded to odd: towards zero, the last bit 1 where that is not the number.
                let mut halves = [0; 2];
                for part in 0..2 {
                    let p = self.wreg(x, part);
                    self.hold(p);
                    let t = self.temp();
                    self.hold(t);
                    let u = self.temp();
                    let k = self.ktemp();
                    self.a.zr(op::CVTPD2PS, t, 0, p, 3);
                    self.a.z(op::CVTPS2PD, u, 0, Rm::R(t));
                    self.a.zi(op::CMPPS.pd(), k, u, Rm::R(p), ALL, 0x0c);
                    self.a.zk(op::ORD, t, t, Rm::C(1), keep(k));
                    halves[part as usize] = t;
                }
                let d = self.define(id, 0);
                self.a
                    .zi(op::INSERT256, d, halves[0], Rm::R(halves[1]), ALL, 1);
                self.a.zi(op::CVTPS2PH, d, 0, Rm::R(d), ALL, 4);
                self.a.z(op::PMOVZXWD, d, 0, Rm::R(d));
            }
            Op::FloatToFloat | Op::IntToFloat => {
                let e = match (o, n.ty.is_signed()) {
                    (Op::FloatToFloat, _) => op::CVTPD2PS,
                    (_, true) => op::CVTQQ2PS,
                    _ => op::CVTUQQ2PS,
                };
                let p = self.wreg(x, 0);
                self.hold(p);
                let q = self.wreg(x, 1);
                self.hold(q);
                let d = self.define(id, 0);
                self.hold(d);
                let t = self.temp();
                self.hold(t);
                let tiny = match vop.flush && o == Op::FloatToFloat {
                    true => Some(self.tiny_as_f32([p, q])),
                    false => None,
                };
                self.a.z(e, d, 0, Rm::R(p));
                self.a.z(e, t, 0, Rm::R(q));
                self.a.zi(op::INSERT256, d, d, Rm::R(t), ALL, 1);
                if let Some(k) = tiny {
                    self.a.zk(op::ANDD, d, d, Rm::C(0x8000_0000), keep(k));
                }
            }
            Op::FloatToInt => {
                let signed = n.out.is_signed();
                let mut halves = [0; 2];
                for part in 0..2 {
                    let p = self.wreg(x, part);
                    self.hold(p);
                    let t = self.temp();
                    self.hold(t);
                    let u = self.temp();
                    self.hold(u);
                    let k = self.ktemp();
                    if signed {
                        // Confined before, so that only NaN is left.
                        self.bcast_const(u, 0x41df_ffff_ffc0_0000, true);
                        self.a.z(op::MINPS.pd(), u, u, Rm::R(p));
                        // min(limit, x): of a NaN x, x.
                        self.a.z(op::CVTTPD2DQ, t, 0, Rm::R(u));
                        self.a.zi(op::CMPPS.pd(), k, p, Rm::R(p), ALL, 7);
                        self.a.evex(op::MOVDQU32, 1, t, 0, Rm::R(t), zero(k), None);
                    } else {
                        self.a.z(op::XORD, u, u, Rm::R(u));
                        self.a.z(op::MAXPS.pd(), u, p, Rm::R(u));
                        self.a.z(op::CVTTPD2UDQ, t, 0, Rm::R(u));
                    }
                    halves[part as usize] = t;
                }
                let d = self.define(id, 0);
                self.a
                    .zi(op::INSERT256, d, halves[0], Rm::R(halves[1]), ALL, 1);
            }
            _ => self.mistaken(),
        }
    }

    /// The lanes of 16 f64 that are tiny as f32: below what rounds to the least normal number.
    fn tiny_as_f32(&mut self, halves: [u8; 2]) -> u8 {
        // 2^-126, of which what has 25 bits and is half a step below rounds up to nearest even, and all that is more than
        // the step below away from zero.
        const LEAST: u64 = (1023 - 126) << 52;
        let (least, below) = (Rm::C(LEAST), Rm::C(LEAST - (1 << 29)));
        let up = |positive: bool| match positive {
            // Less than, or less or equal.
            true => (below, 2),
            false => (least, 1),
        };
        let [(positive, p), (negative, n)] = match self.common.mode.env32().round {
            gcn_emu::fp::Round::NearestEven => [(Rm::C(LEAST - (1 << 28)), 1); 2],
            gcn_emu::fp::Round::PlusInf => [up(true), up(false)],
            gcn_emu::fp::Round::MinusInf => [up(false), up(true)],
            gcn_emu::fp::Round::Zero => [up(false); 2],
        };
        let t = self.temp();
        self.hold(t);
        let mut masks = [0; 2];
        for (mask, &half) in masks.iter_mut().zip(&halves) {
            let k = self.ktemp();
            self.v.k.busy |= 1 << k;
            // Less than the positive bound, and the negation less than the negative one.
            self.a.zi(op::CMPPS.pd(), k, half, positive, ALL, p);
            self.a.z(op::XORD.pd(), t, half, Rm::C(1 << 63));
            self.a.zi(op::CMPPS.pd(), k, t, negative, keep(k), n);
            *mask = k;
        }
        let k = self.ktemp();
        self.v.k.busy |= 1 << k;
        self.a.kunpckbw(k, masks[1], masks[0]);
        k
    }

    pub(super) fn wide_part(&mut self, vop: &VectorOp, o: Op, n: &Node, part: u8) {
        let id = vop.id;
        let [x, y, w] = vop.args;
        let float = n.ty == Ty::F64;
        let two = |e: &mut Self, i: E, a: Id, b: Id| -> u8 {
            let p = e.wreg(a, part);
            e.hold(p);
            let q = e.wrm(b, part);
            e.hold_rm(q);
            let d = e.define(id, part);
            e.a.z(i, d, p, q);
            d
        };
        match o {
            Op::Add | Op::Sub if float => {
                let minus = vop.neg[1] != (o == Op::Sub);
                match (vop.neg[0], minus) {
                    (false, false) => drop(two(self, op::ADDPS.pd(), x, y)),
                    (false, true) => drop(two(self, op::SUBPS.pd(), x, y)),
                    (true, false) => drop(two(self, op::SUBPS.pd(), y, x)),
                    (true, true) => {
                        let d = two(self, op::ADDPS.pd(), x, y);
                        self.a.z(op::XORD.pd(), d, d, Rm::C(1 << 63));
                    }
                }
            }
            Op::Mul if float => drop(two(self, op::MULPS.pd(), x, y)),
            Op::Mul => {
                let zext = |e: &Self, i: Id| {
                    let n = e.node(i);
                    match n.op {
                        Inst::Pair => e.konst(n.args[1]) == Some(0),
                        Inst::Const(v) => v >> 32 == 0,
                        _ => !n.vec && n.out.bits() <= 32,
                    }
                };
                let e = if zext(self, x) && zext(self, y) {
                    op::MULUDQ
                } else {
                    op::MULLQ
                };
                two(self, e, x, y);
            }
            Op::Div => drop(two(self, op::DIVPS.pd(), x, y)),
            Op::IntToFloat => {
                let p = self.wrm(x, part);
                self.hold_rm(p);
                let d = self.define(id, part);
                let e = match n.ty.is_signed() {
                    true => op::CVTQQ2PD,
                    false => op::CVTUQQ2PD,
                };
                self.a.z(e, d, 0, p);
            }
            Op::Sqrt => {
                let p = self.wrm(x, part);
                self.hold_rm(p);
                let d = self.define(id, part);
                self.a.z(op::SQRTPS.pd(), d, 0, p);
            }
            Op::Neg | Op::Abs if float => {
                let p = self.wreg(x, part);
                self.hold(p);
                let d = self.define(id, part);
                let (e, c) = if o == Op::Neg {
                    (op::XORD, 1 << 63)
                } else {
                    (op::ANDD, u64::MAX >> 1)
                };
                self.a.z(e.pd(), d, p, Rm::C(c));
            }
            Op::Min | Op::Max if float => {
                let p = self.wreg(x, part);
                self.hold(p);
                let q = self.wrm(y, part);
                self.hold_rm(q);
                let d = self.define(id, part);
                self.a
                    .zi(op::RANGEPS.pd(), d, p, q, ALL, 4 | (o == Op::Max) as u8);
            }
            Op::Fma => {
                let e = op::FMADD231PS.pd();
                let e = e.turned(vop.neg[0] != vop.neg[1], vop.neg[2]);
                let p = self.wreg(x, part);
                self.hold(p);
                let q = self.wrm(y, part);
                self.hold_rm(q);
                let r = self.wreg(w, part);
                let key = if self.node(w).vec { (w, part) } else { (w, 2) };
                let d = self.reuse(key, (id, part), r);
                self.a.z(e, d, p, q);
            }
            Op::Ldexp => {
                // The exponent is a 32-bit number: its half of the lanes.
                let q = self.zreg(y, 0);
                self.hold(q);
                let t = self.temp();
                self.hold(t);
                if part == 0 {
                    self.a.z(op::CVTDQ2PD, t, 0, Rm::R(q));
                } else {
                    self.a.zi(op::EXTRACT256, q, 0, Rm::R(t), ALL, 1);
                    self.a.z(op::CVTDQ2PD, t, 0, Rm::R(t));
                }
                let p = self.wreg(x, part);
                self.hold(p);
                let d = self.define(id, part);
                self.a.z(op::SCALEFPS.pd(), d, p, Rm::R(t));
            }
            Op::Floor | Op::Ceil | Op::RoundZero | Op::RoundEven => {
                let imm = 8 | match o {
                    Op::RoundEven => 0,
                    Op::Floor => 1,
                    Op::Ceil => 2,
                    _ => 3,
                };
                let p = self.wrm(x, part);
                self.hold_rm(p);
                let d = self.define(id, part);
                self.a.zi(op::RNDSCALEPD, d, 0, p, ALL, imm);
            }
            Op::Shl | Op::Shr => {
                let e = match o {
                    Op::Shl => op::SLLVQ,
                    _ if n.ty.is_signed() => op::SRAVQ,
                    _ => op::SRLVQ,
                };
                two(self, e, x, y);
            }
            Op::Select => {
                let k = self.kreg(x);
                self.v.k.busy |= 1 << k;
                let mut k = k;
                if part == 1 {
                    let t = self.ktemp();
                    self.a.kshiftr(t, k, 8);
                    k = t;
                }
                let p = self.wreg(w, part);
                self.hold(p);
                let q = self.wrm(y, part);
                self.hold_rm(q);
                let d = self.define(id, part);
                self.a.zk(op::BLENDQ, d, p, q, keep(k));
            }
            _ => self.mistaken(),
        }
    }
}
