//! Values that are affine in the lane: within each 16 lanes a base and a constant step from lane to lane.
//!
//! The bases of the four slices of 16 lanes are a *base*: four numbers of 32 bits that are computed at once, before the
//! slices. Index and address arithmetic mostly is of this kind, and a memory access whose address is a base needs no look
//! at lanes. What makes a value linear under a condition only (a sum's carry that all 16 lanes share, say) is a [`Guard`]
//! of the block; where one does not hold of active lanes, the block is left to code that knows nothing of this.
//!
//! Facts go from block to block: VGPRs whose 64 lanes in memory, whatever EXEC is, are linear with a step. A block keeps
//! the promise for what it writes where inactive lanes do not matter: then it writes all 64.

use crate::hash::Map;
use crate::ir::affine::{
    Address, AffineState, AffineVgprs, Base, BaseKind, BaseOp, Guard, Several,
};
use crate::ir::region::{Block, LiveLanes, Store, Terminator, WaveHelper, WaveHelperCall};
use crate::ir::{Id, Inst, Node};
use gcn_isa::meaning::{Op, Space};
use gcn_isa::shape::Ty;

/// The largest step, so that those of 15 lanes together stay far from 32 bits.
const STEP: i64 = 1 << 20;

/// How a value's base comes of those of its operands.
#[derive(Clone, Copy, Debug)]
enum Derivation {
    /// By the operation itself, or it is there.
    Op,
    /// It is that of another, of active lanes.
    Same(Id),
    /// By the operation, if the upper bits of an operand are the same in all lanes.
    Top(Id, u8),
    /// By the operation, if all lanes answer alike.
    Less,
    /// By the operation, if the bits in which the first operand's lanes differ are 0 (1) in the second.
    Bits(Id, Id, bool),
}

#[derive(Clone, Copy, Debug)]
struct AffineValue {
    step: i32,
    /// 0: no condition; 1: one that fails hardly ever; 2: a likely one.
    risk: u8,
    how: Derivation,
}

fn scalar(n: &Node) -> bool {
    !n.vec
        && n.out.bits() <= 32
        && !matches!(n.op, Inst::Const(_) | Inst::SLoad { .. } | Inst::Ballot)
        && !n.ty.is_float()
}

/// Whether each value of a block is linear.
fn values(graph: &[Node], facts: &AffineVgprs) -> Vec<Option<AffineValue>> {
    let mut lin: Vec<Option<AffineValue>> = Vec::with_capacity(graph.len());
    for n in graph {
        let found = value(graph, &lin, n, facts);
        lin.push(found.filter(|l| (l.step as i64).abs() <= STEP));
    }
    lin
}

fn value(
    graph: &[Node],
    lin: &[Option<AffineValue>],
    n: &Node,
    facts: &AffineVgprs,
) -> Option<AffineValue> {
    let plain = |step: i64, risk: u8| {
        Some(AffineValue {
            step: step.clamp(i32::MIN as i64, i32::MAX as i64) as i32,
            risk,
            how: Derivation::Op,
        })
    };
    match n.op {
        Inst::Const(_) => return plain(0, 0),
        _ if !n.vec => return if scalar(n) { plain(0, 0) } else { None },
        Inst::VIn(v) => return facts.get(&v).and_then(|&step| plain(step as i64, 0)),
        Inst::Lane => return plain(1, 0),
        _ => {}
    }
    let konst = |id: Id| match graph[id as usize].op {
        Inst::Const(v) => Some(v as u32),
        _ => None,
    };
    let args = n.inputs();
    let of = |k: usize| lin[args[k] as usize];
    let steps = |k: usize| of(k).map(|l| l.step as i64);
    match n.op {
        Inst::Shld(by) => {
            // The second operand's upper bits come in from below.
            let (high, low) = (of(0)?, of(1)?);
            if high.step != 0 {
                return None;
            }
            let risk = high.risk.max(low.risk);
            if low.step == 0 {
                return plain(0, risk);
            }
            Some(AffineValue {
                step: 0,
                risk: risk.max(1),
                how: Derivation::Top(args[1], by),
            })
        }
        Inst::Shrd(_) => {
            let (low, high) = (of(0)?, of(1)?);
            (low.step == 0 && high.step == 0).then(|| plain(0, low.risk.max(high.risk)))?
        }
        Inst::Alu(op) => {
            let bits = n.ty.bits();
            if n.ty.is_float() || n.out.is_float() {
                return None;
            }
            if op == Op::Select && n.out.bits() == 32 {
                let cond = of(0)?;
                let (b, c) = (of(1)?, of(2)?);
                let ok = graph[args[0] as usize].vec && b.step == c.step;
                return ok.then(|| plain(b.step as i64, cond.risk.max(b.risk).max(c.risk)))?;
            }
            if bits == 1 {
                // A mask is a number of the active lanes, and off lanes' values do not matter.
                let exec = |k: usize| graph[args[k] as usize].op == Inst::Exec;
                if op == Op::And && (exec(0) || exec(1)) {
                    let k = exec(0) as usize;
                    let l = of(k)?;
                    return Some(AffineValue {
                        step: 0,
                        risk: l.risk,
                        how: Derivation::Same(args[k]),
                    });
                }
                let vector = args.iter().all(|&a| graph[a as usize].vec);
                if !vector || !matches!(op, Op::And | Op::Or | Op::Xor | Op::Not | Op::Zext) {
                    return None;
                }
                let mut risk = 0;
                for k in 0..args.len() {
                    risk = of(k)?.risk.max(risk);
                }
                return plain(0, risk);
            }
            if bits != 32 {
                return None;
            }
            let mut risk = 0;
            let mut uniform = true;
            for k in 0..args.len() {
                let l = of(k)?;
                risk = risk.max(l.risk);
                uniform &= l.step == 0;
            }
            // The bits below the one that 16 lanes' steps reach.
            let span = |step: i64| (16 * step.unsigned_abs()).next_power_of_two() as u32;
            match op {
                Op::Add => plain(steps(0)? + steps(1)?, risk),
                Op::Sub => plain(steps(0)? - steps(1)?, risk),
                Op::Not => plain(-steps(0)?, risk),
                Op::Mul if uniform => plain(0, risk),
                Op::Mul => match (konst(args[0]), konst(args[1])) {
                    (_, Some(c)) => plain(steps(0)? * c as i32 as i64, risk),
                    (Some(c), _) => plain(steps(1)? * c as i32 as i64, risk),
                    _ => None,
                },
                Op::Shl if konst(args[1]).is_some_and(|c| c < 32) => {
                    plain(steps(0)? << konst(args[1])?, risk)
                }
                Op::Shr if !uniform => {
                    let by = konst(args[1])?;
                    let ok = (1..32).contains(&by) && span(steps(0)?) <= 1 << by;
                    ok.then_some(AffineValue {
                        step: 0,
                        risk: risk.max(1),
                        how: Derivation::Top(args[0], 32 - by as u8),
                    })
                }
                Op::Lt if !uniform => {
                    if n.ty.is_signed() {
                        return None;
                    }
                    let [x, y] = [args[0], args[1]];
                    let carry = is_sum(graph, n);
                    let borrow = || {
                        graph[..lin.len()]
                            .iter()
                            .any(|m| m.op == Inst::Alu(Op::Sub) && m.args[..2] == [x, y])
                    };
                    (carry || borrow()).then_some(AffineValue {
                        step: 0,
                        risk: risk.max(1),
                        how: Derivation::Less,
                    })
                }
                Op::And | Op::Or | Op::Xor if !uniform => {
                    let (a, b) = (of(0)?, of(1)?);
                    let (x, m, step) = match (a.step, b.step) {
                        (s, 0) => (args[0], args[1], s),
                        (0, s) => (args[1], args[0], s),
                        _ => return None,
                    };
                    let low = span(step as i64) - 1;
                    let (ones, step) = match (op, konst(m)) {
                        (Op::And, Some(c)) if c & low == 0 => (false, 0),
                        (Op::And, Some(c)) if c & low == low => (true, step),
                        (Op::And, _) => return None,
                        (_, Some(c)) if c & low != 0 => return None,
                        _ => (false, step),
                    };
                    Some(AffineValue {
                        step,
                        risk: 2,
                        how: Derivation::Bits(x, m, ones),
                    })
                }
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
        _ => None,
    }
}

/// Whether a comparison is that of a sum with what was added, which is less where there was a carry.
fn is_sum(graph: &[Node], n: &Node) -> bool {
    let sum = &graph[n.args[0] as usize];
    sum.op == Inst::Alu(Op::Add) && sum.inputs().contains(&n.args[1])
}

/// Whether an operation is nothing but its value.
fn pure(op: Inst) -> bool {
    matches!(
        op,
        Inst::Const(_)
            | Inst::VIn(_)
            | Inst::SIn(_)
            | Inst::SccIn
            | Inst::Lane
            | Inst::Exec
            | Inst::Pair
            | Inst::Lo
            | Inst::Hi
            | Inst::MaskOf
            | Inst::Ballot
            | Inst::Shld(_)
            | Inst::Shrd(_)
            | Inst::ShrLane
            | Inst::Alu(_)
            | Inst::Part(_)
            | Inst::LaneIn(_)
            | Inst::LanesIn(_)
            | Inst::VgprAt
            | Inst::Shuffle(_)
            | Inst::FastPath(_)
    )
}

/// The writes of VGPRs that are linear and may go to all lanes: their places among the block's, and the steps.
fn linear_writes(c: &Block, lin: &[Option<AffineValue>]) -> Vec<(usize, i32)> {
    let mut out = Vec::new();
    // What a helper writes is not known where it is told the VGPR's number; others' is not among the block's.
    let other = |w: &WaveHelperCall| {
        !matches!(
            w.helper,
            WaveHelper::Atomic { .. } | WaveHelper::Store { .. }
        )
    };
    if c.effects.wave_helper.as_ref().is_some_and(other) {
        return out;
    }
    for (i, &(_, id, live)) in c.effects.vgprs.iter().enumerate() {
        if let Some(l) = lin[id as usize]
            && live == LiveLanes::Active
            && c.graph[id as usize].out != Ty::Bool
        {
            out.push((i, l.step));
        }
    }
    out
}

/// Whether two values of a graph under construction are linear.
pub(crate) fn both(graph: &[Node], facts: &AffineVgprs, of: [Id; 2]) -> bool {
    let lin = values(graph, facts);
    of.iter().all(|&id| lin[id as usize].is_some())
}

/// What is linear behind an all-active block, of what is before it.
pub(crate) fn written(c: &Block, facts: &AffineVgprs) -> AffineVgprs {
    let mut after = facts.clone();
    for w in &c.effects.vgprs {
        after.remove(&w.0);
    }
    let lin = values(&c.graph, facts);
    for (i, step) in linear_writes(c, &lin) {
        after.insert(c.effects.vgprs[i].0, step);
    }
    after
}

/// What holds after a block, of what holds before.
fn behind(c: &Block, facts: &AffineVgprs) -> AffineVgprs {
    // The interpreter may have run the block instead.
    let Some(may_write) = &c.may_write else {
        return AffineVgprs::new();
    };
    let mut after = facts.clone();
    for w in may_write {
        after.remove(w);
    }
    for w in &c.effects.vgprs {
        after.remove(&w.0);
    }
    if !matches!(c.terminator, Terminator::Interpret { .. }) {
        let lin = values(&c.graph, facts);
        for (i, step) in linear_writes(c, &lin) {
            after.insert(c.effects.vgprs[i].0, step);
        }
    }
    after
}

/// What is linear at each block's start, from what is at the entry.
pub(crate) fn facts(
    blocks: &[Block],
    entry: Option<(u64, AffineVgprs)>,
    is_live: &dyn Fn(u64, u16) -> bool,
) -> Vec<AffineVgprs> {
    let at: Map<u64, usize> = blocks
        .iter()
        .enumerate()
        .map(|(i, c)| (c.start, i))
        .collect();
    let mut before: Vec<Option<AffineVgprs>> = vec![None; blocks.len()];
    if let Some((entry, facts)) = entry {
        let mut work = Vec::new();
        if let Some(&first) = at.get(&entry) {
            before[first] = Some(facts);
            work.push(first);
        }
        let mut unseen = 0;
        loop {
            while let Some(i) = work.pop() {
                let c = &blocks[i];
                let after = behind(c, before[i].as_ref().unwrap_or(&AffineVgprs::new()));
                let to = match c.terminator {
                    Terminator::Jump(pc) => [Some(pc), None],
                    Terminator::Branch { taken, next, .. } => [Some(taken), Some(next)],
                    Terminator::Interpret { .. } | Terminator::Barrier => [Some(c.end), None],
                    Terminator::End | Terminator::Leave | Terminator::Indirect(_) => [None, None],
                };
                for pc in to.into_iter().flatten() {
                    let Some(&j) = at.get(&pc) else { continue };
                    let joined = match &before[j] {
                        None => after.clone(),
                        Some(have) => {
                            let same = |&(v, step): &(&u16, &i32)| after.get(v) == Some(step);
                            have.iter()
                                .filter(same)
                                .map(|(&v, &step)| (v, step))
                                .collect()
                        }
                    };
                    if before[j].as_ref() != Some(&joined) {
                        before[j] = Some(joined);
                        work.push(j);
                    }
                }
            }
            // What is come to by ways that are not seen.
            match (unseen..blocks.len()).find(|&i| before[i].is_none()) {
                Some(i) => {
                    before[i] = Some(AffineVgprs::new());
                    work.push(i);
                    unseen = i;
                }
                None => break,
            }
        }
    }
    let mut before: Vec<_> = before.into_iter().map(Option::unwrap_or_default).collect();
    for (c, facts) in blocks.iter().zip(&mut before) {
        facts.retain(|&v, _| is_live(c.start, v));
    }
    before
}

/// Takes what is linear into the blocks. `false` where a store that must be linear is not.
pub(crate) fn take(blocks: &mut [Block], facts: Vec<AffineVgprs>) -> bool {
    for (c, facts) in blocks.iter_mut().zip(facts) {
        if matches!(
            c.terminator,
            Terminator::Interpret { .. } | Terminator::Leave
        ) {
            c.affine.facts = facts;
        } else if !extract_affine(c, facts) {
            return false;
        }
    }
    true
}

/// Whether the addresses of stores are linear in a graph under construction.
pub(crate) fn stores(graph: &[Node], facts: &AffineVgprs, stores: &[&Store]) -> bool {
    let lin = values(graph, facts);
    let linear = |s: &&Store| address(graph, &lin, store_of(s)).is_some();
    stores.iter().all(linear)
}

/// The elements of a memory access.
#[derive(Clone, Copy)]
struct Access16 {
    space: Space,
    lo: Id,
    hi: Id,
    offset: i32,
    bytes: u8,
    count: u8,
    need: u8,
}

/// A linear address: its lower half without a constant, the upper half, and the constant.
#[derive(Clone, Copy)]
struct Found {
    lo: Id,
    /// Of LDS the limit.
    hi: Id,
    /// What is added to both, in 64 bits: halves that are scalars.
    plus: Option<(Id, Id)>,
    offset: i32,
    step: i32,
}

/// A sum of 64 bits of halves, one addend being scalars: the halves of the other one, and the scalars. The sum is linear
/// where the other addend is, whatever carries there are.
fn sum_of(graph: &[Node], lin: &[Option<AffineValue>], lo: Id, hi: Id) -> Option<[Id; 4]> {
    let node = |id: Id| &graph[id as usize];
    let add = |id: Id| {
        let n = node(id);
        let found = n.vec && n.op == Inst::Alu(Op::Add) && n.ty.bits() == 32 && !n.ty.is_float();
        found.then_some([n.args[0], n.args[1]])
    };
    let scalar = |id: Id| !node(id).vec && lin[id as usize].is_some();
    // The scalar one behind the other.
    let apart = |[a, b]: [Id; 2]| match (scalar(a), scalar(b)) {
        (_, true) => Some([a, b]),
        (true, _) => Some([b, a]),
        _ => None,
    };
    let of = add(lo)?;
    let is_carry = |id: Id| {
        let n = node(id);
        let less = node(n.args[0]);
        (n.op, n.ty) == (Inst::Alu(Op::Zext), Ty::Bool)
            && less.op == Inst::Alu(Op::Lt)
            && less.ty.bits() == 32
            && !less.ty.is_signed()
            && !less.ty.is_float()
            && less.args[0] == lo
            && of.contains(&less.args[1])
    };
    let [a, b] = add(hi)?;
    let rest = match (is_carry(a), is_carry(b)) {
        (_, true) => a,
        (true, _) => b,
        _ => return None,
    };
    let [x, low] = apart(of)?;
    let [y, high] = match add(rest) {
        Some(halves) => apart(halves)?,
        None if scalar(rest) => {
            let zero = graph.iter().position(|n| n.op == Inst::Const(0))?;
            [zero as Id, rest]
        }
        None => return None,
    };
    let uniform = lin[y as usize]?.step == 0;
    (uniform && lin[x as usize].is_some()).then_some([x, y, low, high])
}

fn address(graph: &[Node], lin: &[Option<AffineValue>], a: Access16) -> Option<Found> {
    let step = lin[a.lo as usize]?.step;
    let lds = a.space == Space::Lds;
    let shape = Shape::of(step, a.bytes, a.count, a.need == 2)?;
    // The first lanes alone may be within LDS, so those of a slice are to be near each other.
    if lds && shape == Shape::Apart && (a.bytes != 4 || !(4..=NEAR).contains(&step)) {
        return None;
    }
    if a.space != Space::Lds {
        let high = lin[a.hi as usize]?;
        let both = graph[a.lo as usize].vec || graph[a.hi as usize].vec;
        let mut found = Found {
            lo: a.lo,
            hi: a.hi,
            plus: None,
            offset: a.offset,
            step,
        };
        if let Some([x, y, low, high]) = sum_of(graph, lin, a.lo, a.hi) {
            (found.lo, found.hi, found.plus) = (x, y, Some((low, high)));
        }
        return (high.step == 0 && both).then_some(found);
    }
    let (mut lo, mut offset) = (a.lo, a.offset);
    loop {
        let n = &graph[lo as usize];
        let [x, y, _] = n.args;
        let (Inst::Alu(Op::Add), Inst::Const(c)) = (n.op, graph[y as usize].op) else {
            break;
        };
        if c > 1 << 17 || n.ty.bits() != 32 || !n.vec || lin[x as usize].is_none() {
            break;
        }
        lo = x;
        offset = offset.checked_add(c as i32)?;
    }
    (graph[lo as usize].vec && (0..1 << 20).contains(&offset)).then_some(Found {
        lo,
        hi: a.hi,
        plus: None,
        offset,
        step,
    })
}

/// How the elements of 16 lanes lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// All lanes have the same.
    Same,
    /// One lane's behind the other's.
    Dense,
    /// Otherwise: of what is written no two lanes have the same bytes.
    Apart,
}

/// The most bytes from lane to lane of those that are apart.
const APART: i32 = 1 << 14;
/// The same in LDS.
const NEAR: i32 = 256;
// The distances of 16 lanes, and what an access reaches, have 32 bits with a sign.
const _: () = assert!(16 * APART as i64 + (1 << 16) < i32::MAX as i64 && NEAR <= APART);

impl Shape {
    pub fn of(step: i32, bytes: u8, count: u8, written: bool) -> Option<Shape> {
        let size = bytes as i32 * count as i32;
        match (step, bytes, count) {
            (0, 1 | 2 | 4, _) if !written => Some(Shape::Same),
            (_, 1 | 2, 1) | (_, 4 | 8, 1 | 2 | 4) if step == size => Some(Shape::Dense),
            (0, ..) => None,
            _ if step.abs() > APART => None,
            (_, 4, _) if !written || step.abs() >= size => Some(Shape::Apart),
            (_, 1 | 2, 1) if !written => Some(Shape::Apart),
            // Of bytes that are written there is code for those that lie close.
            (1..=4, 1 | 2, 1) if step >= size => Some(Shape::Apart),
            _ => None,
        }
    }

    /// Bytes from a lane's address on that an access may touch.
    pub fn reach(self, step: i32, bytes: u8, count: u8) -> i32 {
        let size = bytes as i32 * count as i32;
        match self {
            // A gather has no smaller elements.
            Shape::Apart if !close(step) => size.max(4),
            _ => size,
        }
    }
}

/// Whether 16 lanes' elements of up to four bytes lie in one vector register.
pub fn close(step: i32) -> bool {
    (1..=4).contains(&step)
}

fn load_of(n: &Node) -> Option<Access16> {
    match n.op {
        Inst::Group {
            space,
            bytes,
            count,
            offset,
        } if n.vec => Some(Access16 {
            space,
            lo: n.args[0],
            hi: n.args[1],
            offset,
            bytes,
            count,
            need: 1,
        }),
        _ => None,
    }
}

fn store_of(s: &Store) -> Access16 {
    Access16 {
        space: s.space,
        lo: s.lo,
        hi: s.hi,
        offset: s.offset,
        bytes: s.bytes,
        count: s.data.len() as u8,
        need: 2,
    }
}

/// AffineState under construction.
struct Making<'a> {
    graph: &'a [Node],
    out: AffineState,
    of: Map<Id, Base>,
}

impl Making<'_> {
    fn push(&mut self, op: BaseKind, args: [Base; 3]) -> Base {
        let same = |o: &BaseOp| o.op == op && o.args == args;
        if let Some(at) = self.out.ops.iter().position(same) {
            return at as Base;
        }
        self.out.ops.push(BaseOp {
            op,
            args,
            stored: false,
        });
        (self.out.ops.len() - 1) as Base
    }

    /// The base of a value; of one that has operands it was made before.
    fn base(&mut self, id: Id) -> Base {
        if let Some(&q) = self.of.get(&id) {
            return q;
        }
        let op = match self.graph[id as usize].op {
            Inst::Const(v) => BaseKind::Const(v as u32),
            Inst::VIn(v) => BaseKind::Vgpr(v),
            Inst::Lane => BaseKind::Lane,
            _ => BaseKind::Scalar(id),
        };
        let q = self.push(op, [0; 3]);
        self.of.insert(id, q);
        q
    }

    fn guard(&mut self, g: Guard) {
        if !self.out.guards.contains(&g) {
            self.out.guards.push(g);
        }
    }

    fn address(&mut self, a: Access16, found: Found) -> u16 {
        let Found {
            lo,
            hi,
            plus,
            offset,
            step,
        } = found;
        let lo = self.base(lo);
        let lds = a.space == Space::Lds;
        let (hi, limit) = if lds {
            (0, Some(hi))
        } else {
            (self.base(hi), None)
        };
        if step != 0 && !lds {
            self.guard(Guard::Within {
                of: lo,
                step: 15 * step,
            });
        }
        let size = a.bytes as i32 * a.count as i32;
        let shape = Shape::of(step, a.bytes, a.count, a.need == 2);
        let reach = shape.map_or(size, |s| s.reach(step, a.bytes, a.count));
        let from = offset.saturating_add(15 * step.min(0));
        let to = offset.saturating_add(15 * step.max(0) + reach);
        let whole = a.need == 1 && a.count > 1 && shape == Some(Shape::Dense);
        let several = match shape {
            _ if a.need == 1 || a.count == 1 => None,
            Some(Shape::Dense) => Some(Several::Multiples(size)),
            _ => Some(Several::Rows),
        };
        if let Some(at) = self.out.addresses.iter().position(|x| {
            (x.lo, x.hi, x.plus, x.limit) == (lo, hi, plus, limit)
                && (x.step, x.need) == (step, a.need)
                && (x.to.max(to) as i64 - x.from.min(from) as i64) < 1 << 20
        }) {
            let x = &mut self.out.addresses[at];
            x.from = x.from.min(from);
            x.to = x.to.max(to);
            x.whole |= whole;
            x.several = x.several.max(several);
            return at as u16;
        }
        self.out.addresses.push(Address {
            lo,
            hi,
            plus,
            limit,
            step,
            need: a.need,
            from,
            to,
            whole,
            several,
        });
        (self.out.addresses.len() - 1) as u16
    }
}

/// Takes what is linear out of a block's graph into its bases.
pub(crate) fn extract_affine(c: &mut Block, facts: AffineVgprs) -> bool {
    let lin = values(&c.graph, &facts);
    let n = c.graph.len();
    let writes = linear_writes(c, &lin);
    let find = |st: &Store| {
        let a = store_of(st);
        Some((a, address(&c.graph, &lin, a)?))
    };
    let store = c.effects.store.as_ref().and_then(find);
    let waiting: Option<Vec<(Access16, Found)>> =
        c.effects.deferred_stores.iter().map(find).collect();
    let Some(waiting) = waiting else {
        return false;
    };
    // What is needed as a base, and what for each lane.
    let (mut want, mut lanes) = (vec![false; n], vec![false; n]);
    for &(i, _) in &writes {
        want[c.effects.vgprs[i].1 as usize] = true;
    }
    for (i, w) in c.effects.vgprs.iter().enumerate() {
        lanes[w.1 as usize] |= !writes.iter().any(|&(j, _)| i == j);
    }
    for id in (c.effects.sgprs.iter().map(|w| w.1))
        .chain(c.effects.scc)
        .chain(c.guards.iter().copied())
    {
        lanes[id as usize] = true;
    }
    for &id in c.effects.wave_helper.iter().flat_map(|w| &w.inputs) {
        lanes[id as usize] = true;
    }
    for &(a, _, v) in &c.effects.rows {
        (lanes[a as usize], lanes[v as usize]) = (true, true);
    }
    for &(_, lane, value) in &c.effects.lane_inserts {
        (lanes[lane as usize], lanes[value as usize]) = (true, true);
    }
    if let Terminator::Branch { when, .. } | Terminator::Indirect(when) = c.terminator {
        lanes[when as usize] = true;
    }
    for st in c.effects.store.iter().chain(&c.effects.deferred_stores) {
        for &d in &st.data {
            lanes[d as usize] = true;
        }
    }
    for &(a, Found { lo, hi, .. }) in store.iter().chain(&waiting) {
        want[lo as usize] = true;
        let high = if a.space == Space::Lds {
            &mut lanes
        } else {
            &mut want
        };
        high[hi as usize] = true;
    }
    if let Some(st) = &c.effects.store
        && store.is_none()
    {
        (lanes[st.lo as usize], lanes[st.hi as usize]) = (true, true);
    }
    for &id in c.assumed.iter().flat_map(|d| &d.of) {
        want[id as usize] = true;
    }
    let mut loads: Map<Id, (Access16, Found)> = Map::default();
    for at in (0..n).rev() {
        let node = &c.graph[at];
        let needed = lanes[at] || !pure(node.op);
        if let Some(a) = load_of(node)
            && let Some(found) = address(&c.graph, &lin, a)
        {
            loads.insert(at as Id, (a, found));
            want[found.lo as usize] = true;
            if a.space == Space::Lds {
                lanes[found.hi as usize] = true;
            } else {
                want[found.hi as usize] = true;
            }
            continue;
        }
        if needed && !want[at] && node.vec && worth(node, lin[at]) {
            want[at] = true;
        }
        if want[at] && node.vec {
            if let Some(AffineValue {
                how: Derivation::Same(id),
                ..
            }) = lin[at]
            {
                want[id as usize] = true;
            } else {
                for &i in node.inputs() {
                    want[i as usize] = true;
                }
            }
        }
        // One that is no more than its operand where lanes are on is something else as a mask.
        let apart = matches!(
            lin[at],
            Some(AffineValue {
                how: Derivation::Same(_),
                ..
            })
        );
        if needed && (!want[at] || !node.vec || apart) {
            for &i in node.inputs() {
                lanes[i as usize] = true;
            }
            if let Inst::FastPath(number) = node.op {
                for &leaf in &c.fast_paths[number as usize].leaves {
                    lanes[leaf as usize] = true;
                }
            }
        }
    }
    let mut m = Making {
        graph: &c.graph,
        out: AffineState::default(),
        of: Map::default(),
    };
    for at in 0..n {
        let (node, id) = (&c.graph[at], at as Id);
        if !want[at] || !node.vec {
            continue;
        }
        let Some(l) = lin[at] else { continue };
        if matches!(node.op, Inst::VIn(_) | Inst::Lane) {
            m.base(id);
            continue;
        }
        if let Derivation::Same(other) = l.how {
            let q = m.base(other);
            m.of.insert(id, q);
            continue;
        }
        let step = |id: Id| 15 * lin[id as usize].map_or(0, |l| l.step);
        let mut args = [0; 3];
        for (q, &a) in args.iter_mut().zip(node.inputs()) {
            *q = m.base(a);
        }
        match l.how {
            Derivation::Top(of, bits) => {
                let (step, of) = (step(of), m.base(of));
                m.guard(Guard::Top { of, step, bits });
            }
            // A sum's carry: all lanes have the same where neither the sum nor what it is of runs over.
            Derivation::Less if is_sum(&c.graph, node) => {
                let sum = node.args[0];
                let of = &c.graph[sum as usize].args[..2];
                for id in [sum, of[0], of[1]] {
                    let (step, of) = (step(id), m.base(id));
                    if step != 0 {
                        m.guard(Guard::Within { of, step });
                    }
                }
            }
            Derivation::Less => {
                let step = [step(node.args[0]), step(node.args[1])];
                m.guard(Guard::Less {
                    of: [args[0], args[1]],
                    step,
                });
            }
            Derivation::Bits(of, mask, ones) => {
                let (step, of, mask) = (step(of), m.base(of), m.base(mask));
                m.guard(Guard::Bits {
                    of,
                    step,
                    mask,
                    ones,
                });
            }
            Derivation::Op | Derivation::Same(_) => {}
        }
        // A truth value as a number is 1 where the base has all ones: -1.
        if node.op == Inst::Alu(Op::Add) {
            let bit = |q: Base| match m.out.ops[q as usize].op {
                BaseKind::Alu(Op::Zext, Ty::Bool) => Some(m.out.ops[q as usize].args[0]),
                _ => None,
            };
            let [a, b, _] = args;
            if let Some((a, bit)) = bit(b).map(|t| (a, t)).or(bit(a).map(|t| (b, t))) {
                let q = m.push(BaseKind::Alu(Op::Sub, node.ty), [a, bit, 0]);
                m.of.insert(id, q);
                continue;
            }
        }
        let op = match node.op {
            Inst::Shld(by) => BaseKind::Shld(by),
            Inst::Shrd(by) => BaseKind::Shrd(by),
            Inst::Alu(op) => BaseKind::Alu(op, node.ty),
            _ => continue,
        };
        let q = m.push(op, args);
        m.of.insert(id, q);
    }
    for d in &c.assumed {
        let step = d.of.map(|id| 15 * lin[id as usize].map_or(0, |l| l.step));
        let of = d.of.map(|id| m.base(id));
        m.guard(Guard::AssumedCompare {
            op: d.op,
            signed: d.ty.is_signed(),
            of,
            step,
        });
    }
    let mut groups = Vec::new();
    for at in 0..n as Id {
        if let Some(&(a, found)) = loads.get(&at) {
            groups.push((at, a, m.address(a, found), found.offset));
        }
    }
    let to = store.map(|(a, found)| (m.address(a, found), found.offset));
    for (a, found) in waiting {
        let to = (m.address(a, found), found.offset);
        m.out.stores.push(to);
    }
    for &(i, step) in &writes {
        let q = m.base(c.effects.vgprs[i].1);
        m.out.ops[q as usize].stored = true;
        m.out.writes.push((c.effects.vgprs[i].0, q, step));
    }
    let (mut out, of) = (m.out, m.of);
    out.store = to;
    // What lanes need of it is read from the bases.
    for at in 0..n {
        let apart = matches!(
            lin[at],
            Some(AffineValue {
                how: Derivation::Same(_),
                ..
            })
        );
        let node = &c.graph[at];
        if want[at]
            && lanes[at]
            && node.vec
            && !apart
            && !matches!(node.op, Inst::VIn(_) | Inst::Lane)
            && let (Some(l), Some(&base)) = (lin[at], of.get(&(at as Id)))
        {
            out.ops[base as usize].stored = true;
            c.graph[at].op = Inst::Affine { base, step: l.step };
        }
    }
    for (at, a, address, offset) in groups {
        let step = out.addresses[address as usize].step;
        c.graph[at as usize].op = Inst::AffineLoad {
            bytes: a.bytes,
            count: a.count,
            offset,
            address,
            broadcast: step == 0,
        };
    }
    // The addresses of linear stores are not needed any more.
    let linear = out.store.is_some();
    let stores =
        (c.effects.store.iter_mut().filter(|_| linear)).chain(&mut c.effects.deferred_stores);
    let places = out.store.iter().chain(&out.stores);
    let steps = places.map(|to| out.addresses[to.0 as usize].step);
    let zero = n as Id;
    for (st, step) in stores.zip(steps) {
        (st.lo, st.hi) = (zero, zero);
        // A 64-bit value as a whole goes to memory as it is.
        let halves = |lo: Id, hi: Id| {
            let (lo, hi) = (&c.graph[lo as usize], &c.graph[hi as usize]);
            let whole = (lo.op, hi.op) == (Inst::Lo, Inst::Hi) && lo.args[0] == hi.args[0];
            (whole && lo.vec).then_some(lo.args[0])
        };
        if let [lo, hi] = st.data[..]
            && (st.bytes, step) == (4, 8)
            && let Some(whole) = halves(lo, hi)
        {
            (st.bytes, st.data) = (8, vec![whole]);
        }
    }
    c.graph.push(Node {
        op: Inst::Const(0),
        ty: Ty::B64,
        out: Ty::B64,
        vec: false,
        args: [0; 3],
    });
    let written: Vec<u16> = out.writes.iter().map(|w| w.0).collect();
    c.effects.vgprs.retain(|w| !written.contains(&w.0));
    out.facts = facts;
    c.affine = out;
    true
}

/// Whether a value that lanes need is better made of a base.
fn worth(n: &Node, l: Option<AffineValue>) -> bool {
    l.is_some_and(|l| l.step == 0 && l.risk == 0 && !matches!(l.how, Derivation::Same(_)))
        && !matches!(n.op, Inst::VIn(_) | Inst::Lane)
}
