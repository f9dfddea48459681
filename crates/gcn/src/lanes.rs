//! Writes values of lanes and of memory in a compact form.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use crate::data::Ty as Number;
use gcn_isa::shape::Ty;

/// The maximum number of ranges in a text; the number of remaining values follows.
const MOST: usize = 6;

/// The maximum number of unrelated values that are listed.
const LISTED: usize = 8;

/// The form of a value: a hexadecimal number, or a float as in the test language (`1.5`, `1.5d` of 64 bits, `1.5h` of 16).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// An integer, in hexadecimal from 10 on.
    Bits,
    /// A float.
    Float(Number),
}

impl Form {
    /// Returns the form for values that an instruction treats as `ty`. Untyped values are floats if all are zero or of a common
    /// magnitude of floats, and not all are zero.
    pub fn of(ty: Ty, values: impl Iterator<Item = u64> + Clone) -> Form {
        let number = match ty {
            Ty::F16 => return Form::Float(Number::F16),
            Ty::F32 => return Form::Float(Number::F32),
            Ty::F64 => return Form::Float(Number::F64),
            Ty::B32 | Ty::B96 | Ty::B128 | Ty::B256 | Ty::B512 => Number::F32,
            Ty::B64 => Number::F64,
            _ => return Form::Bits,
        };
        let usual = |bits: u64| {
            let value = number.to_f64(bits).abs();
            bits == 0 || (1e-6..1e9).contains(&value)
        };
        // Two 32-bit numbers in a register pair often look like a 64-bit float.
        if number == Number::F64 && values.clone().take(4).count() < 4 {
            return Form::Bits;
        }
        match values.clone().all(usual) && values.into_iter().any(|bits| bits != 0) {
            true => Form::Float(number),
            false => Form::Bits,
        }
    }

    /// Writes a value.
    pub fn show(self, bits: u64) -> String {
        match self {
            Form::Bits if bits < 10 => bits.to_string(),
            Form::Bits => format!("{bits:#x}"),
            Form::Float(ty) => {
                let suffix = match ty {
                    Number::F64 => "d",
                    Number::F16 => "h",
                    _ => "",
                };
                // The payload of a NaN is shown in hexadecimal.
                match ty.to_f64(bits).is_nan() {
                    true => format!("nan({bits:#x})"),
                    false => format!("{}{suffix}", ty.show(bits)),
                }
            }
        }
    }
}

/// A run: values at consecutive indices with a constant step.
struct Run {
    locations: RangeInclusive<usize>,
    first: u64,
    step: u64,
}

/// Divides values into runs. Integers need three values for a step other than 0; the step of floats is 0.
fn runs(values: &[(usize, u64)], form: Form, mask: u64) -> Vec<Run> {
    let mut out: Vec<Run> = Vec::new();
    let mut at = 0;
    while let Some(&(location, first)) = values.get(at) {
        let follows = |n: usize, step: u64| {
            let steps = step.wrapping_mul(n as u64);
            let want = (location + n, first.wrapping_add(steps) & mask);
            values.get(at + n) == Some(&want)
        };
        let length = |step: u64| 1 + (1..).take_while(|n| follows(*n, step)).count();
        let step = match values.get(at + 1) {
            Some((_, next)) if form == Form::Bits => next.wrapping_sub(first) & mask,
            _ => 0,
        };
        let mut len = length(step);
        let mut step = step;
        if len == 2 && step != 0 {
            (len, step) = (1, 0);
        }
        out.push(Run {
            locations: location..=location + len - 1,
            first,
            step: if len == 1 { 0 } else { step },
        });
        at += len;
    }
    out
}

/// Writes values by index, in rising order. `word` is the name of the index in `0x100 + 4*lane`, `of` the number of indices,
/// and `mask` has the bits of a value. Equal values are written as `0x5`, a sequence as `0x100 + 4*lane`, other values as
/// runs: `[0-15: 0x100 + lane, 16: 7, 17-63: 0]`. If some indices have no value, `in lanes 0-31` follows. With `full`, every
/// value is written.
pub fn text(
    values: &[(usize, u64)],
    form: Form,
    mask: u64,
    word: &str,
    of: usize,
    full: bool,
) -> String {
    let runs = runs(values, form, mask);
    let value = |run: &Run| {
        if run.step == 0 {
            return form.show(run.first);
        }
        // Relative to index 0.
        let start = *run.locations.start() as u64;
        let zero = run.first.wrapping_sub(run.step.wrapping_mul(start)) & mask;
        let half = mask / 2 + 1;
        let down = run.step > half;
        let size = if down {
            run.step.wrapping_neg() & mask
        } else {
            run.step
        };
        let product = match size {
            1 => word.to_owned(),
            n => format!("{}*{word}", form.show(n)),
        };
        match (zero, down) {
            (0, false) => product,
            // The value at index 0 would wrap.
            (_, false) if run.first < zero => {
                format!("{product} - {}", form.show(zero.wrapping_neg() & mask))
            }
            (_, false) => format!("{} + {product}", form.show(zero)),
            (_, true) => format!("{} - {product}", form.show(zero)),
        }
    };
    let locations = |range: &RangeInclusive<usize>| match (range.start(), range.end()) {
        (a, b) if a == b => a.to_string(),
        (a, b) => format!("{a}-{b}"),
    };
    let same = |run: &Run| (run.first, run.step) == (runs[0].first, 0);
    let all = values.len() == of;
    match runs.as_slice() {
        [] => return "nothing".into(),
        [one] if all && !full => return value(one),
        // One value in scattered lanes.
        [_, ..] if !full && runs.iter().all(same) => {
            let held = runs.iter().take(MOST).map(|run| locations(&run.locations));
            let held: Vec<String> = held.collect();
            let more = if runs.len() > MOST { ", …" } else { "" };
            return match all {
                true => value(&runs[0]),
                false => {
                    let s = if values.len() == 1 { "" } else { "s" };
                    format!("{} in {word}{s} {}{more}", value(&runs[0]), held.join(","))
                }
            };
        }
        [one] if !full => {
            return format!("{} in {word}s {}", value(one), locations(&one.locations));
        }
        _ => {}
    }
    let mut out = String::from("[");
    // Unrelated values at consecutive indices are listed without the indices.
    let single = runs
        .iter()
        .filter(|run| run.locations.start() == run.locations.end());
    if full || 2 * single.count() > runs.len() {
        let shown = if full {
            values.len()
        } else {
            values.len().min(LISTED)
        };
        let mut expected = 0;
        for (n, (location, bits)) in values[..shown].iter().enumerate() {
            if n > 0 {
                out.push_str(", ");
            }
            if *location != expected {
                let _ = write!(out, "{location}: ");
            }
            expected = location + 1;
            out.push_str(&form.show(*bits));
        }
        if shown < values.len() {
            let _ = write!(out, ", … {} more", values.len() - shown);
        }
    } else {
        for (n, run) in runs.iter().take(MOST).enumerate() {
            let separator = if n > 0 { ", " } else { "" };
            let _ = write!(
                out,
                "{separator}{}: {}",
                locations(&run.locations),
                value(run)
            );
        }
        if runs.len() > MOST {
            let rest: usize = runs[MOST..]
                .iter()
                .map(|run| run.locations.clone().count())
                .sum();
            let _ = write!(out, ", … {rest} more");
        }
    }
    out.push(']');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(values: &[(usize, u64)]) -> String {
        text(values, Form::Bits, u32::MAX.into(), "lane", 64, false)
    }

    fn all(value: impl Fn(usize) -> u64) -> Vec<(usize, u64)> {
        (0..64)
            .map(|lane| (lane, value(lane) & 0xffff_ffff))
            .collect()
    }

    #[test]
    fn values_of_lanes() {
        assert_eq!(bits(&all(|_| 20)), "0x14");
        assert_eq!(bits(&all(|lane| lane as u64)), "lane");
        assert_eq!(bits(&all(|lane| 0x100 + 4 * lane as u64)), "0x100 + 4*lane");
        assert_eq!(bits(&all(|lane| 100 - lane as u64)), "0x64 - lane");
        let wraps = all(|lane| (lane as u64).wrapping_sub(2));
        assert_eq!(bits(&wraps), "0xfffffffe + lane");
        assert_eq!(bits(&all(|lane| lane as u64)[..40]), "lane in lanes 0-39");
        assert_eq!(bits(&all(|_| 7)[3..4]), "7 in lane 3");
        assert_eq!(bits(&[(1, 7), (3, 7), (5, 7)]), "7 in lanes 1,3,5");
        let halves = all(|lane| if lane < 16 { 5 } else { lane as u64 - 16 });
        assert_eq!(bits(&halves), "[0-15: 5, 16-63: lane - 0x10]");
        let squares = all(|lane| (lane * lane) as u64);
        assert_eq!(
            bits(&squares),
            "[0, 1, 4, 9, 0x10, 0x19, 0x24, 0x31, … 56 more]"
        );
        let every = text(&squares, Form::Bits, u32::MAX.into(), "lane", 64, true);
        assert_eq!(every.split(", ").count(), 64);
        assert_eq!(bits(&[(2, 9), (3, 5), (8, 6)]), "[2: 9, 5, 8: 6]");
    }

    #[test]
    fn floats() {
        let float = |values: &[(usize, f32)], ty| {
            let values: Vec<(usize, u64)> = values
                .iter()
                .map(|(n, v)| (*n, v.to_bits().into()))
                .collect();
            let form = Form::of(ty, values.iter().map(|v| v.1));
            text(&values, form, u32::MAX.into(), "lane", values.len(), false)
        };
        assert_eq!(float(&[(0, 1.5), (1, 1.5)], Ty::F32), "1.5");
        assert_eq!(float(&[(0, 1.5), (1, 0.0)], Ty::B32), "[1.5, 0.0]");
        assert_eq!(float(&[(0, 1e-20), (1, 0.0)], Ty::F32), "[1e-20, 0.0]");
        assert_eq!(float(&[(0, 1e-20), (1, 0.0)], Ty::B32), "[0x1e3ce508, 0]");
        assert_eq!(float(&[(0, 1.5)], Ty::U32), "0x3fc00000");
        assert_eq!(float(&[(0, f32::NAN)], Ty::F32), "nan(0x7fc00000)");
        let one = Form::Float(Number::F16).show(0x3c00);
        assert_eq!(
            (one.as_str(), Form::Float(Number::F64).show(0).as_str()),
            ("1.0h", "0.0d")
        );
    }
}
