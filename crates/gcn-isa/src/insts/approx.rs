//! Functions that the hardware takes from tables and that are computed here: exponential, logarithm, sine.
//!
//! Each is a fixed formula of sums, fused products and a quotient in f64, which every engine repeats bit for
//! bit (docs/errata.md, approximations, has the measured errors). The polynomials agree with the functions at
//! Chebyshev's nodes of the interval that is named; their errors are below 2^-55 of the result.

use crate::meaning::{Meaning, V};
use crate::shape::Ty;

/// A constant.
pub(super) fn f64(m: &Meaning, value: f64) -> V<'_> {
    m.c(Ty::F64, value.to_bits())
}

/// `c[0] + x × (c[1] + x × (c[2] + …))`.
fn polynomial<'m>(m: &'m Meaning, x: V<'m>, coefficients: &[f64]) -> V<'m> {
    let (last, rest) = match coefficients.split_last() {
        Some((last, rest)) => (*last, rest),
        None => (0.0, coefficients),
    };
    (rest.iter().rev()).fold(f64(m, last), |sum, &c| x.fma(sum, f64(m, c)))
}

/// Two to the power of `x`, which is from -1/2 to 1/2.
fn exp2_near_zero<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    /// (2^r - 1) ÷ r for r from -1/2 to 1/2.
    const SERIES: [f64; 11] = [
        core::f64::consts::LN_2,
        0.24022650695910097,
        0.0555041086648216,
        0.009618129107606888,
        0.0013333558146416936,
        0.0001540353044173605,
        1.525273382983612e-05,
        1.321544258792169e-06,
        1.0178062445845774e-07,
        7.072585949269223e-09,
        4.4549605981865186e-10,
    ];
    x.fma(polynomial(m, x, &SERIES), f64(m, 1.0))
}

/// Two to the power of `x`, an f64 whose magnitude is below 1000.
pub(super) fn exp2<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    let whole = x.round_even();
    let power = exp2_near_zero(m, x - whole);
    // The factor and the product are normal numbers, so nothing is rounded.
    let bias = m.c(Ty::I32, 1023);
    let factor = (whole.to_int(Ty::I32) + bias).as_(Ty::B32).zext(Ty::B64);
    power * (factor << 52).as_(Ty::F64)
}

/// Two to the power of `x`, an f32 from -126 on and below 128. The result is an f32.
pub(super) fn exp2_single<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    // The lowest bit of the sum is worth 1: its low bits are the whole part, rounded to nearest even.
    let unit = m.c(Ty::F32, ((3 << 22) as f32).to_bits().into());
    let sum = x + unit;
    let rest = x - (sum - unit);
    let power = exp2_near_zero(m, rest.to_width(Ty::F64)).to_width(Ty::F32);
    // The whole part is added to the exponent. The result is a normal number, so nothing is rounded.
    (power.as_(Ty::I32) + (sum.as_(Ty::I32) << 23)).as_(Ty::F32)
}

/// The logarithm to base 2 of 2^`exponent` × `near_one`, where `near_one` is between the roots of 1/2 and of 2.
fn log2_of_parts<'m>(m: &'m Meaning, exponent: V<'m>, near_one: V<'m>) -> V<'m> {
    /// log((1 + s) ÷ (1 - s)) ÷ s of s², for s up to that of the square root of 2.
    const SERIES: [f64; 8] = [
        2.8853900817779268,
        0.9617966939259898,
        0.5770780163455203,
        0.4121985858409005,
        0.32059853491395984,
        0.262334352504183,
        0.2209130842311768,
        0.2136589569431927,
    ];
    // near_one = (1 + s) ÷ (1 - s)
    let one = f64(m, 1.0);
    let s = (near_one - one).fdiv(near_one + one);
    s.fma(polynomial(m, s * s, &SERIES), exponent.to_float(Ty::F64))
}

/// The logarithm to base 2 of `x`, a positive normal f64.
pub(super) fn log2<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    let root_half = m.c(Ty::I64, core::f64::consts::FRAC_1_SQRT_2.to_bits());
    let bits = x.as_(Ty::I64);
    let exponent = (bits - root_half) >> 52;
    let near_one = (bits - (exponent << 52)).as_(Ty::F64);
    log2_of_parts(m, exponent, near_one)
}

/// The logarithm to base 2 of `x`, a positive normal f32. The result is an f64.
pub(super) fn log2_single<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    let root_half = m.c(Ty::I32, core::f32::consts::FRAC_1_SQRT_2.to_bits().into());
    let bits = x.as_(Ty::I32);
    let exponent = (bits - root_half) >> 23;
    let near_one = (bits - (exponent << 23)).as_(Ty::F32);
    log2_of_parts(m, exponent, near_one.to_width(Ty::F64))
}

/// The sine of 2π times `x`. The magnitude of `x` is at most 1/4.
fn sine_of_quarter<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    /// sin(2πx) ÷ x of x².
    const SERIES: [f64; 9] = [
        core::f64::consts::TAU,
        -41.341702240399755,
        81.60524927607362,
        -76.70585975282492,
        42.058693925428685,
        -15.0946416761179,
        3.8199280942271643,
        -0.7177337913421454,
        0.10089695501646812,
    ];
    x * polynomial(m, x * x, &SERIES)
}

/// The same value as an f64.
fn wide<'m>(x: V<'m>) -> V<'m> {
    match x.ty {
        Ty::F64 => x,
        _ => x.to_width(Ty::F64),
    }
}

/// The sine of `x` turns, an f32 or f64 of any magnitude. The result is an f64.
pub(super) fn sine<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    let c = |value: f64| match x.ty {
        Ty::F32 => m.c(Ty::F32, (value as f32).to_bits().into()),
        _ => f64(m, value),
    };
    // The steps before the polynomial are exact: the remainder has no more bits than x.
    let part = x - x.round_even();
    let size = part.abs();
    // sin(π - a) = sin(a)
    let folded = size.gt(c(0.25)).select(c(0.5) - size, size);
    let folded = part.lt(c(0.0)).select(-folded, folded);
    sine_of_quarter(m, wide(folded))
}

/// The cosine of `x` turns, an f32 or f64 of any magnitude. The result is an f64.
pub(super) fn cosine<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    let part = x - x.round_even();
    // cos(a) = sin(π/2 - a)
    sine_of_quarter(m, f64(m, 0.25) - wide(part.abs()))
}
