//! Accesses at addresses that change by steps: for how many iterations they are permitted is computed before the first one, so that no iteration checks
//! them. The lane's fuel is divided: what these iterations do not need is set aside, and when the rest is spent, the number is computed again.

use super::select::{By, Steps};
use super::*;

/// An access of each iteration.
pub(super) struct Limit {
    pub of: Elements,
    pub range: Range,
    /// The permission: 1 to load, 2 to store.
    pub need: u8,
    pub steps: Steps,
}

/// The number of iterations, and the others that are computed with. No values are kept in these.
pub(super) const COUNT: Gpr = R8;
const STEP: Gpr = RSI;

/// The most by which a number of 32 bits may change in an iteration, and the most iterations if one does: it changes by less than 2^29.
const MOST: i32 = 1 << 12;
const ITERATIONS: u64 = 1 << 16;

impl<V: Vectors> Emit<'_, V> {
    /// Divides the fuel of a lane, whose next iteration begins. Goes to `spent` if it does not suffice for an iteration.
    pub(super) fn limit(&mut self, s: &Selected, spent: Label, later: &mut Vec<LookUp>) {
        let insns = self.c.insns as i32;
        self.a.alu_imm(alu::CMP, true, Rm::R(FUEL), insns);
        self.a.jcc(Cc::L, spent);
        let narrow = s.limits.iter().any(|l| !l.steps.home.wide());
        let most = if narrow { ITERATIONS } else { i32::MAX as u64 };
        self.a.imm(COUNT, most);
        self.limit_count(s, later);
        let a = &mut *self.a;
        a.imul_imm(true, COUNT, COUNT, insns);
        a.imm(RDX, 0);
        a.mov(true, RCX, Rm::R(FUEL));
        a.alu(alu::SUB, true, RCX, Rm::R(COUNT));
        a.cmov(Cc::S, true, RCX, Rm::R(RDX));
        a.store(true, ctx!(lanes.aside), RCX);
        a.alu(alu::SUB, true, FUEL, Rm::R(RCX));
    }

    /// Limits the number of iterations in [`COUNT`] to those for which all accesses are permitted.
    pub(super) fn limit_count(&mut self, s: &Selected, later: &mut Vec<LookUp>) {
        for l in &s.limits {
            self.limit_of(l, later);
        }
    }

    /// Gives a lane the fuel that was set aside for it.
    pub(super) fn fuel_set_aside(&mut self, s: &Selected) {
        if !s.limits.is_empty() {
            self.a.alu(alu::ADD, true, FUEL, Rm::M(ctx!(lanes.aside)));
        }
    }

    /// The number of iterations becomes the one for which an access is permitted, if that is smaller.
    fn limit_of(&mut self, l: &Limit, later: &mut Vec<LookUp>) {
        let (one, done) = (self.a.label(), self.a.label());
        self.address(l);
        let (from, back, known) = (self.a.label(), self.a.label(), self.a.label());
        self.check_tag(l.range, from);
        self.within(l.range, RCX, RDX);
        self.a.jcc(Cc::B, known);
        self.a.jmp(from);
        self.a.bind(back);
        self.a.mov(true, RCX, Rm::M(ctx!(lookup.address)));
        self.within(l.range, RCX, RDX);
        self.a.jcc(Cc::B, known);
        // This access is permitted, but there is no range around it.
        self.a.bind(one);
        self.a.imm(COUNT, 1);
        self.a.jmp(done);
        self.a.bind(known);
        later.push(LookUp {
            from,
            back,
            at: mem(RCX, 0),
            range: l.range,
            bytes: l.of.bytes as i32,
            need: l.need,
        });
        self.iterations(l, one, done);
        self.a.alu_imm(alu::ADD, true, Rm::R(RAX), 1);
        self.a.alu(alu::CMP, true, RAX, Rm::R(COUNT));
        self.a.cmov(Cc::B, true, COUNT, Rm::R(RAX));
        self.a.bind(done);
    }

    /// RCX becomes the address of the next iteration's access. If later ones may not be that plus steps, the number of iterations becomes 1. RSI is
    /// clobbered.
    fn address(&mut self, l: &Limit) {
        let steps = &l.steps;
        let a = &mut *self.a;
        kept_integer(a, RCX, &steps.home);
        if !steps.home.wide() {
            // Before the last iteration, the number must stay far from where it wraps.
            let far = a.label();
            let (least, span) = match (steps.signed, steps.by) {
                (true, _) => (-(1 << 30), i32::MAX),
                (false, By::Imm(1..)) => (0, i32::MAX),
                _ => (1 << 29, 1 << 30),
            };
            a.g(false, &[0x8d], STEP, Rm::M(mem(RCX, -least)));
            a.alu_imm(alu::CMP, false, Rm::R(STEP), span);
            a.jcc(Cc::Be, far);
            a.imm(COUNT, 1);
            a.bind(far);
            if steps.signed {
                a.movsxd(RCX, Rm::R(RCX));
            }
            if steps.shift > 0 {
                a.shift_imm(4, true, RCX, steps.shift);
            }
        }
        for &(m, wide) in &steps.plus {
            if wide {
                a.alu(alu::ADD, true, RCX, Rm::M(m));
            } else {
                a.mov(false, STEP, Rm::M(m));
                a.alu(alu::ADD, true, RCX, Rm::R(STEP));
            }
        }
        if l.of.offset != 0 {
            a.alu_imm(alu::ADD, true, Rm::R(RCX), l.of.offset);
        }
    }

    /// RAX becomes the number of iterations after this one for which an access is permitted. The distance from the range's start is in RDX, and below the
    /// range's length. Goes to `done` if there is no limit.
    fn iterations(&mut self, l: &Limit, one: Label, done: Label) {
        let (steps, range) = (&l.steps, l.range);
        let a = &mut *self.a;
        // The distance to the last address, or to the first one.
        let to_last = |a: &mut Asm| {
            a.mov(true, RAX, Rm::M(range.bytes()));
            a.alu_imm(alu::SUB, true, Rm::R(RAX), 1);
            a.alu(alu::SUB, true, RAX, Rm::R(RDX));
        };
        match steps.by {
            By::Imm(0) => a.jmp(done),
            By::Imm(by) => {
                let size = (by.unsigned_abs() as u64) << steps.shift;
                if by > 0 {
                    to_last(a);
                } else {
                    a.mov(true, RAX, Rm::R(RDX));
                }
                if size.is_power_of_two() {
                    let by = size.trailing_zeros() as u8;
                    if by > 0 {
                        a.shift_imm(5, true, RAX, by);
                    }
                    return;
                }
                a.imm(STEP, size);
            }
            By::Memory(..) => {
                load_step(a, STEP, steps);
                if !steps.home.wide() {
                    a.lea(RAX, mem(STEP, MOST));
                    a.alu_imm(alu::CMP, true, Rm::R(RAX), 2 * MOST);
                    a.jcc(Cc::A, one);
                    a.shift_imm(4, true, STEP, steps.shift);
                }
                let (forward, known) = (a.label(), a.label());
                a.test(true, STEP, STEP);
                a.jcc(Cc::E, done);
                a.jcc(Cc::Ns, forward);
                a.g(true, &[0xf7], 3, Rm::R(STEP)); // neg
                a.mov(true, RAX, Rm::R(RDX));
                a.jmp(known);
                a.bind(forward);
                to_last(a);
                a.bind(known);
            }
        }
        a.imm(RDX, 0);
        a.g(true, &[0xf7], 6, Rm::R(STEP)); // div
    }
}

/// Returns true if numbers of 32 bits that change by this in each iteration stay apart from where they wrap.
pub(super) fn is_small(by: By) -> bool {
    match by {
        By::Imm(by) => by.unsigned_abs() <= MOST as u32,
        By::Memory(..) => true,
    }
}
