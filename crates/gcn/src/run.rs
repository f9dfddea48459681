//! `gcn run`: launches a kernel of a code object.

use std::path::{Path, PathBuf};
use std::time::Instant;

use gcn_emu::dispatch::{Gpu, Launch};
use gcn_emu::mem::Perm;
use gcn_isa::Target;
use gcn_object::metadata::{Arg, ValueKind};
use gcn_object::read::CodeObject;

use crate::npy;

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

/// What a buffer holds before the first launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Contents {
    Zero(u64),
    /// Random bytes: size and seed.
    Rand(u64, u64),
    /// Uniform f32 in [0, 1): bytes and seed.
    RandF32(u64, u64),
    /// Uniform f64 in [0, 1): bytes and seed.
    RandF64(u64, u64),
    File(PathBuf),
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

fn integer(text: &str) -> Option<i128> {
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

/// The generator of `rand`, `randf32` and `randf64`: SplitMix64.
pub struct SplitMix(pub u64);

impl SplitMix {
    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// The largest buffer an argument may ask for.
const LARGEST: u64 = 1 << 34;

impl Contents {
    /// The bytes.
    ///
    /// # Errors
    /// When a file cannot be read, or the size is out of bounds.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        let sized = |n: u64| {
            if n > LARGEST {
                return Err(format!("a buffer of {n} bytes is larger than {LARGEST}"));
            }
            usize::try_from(n).map_err(|_| format!("a buffer of {n} bytes is too large"))
        };
        Ok(match self {
            Contents::Zero(n) => vec![0; sized(*n)?],
            Contents::Rand(n, seed) => {
                let n = sized(*n)?;
                let mut rng = SplitMix(*seed);
                let mut out = Vec::with_capacity(n + 8);
                while out.len() < n {
                    out.extend(rng.next_u64().to_le_bytes());
                }
                out.truncate(n);
                out
            }
            Contents::RandF32(n, seed) => {
                let n = sized(*n)?;
                let mut rng = SplitMix(*seed);
                let mut out = Vec::with_capacity(n + 4);
                while out.len() < n {
                    let v = (rng.next_u64() >> 40) as f32 / (1u32 << 24) as f32;
                    out.extend(v.to_le_bytes());
                }
                out.truncate(n);
                out
            }
            Contents::RandF64(n, seed) => {
                let n = sized(*n)?;
                let mut rng = SplitMix(*seed);
                let mut out = Vec::with_capacity(n + 8);
                while out.len() < n {
                    let v = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                    out.extend(v.to_le_bytes());
                }
                out.truncate(n);
                out
            }
            Contents::File(path) => {
                let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
                if is_npy(path) {
                    npy::data(&bytes).map_err(|e| format!("{}: {e}", path.display()))?
                } else {
                    bytes
                }
            }
        })
    }
}

fn is_npy(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("npy"))
}

/// A launch as the command line asks for it.
pub struct Request<'a> {
    pub kernel: &'a str,
    pub grid: [u32; 3],
    pub group: [u32; 3],
    pub args: Vec<ArgSpec>,
    /// Argument number and file.
    pub outs: Vec<(usize, PathBuf)>,
    pub threads: usize,
    pub repeat: u32,
    pub max_instructions: Option<u64>,
}

/// What a run came to.
pub struct Report {
    /// Milliseconds of each launch.
    pub ms: Vec<f64>,
    pub instructions: u64,
    pub waves: u64,
}

/// Loads the object, lays out the arguments, launches, and writes what was asked for.
///
/// # Errors
/// A message that says where and why.
pub fn run(object: &CodeObject, request: &Request<'_>) -> Result<Report, String> {
    let target = Target::parse(object.target_name())
        .ok_or_else(|| format!("{} is no gfx6 to gfx9 target", object.target_name()))?;
    let names = object.kernels.iter().map(|k| k.name.as_str());
    let named = crate::dis::named(names, request.kernel).unwrap_or(request.kernel);
    let kernel = object.kernel(named).ok_or_else(|| {
        let have: Vec<&str> = object.kernels.iter().map(|k| k.name.as_str()).collect();
        format!(
            "no kernel `{}`; the object has: {}",
            request.kernel,
            have.join(", ")
        )
    })?;
    // Hand-written kernels may say nothing of their arguments.
    let metadata = kernel
        .metadata
        .as_ref()
        .filter(|m| !m.args.is_empty() || m.kernarg_segment_size == 0);
    let natural: Vec<Arg>;
    let visible: Vec<&Arg> = match metadata {
        Some(metadata) => (metadata.args.iter())
            .filter(|a| !a.value_kind_name.starts_with("hidden_"))
            .collect(),
        None => {
            natural = natural_layout(&request.args);
            natural.iter().collect()
        }
    };
    check_count(&kernel.name, &visible, &request.args)?;
    for (n, path) in &request.outs {
        if !matches!(request.args.get(*n), Some(ArgSpec::Buffer(_))) {
            return Err(format!(
                "--out {n}={}: argument {n} is no buffer",
                path.display()
            ));
        }
    }

    let contents = request
        .args
        .iter()
        .map(|arg| match arg {
            ArgSpec::Buffer(contents) => contents.bytes().map(Some),
            _ => Ok(None),
        })
        .collect::<Result<Vec<_>, _>>()?;
    let total: u64 = contents.iter().flatten().map(|b| b.len() as u64).sum();
    let gpu = Gpu::new(target, total.saturating_mul(2).saturating_add(1 << 30))
        .map_err(|e| e.to_string())?;
    let loaded = gpu.load(object).map_err(|e| e.to_string())?;

    let end = visible
        .iter()
        .map(|a| a.offset.saturating_add(a.size))
        .max();
    let kernarg_size = metadata.map_or(end.unwrap_or(0), |m| m.kernarg_segment_size);
    if kernarg_size > LARGEST_KERNARG {
        return Err(format!(
            "kernel {}: {kernarg_size} bytes of arguments are too many",
            kernel.name
        ));
    }
    let mut kernarg = vec![0; kernarg_size as usize];
    let fixed_lds = kernel.descriptor.group_segment_fixed_size as u64;
    let mut lds = fixed_lds;
    let mut addresses = vec![None; request.args.len()];
    for (n, (spec, arg)) in request.args.iter().zip(&visible).enumerate() {
        let wrong =
            |expected: &str| format!("argument {n} ({}): expected {expected}", describe(arg));
        let bytes = match (spec, arg.value_kind) {
            (ArgSpec::Value(bytes), ValueKind::ByValue) => {
                if bytes.len() as u64 != arg.size {
                    return Err(wrong(&format!("{} bytes, not {}", arg.size, bytes.len())));
                }
                bytes.clone()
            }
            (ArgSpec::Buffer(_), ValueKind::GlobalBuffer) => {
                let bytes = contents[n].as_deref().unwrap_or(&[]);
                let address = gpu
                    .memory
                    .alloc(bytes.len() as u64, 256, Perm::RW)
                    .map_err(|e| format!("argument {n}: {e}"))?;
                addresses[n] = Some(address);
                address.to_le_bytes().to_vec()
            }
            (ArgSpec::Local(size), ValueKind::DynamicSharedPointer) => {
                let offset =
                    lds.next_multiple_of(arg.pointee_align.clamp(1, 128).next_power_of_two());
                lds = offset + *size as u64;
                let mut bytes = offset.to_le_bytes().to_vec();
                bytes.resize(arg.size as usize, 0);
                bytes
            }
            (_, ValueKind::ByValue) => return Err(wrong("a value, as i32:5 or bytes:HEX")),
            (_, ValueKind::GlobalBuffer) => return Err(wrong("a buffer, as buf:zero:4096")),
            (_, ValueKind::DynamicSharedPointer) => return Err(wrong("local:BYTES")),
            _ => {
                return Err(format!(
                    "argument {n} ({}): {} arguments are not supported",
                    describe(arg),
                    arg.value_kind_name
                ));
            }
        };
        let at = arg.offset as usize;
        kernarg
            .get_mut(at..at.saturating_add(bytes.len()))
            .ok_or_else(|| wrong("a place inside the kernarg segment"))?
            .copy_from_slice(&bytes);
    }

    let dynamic_lds =
        u32::try_from(lds - fixed_lds).map_err(|_| format!("{lds} bytes of LDS are too many"))?;
    let launch = Launch {
        grid: request.grid,
        group: request.group,
        kernarg,
        dynamic_lds,
        max_instructions: request.max_instructions,
        threads: request.threads,
        ..Launch::default()
    };
    // Before any output is written, which may be one of the inputs.
    let types: Vec<String> = (request.outs.iter())
        .map(|(n, _)| element_type(&request.args[*n], visible[*n]))
        .collect();
    let mut report = Report {
        ms: Vec::new(),
        instructions: 0,
        waves: 0,
    };
    for _ in 0..=request.repeat {
        for (bytes, address) in contents.iter().zip(&addresses) {
            if let (Some(bytes), Some(address)) = (bytes, address) {
                gpu.memory
                    .write(*address, bytes)
                    .map_err(|e| e.to_string())?;
            }
        }
        let start = Instant::now();
        let stats = gpu
            .dispatch(&loaded, request.kernel, &launch)
            .map_err(|e| e.to_string())?;
        // To the microsecond; what is below that is noise.
        report.ms.push(start.elapsed().as_micros() as f64 / 1e3);
        report.instructions = stats.instructions;
        report.waves = stats.waves;
    }
    for ((n, path), ty) in request.outs.iter().zip(&types) {
        let (Some(bytes), Some(address)) = (&contents[*n], addresses[*n]) else {
            continue;
        };
        let mut out = vec![0; bytes.len()];
        gpu.memory
            .read(address, &mut out)
            .map_err(|e| e.to_string())?;
        let out = if is_npy(path) {
            npy::file(&out, ty)
        } else {
            out
        };
        crate::io::write(path, &out)?;
    }
    Ok(report)
}

/// The most bytes of kernel arguments.
const LARGEST_KERNARG: u64 = 1 << 20;

/// Arguments one after another, each aligned to its size, as the compiler lays them out.
fn natural_layout(specs: &[ArgSpec]) -> Vec<Arg> {
    let mut end = 0u64;
    specs
        .iter()
        .map(|spec| {
            let (size, kind, word) = match spec {
                ArgSpec::Value(bytes) => (bytes.len() as u64, ValueKind::ByValue, "by_value"),
                ArgSpec::Buffer(_) => (8, ValueKind::GlobalBuffer, "global_buffer"),
                ArgSpec::Local(_) => (4, ValueKind::DynamicSharedPointer, "dynamic_shared_pointer"),
            };
            let offset = end.next_multiple_of(size.clamp(1, 16).next_power_of_two());
            end = offset + size;
            Arg {
                name: None,
                type_name: None,
                offset,
                size,
                value_kind: kind,
                value_kind_name: word.into(),
                address_space: None,
                access: None,
                actual_access: None,
                pointee_align: 16,
                is_const: false,
                is_restrict: false,
                is_volatile: false,
                is_pipe: false,
            }
        })
        .collect()
}

fn check_count(kernel: &str, visible: &[&Arg], args: &[ArgSpec]) -> Result<(), String> {
    if visible.len() == args.len() {
        return Ok(());
    }
    let list: Vec<String> = visible.iter().map(|a| describe(a)).collect();
    Err(format!(
        "kernel {kernel} takes {} arguments ({}), {} were given",
        visible.len(),
        list.join(", "),
        args.len()
    ))
}

fn describe(arg: &Arg) -> String {
    let name = arg.name.as_deref().unwrap_or("");
    let ty = arg.type_name.as_deref().unwrap_or(&arg.value_kind_name);
    format!("{ty} {name}").trim().to_owned()
}

/// numpy's element type for an argument's buffer: as its contents or its type's name say.
fn element_type(spec: &ArgSpec, arg: &Arg) -> String {
    match spec {
        ArgSpec::Buffer(Contents::RandF32(..)) => return "<f4".into(),
        ArgSpec::Buffer(Contents::RandF64(..)) => return "<f8".into(),
        ArgSpec::Buffer(Contents::File(path)) if is_npy(path) => {
            let file = std::fs::read(path).ok();
            let ty = file.and_then(|file| npy::element_type(&file).ok());
            // Not structures and texts, whose elements the name does not size.
            if let Some(ty) = ty
                && let [b'<' | b'|', b'b' | b'i' | b'u' | b'f' | b'c', size @ ..] = ty.as_bytes()
                && !size.is_empty()
                && size.iter().all(u8::is_ascii_digit)
            {
                return ty;
            }
        }
        _ => {}
    }
    let name = arg.type_name.as_deref().unwrap_or("");
    let base = name
        .trim_end_matches('*')
        .trim()
        .trim_end_matches(|c: char| c.is_ascii_digit());
    match base {
        "float" => "<f4",
        "double" => "<f8",
        "half" => "<f2",
        "int" => "<i4",
        "uint" => "<u4",
        "long" => "<i8",
        "ulong" => "<u8",
        "short" => "<i2",
        "ushort" => "<u2",
        "char" => "|i1",
        _ => "|u1",
    }
    .into()
}
