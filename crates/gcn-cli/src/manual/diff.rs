//! The differences between two targets: instructions of only one of them, names, opcodes, operations.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gcn::isa::inst::Inst;
use gcn::isa::insts;
use gcn::isa::meaning::meaning;
use gcn::isa::target::Target;

use super::{encodings, opcode_in, operations, targets_of_name};

/// The rows of a target by name.
fn rows(target: Target) -> BTreeMap<&'static str, Vec<&'static Inst>> {
    let mut out: BTreeMap<&str, Vec<&Inst>> = BTreeMap::new();
    for row in insts::all().filter(|row| insts::exists(row, target)) {
        out.entry(row.name).or_default().push(row);
    }
    out
}

fn operation(row: &'static Inst, target: Target) -> String {
    operations::text(&meaning(row, target), target)
}

/// Returns format and opcode, `VOP2 37`, and its opcode in VOP3.
fn opcode(row: &'static Inst, target: Target) -> String {
    let all = encodings(row, target)
        .into_iter()
        .filter_map(|e| opcode_in(row, e, target));
    let mut numbers: Vec<String> = all.map(|n| n.to_string()).collect();
    numbers.dedup();
    numbers.truncate(2);
    format!("{} {}", row.format.name(), numbers.join("/"))
}

/// Returns a page that compares two targets.
///
/// # Errors
/// A sentence: a name is neither a target's nor a generation's.
pub fn page(old: &str, new: &str) -> Result<String, String> {
    let parse = |name: &str| {
        targets_of_name(name).ok_or_else(|| format!("`{name}` is no target: expected a generation (gfx6 … gfx9) or a target (gfx803, vega20)"))
    };
    let (a, b) = (parse(old)?, parse(new)?);
    let (before, after) = (rows(a), rows(b));
    let mut gone: Vec<&'static Inst> = Vec::new();
    let mut come: Vec<&'static Inst> = Vec::new();
    let mut opcodes = String::new();
    let mut meanings = Vec::new();
    let mut same = 0;
    for (name, rows) in &before {
        let Some(others) = after.get(name) else {
            gone.extend(rows);
            continue;
        };
        let (x, y) = (rows[0], others[0]);
        let (from, to) = (opcode(x, a), opcode(y, b));
        let other_opcode = from != to;
        if other_opcode {
            let _ = writeln!(opcodes, "{name} | {from} | {to}");
        }
        let (from, to) = (operation(x, a), operation(y, b));
        if from != to {
            meanings.push((name, from, to));
        } else if !other_opcode {
            same += 1;
        }
    }
    for (name, rows) in &after {
        if !before.contains_key(name) {
            come.extend(rows);
        }
    }
    let renamed = renames(&mut gone, &mut come, a, b);
    let mut out = format!("# From {} to {}\n\n", a.name(), b.name());
    let _ = writeln!(
        out,
        "{} instructions are only in {}, {} only in {}, {} have another name, {} another operation, {} another opcode; {same} are the same in everything.",
        gone.len(),
        a.name(),
        come.len(),
        b.name(),
        renamed.len(),
        meanings.len(),
        opcodes.lines().count(),
    );
    list(&mut out, "Added", &come, b);
    list(&mut out, "Removed", &gone, a);
    if !renamed.is_empty() {
        let _ = writeln!(
            out,
            "\n## Renamed\n\n{} | {}\n----|----",
            a.name(),
            b.name()
        );
        for (x, y) in &renamed {
            let _ = writeln!(
                out,
                "{} ({}) | {} ({})",
                x.name,
                opcode(x, a),
                y.name,
                opcode(y, b)
            );
        }
    }
    if !meanings.is_empty() {
        out.push_str("\n## Another operation\n");
        for (name, from, to) in &meanings {
            let nothing = |text: &str| {
                if text.is_empty() {
                    "nothing".to_string()
                } else {
                    text.to_string()
                }
            };
            let _ = writeln!(
                out,
                "\n### {name}\n\n{}:\n\n```\n{}\n```\n\n{}:\n\n```\n{}\n```",
                a.name(),
                nothing(from),
                b.name(),
                nothing(to)
            );
        }
    }
    if !opcodes.is_empty() {
        let _ = writeln!(
            out,
            "\n## Another opcode\n\nInstruction | {} | {}\n----|----|----\n{}",
            a.name(),
            b.name(),
            opcodes.trim_end()
        );
    }
    Ok(out)
}

fn list(out: &mut String, title: &str, rows: &[&'static Inst], target: Target) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\n## {title}\n\nInstruction | Format, opcode | What it is for\n----|----|----"
    );
    for row in rows {
        let purpose = super::purposes::purpose(row.name).unwrap_or_default();
        let _ = writeln!(
            out,
            "{} | {} | {}",
            row.name,
            opcode(row, target),
            purpose.replace('|', "\\|")
        );
    }
}

/// Removes from both lists the pairs of rows with the same semantics and different names.
fn renames(
    gone: &mut Vec<&'static Inst>,
    come: &mut Vec<&'static Inst>,
    a: Target,
    b: Target,
) -> Vec<(&'static Inst, &'static Inst)> {
    let mut out = Vec::new();
    gone.retain(|x| {
        let text = operation(x, a);
        let known = |y: &&'static Inst| {
            let alias = x.aliases.contains(&y.name) || y.aliases.contains(&x.name);
            let near = super::distance(x.name, y.name) <= 3;
            y.format == x.format && (alias || near) && !text.is_empty() && operation(y, b) == text
        };
        let best =
            (come.iter().copied().filter(known)).min_by_key(|y| super::distance(x.name, y.name));
        let Some(y) = best else {
            return true;
        };
        come.retain(|other| !std::ptr::eq(*other, y));
        out.push((*x, y));
        false
    });
    out
}
