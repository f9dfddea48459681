//! Finds which values of a block are affine, and under which condition.

use crate::hash::Map;
use crate::ir::affine::{AffineVgprs, Guard, Trust};
use crate::ir::{Id, Inst, Node, limited_to_active};
use gcn_isa::meaning::Op;

/// The maximum step. 15 steps together stay far below 2^32.
const STEP: i64 = 1 << 20;

/// How the base of a value is computed from the bases of its operands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Derivation {
    /// By the operation itself, or the value is an input.
    Op,
    /// The base is another value's, which is equal in active lanes.
    Same(Id),
    /// By the operation, if the upper bits of an operand are the same in all lanes.
    Top(Id, u8),
    /// By the operation, if an operand does not wrap at the ends of its type.
    NoWrap(Id),
    /// By the operation, if a comparison has the same result in all lanes.
    Less,
    /// By the operation, if the bits in which the first operand's lanes differ are all 0 (or all 1) in the second.
    Bits(Id, Id, bool),
    /// The value is the upper half of a product. It is 0 if this value is at most the number in all lanes.
    SmallProduct(Id, u32),
    /// The value is the upper half of the product of these values, which all lanes share, with or without signs.
    HighProduct(Id, Id, bool),
}

impl Derivation {
    /// Returns the least trust with which a block may have the derivation's guard.
    fn needs(self) -> Trust {
        match self {
            Derivation::Op | Derivation::Same(_) | Derivation::HighProduct(..) => Trust::Nothing,
            Derivation::Less | Derivation::SmallProduct(..) => Trust::Carries,
            Derivation::Top(..) | Derivation::NoWrap(_) | Derivation::Bits(..) => Trust::Everything,
        }
    }
}

/// A value that is affine, perhaps under a condition.
#[derive(Clone, Copy, Debug)]
pub(super) struct AffineValue {
    /// The difference from lane to lane.
    pub step: i32,
    /// The condition: 0 none, 1 one that hardly ever fails, 2 one that is likely to hold.
    pub risk: u8,
    pub how: Derivation,
}

impl AffineValue {
    /// Returns true if the value equals another one in active lanes.
    pub fn is_same(of: Option<AffineValue>) -> bool {
        matches!(of, Some(v) if matches!(v.how, Derivation::Same(_)))
    }
}

type Found = Option<AffineValue>;

fn plain(step: i64, risk: u8) -> Found {
    Some(AffineValue {
        step: step.clamp(i32::MIN as i64, i32::MAX as i64) as i32,
        risk,
        how: Derivation::Op,
    })
}

/// Returns a value that all 16 lanes share under a condition.
fn uniform_if(how: Derivation, risk: u8) -> Found {
    Some(AffineValue { step: 0, risk, how })
}

/// Returns which values of a graph are affine, with the guards that `trust` allows.
pub(super) fn values(graph: &[Node], state: &AffineVgprs, trust: Trust) -> Vec<Found> {
    let mut made = Values {
        graph,
        state,
        of: Vec::with_capacity(graph.len()),
        differences: Map::default(),
    };
    for n in graph {
        let found = made.value(n);
        if n.op == Inst::Alu(Op::Sub) {
            made.differences.insert([n.args[0], n.args[1]], ());
        }
        made.of
            .push(found.filter(|l| (l.step as i64).abs() <= STEP && l.how.needs() <= trust));
    }
    made.of
}

/// Returns true if a scalar can be a base.
fn is_base(n: &Node) -> bool {
    !n.vec
        && n.out.bits() <= 32
        && !matches!(n.op, Inst::Const(_) | Inst::SLoad { .. } | Inst::Ballot)
        && !n.ty.is_float()
}

/// The values of a graph up to the one under consideration.
struct Values<'a> {
    graph: &'a [Node],
    state: &'a AffineVgprs,
    of: Vec<Found>,
    /// The operands of subtractions.
    differences: Map<[Id; 2], ()>,
}

impl Values<'_> {
    fn value(&self, n: &Node) -> Found {
        match n.op {
            Inst::Const(_) => plain(0, 0),
            _ if !n.vec => is_base(n).then(|| plain(0, 0))?,
            Inst::VIn(v) => plain(*self.state.get(&v)? as i64, 0),
            Inst::Lane => plain(1, 0),
            Inst::Shld(by) => {
                // The second operand's upper bits are shifted in from below.
                let (high, low) = (self.arg(n, 0)?, self.arg(n, 1)?);
                let risk = high.risk.max(low.risk);
                match (high.step, low.step) {
                    (step, 0) => plain((step as i64) << by, risk),
                    (0, _) => uniform_if(Derivation::Top(n.args[1], by), risk.max(1)),
                    _ => None,
                }
            }
            Inst::Shrd(by) => {
                // The second operand's lower bits are above the rest of the first one, which all lanes share.
                let (low, high) = (self.arg(n, 0)?, self.arg(n, 1)?);
                let risk = low.risk.max(high.risk);
                (low.step == 0).then(|| plain((high.step as i64) << (32 - by), risk))?
            }
            Inst::Hi => self.upper_product(n.args[0]),
            Inst::Alu(_) if n.ty.is_float() || n.out.is_float() => None,
            Inst::Alu(Op::Select) if n.out.bits() == 32 => {
                let (cond, yes, no) = (self.arg(n, 0)?, self.arg(n, 1)?, self.arg(n, 2)?);
                let ok = self.node(n.args[0]).vec && yes.step == no.step;
                let risk = cond.risk.max(yes.risk).max(no.risk);
                ok.then(|| plain(yes.step as i64, risk))?
            }
            Inst::Alu(op) if n.ty.bits() == 1 => self.truth(op, n),
            Inst::Alu(op) if n.ty.bits() == 32 => self.integer(op, n),
            _ => None,
        }
    }

    /// Handles the upper half of the product of an affine value, extended to 64 bits, and a 32-bit constant: an index times the size
    /// of its elements.
    fn upper_product(&self, product: Id) -> Found {
        let n = self.node(product);
        if n.op != Inst::Alu(Op::Mul) || n.ty.bits() != 64 || n.ty.is_float() || !n.vec {
            return None;
        }
        let narrow = |id: Id| Some(self.extended(id)?.0);
        let factor = |id: Id| match self.node(id).op {
            Inst::Const(c) => u32::try_from(c).ok().filter(|&c| c > 0),
            _ => None,
        };
        let [a, b, _] = n.args;
        let (of, by) = match (factor(a), factor(b)) {
            (_, Some(by)) => (narrow(a)?, by),
            (Some(by), _) => (narrow(b)?, by),
            _ => return self.shared_product(a, b),
        };
        let risk = self.of[of as usize]?.risk.max(1);
        uniform_if(Derivation::SmallProduct(of, u32::MAX / by), risk)
    }

    /// Returns the number of 32 bits that a vector of 64 bits is, and whether it is extended by its sign.
    fn extended(&self, id: Id) -> Option<(Id, bool)> {
        let pair = self.node(id);
        let [low, high, _] = pair.args;
        if pair.op != Inst::Pair {
            return None;
        }
        let high = self.node(high);
        match high.op {
            Inst::Const(0) => Some((low, false)),
            Inst::Alu(Op::Shr) => {
                let sign = high.ty.is_signed() && high.ty.bits() == 32;
                let of_low = high.args[0] == low && self.constant(high.args[1]) == Some(31);
                (sign && of_low).then_some((low, true))
            }
            _ => None,
        }
    }

    /// Handles the upper half of a product of numbers of 32 bits that all lanes share, as of a row of work-items and the width of an image.
    fn shared_product(&self, a: Id, b: Id) -> Found {
        let factor = |id: Id| {
            let n = self.node(id);
            let (low, signed) = match n.vec {
                true => self.extended(id)?,
                // The upper half of a scalar of 32 bits is 0.
                false => (n.out.bits() == 32).then_some((id, false))?,
            };
            let of = self.of[low as usize].filter(|of| of.step == 0)?;
            Some((low, signed, of.risk))
        };
        let ((a, signed, risk), (b, other, risk_of_b)) = (factor(a)?, factor(b)?);
        let how = Derivation::HighProduct(a, b, signed);
        (signed == other).then(|| uniform_if(how, risk.max(risk_of_b)))?
    }

    fn node(&self, id: Id) -> &Node {
        &self.graph[id as usize]
    }

    fn arg(&self, n: &Node, k: usize) -> Found {
        self.of[n.args[k] as usize]
    }

    fn constant(&self, id: Id) -> Option<u32> {
        match self.node(id).op {
            Inst::Const(v) => Some(v as u32),
            _ => None,
        }
    }

    /// Returns the greatest risk of the operands.
    fn risk(&self, n: &Node) -> Option<u8> {
        let mut risks = (0..n.arity()).map(|k| Some(self.arg(n, k)?.risk));
        risks.try_fold(0, |most, risk| Some(risk?.max(most)))
    }

    /// Handles an operation on truth values.
    fn truth(&self, op: Op, n: &Node) -> Found {
        let limited = |n: &Node| limited_to_active(self.graph, n);
        // As a number, a truth value of active lanes may have any value in inactive lanes.
        if let Some(of) = limited(n) {
            return uniform_if(Derivation::Same(of), self.of[of as usize]?.risk);
        }
        let vector = n.inputs().iter().all(|&a| self.node(a).vec);
        // As a mask it is false in inactive lanes, and so are masks that are made of it.
        let limited = n.inputs().iter().any(|&a| limited(self.node(a)).is_some());
        let known = match op {
            Op::Zext => true,
            Op::And | Op::Or | Op::Xor | Op::Not => !limited,
            _ => false,
        };
        match vector && known {
            true => plain(0, self.risk(n)?),
            false => None,
        }
    }

    /// Handles an operation on 32-bit integers.
    fn integer(&self, op: Op, n: &Node) -> Found {
        let args = n.inputs();
        let risk = self.risk(n)?;
        let step = |k: usize| self.arg(n, k).map(|l| l.step as i64);
        let uniform = (0..args.len()).all(|k| step(k) == Some(0));
        match op {
            Op::Add => plain(step(0)? + step(1)?, risk),
            Op::Sub => plain(step(0)? - step(1)?, risk),
            Op::Not => plain(-step(0)?, risk),
            Op::Mul | Op::MulHi if uniform => plain(0, risk),
            Op::Mul => match (self.constant(args[0]), self.constant(args[1])) {
                (_, Some(c)) => plain(step(0)? * c as i32 as i64, risk),
                (Some(c), _) => plain(step(1)? * c as i32 as i64, risk),
                _ => None,
            },
            Op::Shl if self.constant(args[1]).is_some_and(|c| c < 32) => {
                plain(step(0)? << self.constant(args[1])?, risk)
            }
            Op::Shr if !uniform => {
                let by = self.constant(args[1])?;
                // No bit in which lanes differ is shifted out. 24-bit numbers are extracted from 32 bits in this way.
                let (step, exact) = (step(0)?, 1i64 << by.min(32));
                if by < 32 && step % exact == 0 {
                    let step = (step / exact) as i32;
                    let how = Derivation::NoWrap(args[0]);
                    return Some(AffineValue {
                        step,
                        risk: risk.max(1),
                        how,
                    });
                }
                let ok = (1..32).contains(&by) && span(step) <= 1 << by;
                let top = Derivation::Top(args[0], 32 - by as u8);
                ok.then(|| uniform_if(top, risk.max(1)))?
            }
            Op::Lt if !uniform => {
                let is_borrow = || self.differences.contains_key(&[args[0], args[1]]);
                let known = !n.ty.is_signed() && (is_sum(self.graph, n) || is_borrow());
                known.then(|| uniform_if(Derivation::Less, risk.max(1)))?
            }
            Op::And | Op::Or | Op::Xor if !uniform => self.bitwise(op, n),
            Op::And
            | Op::Or
            | Op::Xor
            | Op::Min
            | Op::Max
            | Op::Shl
            | Op::Shr
            | Op::Eq
            | Op::Ne
            | Op::Lt
            | Op::Le
            | Op::Gt
            | Op::Ge
                if uniform =>
            {
                plain(0, risk)
            }
            _ => None,
        }
    }

    /// Handles a bitwise operation of a value with one that all lanes share.
    fn bitwise(&self, op: Op, n: &Node) -> Found {
        let args = n.inputs();
        let (x, m, step) = match (self.arg(n, 0)?.step, self.arg(n, 1)?.step) {
            (s, 0) => (args[0], args[1], s),
            (0, s) => (args[1], args[0], s),
            _ => return None,
        };
        // This is `v_xad_u32` with -1: the complement is the negated value minus one.
        if op == Op::Xor && self.constant(m) == Some(u32::MAX) {
            return plain(-(step as i64), self.risk(n)?);
        }
        let differ = (span(step as i64) - 1) & Guard::moving(step);
        let (ones, step) = match (op, self.constant(m)) {
            (Op::And, Some(c)) if c & differ == 0 => (false, 0),
            (Op::And, Some(c)) if c & differ == differ => (true, step),
            (Op::And, _) => return None,
            (_, Some(c)) if c & differ != 0 => return None,
            _ => (false, step),
        };
        Some(AffineValue {
            step,
            risk: 2,
            how: Derivation::Bits(x, m, ones),
        })
    }
}

/// Returns a power of two above the distance from the first to the last of 16 lanes.
fn span(step: i64) -> u32 {
    (16 * step.unsigned_abs()).next_power_of_two() as u32
}

/// Returns true if a comparison is the carry of a sum: sum < addend.
pub(super) fn is_sum(graph: &[Node], n: &Node) -> bool {
    let sum = &graph[n.args[0] as usize];
    sum.op == Inst::Alu(Op::Add) && sum.inputs().contains(&n.args[1])
}
