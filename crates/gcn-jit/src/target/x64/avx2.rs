//! The vector code of AVX2: half a slice, 8 lanes, in each register of 256 bits; truth values are vectors of ones and zeros.
//!
//! A block's vector operations become machine instructions ([`select`]) once, for 8 lanes; registers are allocated
//! ([`crate::lir`]); and the result is encoded for each half of each slice, or for the two halves in a loop of four slices.
//! Where an operation moves values between the halves of a slice, the code is selected for both at once.
//!
//! A 64-bit value per lane is two registers: the first has lanes 0, 1, 4 and 5, the second 2, 3, 6 and 7. Therefore halves are
//! joined and separated within 128 bits.

use super::atomic::Joined;
use super::encode::vex::*;
use super::lds::Two;
use super::machine::{At, EXEC_BITS, Machine, plus};
use super::memory::{Elements, Lanes, Temps};
use super::range::Range;
use super::select::Shared;
use super::slice::vgpr_line;
use super::*;
use crate::lir::regalloc::CLASSES;
use crate::lir::{Class, Remat, VReg};
use std::rc::Rc;

mod bases;
mod float;
mod inst;
mod memory;
mod plain;
mod select;
mod slow;
mod staging;

use inst::M;
use plain::*;

type Select<'s, 'a> = super::select::Select<'s, 'a, Avx2>;
type OperandRegisters<'a> = super::machine::OperandRegisters<'a, M>;

/// The number of vector operations from which on a block's slices are the iterations of a loop.
const LOOP: usize = 6;

/// Host registers.
const REGISTERS: u8 = 16;

const BROADCASTB: X = X(2, 1, 0, 0x78);
const GATHERDD: X = X(2, 1, 0, 0x90);
const PSHUFD: X = X(1, 1, 0, 0x70);
const UNPCKLQ: X = X(1, 1, 0, 0x6c);
const UNPCKHQ: X = X(1, 1, 0, 0x6d);
const MOVD_TO: X = X(1, 1, 0, 0x7e);
const MOVQ_TO: X = X(1, 1, 1, 0x7e);
const MOVQ_FROM: X = X(1, 1, 1, 0x6e);
const INSERTD: X = X(3, 1, 0, 0x22);
const EXTRACTQ: X = X(3, 1, 1, 0x16);
const EXTRACTD: X = X(3, 1, 0, 0x16);
const EXTRACTB: X = X(3, 1, 0, 0x14);
const EXTRACTW: X = X(3, 1, 0, 0x15);
const BLENDD: X = X(3, 1, 0, 0x02);
const LOADQ: X = X(1, 2, 0, 0x7e);
const LOADHPS: X = X(1, 0, 0, 0x16);

/// Each lane's bit.
const BIT_OF_LANE: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

pub(crate) struct Avx2;

impl VectorIsa for Avx2 {
    type Op = M;
    type Base = bases::B;
    type Constant = select::Constant;

    const TERNARY_LOGIC: bool = false;
    const PARTS: u8 = 2;
    const REGISTERS: [u8; CLASSES] = [REGISTERS, 0];
    const TRUTH: Class = 0;
    const BROADCAST: Remat = Remat::Value;
    const KEEPS: bool = false;
    const MASKS: usize = 0;

    fn looped(operations: usize) -> bool {
        operations >= LOOP
    }

    fn both(e: &Emit<'_, Avx2>) -> bool {
        let crosses = |n: &Node| matches!(n.op, Inst::Shuffle(digits) if select::crosses(digits));
        e.c.graph.iter().any(crosses) || e.with(Optional::Halves) && e.plan.waits(e.c)
    }

    fn load(a: &mut Asm, bytes: u8, r: u8, from: Mem) {
        a.v(LOAD, bytes / 32, r, 0, H::M(from), None);
    }

    fn store(a: &mut Asm, bytes: u8, r: u8, to: Mem) {
        a.v(STORE, bytes / 32, r, 0, H::M(to), None);
    }

    fn move_register(a: &mut Asm, bytes: u8, from: u8, to: u8) {
        a.v(LOAD, bytes / 32, to, 0, H::R(from), None);
    }

    fn add_qwords(a: &mut Asm, r: Gpr, [from, to]: [Mem; 2]) {
        a.x(MOVQ_FROM, 0, 0, H::R(r));
        a.y(BROADCASTQ, 0, 0, H::R(0));
        a.y(ADDQ, 0, 0, H::M(from));
        Avx2::store(a, 32, 0, to);
    }

    fn add_dwords(a: &mut Asm, r: Gpr, [from, to]: [Mem; 2]) {
        a.x(MOVD, 0, 0, H::R(r));
        a.x(BROADCASTD, 0, 0, H::R(0));
        a.x(ADDD, 0, 0, H::M(from));
        Avx2::store(a, 16, 0, to);
    }

    fn zero(a: &mut Asm) {
        a.x(XOR, 0, 0, H::R(0));
    }

    fn truth(p: OperandRegisters<'_>, k: usize) -> u8 {
        p.r(k)
    }

    fn truth_to(a: &mut Asm, to: Gpr, truth: u8) {
        a.y(MOVMSKPS, to, 0, H::R(truth));
    }

    fn bits(e: &mut Emit<'_, Avx2>, at: At, r: u8) {
        e.mask_of_bits(at, r);
    }

    fn broadcast(a: &mut Asm, r: u8, bytes: u8, from: Mem) {
        let x = if bytes == 8 { BROADCASTQ } else { BROADCASTD };
        a.y(x, r, 0, H::M(from));
    }

    fn broadcast_gpr(a: &mut Asm, r: u8, from: Gpr) {
        a.x(MOVD, r, 0, H::R(from));
        a.y(BROADCASTD, r, 0, H::R(r));
    }
}
