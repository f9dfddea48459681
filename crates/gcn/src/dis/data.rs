//! Data as directives.

use super::*;

/// Writes one directive of data without labels. Returns the number of bytes that it represents.
pub(super) fn plain_data(bytes: &[u8], strings: bool, out: &mut Vec<u8>) -> usize {
    let zeros = match bytes {
        [0, ..] => zeros_at_start(bytes),
        _ => 0,
    };
    if zeros >= 16 || zeros == bytes.len() && zeros > 1 {
        // The next directive begins at a multiple of eight bytes.
        let zeros = if zeros == bytes.len() {
            zeros
        } else {
            zeros & !7
        };
        let _ = writeln!(out, "\t.zero {zeros}");
        return zeros;
    }
    if let Some(length) = string_length(bytes, strings) {
        let ended = bytes.get(length) == Some(&0);
        out.extend(match ended {
            true => b"\t.asciz \"",
            false => b"\t.ascii \"",
        });
        escaped(&bytes[..length], out);
        out.extend(b"\"\n");
        return length + ended as usize;
    }
    let count = bytes.len().min(MOST);
    // The numbers end where a string or zeros begin.
    let end = (8..count)
        .step_by(8)
        .find(|n| {
            let rest = &bytes[*n..];
            // Most numbers are neither.
            let some = match rest.first_chunk::<8>() {
                Some([text @ .., _, _]) if !may_be_printed(text) => rest[..8] == [0; 8],
                _ => true,
            };
            some && (string_length(rest, strings).is_some()
                || rest.first_chunk().is_some_and(|b| *b == [0; 16]))
        })
        .unwrap_or(count);
    let mut line = Line {
        text: [0; LINE],
        len: 0,
    };
    let (octas, _) = bytes[..end].as_chunks::<16>();
    if !octas.is_empty() && shorter_as_octas(octas) {
        line.push(b"\t.octa ");
        for (n, octa) in octas.iter().enumerate() {
            line.number(n, u128::from_le_bytes(*octa));
        }
        return line.write(16 * octas.len(), out);
    }
    let numbers = &bytes[..end.min(MOST_QUADS)];
    let (width, directive) = match numbers.len() {
        0..=3 => (1, b"\t.byte "),
        4..=7 => (4, b"\t.long "),
        _ => (8, b"\t.quad "),
    };
    line.push(directive);
    for (n, number) in numbers.chunks_exact(width).enumerate() {
        let mut value = [0; 8];
        value[..width].copy_from_slice(number);
        line.number(n, u64::from_le_bytes(value).into());
    }
    line.write(numbers.len() / width * width, out)
}

/// Returns the number of zeros that bytes begin with.
fn zeros_at_start(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<8>();
    let whole = 8 * words.iter().take_while(|word| **word == [0; 8]).count();
    whole + bytes[whole..].iter().take_while(|b| **b == 0).count()
}

/// The maximum number of bytes in a line of numbers of 128 bits, and in one of numbers of 64 bits.
const MOST: usize = 64;
const MOST_QUADS: usize = 32;
/// Room for the longest line, and for the digits that are written after its numbers.
const LINE: usize = 192;

/// Returns true if text of numbers of 128 bits is shorter than text of numbers of 64 bits: few low halves have zeros at their
/// start, which only the high half may leave out.
fn shorter_as_octas(octas: &[[u8; 16]]) -> bool {
    /// The characters that a second number of 64 bits adds.
    const MORE: usize = ", 0x".len();
    let zeros = |octa: &[u8; 16]| {
        let (low, high) = (u128::from_le_bytes(*octa) as u64, octa[8..] != [0; 8]);
        (low | 1).leading_zeros() as usize / 4 * high as usize
    };
    octas.iter().map(zeros).sum::<usize>() < MORE * octas.len()
}

/// A line of numbers.
struct Line {
    text: [u8; LINE],
    len: usize,
}

impl Line {
    #[inline(always)]
    fn push<const N: usize>(&mut self, text: &[u8; N]) {
        self.text[self.len..self.len + N].copy_from_slice(text);
        self.len += N;
    }

    /// Appends a number with this index in the line.
    #[inline(always)]
    fn number(&mut self, index: usize, value: u128) {
        if index != 0 {
            self.push(b", ");
        }
        self.push(b"0x");
        // All digits are written, and the text after the significant ones overwrites the rest.
        match u64::try_from(value) {
            Ok(value) => {
                let zeros = (value | 1).leading_zeros() as usize / 4;
                self.push(&hex_digits(value << (4 * zeros)));
                self.len -= zeros;
            }
            Err(_) => {
                let zeros = value.leading_zeros() as usize / 4;
                self.push(&all_hex_digits(value << (4 * zeros)));
                self.len -= zeros;
            }
        }
    }

    /// Writes the line, which represents this many bytes; returns their number.
    #[inline(always)]
    fn write(mut self, bytes: usize, out: &mut Vec<u8>) -> usize {
        self.push(b"\n");
        out.extend_from_slice(&self.text[..self.len]);
        bytes
    }
}

/// The 16 digits of a number in hex.
#[inline(always)]
fn hex_digits(value: u64) -> [u8; 16] {
    let all = all_hex_digits(u128::from(value) << 64);
    *all.first_chunk().unwrap_or(&[0; 16])
}

/// The 32 digits of a number in hex.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn all_hex_digits(value: u128) -> [u8; 32] {
    use safe_arch::{
        add_i8_m128i, bitand_m128i, cmp_gt_mask_i8_m128i, m128i, set_splat_i8_m128i,
        shr_imm_u16_m128i, unpack_high_i8_m128i, unpack_low_i8_m128i,
    };
    let bytes = m128i::from(value.to_be_bytes());
    let all = |byte: u8| set_splat_i8_m128i(byte as i8);
    let first = bitand_m128i(shr_imm_u16_m128i::<4>(bytes), all(15));
    let second = bitand_m128i(bytes, all(15));
    let text = |digits| -> [u8; 16] {
        // Digits from ten on are letters.
        let letters = cmp_gt_mask_i8_m128i(digits, all(9));
        let letters = bitand_m128i(letters, all(b'a' - b'0' - 10));
        add_i8_m128i(add_i8_m128i(digits, all(b'0')), letters).into()
    };
    let mut digits = [0; 32];
    digits[..16].copy_from_slice(&text(unpack_low_i8_m128i(first, second)));
    digits[16..].copy_from_slice(&text(unpack_high_i8_m128i(first, second)));
    digits
}

/// The 32 digits of a number in hex.
#[cfg(not(target_arch = "x86_64"))]
fn all_hex_digits(value: u128) -> [u8; 32] {
    // Eight digits in the eight bytes of a number, the first in the highest.
    let eight = |value: u32| {
        let mut digits = u64::from(value);
        digits = (digits | digits << 16) & 0x0000_ffff_0000_ffff;
        digits = (digits | digits << 8) & 0x00ff_00ff_00ff_00ff;
        digits = (digits | digits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
        // Digits from ten on are letters.
        let letters = (digits + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
        digits + 0x3030_3030_3030_3030 + letters * (b'a' - b'0' - 10) as u64
    };
    let mut all = [0; 32];
    for (n, to) in all.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        *to = eight((value >> (96 - 32 * n)) as u32).to_be_bytes();
    }
    all
}

/// The minimum length of a string in data that may be numbers.
const LEAST: usize = 6;

/// Returns the length of the string that data begins with, without the zero after it; `None` if it does not look like a string.
pub(super) fn string_length(bytes: &[u8], strings: bool) -> Option<usize> {
    const MOST: usize = 1 << 12;
    if strings {
        let length = bytes.iter().take(MOST).take_while(|b| **b != 0).count();
        return Some(length);
    }
    if !bytes.first_chunk().is_some_and(may_be_printed) {
        return None;
    }
    let length = printed_length(&bytes[..bytes.len().min(MOST)]);
    let ended = length == MOST || bytes.get(length) == Some(&0);
    (length >= LEAST && ended).then_some(length)
}

/// Returns the number of printed characters, line ends and tabs that bytes begin with.
fn printed_length(bytes: &[u8]) -> usize {
    let printed = |b: &u8| (0x20..0x7f).contains(b) || matches!(b, b'\n' | b'\t');
    let mut length = 0;
    loop {
        let (words, _) = bytes[length..].as_chunks::<8>();
        length += 8 * words.iter().take_while(|word| is_printed(word)).count();
        let rest = &bytes[length..];
        let some = &rest[..rest.len().min(8)];
        let count = some.iter().take_while(|b| printed(b)).count();
        length += count;
        if count < 8 {
            return length;
        }
    }
}

/// Returns true if all bytes are from 0x20 to 0x7e. All are compared together.
#[inline]
fn is_printed(bytes: &[u8; 8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(*bytes);
    // The lowest byte that is too small, and one that is too large, set their high bits.
    (word.wrapping_sub(0x20 * ONES) | word.wrapping_add(ONES) | word) & (0x80 * ONES) == 0
}

/// Returns false only if one of the bytes is below a tab or above ASCII, as in most numbers. All bytes are compared
/// together.
#[inline]
fn may_be_printed(bytes: &[u8; LEAST]) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut word = [b' '; 8];
    word[..LEAST].copy_from_slice(bytes);
    let word = u64::from_le_bytes(word);
    // The subtraction sets the high bit of bytes below 9; it may set that of a byte after them too.
    let low = word.wrapping_sub(0x0909_0909_0909_0909) & !word;
    (word | low) & HIGH == 0
}

pub(super) fn escaped(bytes: &[u8], out: &mut Vec<u8>) {
    let mut rest = bytes;
    loop {
        let plain = |b: &u8| (0x20..0x7f).contains(b) && !matches!(b, b'"' | b'\\');
        let count = rest.iter().take_while(|b| plain(b)).count();
        let (plain, special) = rest.split_at(count);
        out.extend_from_slice(plain);
        let Some((&byte, after)) = special.split_first() else {
            return;
        };
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b'\n' => out.extend(b"\\n"),
            b'\t' => out.extend(b"\\t"),
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_formatter_does() {
        for shift in 0..64 {
            for value in [
                u64::MAX >> shift,
                1 << shift,
                0x0123_4567_89ab_cdef >> shift,
                0xfedc_ba98_7654_3210 >> shift,
            ] {
                let printed = |numbers: &[u64]| {
                    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
                    let mut out = Vec::new();
                    assert_eq!(plain_data(&bytes, false, &mut out), bytes.len());
                    String::from_utf8(out).expect("ASCII")
                };
                // The low half of a number of 128 bits has all its digits.
                let octa = u128::from(value) << 64 | u128::from(u64::MAX);
                let text = format!("\t.octa {octa:#x}\n");
                assert_eq!(printed(&[u64::MAX, value]), text);
                let zeros = value.leading_zeros() / 4;
                let text = match zeros {
                    0..4 => format!("\t.octa 0xffffffffffffffff{value:016x}\n"),
                    _ => format!("\t.quad {value:#x}, 0xffffffffffffffff\n"),
                };
                assert_eq!(printed(&[value, u64::MAX]), text);
            }
        }
        let mut out = Vec::new();
        assert_eq!(plain_data(&[1, 0xab, 0], false, &mut out), 3);
        assert_eq!(plain_data(&[1, 2, 3, 0xf4, 5], false, &mut out), 4);
        assert_eq!(out, b"\t.byte 0x1, 0xab, 0x0\n\t.long 0xf4030201\n");
    }

    #[test]
    fn lines_have_up_to_64_bytes() {
        let large: Vec<u8> = (0x81..=0xff).collect();
        let mut out = Vec::new();
        let mut at = 0;
        while at < large.len() {
            at += plain_data(&large[at..], false, &mut out);
        }
        let text = String::from_utf8(out).expect("ASCII");
        let lines: Vec<(&str, usize)> = (text.lines())
            .map(|line| (&line[..7], line.split(", ").count()))
            .collect();
        let octas = ("\t.octa ", 4);
        let rest = [
            ("\t.octa ", 3),
            ("\t.quad ", 1),
            ("\t.long ", 1),
            ("\t.byte ", 3),
        ];
        assert_eq!(lines, [&[octas][..], &rest].concat());
        // Numbers of few digits are in the short form.
        let small: Vec<u8> = (1..=16u64).flat_map(|n| n.to_le_bytes()).collect();
        let mut out = Vec::new();
        assert_eq!(plain_data(&small, false, &mut out), 32);
        assert_eq!(out, b"\t.quad 0x1, 0x2, 0x3, 0x4\n");
    }

    #[test]
    fn strings_are_found_as_byte_by_byte() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        for round in 0..20_000 {
            let bytes: [u8; 40] = std::array::from_fn(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let odd = [0, 0, 8, 9, 10, 11, 0x1f, 0x7f, 0x80, 0xff];
                let often = [40, 400][round % 2];
                *odd.get(state as usize % often).unwrap_or(&b' ')
            });
            let printed = |b: &&u8| (0x20..0x7f).contains(*b) || matches!(b, b'\n' | b'\t');
            let length = bytes.iter().take_while(printed).count();
            let found = (length >= 6 && bytes.get(length) == Some(&0)).then_some(length);
            assert_eq!(string_length(&bytes, false), found, "{bytes:?}");
        }
    }

    #[test]
    fn special_characters_are_escaped() {
        let mut out = Vec::new();
        escaped(b"a\"b\\c\n\td\0\x7f\xff e", &mut out);
        assert_eq!(out, b"a\\\"b\\\\c\\n\\td\\000\\177\\377 e");
        let zeros = [[0; 21].as_slice(), &[1]].concat();
        assert_eq!(zeros_at_start(&zeros), 21);
        assert_eq!(zeros_at_start(&zeros[..21]), 21);
        assert_eq!(zeros_at_start(&zeros[..3]), 3);
    }
}
