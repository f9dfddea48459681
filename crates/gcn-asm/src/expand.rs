//! Text that is read again, elsewhere or not at all: macros, repetitions, conditions and includes.
//!
//! Nothing here recurses: the texts being read are a stack of [`Frame`]s, and all text that a source
//! expands to is charged to one budget.

use crate::asm::Asm;
use crate::expr::Expr;
use crate::lexer::{Lexer, Span, Tok, Token};
use crate::operand::Lower;
use crate::parse::Fail;
use crate::sources::{Origin, newlines};
use crate::symbols::Def;
use gcn_isa::Target;
use gcn_isa::target::Features;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A text that continues after the current one.
pub(crate) struct Frame<'s> {
    pub lexer: Lexer<'s>,
    quick_from: usize,
    reading: Now,
}

/// The kind of the text that is being read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Now {
    /// A file, or the expansion of `.irp`: it is read once.
    Text,
    Macro,
    /// The body of a repetition, which starts at this position of its text.
    Round(usize, Rounds),
}

/// The condition under which a repetition's body is read again.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Rounds {
    /// The remaining count.
    Left(u64),
    /// While a condition holds; before it is tested again, a symbol gets its next value.
    While(Span, Option<(Span, Span)>),
}

/// A `.if` whose `.endif` was not read yet.
pub(crate) struct Condition {
    span: Span,
    /// `.else` was read.
    last: bool,
    /// The number of frames at the `.if`.
    depth: usize,
}

/// A macro: its parameters and its text.
pub(crate) struct Macro<'s> {
    name: &'s str,
    parameters: Vec<Parameter<'s>>,
    body: Span,
}

struct Parameter<'s> {
    name: &'s str,
    default: &'s str,
    required: bool,
    /// True if it takes all remaining arguments.
    rest: bool,
}

/// The maximum nesting of texts.
const MAX_DEPTH: usize = 1000;
/// The maximum number of bytes of text that macros, repetitions and includes may produce from a source.
const BUDGET: u64 = 1 << 26;
/// The cost of a produced text in addition to its bytes.
const COST: u64 = 256;
/// The cost of one more iteration of a repetition.
const ROUND: u64 = 16;
/// The maximum number of parameters of a macro.
const MAX_PARAMETERS: usize = 1000;
/// The maximum size of an included file in bytes.
const MAX_FILE: u64 = 1 << 28;

/// Returns true if a directive opens a condition.
fn is_if(name: &str) -> bool {
    name.starts_with(".if")
}

const MACRO: [&str; 1] = [".macro"];
const REPEATS: [&str; 6] = [".rept", ".rep", ".irp", ".irpc", ".for", ".while"];

impl<'s> Asm<'s, '_> {
    /// Starts reading another text; the current one continues after it.
    fn enter(&mut self, lexer: Lexer<'s>, now: Now) {
        let lexer = std::mem::replace(&mut self.lexer, lexer);
        // Analyzing the encodings of instructions pays off only for a long text, unless it was done already.
        let quick_from = match self.quick {
            Some(_) => 0,
            None => self.quick_from,
        };
        self.frames.push(Frame {
            lexer,
            quick_from: std::mem::replace(&mut self.quick_from, quick_from),
            reading: std::mem::replace(&mut self.now, now),
        });
    }

    /// Ends the current text: returns to the enclosing one, or to the start of a repetition.
    pub(crate) fn leave(&mut self) {
        if let Now::Round(start, rounds) = self.now {
            match self.another_round(start, rounds) {
                Ok(Some(rounds)) => {
                    self.now = Now::Round(start, rounds);
                    self.lexer.go_to_line(start);
                    self.quick_from = self.quick_from.min(start);
                    return;
                }
                Ok(None) => {}
                Err(fail) => self.fail(fail),
            }
        }
        let mut open = None;
        while let Some(condition) = self.conditions.pop_if(|c| c.depth >= self.frames.len()) {
            open = open.or(Some(condition.span));
        }
        if let Some(span) = open {
            let message = "expected .endif: this condition has no end";
            self.fail(Fail::new(span, message));
        }
        self.back();
    }

    /// Returns to the enclosing text and drops the rest of the current one.
    fn back(&mut self) {
        if let Some(frame) = self.frames.pop() {
            let reading = self.lexer.reading;
            self.lexer = frame.lexer;
            // `.syntax` stays in effect.
            self.lexer.reading = reading;
            self.quick_from = frame.quick_from;
            self.now = frame.reading;
        }
    }

    /// Ends the reading of all texts.
    pub(crate) fn end_all(&mut self) {
        self.frames.clear();
        self.conditions.clear();
        self.now = Now::Text;
        self.lexer.pos = self.lexer.src.len();
    }

    /// Charges the budget; reading stops once it is used up.
    fn pay(&mut self, span: Span, bytes: u64) -> Result<(), Fail> {
        self.spent = self.spent.saturating_add(bytes);
        let budget = self.options.budget.unwrap_or(BUDGET);
        if self.spent > budget {
            self.stopped = true;
            return Err(Fail::new(
                span,
                format!(
                    "macros, repetitions and includes make more than {} of text here",
                    match budget {
                        0..0x10_0000 => format!("{budget} bytes"),
                        _ => format!("{} MiB", budget >> 20),
                    }
                ),
            )
            .help("is there one that never ends?"));
        }
        if self.frames.len() >= MAX_DEPTH {
            self.stopped = true;
            return Err(Fail::new(
                span,
                format!("macros, repetitions and includes are {MAX_DEPTH} deep here"),
            )
            .help("is there a macro or a file that contains itself?"));
        }
        Ok(())
    }

    /// Reads the statements up to the one that ends a block; returns the block's text.
    fn block(
        &mut self,
        span: Span,
        opens: &[&str],
        closes: &[&str],
        end: &str,
    ) -> Result<Span, Fail> {
        let start = self.lexer.pos;
        let mut tokens = Vec::new();
        let mut depth = 0;
        while !self.lexer.at_end() {
            let at = self.lexer.pos;
            // Errors in the text are found when it is read.
            if self.lexer.statement(&mut tokens).is_err() {
                continue;
            }
            let first = self.text(tokens[0].span);
            let is = |list: &[&str]| list.iter().any(|name| name.eq_ignore_ascii_case(first));
            if is(opens) {
                depth += 1;
            } else if is(closes) {
                if depth == 0 {
                    if tokens[1].tok != Tok::End {
                        return Err(Fail::new(
                            tokens[1].span,
                            format!("expected the end of the statement after {end}"),
                        ));
                    }
                    return Ok(Span {
                        start: self.lexer.base + start as u32,
                        end: self.lexer.base + at as u32,
                    });
                }
                depth -= 1;
            }
        }
        Err(Fail::new(
            span,
            format!("expected {end}: this block has no end"),
        ))
    }

    /// `.macro NAME PARAMETERS … .endm`
    pub(crate) fn define_macro(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let span = tokens[0].span;
        let header = self.macro_header(tokens);
        let body = self.block(span, &MACRO, &[".endm", ".endmacro"], ".endm")?;
        let (at, name, parameters) = header?;
        let name = self.macro_name(name);
        if self.macros.contains_key(name) {
            return Err(Fail::new(at, format!("there is a macro `{name}` already"))
                .help("`.purgem` forgets it"));
        }
        // Plain lines are not checked for macro calls.
        let mnemonic = crate::insn::split_form(name).0;
        let data = crate::quick::data_directive(name).is_some();
        if data || gcn_isa::insts::by_name(mnemonic).next().is_some() {
            self.shadowed = true;
        }
        self.macros.insert(
            name,
            Macro {
                name,
                parameters,
                body,
            },
        );
        Ok(())
    }

    fn macro_header(
        &mut self,
        tokens: &[Token],
    ) -> Result<(Span, &'s str, Vec<Parameter<'s>>), Fail> {
        self.parse(tokens, |p| {
            let at = p.span();
            let name = p.ident("the macro's name")?;
            p.eat(b',');
            let mut parameters: Vec<Parameter<'s>> = Vec::new();
            while !p.at_end() {
                let span = p.span();
                let name = p.ident("a parameter's name")?;
                if parameters.len() >= MAX_PARAMETERS {
                    return Err(Fail::new(
                        span,
                        format!("a macro may have {MAX_PARAMETERS} parameters"),
                    ));
                }
                if parameters.iter().any(|p| p.name == name) {
                    return Err(Fail::new(
                        span,
                        format!("there are two parameters `{name}`"),
                    ));
                }
                if parameters.last().is_some_and(|p| p.rest) {
                    return Err(Fail::new(
                        span,
                        "expected nothing after the :vararg parameter, which takes all",
                    ));
                }
                let (mut required, mut rest, mut default) = (false, false, "");
                while p.eat(b':') {
                    let span = p.span();
                    match p.ident("req or vararg")? {
                        "req" => required = true,
                        "vararg" => rest = true,
                        _ => return Err(Fail::new(span, "expected req or vararg")),
                    }
                }
                if p.eat(b'=') {
                    let end = argument_end(p.tokens, p.at);
                    default = p.between(p.at, end);
                    p.at = end;
                }
                p.eat(b',');
                parameters.push(Parameter {
                    name,
                    default: unquoted(default),
                    required,
                    rest,
                });
            }
            Ok((at, name, parameters))
        })
    }

    pub(crate) fn forget_macro(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let (name, span) = self.parse(tokens, |p| {
            let span = p.span();
            let name = p.ident("a macro's name")?;
            p.end()?;
            Ok((name, span))
        })?;
        match self.macros.remove(self.macro_name(name)) {
            Some(_) => Ok(()),
            None => Err(Fail::new(span, format!("there is no macro `{name}`"))),
        }
    }

    /// Returns a macro's name for the look-up: in CLRX's syntax in lower case, if names are not case-sensitive.
    fn macro_name(&self, name: &'s str) -> &'s str {
        let plain = !self.clrx || self.clrx_state.macro_case;
        match plain || !name.bytes().any(|c| c.is_ascii_uppercase()) {
            true => name,
            false => self.sources.keep(name.to_ascii_lowercase()),
        }
    }

    /// Reads a statement as a macro's call, if it is one.
    pub(crate) fn call_macro(&mut self, tokens: &[Token], name: &str) -> Result<bool, Fail> {
        let span = tokens[0].span;
        let lower;
        let mut called = self.macros.get(name);
        if called.is_none() && self.clrx && !self.clrx_state.macro_case {
            lower = Lower::new(name);
            called = lower.as_ref().and_then(|l| self.macros.get(l.as_str()));
        }
        let Some(called) = called else {
            return Ok(false);
        };
        let count = called.parameters.len();
        let mut values: Vec<Option<&'s str>> = vec![None; count];
        // Arguments that are passed as numbers, not as texts.
        let mut numbers: Vec<(usize, Span)> = Vec::new();
        let mut at = 1;
        let mut next = 0;
        let mut named = false;
        while tokens[at].tok != Tok::End {
            let key = match (tokens[at].tok, tokens[at + 1].tok) {
                (Tok::Ident, Tok::Punct(b'=')) => Some(self.text(tokens[at].span)),
                _ => None,
            };
            let first = tokens[at].span;
            let index = match key {
                Some(key) => {
                    let Some(n) = called.parameters.iter().position(|p| p.name == key) else {
                        return Err(Fail::new(
                            first,
                            format!("macro `{name}` has no parameter `{key}`"),
                        ));
                    };
                    named = true;
                    at += 2;
                    n
                }
                None if named => {
                    return Err(Fail::new(
                        first,
                        "expected `name=value`: the arguments before this are given by name",
                    ));
                }
                None if next >= count => {
                    return Err(Fail::new(
                        first,
                        match count {
                            0 => format!("macro `{name}` takes no arguments"),
                            1 => format!("macro `{name}` takes one argument"),
                            n => format!("macro `{name}` takes {n} arguments"),
                        },
                    ));
                }
                None => {
                    next += 1;
                    next - 1
                }
            };
            let parameter = &called.parameters[index];
            let end = if parameter.rest {
                tokens.len() - 1
            } else {
                argument_end(tokens, at)
            };
            let text = self.between(tokens, at, end);
            values[index] = Some(if parameter.rest { text } else { unquoted(text) });
            let percent = match tokens[at].tok {
                Tok::Punct(b'%') if self.clrx_state.alt_macro => 1,
                Tok::Punct(b'\\') if self.clrx && tokens[at + 1].tok == Tok::Punct(b'%') => 2,
                _ => 0,
            };
            if percent > 0 && at + percent < end {
                numbers.push((index, tokens[at + percent].span.to(tokens[end - 1].span)));
            } else if self.clrx_state.alt_macro
                && let Some((text, end)) = self.alt_argument(tokens, at)
            {
                values[index] = Some(text);
                at = end;
                if tokens[at].tok == Tok::Punct(b',') {
                    at += 1;
                }
                continue;
            }
            at = end;
            if tokens[at].tok == Tok::Punct(b',') {
                at += 1;
            }
        }
        let (body, what) = (called.body, format!("macro `{}`", called.name));
        for (index, span) in numbers {
            let value = self.evaluate_text(span)?;
            values[index] = Some(self.sources.keep(value.to_string()));
        }
        let Some(called) = self.macros.values().find(|m| m.body == body) else {
            return Ok(false);
        };
        let mut pairs = HashMap::with_capacity(count);
        for (parameter, value) in called.parameters.iter().zip(values) {
            let value = value.filter(|v| !v.is_empty());
            if value.is_none() && parameter.required {
                return Err(Fail::new(
                    span,
                    format!(
                        "macro `{name}` must be given its parameter `{}`",
                        parameter.name
                    ),
                ));
            }
            pairs.insert(parameter.name, value.unwrap_or(parameter.default));
        }
        let number = self.calls.to_string();
        self.calls += 1;
        let mut text = String::new();
        let source = self.sources.text(body);
        if self.clrx_state.alt_macro {
            let alt = alternate(source, &pairs, &mut self.clrx_state.locals);
            substitute(&mut text, &alt, &pairs, Some(&number));
        } else {
            substitute(&mut text, source, &pairs, Some(&number));
        }
        let call = self.statement_span(tokens);
        self.expand(text, what, call, body, Now::Macro)?;
        Ok(true)
    }

    /// Returns an argument of `.altmacro` in `<…>` or quotes, in which `!` escapes the next character, and the token
    /// after it.
    fn alt_argument(&self, tokens: &[Token], at: usize) -> Option<(&'s str, usize)> {
        let start = (tokens[at].span.start - self.lexer.base) as usize;
        let rest = self.lexer.src.get(start..)?;
        let close = match rest.as_bytes().first()? {
            b'<' => b'>',
            b'\'' => b'\'',
            _ => return None,
        };
        let mut text = String::new();
        let mut chars = rest.char_indices().skip(1);
        while let Some((n, c)) = chars.next() {
            match c {
                '\n' => return None,
                '!' => text.extend(chars.next().map(|(_, c)| c)),
                c if c as u32 == u32::from(close) => {
                    let end = tokens[at].span.start + n as u32 + 1;
                    let next = tokens.iter().position(|t| t.span.start >= end)?;
                    return Some((self.sources.keep(text), next));
                }
                c => text.push(c),
            }
        }
        None
    }

    /// `.exitm`: ends the current macro.
    pub(crate) fn exit_macro(&mut self, span: Span) -> Result<(), Fail> {
        let frames = (self.frames.iter().map(|f| f.reading)).chain([self.now]);
        let Some(depth) = frames
            .enumerate()
            .filter(|(_, now)| *now == Now::Macro)
            .map(|(depth, _)| depth)
            .last()
        else {
            return Err(Fail::new(span, "expected to be in a macro"));
        };
        while self.frames.len() >= depth.max(1) {
            self.back();
        }
        let depth = self.frames.len();
        self.conditions.retain(|c| c.depth <= depth);
        Ok(())
    }

    /// Reads a produced text before the current one continues.
    fn expand(
        &mut self,
        mut text: String,
        what: String,
        called: Span,
        body: Span,
        now: Now,
    ) -> Result<(), Fail> {
        self.pay(called, text.len() as u64 + COST)?;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let text = self.sources.keep(text);
        let origin = Origin::Expansion {
            what,
            called,
            body,
            lines: newlines(self.text(body)),
        };
        self.read_text(text, origin, called, now)
    }

    fn read_text(
        &mut self,
        text: &'s str,
        origin: Origin,
        called: Span,
        now: Now,
    ) -> Result<(), Fail> {
        let Some(base) = self.sources.add(text, origin) else {
            self.stopped = true;
            return Err(Fail::new(
                called,
                "all texts together are larger than 4 GiB",
            ));
        };
        let mut lexer = Lexer::new(text, self.lexer.reading);
        lexer.base = base;
        self.enter(lexer, now);
        Ok(())
    }

    /// Reads a part of a text repeatedly, as `rounds` specifies.
    fn repeat(&mut self, body: Span, rounds: Rounds) {
        let source = self.sources.source(body.start);
        let base = source.base;
        let text = &source.text[..(body.end - base) as usize];
        let start = (body.start - base) as usize;
        let mut lexer = Lexer::new(text, self.lexer.reading);
        lexer.base = base;
        lexer.go_to_line(start);
        self.enter(lexer, Now::Round(start, rounds));
        self.quick_from = start;
    }

    /// `.rept COUNT … .endr`
    pub(crate) fn rept(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let span = tokens[0].span;
        let count = self.parse(tokens, |p| {
            let at = p.span();
            let count = p.absolute()?;
            p.end()?;
            u64::try_from(count).map_err(|_| Fail::new(at, "expected a count of 0 or more"))
        });
        let body = self.repeated(span)?;
        let count = count?;
        if count == 0 {
            return Ok(());
        }
        let call = self.statement_span(tokens);
        let text = self.sources.text(body);
        // The cost of all iterations is known here: a mistyped count is reported immediately.
        self.pay(call, (text.len() as u64 + ROUND).saturating_mul(count))?;
        self.repeat(body, Rounds::Left(count - 1));
        Ok(())
    }

    fn repeated(&mut self, span: Span) -> Result<Span, Fail> {
        self.block(span, &REPEATS, &[".endr", ".endrept"], ".endr")
    }

    /// `.irp SYMBOL, VALUES … .endr`, and `.irpc SYMBOL, CHARACTERS … .endr`
    pub(crate) fn irp(&mut self, tokens: &[Token], characters: bool) -> Result<(), Fail> {
        let span = tokens[0].span;
        let header = self.parse(tokens, |p| {
            let name = p.ident("the name to replace")?;
            p.eat(b',');
            let mut values = Vec::new();
            while !p.at_end() {
                let end = argument_end(p.tokens, p.at);
                values.push(unquoted(p.between(p.at, end)));
                p.at = end;
                if p.is(b',') {
                    p.at += 1;
                    if p.at_end() {
                        values.push("");
                    }
                }
            }
            if characters && values.len() > 1 {
                return Err(Fail::new(
                    p.last_span(),
                    "expected the characters as one word",
                ));
            }
            Ok((name, values))
        });
        let body = self.repeated(span)?;
        let (name, values) = header?;
        let source = self.sources.text(body);
        let call = self.statement_span(tokens);
        let mut text = String::new();
        let mut add = |asm: &mut Self, value: &str| {
            let before = text.len();
            substitute(&mut text, source, &HashMap::from([(name, value)]), None);
            if !text.ends_with('\n') {
                text.push('\n');
            }
            asm.pay(call, (text.len() - before) as u64 + ROUND)
        };
        if characters {
            let word = values.first().copied().unwrap_or("");
            for c in word.chars() {
                add(self, c.encode_utf8(&mut [0; 4]))?;
            }
        } else if values.is_empty() {
            add(self, "")?;
        } else {
            for value in values {
                add(self, value)?;
            }
        }
        if text.is_empty() {
            return Ok(());
        }
        let what = if characters { ".irpc" } else { ".irp" };
        let text = self.sources.keep(text);
        let origin = Origin::Expansion {
            what: what.into(),
            called: call,
            body,
            lines: newlines(self.text(body)),
        };
        self.read_text(text, origin, call, Now::Text)
    }

    /// `.while CONDITION … .endr`
    pub(crate) fn while_loop(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let body = self.repeated(tokens[0].span)?;
        let condition = Span {
            start: tokens[1].span.start,
            end: tokens[tokens.len() - 1].span.start,
        };
        self.start_loop(body, Rounds::While(condition, None))
    }

    /// `.for SYMBOL=VALUE, CONDITION, NEXT … .endr`
    pub(crate) fn for_loop(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let header = self.parse(tokens, |p| {
            let name = p.span();
            p.ident("a symbol")?;
            p.expect(b'=')?;
            let value = p.absolute()?;
            p.expect(b',')?;
            let comma = (p.at..p.tokens.len())
                .find(|&n| p.tokens[n].tok == Tok::Punct(b','))
                .ok_or_else(|| {
                    Fail::new(p.span(), "expected `symbol=value, condition, next value`")
                })?;
            let span = |from: usize, to: usize| Span {
                start: p.tokens[from].span.start,
                end: p.tokens[to].span.start,
            };
            let condition = span(p.at, comma);
            let next = span(comma + 1, p.tokens.len() - 1);
            Ok((name, value, condition, next))
        });
        let body = self.repeated(tokens[0].span)?;
        let (name, value, condition, next) = header?;
        self.assign_number(name, value)?;
        self.start_loop(body, Rounds::While(condition, Some((name, next))))
    }

    fn start_loop(&mut self, body: Span, rounds: Rounds) -> Result<(), Fail> {
        let Rounds::While(condition, _) = rounds else {
            return Ok(());
        };
        self.pay(condition, (body.end - body.start) as u64 + COST)?;
        if self.evaluate_text(condition)? != 0 {
            self.repeat(body, rounds);
        }
        Ok(())
    }

    /// Returns the remaining iterations of a repetition after one more; `None` if it is done.
    fn another_round(&mut self, start: usize, rounds: Rounds) -> Result<Option<Rounds>, Fail> {
        Ok(match rounds {
            Rounds::Left(0) => None,
            Rounds::Left(n) => Some(Rounds::Left(n - 1)),
            Rounds::While(condition, next) => {
                let body = self.lexer.src.len() - start;
                self.pay(condition, body as u64 + 4 * ROUND)?;
                if let Some((name, next)) = next {
                    let value = self.evaluate_text(next)?;
                    self.assign_number(name, value)?;
                }
                (self.evaluate_text(condition)? != 0).then_some(rounds)
            }
        })
    }

    fn assign_number(&mut self, name: Span, value: i64) -> Result<(), Fail> {
        self.assign(self.sources.text(name), Expr::Const(value), name)
    }

    /// Evaluates a part of the text with the symbols' current values.
    fn evaluate_text(&mut self, span: Span) -> Result<i64, Fail> {
        let source = self.sources.source(span.start);
        let mut lexer = Lexer::new(
            &source.text[..(span.end - source.base) as usize],
            self.lexer.reading,
        );
        lexer.base = source.base;
        lexer.pos = (span.start - source.base) as usize;
        lexer.line_start = false;
        let mut tokens = Vec::new();
        (lexer.statement(&mut tokens)).map_err(|e| Fail::new(e.span, e.message))?;
        let mut p = self.parser(&tokens);
        let value = p.absolute()?;
        p.end()?;
        Ok(value)
    }

    /// Handles the directive of a condition, `.if` and its variants.
    pub(crate) fn condition(&mut self, tokens: &[Token], name: &str) -> Result<(), Fail> {
        self.conditions.push(Condition {
            span: tokens[0].span,
            last: false,
            depth: self.frames.len(),
        });
        let holds = self.holds(tokens, name).unwrap_or_else(|fail| {
            self.fail(fail);
            false
        });
        match holds {
            true => Ok(()),
            false => self.skip_condition(),
        }
    }

    /// Handles `.else` and its variants after a part that was read; skips the rest.
    pub(crate) fn condition_end(&mut self, tokens: &[Token], name: &str) -> Result<(), Fail> {
        let depth = self.frames.len();
        let Some(open) = self.conditions.last_mut().filter(|c| c.depth == depth) else {
            return Err(Fail::new(
                tokens[0].span,
                format!("expected an .if before {name}"),
            ));
        };
        if name == ".endif" {
            self.conditions.pop();
            return self.parse(tokens, |p| p.end());
        }
        check_else(open, tokens, name)?;
        self.skip_to(|_, _, name| Ok(name == ".endif"))
    }

    /// Skips the parts of a condition up to the one that holds, or to its end.
    fn skip_condition(&mut self) -> Result<(), Fail> {
        self.skip_to(|asm, tokens, name| match name {
            ".endif" => Ok(true),
            ".else" => Ok(true),
            // `.elseifdef` is handled like `.ifdef`.
            _ => asm.holds(tokens, &format!(".{}", &name[5..])),
        })
    }

    /// Skips statements up to the part of the current condition for which `stop` returns true.
    fn skip_to(
        &mut self,
        stop: impl Fn(&mut Self, &[Token], &str) -> Result<bool, Fail>,
    ) -> Result<(), Fail> {
        let mut tokens = Vec::new();
        let mut depth = 0;
        let mut lower = String::new();
        while !self.lexer.at_end() {
            if self.lexer.statement(&mut tokens).is_err() || tokens[0].tok != Tok::Ident {
                continue;
            }
            let first = self.text(tokens[0].span);
            if !first.starts_with('.') {
                continue;
            }
            lower.clear();
            lower.extend(first.chars().map(|c| c.to_ascii_lowercase()));
            let name = lower.as_str();
            if is_if(name) {
                depth += 1;
            } else if depth > 0 {
                depth -= (name == ".endif") as u32;
            } else if name == ".endif" || name.starts_with(".else") {
                let Some(open) = self.conditions.last_mut() else {
                    return Ok(());
                };
                if name != ".endif" {
                    check_else(open, &tokens, name)?;
                }
                let end = name == ".endif";
                if end || stop(self, &tokens, name)? {
                    if end {
                        self.conditions.pop();
                    }
                    return Ok(());
                }
            }
        }
        // The error of a missing `.endif` is reported at the end of the text.
        Ok(())
    }

    /// Returns true if a condition holds.
    fn holds(&mut self, tokens: &[Token], name: &str) -> Result<bool, Fail> {
        let not = |negate: bool, value: Result<bool, Fail>| value.map(|v| v != negate);
        match name {
            ".if" | ".ifne" | ".ifeq" | ".ifge" | ".ifgt" | ".ifle" | ".iflt" => {
                let value = self.parse(tokens, |p| {
                    let value = p.absolute()?;
                    p.end()?;
                    Ok(value)
                })?;
                Ok(match name {
                    ".ifeq" => value == 0,
                    ".ifge" => value >= 0,
                    ".ifgt" => value > 0,
                    ".ifle" => value <= 0,
                    ".iflt" => value < 0,
                    _ => value != 0,
                })
            }
            ".ifdef" | ".ifndef" | ".ifnotdef" => {
                let clrx = self.clrx;
                let defined = self.parse(tokens, |p| {
                    if clrx {
                        let at = p.span();
                        let Some((path, count)) = p.path_at(0) else {
                            return Err(Fail::new(at, "expected a symbol"));
                        };
                        p.at += count;
                        p.end()?;
                        let id = p.sym.visible(&path);
                        return Ok(id.is_some_and(|id| p.sym.get(id).def != Def::None));
                    }
                    let id = p.symbol_name()?;
                    p.end()?;
                    Ok(p.sym.get(id).def != Def::None)
                });
                not(name != ".ifdef", defined)
            }
            ".ifb" | ".ifnb" => Ok((tokens.len() == 2) == (name == ".ifb")),
            ".ifc" | ".ifnc" => {
                let comma =
                    (tokens.iter().position(|t| t.tok == Tok::Punct(b','))).ok_or_else(|| {
                        Fail::new(tokens[0].span, "expected two texts and a comma between")
                    })?;
                let a = self.between(tokens, 1, comma);
                let b = self.between(tokens, comma + 1, tokens.len() - 1);
                not(name == ".ifnc", Ok(a == b))
            }
            ".ifeqs" | ".ifnes" => {
                let same = self.parse(tokens, |p| {
                    let a = p.string()?;
                    p.expect(b',')?;
                    let b = p.string()?;
                    p.end()?;
                    Ok(a == b)
                });
                not(name == ".ifnes", same)
            }
            ".ifarch" | ".ifnarch" | ".ifgpu" | ".ifngpu" => self.target_condition(tokens, name),
            ".if32" | ".if64" | ".iffmt" | ".ifnfmt" => self.format_condition(tokens, name),
            _ => Err(Fail::new(
                tokens[0].span,
                format!("there is no condition `{name}`"),
            )),
        }
    }

    /// CLRX's conditions on the target.
    fn target_condition(&mut self, tokens: &[Token], name: &str) -> Result<bool, Fail> {
        let (asked, span) = self.target_name(tokens)?;
        let same = if name.ends_with("gpu") {
            // CLRX distinguishes devices that are one target.
            let device = crate::clrx::directives::device(self.text(span).trim_matches('"'));
            match (device, self.clrx_state.gpu) {
                (Some(asked), Some(device)) => asked == device,
                _ => self.target == Some(asked),
            }
        } else {
            // An architecture is one of the documents' five; the last one is the fourth with more instructions.
            let more = |t: Target| t.features().has(Features::DL);
            self.target.is_some_and(|target| {
                target.generation() == asked.generation() && (more(target) || !more(asked))
            })
        };
        if self.target.is_none() {
            return Err(Fail::new(span, "the target is not known here"));
        }
        Ok(same != name.starts_with(".ifn"))
    }

    /// `.include "FILE"`
    pub(crate) fn include(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let (name, span) = self.file_argument(tokens)?;
        let call = self.statement_span(tokens);
        let path = self.find_file(&name, span)?;
        let shown = path.display().to_string();
        let text = (self.sources)
            .file(path.clone(), || {
                let mut bytes = Vec::new();
                read_limited(&path, 0, MAX_FILE, &mut bytes)?;
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            })
            .map_err(|e| Fail::new(span, format!("cannot read {shown}: {e}")))?;
        self.pay(call, text.len() as u64 + COST)?;
        let origin = Origin::File {
            name: shown,
            included: Some(call),
        };
        self.read_text(text, origin, call, Now::Text)
    }

    /// `.incbin "FILE", SKIP, COUNT`
    pub(crate) fn incbin(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let comma =
            (tokens.iter().position(|t| t.tok == Tok::Punct(b','))).unwrap_or(tokens.len() - 1);
        let (skip, count) = self.parse(tokens, |p| {
            p.at = comma;
            let mut numbers = [None; 2];
            for number in &mut numbers {
                if p.eat(b',') && !p.is(b',') {
                    let at = p.span();
                    let value = p.absolute()?;
                    *number = Some(
                        u64::try_from(value)
                            .map_err(|_| Fail::new(at, "expected a number of bytes, 0 or more"))?,
                    );
                }
            }
            p.end()?;
            Ok((numbers[0].unwrap_or(0), numbers[1].unwrap_or(u64::MAX)))
        })?;
        let (name, span) = self.file_argument(&tokens[..=comma])?;
        let path = self.find_file(&name, span)?;
        let mut bytes = Vec::new();
        // A file that does not fit into the section is not read.
        if let Ok(about) = std::fs::metadata(&path)
            && about.is_file()
        {
            self.room(span, about.len().saturating_sub(skip).min(count))?;
        }
        let cannot = |e| Fail::new(span, format!("cannot read {}: {e}", path.display()));
        if count < MAX_FILE {
            let file = std::fs::File::open(&path).map_err(cannot)?;
            skip_bytes(file, skip)
                .and_then(|f| f.take(count).read_to_end(&mut bytes))
                .map_err(cannot)?;
        } else {
            read_limited(&path, skip, MAX_FILE, &mut bytes).map_err(cannot)?;
        }
        self.emit(span, &bytes)
    }

    fn file_argument(&mut self, tokens: &[Token]) -> Result<(String, Span), Fail> {
        let bytes = self.parse(tokens, |p| {
            let bytes = p.string()?;
            if !p.at_end() && !p.is(b',') {
                p.end()?;
            }
            Ok(bytes)
        })?;
        let span = tokens[1].span;
        match String::from_utf8(bytes) {
            Ok(name) if !name.is_empty() && !name.contains('\0') => Ok((name, span)),
            _ => Err(Fail::new(span, "expected a file's name")),
        }
    }

    /// Finds a file: as given, in the include folders, or beside the file that includes it.
    fn find_file(&self, name: &str, span: Span) -> Result<PathBuf, Fail> {
        let Some(folders) = &self.options.files else {
            return Err(Fail::new(span, "files may not be read here"));
        };
        let own = Path::new(self.sources.file_name(span.start)).parent();
        let candidates = [Path::new(name).to_path_buf()]
            .into_iter()
            .chain(folders.iter().map(|f| f.join(name)))
            .chain(own.map(|f| f.join(name)));
        for path in candidates {
            if path.exists() {
                return Ok(path);
            }
        }
        Err(Fail::new(span, format!("there is no file {name}")).help(
            "it is searched for in the current folder, in the folders of -I, and beside this file",
        ))
    }

    /// Returns the span of a statement without blanks and comments around it.
    pub(crate) fn statement_span(&self, tokens: &[Token]) -> Span {
        let last = tokens.len().saturating_sub(2);
        tokens[0].span.to(tokens[last].span)
    }

    /// Returns the text from token `from` up to, but not including, token `to`.
    fn between(&self, tokens: &[Token], from: usize, to: usize) -> &'s str {
        crate::parse::spanned(tokens, from, to).map_or("", |span| self.text(span))
    }
}

fn check_else(open: &mut Condition, tokens: &[Token], name: &str) -> Result<(), Fail> {
    if open.last {
        return Err(Fail::new(
            tokens[0].span,
            format!("expected .endif: {name} after .else"),
        ));
    }
    if name == ".else" {
        open.last = true;
        if tokens[1].tok != Tok::End {
            return Err(Fail::new(
                tokens[1].span,
                "expected the end of the statement after .else",
            ));
        }
    }
    Ok(())
}

/// Reads a file from `skip` on, at most `most` bytes.
fn read_limited(path: &Path, skip: u64, most: u64, out: &mut Vec<u8>) -> std::io::Result<()> {
    let file = std::fs::File::open(path)?;
    let mut file = skip_bytes(file, skip)?.take(most + 1);
    file.read_to_end(out)?;
    if out.len() as u64 > most {
        let message = format!("it is larger than {} MiB", most >> 20);
        return Err(std::io::Error::other(message));
    }
    Ok(())
}

fn skip_bytes(file: std::fs::File, skip: u64) -> std::io::Result<std::fs::File> {
    use std::io::{Seek, SeekFrom};
    let mut file = file;
    if skip > 0 {
        file.seek(SeekFrom::Start(skip))?;
    }
    Ok(file)
}

/// Returns the token after a macro's argument that starts at token `at`. Arguments end at commas, and at
/// blanks unless an operator is beside them.
fn argument_end(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0usize;
    let mut n = at;
    while tokens[n].tok != Tok::End {
        let tok = tokens[n].tok;
        if depth == 0 {
            if tok == Tok::Punct(b',') {
                break;
            }
            let apart = n > at && tokens[n].span.start > tokens[n - 1].span.end;
            if apart && !is_operator(tok) && !is_operator(tokens[n - 1].tok) {
                break;
            }
        }
        match tok {
            Tok::Punct(b'(' | b'[') => depth += 1,
            Tok::Punct(b')' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        n += 1;
    }
    n
}

/// Returns true if a blank beside a token does not end a macro's argument.
fn is_operator(tok: Tok) -> bool {
    match tok {
        Tok::Punct(c) => b"+-~/*=|^&!<>".contains(&c),
        Tok::Shl
        | Tok::Shr
        | Tok::AndAnd
        | Tok::OrOr
        | Tok::EqEq
        | Tok::NotEq
        | Tok::LessEq
        | Tok::GreaterEq => true,
        _ => false,
    }
}

/// Returns the content of an argument that is a single string.
fn unquoted(text: &str) -> &str {
    match text.strip_prefix('"').and_then(|t| t.strip_suffix('"')) {
        Some(inner) if !inner.contains('"') => inner,
        _ => text,
    }
}

/// Expands a macro's text under `.altmacro`: parameters' names need no backslash, and `local NAME` makes unique names.
fn alternate(body: &str, values: &HashMap<&str, &str>, locals: &mut u32) -> String {
    let mut own: HashMap<&str, String> = HashMap::new();
    let mut out = String::with_capacity(body.len());
    for line in body.split_inclusive('\n') {
        let words = line.trim_start();
        let is_local = |rest: &str| rest.starts_with([' ', '\t']);
        if let Some(rest) = words.strip_prefix("local").filter(|r| is_local(r)) {
            for name in rest
                .split([',', ' ', '\t', '\r', '\n'])
                .filter(|n| !n.is_empty())
            {
                own.insert(name, format!(".LL{locals:04x}"));
                *locals += 1;
            }
            out.push('\n');
            continue;
        }
        let mut rest = line;
        while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '.')
        {
            let after = &rest[start..];
            let end =
                (after.bytes().position(|c| !crate::lexer::is_ident(c))).unwrap_or(after.len());
            let word = &after[..end.max(1)];
            // The digits and letters of a number are not a name; backslashes are handled later.
            let before = rest[..start].bytes().next_back();
            let apart = before.is_none_or(|c| !crate::lexer::is_ident(c) && c != b'\\');
            out.push_str(&rest[..start]);
            match (apart, own.get(word), values.get(word)) {
                (true, Some(name), _) => out.push_str(name),
                (true, None, Some(value)) => out.push_str(value),
                _ => out.push_str(word),
            }
            rest = &after[word.len()..];
        }
        out.push_str(rest);
    }
    out
}

/// Appends a macro's text, in which `\name` is replaced by a value, `\@` by `number` and `\()` by
/// nothing.
fn substitute(out: &mut String, body: &str, values: &HashMap<&str, &str>, number: Option<&str>) {
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(number) = number
            && let Some(after) = after.strip_prefix('@')
        {
            out.push_str(number);
            rest = after;
            continue;
        }
        if let Some(after) = after.strip_prefix("()") {
            rest = after;
            continue;
        }
        let end = (after.bytes().position(|c| !crate::lexer::is_ident(c))).unwrap_or(after.len());
        // A name ends before a dot or dollar only if that makes it a parameter.
        let mut word = &after[..end];
        let value = loop {
            if let Some(value) = values.get(word) {
                break Some(value);
            }
            match word.rfind(['.', '$']) {
                Some(shorter) => word = &word[..shorter],
                None => break None,
            }
        };
        match value {
            Some(value) => {
                // An argument may have contained a line break in a comment.
                out.extend(value.chars().map(|c| if c == '\n' { ' ' } else { c }));
                rest = &after[word.len()..];
            }
            None => {
                out.push('\\');
                rest = after;
            }
        }
    }
    out.push_str(rest);
}
