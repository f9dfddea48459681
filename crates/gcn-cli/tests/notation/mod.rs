//! An evaluator of the notation in which the manual writes operations.
//!
//! A value is an integer or float of a type, or a plain number, which takes the type of the value that it is combined with:
//! constants, truth values and ranges of bits are plain.

mod expression;

use std::collections::BTreeMap;

use gcn::emu::eval::{self, Operation};
use gcn::isa::meaning::{Op, Program, State};
use gcn::isa::shape::Ty;
use gcn::isa::target::Target;
use gcn_cli::meaning_text::operand_name;

use crate::{Inputs, before, write_bits};

/// Mixes two numbers.
pub fn mix(a: u64, b: u64) -> u64 {
    let mut x = a ^ b.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// The contents of memory at an address.
pub fn load(space: &str, at: u64, bits: u32) -> u64 {
    let seed = space.bytes().fold(5, |h, b| mix(h, b as u64));
    let value = mix(seed, at);
    // Often a small number or a float near 1.
    let value = match value % 3 {
        0 => value & 0xff,
        1 => (value & 0x80ff_ffff) + 0x3f00_0000,
        _ => value,
    };
    value & (u64::MAX >> (64 - bits.clamp(1, 64)))
}

/// The changes of a statement.
#[derive(Default, Debug)]
pub struct Outcome {
    values: BTreeMap<String, u64>,
    registers: BTreeMap<String, [u32; 16]>,
    pub exceptions: u8,
    /// The width of an approximated value.
    approximated: Option<Ty>,
}

impl Outcome {
    pub fn set(&mut self, name: String, value: u64) {
        self.values.insert(name, value);
    }

    pub fn register(&mut self, name: &str, before: [u32; 16]) -> &mut [u32; 16] {
        self.registers.entry(name.into()).or_insert(before)
    }

    /// Compares with the expected outcome.
    ///
    /// # Errors
    /// The first difference.
    pub fn compare(&self, expected: &Outcome) -> Result<(), String> {
        if self.values != expected.values {
            return Err(format!(
                "changes {:x?}, not {:x?}",
                self.values, expected.values
            ));
        }
        if self.exceptions != expected.exceptions {
            return Err(format!(
                "exceptions {:#x}, not {:#x}",
                self.exceptions, expected.exceptions
            ));
        }
        for (name, want) in &expected.registers {
            let Some(got) = self.registers.get(name) else {
                return Err(format!("{name} is not written; expected {want:x?}"));
            };
            let equal = match self.approximated {
                Some(ty) => near(ty, got, want),
                None => got == want,
            };
            if !equal {
                return Err(format!("{name} = {got:x?}, not {want:x?}"));
            }
        }
        match self.registers.len() == expected.registers.len() {
            true => Ok(()),
            false => Err(format!(
                "writes {:?}, not {:?}",
                self.registers.keys(),
                expected.registers.keys()
            )),
        }
    }
}

/// Returns true if two floats are within the bound that the manual states.
fn near(ty: Ty, a: &[u32; 16], b: &[u32; 16]) -> bool {
    let float = |d: &[u32; 16]| match ty {
        Ty::F64 => f64::from_bits(d[0] as u64 | (d[1] as u64) << 32),
        Ty::F32 => f32::from_bits(d[0]) as f64,
        _ => gcn_cli::meaning_text::half_to_f64(d[0] as u16),
    };
    let (x, y) = (float(a), float(b));
    let relative = match ty {
        Ty::F64 => 2f64.powi(-28),
        Ty::F32 => 2f64.powi(-23),
        _ => 2f64.powi(-10),
    };
    let least = match ty {
        Ty::F64 => f64::MIN_POSITIVE,
        Ty::F32 => f32::MIN_POSITIVE as f64,
        _ => 2f64.powi(-24),
    };
    x.is_nan() && y.is_nan() || x == y || (x - y).abs() <= (x.abs() * relative).max(least)
}

/// A value.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A plain number.
    Plain(i128),
    /// A plain float.
    Float(f64),
    /// Bits of a type.
    Typed(u64, Ty),
}

impl Value {
    /// The value as bits of a type; floats of another width are converted.
    pub fn as_type(self, ty: Ty) -> u64 {
        let mask = u64::MAX >> (64 - ty.bits().clamp(1, 64));
        match self {
            Value::Plain(n) => n as u64 & mask,
            Value::Float(x) => match ty {
                Ty::F64 => x.to_bits(),
                Ty::F32 => (x as f32).to_bits() as u64,
                _ => convert(x.to_bits(), Ty::F64, ty, 0x3c0),
            },
            Value::Typed(bits, _) => bits & mask,
        }
    }

    /// The value of an integer.
    pub fn number(self) -> i128 {
        match self {
            Value::Plain(n) => n,
            Value::Float(x) => x as i128,
            Value::Typed(bits, ty) if ty.is_signed() => {
                let shift = 64 - ty.bits();
                ((bits << shift) as i64 >> shift) as i128
            }
            Value::Typed(bits, _) => bits as i128,
        }
    }

    pub fn is_true(self) -> bool {
        self.number() != 0
    }
}

/// Converts between floats.
pub fn convert(bits: u64, from: Ty, to: Ty, mode: u32) -> u64 {
    apply(
        Op::FloatToFloat,
        from,
        to,
        [bits, 0, 0],
        mode,
        Target::all().next().expect("a target"),
    )
}

/// Applies an operation of the IR.
pub fn apply(op: Op, ty: Ty, out: Ty, args: [u64; 3], mode: u32, target: Target) -> u64 {
    let operation = Operation {
        op,
        ty,
        out,
        generation: target.generation(),
        mode,
    };
    let [a, b, c] = args.map(|v| [v]);
    let mut d = [0];
    assert!(
        eval::eval(operation, [&a, &b, &c], &mut d),
        "{op:?} computes"
    );
    d[0]
}

/// The state of an evaluation.
pub struct Machine<'a> {
    pub program: &'a Program,
    pub target: Target,
    pub inputs: &'a Inputs,
    pub variables: BTreeMap<String, Value>,
    pub out: Outcome,
    /// Inside `approx()`.
    pub approximate: bool,
}

/// The states that the notation names.
pub const STATES: [State; 17] = [
    State::Scc,
    State::Exec,
    State::Vcc,
    State::M0,
    State::Pc,
    State::Vskip,
    State::GprIdxEn,
    State::Csp,
    State::Halt,
    State::Kill,
    State::Prio,
    State::CondDbgSys,
    State::CondDbgUser,
    State::InstAtc,
    State::Priv,
    State::Time,
    State::RealTime,
];

const EXCEPTIONS: [&str; 7] = [
    "invalid operation",
    "denormal source",
    "division by zero",
    "overflow",
    "underflow",
    "inexact result",
    "integer division by zero",
];

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

impl<'a> Machine<'a> {
    pub fn new(program: &'a Program, target: Target, inputs: &'a Inputs) -> Machine<'a> {
        Machine {
            program,
            target,
            inputs,
            variables: BTreeMap::new(),
            out: Outcome::default(),
            approximate: false,
        }
    }

    /// Runs the statements.
    ///
    /// # Errors
    /// A statement that cannot be read.
    pub fn run(mut self, text: &str) -> Result<Outcome, String> {
        let lines: Vec<&str> = text.lines().collect();
        self.block(&lines)?;
        Ok(self.out)
    }

    fn block(&mut self, lines: &[&str]) -> Result<(), String> {
        let mut at = 0;
        // True if a branch of the chain of `if` has been taken.
        let mut taken = false;
        while at < lines.len() {
            let line = lines[at];
            let depth = indent(line);
            let body = lines[at + 1..]
                .iter()
                .take_while(|l| indent(l) > depth)
                .count();
            let inner = &lines[at + 1..at + 1 + body];
            let text = line.trim();
            at += 1 + body;
            let context = |e: String| format!("`{text}`: {e}");
            if let Some(head) = text.strip_prefix("for ") {
                let (name, range) = head.split_once(" in ").ok_or("for")?;
                let (first, last) = range
                    .trim_end_matches(':')
                    .split_once("..")
                    .ok_or("range")?;
                let (first, last): (i128, i128) = (
                    first.parse().unwrap_or(0),
                    last.parse().map_err(|_| "range")?,
                );
                for k in first..=last {
                    self.variables.insert(name.into(), Value::Plain(k));
                    self.block(inner)?;
                }
            } else if text == "once for the wave:" {
                self.block(inner)?;
            } else if let Some(condition) = text.strip_prefix("if ") {
                taken = self
                    .expression(condition.trim_end_matches(':'))
                    .map_err(context)?
                    .is_true();
                if taken {
                    self.block(inner)?;
                }
            } else if let Some(condition) = text.strip_prefix("else if ") {
                if !taken
                    && self
                        .expression(condition.trim_end_matches(':'))
                        .map_err(context)?
                        .is_true()
                {
                    taken = true;
                    self.block(inner)?;
                }
            } else if text == "else:" {
                if !taken {
                    self.block(inner)?;
                }
            } else {
                self.statement(text).map_err(context)?;
            }
        }
        Ok(())
    }

    fn statement(&mut self, text: &str) -> Result<(), String> {
        if let Some(rest) = text.strip_prefix("exception if ") {
            let (condition, names) = rest.rsplit_once(": ").ok_or("exception")?;
            if self.expression(condition)?.is_true() {
                for (bit, name) in EXCEPTIONS.iter().enumerate() {
                    if names.split(", ").any(|n| n == *name) {
                        self.out.exceptions |= 1 << bit;
                    }
                }
            }
            return Ok(());
        }
        if text.starts_with("PERFCNT") {
            return Ok(());
        }
        if let Some((to, value)) = text.split_once(" += ") {
            let value = self.expression(&format!("{to} + ({value})"))?;
            return self.assign(to, value);
        }
        match text.split_once(" = ") {
            Some((to, value)) => {
                let value = self.expression(value)?;
                self.assign(to, value)
            }
            // Words: events outside the registers.
            None => Ok(()),
        }
    }

    fn assign(&mut self, to: &str, value: Value) -> Result<(), String> {
        if let Some((name, rest)) = to.split_once('[')
            && let Some(space) = ["LDS.", "MEM.", "FLAT.", "SCRATCH.", "GDS."]
                .iter()
                .find(|s| name.starts_with(**s))
        {
            let ty = type_named(&name[space.len()..]).ok_or("a type")?;
            let at = self
                .expression(rest.trim_end_matches(']'))?
                .as_type(Ty::U64);
            let value = value.as_type(ty);
            self.out
                .set(format!("{}[{at:#x}]", &space[..space.len() - 1]), value);
            return Ok(());
        }
        if let Some(inner) = to.strip_prefix("SGPR[").or(to.strip_prefix("VGPR[")) {
            let inner = inner.trim_end_matches(".pair").trim_end_matches(']');
            let name = match inner.split_once(" : ") {
                Some((a, b)) => {
                    let (a, b) = (self.expression(a)?.number(), self.expression(b)?.number());
                    format!("{}[{a}:{b}]", &to[..4])
                }
                None => format!("{}[{}]", &to[..4], self.expression(inner)?.number()),
            };
            self.out.set(name, value.as_type(Ty::U64));
            return Ok(());
        }
        if let Some(inner) = to.strip_prefix("HWREG(") {
            let code = self.expression(inner.trim_end_matches(')'))?.number();
            self.out
                .set(format!("HWREG({code})"), value.as_type(Ty::U64));
            return Ok(());
        }
        if let Some(inner) = to.strip_prefix("EXPORT[") {
            let (target, component) = inner.split_once("].").ok_or("export")?;
            let target = self.expression(target)?.number();
            self.out.set(
                format!("EXPORT[{target}].{component}"),
                value.as_type(Ty::U32),
            );
            return Ok(());
        }
        let plain = to.strip_suffix("[lane]").unwrap_or(to);
        if let Some(state) = STATES.iter().find(|s| s.name() == plain) {
            let width = if plain == to { state.ty().bits() } else { 1 };
            let mask = u64::MAX >> (64 - width);
            self.out.set(to.into(), value.as_type(Ty::U64) & mask);
            return Ok(());
        }
        let end = to.find(['.', '[']).unwrap_or(to.len());
        match self.slot(&to[..end]) {
            Some(slot) => self.assign_register(&to[..end], slot, &to[end..], value),
            None if end == to.len() => {
                self.variables.insert(to.into(), value);
                Ok(())
            }
            None => Err(format!("unknown `{to}`")),
        }
    }

    /// The slot of an operand's name; a destination takes precedence.
    pub fn slot(&self, name: &str) -> Option<u8> {
        (0..self.program.row.shape.slots.len())
            .find(|&slot| operand_name(self.program, slot) == name)
            .map(|slot| slot as u8)
    }

    fn assign_register(
        &mut self,
        name: &str,
        slot: u8,
        rest: &str,
        value: Value,
    ) -> Result<(), String> {
        let declared = self.program.row.shape.slots[slot as usize].ty;
        if let Some(lane) = rest.rsplit_once("[lane") {
            let name = match lane.1.trim_end_matches(']') {
                "" => format!("{name}[lane]"),
                n => format!("{name}[lane {}]", self.expression(n)?.number() & 63),
            };
            let bits = if name.ends_with("[lane]") { 1 } else { 64 };
            self.out
                .set(name, value.as_type(Ty::U64) & (u64::MAX >> (64 - bits)));
            return Ok(());
        }
        if let Value::Float(_) = value {
            self.out.approximated = self
                .out
                .approximated
                .or(Some(declared).filter(|_| self.was_approximate()));
        }
        let old = before(self.program, self.inputs, slot);
        let (at, bits) = if let Some(k) = rest.strip_prefix(".dword") {
            (32 * k.parse::<u32>().map_err(|e| e.to_string())?, 32)
        } else if let Some((ty, index)) = rest.split_once('[') {
            let index = index.strip_suffix(']').ok_or("a bracket")?;
            let (width, _) = part_width(ty).ok_or_else(|| format!("no part `{ty}`"))?;
            match ty {
                // A bit.
                ".u" | ".u64" => (self.expression(index)?.number() as u32, 1),
                _ => (width * self.expression(index)?.number() as u32, width),
            }
        } else {
            (0, declared.bits().min(64))
        };
        let ty = match rest {
            // Floats are converted, bits are not.
            ".d" => Ty::F64,
            ".f" => Ty::F32,
            _ if rest.starts_with(".f16") => Ty::F16,
            _ => Ty::U64,
        };
        let value = value.as_type(ty);
        write_bits(self.out.register(name, old), at, bits, value);
        Ok(())
    }

    fn was_approximate(&mut self) -> bool {
        core::mem::take(&mut self.approximate)
    }
}

/// The width of a part, as in `.u8`, and whether it has a sign.
pub fn part_width(suffix: &str) -> Option<(u32, bool)> {
    let mut chars = suffix.strip_prefix('.')?.chars();
    let signed = match chars.next()? {
        'u' | 'f' => false,
        'i' => true,
        'd' => return Some((64, false)),
        _ => return None,
    };
    match chars.as_str() {
        "" => Some((32, signed)),
        n => n.parse().ok().map(|n| (n, signed)),
    }
}

/// The type of a name: `u32`, `.u`, `.d`.
pub fn type_named(name: &str) -> Option<Ty> {
    Some(match name.trim_start_matches('.') {
        "u8" => Ty::B8,
        "u16" => Ty::U16,
        "i16" => Ty::I16,
        "f16" => Ty::F16,
        "u" | "u32" => Ty::U32,
        "i" | "i32" => Ty::I32,
        "f" | "f32" => Ty::F32,
        "u64" => Ty::U64,
        "i64" => Ty::I64,
        "d" | "f64" => Ty::F64,
        _ => return None,
    })
}
