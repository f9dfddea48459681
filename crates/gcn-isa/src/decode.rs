//! Bytes to instructions.

use crate::format::{Encoding, Field, Format, Layout, layout_in};
use crate::inst::{Flags, Inst};
use crate::insts;
use crate::operand::{self, LITERAL, Operand, VCC, VGPR0, Value};
use crate::shape::{Mods, Role, Slot};
use crate::target::{Features, Gen, Target};

/// A decoded instruction: its row and its bits. Operands are read from the bits when asked for.
#[derive(Clone, Copy)]
pub struct Insn {
    /// The row.
    pub row: &'static Inst,
    /// How the bits are laid out.
    pub encoding: Encoding,
    /// The target it was decoded for.
    pub target: Target,
    /// The first 4 or 8 bytes, little-endian.
    pub bits: u64,
    /// The literal, where there is one; else 0.
    pub literal: u32,
    /// Length in bytes, the literal included: 4, 8 or 12.
    pub len: u8,
    /// Where the fields lie: the layout of `encoding`.
    pub(crate) layout: &'static Layout,
}

impl core::fmt::Debug for Insn {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} {:#x} {:#x}", self.row.name, self.bits, self.literal)
    }
}

/// How a source is read before the meaning sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SrcMods {
    /// The sign is dropped; before `neg`.
    pub abs: bool,
    /// The sign is turned.
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

/// Decodes the instruction that `bytes` begins with; `None` where the target has none there or the
/// bytes end inside it.
#[inline]
pub fn decode(target: Target, bytes: &[u8]) -> Option<Insn> {
    let word = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
    let generation = target.generation();
    let mut encoding = Encoding::classify(word, generation)?;
    let layout = layout_in(encoding, generation);
    let mut bits = word as u64;
    let mut len = layout.bytes;
    if len == 8 {
        bits |= (second(bytes)? as u64) << 32;
    }
    let op = layout.field(Field::Op).get(bits);
    let format = home(encoding, bits, generation)?;
    let mut row = insts::lookup(target, format, op);
    if encoding == Encoding::Mimg && layout.field(Field::Opm).get(bits) != 0 {
        // Where bit 7 makes no other instruction it is ignored.
        row = insts::lookup(target, format, op | 128).or(row);
    }
    let row = row?;
    match encoding {
        Encoding::Vop3 if row.shape.is_vop3b() => encoding = Encoding::Vop3b,
        Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => {
            let (sdwa, dpp) = match encoding {
                Encoding::Vop1 => (Encoding::Sdwa1, Encoding::Dpp1),
                Encoding::Vop2 => (Encoding::Sdwa2, Encoding::Dpp2),
                _ => (Encoding::SdwaC, Encoding::DppC),
            };
            let has_src0 = || row.shape.slot(Role::Src0).is_some();
            match (bits & 0x1ff) as u16 {
                operand::SDWA if has_src0() && row.has_sdwa(generation) => {
                    bits |= (second(bytes)? as u64) << 32;
                    encoding = sdwa;
                    len = 8;
                }
                operand::DPP if has_src0() && row.has_dpp(generation) => {
                    bits |= (second(bytes)? as u64) << 32;
                    encoding = dpp;
                    len = 8;
                }
                _ => {}
            }
        }
        _ => {}
    }
    let mut insn = Insn {
        row,
        encoding,
        target,
        bits,
        literal: 0,
        len,
        layout: layout_in(encoding, generation),
    };
    if insn.wants_literal() {
        let at = len as usize;
        insn.literal = u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?);
        insn.len += 4;
    }
    Some(insn)
}

fn second(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?))
}

/// How many VGPRs the data of an image instruction takes: one a channel that DMASK names (four for
/// the gathers, whatever it names), two channels a VGPR with D16 where the target packs them, and
/// one for TFE.
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

/// The format whose index an encoding's opcode is looked up in.
fn home(encoding: Encoding, bits: u64, generation: Gen) -> Option<Format> {
    Some(match encoding {
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
        Encoding::Flat => match layout_in(encoding, generation).field(Field::Seg).get(bits) {
            0 => Format::Flat,
            1 => Format::Scratch,
            2 => Format::Global,
            _ => return None,
        },
        Encoding::Exp => Format::Exp,
    })
}

impl Insn {
    /// The generation it was decoded for.
    #[inline]
    pub fn generation(&self) -> Gen {
        self.target.generation()
    }

    /// The value of a field; 0 where the encoding has none.
    #[inline]
    pub fn field(&self, field: Field) -> u32 {
        self.layout.field(field).get(self.bits)
    }

    /// Whether the encoding has a field.
    #[inline]
    pub fn has_field(&self, field: Field) -> bool {
        self.layout.field(field).len != 0
    }

    /// Whether a 32-bit literal follows the encoding.
    fn wants_literal(&self) -> bool {
        let lit = LITERAL as u32;
        match self.encoding {
            Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc => {
                (self.field(Field::Ssrc0) == lit && self.row.shape.slot(Role::Ssrc0).is_some())
                    || (self.field(Field::Ssrc1) == lit
                        && self.row.shape.slot(Role::Ssrc1).is_some())
            }
            Encoding::Sopk => self.row.shape.slot(Role::K).is_some(),
            Encoding::Vop1 | Encoding::Vop2 | Encoding::Vopc => {
                self.row.shape.slot(Role::K).is_some()
                    || (self.row.shape.slot(Role::Src0).is_some() && self.field(Field::Src0) == lit)
            }
            Encoding::Smem => {
                self.generation() == Gen::Gfx7
                    && self.row.shape.slot(Role::Soff).is_some()
                    && self.field(Field::Imm) == 0
                    && self.field(Field::Offset) == lit
            }
            _ => false,
        }
    }

    /// The code (0 to 511) of the register or constant in a role; `None` where the encoding
    /// has no such field.
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
            // The channel lies above six bits of attribute number.
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

    /// Whether R128 makes an image's resource four SGPRs; on gfx9 the bit is A16.
    pub fn short_resource(&self) -> bool {
        self.field(Field::R128) != 0 && self.generation() < Gen::Gfx9
    }

    /// The field of an export's source: with COMPR two sources share a VGPR.
    pub(crate) fn export_source(&self, n: u8) -> Field {
        let n = if self.field(Field::Compr) != 0 {
            n / 2
        } else {
            n
        };
        [Field::Vsrc0, Field::Vsrc1, Field::Vsrc2, Field::Vsrc3][n as usize & 3]
    }

    /// How many registers the operand in a slot has. It is the slot's type that says so, but for
    /// addresses: of a buffer, as OFFEN, IDXEN and ADDR64 say; of GLOBAL, one offset VGPR
    /// beside an SGPR pair; and for an image's data, as DMASK, D16 and TFE say.
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

    /// How many VGPRs a buffer instruction takes its address from.
    pub fn buffer_address_dwords(&self) -> u8 {
        if self.field(Field::Addr64) != 0 {
            2
        } else {
            (self.field(Field::Offen) + self.field(Field::Idxen)) as u8
        }
    }

    /// The offset operand of scalar memory: an SGPR's code, or a byte offset from gfx8 on and a
    /// dword offset before (a literal on gfx7 counts bytes).
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

    /// The bytes the instruction was decoded from.
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
