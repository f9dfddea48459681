//! Pages in a terminal: Markdown with aligned tables and, if wanted, colours.

use std::fmt::Write as _;

const BOLD: &str = "\x1b[1m";
const TITLE: &str = "\x1b[1;36m";
const CODE: &str = "\x1b[32m";
const DIM: &str = "\x1b[2m";
const END: &str = "\x1b[0m";

/// Returns a page for a terminal.
pub fn render(markdown: &str, colour: bool) -> String {
    let mut out = String::new();
    let lines: Vec<&str> = markdown.lines().collect();
    let mut at = 0;
    let mut fenced = false;
    while at < lines.len() {
        let line = lines[at];
        at += 1;
        if line.starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced {
            let _ = match colour {
                true => writeln!(out, "    {CODE}{line}{END}"),
                false => writeln!(out, "    {line}"),
            };
            continue;
        }
        if lines.get(at).is_some_and(|next| is_rule(next)) && line.contains('|') {
            let mut table = vec![cells(line)];
            at += 1;
            while at < lines.len() && lines[at].contains('|') {
                table.push(cells(lines[at]));
                at += 1;
            }
            write_table(&mut out, &table, colour);
            continue;
        }
        let text = line.trim_end();
        let level = text.bytes().take_while(|b| *b == b'#').count();
        if level > 0 && text[level..].starts_with(' ') {
            let title = inline(text[level..].trim(), false);
            let _ = match (colour, level) {
                (true, 1) => writeln!(out, "{TITLE}{title}{END}"),
                (true, _) => writeln!(out, "{BOLD}{title}{END}"),
                (false, _) => writeln!(
                    out,
                    "{title}\n{}",
                    if level == 1 { "=" } else { "-" }.repeat(title.chars().count())
                ),
            };
        } else {
            let _ = writeln!(out, "{}", inline(text, colour));
        }
    }
    out
}

/// Returns true for the line between a table's head and body.
fn is_rule(line: &str) -> bool {
    line.contains('|')
        && line.contains("--")
        && line.chars().all(|c| matches!(c, '-' | '|' | ' ' | ':'))
}

/// The cells of a table's line; `\|` is no border.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|').replace("\\|", "\u{1}");
    line.trim_end_matches('|')
        .split('|')
        .map(|cell| cell.trim().replace('\u{1}', "|"))
        .collect()
}

/// The characters that a cell takes on the screen.
fn width(cell: &str) -> usize {
    cell.chars().filter(|c| *c != '`').count()
}

/// The most that a column but the last may take.
const WIDEST: usize = 44;

fn write_table(out: &mut String, table: &[Vec<String>], colour: bool) {
    let columns = table.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|n| {
            table
                .iter()
                .filter_map(|row| row.get(n))
                .map(|c| width(c))
                .max()
                .unwrap_or(0)
                .min(WIDEST)
        })
        .collect();
    for (n, row) in table.iter().enumerate() {
        let mut line = String::from("  ");
        for (k, cell) in row.iter().enumerate() {
            let pad = widths[k].saturating_sub(width(cell));
            line.push_str(&inline(cell, colour && n > 0));
            if k + 1 < row.len() {
                line.push_str(&" ".repeat(pad + 2));
            }
        }
        let line = line.trim_end();
        let _ = match colour && n == 0 {
            true => writeln!(out, "{BOLD}{line}{END}"),
            false => writeln!(out, "{line}"),
        };
        if n == 0 {
            let rule: Vec<String> = widths.iter().map(|w| "─".repeat(*w)).collect();
            let rule = rule.join("  ");
            let _ = match colour {
                true => writeln!(out, "  {DIM}{rule}{END}"),
                false => writeln!(out, "  {rule}"),
            };
        }
    }
}

/// Returns a line without the marks of Markdown, with code coloured.
fn inline(text: &str, colour: bool) -> String {
    let mut out = String::new();
    for (n, part) in text.split('`').enumerate() {
        match n % 2 == 1 && colour {
            true => {
                let _ = write!(out, "{CODE}{part}{END}");
            }
            false => out.push_str(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_and_colours_only_on_request() {
        let page = "# title\n\nA `word`.\n\nA | Bc\n--|--\nlong cell | `x`\n\n```\ncode\n```\n";
        let plain = render(page, false);
        assert!(!plain.contains('\x1b') && !plain.contains('`'), "{plain}");
        assert!(
            plain.contains("  A          Bc\n  ─────────  ──\n  long cell  x\n"),
            "{plain}"
        );
        assert!(plain.contains("title\n=====\n") && plain.contains("    code\n"));
        assert!(render(page, true).contains("\x1b[32mword\x1b[0m"));
    }
}
