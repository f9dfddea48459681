//! Messages on standard error.

use std::io::Write;

/// Prints a text unchanged.
pub fn plain(text: &str) {
    // An error of standard error cannot be reported.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Prints a message; each line begins with the library's name.
pub fn line(text: &str) {
    let mut out = String::new();
    for line in text.lines() {
        out.push_str("gcn: ");
        out.push_str(line);
        out.push('\n');
    }
    plain(&out);
}
