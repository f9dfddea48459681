//! Operands: registers, numbers and the immediates with a syntax of their own, in both dialects.

use crate::clrx::numbers::Width;
use crate::clrx::scopes::Path;
use crate::expr::Expr;
use crate::lexer::{Span, Tok};
use crate::parse::{Fail, Parser};
use gcn_isa::names::{self, Name};
use gcn_isa::operand::{EXEC, EXECZ, LDS_DIRECT, M0, SCC, VCC, VCCZ, VGPR0};
use gcn_isa::shape::{Imm, Role, Ty};
use gcn_isa::{Gen, Target};

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Val {
    /// The code of the first register and the number of registers; 0 means that any width is valid.
    Reg(u16, u8),
    Int(i64),
    Float(f64),
    Expr(Expr),
    /// `lit(…)`: a literal even where an inline constant exists.
    LitInt(i64),
    LitFloat(f64),
    /// As `Float` and `LitFloat`, with the suffix that names the width (CLRX).
    FloatAs(f64, Width),
    LitFloatAs(f64, Width),
    /// An immediate written in its own syntax.
    Imm(Imm, u32),
    /// An attribute, a vertex parameter or the target of an export.
    Graphics(Role, u32),
    /// `off`.
    Off,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Operand {
    pub val: Val,
    pub abs: bool,
    pub neg: bool,
    pub sext: bool,
    pub span: Span,
}

impl Operand {
    pub fn new(val: Val, span: Span) -> Operand {
        Operand {
            val,
            abs: false,
            neg: false,
            sext: false,
            span,
        }
    }

    pub fn has_mods(&self) -> bool {
        self.abs || self.neg || self.sext
    }
}

/// The lower case of a short name. Longer names are never names of the tables.
pub(crate) struct Lower([u8; 64], usize);

impl Lower {
    pub fn new(text: &str) -> Option<Lower> {
        let mut out = [0; 64];
        out.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        out.make_ascii_lowercase();
        Some(Lower(out, text.len()))
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0[..self.1]).unwrap_or("")
    }
}

/// Reads an attribute with its channel (`attr3.y`), a vertex parameter (`p10`) or the target of an export
/// (`mrt0`), as LLVM and CLRX write them.
pub(crate) fn graphics(name: &str) -> Option<Val> {
    if let Some(rest) = name.strip_prefix("attr") {
        let (number, channel) = rest.split_once('.')?;
        let number: u32 = number.parse().ok().filter(|n| *n < 64)?;
        let channel = "xyzw".find(channel).filter(|_| channel.len() == 1)?;
        return Some(Val::Graphics(Role::Attr, number | (channel as u32) << 6));
    }
    if let Some(n) = names::PARAMS.iter().position(|p| *p == name) {
        return Some(Val::Graphics(Role::Param, n as u32));
    }
    let number = |prefix: &str, most: u32| -> Option<u32> {
        let digits = name.strip_prefix(prefix)?;
        let plain = digits.bytes().all(|c| c.is_ascii_digit());
        digits.parse().ok().filter(|n| plain && *n <= most)
    };
    let target = match name {
        "mrtz" => Some(8),
        "null" => Some(9),
        _ => number("mrt", 7)
            .or_else(|| number("pos", 3).map(|n| n + 12))
            .or_else(|| number("param", 31).map(|n| n + 32))
            .or_else(|| number("invalid_target_", 63))
            .or_else(|| number("ill_", 63)),
    };
    if let Some(n) = target {
        return Some(Val::Graphics(Role::ExpTgt, n));
    }
    number("invalid_param_", 511)
        .or_else(|| number("invalid_", 511))
        .map(|n| Val::Graphics(Role::Param, n))
}

/// Returns the code and width of a named scalar register, or the reason why the target lacks it.
pub(crate) fn named(
    name: &str,
    generation: Gen,
    clrx: bool,
) -> Option<Result<(u16, u8), &'static str>> {
    let pair = |base: u16, half: u8| match half {
        0 => (base, 2),
        1 => (base, 1),
        _ => (base + 1, 1),
    };
    let (stem, half) = match (name.strip_suffix("_lo"), name.strip_suffix("_hi")) {
        (Some(stem), _) => (stem, 1),
        (_, Some(stem)) => (stem, 2),
        _ => (name, 0),
    };
    let g = generation;
    match stem {
        "vcc" => return Some(Ok(pair(VCC, half))),
        "exec" => return Some(Ok(pair(EXEC, half))),
        "flat_scratch" => {
            return Some(match g {
                Gen::Gfx6 => Err("flat_scratch exists from gfx7 on"),
                Gen::Gfx7 => Ok(pair(104, half)),
                _ => Ok(pair(102, half)),
            });
        }
        "xnack_mask" => {
            return Some(if g >= Gen::Gfx8 {
                Ok(pair(104, half))
            } else {
                Err("xnack_mask exists from gfx8 on")
            });
        }
        "null" => return Some(Err("null exists from gfx10 on")),
        "tba" | "tma" => {
            return Some(if g == Gen::Gfx9 {
                Err("tba and tma exist up to gfx8 only")
            } else {
                Ok(pair(if stem == "tba" { 108 } else { 110 }, half))
            });
        }
        _ => {}
    }
    if clrx
        && let Some(number) = name.strip_prefix("ill_")
        && let Ok(code @ 0..512) = number.parse()
    {
        // CLRX's name for a code without a register.
        return Some(Ok((code, 0)));
    }
    let aperture = |code| {
        if g == Gen::Gfx9 {
            Ok((code, 0))
        } else {
            Err("this source exists from gfx9 on")
        }
    };
    let plain = name.strip_prefix("src_").unwrap_or(name);
    Some(match plain {
        "m0" if plain.len() == name.len() => Ok((M0, 1)),
        "scc" => Ok((SCC, 0)),
        "vccz" => Ok((VCCZ, 0)),
        "execz" => Ok((EXECZ, 0)),
        "lds_direct" => Ok((LDS_DIRECT, 0)),
        "lds" if clrx => Ok((LDS_DIRECT, 0)),
        "shared_base" => aperture(235),
        "shared_limit" => aperture(236),
        "private_base" => aperture(237),
        "private_limit" => aperture(238),
        "pops_exiting_wave_id" => aperture(239),
        _ => return None,
    })
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum File {
    S,
    V,
    Ttmp,
}

impl File {
    /// Returns the code of the first register, the number of registers, and their letter.
    fn registers(self, generation: Gen) -> (u16, i64, &'static str) {
        match self {
            File::V => (VGPR0, 256, "v"),
            File::S => (0, generation.sgprs() as i64, "s"),
            File::Ttmp if generation == Gen::Gfx9 => (108, 16, "ttmp"),
            File::Ttmp => (112, 12, "ttmp"),
        }
    }
}

/// Returns the code and width of the registers from `first` to `last` and records them in `used`; `None`
/// if there are no such registers.
#[inline]
pub(crate) fn tuple(
    file: File,
    first: i64,
    last: i64,
    generation: Gen,
    used: &mut [u32; 2],
) -> Option<(u16, u8)> {
    let (base, count, _) = file.registers(generation);
    if first < 0 || last < first || last >= count || last - first >= 32 {
        return None;
    }
    let next = (last + 1) as u32;
    match file {
        File::V => used[0] = used[0].max(next),
        File::S => used[1] = used[1].max(next),
        File::Ttmp => {}
    }
    Some((base + first as u16, (last - first + 1) as u8))
}

/// Returns a numbered register's file and, if it is in the name, its number.
pub(crate) fn numbered(name: &str) -> Option<(File, Option<u32>)> {
    let (file, digits) = match name.as_bytes() {
        [b'v', rest @ ..] => (File::V, rest),
        [b's', rest @ ..] => (File::S, rest),
        [b't', b't', b'm', b'p', rest @ ..] => (File::Ttmp, rest),
        _ => return None,
    };
    if digits.is_empty() {
        return Some((file, None));
    }
    // Leading zeros of the number are ignored, as in LLVM.
    let zeros = digits.iter().take_while(|d| **d == b'0').count();
    let digits = &digits[zeros.min(digits.len() - 1)..];
    if digits.len() > 4 {
        return None;
    }
    let mut n = 0;
    for d in digits {
        n = n * 10 + d.is_ascii_digit().then(|| (d - b'0') as u32)?;
    }
    Some((file, Some(n)))
}

/// Returns true if a name in capitals would be a register's in lower case, or is `OFF`.
pub(crate) fn is_capital_register(name: &str, generation: Gen) -> bool {
    name.bytes().any(|c| c.is_ascii_uppercase())
        && Lower::new(name).is_some_and(|lower| {
            let lower = lower.as_str();
            let number = numbered(lower).is_some_and(|(_, number)| number.is_some());
            number || lower == "off" || named(lower, generation, false).is_some()
        })
}

impl<'s> Parser<'s, '_> {
    /// Returns the name of a register as the tables have it. CLRX ignores the case. In LLVM the case matters: a name in
    /// capitals is a symbol. It is a register where no symbol is valid (`S[0:1]`), or if the source has no such symbol.
    fn register_case(&self, text: &'s str, ahead: usize) -> Option<Lower> {
        if !text.bytes().any(|c| c.is_ascii_uppercase()) {
            return None;
        }
        let lower = Lower::new(text)?;
        if self.clrx {
            return Some(lower);
        }
        let tuple = matches!(numbered(lower.as_str()), Some((_, None)))
            && self.peek_at(ahead + 1) == Tok::Punct(b'[');
        if tuple {
            return Some(lower);
        }
        if !is_capital_register(text, self.target.generation()) {
            return None;
        }
        let capitals = &self.sym.capitals;
        match &capitals.symbols {
            Some(symbols) if !symbols.contains(text) => Some(lower),
            Some(_) => None,
            None => {
                let value = self.sym.find(text).and_then(|id| self.sym.absolute(id));
                if value.is_none() {
                    capitals.seen.set(true);
                }
                None
            }
        }
    }

    /// Returns true if the token `ahead` begins a register.
    pub fn starts_register(&mut self, ahead: usize) -> bool {
        if self.peek_at(ahead) != Tok::Ident {
            return false;
        }
        let text = self.text(self.span_at(ahead));
        let lower = self.register_case(text, ahead);
        let name = lower.as_ref().map_or(text, Lower::as_str);
        match numbered(name) {
            Some((_, Some(_))) => true,
            Some((_, None)) => self.peek_at(ahead + 1) == Tok::Punct(b'['),
            None => {
                named(name, self.target.generation(), self.clrx).is_some()
                    || self.clrx && self.symbol_register(ahead).is_some()
            }
        }
    }

    /// Reads `[FIRST:LAST]` or `[FIRST]` after a name.
    pub fn range(&mut self) -> Result<(i64, i64), Fail> {
        self.expect(b'[')?;
        let first = self.absolute()?;
        let last = if self.eat(b':') {
            self.absolute()?
        } else {
            first
        };
        self.expect(b']')?;
        Ok((first, last))
    }

    fn registers(&mut self, file: File, first: i64, last: i64, span: Span) -> Result<Val, Fail> {
        let generation = self.target.generation();
        if let Some((code, count)) = tuple(file, first, last, generation, self.used) {
            return Ok(Val::Reg(code, count));
        }
        let (_, count, letter) = file.registers(generation);
        if last < first {
            return Err(Fail::new(
                span,
                "the last register of a range comes before the first",
            ));
        }
        if first < 0 || last >= count {
            let target = self.target.name();
            return Err(Fail::new(
                span,
                format!("{target} has {letter}0 to {letter}{}", count - 1),
            ));
        }
        Err(Fail::new(span, "expected a range of at most 32 registers"))
    }

    /// Reads the current token, a name, as a register if it is one.
    pub fn register(&mut self) -> Result<Option<Val>, Fail> {
        let span = self.span();
        let text = self.text(span);
        let lower = self.register_case(text, 0);
        let name = lower.as_ref().map_or(text, Lower::as_str);
        match numbered(name) {
            Some((file, Some(n))) => {
                self.next();
                return self.registers(file, n as i64, n as i64, span).map(Some);
            }
            Some((file, None)) if self.peek_at(1) == Tok::Punct(b'[') => {
                self.next();
                let (first, last) = self.range()?;
                let span = span.to(self.last_span());
                return self.registers(file, first, last, span).map(Some);
            }
            _ => {}
        }
        match named(name, self.target.generation(), self.clrx) {
            Some(Ok((code, count))) => {
                self.next();
                if self.clrx && count == 2 && self.is(b'[') {
                    return self.part_of(code, count, span, false).map(Some);
                }
                Ok(Some(Val::Reg(code, count)))
            }
            Some(Err(_)) | None if self.clrx && self.symbol_register(0).is_some() => {
                self.register_of_symbol().map(Some)
            }
            Some(Err(why)) => Err(Fail::new(
                span,
                format!("{} has no `{text}`: {why}", self.target.name()),
            )),
            None => Ok(None),
        }
    }

    /// Reads `[s0,s1]`: consecutive registers.
    fn register_list(&mut self) -> Result<Val, Fail> {
        let start = self.span();
        self.next();
        let (mut first, mut count) = (0u16, 0u8);
        loop {
            let span = self.span();
            let one = if self.peek() == Tok::Ident {
                self.register()?
            } else {
                None
            };
            let Some(Val::Reg(code, 1)) = one else {
                return Err(Fail::new(
                    span,
                    "expected a 32-bit register in a register list",
                ));
            };
            if count == 0 {
                first = code;
            } else if code != first + count as u16 {
                return Err(Fail::new(
                    span,
                    "expected the register that comes next in order",
                ));
            }
            count += 1;
            if count > 32 {
                return Err(Fail::new(span, "expected at most 32 registers"));
            }
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b']')?;
        if count > 1 && first < 128 && first + count as u16 > 128 {
            return Err(Fail::new(
                start.to(self.last_span()),
                "these are not one register tuple",
            ));
        }
        Ok(Val::Reg(first, count))
    }

    /// Reads one operand.
    pub fn operand(&mut self) -> Result<Operand, Fail> {
        let start = self.span();
        let mut operand = self.operand_inner(4)?;
        operand.span = start.to(self.last_span());
        Ok(operand)
    }

    fn operand_inner(&mut self, depth: u8) -> Result<Operand, Fail> {
        let start = self.span();
        if depth == 0 {
            return Err(Fail::new(
                start,
                "expected at most one abs, one neg and one sext",
            ));
        }
        match self.peek() {
            Tok::Float(value) => {
                self.next();
                Ok(Operand::new(Val::Float(value), start))
            }
            Tok::FloatAs(value, width) if self.clrx => {
                self.next();
                Ok(Operand::new(Val::FloatAs(value, width), start))
            }
            // An expression follows, even if it looks like a register.
            Tok::Punct(b'@') if self.clrx => {
                self.next();
                Ok(Operand::new(constant(self.expr()?), start))
            }
            Tok::Punct(b'+') if self.clrx && matches!(self.peek_at(1), Tok::Float(_)) => {
                self.next();
                self.operand_inner(depth)
            }
            Tok::Punct(b'-') => {
                if let Tok::Float(value) = self.peek_at(1) {
                    self.next();
                    self.next();
                    return Ok(Operand::new(Val::Float(-value), start));
                }
                if let (true, Tok::FloatAs(value, width)) = (self.clrx, self.peek_at(1)) {
                    self.next();
                    self.next();
                    return Ok(Operand::new(Val::FloatAs(-value, width), start));
                }
                if !self.clrx && self.peek_at(1) == Tok::Punct(b'-') {
                    let span = self.span_at(1);
                    return Err(Fail::new(span, "expected one `-` or neg()"));
                }
                let call =
                    self.peek_at(1) == Tok::Ident && self.peek_at(2) == Tok::Punct(b'(') && {
                        let name = self.text(self.span_at(1));
                        ["abs", "neg", "sext", "lit", "op"]
                            .iter()
                            .any(|n| n.eq_ignore_ascii_case(name))
                    };
                let other = matches!(self.peek_at(1), Tok::Punct(b'|' | b'['));
                if call || other || self.starts_register(1) {
                    self.next();
                    let inner = self.operand_inner(depth - 1)?;
                    return modified(start, inner, false, true, false);
                }
                Ok(Operand::new(constant(self.expr()?), start))
            }
            Tok::Punct(b'|') => {
                self.next();
                let inner = match self.peek() {
                    Tok::Ident if self.peek_at(1) == Tok::Punct(b'(') => {
                        self.operand_inner(depth - 1)?
                    }
                    Tok::Ident if self.starts_register(0) => {
                        let val = self.register()?.unwrap_or(Val::Off);
                        Operand::new(val, start)
                    }
                    Tok::Float(value) => {
                        self.next();
                        Operand::new(Val::Float(value), start)
                    }
                    Tok::Punct(b'-') if matches!(self.peek_at(1), Tok::Float(_)) => {
                        self.operand_inner(depth - 1)?
                    }
                    _ => Operand::new(constant(self.primary()?), start),
                };
                self.expect(b'|')?;
                modified(start, inner, true, false, false)
            }
            Tok::Punct(b'[') => {
                let val = self.register_list()?;
                Ok(Operand::new(val, start))
            }
            Tok::Punct(b'{') => {
                let value = self.hwreg_fields()?;
                Ok(Operand::new(Val::Imm(Imm::Hwreg, value), start))
            }
            Tok::Ident => {
                if let Some(val) = self.register()? {
                    return Ok(Operand::new(val, start));
                }
                let text = self.text(start);
                if self.peek_at(1) == Tok::Punct(b'(')
                    && let Some(operand) = self.operand_call(start, depth)?
                {
                    return Ok(operand);
                }
                let lower = self.register_case(text, 0);
                if lower.as_ref().map_or(text, Lower::as_str) == "off" {
                    self.next();
                    return Ok(Operand::new(Val::Off, start));
                }
                Ok(Operand::new(constant(self.expr()?), start))
            }
            Tok::End => Err(Fail::new(start, "expected an operand")),
            _ => Ok(Operand::new(constant(self.expr()?), start)),
        }
    }

    /// Reads an operand in the form of a call, such as `abs(v0)`; returns `None` if the word begins something else.
    fn operand_call(&mut self, start: Span, depth: u8) -> Result<Option<Operand>, Fail> {
        let Some(lower) = Lower::new(self.text(start)) else {
            return Ok(None);
        };
        match lower.as_str() {
            "abs" | "neg" | "sext" => {
                self.next();
                self.next();
                let inner = self.operand_inner(depth - 1)?;
                self.expect(b')')?;
                let what = lower.as_str();
                return modified(start, inner, what == "abs", what == "neg", what == "sext")
                    .map(Some);
            }
            "lit" => {
                self.next();
                self.next();
                let inner = self.operand_inner(1)?;
                self.expect(b')')?;
                let val = match inner.val {
                    Val::Int(value) => Val::LitInt(value),
                    Val::Float(value) => Val::LitFloat(value),
                    Val::FloatAs(value, width) => Val::LitFloatAs(value, width),
                    val @ Val::Expr(_) => val,
                    _ => return Err(Fail::new(start, "expected a number in lit()")),
                };
                return Ok(Some(Operand::new(val, start)));
            }
            "op" => {
                self.next();
                self.next();
                let span = self.span();
                let code = self.absolute()?;
                self.expect(b')')?;
                return match u16::try_from(code) {
                    Ok(code) if code < 512 => Ok(Some(Operand::new(Val::Reg(code, 0), start))),
                    _ => Err(Fail::new(span, "expected an operand code from 0 to 511")),
                };
            }
            "sendmsg" => {
                let mut value = self.sendmsg()?;
                if self.clrx && self.eat(b':') {
                    // CLRX shows the whole SIMM16 if the words would lose bits of it.
                    let span = self.span();
                    value = self.number(span, 0, 0xffff, "SIMM16")?;
                }
                return Ok(Some(Operand::new(Val::Imm(Imm::Sendmsg, value), start)));
            }
            "hwreg" => {
                let value = self.hwreg()?;
                return Ok(Some(Operand::new(Val::Imm(Imm::Hwreg, value), start)));
            }
            "gpr_idx" => {
                let value = self.gpr_idx()?;
                return Ok(Some(Operand::new(Val::Imm(Imm::GprIdx, value), start)));
            }
            _ => {}
        }
        Ok(None)
    }

    /// Reads a name from a table, or a number (after `@` in CLRX's dialect).
    fn named_number(&mut self, table: &'static [Name], most: i64, what: &str) -> Result<u32, Fail> {
        let span = self.span();
        if self.peek() == Tok::Ident && matches!(self.peek_at(1), Tok::Punct(b',' | b')' | b'}')) {
            let text = self.text(span);
            let generation = self.target.generation();
            let mut id = names::id_of(table, text, generation);
            if let (true, None, Some(prefix)) = (self.clrx, id, text.get(..6))
                && prefix.eq_ignore_ascii_case("hwreg_")
            {
                id = names::id_of(table, &text[6..], generation);
            }
            if let Some(id) = id {
                self.next();
                return Ok(id);
            }
            let other = Gen::ALL
                .iter()
                .find(|&&g| names::id_of(table, text, g).is_some());
            if let Some(g) = other {
                return Err(Fail::new(
                    span,
                    format!("{what} '{text}' exists from {} on", g.name()),
                ));
            }
            let path = Path {
                name: text,
                ..Path::default()
            };
            let known = self.sym.visible(&path);
            if known.and_then(|id| self.sym.absolute(id)).is_none() {
                return Err(Fail::new(span, format!("expected {what}'s name or number"))
                    .help(list_names(table, generation)));
            }
        }
        self.eat(b'@');
        self.number(span, 0, most, what)
    }

    fn number(&mut self, span: Span, least: i64, most: i64, what: &str) -> Result<u32, Fail> {
        let value = self.absolute()?;
        if !(least..=most).contains(&value) {
            return Err(Fail::new(
                span.to(self.last_span()),
                format!("expected {what} from {least} to {most}, found {value}"),
            ));
        }
        Ok(value as u32)
    }

    fn sendmsg(&mut self) -> Result<u32, Fail> {
        self.next();
        self.next();
        let by_name = self.peek() == Tok::Ident;
        let message = self.named_number(names::MESSAGES, 15, "the message")?;
        let mut value = message;
        let mut has_op = false;
        if self.eat(b',') {
            has_op = true;
            let span = self.span();
            let op_by_name = self.peek() == Tok::Ident;
            let op = match message {
                _ if self.clrx && op_by_name => self.clrx_operation()?,
                2 | 3 => self.named_number(names::GS_OPS, 7, "the operation")?,
                15 => self.named_number(names::SYS_OPS, 7, "the operation")?,
                _ => {
                    self.eat(b'@');
                    self.number(span, 0, 7, "the operation")?
                }
            };
            // Names must exist; numbers are accepted unchanged.
            let strict = !self.clrx && by_name;
            let (first, last) = match message {
                2 => (1, 3),
                3 => (0, 3),
                15 => (1, 4),
                _ if strict => return Err(Fail::new(span, "this message has no operations")),
                _ => (0, 7),
            };
            if strict && !(first..=last).contains(&op) {
                return Err(Fail::new(
                    span,
                    format!("expected an operation of this message, {first} to {last}"),
                ));
            }
            value |= op << 4;
            if self.eat(b',') {
                let span = self.span();
                if strict && (message == 15 || message == 3 && op == 0) {
                    return Err(Fail::new(span, "this operation has no stream"));
                }
                value |= self.number(span, 0, 3, "the stream")? << 8;
            }
        }
        if !self.clrx && by_name && !has_op && matches!(message, 2 | 3 | 15) {
            return Err(Fail::new(
                self.span(),
                "expected `,` and the message's operation",
            ));
        }
        self.expect(b')')?;
        Ok(value)
    }

    /// CLRX uses the operation names of the geometry shader's messages for all messages.
    fn clrx_operation(&mut self) -> Result<u32, Fail> {
        let span = self.span();
        let name = self.ident("the operation")?;
        if name.eq_ignore_ascii_case("emit")
            && self.peek() == Tok::Punct(b'-')
            && self.peek_at(1) == Tok::Ident
            && self.text(self.span_at(1)).eq_ignore_ascii_case("cut")
        {
            self.next();
            self.next();
            return Ok(3);
        }
        let generation = self.target.generation();
        names::id_of(names::GS_OPS, name, generation)
            .or_else(|| names::id_of(names::SYS_OPS, name, generation))
            .ok_or_else(|| Fail::new(span, "expected nop, cut, emit or emit-cut"))
    }

    fn hwreg(&mut self) -> Result<u32, Fail> {
        self.next();
        self.next();
        if self.is(b'{') {
            let value = self.hwreg_fields()?;
            self.expect(b')')?;
            return Ok(value);
        }
        let id = self.named_number(names::HWREGS, 63, "the register")?;
        let (mut offset, mut width) = (0, 32);
        if self.eat(b',') {
            let span = self.span();
            offset = self.number(span, 0, 31, "the bit offset")?;
            self.expect(b',')?;
            let span = self.span();
            width = self.number(span, 1, 32, "the width in bits")?;
        }
        self.expect(b')')?;
        Ok(id | offset << 6 | (width - 1) << 11)
    }

    /// Reads LLVM's `{id: 1, offset: 2, size: 3}`: fields in any order, all optional.
    fn hwreg_fields(&mut self) -> Result<u32, Fail> {
        const NAMES: [&str; 3] = ["id", "offset", "size"];
        let mut fields = [None; 3];
        self.expect(b'{')?;
        loop {
            let span = self.span();
            let name = self.ident("id, offset or size")?;
            let Some(n) = NAMES.iter().position(|field| *field == name) else {
                return Err(Fail::new(span, "expected id, offset or size"));
            };
            if fields[n].is_some() {
                return Err(Fail::new(span, format!("{name} is given twice")));
            }
            self.expect(b':')?;
            let span = self.span();
            fields[n] = Some(match n {
                0 => self.named_number(names::HWREGS, 63, "the register")?,
                1 => self.number(span, 0, 31, "the bit offset")?,
                _ => self.number(span, 1, 32, "the width in bits")?,
            });
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b'}')?;
        let [id, offset, size] = fields;
        Ok(id.unwrap_or(0) | offset.unwrap_or(0) << 6 | (size.unwrap_or(32) - 1) << 11)
    }

    fn gpr_idx(&mut self) -> Result<u32, Fail> {
        self.next();
        self.next();
        let mut value = 0;
        if self.eat(b')') {
            return Ok(0);
        }
        loop {
            let span = self.span();
            let name = self.ident("SRC0, SRC1, SRC2 or DST")?;
            let bit = names::GPR_IDX
                .iter()
                .position(|n| n.eq_ignore_ascii_case(name));
            let Some(bit) = bit else {
                return Err(Fail::new(span, "expected SRC0, SRC1, SRC2 or DST"));
            };
            if value >> bit & 1 != 0 {
                return Err(Fail::new(span, format!("{name} is named twice")));
            }
            value |= 1 << bit;
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b')')?;
        Ok(value)
    }

    /// Reads the operand of s_waitcnt: counters, or a number.
    pub fn waitcnt(&mut self) -> Result<Operand, Fail> {
        let start = self.span();
        if !(self.peek() == Tok::Ident && self.peek_at(1) == Tok::Punct(b'(')) {
            return self.operand();
        }
        let generation = self.target.generation();
        let none = names::waitcnt(0xffff, generation);
        let most = [none.vm.1, none.exp.1, none.lgkm.1];
        let mut counts = [None; 3];
        loop {
            let span = self.span();
            let name = self.ident("vmcnt, expcnt or lgkmcnt")?;
            let lower = Lower::new(name);
            let lower = lower.as_ref().map_or("", Lower::as_str);
            let (stem, saturates) = match lower.strip_suffix("_sat") {
                Some(stem) => (stem, true),
                None => (lower, false),
            };
            let Some(n) = ["vmcnt", "expcnt", "lgkmcnt"]
                .iter()
                .position(|c| *c == stem)
            else {
                return Err(Fail::new(
                    span,
                    format!("expected vmcnt, expcnt or lgkmcnt, found `{name}`"),
                ));
            };
            self.expect(b'(')?;
            let span = self.span();
            let value = self.absolute()?;
            if value < 0 || value > most[n] as i64 && !saturates {
                return Err(Fail::new(
                    span,
                    format!(
                        "expected {stem} from 0 to {} on {}",
                        most[n],
                        generation.name()
                    ),
                )
                .help(format!("{stem}_sat() takes larger numbers as {}", most[n])));
            }
            self.expect(b')')?;
            if counts[n].is_some() {
                return Err(Fail::new(span, format!("{stem} is given twice")));
            }
            counts[n] = Some(value.min(most[n] as i64) as u32);
            let joined = self.eat(b'&') || self.eat(b',');
            if self.peek() != Tok::Ident {
                if joined {
                    return Err(Fail::new(self.span(), "expected another counter"));
                }
                break;
            }
            if !joined && self.peek_at(1) != Tok::Punct(b'(') {
                break;
            }
        }
        let get = |n: usize| counts[n].unwrap_or(most[n]);
        let mut value = names::waitcnt_simm(get(0), get(1), get(2), generation);
        if self.is(b':') && matches!(self.peek_at(1), Tok::Int(_)) {
            self.next();
            let span = self.span();
            let bits = self.number(span, 0, 0xffff, "the spare bits")?;
            let counters = bits & !none.spare;
            if counters != 0 && counters != value {
                return Err(Fail::new(
                    span,
                    "this number disagrees with the counters before it",
                ));
            }
            value |= bits & none.spare;
        }
        let span = start.to(self.last_span());
        Ok(Operand {
            span,
            ..Operand::new(Val::Imm(Imm::Waitcnt, value), start)
        })
    }
}

fn list_names(table: &[Name], generation: Gen) -> String {
    let list: Vec<&str> = table
        .iter()
        .filter(|n| n.since <= generation && !n.llvm.is_empty())
        .map(|n| n.llvm)
        .collect();
    format!("there are {}", list.join(", "))
}

fn constant(expr: Expr) -> Val {
    match expr {
        Expr::Const(value) => Val::Int(value),
        expr => Val::Expr(expr),
    }
}

/// An operand with further modifiers around it.
fn modified(
    start: Span,
    inner: Operand,
    abs: bool,
    neg: bool,
    sext: bool,
) -> Result<Operand, Fail> {
    let twice = inner.abs && abs || inner.neg && neg || inner.sext && sext;
    if twice || abs && inner.neg {
        return Err(Fail::new(start, "expected -|x|, neg(abs(x)) or sext(x)"));
    }
    Ok(Operand {
        abs: inner.abs || abs,
        neg: inner.neg || neg,
        sext: inner.sext || sext,
        ..inner
    })
}

/// The encoding of a number as a source operand.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Constant {
    /// The code of an inline constant.
    Inline(u16),
    Literal(u32),
}

/// Encodes a number as an operand of type `ty`. `abs` and `neg` apply to the value, as in
/// LLVM. The returned flag is true if low bits of a 64-bit float were lost.
pub(crate) fn number_as(
    val: &Val,
    ty: Ty,
    abs: bool,
    neg: bool,
    target: Target,
) -> Result<(Constant, bool), &'static str> {
    let generation = target.generation();
    let (bits, float) = (ty.bits(), ty.is_float());
    let inline = |value: u64| gcn_isa::operand::inline_code(value, ty, generation);
    match *val {
        Val::Int(value) | Val::LitInt(value) => {
            let forced = matches!(val, Val::LitInt(_));
            if forced {
                return match value {
                    -0x8000_0000..=0xffff_ffff => Ok((Constant::Literal(value as u32), false)),
                    _ => Err("expected a literal that fits 32 bits"),
                };
            }
            if (abs || neg) && !float {
                return Err("abs and neg are for floats");
            }
            match bits {
                64 => {
                    if abs || neg {
                        return Err("abs and neg of a 64-bit literal cannot be encoded");
                    }
                    if let Some(code) = inline(value as u64) {
                        return Ok((Constant::Inline(code), false));
                    }
                    match value {
                        -0x8000_0000..=0xffff_ffff => Ok((Constant::Literal(value as u32), false)),
                        _ => Err("expected an inline constant or a number that fits 32 bits"),
                    }
                }
                16 => {
                    if !(-0x8000..=0xffff).contains(&value) {
                        return Err("expected a number that fits 16 bits");
                    }
                    let mut value = value as u16;
                    value &= !((abs as u16) << 15);
                    value ^= (neg as u16) << 15;
                    Ok((
                        inline(value as u64)
                            .map_or(Constant::Literal(value as u32), Constant::Inline),
                        false,
                    ))
                }
                _ => {
                    if !(-0x8000_0000..=0xffff_ffff).contains(&value) {
                        return Err("expected a number that fits 32 bits");
                    }
                    let mut value = value as u32;
                    value &= !((abs as u32) << 31);
                    value ^= (neg as u32) << 31;
                    Ok((
                        inline(value as u64).map_or(Constant::Literal(value), Constant::Inline),
                        false,
                    ))
                }
            }
        }
        Val::Float(value) | Val::LitFloat(value) => {
            let forced = matches!(val, Val::LitFloat(_));
            let value = if abs { value.abs() } else { value };
            let value = if neg { -value } else { value };
            match bits {
                64 => {
                    let pattern = value.to_bits();
                    if let Some(code) = inline(pattern)
                        && !forced
                    {
                        return Ok((Constant::Inline(code), false));
                    }
                    if !float {
                        return Err(
                            "a float in a 64-bit integer operand must be an inline constant",
                        );
                    }
                    Ok((
                        Constant::Literal((pattern >> 32) as u32),
                        pattern as u32 != 0,
                    ))
                }
                16 => {
                    let pattern = half(value).ok_or("this float is out of the range of 16 bits")?;
                    match inline(pattern as u64) {
                        Some(code) if !forced => Ok((Constant::Inline(code), false)),
                        _ => Ok((Constant::Literal(pattern as u32), false)),
                    }
                }
                _ => {
                    let single = value as f32;
                    let lost = single as f64 != value && single.abs() < f32::MIN_POSITIVE;
                    if single.is_infinite() || lost {
                        return Err("this float is out of the range of 32 bits");
                    }
                    let pattern = single.to_bits();
                    match inline(pattern as u64) {
                        Some(code) if !forced => Ok((Constant::Inline(code), false)),
                        _ => Ok((Constant::Literal(pattern), false)),
                    }
                }
            }
        }
        _ => Err("expected a number"),
    }
}

/// Returns the nearest f16, ties to even; `None` if the value overflows, or if it is inexact below the
/// least normal number.
pub(crate) fn half(value: f64) -> Option<u16> {
    let bits = value.to_bits();
    let sign = (bits >> 48) as u16 & 0x8000;
    let biased = (bits >> 52 & 0x7ff) as i32;
    if bits << 1 == 0 {
        return Some(sign);
    }
    if biased == 0 || biased == 0x7ff {
        return None;
    }
    let exponent = biased - 1023;
    let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
    let shift = 42 + (-14 - exponent).max(0);
    if shift > 60 {
        return None;
    }
    let kept = mantissa >> shift;
    let rest = mantissa & ((1 << shift) - 1);
    let middle = 1u64 << (shift - 1);
    let kept = kept + (rest > middle || rest == middle && kept & 1 != 0) as u64;
    let magnitude = if exponent >= -14 {
        if exponent > 15 {
            return None;
        }
        ((exponent + 14) as u64) * 1024 + kept
    } else {
        kept
    };
    if magnitude >= 0x7c00 || rest != 0 && magnitude < 0x400 {
        return None;
    }
    Some(sign | magnitude as u16)
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn halves_round_to_even() {
        assert_eq!(half(1.0), Some(0x3c00));
        assert_eq!(half(-1.5), Some(0xbe00));
        assert_eq!(half(0.1), Some(0x2e66));
        assert_eq!(half(1.0 + 1.0 / 2048.0), Some(0x3c00));
        assert_eq!(half(1.0 + 3.0 / 2048.0), Some(0x3c02));
        assert_eq!(half(65504.0), Some(0x7bff));
        assert_eq!(half(65519.0), Some(0x7bff));
        assert_eq!(half(65520.0), None);
        assert_eq!(half(1e-10), None);
        assert_eq!(half(2f64.powi(-24)), Some(1));
        assert_eq!(half(2f64.powi(-14)), Some(0x400));
        assert_eq!(half(-0.0), Some(0x8000));
    }
}
