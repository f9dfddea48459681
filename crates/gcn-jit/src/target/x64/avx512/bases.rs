//! The instructions of bases.

use super::inst::bcast_const;
use super::*;
use crate::ir::affine::Address;
use crate::lir::regalloc::Location;
use crate::target::x64::bases::{BaseAddress, BaseOps, SharedBase};

type Bases<'t, 'a> = crate::target::x64::bases::Bases<'t, 'a, Avx512>;
type OperandRegisters<'a> = crate::target::x64::machine::OperandRegisters<'a, B>;

/// The number of registers for bases. The registers above are temporary.
const MOST: u8 = 26;
const T: u8 = 28;
const U: u8 = 29;
const ON: u8 = 31;

/// The slices in which all conditions hold.
const K_HELD: u8 = 5;

/// A machine instruction. The second number of some is 1 for 256 bits, 0 for 128.
pub(crate) enum B {
    /// An instruction with one operand: use, result.
    One(E, u8),
    /// An instruction with two operands: use, use, result.
    Two(E, u8, Option<u8>),
    /// An instruction of three operands; the result replaces the first.
    Three(E, u8),
    /// Shift by a constant; `ext` 2 srl, 4 sra, 6 sll.
    Shift(E, u8, u8, u8),
    /// A comparison, whose result is dwords of ones or zeros.
    Compare(E, u8),
    Constant(u32),
    /// The numbers of the slices' first lanes.
    Firsts,
    /// A condition: a comparison, or that no bit is 1 in both operands. The flag is true if there were conditions before.
    Hold(E, Option<u8>, bool),
    /// Checks that all conditions hold.
    Guards,
    Shared(SharedBase),
}

impl std::convert::From<SharedBase> for B {
    fn from(op: SharedBase) -> B {
        B::Shared(op)
    }
}

impl Machine<Avx512> for B {
    const BYTES: u8 = 32;

    fn encode(&self, e: &mut Emit<'_, Avx512>, p: OperandRegisters<'_>) {
        match *self {
            B::One(x, l) => e.a.evex(x.l(l), p.r(1), 0, Rm::R(p.r(0)), ALL, None),
            B::Two(x, l, imm) => {
                let b = e.base_rm(p, 1);
                e.a.evex(x.l(l), p.r(2), p.r(0), b, ALL, imm);
            }
            B::Three(x, imm) => {
                let b = e.base_rm(p, 3);
                e.a.evex(x.l(0), p.r(1), p.r(2), b, ALL, Some(imm));
            }
            B::Shift(x, ext, by, l) => {
                let a = Rm::R(p.r(0));
                e.a.evex(x.l(l), ext, p.r(1), a, ALL, Some(by));
            }
            B::Compare(x, predicate) => {
                let b = e.base_rm(p, 1);
                e.a.evex(x.l(0), 1, p.r(0), b, ALL, Some(predicate));
                e.a.evex(op::MOVM2D.l(0), p.r(2), 0, Rm::R(1), ALL, None);
            }
            B::Constant(v) => bcast_const(e.a, p.r(0), v as u64, false),
            B::Shared(SharedBase::Broadcast(m, bytes)) => {
                let x = if bytes == 8 { op::BCASTQ } else { op::BCASTD };
                e.a.evex(x.l(bytes / 8), p.r(0), 0, Rm::M(m), ALL, None);
            }
            B::Firsts => e.short(op::MOVDQU32, p.r(0), 0, Rm::M(ctx!(affine.firsts))),
            B::Shared(SharedBase::Vgpr(v)) => {
                let home = |slice: i32| mem(VGPRS, (v as i32 - VGPR_BIAS) * 256 + 64 * slice);
                let r = p.r(0);
                e.short(op::MOVD_LD, r, 0, Rm::M(home(0)));
                for slice in 1..4 {
                    let from = Rm::M(home(slice));
                    e.a.evex(op::PINSRD.l(0), r, r, from, ALL, Some(slice as u8));
                }
            }
            B::Shared(SharedBase::Store(m)) => e.short(op::MOVDQU32_ST, p.r(0), 0, Rm::M(m)),
            B::Hold(x, predicate, begun) => {
                let b = e.base_rm(p, 1);
                let on = if begun { keep(K_HELD) } else { ALL };
                e.a.evex(x.l(0), K_HELD, p.r(0), b, on, predicate);
            }
            B::Guards => e.guards_code(),
            B::Shared(SharedBase::Address(ref base)) => e.base_code(base, p.r(0)),
        }
    }
}

impl Emit<'_, Avx512> {
    /// Returns an operand as the last one of an instruction.
    fn base_rm(&mut self, p: OperandRegisters<'_>, k: usize) -> Rm {
        match p.locations[k] {
            Location::Reg(_) => Rm::R(p.r(k)),
            Location::Slot(s) => Rm::M(self.spill_slot(s, B::SLOT)),
            Location::Memory(inst) => match p.code.insts[inst as usize].op {
                B::Constant(v) => Rm::C(v as u64),
                B::Shared(SharedBase::Broadcast(m, _)) => Rm::B(m),
                _ => {
                    self.mistaken();
                    Rm::R(0)
                }
            },
        }
    }

    /// Emits an instruction on 128 bits.
    fn short(&mut self, e: E, d: u8, a: u8, rm: Rm) {
        self.a.evex(e.l(0), d, a, rm, ALL, None);
    }

    /// Emits an instruction on 256 bits.
    fn long(&mut self, e: E, d: u8, a: u8, rm: Rm) {
        self.a.evex(e.l(1), d, a, rm, ALL, None);
    }

    /// Leaves the block unless all conditions hold in all slices with active lanes.
    fn guards_code(&mut self) {
        if self.all_active.is_some() {
            // The conditions must hold in all four slices.
            self.a.k_to_gpr(RAX, K_HELD);
            self.a.alu_imm(alu::CMP, false, Rm::R(RAX), 15);
            let leave = self.leave_label();
            self.a.jcc(Cc::Ne, leave);
            return;
        }
        // Opmask 1 gets the slices in which a condition does not hold.
        self.a.evex(op::CMPUD.l(0), 1, T, Rm::R(T), ALL, Some(0));
        self.a.kop(kop::ANDN, 1, K_HELD, 1);
        self.a.kortest(1, 1);
        let (from, back) = (self.a.label(), self.a.label());
        self.a.jcc(Cc::Ne, from);
        self.a.bind(back);
        self.section(move |e| {
            e.a.bind(from);
            e.leave_unless_inactive();
            e.a.jmp(back);
        });
    }

    /// Leaves the block if one of the slices in opmask 1 has active lanes.
    fn leave_unless_inactive(&mut self) {
        let leave = self.leave_label();
        if self.all_active.is_some() {
            self.a.jmp(leave);
            return;
        }
        let exec = sgpr_home(EXEC as u8);
        self.short(op::PMOVZXWD, ON, 0, Rm::M(exec));
        self.short(op::TESTMD, 2, ON, Rm::R(ON));
        self.a.kop(kop::AND, 2, 2, 1);
        self.a.kortest(2, 2);
        self.a.jcc(Cc::Ne, leave);
    }

    fn base_code(&mut self, base: &Rc<BaseAddress>, r: u8) {
        let (base, a) = (base.clone(), base.address);
        let slot = self.address_slot(base.number);
        let leave = self.leave_label();
        let (from, back) = (self.a.label(), self.a.label());
        let Some(range) = base.range else {
            self.last_in_lds(a.limit.unwrap_or(0), a.to, leave);
            self.short(op::BCASTD_R, T, 0, Rm::R(RAX));
            self.a.evex(op::CMPUD.l(0), 1, r, Rm::R(T), ALL, Some(6));
            self.long(op::PMOVZXDQ, U, 0, Rm::R(r));
            self.long(op::ADDQ, U, U, Rm::B(ctx!(lds.base)));
            self.long(op::MOVDQU32_ST, U, 0, Rm::M(slot));
            self.a.kortest(1, 1);
            self.a.jcc(Cc::Ne, from);
            self.a.bind(back);
            self.section(move |e| {
                e.a.bind(from);
                match a.reads_inactive {
                    true => e.leave_unless_inactive(),
                    false => e.lanes_of_lds(a, slot, r, leave),
                }
                e.a.jmp(back);
            });
            return;
        };
        if self.common.aliased {
            self.long(op::MOVDQU32_ST, r, 0, Rm::M(ctx!(affine.guest)));
            self.long(op::ANDQ, U, r, Rm::C(!ALIAS));
            self.long(op::ADDQ, U, U, Rm::B(ctx!(memory.bias)));
        } else {
            self.long(op::ADDQ, U, r, Rm::B(ctx!(memory.bias)));
        }
        self.long(op::MOVDQU32_ST, U, 0, Rm::M(slot));
        self.long(op::SUBQ, T, r, Rm::B(range.start()));
        let bytes = Rm::B(range.bytes());
        self.a.evex(op::CMPUQ.l(1), 1, T, bytes, ALL, Some(5));
        self.check_tag(range, from);
        self.a.kortest(1, 1);
        self.a.jcc(Cc::Ne, from);
        self.a.bind(back);
        self.section(move |e| {
            e.a.bind(from);
            e.find_base(&base, range, leave);
            e.a.jmp(back);
        });
    }

    /// Checks an address of LDS for the active lanes alone: leaves the block if one of them accesses bytes past the limit.
    /// RAX is the highest address that the slice's first lane may have when all 16 lanes are active.
    fn lanes_of_lds(&mut self, a: Address, slot: Mem, lo: u8, leave: Label) {
        let [first, last, t] = [U, 30, 27];
        let step = Rm::C(a.step as u32 as u64);
        let exec = sgpr_home(EXEC as u8);
        self.short(op::PMOVZXWD, ON, 0, Rm::M(exec));
        // The first active lane is the number of zeros below EXEC's lowest one; the last is 31 minus the number above its highest.
        self.short(op::XORD, t, t, Rm::R(t));
        self.short(op::SUBD, first, t, Rm::R(ON));
        self.short(op::ANDD, first, first, Rm::R(ON));
        self.short(op::ADDD, first, first, Rm::C(u32::MAX as u64));
        self.short(op::POPCNTD, first, 0, Rm::R(first));
        self.short(op::MULLD, first, first, step);
        self.short(op::LZCNTD, last, 0, Rm::R(ON));
        self.short(op::BCASTD, t, 0, Rm::C(31));
        self.short(op::SUBD, last, t, Rm::R(last));
        self.short(op::MULLD, last, last, step);
        // The addresses of both lanes, and the slices in which one of them is past the limit.
        self.short(op::ADDD, last, last, Rm::R(lo));
        self.short(op::ADDD, t, first, Rm::R(lo));
        self.a.evex(op::CMPUD.l(0), 1, t, Rm::R(last), ALL, Some(6));
        self.a.alu_imm(alu::ADD, true, Rm::R(RAX), 15 * a.step);
        self.short(op::BCASTD_R, T, 0, Rm::R(RAX));
        self.a.evex(op::CMPUD.l(0), 2, last, Rm::R(T), ALL, Some(6));
        self.a.kop(kop::OR, 1, 1, 2);
        self.short(op::TESTMD, 2, ON, Rm::R(ON));
        self.a.kop(kop::AND, 2, 2, 1);
        self.a.kortest(2, 2);
        self.a.jcc(Cc::Ne, leave);
        // The address of lane 0 may be negative if lane 0 is inactive, so it is computed with 64 bits.
        self.long(op::PMOVZXDQ, T, 0, Rm::R(t));
        self.long(op::PMOVZXDQ, first, 0, Rm::R(first));
        self.long(op::SUBQ, T, T, Rm::R(first));
        self.long(op::ADDQ, T, T, Rm::B(ctx!(lds.base)));
        self.long(op::MOVDQU32_ST, T, 0, Rm::M(slot));
    }
}

impl Bases<'_, '_> {
    fn two(&mut self, op: B, [a, b]: [VReg; 2]) -> VReg {
        let d = self.code.reg(0);
        self.code
            .push(op, &[(a, Role::Use), (b, Role::Any), (d, Role::Def)]);
        d
    }

    fn one(&mut self, op: B, a: VReg) -> VReg {
        let d = self.code.reg(0);
        self.code.push(op, &[(a, Role::Use), (d, Role::Def)]);
        d
    }

    fn also(&mut self, e: E, predicate: Option<u8>, [a, b]: [VReg; 2]) {
        let op = B::Hold(e, predicate, self.begun);
        self.code.push(op, &[(a, Role::Use), (b, Role::Any)]);
        self.begun = true;
    }
}

/// Returns the predicate of a comparison of integers.
fn predicate(o: Op) -> u8 {
    match o {
        Op::Eq => 0,
        Op::Lt => 1,
        Op::Le => 2,
        Op::Ne => 4,
        Op::Ge => 5,
        _ => 6,
    }
}

impl BaseOps<Avx512> for B {
    const REGISTERS: u8 = MOST;
    const TEMPS: usize = 0;

    fn constant(b: &mut Bases<'_, '_>, value: u32) -> VReg {
        if let Some(&r) = b.constants.get(&[value; 8]) {
            return r;
        }
        let again = match value {
            0 | u32::MAX => Remat::Value,
            _ => Remat::Memory,
        };
        let r = b.code.push_remat(B::Constant(value), again, 0);
        b.constants.insert([value; 8], r);
        r
    }

    fn firsts(b: &mut Bases<'_, '_>, step: u32) -> VReg {
        let firsts = b.code.push_remat(B::Firsts, Remat::Value, 0);
        if step == 1 {
            return firsts;
        }
        let step = B::constant(b, step);
        b.two(B::Two(op::MULLD, 0, None), [firsts, step])
    }

    fn dword(b: &mut Bases<'_, '_>, o: Op, signed: bool, of: [VReg; 2]) -> VReg {
        let e = match (o, signed) {
            (Op::Add, _) => op::ADDD,
            (Op::Sub, _) => op::SUBD,
            (Op::Mul, _) => op::MULLD,
            (Op::And, _) => op::ANDD,
            (Op::Or, _) => op::ORD,
            (Op::Xor, _) => op::XORD,
            (Op::Min, true) => op::MINSD,
            (Op::Min, false) => op::MINUD,
            (Op::Max, true) => op::MAXSD,
            (Op::Max, false) => op::MAXUD,
            (Op::Shl, _) => op::SLLVD,
            (Op::Shr, true) => op::SRAVD,
            (Op::Shr, false) => op::SRLVD,
            _ => {
                b.e.mistaken();
                op::ADDD
            }
        };
        b.two(B::Two(e, 0, None), of)
    }

    fn high_product(b: &mut Bases<'_, '_>, signed: bool, of: [VReg; 2]) -> VReg {
        let e = if signed { op::MULDQ } else { op::MULUDQ };
        let shifted =
            |b: &mut Bases<'_, '_>, ext: u8, a: VReg| b.one(B::Shift(op::SHIFTQ_I, ext, 32, 0), a);
        // The products of the even dwords, and of the odd ones.
        let odd = of.map(|r| shifted(b, 2, r));
        let [even, odd] = [of, odd].map(|of| {
            let product = b.two(B::Two(e, 0, None), of);
            shifted(b, 2, product)
        });
        let odd = shifted(b, 6, odd);
        b.two(B::Two(op::ORD, 0, None), [even, odd])
    }

    fn and_not(b: &mut Bases<'_, '_>, of: [VReg; 2]) -> VReg {
        b.two(B::Two(op::ANDND, 0, None), of)
    }

    fn shift(b: &mut Bases<'_, '_>, ext: u8, a: VReg, by: u8) -> VReg {
        b.one(B::Shift(op::SHIFTD_I, ext, by, 0), a)
    }

    fn double_shift(b: &mut Bases<'_, '_>, left: bool, of: [VReg; 2], by: u8) -> VReg {
        let e = if left { op::SHLDD } else { op::SHRDD };
        b.two(B::Two(e, 0, Some(by)), of)
    }

    fn compare(b: &mut Bases<'_, '_>, o: Op, signed: bool, of: [VReg; 2]) -> VReg {
        let e = if signed { op::CMPD } else { op::CMPUD };
        b.two(B::Compare(e, predicate(o)), of)
    }

    fn select(b: &mut Bases<'_, '_>, mask: VReg, [x, y]: [VReg; 2]) -> VReg {
        let d = b.code.reg(0);
        let operands = [
            (mask, Role::Use),
            (d, Role::Tied),
            (x, Role::Use),
            (y, Role::Any),
        ];
        b.code.push(B::Three(op::TERND, 0xca), &operands);
        d
    }

    fn to_highest(b: &mut Bases<'_, '_>, a: VReg) -> VReg {
        let zeros = b.one(B::One(op::LZCNTD, 0), a);
        let ones = B::constant(b, u32::MAX);
        b.two(B::Two(op::SRLVD, 0, None), [ones, zeros])
    }

    fn first(b: &mut Bases<'_, '_>, a: VReg) -> VReg {
        b.one(B::One(op::BCASTD, 0), a)
    }

    fn qword(b: &mut Bases<'_, '_>, signed: bool, a: VReg) -> VReg {
        let e = if signed { op::PMOVSXDQ } else { op::PMOVZXDQ };
        b.one(B::One(e, 1), a)
    }

    fn qword_shl(b: &mut Bases<'_, '_>, a: VReg, by: u8) -> VReg {
        b.one(B::Shift(op::SHIFTQ_I, 6, by, 1), a)
    }

    fn qword_or(b: &mut Bases<'_, '_>, of: [VReg; 2]) -> VReg {
        b.two(B::Two(op::ORQ, 1, None), of)
    }

    fn qword_add(b: &mut Bases<'_, '_>, of: [VReg; 2]) -> VReg {
        b.two(B::Two(op::ADDQ, 1, None), of)
    }

    fn hold_zero(b: &mut Bases<'_, '_>, of: [VReg; 2]) {
        b.also(op::TESTNMD, None, of);
    }

    fn hold(b: &mut Bases<'_, '_>, o: Op, signed: bool, of: [VReg; 2]) {
        let e = if signed { op::CMPD } else { op::CMPUD };
        b.also(e, Some(predicate(o)), of);
    }

    fn checked(b: &mut Bases<'_, '_>) {
        if std::mem::take(&mut b.begun) {
            b.code.push(B::Guards, &[]);
        }
    }
}
