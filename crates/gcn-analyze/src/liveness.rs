//! Live registers: registers whose value is still read on some path.
//!
//! The analysis is per lane, as a compiler's: a write of a VGPR ends the life of the old value, although inactive lanes keep
//! theirs. Writes of one lane, of one half, and under a condition do not.

use gcn_check::code::Graph;
use gcn_check::registers::RegisterSet;
use gcn_isa::access::{File, RegAccess, may_be_indexed};
use gcn_isa::meaning::Op;
use gcn_isa::operand::EXEC;
use gcn_isa::shape::{Imm, Role};

/// The accuracy of the counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// All reads and writes are in the code.
    Exact,
    /// The code calls, returns or jumps through registers, and the reads there are not known: the counts may be too low.
    Lower,
    /// The numbers of some registers are computed, and every register of the file may be read there: the counts may be too high.
    Upper,
    /// Both: the counts may be too low or too high.
    Estimate,
}

impl Bound {
    /// `exact`, `lower`, `upper` or `estimate`.
    pub const fn name(self) -> &'static str {
        match self {
            Bound::Exact => "exact",
            Bound::Lower => "lower",
            Bound::Upper => "upper",
            Bound::Estimate => "estimate",
        }
    }
}

/// The registers that are live before each instruction.
pub struct Liveness {
    /// By the numbers of instructions in the graph.
    pub before: Vec<RegisterSet>,
    /// The accuracy.
    pub bound: Bound,
}

/// The registers that an instruction reads, and those that it overwrites completely. EXEC is not among them.
pub struct Accesses {
    /// Reads.
    pub reads: RegisterSet,
    /// Writes that replace the whole register.
    pub replaces: RegisterSet,
}

/// The registers that an instruction reads and replaces. `named` are the registers that may be meant by a computed number. With
/// `indexed`, M0 may move the numbers of VGPRs.
pub fn accesses(graph: &Graph<'_>, at: usize, named: &RegisterSet, indexed: bool) -> Accesses {
    let insn = &graph.sites[at].insn;
    let info = graph.info(at);
    let mut found = Accesses {
        reads: RegisterSet::EMPTY,
        replaces: RegisterSet::EMPTY,
    };
    let moved = indexed && may_be_indexed(insn);
    for access in info.accesses(insn) {
        if access.file == File::Hwreg {
            continue;
        }
        let any = access.anywhere || moved && access.file == File::Vector && access.slot.is_some();
        if any && !access.write {
            for register in named.of(access.file) {
                found.reads.insert(access.file, register);
            }
        } else if !access.write {
            found.reads.add(&access);
        } else if !any && info.replaces(insn, &access) {
            found.replaces.add(&access);
        }
    }
    for set in [&mut found.reads, &mut found.replaces] {
        set.remove(File::Scalar, EXEC);
        set.remove(File::Scalar, EXEC + 1);
    }
    found
}

/// All registers that the code names.
fn named(graph: &Graph<'_>) -> RegisterSet {
    let mut named = RegisterSet::EMPTY;
    for at in 0..graph.sites.len() {
        let plain = |a: &RegAccess| !a.anywhere && a.file != File::Hwreg;
        for access in graph.info(at).accesses(&graph.sites[at].insn).filter(plain) {
            named.add(&access);
        }
    }
    named
}

/// Returns true for each instruction before which MODE.GPR_IDX_EN may be set.
pub fn indexed(graph: &Graph<'_>) -> Vec<bool> {
    let sets = |at: usize| {
        let shape = &graph.sites[at].insn.row.shape;
        shape.slot(Role::Imm(Imm::GprIdxSsrc1)).is_some()
    };
    let none = vec![false; graph.sites.len()];
    if !(0..graph.sites.len()).any(sets) {
        return none;
    }
    let clears = |at: usize| {
        use gcn_isa::meaning::{Change, State, meaning};
        let site = &graph.sites[at];
        let program = meaning(site.insn.row, graph.target());
        let off = |effect: &gcn_isa::meaning::Effect| {
            effect.change == Change::Set(State::GprIdxEn)
                && program.nodes[effect.value as usize].op == Op::Const(0)
        };
        site.insn.row.format == gcn_isa::Format::Sopp && program.effects.iter().any(off)
    };
    let step = |at: usize, on: &mut bool| *on = sets(at) || *on && !clears(at);
    let merge = |old: &mut bool, new: &bool| {
        let before = *old;
        *old |= *new;
        *old != before
    };
    let states = graph.forward(false, step, merge);
    states.into_iter().map(|s| s.unwrap_or(false)).collect()
}

/// Computes the live registers.
pub fn liveness(graph: &Graph<'_>) -> Liveness {
    let count = graph.sites.len();
    let (named, indexed) = (named(graph), indexed(graph));
    let own: Vec<Accesses> = (0..count)
        .map(|at| accesses(graph, at, &named, indexed[at]))
        .collect();
    let mut before = vec![RegisterSet::EMPTY; count];
    let mut queued = vec![true; count];
    let mut queue: std::collections::BinaryHeap<usize> = (0..count).collect();
    // The highest address first, because most paths go to higher addresses.
    while let Some(at) = queue.pop() {
        queued[at] = false;
        let mut live = RegisterSet::EMPTY;
        for &next in &graph.sites[at].next {
            live.unite(&before[next]);
        }
        live.subtract(&own[at].replaces);
        live.unite(&own[at].reads);
        if live != before[at] {
            before[at] = live;
            for &previous in &graph.sites[at].previous {
                if !std::mem::replace(&mut queued[previous], true) {
                    queue.push(previous);
                }
            }
        }
    }
    let lower =
        graph.sites.iter().any(|site| site.calls || site.leaves) || !graph.invalid.is_empty();
    let anywhere = |at: usize| {
        let insn = &graph.sites[at].insn;
        let mut all = graph.info(at).accesses(insn);
        indexed[at] && may_be_indexed(insn) || all.any(|a| a.anywhere)
    };
    let upper = (0..count).any(anywhere);
    let bound = match (lower, upper) {
        (false, false) => Bound::Exact,
        (true, false) => Bound::Lower,
        (false, true) => Bound::Upper,
        (true, true) => Bound::Estimate,
    };
    Liveness { before, bound }
}
