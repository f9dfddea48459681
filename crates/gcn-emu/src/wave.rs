//! The state of one wave.

use crate::export::Exports;
use gcn_isa::operand::{EXEC, M0, VCC};

/// Lanes a wave.
pub const LANES: usize = 64;

/// The LDS of a workgroup, byte by byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lds(pub Vec<u8>);

/// Bits of the STATUS register that the machine itself reads or computes.
#[allow(missing_docs)]
pub mod status {
    pub const SCC: u32 = 1 << 0;
    /// USER_PRIO's lowest bit; the field has two.
    pub const USER_PRIO_SHIFT: u32 = 3;
    pub const PRIV: u32 = 1 << 5;
    pub const EXECZ: u32 = 1 << 9;
    pub const VCCZ: u32 = 1 << 10;
    pub const IN_TG: u32 = 1 << 11;
    pub const HALT: u32 = 1 << 13;
    pub const VALID: u32 = 1 << 16;
    pub const COND_DBG_USER: u32 = 1 << 20;
    pub const COND_DBG_SYS: u32 = 1 << 21;
    pub const INST_ATC: u32 = 1 << 23;
}

/// Bits of the MODE register beside those that [`crate::fp::Mode`] reads.
#[allow(missing_docs)]
pub mod mode {
    pub const GPR_IDX_EN: u32 = 1 << 27;
    pub const VSKIP: u32 = 1 << 28;
    /// The control stack pointer's lowest bit; the field has three.
    pub const CSP_SHIFT: u32 = 29;
}

/// SH_MEM_BASES of a new wave: flat addresses whose upper 16 bits are 1 are LDS (bits 31:16), those whose upper bits are 2
/// are scratch (bits 15:0).
pub const SH_MEM_BASES: u32 = 0x0001_0002;

/// MODE of a new wave: rounding to nearest even, f32 denormals flushed, f16 and f64 denormals kept, DX10_CLAMP and IEEE.
pub const MODE: u32 = 0x3c0;

/// The registers of one wave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaveState {
    /// The scalar registers by operand code: SGPRs from 0, VCC at 106, M0 at 124, EXEC at 126; FLAT_SCRATCH, XNACK_MASK,
    /// TBA, TMA and the TTMPs where the generation has them. All SGPRs of the generation are there, whatever a kernel
    /// asked for.
    pub sgprs: [u32; 128],
    /// The VGPRs the wave has, at most 256. One beyond reads as v0; writes to it are dropped.
    pub vgprs: Vec<[u32; LANES]>,
    /// STATUS.SCC.
    pub scc: bool,
    /// The MODE register.
    pub mode: u32,
    /// The STATUS register but for SCC, EXECZ and VCCZ, which are computed.
    pub status: u32,
    /// The TRAPSTS register.
    pub trapsts: u32,
    /// Byte address of the next instruction.
    pub pc: u64,
    /// The HW_ID register.
    pub hw_id: u32,
    /// The GPR_ALLOC register.
    pub gpr_alloc: u32,
    /// The LDS_ALLOC register.
    pub lds_alloc: u32,
    /// The IB_STS register.
    pub ib_sts: u32,
    /// SH_MEM_BASES: the upper 16 bits of the addresses of LDS (31:16) and scratch (15:0).
    pub sh_mem_bases: u32,
    /// What s_memtime and s_memrealtime read: instructions the wave has executed, times four.
    pub clock: u64,
    /// What it exported.
    pub exports: Exports,
}

impl WaveState {
    /// A wave with `vgprs` VGPRs, all registers zero, every lane on and MODE as [`MODE`].
    pub fn new(vgprs: usize) -> WaveState {
        let mut sgprs = [0; 128];
        sgprs[EXEC as usize] = !0;
        sgprs[EXEC as usize + 1] = !0;
        WaveState {
            sgprs,
            vgprs: vec![[0; LANES]; vgprs.clamp(1, 256)],
            scc: false,
            mode: MODE,
            status: 0,
            trapsts: 0,
            pc: 0,
            hw_id: 0,
            gpr_alloc: 0,
            lds_alloc: 0,
            ib_sts: 0,
            sh_mem_bases: SH_MEM_BASES,
            clock: 0,
            exports: Exports::default(),
        }
    }

    /// Two scalar registers, the first the lower half; one beyond the last code reads 0.
    #[inline]
    pub fn pair(&self, code: u16) -> u64 {
        let at = |c: usize| self.sgprs.get(c).copied().unwrap_or(0) as u64;
        at(code as usize) | at(code as usize + 1) << 32
    }

    /// Writes two scalar registers; one beyond the last code is dropped.
    #[inline]
    pub fn set_pair(&mut self, code: u16, value: u64) {
        for (k, half) in [value as u32, (value >> 32) as u32].into_iter().enumerate() {
            if let Some(register) = self.sgprs.get_mut(code as usize + k) {
                *register = half;
            }
        }
    }

    /// EXEC.
    #[inline]
    pub fn exec(&self) -> u64 {
        self.pair(EXEC)
    }

    /// Sets EXEC.
    #[inline]
    pub fn set_exec(&mut self, lanes: u64) {
        self.set_pair(EXEC, lanes);
    }

    /// VCC.
    #[inline]
    pub fn vcc(&self) -> u64 {
        self.pair(VCC)
    }

    /// Sets VCC.
    #[inline]
    pub fn set_vcc(&mut self, lanes: u64) {
        self.set_pair(VCC, lanes);
    }

    /// M0.
    #[inline]
    pub fn m0(&self) -> u32 {
        self.sgprs[M0 as usize]
    }

    /// The STATUS register with its computed bits.
    pub fn status_word(&self) -> u32 {
        let computed = status::SCC | status::EXECZ | status::VCCZ;
        let bit = |on: bool, bit: u32| if on { bit } else { 0 };
        self.status & !computed
            | bit(self.scc, status::SCC)
            | bit(self.exec() == 0, status::EXECZ)
            | bit(self.vcc() == 0, status::VCCZ)
    }

    /// Sets or clears a bit of STATUS.
    #[inline]
    pub fn set_status(&mut self, bit: u32, on: bool) {
        self.status = if on {
            self.status | bit
        } else {
            self.status & !bit
        };
    }

    /// Sets or clears a bit of MODE.
    #[inline]
    pub fn set_mode(&mut self, bit: u32, on: bool) {
        self.mode = if on {
            self.mode | bit
        } else {
            self.mode & !bit
        };
    }

    /// The first flat address of LDS; the aperture has 4 GiB.
    #[inline]
    pub fn shared_base(&self) -> u64 {
        (self.sh_mem_bases as u64 >> 16) << 48
    }

    /// The first flat address of scratch; the aperture has 4 GiB.
    #[inline]
    pub fn private_base(&self) -> u64 {
        (self.sh_mem_bases as u64 & 0xffff) << 48
    }

    /// The hwreg with number `id`, or 0 where there is none.
    pub fn hwreg(&self, id: u32) -> u32 {
        match id {
            1 => self.mode,
            2 => self.status_word(),
            3 => self.trapsts,
            4 => self.hw_id,
            5 => self.gpr_alloc,
            6 => self.lds_alloc,
            7 => self.ib_sts,
            15 => self.sh_mem_bases,
            _ => 0,
        }
    }

    /// s_getreg_b32 of `code`: number in bits 5:0, first bit in 10:6, number of bits less one in 15:11.
    pub fn getreg(&self, code: u32) -> u32 {
        let (shift, mask) = hwreg_field(code);
        self.hwreg(code & 0x3f) >> shift & mask
    }

    /// s_setreg_b32 of `code`. MODE and TRAPSTS can be written; STATUS only by privileged code, as the manuals say; what
    /// the others say of the hardware stays.
    pub fn setreg(&mut self, code: u32, value: u32) {
        let (shift, mask) = hwreg_field(code);
        // Bits that a field would have beyond the register's end do not exist.
        let merge = |old: u32| old & !(mask << shift) | (value & mask) << shift;
        match code & 0x3f {
            1 => self.mode = merge(self.mode),
            2 if self.status & status::PRIV != 0 => {
                let word = merge(self.status_word());
                self.scc = word & status::SCC != 0;
                self.status = word & !(status::SCC | status::EXECZ | status::VCCZ);
            }
            3 => self.trapsts = merge(self.trapsts),
            _ => {}
        }
    }
}

/// The lowest bit and the mask (not shifted) of the field that a hwreg code names.
fn hwreg_field(code: u32) -> (u32, u32) {
    let bits = (code >> 11 & 0x1f) + 1;
    (code >> 6 & 0x1f, ((1u64 << bits) - 1) as u32)
}
