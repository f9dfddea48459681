//! numpy's array files: just enough to take an array's bytes in and out.

/// The elements' bytes of a `.npy` file, in the order they lie there.
///
/// # Errors
/// Where it is no little-endian `.npy` file.
pub fn data(file: &[u8]) -> Result<Vec<u8>, String> {
    parts(file).map(|(_, data)| data.to_vec())
}

/// The elements' type of a `.npy` file, as numpy spells it: `<f4`.
///
/// # Errors
/// Where it is no little-endian `.npy` file.
pub fn element_type(file: &[u8]) -> Result<String, String> {
    parts(file).map(|(descr, _)| descr)
}

fn parts(file: &[u8]) -> Result<(String, &[u8]), String> {
    let rest = file
        .strip_prefix(b"\x93NUMPY")
        .ok_or("it is no .npy file")?;
    let (header, data) = match rest {
        [1, _, a, b, rest @ ..] => rest.split_at_checked(u16::from_le_bytes([*a, *b]) as usize),
        [2 | 3, _, a, b, c, d, rest @ ..] => {
            rest.split_at_checked(u32::from_le_bytes([*a, *b, *c, *d]) as usize)
        }
        _ => return Err("its version is none of 1 to 3".into()),
    }
    .ok_or("its header is cut short")?;
    let header = String::from_utf8_lossy(header);
    let descr = header
        .split("'descr':")
        .nth(1)
        .and_then(|rest| rest.split('\'').nth(1))
        .ok_or("its header has no element type")?;
    if descr.starts_with('>') {
        return Err(format!(
            "its elements are big-endian ({descr}); expected little-endian"
        ));
    }
    if descr.contains('O') {
        return Err("its elements are Python objects; expected numbers".into());
    }
    Ok((descr.to_owned(), data))
}

/// A one-dimensional `.npy` file of elements of numpy's type `descr`, as `<f4`.
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

/// A `.npy` file of an array with so many elements in each dimension, the last of which lie side by side.
pub fn array(data: &[u8], descr: &str, shape: &[usize]) -> Vec<u8> {
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
    out.extend(data);
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn arrays_come_back() {
        let bytes = [1u8, 2, 3, 4, 5, 6, 7, 8];
        for descr in ["<f4", "<f8", "|u1", "<u2"] {
            let file = super::file(&bytes, descr);
            assert_eq!(super::data(&file).unwrap(), bytes);
            assert_eq!(super::element_type(&file).unwrap(), descr);
        }
        assert!(super::data(b"\x93NUMPY\x01\x00\xff").is_err());
        assert!(super::data(b"").is_err());
    }
}
