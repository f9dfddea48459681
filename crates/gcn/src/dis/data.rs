//! Data as directives.

use super::*;

/// Writes one directive of data without labels. Returns the number of bytes that it represents.
pub(super) fn plain_data(bytes: &[u8], strings: bool, out: &mut Vec<u8>) -> usize {
    let zeros = match bytes {
        [0, ..] => bytes.iter().take_while(|b| **b == 0).count(),
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
    let count = bytes.len().min(32);
    // The numbers end where a string or zeros begin.
    let end = (8..count)
        .step_by(8)
        .find(|n| {
            let rest = &bytes[*n..];
            string_length(rest, strings).is_some()
                || rest.first_chunk().is_some_and(|b| *b == [0; 16])
        })
        .unwrap_or(count);
    let numbers = &bytes[..end];
    let (width, directive) = match numbers.len() {
        0..=3 => (1, "\t.byte "),
        4..=7 => (4, "\t.long "),
        _ => (8, "\t.quad "),
    };
    // The longest line has four numbers of 64 bits.
    let mut line = [0; 96];
    line[..directive.len()].copy_from_slice(directive.as_bytes());
    let mut len = directive.len();
    let mut done = 0;
    for number in numbers.chunks_exact(width) {
        if done != 0 {
            line[len..len + 2].copy_from_slice(b", ");
            len += 2;
        }
        let mut value = [0; 8];
        value[..width].copy_from_slice(number);
        let value = u64::from_le_bytes(value);
        line[len..len + 2].copy_from_slice(b"0x");
        len += 2;
        // All 16 digits are written, and the text after the significant ones overwrites the rest.
        let digits = 16 - (value | 1).leading_zeros() as usize / 4;
        let all = hex_digits(value << (64 - 4 * digits));
        line[len..len + 16].copy_from_slice(&all);
        len += digits;
        done += width;
    }
    line[len] = b'\n';
    out.extend_from_slice(&line[..len + 1]);
    done
}

/// The 16 digits of a number in hex.
fn hex_digits(value: u64) -> [u8; 16] {
    // Eight digits in the eight bytes of a number, the first in the highest.
    let half = |value: u64| {
        let mut digits = value;
        digits = (digits | digits << 16) & 0x0000_ffff_0000_ffff;
        digits = (digits | digits << 8) & 0x00ff_00ff_00ff_00ff;
        digits = (digits | digits << 4) & 0x0f0f_0f0f_0f0f_0f0f;
        // Digits from ten on are letters.
        let letters = (digits + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
        digits + 0x3030_3030_3030_3030 + letters * (b'a' - b'0' - 10) as u64
    };
    let mut all = [0; 16];
    all[..8].copy_from_slice(&half(value >> 32).to_be_bytes());
    all[8..].copy_from_slice(&half(value & 0xffff_ffff).to_be_bytes());
    all
}

/// Returns the length of the string that data begins with, without the zero after it; `None` if it does not look like a string.
pub(super) fn string_length(bytes: &[u8], strings: bool) -> Option<usize> {
    const MOST: usize = 1 << 12;
    const LEAST: usize = 6;
    let printed = |b: &u8| (0x20..0x7f).contains(b) || matches!(b, b'\n' | b'\t');
    if strings {
        let length = bytes.iter().take(MOST).take_while(|b| **b != 0).count();
        return Some(length);
    }
    if !bytes.first_chunk().is_some_and(may_be_printed::<LEAST>) {
        return None;
    }
    let length = bytes.iter().take(MOST).take_while(|b| printed(b)).count();
    let ended = length == MOST || bytes.get(length) == Some(&0);
    (length >= LEAST && ended).then_some(length)
}

/// Returns false only if one of the bytes is below a tab or above ASCII, as in most numbers. All bytes are compared
/// together.
#[inline]
fn may_be_printed<const N: usize>(bytes: &[u8; N]) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut word = [b' '; 8];
    word[..N].copy_from_slice(bytes);
    let word = u64::from_le_bytes(word);
    // The subtraction sets the high bit of bytes below 9; it may set that of a byte after them too.
    let low = word.wrapping_sub(0x0909_0909_0909_0909) & !word;
    (word | low) & HIGH == 0
}

pub(super) fn escaped(bytes: &[u8], out: &mut Vec<u8>) {
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b'\n' => out.extend(b"\\n"),
            b'\t' => out.extend(b"\\t"),
            0x20..0x7f => out.push(byte),
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
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
                let bytes = [value.to_le_bytes(), [0xff; 8]].concat();
                let mut out = Vec::new();
                assert_eq!(plain_data(&bytes, false, &mut out), 16);
                let text = format!("\t.quad {value:#x}, 0xffffffffffffffff\n");
                assert_eq!(out, text.as_bytes());
            }
        }
        let mut out = Vec::new();
        assert_eq!(plain_data(&[1, 0xab, 0], false, &mut out), 3);
        assert_eq!(plain_data(&[1, 2, 3, 0xf4, 5], false, &mut out), 4);
        assert_eq!(out, b"\t.byte 0x1, 0xab, 0x0\n\t.long 0xf4030201\n");
    }

    #[test]
    fn strings_are_found_as_byte_by_byte() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..20_000 {
            let bytes: [u8; 8] = std::array::from_fn(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let odd = [0, 0, 8, 9, 10, 11, 0x1f, 0x7f, 0x80, 0xff];
                *odd.get(state as usize % 40).unwrap_or(&b' ')
            });
            let printed = |b: &&u8| (0x20..0x7f).contains(*b) || matches!(b, b'\n' | b'\t');
            let length = bytes.iter().take_while(printed).count();
            let found = (length >= 6 && bytes.get(length) == Some(&0)).then_some(length);
            assert_eq!(string_length(&bytes, false), found, "{bytes:?}");
        }
    }
}
