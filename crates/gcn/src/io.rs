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

/// A file, or standard output, that is written piece by piece.
pub struct Output {
    to: Box<dyn Write + Send>,
    name: String,
    /// Whether nobody reads it any more.
    gone: bool,
}

impl Output {
    /// Makes the file, or empties the one there is.
    ///
    /// # Errors
    /// A message with the file's name.
    pub fn create(path: &Path) -> Result<Output, String> {
        if path.as_os_str() == "-" {
            return Ok(Output {
                to: Box::new(std::io::stdout()),
                name: "standard output".into(),
                gone: false,
            });
        }
        let name = path.display().to_string();
        let file = std::fs::File::create(path).map_err(|e| format!("{name}: {e}"))?;
        Ok(Output {
            to: Box::new(file),
            name,
            gone: false,
        })
    }

    /// Writes all of `bytes`. A reader that has gone away is no error: then it gives false, and
    /// more need not be written.
    ///
    /// # Errors
    /// A message with the file's name.
    pub fn write(&mut self, bytes: &[u8]) -> Result<bool, String> {
        if !self.gone
            && let Err(e) = self.to.write_all(bytes).and_then(|()| self.to.flush())
        {
            if e.kind() != std::io::ErrorKind::BrokenPipe {
                return Err(format!("{}: {e}", self.name));
            }
            self.gone = true;
        }
        Ok(!self.gone)
    }
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

/// Writes to standard error. Where nobody reads it there is nobody to tell.
pub fn complain(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
