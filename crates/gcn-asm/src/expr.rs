//! Expressions: integers, symbols and operators, with LLVM's (GNU's) precedence.

use crate::lexer::{Span, Tok};
use crate::parse::{Fail, Parser};
use crate::symbols::{Again, Def};
use gcn_isa::Gen;

/// A symbol's number in the [`crate::symbols::Symbols`].
pub(crate) type SymId = u32;

/// The relocation variant after a symbol's `@`.
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
    /// CLRX's unsigned operators, except for the shift, which keeps the sign.
    DivUnsigned,
    RemUnsigned,
    ShrSigned,
    LtUnsigned,
    LeUnsigned,
    GtUnsigned,
    GeUnsigned,
}

/// An expression whose value may depend on symbols that are not known yet. Constants are folded while parsing, so a
/// number is always `Const`.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Expr {
    Const(i64),
    Sym(SymId, Variant),
    /// `.`, or a label that must no longer change: section and offset.
    Location(u32, u64),
    Neg(Box<Expr>),
    Not(Box<Expr>),
    LogicNot(Box<Expr>),
    Binary(Op, Box<(Expr, Expr)>),
    Call(Box<(Function, Vec<Expr>)>),
    /// `a ? b : c`
    Choice(Box<(Expr, Expr, Expr)>),
}

/// There are as many expressions as labels and branches.
const _: () = assert!(size_of::<Expr>() == 16);

/// LLVM's functions of numbers, with which compilers compute a kernel's resources.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Function {
    /// The largest argument.
    Max,
    /// The bitwise or of all arguments.
    Or,
    /// The first argument rounded up to a multiple of the second.
    AlignTo,
    /// The number of VGPRs of a kernel, from its numbers of AccVGPRs and VGPRs: without an AccVGPR file the larger one.
    TotalNumVgprs,
    /// The number of SGPRs for VCC, FLAT_SCRATCH and XNACK_MASK, from flags that they are used. The flag here is true
    /// if the generation is gfx8 or later.
    ExtraSgprs(bool),
    /// The number of waves that a SIMD holds, from: the maximum number of waves, the granule of VGPRs, the number of
    /// VGPRs, LLVM's number of the generation, the number of waves without a limit, and the kernel's numbers of SGPRs
    /// and VGPRs.
    Occupancy,
}

impl Function {
    fn of(name: &str, generation: Gen) -> Option<Function> {
        Some(match name {
            "max" => Function::Max,
            "or" => Function::Or,
            "alignto" => Function::AlignTo,
            "totalnumvgprs" => Function::TotalNumVgprs,
            "extrasgprs" => Function::ExtraSgprs(generation >= Gen::Gfx8),
            "occupancy" => Function::Occupancy,
            _ => return None,
        })
    }

    /// Returns the number of arguments; `None` if any number from 1 on is valid.
    fn arguments(self) -> Option<usize> {
        match self {
            Function::Max | Function::Or => None,
            Function::AlignTo | Function::TotalNumVgprs => Some(2),
            Function::ExtraSgprs(_) => Some(3),
            Function::Occupancy => Some(7),
        }
    }

    /// Returns the value for these arguments.
    pub fn call(self, arguments: &[i64]) -> Result<i64, &'static str> {
        const TOO_FEW: &str = "this function has other arguments";
        match (self, arguments) {
            (Function::Max | Function::TotalNumVgprs, list) => {
                list.iter().copied().max().ok_or(TOO_FEW)
            }
            (Function::Or, list) => Ok(list.iter().fold(0, |all, bits| all | bits)),
            (Function::AlignTo, &[value, multiple]) => align_to(value, multiple),
            (Function::ExtraSgprs(gfx8), &[vcc, flat_scratch, xnack_mask]) => {
                let kept = match (gfx8, flat_scratch != 0, xnack_mask != 0) {
                    (true, true, _) => 6,
                    (true, false, true) | (false, true, _) => 4,
                    _ => 0,
                };
                Ok(kept.max(if vcc != 0 { 2 } else { 0 }))
            }
            (Function::Occupancy, &[most, granule, total, generation, first, sgprs, vgprs]) => {
                let by_sgprs = match sgprs {
                    0 => first,
                    _ => sgpr_occupancy(sgprs, most, generation),
                };
                let by_vgprs = match align_to(vgprs, granule)? {
                    0 => first,
                    _ if vgprs < granule => most,
                    taken => (total / taken).max(1).min(most),
                };
                Ok(first.min(by_sgprs).min(by_vgprs))
            }
            _ => Err(TOO_FEW),
        }
    }
}

fn align_to(value: i64, multiple: i64) -> Result<i64, &'static str> {
    if multiple <= 0 {
        return Err("expected a multiple of 1 or more to align to");
    }
    let above = value.rem_euclid(multiple);
    Ok(match above {
        0 => value,
        _ => value.wrapping_add(multiple - above),
    })
}

/// Returns the number of waves that a SIMD holds if each uses `sgprs` SGPRs. LLVM's numbers of generations: 5 is gfx6,
/// 6 gfx7, 7 gfx8, 8 gfx9.
fn sgpr_occupancy(sgprs: i64, most: i64, generation: i64) -> i64 {
    const STEPS: [[i64; 5]; 2] = [[48, 56, 64, 72, 80], [80, 88, 100, i64::MAX, i64::MAX]];
    match generation {
        9.. => most,
        _ => {
            let steps = STEPS[(generation >= 7) as usize];
            let above = steps.iter().take_while(|limit| sgprs > **limit).count();
            10 - above as i64
        }
    }
}

/// The maximum nesting of parentheses and operators: reading an expression must not exhaust the stack.
const DEPTH: u32 = 100;
/// The maximum number of consecutive operators, for the same reason.
const OPERATORS: u32 = 1000;

pub(crate) fn fold(op: Op, a: i64, b: i64) -> Result<i64, &'static str> {
    let truth = |t: bool| -(t as i64);
    Ok(match op {
        Op::Add => a.wrapping_add(b),
        Op::Sub => a.wrapping_sub(b),
        Op::Mul => a.wrapping_mul(b),
        Op::Div if b == 0 => return Err("this divides by zero"),
        Op::Rem if b == 0 => return Err("this divides by zero"),
        Op::DivUnsigned | Op::RemUnsigned if b == 0 => return Err("this divides by zero"),
        Op::DivUnsigned => (a as u64 / b as u64) as i64,
        Op::RemUnsigned => (a as u64 % b as u64) as i64,
        Op::ShrSigned => a >> if (0..64).contains(&b) { b } else { 63 },
        Op::LtUnsigned => truth((a as u64) < b as u64),
        Op::LeUnsigned => truth(a as u64 <= b as u64),
        Op::GtUnsigned => truth(a as u64 > b as u64),
        Op::GeUnsigned => truth(a as u64 >= b as u64),
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
        self.choice(DEPTH, &mut operators)
    }

    /// Reads a whole expression, with CLRX's `a ? b : c`.
    fn choice(&mut self, depth: u32, operators: &mut u32) -> Result<Expr, Fail> {
        let first = self.binary(0, depth, operators)?;
        if !self.clrx || !self.is(b'?') {
            return Ok(first);
        }
        *operators += 1;
        if depth == 0 || *operators > OPERATORS {
            return Err(Fail::new(
                self.span(),
                "this expression is nested too deeply",
            ));
        }
        self.next();
        let yes = self.choice(depth - 1, operators)?;
        self.expect(b':')?;
        let no = self.choice(depth - 1, operators)?;
        Ok(match first {
            Expr::Const(0) => no,
            Expr::Const(_) => yes,
            first => Expr::Choice(Box::new((first, yes, no))),
        })
    }

    /// Like [`Parser::absolute`], for a part of an instruction that is read a second time when all symbols are known:
    /// symbols that are not known yet count as 0.
    pub fn absolute_or_later(&mut self) -> Result<i64, Fail> {
        let start = self.span();
        let expr = self.expr()?;
        if self.sym.guess && self.sym.waits(&expr) {
            return Ok(0);
        }
        self.known(&expr, start)
    }

    /// Reads an expression whose value must be known here.
    pub fn absolute(&mut self) -> Result<i64, Fail> {
        let start = self.span();
        let expr = self.expr()?;
        self.known(&expr, start)
    }

    /// Returns the value of an expression, or an error if it is not known yet.
    pub fn known(&mut self, expr: &Expr, start: Span) -> Result<i64, Fail> {
        match self.sym.evaluate(expr) {
            Ok(value) if value.is_absolute() => Ok(value.addend),
            Ok(Value {
                plus: Some(Term::Undefined(s, _)),
                ..
            }) if self.sym.finished => {
                let name = self.sym.name(s);
                let message = format!("'{name}' is not defined");
                Err(Fail::new(start.to(self.last_span()), message))
            }
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
        while let Some((op, precedence, tokens)) = self.operator()
            && precedence > least
        {
            *operators += 1;
            if depth == 0 || *operators > OPERATORS {
                return Err(Fail::new(
                    self.span(),
                    "this expression is nested too deeply",
                ));
            }
            self.at += tokens;
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

    /// Returns the next operator, its precedence and its number of tokens.
    fn operator(&self) -> Option<(Op, u8, usize)> {
        let next = self.peek();
        if self.clrx {
            let second = match self.span_at(1).start == self.span().end {
                true => self.peek_at(1),
                false => Tok::End,
            };
            let long = match (next, second) {
                (Tok::Punct(b'%'), Tok::Punct(b'%')) => Some((Op::RemUnsigned, 6)),
                (Tok::Punct(b'/'), Tok::Punct(b'/')) => Some((Op::DivUnsigned, 6)),
                (Tok::Shr, Tok::Punct(b'>')) => Some((Op::ShrSigned, 6)),
                (Tok::Punct(b'<'), Tok::Punct(b'@')) => Some((Op::LtUnsigned, 3)),
                (Tok::Punct(b'>'), Tok::Punct(b'@')) => Some((Op::GtUnsigned, 3)),
                (Tok::LessEq, Tok::Punct(b'@')) => Some((Op::LeUnsigned, 3)),
                (Tok::GreaterEq, Tok::Punct(b'@')) => Some((Op::GeUnsigned, 3)),
                _ => None,
            };
            if let Some((op, precedence)) = long {
                return Some((op, precedence, 2));
            }
            if next == Tok::OrOr {
                return Some((Op::LogicOr, 2, 1));
            }
        }
        operator(next).map(|(op, precedence)| (op, precedence, 1))
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
                if let Some(&id) = self.sym.late_labels.get(&span.start) {
                    return Ok(Expr::Sym(id, Variant::None));
                }
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
                let inner = self.choice(depth - 1, operators)?;
                self.expect(b')')?;
                Ok(inner)
            }
            Tok::Ident => {
                let name = self.text(span);
                if name == "." {
                    self.next();
                    return Ok(match self.sym.structure {
                        Some(at) => Expr::Const(at),
                        None => Expr::Location(self.location.0, self.location.1),
                    });
                }
                if self.peek_at(1) == Tok::Punct(b'(')
                    && let Some(function) = Function::of(name, self.target.generation())
                {
                    self.next();
                    return self.call(function, span, depth - 1, operators);
                }
                if self.clrx
                    && let Some(id) = self.used_symbol()?
                {
                    return self.symbol_end(id);
                }
                self.next();
                let id = self.sym.intern(name);
                self.symbol_end(id)
            }
            // A name in the global scope: `::a`.
            Tok::Punct(b':') if self.clrx && self.path_at(0).is_some() => {
                match self.used_symbol()? {
                    Some(id) => self.symbol_end(id),
                    None => Err(Fail::new(span, "expected a symbol after ::")),
                }
            }
            Tok::Punct(b'@') if self.clrx => {
                self.next();
                self.unary(depth - 1, operators)
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

    /// Reads the arguments of a function whose name was read.
    fn call(
        &mut self,
        function: Function,
        name: Span,
        depth: u32,
        operators: &mut u32,
    ) -> Result<Expr, Fail> {
        self.next();
        let mut arguments = Vec::new();
        loop {
            *operators += 1;
            arguments.push(self.binary(0, depth, operators)?);
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b')')?;
        let span = name.to(self.last_span());
        if let Some(count) = function.arguments()
            && arguments.len() != count
        {
            return Err(Fail::new(
                span,
                format!("expected {count} arguments, found {}", arguments.len()),
            ));
        }
        let numbers = arguments.iter().map(|argument| match argument {
            Expr::Const(value) => Some(*value),
            _ => None,
        });
        match numbers.collect::<Option<Vec<i64>>>() {
            Some(numbers) => function
                .call(&numbers)
                .map(Expr::Const)
                .map_err(|message| Fail::new(span, message)),
            None => Ok(Expr::Call(Box::new((function, arguments)))),
        }
    }

    fn symbol_end(&mut self, id: SymId) -> Result<Expr, Fail> {
        if self.peek() == Tok::Punct(b'@') {
            let variant = self.variant()?;
            return Ok(Expr::Sym(id, variant));
        }
        if self.sym.keep {
            return Ok(Expr::Sym(id, Variant::None));
        }
        let symbol = self.sym.get(id);
        if matches!(symbol.def, Def::Register(..)) {
            let message = "expected a number: this symbol stands for a register";
            return Err(Fail::new(self.last_span(), message));
        }
        if let (Again::Evaluated, Def::Alias(_)) = (symbol.again, &symbol.def)
            && let Ok(value) = self.sym.evaluate(&Expr::Sym(id, Variant::None))
            && value.is_absolute()
        {
            return Ok(Expr::Const(value.addend));
        }
        Ok(match self.sym.absolute(id) {
            // A symbol may be redefined, so its current value is used.
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

/// An expression's value: `addend`, plus the location or symbol `plus`, minus the location `minus`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Value {
    pub addend: i64,
    pub plus: Option<Term>,
    pub minus: Option<Term>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Term {
    /// An offset in a section, with the symbol that named it.
    Location(u32, u64, Option<SymId>, Variant),
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

    /// Cancels a difference of two locations in one section.
    fn settle(mut self) -> Value {
        if let (
            Some(Term::Location(a, x, _, Variant::None)),
            Some(Term::Location(b, y, _, Variant::None)),
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
        // First the terms that cancel across the two sums.
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
