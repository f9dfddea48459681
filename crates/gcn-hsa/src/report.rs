//! What is said on standard error.

use std::io::Write;

/// Says something, line by line with the library's name before it.
pub fn line(text: &str) {
    let mut out = String::new();
    for line in text.lines() {
        out.push_str("gcn: ");
        out.push_str(line);
        out.push('\n');
    }
    // Nobody is left to tell of an error.
    let _ = std::io::stderr().lock().write_all(out.as_bytes());
}
