//! C's printf, as a host performs it for a kernel: the formats, and OpenCL's buffer of arguments.
//!
//! Source: C11 7.21.6.1; vectors and `hl` from OpenCL C 1.2, 6.12.13.

use crate::fp::{Env, F16, F64, convert};

/// The arguments of one printf, in order.
pub(super) trait Args {
    /// The next argument's elements, `lanes` of them, each with its size in bytes. Returns `None` if there are no more arguments.
    fn number(&mut self, lanes: usize) -> Option<Vec<Word>>;
    /// The next argument as text.
    fn text(&mut self) -> Option<Vec<u8>>;
}

/// An element of an argument: its bits and its size in bytes.
#[derive(Clone, Copy)]
pub(super) struct Word {
    bits: u64,
    size: usize,
}

/// One conversion specification.
#[derive(Default)]
struct Spec {
    minus: bool,
    plus: bool,
    space: bool,
    sharp: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// Elements of a vector; 0 for a scalar.
    lanes: usize,
    /// Bytes given by the length modifier; 0 without one.
    size: usize,
}

/// The maximum of a width or a precision; larger values are reduced to it. C guarantees this number of characters per conversion
/// (C11 7.21.6.1, paragraph 15) and no more.
const WIDEST: usize = 4095;

/// Takes text piece by piece: there may be much more text than unformatted data.
pub(super) trait Sink {
    fn put(&mut self, text: &[u8]);
}

impl Sink for Vec<u8> {
    fn put(&mut self, text: &[u8]) {
        self.extend_from_slice(text);
    }
}

/// Counts the bytes of a text.
#[derive(Default)]
pub(super) struct Counter(pub u64);

impl Sink for Counter {
    fn put(&mut self, text: &[u8]) {
        self.0 += text.len() as u64;
    }
}

/// Formats the arguments according to `format`. A conversion without an argument, or an unknown one, is printed literally.
pub(super) fn format(format: &[u8], args: &mut dyn Args, out: &mut dyn Sink) {
    let mut rest = format;
    while let Some(at) = rest.iter().position(|&b| b == b'%') {
        out.put(&rest[..at]);
        let from = &rest[at..];
        let mut tail = &from[1..];
        let (spec, conversion) = spec(&mut tail, args);
        rest = tail;
        let whole = &from[..from.len() - tail.len()];
        let done = match conversion {
            b'%' => {
                out.put(b"%");
                true
            }
            // Nothing is stored.
            b'n' => args.number(1).is_some(),
            b's' => match args.text() {
                Some(mut text) => {
                    text.truncate(spec.precision.unwrap_or(usize::MAX));
                    pad(&spec, text, out);
                    true
                }
                None => false,
            },
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' | b'c' | b'p' | b'f' | b'F' | b'e' | b'E'
            | b'g' | b'G' | b'a' | b'A' => match args.number(spec.lanes.max(1)) {
                Some(words) => {
                    for (n, word) in words.into_iter().enumerate() {
                        if n > 0 {
                            out.put(b",");
                        }
                        number(&spec, conversion, word, out);
                    }
                    true
                }
                None => false,
            },
            _ => false,
        };
        if !done {
            out.put(whole);
        }
    }
    out.put(rest);
}

/// Parses the text between `%` and the conversion, and the conversion; 0 at the end of the format.
fn spec(rest: &mut &[u8], args: &mut dyn Args) -> (Spec, u8) {
    let mut spec = Spec::default();
    let take = |rest: &mut &[u8], wanted: u8| {
        let found = rest.first() == Some(&wanted);
        if found {
            *rest = &rest[1..];
        }
        found
    };
    while let Some(&flag) = rest.first() {
        match flag {
            b'-' => spec.minus = true,
            b'+' => spec.plus = true,
            b' ' => spec.space = true,
            b'#' => spec.sharp = true,
            b'0' => spec.zero = true,
            _ => break,
        }
        *rest = &rest[1..];
    }
    let digits = |rest: &mut &[u8]| {
        let mut n = 0usize;
        while let Some(d) = rest.first().filter(|d| d.is_ascii_digit()) {
            n = n.saturating_mul(10).saturating_add((d - b'0') as usize);
            *rest = &rest[1..];
        }
        n.min(WIDEST)
    };
    let star = |args: &mut dyn Args| {
        let word = args.number(1).and_then(|w| w.first().copied());
        word.map_or(0, |w| w.bits as i32)
    };
    if take(rest, b'*') {
        let width = star(args);
        spec.minus |= width < 0;
        spec.width = (width.unsigned_abs() as usize).min(WIDEST);
    } else {
        spec.width = digits(rest);
    }
    if take(rest, b'.') {
        spec.precision = if take(rest, b'*') {
            usize::try_from(star(args)).ok().map(|p| p.min(WIDEST))
        } else {
            Some(digits(rest))
        };
    }
    if take(rest, b'v') {
        spec.lanes = digits(rest).min(16);
    }
    for (modifier, size) in [
        (&b"hh"[..], 1),
        (b"hl", 4),
        (b"h", 2),
        (b"ll", 8),
        (b"l", 8),
        (b"j", 8),
        (b"z", 8),
        (b"t", 8),
        (b"L", 8),
    ] {
        if let Some(after) = rest.strip_prefix(modifier) {
            (*rest, spec.size) = (after, size);
            break;
        }
    }
    let conversion = rest.first().copied().unwrap_or(0);
    if conversion != 0 {
        *rest = &rest[1..];
    }
    (spec, conversion)
}

/// Pads to the width with blanks.
fn pad(spec: &Spec, text: Vec<u8>, out: &mut dyn Sink) {
    let blanks = vec![b' '; spec.width.saturating_sub(text.len())];
    if !spec.minus {
        out.put(&blanks);
    }
    out.put(&text);
    if spec.minus {
        out.put(&blanks);
    }
}

/// Pads a number whose sign or prefix is `head`; zeros go between `head` and `body`.
fn pad_number(spec: &Spec, head: &str, body: &str, zeros: bool, out: &mut dyn Sink) {
    let fill = spec.width.saturating_sub(head.len() + body.len());
    let inner = if zeros && !spec.minus { fill } else { 0 };
    let text = format!("{head}{}{body}", "0".repeat(inner));
    pad(spec, text.into_bytes(), out);
}

fn number(spec: &Spec, conversion: u8, word: Word, out: &mut dyn Sink) {
    // An argument is at least an int; a modifier for a larger size than the argument's gets the argument's size.
    let size = match spec.size {
        0 if spec.lanes > 0 => word.size,
        0 => 4,
        n => n.min(word.size),
    };
    let unused = 64 - 8 * size.clamp(1, 8) as u32;
    let unsigned = word.bits << unused >> unused;
    let signed = (word.bits << unused) as i64 >> unused;
    let sign = |negative: bool| match negative {
        true => "-",
        false if spec.plus => "+",
        false if spec.space => " ",
        false => "",
    };
    let integer = |head: &str, digits: String, out: &mut dyn Sink| {
        let least = spec.precision.unwrap_or(1);
        let zeros = "0".repeat(least.saturating_sub(digits.len()));
        let body = match (&*digits, least) {
            ("0", 0) => String::new(),
            _ => zeros + &digits,
        };
        let padded = spec.zero && spec.precision.is_none();
        pad_number(spec, head, &body, padded, out);
    };
    match conversion {
        b'd' | b'i' => integer(sign(signed < 0), signed.unsigned_abs().to_string(), out),
        b'u' => integer("", unsigned.to_string(), out),
        b'o' => {
            let mut digits = format!("{unsigned:o}");
            if spec.sharp && !(unsigned == 0 && spec.precision != Some(0)) {
                digits.insert(0, '0');
            }
            integer("", digits, out);
        }
        b'x' | b'X' => {
            let head = if spec.sharp && unsigned != 0 {
                ["0x", "0X"][(conversion == b'X') as usize]
            } else {
                ""
            };
            let mut digits = format!("{unsigned:x}");
            if conversion == b'X' {
                digits.make_ascii_uppercase();
            }
            integer(head, digits, out);
        }
        b'c' => pad(spec, vec![word.bits as u8], out),
        // The same text as the host's C library prints for pointers.
        b'p' if word.bits == 0 => pad(spec, b"(nil)".to_vec(), out),
        b'p' => pad(spec, format!("{:#x}", word.bits).into_bytes(), out),
        _ => {
            let value = match word.size {
                8 => f64::from_bits(word.bits),
                2 => f64::from_bits(convert::<F16, F64>(word.bits, &Env::IEEE, &Env::IEEE)),
                _ => f64::from(f32::from_bits(word.bits as u32)),
            };
            let head = sign(value.is_sign_negative());
            let upper = conversion.is_ascii_uppercase();
            let (mut prefix, mut body) = float(spec, conversion.to_ascii_lowercase(), value.abs());
            if upper {
                body.make_ascii_uppercase();
                prefix = prefix.to_ascii_uppercase();
            }
            let head = format!("{head}{prefix}");
            pad_number(spec, &head, &body, spec.zero && value.is_finite(), out);
        }
    }
}

/// The prefix and text of a number that is not negative.
fn float(spec: &Spec, conversion: u8, value: f64) -> (String, String) {
    let bare = |text: String| (String::new(), text);
    if !value.is_finite() {
        return bare(if value.is_nan() { "nan" } else { "inf" }.into());
    }
    let point = |mut text: String| {
        if spec.sharp && !text.contains('.') {
            text.push('.');
        }
        text
    };
    match conversion {
        b'f' => bare(point(format!("{value:.*}", spec.precision.unwrap_or(6)))),
        b'e' => bare(scientific(spec, value, spec.precision.unwrap_or(6))),
        b'g' => {
            let digits = spec.precision.unwrap_or(6).max(1);
            // The exponent after rounding to this number of digits.
            let exponent = exponent_of(&format!("{value:.*e}", digits - 1)).1;
            let (mut text, tail) = if exponent < -4 || exponent >= digits as i32 {
                let text = scientific(spec, value, digits - 1);
                let at = text.find('e').unwrap_or(text.len());
                (text[..at].to_string(), text[at..].to_string())
            } else {
                let after = (digits as i32 - 1 - exponent).max(0) as usize;
                (point(format!("{value:.after$}")), String::new())
            };
            if !spec.sharp && text.contains('.') {
                text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
            }
            bare(text + &tail)
        }
        _ => hexadecimal(spec, value),
    }
}

/// The mantissa and exponent of a number that Rust writes as `1.5e-7`.
fn exponent_of(text: &str) -> (&str, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (mantissa, exponent.parse().unwrap_or(0))
}

fn scientific(spec: &Spec, value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = exponent_of(&text);
    let point = if spec.sharp && precision == 0 {
        "."
    } else {
        ""
    };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}{point}e{sign}{:02}", exponent.unsigned_abs())
}

/// `%a`: normalised as in the host's C library, with 1 before the point.
fn hexadecimal(spec: &Spec, value: f64) -> (String, String) {
    let bits = value.to_bits();
    let biased = (bits >> 52) as i32;
    let mut mantissa = bits & ((1 << 52) - 1) | ((biased != 0) as u64) << 52;
    let exponent = match (biased, mantissa) {
        (0, 0) => 0,
        (0, _) => -1022,
        _ => biased - 1023,
    };
    let mut digits = 13;
    if let Some(precision) = spec.precision
        && precision < 13
    {
        // To nearest, ties to even, over the omitted digits.
        let cut = 4 * (13 - precision as u32);
        let (rest, half) = (mantissa & ((1 << cut) - 1), 1u64 << (cut - 1));
        mantissa >>= cut;
        if rest > half || rest == half && mantissa & 1 != 0 {
            mantissa += 1;
        }
        digits = precision;
    }
    let fraction = mantissa & ((1u64 << (4 * digits)) - 1);
    let mut text = if digits == 0 {
        String::new()
    } else {
        format!("{fraction:0digits$x}")
    };
    match spec.precision {
        None => text.truncate(text.trim_end_matches('0').len()),
        Some(precision) => text.extend(std::iter::repeat_n('0', precision.saturating_sub(13))),
    }
    let point = if spec.sharp || !text.is_empty() {
        "."
    } else {
        ""
    };
    let first = mantissa >> (4 * digits);
    ("0x".into(), format!("{first:x}{point}{text}p{exponent:+}"))
}

/// A format of a code object's metadata: `ID:COUNT:SIZE:…:FORMAT`.
pub(super) struct Declared {
    pub id: u32,
    sizes: Vec<usize>,
    format: Vec<u8>,
}

impl Declared {
    /// Parses a metadata entry; the error message describes the error.
    ///
    /// # Errors
    /// If a number is invalid, or there is no format.
    pub fn parse(text: &str) -> Result<Declared, String> {
        let bad =
            || format!("the printf format '{text}' of the metadata is not ID:COUNT:SIZES:FORMAT");
        let mut parts = text;
        let mut next = || -> Option<usize> {
            let (number, rest) = parts.split_once(':')?;
            parts = rest;
            number.parse().ok()
        };
        let id = next()
            .and_then(|id| u32::try_from(id).ok())
            .ok_or_else(bad)?;
        let count = next().filter(|n| *n <= text.len()).ok_or_else(bad)?;
        let sizes = (0..count).map(|_| next().filter(|n| (1..=1 << 20).contains(n)));
        let sizes = sizes.collect::<Option<Vec<_>>>().ok_or_else(bad)?;
        Ok(Declared {
            id,
            sizes,
            format: unescaped(parts.as_bytes()),
        })
    }

    /// Bytes of an entry in the buffer, including its number.
    pub fn bytes(&self) -> usize {
        4 + self.sizes.iter().sum::<usize>()
    }

    /// Prints an entry; `arguments` has [`Declared::bytes`] bytes minus the number.
    pub fn print(&self, arguments: &[u8], out: &mut dyn Sink) {
        let mut args = Buffered {
            sizes: &self.sizes,
            bytes: arguments,
        };
        format(&self.format, &mut args, out);
    }
}

/// Resolves the escapes that LLVM writes for control characters and the colon.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let (what, len) = match (byte, text.get(at + 1)) {
            (b'\\', Some(b'a')) => (7, 2),
            (b'\\', Some(b'b')) => (8, 2),
            (b'\\', Some(b'f')) => (12, 2),
            (b'\\', Some(b'n')) => (b'\n', 2),
            (b'\\', Some(b'r')) => (b'\r', 2),
            (b'\\', Some(b't')) => (b'\t', 2),
            (b'\\', Some(b'v')) => (11, 2),
            (b'\\', Some(b'\\')) => (b'\\', 2),
            (b'\\', Some(b'7')) if text.get(at + 2) == Some(&b'2') => (b':', 3),
            _ => (byte, 1),
        };
        out.push(what);
        at += len;
    }
    out
}

/// Arguments that follow each other with the metadata's sizes.
struct Buffered<'a> {
    sizes: &'a [usize],
    bytes: &'a [u8],
}

impl<'a> Buffered<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let (&size, sizes) = self.sizes.split_first()?;
        let (now, bytes) = self.bytes.split_at_checked(size)?;
        (self.sizes, self.bytes) = (sizes, bytes);
        Some(now)
    }
}

fn little(bytes: &[u8]) -> u64 {
    (bytes.iter().take(8).rev()).fold(0, |word, b| word << 8 | u64::from(*b))
}

impl Args for Buffered<'_> {
    fn number(&mut self, lanes: usize) -> Option<Vec<Word>> {
        let bytes = self.next()?;
        // Three elements may occupy the space of four.
        let size = match lanes {
            3 if bytes.len() % 3 != 0 => bytes.len() / 4,
            _ => bytes.len() / lanes,
        };
        if !matches!(size, 1 | 2 | 4 | 8) {
            return None;
        }
        let words = bytes.chunks_exact(size).take(lanes);
        let words = words.map(|b| Word {
            bits: little(b),
            size,
        });
        Some(words.collect())
    }

    fn text(&mut self) -> Option<Vec<u8>> {
        let bytes = self.next()?;
        let end = bytes.iter().position(|&b| b == 0);
        Some(bytes[..end.unwrap_or(bytes.len())].to_vec())
    }
}

/// Arguments of 8 bytes each, and texts with their final 0 padded to a multiple of 8, in the format of the device libraries' host
/// calls.
pub(super) struct Words<'a>(pub &'a [u64]);

impl Args for Words<'_> {
    fn number(&mut self, lanes: usize) -> Option<Vec<Word>> {
        let (now, rest) = self.0.split_at_checked(lanes)?;
        self.0 = rest;
        Some(now.iter().map(|&bits| Word { bits, size: 8 }).collect())
    }

    fn text(&mut self) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        loop {
            let (&word, rest) = self.0.split_first()?;
            self.0 = rest;
            let bytes = word.to_le_bytes();
            match bytes.iter().position(|&b| b == 0) {
                Some(end) => {
                    text.extend(&bytes[..end]);
                    return Some(text);
                }
                None => text.extend(bytes),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    enum A {
        I(i64),
        F(f64),
        S(&'static str),
    }
    use A::{F, I, S};

    fn print(form: &str, args: &[A]) -> String {
        String::from_utf8(bytes(form, args)).unwrap()
    }

    fn bytes(form: &str, args: &[A]) -> Vec<u8> {
        let mut words = Vec::new();
        for arg in args {
            match arg {
                I(v) => words.push(*v as u64),
                F(v) => words.push(v.to_bits()),
                S(text) => {
                    let mut bytes = text.as_bytes().to_vec();
                    bytes.resize((bytes.len() + 1).next_multiple_of(8), 0);
                    words.extend(bytes.chunks(8).map(little));
                }
            }
        }
        let mut out = Vec::new();
        format(form.as_bytes(), &mut Words(&words), &mut out);
        out
    }

    /// Compares with the output of glibc's printf.
    #[test]
    fn formats_are_those_of_c() {
        for (form, args, expected) in [
            (
                "%d|%5d|%-5d|%05d|%+d|% d",
                &[I(1), I(-2), I(3), I(-4), I(5), I(6)][..],
                "1|   -2|3    |-0004|+5| 6",
            ),
            (
                "%.3d|%8.3d|%08.3d|%.0d|",
                &[I(7), I(-7), I(7), I(0)],
                "007|    -007|     007||",
            ),
            (
                "%u %hhd %hd %ld %hhu",
                &[I(-1), I(0x1ff), I(0x18000), I(i64::MIN), I(-1)],
                "4294967295 -1 -32768 -9223372036854775808 255",
            ),
            (
                "%x %X %#x %#o %o %#x",
                &[I(255), I(255), I(255), I(8), I(8), I(0)],
                "ff FF 0xff 010 10 0",
            ),
            (
                "%c%c|%3c|%-3c|",
                &[I(72), I(105), I(33), I(63)],
                "Hi|  !|?  |",
            ),
            (
                "%s|%6s|%-6s|%.2s|",
                &[S("abc"), S("a longer text"), S("ab"), S("xyz")],
                "abc|a longer text|ab    |xy|",
            ),
            (
                "%f %.2f %.0f %#.0f %8.3f|%-9.1f|%09.2f",
                &[
                    F(1.5),
                    F(2.675),
                    F(2.5),
                    F(3.0),
                    F(-1.0625),
                    F(2.25),
                    F(-3.24159),
                ],
                "1.500000 2.67 2 3.   -1.062|2.2      |-00003.24",
            ),
            (
                "%e %.2e %.0e %#.0e %E %e",
                &[
                    F(12345.678),
                    F(0.000123456),
                    F(15.0),
                    F(15.0),
                    F(1e100),
                    F(0.0),
                ],
                "1.234568e+04 1.23e-04 2e+01 2.e+01 1.000000E+100 0.000000e+00",
            ),
            (
                "%g %g %g %g %g %g %#g %.3g %.10g",
                &[
                    F(100000.0),
                    F(1000000.0),
                    F(0.0001),
                    F(0.00001),
                    F(1.5),
                    F(0.0),
                    F(1.0),
                    F(1234.5),
                    F(0.1),
                ],
                "100000 1e+06 0.0001 1e-05 1.5 0 1.00000 1.23e+03 0.1",
            ),
            (
                "%a %a %.1a %.0a %A %a %a",
                &[
                    F(1.0),
                    F(0.1),
                    F(1.96875),
                    F(1.5),
                    F(255.5),
                    F(0.0),
                    F(5e-324),
                ],
                "0x1p+0 0x1.999999999999ap-4 0x2.0p+0 0x2p+0 0X1.FFP+7 0x0p+0 0x0.0000000000001p-1022",
            ),
            (
                "%f %F %e %5g|%-5f|%05f",
                &[
                    F(f64::INFINITY),
                    F(f64::NAN),
                    F(f64::NEG_INFINITY),
                    F(f64::INFINITY),
                    F(f64::NAN),
                    F(f64::INFINITY),
                ],
                "inf NAN -inf   inf|nan  |  inf",
            ),
            ("%p %p %%", &[I(0x1000), I(0)], "0x1000 (nil) %"),
            (
                "%*d|%-*d|%.*f|%*d",
                &[I(5), I(1), I(4), I(2), I(2), F(1.0), I(-3), I(9)],
                "    1|2   |1.00|9  ",
            ),
            ("%f", &[F(1e22)], "10000000000000000000000.000000"),
            ("%d %y %", &[I(1)], "1 %y %"),
            ("%d %d", &[I(1)], "1 %d"),
        ] {
            assert_eq!(print(form, args), expected, "{form}");
        }
    }

    /// No conversion prints more than C guarantees, or more of a text than its length.
    #[test]
    fn hostile_formats_stay_bounded() {
        let huge = [
            "65535",
            "65536",
            "2147483647",
            "4294967296",
            "99999999999999999999999",
        ];
        for width in huge {
            for conversion in "diuoxXcpfFeEgGaA".chars() {
                for form in [
                    format!("%{width}{conversion}"),
                    format!("%-{width}{conversion}"),
                    format!("%0{width}{conversion}"),
                    format!("%.{width}{conversion}"),
                    format!("%#.{width}{conversion}"),
                    format!("%{width}.{width}{conversion}"),
                ] {
                    for value in [F(0.0), F(-1.7e308), F(5e-324), F(f64::NAN), I(-1)] {
                        let text = bytes(&form, &[value]);
                        // A double has 309 digits before the point.
                        assert!(text.len() <= WIDEST + 320, "{form}: {} bytes", text.len());
                        assert!(!text.is_empty(), "{form}");
                    }
                }
            }
            let text = print(&format!("%{width}s|%.{width}s"), &[S("ab"), S("cd")]);
            assert_eq!(text.len(), WIDEST + 3);
        }
        for star in [
            i64::MAX,
            i64::MIN,
            -1,
            65536,
            i32::MIN as i64,
            i32::MAX as i64,
        ] {
            for form in ["%*d", "%-*d", "%.*f", "%.*e", "%.*g", "%.*a", "%*.3f"] {
                let text = print(form, &[I(star), F(1.5)]);
                assert!(text.len() <= WIDEST + 320, "{form} {star}: {}", text.len());
            }
        }
        // Vectors with more elements than exist, repeated flags, and nothing after the sign.
        for form in [
            "%v99999999d",
            "%v16f",
            "%v3",
            "%",
            "%#-+ 0#-+ 0",
            "%.",
            "%.*",
            "%*",
            "%lllllld",
        ] {
            assert!(print(form, &[I(1)]).len() < 100, "{form}");
        }
        assert_eq!(print("%4095d", &[I(1)]).len(), 4095);
    }

    #[test]
    fn vectors_and_sizes_of_opencl() {
        let entry = Declared::parse(r"3:4:16:4:8:4:%v4hld\72 %.1f %v2hx %s\n").unwrap();
        assert_eq!((entry.id, entry.bytes()), (3, 36));
        let mut bytes = Vec::new();
        for n in [1i32, -2, 3, 4] {
            bytes.extend(n.to_le_bytes());
        }
        bytes.extend(2.5f32.to_le_bytes());
        bytes.extend([0xff, 0, 0x34, 0x12, 0, 0, 0, 0]);
        bytes.extend(*b"abc\0");
        let mut out = Vec::new();
        entry.print(&bytes, &mut out);
        // Two elements of 4 bytes; the modifier takes 2 bytes of each.
        assert_eq!(out, b"1,-2,3,4: 2.5 ff,0 abc\n");
        for text in ["", "1", "1:x:4:%d", "1:2:4:%d", "-1:0:a", "1:1:0:%s"] {
            assert!(Declared::parse(text).is_err(), "{text}");
        }
        assert!(Declared::parse("1:0:a:b").is_ok());
    }
}
