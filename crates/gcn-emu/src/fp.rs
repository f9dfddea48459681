//! Floating point as the VALU does it, on bit patterns, for f16, f32 and f64.
//!
//! Every function takes and returns raw bits in the low [`Float::BITS`] bits of a `u64` (bits above are ignored in
//! arguments and zero in results) and takes an [`Env`], the part of the MODE register that governs the type.
//!
//! The rules, kept in one place:
//! - **Denormals.** With [`Env::flush_in`] a denormal operand is read as the zero of its sign. With [`Env::flush_out`] a
//!   result that is tiny is replaced by the zero of its sign. It is tiny if its value, rounded to the precision of the
//!   type as if exponents had no lower end, is below the least normal number (docs/errata.md, float-tiny).
//! - **NaN.** A NaN result is the first NaN operand in the order src0, src1, src2, its sign and payload kept (the
//!   hardware vectors of the division helpers show payload and sign surviving), and quieted with MODE.IEEE: without,
//!   nothing quiets a signalling NaN (docs/errata.md, float-nan). An invalid operation without a NaN
//!   operand gives the negative quiet NaN of empty payload ([`Float::DEFAULT_NAN`]), and so does a fused or unfused
//!   product of zero and infinity whatever is added to it.
//! - **Rounding.** Each function rounds once. Nearest-even runs on the host's arithmetic; the directed modes run on
//!   exact integer arithmetic (`mod exact`). The host's own floating-point control is never changed.
//! - **Exceptions** are computed by `exceptions.rs`, from the operands.

use std::fmt::Debug;

/// Rounding of a result, numbered as MODE.FP_ROUND numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Round {
    /// To the nearest value, ties to the even one.
    NearestEven = 0,
    /// Towards positive infinity.
    PlusInf = 1,
    /// Towards negative infinity.
    MinusInf = 2,
    /// Towards zero.
    Zero = 3,
}

impl Round {
    /// The rounding whose MODE.FP_ROUND value is `field & 3`.
    #[inline]
    pub const fn from_field(field: u32) -> Round {
        match field & 3 {
            0 => Round::NearestEven,
            1 => Round::PlusInf,
            2 => Round::MinusInf,
            _ => Round::Zero,
        }
    }
}

/// The settings of MODE for the arithmetic of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Env {
    /// Rounding of results.
    pub round: Round,
    /// Denormal operands are read as zero.
    pub flush_in: bool,
    /// Denormal results are written as zero.
    pub flush_out: bool,
    /// MODE.IEEE: signalling NaNs are quieted, min and max return them, output modifiers are ignored.
    pub ieee: bool,
    /// MODE.DX10_CLAMP: the clamp modifier turns NaN into zero.
    pub dx10_clamp: bool,
}

impl Env {
    /// Plain IEEE arithmetic: nearest even, denormals kept, IEEE and DX10_CLAMP on.
    pub const IEEE: Env = Env {
        round: Round::NearestEven,
        flush_in: false,
        flush_out: false,
        ieee: true,
        dx10_clamp: true,
    };

    /// The same environment with denormals flushed on both sides, as in v_mad_f32 and v_mac_f32, independently of MODE.
    #[inline]
    #[must_use]
    pub const fn flushing(self) -> Env {
        Env {
            flush_in: true,
            flush_out: true,
            ..self
        }
    }

    /// The same environment with denormals kept on both sides (used by v_min_f32 and v_max_f32 before gfx9, for example).
    #[inline]
    #[must_use]
    pub const fn keeping_denormals(self) -> Env {
        Env {
            flush_in: false,
            flush_out: false,
            ..self
        }
    }

    /// The same environment with another rounding.
    #[inline]
    #[must_use]
    pub const fn rounding(self, round: Round) -> Env {
        Env { round, ..self }
    }
}

/// Evaluates an expression with an [`Env`]. Two specialized copies of the expression round to nearest even and keep, or flush,
/// all denormals, which the compiler knows at compile time. A loop over the lanes inside then becomes straight vector code
/// without tests of the environment; a third copy serves every other environment.
///
/// `with_known_env!(env, |e| for i in 0..64 { d[i] = fp::add::<F32>(a[i] as u64, b[i] as u64, e) as u32 })`
#[macro_export]
macro_rules! with_known_env {
    ($env:expr, |$e:ident| $body:expr) => {{
        let env: &$crate::fp::Env = $env;
        let even = env.rounding($crate::fp::Round::NearestEven);
        if env.round != $crate::fp::Round::NearestEven || env.flush_in != env.flush_out {
            let $e = env;
            $body
        } else if env.flush_in {
            let $e = &even.flushing();
            $body
        } else {
            let $e = &even.keeping_denormals();
            $body
        }
    }};
}

/// The MODE register. This module reads these fields: FP_ROUND (f32 in bits 1:0, f16 and f64 in 3:2), FP_DENORM (f32 in 5:4,
/// f16 and f64 in 7:6; in each field bit 0 allows denormal inputs and bit 1 denormal outputs), DX10_CLAMP (8), IEEE (9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode(pub u32);

impl Mode {
    #[inline]
    const fn env(self, round: u32, denorm: u32) -> Env {
        Env {
            round: Round::from_field(self.0 >> round),
            flush_in: self.0 >> denorm & 1 == 0,
            flush_out: self.0 >> denorm & 2 == 0,
            ieee: self.0 >> 9 & 1 != 0,
            dx10_clamp: self.0 >> 8 & 1 != 0,
        }
    }

    /// The environment of f32 arithmetic.
    #[inline]
    pub const fn env32(self) -> Env {
        self.env(0, 4)
    }

    /// The environment of f64 arithmetic.
    #[inline]
    pub const fn env64(self) -> Env {
        self.env(2, 6)
    }

    /// The environment of f16 arithmetic, which shares its fields with f64.
    #[inline]
    pub const fn env16(self) -> Env {
        self.env(2, 6)
    }
}

/// binary16.
#[derive(Clone, Copy, Debug)]
pub struct F16;
/// binary32.
#[derive(Clone, Copy, Debug)]
pub struct F32;
/// binary64.
#[derive(Clone, Copy, Debug)]
pub struct F64;

/// The host's arithmetic on bit patterns, and the steps before and after it. Everything is in words of the number's own width (f16
/// in 32 bits): with u64 throughout, vector code for f32 would process half as many lanes.
mod host {
    use super::Float;

    pub trait Host {
        /// An unsigned integer that holds the bits.
        type Word: Copy;
        const ZERO: Self::Word;

        /// The low [`Float::BITS`] bits of `a`.
        fn word(a: u64) -> Self::Word;
        fn wide(a: Self::Word) -> u64;
        /// `a`, with a denormal replaced by the zero of its sign if `on`.
        fn flush(a: Self::Word, on: bool) -> Self::Word;
        fn negate(a: Self::Word) -> Self::Word;
        /// The zero of `a`'s sign if `on`, otherwise `a`.
        fn zeroed(a: Self::Word, on: bool) -> Self::Word;
        /// Returns true for a zero or a denormal.
        fn small(a: Self::Word) -> bool;
        /// Returns true if the product of `a` and `b` is invalid: a zero and an infinity.
        fn invalid_product(a: Self::Word, b: Self::Word) -> bool;
        /// The result of an operation on `a`, `b`, `c` whose rounded result is `r`: if `r` is a NaN, the NaN chosen by the rule
        /// for operands; if `tiny`, the zero of its sign. An operation of fewer operands passes
        /// [`Self::ZERO`].
        fn result(
            r: Self::Word,
            a: Self::Word,
            b: Self::Word,
            c: Self::Word,
            tiny: bool,
            ieee: bool,
        ) -> Self::Word;
        /// v_min, or v_max if `max`, of flushed operands; see [`super::min`].
        fn min_max(max: bool, a: Self::Word, b: Self::Word, ieee: bool) -> Self::Word;

        // Nearest-even, denormals kept, and any NaN where the result is NaN.
        fn add(a: Self::Word, b: Self::Word) -> Self::Word;
        fn mul(a: Self::Word, b: Self::Word) -> Self::Word;
        fn fma(a: Self::Word, b: Self::Word, c: Self::Word) -> Self::Word;
        fn div(a: Self::Word, b: Self::Word) -> Self::Word;
        fn sqrt(a: Self::Word) -> Self::Word;
        fn lt(a: Self::Word, b: Self::Word) -> bool;
        fn le(a: Self::Word, b: Self::Word) -> bool;
        fn eq(a: Self::Word, b: Self::Word) -> bool;
        fn from_i64(v: i64) -> Self::Word;
        fn from_u64(v: u64) -> Self::Word;
        /// Exact for every type.
        fn to_f64(a: Self::Word) -> f64;
        /// One rounding to nearest even.
        fn from_f64(v: f64) -> Self::Word;

        // Returns true if a result that was rounded to nearest even is tiny, as [`super`] defines it. Sums do not need the
        // test: a sum below the least normal number is exact. Neither do roots, which are never that small.
        fn tiny_mul(a: Self::Word, b: Self::Word) -> bool;
        fn tiny_fma(a: Self::Word, b: Self::Word, c: Self::Word, r: Self::Word) -> bool;
        fn tiny_div(a: Self::Word, b: Self::Word) -> bool;
        /// The same for [`Host::from_f64`].
        fn tiny_from_f64(v: f64) -> bool;
    }

    /// The least value that rounds, to nearest even and without a lower limit of exponents, to the least normal number of a
    /// type with `mant` stored bits and bias `bias`: it is half a step (of a number just below) less than that number.
    const fn not_tiny(mant: u32, bias: i32) -> f64 {
        let least = ((1024 - bias) as u64) << 52;
        // One exponent down with all ones, and the half step beyond: a mantissa of `mant` + 1 ones.
        f64::from_bits(least - (1 << (52 - mant - 1)))
    }

    macro_rules! steps {
        ($u:ty) => {
            type Word = $u;
            const ZERO: $u = 0;
            #[inline]
            fn word(a: u64) -> $u {
                (a & Self::MASK) as $u
            }
            #[inline]
            fn wide(a: $u) -> u64 {
                a as u64
            }
            #[inline]
            fn flush(a: $u, on: bool) -> $u {
                let zero = a & (Self::SIGN as $u);
                if on & (a & (Self::INF as $u) == 0) {
                    zero
                } else {
                    a
                }
            }
            #[inline]
            fn zeroed(a: $u, on: bool) -> $u {
                if on { a & (Self::SIGN as $u) } else { a }
            }
            #[inline]
            fn small(a: $u) -> bool {
                a & (Self::INF as $u) == 0
            }
            #[inline]
            fn invalid_product(a: $u, b: $u) -> bool {
                let size = |v: $u| v & !(Self::SIGN as $u);
                let infinity = Self::INF as $u;
                (size(a) == 0) & (size(b) == infinity) | (size(a) == infinity) & (size(b) == 0)
            }
            #[inline]
            fn negate(a: $u) -> $u {
                a ^ Self::SIGN as $u
            }
            #[inline]
            fn result(r: $u, a: $u, b: $u, c: $u, tiny: bool, ieee: bool) -> $u {
                let nan = |v: $u| v & !(Self::SIGN as $u) > Self::INF as $u;
                // From last to first, so that each step is a choice between two values and needs no branch.
                let first = if nan(c) { c } else { Self::DEFAULT_NAN as $u };
                let first = if nan(b) { b } else { first };
                let first = if nan(a) { a } else { first };
                let flushed = Self::zeroed(r, tiny);
                let quiet = if ieee { Self::QUIET as $u } else { 0 };
                if nan(r) { first | quiet } else { flushed }
            }
            #[inline]
            fn min_max(max: bool, a: $u, b: $u, ieee: bool) -> $u {
                let nan = |v: $u| v & !(Self::SIGN as $u) > Self::INF as $u;
                let signalling = |v: $u| nan(v) & (v & (Self::QUIET as $u) == 0);
                // Unsigned integers that order as the numbers do, -0 below +0.
                let order = |v: $u| {
                    if v & (Self::SIGN as $u) != 0 {
                        Self::MASK as $u & !v
                    } else {
                        v | Self::SIGN as $u
                    }
                };
                let first = if max {
                    order(a) > order(b)
                } else {
                    order(a) < order(b)
                };
                let r = if first { a } else { b };
                let r = if nan(b) { a } else { r };
                let r = if nan(a) { b } else { r };
                let r = if ieee & signalling(b) {
                    b | Self::QUIET as $u
                } else {
                    r
                };
                if ieee & signalling(a) {
                    a | Self::QUIET as $u
                } else {
                    r
                }
            }
        };
    }

    /// `a * b + c` in f64, rounded to odd: the exact value if f64 can hold it, otherwise the neighbour with an odd last bit.
    /// `a * b` must be exact in f64 and the sum must not underflow or overflow, which holds for f16 and f32 operands.
    ///
    /// A value rounded to odd with p + 2 bits or more rounds to p bits as the exact value does, in every rounding mode
    /// (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd").
    /// f64 has 53 bits, f32 24 and f16 11.
    #[inline]
    fn fma_to_odd(a: f64, b: f64, c: f64) -> f64 {
        let p = a * b;
        let s = p + c;
        // Knuth's two-sum: `s + err` is `p + c` exactly. For an infinity or a NaN, `err` is NaN, and no adjustment is made.
        let t = s - p;
        let err = (p - (s - t)) + (c - t);
        let bits = s.to_bits();
        let inexact = (err < 0.0) | (err > 0.0);
        let away = (err > 0.0) == (s > 0.0);
        let odd = if away {
            bits.wrapping_add(1)
        } else {
            bits.wrapping_sub(1)
        };
        f64::from_bits(if inexact & (bits & 1 == 0) { odd } else { bits })
    }

    macro_rules! native_compare {
        ($f:ty) => {
            #[inline]
            fn lt(a: Self::Word, b: Self::Word) -> bool {
                <$f>::from_bits(a) < <$f>::from_bits(b)
            }
            #[inline]
            fn le(a: Self::Word, b: Self::Word) -> bool {
                <$f>::from_bits(a) <= <$f>::from_bits(b)
            }
            #[inline]
            fn eq(a: Self::Word, b: Self::Word) -> bool {
                <$f>::from_bits(a) == <$f>::from_bits(b)
            }
        };
    }

    macro_rules! native_arithmetic {
        ($f:ty, $scale:expr) => {
            // The product and the quotient are computed again, scaled up by powers of two so that their exponents are in range. A
            // product that overflows when scaled was not tiny.
            #[inline]
            fn tiny_mul(a: Self::Word, b: Self::Word) -> bool {
                const SCALE: $f = $scale;
                (<$f>::from_bits(a) * SCALE * <$f>::from_bits(b)).abs() < <$f>::MIN_POSITIVE * SCALE
            }
            #[inline]
            fn tiny_div(a: Self::Word, b: Self::Word) -> bool {
                const SCALE: $f = $scale;
                (<$f>::from_bits(a) * SCALE / <$f>::from_bits(b)).abs() < <$f>::MIN_POSITIVE * SCALE
            }
            #[inline]
            fn add(a: Self::Word, b: Self::Word) -> Self::Word {
                (<$f>::from_bits(a) + <$f>::from_bits(b)).to_bits()
            }
            #[inline]
            fn mul(a: Self::Word, b: Self::Word) -> Self::Word {
                (<$f>::from_bits(a) * <$f>::from_bits(b)).to_bits()
            }
            #[inline]
            fn div(a: Self::Word, b: Self::Word) -> Self::Word {
                (<$f>::from_bits(a) / <$f>::from_bits(b)).to_bits()
            }
            #[inline]
            fn sqrt(a: Self::Word) -> Self::Word {
                <$f>::from_bits(a).sqrt().to_bits()
            }
            #[inline]
            fn from_i64(v: i64) -> Self::Word {
                (v as $f).to_bits()
            }
            #[inline]
            fn from_u64(v: u64) -> Self::Word {
                (v as $f).to_bits()
            }
        };
    }

    impl Host for super::F64 {
        steps!(u64);
        native_compare!(f64);
        native_arithmetic!(f64, (1u128 << 80) as f64);
        #[inline]
        fn tiny_fma(a: Self::Word, b: Self::Word, c: Self::Word, r: Self::Word) -> bool {
            if r & !Self::SIGN != Self::LEAST {
                return Self::small(r);
            }
            let flush = super::Env::IEEE.flushing();
            super::exact::fma::<Self>(a, b, c, &flush) & !Self::SIGN == 0
        }
        #[inline]
        fn tiny_from_f64(v: f64) -> bool {
            Self::small(v.to_bits())
        }
        #[inline]
        fn fma(a: Self::Word, b: Self::Word, c: Self::Word) -> Self::Word {
            f64::from_bits(a)
                .mul_add(f64::from_bits(b), f64::from_bits(c))
                .to_bits()
        }
        #[inline]
        fn to_f64(a: Self::Word) -> f64 {
            f64::from_bits(a)
        }
        #[inline]
        fn from_f64(v: f64) -> Self::Word {
            v.to_bits()
        }
    }

    impl Host for super::F32 {
        steps!(u32);
        native_compare!(f32);
        native_arithmetic!(f32, (1u64 << 40) as f32);
        #[inline]
        fn tiny_fma(a: Self::Word, b: Self::Word, c: Self::Word, _: Self::Word) -> bool {
            Self::tiny_from_f64(fma_to_odd(
                Self::to_f64(a),
                Self::to_f64(b),
                Self::to_f64(c),
            ))
        }
        #[inline]
        fn tiny_from_f64(v: f64) -> bool {
            v.abs() < const { not_tiny(Self::MANT, Self::BIAS) }
        }
        // `f32::mul_add` would call the C library wherever the build may not assume FMA instructions.
        #[inline]
        fn fma(a: Self::Word, b: Self::Word, c: Self::Word) -> Self::Word {
            Self::from_f64(fma_to_odd(
                Self::to_f64(a),
                Self::to_f64(b),
                Self::to_f64(c),
            ))
        }
        #[inline]
        fn to_f64(a: Self::Word) -> f64 {
            f32::from_bits(a) as f64
        }
        #[inline]
        fn from_f64(v: f64) -> Self::Word {
            (v as f32).to_bits()
        }
    }

    /// f16 is computed in f64 and rounded once. Sums (at most 41 bits from 2^-24 to 2^16) and products (22 bits) are
    /// exact in f64, and fma uses [`fma_to_odd`]. The f64 quotient and root are rounded, yet they round to the same f16 as the
    /// exact values: a quotient of 11-bit numbers that is neither an f16 nor a midpoint differs from every 12-bit number by
    /// more than 2^-24 of itself, a root by more than 2^-26, so f64's rounding error of 2^-53 cannot move it onto or across one.
    impl Host for super::F16 {
        steps!(u32);
        #[inline]
        fn tiny_mul(a: Self::Word, b: Self::Word) -> bool {
            Self::tiny_from_f64(Self::to_f64(a) * Self::to_f64(b))
        }
        #[inline]
        fn tiny_fma(a: Self::Word, b: Self::Word, c: Self::Word, _: Self::Word) -> bool {
            Self::tiny_from_f64(fma_to_odd(
                Self::to_f64(a),
                Self::to_f64(b),
                Self::to_f64(c),
            ))
        }
        #[inline]
        fn tiny_div(a: Self::Word, b: Self::Word) -> bool {
            Self::tiny_from_f64(Self::to_f64(a) / Self::to_f64(b))
        }
        #[inline]
        fn tiny_from_f64(v: f64) -> bool {
            v.abs() < const { not_tiny(Self::MANT, Self::BIAS) }
        }
        #[inline]
        fn add(a: Self::Word, b: Self::Word) -> Self::Word {
            Self::from_f64(Self::to_f64(a) + Self::to_f64(b))
        }
        #[inline]
        fn mul(a: Self::Word, b: Self::Word) -> Self::Word {
            Self::from_f64(Self::to_f64(a) * Self::to_f64(b))
        }
        #[inline]
        fn fma(a: Self::Word, b: Self::Word, c: Self::Word) -> Self::Word {
            Self::from_f64(fma_to_odd(
                Self::to_f64(a),
                Self::to_f64(b),
                Self::to_f64(c),
            ))
        }
        #[inline]
        fn div(a: Self::Word, b: Self::Word) -> Self::Word {
            Self::from_f64(Self::to_f64(a) / Self::to_f64(b))
        }
        #[inline]
        fn sqrt(a: Self::Word) -> Self::Word {
            Self::from_f64(Self::to_f64(a).sqrt())
        }
        #[inline]
        fn lt(a: Self::Word, b: Self::Word) -> bool {
            Self::to_f64(a) < Self::to_f64(b)
        }
        #[inline]
        fn le(a: Self::Word, b: Self::Word) -> bool {
            Self::to_f64(a) <= Self::to_f64(b)
        }
        #[inline]
        fn eq(a: Self::Word, b: Self::Word) -> bool {
            Self::to_f64(a) == Self::to_f64(b)
        }
        // An integer that f64 cannot hold exactly is far above f16's largest value, so only one rounding can matter.
        #[inline]
        fn from_i64(v: i64) -> Self::Word {
            Self::from_f64(v as f64)
        }
        #[inline]
        fn from_u64(v: u64) -> Self::Word {
            Self::from_f64(v as f64)
        }
        #[inline]
        fn to_f64(a: Self::Word) -> f64 {
            let sign = (a as u64 & 0x8000) << 48;
            let magnitude = a as u64 & 0x7fff;
            let normal = (magnitude << 42) + ((1023 - 15) << 52);
            let special = 0x7ff << 52 | (magnitude & 0x3ff) << 42;
            // A denormal is its mantissa times 2^-24.
            let denormal = (magnitude as i32 as f64 * (1.0 / 16_777_216.0)).to_bits();
            let bits = if magnitude >= 0x7c00 {
                special
            } else if magnitude >= 0x400 {
                normal
            } else {
                denormal
            };
            f64::from_bits(sign | bits)
        }
        #[inline]
        fn from_f64(v: f64) -> Self::Word {
            /// Adding this number rounds a small number to a multiple of 2^-24, f16's smallest denormal.
            const STEP: f64 = (1u64 << 28) as f64;
            /// Numbers from this one on round to infinity: it is half a step above f16's largest value.
            const OVERFLOW: u64 = 65520.0f64.to_bits();
            /// f16's smallest normal value, 2^-14.
            const NORMAL: u64 = ((1023 - 14) as u64) << 52;
            let bits = v.to_bits();
            let sign = bits >> 48 & 0x8000;
            let magnitude = bits & (u64::MAX >> 1);
            let denormal = (f64::from_bits(magnitude) + STEP)
                .to_bits()
                .wrapping_sub(STEP.to_bits());
            // To nearest even: a carry out of the mantissa increments the exponent, as required.
            let rounded = magnitude
                .wrapping_add((1 << 41) - 1)
                .wrapping_add(magnitude >> 42 & 1);
            let normal = (rounded >> 42).wrapping_sub((1023 - 15) << 10);
            let result = if magnitude > 0x7ff << 52 {
                0x7e00
            } else if magnitude >= OVERFLOW {
                0x7c00
            } else if magnitude >= NORMAL {
                normal
            } else {
                denormal
            };
            (sign | result) as u32
        }
    }
}

use host::Host;

/// A binary floating-point type of the VALU. Implemented by [`F16`], [`F32`] and [`F64`] only.
pub trait Float: Copy + Debug + Host + 'static {
    /// Bits of the whole number.
    const BITS: u32;
    /// Bits of the mantissa that are stored.
    const MANT: u32;
    /// The bias of the exponent field.
    const BIAS: i32 = (1 << (Self::BITS - Self::MANT - 2)) - 1;
    /// All bits of the number.
    const MASK: u64 = u64::MAX >> (64 - Self::BITS);
    /// The sign bit.
    const SIGN: u64 = 1 << (Self::BITS - 1);
    /// The mantissa field.
    const MANT_MASK: u64 = (1 << Self::MANT) - 1;
    /// The exponent field, which is also plus infinity.
    const INF: u64 = Self::MASK & !Self::SIGN & !Self::MANT_MASK;
    /// The mantissa bit that makes a NaN quiet.
    const QUIET: u64 = 1 << (Self::MANT - 1);
    /// The result of an invalid operation that had no NaN operand.
    const DEFAULT_NAN: u64 = Self::SIGN | Self::INF | Self::QUIET;
    /// The least normal number.
    const LEAST: u64 = 1 << Self::MANT;
    /// 1.0.
    const ONE: u64 = (Self::BIAS as u64) << Self::MANT;
    /// The largest finite number.
    const MAX: u64 = Self::INF - 1;
}

impl Float for F16 {
    const BITS: u32 = 16;
    const MANT: u32 = 10;
}
impl Float for F32 {
    const BITS: u32 = 32;
    const MANT: u32 = 23;
}
impl Float for F64 {
    const BITS: u32 = 64;
    const MANT: u32 = 52;
}

/// Returns true if `a` is a NaN.
#[inline]
pub fn is_nan<F: Float>(a: u64) -> bool {
    a & (F::MASK ^ F::SIGN) > F::INF
}

/// Returns true if `a` is a signalling NaN.
#[inline]
pub fn is_snan<F: Float>(a: u64) -> bool {
    is_nan::<F>(a) && a & F::QUIET == 0
}

/// Returns true if `a` is an infinity.
#[inline]
pub fn is_inf<F: Float>(a: u64) -> bool {
    a & (F::MASK ^ F::SIGN) == F::INF
}

/// Returns true if `a` is a zero of either sign.
#[inline]
pub fn is_zero<F: Float>(a: u64) -> bool {
    a & (F::MASK ^ F::SIGN) == 0
}

/// Returns true if `a` is a denormal (zero is not).
#[inline]
pub fn is_denormal<F: Float>(a: u64) -> bool {
    a & F::INF == 0 && a & F::MANT_MASK != 0
}

#[inline]
fn is_finite<F: Float>(a: u64) -> bool {
    a & F::INF != F::INF
}

/// `-a`, NaNs included: the neg modifier.
#[inline]
pub fn neg<F: Float>(a: u64) -> u64 {
    a & F::MASK ^ F::SIGN
}

/// `|a|`, NaNs included: the abs modifier.
#[inline]
pub fn abs<F: Float>(a: u64) -> u64 {
    a & (F::MASK ^ F::SIGN)
}

/// `a`, with a NaN quieted if MODE.IEEE is set.
#[inline]
pub fn quiet<F: Float>(a: u64, env: &Env) -> u64 {
    let a = a & F::MASK;
    if is_nan::<F>(a) && env.ieee {
        a | F::QUIET
    } else {
        a
    }
}

/// Reads `a` as an operand: a denormal becomes the zero of its sign if inputs are flushed.
#[inline]
pub fn flush_in<F: Float>(a: u64, env: &Env) -> u64 {
    F::wide(F::flush(F::word(a), env.flush_in))
}

/// Writes `a` as a result that needed no rounding: a denormal becomes the zero of its sign if outputs are flushed.
#[inline]
pub fn flush_out<F: Float>(a: u64, env: &Env) -> u64 {
    F::wide(F::flush(F::word(a), env.flush_out))
}

/// Reads an operand.
#[inline]
fn operand<F: Float>(a: u64, env: &Env) -> F::Word {
    F::flush(F::word(a), env.flush_in)
}

/// The result of an operation on `a`, `b`, `c` that was rounded to `r`; `tiny` says that it is tiny. See [`Host::result`].
#[inline]
fn result<F: Float>(
    (r, tiny): (F::Word, bool),
    a: F::Word,
    b: F::Word,
    c: F::Word,
    env: &Env,
) -> u64 {
    F::wide(F::result(r, a, b, c, tiny, env.ieee))
}

/// The operand `c` of `a × b + c` for a NaN result: an invalid product is itself a NaN and takes precedence.
#[inline]
fn added<F: Float>(a: F::Word, b: F::Word, c: F::Word) -> F::Word {
    if F::invalid_product(a, b) { F::ZERO } else { c }
}

/// Exact arithmetic on finite numbers, rounded once in any mode. This is the slow path: directed rounding, and operations
/// that the host does not have. Infinities, NaNs and divisions by zero do not depend on rounding and are computed by the
/// host.
mod exact {
    use super::{Env, Float, Round, is_finite};

    /// `±sig × 2^exp`, with `sig` below 2^126. If an operation cut bits off, bit 0 of `sig` is the sticky bit.
    #[derive(Clone, Copy, Debug)]
    pub struct Exact {
        pub negative: bool,
        pub exp: i32,
        pub sig: u128,
    }

    /// The bit that [`Exact::aligned`] moves the leading one to, so that a sum still fits below 2^126.
    const TOP: u32 = 124;

    impl Exact {
        /// The value of a finite number.
        pub fn of<F: Float>(a: F::Word) -> Exact {
            let a = F::wide(a);
            debug_assert!(is_finite::<F>(a));
            let field = ((a & F::INF) >> F::MANT) as i32;
            let hidden = if field == 0 { 0 } else { 1 << F::MANT };
            Exact {
                negative: a & F::SIGN != 0,
                exp: field.max(1) - F::BIAS - F::MANT as i32,
                sig: (a & F::MANT_MASK | hidden) as u128,
            }
        }

        /// The same value with its leading one at bit [`TOP`]. It must not be zero, and `sig` must have no bits above.
        fn aligned(self) -> Exact {
            let up = self.sig.leading_zeros() - (127 - TOP);
            Exact {
                exp: self.exp - up as i32,
                sig: self.sig << up,
                ..self
            }
        }

        fn mul(self, other: Exact) -> Exact {
            Exact {
                negative: self.negative != other.negative,
                exp: self.exp + other.exp,
                sig: self.sig * other.sig,
            }
        }

        /// The sum. A zero sum is negative if both terms are, or if they cancel and `round` is towards minus infinity.
        fn add(self, other: Exact, round: Round) -> Exact {
            if self.sig == 0 && other.sig == 0 && self.negative == other.negative {
                return self;
            }
            if self.sig == 0 || other.sig == 0 {
                let sum = if other.sig == 0 { self } else { other };
                let negative = if sum.sig == 0 {
                    round == Round::MinusInf
                } else {
                    sum.negative
                };
                return Exact { negative, ..sum };
            }
            let (x, y) = (self.aligned(), other.aligned());
            let (large, small) = if x.exp >= y.exp { (x, y) } else { (y, x) };
            // Terms have at most 106 bits, so a term that loses bits here is more than 18 positions lower. Then at most
            // one leading bit can cancel, and bit 0 stays far below the position where the sum is rounded.
            let small_sig = shift_right_jam(small.sig, large.exp.abs_diff(small.exp));
            if large.negative == small.negative {
                return Exact {
                    sig: large.sig + small_sig,
                    ..large
                };
            }
            let negative = match large.sig.cmp(&small_sig) {
                std::cmp::Ordering::Greater => large.negative,
                std::cmp::Ordering::Less => small.negative,
                std::cmp::Ordering::Equal => round == Round::MinusInf,
            };
            Exact {
                negative,
                exp: large.exp,
                sig: large.sig.abs_diff(small_sig),
            }
        }

        /// The number of type `F` nearest to the value according to `env`. Overflow gives infinity, or the largest
        /// finite number if the mode rounds towards zero on that side; a tiny result becomes the zero of its sign if
        /// results are flushed.
        pub fn round<F: Float>(self, env: &Env) -> F::Word {
            F::word(self.round_wide::<F>(env))
        }

        fn round_wide<F: Float>(self, env: &Env) -> u64 {
            let round = env.round;
            let sign = if self.negative { F::SIGN } else { 0 };
            if self.sig == 0 {
                return sign;
            }
            let away = match round {
                Round::NearestEven | Round::Zero => false,
                Round::PlusInf => !self.negative,
                Round::MinusInf => self.negative,
            };
            let leading = self.exp + 127 - self.sig.leading_zeros() as i32;
            if leading > F::BIAS {
                return sign
                    | if away || round == Round::NearestEven {
                        F::INF
                    } else {
                        F::MAX
                    };
            }
            // The value as a whole number of steps of 2^`last`.
            let steps = |last: i32| {
                let (mant, rest, half) = match last - self.exp {
                    left @ ..=0 => ((self.sig << -left) as u64, 0, 1),
                    right @ 1..=126 => (
                        (self.sig >> right) as u64,
                        self.sig & ((1 << right) - 1),
                        1 << (right - 1),
                    ),
                    // `sig` is below 2^126, so less than half a step.
                    _ => (0, self.sig, u128::MAX),
                };
                let up = match round {
                    Round::NearestEven => rest > half || (rest == half && mant & 1 != 0),
                    _ => away && rest != 0,
                };
                mant + up as u64
            };
            if env.flush_out && leading < 1 - F::BIAS {
                // Only a carry through all bits reaches the least normal number.
                let reached =
                    leading == -F::BIAS && steps(leading - F::MANT as i32) > F::MANT_MASK << 1 | 1;
                if !reached {
                    return sign;
                }
            }
            // The exponent of the result's last bit.
            let last = leading.max(1 - F::BIAS) - F::MANT as i32;
            // The steps include the hidden bit of a normal number, which increments the exponent field; a carry
            // out of the mantissa increments it again, up to infinity.
            let field = (last + F::MANT as i32 + F::BIAS - 1) as u64;
            sign | ((field << F::MANT) + steps(last))
        }
    }

    fn finite<F: Float>(a: F::Word) -> bool {
        is_finite::<F>(F::wide(a))
    }

    fn shift_right_jam(sig: u128, by: u32) -> u128 {
        match by {
            0 => sig,
            1..=126 => sig >> by | (sig & ((1 << by) - 1) != 0) as u128,
            _ => (sig != 0) as u128,
        }
    }

    #[cold]
    pub fn add<F: Float>(a: F::Word, b: F::Word, env: &Env) -> F::Word {
        if !finite::<F>(a) || !finite::<F>(b) {
            return F::add(a, b);
        }
        Exact::of::<F>(a)
            .add(Exact::of::<F>(b), env.round)
            .round::<F>(env)
    }

    #[cold]
    pub fn mul<F: Float>(a: F::Word, b: F::Word, env: &Env) -> F::Word {
        if !finite::<F>(a) || !finite::<F>(b) {
            return F::mul(a, b);
        }
        Exact::of::<F>(a).mul(Exact::of::<F>(b)).round::<F>(env)
    }

    #[cold]
    pub fn fma<F: Float>(a: F::Word, b: F::Word, c: F::Word, env: &Env) -> F::Word {
        if !finite::<F>(a) || !finite::<F>(b) || !finite::<F>(c) {
            return F::fma(a, b, c);
        }
        let product = Exact::of::<F>(a).mul(Exact::of::<F>(b));
        product.add(Exact::of::<F>(c), env.round).round::<F>(env)
    }

    /// `a × b + c` as a number of type `D`.
    #[cold]
    pub fn fma_to<S: Float, D: Float>(a: S::Word, b: S::Word, c: S::Word, env: &Env) -> D::Word {
        let product = Exact::of::<S>(a).mul(Exact::of::<S>(b));
        product.add(Exact::of::<S>(c), env.round).round::<D>(env)
    }

    /// `(a × b + c) × 2^n`, fused: rounded once.
    #[cold]
    pub fn fma_ldexp<F: Float>(a: F::Word, b: F::Word, c: F::Word, n: i32, env: &Env) -> F::Word {
        if !finite::<F>(a) || !finite::<F>(b) || !finite::<F>(c) {
            return F::fma(a, b, c);
        }
        let product = Exact::of::<F>(a).mul(Exact::of::<F>(b));
        let sum = product.add(Exact::of::<F>(c), env.round);
        Exact {
            exp: sum.exp + n,
            ..sum
        }
        .round::<F>(env)
    }

    #[cold]
    pub fn div<F: Float>(a: F::Word, b: F::Word, env: &Env) -> F::Word {
        if !finite::<F>(a) || !finite::<F>(b) {
            return F::div(a, b);
        }
        let (x, y) = (Exact::of::<F>(a), Exact::of::<F>(b));
        if x.sig == 0 || y.sig == 0 {
            return F::div(a, b);
        }
        // A dividend of 125 bits by a divisor of at most 53 gives a quotient of at least 72, more than any type holds.
        let x = x.aligned();
        let quotient = ((x.sig / y.sig) << 1) | (x.sig % y.sig != 0) as u128;
        Exact {
            negative: x.negative != y.negative,
            exp: x.exp - y.exp - 1,
            sig: quotient,
        }
        .round::<F>(env)
    }

    #[cold]
    pub fn sqrt<F: Float>(a: F::Word, env: &Env) -> F::Word {
        if !finite::<F>(a) || F::wide(a) & F::SIGN != 0 || F::wide(a) == 0 {
            return F::sqrt(a);
        }
        let x = Exact::of::<F>(a).aligned();
        // An odd exponent moves one factor of two to the radicand, whose root then has 63 bits.
        let odd = x.exp & 1;
        let radicand = x.sig << odd;
        let root = radicand.isqrt();
        let sig = root << 1 | (root * root != radicand) as u128;
        Exact {
            negative: false,
            exp: (x.exp - odd) / 2 - 1,
            sig,
        }
        .round::<F>(env)
    }

    /// A finite number of type `S` as one of type `D`.
    #[cold]
    pub fn convert<S: Float, D: Float>(a: S::Word, env: &Env) -> D::Word {
        Exact::of::<S>(a).round::<D>(env)
    }

    /// `a × 2^n` of a finite `a`.
    #[cold]
    pub fn ldexp<F: Float>(a: F::Word, n: i32, env: &Env) -> F::Word {
        let x = Exact::of::<F>(a);
        // Beyond ±5000 every number of every type overflows or underflows.
        Exact {
            exp: x.exp + n.clamp(-5000, 5000),
            ..x
        }
        .round::<F>(env)
    }

    /// An integer as a number.
    #[cold]
    pub fn from_int<F: Float>(negative: bool, magnitude: u64, env: &Env) -> F::Word {
        Exact {
            negative,
            exp: 0,
            sig: magnitude as u128,
        }
        .round::<F>(env)
    }
}

/// `a + b`.
#[inline]
pub fn add<F: Float>(a: u64, b: u64, env: &Env) -> u64 {
    let (a, b) = (operand::<F>(a, env), operand::<F>(b, env));
    result::<F>(sum::<F>(a, b, env), a, b, F::ZERO, env)
}

/// `a - b`. A NaN `b` keeps its own sign, as a subtraction (and not an addition with the neg modifier) leaves it.
#[inline]
pub fn sub<F: Float>(a: u64, b: u64, env: &Env) -> u64 {
    let (a, b) = (operand::<F>(a, env), operand::<F>(b, env));
    result::<F>(sum::<F>(a, F::negate(b), env), a, b, F::ZERO, env)
}

/// A sum, and true if it is tiny and must be flushed.
#[inline]
fn sum<F: Float>(a: F::Word, b: F::Word, env: &Env) -> (F::Word, bool) {
    if env.round == Round::NearestEven {
        let r = F::add(a, b);
        (r, env.flush_out && F::small(r))
    } else {
        (exact::add::<F>(a, b, env), false)
    }
}

/// A product, and true if it is tiny and must be flushed.
#[inline]
fn product<F: Float>(a: F::Word, b: F::Word, env: &Env) -> (F::Word, bool) {
    if env.round == Round::NearestEven {
        (F::mul(a, b), env.flush_out && F::tiny_mul(a, b))
    } else {
        (exact::mul::<F>(a, b, env), false)
    }
}

/// `a × b`.
#[inline]
pub fn mul<F: Float>(a: u64, b: u64, env: &Env) -> u64 {
    let (a, b) = (operand::<F>(a, env), operand::<F>(b, env));
    result::<F>(product::<F>(a, b, env), a, b, F::ZERO, env)
}

/// `a × b + c`, fused: rounded once.
#[inline]
pub fn fma<F: Float>(a: u64, b: u64, c: u64, env: &Env) -> u64 {
    let (a, b, c) = (
        operand::<F>(a, env),
        operand::<F>(b, env),
        operand::<F>(c, env),
    );
    let r = if env.round == Round::NearestEven {
        let r = F::fma(a, b, c);
        (r, env.flush_out && F::tiny_fma(a, b, c, r))
    } else {
        (exact::fma::<F>(a, b, c, env), false)
    };
    result::<F>(r, a, b, added::<F>(a, b, c), env)
}

/// `a × b + c` of numbers of type `S`, fused: rounded once to the narrower type `D`, as in v_fma_mixlo_f16. `from` flushes the
/// operands; `to` rounds and flushes the result.
pub fn fma_to<S: Float, D: Float>(a: u64, b: u64, c: u64, from: &Env, to: &Env) -> u64 {
    let [x, y, z] = [a, b, c].map(|v| flush_in::<S>(v, from));
    if ![x, y, z].into_iter().all(is_finite::<S>) {
        // An infinity or a NaN does not depend on how it is computed.
        let wide = from.keeping_denormals();
        return convert::<S, D>(fma::<S>(x, y, z, &wide), &wide, to);
    }
    let [x, y, z] = [x, y, z].map(S::word);
    D::wide(exact::fma_to::<S, D>(x, y, z, to))
}

/// `(a × b + c) × 2^n`, fused: rounded once. Denormal operands are never flushed: v_div_fmas (docs/errata.md, valu-div-fmas).
pub fn fma_ldexp<F: Float>(a: u64, b: u64, c: u64, n: i32, env: &Env) -> u64 {
    let [a, b, c] = [a, b, c].map(F::word);
    let r = exact::fma_ldexp::<F>(a, b, c, n, env);
    result::<F>((r, false), a, b, added::<F>(a, b, c), env)
}

/// `a × b + c`, unfused: the product is rounded (and flushed) before the sum. v_mad_f32 and v_mac_f32 flush denormals independently
/// of MODE: pass [`Env::flushing`] for them.
#[inline]
pub fn mad<F: Float>(a: u64, b: u64, c: u64, env: &Env) -> u64 {
    let (a, b, c) = (
        operand::<F>(a, env),
        operand::<F>(b, env),
        operand::<F>(c, env),
    );
    // The product is treated as a result and then as an operand.
    let (r, tiny) = product::<F>(a, b, env);
    let r = F::flush(F::zeroed(r, tiny), env.flush_in);
    result::<F>(sum::<F>(r, c, env), a, b, added::<F>(a, b, c), env)
}

/// `a ÷ b`, correctly rounded. `x ÷ 0` is an infinity, `0 ÷ 0` and `∞ ÷ ∞` are invalid.
#[inline]
pub fn div<F: Float>(a: u64, b: u64, env: &Env) -> u64 {
    let (a, b) = (operand::<F>(a, env), operand::<F>(b, env));
    let r = if env.round == Round::NearestEven {
        (F::div(a, b), env.flush_out && F::tiny_div(a, b))
    } else {
        (exact::div::<F>(a, b, env), false)
    };
    result::<F>(r, a, b, F::ZERO, env)
}

/// The square root, correctly rounded. `√-0` is `-0`; other negative operands are invalid.
#[inline]
pub fn sqrt<F: Float>(a: u64, env: &Env) -> u64 {
    let a = operand::<F>(a, env);
    let r = if env.round == Round::NearestEven {
        F::sqrt(a)
    } else {
        exact::sqrt::<F>(a, env)
    };
    result::<F>((r, false), a, F::ZERO, F::ZERO, env)
}

/// The smaller of two numbers; -0 is less than +0. With MODE.IEEE a signalling NaN is quieted and returned, the first
/// operand's first; otherwise, if one operand is a NaN, the other operand is returned unchanged, even if it is a NaN too.
/// Source: AMD's pseudocode for v_min_f32 (Vega and CDNA manuals). Before gfx9 v_min and v_max keep denormals independently
/// of MODE: pass [`Env::keeping_denormals`] for them.
#[inline]
pub fn min<F: Float>(a: u64, b: u64, env: &Env) -> u64 {
    let r = F::min_max(false, operand::<F>(a, env), operand::<F>(b, env), env.ieee);
    F::wide(F::flush(r, env.flush_out))
}

/// The larger of two numbers; otherwise as [`min`].
#[inline]
pub fn max<F: Float>(a: u64, b: u64, env: &Env) -> u64 {
    let r = F::min_max(true, operand::<F>(a, env), operand::<F>(b, env), env.ieee);
    F::wide(F::flush(r, env.flush_out))
}

/// The sixteen comparisons of v_cmp, numbered as OP16 numbers them. The last seven are the negations of the first and
/// therefore true on NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Cmp {
    /// Always false.
    F = 0,
    /// Less.
    Lt = 1,
    /// Equal.
    Eq = 2,
    /// Less or equal.
    Le = 3,
    /// Greater.
    Gt = 4,
    /// Less or greater.
    Lg = 5,
    /// Greater or equal.
    Ge = 6,
    /// Ordered: no NaN.
    O = 7,
    /// Unordered: a NaN.
    U = 8,
    /// Not greater or equal.
    Nge = 9,
    /// Not less or greater.
    Nlg = 10,
    /// Not greater.
    Ngt = 11,
    /// Not less or equal.
    Nle = 12,
    /// Not equal.
    Neq = 13,
    /// Not less.
    Nlt = 14,
    /// Always true.
    Tru = 15,
}

/// `a op b`, denormal inputs flushed as `env` says.
#[inline]
pub fn compare<F: Float>(op: Cmp, a: u64, b: u64, env: &Env) -> bool {
    match op {
        Cmp::F => false,
        Cmp::Lt => lt::<F>(a, b, env),
        Cmp::Eq => eq::<F>(a, b, env),
        Cmp::Le => le::<F>(a, b, env),
        Cmp::Gt => gt::<F>(a, b, env),
        Cmp::Lg => lg::<F>(a, b, env),
        Cmp::Ge => ge::<F>(a, b, env),
        Cmp::O => o::<F>(a, b),
        Cmp::U => u::<F>(a, b),
        Cmp::Nge => !ge::<F>(a, b, env),
        Cmp::Nlg => !lg::<F>(a, b, env),
        Cmp::Ngt => !gt::<F>(a, b, env),
        Cmp::Nle => !le::<F>(a, b, env),
        Cmp::Neq => !eq::<F>(a, b, env),
        Cmp::Nlt => !lt::<F>(a, b, env),
        Cmp::Tru => true,
    }
}

/// `a < b`; false on NaN.
#[inline]
pub fn lt<F: Float>(a: u64, b: u64, env: &Env) -> bool {
    F::lt(operand::<F>(a, env), operand::<F>(b, env))
}

/// `a = b`; false on NaN.
#[inline]
pub fn eq<F: Float>(a: u64, b: u64, env: &Env) -> bool {
    F::eq(operand::<F>(a, env), operand::<F>(b, env))
}

/// `a ≤ b`; false on NaN.
#[inline]
pub fn le<F: Float>(a: u64, b: u64, env: &Env) -> bool {
    F::le(operand::<F>(a, env), operand::<F>(b, env))
}

/// `a > b`; false on NaN.
#[inline]
pub fn gt<F: Float>(a: u64, b: u64, env: &Env) -> bool {
    lt::<F>(b, a, env)
}

/// `a < b` or `a > b`; false on NaN.
#[inline]
pub fn lg<F: Float>(a: u64, b: u64, env: &Env) -> bool {
    o::<F>(a, b) & !eq::<F>(a, b, env)
}

/// `a ≥ b`; false on NaN.
#[inline]
pub fn ge<F: Float>(a: u64, b: u64, env: &Env) -> bool {
    le::<F>(b, a, env)
}

/// True if neither is NaN.
#[inline]
pub fn o<F: Float>(a: u64, b: u64) -> bool {
    !is_nan::<F>(a) & !is_nan::<F>(b)
}

/// True if at least one is NaN.
#[inline]
pub fn u<F: Float>(a: u64, b: u64) -> bool {
    is_nan::<F>(a) | is_nan::<F>(b)
}

/// The class of a number as v_cmp_class numbers it: 0 signalling NaN, 1 quiet NaN, 2 -∞, 3 negative normal, 4 negative
/// denormal, 5 -0, 6 +0, 7 positive denormal, 8 positive normal, 9 +∞. Denormals are never flushed here.
#[inline]
pub fn class<F: Float>(a: u64) -> u32 {
    if is_nan::<F>(a) {
        return (a & F::QUIET != 0) as u32;
    }
    let magnitude = abs::<F>(a);
    let size = if magnitude == F::INF {
        3
    } else if magnitude > F::MANT_MASK {
        2
    } else if magnitude != 0 {
        1
    } else {
        0
    };
    if a & F::SIGN != 0 { 5 - size } else { 6 + size }
}

/// Returns true if the bit of `a`'s [`class`] is set in `mask`: v_cmp_class.
#[inline]
pub fn class_test<F: Float>(a: u64, mask: u32) -> bool {
    mask >> class::<F>(a) & 1 != 0
}

/// Converts `a` of type `S` to type `D`. `from` flushes the operand; `to` rounds and flushes the result. A NaN is quieted; its
/// sign is kept, and so is its payload, aligned at the quiet bit.
#[inline]
pub fn convert<S: Float, D: Float>(a: u64, from: &Env, to: &Env) -> u64 {
    let a = flush_in::<S>(a, from);
    if is_nan::<S>(a) {
        let sign = (a >> (S::BITS - 1)) << (D::BITS - 1);
        let payload = (a & S::MANT_MASK) << (63 - S::MANT) >> (63 - D::MANT);
        // Without a payload the result would be an infinity.
        let quiet = if to.ieee || payload == 0 { D::QUIET } else { 0 };
        return sign | D::INF | quiet | payload;
    }
    let r = if to.round == Round::NearestEven || D::MANT >= S::MANT || is_inf::<S>(a) {
        let v = S::to_f64(S::word(a));
        D::zeroed(D::from_f64(v), to.flush_out && D::tiny_from_f64(v))
    } else {
        exact::convert::<S, D>(S::word(a), to)
    };
    D::wide(r)
}

/// A signed integer as a number.
#[inline]
pub fn from_i64<F: Float>(v: i64, env: &Env) -> u64 {
    if env.round == Round::NearestEven {
        F::wide(F::from_i64(v))
    } else {
        F::wide(exact::from_int::<F>(v < 0, v.unsigned_abs(), env))
    }
}

/// An unsigned integer as a number.
#[inline]
pub fn from_u64<F: Float>(v: u64, env: &Env) -> u64 {
    if env.round == Round::NearestEven {
        F::wide(F::from_u64(v))
    } else {
        F::wide(exact::from_int::<F>(false, v, env))
    }
}

/// A signed integer as a number: v_cvt_f32_i32, v_cvt_f64_i32.
#[inline]
pub fn from_i32<F: Float>(v: i32, env: &Env) -> u64 {
    if env.round == Round::NearestEven {
        F::wide(F::from_f64(v as f64))
    } else {
        from_i64::<F>(v as i64, env)
    }
}

/// An unsigned integer as a number: v_cvt_f32_u32, v_cvt_f64_u32.
#[inline]
pub fn from_u32<F: Float>(v: u32, env: &Env) -> u64 {
    if env.round == Round::NearestEven {
        F::wide(F::from_f64(v as f64))
    } else {
        from_u64::<F>(v as u64, env)
    }
}

/// A signed integer as a number: v_cvt_f16_i16.
#[inline]
pub fn from_i16<F: Float>(v: i16, env: &Env) -> u64 {
    from_i32::<F>(v as i32, env)
}

/// An unsigned integer as a number: v_cvt_f16_u16.
#[inline]
pub fn from_u16<F: Float>(v: u16, env: &Env) -> u64 {
    from_u32::<F>(v as u32, env)
}

/// Truncates to an integer; out of range gives the nearest limit of the range, NaN gives 0: v_cvt_i32_f32.
#[inline]
pub fn to_i32<F: Float>(a: u64) -> i32 {
    F::to_f64(F::word(a)) as i32
}

/// As [`to_i32`], unsigned: a negative number gives 0.
#[inline]
pub fn to_u32<F: Float>(a: u64) -> u32 {
    F::to_f64(F::word(a)) as u32
}

/// As [`to_i32`], to 16 bits.
#[inline]
pub fn to_i16<F: Float>(a: u64) -> i16 {
    F::to_f64(F::word(a)) as i16
}

/// As [`to_u32`], to 16 bits.
#[inline]
pub fn to_u16<F: Float>(a: u64) -> u16 {
    F::to_f64(F::word(a)) as u16
}

/// As [`to_i32`], to 64 bits.
#[inline]
pub fn to_i64<F: Float>(a: u64) -> i64 {
    F::to_f64(F::word(a)) as i64
}

/// As [`to_u32`], to 64 bits.
#[inline]
pub fn to_u64<F: Float>(a: u64) -> u64 {
    F::to_f64(F::word(a)) as u64
}

/// `a` rounded to an integer according to `round`. The sign is kept, also of zeros; infinities stay, a NaN is quieted.
#[inline]
pub fn round_to_integral<F: Float>(a: u64, round: Round, env: &Env) -> u64 {
    let a = flush_in::<F>(a, env);
    let exponent = ((a & F::INF) >> F::MANT) as i32 - F::BIAS;
    if exponent >= F::MANT as i32 {
        return quiet::<F>(a, env);
    }
    let negative = a & F::SIGN != 0;
    let magnitude = abs::<F>(a);
    if exponent < 0 {
        let to_one = match round {
            // Above one half; one half itself goes to the even zero.
            Round::NearestEven => magnitude > F::ONE - (1 << F::MANT),
            Round::PlusInf => !negative & (magnitude != 0),
            Round::MinusInf => negative & (magnitude != 0),
            Round::Zero => false,
        };
        return a & F::SIGN | if to_one { F::ONE } else { 0 };
    }
    // The bits below the binary point. A carry out of the mantissa increments the exponent, as required.
    let fraction = F::MANT_MASK >> exponent;
    let unit = fraction + 1;
    let up = match round {
        // Adding half a unit carries if the fraction is at least a half; for an even number only if it exceeds a half. For 1
        // ≤ |a| < 2 the unit bit is the lowest bit of the exponent field, which is set then, like the hidden bit.
        Round::NearestEven => (unit >> 1) - (a & unit == 0) as u64,
        Round::PlusInf if !negative => fraction,
        Round::MinusInf if negative => fraction,
        _ => 0,
    };
    (a + up) & !fraction
}

/// Towards zero.
#[inline]
pub fn trunc<F: Float>(a: u64, env: &Env) -> u64 {
    round_to_integral::<F>(a, Round::Zero, env)
}

/// Towards plus infinity.
#[inline]
pub fn ceil<F: Float>(a: u64, env: &Env) -> u64 {
    round_to_integral::<F>(a, Round::PlusInf, env)
}

/// Towards minus infinity.
#[inline]
pub fn floor<F: Float>(a: u64, env: &Env) -> u64 {
    round_to_integral::<F>(a, Round::MinusInf, env)
}

/// To the nearest, halves to the even one.
#[inline]
pub fn rndne<F: Float>(a: u64, env: &Env) -> u64 {
    round_to_integral::<F>(a, Round::NearestEven, env)
}

/// `a × 2^n`, rounded once.
#[inline]
pub fn ldexp<F: Float>(a: u64, n: i32, env: &Env) -> u64 {
    let a = flush_in::<F>(a, env);
    if !is_finite::<F>(a) {
        return quiet::<F>(a, env);
    }
    let field = ((a & F::INF) >> F::MANT) as i64;
    let scaled = field + n as i64;
    if field != 0 && scaled > 0 && scaled <= 2 * F::BIAS as i64 {
        return a & !F::INF | (scaled as u64) << F::MANT;
    }
    F::wide(exact::ldexp::<F>(F::word(a), n, env))
}

/// The exponent `e` of `a = m × 2^e` with ½ ≤ |m| < 1. Zero, infinities and NaNs give 0: v_frexp_exp.
#[inline]
pub fn frexp_exp<F: Float>(a: u64, env: &Env) -> i32 {
    let a = flush_in::<F>(a, env);
    if !is_finite::<F>(a) || is_zero::<F>(a) {
        return 0;
    }
    let field = ((a & F::INF) >> F::MANT) as i32;
    if field != 0 {
        return field - F::BIAS + 1;
    }
    // The leading one of a denormal is below the position of the hidden bit.
    let leading = 63 - (a & F::MANT_MASK).leading_zeros() as i32;
    leading - F::MANT as i32 - F::BIAS + 2
}

/// The `m` of [`frexp_exp`]. Zero and infinities stay as they are, a NaN is quieted: v_frexp_mant.
#[inline]
pub fn frexp_mant<F: Float>(a: u64, env: &Env) -> u64 {
    let a = flush_in::<F>(a, env);
    if !is_finite::<F>(a) || is_zero::<F>(a) {
        return quiet::<F>(a, env);
    }
    let half = F::ONE - (1 << F::MANT);
    let mant = a & F::MANT_MASK;
    let mant = if a & F::INF != 0 {
        mant
    } else {
        mant << (F::MANT + 1 - (64 - mant.leading_zeros())) & F::MANT_MASK
    };
    a & F::SIGN | half | mant
}

/// The output modifiers of VOP3 on a result: first omod (0 none, 1 ×2, 2 ×4, 3 ÷2; other bits are ignored), then clamp.
///
/// Output modifiers in the GCN manuals: "if output denormals are enabled, then output modifiers are ignored. If output
/// denormals are disabled, then the output modifier is applied and denormals are flushed to zero. Output modifiers are
/// not IEEE compatible: -0 is flushed to +0. Output modifiers are ignored if the IEEE mode bit is set to 1." Chips take the
/// rounded result; they give +0 for a zero or denormal one, and the zero of its sign where halving makes it tiny. A product
/// that overflows is rounded as `env` says.
///
/// Clamp confines the result to [0, 1], -0 becoming +0. NaN becomes 0 with MODE.DX10_CLAMP and stays otherwise.
#[inline]
pub fn apply_omod_clamp<F: Float>(bits: u64, omod: u32, clamp: bool, env: &Env) -> u64 {
    let mut r = bits & F::MASK;
    if omod & 3 != 0 && !env.ieee && env.flush_out && is_finite::<F>(r) {
        let (sign, field) = (r & F::SIGN, (r & F::INF) >> F::MANT);
        let steps = u64::from(omod & 3);
        r = match (field, steps) {
            (0, _) => 0,
            (1, 3) => sign,
            (_, 3) => r - F::LEAST,
            _ if field + steps < F::INF >> F::MANT => r + steps * F::LEAST,
            // Twice the largest number, rounded.
            _ => mul::<F>(sign | F::MAX, F::ONE + F::LEAST, env),
        };
    }
    if clamp {
        r = if is_nan::<F>(r) {
            if env.dx10_clamp { 0 } else { r }
        } else if r & F::SIGN != 0 {
            0
        } else {
            r.min(F::ONE)
        };
    }
    r
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustc_apfloat::ieee::{Double, Half, Quad, Single};
    use rustc_apfloat::{Float as Ap, FloatConvert, Round as ApRound};

    const ROUNDS: [Round; 4] = [
        Round::NearestEven,
        Round::PlusInf,
        Round::MinusInf,
        Round::Zero,
    ];

    fn ap_round(r: Round) -> ApRound {
        match r {
            Round::NearestEven => ApRound::NearestTiesToEven,
            Round::PlusInf => ApRound::TowardPositive,
            Round::MinusInf => ApRound::TowardNegative,
            Round::Zero => ApRound::TowardZero,
        }
    }

    /// SplitMix64.
    struct Rng(u64);

    impl Rng {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        }

        /// A number of type `F`; edge cases, short mantissas and neighbouring exponents are much more frequent than in uniform
        /// bits.
        fn number<F: Float>(&mut self) -> u64 {
            let r = self.next();
            let sign = self.next() & F::SIGN;
            let mantissa = match self.next() % 4 {
                0 => self.next() & F::MANT_MASK,
                1 => (self.next() & 7) << (F::MANT - 3),
                2 => self.next() & 7,
                _ => F::MANT_MASK - (self.next() & 7),
            };
            let exponent = match r % 8 {
                0 => 0,
                1 => F::INF - (1 << F::MANT),
                2 if r >> 8 & 3 == 0 => F::INF,
                2 | 3 => (self.next() % 40) << F::MANT,
                4 | 5 => F::ONE - (8 << F::MANT) + ((self.next() % 16) << F::MANT),
                _ => self.next(),
            };
            let magnitude = exponent & F::INF | mantissa;
            sign | if r >> 16 & 31 == 0 { 0 } else { magnitude }
        }
    }

    fn env(round: Round, flush: u64) -> Env {
        Env {
            round,
            flush_in: flush & 1 != 0,
            flush_out: flush & 2 != 0,
            ieee: flush & 4 != 0,
            dx10_clamp: true,
        }
    }

    /// The number of powers of two by which the oracle's second result is larger, so that its exponent is in range.
    fn raise<F: Float>() -> i32 {
        if F::BITS == 16 { 10 } else { 64 }
    }

    /// An operand of the oracle, larger by a power of two. It is computed through its bits, because the compiler was seen to
    /// change the number that is passed (rustc 1.95.0, only at optimization level 1).
    fn raised<F: Float, A: Ap>(v: A, by: i32) -> A {
        let scale = A::from_bits((F::ONE + ((by as u64) << F::MANT)) as u128);
        (A::from_bits(v.to_bits()) * scale).value
    }

    /// The expected result for a result of the oracle: NaNs follow the rule for operands, tiny results are flushed. `raised` is the
    /// result of the same operation with operands that make it [`raise`] powers of two larger.
    fn expected<F: Float, A: Ap>(r: A, raised: A, operands: &[u64], env: &Env) -> u64 {
        if r.is_nan() {
            let nan = operands.iter().copied().find(|&x| is_nan::<F>(x));
            let quiet = if env.ieee { F::QUIET } else { 0 };
            return nan.map_or(F::DEFAULT_NAN, |x| x | quiet);
        }
        let bits = r.to_bits() as u64;
        // The least normal number, raised as well. Compared as bits, so that a NaN is not less.
        let least = F::LEAST + ((raise::<F>() as u64) << F::MANT);
        let raised = abs::<F>(raised.to_bits() as u64);
        let tiny = r.is_denormal() || abs::<F>(bits) == F::LEAST && raised < least;
        if env.flush_out && tiny {
            bits & F::SIGN
        } else {
            bits
        }
    }

    fn read<F: Float, A: Ap>(a: u64, env: &Env) -> A {
        let a = if env.flush_in && is_denormal::<F>(a) {
            a & F::SIGN
        } else {
            a
        };
        A::from_bits(a as u128)
    }

    fn arithmetic<F: Float, A: Ap>(cases: usize) {
        let mut rng = Rng(F::BITS as u64);
        for i in 0..cases {
            let (a, b, c) = (rng.number::<F>(), rng.number::<F>(), rng.number::<F>());
            // Sometimes a sum that nearly cancels.
            let c = if i % 5 == 0 {
                neg::<F>(mul::<F>(a, b, &Env::IEEE)) ^ (rng.next() & 1)
            } else {
                c
            };
            for round in ROUNDS {
                let e = env(round, rng.next());
                let r = ap_round(round);
                let [x, y, z] = [a, b, c].map(|v| read::<F, A>(v, &e));
                let up = |v: A| raised::<F, A>(v, raise::<F>());
                let (small, large) = if x.abs() < y.abs() { (x, y) } else { (y, x) };
                let invalid = x.is_zero() && y.is_infinite() || x.is_infinite() && y.is_zero();
                let three = if invalid { vec![] } else { vec![a, b, c] };
                let at = format!("{a:#x} {b:#x} {c:#x} {e:?}");
                assert_eq!(
                    add::<F>(a, c, &e),
                    expected::<F, A>(
                        x.add_r(z, r).value,
                        up(x).add_r(up(z), r).value,
                        &[a, c],
                        &e
                    ),
                    "add {at}"
                );
                assert_eq!(
                    sub::<F>(a, b, &e),
                    expected::<F, A>(
                        x.sub_r(y, r).value,
                        up(x).sub_r(up(y), r).value,
                        &[a, b],
                        &e
                    ),
                    "sub {at}"
                );
                assert_eq!(
                    mul::<F>(a, b, &e),
                    expected::<F, A>(
                        x.mul_r(y, r).value,
                        up(small).mul_r(large, r).value,
                        &[a, b],
                        &e
                    ),
                    "mul {at}"
                );
                assert_eq!(
                    div::<F>(a, b, &e),
                    expected::<F, A>(x.div_r(y, r).value, up(x).div_r(y, r).value, &[a, b], &e),
                    "div {at}"
                );
                let fused = x.mul_add_r(y, z, r).value;
                assert_eq!(
                    fma::<F>(a, b, c, &e),
                    expected::<F, A>(
                        fused,
                        up(small).mul_add_r(large, up(z), r).value,
                        &three,
                        &e
                    ),
                    "fma {at}"
                );
                let product = x.mul_r(y, r).value;
                let raised = up(small).mul_r(large, r).value;
                let product = if product.is_nan() {
                    product
                } else {
                    A::from_bits(expected::<F, A>(product, raised, &[], &e) as u128)
                };
                // The environment may flush inputs and keep outputs, and then the sum flushes the product it reads.
                let product: A = if product.is_nan() {
                    product
                } else {
                    read::<F, A>(product.to_bits() as u64, &e)
                };
                let sum = product.add_r(z, r).value;
                assert_eq!(
                    mad::<F>(a, b, c, &e),
                    expected::<F, A>(sum, up(product).add_r(up(z), r).value, &three, &e),
                    "mad {at}"
                );

                let n = (rng.next() % 300) as i32 - 150;
                let n = if rng.next() & 7 == 0 {
                    rng.next() as i32
                } else {
                    n * (1 << (F::BITS / 32))
                };
                let scaled = x.scalbn_r(n, r);
                assert_eq!(
                    ldexp::<F>(a, n, &e),
                    expected::<F, A>(
                        scaled,
                        x.scalbn_r(n.saturating_add(raise::<F>()), r),
                        &[a],
                        &e
                    ),
                    "ldexp {n} {at}"
                );
                let whole = x.round_to_integral(r).value;
                assert_eq!(
                    round_to_integral::<F>(a, round, &e),
                    expected::<F, A>(whole, up(whole), &[a], &e),
                    "round_to_integral {at}"
                );
                let (lt, eq) = (x < y, x == y);
                let (o, gt) = (!x.is_nan() && !y.is_nan(), x > y);
                let truth = [false, lt, eq, lt | eq, gt, lt | gt, gt | eq, o];
                for (i, op) in CMPS.into_iter().enumerate() {
                    // The second half is the negation of the first, counted from its end.
                    let want = if i < 8 { truth[i] } else { !truth[15 - i] };
                    assert_eq!(compare::<F>(op, a, b, &e), want, "{op:?} {at}");
                }
            }
        }
    }

    const CMPS: [Cmp; 16] = [
        Cmp::F,
        Cmp::Lt,
        Cmp::Eq,
        Cmp::Le,
        Cmp::Gt,
        Cmp::Lg,
        Cmp::Ge,
        Cmp::O,
        Cmp::U,
        Cmp::Nge,
        Cmp::Nlg,
        Cmp::Ngt,
        Cmp::Nle,
        Cmp::Neq,
        Cmp::Nlt,
        Cmp::Tru,
    ];

    #[test]
    fn comparisons_are_numbered_as_op16() {
        for (i, op) in CMPS.into_iter().enumerate() {
            assert_eq!(op as usize, i);
        }
    }

    #[test]
    fn f16_arithmetic_agrees_with_apfloat() {
        arithmetic::<F16, Half>(CASES);
    }

    #[test]
    fn f32_arithmetic_agrees_with_apfloat() {
        arithmetic::<F32, Single>(CASES);
    }

    #[test]
    fn f64_arithmetic_agrees_with_apfloat() {
        arithmetic::<F64, Double>(CASES);
    }

    /// The number of cases; each is tested in four roundings and ten operations.
    const CASES: usize = 30_000;

    /// The two paths are implemented separately and must agree where both apply.
    #[test]
    fn host_and_exact_paths_agree_on_nearest_even() {
        fn check<F: Float>() {
            let mut rng = Rng(77);
            for _ in 0..100_000 {
                let (a, b, c) = (rng.number::<F>(), rng.number::<F>(), rng.number::<F>());
                let even = &Env::IEEE;
                let [x, y, z] = [a, b, c].map(F::word);
                for (host, exact) in [
                    (F::add(x, y), exact::add::<F>(x, y, even)),
                    (F::mul(x, y), exact::mul::<F>(x, y, even)),
                    (F::fma(x, y, z), exact::fma::<F>(x, y, z, even)),
                    (F::div(x, y), exact::div::<F>(x, y, even)),
                    (F::sqrt(x), exact::sqrt::<F>(x, even)),
                ] {
                    let (host, exact) = (F::wide(host), F::wide(exact));
                    assert!(
                        host == exact || is_nan::<F>(host) && is_nan::<F>(exact),
                        "{a:#x} {b:#x} {c:#x}"
                    );
                }
            }
        }
        check::<F16>();
        check::<F32>();
        check::<F64>();
    }

    /// Double rounding is the error that a fused operation on wider numbers can make.
    #[test]
    fn fma_rounds_once() {
        let f = |v: f32| v.to_bits() as u64;
        let (above, below) = (1.0 + 2f32.powi(-23), 1.0 - 2f32.powi(-23));
        // The product 2^-24 × (1 - 2^-46) is slightly less than half a step of 1 + 2^-23. A sum that is first rounded to f64
        // would become the tie, and round up to the even neighbour.
        let step = 2f32.powi(-12);
        let c = f(1.0) + 1;
        assert_eq!(
            fma::<F32>(f(step * above), f(step * below), c, &Env::IEEE),
            c
        );
        assert_eq!(
            fma::<F32>(f(step * above), f(step * above), c - 1, &Env::IEEE),
            c
        );
        // The same among denormals, whose step is 2^-149.
        let step = 2f32.powi(-75);
        let c = f(2f32.powi(-127)) + 1;
        assert_eq!(
            fma::<F32>(f(step * above), f(step * below), c, &Env::IEEE),
            c
        );
        assert_eq!(
            fma::<F32>(f(step * above), f(step * above), c - 1, &Env::IEEE),
            c
        );
    }

    /// Every f16 root in every rounding, and f32 and f64 roots at random: the root squared, which is exact in quad (and
    /// in f64 for the others), brackets the operand.
    #[test]
    fn square_roots_are_correctly_rounded() {
        fn check<F: Float, A: Ap + FloatConvert<Quad>>(a: u64) {
            let quad = |v: u64| A::from_bits(v as u128).convert(&mut false).value;
            let square = |v: u64| (quad(v) * quad(v)).value;
            let [down, up, near, zero] = [
                Round::MinusInf,
                Round::PlusInf,
                Round::NearestEven,
                Round::Zero,
            ]
            .map(|round| sqrt::<F>(a, &Env::IEEE.rounding(round)));
            if is_nan::<F>(a) {
                assert_eq!(near, a | F::QUIET);
            } else if is_zero::<F>(a) {
                assert!(near == a && down == a && up == a && zero == a);
            } else if a & F::SIGN != 0 {
                assert!(near == F::DEFAULT_NAN && down == near && up == near && zero == near);
            } else if a == F::INF {
                assert!(near == a && down == a && up == a && zero == a);
            } else {
                let exact = square(down) == quad(a);
                assert!(square(down) <= quad(a) && quad(a) <= square(up), "{a:#x}");
                assert_eq!(up - down, !exact as u64, "{a:#x}");
                assert_eq!(zero, down, "{a:#x}");
                // A root is never half way between two numbers, so the middle's square decides. It is exact in quad
                // (f64: 54 bits, whose square has 108).
                let half = Quad::from_bits(0x3ffe << 112);
                let middle = ((quad(down) + quad(up)).value * half).value;
                let want = if quad(a) < (middle * middle).value {
                    down
                } else {
                    up
                };
                assert_eq!(near, want, "{a:#x}");
            }
        }
        for a in 0..=0xffff {
            check::<F16, Half>(a);
        }
        let mut rng = Rng(3);
        for _ in 0..50_000 {
            check::<F32, Single>(rng.number::<F32>());
            check::<F64, Double>(rng.number::<F64>());
        }
    }

    #[test]
    fn conversions_agree_with_apfloat() {
        fn check<S: Float, D: Float, A: Ap + FloatConvert<B>, B: Ap>(a: u64, rng: &mut Rng) {
            for round in ROUNDS {
                let (from, to) = (env(round, rng.next()), env(round, rng.next()));
                let r = convert::<S, D>(a, &from, &to);
                if is_nan::<S>(a) {
                    assert!(is_nan::<D>(r), "{a:#x} {to:?}");
                    assert!(!to.ieee || r & D::QUIET != 0, "{a:#x} {to:?}");
                    assert_eq!(r & D::SIGN != 0, a & S::SIGN != 0);
                    continue;
                }
                let x = read::<S, A>(a, &from);
                let converted = |x: A| x.convert_r(ap_round(round), &mut false).value;
                let raised = converted(raised::<S, A>(x, raise::<D>()));
                let want = expected::<D, B>(converted(x), raised, &[], &to);
                assert_eq!(r, want, "{a:#x} {from:?} {to:?}");
            }
        }
        let mut rng = Rng(4);
        for a in 0..=0xffff {
            check::<F16, F32, Half, Single>(a, &mut rng);
            check::<F16, F64, Half, Double>(a, &mut rng);
        }
        for _ in 0..60_000 {
            let a = rng.number::<F32>();
            check::<F32, F16, Single, Half>(a, &mut rng);
            check::<F32, F64, Single, Double>(a, &mut rng);
            let a = rng.number::<F64>();
            check::<F64, F32, Double, Single>(a, &mut rng);
            // Numbers that f32 and f16 can almost represent.
            let near = f64::from_bits(rng.number::<F64>() & !F64::INF | F64::ONE)
                * F32::to_f64(F32::word(rng.number::<F32>()));
            check::<F64, F32, Double, Single>(near.to_bits(), &mut rng);
            let near = f64::from_bits(rng.number::<F64>() & !F64::INF | F64::ONE)
                * F16::to_f64(F16::word(rng.number::<F16>()));
            check::<F64, F16, Double, Half>(near.to_bits(), &mut rng);
            check::<F32, F16, Single, Half>((near as f32).to_bits() as u64, &mut rng);
        }
    }

    #[test]
    fn conversion_keeps_sign_and_payload_of_a_nan() {
        let e = &Env::IEEE;
        assert_eq!(
            convert::<F32, F64>(0xff80_0123, e, e),
            0xfff8_0000_0000_0000 | 0x123 << 29
        );
        assert_eq!(
            convert::<F64, F32>(0x7ff0_0000_6000_0000, e, e),
            0x7fc0_0003
        );
        assert_eq!(convert::<F32, F16>(0xffff_ffff, e, e), 0xffff);
        assert_eq!(convert::<F16, F32>(0x7c01, e, e), 0x7fc0_2000);
        let no = &Env { ieee: false, ..*e };
        assert_eq!(convert::<F16, F32>(0x7c01, no, no), 0x7f80_2000);
        assert_eq!(convert::<F32, F16>(0x7f80_0001, no, no), 0x7e00);
    }

    #[test]
    fn integers_agree_with_apfloat() {
        fn check<F: Float, A: Ap>() {
            let mut rng = Rng(5);
            for i in 0..60_000 {
                let v = rng.next() >> (i % 64);
                for round in ROUNDS {
                    let e = env(round, 0);
                    let r = ap_round(round);
                    let unsigned = |v: u64| A::from_u128_r(v as u128, r).value.to_bits() as u64;
                    let signed = |v: i64| A::from_i128_r(v as i128, r).value.to_bits() as u64;
                    assert_eq!(from_u64::<F>(v, &e), unsigned(v), "{v:#x} {round:?}");
                    assert_eq!(
                        from_i64::<F>(v as i64, &e),
                        signed(v as i64),
                        "{v:#x} {round:?}"
                    );
                    assert_eq!(
                        from_u32::<F>(v as u32, &e),
                        unsigned(v as u32 as u64),
                        "{v:#x} {round:?}"
                    );
                    assert_eq!(
                        from_i32::<F>(v as i32, &e),
                        signed(v as i32 as i64),
                        "{v:#x} {round:?}"
                    );
                    assert_eq!(
                        from_u16::<F>(v as u16, &e),
                        unsigned(v as u16 as u64),
                        "{v:#x} {round:?}"
                    );
                    assert_eq!(
                        from_i16::<F>(v as i16, &e),
                        signed(v as i16 as i64),
                        "{v:#x} {round:?}"
                    );
                }
                let a = rng.number::<F>();
                let x = A::from_bits(a as u128);
                if !x.is_nan() {
                    let mut exact = false;
                    let i = |w| x.to_i128_r(w, ApRound::TowardZero, &mut false).value;
                    assert_eq!(to_i64::<F>(a) as i128, i(64), "{a:#x}");
                    assert_eq!(to_i32::<F>(a) as i128, i(32), "{a:#x}");
                    assert_eq!(to_i16::<F>(a) as i128, i(16), "{a:#x}");
                    let mut u = |w| x.to_u128_r(w, ApRound::TowardZero, &mut exact).value;
                    assert_eq!(to_u64::<F>(a) as u128, u(64), "{a:#x}");
                    assert_eq!(to_u32::<F>(a) as u128, u(32), "{a:#x}");
                    assert_eq!(to_u16::<F>(a) as u128, u(16), "{a:#x}");
                }
            }
            assert_eq!(to_i32::<F>(F::DEFAULT_NAN), 0);
            assert_eq!(to_u32::<F>(F::DEFAULT_NAN | F::SIGN), 0);
            assert_eq!(to_i32::<F>(F::INF), i32::MAX);
            assert_eq!(to_i32::<F>(F::INF | F::SIGN), i32::MIN);
            assert_eq!(to_u32::<F>(F::INF | F::SIGN), 0);
            assert_eq!(to_u32::<F>(F::INF), u32::MAX);
        }
        check::<F16, Half>();
        check::<F32, Single>();
        check::<F64, Double>();
    }

    #[test]
    fn frexp_takes_numbers_apart() {
        fn check<F: Float>() {
            let mut rng = Rng(6);
            for _ in 0..60_000 {
                let a = rng.number::<F>();
                let e = &Env::IEEE;
                let (m, x) = (frexp_mant::<F>(a, e), frexp_exp::<F>(a, e));
                if !is_finite::<F>(a) {
                    assert_eq!((m, x), (quiet::<F>(a, e), 0));
                } else if is_zero::<F>(a) {
                    assert_eq!((m, x), (a, 0));
                } else {
                    assert!((0.5..1.0).contains(&F::to_f64(F::word(m)).abs()), "{a:#x}");
                    assert_eq!(ldexp::<F>(m, x, e), a, "{a:#x}");
                }
                if is_denormal::<F>(a) {
                    assert_eq!(frexp_exp::<F>(a, &e.flushing()), 0);
                    assert_eq!(frexp_mant::<F>(a, &e.flushing()), a & F::SIGN);
                }
            }
        }
        check::<F16>();
        check::<F32>();
        check::<F64>();
    }

    #[test]
    fn min_and_max_follow_the_pseudocode() {
        const Q: u64 = 0x7fc0_1234;
        const S: u64 = 0xff80_0055;
        let one = 0x3f80_0000;
        let ieee = &Env::IEEE;
        let dx = &Env {
            ieee: false,
            ..Env::IEEE
        };
        assert_eq!(min::<F32>(0, 0x8000_0000, ieee), 0x8000_0000);
        assert_eq!(min::<F32>(0x8000_0000, 0, ieee), 0x8000_0000);
        assert_eq!(max::<F32>(0, 0x8000_0000, ieee), 0);
        assert_eq!(max::<F32>(0x8000_0000, 0, ieee), 0);
        for op in [min::<F32>, max::<F32>] {
            assert_eq!(op(Q, one, ieee), one);
            assert_eq!(op(one, Q, ieee), one);
            assert_eq!(op(S, one, ieee), 0xffc0_0055);
            assert_eq!(op(one, S, ieee), 0xffc0_0055);
            assert_eq!(op(Q, S, ieee), 0xffc0_0055);
            assert_eq!(op(S, one, dx), one);
            assert_eq!(op(one, S, dx), one);
            assert_eq!(op(Q, S, dx), S);
            assert_eq!(op(1, 1, &dx.flushing()), 0);
            assert_eq!(op(1, 1, &dx.keeping_denormals()), 1);
        }
        let mut rng = Rng(8);
        for _ in 0..50_000 {
            let (a, b) = (rng.number::<F64>(), rng.number::<F64>());
            let (x, y) = (f64::from_bits(a), f64::from_bits(b));
            if x < y {
                assert_eq!((min::<F64>(a, b, ieee), max::<F64>(a, b, ieee)), (a, b));
                assert_eq!((min::<F64>(b, a, ieee), max::<F64>(b, a, ieee)), (a, b));
            }
        }
    }

    #[test]
    fn nan_results_are_the_first_nan_operand() {
        let e = &Env::IEEE;
        let (inf, one) = (F32::INF, F32::ONE);
        assert_eq!(add::<F32>(0xff80_0123, 0x7fc0_0001, e), 0xffc0_0123);
        assert_eq!(add::<F32>(one, 0x7f80_0001, e), 0x7fc0_0001);
        assert_eq!(add::<F32>(inf, inf | F32::SIGN, e), 0xffc0_0000);
        assert_eq!(sub::<F32>(one, 0xff80_0001, e), 0xffc0_0001);
        assert_eq!(mul::<F32>(inf, 0x8000_0000, e), 0xffc0_0000);
        assert_eq!(fma::<F32>(inf, 0, 0x7f80_0009, e), 0xffc0_0000);
        assert_eq!(mad::<F32>(inf, 0, 0x7f80_0009, e), 0xffc0_0000);
        assert_eq!(fma::<F32>(inf, 2, 0x7f80_0009, e), 0x7fc0_0009);
        assert_eq!(mad::<F32>(inf, 1, 0x7f80_0009, &e.flushing()), 0xffc0_0000);
        assert_eq!(mad::<F32>(inf, 0, one, e), 0xffc0_0000);
        assert_eq!(div::<F32>(0, 0, e), 0xffc0_0000);
        assert_eq!(sqrt::<F64>(F64::ONE | F64::SIGN, e), 0xfff8_0000_0000_0000);
        assert_eq!(add::<F16>(0x7c01, 0x3c00, e), 0x7e01);
    }

    #[test]
    fn tiny_results_are_flushed() {
        let flush = &Env::IEEE.flushing();
        let least = 0x0080_0000;
        let half = 0x3f00_0000;
        assert_eq!(mul::<F32>(least | F32::SIGN, half, flush), F32::SIGN);
        // 2^-126 - 2^-150 has 24 bits: tiny, though it lies half way from the largest denormal to the least normal number.
        // Rounding up as well finds it exact. With 25 bits, half a step below, it rounds up.
        for round in ROUNDS {
            let flush = &flush.rounding(round);
            assert_eq!(mul::<F32>(0x3f7f_ffff, least, flush), 0);
            assert_eq!(mul::<F64>(F64::ONE - 1, F64::LEAST, flush), 0);
            assert_eq!(convert::<F64, F32>(0x380f_ffff_e000_0000, flush, flush), 0);
            let kept = matches!(round, Round::NearestEven | Round::PlusInf);
            let want = if kept { least } else { 0 };
            assert_eq!(fma::<F32>(0x8080_0000, 0x3300_0000, least, flush), want);
            assert_eq!(
                convert::<F64, F32>(0x380f_ffff_f000_0000, flush, flush),
                want
            );
        }
        assert_eq!(mul::<F32>(0x3f7f_ffff, least, &Env::IEEE), least);
        assert_eq!(
            add::<F32>(
                1,
                1,
                &Env {
                    flush_in: true,
                    ..Env::IEEE
                }
            ),
            0
        );
        assert_eq!(
            add::<F32>(
                1,
                least,
                &Env {
                    flush_out: true,
                    ..Env::IEEE
                }
            ),
            least + 1
        );
        assert_eq!(
            mul::<F64>(
                1,
                F64::ONE,
                &Env {
                    flush_out: true,
                    ..Env::IEEE
                }
            ),
            0
        );
        assert!(eq::<F32>(1, 0x8000_0001, flush));
        assert!(!eq::<F32>(1, 0x8000_0001, &Env::IEEE));
    }

    #[test]
    fn classes() {
        let numbers = [
            0x7f80_0001,
            0xffc0_0000,
            0xff80_0000,
            0xbf80_0000,
            0x8000_0001,
            0x8000_0000,
            0,
            0x007f_ffff,
            0x0080_0000,
            0x7f80_0000,
        ];
        for (class_bit, a) in numbers.into_iter().enumerate() {
            assert_eq!(class::<F32>(a), class_bit as u32);
            assert!(class_test::<F32>(a, 1 << class_bit));
            assert!(!class_test::<F32>(a, !(1 << class_bit)));
        }
        assert_eq!(class::<F16>(0x7c00), 9);
        assert_eq!(class::<F64>(1 << 63 | 1), 4);
    }

    #[test]
    fn output_modifiers() {
        let f = |v: f32| v.to_bits() as u64;
        let on = &Env {
            ieee: false,
            ..Env::IEEE.flushing()
        };
        let omod = |v: u64, m, e: &Env| apply_omod_clamp::<F32>(v, m, false, e);
        assert_eq!(omod(f(3.0), 0, on), f(3.0));
        assert_eq!(omod(f(3.0), 1, on), f(6.0));
        assert_eq!(omod(f(3.0), 2, on), f(12.0));
        assert_eq!(omod(f(3.0), 3, on), f(1.5));
        assert_eq!(omod(f(-0.0), 1, on), 0);
        assert_eq!(omod(f(-0.0), 0, on), f(-0.0));
        assert_eq!(omod(0x8080_0000, 3, on), 0x8000_0000);
        assert_eq!(omod(0x00ff_ffff, 3, on), 0);
        assert_eq!(omod(0x0100_0000, 3, on), 0x0080_0000);
        assert_eq!(omod(0x8000_0001, 2, on), 0);
        assert_eq!(omod(0x7f80_0001, 2, on), 0x7f80_0001);
        assert_eq!(omod(0x7f7f_ffff, 1, on), F32::INF);
        assert_eq!(omod(0x7f7f_ffff, 1, &on.rounding(Round::Zero)), F32::MAX);
        assert_eq!(omod(f(3.0), 1, &Env::IEEE.flushing()), f(3.0));
        assert_eq!(
            omod(
                f(3.0),
                1,
                &Env {
                    flush_out: false,
                    ..*on
                }
            ),
            f(3.0)
        );
        let clamp = |v: u64, e: &Env| apply_omod_clamp::<F32>(v, 0, true, e);
        assert_eq!(clamp(f(3.0), on), f(1.0));
        assert_eq!(clamp(f(0.25), on), f(0.25));
        assert_eq!(clamp(f(-3.0), on), 0);
        assert_eq!(clamp(f(-0.0), on), 0);
        assert_eq!(clamp(0xffc0_0001, on), 0);
        assert_eq!(
            clamp(
                0xffc0_0001,
                &Env {
                    dx10_clamp: false,
                    ..*on
                }
            ),
            0xffc0_0001
        );
        assert_eq!(apply_omod_clamp::<F32>(f(0.4), 1, true, on), f(0.8));
        assert_eq!(apply_omod_clamp::<F16>(0x3c00, 3, true, on), 0x3800);
    }

    #[test]
    fn mode_register() {
        let m = Mode(0x3c0);
        assert_eq!(m.env32(), Env::IEEE.flushing());
        assert_eq!(m.env64(), Env::IEEE);
        assert_eq!(m.env16(), Env::IEEE);
        let m = Mode(0b01_10_01_11);
        assert_eq!(
            (m.env32().round, m.env64().round),
            (Round::Zero, Round::PlusInf)
        );
        assert_eq!((m.env32().flush_in, m.env32().flush_out), (true, false));
        assert_eq!((m.env64().flush_in, m.env64().flush_out), (false, true));
        assert!(!m.env32().ieee && !m.env32().dx10_clamp);
    }

    #[test]
    fn bits_above_the_number_are_ignored() {
        let e = &Env::IEEE;
        let junk = 0xdead << 16;
        assert_eq!(add::<F16>(0x3c00 | junk, 0x3c00 | junk, e), 0x4000);
        assert_eq!(min::<F16>(0x3c00 | junk, 0x4000, e), 0x3c00);
        assert_eq!(convert::<F16, F32>(0x7c01 | junk, e, e), 0x7fc0_2000);
        assert_eq!(floor::<F16>(0xbc01 | junk, e), 0xc000);
        assert!(lt::<F16>(0x3c00 | junk, 0x4000, e));
        assert_eq!(to_i32::<F16>(0xbc00 | junk), -1);
    }
}
