//! Data as directives.

use super::*;

/// One directive's worth of data without labels; gives how many bytes it is.
pub(super) fn plain_data(bytes: &[u8], strings: bool, out: &mut String) -> usize {
    let zeros = bytes.iter().take_while(|b| **b == 0).count();
    if zeros >= 16 || zeros == bytes.len() && zeros > 1 {
        // Words go on where words stop.
        let zeros = if zeros == bytes.len() {
            zeros
        } else {
            zeros & !7
        };
        out.push_str("\t.zero ");
        push_dec(out, zeros as u64);
        out.push('\n');
        return zeros;
    }
    if let Some(length) = string_length(bytes, strings) {
        let ended = bytes.get(length) == Some(&0);
        out.push_str(if ended { "\t.asciz \"" } else { "\t.ascii \"" });
        escaped(&bytes[..length], out);
        out.push_str("\"\n");
        return length + ended as usize;
    }
    let count = bytes.len().min(32);
    // A text or zeros may begin within: there the numbers end.
    let end = (8..count)
        .step_by(8)
        .find(|n| {
            let rest = &bytes[*n..];
            string_length(rest, strings).is_some()
                || rest.len() >= 16 && rest[..16].iter().all(|b| *b == 0)
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
        // All 16 digits are written, and the line goes on behind those that count.
        let digits = 16 - (value | 1).leading_zeros() as usize / 4;
        let all = hex_digits(value << (64 - 4 * digits));
        line[len..len + 16].copy_from_slice(&all);
        len += digits;
        done += width;
    }
    line[len] = b'\n';
    out.push_str(str::from_utf8(&line[..len + 1]).unwrap_or_default());
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
        // Those from ten on are letters.
        let letters = (digits + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
        digits + 0x3030_3030_3030_3030 + letters * (b'a' - b'0' - 10) as u64
    };
    let mut all = [0; 16];
    all[..8].copy_from_slice(&half(value >> 32).to_be_bytes());
    all[8..].copy_from_slice(&half(value & 0xffff_ffff).to_be_bytes());
    all
}

/// How long a text is that data begins with, without its end; `None` where it does not look like one.
pub(super) fn string_length(bytes: &[u8], strings: bool) -> Option<usize> {
    const MOST: usize = 1 << 12;
    let printed = |b: &u8| (0x20..0x7f).contains(b) || matches!(b, b'\n' | b'\t');
    if strings {
        let length = bytes.iter().take(MOST).take_while(|b| **b != 0).count();
        return Some(length);
    }
    let length = bytes.iter().take(MOST).take_while(|b| printed(b)).count();
    let ended = length == MOST || bytes.get(length) == Some(&0);
    (length >= 6 && ended).then_some(length)
}

pub(super) fn escaped(bytes: &[u8], out: &mut String) {
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(byte as char);
            }
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            0x20..0x7f => out.push(byte as char),
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
                let mut out = String::new();
                assert_eq!(plain_data(&bytes, false, &mut out), 16);
                assert_eq!(out, format!("\t.quad {value:#x}, 0xffffffffffffffff\n"));
            }
        }
        let mut out = String::new();
        assert_eq!(plain_data(&[1, 0xab, 0], false, &mut out), 3);
        assert_eq!(plain_data(&[1, 2, 3, 0xf4, 5], false, &mut out), 4);
        assert_eq!(out, "\t.byte 0x1, 0xab, 0x0\n\t.long 0xf4030201\n");
    }
}
