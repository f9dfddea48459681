//! Expressions of the notation.

use gcn::isa::format::Format;
use gcn::isa::meaning::Op;
use gcn::isa::shape::{Mods, Role, Ty};

use super::{Machine, STATES, Value, apply, before, load, mix, part_width, type_named};

/// The tokens of an expression.
fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        let start = at;
        let c = chars[at];
        if c.is_whitespace() {
            at += 1;
            continue;
        }
        if c.is_ascii_digit() {
            while at < chars.len()
                && (chars[at].is_alphanumeric() || chars[at] == '.' || {
                    matches!(chars[at], '-' | '+') && chars[at - 1] == 'e' && !text.contains("0x")
                })
            {
                at += 1;
            }
        } else if c.is_alphabetic() || c == '_' {
            while at < chars.len() && (chars[at].is_alphanumeric() || chars[at] == '_') {
                at += 1;
            }
        } else {
            let two: String = chars[at..(at + 2).min(chars.len())].iter().collect();
            let known = ["<<", ">>", "<=", ">=", "==", "!=", "<>", "&&", "||"];
            at += if known.contains(&two.as_str()) { 2 } else { 1 };
        }
        out.push(chars[start..at].iter().collect());
    }
    out
}

/// The operators by precedence, lowest first.
const LEVELS: [&[&str]; 8] = [
    &["||"],
    &["&&"],
    &["<", "<=", ">", ">=", "==", "!=", "<>"],
    &["|"],
    &["^"],
    &["&"],
    &["<<", ">>"],
    &["+", "-"],
];

type Answer = Result<Value, String>;

/// A reader of tokens that computes as it reads.
struct Reader<'m, 'a> {
    machine: &'m mut Machine<'a>,
    tokens: Vec<String>,
    at: usize,
}

impl Machine<'_> {
    pub fn expression(&mut self, text: &str) -> Answer {
        let mut reader = Reader {
            tokens: tokens(text),
            machine: self,
            at: 0,
        };
        let value = reader.ternary()?;
        match reader.tokens.get(reader.at) {
            None => Ok(value),
            Some(token) => Err(format!("unexpected `{token}`")),
        }
    }

    /// Applies an operation to values. Values without a type take the type of the other.
    fn operate(&mut self, op: Op, values: &[Value], out: Option<Ty>) -> Answer {
        let ty = values.iter().find_map(|v| match v {
            Value::Typed(_, ty) => Some(*ty),
            _ => None,
        });
        let ty = ty.or(values
            .iter()
            .any(|v| matches!(v, Value::Float(_)))
            .then_some(Ty::F64));
        let Some(ty) = ty else {
            return self.plain(op, values);
        };
        let mut args = [0; 3];
        for (n, value) in values.iter().enumerate() {
            let shift = n == 1 && matches!(op, Op::Shl | Op::Shr);
            if let Value::Typed(_, other) = value
                && !shift
                && (other.bits() != ty.bits() || other.is_float() != ty.is_float())
            {
                return Err(format!("{} with {} in {op:?}", ty.name(), other.name()));
            }
            args[n] = if shift {
                value.as_type(Ty::U64)
            } else {
                value.as_type(ty)
            };
        }
        if matches!(op, Op::And | Op::Or | Op::Xor | Op::Not | Op::Shl) && ty.is_float() {
            return Err(format!("{op:?} of a float"));
        }
        let rule = op.out(ty).unwrap_or(ty);
        let out = out.unwrap_or(rule);
        let bits = apply(op, ty, out, args, self.inputs.mode, self.target);
        Ok(
            match (out, values.iter().all(|v| matches!(v, Value::Float(_)))) {
                (Ty::Bool, _) => Value::Plain(bits as i128),
                (Ty::F64, true) => Value::Float(f64::from_bits(bits)),
                _ => Value::Typed(bits, out),
            },
        )
    }

    fn plain(&mut self, op: Op, values: &[Value]) -> Answer {
        let n = |k: usize| values[k].number();
        Ok(Value::Plain(match op {
            Op::Add => n(0) + n(1),
            Op::Sub => n(0) - n(1),
            Op::Mul => n(0) * n(1),
            Op::And => n(0) & n(1),
            Op::Or => n(0) | n(1),
            Op::Xor => n(0) ^ n(1),
            Op::Shl => n(0).checked_shl(n(1) as u32).ok_or("shift")?,
            Op::Shr => n(0) >> n(1),
            Op::Min => n(0).min(n(1)),
            Op::Max => n(0).max(n(1)),
            Op::Not => !n(0),
            Op::Neg => -n(0),
            Op::Abs => n(0).abs(),
            Op::Popcount => (n(0) as u64).count_ones() as i128,
            Op::Eq => (n(0) == n(1)) as i128,
            Op::Ne => (n(0) != n(1)) as i128,
            Op::Lt => (n(0) < n(1)) as i128,
            Op::Le => (n(0) <= n(1)) as i128,
            Op::Gt => (n(0) > n(1)) as i128,
            Op::Ge => (n(0) >= n(1)) as i128,
            _ => return Err(format!("{op:?} of plain numbers")),
        }))
    }
}

impl Reader<'_, '_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn take(&mut self, token: &str) -> bool {
        let is = self.peek() == token;
        self.at += is as usize;
        is
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        match self.take(token) {
            true => Ok(()),
            false => Err(format!("expected `{token}` before `{}`", self.peek())),
        }
    }

    fn ternary(&mut self) -> Answer {
        let condition = self.level(0)?;
        if !self.take("?") {
            return Ok(condition);
        }
        let a = self.ternary()?;
        self.expect(":")?;
        let b = self.ternary()?;
        let chosen = if condition.is_true() { a } else { b };
        // A plain value takes the other's type.
        Ok(match (chosen, a, b) {
            (Value::Plain(_), Value::Typed(_, ty), _)
            | (Value::Plain(_), _, Value::Typed(_, ty)) => Value::Typed(chosen.as_type(ty), ty),
            (Value::Float(_), Value::Typed(_, ty), _)
            | (Value::Float(_), _, Value::Typed(_, ty)) => Value::Typed(chosen.as_type(ty), ty),
            _ => chosen,
        })
    }

    fn level(&mut self, n: usize) -> Answer {
        let Some(symbols) = LEVELS.get(n) else {
            return self.product();
        };
        let mut left = self.level(n + 1)?;
        while symbols.contains(&self.peek()) {
            let symbol = self.tokens[self.at].clone();
            self.at += 1;
            let right = self.level(n + 1)?;
            left = match symbol.as_str() {
                "&&" => Value::Plain((left.is_true() && right.is_true()) as i128),
                "||" => Value::Plain((left.is_true() || right.is_true()) as i128),
                _ => {
                    let op = match symbol.as_str() {
                        "|" => Op::Or,
                        "^" => Op::Xor,
                        "&" => Op::And,
                        "<<" => Op::Shl,
                        ">>" => Op::Shr,
                        "+" => Op::Add,
                        "-" => Op::Sub,
                        "<" => Op::Lt,
                        "<=" => Op::Le,
                        ">" => Op::Gt,
                        ">=" => Op::Ge,
                        "==" => Op::Eq,
                        _ => Op::Ne,
                    };
                    let ordered = matches!(op, Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::Shr);
                    if let (Value::Typed(_, a), Value::Typed(_, b)) = (left, right)
                        && ordered
                        && op != Op::Shr
                        && a.is_signed() != b.is_signed()
                    {
                        return Err(format!("{} {symbol} {}", a.name(), b.name()));
                    }
                    self.machine.operate(op, &[left, right], None)?
                }
            };
        }
        Ok(left)
    }

    fn product(&mut self) -> Answer {
        let mut left = self.unary()?;
        loop {
            let op = match self.peek() {
                "*" => Op::Mul,
                "/" => Op::Div,
                _ => return Ok(left),
            };
            self.at += 1;
            let right = self.unary()?;
            left = self.machine.operate(op, &[left, right], None)?;
        }
    }

    fn unary(&mut self) -> Answer {
        if self.take("-") {
            if self.take("nan") {
                return Ok(Value::Float(f64::from_bits(0xfff8_0000_0000_0000)));
            }
            let x = self.unary()?;
            return match x {
                Value::Float(x) => Ok(Value::Float(-x)),
                _ => self.machine.operate(Op::Neg, &[x], None),
            };
        }
        if self.take("!") {
            return Ok(Value::Plain(!self.unary()?.is_true() as i128));
        }
        if self.take("~") {
            let x = self.unary()?;
            return self.machine.operate(Op::Not, &[x], None);
        }
        let mut value = self.atom()?;
        // Suffixes of a value: bits, or another type.
        loop {
            if self.take("[") {
                value = self.bits(value)?;
            } else if self.take(".") {
                let suffix = self.tokens[self.at].clone();
                self.at += 1;
                value = self.read_as(value, &suffix)?;
            } else {
                return Ok(value);
            }
        }
    }

    /// `[hi:lo]`, `[n]`, `[lane n]`, after the bracket.
    fn bits(&mut self, value: Value) -> Answer {
        if self.peek() == "lane"
            && !matches!(
                self.tokens[self.at + 1].as_str(),
                "]" | "&" | "-" | "[" | "+" | ">>" | "<<"
            )
        {
            self.at += 1;
            let n = self.ternary()?.number() as u64 & 63;
            self.expect("]")?;
            let Value::Typed(bits, ty) = value else {
                return Err("a lane of a plain value".into());
            };
            return Ok(Value::Typed(
                mix(bits, 14 + n) & (u64::MAX >> (64 - ty.bits())),
                ty,
            ));
        }
        let high = self.ternary()?.number();
        let low = if self.take(":") {
            self.ternary()?.number()
        } else {
            high
        };
        self.expect("]")?;
        let bits = match value {
            Value::Typed(bits, ty) if ty.is_float() => {
                return Err(format!("bits {high} of a float {bits:x}"));
            }
            Value::Typed(bits, _) => bits as i128,
            _ => value.number(),
        };
        if !(0..=64).contains(&low) {
            return Ok(Value::Plain(0));
        }
        Ok(Value::Plain(bits >> low & ((1 << (high - low + 1)) - 1)))
    }

    /// `.u8[k]`, `.i24` or `.f` of a value.
    fn read_as(&mut self, value: Value, suffix: &str) -> Answer {
        let (width, signed) =
            part_width(&format!(".{suffix}")).ok_or_else(|| format!("no type `.{suffix}`"))?;
        let (bits, own) = match value {
            Value::Typed(bits, ty) => (bits, ty.bits()),
            _ => (value.as_type(Ty::U64), 64),
        };
        let float = suffix.starts_with(['f', 'd']);
        let index = width < own && self.take("[");
        let at = if index {
            let n = self.ternary()?.number() as u32;
            self.expect("]")?;
            n * width
        } else {
            0
        };
        let part = bits.checked_shr(at).unwrap_or(0) & (u64::MAX >> (64 - width));
        let packed = self.machine.program.row.format == Format::Vop3p && width == 16;
        match type_named(suffix) {
            Some(ty) if width == own || packed || float || matches!(value, Value::Plain(_)) => {
                Ok(Value::Typed(part, ty))
            }
            _ if signed => {
                let shift = 64 - width;
                Ok(Value::Plain(((part << shift) as i64 >> shift) as i128))
            }
            _ => Ok(Value::Plain(part as i128)),
        }
    }

    fn atom(&mut self) -> Answer {
        let token = self.peek().to_string();
        self.at += 1;
        if token == "(" {
            let value = self.ternary()?;
            self.expect(")")?;
            return Ok(value);
        }
        if token.starts_with(|c: char| c.is_ascii_digit()) {
            return number(&token);
        }
        if self.peek() == "(" {
            return self.call(&token);
        }
        self.name(&token)
    }

    /// An operand, a variable, a state or a field.
    fn name(&mut self, token: &str) -> Answer {
        if let Some(value) = self.machine.variables.get(token) {
            return Ok(*value);
        }
        match token {
            "inf" => return Ok(Value::Float(f64::INFINITY)),
            "nan" => return Ok(Value::Float(f64::from_bits(0x7ff8_0000_0000_0000))),
            "pi" => return Ok(Value::Float(core::f64::consts::PI)),
            "lane" => return Ok(Value::Plain(self.machine.inputs.lane as i128)),
            "LDS" | "MEM" | "FLAT" | "SCRATCH" | "GDS" => return self.memory(token),
            "SGPR" | "VGPR" => return self.numbered(token),
            "P0" | "P10" | "P20" => return self.parameter(token),
            "HIGH" => {
                return Ok(Value::Plain(
                    (self.machine.inputs.named("SRC0", 16) >> 8 & 1) as i128,
                ));
            }
            _ => {}
        }
        if token.starts_with("TABLE") {
            self.expect("[")?;
            let n = self.ternary()?.number() as usize;
            self.expect("]")?;
            return self.table(n);
        }
        if let Some(slot) = self.machine.slot(token)
            && !matches!(
                self.machine.program.row.shape.slots[slot as usize].role,
                Role::Imm(_) | Role::ExpTgt
            )
        {
            return self.operand(token, slot);
        }
        let mut full = token.to_string();
        if matches!(token, "MODE" | "STATUS") && self.take(".") {
            full = format!("{token}.{}", self.tokens[self.at]);
            self.at += 1;
        }
        if let Some(state) = STATES.iter().find(|s| s.name() == full) {
            let value = self.machine.inputs.named(&full, state.ty().bits());
            if self.peek() == "["
                && self.tokens[self.at + 1] == "lane"
                && self.tokens[self.at + 2] == "]"
            {
                self.at += 3;
                return Ok(Value::Plain(
                    (value >> self.machine.inputs.lane & 1) as i128,
                ));
            }
            return Ok(match state.ty() {
                Ty::Bool => Value::Plain(value as i128),
                Ty::B32 => Value::Typed(value, Ty::U32),
                _ => Value::Typed(value, Ty::U64),
            });
        }
        match token {
            "address" => Ok(Value::Typed(self.machine.inputs.named(token, 32), Ty::U64)),
            "first_active_lane" => Ok(Value::Plain(self.machine.inputs.named(token, 5) as i128)),
            "CLAMP" | "COMPR" | "DONE" | "VM" | "OFFSET0" | "OFFSET1" | "SIMM16" | "EN"
            | "SRC0" | "TGT" | "SSRC1" | "OFFSET" | "GLC" | "SDATA" | "ADDR" | "DATA0" => {
                Ok(Value::Plain(self.machine.inputs.named(token, 16) as i128))
            }
            _ => Err(format!("unknown `{token}`")),
        }
    }

    fn operand(&mut self, token: &str, slot: u8) -> Answer {
        let ty = self.machine.program.row.shape.slots[slot as usize].ty;
        let role = self.machine.program.row.shape.slots[slot as usize].role;
        let dwords = match self.machine.out.registers.get(token) {
            Some(written) => *written,
            None => match role {
                Role::Sdst | Role::Vdst | Role::SdstV => {
                    before(self.machine.program, self.machine.inputs, slot)
                }
                _ => *self.machine.inputs.slot(slot),
            },
        };
        let low = dwords[0] as u64 | (dwords[1] as u64) << 32;
        if self.peek() == "["
            && self.tokens[self.at + 1] == "lane"
            && self.tokens.get(self.at + 2).is_some_and(|t| t == "]")
        {
            self.at += 3;
            return Ok(Value::Plain((low >> self.machine.inputs.lane & 1) as i128));
        }
        if self.peek() == "." {
            let part = self.tokens[self.at + 1].clone();
            if let Some(k) = part.strip_prefix("dword") {
                self.at += 2;
                let k: usize = k.parse().map_err(|_| "a dword")?;
                return Ok(Value::Typed(dwords[k] as u64, Ty::U32));
            }
            if let Some(k) = part.strip_prefix("qword") {
                self.at += 2;
                let k: usize = 2 * k.parse::<usize>().map_err(|_| "a qword")?;
                return Ok(Value::Typed(
                    dwords[k] as u64 | (dwords[k + 1] as u64) << 32,
                    Ty::U64,
                ));
            }
            // Parts beyond the first 64 bits.
            if ty.bits() > 64 && part == "u32" {
                self.at += 2;
                self.expect("[")?;
                let k = self.ternary()?.number() as usize;
                self.expect("]")?;
                return Ok(Value::Typed(dwords[k] as u64, Ty::U32));
            }
        }
        let bits = ty.bits().min(64);
        let index = |n: usize| self.tokens.get(self.at + n).map(String::as_str);
        let shape = self.machine.program.row.shape;
        let ty = match (ty.bits(), self.peek()) {
            // Halves of a packed operand, and sources of mixed precision.
            (16, ".") if index(2) == Some("[") && index(4) == Some("]") => Ty::U32,
            (16, _) if shape.mods == Mods::Mix && token != "D" => Ty::U32,
            (16, _) => Ty::U16,
            (64.., _) => Ty::U64,
            _ => ty.as_bits(),
        };
        let mask = u64::MAX >> (64 - bits.max(ty.bits()).min(64));
        Ok(Value::Typed(
            low & mask,
            if ty == Ty::B32 { Ty::U32 } else { ty },
        ))
    }

    fn memory(&mut self, space: &str) -> Answer {
        self.expect(".")?;
        let name = self.tokens[self.at].clone();
        self.at += 1;
        self.expect("[")?;
        let at = self.ternary()?.as_type(Ty::U64);
        self.expect("]")?;
        if name == "i8" {
            return Ok(Value::Plain(load(space, at, 8) as i8 as i128));
        }
        let ty = type_named(&name).ok_or("a type of memory")?;
        Ok(Value::Typed(load(space, at, ty.bits()), ty))
    }

    fn numbered(&mut self, file: &str) -> Answer {
        self.expect("[")?;
        let n = self.ternary()?.as_type(Ty::U32);
        self.expect("]")?;
        let pair = self.peek() == "." && self.tokens[self.at + 1] == "pair";
        if pair {
            self.at += 2;
        }
        let value = mix(n, if file == "SGPR" { 12 } else { 13 });
        Ok(match pair {
            true => Value::Typed(value, Ty::U64),
            false => Value::Typed(value & 0xffff_ffff, Ty::U32),
        })
    }

    /// A parameter of the lane's primitive, at the address that the manual gives.
    fn parameter(&mut self, which: &str) -> Answer {
        let inputs = self.machine.inputs;
        let m0 = inputs.named("M0", 32);
        let attribute = inputs.slot(self.machine.slot("ATTR").ok_or("no attribute")?)[0] as u64;
        let starts = m0 >> 16 & 0x7fff;
        let primitive = (starts & ((1 << (inputs.lane >> 2)) - 1)).count_ones() as u64;
        let primitives = starts.count_ones() as u64 + 1;
        let start = (m0 & 0xffff) + ((attribute & 63) * primitives + primitive) * 48;
        let channel = attribute >> 6 & 0x3ff_ffff;
        let at = match which {
            "P0" => (start & 0xffff_ffff) + ((channel * 8) & 0xffff_ffff),
            "P10" => (start & 0xffff_ffff) + ((channel * 8) & 0xffff_ffff) + 4,
            _ => (start & 0xffff_ffff) + ((channel * 4) & 0xffff_ffff) + 32,
        };
        let bits = load("LDS", at, 32);
        Ok(match self.peek() {
            "." => Value::Typed(bits, Ty::U32),
            _ => Value::Typed(bits, Ty::F32),
        })
    }

    fn table(&mut self, n: usize) -> Answer {
        let table = self
            .machine
            .program
            .nodes
            .iter()
            .find_map(|node| match node.op {
                Op::Table(table) => Some(*table),
                _ => None,
            });
        let entry = table.ok_or("no table")?.get(n).copied().unwrap_or(0);
        Ok(Value::Typed(entry, Ty::U64))
    }

    fn call(&mut self, name: &str) -> Answer {
        self.expect("(")?;
        if name == "approx" {
            let value = self.approximation()?;
            self.expect(")")?;
            return Ok(value);
        }
        if name.starts_with("high") {
            let left = self.unary()?;
            self.expect("*")?;
            let right = self.unary()?;
            self.expect(")")?;
            if let (Value::Plain(a), Value::Plain(b)) = (left, right) {
                return Ok(Value::Plain((a * b) >> 32));
            }
            return self.machine.operate(Op::MulHi, &[left, right], None);
        }
        if name == "code" {
            let slot = self.machine.slot(self.peek()).ok_or("an operand")?;
            self.at += 1;
            self.expect(")")?;
            let code = mix(self.machine.inputs.slot(slot)[0] as u64, 7) & 0x1ff;
            return Ok(Value::Typed(code, Ty::U32));
        }
        let mut args = Vec::new();
        while !self.take(")") {
            args.push(self.ternary()?);
            self.take(",");
        }
        self.apply(name, &args)
    }

    /// The exact value, rounded when it is assigned.
    fn approximation(&mut self) -> Answer {
        let start = self.at;
        // The operands as doubles.
        let text: Vec<String> = self.tokens[start..].to_vec();
        let x = text
            .iter()
            .position(|t| t == "x" || t == "S0")
            .ok_or("an operand")?;
        self.at = start + x;
        let operand = self.unary()?;
        // Denormals are treated as MODE says.
        let exact = match operand {
            Value::Typed(bits, ty) if ty != Ty::F64 => {
                f64::from_bits(super::convert(bits, ty, Ty::F64, self.machine.inputs.mode))
            }
            _ => self.exact(operand),
        };
        let sin = text.iter().any(|t| t == "sin");
        let value = match text[0].as_str() {
            _ if sin => (core::f64::consts::TAU * (exact - exact.round())).sin(),
            "cos" => (core::f64::consts::TAU * (0.25 - (exact - exact.round()).abs())).sin(),
            "exp2" => exact.exp2(),
            "log2" => exact.log2(),
            _ => 1.0 / exact.sqrt(),
        };
        let mut depth = 0;
        self.at = start;
        while depth > 0 || self.peek() != ")" {
            depth += (self.peek() == "(") as i32 - (self.peek() == ")") as i32;
            self.at += 1;
        }
        self.machine.approximate = true;
        Ok(Value::Float(value))
    }

    fn exact(&self, value: Value) -> f64 {
        match value {
            Value::Float(x) => x,
            Value::Typed(bits, Ty::F32) => f32::from_bits(bits as u32) as f64,
            Value::Typed(bits, Ty::F64) => f64::from_bits(bits),
            Value::Typed(bits, _) => gcn_cli::meaning_text::half_to_f64(bits as u16),
            Value::Plain(n) => n as f64,
        }
    }

    fn apply(&mut self, name: &str, args: &[Value]) -> Answer {
        let machine = &mut *self.machine;
        let (mode, target) = (machine.inputs.mode, machine.target);
        if let Some(ty) = type_named(name) {
            return cast(args[0], ty, mode, target);
        }
        if let Some(ty) = name.strip_prefix("saturate_").and_then(type_named) {
            let (least, most) = match ty.is_signed() {
                true => (-(1i128 << (ty.bits() - 1)), (1i128 << (ty.bits() - 1)) - 1),
                false => (0, (1i128 << ty.bits()) - 1),
            };
            return Ok(Value::Plain(args[0].number().clamp(least, most)));
        }
        let simple = match name {
            "abs" => Op::Abs,
            "min" => Op::Min,
            "max" => Op::Max,
            "count_ones" => Op::Popcount,
            "leading_zeros" => Op::Clz,
            "trailing_zeros" => Op::Ctz,
            "reverse_bits" if args.len() == 1 => Op::Rev,
            "sqrt" => Op::Sqrt,
            "floor" => Op::Floor,
            "ceil" => Op::Ceil,
            "trunc" => Op::RoundZero,
            "round_to_even" => Op::RoundEven,
            "fma" => Op::Fma,
            "mad" => Op::Mad,
            _ => return self.special(name, args),
        };
        machine.operate(simple, args, None)
    }

    /// Functions that are more than one operation.
    fn special(&mut self, name: &str, args: &[Value]) -> Answer {
        let machine = &mut *self.machine;
        let (mode, target) = (machine.inputs.mode, machine.target);
        let typed = args.iter().find_map(|v| match v {
            Value::Typed(_, ty) => Some(*ty),
            _ => None,
        });
        let ty = typed.unwrap_or(Ty::F64);
        let bits = args[0].as_type(ty);
        let (exponent, sign) = match ty.bits() {
            16 => (0x7c00, 0x8000),
            32 => (0x7f80_0000, 0x8000_0000),
            _ => (0x7ff0_0000_0000_0000, 0x8000_0000_0000_0000u64),
        };
        let magnitude = bits & !sign & (u64::MAX >> (64 - ty.bits()));
        Ok(match name {
            "isnan" => Value::Plain((magnitude > exponent) as i128),
            "is_tiny" => Value::Plain((magnitude & exponent == 0) as i128),
            "flush" if ty == Ty::F32 && magnitude & exponent == 0 => Value::Typed(bits & sign, ty),
            "flush" => args[0],
            "is_signaling_nan" => {
                Value::Plain(apply(Op::Class, ty, Ty::Bool, [bits, 1, 0], mode, target) as i128)
            }
            "class" => Value::Plain(apply(
                Op::Class,
                ty,
                Ty::Bool,
                [bits, args[1].as_type(Ty::U64), 0],
                mode,
                target,
            ) as i128),
            "order" => Value::Plain(if bits & sign != 0 {
                -(magnitude as i128)
            } else {
                magnitude as i128
            }),
            "copysign" => {
                let (Value::Float(x), Value::Typed(y, ty)) = (args[0], args[1]) else {
                    return Err("copysign".into());
                };
                Value::Typed(Value::Float(x).as_type(ty) | y & sign, ty)
            }
            "quiet" if magnitude > exponent => {
                machine.operate(Op::Mul, &[args[0], Value::Float(1.0)], None)?
            }
            "quiet" => args[0],
            "clamp" => {
                let low = machine.operate(Op::Min, &[args[0], args[2]], None)?;
                machine.operate(Op::Max, &[low, args[1]], None)?
            }
            "abs_diff" => match typed {
                Some(ty) => Value::Typed(
                    (args[0].number() - args[1].number()).unsigned_abs() as u64,
                    ty,
                ),
                None => Value::Plain((args[0].number() - args[1].number()).abs()),
            },
            "exponent" => Value::Plain(self.exact(args[0]).abs().log2().floor() as i128),
            "ldexp" => Value::Typed(
                apply(
                    Op::Ldexp,
                    ty,
                    ty,
                    [bits, args[1].number() as i32 as u32 as u64, 0],
                    mode,
                    target,
                ),
                ty,
            ),
            "fma_times_power_of_two" => {
                let last = args[3].number();
                let args = [bits, args[1].as_type(ty), args[2].as_type(ty)];
                let n = i16::try_from(last).map_err(|e| e.to_string())?;
                Value::Typed(apply(Op::FmaLdexp(n), ty, ty, args, mode, target), ty)
            }
            "fma_to_f16" => {
                let args = [bits, args[1].as_type(ty), args[2].as_type(ty)];
                Value::Typed(apply(Op::Fma, ty, Ty::F16, args, mode, target), Ty::F16)
            }
            "f16_toward_zero" => Value::Typed(
                apply(
                    Op::FloatToFloat,
                    Ty::F32,
                    Ty::F16,
                    [bits, 0, 0],
                    mode | 0xcc,
                    target,
                ),
                Ty::F16,
            ),
            "round_by_mode" => {
                let big = if ty == Ty::F32 {
                    8388608.0
                } else {
                    4503599627370496.0
                };
                let big = if bits & sign != 0 { -big } else { big };
                let sum = machine.operate(Op::Add, &[args[0], Value::Float(big)], None)?;
                machine.operate(Op::Sub, &[sum, Value::Float(big)], None)?
            }
            "two_by_pi" => {
                let shift = args[0].number() as usize;
                let entry = |machine: &mut Self, n| machine.table(n).map(|v| v.as_type(Ty::U64));
                let (high, low) = (entry(self, shift / 64)?, entry(self, shift / 64 + 1)?);
                let both = ((high as u128) << 64 | low as u128) << (shift % 64);
                Value::Typed((both >> 64) as u64 >> 11, Ty::U64)
            }
            "reverse_bits" => {
                let n = args[1].number() as u32;
                Value::Plain(((args[0].number() as u32).reverse_bits() >> (32 - n)) as i128)
            }
            "HWREG" => Value::Typed(mix(args[0].as_type(Ty::U64), 11) & 0xffff_ffff, Ty::U32),
            "send_to_lane" => {
                let n = args[1].number() as u64 & 63;
                Value::Typed(mix(bits, 99 + n) & 0xffff_ffff, ty)
            }
            _ => return Err(format!("unknown function `{name}`")),
        })
    }
}

/// Converts a value to a type.
fn cast(value: Value, to: Ty, mode: u32, target: gcn::isa::target::Target) -> Answer {
    let op = match value {
        Value::Typed(_, from) if from.is_float() && to.is_float() => Op::FloatToFloat,
        Value::Typed(_, from) if from.is_float() => Op::FloatToInt,
        Value::Typed(..) if to.is_float() => Op::IntToFloat,
        Value::Plain(n) if to.is_float() => {
            let bits = apply(Op::IntToFloat, Ty::I64, to, [n as u64, 0, 0], mode, target);
            return Ok(Value::Typed(bits, to));
        }
        Value::Float(x) if !to.is_float() => {
            return Ok(Value::Typed(Value::Plain(x as i128).as_type(to), to));
        }
        _ => return Ok(Value::Typed(Value::Plain(value.number()).as_type(to), to)),
    };
    let Value::Typed(bits, from) = value else {
        return Err("a typed value".into());
    };
    Ok(Value::Typed(
        apply(op, from, to, [bits, 0, 0], mode, target),
        to,
    ))
}

fn number(token: &str) -> Answer {
    if let Some(hex) = token.strip_prefix("0x") {
        return i128::from_str_radix(hex, 16)
            .map(Value::Plain)
            .map_err(|e| e.to_string());
    }
    if token.contains(['.', 'e']) {
        return token
            .parse()
            .map(Value::Float)
            .map_err(|e| format!("{token}: {e}"));
    }
    token
        .parse()
        .map(Value::Plain)
        .map_err(|e| format!("{token}: {e}"))
}
