//! Values with a fast path. If it does not hold for an active lane, out-of-line code calls the slow path.

use super::*;

/// Where an operand of a slow path is.
#[derive(Clone, Copy)]
enum At {
    /// One part of it.
    Z(Rm, bool),
    K(u8),
}

/// Where the result goes.
#[derive(Clone, Copy)]
enum To {
    Z([u8; 2], u8),
    K(u8),
}

/// A slow path, out of line.
pub(crate) struct SlowPath {
    from: Label,
    back: Label,
    leaves: Vec<(usize, At)>,
    to: To,
    /// The index of the region's call.
    call: u32,
    /// The lanes that need the slow path; in an all-active block those that are not in the second mask.
    lanes: u8,
    full: Option<u8>,
}

/// The first line of the context's data for the result. The lines before are for the leaves.
const RESULT: usize = 2 * crate::ir::fast_path::LEAVES;

impl Emit<'_, Avx512> {
    pub(super) fn rare(&mut self, vop: &VectorOp, n: &Node, number: u16) {
        let [when, short, _] = vop.args;
        let c = self.c;
        let rare = &c.fast_paths[number as usize];
        let parts = 1 + (n.out.bits() > 32) as u8;
        let condition = self.kreg(when);
        self.v.k.busy |= 1 << condition;
        let mut leaves = Vec::new();
        for (at, &leaf) in rare.leaves.iter().enumerate() {
            let l = *self.node(leaf);
            if l.out == Ty::Bool {
                let k = self.kreg(leaf);
                self.v.k.busy |= 1 << k;
                leaves.push((2 * at, At::K(k)));
                continue;
            }
            let wide = l.out.bits() > 32;
            for part in 0..1 + wide as u8 {
                let rm = match (wide, n.out == Ty::Bool) {
                    (true, false) => self.wrm(leaf, part),
                    (false, false) => self.rm(leaf),
                    // There is no register to go through.
                    (true, true) => Rm::R(self.wreg(leaf, part)),
                    (false, true) => Rm::R(self.zreg(leaf, 0)),
                };
                self.hold_rm(rm);
                leaves.push((2 * at + part as usize, At::Z(rm, wide)));
            }
        }
        let to = if n.out == Ty::Bool {
            let d = self.ktemp();
            self.v.k.busy |= 1 << d;
            match self.konst(short) {
                Some(v) => self
                    .a
                    .kop(if v & 1 != 0 { kop::XNOR } else { kop::XOR }, d, d, d),
                None => {
                    let s = self.kreg(short);
                    self.a.kop(kop::OR, d, s, s);
                }
            }
            self.kput(vop.id, d);
            To::K(d)
        } else {
            let mut to = [0; 2];
            for part in 0..parts {
                let r = if parts == 2 {
                    self.wreg(short, part)
                } else {
                    self.zreg(short, 0)
                };
                let dies = self.next_use(short) == u32::MAX
                    && self.v.z.at.get(&(short, part)) == Some(&r)
                    && self.node(short).vec
                    && !self.v.deferred_writes.iter().any(|p| p.reg == Some(r));
                let d = if dies {
                    self.v.z.at.remove(&(short, part));
                    self.put(vop.id, part, r);
                    r
                } else {
                    self.hold(r);
                    let d = self.define(vop.id, part);
                    self.a.z(op::MOVDQU32, d, 0, Rm::R(r));
                    d
                };
                self.hold(d);
                to[part as usize] = d;
            }
            To::Z(to, parts)
        };
        // Active lanes for which the fast path does not hold.
        let (from, back) = (self.a.label(), self.a.label());
        let k = self.ktemp();
        let mut full = None;
        if self.full.is_some() {
            // The carry flag is set if all 16 bits are 1.
            self.a.kortest(condition, condition);
            self.a.jcc(Cc::Ae, from);
            full = Some(condition);
        } else {
            self.a.kop(kop::ANDN, k, condition, K_EXEC);
            self.a.kortest(k, k);
            self.a.jcc(Cc::Ne, from);
        }
        self.a.bind(back);
        let call = self.call_of.get(&number).copied();
        if call.is_none() {
            self.mistaken();
        }
        self.v.slow_paths.push(SlowPath {
            from,
            back,
            lanes: k,
            full,
            leaves,
            to,
            call: call.unwrap_or_default(),
        });
    }

    /// The out-of-line code.
    pub(super) fn slow_paths(&mut self) {
        for long in std::mem::take(&mut self.v.slow_paths) {
            self.a.bind(long.from);
            let line = |n: usize| ctx!(data, 64 * n);
            for &(n, at) in &long.leaves {
                match at {
                    At::Z(Rm::R(r), _) => self.a.z(op::MOVDQU32_ST, r, 0, Rm::M(line(n))),
                    At::K(k) => self.a.kstore16(line(n), k),
                    At::Z(..) => {}
                }
            }
            // So is what other lanes have.
            match long.to {
                To::Z(to, parts) => {
                    for (part, &d) in to[..parts as usize].iter().enumerate() {
                        self.a.z(op::MOVDQU32_ST, d, 0, Rm::M(line(RESULT + part)));
                    }
                }
                To::K(k) => self.a.kstore16(line(RESULT), k),
            }
            // All that was in registers is stored: that of the result is free.
            if let To::Z([t, _], _) = long.to {
                for &(n, at) in &long.leaves {
                    let (rm, wide) = match at {
                        At::Z(Rm::R(_), _) | At::K(_) => continue,
                        At::Z(rm, wide) => (rm, wide),
                    };
                    let e = match rm {
                        Rm::M(_) => op::MOVDQU32,
                        _ if wide => op::BCASTQ,
                        _ => op::BCASTD,
                    };
                    // The broadcasts have no bit for it: memory is an element to them.
                    let rm = match rm {
                        Rm::B(m) => Rm::M(m),
                        rm => rm,
                    };
                    self.a.z(e, t, 0, rm);
                    self.a.z(op::MOVDQU32_ST, t, 0, Rm::M(line(n)));
                }
            }
            if let Some(condition) = long.full {
                self.a.knot(long.lanes, condition);
            }
            self.a.kstore16(ctx!(lanes_on), long.lanes);
            self.a.imm(RSI, long.call as u64);
            let slow = self.common.slow[2];
            self.a.call_label(slow);
            if self.plan.checks {
                self.a.test(false, RAX, RAX);
                let restart = self.restart();
                self.a.jcc(Cc::Ne, restart);
            }
            match long.to {
                To::Z(to, parts) => {
                    for (part, &d) in to[..parts as usize].iter().enumerate() {
                        self.a.z(op::MOVDQU32, d, 0, Rm::M(line(RESULT + part)));
                    }
                }
                To::K(k) => self.a.kload16(k, line(RESULT)),
            }
            self.a.jmp(long.back);
        }
    }
}
