//! The assembler: text in LLVM's or CLRX's syntax to bytes and code objects.
//!
//! The text is read once. Every instruction's size is known when it is read: labels get their addresses immediately,
//! and references to later labels are resolved at the end. Instructions are found in [`gcn_isa::insts`] by name and the
//! first encoding that fits the operands is used; no instruction is treated specially by name. Lines of registers and
//! numbers take a fast path without tokens, on up to [`Options::threads`] threads, with the same result as reading line
//! by line.
//!
//! # One instruction into a buffer
//!
//! ```
//! use gcn_isa::Target;
//! let gfx900 = Target::parse("gfx900").unwrap();
//! let mut code = Vec::new();
//! assert_eq!(gcn_asm::assemble_into(gfx900, "s_add_u32 s2, s0, s1", &mut code), Ok(4));
//! assert_eq!(gcn_asm::assemble_into(gfx900, "v_mov_b32 v0, 0x1234", &mut code), Ok(8));
//! assert_eq!(code[..4], 0x8002_0100u32.to_le_bytes());
//!
//! // An error has its location, and nothing is appended.
//! let errors = gcn_asm::assemble_into(gfx900, "s_add_u32 s2, v0, s1", &mut code).unwrap_err();
//! assert_eq!(errors[0].message, "expected an SGPR or a constant");
//! assert_eq!(errors[0].span, 14..16);
//! assert_eq!(code.len(), 12);
//! ```
//!
//! # A file
//!
//! ```
//! use gcn_asm::{Options, assemble, render};
//! let source = "
//!     .amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"
//!     .globl start
//! start:
//!     s_branch start
//!     s_endpgm
//! ";
//! let output = assemble(source, "start.s", &Options::default());
//! let object = output.object.expect("no errors");
//! assert_eq!(object.text().len(), 8);
//! let file: Vec<u8> = object.loadable().expect("all symbols are defined");
//! assert_eq!(&file[..4], b"\x7fELF");
//!
//! // Messages as a compiler shows them.
//! let output = assemble(&source.replace("s_endpgm", "s_endprg"), "start.s", &Options::default());
//! assert!(output.object.is_none());
//! assert_eq!(
//!     render(&output.diagnostics, false),
//!     "\
//! error: there is no instruction or directive `s_endprg`
//!  --> start.s:6:5
//!   |
//! 6 |     s_endprg
//!   |     ^^^^^^^^
//!   |
//!   = help: did you mean `s_endpgm`?
//! "
//! );
//! ```
//!
//! # Instructions alone
//!
//! ```
//! use gcn_asm::{Options, assemble};
//! use gcn_isa::Target;
//! let options = Options {
//!     target: Target::parse("gfx803"),
//!     text_only: true,
//!     threads: 4,
//!     ..Options::default()
//! };
//! let output = assemble(&"v_add_f32_e32 v0, v1, v2\n".repeat(1000), "many.s", &options);
//! let bytes = output.object.expect("no errors").into_raw().expect("needs no linker");
//! assert_eq!(bytes.len(), 4000);
//! ```
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod ahead;
mod asm;
mod clrx;
mod data;
mod direct;
mod directives;
mod dwarf;
mod expand;
mod expr;
mod hexadecimal;
mod hsa;
mod insn;
mod kernel;
mod lexer;
mod link;
mod listing;
mod operand;
mod parse;
mod quick;
#[cfg(test)]
mod same;
mod sections;
mod sources;
mod symbols;

use crate::ahead::Ahead;
pub use crate::ahead::KnownMetadata;
use crate::asm::Asm;
use crate::lexer::Span;
use crate::sources::{Message, Sources};
use annotate_snippets::{AnnotationKind, Group, Renderer, Snippet};
use gcn_isa::Target;
use gcn_object::read::{Relocation, Symbol};
use gcn_object::target::{Abi, Os, TargetId, Version};
use gcn_object::write::{self, Builder, Section};
use gcn_object::{Bytes, Error, KernelDescriptor};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use typed_arena::Arena;

/// The syntax that applies where the two dialects differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Syntax {
    /// LLVM's, until `.syntax clrx` or a directive that only CLRX has.
    #[default]
    Auto,
    /// LLVM's.
    Llvm,
    /// CLRX's.
    Clrx,
}

/// The options of [`assemble`].
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The target; if `None`, `.amdgcn_target`, `.arch` or `.gpu` sets it.
    pub target: Option<Target>,
    /// The syntax.
    pub syntax: Syntax,
    /// The code object version; if `None`, the directives and metadata set it, and v4 is the default.
    pub version: Option<Version>,
    /// The operating system that the file is for; if `None`, the directives set it, and HSA is the default.
    pub os: Option<Os>,
    /// If set, the file gets every instruction's line as DWARF, with this as the folder that file names are relative
    /// to. A source with `.loc` or debugging information of its own keeps that instead.
    pub debug: Option<String>,
    /// Reports broken operand rules as warnings if the instruction can still be encoded.
    pub permissive: bool,
    /// Symbols with their values, as `.set` would define them.
    pub defines: Vec<(String, i64)>,
    /// Requests only the bytes of `.text`: the result has neither symbols nor relocations, which
    /// saves memory for large texts.
    pub text_only: bool,
    /// The maximum number of threads that read the text; 0 and 1 mean the caller's thread alone. Short texts are always
    /// read on one thread. The result does not depend on it.
    pub threads: usize,
    /// The folders, in addition to the current one, in which `.include` and `.incbin` look for files. If `None`, both
    /// directives are refused, so that an untrusted text reads no file.
    pub files: Option<Vec<PathBuf>>,
    /// The maximum number of bytes of text that macros, repetitions and includes may produce; 64 MiB if `None`.
    pub budget: Option<u64>,
    /// Requests [`Output::listing`].
    pub listing: bool,
    /// Kernel metadata that need not be read again if the text has them. An empty block in the text stands for them.
    pub metadata: Option<Arc<KnownMetadata>>,
}

/// The result of [`assemble`].
#[derive(Clone, Debug)]
pub struct Output {
    /// The assembled object; `None` if there were errors.
    pub object: Option<Assembled>,
    /// Errors and warnings in source order.
    pub diagnostics: Vec<Diagnostic>,
    /// The text beside its addresses and bytes, if [`Options::listing`] is set.
    pub listing: Option<String>,
    /// The output of `.print`, one line each.
    pub printed: String,
}

/// The severity of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Nothing was assembled.
    Error,
    /// The text was assembled, but may not be what was intended.
    Warning,
}

/// A message about a part of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Error or warning.
    pub level: Level,
    /// The expected input and the actual input.
    pub message: String,
    /// A suggestion.
    pub help: Option<String>,
    /// The file's name as given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The bytes of the line that the message refers to.
    pub span: Range<usize>,
    /// The line without its line break; in a macro's text, the line with its arguments inserted.
    pub source_line: String,
    /// The macros and includes through which the line was read, innermost first.
    pub notes: Vec<Note>,
}

/// A statement that caused the line of a [`Diagnostic`] to be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The action of the statement.
    pub message: String,
    /// The file's name as given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The bytes of the line that the note refers to.
    pub span: Range<usize>,
    /// The line without its line break.
    pub source_line: String,
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let level = match self.level {
            Level::Error => "error",
            Level::Warning => "warning",
        };
        let Diagnostic {
            file,
            line,
            column,
            message,
            ..
        } = self;
        write!(f, "{file}:{line}:{column}: {level}: {message}")
    }
}

/// A kernel with its descriptor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Its descriptor, in which the distance to the code is not set yet.
    pub descriptor: KernelDescriptor,
}

/// The assembled sections and all data that belongs to them.
#[derive(Clone, PartialEq, Debug)]
pub struct Assembled {
    /// The target.
    pub target: Target,
    /// The target with its XNACK and SRAMECC settings.
    pub target_id: TargetId,
    /// The code object version of the files to write.
    pub version: Version,
    /// The operating system that the files are for.
    pub os: Os,
    /// The `e_flags` of the files, if the source sets them (`.eflags`).
    pub flags: Option<u32>,
    /// The sections; the first is `.text`.
    pub sections: Vec<Section>,
    /// The symbols, whose addresses are offsets in their sections.
    pub symbols: Vec<Symbol>,
    /// The relocations that a linker must apply.
    pub relocations: Vec<Relocation>,
    /// The kernels in the order of their descriptors.
    pub kernels: Vec<Kernel>,
    /// The kernel metadata, as msgpack.
    pub metadata: Option<Arc<Vec<u8>>>,
    /// Output sections of the loadable file whose addresses the source sets.
    pub section_locations: Vec<(String, u64)>,
    /// Groups of sections; a linker keeps one group of each name.
    pub groups: Vec<write::Group>,
    /// Sections, each with the section that it describes (`SHF_LINK_ORDER`).
    pub links: Vec<(usize, usize)>,
    raw_blocker: Option<String>,
}

impl Assembled {
    /// Returns the bytes of `.text`. Distances within it are resolved.
    pub fn text(&self) -> &[u8] {
        self.sections.first().map_or(&[], |s| &s.data)
    }

    /// Returns the bytes of `.text`, if they are complete without a linker.
    ///
    /// # Errors
    /// A message that names the parts that need a linker.
    pub fn raw(&self) -> Result<&[u8], String> {
        match &self.raw_blocker {
            Some(what) => Err(format!(".text alone is not complete: {what}")),
            None => Ok(self.text()),
        }
    }

    /// Like [`Assembled::raw`], without a copy.
    ///
    /// # Errors
    /// A message that names the parts that need a linker.
    pub fn into_raw(self) -> Result<Bytes, String> {
        self.raw()?;
        let text = self.sections.into_iter().next();
        Ok(text.map_or(Bytes::new(), |section| section.data))
    }

    /// Returns the operating system and code object version of the files to write.
    pub fn abi(&self) -> Abi {
        match self.os {
            Os::Hsa => self.version.into(),
            os => Abi {
                os,
                version: Version::V2,
            },
        }
    }

    /// Returns a [`Builder`] with everything, ready to be written.
    pub fn builder(&self) -> Builder {
        self.clone().into_builder()
    }

    /// Like [`Assembled::builder`], without a copy.
    pub fn into_builder(self) -> Builder {
        let mut builder = Builder::new(self.target_id, self.abi());
        if let Some(flags) = self.flags {
            builder.set_flags(flags);
        }
        for section in self.sections {
            builder.section(section);
        }
        for symbol in self.symbols {
            builder.symbol(symbol);
        }
        for relocation in self.relocations {
            builder.relocation(relocation);
        }
        for group in self.groups {
            builder.group(group);
        }
        for (section, about) in self.links {
            builder.link_order(section, about);
        }
        for (name, address) in &self.section_locations {
            builder.place_at(name, *address);
        }
        builder
    }

    /// Returns a loadable file (ET_DYN).
    ///
    /// # Errors
    /// See [`Builder::loadable`]: an undefined symbol, or a distance that does not fit.
    pub fn loadable(&self) -> Result<Vec<u8>, Error> {
        self.builder().loadable()
    }

    /// Returns a relocatable file (ET_REL), for a linker.
    ///
    /// # Errors
    /// See [`Builder::relocatable`].
    pub fn relocatable(&self) -> Result<Vec<u8>, Error> {
        self.builder().relocatable()
    }
}

/// Assembles a file's text. `file_name` is used in messages.
pub fn assemble(source: &str, file_name: &str, options: &Options) -> Output {
    run(source, file_name, options, false)
}

/// Assembles one instruction, appends its bytes to `out` and returns their number, 4 to 12. Several
/// instructions, separated by line breaks or `;`, are accepted as well.
///
/// # Errors
/// The errors in the text, including broken operand rules. Nothing is appended then.
pub fn assemble_into(
    target: Target,
    instruction: &str,
    out: &mut Vec<u8>,
) -> Result<usize, Vec<Diagnostic>> {
    let bytes = assemble_snippet(target, instruction, false)?;
    out.extend_from_slice(&bytes);
    Ok(bytes.len())
}

/// Assembles instructions that are separated by line breaks or `;` and returns their bytes.
/// Labels may be used.
///
/// # Errors
/// The errors in the text. With `permissive`, broken operand rules are not errors.
pub fn assemble_snippet(
    target: Target,
    source: &str,
    permissive: bool,
) -> Result<Vec<u8>, Vec<Diagnostic>> {
    snippet(target, source, Syntax::Llvm, permissive)
}

/// Like [`assemble_snippet`], in the given syntax.
///
/// # Errors
/// See [`assemble_snippet`].
pub fn snippet(
    target: Target,
    source: &str,
    syntax: Syntax,
    permissive: bool,
) -> Result<Vec<u8>, Vec<Diagnostic>> {
    let options = Options {
        target: Some(target),
        syntax,
        permissive,
        ..Options::default()
    };
    let output = run(source, "", &options, true);
    match output.object {
        Some(object) => match object.into_raw() {
            Ok(bytes) => Ok(bytes.into_vec()),
            Err(message) => {
                let all = Span {
                    start: 0,
                    end: source.len() as u32,
                };
                Err(one_error(source, "", all, message))
            }
        },
        None => Err(output.diagnostics),
    }
}

fn run(source: &str, file_name: &str, options: &Options, snippet: bool) -> Output {
    if u32::try_from(source.len()).is_err() {
        let message = "the file is larger than 4 GiB".to_string();
        return Output {
            object: None,
            diagnostics: one_error("", file_name, Span::default(), message),
            listing: None,
            printed: String::new(),
        };
    }
    let store = Arena::new();
    if options.threads < 2 || source.len() < asm::MOST_PART {
        return run_with(source, file_name, options, snippet, &store, None);
    }
    std::thread::scope(|scope| {
        let ahead = Ahead::start(scope, source);
        run_with(source, file_name, options, snippet, &store, ahead)
    })
}

fn run_with<'s>(
    source: &'s str,
    file_name: &str,
    options: &Options,
    snippet: bool,
    store: &'s Arena<String>,
    ahead: Option<Ahead<'s>>,
) -> Output {
    let mut asm = Asm::new(source, file_name, options, snippet, store);
    asm.ahead = ahead;
    asm.run();
    if let Some(symbols) = asm.symbols_beside_capitals() {
        asm = Asm::new(source, file_name, options, snippet, store);
        asm.sym.capitals.symbols = Some(symbols);
        asm.run();
    }
    asm.finish()
}

fn one_error(source: &str, file: &str, span: Span, text: String) -> Vec<Diagnostic> {
    let store = Arena::new();
    Sources::new(&store, source, file).diagnostics(vec![Message {
        level: Level::Error,
        span,
        text,
        help: None,
    }])
}

/// Renders diagnostics as text, with their source lines; in colour if `color`.
pub fn render(diagnostics: &[Diagnostic], color: bool) -> String {
    let renderer = if color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut out = String::new();
    for d in diagnostics {
        let level = match d.level {
            Level::Error => annotate_snippets::Level::ERROR,
            Level::Warning => annotate_snippets::Level::WARNING,
        };
        let group: Group<'_> = level.primary_title(d.message.as_str()).element(marked(
            &d.source_line,
            &d.file,
            d.line,
            &d.span,
        ));
        let mut report = vec![group];
        if let Some(help) = &d.help {
            let last = report
                .pop()
                .map(|g| g.element(annotate_snippets::Level::HELP.message(help.as_str())));
            report.extend(last);
        }
        for note in &d.notes {
            let title = annotate_snippets::Level::NOTE.secondary_title(note.message.as_str());
            let location = marked(&note.source_line, &note.file, note.line, &note.span);
            report.push(title.element(location));
        }
        out.push_str(&renderer.render(&report));
        out.push('\n');
    }
    out
}

/// A line with a part of it marked.
fn marked<'a>(
    line: &'a str,
    file: &'a str,
    number: usize,
    span: &Range<usize>,
) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let snippet = Snippet::source(line)
        .line_start(number)
        .annotation(AnnotationKind::Primary.span(span.clone()));
    match file {
        "" => snippet,
        file => snippet.path(file),
    }
}
