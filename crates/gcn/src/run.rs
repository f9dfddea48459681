//! `gcn run`: a launch as the command line says it.

use std::path::PathBuf;

pub use crate::data::{Contents, SplitMix};
use crate::data::{Number, Ty};
use crate::plan::{ArgPlan, BufferPlan, LaunchPlan, Plan, SavePlan};
use gcn_object::CodeObject;

/// An argument as the command line gives it.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgSpec {
    /// A value's bytes, little-endian.
    Value(Vec<u8>),
    /// A global buffer.
    Buffer(Contents),
    /// A dynamic local pointer to so many bytes of LDS.
    Local(u32),
}

/// Reads `i32:5`, `buf:zero:4096` and the other forms.
///
/// # Errors
/// A sentence that says what was expected.
pub fn parse_arg(text: &str) -> Result<ArgSpec, String> {
    let (kind, value) = text.split_once(':').ok_or_else(|| {
        format!("`{text}`: expected KIND:VALUE, as i32:5, f32:1.5 or buf:zero:4096")
    })?;
    if let Some(ty) = Ty::parse(kind) {
        return scalar(ty, value).map(ArgSpec::Value);
    }
    Ok(match kind {
        "bytes" => ArgSpec::Value(hex(value)?),
        "local" => {
            let n = integer(value).and_then(|v| u32::try_from(v).ok());
            ArgSpec::Local(n.ok_or_else(|| format!("`{value}` is no number of bytes"))?)
        }
        "buf" => ArgSpec::Buffer(parse_buffer(value)?),
        _ => {
            return Err(format!(
                "`{kind}` is no kind of argument; expected {}, bytes, buf or local",
                Ty::names()
            ));
        }
    })
}

/// The bytes of a number; an integer of a signed type may be given by its bits.
fn scalar(ty: Ty, text: &str) -> Result<Vec<u8>, String> {
    let wrong = || format!("`{text}` is no number");
    let bits = match ty {
        // Not by way of an f64, which would round twice.
        Ty::F32 => text.parse::<f32>().map_err(|_| wrong())?.to_bits().into(),
        Ty::F16 | Ty::F64 => ty.from_f64(text.parse().map_err(|_| wrong())?),
        _ => {
            let value = integer(text).ok_or_else(|| format!("`{text}` is no integer"))?;
            let bits = Number::Int(value).bits(ty);
            bits.ok_or_else(|| format!("{value} does not fit {ty}"))?
        }
    };
    Ok(bits.to_le_bytes()[..ty.size()].to_vec())
}

fn parse_buffer(text: &str) -> Result<Contents, String> {
    let mut parts = text.split(':');
    let kind = parts.next().unwrap_or("");
    let rest: Vec<&str> = parts.collect();
    let number = |at: usize, what: &str| -> Result<u64, String> {
        rest.get(at)
            .and_then(|v| integer(v))
            .and_then(|v| u64::try_from(v).ok())
            .ok_or_else(|| format!("`buf:{text}`: expected {what}"))
    };
    let exactly = |n: usize| {
        if rest.len() == n {
            Ok(())
        } else {
            Err(format!(
                "`buf:{text}`: expected {n} numbers behind `{kind}`"
            ))
        }
    };
    Ok(match kind {
        "zero" => {
            exactly(1)?;
            Contents::Zero(number(0, "the size in bytes")?)
        }
        "rand" | "randf32" | "randf64" => {
            exactly(2)?;
            let (size, seed) = (number(0, "the size in bytes")?, number(1, "a seed")?);
            match kind {
                "rand" => Contents::Rand(size, seed),
                "randf32" => Contents::RandF32(size, seed),
                _ => Contents::RandF64(size, seed),
            }
        }
        _ => Contents::File(PathBuf::from(text)),
    })
}

/// A decimal or hexadecimal integer.
pub fn integer(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let v = match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    Some(sign * v)
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    if !text.len().is_multiple_of(2) || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(format!("`{text}` is no even number of hex digits"));
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).map_err(|e| e.to_string()))
        .collect()
}

/// A launch as the command line asks for it.
pub struct Request<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// Work-items in each dimension.
    pub grid: [u32; 3],
    /// Work-items of a workgroup.
    pub group: [u32; 3],
    /// What OpenCL's get_global_id counts from.
    pub offset: [u64; 3],
    /// Bytes of LDS behind those that the kernel declares.
    pub dynamic_lds: u32,
    /// The arguments.
    pub args: Vec<ArgSpec>,
    /// Argument number and file.
    pub outs: Vec<(usize, PathBuf)>,
    /// How many times more.
    pub repeat: u32,
}

/// The plan of one launch.
///
/// # Errors
/// A message, where an output is no buffer.
pub fn plan(object: CodeObject, request: Request<'_>) -> Result<Plan, String> {
    let mut plan = Plan {
        objects: vec![object],
        repeat: request.repeat,
        ..Plan::default()
    };
    for (n, path) in &request.outs {
        if !matches!(request.args.get(*n), Some(ArgSpec::Buffer(_))) {
            return Err(format!(
                "--out {n}={}: argument {n} is no buffer",
                path.display()
            ));
        }
    }
    let mut numbers = Vec::new();
    let mut args = Vec::new();
    for (n, arg) in request.args.into_iter().enumerate() {
        numbers.push(plan.buffers.len());
        args.push(match arg {
            ArgSpec::Value(bytes) => ArgPlan::Value(bytes),
            ArgSpec::Local(bytes) => ArgPlan::Local(bytes),
            ArgSpec::Buffer(contents) => {
                plan.buffers.push(BufferPlan {
                    name: format!("argument {n}"),
                    ty: None,
                    contents,
                    at: String::new(),
                });
                ArgPlan::Buffer(plan.buffers.len() - 1, 0)
            }
        });
    }
    plan.launches.push(LaunchPlan {
        object: 0,
        kernel: request.kernel.to_owned(),
        grid: request.grid,
        group: request.group,
        offset: request.offset,
        dynamic_lds: request.dynamic_lds,
        args,
        times: 1,
        at: String::new(),
    });
    plan.saves = (request.outs.into_iter())
        .map(|(n, file)| SavePlan {
            buffer: numbers[n],
            file,
            descr: None,
            shape: None,
            at: String::new(),
        })
        .collect();
    Ok(plan)
}
