//! Affine values, for all levels: the locations of bases and addresses.

use super::machine::plus;
use super::*;
use crate::context::{AFFINE_ADDRESSES, AFFINE_BASES, PACES};
use crate::ir::affine::{Base, BaseOp, Guard};

/// The number of iterations by which prefetches are ahead.
const AHEAD: i32 = 4;
/// The bytes at affine addresses between a wave's accesses and what it prefetches for later waves, of all its accesses together, and the least
/// and the greatest number of waves.
const AHEAD_BYTES: i32 = 12 << 10;
const AHEAD_WAVES: [i32; 2] = [2, 16];
/// The bytes at affine addresses that an iteration, or a wave, accesses in a block from which on prefetches go to the second-level cache: what
/// several of them access would drive each other out of the first.
const MANY: i32 = 600;
const MANY_OF_WAVE: i32 = 6 << 10;

/// Returns the memory operand of an access whose address is RAX plus a constant.
pub(super) fn address_plus(offset: i32) -> Mem {
    mem(RAX, offset)
}

pub(super) fn decided(g: &Guard) -> bool {
    matches!(g, Guard::AssumedCompare { .. })
}

impl<V: Vectors> Emit<'_, V> {
    pub(super) fn base_slot(&self, q: Base) -> Mem {
        ctx!(affine.bases, 16 * (q as usize).min(AFFINE_BASES - 1))
    }

    pub(super) fn address_slot(&self, address: u16) -> Mem {
        ctx!(
            affine.addresses,
            32 * (address as usize).min(AFFINE_ADDRESSES - 1)
        )
    }

    /// Returns the scalars that bases read.
    pub(super) fn base_scalars(&self) -> Vec<Id> {
        let bases = &self.c.affine;
        if self.is_grid {
            // Slices read stored ones; the others are computed already.
            let of = |q: &BaseOp| match q.op {
                BaseKind::Scalar(id) if q.stored => Some(id),
                _ => None,
            };
            return bases.ops.iter().filter_map(of).collect();
        }
        let of = |q: &BaseOp| match q.op {
            BaseKind::Scalar(id) => Some(id),
            _ => None,
        };
        let limits = bases.addresses.iter().filter_map(|a| a.limit);
        let plus = bases.addresses.iter().filter_map(|a| a.plus);
        let plus = plus.flat_map(|(lo, hi)| [lo, hi]);
        let others = limits.chain(plus);
        bases.ops.iter().filter_map(of).chain(others).collect()
    }

    /// Prefetches the memory that later waves will probably access, which follows this wave's memory. In loops, prefetches the memory
    /// of later iterations.
    pub(super) fn fetch_ahead(&mut self, stride: i32, offset: i32, address: u16, stores: bool) {
        let lds = self.c.affine.addresses[address as usize].limit.is_some();
        // Slices of narrow elements share lines: one prefetch per line is enough.
        let begins_line = self.looped || 16 * stride * self.slice as i32 % 64 == 0;
        if lds || !begins_line || !self.with(Optional::Prefetch) {
            return;
        }
        if self.repeats {
            match self.looped {
                true => self.fetch_at_pace(stride, offset, stores),
                false => self.fetch_at_common_pace(stride, offset, address, stores),
            }
            return;
        }
        let [least, most] = AHEAD_WAVES;
        let waves = (AHEAD_BYTES / self.bytes_accessed().max(1)).clamp(least, most);
        self.fetch_lines(stride, address_plus(offset + waves * 64 * stride), stores);
    }

    /// Prefetches the slice's memory a few iterations ahead, assuming that its address moves as far in each iteration as in the last
    /// one. The current address is RAX plus the constant. RCX is clobbered.
    pub(super) fn fetch_at_pace(&mut self, stride: i32, offset: i32, stores: bool) {
        if !self.with(Optional::Prefetch) || !self.with(Optional::Pace) {
            return;
        }
        // In a loop of the four slices, each slice has its own entry.
        let (locations, index) = match self.looped {
            true => (4, Some((slice::SLICE, 1))),
            false => (1, None),
        };
        let number = self.out.paces.next_multiple_of(locations);
        self.out.paces = number + locations;
        let last = Mem {
            index,
            ..ctx!(remembered.paces, 8 * (number % PACES))
        };
        self.a.mov(true, RCX, Rm::R(RAX));
        self.a.alu(alu::SUB, true, RCX, Rm::M(last));
        self.a.store(true, last, RAX);
        let ahead = Mem {
            index: Some((RCX, AHEAD as u8)),
            ..address_plus(offset)
        };
        self.a.lea(RCX, ahead);
        self.fetch_lines(stride, mem(RCX, 0), stores);
        self.fetch_end(stride, stores);
    }

    /// As [`Emit::fetch_at_pace`], for an affine access of a block whose slices are not a loop: all slices move as far as the first one that has code.
    fn fetch_at_common_pace(&mut self, stride: i32, offset: i32, address: u16, stores: bool) {
        if !self.with(Optional::Pace) {
            return;
        }
        let key = (address, offset, stores);
        let known = self.v.paces.get(&key).copied();
        let number = known.unwrap_or(self.out.paces.next_multiple_of(2));
        let [last, step] = [0, 1].map(|k| ctx!(remembered.paces, 8 * (number % PACES + k)));
        if known.is_none() {
            self.out.paces = number + 2;
            self.v.paces.insert(key, number);
            self.a.mov(true, RCX, Rm::R(RAX));
            self.a.alu(alu::SUB, true, RCX, Rm::M(last));
            self.a.store(true, last, RAX);
            self.a.shift_imm(4, true, RCX, AHEAD.ilog2() as u8);
            self.a.store(true, step, RCX);
        } else {
            self.a.mov(true, RCX, Rm::M(step));
        }
        let first = Mem {
            index: Some((RCX, 1)),
            ..address_plus(offset)
        };
        self.fetch_lines(stride, first, stores);
        if self.slice + 1 == self.common.slices {
            self.a.lea(RCX, first);
            self.fetch_end(stride, stores);
        }
    }

    /// Prefetches one more line if memory at RCX does not begin at one, as a row of a matrix often does not.
    fn fetch_end(&mut self, stride: i32, stores: bool) {
        let aligned = self.a.label();
        self.a.g(false, &[0xf6], 0, Rm::R(RCX));
        self.a.buf.push(63);
        self.a.jcc(Cc::E, aligned);
        self.fetch_line(mem(RCX, 16 * stride - 1), stores);
        self.a.bind(aligned);
    }

    /// Prefetches the memory of 16 lanes, from its first byte on.
    fn fetch_lines(&mut self, stride: i32, first: Mem, stores: bool) {
        for line in 0..(stride * 16 / 64).max(1) {
            self.fetch_line(plus(first, 64 * line), stores);
        }
    }

    fn fetch_line(&mut self, at: Mem, stores: bool) {
        // prefetcht1, prefetchw, prefetcht0. There is none of stores to the second-level cache.
        let (opcode, which): ([u8; 2], u8) = match stores {
            _ if self.accesses_many() => ([0x0f, 0x18], 2),
            true => ([0x0f, 0x0d], 1),
            false => ([0x0f, 0x18], 1),
        };
        self.a.g(false, &opcode, which, Rm::M(at));
    }

    /// Returns true if what several waves or iterations access at affine addresses does not fit in the first-level cache.
    fn accesses_many(&self) -> bool {
        self.bytes_accessed() > if self.repeats { MANY } else { MANY_OF_WAVE }
    }

    /// Returns the bytes at affine addresses that a wave accesses in the block.
    fn bytes_accessed(&self) -> i32 {
        let memory = self.c.affine.addresses.iter().filter(|a| a.limit.is_none());
        let bytes = memory.map(|a| a.step.saturating_abs().saturating_mul(64));
        bytes.fold(0, i32::saturating_add)
    }
}
