//! The purpose of each instruction, in plain English: purposes.txt has a sentence for each family of instructions.

use std::collections::HashMap;
use std::sync::LazyLock;

static TEXT: &str = include_str!("purposes.txt");

/// The words of a list with their texts.
type Words = Vec<(&'static str, &'static str)>;

/// The file, read once.
struct Book {
    lists: HashMap<&'static str, Words>,
    /// Patterns with their sentences, in order.
    patterns: Vec<(&'static str, &'static str)>,
}

static BOOK: LazyLock<Book> = LazyLock::new(|| {
    let mut lists = HashMap::new();
    let mut patterns = Vec::new();
    for line in TEXT
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
    {
        if let Some((name, words)) = line.strip_prefix('%').and_then(|l| l.split_once(" = ")) {
            let words = words.split(" | ").filter_map(|w| w.split_once(':'));
            let plain = |text: &'static str| {
                if text.trim() == "-" {
                    ""
                } else {
                    text.strip_prefix(' ').unwrap_or(text)
                }
            };
            lists.insert(
                name,
                words.map(|(w, text)| (plain(w), plain(text))).collect(),
            );
        } else if let Some(entry) = line.split_once(": ") {
            patterns.push(entry);
        }
    }
    Book { lists, patterns }
});

impl Book {
    /// Matches a name with a pattern; the texts of its words if it matches.
    fn matches(&self, pattern: &str, name: &str, texts: &mut Vec<&'static str>) -> bool {
        let Some((before, rest)) = pattern.split_once('%') else {
            return pattern == name;
        };
        let Some(name) = name.strip_prefix(before) else {
            return false;
        };
        // The longest name of a list with which the pattern continues.
        let lists = self.lists.keys().filter(|list| rest.starts_with(**list));
        let Some(list) = lists.max_by_key(|list| list.len()) else {
            return false;
        };
        let rest = &rest[list.len()..];
        for (word, text) in &self.lists[list] {
            let ends: Vec<&str> = match *word {
                "*" => name
                    .char_indices()
                    .map(|(at, _)| &name[at..])
                    .skip(1)
                    .chain([""])
                    .collect(),
                word => name.strip_prefix(word).into_iter().collect(),
            };
            for end in ends {
                texts.push(text);
                if self.matches(rest, end, texts) {
                    return true;
                }
                texts.pop();
            }
        }
        false
    }
}

/// Returns the purpose of an instruction; `None` if no pattern matches its name.
pub fn purpose(name: &str) -> Option<String> {
    let mut texts = Vec::new();
    let sentence = BOOK.patterns.iter().find_map(|(pattern, sentence)| {
        texts.clear();
        BOOK.matches(pattern, name, &mut texts).then_some(*sentence)
    })?;
    let mut out = sentence.to_string();
    // The text of a word may name other words.
    for _ in 0..2 {
        for (n, text) in texts.iter().enumerate() {
            out = out.replace(&format!("${}", n + 1), text);
        }
    }
    // Words without a text leave spaces behind.
    while out.contains("  ") {
        out = out.replace("  ", " ");
    }
    let mut out = out.trim().to_string();
    if let Some(first) = out.chars().next() {
        out.replace_range(..first.len_utf8(), &first.to_uppercase().to_string());
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gcn::isa::insts;

    #[test]
    fn every_row_is_for_something() {
        let mut without: Vec<&str> = insts::all()
            .filter(|row| purpose(row.name).is_none_or(|p| p.len() < 12 || p.contains(['$', '%'])))
            .map(|row| row.name)
            .collect();
        without.dedup();
        assert!(without.is_empty(), "{} without: {without:?}", without.len());
    }

    #[test]
    fn every_pattern_has_a_row() {
        let mut unused: Vec<&str> = BOOK.patterns.iter().map(|(p, _)| *p).collect();
        for row in insts::all() {
            let found = BOOK
                .patterns
                .iter()
                .find(|(p, _)| BOOK.matches(p, row.name, &mut Vec::new()));
            unused.retain(|p| found.is_none_or(|f| f.0 != *p));
        }
        assert!(unused.is_empty(), "{unused:?}");
    }
}
