//! The state of one wave.

use crate::export::Exports;
use crate::mem::Guarded;
pub use crate::vgprs::Vgprs;
use gcn_isa::operand::{EXEC, M0, VCC};
use gcn_isa::target::Gen;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// Lanes per wave.
pub const LANES: usize = 64;

/// The LDS of a workgroup, byte by byte, between inaccessible pages of the host.
#[derive(Clone, Default)]
pub struct Lds(Guarded<u8>);

impl Lds {
    /// An LDS of `bytes` zeros.
    pub fn new(bytes: usize) -> Lds {
        Lds(Guarded::new(bytes))
    }

    /// Resizes the LDS to `bytes` bytes and fills it with zeros.
    pub fn reset(&mut self, bytes: usize) {
        self.0.reset(bytes);
    }
}

impl From<&[u8]> for Lds {
    fn from(bytes: &[u8]) -> Lds {
        let mut lds = Lds::new(bytes.len());
        lds.copy_from_slice(bytes);
        lds
    }
}

impl Deref for Lds {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Lds {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl PartialEq for Lds {
    fn eq(&self, other: &Lds) -> bool {
        **self == **other
    }
}

impl Eq for Lds {}

impl fmt::Debug for Lds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

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

/// Bits of the MODE register other than those that [`crate::fp::Mode`] reads.
#[allow(missing_docs)]
pub mod mode {
    /// Rounding of f32 (bits 1:0) and of f16 and f64 (bits 3:2).
    pub const FP_ROUND: u32 = 0xf;
    /// The exceptions that trap if there is a trap handler.
    pub const EXCP_EN: u32 = 0x7f << 12;
    /// gfx9: an f16 result that overflows becomes the largest finite number.
    pub const FP16_OVFL: u32 = 1 << 23;
    pub const GPR_IDX_EN: u32 = 1 << 27;
    pub const VSKIP: u32 = 1 << 28;
    /// The control stack pointer's lowest bit; the field has three.
    pub const CSP_SHIFT: u32 = 29;
}

/// Numbers of hardware registers as s_getreg_b32 and s_setreg_b32 name them (manuals, tools).
#[allow(missing_docs)]
pub mod hwreg {
    pub const MODE: u32 = 1;
    pub const STATUS: u32 = 2;
    pub const TRAPSTS: u32 = 3;
    pub const HW_ID: u32 = 4;
    pub const GPR_ALLOC: u32 = 5;
    pub const LDS_ALLOC: u32 = 6;
    pub const IB_STS: u32 = 7;
    pub const PC_LO: u32 = 8;
    pub const PC_HI: u32 = 9;
    pub const INST_DW0: u32 = 10;
    pub const INST_DW1: u32 = 11;
    pub const SH_MEM_BASES: u32 = 15;
}

/// The bits of MODE in a generation: FP_ROUND, FP_DENORM, DX10_CLAMP, IEEE, LOD_CLAMPED, DEBUG and EXCP_EN in 20:0;
/// on gfx9 FP16_OVFL, POPS_PACKER0, POPS_PACKER1 and DISABLE_PERF in 26:23; GPR_IDX_EN from gfx8 on; VSKIP and CSP.
pub const fn mode_bits(generation: Gen) -> u32 {
    0xf01f_ffff
        | match generation {
            Gen::Gfx6 | Gen::Gfx7 => 0,
            Gen::Gfx8 => mode::GPR_IDX_EN,
            Gen::Gfx9 => mode::GPR_IDX_EN | mode::FP16_OVFL | 0x0700_0000,
        }
}

/// The bits of TRAPSTS in a generation: EXCP in 8:0, EXCP_CYCLE in 21:16 and DP_RATE in 31:29; SAVECTX (10) from gfx8
/// on; ILLEGAL_INST (11) and EXCP_HI (14:12) on gfx9.
pub const fn trapsts_bits(generation: Gen) -> u32 {
    0xe03f_01ff
        | match generation {
            Gen::Gfx6 | Gen::Gfx7 => 0,
            Gen::Gfx8 => 0x400,
            Gen::Gfx9 => 0x7c00,
        }
}

/// HW_ID of wave `wave` of workgroup `group`, both counted from 0: WAVE_ID in bits 3:0, SIMD_ID in 5:4, PIPE_ID in 7:6,
/// CU_ID in 11:8, SH_ID in 12, SE_ID in 14:13, TG_ID in 19:16, VM_ID in 23:20, QUEUE_ID in 26:24, STATE_ID in 29:27, ME_ID
/// in 31:30. Workgroups are placed on 16 compute units in turn, eight in each of two shader engines, and the waves of a
/// workgroup on the four SIMDs in turn, as an otherwise idle chip places them (docs/errata.md, hwreg-values).
pub fn hw_id(group: u64, wave: usize) -> u32 {
    const VM: u32 = 8;
    const COMPUTE: u32 = 1;
    let field = |value: u64, first: u32, bits: u32| (value as u32 & ((1 << bits) - 1)) << first;
    let wave = wave as u64;
    field(wave / 4 % 10, 0, 4)
        | field(wave % 4, 4, 2)
        | field(group % 8, 8, 4)
        | field(group / 8 % 2, 13, 2)
        | field(group / 16 % 16, 16, 4)
        | VM << 20
        | COMPUTE << 30
}

/// GPR_ALLOC of a wave that was allocated `vgprs` and `sgprs`: VGPR_SIZE, the number of blocks of four VGPRs minus one, in
/// bits 13:8, and SGPR_SIZE, the number of blocks of SGPRs minus one, in 27:24. A block has 8 SGPRs up to gfx7 and 16 from
/// gfx8 on.
pub fn gpr_alloc(vgprs: u32, sgprs: u32, generation: Gen) -> u32 {
    let block = if generation >= Gen::Gfx8 { 16 } else { 8 };
    let blocks = |count: u32, of: u32| count.div_ceil(of).max(1) - 1;
    (blocks(vgprs, 4) & 0x3f) << 8 | (blocks(sgprs, block) & 0xf) << 24
}

/// LDS_ALLOC of a workgroup with `bytes` bytes of LDS: LDS_SIZE, the number of blocks of 64 dwords, in bits 20:12.
pub fn lds_alloc(bytes: u32) -> u32 {
    (bytes.div_ceil(256) & 0x1ff) << 12
}

/// SH_MEM_BASES of a new wave: flat addresses whose upper 16 bits are 1 are LDS (bits 31:16), those whose upper bits are 2
/// are scratch (bits 15:0).
pub const SH_MEM_BASES: u32 = 0x0001_0002;

/// MODE of a new wave: rounding to nearest even, f32 denormals flushed, f16 and f64 denormals kept, DX10_CLAMP and IEEE.
pub const MODE: u32 = 0x3c0;

/// The registers of one wave. The scalar registers begin at a cache line: compiled code copies them by lines, and a store over two
/// lines costs more and delays loads of what it stored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct WaveState {
    /// The scalar registers by operand code: SGPRs from 0, VCC at 106, M0 at 124, EXEC at 126; FLAT_SCRATCH, XNACK_MASK,
    /// TBA, TMA and the TTMPs where the generation has them. All SGPRs of the generation exist, whatever number a kernel
    /// requested.
    pub sgprs: [u32; 128],
    /// The VGPRs of the wave, at most 256. A VGPR beyond them reads as v0; writes to it are dropped.
    pub vgprs: Vgprs,
    /// STATUS.SCC.
    pub scc: bool,
    /// The MODE register.
    pub mode: u32,
    /// The STATUS register without SCC, EXECZ and VCCZ, which are computed.
    pub status: u32,
    /// The TRAPSTS register.
    pub trapsts: u32,
    /// The byte address of the next instruction.
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
    /// The value that s_memtime reads: four times the number of instructions that the wave has executed. s_memrealtime reads a
    /// tenth of it.
    pub clock: u64,
    /// The number of the wave in the order in which the dispatch's waves started, from 0: the order of ordered append.
    pub number: u64,
    /// The number of times that the wave has released its turn at ordered append.
    pub turns: u32,
    /// While the wave waits for global wave sync: its ticket.
    pub ticket: Option<u64>,
    /// The values that it exported.
    pub exports: Exports,
}

impl WaveState {
    /// A wave with `vgprs` VGPRs, all registers zero, all lanes active and MODE as [`MODE`].
    pub fn new(vgprs: usize) -> WaveState {
        let mut sgprs = [0; 128];
        sgprs[EXEC as usize] = !0;
        sgprs[EXEC as usize + 1] = !0;
        WaveState {
            sgprs,
            vgprs: Vgprs::new(vgprs.clamp(1, 256)),
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
            number: 0,
            turns: 0,
            ticket: None,
            exports: Exports::default(),
        }
    }

    /// Reads two scalar registers, the first as the lower half; a register beyond the last code reads 0.
    #[inline]
    pub fn pair(&self, code: u16) -> u64 {
        let at = |c: usize| self.sgprs.get(c).copied().unwrap_or(0) as u64;
        at(code as usize) | at(code as usize + 1) << 32
    }

    /// Writes two scalar registers; a write beyond the last code is dropped.
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

    /// The first flat address of LDS; the aperture spans 4 GiB.
    #[inline]
    pub fn shared_base(&self) -> u64 {
        (self.sh_mem_bases as u64 >> 16) << 48
    }

    /// The first flat address of scratch; the aperture spans 4 GiB.
    #[inline]
    pub fn private_base(&self) -> u64 {
        (self.sh_mem_bases as u64 & 0xffff) << 48
    }

    /// The hwreg with number `id`, or 0 if the generation does not have it. The registers that show the instruction buffer report
    /// an empty buffer. `bits` are those of the instruction that reads the hwreg, whose end is the PC.
    pub fn hwreg(&self, id: u32, generation: Gen, bits: u32) -> u32 {
        let at = self.pc.wrapping_sub(4);
        match id {
            hwreg::MODE => self.mode,
            hwreg::STATUS => self.status_word(),
            hwreg::TRAPSTS => self.trapsts,
            hwreg::HW_ID => self.hw_id,
            hwreg::GPR_ALLOC => self.gpr_alloc,
            hwreg::LDS_ALLOC => self.lds_alloc,
            hwreg::IB_STS => self.ib_sts,
            hwreg::PC_LO => at as u32,
            hwreg::PC_HI => (at >> 32) as u32,
            hwreg::INST_DW0 => bits,
            // The instruction has one dword.
            hwreg::INST_DW1 => 0,
            hwreg::SH_MEM_BASES if generation >= Gen::Gfx9 => self.sh_mem_bases,
            _ => 0,
        }
    }

    /// s_getreg_b32 of `code`: number in bits 5:0, first bit in 10:6, number of bits minus one in 15:11. See
    /// [`WaveState::hwreg`] for the values.
    pub fn getreg(&self, code: u32, generation: Gen, bits: u32) -> u32 {
        let (shift, mask) = hwreg_field(code);
        self.hwreg(code & 0x3f, generation, bits) >> shift & mask
    }

    /// s_setreg_b32 of `code`. The existing bits of MODE and TRAPSTS can be written; STATUS and the replay state in IB_STS
    /// only by privileged code; the other registers describe the hardware and do not change (docs/errata.md, hwreg-writes).
    pub fn setreg(&mut self, code: u32, value: u32, generation: Gen) {
        /// IB_STS.FIRST_REPLAY and RCNT.
        const REPLAY: u32 = 0x001f_8000;
        let merge = |old: u32, bits: u32| with_field(old, code, value, bits);
        let privileged = self.status & status::PRIV != 0;
        if let Some(mode) = mode_after(self.mode, code, value, generation) {
            self.mode = mode;
        }
        match code & 0x3f {
            hwreg::STATUS if privileged => {
                let word = merge(self.status_word(), !0);
                self.scc = word & status::SCC != 0;
                self.status = word & !(status::SCC | status::EXECZ | status::VCCZ);
            }
            hwreg::TRAPSTS => self.trapsts = merge(self.trapsts, trapsts_bits(generation)),
            hwreg::IB_STS if privileged => self.ib_sts = merge(self.ib_sts, REPLAY),
            _ => {}
        }
    }
}

/// Returns MODE after s_setreg_b32 of `code` if that names MODE.
pub fn mode_after(mode: u32, code: u32, value: u32, generation: Gen) -> Option<u32> {
    (code & 0x3f == hwreg::MODE).then(|| with_field(mode, code, value, mode_bits(generation)))
}

/// Returns a hardware register that has the bits `bits` with another value in the field that a hwreg code names.
fn with_field(old: u32, code: u32, value: u32, bits: u32) -> u32 {
    let (shift, mask) = hwreg_field(code);
    // Bits of a field beyond the end of the register do not exist.
    old & !(mask << shift & bits) | (value & mask) << shift & bits
}

/// The lowest bit and the (unshifted) mask of the field that a hwreg code names.
fn hwreg_field(code: u32) -> (u32, u32) {
    let bits = (code >> 11 & 0x1f) + 1;
    (code >> 6 & 0x1f, ((1u64 << bits) - 1) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_of_waves() {
        let field = |word: u32, first: u32, bits: u32| word >> first & ((1 << bits) - 1);
        // Waves 0 to 3 of a group are on the four SIMDs; wave 4 is the second wave of the first SIMD.
        let simds: Vec<u32> = (0..5).map(|wave| field(hw_id(0, wave), 4, 2)).collect();
        assert_eq!(simds, [0, 1, 2, 3, 0]);
        assert_eq!(field(hw_id(0, 4), 0, 4), 1);
        // Group 9 is on the second unit of the second engine, group 16 is the second group of the first unit.
        let nine = hw_id(9, 0);
        assert_eq!((field(nine, 8, 4), field(nine, 13, 2)), (1, 1));
        let sixteen = hw_id(16, 0);
        assert_eq!(
            (
                field(sixteen, 8, 4),
                field(sixteen, 13, 2),
                field(sixteen, 16, 4)
            ),
            (0, 0, 1)
        );
        assert_eq!(hw_id(0, 0), 1 << 30 | 8 << 20);
    }

    #[test]
    fn allocations() {
        // 24 VGPRs are six blocks; 48 SGPRs are three blocks of 16 and six of 8.
        assert_eq!(gpr_alloc(24, 48, Gen::Gfx9), 5 << 8 | 2 << 24);
        assert_eq!(gpr_alloc(24, 48, Gen::Gfx7), 5 << 8 | 5 << 24);
        assert_eq!(gpr_alloc(256, 104, Gen::Gfx6), 63 << 8 | 12 << 24);
        assert_eq!(lds_alloc(0), 0);
        assert_eq!(lds_alloc(512), 2 << 12);
        assert_eq!(lds_alloc(65536), 256 << 12);
    }

    #[test]
    fn fields_of_hardware_registers() {
        let mut wave = WaveState::new(4);
        wave.lds_alloc = lds_alloc(1024);
        // LDS_SIZE: bits 20:12.
        assert_eq!(wave.getreg(6 | 12 << 6 | 8 << 11, Gen::Gfx9, 0), 4);
        // A field that extends beyond the end of the register has only the bits that exist.
        wave.trapsts = 0x8000_0001;
        assert_eq!(wave.getreg(3 | 31 << 6 | 31 << 11, Gen::Gfx9, 0), 1);
        wave.setreg(1 | 28 << 6 | 31 << 11, 0xff, Gen::Gfx9);
        assert_eq!(wave.mode, 0xf000_0000 | MODE);
    }
}
