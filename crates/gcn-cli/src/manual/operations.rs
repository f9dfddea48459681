//! The operation of each instruction, in the notation of AMD's manuals: generated from the nodes of its semantics, or handwritten
//! if the generated text would be hard to read (operations.txt, which a test compares with the nodes).

use std::collections::HashMap;
use std::sync::LazyLock;

use gcn::isa::inst::Inst;
use gcn::isa::meaning::Program;
use gcn::isa::shape::{Role, Ty};
use gcn::isa::target::{Gen, Target};

use crate::meaning_text;

static BY_HAND: &str = include_str!("operations.txt");

/// Returns the operation of a row on a target, one statement per line.
pub fn text(program: &Program, target: Target) -> String {
    by_hand(program.row, target.generation()).unwrap_or_else(|| meaning_text::text(program))
}

/// The entries by the names of their rows: first and last generation, and the text.
static ENTRIES: LazyLock<HashMap<&str, Vec<Entry>>> = LazyLock::new(|| {
    let mut out: HashMap<&str, Vec<Entry>> = HashMap::new();
    for entry in BY_HAND.split("\n\n") {
        let Some((head, body)) = entry.strip_prefix("@ ").and_then(|e| e.split_once('\n')) else {
            continue;
        };
        let parse = |text: &str| Gen::ALL.into_iter().find(|g| g.name() == text);
        let mut range = (Gen::Gfx6, Gen::Gfx9);
        let mut names = Vec::new();
        for word in head.split_whitespace() {
            let (first, last) = word.split_once('-').unwrap_or((word, word));
            match parse(first).zip(parse(last)) {
                Some(found) => range = found,
                None => names.push(word),
            }
        }
        for name in names {
            out.entry(name)
                .or_default()
                .push((range.0, range.1, body.trim_end()));
        }
    }
    out
});

type Entry = (Gen, Gen, &'static str);

/// Returns the entry of a row in operations.txt.
pub fn by_hand(row: &Inst, generation: Gen) -> Option<String> {
    let entries = ENTRIES.get(row.name)?;
    let (_, _, body) = entries
        .iter()
        .find(|(first, last, _)| (*first..=*last).contains(&generation))?;
    Some(with_widths(body, row))
}

/// Returns the names of the rows that operations.txt has, with the entry's first line.
pub fn heads() -> impl Iterator<Item = &'static str> {
    BY_HAND.lines().filter_map(|line| line.strip_prefix("@ "))
}

/// Returns the text with the widths of the row's operands: `.f` of 64 bits is `.d`, `.u` of 16 bits `.u16`.
fn with_widths(text: &str, row: &Inst) -> String {
    let mut widths: Vec<(&str, Ty)> = Vec::new();
    for slot in row.shape.slots {
        let name = match slot.role {
            Role::Sdst | Role::Vdst | Role::SdstV => "D",
            Role::Ssrc0 | Role::Src0 | Role::SsrcK => "S0",
            Role::Ssrc1 | Role::Src1 => "S1",
            Role::Src2 => "S2",
            _ => continue,
        };
        widths.push((name, slot.ty));
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('.') {
        let (before, after) = rest.split_at(at);
        let name = before
            .rsplit(|c: char| !c.is_alphanumeric())
            .next()
            .unwrap_or("");
        let bits = widths
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, ty)| ty.bits());
        let kind = after[1..].chars().next();
        let plain = !after[2.min(after.len())..].starts_with(|c: char| c.is_alphanumeric());
        out.push_str(before);
        let sized = match (bits, kind, plain) {
            (Some(64), Some('f'), true) => ".d",
            (Some(64), Some('u'), true) => ".u64",
            (Some(64), Some('i'), true) => ".i64",
            (Some(16), Some('f'), true) => ".f16",
            (Some(16), Some('u'), true) => ".u16",
            (Some(16), Some('i'), true) => ".i16",
            _ => {
                out.push('.');
                rest = &after[1..];
                continue;
            }
        };
        out.push_str(sized);
        rest = &after[2..];
    }
    out.push_str(rest);
    out
}
