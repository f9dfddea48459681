//! The instructions of bases.

use super::*;
use crate::ir::affine::Address;
use crate::lir::Role;
use crate::target::x64::bases::{BaseAddress, BaseOps, SharedBase};

type Bases<'t, 'a> = crate::target::x64::bases::Bases<'t, 'a, Avx2>;
type OperandRegisters<'a> = crate::target::x64::machine::OperandRegisters<'a, B>;

/// A machine instruction.
#[derive(Debug)]
pub(crate) enum B {
    Plain(Plain),
    /// Checks the guards. Operands: the slices in which all of them hold, two temporary registers.
    Guards,
    Shared(SharedBase),
}

impl std::convert::From<SharedBase> for B {
    fn from(op: SharedBase) -> B {
        B::Shared(op)
    }
}

impl Emit<'_, Avx2> {
    /// Leaves the block unless a condition, whose truth values are the operand, holds in all slices with active lanes.
    pub(super) fn guards_code(&mut self, p: OperandRegisters<'_>) {
        let (held, t, u) = (p.r(0), p.r(1), p.r(2));
        self.a.x(MOVMSKPS, RAX, 0, H::R(held));
        self.a.alu_imm(alu::CMP, false, Rm::R(RAX), 15);
        let leave = self.leave_label();
        if self.all_active.is_some() {
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

    /// Sets the bits of slices without active lanes in RAX, and compares RAX with all slices. RDX is clobbered.
    fn or_inactive(&mut self, t: u8, u: u8) {
        let exec = H::M(sgpr_home(EXEC as u8));
        self.a.x(X(2, 1, 0, 0x33), t, 0, exec);
        self.a.x(XOR, u, u, H::R(u));
        self.a.x(EQD, t, t, H::R(u));
        self.a.x(MOVMSKPS, RDX, 0, H::R(t));
        self.a.alu(alu::OR, false, RAX, Rm::R(RDX));
        self.a.alu_imm(alu::CMP, false, Rm::R(RAX), 15);
    }

    pub(super) fn base_code(&mut self, base: &Rc<BaseAddress>, p: OperandRegisters<'_>) {
        let (r, t, u) = (p.r(0), p.r(1), p.r(2));
        let (base, a) = (base.clone(), base.address);
        let slot = self.address_slot(base.number);
        let leave = self.leave_label();
        let (from, back) = (self.a.label(), self.a.label());
        let Some(range) = base.range else {
            let limit = a.limit.unwrap_or(0);
            self.last_in_lds(limit, a.to, leave);
            Avx2::broadcast_gpr(self.a, t, RAX);
            self.a.y(ZXDQ, u, 0, H::R(r));
            let lds = ctx!(lds.base);
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
                if !a.reads_inactive {
                    e.lanes_of_lds(a, slot, r, leave);
                } else if e.all_active.is_some() {
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
            self.a.y(STORE, r, 0, H::M(ctx!(affine.guest)));
            let bits = self.a.every(!ALIAS, true);
            self.a.y(AND, u, r, bits);
        }
        self.a.y(BROADCASTQ, t, 0, H::M(ctx!(memory.bias)));
        self.a
            .y(ADDQ, u, if self.common.aliased { u } else { r }, H::R(t));
        self.a.y(STORE, u, 0, H::M(slot));
        // For an unsigned comparison the sign bits of both are flipped.
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
            e.find_base(&base, range, leave);
            e.a.jmp(back);
        });
    }

    /// Checks an address of LDS for the active lanes alone: leaves the block if one of them accesses bytes past the limit.
    /// RAX is the highest address that the slice's first lane may have when all 16 lanes are active. The address of lane 0 may be
    /// negative if lane 0 is inactive. RCX, RDX and RSI are clobbered.
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
            self.a.alu(alu::ADD, true, RSI, Rm::M(ctx!(lds.base)));
            let to = Mem {
                disp: slot.disp + 8 * slice,
                ..slot
            };
            self.a.store(true, to, RSI);
            self.a.bind(next);
        }
    }
}

impl Machine<Avx2> for B {
    fn encode(&self, e: &mut Emit<'_, Avx2>, p: OperandRegisters<'_>) {
        match self {
            B::Plain(op) => op.encode(e, p),
            &B::Shared(SharedBase::Broadcast(m, bytes)) => {
                let x = if bytes == 8 { BROADCASTQ } else { BROADCASTD };
                e.a.y(x, p.r(0), 0, H::M(m));
            }
            &B::Shared(SharedBase::Vgpr(v)) => {
                let home = |slice: i32| mem(VGPRS, (v as i32 - VGPR_BIAS) * 256 + 64 * slice);
                let r = p.r(0);
                e.a.x(MOVD, r, 0, H::M(home(0)));
                for slice in 1..4 {
                    let from = H::M(home(slice));
                    e.a.v(X(3, 1, 0, 0x22), 0, r, r, from, Some(slice as u8));
                }
            }
            &B::Shared(SharedBase::Store(m)) => e.a.x(STORE, p.r(0), 0, H::M(m)),
            B::Guards => e.guards_code(p),
            B::Shared(SharedBase::Address(base)) => e.base_code(base, p),
        }
    }
}

impl VexMachine for B {
    fn in_memory(&self, _: &mut Emit<'_, Avx2>) -> Option<H> {
        match self {
            &B::Plain(Plain::Line(line)) => Some(H::L(line)),
            _ => None,
        }
    }
}

impl Build for Bases<'_, '_> {
    fn plain(&mut self, op: Plain, operands: &[(VReg, Role)]) {
        self.code.push(B::Plain(op), operands);
    }

    fn new_reg(&mut self) -> VReg {
        self.code.reg(0)
    }

    fn words(&mut self, words: [u32; 8]) -> VReg {
        if let Some(&r) = self.constants.get(&words) {
            return r;
        }
        let (op, again) = Plain::constant(self.e.a, words);
        let r = self.code.push_remat(B::Plain(op), again, 0);
        self.constants.insert(words, r);
        r
    }

    fn no_code(&mut self) {
        self.e.mistaken();
    }
}

impl Bases<'_, '_> {
    /// Emits an operation on dwords of 128 bits.
    fn short(&mut self, x: X, a: VReg, b: VReg) -> VReg {
        self.two_of(x, 0, a, b, None)
    }

    fn also(&mut self, r: VReg) {
        self.held = Some(match self.held {
            Some(held) => self.short(AND, held, r),
            None => r,
        });
    }
}

impl BaseOps<Avx2> for B {
    const REGISTERS: u8 = REGISTERS;
    const TEMPS: usize = 2;

    fn constant(b: &mut Bases<'_, '_>, value: u32) -> VReg {
        b.words([value; 8])
    }

    fn firsts(b: &mut Bases<'_, '_>, step: u32) -> VReg {
        b.words([0, 16, 32, 48, 0, 0, 0, 0].map(|n: u32| n.wrapping_mul(step)))
    }

    fn dword(b: &mut Bases<'_, '_>, o: Op, signed: bool, [x, y]: [VReg; 2]) -> VReg {
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
            (Op::Shl, _) => X(2, 1, 0, 0x47),
            (Op::Shr, true) => X(2, 1, 0, 0x46),
            (Op::Shr, false) => X(2, 1, 0, 0x45),
            _ => {
                b.e.mistaken();
                ADDD
            }
        };
        b.short(e, x, y)
    }

    fn high_product(b: &mut Bases<'_, '_>, signed: bool, of: [VReg; 2]) -> VReg {
        let e = if signed { X(2, 1, 0, 0x28) } else { MULUDQ };
        // The products of the even dwords, and of the odd ones.
        let odd = of.map(|r| b.shift_of(0x73, 2, r, 32, 0));
        let [even, odd] = [of, odd].map(|[x, y]| {
            let product = b.short(e, x, y);
            b.shift_of(0x73, 2, product, 32, 0)
        });
        let odd = b.shift_of(0x73, 6, odd, 32, 0);
        b.short(OR, even, odd)
    }

    fn and_not(b: &mut Bases<'_, '_>, [x, y]: [VReg; 2]) -> VReg {
        b.short(ANDN, x, y)
    }

    fn shift(b: &mut Bases<'_, '_>, ext: u8, a: VReg, by: u8) -> VReg {
        b.shift_of(0x72, ext, a, by, 1)
    }

    fn double_shift(b: &mut Bases<'_, '_>, left: bool, [x, y]: [VReg; 2], by: u8) -> VReg {
        b.both_shifted(left, x, y, by, 0)
    }

    fn compare(b: &mut Bases<'_, '_>, o: Op, signed: bool, [x, y]: [VReg; 2]) -> VReg {
        Build::compare(b, o, signed, x, y)
    }

    fn select(b: &mut Bases<'_, '_>, mask: VReg, [x, y]: [VReg; 2]) -> VReg {
        b.blend_of(0, y, x, mask)
    }

    fn to_highest(b: &mut Bases<'_, '_>, a: VReg) -> VReg {
        [1, 2, 4, 8, 16].into_iter().fold(a, |t, by| {
            let u = b.shr(t, by);
            b.short(OR, t, u)
        })
    }

    fn first(b: &mut Bases<'_, '_>, a: VReg) -> VReg {
        b.one_of(BROADCASTD, 0, a, None)
    }

    fn qword(b: &mut Bases<'_, '_>, signed: bool, a: VReg) -> VReg {
        b.one(if signed { SXDQ } else { ZXDQ }, a)
    }

    fn qword_shl(b: &mut Bases<'_, '_>, a: VReg, by: u8) -> VReg {
        b.shlq(a, by)
    }

    fn qword_or(b: &mut Bases<'_, '_>, [x, y]: [VReg; 2]) -> VReg {
        b.two(OR, x, y)
    }

    fn qword_add(b: &mut Bases<'_, '_>, [x, y]: [VReg; 2]) -> VReg {
        b.two(ADDQ, x, y)
    }

    fn hold_zero(b: &mut Bases<'_, '_>, [x, y]: [VReg; 2]) {
        let t = if x == y { x } else { b.short(AND, x, y) };
        let zero = b.zero();
        let r = b.short(EQD, t, zero);
        b.also(r);
    }

    fn hold(b: &mut Bases<'_, '_>, o: Op, signed: bool, [x, y]: [VReg; 2]) {
        let r = Build::compare(b, o, signed, x, y);
        b.also(r);
    }

    fn checked(b: &mut Bases<'_, '_>) {
        if let Some(held) = b.held.take() {
            let (t, u) = (b.code.reg(0), b.code.reg(0));
            let operands = [(held, Role::Use), (t, Role::Temp), (u, Role::Temp)];
            b.code.push(B::Guards, &operands);
        }
    }
}
