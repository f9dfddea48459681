//! Atomics without a helper. If all lanes use one address and the old values are unused, the lanes' data are combined for one
//! atomic operation of the host. Other atomics on LDS and memory are executed lane by lane, like stores of two or four dwords to
//! the lanes' own addresses.

use super::machine::plus;
use super::vectors::StagedAddresses;
use super::*;
use crate::ir::region::WaveHelper;
use crate::ir::region::WaveHelperCall;
use gcn_isa::meaning::AtomicOp;

/// The index of the data among the operands of [`WaveHelper::Atomic`].
pub(super) const DATA: usize = 2;

/// An atomic whose data are combined over the lanes.
#[derive(Clone, Copy)]
pub(crate) struct Joined {
    pub(super) op: AtomicOp,
    pub(super) signed: bool,
    lo: Id,
    hi: Id,
}

/// An atomic on dwords of LDS.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    op: AtomicOp,
    signed: bool,
    limit: Id,
    /// The VGPR that the old values are written to.
    dst: Option<u8>,
}

/// An atomic on memory, or a store of several dwords, lane by lane after all addresses have been checked.
#[derive(Clone, Copy)]
pub(crate) struct InMemory {
    what: ToMemory,
    /// The size of a lane's access in bytes. Addresses must be multiples of it.
    bytes: u8,
    /// The constant that is added to addresses.
    offset: i32,
}

#[derive(Clone, Copy)]
enum ToMemory {
    Atomic {
        op: AtomicOp,
        signed: bool,
        /// The first VGPR that the old values are written to.
        dst: Option<u8>,
    },
    Store,
}

/// The operand slot for the lanes' distances from the beginning of the remembered range: the last one, which no operand uses.
pub(super) const DISTANCE: usize = WaveHelper::OPERANDS - 1;

/// The staged operand of lane RCX.
fn of_lane(operand: usize) -> Mem {
    Mem {
        index: Some((RCX, 4)),
        ..ctx!(stage, 256 * operand)
    }
}

/// The operand slot for the old values: the one of the data's upper half.
const FOUND: usize = DATA + 1;

/// Returns true if an operation takes one operand and needs only one or two host instructions.
fn plain(op: AtomicOp) -> bool {
    use AtomicOp as A;
    matches!(
        op,
        A::Swap | A::Add | A::Sub | A::And | A::Or | A::Xor | A::Min | A::Max
    )
}

impl Joined {
    /// Returns the neutral operand.
    pub(super) fn none(self) -> u32 {
        match (self.op, self.signed) {
            (AtomicOp::Min, true) => i32::MAX as u32,
            (AtomicOp::Max, true) => i32::MIN as u32,
            (AtomicOp::Min, false) | (AtomicOp::And, _) => u32::MAX,
            _ => 0,
        }
    }
}

impl<V: Vectors> Emit<'_, V> {
    /// Returns a helper's atomic if it has no result and its lanes mostly have one address: compiled code reduces their data and accesses memory
    /// once.
    pub(super) fn joined(&self, w: &WaveHelperCall) -> Option<Joined> {
        let WaveHelper::Atomic {
            space: Space::Global | Space::Flat,
            op,
            ty,
            dst: None,
        } = w.helper
        else {
            return None;
        };
        let joins = plain(op) && op != AtomicOp::Swap;
        let &[lo, hi, ..] = &w.inputs[..] else {
            return None;
        };
        let one = self.one_a_slice(lo) && self.one_a_slice(hi);
        let joins = joins && self.with(Optional::Atomics);
        let fits = joins && one && ty.bits() == 32 && !ty.is_float();
        fits.then_some(Joined {
            op,
            signed: ty.is_signed(),
            lo,
            hi,
        })
    }

    /// Returns true if the lanes of each slice are known to have the same value.
    fn one_a_slice(&self, id: Id) -> bool {
        let n = self.node(id);
        match n.op {
            Inst::Affine { step, .. } => step == 0,
            Inst::VIn(v) => self.c.affine.state.get(&v) == Some(&0),
            _ => !n.vec,
        }
    }

    /// Returns true if a helper's operand is staged while the slices are computed.
    pub(super) fn staged(&self, w: &WaveHelperCall, operand: usize) -> bool {
        if self.two_in_lds(w).is_some() {
            return !matches!(operand, 1 | 3);
        }
        let WaveHelper::Atomic { op, ty, .. } = w.helper else {
            return true;
        };
        let alone = plain(op);
        match operand {
            0 => self.joined(w).is_none(),
            1 => self.joined(w).is_none() && self.lanes_in_lds(w).is_none(),
            DATA => true,
            3 => ty.bits() > 32,
            4 => !alone,
            _ => !alone && ty.bits() > 32,
        }
    }

    /// Loads a value that all lanes share into `to`. Jumps to `other` if slices differ.
    fn one_of_all(&mut self, to: Gpr, id: Id, other: Label) {
        let at = |m: Mem, by: i32| Mem {
            disp: m.disp + by,
            ..m
        };
        let (first, step) = match self.node(id).op {
            Inst::Affine { base, .. } => match self.c.affine.ops[base as usize].op {
                BaseKind::Const(v) => return self.a.imm(to, v as u64),
                BaseKind::Scalar(id) => return self.sload(to, id),
                _ => (self.base_slot(base), 4),
            },
            Inst::VIn(v) => (vgpr_line(v, 0), 64),
            _ => return self.sload(to, id),
        };
        self.a.mov(false, to, Rm::M(first));
        for slice in 1..4 {
            let other_slice = Rm::M(at(first, step * slice));
            self.a.alu(alu::CMP, false, to, other_slice);
            self.a.jcc(Cc::Ne, other);
        }
    }

    /// Executes the atomic, or falls through to the code that calls the helper. Returns the label after both.
    pub(super) fn join(&mut self, j: &Joined) -> Label {
        let (slow, done) = (self.a.label(), self.a.label());
        self.one_of_all(RAX, j.lo, slow);
        self.one_of_all(RDX, j.hi, slow);
        self.a.mov(false, RAX, Rm::R(RAX));
        self.a.shift_imm(4, true, RDX, 32);
        self.a.alu(alu::OR, true, RAX, Rm::R(RDX));
        self.a.mov(false, RCX, Rm::R(RAX));
        self.a.alu_imm(alu::AND, false, Rm::R(RCX), 3);
        self.a.jcc(Cc::Ne, slow);
        self.range_of(4, 3, slow);
        V::reduce_staged(self, j);
        self.a.mov(true, RSI, Rm::R(RAX));
        self.of_host(RSI);
        let location = Rm::M(guest_memory(RSI, 0));
        let lock = |e: &mut Self, opcode: &[u8]| e.atomically(false, opcode, RCX, location);
        match j.op {
            AtomicOp::Min | AtomicOp::Max => {
                // Nothing is written if the value does not change.
                self.a.mov(false, RAX, location);
                let again = self.a.here();
                self.a.alu(alu::CMP, false, RCX, Rm::R(RAX));
                let stays = match (j.op, j.signed) {
                    (AtomicOp::Min, true) => Cc::Ge,
                    (AtomicOp::Min, false) => Cc::Ae,
                    (_, true) => Cc::Le,
                    (_, false) => Cc::Be,
                };
                self.a.jcc(stays, done);
                lock(self, &[0x0f, 0xb1]);
                self.a.jcc(Cc::Ne, again);
            }
            AtomicOp::Sub => lock(self, &[0x29]),
            AtomicOp::And => lock(self, &[0x21]),
            AtomicOp::Or => lock(self, &[0x09]),
            AtomicOp::Xor => lock(self, &[0x31]),
            _ => lock(self, &[0x01]),
        }
        self.a.jmp(done);
        self.a.bind(slow);
        self.stage_apart(&[(0, j.lo), (1, j.hi)]);
        done
    }

    /// Returns a helper's atomics on LDS, if compiled code can execute them when all addresses are aligned and within LDS.
    pub(super) fn lanes_in_lds(&self, w: &WaveHelperCall) -> Option<Lanes> {
        let WaveHelper::Atomic {
            space: Space::Lds,
            op,
            ty,
            dst,
        } = w.helper
        else {
            return None;
        };
        let limit = w.inputs[1];
        let plain = plain(op) && self.with(Optional::Atomics);
        let fits = plain && ty.bits() == 32 && !ty.is_float() && !self.node(limit).vec;
        fits.then_some(Lanes {
            op,
            signed: ty.is_signed(),
            limit,
            dst,
        })
    }

    /// Executes the atomics, or falls through to the code that calls the helper. Returns the label after both.
    pub(super) fn lane_after_lane(&mut self, lanes: Lanes) -> Label {
        let (slow, done) = (self.a.label(), self.a.label());
        let addresses = StagedAddresses {
            operands: &[0],
            limit: lanes.limit,
            bytes: 4,
            multiple: 4,
        };
        V::staged_in_lds(self, addresses, slow);
        let (some, found) = (self.a.label(), self.a.label());
        let exec = sgpr_home(EXEC as u8);
        self.a.mov(true, RDI, Rm::M(ctx!(lds.base)));
        self.a.alu_imm(alu::CMP, true, Rm::M(exec), -1);
        self.a.jcc(Cc::Ne, some);
        self.a.imm(RCX, 0);
        let top = self.a.here();
        for lane in 0..4 {
            self.lane_in_lds(lanes, lane);
        }
        self.a.alu_imm(alu::ADD, false, Rm::R(RCX), 4);
        self.a.alu_imm(alu::CMP, false, Rm::R(RCX), 64);
        self.a.jcc(Cc::Ne, top);
        self.a.jmp(found);
        self.a.bind(some);
        self.a.mov(true, R8, Rm::M(exec));
        self.a.test(true, R8, R8);
        self.a.jcc(Cc::E, done);
        let top = self.a.here();
        self.a.tzcnt(true, RCX, R8);
        self.lane_in_lds(lanes, 0);
        self.a.blsr(true, R8, R8);
        self.a.jcc(Cc::Ne, top);
        self.a.bind(found);
        if let Some(dst) = lanes.dst {
            V::write_staged(self, FOUND, dst);
        }
        self.a.jmp(done);
        self.a.bind(slow);
        self.stage_apart(&[(1, lanes.limit)]);
        done
    }

    /// Executes the atomic of lane RCX + `offset` on LDS at RDI. RDX, RSI and R9 are clobbered.
    fn lane_in_lds(&mut self, lanes: Lanes, offset: usize) {
        let of = |operand: usize| plus(of_lane(operand), 4 * offset as i32);
        let location = Mem {
            base: RDI,
            index: Some((RDX, 1)),
            disp: 0,
        };
        self.a.mov(false, RDX, Rm::M(of(0)));
        self.a.mov(false, RSI, Rm::M(of(DATA)));
        if lanes.dst.is_some() {
            self.a.mov(false, R9, Rm::M(location));
            self.a.store(false, of(FOUND), R9);
        }
        let opcode = match lanes.op {
            AtomicOp::Add => 0x01,
            AtomicOp::Sub => 0x29,
            AtomicOp::And => 0x21,
            AtomicOp::Or => 0x09,
            AtomicOp::Xor => 0x31,
            AtomicOp::Swap => 0x89,
            _ => {
                self.a.mov(false, R9, Rm::M(location));
                self.a.alu(alu::CMP, false, RSI, Rm::R(R9));
                let better = match (lanes.op == AtomicOp::Min, lanes.signed) {
                    (true, true) => Cc::L,
                    (true, false) => Cc::B,
                    (false, true) => Cc::G,
                    (false, false) => Cc::A,
                };
                self.a.cmov(better, false, R9, Rm::R(RSI));
                self.a.store(false, location, R9);
                return;
            }
        };
        self.a.g(false, &[opcode], RSI, Rm::M(location));
    }

    /// Returns a helper's work on memory, if compiled code can execute it when all addresses are aligned and permitted.
    pub(super) fn in_memory(&self, w: &WaveHelperCall) -> Option<InMemory> {
        match w.helper {
            WaveHelper::Atomic {
                space: Space::Global | Space::Flat,
                op,
                ty,
                dst,
            } => {
                let known = (plain(op) || op == AtomicOp::CmpSwap) && !ty.is_float();
                // The wave may not have the second VGPR of a result.
                let known = known && (ty.bits() == 32 || dst.is_none());
                let known = known && self.with(Optional::Atomics);
                let signed = ty.is_signed();
                known.then_some(InMemory {
                    what: ToMemory::Atomic { op, signed, dst },
                    bytes: (ty.bits() / 8) as u8,
                    offset: 0,
                })
            }
            WaveHelper::Store {
                space: Space::Global,
                dwords: dwords @ (2 | 4),
                two: false,
                offset,
            } => Some(InMemory {
                what: ToMemory::Store,
                bytes: 4 * dwords,
                offset,
            }),
            _ => None,
        }
    }

    /// Executes the lanes' operations one after the other, or falls through to the code that calls the helper. Returns the label after both.
    ///
    /// Stores of lanes that do not overlap have no order, and lanes whose addresses are multiples of their size overlap only if they have
    /// the same one. Therefore each lane's dwords may be stored before those of the next.
    pub(super) fn lanes_to_memory(&mut self, m: InMemory) -> Label {
        let [slow, done, from, again, checked] = [(); 5].map(|()| self.a.label());
        let range = self.new_range();
        let exec = sgpr_home(EXEC as u8);
        // R10 limits the number of range look-ups, because slices may be in memory that no single range covers.
        self.a.imm(R10, 4);
        self.a.bind(again);
        self.a.mov(true, R8, Rm::M(exec));
        self.a.test(true, R8, R8);
        self.a.jcc(Cc::E, done);
        self.a.tzcnt(true, RCX, R8);
        self.check_tag(range, from);
        self.a.mov(true, RDI, Rm::M(range.start()));
        let top = self.a.here();
        self.a.tzcnt(true, RCX, R8);
        self.a.mov(false, RAX, Rm::M(of_lane(0)));
        self.a.mov(false, RDX, Rm::M(of_lane(1)));
        self.a.shift_imm(4, true, RDX, 32);
        self.a.alu(alu::OR, true, RAX, Rm::R(RDX));
        self.a.lea(RDX, mem(RAX, m.offset));
        self.a
            .alu_imm(alu::AND, false, Rm::R(RDX), m.bytes as i32 - 1);
        self.a.jcc(Cc::Ne, slow);
        self.a.alu(alu::SUB, true, RAX, Rm::R(RDI));
        self.a.alu(alu::CMP, true, RAX, Rm::M(range.bytes()));
        self.a.jcc(Cc::Ae, from);
        self.a.store(false, of_lane(DISTANCE), RAX);
        self.a.blsr(true, R8, R8);
        self.a.jcc(Cc::Ne, top);
        self.a.jmp(checked);
        // Lane RCX is outside of the remembered range: look up the range around its slice.
        self.a.bind(from);
        self.a.alu_imm(alu::SUB, false, Rm::R(R10), 1);
        self.a.jcc(Cc::S, slow);
        self.hand_over_staged();
        let need = match m.what {
            ToMemory::Atomic { .. } => 3,
            ToMemory::Store => 2,
        };
        let what = m.bytes as u64 | need << 8;
        self.ask_range(what | (m.offset as u32 as u64) << 32, range);
        let call = self.common.around_call;
        self.a.call_label(call);
        self.a.test(false, RAX, RAX);
        self.a.jcc(Cc::Ne, slow);
        self.tag(range);
        self.a.jmp(again);
        // Nothing fails from here on.
        self.a.bind(checked);
        self.of_host(RDI);
        self.a.alu(alu::ADD, true, RDI, Rm::R(BIAS));
        self.a.mov(true, R8, Rm::M(exec));
        match m.what {
            ToMemory::Store => self.store_staged_lanes(m.bytes, m.offset),
            ToMemory::Atomic { op, signed, dst } => self.each_staged_lane(|e| {
                e.lane_in_memory((op, signed), m.bytes == 8, dst.is_some());
            }),
        }
        if let ToMemory::Atomic { dst: Some(dst), .. } = m.what {
            for k in 0..m.bytes / 4 {
                V::write_staged(self, DATA + k as usize, dst + k);
            }
        }
        self.a.jmp(done);
        self.a.bind(slow);
        done
    }

    /// Writes a loop over the lanes whose bits are in R8, which are some: RCX is the lane, RDX its distance.
    fn each_staged_lane(&mut self, lane: impl FnOnce(&mut Self)) {
        let top = self.a.here();
        self.a.tzcnt(true, RCX, R8);
        self.a.mov(false, RDX, Rm::M(of_lane(DISTANCE)));
        lane(self);
        self.a.blsr(true, R8, R8);
        self.a.jcc(Cc::Ne, top);
    }

    /// Stores the staged data of the lanes whose bits are in R8 at RDI plus their distances plus a constant. RAX, RCX, RDX and RSI are clobbered.
    pub(super) fn store_staged_lanes(&mut self, bytes: u8, offset: i32) {
        self.each_staged_lane(|e| {
            for pair in 0..bytes as usize / 8 {
                e.staged_data(RSI, DATA + 2 * pair, true);
                let to = Mem {
                    base: RDI,
                    index: Some((RDX, 1)),
                    disp: offset + 8 * pair as i32,
                };
                e.a.store(true, to, RSI);
            }
        });
    }

    /// Loads lane RCX's staged operand of one or two dwords. RAX is clobbered if there are two.
    fn staged_data(&mut self, to: Gpr, operand: usize, wide: bool) {
        self.a.mov(false, to, Rm::M(of_lane(operand)));
        if wide {
            self.a.mov(false, RAX, Rm::M(of_lane(operand + 1)));
            self.a.shift_imm(4, true, RAX, 32);
            self.a.alu(alu::OR, true, to, Rm::R(RAX));
        }
    }

    /// Executes an instruction that reads and writes memory, atomically if other threads may access it.
    fn atomically(&mut self, wide: bool, opcode: &[u8], r: Gpr, location: Rm) {
        let (shared, done) = (self.a.label(), self.a.label());
        self.a.cmp8(ctx!(memory.shared), 0);
        self.a.jcc(Cc::Ne, shared);
        self.a.g(wide, opcode, r, location);
        self.a.jmp(done);
        self.a.bind(shared);
        self.a.buf.push(0xf0); // lock
        self.a.g(wide, opcode, r, location);
        self.a.bind(done);
    }

    /// Executes the atomic of lane RCX at RDI + RDX. The old value replaces its staged data. RAX, RSI and R9 are clobbered.
    fn lane_in_memory(&mut self, (op, signed): (AtomicOp, bool), wide: bool, found: bool) {
        let location = Rm::M(Mem {
            base: RDI,
            index: Some((RDX, 1)),
            disp: 0,
        });
        self.staged_data(RSI, DATA, wide);
        let lock = |e: &mut Self, opcode: &[u8], r: Gpr| e.atomically(wide, opcode, r, location);
        let plain: Option<&[u8]> = match op {
            AtomicOp::Add => Some(&[0x01]),
            AtomicOp::Sub => Some(&[0x29]),
            AtomicOp::And => Some(&[0x21]),
            AtomicOp::Or => Some(&[0x09]),
            AtomicOp::Xor => Some(&[0x31]),
            _ => None,
        };
        match (op, plain) {
            (_, Some(opcode)) if !found => return lock(self, opcode, RSI),
            (AtomicOp::Add | AtomicOp::Sub, _) => {
                if op == AtomicOp::Sub {
                    // NEG
                    self.a.g(wide, &[0xf7], 3, Rm::R(RSI));
                }
                lock(self, &[0x0f, 0xc1], RSI);
                self.a.mov(true, RAX, Rm::R(RSI));
            }
            (AtomicOp::Swap, _) => {
                let (shared, done) = (self.a.label(), self.a.label());
                self.a.cmp8(ctx!(memory.shared), 0);
                self.a.jcc(Cc::Ne, shared);
                self.a.mov(wide, RAX, location);
                self.a.g(wide, &[0x89], RSI, location); // mov
                self.a.jmp(done);
                self.a.bind(shared);
                // XCHG is atomic without a prefix.
                self.a.g(wide, &[0x87], RSI, location);
                self.a.mov(true, RAX, Rm::R(RSI));
                self.a.bind(done);
            }
            (AtomicOp::CmpSwap, _) => {
                self.staged_data(R9, DATA + 2, wide);
                self.a.mov(true, RAX, Rm::R(R9));
                lock(self, &[0x0f, 0xb1], RSI);
            }
            (AtomicOp::Min | AtomicOp::Max, _) => {
                // Nothing is written if the value does not change.
                let stays = match (op == AtomicOp::Min, signed) {
                    (true, true) => Cc::Ge,
                    (true, false) => Cc::Ae,
                    (false, true) => Cc::Le,
                    (false, false) => Cc::Be,
                };
                let end = self.a.label();
                self.a.mov(wide, RAX, location);
                let again = self.a.here();
                self.a.alu(alu::CMP, wide, RSI, Rm::R(RAX));
                self.a.jcc(stays, end);
                lock(self, &[0x0f, 0xb1], RSI);
                self.a.jcc(Cc::Ne, again);
                self.a.bind(end);
            }
            _ => {
                self.a.mov(wide, RAX, location);
                let again = self.a.here();
                self.a.mov(true, R9, Rm::R(RAX));
                let with = match op {
                    AtomicOp::And => alu::AND,
                    AtomicOp::Or => alu::OR,
                    _ => alu::XOR,
                };
                self.a.alu(with, true, R9, Rm::R(RSI));
                lock(self, &[0x0f, 0xb1], R9);
                self.a.jcc(Cc::Ne, again);
            }
        }
        if found {
            self.a.store(false, of_lane(DATA), RAX);
            if wide {
                self.a.shift_imm(5, true, RAX, 32);
                self.a.store(false, of_lane(DATA + 1), RAX);
            }
        }
    }

    /// Copies the addresses of lane RCX's slice and its active lanes to where helpers read them. RAX and RCX are clobbered.
    fn hand_over_staged(&mut self) {
        self.a.alu_imm(alu::AND, false, Rm::R(RCX), 0x30);
        for operand in 0..2 {
            for at in (0..64).step_by(8) {
                let from = Mem {
                    index: Some((RCX, 4)),
                    ..ctx!(stage, 256 * operand + at)
                };
                self.a.mov(true, RAX, Rm::M(from));
                self.a.store(true, ctx!(addresses, 64 * operand + at), RAX);
            }
        }
        self.a.shift_imm(5, false, RCX, 3);
        let bits = Mem {
            index: Some((RCX, 1)),
            ..sgpr_home(EXEC as u8)
        };
        self.a.g(false, &[0x0f, 0xb7], RAX, Rm::M(bits));
        self.a.store16(ctx!(call.lanes), RAX);
    }
}
