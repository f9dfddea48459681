//! Expressions: integers, symbols and operators, with LLVM's (GNU's) precedence.

use crate::lexer::{Span, Tok};
use crate::parse::{Fail, Parser};

/// A symbol's number in the [`crate::symbols::Symbols`].
pub(crate) type SymId = u32;

/// What follows a symbol's `@`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Variant {
    None,
    Gotpcrel,
    Gotpcrel32Lo,
    Gotpcrel32Hi,
    Rel32Lo,
    Rel32Hi,
    Rel64,
    Abs32Lo,
    Abs32Hi,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    And,
    Or,
    Xor,
    OrNot,
    LogicAnd,
    LogicOr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// An expression whose value may wait for symbols. Constants are folded while parsing, so a
/// number is always `Const`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Expr {
    Const(i64),
    Sym(SymId, Variant),
    /// `.`, or a label that must not change any more: section and offset.
    Place(u32, u64),
    Neg(Box<Expr>),
    Not(Box<Expr>),
    LogicNot(Box<Expr>),
    Binary(Op, Box<(Expr, Expr)>),
}

/// Nesting of parentheses and operators beyond which an expression is refused, so that reading
/// one cannot exhaust the stack.
const DEPTH: u32 = 100;
/// Operators in a row beyond which one is refused, for the same reason.
const OPERATORS: u32 = 1000;

pub(crate) fn fold(op: Op, a: i64, b: i64) -> Result<i64, &'static str> {
    let truth = |t: bool| -(t as i64);
    Ok(match op {
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Mul => a.wrapping_mul(b),
        Op::Div if b == 0 => return Err("this divides by zero"),
        Op::Rem if b == 0 => return Err("this divides by zero"),
        Op::Div => a.wrapping_div(b),
        Op::Rem => a.wrapping_rem(b),
        Op::Shl | Op::Shr if !(0..64).contains(&b) => 0,
        Op::Shl => a << b,
        Op::Shr => ((a as u64) >> b) as i64,
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::OrNot => a | !b,
        Op::LogicAnd => (a != 0 && b != 0) as i64,
        Op::LogicOr => (a != 0 || b != 0) as i64,
        Op::Eq => truth(a == b),
        Op::Ne => truth(a != b),
        Op::Lt => truth(a < b),
        Op::Le => truth(a <= b),
        Op::Gt => truth(a > b),
        Op::Ge => truth(a >= b),
    })
}

fn operator(tok: Tok) -> Option<(Op, u8)> {
    Some(match tok {
        Tok::OrOr => (Op::LogicOr, 1),
        Tok::AndAnd => (Op::LogicAnd, 2),
        Tok::EqEq => (Op::Eq, 3),
        Tok::NotEq => (Op::Ne, 3),
        Tok::LessEq => (Op::Le, 3),
        Tok::GreaterEq => (Op::Ge, 3),
        Tok::Punct(b'<') => (Op::Lt, 3),
        Tok::Punct(b'>') => (Op::Gt, 3),
        Tok::Punct(b'+') => (Op::Add, 4),
        Tok::Punct(b'-') => (Op::Sub, 4),
        Tok::Punct(b'|') => (Op::Or, 5),
        Tok::Punct(b'^') => (Op::Xor, 5),
        Tok::Punct(b'&') => (Op::And, 5),
        Tok::Punct(b'!') => (Op::OrNot, 5),
        Tok::Punct(b'*') => (Op::Mul, 6),
        Tok::Punct(b'/') => (Op::Div, 6),
        Tok::Punct(b'%') => (Op::Rem, 6),
        Tok::Shl => (Op::Shl, 6),
        Tok::Shr => (Op::Shr, 6),
        _ => return None,
    })
}

impl Parser<'_, '_> {
    /// Reads an expression.
    pub fn expr(&mut self) -> Result<Expr, Fail> {
        let mut operators = 0;
        self.binary(0, DEPTH, &mut operators)
    }

    /// Reads an expression whose value must be known at once.
    pub fn absolute(&mut self) -> Result<i64, Fail> {
        let start = self.span();
        let expr = self.expr()?;
        self.known(&expr, start)
    }

    /// The value of an expression, or an error that it is not known yet.
    pub fn known(&mut self, expr: &Expr, start: Span) -> Result<i64, Fail> {
        match self.sym.evaluate(expr) {
            Ok(value) if value.is_absolute() => Ok(value.addend),
            Ok(_) => Err(Fail::new(
                start.to(self.last_span()),
                "expected an absolute expression: this one depends on where code is placed",
            )),
            Err(e) => {
                let message = match e {
                    EvalError::Undefined(s) => {
                        format!(
                            "expected a value that is known here: '{}' is not defined before",
                            self.sym.name(s)
                        )
                    }
                    EvalError::Message(m) => m.to_string(),
                };
                Err(Fail::new(start.to(self.last_span()), message))
            }
        }
    }

    fn binary(&mut self, least: u8, depth: u32, operators: &mut u32) -> Result<Expr, Fail> {
        let start = self.span();
        let mut left = self.unary(depth, operators)?;
        while let Some((op, precedence)) = operator(self.peek())
            && precedence > least
        {
            *operators += 1;
            if depth == 0 || *operators > OPERATORS {
                return Err(Fail::new(
                    self.span(),
                    "this expression is nested too deeply",
                ));
            }
            self.next();
            let right = self.binary(precedence, depth - 1, operators)?;
            left = match (left, right) {
                (Expr::Const(a), Expr::Const(b)) => Expr::Const(
                    fold(op, a, b).map_err(|m| Fail::new(start.to(self.last_span()), m))?,
                ),
                (a, b) => Expr::Binary(op, Box::new((a, b))),
            };
        }
        Ok(left)
    }

    /// Reads an expression without binary operators outside parentheses.
    pub fn primary(&mut self) -> Result<Expr, Fail> {
        self.unary(DEPTH, &mut 0)
    }

    fn unary(&mut self, depth: u32, operators: &mut u32) -> Result<Expr, Fail> {
        let span = self.span();
        if depth == 0 {
            return Err(Fail::new(span, "this expression is nested too deeply"));
        }
        match self.peek() {
            Tok::Int(value) => {
                self.next();
                Ok(Expr::Const(value as i64))
            }
            Tok::LocalRef(n, forward) => {
                self.next();
                match self.sym.local_label(n, forward) {
                    Some(id) => Ok(Expr::Sym(id, Variant::None)),
                    None => Err(Fail::new(
                        span,
                        format!("there is no label '{n}:' before this"),
                    )),
                }
            }
            Tok::Punct(b'-') => {
                self.next();
                Ok(match self.unary(depth - 1, operators)? {
                    Expr::Const(a) => Expr::Const(a.wrapping_neg()),
                    e => Expr::Neg(Box::new(e)),
                })
            }
            Tok::Punct(b'+') => {
                self.next();
                self.unary(depth - 1, operators)
            }
            Tok::Punct(b'~') => {
                self.next();
                Ok(match self.unary(depth - 1, operators)? {
                    Expr::Const(a) => Expr::Const(!a),
                    e => Expr::Not(Box::new(e)),
                })
            }
            Tok::Punct(b'!') => {
                self.next();
                Ok(match self.unary(depth - 1, operators)? {
                    Expr::Const(a) => Expr::Const((a == 0) as i64),
                    e => Expr::LogicNot(Box::new(e)),
                })
            }
            Tok::Punct(b'(') => {
                self.next();
                let inner = self.binary(0, depth - 1, operators)?;
                self.expect(b')')?;
                Ok(inner)
            }
            Tok::Ident => {
                self.next();
                let name = self.text(span);
                if name == "." {
                    return Ok(Expr::Place(self.place.0, self.place.1));
                }
                let id = self.sym.intern(name);
                self.symbol_end(id)
            }
            Tok::Str => {
                self.next();
                let name = self.text(span);
                let id = self.sym.intern(&name[1..name.len() - 1]);
                self.symbol_end(id)
            }
            Tok::Large => Err(Fail::new(span, "this number does not fit 64 bits")),
            _ => Err(Fail::new(
                span,
                format!("expected an expression, found {}", self.found()),
            )),
        }
    }

    fn symbol_end(&mut self, id: SymId) -> Result<Expr, Fail> {
        if self.peek() == Tok::Punct(b'@') {
            let variant = self.variant()?;
            return Ok(Expr::Sym(id, variant));
        }
        Ok(match self.sym.absolute(id) {
            // A symbol may be set again, so its value now is what counts.
            Some(value) => Expr::Const(value),
            None => Expr::Sym(id, Variant::None),
        })
    }

    fn variant(&mut self) -> Result<Variant, Fail> {
        let start = self.span();
        let mut words = [""; 2];
        let mut n = 0;
        while n < 2 && self.peek() == Tok::Punct(b'@') {
            self.next();
            words[n] = self.ident("a relocation's name")?;
            n += 1;
        }
        let is =
            |a: &str, b: &str| words[0].eq_ignore_ascii_case(a) && words[1].eq_ignore_ascii_case(b);
        Ok(match () {
            _ if is("gotpcrel", "") => Variant::Gotpcrel,
            _ if is("gotpcrel32", "lo") => Variant::Gotpcrel32Lo,
            _ if is("gotpcrel32", "hi") => Variant::Gotpcrel32Hi,
            _ if is("rel32", "lo") => Variant::Rel32Lo,
            _ if is("rel32", "hi") => Variant::Rel32Hi,
            _ if is("rel64", "") => Variant::Rel64,
            _ if is("abs32", "lo") => Variant::Abs32Lo,
            _ if is("abs32", "hi") => Variant::Abs32Hi,
            _ => {
                return Err(Fail::new(
                    start.to(self.last_span()),
                    "expected @rel32@lo, @rel32@hi, @rel64, @gotpcrel, @gotpcrel32@lo, @gotpcrel32@hi, @abs32@lo or @abs32@hi",
                ));
            }
        })
    }
}

/// An expression's value: `addend`, plus the place or symbol `plus`, less the place `minus`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Value {
    pub addend: i64,
    pub plus: Option<Term>,
    pub minus: Option<Term>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Term {
    /// An offset in a section; with the symbol that named it.
    Place(u32, u64, Option<SymId>, Variant),
    /// A symbol that another file defines.
    Undefined(SymId, Variant),
}

impl Value {
    pub fn absolute(addend: i64) -> Value {
        Value {
            addend,
            plus: None,
            minus: None,
        }
    }

    pub fn is_absolute(&self) -> bool {
        self.plus.is_none() && self.minus.is_none()
    }

    /// Cancels a difference of two places in one section.
    fn settle(mut self) -> Value {
        if let (
            Some(Term::Place(a, x, _, Variant::None)),
            Some(Term::Place(b, y, _, Variant::None)),
        ) = (self.plus, self.minus)
            && a == b
        {
            self.addend = self.addend.wrapping_add(x as i64).wrapping_sub(y as i64);
            (self.plus, self.minus) = (None, None);
        }
        if let (Some(Term::Undefined(a, _)), Some(Term::Undefined(b, _))) = (self.plus, self.minus)
            && a == b
        {
            (self.plus, self.minus) = (None, None);
        }
        self
    }

    pub fn negate(self) -> Value {
        Value {
            addend: self.addend.wrapping_neg(),
            plus: self.minus,
            minus: self.plus,
        }
    }

    pub fn add(self, other: Value) -> Result<Value, EvalError> {
        const TOO_MANY: EvalError =
            EvalError::Message("this adds or subtracts more addresses than a relocation can hold");
        // Terms that cancel across the two sums first.
        let first = Value {
            addend: 0,
            plus: self.plus,
            minus: other.minus,
        }
        .settle();
        let second = Value {
            addend: 0,
            plus: other.plus,
            minus: self.minus,
        }
        .settle();
        let one = |a: Option<Term>, b: Option<Term>| match (a, b) {
            (Some(_), Some(_)) => Err(TOO_MANY),
            (a, b) => Ok(a.or(b)),
        };
        let sum = Value {
            addend: (self.addend.wrapping_add(other.addend))
                .wrapping_add(first.addend)
                .wrapping_add(second.addend),
            plus: one(first.plus, second.plus)?,
            minus: one(first.minus, second.minus)?,
        };
        Ok(sum.settle())
    }
}

pub(crate) enum EvalError {
    /// The symbol has no value (yet).
    Undefined(SymId),
    Message(&'static str),
}
