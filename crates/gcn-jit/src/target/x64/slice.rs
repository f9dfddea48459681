//! Addresses of the current slice's data. Everything that differs from slice to slice is addressed here.
//!
//! A block's vector code is written out for each of the four slices, which then differ by constants. Long code is written once, as
//! a loop of four iterations, in which [`SLICE`] holds 8 times the slice's number.

use super::*;

/// In the loop of four iterations, this register holds an eighth of the distance in bytes between the slice's part of a VGPR and the first slice's.
pub const SLICE: Gpr = R11;
/// And this one the distance in bytes between the slice's bits of a mask and the first slice's.
pub const SLICE_BITS: Gpr = RDI;

/// Returns the memory of a slice's 16 lanes of a VGPR.
pub fn vgpr_line(n: u16, slice: u8) -> Mem {
    mem(VGPRS, 256 * (n as i32 - VGPR_BIAS) + 64 * slice as i32)
}

impl<V: Vectors> Emit<'_, V> {
    /// Returns the slice's 64 bytes of 256 bytes for the wave's lanes. `m` must have no index.
    pub fn by_slice(&self, m: Mem) -> Mem {
        if self.looped {
            return Mem {
                index: Some((SLICE, 8)),
                ..m
            };
        }
        Mem {
            disp: m.disp + 64 * self.slice as i32,
            ..m
        }
    }

    /// Adds to RAX the offset of the slice's part in a row of 64 dwords, and a constant.
    pub fn add_slice(&mut self, offset: i32) {
        let by = self.by_slice(mem(RAX, offset));
        if by != mem(RAX, 0) {
            self.a.lea(RAX, by);
        }
    }
}
