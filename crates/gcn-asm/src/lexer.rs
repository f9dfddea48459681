//! Turns text into tokens, one statement at a time.

use crate::clrx::numbers::Width;

/// The location of a token or operand in the source: byte offsets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn moved(self, by: u32) -> Span {
        Span {
            start: self.start + by,
            end: self.end + by,
        }
    }

    pub fn to(self, other: Span) -> Span {
        Span {
            start: self.start,
            end: other.end.max(self.start),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Tok {
    /// A name; its text is the span's.
    Ident,
    Int(u64),
    /// A number of more than 64 bits, which is valid only in checksums and in `.octa`.
    Large,
    Float(f64),
    /// A float with a suffix that names its width, as in CLRX: `1.5h`.
    FloatAs(f64, Width),
    /// A quoted string; the span includes the quotes.
    Str,
    /// `1f` or `1b`: the next or last label of that number.
    LocalRef(u32, bool),
    /// Any other single character.
    Punct(u8),
    Shl,
    Shr,
    AndAnd,
    OrOr,
    EqEq,
    NotEq,
    LessEq,
    GreaterEq,
    /// The last token of every statement.
    End,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub tok: Tok,
    pub span: Span,
}

/// The meanings of the characters on which the dialects differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reading {
    /// `;` ends a statement instead of starting a comment.
    pub semicolon_separates: bool,
    /// `#` starts a comment anywhere, not at the start of a line only.
    pub hash_comments: bool,
    /// `'` quotes strings too, as in macro arguments under `.altmacro`.
    pub quotes: bool,
}

pub(crate) struct Lexer<'s> {
    pub src: &'s str,
    /// The offset of the text's first byte, which all spans are relative to.
    pub base: u32,
    pub pos: usize,
    pub reading: Reading,
    /// True if only blanks were read since the last line break.
    pub line_start: bool,
}

/// A lexical error and its location.
pub(crate) struct LexError {
    pub span: Span,
    pub message: String,
}

/// The maximum number of tokens in a statement: tokens take more memory than the text.
const MAX_TOKENS: usize = 1 << 23;

pub(crate) const fn is_ident_start(c: u8) -> bool {
    c.is_ascii_alphabetic() || matches!(c, b'_' | b'.' | b'$') || c >= 0x80
}

#[inline]
pub(crate) fn is_ident(c: u8) -> bool {
    IDENT[c as usize]
}

/// The characters that may continue a name.
static IDENT: [bool; 256] = {
    let mut table = [false; 256];
    let mut c = 0;
    while c < 256 {
        table[c] = is_ident_start(c as u8) || (c as u8).is_ascii_digit();
        c += 1;
    }
    table
};

impl<'s> Lexer<'s> {
    pub fn new(src: &'s str, reading: Reading) -> Lexer<'s> {
        Lexer {
            src,
            base: 0,
            pos: 0,
            reading,
            line_start: true,
        }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.src
            .as_bytes()
            .get(self.pos + ahead)
            .copied()
            .unwrap_or(0)
    }

    /// Returns true if all text was read.
    pub fn at_end(&self) -> bool {
        self.pos >= self.src.len()
    }

    /// Moves to the start of the next line.
    pub fn skip_line(&mut self) {
        let rest = &self.src.as_bytes()[self.pos..];
        self.pos += rest
            .iter()
            .position(|&c| c == b'\n')
            .map_or(rest.len(), |n| n + 1);
        self.line_start = true;
    }

    /// Moves to a byte offset that starts a line.
    pub fn go_to_line(&mut self, pos: usize) {
        self.pos = pos;
        self.line_start = true;
    }

    fn span(&self, start: usize) -> Span {
        Span {
            start: self.base + start as u32,
            end: self.base + self.pos as u32,
        }
    }

    /// Reads the tokens of the next statement into `out`, which is cleared first. The last token
    /// is `End`. On an error the rest of the line is skipped.
    pub fn statement(&mut self, out: &mut Vec<Token>) -> Result<(), LexError> {
        out.clear();
        loop {
            let start = self.pos;
            if self.at_end() {
                out.push(Token {
                    tok: Tok::End,
                    span: self.span(start),
                });
                return Ok(());
            }
            let c = self.peek(0);
            let tok = match c {
                b'\n' => {
                    out.push(Token {
                        tok: Tok::End,
                        span: self.span(start),
                    });
                    self.pos += 1;
                    self.line_start = true;
                    return Ok(());
                }
                b' ' | b'\t' | b'\r' | 0x0b | 0x0c => {
                    self.pos += 1;
                    continue;
                }
                // In CLRX a backslash at the end of a line continues it.
                b'\\' if self.reading.hash_comments && self.line_goes_on() => {
                    self.pos += 2 + usize::from(self.peek(1) == b'\r');
                    continue;
                }
                b';' if self.reading.semicolon_separates => {
                    out.push(Token {
                        tok: Tok::End,
                        span: self.span(start),
                    });
                    self.pos += 1;
                    return Ok(());
                }
                b';' => {
                    self.skip_comment();
                    continue;
                }
                b'#' if self.line_start && out.is_empty() || self.reading.hash_comments => {
                    self.skip_comment();
                    continue;
                }
                b'/' if self.peek(1) == b'/'
                    && !(self.reading.hash_comments && self.divides(out)) =>
                {
                    self.skip_comment();
                    continue;
                }
                b'/' if self.peek(1) == b'*' => {
                    match self
                        .src
                        .get(self.pos + 2..)
                        .and_then(|rest| rest.find("*/"))
                    {
                        Some(n) => self.pos += n + 4,
                        None => {
                            self.pos = self.src.len();
                            return Err(LexError {
                                span: Span {
                                    start: self.base + start as u32,
                                    end: self.base + start as u32 + 2,
                                },
                                message: "this comment has no end; expected `*/`".into(),
                            });
                        }
                    }
                    continue;
                }
                b'0'..=b'9' => self.number()?,
                b'.' if self.peek(1).is_ascii_digit() && !self.numbered_name() => self.number()?,
                b'"' => self.string()?,
                b'\'' if self.reading.quotes => match self.quoted() {
                    Some(end) => {
                        self.pos = end;
                        Tok::Str
                    }
                    None => self.character()?,
                },
                b'\'' => self.character()?,
                c if is_ident_start(c) => {
                    while is_ident(self.peek(0)) && !self.at_end() {
                        self.pos += 1;
                    }
                    Tok::Ident
                }
                _ => {
                    let two = match (c, self.peek(1)) {
                        (b'<', b'<') => Some(Tok::Shl),
                        (b'>', b'>') => Some(Tok::Shr),
                        (b'&', b'&') => Some(Tok::AndAnd),
                        (b'|', b'|') => Some(Tok::OrOr),
                        (b'=', b'=') => Some(Tok::EqEq),
                        (b'!', b'=') | (b'<', b'>') => Some(Tok::NotEq),
                        (b'<', b'=') => Some(Tok::LessEq),
                        (b'>', b'=') => Some(Tok::GreaterEq),
                        _ => None,
                    };
                    self.pos += 1 + two.is_some() as usize;
                    two.unwrap_or(Tok::Punct(c))
                }
            };
            self.line_start = false;
            if out.len() >= MAX_TOKENS {
                return self.fail(start, "this statement is too long");
            }
            out.push(Token {
                tok,
                span: self.span(start),
            });
        }
    }

    /// Returns true if the next character is followed by a line break.
    fn line_goes_on(&self) -> bool {
        self.peek(1) == b'\n' || self.peek(1) == b'\r' && self.peek(2) == b'\n'
    }

    /// Returns true if `//` is CLRX's unsigned division and not a comment: after a value, if another value follows
    /// directly, or a number or parenthesis follows after blanks.
    fn divides(&self, before: &[Token]) -> bool {
        let value = before.last().is_some_and(|t| {
            matches!(t.tok, Tok::Int(_) | Tok::Ident | Tok::Punct(b')'))
                && (before.len() > 1 || t.tok != Tok::Ident)
        });
        let rest = &self.src.as_bytes()[self.pos + 2..];
        let apart = rest
            .iter()
            .take_while(|c| matches!(c, b' ' | b'\t'))
            .count();
        let close = before
            .last()
            .is_some_and(|t| t.span.end as usize == self.base as usize + self.pos);
        match rest.get(apart) {
            Some(b'0'..=b'9' | b'(') => value,
            Some(&c) => value && close && apart == 0 && is_ident_start(c),
            None => false,
        }
    }

    /// Returns true if a dot and digits begin a name, as in `.4byte`.
    fn numbered_name(&self) -> bool {
        let mut ahead = 1;
        while self.peek(ahead).is_ascii_digit() {
            ahead += 1;
        }
        let next = self.peek(ahead);
        next.is_ascii_alphabetic() && !matches!(next, b'e' | b'E')
    }

    fn skip_comment(&mut self) {
        let rest = &self.src.as_bytes()[self.pos..];
        self.pos += rest.iter().position(|&c| c == b'\n').unwrap_or(rest.len());
    }

    /// Skips the line and returns the error.
    fn fail<T>(&mut self, start: usize, message: impl Into<String>) -> Result<T, LexError> {
        let span = self.span(start);
        self.skip_line();
        Err(LexError {
            span,
            message: message.into(),
        })
    }

    fn digits(&mut self, radix: u32) -> Option<u64> {
        let (mut value, mut fits) = (0u64, true);
        while let Some(d) = (self.peek(0) as char).to_digit(radix) {
            match value
                .checked_mul(radix as u64)
                .and_then(|v| v.checked_add(d as u64))
            {
                Some(v) => value = v,
                None => fits = false,
            }
            self.pos += 1;
        }
        fits.then_some(value)
    }

    pub fn number(&mut self) -> Result<Tok, LexError> {
        let start = self.pos;
        let too_large = "this number does not fit 64 bits";
        if self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'X') {
            self.pos += 2;
            let first = self.pos;
            let value = self.digits(16);
            if matches!(self.peek(0), b'.' | b'p' | b'P') {
                return self.hex_float(start, value);
            }
            if self.pos == first {
                return self.fail(start, "expected hexadecimal digits after `0x`");
            }
            return match value {
                Some(value) => self.number_end(start, Tok::Int(value)),
                None => self.number_end(start, Tok::Large),
            };
        }
        if self.peek(0) == b'0'
            && matches!(self.peek(1), b'b' | b'B')
            && matches!(self.peek(2), b'0' | b'1')
        {
            self.pos += 2;
            return match self.digits(2) {
                Some(value) => self.number_end(start, Tok::Int(value)),
                None => self.fail(start, too_large),
            };
        }
        let decimal = self.digits(10);
        let mut float = false;
        if self.peek(0) == b'.' {
            float = true;
            self.pos += 1;
            self.digits(10);
        }
        if matches!(self.peek(0), b'e' | b'E') {
            let sign = matches!(self.peek(1), b'+' | b'-') as usize;
            if self.peek(1 + sign).is_ascii_digit() {
                float = true;
                self.pos += 1 + sign;
                self.digits(10);
            }
        }
        if float {
            let text = &self.src[start..self.pos];
            // CLRX accepts an exponent without digits.
            if self.reading.hash_comments
                && matches!(self.peek(0), b'e' | b'E')
                && !is_ident(self.peek(1))
            {
                self.pos += 1;
            }
            return match text.parse::<f64>() {
                Ok(value) if value.is_finite() => self.number_end(start, Tok::Float(value)),
                _ => self.fail(start, "this number is too large for a float"),
            };
        }
        if let c @ (b'b' | b'f') = self.peek(0)
            && !is_ident(self.peek(1))
            && let Some(Ok(n)) = decimal.map(u32::try_from)
        {
            self.pos += 1;
            return Ok(Tok::LocalRef(n, c == b'f'));
        }
        if self.src.as_bytes()[start] == b'0' && self.pos > start + 1 {
            // A leading 0 makes the number octal.
            self.pos = start;
            let octal = self.digits(8);
            if self.peek(0).is_ascii_digit() {
                self.digits(10);
                return self.fail(
                    start,
                    "a number that begins with 0 is octal, and this is none",
                );
            }
            return match octal {
                Some(value) => self.number_end(start, Tok::Int(value)),
                None => self.fail(start, too_large),
            };
        }
        match decimal {
            Some(value) => self.number_end(start, Tok::Int(value)),
            None => self.number_end(start, Tok::Large),
        }
    }

    fn number_end(&mut self, start: usize, tok: Tok) -> Result<Tok, LexError> {
        if is_ident(self.peek(0)) {
            if let Tok::Float(value) = tok
                && let Some(width) = Width::of_suffix(self.peek(0))
                && !is_ident(self.peek(1))
            {
                self.pos += 1;
                return Ok(Tok::FloatAs(value, width));
            }
            while is_ident(self.peek(0)) {
                self.pos += 1;
            }
            // CLRX names data formats by the widths of their elements, as in 16_16.
            let text = &self.src.as_bytes()[start..self.pos];
            let widths = text.iter().all(|c| c.is_ascii_digit() || *c == b'_');
            if widths && !text.ends_with(b"_") {
                return Ok(Tok::Ident);
            }
            return self.fail(start, "expected a number");
        }
        Ok(tok)
    }

    /// Reads the fraction and the binary exponent after `0x` and its digits.
    fn hex_float(&mut self, start: usize, whole: Option<u64>) -> Result<Tok, LexError> {
        let mut mantissa = whole.unwrap_or(u64::MAX);
        let mut exponent = 0i32;
        let mut exact = mantissa < 1 << 53;
        if self.peek(0) == b'.' {
            self.pos += 1;
            while let Some(d) = (self.peek(0) as char).to_digit(16) {
                if mantissa < 1 << 58 {
                    mantissa = mantissa << 4 | d as u64;
                    exponent -= 4;
                } else {
                    exact &= d == 0;
                }
                self.pos += 1;
            }
        }
        if !matches!(self.peek(0), b'p' | b'P') {
            return self.fail(start, "expected `p` and an exponent in a hexadecimal float");
        }
        self.pos += 1;
        let negative = self.peek(0) == b'-';
        if matches!(self.peek(0), b'+' | b'-') {
            self.pos += 1;
        }
        let power = self.digits(10).unwrap_or(u64::MAX).min(1 << 16) as i32;
        exponent += if negative { -power } else { power };
        while mantissa != 0 && mantissa & 1 == 0 {
            mantissa >>= 1;
            exponent += 1;
        }
        exact &= mantissa < 1 << 53;
        let value = scale(mantissa as f64, exponent);
        if !exact || !value.is_finite() || value == 0.0 && mantissa != 0 {
            return self.fail(
                start,
                "this hexadecimal float has no exact value in 64 bits",
            );
        }
        self.number_end(start, Tok::Float(value))
    }

    fn string(&mut self) -> Result<Tok, LexError> {
        let start = self.pos;
        self.pos += 1;
        loop {
            match self.peek(0) {
                b'"' => {
                    self.pos += 1;
                    return Ok(Tok::Str);
                }
                b'\\' if self.pos + 1 < self.src.len() && self.peek(1) != b'\n' => self.pos += 2,
                b'\n' => return self.fail(start, "this string has no end; expected `\"`"),
                _ if self.at_end() => {
                    return self.fail(start, "this string has no end; expected `\"`");
                }
                _ => self.pos += 1,
            }
        }
    }

    /// Returns the end of a string in `'`, in which `!` escapes the next character; `None` if it is one character.
    fn quoted(&self) -> Option<usize> {
        let line = self.src.as_bytes()[self.pos..]
            .split(|&c| c == b'\n')
            .next()?;
        let mut at = 1;
        while *line.get(at)? != b'\'' {
            at += 1 + usize::from(line[at] == b'!');
        }
        let one = at == 2 || line[1] == b'\\';
        (!one).then_some(self.pos + at + 1)
    }

    fn character(&mut self) -> Result<Tok, LexError> {
        let start = self.pos;
        self.pos += 1;
        let value = match self.peek(0) {
            b'\\' => {
                self.pos += 1;
                match self.peek(0) {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'b' => 8,
                    b'f' => 12,
                    b'a' => 7,
                    b'v' => 11,
                    b'x' | b'X' => {
                        self.pos += 1;
                        let value = self.digits(16).unwrap_or(u64::MAX);
                        self.pos -= 1;
                        match u8::try_from(value) {
                            Ok(value) => value,
                            Err(_) => return self.fail(start, "expected one byte"),
                        }
                    }
                    b'0'..=b'7' => {
                        let value = self.digits(8).unwrap_or(u64::MAX);
                        self.pos -= 1;
                        match u8::try_from(value) {
                            Ok(value) => value,
                            Err(_) => return self.fail(start, "expected one byte"),
                        }
                    }
                    c @ (b'\'' | b'"' | b'\\') => c,
                    _ => return self.fail(start, "unknown escape in a character"),
                }
            }
            c @ 0x20..0x7f => c,
            _ => return self.fail(start, "expected one ASCII character between quotes"),
        };
        self.pos += 1;
        if self.peek(0) != b'\'' {
            return self.fail(start, "expected `'` after the character");
        }
        self.pos += 1;
        Ok(Tok::Int(value as u64))
    }
}

/// Returns `value` times two to the `exponent`, in steps that stay in range as long as possible.
fn scale(mut value: f64, mut exponent: i32) -> f64 {
    while exponent > 1000 && value.is_finite() && value != 0.0 {
        value *= 2f64.powi(1000);
        exponent -= 1000;
    }
    while exponent < -1000 && value != 0.0 {
        value *= 2f64.powi(-1000);
        exponent += 1000;
    }
    value * 2f64.powi(exponent.clamp(-1000, 1000))
}

/// Returns the bytes of a quoted string with its escapes resolved; `text` includes the quotes.
pub(crate) fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes();
    let inner = bytes.get(1..bytes.len().saturating_sub(1)).unwrap_or(&[]);
    let mut out = Vec::with_capacity(inner.len());
    let mut i = 0;
    while i < inner.len() {
        if inner[i] != b'\\' {
            out.push(inner[i]);
            i += 1;
            continue;
        }
        let c = inner.get(i + 1).copied().unwrap_or(0);
        i += 2;
        match c {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'a' => out.push(7),
            b'v' => out.push(11),
            b'\\' | b'"' | b'\'' => out.push(c),
            b'x' | b'X' => {
                let first = i;
                let mut value = 0u8;
                while let Some(d) = inner.get(i).and_then(|&c| (c as char).to_digit(16)) {
                    value = value << 4 | d as u8;
                    i += 1;
                }
                if i == first {
                    return Err("expected hexadecimal digits after `\\x`".into());
                }
                out.push(value);
            }
            b'0'..=b'7' => {
                let mut value = 0u32;
                i -= 1;
                let end = (i + 3).min(inner.len());
                while i < end && matches!(inner[i], b'0'..=b'7') {
                    value = value * 8 + (inner[i] - b'0') as u32;
                    i += 1;
                }
                match u8::try_from(value) {
                    Ok(value) => out.push(value),
                    Err(_) => return Err("an octal escape is larger than a byte".into()),
                }
            }
            _ => {
                return Err(format!(
                    "unknown escape `\\{}`",
                    char::from(c).escape_default()
                ));
            }
        }
    }
    Ok(out)
}
