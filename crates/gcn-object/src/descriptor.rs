//! The kernel descriptor: 64 bytes that tell the hardware how to start a kernel, and the `.amdhsa_*` directives that
//! set them.
//!
//! Layout and bit fields are those of "Kernel Descriptor" in LLVM's "User Guide for AMDGPU Backend" for gfx6 to gfx9; the
//! directives' ranges, defaults and errors are llvm-mc 14's.

use crate::target::TargetId;

/// `amd_kernel_descriptor_t`. Fields are in file order; reserved bytes are kept so that a descriptor round-trips.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDescriptor {
    /// LDS that a workgroup always uses, in bytes.
    pub group_segment_fixed_size: u32,
    /// Scratch that a work-item always uses, in bytes.
    pub private_segment_fixed_size: u32,
    /// Size of the kernel arguments in bytes; 0 means unknown.
    pub kernarg_size: u32,
    /// Bytes 12 to 15.
    pub reserved0: [u8; 4],
    /// Distance in bytes from the descriptor to the kernel's first instruction.
    pub kernel_code_entry_byte_offset: i64,
    /// Bytes 24 to 43.
    pub reserved1: [u8; 20],
    /// COMPUTE_PGM_RSRC3, unused on gfx6 to gfx9 except gfx90a.
    pub compute_pgm_rsrc3: u32,
    /// COMPUTE_PGM_RSRC1: register counts and the initial floating-point mode.
    pub compute_pgm_rsrc1: u32,
    /// COMPUTE_PGM_RSRC2: the registers that the hardware initialises at the start, and exceptions.
    pub compute_pgm_rsrc2: u32,
    /// The values that the packet processor puts into user SGPRs.
    pub kernel_code_properties: u16,
    /// Bytes 58 to 63.
    pub reserved2: [u8; 6],
}

fn bits(word: u32, shift: u32, width: u32) -> u32 {
    word >> shift & ((1u64 << width) - 1) as u32
}

impl Default for KernelDescriptor {
    /// Returns the defaults of the directives: f16/f64 denormals kept, DX10_CLAMP and IEEE_MODE on, workgroup id X
    /// passed.
    fn default() -> KernelDescriptor {
        let mut descriptor = KernelDescriptor::from_bytes([0; 64]);
        for directive in DIRECTIVES {
            descriptor.put(directive, directive.default);
        }
        descriptor
    }
}

impl KernelDescriptor {
    /// Splits the 64 bytes into fields. Every byte pattern is accepted.
    pub fn from_bytes(b: [u8; 64]) -> KernelDescriptor {
        let word = |at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
        fn part<const N: usize>(b: &[u8; 64], at: usize) -> [u8; N] {
            std::array::from_fn(|i| b[at + i])
        }
        KernelDescriptor {
            group_segment_fixed_size: word(0),
            private_segment_fixed_size: word(4),
            kernarg_size: word(8),
            reserved0: part(&b, 12),
            kernel_code_entry_byte_offset: i64::from_le_bytes(part(&b, 16)),
            reserved1: part(&b, 24),
            compute_pgm_rsrc3: word(44),
            compute_pgm_rsrc1: word(48),
            compute_pgm_rsrc2: word(52),
            kernel_code_properties: u16::from_le_bytes([b[56], b[57]]),
            reserved2: part(&b, 58),
        }
    }

    /// Returns the equivalent settings of an `amd_kernel_code_t`. The user SGPRs that only v2 has, the numbers of
    /// workgroups of the grid, are bits 7 to 9 of the properties, which are reserved here. Source: LLVM's
    /// `AMDKernelCodeT.h`.
    pub fn from_kernel_code(b: &[u8; 256]) -> KernelDescriptor {
        let word = |at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        KernelDescriptor {
            group_segment_fixed_size: word(64),
            private_segment_fixed_size: word(60),
            kernarg_size: word(72),
            reserved0: [0; 4],
            kernel_code_entry_byte_offset: long(16) as i64,
            reserved1: [0; 20],
            compute_pgm_rsrc3: 0,
            compute_pgm_rsrc1: word(48),
            compute_pgm_rsrc2: word(52),
            kernel_code_properties: (word(56) & 0x7ff) as u16,
            reserved2: [0; 6],
        }
    }

    /// Returns the 64 bytes.
    pub fn to_bytes(&self) -> [u8; 64] {
        let mut b = [0; 64];
        b[0..4].copy_from_slice(&self.group_segment_fixed_size.to_le_bytes());
        b[4..8].copy_from_slice(&self.private_segment_fixed_size.to_le_bytes());
        b[8..12].copy_from_slice(&self.kernarg_size.to_le_bytes());
        b[12..16].copy_from_slice(&self.reserved0);
        b[16..24].copy_from_slice(&self.kernel_code_entry_byte_offset.to_le_bytes());
        b[24..44].copy_from_slice(&self.reserved1);
        b[44..48].copy_from_slice(&self.compute_pgm_rsrc3.to_le_bytes());
        b[48..52].copy_from_slice(&self.compute_pgm_rsrc1.to_le_bytes());
        b[52..56].copy_from_slice(&self.compute_pgm_rsrc2.to_le_bytes());
        b[56..58].copy_from_slice(&self.kernel_code_properties.to_le_bytes());
        b[58..64].copy_from_slice(&self.reserved2);
        b
    }

    /// GRANULATED_WORKITEM_VGPR_COUNT: the number of blocks of VGPRs, minus one.
    pub fn granulated_workitem_vgpr_count(&self) -> u32 {
        bits(self.compute_pgm_rsrc1, 0, 6)
    }

    /// Returns the VGPRs of a work-item on gfx6 to gfx9, where a block is 4.
    pub fn vgpr_count(&self) -> u32 {
        (self.granulated_workitem_vgpr_count() + 1) * VGPR_GRANULE
    }

    /// GRANULATED_WAVEFRONT_SGPR_COUNT: the number of blocks of 8 SGPRs, minus one.
    pub fn granulated_wavefront_sgpr_count(&self) -> u32 {
        bits(self.compute_pgm_rsrc1, 6, 4)
    }

    /// Returns the SGPRs of a wave, including VCC, FLAT_SCRATCH and XNACK_MASK. The field counts in units of 8; from
    /// gfx8 on the hardware allocates units of 16.
    pub fn sgpr_count(&self) -> u32 {
        (self.granulated_wavefront_sgpr_count() + 1) * SGPR_GRANULE
    }

    /// Returns PRIORITY of the wave, 0 to 3.
    pub fn priority(&self) -> u32 {
        bits(self.compute_pgm_rsrc1, 10, 2)
    }

    /// Returns FLOAT_MODE: the low 8 bits of the wave's MODE register (rounding of f32, of f16/f64, denormals of f32,
    /// of f16/f64; 2 bits each).
    pub fn float_mode(&self) -> u32 {
        bits(self.compute_pgm_rsrc1, 12, 8)
    }

    /// Returns PRIV: the wave starts privileged.
    pub fn priv_(&self) -> bool {
        bits(self.compute_pgm_rsrc1, 20, 1) != 0
    }

    /// Returns ENABLE_DX10_CLAMP: clamping turns NaN into 0.
    pub fn dx10_clamp(&self) -> bool {
        bits(self.compute_pgm_rsrc1, 21, 1) != 0
    }

    /// Returns DEBUG_MODE: the wave starts in single-step mode.
    pub fn debug_mode(&self) -> bool {
        bits(self.compute_pgm_rsrc1, 22, 1) != 0
    }

    /// Returns ENABLE_IEEE_MODE: signalling NaNs are quieted.
    pub fn ieee_mode(&self) -> bool {
        bits(self.compute_pgm_rsrc1, 23, 1) != 0
    }

    /// Returns FP16_OVFL (gfx9): f16 overflow gives the largest finite number.
    pub fn fp16_overflow(&self) -> bool {
        bits(self.compute_pgm_rsrc1, 26, 1) != 0
    }

    /// Returns ENABLE_PRIVATE_SEGMENT: the wave's scratch offset is put into an SGPR.
    pub fn enable_private_segment(&self) -> bool {
        bits(self.compute_pgm_rsrc2, 0, 1) != 0
    }

    /// Returns USER_SGPR_COUNT: the number of SGPRs set from the packet, 0 to 31.
    pub fn user_sgpr_count(&self) -> u32 {
        bits(self.compute_pgm_rsrc2, 1, 5)
    }

    /// Returns ENABLE_TRAP_HANDLER.
    pub fn enable_trap_handler(&self) -> bool {
        bits(self.compute_pgm_rsrc2, 6, 1) != 0
    }

    /// Returns ENABLE_SGPR_WORKGROUP_ID_X, _Y and _Z.
    pub fn enable_workgroup_id(&self) -> [bool; 3] {
        [7, 8, 9].map(|shift| bits(self.compute_pgm_rsrc2, shift, 1) != 0)
    }

    /// Returns ENABLE_SGPR_WORKGROUP_INFO.
    pub fn enable_workgroup_info(&self) -> bool {
        bits(self.compute_pgm_rsrc2, 10, 1) != 0
    }

    /// Returns ENABLE_VGPR_WORKITEM_ID: 0 puts X into v0; 1 also Y into v1; 2 also Z into v2; 3 is undefined.
    pub fn enable_vgpr_workitem_id(&self) -> u32 {
        bits(self.compute_pgm_rsrc2, 11, 2)
    }

    /// Returns GRANULATED_LDS_SIZE: 0 in a file; the packet processor sets it.
    pub fn granulated_lds_size(&self) -> u32 {
        bits(self.compute_pgm_rsrc2, 15, 9)
    }

    /// Returns the exception enables in the order of MODE.EXCP_EN (bit 0 invalid … bit 6 integer division by zero).
    pub fn exceptions(&self) -> u32 {
        bits(self.compute_pgm_rsrc2, 24, 7)
    }

    /// Returns the enabled user SGPR values, in the order in which they take SGPRs from s0 on.
    pub fn user_sgprs(&self) -> impl Iterator<Item = UserSgpr> + '_ {
        UserSgpr::ALL
            .into_iter()
            .filter(|&v| self.kernel_code_properties & 1 << v as u16 != 0)
    }

    fn get(&self, directive: &Directive) -> u64 {
        let word = match directive.field {
            Field::GroupSegmentFixedSize => self.group_segment_fixed_size,
            Field::PrivateSegmentFixedSize => self.private_segment_fixed_size,
            Field::KernargSize => self.kernarg_size,
            Field::Rsrc1 => self.compute_pgm_rsrc1,
            Field::Rsrc2 => self.compute_pgm_rsrc2,
            Field::Properties => u32::from(self.kernel_code_properties),
            Field::Computed => 0,
        };
        u64::from(bits(word, directive.shift, directive.width))
    }

    fn put(&mut self, directive: &Directive, value: u64) {
        let mask = ((1u64 << directive.width) - 1) as u32;
        let set = |word: u32| {
            word & !(mask << directive.shift) | (value as u32 & mask) << directive.shift
        };
        match directive.field {
            Field::GroupSegmentFixedSize => {
                self.group_segment_fixed_size = set(self.group_segment_fixed_size)
            }
            Field::PrivateSegmentFixedSize => {
                self.private_segment_fixed_size = set(self.private_segment_fixed_size)
            }
            Field::KernargSize => self.kernarg_size = set(self.kernarg_size),
            Field::Rsrc1 => self.compute_pgm_rsrc1 = set(self.compute_pgm_rsrc1),
            Field::Rsrc2 => self.compute_pgm_rsrc2 = set(self.compute_pgm_rsrc2),
            Field::Properties => {
                self.kernel_code_properties = set(u32::from(self.kernel_code_properties)) as u16
            }
            Field::Computed => {}
        }
    }
}

/// A value the packet processor can put into user SGPRs. The discriminant is its bit in `kernel_code_properties`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum UserSgpr {
    /// V# of scratch.
    PrivateSegmentBuffer = 0,
    /// Address of the dispatch packet.
    DispatchPtr = 1,
    /// Address of the queue.
    QueuePtr = 2,
    /// Address of the kernel arguments.
    KernargSegmentPtr = 3,
    /// The packet's number.
    DispatchId = 4,
    /// The values from which FLAT_SCRATCH is set.
    FlatScratchInit = 5,
    /// Scratch of a work-item in bytes.
    PrivateSegmentSize = 6,
}

impl UserSgpr {
    /// All values, in the order in which they take SGPRs.
    pub const ALL: [UserSgpr; 7] = [
        UserSgpr::PrivateSegmentBuffer,
        UserSgpr::DispatchPtr,
        UserSgpr::QueuePtr,
        UserSgpr::KernargSegmentPtr,
        UserSgpr::DispatchId,
        UserSgpr::FlatScratchInit,
        UserSgpr::PrivateSegmentSize,
    ];

    /// Returns the number of SGPRs that it takes.
    pub fn sgprs(self) -> u32 {
        match self {
            UserSgpr::PrivateSegmentBuffer => 4,
            UserSgpr::PrivateSegmentSize => 1,
            _ => 2,
        }
    }
}

/// The number of VGPRs per block on gfx6 to gfx9 (except gfx90a).
const VGPR_GRANULE: u32 = 4;
/// The number of SGPRs per block of the descriptor's field; it stays 8 on gfx8 and gfx9, which allocate 16 at once.
const SGPR_GRANULE: u32 = 8;
/// The fixed SGPR count of processors with the SGPR initialisation bug.
const SGPRS_WITH_INIT_BUG: u64 = 96;

/// The part of the descriptor that a directive sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `group_segment_fixed_size`
    GroupSegmentFixedSize,
    /// `private_segment_fixed_size`
    PrivateSegmentFixedSize,
    /// `kernarg_size`
    KernargSize,
    /// `compute_pgm_rsrc1`
    Rsrc1,
    /// `compute_pgm_rsrc2`
    Rsrc2,
    /// `kernel_code_properties`
    Properties,
    /// No field of its own: [`KernelBuilder::finish`] computes register counts from it.
    Computed,
}

/// One `.amdhsa_*` directive.
#[derive(Debug)]
pub struct Directive {
    /// The name, including `.amdhsa_`.
    pub name: &'static str,
    /// The field that it sets.
    pub field: Field,
    /// The lowest bit in the field.
    pub shift: u32,
    /// The number of bits of the value.
    pub width: u32,
    /// The value if the directive is absent. For `.amdhsa_reserve_xnack_mask` the target decides.
    pub default: u64,
    /// The first generation that has the directive.
    pub since: u8,
}

const fn row(
    name: &'static str,
    field: Field,
    shift: u32,
    width: u32,
    default: u64,
    since: u8,
) -> Directive {
    Directive {
        name,
        field,
        shift,
        width,
        default,
        since,
    }
}

const USER_SGPR_COUNT: &str = ".amdhsa_user_sgpr_count";
const NEXT_FREE_VGPR: &str = ".amdhsa_next_free_vgpr";
const NEXT_FREE_SGPR: &str = ".amdhsa_next_free_sgpr";
/// llvm-mc accepts it from version 15 on.
const USES_DYNAMIC_STACK: &str = ".amdhsa_uses_dynamic_stack";
const RESERVE_VCC: &str = ".amdhsa_reserve_vcc";
const RESERVE_FLAT_SCRATCH: &str = ".amdhsa_reserve_flat_scratch";
const RESERVE_XNACK_MASK: &str = ".amdhsa_reserve_xnack_mask";

/// Every directive of gfx6 to gfx9, in the order LLVM prints them.
#[rustfmt::skip]
pub static DIRECTIVES: &[Directive] = {
    use Field::*;
    &[
        //  name                                                   field                    shift width default since
        row(".amdhsa_group_segment_fixed_size",                    GroupSegmentFixedSize,   0,    32,   0,      6),
        row(".amdhsa_private_segment_fixed_size",                  PrivateSegmentFixedSize, 0,    32,   0,      6),
        row(".amdhsa_kernarg_size",                                KernargSize,             0,    32,   0,      6),
        row(USER_SGPR_COUNT,                                       Computed,                0,    32,   0,      6),
        row(".amdhsa_user_sgpr_private_segment_buffer",            Properties,              0,    1,    0,      6),
        row(".amdhsa_user_sgpr_dispatch_ptr",                      Properties,              1,    1,    0,      6),
        row(".amdhsa_user_sgpr_queue_ptr",                         Properties,              2,    1,    0,      6),
        row(".amdhsa_user_sgpr_kernarg_segment_ptr",               Properties,              3,    1,    0,      6),
        row(".amdhsa_user_sgpr_dispatch_id",                       Properties,              4,    1,    0,      6),
        row(".amdhsa_user_sgpr_flat_scratch_init",                 Properties,              5,    1,    0,      6),
        row(".amdhsa_user_sgpr_private_segment_size",              Properties,              6,    1,    0,      6),
        row(USES_DYNAMIC_STACK,                                    Properties,              11,   1,    0,      6),
        row(".amdhsa_system_sgpr_private_segment_wavefront_offset",Rsrc2,                   0,    1,    0,      6),
        row(".amdhsa_system_sgpr_workgroup_id_x",                  Rsrc2,                   7,    1,    1,      6),
        row(".amdhsa_system_sgpr_workgroup_id_y",                  Rsrc2,                   8,    1,    0,      6),
        row(".amdhsa_system_sgpr_workgroup_id_z",                  Rsrc2,                   9,    1,    0,      6),
        row(".amdhsa_system_sgpr_workgroup_info",                  Rsrc2,                   10,   1,    0,      6),
        row(".amdhsa_system_vgpr_workitem_id",                     Rsrc2,                   11,   2,    0,      6),
        row(NEXT_FREE_VGPR,                                        Computed,                0,    32,   0,      6),
        row(NEXT_FREE_SGPR,                                        Computed,                0,    32,   0,      6),
        row(RESERVE_VCC,                                           Computed,                0,    1,    1,      6),
        row(RESERVE_FLAT_SCRATCH,                                  Computed,                0,    1,    1,      7),
        row(RESERVE_XNACK_MASK,                                    Computed,                0,    1,    0,      8),
        row(".amdhsa_float_round_mode_32",                         Rsrc1,                   12,   2,    0,      6),
        row(".amdhsa_float_round_mode_16_64",                      Rsrc1,                   14,   2,    0,      6),
        row(".amdhsa_float_denorm_mode_32",                        Rsrc1,                   16,   2,    0,      6),
        row(".amdhsa_float_denorm_mode_16_64",                     Rsrc1,                   18,   2,    3,      6),
        row(".amdhsa_dx10_clamp",                                  Rsrc1,                   21,   1,    1,      6),
        row(".amdhsa_ieee_mode",                                   Rsrc1,                   23,   1,    1,      6),
        row(".amdhsa_fp16_overflow",                               Rsrc1,                   26,   1,    0,      9),
        row(".amdhsa_exception_fp_ieee_invalid_op",                Rsrc2,                   24,   1,    0,      6),
        row(".amdhsa_exception_fp_denorm_src",                     Rsrc2,                   25,   1,    0,      6),
        row(".amdhsa_exception_fp_ieee_div_zero",                  Rsrc2,                   26,   1,    0,      6),
        row(".amdhsa_exception_fp_ieee_overflow",                  Rsrc2,                   27,   1,    0,      6),
        row(".amdhsa_exception_fp_ieee_underflow",                 Rsrc2,                   28,   1,    0,      6),
        row(".amdhsa_exception_fp_ieee_inexact",                   Rsrc2,                   29,   1,    0,      6),
        row(".amdhsa_exception_int_div_zero",                      Rsrc2,                   30,   1,    0,      6),
    ]
};

/// Directives that LLVM has only for other processors, so that an error can name them.
static FOREIGN: &[(&str, &str)] = &[
    (".amdhsa_accum_offset", "gfx90a"),
    (".amdhsa_tg_split", "gfx90a"),
    (
        ".amdhsa_enable_private_segment",
        "gfx940 (architected flat scratch)",
    ),
    (".amdhsa_wavefront_size32", "gfx10"),
    (".amdhsa_workgroup_processor_mode", "gfx10"),
    (".amdhsa_memory_ordered", "gfx10"),
    (".amdhsa_forward_progress", "gfx10"),
    (".amdhsa_shared_vgpr_count", "gfx10"),
];

/// Collects the directives of one `.amdhsa_kernel` block.
#[derive(Clone, Debug)]
pub struct KernelBuilder {
    target: TargetId,
    values: Vec<Option<u64>>,
    /// The index of the directive after the last one: blocks mostly have them in the order of the table.
    next: usize,
}

impl KernelBuilder {
    /// Returns an empty block for `target`.
    pub fn new(target: TargetId) -> KernelBuilder {
        KernelBuilder {
            target,
            values: vec![None; DIRECTIVES.len()],
            next: 0,
        }
    }

    /// Applies one directive, such as `.amdhsa_next_free_vgpr` with 8.
    ///
    /// # Errors
    /// A message if the directive is unknown, belongs to another generation, is repeated, or its value is out of range.
    pub fn set(&mut self, name: &str, value: i64) -> Result<(), String> {
        let expected = (DIRECTIVES.get(self.next)).filter(|d| d.name == name);
        let index = match expected {
            Some(_) => Some(self.next),
            None => DIRECTIVES.iter().position(|d| d.name == name),
        };
        let Some(index) = index else {
            return Err(match FOREIGN.iter().find(|(foreign, _)| *foreign == name) {
                Some((_, needs)) => format!("directive {name} requires {needs}"),
                None => format!("unknown .amdhsa_kernel directive {name}"),
            });
        };
        let directive = &DIRECTIVES[index];
        let machine = self.target.machine;
        if self.values[index].is_some() {
            return Err(format!("directive {name} is repeated"));
        }
        if machine.generation < directive.since {
            return Err(format!(
                "directive {name} requires gfx{} or later, the target is {}",
                directive.since, machine.name
            ));
        }
        let most = (1u64 << directive.width) - 1;
        let value = u64::try_from(value).ok().filter(|v| *v <= most);
        let value = value.ok_or_else(|| format!("the value of {name} must be from 0 to {most}"))?;
        if name == RESERVE_XNACK_MASK && (value != 0) != self.target.xnack.on_or_any() {
            return Err(format!(
                "{name} {value} does not match the target id {}",
                self.target
            ));
        }
        self.values[index] = Some(value);
        self.next = index + 1;
        Ok(())
    }

    fn given(&self, name: &str) -> Option<u64> {
        DIRECTIVES
            .iter()
            .zip(&self.values)
            .find(|(d, _)| d.name == name)
            .and_then(|(_, value)| *value)
    }

    /// Returns the descriptor, with an entry offset of 0: a relocation against the kernel's code sets it.
    ///
    /// # Errors
    /// A message if a required directive is missing or the register counts do not fit the target.
    pub fn finish(&self) -> Result<KernelDescriptor, String> {
        let required = |name| {
            self.given(name)
                .ok_or_else(|| format!("directive {name} is required"))
        };
        let vgprs = required(NEXT_FREE_VGPR)?;
        let sgprs = required(NEXT_FREE_SGPR)?;
        let mut descriptor = KernelDescriptor::default();
        for (directive, value) in DIRECTIVES.iter().zip(&self.values) {
            if let Some(value) = value {
                descriptor.put(directive, *value);
            }
        }

        let vgpr_blocks = vgprs.max(1).div_ceil(u64::from(VGPR_GRANULE)) - 1;
        if vgpr_blocks > 63 {
            return Err(format!(
                "{NEXT_FREE_VGPR} {vgprs} is more than the 256 VGPRs there are"
            ));
        }
        let sgpr_blocks = self.sgpr_blocks(sgprs)?;
        descriptor.compute_pgm_rsrc1 |= vgpr_blocks as u32 | (sgpr_blocks as u32) << 6;

        let implied: u64 = descriptor.user_sgprs().map(|v| u64::from(v.sgprs())).sum();
        let count = self.given(USER_SGPR_COUNT).unwrap_or(implied);
        if count < implied {
            return Err(format!(
                "{USER_SGPR_COUNT} {count} is smaller than the {implied} that the enabled user SGPRs take"
            ));
        }
        if count > 31 {
            return Err(format!("{count} user SGPRs are enabled, 31 are possible"));
        }
        descriptor.compute_pgm_rsrc2 |= (count as u32) << 1;
        Ok(descriptor)
    }

    /// Returns GRANULATED_WAVEFRONT_SGPR_COUNT for a kernel whose own SGPRs end before `sgprs`.
    fn sgpr_blocks(&self, sgprs: u64) -> Result<u64, String> {
        let machine = self.target.machine;
        let reserve = |name, default| self.given(name).map_or(default, |v| v != 0);
        let extra = extra_sgprs(
            &self.target,
            reserve(RESERVE_VCC, true),
            reserve(RESERVE_FLAT_SCRATCH, true),
            reserve(RESERVE_XNACK_MASK, self.target.xnack.on_or_any()),
        );
        let most = addressable_sgprs(&self.target);
        // From gfx8 on the reserved registers come after the addressable ones; before gfx8, they are the last of them.
        // The 96 SGPRs of the initialisation bug include them too.
        let counted = if machine.generation >= 8 && !machine.sgpr_init_bug {
            sgprs
        } else {
            sgprs + extra
        };
        if counted > most {
            return Err(format!(
                "{NEXT_FREE_SGPR} {sgprs} (reserved SGPRs: {extra}) is more than the {most} SGPRs of {}",
                machine.name
            ));
        }
        let total = if machine.sgpr_init_bug {
            SGPRS_WITH_INIT_BUG
        } else {
            sgprs + extra
        };
        Ok(total.max(1).div_ceil(u64::from(SGPR_GRANULE)) - 1)
    }
}

fn addressable_sgprs(target: &TargetId) -> u64 {
    match target.machine {
        m if m.sgpr_init_bug => SGPRS_WITH_INIT_BUG,
        m if m.generation >= 8 => 102,
        _ => 104,
    }
}

/// Returns the number of SGPRs reserved after the kernel's own. FLAT_SCRATCH comes after XNACK_MASK, which comes after
/// VCC, so the outermost decides.
fn extra_sgprs(target: &TargetId, vcc: bool, flat_scratch: bool, xnack_mask: bool) -> u64 {
    match target.machine.generation {
        6 | 7 if flat_scratch => 4,
        6 | 7 => 2 * u64::from(vcc),
        _ if flat_scratch => 6,
        _ if xnack_mask => 4,
        _ => 2 * u64::from(vcc),
    }
}

/// Returns the `.amdhsa_*` directives that produce `descriptor` (except its entry offset) on `target`, in LLVM's order.
///
/// Returns `None` if no directives do, because reserved bits are set or register counts are impossible; such a
/// descriptor can only be written as data.
pub fn directives(
    descriptor: &KernelDescriptor,
    target: &TargetId,
) -> Option<Vec<(&'static str, u64)>> {
    let sgpr_room = u64::from(descriptor.sgpr_count());
    let vgprs = u64::from(descriptor.vgpr_count());
    let mut wanted = descriptor.clone();
    wanted.kernel_code_entry_byte_offset = 0;
    // The kernel's own SGPRs can only reach the highest counts together with reserved ones, so those are tried next.
    // gfx6 has no directive to exclude FLAT_SCRATCH, though it has no such register: LLVM always counts it.
    let generation = target.machine.generation;
    for (vcc, flat_scratch) in [(0, u64::from(generation == 6)), (1, 0), (1, 1)] {
        let xnack_mask = u64::from(target.xnack.on_or_any());
        let extra = extra_sgprs(target, vcc != 0, flat_scratch != 0, xnack_mask != 0);
        let most = addressable_sgprs(target);
        let most = if generation >= 8 && !target.machine.sgpr_init_bug {
            most
        } else {
            most.saturating_sub(extra)
        };
        let sgprs = sgpr_room.saturating_sub(extra).min(most);
        let mut builder = KernelBuilder::new(*target);
        let mut list = Vec::with_capacity(DIRECTIVES.len());
        for directive in DIRECTIVES.iter().filter(|d| d.since <= generation) {
            let value = match directive.name {
                USER_SGPR_COUNT => u64::from(descriptor.user_sgpr_count()),
                NEXT_FREE_VGPR => vgprs,
                NEXT_FREE_SGPR => sgprs,
                RESERVE_VCC => vcc,
                RESERVE_FLAT_SCRATCH => flat_scratch,
                RESERVE_XNACK_MASK if target.machine.xnack => xnack_mask,
                RESERVE_XNACK_MASK => continue,
                // Left out if it is 0, so that llvm-mc 14 accepts the other directives.
                USES_DYNAMIC_STACK if descriptor.get(directive) == 0 => continue,
                _ => descriptor.get(directive),
            };
            builder
                .set(directive.name, i64::try_from(value).ok()?)
                .ok()?;
            list.push((directive.name, value));
        }
        if builder.finish().is_ok_and(|made| made == wanted) {
            return Some(list);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{MACHINES, Version};

    fn build(arch: &str, list: &[(&str, i64)]) -> Result<KernelDescriptor, String> {
        let target = TargetId::parse(arch, Version::V4)?;
        let mut builder = KernelBuilder::new(target);
        for (name, value) in list {
            builder.set(&format!(".amdhsa_{name}"), *value)?;
        }
        builder.finish()
    }

    #[test]
    fn bytes_survive() {
        let bytes: [u8; 64] = std::array::from_fn(|i| (i * 37 + 11) as u8);
        assert_eq!(KernelDescriptor::from_bytes(bytes).to_bytes(), bytes);
    }

    /// Accepted and refused as llvm-mc 14 does.
    #[test]
    fn ranges_follow_llvm() {
        let (v, s) = ("next_free_vgpr", "next_free_sgpr");
        let ok = |arch, list: &[(&str, i64)]| build(arch, list).unwrap();
        assert!(
            build("gfx900", &[(v, 1)])
                .unwrap_err()
                .contains("next_free_sgpr is required")
        );
        assert!(
            build("gfx900", &[(s, 1)])
                .unwrap_err()
                .contains("next_free_vgpr is required")
        );
        assert_eq!(
            ok("gfx900", &[(v, 256), (s, 102)]).granulated_workitem_vgpr_count(),
            63
        );
        assert!(build("gfx900", &[(v, 257), (s, 10)]).is_err());
        assert!(build("gfx900", &[(v, 1), (s, 103)]).is_err());
        assert!(build("gfx701", &[(v, 1), (s, 104), ("reserve_vcc", 0)]).is_err());
        ok(
            "gfx701",
            &[
                (v, 1),
                (s, 104),
                ("reserve_vcc", 0),
                ("reserve_flat_scratch", 0),
            ],
        );
        assert!(build("gfx600", &[(v, 1), (s, 10), ("reserve_flat_scratch", 0)]).is_err());
        assert!(build("gfx701", &[(v, 1), (s, 10), ("reserve_xnack_mask", 0)]).is_err());
        ok("gfx803", &[(v, 1), (s, 10), ("reserve_xnack_mask", 0)]);
        assert!(build("gfx803", &[(v, 1), (s, 10), ("reserve_xnack_mask", 1)]).is_err());
        assert!(build("gfx900", &[(v, 1), (s, 10), ("reserve_xnack_mask", 0)]).is_err());
        ok(
            "gfx900:xnack-",
            &[(v, 1), (s, 10), ("reserve_xnack_mask", 0)],
        );
        assert_eq!(ok("gfx802", &[(v, 1), (s, 10)]).sgpr_count(), 96);
        assert!(
            build(
                "gfx805",
                &[
                    (v, 1),
                    (s, 97),
                    ("reserve_vcc", 0),
                    ("reserve_flat_scratch", 0)
                ]
            )
            .is_err()
        );
        assert!(build("gfx803", &[(v, 1), (s, 10), ("fp16_overflow", 0)]).is_err());
        assert!(build("gfx900", &[(v, 1), (s, 10), ("fp16_overflow", 2)]).is_err());
        assert!(build("gfx900", &[(v, 1), (s, 10), ("ieee_mode", -1)]).is_err());
        assert!(
            build(
                "gfx900",
                &[(v, 1), (s, 10), ("ieee_mode", 0), ("ieee_mode", 0)]
            )
            .unwrap_err()
            .contains("repeated")
        );
        assert!(
            build("gfx900", &[("bogus", 0)])
                .unwrap_err()
                .contains("unknown")
        );
        assert!(
            build("gfx900", &[("tg_split", 0)])
                .unwrap_err()
                .contains("gfx90a")
        );
        assert!(
            build(
                "gfx900",
                &[(v, 1), (s, 1), ("group_segment_fixed_size", 1 << 32)]
            )
            .is_err()
        );
        assert_eq!(
            ok("gfx900", &[(v, 1), (s, 1), ("user_sgpr_count", 31)]).user_sgpr_count(),
            31
        );
        assert!(build("gfx900", &[(v, 1), (s, 1), ("user_sgpr_count", 32)]).is_err());
        assert!(
            build(
                "gfx900",
                &[
                    (v, 1),
                    (s, 1),
                    ("user_sgpr_count", 3),
                    ("user_sgpr_private_segment_buffer", 1)
                ]
            )
            .is_err()
        );
        let all = [
            "private_segment_buffer",
            "dispatch_ptr",
            "queue_ptr",
            "kernarg_segment_ptr",
            "dispatch_id",
            "flat_scratch_init",
        ];
        let names: Vec<String> = all
            .iter()
            .chain(&["private_segment_size"])
            .map(|n| format!("user_sgpr_{n}"))
            .collect();
        let mut list = vec![(v, 1), (s, 1)];
        list.extend(names.iter().map(|n| (n.as_str(), 1)));
        assert_eq!(ok("gfx900", &list).user_sgpr_count(), 15);
    }

    /// Every combination of granules of every target round-trips through its directives, or is reported as impossible.
    #[test]
    fn directives_round_trip() {
        for machine in MACHINES {
            let target = TargetId::new(machine);
            let mut possible = 0;
            for sgpr in 0..16u32 {
                for vgpr in [0u32, 1, 31, 63] {
                    let mut d = KernelDescriptor {
                        group_segment_fixed_size: 1234,
                        kernarg_size: u32::MAX,
                        ..Default::default()
                    };
                    d.compute_pgm_rsrc1 = vgpr | sgpr << 6 | 0x00a5_5000;
                    d.compute_pgm_rsrc2 = 0x7f00_1fbf;
                    d.kernel_code_properties = 0x7f;
                    d.kernel_code_entry_byte_offset = -4096;
                    if let Some(list) = directives(&d, &target) {
                        possible += 1;
                        let mut builder = KernelBuilder::new(target);
                        for (name, value) in list {
                            builder.set(name, value as i64).unwrap();
                        }
                        d.kernel_code_entry_byte_offset = 0;
                        assert_eq!(builder.finish().unwrap().to_bytes(), d.to_bytes());
                        // Bits without a directive cannot be expressed.
                        for (word, bit) in [
                            (1, 10),
                            (1, 20),
                            (1, 22),
                            (1, 24),
                            (1, 31),
                            (2, 6),
                            (2, 13),
                            (2, 15),
                            (2, 31),
                            (3, 0),
                        ] {
                            let mut d = d.clone();
                            *[
                                &mut d.compute_pgm_rsrc1,
                                &mut d.compute_pgm_rsrc2,
                                &mut d.compute_pgm_rsrc3,
                            ][word - 1] |= 1u32 << bit;
                            assert_eq!(directives(&d, &target), None, "rsrc{word} bit {bit}");
                        }
                    }
                }
            }
            // 104 SGPRs are 13 blocks on gfx6/7, 102 and 6 reserved ones 14 on gfx8/9; the bug leaves one count.
            let blocks = if machine.sgpr_init_bug {
                1
            } else if machine.generation >= 8 {
                14
            } else {
                13
            };
            assert_eq!(possible, blocks * 4, "{}", machine.name);
        }
    }
}
