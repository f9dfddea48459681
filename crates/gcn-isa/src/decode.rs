//! Decodes bytes to instructions.

use crate::format::{ENCODINGS, Encoding, Field, Format, Layout, layout_in, layouts};
use crate::inst::{Flags, Inst};
use crate::insts::{self, Entry};
use crate::operand::{self, LITERAL, Operand, VCC, VGPR0, Value};
use crate::shape::{Mods, Role, Slot};
use crate::target::{Features, Gen, TABLE, TABLES, Target};

/// A decoded instruction: its row and its bits. Operands are decoded from the bits on demand.
#[derive(Clone, Copy)]
pub struct Insn {
    /// The row.
    pub row: &'static Inst,
    /// The layout of the bits.
    pub encoding: Encoding,
    /// The target it was decoded for.
    pub target: Target,
    /// The first 4 or 8 bytes, little-endian.
    pub bits: u64,
    /// The literal; 0 if there is none.
    pub literal: u32,
    /// Length in bytes, including the literal: 4 or 8.
    pub len: u8,
    /// The row's number among all rows, times four, plus one of [`Form`]: the index into tables of
    /// rows and forms.
    pub(crate) form: u16,
    /// The properties from the index entry.
    pub(crate) what: u8,
    /// The positions of the fields: the layout of `encoding`.
    pub(crate) layout: &'static Layout,
}

impl core::fmt::Debug for Insn {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} {:#x} {:#x}", self.row.name, self.bits, self.literal)
    }
}

/// The encoding of an instruction among those of its row.
pub(crate) struct Form;

impl Form {
    /// The row's own.
    pub const OWN: u8 = 0;
    /// SDWA.
    pub const SDWA: u8 = 1;
    /// DPP.
    pub const DPP: u8 = 2;
    /// VOP3, including VOP3B.
    pub const VOP3: u8 = 3;
}

/// The modifiers applied to a source before the meaning reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SrcMods {
    /// The sign is cleared; applied before `neg`.
    pub abs: bool,
    /// The sign is flipped.
    pub neg: bool,
    /// SDWA: the selected part is sign-extended.
    pub sext: bool,
    /// SDWA's SEL: 0 to 3 a byte, 4 and 5 a word, 6 all of it.
    pub sel: u8,
}

impl SrcMods {
    /// No modifier.
    pub const NONE: SrcMods = SrcMods {
        abs: false,
        neg: false,
        sext: false,
        sel: 6,
    };
}

/// Decodes the instruction at the start of `bytes`. Returns `None` if the target does not have such an instruction or the
/// bytes end inside it.
#[inline]
pub fn decode(target: Target, bytes: &[u8]) -> Option<Insn> {
    Decoder::new(target).decode(bytes)
}

/// The decoding tables of one target, for [`decode`] without looking them up each time.
#[derive(Clone, Copy)]
pub struct Decoder {
    target: Target,
    classes: &'static [Class; CLASSES],
    layouts: &'static [Layout; ENCODINGS],
    index: &'static insts::Index,
}

impl Decoder {
    /// The decoder of a target.
    #[inline]
    pub fn new(target: Target) -> Decoder {
        Decoder {
            target,
            ..DECODERS[target.table()]
        }
    }

    /// As [`decode`].
    // Inlined, because a loop that needs only the length then computes nothing else.
    #[inline(always)]
    pub fn decode(&self, bytes: &[u8]) -> Option<Insn> {
        if let Some(words) = bytes.first_chunk::<8>() {
            return self.words(words);
        }
        self.tail(bytes)
    }

    /// Decodes bytes that may end inside the instruction.
    #[cold]
    #[inline(never)]
    fn tail(&self, bytes: &[u8]) -> Option<Insn> {
        if bytes.len() < 4 {
            return None;
        }
        let mut words = [0; 8];
        words[..bytes.len()].copy_from_slice(bytes);
        self.words(&words)
            .filter(|insn| insn.len as usize <= bytes.len())
    }

    /// Looks up the first word in the tables.
    #[inline(always)]
    fn entry(&self, first: u32) -> Option<(&'static Class, Entry)> {
        let class = &self.classes[(first >> 23) as usize];
        let mut at = class.base as usize + class.opcode(first);
        if class.more {
            at = match (class.encodings[0], first >> 14 & 3) {
                // Bit 7 of MIMG's opcode is ignored unless it selects another instruction.
                (Encoding::Mimg, _) if first & 1 != 0 && self.index[at + 128].exists() => at + 128,
                (Encoding::Mimg, _) | (_, 0) => at,
                (_, 1) => at - FLAT_BASE + SCRATCH_BASE,
                (_, 2) => at - FLAT_BASE + GLOBAL_BASE,
                _ => return None,
            };
        }
        Some((class, self.index[at]))
    }

    /// Returns true in the first value if the instruction that begins with a dword has two dwords, and true in the second if
    /// it is a branch with a target in SIMM16. A dword that is not an instruction counts as one dword.
    #[inline(always)]
    pub fn skim_dword(&self, dword: [u8; 4]) -> (bool, bool) {
        let first = u32::from_le_bytes(dword);
        match self.entry(first) {
            Some((class, entry)) => (
                class.true_of(entry.what, first) != 0,
                entry.what & Entry::BRANCH != 0,
            ),
            None => (false, false),
        }
    }

    /// Decodes from as many bytes as the longest instruction has.
    #[inline(always)]
    pub fn words(&self, bytes: &[u8; 8]) -> Option<Insn> {
        let both = u64::from_le_bytes(*bytes);
        let first = both as u32;
        let (class, Entry { number, what }) = self.entry(first)?;
        let row = insts::numbered(number)?;
        let true_of = class.true_of(what, first);
        let encoding = class.encodings[(true_of >> 3 & 7) as usize];
        let wide = true_of & (Entry::WIDE | Entry::SDWA | Entry::DPP) != 0;
        // No encoding of 8 bytes can have a literal.
        let literal = true_of & (Entry::K | Entry::LITERAL0 | Entry::LITERAL1) != 0;
        Some(Insn {
            row,
            encoding,
            target: self.target,
            bits: if wide { both } else { first as u64 },
            literal: if literal { (both >> 32) as u32 } else { 0 },
            len: if true_of != 0 { 8 } else { 4 },
            form: number << 2 | (class.form | true_of >> 3 & 3) as u16,
            what,
            layout: &self.layouts[encoding as usize],
        })
    }
}

/// The decoders of the instruction tables, each for one of the targets of its table.
static DECODERS: [Decoder; TABLES] = {
    let mut decoders = [decoder(0); TABLES];
    let mut table = 1;
    while table < TABLES {
        decoders[table] = decoder(table);
        table += 1;
    }
    decoders
};

const fn decoder(table: usize) -> Decoder {
    let (generation, _) = TABLE[table];
    Decoder {
        target: Target::with_table(table),
        classes: &CLASS[generation as usize],
        layouts: layouts(generation),
        index: insts::index_of(table),
    }
}

/// The properties determined by the top nine bits of the first word.
#[derive(Clone, Copy)]
#[repr(align(16))]
struct Class {
    /// Indexed by the instruction's bits [`Entry::SDWA`], [`Entry::DPP`] and [`Entry::VOP3B`].
    encodings: [Encoding; 8],
    /// [`Form::VOP3`] for that encoding, otherwise [`Form::OWN`].
    form: u8,
    /// True if further bits select the instruction: FLAT's segment, bit 7 of MIMG's opcode.
    more: bool,
    /// The number of bits above the opcode.
    op_above: u8,
    /// The shift to the right after those bits are removed.
    op_down: u8,
    /// The index of the first entry of the format.
    base: u16,
    /// The bits of the first source, or of SMEM's offset and the bit that marks it as a register.
    source0: u16,
}

const CLASSES: usize = 512;

const FLAT_BASE: usize = insts::offset(Format::Flat as usize);
const SCRATCH_BASE: usize = insts::offset(Format::Scratch as usize);
const GLOBAL_BASE: usize = insts::offset(Format::Global as usize);

static CLASS: [[Class; CLASSES]; 4] = {
    let none = Class {
        encodings: [Encoding::Exp; 8],
        form: Form::OWN,
        more: false,
        op_above: 0,
        op_down: 32,
        base: insts::SPAN as u16,
        source0: 0,
    };
    let mut classes = [[none; CLASSES]; 4];
    let mut g = 0;
    while g < 4 {
        let mut top = 0;
        while top < CLASSES {
            let generation = Gen::ALL[g];
            if let Some(encoding) = Encoding::classify((top as u32) << 23, generation) {
                classes[g][top] = class(encoding, generation);
            }
            top += 1;
        }
        g += 1;
    }
    classes
};

const fn class(encoding: Encoding, generation: Gen) -> Class {
    let layout = layout_in(encoding, generation);
    let format = home(encoding);
    let op = layout.field(Field::Op);
    assert!(op.lo as u32 + (op.len as u32) <= 32 && op.len as u32 <= format.opcode_bits());
    let (sdwa, dpp) = match encoding {
        Encoding::Vop1 => (Encoding::Sdwa1, Encoding::Dpp1),
        Encoding::Vop2 => (Encoding::Sdwa2, Encoding::Dpp2),
        _ => (Encoding::SdwaC, Encoding::DppC),
    };
    let segment = layout.field(Field::Seg);
    assert!(segment.len == 0 || segment.lo == 14);
    let vop3 = matches!(encoding, Encoding::Vop3);
    let vop3b = if vop3 { Encoding::Vop3b } else { encoding };
    Class {
        encodings: [
            encoding, sdwa, dpp, encoding, vop3b, encoding, encoding, encoding,
        ],
        form: if vop3 { Form::VOP3 } else { Form::OWN },
        more: segment.len != 0 || matches!(encoding, Encoding::Mimg),
        // EXP has no opcode: the shift is 32 bits and leaves 0.
        op_above: 32 - op.lo - op.len,
        op_down: 32 - op.len,
        base: insts::offset(format as usize) as u16,
        source0: match encoding {
            Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc => 0xff,
            _ => 0x1ff,
        },
    }
}

/// The number of VGPRs of an image instruction's data: one per channel that DMASK selects (four for
/// the gathers, independently of DMASK); with D16, one per two channels if the target packs them; and
/// one more for TFE.
pub fn image_data_dwords(row: &Inst, target: Target, dmask: u32, d16: bool, tfe: bool) -> u8 {
    let channels = if row.flags.has(Flags::FOUR_CHANNELS) {
        4
    } else {
        dmask.count_ones().max(1) as u8
    };
    let packed = d16 && target.features().has(Features::PACKED_D16);
    (if packed {
        channels.div_ceil(2)
    } else {
        channels
    }) + tfe as u8
}

/// The format in whose index an encoding's opcode is looked up; FLAT's for all its segments.
const fn home(encoding: Encoding) -> Format {
    match encoding {
        Encoding::Sop1 => Format::Sop1,
        Encoding::Sop2 => Format::Sop2,
        Encoding::Sopc => Format::Sopc,
        Encoding::Sopk => Format::Sopk,
        Encoding::Sopp => Format::Sopp,
        Encoding::Smem => Format::Smem,
        Encoding::Vop1 | Encoding::Sdwa1 | Encoding::Dpp1 => Format::Vop1,
        Encoding::Vop2 | Encoding::Sdwa2 | Encoding::Dpp2 => Format::Vop2,
        Encoding::Vopc | Encoding::SdwaC | Encoding::DppC => Format::Vopc,
        Encoding::Vop3 | Encoding::Vop3b => Format::Vop3,
        Encoding::Vop3p => Format::Vop3p,
        Encoding::Vintrp => Format::Vintrp,
        Encoding::Ds => Format::Ds,
        Encoding::Mubuf => Format::Mubuf,
        Encoding::Mtbuf => Format::Mtbuf,
        Encoding::Mimg => Format::Mimg,
        Encoding::Flat => Format::Flat,
        Encoding::Exp => Format::Exp,
    }
}

impl Class {
    #[inline(always)]
    fn opcode(&self, first: u32) -> usize {
        (first.wrapping_shl(self.op_above as u32) as u64 >> (self.op_down & 63)) as usize
    }

    /// The properties in `what`, which the index marks as possible, if the sources confirm them; 0 if the instruction has four
    /// bytes. Computed with tables and without branches, because the sequence of instructions in code is too irregular for branch
    /// prediction.
    #[inline(always)]
    fn true_of(&self, what: u8, first: u32) -> u8 {
        let source0 = SOURCE[(first as u16 & self.source0) as usize & 0x1ff];
        let source1 = (first & 0xff00 == (LITERAL as u32) << 8) as u8 * Entry::LITERAL1;
        what & (source0 | source1)
    }
}

const _: () = {
    assert!(Entry::SDWA >> 3 == Form::SDWA && Entry::DPP >> 3 == Form::DPP);
    assert!(Entry::VOP3B >> 3 == 4);
};

/// The properties of an instruction that a code of SRC0 confirms, if the index says that they are possible.
static SOURCE: [u8; 512] = {
    let mut source = [Entry::K | Entry::WIDE | Entry::VOP3B; 512];
    source[LITERAL as usize] |= Entry::LITERAL0;
    source[operand::SDWA as usize] |= Entry::SDWA;
    source[operand::DPP as usize] |= Entry::DPP;
    source
};

impl Insn {
    /// Returns true if the LDS bit of a MUBUF, FLAT or GLOBAL instruction is set: its data go between memory and LDS at M0
    /// instead of VGPRs.
    pub fn data_in_lds(&self) -> bool {
        self.field(Field::Lds) != 0
    }

    /// The generation it was decoded for.
    #[inline]
    pub fn generation(&self) -> Gen {
        self.target.generation()
    }

    /// Returns true if it is a branch with a target in SIMM16.
    #[inline]
    pub fn branches(&self) -> bool {
        self.what & Entry::BRANCH != 0
    }

    /// The value of a field; 0 if the encoding does not have it.
    #[inline]
    pub fn field(&self, field: Field) -> u32 {
        self.layout.field(field).get(self.bits)
    }

    /// Returns true if the encoding has a field.
    #[inline]
    pub fn has_field(&self, field: Field) -> bool {
        self.layout.field(field).len != 0
    }

    /// The code (0 to 511) of the register or constant in a role. Returns `None` if the encoding
    /// does not have such a field.
    pub fn code(&self, role: Role) -> Option<u16> {
        use Encoding::*;
        let f = |field| self.field(field) as u16;
        let v = |field| VGPR0 + f(field);
        Some(match role {
            Role::Sdst | Role::SsrcK | Role::Sdata => f(Field::Sdst),
            Role::Ssrc0 => f(Field::Ssrc0),
            Role::Ssrc1 => f(Field::Ssrc1),
            Role::Vdst | Role::VdstIfGlc => v(Field::Vdst),
            Role::SdstV => f(Field::Vdst),
            Role::Src0 => match self.encoding {
                Sdwa1 | Sdwa2 | SdwaC if self.field(Field::S0) != 0 => f(Field::Src0),
                Sdwa1 | Sdwa2 | SdwaC | Dpp1 | Dpp2 | DppC => v(Field::Src0),
                _ => f(Field::Src0),
            },
            Role::Src1 => match self.encoding {
                Vop3 | Vop3b | Vop3p => f(Field::Src1),
                Vintrp => v(Field::Vsrc0),
                Sdwa2 | SdwaC if self.field(Field::S1) != 0 => f(Field::Src1),
                _ => v(Field::Src1),
            },
            Role::LaneSel => f(Field::Src1),
            Role::Src2 => f(Field::Src2),
            Role::CmpDst => match self.encoding {
                Vop3 => f(Field::Vdst),
                SdwaC if self.field(Field::Sd) != 0 => f(Field::Sdst),
                _ => VCC,
            },
            Role::CarryOut => match self.encoding {
                Vop3b => f(Field::Sdst),
                _ => VCC,
            },
            Role::CarryIn => match self.encoding {
                Vop3 | Vop3b => f(Field::Src2),
                _ => VCC,
            },
            Role::Sbase => f(Field::Sbase) * 2,
            Role::DsAddr | Role::FlatAddr => v(Field::Addr),
            Role::Data0 => v(Field::Data0),
            Role::Data1 => v(Field::Data1),
            Role::Vdata => v(Field::Vdata),
            Role::BufAddr => v(Field::Vaddr),
            Role::Srsrc => f(Field::Srsrc) * 4,
            Role::Soffset => f(Field::Soffset),
            Role::Saddr => f(Field::Saddr),
            Role::ImgAddr => v(Field::Vaddr),
            Role::Ssamp => f(Field::Ssamp) * 4,
            Role::ExpSrc(n) => v(self.export_source(n)),
            Role::Imm(_) | Role::K | Role::Soff | Role::Attr | Role::Param | Role::ExpTgt => {
                return None;
            }
        })
    }

    /// The operand in a slot of the row's shape.
    pub fn operand(&self, slot: &'static Slot) -> Operand {
        let value = match slot.role {
            Role::Imm(kind) => Value::Imm(self.field(kind.field())),
            Role::K => Value::Imm(self.literal),
            Role::Soff => self.smem_offset(),
            Role::Saddr if !self.has_field(Field::Saddr) || self.field(Field::Saddr) == 0x7f => {
                Value::Absent
            }
            Role::BufAddr if self.buffer_address_dwords() == 0 => Value::Absent,
            Role::VdstIfGlc if self.field(Field::Glc) == 0 => Value::Absent,
            // The channel is above the six bits of the attribute number.
            Role::Attr if self.encoding == Encoding::Vintrp => {
                Value::Imm(self.field(Field::Attr) | self.field(Field::AttrChan) << 6)
            }
            Role::Attr => Value::Imm(self.field(Field::Src0) & 0xff),
            Role::Param if self.encoding == Encoding::Vintrp => {
                Value::Imm(self.field(Field::Vsrc0))
            }
            Role::Param => Value::Imm(self.field(Field::Src1)),
            Role::ExpTgt => Value::Imm(self.field(Field::Tgt)),
            Role::ExpSrc(n) if self.field(Field::En) >> n & 1 == 0 => Value::Absent,
            // SCRATCH has one address: the VGPR or the SGPR.
            Role::FlatAddr
                if self.row.format == Format::Scratch && self.field(Field::Saddr) != 0x7f =>
            {
                Value::Absent
            }
            role => match self.code(role) {
                Some(code) => Value::Code(code),
                None => Value::Absent,
            },
        };
        Operand { slot, value }
    }

    /// The operands in the order of the text.
    pub fn operands(&self) -> impl Iterator<Item = Operand> + '_ {
        self.row.shape.slots.iter().map(|slot| self.operand(slot))
    }

    /// Returns true if R128 selects an image resource of four SGPRs; on gfx9 the bit is A16.
    pub fn short_resource(&self) -> bool {
        self.field(Field::R128) != 0 && self.generation() < Gen::Gfx9
    }

    /// The field of an export's source: with COMPR, two sources share a VGPR.
    pub(crate) fn export_source(&self, n: u8) -> Field {
        let n = if self.field(Field::Compr) != 0 {
            n / 2
        } else {
            n
        };
        [Field::Vsrc0, Field::Vsrc1, Field::Vsrc2, Field::Vsrc3][n as usize & 3]
    }

    /// The index of the instruction's row and form (its own encoding, SDWA, DPP or VOP3) in tables of [`Insn::forms`]
    /// entries. Instructions of one index and one generation have the same encoding.
    #[inline]
    pub fn form(&self) -> usize {
        self.form as usize
    }

    /// The number of different values of [`Insn::form`].
    pub const fn forms() -> usize {
        4 * insts::count()
    }

    /// The number of registers of the operand in a slot. The slot's type determines it, except for these:
    /// the address of a buffer (OFFEN, IDXEN and ADDR64), the address of GLOBAL (one offset VGPR
    /// with an SGPR pair), and an image's data (DMASK, D16 and TFE).
    pub fn dwords(&self, slot: &Slot) -> u8 {
        match slot.role {
            Role::Vdata if self.encoding == Encoding::Mimg => image_data_dwords(
                self.row,
                self.target,
                self.field(Field::Dmask),
                self.field(Field::D16) != 0,
                self.field(Field::Tfe) != 0,
            ),
            Role::BufAddr => self.buffer_address_dwords(),
            Role::FlatAddr
                if self.row.format == Format::Global && self.field(Field::Saddr) != 0x7f =>
            {
                1
            }
            _ => slot.ty.dwords(),
        }
    }

    /// The number of address VGPRs of a buffer instruction.
    pub fn buffer_address_dwords(&self) -> u8 {
        if self.field(Field::Addr64) != 0 {
            2
        } else {
            (self.field(Field::Offen) + self.field(Field::Idxen)) as u8
        }
    }

    /// The offset operand of scalar memory: an SGPR's code, a byte offset from gfx8 on, or a
    /// dword offset before gfx8 (a literal on gfx7 is in bytes).
    fn smem_offset(&self) -> Value {
        let raw = self.field(Field::Offset);
        match self.generation() {
            Gen::Gfx6 | Gen::Gfx7 if self.field(Field::Imm) != 0 => Value::Imm(raw),
            Gen::Gfx6 | Gen::Gfx7 => Value::Code(raw as u16),
            _ if self.field(Field::Imm) != 0 => Value::Imm(raw),
            Gen::Gfx8 => Value::Code((raw & 0x7f) as u16),
            _ if self.field(Field::SoffsetEn) != 0 => {
                Value::Code(self.field(Field::Soffset) as u16)
            }
            _ => Value::Code((raw & 0x7f) as u16),
        }
    }

    /// The modifiers of source `n` (0 to 2).
    pub fn src_mods(&self, n: usize) -> SrcMods {
        use Encoding::*;
        let mut mods = SrcMods::NONE;
        match self.encoding {
            Vop3 => {
                mods.abs = self.field(Field::Abs) >> n & 1 != 0;
                mods.neg = self.field(Field::Neg) >> n & 1 != 0;
            }
            Vop3p if self.row.shape.mods == Mods::Mix => {
                mods.abs = self.field(Field::NegHi) >> n & 1 != 0;
                mods.neg = self.field(Field::Neg) >> n & 1 != 0;
            }
            Vop3b => mods.neg = self.field(Field::Neg) >> n & 1 != 0,
            Sdwa1 | Sdwa2 | SdwaC if n == 0 => {
                mods = SrcMods {
                    abs: self.field(Field::Src0Abs) != 0,
                    neg: self.field(Field::Src0Neg) != 0,
                    sext: self.field(Field::Src0Sext) != 0,
                    sel: self.field(Field::Src0Sel) as u8,
                };
            }
            Sdwa2 | SdwaC if n == 1 => {
                mods = SrcMods {
                    abs: self.field(Field::Src1Abs) != 0,
                    neg: self.field(Field::Src1Neg) != 0,
                    sext: self.field(Field::Src1Sext) != 0,
                    sel: self.field(Field::Src1Sel) as u8,
                };
            }
            Dpp1 | Dpp2 | DppC if n == 0 => {
                mods.abs = self.field(Field::Src0Abs) != 0;
                mods.neg = self.field(Field::Src0Neg) != 0;
            }
            Dpp2 | DppC if n == 1 => {
                mods.abs = self.field(Field::Src1Abs) != 0;
                mods.neg = self.field(Field::Src1Neg) != 0;
            }
            _ => {}
        }
        mods
    }

    /// The bytes from which the instruction was decoded.
    pub fn to_bytes(&self) -> ([u8; 12], usize) {
        let mut out = [0; 12];
        out[..8].copy_from_slice(&self.bits.to_le_bytes());
        let base = self.layout.bytes as usize;
        if self.len as usize > base {
            out[base..base + 4].copy_from_slice(&self.literal.to_le_bytes());
        }
        (out, self.len as usize)
    }
}
