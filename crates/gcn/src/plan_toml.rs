//! Reads plans in TOML, which docs/plans.md describes.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use crate::compile::{self, Compiler, Job, Language};
use crate::data::{Contents, Number, Ty, is_npy};
use crate::plan::{
    ArgPlan, BufferPlan, CheckPlan, Expected, LaunchPlan, Options, Plan, PointerPlan, SavePlan,
    Tolerance,
};
use crate::run::{ArgSpec, parse_arg};
use crate::{gpu, io, npy};
use gcn_isa::Target;
use gcn_object::CodeObject;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    target: Option<Spanned<String>>,
    object: Option<Spanned<String>>,
    #[serde(default)]
    objects: BTreeMap<String, Spanned<String>>,
    threads: Option<NonZeroUsize>,
    #[serde(default)]
    deterministic: bool,
    max_instructions: Option<u64>,
    #[serde(default)]
    repeat: u32,
    #[serde(default)]
    buffers: BTreeMap<String, Spanned<BufferToml>>,
    #[serde(default)]
    launch: Vec<Spanned<LaunchToml>>,
    #[serde(default)]
    check: Vec<Spanned<CheckToml>>,
    #[serde(default)]
    save: Vec<Spanned<SaveToml>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BufferToml {
    #[serde(rename = "type")]
    ty: Option<Spanned<String>>,
    count: Option<u64>,
    bytes: Option<u64>,
    shape: Option<Vec<usize>>,
    zeros: Option<bool>,
    value: Option<NumberToml>,
    values: Option<Vec<NumberToml>>,
    random: Option<RandomToml>,
    ramp: Option<RampToml>,
    file: Option<Spanned<String>>,
    variable: Option<String>,
    object: Option<Spanned<String>>,
    #[serde(default)]
    pointers: Vec<PointerToml>,
}

/// `[8, "b0", 16]`: the bytes from 8 on are the address of byte 16 of a buffer.
#[derive(Deserialize)]
#[serde(expecting = "expected [BYTE, \"BUFFER\", OFFSET]")]
struct PointerToml(usize, String, u64);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RandomToml {
    seed: u64,
    low: Option<NumberToml>,
    high: Option<NumberToml>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RampToml {
    start: Option<NumberToml>,
    step: Option<NumberToml>,
}

/// TOML's integers end at 2^63 - 1; larger ones are written as strings.
#[derive(Deserialize, Clone, Copy)]
#[serde(try_from = "Written")]
struct NumberToml(Number);

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number, or an integer as text, as \"0xff\""
)]
enum Written {
    Int(i64),
    Float(f64),
    Text(String),
}

impl TryFrom<Written> for NumberToml {
    type Error = String;

    fn try_from(written: Written) -> Result<NumberToml, String> {
        Ok(NumberToml(match written {
            Written::Int(v) => Number::Int(v.into()),
            Written::Float(v) => Number::Float(v),
            Written::Text(text) => {
                let integer = crate::run::integer(&text);
                Number::Int(integer.ok_or_else(|| format!("`{text}` is not an integer"))?)
            }
        }))
    }
}

impl NumberToml {
    fn number(self) -> Number {
        self.0
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LaunchToml {
    object: Option<Spanned<String>>,
    kernel: Option<String>,
    #[serde(default, rename = "any-type")]
    any_type: bool,
    grid: Spanned<Vec<u32>>,
    group: Spanned<Vec<u32>>,
    offset: Option<Spanned<Vec<u64>>>,
    #[serde(default, rename = "dynamic-lds")]
    dynamic_lds: u32,
    #[serde(default)]
    args: Vec<Spanned<ArgToml>>,
    times: Option<u32>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a buffer's name, a value as \"u32:5\", { buffer = \"a\", offset = 16 }, or { bytes = \"00ff\", pointers = [[0, \"a\", 16]] }"
)]
enum ArgToml {
    Word(String),
    Buffer(FromToml),
    Block(BlockToml),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockToml {
    bytes: String,
    #[serde(default)]
    pointers: Vec<PointerToml>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FromToml {
    buffer: String,
    #[serde(default)]
    offset: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckToml {
    buffer: Spanned<String>,
    #[serde(rename = "type")]
    ty: Option<Spanned<String>>,
    #[serde(default)]
    first: usize,
    count: Option<usize>,
    value: Option<NumberToml>,
    values: Option<Vec<NumberToml>>,
    ramp: Option<RampToml>,
    file: Option<Spanned<String>>,
    equals: Option<Spanned<String>>,
    #[serde(default)]
    equals_first: usize,
    #[serde(default)]
    pointers: Vec<PointerToml>,
    ulps: Option<u64>,
    absolute: Option<f64>,
    relative: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SaveToml {
    buffer: Spanned<String>,
    file: String,
    #[serde(rename = "type")]
    ty: Option<Spanned<String>>,
    shape: Option<Vec<usize>>,
}

/// A plan's text and path, for messages and for relative paths in it.
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
}

/// Reads a plan and the code objects that it names. Files are relative to the plan.
///
/// # Errors
/// A message with file, line and column.
pub fn read(path: &Path, target: Option<Target>) -> Result<(Plan, Options), String> {
    parse(&io::read_text(path)?, path, target)
}

/// Reads a plan's text as [`read`] does. `path` is for messages, and files are relative to it.
///
/// # Errors
/// A message with file, line and column.
pub fn parse(text: &str, path: &Path, target: Option<Target>) -> Result<(Plan, Options), String> {
    let reader = Reader { path, text };
    let file: File = toml::from_str(text).map_err(|e| {
        let at = e.span().map_or(0, |span| span.start);
        format!("{}: {}", reader.at(at), e.message())
    })?;
    reader.plan(file, target)
}

/// The index of the named buffer; the name has a location in the plan.
type Numbers<'n> = &'n dyn Fn(&str, &str) -> Result<usize, String>;

/// The addresses among bytes. `buffer` finds buffers by their names.
fn pointers(
    list: &[PointerToml],
    at: &str,
    buffer: Numbers<'_>,
) -> Result<Vec<PointerPlan>, String> {
    let one = |PointerToml(byte, name, offset): &PointerToml| {
        Ok(PointerPlan {
            at: *byte,
            buffer: buffer(name, at)?,
            offset: *offset,
        })
    };
    list.iter().map(one).collect()
}

/// `plan.toml:3:1` for a byte of a text.
pub(crate) fn position(path: &Path, text: &str, byte: usize) -> String {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |n| n + 1);
    let column = before[start..].chars().count() + 1;
    format!("{}:{line}:{column}", path.display())
}

impl Reader<'_> {
    fn at(&self, byte: usize) -> String {
        position(self.path, self.text, byte)
    }

    fn of<T>(&self, spanned: &Spanned<T>) -> String {
        self.at(spanned.span().start)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(name)
    }

    fn ty(&self, name: &Option<Spanned<String>>) -> Result<Option<Ty>, String> {
        let Some(name) = name else { return Ok(None) };
        Ty::parse(name.get_ref()).map(Some).ok_or_else(|| {
            format!(
                "{}: `{}` is not a type of elements; expected {}",
                self.of(name),
                name.get_ref(),
                Ty::names()
            )
        })
    }

    fn object(&self, name: &Spanned<String>, target: Option<Target>) -> Result<CodeObject, String> {
        let path = self.file(name.get_ref());
        let object = read_object(&path, target, None, None);
        object.map_err(|e| format!("{}: {e}", self.of(name)))
    }

    /// The index of an object by its name, or of the first object.
    fn object_number(
        &self,
        names: &[&str],
        name: Option<&Spanned<String>>,
    ) -> Result<usize, String> {
        let Some(name) = name else { return Ok(0) };
        let found = names.iter().position(|n| n == name.get_ref());
        found.ok_or_else(|| format!("{}: there is no object `{}`", self.of(name), name.get_ref()))
    }

    fn plan(&self, file: File, target: Option<Target>) -> Result<(Plan, Options), String> {
        let named = file.target.as_ref().map(|name| {
            Target::parse(name.get_ref())
                .ok_or_else(|| format!("{}: `{}` is not a target", self.of(name), name.get_ref()))
        });
        let target = target.or(named.transpose()?);
        let mut names: Vec<&str> = Vec::new();
        let mut plan = Plan {
            repeat: file.repeat,
            ..Plan::default()
        };
        if let Some(object) = &file.object {
            names.push("");
            plan.objects.push(self.object(object, target)?);
        }
        for (name, object) in &file.objects {
            names.push(name);
            plan.objects.push(self.object(object, target)?);
        }
        if plan.objects.is_empty() {
            return Err(format!(
                "{}: there is no code object; expected `object = \"FILE\"`, or some in `[objects]`",
                self.path.display()
            ));
        }
        for (name, buffer) in &file.buffers {
            let at = self.of(buffer);
            let read = self.contents(buffer.get_ref());
            let (contents, ty) =
                read.map_err(|e| match e.starts_with(&self.path.display().to_string()) {
                    true => e,
                    false => format!("{at}: buffer `{name}`: {e}"),
                })?;
            plan.buffers.push(BufferPlan {
                name: name.clone(),
                contents,
                ty,
                shape: buffer.get_ref().shape.clone(),
                variable: None,
                pointers: Vec::new(),
                at,
            });
        }
        let buffers: Vec<&String> = file.buffers.keys().collect();
        let buffer = |name: &str, at: &str| {
            buffers.iter().position(|b| *b == name).ok_or_else(|| {
                let have: Vec<&str> = buffers.iter().map(|b| b.as_str()).collect();
                format!(
                    "{at}: there is no buffer `{name}`; there are: {}",
                    match have.is_empty() {
                        true => "none".into(),
                        false => have.join(", "),
                    }
                )
            })
        };
        for (of, written) in plan.buffers.iter_mut().zip(file.buffers.values()) {
            let written = written.get_ref();
            of.pointers = pointers(&written.pointers, &of.at, &buffer)?;
            if let Some(variable) = &written.variable {
                let object = self.object_number(&names, written.object.as_ref())?;
                of.variable = Some((object, variable.clone()));
            }
        }
        for launch in &file.launch {
            plan.launches.push(self.launch(launch, &names, &buffer)?);
        }
        for check in &file.check {
            let check = self.check(check, &plan, &buffer)?;
            plan.checks.push(check);
        }
        for save in &file.save {
            let save = self.save(save, &plan, &buffer)?;
            plan.saves.push(save);
        }
        let options = Options {
            threads: file.threads.map_or(0, NonZeroUsize::get),
            deterministic: file.deterministic,
            max_instructions: file.max_instructions,
            ..Options::default()
        };
        Ok((plan, options))
    }

    fn launch(
        &self,
        launch: &Spanned<LaunchToml>,
        names: &[&str],
        buffer: Numbers<'_>,
    ) -> Result<LaunchPlan, String> {
        let at = self.of(launch);
        let launch = launch.get_ref();
        let object = self.object_number(names, launch.object.as_ref())?;
        let args = launch.args.iter().map(|arg| {
            let at = self.of(arg);
            match arg.get_ref() {
                ArgToml::Buffer(from) => {
                    Ok(ArgPlan::Buffer(buffer(&from.buffer, &at)?, from.offset))
                }
                ArgToml::Block(block) => {
                    let pointers = pointers(&block.pointers, &at, buffer)?;
                    match parse_arg(&format!("bytes:{}", block.bytes)) {
                        Ok(ArgSpec::Value(_, bytes)) => Ok(ArgPlan::Block(bytes, pointers)),
                        Ok(_) => Err(format!("{at}: expected bytes")),
                        Err(e) => Err(format!("{at}: {e}")),
                    }
                }
                ArgToml::Word(word) if !word.contains(':') => {
                    Ok(ArgPlan::Buffer(buffer(word, &at)?, 0))
                }
                ArgToml::Word(word) => match parse_arg(word) {
                    Ok(ArgSpec::Value(ty, bytes)) => Ok(ArgPlan::Value(ty, bytes)),
                    Ok(ArgSpec::Pointer(address)) => Ok(ArgPlan::Pointer(address)),
                    Ok(ArgSpec::Local(bytes)) => Ok(ArgPlan::Local(bytes)),
                    Ok(ArgSpec::Buffer(..)) => Err(format!(
                        "{at}: buffers have a table of their own in a plan, [buffers.NAME], and are named here"
                    )),
                    Err(e) => Err(format!("{at}: {e}")),
                },
            }
        });
        Ok(LaunchPlan {
            object,
            kernel: launch.kernel.clone(),
            grid: self.dimensions(&launch.grid)?,
            group: self.dimensions(&launch.group)?,
            offset: self.offset(launch.offset.as_ref())?,
            dynamic_lds: launch.dynamic_lds,
            any_type: launch.any_type,
            args: args.collect::<Result<_, String>>()?,
            times: launch.times.unwrap_or(1),
            at,
        })
    }

    fn check(
        &self,
        check: &Spanned<CheckToml>,
        plan: &Plan,
        buffer: Numbers<'_>,
    ) -> Result<CheckPlan, String> {
        let at = self.of(check);
        let check = check.get_ref();
        let index = buffer(check.buffer.get_ref(), &self.of(&check.buffer))?;
        let there = &plan.buffers[index];
        let ty = self
            .ty(&check.ty)?
            .or(there.ty)
            .or(there.contents.ty())
            .or_else(|| {
                let file = self.file(check.file.as_ref()?.get_ref());
                Contents::File(file).ty()
            });
        let ty = ty.unwrap_or(Ty::U8);
        let many = [
            check.value.is_some(),
            check.values.is_some(),
            check.ramp.is_some(),
            check.file.is_some(),
            check.equals.is_some(),
        ];
        let one = format!(
            "{at}: expected one of `value`, `values`, `ramp`, `file` and `equals`, for the expected contents"
        );
        if many.iter().filter(|m| **m).count() != 1 {
            return Err(one);
        }
        for (key, most) in [("absolute", check.absolute), ("relative", check.relative)] {
            if most.is_some_and(|most| most.is_nan() || most < 0.0) {
                return Err(format!("{at}: `{key}` must not be below 0"));
            }
        }
        // Generated contents have the length of the buffer that they are compared with.
        let size = || -> Result<u64, String> {
            let bytes = match there.contents.size() {
                Ok(bytes) => bytes / ty.size(),
                Err(e) => return Err(format!("{}: {e}", there.at)),
            };
            Ok(check.count.unwrap_or(bytes.saturating_sub(check.first)) as u64)
        };
        let expected = if let Some(value) = check.value {
            Expected::Contents(Contents::Fill(ty, size()?, value.number()))
        } else if let Some(ramp) = &check.ramp {
            let (start, step) = ramp_of(ramp);
            Expected::Contents(Contents::Ramp(ty, size()?, start, step))
        } else if let Some(values) = &check.values {
            let bytes = list(ty, values).map_err(|e| format!("{at}: {e}"))?;
            Expected::Contents(Contents::Bytes(bytes))
        } else if let Some(name) = &check.file {
            Expected::Contents(Contents::File(self.existing(name, Some(ty))?))
        } else if let Some(name) = &check.equals {
            let other = buffer(name.get_ref(), &self.of(name))?;
            Expected::Buffer(other, check.equals_first)
        } else {
            return Err(one);
        };
        Ok(CheckPlan {
            buffer: index,
            ty,
            first: check.first,
            count: check.count,
            expected,
            pointers: pointers(&check.pointers, &at, buffer)?,
            tolerance: Tolerance {
                ulps: check.ulps,
                absolute: check.absolute,
                relative: check.relative,
            },
            at,
        })
    }

    fn save(
        &self,
        save: &Spanned<SaveToml>,
        plan: &Plan,
        buffer: Numbers<'_>,
    ) -> Result<SavePlan, String> {
        let at = self.of(save);
        let save = save.get_ref();
        let index = buffer(save.buffer.get_ref(), &self.of(&save.buffer))?;
        let ty = self.ty(&save.ty)?;
        if let Some(shape) = &save.shape {
            let there = &plan.buffers[index];
            let ty = ty.or(there.ty).or(there.contents.ty()).unwrap_or(Ty::U8);
            let bytes = there.contents.size().unwrap_or(0);
            let wanted = shape.iter().try_fold(ty.size(), |n, d| n.checked_mul(*d));
            if wanted != Some(bytes) {
                return Err(format!(
                    "{at}: an array of {shape:?} {ty} is not of the buffer's {bytes} bytes"
                ));
            }
        }
        Ok(SavePlan {
            buffer: index,
            file: self.file(&save.file),
            descr: ty.map(|ty| ty.descr().to_owned()),
            shape: save.shape.clone(),
            at,
        })
    }

    fn dimensions(&self, list: &Spanned<Vec<u32>>) -> Result<[u32; 3], String> {
        let dims = list.get_ref();
        if dims.is_empty() || dims.len() > 3 || dims.contains(&0) {
            return Err(format!(
                "{}: expected one to three numbers above 0, found {dims:?}",
                self.of(list)
            ));
        }
        Ok(std::array::from_fn(|d| dims.get(d).copied().unwrap_or(1)))
    }

    fn offset(&self, list: Option<&Spanned<Vec<u64>>>) -> Result<[u64; 3], String> {
        let Some(list) = list else {
            return Ok([0; 3]);
        };
        let dims = list.get_ref();
        if dims.is_empty() || dims.len() > 3 {
            return Err(format!(
                "{}: expected one to three numbers, found {dims:?}",
                self.of(list)
            ));
        }
        Ok(std::array::from_fn(|d| dims.get(d).copied().unwrap_or(0)))
    }

    /// A file that is read later; its elements must be of the type.
    fn existing(&self, name: &Spanned<String>, ty: Option<Ty>) -> Result<PathBuf, String> {
        let path = self.file(name.get_ref());
        if !path.is_file() {
            return Err(format!(
                "{}: file not found: {}",
                self.of(name),
                path.display()
            ));
        }
        if let (true, Some(ty)) = (is_npy(&path), ty) {
            let header = npy::header_of(&path);
            let header =
                header.map_err(|e| format!("{}: {}: {e}", self.of(name), path.display()))?;
            let descr = header.descr();
            if Ty::from_descr(&descr) != Some(ty) {
                return Err(format!(
                    "{}: {} holds {descr}, expected {ty} ({})",
                    self.of(name),
                    path.display(),
                    ty.descr()
                ));
            }
        }
        Ok(path)
    }

    fn contents(&self, buffer: &BufferToml) -> Result<(Contents, Option<Ty>), String> {
        let ty = self.ty(&buffer.ty)?;
        let kinds = [
            buffer.zeros == Some(true),
            buffer.value.is_some(),
            buffer.values.is_some(),
            buffer.random.is_some(),
            buffer.ramp.is_some(),
            buffer.file.is_some(),
        ];
        if kinds.iter().filter(|k| **k).count() > 1 {
            return Err(
                "expected one of `zeros`, `value`, `values`, `random`, `ramp` and `file`".into(),
            );
        }
        let shape = buffer.shape.as_deref();
        if let (Some(_), Some(_)) = (shape, &buffer.file) {
            return Err("`shape` cannot be used with `file`, which has its own shape".into());
        }
        if let Some(name) = &buffer.file {
            return Ok((Contents::File(self.existing(name, ty)?), ty));
        }
        let element = ty.unwrap_or(Ty::U8);
        if let Some(values) = &buffer.values {
            let product = shape.map(|shape| {
                shape
                    .iter()
                    .try_fold(1, |all: usize, n| all.checked_mul(*n))
            });
            if product.is_some_and(|product| product != Some(values.len())) {
                return Err(format!(
                    "an array of {shape:?} is not of {} values",
                    values.len()
                ));
            }
            return Ok((Contents::Bytes(list(element, values)?), ty));
        }
        let of_shape = |shape: &[usize]| {
            let count = (shape.iter()).try_fold(1u64, |all, n| all.checked_mul(*n as u64));
            count
                .ok_or_else(|| format!("an array of {shape:?} has more elements than there can be"))
        };
        let count = match (buffer.count, buffer.bytes, shape) {
            (None, None, Some(shape)) => of_shape(shape)?,
            (Some(count), None, None) => count,
            (None, Some(bytes), None) if bytes % element.size() as u64 == 0 => {
                bytes / element.size() as u64
            }
            (None, Some(bytes), None) => {
                return Err(format!("{bytes} bytes are not a multiple of {element}"));
            }
            _ => {
                return Err(
                    "expected either `count`, of elements, or `bytes`, or `shape`, as [64, 32]"
                        .into(),
                );
            }
        };
        let contents = if let Some(value) = buffer.value {
            Contents::Fill(element, count, value.number())
        } else if let Some(ramp) = &buffer.ramp {
            let (start, step) = ramp_of(ramp);
            Contents::Ramp(element, count, start, step)
        } else if let Some(random) = &buffer.random {
            let (least, most) = match element.is_float() {
                true => (Number::Int(0), Number::Int(1)),
                false => {
                    let (low, high) = element.bounds();
                    (Number::Int(low), Number::Int(high))
                }
            };
            let low = random.low.map_or(least, NumberToml::number);
            let high = random.high.map_or(most, NumberToml::number);
            for bound in [low, high] {
                if bound.bits(element).is_none() {
                    return Err(format!("{bound} does not fit {element}"));
                }
            }
            let rising = low.to_f64().partial_cmp(&high.to_f64());
            if rising.is_none_or(|order| order.is_gt()) {
                return Err(format!(
                    "random numbers from {low} to {high}: the range is empty"
                ));
            }
            Contents::Random(element, count, random.seed, low, high)
        } else {
            Contents::Zero(count.saturating_mul(element.size() as u64))
        };
        Ok((contents, ty))
    }
}

fn ramp_of(ramp: &RampToml) -> (Number, Number) {
    (
        ramp.start.map_or(Number::Int(0), NumberToml::number),
        ramp.step.map_or(Number::Int(1), NumberToml::number),
    )
}

fn list(ty: Ty, values: &[NumberToml]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    for value in values {
        let value = value.number();
        let bits = value
            .bits(ty)
            .ok_or_else(|| format!("{value} does not fit {ty}"))?;
        bytes.extend_from_slice(&bits.to_le_bytes()[..ty.size()]);
    }
    Ok(bytes)
}

/// A code object, or the source of one: assembly (`.s`, `.asm`) is assembled, OpenCL C (`.cl`) and HIP (`.hip`) are compiled with -g,
/// for [`compile::DEFAULT_TARGET`] unless a target is given.
///
/// # Errors
/// A message with the file's name.
pub fn read_object(
    path: &Path,
    target: Option<Target>,
    target_id: Option<&str>,
    entry: Option<usize>,
) -> Result<CodeObject, String> {
    if path.extension().is_some_and(|e| e == "s" || e == "asm") {
        let source = io::read_text(path)?;
        let name = path.display().to_string();
        return gpu::assemble(&source, &name, target).map_err(|e| e.to_string());
    }
    if let Some(language) = Language::of(path) {
        return compiled(path, language, target.or(target_id.and_then(Target::parse)));
    }
    io::code_object(path, target_id.or(target.map(|t| t.name())), entry)
}

fn compiled(path: &Path, language: Language, target: Option<Target>) -> Result<CodeObject, String> {
    // Compilers report a missing file in different ways.
    std::fs::metadata(path).map_err(|e| io::named(path, e))?;
    let default = Target::parse(compile::DEFAULT_TARGET).expect("it is a target's name");
    let options = ["-g".to_string()];
    let job = Job {
        source: path,
        language,
        target: target.unwrap_or(default),
        options: &options,
    };
    let (bytes, warnings) = Compiler::find(None)
        .and_then(|compiler| compiler.compile(&job))
        .map_err(|e| match e {
            compile::Error::Refused(messages) => {
                format!("{messages}\n{}: it does not compile", path.display())
            }
            e => io::named(path, e),
        })?;
    io::complain(&warnings);
    CodeObject::parse(&bytes).map_err(|e| io::named(path, e))
}
