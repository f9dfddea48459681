//! The vector code of a block for one active lane after the other.
//!
//! Vector code takes as long for one active lane of a part as for all of them, and loads and stores at lanes' own addresses need as many instructions as
//! there are lanes anyhow. So where few lanes are active, scalar code for each of them is faster. It is a variant of the block, which runs if it is estimated
//! to take less time than vector code for the lanes in EXEC ([`LaneBlock::costs`]). Scalars are computed as in the plain block: those that do not depend on
//! lanes before the first lane, the others after the last one.
//!
//! If something fails (see [`super`]), the VGPRs are restored, and the plain block runs. What lanes have stored may stay: the plain block
//! stores the same again, because it loads nothing that it may have stored. If it does, nothing is stored before the last lane.

use super::inst::{FLOATS, LANE, ONCE, TODO};
use super::select::stored;
use super::*;
use crate::ir::affine::{Base, BaseKind};
use crate::lir::regalloc::Allocation;
use crate::lir::{Remat, Role};
use crate::passes::lane_loop::has_effects_of_lanes;

/// The code of a lane.
pub(in super::super) struct LaneBlock {
    selected: Selected,
    allocated: Allocation,
    /// The estimated times of a lane's code, and of vector code for a part of the wave with active lanes.
    pub costs: [u32; 2],
}

impl LaneBlock {
    /// The scalars that lanes read.
    pub fn scalars(&self) -> impl Iterator<Item = Id> + '_ {
        self.selected.scalars.iter().copied()
    }
}

/// Returns true if blocks of a region may have such code.
pub(in super::super) fn are_possible(region: &Region, style: &Style<'_>) -> bool {
    let left_out = style.left_out.has(Optional::FewLanes);
    let possible = !region.precise && !style.aliased && !left_out;
    possible && region.blocks.iter().any(is_possible)
}

/// Returns true if a block loads from or stores to lanes' own addresses, and has no other effects but on registers.
pub(in super::super) fn is_possible(c: &Block) -> bool {
    let e = &c.effects;
    // A variant that leaves the region goes to the plain block instead.
    let stays = matches!(
        c.terminator,
        Terminator::Jump(_) | Terminator::Branch { .. } | Terminator::End | Terminator::Barrier
    );
    let own = |n: &Node| matches!(n.op, Inst::Group { .. });
    let affine = |n: &Node| matches!(n.op, Inst::AffineLoad { .. });
    let fits = match &e.store {
        // What one lane stores, another one must not load.
        Some(s) => !s.in_order && !c.graph.iter().any(|n| own(n) || affine(n)),
        None => c.graph.iter().any(own),
    };
    has_effects_of_lanes(c)
        && c.affine.store.is_none()
        && stays
        && fits
        && e.vgprs.len() <= LANE_VGPRS
}

/// Returns true if what lanes store waits for the last lane: it has several elements, or the plain block might load it as a scalar if it ran afterwards.
fn stages(c: &Block) -> bool {
    let loads = |n: &Node| matches!(n.op, Inst::SLoad { .. });
    let several = c.effects.store.as_ref().is_some_and(|s| s.data.len() > 1);
    several || c.graph.iter().any(loads)
}

impl<V: Vectors> LaneSelect<'_, '_, V> {
    /// Returns a scalar that has been computed.
    pub(super) fn computed(&mut self, id: Id, wide: bool) -> Option<VReg> {
        if self.e.plan.late[id as usize] || self.node(id).op == Inst::SccIn {
            return None;
        }
        self.out.scalars.insert(id);
        Some(self.again_anywhere(L::Scalar(id, wide), Remat::Memory, 0))
    }

    /// Returns the lane's number among those of its base, times a constant.
    fn steps_of_lane(&mut self, step: i32, wide: bool) -> VReg {
        let lane = self.again_anywhere(L::Fixed(LANE), Remat::Register, 0);
        let lane = self.over(L::BinaryImm(alu::AND, false, 15), lane, &[], 0);
        if step > 0 && (step as u32).is_power_of_two() {
            let by = step.trailing_zeros() as u8;
            return self.over(L::ShiftImm(4, wide, by), lane, &[], 0);
        }
        let step = self.imm(if wide {
            step as i64 as u64
        } else {
            step as u32 as u64
        });
        self.over(L::Multiply(wide), lane, &[(step, Role::Use)], 0)
    }

    /// Returns an affine value.
    pub(super) fn affine(&mut self, base: Base, step: i32) -> VReg {
        let first = match self.e.c.affine.ops[base as usize].op {
            BaseKind::Const(v) => self.imm(v as u64),
            BaseKind::Scalar(id) => {
                self.out.scalars.insert(id);
                self.again_anywhere(L::Scalar(id, false), Remat::Memory, 0)
            }
            _ => self.result(L::OfSlice(self.e.base_slot(base), false), &[], 0),
        };
        if step == 0 {
            return first;
        }
        let steps = self.steps_of_lane(step, false);
        self.over(L::Binary(alu::ADD, false), steps, &[(first, Role::Any)], 0)
    }

    /// Loads an element of a load at an affine address, which has been checked.
    pub(super) fn affine_element(&mut self, load: Id, k: u8, class: Class) -> Option<VReg> {
        let Inst::AffineLoad {
            bytes,
            offset,
            address,
            in_order: false,
            ..
        } = self.node(load).op
        else {
            return None;
        };
        if class == 1 && bytes != 4 || bytes > 4 {
            return None;
        }
        let mut at = self.result(L::OfSlice(self.e.address_slot(address), true), &[], 0);
        let step = self.e.c.affine.addresses[address as usize].step;
        if step != 0 {
            let steps = self.steps_of_lane(step, true);
            at = self.over(L::Binary(alu::ADD, true), steps, &[(at, Role::Any)], 0);
        }
        let element = Elements {
            lds: false,
            bytes: bytes as u16,
            offset: offset + k as i32 * bytes as i32,
        };
        Some(self.result(L::HostElement(element), &[(at, Role::Use)], class))
    }

    /// Selects a block's code for a lane. `None` if there is none for a part of it.
    fn block(&mut self) -> Option<()> {
        let c = self.e.c;
        // Scalars that are computed after the last lane may neither leave the block nor read what lanes have written.
        let after = |(at, n): (usize, &Node)| {
            let reads = matches!(n.op, Inst::LaneIn(_) | Inst::SLoad { .. });
            reads && self.e.plan.late[at]
        };
        let of_others = |n: &Node| matches!(n.op, Inst::LanesIn(_) | Inst::VgprAt);
        if c.graph.iter().enumerate().any(after) || c.graph.iter().any(of_others) {
            return None;
        }
        self.once = true;
        self.out.registers = [ONCE, FLOATS];
        for (at, n) in c.graph.iter().enumerate() {
            if self.e.plan.live[at] && matches!(n.op, Inst::Group { .. }) {
                self.permitted(at as Id)?;
            }
        }
        for &g in c.guards.iter().filter(|&&g| c.graph[g as usize].vec) {
            self.leave_if(g)?;
        }
        for (at, n) in c.graph.iter().enumerate() {
            if self.e.plan.live[at] && n.op == Inst::Ballot {
                let bit = self.general(n.args[0])?;
                self.push(L::Collect(at as Id), &[(bit, Role::Use)]);
                self.out.ballots.push(at as Id);
            }
        }
        let mut writes = Vec::new();
        for &(v, id, _) in &c.effects.vgprs {
            let class = self.class_of(id, 4);
            let value = match class {
                1 => self.float(id)?,
                _ => self.general(id)?,
            };
            // A VGPR that is read where it is may be written before.
            writes.push((v, self.copied(value, class)));
        }
        self.put_store()?;
        for (v, value) in writes {
            self.push(L::SetVgpr(v), &[(value, Role::Use)]);
        }
        Some(())
    }

    /// Selects the block's store, if there is one.
    fn put_store(&mut self) -> Option<()> {
        let Some(s) = &self.e.c.effects.store else {
            return Some(());
        };
        if s.bytes == 8 {
            return None;
        }
        let values = self.stored_values(s)?;
        let lds = s.space == Space::Lds;
        let mut operands = Vec::new();
        let address = match lds {
            true => self.general(s.lo)?,
            false => self.join(s.lo, s.hi)?,
        };
        operands.push((address, Role::Any));
        if lds && self.e.konst(s.hi).is_none_or(|l| l < u32::MAX as u64) {
            operands.push((self.general(s.hi)?, Role::Any));
        }
        // Of several elements, the first ones of all lanes are stored before the second ones, and a fault comes between them. So all addresses are
        // checked before anything is stored; then the order makes no difference if two lanes have all their elements in common, or none.
        if s.data.len() > 1 {
            let size = s.bytes as i32 * s.data.len() as i32;
            if size & (size - 1) != 0 {
                return None;
            }
            let mut low = address;
            if s.offset % size != 0 {
                low = self.over(L::BinaryImm(alu::ADD, false, s.offset), low, &[], 0);
            }
            low = self.over(L::BinaryImm(alu::AND, false, size - 1), low, &[], 0);
            self.push(L::Leave(true), &[(low, Role::Use)]);
        }
        let range = (!lds).then(|| self.e.new_range());
        self.push(L::Permit(stored(s, 0, s.data.len()), range, 2), &operands);
        let mut operands = vec![(address, Role::Use)];
        operands.extend(values.iter().map(|&value| (value, Role::Use)));
        let store = match stages(self.e.c) {
            true => L::Stage(stored(s, 0, 1)),
            false => L::Put(stored(s, 0, 1)),
        };
        self.push(store, &operands);
        Some(())
    }
}

impl<V: Vectors> Emit<'_, V> {
    /// Selects the block's code for single lanes. `None` if there is none, or it would not pay.
    pub(in super::super) fn select_lane_block(&mut self, style: &Style<'_>) -> Option<LaneBlock> {
        let mut s = LaneSelect::new(self);
        s.block()?;
        let selected = s.out;
        let checks = |i: &crate::lir::Inst<L>| matches!(i.op, L::Check(_));
        if style.exact && selected.code.insts.iter().any(checks) {
            return None;
        }
        let allocated = allocate(&selected.code, selected.registers);
        let allocated = allocated.filter(|a| a.slots as usize <= LANE_SPILLS)?;
        let costs = match style.few_lanes {
            true => [0, 1],
            false => self.costs(&allocated, &selected.code),
        };
        (costs[0] <= costs[1]).then_some(LaneBlock {
            selected,
            allocated,
            costs,
        })
    }

    /// Estimates the times of a lane's code and of vector code for a part of the wave, from the numbers of instructions.
    fn costs(&self, allocated: &Allocation, code: &Code<L>) -> [u32; 2] {
        /// What a lane and a part of the wave need besides, and an access of a lane and of a part.
        const LANE: f32 = 6.0;
        const PART: f32 = 7.0;
        const PERMIT: f32 = 4.0;
        const ACCESS: f32 = 42.0;
        const ELEMENT: f32 = 1.3;
        /// Of LDS no range must be known, and lanes' elements are consecutive more often.
        const LDS: f32 = 9.0;
        let access = |space: Space| if space == Space::Lds { LDS } else { ACCESS };
        let permits = code.insts.iter().filter(|i| matches!(i.op, L::Permit(..)));
        let lane = LANE + allocated.steps.len() as f32 + PERMIT * permits.count() as f32;
        let lanes = 16.0 / V::PARTS as f32;
        let mut part = PART;
        for (at, n) in self.c.graph.iter().enumerate() {
            if !self.plan.live[at] || !n.vec {
                continue;
            }
            part += match n.op {
                Inst::Group { space, count, .. } => access(space) + ELEMENT * lanes * count as f32,
                Inst::Part(_) | Inst::Const(_) => 0.0,
                _ if n.out.bits() > 32 => 3.0,
                _ => 1.0,
            };
        }
        if let Some(s) = &self.c.effects.store {
            part += access(s.space) + 2.0 * ELEMENT * lanes * s.data.len() as f32;
        }
        [lane, part].map(|cost| (4.0 * cost) as u32)
    }

    /// Goes to the label if the code of all active lanes takes longer than that of all parts with active lanes.
    pub(in super::super) fn unless_few_lanes(&mut self, [lane, part]: [u32; 2], other: Label) {
        // All bits but the highest one of each part.
        let bits = 16 / V::PARTS as u32;
        let lower = !((u64::MAX / ((1 << bits) - 1)) << (bits - 1));
        let a = &mut *self.a;
        a.mov(true, RAX, Rm::M(sgpr_home(EXEC as u8)));
        a.imm(RCX, lower);
        // The highest bit of each part becomes 1 if a lane of the part is active.
        a.mov(true, RDX, Rm::R(RAX));
        a.alu(alu::AND, true, RDX, Rm::R(RCX));
        a.alu(alu::ADD, true, RDX, Rm::R(RCX));
        a.alu(alu::OR, true, RDX, Rm::R(RAX));
        a.alu(alu::OR, true, RDX, Rm::R(RCX));
        a.popcnt(RAX, RAX);
        a.popcnt(RDX, RDX);
        a.imul_imm(false, RAX, RAX, lane as i32);
        // All other bits are 1, and do not count.
        a.alu_imm(alu::SUB, false, Rm::R(RDX), lower.count_ones() as i32);
        a.imul_imm(false, RDX, RDX, part as i32);
        a.alu(alu::CMP, false, RAX, Rm::R(RDX));
        a.jcc(Cc::A, other);
    }

    /// Stores what was staged for all active lanes.
    fn put_staged(&mut self) {
        let Some(s) = self.c.effects.store.as_ref().filter(|_| stages(self.c)) else {
            return;
        };
        let a = &mut *self.a;
        a.mov(true, RSI, Rm::M(sgpr_home(EXEC as u8)));
        let next = a.here();
        a.tzcnt(true, RCX, RSI);
        a.shift_imm(4, false, RCX, inst::STAGED_LOG);
        a.mov(true, RDX, Rm::M(inst::staged(RCX, 0)));
        for k in 0..s.data.len() {
            let at = 8 + 4 * k as i32;
            a.mov(false, RAX, Rm::M(inst::staged(RCX, at)));
            let to = mem(RDX, s.bytes as i32 * k as i32);
            inst::store_bytes(a, 0, s.bytes as u16, RAX, to);
        }
        a.blsr(true, RSI, RSI);
        a.jcc(Cc::Ne, next);
    }

    /// Emits the code of all active lanes, in place of the vector code.
    pub(in super::super) fn lane_block(&mut self, block: LaneBlock) {
        let LaneBlock {
            mut selected,
            allocated,
            ..
        } = block;
        for inst in &mut selected.code.insts {
            if let L::Scalar(id, wide) = inst.op {
                inst.op = L::Memory(self.smem(id), wide);
            }
        }
        for &id in &selected.ballots {
            let bits = self.slot(id);
            self.a.imm(RAX, 0);
            self.a.store(true, bits, RAX);
        }
        let restart = self.restart();
        let fails = |i: &crate::lir::Inst<L>| {
            matches!(
                i.op,
                L::Permit(..) | L::Leave(_) | L::Check(_) | L::Extreme(..) | L::ToInteger { .. }
            )
        };
        let fails = selected.code.insts.iter().any(fails);
        if fails {
            self.copy_vgprs(&vgprs_of(self.c), false);
        }
        let (next, done, bail) = (self.a.label(), self.a.label(), self.a.label());
        self.a.mov(true, TODO, Rm::M(sgpr_home(EXEC as u8)));
        self.a.test(true, TODO, TODO);
        self.a.jcc(Cc::E, done);
        self.a.bind(next);
        self.a.tzcnt(true, LANE, TODO);
        self.a.mov(true, VGPRS, Rm::M(ctx!(current.vgprs)));
        let of_lane = Mem {
            index: Some((LANE, 4)),
            ..mem(VGPRS, VGPR_BIAS * 256)
        };
        self.a.lea(VGPRS, of_lane);
        let mut later = Vec::new();
        let exits = Exits { bail, again: next };
        self.lane_steps(&selected.code, &allocated, exits, &mut later);
        self.a.blsr(true, TODO, TODO);
        self.a.jcc(Cc::Ne, next);
        self.put_staged();
        self.a.jmp(done);
        if let Some([_, range, _]) = self.common.lanes_call {
            self.look_up(later, range, bail);
        }
        self.a.bind(bail);
        if fails {
            self.wave_registers();
            self.copy_vgprs(&vgprs_of(self.c), true);
            self.a.jmp(restart);
        }
        self.a.bind(done);
        self.wave_registers();
    }
}
