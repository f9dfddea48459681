//! Variants of blocks in loops that continue where EXEC changes.
//!
//! A plain block has one EXEC, so an iteration of a loop that some lanes leave, or that contains an `if`, is several blocks, and each
//! loads and stores the registers that it needs. A *joined* variant begins at the same address as a plain block and takes the place of
//! several. EXEC is a value in it, like other masks: while it is narrower than at the block's start, results for VGPRs are selected by
//! the mask. Such instructions access no memory and have no slow paths. `s_cbranch_execz` over few instructions is not a branch:
//! without active lanes the instructions write no VGPRs, and their results for scalars are selected. Skipped instructions are
//! subtracted from the number of executed ones ([`Block::skipped`]).
//!
//! If a variant fails, the plain block runs.

use super::all_active::Tracer;
use super::*;
use std::collections::HashSet;

/// The maximum number of instructions of a joined variant.
const MOST: u32 = 160;

/// The maximum number of instructions that a variant executes although no lane may be active.
const SKIPPED: u32 = 24;

/// The state of EXEC in a block under construction.
#[derive(Default)]
pub(super) struct Joins<'a> {
    /// The block continues where EXEC changes.
    on: bool,
    /// The lanes in which the current instruction has an effect, if not all that are active at the block's start.
    pub narrowed: Option<Id>,
    /// See [`Block::skipped`].
    pub skipped: Vec<(Id, u32)>,
    /// The live registers before instructions.
    live: Option<&'a LiveSets>,
}

/// A branch over instructions that a variant always executes.
struct Pending {
    /// The branch's target and its address.
    to: u64,
    at: u64,
    /// The branch's condition: no lane is active.
    when: Id,
    /// The mask of active lanes.
    exec: Id,
    /// The number of instructions before the branch, and the scalars there.
    insns: u32,
    scalars: Map<u8, Id>,
    scc: Option<Id>,
}

/// Where building a variant ended.
enum Followed {
    /// At the start of a plain block or at a terminator.
    Ended(Terminator),
    /// Within a plain block.
    Within,
    /// The branch at an address must end the variant.
    Refused(u64),
}

/// Truth tables of masks as functions of up to six other masks (the atoms): a bit for each combination of the atoms' bits in a lane.
#[derive(Default)]
struct Tables {
    atoms: Vec<Id>,
}

impl Tables {
    const COLUMNS: [u64; 6] = [
        0xaaaa_aaaa_aaaa_aaaa,
        0xcccc_cccc_cccc_cccc,
        0xf0f0_f0f0_f0f0_f0f0,
        0xff00_ff00_ff00_ff00,
        0xffff_0000_ffff_0000,
        0xffff_ffff_0000_0000,
    ];

    /// Returns a mask's truth table. `zero` is a mask without bits.
    fn of(&mut self, g: &Graph, id: Id, zero: Option<Id>) -> Option<u64> {
        if zero == Some(id) {
            return Some(0);
        }
        let n = g.get(id);
        match n.op {
            Inst::Const(value @ (0 | u64::MAX)) => return Some(value),
            Inst::Alu(op) if !n.vec && n.ty.bits() == 64 => {
                let a = n.args[0];
                let b = n.args[1];
                match op {
                    Op::Not => return Some(!self.of(g, a, zero)?),
                    Op::And => return Some(self.of(g, a, zero)? & self.of(g, b, zero)?),
                    Op::Or => return Some(self.of(g, a, zero)? | self.of(g, b, zero)?),
                    Op::Xor => return Some(self.of(g, a, zero)? ^ self.of(g, b, zero)?),
                    _ => {}
                }
            }
            _ => {}
        }
        let at = self.atoms.iter().position(|&a| a == id);
        let at = at.unwrap_or_else(|| {
            self.atoms.push(id);
            self.atoms.len() - 1
        });
        Tables::COLUMNS.get(at).copied()
    }

    /// Returns the combinations that can occur, given that a ballot has only bits of active lanes.
    fn possible(&self, g: &Graph, exec: u64) -> u64 {
        let ballots = self.atoms.iter().zip(Tables::COLUMNS);
        let ballots = ballots.filter(|a| g.get(*a.0).op == Inst::Ballot);
        ballots.fold(u64::MAX, |all, (_, column)| all & (!column | exec))
    }
}

/// Returns the truth value of which one is the opposite, if it is computed from it.
fn inverted(g: &Graph, id: Id) -> Option<Id> {
    let n = g.get(id);
    (n.op == Inst::Alu(Op::Not) && n.ty == Ty::Bool).then_some(n.args[0])
}

/// Returns true if of two truth values of lanes always exactly one is true.
fn are_opposite(g: &Graph, a: Id, b: Id) -> bool {
    let [of_a, of_b] = [g.get(a), g.get(b)];
    let (Inst::Alu(p), Inst::Alu(q)) = (of_a.op, of_b.op) else {
        return false;
    };
    let pairs = [(Op::Lt, Op::Ge), (Op::Le, Op::Gt), (Op::Eq, Op::Ne)];
    let compared = pairs.contains(&(p, q)) || pairs.contains(&(q, p));
    let same = of_a.ty == of_b.ty && of_a.args[..2] == of_b.args[..2];
    inverted(g, a) == Some(b)
        || inverted(g, b) == Some(a)
        || compared && same && !of_a.ty.is_float()
}

/// Collects the operands of a conjunction of truth values, each once.
fn conjuncts(g: &Graph, id: Id, depth: u32, all: &mut Vec<Id>) {
    let n = g.get(id);
    if depth > 0 && n.vec && n.op == Inst::Alu(Op::And) && n.ty == Ty::Bool {
        conjuncts(g, n.args[0], depth - 1, all);
        conjuncts(g, n.args[1], depth - 1, all);
        return;
    }
    let equal = |a: Id| {
        a == id
            || inverted(g, a).is_some_and(|a| are_opposite(g, a, id))
            || inverted(g, id).is_some_and(|id| are_opposite(g, a, id))
    };
    if !all.iter().any(|&a| equal(a)) {
        all.push(id);
    }
}

impl Joins<'_> {
    /// Returns true if the block continues where EXEC changes.
    pub fn is_on(&self) -> bool {
        self.on
    }
}

impl Builder<'_> {
    /// Returns EXEC as it was at the block's start.
    fn exec_before(&mut self) -> Id {
        if self.all_active {
            return self.g.constant(Ty::B64, u64::MAX);
        }
        let (ty, code) = (Ty::B64, EXEC as u8);
        self.g.node(Inst::SIn(code), ty, ty, false, [0; 3])
    }

    /// Compares a mask with EXEC at the block's start. Returns whether it has no other bits, and whether it has all of EXEC's bits.
    fn compared(&mut self, mask: Id) -> (bool, bool) {
        let exec = self.exec_before();
        let mut tables = Tables::default();
        let both = tables.of(&self.g, exec, None);
        let both = both.and_then(|exec| Some((exec, tables.of(&self.g, mask, None)?)));
        let Some((exec, mask)) = both else {
            return (false, false);
        };
        let possible = tables.possible(&self.g, exec);
        (mask & !exec & possible == 0, exec & !mask & possible == 0)
    }

    /// Accepts a vector instruction where the block has changed EXEC, and sets the lanes in which it has an effect.
    pub(super) fn accept_narrowed(&mut self, k: &InsnInfo) -> Result<(), Refusal> {
        if !self.joins.on {
            return Err(Refusal::NewBlock);
        }
        let mask = self.sgpr_pair(EXEC);
        match self.compared(mask) {
            (true, true) if !self.all_active => {
                for code in [EXEC as u8, EXEC as u8 + 1] {
                    let before = (self.g).node(Inst::SIn(code), Ty::B32, Ty::B32, false, [0; 3]);
                    self.regs.sgprs.insert(code, before);
                }
                return Ok(());
            }
            (true, _) => {}
            (false, _) => return Err(Refusal::NewBlock),
        }
        if k.touches_inactive || instruction_info(&k.insn).memory(&k.insn).is_some() {
            return Err(Refusal::NewBlock);
        }
        let truth = self.g.mask_of(mask);
        self.joins.narrowed = Some(self.where_active(truth, 8)?);
        Ok(())
    }

    /// Simplifies a truth value to one that is equal in the lanes that are active at the block's start.
    fn where_active(&mut self, id: Id, depth: u32) -> Result<Id, Refusal> {
        let n = *self.g.get(id);
        let of_exec = |g: &Graph| {
            let mask = g.get(n.args[0]);
            mask.op == Inst::SIn(EXEC as u8) && mask.out.bits() == 64
        };
        match n.op {
            Inst::Exec => Ok(self.g.constant(Ty::Bool, 1)),
            Inst::MaskOf if of_exec(&self.g) => Ok(self.g.constant(Ty::Bool, 1)),
            Inst::Alu(op @ (Op::And | Op::Or | Op::Xor | Op::Not))
                if n.vec && n.ty == Ty::Bool && depth > 0 =>
            {
                let mut a = self.where_active(n.args[0], depth - 1)?;
                if op == Op::Not {
                    return Ok(self.g.alu(op, Ty::Bool, Ty::Bool, [a, 0, 0])?);
                }
                let mut b = self.where_active(n.args[1], depth - 1)?;
                if op == Op::Or {
                    b = self.without_opposite(b, a)?;
                    a = self.without_opposite(a, b)?;
                }
                if op == Op::And {
                    let mut all = Vec::new();
                    conjuncts(&self.g, a, 8, &mut all);
                    conjuncts(&self.g, b, 8, &mut all);
                    return self.conjunction(&all);
                }
                let one = |g: &Graph, id| g.is(id, 1);
                let (op, args) = match op {
                    Op::Xor if one(&self.g, a) => (Op::Not, [b, 0, 0]),
                    Op::Xor if one(&self.g, b) => (Op::Not, [a, 0, 0]),
                    _ => (op, [a, b, 0]),
                };
                Ok(self.g.alu(op, Ty::Bool, Ty::Bool, args)?)
            }
            _ => Ok(id),
        }
    }

    /// Simplifies a truth value in a disjunction with another one: where the other one is false, its opposite is true.
    fn without_opposite(&mut self, id: Id, other: Id) -> Result<Id, Refusal> {
        let mut all = Vec::new();
        conjuncts(&self.g, id, 8, &mut all);
        let before = all.len();
        all.retain(|&c| !are_opposite(&self.g, c, other));
        match all.len() < before {
            true => self.conjunction(&all),
            false => Ok(id),
        }
    }

    /// Returns the conjunction of truth values of lanes.
    fn conjunction(&mut self, all: &[Id]) -> Result<Id, Refusal> {
        let mut result = self.g.constant(Ty::Bool, 1);
        for &c in all {
            result = match [result, c].map(|id| self.g.is(id, 1)) {
                [true, _] => c,
                [_, true] => result,
                _ => (self.g).alu(Op::And, Ty::Bool, Ty::Bool, [result, c, 0])?,
            };
        }
        Ok(result)
    }

    /// Makes an instruction's results keep the old values in lanes in which it has no effect. `first` is the number of its first value.
    pub(super) fn select_narrowed(
        &mut self,
        out: &mut Changes,
        first: usize,
        next: u64,
    ) -> Result<(), Refusal> {
        let Some(mask) = self.joins.narrowed else {
            return Ok(());
        };
        let slow = |n: &crate::ir::Node| matches!(n.op, Inst::FastPath(_));
        let elsewhere = out.store.is_some() || !out.rows.is_empty() || out.wave_helper.is_some();
        let elsewhere = elsewhere || !out.indexed.is_empty();
        if self.g.nodes[first..].iter().any(slow) || elsewhere || !out.lane_inserts.is_empty() {
            return Err(Refusal::NewBlock);
        }
        let live = self.joins.live.and_then(|live| live.get(next));
        for k in 0..out.vgprs.len() {
            let (n, value) = out.vgprs[k];
            // No later code reads the lanes that are inactive now.
            if live.is_some_and(|live| live.vgpr(n) <= LiveLanes::Active) {
                continue;
            }
            let old = self.vgpr(n);
            let args = [mask, value, old];
            out.vgprs[k].1 = self.g.alu(Op::Select, Ty::B32, Ty::B32, args)?;
        }
        Ok(())
    }

    /// Ends the instructions that a branch may have skipped: their results for scalars are selected by the branch's condition. Returns
    /// false if that is not possible.
    fn join(&mut self, p: &Pending, live: Option<Live<'_>>) -> bool {
        let skipped = self.code.insns - p.insns;
        if skipped > SKIPPED {
            return false;
        }
        let mut changed = Vec::new();
        for (&code, &id) in &self.regs.sgprs {
            let had = p.scalars.get(&code).copied();
            let read = self.g.get(id).op == Inst::SIn(code) && had.is_none();
            if had != Some(id) && !read {
                changed.push((code, had, id));
            }
        }
        changed.sort_by_key(|c| c.0);
        for (code, had, id) in changed {
            let pair = code & !1;
            if pair as u16 == EXEC {
                // Without active lanes before, there must be none afterwards.
                let mask = self.sgpr_pair(EXEC);
                if Tables::default().of(&self.g, mask, Some(p.exec)) != Some(0) {
                    return false;
                }
                continue;
            }
            if live.is_some_and(|live| live.s >> code & 1 == 0) {
                continue;
            }
            let before = |b: &mut Self, code: u8| match p.scalars.get(&code) {
                Some(&id) => id,
                None => (b.g).node(Inst::SIn(code), Ty::B32, Ty::B32, false, [0; 3]),
            };
            // A mask that does not change when no lane is active needs no selection.
            let halves = [before(self, pair), before(self, pair + 1)];
            let old = self.g.pair(halves[0], halves[1]);
            let new = self.sgpr_pair(pair as u16);
            let mut tables = Tables::default();
            let old = tables.of(&self.g, old, Some(p.exec));
            let new = tables.of(&self.g, new, Some(p.exec));
            if old.is_some() && old == new {
                continue;
            }
            let had = match had {
                Some(id) => id,
                None => before(self, code),
            };
            let args = [p.when, had, id];
            match self.g.alu(Op::Select, Ty::B32, Ty::B32, args) {
                Ok(id) => self.regs.sgprs.insert(code, id),
                Err(_) => return false,
            };
        }
        if self.regs.scc != p.scc && live.is_none_or(|live| live.scc) {
            return false;
        }
        self.joins.skipped.push((p.when, skipped));
        true
    }
}

/// Returns true if a joined variant does not continue after a block: the block is long, or its branch is not one forward that is taken if a mask is
/// zero.
fn ends_joining(c: &Block) -> bool {
    if c.insns >= MOST {
        return true;
    }
    let Terminator::Branch { when, taken, .. } = c.terminator else {
        return false;
    };
    taken <= c.start || tested_for_zero(&c.graph, when).is_none()
}

/// Returns the mask of which a truth value says that it has no bits.
fn tested_for_zero(graph: &[crate::ir::Node], id: Id) -> Option<Id> {
    let compared = |id: Id, op: Op| {
        let n = &graph[id as usize];
        let with_zero = || matches!(graph[n.args[1] as usize].op, Inst::Const(0));
        (n.op == Inst::Alu(op) && with_zero()).then_some(n.args[0])
    };
    let n = &graph[id as usize];
    match n.op {
        Inst::Alu(Op::Not) if n.ty == Ty::Bool => compared(n.args[0], Op::Ne),
        _ => compared(id, Op::Eq),
    }
}

impl<'a> Tracer<'a> {
    /// Adds joined variants to blocks in loops.
    pub(super) fn add_joined(&self, blocks: &mut [Block]) {
        let mut loops: Vec<(u64, u64)> = Vec::new();
        for c in blocks.iter() {
            let to = match c.terminator {
                Terminator::Jump(pc) => pc,
                Terminator::Branch { taken, next, .. } => taken.min(next),
                _ => continue,
            };
            if to <= c.start {
                loops.push((to, c.start));
            }
        }
        let starts: HashSet<u64> = blocks.iter().map(|c| c.start).collect();
        let entered = all_active::Entered::of(blocks);
        let within = |pc: u64| loops.iter().any(|l| (l.0..=l.1).contains(&pc));
        let mut found: Vec<(usize, Block, Vec<u64>)> = Vec::new();
        let mut inside: HashSet<u64> = HashSet::new();
        for (n, c) in blocks.iter().enumerate() {
            let none = matches!(
                c.terminator,
                Terminator::Interpret { .. } | Terminator::Leave | Terminator::Barrier
            );
            if none || inside.contains(&c.start) || ends_joining(c) || !within(c.start) {
                continue;
            }
            // A variant does not continue into loops that do not contain its start. A loop may be entered at any of its blocks.
            let stops = |pc: u64| {
                let enters = |l: &&(u64, u64)| (l.0..=l.1).contains(&pc);
                let contained = |head: u64| {
                    let mut of = loops.iter().filter(|l| l.0 == head);
                    of.any(|l| (l.0..=l.1).contains(&c.start))
                };
                let mut of = loops.iter().filter(enters);
                of.any(|l| !contained(l.0)) || entered.ends(c.start, pc)
            };
            if matches!(c.terminator, Terminator::Jump(pc) if pc == c.start || stops(pc)) {
                continue;
            }
            if let Some((block, over)) = self.longest_joined(c.start, &starts, &stops)
                && over.len() > 1
            {
                inside.extend(&over[1..]);
                found.push((n, block, over));
            }
        }
        found.sort_by_key(|f| std::cmp::Reverse(f.2.len()));
        let mut passed: HashSet<u64> = HashSet::new();
        for (n, mut block, over) in found {
            let start = blocks[n].start;
            let state = self.state.get(&start).cloned().unwrap_or_default();
            if passed.contains(&start) || !self.keeps(&block, &state) {
                continue;
            }
            if !affine::extract_affine(&mut block, state) {
                continue;
            }
            passed.extend(&over);
            block.replaces = over;
            blocks[n].joined = Some(Box::new(block));
        }
    }

    fn longest_joined(
        &self,
        start: u64,
        starts: &HashSet<u64>,
        stops: &dyn Fn(u64) -> bool,
    ) -> Option<(Block, Vec<u64>)> {
        let mut most = usize::MAX;
        let mut refused = HashSet::new();
        loop {
            let mut b = Builder {
                affine: Some(self.state),
                usual: self.usual,
                joins: Joins {
                    on: true,
                    live: Some(self.live),
                    ..Joins::default()
                },
                written: self.written,
                calls: Some(self.calls),
                ..Builder::new(self.s)
            };
            let mut over = Vec::new();
            let limits = (most, &refused);
            match self.follow_joined(&mut b, start, limits, starts, stops, &mut over) {
                _ if over.len() < 2 => return None,
                Followed::Within => most = over.len() - 1,
                Followed::Refused(at) => {
                    refused.insert(at);
                }
                Followed::Ended(terminator) => {
                    let mask = b.sgpr_pair(EXEC);
                    let within = b.compared(mask).0;
                    let mut made = Vec::new();
                    b.finish(terminator, self.live, &mut made);
                    let mut block = made.pop().filter(|_| b.failed_spans.is_empty())?;
                    for w in block.effects.vgprs.iter_mut().filter(|_| !within) {
                        // Lanes may be active that were inactive at the start.
                        w.2 = w.2.max(LiveLanes::All);
                    }
                    return Some((block, over));
                }
            }
        }
    }

    /// Adds instructions in the order in which they run, over at most `most` plain blocks, and not over the refused branches.
    fn follow_joined(
        &self,
        b: &mut Builder<'a>,
        start: u64,
        (most, refused): (usize, &HashSet<u64>),
        starts: &HashSet<u64>,
        stops: &dyn Fn(u64) -> bool,
        over: &mut Vec<u64>,
    ) -> Followed {
        (b.code.start, b.code.end) = (start, start);
        let mut pending: Option<Pending> = None;
        let mut pc = start;
        loop {
            if let Some(p) = pending.take_if(|p| p.to == pc)
                && !b.join(&p, self.live.get(pc))
            {
                return Followed::Refused(p.at);
            }
            let begins = starts.contains(&pc);
            let stop = match (&pending, begins) {
                (Some(p), _) => Followed::Refused(p.at),
                (None, true) => Followed::Ended(Terminator::Jump(pc)),
                (None, false) => Followed::Within,
            };
            if begins {
                let again = over.contains(&pc);
                if again || !over.is_empty() && stops(pc) || over.len() >= most {
                    return stop;
                }
            }
            let Some(k) = self.insns.get(&pc).filter(|_| b.code.insns < MOST) else {
                return stop;
            };
            let Ok(changes) = b.lower(pc, k) else {
                return stop;
            };
            if matches!(k.flow, Flow::Indirect { .. })
                && !b.jumps_within(pc, &changes)
                && b.indirect(pc, &changes).is_some()
            {
                return stop;
            }
            let effects = changes.store.is_some() || !changes.rows.is_empty();
            let effects = effects || !changes.indexed.is_empty();
            let effects = effects || changes.signal.is_some() || !changes.lane_inserts.is_empty();
            if changes.wave_helper.is_some() || effects && pending.is_some() {
                return stop;
            }
            if begins {
                over.push(pc);
            }
            let next = pc + k.len;
            let (jump, signal) = (changes.jump, changes.signal);
            b.take(changes, pc, next, k);
            (b.code.vector_end, b.code.jumped) = (next, false);
            match (jump, signal) {
                (_, Some(Signal::Endpgm)) => return Followed::Ended(Terminator::End),
                (_, Some(Signal::Barrier)) => return Followed::Ended(Terminator::Barrier),
                (None, _) => pc = next,
                (Some((when, to)), _) => {
                    let taken = when.map_or(Some(1), |when| b.g.value_of(when));
                    pc = match (taken, when) {
                        (Some(v), _) if v & 1 != 0 => to,
                        (Some(_), _) | (None, None) => next,
                        (None, Some(when)) => {
                            if let Some(p) = pending {
                                return Followed::Refused(p.at);
                            }
                            let exec = b.sgpr_pair(EXEC);
                            let none = tested_for_zero(&b.g.nodes, when) == Some(exec);
                            if !none || to <= pc || refused.contains(&pc) {
                                b.code.jumped = true;
                                let taken = to;
                                return Followed::Ended(Terminator::Branch { when, taken, next });
                            }
                            pending = Some(Pending {
                                to,
                                at: pc,
                                when,
                                exec,
                                insns: b.code.insns,
                                scalars: b.regs.sgprs.clone(),
                                scc: b.regs.scc,
                            });
                            next
                        }
                    };
                    b.code.end = pc;
                    b.code.vector_end = pc;
                }
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use gcn_isa::Target;
    use gcn_isa::decode::decode;

    /// A step of Collatz's sequence: both sides of an `if`, and a loop that lanes leave.
    const CODE: &str = "\
s_mov_b64 s[4:5], 0
above:
v_and_b32 v2, 1, v1
v_cmp_eq_u32 vcc, 1, v2
s_and_saveexec_b64 s[6:7], vcc
s_xor_b64 s[6:7], exec, s[6:7]
v_mul_lo_u32 v1, v1, 3
v_add_u32 v1, 1, v1
s_or_saveexec_b64 s[6:7], s[6:7]
s_xor_b64 exec, exec, s[6:7]
s_cbranch_execz join
v_lshrrev_b32 v1, 1, v1
join:
s_or_b64 exec, exec, s[6:7]
s_add_u32 s8, s8, 1
v_cmp_eq_u32 vcc, 1, v1
s_or_b64 s[4:5], vcc, s[4:5]
s_andn2_b64 exec, exec, s[4:5]
s_cbranch_execnz above
s_mov_b64 exec, -1
global_store_dword v3, v1, s[0:1]
s_endpgm
";

    /// Builds the region of code for waves that start, with the lanes' numbers in v0.
    pub(in crate::frontend) fn region_of(code: &str) -> Region {
        let target = Target::parse("gfx900").expect("a target");
        let text = gcn_asm::assemble_snippet(target, code, false).expect("it assembles");
        let fetch = |pc: u64| decode(target, text.get(pc as usize..)?);
        let request = CompileRequest {
            entry: Some(EntryVgprs([
                Pattern::Consecutive,
                Pattern::Any,
                Pattern::Any,
            ])),
            affine: true,
            ..CompileRequest::plain(target, 0x2c0, &fetch)
        };
        region(0, &request)
    }

    /// Returns the joined variants of code: the number of plain blocks that each replaces, and its text.
    fn joined(code: &str) -> Vec<(usize, String)> {
        let region = region_of(code);
        let variants = region.blocks.iter().filter_map(|b| b.joined.as_ref());
        variants
            .map(|b| (b.replaces.len(), b.to_string()))
            .collect()
    }

    #[test]
    fn an_iteration_is_one_block() {
        let found = joined(CODE);
        let [(count, text)] = &found[..] else {
            panic!("{found:?}");
        };
        assert!(*count >= 4, "{count}\n{text}");
        assert!(text.contains("  skipped 1 if %"), "{text}");
        // Both sides write v1 in their lanes.
        let lanes = text
            .lines()
            .filter(|l| l.contains("select.b32") && l.contains("lanes"));
        assert_eq!(lanes.count(), 3, "{text}");
        // The branch back tests the mask of the lanes that continue.
        assert!(text.contains("branch %"), "{text}");
    }

    #[test]
    fn scalars_of_a_side_count_where_it_ran() {
        let code = CODE.replace(
            "v_lshrrev_b32 v1, 1, v1",
            "v_lshrrev_b32 v1, 1, v1\ns_mov_b32 s8, 7",
        );
        let found = joined(&code);
        let [(_, text)] = &found[..] else {
            panic!("{found:?}");
        };
        assert!(text.contains("  skipped 2 if %"), "{text}");
        // s8 keeps its value if no lane was active.
        let selects = text
            .lines()
            .filter(|l| l.contains("select.b32") && !l.contains("lanes"));
        assert_eq!(selects.count(), 1, "{text}");
    }

    #[test]
    fn memory_on_a_side_is_a_block_of_its_own() {
        let code = CODE.replace(
            "v_lshrrev_b32 v1, 1, v1",
            "global_store_dword v3, v1, s[0:1]",
        );
        let longest = joined(&code).iter().map(|f| f.0).max();
        assert!(
            longest < joined(CODE).iter().map(|f| f.0).max(),
            "{longest:?}"
        );
    }

    /// A loop that is entered behind its first instructions, which depend on how the iteration before ended, and counts smaller or equal numbers.
    const ENTERED: &str = "\
v_mov_b32 v5, 0
s_mov_b32 s8, 0
s_branch enter
back:
s_or_b64 exec, exec, s[6:7]
v_add_u32 v5, 4, v5
s_add_u32 s8, s8, 1
s_cmp_eq_u32 s8, s9
s_cbranch_scc1 done
enter:
v_cmp_lt_u32_e64 s[2:3], v5, v1
v_cmp_ge_u32 vcc, v5, v1
s_and_saveexec_b64 s[4:5], vcc
v_cmp_eq_u32 vcc, v5, v2
v_cmp_lt_u32_e64 s[10:11], s8, v3
s_and_b64 s[10:11], vcc, s[10:11]
s_andn2_b64 s[2:3], s[2:3], exec
s_and_b64 s[10:11], s[10:11], exec
s_or_b64 s[2:3], s[2:3], s[10:11]
s_or_b64 exec, exec, s[4:5]
s_and_saveexec_b64 s[4:5], s[2:3]
v_add_u32 v4, 1, v4
s_or_b64 exec, exec, s[4:5]
v_xor_b32 v6, v4, v6
s_and_saveexec_b64 s[6:7], s[2:3]
s_cbranch_execz back
v_add_u32 v6, 1, v6
s_branch back
done:
v_add_u32 v0, v4, v6
s_endpgm
";

    #[test]
    fn a_variant_does_not_begin_before_the_loop_and_go_on_within_it() {
        let (count, text) = &joined(ENTERED)[0];
        assert!(*count >= 4, "{count}\n{text}");
        // The variant begins where the loop is entered, and so it is all of an iteration but the first instructions.
        assert!(text.contains("= vgpr v5"), "{text}");
    }

    #[test]
    fn conditions_of_masks_are_simplified() {
        let (_, text) = &joined(ENTERED)[0];
        // v5 < v1, or v5 == v2 and s8 < v3.
        let line = text.lines().find(|l| l.contains("select.b32"));
        let condition = line.and_then(|l| l.split("select.b32 ").nth(1)?.split(',').next());
        let defined = |id: &str| {
            let head = format!("  {id} = ");
            let line = text.lines().find(|l| l.starts_with(&head));
            line.map_or("", |l| &l[head.len()..])
                .replace([',', ':'], "")
        };
        let parts = |id: &str| -> Vec<String> {
            let text = defined(id);
            text.split(' ').map(str::to_owned).collect()
        };
        let or = parts(condition.expect("a selection"));
        assert_eq!(or[0], "or.bool", "{text}");
        let (less, and) = (parts(&or[1]), parts(&or[2]));
        assert_eq!([&less[0], &and[0]], ["lt.u32", "and.bool"], "{text}");
        let both = [&parts(&and[1])[0], &parts(&and[2])[0]]
            .map(String::as_str)
            .concat();
        assert_eq!(both, "eq.b32lt.u32", "{text}");
    }
}
