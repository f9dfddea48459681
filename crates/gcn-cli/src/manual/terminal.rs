//! Pages in a terminal: Markdown with wrapped paragraphs, aligned tables and, if wanted, colours.

use std::fmt::Write as _;

const BOLD: &str = "\x1b[1m";
const TITLE: &str = "\x1b[1;36m";
const CODE: &str = "\x1b[32m";
const DIM: &str = "\x1b[2m";
const END: &str = "\x1b[0m";

/// The columns of a terminal whose size is not known.
pub const WIDTH: usize = 100;
/// The maximum length of lines: longer ones are hard to read.
const WIDEST: usize = 130;
/// The minimum width: narrower terminals wrap the lines themselves.
const NARROWEST: usize = 40;

/// Returns a page formatted for a number of columns.
pub fn render(markdown: &str, colour: bool, columns: usize) -> String {
    let columns = columns.clamp(NARROWEST, WIDEST);
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
        if is_table(&lines, at - 1) {
            let mut table = vec![cells(line)];
            at += 1;
            while at < lines.len() && lines[at].contains('|') {
                table.push(cells(lines[at]));
                at += 1;
            }
            write_table(&mut out, &table, colour, columns);
            continue;
        }
        if let Some((level, title)) = heading(line) {
            let title: String = title.chars().filter(|c| *c != '`').collect();
            let _ = match (colour, level) {
                (true, 1) => writeln!(out, "{TITLE}{title}{END}"),
                (true, _) => writeln!(out, "{BOLD}{title}{END}"),
                (false, _) => writeln!(
                    out,
                    "{title}\n{}",
                    if level == 1 { "=" } else { "-" }.repeat(title.chars().count())
                ),
            };
            continue;
        }
        // A paragraph continues until an empty line, a line break, or another kind of block.
        let mut text = line.trim_end().to_string();
        let mut last = line;
        while !text.is_empty() && !last.ends_with("  ") && at < lines.len() {
            let next = lines[at];
            let other = next.trim().is_empty()
                || next.starts_with("```")
                || item(next.trim_start()) > 0
                || heading(next).is_some()
                || is_table(&lines, at);
            if other {
                break;
            }
            text.push(' ');
            text.push_str(next.trim());
            last = next;
            at += 1;
        }
        let margin = text.len() - text.trim_start().len();
        let hanging = margin + item(text.trim_start());
        for (n, line) in wrap(
            text.trim_start(),
            columns - hanging,
            margin > 0 || hanging > 0,
        )
        .into_iter()
        .enumerate()
        {
            let indent = if n == 0 { margin } else { hanging };
            let _ = writeln!(out, "{}{}", " ".repeat(indent), painted(&line, colour));
        }
    }
    out
}

/// The level and the text of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|b| *b == b'#').count();
    (level > 0 && line[level..].starts_with(' ')).then(|| (level, line[level..].trim()))
}

/// The length of the mark that begins an item of a list: `* `, `1. `.
fn item(line: &str) -> usize {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if line.starts_with("* ") || line.starts_with("- ") {
        2
    } else if digits > 0 && line[digits..].starts_with(". ") {
        digits + 2
    } else {
        0
    }
}

/// Returns true if a table begins at a line.
fn is_table(lines: &[&str], at: usize) -> bool {
    lines[at].contains('|') && lines.get(at + 1).is_some_and(|next| is_rule(next))
}

/// Returns true for the line between a table's head and body.
fn is_rule(line: &str) -> bool {
    line.contains('|')
        && line.contains("--")
        && line.chars().all(|c| matches!(c, '-' | '|' | ' ' | ':'))
}

/// The cells of a table's line; `\|` is not a separator.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|').replace("\\|", "\u{1}");
    line.trim_end_matches('|')
        .split('|')
        .map(|cell| cell.trim().replace('\u{1}', "|"))
        .collect()
}

/// Characters without Markdown's marks, each with true if it is code.
type Line = Vec<(char, bool)>;

/// Wraps a text between words. Words that are longer than a line are broken at its end.
fn wrap(text: &str, columns: usize, item: bool) -> Vec<Line> {
    let mut code = false;
    let mut chars: Line = Vec::new();
    for c in text.chars() {
        match c {
            '`' => code = !code,
            c => chars.push((c, code)),
        }
    }
    let columns = columns.max(1);
    let mut out = Vec::new();
    let mut rest = chars.as_slice();
    // The mark of an item is printed before its first line.
    let mut room = columns + if item { 2 } else { 0 };
    while rest.len() > room {
        let end = rest[..=room].iter().rposition(|(c, _)| *c == ' ');
        let (line, after) = match end {
            Some(end) if end > 0 => (&rest[..end], &rest[end + 1..]),
            _ => rest.split_at(room),
        };
        out.push(line.to_vec());
        rest = after;
        room = columns;
    }
    out.push(rest.to_vec());
    out
}

/// Returns a line with its code coloured.
fn painted(line: &[(char, bool)], colour: bool) -> String {
    let mut out = String::new();
    let mut code = false;
    for (c, is_code) in line {
        if colour && *is_code != code {
            out.push_str(if *is_code { CODE } else { END });
            code = *is_code;
        }
        out.push(*c);
    }
    if code {
        out.push_str(END);
    }
    out
}

/// The width of a cell on the screen.
fn width(cell: &str) -> usize {
    cell.chars().filter(|c| *c != '`').count()
}

/// The minimum width of a column whose cells are wider.
const COLUMN: usize = 10;

/// The widths of the columns: those of their cells, or less if a line would be too long.
fn widths(table: &[Vec<String>], columns: usize) -> Vec<usize> {
    let count = table.iter().map(Vec::len).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..count)
        .map(|n| {
            let cells = table.iter().filter_map(|row| row.get(n));
            cells.map(|c| width(c)).max().unwrap_or(0)
        })
        .collect();
    while widths.iter().sum::<usize>() + 2 * count > columns {
        match widths.iter_mut().max() {
            Some(widest) if *widest > COLUMN => *widest -= 1,
            _ => break,
        }
    }
    widths
}

fn write_table(out: &mut String, table: &[Vec<String>], colour: bool, columns: usize) {
    let widths = widths(table, columns);
    for (n, row) in table.iter().enumerate() {
        let cells: Vec<Vec<Line>> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| wrap(cell, *width, false))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        for k in 0..height {
            let mut line = String::from("  ");
            let mut owed = 0;
            for (cell, width) in cells.iter().zip(&widths) {
                let text = cell.get(k).map_or(&[][..], Vec::as_slice);
                if !text.is_empty() {
                    line.push_str(&" ".repeat(owed));
                    owed = 0;
                    line.push_str(&painted(text, colour && n > 0));
                }
                owed += width.saturating_sub(text.len()) + 2;
            }
            let _ = match colour && n == 0 {
                true => writeln!(out, "{BOLD}{line}{END}"),
                false => writeln!(out, "{}", line.trim_end()),
            };
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_and_colours_only_on_request() {
        let page = "# title\n\nA `word`.\n\nA | Bc\n--|--\nlong cell | `x`\n\n```\ncode\n```\n";
        let plain = render(page, false, 80);
        assert!(!plain.contains('\x1b') && !plain.contains('`'), "{plain}");
        assert!(
            plain.contains("  A          Bc\n  ─────────  ──\n  long cell  x\n"),
            "{plain}"
        );
        assert!(plain.contains("title\n=====\n") && plain.contains("    code\n"));
        assert!(render(page, true, 80).contains("\x1b[32mword\x1b[0m"));
    }

    #[test]
    fn paragraphs_items_and_cells_are_wrapped() {
        let long = "one two three four five six seven eight nine ten eleven twelve";
        let page = format!(
            "{long}\n{long}\n\n* {long}\n  {long}\n* last\n\nA  \nB\n\nX | Y\n--|--\n`{long}` | y\n"
        );
        let plain = render(&page, false, 40);
        for line in plain.lines() {
            assert!(line.chars().count() <= 42, "{line}");
        }
        assert!(
            plain.starts_with(
                "one two three four five six seven eight\nnine ten eleven twelve one two three\n"
            ),
            "{plain}"
        );
        assert!(
            plain.contains("\n* one two three four five six seven\n  eight nine"),
            "{plain}"
        );
        assert!(plain.contains("\n* last\n\nA\nB\n"), "{plain}");
        assert!(
            plain.contains("\n  one two three four five six seven    y\n  eight nine"),
            "{plain}"
        );
    }

    #[test]
    fn nothing_is_lost_by_wrapping() {
        let letters = |text: &str| -> String {
            text.chars()
                .filter(|c| c.is_alphanumeric() || *c == '_')
                .collect()
        };
        for (name, page) in crate::manual::pages::topics() {
            // The cells of a table are wrapped side by side.
            let prose: Vec<&str> = page.lines().filter(|l| !l.contains('|')).collect();
            let prose = prose.join("\n");
            let fences: Vec<&str> = prose.lines().filter(|l| !l.starts_with("```")).collect();
            let shown = render(&prose, false, 60);
            assert_eq!(letters(&shown), letters(&fences.join("\n")), "{name}");
        }
    }
}
