//! The code of fast paths whose slow path is called out of line, and of corrections of NaNs.

use super::*;
use crate::ir::fast_path::{EXTREMES, Exception};
use crate::target::x64::slow::{Fix, Kind, RESULT, Slow, line};

/// A comparison of floats; the immediate 3 says whether one is a NaN.
const UNORDERED: X = X(1, 0, 0, 0xc2);
const UNORDERED_WIDE: X = X(1, 1, 0, 0xc2);

impl Emit<'_, Avx2> {
    /// Removes lanes from RCX for which the fast path's value is right although its condition does not hold: see [`Exception`]. The
    /// zero flag is set if no lane remains. `t`, RAX, RDX and RSI are clobbered.
    fn leave_out(&mut self, exception: Exception, operands: &[H], t: u8) {
        // RDX gets the lanes with zeros and infinities of both signs (compared as the bits times 2, without the sign); for roots, minus infinity is
        // excluded.
        let extremes = |e: &mut Self| {
            for (n, &operand) in operands.iter().enumerate() {
                for (k, bits) in [0, 0xff00_0000].into_iter().enumerate() {
                    e.a.y(LOAD, t, 0, operand);
                    if exception == Exception::Quotient || k == 0 {
                        e.a.y(ADDD, t, t, H::R(t));
                    }
                    let bits = match (exception, k) {
                        (Exception::Root, 1) => 0x7f80_0000,
                        _ => bits,
                    };
                    let bits = e.a.d32(bits);
                    e.a.y(EQD, t, t, bits);
                    e.bits_of(RAX, t);
                    match n + k {
                        0 => e.a.mov(false, RDX, Rm::R(RAX)),
                        _ => e.a.alu(alu::OR, false, RDX, Rm::R(RAX)),
                    }
                }
            }
        };
        extremes(self);
        if exception == Exception::Quotient {
            for &operand in operands {
                self.a.y(LOAD, t, 0, operand);
                self.a.yi(UNORDERED, t, t, H::R(t), 3);
                self.bits_of(RAX, t);
                self.a.alu_imm(alu::XOR, false, Rm::R(RAX), -1);
                self.a.alu(alu::AND, false, RDX, Rm::R(RAX));
            }
        }
        self.a.alu_imm(alu::XOR, false, Rm::R(RDX), -1);
        self.a.alu(alu::AND, false, RCX, Rm::R(RDX));
    }

    /// Like [`Emit::leave_out`], for 64-bit operands, which are in these lines in the order of lanes.
    fn leave_out_wide(&mut self, exception: Exception, lines: &[usize], t: u8) {
        let quotient = exception == Exception::Quotient;
        let part = |at: usize, half: i32| {
            let m = line(at);
            H::M(Mem {
                disp: m.disp + 32 * half,
                ..m
            })
        };
        self.a.imm(RDX, 0);
        for (half, &at) in [0, 1]
            .into_iter()
            .flat_map(|h| lines.iter().map(move |l| (h, l)))
        {
            for (k, bits) in [0, 0xffe0 << 48].into_iter().enumerate() {
                self.a.y(LOAD, t, 0, part(at, half));
                if quotient || k == 0 {
                    self.a.y(ADDQ, t, t, H::R(t));
                }
                let bits = match (exception, k) {
                    (Exception::Root, 1) => 0x7ff0 << 48,
                    _ => bits,
                };
                let bits = self.a.every(bits, true);
                self.a.y(EQQ, t, t, bits);
                self.a.y(MOVMSKPD, RAX, 0, H::R(t));
                self.a.shift_imm(4, false, RAX, 4 * half as u8);
                self.a.alu(alu::OR, false, RDX, Rm::R(RAX));
            }
        }
        for (half, &at) in [0, 1]
            .into_iter()
            .flat_map(|h| lines.iter().map(move |l| (h, l)))
        {
            if quotient {
                self.a.y(LOAD, t, 0, part(at, half));
                self.a.yi(UNORDERED_WIDE, t, t, H::R(t), 3);
                self.a.y(MOVMSKPD, RAX, 0, H::R(t));
                self.a.shift_imm(4, false, RAX, 4 * half as u8);
                self.a.alu_imm(alu::XOR, false, Rm::R(RAX), -1);
                self.a.alu(alu::AND, false, RDX, Rm::R(RAX));
            }
        }
        self.a.alu_imm(alu::XOR, false, Rm::R(RDX), -1);
        self.a.alu(alu::AND, false, RCX, Rm::R(RDX));
    }

    /// Writes the known results of lanes whose operand is extreme to the line of the result, and removes these lanes from RCX. The
    /// operand is in the first line. RAX, RDX and RSI are clobbered.
    fn take_known(&mut self, values: [u64; 3], wide: bool) {
        let scale = if wide { 8 } else { 4 };
        let of = |line: Mem, by: i32| Mem {
            index: Some((RAX, scale)),
            disp: line.disp + by,
            ..line
        };
        self.a.mov(false, RDX, Rm::R(RCX));
        let top = self.a.here();
        let done = self.a.label();
        self.a.tzcnt(false, RAX, RDX);
        if wide {
            self.a.alu_imm(alu::CMP, false, Rm::M(of(line(0), 0)), 0);
            self.a.jcc(Cc::Ne, done);
        }
        for (extreme, value) in EXTREMES[wide as usize].into_iter().zip(values) {
            let next = self.a.label();
            let (high, by) = if wide {
                (extreme >> 32, 4)
            } else {
                (extreme, 0)
            };
            let operand = Rm::M(of(line(0), by));
            self.a.alu_imm(alu::CMP, false, operand, high as u32 as i32);
            self.a.jcc(Cc::Ne, next);
            self.a.imm(RSI, value);
            self.a.store(wide, of(line(RESULT), 0), RSI);
            // RSI gets the lowest remaining bit.
            self.a.blsr(false, RSI, RDX);
            self.a.alu(alu::XOR, false, RSI, Rm::R(RDX));
            self.a.alu(alu::XOR, false, RCX, Rm::R(RSI));
            self.a.jmp(done);
            self.a.bind(next);
        }
        self.a.bind(done);
        self.a.blsr(false, RDX, RDX);
        self.a.jcc(Cc::Ne, top);
    }

    /// Stores a register of a 64-bit value in the order of lanes.
    fn store_part(&mut self, at: usize, part: usize, r: u8) {
        let to = line(at);
        let plus = |by: i32| Mem {
            disp: to.disp + by,
            ..to
        };
        let by = 16 * part as i32;
        self.a.x(STORE, r, 0, H::M(plus(by)));
        self.a.yi(EXTRACT, r, 0, H::M(plus(32 + by)), 1);
    }

    fn store_leaf(&mut self, at: usize, kind: Kind, r: &[u8]) {
        match kind {
            Kind::Narrow => self.a.y(STORE, r[0], 0, H::M(line(at))),
            Kind::Bool => {
                self.bits_of(RAX, r[0]);
                self.a.store(false, line(at), RAX);
            }
            Kind::Wide => {
                self.store_part(at, 0, r[0]);
                self.store_part(at, 1, r[1]);
            }
        }
    }

    fn load_result(&mut self, kind: Kind, r: &[u8]) {
        let from = line(RESULT);
        let plus = |by: i32| Mem {
            disp: from.disp + by,
            ..from
        };
        match kind {
            Kind::Narrow => self.a.y(LOAD, r[0], 0, H::M(from)),
            Kind::Bool => self.mask_of_bits(At::same(from), r[0]),
            Kind::Wide => {
                for (k, &r) in r.iter().enumerate() {
                    let by = 16 * k as i32;
                    self.a.x(LOAD, r, 0, H::M(plus(by)));
                    self.a.yi(INSERT, r, r, H::M(plus(32 + by)), 1);
                }
            }
        }
    }

    /// Returns to the fast path with the result if the zero flag says that no lane remains.
    fn end_if_none(&mut self, kind: Kind, r: &[u8], back: Label) {
        let some = self.a.label();
        self.a.jcc(Cc::Ne, some);
        self.load_result(kind, r);
        self.a.jmp(back);
        self.a.bind(some);
    }
}

impl SlowPaths for Avx2 {
    fn slow_code(e: &mut Emit<'_, Avx2>, slow: &Rc<Slow>, p: OperandRegisters<'_>) {
        // RCX gets the active lanes for which the fast path's condition does not hold.
        e.bits_of(RCX, p.r(0));
        e.a.alu_imm(alu::XOR, false, Rm::R(RCX), 0xff);
        e.test_active(slow.active, RCX);
        let (from, back) = (e.a.label(), e.a.label());
        e.a.jcc(Cc::Ne, from);
        e.a.bind(back);
        let (slow, mut leaves) = (slow.clone(), Vec::new());
        let mut k = 1;
        for &(at, kind) in &slow.leaves {
            let parts: Vec<H> = (0..kind.registers()).map(|i| e.h(p, k + i)).collect();
            k += kind.registers();
            leaves.push((at, kind, parts));
        }
        let to: Vec<u8> = (0..slow.result.registers())
            .map(|i| p.r(k + 2 * i + 1))
            .collect();
        e.section(move |e| {
            e.a.bind(from);
            if !e.no_inactive_lanes() {
                let m = e.at(slow.active);
                e.a.movzx8(RAX, m);
                e.a.alu(alu::AND, false, RCX, Rm::R(RAX));
            }
            // Other lanes keep their values.
            e.store_leaf(RESULT, slow.result, &to);
            let narrow = leaves.iter().all(|leaf| leaf.1 == Kind::Narrow);
            let known = matches!(slow.exception, Some(Exception::Known(_)));
            if let Some(exception) = slow.exception.filter(|_| narrow && !known) {
                let operands: Vec<H> = leaves.iter().map(|leaf| leaf.2[0]).collect();
                e.leave_out(exception, &operands, to[0]);
                e.end_if_none(slow.result, &to, back);
            }
            e.a.store16(ctx!(call.lanes), RCX);
            let wide = leaves.iter().all(|leaf| leaf.1 == Kind::Wide);
            let lines: Vec<usize> = leaves.iter().map(|leaf| leaf.0).collect();
            // Operands that are not in registers are copied through the result's register, which has been stored.
            for (at, kind, parts) in leaves {
                let mut registers = Vec::new();
                for (k, part) in parts.into_iter().enumerate() {
                    let free = to[k.min(to.len() - 1)];
                    registers.push(match part {
                        H::R(r) => r,
                        part => {
                            e.a.y(LOAD, free, 0, part);
                            free
                        }
                    });
                    if kind == Kind::Wide && to.len() == 1 && k == 0 {
                        e.store_part(at, 0, registers[0]);
                    }
                }
                match kind == Kind::Wide && to.len() == 1 {
                    true => e.store_part(at, 1, registers[1]),
                    false => e.store_leaf(at, kind, &registers),
                }
            }
            if let Some(Exception::Known(values)) = slow.exception {
                e.take_known(values, slow.result == Kind::Wide);
                e.a.test(false, RCX, RCX);
                e.end_if_none(slow.result, &to, back);
                e.a.store16(ctx!(call.lanes), RCX);
            }
            if let Some(exception) = slow.exception.filter(|_| wide && !known) {
                e.leave_out_wide(exception, &lines, to[0]);
                e.end_if_none(slow.result, &to, back);
                e.a.store16(ctx!(call.lanes), RCX);
            }
            e.call_slow(slow.call);
            e.load_result(slow.result, &to);
            e.a.jmp(back);
        });
    }

    fn fix_code(e: &mut Emit<'_, Avx2>, fix: Fix, p: OperandRegisters<'_>) {
        let r = p.r(1);
        let operands = p.range(2, fix.arity);
        let [t, u, nans] = [0, 1, 2].map(|k| p.r(2 + fix.arity + k));
        let compare = X(1, fix.wide as u8, 0, 0xc2);
        e.a.yi(compare, nans, r, H::R(r), 3);
        e.bits_of(RAX, nans);
        e.a.test(false, RAX, RAX);
        let (from, back) = (e.a.label(), e.a.label());
        e.a.jcc(Cc::Ne, from);
        e.a.bind(back);
        let ieee = e.c.float_mode().env32().ieee;
        e.section(move |e| {
            e.a.bind(from);
            let wide = fix.wide;
            let (default, quiet) = match wide {
                true => (0xfff8 << 48, 1 << 51),
                false => (0xffc0_0000, 1 << 22),
            };
            let default = e.a.every(default, wide);
            let quiet = e.a.every(quiet, wide);
            if let Op::Min | Op::Max = fix.op {
                // Both operands are NaNs, or one is signalling. The result is the first signalling NaN, made quiet, else the second operand.
                let [a, b] = [operands[0], operands[1]];
                e.a.y(LOAD, t, 0, H::R(b));
                for x in [b, a] {
                    e.signalling(wide, u, x);
                    e.a.yi(BLENDV, t, t, H::R(x), u << 4);
                    e.a.y(AND, u, u, quiet);
                    e.a.y(OR, t, t, H::R(u));
                }
            } else {
                // The result is the first operand that is a NaN. An invalid product takes precedence over the addend.
                e.a.y(LOAD, t, 0, default);
                for (at, &a) in operands.iter().enumerate().rev() {
                    e.a.yi(compare, u, a, H::R(a), 3);
                    e.a.yi(BLENDV, t, t, H::R(a), u << 4);
                    if at == 2 && matches!(fix.op, Op::Fma | Op::Mad) {
                        let multiply = X(1, wide as u8, 0, 0x59);
                        e.a.y(multiply, u, operands[0], H::R(operands[1]));
                        e.a.yi(compare, u, u, H::R(u), 3);
                        e.a.yi(BLENDV, t, t, default, u << 4);
                    }
                }
                if ieee {
                    e.a.y(OR, t, t, quiet);
                }
            }
            e.a.yi(BLENDV, r, r, H::R(t), nans << 4);
            e.a.jmp(back);
        });
    }
}
