//! The bytes of a file in memory.

use std::fmt;
use std::io::{self, Read};
use std::ops::{Deref, DerefMut};

#[cfg(target_os = "linux")]
use memmap2::{Advice, MmapMut};

/// Bytes, such as those of a file or a section. Large amounts are in large pages, if the system supports them: the first
/// access to each small page takes longer than reading its bytes from a file.
pub struct Bytes(Storage);

enum Storage {
    Few(Vec<u8>),
    #[cfg(target_os = "linux")]
    Pages {
        pages: MmapMut,
        len: usize,
        /// The pages from this offset on have not been written: they contain zeros, and take no memory.
        written: usize,
    },
}

/// The minimum number of bytes for which large pages are worth the time to clear them.
#[cfg(target_os = "linux")]
const MANY: usize = 1 << 18;

impl Bytes {
    /// No bytes.
    pub const fn new() -> Bytes {
        Bytes(Storage::Few(Vec::new()))
    }

    /// Returns zeros.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn zeroed(len: usize) -> io::Result<Bytes> {
        #[cfg(target_os = "linux")]
        if let Some(pages) = pages(len) {
            return Ok(bytes_in(pages, len));
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
        if let Some(pages) = pages(len) {
            let mut bytes = bytes_in(pages, len);
            from.read_exact(&mut bytes)?;
            return Ok(bytes);
        }
        // The room is not filled with zeros before.
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len)?;
        match from.take(len as u64).read_to_end(&mut bytes)? {
            n if n == len => Ok(Bytes(Storage::Few(bytes))),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Appends bytes.
    pub fn extend_from_slice(&mut self, more: &[u8]) {
        let start = self.len();
        match self.extended(start + more.len(), true) {
            Ok((location, _)) => location[start..].copy_from_slice(more),
            Err(bytes) => bytes.extend_from_slice(more),
        }
    }

    /// Appends a byte until there are `len`, or removes the bytes after them.
    pub fn resize(&mut self, len: usize, byte: u8) {
        let start = self.len().min(len);
        match self.extended(len, byte != 0) {
            Ok((location, written)) if byte == 0 => location[start.min(written)..written].fill(0),
            Ok((location, _)) => location[start..].fill(byte),
            Err(bytes) => bytes.resize(len, byte),
        }
    }

    /// Removes the bytes from an offset on, and returns them.
    pub fn split_off(&mut self, at: usize) -> Vec<u8> {
        let after = self[at..].to_vec();
        self.resize(at, 0);
        after
    }

    /// Returns the bytes, which are copied if they are many.
    pub fn into_vec(self) -> Vec<u8> {
        match self.0 {
            Storage::Few(bytes) => bytes,
            #[cfg(target_os = "linux")]
            Storage::Pages { pages, len, .. } => pages[..len].to_vec(),
        }
    }

    /// Changes the number of bytes in pages. Returns all of them, with the offset from which on they contain zeros; before it
    /// new bytes have any value. If the bytes are in a vector, returns it unchanged. Bytes that are `written` afterwards
    /// count as such.
    #[inline]
    #[cfg_attr(not(target_os = "linux"), expect(unused_variables))]
    fn extended(&mut self, new: usize, written: bool) -> Result<(&mut [u8], usize), &mut Vec<u8>> {
        #[cfg(target_os = "linux")]
        {
            let enough = match &self.0 {
                Storage::Few(bytes) => new < MANY || new <= bytes.capacity(),
                Storage::Pages { pages, .. } => new <= pages.len(),
            };
            if !enough {
                self.enlarge(new);
            }
        }
        match &mut self.0 {
            Storage::Few(bytes) => Err(bytes),
            #[cfg(target_os = "linux")]
            Storage::Pages {
                pages,
                len,
                written: end,
            } => {
                *len = new;
                let before = (*end).min(new);
                if written {
                    *end = (*end).max(new);
                }
                Ok((&mut pages[..new], before))
            }
        }
    }

    /// Moves the bytes to more pages. Pages take no memory before they are written: there are several times as many as
    /// necessary. If the system refuses, the bytes are moved to a vector.
    #[cfg(target_os = "linux")]
    #[cold]
    fn enlarge(&mut self, new: usize) {
        const LEAST: usize = 8 << 20;
        const PIECE: usize = 1 << 12;
        let larger = new.checked_mul(4).map(|len| len.max(LEAST));
        let all = larger.and_then(pages).or_else(|| pages(new));
        let len = self.len();
        self.0 = match all {
            Some(mut pages) => {
                let mut written = 0;
                for (n, (to, from)) in (pages.chunks_mut(PIECE).zip(self.chunks(PIECE))).enumerate()
                {
                    if *from != [0; PIECE][..from.len()] {
                        to[..from.len()].copy_from_slice(from);
                        written = n * PIECE + from.len();
                    }
                }
                Storage::Pages {
                    pages,
                    len,
                    written,
                }
            }
            None => Storage::Few(self.to_vec()),
        };
    }
}

/// Returns at least this many zeros in large pages; `None` if the size is too small, or the system refuses.
#[cfg(target_os = "linux")]
fn pages(len: usize) -> Option<MmapMut> {
    const PAGE: usize = 2 << 20;
    if len < MANY {
        return None;
    }
    let pages = MmapMut::map_anon(len.checked_next_multiple_of(PAGE)?).ok()?;
    // Small pages are sufficient.
    let _ = pages.advise(Advice::HugePage);
    Some(pages)
}

#[cfg(target_os = "linux")]
fn bytes_in(pages: MmapMut, len: usize) -> Bytes {
    Bytes(Storage::Pages {
        pages,
        len,
        written: 0,
    })
}

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Storage::Few(bytes) => bytes,
            #[cfg(target_os = "linux")]
            Storage::Pages { pages, len, .. } => &pages[..*len],
        }
    }
}

impl DerefMut for Bytes {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Storage::Few(bytes) => bytes,
            #[cfg(target_os = "linux")]
            Storage::Pages {
                pages,
                len,
                written,
            } => {
                *written = (*written).max(*len);
                &mut pages[..*len]
            }
        }
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Bytes {
        Bytes(Storage::Few(bytes))
    }
}

impl Default for Bytes {
    fn default() -> Bytes {
        Bytes::new()
    }
}

impl Clone for Bytes {
    fn clone(&self) -> Bytes {
        let mut bytes = Bytes::new();
        bytes.extend_from_slice(self);
        bytes
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Bytes) -> bool {
        self[..] == other[..]
    }
}

impl Eq for Bytes {}

impl Extend<u8> for Bytes {
    fn extend<T: IntoIterator<Item = u8>>(&mut self, more: T) {
        let more: Vec<u8> = more.into_iter().collect();
        self.extend_from_slice(&more);
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
    fn bytes_grow_and_shrink_as_a_vector_does() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = |most: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 8) as usize % most
        };
        let piece: Vec<u8> = (0..MANY / 2).map(|n| (n * 7) as u8).collect();
        for _ in 0..20 {
            let (mut bytes, mut vector) = (Bytes::new(), Vec::new());
            for _ in 0..12 {
                match random(6) {
                    0 => {
                        let (len, byte) = (random(12 << 20), [0, 0, 0xa5][random(3)]);
                        bytes.resize(len, byte);
                        vector.resize(len, byte);
                        let at = random(len + 1).min(len.saturating_sub(1));
                        for all in [&mut bytes[..], &mut vector] {
                            all.iter_mut().skip(at).take(1).for_each(|byte| *byte = 1);
                        }
                    }
                    1 => {
                        let at = random(vector.len() + 1);
                        assert!(bytes.split_off(at) == vector.split_off(at));
                    }
                    2 => bytes = bytes.clone(),
                    _ => {
                        let piece = &piece[random(piece.len())..];
                        bytes.extend_from_slice(piece);
                        vector.extend_from_slice(piece);
                    }
                }
                assert!(bytes[..] == vector[..]);
            }
            assert!(bytes.into_vec() == vector);
        }
    }

    #[test]
    fn too_many_are_an_error() {
        assert!(Bytes::zeroed(usize::MAX / 4).is_err());
        assert!(Bytes::read(io::empty(), usize::MAX / 4).is_err());
    }
}
