//! The vector code of AVX-512: slices of 16 lanes in registers of 512 bits, truth values in opmasks.
//!
//! A 64-bit value per lane is two registers, of the lower and of the upper eight lanes.

use super::atomic::Joined;
use super::lds::Two;
use super::machine::{At, Machine, plus};
use super::memory::{Elements, Lanes, Temps};
use super::range::Range;
use super::select::Shared;
use super::slice::vgpr_line;
use super::*;
use crate::lir::regalloc::CLASSES;
use crate::lir::{Class, Remat, Role, VReg};
use std::rc::Rc;

mod bases;
mod inst;
mod memory;
mod select;
mod slow;
mod staging;

use inst::{From, M, Mix, opmask};

type Select<'s, 'a> = super::select::Select<'s, 'a, Avx512>;
type OperandRegisters<'a> = super::machine::OperandRegisters<'a, M>;

/// The number of vector operations from which on a block's four slices are the iterations of a loop. According to
/// measurements, from about ten on the loop is as fast and its code has a third of the size.
const LOOP: usize = 20;

/// Host registers and opmasks. Opmask 0 means no mask.
const REGISTERS: u8 = 32;
const OPMASKS: u8 = 8;

/// The opmask of the slice's active lanes, and the opmask of lanes whose results failed a check.
const K_EXEC: u8 = 7;
const K_BAD: u8 = 6;

pub(crate) struct Avx512;

/// Returns true if the block checks conditions that no active lane may meet.
fn checks(e: &Emit<'_, Avx512>) -> bool {
    let c = e.c;
    e.plan.checks || c.guards.iter().any(|&g| c.graph[g as usize].vec)
}

impl VectorIsa for Avx512 {
    type Op = M;
    type Base = bases::B;
    type Constant = select::Constant;

    const TERNARY_LOGIC: bool = true;
    const PARTS: u8 = 1;
    const REGISTERS: [u8; CLASSES] = [REGISTERS, K_BAD - 1];
    const TRUTH: Class = 1;
    const BROADCAST: Remat = Remat::Memory;
    const KEEPS: bool = true;
    const MASKS: usize = 6;

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

    fn load(a: &mut Asm, bytes: u8, r: u8, from: Mem) {
        a.evex(op::MOVDQU32.l(length(bytes)), r, 0, Rm::M(from), ALL, None);
    }

    fn store(a: &mut Asm, bytes: u8, r: u8, to: Mem) {
        a.evex(op::MOVDQU32_ST.l(length(bytes)), r, 0, Rm::M(to), ALL, None);
    }

    fn move_register(a: &mut Asm, bytes: u8, from: u8, to: u8) {
        a.evex(op::MOVDQU32.l(length(bytes)), to, 0, Rm::R(from), ALL, None);
    }

    fn load_truth(a: &mut Asm, r: u8, from: Mem) {
        a.kload16(opmask(r), from);
    }

    fn store_truth(a: &mut Asm, r: u8, to: Mem) {
        a.kstore16(to, opmask(r));
    }

    fn move_truth(a: &mut Asm, from: u8, to: u8) {
        a.kop(kop::OR, opmask(to), opmask(from), opmask(from));
    }

    fn save_truth(a: &mut Asm) {
        for k in 1..OPMASKS {
            a.kstore16(ctx!(saved.opmasks, 8 * k as usize), k);
        }
    }

    fn restore_truth(a: &mut Asm) {
        for k in 1..OPMASKS {
            a.kload16(k, ctx!(saved.opmasks, 8 * k as usize));
        }
    }

    fn add_qwords(a: &mut Asm, r: Gpr, [from, to]: [Mem; 2]) {
        a.evex(op::BCASTQ_R.l(1), 0, 0, Rm::R(r), ALL, None);
        a.evex(op::ADDQ.l(1), 0, 0, Rm::M(from), ALL, None);
        Avx512::store(a, 32, 0, to);
    }

    fn add_dwords(a: &mut Asm, r: Gpr, [from, to]: [Mem; 2]) {
        a.evex(op::BCASTD_R.l(0), 0, 0, Rm::R(r), ALL, None);
        a.evex(op::ADDD.l(0), 0, 0, Rm::M(from), ALL, None);
        Avx512::store(a, 16, 0, to);
    }

    fn zero(a: &mut Asm) {
        a.z(op::XORD, 0, 0, Rm::R(0));
    }

    fn truth(p: OperandRegisters<'_>, k: usize) -> u8 {
        p.k(k)
    }

    fn truth_to(a: &mut Asm, to: Gpr, truth: u8) {
        a.k_to_gpr(to, truth);
    }

    fn bits(e: &mut Emit<'_, Avx512>, at: At, truth: u8) {
        let m = e.at(at);
        e.a.kload16(truth, m);
    }

    fn broadcast(a: &mut Asm, r: u8, bytes: u8, from: Mem) {
        let e = if bytes == 8 { op::BCASTQ } else { op::BCASTD };
        a.z(e, r, 0, Rm::M(from));
    }

    fn broadcast_gpr(a: &mut Asm, r: u8, from: Gpr) {
        a.z(op::BCASTD_R, r, 0, Rm::R(from));
    }
}

/// Returns the code of a vector's length in an instruction.
fn length(bytes: u8) -> u8 {
    bytes.trailing_zeros() as u8 - 4
}
