//! Arguments of kernels: their data, and the comparison of results.

use anyhow::{Result, bail, ensure};

/// An argument.
pub enum Arg {
    /// A buffer's contents, and the comparison of its results.
    Buffer(Vec<u8>, Alike),
    /// A value's bytes.
    Value(Vec<u8>),
    /// A pointer to this number of bytes of local memory.
    Local(u32),
}

/// The comparison of the results of two engines that compiled the source independently.
#[derive(Clone, Copy)]
pub enum Alike {
    /// The same bytes.
    Exactly,
    /// 32-bit floats whose difference is at most this fraction of the larger one, or of 1.
    F32(f32),
    /// The same for 64-bit floats.
    F64(f64),
    /// The same for the first three of each four: the kernel leaves the fourth undefined.
    Xyz(f32),
    /// Like [`Alike::F32`], but this fraction of the floats may differ, because a rounded sum selects one of two values.
    Few(f32, f64),
    /// Dwords; this fraction of them may differ, because counts of iterations depend on the rounding of sums.
    Mostly(f64),
    /// Bytes that differ by at most 1: floats rounded to integers.
    Rounded,
    /// Records of this number of bytes, in any order, because each lane gets its index from a counter.
    Unordered(usize),
    /// The same after a dword, the counter.
    Counted(usize),
}

/// The elements of `N` bytes.
fn elements<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    let chunks = bytes.chunks_exact(N);
    chunks.map(|c| std::array::from_fn(|n| c[n]))
}

fn close(a: f64, b: f64, part: f64) -> bool {
    a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= part * a.abs().max(1.0)
}

/// Returns the indices of 32-bit floats of two buffers that are not close.
fn unlike(a: &[u8], b: &[u8], part: f32) -> Vec<usize> {
    let pairs = elements(a).zip(elements(b));
    let pairs = pairs.map(|(a, b)| (f32::from_le_bytes(a) as f64, f32::from_le_bytes(b) as f64));
    let unlike = pairs
        .enumerate()
        .filter(|(_, (a, b))| !close(*a, *b, part as f64));
    unlike.map(|(at, _)| at).collect()
}

impl Alike {
    /// Returns true if even two engines that run the same code may differ.
    pub fn unordered(self) -> bool {
        matches!(self, Alike::Unordered(_) | Alike::Counted(_))
    }

    /// # Errors
    /// Returns the differences.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Result<()> {
        ensure!(a.len() == b.len(), "{} and {} bytes", a.len(), b.len());
        let at = match self {
            Alike::Exactly => a.iter().zip(b).position(|(a, b)| a != b),
            Alike::F32(part) => unlike(a, b, part).first().map(|at| 4 * at),
            Alike::Xyz(part) => {
                let mut unlike = unlike(a, b, part).into_iter();
                unlike.find(|at| at % 4 != 3).map(|at| 4 * at)
            }
            Alike::F64(part) => elements(a)
                .zip(elements(b))
                .map(|(a, b)| (f64::from_le_bytes(a), f64::from_le_bytes(b)))
                .position(|(a, b)| !close(a, b, part))
                .map(|at| 8 * at),
            Alike::Few(part, few) => {
                let unlike = unlike(a, b, part);
                let many = unlike.len() as f64 > few * a.len() as f64 / 4.0;
                unlike.first().filter(|_| many).map(|at| 4 * at)
            }
            Alike::Mostly(part) => {
                let differ = elements::<4>(a).zip(elements::<4>(b));
                let differ = differ.filter(|(a, b)| a != b).count();
                ensure!(
                    differ as f64 <= part * a.len() as f64 / 4.0,
                    "{differ} of {} dwords differ",
                    a.len() / 4
                );
                None
            }
            Alike::Rounded => a.iter().zip(b).position(|(a, b)| a.abs_diff(*b) > 1),
            Alike::Unordered(bytes) | Alike::Counted(bytes) => {
                let head = match self {
                    Alike::Counted(_) => 4.min(a.len()),
                    _ => 0,
                };
                let sorted = |data: &[u8]| {
                    let (head, records) = data.split_at(head);
                    let mut records: Vec<Vec<u8>> =
                        records.chunks(bytes).map(<[u8]>::to_vec).collect();
                    records.sort_unstable();
                    records.push(head.to_vec());
                    records
                };
                let at = sorted(a).iter().zip(&sorted(b)).position(|(a, b)| a != b);
                ensure!(at.is_none(), "the records are not the same");
                None
            }
        };
        let Some(at) = at else { return Ok(()) };
        let some = |bytes: &[u8]| bytes[at..bytes.len().min(at + 8)].to_vec();
        bail!("at byte {at}: {:02x?} and {:02x?}", some(a), some(b))
    }
}

pub fn words(n: usize, mut word: impl FnMut(usize) -> u32) -> Vec<u8> {
    (0..n).flat_map(|i| word(i).to_le_bytes()).collect()
}

pub fn floats(n: usize, mut float: impl FnMut(usize) -> f32) -> Vec<u8> {
    words(n, |i| float(i).to_bits())
}

pub fn doubles(n: usize, mut double: impl FnMut(usize) -> f64) -> Vec<u8> {
    (0..n).flat_map(|i| double(i).to_le_bytes()).collect()
}

pub fn exact(data: Vec<u8>) -> Arg {
    Arg::Buffer(data, Alike::Exactly)
}

pub fn zeros(bytes: usize) -> Arg {
    exact(vec![0; bytes])
}

pub fn int(n: u32) -> Arg {
    Arg::Value(n.to_le_bytes().to_vec())
}

pub fn float(n: f32) -> Arg {
    Arg::Value(n.to_le_bytes().to_vec())
}

pub const fn one(n: u32) -> [u32; 3] {
    [n, 1, 1]
}

/// The random number generator SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn word(&mut self) -> u32 {
        self.next() as u32
    }

    /// At least 0 and less than 1.
    pub fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 24) as f32
    }
}

pub fn out(bytes: usize, alike: Alike) -> Arg {
    Arg::Buffer(vec![0; bytes], alike)
}

pub fn units(n: usize, seed: u64) -> Arg {
    let mut random = Random(seed);
    exact(floats(n, |_| random.unit()))
}

pub fn random_words(n: usize, seed: u64) -> Arg {
    let mut random = Random(seed);
    exact(words(n, |_| random.word()))
}

/// Floats of 32 bits from `from` to `to`.
pub fn between(n: usize, seed: u64, from: f32, to: f32) -> Arg {
    let mut random = Random(seed);
    exact(floats(n, |_| from + (to - from) * random.unit()))
}

/// Numbers from 0 to less than `below`.
pub fn numbers(n: usize, seed: u64, below: u32) -> Arg {
    let mut random = Random(seed);
    exact(words(n, |_| random.word() % below))
}

/// Random bytes.
pub fn bytes(n: usize, seed: u64) -> Arg {
    let mut random = Random(seed);
    exact((0..n).map(|_| random.next() as u8).collect())
}

/// A value of several floats, such as a `float4`.
pub fn vector(floats: &[f32]) -> Arg {
    Arg::Value(floats.iter().flat_map(|v| v.to_le_bytes()).collect())
}

/// A value of several integers, such as an `int2`.
pub fn integers(ints: &[i32]) -> Arg {
    Arg::Value(ints.iter().flat_map(|v| v.to_le_bytes()).collect())
}

/// A buffer of zeros for 32-bit floats.
pub fn result(n: usize) -> Arg {
    out(4 * n, Alike::F32(1e-4))
}

/// Random floats of 32 bits, at least 0 and less than 1, as a buffer's contents.
pub fn random_floats(n: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    floats(n, |_| random.unit())
}

/// Integers from 0 to less than `below`, as floats, whose sums are exact in any order.
pub fn numbers_as_floats(n: usize, seed: u64, below: u32) -> Arg {
    let mut random = Random(seed);
    exact(floats(n, |_| (random.word() % below) as f32))
}

/// A value of one byte.
pub fn byte(value: u8) -> Arg {
    Arg::Value(vec![value])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_in_any_order() {
        let (a, b) = ([2, 0, 0, 0, 1, 1, 3, 3], [2, 0, 0, 0, 3, 3, 1, 1]);
        assert!(Alike::Counted(2).compare(&a, &b).is_ok());
        assert!(Alike::Unordered(2).compare(&a, &b).is_ok());
        assert!(Alike::Counted(4).compare(&a, &b).is_err());
        // The counter is not a record.
        let other = [0, 0, 2, 0, 1, 1, 3, 3];
        assert!(Alike::Counted(2).compare(&a, &other).is_err());
        assert!(Alike::Unordered(2).compare(&a, &other).is_ok());
    }
}
