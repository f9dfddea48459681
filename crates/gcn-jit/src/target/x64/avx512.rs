//! The vector code of AVX-512: slices of 16 lanes in registers of 512 bits, truth values in opmasks.
//!
//! A 64-bit value per lane is two registers, of the lower and of the upper eight lanes.

use super::atomic::Joined;
use super::lds::Two;
use super::machine::{At, Machine, plus};
use super::memory::{Access, Affine, Lanes, Temps};
use super::range::Range;
use super::select::Shared;
use super::slice::vgpr_line;
use super::slow::{Fix, Slow};
use super::*;
use crate::ir::affine::Base;
use crate::lir::regalloc::CLASSES;
use crate::lir::{Again, Class, Role, VReg};
use std::rc::Rc;

mod bases;
mod inst;
mod memory;
mod select;
mod slow;
mod staging;

use inst::{From, M, Mix};

type Select<'s, 'a> = super::select::Select<'s, 'a, Avx512>;
type Places<'a> = super::machine::Places<'a, M>;

/// The number of vector operations from which on a block's four slices are the iterations of a loop. By measurement that makes
/// no difference to speed from about ten on, and the code is a third.
const LOOP: usize = 20;

/// Host registers and opmasks. The first opmask is none.
const REGISTERS: u8 = 32;
const OPMASKS: u8 = 8;

/// The opmask of the slice's active lanes, and the opmask of lanes whose results failed a check.
const K_EXEC: u8 = 7;
const K_BAD: u8 = 6;

pub(crate) struct Avx512;

/// Whether lanes may have what they must not.
fn checks(e: &Emit<'_, Avx512>) -> bool {
    let c = e.c;
    e.plan.checks || c.guards.iter().any(|&g| c.graph[g as usize].vec)
}

impl Vectors for Avx512 {
    type Op = M;
    type Base = bases::B;
    type Constant = select::Constant;

    const TERNARY_LOGIC: bool = true;
    const PARTS: u8 = 1;
    const REGISTERS: [u8; CLASSES] = [REGISTERS, K_BAD - 1];
    const TRUTH: Class = 1;
    const BROADCAST: Again = Again::Memory;
    const KEEPS: bool = true;

    fn looped(operations: usize) -> bool {
        operations >= LOOP
    }

    fn all_active(a: &mut Asm) {
        a.kop(kop::XNOR, K_EXEC, K_EXEC, K_EXEC);
    }

    fn active(a: &mut Asm, bits: Mem) {
        a.kload16(K_EXEC, bits);
    }

    fn before(e: &mut Emit<'_, Avx512>) {
        if checks(e) {
            e.a.kop(kop::XOR, K_BAD, K_BAD, K_BAD);
        }
    }

    fn after(e: &mut Emit<'_, Avx512>) {
        if checks(e) {
            e.restart_if_bad();
        }
    }

    fn save(a: &mut Asm) {
        for z in 0..REGISTERS {
            a.z(op::MOVDQU32_ST, z, 0, Rm::M(ctx!(save, 64 * z as usize)));
        }
        for k in 1..OPMASKS {
            a.kstore16(ctx!(save_k, 8 * k as usize), k);
        }
    }

    fn restore(a: &mut Asm) {
        for z in 0..REGISTERS {
            a.z(op::MOVDQU32, z, 0, Rm::M(ctx!(save, 64 * z as usize)));
        }
        for k in 1..OPMASKS {
            a.kload16(k, ctx!(save_k, 8 * k as usize));
        }
    }

    fn copy(a: &mut Asm, bytes: u8, r: u8, from: Mem, to: Mem) {
        let ll = bytes.trailing_zeros() as u8 - 4;
        a.evex(op::MOVDQU32, ll, r, 0, Rm::M(from), ALL, None);
        a.evex(op::MOVDQU32_ST, ll, r, 0, Rm::M(to), ALL, None);
    }

    fn zero(a: &mut Asm) {
        a.z(op::XORD, 0, 0, Rm::R(0));
    }

    fn store_line(a: &mut Asm, to: Mem) {
        a.z(op::MOVDQU32_ST, 0, 0, Rm::M(to));
    }

    // ---- selection ----

    fn temps(what: Temps) -> &'static [Class] {
        match what {
            Temps::Lanes(_) => &[0, 0, 0, 0, 1, 1],
            Temps::Load(4) => &[0; 3],
            Temps::Load(_) | Temps::InOrder | Temps::StoreRow => &[],
            Temps::Close => &[0, 1],
            Temps::Gather | Temps::Store => &[0, 0, 0, 1],
            Temps::Slow => &[1],
            Temps::Fix => &[0, 1, 1, 1],
        }
    }

    fn constant(s: &mut Select<'_, '_>, value: u64, wide: bool) -> VReg {
        s.constant_value(value, wide)
    }

    fn affine(s: &mut Select<'_, '_>, base: Base, step: i32) -> VReg {
        s.affine_value(base, step)
    }

    fn affine_truth(s: &mut Select<'_, '_>, base: Base) -> VReg {
        let at = s.e.base_at(base);
        s.bits(at)
    }

    fn distances(s: &mut Select<'_, '_>, step: i32) -> VReg {
        s.distances(step)
    }

    fn active_lanes(s: &mut Select<'_, '_>) -> VReg {
        s.active()
    }

    fn same_truth(s: &mut Select<'_, '_>, value: bool) -> VReg {
        s.same(value)
    }

    fn scalar_truth(s: &mut Select<'_, '_>, id: Id) -> VReg {
        s.scalar(id)
    }

    fn truth_role(s: &Select<'_, '_>, r: VReg) -> Role {
        match s.code.again(r) {
            Again::Fixed => Role::Any,
            _ => Role::Use,
        }
    }

    fn in_active(s: &mut Select<'_, '_>, old: VReg, new: VReg) -> VReg {
        let d = s.reg();
        let operands = [(old, Role::Use), (new, Role::Any), (d, Role::Def)];
        s.push(M::InActive, &operands);
        d
    }

    fn flushed(s: &mut Select<'_, '_>, r: VReg, wide: bool) -> VReg {
        s.without_denormals(r, wide)
    }

    fn unordered(s: &mut Select<'_, '_>, a: VReg, b: VReg) -> VReg {
        s.nans(a, b)
    }

    fn unordered_wide(s: &mut Select<'_, '_>, r: [VReg; 2]) -> VReg {
        s.nans_wide(r)
    }

    fn must_not(s: &mut Select<'_, '_>, r: VReg) {
        let role = Self::truth_role(s, r);
        s.push(M::Bad, &[(r, role)]);
    }

    fn check(s: &mut Select<'_, '_>) {
        let effects = &s.e.c.effects;
        // Elsewhere it is enough to look after all slices.
        if checks(s.e) && (effects.store.is_some() || !effects.rows.is_empty()) {
            s.push(M::Check, &[]);
        }
    }

    fn pair(s: &mut Select<'_, '_>, lo: Id, hi: Id) -> [VReg; 2] {
        s.pair_of(lo, hi)
    }

    fn half_of(s: &mut Select<'_, '_>, r: [VReg; 2], high: bool) -> VReg {
        s.half_value(r, high)
    }

    fn lanes_in(s: &mut Select<'_, '_>, v: u16, lanes: Id) -> VReg {
        s.of_lanes(v, lanes)
    }

    fn shuffle(s: &mut Select<'_, '_>, digits: u64, x: Id) -> VReg {
        s.shuffled(digits, x)
    }

    fn double_shift(s: &mut Select<'_, '_>, left: bool, of: [Id; 2], by: u8) -> VReg {
        s.shifted(left, of, by)
    }

    fn ternary(s: &mut Select<'_, '_>, op: &VectorOp, table: u8) -> VReg {
        s.tern(op.args, table)
    }

    fn alu(s: &mut Select<'_, '_>, op: &VectorOp, o: Op, n: &Node) {
        s.alu_code(op, o, n);
    }

    // ---- encoding ----

    fn truth(p: Places<'_>, k: usize) -> u8 {
        p.k(k)
    }

    fn truth_to(a: &mut Asm, to: Gpr, truth: u8) {
        a.k_to_gpr(to, truth);
    }

    fn bits(e: &mut Emit<'_, Avx512>, at: At, truth: u8) {
        let m = e.at(at, RAX);
        e.a.kload16(truth, m);
    }

    fn broadcast(a: &mut Asm, r: u8, bytes: u8, from: Mem) {
        let e = if bytes == 8 { op::BCASTQ } else { op::BCASTD };
        a.z(e, r, 0, Rm::M(from));
    }

    fn broadcast_gpr(a: &mut Asm, r: u8, from: Gpr) {
        a.z(op::BCASTD_R, r, 0, Rm::R(from));
    }

    fn lanes_code(e: &mut Emit<'_, Avx512>, access: &Rc<Access>, p: Places<'_>) {
        e.lanes_code(access, p);
    }

    fn load_code(e: &mut Emit<'_, Avx512>, a: Affine, p: Places<'_>) {
        e.affine_load_code(a, p);
    }

    fn store_code(e: &mut Emit<'_, Avx512>, a: Affine, p: Places<'_>) {
        e.affine_store_code(a, p);
    }

    fn gather_code(e: &mut Emit<'_, Avx512>, a: Affine, wanted: &[u8], p: Places<'_>) {
        e.affine_gather_code(a, wanted, p);
    }

    fn store_row_code(e: &mut Emit<'_, Avx512>, _: At, to: Mem, p: Places<'_>) {
        let on = keep(K_EXEC);
        e.a.zk(op::MOVDQU32_ST, p.r(0), 0, Rm::M(to), on);
    }

    fn slow_code(e: &mut Emit<'_, Avx512>, slow: &Rc<Slow>, p: Places<'_>) {
        e.slow_code(slow, p);
    }

    fn fix_code(e: &mut Emit<'_, Avx512>, fix: Fix, p: Places<'_>) {
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
