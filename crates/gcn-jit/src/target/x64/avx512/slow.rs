//! The code of fast paths whose slow path is called out of line, and of corrections of NaNs.

use super::*;
use crate::ir::fast_path::Exception;
use crate::target::x64::slow::{Fix, Kind, RESULT, Slow, line};

/// Signalling and quiet NaNs, as vfpclass numbers them.
const SIGNALLING: u8 = 0x80;
const NAN: u8 = 0x81;
/// The classes of zeros and infinities of both signs; of zeros and plus infinity, which are their own roots; and of each of
/// [`EXTREMES`](crate::ir::fast_path::EXTREMES).
const EXTREME: u8 = 0x1e;
const OWN_ROOT: u8 = 0x0e;
const EACH: [u8; 3] = [0x02, 0x04, 0x08];

impl Emit<'_, Avx512> {
    /// Removes lanes from a slow path for which the fast path's value is right although its condition does not hold, or for which the
    /// right value is known and written here. The zero flag is set if no lane remains. RAX, RCX, RDX and RSI are clobbered.
    fn leave_out(
        &mut self,
        exception: Exception,
        leaves: &[(usize, Rm, bool)],
        lanes: u8,
        to: &[u8],
    ) {
        let class = |e: &mut Self, classes: u8| {
            for (n, &(at, rm, wide)) in leaves.iter().enumerate() {
                let test = op::FPCLASSPS.wide(wide);
                e.a.zi(test, lanes, 0, rm, ALL, classes);
                e.a.k_to_gpr(RAX, lanes);
                if at % 2 != 0 {
                    e.a.shift_imm(4, false, RAX, 8);
                }
                match n {
                    0 => e.a.mov(false, RDX, Rm::R(RAX)),
                    _ => e.a.alu(alu::OR, false, RDX, Rm::R(RAX)),
                }
            }
        };
        self.a.k_to_gpr(RCX, lanes);
        let others = |e: &mut Self| {
            e.a.alu_imm(alu::XOR, false, Rm::R(RDX), -1);
            e.a.alu(alu::AND, false, RDX, Rm::R(RCX));
        };
        match exception {
            Exception::Root => class(self, OWN_ROOT),
            Exception::Quotient => {
                // RSI gets the lanes without NaNs.
                class(self, NAN);
                others(self);
                self.a.mov(false, RSI, Rm::R(RDX));
                class(self, EXTREME);
                self.a.alu(alu::AND, false, RDX, Rm::R(RSI));
            }
            Exception::Known(values) => self.write_known(values, leaves, lanes, to),
        }
        others(self);
        self.a.gpr_to_k(lanes, RDX);
        self.a.test(false, RDX, RDX);
    }

    /// Writes the known results of lanes whose operand is extreme. EDX gets these lanes. RAX and `t` are clobbered.
    fn write_known(&mut self, values: [u64; 3], leaves: &[(usize, Rm, bool)], t: u8, to: &[u8]) {
        self.a.imm(RDX, 0);
        for (&(at, rm, wide), &to) in leaves.iter().zip(to) {
            for (n, &value) in values.iter().enumerate() {
                // Equal values are written together.
                if values[..n].contains(&value) {
                    continue;
                }
                let classes = (0..3).filter(|&k| values[k] == value).map(|k| EACH[k]);
                let test = op::FPCLASSPS.wide(wide);
                self.a.zi(test, t, 0, rm, ALL, classes.sum());
                self.copy_lanes(to, Rm::C(value), wide, keep(t));
                self.a.k_to_gpr(RAX, t);
                if at % 2 != 0 {
                    self.a.shift_imm(4, false, RAX, 8);
                }
                self.a.alu(alu::OR, false, RDX, Rm::R(RAX));
            }
        }
    }

    fn copy_lanes(&mut self, to: u8, from: Rm, wide: bool, k: K) {
        let (e, from) = match from {
            Rm::R(_) | Rm::M(_) => (op::MOVDQU32.wide(wide), from),
            // Broadcasts always read one element, so they take a plain memory operand.
            Rm::B(m) if wide => (op::BCASTQ, Rm::M(m)),
            Rm::B(m) => (op::BCASTD, Rm::M(m)),
            Rm::C(_) if wide => (op::BCASTQ, from),
            Rm::C(_) => (op::BCASTD, from),
        };
        self.a.zk(e, to, 0, from, k);
    }
}

impl SlowPaths for Avx512 {
    fn slow_code(e: &mut Emit<'_, Avx512>, slow: &Rc<Slow>, p: OperandRegisters<'_>) {
        let (condition, lanes) = (p.k(0), p.k(1));
        let (mut leaves, mut masks) = (Vec::new(), Vec::new());
        let mut k = 2;
        for &(at, kind) in &slow.leaves {
            if kind == Kind::Bool {
                masks.push((at, p.k(k)));
            } else {
                for part in 0..kind.registers() {
                    leaves.push((at + part, e.rm(p, k + part), kind == Kind::Wide));
                }
            }
            k += kind.registers();
        }
        let result = (0..slow.result.registers()).map(|i| k + 2 * i + 1);
        let to: Vec<u8> = match slow.result {
            Kind::Bool => result.map(|i| p.k(i)).collect(),
            _ => result.map(|i| p.r(i)).collect(),
        };
        // The slow path is for active lanes in which the fast path's condition does not hold.
        let (from, back) = (e.a.label(), e.a.label());
        let all_active = e.all_active.is_some();
        if all_active {
            // The carry flag is set if all 16 bits are 1.
            e.a.kortest(condition, condition);
            e.a.jcc(Cc::Ae, from);
        } else {
            e.a.kop(kop::ANDN, lanes, condition, K_EXEC);
            e.a.kortest(lanes, lanes);
            e.a.jcc(Cc::Ne, from);
        }
        e.a.bind(back);
        let slow = slow.clone();
        e.section(move |e| {
            let truth = slow.result == Kind::Bool;
            e.a.bind(from);
            if all_active {
                e.a.knot(lanes, condition);
            }
            // Known values are written before the last read of the operand, so they must not share a register.
            let both = |l: &(usize, Rm, bool)| matches!(l.1, Rm::R(r) if to.contains(&r));
            let both = leaves.iter().any(both);
            let exception = slow.exception;
            let exception = exception.filter(|e| !both || !matches!(e, Exception::Known(_)));
            if let Some(exception) = exception {
                e.leave_out(exception, &leaves, lanes, &to);
                e.a.jcc(Cc::E, back);
            }
            for &(at, rm, _) in &leaves {
                if let Rm::R(r) = rm {
                    e.a.z(op::MOVDQU32_ST, r, 0, Rm::M(line(at)));
                }
            }
            for (at, k) in masks {
                e.a.kstore16(line(at), k);
            }
            // The other lanes' results are stored, too.
            for (part, &d) in to.iter().enumerate() {
                let m = line(RESULT + part);
                match truth {
                    true => e.a.kstore16(m, d),
                    false => e.a.z(op::MOVDQU32_ST, d, 0, Rm::M(m)),
                }
            }
            // All registers have been stored, so the result's register is free.
            for (at, rm, wide) in leaves {
                if matches!(rm, Rm::R(_)) {
                    continue;
                }
                e.copy_lanes(to[0], rm, wide, ALL);
                e.a.z(op::MOVDQU32_ST, to[0], 0, Rm::M(line(at)));
            }
            e.a.kstore16(ctx!(call.lanes), lanes);
            e.call_slow(slow.call);
            for (part, &d) in to.iter().enumerate() {
                let m = line(RESULT + part);
                match truth {
                    true => e.a.kload16(d, m),
                    false => e.a.z(op::MOVDQU32, d, 0, Rm::M(m)),
                }
            }
            e.a.jmp(back);
        });
    }

    fn fix_code(e: &mut Emit<'_, Avx512>, fix: Fix, p: OperandRegisters<'_>) {
        let Fix {
            op: o,
            wide,
            arity,
            part,
        } = fix;
        let r = p.r(1);
        let operands = p.range(2, arity);
        let t = p.r(2 + arity);
        let [lanes, k, product] = [3, 4, 5].map(|i| p.k(i + arity));
        let mut on = K_EXEC;
        if part == 1 {
            e.a.kshiftr(lanes, K_EXEC, 8);
            on = lanes;
        }
        let compare = op::CMPPS.wide(wide);
        e.a.zi(compare, lanes, r, Rm::R(r), keep(on), 3);
        e.a.kortest(lanes, lanes);
        let (from, back) = (e.a.label(), e.a.label());
        e.a.jcc(Cc::Ne, from);
        e.a.bind(back);
        let ieee = e.c.float_mode().env32().ieee;
        e.section(move |e| {
            e.a.bind(from);
            let (default, quiet) = if wide {
                (0xfff8 << 48, 1 << 51)
            } else {
                (0xffc0_0000, 1 << 22)
            };
            let class = op::FPCLASSPS.wide(wide);
            let or = op::ORD.wide(wide);
            if let Op::Min | Op::Max = o {
                // Both operands are NaNs, or one is signalling. The result is the first signalling NaN, made quiet, else the second operand.
                let [a, b] = [operands[0], operands[1]].map(Rm::R);
                e.copy_lanes(t, b, wide, ALL);
                e.a.zi(class, k, 0, b, ALL, SIGNALLING);
                e.a.zk(or, t, t, Rm::C(quiet), keep(k));
                e.a.zi(class, k, 0, a, ALL, SIGNALLING);
                e.copy_lanes(t, a, wide, keep(k));
                e.a.zk(or, t, t, Rm::C(quiet), keep(k));
            } else {
                // The result is the first operand that is a NaN. An invalid product takes precedence over the addend.
                let adds = matches!(o, Op::Fma | Op::Mad);
                if adds {
                    let multiply = op::MULPS.wide(wide);
                    e.a.z(multiply, t, operands[0], Rm::R(operands[1]));
                    e.a.zi(compare, product, t, Rm::R(t), ALL, 3);
                }
                e.copy_lanes(t, Rm::C(default), wide, ALL);
                for (at, &a) in operands.iter().enumerate().rev() {
                    e.a.zi(class, k, 0, Rm::R(a), ALL, NAN);
                    e.copy_lanes(t, Rm::R(a), wide, keep(k));
                    if at == 2 && adds {
                        e.copy_lanes(t, Rm::C(default), wide, keep(product));
                    }
                }
                if ieee {
                    e.a.z(or, t, t, Rm::C(quiet));
                }
            }
            e.copy_lanes(r, Rm::R(t), wide, keep(lanes));
            e.a.jmp(back);
        });
    }
}
