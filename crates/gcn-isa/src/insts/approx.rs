//! Functions that the hardware takes from tables and that are computed here: exponential, logarithm, sine.
//!
//! Each is a fixed formula of sums, products and a quotient in f64, which every engine repeats bit for
//! bit (docs/errata.md, approximations, has the measured errors). The series are Taylor's: for results
//! of at most 24 bits, computed with 53, better series gain nothing.

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
    (rest.iter().rev()).fold(f64(m, last), |sum, &c| f64(m, c) + x * sum)
}

/// Two to the power of `x`. The magnitude of `x` is below 1000.
pub(super) fn exp2<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    /// ln(2)^k ÷ k!, from k = 1 on.
    const SERIES: [f64; 14] = [
        core::f64::consts::LN_2,
        0.24022650695910072,
        0.05550410866482158,
        0.009618129107628477,
        0.0013333558146428443,
        0.0001540353039338161,
        1.5252733804059841e-05,
        1.321548679014431e-06,
        1.01780860092397e-07,
        7.054911620801123e-09,
        4.4455382718708116e-10,
        2.5678435993488206e-11,
        1.3691488853904128e-12,
        6.778726354822545e-14,
    ];
    let whole = x.round_even();
    let rest = x - whole;
    let power = f64(m, 1.0) + rest * polynomial(m, rest, &SERIES);
    // The factor and the product are normal numbers, so nothing is rounded.
    let bias = m.c(Ty::I32, 1023);
    let locations = (whole.to_int(Ty::I32) + bias).as_(Ty::B32).zext(Ty::B64);
    power * (locations << 52).as_(Ty::F64)
}

/// The logarithm to base 2 of `x`, a positive normal number.
pub(super) fn log2<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    /// 2 ÷ ln(2) ÷ (2k + 1), from k = 0 on.
    const SERIES: [f64; 12] = [
        2.8853900817779268,
        0.9617966939259756,
        0.5770780163555853,
        0.4121985831111324,
        0.3205988979753252,
        0.2623081892525388,
        0.22195308321368667,
        0.19235933878519512,
        0.16972882833987804,
        0.15186263588304877,
        0.1373995277037108,
        0.12545174268599682,
    ];
    // x is 2^exponent times a number between sqrt(1/2) and sqrt(2).
    let root_half = m.c(Ty::I64, core::f64::consts::FRAC_1_SQRT_2.to_bits());
    let bits = x.as_(Ty::I64);
    let exponent = (bits - root_half) >> 52;
    let near_one = (bits - (exponent << 52)).as_(Ty::F64);
    // log((1 + s) / (1 - s)) = 2 × (s + s³/3 + s⁵/5 + …)
    let one = f64(m, 1.0);
    let s = (near_one - one).fdiv(near_one + one);
    exponent.to_float(Ty::F64) + s * polynomial(m, s * s, &SERIES)
}

/// The sine of 2π times `x`. The magnitude of `x` is at most 1/4.
fn sine_of_quarter<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    /// (2π)^(2k + 1) ÷ (2k + 1)!, with alternating signs, from k = 0 on.
    const SERIES: [f64; 12] = [
        core::f64::consts::TAU,
        -41.34170224039976,
        81.60524927607506,
        -76.70585975306139,
        42.058693944897655,
        -15.09464257682299,
        3.819952584848282,
        -0.7181223017785006,
        0.10422916220813984,
        -0.012031585942120627,
        0.0011309237482517963,
        -8.823533599243006e-05,
    ];
    x * polynomial(m, x * x, &SERIES)
}

/// The sine of `x` turns, `x` of any magnitude.
pub(super) fn sine<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    // Exact: the remainder has no more bits than x.
    let part = x - x.round_even();
    let size = part.abs();
    // sin(π - a) = sin(a)
    let folded = size.gt(f64(m, 0.25)).select(f64(m, 0.5) - size, size);
    let sine = sine_of_quarter(m, folded);
    part.lt(f64(m, 0.0)).select(-sine, sine)
}

/// The cosine of `x` turns, `x` of any magnitude.
pub(super) fn cosine<'m>(m: &'m Meaning, x: V<'m>) -> V<'m> {
    let part = x - x.round_even();
    // cos(a) = sin(π/2 - a)
    sine_of_quarter(m, f64(m, 0.25) - part.abs())
}
