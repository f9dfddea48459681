//! The machine instructions, and their encoding.

use super::*;
use crate::lir::regalloc::{Allocation, Place, Step};

/// Memory of the current lanes: an address, and what the next slice of 16 lanes and its upper half add to it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct At {
    pub mem: Mem,
    pub slice: i32,
    pub half: i32,
}

impl At {
    /// The same for all lanes.
    pub fn same(mem: Mem) -> At {
        At {
            mem,
            slice: 0,
            half: 0,
        }
    }

    /// Dwords of 64 lanes.
    pub fn dwords(mem: Mem) -> At {
        At {
            mem,
            slice: 64,
            half: 32,
        }
    }

    /// Bits of 64 lanes.
    pub fn bits(mem: Mem) -> At {
        At {
            mem,
            slice: 2,
            half: 1,
        }
    }
}

/// A machine instruction. Operands are in the order in which they are named.
#[derive(Clone, Debug)]
pub(super) enum M {
    /// Result of one operand: use, result. The second number is 1 for 256 bits, 0 for 128.
    One(X, u8, Option<u8>),
    /// Of two: use, use, result.
    Two(X, u8, Option<u8>),
    /// Of three, the first of which the result replaces.
    Three(X, u8),
    /// The second operand's elements where the third is negative, elsewhere the first's.
    Blend(u8),
    /// Shift by a constant: `op` 0x72 dwords, 0x73 qwords; `ext` 2 srl, 4 sra, 6 sll.
    Shift {
        op: u8,
        ext: u8,
        by: u8,
        l: u8,
    },
    /// The source is where others have the result: use, result.
    Reverse(X, u8, u8),
    Zero,
    Ones,
    /// A constant.
    Line(u32),
    /// A constant for each half.
    HalfLine([u32; 2]),
    /// 32 bytes.
    Load(At),
    /// An element of 4 or 8 bytes in all.
    Broadcast(At, u8),
    /// The same plus a constant for each half.
    Affine(At, [u32; 2]),
    /// The truth values that bits in memory say.
    Bits(At),
    /// Lanes 0, 16, 32 and 48 of a VGPR.
    BaseVgpr(u16),
    Store(At),
    /// Stores of one register each.
    StoreAll(Vec<At>),
    /// 16 bytes, 32 bytes.
    StoreBase(Mem, u8),
    Mxcsr(FpEnv),
    /// The bits of truth values are collected.
    Ballot(usize, u8),
    /// The block restarts where a lane is active and this is true.
    Check(At),
    Range(float::Range),
    Fix(slow::Fix),
    Slow(Rc<slow::Slow>),
    Access(Rc<memory::Access>),
    Guards,
    Base(Rc<bases::BaseAddress>),
    VgprAt(Id, At),
    /// Mask (tied), index, result: dwords at an address plus 4 times the index.
    Gather(Mem),
}

/// Out-of-line code of an instruction, and where it belongs to.
pub(crate) struct Section {
    slice: u8,
    half: u8,
    code: Box<SectionCode>,
}

type SectionCode = dyn for<'x> FnOnce(&mut Emit<'x, Avx2>);

/// An instruction's registers and other places.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    pub code: &'a Code<M>,
    pub places: &'a [Place],
}

impl Places<'_> {
    pub fn r(&self, k: usize) -> u8 {
        match self.places[k] {
            Place::Reg(r) => r,
            _ => 0,
        }
    }

    pub fn range(&self, from: usize, count: usize) -> Vec<u8> {
        (from..from + count).map(|k| self.r(k)).collect()
    }
}

impl Emit<'_, Avx2> {
    /// The current lanes' memory. `t` is clobbered in loops if elements are narrower than 8 bytes; the flags as well.
    pub(super) fn at(&mut self, at: At, t: Gpr) -> Mem {
        let m = Mem {
            disp: at.mem.disp + at.half * self.v.half as i32,
            ..at.mem
        };
        if at.slice == 0 {
            return m;
        }
        if !self.looped {
            return Mem {
                disp: m.disp + at.slice * self.slice as i32,
                ..m
            };
        }
        let index = match at.slice {
            64 => (SLICE, 8),
            8 => (SLICE, 1),
            bytes => {
                self.a.mov(false, t, Rm::R(SLICE));
                let by = (8 / bytes).trailing_zeros() as u8;
                self.a.shift_imm(5, false, t, by);
                (t, 1)
            }
        };
        Mem {
            index: Some(index),
            ..m
        }
    }

    /// Notes code that is written after the block.
    pub(super) fn section(&mut self, code: impl for<'x> FnOnce(&mut Emit<'x, Avx2>) + 'static) {
        self.v.sections.push(Section {
            slice: self.slice,
            half: self.v.half,
            code: Box::new(code),
        });
    }

    pub(super) fn write_sections(&mut self) {
        while !self.v.sections.is_empty() {
            for s in std::mem::take(&mut self.v.sections) {
                (self.slice, self.v.half) = (s.slice, s.half);
                (s.code)(self);
            }
        }
    }

    /// A spill slot.
    fn spill_slot(&self, slot: u16) -> Mem {
        let at = (64 * self.v.next_slot as usize + 32 * slot as usize).min(64 * (VECTORS - 1));
        ctx!(vectors, at)
    }

    /// An operand as the last of an instruction.
    pub(super) fn h(&mut self, p: Places<'_>, k: usize) -> H {
        match p.places[k] {
            Place::Reg(r) => H::R(r),
            Place::Slot(s) => H::M(self.spill_slot(s)),
            Place::Memory(inst) => match p.code.insts[inst as usize].op {
                M::Load(at) => H::M(self.at(at, RAX)),
                M::Line(line) => H::L(line),
                M::HalfLine(lines) => H::L(lines[self.v.half as usize]),
                _ => {
                    self.mistaken();
                    H::R(0)
                }
            },
        }
    }

    /// Writes allocated code.
    pub(super) fn steps(&mut self, code: &Code<M>, out: &Allocation) {
        for step in &out.steps {
            match *step {
                Step::Inst { inst, places } => {
                    let places = out.places(code, inst, places);
                    let op = &code.insts[inst as usize].op;
                    self.machine(op, Places { code, places });
                }
                Step::Spill { reg, slot, .. } => {
                    let to = self.spill_slot(slot);
                    self.a.y(STORE, reg, 0, H::M(to));
                }
                Step::Reload { reg, slot, .. } => {
                    let from = self.spill_slot(slot);
                    self.a.y(LOAD, reg, 0, H::M(from));
                }
                Step::Move { from, to, .. } => self.a.y(LOAD, to, 0, H::R(from)),
            }
        }
    }

    fn machine(&mut self, op: &M, p: Places<'_>) {
        match op {
            &M::One(x, l, imm) => {
                let a = self.h(p, 0);
                self.a.v(x, l, p.r(1), 0, a, imm);
            }
            &M::Two(x, l, imm) => {
                let b = self.h(p, 1);
                self.a.v(x, l, p.r(2), p.r(0), b, imm);
            }
            &M::Three(x, l) => {
                let b = self.h(p, 3);
                self.a.v(x, l, p.r(1), p.r(2), b, None);
            }
            &M::Blend(l) => {
                let b = self.h(p, 1);
                let mask = p.r(2) << 4;
                self.a.v(BLENDV, l, p.r(3), p.r(0), b, Some(mask));
            }
            &M::Shift { op, ext, by, l } => {
                let x = X(1, 1, 0, op);
                self.a.v(x, l, ext, p.r(1), H::R(p.r(0)), Some(by));
            }
            &M::Reverse(x, l, imm) => self.a.v(x, l, p.r(0), 0, H::R(p.r(1)), Some(imm)),
            M::Zero => self.a.x(XOR, p.r(0), p.r(0), H::R(p.r(0))),
            M::Ones => self.a.y(EQD, p.r(0), p.r(0), H::R(p.r(0))),
            &M::Line(line) => self.a.y(LOAD, p.r(0), 0, H::L(line)),
            &M::HalfLine(lines) => {
                let line = lines[self.v.half as usize];
                self.a.y(LOAD, p.r(0), 0, H::L(line));
            }
            &M::Load(at) => {
                let m = self.at(at, RAX);
                self.a.y(LOAD, p.r(0), 0, H::M(m));
            }
            &M::Broadcast(at, bytes) => {
                let m = self.at(at, RAX);
                let x = if bytes == 8 { BROADCASTQ } else { BROADCASTD };
                self.a.y(x, p.r(0), 0, H::M(m));
            }
            &M::Affine(at, lines) => {
                let m = self.at(at, RAX);
                self.a.y(BROADCASTD, p.r(0), 0, H::M(m));
                let line = lines[self.v.half as usize];
                self.a.y(ADDD, p.r(0), p.r(0), H::L(line));
            }
            &M::Bits(at) => self.mask_of_bits(at, p.r(0), RAX),
            &M::BaseVgpr(v) => {
                let home = |slice: i32| mem(VGPRS, (v as i32 - VGPR_BIAS) * 256 + 64 * slice);
                let r = p.r(0);
                self.a.x(X(1, 1, 0, 0x6e), r, 0, H::M(home(0)));
                for slice in 1..4 {
                    let from = H::M(home(slice));
                    self.a.v(X(3, 1, 0, 0x22), 0, r, r, from, Some(slice as u8));
                }
            }
            &M::Store(at) => {
                let m = self.at(at, RAX);
                self.a.y(STORE, p.r(0), 0, H::M(m));
            }
            M::StoreAll(all) => {
                for (k, &at) in all.iter().enumerate() {
                    let m = self.at(at, RAX);
                    self.a.y(STORE, p.r(k), 0, H::M(m));
                }
            }
            &M::StoreBase(m, l) => self.a.v(STORE, l, p.r(0), 0, H::M(m), None),
            &M::Mxcsr(env) => self.a.ldmxcsr(mxcsr_of(env)),
            &M::Ballot(n, half) => self.collect_ballot(n, half, p.r(0)),
            &M::Check(active) => self.check_lanes(active, p.r(0)),
            M::Range(range) => self.range_code(*range, p),
            M::Fix(fix) => self.fix_code(*fix, p),
            M::Slow(slow) => self.slow_code(slow, p),
            M::Access(access) => self.access_code(access, p),
            M::Guards => self.guards_code(p),
            M::Base(base) => self.base_code(base, p),
            &M::VgprAt(number, at) => {
                self.sload(RAX, number);
                self.a.shift_imm(4, true, RAX, 8);
                self.a.alu(alu::ADD, true, RAX, Rm::R(VGPRS));
                let m = self.at(at, RCX);
                self.a.y(LOAD, p.r(0), 0, H::M(m));
            }
            &M::Gather(m) => {
                let (mask, index, d) = (p.r(1), p.r(2), p.r(3));
                let at = Mem {
                    index: Some((index, 4)),
                    ..m
                };
                self.a.y(XOR, d, d, H::R(d));
                self.a.y(GATHERDD, d, mask, H::M(at));
            }
        }
    }

    /// The truth values of 8 lanes that bits in memory say.
    pub(super) fn mask_of_bits(&mut self, at: At, r: u8, t: Gpr) {
        let m = self.at(at, t);
        let line = self.a.line(BIT_OF_LANE);
        self.a.y(BROADCASTB, r, 0, H::M(m));
        self.a.y(AND, r, r, line);
        self.a.y(EQD, r, r, line);
    }

    /// A general register: the bits of truth values.
    pub(super) fn bits_of(&mut self, to: Gpr, r: u8) {
        self.a.y(MOVMSKPS, to, 0, H::R(r));
    }

    /// Tests the bits in a register, of which those of inactive lanes do not matter. `t` is clobbered.
    pub(super) fn test_active(&mut self, active: At, bits: Gpr, t: Gpr) {
        if self.full.is_some() {
            self.a.test(false, bits, bits);
            return;
        }
        let m = self.at(active, t);
        self.a.test8(m, bits);
    }

    /// The active lanes' bits in a register.
    pub(super) fn active_to(&mut self, active: At, to: Gpr) {
        if self.full.is_some() {
            self.a.imm(to, 0xff);
            return;
        }
        let m = self.at(active, to);
        self.a.movzx8(to, m);
    }

    /// Compares the active lanes with all: not equal where one is inactive. Clobbers `t`.
    pub(super) fn compare_all_active(&mut self, active: At, t: Gpr) {
        let m = self.at(active, t);
        self.a.cmp8(m, 0xff);
    }

    /// `half` is the upper one where the code is of both.
    fn collect_ballot(&mut self, n: usize, half: u8, r: u8) {
        self.bits_of(RAX, r);
        if half == 1 {
            self.a.shift_imm(4, false, RAX, 8);
        }
        if n < BALLOT_REGISTERS {
            self.a.alu(alu::OR, true, R8 + n as u8, Rm::R(RAX));
        } else {
            let slot = self.slot(self.v.ballots[n]);
            self.a.g(true, &[0x09], RAX, Rm::M(slot));
        }
    }

    fn check_lanes(&mut self, active: At, r: u8) {
        self.bits_of(RCX, r);
        self.test_active(active, RCX, RAX);
        let restart = self.restart();
        self.a.jcc(Cc::Ne, restart);
    }
}
