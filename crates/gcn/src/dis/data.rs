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
    out.push_str(directive);
    let mut done = 0;
    for number in numbers.chunks_exact(width) {
        if done != 0 {
            out.push_str(", ");
        }
        let value = number.iter().rev().fold(0, |v, b| v << 8 | *b as u64);
        push_hex(out, value);
        done += width;
    }
    out.push('\n');
    done
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
