//! Loops that run for one lane after the other ([`LaneLoop`]): scalar code with the lane's values in registers.
//!
//! Where a wave enters such a loop, it is chosen whether vector code runs it, or this code (`runtime/lane_loops.rs`). A lane runs until it leaves
//! the loop, or until the wave's fuel would be spent. Then its registers are written, and the next lane begins where the first one did. The wave
//! has executed as many iterations as the lane that was longest in the loop.
//!
//! If something fails (an access that is not permitted, a NaN that is observed, an operand that a fast path excludes) the registers are restored,
//! what was stored is undone, and vector code begins again with all lanes.
//!
//! A loop that stores runs for some iterations at a time, as many as the log of what was in memory before has entries for. After the last lane it is
//! checked that no lane has accessed what another one has stored. If one has, all this is undone, too.

use super::machine::plus;
use super::range::Range;
use super::*;
use crate::context::{
    LANE_ACCESSES, LANE_LOG, LANE_LOOPS, LANE_SPILLS, LANE_VGPRS, LaneLoopChoice, Places,
};
use crate::lir::regalloc::{Allocation, Location, Step, allocate};
use crate::lir::{Class, Code, VReg};
use crate::passes::lane_loop::{Again, LaneLoop, Mask};
use encode::vex::{H, LOAD, STORE};

pub(super) mod block;
mod floats;
mod fold;
mod halves;
mod in_place;
mod inst;
mod limits;
mod paths;
mod select;

use inst::{
    Elements, Exits, Home, L, LOG, LookUp, Operands, What, load_to, register, spill_slot,
    store_from,
};
use limits::Limit;
use select::{By, LaneSelect, Selected, Steps};

/// The options of the passes for the code of lanes.
pub(super) fn options() -> passes::Options {
    passes::Options {
        exact: false,
        precise: false,
        registers: 0,
        truths_in_registers: false,
        ternary_logic: false,
        selections: false,
    }
}

/// The number of the choice for a loop.
pub(super) fn choice_of(start: u64) -> usize {
    ((start >> 2) ^ (start >> 8)) as usize % LANE_LOOPS
}

/// A field of the choice for a loop.
fn choice(start: u64, field: usize) -> Mem {
    let at = choice_of(start) * size_of::<LaneLoopChoice>() + field;
    ctx!(lanes.choices, at)
}

/// The VGPRs that a block changes.
fn vgprs_of(c: &Block) -> Vec<u16> {
    c.effects.vgprs.iter().map(|w| w.0).collect()
}

/// RAX becomes the address of the first VGPR of the lane whose number is in RDX.
fn vgprs_of_lane(a: &mut Asm) {
    a.mov(true, RAX, Rm::M(ctx!(current.vgprs)));
    let lane = Mem {
        index: Some((RDX, 4)),
        ..mem(RAX, 0)
    };
    a.lea(RAX, lane);
}

/// The VGPR of the lane whose first VGPR is at an address.
fn of_lane(base: Gpr, v: u16) -> Mem {
    mem(base, 256 * v as i32)
}

/// A register becomes the number of 64 bits in two VGPRs of the lane whose first VGPR is at RAX. The other register is clobbered.
fn load_pair(a: &mut Asm, to: Gpr, v: u16, temporary: Gpr) {
    a.mov(false, to, Rm::M(of_lane(RAX, v + 1)));
    a.shift_imm(4, true, to, 32);
    a.mov(false, temporary, Rm::M(of_lane(RAX, v)));
    a.alu(alu::OR, true, to, Rm::R(temporary));
}

/// A register becomes an integer that iterations keep.
fn kept_integer(a: &mut Asm, to: Gpr, home: &Home) {
    match home.register {
        Some(r) if home.class == 1 => inst::integer_of(a, to, r),
        Some(r) => a.mov(true, to, Rm::R(r)),
        None => a.mov(home.wide(), to, Rm::M(home.memory())),
    }
}

/// A register becomes what is added to a number in each iteration, with a sign.
fn load_step(a: &mut Asm, to: Gpr, steps: &Steps) {
    match steps.by {
        By::Imm(by) => a.imm(to, by as i64 as u64),
        By::Memory(m, true) => a.mov(true, to, Rm::M(m)),
        By::Memory(m, false) if steps.home.wide() => a.mov(false, to, Rm::M(m)),
        By::Memory(m, false) => a.movsxd(to, Rm::M(m)),
    }
}

/// Records the range between the first and the last of the lane's accesses at an address that changes by steps. RAX: the lane's first VGPR, as it was
/// at the beginning. RCX, RSI, RDI and R8 are clobbered.
fn record_steps(a: &mut Asm, steps: &Steps, of: Elements, to: [Mem; 2]) {
    /// The most by which numbers of 32 bits may change in an iteration: in all iterations for which the log suffices, they do not come back to
    /// where they were.
    const MOST: i32 = 1 << 24;
    const _: () = assert!((LANE_LOG / 64) as i64 * MOST as i64 <= 1 << 30);
    let home = &steps.home;
    let wide = home.wide();
    // The first value is where it was, and the home has the one after the last.
    match home.what {
        What::SgprPair(code) | What::Sgpr(code) => a.mov(wide, RCX, Rm::M(sgpr_home(code))),
        What::Vgpr(v) => a.mov(false, RCX, Rm::M(of_lane(RAX, v))),
        What::VgprPair(v) => load_pair(a, RCX, v, RSI),
        What::Bit(_) => {}
    }
    kept_integer(a, RSI, home);
    load_step(a, RDI, steps);
    a.alu(alu::SUB, wide, RSI, Rm::R(RDI));
    let (known, unknown) = (a.label(), a.label());
    if !wide {
        a.alu_imm(alu::ADD, true, Rm::R(RDI), MOST);
        a.alu_imm(alu::CMP, true, Rm::R(RDI), 2 * MOST);
        a.jcc(Cc::A, unknown);
        if steps.signed {
            a.movsxd(RCX, Rm::R(RCX));
            a.movsxd(RSI, Rm::R(RSI));
        }
        // A number that has wrapped is far from the first one.
        a.mov(true, RDI, Rm::R(RSI));
        a.alu(alu::SUB, true, RDI, Rm::R(RCX));
        a.movsxd(R8, Rm::R(RDI));
        a.alu(alu::CMP, true, R8, Rm::R(RDI));
        a.jcc(Cc::Ne, unknown);
        if steps.shift > 0 {
            a.shift_imm(4, true, RCX, steps.shift);
            a.shift_imm(4, true, RSI, steps.shift);
        }
    }
    for &(m, wide) in &steps.plus {
        a.mov(wide, RDI, Rm::M(m));
        a.alu(alu::ADD, true, RCX, Rm::R(RDI));
        a.alu(alu::ADD, true, RSI, Rm::R(RDI));
    }
    a.alu_imm(alu::ADD, true, Rm::R(RCX), of.offset);
    a.alu_imm(alu::ADD, true, Rm::R(RSI), of.offset);
    // Both are addresses that were permitted, so steps of 64 bits do not wrap.
    a.mov(true, RDI, Rm::R(RCX));
    a.alu(alu::CMP, true, RCX, Rm::R(RSI));
    a.cmov(Cc::A, true, RCX, Rm::R(RSI));
    a.cmov(Cc::B, true, RDI, Rm::R(RSI));
    a.alu_imm(alu::ADD, true, Rm::R(RDI), of.bytes as i32);
    a.jmp(known);
    a.bind(unknown);
    a.imm(RCX, 0);
    a.imm(RDI, u64::MAX);
    a.bind(known);
    a.store(true, to[0], RCX);
    a.store(true, to[1], RDI);
}

impl<V: Vectors> Emit<'_, V> {
    /// Emits the code by which a wave enters the loop: it goes to `vector`, which comes next, for the code of all lanes. If there is no code for
    /// single lanes, emits nothing.
    pub(super) fn lane_loop(&mut self, vector: Label) {
        let (Some(l), Some([choose, range, conflicts])) =
            (LaneLoop::of(self.c), self.common.lanes_call)
        else {
            return;
        };
        let c = self.c;
        if c.effects.vgprs.len() > LANE_VGPRS {
            return;
        }
        let Some(selected) = LaneSelect::select(self, &l) else {
            return;
        };
        let allocated = allocate(&selected.code, selected.registers);
        let Some(allocated) = allocated.filter(|a| a.slots as usize <= LANE_SPILLS) else {
            return;
        };
        self.choose(choose, vector);
        let (next, done, out) = (self.a.label(), self.a.label(), self.a.label());
        let (end, spent, bail) = (self.a.label(), self.a.label(), self.a.label());
        let more = self.a.here();
        self.before_lanes(&l, vector);
        self.a.bind(next);
        self.begin_lane(&selected, done);
        let mut later = Vec::new();
        let limited = self.a.here();
        if !selected.limits.is_empty() {
            self.limit(&selected, spent, &mut later);
        }
        let again = self.a.here();
        self.a.alu_imm(alu::SUB, true, Rm::R(FUEL), c.insns as i32);
        self.a.jcc(Cc::S, out);
        let exits = Exits { bail, again };
        self.lane_steps(&selected.code, &allocated, exits, &mut later);
        self.fuel_set_aside(&selected);
        self.a.bind(end);
        self.check_at_end(&selected, bail);
        self.end_lane(&l, &selected, next, bail);
        self.a.bind(out);
        self.a.alu_imm(alu::ADD, true, Rm::R(FUEL), c.insns as i32);
        if !selected.limits.is_empty() {
            self.fuel_set_aside(&selected);
            self.a.jmp(limited);
        }
        self.a.bind(spent);
        self.lane_goes_on();
        self.a.jmp(end);
        self.look_up(later, range, bail);
        self.a.bind(bail);
        if c.effects.store.is_some() {
            self.undo(std::slice::from_ref(c));
        }
        self.restore(vector);
        self.a.bind(done);
        if c.effects.store.is_some() {
            self.unless_conflicts(&selected, conflicts, bail);
        }
        self.after_lanes(&l, more, vector);
    }

    /// Emits allocated code. Look-ups of memory are left for after the loop.
    fn lane_steps(
        &mut self,
        code: &Code<L>,
        allocated: &Allocation,
        exits: Exits,
        later: &mut Vec<LookUp>,
    ) {
        for step in &allocated.steps {
            match *step {
                Step::Inst { inst, locations } => {
                    let operands = Operands {
                        code,
                        locations: allocated.locations(code, inst, locations),
                        roles: code.operands(inst),
                        kept: None,
                        element: None,
                    };
                    let op = code.insts[inst as usize].op.clone();
                    op.encode(self, &operands, exits, later);
                }
                Step::Spill { class, reg, slot } => {
                    store_from(self.a, class, register(class, reg), spill_slot(slot), true);
                }
                Step::Reload { class, reg, slot } => {
                    load_to(self.a, class, register(class, reg), spill_slot(slot), true);
                }
                Step::Move { class, from, to } => {
                    inst::move_to(self.a, class, register(class, from), register(class, to));
                }
            }
        }
    }

    /// Chooses between the code of all lanes and that of single ones. `call` calls the helper.
    fn choose(&mut self, call: Label, vector: Label) {
        let start = self.c.start;
        let (ask, chosen, lanes) = (self.a.label(), self.a.label(), self.a.label());
        self.a.imm(RAX, start);
        let tag = choice(start, offset_of!(LaneLoopChoice, tag));
        self.a.alu(alu::CMP, true, RAX, Rm::M(tag));
        self.a.jcc(Cc::Ne, ask);
        let left = choice(start, offset_of!(LaneLoopChoice, left));
        self.a.alu_imm(alu::SUB, false, Rm::M(left), 1);
        self.a.jcc(Cc::B, ask);
        self.a.bind(chosen);
        self.a
            .cmp8(choice(start, offset_of!(LaneLoopChoice, by_lane)), 0);
        self.a.jcc(Cc::Ne, lanes);
        self.a.jmp(vector);
        self.a.bind(ask);
        self.a.imm(RAX, start);
        self.a.store(true, ctx!(lanes.lane), RAX);
        self.a.imm(RSI, choice_of(start) as u64);
        self.a.call_label(call);
        self.a.jmp(chosen);
        self.a.bind(lanes);
    }

    /// Emits what comes before the first lane.
    fn before_lanes(&mut self, l: &LaneLoop, vector: Label) {
        let c = self.c;
        let a = &mut *self.a;
        a.alu_imm(alu::CMP, true, Rm::R(FUEL), c.insns as i32);
        a.jcc(Cc::L, vector);
        a.mov(true, RAX, Rm::M(sgpr_home(EXEC as u8)));
        a.test(true, RAX, RAX);
        a.jcc(Cc::E, vector);
        if let Some(left) = l.left {
            a.g(true, &[0x85], RAX, Rm::M(sgpr_home(left))); // test
            a.jcc(Cc::Ne, vector);
        }
        a.store(true, ctx!(lanes.exec), RAX);
        a.store(true, ctx!(lanes.todo), RAX);
        if c.effects.store.is_some() {
            // All lanes run so many iterations that the log suffices.
            let iterations = LANE_LOG / 64;
            let most = (iterations * c.insns as usize) as i32;
            a.mov(true, RAX, Rm::R(FUEL));
            a.imm(RCX, 0);
            a.alu_imm(alu::SUB, true, Rm::R(RAX), most);
            a.cmov(Cc::S, true, RAX, Rm::R(RCX));
            a.store(true, ctx!(lanes.held), RAX);
            a.alu(alu::SUB, true, FUEL, Rm::R(RAX));
            a.lea(LOG, ctx!(lanes.log));
        }
        a.imm(RAX, i64::MAX as u64);
        a.store(true, ctx!(lanes.least), RAX);
        let masks: Vec<u8> = l.masks.iter().map(|m| m.code).collect();
        self.begin_lanes(masks, &vgprs_of(c), c.fp);
    }

    /// Keeps the fuel and the VGPRs as they are before the first lane, lets no lane's bits of masks be set yet, and sets the floating-point environment. RAX is
    /// clobbered.
    fn begin_lanes(
        &mut self,
        masks: impl IntoIterator<Item = u8>,
        vgprs: &[u16],
        fp: Option<FpEnv>,
    ) {
        let a = &mut *self.a;
        a.store(true, ctx!(lanes.fuel), FUEL);
        a.imm(RAX, 0);
        a.store(true, ctx!(lanes.alive), RAX);
        for code in masks {
            a.store(true, ctx!(lanes.masks, 4 * code as usize), RAX);
        }
        self.copy_vgprs(vgprs, false);
        if let Some(key) = fp.filter(|&k| k != self.common.default) {
            self.a.ldmxcsr(mxcsr_of(key));
        }
    }

    /// The lane has not left the loop. RCX and RDX are clobbered.
    fn lane_goes_on(&mut self) {
        self.a.mov(true, RDX, Rm::M(ctx!(lanes.lane)));
        self.a.imm(RCX, 1);
        self.a.shift_by(1, true, RCX, RCX, RDX);
        self.a.g(true, &[0x09], RCX, Rm::M(ctx!(lanes.alive))); // or
    }

    /// Loads the next lane's registers, or goes to `done` if there is none.
    fn begin_lane(&mut self, s: &Selected, done: Label) {
        let a = &mut *self.a;
        a.mov(true, RCX, Rm::M(ctx!(lanes.todo)));
        a.test(true, RCX, RCX);
        a.jcc(Cc::E, done);
        a.tzcnt(true, RDX, RCX);
        a.blsr(true, RCX, RCX);
        a.store(true, ctx!(lanes.todo), RCX);
        a.store(true, ctx!(lanes.lane), RDX);
        vgprs_of_lane(a);
        for &v in &s.vgprs {
            a.mov(false, RCX, Rm::M(of_lane(RAX, v)));
            a.store(false, inst::vgpr_image(v), RCX);
        }
        for &v in &s.highs {
            a.mov(false, RCX, Rm::M(of_lane(RAX, v)));
            a.shift_imm(4, true, RCX, 32);
            a.store(true, inst::high_image(v), RCX);
        }
        let bits = s.homes.iter().filter_map(|h| match h.what {
            What::Bit(code) => Some((code, Some(*h))),
            _ => None,
        });
        for (code, home) in bits.chain(s.bits.iter().map(|&code| (code, None))) {
            a.mov(true, RCX, Rm::M(sgpr_home(code)));
            a.shift_by(3, true, RCX, RCX, RDX);
            a.alu_imm(alu::AND, false, Rm::R(RCX), 1);
            match home.and_then(|h| h.register) {
                Some(r) => a.mov(true, r, Rm::R(RCX)),
                None => a.store(true, inst::bit_image(code), RCX),
            }
        }
        for home in &s.homes {
            match (home.what, home.register) {
                (What::Vgpr(v), Some(r)) => load_to(a, home.class, r, of_lane(RAX, v), false),
                (What::VgprPair(v), Some(r)) if home.class == 0 => load_pair(a, r, v, RCX),
                (What::VgprPair(v), Some(r)) => {
                    load_pair(a, RCX, v, RSI);
                    inst::float_of(a, r, RCX);
                }
                (What::Sgpr(code) | What::SgprPair(code), register) => {
                    let r = register.unwrap_or(RCX);
                    a.mov(home.wide(), r, Rm::M(sgpr_home(code)));
                    if register.is_none() {
                        a.store(home.wide(), home.memory(), r);
                    }
                }
                _ => {}
            }
        }
        a.mov(true, FUEL, Rm::M(ctx!(lanes.fuel)));
        for (place, _) in (0..).zip(&s.places).filter(|p| p.1.steps.is_none()) {
            self.a.imm(RCX, u64::MAX);
            self.a.store(true, inst::reached(place, 0), RCX);
            self.a.imm(RCX, 0);
            self.a.store(true, inst::reached(place, 1), RCX);
        }
    }

    /// Records where a lane that is done has accessed memory. Its number is in RDX. The other registers that keep no values are clobbered.
    fn record(&mut self, s: &Selected) {
        let a = &mut *self.a;
        if s.places.is_empty() {
            return;
        }
        a.shift_imm(4, true, RDX, 4);
        for (number, place) in (0..).zip(&s.places) {
            let of_lane = |k: usize| Mem {
                index: Some((RDX, 1)),
                ..ctx!(lanes.accessed, 1024 * number as usize + 8 * k)
            };
            let Some(steps) = &place.steps else {
                a.mov(true, RCX, Rm::M(inst::reached(number, 0)));
                a.store(true, of_lane(0), RCX);
                a.mov(true, RCX, Rm::M(inst::reached(number, 1)));
                a.alu_imm(alu::ADD, true, Rm::R(RCX), place.of.bytes as i32);
                a.store(true, of_lane(1), RCX);
                continue;
            };
            record_steps(a, steps, place.of, [of_lane(0), of_lane(1)]);
        }
    }

    /// Checks the floats of which a NaN would have lasted until the end.
    fn check_at_end(&mut self, s: &Selected, bail: Label) {
        for home in s.homes.iter().filter(|h| s.checks.contains(&h.what)) {
            let r = home.register.unwrap_or(0);
            if home.register.is_none() {
                load_to(self.a, 1, r, home.memory(), home.wide());
            }
            inst::compare_floats(self.a, r, H::R(r), home.wide());
            self.a.jcc(Cc::P, bail);
        }
    }

    /// Writes the registers of a lane that is done, and goes to `next` for the next one.
    fn end_lane(&mut self, l: &LaneLoop, s: &Selected, next: Label, bail: Label) {
        let homes = &s.homes;
        self.a.mov(true, RDX, Rm::M(ctx!(lanes.lane)));
        vgprs_of_lane(self.a);
        self.record(s);
        if !s.places.is_empty() {
            self.a.mov(true, RDX, Rm::M(ctx!(lanes.lane)));
        }
        for home in homes {
            self.write_home(home);
        }
        let a = &mut *self.a;
        // The scalars are those of the lane that was longest in the loop.
        a.alu(alu::CMP, true, FUEL, Rm::M(ctx!(lanes.least)));
        if let Again::Alike(_) = l.again {
            // All lanes must leave in the same iteration.
            a.jcc(Cc::E, next);
            a.imm(RCX, i64::MAX as u64);
            a.alu(alu::CMP, true, RCX, Rm::M(ctx!(lanes.least)));
            a.jcc(Cc::Ne, bail);
        } else {
            a.jcc(Cc::Ge, next);
        }
        a.store(true, ctx!(lanes.least), FUEL);
        self.write_last(homes);
        self.a.jmp(next);
    }

    /// Writes a VGPR of a lane that is done, or its bit of a mask. RAX: its first VGPR. RDX: its number. RCX is clobbered.
    fn write_home(&mut self, home: &Home) {
        let a = &mut *self.a;
        match (home.what, home.register) {
            (What::Vgpr(v), Some(r)) => store_from(a, home.class, r, of_lane(RAX, v), false),
            (What::Vgpr(v), None) => {
                kept_integer(a, RCX, home);
                a.store(false, of_lane(RAX, v), RCX);
            }
            (What::VgprPair(v), _) => {
                kept_integer(a, RCX, home);
                a.store(false, of_lane(RAX, v), RCX);
                a.shift_imm(5, true, RCX, 32);
                a.store(false, of_lane(RAX, v + 1), RCX);
            }
            (What::Bit(code), _) => {
                kept_integer(a, RCX, home);
                a.shift_by(1, true, RCX, RCX, RDX);
                a.g(
                    true,
                    &[0x09],
                    RCX,
                    Rm::M(ctx!(lanes.masks, 4 * code as usize)),
                );
            }
            _ => {}
        }
    }

    /// Keeps the scalars of the lane that has been longest in the loop so far. RCX is clobbered.
    fn write_last(&mut self, homes: &[Home]) {
        let a = &mut *self.a;
        for home in homes {
            if let What::Sgpr(code) | What::SgprPair(code) = home.what {
                kept_integer(a, RCX, home);
                a.store(home.wide(), ctx!(lanes.last, 4 * code as usize), RCX);
            }
        }
    }

    /// Emits the look-ups of memory around addresses. `call` calls the helper.
    fn look_up(&mut self, later: Vec<LookUp>, call: Label, bail: Label) {
        for l in later {
            self.a.bind(l.from);
            self.a.push(RSI);
            self.a.push(RSI);
            self.a.lea(RAX, l.at);
            self.a.store(true, ctx!(lookup.address), RAX);
            self.ask_range((l.bytes as u64) << 32 | l.need as u64, l.range);
            self.a.call_label(call);
            self.a.pop(RSI);
            self.a.pop(RSI);
            self.a.test(false, RAX, RAX);
            self.a.jcc(Cc::Ne, bail);
            self.tag(l.range);
            if l.at.base == RAX {
                self.a.mov(true, RAX, Rm::M(ctx!(lookup.address)));
            }
            self.a.jmp(l.back);
        }
    }

    /// Gives R12 and R14 back their meanings between blocks.
    fn wave_registers(&mut self) {
        self.a.mov(true, VGPRS, Rm::M(ctx!(current.vgprs)));
        self.a.lea(VGPRS, mem(VGPRS, VGPR_BIAS * 256));
        self.a.mov(true, PAGES, Rm::M(ctx!(memory.pages)));
    }

    /// Gives registers back their meanings between blocks, after code with a floating-point environment.
    fn usual_registers(&mut self, fp: Option<FpEnv>) {
        self.wave_registers();
        if fp.is_some_and(|k| k != self.common.default) {
            self.a.ldmxcsr(mxcsr_of(self.common.default));
        }
    }

    /// Saves VGPRs, or gives them their old values back.
    fn copy_vgprs(&mut self, vgprs: &[u16], back: bool) {
        for (k, &v) in vgprs.iter().enumerate() {
            for part in 0..2 * self.common.slices as i32 {
                let own = plus(vgpr_line(v, 0), 32 * part);
                let saved = plus(ctx!(lanes.saved, 256 * k), 32 * part);
                let (from, to) = if back { (saved, own) } else { (own, saved) };
                self.a.y(LOAD, part as u8, 0, H::M(from));
                self.a.y(STORE, part as u8, 0, H::M(to));
            }
        }
    }

    /// Writes a scalar register after the last lane, as the lane had it that was longest in the loop. RAX is clobbered.
    fn write_scalar(&mut self, code: u8) {
        let last = ctx!(lanes.last, 4 * code as usize);
        self.a.mov(false, RAX, Rm::M(last));
        self.a.store(false, sgpr_home(code), RAX);
    }

    /// Writes a mask after the last lane: the bits of the lanes, and of those that were not active, which stay as they are unless `inactive` tells
    /// otherwise. RAX is clobbered.
    fn write_mask(&mut self, code: u8, inactive: Option<bool>) {
        let a = &mut *self.a;
        if inactive == Some(false) {
            a.imm(RAX, 0);
        } else {
            a.mov(true, RAX, Rm::M(ctx!(lanes.exec)));
            a.g(true, &[0xf7], 2, Rm::R(RAX)); // not
        }
        if inactive.is_none() {
            a.alu(alu::AND, true, RAX, Rm::M(sgpr_home(code)));
        }
        let lanes = ctx!(lanes.masks, 4 * code as usize);
        a.alu(alu::OR, true, RAX, Rm::M(lanes));
        a.store(true, sgpr_home(code), RAX);
    }

    /// Goes to `bail` if lanes may depend on each other. `call` calls the helper.
    fn unless_conflicts(&mut self, s: &Selected, call: Label, bail: Label) {
        self.a.imm(RSI, select::encoded(&s.places));
        self.a.call_label(call);
        self.a.test(false, RAX, RAX);
        self.a.jcc(Cc::Ne, bail);
    }

    /// Gives memory back what was there before the lanes' stores, the last one first.
    fn undo(&mut self, blocks: &[Block]) {
        let a = &mut *self.a;
        let done = a.label();
        a.lea(RSI, ctx!(lanes.log));
        let next = a.here();
        a.alu(alu::CMP, true, LOG, Rm::R(RSI));
        a.jcc(Cc::Be, done);
        let size = inst::logged(select::most_stored(blocks));
        a.alu_imm(alu::SUB, true, Rm::R(LOG), size);
        a.mov(true, RCX, Rm::M(mem(LOG, 0)));
        a.mov(false, RDX, Rm::M(mem(LOG, 8)));
        a.mov(false, RAX, Rm::M(mem(LOG, inst::LOGGED_DATA)));
        for bytes in [1, 2] {
            let other = a.label();
            a.alu_imm(alu::CMP, false, Rm::R(RDX), bytes);
            a.jcc(Cc::Ne, other);
            inst::store_bytes(a, 0, bytes as u16, RAX, guest_memory(RCX, 0));
            a.jmp(next);
            a.bind(other);
        }
        a.alu(alu::ADD, true, RCX, Rm::R(RDX));
        a.alu(alu::ADD, true, RDX, Rm::R(LOG));
        let dword = a.here();
        a.alu_imm(alu::SUB, true, Rm::R(RCX), 4);
        a.alu_imm(alu::SUB, true, Rm::R(RDX), 4);
        a.mov(false, RAX, Rm::M(mem(RDX, inst::LOGGED_DATA)));
        inst::store_bytes(a, 0, 4, RAX, guest_memory(RCX, 0));
        a.alu(alu::CMP, true, RDX, Rm::R(LOG));
        a.jcc(Cc::Ne, dword);
        a.jmp(next);
        a.bind(done);
    }

    /// The fuel becomes a number in the context, and what was held back.
    fn fuel_again(&mut self, left: Mem) {
        self.a.mov(true, FUEL, Rm::M(left));
        if self.c.effects.store.is_some() {
            self.a.alu(alu::ADD, true, FUEL, Rm::M(ctx!(lanes.held)));
        }
    }

    /// Restores the state at the loop's beginning.
    fn restore(&mut self, vector: Label) {
        self.usual_registers(self.c.fp);
        self.copy_vgprs(&vgprs_of(self.c), true);
        self.fuel_again(ctx!(lanes.fuel));
        self.a.jmp(vector);
    }

    /// Emits what comes after the last lane. If the loop stores, lanes that have not left it go on at `more`.
    fn after_lanes(&mut self, l: &LaneLoop, more: Label, vector: Label) {
        self.usual_registers(self.c.fp);
        self.fuel_again(ctx!(lanes.least));
        for &(code, _) in &l.sgprs {
            self.write_scalar(code);
        }
        let a = &mut *self.a;
        if let Some(left) = l.left {
            a.mov(true, RAX, Rm::M(ctx!(lanes.alive)));
            a.g(true, &[0xf7], 2, Rm::R(RAX)); // not
            a.alu(alu::AND, true, RAX, Rm::M(ctx!(lanes.exec)));
            a.store(true, ctx!(lanes.masks, 4 * left as usize), RAX);
        }
        for &Mask { code, inactive, .. } in &l.masks {
            self.write_mask(code, inactive);
        }
        let a = &mut *self.a;
        a.mov(true, RAX, Rm::M(ctx!(lanes.alive)));
        if let Again::Lane(_) = l.again {
            a.store(true, sgpr_home(EXEC as u8), RAX);
        }
        // The fuel of these lanes is spent: vector code stops at once, unless some was held back.
        if let Some(left) = l.scc {
            a.test(true, RAX, RAX);
            let cc = if left { Cc::E } else { Cc::Ne };
            a.setcc_to(cc, scalar::scc_home());
        }
        a.test(true, RAX, RAX);
        let stores = self.c.effects.store.is_some();
        a.jcc(Cc::Ne, if stores { more } else { vector });
        let Terminator::Branch { taken, next, .. } = self.c.terminator else {
            return;
        };
        self.goto(if taken == self.c.start { next } else { taken });
    }
}
