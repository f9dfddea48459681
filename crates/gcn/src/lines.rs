//! Source lines of code, from DWARF.

use std::collections::BTreeMap;

/// Source lines by address, section by section.
#[derive(Default)]
pub struct Lines {
    by_section: BTreeMap<usize, BTreeMap<u64, String>>,
}

impl Lines {
    /// The lines that begin within a range of a section's addresses.
    pub fn of(&self, section: usize, from: u64, to: u64) -> impl Iterator<Item = (u64, &str)> {
        let lines = self.by_section.get(&section).into_iter();
        lines
            .flat_map(move |lines| lines.range(from..to))
            .map(|(address, text)| (*address, text.as_str()))
    }
}
