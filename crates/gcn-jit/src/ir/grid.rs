//! Values that are affine in the workgroup's IDs: the addresses and bases of a block where waves start. They are evaluated once for all
//! waves of a dispatch instead of by each of them.
//!
//! A [`Program`] has the scalars and the bases that a block's affine addresses depend on, with the block's guards.
//! [`Program::evaluate`] computes each value as a sum: a constant for each wave of a workgroup and each slice, and a multiple of
//! each of the workgroup's IDs. Values are numbers modulo a power of two; an operation that is not linear (a comparison, the carry
//! of a sum, a shift to the right) has a result only if the result is the same in all requested workgroups, or if the sum does not
//! wrap in any of them. If there is a result, all guards hold in all requested workgroups.

use crate::ir::affine::{Base, BaseKind, Guard, SliceLayout};
use crate::ir::region::{Block, Terminator};
use crate::ir::{Id, Inst, Node};
use gcn_isa::meaning::Op;
use gcn_isa::shape::Ty;
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The number of a step in its program.
pub type StepId = u16;

/// The operation of a step. Truth values of bases are all ones or zeros; truth values of scalars are 1 or 0.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum StepOp {
    Const(u64),
    /// A scalar register at the wave's start.
    Sgpr(u8),
    /// Lanes 0, 16, 32 and 48 of a VGPR at the wave's start.
    Vgpr(u16),
    /// 0, 16, 32, 48.
    Firsts,
    /// Dwords in memory, from the address on.
    Load {
        count: u8,
        offset: i32,
    },
    Part(u8),
    Pair,
    Lo,
    Hi,
    /// Sign-extends to 64 bits.
    Sext,
    Shld(u8),
    Shrd(u8),
    /// `mask` is true for a comparison of bases.
    Alu {
        op: Op,
        signed: bool,
        mask: bool,
    },
}

/// A value of a program. `bits` is the size of the result.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    pub op: StepOp,
    pub args: [StepId; 3],
    pub bits: u8,
}

/// The operations that steps may have.
pub const OPS: [Op; 21] = [
    Op::Add,
    Op::Sub,
    Op::Mul,
    Op::MulHi,
    Op::And,
    Op::Or,
    Op::Xor,
    Op::Not,
    Op::Neg,
    Op::Shl,
    Op::Shr,
    Op::Min,
    Op::Max,
    Op::Select,
    Op::Zext,
    Op::Trunc,
    Op::Eq,
    Op::Ne,
    Op::Lt,
    Op::Le,
    Op::Gt,
];

/// The maximum number of steps of a program.
const MOST: usize = 512;

/// An address of the block: the guest address of the slices' first lanes. See [`Address`](crate::ir::affine::Address).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GridAddress {
    pub number: u16,
    pub step: StepId,
    /// The lower half, to which the layout applies, and its distance from lane to lane.
    pub lo: StepId,
    pub apart: i32,
    pub layout: Option<SliceLayout>,
    /// The accessed bytes (1 read, 2 written), relative to the address.
    pub need: u8,
    pub from: i32,
    pub to: i32,
}

/// The values that a block's waves compute from the workgroup's IDs, and the conditions that must hold.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Program {
    pub steps: Vec<Step>,
    /// The block's guards, on steps instead of bases.
    pub guards: Vec<Guard>,
    pub addresses: Vec<GridAddress>,
    /// The bases that the slices read.
    pub bases: Vec<(Base, StepId)>,
    /// Pairs of addresses: of a store, and of a load that comes after it. No wave may write at the first what it reads at the second.
    pub apart: Vec<(u16, u16)>,
    /// The registers that hold the workgroup's IDs, and which of them the block reads.
    pub ids: Vec<u8>,
    pub reads: [bool; 3],
}

/// A program under construction.
pub struct Builder<'a> {
    c: &'a Block,
    pub program: Program,
    /// The scalars that are the same in all workgroups, unless memory changes.
    pub constant: Vec<bool>,
    of_node: BTreeMap<Id, StepId>,
    of_base: BTreeMap<Base, StepId>,
}

impl<'a> Builder<'a> {
    /// Builds the program of a block. `ids` are the registers that hold the workgroup's IDs at its start. `None` if the block
    /// depends on anything that programs do not support.
    pub fn of(c: &'a Block, ids: &[u8]) -> Option<Builder<'a>> {
        let ends = matches!(
            c.terminator,
            Terminator::End | Terminator::Jump(_) | Terminator::Branch { .. }
        );
        let usual = ends && c.is_all_active && c.effects.accesses.is_empty() && !ids.is_empty();
        let mut constant: Vec<bool> = Vec::with_capacity(c.graph.len());
        for n in &c.graph {
            let of_ids = |code: u8, wide: bool| {
                ids.contains(&code) || wide && ids.contains(&code.wrapping_add(1))
            };
            let wide = n.out.bits() > 32;
            // Only one half of such a pair is an ID, so the pair is refused.
            if matches!(n.op, Inst::SIn(code) if wide && of_ids(code, true)) {
                return None;
            }
            let own = match n.op {
                Inst::Const(_) | Inst::SccIn => true,
                Inst::SIn(code) => !of_ids(code, wide),
                Inst::Pair | Inst::Lo | Inst::Hi | Inst::Part(_) | Inst::SLoad { .. } => true,
                Inst::Alu(op) => supported(op, n.ty, n.out),
                _ => false,
            };
            let inputs = n.inputs().iter().all(|&i| constant[i as usize]);
            constant.push(own && !n.vec && inputs);
        }
        let mut b = Builder {
            c,
            program: Program {
                ids: ids.to_vec(),
                ..Program::default()
            },
            constant,
            of_node: BTreeMap::new(),
            of_base: BTreeMap::new(),
        };
        usual.then(|| b.all()).flatten()?;
        b.program.apart = b.apart()?;
        Some(b)
    }

    fn all(&mut self) -> Option<()> {
        let affine = &self.c.affine;
        for &g in &affine.guards {
            let mut of = |q: Base| self.base(q);
            let guard = match g {
                Guard::Top { of: q, step, bits } => Guard::Top {
                    of: of(q)?,
                    step,
                    bits,
                },
                Guard::NoWrap {
                    of: q,
                    step,
                    signed,
                } => Guard::NoWrap {
                    of: of(q)?,
                    step,
                    signed,
                },
                Guard::Less { of: [p, q], step } => Guard::Less {
                    of: [of(p)?, of(q)?],
                    step,
                },
                Guard::Bits {
                    of: q,
                    step,
                    mask,
                    ones,
                } => Guard::Bits {
                    of: of(q)?,
                    step,
                    mask: of(mask)?,
                    ones,
                },
                Guard::AssumedCompare {
                    op,
                    signed,
                    of: [p, q],
                    step,
                } => Guard::AssumedCompare {
                    op,
                    signed,
                    of: [of(p)?, of(q)?],
                    step,
                },
            };
            self.program.guards.push(guard);
        }
        for (number, &address) in affine.addresses.iter().enumerate() {
            // Addresses in LDS are not supported.
            if address.limit.is_some() {
                return None;
            }
            let lo = self.base(address.lo)?;
            let mut step = match address.index {
                Some(by) => {
                    let wide = self.push(StepOp::Sext, [lo, 0, 0], 64)?;
                    let by = self.push(StepOp::Const(by as u64), [0; 3], 64)?;
                    self.push(alu(Op::Shl), [wide, by, 0], 64)?
                }
                None => {
                    let hi = self.base(address.hi)?;
                    self.push(StepOp::Pair, [lo, hi, 0], 64)?
                }
            };
            if let Some((low, high)) = address.plus {
                let halves = [self.node(low)?, self.node(high)?, 0];
                let plus = self.push(StepOp::Pair, halves, 64)?;
                step = self.push(alu(Op::Add), [step, plus, 0], 64)?;
            }
            let number = number as u16;
            self.program.addresses.push(GridAddress {
                number,
                step,
                lo,
                apart: address.step >> address.index.unwrap_or(0),
                layout: address.slice_layout,
                need: address.need,
                from: address.from,
                to: address.to,
            });
        }
        for (at, q) in affine.ops.iter().enumerate() {
            let direct = matches!(q.op, BaseKind::Scalar(_) | BaseKind::Const(_));
            if q.stored && !direct {
                let step = self.base(at as Base)?;
                self.program.bases.push((at as Base, step));
            }
        }
        Some(())
    }

    /// Returns the addresses of stores and of the loads after them. `None` if the address of such a load is not known.
    fn apart(&self) -> Option<Vec<(u16, u16)>> {
        let mut apart = Vec::new();
        let stores = self.c.affine.stores.iter().zip(&self.c.stored_before);
        for (&(written, _), &first) in stores {
            for (at, n) in self.c.graph.iter().enumerate().skip(first as usize) {
                match n.op {
                    Inst::AffineLoad { address, .. } => {
                        let pair = (written, address);
                        if !apart.contains(&pair) {
                            apart.push(pair);
                        }
                    }
                    Inst::Group { .. } | Inst::Row(_) => return None,
                    Inst::SLoad { .. } if !self.constant[at] => return None,
                    _ => {}
                }
            }
        }
        Some(apart)
    }

    fn push(&mut self, op: StepOp, args: [StepId; 3], bits: u8) -> Option<StepId> {
        let at = self.program.steps.len();
        self.program.steps.push(Step { op, args, bits });
        (at < MOST).then_some(at as StepId)
    }

    fn sgpr(&mut self, code: u8) -> Option<StepId> {
        if let Some(dim) = self.program.ids.iter().position(|&id| id == code) {
            self.program.reads[dim] = true;
        }
        self.push(StepOp::Sgpr(code), [0; 3], 32)
    }

    /// Returns the step of a value as an operation reads it that has operands of so many bits. The graph's constants have 64 bits, and 64-bit operations
    /// may have operands of 32.
    fn operand(&mut self, step: StepId, bits: u8) -> Option<StepId> {
        match self.program.steps[step as usize].bits.cmp(&bits) {
            Ordering::Greater => self.push(StepOp::Lo, [step, 0, 0], bits),
            Ordering::Less => self.push(alu(Op::Zext), [step, 0, 0], bits),
            Ordering::Equal => Some(step),
        }
    }

    /// Returns the step of a scalar of the graph.
    pub fn node(&mut self, id: Id) -> Option<StepId> {
        if let Some(&step) = self.of_node.get(&id) {
            return Some(step);
        }
        let n = self.c.graph[id as usize];
        if n.vec {
            return None;
        }
        let bits = match n.op {
            Inst::SLoad { .. } => 32,
            _ => u8::try_from(n.out.bits()).ok()?,
        };
        let mut args = [0; 3];
        for (k, (arg, &input)) in args.iter_mut().zip(n.inputs()).enumerate() {
            let step = self.node(input)?;
            *arg = match read_bits(&n, k) {
                Some(bits) => self.operand(step, bits)?,
                None => step,
            };
        }
        let op = match n.op {
            Inst::Const(v) => StepOp::Const(v),
            Inst::SccIn => StepOp::Const(0),
            Inst::SIn(code) if bits == 64 => {
                args[0] = self.sgpr(code)?;
                args[1] = self.sgpr(code.checked_add(1)?)?;
                StepOp::Pair
            }
            Inst::SIn(code) => {
                let step = self.sgpr(code)?;
                self.of_node.insert(id, step);
                return Some(step);
            }
            Inst::Pair => StepOp::Pair,
            Inst::Lo => StepOp::Lo,
            Inst::Hi => StepOp::Hi,
            Inst::Part(k) => StepOp::Part(k),
            Inst::SLoad { count, offset } if self.constant[id as usize] => {
                StepOp::Load { count, offset }
            }
            Inst::Alu(op) if supported(op, n.ty, n.out) => {
                let signed = n.ty.is_signed();
                self.ordered(op, &mut args, signed, false)
            }
            _ => return None,
        };
        let step = self.push(op, args, bits)?;
        self.of_node.insert(id, step);
        Some(step)
    }

    /// Returns an operation. "At least" becomes "at most" with exchanged operands.
    fn ordered(&self, op: Op, args: &mut [StepId; 3], signed: bool, mask: bool) -> StepOp {
        let op = match op {
            Op::Ge => {
                args.swap(0, 1);
                Op::Le
            }
            op => op,
        };
        StepOp::Alu { op, signed, mask }
    }

    /// Returns the step of a base.
    fn base(&mut self, q: Base) -> Option<StepId> {
        if let Some(&step) = self.of_base.get(&q) {
            return Some(step);
        }
        let op = self.c.affine.ops[q as usize];
        let mut args = [0; 3];
        for (arg, &input) in args.iter_mut().zip(op.inputs()) {
            *arg = self.base(input)?;
        }
        let of = match op.op {
            BaseKind::Vgpr(v) => StepOp::Vgpr(v),
            BaseKind::Lane => StepOp::Firsts,
            BaseKind::Const(v) => StepOp::Const(v as u64),
            BaseKind::Scalar(id) => {
                args[0] = self.node(id)?;
                if self.c.graph[id as usize].out.bits() < 32 {
                    return None;
                }
                StepOp::Lo
            }
            BaseKind::Shld(by) => StepOp::Shld(by),
            BaseKind::Shrd(by) => StepOp::Shrd(by),
            BaseKind::Alu(Op::Zext, _) => {
                args[1] = self.push(StepOp::Const(31), [0; 3], 32)?;
                alu(Op::Shr)
            }
            BaseKind::Alu(op, ty) if OPS.contains(&op) || op == Op::Ge => {
                let mask = compares(op);
                self.ordered(op, &mut args, ty.is_signed(), mask)
            }
            BaseKind::Alu(..) => return None,
        };
        let step = self.push(of, args, 32)?;
        self.of_base.insert(q, step);
        Some(step)
    }
}

/// Returns how many bits of an operand an operation reads. `None` if it takes the operand as it is.
fn read_bits(n: &Node, operand: usize) -> Option<u8> {
    match (n.op, operand) {
        (Inst::Alu(Op::Select), 0) => Some(1),
        (Inst::Alu(_), _) => Some(n.ty.bits() as u8),
        (Inst::Pair, _) => Some(32),
        _ => None,
    }
}

fn alu(op: Op) -> StepOp {
    StepOp::Alu {
        op,
        signed: false,
        mask: false,
    }
}

fn compares(op: Op) -> bool {
    matches!(op, Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge)
}

/// Returns true if programs support an operation on scalars.
fn supported(op: Op, ty: Ty, out: Ty) -> bool {
    let width = |ty: Ty| !ty.is_float() && matches!(ty.bits(), 1 | 32 | 64);
    let high = op != Op::MulHi || ty.bits() == 32;
    (OPS.contains(&op) || op == Op::Ge) && width(ty) && width(out) && high
}

/// The waves for which a program is evaluated.
pub struct Waves<'a> {
    /// The number of a workgroup's waves.
    pub count: usize,
    pub extent: Extent,
    /// Returns a scalar register of a wave, except IDs; returns lanes 0, 16, 32 and 48 of a VGPR.
    pub sgpr: &'a dyn Fn(usize, u8) -> Option<u32>,
    pub vgpr: &'a dyn Fn(usize, u16) -> [u32; 4],
    /// Reads a dword of memory.
    pub read: &'a dyn Fn(u64) -> Option<u32>,
}

/// The workgroups for which a program is evaluated: the first one in each dimension, and the number of workgroups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    pub first: [u32; 3],
    pub groups: [u32; 3],
}

impl Extent {
    /// Returns how many workgroups there are.
    pub fn count(&self) -> u64 {
        let product = |n: u64, &groups: &u32| n.saturating_mul(groups as u64);
        self.groups.iter().fold(1, product)
    }
}

/// An affine function of the workgroup's IDs: a constant for each wave and slice, or one for all of them, and the change from
/// workgroup to workgroup in each dimension. All numbers are modulo two to the power of `bits`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum {
    /// The values in the first workgroup.
    pub of: Vec<i128>,
    pub slopes: [i128; 3],
    pub bits: u32,
}

/// A value, or the dwords of a load and their address.
#[derive(Clone, Debug)]
pub enum Value {
    Sum(Sum),
    Loaded(u64, Vec<u32>),
}

/// All values of a program.
pub struct Evaluated {
    values: Vec<Value>,
    scope: Scope,
}

/// What operations need to know of the workgroups.
struct Scope {
    extent: Extent,
    /// The workgroup whose results the others should have, relative to the first one.
    middle: [u32; 3],
    /// The fewer workgroups in which the operation that failed has the result that it has in the middle one.
    fewer: Cell<Option<Extent>>,
}

/// A number that is greater than all sums.
const FAR: i128 = i128::MAX / 4;

impl Scope {
    /// Returns true if a sum is at least `least` and less than `end` in all workgroups, for one of its constants. Otherwise finds fewer workgroups around the
    /// middle one in which it is.
    fn within(&self, c: i128, sum: &Sum, [least, end]: [i128; 2]) -> bool {
        let groups = self.extent.groups;
        let (low, high) = sum.spread(groups);
        if c + low >= least && c + high < end {
            return true;
        }
        let far = |dim: usize| sum.slopes[dim] * (groups[dim] as i128 - 1);
        let mut dims = [0, 1, 2];
        dims.sort_by_key(|&dim| -far(dim).abs());
        let fewer = dims.into_iter().find_map(|dim| {
            let slope = sum.slopes[dim];
            // The limits of the dimension's own part of the sum.
            let (below, above) = (low - far(dim).min(0), high - far(dim).max(0));
            let (most, least) = (end - 1 - c - above, least - c - below);
            let middle = self.middle[dim] as i128;
            if slope == 0 || !(least..=most).contains(&(slope * middle)) {
                return None;
            }
            let (from, to) = match slope > 0 {
                true => (-(-least).div_euclid(slope), most.div_euclid(slope)),
                false => (-most.div_euclid(-slope), (-least).div_euclid(-slope)),
            };
            let (from, to) = (from.max(0), to.min(groups[dim] as i128 - 1));
            let mut fewer = self.extent;
            fewer.first[dim] += from as u32;
            fewer.groups[dim] = (to - from + 1) as u32;
            Some(fewer)
        });
        self.fewer.set(fewer);
        false
    }

    /// Returns a sum in the middle workgroup, for one of its constants.
    fn in_middle(&self, c: i128, sum: &Sum) -> i128 {
        (0..3).fold(c, |n, dim| n + sum.slopes[dim] * self.middle[dim] as i128)
    }

    /// Returns whether a sum is below 0 in all workgroups, for one of its constants. `None` if only in some.
    fn below(&self, c: i128, sum: &Sum) -> Option<bool> {
        let below = self.in_middle(c, sum) < 0;
        let limits = if below { [-FAR, 0] } else { [0, FAR] };
        self.within(c, sum, limits).then_some(below)
    }
}

impl Sum {
    fn constant(value: u64, bits: u32) -> Sum {
        Sum {
            of: vec![value as i128],
            slopes: [0; 3],
            bits,
        }
        .reduced()
    }

    /// Reduces the numbers modulo two to the power of `bits`; slopes become signed.
    fn reduced(mut self) -> Sum {
        let mask = (1i128 << self.bits) - 1;
        self.of.iter_mut().for_each(|c| *c &= mask);
        for slope in &mut self.slopes {
            *slope &= mask;
            if *slope > mask >> 1 {
                *slope -= mask + 1;
            }
        }
        self
    }

    /// Returns true if the value is the same in all workgroups.
    fn is_constant(&self) -> bool {
        self.slopes == [0; 3]
    }

    /// Returns the value, if it is the same in all waves.
    pub fn uniform(&self) -> Option<i128> {
        let first = self.of[0];
        (self.is_constant() && self.of.iter().all(|&c| c == first)).then_some(first)
    }

    /// Returns the largest decrease and the largest increase from the first workgroup to another.
    fn spread(&self, groups: [u32; 3]) -> (i128, i128) {
        let far = |k: usize| self.slopes[k] * (groups[k] as i128 - 1);
        (0..3).fold((0, 0), |(low, high), k| {
            (low + far(k).min(0), high + far(k).max(0))
        })
    }

    /// Returns the number of lower bits that are the same in all workgroups.
    fn fixed_bits(&self) -> u32 {
        let zeros = self.slopes.iter().filter(|&&b| b != 0);
        zeros.map(|b| b.trailing_zeros()).min().unwrap_or(127)
    }

    /// Returns the value as unsigned or signed numbers, if they do not wrap.
    fn number(&self, signed: bool, scope: &Scope) -> Option<Sum> {
        let half = (signed as i128) << (self.bits - 1);
        let mut number = self.clone();
        for c in &mut number.of {
            let around = (scope.in_middle(*c, self) + half) >> self.bits << self.bits;
            let limits = [around - half, around - half + (1 << self.bits)];
            if !scope.within(*c, self, limits) {
                return None;
            }
            *c -= around;
        }
        Some(number)
    }

    /// Returns the least and the greatest of its numbers.
    pub fn limits(&self, groups: [u32; 3]) -> (i128, i128) {
        let (low, high) = self.spread(groups);
        let least = self.of.iter().min().copied().unwrap_or(0);
        let most = self.of.iter().max().copied().unwrap_or(0);
        (least + low, most + high)
    }

    fn zip(&self, other: &Sum, f: impl Fn(i128, i128) -> i128) -> Vec<i128> {
        let count = self.of.len().max(other.of.len());
        let at = |s: &Sum, k: usize| s.of[if s.of.len() == 1 { 0 } else { k }];
        (0..count).map(|k| f(at(self, k), at(other, k))).collect()
    }

    fn minus(&self, other: &Sum) -> Sum {
        Sum {
            of: self.zip(other, |a, b| a - b),
            slopes: std::array::from_fn(|k| self.slopes[k] - other.slopes[k]),
            bits: self.bits,
        }
    }

    fn times(&self, by: i128) -> Sum {
        Sum {
            of: self.of.iter().map(|c| c * by).collect(),
            slopes: self.slopes.map(|b| b * by),
            bits: self.bits,
        }
    }

    /// Divides the numbers by a power of two, rounding down.
    fn shifted(mut self, by: u32, scope: &Scope) -> Option<Sum> {
        if self.fixed_bits() >= by {
            self.of.iter_mut().for_each(|c| *c >>= by);
            self.slopes = self.slopes.map(|b| b >> by);
            return Some(self);
        }
        let mut of = Vec::with_capacity(self.of.len());
        for &c in &self.of {
            let quotient = scope.in_middle(c, &self) >> by;
            if !scope.within(c, &self, [quotient << by, (quotient + 1) << by]) {
                return None;
            }
            of.push(quotient);
        }
        Some(Sum {
            of,
            slopes: [0; 3],
            bits: self.bits,
        })
    }
}

fn low_bits(bits: u32) -> i128 {
    (1 << bits.min(126)) - 1
}

impl Program {
    /// Returns the constant that a load adds to its address.
    pub fn offset(&self, load: StepId) -> Option<i32> {
        match self.steps.get(load as usize)?.op {
            StepOp::Load { offset, .. } => Some(offset),
            _ => None,
        }
    }

    /// Evaluates the program. Fails if a value is not affine in the IDs, or a guard may not hold. The error has fewer workgroups, around the middle one,
    /// if there is no such failure in them.
    pub fn evaluate(
        &self,
        waves: &Waves<'_>,
        middle: [u32; 3],
    ) -> Result<Evaluated, Option<Extent>> {
        let Extent { first, groups } = waves.extent;
        let mut e = Evaluated {
            values: Vec::with_capacity(self.steps.len()),
            scope: Scope {
                extent: waves.extent,
                middle: std::array::from_fn(|dim| {
                    let most = groups[dim].saturating_sub(1);
                    middle[dim].saturating_sub(first[dim]).min(most)
                }),
                fewer: Cell::default(),
            },
        };
        let of_steps = self.steps.iter().try_for_each(|step| {
            e.scope.fewer.set(None);
            let value = e.step(step, self, waves)?;
            e.values.push(value);
            Some(())
        });
        let hold = || {
            self.guards.iter().try_for_each(|&g| {
                e.scope.fewer.set(None);
                e.holds(g)
            })
        };
        let lie = || self.addresses.iter().try_for_each(|a| e.layout(a));
        let done = of_steps.and_then(|()| hold()).and_then(|()| lie());
        match done {
            Some(()) => Ok(e),
            None => Err(e.scope.fewer.take()),
        }
    }
}

impl Evaluated {
    /// Returns the workgroups for which the program was evaluated.
    pub fn extent(&self) -> Extent {
        self.scope.extent
    }

    pub fn sum(&self, step: StepId) -> Option<&Sum> {
        match self.values.get(step as usize)? {
            Value::Sum(sum) => Some(sum),
            Value::Loaded(..) => None,
        }
    }

    /// Returns the address of a load and its dwords.
    pub fn loaded(&self, step: StepId) -> Option<(u64, &[u32])> {
        match self.values.get(step as usize)? {
            Value::Loaded(at, dwords) => Some((*at, dwords)),
            Value::Sum(_) => None,
        }
    }

    /// Returns an address as numbers, if they do not wrap.
    pub fn address(&self, a: &GridAddress) -> Option<Sum> {
        self.sum(a.step)?.number(false, &self.scope)
    }

    fn step(&self, s: &Step, program: &Program, waves: &Waves<'_>) -> Option<Value> {
        let bits = s.bits as u32;
        let of = |k: usize| self.sum(s.args[k]);
        let each = |of: &dyn Fn(usize) -> [u32; 4]| {
            let of: Vec<i128> = (0..waves.count)
                .flat_map(|w| of(w).map(|v| v as i128))
                .collect();
            Sum {
                of,
                slopes: [0; 3],
                bits,
            }
        };
        Some(Value::Sum(match s.op {
            StepOp::Const(v) => Sum::constant(v, bits),
            StepOp::Sgpr(code) => match program.ids.iter().position(|&id| id == code) {
                Some(dim) => {
                    let mut slopes = [0; 3];
                    slopes[dim] = (waves.extent.groups[dim] > 1) as i128;
                    Sum {
                        of: vec![waves.extent.first[dim] as i128],
                        slopes,
                        bits,
                    }
                }
                None => {
                    let first = (waves.sgpr)(0, code)?;
                    let mut own = [first].repeat(waves.count);
                    for (w, own) in own.iter_mut().enumerate().skip(1) {
                        *own = (waves.sgpr)(w, code)?;
                    }
                    match own.iter().all(|&v| v == first) {
                        true => Sum::constant(first as u64, bits),
                        false => each(&|w| [own[w]; 4]),
                    }
                }
            },
            StepOp::Vgpr(v) => each(&|w| (waves.vgpr)(w, v)),
            StepOp::Firsts => each(&|_| [0, 16, 32, 48]),
            StepOp::Load { count, offset } => {
                let from = of(0)?.uniform()? as u64;
                let at = from.checked_add_signed(offset as i64)?;
                let dword = |k: u64| (waves.read)(at.checked_add(4 * k)?);
                let dwords: Option<Vec<u32>> = (0..count as u64).map(dword).collect();
                return Some(Value::Loaded(at, dwords?));
            }
            StepOp::Part(k) => {
                let (_, dwords) = self.loaded(s.args[0])?;
                Sum::constant(*dwords.get(k as usize)? as u64, bits)
            }
            StepOp::Pair => {
                let low = of(0)?.number(false, &self.scope)?;
                let high = of(1)?.times(1 << 32);
                Sum {
                    of: low.zip(&high, |a, b| a + b),
                    slopes: std::array::from_fn(|k| low.slopes[k] + high.slopes[k]),
                    bits,
                }
                .reduced()
            }
            StepOp::Lo => Sum {
                bits,
                ..of(0)?.clone()
            }
            .reduced(),
            StepOp::Hi => {
                let value = of(0)?.number(false, &self.scope)?;
                let high = value.shifted(32, &self.scope)?;
                Sum { bits, ..high }.reduced()
            }
            StepOp::Sext => {
                let value = of(0)?.number(true, &self.scope)?;
                Sum { bits, ..value }.reduced()
            }
            StepOp::Shld(by) => self.double_shift(of(1)?, of(0)?, 32 - by.min(32) as u32, bits)?,
            StepOp::Shrd(by) => self.double_shift(of(0)?, of(1)?, by.min(32) as u32, bits)?,
            StepOp::Alu { op, signed, mask } => {
                let result = self.alu(op, signed, s, bits)?;
                match mask {
                    true => {
                        let ones = |c: i128| if c != 0 { low_bits(32) } else { 0 };
                        Sum {
                            of: result.of.into_iter().map(ones).collect(),
                            slopes: [0; 3],
                            bits: 32,
                        }
                    }
                    false => result,
                }
            }
        }))
    }

    /// Shifts two halves right by up to 32 and returns the lower half.
    fn double_shift(&self, low: &Sum, high: &Sum, by: u32, bits: u32) -> Option<Sum> {
        let low = low.number(false, &self.scope)?.shifted(by, &self.scope)?;
        let high = high.times(1 << (32 - by));
        let sum = Sum {
            of: low.zip(&high, |a, b| a + b),
            slopes: std::array::from_fn(|k| low.slopes[k] + high.slopes[k]),
            bits,
        };
        Some(sum.reduced())
    }

    fn alu(&self, op: Op, signed: bool, s: &Step, bits: u32) -> Option<Sum> {
        let scope = &self.scope;
        let x = self.sum(s.args[0])?;
        let unary = |x: &Sum, of: i128| Sum::constant(of as u64, x.bits).minus(x).reduced();
        match op {
            Op::Neg => return Some(unary(x, 0)),
            Op::Not => return Some(unary(x, -1)),
            Op::Zext => {
                let number = x.number(false, scope)?;
                return Some(Sum { bits, ..number }.reduced());
            }
            Op::Trunc => return Some(Sum { bits, ..x.clone() }.reduced()),
            _ => {}
        }
        let y = self.sum(s.args[1])?;
        Some(match op {
            Op::Add => Sum {
                of: x.zip(y, |a, b| a + b),
                slopes: std::array::from_fn(|k| x.slopes[k] + y.slopes[k]),
                bits: x.bits,
            }
            .reduced(),
            Op::Sub => x.minus(y).reduced(),
            Op::Mul => product(x, y)?.reduced(),
            Op::MulHi => {
                let (x, y) = (x.number(signed, scope)?, y.number(signed, scope)?);
                product(&x, &y)?.shifted(32, scope)?.reduced()
            }
            Op::And => conjunction(x, y, scope).or_else(|| conjunction(y, x, scope))?,
            Op::Or => {
                // A disjunction is computed by De Morgan's laws.
                let (x, y) = (unary(x, -1), unary(y, -1));
                let none = conjunction(&x, &y, scope).or_else(|| conjunction(&y, &x, scope))?;
                unary(&none, -1)
            }
            Op::Xor => match (x.is_constant(), y.is_constant()) {
                (true, true) => Sum {
                    of: x.zip(y, |a, b| a ^ b),
                    ..x.clone()
                },
                (_, true) if y.uniform() == Some(low_bits(y.bits)) => unary(x, -1),
                (true, _) if x.uniform() == Some(low_bits(x.bits)) => unary(y, -1),
                _ => return None,
            },
            Op::Shl => match y.uniform()? {
                by if by >= x.bits as i128 => Sum::constant(0, x.bits),
                by => {
                    let kept = Sum {
                        bits: x.bits - by as u32,
                        ..x.clone()
                    };
                    Sum {
                        bits: x.bits,
                        ..kept.reduced().times(1 << by)
                    }
                    .reduced()
                }
            },
            Op::Shr => {
                let most = x.bits - signed as u32;
                let by = y.uniform()?.min(most as i128) as u32;
                let number = x.number(signed, scope)?;
                number.shifted(by, scope)?.reduced()
            }
            Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt => self.compare(op, signed, x, y)?,
            Op::Min | Op::Max => {
                let less = self.compare(Op::Lt, signed, x, y)?;
                match op {
                    Op::Min => select(&less, x, y)?,
                    _ => select(&less, y, x)?,
                }
            }
            Op::Select => select(x, y, self.sum(s.args[2])?)?,
            _ => return None,
        })
    }

    /// Returns the truth value of a comparison.
    fn compare(&self, op: Op, signed: bool, x: &Sum, y: &Sum) -> Option<Sum> {
        let signed = signed && !matches!(op, Op::Eq | Op::Ne);
        let (x, y) = (
            x.number(signed, &self.scope)?,
            y.number(signed, &self.scope)?,
        );
        let less = x.minus(&y);
        let scope = &self.scope;
        let mut of = Vec::with_capacity(less.of.len());
        for &c in &less.of {
            let holds = match op {
                Op::Lt => scope.below(c, &less)?,
                Op::Le => scope.below(c - 1, &less)?,
                Op::Gt => !scope.below(c - 1, &less)?,
                _ => {
                    let middle = scope.in_middle(c, &less);
                    let limits = match middle.signum() {
                        0 => [0, 1],
                        -1 => [-FAR, 0],
                        _ => [1, FAR],
                    };
                    if !scope.within(c, &less, limits) {
                        return None;
                    }
                    (middle == 0) == (op == Op::Eq)
                }
            };
            of.push(holds as i128);
        }
        Some(Sum {
            of,
            slopes: [0; 3],
            bits: 1,
        })
    }

    /// Returns the first and the last value of 16 lanes as numbers, if no lane wraps.
    fn ends(&self, of: Base, step: i32, signed: bool) -> Option<[Sum; 2]> {
        let first = self.sum(of)?.number(signed, &self.scope)?;
        let mut last = first.clone();
        last.of.iter_mut().for_each(|c| *c += step as i128);
        let half = (signed as i128) << 31;
        let limits = [-half, (1 << 32) - half];
        let within = |&c: &i128| self.scope.within(c, &last, limits);
        (step == 0 || last.of.iter().all(within)).then_some([first, last])
    }

    /// Returns `Some` if a guard holds in all waves.
    fn holds(&self, g: Guard) -> Option<()> {
        let scope = &self.scope;
        match g {
            Guard::Top { of, step, bits } => {
                if bits == 0 {
                    return Some(());
                }
                let ends = self.ends(of, step, false)?;
                let by = 32 - (bits as u32).min(32);
                let [first, last] = ends.map(|end| end.shifted(by, scope));
                (first? == last?).then_some(())
            }
            Guard::NoWrap { step: 0, .. } => Some(()),
            Guard::NoWrap { of, step, signed } => self.ends(of, step, signed).map(|_| ()),
            Guard::Less {
                of: [p, q],
                step: [s, t],
            } => {
                let (p, q) = (self.ends(p, s, false)?, self.ends(q, t, false)?);
                let [first, last] = [0, 1].map(|k| self.compare(Op::Lt, false, &p[k], &q[k]));
                (first? == last?).then_some(())
            }
            Guard::Bits {
                of,
                step,
                mask,
                ones,
            } => {
                let (value, mask) = (self.sum(of)?, self.sum(mask)?);
                let fixed = value.fixed_bits().min(32);
                if !mask.is_constant() {
                    return None;
                }
                let fits = |c: i128| fixed >= 32 || (0..=low_bits(fixed)).contains(&c);
                let held = value.zip(mask, |c, mask| {
                    let first = c & low_bits(fixed);
                    let last = first + step as i128;
                    let moved = (first ^ last) as u32;
                    let moved = match moved.leading_zeros() {
                        32 => 0,
                        zeros => u32::MAX >> zeros,
                    };
                    let moved = moved & Guard::moving(step);
                    let mask = mask as u32;
                    let bad = moved & if ones { !mask } else { mask };
                    (fits(last) && bad == 0) as i128
                });
                held.iter().all(|&h| h != 0).then_some(())
            }
            Guard::AssumedCompare {
                op,
                signed,
                of,
                step,
            } => self.assumed(op, signed, of, step),
        }
    }

    fn assumed(&self, op: Op, signed: bool, [p, q]: [Base; 2], [s, t]: [i32; 2]) -> Option<()> {
        let scope = &self.scope;
        let all = |sum: &Sum| sum.uniform() == Some(1);
        let held = match op {
            Op::Ne => {
                let by = s.wrapping_sub(t);
                let mut apart = self.sum(p)?.minus(self.sum(q)?);
                let more = by.max(0) as i128;
                apart.of.iter_mut().for_each(|c| *c += more);
                let apart = apart.reduced().number(false, scope)?;
                let limits = [by.unsigned_abs() as i128 + 1, FAR];
                let within = |&c: &i128| scope.within(c, &apart, limits);
                apart.of.iter().all(within)
            }
            Op::Eq => s == t && all(&self.compare(Op::Eq, false, self.sum(p)?, self.sum(q)?)?),
            _ => {
                let op = if op == Op::Lt { Op::Lt } else { Op::Le };
                let (p, q) = (self.ends(p, s, signed)?, self.ends(q, t, signed)?);
                let ends = [0, 1].map(|k| self.compare(op, signed, &p[k], &q[k]));
                let [first, last] = ends;
                all(&first?) && all(&last?)
            }
        };
        held.then_some(())
    }

    /// Returns `Some` if the slices of a store have the required layout.
    fn layout(&self, a: &GridAddress) -> Option<()> {
        let Some(layout) = a.layout else {
            return Some(());
        };
        let lo = self.sum(a.lo)?;
        let first = |k: usize| lo.of[if lo.of.len() == 1 { 0 } else { k / 4 * 4 }];
        let lies = |k: usize, c: i128| match layout {
            SliceLayout::Multiples(bytes) => (c ^ first(k)) & (bytes as i128 - 1) == 0,
            SliceLayout::Rows => {
                let apart = 16 * (k % 4) as i128 * a.apart as i128;
                lo.of.len() > 1 && (c - first(k) - apart) & low_bits(32) == 0
            }
        };
        let all = lo.of.iter().enumerate().all(|(k, &c)| lies(k, c));
        all.then_some(())
    }
}

/// Returns a product, if one of the factors is a constant.
fn product(x: &Sum, y: &Sum) -> Option<Sum> {
    let small = |c: i128| {
        let most = 1i128 << (x.bits - 1);
        if c >= most { c - 2 * most } else { c }
    };
    // The factors of MulHi, which have 32 bits, must keep their exact numbers.
    match (x.uniform(), y.uniform()) {
        (_, Some(by)) if x.bits < 64 => Some(x.times(by)),
        (Some(by), _) if x.bits < 64 => Some(y.times(by)),
        (_, Some(by)) => Some(x.times(small(by))),
        (Some(by), _) => Some(y.times(small(by))),
        _ if x.is_constant() && y.is_constant() && x.bits < 64 => Some(Sum {
            of: x.zip(y, |a, b| a * b),
            ..x.clone()
        }),
        _ => None,
    }
}

/// Returns the conjunction of a value and a constant.
fn conjunction(x: &Sum, y: &Sum, scope: &Scope) -> Option<Sum> {
    if !y.is_constant() {
        return None;
    }
    let fixed = x.fixed_bits().min(x.bits);
    let (low, all) = (low_bits(fixed), low_bits(x.bits));
    // The mask selects only bits that are the same in all workgroups, or clears only such bits.
    if y.of.iter().all(|&m| m & !low == 0) {
        return Some(Sum {
            of: x.zip(y, |c, m| c & m),
            slopes: [0; 3],
            bits: x.bits,
        });
    }
    if y.of.iter().all(|&m| m | low == all) {
        return Some(Sum {
            of: x.zip(y, |c, m| c - (c & low & !m)),
            ..x.clone()
        });
    }
    // The mask may keep all bits that may be ones.
    let number = x.number(false, scope)?;
    let mask = y.uniform()?;
    let whole = (mask & (mask + 1) == 0) && number.limits(scope.extent.groups).1 <= mask;
    whole.then(|| number.reduced())
}

/// Returns the second value where the first is true, elsewhere the third.
fn select(when: &Sum, x: &Sum, y: &Sum) -> Option<Sum> {
    if !when.is_constant() {
        return None;
    }
    match when.uniform() {
        Some(0) => return Some(y.clone()),
        Some(_) => return Some(x.clone()),
        None => {}
    }
    let chosen = |c: i128, k: usize| {
        let from = if c != 0 { x } else { y };
        from.of[if from.of.len() == 1 { 0 } else { k }]
    };
    let of = when.of.iter().enumerate().map(|(k, &c)| chosen(c, k));
    (x.slopes == y.slopes).then(|| Sum {
        of: of.collect(),
        ..x.clone()
    })
}

#[cfg(test)]
mod tests;
