//! The assembler: text in LLVM's or CLRX's spelling to bytes and code objects.
//!
//! The text is read once. Every instruction's size is known when it is read, so labels have their
//! addresses at once, and what waits for later labels is filled in at the end. Instructions are
//! found in [`gcn_isa::insts`] by name and the first encoding that fits the operands is taken;
//! nothing here knows an instruction by name. Lines of registers and numbers go a short way
//! without tokens, on as many threads as [`Options::threads`] allows; the result is always that
//! of reading line by line.
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
//! // What is wrong comes with its place, and nothing is appended.
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

mod asm;
mod clrx;
mod data;
mod direct;
mod directives;
mod dwarf;
mod expand;
mod expr;
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

use crate::asm::Asm;
use crate::lexer::Span;
use crate::sources::{Message, Sources};
use annotate_snippets::{AnnotationKind, Group, Renderer, Snippet};
use gcn_isa::Target;
use gcn_object::read::{Relocation, Symbol};
use gcn_object::target::{Abi, Os, TargetId, Version};
use gcn_object::write::{self, Builder, Section};
use gcn_object::{Error, KernelDescriptor};
use std::ops::Range;
use std::path::PathBuf;
use typed_arena::Arena;

/// How lines that the two spellings read differently are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Syntax {
    /// As LLVM reads them, until `.syntax clrx` or a directive that only CLRX has.
    #[default]
    Auto,
    /// As LLVM reads them.
    Llvm,
    /// As CLRX reads them.
    Clrx,
}

/// What [`assemble`] is told beside the text.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The target; `None` leaves it to `.amdgcn_target`, `.arch` or `.gpu`.
    pub target: Option<Target>,
    /// The spelling.
    pub syntax: Syntax,
    /// The code object version; `None` leaves it to the directives and metadata, and then to v4.
    pub version: Option<Version>,
    /// The system that the file is for; `None` leaves it to the directives, and then to HSA.
    pub os: Option<Os>,
    /// Each instruction's line goes into the file as DWARF, with this as the folder that file names are relative to. A source
    /// that says `.loc` or has debugging information keeps its own.
    pub debug: Option<String>,
    /// Broken operand rules are warnings where the instruction can be encoded all the same.
    pub permissive: bool,
    /// Symbols with their values, as `.set` would define them.
    pub defines: Vec<(String, i64)>,
    /// Only the bytes of `.text` are wanted: the result has neither symbols nor relocations, which
    /// saves the memory of a large text's.
    pub text_only: bool,
    /// On how many threads the text is read: 0 and 1 are the caller's alone. Short texts are read
    /// on one whatever this says. The result does not depend on it.
    pub threads: usize,
    /// Where `.include` and `.incbin` look for files beside the current folder. With `None` they
    /// are refused, so that a text from elsewhere reads no file.
    pub files: Option<Vec<PathBuf>>,
    /// Bytes of text that macros, repetitions and includes may make of the source; 64 MiB if `None`.
    pub budget: Option<u64>,
    /// Whether [`Output::listing`] is wanted.
    pub listing: bool,
}

/// What [`assemble`] gives.
#[derive(Clone, Debug)]
pub struct Output {
    /// The result; `None` if there were errors.
    pub object: Option<Assembled>,
    /// Errors and warnings in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// The text beside its addresses and bytes, where [`Options::listing`] asks for it.
    pub listing: Option<String>,
    /// What `.print` said, a line each.
    pub printed: String,
}

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Nothing was assembled.
    Error,
    /// It was assembled, but is perhaps not what was meant.
    Warning,
}

/// What is wrong, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Error or warning.
    pub level: Level,
    /// What was expected and what was found.
    pub message: String,
    /// What may help.
    pub help: Option<String>,
    /// The file's name as given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The bytes of the line that it is about.
    pub span: Range<usize>,
    /// The line without its line break; of a macro's text, the line with its arguments.
    pub source_line: String,
    /// Through which macros and includes the line was read, innermost first.
    pub notes: Vec<Note>,
}

/// A statement that had the line of a [`Diagnostic`] read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// What it did.
    pub message: String,
    /// The file's name as given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The bytes of the line that it is about.
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
    /// Its descriptor, in which the distance to the code is not yet set.
    pub descriptor: KernelDescriptor,
}

/// Assembled sections and all that belongs to them.
#[derive(Clone, PartialEq, Debug)]
pub struct Assembled {
    /// The target.
    pub target: Target,
    /// The target with its XNACK and SRAMECC settings.
    pub target_id: TargetId,
    /// The code object version of the files to write.
    pub version: Version,
    /// The system that the files are for.
    pub os: Os,
    /// The `e_flags` of the files, if the source says them (`.eflags`).
    pub flags: Option<u32>,
    /// The sections; the first is `.text`.
    pub sections: Vec<Section>,
    /// The symbols, whose addresses are offsets in their sections.
    pub symbols: Vec<Symbol>,
    /// What a linker must fill in.
    pub relocations: Vec<Relocation>,
    /// The kernels in the order of their descriptors.
    pub kernels: Vec<Kernel>,
    /// The kernel metadata, as msgpack.
    pub metadata: Option<Vec<u8>>,
    /// Output sections of the loadable file that have their addresses from the source.
    pub section_places: Vec<(String, u64)>,
    /// Groups of sections of which a linker keeps one.
    pub groups: Vec<write::Group>,
    /// Sections with those that they are about.
    pub links: Vec<(usize, usize)>,
    raw_blocker: Option<String>,
}

impl Assembled {
    /// The bytes of `.text`. Distances within it are filled in.
    pub fn text(&self) -> &[u8] {
        self.sections.first().map_or(&[], |s| &s.data)
    }

    /// The bytes of `.text`, if they are complete without a linker.
    ///
    /// # Errors
    /// What needs a linker.
    pub fn raw(&self) -> Result<&[u8], String> {
        match &self.raw_blocker {
            Some(what) => Err(format!(".text alone is not complete: {what}")),
            None => Ok(self.text()),
        }
    }

    /// As [`Assembled::raw`], without a copy.
    ///
    /// # Errors
    /// What needs a linker.
    pub fn into_raw(self) -> Result<Vec<u8>, String> {
        self.raw()?;
        Ok(self
            .sections
            .into_iter()
            .next()
            .map_or(Vec::new(), |section| section.data))
    }

    /// The form of the files to write.
    pub fn abi(&self) -> Abi {
        match self.os {
            Os::Hsa => self.version.into(),
            os => Abi {
                os,
                version: Version::V2,
            },
        }
    }

    /// Everything, ready to be written.
    pub fn builder(&self) -> Builder {
        self.clone().into_builder()
    }

    /// As [`Assembled::builder`], without a copy.
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
        for (name, address) in &self.section_places {
            builder.place_at(name, *address);
        }
        builder
    }

    /// A loadable file (ET_DYN).
    ///
    /// # Errors
    /// As [`Builder::loadable`]: an undefined symbol, a distance that does not fit.
    pub fn loadable(&self) -> Result<Vec<u8>, Error> {
        self.builder().loadable()
    }

    /// A relocatable file (ET_REL), for a linker.
    ///
    /// # Errors
    /// As [`Builder::relocatable`].
    pub fn relocatable(&self) -> Result<Vec<u8>, Error> {
        self.builder().relocatable()
    }
}

/// Assembles a file's text. `file_name` is for messages.
pub fn assemble(source: &str, file_name: &str, options: &Options) -> Output {
    run(source, file_name, options, false)
}

/// Assembles one instruction and appends its bytes to `out`; gives how many, 4 to 12. Several
/// instructions, separated by line breaks or `;`, are taken as well.
///
/// # Errors
/// What is wrong with the text, broken operand rules among it. Nothing is appended then.
pub fn assemble_into(
    target: Target,
    instruction: &str,
    out: &mut Vec<u8>,
) -> Result<usize, Vec<Diagnostic>> {
    let bytes = assemble_snippet(target, instruction, false)?;
    out.extend_from_slice(&bytes);
    Ok(bytes.len())
}

/// Assembles instructions that are separated by line breaks or `;` and gives their bytes.
/// Labels may be used.
///
/// # Errors
/// What is wrong with the text. With `permissive`, broken operand rules are not among it.
pub fn assemble_snippet(
    target: Target,
    source: &str,
    permissive: bool,
) -> Result<Vec<u8>, Vec<Diagnostic>> {
    snippet(target, source, Syntax::Llvm, permissive)
}

/// As [`assemble_snippet`], in a spelling of choice.
///
/// # Errors
/// As [`assemble_snippet`].
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
            Ok(bytes) => Ok(bytes),
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
    let mut asm = Asm::new(source, file_name, options, snippet, &store);
    asm.run();
    if let Some(symbols) = asm.symbols_beside_capitals() {
        asm = Asm::new(source, file_name, options, snippet, &store);
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

/// Diagnostics as text for people, with the lines they are about; in colour if `color`.
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
            let place = marked(&note.source_line, &note.file, note.line, &note.span);
            report.push(title.element(place));
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
