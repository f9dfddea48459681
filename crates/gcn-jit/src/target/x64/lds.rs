//! Accesses of LDS, for all levels.

use super::vectors::StagedAddresses;
use super::*;
use crate::ir::region::{WaveHelper, WaveHelperCall};

/// Returns the location of a slice's staged operand.
pub(super) fn staged(operand: usize, slice: u8) -> Mem {
    ctx!(stage, 256 * operand + 64 * slice as usize)
}

/// Returns the location of a slice's bits of EXEC.
pub(super) fn exec_of(slice: u8) -> Mem {
    let m = sgpr_home(EXEC as u8);
    Mem {
        disp: m.disp + 2 * slice as i32,
        ..m
    }
}

/// Stores of dwords to two addresses of LDS.
#[derive(Clone, Copy)]
pub(crate) struct Two {
    pub(super) dwords: usize,
    limit: Id,
}

impl<V: Vectors> Emit<'_, V> {
    /// Returns a helper's stores to two addresses of LDS, which compiled code executes itself if all bytes are within LDS.
    pub(super) fn two_in_lds(&self, w: &WaveHelperCall) -> Option<Two> {
        let WaveHelper::Store {
            space: Space::Lds,
            dwords: dwords @ 1..=2,
            two: true,
            ..
        } = w.helper
        else {
            return None;
        };
        let &[_, limit, _, other, ..] = &w.inputs[..] else {
            return None;
        };
        let one = limit == other && !self.node(limit).vec;
        one.then_some(Two {
            dwords: dwords as usize,
            limit,
        })
    }

    /// Stores the staged operands: all lanes' first values, then the second ones. Falls through to the code that
    /// calls the helper if an address is not within LDS, or an access is cut off by its end. Returns the label after
    /// both.
    pub(super) fn two_to_lds(&mut self, two: Two) -> Label {
        let (slow, done) = (self.a.label(), self.a.label());
        let multiple = if two.dwords > 1 { 8 } else { 1 };
        let addresses = StagedAddresses {
            operands: &[0, 2],
            limit: two.limit,
            bytes: 4 * two.dwords as i32,
            multiple,
        };
        V::staged_in_lds(self, addresses, slow);
        self.a.mov(true, RCX, Rm::M(ctx!(lds.base)));
        V::store_two(self, two);
        self.a.jmp(done);
        self.a.bind(slow);
        self.stage_apart(&[(1, two.limit), (3, two.limit)]);
        done
    }
}
