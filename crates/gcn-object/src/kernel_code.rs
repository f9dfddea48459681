//! `amd_kernel_code_t`: the 256 bytes in front of a kernel's code in code objects v2 and Mesa objects.
//!
//! Layout and bit fields are those of "AMD Kernel Code Object" in the ROCm Compute ABI document and of "Code Object V2"
//! in LLVM's "User Guide for AMDGPU Backend"; names and defaults are those of llvm-mc 14.

use crate::target::Machine;

/// Size of an `amd_kernel_code_t` in bytes. A kernel's code begins this far after its symbol, unless the structure
/// specifies another distance.
pub const SIZE: usize = 256;

/// Size of the part before the control directives in bytes.
pub const HEADER: usize = 128;

/// One field: a range of bits.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// The name in `.amd_kernel_code_t` blocks; LLVM prints this one.
    pub name: &'static str,
    /// The other accepted name, if there is one.
    pub alias: &'static str,
    /// The lowest bit, counted from the structure's first bit.
    pub bit: u32,
    /// The number of bits, 1 to 64. A field never crosses a multiple of 64.
    pub width: u32,
    /// True if LLVM prints it as a signed number.
    pub signed: bool,
    /// True if LLVM's blocks name it; the other fields are accessible only through [`KernelCode`].
    pub named: bool,
}

const fn row(name: &'static str, alias: &'static str, bit: u32, width: u32) -> Field {
    Field {
        name,
        alias,
        bit,
        width,
        signed: false,
        named: true,
    }
}

const fn same(name: &'static str, byte: u32, bytes: u32) -> Field {
    row(name, name, byte * 8, bytes * 8)
}

const fn signed(field: Field) -> Field {
    Field {
        signed: true,
        ..field
    }
}

/// A field that LLVM's blocks do not name.
const fn unnamed(name: &'static str, byte: u32, bytes: u32) -> Field {
    Field {
        named: false,
        ..same(name, byte, bytes)
    }
}

const RSRC1: u32 = 48 * 8;
const RSRC2: u32 = 52 * 8;
const PROPERTIES: u32 = 56 * 8;

/// Every field, in the order LLVM prints them.
#[rustfmt::skip]
pub static FIELDS: &[Field] = &[
    row("amd_code_version_major",       "kernel_code_version_major",  0,      32),
    row("amd_code_version_minor",       "kernel_code_version_minor",  4 * 8,  32),
    row("amd_machine_kind",             "machine_kind",               8 * 8,  16),
    row("amd_machine_version_major",    "machine_version_major",      10 * 8, 16),
    row("amd_machine_version_minor",    "machine_version_minor",      12 * 8, 16),
    row("amd_machine_version_stepping", "machine_version_stepping",   14 * 8, 16),
    signed(same("kernel_code_entry_byte_offset", 16, 8)),
    signed(unnamed("kernel_code_prefetch_byte_offset", 24, 8)),
    same("kernel_code_prefetch_byte_size", 32, 8),
    unnamed("max_scratch_backing_memory_byte_size", 40, 8),
    row("granulated_workitem_vgpr_count",  "compute_pgm_rsrc1_vgprs",        RSRC1,      6),
    row("granulated_wavefront_sgpr_count", "compute_pgm_rsrc1_sgprs",        RSRC1 + 6,  4),
    row("priority",                        "compute_pgm_rsrc1_priority",     RSRC1 + 10, 2),
    row("float_mode",                      "compute_pgm_rsrc1_float_mode",   RSRC1 + 12, 8),
    row("priv",                            "compute_pgm_rsrc1_priv",         RSRC1 + 20, 1),
    row("enable_dx10_clamp",               "compute_pgm_rsrc1_dx10_clamp",   RSRC1 + 21, 1),
    row("debug_mode",                      "compute_pgm_rsrc1_debug_mode",   RSRC1 + 22, 1),
    row("enable_ieee_mode",                "compute_pgm_rsrc1_ieee_mode",    RSRC1 + 23, 1),
    row("enable_wgp_mode",                 "compute_pgm_rsrc1_wgp_mode",     RSRC1 + 29, 1),
    row("enable_mem_ordered",              "compute_pgm_rsrc1_mem_ordered",  RSRC1 + 30, 1),
    row("enable_fwd_progress",             "compute_pgm_rsrc1_fwd_progress", RSRC1 + 31, 1),
    row("enable_sgpr_private_segment_wave_byte_offset", "compute_pgm_rsrc2_scratch_en", RSRC2, 1),
    row("user_sgpr_count",                 "compute_pgm_rsrc2_user_sgpr",      RSRC2 + 1,  5),
    row("enable_trap_handler",             "compute_pgm_rsrc2_trap_handler",   RSRC2 + 6,  1),
    row("enable_sgpr_workgroup_id_x",      "compute_pgm_rsrc2_tgid_x_en",      RSRC2 + 7,  1),
    row("enable_sgpr_workgroup_id_y",      "compute_pgm_rsrc2_tgid_y_en",      RSRC2 + 8,  1),
    row("enable_sgpr_workgroup_id_z",      "compute_pgm_rsrc2_tgid_z_en",      RSRC2 + 9,  1),
    row("enable_sgpr_workgroup_info",      "compute_pgm_rsrc2_tg_size_en",     RSRC2 + 10, 1),
    row("enable_vgpr_workitem_id",         "compute_pgm_rsrc2_tidig_comp_cnt", RSRC2 + 11, 2),
    row("enable_exception_msb",            "compute_pgm_rsrc2_excp_en_msb",    RSRC2 + 13, 2),
    row("granulated_lds_size",             "compute_pgm_rsrc2_lds_size",       RSRC2 + 15, 9),
    row("enable_exception",                "compute_pgm_rsrc2_excp_en",        RSRC2 + 24, 7),
    row("enable_sgpr_private_segment_buffer", "enable_sgpr_private_segment_buffer", PROPERTIES,      1),
    row("enable_sgpr_dispatch_ptr",           "enable_sgpr_dispatch_ptr",           PROPERTIES + 1,  1),
    row("enable_sgpr_queue_ptr",              "enable_sgpr_queue_ptr",              PROPERTIES + 2,  1),
    row("enable_sgpr_kernarg_segment_ptr",    "enable_sgpr_kernarg_segment_ptr",    PROPERTIES + 3,  1),
    row("enable_sgpr_dispatch_id",            "enable_sgpr_dispatch_id",            PROPERTIES + 4,  1),
    row("enable_sgpr_flat_scratch_init",      "enable_sgpr_flat_scratch_init",      PROPERTIES + 5,  1),
    row("enable_sgpr_private_segment_size",   "enable_sgpr_private_segment_size",   PROPERTIES + 6,  1),
    row("enable_sgpr_grid_workgroup_count_x", "enable_sgpr_grid_workgroup_count_x", PROPERTIES + 7,  1),
    row("enable_sgpr_grid_workgroup_count_y", "enable_sgpr_grid_workgroup_count_y", PROPERTIES + 8,  1),
    row("enable_sgpr_grid_workgroup_count_z", "enable_sgpr_grid_workgroup_count_z", PROPERTIES + 9,  1),
    row("enable_wavefront_size32",            "enable_wavefront_size32",            PROPERTIES + 10, 1),
    row("enable_ordered_append_gds",          "enable_ordered_append_gds",          PROPERTIES + 16, 1),
    row("private_element_size",               "private_element_size",               PROPERTIES + 17, 2),
    row("is_ptr64",                           "is_ptr64",                           PROPERTIES + 19, 1),
    row("is_dynamic_callstack",               "is_dynamic_callstack",               PROPERTIES + 20, 1),
    row("is_debug_enabled",                   "is_debug_enabled",                   PROPERTIES + 21, 1),
    row("is_xnack_enabled",                   "is_xnack_enabled",                   PROPERTIES + 22, 1),
    same("workitem_private_segment_byte_size", 60, 4),
    same("workgroup_group_segment_byte_size",  64, 4),
    same("gds_segment_byte_size",              68, 4),
    same("kernarg_segment_byte_size",          72, 8),
    same("workgroup_fbarrier_count",           80, 4),
    same("wavefront_sgpr_count",               84, 2),
    same("workitem_vgpr_count",                86, 2),
    same("reserved_vgpr_first",                88, 2),
    same("reserved_vgpr_count",                90, 2),
    same("reserved_sgpr_first",                92, 2),
    same("reserved_sgpr_count",                94, 2),
    same("debug_wavefront_private_segment_offset_sgpr", 96, 2),
    same("debug_private_segment_buffer_sgpr",  98, 2),
    same("kernarg_segment_alignment",          100, 1),
    same("group_segment_alignment",            101, 1),
    same("private_segment_alignment",          102, 1),
    same("wavefront_size",                     103, 1),
    signed(same("call_convention",             104, 4)),
    same("runtime_loader_kernel_symbol",       120, 8),
];

/// Fields that must be 0 because they request features that only gfx10 and later have.
static LATER: &[&str] = &[
    "enable_wgp_mode",
    "enable_mem_ordered",
    "enable_fwd_progress",
    "enable_wavefront_size32",
];

/// The structure. Every byte pattern is valid, and reserved bytes are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCode {
    bytes: [u8; SIZE],
}

impl Field {
    /// Returns the field with a name or alias.
    pub fn find(name: &str) -> Option<&'static Field> {
        FIELDS.iter().find(|f| f.name == name || f.alias == name)
    }

    /// Returns the byte in which it begins, and its lowest bit's position in the 8 bytes from the multiple of 8 at or
    /// before that.
    fn location(&self) -> (usize, u32) {
        ((self.bit / 64 * 8) as usize, self.bit % 64)
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.width)
    }

    /// Returns true if `value` fits in this many bits, signed or unsigned.
    pub fn fits(&self, value: i64) -> bool {
        self.width == 64 || (-(1 << (self.width - 1))..1i64 << self.width).contains(&value)
    }
}

impl KernelCode {
    /// Returns a structure of zeros.
    pub fn zeros() -> KernelCode {
        KernelCode { bytes: [0; SIZE] }
    }

    /// Returns the result of an empty `.amd_kernel_code_t` block for `machine`: version 1.2, the machine's numbers,
    /// code directly after the structure, 64 lanes per wave, segments aligned to 16 bytes, no indirect calls.
    pub fn new(machine: &Machine) -> KernelCode {
        let mut code = KernelCode::zeros();
        let (major, minor, stepping) = machine.isa();
        for (name, value) in [
            ("amd_code_version_major", 1),
            ("amd_code_version_minor", 2),
            ("amd_machine_kind", 1),
            ("amd_machine_version_major", major.into()),
            ("amd_machine_version_minor", minor.into()),
            ("amd_machine_version_stepping", stepping.into()),
            ("kernel_code_entry_byte_offset", SIZE as u64),
            ("kernarg_segment_alignment", 4),
            ("group_segment_alignment", 4),
            ("private_segment_alignment", 4),
            ("wavefront_size", 6),
            ("call_convention", u64::MAX),
        ] {
            code.put(name, value);
        }
        code
    }

    /// Returns the structure of these bytes.
    pub fn from_bytes(bytes: [u8; SIZE]) -> KernelCode {
        KernelCode { bytes }
    }

    /// Returns the bytes.
    pub fn to_bytes(&self) -> [u8; SIZE] {
        self.bytes
    }

    fn chunk(&self, at: usize) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|i| self.bytes[at + i]))
    }

    /// Returns a field's bits, unsigned.
    pub fn get(&self, field: &Field) -> u64 {
        let (at, shift) = field.location();
        self.chunk(at) >> shift & field.mask()
    }

    /// Returns a field's value as LLVM prints it.
    pub fn value(&self, field: &Field) -> i64 {
        let bits = self.get(field);
        match field.signed {
            true => (bits << (64 - field.width)) as i64 >> (64 - field.width),
            false => bits as i64,
        }
    }

    /// Sets a field's bits; higher bits of `value` are ignored.
    pub fn set(&mut self, field: &Field, value: u64) {
        let (at, shift) = field.location();
        let mask = field.mask() << shift;
        let word = self.chunk(at) & !mask | value << shift & mask;
        self.bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }

    /// Returns a field's bits by its name; 0 for an unknown name.
    pub fn named(&self, name: &str) -> u64 {
        Field::find(name).map_or(0, |f| self.get(f))
    }

    /// Sets a field by its name; an unknown name is ignored.
    pub fn put(&mut self, name: &str, value: u64) {
        if let Some(field) = Field::find(name) {
            self.set(field, value);
        }
    }

    /// Applies one line of an `.amd_kernel_code_t` block.
    ///
    /// # Errors
    /// A message if there is no such field, the value does not fit it, or it requests a feature that gfx6 to gfx9 lack.
    pub fn assign(&mut self, name: &str, value: i64) -> Result<(), String> {
        let field = Field::find(name).filter(|f| f.named);
        let field =
            field.ok_or_else(|| format!("there is no field '{name}' in amd_kernel_code_t"))?;
        if !field.fits(value) {
            return Err(format!("the value of {name} must fit {} bits", field.width));
        }
        if value != 0 && LATER.contains(&field.name) {
            return Err(format!("the value of {name} must be 0 before gfx10"));
        }
        if field.name == "wavefront_size" && value != 6 {
            return Err(
                "the value of wavefront_size must be 6 (waves of 2^6 lanes) before gfx10".into(),
            );
        }
        self.set(field, value as u64);
        Ok(())
    }

    /// Returns COMPUTE_PGM_RSRC1.
    pub fn compute_pgm_rsrc1(&self) -> u32 {
        self.chunk(48) as u32
    }

    /// Returns COMPUTE_PGM_RSRC2.
    pub fn compute_pgm_rsrc2(&self) -> u32 {
        (self.chunk(48) >> 32) as u32
    }

    /// Sets COMPUTE_PGM_RSRC1 and COMPUTE_PGM_RSRC2 as whole words.
    pub fn set_compute_pgm_rsrc(&mut self, rsrc1: u32, rsrc2: u32) {
        self.bytes[48..52].copy_from_slice(&rsrc1.to_le_bytes());
        self.bytes[52..56].copy_from_slice(&rsrc2.to_le_bytes());
    }

    /// Returns the 128 bytes of control directives.
    pub fn control_directives(&self) -> &[u8] {
        &self.bytes[HEADER..]
    }

    /// Sets the control directives.
    pub fn set_control_directives(&mut self, bytes: [u8; SIZE - HEADER]) {
        self.bytes[HEADER..].copy_from_slice(&bytes);
    }

    /// Returns the lines of the `.amd_kernel_code_t` block that produces this structure, in LLVM's order; `None` if
    /// there are none, because a reserved byte is set or a value is not accepted on gfx6 to gfx9.
    pub fn lines(&self, machine: &Machine) -> Option<Vec<(&'static str, i64)>> {
        let mut made = KernelCode::new(machine);
        let mut lines = Vec::with_capacity(FIELDS.len());
        for field in FIELDS.iter().filter(|f| f.named) {
            let value = self.value(field);
            made.assign(field.name, value).ok()?;
            lines.push((field.name, value));
        }
        (made == *self).then_some(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gfx900() -> &'static Machine {
        Machine::from_name("gfx900").unwrap()
    }

    /// No two fields share a bit, none crosses a multiple of 64, and each returns the value that was set.
    #[test]
    fn fields_are_apart() {
        let mut seen = [false; SIZE * 8];
        for field in FIELDS {
            assert!((1..=64).contains(&field.width), "{}", field.name);
            assert!(field.bit % 64 + field.width <= 64, "{}", field.name);
            for bit in field.bit..field.bit + field.width {
                let was = std::mem::replace(&mut seen[bit as usize], true);
                assert!(!was, "{} bit {bit}", field.name);
            }
            let mut code = KernelCode::zeros();
            code.set(field, u64::MAX);
            assert_eq!(code.get(field), field.mask());
            let ones: u32 = code.to_bytes().iter().map(|b| b.count_ones()).sum();
            assert_eq!(ones, field.width, "{}", field.name);
            assert_eq!(Field::find(field.alias), Some(field));
        }
    }

    /// The bytes llvm-mc 14 writes for an empty block on gfx900.
    #[test]
    fn defaults_are_llvms() {
        let bytes = KernelCode::new(gfx900()).to_bytes();
        let mut expected = [0u8; SIZE];
        for (at, value) in [(0, 1), (4, 2), (8, 1), (10, 9), (17, 1)] {
            expected[at] = value;
        }
        expected[100..104].copy_from_slice(&[4, 4, 4, 6]);
        expected[104..108].fill(0xff);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn lines_make_the_structure() {
        let mut code = KernelCode::new(gfx900());
        let mut n = 3u64;
        for field in FIELDS.iter().filter(|f| f.named) {
            n = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17);
            if field.name != "wavefront_size" && !LATER.contains(&field.name) {
                code.set(field, n);
            }
        }
        let lines = code.lines(gfx900()).expect("all values are taken");
        let mut made = KernelCode::new(gfx900());
        for (name, value) in lines {
            made.assign(name, value).unwrap();
        }
        assert_eq!(made, code);
        assert_eq!(KernelCode::from_bytes(code.to_bytes()), code);
        // Reserved bytes have no line.
        let mut bytes = code.to_bytes();
        bytes[110] = 1;
        assert_eq!(KernelCode::from_bytes(bytes).lines(gfx900()), None);
        let mut bytes = code.to_bytes();
        bytes[255] = 1;
        assert_eq!(KernelCode::from_bytes(bytes).lines(gfx900()), None);
    }

    #[test]
    fn refusals_say_why() {
        let mut code = KernelCode::new(gfx900());
        for (name, value, part) in [
            ("nonsense", 0, "no field 'nonsense'"),
            ("priority", 4, "fit 2 bits"),
            ("priority", -3, "fit 2 bits"),
            ("kernarg_segment_alignment", 256, "fit 8 bits"),
            ("enable_wgp_mode", 1, "before gfx10"),
            ("enable_wavefront_size32", 1, "before gfx10"),
            ("wavefront_size", 5, "before gfx10"),
        ] {
            let message = code.assign(name, value).unwrap_err();
            assert!(message.contains(part), "{name}: {message}");
        }
        code.assign("call_convention", -1).unwrap();
        code.assign("compute_pgm_rsrc1_vgprs", 63).unwrap();
        assert_eq!(code.compute_pgm_rsrc1(), 63);
    }
}
