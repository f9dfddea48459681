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

/// Returns the number of the lower-case hexadecimal digits at the start of a text, and their count.
#[inline]
pub(crate) fn up_to_16(text: &[u8; 16]) -> (u64, usize) {
    #[cfg(target_arch = "x86_64")]
    return sse2::up_to_16(text);
    #[cfg(not(target_arch = "x86_64"))]
    return portable::up_to_16(text);
}

/// Returns the number of the lower-case hexadecimal digits at the start of a text, and their count.
#[inline]
pub(crate) fn up_to_32(text: &[u8; 32]) -> (u128, usize) {
    #[cfg(target_arch = "x86_64")]
    return sse2::up_to_32(text);
    #[cfg(not(target_arch = "x86_64"))]
    return portable::up_to_32(text);
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    use super::small_digits;

    /// See [`super::up_to_16`].
    pub fn up_to_16(text: &[u8; 16]) -> (u64, usize) {
        let (number, count) = up_to(text);
        (number as u64, count)
    }

    /// See [`super::up_to_32`].
    pub fn up_to_32(text: &[u8; 32]) -> (u128, usize) {
        up_to(text)
    }

    fn up_to(text: &[u8]) -> (u128, usize) {
        let (mut number, mut all) = (0, 0);
        for eight in text.as_chunks().0 {
            let (more, count) = small_digits(*eight);
            number = number << (4 * count) | u128::from(more);
            all += count as usize;
            if count < 8 {
                break;
            }
        }
        (number, all)
    }
}

/// With the vectors of 16 bytes that every x86-64 processor has. All digits are computed together with their count, which no
/// branch depends on.
#[cfg(target_arch = "x86_64")]
mod sse2 {
    use safe_arch::{
        add_i8_m128i, bitand_m128i, bitor_m128i, cmp_eq_mask_i8_m128i, m128i, min_u8_m128i,
        move_mask_i8_m128i, pack_i16_to_u8_m128i, set_splat_i8_m128i, set_splat_i16_m128i,
        shl_imm_u16_m128i, shr_imm_u16_m128i, sub_i8_m128i,
    };

    /// See [`super::up_to_16`].
    #[inline]
    pub fn up_to_16(text: &[u8; 16]) -> (u64, usize) {
        let (pairs, known) = digits(*text);
        let count = known.trailing_ones();
        // The number's bytes, the highest first.
        let bytes: [u8; 16] = pack_i16_to_u8_m128i(pairs, pairs).into();
        let all = u128::from_be_bytes(bytes) as u64;
        (all.unbounded_shr(64 - 4 * count), count as usize)
    }

    /// See [`super::up_to_32`].
    #[inline]
    pub fn up_to_32(text: &[u8; 32]) -> (u128, usize) {
        let (halves, _) = text.as_chunks();
        let [high, low] = halves else {
            return (0, 0);
        };
        let ((high, high_known), (low, low_known)) = (digits(*high), digits(*low));
        // The bits after the lowest 32 end the count.
        let count = (!((high_known | low_known << 16) as u64)).trailing_zeros();
        let bytes: [u8; 16] = pack_i16_to_u8_m128i(high, low).into();
        let all = u128::from_be_bytes(bytes);
        (all.unbounded_shr(128 - 4 * count), count as usize)
    }

    /// Returns the values of eight pairs of digits, as numbers of 16 bits, and a bit for each character that is a digit.
    #[inline]
    fn digits(text: [u8; 16]) -> (m128i, u32) {
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
        let known = move_mask_i8_m128i(bitor_m128i(numeral, letter));
        (pairs, known as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::{portable, small_digits, up_to_16, up_to_32};

    /// The number of the digits at the start of a text, and their count, as the standard library reads them.
    fn read(text: &[u8]) -> (u128, usize) {
        let small = |c: &&u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
        let count = text.iter().take_while(small).count();
        let digits = str::from_utf8(&text[..count]).unwrap();
        let number = match count {
            0 => 0,
            _ => u128::from_str_radix(digits, 16).unwrap(),
        };
        (number, count)
    }

    fn check(text: [u8; 32]) {
        assert_eq!(up_to_32(&text), read(&text), "{text:?}");
        assert_eq!(portable::up_to_32(&text), read(&text), "{text:?}");
        for half in text.as_chunks().0 {
            let (number, count) = up_to_16(half);
            assert_eq!((number.into(), count), read(half), "{half:?}");
            let (number, count) = portable::up_to_16(half);
            assert_eq!((number.into(), count), read(half), "{half:?}");
        }
        for eight in text.as_chunks().0 {
            let (number, count) = small_digits(*eight);
            assert_eq!((number.into(), count as usize), read(eight), "{eight:?}");
        }
    }

    #[test]
    fn digits_are_those_that_the_library_takes() {
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
