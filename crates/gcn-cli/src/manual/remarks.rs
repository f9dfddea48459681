//! The manuals' remarks on an instruction: limits, and instructions that must come before or after it.

static TEXT: &str = include_str!("remarks.txt");

/// The entries: names and text.
fn entries() -> impl Iterator<Item = (&'static str, &'static str)> {
    TEXT.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(": "))
}

/// Returns the remark on a row.
pub fn remark(name: &str) -> Option<&'static str> {
    entries()
        .find(|(names, _)| names.split(' ').any(|n| n == name))
        .map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gcn::isa::insts;

    #[test]
    fn every_remark_is_on_a_row_and_its_page() {
        let lines = TEXT
            .lines()
            .filter(|l| !l.is_empty() && !l.starts_with('#'));
        assert_eq!(lines.count(), entries().count());
        for (names, text) in entries() {
            for name in names.split(' ') {
                let rows: Vec<_> = insts::by_name(name).filter(|r| r.name == name).collect();
                assert!(!rows.is_empty(), "{name}");
                let page = crate::manual::instruction_page(&rows);
                assert!(page.contains(&format!("\n## Notes\n\n{text}\n")), "{page}");
            }
        }
    }
}
