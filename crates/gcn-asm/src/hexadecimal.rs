//! Numbers from lower-case hexadecimal digits, eight to thirty-two of which are read together.

const ONES: u64 = 0x0101_0101_0101_0101;

/// Returns the number of the lower-case hexadecimal digits at the start of a text, and their count.
#[inline]
pub(crate) fn small_digits(text: [u8; 8]) -> (u32, u32) {
    let text = u64::from_be_bytes(text);
    let (digits, wrong) = hexadecimal_values(text);
    let count = wrong.leading_zeros() / 8;
    (number_of(digits.unbounded_shr(64 - 8 * count)), count)
}

/// Returns the number of the lower-case hexadecimal digits at the start of a text, and their count, which is at least
/// 1. The next character is a comma, a blank, the line's end or a similar one.
///
/// The count is computed only from the characters that cannot be digits: the processor may then continue after the
/// number before it knows the number.
#[inline]
pub(crate) fn hexadecimal(text: &[u8; 16]) -> Option<(u64, usize)> {
    let ([high, low], []) = text.as_chunks() else {
        return None;
    };
    let (high, low) = (u64::from_le_bytes(*high), u64::from_le_bytes(*low));
    // Bit 6 for each character that is not a digit; digits have bit 4 or bit 6.
    let others = |text: u64| !(text | text << 2) & (0x40 * ONES);
    let (high_others, low_others) = (others(high), others(low));
    let count = match high_others {
        0 => 8 + low_others.trailing_zeros() / 8,
        others => others.trailing_zeros() / 8,
    };
    // The bytes before the first other character.
    let before = |others: u64| ((others & others.wrapping_neg()) >> 6).wrapping_sub(1);
    let ((high_digits, high_wrong), (low_digits, low_wrong)) =
        (hexadecimal_values(high), hexadecimal_values(low));
    let low_wrong = match high_others {
        0 => low_wrong & before(low_others),
        _ => 0,
    };
    if high_wrong & before(high_others) | low_wrong != 0 || count == 0 {
        return None;
    }
    let number = |digits: u64| number_of((digits & (15 * ONES)).swap_bytes()) as u64;
    let all = number(high_digits) << 32 | number(low_digits);
    Some((all >> (64 - 4 * count), count as usize))
}

/// Returns the values of eight lower-case hexadecimal digits, each in its byte, and a number whose bytes are 0 for
/// these digits.
#[inline]
fn hexadecimal_values(text: u64) -> (u64, u64) {
    // Letters have bit 6 set, and their low bits count from 1.
    let digits = (text & (15 * ONES)) + 9 * ((text >> 6) & ONES);
    // Marks the letters, if each digit is less than 16.
    let letters = ((digits + 6 * ONES) >> 4) & ONES;
    let again = digits + b'0' as u64 * ONES + (b'a' - b'0' - 10) as u64 * letters;
    let wrong = digits & (0xf0 * ONES) | (again ^ text);
    (digits, wrong)
}

/// Returns the number of eight digits, the first of which is in the highest byte.
#[inline]
fn number_of(digits: u64) -> u32 {
    let pairs = (digits | (digits >> 4)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    (fours | fours >> 16) as u32
}

/// Returns the number of 32 lower-case hexadecimal digits; `None` if another character is among them.
#[inline]
pub(crate) fn all_digits(text: &[u8; 32]) -> Option<u128> {
    #[cfg(target_arch = "x86_64")]
    return sse2::all_digits(text);
    #[cfg(not(target_arch = "x86_64"))]
    return portable::all_digits(text);
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    use super::{hexadecimal_values, number_of};

    /// See [`super::all_digits`].
    pub fn all_digits(text: &[u8; 32]) -> Option<u128> {
        let (words, _) = text.as_chunks();
        let (mut number, mut all_wrong) = (0, 0);
        for word in words {
            let (digits, wrong) = hexadecimal_values(u64::from_be_bytes(*word));
            number = number << 32 | u128::from(number_of(digits & (15 * super::ONES)));
            all_wrong |= wrong;
        }
        (all_wrong == 0).then_some(number)
    }
}

/// With the vectors of 16 bytes that every x86-64 processor has.
#[cfg(target_arch = "x86_64")]
mod sse2 {
    use safe_arch::{
        add_i8_m128i, bitand_m128i, bitor_m128i, cmp_eq_mask_i8_m128i, m128i, min_u8_m128i,
        move_mask_i8_m128i, pack_i16_to_u8_m128i, set_splat_i8_m128i, set_splat_i16_m128i,
        shl_imm_u16_m128i, shr_imm_u16_m128i, sub_i8_m128i,
    };

    /// See [`super::all_digits`].
    #[inline]
    pub fn all_digits(text: &[u8; 32]) -> Option<u128> {
        let (halves, _) = text.as_chunks();
        let [high, low] = halves else {
            return None;
        };
        let ((high, high_known), (low, low_known)) = (digits(*high), digits(*low));
        if move_mask_i8_m128i(bitand_m128i(high_known, low_known)) != 0xffff {
            return None;
        }
        // The number's bytes, the highest first.
        let bytes: [u8; 16] = pack_i16_to_u8_m128i(high, low).into();
        Some(u128::from_be_bytes(bytes))
    }

    /// Returns the values of eight pairs of digits, as numbers of 16 bits, and a vector whose bytes are 0xff for these digits.
    #[inline]
    fn digits(text: [u8; 16]) -> (m128i, m128i) {
        let text = m128i::from(text);
        let all = |byte: u8| set_splat_i8_m128i(byte as i8);
        let up_to = |value, most| cmp_eq_mask_i8_m128i(min_u8_m128i(value, all(most)), value);
        let numeral = up_to(sub_i8_m128i(text, all(b'0')), 9);
        let letter = up_to(sub_i8_m128i(text, all(b'a')), 5);
        // The low bits of letters count from 1.
        let low = bitand_m128i(text, all(15));
        let values = add_i8_m128i(low, bitand_m128i(letter, all(9)));
        // The first digit of a pair is in the low byte.
        let pairs = bitor_m128i(
            shl_imm_u16_m128i::<4>(values),
            shr_imm_u16_m128i::<8>(values),
        );
        let pairs = bitand_m128i(pairs, set_splat_i16_m128i(0xff));
        (pairs, bitor_m128i(numeral, letter))
    }
}

#[cfg(test)]
mod tests {
    use super::{all_digits, hexadecimal, small_digits};

    #[test]
    fn digits_are_those_that_the_library_takes() {
        let check = |text: [u8; 8]| {
            let small = |c: &&u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
            let count = text.iter().take_while(small).count();
            let digits = str::from_utf8(&text[..count]).unwrap();
            let number = match count {
                0 => 0,
                _ => u32::from_str_radix(digits, 16).unwrap(),
            };
            assert_eq!(small_digits(text), (number, count as u32), "{text:?}");
        };
        for location in 0..8 {
            for c in 0..=255 {
                for other in *b"0f9a" {
                    let mut text = [other; 8];
                    text[location] = c;
                    check(text);
                    text[7 - location] = b'g';
                    check(text);
                }
            }
        }
        check(*b"01234567");
        check(*b"89abcdef");
    }

    #[test]
    fn a_number_ends_before_the_first_character_that_cannot_be_a_digit() {
        let check = |text: [u8; 16]| {
            // Commas, blanks and line ends are among the characters without these bits.
            let end = text.iter().position(|c| c & 0x50 == 0).unwrap_or(16);
            let small = |c: &u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
            let number = (text[..end].iter().all(small) && end > 0).then(|| {
                let digits = str::from_utf8(&text[..end]).unwrap();
                (u64::from_str_radix(digits, 16).unwrap(), end)
            });
            assert_eq!(hexadecimal(&text), number, "{text:?}");
        };
        for location in 0..16 {
            for c in 0..=255 {
                for other in *b"0f9a" {
                    let mut text = [other; 16];
                    text[location] = c;
                    check(text);
                    for (before, after) in
                        [(b',', b' '), (b'\n', b'g'), (b'A', b'\n'), (b'b', b'6')]
                    {
                        text[15 - location] = before;
                        check(text);
                        text[(17 - location) % 16] = after;
                        check(text);
                    }
                }
            }
        }
        check(*b"0123456789abcdef");
        check(*b"fedcba9876543210");
    }

    #[test]
    fn thirty_two_digits_are_those_that_the_library_takes() {
        let check = |text: [u8; 32]| {
            let small = |c: &u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
            let number = text.iter().all(small).then(|| {
                let digits = str::from_utf8(&text).unwrap();
                u128::from_str_radix(digits, 16).unwrap()
            });
            assert_eq!(all_digits(&text), number, "{text:?}");
            assert_eq!(super::portable::all_digits(&text), number, "{text:?}");
        };
        for location in 0..32 {
            for c in 0..=255 {
                for other in *b"0f9a" {
                    let mut text = [other; 32];
                    text[location] = c;
                    check(text);
                    text[31 - location] = b'g';
                    check(text);
                }
            }
        }
        check(*b"0123456789abcdeffedcba9876543210");
    }
}
