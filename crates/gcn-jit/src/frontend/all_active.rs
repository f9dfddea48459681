//! Variants of blocks for waves whose lanes are all active and stay active.
//!
//! Kernels compare each lane's number with a limit, and in most waves all lanes have the same result. If the compared
//! values are affine, their four bases give the result. A plain block may therefore have an *all-active variant*: it begins
//! at the same address, assumes that all lanes are active and that each such comparison has its usual result
//! ([`AssumedCompare`]), and continues over branches that depend on nothing else. EXEC is a constant in it. The assumptions
//! are checked before the variant changes anything. If one does not hold, or anything else fails, the plain block runs.

use super::*;
use std::collections::HashSet;

/// The most bytes from the first to the last block of a short loop. Variants of the blocks of longer loops took a tenth more time to compile,
/// and code was not faster by them.
const LOOP_BYTES: u64 = 1024;

/// The input for building all-active variants.
pub(super) struct Tracer<'a> {
    pub insns: &'a BTreeMap<u64, InsnInfo>,
    pub live: &'a LiveSets,
    pub s: &'a CompileRequest<'a>,
    /// The VGPRs that are affine where the plain blocks begin.
    pub state: &'a Map<u64, AffineVgprs>,
    /// What a variant may assume of the operations of plain blocks, by their starts.
    pub assumable: Map<u64, affine::Assumable>,
    pub written: u128,
    pub calls: &'a calls::Calls,
    /// The address where waves start.
    pub entry: u64,
    /// The scalar registers' values in a typical wave, if one is known.
    pub usual: Option<&'a RefCell<typical::Usual>>,
}

/// The addresses where plain blocks begin, and those of them to which jumps go back.
pub(super) struct ControlFlow {
    starts: HashSet<u64>,
    loop_heads: HashSet<u64>,
    /// The first and the last block of each loop whose blocks all have variants.
    short_loops: Vec<[u64; 2]>,
    entered: Entered,
}

/// The loops that may run for one lane after the other, as the starts of their blocks. Where waves enter them, it is chosen whether they do.
pub(super) struct Entered(Vec<Vec<u64>>);

impl Entered {
    pub fn of(blocks: &[Block]) -> Entered {
        let loops = blocks.iter().filter_map(|c| c.lane_loop.as_ref());
        Entered(
            loops
                .map(|l| l.blocks.iter().map(|c| c.start).collect())
                .collect(),
        )
    }

    /// Returns true if a variant that begins at an address must end where a block begins, because waves enter a loop there.
    pub fn ends(&self, start: u64, pc: u64) -> bool {
        let mut loops = self.0.iter();
        loops.any(|l| l[0] == pc && !l.contains(&start))
    }
}

impl ControlFlow {
    fn of(blocks: &[Block], left_out: LeftOut) -> ControlFlow {
        let back = |c: &Block| {
            let start = c.start;
            let calls = matches!(c.terminator, Terminator::Indirect { .. });
            c.targets().filter(move |&pc| pc <= start && !calls)
        };
        let loops = blocks
            .iter()
            .flat_map(|c| back(c).map(|first| [first, c.start]));
        let short = |[first, last]: &[u64; 2]| {
            last - first <= LOOP_BYTES && !left_out.has(Optional::LoopVariants)
        };
        ControlFlow {
            starts: blocks.iter().map(|c| c.start).collect(),
            loop_heads: blocks.iter().flat_map(back).collect(),
            short_loops: loops.filter(short).collect(),
            entered: Entered::of(blocks),
        }
    }

    /// Returns true if a block is in a short loop.
    fn repeats(&self, start: u64) -> bool {
        let contains = |&[first, last]: &[u64; 2]| (first..=last).contains(&start);
        self.short_loops.iter().any(contains)
    }
}

/// Adds variants to the blocks that gain from one. Returns their [continuations](super::continuations).
pub(super) fn add_variants(tracer: &Tracer<'_>, blocks: &mut [Block]) -> Vec<Block> {
    let flow = ControlFlow::of(blocks, tracer.s.left_out);
    let assuming = tracer.assuming(blocks, &flow);
    let mut after_variants = Map::default();
    // A variant that is worth it only if it leads to a continuation.
    let mut leading = None;
    let mut passed: HashSet<u64> = HashSet::new();
    for c in &mut *blocks {
        let begins = c.start == tracer.entry && tracer.s.entry.is_some();
        let may_gain = begins || flow.repeats(c.start) || assuming.contains(&c.start);
        if passed.contains(&c.start) || !begins && !tracer.compares(c) || !may_gain {
            continue;
        }
        let Some(made) = tracer.variant(c, &flow, false) else {
            continue;
        };
        // The variant must save branches or address checks; where waves start, having affine addresses suffices.
        let entry = begins && !made.block.affine.addresses.is_empty();
        let more = made.block.affine.addresses.len() > c.affine.addresses.len();
        let gains = made.block.replaces.len() > 1 || entry || more;
        let longer = begins && !tracer.s.left_out.has(Optional::Branches);
        let longer = longer.then(|| tracer.variant(c, &flow, true)).flatten();
        let longer = longer.filter(|l| l.block.replaces.len() > made.block.replaces.len());
        if !gains && longer.is_none() {
            leading = begins.then_some(c.start);
        }
        // Launches with other arguments run the blocks that only the longer variant replaces.
        if gains {
            passed.extend(&made.block.replaces);
        }
        let Variant { block, after, less } = match longer {
            Some(longer) => Variant {
                less: gains.then(|| Box::new(made.block)).or(longer.less),
                ..longer
            },
            None if gains || begins => made,
            None => continue,
        };
        after_variants.insert(c.start, after);
        if begins {
            c.of_grid = tracer.of_grid(c, &flow, block.insns).map(Box::new);
        }
        c.all_active = Some(Box::new(block));
        c.assuming_less = less;
    }
    let continuations = match tracer.s.left_out.has(Optional::Continuations) {
        true => Vec::new(),
        false => tracer.continuations(blocks, &after_variants, &flow),
    };
    let leads_nowhere = |c: &&mut Block| {
        let leads = c
            .all_active
            .as_ref()
            .is_some_and(|v| !v.continued.is_empty());
        Some(c.start) == leading && !leads
    };
    if let Some(c) = blocks.iter_mut().find(leads_nowhere) {
        c.all_active = None;
    }
    add_to_loops(tracer, blocks, &continuations, &flow);
    continuations
}

/// Adds variants to the other blocks of loops, which assume nothing but EXEC: without tests and masks of lanes their code is shorter.
fn add_to_loops(
    tracer: &Tracer<'_>,
    blocks: &mut [Block],
    continuations: &[Block],
    flow: &ControlFlow,
) {
    let continued: HashSet<u64> = continuations.iter().map(|c| c.start).collect();
    for c in blocks {
        let other = c.all_active.is_none() && !continued.contains(&c.start);
        let may_gain = other && c.has_code() && flow.repeats(c.start);
        let variant = may_gain.then(|| tracer.variant(c, flow, false)).flatten();
        if let Some(variant) = variant {
            c.all_active = Some(Box::new(variant.block));
            c.assuming_less = variant.less;
        }
    }
}

/// Returns true if a scalar is computed from nothing but EXEC as it was at the block's start, by a few operations.
fn of_exec(graph: &[crate::ir::Node], id: Id, depth: u32) -> bool {
    let n = &graph[id as usize];
    match n.op {
        Inst::Const(_) => true,
        Inst::SIn(code) => code as u16 | 1 == EXEC | 1,
        Inst::Alu(_) | Inst::Pair => {
            depth > 0 && (n.inputs().iter()).all(|&a| of_exec(graph, a, depth - 1))
        }
        _ => false,
    }
}

/// How a variant is built from the code.
#[derive(Clone, Copy)]
pub(super) struct Tracing {
    /// It goes on over branches that are the same in all waves.
    pub branches: bool,
    /// The most rounds, if it is a loop.
    pub rounds: usize,
    /// It goes on where the code loads after it has stored.
    pub passing: bool,
}

impl Tracing {
    /// It ends at all of these.
    pub const ONCE: Tracing = Tracing {
        branches: false,
        rounds: 1,
        passing: false,
    };
}

/// An all-active variant.
pub(super) struct Variant {
    pub block: Block,
    /// The VGPRs that are affine after it.
    pub after: AffineVgprs,
    /// The variant that runs if this one cannot.
    less: Option<Box<Block>>,
}

impl<'a> Tracer<'a> {
    /// Returns a variant of a block. With `branches`, it assumes the results of branches that are the same in all waves. Where the variant is
    /// a loop with little in it, there are several rounds of it.
    fn variant(&self, c: &Block, flow: &ControlFlow, branches: bool) -> Option<Variant> {
        let once = Tracing {
            branches,
            ..Tracing::ONCE
        };
        let one = self.traced(c.start, flow, None, once)?;
        match self.several_rounds(&one.block, flow, None, once) {
            Some(more) => Some(Variant {
                less: Some(Box::new(one.block)),
                ..more
            }),
            None => Some(one),
        }
    }

    /// Returns a variant or a continuation with several rounds, if the one with one round is a loop with little in it.
    pub(super) fn several_rounds(
        &self,
        one: &Block,
        flow: &ControlFlow,
        before: Option<&AffineVgprs>,
        once: Tracing,
    ) -> Option<Variant> {
        if self.s.left_out.has(Optional::Rounds) {
            return None;
        }
        let rounds = rounds(one)?;
        let more = self.traced(one.start, flow, before, Tracing { rounds, ..once })?;
        let longer = more.block.insns > one.insns;
        (longer && !crate::passes::waits_for_rounds(&more.block.graph)).then_some(more)
    }

    /// Returns a variant of the block at an address. For a continuation, `before` has the VGPRs that are affine where it begins.
    fn traced(
        &self,
        start: u64,
        flow: &ControlFlow,
        before: Option<&AffineVgprs>,
        how: Tracing,
    ) -> Option<Variant> {
        let states = before.map(|before| Map::from_iter([(start, before.clone())]));
        let (mut block, over) = self.longest(start, flow, states.as_ref(), how)?;
        let state = before.or(self.state.get(&start));
        let state = state.cloned().unwrap_or_default();
        if !self.keeps(&block, &state) {
            return None;
        }
        let after = affine::written(&block, &state);
        if !affine::extract_affine(&mut block, state) {
            return None;
        }
        if !self.s.left_out.has(Optional::InOrder) {
            affine::keep_order(&mut block);
        }
        block.replaces = over;
        Some(Variant {
            block,
            after,
            less: None,
        })
    }

    /// Returns the variant of the block where waves start for dispatches whose addresses are evaluated: it goes on where the code loads after it
    /// has stored. `None` if it has no more than so many instructions.
    fn of_grid(&self, c: &Block, flow: &ControlFlow, insns: u32) -> Option<Block> {
        if self.s.left_out.has(Optional::Grid) || self.s.left_out.has(Optional::Passing) {
            return None;
        }
        let branches = !self.s.left_out.has(Optional::Branches);
        let made = [branches, false].into_iter().find_map(|branches| {
            let how = Tracing {
                branches,
                passing: true,
                ..Tracing::ONCE
            };
            let made = self.traced(c.start, flow, None, how)?;
            (made.block.insns > insns).then_some(made)
        })?;
        (!made.block.polls).then_some(made.block)
    }

    /// Returns the longest variant from an address that ends where a plain block does, and the starts of the plain blocks
    /// that it replaces. For a continuation, `states` has the VGPRs that are affine where it begins.
    pub(super) fn longest(
        &self,
        start: u64,
        flow: &ControlFlow,
        states: Option<&Map<u64, AffineVgprs>>,
        how: Tracing,
    ) -> Option<(Block, Vec<u64>)> {
        let mut most = usize::MAX;
        loop {
            let mut b = self.builder(states.unwrap_or(self.state));
            b.at_entry = start == self.entry;
            b.usual_branches = how.branches;
            b.passing = how.passing;
            let mut over = Vec::new();
            let ended = self.follow(&mut b, start, (most, how.rounds), flow, &mut over);
            if over.is_empty() {
                return None;
            }
            let Some(terminator) = ended else {
                // It must end earlier, before the last plain block that was reached.
                most = over.len() - 1;
                continue;
            };
            let of_lanes = |d: &AssumedCompare| d.of.iter().any(|&id| b.g.get(id).vec);
            let gains = !b.assumed.is_empty() || b.guesses.iter().any(of_lanes);
            let repeats = flow.repeats(start);
            if !gains && !repeats && start != self.entry && states.is_none() {
                return None;
            }
            let mut decided = std::mem::take(&mut b.assumed);
            let mut made = Vec::new();
            b.finish(terminator, self.live, &mut made);
            let mut trace = made.pop().filter(|_| b.failed_spans.is_empty())?;
            decided.append(&mut trace.assumed);
            trace.assumed = decided;
            for w in &mut trace.effects.vgprs {
                // There are no inactive lanes.
                w.2 = LiveLanes::Active;
            }
            return Some((trace, over));
        }
    }

    /// Returns the starts of the blocks from which a variant may reach an operation whose result it assumes.
    fn assuming(&self, blocks: &[Block], flow: &ControlFlow) -> HashSet<u64> {
        let mut found = HashSet::new();
        // The blocks from which a variant may reach a change of EXEC.
        let mut change_exec = HashSet::new();
        // All jumps back lead to the heads of loops, where variants end.
        for c in blocks.iter().rev() {
            let next = match c.terminator {
                Terminator::Jump(pc) if !flow.loop_heads.contains(&pc) => Some(pc),
                _ => None,
            };
            let reaches = |found: &HashSet<u64>| next.is_some_and(|pc| found.contains(&pc));
            let exec = |w: &(u8, Id)| w.0 as u16 | 1 == EXEC | 1;
            let changes = c.effects.sgprs.iter().any(exec) || reaches(&change_exec);
            if changes {
                change_exec.insert(c.start);
            }
            let assumes = match self.assumable.get(&c.start) {
                Some(affine::Assumable::Always) => true,
                Some(affine::Assumable::Order) => changes,
                None => false,
            };
            // The variant may decide a branch on EXEC.
            let decides = match c.terminator {
                Terminator::Branch { when, .. } => of_exec(&c.graph, when, 4),
                _ => false,
            };
            if assumes || decides || reaches(&found) {
                found.insert(c.start);
            }
        }
        found
    }

    /// Returns true if a block compares values of lanes, or limits them.
    fn compares(&self, c: &Block) -> bool {
        let vec = |id: Id| c.graph[id as usize].vec;
        let limits = |n: &crate::ir::Node| {
            let [a, b, _] = n.args;
            matches!(n.op, Inst::Alu(Op::Min | Op::Max)) && !n.ty.is_float() && vec(a) != vec(b)
        };
        if !self.s.left_out.has(Optional::Clamps) && c.graph.iter().any(limits) {
            return true;
        }
        let code = self.insns.range(c.start..c.end.max(c.start));
        let masks = |k: &InsnInfo| !k.masks.is_empty() && k.insn.row.format.is_vector();
        c.has_code() && code.into_iter().any(|(_, k)| masks(k))
    }

    fn builder<'b>(&'b self, states: &'b Map<u64, AffineVgprs>) -> Builder<'b> {
        let mut b = Builder {
            affine: Some(states),
            usual: self.usual,
            all_active: true,
            ..Builder::new(self.s)
        };
        b.written = self.written;
        b.calls = Some(self.calls);
        for half in 0..2 {
            b.regs.known.insert(EXEC as u8 + half, u32::MAX);
        }
        b
    }

    /// Adds instructions in the order in which they run, over at most `most` plain blocks and so many rounds from the start. Returns `None` if
    /// the variant ends within a block.
    fn follow(
        &self,
        b: &mut Builder<'a>,
        start: u64,
        (most, rounds): (usize, usize),
        flow: &ControlFlow,
        over: &mut Vec<u64>,
    ) -> Option<Terminator> {
        (b.code.start, b.code.end) = (start, start);
        let begun = |over: &[u64]| over.iter().filter(|&&pc| pc == start).count();
        let mut pc = start;
        loop {
            let begins = flow.starts.contains(&pc);
            let stop = begins.then_some(Terminator::Jump(pc));
            if begins {
                let ends = match pc == start {
                    true => begun(over) >= rounds,
                    false => {
                        let loops = flow.loop_heads.contains(&pc) || flow.entered.ends(start, pc);
                        over.contains(&pc) || !over.is_empty() && loops
                    }
                };
                if ends || over.len() >= most {
                    return stop;
                }
            }
            let Some(k) = self.insns.get(&pc).filter(|_| b.code.insns < BLOCK_INSNS) else {
                return stop;
            };
            let Ok(mut changes) = b.lower(pc, k) else {
                return stop;
            };
            if changes.wave_helper.is_some() {
                return stop;
            }
            if begins {
                over.push(pc);
            }
            let next = pc + k.len;
            if let Flow::Indirect { .. } = k.flow
                && !b.jumps_within(pc, &changes)
                && let Some(terminator) = b.indirect(pc, &changes)
            {
                b.take(changes, pc, next, k);
                return Some(terminator);
            }
            let goes_back = |k: &InsnInfo| k.flow.target(next, &k.insn) == Some(start);
            let repeats = begun(over) < rounds && self.insns.get(&next).is_some_and(goes_back);
            b.decide(&mut changes, repeats);
            let (jump, signal) = (changes.jump, changes.signal);
            b.take(changes, pc, next, k);
            // Liveness is taken at the variant's end.
            (b.code.vector_end, b.code.jumped) = (next, false);
            match (jump, signal) {
                (_, Some(Signal::Endpgm)) => return Some(Terminator::End),
                (_, Some(Signal::Barrier)) => return Some(Terminator::Barrier),
                (None, _) => pc = next,
                (Some((when, to)), _) => {
                    let taken = match when {
                        None => Some(1),
                        Some(when) => b.g.value_of(when).or_else(|| b.usual_branch(when)),
                    };
                    pc = match (taken, when) {
                        (Some(v), _) => {
                            if v & 1 != 0 {
                                to
                            } else {
                                next
                            }
                        }
                        (None, Some(when))
                            if begun(over) < rounds
                                && [to, next].contains(&start)
                                && b.assume_branch(when, to == start) =>
                        {
                            start
                        }
                        (None, Some(when)) => {
                            b.code.jumped = true;
                            return Some(Terminator::Branch {
                                when,
                                taken: to,
                                next,
                            });
                        }
                        (None, None) => return None,
                    };
                    b.code.end = pc;
                    b.code.vector_end = pc;
                }
            }
        }
    }

    /// Returns true if the VGPRs that later code takes to be affine are affine after the variant.
    pub(super) fn keeps(&self, trace: &Block, state: &AffineVgprs) -> bool {
        let after = affine::written(trace, state);
        trace.successors().all(|pc| {
            let wanted = self.state.get(&pc);
            let mut wanted = wanted.into_iter().flatten();
            wanted.all(|(v, step)| after.get(v) == Some(step))
        })
    }
}

/// Returns how many rounds of a loop a variant should have. `None` if it is not a loop, or one round is enough.
fn rounds(c: &Block) -> Option<usize> {
    /// The most rounds, and the most instructions of all of them.
    const ROUNDS: u32 = 4;
    const INSNS: u32 = 160;
    let again = c.runs_again_if().is_some();
    let rounds = ROUNDS.min(INSNS / c.insns.max(1));
    (again && rounds > 1 && !c.polls && !walks(c) && leaves_together(c)).then_some(rounds as usize)
}

/// Returns true if a loop ends after a number of rounds that may be the same for all lanes: by a scalar, or by comparisons of scalars, VGPRs that
/// the loop does not change, and those to which it adds.
fn leaves_together(c: &Block) -> bool {
    /// The most values that are looked at.
    const VALUES: u32 = 32;
    let Terminator::Branch { when, .. } = c.terminator else {
        return false;
    };
    let node = |id: Id| &c.graph[id as usize];
    let same = |id: Id| match node(id).op {
        Inst::VIn(v) => c.effects.vgprs.iter().all(|w| w.0 != v),
        _ => !node(id).vec,
    };
    let plus_same = |id: Id, to: Id| {
        let n = node(id);
        let [a, b, _] = n.args;
        n.op == Inst::Alu(Op::Add) && (a == to && same(b) || b == to && same(a))
    };
    let counter = |id: Id| match node(id).op {
        Inst::VIn(v) => {
            let written = c.effects.vgprs.iter().find(|w| w.0 == v);
            written.is_some_and(|w| plus_same(w.1, id))
        }
        _ => false,
    };
    let counts = |id: Id| {
        let sum = |&to: &Id| counter(to) && plus_same(id, to);
        same(id) || counter(id) || node(id).inputs().iter().any(sum)
    };
    let (mut work, mut looked_at) = (vec![when], 0);
    while let Some(id) = work.pop() {
        looked_at += 1;
        let n = node(id);
        let [a, b, _] = n.args;
        let compared = n.vec && n.ty.bits() == 32 && !n.ty.is_float() && n.out == Ty::Bool;
        match n.op {
            _ if looked_at > VALUES => return false,
            Inst::Const(_) | Inst::SIn(_) | Inst::SccIn | Inst::Exec | Inst::Affine { .. } => {}
            Inst::Alu(Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge) if compared => {
                if !counts(a) || !counts(b) || loads_where_loaded(c) {
                    return false;
                }
            }
            Inst::Ballot | Inst::MaskOf | Inst::Lo | Inst::Hi => work.push(a),
            Inst::Alu(_) | Inst::Pair if !n.vec || n.ty == Ty::Bool => work.extend(n.inputs()),
            // A scalar load.
            Inst::Part(_) if !n.vec => {}
            _ => return false,
        }
    }
    true
}

/// Returns true if lanes load at addresses that other loads of the block gave them, as in a sparse matrix, whose rows differ.
fn loads_where_loaded(c: &Block) -> bool {
    let node = |id: Id| &c.graph[id as usize];
    let mut loaded = vec![false; c.graph.len()];
    for (at, n) in c.graph.iter().enumerate() {
        let load = matches!(n.op, Inst::Group { .. } | Inst::AffineLoad { .. });
        loaded[at] = n.vec && (load || n.inputs().iter().any(|&a| loaded[a as usize]));
    }
    let own = |n: &&crate::ir::Node| matches!(n.op, Inst::Group { .. });
    let addresses = c.graph.iter().filter(own).map(|n| n.args[0]);
    addresses
        .into_iter()
        .any(|id| node(id).vec && loaded[id as usize])
}

/// Returns true if lanes may walk over memory that they load, so that it is worth to read it ahead (tiles): an address depends on a VGPR to
/// which the loop adds a small number.
fn walks(c: &Block) -> bool {
    let node = |id: Id| &c.graph[id as usize];
    let small = |id: Id| matches!(node(id).op, Inst::Const(v) if (v as u32 as i32).abs() <= 4);
    let moves = |v: u16, id: Id| {
        let [a, b, _] = node(id).args;
        let own = |id: Id| node(id).op == Inst::VIn(v);
        node(id).op == Inst::Alu(Op::Add) && (own(a) && small(b) || own(b) && small(a))
    };
    let own =
        |n: &&crate::ir::Node| matches!(n.op, Inst::Group { space, .. } if space != Space::Lds);
    let mut work: Vec<Id> = c.graph.iter().filter(own).map(|n| n.args[0]).collect();
    let mut seen = HashSet::new();
    while let Some(id) = work.pop() {
        if let Inst::VIn(v) = node(id).op
            && c.effects.vgprs.iter().any(|w| w.0 == v && moves(v, w.1))
        {
            return true;
        }
        if seen.insert(id) {
            work.extend(node(id).inputs());
        }
    }
    false
}

impl Builder<'_> {
    /// Assumes that a scalar has a truth value. Returns false if that cannot be known before the vectors.
    fn assume_branch(&mut self, when: Id, value: bool) -> bool {
        let n = *self.g.get(when);
        if n.vec || n.out != Ty::Bool {
            return false;
        }
        if !self.is_late(when) {
            return self.assume(when, value);
        }
        // It depends on lanes, which agree.
        let (of, any) = self.any_lane(when);
        self.g.get(of).vec && self.assume(of, value == any)
    }

    /// Assumes that a scalar, or a value of each lane, has a truth value.
    fn assume(&mut self, truth: Id, value: bool) -> bool {
        let guard = match value {
            true => self.g.alu(Op::Not, Ty::Bool, Ty::Bool, [truth, 0, 0]).ok(),
            false => Some(truth),
        };
        self.guards.extend(guard);
        guard.is_some()
    }

    /// Assumes the results of the comparisons in a mask that an instruction writes to EXEC. Also assumes the result of a
    /// comparison for equality that it writes to any mask, since addresses may depend on it, as at the edges of images. If a loop goes on after the
    /// instruction, all lanes are assumed to stay in it.
    fn decide(&mut self, changes: &mut Changes, repeats: bool) {
        for at in 1..changes.sgprs.len() {
            let [(code, lo), (next, hi)] = [changes.sgprs[at - 1], changes.sgprs[at]];
            if code % 2 == 0 && next == code + 1 {
                self.decide_pair(changes, code, [lo, hi], repeats);
            }
        }
    }

    fn decide_pair(&mut self, changes: &mut Changes, code: u8, [lo, hi]: [Id; 2], repeats: bool) {
        if self.g.value_of(lo).is_some() && self.g.value_of(hi).is_some() {
            return;
        }
        let nodes = self.g.nodes.len();
        let mask = self.g.pair(lo, hi);
        let mut decided = Vec::new();
        let equals = |n: &crate::ir::Node| matches!(n.op, Inst::Alu(Op::Eq | Op::Ne));
        let all = match self.g.get(mask).op {
            Inst::Ballot if code as u16 != EXEC => {
                let asked = self.g.get(mask).args[0];
                let equals = equals(self.g.get(asked));
                equals.then(|| self.outcome(asked, &mut decided)).flatten()
            }
            _ if code as u16 != EXEC => None,
            _ => {
                let truth = self.g.mask_of(mask);
                let all = self.outcome(truth, &mut decided);
                if all.is_none() && repeats && self.assume(truth, true) {
                    let ones = self.c32(u32::MAX as u64);
                    let exec = |w: &&mut (u8, Id)| w.0 | 1 == code | 1;
                    changes
                        .sgprs
                        .iter_mut()
                        .filter(exec)
                        .for_each(|w| w.1 = ones);
                    return;
                }
                all
            }
        };
        // The values that were made to inspect the mask are dropped.
        self.g.nodes.truncate(nodes);
        let Some(all) = all else { return };
        let value = self.c32(if all { u32::MAX as u64 } else { 0 });
        for w in &mut changes.sgprs {
            if w.0 | 1 == code | 1 {
                w.1 = value;
            }
        }
        for d in decided {
            if !self.assumed.contains(&d) {
                self.assumed.push(d);
            }
        }
    }

    /// Returns the value of a truth value in all lanes if its comparisons have their usual results.
    fn outcome(&self, id: Id, decided: &mut Vec<AssumedCompare>) -> Option<bool> {
        let n = self.g.get(id);
        let Inst::Alu(op) = n.op else {
            return match n.op {
                Inst::Const(v) => Some(v & 1 != 0),
                _ => None,
            };
        };
        // The upper halves of 64-bit numbers are usually equal.
        if let Some((upper, lower)) = self.halves(id)
            && self.usual(upper).is_none_or(|usual| usual == Some(true))
            && let Some(equal) = self.equal(upper)
        {
            decided.push(equal);
            return self.outcome(lower, decided);
        }
        if n.ty == Ty::Bool {
            let a = self.outcome(n.args[0], decided)?;
            if op == Op::Not {
                return Some(!a);
            }
            let b = self.outcome(n.args[1], decided)?;
            return match op {
                Op::And => Some(a & b),
                Op::Or => Some(a | b),
                Op::Xor | Op::Ne => Some(a ^ b),
                Op::Eq => Some(a == b),
                _ => None,
            };
        }
        let [x, y, _] = n.args;
        // Numbers usually differ, and an index usually is within its bounds.
        let (op, of, out) = match op {
            Op::Eq => (Op::Ne, [x, y], false),
            Op::Ne => (Op::Ne, [x, y], true),
            Op::Lt | Op::Le => (op, [x, y], true),
            Op::Gt => (Op::Lt, [y, x], true),
            Op::Ge => (Op::Le, [y, x], true),
            _ => return None,
        };
        if !n.vec {
            return None;
        }
        self.steps(id)?;
        let Some(usual) = self.usual(id) else {
            decided.push(AssumedCompare { op, ty: n.ty, of });
            return Some(out);
        };
        // The comparison is turned into one that holds in all lanes.
        let (op, of) = match (op, usual? == out) {
            (_, true) => (op, of),
            (Op::Lt, false) => (Op::Le, [of[1], of[0]]),
            (Op::Le, false) => (Op::Lt, [of[1], of[0]]),
            _ => {
                decided.push(self.equal(id)?);
                return usual;
            }
        };
        decided.push(AssumedCompare { op, ty: n.ty, of });
        usual
    }

    /// Returns the value of a branch's condition in all waves, if it depends on numbers alone that are known to be the same in all of them, such
    /// as arguments. The block assumes the result of a comparison of integers, or otherwise the numbers.
    fn usual_branch(&mut self, when: Id) -> Option<u64> {
        let n = self.g.get(when);
        if !self.usual_branches || n.vec {
            return None;
        }
        if n.op == Inst::Alu(Op::Not) && n.ty == Ty::Bool {
            let not = n.args[0];
            return self.usual_branch(not).map(|value| value ^ 1);
        }
        let (of, any) = self.any_lane(when);
        let value = self.usual_value(of)? & 1;
        let assumed = match self.usual_comparison(of, value) {
            Some(one) => vec![one],
            None => self.usual_numbers(of)?,
        };
        let value = value ^ !any as u32;
        for one in assumed {
            if !self.assumed.contains(&one) {
                self.assumed.push(one);
            }
        }
        Some(value as u64)
    }

    /// Splits a test whether a mask has lanes into the truth value of the lanes, and true for "any lane" or false for "no lane". If the truth value is
    /// the same in all lanes, it is the test's result. Other conditions come back with true.
    fn any_lane(&self, when: Id) -> (Id, bool) {
        let n = self.g.get(when);
        let mask = n.inputs().iter().map(|&a| self.g.get(a));
        let mask = mask
            .filter(|n| n.op == Inst::Ballot)
            .map(|n| n.args[0])
            .next();
        let none = n.inputs().iter().any(|&a| self.g.is(a, 0));
        match (n.op, mask) {
            (Inst::Alu(Op::Ne), Some(of)) if none => (of, true),
            (Inst::Alu(Op::Eq), Some(of)) if none => (of, false),
            _ => (when, true),
        }
    }

    /// Returns the assumption that a comparison of integers has a result.
    fn usual_comparison(&self, when: Id, value: u32) -> Option<AssumedCompare> {
        let n = self.g.get(when);
        let Inst::Alu(op) = n.op else { return None };
        let (ty, [x, y, _]) = (n.ty, n.args);
        let late = n.vec || n.inputs().iter().any(|&a| self.is_late(a));
        if ty.bits() != 32 || ty.is_float() || late {
            return None;
        }
        let (op, of) = match (op, value) {
            (Op::Eq, 1) | (Op::Ne, 0) => (Op::Eq, [x, y]),
            (Op::Eq | Op::Ne, _) => (Op::Ne, [x, y]),
            (Op::Lt, 1) | (Op::Ge, 0) => (Op::Lt, [x, y]),
            (Op::Le, 1) | (Op::Gt, 0) => (Op::Le, [x, y]),
            (Op::Gt | Op::Le, _) => (Op::Lt, [y, x]),
            (Op::Ge | Op::Lt, _) => (Op::Le, [y, x]),
            _ => return None,
        };
        Some(AssumedCompare { op, ty, of })
    }

    /// Returns the assumptions that the numbers that a scalar depends on have their usual values.
    fn usual_numbers(&mut self, of: Id) -> Option<Vec<AssumedCompare>> {
        /// The most numbers that are assumed for one condition.
        const MOST: usize = 4;
        let (mut work, mut numbers) = (vec![of], Vec::new());
        while let Some(id) = work.pop() {
            let n = self.g.get(id);
            match n.op {
                Inst::Const(_) => {}
                Inst::Alu(_) | Inst::Pair | Inst::Lo | Inst::Hi => work.extend(n.inputs()),
                Inst::Part(_) | Inst::SIn(_) if n.out.bits() == 32 => {
                    if !numbers.contains(&id) {
                        numbers.push(id);
                    }
                    if numbers.len() > MOST {
                        return None;
                    }
                }
                _ => return None,
            }
        }
        let assume = |id: Id| {
            let value = self.usual_scalar(id)?;
            let (op, ty) = (Op::Eq, Ty::U32);
            let of = [id, self.c32(value as u64)];
            Some(AssumedCompare { op, ty, of })
        };
        numbers.into_iter().map(assume).collect()
    }

    /// Simplifies the minimum or maximum of an affine value and a scalar if all lanes are usually on the same side, as with coordinates
    /// that are clamped to an image. The block assumes that they are.
    pub(super) fn unclamped(
        &mut self,
        op: Op,
        ty: Ty,
        [a, b, _]: [Id; 3],
        assumed: &mut Vec<AssumedCompare>,
    ) -> Option<Id> {
        let is_int = ty.bits() == 32 && !ty.is_float();
        let vec = |id: Id| self.g.get(id).vec;
        let out = self.s.left_out.has(Optional::Clamps);
        if !self.all_active || !matches!(op, Op::Min | Op::Max) || !is_int || out {
            return None;
        }
        let (x, limit) = match (vec(a), vec(b)) {
            (true, false) => (a, b),
            (false, true) => (b, a),
            _ => return None,
        };
        if self.is_late(limit) {
            return None;
        }
        let state = self.affine.and_then(|at| at.get(&self.code.start))?;
        let [step, _] = affine::steps(&self.g.nodes, state, [x, limit])?;
        if step == 0 {
            return None;
        }
        // Numbers are usually not negative, and below other limits.
        let above = match self.usually_above(ty, x, limit) {
            Some(found) => found?,
            None => self.g.is(limit, 0),
        };
        let (op_of, of) = match above {
            true => (Op::Le, [limit, x]),
            false => (Op::Le, [x, limit]),
        };
        let assume = AssumedCompare { op: op_of, ty, of };
        if !assumed.contains(&assume) {
            assumed.push(assume);
        }
        Some(if above == (op == Op::Max) { x } else { limit })
    }

    /// Returns whether a value is above a limit in all lanes of a typical wave: `None` if unknown, `Some(None)` if lanes differ.
    fn usually_above(&self, ty: Ty, x: Id, limit: Id) -> Option<Option<bool>> {
        let [first, last] = [0, 63].map(|lane| {
            let (x, limit) = (self.in_lane(x, lane)?, self.in_lane(limit, lane)?);
            let below = match ty.is_signed() {
                true => (x as i32) <= limit as i32,
                false => x as u32 <= limit as u32,
            };
            Some(!below)
        });
        let (first, last) = (first?, last?);
        Some((first == last).then_some(first))
    }

    /// Returns the steps of the operands of a comparison of 32-bit integers, if both are affine and computed before the vectors.
    fn steps(&self, id: Id) -> Option<[i32; 2]> {
        let n = self.g.get(id);
        let state = self.affine.and_then(|at| at.get(&self.code.start))?;
        if n.ty.bits() != 32 || n.ty.is_float() {
            return None;
        }
        if !n.vec && n.inputs().iter().any(|&id| self.is_late(id)) {
            return None;
        }
        affine::steps(&self.g.nodes, state, [n.args[0], n.args[1]])
    }

    /// Returns the assumption that the operands of a comparison are equal in all lanes.
    fn equal(&self, id: Id) -> Option<AssumedCompare> {
        let [a, b] = self.steps(id)?;
        let [x, y, _] = self.g.get(id).args;
        let (op, ty, of) = (Op::Eq, Ty::U32, [x, y]);
        (a == b).then_some(AssumedCompare { op, ty, of })
    }

    /// Splits a comparison of 64-bit integers: it compares the upper halves, or the lower halves if the upper ones are equal.
    /// Returns the test of the upper halves for equality, and the comparison of the lower halves.
    fn halves(&self, id: Id) -> Option<(Id, Id)> {
        let truth = |id: Id, op: Op| {
            let n = self.g.get(id);
            (n.op == Inst::Alu(op) && n.ty == Ty::Bool).then_some([n.args[0], n.args[1]])
        };
        let integers = |id: Id, ops: &[Op]| {
            let n = self.g.get(id);
            let found = ops.iter().any(|&op| n.op == Inst::Alu(op));
            (found && n.ty.bits() == 32 && !n.ty.is_float()).then_some([n.args[0], n.args[1]])
        };
        let [a, b] = truth(id, Op::Or)?;
        [[a, b], [b, a]].into_iter().find_map(|[less, rest]| {
            let of = integers(less, &[Op::Lt, Op::Gt])?;
            let [a, b] = truth(rest, Op::And)?;
            [[a, b], [b, a]].into_iter().find_map(|[equal, lower]| {
                let [x, y] = integers(equal, &[Op::Eq])?;
                (of == [x, y] || of == [y, x]).then_some((equal, lower))
            })
        })
    }

    /// Returns a comparison's result in all lanes of a typical wave: `None` if unknown, `Some(None)` if lanes differ.
    fn usual(&self, id: Id) -> Option<Option<bool>> {
        let of_lane = |lane: u32| Some(self.in_lane(id, lane)? & 1 != 0);
        let (first, last) = (of_lane(0)?, of_lane(63)?);
        Some((first == last).then_some(first))
    }

    /// Returns a value in a lane of a typical wave.
    fn in_lane(&self, id: Id, lane: u32) -> Option<u64> {
        let wave = self.s.typical.as_ref().filter(|_| self.at_entry)?;
        let lane = typical::InLane {
            graph: &self.g,
            sgpr: &|code| wave.sgprs.get(code as usize).copied(),
            read: wave.read,
            entry: self.s.entry?,
            lane,
        };
        lane.value(id)
    }
}

#[cfg(test)]
mod tests {
    use super::super::joined::tests::region_of;

    const SUMS: &str = "\
v_mov_b32 v3, 0
again:
v_mul_lo_u32 v3, v3, v0
v_xor_b32 v3, v3, v1
s_add_i32 s8, s8, -1
s_cmp_lg_u32 s8, 0
s_cbranch_scc1 again
v_add_u32 v3, v3, v1
s_endpgm
";

    #[test]
    fn blocks_of_loops_have_variants() {
        let region = region_of(SUMS);
        let repeated: Vec<bool> = (region.blocks.iter())
            .map(|c| c.targets().any(|pc| pc == c.start))
            .collect();
        assert!(repeated.contains(&true));
        for (c, repeated) in region.blocks.iter().zip(repeated) {
            let variant = c.all_active.as_deref();
            assert_eq!(variant.is_some() && c.start != 0, repeated, "{c}");
            let lanes = |text: String| text.contains("exec");
            assert!(variant.is_none_or(|v| !lanes(v.to_string())), "{c}");
        }
    }

    /// Returns the instructions of a loop's plain block, of its variant and of the one that assumes less.
    fn rounds(code: &str) -> [u32; 3] {
        let region = region_of(code);
        let mut blocks = region.blocks.iter();
        let c = blocks
            .find(|c| c.runs_again_if().is_some())
            .expect("a loop");
        let of = |v: &Option<Box<crate::ir::region::Block>>| v.as_ref().map_or(0, |v| v.insns);
        [c.insns, of(&c.all_active), of(&c.assuming_less)]
    }

    #[test]
    fn short_loops_have_several_rounds() {
        assert_eq!(rounds(SUMS), [5, 20, 5]);
        // A counter of each lane, and a limit that is the same or not.
        let counted = SUMS
            .replace("s_add_i32 s8, s8, -1", "v_add_u32 v4, 1, v4")
            .replace("s_cmp_lg_u32 s8, 0", "v_cmp_lt_u32 vcc, v4, v5")
            .replace("scc1", "vccnz");
        assert_eq!(rounds(&counted), [5, 20, 5]);
        // Data of lanes that decide when they leave.
        let decides = counted.replace("vcc, v4, v5", "vcc, v3, v5");
        assert_eq!(rounds(&decides)[2], 0);
        // Lanes that walk, and lanes that take larger steps.
        let load = "global_load_dword v6, v[4:5], off\ns_waitcnt vmcnt(0)\nv_add_u32 v3, v6, v3\n";
        for (step, walks) in [("4", true), ("s9", false), ("0x100", false)] {
            let moves = format!(
                "again:\n{load}v_add_co_u32 v4, vcc, {step}, v4\nv_addc_co_u32 v5, vcc, 0, v5, vcc\n"
            );
            let found = rounds(&SUMS.replace("again:\n", &moves));
            assert_eq!(found[2] == 0, walks, "{step}: {found:?}");
        }
        let polls = SUMS.replace(
            "again:\n",
            &format!("again:\n{}", load.replace("off", "off glc")),
        );
        assert_eq!(rounds(&polls)[2], 0);
    }

    /// Lanes store, load from another place, and store again.
    const ALTERNATING: &str = "\
v_lshlrev_b32 v4, 2, v0
global_store_dword v4, v1, s[0:1]
global_load_dword v2, v4, s[2:3]
s_waitcnt vmcnt(0)
v_add_u32 v2, v1, v2
global_store_dword v4, v2, s[0:1] offset:4
s_endpgm
";

    #[test]
    fn loads_come_after_stores_where_addresses_are_evaluated() {
        let insns = |code: &str| {
            let region = region_of(code);
            let c = &region.blocks[0];
            let of = |v: &Option<Box<crate::ir::region::Block>>| v.as_ref().map(|v| v.insns);
            (of(&c.all_active), of(&c.of_grid))
        };
        assert_eq!(insns(ALTERNATING), (Some(2), Some(7)));
        // The usual variant has all of it if the load comes first, and loads that see other waves' stores stay behind them.
        let first = ALTERNATING.replace("global_store_dword v4, v1, s[0:1]\n", "");
        assert_eq!(insns(&first), (Some(6), None));
        let polls = ALTERNATING.replace("s[2:3]", "s[2:3] glc");
        assert_eq!(insns(&polls).1, None);
    }

    #[test]
    fn pointers_in_scalar_registers_are_numbers_of_64_bits() {
        let next = "s_add_u32 s4, s4, 8\ns_addc_u32 s5, s5, 0\n";
        let code = format!(
            "{next}s_load_dword s6, s[4:5], 0x4\n{next}s_load_dword s7, s[4:5], 0x0\ns_waitcnt lgkmcnt(0)\n\
             s_add_u32 s8, s6, s4\ns_addc_u32 s9, s7, s5\nv_mov_b32 v1, s8\nv_mov_b32 v2, s9\nv_mov_b32 v3, s4\ns_endpgm\n"
        );
        let text = region_of(&code).blocks[0].to_string();
        let loads: Vec<&str> = text.lines().filter(|l| l.contains("load.scalar")).collect();
        let address = |line: &&str| line.rsplit_once(", ").map(|l| l.1.to_owned());
        let at: Vec<_> = loads.iter().map(address).collect();
        assert!(at.len() == 2 && at[0] == at[1], "{text}");
        assert!(
            loads[0].contains("+12,") && loads[1].contains("+16,"),
            "{text}"
        );
    }
}
