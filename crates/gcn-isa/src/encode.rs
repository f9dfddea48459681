//! Encodes operands to bits: the inverse of [`mod@crate::decode`].

use crate::decode::Insn;
use crate::format::{Encoding, Field, Format, Layout, layout_of};
use crate::inst::{Inst, NO};
use crate::operand::{VCC, VGPR0};
use crate::shape::{Imm, Role};
use crate::target::Target;

/// An instruction's bits, which are set field by field.
#[derive(Clone, Copy)]
pub struct Encoder {
    /// The row.
    pub row: &'static Inst,
    /// The layout of the bits.
    pub encoding: Encoding,
    /// The target it is encoded for.
    pub target: Target,
    /// The first 4 or 8 bytes, little-endian.
    pub bits: u64,
    /// The literal that follows.
    pub literal: Option<u32>,
    layout: &'static Layout,
}

impl Encoder {
    /// Starts with the bits that name the instruction; every other field has the assembler's default for text
    /// that does not mention it. Returns `None` if the target does not have such an instruction or encoding.
    pub fn new(row: &'static Inst, encoding: Encoding, target: Target) -> Option<Encoder> {
        let generation = target.generation();
        let layout = layout_of(encoding, generation)?;
        if !crate::insts::exists(row, target) {
            return None;
        }
        let mut op = row.opcode_in(generation)?;
        if matches!(encoding, Encoding::Vop3 | Encoding::Vop3b) {
            op += row.format.vop3_offset(generation)?;
        }
        let mut e = Encoder {
            row,
            encoding,
            target,
            bits: layout.fixed,
            literal: None,
            layout,
        };
        if row.format == Format::Mimg {
            e.set(Field::Opm, op as u32 >> 7);
            op &= 127;
        }
        if layout.field(Field::Op).len != 0 && !e.set(Field::Op, op as u32) {
            return None;
        }
        match row.format {
            Format::Global => {
                e.set(Field::Seg, 2);
                e.set(Field::Saddr, 0x7f);
            }
            Format::Scratch => {
                e.set(Field::Seg, 1);
                e.set(Field::Saddr, 0x7f);
            }
            _ => {}
        }
        Some(e)
    }

    /// As [`Encoder::new`], for the row and encoding of a given instruction.
    #[inline]
    pub(crate) fn like(insn: &Insn) -> Encoder {
        let mut e = Encoder {
            row: insn.row,
            encoding: insn.encoding,
            target: insn.target,
            bits: insn.bits & insn.layout.name,
            literal: None,
            layout: insn.layout,
        };
        match insn.row.format {
            Format::Global | Format::Scratch => {
                e.set(Field::Saddr, 0x7f);
            }
            Format::Mimg => {
                let op = insn.row.opcode_in(insn.generation()).unwrap_or(0);
                e.set(Field::Opm, op as u32 >> 7);
            }
            // It may have been decoded from an opcode that is never written.
            _ if insn.row.also_read != NO => {
                let op = insn.row.opcode_in(insn.generation()).unwrap_or(0);
                e.set(Field::Op, op as u32);
            }
            _ => {}
        }
        e
    }

    /// Sets a field. Returns false if the encoding does not have it or the value is too wide for it.
    #[inline]
    pub fn set(&mut self, field: Field, value: u32) -> bool {
        let at = self.layout.field(field);
        if at.len == 0 || (value as u64) >= 1u64 << at.len {
            return false;
        }
        self.bits = at.set(self.bits, value);
        true
    }

    /// The value of a field; 0 if the encoding does not have it.
    #[inline]
    pub fn get(&self, field: Field) -> u32 {
        self.layout.field(field).get(self.bits)
    }

    /// Returns true if the encoding has a field.
    pub fn has(&self, field: Field) -> bool {
        self.layout.field(field).len != 0
    }

    /// Sets the field of a role to a register's or constant's code (0 to 511). Returns false if the
    /// encoding cannot hold it.
    pub fn set_code(&mut self, role: Role, code: u16) -> bool {
        use Encoding::*;
        let c = code as u32;
        let vgpr = code.checked_sub(VGPR0).map(u32::from);
        let v = |e: &mut Encoder, field| vgpr.is_some_and(|n| e.set(field, n));
        match role {
            Role::Sdst | Role::SsrcK | Role::Sdata => self.set(Field::Sdst, c),
            Role::Ssrc0 => self.set(Field::Ssrc0, c),
            Role::Ssrc1 => self.set(Field::Ssrc1, c),
            Role::Vdst | Role::VdstIfGlc => v(self, Field::Vdst),
            Role::SdstV => self.set(Field::Vdst, c),
            Role::Src0 => match self.encoding {
                Sdwa1 | Sdwa2 | SdwaC if vgpr.is_none() => {
                    self.set(Field::S0, 1) && self.set(Field::Src0, c)
                }
                Sdwa1 | Sdwa2 | SdwaC | Dpp1 | Dpp2 | DppC => v(self, Field::Src0),
                _ => self.set(Field::Src0, c),
            },
            Role::Src1 => match self.encoding {
                Vop3 | Vop3b | Vop3p => self.set(Field::Src1, c),
                Vintrp => v(self, Field::Vsrc0),
                Sdwa2 | SdwaC if vgpr.is_none() => {
                    self.set(Field::S1, 1) && self.set(Field::Src1, c)
                }
                _ => v(self, Field::Src1),
            },
            Role::LaneSel => self.set(Field::Src1, c),
            Role::Src2 => self.set(Field::Src2, c),
            Role::CmpDst => match self.encoding {
                Vop3 => self.set(Field::Vdst, c),
                SdwaC if code != VCC => self.set(Field::Sd, 1) && self.set(Field::Sdst, c),
                _ => code == VCC,
            },
            Role::CarryOut => match self.encoding {
                Vop3b => self.set(Field::Sdst, c),
                _ => code == VCC,
            },
            Role::CarryIn => match self.encoding {
                Vop3 | Vop3b => self.set(Field::Src2, c),
                _ => code == VCC,
            },
            Role::Sbase => c.is_multiple_of(2) && self.set(Field::Sbase, c / 2),
            Role::Srsrc => c.is_multiple_of(4) && self.set(Field::Srsrc, c / 4),
            Role::DsAddr | Role::FlatAddr => v(self, Field::Addr),
            Role::Data0 => v(self, Field::Data0),
            Role::Data1 => v(self, Field::Data1),
            Role::Vdata => v(self, Field::Vdata),
            Role::BufAddr => v(self, Field::Vaddr),
            Role::Soffset => self.set(Field::Soffset, c),
            Role::Saddr => self.set(Field::Saddr, c),
            Role::ImgAddr => v(self, Field::Vaddr),
            Role::Ssamp => c.is_multiple_of(4) && self.set(Field::Ssamp, c / 4),
            _ => false,
        }
    }

    /// Sets the fields of an immediate that is not a single field: an attribute (its number and, from bit 6 on, the
    /// channel), a parameter, an export's target. Returns false if the value does not fit.
    pub fn set_imm(&mut self, role: Role, value: u32) -> bool {
        match (role, self.encoding) {
            (Role::Attr, Encoding::Vintrp) => {
                self.set(Field::Attr, value & 63) && self.set(Field::AttrChan, value >> 6)
            }
            // Bit 8 is `high`, a modifier.
            (Role::Attr, Encoding::Vop3) if value < 256 => {
                let high = self.get(Field::Src0) & 256;
                self.set(Field::Src0, value | high)
            }
            (Role::Param, Encoding::Vintrp) => self.set(Field::Vsrc0, value),
            (Role::Param, Encoding::Vop3) => self.set(Field::Src1, value),
            (Role::ExpTgt, _) => self.set(Field::Tgt, value),
            _ => false,
        }
    }

    /// Returns true if an operand of the row is encoded in a field.
    pub fn uses(&self, field: Field) -> bool {
        let bits = self.layout.field(field);
        let sets = |role| {
            // Registers of both files; the scalar one is a multiple of four, because some fields require it.
            [VGPR0 + 255, 124].into_iter().any(|code| {
                let mut e = Encoder { bits: 0, ..*self };
                e.set_code(role, code);
                bits.get(e.bits) != 0
            })
        };
        self.row.shape.slots.iter().any(|slot| match slot.role {
            Role::Soff => matches!(field, Field::Offset | Field::Soffset),
            Role::Attr => matches!(field, Field::Src0),
            Role::Param => matches!(field, Field::Src1),
            Role::Imm(Imm::Sdata) => matches!(field, Field::Sdst),
            // The use of an export's fields depends on its modifiers.
            Role::ExpSrc(_) => false,
            role => sets(role),
        })
    }

    /// The bytes: the encoding, then the literal.
    #[inline]
    pub fn bytes(&self) -> ([u8; 12], usize) {
        let mut out = [0; 12];
        out[..8].copy_from_slice(&self.bits.to_le_bytes());
        let base = self.layout.bytes as usize;
        match self.literal {
            Some(literal) => {
                out[base..base + 4].copy_from_slice(&literal.to_le_bytes());
                (out, base + 4)
            }
            None => (out, base),
        }
    }
}

/// Sets the sources of an export and its EN as the assembler reads them: `sources` are the registers that are
/// present, of four. With COMPR, LLVM takes the first and the third source as a pair each; CLRX enables what
/// is written, and each pair is one register.
pub fn export_sources(e: &mut Encoder, sources: [Option<u8>; 4], compr: bool, clrx: bool) {
    let fields = [Field::Vsrc0, Field::Vsrc1, Field::Vsrc2, Field::Vsrc3];
    let mut en = 0;
    for (n, source) in sources.into_iter().enumerate() {
        let Some(v) = source else { continue };
        let field = match (compr, clrx) {
            (false, _) => {
                en |= 1 << n;
                fields[n]
            }
            (true, true) => {
                en |= 1 << n;
                fields[n / 2]
            }
            (true, false) if n % 2 == 0 => {
                en |= 3 << n;
                fields[n / 2]
            }
            (true, false) => continue,
        };
        e.set(field, v as u32);
    }
    e.set(Field::En, en);
}
