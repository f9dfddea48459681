//! CLRX's directives outside its binary formats.

use super::Format;
use crate::Level;
use crate::asm::Asm;
use crate::expr::{Expr, SymId};
use crate::lexer::{Span, Tok, Token};
use crate::operand::Lower;
use crate::parse::{Fail, Parser};
use crate::symbols::{Again, Def};
use gcn_isa::operand::VGPR0;
use gcn_isa::target::Features;
use gcn_isa::{Gen, Target};

/// CLRX's directives that this module handles.
pub(crate) static WORDS: &[&str] = &[
    ".32bit",
    ".64bit",
    ".abort",
    ".altmacro",
    ".noaltmacro",
    ".balignl",
    ".balignw",
    ".buggyfplit",
    ".nobuggyfplit",
    ".cf_call",
    ".cf_cjump",
    ".cf_end",
    ".cf_jump",
    ".cf_ret",
    ".cf_start",
    ".endrept",
    ".ends",
    ".endscope",
    ".enum",
    ".eqv",
    ".err",
    ".extern",
    ".fail",
    ".fillq",
    ".format",
    ".get_64bit",
    ".get_arch",
    ".get_driver_version",
    ".get_format",
    ".get_gpu",
    ".get_llvm_version",
    ".get_policy",
    ".get_version",
    ".lflags",
    ".line",
    ".ln",
    ".llvm_version",
    ".driver_version",
    ".macrocase",
    ".nomacrocase",
    ".main",
    ".offset",
    ".struct",
    ".oldmodparam",
    ".nooldmodparam",
    ".policy",
    ".print",
    ".regvar",
    ".rvlin",
    ".rvlin_once",
    ".sbttl",
    ".scope",
    ".string16",
    ".string32",
    ".string64",
    ".title",
    ".undef",
    ".unusing",
    ".usereg",
    ".using",
    ".version",
];

/// The directives that only CLRX has: if the syntax is being detected, they switch it to CLRX's.
static TELLING: &[&str] = &[
    ".32bit",
    ".64bit",
    ".buggyfplit",
    ".nobuggyfplit",
    ".enum",
    ".eqv",
    ".fillq",
    ".format",
    ".get_64bit",
    ".get_arch",
    ".get_driver_version",
    ".get_format",
    ".get_gpu",
    ".get_llvm_version",
    ".get_policy",
    ".get_version",
    ".macrocase",
    ".nomacrocase",
    ".oldmodparam",
    ".nooldmodparam",
    ".policy",
    ".regvar",
    ".scope",
    ".unusing",
    ".usereg",
    ".using",
];

/// CLRX's devices, in the order of its numbers.
static DEVICES: [&str; 30] = [
    "capeverde",
    "pitcairn",
    "tahiti",
    "oland",
    "bonaire",
    "spectre",
    "spooky",
    "kalindi",
    "hainan",
    "hawaii",
    "iceland",
    "tonga",
    "mullins",
    "fiji",
    "carrizo",
    "dummy",
    "goose",
    "horse",
    "stoney",
    "ellesmere",
    "baffin",
    "gfx804",
    "gfx900",
    "gfx901",
    "gfx902",
    "gfx903",
    "gfx904",
    "gfx905",
    "gfx906",
    "gfx907",
];

/// Further names of the devices.
static MORE_DEVICES: [(&str, usize); 19] = [
    ("gfx700", 5),
    ("gfx701", 9),
    ("gfx801", 14),
    ("gfx802", 11),
    ("gfx803", 13),
    ("polaris10", 19),
    ("polaris11", 20),
    ("polaris12", 21),
    ("polaris20", 19),
    ("polaris21", 20),
    ("polaris22", 19),
    ("topaz", 10),
    ("raven", 24),
    ("vega10", 22),
    ("vega11", 26),
    ("vega12", 26),
    ("vega20", 28),
    ("mullin", 12),
    ("rx480", 19),
];

/// Returns the number of a device.
pub(crate) fn device(name: &str) -> Option<usize> {
    let name = name.to_ascii_lowercase();
    let more = || MORE_DEVICES.iter().find(|(n, _)| *n == name).map(|d| d.1);
    DEVICES.iter().position(|d| *d == name).or_else(more)
}

/// Returns the target of a device whose name LLVM does not have.
pub(crate) fn target_of_device(name: &str) -> Option<Target> {
    let name = match name.to_ascii_lowercase().as_str() {
        "capeverde" | "pitcairn" => "gfx601",
        "tahiti" => "gfx600",
        "bonaire" => "gfx704",
        "hawaii" => "gfx701",
        "carrizo" => "gfx801",
        "fiji" => "gfx803",
        "tonga" | "dummy" | "goose" | "horse" => "gfx802",
        "gfx901" => "gfx900",
        "gfx903" => "gfx902",
        "gfx905" => "gfx904",
        "gfx907" => "gfx906",
        "ellesmere" | "baffin" | "gfx804" | "polaris10" | "polaris11" | "polaris12"
        | "polaris20" | "polaris21" | "polaris22" => "gfx803",
        "topaz" | "iceland" => "gfx802",
        "mullins" | "kalindi" => "gfx703",
        "spectre" | "spooky" => "gfx700",
        "stoney" => "gfx810",
        "hainan" | "oland" => "gfx602",
        "vega11" => "gfx904",
        "raven" => "gfx902",
        _ => return None,
    };
    Target::parse(name)
}

/// Returns the target of an architecture by CLRX's short names: the architecture's first chip, as for `gcn1.0` and the
/// other names of this form.
pub(crate) fn target_of_architecture(name: &str) -> Option<Target> {
    let name = match name.to_ascii_lowercase().as_str() {
        "si" | "gfx6" => "gcn1.0",
        "ci" | "gfx7" => "gcn1.1",
        "vi" | "gfx8" => "gcn1.2",
        "vega" | "gfx9" => "gcn1.4",
        _ => return None,
    };
    Target::parse(name)
}

/// Returns true if this module handles a directive.
pub(crate) fn is_word(name: &str) -> bool {
    WORDS.contains(&name)
}

impl<'s> Asm<'s, '_> {
    pub(crate) fn clrx_word(&mut self, tokens: &[Token], name: &str) -> Result<(), Fail> {
        if self.options.syntax == crate::Syntax::Auto && TELLING.contains(&name) {
            self.read_as(true);
        }
        let span = tokens[0].span;
        match name {
            ".lflags" | ".line" | ".ln" | ".sbttl" | ".title" | ".version" | ".extern" => Ok(()),
            ".32bit" | ".64bit" => self.switch_word(tokens, |asm| {
                asm.clrx_state.long = name == ".64bit";
            }),
            ".altmacro" | ".noaltmacro" => self.switch_word(tokens, |asm| {
                asm.clrx_state.alt_macro = name == ".altmacro";
                asm.lexer.reading.quotes = asm.clrx_state.alt_macro;
            }),
            ".macrocase" | ".nomacrocase" => self.switch_word(tokens, |asm| {
                asm.clrx_state.macro_case = name == ".nomacrocase";
            }),
            ".buggyfplit" | ".nobuggyfplit" => self.switch_word(tokens, |asm| {
                asm.sym.buggy_floats = name == ".buggyfplit";
            }),
            ".oldmodparam" | ".nooldmodparam" => self.switch_word(tokens, |asm| {
                asm.sym.old_parameters = name == ".oldmodparam";
            }),
            ".main" => self.switch_word(tokens, |asm| {
                asm.leave_kernel();
                asm.switch(0);
            }),
            ".abort" => {
                self.end_all();
                Err(Fail::new(span, "the source says .abort"))
            }
            ".err" => Err(Fail::new(span, "the source says .err")),
            ".fail" => {
                let value = self.one_number(tokens)?;
                let text = format!("the source says .fail {value}");
                if value < 500 {
                    return Err(Fail::new(span, text));
                }
                self.message(Level::Warning, span, text, None);
                Ok(())
            }
            ".print" => {
                let text = self.parse(tokens, |p| p.one_string())?;
                let printed = &mut self.clrx_state.printed;
                if printed.len() + text.len() > 1 << 24 {
                    return Err(Fail::new(
                        span,
                        "expected less to .print: this makes 16 MiB",
                    ));
                }
                printed.push_str(&String::from_utf8_lossy(&text));
                printed.push('\n');
                Ok(())
            }
            ".endrept" => Err(Fail::new(
                span,
                "expected .rept, .irp, .irpc, .for or .while before this",
            )),
            ".balignl" | ".balignw" => {
                self.align_words(tokens, if name == ".balignl" { 4 } else { 2 })
            }
            ".fillq" => self.fill_long(tokens),
            ".string16" => self.wide_strings(tokens, 2),
            ".string32" => self.wide_strings(tokens, 4),
            ".string64" => self.wide_strings(tokens, 8),
            ".format" => {
                let format = self.parse(tokens, |p| {
                    let at = p.span();
                    let word = p.ident("a binary format")?;
                    p.end()?;
                    Format::of(word).ok_or_else(|| Fail::new(at, FORMATS_EXPECTED))
                })?;
                self.set_format(format, span)
            }
            ".policy" | ".llvm_version" | ".driver_version" => {
                let value = self.one_number(tokens)?;
                match name {
                    ".policy" => self.clrx_state.policy = value,
                    ".llvm_version" => self.clrx_state.llvm_version = value,
                    _ => self.clrx_state.driver_version = value,
                }
                Ok(())
            }
            _ if name.starts_with(".get_") => self.tell(tokens, name),
            ".eqv" => self.evaluated(tokens),
            ".undef" => self.undefine(tokens),
            ".enum" => self.enumerate(tokens),
            ".offset" | ".struct" => {
                let at = self.one_number(tokens)?;
                self.sym.structure = Some(at);
                Ok(())
            }
            ".scope" | ".ends" | ".endscope" | ".using" | ".unusing" => self.scope(tokens, name),
            ".regvar" => self.register_variables(tokens),
            ".usereg" | ".rvlin" | ".rvlin_once" => self.uses(tokens, name == ".usereg"),
            // Control-flow hints for CLRX's register allocator.
            _ => self.parse(tokens, |p| match p.at_end() {
                true => Ok(()),
                false => p.items(|p| p.expr().map(|_| ())),
            }),
        }
    }

    /// Handles a directive without arguments.
    fn switch_word(&mut self, tokens: &[Token], set: impl FnOnce(&mut Self)) -> Result<(), Fail> {
        self.parse(tokens, |p| p.end())?;
        set(self);
        Ok(())
    }

    fn one_number(&mut self, tokens: &[Token]) -> Result<i64, Fail> {
        self.parse(tokens, |p| {
            let value = p.absolute()?;
            p.end()?;
            Ok(value)
        })
    }

    /// Records the binary format.
    pub(crate) fn set_format(&mut self, format: Format, span: Span) -> Result<(), Fail> {
        if self.options.syntax == crate::Syntax::Auto {
            self.read_as(true);
        }
        if self.clrx_state.format.is_some_and(|f| f != format) {
            return Err(Fail::new(span, "another binary format was chosen before"));
        }
        self.clrx_state.format = Some(format);
        self.check_format(format, span)?;
        if format == Format::Rocm {
            self.start_rocm();
        }
        Ok(())
    }

    /// Returns the device: the one that `.gpu` named, or CLRX's first of the target.
    pub(crate) fn device(&self) -> Option<usize> {
        let same =
            |name: &&str| Target::parse(name).is_some() && Target::parse(name) == self.target;
        (self.clrx_state.gpu).or_else(|| DEVICES.iter().position(same))
    }

    /// Handles `.get_arch SYMBOL` and the like.
    fn tell(&mut self, tokens: &[Token], name: &str) -> Result<(), Fail> {
        let at = tokens[1].span;
        let id = self.parse(tokens, |p| {
            let id = p.defined_symbol("a symbol")?;
            p.end()?;
            Ok(id)
        })?;
        let unknown = Fail::new(at, "the target is not known here");
        let value = match name {
            ".get_64bit" => self.clrx_state.long as i64,
            ".get_arch" => {
                let target = self.target.ok_or(unknown)?;
                match target.generation() {
                    Gen::Gfx6 => 0,
                    Gen::Gfx7 => 1,
                    Gen::Gfx8 => 2,
                    Gen::Gfx9 if target.features().has(Features::DL) => 4,
                    Gen::Gfx9 => 3,
                }
            }
            ".get_gpu" => self.device().ok_or(unknown)? as i64,
            ".get_format" => self.clrx_state.format.unwrap_or(Format::Amd) as i64,
            ".get_policy" => self.clrx_state.policy,
            ".get_llvm_version" => self.clrx_state.llvm_version,
            ".get_driver_version" => self.clrx_state.driver_version,
            _ => super::VERSION,
        };
        self.define(id, Def::Absolute(value), Again::Yes, at)
    }

    /// Sets a symbol's value.
    pub(crate) fn define(
        &mut self,
        id: SymId,
        def: Def,
        again: Again,
        span: Span,
    ) -> Result<(), Fail> {
        let symbol = self.sym.get_mut(id);
        let label = matches!(symbol.def, Def::Label(..) | Def::Common(..) | Def::Lds(..));
        let once = symbol.again != Again::Yes || again != Again::Yes;
        if label || symbol.def != Def::None && once {
            let name = symbol.name.as_str().to_string();
            return Err(Fail::new(span, format!("'{name}' is defined already")));
        }
        if let (Def::None, Def::Absolute(value)) = (&symbol.def, &def) {
            symbol.first = Some(*value);
        }
        symbol.def = def;
        symbol.again = again;
        symbol.defined_at = span.start;
        Ok(())
    }

    /// Handles `S = %REGISTER`, from token `at` on, after the `%`.
    pub(crate) fn assign_register(
        &mut self,
        tokens: &[Token],
        at: usize,
        id: SymId,
        again: Again,
    ) -> Result<(), Fail> {
        let span = tokens[0].span;
        let used = self.used;
        let mut p = self.parser(tokens);
        p.at = at;
        let (code, count) = p.register_value()?;
        p.end()?;
        // Naming a register does not count as using it.
        self.used = used;
        self.sym.has_registers = true;
        self.define(id, Def::Register(code, count), again, span)
    }

    /// Handles `.set SYMBOL, VALUE`, where the value may be a register in CLRX's syntax.
    pub(crate) fn clrx_set(&mut self, tokens: &[Token], once: bool) -> Result<(), Fail> {
        let again = if once { Again::No } else { Again::Yes };
        let (id, at, comma) = self.parse(tokens, |p| {
            let at = p.span();
            let id = p.defined_symbol("a symbol")?;
            p.expect(b',')?;
            Ok((id, at, p.at))
        })?;
        if tokens[comma].tok == Tok::Punct(b'%') {
            return self.assign_register(tokens, comma + 1, id, again);
        }
        let mut p = self.parser(tokens);
        p.at = comma;
        let expr = p.expr()?;
        p.end()?;
        if self.text(at) == "." {
            return self.org(&expr, at, 0);
        }
        self.assign_to(id, expr, again, at)
    }

    /// `.eqv SYMBOL, EXPRESSION`
    fn evaluated(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let (id, at, comma) = self.parse(tokens, |p| {
            let at = p.span();
            let id = p.defined_symbol("a symbol")?;
            p.expect(b',')?;
            Ok((id, at, p.at))
        })?;
        if tokens[comma].tok == Tok::Punct(b'%') {
            return self.assign_register(tokens, comma + 1, id, Again::No);
        }
        self.sym.keep = true;
        let mut p = self.parser(tokens);
        p.at = comma;
        let expr = p.expr().and_then(|e| p.end().map(|()| e));
        self.sym.keep = false;
        self.define(id, Def::Alias(expr?), Again::Evaluated, at)
    }

    fn undefine(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let at = tokens[1].span;
        let id = self.parse(tokens, |p| {
            let id = p.used_symbol()?;
            p.end()?;
            Ok(id)
        })?;
        let Some(id) = id else {
            return Err(Fail::new(at, "expected a symbol"));
        };
        let symbol = self.sym.get_mut(id);
        if symbol.def == Def::None {
            let text = format!("'{}' is not defined", symbol.name.as_str());
            self.message(Level::Warning, at, text, None);
            return Ok(());
        }
        symbol.def = Def::None;
        symbol.again = Again::Yes;
        Ok(())
    }

    /// `.enum [>[START],] SYMBOL, …`
    fn enumerate(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let (start, from) = self.parse(tokens, |p| {
            if !p.eat(b'>') {
                return Ok((None, p.at));
            }
            let start = match p.is(b',') || p.at_end() {
                true => 0,
                false => p.absolute()?,
            };
            if !p.at_end() {
                p.expect(b',')?;
            }
            Ok((Some(start), p.at))
        })?;
        if let Some(start) = start {
            self.sym.scopes().count_from(start as u64);
        }
        let mut at = from;
        while tokens[at].tok != Tok::End {
            let span = tokens[at].span;
            let mut p = self.parser(tokens);
            p.at = at;
            let id = p.defined_symbol("a symbol")?;
            if !p.eat(b',') {
                p.end()?;
            }
            at = p.at;
            let value = self.sym.scopes().count() as i64;
            self.define(id, Def::Absolute(value), Again::No, span)?;
        }
        Ok(())
    }

    fn scope(&mut self, tokens: &[Token], name: &str) -> Result<(), Fail> {
        let span = tokens[0].span;
        let (at, path, word) = self.parse(tokens, |p| {
            let at = p.span();
            if p.at_end() {
                return Ok((at, None, None));
            }
            if name == ".scope" {
                let word = p.ident("a scope's name")?;
                p.end()?;
                return Ok((at, None, Some(word)));
            }
            let path = p.scope_path()?;
            p.end()?;
            Ok((at, Some(path), None))
        })?;
        let scopes = self.sym.scopes();
        let fail = |m: &str| Fail::new(at, m);
        match (name, path) {
            (".scope", _) => scopes.open(word).map_err(fail),
            (".using", Some(path)) => scopes.using(&path).map_err(fail),
            (".using", None) => Err(fail("expected a scope")),
            (".unusing", path) => {
                if !scopes.unusing(path.as_ref()).map_err(fail)? {
                    let text = "this scope is not in use".to_string();
                    self.message(Level::Warning, at, text, None);
                }
                Ok(())
            }
            (_, Some(_)) => Err(fail("expected the end of the statement")),
            _ => match scopes.close() {
                true => Ok(()),
                false => Err(Fail::new(span, format!("expected .scope before {name}"))),
            },
        }
    }

    /// `.regvar NAME:v:COUNT, …`: allocates registers that nothing named before.
    fn register_variables(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let mut at = 1;
        loop {
            let span = tokens[at].span;
            let mut p = self.parser(tokens);
            p.at = at;
            let id = p.defined_symbol("a register variable")?;
            p.expect(b':')?;
            let kind = p.span();
            let word = Lower::new(p.ident("s or v")?);
            let vector = match word.as_ref().map_or("", Lower::as_str) {
                "v" => true,
                "s" => false,
                _ => return Err(Fail::new(kind, "expected s or v")),
            };
            let most = if vector { 256 } else { 16 };
            let count = match p.eat(b':') {
                false => 1,
                true => {
                    let at = p.span();
                    let count = p.absolute()?;
                    if !(1..=most.min(32)).contains(&count) {
                        return Err(Fail::new(
                            at,
                            format!("expected 1 to {} registers", most.min(32)),
                        ));
                    }
                    count as u32
                }
            };
            let more = p.eat(b',');
            if !more {
                p.end()?;
            }
            at = p.at;
            self.place_variable(id, vector, count, span)?;
            if !more {
                return Ok(());
            }
        }
    }

    fn place_variable(
        &mut self,
        id: SymId,
        vector: bool,
        count: u32,
        span: Span,
    ) -> Result<(), Fail> {
        let file = usize::from(!vector);
        let named = self.sym.absolute(self.next_free[file]).unwrap_or(0) as u32;
        let align = match (vector, count) {
            (true, _) | (_, 1) => 1,
            (_, 2) => 2,
            _ => 4,
        };
        let first = named
            .max(self.clrx_state.variables[file])
            .next_multiple_of(align);
        let generation = self.target.map_or(Gen::Gfx9, Target::generation);
        let most = if vector {
            256
        } else {
            generation.sgprs() as u32
        };
        if first + count > most {
            let what = if vector { "VGPRs" } else { "SGPRs" };
            return Err(Fail::new(
                span,
                format!("there are {most} {what}, and none is left for this"),
            ));
        }
        self.clrx_state.variables[file] = first + count;
        let code = first as u16 + if vector { VGPR0 } else { 0 };
        self.clrx_state.ranges.push((code, code + count as u16));
        self.sym.has_registers = true;
        self.sym.variables.insert(id);
        self.define(id, Def::Register(code, count as u8), Again::No, span)
    }

    /// Warns about registers that were named by number and belong to a variable.
    pub(crate) fn check_variables(&mut self, span: Span) {
        for (used, base) in self.used.into_iter().zip([VGPR0, 0]) {
            let Some(last) = used.checked_sub(1).map(|n| n as u16 + base) else {
                continue;
            };
            let ranges = &self.clrx_state.ranges;
            if ranges.iter().any(|(from, to)| (*from..*to).contains(&last)) {
                let text = "this register belongs to a .regvar".to_string();
                let help = "name it before the .regvar, so that another one is chosen".to_string();
                self.message(Level::Warning, span, text, Some(help));
            }
        }
    }

    /// `.usereg REGISTER:rw, …` and `.rvlin VARIABLE, …`, which CLRX's register allocator reads.
    fn uses(&mut self, tokens: &[Token], access: bool) -> Result<(), Fail> {
        self.parse(tokens, |p: &mut Parser<'_, '_>| {
            p.clrx = true;
            p.items(|p| {
                let at = p.span();
                if p.register()?.is_none() {
                    return Err(Fail::new(at, "expected a register"));
                }
                if access {
                    p.expect(b':')?;
                    let at = p.span();
                    if !matches!(p.ident("r, w or rw")?, "r" | "w" | "rw" | "wr") {
                        return Err(Fail::new(at, "expected r, w or rw"));
                    }
                }
                Ok(())
            })
        })
    }

    /// `.balignw ALIGN, FILL, MOST`: like `.balign` with a fill of several bytes.
    fn align_words(&mut self, tokens: &[Token], width: usize) -> Result<(), Fail> {
        let span = tokens[0].span;
        let (align, fill, most) = self.parse(tokens, |p| {
            let at = p.span();
            let align = p.absolute()?;
            let mut rest = [None; 2];
            for value in &mut rest {
                if p.eat(b',') && !p.is(b',') && !p.at_end() {
                    *value = Some(p.absolute()?);
                }
            }
            p.end()?;
            match u64::try_from(align) {
                Ok(a) if a.is_power_of_two() && a <= crate::asm::MAX_ALIGN => {
                    Ok((a, rest[0], rest[1]))
                }
                _ => Err(Fail::new(
                    at,
                    "expected an alignment that is a power of two",
                )),
            }
        })?;
        let section = &mut self.sections[self.current as usize];
        section.align = section.align.max(align);
        let gap = section.size.next_multiple_of(align) - section.size;
        if most.is_some_and(|most| most > 0 && gap > most as u64) {
            return Ok(());
        }
        let bytes = fill.unwrap_or(0).to_le_bytes();
        let odd = gap % width as u64;
        self.emit_repeated(span, odd, &[0])?;
        self.emit_repeated(span, gap / width as u64, &bytes[..width])
    }

    fn fill_long(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let span = tokens[0].span;
        let [count, size, value] = self.parse(tokens, |p| {
            let mut values = [0, 1, 0];
            values[0] = p.absolute()?;
            for value in values.iter_mut().skip(1) {
                if p.eat(b',') && !p.is(b',') && !p.at_end() {
                    *value = p.absolute()?;
                }
            }
            p.end()?;
            Ok(values)
        })?;
        if count < 0 || !(0..=8).contains(&size) {
            let message = "expected a count of 0 or more, and a size of 0 to 8 bytes";
            return Err(Fail::new(span, message));
        }
        self.emit_repeated(span, count as u64, &value.to_le_bytes()[..size as usize])
    }

    /// `.string16 "TEXT", …`: characters of several bytes, and a terminating 0.
    fn wide_strings(&mut self, tokens: &[Token], width: usize) -> Result<(), Fail> {
        let span = tokens[0].span;
        let bytes = self.parse(tokens, |p| {
            let mut bytes = Vec::new();
            p.items(|p| {
                for byte in p.string()?.into_iter().chain([0]) {
                    bytes.push(byte);
                    bytes.extend(&[0; 8][1..width]);
                }
                Ok(())
            })?;
            Ok(bytes)
        })?;
        self.emit(span, &bytes)
    }

    /// Evaluates CLRX's conditions on bits and format: `.if64`, `.iffmt rocm`.
    pub(crate) fn format_condition(&mut self, tokens: &[Token], name: &str) -> Result<bool, Fail> {
        if matches!(name, ".if32" | ".if64") {
            self.parse(tokens, |p| p.end())?;
            return Ok(self.clrx_state.long == (name == ".if64"));
        }
        let asked = self.parse(tokens, |p| {
            let at = p.span();
            let word = p.ident("a binary format")?;
            p.end()?;
            Format::of(word).ok_or_else(|| Fail::new(at, FORMATS_EXPECTED))
        })?;
        let same = self.clrx_state.format.unwrap_or(Format::Amd) == asked;
        Ok(same == (name == ".iffmt"))
    }

    /// Handles `.section NAME …`, with CLRX's alignment in `align=N`.
    pub(crate) fn aligned_section(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let at = (2..tokens.len().saturating_sub(2)).find(|&n| {
            tokens[n].tok == Tok::Ident
                && tokens[n + 1].tok == Tok::Punct(b'=')
                && self.text(tokens[n].span).eq_ignore_ascii_case("align")
        });
        let Some(at) = at else {
            return self.section(tokens);
        };
        let mut p = self.parser(tokens);
        p.at = at + 2;
        let from = p.span();
        let align = p.absolute()?;
        p.end()?;
        let align = u64::try_from(align)
            .ok()
            .filter(|a| a.is_power_of_two() && *a <= crate::asm::MAX_ALIGN);
        let Some(align) = align else {
            return Err(Fail::new(
                from,
                "expected an alignment that is a power of two",
            ));
        };
        let comma = usize::from(tokens[at - 1].tok == Tok::Punct(b','));
        let mut short = tokens[..at - comma].to_vec();
        short.push(Token {
            tok: Tok::End,
            span: tokens[at].span,
        });
        self.section(&short)?;
        let section = &mut self.sections[self.current as usize];
        section.align = section.align.max(align);
        Ok(())
    }

    /// Handles a label, or an assignment, of a symbol whose name has scopes before it. Returns the number of tokens
    /// read if more may follow.
    pub(crate) fn scoped_statement(&mut self, tokens: &[Token]) -> Result<Option<usize>, Fail> {
        let span = tokens[0].span;
        let mut p = self.parser(tokens);
        let id = p.defined_symbol("a symbol")?;
        let at = p.at;
        if p.eat(b':') {
            self.define_label(id, span)?;
            return Ok(Some(at + 1));
        }
        p.expect(b'=')?;
        if p.is(b'%') {
            self.assign_register(tokens, at + 2, id, Again::Yes)?;
            return Ok(None);
        }
        let expr = p.expr()?;
        p.end()?;
        self.assign_to(id, expr, Again::Yes, span)?;
        Ok(None)
    }

    /// CLRX's assignment: of the current value of an expression, or of the expression if it has no value yet.
    pub(crate) fn assign_to(
        &mut self,
        id: SymId,
        expr: Expr,
        again: Again,
        span: Span,
    ) -> Result<(), Fail> {
        let def = match self.sym.evaluate(&expr) {
            Ok(value) if value.is_absolute() => Def::Absolute(value.addend),
            _ => Def::Alias(expr),
        };
        self.define(id, def, again, span)
    }
}

const FORMATS_EXPECTED: &str = "expected rocm, raw, amd, amdcl2 or gallium";

#[cfg(test)]
mod tests {
    use super::{DEVICES, WORDS, target_of_device};
    use gcn_isa::Target;

    #[test]
    fn the_document_names_every_directive() {
        let text = include_str!("../../../../docs/clrx.md");
        let name = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
        let words: Vec<&str> = text.split(|c| !name(c)).collect();
        let missing: Vec<_> = WORDS.iter().filter(|w| !words.contains(w)).collect();
        assert!(missing.is_empty(), "docs/clrx.md has not {missing:?}");
    }

    #[test]
    fn every_device_is_a_target() {
        for device in DEVICES {
            let target = Target::parse(device).or_else(|| target_of_device(device));
            assert!(target.is_some(), "{device}");
        }
    }
}
