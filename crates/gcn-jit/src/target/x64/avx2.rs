//! The vector code of AVX2: half a slice, 8 lanes, in each register of 256 bits; truth values are vectors of ones and zeros.
//!
//! A block's vector operations become machine instructions ([`select`]) once, for 8 lanes; registers are allocated
//! ([`crate::lir`]); and the result is encoded for each half of each slice, or for the two halves in a loop of four slices.
//! Where an operation moves values between the halves of a slice, the code is selected for both at once.
//!
//! A 64-bit value per lane is two registers: the first has lanes 0, 1, 4 and 5, the second 2, 3, 6 and 7. So halves are joined and
//! taken apart within 128 bits.

use super::atomic::Joined;
use super::encode::vex::*;
use super::lds::Two;
use super::slice::{SLICE, vgpr_line};
use super::*;
use crate::lir::Code;
use std::rc::Rc;

mod bases;
mod float;
mod inst;
mod memory;
mod select;
mod slow;
mod staging;

use inst::{At, M, Places, Section};
use select::Select;

/// The number of vector operations from which on a block's slices are the iterations of a loop.
const LOOP: usize = 6;

/// Ballots beyond these are collected in memory.
const BALLOT_REGISTERS: usize = 3;

/// Host registers.
const REGISTERS: u8 = 16;

const BROADCASTB: X = X(2, 1, 0, 0x78);
const MOVMSKPS: X = X(1, 0, 0, 0x50);
const MOVMSKPD: X = X(1, 1, 0, 0x50);
const GATHERDD: X = X(2, 1, 0, 0x90);
const UNPCKLQ: X = X(1, 1, 0, 0x6c);
const UNPCKHQ: X = X(1, 1, 0, 0x6d);
const MOVD: X = X(1, 1, 0, 0x6e);
const MOVD_TO: X = X(1, 1, 0, 0x7e);
const MAXUD: X = X(2, 1, 0, 0x3f);
const MINUD: X = X(2, 1, 0, 0x3b);
const MAXSD: X = X(2, 1, 0, 0x3d);
const MINSD: X = X(2, 1, 0, 0x39);

/// Each lane's bit.
const BIT_OF_LANE: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// The bits of EXEC.
const EXEC_BITS: At = At {
    mem: mem(
        WAVE,
        (offset_of!(WaveState, sgprs) + 4 * EXEC as usize) as i32,
    ),
    slice: 2,
    half: 1,
};

/// The state of a block's vector code.
#[derive(Default)]
pub(crate) struct Avx2 {
    /// The half of the slice that code is written for.
    half: u8,
    /// The number of lines of [`Ctx::vectors`] that are taken. Spill slots follow.
    next_slot: u16,
    /// The VGPRs that are written at the end, and the lines that hold their values.
    deferred: Vec<(u16, u16)>,
    /// The lines that hold the data of the deferred stores.
    stored: Vec<Vec<u16>>,
    ballots: Vec<Id>,
    sections: Vec<Section>,
    /// Where the block is left for code without affine values.
    leave: Option<Label>,
}

impl Vectors for Avx2 {
    const TERNARY_LOGIC: bool = false;

    fn looped(operations: usize) -> bool {
        operations >= LOOP
    }

    fn save(a: &mut Asm) {
        for r in 0..REGISTERS {
            a.y(STORE, r, 0, H::M(ctx!(save, 64 * r as usize)));
        }
    }

    fn restore(a: &mut Asm) {
        for r in 0..REGISTERS {
            a.y(LOAD, r, 0, H::M(ctx!(save, 64 * r as usize)));
        }
    }

    fn copy(a: &mut Asm, bytes: u8, r: u8, from: Mem, to: Mem) {
        let plus = |m: Mem, by: i32| Mem {
            disp: m.disp + by,
            ..m
        };
        if bytes == 16 {
            a.x(LOAD, r, 0, H::M(from));
            a.x(STORE, r, 0, H::M(to));
            return;
        }
        for at in (0..bytes as i32).step_by(32) {
            let r = r + (at / 32) as u8 * 8;
            a.y(LOAD, r, 0, H::M(plus(from, at)));
            a.y(STORE, r, 0, H::M(plus(to, at)));
        }
    }

    fn zero(a: &mut Asm) {
        a.x(XOR, 0, 0, H::R(0));
    }

    fn store_line(a: &mut Asm, to: Mem) {
        for at in [0, 32] {
            let to = Mem {
                disp: to.disp + at,
                ..to
            };
            a.y(STORE, 0, 0, H::M(to));
        }
    }

    fn free(&self) -> u8 {
        0
    }

    fn bases(e: &mut Emit<'_, Self>) {
        e.affine_bases();
    }

    fn slices(e: &mut Emit<'_, Self>, used: &[bool]) {
        e.vector_code(used);
    }

    fn stage_apart(e: &mut Emit<'_, Self>, inputs: &[(usize, Id)]) {
        e.stage_apart(inputs);
    }

    fn staged_in_lds(
        e: &mut Emit<'_, Self>,
        operands: &[usize],
        limit: Id,
        bytes: i32,
        multiple: u64,
        other: Label,
    ) {
        e.staged_in_lds(operands, limit, bytes, multiple, other);
    }

    fn reduce_staged(e: &mut Emit<'_, Self>, j: &Joined) {
        e.reduce_staged(j);
    }

    fn write_staged(e: &mut Emit<'_, Self>, operand: usize, vgpr: u8) {
        e.write_staged(operand, vgpr);
    }

    fn store_two(e: &mut Emit<'_, Self>, two: Two) {
        e.store_two(two);
    }

    fn effects(e: &mut Emit<'_, Self>) {
        e.deferred_stores();
        e.deferred_writes();
        e.affine_writes();
    }

    fn out_of_line(e: &mut Emit<'_, Self>) {
        e.write_sections();
        e.leave_affine();
    }
}

impl Emit<'_, Avx2> {
    /// A line of [`Ctx::vectors`] for each slice.
    fn lines(&mut self) -> u16 {
        let n = self.v.next_slot;
        self.v.next_slot += 4;
        if self.v.next_slot as usize > VECTORS {
            self.too_large = true;
            self.v.next_slot = 0;
            return 0;
        }
        n
    }

    fn vector_code(&mut self, used: &[bool]) {
        let c = self.c;
        let ballots: Vec<Id> = (0..c.graph.len())
            .filter(|&at| used[at] && c.graph[at].op == Inst::Ballot)
            .map(|at| at as Id)
            .collect();
        for (i, &b) in ballots.iter().enumerate() {
            if i < BALLOT_REGISTERS {
                self.a.imm(R8 + i as u8, 0);
            } else {
                let slot = self.slot(b);
                self.a.imm(RAX, 0);
                self.a.store(true, slot, RAX);
            }
        }
        self.v.ballots = ballots;
        let both = c
            .graph
            .iter()
            .any(|n| matches!(n.op, Inst::Shuffle(digits) if select::crosses(digits)));
        let mut s = Select::new(self, both);
        s.slice();
        let code = s.code;
        self.run(&code, both, true);
        for i in 0..self.v.ballots.len().min(BALLOT_REGISTERS) {
            self.ballot_in(self.v.ballots[i], R8 + i as u8);
        }
    }

    /// Allocates registers and writes the code of all slices with active lanes. `both`: it is the code of both halves.
    fn run(&mut self, code: &Code<M>, both: bool, ballots: bool) {
        let Some(out) = crate::lir::regalloc::allocate(code, [REGISTERS, 0]) else {
            self.mistaken();
            return;
        };
        if 64 * self.v.next_slot as usize + 32 * out.slots as usize > 64 * (VECTORS - 1) {
            self.too_large = true;
        }
        self.for_halves(both, |e| e.steps(code, &out), ballots);
    }

    /// Writes code for each half of each slice, or in a loop of four slices. It is skipped where no lane is active.
    fn for_halves(&mut self, both: bool, code: impl Fn(&mut Self), ballots: bool) {
        let slices = if self.looped { 1 } else { 4 };
        let halves = if both { 1 } else { 2 };
        if self.looped {
            self.a.imm(SLICE, 0);
        }
        let top = self.a.here();
        for slice in 0..slices {
            for half in 0..halves {
                (self.slice, self.v.half) = (slice, half);
                let over = self.a.label();
                if self.full.is_none() {
                    let m = self.at(EXEC_BITS, RAX);
                    match both {
                        true => self.a.cmp16_zero(m),
                        false => self.a.cmp8(m, 0),
                    }
                    self.a.jcc(Cc::E, over);
                }
                code(self);
                self.a.bind(over);
                if ballots {
                    self.rotate_ballots(8 * (1 + both as u8));
                }
            }
        }
        self.v.half = 0;
        if self.looped {
            self.a.alu_imm(alu::ADD, false, Rm::R(SLICE), 8);
            self.a.alu_imm(alu::CMP, false, Rm::R(SLICE), 32);
            self.a.jcc(Cc::Ne, top);
        }
    }

    /// Each half's bits are rotated in, so that the earlier ones move on.
    fn rotate_ballots(&mut self, by: u8) {
        for i in 0..self.v.ballots.len() {
            let to = if i < BALLOT_REGISTERS {
                Rm::R(R8 + i as u8)
            } else {
                Rm::M(self.slot(self.v.ballots[i]))
            };
            self.a.rotate_right(true, to, by);
        }
    }

    /// Writes the VGPRs whose values were deferred.
    fn deferred_writes(&mut self) {
        let all = std::mem::take(&mut self.v.deferred);
        if all.is_empty() {
            return;
        }
        let copy = |e: &mut Self| {
            for (k, &(v, line)) in all.iter().enumerate() {
                let r = (k % REGISTERS as usize) as u8;
                let from = e.at(At::dwords(line_mem(line)), RAX);
                e.a.y(LOAD, r, 0, H::M(from));
                let to = e.at(At::dwords(vgpr_line(v, 0)), RAX);
                e.a.y(STORE, r, 0, H::M(to));
            }
        };
        self.for_halves(false, copy, false);
    }
}

fn line_mem(line: u16) -> Mem {
    let n = (line as usize).min(VECTORS - 1);
    mem(CTX, (offset_of!(Ctx, vectors) + 64 * n) as i32)
}
