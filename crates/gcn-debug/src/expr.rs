//! The expression language: registers, lanes, memory and LDS, numbers, and C's operators.
//!
//! | form | value |
//! |---|---|
//! | `v3[17]`, `v[2:3][0]` | a VGPR, or two, in a lane |
//! | `s4`, `s[4:5]`, `exec`, `vcc`, `m0`, `vcc_lo`, `ttmp3`, … | scalar registers |
//! | `scc`, `pc`, `mode`, `status` | other registers |
//! | `wave`, `workgroup_x`, `workgroup_y`, `workgroup_z`, `tick` | the wave, and the moment |
//! | `x`, `arg0` | a buffer of the plan, of the kernel's parameters, or by the number of the argument: its address |
//! | `mem32(A)`, `lds32(A)`, `gds32(A)`; 8, 16, 64 | memory, LDS, GDS at an address |
//! | `*(u32*)A`, with any type | memory at an address |
//! | `f32(X)`, `i32(X)`, …: u8 i8 u16 i16 f16 u32 i32 f32 u64 i64 f64 | registers and memory: their bits as the type; numbers: converted |
//! | `5`, `0x1f`, `0b101`, `-1`, `1.5`, `1.0f`, `2.0d` | numbers |
//! | `! ~ - * / % + - << >> < <= > >= == != & ^ \| && \|\|` | as in C |
//!
//! A register has no type of its own: beside a float it is a float, beside an integer an unsigned number of its size. A number
//! without a type takes that of the other side, so `exec != ~0` compares 64 bits and `v3[17] > 1.0f` two floats.

use std::fmt;

use gcn::data::Ty as Number;
use gcn::lang;
use gcn_isa::Target;

use crate::session::{Error, Session, WaveId};
use crate::state::ValueLocation;

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    /// This number of bits of registers or memory, without a type.
    Bits(u8),
    /// An unsigned integer.
    Unsigned(u8),
    /// A signed integer.
    Signed(u8),
    /// A float.
    Float(u8),
    /// An integer without a size.
    Integer,
    /// A float without a size.
    Real,
}

const TYPES: [(&str, Ty); 11] = [
    ("u8", Ty::Unsigned(8)),
    ("i8", Ty::Signed(8)),
    ("u16", Ty::Unsigned(16)),
    ("i16", Ty::Signed(16)),
    ("f16", Ty::Float(16)),
    ("u32", Ty::Unsigned(32)),
    ("i32", Ty::Signed(32)),
    ("f32", Ty::Float(32)),
    ("u64", Ty::Unsigned(64)),
    ("i64", Ty::Signed(64)),
    ("f64", Ty::Float(64)),
];

impl Ty {
    /// The type of a name, such as `f32`; also C's `float`, `double`, `int` and so on.
    pub fn named(name: &str) -> Option<Ty> {
        let name = match name {
            "float" => "f32",
            "double" => "f64",
            "half" => "f16",
            "int" => "i32",
            "uint" | "unsigned" => "u32",
            "char" => "i8",
            "uchar" => "u8",
            "short" => "i16",
            "ushort" => "u16",
            "long" => "i64",
            "ulong" => "u64",
            name => name,
        };
        TYPES.iter().find(|(n, _)| *n == name).map(|(_, ty)| *ty)
    }

    /// Its size in bytes.
    pub fn bytes(self) -> usize {
        self.bits() as usize / 8
    }

    fn bits(self) -> u32 {
        match self {
            Ty::Bits(n) | Ty::Unsigned(n) | Ty::Signed(n) | Ty::Float(n) => n.into(),
            Ty::Integer | Ty::Real => 64,
        }
    }
}

/// A value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// Its type.
    pub ty: Ty,
    number: Num,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Num {
    Int(i128),
    Float(f64),
}

fn float_of(bits: u64, width: u8) -> f64 {
    match width {
        16 => Number::F16.to_f64(bits),
        32 => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits),
    }
}

fn cut(value: i128, bits: u32) -> u64 {
    match bits {
        64.. => value as u64,
        n => value as u64 & ((1 << n) - 1),
    }
}

impl Value {
    /// A value of a type, from its bits.
    pub fn from_bits(ty: Ty, bits: u64) -> Value {
        let number = match ty {
            Ty::Float(width) => Num::Float(float_of(bits, width)),
            Ty::Real => Num::Float(f64::from_bits(bits)),
            Ty::Signed(n) => {
                let shift = 64 - n as u32;
                Num::Int(((bits << shift) as i64 >> shift).into())
            }
            Ty::Integer => Num::Int((bits as i64).into()),
            Ty::Bits(_) | Ty::Unsigned(_) => Num::Int(cut(bits.into(), ty.bits()).into()),
        };
        Value { ty, number }
    }

    fn integer(value: i128) -> Value {
        Value {
            ty: Ty::Integer,
            number: Num::Int(value),
        }
    }

    fn truth(value: bool) -> Value {
        Value::integer(value.into())
    }

    /// The number, if it is an integer that is not negative.
    pub fn as_count(&self) -> Option<u64> {
        self.unsigned()
    }

    /// The bits that a location of a type takes when the value is stored there.
    ///
    /// # Errors
    /// A message if an integer does not fit.
    pub fn stored_as(&self, ty: Ty) -> Result<u64, Error> {
        let bits = ty.bits();
        match (self.number, ty) {
            // A register takes a float of its size.
            (Num::Float(_), Ty::Bits(n)) => match self.ty {
                Ty::Float(_) => Ok(self.bits()),
                _ => Ok(self.cast(Ty::Float(n)).bits()),
            },
            (Num::Int(n), Ty::Bits(_) | Ty::Unsigned(_) | Ty::Signed(_)) => {
                let most = (1i128 << bits) - 1;
                match (-(1i128 << (bits - 1))..=most).contains(&n) {
                    true => Ok(cut(n, bits)),
                    false => Err(format!("{n} does not fit {bits} bits").into()),
                }
            }
            (_, ty) => Ok(self.cast(ty).bits()),
        }
    }

    /// Returns true if it is not 0.
    pub fn is_true(&self) -> bool {
        match self.number {
            Num::Int(n) => n != 0,
            Num::Float(x) => x != 0.0,
        }
    }

    /// Its bits, in the width of its type.
    pub fn bits(&self) -> u64 {
        match (self.number, self.ty) {
            (Num::Int(n), ty) => cut(n, ty.bits()),
            (Num::Float(x), Ty::Float(16)) => Number::F16.from_f64(x),
            (Num::Float(x), Ty::Float(32)) => (x as f32).to_bits().into(),
            (Num::Float(x), _) => x.to_bits(),
        }
    }

    /// The number as an address or an index.
    fn unsigned(&self) -> Option<u64> {
        match self.number {
            Num::Int(n) => u64::try_from(n).ok(),
            Num::Float(_) => None,
        }
    }

    /// The value in another type: bits keep their pattern, numbers are converted.
    pub fn cast(&self, ty: Ty) -> Value {
        match (self.ty, self.number, ty) {
            (Ty::Bits(_), ..) => Value::from_bits(ty, self.bits()),
            (_, Num::Int(n), Ty::Float(_) | Ty::Real) => Value::rounded(n as f64, ty),
            (_, Num::Float(x), Ty::Float(_) | Ty::Real) => Value::rounded(x, ty),
            (_, Num::Float(x), _) => Value::wrapped(x as i128, ty),
            (_, Num::Int(n), _) => Value::wrapped(n, ty),
        }
    }

    fn rounded(x: f64, ty: Ty) -> Value {
        let x = match ty {
            Ty::Float(32) => f64::from(x as f32),
            Ty::Float(16) => Number::F16.to_f64(Number::F16.from_f64(x)),
            _ => x,
        };
        Value {
            ty,
            number: Num::Float(x),
        }
    }

    fn wrapped(n: i128, ty: Ty) -> Value {
        match ty {
            Ty::Integer => Value::integer(n),
            ty => Value::from_bits(ty, cut(n, ty.bits())),
        }
    }

    fn is_float(&self) -> bool {
        matches!(self.number, Num::Float(_))
    }
}

/// Registers in hexadecimal, with a float that they may be; integers in decimal, floats as such.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.number, self.ty) {
            (Num::Int(n), Ty::Bits(width)) => {
                write!(f, "{n:#x}")?;
                let x = match width {
                    32 => f32::from_bits(n as u32).into(),
                    64 => f64::from_bits(n as u64),
                    _ => return Ok(()),
                };
                match (1e-6..1e9).contains(&x.abs()) {
                    true if width == 32 => write!(f, " ({:?})", x as f32),
                    true => write!(f, " ({x:?})"),
                    false => Ok(()),
                }
            }
            (Num::Int(n), _) => write!(f, "{n}"),
            (Num::Float(x), Ty::Float(32)) => write!(f, "{:?}", x as f32),
            (Num::Float(x), _) => write!(f, "{x:?}"),
        }
    }
}

/// An expression, as it was read.
#[derive(Clone, Debug)]
pub struct Expr {
    text: String,
    node: Node,
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[derive(Clone, Debug)]
struct Node {
    /// The byte of the text at which it begins.
    at: usize,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Number(Value),
    Register(lang::Location, Option<Box<Node>>),
    Named(&'static str),
    Unary(&'static str, Box<Node>),
    Binary(&'static str, Box<Node>, Box<Node>),
    Cast(Ty, Box<Node>),
    Load(Space, Ty, Box<Node>),
}

/// A number that is a lane.
fn lane_number(value: &Value, at: usize) -> Result<u8, Error> {
    let lane = value.unsigned().filter(|n| *n < 64);
    let lane = lane.ok_or_else(|| Error {
        message: format!("{value} is no lane; a wave has the lanes 0 to 63"),
        at: Some(at),
    })?;
    Ok(lane as u8)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Space {
    Memory,
    Lds,
    Gds,
}

const NAMES: [&str; 5] = ["wave", "workgroup_x", "workgroup_y", "workgroup_z", "tick"];

/// The maximum depth of parentheses and operators.
const DEEPEST: usize = 100;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    target: Target,
    /// Names of addresses.
    names: &'a [(String, u64)],
    depth: usize,
}

/// Binary operators by precedence, lowest first.
const LEVELS: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Parser<'_> {
    fn error<T>(&self, at: usize, message: impl Into<String>) -> Result<T, Error> {
        Err(Error {
            message: message.into(),
            at: Some(at),
        })
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), Error> {
        match self.take(token) {
            true => Ok(()),
            false => {
                let found = self.found();
                self.error(self.at, format!("expected `{token}`, found {found}"))
            }
        }
    }

    fn found(&self) -> String {
        match self.rest().chars().next() {
            Some(c) => format!("`{c}`"),
            None => "the end".into(),
        }
    }

    /// The next operator, if it is of this level. A longer operator of another level does not match.
    fn operator(&mut self, level: usize) -> Option<&'static str> {
        self.space();
        let rest = self.rest();
        let all = LEVELS.iter().flat_map(|ops| ops.iter());
        let longest = all
            .filter(|op| rest.starts_with(**op))
            .max_by_key(|op| op.len())?;
        LEVELS[level].contains(longest).then(|| {
            self.at += longest.len();
            *longest
        })
    }

    fn binary(&mut self, level: usize) -> Result<Node, Error> {
        if level == LEVELS.len() {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        let mut count = 0;
        loop {
            self.space();
            let at = self.at;
            let Some(op) = self.operator(level) else {
                return Ok(left);
            };
            count += 1;
            if count > DEEPEST {
                return self.error(at, "the expression is too long");
            }
            let right = self.binary(level + 1)?;
            left = Node {
                at,
                kind: Kind::Binary(op, Box::new(left), Box::new(right)),
            };
        }
    }

    fn unary(&mut self) -> Result<Node, Error> {
        self.space();
        let at = self.at;
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.error(at, "the expression is too deep");
        }
        let node = self.unary_at(at);
        self.depth -= 1;
        node
    }

    fn unary_at(&mut self, at: usize) -> Result<Node, Error> {
        for op in ["!", "~", "-"] {
            if self.take(op) {
                let operand = Box::new(self.unary()?);
                let kind = Kind::Unary(op, operand);
                return Ok(Node { at, kind });
            }
        }
        if self.take("*") {
            self.expect("(")?;
            let ty = self.type_name()?;
            self.expect("*")?;
            self.expect(")")?;
            let address = Box::new(self.unary()?);
            let kind = Kind::Load(Space::Memory, ty, address);
            return Ok(Node { at, kind });
        }
        if self.take("(") {
            let before = self.at;
            // A cast, as in C.
            if let Some(word) = self.word()
                && let Some(ty) = Ty::named(word)
                && self.take(")")
            {
                let operand = Box::new(self.unary()?);
                let kind = Kind::Cast(ty, operand);
                return Ok(Node { at, kind });
            }
            self.at = before;
            let inner = self.binary(0)?;
            self.expect(")")?;
            return Ok(inner);
        }
        self.primary(at)
    }

    fn type_name(&mut self) -> Result<Ty, Error> {
        self.space();
        let at = self.at;
        let word = self.word().unwrap_or("").to_owned();
        match Ty::named(&word) {
            Some(ty) => Ok(ty),
            None => {
                let names: Vec<&str> = TYPES.iter().map(|(name, _)| *name).collect();
                self.error(
                    at,
                    format!("`{word}` is no type; expected {}", names.join(", ")),
                )
            }
        }
    }

    /// A name: letters, digits and `_`, beginning with a letter. A `$` before it is skipped.
    fn word(&mut self) -> Option<&str> {
        self.space();
        let start = self.at + usize::from(self.rest().starts_with('$'));
        let rest = &self.text[start..];
        if !rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let end = start + end.unwrap_or(rest.len());
        self.at = end;
        Some(&self.text[start..end])
    }

    fn primary(&mut self, at: usize) -> Result<Node, Error> {
        if self
            .rest()
            .starts_with(|c: char| c.is_ascii_digit() || c == '.')
        {
            let value = self.number(at)?;
            return Ok(Node {
                at,
                kind: Kind::Number(value),
            });
        }
        let Some(word) = self.word() else {
            let found = self.found();
            return self.error(
                at,
                format!("expected a register, a number or `(`, found {found}"),
            );
        };
        let word = word.to_owned();
        let kind = if let Some(ty) = Ty::named(&word) {
            self.expect("(")?;
            let operand = Box::new(self.binary(0)?);
            self.expect(")")?;
            Kind::Cast(ty, operand)
        } else if let Some((space, ty)) = loads(&word) {
            self.expect("(")?;
            let address = Box::new(self.binary(0)?);
            self.expect(")")?;
            Kind::Load(space, ty, address)
        } else if let Some(name) = NAMES.iter().find(|n| **n == word) {
            Kind::Named(name)
        } else {
            self.register(at, word)?
        };
        Ok(Node { at, kind })
    }

    fn register(&mut self, at: usize, mut word: String) -> Result<Kind, Error> {
        if matches!(word.as_str(), "v" | "s" | "ttmp") {
            // A tuple: `v[2:3]`.
            let inner = self
                .rest()
                .strip_prefix('[')
                .and_then(|r| r.split_once(']'));
            let Some((inner, _)) = inner else {
                return self.error(self.at, format!("expected a number or `[` after `{word}`"));
            };
            let size = inner.len() + 2;
            word = format!("{word}[{inner}]");
            self.at += size;
        }
        let location = match lang::location(&word, self.target) {
            Some(
                location @ (lang::Location::Scalar(..)
                | lang::Location::Vgpr(..)
                | lang::Location::Scc
                | lang::Location::Mode
                | lang::Location::Status
                | lang::Location::Trapsts
                | lang::Location::Pc),
            ) => location,
            _ => {
                if let Some((_, address)) = self.names.iter().find(|(name, _)| *name == word) {
                    return Ok(Kind::Number(Value::integer((*address).into())));
                }
                return self.error(
                    at,
                    format!(
                        "`{word}` is no register of {}, and nothing else that has a value",
                        self.target.name()
                    ),
                );
            }
        };
        let lane = match location {
            lang::Location::Vgpr(..) if self.take("[") => {
                let lane = self.binary(0)?;
                if let Kind::Number(value) = &lane.kind {
                    lane_number(value, lane.at)?;
                }
                self.expect("]")?;
                Some(Box::new(lane))
            }
            _ => None,
        };
        Ok(Kind::Register(location, lane))
    }

    fn number(&mut self, at: usize) -> Result<Value, Error> {
        let rest = self.rest();
        let hex = rest.starts_with("0x") || rest.starts_with("0X") || rest.starts_with("0b");
        let mut end = 0;
        let bytes = rest.as_bytes();
        while end < bytes.len() {
            let c = bytes[end] as char;
            let exponent =
                !hex && end > 0 && matches!(bytes[end - 1], b'e' | b'E') && matches!(c, '+' | '-');
            if !(c.is_ascii_alphanumeric() || c == '_' || c == '.' || exponent) {
                break;
            }
            end += 1;
        }
        let text = rest[..end].to_owned();
        self.at += end;
        if let Some(n) = gcn::run::integer(&text.replace('_', "")).or_else(|| {
            let bits = text.strip_prefix("0b")?;
            i128::from_str_radix(&bits.replace('_', ""), 2).ok()
        }) {
            return Ok(Value::integer(n));
        }
        let (digits, ty) = match text.strip_suffix(['f', 'd', 'h']) {
            Some(digits) if !hex => match text.as_bytes()[end - 1] {
                b'f' => (digits, Ty::Float(32)),
                b'h' => (digits, Ty::Float(16)),
                _ => (digits, Ty::Float(64)),
            },
            _ => (text.as_str(), Ty::Real),
        };
        match digits.parse::<f64>() {
            // A direct conversion rounds once.
            Ok(_) if ty == Ty::Float(32) => Ok(Value::rounded(
                digits.parse::<f32>().unwrap_or(f32::NAN).into(),
                ty,
            )),
            Ok(x) => Ok(Value::rounded(x, ty)),
            Err(_) => self.error(at, format!("`{text}` is not a number")),
        }
    }
}

/// `mem32` and the related functions.
fn loads(word: &str) -> Option<(Space, Ty)> {
    let (space, bits) = ["mem", "lds", "gds"]
        .iter()
        .zip([Space::Memory, Space::Lds, Space::Gds])
        .find_map(|(name, space)| Some((space, word.strip_prefix(name)?)))?;
    match bits {
        "8" | "16" | "32" | "64" => Some((space, Ty::Bits(bits.parse().ok()?))),
        _ => None,
    }
}

impl Expr {
    /// Reads an expression.
    ///
    /// # Errors
    /// A message, with the byte at which reading ended.
    pub fn parse(text: &str, target: Target) -> Result<Expr, Error> {
        Expr::parse_with(text, target, &[])
    }

    /// As [`Expr::parse`], with names of addresses.
    ///
    /// # Errors
    /// As [`Expr::parse`].
    pub fn parse_with(text: &str, target: Target, names: &[(String, u64)]) -> Result<Expr, Error> {
        let mut parser = Parser {
            text,
            at: 0,
            target,
            names,
            depth: 0,
        };
        let node = parser.binary(0)?;
        parser.space();
        if !parser.rest().is_empty() {
            let found = parser.found();
            return parser.error(
                parser.at,
                format!("expected an operator or the end, found {found}"),
            );
        }
        Ok(Expr {
            text: text.trim().to_owned(),
            node,
        })
    }
}

fn binary(op: &str, a: Value, b: Value, at: usize) -> Result<Value, Error> {
    let float = a.is_float() || b.is_float();
    let error = |message: &str| Error {
        message: message.into(),
        at: Some(at),
    };
    if float {
        return float_binary(op, a, b).ok_or_else(|| error(&format!("`{op}` needs integers")));
    }
    let ty = match (a.ty, b.ty) {
        (Ty::Integer, ty) | (ty, Ty::Integer) => ty,
        (Ty::Signed(m), Ty::Signed(n)) => Ty::Signed(m.max(n)),
        (Ty::Bits(m), Ty::Bits(n)) => Ty::Bits(m.max(n)),
        (x, y) => Ty::Unsigned(x.bits().max(y.bits()) as u8),
    };
    // A number without a size takes the other side's size: ~0 is all ones in that size.
    let (Num::Int(x), Num::Int(y)) = (
        Value::wrapped(int(a), ty).number,
        Value::wrapped(int(b), ty).number,
    ) else {
        return Err(error("expected integers"));
    };
    let shift = u32::try_from(int(b)).ok().filter(|n| *n < 128);
    Ok(match op {
        "==" => Value::truth(x == y),
        "!=" => Value::truth(x != y),
        "<" => Value::truth(x < y),
        "<=" => Value::truth(x <= y),
        ">" => Value::truth(x > y),
        ">=" => Value::truth(x >= y),
        "<<" => Value::wrapped(
            shift.map_or(0, |n| int(a).checked_shl(n).unwrap_or(0)),
            a.ty,
        ),
        ">>" => Value::wrapped(shift.map_or(0, |n| int(a) >> n), a.ty),
        "/" | "%" if y == 0 => return Err(error("division by 0")),
        op => {
            let n = match op {
                "+" => x.wrapping_add(y),
                "-" => x.wrapping_sub(y),
                "*" => x.wrapping_mul(y),
                "/" => x.wrapping_div(y),
                "%" => x.wrapping_rem(y),
                "&" => x & y,
                "|" => x | y,
                _ => x ^ y,
            };
            Value::wrapped(n, ty)
        }
    })
}

fn int(value: Value) -> i128 {
    match value.number {
        Num::Int(n) => n,
        Num::Float(x) => x as i128,
    }
}

/// An operation of which at least one side is a float.
fn float_binary(op: &str, a: Value, b: Value) -> Option<Value> {
    let width = |v: &Value| match v.ty {
        Ty::Float(n) => Some(n),
        Ty::Bits(n @ (16 | 32 | 64)) => Some(n),
        _ => None,
    };
    let ty = match width(&a).max(width(&b)) {
        Some(n) => Ty::Float(n),
        None => Ty::Real,
    };
    // A register is a float of its own size.
    let number = |v: Value| match v.ty {
        Ty::Bits(n) => v.cast(Ty::Float(n)),
        _ => v.cast(ty),
    };
    let (Num::Float(x), Num::Float(y)) = (number(a).number, number(b).number) else {
        return None;
    };
    Some(match op {
        "==" => Value::truth(x == y),
        "!=" => Value::truth(x != y),
        "<" => Value::truth(x < y),
        "<=" => Value::truth(x <= y),
        ">" => Value::truth(x > y),
        ">=" => Value::truth(x >= y),
        "+" => Value::rounded(x + y, ty),
        "-" => Value::rounded(x - y, ty),
        "*" => Value::rounded(x * y, ty),
        "/" => Value::rounded(x / y, ty),
        _ => return None,
    })
}

impl Session {
    /// The names of buffers, with their guest addresses: those of the plan, those of the kernel's parameters, and `arg0` and so on.
    pub fn names(&self) -> Vec<(String, u64)> {
        let buffers = self.buffers();
        let mut out: Vec<(String, u64)> = Vec::new();
        out.extend(buffers.iter().map(|(name, at, _)| (name.clone(), *at)));
        for (n, name, at) in self.buffer_arguments() {
            out.push((format!("arg{n}"), at));
            out.extend(name.map(|name| (name, at)));
        }
        out
    }

    /// Reads an expression, which may have the names of buffers.
    ///
    /// # Errors
    /// A message, with the byte at which reading ended.
    pub fn expr(&self, text: &str) -> Result<Expr, Error> {
        Expr::parse_with(text, self.target(), &self.names())
    }

    /// Evaluates an expression in the selected wave.
    ///
    /// # Errors
    /// A message, with the byte of the text that it is about.
    pub fn eval(&self, text: &str) -> Result<Value, Error> {
        let expr = self.expr(text)?;
        self.eval_expr(&expr, self.selected())
    }

    /// Evaluates an expression in a wave.
    ///
    /// # Errors
    /// As [`Session::eval`].
    pub fn eval_expr(&self, expr: &Expr, wave: Option<WaveId>) -> Result<Value, Error> {
        self.value(&expr.node, wave)
    }

    /// The location that an expression names: a register, or memory. A VGPR may be without a lane: all lanes.
    ///
    /// # Errors
    /// A message: the expression names no location, or a value that it depends on cannot be read.
    pub fn location_of(
        &self,
        expr: &Expr,
        wave: Option<WaveId>,
    ) -> Result<(ValueLocation, Ty), Error> {
        self.location(&expr.node, wave)
    }

    fn location(&self, node: &Node, wave: Option<WaveId>) -> Result<(ValueLocation, Ty), Error> {
        let error = |message: &str| Error {
            message: message.into(),
            at: Some(node.at),
        };
        let own = || wave.ok_or_else(|| error("no wave is selected"));
        Ok(match &node.kind {
            Kind::Register(location, lane) => {
                let lane = match lane {
                    None => None,
                    Some(lane) => {
                        let value = self.value(lane, wave)?;
                        Some(lane_number(&value, lane.at)?)
                    }
                };
                let wave = own()?;
                match *location {
                    lang::Location::Vgpr(first, count) => (
                        ValueLocation::Vgpr {
                            wave,
                            first,
                            count,
                            lane,
                        },
                        Ty::Bits(32 * count),
                    ),
                    lang::Location::Scalar(first, count) => (
                        ValueLocation::Scalar { wave, first, count },
                        Ty::Bits(32 * count),
                    ),
                    lang::Location::Scc => (ValueLocation::Scc(wave), Ty::Integer),
                    lang::Location::Mode => (ValueLocation::Mode(wave), Ty::Bits(32)),
                    lang::Location::Pc => (ValueLocation::Pc(wave), Ty::Bits(64)),
                    _ => return Err(error("this register can only be read")),
                }
            }
            Kind::Load(space, ty, address) => {
                let at = self.value(address, wave)?;
                let at = at.unsigned().ok_or_else(|| Error {
                    message: format!("{at} is not an address"),
                    at: Some(address.at),
                })?;
                let bytes = (ty.bits() / 8).into();
                let location = match space {
                    Space::Memory => ValueLocation::Memory { address: at, bytes },
                    Space::Lds => ValueLocation::Lds {
                        workgroup: own()?.workgroup,
                        address: at,
                        bytes,
                    },
                    Space::Gds => return Err(error("GDS can only be read")),
                };
                (location, *ty)
            }
            _ => {
                return Err(error(
                    "expected a register, as v3[17] or s4, or memory, as *(u32*)0x1000",
                ));
            }
        })
    }

    fn value(&self, node: &Node, wave: Option<WaveId>) -> Result<Value, Error> {
        let located = |mut e: Error| {
            e.at = e.at.or(Some(node.at));
            e
        };
        match &node.kind {
            Kind::Number(value) => Ok(*value),
            Kind::Named(name) => {
                let at = |message: &str| located(Error::from(message));
                let id = || wave.ok_or_else(|| at("no wave is selected"));
                Ok(Value::integer(match *name {
                    "wave" => id()?.wave as i128,
                    "workgroup_x" => id()?.workgroup[0].into(),
                    "workgroup_y" => id()?.workgroup[1].into(),
                    "workgroup_z" => id()?.workgroup[2].into(),
                    _ => self.now().tick.into(),
                }))
            }
            Kind::Unary(op, operand) => {
                let value = self.value(operand, wave)?;
                Ok(match (*op, value.number) {
                    ("!", _) => Value::truth(!value.is_true()),
                    ("-", Num::Float(x)) => Value::rounded(-x, value.ty),
                    ("-", Num::Int(n)) => Value::wrapped(-n, value.ty),
                    (_, Num::Int(n)) => Value::wrapped(!n, value.ty),
                    _ => return Err(located("`~` needs an integer".into())),
                })
            }
            Kind::Binary(op, a, b) => {
                let left = self.value(a, wave)?;
                match *op {
                    "&&" if !left.is_true() => return Ok(Value::truth(false)),
                    "||" if left.is_true() => return Ok(Value::truth(true)),
                    _ => {}
                }
                let right = self.value(b, wave)?;
                match *op {
                    "&&" | "||" => Ok(Value::truth(right.is_true())),
                    op => binary(op, left, right, node.at),
                }
            }
            Kind::Cast(ty, operand) => Ok(self.value(operand, wave)?.cast(*ty)),
            Kind::Register(lang::Location::Status | lang::Location::Trapsts, _) => {
                let state = wave.and_then(|wave| self.wave(wave));
                let state = state.ok_or_else(|| located("no wave is selected".into()))?;
                let status = matches!(node.kind, Kind::Register(lang::Location::Status, _));
                let word = match status {
                    true => state.status_word(),
                    false => state.trapsts,
                };
                Ok(Value::from_bits(Ty::Bits(32), word.into()))
            }
            Kind::Load(Space::Gds, ty, address) => {
                let at = self.value(address, wave)?.unsigned();
                let gds = self.gds();
                let range = at.and_then(|at| usize::try_from(at).ok());
                let size = ty.bits() as usize / 8;
                let bytes = range.and_then(|at| gds.get(at..at.checked_add(size)?));
                let bytes = bytes.ok_or_else(|| located("the address is beyond the GDS".into()))?;
                Ok(Value::from_bits(*ty, little(bytes)))
            }
            Kind::Register(..) | Kind::Load(..) => {
                let (location, ty) = self.location(node, wave)?;
                if let ValueLocation::Vgpr { lane: None, .. } = location {
                    let name = location.name(self.target());
                    return Err(located(
                        format!("{name} has 64 lanes: write {name}[LANE]").into(),
                    ));
                }
                let bytes = self.read(location).map_err(located)?;
                Ok(Value::from_bits(ty, little(&bytes)))
            }
        }
    }
}

/// Up to eight bytes as a number.
pub(crate) fn little(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let size = bytes.len().min(8);
    word[..size].copy_from_slice(&bytes[..size]);
    u64::from_le_bytes(word)
}
