//! Files and the standard streams, which `-` names.

use gcn_object::{CodeObject, Container, Source};
use std::io::{Read, Write};
use std::path::Path;

/// The bytes of a file, or of standard input.
///
/// # Errors
/// A message with the file's name.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    if path.as_os_str() == "-" {
        return read_all(std::io::stdin().lock(), 0).map_err(|e| named(path, e));
    }
    std::fs::File::open(path)
        .and_then(|file| {
            let size = file.metadata().map_or(0, |about| about.len());
            read_all(file, size)
        })
        .map_err(|e| named(path, e))
}

/// All bytes of something that has about `size`, but no endless stream.
fn read_all(from: impl Read, size: u64) -> std::io::Result<Vec<u8>> {
    const MOST: u64 = 1 << 32;
    let mut bytes = Vec::new();
    bytes.try_reserve(usize::try_from(size.min(MOST)).unwrap_or(0))?;
    from.take(MOST).read_to_end(&mut bytes)?;
    if bytes.len() as u64 >= MOST {
        return Err(std::io::Error::other("it is 4 GiB or larger"));
    }
    Ok(bytes)
}

/// A message with the file's name before it.
pub fn named(path: &Path, e: impl std::fmt::Display) -> String {
    match path.as_os_str() == "-" {
        true => format!("standard input: {e}"),
        false => format!("{}: {e}", path.display()),
    }
}

/// What a file, or standard input, is, and the code objects in it. Of a file nothing but headers is read.
///
/// # Errors
/// A message with the file's name.
pub fn container(path: &Path) -> Result<Container, String> {
    let source = match path.as_os_str() == "-" {
        true => Source::from_bytes(read(path)?),
        false => Source::open(path).map_err(|e| named(path, e))?,
    };
    Container::new(source).map_err(|e| named(path, e))
}

/// The code object in a file, or in standard input: by its number among the file's entries, by its target, or the only one.
///
/// # Errors
/// A message with the file's name; where the choice is not clear, one that lists what there is.
pub fn code_object(
    path: &Path,
    target: Option<&str>,
    entry: Option<usize>,
) -> Result<CodeObject, String> {
    let container = container(path)?;
    let entry = container.choose(target, entry);
    entry
        .and_then(|entry| container.object(entry))
        .map_err(|e| named(path, e))
}

/// The text of a file, or of standard input.
///
/// # Errors
/// A message with the file's name.
pub fn read_text(path: &Path) -> Result<String, String> {
    read(path).and_then(|bytes| as_text(path, bytes))
}

fn as_text(path: &Path, bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|e| {
        let (before, rest) = e.as_bytes().split_at(e.utf8_error().valid_up_to());
        let line = before.iter().filter(|c| **c == b'\n').count() + 1;
        let start = before
            .iter()
            .rposition(|c| *c == b'\n')
            .map_or(0, |n| n + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        let place = match path.as_os_str() == "-" {
            true => format!("standard input:{line}:{column}"),
            false => format!("{}:{line}:{column}", path.display()),
        };
        format!("{place}: it is not UTF-8 text: byte {:#04x}", rest[0])
    })
}

/// As [`read_text`], where a large file is read on several threads.
///
/// # Errors
/// A message with the file's name.
pub fn read_text_on(path: &Path, threads: usize) -> Result<String, String> {
    match read_parts(path, threads) {
        Some(bytes) => as_text(path, bytes),
        None => read_text(path),
    }
}

/// The bytes of a large file, each part read by its own thread; `None` where that does not pay or
/// does not work out.
#[cfg(unix)]
fn read_parts(path: &Path, threads: usize) -> Option<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    const LEAST: usize = 1 << 19;
    // A pipe must not be opened twice.
    let about = std::fs::metadata(path)
        .ok()
        .filter(|about| about.is_file())?;
    let len = usize::try_from(about.len()).ok()?;
    let threads = threads.min(len / LEAST);
    if threads < 2 {
        return None;
    }
    let file = std::fs::File::open(path).ok()?;
    let mut bytes = vec![0; len];
    let size = len.div_ceil(threads);
    let read = std::thread::scope(|scope| {
        let mut parts = bytes.chunks_mut(size).enumerate();
        let first = parts.next();
        let others: Vec<_> = parts
            .map(|(n, part)| {
                let file = &file;
                std::thread::Builder::new()
                    .spawn_scoped(scope, move || file.read_exact_at(part, (n * size) as u64))
            })
            .collect();
        let first = first.is_none_or(|(_, part)| file.read_exact_at(part, 0).is_ok());
        others.into_iter().fold(first, |all, other| {
            all & other.is_ok_and(|o| matches!(o.join(), Ok(Ok(()))))
        })
    });
    read.then_some(bytes)
}

#[cfg(not(unix))]
fn read_parts(_: &Path, _: usize) -> Option<Vec<u8>> {
    None
}

/// Writes a file, or standard output. A reader that has gone away is no error.
///
/// # Errors
/// A message with the file's name.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if path.as_os_str() == "-" {
        return print(bytes);
    }
    std::fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}

/// Writes to standard output. A reader that has gone away is no error.
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

/// Has `make` write a file, or standard output, piece by piece. A reader that has gone away is no error.
///
/// # Errors
/// A message with the file's name.
pub fn stream(
    path: &Path,
    make: impl FnOnce(&mut (dyn Write + Send)) -> std::io::Result<()>,
) -> Result<(), String> {
    let (done, name) = if path.as_os_str() == "-" {
        let mut out = std::io::stdout();
        let done = make(&mut out).and_then(|()| out.flush());
        (done, "standard output".into())
    } else {
        let done = std::fs::File::create(path).and_then(|mut file| make(&mut file));
        (done, path.display().to_string())
    };
    match done {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(format!("{name}: {e}")),
        _ => Ok(()),
    }
}

/// Has `make` write a file under another name, which then takes the file's place: it is whole or not there, and may be the file that
/// is read meanwhile. It may be run if `like` may. A path that is no plain file, such as `-`, is written as it is.
///
/// # Errors
/// A message with the file's name.
pub fn write_whole(
    path: &Path,
    like: &Path,
    make: &mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), String> {
    let plain = std::fs::metadata(path).map_or(true, |about| about.is_file());
    let (Some(name), true) = (path.file_name(), plain && path.as_os_str() != "-") else {
        return stream(path, |out| make(out));
    };
    let mut other = std::ffi::OsString::from(".");
    other.push(name);
    other.push(format!(".{}", std::process::id()));
    let other = path.with_file_name(other);
    let mut written = || {
        let file = std::fs::File::create(&other)?;
        let mut out = std::io::BufWriter::with_capacity(1 << 18, file);
        make(&mut out)?;
        let file = out.into_inner()?;
        if let Ok(about) = std::fs::metadata(like)
            && about.is_file()
        {
            file.set_permissions(about.permissions())?;
        }
        drop(file);
        std::fs::rename(&other, path)
    };
    written().map_err(|e| {
        // What is left of it helps nobody, and may not be there.
        let _ = std::fs::remove_file(&other);
        named(path, e)
    })
}

/// Writes to standard error. Where nobody reads it there is nobody to tell.
pub fn complain(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
