//! Directives that emit bytes into the current section.

use crate::Level;
use crate::asm::{Asm, FixKind, Fixup, MAX_ALIGN, MAX_SECTION};
use crate::expr::{Expr, Term, Value};
use crate::lexer::{Span, Tok, Token};
use crate::parse::Fail;
use crate::symbols::Def;
use gcn_object::{Binding, RelocationKind, SectionKind, SymbolKind};

impl<'s> Asm<'s, '_> {
    pub(crate) fn org(&mut self, expr: &Expr, span: Span, fill: u8) -> Result<(), Fail> {
        // In a structure `.` may be set to any value.
        if self.sym.structure.is_some()
            && let Ok(value) = self.sym.evaluate(expr)
            && value.is_absolute()
        {
            self.sym.structure = Some(value.addend);
            return Ok(());
        }
        let (current, at) = self.location();
        let wanted = match self.sym.evaluate(expr) {
            Ok(v) if v.is_absolute() => v.addend,
            Ok(Value {
                addend,
                plus: Some(Term::Location(s, offset, _, _)),
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

    pub(crate) fn align(&mut self, tokens: &[Token], power: bool) -> Result<(), Fail> {
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
        if let Some(at) = self.sym.structure {
            let gap = (at as u64).wrapping_neg() & (align - 1);
            if gap <= most {
                self.sym.structure = Some(at.wrapping_add(gap as i64));
            }
            return Ok(());
        }
        let section = &mut self.sections[self.current as usize];
        section.align = section.align.max(align);
        let gap = section.size.next_multiple_of(align) - section.size;
        if gap > most {
            return Ok(());
        }
        match fill {
            None if section.flags.exec() => {
                // Code is padded with `s_nop 0`.
                self.emit_repeated(span, gap % 4, &[0])?;
                self.emit_repeated(span, gap / 4, &0xbf80_0000u32.to_le_bytes())
            }
            fill => self.emit_repeated(span, gap, &[fill.unwrap_or(0)]),
        }
    }

    /// `.comm SYMBOL, SIZE, EXPONENT`: zeros that a linker places, or, for a local symbol, `.bss`.
    pub(crate) fn common(&mut self, tokens: &[Token], local: bool) -> Result<(), Fail> {
        let span = tokens[0].span;
        let (id, size, align) = self.parse(tokens, |p| {
            let id = p.symbol_name()?;
            p.expect(b',')?;
            let span = p.span();
            let size = p.absolute()?;
            // As in LLVM for this target, the alignment is the exponent of a power of two.
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
        symbol.kind = SymbolKind::Object;
        if !local && symbol.binding != Some(Binding::Local) {
            symbol.def = Def::Common(size, align);
            symbol.binding = symbol.binding.or(Some(Binding::Global));
            return Ok(());
        }
        symbol.binding = Some(Binding::Local);
        symbol.size = Some(Expr::Const(size as i64));
        let here = (self.current, self.previous);
        self.current = self.named_section(".bss", None, span)?;
        let section = &mut self.sections[self.current as usize];
        section.align = section.align.max(align);
        let gap = section.size.next_multiple_of(align) - section.size;
        let done = (self.emit_repeated(span, gap, &[0]))
            .and_then(|()| self.define_label(id, span))
            .and_then(|()| self.emit_repeated(span, size, &[0]));
        (self.current, self.previous) = here;
        done
    }

    /// `.reloc OFFSET, R_AMDGPU_…, EXPRESSION`
    pub(crate) fn relocation(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        let (at, offset, kind, expr, span) = self.parse(tokens, |p| {
            let at = p.span();
            let offset = p.expr()?;
            let at = at.to(p.last_span());
            p.expect(b',')?;
            let name_at = p.span();
            let name = p.ident("a relocation's name")?;
            let kind = RelocationKind::from_name(name).ok_or_else(|| {
                Fail::new(name_at, format!("there is no relocation `{name}`"))
                    .help("their names are R_AMDGPU_ABS64, R_AMDGPU_REL32_LO, …")
            })?;
            let start = p.span();
            let expr = match p.eat(b',') {
                true => p.expr()?,
                false => Expr::Const(0),
            };
            let span = start.to(p.last_span());
            p.end()?;
            Ok((at, offset, kind, expr, span))
        })?;
        let location = match self.sym.evaluate(&offset) {
            Ok(v) if v.is_absolute() => Some((self.current, v.addend)),
            Ok(Value {
                addend,
                plus: Some(Term::Location(section, offset, ..)),
                minus: None,
            }) => Some((section, addend.wrapping_add(offset as i64))),
            _ => None,
        };
        let Some((section, Ok(offset))) = location.map(|(s, offset)| (s, u64::try_from(offset)))
        else {
            return Err(Fail::new(at, "expected an offset that is known here"));
        };
        self.fixups.push(Fixup {
            section,
            offset,
            kind: FixKind::Asked(kind),
            expr,
            span,
        });
        Ok(())
    }

    pub(crate) fn data(&mut self, tokens: &[Token], width: u8) -> Result<(), Fail> {
        if tokens.len() <= 2 {
            return Ok(());
        }
        let mut at = 1;
        loop {
            let mut p = self.parser(tokens);
            p.at = at;
            let start = p.span();
            let empty = p.clrx && (p.is(b',') || p.at_end());
            let expr = match empty {
                true => Expr::Const(0),
                false => p.expr()?,
            };
            let span = start.to(p.last_span());
            let more = p.eat(b',');
            if !more {
                p.end()?;
            }
            at = p.at;
            if empty {
                self.message(Level::Warning, start, NO_VALUE.into(), None);
            }
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
                    let (section, offset) = self.location();
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

    /// `.octa NUMBER, …`: 16 bytes each; expressions of this width do not exist.
    pub(crate) fn octa(&mut self, tokens: &[Token]) -> Result<(), Fail> {
        if tokens.len() <= 2 {
            return Ok(());
        }
        let span = tokens[0].span;
        let bytes = self.parse(tokens, |p| {
            let mut bytes = Vec::new();
            p.items(|p| {
                let negative = p.eat(b'-');
                let at = p.span();
                let text = p.text(at).replace('_', "");
                let value = match (p.peek(), text.get(..2)) {
                    (Tok::Int(value), _) => Some(u128::from(value)),
                    (Tok::Large, Some("0x" | "0X")) => u128::from_str_radix(&text[2..], 16).ok(),
                    (Tok::Large, _) => text.parse().ok(),
                    _ if p.clrx && (p.is(b',') || p.at_end()) => {
                        bytes.extend([0; 16]);
                        return Ok(());
                    }
                    _ => None,
                };
                let value =
                    value.ok_or_else(|| Fail::new(at, "expected a number of up to 128 bits"))?;
                p.next();
                let value = if negative {
                    value.wrapping_neg()
                } else {
                    value
                };
                bytes.extend(value.to_le_bytes());
                Ok(())
            })?;
            Ok(bytes)
        })?;
        self.emit(span, &bytes)
    }

    pub(crate) fn floats(&mut self, tokens: &[Token], name: &str) -> Result<(), Fail> {
        let span = tokens[0].span;
        let mut empty = Vec::new();
        let bytes = self.parse(tokens, |p| {
            let mut bytes = Vec::new();
            p.items(|p| {
                let at = p.span();
                if p.clrx && (p.is(b',') || p.at_end()) {
                    empty.push(at);
                    let width = match name {
                        ".double" => 8,
                        ".half" => 2,
                        _ => 4,
                    };
                    bytes.extend(&[0; 8][..width]);
                    return Ok(());
                }
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
                Ok(())
            })?;
            Ok(bytes)
        })?;
        for at in empty {
            self.message(Level::Warning, at, NO_VALUE.into(), None);
        }
        self.emit(span, &bytes)
    }
}

/// CLRX emits 0 for an empty item between commas.
const NO_VALUE: &str = "there is no value here: it is 0";

/// Returns true if a number fits in `width` bytes, signed or unsigned.
pub(crate) fn fits(value: i64, width: u8) -> bool {
    match width {
        8 => true,
        w => {
            let bits = w as u32 * 8;
            (-(1i64 << (bits - 1))..1i64 << bits).contains(&value)
        }
    }
}
