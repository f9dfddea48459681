//! Files and the standard streams, which `-` names.

use gcn_object::container::Entry;
use gcn_object::{Bytes, CodeObject, Container, Source};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The maximum number of bytes that are read from input without a size, such as a pipe.
const MOST_STREAMED: u64 = 1 << 30;
/// The maximum size of a file that is read completely. Offsets in sources have 32 bits.
const MOST_READ: u64 = (1 << 32) - 1;

/// Reads a file or standard input.
///
/// # Errors
/// A message with the file's name: it cannot be read, or it is too large.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    read_until(path, |_| None)
}

/// Like [`read`]; `wrong` gets each piece as it is read, and may return an error message.
fn read_until(path: &Path, wrong: impl Fn(&[u8]) -> Option<String>) -> Result<Vec<u8>, String> {
    let read = if path.as_os_str() == "-" {
        read_all(std::io::stdin().lock(), None, wrong)
    } else {
        std::fs::File::open(path).and_then(|file| {
            let about = file.metadata().ok().filter(|about| about.is_file());
            read_all(file, about.map(|about| about.len()), wrong)
        })
    };
    read.map_err(|e| named(path, e))
}

/// Reads all bytes of a file with a known size, or of a stream.
fn read_all(
    mut from: impl Read,
    size: Option<u64>,
    wrong: impl Fn(&[u8]) -> Option<String>,
) -> std::io::Result<Vec<u8>> {
    const PIECE: u64 = 1 << 20;
    let too_large = |text: &str| Err(std::io::Error::new(std::io::ErrorKind::FileTooLarge, text));
    let most = match size {
        Some(size) if size > MOST_READ => {
            return too_large("it is larger than 4 GiB, the most that is read of a file");
        }
        // Some files, such as those in /proc, have a size of 0 and are not empty.
        Some(0) | None => MOST_STREAMED,
        Some(_) => MOST_READ,
    };
    let mut bytes = Vec::new();
    // One more byte than the file has, to detect the end without reallocation.
    let room = usize::try_from(size.unwrap_or(0)).unwrap_or(usize::MAX);
    bytes.try_reserve_exact(room.saturating_add(32))?;
    loop {
        bytes.try_reserve(if size.is_some_and(|size| size > 0) {
            32
        } else {
            PIECE as usize
        })?;
        let start = bytes.len();
        // A file is read in one step.
        let most_of_one = size.map_or(PIECE, |size| PIECE.max(size.saturating_add(1)));
        if from.by_ref().take(most_of_one).read_to_end(&mut bytes)? == 0 {
            return Ok(bytes);
        }
        if let Some(what) = wrong(&bytes[start..]) {
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, what));
        }
        if bytes.len() as u64 > most {
            return too_large(match most {
                MOST_STREAMED => {
                    "it has more than 1 GiB, the limit for pipes and devices; a file may be larger"
                }
                _ => "it is larger than 4 GiB, the most that is read of a file",
            });
        }
    }
}

/// Returns a message with the file's name before it.
pub fn named(path: &Path, e: impl std::fmt::Display) -> String {
    match path.as_os_str() == "-" {
        true => format!("standard input: {e}"),
        false => format!("{}: {e}", path.display()),
    }
}

/// Opens a file or standard input and lists the code objects in it. Only the headers of a file are read.
///
/// # Errors
/// A message with the file's name.
pub fn container(path: &Path) -> Result<Container, String> {
    let source = match path.as_os_str() == "-" {
        true => Source::from_stream(std::io::stdin().lock()),
        false => Source::open(path),
    };
    source.and_then(Container::new).map_err(|e| named(path, e))
}

/// Returns the code object in a file or standard input: by its number among the entries, by its target, or the only one.
///
/// # Errors
/// A message with the file's name; if the selection is ambiguous, it lists the entries.
pub fn code_object(
    path: &Path,
    target: Option<&str>,
    entry: Option<usize>,
) -> Result<CodeObject, String> {
    chosen(path, target, entry, Container::object)
}

/// Like [`code_object`], for disassembly: kernels may lack metadata.
///
/// # Errors
/// See [`code_object`].
pub fn code_object_for_source(
    path: &Path,
    target: Option<&str>,
    entry: Option<usize>,
) -> Result<CodeObject, String> {
    chosen(path, target, entry, Container::object_for_source)
}

fn chosen(
    path: &Path,
    target: Option<&str>,
    entry: Option<usize>,
    read: impl Fn(&Container, &Entry) -> Result<CodeObject, gcn_object::Error>,
) -> Result<CodeObject, String> {
    let container = container(path)?;
    let entry = container.choose(target, entry);
    entry
        .and_then(|entry| read(&container, entry))
        .map_err(|e| named(path, e))
}

/// Reads the text of a file or of standard input.
///
/// # Errors
/// A message with the file's name.
pub fn read_text(path: &Path) -> Result<String, String> {
    // Text has no zero bytes. An endless stream of zeros is therefore refused immediately.
    let bytes = read_until(path, |piece| has_zero(piece).then(|| NOT_TEXT.into()))?;
    String::from_utf8(bytes)
        .map_err(|e| (text_of(path, e.as_bytes()).err()).unwrap_or_else(|| e.to_string()))
}

const NOT_TEXT: &str = "it is not text: it has a zero byte";

fn has_zero(bytes: &[u8]) -> bool {
    // All bytes of a piece are compared, without an early exit.
    let zero = |piece: &[u8]| piece.iter().fold(false, |zero, byte| zero | (*byte == 0));
    bytes.chunks(256).any(zero)
}

/// Returns the bytes of a file as text.
///
/// # Errors
/// A message with the file's name, the line and the column of the first byte that is not text.
pub fn text_of<'b>(path: &Path, bytes: &'b [u8]) -> Result<&'b str, String> {
    str::from_utf8(bytes).map_err(|e| {
        let (before, rest) = bytes.split_at(e.valid_up_to());
        let line = before.iter().filter(|c| **c == b'\n').count() + 1;
        let start = before
            .iter()
            .rposition(|c| *c == b'\n')
            .map_or(0, |n| n + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        let location = match path.as_os_str() == "-" {
            true => format!("standard input:{line}:{column}"),
            false => format!("{}:{line}:{column}", path.display()),
        };
        format!("{location}: it is not UTF-8 text: byte {:#04x}", rest[0])
    })
}

/// Reads the bytes of a source, on up to `threads` threads if it is large; [`text_of`] is its text.
///
/// # Errors
/// A message with the file's name.
pub fn read_source(path: &Path, threads: usize) -> Result<Bytes, String> {
    match read_large(path, threads) {
        Some((_, true)) => Err(named(path, NOT_TEXT)),
        Some((bytes, false)) => Ok(bytes),
        None => read_text(path).map(|text| Bytes::from(text.into_bytes())),
    }
}

/// Reads the parts of a large file on several threads, and finds out whether they have a zero byte; `None` if the file is
/// small or this fails.
#[cfg(unix)]
fn read_large(path: &Path, threads: usize) -> Option<(Bytes, bool)> {
    const LEAST: usize = 1 << 19;
    // A pipe must not be opened twice.
    let about = std::fs::metadata(path)
        .ok()
        .filter(|about| about.is_file())?;
    let len = usize::try_from(about.len()).ok()?;
    if about.len() > MOST_READ || len < LEAST {
        return None;
    }
    let file = std::fs::File::open(path).ok()?;
    let threads = threads.min(len / LEAST).max(1);
    let mut bytes = Bytes::zeroed(len).ok()?;
    let size = len.div_ceil(threads);
    let zero = std::thread::scope(|scope| {
        let mut parts = bytes.chunks_mut(size).enumerate();
        let first = parts.next();
        let others: Vec<_> = parts
            .map(|(n, part)| {
                let file = &file;
                std::thread::Builder::new()
                    .spawn_scoped(scope, move || read_part(file, (n * size) as u64, part))
            })
            .collect();
        let first = first.map_or(Ok(false), |(_, part)| read_part(&file, 0, part));
        others.into_iter().fold(first.ok(), |zero, other| {
            let other = other.ok().and_then(|o| o.join().ok()?.ok());
            Some(zero? | other?)
        })
    })?;
    Some((bytes, zero))
}

/// Fills a part of a file's bytes from an offset. Returns true, and stops, if it has a zero byte.
#[cfg(unix)]
fn read_part(file: &std::fs::File, offset: u64, part: &mut [u8]) -> std::io::Result<bool> {
    use std::os::unix::fs::FileExt;
    /// Pieces of this size are still in the processor's cache when they are searched.
    const PIECE: usize = 1 << 17;
    for (n, piece) in part.chunks_mut(PIECE).enumerate() {
        file.read_exact_at(piece, offset + (n * PIECE) as u64)?;
        if has_zero(piece) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(not(unix))]
fn read_large(_: &Path, _: usize) -> Option<(Bytes, bool)> {
    None
}

/// Writes a file, or standard output. A closed reader is not an error. A regular file is complete or unchanged
/// ([`Output`]).
///
/// # Errors
/// A message with the file's name.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    stream(path, |out| out.write_all(bytes))
}

/// Writes to standard output. A closed reader is not an error.
///
/// # Errors
/// A message.
pub fn print(bytes: &[u8]) -> Result<(), String> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("standard output: {e}"))
        }
        _ => Ok(()),
    }
}

/// Calls `make` to write a file or standard output piece by piece. A closed reader is not an error. A regular file is
/// complete or unchanged ([`Output`]).
///
/// # Errors
/// A message with the file's name.
pub fn stream(
    path: &Path,
    make: impl FnOnce(&mut (dyn Write + Send)) -> std::io::Result<()>,
) -> Result<(), String> {
    stream_like(path, None, |out, _| make(out))
}

/// Like [`stream`]. The second argument of `make` is true if the output is discarded when it fails.
///
/// # Errors
/// A message with the file's name.
pub fn stream_or_drop(
    path: &Path,
    make: impl FnOnce(&mut (dyn Write + Send), bool) -> std::io::Result<()>,
) -> Result<(), String> {
    stream_like(path, None, make)
}

/// Like [`stream_or_drop`]. A new file is executable if `like` is.
///
/// # Errors
/// A message with the file's name.
pub fn stream_like(
    path: &Path,
    like: Option<&Path>,
    make: impl FnOnce(&mut (dyn Write + Send), bool) -> std::io::Result<()>,
) -> Result<(), String> {
    let (done, name) = if path.as_os_str() == "-" {
        let mut out = std::io::stdout();
        let done = make(&mut out, false).and_then(|()| out.flush());
        (done, "standard output".into())
    } else {
        let done = Output::create(path, like).and_then(|mut file| {
            let plain = file.names.is_some();
            make(&mut file, plain)?;
            file.finish()
        });
        (done, path.display().to_string())
    };
    match done {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(format!("{name}: {e}")),
        _ => Ok(()),
    }
}

/// A file that is being written. A regular file is written under a temporary name and renamed in [`Output::finish`]: it is always
/// complete or unchanged, and may be an input at the same time. The target of a symbolic link is replaced, and the permissions
/// are kept. Devices, pipes, names of the process's own streams, and files in a folder in which no file can be created are
/// written directly.
#[derive(Debug)]
pub struct Output {
    file: std::io::BufWriter<std::fs::File>,
    /// The temporary name and the final name.
    names: Option<(PathBuf, PathBuf)>,
}

impl Output {
    /// Opens an output. A new file gets the execute permissions of `like`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(path: &Path, like: Option<&Path>) -> std::io::Result<Output> {
        const BUFFER: usize = 1 << 16;
        let open = |file, names| Output {
            file: std::io::BufWriter::with_capacity(BUFFER, file),
            names,
        };
        let directly = || std::fs::File::create(path).map(|file| open(file, None));
        let Some(location) = location_of(path) else {
            return directly();
        };
        let old = std::fs::metadata(&location).ok();
        if old.as_ref().is_some_and(|about| !about.is_file()) {
            return directly();
        }
        if old.is_some() {
            // A file that may not be written may not be replaced either.
            std::fs::OpenOptions::new().write(true).open(&location)?;
        }
        let Some((name, file)) = beside(&location) else {
            return directly();
        };
        let output = open(file, Some((name, location)));
        let new = like.and_then(|like| std::fs::metadata(like).ok());
        if let Some(about) = old.or(new.filter(|about| about.is_file())) {
            let file = output.file.get_ref();
            #[cfg(unix)]
            {
                use std::os::unix::fs::MetadataExt;
                // Only privileged users can change the owner; otherwise the file belongs to the user.
                let _ = std::os::unix::fs::fchown(file, Some(about.uid()), Some(about.gid()));
            }
            file.set_permissions(about.permissions())?;
        }
        Ok(output)
    }

    /// Renames the file to its final name.
    ///
    /// # Errors
    /// A message if writing failed, as on a full disk. The old file is then unchanged.
    pub fn finish(mut self) -> std::io::Result<()> {
        self.file.flush()?;
        if let Some((name, location)) = &self.names {
            std::fs::rename(name, location)?;
            self.names = None;
        }
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some((name, _)) = &self.names {
            // An incomplete file is removed.
            let _ = std::fs::remove_file(name);
        }
    }
}

/// Returns the path of the regular file that a path names, following links. `None` if the path is an alias of an open file,
/// such as /dev/stdout.
fn location_of(path: &Path) -> Option<PathBuf> {
    const MOST_LINKS: usize = 40;
    let mut location = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        if ["/dev", "/proc"]
            .iter()
            .any(|folder| location.starts_with(folder))
        {
            return None;
        }
        match std::fs::read_link(&location) {
            Ok(to) => location = location.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => {
                // A folder in the path may be a link to such an alias.
                let folder = location.parent().filter(|f| !f.as_os_str().is_empty());
                let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
                let open = ["/dev", "/proc"].iter().any(|of| folder.starts_with(of));
                return (!open).then_some(location);
            }
        }
    }
    None
}

/// Creates a new file in the same folder; `None` if that is impossible.
fn beside(location: &Path) -> Option<(PathBuf, std::fs::File)> {
    const ATTEMPTS: u32 = 100;
    location.file_name()?;
    (0..ATTEMPTS).find_map(|n| {
        let name = location.with_file_name(format!(".gcn-{}-{n}", std::process::id()));
        let file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&name);
        file.ok().map(|file| (name, file))
    })
}

/// Writes to standard error. A closed reader is ignored.
pub fn complain(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_text_whatever_their_size() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.s");
        for size in [100, 3 << 19] {
            let mut text = "\ts_nop 0\n".repeat(size / 9).into_bytes();
            let last = text.len() - 5;
            for threads in [1, 2, 3] {
                let mut read = |byte: u8| {
                    text[last] = byte;
                    std::fs::write(&path, &text).expect("the folder is writable");
                    let bytes = read_source(&path, threads)?;
                    text_of(&path, &bytes).map(|read| assert!(read.as_bytes() == text))
                };
                assert_eq!(read(b'x'), Ok(()));
                let location = path.display();
                assert_eq!(read(0), Err(format!("{location}: {NOT_TEXT}")));
                let line = size / 9;
                let wrong = format!("{location}:{line}:5: it is not UTF-8 text: byte 0xff");
                assert_eq!(read(0xff), Err(wrong));
            }
        }
    }
}
