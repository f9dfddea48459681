//! Fast paths: code that computes a value in the usual case. In other cases the slow path evaluates the value as the
//! interpreter does.
//!
//! Rows define fast paths ([`gcn_isa::meaning::Shortcut`]). Divisions and roots are found here: their steps together give the
//! correctly rounded result when no step hits a special case.

use crate::codec::{In, Out};
use crate::hash::Fast;
use crate::ir::{Graph, Id, Inst, Node};
use gcn_emu::eval::{Operation, eval};
use gcn_emu::fp::{Env, Mode, Round};
use gcn_emu::interp::program_of;
use gcn_emu::wave::mode::FP_ROUND;
use gcn_isa::Target;
use gcn_isa::insts;
use gcn_isa::meaning::{Op, Program, Shortcut, State, width_mask};
use gcn_isa::shape::Ty;
use gcn_isa::target::Gen;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number of lanes of a slice.
pub const LANES: usize = 16;

/// The maximum number of values that a slow path begins with.
pub const LEAVES: usize = 4;

/// The source of an operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum From {
    /// An input of the computation.
    Leaf(u8),
    /// The result of an earlier step.
    Step(u16),
    Const(u64),
}

/// A step of a computation.
#[derive(Clone)]
enum Step {
    /// A value of an instruction's meaning. `sources` are the operands by slot, `vcc` is the lane's bit of VCC.
    Meaning {
        program: &'static Program,
        root: u16,
        sources: Vec<(u8, From)>,
        vcc: From,
        mode: u32,
    },
    Alu {
        op: Op,
        ty: Ty,
        out: Ty,
        args: [From; 3],
        mode: u32,
    },
    Pair(From, From),
    Lo(From),
    Hi(From),
}

/// A computation on 16 lanes.
#[derive(Clone)]
pub struct Sub {
    steps: Vec<Step>,
    generation: Gen,
}

impl Sub {
    /// Computes the results from the values of the leaves. All values are zero-extended.
    pub fn run<const N: usize>(&self, leaves: &[[u64; N]]) -> [u64; N] {
        let mut values: Vec<[u64; N]> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let get = |from: From| match from {
                From::Leaf(n) => leaves.get(n as usize).copied().unwrap_or([0; N]),
                From::Step(n) => values[n as usize],
                From::Const(v) => [v; N],
            };
            let value = match step {
                Step::Meaning {
                    program,
                    root,
                    sources,
                    vcc,
                    mode,
                } => {
                    let sources: Vec<_> = sources.iter().map(|&(s, from)| (s, get(from))).collect();
                    let source = |slot: u8| {
                        let found = sources.iter().find(|s| s.0 == slot);
                        found.map_or([0; N], |s| s.1)
                    };
                    self.meaning((program, *mode), *root, &source, &get(*vcc))
                }
                Step::Alu {
                    op,
                    ty,
                    out,
                    args,
                    mode,
                } => {
                    let [a, b, c] = args.map(get);
                    let mut d = [0; N];
                    let operation = Operation {
                        op: *op,
                        ty: *ty,
                        out: *out,
                        generation: self.generation,
                        mode: *mode,
                    };
                    eval(operation, [&a, &b, &c], &mut d);
                    d
                }
                Step::Pair(lo, hi) => {
                    let (lo, hi) = (get(*lo), get(*hi));
                    std::array::from_fn(|i| lo[i] & 0xffff_ffff | hi[i] << 32)
                }
                Step::Lo(v) => get(*v).map(|v| v & 0xffff_ffff),
                Step::Hi(v) => get(*v).map(|v| v >> 32),
            };
            values.push(value);
        }
        values.pop().unwrap_or([0; N])
    }

    fn meaning<const N: usize>(
        &self,
        (program, mode): (&Program, u32),
        root: u16,
        source: &dyn Fn(u8) -> [u64; N],
        vcc: &[u64; N],
    ) -> [u64; N] {
        let needed = cone(program, root);
        let mut values = vec![[0; N]; needed.len()];
        for (at, node) in nodes(program).take(needed.len()).enumerate() {
            if !needed[at] {
                continue;
            }
            let arg = |k: usize| values[node.args[k] as usize];
            let mut out = [0; N];
            match node.op {
                Op::Const(v) => out = [v; N],
                Op::Src(slot) => out = source(slot).map(|v| v & width_mask(node.out)),
                Op::Lane => out = std::array::from_fn(|lane| lane as u64),
                Op::Get(State::Vcc) => out = std::array::from_fn(|lane| vcc[lane] << lane),
                op => {
                    let mode = match node.nearest {
                        true => mode & !FP_ROUND,
                        false => mode,
                    };
                    let (a, b, c) = (arg(0), arg(1), arg(2));
                    let operation = Operation {
                        op,
                        ty: node.ty,
                        out: node.out,
                        generation: self.generation,
                        mode,
                    };
                    eval(operation, [&a, &b, &c], &mut out);
                }
            }
            values[at] = out;
        }
        values.pop().unwrap_or([0; N])
    }
}

/// Returns the nodes of a meaning and the nodes of its shortcuts.
pub fn nodes(program: &Program) -> impl Iterator<Item = &gcn_isa::meaning::Node> {
    program.nodes.iter().chain(&program.aside)
}

/// Marks the nodes up to `root` that it depends on.
fn cone(program: &Program, root: u16) -> Vec<bool> {
    let all: Vec<_> = nodes(program).take(root as usize + 1).collect();
    let mut needed = vec![false; all.len()];
    if let Some(last) = needed.last_mut() {
        *last = true;
    }
    for at in (0..all.len()).rev() {
        if needed[at] {
            for &a in &all[at].args[..all[at].op.arity()] {
                needed[a as usize] = true;
            }
        }
    }
    needed
}

/// Returns the operands that a node of a row's semantics depends on: the slots, and whether it reads VCC. `None` if it depends on anything else.
pub fn begins(program: &Program, root: u16) -> Option<(Vec<u8>, bool)> {
    let needed = cone(program, root);
    let (mut slots, mut vcc) = (Vec::new(), false);
    for (node, _) in nodes(program).zip(&needed).filter(|n| *n.1) {
        match node.op {
            Op::Src(slot) => slots.push(slot),
            Op::Get(State::Vcc) => vcc = true,
            Op::Const(_) | Op::Lane => {}
            Op::Get(_)
            | Op::SrcDword(..)
            | Op::SrcHalf(..)
            | Op::Field(_)
            | Op::CodeOf(_)
            | Op::Sgpr
            | Op::Vgpr
            | Op::ReadLane
            | Op::SendLane
            | Op::FirstLane
            | Op::Address
            | Op::Load(..)
            | Op::LoadFormat(_)
            | Op::LdsOfLane
            | Op::Atomic(..)
            | Op::WaveAtomic(..)
            | Op::Gws(_)
            | Op::Turn
            | Op::Getreg => return None,
            _ => {}
        }
    }
    Some((slots, vcc))
}

/// The slow path of a value that has a fast path.
#[derive(Clone)]
pub struct FastPath {
    pub sub: Arc<Sub>,
    /// The inputs of the slow path.
    pub leaves: Vec<Id>,
    /// The fast path's results are neither NaNs nor denormals.
    pub normal: bool,
    /// Operands for which the result is known although the fast path's condition does not hold.
    pub exception: Option<Exception>,
}

/// Operands that a fast path's condition excludes but that need no slow path. Zeros are too frequent among divisors and dividends
/// for a call each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exception {
    /// A division: one of the leaves is a zero or an infinity, and none is a NaN. 0/0 and ∞/∞ are the host's default NaN, which is that
    /// of the rows.
    Quotient,
    /// A root of a zero of either sign, or of plus infinity.
    Root,
    /// The one leaf, of the result's size, is a zero of either sign or plus infinity. The fast path's value is wrong, but the right
    /// values are known: these, in the order of [`EXTREMES`].
    Known([u64; 3]),
}

/// Zero, minus zero and plus infinity as floats of 32 and of 64 bits.
pub const EXTREMES: [[u64; 3]; 2] = [[0, 1 << 31, 0xff << 23], [0, 1 << 63, 0x7ff << 52]];

impl Graph {
    /// Returns a value of a row's semantics that has a fast path. `short` is its value where `when` holds; both are values
    /// of the shortcut's nodes.
    pub fn shortcut(
        &mut self,
        (program, shortcut): (&'static Program, &Shortcut),
        sources: &[(u8, Id)],
        vcc: Option<Id>,
        when: Id,
        short: Id,
    ) -> Option<Id> {
        let root = shortcut.of;
        let out = program.nodes[root as usize].out;
        let mut leaves = Vec::new();
        let sources = sources
            .iter()
            .map(|&(slot, id)| (slot, self.leaf(id, &mut leaves)))
            .collect();
        let vcc = vcc.map_or(From::Const(0), |id| self.leaf(id, &mut leaves));
        let sub = Sub {
            steps: vec![Step::Meaning {
                program,
                root,
                sources,
                vcc,
                mode: self.mode,
            }],
            generation: self.generation,
        };
        let exception = self.exception(short, &leaves);
        let exception = exception.or_else(|| self.known(&sub, out, &leaves));
        self.with_slow_path(
            sub,
            leaves,
            (when, short),
            out,
            (shortcut.normal, exception),
        )
    }

    /// Returns the operands for which a shortcut needs no slow path although its condition does not hold. The shortcut is a reciprocal, a root, or a
    /// reciprocal root that is computed in f64.
    fn exception(&self, short: Id, leaves: &[Id]) -> Option<Exception> {
        let &[x] = leaves else { return None };
        if let Some([one, by, _]) = self.of(short, Op::Div) {
            return (self.is_one(one) && by == x).then_some(Exception::Quotient);
        }
        if let Some([of, ..]) = self.of(short, Op::Sqrt) {
            return (of == x).then_some(Exception::Root);
        }
        let [quotient, ..] = self.of(short, Op::FloatToFloat)?;
        let [one, root, _] = self.of(quotient, Op::Div)?;
        let [wide, ..] = self.of(root, Op::Sqrt)?;
        let [of, ..] = self.of(wide, Op::FloatToFloat)?;
        (self.is_one(one) && of == x).then_some(Exception::Root)
    }

    /// Returns the results of a slow path with one leaf for the [`EXTREMES`]. If MODE flushes denormals, some of them may count as zeros.
    fn known(&self, sub: &Sub, out: Ty, leaves: &[Id]) -> Option<Exception> {
        let &[x] = leaves else { return None };
        let mode = Mode(self.mode);
        let (extremes, env) = match out.bits() {
            64 => (EXTREMES[1], mode.env64()),
            32 => (EXTREMES[0], mode.env32()),
            _ => return None,
        };
        let fits = self.get(x).out.bits() == out.bits() && !env.flush_in && !env.flush_out;
        fits.then(|| Exception::Known(sub.run(&[extremes])))
    }

    /// Returns the value of an operation of the semantics that is `short` where `when` holds. `normal`: see [`FastPath::normal`].
    pub fn alu_with_slow_path(
        &mut self,
        op: Op,
        (ty, out): (Ty, Ty),
        operands: [Id; 3],
        (when, short): (Id, Id),
        normal: bool,
    ) -> Option<Id> {
        let mut leaves = Vec::new();
        let mut args = [From::Const(0); 3];
        for (arg, id) in args.iter_mut().zip(operands).take(op.arity()) {
            *arg = self.leaf(id, &mut leaves);
        }
        let sub = Sub {
            steps: vec![Step::Alu {
                op,
                ty,
                out,
                args,
                mode: self.mode,
            }],
            generation: self.generation,
        };
        self.with_slow_path(sub, leaves, (when, short), out, (normal, None))
    }

    /// Returns a constant, or the number of a leaf, which is added if it is new.
    fn leaf(&self, id: Id, leaves: &mut Vec<Id>) -> From {
        if let Some(value) = self.value_of(id) {
            return From::Const(value);
        }
        let known = leaves.iter().position(|&leaf| leaf == id);
        let at = known.unwrap_or(leaves.len());
        if known.is_none() {
            leaves.push(id);
        }
        From::Leaf(at as u8)
    }

    fn with_slow_path(
        &mut self,
        sub: Sub,
        leaves: Vec<Id>,
        (when, short): (Id, Id),
        out: Ty,
        (normal, exception): (bool, Option<Exception>),
    ) -> Option<Id> {
        if self.value_of(when) == Some(1) {
            return Some(short);
        }
        if leaves.len() > LEAVES {
            return None;
        }
        if leaves.is_empty() {
            return Some(self.constant(out, sub.run::<1>(&[])[0]));
        }
        // Compiled code tests the exceptions on floats in vector registers; a truth value as a source, such as VCCZ, is in a mask register.
        let exception = exception.filter(|_| leaves.iter().all(|&l| self.get(l).out != Ty::Bool));
        let number = u16::try_from(self.fast_paths.len()).ok()?;
        self.fast_paths.push(FastPath {
            sub: Arc::new(sub),
            leaves,
            normal,
            exception,
        });
        Some(self.node(Inst::FastPath(number), out, out, true, [when, short, 0]))
    }

    /// Returns the computation of a value from `leaves`.
    fn sub_of(&self, root: Id, leaves: &[Id]) -> Option<Sub> {
        let mut steps = Vec::new();
        let mut made: HashMap<Id, From> = leaves
            .iter()
            .enumerate()
            .map(|(n, &id)| (id, From::Leaf(n as u8)))
            .collect();
        self.steps_of(root, &mut steps, &mut made)?;
        Some(Sub {
            steps,
            generation: self.generation,
        })
    }

    fn steps_of(
        &self,
        id: Id,
        steps: &mut Vec<Step>,
        made: &mut HashMap<Id, From>,
    ) -> Option<From> {
        if let Some(&have) = made.get(&id) {
            return Some(have);
        }
        let n = *self.get(id);
        let mut arg = |steps: &mut Vec<Step>, k: usize| self.steps_of(n.args[k], steps, made);
        let step = match n.op {
            Inst::Const(v) => return Some(From::Const(v)),
            // Results of inactive lanes are not observed.
            Inst::Exec => return Some(From::Const(1)),
            Inst::Alu(op) => {
                let mut args = [From::Const(0); 3];
                for (k, a) in args.iter_mut().enumerate().take(op.arity()) {
                    *a = arg(steps, k)?;
                }
                Step::Alu {
                    op,
                    ty: n.ty,
                    out: n.out,
                    args,
                    mode: self.mode_of(id),
                }
            }
            Inst::Pair => Step::Pair(arg(steps, 0)?, arg(steps, 1)?),
            Inst::Lo => Step::Lo(arg(steps, 0)?),
            Inst::Hi => Step::Hi(arg(steps, 0)?),
            Inst::FastPath(number) => {
                let path = &self.fast_paths[number as usize];
                let mut leaves = Vec::new();
                for &l in &path.leaves {
                    leaves.push(self.steps_of(l, steps, made)?);
                }
                let first = steps.len() as u16;
                let to = |from: From| match from {
                    From::Leaf(n) => leaves[n as usize],
                    From::Step(n) => From::Step(n + first),
                    From::Const(v) => From::Const(v),
                };
                for step in &path.sub.steps {
                    steps.push(match step.clone() {
                        Step::Meaning {
                            program,
                            root,
                            sources,
                            vcc,
                            mode,
                        } => Step::Meaning {
                            program,
                            root,
                            sources: sources.iter().map(|s| (s.0, to(s.1))).collect(),
                            vcc: to(vcc),
                            mode,
                        },
                        Step::Alu {
                            op,
                            ty,
                            out,
                            args,
                            mode,
                        } => Step::Alu {
                            op,
                            ty,
                            out,
                            args: args.map(to),
                            mode,
                        },
                        Step::Pair(a, b) => Step::Pair(to(a), to(b)),
                        Step::Lo(a) => Step::Lo(to(a)),
                        Step::Hi(a) => Step::Hi(to(a)),
                    });
                }
                let last = From::Step(steps.len() as u16 - 1);
                made.insert(id, last);
                return Some(last);
            }
            _ => return None,
        };
        steps.push(step);
        let last = From::Step(u16::try_from(steps.len()).ok()? - 1);
        made.insert(id, last);
        Some(last)
    }

    /// Replaces the steps of a division by one division. `None` if `id`, a new value, is not the last of such steps.
    ///
    /// The fast path's quotient is correctly rounded under its condition (`moderate` in the rows' meanings): the first
    /// reciprocal is 1/y correctly rounded. With e = 1 - y r exact and |e| < 2^-p (p bits a number), each refinement rounds
    /// (1/y)(1 - e²); a midpoint m between numbers has |1 - y m| ≥ 2^-2p > e², so rounding gives the same r again. A
    /// quotient within a unit of the last place of z/y leaves a remainder that is exact, and adding it times r gives z/y
    /// correctly rounded (P. Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", theorem
    /// 8.5 of Cornea, Harrison and Tang's book). f64's first quotient may be up to one and a half units off;
    /// `divisions_are_quotients` tests that with operands made for it. Remainders may be denormals. The steps before the last two are
    /// in a MODE that keeps them, and the last two keep the denormals of their operands whatever MODE says.
    pub fn division(&mut self, id: Id) -> Option<Id> {
        let n = *self.get(id);
        let Inst::FastPath(number) = n.op else {
            return None;
        };
        if !matches!(n.out, Ty::F32 | Ty::F64) || self.env_of(id).round != Round::NearestEven {
            return None;
        }
        // The last step sets the sign: its fast path takes the previous quotient with the sign of y times z.
        let q = *self.fast_paths[number as usize].leaves.first()?;
        let last = self.short(q);
        let [e, r, q1] = self.of(last, Op::Fma)?;
        let rest = self.of(self.short(e), Op::Fma)?;
        let y_scaled = self.of(rest[0], Op::Neg)?[0];
        let z_scaled = rest[2];
        // Divisor and dividend were scaled under the same condition.
        let (y, when) = self.scaled(y_scaled)?;
        let (z, z_when) = self.scaled(z_scaled)?;
        let (ys, zs) = (self.short(y), self.short(z));
        let q1 = self.short(q1);
        if !self.same(when, z_when, 12)
            || !self.rest(e, ys, q1, zs)
            || !self.reciprocal(r, ys, 4)
            || !self.quotient(q1, ys, zs, 4)
            || !self.unscaled(q, when)
            || !self.mends(&n, q, y, z, when)
        {
            return None;
        }
        let leaves: Vec<Id> = [y, z]
            .into_iter()
            .filter(|&l| self.value_of(l).is_none())
            .collect();
        let sub = self.sub_of(id, &leaves)?;
        let short = self.alu(Op::Div, n.out, n.out, [z, y, 0]).ok()?;
        let exception = Some(Exception::Quotient);
        self.with_slow_path(sub, leaves, (when, short), n.out, (true, exception))
    }

    /// Replaces the steps of an f64 square root by one root. `None` if `id`, a new value, is not the last of such steps.
    ///
    /// The steps: y = 1/√x from its instruction (within 0.5001 units of the last place); g = x y and h = y/2 refined together
    /// once; then once or more often g + (x - g²) h. The result is the correctly rounded root. Let u be a unit of its last
    /// place: the refined g is within 1.01 u of √x and h within 2^-52 of 1/(2√x), so the last step, whose remainder is exact,
    /// rounds a number within 2^-51 u of √x. That gives the same as rounding √x unless a midpoint between numbers is as near.
    /// Up to powers of four, that is so for only a few dozen x: `roots_are_roots` tries them all.
    pub fn root(&mut self, id: Id) -> Option<Id> {
        let env = Mode(self.mode).env64();
        if env.flush_in || env.flush_out || env.round != Round::NearestEven {
            return None;
        }
        let [a, b, g] = self.of(id, Op::Fma)?;
        let (rest, h) = match self.of(a, Op::Fma) {
            Some(rest) if self.of(rest[0], Op::Neg).is_some() => (rest, b),
            _ => (self.of(b, Op::Fma)?, a),
        };
        let x = rest[2];
        if self.of(rest[0], Op::Neg)?[0] != g || rest[1] != g {
            return None;
        }
        // g and h share one refinement.
        let (h0, e) = self.refined(h)?;
        let [minus, g0, half] = self.of(e, Op::Fma)?;
        let (p, q) = match self.of(minus, Op::Neg) {
            Some([of, ..]) => (of, g0),
            None => (minus, self.of(g0, Op::Neg)?[0]),
        };
        let g0 = if p == h0 { q } else { p };
        if (p != h0 && q != h0) || !self.is_half(half) {
            return None;
        }
        // The previous root: the first refined one, or the result of earlier steps.
        let so_far = match self.of(self.short(g), Op::Sqrt) {
            Some([of, ..]) => of == x,
            None => self.refined(g) == Some((g0, e)),
        };
        let [a, b, _] = self.of(h0, Op::Mul)?;
        let y = if self.is_half(b) { a } else { b };
        let [c, d, _] = self.of(g0, Op::Mul)?;
        let halved = self.is_half(a) || self.is_half(b);
        let product = (c, d) == (x, y) || (d, c) == (x, y);
        if !so_far || !halved || !product || !self.inverse_root(y, x) {
            return None;
        }
        // From this limit on, no remainder underflows.
        let (least, limit) = (0x0400_0000, 0x7ff0_0000);
        let top = self.hi(x);
        let from = self.constant(Ty::B32, least);
        let top = self.alu(Op::Sub, Ty::U32, Ty::U32, [top, from, 0]).ok()?;
        let count = self.constant(Ty::B32, limit - least);
        let when = self.alu(Op::Lt, Ty::U32, Ty::Bool, [top, count, 0]).ok()?;
        let sub = self.sub_of(id, &[x])?;
        let short = self.alu(Op::Sqrt, Ty::F64, Ty::F64, [x, 0, 0]).ok()?;
        // For a zero the steps give a NaN, which later code replaces.
        let known = self.known(&sub, Ty::F64, &[x]);
        self.with_slow_path(sub, vec![x], (when, short), Ty::F64, (true, known))
    }

    /// Returns v and e of a value v + v e.
    fn refined(&self, id: Id) -> Option<(Id, Id)> {
        let [a, b, v] = self.of(id, Op::Fma)?;
        if a == v {
            Some((v, b))
        } else {
            (b == v).then_some((v, a))
        }
    }

    /// Returns true if `y` is 1/√x from its instruction, corrected by half of y times 1 - x y².
    fn inverse_root(&self, y: Id, x: Id) -> bool {
        let found = || {
            if !matches!(self.get(y).op, Inst::FastPath(_)) {
                return None;
            }
            let [half, missing, y] = self.of(self.short(y), Op::Fma)?;
            let [one, root, _] = self.of(y, Op::Div)?;
            let of = self.of(root, Op::Sqrt)?[0];
            let half_of = self.of(half, Op::Mul)?[0];
            let [rest, less, _] = self.of(missing, Op::Sub)?;
            let [minus, by, from] = self.of(rest, Op::Fma)?;
            let product = self.of(minus, Op::Neg)?[0];
            let [lost, lost_by, _] = self.of(less, Op::Mul)?;
            let [lx, ly, lp] = self.of(lost, Op::Fma)?;
            let all = self.is_one(one)
                && of == x
                && half_of == y
                && self.is_half(self.get(half).args[1])
                && by == y
                && self.is_one(from)
                && self.of(product, Op::Mul) == Some([x, y, self.get(product).args[2]])
                && lost_by == y
                && (lx, ly) == (x, y)
                && self.of(lp, Op::Neg)?[0] == product;
            all.then_some(())
        };
        found().is_some()
    }

    fn is_half(&self, id: Id) -> bool {
        self.value_of(id) == Some(0x3fe0_0000_0000_0000)
    }

    /// Returns true if two values are computed in the same way.
    fn same(&self, a: Id, b: Id, depth: u32) -> bool {
        let (x, y) = (self.get(a), self.get(b));
        let shared = !matches!(x.op, Inst::Group { .. } | Inst::SLoad { .. } | Inst::Row(_));
        a == b
            || depth > 0
                && shared
                && (x.op, x.ty, x.out, x.vec) == (y.op, y.ty, y.out, y.vec)
                && x.inputs()
                    .iter()
                    .zip(y.inputs())
                    .all(|(&a, &b)| self.same(a, b, depth - 1))
    }

    /// Returns the value of the fast path.
    fn short(&self, id: Id) -> Id {
        let mut id = id;
        while let Inst::FastPath(_) = self.get(id).op {
            id = self.get(id).args[1];
        }
        id
    }

    /// Returns the environment that a float value is computed in.
    fn env_of(&self, id: Id) -> Env {
        let mode = Mode(self.mode_of(id));
        match self.get(id).out {
            Ty::F64 => mode.env64(),
            _ => mode.env32(),
        }
    }

    /// [`Graph::of`] for a step of a division, which rounds to nearest and flushes nothing.
    fn step(&self, id: Id, op: Op) -> Option<[Id; 3]> {
        let env = self.env_of(id);
        let keeps = !env.flush_in && !env.flush_out && env.round == Round::NearestEven;
        self.of(id, op).filter(|_| keeps)
    }

    /// Returns the operands of a value if it is this operation.
    fn of(&self, id: Id, op: Op) -> Option<[Id; 3]> {
        let n = self.get(id);
        (n.op == Inst::Alu(op)).then_some(n.args)
    }

    /// Returns the operand of a scaling step, and the condition under which the step leaves it unchanged.
    fn scaled(&self, id: Id) -> Option<(Id, Id)> {
        let n = self.get(id);
        matches!(n.op, Inst::FastPath(_)).then_some((n.args[1], n.args[0]))
    }

    /// Returns true if `id` is `from` minus `y` times `by`.
    fn rest(&self, id: Id, y: Id, by: Id, from: Id) -> bool {
        let Some([a, b, c]) = self.step(self.short(id), Op::Fma) else {
            return false;
        };
        let minus_y = |id: Id| {
            self.of(self.short(id), Op::Neg)
                .is_some_and(|n| self.short(n[0]) == y)
        };
        (minus_y(a) && self.short(b) == by || minus_y(b) && self.short(a) == by)
            && (self.short(c) == from || self.is_one(from) && self.is_one(c))
    }

    /// Returns true if a step that undoes a scaling leaves its operand unchanged where `when` holds.
    fn unscaled(&self, q: Id, when: Id) -> bool {
        if !matches!(self.get(q).op, Inst::FastPath(_)) {
            return true;
        }
        let condition = self.get(q).args[0];
        // Where MODE flushes denormals, no operand may be one.
        let conditions = match self.of(condition, Op::And) {
            Some([a, b, _]) => [a, b],
            None => [condition; 2],
        };
        conditions.into_iter().any(|condition| {
            let mask = self.of(condition, Op::Not).map(|n| n[0]);
            // In an all-active block the mask is not combined with EXEC.
            let mask = mask.map(|m| match self.of(m, Op::And) {
                Some([m, exec, _]) if self.get(exec).op == Inst::Exec => m,
                _ => m,
            });
            mask.and_then(|m| self.scaled(m))
                .is_some_and(|(short, w)| self.value_of(short) == Some(0) && self.same(w, when, 12))
        })
    }

    /// Returns true if the last step's fast path is `q` with the sign of y times z, if `when` holds and `q` is normal.
    fn mends(&self, last: &Node, q: Id, y: Id, z: Id, when: Id) -> bool {
        let wide = last.out == Ty::F64;
        let top = |id: Id, of: Id| {
            let n = self.get(id);
            match self.value_of(of) {
                Some(v) if wide => self.value_of(id) == Some(v >> 32),
                Some(_) => id == of,
                None if !wide => id == of,
                None => {
                    n.op == Inst::Hi && n.args[0] == of || self.made_of(of).is_some_and(|h| h == id)
                }
            }
        };
        let with = |id: Id, op: Op, c: u64| {
            let [a, b, _] = self.of(id, op)?;
            (self.value_of(b) == Some(c)).then_some(a)
        };
        let mended = || {
            let mut bits = last.args[1];
            if wide {
                let n = self.get(bits);
                let lo = self.get(n.args[0]);
                if n.op != Inst::Pair || lo.op != Inst::Lo || lo.args[0] != q {
                    return None;
                }
                bits = n.args[1];
            }
            let [size, sign, _] = self.of(bits, Op::Or)?;
            let size = with(size, Op::And, 0x7fff_ffff)?;
            let [a, b, _] = self.of(with(sign, Op::And, 0x8000_0000)?, Op::Xor)?;
            (top(size, q) && top(a, y) && top(b, z)).then_some(())
        };
        let normal = || {
            let [moderate, normal, _] = self.of(last.args[0], Op::And)?;
            let (least, count) = if wide {
                (0x0010_0000u64, 0x7fe0_0000)
            } else {
                (0x0080_0000, 0x7f00_0000)
            };
            let [from, n, _] = self.of(normal, Op::Lt)?;
            let size = with(from, Op::Sub, least)?;
            let of = with(size, Op::And, 0x7fff_ffff)?;
            (self.value_of(n) == Some(count) && top(of, q) && self.same(moderate, when, 12))
                .then_some(())
        };
        mended().is_some() && normal().is_some()
    }

    /// Returns the upper half of a value made of halves.
    fn made_of(&self, id: Id) -> Option<Id> {
        let n = self.get(id);
        (n.op == Inst::Pair).then_some(n.args[1])
    }

    fn is_one(&self, id: Id) -> bool {
        matches!(self.value_of(id), Some(0x3f80_0000 | 0x3ff0_0000_0000_0000))
    }

    /// Returns true if `r` is 1/y, refined or not.
    fn reciprocal(&self, r: Id, y: Id, depth: u32) -> bool {
        let r = self.short(r);
        if let Some([one, by, _]) = self.of(r, Op::Div) {
            return self.is_one(one) && self.short(by) == y;
        }
        let Some([a, b, c]) = self.step(r, Op::Fma) else {
            return false;
        };
        if depth == 0 {
            return false;
        }
        let before = self.short(c);
        let other = if self.short(a) == before { b } else { a };
        (self.short(a) == before || self.short(b) == before)
            && self.rest_of_one(other, y, before)
            && self.reciprocal(before, y, depth - 1)
    }

    fn rest_of_one(&self, id: Id, y: Id, by: Id) -> bool {
        let one = self.of(self.short(id), Op::Fma).map(|n| n[2]);
        one.is_some_and(|one| self.is_one(one) && self.rest(id, y, by, self.short(one)))
    }

    /// Returns true if `q` is about z/y: the product with a reciprocal, refined or not.
    fn quotient(&self, q: Id, y: Id, z: Id, depth: u32) -> bool {
        let q = self.short(q);
        if let Some([a, b, _]) = self.step(q, Op::Mul) {
            let (a, b) = (self.short(a), self.short(b));
            return a == z && self.reciprocal(b, y, 4) || b == z && self.reciprocal(a, y, 4);
        }
        let Some([a, b, c]) = self.step(q, Op::Fma) else {
            return false;
        };
        if depth == 0 {
            return false;
        }
        let before = self.short(c);
        let by = |e: Id, r: Id| self.rest(e, y, before, z) && self.reciprocal(self.short(r), y, 4);
        (by(a, b) || by(b, a)) && self.quotient(before, y, z, depth - 1)
    }
}

/// An input of a slow path, as compiled code passes it.
#[derive(Clone, Copy, Debug)]
pub struct Leaf {
    /// The size: 1, 32 or 64.
    pub bits: u32,
    /// A NaN may differ from the interpreter's, and a denormal may not be flushed yet.
    pub raw: bool,
    /// Denormals are flushed somewhere.
    pub flushed: bool,
}

/// A call of a slow path by compiled code. It lives as long as the code.
pub struct Call {
    /// Unique in the process.
    number: u64,
    sub: Arc<Sub>,
    leaves: Vec<Leaf>,
    /// The size of the result in bits.
    bits: u32,
}

/// The number of a call, its inputs, and its result.
type Remembered = (u64, [u64; LEAVES], u64);

/// The number of cached results.
const KNOWN: usize = 256;

thread_local! {
    /// Slow paths see few distinct values repeatedly, above all zeros.
    static RESULTS: RefCell<[Remembered; KNOWN]> = const { RefCell::new([(0, [0; LEAVES], 0); KNOWN]) };
}

/// Returns a bit for each lane that has a value.
fn equal(lanes: &[u64; LANES], value: u64) -> u16 {
    let bit = |(k, &lane): (usize, &u64)| ((lane == value) as u16) << k;
    lanes.iter().enumerate().map(bit).sum()
}

/// From this number of lanes on, all lanes are evaluated at once.
const MANY: usize = 4;

/// The operations of steps by their numbers on disk, except [`Op::FmaLdexp`].
#[rustfmt::skip]
const OPS: [Op; 43] = [
    Op::Not, Op::Neg, Op::Abs, Op::Rev, Op::Popcount, Op::Clz, Op::Ctz, Op::Zext, Op::Sext, Op::Trunc,
    Op::IntToFloat, Op::FloatToInt, Op::FloatToFloat, Op::Add, Op::Sub, Op::Mul, Op::MulHi, Op::And, Op::Or,
    Op::Xor, Op::Shl, Op::Shr, Op::Min, Op::Max, Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::Unord,
    Op::Class, Op::Select, Op::Fma, Op::Mad, Op::Div, Op::Sqrt, Op::Ldexp, Op::Floor, Op::Ceil, Op::RoundZero,
    Op::RoundEven, Op::Lane,
];
const FMA_LDEXP: u8 = 255;

#[rustfmt::skip]
const TYPES: [Ty; 19] = [
    Ty::Bool, Ty::B8, Ty::B16, Ty::I16, Ty::U16, Ty::F16, Ty::B32, Ty::I32, Ty::U32, Ty::F32, Ty::B64, Ty::I64, Ty::U64,
    Ty::F64, Ty::B96, Ty::B128, Ty::B256, Ty::B512, Ty::Mask,
];

impl From {
    fn save(self, out: &mut Out) {
        let (kind, value) = match self {
            From::Leaf(n) => (0, n as u64),
            From::Step(n) => (1, n as u64),
            From::Const(v) => (2, v),
        };
        out.u8(kind);
        out.u64(value);
    }

    fn load(from: &mut In<'_>) -> Option<From> {
        Some(match (from.u8()?, from.u64()?) {
            (0, n) => From::Leaf(n.try_into().ok()?),
            (1, n) => From::Step(n.try_into().ok()?),
            (2, v) => From::Const(v),
            _ => return None,
        })
    }
}

fn save_type(ty: Ty, out: &mut Out) -> Option<()> {
    out.u8(TYPES.iter().position(|&t| t == ty)? as u8);
    Some(())
}

fn load_type(from: &mut In<'_>) -> Option<Ty> {
    TYPES.get(from.u8()? as usize).copied()
}

impl Step {
    /// Serializes the step. `None` if it has no form on disk.
    fn save(&self, out: &mut Out) -> Option<()> {
        match self {
            Step::Meaning {
                program,
                root,
                sources,
                vcc,
                mode,
            } => {
                out.u8(0);
                out.u32(*mode);
                out.u32(insts::number(program.row) as u32);
                out.u32(*root as u32);
                out.list(sources, |out, &(slot, from)| {
                    out.u8(slot);
                    from.save(out);
                });
                vcc.save(out);
            }
            Step::Alu {
                op,
                ty,
                out: to,
                args,
                mode,
            } => {
                out.u8(1);
                out.u32(*mode);
                match op {
                    Op::FmaLdexp(by) => {
                        out.u8(FMA_LDEXP);
                        out.u32(*by as u32);
                    }
                    op => out.u8(OPS.iter().position(|o| o == op)? as u8),
                }
                save_type(*ty, out)?;
                save_type(*to, out)?;
                for from in args {
                    from.save(out);
                }
            }
            Step::Pair(a, b) => {
                out.u8(2);
                a.save(out);
                b.save(out);
            }
            Step::Lo(a) => {
                out.u8(3);
                a.save(out);
            }
            Step::Hi(a) => {
                out.u8(4);
                a.save(out);
            }
        }
        Some(())
    }

    fn load(from: &mut In<'_>, target: Target) -> Option<Step> {
        Some(match from.u8()? {
            0 => Step::Meaning {
                mode: from.u32()?,
                program: program_of(insts::all().nth(from.u32()? as usize)?, target),
                root: from.u32()?.try_into().ok()?,
                sources: from.list(|from| Some((from.u8()?, From::load(from)?)))?,
                vcc: From::load(from)?,
            },
            1 => Step::Alu {
                mode: from.u32()?,
                op: match from.u8()? {
                    FMA_LDEXP => Op::FmaLdexp(from.u32()? as i16),
                    n => *OPS.get(n as usize)?,
                },
                ty: load_type(from)?,
                out: load_type(from)?,
                args: [From::load(from)?, From::load(from)?, From::load(from)?],
            },
            2 => Step::Pair(From::load(from)?, From::load(from)?),
            3 => Step::Lo(From::load(from)?),
            4 => Step::Hi(From::load(from)?),
            _ => return None,
        })
    }
}

/// 64 bytes, for one vector register.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct Line(pub [u32; 16]);

impl Call {
    /// Serializes the call. `None` if it has no form on disk.
    pub fn save(&self, out: &mut Out) -> Option<()> {
        out.u32(self.bits);
        out.list(&self.leaves, |out, leaf| {
            out.u32(leaf.bits);
            out.u8(leaf.raw as u8);
            out.u8(leaf.flushed as u8);
        });
        let mut saved = Some(());
        out.list(&self.sub.steps, |out, step| {
            saved = saved.and_then(|()| step.save(out));
        });
        saved
    }

    /// Reads a call that was saved for this target.
    pub fn load(from: &mut In<'_>, target: Target) -> Option<Call> {
        let bits = from.u32()?;
        let leaves = from.list(|from| {
            Some(Leaf {
                bits: from.u32()?,
                raw: from.flag()?,
                flushed: from.flag()?,
            })
        })?;
        let sub = Sub {
            steps: from.list(|from| Step::load(from, target))?,
            generation: target.generation(),
        };
        Some(Call::new(Arc::new(sub), leaves, bits))
    }

    pub fn new(sub: Arc<Sub>, leaves: Vec<Leaf>, bits: u32) -> Call {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Call {
            number: NEXT.fetch_add(1, Relaxed),
            sub,
            leaves,
            bits,
        }
    }

    /// Evaluates the value for lanes, from and to the context's lines. Returns `false` if the exact bits of an operand are unknown.
    pub fn run(&self, data: &mut [Line; 16], lanes: u16) -> bool {
        let mut leaves = [[0; LANES]; LEAVES];
        for (at, leaf) in self.leaves.iter().enumerate() {
            let (low, high) = (&data[2 * at].0, &data[2 * at + 1].0);
            let value: [u64; LANES] = match leaf.bits {
                1 => std::array::from_fn(|i| (low[0] >> i & 1) as u64),
                33.. => std::array::from_fn(|i| {
                    let from = if i < LANES / 2 { low } else { high };
                    let k = 2 * (i % (LANES / 2));
                    from[k] as u64 | (from[k + 1] as u64) << 32
                }),
                _ => std::array::from_fn(|i| low[i] as u64),
            };
            let (sign, exponent) = match leaf.bits {
                64 => (1u64 << 63, 0x7ffu64 << 52),
                _ => (1 << 31, 0xff << 23),
            };
            let unknown = |v: u64| {
                let size = v & !sign;
                size > exponent || leaf.flushed && size & exponent == 0 && size != 0
            };
            if leaf.raw && (0..LANES).any(|i| lanes >> i & 1 != 0 && unknown(value[i])) {
                return false;
            }
            leaves[at] = value;
        }
        let mut result = [0; LANES];
        RESULTS.with_borrow_mut(|known| self.results(known, &leaves, lanes, &mut result));
        let [.., to, next, _, _, _, _, _, _] = data;
        for (i, &value) in result.iter().enumerate() {
            if lanes >> i & 1 == 0 {
                continue;
            }
            match self.bits {
                1 => to.0[0] = to.0[0] & !(1 << i) | ((value & 1) as u32) << i,
                33.. => {
                    let line = if i < LANES / 2 { &mut *to } else { &mut *next };
                    let k = 2 * (i % (LANES / 2));
                    line.0[k] = value as u32;
                    line.0[k + 1] = (value >> 32) as u32;
                }
                _ => to.0[i] = value as u32,
            }
        }
        true
    }

    fn results(
        &self,
        known: &mut [Remembered; KNOWN],
        leaves: &[[u64; LANES]; LEAVES],
        lanes: u16,
        result: &mut [u64; LANES],
    ) {
        let leaves = &leaves[..self.leaves.len()];
        let of = |i: usize| {
            let mut values = [0; LEAVES];
            for (value, leaf) in values.iter_mut().zip(leaves) {
                *value = leaf[i];
            }
            values
        };
        let slot = |values: &[u64; LEAVES]| {
            let mut h = Fast::default();
            (self.number, values).hash(&mut h);
            h.finish() as usize % KNOWN
        };
        let mut left = lanes;
        let mut all = None;
        while left != 0 {
            let i = left.trailing_zeros() as usize;
            let values = of(i);
            let same = (leaves.iter().zip(values)).fold(left, |m, (leaf, v)| m & equal(leaf, v));
            let at = &mut known[slot(&values)];
            if (at.0, at.1) != (self.number, values) {
                // If many lanes with other values remain, evaluating all at once is cheaper.
                let differ = (left & !same).count_ones() as usize;
                if differ >= MANY && all.is_none() {
                    all = Some(self.sub.run::<LANES>(leaves));
                }
                let value = match &all {
                    Some(all) => all[i],
                    None => {
                        let one = values.map(|v| [v]);
                        self.sub.run::<1>(&one[..leaves.len()])[0]
                    }
                };
                *at = (self.number, values, value);
            }
            for (j, to) in result.iter_mut().enumerate() {
                if same >> j & 1 != 0 {
                    *to = at.2;
                }
            }
            left &= !same;
        }
    }
}
