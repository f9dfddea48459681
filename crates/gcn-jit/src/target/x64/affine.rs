//! What targets share of affine values: where bases and addresses are.

use super::*;
use crate::context::{AFFINE_ADDRESSES, AFFINE_BASES};
use crate::ir::affine::{Base, BaseOp, Guard};

/// How many waves ahead memory is prefetched.
const AHEAD: i32 = 4;

/// The elements of an access, in order from an address that one register and a constant have.
pub(super) fn place(offset: i32) -> Mem {
    mem(RAX, offset)
}

pub(super) fn decided(g: &Guard) -> bool {
    matches!(g, Guard::AssumedCompare { .. })
}

impl<V: Vectors> Emit<'_, V> {
    pub(super) fn base_slot(&self, q: Base) -> Mem {
        ctx!(affine_bases, 16 * (q as usize).min(AFFINE_BASES - 1))
    }

    pub(super) fn address_slot(&self, address: u16) -> Mem {
        ctx!(
            affine_addresses,
            32 * (address as usize).min(AFFINE_ADDRESSES - 1)
        )
    }

    /// The scalars that bases need.
    pub(super) fn base_scalars(&self) -> Vec<Id> {
        let bases = &self.c.affine;
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

    /// Prefetches the memory that later waves will probably access: what follows the memory of this wave.
    pub(super) fn fetch_ahead(&mut self, stride: i32, offset: i32, address: u16, stores: bool) {
        let lds = self.c.affine.addresses[address as usize].limit.is_some();
        if lds || !self.common.prefetch {
            return;
        }
        let opcode: [u8; 2] = if stores { [0x0f, 0x0d] } else { [0x0f, 0x18] };
        for line in 0..stride * 16 / 64 {
            let at = place(offset + AHEAD * 64 * stride + 64 * line);
            self.a.g(false, &opcode, 1, Rm::M(at));
        }
    }
}
