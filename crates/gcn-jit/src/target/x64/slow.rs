//! Fast paths with an out-of-line slow path, and corrections of NaNs to the interpreter's, for all levels.

use super::machine::{At, EXEC_BITS};
use super::memory::Temps;
use super::select::{Select, Shared};
use super::*;
use crate::ir::fast_path::Exception;
use crate::lir::{Role, VReg};
use std::rc::Rc;

/// A value with a fast path. Operands: the condition; temporary registers; the leaves; the fast path's result, each register followed
/// by the result's.
#[derive(Debug)]
pub(crate) struct Slow {
    /// The first line of each leaf, and its kind.
    pub leaves: Vec<(usize, Kind)>,
    pub result: Kind,
    pub call: u32,
    pub active: At,
    pub exception: Option<Exception>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Kind {
    Bool,
    Narrow,
    Wide,
}

impl Kind {
    fn of(ty: Ty) -> Kind {
        match ty {
            Ty::Bool => Kind::Bool,
            t if t.bits() > 32 => Kind::Wide,
            _ => Kind::Narrow,
        }
    }

    pub fn registers(self) -> usize {
        1 + (self == Kind::Wide) as usize
    }
}

/// The first line of the context's data for the result. The preceding lines are for the leaves.
pub(crate) const RESULT: usize = 2 * crate::ir::fast_path::LEAVES;

/// A correction of a result's NaNs. Operands: the result (tied); the operands; temporary registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fix {
    pub op: Op,
    pub wide: bool,
    pub arity: usize,
    /// The part of a 64-bit value.
    pub part: u8,
}

/// Returns a line of the context's data.
pub(crate) fn line(n: usize) -> Mem {
    ctx!(data, 64 * n)
}

impl<V: Vectors> Select<'_, '_, V> {
    pub(super) fn fast_path(&mut self, op: &VectorOp, n: &Node, number: u16) {
        let [when, short, _] = op.args;
        let result = Kind::of(n.out);
        // A value in memory is copied through a register of the result.
        let through = match V::TRUTH != 0 && result == Kind::Bool {
            true => Role::Use,
            false => Role::Any,
        };
        let condition = self.mask(when);
        let mut operands = vec![(condition, V::truth_role(self, condition))];
        operands.extend(self.temps(Temps::Slow));
        let mut leaves = Vec::new();
        let c = self.e.c;
        for (at, &leaf) in c.fast_paths[number as usize].leaves.iter().enumerate() {
            let kind = Kind::of(self.e.node(leaf).out);
            leaves.push((2 * at, kind));
            match kind {
                Kind::Wide => operands.extend(self.wide(leaf).map(|r| (r, through))),
                Kind::Narrow => operands.push((self.val(leaf), through)),
                Kind::Bool => {
                    let r = self.mask(leaf);
                    operands.push((r, V::truth_role(self, r)));
                }
            }
        }
        let fast = match result {
            Kind::Wide => self.wide(short),
            Kind::Bool => [self.mask(short); 2],
            Kind::Narrow => [self.val(short); 2],
        };
        let mut out = Vec::new();
        for &r in &fast[..result.registers()] {
            let d = match result {
                Kind::Bool => self.truth_reg(),
                _ => self.reg(),
            };
            operands.extend([(r, Role::Use), (d, Role::Tied)]);
            out.push(d);
        }
        let call = self.e.call_of.get(&number).copied();
        if call.is_none() {
            self.e.mistaken();
        }
        let slow = Slow {
            leaves,
            result,
            call: call.unwrap_or_default(),
            active: self.at(EXEC_BITS),
            exception: self.exception(number),
        };
        self.push(Shared::Slow(Rc::new(slow)), &operands);
        match out[..] {
            [a, b] => self.define_wide(op.id, [a, b]),
            _ => self.define(op.id, out[0]),
        }
    }

    /// Returns the exception that is handled before the slow path is called.
    fn exception(&self, number: u16) -> Option<Exception> {
        let exception = self.e.c.fast_paths[number as usize].exception?;
        // If the host takes denormals as zeros, tests for known operands would match denormals, too.
        let daz = self.e.c.fp.unwrap_or(self.e.common.default).daz;
        let found = !daz || !matches!(exception, Exception::Known(_));
        (found && self.e.with(Optional::Extremes)).then_some(exception)
    }

    /// Corrects the NaNs of a result.
    pub(super) fn fix(&mut self, op: &VectorOp, o: Op, wide: bool) {
        let Some(r) = self.have(op.id) else {
            return;
        };
        let arity = if o == Op::Ldexp { 1 } else { o.arity() };
        let mut all: Vec<[VReg; 2]> = Vec::new();
        for &a in &op.args[..arity] {
            let r = match wide {
                true => self.wide(a),
                false => [self.val(a); 2],
            };
            all.push(r);
        }
        let mut out = r;
        for k in 0..1 + wide as usize {
            let d = self.reg();
            let mut operands = vec![(r[k], Role::Use), (d, Role::Tied)];
            operands.extend(all.iter().map(|a| (a[k], Role::Use)));
            operands.extend(self.temps(Temps::Fix));
            let fix = Fix {
                op: o,
                wide,
                arity,
                part: k as u8,
            };
            self.push(Shared::Fix(fix), &operands);
            out[k] = d;
        }
        match wide {
            true => self.define_wide(op.id, out),
            false => self.define(op.id, out[0]),
        }
    }
}

impl<V: Vectors> Emit<'_, V> {
    /// Calls the slow path. The lower half of RAX says whether the block must restart.
    pub(super) fn call_slow(&mut self, call: u32) {
        self.a.imm(RSI, call as u64);
        let slow = self.common.slow[2];
        self.a.call_label(slow);
        if self.plan.checks {
            self.a.test(false, RAX, RAX);
            let restart = self.restart();
            self.a.jcc(Cc::Ne, restart);
        }
    }
}
