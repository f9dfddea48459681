//! `gcn run`: the launch on a command line.

use std::path::{Path, PathBuf};

pub use crate::data::{Contents, SplitMix};
use crate::data::{Number, Ty};
use crate::plan::{ArgPlan, BufferPlan, LaunchPlan, Plan, SavePlan};
use gcn_object::CodeObject;

/// An argument on the command line.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgSpec {
    /// A value's bytes, little-endian, with the type if they are numbers.
    Value(Option<Ty>, Vec<u8>),
    /// A global buffer, with its dimensions if it is a new array.
    Buffer(Contents, Option<Vec<usize>>),
    /// An address.
    Pointer(u64),
    /// A dynamic local pointer to this many bytes of LDS.
    Local(u32),
}

/// Reads `i32:5`, `buf:zero:4096` and the other forms.
///
/// # Errors
/// A message with the expected input.
pub fn parse_arg(text: &str) -> Result<ArgSpec, String> {
    let (kind, value) = text.split_once(':').ok_or_else(|| {
        let guess = match (integer(text), text.parse::<f64>()) {
            (Some(_), _) => format!("; did you mean i32:{text}?"),
            (_, Ok(_)) => format!("; did you mean f32:{text}?"),
            _ if Path::new(text).exists() => format!("; did you mean buf:{text}?"),
            _ => String::new(),
        };
        format!(
            "`{text}`: expected KIND:VALUE, as i32:5, f32:1.5, buf:zero:4096 or buf:FILE{guess}"
        )
    })?;
    if let Some(ty) = Ty::parse(kind) {
        let numbers = value.split(',').map(|number| scalar(ty, number.trim()));
        let bytes = numbers.collect::<Result<Vec<_>, _>>()?.concat();
        return Ok(ArgSpec::Value(Some(ty), bytes));
    }
    Ok(match kind {
        "bytes" => ArgSpec::Value(None, hex(value)?),
        "ptr" => {
            let address = integer(value).and_then(|v| u64::try_from(v).ok());
            ArgSpec::Pointer(address.ok_or_else(|| {
                format!("`{value}` is not an address; expected a number, as ptr:0 or ptr:0x1000")
            })?)
        }
        "local" => {
            let n = integer(value).and_then(|v| u32::try_from(v).ok());
            ArgSpec::Local(n.ok_or_else(|| {
                format!("`{value}` is not a number of bytes; expected local:BYTES, as local:1024")
            })?)
        }
        "buf" => {
            let (contents, shape) = parse_buffer(value)?;
            ArgSpec::Buffer(contents, shape)
        }
        _ => {
            let meant = match kind {
                "int" => "; did you mean i32?",
                "uint" => "; did you mean u32?",
                "float" => "; did you mean f32?",
                "double" => "; did you mean f64?",
                "half" => "; did you mean f16?",
                "long" => "; did you mean i64?",
                "ulong" => "; did you mean u64?",
                "file" | "buffer" => "; did you mean buf:FILE?",
                "zero" | "rand" | "randf32" | "randf64" => {
                    "; did you mean to write buf: before it?"
                }
                _ => "",
            };
            return Err(format!(
                "`{kind}` is not a kind of argument; expected {}, bytes, buf, local or ptr{meant}",
                Ty::names()
            ));
        }
    })
}

/// The bytes of a number. An integer of a signed type may be given by its bits.
fn scalar(ty: Ty, text: &str) -> Result<Vec<u8>, String> {
    let wrong = || format!("`{text}` is not a number");
    let bits = match ty {
        // A conversion through f64 would round twice.
        Ty::F32 => text.parse::<f32>().map_err(|_| wrong())?.to_bits().into(),
        Ty::F16 | Ty::F64 => ty.from_f64(text.parse().map_err(|_| wrong())?),
        _ => {
            let value = integer(text).ok_or_else(|| format!("`{text}` is not an integer"))?;
            let bits = Number::Int(value).bits(ty);
            bits.ok_or_else(|| format!("{value} does not fit {ty}"))?
        }
    };
    Ok(bits.to_le_bytes()[..ty.size()].to_vec())
}

/// The size of a buffer: bytes, or an array's dimensions and type, such as `64x32xf32`.
enum Size {
    Bytes(u64),
    Array(Ty, u64, Vec<usize>),
}

fn size(text: &str) -> Result<Size, String> {
    let wrong = || {
        format!(
            "`{text}` is not a size; expected bytes, as 4096, or elements and their type, as 1024xf32 or 64x32xf32"
        )
    };
    if let Some(bytes) = integer(text) {
        return u64::try_from(bytes).map(Size::Bytes).map_err(|_| wrong());
    }
    let (shape, ty) = text.rsplit_once('x').ok_or_else(wrong)?;
    let ty = Ty::parse(ty).ok_or_else(wrong)?;
    let shape: Option<Vec<usize>> = shape.split('x').map(|n| n.parse().ok()).collect();
    let shape = shape.ok_or_else(wrong)?;
    let count = (shape.iter()).try_fold(1u64, |all, n| all.checked_mul(*n as u64));
    let count = count.ok_or_else(|| format!("`{text}`: too many elements"))?;
    Ok(Size::Array(ty, count, shape))
}

fn parse_buffer(text: &str) -> Result<(Contents, Option<Vec<usize>>), String> {
    let mut parts = text.split(':');
    let kind = parts.next().unwrap_or("");
    let rest: Vec<&str> = parts.collect();
    let located = |e: String| format!("`buf:{text}`: {e}");
    let sized = || size(rest.first().unwrap_or(&"")).map_err(located);
    let seed = || {
        let seed = rest.get(1).and_then(|v| integer(v));
        let seed = seed.and_then(|v| u64::try_from(v).ok());
        seed.ok_or_else(|| {
            format!(
                "`buf:{text}`: expected a seed, a number that is not negative, as buf:{kind}:4096:1"
            )
        })
    };
    let exactly = |n: usize, form: &str| match rest.len() == n {
        true => Ok(()),
        false => Err(format!("`buf:{text}`: expected buf:{kind}:{form}")),
    };
    Ok(match kind {
        "zero" => {
            exactly(
                1,
                "BYTES, as buf:zero:4096, or an array, as buf:zero:64x32xf32",
            )?;
            match sized()? {
                Size::Bytes(bytes) => (Contents::Zero(bytes), None),
                Size::Array(ty, count, shape) => {
                    (Contents::Fill(ty, count, Number::Int(0)), Some(shape))
                }
            }
        }
        "rand" => {
            exactly(
                2,
                "BYTES:SEED, as buf:rand:4096:1, or an array, as buf:rand:64x32xf32:1",
            )?;
            match (sized()?, seed()?) {
                (Size::Bytes(bytes), seed) => (Contents::Rand(bytes, seed), None),
                (Size::Array(ty, count, shape), seed) => {
                    let (low, high) = if ty.is_float() { (0, 1) } else { ty.bounds() };
                    let bounds = [low, high].map(Number::Int);
                    let contents = Contents::Random(ty, count, seed, bounds[0], bounds[1]);
                    (contents, Some(shape))
                }
            }
        }
        "randf32" | "randf64" => {
            exactly(2, "BYTES:SEED")?;
            let Size::Bytes(bytes) = sized()? else {
                return Err(format!("`buf:{text}`: write buf:rand:{}", rest.join(":")));
            };
            match kind {
                "randf32" => (Contents::RandF32(bytes, seed()?), None),
                _ => (Contents::RandF64(bytes, seed()?), None),
            }
        }
        "" => return Err("`buf:`: expected a file, as buf:x.npy, or buf:zero:BYTES".into()),
        _ => (Contents::File(PathBuf::from(text)), None),
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
        return Err(format!("`{text}` is not an even number of hex digits"));
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).map_err(|e| e.to_string()))
        .collect()
}

/// The launch on a command line.
pub struct Request<'a> {
    /// The kernel's name; optional if there is only one.
    pub kernel: Option<&'a str>,
    /// Work-items in each dimension.
    pub grid: [u32; 3],
    /// Work-items of a workgroup.
    pub group: [u32; 3],
    /// The first value of OpenCL's get_global_id.
    pub offset: [u64; 3],
    /// Bytes of LDS after the kernel's own.
    pub dynamic_lds: u32,
    /// True if the types of arguments are not checked.
    pub any_type: bool,
    /// The arguments.
    pub args: Vec<ArgSpec>,
    /// Argument number and file.
    pub outs: Vec<(usize, PathBuf)>,
    /// The number of additional launches.
    pub repeat: u32,
}

/// The plan of one launch.
///
/// # Errors
/// A message if an output is not a buffer.
pub fn plan(object: CodeObject, request: Request<'_>) -> Result<Plan, String> {
    let mut plan = Plan {
        objects: vec![object],
        repeat: request.repeat,
        ..Plan::default()
    };
    for (n, path) in &request.outs {
        let here = format!("--out {n}={}", path.display());
        let why = match request.args.get(*n) {
            Some(ArgSpec::Buffer(..)) => continue,
            Some(_) => format!("argument {n} is not a buffer"),
            None => format!(
                "there is no argument {n}; there are {}, the first is 0",
                request.args.len()
            ),
        };
        let buffers = (request.args.iter().enumerate())
            .filter(|(_, arg)| matches!(arg, ArgSpec::Buffer(..)))
            .map(|(n, _)| n.to_string());
        return Err(match buffers.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => format!("{here}: {why}; none is a buffer (--arg buf:…)"),
            list => format!("{here}: {why}; buffers are: {list}"),
        });
    }
    let mut numbers = Vec::new();
    let mut args = Vec::new();
    for (n, arg) in request.args.into_iter().enumerate() {
        numbers.push(plan.buffers.len());
        args.push(match arg {
            ArgSpec::Value(ty, bytes) => ArgPlan::Value(ty, bytes),
            ArgSpec::Pointer(address) => ArgPlan::Pointer(address),
            ArgSpec::Local(bytes) => ArgPlan::Local(bytes),
            ArgSpec::Buffer(contents, shape) => {
                plan.buffers.push(BufferPlan {
                    name: format!("argument {n}"),
                    ty: None,
                    shape,
                    contents,
                    variable: None,
                    pointers: Vec::new(),
                    at: String::new(),
                });
                ArgPlan::Buffer(plan.buffers.len() - 1, 0)
            }
        });
    }
    plan.launches.push(LaunchPlan {
        object: 0,
        kernel: request.kernel.map(str::to_owned),
        grid: request.grid,
        group: request.group,
        offset: request.offset,
        dynamic_lds: request.dynamic_lds,
        any_type: request.any_type,
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
