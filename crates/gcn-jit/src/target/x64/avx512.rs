//! The vector code of AVX-512: slices of 16 lanes in registers of 512 bits, truth values in opmasks. Registers are allocated as the
//! code is written. If there is none left, the value with the latest next use is spilled.

use super::atomic::Joined;
use super::lds::Two;
use super::memory::reach;
use super::slice::{SLICE, vgpr_line};
use super::*;
use crate::context::MASKS;

mod affine;
mod atomic;
mod cross_lane;
mod gather;
mod lds;
mod memory;
mod nans;
mod ops;
mod registers;
mod slice;
mod slow_path;
mod staging;

/// The number of vector operations from which on a block's four slices are the iterations of a loop. By measurement that makes
/// no difference to speed from about ten on, and the code is a third.
const LOOP: usize = 20;

/// Host registers and opmasks. The first opmask is none.
const REGISTERS: u8 = 32;
const OPMASKS: u8 = 8;

/// The opmask of the slice's active lanes, and the opmask of lanes whose results failed a check.
pub const K_EXEC: u8 = 7;
const K_BAD: u8 = 6;

/// The state of a block's vector code.
#[derive(Default)]
pub(crate) struct Avx512 {
    bases: affine::BaseRegisters,
    pub z: Bank,
    pub k: Bank,
    pub out_of_line: Vec<OutOfLine>,
    /// The slow paths of values, and their calls by number.
    slow_paths: Vec<slow_path::SlowPath>,
    accumulators: Vec<Id>,
    /// The VGPRs that are written at the end.
    deferred_writes: Vec<DeferredWrite>,
    /// The values that each slice keeps in registers until nothing can fail, and those of them that are still to be checked for NaNs.
    deferred_values: Vec<Id>,
    unchecked_values: Vec<Id>,
    next_slot: u16,
    next_mask: u16,
    fixes: Vec<nans::Fix>,
    pos: u32,
    /// See [`Emit::forked`].
    forked: bool,
}

impl Vectors for Avx512 {
    const TERNARY_LOGIC: bool = true;

    fn looped(operations: usize) -> bool {
        operations >= LOOP
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

    fn free(&self) -> u8 {
        let held = self.deferred_writes.iter().filter_map(|p| p.reg);
        let held = held.fold(0, |b, r| b | 1u32 << r);
        (!held).trailing_zeros().min(31) as u8
    }

    fn bases(e: &mut Emit<'_, Self>) {
        e.compute_bases();
    }

    fn slices(e: &mut Emit<'_, Self>, used: &[bool]) {
        e.slices(used);
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
        e.commit_deferred_writes();
        e.base_writes();
    }

    fn out_of_line(e: &mut Emit<'_, Self>) {
        e.out_of_line();
        e.slow_paths();
        e.fixes();
        e.bases_out_of_line();
        e.too_large |= e.v.next_slot as usize > VECTORS || e.v.next_mask as usize > MASKS;
    }
}

/// How two registers are mixed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mix {
    /// Every other element of both, from the first or from the second on.
    Even,
    Odd,
    /// One of each in turns, of their lower or of their upper halves.
    ZipLow,
    ZipHigh,
}

/// A part of a value in a register. 64-bit values per lane have two.
type Part = (Id, u8);

#[derive(Default)]
pub(crate) struct Bank {
    /// What each register holds.
    pub regs: [Option<Part>; 32],
    pub at: Map<Part, u8>,
    pub spilled: Map<Part, u16>,
    /// Registers that must not be allocated now.
    pub busy: u32,
}

impl Bank {
    fn holds(&self, id: Id) -> bool {
        let part = (id, 0);
        self.at.contains_key(&part) || self.spilled.contains_key(&part)
    }
}

/// A deferred write of a VGPR: its value, in a register or in memory.
#[derive(Clone, Copy)]
struct DeferredWrite {
    reg: Option<u8>,
    slot: u16,
    /// The index in [`Effects::vgprs`](crate::ir::region::Effects::vgprs).
    write: usize,
    pub slice: u8,
}

/// A slow path of an access, out of line.
pub(crate) struct OutOfLine {
    pub from: Label,
    pub back: Label,
    pub store: bool,
    pub space: Space,
    pub bytes: u8,
    pub offset: i32,
    pub lo: u8,
    /// The upper half. `None` for addresses in LDS.
    pub hi: Option<u8>,
    /// For LDS: the scalar that limits addresses.
    pub limit: Option<Id>,
    /// The registers that are loaded, or stored.
    pub data: Vec<u8>,
    /// Temporary registers.
    pub free: [u8; 2],
    /// The remembered range, and the label where it is compared.
    range: Option<(range::Range, Label)>,
}

fn keep_on() -> K {
    keep(K_EXEC)
}

fn vslot_mem(n: u16) -> Mem {
    let n = (n as usize).min(VECTORS - 1);
    mem(CTX, (offset_of!(Ctx, vectors) + 64 * n) as i32)
}
