//! Statements: labels, assignments, directives and instructions, into sections.

use crate::ahead::Ahead;
use crate::clrx::rocm::Rocm;
use crate::dwarf::Debug;
use crate::expand::{Condition, Frame, Macro, Now};
use crate::expr::{Expr, SymId, Variant};
use crate::hsa::CodeBlock;
use crate::lexer::{LexError, Lexer, Reading, Span, Tok, Token, unescape};
use crate::listing::Listing;
use crate::operand::is_capital_register;
use crate::parse::{Fail, Parser};
use crate::quick::{CodeLine, Named, Quick, ReadAhead, Run, State, next_line};
use crate::sections::Extra;
use crate::sources::{Message, Sources};
use crate::symbols::{Again, Def, Symbol, Symbols};
use crate::{Kernel, Level, Options, Syntax};
use gcn_isa::{Gen, Target};
use gcn_object::target::{Os, TargetId, Version};
use gcn_object::write::Section;
use gcn_object::{KernelBuilder, RelocationKind, SectionFlags, SectionKind, Visibility};
use std::collections::{HashMap, HashSet};
use typed_arena::Arena;

/// The kind of a fixup.
pub(crate) enum FixKind {
    Data(u8),
    /// A 32-bit literal. An address in it is relative to its own location, as in LLVM.
    Literal,
    /// A branch's SIMM16. In CLRX's syntax, a number is an address in the section.
    Branch {
        addresses: bool,
    },
    /// The relocation that `.reloc` requests, which leaves the bytes unchanged.
    Asked(RelocationKind),
}

pub(crate) struct Fixup {
    pub(crate) section: u32,
    pub(crate) offset: u64,
    pub(crate) kind: FixKind,
    pub(crate) expr: Expr,
    pub(crate) span: Span,
}

/// An `.amdhsa_kernel` block being read.
pub(crate) struct KernelBlock<'s> {
    pub(crate) name: &'s str,
    pub(crate) span: Span,
    pub(crate) builder: Option<KernelBuilder>,
    /// Directives whose values depend on symbols that are not known yet.
    pub(crate) waiting: Vec<Waiting>,
}

/// An `.amdhsa_` directive whose value depends on symbols that are not known yet.
pub(crate) struct Waiting {
    pub(crate) name: String,
    pub(crate) expr: Expr,
    pub(crate) span: Span,
}

/// A kernel descriptor that depends on symbols that are not known yet.
pub(crate) struct LateKernel {
    pub(crate) builder: KernelBuilder,
    pub(crate) waiting: Vec<Waiting>,
    /// Its number among the kernels, section and offset.
    pub(crate) kernel: usize,
    pub(crate) location: (u32, u64),
    pub(crate) span: Span,
}

/// The maximum size of a section, and of all sections together: a mistyped `.fill` must not use up all memory.
pub(crate) const MAX_SECTION: u64 = 1 << 28;
/// The minimum size of a text for which looking up the encodings of its instructions pays off.
pub(crate) const LEAST_QUICK: usize = 1 << 12;
/// Plain lines are read in pieces of this many bytes of text, whose results stay in the cache.
pub(crate) const PIECE: usize = 1 << 16;
/// The minimum size of the text that a thread reads at once: starting a thread takes time.
pub(crate) const LEAST_PART: usize = 1 << 17;
/// The maximum size of the text that a thread reads at once: its results take memory.
pub(crate) const MOST_PART: usize = 1 << 20;
/// The number of errors after which reading stops; further errors found at once are only counted.
pub(crate) const MAX_ERRORS: usize = 100;
/// The maximum number of warnings; further ones are only counted.
pub(crate) const MAX_WARNINGS: usize = 1000;
/// The maximum number of bytes of a message, which may contain a name from the text.
const MAX_MESSAGE: usize = 500;
/// The maximum alignment, which is also the object writer's limit.
pub(crate) const MAX_ALIGN: u64 = 1 << 20;

pub(crate) struct Asm<'s, 'o> {
    pub(crate) sources: Sources<'s>,
    pub(crate) options: &'o Options,
    /// The lexer of the current text.
    pub(crate) lexer: Lexer<'s>,
    /// The kind of the current text, and the texts that continue after it.
    pub(crate) now: Now,
    pub(crate) frames: Vec<Frame<'s>>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) macros: HashMap<&'s str, Macro<'s>>,
    /// The number of macro calls.
    pub(crate) calls: u32,
    /// The bytes that macros, repetitions and includes have produced from the source.
    pub(crate) spent: u64,
    /// True if a macro has the name of an instruction, or of a directive for data.
    pub(crate) shadowed: bool,
    /// True if reading stopped after an error.
    pub(crate) stopped: bool,
    pub(crate) tokens: Vec<Token>,
    /// Reads plain lines on this thread; other threads have readers of their own.
    pub(crate) quick: Option<Box<Quick<'s>>>,
    pub(crate) others: Vec<Quick<'s>>,
    /// The position from which plain lines may take the fast path again.
    pub(crate) quick_from: usize,
    /// The minimum size of a text that is worth a thread.
    pub(crate) least_part: usize,
    pub(crate) sym: Symbols<'s>,
    pub(crate) target: Option<Target>,
    /// The target with XNACK and SRAMECC settings, from `.amdgcn_target`.
    pub(crate) target_id: Option<(TargetId, Version)>,
    pub(crate) version: Option<Version>,
    pub(crate) os: Option<Os>,
    pub(crate) clrx: bool,
    pub(crate) permissive: bool,
    /// Addresses of output sections.
    pub(crate) section_locations: Vec<(String, u64)>,
    /// The names in the symbol table that differ from the symbols' own.
    pub(crate) renames: Vec<(SymId, String)>,
    pub(crate) quiet: bool,
    pub(crate) sections: Vec<Section>,
    /// The first `named` sections by name.
    pub(crate) sections_named: HashMap<String, Vec<usize>>,
    pub(crate) named: usize,
    /// The data of sections other than their bytes, by section number.
    pub(crate) extras: HashMap<u32, Extra>,
    pub(crate) current: u32,
    pub(crate) previous: u32,
    pub(crate) stack: Vec<(u32, u32)>,
    pub(crate) fixups: Vec<Fixup>,
    pub(crate) block: Option<KernelBlock<'s>>,
    /// An `.amd_kernel_code_t` block.
    pub(crate) code_block: Option<CodeBlock>,
    pub(crate) kernels: Vec<Kernel>,
    pub(crate) late_kernels: Vec<LateKernel>,
    pub(crate) metadata: Option<std::sync::Arc<Vec<u8>>>,
    pub(crate) ahead: Option<Ahead<'s>>,
    /// One more than the highest VGPR and SGPR of the statement being read.
    pub(crate) used: [u32; 2],
    /// The symbols that hold these numbers for all previous statements, and since a kernel began.
    pub(crate) next_free: [SymId; 2],
    pub(crate) kernel_counts: [SymId; 2],
    pub(crate) messages: Vec<Message>,
    /// The total number of bytes of all sections.
    pub(crate) filled: u64,
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    pub(crate) target_missing: bool,
    pub(crate) raw_blocker: Option<String>,
    /// The debugging information.
    pub(crate) debug: Debug,
    /// The state of CLRX's ROCm directives.
    pub(crate) rocm: Rocm,
    /// The state of CLRX's other directives.
    pub(crate) clrx_state: crate::clrx::State<'s>,
    /// Names of `.file` without a number.
    pub(crate) file_symbols: Vec<String>,
    /// The bytes of each statement, if a listing is requested.
    pub(crate) listing: Option<Listing>,
}

impl<'s, 'o> Asm<'s, 'o> {
    pub(crate) fn new(
        src: &'s str,
        file_name: &str,
        options: &'o Options,
        snippet: bool,
        store: &'s Arena<String>,
    ) -> Asm<'s, 'o> {
        let clrx = options.syntax == Syntax::Clrx;
        let reading = Reading {
            semicolon_separates: clrx || snippet,
            hash_comments: clrx,
            quotes: false,
        };
        let mut sym = Symbols::new();
        // Memory that is reserved and not used costs nothing; moving symbols to larger memory would.
        sym.list.reserve(src.len() / 1024);
        let mut fixed = |name: &str| {
            let id = sym.intern_made(name.to_string());
            sym.get_mut(id).def = Def::Absolute(0);
            id
        };
        let next_free = [
            fixed(".amdgcn.next_free_vgpr"),
            fixed(".amdgcn.next_free_sgpr"),
        ];
        let kernel_counts = [fixed(".kernel.vgpr_count"), fixed(".kernel.sgpr_count")];
        let mut asm = Asm {
            sources: Sources::new(store, src, file_name),
            options,
            lexer: Lexer::new(src, reading),
            now: Now::Text,
            frames: Vec::new(),
            conditions: Vec::new(),
            macros: HashMap::new(),
            calls: 0,
            spent: 0,
            shadowed: false,
            stopped: false,
            tokens: Vec::with_capacity(64),
            quick: None,
            others: Vec::new(),
            quick_from: if src.len() < LEAST_QUICK {
                usize::MAX
            } else {
                0
            },
            least_part: LEAST_PART,
            sym,
            target: None,
            target_id: None,
            version: options.version,
            os: options.os,
            clrx,
            permissive: options.permissive,
            section_locations: Vec::new(),
            renames: Vec::new(),
            quiet: false,
            sections: vec![Section::new(".text", SectionFlags::CODE, 4, Vec::new())],
            sections_named: HashMap::new(),
            named: 0,
            extras: HashMap::new(),
            current: 0,
            previous: 0,
            stack: Vec::new(),
            fixups: Vec::new(),
            block: None,
            code_block: None,
            kernels: Vec::new(),
            late_kernels: Vec::new(),
            metadata: None,
            ahead: None,
            used: [0; 2],
            next_free,
            kernel_counts,
            messages: Vec::new(),
            filled: 0,
            errors: 0,
            warnings: 0,
            target_missing: false,
            raw_blocker: None,
            debug: Debug::default(),
            rocm: Rocm::default(),
            clrx_state: crate::clrx::State::new(),
            file_symbols: Vec::new(),
            listing: options.listing.then(Listing::default),
        };
        // Editors of other systems put a byte order mark at the start.
        if src.starts_with('\u{feff}') {
            asm.lexer.pos = '\u{feff}'.len_utf8();
        }
        if let Some(target) = options.target {
            asm.set_target(target);
        }
        for (name, value) in &options.defines {
            let id = asm.sym.intern_made(name.clone());
            asm.sym.get_mut(id).def = Def::Absolute(*value);
        }
        asm
    }

    /// Returns the source's symbols if the source must be read again with names in capitals as registers: if one of
    /// these names cannot be a symbol, because nothing defines or declares it or because its line has an error.
    pub(crate) fn symbols_beside_capitals(&self) -> Option<HashSet<String>> {
        if !self.sym.capitals.seen.get() {
            return None;
        }
        let generation = self.target?.generation();
        let known = |symbol: &&Symbol<'_>| {
            symbol.def != Def::None
                || symbol.binding.is_some()
                || symbol.visibility != Visibility::Default
        };
        let register = |symbol: &Symbol<'_>| is_capital_register(symbol.name.as_str(), generation);
        let doubtful = self.sym.list.iter().any(|s| register(s) && !known(&s));
        if !doubtful && self.errors == 0 {
            return None;
        }
        let names = self.sym.list.iter().filter(known);
        Some(names.map(|s| s.name.as_str().to_string()).collect())
    }

    pub(crate) fn set_target(&mut self, target: Target) {
        self.target = Some(target);
        let digits = target.name().strip_prefix("gfx").unwrap_or("");
        let number = u32::from_str_radix(digits, 16).unwrap_or(0) as i64;
        for (name, value) in [
            (".amdgcn.gfx_generation_number", number >> 8),
            (".amdgcn.gfx_generation_minor", number >> 4 & 15),
            (".amdgcn.gfx_generation_stepping", number & 15),
            (".option.machine_version_major", number >> 8),
            (".option.machine_version_minor", number >> 4 & 15),
            (".option.machine_version_stepping", number & 15),
        ] {
            let id = self.sym.intern_made(name.to_string());
            self.sym.get_mut(id).def = Def::Absolute(value);
        }
    }

    pub(crate) fn message(
        &mut self,
        level: Level,
        span: Span,
        mut message: String,
        help: Option<String>,
    ) {
        match level {
            Level::Error => self.errors += 1,
            Level::Warning => self.warnings += 1,
        }
        if self.errors > MAX_ERRORS + 1 || level == Level::Warning && self.warnings > MAX_WARNINGS {
            return;
        }
        if message.len() > MAX_MESSAGE {
            let cut = (0..=MAX_MESSAGE).rfind(|at| message.is_char_boundary(*at));
            message.truncate(cut.unwrap_or(0));
            message.push('…');
        }
        self.messages.push(Message {
            level,
            span,
            text: message,
            help,
        });
    }

    pub(crate) fn fail(&mut self, fail: Fail) {
        self.message(Level::Error, fail.span, fail.message, fail.help);
    }

    /// Reads everything. Afterwards [`Asm::finish`] resolves the expressions that depended on symbols.
    pub(crate) fn run(&mut self) {
        let threads = self.options.threads.max(1);
        while !self.done() {
            let rest = self.lexer.src.len() - self.lexer.pos;
            let parts = threads.min(rest / self.least_part);
            match self.plain_state() {
                Some(state) if parts > 1 => self.read_ahead(parts, state),
                _ => self.step(self.lexer.src.len()),
            }
        }
        if !self.stopped {
            self.leave();
        }
        if self.errors >= MAX_ERRORS {
            return;
        }
        if let Some(block) = self.code_block.take() {
            self.message(
                Level::Error,
                block.span,
                "expected .end_amd_kernel_code_t: this block has no end".into(),
                None,
            );
        }
        if let Some(block) = self.block.take() {
            self.message(
                Level::Error,
                block.span,
                "expected .end_amdhsa_kernel: this block has no end".into(),
                None,
            );
        }
    }

    /// Returns true if everything was read, or the maximum number of errors was reached. Leaves texts that were
    /// read to their end.
    pub(crate) fn done(&mut self) -> bool {
        while self.lexer.at_end() && !self.frames.is_empty() && !self.stopped {
            self.leave();
        }
        self.lexer.at_end() || self.stopped || self.errors >= MAX_ERRORS
    }

    /// Returns the state that plain lines would be read with here; `None` if none are expected.
    pub(crate) fn plain_state(&self) -> Option<State> {
        let section = &self.sections[self.current as usize];
        let plain = self.lexer.line_start
            && self.lexer.pos >= self.quick_from
            && self.block.is_none()
            && self.code_block.is_none()
            && !self.rocm.on
            && self.sym.structure.is_none()
            && self.sym.variables.is_empty()
            && !self.shadowed
            && self.listing.is_none()
            && section.kind != SectionKind::NOBITS;
        Some(State {
            target: self.target.filter(|_| plain)?,
            clrx: self.clrx,
            reading: self.lexer.reading,
            positions: self.options.debug.is_some(),
        })
    }

    /// Reads plain lines up to `end`, or one statement.
    pub(crate) fn step(&mut self, end: usize) {
        let pos = self.lexer.pos;
        if self.block.is_some() && self.plain_settings() {
            return;
        }
        if let Some(state) = self.plain_state() {
            let mut quick = self
                .quick
                .take()
                .unwrap_or_else(|| Box::new(Quick::new(self.lexer.src, state)));
            quick.read_under(self.lexer.src, state);
            quick.clear();
            let read = quick.run(pos, end.min(pos + PIECE));
            let run = quick.all(pos..read);
            let took =
                read > pos && self.take_run(state, (&quick.out, &quick.named, &quick.code), &run);
            self.quick = Some(quick);
            if self.plain_declarations() || took {
                return;
            }
            self.quick_from = read;
        }
        self.one_statement();
    }

    pub(crate) fn one_statement(&mut self) {
        let mut tokens = std::mem::take(&mut self.tokens);
        let (start, location) = (self.lexer.base + self.lexer.pos as u32, self.location());
        let depth = self.frames.len();
        if let Err(LexError { span, message }) = self.lexer.statement(&mut tokens) {
            self.message(Level::Error, span, message, None);
        } else if let Err(fail) = self.statement(&tokens) {
            self.fail(fail);
        }
        let end = self.location();
        if let Some(listing) = &mut self.listing {
            let start = tokens.first().map_or(start, |t| t.span.start);
            // The statement may have started another text, or ended this one.
            let lexer = match self.frames.get(depth) {
                Some(frame) => &frame.lexer,
                None => &self.lexer,
            };
            let text = Span {
                start,
                end: (lexer.base + lexer.pos as u32).max(start),
            };
            listing.add(text, depth, location, end);
        }
        if self.errors >= MAX_ERRORS {
            let span = tokens.last().map_or(Span::default(), |t| t.span);
            self.message(
                Level::Error,
                span,
                format!("{MAX_ERRORS} errors: the rest was not read"),
                None,
            );
        }
        self.tokens = tokens;
    }

    /// Appends the results of plain lines, if the next statement starts where they do, up to a line that needs more: a branch
    /// to a number, or a label that is defined already. Returns false if nothing happened, and the first line must be read as
    /// a statement.
    pub(crate) fn take_run(
        &mut self,
        state: State,
        (out, named, code): (&[u8], &[Named], &[CodeLine]),
        run: &Run,
    ) -> bool {
        if self.lexer.pos != run.lines.start || self.plain_state() != Some(state) {
            return false;
        }
        let (_, size) = self.location();
        let bytes = run.bytes.end - run.bytes.start;
        if size.max(self.filled).saturating_add(bytes as u64) > MAX_SECTION {
            return false;
        }
        let mut taken = run.bytes.start;
        let (mut end, mut used) = (run.lines.end, run.used);
        for named in &named[run.named.clone()] {
            self.append(&out[taken..named.offset as usize]);
            taken = named.offset as usize;
            let name = &self.lexer.src[named.name.start as usize..named.name.end as usize];
            let span = named.name.moved(self.lexer.base);
            let id = match named.label {
                true => self.sym.intern_here(name),
                false => self.sym.intern(name),
            };
            let (section, offset) = self.location();
            let good = match named.label {
                true => self.sym.get(id).def == Def::None && self.define_label(id, span).is_ok(),
                // A number is not a label.
                false => self.sym.absolute(id).is_none(),
            };
            if !good {
                (end, used) = (named.line as usize, named.used);
                break;
            }
            if !named.label {
                self.fixups.push(Fixup {
                    section,
                    offset,
                    kind: FixKind::Branch {
                        addresses: self.clrx,
                    },
                    expr: Expr::Sym(id, Variant::None),
                    span,
                });
            }
        }
        if end == run.lines.end {
            self.append(&out[taken..run.bytes.end]);
            taken = run.bytes.end;
        }
        if taken > run.bytes.start {
            self.used = used;
            self.count_registers();
        }
        let some = end > run.lines.start;
        if some {
            self.plain_lines(&code[run.code.clone()], run.bytes.start, size, end);
            self.lexer.go_to_line(end);
        }
        some
    }

    /// Appends bytes of plain lines to the current section.
    fn append(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.line_waits() {
            self.begin_line();
        }
        let section = &mut self.sections[self.current as usize];
        section.data.extend_from_slice(bytes);
        section.size += bytes.len() as u64;
        self.filled += bytes.len() as u64;
    }

    /// Reads the rest of the text on up to `threads` threads. The other threads read the plain lines of its parts
    /// ahead, with the current state. When this thread reaches a part, it uses the results if they begin at the start
    /// of a statement and the state is still the same; it reads all other lines itself. It ends early if the state has
    /// changed.
    pub(crate) fn read_ahead(&mut self, threads: usize, state: State) {
        let src = self.lexer.src;
        let depth = self.frames.len();
        let start = self.lexer.pos;
        let size = ((src.len() - start) / (4 * threads)).clamp(self.least_part, MOST_PART);
        let mut ends: Vec<usize> = (start..src.len())
            .step_by(size)
            .map(|at| next_line(src, (at + size).min(src.len())))
            .collect();
        ends.dedup();
        let mut readers = std::mem::take(&mut self.others);
        readers.resize_with(threads - 1, || Quick::new(src, state));
        let ahead = ReadAhead::new(src, &ends, readers.len());
        std::thread::scope(|scope| {
            let mut started = Vec::new();
            for mut quick in readers {
                quick.read_under(src, state);
                let ahead = &ahead;
                let reader =
                    std::thread::Builder::new().spawn_scoped(scope, move || ahead.read(quick));
                match reader {
                    Ok(reader) => started.push(reader),
                    Err(_) => ahead.refused(),
                }
            }
            // The first part is read here.
            self.read_to(depth, ends.first().copied().unwrap_or(start));
            for (n, &end) in ends.iter().enumerate().skip(1) {
                let left = self.done() || self.frames.len() < depth;
                // Plain lines are not expected within a block, but the state returns after it.
                if left || self.plain_state().is_some_and(|now| now != state) {
                    break;
                }
                // If no thread was available, or all failed, the lines are read here.
                if let Some(part) = ahead.take(n) {
                    for run in &part.runs {
                        self.read_to(depth, run.lines.start);
                        if !self.done() && self.frames.len() == depth {
                            let lines = (&part.out[..], &part.named[..], &part.code[..]);
                            self.take_run(state, lines, run);
                        }
                    }
                    ahead.give_back(part);
                }
                self.read_to(depth, end);
            }
            ahead.stop();
            let readers = started.into_iter().filter_map(|reader| reader.join().ok());
            self.others.extend(readers);
        });
    }

    /// Reads all statements of the text at a depth that start before `end`, and the texts that
    /// they produce.
    pub(crate) fn read_to(&mut self, depth: usize, end: usize) {
        while !self.done()
            && (self.frames.len() > depth || self.frames.len() == depth && self.lexer.pos < end)
        {
            let end = match self.frames.len() > depth {
                true => self.lexer.src.len(),
                false => end,
            };
            self.step(end);
        }
    }

    /// Returns a part of the text that is being read.
    pub(crate) fn text(&self, span: Span) -> &'s str {
        let at = |offset: u32| offset.wrapping_sub(self.lexer.base) as usize;
        (self.lexer.src)
            .get(at(span.start)..at(span.end))
            .unwrap_or("")
    }

    pub(crate) fn location(&self) -> (u32, u64) {
        (self.current, self.sections[self.current as usize].size)
    }

    pub(crate) fn parser<'a>(&'a mut self, tokens: &'a [Token]) -> Parser<'s, 'a> {
        Parser {
            src: self.lexer.src,
            base: self.lexer.base,
            tokens,
            at: 0,
            location: self.location(),
            clrx: self.clrx,
            target: self.target.unwrap_or_else(|| Target::of(Gen::Gfx9)),
            sym: &mut self.sym,
            used: &mut self.used,
        }
    }

    pub(crate) fn statement(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let mut tokens = tokens;
        loop {
            let first = tokens[0];
            let second = tokens.get(1).map_or(Tok::End, |t| t.tok);
            let text = self.text(first.span);
            if self.code_block.is_some() && first.tok != Tok::End {
                return self.kernel_code_line(tokens, text);
            }
            match (first.tok, second) {
                (Tok::End, _) => return Ok(()),
                (Tok::Ident | Tok::Punct(b':'), Tok::Punct(b':'))
                    if self.clrx && is_scoped(tokens) =>
                {
                    match self.scoped_statement(tokens)? {
                        Some(read) => tokens = &tokens[read..],
                        None => return Ok(()),
                    }
                }
                (Tok::Ident | Tok::Str, Tok::Punct(b':'))
                    if !(self.clrx && is_before_path(tokens)) =>
                {
                    let name = text.trim_matches('"');
                    let id = self.sym.intern_here(name);
                    self.define_label(id, first.span)?;
                    tokens = &tokens[2..];
                }
                (Tok::Int(n), Tok::Punct(b':')) => {
                    let Ok(n) = u32::try_from(n) else {
                        return Err(Fail::new(first.span, "expected a smaller label number"));
                    };
                    let id = self.sym.define_local(n);
                    self.define_label(id, first.span)?;
                    tokens = &tokens[2..];
                }
                (Tok::Ident, Tok::Punct(b'=')) => {
                    if tokens[2].tok == Tok::Punct(b'%') {
                        let id = self.sym.intern_here(text);
                        return self.assign_register(tokens, 3, id, Again::Yes);
                    }
                    let mut p = self.parser(tokens);
                    p.at = 2;
                    let expr = p.expr()?;
                    p.end()?;
                    return self.assign(text, expr, first.span);
                }
                (Tok::Ident, _) if !self.macros.is_empty() && self.call_macro(tokens, text)? => {
                    return Ok(());
                }
                (Tok::Ident, _) if text.starts_with('.') => {
                    return self.directive(tokens, text);
                }
                (Tok::Ident, _) => return self.instruction(tokens),
                _ => {
                    return Err(Fail::new(
                        first.span,
                        "expected a label, a directive or an instruction",
                    ));
                }
            }
        }
    }

    pub(crate) fn define_label(&mut self, id: SymId, span: Span) -> Result<(), Fail> {
        if let Some(at) = self.sym.structure {
            return self.define(id, Def::Absolute(at), Again::No, span);
        }
        let (section, offset) = self.location();
        let symbol = self.sym.get_mut(id);
        if symbol.def != Def::None {
            let name = symbol.name.as_str().to_string();
            let fail = Fail::new(span, format!("'{name}' is defined twice"));
            return Err(if symbol.defined_at == u32::MAX {
                fail
            } else {
                fail.help(format!(
                    "it is defined in {} already",
                    self.sources.describe(symbol.defined_at)
                ))
            });
        }
        symbol.def = Def::Label(section, offset);
        symbol.defined_at = span.start;
        self.rocm_label(id);
        Ok(())
    }

    pub(crate) fn assign(&mut self, name: &'s str, expr: Expr, span: Span) -> Result<(), Fail> {
        if name == "." {
            return self.org(&expr, span, 0);
        }
        let id = self.sym.intern_here(name);
        if self.clrx {
            return self.assign_to(id, expr, Again::Yes, span);
        }
        let def = match self.sym.evaluate(&expr) {
            Ok(value) if value.is_absolute() => Def::Absolute(value.addend),
            _ => Def::Alias(expr),
        };
        let symbol = self.sym.get_mut(id);
        match symbol.def {
            Def::None | Def::Absolute(_) => {}
            _ => return Err(Fail::new(span, format!("'{name}' is defined already"))),
        }
        symbol.def = def;
        symbol.defined_at = span.start;
        Ok(())
    }

    pub(crate) fn instruction(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let span = tokens[0].span;
        if self.block.is_some() {
            return Err(Fail::new(
                span,
                "expected an .amdhsa_ directive or .end_amdhsa_kernel",
            ));
        }
        if self.target.is_none() {
            if std::mem::replace(&mut self.target_missing, true) {
                return Ok(());
            }
            return Err(Fail::new(
                span,
                "the target is not known: expected .amdgcn_target before",
            )
            .help("--arch gfx900 or `.arch gfx900` names it, too"));
        }
        let permissive = self.permissive;
        self.used = [0; 2];
        let insn = self.read_instruction(tokens, permissive)?;
        if !self.sym.variables.is_empty() {
            self.check_variables(span);
            let named = std::mem::take(&mut self.sym.variables_used);
            self.used = [0, 1].map(|n| self.used[n].max(named[n]));
        }
        self.rocm_registers(self.used, tokens);
        self.count_registers();
        if !self.quiet {
            for v in &insn.violations {
                self.message(Level::Warning, v.span, v.message.into(), None);
            }
        }
        if std::mem::take(&mut self.sym.beyond) {
            let text = "the name stands for fewer registers than are counted from it here";
            self.message(Level::Warning, span, text.into(), None);
        }
        if let Some((span, message)) = insn.warning {
            self.message(Level::Warning, span, message.into(), None);
        }
        let (section, offset) = self.location();
        self.own_line(span);
        if self.sym.guessed.replace(false) {
            self.read_later(tokens, insn.len);
        }
        self.emit(span, &insn.bytes[..insn.len])?;
        if let Some((expr, span)) = insn.branch {
            self.fixups.push(Fixup {
                section,
                offset,
                kind: FixKind::Branch {
                    addresses: self.clrx,
                },
                expr,
                span,
            });
        }
        if let Some((expr, span)) = insn.literal {
            let offset = offset + insn.len as u64 - 4;
            self.fixups.push(Fixup {
                section,
                offset,
                kind: FixKind::Literal,
                expr,
                span,
            });
        }
        Ok(())
    }

    /// Reads an instruction in the selected syntax. If the syntax is to be detected, CLRX's is tried for instructions
    /// that LLVM's rejects.
    fn read_instruction(
        &mut self,
        tokens: &[Token],
        permissive: bool,
    ) -> Result<crate::insn::Assembled, Fail> {
        self.sym.guess = self.clrx;
        let mut read = self.parser(tokens).instruction(permissive);
        if read.is_err() && !self.clrx && self.options.syntax == Syntax::Auto {
            self.sym.guess = true;
            self.sym.strict = true;
            let mut p = self.parser(tokens);
            p.clrx = true;
            if let Ok(insn) = p.instruction(permissive) {
                read = Ok(insn);
            }
            self.sym.strict = false;
        }
        self.sym.guess = false;
        if read.is_err() {
            self.sym.guessed.set(false);
        }
        read
    }

    /// Raises the symbols that count registers to the registers named since.
    pub(crate) fn count_registers(&mut self) {
        let counts = (self.next_free.into_iter().zip(self.used))
            .chain(self.kernel_counts.into_iter().zip(self.used));
        for (id, used) in counts {
            if let Def::Absolute(value) = &mut self.sym.get_mut(id).def {
                *value = (*value).max(used as i64);
            }
        }
        // A symbol that was set back counts only the registers named from then on.
        self.used = [0; 2];
    }

    pub(crate) fn room(&self, span: Span, more: u64) -> Result<(), Fail> {
        let section = &self.sections[self.current as usize];
        let what = if section.size.saturating_add(more) > MAX_SECTION {
            "this makes the section"
        } else if section.kind != SectionKind::NOBITS
            && self.filled.saturating_add(more) > MAX_SECTION
        {
            "this makes all sections together"
        } else {
            return Ok(());
        };
        let most = MAX_SECTION >> 20;
        Err(Fail::new(span, format!("{what} larger than {most} MiB")))
    }

    pub(crate) fn emit(&mut self, span: Span, bytes: &[u8]) -> Result<(), Fail> {
        self.room(span, bytes.len() as u64)?;
        if self.sym.structure.is_some() {
            return match bytes {
                [] => Ok(()),
                _ => Err(Fail::new(span, NO_BYTES).help("`.text` goes on after a structure")),
            };
        }
        if self.line_waits() && !bytes.is_empty() {
            self.begin_line();
        }
        let section = &mut self.sections[self.current as usize];
        if section.kind == SectionKind::NOBITS {
            if bytes.iter().any(|&b| b != 0) {
                return Err(Fail::new(
                    span,
                    format!("section '{}' holds zeros only", section.name),
                ));
            }
        } else {
            section.data.extend_from_slice(bytes);
            self.filled += bytes.len() as u64;
        }
        section.size += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn emit_repeated(
        &mut self,
        span: Span,
        count: u64,
        pattern: &[u8],
    ) -> Result<(), Fail> {
        let total = count.saturating_mul(pattern.len() as u64);
        self.room(span, total)?;
        if let Some(at) = self.sym.structure {
            self.sym.structure = Some(at.wrapping_add(total as i64));
            return Ok(());
        }
        let section = &mut self.sections[self.current as usize];
        if section.kind == SectionKind::NOBITS {
            if count > 0 && pattern.iter().any(|&b| b != 0) {
                return Err(Fail::new(
                    span,
                    format!("section '{}' holds zeros only", section.name),
                ));
            }
        } else if section.data.is_empty() && *pattern == [0] {
            // The system allocates zeroed memory only when it is written.
            section.data = vec![0; total as usize].into();
        } else if let [byte] = pattern {
            section
                .data
                .resize(section.data.len() + total as usize, *byte);
        } else {
            for _ in 0..count {
                section.data.extend_from_slice(pattern);
            }
        }
        if section.kind != SectionKind::NOBITS {
            self.filled += total;
        }
        section.size += total;
        Ok(())
    }

    /// Runs `read` on the tokens after the directive's name.
    pub(crate) fn parse<T>(
        &mut self,
        tokens: &[Token],
        read: impl FnOnce(&mut Parser<'s, '_>) -> Result<T, Fail>,
    ) -> Result<T, Fail> {
        let mut p = self.parser(tokens);
        p.at = 1;
        read(&mut p)
    }
}

/// Returns true if a statement begins with a name that has scopes before it: `a::b` or `::b`.
fn is_scoped(tokens: &[Token]) -> bool {
    let at = usize::from(tokens[0].tok == Tok::Ident);
    is_path_from(tokens, at) && (at == 0 || tokens[0].span.end == tokens[1].span.start)
}

/// Returns true if a path begins after a statement's first word: `.byte ::b`.
fn is_before_path(tokens: &[Token]) -> bool {
    is_path_from(tokens, 1) && tokens[0].span.end < tokens[1].span.start
}

/// Returns true if the tokens from `at` on are `::` and a name.
fn is_path_from(tokens: &[Token], at: usize) -> bool {
    let colon = Tok::Punct(b':');
    let [first, second, name, ..] = &tokens[at..] else {
        return false;
    };
    first.tok == colon
        && second.tok == colon
        && first.span.end == second.span.start
        && name.tok == Tok::Ident
}

/// The error for bytes in a structure that `.struct` or `.offset` began.
const NO_BYTES: &str = "a structure has places and no bytes";

impl<'s> Parser<'s, '_> {
    /// Reads a name, which may be quoted.
    pub(crate) fn one_name(&mut self, what: &str) -> Result<&'s str, Fail> {
        let span = self.span();
        match self.peek() {
            Tok::Str => {
                self.next();
                Ok(self.text(span).trim_matches('"'))
            }
            _ => self.ident(what),
        }
    }

    pub(crate) fn symbol_name(&mut self) -> Result<SymId, Fail> {
        if self.clrx
            && self.peek() != Tok::Str
            && let Some(id) = self.used_symbol()?
        {
            return Ok(id);
        }
        let name = self.one_name("a symbol")?;
        Ok(self.sym.intern(name))
    }

    pub(crate) fn one_string(&mut self) -> Result<Vec<u8>, Fail> {
        let bytes = self.string()?;
        self.end()?;
        Ok(bytes)
    }

    pub(crate) fn string(&mut self) -> Result<Vec<u8>, Fail> {
        let span = self.span();
        if self.peek() != Tok::Str {
            return Err(Fail::new(
                span,
                format!("expected a string, found {}", self.found()),
            ));
        }
        self.next();
        unescape(self.text(span)).map_err(|m| Fail::new(span, m))
    }
}
