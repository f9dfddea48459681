//! Names of immediate values: messages, hardware registers, selections.

use crate::format::{Encoding, Field};
use crate::target::Gen;

/// A name for a number in some generations.
pub struct Name {
    /// The number.
    pub id: u8,
    /// LLVM's name; empty if it has none and writes the number.
    pub llvm: &'static str,
    /// The documents' (CLRX's) name.
    pub clrx: &'static str,
    /// The first generation that has it.
    pub since: Gen,
    /// Further names that the assembler accepts.
    pub aliases: &'static [&'static str],
}

const fn n(id: u8, llvm: &'static str, clrx: &'static str, since: Gen) -> Name {
    Name {
        id,
        llvm,
        clrx,
        since,
        aliases: &[],
    }
}

/// The messages of s_sendmsg, SIMM16 bits 3:0 (docs/errata.md, sopp-sendmsg).
#[rustfmt::skip]
pub static MESSAGES: &[Name] = &[
    n(1, "MSG_INTERRUPT", "interrupt", Gen::Gfx6),
    n(2, "MSG_GS", "gs", Gen::Gfx6),
    n(3, "MSG_GS_DONE", "gs_done", Gen::Gfx6),
    n(4, "MSG_SAVEWAVE", "savewave", Gen::Gfx8),
    n(5, "MSG_STALL_WAVE_GEN", "stall_wave_gen", Gen::Gfx9),
    n(6, "MSG_HALT_WAVES", "halt_waves", Gen::Gfx9),
    n(7, "MSG_ORDERED_PS_DONE", "ordered_ps_done", Gen::Gfx9),
    n(8, "MSG_EARLY_PRIM_DEALLOC", "early_prim_dealloc", Gen::Gfx9),
    n(9, "MSG_GS_ALLOC_REQ", "gs_alloc_req", Gen::Gfx9),
    n(10, "MSG_GET_DOORBELL", "get_doorbell", Gen::Gfx9),
    Name { id: 15, llvm: "MSG_SYSMSG", clrx: "system", since: Gen::Gfx6, aliases: &["sysmsg", "MSG_SYSTEM"] },
];

/// The operations of MSG_GS and MSG_GS_DONE, SIMM16 bits 5:4.
#[rustfmt::skip]
pub static GS_OPS: &[Name] = &[
    n(0, "GS_OP_NOP", "nop", Gen::Gfx6),
    n(1, "GS_OP_CUT", "cut", Gen::Gfx6),
    n(2, "GS_OP_EMIT", "emit", Gen::Gfx6),
    Name { id: 3, llvm: "GS_OP_EMIT_CUT", clrx: "emit-cut", since: Gen::Gfx6, aliases: &["emit_cut"] },
];

/// The operations of MSG_SYSMSG, SIMM16 bits 6:4.
#[rustfmt::skip]
pub static SYS_OPS: &[Name] = &[
    n(1, "SYSMSG_OP_ECC_ERR_INTERRUPT", "ecc_err_interrupt", Gen::Gfx6),
    n(2, "SYSMSG_OP_REG_RD", "reg_rd", Gen::Gfx6),
    n(3, "SYSMSG_OP_HOST_TRAP_ACK", "host_trap_ack", Gen::Gfx6),
    n(4, "SYSMSG_OP_TTRACE_PC", "ttrace_pc", Gen::Gfx6),
];

/// The hardware registers of s_getreg and s_setreg, SIMM16 bits 5:0. LLVM has names for 16 to 19 from version 15 on; version
/// 14 prints the number, which all versions accept.
#[rustfmt::skip]
pub static HWREGS: &[Name] = &[
    n(1, "HW_REG_MODE", "mode", Gen::Gfx6),
    n(2, "HW_REG_STATUS", "status", Gen::Gfx6),
    n(3, "HW_REG_TRAPSTS", "trapsts", Gen::Gfx6),
    n(4, "HW_REG_HW_ID", "hw_id", Gen::Gfx6),
    n(5, "HW_REG_GPR_ALLOC", "gpr_alloc", Gen::Gfx6),
    n(6, "HW_REG_LDS_ALLOC", "lds_alloc", Gen::Gfx6),
    n(7, "HW_REG_IB_STS", "ib_sts", Gen::Gfx6),
    n(15, "HW_REG_SH_MEM_BASES", "sh_mem_bases", Gen::Gfx9),
    n(8, "", "pc_lo", Gen::Gfx6),
    n(9, "", "pc_hi", Gen::Gfx6),
    n(10, "", "inst_dw0", Gen::Gfx6),
    n(11, "", "inst_dw1", Gen::Gfx6),
    n(12, "", "ib_dbg0", Gen::Gfx6),
    n(13, "", "ib_dbg1", Gen::Gfx8),
    n(14, "", "flush_ib", Gen::Gfx9),
    Name { id: 16, llvm: "", clrx: "sq_shader_tba_lo", since: Gen::Gfx9, aliases: &["HW_REG_TBA_LO", "tba_lo"] },
    Name { id: 17, llvm: "", clrx: "sq_shader_tba_hi", since: Gen::Gfx9, aliases: &["HW_REG_TBA_HI", "tba_hi"] },
    Name { id: 18, llvm: "", clrx: "sq_shader_tma_lo", since: Gen::Gfx9, aliases: &["HW_REG_TMA_LO", "tma_lo"] },
    Name { id: 19, llvm: "", clrx: "sq_shader_tma_hi", since: Gen::Gfx9, aliases: &["HW_REG_TMA_HI", "tma_hi"] },
];

/// The data formats of typed buffer instructions, DFMT 0 to 15, without LLVM's `BUF_DATA_FORMAT_`
/// and in CLRX's syntax.
pub static DFMT: [(&str, &str); 16] = [
    ("INVALID", "invalid"),
    ("8", "8"),
    ("16", "16"),
    ("8_8", "8_8"),
    ("32", "32"),
    ("16_16", "16_16"),
    ("10_11_11", "10_11_11"),
    ("11_11_10", "11_11_10"),
    ("10_10_10_2", "10_10_10_2"),
    ("2_10_10_10", "2_10_10_10"),
    ("8_8_8_8", "8_8_8_8"),
    ("32_32", "32_32"),
    ("16_16_16_16", "16_16_16_16"),
    ("32_32_32", "32_32_32"),
    ("32_32_32_32", "32_32_32_32"),
    ("RESERVED_15", "reserved"),
];

/// The number formats, NFMT 0 to 7, without LLVM's `BUF_NUM_FORMAT_` and in CLRX's syntax.
pub fn nfmt(n: u32, generation: Gen) -> (&'static str, &'static str) {
    match n & 7 {
        0 => ("UNORM", "unorm"),
        1 => ("SNORM", "snorm"),
        2 => ("USCALED", "uscaled"),
        3 => ("SSCALED", "sscaled"),
        4 => ("UINT", "uint"),
        5 => ("SINT", "sint"),
        6 if generation < Gen::Gfx8 => ("SNORM_OGL", "snorm_ogl"),
        6 => ("RESERVED_6", "snorm_ogl"),
        _ => ("FLOAT", "float"),
    }
}

/// Fields with their names.
pub type Words = &'static [(Field, &'static str)];

/// CLRX's names of the fields that an instruction ignores, by encoding: `ssrc=0x14`.
static IGNORED: [(&[Encoding], Words); 9] = {
    use Encoding::*;
    [
        (&[Sop1], &[(Field::Ssrc0, "ssrc"), (Field::Sdst, "sdst")]),
        (&[Sop2, Sopk], &[(Field::Sdst, "sdst")]),
        (&[Smem], &[(Field::Sdst, "sdst"), (Field::Sbase, "sbase")]),
        (
            &[Vop3, Vop3b],
            &[
                (Field::Vdst, "dst"),
                (Field::Src0, "src0"),
                (Field::Src1, "vsrc1"),
                (Field::Src2, "vsrc2"),
            ],
        ),
        (
            &[Ds],
            &[
                (Field::Addr, "vaddr"),
                (Field::Data0, "vdata0"),
                (Field::Data1, "vdata1"),
                (Field::Vdst, "vdst"),
            ],
        ),
        (
            &[Mubuf],
            &[
                (Field::Vaddr, "vaddr"),
                (Field::Vdata, "vdata"),
                (Field::Srsrc, "srsrc"),
                (Field::Soffset, "soffset"),
            ],
        ),
        (&[Mimg], &[(Field::Ssamp, "ssamp")]),
        (&[Flat], &[(Field::Data0, "vdata"), (Field::Vdst, "vdst")]),
        (
            &[Exp],
            &[
                (Field::Vsrc0, "vsrc0"),
                (Field::Vsrc1, "vsrc1"),
                (Field::Vsrc2, "vsrc2"),
                (Field::Vsrc3, "vsrc3"),
            ],
        ),
    ]
};

/// CLRX's names of the fields of an encoding that an instruction may ignore.
pub fn ignored_fields(encoding: Encoding) -> Words {
    let found = IGNORED.iter().find(|(of, _)| of.contains(&encoding));
    found.map_or(&[], |(_, fields)| fields)
}

/// The name from [`ignored_fields`] that equals `text`, for any encoding.
pub fn ignored_name(text: &str) -> Option<&'static str> {
    let mut names = IGNORED.iter().flat_map(|(_, fields)| *fields);
    names.find(|(_, name)| *name == text).map(|(_, name)| *name)
}

/// CLRX's names of the abs and neg bits of VOP3 sources that an instruction does not have.
pub static IGNORED_BITS: [(Field, &str); 6] = [
    (Field::Abs, "abs0"),
    (Field::Neg, "neg0"),
    (Field::Abs, "abs1"),
    (Field::Neg, "neg1"),
    (Field::Abs, "abs2"),
    (Field::Neg, "neg2"),
];

/// The vertex parameters of v_interp_mov_f32, 0 to 2.
pub static PARAMS: [&str; 3] = ["p10", "p20", "p0"];

/// A target of `exp`: its name and the number that follows it, if one does. Returns `None` for a
/// reserved one.
pub fn export_target(tgt: u32) -> Option<(&'static str, Option<u32>)> {
    Some(match tgt {
        0..=7 => ("mrt", Some(tgt)),
        8 => ("mrtz", None),
        9 => ("null", None),
        12..=15 => ("pos", Some(tgt - 12)),
        32..=63 => ("param", Some(tgt - 32)),
        _ => return None,
    })
}

/// The operands that GPR indexing may index, bit by bit.
pub static GPR_IDX: [&str; 4] = ["SRC0", "SRC1", "SRC2", "DST"];

/// SDWA's selections 0 to 6, in LLVM's and CLRX's syntax.
pub static SDWA_SEL: [(&str, &str); 7] = [
    ("BYTE_0", "byte0"),
    ("BYTE_1", "byte1"),
    ("BYTE_2", "byte2"),
    ("BYTE_3", "byte3"),
    ("WORD_0", "word0"),
    ("WORD_1", "word1"),
    ("DWORD", "dword"),
];

/// The treatment of the rest of the destination in SDWA.
pub static SDWA_UNUSED: [(&str, &str); 3] = [
    ("UNUSED_PAD", "pad"),
    ("UNUSED_SEXT", "sext"),
    ("UNUSED_PRESERVE", "preserve"),
];

/// The name of a number in a generation.
pub fn name_of(table: &'static [Name], id: u32, generation: Gen) -> Option<&'static Name> {
    table
        .iter()
        .find(|n| n.id as u32 == id && n.since <= generation)
}

/// The number of a name in a generation: LLVM's name, CLRX's, or an alias; case is ignored.
pub fn id_of(table: &'static [Name], name: &str, generation: Gen) -> Option<u32> {
    let is = |n: &Name| {
        n.llvm.eq_ignore_ascii_case(name)
            || n.clrx.eq_ignore_ascii_case(name)
            || n.aliases.iter().any(|a| a.eq_ignore_ascii_case(name))
            // The documents accept `GS_EMIT` and `MSG_GS` in addition to `EMIT` and `GS`.
            || name.get(..3).is_some_and(|p| p.eq_ignore_ascii_case("gs_"))
                && n.llvm.starts_with("GS_OP_")
                && (n.aliases.iter().chain([&n.clrx])).any(|a| a.eq_ignore_ascii_case(&name[3..]))
    };
    table
        .iter()
        .find(|n| is(n) && n.since <= generation)
        .map(|n| n.id as u32)
}

/// The counters in an s_waitcnt's SIMM16: vmcnt, expcnt, lgkmcnt, each with its all-ones value
/// (no wait); and the bits that belong to no counter.
pub struct Waitcnt {
    /// vmcnt: 4 bits, 6 on gfx9.
    pub vm: (u32, u32),
    /// expcnt: 3 bits.
    pub exp: (u32, u32),
    /// lgkmcnt: 4 bits.
    pub lgkm: (u32, u32),
    /// The bits that belong to no counter, in place.
    pub spare: u32,
}

/// Decodes the SIMM16 of s_waitcnt (docs/errata.md, sopp-waitcnt).
pub fn waitcnt(simm: u32, generation: Gen) -> Waitcnt {
    let gfx9 = generation == Gen::Gfx9;
    let vm = (simm & 15) | if gfx9 { simm >> 10 & 0x30 } else { 0 };
    Waitcnt {
        vm: (vm, if gfx9 { 63 } else { 15 }),
        exp: (simm >> 4 & 7, 7),
        lgkm: (simm >> 8 & 15, 15),
        spare: simm & if gfx9 { 0x3080 } else { 0xf080 },
    }
}

/// The SIMM16 of an s_waitcnt with the given counters; the inverse of [`waitcnt`].
pub fn waitcnt_simm(vm: u32, exp: u32, lgkm: u32, generation: Gen) -> u32 {
    let high = if generation == Gen::Gfx9 {
        (vm & 0x30) << 10
    } else {
        0
    };
    (vm & 15) | high | (exp & 7) << 4 | (lgkm & 15) << 8
}

/// The pattern that the offset of ds_swizzle_b32 encodes, with LLVM's names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Swizzle {
    /// Each lane of a quad reads one of its four lanes: two bits per lane.
    QuadPerm(u32),
    /// Blocks of this number of lanes, a power of two up to 16, are swapped with their neighbours.
    Swap(u32),
    /// The order of the lanes in each block of this number of lanes, a power of two up to 32, is reversed.
    Reverse(u32),
    /// All lanes of each block of the first number of lanes read the lane with the second number.
    Broadcast(u32, u32),
    /// For each bit of the lane's number, the highest first: `0`, `1`, `p` (preserved) or `i` (inverted).
    BitmaskPerm([u8; 5]),
}

impl Swizzle {
    /// The names of the patterns.
    pub const NAMES: [&str; 5] = ["QUAD_PERM", "SWAP", "REVERSE", "BROADCAST", "BITMASK_PERM"];

    /// The pattern of an offset. Returns `None` if LLVM has no name for it.
    pub fn of(offset: u32) -> Option<Swizzle> {
        if offset & 0x8000 != 0 {
            return (offset & 0xff00 == 0x8000).then_some(Swizzle::QuadPerm(offset & 0xff));
        }
        let (and, or, xor) = (offset & 31, offset >> 5 & 31, offset >> 10 & 31);
        if and == 31 && or == 0 && xor.is_power_of_two() {
            return Some(Swizzle::Swap(xor));
        }
        if and == 31 && or == 0 && xor > 0 && (xor + 1).is_power_of_two() {
            return Some(Swizzle::Reverse(xor + 1));
        }
        let size = 32 - and;
        if size > 1 && size.is_power_of_two() && or < size && xor == 0 {
            return Some(Swizzle::Broadcast(size, or));
        }
        let (low, high) = (or ^ xor, (and | or) ^ xor);
        let letter = |k: usize| match (low >> (4 - k) & 1, high >> (4 - k) & 1) {
            (0, 0) => b'0',
            (1, 1) => b'1',
            (0, _) => b'p',
            _ => b'i',
        };
        Some(Swizzle::BitmaskPerm(core::array::from_fn(letter)))
    }

    /// The pattern's name.
    pub fn name(self) -> &'static str {
        Swizzle::NAMES[match self {
            Swizzle::QuadPerm(_) => 0,
            Swizzle::Swap(_) => 1,
            Swizzle::Reverse(_) => 2,
            Swizzle::Broadcast(..) => 3,
            Swizzle::BitmaskPerm(_) => 4,
        }]
    }

    /// The offset that the assembler encodes for it.
    pub fn offset(self) -> u32 {
        match self {
            Swizzle::QuadPerm(lanes) => 0x8000 | lanes,
            Swizzle::Swap(n) => 31 | n << 10,
            Swizzle::Reverse(n) => 31 | (n - 1) << 10,
            Swizzle::Broadcast(size, lane) => (32 - size) | lane << 5,
            Swizzle::BitmaskPerm(letters) => {
                let mask = |of: &[u8]| {
                    letters
                        .iter()
                        .fold(0, |mask, l| mask << 1 | of.contains(l) as u32)
                };
                mask(b"pi") | mask(b"1") << 5 | mask(b"i") << 10
            }
        }
    }
}
