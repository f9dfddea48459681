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
use super::machine::{At, EXEC_BITS, Machine, plus};
use super::memory::{Access, Affine, Lanes, Temps};
use super::range::Range;
use super::select::Shared;
use super::slice::vgpr_line;
use super::slow::{Fix, Slow};
use super::*;
use crate::ir::affine::Base;
use crate::lir::regalloc::CLASSES;
use crate::lir::{Again, Class, VReg};
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
type Places<'a> = super::machine::Places<'a, M>;

/// The number of vector operations from which on a block's slices are the iterations of a loop.
const LOOP: usize = 6;

/// Host registers.
const REGISTERS: u8 = 16;

const BROADCASTB: X = X(2, 1, 0, 0x78);
const GATHERDD: X = X(2, 1, 0, 0x90);
const UNPCKLQ: X = X(1, 1, 0, 0x6c);
const UNPCKHQ: X = X(1, 1, 0, 0x6d);
const MOVD_TO: X = X(1, 1, 0, 0x7e);
const MOVQ_TO: X = X(1, 1, 1, 0x7e);
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

impl Vectors for Avx2 {
    type Op = M;
    type Base = bases::B;
    type Constant = select::Constant;

    const TERNARY_LOGIC: bool = false;
    const PARTS: u8 = 2;
    const REGISTERS: [u8; CLASSES] = [REGISTERS, 0];
    const TRUTH: Class = 0;
    const BROADCAST: Again = Again::Value;
    const KEEPS: bool = false;

    fn looped(operations: usize) -> bool {
        operations >= LOOP
    }

    fn both(e: &Emit<'_, Avx2>) -> bool {
        let crosses = |n: &Node| matches!(n.op, Inst::Shuffle(digits) if select::crosses(digits));
        e.c.graph.iter().any(crosses)
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

    // ---- selection ----

    fn temps(what: Temps) -> &'static [Class] {
        match what {
            Temps::Slow => &[],
            Temps::Gather | Temps::StoreRow => &[0],
            Temps::Load(_) | Temps::Close | Temps::InOrder => &[0; 2],
            Temps::Lanes(false) | Temps::Fix => &[0; 3],
            Temps::Lanes(true) | Temps::Store => &[0; 5],
        }
    }

    fn constant(s: &mut Select<'_, '_>, value: u64, wide: bool) -> VReg {
        let (lo, hi) = (value as u32, (value >> 32) as u32);
        let hi = if wide { hi } else { lo };
        s.words([lo, hi, lo, hi, lo, hi, lo, hi])
    }

    fn affine(s: &mut Select<'_, '_>, base: Base, step: i32) -> VReg {
        s.affine_value(base, step)
    }

    fn affine_truth(s: &mut Select<'_, '_>, base: Base) -> VReg {
        s.affine_value(base, 0)
    }

    fn distances(s: &mut Select<'_, '_>, step: i32) -> VReg {
        s.by_lane(|lane| (lane as i32 * step) as u32)
    }

    fn active_lanes(s: &mut Select<'_, '_>) -> VReg {
        s.active()
    }

    fn same_truth(s: &mut Select<'_, '_>, value: bool) -> VReg {
        s.words([if value { u32::MAX } else { 0 }; 8])
    }

    fn scalar_truth(s: &mut Select<'_, '_>, id: Id) -> VReg {
        let (zero, bit) = (s.zero(), s.val(id));
        s.two(SUBD, zero, bit)
    }

    fn in_active(s: &mut Select<'_, '_>, old: VReg, new: VReg) -> VReg {
        let active = s.active();
        s.blend(old, new, active)
    }

    fn flushed(s: &mut Select<'_, '_>, r: VReg, wide: bool) -> VReg {
        s.without_denormals(r, wide)
    }

    fn unordered(s: &mut Select<'_, '_>, a: VReg, b: VReg) -> VReg {
        s.two_imm(X(1, 0, 0, 0xc2), a, b, 3)
    }

    fn unordered_wide(s: &mut Select<'_, '_>, r: [VReg; 2]) -> VReg {
        let m = r.map(|r| s.two_imm(X(1, 1, 0, 0xc2), r, r, 3));
        s.pack(m)
    }

    fn must_not(s: &mut Select<'_, '_>, r: VReg) {
        s.must_not_have(r);
    }

    fn check(s: &mut Select<'_, '_>) {
        s.checked();
    }

    fn pair(s: &mut Select<'_, '_>, lo: Id, hi: Id) -> [VReg; 2] {
        let (a, b) = (s.val(lo), s.val(hi));
        [s.two(UNPCKL, a, b), s.two(UNPCKH, a, b)]
    }

    fn half_of(s: &mut Select<'_, '_>, [a, b]: [VReg; 2], high: bool) -> VReg {
        s.two_imm(SHUFPS, a, b, if high { 0xdd } else { 0x88 })
    }

    fn lanes_in(s: &mut Select<'_, '_>, v: u16, lanes: Id) -> VReg {
        s.of_lanes(v, lanes)
    }

    fn shuffle(s: &mut Select<'_, '_>, digits: u64, x: Id) -> VReg {
        s.shuffled(digits, x)
    }

    fn double_shift(s: &mut Select<'_, '_>, left: bool, [x, y]: [Id; 2], by: u8) -> VReg {
        let (a, b) = (s.val(x), s.val(y));
        s.both_shifted(left, a, b, by, 1)
    }

    fn ternary(s: &mut Select<'_, '_>, _: &VectorOp, _: u8) -> VReg {
        s.e.mistaken();
        s.zero()
    }

    fn alu(s: &mut Select<'_, '_>, op: &VectorOp, o: Op, n: &Node) {
        s.alu_code(op, o, n);
    }

    // ---- encoding ----

    fn truth(p: Places<'_>, k: usize) -> u8 {
        p.r(k)
    }

    fn truth_to(a: &mut Asm, to: Gpr, truth: u8) {
        a.y(MOVMSKPS, to, 0, H::R(truth));
    }

    fn bits(e: &mut Emit<'_, Avx2>, at: At, r: u8) {
        e.mask_of_bits(at, r, RAX);
    }

    fn broadcast(a: &mut Asm, r: u8, bytes: u8, from: Mem) {
        let x = if bytes == 8 { BROADCASTQ } else { BROADCASTD };
        a.y(x, r, 0, H::M(from));
    }

    fn broadcast_gpr(a: &mut Asm, r: u8, from: Gpr) {
        a.x(MOVD, r, 0, H::R(from));
        a.y(BROADCASTD, r, 0, H::R(r));
    }

    fn lanes_code(e: &mut Emit<'_, Avx2>, access: &Rc<Access>, p: Places<'_>) {
        e.lanes_code(access, p);
    }

    fn load_code(e: &mut Emit<'_, Avx2>, a: Affine, p: Places<'_>) {
        e.affine_load_code(a, p);
    }

    fn store_code(e: &mut Emit<'_, Avx2>, a: Affine, p: Places<'_>) {
        e.affine_store_code(a, p);
    }

    fn gather_code(e: &mut Emit<'_, Avx2>, a: Affine, wanted: &[u8], p: Places<'_>) {
        e.affine_gather_code(a, wanted, p);
    }

    fn store_row_code(e: &mut Emit<'_, Avx2>, active: At, to: Mem, p: Places<'_>) {
        e.store_dwords(active, p.r(0), p.r(1), to);
    }

    fn slow_code(e: &mut Emit<'_, Avx2>, slow: &Rc<Slow>, p: Places<'_>) {
        e.slow_code(slow, p);
    }

    fn fix_code(e: &mut Emit<'_, Avx2>, fix: Fix, p: Places<'_>) {
        e.fix_code(fix, p);
    }

    // ---- staged operands ----

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

    fn store_staged(e: &mut Emit<'_, Self>, l: &Lanes, range: Range) -> Label {
        e.store_staged(l, range)
    }

    fn write_staged(e: &mut Emit<'_, Self>, operand: usize, vgpr: u8) {
        e.write_staged(operand, vgpr);
    }

    fn store_two(e: &mut Emit<'_, Self>, two: Two) {
        e.store_two(two);
    }
}
