//! `gcn run`: a launch as the command line says it.

use std::path::PathBuf;

pub use crate::data::{Contents, SplitMix};
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
    let int = |low: i128, high: i128| -> Result<i128, String> {
        let v = integer(value).ok_or_else(|| format!("`{value}` is no integer"))?;
        if v < low || v > high {
            return Err(format!("{v} does not fit {kind}"));
        }
        Ok(v)
    };
    let float = || {
        value
            .parse::<f64>()
            .map_err(|_| format!("`{value}` is no number"))
    };
    Ok(match kind {
        "i32" => ArgSpec::Value(
            (int(i32::MIN.into(), u32::MAX.into())? as u32)
                .to_le_bytes()
                .into(),
        ),
        "u32" => ArgSpec::Value((int(0, u32::MAX.into())? as u32).to_le_bytes().into()),
        "i64" => ArgSpec::Value(
            (int(i64::MIN.into(), u64::MAX.into())? as u64)
                .to_le_bytes()
                .into(),
        ),
        "u64" => ArgSpec::Value((int(0, u64::MAX.into())? as u64).to_le_bytes().into()),
        "i16" => ArgSpec::Value(
            (int(i16::MIN.into(), u16::MAX.into())? as u16)
                .to_le_bytes()
                .into(),
        ),
        "u16" => ArgSpec::Value((int(0, u16::MAX.into())? as u16).to_le_bytes().into()),
        "i8" => ArgSpec::Value(
            (int(i8::MIN.into(), u8::MAX.into())? as u8)
                .to_le_bytes()
                .into(),
        ),
        "u8" => ArgSpec::Value((int(0, u8::MAX.into())? as u8).to_le_bytes().into()),
        "f16" => {
            use gcn_emu::fp::{Env, F16, F64, convert};
            let bits = convert::<F64, F16>(float()?.to_bits(), &Env::IEEE, &Env::IEEE);
            ArgSpec::Value((bits as u16).to_le_bytes().into())
        }
        "f32" => {
            let v: f32 = value
                .parse()
                .map_err(|_| format!("`{value}` is no number"))?;
            ArgSpec::Value(v.to_le_bytes().into())
        }
        "f64" => ArgSpec::Value(float()?.to_le_bytes().into()),
        "bytes" => ArgSpec::Value(hex(value)?),
        "local" => {
            let n = integer(value).and_then(|v| u32::try_from(v).ok());
            ArgSpec::Local(n.ok_or_else(|| format!("`{value}` is no number of bytes"))?)
        }
        "buf" => ArgSpec::Buffer(parse_buffer(value)?),
        _ => {
            return Err(format!(
                "`{kind}` is no kind of argument; expected i32, u32, i64, u64, f32, f64, f16, bytes, buf or local"
            ));
        }
    })
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
