//! Suppressions of known reports.
//!
//! A line of a file is `CHECK RULE KERNEL` or `CHECK RULE KERNEL+OFFSET`; `*` stands for any text. The offset counts bytes from the kernel's
//! first instruction, so it stays the same when the kernel moves in its file. `#` begins a comment.

use crate::report::Report;

/// The reports that a line suppresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suppression {
    check: String,
    rule: String,
    kernel: String,
    offset: Option<u64>,
}

/// Reads a file's text.
///
/// # Errors
/// The number of the line that is wrong, and what was expected.
pub fn parse(text: &str) -> Result<Vec<Suppression>, (usize, String)> {
    let mut list = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let [check, rule, location] = words[..] else {
            let what = "expected CHECK RULE KERNEL or CHECK RULE KERNEL+OFFSET".to_string();
            return Err((n + 1, what));
        };
        let (kernel, offset) = match location.rsplit_once("+0x") {
            None => (location, None),
            Some((kernel, digits)) => {
                let offset = u64::from_str_radix(digits, 16);
                let wrong = |_| {
                    (
                        n + 1,
                        format!("`0x{digits}` is not an offset in hexadecimal"),
                    )
                };
                (kernel, Some(offset.map_err(wrong)?))
            }
        };
        list.push(Suppression {
            check: check.into(),
            rule: rule.into(),
            kernel: kernel.into(),
            offset,
        });
    }
    Ok(list)
}

impl Suppression {
    /// Returns true if a report is suppressed.
    pub fn covers(&self, report: &Report) -> bool {
        matches(&self.check, report.check.name())
            && matches(&self.rule, report.rule)
            && matches(&self.kernel, &report.kernel)
            && self.offset.is_none_or(|offset| offset == report.offset())
    }
}

/// Returns the line that suppresses a report and no other.
pub fn line(report: &Report) -> String {
    let check = report.check.name();
    format!(
        "{check} {} {}+{:#x}",
        report.rule,
        report.kernel,
        report.offset()
    )
}

/// Compares a text with a pattern in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        assert!(matches("*", "vadd"));
        assert!(matches("v*d", "vadd") && matches("v*d*", "vadd") && matches("vadd", "vadd"));
        assert!(!matches("v*x", "vadd") && !matches("vad", "vadd") && !matches("a*", "vadd"));
        assert!(!matches("aa*aa", "aaa"));
    }

    #[test]
    fn lines() {
        let list =
            parse("# known\nwaitcnt early-use vadd+0x40 # why\n\n* * k*\n").expect("it is right");
        assert_eq!(list.len(), 2);
        assert_eq!(
            (list[0].kernel.as_str(), list[0].offset),
            ("vadd", Some(0x40))
        );
        assert_eq!(parse("waitcnt\n").map_err(|e| e.0), Err(1));
        assert_eq!(parse("\na b c+0xzz").map_err(|e| e.0), Err(2));
    }
}
