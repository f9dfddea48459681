//! The pages of the manual by name: instructions, formats, topics, hazards, checks, errata. The terminal, the static site and a
//! server read them from here.

use gcn::check::report::Check;
use gcn::isa::format::Format;
use gcn::isa::hazard::HAZARDS;
use gcn::isa::insts;
use gcn::isa::meaning::meaning;
use gcn::isa::target::Target;

use super::{check_page, erratum, find, format_page, hazard_page, page_of, purpose, purposes};

/// The kind of a page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A subject that several instructions share.
    Topic,
    /// One instruction.
    Instruction,
    /// All instructions of a format.
    Format,
    /// A hazard.
    Hazard,
    /// A check of `gcn check`.
    Check,
    /// A decision where the documents are silent or wrong.
    Erratum,
}

impl Kind {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Topic => "topic",
            Kind::Instruction => "instruction",
            Kind::Format => "format",
            Kind::Hazard => "hazard",
            Kind::Check => "check",
            Kind::Erratum => "decision",
        }
    }
}

macro_rules! topics {
    ($($name:literal)+) => {
        /// The pages of docs/manual.
        static TOPICS: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../text/manual/", $name, ".md")))),+];
    };
}

topics! {
    "index" "tutorial" "start" "operands" "exec" "mode" "hwreg" "dpp" "sdwa" "waitcnt" "hazards" "buffers" "images" "lds"
    "apertures" "hsa-abi" "mesa-abi" "timing" "notation" "glossary"
}

/// The topics by name, with their texts in Markdown.
pub fn topics() -> impl Iterator<Item = (&'static str, &'static str)> {
    TOPICS.iter().copied()
}

/// An entry of the index of all pages.
pub struct Entry {
    /// The kind of the page.
    pub kind: Kind,
    /// The name that `gcn doc` takes.
    pub name: String,
    /// A sentence about the page.
    pub about: String,
    /// Other names.
    pub also: Vec<&'static str>,
}

/// Returns all pages, with a sentence about each.
pub fn all() -> Vec<Entry> {
    let mut out = Vec::new();
    for (name, text) in topics() {
        let title = text.lines().next().unwrap_or("").trim_start_matches("# ");
        out.push(entry(Kind::Topic, name, title));
    }
    for format in Format::ALL {
        let about = format!("The {} format: {}", format.name(), purpose(format));
        out.push(entry(Kind::Format, format.name(), &about));
    }
    let mut rows: Vec<_> = insts::all().collect();
    rows.sort_by_key(|row| row.name);
    for row in rows {
        let also = row.aliases.iter().copied().chain(row.clrx);
        match out.last_mut() {
            Some(last) if last.name == row.name => last.also.extend(also),
            _ => out.push(Entry {
                kind: Kind::Instruction,
                name: row.name.into(),
                about: purposes::purpose(row.name).unwrap_or_default(),
                also: also.collect(),
            }),
        }
    }
    for hazard in &HAZARDS {
        out.push(entry(Kind::Hazard, hazard.name, hazard.about));
    }
    for check in Check::ALL {
        if !TOPICS.iter().any(|(name, _)| *name == check.name()) {
            out.push(entry(Kind::Check, check.name(), "A check of gcn check"));
        }
    }
    for key in super::errata_keys() {
        let text = erratum(key).unwrap_or_default();
        let first = text.split(". ").next().unwrap_or("").replace('\n', " ");
        out.push(entry(Kind::Erratum, key, &first));
    }
    out
}

fn entry(kind: Kind, name: &str, about: &str) -> Entry {
    Entry {
        kind,
        name: name.into(),
        about: about.into(),
        also: Vec::new(),
    }
}

/// Returns a page in Markdown, on one target or on all; `None` if there is no such page.
pub fn page(name: &str, only: Option<Target>) -> Option<(Kind, String)> {
    // `exp` is an instruction, EXP is its format.
    let instruction_first = insts::by_name(name).next().is_some();
    if let Some(format) = Format::parse(name)
        && !instruction_first
    {
        return Some((Kind::Format, format_page(format)));
    }
    instruction(name, only).or_else(|| other(name))
}

/// Returns the page of an instruction.
pub fn instruction(name: &str, only: Option<Target>) -> Option<(Kind, String)> {
    let rows = find(name);
    (!rows.is_empty()).then(|| (Kind::Instruction, page_of(&rows, only)))
}

/// Returns a page that is neither of a format nor of an instruction.
pub fn other(name: &str) -> Option<(Kind, String)> {
    let topic = TOPICS.iter().find(|(topic, _)| *topic == name);
    if let Some((_, text)) = topic {
        let mut text = text.to_string();
        match name {
            "hazards" => text = format!("{text}\n{}", super::hazard_table()),
            // The check of the same name.
            _ => {
                if let Some(check) = check_page(name) {
                    text = format!("{text}\n## The check\n\n{check}");
                }
            }
        }
        return Some((Kind::Topic, text));
    }
    let titled = |text: String| format!("# {name}\n\n{}\n", text.trim_end());
    check_page(name)
        .map(|page| (Kind::Check, titled(page)))
        .or_else(|| Some((Kind::Hazard, hazard_page(name)?)))
        .or_else(|| Some((Kind::Erratum, titled(erratum(name)?))))
}

/// Returns the pages that contain all words, best first: words in the name count more than words in the purpose.
pub fn search(words: &[String]) -> Vec<Entry> {
    let words: Vec<String> = words.iter().map(|w| w.to_lowercase()).collect();
    let mut found: Vec<(u32, Entry)> = Vec::new();
    for entry in all() {
        let name = entry.name.to_lowercase();
        let about = entry.about.to_lowercase();
        let mut score = 0;
        let all = words.iter().all(|word| {
            let points = if name == *word {
                100
            } else if name.split(['_', '-']).any(|part| part == word) {
                30
            } else if name.contains(word.as_str())
                || entry
                    .also
                    .iter()
                    .any(|a| a.to_lowercase().contains(word.as_str()))
            {
                20
            } else if has_word(&about, word) {
                10
            } else if about.contains(word.as_str()) {
                5
            } else if text_of(&entry).contains(word.as_str()) {
                2
            } else {
                0
            };
            score += points;
            points > 0
        });
        if all {
            let kind = if entry.kind == Kind::Topic { 8 } else { 0 };
            found.push((score + kind, entry));
        }
    }
    found.sort_by(|(a, x), (b, y)| {
        b.cmp(a)
            .then(x.name.len().cmp(&y.name.len()))
            .then(x.name.cmp(&y.name))
    });
    found.into_iter().map(|(_, entry)| entry).collect()
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric())
        .any(|w| w == word)
}

/// The further text of a page that is searched.
fn text_of(entry: &Entry) -> String {
    match entry.kind {
        Kind::Topic => TOPICS
            .iter()
            .find(|(n, _)| *n == entry.name)
            .map_or(String::new(), |(_, t)| t.to_lowercase()),
        Kind::Instruction => {
            let rows = find(&entry.name);
            let abouts = rows.iter().filter_map(|row| {
                let target = super::row_targets(row).pop()?;
                Some(meaning(row, target).about)
            });
            abouts.collect::<Vec<_>>().join(" ").to_lowercase()
        }
        Kind::Erratum => erratum(&entry.name).unwrap_or_default().to_lowercase(),
        _ => String::new(),
    }
}
