//! Offload bundles: one file or section with several code objects, each with the name of its target.
//!
//! Three formats are read. Their layouts, little-endian throughout:
//!
//! * `__CLANG_OFFLOAD_BUNDLE__` (24 bytes), the number of entries; for each its offset from the bundle's start, its
//!   size, the length of its id, all 64 bits, and the id; then the entries. Source: "Clang Offload Bundler" in Clang's
//!   manual.
//! * `CCOB`, a version (16 bits) and a method (16 bits: 0 zlib, 1 zstd); from version 2 the size of header and
//!   compressed bytes (32 bits, in version 3 64); the uncompressed size (32 bits, in version 3 64); the first 8 bytes
//!   of the uncompressed bytes' MD5; then a compressed bundle. Source: the same page, "Compression and Decompression".
//! * `10 ff 10 ad`, LLVM's offload binary: version (32 bits), size, offset and size of the entry table, all 64 bits;
//!   entries of image kind and producer (16 bits each), flags (32 bits), offset and number of strings, offset and size
//!   of the image (64 bits each). In version 2 the header gives the table's offset and its number of entries. Source:
//!   `llvm/Object/OffloadBinary.h`.

use crate::error::Error;
use crate::read::OVERLAP;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use md5::{Digest, Md5};
use std::io::{BufRead, BufReader, Read, Write};

/// The magic of a plain bundle.
pub const MAGIC: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";
/// The magic of a compressed bundle.
pub const COMPRESSED_MAGIC: &[u8; 4] = b"CCOB";
/// The magic of LLVM's offload binary.
pub const OFFLOAD_BINARY_MAGIC: &[u8; 4] = &[0x10, 0xff, 0x10, 0xad];

/// The maximum number of entries that are read from one bundle or file.
pub(crate) const MAX_ENTRIES: u64 = 1 << 17;
/// The maximum length of an entry's id in bytes.
const MAX_ID: u64 = 4096;
/// The maximum size of an uncompressed bundle in bytes.
const MAX_UNCOMPRESSED: u64 = 768 << 20;
/// The maximum ratio of a bundle's size to its compressed size, beyond [`FREE_UNCOMPRESSED`]. Real code stays below 30.
const MAX_RATIO: u64 = 200;
/// A bundle up to this size may have any compression ratio.
const FREE_UNCOMPRESSED: u64 = 64 << 20;
/// Page size, to which HIP's bundles align their entries.
pub const PAGE: u64 = 4096;

/// A method of compression, with its number in a compressed bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// zlib.
    Zlib = 0,
    /// Zstandard.
    Zstd = 1,
}

impl Method {
    /// Returns `zlib` or `zstd`.
    pub fn name(self) -> &'static str {
        match self {
            Method::Zlib => "zlib",
            Method::Zstd => "zstd",
        }
    }
}

/// One entry of a bundle's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The id, such as `hipv4-amdgcn-amd-amdhsa--gfx906:xnack-`.
    pub id: String,
    /// The offset of its bytes from the start of the (uncompressed) bundle.
    pub offset: u64,
    /// The number of its bytes.
    pub size: u64,
}

fn bad<T>(detail: impl Into<String>) -> Result<T, Error> {
    Err(Error::Bundle(detail.into()))
}

/// Reads numbers and strings, and counts the bytes read.
struct Header<R> {
    from: R,
    read: u64,
}

impl<R: Read> Header<R> {
    fn bytes(&mut self, count: u64, what: &str) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let read = self.from.by_ref().take(count).read_to_end(&mut bytes);
        match read {
            Ok(n) if n as u64 == count => {
                self.read += count;
                Ok(bytes)
            }
            Ok(_) => bad(format!("the bytes end within {what}")),
            Err(e) => bad(format!("{what}: {e}")),
        }
    }

    fn number(&mut self, width: usize, what: &str) -> Result<u64, Error> {
        let bytes = self.bytes(width as u64, what)?;
        Ok(little(&bytes))
    }
}

fn little(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

/// Reads a plain bundle's entries and the size of its header. `size` is the number of bytes from its start on.
///
/// # Errors
/// [`Error::Bundle`] if an entry lies outside the bytes or the header is invalid; [`Error::TooLarge`] if there are too
/// many entries, or they overlap many times over.
pub fn read_header(from: impl Read, size: u64) -> Result<(Vec<Item>, u64), Error> {
    let mut header = Header { from, read: 0 };
    if header.bytes(24, "the magic of the bundle")? != MAGIC {
        return bad("no offload bundle (`__CLANG_OFFLOAD_BUNDLE__` is expected)");
    }
    let count = header.number(8, "the number of entries")?;
    if count > size / 24 {
        return bad(format!(
            "{count} entries are promised, more than {size} bytes hold"
        ));
    }
    if count > MAX_ENTRIES {
        return Err(Error::TooMany("entries"));
    }
    let mut items = Vec::new();
    for n in 0..count {
        let what = format!("the header of entry {n}");
        let offset = header.number(8, &what)?;
        let size = header.number(8, &what)?;
        let length = header.number(8, &what)?;
        if length > MAX_ID {
            return bad(format!("entry {n} promises an id of {length} bytes"));
        }
        let id = header.bytes(length, &what)?;
        let Ok(id) = String::from_utf8(id) else {
            return bad(format!("the id of entry {n} is not UTF-8"));
        };
        items.push(Item { id, offset, size });
    }
    check(&items, size)?;
    Ok((items, header.read))
}

/// Checks that every entry lies within the bundle, and that their total is in proportion to it.
fn check(items: &[Item], size: u64) -> Result<(), Error> {
    let mut total = 0u64;
    for (n, item) in items.iter().enumerate() {
        let end = item.offset.checked_add(item.size);
        if end.is_none_or(|end| end > size) {
            return bad(format!(
                "entry {n} ({}) has {} bytes from {:#x} on, and the bundle has {size}",
                item.id, item.size, item.offset
            ));
        }
        total = total.saturating_add(item.size);
    }
    if total > size.saturating_mul(OVERLAP as u64) {
        return Err(Error::TooLarge("entries of the bundle"));
    }
    Ok(())
}

/// Returns a plain bundle of these entries, as clang-offload-bundler writes it. Each entry starts at a multiple of
/// `align` bytes from the bundle's start.
///
/// # Errors
/// [`Error::Bundle`] if the alignment is not a power of two up to 1 MiB, or an id is empty, too long or repeated.
pub fn write(entries: &[(&str, &[u8])], align: u64) -> Result<Vec<u8>, Error> {
    if !align.is_power_of_two() || align > 1 << 20 {
        return bad(format!(
            "an alignment of {align} is not a power of two up to 1048576"
        ));
    }
    for (n, (id, _)) in entries.iter().enumerate() {
        if id.is_empty() || id.len() as u64 > MAX_ID {
            return bad(format!("an id has 1 to {MAX_ID} bytes, not {}", id.len()));
        }
        if entries[..n].iter().any(|(other, _)| other == id) {
            return bad(format!("the id '{id}' is there twice"));
        }
    }
    let header: u64 = 32
        + entries
            .iter()
            .map(|(id, _)| 24 + id.len() as u64)
            .sum::<u64>();
    let mut out = MAGIC.to_vec();
    out.extend((entries.len() as u64).to_le_bytes());
    let mut offset = header;
    for (id, bytes) in entries {
        offset = offset.next_multiple_of(align);
        for number in [offset, bytes.len() as u64, id.len() as u64] {
            out.extend(number.to_le_bytes());
        }
        out.extend(id.as_bytes());
        offset += bytes.len() as u64;
    }
    for (_, bytes) in entries {
        out.resize(out.len().next_multiple_of(align as usize), 0);
        out.extend(*bytes);
    }
    Ok(out)
}

/// The header of a compressed bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compressed {
    /// 1, 2 or 3.
    pub version: u16,
    /// The method.
    pub method: Method,
    /// Size of header and compressed bytes; version 1 does not record it.
    pub size: Option<u64>,
    /// Size of the bundle when uncompressed.
    pub uncompressed: u64,
    /// The first 8 bytes of the MD5 of the uncompressed bytes.
    pub hash: u64,
}

impl Compressed {
    /// Returns the size of the header in bytes.
    pub fn header_size(&self) -> u64 {
        match self.version {
            1 => 20,
            2 => 24,
            _ => 32,
        }
    }

    /// Reads a header. `size` is the number of bytes from its start on.
    ///
    /// # Errors
    /// [`Error::Bundle`] if the bytes are not a header, its version or method is unknown, or its sizes are impossible.
    pub fn read(from: impl Read, size: u64) -> Result<Compressed, Error> {
        let mut header = Header { from, read: 0 };
        if header.bytes(4, "the magic of the compressed bundle")? != COMPRESSED_MAGIC {
            return bad("no compressed bundle (`CCOB` is expected)");
        }
        let what = "the header of the compressed bundle";
        let version = header.number(2, what)? as u16;
        let method = match header.number(2, what)? {
            0 => Method::Zlib,
            1 => Method::Zstd,
            n => {
                return bad(format!(
                    "compression method {n} of the bundle is unknown; 0 (zlib) or 1 (zstd) is expected"
                ));
            }
        };
        let width = match version {
            1 | 2 => 4,
            3 => 8,
            n => {
                return bad(format!(
                    "version {n} of the compressed bundle is unknown; 1 to 3 is expected"
                ));
            }
        };
        let total = match version {
            1 => None,
            _ => Some(header.number(width, what)?),
        };
        let uncompressed = header.number(width, what)?;
        let hash = header.number(8, what)?;
        let compressed = Compressed {
            version,
            method,
            size: total,
            uncompressed,
            hash,
        };
        if total.is_some_and(|total| total > size || total < compressed.header_size()) {
            return bad(format!(
                "the compressed bundle promises {} bytes, and there are {size}",
                total.unwrap_or(0)
            ));
        }
        let most = total.unwrap_or(size).saturating_mul(MAX_RATIO);
        if uncompressed > MAX_UNCOMPRESSED || uncompressed > most.max(FREE_UNCOMPRESSED) {
            return bad(format!(
                "the compressed bundle promises to grow from {} to {uncompressed} bytes; at most {MAX_RATIO} times and {MAX_UNCOMPRESSED} bytes are read",
                total.unwrap_or(size)
            ));
        }
        Ok(compressed)
    }

    /// Decompresses what follows the header.
    fn decoder<'a, R: BufRead + 'a>(&self, from: R) -> Result<Box<dyn Read + 'a>, Error> {
        Ok(match self.method {
            Method::Zlib => Box::new(ZlibDecoder::new(from)),
            Method::Zstd => match ruzstd::decoding::StreamingDecoder::new(from) {
                Ok(decoder) => Box::new(decoder),
                Err(e) => return bad(format!("the bundle's zstd frame: {e}")),
            },
        })
    }

    /// Returns the entries; only the bundle's header is decompressed. `from` is after the compressed header.
    ///
    /// # Errors
    /// See [`read_header`].
    pub fn items(&self, from: impl Read) -> Result<Vec<Item>, Error> {
        let decoder = self.decoder(BufReader::new(from))?;
        let decoder = BufReader::with_capacity(512, decoder.take(self.uncompressed));
        Ok(read_header(decoder, self.uncompressed)?.0)
    }

    /// Returns the whole bundle, and the number of compressed bytes read. `from` is after the compressed header.
    ///
    /// # Errors
    /// [`Error::Bundle`] if the bytes do not match the header.
    pub fn decompress(&self, from: impl Read) -> Result<(Vec<u8>, u64), Error> {
        let mut from = Counted {
            from: BufReader::new(from),
            read: 0,
        };
        let mut bytes = Vec::new();
        let read = self
            .decoder(&mut from)?
            .take(self.uncompressed + 1)
            .read_to_end(&mut bytes);
        if let Err(e) = read {
            return bad(format!("decompressing the bundle: {e}"));
        }
        if bytes.len() as u64 != self.uncompressed {
            return bad(format!(
                "the compressed bundle promises {} bytes and has {}",
                self.uncompressed,
                if bytes.len() as u64 > self.uncompressed {
                    "more".into()
                } else {
                    bytes.len().to_string()
                }
            ));
        }
        Ok((bytes, from.read))
    }
}

/// Counts the bytes consumed from a buffered reader.
struct Counted<R> {
    from: R,
    read: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = self.from.read(out)?;
        self.read += count as u64;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.from.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.read += count as u64;
        self.from.consume(count);
    }
}

/// Compresses a plain bundle into one of this version (1, 2 or 3).
///
/// # Errors
/// [`Error::Bundle`] if the version is another, or the bundle is too large for it.
pub fn compress(bundle: &[u8], method: Method, version: u16) -> Result<Vec<u8>, Error> {
    let packed = match method {
        Method::Zlib => {
            let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
            let done = encoder.write_all(bundle).and_then(|()| encoder.finish());
            match done {
                Ok(packed) => packed,
                Err(e) => return bad(format!("compressing the bundle: {e}")),
            }
        }
        Method::Zstd => {
            ruzstd::encoding::compress_to_vec(bundle, ruzstd::encoding::CompressionLevel::Fastest)
        }
    };
    let digest = Md5::digest(bundle);
    let mut out = COMPRESSED_MAGIC.to_vec();
    out.extend(version.to_le_bytes());
    out.extend((method as u16).to_le_bytes());
    let (total, size) = (packed.len() as u64, bundle.len() as u64);
    let short = |n: u64| u32::try_from(n).map(u32::to_le_bytes);
    let fits = match version {
        1 => short(size).map(|n| out.extend(n)).is_ok(),
        2 => match (short(total + 24), short(size)) {
            (Ok(total), Ok(size)) => {
                out.extend(total);
                out.extend(size);
                true
            }
            _ => false,
        },
        3 => {
            out.extend((total + 32).to_le_bytes());
            out.extend(size.to_le_bytes());
            true
        }
        n => {
            return bad(format!(
                "version {n} of compressed bundles is unknown; 1 to 3 is expected"
            ));
        }
    };
    if !fits || size > MAX_UNCOMPRESSED {
        return bad(format!(
            "{size} bytes are too many for a compressed bundle of version {version}"
        ));
    }
    out.extend(&digest[..8]);
    out.extend(packed);
    Ok(out)
}

/// Returns an offload binary's entries, and its size. Further bytes may follow it in `bytes`.
///
/// # Errors
/// See [`read_header`].
pub fn read_offload_binary(bytes: &[u8]) -> Result<(Vec<Item>, u64), Error> {
    let number = |at: u64, width: u64| -> Result<u64, Error> {
        let end = at.checked_add(width).filter(|e| *e <= bytes.len() as u64);
        match end {
            Some(end) => Ok(little(&bytes[at as usize..end as usize])),
            None => bad("the offload binary is cut short"),
        }
    };
    if !bytes.starts_with(OFFLOAD_BINARY_MAGIC) {
        return bad("no offload binary (10 ff 10 ad is expected)");
    }
    let (version, size) = (number(4, 4)?, number(8, 8)?);
    let (table, second) = (number(16, 8)?, number(24, 8)?);
    let count = match version {
        0 | 1 => 1,
        2 => second,
        n => {
            return bad(format!(
                "version {n} of the offload binary is unknown; 1 or 2 is expected"
            ));
        }
    };
    if size < 32 || size > bytes.len() as u64 {
        return bad(format!(
            "the offload binary promises {size} bytes, and there are {}",
            bytes.len()
        ));
    }
    if count > size / 40 {
        return bad(format!(
            "the offload binary promises {count} entries in {size} bytes"
        ));
    }
    if count > MAX_ENTRIES {
        return Err(Error::TooMany("entries"));
    }
    let text = |at: u64| -> Result<String, Error> {
        let rest = bytes[..size as usize].get(at as usize..);
        let rest = rest.map(|r| &r[..r.len().min(MAX_ID as usize)]);
        let end = rest.and_then(|r| r.iter().position(|b| *b == 0));
        match (rest, end) {
            (Some(rest), Some(end)) => match std::str::from_utf8(&rest[..end]) {
                Ok(text) => Ok(text.to_string()),
                Err(_) => bad("a string of the offload binary is not UTF-8"),
            },
            _ => bad("a string of the offload binary lies outside it"),
        }
    };
    let mut items = Vec::new();
    let mut left = 1 << 16;
    for n in 0..count {
        let entry = table
            .checked_add(n * 40)
            .ok_or_else(|| Error::Bundle("the entry table lies outside".into()))?;
        let producer = match number(entry + 2, 2)? {
            1 => "openmp",
            2 => "cuda",
            3 => "hip",
            4 => "sycl",
            _ => "none",
        };
        let (strings, string_count) = (number(entry + 8, 8)?, number(entry + 16, 8)?);
        let (mut triple, mut arch) = (String::new(), String::new());
        for k in 0..string_count {
            left -= 1;
            if left == 0 {
                return Err(Error::TooMany("strings"));
            }
            let pair = strings
                .checked_add(k * 16)
                .ok_or_else(|| Error::Bundle("a string lies outside".into()))?;
            let slot = match text(number(pair, 8)?)?.as_str() {
                "triple" => &mut triple,
                "arch" => &mut arch,
                _ => continue,
            };
            *slot = text(number(pair + 8, 8)?)?;
        }
        let id = match (triple.is_empty(), arch.is_empty()) {
            (true, _) => format!("{producer}-unknown"),
            (false, true) => format!("{producer}-{triple}"),
            // These triples leave out the environment, so its empty part is added.
            (false, false) if triple.matches('-').count() < 3 => {
                format!("{producer}-{triple}--{arch}")
            }
            (false, false) => format!("{producer}-{triple}-{arch}"),
        };
        items.push(Item {
            id,
            offset: number(entry + 24, 8)?,
            size: number(entry + 32, 8)?,
        });
    }
    check(&items, size)?;
    Ok((items, size))
}

/// Returns an offload binary with another image in place of its entry `which`, which must be the last image in it.
///
/// # Errors
/// [`Error::Bundle`] if it is not the last, or the binary is damaged.
pub(crate) fn replace_in_offload_binary(
    old: &[u8],
    which: usize,
    new: &[u8],
) -> Result<Vec<u8>, Error> {
    let (items, size) = read_offload_binary(old)?;
    let Some(item) = items.get(which) else {
        return bad("there is no such entry");
    };
    if items.iter().any(|other| other.offset > item.offset) {
        return bad("only the last image of an offload binary can be replaced");
    }
    // Only padding may follow the image.
    let end = (item.offset + item.size) as usize;
    if old[end..size as usize].iter().any(|b| *b != 0) {
        return bad("the image of the offload binary is not its last part");
    }
    let mut out = old[..item.offset as usize].to_vec();
    out.extend(new);
    out.resize(out.len().next_multiple_of(8), 0);
    let total = out.len() as u64;
    let table = little(&old[16..24]) as usize + 40 * which;
    let mut put = |at: usize, value: u64| match out.get_mut(at..at + 8) {
        Some(location) => {
            location.copy_from_slice(&value.to_le_bytes());
            Ok(())
        }
        None => bad("the entry table lies after the image"),
    };
    put(8, total)?;
    put(table + 32, new.len() as u64)?;
    Ok(out)
}
