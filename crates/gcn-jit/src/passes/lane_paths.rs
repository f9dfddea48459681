//! Finds what a lane does in a loop of several blocks, if it can run through the whole loop before the next lane begins.
//!
//! A wave goes where lanes are active if one lane is, and the others are inactive meanwhile. A lane by itself takes the branch by its own bit of EXEC. This
//! makes no difference to it if the blocks that it skips do not change its bits of masks. Neither may an iteration change the bits of a lane
//! that has left the loop before others. So the bits of inactive lanes are followed through the blocks ([`Inactive`]).
//!
//! Where EXEC changes without a branch, inactive lanes come to the next block, too. They only compute their bits of masks there.
//!
//! The wave executes a block in an iteration if one lane comes to it. So lanes mark the blocks that not all of them come to.

use super::demand;
use super::lane_loop::{
    Inactive, are_masks, halves_of, has_effects_of_lanes, inactive_bits, loads_of_lanes,
    reads_other_lanes,
};
use crate::ir::region::{Block, LoopBlocks, Store, Terminator};
use crate::ir::{Id, Inst, Node};
use gcn_isa::meaning::{Op, Space};
use gcn_isa::operand::EXEC;
use std::collections::{BTreeMap, BTreeSet};

/// The most blocks that lanes mark: each has a bit of a dword.
const MARKS: u8 = 32;

/// The number by which SCC is among the scalars that blocks change. No other scalar has it, because it belongs to EXEC.
pub(crate) const SCC_CODE: u8 = EXEC as u8 + 1;

/// A block by its number in the loop, and whether the lane is active.
pub(crate) type Place = (usize, bool);

/// Where a lane continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum To {
    Block(Place),
    /// The next iteration begins.
    Again,
    /// The lane has left the loop.
    Left,
    /// It does not come there, or it cannot run by itself.
    Never,
}

/// How a block ends for a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Always(To),
    /// By the lane's bit of the new EXEC: where it continues if it is active, and if it is not.
    Lane(Value, [To; 2]),
    /// By a scalar, for all lanes alike: where they continue if the branch is taken, and if it is not.
    All(Id, [To; 2]),
}

/// The new value of a mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Mask(Id),
    /// All bits are alike.
    Bits(bool),
}

/// The scalar registers that a block changes.
#[derive(Clone, Default)]
pub(crate) struct Changes {
    /// Pairs that are changed as masks, by the first code, without EXEC.
    pub masks: Vec<(u8, Value)>,
    pub sgprs: Vec<(u8, Id)>,
    exec: Option<Value>,
}

/// A loop of several blocks, seen from a lane.
pub(crate) struct LanePaths {
    /// The blocks that lanes come to, in order. An iteration begins with the first one.
    pub places: BTreeMap<Place, End>,
    /// What each block changes.
    pub changes: Vec<Changes>,
    /// The masks that the loop changes, and whether they are live where it ends.
    pub masks: BTreeMap<u8, bool>,
    /// The masks in which a lane that has left the loop has no bit from the next iteration on. In the iteration in which it leaves it may have one.
    pub cleared: BTreeSet<u8>,
    /// The bits that are known where a lane comes to a block. Those of the first block must be so where the wave enters the loop.
    pub known: BTreeMap<Place, Known>,
    /// The bits that are known where a lane has left the loop.
    pub left: Known,
    /// The bit with which lanes mark each block. The wave executes the others in each iteration.
    pub marks: Vec<Option<u8>>,
    /// Where the wave continues after the loop.
    pub after: u64,
    /// All lanes leave the loop in the same iteration, and are active after it.
    pub alike: bool,
}

/// A lane's bits of masks that are known.
pub(crate) type Known = BTreeMap<u8, bool>;

/// A lane's bits of masks that are not as they were.
type Bits = BTreeMap<u8, Inactive>;

impl LanePaths {
    /// Returns what lanes do in a loop. `None` if they cannot run through it one after the other.
    pub fn of(l: &LoopBlocks) -> Option<LanePaths> {
        let blocks = &l.blocks[..];
        let fp = blocks.iter().find_map(|c| c.fp);
        let fits = |c: &Block| {
            let e = &c.effects;
            has_effects_of_lanes(c)
                && e.store.as_ref().is_none_or(is_of_lanes)
                && (e.scc.is_none() || !l.scc)
                && !reads_other_lanes(c)
                && c.mode == blocks[0].mode
                && (c.fp.is_none() || c.fp == fp)
        };
        if blocks.len() < 2 || !blocks.iter().all(fits) || !blocks.iter().any(loads_of_lanes) {
            return None;
        }
        let changes = changes(blocks)?;
        let written = changes.iter().flat_map(|c| &c.masks);
        let masks = written.map(|&(code, _)| (code, l.live >> code & 3 != 0));
        let (last, after) = exit(blocks)?;
        let mut paths = LanePaths {
            masks: masks.collect(),
            changes,
            places: BTreeMap::new(),
            cleared: BTreeSet::new(),
            known: BTreeMap::new(),
            left: Known::new(),
            marks: Vec::new(),
            after,
            alike: false,
        };
        paths.alike = paths.branch_on_exec(blocks, last).is_none();
        paths.find_places(blocks)?;
        paths.mark(blocks, last)?;
        // A lane that goes on has not left: its bit of that mask is known where an iteration begins, and tested where the wave enters the loop.
        let (mut again, _) = paths.know(blocks, Known::new());
        again.retain(|code, bit| !*bit && paths.masks.contains_key(code));
        if paths.know(blocks, again).1 {
            return None;
        }
        paths.cleared = paths.stays_inactive(blocks, 0, None)?;
        for k in 0..blocks.len() {
            let Some(to) = paths.branch_on_exec(blocks, k) else {
                continue;
            };
            if let [Some(active), Some(inactive @ 1..)] = to.map(|pc| index(blocks, pc)) {
                paths.stays_inactive(blocks, active, Some(inactive))?;
            }
        }
        paths
            .places
            .retain(|place, _| paths.known.contains_key(place));
        Some(paths)
    }

    /// Returns the lane's bit of a mask that the loop changes if the lane has left it, and if it has not, if both are known.
    pub fn bits_at_end(&self, code: u8) -> Option<[bool; 2]> {
        let going_on = self.known.get(&(0, true))?.get(&code)?;
        Some([*self.left.get(&code)?, *going_on])
    }

    /// Returns true if it must be kept which bit of a mask that the loop changes the lane has.
    pub fn must_be_kept(&self, blocks: &[Block], code: u8) -> bool {
        let read = |place: &Place| {
            let c = &blocks[place.0];
            let reads =
                |(n, live): (&Node, bool)| live && n.op == Inst::SIn(code) && n.out.bits() == 64;
            let known = self
                .known
                .get(place)
                .is_some_and(|known| known.contains_key(&code));
            !known && c.graph.iter().zip(c.live()).any(reads)
        };
        let at_end = self.bits_at_end(code).is_none() || self.cleared.contains(&code);
        self.masks[&code] && at_end || self.places.keys().any(read)
    }

    /// Returns where active and inactive lanes go if a block ends with a branch on EXEC.
    fn branch_on_exec(&self, blocks: &[Block], k: usize) -> Option<[u64; 2]> {
        let c = &blocks[k];
        let Terminator::Branch { when, taken, next } = c.terminator else {
            return None;
        };
        let mut n = &c.graph[when as usize];
        let not = n.op == Inst::Alu(Op::Not);
        if not {
            n = &c.graph[n.args[0] as usize];
        }
        let [mask, zero, _] = n.args;
        let compares = matches!(n.op, Inst::Alu(Op::Ne | Op::Eq)) && n.ty.bits() == 64;
        if !compares || c.graph[zero as usize].op != Inst::Const(0) {
            return None;
        }
        let of_exec = match self.changes[k].exec {
            Some(value) => value == Value::Mask(mask),
            None => is_exec(c, mask),
        };
        of_exec.then_some(match (n.op == Inst::Alu(Op::Ne)) != not {
            true => [taken, next],
            false => [next, taken],
        })
    }

    /// Follows lanes from the beginning of an iteration.
    fn find_places(&mut self, blocks: &[Block]) -> Option<()> {
        let mut work = vec![(0, true)];
        while let Some((k, active)) = work.pop() {
            if self.places.contains_key(&(k, active)) {
                continue;
            }
            let mut to = |pc: u64, active: bool| match index(blocks, pc) {
                // An inactive lane has left the loop before the next iteration, and an active one stays in it.
                Some(0) if active => To::Again,
                None if active == self.alike => To::Left,
                Some(0) | None => To::Never,
                Some(to) => {
                    work.push((to, active));
                    To::Block((to, active))
                }
            };
            let on_exec = self.branch_on_exec(blocks, k);
            let end = match (&blocks[k].terminator, self.changes[k].exec, on_exec) {
                (&Terminator::Jump(pc), None, _) => End::Always(to(pc, active)),
                (&Terminator::Jump(pc), Some(exec), _) => {
                    End::Lane(exec, [to(pc, true), to(pc, false)])
                }
                (_, None, Some([on, off])) => {
                    End::Always(to(if active { on } else { off }, active))
                }
                (_, Some(exec), Some([on, off])) => End::Lane(exec, [to(on, true), to(off, false)]),
                (&Terminator::Branch { when, taken, next }, None, None)
                    if !demand::late(&blocks[k])[when as usize] =>
                {
                    End::All(when, [to(taken, active), to(next, active)])
                }
                _ => return None,
            };
            self.places.insert((k, active), end);
        }
        Some(())
    }

    /// Gives marks to the blocks without which the block that the loop is left from can be reached. Scalars that are not masks may change in the others only:
    /// all lanes compute the same.
    fn mark(&mut self, blocks: &[Block], last: usize) -> Option<()> {
        let mut bits = 0..MARKS;
        for k in 0..blocks.len() {
            let always = k == last || !reaches(blocks, last, k);
            if !always && !self.changes[k].sgprs.is_empty() {
                return None;
            }
            self.marks.push(match always {
                true => None,
                false => Some(bits.next()?),
            });
        }
        Some(())
    }

    /// Follows a lane that is inactive at the beginning of a block, up to the beginning of another one, or to the end of the iteration: there its bits of
    /// masks must be as they were, if anything may read them. At the end of the iteration they may also be 0: returns the masks of which they are.
    fn stays_inactive(
        &self,
        blocks: &[Block],
        from: usize,
        until: Option<usize>,
    ) -> Option<BTreeSet<u8>> {
        let mut cleared: Option<BTreeSet<u8>> = None;
        let mut bits_at: Vec<Option<Bits>> = vec![None; blocks.len()];
        bits_at[from] = Some(Bits::from([(EXEC as u8, Inactive::Bit(false))]));
        for (k, c) in blocks.iter().enumerate().skip(from) {
            let Some(bits) = bits_at[k].take() else {
                continue;
            };
            if bits.get(&(EXEC as u8)) != Some(&Inactive::Bit(false)) {
                return None;
            }
            if until == Some(k) {
                let as_it_was = |code: &u8| match bits.get(code) {
                    None => true,
                    // Or it has the bit that a lane has which comes here without these blocks.
                    Some(&Inactive::Bit(bit)) => {
                        let known = self.known.get(&(k, false));
                        known.is_some_and(|known| known.get(code) == Some(&bit))
                    }
                    Some(_) => false,
                };
                let all = self.read_from(blocks, k).iter().all(as_it_was);
                return all.then(BTreeSet::new);
            }
            let after = self.bits_after(c, k, &bits);
            for to in c.targets() {
                match (index(blocks, to), until) {
                    (Some(to @ 1..), until) => {
                        if to <= k || until.is_some_and(|until| to > until) {
                            return None;
                        }
                        let bits = match bits_at[to].take() {
                            Some(other) => joined(other, &after),
                            None => after.clone(),
                        };
                        bits_at[to] = Some(bits);
                    }
                    (_, Some(_)) => return None,
                    (_, None) => {
                        let inactive = after.get(&(EXEC as u8)) == Some(&Inactive::Bit(false));
                        let live = self.masks.iter().filter(|m| *m.1).map(|m| *m.0);
                        let changed: BTreeMap<u8, Inactive> = live
                            .filter_map(|code| Some((code, *after.get(&code)?)))
                            .collect();
                        let zero = changed.values().all(|bit| *bit == Inactive::Bit(false));
                        let changed: BTreeSet<u8> = changed.into_keys().collect();
                        // It is the same wherever the iteration ends.
                        let same = cleared.as_ref().is_none_or(|other| *other == changed);
                        if !inactive || !zero || !same {
                            return None;
                        }
                        cleared = Some(changed);
                    }
                }
            }
        }
        until.is_none().then(|| cleared.unwrap_or_default())
    }

    /// Finds which bits are known, if some are where an iteration begins. Returns those that are known where the next one begins, and whether
    /// lanes may come where they cannot run by themselves.
    fn know(&mut self, blocks: &[Block], first: Known) -> (Known, bool) {
        let mut fails = false;
        let mut known = BTreeMap::from([((0, true), first)]);
        let (mut again, mut left): (Option<Known>, Option<Known>) = (None, None);
        let meet = |to: &mut Option<Known>, bits: &Known| match to {
            Some(to) => to.retain(|code, bit| bits.get(code) == Some(bit)),
            None => *to = Some(bits.clone()),
        };
        for (&place, &end) in &self.places {
            let Some(before) = known.get(&place).cloned() else {
                continue;
            };
            let c = &blocks[place.0];
            let bits = known_bits(c, &before, place.1);
            let mut go = |to: To, truths: &BTreeMap<Id, bool>| {
                let bits = known_after(c, &self.changes[place.0], (&before, &bits), truths);
                match to {
                    To::Again => meet(&mut again, &bits),
                    To::Left => meet(&mut left, &bits),
                    To::Never => fails = true,
                    To::Block(to) => {
                        let mut met = known.remove(&to);
                        meet(&mut met, &bits);
                        known.insert(to, met.unwrap_or_default());
                    }
                }
            };
            let none = BTreeMap::new();
            match end {
                End::Always(to) => go(to, &none),
                End::All(_, to) => to.into_iter().for_each(|to| go(to, &none)),
                End::Lane(Value::Bits(bit), to) => go(to[!bit as usize], &none),
                End::Lane(Value::Mask(exec), to) => {
                    for (to, bit) in to.into_iter().zip([true, false]) {
                        if bits[exec as usize].is_none_or(|known| known == bit) {
                            go(to, &truths_if(c, exec, bit, &bits));
                        }
                    }
                }
            }
        }
        self.known = known;
        self.left = left.unwrap_or_default();
        (again.unwrap_or_default(), fails)
    }

    /// Returns the masks whose bits at the beginning of a block may be read, in the loop or where it ends.
    fn read_from(&self, blocks: &[Block], from: usize) -> BTreeSet<u8> {
        let mut read_at: Vec<BTreeSet<u8>> = vec![BTreeSet::new(); blocks.len()];
        for (k, c) in blocks.iter().enumerate().skip(from).rev() {
            let mut read = BTreeSet::new();
            for to in c.targets() {
                match index(blocks, to) {
                    Some(to @ 1..) => read.extend(&read_at[to]),
                    _ => read.extend(self.masks.iter().filter(|m| *m.1).map(|m| m.0)),
                }
            }
            let unwritten = |code: &u8| self.changes[k].masks.iter().all(|m| m.0 != *code);
            read.retain(unwritten);
            read.extend(self.masks.keys().filter(|&&code| reads_mask(c, code)));
            read_at[k] = read;
        }
        read_at.swap_remove(from)
    }

    /// Returns an inactive lane's bits after a block.
    fn bits_after(&self, c: &Block, k: usize, bits: &Bits) -> Bits {
        let before = |code: u8| bits.get(&code).copied().unwrap_or(Inactive::Same(code));
        let mut after = bits.clone();
        let exec = self.changes[k].exec.map(|value| (EXEC as u8, value));
        let inactive = inactive_bits(c, before);
        for &(code, value) in self.changes[k].masks.iter().chain(&exec) {
            let bit = match value {
                Value::Mask(id) => inactive[id as usize],
                Value::Bits(bit) => Inactive::Bit(bit),
            };
            match bit == Inactive::Same(code) {
                true => after.remove(&code),
                false => after.insert(code, bit),
            };
        }
        after
    }
}

/// Returns for each mask that a block computes the lane's bit, if it is known from bits at the block's start and from whether the lane is active.
fn known_bits(c: &Block, before: &Known, active: bool) -> Vec<Option<bool>> {
    let inactive = match active {
        true => Vec::new(),
        false => inactive_bits(c, |_| Inactive::Unknown),
    };
    let mut bits: Vec<Option<bool>> = Vec::with_capacity(c.graph.len());
    for (at, n) in c.graph.iter().enumerate() {
        let of = |k: usize| bits[n.args[k] as usize];
        bits.push(match n.op {
            _ if n.vec || n.out.bits() != 64 => None,
            Inst::Const(v) => Some(v & 1 != 0),
            Inst::SIn(code) if code as u16 == EXEC => Some(active),
            Inst::SIn(code) => before.get(&code).copied(),
            Inst::Ballot => match inactive.get(at) {
                Some(&Inactive::Bit(bit)) => Some(bit),
                _ => None,
            },
            Inst::Alu(Op::Not) => of(0).map(|bit| !bit),
            Inst::Alu(Op::And) => match (of(0), of(1)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), other) | (other, Some(true)) => other,
                _ => None,
            },
            Inst::Alu(Op::Or) => match (of(0), of(1)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), other) | (other, Some(false)) => other,
                _ => None,
            },
            _ => None,
        });
    }
    bits
}

/// Returns the lane's bits of masks that follow if its bit of one is known. `known` has those that are known anyway.
fn truths_if(c: &Block, mask: Id, bit: bool, known: &[Option<bool>]) -> BTreeMap<Id, bool> {
    let mut truths = BTreeMap::new();
    let mut work = vec![(mask, bit)];
    while let Some((id, bit)) = work.pop() {
        if truths.insert(id, bit).is_some() {
            continue;
        }
        let n = &c.graph[id as usize];
        let [a, b, _] = n.args;
        match n.op {
            Inst::Alu(Op::Not) => work.push((a, !bit)),
            Inst::Alu(o @ (Op::And | Op::Or)) => {
                let all = (o == Op::And) == bit;
                for (this, other) in [(a, b), (b, a)] {
                    // One operand decides if the other one does not.
                    if all || known[other as usize] == Some(o == Op::And) {
                        work.push((this, bit));
                    }
                }
            }
            _ => {}
        }
    }
    truths
}

/// Returns the lane's bits that are known after a block. `bits` and `truths` have those of values.
fn known_after(
    c: &Block,
    changes: &Changes,
    (before, bits): (&Known, &[Option<bool>]),
    truths: &BTreeMap<Id, bool>,
) -> Known {
    let mut after = before.clone();
    for (&id, &bit) in truths {
        if let Inst::SIn(code) = c.graph[id as usize].op {
            after.insert(code, bit);
        }
    }
    for &(code, value) in &changes.masks {
        let bit = match value {
            Value::Bits(bit) => Some(bit),
            Value::Mask(id) => truths.get(&id).copied().or(bits[id as usize]),
        };
        match bit {
            Some(bit) => after.insert(code, bit),
            None => after.remove(&code),
        };
    }
    after.remove(&(EXEC as u8));
    after
}

/// Returns what is known of bits after either of two blocks.
fn joined(a: Bits, b: &Bits) -> Bits {
    let codes: BTreeSet<u8> = a.keys().chain(b.keys()).copied().collect();
    let of = |bits: &Bits, code: u8| bits.get(&code).copied().unwrap_or(Inactive::Same(code));
    let bit = |code: u8| match (of(&a, code), of(b, code)) {
        (a, b) if a == b => a,
        _ => Inactive::Unknown,
    };
    codes.into_iter().map(|code| (code, bit(code))).collect()
}

/// Returns true if lanes store to their own addresses in memory.
fn is_of_lanes(s: &Store) -> bool {
    let to_memory = matches!(s.space, Space::Global | Space::Flat);
    to_memory && !s.in_order && s.bytes <= 4
}

fn is_exec(c: &Block, id: Id) -> bool {
    matches!(c.graph[id as usize].op, Inst::SIn(code) if code as u16 == EXEC)
}

fn reads_scc(c: &Block) -> bool {
    let live = c.live();
    let reads = |(n, live): (&Node, bool)| live && n.op == Inst::SccIn;
    c.graph.iter().zip(live).any(reads)
}

fn reads_mask(c: &Block, code: u8) -> bool {
    let reads = |op: &Inst| matches!(op, Inst::SIn(c) if c & !1 == code);
    c.graph.iter().any(|n| reads(&n.op))
}

/// Returns the number of the block at an address in the loop.
fn index(blocks: &[Block], pc: u64) -> Option<usize> {
    blocks.iter().position(|c| c.start == pc)
}

/// Returns the one block from which the loop is left, and where the wave continues.
fn exit(blocks: &[Block]) -> Option<(usize, u64)> {
    let targets = |(k, c): (usize, &Block)| c.targets().map(move |to| (k, to)).collect::<Vec<_>>();
    let targets = blocks.iter().enumerate().flat_map(targets);
    let mut exits = targets.filter(|&(_, to)| index(blocks, to).is_none());
    let exit = exits.next()?;
    exits.next().is_none().then_some(exit)
}

/// Returns true if an iteration may come to a block without another one.
fn reaches(blocks: &[Block], to: usize, without: usize) -> bool {
    let mut reached = vec![false; blocks.len()];
    reached[0] = without != 0;
    for (k, c) in blocks.iter().enumerate() {
        if reached[k] {
            for to in c.targets().filter_map(|to| index(blocks, to)) {
                reached[to] |= to > k && to != without;
            }
        }
    }
    reached[to]
}

/// Returns what the blocks change. `None` if a scalar register is neither a mask nor the same for all lanes.
fn changes(blocks: &[Block]) -> Option<Vec<Changes>> {
    let late: Vec<_> = blocks.iter().map(demand::late).collect();
    // What is computed from masks is one.
    let mut masks = BTreeSet::from([EXEC as u8]);
    loop {
        let known = masks.len();
        for (c, late) in blocks.iter().zip(&late) {
            let from_masks = are_from_masks(c, &masks);
            for pair in c.effects.sgprs.windows(2) {
                let [(code, low), (next, high)] = [pair[0], pair[1]];
                let of_mask = |id: Id| late[id as usize] || from_masks[id as usize];
                if code % 2 == 0 && next == code + 1 && halves_of(c, low, high).is_some_and(of_mask)
                {
                    masks.insert(code);
                }
            }
        }
        if masks.len() == known {
            break;
        }
    }
    let mut all = Vec::new();
    let scc = blocks.iter().any(reads_scc);
    for (c, late) in blocks.iter().zip(&late) {
        let mut found = Changes::default();
        if let Some(id) = c.effects.scc.filter(|_| scc) {
            if late[id as usize] {
                return None;
            }
            found.sgprs.push((SCC_CODE, id));
        }
        let is_mask = are_masks(c, late);
        let mut writes = c.effects.sgprs.iter().peekable();
        while let Some(&(code, low)) = writes.next() {
            if !masks.contains(&(code & !1)) {
                if late[low as usize] {
                    return None;
                }
                found.sgprs.push((code, low));
                continue;
            }
            let &(_, high) = writes.next_if(|w| code % 2 == 0 && w.0 == code + 1)?;
            let value = match [low, high].map(|id| c.graph[id as usize].op) {
                [Inst::Const(a), Inst::Const(b)] if a as u32 == b as u32 => match a as u32 {
                    0 => Value::Bits(false),
                    u32::MAX => Value::Bits(true),
                    _ => return None,
                },
                _ => Value::Mask(halves_of(c, low, high).filter(|&id| is_mask[id as usize])?),
            };
            match code as u16 {
                EXEC => found.exec = Some(value),
                _ => found.masks.push((code, value)),
            }
        }
        all.push(found);
    }
    Some(all)
}

/// Returns for each value whether it is computed from masks of a set.
fn are_from_masks(c: &Block, masks: &BTreeSet<u8>) -> Vec<bool> {
    let mut from: Vec<bool> = Vec::with_capacity(c.graph.len());
    for n in &c.graph {
        from.push(match n.op {
            Inst::SIn(code) => n.out.bits() == 64 && masks.contains(&code),
            Inst::Alu(Op::And | Op::Or | Op::Xor | Op::Not) if n.out.bits() == 64 && !n.vec => {
                n.inputs().iter().any(|&id| from[id as usize])
            }
            _ => false,
        });
    }
    from
}
