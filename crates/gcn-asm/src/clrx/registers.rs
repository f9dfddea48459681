//! Registers with names: `x = %s[4:5]`, `x[1]`, `vcc[0]`, and paths to symbols in scopes.

use super::scopes::Path;
use crate::expr::SymId;
use crate::lexer::{Span, Tok};
use crate::operand::{Constant, Val};
use crate::parse::{Fail, Parser};
use crate::symbols::Def;
use gcn_isa::Target;
use gcn_isa::operand::VGPR0;
use gcn_isa::shape::Ty;

/// Returns true if a code is that of an SGPR or VGPR without a name of its own.
fn is_plain(code: u16, target: Target) -> bool {
    code >= VGPR0 || usize::from(code) < target.generation().sgprs() as usize
}

impl<'s> Parser<'s, '_> {
    /// Returns true if the two tokens from `ahead` on are `::`.
    pub fn double_colon(&self, ahead: usize) -> bool {
        let colon = Tok::Punct(b':');
        self.peek_at(ahead) == colon
            && self.peek_at(ahead + 1) == colon
            && self.span_at(ahead).end == self.span_at(ahead + 1).start
    }

    /// Returns a name that may have scopes before it, from token `ahead` on, and its number of tokens.
    pub fn path_at(&self, ahead: usize) -> Option<(Path<'s>, usize)> {
        let mut path = Path::default();
        let mut at = ahead;
        if self.double_colon(at) {
            path.absolute = true;
            at += 2;
        }
        loop {
            if self.peek_at(at) != Tok::Ident {
                return None;
            }
            let word = self.text(self.span_at(at));
            // `.byte ::x` is a directive and a path.
            let joined = self.span_at(at).end == self.span_at(at + 1).start;
            at += 1;
            if joined && self.double_colon(at) && self.peek_at(at + 2) == Tok::Ident {
                path.scopes.push(word);
                at += 2;
                continue;
            }
            path.name = word;
            return Some((path, at - ahead));
        }
    }

    /// Reads a path of scopes; `::` alone is valid, too.
    pub fn scope_path(&mut self) -> Result<Path<'s>, Fail> {
        if self.double_colon(0) && self.peek_at(2) != Tok::Ident {
            self.at += 2;
            return Ok(Path {
                absolute: true,
                ..Path::default()
            });
        }
        let Some((path, count)) = self.path_at(0) else {
            return Err(Fail::new(
                self.span(),
                format!("expected a scope, found {}", self.found()),
            ));
        };
        self.at += count;
        Ok(path)
    }

    /// Reads the name of a symbol that is used here.
    pub fn used_symbol(&mut self) -> Result<Option<SymId>, Fail> {
        let span = self.span();
        let Some((path, count)) = self.path_at(0) else {
            return Ok(None);
        };
        self.at += count;
        let id = self.sym.used(&path);
        id.map(Some).map_err(|m| Fail::new(span, m))
    }

    /// Reads the name of a symbol that is defined here.
    pub fn defined_symbol(&mut self, what: &str) -> Result<SymId, Fail> {
        let span = self.span();
        let Some((path, count)) = self.path_at(0) else {
            let found = self.found();
            return Err(Fail::new(span, format!("expected {what}, found {found}")));
        };
        self.at += count;
        self.sym.here(&path).map_err(|m| Fail::new(span, m))
    }

    /// Returns the register that the symbol from token `ahead` on stands for.
    pub fn symbol_register(&mut self, ahead: usize) -> Option<(u16, u8)> {
        if !self.sym.has_registers {
            return None;
        }
        let (path, _) = self.path_at(ahead)?;
        let id = self.sym.visible(&path)?;
        match self.sym.get(id).def {
            Def::Register(code, count) => Some((code, count)),
            _ => None,
        }
    }

    /// Reads a symbol that stands for a register, or a part of it.
    pub fn register_of_symbol(&mut self) -> Result<Val, Fail> {
        let span = self.span();
        let Some((code, count)) = self.symbol_register(0) else {
            return Err(Fail::new(span, "expected a register's name"));
        };
        let id = self.used_symbol()?;
        let variable = id.is_some_and(|id| self.sym.variables.contains(&id));
        if self.is(b'[') {
            return match !variable && count > 1 && is_plain(code, self.target) {
                true => self.counted_from(code, count),
                false => self.part_of(code, count, span, variable),
            };
        }
        self.names(code, count, variable);
        Ok(Val::Reg(code, count))
    }

    /// Reads `[FIRST:LAST]` after the name of registers and returns that part of them.
    pub fn part_of(
        &mut self,
        code: u16,
        count: u8,
        span: Span,
        variable: bool,
    ) -> Result<Val, Fail> {
        let (first, last) = self.range()?;
        let span = span.to(self.last_span());
        // A constant is the same in every width.
        if count == 0 && first == 0 && (0..32).contains(&last) {
            return Ok(Val::Reg(code, 0));
        }
        if last < first {
            let message = "the last register of a range comes before the first";
            return Err(Fail::new(span, message));
        }
        if first < 0 || last >= i64::from(count) {
            let message = match count {
                0 | 1 => "expected [0]: the name stands for one register".to_string(),
                n => format!("expected registers from 0 to {}", n - 1),
            };
            return Err(Fail::new(span, message));
        }
        let (code, count) = (code + first as u16, (last - first + 1) as u8);
        self.names(code, count, variable);
        Ok(Val::Reg(code, count))
    }

    /// Reads `[FIRST:LAST]` after the name of several SGPRs or VGPRs; the indices count from the first of them. CLRX's
    /// documents allow indices beyond the last; these give a warning.
    fn counted_from(&mut self, code: u16, count: u8) -> Result<Val, Fail> {
        let start = self.span();
        let (first, last) = self.range()?;
        let file = match code {
            VGPR0.. => i64::from(VGPR0) + 256,
            _ => self.target.generation().sgprs() as i64,
        };
        if first < 0 || last < first || i64::from(code) + last >= file || last - first >= 32 {
            let message = format!("expected registers from 0 to {}", count - 1);
            return Err(Fail::new(start.to(self.last_span()), message));
        }
        self.sym.beyond |= last >= i64::from(count);
        let (code, count) = (code + first as u16, (last - first + 1) as u8);
        self.names(code, count, false);
        Ok(Val::Reg(code, count))
    }

    /// Records the registers that were named.
    fn names(&mut self, code: u16, count: u8, variable: bool) {
        let used = match variable {
            true => &mut self.sym.variables_used,
            false => &mut *self.used,
        };
        let end = u32::from(code) + u32::from(count);
        let last = self.target.generation().sgprs() as u32;
        if code >= VGPR0 {
            used[0] = used[0].max(end - u32::from(VGPR0));
        } else if end <= last {
            used[1] = used[1].max(end);
        }
    }

    /// Reads the value after the `%` of `x = %…`: a register, or a constant that is valid as a source.
    pub fn register_value(&mut self) -> Result<(u16, u8), Fail> {
        let span = self.span();
        self.clrx = true;
        let val = match self.peek() {
            Tok::Ident => self.register()?,
            _ => {
                let operand = self.operand()?;
                let made =
                    super::numbers::number_as(&operand.val, Ty::B32, true, self.target, false);
                match made {
                    Ok(Constant::Inline(code)) if !operand.has_mods() => Some(Val::Reg(code, 0)),
                    _ => None,
                }
            }
        };
        match val {
            Some(Val::Reg(code, count)) => Ok((code, count)),
            _ => Err(Fail::new(
                span.to(self.last_span()),
                "expected a register or an inline constant after %",
            )),
        }
    }
}
