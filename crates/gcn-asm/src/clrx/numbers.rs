//! Numbers as operands, by CLRX's rules: the notation of a number decides whether it is an inline constant.

use crate::operand::{Constant, Val, half};
use gcn_isa::operand::{INT0, INV_2PI, inline_value};
use gcn_isa::shape::Ty;
use gcn_isa::{Gen, Target};

/// The width of a float, from its suffix (`h`, `s`, `l`) or the operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Width {
    Half,
    Single,
    Double,
}

impl Width {
    /// Returns the width that a suffix names.
    pub fn of_suffix(c: u8) -> Option<Width> {
        match c {
            b'h' | b'H' => Some(Width::Half),
            b's' | b'S' => Some(Width::Single),
            b'l' | b'L' => Some(Width::Double),
            _ => None,
        }
    }

    /// Returns the width of a float without a suffix: that of f16 and 64-bit vector operands, and single precision
    /// elsewhere.
    fn of_operand(ty: Ty, vector: bool) -> Width {
        match ty.bits() {
            64 if vector => Width::Double,
            16 if ty.is_float() => Width::Half,
            _ => Width::Single,
        }
    }

    /// Returns the 32 bits of a float as a literal: for double precision the upper half, rounded.
    fn bits(self, value: f64) -> Result<u32, &'static str> {
        match self {
            Width::Half => match half(value) {
                Some(bits) => Ok(bits.into()),
                None => Err("this float is out of the range of 16 bits"),
            },
            Width::Single => {
                let single = value as f32;
                let lost = single as f64 != value && single.abs() < f32::MIN_POSITIVE;
                if single.is_infinite() || lost {
                    return Err("this float is out of the range of 32 bits");
                }
                Ok(single.to_bits())
            }
            Width::Double => {
                let bits = value.to_bits();
                let even = 0x7fff_ffff + (bits >> 32 & 1);
                Ok((bits.saturating_add(even) >> 32) as u32)
            }
        }
    }

    fn inline(self, bits: u32, generation: Gen) -> Option<u16> {
        let last = if generation >= Gen::Gfx8 {
            INV_2PI
        } else {
            INV_2PI - 1
        };
        let pattern = |code| match self {
            Width::Half => inline_value(code, 16).map(|v| v as u32),
            Width::Single => inline_value(code, 32).map(|v| v as u32),
            Width::Double => inline_value(code, 64).map(|v| (v >> 32) as u32),
        };
        match bits {
            0 => Some(INT0),
            _ => (INV_2PI - 8..=last).find(|&code| pattern(code) == Some(bits)),
        }
    }
}

/// Encodes a number as an operand of type `ty`. An integer is an inline constant from -16 to 64 and a literal
/// otherwise, even if its bits are those of a float constant; a float is an inline constant if it has the operand's
/// width. `buggy` selects the behaviour of CLRX before version 0.1.3: 64-bit operands were read as single precision,
/// and halves were no constants.
pub(crate) fn number_as(
    val: &Val,
    ty: Ty,
    vector: bool,
    target: Target,
    buggy: bool,
) -> Result<Constant, &'static str> {
    let (value, width, forced) = match *val {
        Val::Int(value @ 0..=64) => return Ok(Constant::Inline(INT0 + value as u16)),
        Val::Int(value @ -16..=-1) => return Ok(Constant::Inline((192 - value) as u16)),
        Val::Int(value) | Val::LitInt(value) => {
            return match value {
                -0x8000_0000..=0xffff_ffff => Ok(Constant::Literal(value as u32)),
                _ => Err("expected a number that fits 32 bits"),
            };
        }
        Val::Float(value) => (value, None, false),
        Val::FloatAs(value, width) => (value, Some(width), false),
        Val::LitFloat(value) => (value, None, true),
        Val::LitFloatAs(value, width) => (value, Some(width), true),
        _ => return Err("expected a number"),
    };
    let own = Width::of_operand(ty, vector && !buggy);
    let width = width.unwrap_or(own);
    let bits = width.bits(value)?;
    let fits = match (buggy, width) {
        (true, Width::Half) => bits == 0,
        (true, Width::Single) => true,
        _ => width == own,
    };
    Ok(match width.inline(bits, target.generation()) {
        Some(code) if fits && !forced => Constant::Inline(code),
        _ => Constant::Literal(bits),
    })
}
