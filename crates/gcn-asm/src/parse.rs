//! The cursor over one statement's tokens.

use crate::lexer::{Span, Tok, Token};
use crate::symbols::Symbols;
use gcn_isa::Target;

/// An error in a statement and its span.
#[derive(Clone, Debug)]
pub(crate) struct Fail {
    pub span: Span,
    pub message: String,
    pub help: Option<String>,
}

impl Fail {
    pub fn new(span: Span, message: impl Into<String>) -> Fail {
        Fail {
            span,
            message: message.into(),
            help: None,
        }
    }

    pub fn help(mut self, help: impl Into<String>) -> Fail {
        self.help = Some(help.into());
        self
    }
}

/// Returns the span from token `from` up to, but not including, token `to`; `None` if that range is empty.
pub(crate) fn spanned(tokens: &[Token], from: usize, to: usize) -> Option<Span> {
    let last = to.checked_sub(1).filter(|last| *last >= from)?;
    Some(tokens[from].span.to(tokens[last].span))
}

pub(crate) struct Parser<'s, 'a> {
    pub src: &'s str,
    /// The offset of the text's first byte.
    pub base: u32,
    pub tokens: &'a [Token],
    pub at: usize,
    pub sym: &'a mut Symbols<'s>,
    /// The section and offset of `.`.
    pub location: (u32, u64),
    /// True if CLRX's syntax applies where the dialects differ.
    pub clrx: bool,
    pub target: Target,
    /// One more than the highest VGPR and SGPR named so far.
    pub used: &'a mut [u32; 2],
}

impl<'s> Parser<'s, '_> {
    pub fn peek(&self) -> Tok {
        self.tokens.get(self.at).map_or(Tok::End, |t| t.tok)
    }

    pub fn peek_at(&self, ahead: usize) -> Tok {
        self.tokens.get(self.at + ahead).map_or(Tok::End, |t| t.tok)
    }

    pub fn span(&self) -> Span {
        match self.tokens.get(self.at).or(self.tokens.last()) {
            Some(t) => t.span,
            None => Span::default(),
        }
    }

    pub fn span_at(&self, ahead: usize) -> Span {
        self.tokens
            .get(self.at + ahead)
            .map_or(self.span(), |t| t.span)
    }

    /// Returns the span of the previous token.
    pub fn last_span(&self) -> Span {
        match self.at.checked_sub(1).and_then(|n| self.tokens.get(n)) {
            Some(t) => t.span,
            None => self.span(),
        }
    }

    pub fn next(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    pub fn text(&self, span: Span) -> &'s str {
        let at = |offset: u32| offset.wrapping_sub(self.base) as usize;
        self.src.get(at(span.start)..at(span.end)).unwrap_or("")
    }

    /// Returns the text from token `from` up to, but not including, token `to`.
    pub fn between(&self, from: usize, to: usize) -> &'s str {
        spanned(self.tokens, from, to).map_or("", |span| self.text(span))
    }

    pub fn at_end(&self) -> bool {
        self.peek() == Tok::End
    }

    pub fn is(&self, c: u8) -> bool {
        self.peek() == Tok::Punct(c)
    }

    pub fn eat(&mut self, c: u8) -> bool {
        let is = self.is(c);
        if is {
            self.next();
        }
        is
    }

    pub fn expect(&mut self, c: u8) -> Result<(), Fail> {
        if self.eat(c) {
            return Ok(());
        }
        Err(Fail::new(
            self.span(),
            format!("expected `{}`, found {}", c as char, self.found()),
        ))
    }

    pub fn ident(&mut self, what: &str) -> Result<&'s str, Fail> {
        if self.peek() == Tok::Ident {
            let text = self.text(self.span());
            self.next();
            return Ok(text);
        }
        Err(Fail::new(
            self.span(),
            format!("expected {what}, found {}", self.found()),
        ))
    }

    /// Describes the next token for a message.
    pub fn found(&self) -> String {
        match self.peek() {
            Tok::End => "the end of the statement".into(),
            _ => format!("`{}`", self.text(self.span())),
        }
    }

    /// Calls `item` to read an item, and another after each comma, up to the end of the statement.
    pub fn items(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<(), Fail>,
    ) -> Result<(), Fail> {
        loop {
            item(self)?;
            if !self.eat(b',') {
                return self.end();
            }
        }
    }

    pub fn end(&self) -> Result<(), Fail> {
        if self.at_end() {
            return Ok(());
        }
        Err(Fail::new(
            self.span(),
            format!("expected the end of the statement, found {}", self.found()),
        ))
    }
}
