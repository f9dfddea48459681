//! NaNs as the interpreter has them, for blocks that meet them: what the host chose is put right after the block.

use super::*;

/// Code that is put after the block.
pub(crate) struct Fix {
    from: Label,
    back: Label,
    op: Op,
    wide: bool,
    result: u8,
    /// The lanes whose result is a NaN.
    lanes: u8,
    operands: Vec<Rm>,
    /// Registers to work with; `product` where a product is added to something.
    t: u8,
    k: u8,
    product: Option<u8>,
}

/// Signalling and quiet NaNs, as vfpclass numbers them.
const SIGNALLING: u8 = 0x80;
const NAN: u8 = 0x81;

impl Emit<'_, Avx512> {
    /// Sees to the NaNs of a result.
    pub(super) fn fix(&mut self, vop: &VectorOp, op: Op, part: u8, wide: bool) {
        let r = self.changed(vop.id, part);
        self.hold(r);
        let lanes = self.ktemp();
        self.v.k.busy |= 1 << lanes;
        let mut on = K_EXEC;
        if part == 1 {
            self.a.kshiftr(lanes, K_EXEC, 8);
            on = lanes;
        }
        let e = if wide { op::CMPPS.pd() } else { op::CMPPS };
        self.a.zi(e, lanes, r, Rm::R(r), keep(on), 3);
        let arity = if op == Op::Ldexp { 1 } else { op.arity() };
        let mut operands = Vec::with_capacity(arity);
        for &a in &vop.args[..arity] {
            let rm = if wide { self.wrm(a, part) } else { self.rm(a) };
            self.hold_rm(rm);
            operands.push(rm);
        }
        let k = self.ktemp();
        let product = match op {
            Op::Fma | Op::Mad => {
                self.v.k.busy |= 1 << k;
                Some(self.ktemp())
            }
            _ => None,
        };
        let t = self.temp();
        self.a.kortest(lanes, lanes);
        let (from, back) = (self.a.label(), self.a.label());
        self.a.jcc(Cc::Ne, from);
        self.a.bind(back);
        self.v.fixes.push(Fix {
            from,
            back,
            op,
            wide,
            result: r,
            lanes,
            operands,
            t,
            k,
            product,
        });
    }

    /// The code after the block.
    pub(super) fn fixes(&mut self) {
        let ieee = self.common.mode.env32().ieee;
        for f in std::mem::take(&mut self.v.fixes) {
            self.a.bind(f.from);
            let (t, k) = (f.t, f.k);
            let (default, quiet) = if f.wide {
                (0xfff8 << 48, 1 << 51)
            } else {
                (0xffc0_0000, 1 << 22)
            };
            let class = op::FPCLASSPS.wide(f.wide);
            let or = op::ORD.wide(f.wide);
            if let Op::Min | Op::Max = f.op {
                // Both are NaNs, or one is signalling: the first of those made quiet, else the second operand.
                let [a, b] = [f.operands[0], f.operands[1]];
                self.copy_lanes(t, b, f.wide, ALL);
                self.a.zi(class, k, 0, b, ALL, SIGNALLING);
                self.a.zk(or, t, t, Rm::C(quiet), keep(k));
                self.a.zi(class, k, 0, a, ALL, SIGNALLING);
                self.copy_lanes(t, a, f.wide, keep(k));
                self.a.zk(or, t, t, Rm::C(quiet), keep(k));
            } else {
                // The first operand that is a NaN; an invalid product comes before what is added to it.
                if let Some(product) = f.product {
                    let (multiply, compare) = match f.wide {
                        true => (op::MULPS.pd(), op::CMPPS.pd()),
                        false => (op::MULPS, op::CMPPS),
                    };
                    self.copy_lanes(t, f.operands[0], f.wide, ALL);
                    self.a.z(multiply, t, t, f.operands[1]);
                    self.a.zi(compare, product, t, Rm::R(t), ALL, 3);
                }
                self.copy_lanes(t, Rm::C(default), f.wide, ALL);
                for (at, &a) in f.operands.iter().enumerate().rev() {
                    self.a.zi(class, k, 0, a, ALL, NAN);
                    self.copy_lanes(t, a, f.wide, keep(k));
                    if let (2, Some(product)) = (at, f.product) {
                        self.copy_lanes(t, Rm::C(default), f.wide, keep(product));
                    }
                }
                if ieee {
                    self.a.z(or, t, t, Rm::C(quiet));
                }
            }
            self.copy_lanes(f.result, Rm::R(t), f.wide, keep(f.lanes));
            self.a.jmp(f.back);
        }
    }

    fn copy_lanes(&mut self, to: u8, from: Rm, wide: bool, k: K) {
        let (e, from) = match from {
            Rm::R(_) | Rm::M(_) => (op::MOVDQU32.wide(wide), from),
            // The broadcasts have no bit that says so.
            Rm::B(m) if wide => (op::BCASTQ, Rm::M(m)),
            Rm::B(m) => (op::BCASTD, Rm::M(m)),
            Rm::C(_) if wide => (op::BCASTQ, from),
            Rm::C(_) => (op::BCASTD, from),
        };
        self.a.zk(e, to, 0, from, k);
    }
}
