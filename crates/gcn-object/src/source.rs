//! Bytes that are read on demand: a file of gigabytes is never read completely.

use crate::bytes::Bytes;
use crate::error::Error;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// A file, or bytes in memory.
#[derive(Debug)]
pub struct Source {
    from: From,
    size: u64,
}

#[derive(Debug)]
enum From {
    /// The lock keeps a seek and its read together.
    File(Mutex<File>),
    Bytes(Vec<u8>),
}

impl Source {
    /// Opens a file. A file without random access, such as a pipe, is read as a whole.
    ///
    /// # Errors
    /// [`Error::Read`] if the file cannot be opened or read.
    pub fn open(path: &Path) -> Result<Source, Error> {
        let failed = |e: std::io::Error| Error::Read(e.to_string());
        let file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if !about.is_file() {
            return Source::from_stream(file);
        }
        Ok(Source {
            size: about.len(),
            from: From::File(Mutex::new(file)),
        })
    }

    /// Reads a stream, such as a pipe, to its end. A stream that does not begin like a file that can contain code is
    /// not read further, which protects against endless zeros.
    ///
    /// # Errors
    /// [`Error::Read`] if it cannot be read, or does not end within 1 GiB.
    pub fn from_stream(mut stream: impl Read) -> Result<Source, Error> {
        const MOST: u64 = 1 << 30;
        const START: u64 = 64;
        let failed = |e: std::io::Error| Error::Read(e.to_string());
        let mut bytes = Vec::new();
        (stream.by_ref().take(START).read_to_end(&mut bytes)).map_err(failed)?;
        if bytes.iter().any(|b| *b != 0) {
            (stream.take(MOST).read_to_end(&mut bytes)).map_err(failed)?;
        }
        if bytes.len() as u64 >= MOST {
            let what = "it goes on after 1 GiB, the most that is read of a pipe or a device; a file may be larger";
            return Err(Error::Read(what.into()));
        }
        Ok(Source::from_bytes(bytes))
    }

    /// Uses bytes in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Source {
        Source {
            size: bytes.len() as u64,
            from: From::Bytes(bytes),
        }
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Fills `out` from `offset` on, as far as there are bytes, and returns the number of bytes read.
    fn fill(&self, offset: u64, out: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = out.len().min(left);
        if count == 0 {
            return Ok(0);
        }
        match &self.from {
            From::Bytes(bytes) => {
                let start = offset as usize;
                out[..count].copy_from_slice(&bytes[start..start + count]);
            }
            From::File(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(offset))?;
                file.read_exact(&mut out[..count])?;
            }
        }
        Ok(count)
    }

    /// Returns `size` bytes from `offset` on.
    ///
    /// # Errors
    /// [`Error::Read`] if there are fewer bytes.
    pub fn read(&self, offset: u64, size: u64) -> Result<Vec<u8>, Error> {
        let count = self.checked(offset, size)?;
        let mut bytes = Vec::new();
        (bytes.try_reserve_exact(count))
            .map_err(|_| Error::Read(format!("{size} bytes do not fit into memory")))?;
        // The buffer is not filled with zeros first.
        let read = match &self.from {
            From::Bytes(all) => {
                bytes.extend_from_slice(&all[offset as usize..][..count]);
                Ok(count)
            }
            From::File(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                let there = file.seek(SeekFrom::Start(offset));
                there.and_then(|_| file.by_ref().take(size).read_to_end(&mut bytes))
            }
        };
        match read {
            Ok(read) if read == count => Ok(bytes),
            Ok(_) => Err(Error::Read("the file ends too early".into())),
            Err(e) => Err(Error::Read(e.to_string())),
        }
    }

    /// Like [`Source::read`], for many bytes that are kept.
    ///
    /// # Errors
    /// See [`Source::read`].
    pub fn read_bytes(&self, offset: u64, size: u64) -> Result<Bytes, Error> {
        let count = self.checked(offset, size)?;
        let From::File(file) = &self.from else {
            return self.read(offset, size).map(Bytes::from);
        };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let there = file.seek(SeekFrom::Start(offset));
        let read = there.and_then(|_| Bytes::read(&mut *file, count));
        read.map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => Error::Read("the file ends too early".into()),
            ErrorKind::OutOfMemory => Error::Read(format!("{size} bytes do not fit into memory")),
            _ => Error::Read(e.to_string()),
        })
    }

    /// Returns the number of bytes from `offset` on, checked against the size and the address space.
    fn checked(&self, offset: u64, size: u64) -> Result<usize, Error> {
        let end = offset.checked_add(size).filter(|end| *end <= self.size);
        match (end, usize::try_from(size)) {
            (Some(_), Ok(count)) => Ok(count),
            _ => Err(Error::Read(format!(
                "{size} bytes from {offset:#x} on are wanted, and the file has {} bytes",
                self.size
            ))),
        }
    }

    /// Fills `out` from `offset` on.
    ///
    /// # Errors
    /// [`Error::Read`] if there are fewer bytes.
    pub(crate) fn read_into(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        match self.fill(offset, out) {
            Ok(n) if n == out.len() => Ok(()),
            Ok(_) => Err(Error::Read("the file ends too early".into())),
            Err(e) => Err(Error::Read(e.to_string())),
        }
    }

    /// Returns a window of `size` bytes from `offset` on, limited to the existing bytes.
    pub fn window(&self, offset: u64, size: u64) -> Window<'_> {
        let start = offset.min(self.size);
        Window {
            source: self,
            start,
            size: size.min(self.size - start),
            at: 0,
        }
    }
}

/// Part of a [`Source`], read as a file of its own.
#[derive(Clone, Debug)]
pub struct Window<'a> {
    source: &'a Source,
    start: u64,
    size: u64,
    at: u64,
}

impl Window<'_> {
    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }
}

impl Read for Window<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let count = out.len().min(left);
        let read = self.source.fill(self.start + self.at, &mut out[..count])?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Window<'_> {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let at = match to {
            SeekFrom::Start(n) => Some(n),
            SeekFrom::End(n) => self.size.checked_add_signed(n),
            SeekFrom::Current(n) => self.at.checked_add_signed(n),
        };
        self.at = at.filter(|at| *at <= self.size).ok_or_else(|| {
            std::io::Error::new(std::io::ErrorKind::InvalidInput, "a seek beyond the bytes")
        })?;
        Ok(self.at)
    }
}
