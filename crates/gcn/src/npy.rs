//! Reads and writes numpy's array files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The header of a `.npy` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// `b`, `i`, `u`, `f` or `c`: bool, integers, floats, complex numbers.
    kind: char,
    /// Bytes of an element.
    size: usize,
    /// True if the elements in the file are big-endian.
    big_endian: bool,
    /// True for Fortran order: the first index changes fastest.
    fortran: bool,
    /// The number of elements in each dimension; empty for a single number.
    pub shape: Vec<usize>,
    /// The offset of the elements in the file.
    start: usize,
}

impl Header {
    /// The type of the little-endian elements of [`elements`] in numpy's notation: `<f4`.
    pub fn descr(&self) -> String {
        let order = if self.size == 1 { '|' } else { '<' };
        format!("{order}{}{}", self.kind, self.size)
    }

    /// The offset of the elements in a file of this many bytes, if the file has them in the form that [`elements`] returns.
    pub(crate) fn plain(&self, file: u64) -> Option<usize> {
        let reordered = self.big_endian || self.fortran && self.shape.len() > 1;
        let whole = self.bytes()?.checked_add(self.start)? as u64 == file;
        (!reordered && whole).then_some(self.start)
    }

    /// Bytes of all elements.
    fn bytes(&self) -> Option<usize> {
        (self.shape.iter()).try_fold(self.size, |bytes, n| bytes.checked_mul(*n))
    }
}

/// The magic bytes of the format.
const MAGIC: &[u8] = b"\x93NUMPY";

/// The maximum size of a header in bytes. The headers that numpy writes have 64 to 128.
const LONGEST: usize = 1 << 16;

/// Reads only the header of a file.
///
/// # Errors
/// A message without the file's name: the file cannot be read, or is not a `.npy` file of numbers.
pub fn header_of(path: &Path) -> Result<Header, String> {
    let mut start = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LONGEST as u64).read_to_end(&mut start))
        .map_err(|e| e.to_string())?;
    header(&start)
}

/// Parses the header at the start of a file.
///
/// # Errors
/// A message: it is not a `.npy` file of numbers.
pub fn header(file: &[u8]) -> Result<Header, String> {
    let rest = file.strip_prefix(MAGIC).ok_or(
        "it is not a .npy file: it does not begin with \\x93NUMPY, as numpy.save writes it",
    )?;
    let (text, before) = match rest {
        [1, _, a, b, rest @ ..] => {
            let len = u16::from_le_bytes([*a, *b]) as usize;
            (rest.get(..len), MAGIC.len() + 4)
        }
        [2 | 3, _, a, b, c, d, rest @ ..] => {
            let len = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
            (rest.get(..len), MAGIC.len() + 6)
        }
        [version, ..] if !(1..=3).contains(version) => {
            return Err(format!("its .npy version is {version}; expected 1, 2 or 3"));
        }
        _ => (None, 0),
    };
    let text = text.ok_or("its header is cut short")?;
    let start = before + text.len();
    let text = String::from_utf8_lossy(text);
    let mut parts = dict(&text).ok_or_else(|| format!("its header is damaged: {}", text.trim()))?;
    let mut part = |name: &str| {
        let at = parts.iter().position(|(key, _)| *key == name);
        at.map(|at| parts.swap_remove(at).1)
            .ok_or_else(|| format!("its header has no `{name}`"))
    };
    let (kind, size, big_endian) = element(part("descr")?)?;
    let fortran = match part("fortran_order")? {
        "True" => true,
        "False" => false,
        other => {
            return Err(format!(
                "its fortran_order is {other}; expected True or False"
            ));
        }
    };
    let shape = part("shape")?;
    let shape = numbers(shape)
        .ok_or_else(|| format!("its shape is {shape}; expected numbers in parentheses"))?;
    Ok(Header {
        kind,
        size,
        big_endian,
        fortran,
        shape,
        start,
    })
}

/// Returns the keys of a header's Python dict, and the text of their values.
fn dict(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
    let mut parts = Vec::new();
    while !rest.is_empty() {
        let key = value_end(rest, ':')?;
        let (name, after) = (unquoted(rest[..key].trim())?, rest.get(key + 1..)?);
        let end = value_end(after, ',').unwrap_or(after.len());
        parts.push((name, after[..end].trim()));
        rest = after.get(end + 1..).unwrap_or("").trim();
    }
    Some(parts)
}

/// Returns the position of a character outside strings and brackets.
fn value_end(text: &str, end: char) -> Option<usize> {
    let (mut quote, mut depth) = (None, 0i32);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, c) if c == end && depth == 0 => return Some(at),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Returns a Python string without its quotes.
fn unquoted(text: &str) -> Option<&str> {
    ['\'', '"']
        .iter()
        .find_map(|q| text.strip_prefix(*q)?.strip_suffix(*q))
}

/// Returns the numbers of a Python tuple.
fn numbers(text: &str) -> Option<Vec<usize>> {
    let inside = text.strip_prefix('(')?.strip_suffix(')')?;
    let inside = inside.trim().trim_end_matches(',');
    if inside.is_empty() {
        return Some(Vec::new());
    }
    // Python 2 wrote `3L`.
    let number = |n: &str| n.trim().trim_end_matches('L').parse().ok();
    inside.split(',').map(number).collect()
}

/// Returns the kind, size and byte order in `descr`.
fn element(descr: &str) -> Result<(char, usize, bool), String> {
    let Some(name) = unquoted(descr) else {
        return Err(format!(
            "its elements are records ({descr}); expected numbers. Save the fields as arrays of their own, or the records' bytes \
             with x.tofile(\"x.bin\")"
        ));
    };
    let wrong = |what: &str, then: &str| Err(format!("its elements are {what} ({name}); {then}"));
    let (order, rest) = match name.chars().next() {
        Some(order @ ('<' | '>' | '|' | '=')) => (order, &name[1..]),
        _ => ('<', name),
    };
    let kind = rest.chars().next().unwrap_or(' ');
    let size = rest.get(1..).and_then(|n| n.parse::<usize>().ok());
    match (kind, size) {
        ('b', Some(1)) | ('i' | 'u', Some(1 | 2 | 4 | 8)) => {}
        ('f', Some(2 | 4 | 8)) | ('c', Some(8 | 16)) => {}
        ('f' | 'c', Some(_)) => {
            return wrong("long doubles", "a GPU has none: save x.astype(\"float64\")");
        }
        ('O', _) => {
            return wrong(
                "Python objects",
                "expected numbers: save x.astype(\"float32\") or another type of numbers",
            );
        }
        ('U' | 'S' | 'a', _) => return wrong("text", "expected numbers"),
        ('M' | 'm', _) => return wrong("times", "expected numbers: save x.view(\"int64\")"),
        _ => {
            return wrong(
                "no numbers",
                "expected numbers, or their bytes in a file without .npy: x.tofile(\"x.bin\")",
            );
        }
    }
    let size = size.unwrap_or(1);
    Ok((kind, size, order == '>' && size > 1))
}

/// Returns the header and the elements of a `.npy` file, converted to little-endian and C order.
///
/// # Errors
/// A message: it is not a `.npy` file of numbers, or their number differs from its header, or there is not enough memory
/// to reorder them.
pub fn elements(mut file: Vec<u8>) -> Result<(Header, Vec<u8>), String> {
    let header = header(&file)?;
    let there = file.len() - header.start;
    let wanted = header.bytes();
    if wanted != Some(there) {
        let wanted = wanted.map_or("more than there can be".into(), |n| n.to_string());
        return Err(format!(
            "its header says {wanted} bytes ({} of shape {:?}), {there} follow it",
            header.descr(),
            header.shape
        ));
    }
    file.drain(..header.start);
    if header.big_endian {
        // A complex number is two numbers.
        let number = header.size / if header.kind == 'c' { 2 } else { 1 };
        file.chunks_exact_mut(number).for_each(<[u8]>::reverse);
    }
    if header.fortran && header.shape.len() > 1 && !file.is_empty() {
        file = transposed(&file, header.size, &header.shape)?;
    }
    Ok((header, file))
}

/// Converts elements of `size` bytes from Fortran order to C order.
fn transposed(from: &[u8], size: usize, shape: &[usize]) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    out.try_reserve_exact(from.len())
        .map_err(|e| format!("its elements cannot be reordered: {e}"))?;
    // The distance between elements whose index in a dimension differs by one.
    let mut steps = Vec::with_capacity(shape.len());
    let mut step = size;
    for n in shape {
        steps.push(step);
        step *= n;
    }
    let mut index = vec![0; shape.len()];
    let mut at = 0;
    while out.len() < from.len() {
        out.extend_from_slice(&from[at..at + size]);
        for d in (0..shape.len()).rev() {
            index[d] += 1;
            at += steps[d];
            if index[d] < shape[d] {
                break;
            }
            at -= steps[d] * shape[d];
            index[d] = 0;
        }
    }
    Ok(out)
}

/// Returns only the elements of [`elements`].
///
/// # Errors
/// See [`elements`].
pub fn data(file: &[u8]) -> Result<Vec<u8>, String> {
    elements(file.to_vec()).map(|(_, data)| data)
}

/// Returns the type of the elements of [`data`] in numpy's notation: `<f4`.
///
/// # Errors
/// See [`header`].
pub fn element_type(file: &[u8]) -> Result<String, String> {
    header(file).map(|header| header.descr())
}

/// Returns a one-dimensional `.npy` file of elements of numpy's type `descr`, such as `<f4`.
pub fn file(data: &[u8], descr: &str) -> Vec<u8> {
    let size = descr
        .get(2..)
        .and_then(|n| n.parse().ok())
        .unwrap_or(1)
        .max(1);
    array(
        &data[..data.len() / size * size],
        descr,
        &[data.len() / size],
    )
}

/// Returns the bytes before the elements in the file of [`file()`], and the size of the elements: `bytes`, rounded down to whole
/// elements.
pub fn before_elements(bytes: usize, descr: &str) -> (Vec<u8>, usize) {
    let size = descr.get(2..).and_then(|n| n.parse().ok());
    let size: usize = size.unwrap_or(1).max(1);
    (before_array(descr, &[bytes / size]), bytes / size * size)
}

/// Returns a `.npy` file of an array with the given dimensions, in C order.
pub fn array(data: &[u8], descr: &str, shape: &[usize]) -> Vec<u8> {
    let mut out = before_array(descr, shape);
    out.extend(data);
    out
}

/// Returns the bytes before the elements in the file of [`array()`].
pub fn before_array(descr: &str, shape: &[usize]) -> Vec<u8> {
    let shape = match shape {
        [one] => format!("{one},"),
        many => many
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    };
    let mut header =
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    // The data begins at a multiple of 64 bytes.
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with this header and numpy's padding.
    fn with_header(header: &str, data: &[u8]) -> Vec<u8> {
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend((header.len() as u16 + 1).to_le_bytes());
        out.extend(header.as_bytes());
        out.push(b'\n');
        out.extend(data);
        out
    }

    #[test]
    fn arrays_come_back() {
        let bytes = [1u8, 2, 3, 4, 5, 6, 7, 8];
        for descr in ["<f4", "<f8", "|u1", "<u2", "<c8", "|b1"] {
            let file = file(&bytes, descr);
            assert_eq!(data(&file).unwrap(), bytes);
            assert_eq!(element_type(&file).unwrap(), descr);
        }
        for shape in [&[2usize, 1][..], &[], &[0, 4], &[1, 1, 2]] {
            let len = 4 * shape.iter().product::<usize>();
            let file = array(&bytes[..len], "<f4", shape);
            let (header, data) = elements(file).unwrap();
            assert_eq!(
                (header.shape.as_slice(), data.as_slice()),
                (shape, &bytes[..len])
            );
        }
    }

    /// The bytes that `numpy.save(f, numpy.asfortranarray([[1, 2, 3], [4, 5, 6]], dtype=…))` writes.
    #[test]
    fn orders_of_bytes_and_elements() {
        let fortran = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }";
        let (header, data) = elements(with_header(fortran, &[1, 4, 2, 5, 3, 6])).unwrap();
        assert_eq!((header.shape, data), (vec![2, 3], vec![1, 2, 3, 4, 5, 6]));
        let deep = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2, 2), }";
        let (_, data) = elements(with_header(deep, &[0, 4, 2, 6, 1, 5, 3, 7])).unwrap();
        assert_eq!(data, [0, 1, 2, 3, 4, 5, 6, 7]);
        let big = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }";
        let (header, data) = elements(with_header(big, &[0, 1, 0, 3, 0, 2, 0, 4])).unwrap();
        assert_eq!(
            (header.descr().as_str(), data),
            ("<i2", vec![1, 0, 2, 0, 3, 0, 4, 0])
        );
        let complex = "{\"shape\": (1L,), \"descr\": \">c8\", \"fortran_order\": False}";
        let (header, data) = elements(with_header(complex, &[1, 2, 3, 4, 5, 6, 7, 8])).unwrap();
        assert_eq!(
            (header.shape, data),
            (vec![1], vec![4, 3, 2, 1, 8, 7, 6, 5])
        );
    }

    #[test]
    fn what_is_no_array_of_numbers_is_told() {
        let told = |descr: &str, shape: &str| {
            let header =
                format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
            elements(with_header(&header, &[0; 8])).unwrap_err()
        };
        for (descr, shape, part) in [
            (
                "'<f4'",
                "(3,)",
                "its header says 12 bytes (<f4 of shape [3]), 8 follow it",
            ),
            (
                "'<f4'",
                "(1,)",
                "its header says 4 bytes (<f4 of shape [1]), 8 follow it",
            ),
            (
                "'<f4'",
                "(99999999999, 99999999999, 9)",
                "more than there can be",
            ),
            ("'<f4'", "(-1,)", "its shape is (-1,)"),
            (
                "'|O'",
                "(1,)",
                "Python objects (|O); expected numbers: save x.astype",
            ),
            ("'<U2'", "(1,)", "text (<U2)"),
            (
                "'<M8[ns]'",
                "(1,)",
                "times (<M8[ns]); expected numbers: save x.view(\"int64\")",
            ),
            ("'<f16'", "(1,)", "long doubles (<f16)"),
            ("'|V8'", "(1,)", "no numbers (|V8)"),
            (
                "[('x', '<f4'), ('y', '<i4')]",
                "(1,)",
                "records ([('x', '<f4'), ('y', '<i4')]); expected numbers",
            ),
        ] {
            let error = told(descr, shape);
            assert!(error.contains(part), "{part}: {error}");
        }
        assert!(data(b"").unwrap_err().contains("it is not a .npy file"));
        assert!(
            data(b"\x93NUMPY\x01\x00\xff")
                .unwrap_err()
                .contains("cut short")
        );
        assert!(
            data(b"\x93NUMPY\x07\x00\xff")
                .unwrap_err()
                .contains("version is 7")
        );
        assert!(
            data(&with_header("{'descr'", &[]))
                .unwrap_err()
                .contains("damaged")
        );
        assert!(
            data(&with_header("{'descr': '<f4'}", &[]))
                .unwrap_err()
                .contains("no `fortran_order`")
        );
    }
}
