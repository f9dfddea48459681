//! The texts that are read: the file, the files that it includes, and macro expansions.
//!
//! Each text has its own range of offsets: a [`Span`] also identifies its text.

use crate::lexer::Span;
use crate::{Diagnostic, Level, Note};
use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use typed_arena::Arena;

/// One text.
pub(crate) struct Source<'s> {
    /// The offset of its first byte.
    pub base: u32,
    pub text: &'s str,
    pub origin: Origin,
}

/// The origin of a text.
pub(crate) enum Origin {
    /// A file, with the directive that included it.
    File {
        name: String,
        included: Option<Span>,
    },
    /// A macro or a repetition, with the statement that invoked it. Its lines are those of
    /// `body`, repeated as a whole.
    Expansion {
        what: String,
        called: Span,
        body: Span,
        /// The lines of `body`.
        lines: usize,
    },
}

/// A message and its span, before its line is looked up.
pub(crate) struct Message {
    pub level: Level,
    pub span: Span,
    pub text: String,
    pub help: Option<String>,
}

/// A line in a file.
struct SourceLine<'a> {
    file: &'a str,
    /// The line number, from 1.
    line: usize,
}

/// A line of the source.
struct Line<'s> {
    /// The column of the start of the span, in characters from 1.
    column: usize,
    /// The part of the text that the message refers to.
    span: Range<usize>,
    text: &'s str,
}

/// The maximum number of bytes of a line that a message shows.
const MAX_LINE: usize = 1000;
/// The maximum number of notes to one message (its macros and includes).
const MAX_NOTES: usize = 8;

pub(crate) struct Sources<'s> {
    store: &'s Arena<String>,
    list: Vec<Source<'s>>,
    /// The texts of included files; each file is read once.
    files: HashMap<PathBuf, &'s str>,
}

impl<'s> Sources<'s> {
    pub fn new(store: &'s Arena<String>, text: &'s str, file_name: &str) -> Sources<'s> {
        let origin = Origin::File {
            name: file_name.to_string(),
            included: None,
        };
        Sources {
            store,
            list: vec![Source {
                base: 0,
                text,
                origin,
            }],
            files: HashMap::new(),
        }
    }

    /// Adds a text; returns `None` when the offsets are used up, at 4 GiB.
    pub fn add(&mut self, text: &'s str, origin: Origin) -> Option<u32> {
        let last = self.list.last()?;
        let base = last.base as u64 + last.text.len() as u64 + 1;
        u32::try_from(base + text.len() as u64 + 1).ok()?;
        let base = base as u32;
        self.list.push(Source { base, text, origin });
        Some(base)
    }

    /// Stores a text for as long as the other texts.
    pub fn keep(&self, text: String) -> &'s str {
        self.store.alloc(text)
    }

    /// Returns the text of a file; `read` reads it the first time.
    pub fn file(
        &mut self,
        path: PathBuf,
        read: impl FnOnce() -> std::io::Result<String>,
    ) -> std::io::Result<&'s str> {
        if let Some(text) = self.files.get(&path) {
            return Ok(text);
        }
        let text = self.keep(read()?);
        self.files.insert(path, text);
        Ok(text)
    }

    fn index(&self, offset: u32) -> usize {
        (self.list.partition_point(|s| s.base <= offset)).saturating_sub(1)
    }

    /// Returns the text that an offset is in.
    pub fn source(&self, offset: u32) -> &Source<'s> {
        &self.list[self.index(offset)]
    }

    pub fn text(&self, span: Span) -> &'s str {
        let source = self.source(span.start);
        let at = |offset: u32| offset.saturating_sub(source.base) as usize;
        (source.text)
            .get(at(span.start)..at(span.end))
            .unwrap_or("")
    }

    /// Returns the name of the file that an offset is in, or of the file that defines the macro there.
    pub fn file_name(&self, mut offset: u32) -> &str {
        loop {
            match &self.source(offset).origin {
                Origin::File { name, .. } => return name,
                Origin::Expansion { body, .. } => offset = body.start,
            }
        }
    }

    /// Returns the file and line of an offset, for a message about another location.
    pub fn describe(&self, offset: u32) -> String {
        let mut lines = Lines::default();
        let location = self.location(offset, &mut lines);
        if location.file == self.file_name(0) {
            format!("line {}", location.line)
        } else {
            format!("{}:{}", location.file, location.line)
        }
    }

    /// Returns the file and line of an offset; in a macro's text, those of the macro's definition.
    pub fn file_and_line(&self, offset: u32, lines: &mut Lines) -> (&str, usize) {
        let location = self.location(offset, lines);
        (location.file, location.line)
    }

    fn location(&self, mut offset: u32, lines: &mut Lines) -> SourceLine<'_> {
        let mut skipped = 0;
        loop {
            let index = self.index(offset);
            let source = &self.list[index];
            let line = skipped + lines.line(index, source, offset);
            match &source.origin {
                Origin::File { name, .. } => {
                    return SourceLine {
                        file: name,
                        line: line + 1,
                    };
                }
                Origin::Expansion { body, lines, .. } => {
                    skipped = line % (*lines).max(1);
                    offset = body.start;
                }
            }
        }
    }

    /// Returns the source line of a span.
    fn line_of(&self, span: Span, lines: &mut Lines) -> Line<'s> {
        let index = self.index(span.start);
        let source = &self.list[index];
        let text = source.text;
        let at = |offset: u32| (offset.saturating_sub(source.base) as usize).min(text.len());
        let (start, end) = (at(span.start), at(span.end));
        let around = lines.around(index, source, span.start);
        let line_start = around.start;
        let line = text.get(around).unwrap_or("").trim_end_matches('\r');
        let boundary = |n: usize| {
            let mut n = n.min(line.len());
            while !line.is_char_boundary(n) {
                n -= 1;
            }
            n
        };
        let clip = |n: usize| boundary(n.saturating_sub(line_start));
        let (from, to) = (clip(start), clip(end));
        // For a very long line, only the part around the span.
        let first = match line.len() > MAX_LINE {
            true => boundary(from.saturating_sub(MAX_LINE / 4)),
            false => 0,
        };
        let shown = &line[first..boundary(first + MAX_LINE)];
        let within = |n: usize| n.saturating_sub(first).min(shown.len());
        Line {
            column: line[..from].chars().count() + 1,
            span: within(from)..within(to.max(from)),
            text: shown,
        }
    }

    /// Returns the position in the first file of the statement that caused the text at an offset to be read.
    fn outermost(&self, mut offset: u32) -> u32 {
        loop {
            match &self.source(offset).origin {
                Origin::File { included: None, .. } => return offset,
                Origin::File {
                    included: Some(span),
                    ..
                }
                | Origin::Expansion { called: span, .. } => offset = span.start,
            }
        }
    }

    /// Returns the statements that caused the text at an offset to be read, innermost first.
    fn notes(&self, mut offset: u32, lines: &mut Lines) -> Vec<Note> {
        let mut notes: Vec<Note> = Vec::new();
        let mut more = 0;
        loop {
            let (message, span) = match &self.source(offset).origin {
                Origin::File { included: None, .. } => break,
                Origin::File {
                    included: Some(span),
                    name,
                } => (format!("{name} is included here"), *span),
                Origin::Expansion { what, called, .. } => {
                    (format!("in the expansion of {what} here"), *called)
                }
            };
            offset = span.start;
            if notes.len() >= MAX_NOTES {
                more += 1;
                continue;
            }
            let line = self.line_of(span, lines);
            let location = self.location(span.start, lines);
            notes.push(Note {
                message,
                file: location.file.to_string(),
                line: location.line,
                column: line.column,
                span: line.span,
                source_line: line.text.to_string(),
            });
        }
        if more > 0
            && let Some(last) = notes.last_mut()
        {
            last.message = format!("{}, and {more} more around it", last.message);
        }
        notes
    }

    /// Finds the lines of messages and sorts the messages into source order.
    pub fn diagnostics(&self, mut messages: Vec<Message>) -> Vec<Diagnostic> {
        messages.sort_by_cached_key(|m| (self.outermost(m.span.start), m.span.start));
        let mut lines = Lines::default();
        messages
            .into_iter()
            .map(|m| {
                let line = self.line_of(m.span, &mut lines);
                let location = self.location(m.span.start, &mut lines);
                Diagnostic {
                    level: m.level,
                    message: m.text,
                    help: m.help,
                    file: location.file.to_string(),
                    line: location.line,
                    column: line.column,
                    span: line.span,
                    source_line: line.text.to_string(),
                    notes: self.notes(m.span.start, &mut lines),
                }
            })
            .collect()
    }
}

/// The line breaks of a text.
pub(crate) fn newlines(text: &str) -> usize {
    text.bytes().filter(|&c| c == b'\n').count()
}

/// The starts of the lines of texts, as far as they were scanned.
#[derive(Default)]
pub(crate) struct Lines(HashMap<usize, Vec<u32>>);

impl Lines {
    /// Returns the line, from 0, that an offset is in.
    fn line(&mut self, index: usize, source: &Source<'_>, offset: u32) -> usize {
        let breaks = self.breaks(index, source);
        breaks.partition_point(|&n| n < offset - source.base)
    }

    /// Returns the byte range of that line, without its line break.
    fn around(&mut self, index: usize, source: &Source<'_>, offset: u32) -> Range<usize> {
        let line = self.line(index, source, offset);
        let breaks = self.breaks(index, source);
        let start = line.checked_sub(1).map_or(0, |n| breaks[n] as usize + 1);
        let end = breaks.get(line).map_or(source.text.len(), |&n| n as usize);
        start..end
    }

    fn breaks(&mut self, index: usize, source: &Source<'_>) -> &[u32] {
        self.0.entry(index).or_insert_with(|| {
            (source.text.bytes().enumerate())
                .filter(|(_, c)| *c == b'\n')
                .map(|(n, _)| n as u32)
                .collect()
        })
    }
}
