//! Addresses of the current 16 lanes' part of things. Everything that differs from slice to slice is addressed here.
//!
//! A block's vector code is written out for each of the four slices, which then differ by constants. Long code is written once, as
//! a loop of four iterations, in which [`SLICE`] holds 8 times the slice's number.

use super::*;

/// In the loop of four iterations: an eighth of the distance, in bytes, of the slice's part of a VGPR from the first slice's.
pub const SLICE: Gpr = R11;

/// 16 lanes of a VGPR in memory.
pub fn vgpr_line(n: u16, slice: u8) -> Mem {
    mem(VGPRS, 256 * (n as i32 - VGPR_BIAS) + 64 * slice as i32)
}

impl Emit<'_> {
    /// The slice's 64 bytes of 256 bytes for the wave's lanes. `m` has no index.
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

    /// The slice's part of a VGPR in memory.
    pub fn home(&self, n: u16) -> Mem {
        self.by_slice(vgpr_line(n, 0))
    }

    /// The numbers of the slice's lanes.
    pub fn lane_line(&self) -> Mem {
        self.by_slice(ctx!(lanes))
    }

    /// The slice's 16 bits of a mask of 64 in memory. Clobbers RAX.
    pub fn mask_bits(&mut self, m: Mem) -> Mem {
        if self.looped {
            self.a.mov(false, RAX, Rm::R(SLICE));
            self.a.shift_imm(5, false, RAX, 2);
            return Mem {
                index: Some((RAX, 1)),
                ..m
            };
        }
        Mem {
            disp: m.disp + 2 * self.slice as i32,
            ..m
        }
    }

    /// The slice's element of memory that has one element of this number of bytes for each slice. Clobbers RAX.
    pub fn element(&mut self, m: Mem, bytes: i32) -> Mem {
        if self.looped {
            if bytes == 8 {
                return Mem {
                    index: Some((SLICE, 1)),
                    ..m
                };
            }
            self.a.mov(false, RAX, Rm::R(SLICE));
            let by = (8 / bytes).trailing_zeros() as u8;
            self.a.shift_imm(5, false, RAX, by);
            return Mem {
                index: Some((RAX, 1)),
                ..m
            };
        }
        Mem {
            disp: m.disp + bytes * self.slice as i32,
            ..m
        }
    }

    /// The active lanes, for an instruction that leaves others as they are.
    pub fn on(&self) -> K {
        match self.full {
            Some(_) => ALL,
            None => keep(K_EXEC),
        }
    }

    /// The same, for one that makes others 0.
    pub fn on_or_zero(&self) -> K {
        match self.full {
            Some(_) => ALL,
            None => zero(K_EXEC),
        }
    }

    /// The active lanes of the upper or the lower eight, of 64 bits each.
    pub fn upper_on(&mut self, upper: bool) -> K {
        if !upper || self.full.is_some() {
            return self.on();
        }
        let k = self.ktemp();
        self.a.kshiftr(k, K_EXEC, 8);
        keep(k)
    }

    /// The slice's 16 bits of EXEC. Clobbers RAX.
    pub fn exec_bits(&mut self) -> Mem {
        self.mask_bits(sgpr_home(EXEC as u8))
    }

    /// Adds to RAX the offset of the slice's part in a row of 64 dwords, and a constant.
    pub fn add_slice(&mut self, offset: i32) {
        let by = self.by_slice(mem(RAX, offset));
        if by != mem(RAX, 0) {
            self.a.lea(RAX, by);
        }
    }

    /// Writes the code of `turn` for each slice, or once in a loop. The code is skipped for a slice without active lanes; that of `end`
    /// is not. `turn` is given the address of the slice's bits of EXEC.
    pub(super) fn turns(&mut self, turn: impl Fn(&mut Self, Mem), end: impl Fn(&mut Self)) {
        let times = if self.looped { 1 } else { 4 };
        if self.full.is_some() {
            self.a.kop(kop::XNOR, K_EXEC, K_EXEC, K_EXEC);
        }
        if self.looped {
            self.a.imm(SLICE, 0);
        }
        let top = self.a.here();
        for slice in 0..times {
            self.slice = slice;
            if self.full.is_some() {
                turn(self, sgpr_home(EXEC as u8));
                end(self);
                continue;
            }
            let over = self.a.label();
            let exec = self.exec_bits();
            self.a.cmp16_zero(exec);
            self.a.jcc(Cc::E, over);
            turn(self, exec);
            self.a.bind(over);
            end(self);
        }
        if self.looped {
            self.a.alu_imm(alu::ADD, false, Rm::R(SLICE), 8);
            self.a.alu_imm(alu::CMP, false, Rm::R(SLICE), 32);
            self.a.jcc(Cc::Ne, top);
        }
    }
}
