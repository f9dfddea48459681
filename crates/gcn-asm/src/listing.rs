//! The listing: the text beside its addresses and bytes.

use crate::lexer::Span;
use crate::quick::next_line;
use crate::sources::{Lines, Sources};
use gcn_object::write::Section;
use std::fmt::Write;

/// The results of statements, in the order in which they were read.
#[derive(Default)]
pub(crate) struct Listing(Vec<Row>);

struct Row {
    /// The start of the statement.
    at: u32,
    /// The end of everything that belongs to it, such as the text of a macro that it defines.
    end: u32,
    /// The depth of macros and includes at which it was read.
    depth: usize,
    section: u32,
    /// Its bytes, as offsets in the section.
    from: u64,
    to: u64,
}

/// The number of bytes on one line.
const BYTES: usize = 8;
/// The maximum number of lines of bytes per statement; only the count of the rest is shown.
const MOST: usize = 8;

impl Listing {
    /// Adds a statement that took the section and its size from `before` to `after`.
    pub fn add(&mut self, text: Span, depth: usize, before: (u32, u64), after: (u32, u64)) {
        let (section, to) = after;
        // A directive that changes the section emits no bytes.
        let from = if before.0 == section { before.1 } else { to };
        self.0.push(Row {
            at: text.start,
            end: text.end,
            depth,
            section,
            from,
            to,
        });
    }

    /// Returns the listing; `sections` holds the final bytes.
    pub fn text(&self, sources: &Sources<'_>, sections: &[Section]) -> String {
        let mut out = Out {
            text: String::new(),
            sources,
            lines: Lines::default(),
        };
        // The end of the text already shown at each depth.
        let mut shown: Vec<u32> = vec![0];
        let mut section = None;
        for row in &self.0 {
            let source = sources.source(row.at);
            let (base, text) = (source.base, source.text);
            if section.replace(row.section) != Some(row.section)
                && let Some(s) = sections.get(row.section as usize)
            {
                let _ = writeln!(out.text, "{:32}; section {}", "", s.name);
            }
            let at = ((row.at - base) as usize).min(text.len());
            let start = base + text[..at].rfind('\n').map_or(0, |n| n + 1) as u32;
            let end = next_line(text, at) as u32 + base;
            shown.resize(row.depth + 1, u32::MAX);
            let before = shown[row.depth];
            let again = before < base || before > end;
            // The lines in between hold no statements.
            if !again && before < start {
                out.plain(row.depth, before, start);
            }
            let fresh = again || before <= start;
            let line = match fresh {
                true => sources.text(Span { start, end }).trim_end(),
                false => "",
            };
            let data = (sections.get(row.section as usize))
                .and_then(|s| s.data.get(row.from as usize..row.to as usize))
                .unwrap_or(&[]);
            let offset = (row.to > row.from).then_some(row.from);
            if fresh && start < end || offset.is_some() {
                let first = &data[..data.len().min(BYTES)];
                out.line(row.depth, row.at, offset, first, line);
            }
            for (n, bytes) in data.chunks(BYTES).enumerate().skip(1) {
                let offset = row.from + (n * BYTES) as u64;
                if n >= MOST {
                    let left = data.len() - n * BYTES;
                    let _ = writeln!(out.text, "{:9}{offset:06x} … {left} bytes more", "");
                    break;
                }
                out.line(row.depth, row.at, Some(offset), bytes, "");
            }
            let last = base + text.len() as u32;
            let row_end = match text.as_bytes().get((row.end.min(last) - base) as usize - 1) {
                // The statement ended with the line, or before its end.
                Some(b'\n') | None => row.end.min(last),
                _ => end,
            };
            if row_end > end {
                out.plain(row.depth, end, row_end);
            }
            shown[row.depth] = row_end.max(end);
        }
        let end = sources.source(0).text.len() as u32;
        if shown[0] < end {
            out.plain(0, shown[0], end);
        }
        out.text
    }
}

struct Out<'a, 's> {
    text: String,
    sources: &'a Sources<'s>,
    lines: Lines,
}

impl Out<'_, '_> {
    /// Writes lines without statements.
    fn plain(&mut self, depth: usize, start: u32, end: u32) {
        let mut at = start;
        for line in self.sources.text(Span { start, end }).split_inclusive('\n') {
            self.line(depth, at, None, &[], line.trim_end());
            at += line.len() as u32;
        }
    }

    /// Writes one line: a `+` for each depth, the line's number in its file, offset, bytes, text.
    fn line(&mut self, depth: usize, at: u32, offset: Option<u64>, bytes: &[u8], line: &str) {
        let number = self.sources.file_and_line(at, &mut self.lines).1;
        let out = &mut self.text;
        let mark: String = "+".repeat(depth.min(3));
        let _ = write!(out, "{mark:3}{number:5} ");
        match offset {
            Some(offset) => {
                let _ = write!(out, "{offset:06x} ");
            }
            None => out.push_str("       "),
        }
        for byte in bytes {
            let _ = write!(out, "{byte:02x}");
        }
        if !line.is_empty() {
            let _ = write!(out, "{:1$}{line}", "", 18 - 2 * bytes.len());
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
}
