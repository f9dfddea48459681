//! Proofs about registers on all paths: every register that an instruction reads was written, and all work-items of a wave are active
//! at barriers.
//!
//! A VGPR is written in the active lanes only, so it is defined *in a mask*: EXEC, or a mask of lanes that a pair of SGPRs keeps for later. For
//! each mask, the state has the VGPRs that are defined in all of its lanes. The state of new masks follows from the meanings of the
//! instructions that compute them: the VGPRs of `a & b` are those of either, of `a | b` those of both. The two sides of a branch, which save
//! and restore EXEC, therefore need no special rule.
//!
//! Undefined values may be copied and computed with: an instruction that only writes VGPRs, lane by lane, makes an undefined result
//! of undefined operands. A value must be defined if it is an address, data, a mask or a scalar.
//!
//! Masks are written lane by lane, too: `x | exec` has the lanes of EXEC whatever x is, and `x & exec` depends on x only in these lanes. A
//! mask may therefore be defined in some lanes, as a VGPR may. Code that uses the whole mask needs all lanes to be defined.
//!
//! The state also tracks which masks have all of the wave's lanes. A loop takes lanes out of EXEC one after the other and collects them in
//! a pair of SGPRs; the loop invariant is that the two together have all lanes. The state therefore also tracks which two masks together
//! have all lanes.

use gcn_isa::access::{File, RegAccess};
use gcn_isa::decode::Insn;
use gcn_isa::flow::{Condition, Flow};
use gcn_isa::format::{Field, Format};
use gcn_isa::meaning::{Change, Op, Program, Signal, State, meaning};
use gcn_isa::op::Kind;
use gcn_isa::operand::{EXEC, INT0, M0, VCC, Value};
use gcn_isa::shape::{Role, Ty};
use gcn_object::descriptor::KernelDescriptor;

use crate::code::Graph;
use crate::registers::RegisterSet;
use crate::uninit;

/// The maximum number of instructions of code that is analyzed.
const MOST: usize = 1 << 14;

/// The pairs of scalar registers, by half of their code. EXEC is the last one.
const PAIRS: usize = 64;
const EXEC_PAIR: usize = EXEC as usize / 2;
const VCC_PAIR: usize = VCC as usize / 2;

/// A set of VGPRs, and in the last word of pairs of scalar registers (masks): a bit each.
type Vgprs = [u64; 5];

/// The number of a pair's bit in [`Vgprs`].
fn mask_number(pair: usize) -> u16 {
    (256 + pair) as u16
}

fn both(a: Vgprs, b: Vgprs) -> Vgprs {
    std::array::from_fn(|n| a[n] & b[n])
}

fn either(a: Vgprs, b: Vgprs) -> Vgprs {
    std::array::from_fn(|n| a[n] | b[n])
}

fn has(set: &Vgprs, register: u16) -> bool {
    let word = set.get(register as usize / 64);
    word.is_some_and(|word| word >> (register % 64) & 1 != 0)
}

/// Facts that hold before an instruction, on all paths to it.
#[derive(Clone, PartialEq, Eq)]
struct Proven {
    scalars: RegisterSet,
    /// The VGPRs and masks that are defined in all 64 lanes.
    everywhere: Vgprs,
    /// For each pair: the VGPRs and masks that are defined in all lanes of the pair's mask.
    defined: [Vgprs; PAIRS],
    /// The pairs whose masks have no lanes other than the wave's.
    within: u64,
    /// For each pair: the pairs that together with it have all of the wave's lanes. It contains itself if it alone has all lanes.
    complete: [u64; PAIRS],
    /// EXEC is not 0.
    active: bool,
}

/// Facts about a mask that an instruction computes.
#[derive(Clone, Copy)]
struct Mask {
    defined: Vgprs,
    within: bool,
    /// The mask alone has all lanes.
    all: bool,
    /// The pairs that together with the mask have all lanes.
    complete: u64,
    /// The pair that holds the same mask.
    pair: Option<usize>,
    /// The mask is not 0.
    some: bool,
}

/// The lanes in which a mask is defined.
#[derive(Clone, Copy)]
struct Lanes {
    all: bool,
    /// The mask is defined in the lanes of these pairs.
    within: u64,
}

impl Lanes {
    const ALL: Lanes = Lanes {
        all: true,
        within: !0,
    };
    const NONE: Lanes = Lanes {
        all: false,
        within: 0,
    };

    fn both(self, other: Lanes) -> Lanes {
        Lanes {
            all: self.all && other.all,
            within: self.within & other.within,
        }
    }

    /// Adds the lanes of a pair.
    fn and_within(self, pair: usize) -> Lanes {
        Lanes {
            within: self.within | 1 << pair,
            ..self
        }
    }
}

impl Proven {
    fn new(descriptor: &KernelDescriptor) -> Proven {
        let scalars = uninit::initial(descriptor);
        let mut everywhere = [0; 5];
        for register in scalars.of(File::Vector) {
            everywhere[register as usize / 64] |= 1 << (register % 64);
        }
        let mut known = Proven {
            scalars,
            everywhere,
            defined: [everywhere; PAIRS],
            within: 1 << EXEC_PAIR,
            complete: [1 << EXEC_PAIR; PAIRS],
            active: true,
        };
        known.complete[EXEC_PAIR] = !0;
        for pair in 0..PAIRS {
            known.written_whole(pair);
        }
        known
    }

    /// Keeps the facts that hold in both states. Returns true if facts were lost.
    fn merge(&mut self, other: &Proven) -> bool {
        let before = self.clone();
        self.scalars.intersect(&other.scalars);
        self.everywhere = both(self.everywhere, other.everywhere);
        for (a, b) in self.defined.iter_mut().zip(&other.defined) {
            *a = both(*a, *b);
        }
        self.within &= other.within;
        for (a, b) in self.complete.iter_mut().zip(other.complete) {
            *a &= b;
        }
        self.active &= other.active;
        *self != before
    }

    /// Returns true if both registers of a pair are defined.
    fn is_whole(&self, pair: usize) -> bool {
        let halves = [2 * pair as u16, 2 * pair as u16 + 1];
        halves
            .iter()
            .all(|&n| self.scalars.contains(File::Scalar, n))
    }

    /// Records the lanes in which a pair is defined after whole registers of it were written.
    fn written_whole(&mut self, pair: usize) {
        let within = match self.is_whole(pair) {
            true => Lanes::ALL,
            false => Lanes::NONE,
        };
        self.defined_in(pair, within);
    }

    /// Records the lanes in which a pair is defined.
    fn defined_in(&mut self, pair: usize, lanes: Lanes) {
        let bit = 1u64 << pair;
        let put = |word: &mut u64, on: bool| *word = *word & !bit | if on { bit } else { 0 };
        put(&mut self.everywhere[4], lanes.all);
        for (n, of) in self.defined.iter_mut().enumerate() {
            put(&mut of[4], lanes.all || lanes.within >> n & 1 != 0);
        }
    }

    /// Records that some active lane of a VGPR has an undefined value.
    fn undefined_vgpr(&mut self, register: u16) {
        for set in self.defined.iter_mut().chain([&mut self.everywhere]) {
            set[register as usize / 64] &= !(1 << (register % 64));
        }
    }

    /// The registers of a pair are not defined as a whole.
    fn undefined_pair(&mut self, pair: usize) {
        for register in [2 * pair as u16, 2 * pair as u16 + 1] {
            self.scalars.remove(File::Scalar, register);
        }
    }

    fn lanes_of(&self, pair: usize) -> Lanes {
        if self.is_whole(pair) {
            return Lanes::ALL;
        }
        let number = mask_number(pair);
        let within = (0..PAIRS).filter(|&n| has(&self.defined[n], number));
        Lanes {
            all: false,
            within: within.fold(0, |all, n| all | 1 << n),
        }
    }

    fn is_complete(&self, pair: usize) -> bool {
        self.complete[pair] >> pair & 1 != 0
    }

    /// Returns the pairs that alone have all lanes.
    fn complete_alone(&self) -> u64 {
        (0..PAIRS).fold(0, |all, n| all | (self.is_complete(n) as u64) << n)
    }

    /// Returns a mask about which nothing is known.
    fn any(&self) -> Mask {
        Mask {
            defined: self.everywhere,
            within: false,
            all: false,
            complete: self.complete_alone(),
            pair: None,
            some: false,
        }
    }

    fn none(&self) -> Mask {
        Mask {
            defined: [!0; 5],
            within: true,
            ..self.any()
        }
    }

    fn of_pair(&self, pair: usize) -> Mask {
        Mask {
            defined: self.defined[pair],
            within: self.within >> pair & 1 != 0,
            all: self.is_complete(pair),
            complete: self.complete[pair],
            pair: Some(pair),
            some: self.is_complete(pair) || pair == EXEC_PAIR && self.active,
        }
    }

    /// Returns true if two masks together have all lanes.
    fn together(&self, a: &Mask, b: &Mask) -> bool {
        let with = |a: &Mask, b: &Mask| a.pair.is_some_and(|pair| b.complete >> pair & 1 != 0);
        a.all || b.all || with(a, b) || with(b, a)
    }

    fn combine(&self, op: Op, a: Mask, b: Mask) -> Mask {
        let all = self.together(&a, &b);
        let bit = |pair: Option<usize>| pair.map_or(0, |pair| 1u64 << pair);
        let made = match op {
            Op::And => Mask {
                defined: either(a.defined, b.defined),
                within: a.within || b.within,
                all: a.all && b.all,
                complete: a.complete & b.complete,
                ..self.any()
            },
            Op::Or => Mask {
                defined: both(a.defined, b.defined),
                within: a.within && b.within,
                all,
                complete: a.complete | b.complete,
                some: a.some || b.some,
                ..self.any()
            },
            // XOR has the lanes of exactly one operand; united with either operand it is the union of both.
            Op::Xor => Mask {
                defined: both(a.defined, b.defined),
                within: a.within && b.within,
                complete: self.complete_alone() | if all { bit(a.pair) | bit(b.pair) } else { 0 },
                ..self.any()
            },
            _ => self.any(),
        };
        match made.all {
            true => Mask {
                complete: !0,
                some: true,
                ..made
            },
            false => made,
        }
    }

    fn complement(&self, a: Mask) -> Mask {
        Mask {
            complete: self.complete_alone() | a.pair.map_or(0, |pair| 1 << pair),
            ..self.any()
        }
    }

    /// Gives pairs their new masks, all at once.
    fn set(&mut self, new: &[(usize, Mask)]) {
        let old = self.clone();
        for &(pair, mask) in new {
            self.defined[pair] = mask.defined;
            self.within = self.within & !(1 << pair) | (mask.within as u64) << pair;
            if pair == EXEC_PAIR {
                self.active = mask.some || mask.all;
            }
            for other in 0..PAIRS {
                let with = match new.iter().find(|n| n.0 == other) {
                    Some((_, theirs)) if other == pair => theirs.all,
                    Some((_, theirs)) => old.together(&mask, theirs),
                    None => mask.all || mask.complete >> other & 1 != 0,
                };
                self.complete[pair] = self.complete[pair] & !(1 << other) | (with as u64) << other;
                self.complete[other] = self.complete[other] & !(1 << pair) | (with as u64) << pair;
            }
        }
    }

    /// Records that a pair is 0.
    fn is_none(&mut self, pair: usize) {
        self.defined[pair] = [!0; 5];
        self.within |= 1 << pair;
        // Pairs that were complete together with it are complete alone.
        let alone = self.complete[pair];
        for other in (0..PAIRS).filter(|n| alone >> n & 1 != 0) {
            self.complete[other] = !0;
            for with in &mut self.complete {
                *with |= 1 << other;
            }
        }
        self.active &= pair != EXEC_PAIR;
    }
}

/// Facts that hold on all paths through a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proved {
    /// Every register that is read was written before, in all lanes that read it.
    pub defined: bool,
    /// At every barrier, all lanes that were active at the wave's start are active.
    pub whole_at_barriers: bool,
}

/// Follows all paths through a kernel without calls.
pub fn prove(graph: &Graph<'_>, descriptor: &KernelDescriptor) -> Proved {
    if graph.sites.len() > MOST {
        return Proved::default();
    }
    let mut states: Vec<Option<Box<Proven>>> = vec![None; graph.sites.len()];
    states[graph.entry] = Some(Box::new(Proven::new(descriptor)));
    let mut queued = vec![false; graph.sites.len()];
    let mut queue = std::collections::BinaryHeap::from([std::cmp::Reverse(graph.entry)]);
    while let Some(std::cmp::Reverse(at)) = queue.pop() {
        queued[at] = false;
        let Some(mut after) = states[at].clone() else {
            continue;
        };
        step(graph, at, &mut after);
        for &next in &graph.sites[at].next {
            let mut along = after.clone();
            edge(graph, at, next, &mut along);
            let changed = match &mut states[next] {
                Some(old) => old.merge(&along),
                new => {
                    *new = Some(along);
                    true
                }
            };
            if changed && !queued[next] {
                queued[next] = true;
                queue.push(std::cmp::Reverse(next));
            }
        }
    }
    let mut proved = Proved {
        defined: true,
        whole_at_barriers: true,
    };
    for (at, state) in states.iter().enumerate() {
        let Some(state) = state else { continue };
        proved.defined &= reads_defined(graph, at, state);
        let mut beyond = Vec::new();
        uninit::beyond(graph, at, descriptor, &mut beyond);
        proved.defined &= beyond.is_empty();
        if graph.signals(at, Signal::Barrier) {
            let whole = state.is_complete(EXEC_PAIR) && state.within >> EXEC_PAIR & 1 != 0;
            proved.whole_at_barriers &= whole;
        }
    }
    proved
}

/// Adds the facts about a mask that follow from a branch along an edge.
fn edge(graph: &Graph<'_>, at: usize, next: usize, known: &mut Proven) {
    let site = &graph.sites[at];
    let Flow::Branch {
        when: Condition::If { state, set },
        ..
    } = site.flow
    else {
        return;
    };
    let pair = match state {
        State::Exec => EXEC_PAIR,
        State::Vcc => VCC_PAIR,
        _ => return,
    };
    let falls = graph.sites[next].pc == site.pc + site.insn.len as u64;
    let taken = site.flow.target(site.pc, &site.insn) == Some(graph.sites[next].pc);
    if falls == taken {
        return;
    }
    match taken == set {
        // The mask is not 0.
        true => known.active |= pair == EXEC_PAIR,
        false => known.is_none(pair),
    }
}

/// Returns the pair of scalar registers that a slot names.
fn pair_of(insn: &Insn, slot: u8) -> Option<usize> {
    let row = insn.row.shape.slots.get(slot as usize)?;
    match insn.operand(row).value {
        Value::Code(code) if code < 128 && code % 2 == 0 => Some(code as usize / 2),
        _ => None,
    }
}

fn mask_of(known: &Proven, insn: &Insn, program: &Program, node: u16, depth: u32) -> Mask {
    let n = &program.nodes[node as usize];
    let arg = |k: usize| mask_of(known, insn, program, n.args[k], depth + 1);
    if depth > 4 || n.out.bits() != 64 {
        return known.any();
    }
    match n.op {
        Op::Get(State::Exec) => known.of_pair(EXEC_PAIR),
        Op::Get(State::Vcc) => known.of_pair(VCC_PAIR),
        Op::Const(0) => known.none(),
        Op::Src(slot) => match pair_of(insn, slot) {
            Some(pair) => known.of_pair(pair),
            None => {
                let row = &insn.row.shape.slots[slot as usize];
                match insn.operand(row).value {
                    Value::Code(INT0) => known.none(),
                    _ => known.any(),
                }
            }
        },
        Op::Not => known.complement(arg(0)),
        Op::And | Op::Or | Op::Xor => known.combine(n.op, arg(0), arg(1)),
        _ => known.any(),
    }
}

/// Returns the lanes in which a mask that an instruction computes is defined, although operands may be undefined.
fn lanes_of(known: &Proven, insn: &Insn, program: &Program, node: u16) -> Lanes {
    let n = &program.nodes[node as usize];
    let arg = |k: usize| lanes_of(known, insn, program, n.args[k]);
    // If an operand is a wholly defined pair or its complement: the pair, and whether it is the complement.
    let whole = |k: usize| {
        let (mut of, mut not) = (n.args[k], false);
        if program.nodes[of as usize].op == Op::Not {
            (of, not) = (program.nodes[of as usize].args[0], true);
        }
        let pair = operand_pair(insn, program, of)?;
        known.is_whole(pair).then_some((pair, not))
    };
    match n.op {
        Op::Not => arg(0),
        Op::And | Op::Or | Op::Xor => {
            let (a, b) = (arg(0), arg(1));
            let mut lanes = a.both(b);
            for (k, other) in [(0, b), (1, a)] {
                match (n.op, whole(k)) {
                    // In lanes where the pair is 0 the result is 0; elsewhere it is the other operand.
                    (Op::And, Some((pair, false))) if other.within >> pair & 1 != 0 => {
                        lanes = Lanes::ALL;
                    }
                    (Op::And, Some((pair, true))) | (Op::Or, Some((pair, false))) => {
                        lanes = lanes.and_within(pair);
                    }
                    _ => {}
                }
            }
            lanes
        }
        _ => match operand_pair(insn, program, node) {
            Some(pair) => known.lanes_of(pair),
            None => Lanes::ALL,
        },
    }
}

/// Returns the pair of scalar registers that a node reads.
fn operand_pair(insn: &Insn, program: &Program, node: u16) -> Option<usize> {
    match program.nodes[node as usize].op {
        Op::Get(State::Exec) => Some(EXEC_PAIR),
        Op::Get(State::Vcc) => Some(VCC_PAIR),
        Op::Src(slot) => pair_of(insn, slot),
        _ => None,
    }
}

/// If a scalar instruction writes a pair other than EXEC by bitwise operations on its operands, and nothing else but SCC: returns the pair
/// and the node of its value.
fn bitwise(insn: &Insn, program: &Program) -> Option<(usize, u16)> {
    fn bits(insn: &Insn, program: &Program, node: u16) -> bool {
        let n = &program.nodes[node as usize];
        match n.op {
            Op::Not => bits(insn, program, n.args[0]),
            Op::And | Op::Or | Op::Xor => n.args[..2].iter().all(|&a| bits(insn, program, a)),
            Op::Const(_) => true,
            Op::Src(slot) => {
                let wide = n.out.bits() == 64;
                let row = &insn.row.shape.slots[slot as usize];
                let odd = |code: u16| code < 128 && !code.is_multiple_of(2);
                wide && !matches!(insn.operand(row).value, Value::Code(code) if odd(code))
            }
            _ => operand_pair(insn, program, node).is_some(),
        }
    }
    if insn.row.format.is_vector() {
        return None;
    }
    let mut made = None;
    for effect in &program.effects {
        match effect.change {
            Change::Set(State::Scc) => {}
            Change::Dst(slot) if made.is_none() && effect.when.is_none() => {
                let pair = pair_of(insn, slot).filter(|&pair| pair != EXEC_PAIR)?;
                let wide = insn.row.shape.slots[slot as usize].ty.bits() == 64;
                if !wide || !bits(insn, program, effect.value) {
                    return None;
                }
                made = Some((pair, effect.value));
            }
            _ => return None,
        }
    }
    made
}

/// Returns the masks that a scalar instruction writes, with their pairs.
fn masks(known: &Proven, insn: &Insn, program: &Program) -> Vec<(usize, Mask)> {
    let mut new: Vec<(usize, Mask)> = Vec::new();
    for effect in &program.effects {
        let pair = match effect.change {
            Change::Set(State::Exec) => Some(EXEC_PAIR),
            Change::Set(State::Vcc) => Some(VCC_PAIR),
            Change::Dst(slot) if insn.row.shape.slots[slot as usize].ty.bits() == 64 => {
                pair_of(insn, slot)
            }
            _ => None,
        };
        let Some(pair) = pair else { continue };
        let mask = match effect.when {
            Some(_) => known.any(),
            None => mask_of(known, insn, program, effect.value, 0),
        };
        new.retain(|n| n.0 != pair);
        new.push((pair, mask));
    }
    new
}

fn step(graph: &Graph<'_>, at: usize, known: &mut Proven) {
    let insn = &graph.sites[at].insn;
    let info = graph.info(at);
    let program = &meaning(insn.row, graph.target());
    let vector = insn.row.format.is_vector();
    // A vector instruction's masks have 0 in inactive lanes.
    let active = Mask {
        complete: known.complete_alone(),
        all: false,
        pair: None,
        some: false,
        ..known.of_pair(EXEC_PAIR)
    };
    let made =
        bitwise(insn, program).map(|(pair, node)| (pair, lanes_of(known, insn, program, node)));
    let undefined = carries(graph, at, program) && {
        let defined = is_defined(graph, at, known, program);
        let mut reads = info.accesses(insn).filter(|a| !a.write);
        !reads.all(|access| defined(&access))
    };
    let upper = without_upper_half(graph, at, known, program);
    let undefined = undefined && upper.is_none();
    let mut written = 0u64;
    let mut new = match vector {
        true => Vec::new(),
        false => masks(known, insn, program),
    };
    for access in info.accesses(insn).filter(|a| a.write) {
        let registers = access.first..access.first + access.count as u16;
        match access.file {
            File::Scalar => {
                for register in registers {
                    let pair = register as usize / 2 % PAIRS;
                    written |= 1 << pair;
                    if access.anywhere || !new.iter().any(|n| n.0 == pair) {
                        let slot = access.slot.map(|n| insn.row.shape.slots[n as usize].ty);
                        let lanes = vector
                            && access.count == 2
                            && (slot == Some(Ty::Mask) || slot.is_none());
                        let mask = if lanes { active } else { known.any() };
                        new.push((pair, mask));
                    }
                    if !access.partial {
                        known.scalars.insert(File::Scalar, register);
                    }
                }
                if access.anywhere {
                    written = !0;
                    new = (0..PAIRS)
                        .filter(|n| *n != EXEC_PAIR)
                        .map(|n| (n, known.any()))
                        .collect();
                }
            }
            File::Scc if !access.partial => {
                known.scalars.insert(File::Scc, 0);
            }
            File::Vector if undefined => {
                for register in registers.filter(|n| *n < 256) {
                    known.undefined_vgpr(register);
                }
            }
            File::Vector if info.replaces(insn, &access) => {
                for register in registers.filter(|n| *n < 256) {
                    let word = &mut known.defined[EXEC_PAIR][register as usize / 64];
                    *word |= 1 << (register % 64);
                }
            }
            _ => {}
        }
    }
    known.set(&new);
    for pair in (0..PAIRS).filter(|n| written >> n & 1 != 0) {
        known.written_whole(pair);
    }
    if let Some(upper) = upper {
        known.undefined_vgpr(upper.vgpr);
        if let Some(pair) = upper.carries {
            known.undefined_pair(pair);
            known.defined_in(pair, Lanes::NONE);
        }
    }
    if let Some((pair, lanes)) = made
        && !lanes.all
    {
        known.undefined_pair(pair);
        known.scalars.remove(File::Scc, 0);
        // A pair's lanes of itself count only if the pair is defined as a whole.
        let within = lanes.within & !(1 << pair);
        known.defined_in(pair, Lanes { within, ..lanes });
    }
}

/// What is undefined after an addition of 64 bits of which the upper half of an operand is undefined, as compilers leave it where they need
/// the lower half of the sum alone.
struct UpperHalf {
    /// The upper half of the result.
    vgpr: u16,
    /// The pair of the lanes' carries.
    carries: Option<usize>,
}

/// Returns true if everything that an instruction reads is defined but upper halves that its result's lower half does not depend on.
fn without_upper_half(
    graph: &Graph<'_>,
    at: usize,
    known: &Proven,
    program: &Program,
) -> Option<UpperHalf> {
    let insn = &graph.sites[at].insn;
    let (info, slots) = (graph.info(at), insn.row.shape.slots);
    if !insn.row.format.is_valu() || reads_others(insn, program) || info.memory(insn).is_some() {
        return None;
    }
    let wide =
        |slot: u8| slots[slot as usize].ty.bits() == 64 && slots[slot as usize].ty != Ty::Mask;
    let sum = program.effects.iter().find_map(|e| match e.change {
        Change::Dst(slot) if wide(slot) && e.when.is_none() => Some(e.value),
        _ => None,
    })?;
    let defined = is_defined(graph, at, known, program);
    let mut some = false;
    for access in info.accesses(insn).filter(|a| !a.write && !defined(a)) {
        let slot = access.slot.filter(|&slot| wide(slot))?;
        let lower = access.file == File::Vector && !access.anywhere;
        let lower = lower && access.count == 2 && has(&known.defined[EXEC_PAIR], access.first);
        if !lower || lower_half_needs(insn, program, sum, slot) {
            return None;
        }
        some = true;
    }
    let (mut vgpr, mut carries) = (None, None);
    for access in info.accesses(insn).filter(|a| a.write) {
        let even = access.first.is_multiple_of(2) && !access.anywhere;
        match (access.file, access.slot) {
            (File::Vector, Some(slot)) if wide(slot) => vgpr = Some(access.first + 1),
            (File::Scalar, _) if even && access.count == 2 => {
                carries = Some(access.first as usize / 2);
            }
            _ => return None,
        }
    }
    let vgpr = vgpr.filter(|_| some && carries != Some(EXEC_PAIR))?;
    Some(UpperHalf { vgpr, carries })
}

/// Returns true if a value is computed by this operation, or from values that are.
fn has_operation(program: &Program, node: u16, op: Op) -> bool {
    let n = &program.nodes[node as usize];
    let args = &n.args[..n.op.info().arity as usize];
    n.op == op || args.iter().any(|&arg| has_operation(program, arg, op))
}

/// Returns true if the lower half of a number of 64 bits depends on the upper half of an operand.
fn lower_half_needs(insn: &Insn, program: &Program, node: u16, slot: u8) -> bool {
    let n = &program.nodes[node as usize];
    let needs = |k: usize| lower_half_needs(insn, program, n.args[k], slot);
    match n.op {
        Op::Src(_) => false,
        Op::Add | Op::Sub | Op::Mul if !n.ty.is_float() => needs(0) || needs(1),
        // It saturates only where the instruction says so.
        Op::Select
            if has_operation(program, n.args[0], Op::Field(Field::Clamp))
                && insn.field(Field::Clamp) == 0 =>
        {
            needs(2)
        }
        _ => has_operation(program, node, Op::Src(slot)),
    }
}

/// Whether everything that an instruction reads is defined, or only makes its result undefined.
fn reads_defined(graph: &Graph<'_>, at: usize, known: &Proven) -> bool {
    let insn = &graph.sites[at].insn;
    let program = &meaning(insn.row, graph.target());
    // With these modes, instructions access other VGPRs than they name, or are skipped.
    let indexed = |c: Change| matches!(c, Change::Set(State::GprIdxEn | State::Vskip));
    if program.effects.iter().any(|e| indexed(e.change)) {
        return false;
    }
    let all = |f: &dyn Fn(&RegAccess) -> bool| {
        let mut reads = graph.info(at).accesses(insn).filter(|a| !a.write);
        reads.all(|access| f(&access))
    };
    if carries(graph, at, program) {
        return all(&|access| !access.anywhere);
    }
    if without_upper_half(graph, at, known, program).is_some() {
        return true;
    }
    all(&is_defined(graph, at, known, program))
}

/// Returns true if an instruction only writes VGPRs, lane by lane, so that undefined operands make an undefined result.
fn carries(graph: &Graph<'_>, at: usize, program: &Program) -> bool {
    let insn = &graph.sites[at].insn;
    let info = graph.info(at);
    insn.row.format.is_valu()
        && !reads_others(insn, program)
        && info.memory(insn).is_none()
        && (program.effects.iter()).all(|e| matches!(e.change, Change::Dst(_)))
        && (info.accesses(insn).filter(|a| a.write))
            .all(|a| a.file == File::Vector && !a.anywhere && a.slot.is_some())
}

/// Returns true if an instruction reads other lanes than those whose results it computes.
fn reads_others(insn: &Insn, program: &Program) -> bool {
    let lanes = |n: &gcn_isa::meaning::Node| n.op.info().kind == Kind::Lanes;
    let dpp = matches!(
        insn.encoding,
        gcn_isa::format::Encoding::Dpp1
            | gcn_isa::format::Encoding::Dpp2
            | gcn_isa::format::Encoding::DppC
    );
    program.nodes.iter().any(lanes) || dpp || insn.row.shape.slot(Role::LaneSel).is_some()
}

/// Returns a function that tells whether a register that the instruction reads is defined.
fn is_defined<'a>(
    graph: &'a Graph<'_>,
    at: usize,
    known: &'a Proven,
    program: &Program,
) -> impl Fn(&RegAccess) -> bool + use<'a> {
    let insn = &graph.sites[at].insn;
    let slots = insn.row.shape.slots;
    let others = reads_others(insn, program);
    let propagates = bitwise(insn, program).is_some();
    // Only the first active lane is read.
    let first = program.nodes.iter().any(|n| n.op == Op::FirstLane) && known.active;
    // The access is a mask, of which each active lane reads its own bit.
    let is_lanes = move |access: &RegAccess| {
        let mask = access
            .slot
            .is_some_and(|n| slots[n as usize].ty == Ty::Mask);
        mask && insn.row.format.is_valu() && access.first.is_multiple_of(2)
    };
    move |access| {
        if access.anywhere {
            return false;
        }
        let mut registers = access.first..access.first + access.count as u16;
        match access.file {
            File::Scc => known.scalars.contains(File::Scc, 0),
            // FLAT instructions read M0 only if they access LDS.
            File::Scalar if access.first == M0 && insn.row.format == Format::Flat => true,
            // An undefined operand makes the result undefined.
            File::Scalar if propagates => true,
            File::Scalar if is_lanes(access) => {
                let pair = access.first as usize / 2;
                known.is_whole(pair) || has(&known.defined[EXEC_PAIR], mask_number(pair))
            }
            File::Scalar => registers.all(|n| known.scalars.contains(File::Scalar, n)),
            File::Vector => {
                let own = others && !first;
                let set = match own
                    && access
                        .slot
                        .is_some_and(|n| slots[n as usize].ty != Ty::Mask)
                {
                    true => &known.everywhere,
                    false => &known.defined[EXEC_PAIR],
                };
                registers.all(|n| has(set, n))
            }
            File::Hwreg => true,
        }
    }
}
