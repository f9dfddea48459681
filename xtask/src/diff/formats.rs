//! The instruction formats as bit fields, one row per encoding, from which the generator produces words.
//!
//! Bits are numbered from the low bit of the first dword; the second dword's are 32 to 63. In every row the encoding prefix, the
//! opcode field and the other fields together cover each bit exactly once (a test checks this).

/// A hardware generation: gfx6 to gfx9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    Gfx6,
    Gfx7,
    Gfx8,
    Gfx9,
}
use Generation::{Gfx6, Gfx7, Gfx8, Gfx9};

impl Generation {
    /// The generation of a target's name (`gfx600` … `gfx90c`).
    pub fn of_target(name: &str) -> Option<Generation> {
        let digits = name.strip_prefix("gfx")?;
        if digits.len() != 3 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        match digits.as_bytes()[0] {
            b'6' => Some(Gfx6),
            b'7' => Some(Gfx7),
            b'8' => Some(Gfx8),
            b'9' => Some(Gfx9),
            _ => None,
        }
    }

    /// Returns true if llvm-mc 14 can disassemble this generation; it only assembles gfx6 and gfx7.
    pub fn llvm_disassembles(self) -> bool {
        self >= Gfx8
    }
}

/// The kind of a field, which determines the values tried in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 8-bit scalar source: SGPRs, special registers, inline constants, 255 for a literal.
    Ssrc,
    /// 7-bit scalar destination.
    Sdst,
    /// 8-bit scalar destination of VOP3.
    SdstWide,
    /// 9-bit source: `Ssrc` below 256, VGPRs from 256 on.
    Src9,
    /// VGPR number.
    Vgpr,
    /// 7-bit scalar address of FLAT, 0x7f for none.
    Saddr,
    /// SGPRs counted in pairs or quads.
    SgprGroup,
    /// 16-bit immediate.
    Simm16,
    /// Any other immediate that instructions normally use.
    Imm,
    /// SDWA selector: 0 to 6, and 7 is reserved.
    Selector,
    /// A modifier that is normally zero: abs, neg, omod, clamp, op_sel, glc, ….
    Modifier,
    /// Bits that are reserved, or ignored by most instructions of the format.
    Hidden,
}
use Kind::{
    Hidden, Imm, Modifier, Saddr, Sdst, SdstWide, Selector, SgprGroup, Simm16, Src9, Ssrc, Vgpr,
};

/// One bit field.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name, for readers of the table and for messages of tests.
    #[allow(dead_code)]
    pub name: &'static str,
    pub low: u8,
    pub width: u8,
    pub kind: Kind,
}

impl Field {
    /// The field's largest value.
    pub fn max(&self) -> u64 {
        (1 << self.width) - 1
    }
}

/// One encoding of a format on some generations.
#[derive(Debug)]
pub struct Encoding {
    pub name: &'static str,
    pub generations: &'static [Generation],
    /// The bits that identify the encoding, and their values.
    pub mask: u64,
    pub bits: u64,
    /// The low bit and width of the opcode; the width is 0 if the format has one instruction.
    pub opcode: (u8, u8),
    /// The first and last opcode generated. Opcodes that are the prefix of another format are left out.
    pub opcodes: (u16, u16),
    /// The opcodes that are always followed by a literal dword.
    pub literal_opcodes: &'static [u16],
    /// The other fields, in groups that encodings share.
    pub fields: &'static [&'static [Field]],
}

/// A format as `--formats` names it.
#[derive(Debug)]
pub struct Format {
    pub name: &'static str,
    pub encodings: &'static [Encoding],
}

const ALL: &[Generation] = &[Gfx6, Gfx7, Gfx8, Gfx9];
const OLD: &[Generation] = &[Gfx6, Gfx7];
const NEW: &[Generation] = &[Gfx8, Gfx9];

const fn f(name: &'static str, low: u8, width: u8, kind: Kind) -> Field {
    Field {
        name,
        low,
        width,
        kind,
    }
}

const fn enc(
    name: &'static str,
    generations: &'static [Generation],
    mask: u64,
    bits: u64,
    opcode: (u8, u8),
    opcodes: (u16, u16),
    fields: &'static [&'static [Field]],
) -> Encoding {
    Encoding {
        name,
        generations,
        mask,
        bits,
        opcode,
        opcodes,
        literal_opcodes: &[],
        fields,
    }
}

impl Encoding {
    /// Dwords without a literal: 1 or 2.
    pub fn dwords(&self) -> usize {
        if self.fields().any(|field| field.low >= 32) {
            2
        } else {
            1
        }
    }

    pub fn fields(&self) -> impl Iterator<Item = &'static Field> {
        self.fields.iter().copied().flatten()
    }

    const fn literals(self, literal_opcodes: &'static [u16]) -> Encoding {
        Encoding {
            literal_opcodes,
            ..self
        }
    }
}

const VDST: &[Field] = &[f("vdst", 17, 8, Vgpr)];
const VSRC1: &[Field] = &[f("vsrc1", 9, 8, Vgpr)];
const SRC0: &[Field] = &[f("src0", 0, 9, Src9)];

// VOP3: a destination, the modifiers of the low dword, the sources, the modifiers of the high dword.
const VOP3_SDST: &[Field] = &[f("sdst", 0, 8, SdstWide)];
const VOP3_VDST: &[Field] = &[f("vdst", 0, 8, Vgpr)];
#[rustfmt::skip]
const VOP3_LOW_OLD: &[Field] = &[f("abs", 8, 3, Modifier), f("clamp", 11, 1, Modifier), f("reserved", 12, 5, Hidden)];
#[rustfmt::skip]
const VOP3_LOW_NEW: &[Field] = &[f("abs", 8, 3, Modifier), f("op_sel", 11, 4, Modifier), f("clamp", 15, 1, Modifier)];
const VOP3_TWO_SOURCES: &[Field] = &[
    f("src0", 32, 9, Src9),
    f("src1", 41, 9, Src9),
    f("src2", 50, 9, Hidden),
];
const VOP3_THREE_SOURCES: &[Field] = &[
    f("src0", 32, 9, Src9),
    f("src1", 41, 9, Src9),
    f("src2", 50, 9, Src9),
];
const VOP3_HIGH: &[Field] = &[f("omod", 59, 2, Modifier), f("neg", 61, 3, Modifier)];

const DPP: &[Field] = &[
    f("src0", 32, 8, Vgpr),
    f("dpp_ctrl", 40, 9, Imm),
    f("reserved", 49, 2, Hidden),
    f("bound_ctrl", 51, 1, Modifier),
    f("src0 neg, abs, src1 neg, abs", 52, 4, Modifier),
    f("bank_mask", 56, 4, Imm),
    f("row_mask", 60, 4, Imm),
];

// SDWA: the destination's part, the first source, the second source. The fields that gfx8's compares have in place of the first
// part, and VOP1 in place of the last, are hidden.
const SDWA_DST_GFX8: &[Field] = &[
    f("dst_sel", 40, 3, Selector),
    f("dst_unused", 43, 2, Imm),
    f("clamp", 45, 1, Modifier),
    f("reserved", 46, 2, Hidden),
];
const SDWA_DST_GFX9: &[Field] = &[
    f("dst_sel", 40, 3, Selector),
    f("dst_unused", 43, 2, Imm),
    f("clamp", 45, 1, Modifier),
    f("omod", 46, 2, Modifier),
];
const SDWA_NO_DST: &[Field] = &[
    f("dst_sel, dst_unused", 40, 5, Hidden),
    f("clamp", 45, 1, Modifier),
    f("reserved", 46, 2, Hidden),
];
const SDWA_SDST: &[Field] = &[f("sdst", 40, 7, Sdst), f("sd", 47, 1, Modifier)];
const SDWA_SRC0: &[Field] = &[
    f("src0", 32, 8, Vgpr),
    f("src0_sel", 48, 3, Selector),
    f("src0 sext, neg, abs", 51, 3, Modifier),
    f("reserved", 54, 1, Hidden),
    f("s0, reserved on gfx8", 55, 1, Modifier),
];
const SDWA_SRC1: &[Field] = &[
    f("src1_sel", 56, 3, Selector),
    f("src1 sext, neg, abs", 59, 3, Modifier),
    f("reserved", 62, 1, Hidden),
    f("s1, reserved on gfx8", 63, 1, Modifier),
];
const SDWA_NO_SRC1: &[Field] = &[f("src1", 56, 8, Hidden)];

/// Every format.
#[rustfmt::skip]
pub static FORMATS: &[Format] = &[
    Format { name: "SOP2", encodings: &[
        // Opcodes from 96 on are SOPK, SOP1, SOPC and SOPP.
        enc("SOP2", ALL, 0xc000_0000, 0x8000_0000, (23, 7), (0, 95), &[&[
            f("ssrc0", 0, 8, Ssrc), f("ssrc1", 8, 8, Ssrc), f("sdst", 16, 7, Sdst),
        ]]),
    ] },
    Format { name: "SOPC", encodings: &[
        enc("SOPC", ALL, 0xff80_0000, 0xbf00_0000, (16, 7), (0, 127), &[&[
            f("ssrc0", 0, 8, Ssrc), f("ssrc1", 8, 8, Ssrc),
        ]]),
    ] },
    Format { name: "SOPP", encodings: &[
        enc("SOPP", ALL, 0xff80_0000, 0xbf80_0000, (16, 7), (0, 127), &[&[f("simm16", 0, 16, Simm16)]]),
    ] },
    Format { name: "VOPC", encodings: &[
        enc("VOPC", ALL, 0xfe00_0000, 0x7c00_0000, (17, 8), (0, 255), &[&[
            f("src0", 0, 9, Src9), f("vsrc1", 9, 8, Vgpr),
        ]]),
        enc("VOPC as VOP3", OLD, 0xfc00_0000, 0xd000_0000, (17, 9), (0, 255), &[VOP3_SDST, VOP3_LOW_OLD, VOP3_TWO_SOURCES, VOP3_HIGH]),
        enc("VOPC as VOP3", NEW, 0xfc00_0000, 0xd000_0000, (16, 10), (0, 255), &[VOP3_SDST, VOP3_LOW_NEW, VOP3_TWO_SOURCES, VOP3_HIGH]),
    ] },
    Format { name: "VOPC_SDWA", encodings: &[
        enc("VOPC SDWA", &[Gfx8], 0xfe00_01ff, 0x7c00_00f9, (17, 8), (0, 255),
            &[VSRC1, SDWA_NO_DST, SDWA_SRC0, SDWA_SRC1]),
        enc("VOPC SDWA", &[Gfx9], 0xfe00_01ff, 0x7c00_00f9, (17, 8), (0, 255),
            &[VSRC1, SDWA_SDST, SDWA_SRC0, SDWA_SRC1]),
    ] },
    Format { name: "VOPC_DPP", encodings: &[
        enc("VOPC DPP", NEW, 0xfe00_01ff, 0x7c00_00fa, (17, 8), (0, 255), &[VSRC1, DPP]),
    ] },
    Format { name: "SOP1", encodings: &[
        enc("SOP1", ALL, 0xff80_0000, 0xbe80_0000, (8, 8), (0, 255), &[&[
            f("ssrc0", 0, 8, Ssrc), f("sdst", 16, 7, Sdst),
        ]]),
    ] },
    Format { name: "SOPK", encodings: &[
        // Opcodes 29, 30 and 31 are SOP1, SOPC and SOPP; s_setreg_imm32_b32 has a literal.
        enc("SOPK", OLD, 0xf000_0000, 0xb000_0000, (23, 5), (0, 28), &[SOPK]).literals(&[21]),
        enc("SOPK", NEW, 0xf000_0000, 0xb000_0000, (23, 5), (0, 28), &[SOPK]).literals(&[20]),
    ] },
    Format { name: "SMEM", encodings: &[
        enc("SMRD", OLD, 0xf800_0000, 0xc000_0000, (22, 5), (0, 31), &[&[
            f("offset", 0, 8, Ssrc), f("imm", 8, 1, Imm), f("sbase", 9, 6, SgprGroup), f("sdst", 15, 7, Sdst),
        ]]),
        enc("SMEM", &[Gfx8], 0xfc00_0000, 0xc000_0000, (18, 8), (0, 255), &[&[
            f("sbase", 0, 6, SgprGroup), f("sdata", 6, 7, Sdst), f("reserved", 13, 3, Hidden),
            f("glc", 16, 1, Modifier), f("imm", 17, 1, Imm), f("offset", 32, 20, Imm), f("reserved", 52, 12, Hidden),
        ]]),
        enc("SMEM", &[Gfx9], 0xfc00_0000, 0xc000_0000, (18, 8), (0, 255), &[&[
            f("sbase", 0, 6, SgprGroup), f("sdata", 6, 7, Sdst), f("reserved", 13, 1, Hidden),
            f("soffset_en", 14, 1, Hidden), f("nv", 15, 1, Hidden), f("glc", 16, 1, Modifier), f("imm", 17, 1, Imm),
            f("offset", 32, 21, Imm), f("reserved", 53, 4, Hidden), f("soffset", 57, 7, Hidden),
        ]]),
    ] },
    Format { name: "VOP1", encodings: &[
        enc("VOP1", ALL, 0xfe00_0000, 0x7e00_0000, (9, 8), (0, 255), &[SRC0, VDST]),
    ] },
    Format { name: "VOP1_SDWA", encodings: &[
        enc("VOP1 SDWA", &[Gfx8], 0xfe00_01ff, 0x7e00_00f9, (9, 8), (0, 255),
            &[VDST, SDWA_DST_GFX8, SDWA_SRC0, SDWA_NO_SRC1]),
        enc("VOP1 SDWA", &[Gfx9], 0xfe00_01ff, 0x7e00_00f9, (9, 8), (0, 255),
            &[VDST, SDWA_DST_GFX9, SDWA_SRC0, SDWA_NO_SRC1]),
    ] },
    Format { name: "VOP1_DPP", encodings: &[
        enc("VOP1 DPP", NEW, 0xfe00_01ff, 0x7e00_00fa, (9, 8), (0, 255), &[VDST, DPP]),
    ] },
    Format { name: "VOP2", encodings: &[
        // Opcodes 62 and 63 are VOPC and VOP1; madmk and madak have a literal.
        enc("VOP2", OLD, 0x8000_0000, 0, (25, 6), (0, 61), &[SRC0, VSRC1, VDST]).literals(&[32, 33]),
        enc("VOP2", NEW, 0x8000_0000, 0, (25, 6), (0, 61), &[SRC0, VSRC1, VDST]).literals(&[23, 24, 36, 37]),
    ] },
    Format { name: "VOP2_SDWA", encodings: &[
        enc("VOP2 SDWA", &[Gfx8], 0x8000_01ff, 0xf9, (25, 6), (0, 61),
            &[VSRC1, VDST, SDWA_DST_GFX8, SDWA_SRC0, SDWA_SRC1]),
        enc("VOP2 SDWA", &[Gfx9], 0x8000_01ff, 0xf9, (25, 6), (0, 61),
            &[VSRC1, VDST, SDWA_DST_GFX9, SDWA_SRC0, SDWA_SRC1]),
    ] },
    Format { name: "VOP2_DPP", encodings: &[
        enc("VOP2 DPP", NEW, 0x8000_01ff, 0xfa, (25, 6), (0, 61),
            &[VSRC1, VDST, DPP]),
    ] },
    Format { name: "VOP3", encodings: &[
        // Compares are VOPC's opcodes. On gfx8 and gfx9, opcodes from 896 on are VOP3P.
        enc("VOP3", OLD, 0xfc00_0000, 0xd000_0000, (17, 9), (256, 511), &[VOP3_VDST, VOP3_LOW_OLD, VOP3_THREE_SOURCES, VOP3_HIGH]),
        enc("VOP3", NEW, 0xfc00_0000, 0xd000_0000, (16, 10), (256, 895), &[VOP3_VDST, VOP3_LOW_NEW, VOP3_THREE_SOURCES, VOP3_HIGH]),
    ] },
    Format { name: "VOP3P", encodings: &[
        enc("VOP3P", &[Gfx9], 0xff80_0000, 0xd380_0000, (16, 7), (0, 127), &[&[
            f("vdst", 0, 8, Vgpr), f("neg_hi", 8, 3, Modifier), f("op_sel", 11, 3, Modifier),
            f("op_sel_hi 2", 14, 1, Imm), f("clamp", 15, 1, Modifier),
            f("src0", 32, 9, Src9), f("src1", 41, 9, Src9), f("src2", 50, 9, Src9),
            f("op_sel_hi", 59, 2, Imm), f("neg_lo", 61, 3, Modifier),
        ]]),
    ] },
    Format { name: "VINTRP", encodings: &[
        enc("VINTRP", OLD, 0xfc00_0000, 0xc800_0000, (16, 2), (0, 3), &[VINTRP]),
        enc("VINTRP", NEW, 0xfc00_0000, 0xd400_0000, (16, 2), (0, 3), &[VINTRP]),
    ] },
    Format { name: "DS", encodings: &[
        enc("DS", OLD, 0xfc00_0000, 0xd800_0000, (18, 8), (0, 255), &[&[
            f("offset0", 0, 8, Imm), f("offset1", 8, 8, Imm), f("reserved", 16, 1, Hidden), f("gds", 17, 1, Modifier),
            f("addr", 32, 8, Vgpr), f("data0", 40, 8, Vgpr), f("data1", 48, 8, Vgpr), f("vdst", 56, 8, Vgpr),
        ]]),
        enc("DS", NEW, 0xfc00_0000, 0xd800_0000, (17, 8), (0, 255), &[&[
            f("offset0", 0, 8, Imm), f("offset1", 8, 8, Imm), f("gds", 16, 1, Modifier), f("reserved", 25, 1, Hidden),
            f("addr", 32, 8, Vgpr), f("data0", 40, 8, Vgpr), f("data1", 48, 8, Vgpr), f("vdst", 56, 8, Vgpr),
        ]]),
    ] },
    Format { name: "FLAT", encodings: &[
        enc("FLAT", &[Gfx7, Gfx8], 0xfc00_0000, 0xdc00_0000, (18, 7), (0, 127), &[&[
            f("reserved", 0, 16, Hidden), f("glc, slc", 16, 2, Modifier), f("reserved", 25, 1, Hidden),
            f("addr", 32, 8, Vgpr), f("data", 40, 8, Vgpr), f("reserved", 48, 7, Hidden), f("tfe", 55, 1, Modifier),
            f("vdst", 56, 8, Vgpr),
        ]]),
        enc("FLAT", &[Gfx9], 0xfc00_c000, 0xdc00_0000, (18, 7), (0, 127), &[FLAT_GFX9, NO_SADDR]),
        // The fourth segment is reserved.
        enc("FLAT, segment 3", &[Gfx9], 0xfc00_c000, 0xdc00_c000, (18, 7), (0, 127), &[FLAT_GFX9, SADDR]),
    ] },
    Format { name: "GLOBAL", encodings: &[
        enc("GLOBAL", &[Gfx9], 0xfc00_c000, 0xdc00_8000, (18, 7), (0, 127), &[FLAT_GFX9, SADDR]),
    ] },
    Format { name: "SCRATCH", encodings: &[
        enc("SCRATCH", &[Gfx9], 0xfc00_c000, 0xdc00_4000, (18, 7), (0, 127), &[FLAT_GFX9, SADDR]),
    ] },
    Format { name: "MUBUF", encodings: &[
        enc("MUBUF", OLD, 0xfc00_0000, 0xe000_0000, (18, 7), (0, 127), &[&[
            f("offset", 0, 12, Imm), f("offen, idxen", 12, 2, Imm), f("glc", 14, 1, Modifier),
            f("addr64", 15, 1, Modifier), f("lds", 16, 1, Modifier), f("reserved", 17, 1, Hidden),
            f("reserved", 25, 1, Hidden),
            f("vaddr", 32, 8, Vgpr), f("vdata", 40, 8, Vgpr), f("srsrc", 48, 5, SgprGroup), f("reserved", 53, 1, Hidden),
            f("slc, tfe", 54, 2, Modifier), f("soffset", 56, 8, Ssrc),
        ]]),
        enc("MUBUF", NEW, 0xfc00_0000, 0xe000_0000, (18, 7), (0, 127), &[&[
            f("offset", 0, 12, Imm), f("offen, idxen", 12, 2, Imm), f("glc", 14, 1, Modifier),
            f("reserved", 15, 1, Hidden), f("lds, slc", 16, 2, Modifier), f("reserved", 25, 1, Hidden),
            f("vaddr", 32, 8, Vgpr), f("vdata", 40, 8, Vgpr), f("srsrc", 48, 5, SgprGroup), f("reserved", 53, 2, Hidden),
            f("tfe", 55, 1, Modifier), f("soffset", 56, 8, Ssrc),
        ]]),
    ] },
    Format { name: "MTBUF", encodings: &[
        enc("MTBUF", OLD, 0xfc00_0000, 0xe800_0000, (16, 3), (0, 7), &[&[
            f("offset", 0, 12, Imm), f("offen, idxen", 12, 2, Imm), f("glc", 14, 1, Modifier),
            f("addr64", 15, 1, Modifier), f("dfmt", 19, 4, Imm), f("nfmt", 23, 3, Imm),
            f("vaddr", 32, 8, Vgpr), f("vdata", 40, 8, Vgpr), f("srsrc", 48, 5, SgprGroup), f("reserved", 53, 1, Hidden),
            f("slc, tfe", 54, 2, Modifier), f("soffset", 56, 8, Ssrc),
        ]]),
        enc("MTBUF", NEW, 0xfc00_0000, 0xe800_0000, (15, 4), (0, 15), &[&[
            f("offset", 0, 12, Imm), f("offen, idxen", 12, 2, Imm), f("glc", 14, 1, Modifier),
            f("dfmt", 19, 4, Imm), f("nfmt", 23, 3, Imm),
            f("vaddr", 32, 8, Vgpr), f("vdata", 40, 8, Vgpr), f("srsrc", 48, 5, SgprGroup), f("reserved", 53, 1, Hidden),
            f("slc, tfe", 54, 2, Modifier), f("soffset", 56, 8, Ssrc),
        ]]),
    ] },
    Format { name: "MIMG", encodings: &[
        enc("MIMG", ALL, 0xfc00_0000, 0xf000_0000, (18, 7), (0, 127), &[&[
            f("reserved", 0, 8, Hidden), f("dmask", 8, 4, Imm), f("unorm", 12, 1, Modifier), f("glc", 13, 1, Modifier),
            f("da", 14, 1, Modifier), f("r128 or a16", 15, 1, Modifier), f("tfe, lwe", 16, 2, Modifier),
            f("slc", 25, 1, Modifier),
            f("vaddr", 32, 8, Vgpr), f("vdata", 40, 8, Vgpr), f("srsrc", 48, 5, SgprGroup), f("ssamp", 53, 5, SgprGroup),
            f("reserved", 58, 5, Hidden), f("d16", 63, 1, Modifier),
        ]]),
    ] },
    Format { name: "EXP", encodings: &[
        enc("EXP", OLD, 0xfc00_0000, 0xf800_0000, (0, 0), (0, 0), &[EXP_ENABLE, EXP_TARGET, EXP_SOURCES]),
        enc("EXP", NEW, 0xfc00_0000, 0xc400_0000, (0, 0), (0, 0), &[EXP_ENABLE, EXP_TARGET, EXP_SOURCES]),
        // Every component is enabled, because LLVM prints no registers of disabled ones.
        enc("EXP of four", OLD, 0xfc00_000f, 0xf800_000f, (0, 0), (0, 0), &[EXP_TARGET, EXP_SOURCES]),
        enc("EXP of four", NEW, 0xfc00_000f, 0xc400_000f, (0, 0), (0, 0), &[EXP_TARGET, EXP_SOURCES]),
    ] },
];

const SOPK: &[Field] = &[f("simm16", 0, 16, Simm16), f("sdst", 16, 7, Sdst)];
const VINTRP: &[Field] = &[
    f("vsrc", 0, 8, Vgpr),
    f("attrchan", 8, 2, Imm),
    f("attr", 10, 6, Imm),
    f("vdst", 18, 8, Vgpr),
];
const EXP_ENABLE: &[Field] = &[f("en", 0, 4, Imm)];
const EXP_TARGET: &[Field] = &[
    f("tgt", 4, 6, Imm),
    f("compr", 10, 1, Modifier),
    f("done, vm", 11, 2, Modifier),
    f("reserved", 13, 13, Hidden),
];
const EXP_SOURCES: &[Field] = &[
    f("vsrc0", 32, 8, Vgpr),
    f("vsrc1", 40, 8, Vgpr),
    f("vsrc2", 48, 8, Vgpr),
    f("vsrc3", 56, 8, Vgpr),
];
const SADDR: &[Field] = &[f("saddr", 48, 7, Saddr)];
const NO_SADDR: &[Field] = &[f("reserved", 48, 7, Hidden)];
const FLAT_GFX9: &[Field] = &[
    f("offset", 0, 13, Imm),
    f("lds", 13, 1, Modifier),
    f("glc, slc", 16, 2, Modifier),
    f("reserved", 25, 1, Hidden),
    f("addr", 32, 8, Vgpr),
    f("data", 40, 8, Vgpr),
    f("nv", 55, 1, Hidden),
    f("vdst", 56, 8, Vgpr),
];

/// Returns the format of a name in upper or lower case.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS
        .iter()
        .find(|format| format.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_covers_each_bit_once() {
        for encoding in FORMATS.iter().flat_map(|format| format.encodings) {
            let mut seen = encoding.mask;
            let opcode = Field {
                name: "opcode",
                low: encoding.opcode.0,
                width: encoding.opcode.1,
                kind: Imm,
            };
            for field in std::iter::once(opcode).chain(encoding.fields().copied()) {
                let bits = field.max() << field.low;
                assert_eq!(
                    seen & bits,
                    0,
                    "{} {:?}: {} overlaps",
                    encoding.name,
                    encoding.generations,
                    field.name
                );
                seen |= bits;
            }
            let all = if encoding.dwords() == 2 {
                u64::MAX
            } else {
                0xffff_ffff
            };
            assert_eq!(
                seen, all,
                "{} {:?}: bits left over",
                encoding.name, encoding.generations
            );
            assert_eq!(encoding.bits & !encoding.mask, 0, "{}", encoding.name);
            assert!(
                u64::from(encoding.opcodes.1) <= opcode.max(),
                "{}",
                encoding.name
            );
        }
    }

    #[test]
    fn source_fields_have_the_width_of_their_codes() {
        for field in FORMATS
            .iter()
            .flat_map(|format| format.encodings)
            .flat_map(Encoding::fields)
        {
            let width = match field.kind {
                Ssrc | Vgpr | SdstWide => 8,
                Sdst | Saddr => 7,
                Src9 => 9,
                Simm16 => 16,
                SgprGroup | Imm | Selector | Modifier | Hidden => continue,
            };
            assert_eq!(field.width, width, "{}", field.name);
        }
    }

    #[test]
    fn targets_name_their_generation() {
        assert_eq!(Generation::of_target("gfx600"), Some(Gfx6));
        assert_eq!(Generation::of_target("gfx90c"), Some(Gfx9));
        assert_eq!(Generation::of_target("gfx1010"), None);
        assert_eq!(Generation::of_target("900"), None);
        assert_eq!(Generation::of_target("gfx9é"), None);
    }
}
