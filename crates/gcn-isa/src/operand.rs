//! Operand codes: the numbers of registers and constants in source and destination fields.

use crate::shape::{Slot, Ty};
use crate::target::Gen;

/// The 9-bit code of VCC_LO.
pub const VCC: u16 = 106;
/// M0.
pub const M0: u16 = 124;
/// EXEC_LO.
pub const EXEC: u16 = 126;
/// The inline integer 0; 1 to 64 follow, then -1 to -16.
pub const INT0: u16 = 128;
/// The first inline float, 0.5.
pub const FLOAT0: u16 = 240;
/// 1/(2π), from gfx8 on.
pub const INV_2PI: u16 = 248;
/// An SDWA dword follows.
pub const SDWA: u16 = 249;
/// A DPP dword follows.
pub const DPP: u16 = 250;
/// VCCZ as a source.
pub const VCCZ: u16 = 251;
/// EXECZ as a source.
pub const EXECZ: u16 = 252;
/// SCC as a source.
pub const SCC: u16 = 253;
/// LDS_DIRECT.
pub const LDS_DIRECT: u16 = 254;
/// A 32-bit literal follows.
pub const LITERAL: u16 = 255;
/// v0.
pub const VGPR0: u16 = 256;

/// The register or constant that a code names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reg {
    /// sN.
    Sgpr(u16),
    /// vN.
    Vgpr(u16),
    /// ttmpN.
    Ttmp(u16),
    /// The low or high half of a named pair.
    Half(Pair, bool),
    /// M0.
    M0,
    /// An inline integer, -16 to 64.
    Int(i32),
    /// An inline float: index 0 to 8 of [`FLOATS`].
    Float(u8),
    /// An aperture, POPS or a status bit read as a source.
    Source(Source),
    /// The literal that follows.
    Literal,
    /// The code is undefined in the generation.
    Reserved(u16),
}

/// A named pair of scalar registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Pair {
    FlatScratch,
    XnackMask,
    Vcc,
    Tba,
    Tma,
    Exec,
}

impl Pair {
    /// `vcc`, `exec`, …
    pub const fn name(self) -> &'static str {
        match self {
            Pair::FlatScratch => "flat_scratch",
            Pair::XnackMask => "xnack_mask",
            Pair::Vcc => "vcc",
            Pair::Tba => "tba",
            Pair::Tma => "tma",
            Pair::Exec => "exec",
        }
    }
}

/// A source that is neither a general-purpose register nor a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Source {
    SharedBase,
    SharedLimit,
    PrivateBase,
    PrivateLimit,
    PopsExitingWaveId,
    Vccz,
    Execz,
    Scc,
    LdsDirect,
}

impl Source {
    /// CLRX's name; LLVM's is the same with the prefix `src_`, except for [`Source::LdsDirect`].
    pub const fn name(self) -> &'static str {
        match self {
            Source::SharedBase => "shared_base",
            Source::SharedLimit => "shared_limit",
            Source::PrivateBase => "private_base",
            Source::PrivateLimit => "private_limit",
            Source::PopsExitingWaveId => "pops_exiting_wave_id",
            Source::Vccz => "vccz",
            Source::Execz => "execz",
            Source::Scc => "scc",
            Source::LdsDirect => "lds",
        }
    }
}

/// The inline floats 240 to 248: text, then bits as f16, f32 and f64.
pub const FLOATS: [(&str, u16, u32, u64); 9] = [
    ("0.5", 0x3800, 0x3f00_0000, 0x3fe0_0000_0000_0000),
    ("-0.5", 0xb800, 0xbf00_0000, 0xbfe0_0000_0000_0000),
    ("1.0", 0x3c00, 0x3f80_0000, 0x3ff0_0000_0000_0000),
    ("-1.0", 0xbc00, 0xbf80_0000, 0xbff0_0000_0000_0000),
    ("2.0", 0x4000, 0x4000_0000, 0x4000_0000_0000_0000),
    ("-2.0", 0xc000, 0xc000_0000, 0xc000_0000_0000_0000),
    ("4.0", 0x4400, 0x4080_0000, 0x4010_0000_0000_0000),
    ("-4.0", 0xc400, 0xc080_0000, 0xc010_0000_0000_0000),
    ("0.15915494", 0x3118, 0x3e22_f983, 0x3fc4_5f30_6dc9_c882),
];

/// Decodes `code` (0 to 511) in a generation.
pub fn reg(code: u16, generation: Gen) -> Reg {
    let g = generation as u8;
    match code {
        256.. => Reg::Vgpr(code - 256),
        c if c < generation.sgprs() => Reg::Sgpr(c),
        102 | 103 if g >= 2 => Reg::Half(Pair::FlatScratch, code == 103),
        104 | 105 if g == 1 => Reg::Half(Pair::FlatScratch, code == 105),
        104 | 105 if g >= 2 => Reg::Half(Pair::XnackMask, code == 105),
        106 | 107 => Reg::Half(Pair::Vcc, code == 107),
        108..=123 if g == 3 => Reg::Ttmp(code - 108),
        108 | 109 => Reg::Half(Pair::Tba, code == 109),
        110 | 111 => Reg::Half(Pair::Tma, code == 111),
        112..=123 => Reg::Ttmp(code - 112),
        124 => Reg::M0,
        126 | 127 => Reg::Half(Pair::Exec, code == 127),
        128..=192 => Reg::Int(code as i32 - 128),
        193..=208 => Reg::Int(192 - code as i32),
        235 if g == 3 => Reg::Source(Source::SharedBase),
        236 if g == 3 => Reg::Source(Source::SharedLimit),
        237 if g == 3 => Reg::Source(Source::PrivateBase),
        238 if g == 3 => Reg::Source(Source::PrivateLimit),
        239 if g == 3 => Reg::Source(Source::PopsExitingWaveId),
        240..=247 => Reg::Float((code - 240) as u8),
        248 if g >= 2 => Reg::Float(8),
        251 => Reg::Source(Source::Vccz),
        252 => Reg::Source(Source::Execz),
        253 => Reg::Source(Source::Scc),
        254 => Reg::Source(Source::LdsDirect),
        255 => Reg::Literal,
        _ => Reg::Reserved(code),
    }
}

/// The value of an inline constant as an operand of `bits` width reads it. Integers and floats are both bit patterns of that
/// width.
pub fn inline_value(code: u16, bits: u32) -> Option<u64> {
    let int = match code {
        128..=192 => code as i64 - 128,
        193..=208 => 192 - code as i64,
        240..=248 => {
            let (_, h, s, d) = FLOATS[(code - 240) as usize];
            return Some(match bits {
                16 => h as u64,
                64 => d,
                _ => s as u64,
            });
        }
        _ => return None,
    };
    Some(match bits {
        16 => int as u16 as u64,
        64 => int as u64,
        _ => int as u32 as u64,
    })
}

/// The inline constant that the assembler uses for the number `value` in an operand of type
/// `ty`. As in LLVM, a signed or unsigned operand of 16 bits does not use an inline float for that float's bit
/// pattern.
pub fn inline_code(value: u64, ty: Ty, generation: Gen) -> Option<u16> {
    let bits = ty.bits();
    let signed = match bits {
        16 => value as u16 as i16 as i64,
        64 => value as i64,
        _ => value as u32 as i32 as i64,
    };
    match signed {
        0..=64 => return Some(INT0 + signed as u16),
        -16..=-1 => return Some((192 - signed) as u16),
        _ => {}
    }
    if matches!(ty, Ty::I16 | Ty::U16) {
        return None;
    }
    let last = if generation >= Gen::Gfx8 {
        INV_2PI
    } else {
        INV_2PI - 1
    };
    let value = value & crate::meaning::width_mask(ty);
    (FLOAT0..=last).find(|&c| inline_value(c, bits) == Some(value))
}

/// One operand of a decoded instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operand {
    /// The operand's slot in the shape.
    pub slot: &'static Slot,
    /// The operand's value in the instruction.
    pub value: Value,
}

/// The value of an operand's field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// A register or constant, 0 to 511.
    Code(u16),
    /// A number.
    Imm(u32),
    /// The text has no such operand (the address of an unaddressed buffer access).
    Absent,
}
