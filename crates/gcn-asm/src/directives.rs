//! Statements: labels, assignments, directives and instructions, into sections.

use crate::expr::{EvalError, Expr, Op, SymId, Term, Value, Variant};
use crate::insn::nearest;
use crate::lexer::{LexError, Lexer, Reading, Span, Tok, Token, unescape};
use crate::operand::Lower;
use crate::parse::{Fail, Parser};
use crate::quick::{Quick, Run, State, next_line};
use crate::symbols::{Def, Name, Symbols};
use crate::{Assembled, Diagnostic, Kernel, Level, Options, Syntax};
use gcn_isa::{Gen, Target};
use gcn_object::read::{Relocation, Symbol};
use gcn_object::target::{Machine, TargetId, Version};
use gcn_object::write::Section;
use gcn_object::{
    Binding, KernelBuilder, RelocationKind, SectionFlags, SectionKind, SymbolKind, SymbolSection,
    Visibility, metadata,
};

/// What the bytes at a place wait for.
enum FixKind {
    Data(u8),
    /// A 32-bit literal: an address in it is relative to its place, as in LLVM.
    Literal,
    Branch,
}

struct Fixup {
    section: u32,
    offset: u64,
    kind: FixKind,
    expr: Expr,
    span: Span,
}

/// An `.amdhsa_kernel` block being read.
struct KernelBlock<'s> {
    name: &'s str,
    span: Span,
    builder: Option<KernelBuilder>,
}

/// A section may not grow beyond this: a slip of the pen in `.fill` shall not take all memory.
const MAX_SECTION: u64 = 1 << 28;
/// The least text that is worth looking up how its instructions are encoded.
const LEAST_QUICK: usize = 1 << 12;
/// Plain lines are read in pieces of so much text, so that their bytes stay in the cache.
const PIECE: usize = 1 << 16;
/// The text that a thread reads at once: from this, as starting a thread takes time,
const LEAST_PART: usize = 1 << 17;
/// to this, as what it reads takes memory.
const MOST_PART: usize = 1 << 20;
/// Errors after which reading stops.
const MAX_ERRORS: usize = 100;
/// Alignments may not exceed this, which is also the object writer's limit.
const MAX_ALIGN: u64 = 1 << 20;

pub(crate) struct Asm<'s, 'o> {
    src: &'s str,
    options: &'o Options,
    lexer: Lexer<'s>,
    tokens: Vec<Token>,
    /// Reads plain lines; the others do so on other threads.
    quick: Option<Quick<'s>>,
    others: Vec<Quick<'s>>,
    /// Where plain lines may be read the short way again.
    pub quick_from: usize,
    /// The least text that is worth a thread.
    pub least_part: usize,
    sym: Symbols<'s>,
    target: Option<Target>,
    /// With XNACK and SRAMECC settings, from `.amdgcn_target`.
    target_id: Option<(TargetId, Version)>,
    version: Option<Version>,
    clrx: bool,
    permissive: bool,
    quiet: bool,
    pub sections: Vec<Section>,
    current: u32,
    previous: u32,
    stack: Vec<(u32, u32)>,
    fixups: Vec<Fixup>,
    block: Option<KernelBlock<'s>>,
    kernels: Vec<Kernel>,
    metadata: Option<Vec<u8>>,
    used: [u32; 2],
    next_free: [SymId; 2],
    /// (level, span, message, help).
    messages: Vec<(Level, Span, String, Option<String>)>,
    errors: usize,
    target_missing: bool,
    raw_blocker: Option<String>,
}

static DIRECTIVES: &[&str] = &[
    ".text",
    ".data",
    ".bss",
    ".rodata",
    ".section",
    ".previous",
    ".pushsection",
    ".popsection",
    ".p2align",
    ".align",
    ".balign",
    ".globl",
    ".global",
    ".protected",
    ".hidden",
    ".internal",
    ".weak",
    ".local",
    ".type",
    ".size",
    ".set",
    ".equ",
    ".byte",
    ".short",
    ".2byte",
    ".hword",
    ".long",
    ".4byte",
    ".int",
    ".word",
    ".quad",
    ".8byte",
    ".ascii",
    ".asciz",
    ".string",
    ".zero",
    ".space",
    ".skip",
    ".fill",
    ".org",
    ".ident",
    ".addrsig",
    ".file",
    ".loc",
    ".amdgcn_target",
    ".amdhsa_code_object_version",
    ".amdhsa_kernel",
    ".end_amdhsa_kernel",
    ".amdgpu_metadata",
    ".end_amdgpu_metadata",
    ".gcn_permissive",
    ".arch",
    ".gpu",
    ".syntax",
    ".comm",
    ".float",
    ".single",
    ".double",
    ".half",
    ".end",
    ".rawcode",
    ".warning",
    ".error",
];

impl<'s, 'o> Asm<'s, 'o> {
    pub fn new(src: &'s str, options: &'o Options, snippet: bool) -> Asm<'s, 'o> {
        let clrx = options.syntax == Syntax::Clrx;
        let reading = Reading {
            semicolon_separates: clrx || snippet,
            hash_comments: clrx,
        };
        let mut sym = Symbols::new();
        let mut fixed = |name: &str| {
            let id = sym.intern_made(name.to_string());
            sym.get_mut(id).def = Def::Absolute(0);
            id
        };
        let next_free = [
            fixed(".amdgcn.next_free_vgpr"),
            fixed(".amdgcn.next_free_sgpr"),
        ];
        let mut asm = Asm {
            src,
            options,
            lexer: Lexer::new(src, reading),
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
            version: None,
            clrx,
            permissive: options.permissive,
            quiet: false,
            sections: vec![Section::new(".text", SectionFlags::CODE, 4, Vec::new())],
            current: 0,
            previous: 0,
            stack: Vec::new(),
            fixups: Vec::new(),
            block: None,
            kernels: Vec::new(),
            metadata: None,
            used: [0; 2],
            next_free,
            messages: Vec::new(),
            errors: 0,
            target_missing: false,
            raw_blocker: None,
        };
        if let Some(target) = options.target {
            asm.set_target(target);
        }
        for (name, value) in &options.defines {
            let id = asm.sym.intern_made(name.clone());
            asm.sym.get_mut(id).def = Def::Absolute(*value);
        }
        asm
    }

    fn set_target(&mut self, target: Target) {
        self.target = Some(target);
        let digits = target.name().strip_prefix("gfx").unwrap_or("");
        let number = u32::from_str_radix(digits, 16).unwrap_or(0) as i64;
        for (name, value) in [
            (".amdgcn.gfx_generation_number", number >> 8),
            (".amdgcn.gfx_generation_minor", number >> 4 & 15),
            (".amdgcn.gfx_generation_stepping", number & 15),
        ] {
            let id = self.sym.intern_made(name.to_string());
            self.sym.get_mut(id).def = Def::Absolute(value);
        }
    }

    fn message(&mut self, level: Level, span: Span, message: String, help: Option<String>) {
        self.errors += (level == Level::Error) as usize;
        self.messages.push((level, span, message, help));
    }

    fn fail(&mut self, fail: Fail) {
        self.message(Level::Error, fail.span, fail.message, fail.help);
    }

    /// Reads everything. Afterwards [`Asm::finish`] resolves what waited for symbols.
    pub fn run(&mut self) {
        let threads = self.options.threads.max(1);
        while !self.done() {
            let rest = self.src.len() - self.lexer.pos;
            let parts = threads.min(rest / self.least_part);
            match self.plain_state() {
                Some(state) if parts > 1 => self.read_parts(parts, state),
                _ => self.step(self.src.len()),
            }
        }
        if self.errors >= MAX_ERRORS {
            return;
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

    /// Whether everything was read, or enough errors were found.
    fn done(&self) -> bool {
        self.lexer.at_end() || self.errors >= MAX_ERRORS
    }

    /// What plain lines would be read under here; `None` where none are expected.
    fn plain_state(&self) -> Option<State> {
        let section = &self.sections[self.current as usize];
        let plain = self.lexer.line_start
            && self.lexer.pos >= self.quick_from
            && self.block.is_none()
            && section.kind != SectionKind::NOBITS;
        Some(State {
            target: self.target.filter(|_| plain)?,
            clrx: self.clrx,
            reading: self.lexer.reading,
        })
    }

    /// Reads plain lines up to `end`, or one statement.
    fn step(&mut self, end: usize) {
        let pos = self.lexer.pos;
        if let Some(state) = self.plain_state() {
            let mut quick = self
                .quick
                .take()
                .unwrap_or_else(|| Quick::new(self.src, state));
            quick.set_state(state);
            quick.clear();
            let read = quick.run(pos, end.min(pos + PIECE));
            let took = read > pos && self.take_run(&quick, &quick.all(pos..read));
            self.quick = Some(quick);
            if took {
                return;
            }
            self.quick_from = read;
        }
        self.one_statement();
    }

    fn one_statement(&mut self) {
        let mut tokens = std::mem::take(&mut self.tokens);
        if let Err(LexError { span, message }) = self.lexer.statement(&mut tokens) {
            self.message(Level::Error, span, message, None);
        } else if let Err(fail) = self.statement(&tokens) {
            self.fail(fail);
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

    /// Appends what plain lines became, if the next statement starts where they do. Where it
    /// cannot, nothing happens, and the lines must be read as statements.
    fn take_run(&mut self, quick: &Quick<'s>, run: &Run) -> bool {
        if self.lexer.pos != run.lines.start || self.plain_state() != Some(quick.state()) {
            return false;
        }
        let (current, size) = self.place();
        let bytes = &quick.out[run.bytes.clone()];
        if size.saturating_add(bytes.len() as u64) > MAX_SECTION {
            return false;
        }
        let fixups = self.fixups.len();
        for branch in &quick.branches[run.branches.clone()] {
            let label = branch.label;
            let name = &self.src[label.start as usize..label.end as usize];
            let id = self.sym.intern(name);
            if self.sym.absolute(id).is_some() {
                // It is no label but a number.
                self.fixups.truncate(fixups);
                return false;
            }
            self.fixups.push(Fixup {
                section: current,
                offset: size + (branch.offset as usize - run.bytes.start) as u64,
                kind: FixKind::Branch,
                expr: Expr::Sym(id, Variant::None),
                span: label,
            });
        }
        let section = &mut self.sections[current as usize];
        section.data.extend_from_slice(bytes);
        section.size += bytes.len() as u64;
        if !bytes.is_empty() {
            self.used = [0, 1].map(|n| self.used[n].max(run.used[n]));
            self.count_registers();
        }
        self.lexer.go_to_line(run.lines.end);
        true
    }

    /// Reads the next `parts` parts of the text on as many threads. The first is read here, as
    /// always; of the others, other threads read the plain lines under the state that is now.
    /// When it is their turn, what they became is taken if they stand where a statement starts
    /// and the state is still the same; all other lines are read then.
    fn read_parts(&mut self, parts: usize, state: State) {
        let src = self.src;
        let start = self.lexer.pos;
        let size = ((src.len() - start) / parts).clamp(self.least_part, MOST_PART);
        let mut ends: Vec<usize> = (1..=parts)
            .map(|n| next_line(src, (start + n * size).min(src.len())))
            .collect();
        ends.dedup();
        let mut others = std::mem::take(&mut self.others);
        others.resize_with(parts - 1, || Quick::new(src, state));
        std::thread::scope(|scope| {
            let mut readers = Vec::new();
            for (part, mut quick) in ends.windows(2).zip(others) {
                let part = part[0]..part[1];
                quick.set_state(state);
                let reader = std::thread::Builder::new().spawn_scoped(scope, move || {
                    let runs = quick.runs(part);
                    (quick, runs)
                });
                readers.push(reader);
            }
            self.read_to(ends[0]);
            for (reader, &end) in readers.into_iter().zip(&ends[1..]) {
                // What a thread could not read is read here.
                if let Some((quick, runs)) = reader.ok().and_then(|r| r.join().ok()) {
                    for run in &runs {
                        self.read_to(run.lines.start);
                        if !self.done() {
                            self.take_run(&quick, run);
                        }
                    }
                    self.others.push(quick);
                }
                self.read_to(end);
            }
        });
    }

    /// Reads all statements that start before `end`.
    fn read_to(&mut self, end: usize) {
        while self.lexer.pos < end && !self.done() {
            self.step(end);
        }
    }

    fn place(&self) -> (u32, u64) {
        (self.current, self.sections[self.current as usize].size)
    }

    fn parser<'a>(&'a mut self, tokens: &'a [Token]) -> Parser<'s, 'a> {
        Parser {
            src: self.src,
            tokens,
            at: 0,
            place: self.place(),
            clrx: self.clrx,
            target: self.target.unwrap_or_else(|| Target::of(Gen::Gfx9)),
            sym: &mut self.sym,
            used: &mut self.used,
        }
    }

    fn statement(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let mut tokens = tokens;
        loop {
            let first = tokens[0];
            let second = tokens.get(1).map_or(Tok::End, |t| t.tok);
            let text = self
                .src
                .get(first.span.start as usize..first.span.end as usize);
            let text = text.unwrap_or("");
            match (first.tok, second) {
                (Tok::End, _) => return Ok(()),
                (Tok::Ident | Tok::Str, Tok::Punct(b':')) => {
                    let name = text.trim_matches('"');
                    let id = self.sym.intern(name);
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
                    let mut p = self.parser(tokens);
                    p.at = 2;
                    let expr = p.expr()?;
                    p.end()?;
                    return self.assign(text, expr, first.span);
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

    fn define_label(&mut self, id: SymId, span: Span) -> Result<(), Fail> {
        let (section, offset) = self.place();
        let symbol = self.sym.get_mut(id);
        if symbol.def != Def::None {
            let name = symbol.name.as_str().to_string();
            let line = 1 + self.src.as_bytes()
                [..symbol.defined_at.min(self.src.len() as u32) as usize]
                .iter()
                .filter(|&&c| c == b'\n')
                .count();
            let fail = Fail::new(span, format!("'{name}' is defined twice"));
            return Err(if symbol.defined_at == u32::MAX {
                fail
            } else {
                fail.help(format!("it is defined in line {line} already"))
            });
        }
        symbol.def = Def::Label(section, offset);
        symbol.defined_at = span.start;
        Ok(())
    }

    fn assign(&mut self, name: &'s str, expr: Expr, span: Span) -> Result<(), Fail> {
        if name == "." {
            return self.org(&expr, span, 0);
        }
        let id = self.sym.intern(name);
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

    fn instruction(&mut self, tokens: &[Token]) -> Result<(), Fail> {
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
        let insn = self.parser(tokens).instruction(permissive)?;
        self.count_registers();
        if !self.quiet {
            for v in &insn.violations {
                self.message(Level::Warning, v.span, v.message.into(), None);
            }
        }
        if let Some((span, message)) = insn.warning {
            self.message(Level::Warning, span, message.into(), None);
        }
        let (section, offset) = self.place();
        self.emit(span, &insn.bytes[..insn.len])?;
        if let Some((expr, span)) = insn.branch {
            self.fixups.push(Fixup {
                section,
                offset,
                kind: FixKind::Branch,
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

    /// Raises the symbols that count the registers used.
    fn count_registers(&mut self) {
        for (id, used) in self.next_free.into_iter().zip(self.used) {
            if let Def::Absolute(value) = &mut self.sym.get_mut(id).def {
                *value = (*value).max(used as i64);
            }
        }
    }

    fn room(&self, span: Span, more: u64) -> Result<(), Fail> {
        let size = self.sections[self.current as usize].size;
        if size.saturating_add(more) > MAX_SECTION {
            return Err(Fail::new(
                span,
                format!(
                    "this makes the section larger than {} MiB",
                    MAX_SECTION >> 20
                ),
            ));
        }
        Ok(())
    }

    fn emit(&mut self, span: Span, bytes: &[u8]) -> Result<(), Fail> {
        self.room(span, bytes.len() as u64)?;
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
        }
        section.size += bytes.len() as u64;
        Ok(())
    }

    fn emit_repeated(&mut self, span: Span, count: u64, pattern: &[u8]) -> Result<(), Fail> {
        let total = count.saturating_mul(pattern.len() as u64);
        self.room(span, total)?;
        let section = &mut self.sections[self.current as usize];
        if section.kind == SectionKind::NOBITS {
            if count > 0 && pattern.iter().any(|&b| b != 0) {
                return Err(Fail::new(
                    span,
                    format!("section '{}' holds zeros only", section.name),
                ));
            }
        } else if let [byte] = pattern {
            section
                .data
                .resize(section.data.len() + total as usize, *byte);
        } else {
            section.data.reserve(total as usize);
            for _ in 0..count {
                section.data.extend_from_slice(pattern);
            }
        }
        section.size += total;
        Ok(())
    }

    fn org(&mut self, expr: &Expr, span: Span, fill: u8) -> Result<(), Fail> {
        let (current, at) = self.place();
        let wanted = match self.sym.evaluate(expr) {
            Ok(v) if v.is_absolute() => v.addend,
            Ok(Value {
                addend,
                plus: Some(Term::Place(s, offset, _, _)),
                minus: None,
            }) if s == current => addend.wrapping_add(offset as i64),
            _ => {
                return Err(Fail::new(
                    span,
                    "expected an offset in this section that is known here",
                ));
            }
        };
        match u64::try_from(wanted).ok().and_then(|w| w.checked_sub(at)) {
            Some(gap) => self.emit_repeated(span, gap, &[fill]),
            None => Err(Fail::new(
                span,
                format!("expected an offset of {at} or more"),
            )),
        }
    }

    fn switch(&mut self, section: u32) {
        self.previous = self.current;
        self.current = section;
    }

    fn named_section(
        &mut self,
        name: &str,
        given: Option<(SectionFlags, Option<SectionKind>, u64)>,
        span: Span,
    ) -> Result<u32, Fail> {
        let found = self.sections.iter().position(|s| s.name == name);
        if let Some(n) = found {
            let section = &self.sections[n];
            if let Some((flags, kind, _)) = given
                && (section.flags != flags || kind.is_some_and(|k| k != section.kind))
            {
                return Err(Fail::new(
                    span,
                    format!("section '{name}' was made with other flags or another type"),
                ));
            }
            return Ok(n as u32);
        }
        let is = |stem: &str| {
            name == stem || name.strip_prefix(stem).is_some_and(|r| r.starts_with('.'))
        };
        let default = if is(".rodata") || name == ".rodata1" {
            SectionFlags::ALLOC
        } else if is(".text") || is(".init") || is(".fini") {
            SectionFlags::CODE
        } else if is(".data")
            || name == ".data1"
            || is(".bss")
            || is(".init_array")
            || is(".fini_array")
        {
            SectionFlags::DATA
        } else {
            SectionFlags(0)
        };
        let (flags, kind, entry_size) = given.unwrap_or((default, None, 0));
        let kind = kind.unwrap_or(if name.starts_with(".note") {
            SectionKind::NOTE
        } else if is(".bss") {
            SectionKind::NOBITS
        } else {
            SectionKind::PROGBITS
        });
        if self.sections.len() > 10_000 {
            return Err(Fail::new(span, "expected fewer sections"));
        }
        let mut section =
            Section::new(name, flags, if name == ".text" { 4 } else { 1 }, Vec::new());
        section.kind = kind;
        section.entry_size = entry_size;
        self.sections.push(section);
        Ok(self.sections.len() as u32 - 1)
    }

    fn directive(&mut self, tokens: &[Token], text: &'s str) -> Result<(), Fail> {
        let span = tokens[0].span;
        let lower = Lower::new(text);
        let name = lower.as_ref().map_or("", Lower::as_str);
        if name.starts_with(".amdhsa_")
            && name != ".amdhsa_code_object_version"
            && name != ".amdhsa_kernel"
        {
            return self.amdhsa(tokens, name);
        }
        if self.block.is_some() && name != ".end_amdhsa_kernel" {
            return Err(Fail::new(
                span,
                "expected an .amdhsa_ directive or .end_amdhsa_kernel",
            ));
        }
        match name {
            ".text" | ".data" | ".bss" | ".rodata" => {
                self.parse(tokens, |p| p.end())?;
                let section = self.named_section(name, None, span)?;
                self.switch(section);
                Ok(())
            }
            ".section" | ".pushsection" => {
                if name == ".pushsection" {
                    if self.stack.len() >= 1000 {
                        return Err(Fail::new(span, "expected fewer .pushsection"));
                    }
                    self.stack.push((self.current, self.previous));
                }
                self.section(tokens)
            }
            ".popsection" => {
                self.parse(tokens, |p| p.end())?;
                match self.stack.pop() {
                    Some((current, previous)) => {
                        (self.current, self.previous) = (current, previous);
                        Ok(())
                    }
                    None => Err(Fail::new(span, "expected a .pushsection before this")),
                }
            }
            ".previous" => {
                self.parse(tokens, |p| p.end())?;
                std::mem::swap(&mut self.current, &mut self.previous);
                Ok(())
            }
            ".p2align" | ".align" | ".balign" => self.align(tokens, name == ".p2align"),
            ".globl" | ".global" | ".protected" | ".hidden" | ".internal" | ".weak" | ".local" => {
                let ids = self.parse(tokens, |p| {
                    let mut ids = Vec::new();
                    loop {
                        ids.push(p.symbol_name()?);
                        if !p.eat(b',') {
                            break;
                        }
                    }
                    p.end()?;
                    Ok(ids)
                })?;
                for id in ids {
                    let symbol = self.sym.get_mut(id);
                    match name {
                        ".protected" => symbol.visibility = Visibility::Protected,
                        ".hidden" => symbol.visibility = Visibility::Hidden,
                        ".internal" => symbol.visibility = Visibility::Internal,
                        ".weak" => symbol.binding = Some(Binding::Weak),
                        ".local" => symbol.binding = Some(Binding::Local),
                        _ if symbol.binding == Some(Binding::Weak) => {}
                        _ => symbol.binding = Some(Binding::Global),
                    }
                }
                Ok(())
            }
            ".type" => {
                let (id, kind) = self.parse(tokens, |p| {
                    let id = p.symbol_name()?;
                    p.eat(b',');
                    if !p.eat(b'@') && !p.eat(b'%') {
                        p.eat(b'#');
                    }
                    let span = p.span();
                    let word = match p.peek() {
                        Tok::Str => {
                            p.next();
                            p.text(span).trim_matches('"')
                        }
                        _ => p.ident("@function, @object or @notype")?,
                    };
                    p.end()?;
                    let kind = match word {
                        "function" | "STT_FUNC" => SymbolKind::Func,
                        "object" | "STT_OBJECT" => SymbolKind::Object,
                        "notype" | "STT_NOTYPE" => SymbolKind::NoType,
                        "amdgpu_hsa_kernel" => SymbolKind::Other(10),
                        _ => {
                            return Err(Fail::new(span, "expected @function, @object or @notype"));
                        }
                    };
                    Ok((id, kind))
                })?;
                self.sym.get_mut(id).kind = kind;
                Ok(())
            }
            ".size" => {
                let (id, expr) = self.parse(tokens, |p| {
                    let id = p.symbol_name()?;
                    p.expect(b',')?;
                    let expr = p.expr()?;
                    p.end()?;
                    Ok((id, expr))
                })?;
                self.sym.get_mut(id).size = Some(expr);
                Ok(())
            }
            ".set" | ".equ" | ".equiv" => {
                let (word, at, expr) = self.parse(tokens, |p| {
                    let at = p.span();
                    let word = p.ident("a symbol")?;
                    p.expect(b',')?;
                    let expr = p.expr()?;
                    p.end()?;
                    Ok((word, at, expr))
                })?;
                self.assign(word, expr, at)
            }
            ".byte" => self.data(tokens, 1),
            ".short" | ".2byte" | ".hword" | ".value" => self.data(tokens, 2),
            ".long" | ".4byte" | ".int" | ".word" => self.data(tokens, 4),
            ".quad" | ".8byte" => self.data(tokens, 8),
            ".half" | ".float" | ".single" | ".double" => self.floats(tokens, name),
            ".ascii" | ".asciz" | ".string" => {
                let bytes = self.parse(tokens, |p| {
                    let mut bytes = Vec::new();
                    if p.at_end() {
                        return Ok(bytes);
                    }
                    loop {
                        let span = p.span();
                        if p.peek() != Tok::Str {
                            let found = p.found();
                            return Err(Fail::new(
                                span,
                                format!("expected a string, found {found}"),
                            ));
                        }
                        p.next();
                        let text = unescape(p.text(span)).map_err(|m| Fail::new(span, m))?;
                        bytes.extend(text);
                        if name != ".ascii" {
                            bytes.push(0);
                        }
                        if !p.eat(b',') {
                            break;
                        }
                    }
                    p.end()?;
                    Ok(bytes)
                })?;
                self.emit(span, &bytes)
            }
            ".zero" | ".space" | ".skip" => {
                let (count, fill) = self.parse(tokens, |p| {
                    let span = p.span();
                    let count = p.absolute()?;
                    let fill = if p.eat(b',') { p.absolute()? } else { 0 };
                    p.end()?;
                    match u64::try_from(count) {
                        Ok(count) => Ok((count, fill as u8)),
                        Err(_) => Err(Fail::new(span, "expected a count of 0 or more")),
                    }
                })?;
                self.emit_repeated(span, count, &[fill])
            }
            ".fill" => {
                let (count, size, value) = self.parse(tokens, |p| {
                    let span = p.span();
                    let count = p.absolute()?;
                    let size_span = p.span();
                    let size = if p.eat(b',') { p.absolute()? } else { 1 };
                    let value = if p.eat(b',') { p.absolute()? } else { 0 };
                    p.end()?;
                    if count < 0 {
                        return Err(Fail::new(span, "expected a count of 0 or more"));
                    }
                    if !(0..=8).contains(&size) {
                        return Err(Fail::new(size_span, "expected a size of 0 to 8 bytes"));
                    }
                    Ok((count as u64, size as usize, value))
                })?;
                // The pattern has four bytes; larger elements continue with zeros.
                let pattern = (value as u32 as u64).to_le_bytes();
                self.emit_repeated(span, count, &pattern[..size])
            }
            ".org" => {
                let (expr, fill, at) = self.parse(tokens, |p| {
                    let at = p.span();
                    let expr = p.expr()?;
                    let fill = if p.eat(b',') { p.absolute()? } else { 0 };
                    p.end()?;
                    Ok((expr, fill as u8, at))
                })?;
                self.org(&expr, at, fill)
            }
            ".comm" => {
                let (id, size, align) = self.parse(tokens, |p| {
                    let id = p.symbol_name()?;
                    p.expect(b',')?;
                    let span = p.span();
                    let size = p.absolute()?;
                    // As in LLVM for this target, the alignment is a power of two's exponent.
                    let power = if p.eat(b',') { p.absolute()? } else { 0 };
                    p.end()?;
                    let fits = (0..=MAX_SECTION as i64).contains(&size)
                        && (0..=MAX_ALIGN.ilog2() as i64).contains(&power);
                    if !fits {
                        return Err(Fail::new(
                            span,
                            "expected a size, and an alignment as exponent of two",
                        ));
                    }
                    Ok((id, size as u64, 1 << power))
                })?;
                let symbol = self.sym.get_mut(id);
                if symbol.def != Def::None {
                    return Err(Fail::new(span, "this symbol is defined already"));
                }
                symbol.def = Def::Common(size, align);
                symbol.kind = SymbolKind::Object;
                if symbol.binding.is_none() {
                    symbol.binding = Some(Binding::Global);
                }
                Ok(())
            }
            ".ident" => {
                let text = self.parse(tokens, |p| p.one_string())?;
                let flags = SectionFlags(0x30);
                let here = (self.current, self.previous);
                let section = self.named_section(
                    ".comment",
                    Some((flags, Some(SectionKind::PROGBITS), 1)),
                    span,
                )?;
                self.current = section;
                if self.sections[section as usize].size == 0 {
                    self.emit(span, &[0])?;
                }
                let done = self.emit(span, &text).and_then(|()| self.emit(span, &[0]));
                (self.current, self.previous) = here;
                done
            }
            // They say nothing that the bytes depend on.
            ".addrsig" | ".addrsig_sym" | ".file" | ".loc" | ".cfi_sections" | ".cfi_startproc"
            | ".cfi_endproc" => Ok(()),
            ".amdgcn_target" => self.amdgcn_target(tokens),
            ".amdhsa_code_object_version" => {
                let version = self.parse(tokens, |p| {
                    let span = p.span();
                    let value = p.absolute()?;
                    p.end()?;
                    match value {
                        3 => Ok(Version::V3),
                        4 => Ok(Version::V4),
                        5 => Ok(Version::V5),
                        _ => Err(Fail::new(span, "expected code object version 3, 4 or 5")),
                    }
                })?;
                self.version = Some(version);
                Ok(())
            }
            ".amdhsa_kernel" => self.kernel_start(tokens),
            ".end_amdhsa_kernel" => {
                self.parse(tokens, |p| p.end())?;
                self.kernel_end(span)
            }
            ".amdgpu_metadata" => self.metadata_block(span),
            ".end_amdgpu_metadata" => {
                Err(Fail::new(span, "expected an .amdgpu_metadata before this"))
            }
            ".gcn_permissive" => {
                self.parse(tokens, |p| p.end())?;
                self.permissive = true;
                self.quiet = true;
                Ok(())
            }
            ".syntax" => {
                let word = self.parse(tokens, |p| {
                    let span = p.span();
                    let word = p.ident("llvm or clrx")?;
                    p.end()?;
                    match word {
                        "llvm" => Ok(false),
                        "clrx" => Ok(true),
                        _ => Err(Fail::new(span, "expected llvm or clrx")),
                    }
                })?;
                self.read_as(word);
                Ok(())
            }
            ".arch" | ".gpu" => {
                if name == ".gpu" && self.options.syntax == Syntax::Auto {
                    self.read_as(true);
                }
                self.arch(tokens)
            }
            ".rawcode" => {
                if self.options.syntax == Syntax::Auto {
                    self.read_as(true);
                }
                Ok(())
            }
            ".end" => {
                self.lexer.pos = self.src.len();
                Ok(())
            }
            ".warning" | ".error" => {
                let text = if tokens.len() > 2 {
                    self.parse(tokens, |p| p.one_string())?
                } else {
                    Vec::new()
                };
                let text = String::from_utf8_lossy(&text).into_owned();
                let level = if name == ".error" {
                    Level::Error
                } else {
                    Level::Warning
                };
                self.message(level, span, text, None);
                Ok(())
            }
            _ => {
                let fail = Fail::new(span, format!("there is no directive `{text}`"));
                Err(match nearest(name, DIRECTIVES.iter().copied()) {
                    Some(near) => fail.help(format!("did you mean `{near}`?")),
                    None => fail,
                })
            }
        }
    }

    /// Runs `read` on the tokens after the directive's name.
    fn parse<T>(
        &mut self,
        tokens: &[Token],
        read: impl FnOnce(&mut Parser<'s, '_>) -> Result<T, Fail>,
    ) -> Result<T, Fail> {
        let mut p = self.parser(tokens);
        p.at = 1;
        read(&mut p)
    }

    fn read_as(&mut self, clrx: bool) {
        self.clrx = clrx;
        self.lexer.reading.semicolon_separates = clrx;
        self.lexer.reading.hash_comments = clrx;
    }

    fn section(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let span = tokens[0].span;
        let (name, given) = self.parse(tokens, |p| {
            // A name may have characters that end other names, up to the comma.
            let start = p.span();
            let mut end = start;
            while !p.at_end() && !p.is(b',') {
                end = p.span();
                p.next();
            }
            let name = p
                .text(Span {
                    start: start.start,
                    end: end.end,
                })
                .trim_matches('"');
            if name.is_empty() {
                return Err(Fail::new(start, "expected a section's name"));
            }
            if !p.eat(b',') {
                p.end()?;
                return Ok((name, None));
            }
            let mut flags = 0u64;
            if p.is(b'#') {
                while p.eat(b'#') {
                    let span = p.span();
                    flags |= match p.ident("alloc, write or execinstr")? {
                        "alloc" => 2,
                        "write" => 1,
                        "execinstr" => 4,
                        "exclude" => 0x8000_0000,
                        _ => {
                            return Err(Fail::new(span, "expected #alloc, #write or #execinstr"));
                        }
                    };
                    p.eat(b',');
                }
                p.end()?;
                return Ok((name, Some((SectionFlags(flags), None, 0))));
            }
            let at = p.span();
            if p.peek() != Tok::Str {
                return Err(Fail::new(at, "expected flags such as \"a\" or #alloc"));
            }
            p.next();
            for c in p.text(at).trim_matches('"').chars() {
                flags |= match c {
                    'w' => 1,
                    'a' => 2,
                    'x' => 4,
                    'M' => 0x10,
                    'S' => 0x20,
                    'T' => 0x400,
                    'R' => 0x20_0000,
                    'e' => 0x8000_0000,
                    _ => {
                        return Err(Fail::new(at, format!("there is no section flag '{c}'")));
                    }
                };
            }
            let mut kind = None;
            let mut entry_size = 0;
            if p.eat(b',') {
                if !p.eat(b'@') {
                    p.eat(b'%');
                }
                let at = p.span();
                kind = Some(match p.peek() {
                    Tok::Int(n) if n <= u32::MAX as u64 => {
                        p.next();
                        SectionKind(n as u32)
                    }
                    _ => match p.ident("@progbits, @nobits or @note")?.trim_matches('"') {
                        "progbits" => SectionKind::PROGBITS,
                        "nobits" => SectionKind::NOBITS,
                        "note" => SectionKind::NOTE,
                        _ => {
                            return Err(Fail::new(at, "expected @progbits, @nobits or @note"));
                        }
                    },
                });
                if p.eat(b',') {
                    let at = p.span();
                    entry_size = p.absolute()?;
                    if !(0..=1 << 20).contains(&entry_size) {
                        return Err(Fail::new(at, "expected the size of an entry"));
                    }
                }
            }
            p.end()?;
            Ok((name, Some((SectionFlags(flags), kind, entry_size as u64))))
        })?;
        let section = self.named_section(name, given, span)?;
        self.switch(section);
        Ok(())
    }

    fn align(&mut self, tokens: &[Token], power: bool) -> Result<(), Fail> {
        let span = tokens[0].span;
        let (align, fill, most) = self.parse(tokens, |p| {
            let at = p.span();
            let value = p.absolute()?;
            let align = if power {
                u32::try_from(value).ok().and_then(|v| 1u64.checked_shl(v))
            } else {
                u64::try_from(value).ok().map(|v| v.max(1))
            };
            let fits = align.filter(|a| a.is_power_of_two() && *a <= MAX_ALIGN);
            let Some(align) = fits else {
                return Err(Fail::new(
                    at,
                    format!("expected an alignment that is a power of two up to {MAX_ALIGN}"),
                ));
            };
            let (mut fill, mut most) = (None, u64::MAX);
            if p.eat(b',') {
                if !p.is(b',') {
                    fill = Some(p.absolute()? as u8);
                }
                if p.eat(b',') {
                    let value = p.absolute()?;
                    if value > 0 {
                        most = value as u64;
                    }
                }
            }
            p.end()?;
            Ok((align, fill, most))
        })?;
        let section = &mut self.sections[self.current as usize];
        section.align = section.align.max(align);
        let gap = section.size.next_multiple_of(align) - section.size;
        if gap > most {
            return Ok(());
        }
        match fill {
            None if section.flags.exec() => {
                // Code is padded with s_nop 0.
                self.emit_repeated(span, gap % 4, &[0])?;
                self.emit_repeated(span, gap / 4, &0xbf80_0000u32.to_le_bytes())
            }
            fill => self.emit_repeated(span, gap, &[fill.unwrap_or(0)]),
        }
    }

    fn data(&mut self, tokens: &[Token], width: u8) -> Result<(), Fail> {
        if tokens.len() <= 2 {
            return Ok(());
        }
        let mut at = 1;
        loop {
            let mut p = self.parser(tokens);
            p.at = at;
            let start = p.span();
            let expr = p.expr()?;
            let span = start.to(p.last_span());
            let more = p.eat(b',');
            if !more {
                p.end()?;
            }
            at = p.at;
            match expr {
                Expr::Const(value) => {
                    if !fits(value, width) {
                        return Err(Fail::new(
                            span,
                            format!("expected a number that fits {} bits", width * 8),
                        ));
                    }
                    self.emit(span, &value.to_le_bytes()[..width as usize])?;
                }
                expr => {
                    let (section, offset) = self.place();
                    self.emit(span, &[0; 8][..width as usize])?;
                    if self.sections[section as usize].kind == SectionKind::NOBITS {
                        return Err(Fail::new(span, "this section holds zeros only"));
                    }
                    let kind = FixKind::Data(width);
                    self.fixups.push(Fixup {
                        section,
                        offset,
                        kind,
                        expr,
                        span,
                    });
                }
            }
            if !more {
                return Ok(());
            }
        }
    }

    fn floats(&mut self, tokens: &[Token], name: &str) -> Result<(), Fail> {
        let span = tokens[0].span;
        let bytes = self.parse(tokens, |p| {
            let mut bytes = Vec::new();
            loop {
                let at = p.span();
                let negative = p.eat(b'-');
                if !negative {
                    p.eat(b'+');
                }
                let value = match p.peek() {
                    Tok::Float(value) => value,
                    Tok::Int(value) => value as f64,
                    _ => {
                        let found = p.found();
                        return Err(Fail::new(at, format!("expected a float, found {found}")));
                    }
                };
                p.next();
                let value = if negative { -value } else { value };
                match name {
                    ".double" => bytes.extend(value.to_le_bytes()),
                    ".half" => match crate::operand::half(value) {
                        Some(h) => bytes.extend(h.to_le_bytes()),
                        None => {
                            return Err(Fail::new(at, "this float is out of the range of 16 bits"));
                        }
                    },
                    _ => {
                        let single = value as f32;
                        if single.is_infinite() {
                            return Err(Fail::new(at, "this float is out of the range of 32 bits"));
                        }
                        bytes.extend(single.to_le_bytes());
                    }
                }
                if !p.eat(b',') {
                    break;
                }
            }
            p.end()?;
            Ok(bytes)
        })?;
        self.emit(span, &bytes)
    }

    fn new_target(&mut self, target: Target, span: Span) -> Result<(), Fail> {
        match self.target {
            Some(old) if old != target => Err(Fail::new(
                span,
                format!(
                    "this is for {}, but the target is {}",
                    target.name(),
                    old.name()
                ),
            )),
            _ => {
                self.set_target(target);
                Ok(())
            }
        }
    }

    fn amdgcn_target(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let text = self.parse(tokens, |p| p.one_string())?;
        let span = tokens[1].span;
        let text = String::from_utf8_lossy(&text).into_owned();
        // Only v3 writes a feature with `+` before it.
        let id = text.rsplit("--").next().unwrap_or("");
        let v3 = id.contains('+') && !id.contains(':');
        let version = if v3 { Version::V3 } else { Version::V4 };
        let id = TargetId::parse(&text, version).map_err(|m| Fail::new(span, m))?;
        let Some(target) = Target::parse(id.machine.name) else {
            return Err(Fail::new(span, format!("{} is no target", id.machine.name)));
        };
        self.new_target(target, span)?;
        self.target_id = Some((id, version));
        Ok(())
    }

    fn arch(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let (name, span) = self.parse(tokens, |p| {
            // `gcn1.2` is a name and a number to the lexer.
            let start = p.span();
            let mut end = start;
            while !p.at_end() {
                end = p.span();
                p.next();
            }
            let span = Span {
                start: start.start,
                end: end.end,
            };
            Ok((p.text(span).trim_matches('"'), span))
        })?;
        match Target::parse(name) {
            Some(target) => self.new_target(target, span),
            None => {
                let fail = Fail::new(span, format!("there is no target `{name}`"));
                let names = Target::all().map(Target::name);
                Err(match nearest(name, names) {
                    Some(near) => fail.help(format!("did you mean `{near}`?")),
                    None => fail,
                })
            }
        }
    }

    /// The target with its features.
    fn id(&self) -> Option<TargetId> {
        let target = self.target?;
        match self.target_id {
            Some((id, _)) => Some(id),
            None => Machine::from_name(target.name()).map(TargetId::new),
        }
    }

    fn kernel_start(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let span = tokens[0].span;
        let name = self.parse(tokens, |p| {
            let span = p.span();
            let name = match p.peek() {
                Tok::Str => {
                    p.next();
                    p.text(span).trim_matches('"')
                }
                _ => p.ident("the kernel's name")?,
            };
            p.end()?;
            Ok(name)
        })?;
        let builder = self.id().map(KernelBuilder::new);
        let known = builder.is_some();
        self.block = Some(KernelBlock {
            name,
            span,
            builder,
        });
        if !known {
            return Err(Fail::new(
                span,
                "the target is not known: expected .amdgcn_target before",
            ));
        }
        Ok(())
    }

    fn amdhsa(&mut self, tokens: &[Token], name: &str) -> Result<(), Fail> {
        let span = tokens[0].span;
        if self.block.is_none() {
            return Err(Fail::new(span, "expected .amdhsa_kernel before this"));
        }
        let (value, at) = self.parse(tokens, |p| {
            let start = p.span();
            let value = p.absolute()?;
            p.end()?;
            Ok((value, start.to(p.last_span())))
        })?;
        let Some(builder) = self.block.as_mut().and_then(|b| b.builder.as_mut()) else {
            return Ok(());
        };
        builder.set(name, value).map_err(|message| {
            let at = if message.contains("value") { at } else { span };
            let known = gcn_object::descriptor::DIRECTIVES.iter().map(|d| d.name);
            let fail = Fail::new(at, message);
            match nearest(name, known.filter(|k| *k != name)) {
                Some(near) if fail.message.contains("unknown") => {
                    fail.help(format!("did you mean `{near}`?"))
                }
                _ => fail,
            }
        })
    }

    fn kernel_end(&mut self, span: Span) -> Result<(), Fail> {
        let Some(block) = self.block.take() else {
            return Err(Fail::new(span, "expected .amdhsa_kernel before this"));
        };
        let Some(builder) = block.builder else {
            return Ok(());
        };
        let descriptor = builder.finish().map_err(|m| Fail::new(block.span, m))?;
        // LLVM knows the descriptor's symbol before the code's.
        let kd = self.sym.intern_made(format!("{}.kd", block.name));
        let code = self.sym.intern(block.name);
        let (section, offset) = self.place();
        if !offset.is_multiple_of(64) {
            self.message(
                Level::Warning,
                block.span,
                "the kernel descriptor is not at a multiple of 64 bytes".into(),
                Some("`.p2align 6` before .amdhsa_kernel aligns it".into()),
            );
        }
        let align = &mut self.sections[section as usize].align;
        *align = (*align).max(64);
        self.define_label(kd, block.span)?;
        let (binding, visibility) = {
            let symbol = self.sym.get_mut(code);
            let old = (symbol.binding, symbol.visibility);
            if symbol.visibility == Visibility::Default {
                symbol.visibility = Visibility::Protected;
            }
            old
        };
        let symbol = self.sym.get_mut(kd);
        symbol.binding = binding;
        symbol.visibility = visibility;
        symbol.kind = SymbolKind::Object;
        symbol.size = Some(Expr::Const(64));
        self.emit(block.span, &descriptor.to_bytes())?;
        let distance = Expr::Binary(
            Op::Sub,
            Box::new((Expr::Sym(code, Variant::None), Expr::Place(section, offset))),
        );
        self.fixups.push(Fixup {
            section,
            offset: offset + 16,
            kind: FixKind::Data(8),
            expr: distance,
            span: block.span,
        });
        self.kernels.push(Kernel {
            name: block.name.to_string(),
            descriptor,
        });
        Ok(())
    }

    fn metadata_block(&mut self, span: Span) -> Result<(), Fail> {
        let start = self.lexer.pos;
        let rest = self.src.get(start..).unwrap_or("");
        let mut end = None;
        let mut at = 0;
        for line in rest.split_inclusive('\n') {
            if line.trim_start().starts_with(".end_amdgpu_metadata") {
                end = Some((at, at + line.len()));
                break;
            }
            at += line.len();
        }
        let Some((end, after)) = end else {
            self.lexer.pos = self.src.len();
            return Err(Fail::new(
                span,
                "expected .end_amdgpu_metadata: this block has no end",
            ));
        };
        self.lexer.go_to_line(start + after);
        let yaml = |e: metadata::MetadataError| Fail::new(span, format!("kernel metadata: {e}"));
        let value = metadata::parse_yaml(&rest[..end]).map_err(yaml)?;
        metadata::verify(&value).map_err(yaml)?;
        let descriptor = metadata::encode(&value);
        let minor = value
            .as_map()
            .and_then(|m| m.iter().find(|(k, _)| k.as_str() == Some("amdhsa.version")))
            .and_then(|(_, v)| v.as_array()?.get(1)?.as_u64());
        if self.version.is_none() {
            self.version = match minor {
                Some(0) => Some(Version::V3),
                Some(2) => Some(Version::V5),
                _ => Some(Version::V4),
            };
        }
        if self.metadata.is_some() {
            return Err(Fail::new(span, "there is kernel metadata already"));
        }
        let mut section = Section::new(
            ".note",
            SectionFlags::ALLOC,
            4,
            metadata::note_section(&descriptor),
        );
        section.kind = SectionKind::NOTE;
        match self.sections.iter().position(|s| s.name == ".note") {
            Some(n) => {
                let old = &mut self.sections[n];
                old.data.resize(old.data.len().next_multiple_of(4), 0);
                old.data.extend(section.data);
                old.size = old.data.len() as u64;
            }
            None => self.sections.push(section),
        }
        self.metadata = Some(descriptor);
        Ok(())
    }

    /// Resolves what waited for symbols. `None` after errors.
    pub fn finish(mut self, file: &str) -> (Option<Assembled>, Vec<Diagnostic>) {
        let mut object = None;
        if self.errors < MAX_ERRORS {
            // Even after errors, for what this finds.
            self.sym.finished = true;
            object = self.link().filter(|_| self.errors == 0);
        }
        let diagnostics = crate::diagnostics(self.src, file, self.messages);
        (object, diagnostics)
    }

    fn link(&mut self) -> Option<Assembled> {
        let mut relocations = Vec::new();
        // Which symbols relocations refer to, and which sections.
        let mut wanted: Vec<(RelocTarget, usize)> = Vec::new();
        for fixup in std::mem::take(&mut self.fixups) {
            match self.resolve(&fixup) {
                Ok(None) => {}
                Ok(Some((kind, target, addend))) => {
                    wanted.push((target, relocations.len()));
                    relocations.push(Relocation {
                        section: Some(fixup.section as usize),
                        offset: fixup.offset,
                        kind,
                        symbol: None,
                        addend,
                    });
                }
                Err(message) => self.message(Level::Error, fixup.span, message, None),
            }
            if self.errors >= MAX_ERRORS {
                let end = self.src.len() as u32;
                let span = Span { start: end, end };
                let message = format!("{MAX_ERRORS} errors: the rest was not looked for");
                self.message(Level::Error, span, message, None);
                return None;
            }
        }

        let mut symbols = Vec::new();
        let mut section_symbol = vec![None; self.sections.len()];
        for (target, n) in &wanted {
            if let RelocTarget::Section(s) = target {
                let index = *section_symbol[*s as usize].get_or_insert_with(|| {
                    symbols.push(Symbol {
                        name: String::new(),
                        address: 0,
                        size: 0,
                        kind: SymbolKind::Section,
                        binding: Binding::Local,
                        visibility: Visibility::Default,
                        section: SymbolSection::Index(*s as usize),
                    });
                    symbols.len() - 1
                });
                relocations[*n].symbol = Some(index);
            }
        }
        let mut referenced = vec![false; self.sym.list.len()];
        for (target, _) in &wanted {
            if let RelocTarget::Symbol(id) = target {
                referenced[*id as usize] = true;
            }
        }
        let mut index = vec![None; self.sym.list.len()];
        let mut errors = Vec::new();
        for (id, symbol) in self.sym.list.iter().enumerate() {
            let name = symbol.name.as_str();
            let temporary = matches!(symbol.name, Name::Local)
                || name.starts_with(".L")
                || name.starts_with(".amdgcn.");
            if temporary && !referenced[id] {
                continue;
            }
            let expr = Expr::Sym(id as SymId, Variant::None);
            let (section, address) = match &symbol.def {
                Def::Common(_, align) => (SymbolSection::Common, *align),
                Def::None if symbol.binding.is_none() && !referenced[id] => continue,
                Def::None => (SymbolSection::Undefined, 0),
                _ => match self.sym.evaluate(&expr) {
                    Ok(v) if v.is_absolute() => (SymbolSection::Absolute, v.addend as u64),
                    Ok(Value {
                        addend,
                        plus: Some(Term::Place(section, offset, _, _)),
                        minus: None,
                    }) => (
                        SymbolSection::Index(section as usize),
                        offset.wrapping_add_signed(addend),
                    ),
                    Ok(_) => {
                        errors.push((
                            symbol.defined_at,
                            format!("the value of '{name}' is no address in one section"),
                        ));
                        continue;
                    }
                    Err(e) => {
                        errors.push((symbol.defined_at, self.explain(e)));
                        continue;
                    }
                },
            };
            let mut size = match &symbol.def {
                Def::Common(size, _) => *size,
                _ => 0,
            };
            if let Some(expr) = &symbol.size {
                match self.sym.evaluate(expr) {
                    Ok(v) if v.is_absolute() && v.addend >= 0 => size = v.addend as u64,
                    _ => {
                        errors.push((
                            symbol.defined_at,
                            format!("the size of '{name}' is no number"),
                        ));
                        continue;
                    }
                }
            }
            if self.options.text_only {
                continue;
            }
            let defined = section != SymbolSection::Undefined;
            index[id] = Some(symbols.len());
            symbols.push(Symbol {
                name: name.to_string(),
                address,
                size,
                kind: symbol.kind,
                binding: symbol.binding.unwrap_or(if defined {
                    Binding::Local
                } else {
                    Binding::Global
                }),
                visibility: symbol.visibility,
                section,
            });
        }
        for (at, message) in errors {
            let at = at.min(self.src.len() as u32);
            self.message(Level::Error, Span { start: at, end: at }, message, None);
        }
        for (target, n) in &wanted {
            if let RelocTarget::Symbol(id) = target {
                relocations[*n].symbol = index[*id as usize];
            }
        }
        if self.options.text_only {
            symbols.clear();
            relocations.clear();
        }
        let target = self.target?;
        let id = self.id()?;
        let version = self
            .version
            .or(self.target_id.map(|t| t.1))
            .unwrap_or(Version::V4);
        Some(Assembled {
            target,
            target_id: id,
            version,
            sections: std::mem::take(&mut self.sections),
            symbols,
            relocations,
            kernels: std::mem::take(&mut self.kernels),
            metadata: self.metadata.take(),
            raw_blocker: self.raw_blocker.take(),
        })
    }

    fn explain(&self, e: EvalError) -> String {
        match e {
            EvalError::Undefined(id) => format!("'{}' is not defined", self.sym.name(id)),
            EvalError::Message(message) => message.to_string(),
        }
    }

    /// Writes the value of a fixup into its place, or says which relocation does.
    fn resolve(
        &mut self,
        fixup: &Fixup,
    ) -> Result<Option<(RelocationKind, RelocTarget, i64)>, String> {
        let value = self
            .sym
            .evaluate(&fixup.expr)
            .map_err(|e| self.explain(e))?;
        let width = match fixup.kind {
            FixKind::Data(width) => width,
            FixKind::Literal => 4,
            FixKind::Branch => 2,
        };
        if value.is_absolute() {
            if !fits(value.addend, width) {
                return Err(format!("{} does not fit {} bits", value.addend, width * 8));
            }
            self.store(fixup, value.addend, width);
            return Ok(None);
        }
        let Some(plus) = value.plus else {
            return Err("this subtracts an address from a number".into());
        };
        // An address relative to the place itself.
        let mut addend = value.addend;
        let mut relative = false;
        match value.minus {
            Some(Term::Place(s, offset, ..)) if s == fixup.section => {
                addend = addend
                    .wrapping_add(fixup.offset as i64)
                    .wrapping_sub(offset as i64);
                relative = true;
            }
            Some(Term::Undefined(id, _)) => {
                return Err(format!("'{}' is not defined", self.sym.name(id)));
            }
            Some(_) => {
                return Err("this subtracts an address that is not in this section".into());
            }
            None => {}
        }
        let (target, variant, here) = match plus {
            Term::Undefined(id, variant) => {
                let name = self.sym.name(id);
                if name.is_empty() {
                    return Err("there is no label of this number after this".into());
                }
                let common = matches!(self.sym.get(id).def, Def::Common(..));
                if !common && (name.starts_with(".L") || matches!(fixup.kind, FixKind::Branch)) {
                    return Err(format!("'{name}' is not defined"));
                }
                (RelocTarget::Symbol(id), variant, None)
            }
            Term::Place(section, offset, id, variant) => {
                let own = id.filter(|&id| {
                    let symbol = self.sym.get(id);
                    !matches!(symbol.binding, None | Some(Binding::Local))
                        || matches!(
                            variant,
                            Variant::Gotpcrel | Variant::Gotpcrel32Lo | Variant::Gotpcrel32Hi
                        ) && !symbol.name.as_str().starts_with(".L")
                });
                let here = (section == fixup.section).then_some(offset);
                match own {
                    Some(id) => (RelocTarget::Symbol(id), variant, here),
                    None => {
                        addend = addend.wrapping_add(offset as i64);
                        (RelocTarget::Section(section), variant, here)
                    }
                }
            }
        };
        let kind = match (&fixup.kind, variant) {
            (FixKind::Branch, Variant::None) => RelocationKind::REL16,
            (FixKind::Branch, _) => return Err("a branch takes no @ after its label".into()),
            (_, Variant::Gotpcrel) => RelocationKind::GOTPCREL,
            (_, Variant::Gotpcrel32Lo) => RelocationKind::GOTPCREL32_LO,
            (_, Variant::Gotpcrel32Hi) => RelocationKind::GOTPCREL32_HI,
            (_, Variant::Rel32Lo) => RelocationKind::REL32_LO,
            (_, Variant::Rel32Hi) => RelocationKind::REL32_HI,
            (_, Variant::Rel64) => RelocationKind::REL64,
            (_, Variant::Abs32Lo) => RelocationKind::ABS32_LO,
            (_, Variant::Abs32Hi) => RelocationKind::ABS32_HI,
            (FixKind::Literal, Variant::None) => RelocationKind::REL32,
            (FixKind::Data(4), Variant::None) if relative => RelocationKind::REL32,
            (FixKind::Data(8), Variant::None) if relative => RelocationKind::REL64,
            (FixKind::Data(4), Variant::None) => RelocationKind::ABS32,
            (FixKind::Data(8), Variant::None) => RelocationKind::ABS64,
            (FixKind::Data(_), Variant::None) => {
                return Err(format!(
                    "no relocation puts an address into {} bits",
                    width * 8
                ));
            }
        };
        let needed = match kind {
            RelocationKind::REL64 | RelocationKind::ABS64 => 8,
            RelocationKind::REL16 => 2,
            _ => 4,
        };
        if needed != width {
            return Err(format!("{} does not fit {} bits", kind.name(), width * 8));
        }
        if relative && variant != Variant::None {
            return Err("expected @ on a symbol alone, not on a difference".into());
        }
        // What is in the same section is known now; a symbol that others see gets its relocation
        // all the same.
        if let Some(offset) = here {
            let distance = match target {
                RelocTarget::Section(_) => addend,
                RelocTarget::Symbol(_) => addend.wrapping_add(offset as i64),
            }
            .wrapping_sub(fixup.offset as i64);
            let local = matches!(target, RelocTarget::Section(_)) && variant == Variant::None;
            match kind {
                RelocationKind::REL16 => {
                    let from_next = distance.wrapping_sub(4);
                    if from_next % 4 != 0 {
                        return Err("the label is not at a multiple of 4 bytes from here".into());
                    }
                    let Ok(dwords) = i16::try_from(from_next / 4) else {
                        return Err(format!(
                            "the label is {} dwords away, and a branch reaches -32768 to 32767",
                            from_next / 4
                        ));
                    };
                    self.store(fixup, dwords as i64, 2);
                }
                RelocationKind::REL32 => {
                    if !fits(distance, 4) {
                        return Err("the distance does not fit 32 bits".into());
                    }
                    self.store(fixup, distance, 4);
                }
                RelocationKind::REL64 => self.store(fixup, distance, 8),
                RelocationKind::REL32_LO => self.store(fixup, distance & 0xffff_ffff, 4),
                RelocationKind::REL32_HI => self.store(fixup, distance >> 32 & 0xffff_ffff, 4),
                _ => self.block_raw(fixup, kind),
            }
            if local
                && matches!(
                    kind,
                    RelocationKind::REL16 | RelocationKind::REL32 | RelocationKind::REL64
                )
            {
                return Ok(None);
            }
        } else {
            self.block_raw(fixup, kind);
        }
        Ok(Some((kind, target, addend)))
    }

    /// Takes note that the bytes of .text alone are not complete.
    fn block_raw(&mut self, fixup: &Fixup, kind: RelocationKind) {
        if fixup.section == 0 && self.raw_blocker.is_none() {
            let text = self
                .src
                .get(fixup.span.start as usize..fixup.span.end as usize);
            self.raw_blocker = Some(format!("`{}` needs {}", text.unwrap_or(""), kind.name()));
        }
    }

    fn store(&mut self, fixup: &Fixup, value: i64, width: u8) {
        let start = fixup.offset as usize;
        let place = self.sections[fixup.section as usize]
            .data
            .get_mut(start..start + width as usize);
        if let Some(place) = place {
            place.copy_from_slice(&value.to_le_bytes()[..width as usize]);
        }
    }
}

#[derive(Clone, Copy)]
enum RelocTarget {
    Symbol(SymId),
    Section(u32),
}

/// Whether a number is one of `width` bytes, signed or unsigned.
fn fits(value: i64, width: u8) -> bool {
    match width {
        8 => true,
        w => {
            let bits = w as u32 * 8;
            (-(1i64 << (bits - 1))..1i64 << bits).contains(&value)
        }
    }
}

impl<'s> Parser<'s, '_> {
    fn symbol_name(&mut self) -> Result<SymId, Fail> {
        let span = self.span();
        let name = match self.peek() {
            Tok::Str => {
                self.next();
                self.text(span).trim_matches('"')
            }
            _ => self.ident("a symbol")?,
        };
        Ok(self.sym.intern(name))
    }

    fn one_string(&mut self) -> Result<Vec<u8>, Fail> {
        let span = self.span();
        if self.peek() != Tok::Str {
            return Err(Fail::new(
                span,
                format!("expected a string, found {}", self.found()),
            ));
        }
        self.next();
        let bytes = unescape(self.text(span)).map_err(|m| Fail::new(span, m))?;
        self.end()?;
        Ok(bytes)
    }
}
