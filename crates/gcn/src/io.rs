//! Files and the standard streams, which `-` names.

use std::io::{Read, Write};
use std::path::Path;

/// The bytes of a file, or of standard input.
///
/// # Errors
/// A message with the file's name.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        return match read {
            Ok(_) => Ok(bytes),
            Err(e) => Err(format!("standard input: {e}")),
        };
    }
    std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

/// The text of a file, or of standard input.
///
/// # Errors
/// A message with the file's name.
pub fn read_text(path: &Path) -> Result<String, String> {
    String::from_utf8(read(path)?).map_err(|_| format!("{}: it is not UTF-8 text", path.display()))
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

/// Writes to standard error. Where nobody reads it there is nobody to tell.
pub fn complain(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
