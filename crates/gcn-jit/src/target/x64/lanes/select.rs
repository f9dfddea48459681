//! Selects the machine instructions of a lane's iteration.
//!
//! Values are computed on demand, from what the iteration changes and from its loads. Addresses are halves of 32 bits in the IR; here they become
//! numbers of 64 bits again (`halves.rs`).

use super::fold;
use super::halves::Joined;
use super::in_place::in_place;
use super::inst::{
    Compare, Elements, GENERAL, Home, L, LANE, What, bit_image, can_be_logged, logged, vgpr_image,
};
use super::limits::is_small;
use super::*;
use crate::ir::region::Store;
use crate::lir::{Remat, Role};
use crate::passes::VectorOp;
use crate::passes::lane_loop::{Again, Inactive, LaneLoop, are_masks};
use crate::passes::lane_paths::{Known, SCC_CODE};
use std::collections::BTreeSet;

/// The registers that keep values from iteration to iteration.
const KEPT: [usize; 2] = [5, 7];

/// A lane's iteration as machine instructions.
#[derive(Default)]
pub(super) struct Selected {
    pub code: Code<L>,
    pub homes: Vec<Home>,
    /// The numbers of registers that are allocated.
    pub registers: [u8; 2],
    /// The VGPRs that the code reads from the context, and the masks of which it reads the lane's bit.
    pub vgprs: BTreeSet<u16>,
    pub bits: BTreeSet<u8>,
    /// The VGPRs that the code reads as upper halves of numbers of 64 bits.
    pub highs: BTreeSet<u16>,
    /// The floats that may be no NaNs when the lane leaves the loop.
    pub checks: Vec<What>,
    /// The accesses that are permitted for several iterations at once.
    pub limits: Vec<Limit>,
    /// If the loop stores, the places where it accesses memory.
    pub places: Vec<Place>,
    /// Of a block that is no loop: the scalars that lanes read, and the ballots that they make.
    pub scalars: BTreeSet<Id>,
    pub ballots: Vec<Id>,
}

/// How memory is accessed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Load,
    /// The load of a scalar.
    Scalar,
    Store,
}

/// The places as the helper for conflicts needs them.
pub(super) fn encoded(places: &[Place]) -> u64 {
    let of = |kind: Kind| {
        let bits = (0..)
            .zip(places)
            .map(|(n, p)| ((p.kind == kind) as u16) << n);
        bits.sum()
    };
    let places = Places {
        count: places.len() as u8,
        stores: of(Kind::Store),
        scalar: of(Kind::Scalar),
    };
    places.encode()
}

/// A place where a lane accesses memory.
pub(super) struct Place {
    pub of: Elements,
    pub kind: Kind,
    /// How the address changes, if that is known. Otherwise the code records which addresses the lane reaches.
    pub steps: Option<Steps>,
}

/// The address is a value that the loop keeps, extended to 64 bits and shifted if it has 32, plus values that do not change (in the context, of 4 or 8
/// bytes).
pub(super) struct Steps {
    pub home: Home,
    pub signed: bool,
    pub shift: u8,
    /// What is added to the value in each iteration.
    pub by: By,
    pub plus: Vec<(Mem, bool)>,
}

/// A number that does not change.
#[derive(Clone, Copy)]
pub(super) enum By {
    Imm(i32),
    /// In the context, of 4 or 8 bytes.
    Memory(Mem, bool),
}

pub(super) struct LaneSelect<'e, 'a, V: VectorIsa> {
    pub(super) e: &'e mut Emit<'a, V>,
    pub(super) out: Selected,
    pub(super) ops: Map<Id, VectorOp>,
    /// The registers of values, by class; those of numbers of 64 bits, by their halves.
    pub(super) values: [Map<Id, VReg>; 2],
    pub(super) joined: Map<(Id, Id), VReg>,
    /// The addresses of loads that were checked.
    addresses: Map<Id, VReg>,
    /// If the loop stores: what it accesses, how, and the address.
    reached: Vec<(Elements, Kind, VReg)>,
    /// The loop stores, and the size of entries of the log.
    pub(super) stores: bool,
    pub(super) logged: i32,
    bits: Map<Id, VReg>,
    /// The floats that may be no NaNs.
    pub(super) checked: BTreeSet<VReg>,
    /// For each value: whether floats, and other operations, read it.
    pub(super) used_as: Vec<[bool; 2]>,
    /// Which values are masks.
    is_mask: Vec<bool>,
    /// The masks that the loop changes.
    pub(super) masks: BTreeSet<u8>,
    /// The one of them of lanes that have left ([`LaneLoop::left`]): the lane's bit is 0 at the beginning of an iteration.
    left: Option<u8>,
    /// EXEC stays as it is.
    pub(super) same_exec: bool,
    /// The lane is active, and if it is not, its bits of masks.
    pub(super) active: bool,
    pub(super) inactive: Vec<Inactive>,
    /// The lane's bits of masks that are known.
    pub(super) known: Known,
    /// The VGPRs that other blocks of the loop change, too.
    pub(super) shared: BTreeSet<u16>,
    /// The code is for a block that is no loop: its scalars have been computed, and a lane's VGPRs are read and written where they are.
    pub(super) once: bool,
}

impl<'e, 'a, V: Vectors> LaneSelect<'e, 'a, V> {
    /// Selects the code of an iteration. `None` if there is none for a part of it.
    pub fn select(e: &'e mut Emit<'a, V>, l: &LaneLoop) -> Option<Selected> {
        let mut s = LaneSelect::new(e);
        s.masks = l.masks.iter().map(|m| m.code).collect();
        s.left = l.left;
        s.same_exec = !matches!(l.again, Again::Lane(_));
        s.make_homes(l);
        s.iteration(l)?;
        Some(s.finish())
    }

    /// Returns what has been selected, after the last changes.
    pub(super) fn finish(mut self) -> Selected {
        let mut code = std::mem::take(&mut self.out.code);
        code.remove(&code.dead());
        fold::elements(&mut code, &self.checked);
        self.out.code = in_place(&code);
        self.out
    }

    /// Returns the selection of a block before anything is selected.
    pub(super) fn new(e: &'e mut Emit<'a, V>) -> LaneSelect<'e, 'a, V> {
        let ops = e.plan.ops.iter().filter(|op| op.commit.is_none());
        let mut s = LaneSelect {
            ops: ops.map(|op| (op.id, *op)).collect(),
            values: Default::default(),
            joined: Map::default(),
            addresses: Map::default(),
            reached: Vec::new(),
            stores: e.c.effects.store.is_some(),
            logged: logged(most_stored(std::slice::from_ref(e.c))),
            bits: Map::default(),
            checked: BTreeSet::new(),
            used_as: Vec::new(),
            is_mask: are_masks(e.c, &e.plan.late),
            masks: BTreeSet::new(),
            left: None,
            same_exec: true,
            active: true,
            inactive: Vec::new(),
            known: Known::new(),
            shared: BTreeSet::new(),
            once: false,
            out: Selected::default(),
            e,
        };
        s.find_uses();
        s
    }

    pub(super) fn node(&self, id: Id) -> Node {
        *self.e.node(id)
    }

    pub(super) fn find_uses(&mut self) {
        let graph = &self.e.c.graph;
        let mut used = vec![[false; 2]; graph.len()];
        for (at, n) in graph.iter().enumerate() {
            if !self.e.plan.live[at] {
                continue;
            }
            let float = match n.op {
                Inst::Alu(Op::Select) => continue,
                Inst::Alu(_) => n.ty.is_float(),
                Inst::FastPath(_) => continue,
                _ => false,
            };
            for &i in n.inputs() {
                used[i as usize][float as usize] = true;
            }
        }
        self.used_as = used;
    }

    /// Returns the class in which a value of 32 bits is computed.
    pub(super) fn class_of(&self, id: Id, depth: u32) -> Class {
        let n = self.node(id);
        match n.op {
            Inst::Alu(Op::Select) if depth > 0 => {
                let either = |k: usize| self.class_of(n.args[k], depth - 1);
                either(1).max(either(2))
            }
            Inst::Alu(_) => n.out.is_float() as Class,
            Inst::FastPath(_) if depth > 0 => self.class_of(n.args[1], depth - 1),
            Inst::VIn(v) => match self.home(What::Vgpr(v)) {
                Some(home) => home.class,
                None => self.wanted_as(id),
            },
            Inst::Part(_) => self.wanted_as(id),
            _ => 0,
        }
    }

    pub(super) fn wanted_as(&self, id: Id) -> Class {
        (self.used_as[id as usize] == [false, true]) as Class
    }

    pub(super) fn home(&self, what: What) -> Option<Home> {
        self.out.homes.iter().find(|h| h.what == what).copied()
    }

    /// Decides where values are kept from iteration to iteration.
    pub(super) fn make_homes(&mut self, l: &LaneLoop) {
        let c = self.e.c;
        let live = &self.e.plan.live;
        let mut reads: Map<u16, Id> = Map::default();
        let mut scalars: BTreeSet<u8> = BTreeSet::new();
        for (at, n) in c.graph.iter().enumerate() {
            match n.op {
                Inst::VIn(v) if live[at] => {
                    reads.insert(v, at as Id);
                }
                Inst::SIn(code) if live[at] => {
                    scalars.insert(code);
                    if n.out.bits() == 64 {
                        scalars.insert(code + 1);
                    }
                }
                _ => {}
            }
        }
        let mut homes: Vec<(bool, Home)> = Vec::new();
        let mut push = |read: bool, what: What, class: Class| {
            homes.push((read, Home::new(what, class)));
        };
        let writes = &c.effects.vgprs;
        let mut k = 0;
        while k < writes.len() {
            let (v, id, _) = writes[k];
            if let Some(&(w, high, _)) = writes.get(k + 1)
                && w == v + 1
                && reads.contains_key(&v)
                && reads.contains_key(&w)
                && !matches!(self.halves(id, high), Joined::Halves)
            {
                push(true, What::VgprPair(v), 0);
                k += 2;
                continue;
            }
            let class = match reads.get(&v) {
                Some(&read) if self.class_of(id, 4) == 0 => self.wanted_as(read),
                _ => self.class_of(id, 4),
            };
            push(reads.contains_key(&v), What::Vgpr(v), class);
            k += 1;
        }
        let mut k = 0;
        while k < l.sgprs.len() {
            let (code, id) = l.sgprs[k];
            let read = scalars.contains(&code);
            if let Some(&(other, high)) = l.sgprs.get(k + 1)
                && other == code + 1
                && let Joined::Value(_) = self.halves(id, high)
            {
                push(read || scalars.contains(&other), What::SgprPair(code), 0);
                k += 2;
                continue;
            }
            push(read, What::Sgpr(code), 0);
            k += 1;
        }
        for m in l.masks.iter().filter(|m| Some(m.code) != l.left) {
            push(true, What::Bit(m.code), 0);
        }
        let read = homes.iter_mut().filter(|h| h.0).map(|h| &mut h.1);
        self.out.registers = take_registers(read, c.effects.store.is_some());
        self.out.homes = homes.into_iter().map(|h| h.1).collect();
        for home in &self.out.homes {
            let first = match home.what {
                What::Vgpr(v) | What::VgprPair(v) if home.register.is_none() => v,
                _ => continue,
            };
            self.out.vgprs.insert(first);
            if home.wide() {
                self.out.vgprs.insert(first + 1);
            }
        }
    }

    /// Selects an iteration.
    pub(super) fn iteration(&mut self, l: &LaneLoop) -> Option<()> {
        let c = self.e.c;
        self.permit_loads()?;
        for &g in &c.guards {
            self.leave_if(g)?;
        }
        let mut sets = Vec::new();
        for home in self.out.homes.clone() {
            let value = |w: What| -> Option<Id> {
                match w {
                    What::Vgpr(v) | What::VgprPair(v) => {
                        c.effects.vgprs.iter().find(|x| x.0 == v).map(|x| x.1)
                    }
                    What::Sgpr(s) | What::SgprPair(s) => {
                        l.sgprs.iter().find(|x| x.0 == s).map(|x| x.1)
                    }
                    What::Bit(s) => l.masks.iter().find(|m| m.code == s).map(|m| m.value),
                }
            };
            let id = value(home.what)?;
            let r = match home.what {
                What::Vgpr(_) if home.class == 1 => self.float(id)?,
                What::Vgpr(_) | What::Sgpr(_) => self.general(id)?,
                What::VgprPair(v) => {
                    let high = value(What::Vgpr(v + 1))?;
                    self.join(id, high)?
                }
                What::SgprPair(s) => {
                    let high = value(What::Sgpr(s + 1))?;
                    self.join(id, high)?
                }
                What::Bit(_) => self.bit(id)?,
            };
            sets.push((home, r));
        }
        let (again, when) = match l.again {
            Again::Lane(mask) | Again::Alike(mask) => self.goes_on(mask)?,
            Again::All(id, when) => (self.general(id)?, when),
        };
        let (end, operands) = self.end(again, when);
        for (home, r) in &mut sets {
            *r = self.copied(*r, home.class);
        }
        self.store(&sets)?;
        self.limit(&sets);
        for (home, r) in sets {
            self.push(L::SetHome(home), &[(r, Role::Use)]);
        }
        self.push(end, &operands);
        Some(())
    }

    /// Lets accesses at addresses that change by steps be permitted for several iterations at once.
    fn limit(&mut self, sets: &[(Home, VReg)]) {
        self.limit_where(|s, address| s.steps(address, sets));
    }

    /// The same, if it is known how addresses change.
    pub(super) fn limit_where(&mut self, steps: impl Fn(&Self, VReg) -> Option<Steps>) {
        let mut removed = vec![false; self.out.code.insts.len()];
        for (at, removed) in removed.iter_mut().enumerate() {
            let L::Permit(of, Some(range), need) = self.out.code.insts[at].op else {
                continue;
            };
            let address = self.out.code.operands(at as u32)[0].0;
            let Some(steps) = steps(self, address) else {
                continue;
            };
            if !steps.home.wide() && !is_small(steps.by) {
                continue;
            }
            self.out.limits.push(Limit {
                of,
                range,
                need,
                steps,
            });
            *removed = true;
        }
        self.out.code.remove(&removed);
    }

    /// Returns the end of an iteration, after which another one follows if a truth value is `when`. It is a comparison, if the truth value is one.
    pub(super) fn end(&mut self, again: VReg, mut when: bool) -> (L, Vec<(VReg, Role)>) {
        let code = &self.out.code;
        let (mut at, mut r) = (code.origin(again), again);
        while let L::BinaryImm(alu::XOR, false, 1) = code.insts[at as usize].op {
            r = code.operands(at)[0].0;
            at = code.origin(r);
            when = !when;
        }
        let (op, count) = match code.insts[at as usize].op {
            L::Compare(c) => (L::AgainIf(c.unless(!when)), 2),
            L::CompareImm(c, imm) => (L::AgainIfImm(c.unless(!when), imm), 1),
            _ => (L::Again(when), 0),
        };
        let of: Vec<VReg> = match count {
            0 => vec![r],
            _ => code.operands(at)[..count].iter().map(|o| o.0).collect(),
        };
        // What iterations keep has its new value at the end.
        let operands = of.into_iter().map(|r| match self.out.code.origin_of(r).op {
            L::Home(home) => self.copied(r, home.class),
            _ => r,
        });
        let operands = operands.map(|r| (r, Role::Any)).collect();
        (op, operands)
    }

    /// Returns the values of a store.
    pub(super) fn stored_values(&mut self, s: &Store) -> Option<Vec<VReg>> {
        let value = |&id: &Id| match s.bytes == 4 && self.class_of(id, 4) == 1 {
            true => self.float(id),
            false => self.general(id),
        };
        s.data.iter().map(value).collect()
    }

    /// Selects the loop's store, if there is one.
    fn store(&mut self, sets: &[(Home, VReg)]) -> Option<()> {
        self.store_where(0, |s, address| s.steps(address, sets))
    }

    /// Selects the block's store, if there is one, and records what the block accesses, at places from this number on. Everything that the block loads has
    /// been loaded before. `steps` tells how addresses change.
    pub(super) fn store_where(
        &mut self,
        first: usize,
        steps: impl Fn(&Self, VReg) -> Option<Steps>,
    ) -> Option<()> {
        let c = self.e.c;
        let (mut stores, mut logged) = (Vec::new(), None);
        if let Some(s) = &c.effects.store {
            let values = self.stored_values(s)?;
            let address = self.join(s.lo, s.hi)?;
            let (all, range) = (stored(s, 0, s.data.len()), self.e.new_range());
            self.push(L::Permit(all, Some(range), 2), &[(address, Role::Any)]);
            self.reached.push((all, Kind::Store, address));
            if !can_be_logged(all.bytes) {
                return None;
            }
            let each = values.into_iter().enumerate();
            stores.extend(each.map(|(k, value)| (stored(s, k, 1), value)));
            logged = Some((all, address));
        }
        for (of, kind, address) in std::mem::take(&mut self.reached) {
            let steps = steps(self, address);
            let place = first + self.out.places.len();
            if steps.is_none() {
                self.push(L::Reach(of, place as u8), &[(address, Role::Any)]);
            }
            self.out.places.push(Place { of, kind, steps });
        }
        if first + self.out.places.len() > LANE_ACCESSES {
            return None;
        }
        if let Some((all, address)) = logged {
            self.push(L::Log(all, self.logged), &[(address, Role::Use)]);
            for (of, value) in stores {
                self.push(L::Put(of), &[(address, Role::Use), (value, Role::Use)]);
            }
        }
        Some(())
    }

    /// Returns how an address changes, if it is a value that the loop keeps and to which it adds what does not change, or a sum of such a value and
    /// others that do not change.
    fn steps(&self, address: VReg, sets: &[(Home, VReg)]) -> Option<Steps> {
        self.steps_by(address, |home| {
            let &(_, next) = sets.iter().find(|s| s.0.what == home.what)?;
            self.step(home, next)
        })
    }

    /// The same. `by` tells what is added to a value that the loop keeps.
    pub(super) fn steps_by(&self, address: VReg, by: impl Fn(Home) -> Option<By>) -> Option<Steps> {
        let code = &self.out.code;
        let mut found = None;
        let mut plus = Vec::new();
        let mut work = vec![(address, 0, false)];
        while let Some((r, shift, signed)) = work.pop() {
            let at = code.origin(r);
            let operands = code.operands(at);
            match code.insts[at as usize].op {
                L::Home(home) if found.is_none() && !(home.wide() && (shift > 0 || signed)) => {
                    found = Some((home, shift, signed));
                }
                L::Memory(m, wide) if shift == 0 && !signed => plus.push((m, wide)),
                L::Binary(alu::ADD, true) if shift == 0 => {
                    work.extend([operands[0].0, operands[2].0].map(|r| (r, 0, false)));
                }
                L::ShiftImm(4, true, by) if shift == 0 => work.push((operands[0].0, by, false)),
                L::Unary(&[0x63], true) => work.push((operands[0].0, shift, true)),
                _ => return None,
            }
        }
        let (home, shift, signed) = found.filter(|f| f.0.class == 0)?;
        Some(Steps {
            home,
            signed,
            shift,
            by: by(home)?,
            plus,
        })
    }

    /// Returns what is added to a value that the loop keeps if this is its next one.
    pub(super) fn step(&self, home: Home, next: VReg) -> Option<By> {
        let code = &self.out.code;
        let own = |r: VReg| matches!(code.origin_of(r).op, L::Home(h) if h.what == home.what);
        let operands = code.operands(code.origin(next));
        match code.origin_of(next).op {
            L::BinaryImm(alu::ADD, wide, by) if wide == home.wide() && own(operands[0].0) => {
                Some(By::Imm(by))
            }
            L::Binary(alu::ADD, wide) if wide == home.wide() => {
                let [a, b] = [operands[0].0, operands[2].0];
                let other = if own(a) { b } else { a };
                match code.origin_of(other).op {
                    L::Memory(m, bits) if own(a) || own(b) => Some(By::Memory(m, bits)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns a truth value, and the one that it has if the lane's bit of the new EXEC is set.
    pub(super) fn goes_on(&mut self, mask: Id) -> Option<(VReg, bool)> {
        let n = self.node(mask);
        if n.op == Inst::Alu(Op::And) && self.active {
            for (k, other) in [(0, 1), (1, 0)] {
                let exec = matches!(self.node(n.args[k]).op, Inst::SIn(c) if c as u16 == EXEC);
                let not = self.node(n.args[other]);
                if exec && not.op == Inst::Alu(Op::Not) {
                    return Some((self.bit(not.args[0])?, false));
                }
            }
        }
        Some((self.bit(mask)?, true))
    }

    /// Returns a register that is not read from where it is kept between iterations.
    pub(super) fn copied(&mut self, r: VReg, class: Class) -> VReg {
        if self.out.code.remat(r) == Remat::No {
            return r;
        }
        self.result(L::Copy(class), &[(r, Role::Use)], class)
    }

    pub(super) fn push(&mut self, op: L, operands: &[(VReg, Role)]) {
        self.out.code.push(op, operands);
    }

    pub(super) fn reg(&mut self, class: Class) -> VReg {
        self.out.code.reg(class)
    }

    /// Appends an instruction with a result after the given operands.
    pub(super) fn result(&mut self, op: L, operands: &[(VReg, Role)], class: Class) -> VReg {
        let d = self.reg(class);
        let mut all = operands.to_vec();
        all.push((d, Role::Def));
        self.push(op, &all);
        d
    }

    /// Appends an instruction that overwrites its first operand.
    pub(super) fn over(&mut self, op: L, a: VReg, others: &[(VReg, Role)], class: Class) -> VReg {
        let d = self.reg(class);
        let mut all = vec![(a, Role::Use), (d, Role::Tied)];
        all.extend_from_slice(others);
        self.push(op, &all);
        d
    }

    /// Appends an instruction that overwrites one of its operands: what iterations keep, if it is one of them.
    pub(super) fn commutes(&mut self, op: L, a: VReg, b: VReg, class: Class) -> VReg {
        let kept = |s: &Self, r: VReg| s.out.code.remat(r) == Remat::Register;
        let swap = kept(self, b) && !kept(self, a)
            || self.out.code.remat(a) == Remat::Memory && self.out.code.remat(b) == Remat::No;
        let (a, b) = if swap { (b, a) } else { (a, b) };
        self.over(op, a, &[(b, Role::Any)], class)
    }

    pub(super) fn again_anywhere(&mut self, op: L, remat: Remat, class: Class) -> VReg {
        self.out.code.push_remat(op, remat, class)
    }

    pub(super) fn imm(&mut self, v: u64) -> VReg {
        self.again_anywhere(L::Imm(v), Remat::Value, 0)
    }

    pub(super) fn kept_value(&mut self, home: Home) -> VReg {
        let remat = if home.register.is_some() {
            Remat::Register
        } else {
            Remat::Memory
        };
        self.again_anywhere(L::Home(home), remat, home.class)
    }

    /// Returns a number of 64 bits that is kept, in a general register.
    pub(super) fn kept_pair(&mut self, home: Home) -> VReg {
        let r = self.kept_value(home);
        match home.class {
            0 => r,
            _ => self.result(L::ToGeneral(true), &[(r, Role::Use)], 0),
        }
    }

    pub(super) fn memory(&mut self, m: Mem, wide: bool, class: Class) -> VReg {
        self.again_anywhere(L::Memory(m, wide), Remat::Memory, class)
    }

    /// Returns a constant that fits an immediate of 32 bits with a sign.
    pub(super) fn small(&self, id: Id, wide: bool) -> Option<i32> {
        let v = self.e.konst(id)?;
        match wide {
            true => i32::try_from(v as i64).ok(),
            false => Some(v as u32 as i32),
        }
    }

    /// Returns a value in a general register.
    pub(super) fn general(&mut self, id: Id) -> Option<VReg> {
        if let Some(&r) = self.values[0].get(&id) {
            return Some(r);
        }
        let n = self.node(id);
        let r = match n.op {
            // Constants of 64 bits are also operands of 32 bits.
            Inst::Const(v) => self.imm(v & 0xffff_ffff),
            _ if self.once && !n.vec => self.computed(id, false)?,
            _ if n.out.bits() <= 32 && self.class_of(id, 4) == 1 => {
                let x = self.float(id)?;
                self.result(L::ToGeneral(false), &[(x, Role::Use)], 0)
            }
            _ if n.out.bits() == 64 => return None,
            _ => self.compute(n)?,
        };
        self.values[0].insert(id, r);
        Some(r)
    }

    /// Computes a value of at most 32 bits in a general register.
    pub(super) fn compute(&mut self, n: Node) -> Option<VReg> {
        let [x, y, _] = n.args;
        Some(match n.op {
            Inst::VIn(v) => return self.vgpr(v, 0),
            Inst::SIn(code) => return self.scalar(code),
            Inst::SccIn => {
                let home = self.home(What::Sgpr(SCC_CODE))?;
                self.kept_value(home)
            }
            Inst::Affine { base, step } if self.once && n.out != Ty::Bool => {
                return Some(self.affine(base, step));
            }
            Inst::Lane if self.once => self.again_anywhere(L::Fixed(LANE), Remat::Register, 0),
            Inst::Lane => self.memory(ctx!(lanes.lane), false, 0),
            Inst::Exec => self.imm(self.active as u64),
            Inst::Lo | Inst::Hi => {
                let arg = self.node(x);
                if arg.op == Inst::Pair {
                    return self.general(arg.args[(n.op == Inst::Hi) as usize]);
                }
                let w = self.wide(x)?;
                self.half(w, n.op == Inst::Hi)
            }
            Inst::MaskOf | Inst::ShrLane => return self.bit(x),
            Inst::Shld(by) | Inst::Shrd(by) => {
                let (a, b) = (self.general(x)?, self.general(y)?);
                let left = matches!(n.op, Inst::Shld(_));
                self.over(L::Double(left, by), a, &[(b, Role::Use)], 0)
            }
            Inst::Part(_) if n.out.bits() > 32 => return None,
            Inst::Part(k) => return self.element(x, k, 0),
            Inst::FastPath(_) => {
                self.fast_path(n)?;
                return self.general(y);
            }
            Inst::Alu(o) if n.out == Ty::Bool => return self.truth(o, n),
            Inst::Alu(Op::FloatToInt) if matches!(n.ty, Ty::F32 | Ty::F64) => {
                if n.out.bits() != 32 {
                    return None;
                }
                let (a, signed) = (self.float(x)?, n.out.is_signed());
                let wide = n.ty == Ty::F64;
                self.result(L::ToInteger { signed, wide }, &[(a, Role::Use)], 0)
            }
            Inst::Alu(o) => return self.integer(o, n, false),
            _ => return None,
        })
    }

    /// Leaves the lane's code where a fast path does not have the value.
    pub(super) fn fast_path(&mut self, n: Node) -> Option<()> {
        let condition = self.general(n.args[0])?;
        self.push(L::Leave(false), &[(condition, Role::Use)]);
        Some(())
    }

    pub(super) fn half(&mut self, w: VReg, high: bool) -> VReg {
        match high {
            true => self.over(L::ShiftImm(5, true, 32), w, &[], 0),
            false => self.result(L::Unary(&[0x8b], false), &[(w, Role::Use)], 0),
        }
    }

    pub(super) fn vgpr(&mut self, v: u16, class: Class) -> Option<VReg> {
        if let Some(home) = self.home(What::Vgpr(v)) {
            let r = self.kept_value(home);
            return Some(match (home.class, class) {
                (0, 1) => self.result(L::ToFloat(false), &[(r, Role::Use)], 1),
                (1, 0) => self.result(L::ToGeneral(false), &[(r, Role::Use)], 0),
                _ => r,
            });
        }
        for (first, high) in [(Some(v), false), (v.checked_sub(1), true)] {
            if let Some(home) = first.and_then(|v| self.home(What::VgprPair(v))) {
                let w = self.kept_pair(home);
                let r = self.half(w, high);
                return Some(match class {
                    1 => self.result(L::ToFloat(false), &[(r, Role::Use)], 1),
                    _ => r,
                });
            }
        }
        if self.once {
            return Some(self.memory(vgpr_line(v, 0), false, class));
        }
        self.out.vgprs.insert(v);
        Some(self.memory(vgpr_image(v), false, class))
    }

    /// Returns true if a scalar register is a part of a mask that the loop changes. A lane knows only its own bit.
    pub(super) fn is_changing_mask(&self, code: u8) -> bool {
        let first = code & !1;
        self.masks.contains(&first) || first as u16 == EXEC && !self.same_exec
    }

    /// A scalar register of 32 bits.
    pub(super) fn scalar(&mut self, code: u8) -> Option<VReg> {
        if self.is_changing_mask(code) {
            return None;
        }
        if let Some(home) = self.home(What::Sgpr(code)) {
            return Some(self.kept_value(home));
        }
        for (first, high) in [(Some(code), false), (code.checked_sub(1), true)] {
            if let Some(home) = first.and_then(|c| self.home(What::SgprPair(c))) {
                let w = self.kept_value(home);
                return Some(self.half(w, high));
            }
        }
        Some(self.memory(sgpr_home(code), false, 0))
    }

    /// A pair of scalar registers.
    pub(super) fn scalars(&mut self, code: u8) -> Option<VReg> {
        let other = code.checked_add(1)?;
        let single = [code, other].map(|c| self.home(What::Sgpr(c)).is_some());
        if self.is_changing_mask(code) {
            return None;
        }
        Some(match self.home(What::SgprPair(code)) {
            Some(home) => self.kept_value(home),
            None if single == [false; 2] => self.memory(sgpr_home(code), true, 0),
            None => {
                let (lo, hi) = (self.scalar(code)?, self.scalar(other)?);
                self.two_halves(lo, hi)
            }
        })
    }

    pub(super) fn two_halves(&mut self, lo: VReg, hi: VReg) -> VReg {
        let d = self.reg(0);
        let operands = [(lo, Role::Use), (hi, Role::Any), (d, Role::Early)];
        self.push(L::Join, &operands);
        d
    }

    /// Returns a value of 64 bits in a general register.
    pub(super) fn wide(&mut self, id: Id) -> Option<VReg> {
        if let Some(&r) = self.values[0].get(&id) {
            return Some(r);
        }
        let n = self.node(id);
        let [x, y, _] = n.args;
        let r = match n.op {
            Inst::Const(v) => self.imm(v),
            _ if n.out.bits() <= 32 => return self.general(id),
            _ if self.once && !n.vec => self.computed(id, true)?,
            Inst::Pair => match self.two_elements(x, y) {
                Some((load, k)) => self.elements(load, k, 2, 0)?,
                None => return self.join(x, y),
            },
            Inst::SIn(code) => self.scalars(code)?,
            Inst::Alu(_) if n.out.is_float() => {
                let f = self.float(id)?;
                self.result(L::ToGeneral(true), &[(f, Role::Use)], 0)
            }
            Inst::Alu(o) => self.integer(o, n, true)?,
            _ => return None,
        };
        self.values[0].insert(id, r);
        Some(r)
    }

    /// Returns the lane's bit of a mask.
    pub(super) fn bit(&mut self, id: Id) -> Option<VReg> {
        if let Some(&r) = self.bits.get(&id) {
            return Some(r);
        }
        let n = self.node(id);
        if self.once && !self.e.plan.late[id as usize] && !matches!(n.op, Inst::Const(_)) {
            let mask = self.computed(id, true)?;
            let r = self.result(L::Bit, &[(mask, Role::Any)], 0);
            self.bits.insert(id, r);
            return Some(r);
        }
        if !self.is_mask[id as usize] {
            return None;
        }
        let r = match n.op {
            Inst::Ballot if !self.active => match self.inactive[id as usize] {
                Inactive::Bit(bit) => self.imm(bit as u64),
                _ => return None,
            },
            Inst::Ballot => self.general(n.args[0])?,
            Inst::Const(v) => self.imm(v & 1),
            Inst::SIn(code) if code as u16 == EXEC => self.imm(self.active as u64),
            Inst::SIn(code) if self.left == Some(code) => self.imm(0),
            Inst::SIn(code) if self.known.contains_key(&code) => self.imm(self.known[&code] as u64),
            Inst::SIn(code) if self.masks.contains(&code) => {
                let home = self.home(What::Bit(code))?;
                self.kept_value(home)
            }
            Inst::SIn(code) => {
                let changes = [What::Sgpr(code), What::Sgpr(code + 1), What::SgprPair(code)];
                if changes.iter().any(|&w| self.home(w).is_some()) {
                    return None;
                }
                self.out.bits.insert(code);
                self.memory(bit_image(code), false, 0)
            }
            Inst::Alu(Op::Not) => {
                let a = self.bit(n.args[0])?;
                self.inverted(a)
            }
            Inst::Alu(Op::Select) => {
                let condition = self.general(n.args[0])?;
                let (a, b) = (self.bit(n.args[1])?, self.bit(n.args[2])?);
                let operands = [(a, Role::Use), (condition, Role::Use)];
                self.over(L::Select, b, &operands, 0)
            }
            Inst::Alu(o) => {
                let (a, b) = (self.bit(n.args[0])?, self.bit(n.args[1])?);
                let (known, other) = match (self.known_bit(a), self.known_bit(b)) {
                    (Some(bit), _) => (Some(bit), b),
                    (_, known) => (known, a),
                };
                match (o, known) {
                    (Op::And, Some(true)) | (Op::Or | Op::Xor, Some(false)) => other,
                    (Op::And, Some(false)) => self.imm(0),
                    (Op::Or, Some(true)) => self.imm(1),
                    (Op::Xor, Some(true)) => self.inverted(other),
                    _ => self.commutes(L::Binary(bitwise(o)?, false), a, b, 0),
                }
            }
            _ => return None,
        };
        self.bits.insert(id, r);
        Some(r)
    }

    /// Returns a bit that is a constant.
    pub(super) fn known_bit(&self, r: VReg) -> Option<bool> {
        match self.out.code.origin_of(r).op {
            L::Imm(v) => Some(v & 1 != 0),
            _ => None,
        }
    }

    fn inverted(&mut self, a: VReg) -> VReg {
        match self.known_bit(a) {
            Some(bit) => self.imm(!bit as u64),
            None => self.over(L::BinaryImm(alu::XOR, false, 1), a, &[], 0),
        }
    }

    /// Selects an integer operation.
    pub(super) fn integer(&mut self, o: Op, n: Node, wide: bool) -> Option<VReg> {
        let [x, y, w] = n.args;
        let value = |s: &mut Self, id: Id| if wide { s.wide(id) } else { s.general(id) };
        let bits = n.ty.bits();
        // Narrower numbers have zeros above them, and bitwise operations keep these.
        let narrow = bits < 32 && n.ty != Ty::Bool;
        let keeps = matches!(o, Op::And | Op::Or | Op::Xor | Op::Zext | Op::Select);
        if narrow && !keeps || n.ty.is_float() {
            return None;
        }
        Some(match o {
            Op::Zext if bits <= 32 => return self.general(x),
            Op::Sext if bits == 32 && wide => {
                let a = self.general(x)?;
                self.result(L::Unary(&[0x63], true), &[(a, Role::Use)], 0)
            }
            Op::Trunc if bits == 64 && n.out.bits() == 32 => {
                let a = self.wide(x)?;
                self.half(a, false)
            }
            Op::Not if bits >= 32 => {
                let a = value(self, x)?;
                self.over(L::BinaryImm(alu::XOR, wide, -1), a, &[], 0)
            }
            Op::Neg => {
                let (zero, a) = (self.imm(0), value(self, x)?);
                self.over(L::Binary(alu::SUB, wide), zero, &[(a, Role::Any)], 0)
            }
            Op::Popcount | Op::Clz | Op::Ctz if bits == 32 => {
                let a = self.general(x)?;
                let op: &[u8] = match o {
                    Op::Popcount => &[0xf3, 0x0f, 0xb8],
                    Op::Clz => &[0xf3, 0x0f, 0xbd],
                    _ => &[0xf3, 0x0f, 0xbc],
                };
                self.result(L::Unary(op, false), &[(a, Role::Use)], 0)
            }
            Op::Add | Op::Sub | Op::And | Op::Or | Op::Xor => {
                let op = match o {
                    Op::Add => alu::ADD,
                    Op::Sub => alu::SUB,
                    o => bitwise(o)?,
                };
                let swap = o != Op::Sub && self.small(x, wide).is_some();
                let (x, y) = if swap { (y, x) } else { (x, y) };
                let a = value(self, x)?;
                match self.small(y, wide) {
                    Some(v) => self.over(L::BinaryImm(op, wide, v), a, &[], 0),
                    None => {
                        let b = value(self, y)?;
                        match o {
                            Op::Sub => self.over(L::Binary(op, wide), a, &[(b, Role::Any)], 0),
                            _ => self.commutes(L::Binary(op, wide), a, b, 0),
                        }
                    }
                }
            }
            Op::Mul => {
                let (a, b) = (value(self, x)?, value(self, y)?);
                self.commutes(L::Multiply(wide), a, b, 0)
            }
            Op::MulHi if bits == 32 => {
                let (a, b) = (self.general(x)?, self.general(y)?);
                let signed = n.ty.is_signed();
                self.result(L::High(signed), &[(a, Role::Use), (b, Role::Use)], 0)
            }
            Op::Shl | Op::Shr => {
                let which = match o {
                    Op::Shl => 4,
                    _ if n.ty.is_signed() => 7,
                    _ => 5,
                };
                let a = value(self, x)?;
                match self.e.konst(y) {
                    Some(0) => a,
                    Some(by) if by < bits as u64 => {
                        self.over(L::ShiftImm(which, wide, by as u8), a, &[], 0)
                    }
                    None if !wide => {
                        let by = self.general(y)?;
                        let d = self.reg(0);
                        let operands = [(a, Role::Use), (by, Role::Use), (d, Role::Early)];
                        self.push(L::Shift(which), &operands);
                        d
                    }
                    _ => return None,
                }
            }
            Op::Min | Op::Max => {
                let cc = match (o == Op::Min, n.ty.is_signed()) {
                    (true, true) => Cc::G,
                    (true, false) => Cc::A,
                    (false, true) => Cc::L,
                    (false, false) => Cc::B,
                };
                let (a, b) = (value(self, x)?, value(self, y)?);
                let compare = Compare { cc, wide };
                self.choose(compare, a, b, [a, b])
            }
            Op::Select => {
                let (a, b) = (value(self, y)?, value(self, w)?);
                if let Some((compare, of)) = self.comparison(x)? {
                    return Some(self.choose(compare, b, a, of));
                }
                let m = self.general(x)?;
                let operands = [(a, Role::Use), (m, Role::Use)];
                self.over(L::Select, b, &operands, 0)
            }
            _ => return None,
        })
    }

    /// Returns `taken` if the comparison holds, else `other`.
    pub(super) fn choose(
        &mut self,
        compare: Compare,
        other: VReg,
        taken: VReg,
        [x, y]: [VReg; 2],
    ) -> VReg {
        let operands = [(taken, Role::Any), (x, Role::Any), (y, Role::Any)];
        self.over(L::CompareSelect(compare), other, &operands, 0)
    }

    /// Returns a comparison of integers and its operands, if a truth value is one.
    pub(super) fn comparison(&mut self, id: Id) -> Option<Option<(Compare, [VReg; 2])>> {
        let n = self.node(id);
        let Inst::Alu(o) = n.op else {
            return Some(None);
        };
        let Some(compare) = compare_of(o, &n) else {
            return Some(None);
        };
        let [x, y, _] = n.args;
        let value = |s: &mut Self, id: Id| {
            if compare.wide {
                s.wide(id)
            } else {
                s.general(id)
            }
        };
        let (a, b) = (value(self, x)?, value(self, y)?);
        Some(Some((compare, [a, b])))
    }

    /// Selects an operation whose result is a truth value.
    pub(super) fn truth(&mut self, o: Op, n: Node) -> Option<VReg> {
        let [x, y, w] = n.args;
        if n.ty == Ty::Bool {
            if let Some(inner) = crate::ir::limited_to_active(&self.e.c.graph, &n) {
                return self.general(inner);
            }
            let a = self.general(x)?;
            return Some(match o {
                Op::Not => self.over(L::BinaryImm(alu::XOR, false, 1), a, &[], 0),
                Op::Select => {
                    let (a, b, m) = (self.general(y)?, self.general(w)?, a);
                    self.over(L::Select, b, &[(a, Role::Use), (m, Role::Use)], 0)
                }
                Op::And | Op::Or | Op::Xor | Op::Ne => {
                    let op = bitwise(if o == Op::Ne { Op::Xor } else { o })?;
                    let b = self.general(y)?;
                    self.commutes(L::Binary(op, false), a, b, 0)
                }
                _ => return None,
            });
        }
        if n.ty.is_float() {
            return self.compare_floats(o, n);
        }
        let compare = compare_of(o, &n)?;
        let value = |s: &mut Self, id: Id| {
            if compare.wide {
                s.wide(id)
            } else {
                s.general(id)
            }
        };
        let a = value(self, x)?;
        if let Some(v) = self.small(y, compare.wide) {
            return Some(self.result(L::CompareImm(compare, v), &[(a, Role::Any)], 0));
        }
        let b = value(self, y)?;
        let operands = [(a, Role::Any), (b, Role::Any)];
        Some(self.result(L::Compare(compare), &operands, 0))
    }

    /// Returns the space, the size of an element, their number and the constant offset of a load.
    pub(super) fn shape_of(&self, id: Id) -> Option<(Space, u8, u8, i32)> {
        match self.node(id).op {
            Inst::Group {
                space,
                bytes,
                count,
                offset,
            } => Some((space, bytes, count, offset)),
            Inst::SLoad { count, offset } => Some((Space::Global, 4, count, offset)),
            _ => None,
        }
    }

    /// Returns the address of a load, after a check that its elements may be loaded, and those of the other loads at the same address plus a
    /// constant.
    pub(super) fn permitted(&mut self, id: Id) -> Option<VReg> {
        if let Some(&r) = self.addresses.get(&id) {
            return Some(r);
        }
        let n = self.node(id);
        let [lo, hi, _] = n.args;
        let (space, ..) = self.shape_of(id)?;
        let lds = space == Space::Lds;
        let address = match n.op {
            Inst::SLoad { .. } => self.wide(lo)?,
            _ if lds => self.general(lo)?,
            _ => self.join(lo, hi)?,
        };
        let (mut first, mut end) = (i32::MAX, i32::MIN);
        for other in 0..self.e.c.graph.len() as Id {
            let m = self.node(other);
            let same = std::mem::discriminant(&m.op) == std::mem::discriminant(&n.op)
                && m.inputs() == n.inputs();
            let Some((also, bytes, count, offset)) = self.shape_of(other).filter(|_| same) else {
                continue;
            };
            if !self.e.plan.live[other as usize] || (also == Space::Lds) != lds {
                continue;
            }
            (first, end) = (
                first.min(offset),
                end.max(offset + bytes as i32 * count as i32),
            );
            self.addresses.insert(other, address);
        }
        let bytes = end.checked_sub(first).filter(|b| (1..4096).contains(b))?;
        let mut operands = vec![(address, Role::Any)];
        if lds && self.e.konst(hi).is_none_or(|l| l < u32::MAX as u64) {
            let limit = self.general(hi)?;
            operands.push((limit, Role::Any));
        }
        let range = (!lds).then(|| self.e.new_range());
        let extent = Elements {
            lds,
            bytes: bytes as u16,
            offset: first,
        };
        self.push(L::Permit(extent, range, 1), &operands);
        if !lds && !self.once && self.stores {
            let kind = match n.op {
                Inst::SLoad { .. } => Kind::Scalar,
                _ => Kind::Load,
            };
            self.reached.push((extent, kind, address));
        }
        Some(address)
    }

    /// Checks that all elements may be loaded which the block loads, and records that they are.
    pub(super) fn permit_loads(&mut self) -> Option<()> {
        for (at, n) in self.e.c.graph.iter().enumerate() {
            if self.e.plan.live[at] && matches!(n.op, Inst::Group { .. } | Inst::SLoad { .. }) {
                self.permitted(at as Id)?;
            }
        }
        Some(())
    }

    /// Leaves the lane's code if a truth value is true.
    pub(super) fn leave_if(&mut self, truth: Id) -> Option<()> {
        let truth = self.general(truth)?;
        self.push(L::Leave(true), &[(truth, Role::Use)]);
        Some(())
    }

    /// Returns true if the block has made accesses that are not recorded yet.
    pub(super) fn has_unrecorded(&self) -> bool {
        !self.reached.is_empty()
    }

    /// Loads an element of a load.
    pub(super) fn element(&mut self, load: Id, k: u8, class: Class) -> Option<VReg> {
        if let Inst::AffineLoad { .. } = self.node(load).op {
            return self.affine_element(load, k, class);
        }
        self.elements(load, k, 1, class)
    }

    /// Returns the load of which two halves are consecutive dwords, and the number of the first one.
    pub(super) fn two_elements(&self, lo: Id, hi: Id) -> Option<(Id, u8)> {
        let (l, h) = (self.node(lo), self.node(hi));
        let (Inst::Part(k), Inst::Part(next)) = (l.op, h.op) else {
            return None;
        };
        let bytes = self.shape_of(l.args[0])?.1;
        let consecutive = l.args[0] == h.args[0] && next == k + 1 && bytes == 4;
        (consecutive && !self.once).then_some((l.args[0], k))
    }

    /// Loads consecutive elements of a load as one value.
    pub(super) fn elements(&mut self, load: Id, k: u8, count: u8, class: Class) -> Option<VReg> {
        let address = self.permitted(load)?;
        let (space, bytes, _, offset) = self.shape_of(load)?;
        if class == 1 && bytes != 4 {
            return None;
        }
        let element = Elements {
            lds: space == Space::Lds,
            bytes: bytes as u16 * count as u16,
            offset: offset + k as i32 * bytes as i32,
        };
        let d = self.reg(class);
        self.push(
            L::Element(element),
            &[(address, Role::Any), (d, Role::Early)],
        );
        Some(d)
    }
}

/// Returns the most bytes that a store of blocks stores.
pub(super) fn most_stored(blocks: &[Block]) -> u16 {
    let stores = blocks.iter().filter_map(|c| c.effects.store.as_ref());
    let bytes = stores.map(|s| s.bytes as u16 * s.data.len() as u16);
    bytes.max().unwrap_or(0)
}

/// Gives registers to what is kept from iteration to iteration, in order, as far as they suffice. Returns how many are left to be allocated. One is for the
/// log if the loop `stores`.
pub(super) fn take_registers<'h>(
    homes: impl Iterator<Item = &'h mut Home>,
    stores: bool,
) -> [u8; 2] {
    let mut kept = [stores as usize, 0];
    for home in homes {
        let class = home.class as usize;
        if kept[class] < KEPT[class] {
            kept[class] += 1;
            home.register = Some(match class {
                0 => GENERAL[GENERAL.len() - kept[0]],
                _ => inst::FLOATS - kept[1] as u8,
            });
        }
    }
    [GENERAL.len() - kept[0], inst::FLOATS as usize - kept[1]].map(|n| n as u8)
}

/// Returns elements of a store: this many, from the one with this number on.
pub(super) fn stored(s: &Store, first: usize, count: usize) -> Elements {
    Elements {
        lds: s.space == Space::Lds,
        bytes: s.bytes as u16 * count as u16,
        offset: s.offset + (first * s.bytes as usize) as i32,
    }
}

fn bitwise(o: Op) -> Option<u8> {
    match o {
        Op::And => Some(alu::AND),
        Op::Or => Some(alu::OR),
        Op::Xor => Some(alu::XOR),
        _ => None,
    }
}

/// Returns the comparison of integers that an operation is.
fn compare_of(o: Op, n: &Node) -> Option<Compare> {
    let bits = n.ty.bits();
    if n.out != Ty::Bool
        || n.ty.is_float()
        || bits > 64
        || bits < 32 && n.ty.is_signed()
        || bits == 1
    {
        return None;
    }
    let cc = match (o, n.ty.is_signed()) {
        (Op::Eq, _) => Cc::E,
        (Op::Ne, _) => Cc::Ne,
        (Op::Lt, true) => Cc::L,
        (Op::Le, true) => Cc::Le,
        (Op::Gt, true) => Cc::G,
        (Op::Ge, true) => Cc::Ge,
        (Op::Lt, false) => Cc::B,
        (Op::Le, false) => Cc::Be,
        (Op::Gt, false) => Cc::A,
        (Op::Ge, false) => Cc::Ae,
        _ => return None,
    };
    Some(Compare {
        cc,
        wide: bits == 64,
    })
}
