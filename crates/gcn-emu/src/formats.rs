//! The data and number formats of typed buffers and images: conversion between memory and registers.
//!
//! An element has up to four components, X at the lowest bits; buffers and images have the same components. A register
//! holds an f32 for the normalized, scaled and float number formats and a 32-bit integer for UINT and
//! SINT. Where AMD's manuals are silent, docs/errata.md (format-conversion) gives the choice. All arithmetic here is integer
//! arithmetic, or f64 `+ − × ÷`, so every host gives the same bits.

use crate::fp::{self, Env, F16, F32};
use gcn_isa::target::Gen;
use std::sync::OnceLock;

/// The number format of a component.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Number {
    /// v / (2^n - 1), from 0 to 1.
    Unorm,
    /// v / (2^(n-1) - 1), from -1 to 1; the lowest value is -1 too.
    Snorm,
    /// The unsigned integer as a float.
    Uscaled,
    /// The signed integer as a float.
    Sscaled,
    /// An unsigned integer.
    Uint,
    /// A signed integer.
    Sint,
    /// (2 v + 1) / (2^n - 1), from -1 to 1 without a zero (gfx6 and gfx7).
    SnormOgl,
    /// A float of 32, 16, 11 or 10 bits.
    Float,
    /// UNORM with gamma-encoded X, Y and Z.
    Srgb,
}

impl Number {
    /// Returns true if registers hold integers.
    pub const fn is_integer(self) -> bool {
        matches!(self, Number::Uint | Number::Sint)
    }

    /// The value 1 in the register's format.
    pub const fn one(self) -> u32 {
        if self.is_integer() { 1 } else { 0x3f80_0000 }
    }

    /// Converts a register's 32 bits to the 16 bits of the D16 instructions: rounds a float to nearest even; truncates an integer
    /// to its low half.
    pub fn to_half(self, value: u32) -> u16 {
        if self.is_integer() {
            value as u16
        } else {
            fp::convert::<F32, F16>(value as u64, &Env::IEEE, &Env::IEEE) as u16
        }
    }

    /// Converts the 16 bits of a D16 instruction to a register's 32 bits.
    pub fn from_half(self, half: u16) -> u32 {
        match self {
            Number::Uint => half as u32,
            Number::Sint => half as i16 as u32,
            _ => fp::convert::<F16, F32>(half as u64, &Env::IEEE, &Env::IEEE) as u32,
        }
    }
}

/// The position of a component in its element.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Field {
    lo: u8,
    bits: u8,
}

/// The layout of an element whose components are not plain fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Plain,
    /// 5_9_9_9: three mantissas of nine bits and one shared exponent.
    SharedExponent,
}

/// The format of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    number: Number,
    kind: Kind,
    bytes: u8,
    fields: [Field; 4],
    /// The format is a buffer's, not an image's.
    buffer: bool,
}

/// The sizes of the components from X on, by BUF_DATA_FORMAT and IMG_DATA_FORMAT, whose first 16 codes agree. The format
/// names list them from the highest bit down.
fn sizes(data: u32) -> Option<&'static [u8]> {
    Some(match data {
        1 => &[8],
        2 => &[16],
        3 => &[8, 8],
        4 => &[32],
        5 => &[16, 16],
        6 => &[11, 11, 10],
        7 => &[10, 11, 11],
        8 => &[2, 10, 10, 10],
        9 => &[10, 10, 10, 2],
        10 => &[8, 8, 8, 8],
        11 => &[32, 32],
        12 => &[16, 16, 16, 16],
        13 => &[32, 32, 32],
        14 => &[32, 32, 32, 32],
        16 => &[5, 6, 5],
        17 => &[5, 5, 5, 1],
        18 => &[1, 5, 5, 5],
        19 => &[4, 4, 4, 4],
        20 => &[24, 8],
        21 => &[8, 24],
        22 => &[32, 8],
        34 => &[9, 9, 9],
        57 => &[4, 4],
        58 => &[5, 5, 6],
        _ => return None,
    })
}

impl Format {
    /// The format that a buffer resource or a typed buffer instruction selects by BUF_DATA_FORMAT and BUF_NUM_FORMAT. Returns
    /// `None` for reserved codes, and for FLOAT if no float type has the size of the components.
    pub fn buffer(data: u32, number: u32, generation: Gen) -> Option<Format> {
        if data > 14 || number > 7 {
            return None;
        }
        let format = Format::new(data, number, generation)?;
        Some(Format {
            buffer: true,
            ..format
        })
    }

    /// The format that an image resource selects by IMG_DATA_FORMAT and IMG_NUM_FORMAT. Returns `None` for reserved codes, for
    /// invalid combinations and for compressed formats.
    pub fn image(data: u32, number: u32, generation: Gen) -> Option<Format> {
        Format::new(data, number, generation)
    }

    fn new(data: u32, number: u32, generation: Gen) -> Option<Format> {
        let sizes = sizes(data)?;
        let number = match number {
            0 => Number::Unorm,
            1 => Number::Snorm,
            2 => Number::Uscaled,
            3 => Number::Sscaled,
            4 => Number::Uint,
            5 => Number::Sint,
            // This code is reserved from gfx8 on.
            6 if generation <= Gen::Gfx7 => Number::SnormOgl,
            7 => Number::Float,
            9 => Number::Srgb,
            _ => return None,
        };
        let kind = if data == 34 {
            Kind::SharedExponent
        } else {
            Kind::Plain
        };
        let fits = match number {
            Number::Float => matches!(data, 2 | 4..=7 | 11..=14 | 22 | 34),
            Number::Srgb => matches!(data, 1 | 3 | 10),
            _ => data != 34,
        };
        if !fits {
            return None;
        }
        let mut fields = [Field::default(); 4];
        let mut lo = 0;
        for (field, &bits) in fields.iter_mut().zip(sizes) {
            *field = Field { lo, bits };
            lo += bits;
        }
        let bytes = match data {
            22 => 8,
            34 => 4,
            _ => lo / 8,
        };
        Some(Format {
            number,
            kind,
            bytes,
            fields,
            buffer: false,
        })
    }

    /// The number format of the components.
    pub fn number(&self) -> Number {
        self.number
    }

    /// The element's size in bytes, 1 to 16.
    pub fn bytes(&self) -> u32 {
        self.bytes as u32
    }

    /// Component `k` (0 to 3) of an element in the register's format. A component that the format lacks is 0; a missing W of
    /// an image is 1 (docs/errata.md, format-conversion).
    pub fn component(&self, element: u128, k: usize) -> u32 {
        let field = self.fields[k & 3];
        if field.bits == 0 {
            return if k == 3 && !self.buffer {
                self.number.one()
            } else {
                0
            };
        }
        let raw = (element >> field.lo) as u32 & mask(field.bits);
        if self.kind == Kind::SharedExponent {
            let exponent = (element >> 27) as i32 & 31;
            return (raw as f32 * power_of_two(exponent - 24) as f32).to_bits();
        }
        let number = match self.number {
            Number::Srgb if k < 3 => return srgb_to_linear(raw as u8).to_bits(),
            Number::Srgb => Number::Unorm,
            // The stencil component of a format with a float depth.
            Number::Float if field.bits == 8 => Number::Uint,
            number => number,
        };
        decode(number, field.bits, raw)
    }

    /// The element made of four components from registers: clamped to the range of the format and rounded to nearest even.
    pub fn element(&self, components: [u32; 4]) -> u128 {
        if self.kind == Kind::SharedExponent {
            return shared_exponent(components) as u128;
        }
        let mut element = 0;
        for (k, (field, value)) in self.fields.iter().zip(components).enumerate() {
            if field.bits == 0 {
                continue;
            }
            let raw = match self.number {
                Number::Srgb if k < 3 => linear_to_srgb(f32::from_bits(value)) as u32,
                Number::Srgb => encode(Number::Unorm, field.bits, value),
                Number::Float if field.bits == 8 => encode(Number::Uint, field.bits, value),
                number => encode(number, field.bits, value),
            };
            element |= (raw as u128) << field.lo;
        }
        element
    }

    /// The four components of an element in the order that a resource's DST_SEL fields (codes 0 to 7) select: 0 and 1 are
    /// the constants 0 and 1, 4 to 7 are X to W; 2 and 3 are reserved and give 0.
    pub fn selected(&self, components: [u32; 4], select: [u8; 4]) -> [u32; 4] {
        select.map(|code| match code {
            1 => self.number.one(),
            4..=7 => components[code as usize - 4],
            _ => 0,
        })
    }
}

/// The components that a store through DST_SEL writes to memory: each is the first register whose selection names it, or 0 if none
/// does.
pub fn unselected(components: [u32; 4], select: [u8; 4]) -> [u32; 4] {
    std::array::from_fn(|k| {
        let from = select.iter().position(|&code| code as usize == k + 4);
        from.map_or(0, |at| components[at])
    })
}

/// DST_SEL_X to DST_SEL_W, the low twelve bits of a resource's fourth dword.
pub fn selection(word3: u32) -> [u8; 4] {
    std::array::from_fn(|k| (word3 >> (3 * k) & 7) as u8)
}

/// The selection for instructions that ignore the resource's selection: X, Y, Z, W.
pub const IDENTITY: [u8; 4] = [4, 5, 6, 7];

fn mask(bits: u8) -> u32 {
    ((1u64 << bits) - 1) as u32
}

/// 2^n; -1022 <= n <= 1023.
fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}

/// numerator / denominator, at most 1, as the nearest f32.
fn ratio(numerator: u64, denominator: u64) -> f32 {
    if denominator < 1 << 25 {
        // With so few bits the f64 quotient is never close enough to the midpoint of two f32 for double rounding to matter.
        return (numerator as f64 / denominator as f64) as f32;
    }
    let (shifted, by) = ((numerator as u128) << 64, denominator as u128);
    // A remainder sets the lowest bit, which is below all significant bits.
    let quotient = (shifted / by) | (shifted % by != 0) as u128;
    (quotient as f32 as f64 * power_of_two(-64)) as f32
}

/// The component whose `bits` low bits are `raw`.
fn decode(number: Number, bits: u8, raw: u32) -> u32 {
    let signed = (raw << (32 - bits)) as i32 >> (32 - bits);
    let top = (1u64 << bits) - 1;
    let signed_ratio = |numerator: i64, denominator: u64| {
        let magnitude = ratio(numerator.unsigned_abs().min(denominator), denominator);
        if numerator < 0 { -magnitude } else { magnitude }
    };
    match number {
        Number::Unorm | Number::Srgb => ratio(raw as u64, top).to_bits(),
        // A component of one bit has only 0 and the lowest value.
        Number::Snorm => signed_ratio(signed as i64, (top >> 1).max(1)).to_bits(),
        Number::SnormOgl => signed_ratio(2 * signed as i64 + 1, top).to_bits(),
        Number::Uscaled => (raw as f32).to_bits(),
        Number::Sscaled => (signed as f32).to_bits(),
        Number::Uint => raw,
        Number::Sint => signed as u32,
        Number::Float => match bits {
            32 => raw,
            16 => fp::convert::<F16, F32>(raw as u64, &Env::IEEE, &Env::IEEE) as u32,
            _ => unsigned_float(raw, bits as u32 - 5).to_bits(),
        },
    }
}

/// Encodes a register's value as a component of `bits` bits.
fn encode(number: Number, bits: u8, value: u32) -> u32 {
    let x = f32::from_bits(value);
    let top = (1u64 << bits) - 1;
    let signed_top = top >> 1;
    let field = |v: i64| (v as u64 & top) as u32;
    match number {
        Number::Unorm | Number::Srgb => scale(x, top) as u32,
        Number::Snorm => {
            let magnitude = scale(x.abs(), signed_top) as i64;
            field(if x < 0.0 { -magnitude } else { magnitude })
        }
        Number::SnormOgl => field(scale_ogl(x, top)),
        Number::Uscaled => field((x as f64).round_ties_even().clamp(0.0, top as f64) as i64),
        Number::Sscaled => {
            let low = -(signed_top as f64) - 1.0;
            field((x as f64).round_ties_even().clamp(low, signed_top as f64) as i64)
        }
        Number::Uint => (value as u64).min(top) as u32,
        Number::Sint => {
            field((value as i32 as i64).clamp(-(signed_top as i64) - 1, signed_top as i64))
        }
        Number::Float => match bits {
            32 => value,
            16 => fp::convert::<F32, F16>(value as u64, &Env::IEEE, &Env::IEEE) as u32,
            _ => to_unsigned_float(x, bits as u32 - 5),
        },
    }
}

/// x clamped to 0 and 1 (NaN: 0), times `top`, to the nearest integer, ties to even.
fn scale(x: f32, top: u64) -> u64 {
    if x.is_nan() || x <= 0.0 {
        return 0;
    }
    if x >= 1.0 {
        return top;
    }
    let exponent = (x.to_bits() >> 23).max(1);
    let mantissa = if x.to_bits() >> 23 == 0 { 0 } else { 1 << 23 } | x.to_bits() & 0x7f_ffff;
    let shift = 150 - exponent;
    if shift > 100 {
        return 0;
    }
    let product = mantissa as u128 * top as u128;
    let (whole, rest, half) = (
        product >> shift,
        product & ((1 << shift) - 1),
        1u128 << (shift - 1),
    );
    let up = rest > half || rest == half && whole & 1 != 0;
    whole as u64 + up as u64
}

/// (x × top - 1) / 2 of x clamped to -1 and 1 (NaN: 0), to the nearest integer, ties to even.
fn scale_ogl(x: f32, top: u64) -> i64 {
    let x = if x.is_nan() { 0.0 } else { x.clamp(-1.0, 1.0) };
    // x is an integer multiple of 2^-60; smaller bits only decide to which side of a midpoint it rounds.
    let scaled = x as f64 * power_of_two(60);
    let whole = match scaled as i128 {
        0 if scaled != 0.0 => x.signum() as i128,
        whole => whole,
    };
    let doubled = whole * top as i128 - (1 << 60);
    let (floor, rest) = (doubled >> 61, doubled & ((1 << 61) - 1));
    let up = rest > 1 << 60 || rest == 1 << 60 && floor & 1 != 0;
    (floor + up as i128) as i64
}

/// An unsigned float with five exponent bits and `mantissa` mantissa bits.
fn unsigned_float(raw: u32, mantissa: u32) -> f32 {
    let (exponent, low) = (raw >> mantissa, raw & ((1 << mantissa) - 1));
    match exponent {
        31 if low == 0 => f32::INFINITY,
        31 => f32::from_bits(0x7fc0_0000 | low << (23 - mantissa)),
        0 => (low as f64 * power_of_two(-14 - mantissa as i32)) as f32,
        _ => {
            ((1 << mantissa | low) as f64 * power_of_two(exponent as i32 - 15 - mantissa as i32))
                as f32
        }
    }
}

/// The nearest unsigned float, ties to even; 0 for negative values.
fn to_unsigned_float(x: f32, mantissa: u32) -> u32 {
    let infinity = 31 << mantissa;
    if x.is_nan() {
        return infinity | 1 << (mantissa - 1);
    }
    if x <= 0.0 {
        return 0;
    }
    let exponent = ((x.to_bits() >> 23) as i32 - 127).clamp(-14, 16);
    let steps = (x as f64 * power_of_two(mantissa as i32 - exponent)).round_ties_even();
    // The implicit bit of a normal number, and a carry out of the mantissa, increment the exponent.
    let bits = steps.min(1e9) as u32 + ((exponent + 14) as u32).wrapping_shl(mantissa);
    bits.min(infinity)
}

/// 5_9_9_9, as the OpenGL extension EXT_texture_shared_exponent defines it.
fn shared_exponent(components: [u32; 4]) -> u32 {
    const MAX: f32 = 65408.0;
    let rgb: [f32; 3] = std::array::from_fn(|k| {
        let x = f32::from_bits(components[k]);
        if x.is_nan() { 0.0 } else { x.clamp(0.0, MAX) }
    });
    let largest = rgb.iter().fold(0.0f32, |a, &b| a.max(b));
    let floor_log2 = (largest.to_bits() >> 23) as i32 - 127;
    let mut exponent = floor_log2.max(-16) + 16;
    let steps =
        |x: f32, exponent: i32| (x as f64 * power_of_two(24 - exponent) + 0.5).floor() as u32;
    if steps(largest, exponent) == 512 {
        exponent += 1;
    }
    let mantissas = rgb.map(|x| steps(x, exponent));
    mantissas[0] | mantissas[1] << 9 | mantissas[2] << 18 | (exponent as u32) << 27
}

/// The linear value of an 8-bit sRGB component, the nearest f32.
fn srgb_to_linear(raw: u8) -> f32 {
    static TABLE: OnceLock<[f32; 256]> = OnceLock::new();
    TABLE.get_or_init(|| std::array::from_fn(|v| srgb_curve(v as f64 / 255.0) as f32))[raw as usize]
}

/// The 8-bit sRGB component nearest to a linear value, measured on the gamma-encoded value.
fn linear_to_srgb(x: f32) -> u8 {
    static MIDDLES: OnceLock<[f64; 255]> = OnceLock::new();
    // The linear values midway between v and v + 1.
    let middles =
        MIDDLES.get_or_init(|| std::array::from_fn(|v| srgb_curve((v as f64 + 0.5) / 255.0)));
    // Every comparison with NaN is false, so NaN gives 0.
    middles.partition_point(|&middle| x as f64 >= middle) as u8
}

/// sRGB's transfer function, from 0 to 1.
fn srgb_curve(c: f64) -> f64 {
    if c <= 0.04045 {
        return c / 12.92;
    }
    let base = (c + 0.055) / 1.055;
    // base^2.4 is the twelfth power of the fifth root, which Newton's iteration computes identically on every host.
    let mut root = 1.0f64;
    for _ in 0..64 {
        let fourth = root * root * root * root;
        root -= (fourth * root - base) / (5.0 * fourth);
    }
    let cube = root * root * root;
    cube * cube * cube * cube
}
