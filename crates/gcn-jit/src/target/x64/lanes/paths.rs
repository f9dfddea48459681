//! The code of a loop of several blocks for one lane after the other ([`LanePaths`]).
//!
//! Each block that a lane comes to is selected and allocated by itself. What blocks change is kept in the same places in all of them. EXEC is
//! not kept: the lane's bit decides where the lane continues.
//!
//! In each iteration a lane marks the blocks that not all lanes come to. From the marks of all lanes follows how many instructions the wave has executed. Lanes
//! run for as many iterations at a time as there are marks for, and as the wave's fuel certainly suffices for. So no iteration subtracts from it.

use super::halves::Joined;
use super::inst::{Home, L, LOG, What};
use super::limits::COUNT;
use super::select::{By, LaneSelect, Selected, most_stored, take_registers};
use super::*;
use crate::context::LANE_ROUNDS;
use crate::ir::region::LoopBlocks;
use crate::lir::Role;
use crate::passes::lane_loop::{Inactive, inactive_bits};
use crate::passes::lane_paths::{Changes, End, LanePaths, Place, SCC_CODE, To, Value};
use std::collections::BTreeSet;

/// The address of the marks of the lane's iteration. No fuel is needed meanwhile.
const MARKS: Gpr = FUEL;
/// The size of an iteration's marks, and its logarithm.
const MARK: i32 = 1 << MARK_LOG;
const MARK_LOG: u8 = 2;

/// A block's code.
struct Piece {
    place: Place,
    code: Code<L>,
    allocated: Allocation,
    ends: Ends,
}

/// Where a lane continues after it.
#[derive(Clone, Copy)]
enum Ends {
    Always(To),
    /// The code ends with a jump to the first of these, if a condition holds, else the lane continues at the second one.
    By([To; 2]),
}

/// The changes of VGPRs and of scalars that are kept from block to block.
struct Kept {
    homes: Vec<Home>,
    /// The numbers of registers that are allocated.
    registers: [u8; 2],
    /// The VGPRs that several blocks change.
    shared: BTreeSet<u16>,
}

/// What blocks do with a VGPR: how often they access it, and by how many operations on integers and on floats.
#[derive(Clone, Copy, Default)]
struct Uses {
    accesses: u32,
    votes: [u32; 2],
    /// Of the VGPR and the next one as a number of 64 bits.
    pair_votes: [u32; 2],
}

/// What the blocks of a loop change.
#[derive(Default)]
struct Survey {
    uses: Map<u16, Uses>,
    /// VGPRs that become what others are.
    copies: Vec<[u16; 2]>,
    written: BTreeSet<u16>,
    /// The VGPRs that several blocks change.
    shared: BTreeSet<u16>,
    /// The VGPRs that blocks change with the next one as numbers of 64 bits, and those that they change otherwise.
    pairs: BTreeSet<u16>,
    single: BTreeSet<u16>,
    /// The same of scalars.
    scalar_pairs: BTreeSet<u16>,
    scalars: BTreeSet<u16>,
}

/// For how many accesses of a VGPR a scalar or a mask counts, where registers are given to those that are accessed most.
const SCALAR_ACCESSES: u32 = 2;

impl Survey {
    /// Adds a block.
    fn add<V: Vectors>(&mut self, s: &LaneSelect<'_, '_, V>, changes: &Changes) {
        let c = s.e.c;
        for (at, n) in c.graph.iter().enumerate() {
            if let Inst::VIn(v) = n.op
                && s.e.plan.live[at]
            {
                let of = self.uses.entry(v).or_default();
                of.accesses += 1;
                let [integer, float] = s.used_as[at];
                of.votes[0] += integer as u32;
                of.votes[1] += float as u32;
            }
        }
        let mut writes = c.effects.vgprs.iter().map(|w| (w.0, w.1)).peekable();
        while let Some((v, id)) = writes.next() {
            if !self.written.insert(v) {
                self.shared.insert(v);
            }
            let of = self.uses.entry(v).or_default();
            of.accesses += 1;
            let next = writes
                .next_if(|&(w, high)| w == v + 1 && !matches!(s.halves(id, high), Joined::Halves));
            if let Some((w, high)) = next {
                let float = match s.halves(id, high) {
                    Joined::Value(id) => s.node(id).out.is_float(),
                    _ => false,
                };
                of.pair_votes[float as usize] += 1;
                self.pairs.insert(v);
                if !self.written.insert(w) {
                    self.shared.insert(w);
                }
                continue;
            }
            match s.node(id).op {
                Inst::VIn(from) => self.copies.push([v, from]),
                Inst::Const(_) => {}
                Inst::Part(_) if s.used_as[id as usize] == [false; 2] => {}
                _ => of.votes[s.class_of(id, 4) as usize] += 1,
            }
            self.single.insert(v);
        }
        let mut writes = changes.sgprs.iter().peekable();
        while let Some(&(code, low)) = writes.next() {
            let joined =
                |w: &&(u8, Id)| w.0 == code + 1 && matches!(s.halves(low, w.1), Joined::Value(_));
            match writes.next_if(joined) {
                Some(_) => self.scalar_pairs.insert(code as u16),
                None => self.scalars.insert(code as u16),
            };
        }
    }

    /// Lets VGPRs be of one class if one becomes what the other is.
    fn join_copies(&mut self) {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for copy in &self.copies {
                let of = copy.map(|v| self.uses.get(&v).copied().unwrap_or_default().votes);
                let all = [0, 1].map(|class| of[0][class].max(of[1][class]));
                changed |= of != [all; 2];
                for v in copy {
                    self.uses.entry(*v).or_default().votes = all;
                }
            }
        }
    }

    /// Returns the VGPRs and scalars that are kept, as numbers of 64 bits where they are always changed together, with how often they are accessed.
    fn homes(&self) -> Vec<(u32, Home)> {
        let mut homes = Vec::new();
        let mut written = self.written.iter().copied().peekable();
        while let Some(v) = written.next() {
            let of = self.uses.get(&v).copied().unwrap_or_default();
            if together(v, &self.pairs, &self.single) {
                written.next_if_eq(&(v + 1));
                let class = (of.pair_votes[0] == 0) as Class;
                homes.push((of.accesses, Home::new(What::VgprPair(v), class)));
            } else {
                let class = (of.votes[1] > 0 && of.votes[0] == 0) as Class;
                homes.push((of.accesses, Home::new(What::Vgpr(v), class)));
            }
        }
        let mut scalars = self.scalars.clone();
        for &code in &self.scalar_pairs {
            if together(code, &self.scalar_pairs, &self.scalars) {
                homes.push((SCALAR_ACCESSES, Home::new(What::SgprPair(code as u8), 0)));
            } else {
                scalars.extend([code, code + 1]);
            }
        }
        let scalars = scalars
            .into_iter()
            .map(|code| Home::new(What::Sgpr(code as u8), 0));
        homes.extend(scalars.map(|home| (SCALAR_ACCESSES, home)));
        homes
    }
}

/// Returns true if a register is always changed together with the next one. `pairs` has the first ones of those that are at some place, and `single` those
/// that are changed by themselves.
fn together(first: u16, pairs: &BTreeSet<u16>, single: &BTreeSet<u16>) -> bool {
    let apart = |n: u16| single.contains(&n);
    let overlaps = pairs.contains(&(first + 1)) || pairs.contains(&first.wrapping_sub(1));
    pairs.contains(&first) && !overlaps && !apart(first) && !apart(first + 1)
}

impl<V: Vectors> Emit<'_, V> {
    /// Emits the code by which a wave enters the loop: it goes to `vector`, which comes next, for the code of all lanes. If there is no code for
    /// single lanes, emits nothing.
    pub(in super::super) fn lane_paths(&mut self, l: &LoopBlocks, vector: Label) {
        let (Some(paths), Some([choose, range, conflicts])) =
            (LanePaths::of(l), self.common.lanes_call)
        else {
            return;
        };
        let written = l.blocks.iter().flat_map(|c| &c.effects.vgprs);
        let vgprs: BTreeSet<u16> = written.map(|w| w.0).collect();
        if vgprs.len() > LANE_VGPRS || stores(l) > LANE_LOG / 64 {
            return;
        }
        let vgprs: Vec<u16> = vgprs.into_iter().collect();
        let Some((lane, pieces)) = self.pieces(l, &paths) else {
            return;
        };
        self.choose(choose, vector);
        let more = self.a.here();
        self.before_paths(l, &paths, &vgprs, vector);
        let (next, done) = (self.a.label(), self.a.label());
        self.a.bind(next);
        self.begin_lane(&lane, done);
        self.a.lea(MARKS, ctx!(lanes.marks));
        let [first, out, left, end, bail] = std::array::from_fn(|_| self.a.label());
        self.a.jmp(first);
        let again = self.a.here();
        self.a.alu_imm(alu::ADD, true, Rm::R(MARKS), MARK);
        let mut later = Vec::new();
        if lane.limits.is_empty() {
            self.a
                .alu(alu::CMP, true, MARKS, Rm::M(ctx!(lanes.marks_end)));
            self.a.jcc(Cc::Ae, out);
            self.a.bind(first);
        } else {
            let within = self.a.label();
            self.a
                .alu(alu::CMP, true, MARKS, Rm::M(ctx!(lanes.marks_limit)));
            self.a.jcc(Cc::B, within);
            self.a.bind(first);
            self.limit_marks(&lane, out, &mut later);
            self.a.bind(within);
        }
        let to = Targets { again, left, bail };
        self.pieces_in_order(&pieces, &paths, to, &mut later);
        // The lane's fuel may not suffice for another iteration.
        self.a.bind(out);
        self.lane_goes_on();
        self.a.jmp(end);
        self.a.bind(left);
        self.a.alu_imm(alu::ADD, true, Rm::R(MARKS), MARK);
        self.a.bind(end);
        self.check_at_end(&lane, bail);
        self.end_path(&lane, &paths, next);
        self.look_up(later, range, bail);
        self.a.bind(bail);
        if stores(l) > 0 {
            self.undo(&l.blocks);
        }
        self.clear_marks();
        self.usual_registers(fp_of(l));
        self.copy_vgprs(&vgprs, true);
        self.a.mov(true, FUEL, Rm::M(ctx!(lanes.fuel)));
        self.a.jmp(vector);
        self.a.bind(done);
        if stores(l) > 0 {
            self.unless_conflicts(&lane, conflicts, bail);
        }
        self.after_paths(l, &paths, more);
    }

    /// Selects and allocates the code of all blocks. Returns also what a lane begins and ends with.
    fn pieces(&mut self, l: &LoopBlocks, paths: &LanePaths) -> Option<(Selected, Vec<Piece>)> {
        let kept = self.kept(l, paths);
        let mut lane = Selected::default();
        let mut pieces = Vec::new();
        let steps = self.steps_of_blocks(l, paths, &kept)?;
        for active in [true, false] {
            for (&place, &end) in paths.places.iter().filter(|p| p.0.1 == active) {
                let changes = &paths.changes[place.0];
                let mut e = self.of_block(&l.blocks[place.0]);
                let mut s = LaneSelect::of_place(&mut e, (l, paths), place, &kept);
                // What is kept has the value that it had at the beginning of the iteration.
                let by = |home: Home| {
                    let by = steps.get(&home.what).filter(|by| by.0 >= place.0);
                    by.map(|by| by.1)
                };
                let (ends, _) = s.path(changes, end, (lane.places.len(), &by))?;
                // All active lanes come to these blocks in each iteration.
                let always =
                    paths.marks[place.0].is_none() && !paths.places.contains_key(&(place.0, false));
                if active && always {
                    s.limit_where(|s, address| s.steps_by(address, by));
                }
                let selected = s.finish();
                let allocated = allocate(&selected.code, kept.registers);
                let allocated = allocated.filter(|a| a.slots as usize <= LANE_SPILLS)?;
                lane.vgprs.extend(selected.vgprs);
                lane.bits.extend(selected.bits);
                lane.highs.extend(selected.highs);
                lane.checks.extend(selected.checks);
                lane.limits.extend(selected.limits);
                lane.places.extend(selected.places);
                pieces.push(Piece {
                    place,
                    code: selected.code,
                    allocated,
                    ends,
                });
            }
        }
        for home in kept.homes.iter().filter(|h| h.register.is_none()) {
            if let What::Vgpr(v) | What::VgprPair(v) = home.what {
                lane.vgprs.extend(v..=v + home.wide() as u16);
            }
        }
        lane.homes = kept.homes;
        Some((lane, pieces))
    }

    /// Returns the numbers that one block adds to what is kept, once in each iteration, and that block.
    fn steps_of_blocks(
        &mut self,
        l: &LoopBlocks,
        paths: &LanePaths,
        kept: &Kept,
    ) -> Option<Map<What, (usize, By)>> {
        let mut steps = Map::default();
        for (&(k, active), &end) in &paths.places {
            let inactive = paths.places.contains_key(&(k, false));
            if !active || inactive || paths.marks[k].is_some() {
                continue;
            }
            let mut e = self.of_block(&l.blocks[k]);
            let mut s = LaneSelect::of_place(&mut e, (l, paths), (k, true), kept);
            let (_, sets) = s.path(&paths.changes[k], end, (0, &|_| None))?;
            for (home, next) in sets {
                let of_this = match home.what {
                    What::Vgpr(v) => !kept.shared.contains(&v),
                    What::VgprPair(v) => [v, v + 1].iter().all(|v| !kept.shared.contains(v)),
                    What::Sgpr(code) | What::SgprPair(code) => {
                        let changes = |c: &&Changes| c.sgprs.iter().any(|w| w.0 == code);
                        paths.changes.iter().filter(changes).count() == 1
                    }
                    What::Bit(_) => false,
                };
                if let Some(by) = s.step(home, next).filter(|_| of_this) {
                    steps.insert(home.what, (k, by));
                }
            }
        }
        Some(steps)
    }

    /// Returns the state for the code of a block of the loop.
    fn of_block<'b>(&'b mut self, c: &'b Block) -> Emit<'b, V> {
        let plan = passes::plan(c, &options(), None);
        let at = BlockNumbers {
            number: self.at.number,
            last: self.at.last,
            replaced: Vec::new(),
        };
        Emit::new(self.a, c, (self.common, self.out), at, plan)
    }

    /// Decides where what blocks change is kept.
    fn kept(&mut self, l: &LoopBlocks, paths: &LanePaths) -> Kept {
        let mut survey = Survey::default();
        for (c, changes) in l.blocks.iter().zip(&paths.changes) {
            survey.add(&LaneSelect::new(&mut self.of_block(c)), changes);
        }
        survey.join_copies();
        let mut homes = survey.homes();
        for &code in paths.masks.keys() {
            if paths.must_be_kept(&l.blocks, code) {
                homes.push((SCALAR_ACCESSES, Home::new(What::Bit(code), 0)));
            }
        }
        homes.sort_by_key(|h| std::cmp::Reverse(h.0));
        let mut homes: Vec<Home> = homes.into_iter().map(|h| h.1).collect();
        let registers = take_registers(homes.iter_mut(), stores(l) > 0);
        Kept {
            homes,
            registers,
            shared: survey.shared,
        }
    }

    /// Emits what comes before the first lane.
    fn before_paths(&mut self, l: &LoopBlocks, paths: &LanePaths, vgprs: &[u16], vector: Label) {
        let longest: u32 = l.blocks.iter().map(|c| c.insns).sum();
        let a = &mut *self.a;
        a.mov(true, RSI, Rm::M(sgpr_home(EXEC as u8)));
        a.test(true, RSI, RSI);
        a.jcc(Cc::E, vector);
        a.alu_imm(alu::CMP, true, Rm::R(FUEL), longest as i32);
        a.jcc(Cc::L, vector);
        // These bits of active lanes must be 0.
        for &code in paths.known[&(0, true)].keys() {
            a.g(true, &[0x85], RSI, Rm::M(sgpr_home(code))); // test
            a.jcc(Cc::Ne, vector);
        }
        let enough = a.label();
        // The log must suffice for what is stored.
        let rounds = match stores(l) {
            0 => LANE_ROUNDS,
            stores => LANE_LOG / 64 / stores,
        };
        a.imm(RAX, rounds as u64);
        a.alu_imm(alu::CMP, true, Rm::R(FUEL), rounds as i32 * longest as i32);
        a.jcc(Cc::Ge, enough);
        a.mov(true, RAX, Rm::R(FUEL));
        a.imm(RDX, 0);
        a.imm(RCX, longest as u64);
        a.g(true, &[0xf7], 6, Rm::R(RCX)); // div
        a.bind(enough);
        if stores(l) > 0 {
            a.lea(LOG, ctx!(lanes.log));
        }
        a.lea(RCX, ctx!(lanes.marks));
        a.store(true, ctx!(lanes.marks_last), RCX);
        a.shift_imm(4, true, RAX, MARK_LOG);
        a.alu(alu::ADD, true, RCX, Rm::R(RAX));
        a.store(true, ctx!(lanes.marks_end), RCX);
        a.store(true, ctx!(lanes.exec), RSI);
        a.store(true, ctx!(lanes.todo), RSI);
        self.begin_lanes(paths.masks.keys().copied(), vgprs, fp_of(l));
    }

    /// Finds out for how many iterations the lane's accesses are permitted. Goes to `out` if the lane may not run any more.
    fn limit_marks(&mut self, lane: &Selected, out: Label, later: &mut Vec<LookUp>) {
        self.a.mov(true, COUNT, Rm::M(ctx!(lanes.marks_end)));
        self.a.alu(alu::SUB, true, COUNT, Rm::R(MARKS));
        self.a.jcc(Cc::Be, out);
        self.a.shift_imm(5, true, COUNT, MARK_LOG);
        self.limit_count(lane, later);
        self.a.shift_imm(4, true, COUNT, MARK_LOG);
        self.a.alu(alu::ADD, true, COUNT, Rm::R(MARKS));
        self.a.store(true, ctx!(lanes.marks_limit), COUNT);
    }

    /// Emits the code of all blocks.
    fn pieces_in_order(
        &mut self,
        pieces: &[Piece],
        paths: &LanePaths,
        targets: Targets,
        later: &mut Vec<LookUp>,
    ) {
        let labels: Map<Place, Label> = pieces.iter().map(|p| (p.place, self.a.label())).collect();
        let label_of = |to: To| match to {
            To::Block(place) => labels.get(&place).copied().unwrap_or(targets.bail),
            To::Again => targets.again,
            To::Left => targets.left,
            To::Never => targets.bail,
        };
        for (n, piece) in pieces.iter().enumerate() {
            self.a.bind(labels[&piece.place]);
            if let Some(bit) = paths.marks[piece.place.0] {
                let marks = Rm::M(mem(MARKS, 0));
                self.a.alu_imm(alu::OR, false, marks, (1u32 << bit) as i32);
            }
            let (taken, after) = match piece.ends {
                Ends::Always(to) => (to, to),
                Ends::By([taken, after]) => (taken, after),
            };
            let exits = Exits {
                bail: targets.bail,
                again: label_of(taken),
            };
            self.lane_steps(&piece.code, &piece.allocated, exits, later);
            let next = pieces.get(n + 1).map(|p| To::Block(p.place));
            if next != Some(after) {
                self.a.jmp(label_of(after));
            }
        }
    }

    /// Writes the registers of a lane that is done, and goes to `next` for the next one.
    fn end_path(&mut self, lane: &Selected, paths: &LanePaths, next: Label) {
        self.a.mov(true, RDX, Rm::M(ctx!(lanes.lane)));
        vgprs_of_lane(self.a);
        self.record(lane);
        self.a.mov(true, RDX, Rm::M(ctx!(lanes.lane)));
        let live = |home: &&Home| match home.what {
            What::Bit(code) => paths.masks[&code],
            _ => true,
        };
        let cleared = |home: &&Home| match home.what {
            What::Bit(code) => paths.cleared.contains(&code),
            _ => false,
        };
        let homes = || lane.homes.iter().filter(live);
        for home in homes().filter(|home| !cleared(home)) {
            self.write_home(home);
        }
        // Only lanes that are as long in the loop as any other have bits of these masks.
        if homes().any(|home| cleared(&home)) {
            let same = self.a.label();
            self.a
                .alu(alu::CMP, true, MARKS, Rm::M(ctx!(lanes.marks_last)));
            self.a.jcc(Cc::B, next);
            self.a.jcc(Cc::E, same);
            self.a.imm(RCX, 0);
            for &code in &paths.cleared {
                self.a
                    .store(true, ctx!(lanes.masks, 4 * code as usize), RCX);
            }
            self.a.bind(same);
            homes()
                .filter(cleared)
                .for_each(|home| self.write_home(home));
        }
        // The scalars are those of the lane that was longest in the loop.
        let a = &mut *self.a;
        a.alu(alu::CMP, true, MARKS, Rm::M(ctx!(lanes.marks_last)));
        a.jcc(Cc::Be, next);
        a.store(true, ctx!(lanes.marks_last), MARKS);
        self.write_last(&lane.homes);
        self.a.jmp(next);
    }

    /// Lets all marks of lanes' iterations be zero. RAX and RCX are clobbered.
    fn clear_marks(&mut self) {
        const _: () = assert!(LANE_ROUNDS.is_multiple_of(2));
        let a = &mut *self.a;
        a.imm(RAX, 0);
        a.lea(RCX, ctx!(lanes.marks));
        let next = a.here();
        a.store(true, mem(RCX, 0), RAX);
        a.alu_imm(alu::ADD, true, Rm::R(RCX), 8);
        a.alu(alu::CMP, true, RCX, Rm::M(ctx!(lanes.marks_end)));
        a.jcc(Cc::B, next);
    }

    /// Subtracts from the fuel what the wave has executed, and lets all marks be zero.
    fn fuel_by_marks(&mut self, l: &LoopBlocks, paths: &LanePaths) {
        let of = |marked: bool| {
            let blocks = l.blocks.iter().zip(&paths.marks);
            blocks.filter(move |b| b.1.is_some() == marked)
        };
        let always: u32 = of(false).map(|b| b.0.insns).sum();
        let a = &mut *self.a;
        a.mov(true, FUEL, Rm::M(ctx!(lanes.fuel)));
        a.lea(RCX, ctx!(lanes.marks));
        a.mov(true, RDX, Rm::M(ctx!(lanes.marks_last)));
        a.mov(true, RSI, Rm::R(RDX));
        a.alu(alu::SUB, true, RSI, Rm::R(RCX));
        a.shift_imm(5, true, RSI, MARK_LOG);
        a.imul_imm(true, RSI, RSI, always as i32);
        a.alu(alu::SUB, true, FUEL, Rm::R(RSI));
        if of(true).count() == 0 {
            return;
        }
        let next = a.here();
        a.mov(false, RAX, Rm::M(mem(RCX, 0)));
        for (c, mark) in of(true) {
            let without = a.label();
            a.test_imm(false, Rm::R(RAX), (1u32 << mark.unwrap_or(0)) as i32);
            a.jcc(Cc::E, without);
            a.alu_imm(alu::SUB, true, Rm::R(FUEL), c.insns as i32);
            a.bind(without);
        }
        a.imm(RAX, 0);
        a.store(false, mem(RCX, 0), RAX);
        a.alu_imm(alu::ADD, true, Rm::R(RCX), MARK);
        a.alu(alu::CMP, true, RCX, Rm::R(RDX));
        a.jcc(Cc::B, next);
    }

    /// Emits what comes after the last lane. Lanes that have not left the loop go on at `more`.
    fn after_paths(&mut self, l: &LoopBlocks, paths: &LanePaths, more: Label) {
        self.usual_registers(fp_of(l));
        self.fuel_by_marks(l, paths);
        let changed = paths.changes.iter().flat_map(|c| &c.sgprs);
        let sgprs: BTreeSet<u8> = changed.map(|w| w.0).collect();
        for code in sgprs.into_iter().filter(|&code| code != SCC_CODE) {
            self.write_scalar(code);
        }
        for (&code, _) in paths.masks.iter().filter(|m| *m.1) {
            if paths.cleared.contains(&code) {
                self.write_mask(code, Some(false));
                continue;
            }
            if let Some(bits) = paths.bits_at_end(code) {
                // The bits of all lanes are known.
                let a = &mut *self.a;
                let lanes = ctx!(lanes.masks, 4 * code as usize);
                a.mov(true, RAX, Rm::M(ctx!(lanes.alive)));
                match bits {
                    [true, true] => a.mov(true, RAX, Rm::M(ctx!(lanes.exec))),
                    [false, false] => a.imm(RAX, 0),
                    [true, false] => a.alu(alu::XOR, true, RAX, Rm::M(ctx!(lanes.exec))),
                    [false, true] => {}
                }
                a.store(true, lanes, RAX);
            }
            self.write_mask(code, None);
        }
        let a = &mut *self.a;
        a.mov(true, RAX, Rm::M(ctx!(lanes.alive)));
        if !paths.alike {
            a.store(true, sgpr_home(EXEC as u8), RAX);
        }
        a.test(true, RAX, RAX);
        a.jcc(Cc::Ne, more);
        self.goto(paths.after);
    }
}

/// Returns the floating-point environment of the blocks that depend on one.
fn fp_of(l: &LoopBlocks) -> Option<FpEnv> {
    l.blocks.iter().find_map(|c| c.fp)
}

/// Returns how many stores an iteration may have.
fn stores(l: &LoopBlocks) -> usize {
    let stores = |c: &&Block| c.effects.store.is_some();
    l.blocks.iter().filter(stores).count()
}

/// The labels that lanes go to.
#[derive(Clone, Copy)]
struct Targets {
    again: Label,
    left: Label,
    bail: Label,
}

impl<'e, 'a, V: Vectors> LaneSelect<'e, 'a, V> {
    /// Returns the selection of a block of a loop before anything is selected.
    fn of_place(
        e: &'e mut Emit<'a, V>,
        (l, paths): (&LoopBlocks, &LanePaths),
        place: Place,
        kept: &Kept,
    ) -> LaneSelect<'e, 'a, V> {
        let mut s = LaneSelect::new(e);
        s.masks = paths.masks.keys().copied().collect();
        s.same_exec = false;
        s.active = place.1;
        if !s.active {
            s.inactive = inactive_bits(s.e.c, |_| Inactive::Unknown);
        }
        s.known.clone_from(&paths.known[&place]);
        s.shared.clone_from(&kept.shared);
        s.out.homes.clone_from(&kept.homes);
        s.stores = stores(l) > 0;
        s.logged = inst::logged(most_stored(&l.blocks));
        s
    }

    /// Selects a block's code for a lane. Returns also the new values of what is kept. The block accesses memory at places from a number on; `by` tells what
    /// each iteration adds to what is kept.
    fn path(
        &mut self,
        changes: &Changes,
        end: End,
        (first_place, by): (usize, &dyn Fn(Home) -> Option<By>),
    ) -> Option<(Ends, Vec<(Home, VReg)>)> {
        let c = self.e.c;
        if self.active {
            self.permit_loads()?;
        }
        for &g in &c.guards {
            if self.active || !c.graph[g as usize].vec {
                self.leave_if(g)?;
            }
        }
        let writes = &c.effects.vgprs;
        let vgpr = |v: u16| writes.iter().find(|w| w.0 == v).map(|w| w.1);
        for home in self.out.homes.iter().filter(|h| h.class == 1) {
            if let What::Vgpr(v) = home.what
                && let Some(id) = vgpr(v)
                && self.used_as[id as usize] == [false; 2]
            {
                // It is loaded as a float.
                self.used_as[id as usize] = [false, true];
            }
        }
        let mut sets = Vec::new();
        for home in self.out.homes.clone() {
            let value = match home.what {
                What::Vgpr(v) if self.active => match vgpr(v) {
                    Some(id) if home.class == 1 => self.float(id)?,
                    Some(id) => self.general(id)?,
                    None => continue,
                },
                What::VgprPair(v) if self.active => match vgpr(v).zip(vgpr(v + 1)) {
                    Some((low, high)) => self.pair(low, high, home.class)?,
                    None => continue,
                },
                What::Sgpr(code) => match changes.sgprs.iter().find(|w| w.0 == code) {
                    Some(&(_, id)) => self.general(id)?,
                    None => continue,
                },
                What::SgprPair(code) => {
                    let scalar = |code: u8| changes.sgprs.iter().find(|w| w.0 == code);
                    match scalar(code).zip(scalar(code + 1)) {
                        Some((low, high)) => self.join(low.1, high.1)?,
                        None => continue,
                    }
                }
                What::Bit(code) => match changes.masks.iter().find(|m| m.0 == code) {
                    Some(&(_, value)) => self.new_bit(value)?,
                    None => continue,
                },
                _ => continue,
            };
            sets.push((home, value));
        }
        let (ends, condition) = match end {
            End::Always(to) => (Ends::Always(to), None),
            End::Lane(exec, to) => self.by_exec(exec, to)?,
            End::All(when, to) => (Ends::By(to), Some((self.general(when)?, true))),
        };
        let last = condition.map(|(of, when)| self.end(of, when));
        for (home, r) in &mut sets {
            *r = self.copied(*r, home.class);
        }
        if self.active && self.stores {
            self.store_where(first_place, |s, address| s.steps_by(address, by))?;
        } else if self.stores && self.has_unrecorded() {
            // A scalar that no active lane may load.
            return None;
        }
        for &(home, r) in &sets {
            self.push(L::SetHome(home), &[(r, Role::Use)]);
        }
        if let Some((op, operands)) = last {
            self.push(op, &operands);
        }
        Some((ends, sets))
    }

    /// Returns the number of 64 bits that has these halves, in a register of a class.
    fn pair(&mut self, low: Id, high: Id, class: Class) -> Option<VReg> {
        match (self.halves(low, high), class) {
            (Joined::Value(id), 1) => self.float(id),
            (_, 1) => {
                if let Some(home) = self.kept_float(low, high) {
                    return Some(self.kept_value(home));
                }
                let r = self.join(low, high)?;
                Some(self.result(L::ToFloat(true), &[(r, Role::Use)], 1))
            }
            _ => self.join(low, high),
        }
    }

    fn new_bit(&mut self, value: Value) -> Option<VReg> {
        match value {
            Value::Mask(id) => self.bit(id),
            Value::Bits(bit) => Some(self.imm(bit as u64)),
        }
    }

    /// Returns how a block ends that changes EXEC, and the truth value for which a lane continues at the first place, if it has a choice.
    fn by_exec(&mut self, exec: Value, to: [To; 2]) -> Option<(Ends, Option<(VReg, bool)>)> {
        let (of, when) = match exec {
            Value::Mask(mask) => self.goes_on(mask)?,
            Value::Bits(bit) => (self.imm(bit as u64), true),
        };
        if let Some(bit) = self.known_bit(of) {
            return Some((Ends::Always(to[(bit != when) as usize]), None));
        }
        // A lane that goes on to the next iteration jumps there, otherwise the next block comes next.
        let [active, inactive] = to;
        Some(match active {
            To::Block(_) => (Ends::By([inactive, active]), Some((of, !when))),
            _ => (Ends::By(to), Some((of, when))),
        })
    }
}
