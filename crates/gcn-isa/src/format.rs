//! Bit layouts: the position of each field of each encoding, as in the manuals' diagrams.
//!
//! A [`Format`] classifies a row; an [`Encoding`] is one layout of its bits. VOP1, VOP2 and VOPC rows have several encodings
//! (their own 32 bits, VOP3, SDWA, DPP): these promotions are rules of this module and of [`crate::shape`], not rows.

use crate::target::Gen;

/// The format an instruction's row belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Format {
    Sop1,
    Sop2,
    Sopc,
    Sopk,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vopc,
    Vop3,
    Vop3p,
    Vintrp,
    Ds,
    Mubuf,
    Mtbuf,
    Mimg,
    Flat,
    Global,
    Scratch,
    Exp,
}

/// The number of formats.
pub const FORMATS: usize = Format::Exp as usize + 1;

impl Format {
    /// Every format, in the manuals' order.
    pub const ALL: [Format; FORMATS] = {
        use Format::*;
        [
            Sop1, Sop2, Sopc, Sopk, Sopp, Smem, Vop1, Vop2, Vopc, Vop3, Vop3p, Vintrp, Ds, Mubuf,
            Mtbuf, Mimg, Flat, Global, Scratch, Exp,
        ]
    };

    /// The manuals' name: `SOP1` … `EXP`.
    pub const fn name(self) -> &'static str {
        const NAMES: [&str; FORMATS] = [
            "SOP1", "SOP2", "SOPC", "SOPK", "SOPP", "SMEM", "VOP1", "VOP2", "VOPC", "VOP3",
            "VOP3P", "VINTRP", "DS", "MUBUF", "MTBUF", "MIMG", "FLAT", "GLOBAL", "SCRATCH", "EXP",
        ];
        NAMES[self as usize]
    }

    /// Finds a format by name; also accepts `SMRD`, `VOP3A` and `VOP3B`, names that later manuals merged.
    pub fn parse(text: &str) -> Option<Format> {
        if text.eq_ignore_ascii_case("SMRD") {
            return Some(Format::Smem);
        }
        if text.eq_ignore_ascii_case("VOP3A") || text.eq_ignore_ascii_case("VOP3B") {
            return Some(Format::Vop3);
        }
        Format::ALL
            .into_iter()
            .find(|f| f.name().eq_ignore_ascii_case(text))
    }

    /// Width of the opcode field in bits, wide enough for every generation.
    pub const fn opcode_bits(self) -> u32 {
        match self {
            Format::Sop1 | Format::Smem | Format::Vop1 | Format::Vopc | Format::Ds => 8,
            Format::Mimg => 8,
            Format::Sop2 | Format::Sopc | Format::Sopp | Format::Vop3p => 7,
            Format::Mubuf | Format::Flat | Format::Global | Format::Scratch => 7,
            Format::Sopk => 5,
            Format::Vop2 => 6,
            Format::Vop3 => 10,
            Format::Vintrp => 2,
            Format::Mtbuf => 4,
            Format::Exp => 0,
        }
    }

    /// Returns true if VSKIP skips it: every format that is not scalar.
    pub const fn is_vector(self) -> bool {
        !matches!(
            self,
            Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp | Format::Smem
        )
    }

    /// Returns true if the vector ALU executes it; then it may be promoted, have modifiers and
    /// use indexed VGPRs.
    pub const fn is_valu(self) -> bool {
        matches!(
            self,
            Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vop3p
        )
    }

    /// The encoding of a row of this format without promotion.
    pub const fn encoding(self) -> Encoding {
        match self {
            Format::Sop1 => Encoding::Sop1,
            Format::Sop2 => Encoding::Sop2,
            Format::Sopc => Encoding::Sopc,
            Format::Sopk => Encoding::Sopk,
            Format::Sopp => Encoding::Sopp,
            Format::Smem => Encoding::Smem,
            Format::Vop1 => Encoding::Vop1,
            Format::Vop2 => Encoding::Vop2,
            Format::Vopc => Encoding::Vopc,
            Format::Vop3 => Encoding::Vop3,
            Format::Vop3p => Encoding::Vop3p,
            Format::Vintrp => Encoding::Vintrp,
            Format::Ds => Encoding::Ds,
            Format::Mubuf => Encoding::Mubuf,
            Format::Mtbuf => Encoding::Mtbuf,
            Format::Mimg => Encoding::Mimg,
            Format::Flat | Format::Global | Format::Scratch => Encoding::Flat,
            Format::Exp => Encoding::Exp,
        }
    }

    /// The number added to a row's opcode in the VOP3 encoding. Returns `None` if the format does not have that encoding.
    pub const fn vop3_offset(self, generation: Gen) -> Option<u16> {
        match self {
            Format::Vopc | Format::Vop3 => Some(0),
            Format::Vop2 => Some(256),
            Format::Vop1 if (generation as u8) < Gen::Gfx8 as u8 => Some(384),
            Format::Vop1 => Some(320),
            Format::Vintrp if generation as u8 >= Gen::Gfx8 as u8 => Some(624),
            _ => None,
        }
    }
}

/// One layout of bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Encoding {
    Sop1,
    Sop2,
    Sopc,
    Sopk,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vopc,
    /// VOP3 with abs and neg.
    Vop3,
    /// VOP3 with a second, scalar destination in place of abs.
    Vop3b,
    Vop3p,
    /// SDWA of a VOP1, VOP2 or VOPC instruction.
    Sdwa1,
    Sdwa2,
    SdwaC,
    /// DPP of a VOP1, VOP2 or VOPC instruction.
    Dpp1,
    Dpp2,
    DppC,
    Vintrp,
    Ds,
    Mubuf,
    Mtbuf,
    Mimg,
    Flat,
    Exp,
}

pub(crate) const ENCODINGS: usize = Encoding::Exp as usize + 1;

/// A named group of bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Field {
    Op,
    /// MIMG's opcode, bit 7: docs/errata.md, mimg-g16.
    Opm,
    Sdst,
    Ssrc0,
    Ssrc1,
    Simm16,
    Vdst,
    Src0,
    Src1,
    Src2,
    Abs,
    Neg,
    Omod,
    Clamp,
    OpSel,
    OpSelHi,
    OpSelHi2,
    NegHi,
    Sbase,
    Offset,
    Soffset,
    SoffsetEn,
    Imm,
    Glc,
    Slc,
    Nv,
    Addr,
    Data0,
    Data1,
    Offset0,
    Offset1,
    Gds,
    Vaddr,
    Vdata,
    Srsrc,
    Ssamp,
    Offen,
    Idxen,
    Addr64,
    Lds,
    Tfe,
    Dfmt,
    Nfmt,
    Dmask,
    Unorm,
    Da,
    R128,
    Lwe,
    D16,
    Saddr,
    Seg,
    DppCtrl,
    BoundCtrl,
    BankMask,
    RowMask,
    DstSel,
    DstUnused,
    Src0Sel,
    Src0Sext,
    Src0Neg,
    Src0Abs,
    Src1Sel,
    Src1Sext,
    Src1Neg,
    Src1Abs,
    /// SDWA on gfx9: SRC0 is an SGPR.
    S0,
    /// SDWA on gfx9: SRC1 is an SGPR.
    S1,
    /// SDWA compares on gfx9: SDST is used instead of VCC.
    Sd,
    Attr,
    AttrChan,
    En,
    Tgt,
    Compr,
    Done,
    Vm,
    Vsrc0,
    Vsrc1,
    Vsrc2,
    Vsrc3,
}

const FIELDS: usize = Field::Vsrc3 as usize + 1;

/// The position of a field: its lowest bit and its length in the 64-bit little-endian encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    /// Lowest bit.
    pub lo: u8,
    /// Length in bits; 0 if the encoding does not have the field.
    pub len: u8,
}

impl Bits {
    /// The field's value in `bits`.
    #[inline]
    pub const fn get(self, bits: u64) -> u32 {
        ((bits >> self.lo) & ((1u64 << self.len) - 1)) as u32
    }

    /// `bits` with the field replaced by the low bits of `value`.
    #[inline]
    pub const fn set(self, bits: u64, value: u32) -> u64 {
        let mask = ((1u64 << self.len) - 1) << self.lo;
        (bits & !mask) | (((value as u64) << self.lo) & mask)
    }
}

/// The layout of one encoding in one generation.
pub struct Layout {
    /// 4 or 8 bytes, without a literal.
    pub bytes: u8,
    /// The bits that name the encoding, and their value.
    pub mask: u64,
    /// See `mask`.
    pub fixed: u64,
    /// The fields with their bits, in the order of the diagram.
    pub fields: &'static [(Field, u8, u8)],
    /// The bits that name the instruction: the encoding's, the opcode's and FLAT's segment.
    pub(crate) name: u64,
    at: [Bits; FIELDS],
}

impl Layout {
    /// The position of `field`; its length is 0 if the encoding does not have it.
    #[inline]
    pub const fn field(&self, field: Field) -> Bits {
        self.at[field as usize]
    }
}

const fn layout(
    bytes: u8,
    lo: u8,
    len: u8,
    value: u64,
    fields: &'static [(Field, u8, u8)],
) -> Layout {
    let mut at = [Bits { lo: 0, len: 0 }; FIELDS];
    let mask = ((1u64 << len) - 1) << lo;
    let mut name = mask;
    let mut i = 0;
    while i < fields.len() {
        let (field, lo, len) = fields[i];
        at[field as usize] = Bits { lo, len };
        if matches!(field, Op | Seg) {
            name |= ((1u64 << len) - 1) << lo;
        }
        i += 1;
    }
    Layout {
        bytes,
        mask,
        fixed: value << lo,
        fields,
        name,
        at,
    }
}

use Field::*;

// The first words that SDWA and DPP share with the 32-bit encodings have a fixed 249 or 250 in
// SRC0; the real SRC0 is in the second word.
#[rustfmt::skip]
static OLD: [Layout; ENCODINGS] = [
    layout(4, 23, 9, 0b1_0111_1101, &[(Ssrc0, 0, 8), (Op, 8, 8), (Sdst, 16, 7)]),
    layout(4, 30, 2, 0b10, &[(Ssrc0, 0, 8), (Ssrc1, 8, 8), (Sdst, 16, 7), (Op, 23, 7)]),
    layout(4, 23, 9, 0b1_0111_1110, &[(Ssrc0, 0, 8), (Ssrc1, 8, 8), (Op, 16, 7)]),
    layout(4, 28, 4, 0b1011, &[(Simm16, 0, 16), (Sdst, 16, 7), (Op, 23, 5)]),
    layout(4, 23, 9, 0b1_0111_1111, &[(Simm16, 0, 16), (Op, 16, 7)]),
    layout(4, 27, 5, 0b11000, &[(Offset, 0, 8), (Imm, 8, 1), (Sbase, 9, 6), (Sdst, 15, 7), (Op, 22, 5)]),
    layout(4, 25, 7, 0b011_1111, &[(Src0, 0, 9), (Op, 9, 8), (Vdst, 17, 8)]),
    layout(4, 31, 1, 0, &[(Src0, 0, 9), (Src1, 9, 8), (Vdst, 17, 8), (Op, 25, 6)]),
    layout(4, 25, 7, 0b011_1110, &[(Src0, 0, 9), (Src1, 9, 8), (Op, 17, 8)]),
    layout(8, 26, 6, 0b11_0100, &[(Vdst, 0, 8), (Abs, 8, 3), (Clamp, 11, 1), (Op, 17, 9), (Src0, 32, 9), (Src1, 41, 9), (Src2, 50, 9), (Omod, 59, 2), (Neg, 61, 3)]),
    layout(8, 26, 6, 0b11_0100, &[(Vdst, 0, 8), (Sdst, 8, 7), (Op, 17, 9), (Src0, 32, 9), (Src1, 41, 9), (Src2, 50, 9), (Omod, 59, 2), (Neg, 61, 3)]),
    NONE, NONE, NONE, NONE, NONE, NONE, NONE,
    layout(4, 26, 6, 0b11_0010, &[(Vsrc0, 0, 8), (AttrChan, 8, 2), (Attr, 10, 6), (Op, 16, 2), (Vdst, 18, 8)]),
    layout(8, 26, 6, 0b11_0110, &[(Offset0, 0, 8), (Offset1, 8, 8), (Gds, 17, 1), (Op, 18, 8), (Addr, 32, 8), (Data0, 40, 8), (Data1, 48, 8), (Vdst, 56, 8)]),
    layout(8, 26, 6, 0b11_1000, &[(Offset, 0, 12), (Offen, 12, 1), (Idxen, 13, 1), (Glc, 14, 1), (Addr64, 15, 1), (Lds, 16, 1), (Op, 18, 7), (Vaddr, 32, 8), (Vdata, 40, 8), (Srsrc, 48, 5), (Slc, 54, 1), (Tfe, 55, 1), (Soffset, 56, 8)]),
    layout(8, 26, 6, 0b11_1010, &[(Offset, 0, 12), (Offen, 12, 1), (Idxen, 13, 1), (Glc, 14, 1), (Addr64, 15, 1), (Op, 16, 3), (Dfmt, 19, 4), (Nfmt, 23, 3), (Vaddr, 32, 8), (Vdata, 40, 8), (Srsrc, 48, 5), (Slc, 54, 1), (Tfe, 55, 1), (Soffset, 56, 8)]),
    layout(8, 26, 6, 0b11_1100, &[(Opm, 0, 1), (Dmask, 8, 4), (Unorm, 12, 1), (Glc, 13, 1), (Da, 14, 1), (R128, 15, 1), (Tfe, 16, 1), (Lwe, 17, 1), (Op, 18, 7), (Slc, 25, 1), (Vaddr, 32, 8), (Vdata, 40, 8), (Srsrc, 48, 5), (Ssamp, 53, 5)]),
    layout(8, 26, 6, 0b11_0111, &[(Glc, 16, 1), (Slc, 17, 1), (Op, 18, 7), (Addr, 32, 8), (Data0, 40, 8), (Tfe, 55, 1), (Vdst, 56, 8)]),
    layout(8, 26, 6, 0b11_1110, &[(En, 0, 4), (Tgt, 4, 6), (Compr, 10, 1), (Done, 11, 1), (Vm, 12, 1), (Vsrc0, 32, 8), (Vsrc1, 40, 8), (Vsrc2, 48, 8), (Vsrc3, 56, 8)]),
];

/// SDWA and DPP: a 32-bit encoding whose SRC0 field holds `marker`, and a second word.
const fn promoted(
    lo: u8,
    len: u8,
    value: u64,
    marker: u64,
    fields: &'static [(Field, u8, u8)],
) -> Layout {
    let mut l = layout(8, lo, len, value, fields);
    l.mask |= 0x1ff;
    l.name |= 0x1ff;
    l.fixed |= marker;
    l
}

const NONE: Layout = layout(0, 0, 0, 0, &[]);

#[rustfmt::skip]
static GFX8: [Layout; ENCODINGS] = [
    layout(4, 23, 9, 0b1_0111_1101, &[(Ssrc0, 0, 8), (Op, 8, 8), (Sdst, 16, 7)]),
    layout(4, 30, 2, 0b10, &[(Ssrc0, 0, 8), (Ssrc1, 8, 8), (Sdst, 16, 7), (Op, 23, 7)]),
    layout(4, 23, 9, 0b1_0111_1110, &[(Ssrc0, 0, 8), (Ssrc1, 8, 8), (Op, 16, 7)]),
    layout(4, 28, 4, 0b1011, &[(Simm16, 0, 16), (Sdst, 16, 7), (Op, 23, 5)]),
    layout(4, 23, 9, 0b1_0111_1111, &[(Simm16, 0, 16), (Op, 16, 7)]),
    layout(8, 26, 6, 0b11_0000, &[(Sbase, 0, 6), (Sdst, 6, 7), (Glc, 16, 1), (Imm, 17, 1), (Op, 18, 8), (Offset, 32, 20)]),
    layout(4, 25, 7, 0b011_1111, &[(Src0, 0, 9), (Op, 9, 8), (Vdst, 17, 8)]),
    layout(4, 31, 1, 0, &[(Src0, 0, 9), (Src1, 9, 8), (Vdst, 17, 8), (Op, 25, 6)]),
    layout(4, 25, 7, 0b011_1110, &[(Src0, 0, 9), (Src1, 9, 8), (Op, 17, 8)]),
    layout(8, 26, 6, 0b11_0100, &[(Vdst, 0, 8), (Abs, 8, 3), (OpSel, 11, 4), (Clamp, 15, 1), (Op, 16, 10), (Src0, 32, 9), (Src1, 41, 9), (Src2, 50, 9), (Omod, 59, 2), (Neg, 61, 3)]),
    layout(8, 26, 6, 0b11_0100, &[(Vdst, 0, 8), (Sdst, 8, 7), (Clamp, 15, 1), (Op, 16, 10), (Src0, 32, 9), (Src1, 41, 9), (Src2, 50, 9), (Omod, 59, 2), (Neg, 61, 3)]),
    NONE,
    promoted(25, 7, 0b111111, 249, &[(Op, 9, 8), (Vdst, 17, 8), (Src0, 32, 8), (DstSel, 40, 3), (DstUnused, 43, 2), (Clamp, 45, 1), (Src0Sel, 48, 3), (Src0Sext, 51, 1), (Src0Neg, 52, 1), (Src0Abs, 53, 1), (Src1Sel, 56, 3), (Src1Sext, 59, 1), (Src1Neg, 60, 1), (Src1Abs, 61, 1)]),
    promoted(31, 1, 0b0, 249, &[(Src1, 9, 8), (Vdst, 17, 8), (Op, 25, 6), (Src0, 32, 8), (DstSel, 40, 3), (DstUnused, 43, 2), (Clamp, 45, 1), (Src0Sel, 48, 3), (Src0Sext, 51, 1), (Src0Neg, 52, 1), (Src0Abs, 53, 1), (Src1Sel, 56, 3), (Src1Sext, 59, 1), (Src1Neg, 60, 1), (Src1Abs, 61, 1)]),
    promoted(25, 7, 0b111110, 249, &[(Src1, 9, 8), (Op, 17, 8), (Src0, 32, 8), (DstSel, 40, 3), (DstUnused, 43, 2), (Clamp, 45, 1), (Src0Sel, 48, 3), (Src0Sext, 51, 1), (Src0Neg, 52, 1), (Src0Abs, 53, 1), (Src1Sel, 56, 3), (Src1Sext, 59, 1), (Src1Neg, 60, 1), (Src1Abs, 61, 1)]),
    promoted(25, 7, 0b111111, 250, &[(Op, 9, 8), (Vdst, 17, 8), (Src0, 32, 8), (DppCtrl, 40, 9), (BoundCtrl, 51, 1), (Src0Neg, 52, 1), (Src0Abs, 53, 1), (Src1Neg, 54, 1), (Src1Abs, 55, 1), (BankMask, 56, 4), (RowMask, 60, 4)]),
    promoted(31, 1, 0b0, 250, &[(Src1, 9, 8), (Vdst, 17, 8), (Op, 25, 6), (Src0, 32, 8), (DppCtrl, 40, 9), (BoundCtrl, 51, 1), (Src0Neg, 52, 1), (Src0Abs, 53, 1), (Src1Neg, 54, 1), (Src1Abs, 55, 1), (BankMask, 56, 4), (RowMask, 60, 4)]),
    promoted(25, 7, 0b111110, 250, &[(Src1, 9, 8), (Op, 17, 8), (Src0, 32, 8), (DppCtrl, 40, 9), (BoundCtrl, 51, 1), (Src0Neg, 52, 1), (Src0Abs, 53, 1), (Src1Neg, 54, 1), (Src1Abs, 55, 1), (BankMask, 56, 4), (RowMask, 60, 4)]),
    layout(4, 26, 6, 0b11_0101, &[(Vsrc0, 0, 8), (AttrChan, 8, 2), (Attr, 10, 6), (Op, 16, 2), (Vdst, 18, 8)]),
    layout(8, 26, 6, 0b11_0110, &[(Offset0, 0, 8), (Offset1, 8, 8), (Gds, 16, 1), (Op, 17, 8), (Addr, 32, 8), (Data0, 40, 8), (Data1, 48, 8), (Vdst, 56, 8)]),
    layout(8, 26, 6, 0b11_1000, &[(Offset, 0, 12), (Offen, 12, 1), (Idxen, 13, 1), (Glc, 14, 1), (Lds, 16, 1), (Slc, 17, 1), (Op, 18, 7), (Vaddr, 32, 8), (Vdata, 40, 8), (Srsrc, 48, 5), (Tfe, 55, 1), (Soffset, 56, 8)]),
    layout(8, 26, 6, 0b11_1010, &[(Offset, 0, 12), (Offen, 12, 1), (Idxen, 13, 1), (Glc, 14, 1), (Op, 15, 4), (Dfmt, 19, 4), (Nfmt, 23, 3), (Vaddr, 32, 8), (Vdata, 40, 8), (Srsrc, 48, 5), (Slc, 54, 1), (Tfe, 55, 1), (Soffset, 56, 8)]),
    layout(8, 26, 6, 0b11_1100, &[(Opm, 0, 1), (Dmask, 8, 4), (Unorm, 12, 1), (Glc, 13, 1), (Da, 14, 1), (R128, 15, 1), (Tfe, 16, 1), (Lwe, 17, 1), (Op, 18, 7), (Slc, 25, 1), (Vaddr, 32, 8), (Vdata, 40, 8), (Srsrc, 48, 5), (Ssamp, 53, 5), (D16, 63, 1)]),
    layout(8, 26, 6, 0b11_0111, &[(Glc, 16, 1), (Slc, 17, 1), (Op, 18, 7), (Addr, 32, 8), (Data0, 40, 8), (Tfe, 55, 1), (Vdst, 56, 8)]),
    layout(8, 26, 6, 0b11_0001, &[(En, 0, 4), (Tgt, 4, 6), (Compr, 10, 1), (Done, 11, 1), (Vm, 12, 1), (Vsrc0, 32, 8), (Vsrc1, 40, 8), (Vsrc2, 48, 8), (Vsrc3, 56, 8)]),
];

#[rustfmt::skip]
static GFX9: [Layout; ENCODINGS] = [
    layout(4, 23, 9, 0b1_0111_1101, &[(Ssrc0, 0, 8), (Op, 8, 8), (Sdst, 16, 7)]),
    layout(4, 30, 2, 0b10, &[(Ssrc0, 0, 8), (Ssrc1, 8, 8), (Sdst, 16, 7), (Op, 23, 7)]),
    layout(4, 23, 9, 0b1_0111_1110, &[(Ssrc0, 0, 8), (Ssrc1, 8, 8), (Op, 16, 7)]),
    layout(4, 28, 4, 0b1011, &[(Simm16, 0, 16), (Sdst, 16, 7), (Op, 23, 5)]),
    layout(4, 23, 9, 0b1_0111_1111, &[(Simm16, 0, 16), (Op, 16, 7)]),
    layout(8, 26, 6, 0b11_0000, &[(Sbase, 0, 6), (Sdst, 6, 7), (SoffsetEn, 14, 1), (Nv, 15, 1), (Glc, 16, 1), (Imm, 17, 1), (Op, 18, 8), (Offset, 32, 21), (Soffset, 57, 7)]),
    layout(4, 25, 7, 0b011_1111, &[(Src0, 0, 9), (Op, 9, 8), (Vdst, 17, 8)]),
    layout(4, 31, 1, 0, &[(Src0, 0, 9), (Src1, 9, 8), (Vdst, 17, 8), (Op, 25, 6)]),
    layout(4, 25, 7, 0b011_1110, &[(Src0, 0, 9), (Src1, 9, 8), (Op, 17, 8)]),
    layout(8, 26, 6, 0b11_0100, &[(Vdst, 0, 8), (Abs, 8, 3), (OpSel, 11, 4), (Clamp, 15, 1), (Op, 16, 10), (Src0, 32, 9), (Src1, 41, 9), (Src2, 50, 9), (Omod, 59, 2), (Neg, 61, 3)]),
    layout(8, 26, 6, 0b11_0100, &[(Vdst, 0, 8), (Sdst, 8, 7), (Clamp, 15, 1), (Op, 16, 10), (Src0, 32, 9), (Src1, 41, 9), (Src2, 50, 9), (Omod, 59, 2), (Neg, 61, 3)]),
    layout(8, 23, 9, 0b1_1010_0111, &[(Vdst, 0, 8), (NegHi, 8, 3), (OpSel, 11, 3), (OpSelHi2, 14, 1), (Clamp, 15, 1), (Op, 16, 7), (Src0, 32, 9), (Src1, 41, 9), (Src2, 50, 9), (OpSelHi, 59, 2), (Neg, 61, 3)]),
    promoted(25, 7, 0b111111, 249, &[(Op, 9, 8), (Vdst, 17, 8), (Src0, 32, 8), (DstSel, 40, 3), (DstUnused, 43, 2), (Clamp, 45, 1), (Omod, 46, 2), (Src0Sel, 48, 3), (Src0Sext, 51, 1), (Src0Neg, 52, 1), (Src0Abs, 53, 1), (S0, 55, 1), (Src1Sel, 56, 3), (Src1Sext, 59, 1), (Src1Neg, 60, 1), (Src1Abs, 61, 1), (S1, 63, 1)]),
    promoted(31, 1, 0b0, 249, &[(Src1, 9, 8), (Vdst, 17, 8), (Op, 25, 6), (Src0, 32, 8), (DstSel, 40, 3), (DstUnused, 43, 2), (Clamp, 45, 1), (Omod, 46, 2), (Src0Sel, 48, 3), (Src0Sext, 51, 1), (Src0Neg, 52, 1), (Src0Abs, 53, 1), (S0, 55, 1), (Src1Sel, 56, 3), (Src1Sext, 59, 1), (Src1Neg, 60, 1), (Src1Abs, 61, 1), (S1, 63, 1)]),
    promoted(25, 7, 0b111110, 249, &[(Src1, 9, 8), (Op, 17, 8), (Src0, 32, 8), (Sdst, 40, 7), (Sd, 47, 1), (Src0Sel, 48, 3), (Src0Sext, 51, 1), (Src0Neg, 52, 1), (Src0Abs, 53, 1), (S0, 55, 1), (Src1Sel, 56, 3), (Src1Sext, 59, 1), (Src1Neg, 60, 1), (Src1Abs, 61, 1), (S1, 63, 1)]),
    promoted(25, 7, 0b111111, 250, &[(Op, 9, 8), (Vdst, 17, 8), (Src0, 32, 8), (DppCtrl, 40, 9), (BoundCtrl, 51, 1), (Src0Neg, 52, 1), (Src0Abs, 53, 1), (Src1Neg, 54, 1), (Src1Abs, 55, 1), (BankMask, 56, 4), (RowMask, 60, 4)]),
    promoted(31, 1, 0b0, 250, &[(Src1, 9, 8), (Vdst, 17, 8), (Op, 25, 6), (Src0, 32, 8), (DppCtrl, 40, 9), (BoundCtrl, 51, 1), (Src0Neg, 52, 1), (Src0Abs, 53, 1), (Src1Neg, 54, 1), (Src1Abs, 55, 1), (BankMask, 56, 4), (RowMask, 60, 4)]),
    promoted(25, 7, 0b111110, 250, &[(Src1, 9, 8), (Op, 17, 8), (Src0, 32, 8), (DppCtrl, 40, 9), (BoundCtrl, 51, 1), (Src0Neg, 52, 1), (Src0Abs, 53, 1), (Src1Neg, 54, 1), (Src1Abs, 55, 1), (BankMask, 56, 4), (RowMask, 60, 4)]),
    layout(4, 26, 6, 0b11_0101, &[(Vsrc0, 0, 8), (AttrChan, 8, 2), (Attr, 10, 6), (Op, 16, 2), (Vdst, 18, 8)]),
    layout(8, 26, 6, 0b11_0110, &[(Offset0, 0, 8), (Offset1, 8, 8), (Gds, 16, 1), (Op, 17, 8), (Addr, 32, 8), (Data0, 40, 8), (Data1, 48, 8), (Vdst, 56, 8)]),
    layout(8, 26, 6, 0b11_1000, &[(Offset, 0, 12), (Offen, 12, 1), (Idxen, 13, 1), (Glc, 14, 1), (Lds, 16, 1), (Slc, 17, 1), (Op, 18, 7), (Vaddr, 32, 8), (Vdata, 40, 8), (Srsrc, 48, 5), (Tfe, 55, 1), (Soffset, 56, 8)]),
    layout(8, 26, 6, 0b11_1010, &[(Offset, 0, 12), (Offen, 12, 1), (Idxen, 13, 1), (Glc, 14, 1), (Op, 15, 4), (Dfmt, 19, 4), (Nfmt, 23, 3), (Vaddr, 32, 8), (Vdata, 40, 8), (Srsrc, 48, 5), (Slc, 54, 1), (Tfe, 55, 1), (Soffset, 56, 8)]),
    layout(8, 26, 6, 0b11_1100, &[(Opm, 0, 1), (Dmask, 8, 4), (Unorm, 12, 1), (Glc, 13, 1), (Da, 14, 1), (R128, 15, 1), (Tfe, 16, 1), (Lwe, 17, 1), (Op, 18, 7), (Slc, 25, 1), (Vaddr, 32, 8), (Vdata, 40, 8), (Srsrc, 48, 5), (Ssamp, 53, 5), (D16, 63, 1)]),
    layout(8, 26, 6, 0b11_0111, &[(Offset, 0, 13), (Lds, 13, 1), (Seg, 14, 2), (Glc, 16, 1), (Slc, 17, 1), (Op, 18, 7), (Addr, 32, 8), (Data0, 40, 8), (Saddr, 48, 7), (Nv, 55, 1), (Vdst, 56, 8)]),
    layout(8, 26, 6, 0b11_0001, &[(En, 0, 4), (Tgt, 4, 6), (Compr, 10, 1), (Done, 11, 1), (Vm, 12, 1), (Vsrc0, 32, 8), (Vsrc1, 40, 8), (Vsrc2, 48, 8), (Vsrc3, 56, 8)]),
];

/// The layout of an encoding in a generation. Returns `None` if the generation does not have the encoding.
#[inline]
pub fn layout_of(encoding: Encoding, generation: Gen) -> Option<&'static Layout> {
    let l = layout_in(encoding, generation);
    (l.bytes != 0).then_some(l)
}

/// As [`layout_of`], but returns an empty layout if there is none.
#[inline]
pub(crate) const fn layout_in(encoding: Encoding, generation: Gen) -> &'static Layout {
    &layouts(generation)[encoding as usize]
}

/// The layouts of a generation's encodings; those that it does not have are empty.
pub(crate) const fn layouts(generation: Gen) -> &'static [Layout; ENCODINGS] {
    match generation {
        Gen::Gfx6 | Gen::Gfx7 => &OLD,
        Gen::Gfx8 => &GFX8,
        Gen::Gfx9 => &GFX9,
    }
}

impl Encoding {
    /// The encoding of a generation that the first word selects. The decoder distinguishes SDWA and DPP by SRC0, and
    /// VOP3B by the row.
    pub(crate) const fn classify(word: u32, generation: Gen) -> Option<Encoding> {
        use Encoding::*;
        let top = word >> 23;
        if top & 0x100 == 0 {
            return Some(match word >> 25 {
                0b011_1111 => Vop1,
                0b011_1110 => Vopc,
                _ => Vop2,
            });
        }
        if top & 0x80 == 0 {
            return Some(match top & 0x7f {
                0b111_1101 => Sop1,
                0b111_1110 => Sopc,
                0b111_1111 => Sopp,
                t if t >> 5 == 0b11 => Sopk,
                _ => Sop2,
            });
        }
        let old = (generation as u8) < Gen::Gfx8 as u8;
        match top >> 3 {
            0b11_0000 | 0b11_0001 if old => Some(Smem),
            0b11_0000 => Some(Smem),
            0b11_0001 => Some(Exp),
            0b11_0010 if old => Some(Vintrp),
            0b11_0100 if matches!(generation, Gen::Gfx9) && top & 7 == 0b111 => Some(Vop3p),
            0b11_0100 => Some(Vop3),
            0b11_0101 if !old => Some(Vintrp),
            0b11_0110 => Some(Ds),
            0b11_0111 if !matches!(generation, Gen::Gfx6) => Some(Flat),
            0b11_1000 => Some(Mubuf),
            0b11_1010 => Some(Mtbuf),
            0b11_1100 => Some(Mimg),
            0b11_1110 if old => Some(Exp),
            _ => None,
        }
    }
}
