//! The bytes of a file in memory.

use std::fmt;
use std::io::{self, Read};
use std::ops::{Deref, DerefMut};

#[cfg(target_os = "linux")]
use memmap2::{Advice, MmapMut};

/// A fixed number of bytes. Large amounts are in large pages, if the system supports them: the first access to each
/// small page takes longer than reading its bytes from a file.
pub struct Bytes(Storage);

enum Storage {
    Few(Vec<u8>),
    /// The pages, and the number of bytes.
    #[cfg(target_os = "linux")]
    Pages(MmapMut, usize),
}

/// The minimum number of bytes for which large pages are worth the time to clear them.
#[cfg(target_os = "linux")]
const MANY: usize = 3 << 18;

impl Bytes {
    /// Returns zeros.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn zeroed(len: usize) -> io::Result<Bytes> {
        #[cfg(target_os = "linux")]
        if let Some(pages) = pages(len) {
            return Ok(pages);
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len)?;
        bytes.resize(len, 0);
        Ok(Bytes(Storage::Few(bytes)))
    }

    /// Reads this many bytes.
    ///
    /// # Errors
    /// If there are fewer bytes, they cannot be read, or there is not enough memory.
    pub fn read(mut from: impl Read, len: usize) -> io::Result<Bytes> {
        #[cfg(target_os = "linux")]
        if let Some(mut pages) = pages(len) {
            from.read_exact(&mut pages)?;
            return Ok(pages);
        }
        // The room is not filled with zeros before.
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len)?;
        match from.take(len as u64).read_to_end(&mut bytes)? {
            n if n == len => Ok(Bytes(Storage::Few(bytes))),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Returns zeros in large pages; `None` if the size is too small, or the system refuses.
#[cfg(target_os = "linux")]
fn pages(len: usize) -> Option<Bytes> {
    const PAGE: usize = 2 << 20;
    if len < MANY {
        return None;
    }
    let pages = MmapMut::map_anon(len.checked_next_multiple_of(PAGE)?).ok()?;
    // Small pages are sufficient.
    let _ = pages.advise(Advice::HugePage);
    Some(Bytes(Storage::Pages(pages, len)))
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Storage::Few(bytes) => bytes,
            #[cfg(target_os = "linux")]
            Storage::Pages(pages, len) => &pages[..*len],
        }
    }
}

impl DerefMut for Bytes {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Storage::Few(bytes) => bytes,
            #[cfg(target_os = "linux")]
            Storage::Pages(pages, len) => &mut pages[..*len],
        }
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes(Storage::Few(bytes))
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_are_the_same() {
        for len in [0, 1, 1000, MANY - 1, MANY, (4 << 20) + 1] {
            let mut zeros = Bytes::zeroed(len).expect("memory");
            assert_eq!(zeros.len(), len);
            assert!(zeros.iter().all(|b| *b == 0));
            if let Some(last) = zeros.last_mut() {
                *last = 7;
            }
            let again = Bytes::read(&zeros[..], len).expect("all are there");
            assert!(again[..] == zeros[..]);
            let missing = Bytes::read(&zeros[..], len + 1).map(|_| ());
            assert_eq!(
                missing.map_err(|e| e.kind()),
                Err(io::ErrorKind::UnexpectedEof)
            );
        }
    }

    #[test]
    fn too_many_are_an_error() {
        assert!(Bytes::zeroed(usize::MAX / 4).is_err());
        assert!(Bytes::read(io::empty(), usize::MAX / 4).is_err());
    }
}
