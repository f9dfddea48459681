//! Where the current 16 lanes' part of something is. All that differs from slice to slice is addressed here.

use super::*;

impl Emit<'_> {
    /// The slice's 64 bytes of what has four times as many for the wave's lanes.
    pub fn by_slice(&self, m: Mem) -> Mem {
        Mem {
            disp: m.disp + 64 * self.slice as i32,
            ..m
        }
    }

    /// The slice's part of a VGPR in memory.
    pub fn home(&self, n: u16) -> Mem {
        self.by_slice(mem(VGPRS, (n as i32 - VGPR_BIAS) * 256))
    }

    /// The numbers of the slice's lanes.
    pub fn lane_line(&self) -> Mem {
        self.by_slice(ctx!(lanes))
    }

    /// The slice's 16 bits of a mask of 64 in memory. RAX may be spent.
    pub fn mask_bits(&mut self, m: Mem) -> Mem {
        Mem {
            disp: m.disp + 2 * self.slice as i32,
            ..m
        }
    }

    /// The slice's 16 bits of EXEC. RAX may be spent.
    pub fn exec_bits(&mut self) -> Mem {
        self.mask_bits(sgpr_home(EXEC as u8))
    }

    /// Adds to RAX what the slice's part of a row of 64 dwords lies behind the row's beginning, and a constant.
    pub fn add_slice(&mut self, offset: i32) {
        let by = offset + 64 * self.slice as i32;
        if by != 0 {
            self.a.lea(RAX, mem(RAX, by));
        }
    }
}
