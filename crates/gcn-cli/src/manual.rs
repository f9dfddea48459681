//! The manual: all output of `gcn doc`, generated from the rows.
//!
//! Pages are Markdown. pages.rs finds them by name; terminal.rs and html.rs show them. For each format they contain the diagrams of the encodings, the opcode table of every generation, and
//! each instruction with its syntax, opcodes, description and operation, as AMD's documents do, and also errata, tables of
//! names, and examples.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gcn::check::report::Check;
use gcn::isa::access::InstructionInfo;
use gcn::isa::encode::Encoder;
use gcn::isa::format::{Encoding, Field, Format, Layout, layout_of};
use gcn::isa::hazard::{HAZARDS, Rule};
use gcn::isa::inst::{Flags, Inst};
use gcn::isa::insts;
use gcn::isa::meaning::{Change, Exactness, Op, meaning};
use gcn::isa::modifier;
use gcn::isa::names;
use gcn::isa::op::{Kind, OPS, OpInfo};
use gcn::isa::print::{Style, print};
use gcn::isa::shape::{Access, Imm, Role, Slot};
use gcn::isa::target::{Gen, Target};

use crate::meaning_text;

pub mod diff;
pub mod examples;
mod facts;
pub mod html;
mod modifiers;
pub mod operations;
pub mod pages;
pub mod purposes;
mod remarks;
pub mod terminal;

/// The decisions where the documents are silent or wrong.
static ERRATA: &str = include_str!("../text/errata.md");
static CHECKS: &str = include_str!("../text/check.md");
// A clone without symbolic links has their targets' names instead of the documents.
const _: () = assert!(
    ERRATA.len() > 1000 && CHECKS.len() > 1000,
    "crates/gcn-cli/text has symbolic links: clone with `git config core.symlinks true`"
);

/// The targets that stand for the differing instruction tables, oldest first.
pub fn table_targets() -> Vec<Target> {
    let mut seen = Vec::new();
    let mut out = Vec::new();
    for target in [Gen::Gfx6, Gen::Gfx7, Gen::Gfx8, Gen::Gfx9]
        .map(Target::of)
        .into_iter()
        // The table of a generic target is a part of another target's.
        .chain(Target::all().filter(|t| !t.is_generic()))
    {
        if !seen.contains(&target.table()) {
            seen.push(target.table());
            out.push(target);
        }
    }
    out.sort_by_key(|t| t.table());
    out
}

/// Returns the documents' name of a generation: `GCN 1.0`, and for gfx906 `GCN 1.4.1`. Other targets whose table differs from
/// their generation's are shown by their own names.
fn table_name(target: Target) -> String {
    match target.name() {
        "gfx906" => "gfx906 (GCN 1.4.1)".into(),
        _ if target.table() != Target::of(target.generation()).table() => target.name().into(),
        _ if target.generation() == Gen::Gfx9 => "gfx900 (GCN 1.4)".into(),
        _ => format!(
            "{} ({})",
            target.generation().name(),
            target.generation().gcn()
        ),
    }
}

/// Returns a short text for targets among the table targets: `gfx6–gfx8`, `gfx9 (gfx906)`.
fn targets_text(targets: &[Target]) -> String {
    let all = table_targets();
    let mut parts: Vec<(Gen, Gen, Option<Vec<Target>>)> = Vec::new();
    for generation in Gen::ALL {
        let of: Vec<Target> = all
            .iter()
            .copied()
            .filter(|t| t.generation() == generation)
            .collect();
        let here: Vec<Target> = of.iter().copied().filter(|t| targets.contains(t)).collect();
        if here.is_empty() {
            continue;
        }
        let some = (here.len() < of.len()).then_some(here);
        match parts.last_mut() {
            Some((_, last, None)) if some.is_none() && *last as u8 + 1 == generation as u8 => {
                *last = generation;
            }
            _ => parts.push((generation, generation, some)),
        }
    }
    let names: Vec<String> = parts
        .into_iter()
        .map(|(first, last, some)| match some {
            Some(tables) => {
                // Every chip with one of these tables.
                let chips: Vec<&str> = Target::all()
                    .filter(|t| tables.iter().any(|u| u.table() == t.table()))
                    .map(|t| t.name())
                    .collect();
                chips.join(", ")
            }
            None if first == last => first.name().into(),
            None => format!("{}–{}", first.name(), last.name()),
        })
        .collect();
    names.join(", ")
}

/// Groups targets with equal texts, in the order of first appearance.
fn by_text<T: PartialEq>(
    targets: &[Target],
    mut text: impl FnMut(Target) -> T,
) -> Vec<(Vec<Target>, T)> {
    let mut groups: Vec<(Vec<Target>, T)> = Vec::new();
    for &target in targets {
        let t = text(target);
        match groups.iter_mut().find(|(_, other)| *other == t) {
            Some((of, _)) => of.push(target),
            None => groups.push((vec![target], t)),
        }
    }
    groups
}

/// Returns the rows of a name: LLVM's, CLRX's or an alias, in upper or lower case, with or without `_e32`, `_e64`, `_sdwa` or
/// `_dpp`.
pub fn find(name: &str) -> Vec<&'static Inst> {
    let name = name.to_ascii_lowercase();
    let mut rows: Vec<_> = insts::by_name(&name).collect();
    if rows.is_empty() {
        for suffix in ["_e32", "_e64", "_sdwa", "_dpp"] {
            if let Some(stem) = name.strip_suffix(suffix) {
                rows = insts::by_name(stem).collect();
            }
        }
    }
    rows
}

/// Returns the names and formats most similar to an unknown name, best first.
pub fn suggestions(name: &str) -> Vec<String> {
    let name = name.to_ascii_lowercase();
    let mut known: Vec<&str> = Vec::new();
    for row in insts::all() {
        known.push(row.name);
        known.extend(row.clrx);
        known.extend(row.aliases);
    }
    known.extend(Format::ALL.iter().map(|f| f.name()));
    let mut scored: Vec<(usize, &str)> = known
        .into_iter()
        .map(|k| (distance(&name, &k.to_ascii_lowercase()), k))
        .collect();
    scored.sort();
    scored.dedup();
    let limit = (name.len() / 3).max(2);
    scored
        .into_iter()
        .filter(|(d, _)| *d <= limit)
        .take(3)
        .map(|(_, k)| k.to_string())
        .collect()
}

/// Returns the edit distance of two words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The number of rows of a format, or of all formats.
struct Count {
    name: &'static str,
    /// By generation: in any of its targets.
    generations: [usize; 4],
    /// By target of [`table_targets`].
    tables: Vec<usize>,
    rows: usize,
    /// The number of rows that some target has; their meanings can be run.
    meanings: usize,
}

fn counts() -> Vec<Count> {
    let targets = table_targets();
    let count = |name, format: Option<Format>| {
        let rows = || insts::all().filter(move |r| format.is_none_or(|f| r.format == f));
        let told = |row: &'static Inst| targets.iter().any(|t| insts::exists(row, *t));
        Count {
            name,
            generations: Gen::ALL
                .map(|generation| rows().filter(|r| r.opcode_in(generation).is_some()).count()),
            tables: (targets.iter())
                .map(|&t| rows().filter(|r| insts::exists(r, t)).count())
                .collect(),
            rows: rows().count(),
            meanings: rows().filter(|r| told(r)).count(),
        }
    };
    (Format::ALL.into_iter())
        .map(|format| count(format.name(), Some(format)))
        .chain([count("total", None)])
        .collect()
}

/// The targets of [`table_targets`] that are not the only ones of their generation.
fn tables_apart() -> Vec<(usize, Target)> {
    let targets = table_targets();
    let alone = |t: &Target| {
        let same = |other: &&Target| other.generation() == t.generation();
        targets.iter().filter(same).count() == 1
    };
    (targets.iter().enumerate())
        .filter(|(_, t)| !alone(t))
        .map(|(n, t)| (n, *t))
        .collect()
}

/// Returns a table of the number of rows of each format, as text: by generation, by target with an instruction table of its
/// own, in total, and with a meaning.
pub fn stats() -> String {
    let apart = tables_apart();
    let mut out = format!("{:<8}", "format");
    let names = Gen::ALL.iter().map(|g| g.name());
    for name in names.chain(apart.iter().map(|(_, t)| t.name())) {
        let _ = write!(out, " {name:>6}");
    }
    out.push_str("  meanings   rows\n");
    for count in counts() {
        let _ = write!(out, "{:<8}", count.name);
        let tables = apart.iter().map(|(n, _)| count.tables[*n]);
        for n in count.generations.into_iter().chain(tables) {
            let _ = write!(out, " {n:>6}");
        }
        let _ = writeln!(out, "  {:>8} {:>6}", count.meanings, count.rows);
    }
    out
}

/// [`stats`] as JSON: `{"formats":[…],"total":{…}}`, each with `format`, `rows`, `meanings`,
/// `generations` and `targets`.
pub fn stats_json() -> String {
    let targets = table_targets();
    let mut lines = counts().into_iter().map(|count| {
        let generations: serde_json::Map<String, serde_json::Value> = (Gen::ALL.iter())
            .zip(count.generations)
            .map(|(g, n)| (g.name().to_string(), n.into()))
            .collect();
        let tables: serde_json::Map<String, serde_json::Value> = (targets.iter())
            .zip(count.tables)
            .map(|(t, n)| (t.name().to_string(), n.into()))
            .collect();
        serde_json::json!({
            "format": count.name,
            "rows": count.rows,
            "meanings": count.meanings,
            "generations": generations,
            "targets": tables,
        })
    });
    let formats: Vec<serde_json::Value> = lines.by_ref().take(Format::ALL.len()).collect();
    format!(
        "{}\n",
        serde_json::json!({ "formats": formats, "total": lines.next() })
    )
}

/// Returns the exactness of every row's results: the targets that have the row, and the class; a row has several entries if
/// its targets differ.
pub fn exactness_of_rows() -> Vec<(&'static Inst, String, Exactness)> {
    let mut out = Vec::new();
    for row in insts::all() {
        for (of, exactness) in by_text(&row_targets(row), |t| meaning(row, t).exactness()) {
            out.push((row, targets_text(&of), exactness));
        }
    }
    out
}

/// The classes of [`Exactness`] and the number of entries of [`exactness_of_rows`] of each. Readers of the JSON also expect
/// the number of rows that cannot be run.
fn exactness_counts(rows: &[(&'static Inst, String, Exactness)]) -> [(&'static str, usize); 3] {
    ["exact", "bounded", "unsupported"]
        .map(|class| (class, rows.iter().filter(|r| r.2.class() == class).count()))
}

/// Returns a line for each row: name, format, targets, class and bound; then the number of rows of each class.
pub fn exactness() -> String {
    let rows = exactness_of_rows();
    let mut out = String::new();
    for (row, targets, exactness) in &rows {
        let line = format!(
            "{:<28} {:<7} {targets:<14} {:<11} {}",
            row.name,
            row.format.name(),
            exactness.class(),
            exactness.note(),
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let counts = exactness_counts(&rows).map(|(class, n)| format!("{n} {class}"));
    let _ = writeln!(out, "\n{}", counts.join(", "));
    out
}

/// [`exactness`] as JSON: `{"rows":[…],"counts":{"exact":N,"bounded":N,"unsupported":N}}`, each row
/// with `name`, `format`, `targets`, `class`, and `bound` where the class has one.
pub fn exactness_json() -> String {
    let rows = exactness_of_rows();
    let counts: serde_json::Map<String, serde_json::Value> = exactness_counts(&rows)
        .map(|(class, n)| (class.to_string(), n.into()))
        .into_iter()
        .collect();
    let rows: Vec<serde_json::Value> = (rows.iter())
        .map(|(row, targets, exactness)| {
            let mut line = serde_json::json!({
                "name": row.name,
                "format": row.format.name(),
                "targets": targets,
                "class": exactness.class(),
            });
            match exactness {
                Exactness::Exact => {}
                Exactness::Bounded(bound) => line["bound"] = (*bound).into(),
            }
            line
        })
        .collect();
    format!(
        "{}\n",
        serde_json::json!({ "rows": rows, "counts": counts })
    )
}

/// Returns the page of a name: all its rows.
pub fn instruction_page(rows: &[&'static Inst]) -> String {
    page_of(rows, None)
}

/// Returns the page of a name, on one target or on all.
pub fn page_of(rows: &[&'static Inst], only: Option<Target>) -> String {
    let mut out = String::new();
    for row in rows {
        let mut targets = row_targets(row);
        if let Some(only) = only {
            targets.retain(|t| t.table() == only.table());
        }
        if targets.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        let _ = writeln!(out, "# {}\n", row.name);
        if let Some(purpose) = purposes::purpose(row.name) {
            let _ = writeln!(out, "{purpose}\n");
        }
        let _ = writeln!(out, "Format: {}  ", row.format.name());
        whole_page(&mut out, row, &targets);
    }
    out
}

/// Writes the page of a row after its purpose.
fn whole_page(out: &mut String, row: &'static Inst, targets: &[Target]) {
    heading(out, row, targets);
    examples(out, row, targets);
    out.push_str("\n## Description\n\n");
    description(out, row, targets, true);
    out.push_str("\n## Operation\n\n");
    let texts = operation(out, row, targets, true);
    words(out, &texts);
    let address = address_note(row.format);
    if has_word(&texts, "address") && !address.is_empty() {
        let _ = writeln!(out, "\n{address}");
    }
    runnable(out, row, targets);
    facts::operands(out, row, targets);
    modifiers::table(out, row, targets);
    notes(out, row, targets, true);
    facts::counters(out, row, targets);
    facts::issue(out, row);
    wait_states(out, row, targets);
    if targets.len() > 1 {
        facts::differences(out, row);
    }
    errata(out, row, true);
    encoding_tables(out, row, targets);
}

/// Writes the examples that run.
fn runnable(out: &mut String, row: &'static Inst, targets: &[Target]) {
    let examples = examples::examples(row, targets);
    if examples.is_empty() {
        return;
    }
    out.push_str("\n## Examples\n");
    for example in &examples {
        let _ = writeln!(
            out,
            "\n```sh\n{}\n```\n\n```text\n{}\n```",
            example.command(),
            example.result
        );
        if let Some(numbers) = example.as_floats(row) {
            let _ = writeln!(out, "\nAs numbers: {numbers}");
        }
    }
}

/// Returns true if the instruction reads SCC as a value.
fn reads_scc(row: &'static Inst, target: Target) -> bool {
    let program = meaning(row, target);
    program
        .nodes
        .iter()
        .any(|n| n.op == Op::Get(gcn::isa::meaning::State::Scc))
}

fn row_targets(row: &Inst) -> Vec<Target> {
    table_targets()
        .into_iter()
        .filter(|&t| insts::exists(row, t))
        .collect()
}

/// Returns the encodings of a row on a target.
fn encodings(row: &Inst, target: Target) -> Vec<Encoding> {
    let generation = target.generation();
    let vop3 = if row.shape.is_vop3b() {
        Encoding::Vop3b
    } else {
        Encoding::Vop3
    };
    let (sdwa, dpp) = match row.format {
        Format::Vop1 => (Encoding::Sdwa1, Encoding::Dpp1),
        Format::Vop2 => (Encoding::Sdwa2, Encoding::Dpp2),
        _ => (Encoding::SdwaC, Encoding::DppC),
    };
    match row.format {
        Format::Vop3 => vec![vop3],
        Format::Vop1 | Format::Vop2 | Format::Vopc => {
            let mut all = vec![row.format.encoding()];
            let sources = row.shape.slot(Role::Src0).is_some();
            if row.has_vop3() {
                all.push(vop3);
            }
            if sources && row.has_sdwa(generation) {
                all.push(sdwa);
            }
            if sources && row.has_dpp(generation) {
                all.push(dpp);
            }
            all
        }
        format => vec![format.encoding()],
    }
}

/// Returns the name of an encoding: `VOP3`, `SDWA`.
fn encoding_name(encoding: Encoding, format: Format, generation: Gen) -> &'static str {
    match encoding {
        Encoding::Vop3 => "VOP3A",
        Encoding::Vop3b => "VOP3B",
        Encoding::Sdwa1 | Encoding::Sdwa2 | Encoding::SdwaC => "SDWA",
        Encoding::Dpp1 | Encoding::Dpp2 | Encoding::DppC => "DPP",
        Encoding::Smem if generation < Gen::Gfx8 => "SMRD",
        _ => format.name(),
    }
}

/// Writes the parts of an instruction on the page of its format.
fn instruction(out: &mut String, row: &'static Inst) {
    let targets = row_targets(row);
    if targets.is_empty() {
        return;
    }
    heading(out, row, &targets);
    if let Some(purpose) = purposes::purpose(row.name) {
        let _ = writeln!(out, "Purpose: {purpose}  ");
    }
    description(out, row, &targets, false);
    operation(out, row, &targets, false);
    notes(out, row, &targets, false);
    errata(out, row, false);
}

/// Writes targets, names, opcodes and syntax.
fn heading(out: &mut String, row: &'static Inst, targets: &[Target]) {
    let _ = writeln!(out, "Targets: {}  ", targets_text(targets));
    if let Some(clrx) = row.clrx {
        let _ = writeln!(out, "CLRX's name: {clrx}  ");
    }
    if !row.aliases.is_empty() {
        let _ = writeln!(out, "Also: {}  ", row.aliases.join(", "));
    }
    opcodes(out, row, targets);
    syntax(out, row, targets);
    operands(out, row);
}

/// Writes the tables of the encodings.
fn encoding_tables(out: &mut String, row: &'static Inst, targets: &[Target]) {
    for (of, tables) in by_text(targets, |t| {
        let mut text = String::new();
        for e in encodings(row, t) {
            if let Some(layout) = layout_of(e, t.generation()) {
                let _ = writeln!(
                    text,
                    "\n{} encoding:\n",
                    encoding_name(e, row.format, t.generation())
                );
                let op = opcode_in(row, e, t);
                text.push_str(&bits_table(e, layout, op, row.format));
            }
        }
        text
    }) {
        let _ = writeln!(
            out,
            "\n## Encoding, {}\n{}",
            targets_text(&of),
            tables.trim_end()
        );
    }
}

/// Writes the description of the instruction, and how exact it is.
fn description(out: &mut String, row: &'static Inst, targets: &[Target], alone: bool) {
    let abouts = by_text(targets, |t| meaning(row, t).about);
    for (of, about) in &abouts {
        if about.is_empty() {
            continue;
        }
        if abouts.len() > 1 {
            let _ = writeln!(out, "Description ({}): {about}  ", targets_text(of));
        } else if alone {
            let _ = writeln!(out, "{about}  ");
        } else {
            let _ = writeln!(out, "Description: {about}  ");
        }
    }
    for (of, exactness) in by_text(targets, |t| meaning(row, t).exactness()) {
        if let Exactness::Bounded(bound) = exactness {
            let on = match of.len() == targets.len() {
                true => String::new(),
                false => format!(" ({})", targets_text(&of)),
            };
            let _ = writeln!(out, "Exactness{on}: {bound}  ");
        }
    }
    if alone && works_by_lane(row) {
        out.push_str("Every active lane (whose bit of EXEC is 1) does it independently.  \n");
    }
}

/// Writes the operation of each group of targets. Returns the texts.
fn operation(out: &mut String, row: &'static Inst, targets: &[Target], alone: bool) -> String {
    let programs = by_text(targets, |t| {
        let program = meaning(row, t);
        (program.about, operations::text(&program, t))
    });
    for (n, (of, (_, text))) in programs.iter().enumerate() {
        let text = if text.is_empty() { "nothing" } else { text };
        if programs.len() > 1 {
            let letter = char::from(b'A' + n as u8);
            let letter = if alone {
                format!("{letter}, ")
            } else {
                String::new()
            };
            let _ = writeln!(out, "Operation ({letter}{}):  ", targets_text(of));
        } else if !alone {
            out.push_str("Operation:  \n");
        }
        let _ = writeln!(out, "```\n{text}\n```");
    }
    let all: Vec<&str> = (programs.iter())
        .map(|(_, (_, text))| text.as_str())
        .collect();
    all.join("\n")
}

/// Writes the hazards of an instruction: the wait states required after it, and those required before it.
fn wait_states(out: &mut String, row: &'static Inst, targets: &[Target]) {
    let mut waits_lines = String::new();
    let mut others = String::new();
    for hazard in &HAZARDS {
        let waits = |t: Target, as_first: bool| {
            let facts = InstructionInfo::new(row, t);
            let takes_part = match as_first {
                true => hazard.first_row(row, &facts, t.generation()),
                false => hazard.second_row(row, &facts, t.generation()),
            };
            let waits = if takes_part { hazard.waits_in(t) } else { 0 };
            (waits, hazard.disputed_in(t))
        };
        for as_first in [true, false] {
            for (of, (waits, disputed)) in by_text(targets, |t| waits(t, as_first)) {
                let on = targets_text(&of);
                match hazard.rule {
                    _ if waits == 0 => {}
                    Rule::Wait(first, second) => {
                        let doubt = if disputed { " (sources disagree)" } else { "" };
                        let role = if as_first { "first" } else { "second" };
                        let (first, second) = (first.text(), second.text());
                        let _ = writeln!(
                            waits_lines,
                            "{} | {role} | {first} | {waits}{doubt} | {second} | {on}",
                            hazard.name
                        );
                    }
                    // It is described only where the instruction is the second one.
                    _ if as_first => {}
                    _ => {
                        let _ = writeln!(others, "* {} ({on}): {}", hazard.name, hazard.about);
                    }
                }
            }
        }
    }
    if waits_lines.is_empty() && others.is_empty() {
        return;
    }
    out.push_str("\n## Wait states\n");
    if !waits_lines.is_empty() {
        out.push_str("\nWait states that must lie between two instructions, of which it is one:\n\nHazard | It is | First instruction | Wait states | Second instruction | Targets\n----|----|----|----|----|----\n");
        out.push_str(&waits_lines);
    }
    if !others.is_empty() {
        let _ = write!(out, "\n{others}");
    }
}

/// The page of a check, from docs/check.md, including the table of hazards.
pub fn check_page(name: &str) -> Option<String> {
    let check = Check::ALL.into_iter().find(|check| check.name() == name)?;
    let mut page = section(CHECKS, name)?;
    if check == Check::Hazard {
        page.push_str("\n\n");
        page.push_str(&hazard_table());
    }
    page.push('\n');
    Some(page)
}

/// The page of a hazard, by its name.
pub fn hazard_page(name: &str) -> Option<String> {
    let hazard = HAZARDS.iter().find(|h| h.name == name)?;
    let mut out = format!("# {name}\n\n{}\n\n", hazard.about);
    if let Rule::Wait(first, second) = hazard.rule {
        let _ = writeln!(
            out,
            "First: {}.\nSecond: {}.\n",
            first.text(),
            second.text()
        );
    }
    let _ = writeln!(out, "Target | Wait states\n-------|------------");
    for generation in Gen::ALL {
        let n = generation as usize;
        let text = match (hazard.waits[n], hazard.disputed[n]) {
            (0, _) => "none".to_string(),
            (waits, true) => format!("{waits} (sources disagree: reported as a note)"),
            (waits, false) => waits.to_string(),
        };
        let _ = writeln!(out, "{} | {text}", generation.name());
    }
    let _ = writeln!(out, "\nSources: {}.", hazard.sources);
    Some(out)
}

/// All hazards.
fn hazard_table() -> String {
    let mut out = String::from(
        "Hazard | First instruction | Second instruction | gfx6 | gfx7 | gfx8 | gfx9\n-------|----|----|---|---|---|---\n",
    );
    for hazard in &HAZARDS {
        let (first, second) = match hazard.rule {
            Rule::Wait(first, second) => (first.text(), second.text()),
            _ => (hazard.about, ""),
        };
        let _ = write!(out, "{} | {first} | {second}", hazard.name);
        for (waits, disputed) in hazard.waits.iter().zip(hazard.disputed) {
            let _ = match (waits, disputed) {
                (0, _) => write!(out, " | "),
                (waits, true) => write!(out, " | {waits}?"),
                (waits, false) => write!(out, " | {waits}"),
            };
        }
        out.push('\n');
    }
    out.push_str("\n`?`: sources disagree; it is reported as a note. `gcn doc NAME` has the sources of a hazard.\n");
    out
}

/// Returns true if a text contains a complete word.
fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|w| w == word)
}

/// The explanations of notation that belongs to several operations: the words, and the text.
const WORDS: &[(&[&str], &str)] = &[
    (
        &[
            ".u", ".i", ".f", ".d", ".u64", ".i64", ".u16", ".i16", ".f16",
        ],
        "`x.u`, `x.i`, `x.f`: the 32 bits of x as an unsigned number, a signed number, a float; `x.d`: 64 bits as a float; `x.u64`, `x.i16`, `x.f16`, …: with that width.",
    ),
    (
        &[
            ".u8[", ".i8[", ".u4[", ".i4[", ".u16[", ".i16[", ".f16[", ".i24", ".u32[",
        ],
        "`x.u8[k]`: byte k of x, the lowest is 0; `x.i8[k]` the same as a signed number; `x.u16[k]`, `x.f16[k]` the halves (of packed operands those that op_sel and op_sel_hi choose), `x.i24` the low 24 bits.",
    ),
    (
        &["[k]", ":0]", "[lane & "],
        "`x[n]`, `x[high:low]`: bits of x as an unsigned number.",
    ),
    (
        &["approx"],
        "`approx(x)`: the hardware approximates x; the bound is stated above.",
    ),
    (
        &["sin", "cos", "exp2", "log2"],
        "`sin`, `cos`, `exp2`, `log2`: the functions of mathematics; angles in radians.",
    ),
    (
        &["flush"],
        "`flush(x)`: x, but zero with the sign of x where x is a denormal, whatever MODE says.",
    ),
    (
        &["is_tiny"],
        "`is_tiny(x)`: whether x is a zero or a denormal.",
    ),
    (
        &["is_signaling_nan"],
        "`is_signaling_nan(x)`: whether x is a signaling NaN (and not flushed or quieted before).",
    ),
    (
        &["quiet"],
        "`quiet(x)`: x; a signaling NaN becomes quiet as MODE.IEEE says.",
    ),
    (
        &["order"],
        "`order(x)`: an integer that orders floats as their values do, denormals included whatever MODE says; both zeros are equal.",
    ),
    (&["copysign"], "`copysign(x, y)`: x with the sign of y."),
    (
        &["exponent"],
        "`exponent(x)`: n where x is from 2^n to below 2^(n+1) in magnitude.",
    ),
    (
        &["clamp"],
        "`clamp(x, low, high)`: x, but low below it and high above it.",
    ),
    (&["abs_diff"], "`abs_diff(x, y)`: the distance of x and y."),
    (
        &["round_by_mode"],
        "`round_by_mode(x)`: x rounded to an integral value as MODE says.",
    ),
    (
        &["f16_toward_zero"],
        "`f16_toward_zero(x)`: x as a half-precision float, rounded towards zero.",
    ),
    (
        &["two_by_pi"],
        "`two_by_pi(n)`: 53 bits of the fraction 2/pi in binary, from place n on.",
    ),
    (
        &[
            "saturate_i32",
            "saturate_u32",
            "saturate_i16",
            "saturate_u16",
        ],
        "`saturate_i32(x)`, …: x, or the nearest number that the type has.",
    ),
    (
        &["tmp"],
        "Reading, computing and writing memory are one step that nothing else comes between.",
    ),
    (
        &["once for the wave"],
        "`once for the wave`: with the values of the lowest active lane, not once for each lane; without an active lane, not at all.",
    ),
    (
        &["P0", "P10", "P20"],
        "`P0`, `P10`, `P20`: the parameters of ATTR for the primitive that the lane's quad belongs to, in LDS: with p the ones of M0[30:16] below bit lane / 4, and n one more than the ones of M0[30:16], at M0[15:0] + (attribute * n + p) * 48 there are P0 and P10 of the four channels, alternately, and from byte 32 on their P20.",
    ),
    (
        &["for k in", "for n in"],
        "`for k in 0..3`: with k = 0, 1, 2 and 3.",
    ),
    (
        &[
            "f16(", "f32(", "f64(", "i16(", "i32(", "i64(", "u16(", "u32(", "u64(",
        ],
        "`i32(x)`, `f32(x)`, …: x converted to that type. An integer keeps its value where it fits, or else its low bits. A float becomes an integer towards zero; beyond the range it gives the nearest value, and NaN gives 0.",
    ),
    (
        &["fma_to_f16"],
        "`fma_to_f16(x, y, z)`: x * y + z, rounded once, to f16.",
    ),
    (&["isnan"], "`isnan(x)`: whether x is a NaN."),
    (
        &["<>"],
        "`x <> y`: less or greater; false where x or y is a NaN.",
    ),
    (
        &["lane"],
        "`lane`: the number of the lane, 0 to 63; `m[lane]` is that lane's bit of a mask, and `x[lane n]` the value that x has in lane n modulo 64, active or not.",
    ),
    (
        &[".pair"],
        "`SGPR[n].pair`, `VGPR[n].pair`: registers n and n + 1 as 64 bits.",
    ),
    (
        &["element at"],
        "`element at a`: of a typed buffer, from byte address a on; its format is the instruction's or that of the resource SRSRC. `convert` goes between its components and registers.",
    ),
    (
        &["texel at", "sample", "gather"],
        "The image is described by the resource SRSRC, filters and the rest by the sampler SSAMP. VADDR holds, as far as the instruction has them, offsets, bias, comparand, derivatives, coordinates (with slice, face or sample) and level, in this order. `DMASK of x`: the components that DMASK has a bit for, in consecutive VGPRs.",
    ),
    (
        &["EXPORT"],
        "`EXPORT[n]`: target n of exports: 0 to 7 mrt0 to mrt7, 8 mrtz, 9 null, 12 to 15 pos0 to pos3, 32 to 63 param0 to param31.",
    ),
    (
        &[".dword0"],
        "`x.dword0`, `x.dword1`, …: the 32-bit parts of x, the lowest first.",
    ),
    (
        &[".qword0"],
        "`x.qword0`, `x.qword1`: the 64-bit parts of x, the lowest first.",
    ),
    (
        &["CARRY_IN", "CARRY_OUT"],
        "`CARRY_IN`, `CARRY_OUT`: masks; VCC in the short encodings, in VOP3 SRC2 and SDST.",
    ),
    (
        &["LDS", "GDS", "MEM", "FLAT", "SCRATCH"],
        "`MEM.b32[a]`: the 32 bits of memory from byte address a on; `LDS` is the workgroup's memory, `GDS` that of the whole dispatch, `SCRATCH` the lane's own, `FLAT` whichever of them the address lies in.",
    ),
    (
        // For images.
        &[
            "atomic_add",
            "atomic_sub",
            "atomic_and",
            "atomic_or",
            "atomic_xor",
            "atomic_min",
            "atomic_max",
            "atomic_swap",
        ],
        "`atomic_add(place, x)`, …: the place takes its old value + x, in one step that nothing else comes between; gives the old value. `swap` puts x there.",
    ),
    (
        &["atomic_reverse_sub"],
        "`atomic_reverse_sub(place, x)`: the place takes x - its old value; gives the old value.",
    ),
    (
        &["atomic_compare_swap"],
        "`atomic_compare_swap(place, x, expected)`: the place takes x where it holds `expected`; gives the old value.",
    ),
    (
        &["atomic_increment_wrapping_at"],
        "`atomic_increment_wrapping_at(place, x)`: the place takes its old value + 1, or 0 where that was x or more; gives the old value.",
    ),
    (
        &["atomic_decrement_wrapping_to"],
        "`atomic_decrement_wrapping_to(place, x)`: the place takes its old value - 1, or x where that was 0 or more than x; gives the old value.",
    ),
    (
        &["atomic_mask_or"],
        "`atomic_mask_or(place, mask, x)`: the place takes its old value with the mask's bits cleared, or-ed with x; gives the old value.",
    ),
    (
        &["atomic_wrap"],
        "`atomic_wrap(place, x, y)`: the place takes its old value - x where that was x or more, or else its old value + y; gives the old value.",
    ),
    (
        &["atomic_conditional_swap"],
        "`atomic_conditional_swap(place, x)`: where x's top bit is set, the place takes the rest of x; gives the old value.",
    ),
    (
        &["once_a_wave_atomic_add", "once_a_wave_atomic_sub"],
        "`once_a_wave_atomic_add(place, x)`: the place takes its old value + x of the lowest active lane, once for all lanes, each of which gets the old value; `sub` takes x away.",
    ),
    (
        &["once_a_wave_atomic_and_add"],
        "`once_a_wave_atomic_and_add(place, x, mask)`: the place takes (its old value & mask) + x, of the lowest active lane, once for all lanes, each of which gets the old value.",
    ),
    (
        &["GWS"],
        "`GWS[n]`: resource n of global wave sync, a counter that the waves of the dispatch share.",
    ),
    (&["signal"], "`signal(resource, x)`: adds x to the counter."),
    (
        &["wait_for"],
        "`wait_for(resource)`: waits after those that came before until the counter is above 0, and takes 1 from it.",
    ),
    (
        &["release_all"],
        "`release_all(resource)`: the counter takes the number of waves that wait for it.",
    ),
    (
        &["meet_at"],
        "`meet_at(resource, x)`: takes 1 from the counter and waits; a wave that finds 0 lets all go on that wait, and the counter takes x.",
    ),
];

/// Returns the explanations of the words in a text.
fn words(out: &mut String, text: &str) {
    let plain = |c: char| c.is_alphanumeric() || c == '_';
    let names = |name: &str| {
        // Some names end with the width of the result.
        text.split(|c| !plain(c))
            .any(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()) == name)
    };
    let explained = |op: &&OpInfo| op.doc.starts_with('`') && names(op.name);
    let ops = OPS.iter().copied().filter(explained);
    let mut found: Vec<&str> = ops.map(|op| op.doc).collect();
    for (words, what) in WORDS {
        let used = words.iter().any(|w| match w.strip_suffix('(') {
            // A type's name as a function, not as `.i32` after a value.
            Some(name) => text
                .match_indices(w)
                .any(|(at, _)| !text[..at].ends_with(|c| plain(c) || c == '.') && !name.is_empty()),
            None if w.chars().all(plain) => has_word(text, w),
            None => text.contains(w),
        });
        if used {
            found.push(*what);
        }
    }
    if found.is_empty() {
        return;
    }
    out.push_str("\nWhere:\n\n");
    for what in found {
        let _ = writeln!(out, "* {what}");
    }
}

/// Returns the explanation of `address` in a format's operations.
fn address_note(format: Format) -> &'static str {
    match format {
        Format::Smem => {
            "`address` is SBASE plus OFFSET, both with their low two bits cleared. A number in OFFSET counts dwords on gfx6 and gfx7 and \
             bytes after; on gfx9 it has 21 bits and a sign, and SOFFSET may be added. s_buffer_* instructions take the base of the buffer \
             resource in SBASE, and give 0 (or write nothing) outside of its records. In s_scratch_* instructions an SGPR in OFFSET counts 64 bytes."
        }
        Format::Ds => {
            "`address` is ADDR plus the 16-bit offset, in bytes; without ADDR it is M0[15:0] (with `gds` nothing) plus the offset. Outside of the LDS, and up to gfx8 \
             beyond M0, reads give 0 and writes do nothing. With `gds` LDS stands for the global data share from byte M0[31:16] on, M0[15:0] bytes of it."
        }
        Format::Mubuf | Format::Mtbuf => {
            "`address` is the base of the buffer resource SRSRC + SOFFSET + the offset of the instruction, + VADDR's offset with `offen` and \
             + VADDR's index times the resource's stride with `idxen` (with both, VADDR is a pair: index, offset; with `addr64` of gfx6 and gfx7 it is a 64-bit address that is added, and nothing is checked). Outside of the resource's \
             records reads give 0 and writes do nothing."
        }
        Format::Flat => {
            "`address` is the 64-bit ADDR, on gfx9 plus the unsigned 12-bit offset. Addresses in the shared aperture are LDS, those in the private \
             aperture scratch, all others memory."
        }
        Format::Global => {
            "`address` is the 64-bit ADDR plus the signed 13-bit offset; with SADDR it is SADDR plus the 32-bit ADDR plus the offset."
        }
        Format::Scratch => {
            "`address` is ADDR or SADDR (one of them is `off`) plus the signed 13-bit offset, modulo 2^32: a byte of the lane's own scratch. Byte b of lane l \
             is at FLAT_SCRATCH + b / 4 * 256 + l * 4 + b % 4 in memory."
        }
        _ => "",
    }
}

/// Returns true if each active lane does the same independently. This is false for instructions that move data between lanes
/// and SGPRs, or do nothing.
fn works_by_lane(row: &'static Inst) -> bool {
    row.format.is_valu()
        && !row.shape.slots.is_empty()
        && row_targets(row).iter().all(|&t| {
            let program = meaning(row, t);
            let crosses = |op: Op| op.info().kind == Kind::Lanes;
            !program.nodes.iter().any(|n| crosses(n.op))
                && !program
                    .effects
                    .iter()
                    .any(|e| matches!(e.change, Change::DstLane(_)))
        })
}

fn opcode_in(row: &Inst, encoding: Encoding, target: Target) -> Option<u16> {
    let op = row.opcode_in(target.generation())?;
    match encoding {
        Encoding::Vop3 | Encoding::Vop3b => Some(op + row.format.vop3_offset(target.generation())?),
        _ => Some(op),
    }
}

/// Returns `Opcode: 14 (0xe) for gfx6–gfx7; 12 (0xc) for gfx8–gfx9`.
fn opcodes(out: &mut String, row: &'static Inst, targets: &[Target]) {
    if row.format.opcode_bits() == 0 {
        return;
    }
    let mut line = |label: &str, get: &dyn Fn(Target) -> Option<u16>| {
        let groups = by_text(targets, get);
        let mut parts = Vec::new();
        let whole = targets_text(targets) == targets_text(&table_targets());
        for (of, op) in &groups {
            let Some(op) = op else { continue };
            parts.push(if groups.len() == 1 && whole {
                format!("{op} ({op:#x})")
            } else {
                format!("{op} ({op:#x}) for {}", targets_text(of))
            });
        }
        if !parts.is_empty() {
            let _ = writeln!(out, "{label}: {}  ", parts.join("; "));
        }
    };
    if row.format == Format::Vop3 {
        line("Opcode", &|t| opcode_in(row, Encoding::Vop3, t));
        return;
    }
    line("Opcode", &|t| row.opcode_in(t.generation()));
    if row.has_vop3() {
        line("Opcode in VOP3", &|t| opcode_in(row, Encoding::Vop3, t));
    }
}

fn slot_text(slot: &Slot, encoding: Encoding, generation: Gen) -> String {
    use Encoding::*;
    let wide = matches!(encoding, Vop3 | Vop3b | Vop3p);
    let name: String = match slot.role {
        Role::Sdst | Role::SsrcK => "SDST".into(),
        Role::Ssrc0 => "SSRC0".into(),
        Role::Ssrc1 => "SSRC1".into(),
        Role::Imm(Imm::Branch) => "LABEL".into(),
        Role::Imm(Imm::Waitcnt) => "vmcnt(N) expcnt(N) lgkmcnt(N)".into(),
        Role::Imm(Imm::Sendmsg) => "sendmsg(MSG, OP, STREAM)".into(),
        Role::Imm(Imm::Hwreg) => "hwreg(REG, OFFSET, WIDTH)".into(),
        Role::Imm(Imm::GprIdx | Imm::GprIdxSsrc1) => "gpr_idx(SRC0, SRC1, SRC2, DST)".into(),
        Role::Imm(Imm::U16 | Imm::Hex16) => "SIMM16".into(),
        Role::Imm(Imm::Optional) => "[SIMM16]".into(),
        Role::Imm(Imm::Sdata) => "SDATA".into(),
        Role::K => "LITERAL".into(),
        Role::Vdst => "VDST".into(),
        Role::SdstV => "SDST".into(),
        Role::Src0 => "SRC0".into(),
        Role::Src1 if wide => "SRC1".into(),
        Role::Src1 => "VSRC1".into(),
        Role::Src2 => "SRC2".into(),
        // gfx8's SDWA has no field for it.
        Role::CmpDst if wide || encoding == SdwaC && generation >= Gen::Gfx9 => "SDST".into(),
        Role::CarryOut if wide => "SDST".into(),
        Role::CarryIn if wide => "SRC2".into(),
        Role::CmpDst | Role::CarryOut | Role::CarryIn => "VCC".into(),
        Role::Sdata => "SDATA".into(),
        Role::Sbase => "SBASE".into(),
        Role::Soff => "OFFSET".into(),
        Role::DsAddr | Role::FlatAddr => "ADDR".into(),
        Role::Data0 => "DATA0".into(),
        Role::Data1 => "DATA1".into(),
        Role::Vdata => "VDATA".into(),
        Role::BufAddr => "VADDR".into(),
        Role::Srsrc => "SRSRC".into(),
        Role::Soffset => "SOFFSET".into(),
        Role::Saddr => "SADDR".into(),
        Role::VdstIfGlc => "VDST".into(),
        Role::LaneSel => "SSRC1".into(),
        Role::ImgAddr => "VADDR".into(),
        Role::Ssamp => "SSAMP".into(),
        Role::Attr => "attrN.C".into(),
        Role::Param => "p10|p20|p0".into(),
        Role::ExpTgt => "TGT".into(),
        Role::ExpSrc(n) => format!("VSRC{n}"),
    };
    let sized = !matches!(
        slot.role,
        Role::Imm(_) | Role::K | Role::BufAddr | Role::Soff
    ) && name != "VCC";
    match slot.ty.dwords() {
        n if n > 1 && sized => format!("{name}({n})"),
        _ => name,
    }
}

fn suffix(row: &Inst, encoding: Encoding) -> &'static str {
    use Encoding::*;
    if row.flags.has(Flags::ONLY_E32) {
        return "";
    }
    match encoding {
        Vop1 | Vop2 | Vopc => "_e32",
        Vop3 | Vop3b if row.format != Format::Vop3 => "_e64",
        Sdwa1 | Sdwa2 | SdwaC => "_sdwa",
        Dpp1 | Dpp2 | DppC => "_dpp",
        _ => "",
    }
}

/// Texts of encodings with their targets, in the order of encodings and targets.
#[derive(Default)]
struct Lines(Vec<(u8, String, Vec<Target>)>);

impl Lines {
    fn add(&mut self, encoding: Encoding, text: String, target: Target) {
        let encoding = encoding as u8;
        let known = |(e, t, _): &&mut (u8, String, Vec<Target>)| *e == encoding && *t == text;
        match self.0.iter_mut().find(known) {
            Some((_, _, of)) => of.push(target),
            None => self.0.push((encoding, text, vec![target])),
        }
    }

    fn sorted(mut self) -> impl Iterator<Item = (String, Vec<Target>)> {
        self.0.sort_by_key(|(encoding, ..)| *encoding);
        self.0.into_iter().map(|(_, text, of)| (text, of))
    }
}

fn syntax(out: &mut String, row: &'static Inst, targets: &[Target]) {
    // An encoding's lines may differ between generations, so each line is grouped separately.
    let mut lines = Lines::default();
    for &target in targets {
        for e in encodings(row, target) {
            let slots: Vec<String> = row
                .shape
                .slots
                .iter()
                .map(|s| slot_text(s, e, target.generation()))
                .collect();
            let operands = slots.join(", ");
            let gap = if operands.is_empty() { "" } else { " " };
            let mods = modifiers::syntax(row, e, target.generation());
            let text = format!("{}{}{gap}{operands}{mods}", row.name, suffix(row, e));
            lines.add(e, text, target);
        }
    }
    for (text, of) in lines.sorted() {
        if of.len() == targets.len() {
            let _ = writeln!(out, "Syntax: {text}  ");
        } else {
            let _ = writeln!(out, "Syntax ({}): {text}  ", targets_text(&of));
        }
    }
}

/// Returns the types of the operands by their names in the operation.
fn operands(out: &mut String, row: &'static Inst) {
    let Some(target) = row_targets(row).first().copied() else {
        return;
    };
    let program = meaning(row, target);
    let parts: Vec<String> = row
        .shape
        .slots
        .iter()
        .enumerate()
        .filter(|(_, s)| !matches!(s.role, Role::Imm(_)))
        .map(|(n, s)| {
            let access = match s.access {
                Access::ReadWrite => ", read and written",
                _ => "",
            };
            format!(
                "{}: {}{access}",
                meaning_text::operand_name(&program, n),
                s.ty.name()
            )
        })
        .collect();
    if !parts.is_empty() {
        let _ = writeln!(out, "Operands: {}  ", parts.join("; "));
    }
}

/// Returns the instruction with plain registers in both syntaxes.
fn examples(out: &mut String, row: &'static Inst, targets: &[Target]) {
    let mut lines = Lines::default();
    for &target in targets {
        for e in encodings(row, target) {
            let Some(bytes) = example(row, e, target) else {
                continue;
            };
            let Some(insn) = gcn::isa::decode(target, &bytes) else {
                continue;
            };
            let (mut llvm, mut clrx) = (String::new(), String::new());
            print(&insn, &Style::LLVM, &mut llvm);
            print(&insn, &Style::CLRX, &mut clrx);
            let text = if llvm == clrx {
                format!("`{llvm}`")
            } else {
                format!("`{llvm}` (CLRX: `{clrx}`)")
            };
            lines.add(e, text, target);
        }
    }
    for (text, of) in lines.sorted() {
        if of.len() == targets.len() {
            let _ = writeln!(out, "Example: {text}  ");
        } else {
            let _ = writeln!(out, "Example ({}): {text}  ", targets_text(&of));
        }
    }
}

fn example(row: &'static Inst, encoding: Encoding, target: Target) -> Option<Vec<u8>> {
    example_with(row, encoding, target, false)
}

/// As [`example`], with GLC if requested.
fn example_with(
    row: &'static Inst,
    encoding: Encoding,
    target: Target,
    glc: bool,
) -> Option<Vec<u8>> {
    let mut e = Encoder::new(row, encoding, target)?;
    if glc {
        e.set(Field::Glc, 1);
    }
    let (mut s, mut v) = (4u16, 0u16);
    for slot in row.shape.slots {
        let dwords = slot.ty.dwords() as u16;
        let mut scalar = || {
            let at = s.next_multiple_of(dwords.min(4));
            s = at + dwords;
            at
        };
        let mut vector = || {
            let at = v;
            v += dwords;
            256 + at
        };
        let code = match slot.role {
            Role::Sdst | Role::Ssrc0 | Role::Ssrc1 | Role::SsrcK | Role::SdstV => scalar(),
            Role::Sdata | Role::Sbase | Role::Srsrc | Role::LaneSel | Role::Ssamp => scalar(),
            Role::Vdst | Role::Src0 | Role::Src1 | Role::Src2 => vector(),
            Role::DsAddr | Role::Data0 | Role::Data1 | Role::Vdata | Role::FlatAddr => vector(),
            Role::ImgAddr => vector(),
            Role::CmpDst | Role::CarryOut | Role::CarryIn => gcn::isa::operand::VCC,
            Role::Attr | Role::Param | Role::ExpTgt => {
                e.set_imm(slot.role, 0);
                continue;
            }
            Role::ExpSrc(n) => {
                let field = [Field::Vsrc0, Field::Vsrc1, Field::Vsrc2, Field::Vsrc3];
                e.set(field[n as usize & 3], n as u32);
                e.set(Field::En, 15);
                continue;
            }
            Role::Soffset => 128,
            Role::VdstIfGlc if glc => vector(),
            Role::BufAddr | Role::Saddr | Role::VdstIfGlc => continue,
            Role::Soff => {
                e.set(Field::Imm, 1);
                e.set(Field::Offset, 16);
                continue;
            }
            Role::Imm(Imm::Branch) => {
                e.set(Field::Simm16, 4);
                continue;
            }
            Role::Imm(Imm::Hwreg) => {
                e.set(Field::Simm16, 31 << 11 | 1);
                continue;
            }
            Role::Imm(Imm::Sendmsg) => {
                e.set(Field::Simm16, 1);
                continue;
            }
            Role::Imm(Imm::GprIdxSsrc1) => {
                e.set(Field::Ssrc1, 1);
                continue;
            }
            Role::Imm(_) => {
                e.set(Field::Simm16, 0);
                continue;
            }
            Role::K => {
                e.literal = Some(0x1234_5678);
                continue;
            }
        };
        e.set_code(slot.role, code);
    }
    match encoding {
        Encoding::Sdwa1 | Encoding::Sdwa2 | Encoding::SdwaC => {
            // A compare has no destination with parts.
            if encoding != Encoding::SdwaC {
                e.set(Field::DstSel, 6);
            }
            e.set(Field::Src0Sel, 6);
            if encoding != Encoding::Sdwa1 {
                e.set(Field::Src1Sel, 6);
            }
        }
        Encoding::Dpp1 | Encoding::Dpp2 | Encoding::DppC => {
            e.set(Field::DppCtrl, 0xe4);
            e.set(Field::RowMask, 15);
            e.set(Field::BankMask, 15);
        }
        Encoding::Vop3p => {
            // The assembler's default for op_sel_hi.
            let hi = gcn::isa::print::packed_default(row.shape.mods, false);
            e.set(Field::OpSelHi, hi & 3);
            e.set(Field::OpSelHi2, hi >> 2);
        }
        Encoding::Mimg => {
            e.set(Field::Dmask, 1);
        }
        Encoding::Mtbuf => {
            e.set(Field::Dfmt, 4);
            e.set(Field::Nfmt, 7);
        }
        _ => {}
    }
    let (bytes, n) = e.bytes();
    Some(bytes[..n].to_vec())
}

/// Returns the fields of a layout and the bits without a field, lowest first: `(low, high, name, text)`.
fn drawing(
    encoding: Encoding,
    layout: &Layout,
    op: Option<u16>,
    format: Format,
) -> Vec<(u32, u32, String, String)> {
    let mut rows: Vec<(u32, u32, String, String)> = Vec::new();
    let mut fixed = layout.mask;
    for &(field, lo, len) in layout.fields {
        let (lo, hi) = (lo as u32, lo as u32 + len as u32 - 1);
        let (name, mut text) = match (field, format, encoding) {
            (Field::Vdst, Format::Vopc, Encoding::Vop3) => (
                "SDST".into(),
                "Scalar destination: VCC or any pair of SGPRs".into(),
            ),
            (Field::OpSel, Format::Vopc, Encoding::Vop3) => (
                "OP_SEL".into(),
                "High half of a 16-bit source 0, 1 (gfx9); of source 2 and the destination: no effect".into(),
            ),
            (Field::Clamp, Format::Vopc, _) => (
                "CLAMP".into(),
                "Clamp modifier. On gfx9 NaN sources signal; the result does not change".into(),
            ),
            (Field::Omod, Format::Vopc, _) => (
                "OMOD".into(),
                "Output modifier. No effect on a compare".into(),
            ),
            (Field::Src2, Format::Vopc, _) => {
                ("SRC2".into(), "Third source operand; no compare has one".into())
            }
            (Field::DstSel | Field::DstUnused, Format::Vopc, _) => {
                (field_text(field, encoding).0, "No effect on a compare".into())
            }
            _ => field_text(field, encoding),
        };
        if field == Field::Op
            && let Some(op) = op
        {
            text = format!("{text}: {op} ({op:#x})");
        }
        rows.push((lo, hi, name, text));
    }
    while fixed != 0 {
        let lo = fixed.trailing_zeros();
        let n = (fixed >> lo).trailing_ones();
        // The nine bits that mark SDWA and DPP do not overlap another field.
        let value = layout.fixed >> lo & (u64::MAX >> (64 - n));
        let (name, text) = if lo == 0 {
            let what = if value == 249 { "SDWA" } else { "DPP" };
            (
                "SRC0",
                format!("Must be {value} ({value:#x}), which says that {what}'s word follows"),
            )
        } else {
            (
                "ENCODING",
                format!(
                    "Encoding type. Must be 0b{value:0width$b}",
                    width = n as usize
                ),
            )
        };
        rows.push((lo, lo + n - 1, name.into(), text));
        fixed &= !((u64::MAX >> (64 - n)) << lo);
    }
    rows.sort();
    let mut full = Vec::new();
    let mut next = 0;
    for row in rows {
        if row.0 > next {
            full.push((next, row.0 - 1, "-".into(), "Reserved".into()));
        }
        next = row.1 + 1;
        full.push(row);
    }
    let end = layout.bytes as u32 * 8;
    if next < end {
        full.push((next, end - 1, "-".into(), "Reserved".into()));
    }
    full
}

fn bits_table(encoding: Encoding, layout: &Layout, op: Option<u16>, format: Format) -> String {
    let mut out =
        String::from("Bits  | Name      | Description\n------|-----------|------------\n");
    for (lo, hi, name, mut text) in drawing(encoding, layout, op, format) {
        let bits = if lo == hi {
            lo.to_string()
        } else {
            format!("{lo}-{hi}")
        };
        // FLAT, GLOBAL and SCRATCH are one encoding; SEG distinguishes them.
        if name == "SEG" {
            text = match format {
                Format::Global => "2 (0b10): GLOBAL".into(),
                Format::Scratch => "1 (0b01): SCRATCH".into(),
                _ => "0 (0b00): FLAT".into(),
            };
        }
        let _ = writeln!(out, "{bits:<5} | {name:<9} | {text}");
    }
    out
}

/// Returns a field's name in the manuals and its description.
fn field_text(field: Field, encoding: Encoding) -> (String, String) {
    use Encoding::*;
    use Field::*;
    let scalar = matches!(encoding, Encoding::Sop1 | Encoding::Sop2 | Encoding::Sopc);
    let text = match field {
        Field::Opm => "Operation code, bit 7 (docs/errata.md, mimg-g16)",
        Op => return ("OPCODE".into(), "Operation code".into()),
        Sdst if matches!(encoding, SdwaC) => "Scalar destination where SD is 1",
        Sdst if matches!(encoding, Smem) => {
            "Scalar data: the first SGPR of the destination or data"
        }
        Sdst => "Scalar destination",
        Ssrc0 => "First scalar source operand",
        Ssrc1 => "Second scalar source operand",
        Simm16 => "Signed or unsigned 16-bit immediate value",
        Vdst if encoding == Vop3 => {
            "Vector destination; of v_readlane_b32 and compares the scalar destination"
        }
        Vdst => "Vector destination",
        Src0 if matches!(encoding, Sdwa1 | Sdwa2 | SdwaC) => {
            "First source: a VGPR, or what S0 says where there is that field"
        }
        Src0 if matches!(encoding, Dpp1 | Dpp2 | DppC) => "First source, a VGPR",
        Src0 => "First source operand, scalar or vector",
        Src1 if matches!(encoding, Vop3 | Vop3b | Vop3p) => {
            "Second source operand, scalar or vector"
        }
        Src1 => return ("VSRC1".into(), "Second source operand, a VGPR".into()),
        Src2 => "Third source operand, scalar or vector",
        Abs => "Absolute value of source 0, 1, 2",
        Neg if encoding == Vop3p => {
            return (
                "NEG_LO".into(),
                "Negation of the low half of source 0, 1, 2".into(),
            );
        }
        Neg => "Negation of source 0, 1, 2, after ABS",
        Omod => "Output modifier: 1 times 2, 2 times 4, 3 divided by 2",
        OpSel if encoding == Vop3p => {
            return (
                "OP_SEL".into(),
                "Half of source 0, 1, 2 that the low result reads".into(),
            );
        }
        OpSel => {
            return (
                "OP_SEL".into(),
                "High half of source 0, 1, 2 and of the destination (gfx9)".into(),
            );
        }
        OpSelHi => {
            return (
                "OP_SEL_HI".into(),
                "Half of source 0, 1 that the high result reads".into(),
            );
        }
        OpSelHi2 => {
            return (
                "OP_SEL_HI2".into(),
                "Half of source 2 that the high result reads".into(),
            );
        }
        NegHi => {
            return (
                "NEG_HI".into(),
                "Negation of the high half of source 0, 1, 2".into(),
            );
        }
        Sbase => "Base address: the first SGPR of a pair, or of a buffer resource, divided by 2",
        Offset => "Offset",
        Soffset if matches!(encoding, Smem) => "SGPR whose value is added to the offset",
        Soffset => "Scalar source whose value is added to the offset",
        SoffsetEn => return ("SOFFSET_EN".into(), "SOFFSET is added".into()),
        Imm => "OFFSET is a number, not an SGPR",
        Addr => "Address VGPR",
        Data0 => "First data VGPR",
        Data1 => "Second data VGPR",
        Vaddr => "Address VGPR",
        Vdata => "Data VGPR",
        Srsrc => "The first SGPR of the resource, divided by 4",
        Ssamp => "The first SGPR of the sampler, divided by 4",
        Saddr => "SGPR pair that is added to the address; 0x7f: none",
        Seg => "Segment",
        DppCtrl => return ("DPP_CTRL".into(), "Which lane a lane reads".into()),
        BoundCtrl => {
            return (
                "BOUND_CTRL".into(),
                "Lanes outside read 0; without it the lane is not written".into(),
            );
        }
        Src0Sext => {
            return (
                "SRC0_SEXT".into(),
                "Sign-extends the part of source 0".into(),
            );
        }
        Src0Neg => return ("SRC0_NEG".into(), "Negation of source 0".into()),
        Src0Abs => return ("SRC0_ABS".into(), "Absolute value of source 0".into()),
        Src1Sext => {
            return (
                "SRC1_SEXT".into(),
                "Sign-extends the part of source 1".into(),
            );
        }
        Src1Neg => return ("SRC1_NEG".into(), "Negation of source 1".into()),
        Src1Abs => return ("SRC1_ABS".into(), "Absolute value of source 1".into()),
        S0 => "Source 0 is an SGPR or constant",
        S1 => "Source 1 is an SGPR or constant",
        Sd => "SDST is written in place of VCC",
        Attr => "Attribute",
        AttrChan => {
            return (
                "ATTRCHAN".into(),
                "Channel of the attribute: 0 x, 1 y, 2 z, 3 w".into(),
            );
        }
        En => "Which of the four sources are exported",
        Tgt => "Target: 0-7 MRT, 8 MRTZ, 9 null, 12-15 position, 32-63 parameter",
        Vsrc0 => "First source VGPR",
        Vsrc1 => "Second source VGPR",
        Vsrc2 => "Third source VGPR",
        Vsrc3 => "Fourth source VGPR",
        RowMask | BankMask | DstSel | DstUnused | Src0Sel | Src1Sel => {
            return (snake_name(field), modifier_text(field).into());
        }
        Glc | Slc | Nv | Gds | Offset0 | Offset1 | Offen | Idxen | Addr64 | Lds | Tfe | Dfmt
        | Nfmt | Dmask | Unorm | Da | R128 | Lwe | D16 | Done | Compr | Vm | Clamp => {
            modifier_text(field)
        }
    };
    let refer = if scalar && matches!(field, Ssrc0 | Ssrc1 | Sdst) {
        ", an operand code"
    } else {
        ""
    };
    (meaning_text::field_name(field), format!("{text}{refer}"))
}

/// Returns the description of a field's modifier.
fn modifier_text(field: Field) -> &'static str {
    modifier::of_field(field).map_or("", |m| m.doc)
}

/// Returns the name of a field whose modifier has the same name in lower case.
fn snake_name(field: Field) -> String {
    modifier::of_field(field).map_or_else(String::new, |m| m.name.to_ascii_uppercase())
}

/// Writes tables derived from the shape and the meaning: names of messages, bits of counters, classes.
fn notes(out: &mut String, row: &'static Inst, targets: &[Target], alone: bool) {
    let mut text = String::new();
    for slot in row.shape.slots {
        match slot.role {
            Role::Imm(Imm::Waitcnt) => waitcnt_note(&mut text),
            Role::Imm(Imm::Sendmsg) => {
                text.push_str(
                    "SIMM16: bits 3:0 MSG, bits 6:4 OP (5:4 for GS), bits 9:8 STREAM.\n\n",
                );
                names_table(&mut text, "MSG", names::MESSAGES);
                text.push_str("\nINTERRUPT sends M0 bits 7:0 as the user's data, with the numbers of the wave and its compute unit.\n");
                text.push_str("\nOperations of GS and GS_DONE (GS_DONE alone has NOP); M0 bits 7:0 hold the GS wave's id. CUT, EMIT and EMIT_CUT send the STREAM and EXEC too:\n\n");
                names_table(&mut text, "OP", names::GS_OPS);
                text.push_str("\nOperations of SYSMSG:\n\n");
                names_table(&mut text, "OP", names::SYS_OPS);
            }
            Role::Imm(Imm::Hwreg) => {
                text.push_str("SIMM16: bits 5:0 REG, bits 10:6 OFFSET, bits 15:11 WIDTH - 1.\n\n");
                names_table(&mut text, "REG", names::HWREGS);
            }
            Role::Imm(Imm::GprIdx | Imm::GprIdxSsrc1) => {
                text.push_str("Bit | What is indexed\n----|----------------\n");
                for (bit, name) in names::GPR_IDX.iter().enumerate() {
                    let _ = writeln!(text, "{bit}   | {name}");
                }
            }
            Role::Imm(Imm::Branch) => {
                text.push_str("LABEL is the address PC + 4 * SIMM16, where PC is the address of the next instruction and SIMM16 is signed.\n");
            }
            _ => {}
        }
    }
    let class = targets.iter().any(|&t| {
        meaning(row, t)
            .nodes
            .iter()
            .any(|n| matches!(n.op, Op::Class))
    });
    if class && row.shape.slots.iter().any(|s| s.role == Role::CmpDst) {
        text.push_str(CLASSES);
    }
    if let Some(remark) = remarks::remark(row.name) {
        let gap = if text.is_empty() { "" } else { "\n" };
        text = format!("{remark}\n{gap}{text}");
    }
    if text.is_empty() {
        return;
    }
    out.push_str(if alone { "\n## Notes\n\n" } else { "\n" });
    out.push_str(&text);
}

const CLASSES: &str = "\
Bit | Class
----|---------------------------
0   | signaling NaN
1   | quiet NaN
2   | -infinity
3   | negative normalized value
4   | negative denormalized value
5   | negative zero
6   | positive zero
7   | positive denormalized value
8   | positive normalized value
9   | +infinity
";

/// Returns the bits of each counter, determined by decoding each bit of SIMM16.
fn waitcnt_note(out: &mut String) {
    out.push_str("Counter | Targets | Bits of SIMM16 | No wait\n--------|---------|----------------|--------\n");
    type Pick = fn(&names::Waitcnt) -> (u32, u32);
    let counters: [(&str, Pick); 3] = [
        ("VMCNT", |w| w.vm),
        ("EXPCNT", |w| w.exp),
        ("LGKMCNT", |w| w.lgkm),
    ];
    for (name, pick) in counters {
        for (of, (bits, max)) in by_text(&table_targets(), |t| {
            let mut ranges: Vec<(u32, u32)> = Vec::new();
            for bit in 0..16 {
                if pick(&names::waitcnt(1 << bit, t.generation())).0 != 0 {
                    match ranges.last_mut() {
                        Some((_, hi)) if *hi + 1 == bit => *hi = bit,
                        _ => ranges.push((bit, bit)),
                    }
                }
            }
            let text: Vec<String> = ranges
                .iter()
                .rev()
                .map(|(lo, hi)| format!("{hi}:{lo}"))
                .collect();
            (text.join(", "), pick(&names::waitcnt(0, t.generation())).1)
        }) {
            let _ = writeln!(
                out,
                "{name} | {} | {bits} | {max} ({max:#x})",
                targets_text(&of)
            );
        }
    }
    out.push_str("\nVMCNT counts vector memory operations, EXPCNT exports and GDS, LGKMCNT LDS, GDS, scalar memory and messages. The wave waits until each counter is at most its number. Counters that are left out are not waited for; they may also be joined by `&` or `,`, and SIMM16 may be given as a number.\n");
}

fn names_table(out: &mut String, what: &str, table: &[names::Name]) {
    let _ = writeln!(
        out,
        "{what} | LLVM | CLRX | Since\n---|------|------|------"
    );
    for n in table {
        let mut clrx = n.clrx.to_string();
        for alias in n.aliases {
            let _ = write!(clrx, ", {alias}");
        }
        let _ = writeln!(out, "{} | {} | {clrx} | {}", n.id, n.llvm, n.since.name());
    }
}

/// The entries of docs/errata.md: a heading `## name` or `### name` and the text below it.
pub fn erratum(name: &str) -> Option<String> {
    section(ERRATA, name)
}

/// The text below a heading whose first word is `name`, up to the next heading.
fn section(text: &str, name: &str) -> Option<String> {
    let mut lines = text.lines();
    let heading = |line: &str| {
        line.starts_with('#')
            .then(|| line.trim_start_matches('#').trim().to_string())
    };
    lines.find(|line| heading(line).is_some_and(|h| h.split_whitespace().next() == Some(name)))?;
    let body: Vec<&str> = lines.take_while(|line| heading(line).is_none()).collect();
    Some(body.join("\n").trim().to_string())
}

fn errata(out: &mut String, row: &'static Inst, alone: bool) {
    if row.errata.is_empty() {
        return;
    }
    out.push_str(if alone {
        "\n## Errata\n\n"
    } else {
        "\nErrata:\n\n"
    });
    for name in row.errata {
        match erratum(name) {
            Some(body) => {
                let _ = writeln!(
                    out,
                    "* {name}: {}",
                    body.replace("\n\n", "\n").replace('\n', "\n  ")
                );
            }
            None => {
                let _ = writeln!(out, "* {name}");
            }
        }
    }
}

/// Returns the description of a format for the table of contents.
fn purpose(format: Format) -> &'static str {
    match format {
        Format::Sop1 => "scalar ALU, one source; jumps to addresses",
        Format::Sop2 => "scalar ALU, two sources",
        Format::Sopc => "scalar compares",
        Format::Sopk => "scalar ALU with a 16-bit constant; hardware registers",
        Format::Sopp => "branches, waits, barriers, messages",
        Format::Smem => "scalar memory (SMRD)",
        Format::Vop1 => "vector ALU, one source",
        Format::Vop2 => "vector ALU, two sources",
        Format::Vopc => "vector compares",
        Format::Vop3 => "vector ALU, up to three sources; the long form of the three above",
        Format::Vop3p => "packed and mixed 16-bit arithmetic, dot products",
        Format::Vintrp => "interpolation of parameters",
        Format::Ds => "LDS and GDS",
        Format::Mubuf => "buffers",
        Format::Mtbuf => "buffers with a format in the instruction",
        Format::Mimg => "images",
        Format::Flat => "memory by address: global, LDS or scratch",
        Format::Global => "global memory by address",
        Format::Scratch => "scratch",
        Format::Exp => "exports",
    }
}

/// Returns the target that a name stands for: a generation (`gfx9`) or a target.
fn targets_of_name(name: &str) -> Option<Target> {
    let generation = Gen::ALL
        .into_iter()
        .find(|g| g.name().eq_ignore_ascii_case(name));
    generation.map(Target::of).or_else(|| Target::parse(name))
}

/// The keys of the entries of docs/errata.md.
fn errata_keys() -> impl Iterator<Item = &'static str> {
    let headings = ERRATA.lines().filter_map(|line| line.strip_prefix("### "));
    headings.filter_map(|heading| heading.split_whitespace().next())
}

/// Returns the instructions of a target, by format.
pub fn contents_of(target: Target) -> String {
    let mut out = format!("# Instructions of {}\n", table_name(target));
    for format in Format::ALL {
        let mut names: Vec<&str> = rows_of(format)
            .iter()
            .filter(|row| insts::exists(row, target))
            .map(|row| row.name)
            .collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            continue;
        }
        let _ = writeln!(
            out,
            "\n## {}: {}, {} instructions\n",
            format.name(),
            purpose(format),
            names.len()
        );
        for name in names {
            let _ = writeln!(
                out,
                "* {name}: {}",
                purposes::purpose(name).unwrap_or_default()
            );
        }
    }
    out
}

/// Returns the table of contents.
pub fn contents() -> String {
    let mut out = String::from(
        "The manual is made from the table that also decodes, assembles and runs.\n\nTopics: gcn doc tutorial\n",
    );
    for (name, text) in pages::topics().filter(|(name, _)| *name != "index") {
        let title = text.lines().next().unwrap_or("").trim_start_matches("# ");
        let _ = writeln!(out, "  {name:<12} {title}");
    }
    out.push_str("\nFormats: gcn doc SOP2\n");
    for format in Format::ALL {
        let mut names: Vec<&str> = rows_of(format).iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        let _ = writeln!(
            out,
            "  {:<8} {:>4} instructions  {}",
            format.name(),
            names.len(),
            purpose(format)
        );
    }
    out.push_str(
        "\nInstructions: gcn doc s_bfe_u32\n  encodings, opcodes by target, operands, operation, errata; a part of a name suggests whole ones\n\
         \nErrata and decisions: gcn doc sop2-bfe\n",
    );
    let mut chapter: Vec<&str> = Vec::new();
    let mut title = "";
    for line in ERRATA.lines().chain(["## "]) {
        if let Some(entry) = line.strip_prefix("### ") {
            chapter.extend(entry.split_whitespace().next());
        } else if let Some(next) = line.strip_prefix("## ") {
            if !chapter.is_empty() {
                let _ = writeln!(out, "  {title}: {}", chapter.join(", "));
            }
            chapter.clear();
            title = next;
        }
    }
    out.push_str(
        "\nMore\n  gcn doc search WORDS    pages with these words\n  \
         gcn doc NAME --arch A   an instruction on one target; without a name the instructions of the target\n  \
         gcn doc --diff OLD NEW  what differs between two generations or targets\n  \
         gcn doc --html DIR      the manual as web pages, with a search that needs no server\n\
         \nTables\n  gcn doc --stats         rows of each format by generation and target\n  \
         gcn doc --exactness     which results are exact, and how far others may be off\n  \
         gcn doc --all -o DIR    every format's page as a file\n",
    );
    out
}

/// The document of one format.
pub fn format_page(format: Format) -> String {
    let name = format.name();
    let mut out = format!("# GCN ISA {name} instructions\n");
    let targets: Vec<Target> = table_targets()
        .into_iter()
        .filter(|&t| rows_of(format).iter().any(|r| insts::exists(r, t)))
        .collect();
    let known = !targets.is_empty();
    let targets = if known { targets } else { table_targets() };
    out.push_str("\n## Encoding\n");
    for e in format_encodings(format) {
        let with: Vec<Target> = targets
            .iter()
            .copied()
            .filter(|&t| layout_of(e, t.generation()).is_some())
            .collect();
        for (of, (bytes, table)) in by_text(&with, |t| {
            let layout = layout_of(e, t.generation());
            layout.map_or((0, String::new()), |l| {
                (l.bytes, bits_table(e, l, None, format))
            })
        }) {
            let called = encoding_name(e, format, of[0].generation());
            let _ = writeln!(
                out,
                "\nThe {called} encoding ({}) has {bytes} bytes{}. Its fields:\n",
                targets_text(&of),
                match e {
                    Encoding::Sop1
                    | Encoding::Sop2
                    | Encoding::Sopc
                    | Encoding::Vop1
                    | Encoding::Vop2
                    | Encoding::Vopc => ", and 4 more where a literal follows",
                    _ => "",
                },
            );
            out.push_str(&table);
        }
    }
    if !known {
        out.push_str("\nNo instruction of this format is described yet.\n");
        return out;
    }
    usual_syntax(&mut out, format, &targets);
    out.push_str("\nA number in parentheses after an operand of a syntax line is how many registers wide it is: `SDST(2)`.\n");
    if format.is_valu() {
        out.push_str(VALU_NOTES);
    }
    out.push_str("\n## Instructions by opcode\n\n");
    opcode_table(&mut out, format, &targets);
    if format == Format::Vopc {
        compare_tables(&mut out, &targets);
    }
    let mut set = String::new();
    let mut operations = String::new();
    let mut rows: Vec<&'static Inst> = rows_of(format).iter().collect();
    rows.sort_by_key(|r| r.name);
    for row in rows {
        let same = rows_of(format)
            .iter()
            .filter(|r| r.name == row.name)
            .count();
        let targets = row_targets(row);
        if same > 1 && !targets.is_empty() {
            let _ = writeln!(set, "\n### {} ({})\n", row.name, targets_text(&targets));
        } else {
            let _ = writeln!(set, "\n### {}\n", row.name);
        }
        instruction(&mut set, row);
        for target in row_targets(row) {
            operations.push_str(&operations::text(&meaning(row, target), target));
            operations.push('\n');
        }
    }
    out.push_str("\n## How to read the operations\n\n");
    out.push_str(reading_note(format));
    let address = address_note(format);
    if !address.is_empty() {
        let _ = writeln!(out, "\n{address}");
    }
    words(&mut out, &operations);
    out.push_str("\n## Instruction set\n\nIn alphabetical order.\n");
    out.push_str(&set);
    let chapters: Vec<String> = [
        format.name(),
        "Vector ALU",
        "Memory",
        "Operands and modifiers",
    ]
    .into_iter()
    .filter(|&title| match title {
        "Vector ALU" => format.is_valu(),
        "Memory" => !address_note(format).is_empty(),
        "Operands and modifiers" => {
            format.is_valu() || !format.is_vector() && format != Format::Sopp
        }
        _ => true,
    })
    .filter_map(errata_chapter)
    .collect();
    if !chapters.is_empty() {
        let _ = writeln!(
            out,
            "\n## Errata and decisions\n\n{}",
            chapters.join("\n\n")
        );
    }
    out
}

/// The entries of docs/errata.md under a heading of the second level.
fn errata_chapter(title: &str) -> Option<String> {
    let mut lines = ERRATA.lines();
    lines.find(|line| line.strip_prefix("## ") == Some(title))?;
    let body: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
    Some(body.join("\n").trim().to_string())
}

fn rows_of(format: Format) -> &'static [Inst] {
    insts::ROWS[format as usize]
}

fn reading_note(format: Format) -> &'static str {
    if format.is_vector() {
        "In the operations, D is the destination and S0, S1, S2 are the sources of one lane; every active lane does \
         the same, and `[lane]` is a lane's bit of a mask (a mask that is written gets 0 for inactive lanes). Sources are read, with their modifiers, before anything is written. \
         `x.u`, `x.i`, `x.f`, `x.d` read x as an unsigned number, a signed one, a float, a double; `>>` of a signed type keeps the sign.\n"
    } else {
        "In the operations, D is the destination and S0, S1 are the sources, which are read before anything is written; D \
         after its assignment is the value assigned. `x.u`, `x.i`, `x.f`, `x.d` read x as an unsigned number, a signed one, a float, a double; `>>` of a signed type keeps the sign; PC is the address of the next instruction.\n"
    }
}

/// Returns the most frequent operands, and an example.
fn usual_syntax(out: &mut String, format: Format, targets: &[Target]) {
    // Without the widths in parentheses.
    let plain = |text: String| {
        let mut out = String::new();
        let mut depth = 0;
        for c in text.chars() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                c if depth == 0 => out.push(c),
                _ => {}
            }
        }
        out
    };
    let mut seen = Vec::new();
    for e in format_encodings(format) {
        let mut counts: BTreeMap<String, (usize, &'static Inst, Target)> = BTreeMap::new();
        for row in rows_of(format) {
            for &t in targets {
                if insts::exists(row, t) && encodings(row, t).contains(&e) {
                    let slots: Vec<String> = row
                        .shape
                        .slots
                        .iter()
                        .map(|s| plain(slot_text(s, e, t.generation())))
                        .collect();
                    let entry = counts.entry(slots.join(", ")).or_insert((0, row, t));
                    entry.0 += 1;
                    // An example that exists on all targets is preferred.
                    if row_targets(row).len() > row_targets(entry.1).len() {
                        (entry.1, entry.2) = (row, t);
                    }
                    break;
                }
            }
        }
        let Some((operands, (_, row, target))) = counts.into_iter().max_by_key(|(_, (n, ..))| *n)
        else {
            continue;
        };
        let called = encoding_name(e, format, target.generation());
        let _ = write!(
            out,
            "\nSyntax of most {called} instructions: INSTRUCTION {operands}"
        );
        let text = example(row, e, target)
            .and_then(|bytes| {
                let mut text = String::new();
                print(&gcn::isa::decode(target, &bytes)?, &Style::LLVM, &mut text);
                Some(text)
            })
            .filter(|text| !seen.contains(text));
        if let Some(text) = text {
            let _ = write!(out, ", as in `{text}`");
            seen.push(text);
        }
        out.push_str("  \n");
    }
}

/// Writes the modifiers of the vector ALU's formats, and the limits of their operands.
const VALU_NOTES: &str = "
## Modifiers

* `-SRC`: the source negated, after ABS. `-4.0` and the like are constants of their own.
* `|SRC|`, `abs(SRC)`: the source's absolute value; both may be combined: `-|v0|`.
* `op_sel:[B0,B1,…]` (gfx9, 16-bit operands): which half each source is read from, and last which half of
  the destination is written; 0 is the low half, 1 the high one.
* `clamp`: a float result goes to the range 0.0 to 1.0; an integer result saturates; a compare of gfx9 signals on
  NaN sources.
* `mul:2`, `mul:4`, `div:2` (OMOD): a float result multiplied or halved.

ABS and NEG act on the top bit of a source of any type. The bits of OP_SEL:

Bit | Operand
----|--------
11  | SRC0
12  | SRC1
13  | SRC2
14  | VDST

## Limits

* An instruction reads at most one SGPR (or VCC, M0, EXEC: one scalar source); the same one may stand in several operands.
* It has at most one literal, in SRC0 of the short encoding, and then reads no SGPR. VOP3 has none.
* Only SRC0 may be `lds_direct`.
* Pairs of SGPRs need not be aligned.
";

fn format_encodings(format: Format) -> Vec<Encoding> {
    use Encoding::*;
    match format {
        Format::Vop1 => vec![Vop1, Vop3, Sdwa1, Dpp1],
        Format::Vop2 => vec![Vop2, Vop3, Vop3b, Sdwa2, Dpp2],
        Format::Vopc => vec![Vopc, Vop3, SdwaC, DppC],
        Format::Vop3 => vec![Vop3, Vop3b],
        f => vec![f.encoding()],
    }
}

fn opcode_table(out: &mut String, format: Format, targets: &[Target]) {
    let rows = rows_of(format);
    let spelled = |row: &Inst| match row.clrx {
        Some(clrx) => format!("{} ({clrx})", row.name),
        None => row.name.to_string(),
    };
    // opcode → name, per target; targets with the same table share a column.
    let columns = by_text(targets, |t| {
        let mut map: BTreeMap<u16, String> = BTreeMap::new();
        for row in rows.iter().filter(|r| insts::exists(r, t)) {
            if let Some(op) = row.opcode_in(t.generation()) {
                map.insert(op, spelled(row));
            }
        }
        map
    });
    let mut ops: Vec<u16> = columns
        .iter()
        .flat_map(|(_, m)| m.keys().copied())
        .collect();
    ops.sort();
    ops.dedup();
    let heads: Vec<String> = columns
        .iter()
        .map(|(of, _)| {
            // For all targets of gfx8, the generation's name suffices.
            let whole = |g: Gen| {
                let has = |list: &[Target]| list.iter().filter(|t| t.generation() == g).count();
                g != Gen::Gfx9 && has(of) == has(targets)
            };
            let own = |t: &&Target| {
                !whole(t.generation()) || t.table() == Target::of(t.generation()).table()
            };
            let names = of.iter().filter(own).map(|&t| table_name(t));
            names.collect::<Vec<_>>().join(", ")
        })
        .collect();
    let widths: Vec<usize> = columns
        .iter()
        .zip(&heads)
        .map(|((_, m), h)| {
            m.values()
                .map(String::len)
                .max()
                .unwrap_or(0)
                .max(h.chars().count())
        })
        .collect();
    let mut line = |first: &str, cells: Vec<&str>| {
        let _ = write!(out, "{first:<11}");
        for (cell, &width) in cells.into_iter().zip(&widths) {
            let _ = write!(out, " | {cell:<width$}");
        }
        while out.ends_with(' ') {
            out.pop();
        }
        out.push('\n');
    };
    line("Opcode", heads.iter().map(String::as_str).collect());
    let dashes: Vec<String> = widths.iter().map(|&w| "-".repeat(w)).collect();
    line(&"-".repeat(11), dashes.iter().map(String::as_str).collect());
    for op in ops {
        let cells = columns
            .iter()
            .map(|(_, m)| m.get(&op).map_or("--", String::as_str))
            .collect();
        line(&format!("{op} ({op:#x})"), cells);
    }
}

/// Returns the tables of compares by opcode range, and of their conditions, derived from the rows' names.
fn compare_tables(out: &mut String, targets: &[Target]) {
    // v_cmp_lt_f32: family `v_cmp`, condition `lt`, type `f32`.
    fn parts(row: &Inst) -> Option<(&str, &str, &str)> {
        let (rest, ty) = row.name.rsplit_once('_')?;
        let (family, condition) = rest.rsplit_once('_')?;
        (condition != "class" && family.starts_with("v_cmp")).then_some((family, condition, ty))
    }
    type Families = BTreeMap<(u16, u16), (String, String)>;
    for (of, families) in by_text(targets, |t| {
        let mut ranges: BTreeMap<(String, String), (u16, u16)> = BTreeMap::new();
        for row in rows_of(Format::Vopc).iter().filter(|r| insts::exists(r, t)) {
            let (Some((family, _, ty)), Some(op)) = (parts(row), row.opcode_in(t.generation()))
            else {
                continue;
            };
            let at = ranges.entry((family.into(), ty.into())).or_insert((op, op));
            *at = (at.0.min(op), at.1.max(op));
        }
        ranges
            .into_iter()
            .map(|(name, range)| (range, name))
            .collect::<Families>()
    }) {
        let _ = writeln!(
            out,
            "\n## Compares by opcode range, {}\n\nOpcode range | Instruction | Description\n-------------|-------------|------------",
            targets_text(&of)
        );
        for ((lo, hi), (family, ty)) in families {
            let op = if ty.starts_with('f') { "OP16" } else { "OP8" };
            let mut text = match ty.as_str() {
                "f16" => "Half floating point values.".to_string(),
                "f32" => "Single floating point values.".to_string(),
                "f64" => "Double floating point values.".to_string(),
                t if t.starts_with('i') => format!("Signed {}-bit values.", &t[1..]),
                t => format!("Unsigned {}-bit values.", &t[1..]),
            };
            if ty.starts_with('f') {
                let signals = if family.contains("cmps") {
                    "Signals on any NaN"
                } else {
                    "Signals on signaling NaN only"
                };
                text = format!("{text} {signals}.");
            }
            if family.ends_with('x') {
                text.push_str(" Writes EXEC too.");
            }
            let _ = writeln!(
                out,
                "{lo}-{hi} ({lo:#x}-{hi:#x}) | {family}_{{{op}}}_{ty} | {text}"
            );
        }
    }
    for (title, ty) in [
        ("OP16, the conditions of floating point compares", "f32"),
        ("OP8, the conditions of integer compares", "u32"),
    ] {
        let _ = writeln!(
            out,
            "\n## {title}\n\nOffset | Name | Operation\n-------|------|----------"
        );
        let Some(&target) = targets.last() else {
            return;
        };
        let mut rows: Vec<(u16, &'static Inst)> = rows_of(Format::Vopc)
            .iter()
            .filter(|r| insts::exists(r, target))
            .filter(|r| parts(r).is_some_and(|(f, _, t)| f == "v_cmp" && t == ty))
            .filter_map(|r| Some((r.opcode_in(target.generation())?, r)))
            .collect();
        rows.sort_by_key(|(op, _)| *op);
        let first = rows.first().map_or(0, |(op, _)| *op);
        for (op, row) in rows {
            let condition = parts(row).map_or("", |p| p.1);
            let mut names = vec![condition];
            for other in row.clrx.iter().chain(row.aliases) {
                let other = other.rsplit_once('_').and_then(|n| n.0.rsplit_once('_'));
                if let Some((_, other)) = other
                    && !names.contains(&other)
                {
                    names.push(other);
                }
            }
            let name = names.join(", ");
            let n = op - first;
            let text = operations::text(&meaning(row, target), target)
                .replace('\n', "; ")
                .replace('|', "\\|");
            let _ = writeln!(out, "{n} ({n:#x}) | {name} | {text}");
        }
    }
    out.push_str("\nThe comparisons `<`, `<=`, `==`, `<>`, `>=` and `>` are false where an operand is NaN, so that their negations (nlt, nle, …) are true there.\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_page() {
        for row in insts::all() {
            let page = instruction_page(&[row]);
            assert!(page.contains("Syntax"), "{}", row.name);
            assert!(page.contains("## Operation"), "{}", row.name);
            for target in row_targets(row) {
                assert!(
                    !meaning(row, target).about.is_empty(),
                    "{} says nothing about itself",
                    row.name
                );
            }
        }
    }

    #[test]
    fn the_document_of_sop2_holds_its_table() {
        let page = format_page(Format::Sop2);
        assert!(page.contains("14 (0xe)    | s_and_b32"), "{page}");
        assert!(page.contains("0-7   | SSRC0"));
        assert!(page.contains("30-31 | ENCODING  | Encoding type. Must be 0b10"));
        assert!(page.contains("D.u = S0.u & S1.u\nSCC = D.u != 0"));
        assert!(page.contains("Syntax: s_and_b64 SDST(2), SSRC0(2), SSRC1(2)"));
    }

    #[test]
    fn a_slip_of_the_pen_gets_a_suggestion() {
        assert!(find("s_ad_u32").is_empty());
        assert_eq!(suggestions("s_ad_u32")[0], "s_add_u32");
        assert_eq!(find("S_ADD_U32")[0].name, "s_add_u32");
    }
}
