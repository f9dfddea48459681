//! The initial contents of buffers: zeros, random numbers, ramps, lists, files; and the types of their elements.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::{io, npy};
use gcn_emu::fp::{Env, F16, F32, F64, convert};

/// The type of a buffer's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Ty {
    U8,
    I8,
    U16,
    I16,
    F16,
    U32,
    I32,
    F32,
    U64,
    I64,
    F64,
}

/// Every type with its name and numpy's.
const TYPES: [(Ty, &str, &str); 11] = [
    (Ty::U8, "u8", "|u1"),
    (Ty::I8, "i8", "|i1"),
    (Ty::U16, "u16", "<u2"),
    (Ty::I16, "i16", "<i2"),
    (Ty::F16, "f16", "<f2"),
    (Ty::U32, "u32", "<u4"),
    (Ty::I32, "i32", "<i4"),
    (Ty::F32, "f32", "<f4"),
    (Ty::U64, "u64", "<u8"),
    (Ty::I64, "i64", "<i8"),
    (Ty::F64, "f64", "<f8"),
];

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().1)
    }
}

impl Ty {
    fn row(self) -> &'static (Ty, &'static str, &'static str) {
        &TYPES[self as usize]
    }

    /// The type with a name, as `f32`.
    pub fn parse(name: &str) -> Option<Ty> {
        TYPES.iter().find(|t| t.1 == name).map(|t| t.0)
    }

    /// The type with a name in numpy's notation, such as `<f4`.
    pub fn from_descr(descr: &str) -> Option<Ty> {
        let (order, kind) = descr.split_at_checked(1)?;
        let known = TYPES.iter().find(|t| &t.2[1..] == kind)?;
        (order != ">" || known.0.size() == 1).then_some(known.0)
    }

    /// All names, for messages.
    pub fn names() -> String {
        let names: Vec<&str> = TYPES.iter().map(|t| t.1).collect();
        names.join(", ")
    }

    /// numpy's name of it, as `float32`.
    pub fn numpy(self) -> &'static str {
        match self {
            Ty::U8 => "uint8",
            Ty::I8 => "int8",
            Ty::U16 => "uint16",
            Ty::I16 => "int16",
            Ty::F16 => "float16",
            Ty::U32 => "uint32",
            Ty::I32 => "int32",
            Ty::F32 => "float32",
            Ty::U64 => "uint64",
            Ty::I64 => "int64",
            Ty::F64 => "float64",
        }
    }

    /// Its name in numpy's notation.
    pub fn descr(self) -> &'static str {
        self.row().2
    }

    /// The size of an element in bytes.
    pub fn size(self) -> usize {
        match self {
            Ty::U8 | Ty::I8 => 1,
            Ty::U16 | Ty::I16 | Ty::F16 => 2,
            Ty::U32 | Ty::I32 | Ty::F32 => 4,
            Ty::U64 | Ty::I64 | Ty::F64 => 8,
        }
    }

    /// Returns true for a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Ty::F16 | Ty::F32 | Ty::F64)
    }

    /// The least and the greatest integer of the type; for floats, the range of integers that are accepted.
    pub fn bounds(self) -> (i128, i128) {
        let bits = 8 * self.size() as u32;
        match self {
            Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => (0, (1 << bits) - 1),
            _ => (i64::MIN as i128, u64::MAX as i128),
        }
    }

    /// The bits of a number, rounded to nearest.
    pub fn from_f64(self, value: f64) -> u64 {
        match self {
            Ty::F64 => value.to_bits(),
            Ty::F32 => (value as f32).to_bits() as u64,
            Ty::F16 => convert::<F64, F16>(value.to_bits(), &Env::IEEE, &Env::IEEE),
            _ => self.from_int(value as i128),
        }
    }

    /// The low bits of an integer.
    pub fn from_int(self, value: i128) -> u64 {
        match self {
            Ty::F16 | Ty::F32 | Ty::F64 => self.from_f64(value as f64),
            _ => value as u64 & (u64::MAX >> (64 - 8 * self.size())),
        }
    }

    /// The value of an element's bits as a float, which 64-bit integers may not fit exactly.
    pub fn to_f64(self, bits: u64) -> f64 {
        match self {
            Ty::F64 => f64::from_bits(bits),
            Ty::F32 => f32::from_bits(bits as u32) as f64,
            Ty::F16 => f64::from_bits(convert::<F16, F64>(bits, &Env::IEEE, &Env::IEEE)),
            _ => self.to_int(bits) as f64,
        }
    }

    /// The value of an integer element's bits.
    pub fn to_int(self, bits: u64) -> i128 {
        match self {
            Ty::I8 => (bits as i8).into(),
            Ty::I16 => (bits as i16).into(),
            Ty::I32 => (bits as i32).into(),
            Ty::I64 => (bits as i64).into(),
            _ => bits.into(),
        }
    }

    /// The value of an element's bits.
    pub fn number(self, bits: u64) -> Number {
        match self.is_float() {
            true => Number::Float(self.to_f64(bits)),
            false => Number::Int(self.to_int(bits)),
        }
    }

    /// The text of an element.
    pub fn show(self, bits: u64) -> String {
        match self {
            Ty::F64 => format!("{:?}", f64::from_bits(bits)),
            Ty::F32 => format!("{:?}", f32::from_bits(bits as u32)),
            Ty::F16 => {
                let wide = convert::<F16, F32>(bits, &Env::IEEE, &Env::IEEE);
                format!("{:?}", f32::from_bits(wide as u32))
            }
            _ => self.to_int(bits).to_string(),
        }
    }

    /// The bits of element `index` of `bytes`.
    pub fn element(self, bytes: &[u8], index: usize) -> u64 {
        let size = self.size();
        let mut word = [0; 8];
        word[..size].copy_from_slice(&bytes[index * size..(index + 1) * size]);
        u64::from_le_bytes(word)
    }

    /// The distance of two numbers in units in the last place. 0 and -0 are the same number. The distance between a NaN and a
    /// number is the maximum, and between two NaNs 0.
    pub fn ulps(self, a: u64, b: u64) -> u64 {
        let rank = |bits: u64| -> i128 {
            let sign = 1u64 << (8 * self.size() - 1);
            let magnitude = (bits & (sign - 1)) as i128;
            if bits & sign != 0 {
                -magnitude
            } else {
                magnitude
            }
        };
        if !self.is_float() {
            let distance = (self.to_int(a) - self.to_int(b)).unsigned_abs();
            return u64::try_from(distance).unwrap_or(u64::MAX);
        }
        match (self.to_f64(a).is_nan(), self.to_f64(b).is_nan()) {
            (true, true) => 0,
            (false, false) => u64::try_from((rank(a) - rank(b)).unsigned_abs()).unwrap_or(u64::MAX),
            _ => u64::MAX,
        }
    }
}

/// The generator of random contents: SplitMix64.
pub struct SplitMix(pub u64);

impl SplitMix {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next number from 0 up to but not including 1, of a float type's precision.
    fn unit(&mut self, ty: Ty) -> f64 {
        let bits = match ty {
            Ty::F64 => 53,
            Ty::F16 => 11,
            _ => 24,
        };
        (self.next_u64() >> (64 - bits)) as f64 / (1u64 << bits) as f64
    }
}

/// The contents of a buffer before the first launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Contents {
    /// Zeros: bytes.
    Zero(u64),
    /// Random bytes: size and seed.
    Rand(u64, u64),
    /// Uniform f32 in [0, 1): bytes and seed.
    RandF32(u64, u64),
    /// Uniform f64 in [0, 1): bytes and seed.
    RandF64(u64, u64),
    /// Random numbers of a type: count, seed, and bounds. The upper bound is exclusive for floats and inclusive for integers.
    Random(Ty, u64, u64, Number, Number),
    /// `count` numbers from `start` on, each `step` more.
    Ramp(Ty, u64, Number, Number),
    /// The same number `count` times.
    Fill(Ty, u64, Number),
    /// These bytes.
    Bytes(Vec<u8>),
    /// A file's bytes, or a .npy file's elements.
    File(PathBuf),
}

/// A number in its source form.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Number {
    Int(i128),
    Float(f64),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Int(v) => v.fmt(f),
            Number::Float(v) => write!(f, "{v:?}"),
        }
    }
}

impl Number {
    /// The bits of it in a type; `None` if it does not fit.
    pub fn bits(self, ty: Ty) -> Option<u64> {
        match self {
            Number::Int(v) => {
                let (low, high) = ty.bounds();
                // A hexadecimal number may be the bits of a negative one.
                let fits = (low..=high).contains(&v)
                    || (!ty.is_float() && v > 0 && v < 1 << (8 * ty.size()));
                fits.then(|| ty.from_int(v))
            }
            Number::Float(v) if ty.is_float() => Some(ty.from_f64(v)),
            Number::Float(v) if v == v.trunc() && v.abs() < 1e18 => Number::Int(v as i128).bits(ty),
            Number::Float(_) => None,
        }
    }

    /// The value as a float.
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Int(v) => v as f64,
            Number::Float(v) => v,
        }
    }

    fn to_int(self) -> i128 {
        match self {
            Number::Int(v) => v,
            Number::Float(v) => v as i128,
        }
    }
}

/// The maximum size of a buffer.
const LARGEST: u64 = 1 << 34;

/// Checks a size against the maximum.
fn sized(size: u64) -> Result<usize, String> {
    if size > LARGEST {
        return Err(format!(
            "a buffer of {size} bytes is larger than {LARGEST} bytes, the most that is taken"
        ));
    }
    usize::try_from(size).map_err(|_| format!("a buffer of {size} bytes is too large"))
}

/// Allocates a vector for this number of bytes.
fn room(size: usize) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    (out.try_reserve_exact(size))
        .map_err(|_| format!("a buffer of {size} bytes does not fit into memory"))?;
    Ok(out)
}

/// Gives the bytes of a file from `start` on.
fn from_file(
    path: &Path,
    start: usize,
    size: usize,
    take: &mut dyn FnMut(&[u8]) -> Result<(), String>,
) -> Result<(), String> {
    use std::io::{Read, Seek, SeekFrom};
    let named = |e: std::io::Error| io::named(path, e);
    let mut file = std::fs::File::open(path).map_err(named)?;
    file.seek(SeekFrom::Start(start as u64)).map_err(named)?;
    let mut piece = vec![0; size.min(1 << 20)];
    let mut left = size;
    while left > 0 {
        let piece = &mut piece[..left.min(1 << 20)];
        file.read_exact(piece).map_err(named)?;
        take(piece)?;
        left -= piece.len();
    }
    Ok(())
}

impl Contents {
    /// Returns the size in bytes. Only for a file this may need to read it.
    ///
    /// # Errors
    /// See [`Contents::bytes`].
    pub fn size(&self) -> Result<usize, String> {
        let elements = |ty: &Ty, count: &u64| sized(count.saturating_mul(ty.size() as u64));
        match self {
            Contents::Zero(n)
            | Contents::Rand(n, _)
            | Contents::RandF32(n, _)
            | Contents::RandF64(n, _) => sized(*n),
            Contents::Random(ty, count, ..)
            | Contents::Ramp(ty, count, ..)
            | Contents::Fill(ty, count, _) => elements(ty, count),
            Contents::Bytes(bytes) => Ok(bytes.len()),
            Contents::File(path) => match Contents::in_file(path) {
                Some((_, size)) => Ok(size),
                None => Ok(self.bytes()?.len()),
            },
        }
    }

    /// The bytes.
    ///
    /// # Errors
    /// If a file cannot be read, or the size is out of bounds.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        match self {
            Contents::Bytes(bytes) => return Ok(bytes.clone()),
            Contents::File(path) => {
                let bytes = io::read(path)?;
                return match is_npy(path) {
                    true => Ok(npy::elements(bytes).map_err(|e| io::named(path, e))?.1),
                    false => Ok(bytes),
                };
            }
            _ => {}
        }
        let mut out = room(self.size()?)?;
        self.pieces(&mut |piece| {
            out.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(out)
    }

    /// The offset and number of bytes in a regular file that has the contents unconverted.
    fn in_file(path: &Path) -> Option<(usize, usize)> {
        let about = std::fs::metadata(path)
            .ok()
            .filter(|about| about.is_file())?;
        let start = match is_npy(path) {
            true => npy::header_of(path).ok()?.plain(about.len())?,
            false => 0,
        };
        let size = sized(about.len()).ok()?;
        (path.as_os_str() != "-").then_some((start, size - start))
    }

    /// Returns true if [`Contents::pieces`] does not allocate all of the contents, and may be called again.
    pub(crate) fn comes_in_pieces(&self) -> bool {
        match self {
            Contents::File(path) => Contents::in_file(path).is_some(),
            _ => true,
        }
    }

    /// Passes the bytes in order, piece by piece. Large contents then need no memory of their own. All pieces but the last one
    /// have a multiple of 8 bytes.
    ///
    /// # Errors
    /// See [`Contents::bytes`], and what `take` returns.
    pub fn pieces(&self, take: &mut dyn FnMut(&[u8]) -> Result<(), String>) -> Result<(), String> {
        const PIECE: usize = 1 << 16;
        let mut piece: Vec<u8> = Vec::with_capacity(PIECE + 8);
        let total = self.size()?;
        let mut elements = |ty: Ty, next: &mut dyn FnMut(u64) -> u64| {
            let (mut n, mut given) = (0, 0);
            while given < total {
                piece.clear();
                while piece.len() < PIECE && given + piece.len() < total {
                    piece.extend_from_slice(&next(n).to_le_bytes()[..ty.size()]);
                    n += 1;
                }
                // The last number is truncated if the size requires it.
                piece.truncate(total - given);
                given += piece.len();
                take(&piece)?;
            }
            Ok::<(), String>(())
        };
        let random = |ty: Ty, seed: u64| {
            let mut rng = SplitMix(seed);
            move |_: u64| match ty {
                Ty::U64 => rng.next_u64(),
                ty => {
                    let v = rng.unit(ty);
                    ty.from_f64(v)
                }
            }
        };
        match self {
            Contents::Zero(_) => elements(Ty::U64, &mut |_| 0),
            Contents::Rand(_, seed) => elements(Ty::U64, &mut random(Ty::U64, *seed)),
            Contents::RandF32(_, seed) => elements(Ty::F32, &mut random(Ty::F32, *seed)),
            Contents::RandF64(_, seed) => elements(Ty::F64, &mut random(Ty::F64, *seed)),
            Contents::Random(ty, _, seed, low, high) => {
                let (ty, low, high, mut rng) = (*ty, *low, *high, SplitMix(*seed));
                elements(ty, &mut |_| {
                    if ty.is_float() {
                        let (low, high) = (low.to_f64(), high.to_f64());
                        let u = rng.unit(ty);
                        return ty.from_f64(low + (high - low) * u);
                    }
                    let (low, high) = (low.to_int(), high.to_int());
                    let span = (high - low + 1).max(1) as u128;
                    let offset = (rng.next_u64() as u128 * span) >> 64;
                    ty.from_int(low + offset as i128)
                })
            }
            Contents::Ramp(ty, _, start, step) => {
                let (ty, start, step) = (*ty, *start, *step);
                let whole = !ty.is_float();
                elements(ty, &mut |n| match whole {
                    true => ty.from_int(start.to_int().wrapping_add(step.to_int() * n as i128)),
                    false => ty.from_f64(start.to_f64() + step.to_f64() * n as f64),
                })
            }
            Contents::Fill(ty, _, value) => {
                let bits = value
                    .bits(*ty)
                    .ok_or_else(|| format!("{value} does not fit {ty}"))?;
                elements(*ty, &mut |_| bits)
            }
            Contents::Bytes(bytes) => take(bytes),
            Contents::File(path) => match Contents::in_file(path) {
                Some((start, size)) => from_file(path, start, size, take),
                None => take(&self.bytes()?),
            },
        }
    }

    /// The type of the elements, if the contents specify one.
    pub fn ty(&self) -> Option<Ty> {
        match self {
            Contents::RandF32(..) => Some(Ty::F32),
            Contents::RandF64(..) => Some(Ty::F64),
            Contents::Random(ty, ..) | Contents::Ramp(ty, ..) | Contents::Fill(ty, ..) => Some(*ty),
            Contents::File(path) if is_npy(path) => {
                match npy::header_of(path).ok()?.descr().as_str() {
                    "|b1" => Some(Ty::U8),
                    // A complex number is two elements.
                    "<c8" => Some(Ty::F32),
                    "<c16" => Some(Ty::F64),
                    descr => Ty::from_descr(descr),
                }
            }
            _ => None,
        }
    }

    /// The type of the elements of a `.npy` file in numpy's notation, and its dimensions.
    pub fn array(&self) -> Option<(String, Vec<usize>)> {
        match self {
            Contents::File(path) if is_npy(path) => {
                let header = npy::header_of(path).ok()?;
                Some((header.descr(), header.shape))
            }
            _ => None,
        }
    }
}

/// Returns true if the file name is that of a `.npy` file.
pub fn is_npy(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("npy"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_the_order_of_types() {
        for (ty, name, descr) in TYPES {
            assert_eq!(Ty::parse(name), Some(ty));
            assert_eq!(Ty::from_descr(descr), Some(ty));
            assert_eq!(ty.to_string(), name);
            assert_eq!(descr[2..], ty.size().to_string());
        }
    }

    #[test]
    fn units_in_the_last_place() {
        let f = |v: f32| v.to_bits() as u64;
        assert_eq!(Ty::F32.ulps(f(1.0), f(1.0 + f32::EPSILON)), 1);
        assert_eq!(Ty::F32.ulps(f(1.0), f(1.0 - f32::EPSILON)), 2);
        assert_eq!(Ty::F32.ulps(f(0.0), f(-0.0)), 0);
        assert_eq!(Ty::F32.ulps(1, 1 << 31 | 1), 2);
        assert_eq!(Ty::F32.ulps(f(f32::MAX), f(f32::INFINITY)), 1);
        assert_eq!(Ty::F32.ulps(f(f32::NAN), f(-f32::NAN)), 0);
        assert_eq!(Ty::F32.ulps(f(f32::NAN), f(1.0)), u64::MAX);
        assert_eq!(Ty::F16.ulps(0x3c00, 0x3c01), 1);
        assert_eq!(Ty::I8.ulps(0xff, 0x01), 2);
        assert_eq!(Ty::U64.ulps(0, u64::MAX), u64::MAX);
    }

    #[test]
    fn contents() {
        let int = Number::Int;
        let ramp = Contents::Ramp(Ty::I16, 3, int(-1), int(2)).bytes().unwrap();
        assert_eq!(ramp, [0xff, 0xff, 1, 0, 3, 0]);
        let ramp = Contents::Ramp(Ty::F32, 3, Number::Float(0.5), int(1)).bytes();
        let expected: Vec<u8> = [0.5f32, 1.5, 2.5]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        assert_eq!(ramp.unwrap(), expected);
        let random = Contents::Random(Ty::I8, 1000, 3, int(-2), int(2))
            .bytes()
            .unwrap();
        for v in [-2i8, -1, 0, 1, 2] {
            assert!(random.contains(&(v as u8)));
        }
        assert!(random.iter().all(|v| (-2..=2).contains(&(*v as i8))));
        let unit = Contents::RandF32(8, 1).bytes().unwrap();
        assert_eq!(
            Contents::Random(Ty::F32, 2, 1, int(0), int(1))
                .bytes()
                .unwrap(),
            unit
        );
        let all = Contents::Random(Ty::U64, 2, 9, int(0), int(u64::MAX.into()))
            .bytes()
            .unwrap();
        assert_eq!(all, Contents::Rand(16, 9).bytes().unwrap());
        assert!(Contents::Zero(1 << 40).bytes().is_err());
        assert!(Contents::Fill(Ty::U8, 1, int(256)).bytes().is_err());
    }
}
