//! Functions over code objects and texts: what the subcommands of `gcn` do.

use crate::cs::{bytes, target};
use crate::error::{Told, to_python};
use gcn::analyze::chip::Chip;
use gcn::check::report::{Check, Report};
use gcn::check::statically;
use gcn::compile::{self, Compiler, Job, Language};
use gcn::isa::access::InstructionTable;
use gcn::isa::print::Style;
use gcn::lines::Lines;
use gcn::object::{CodeObject, Container, Source};
use gcn_cli::manual;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use std::path::{Path, PathBuf};

/// A code object: a path, or the bytes of a file. `.s` files are assembled.
fn object(code: &Bound<'_, PyAny>, arch: Option<&str>) -> PyResult<(CodeObject, String)> {
    let path = match code.cast::<PyString>() {
        Ok(text) => Some(text.to_str()?.into()),
        Err(_) if code.hasattr("__fspath__")? => Some(code.extract::<std::path::PathBuf>()?),
        Err(_) => None,
    };
    let arch = arch.map(target).transpose()?;
    let object = |e: gcn::object::Error, name: &str| {
        Told::new("object", format!("{name}: {e}")).with("file", name)
    };
    let (source, name) = match &path {
        None => (Source::from_bytes(bytes(code)?), "the code".to_owned()),
        Some(path) => {
            let name = path.display().to_string();
            if path.extension().is_some_and(|e| e == "s") {
                let text = read(path)?;
                let made = crate::gpu::assemble(&text, &name, arch, true)?;
                (Source::from_bytes(made), name)
            } else {
                (Source::open(path).map_err(|e| object(e, &name))?, name)
            }
        }
    };
    let read = || -> Result<CodeObject, gcn::object::Error> {
        let container = Container::new(source)?;
        let entry = match container.choose(None, None) {
            Ok(entry) => entry,
            Err(e) if arch.is_none() => return Err(e),
            Err(_) => container.choose(arch.map(|t| t.name()), None)?,
        };
        container.object(entry)
    };
    let made = read().map_err(|e| object(e, &name))?;
    Ok((made, name))
}

/// The path of the clang that compiles: `clang`, or the one that `gcn compile` takes.
#[pyfunction]
#[pyo3(signature = (clang=None))]
pub fn find_clang(clang: Option<PathBuf>) -> PyResult<PathBuf> {
    let compiler = Compiler::find(clang.as_deref().map(Path::as_os_str)).map_err(refused)?;
    Ok(compiler.path().to_path_buf())
}

/// The code object that clang makes of a file.
#[pyfunction]
pub fn compile_file<'py>(
    py: Python<'py>,
    source: PathBuf,
    arch: &str,
    lang: &str,
    options: Vec<String>,
    clang: Option<PathBuf>,
) -> PyResult<Bound<'py, PyBytes>> {
    let job = Job {
        source: &source,
        language: match lang {
            "hip" => Language::Hip,
            _ => Language::OpenCl,
        },
        target: target(arch)?,
        options: &options,
    };
    let made = py.detach(|| {
        let compiler = Compiler::find(clang.as_deref().map(Path::as_os_str))?;
        compiler.compile(&job)
    });
    let (code, _warnings) = made.map_err(refused)?;
    Ok(PyBytes::new(py, &code))
}

/// An error of the compiler, with the place of its first message.
fn refused(error: compile::Error) -> PyErr {
    let text = error.to_string();
    let told = Told::new("compile", text.clone());
    let location = text.lines().find_map(|line| {
        let (location, _) = line
            .split_once(": error: ")
            .or_else(|| line.split_once(": fatal error: "))?;
        let (location, column) = location.rsplit_once(':')?;
        let (file, line) = location.rsplit_once(':')?;
        Some((file, line.parse::<u64>().ok()?, column.parse::<u64>().ok()?))
    });
    match location {
        Some((file, line, column)) => told
            .with("file", file)
            .with("line", line)
            .with("column", column),
        None => told,
    }
    .into()
}

fn read(path: &Path) -> PyResult<String> {
    std::fs::read_to_string(path).map_err(|e| {
        let name = path.display().to_string();
        Told::new("file", format!("{name}: {e}"))
            .with("file", name)
            .into()
    })
}

/// Assembles source to a code object's file.
#[pyfunction]
#[pyo3(signature = (source, arch = None, name = "source"))]
pub fn assemble<'py>(
    py: Python<'py>,
    source: &str,
    arch: Option<&str>,
    name: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let arch = arch.map(target).transpose()?;
    let made = py.detach(|| crate::gpu::assemble(source, name, arch, false))?;
    Ok(PyBytes::new(py, &made))
}

/// What kernels cost before they run, as `gcn analyze --json` prints it.
#[pyfunction]
#[pyo3(signature = (code, kernel = None, chip = None, arch = None))]
pub fn analyze<'py>(
    py: Python<'py>,
    code: &Bound<'py, PyAny>,
    kernel: Option<&str>,
    chip: Option<&str>,
    arch: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let (object, name) = object(code, arch)?;
    let named = |e: String| Told::new("object", format!("{name}: {e}")).with("file", name.clone());
    let target = gcn::dis::target_of(&object).map_err(named)?;
    let chip = match chip {
        None => None,
        Some(name) => Some(Chip::parse(name).ok_or_else(|| {
            let known: Vec<&str> = Chip::names();
            let message = format!(
                "`{name}` is no chip of gfx6 to gfx9: expected one of {}",
                known.join(", ")
            );
            Told::new("usage", message)
        })?),
    };
    let lines = Lines::read(&object, false).ok();
    let line = |section: usize, pc: u64| Some(lines.as_ref()?.at(section, pc)?.to_owned());
    let table = InstructionTable::new(target);
    let options = gcn::analyze::Options {
        kernel,
        chip,
        line: &line,
    };
    let kernels = gcn::analyze::analyze(&object, &table, &options).map_err(named)?;
    let chip = chip.unwrap_or(Chip::of(target));
    to_python(py, &gcn::analyze::json::all(&kernels, &chip))
}

/// The checks that look at all paths, by their names.
fn checks(list: Option<&[String]>) -> PyResult<statically::Options> {
    let mut options = statically::Options::default();
    let Some(list) = list else {
        return Ok(options);
    };
    let known = std::mem::take(&mut options.checks);
    for name in list {
        let check = Check::ALL.into_iter().find(|c| c.name() == name);
        let check = check.filter(|c| known.contains(c)).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|c| c.name()).collect();
            let message = format!(
                "`{name}` is no check of all paths: expected {}; Kernel.check runs the others",
                names.join(", ")
            );
            Told::new("usage", message)
        })?;
        options.checks.insert(check);
    }
    Ok(options)
}

/// Looks at all paths of a code object, without running it, for missing waits, hazards and undefined registers.
#[pyfunction]
#[pyo3(signature = (code, kernel = None, checks = None, arch = None))]
pub fn check<'py>(
    py: Python<'py>,
    code: &Bound<'py, PyAny>,
    kernel: Option<&str>,
    checks: Option<Vec<String>>,
    arch: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let options = self::checks(checks.as_deref())?;
    let (object, name) = object(code, arch)?;
    let named = |e: String| Told::new("object", format!("{name}: {e}")).with("file", name.clone());
    let table = InstructionTable::new(gcn::dis::target_of(&object).map_err(named)?);
    let lines = Lines::read(&object, false).ok();
    let mut reports = Vec::new();
    for checked in statically::check(&object, &table, kernel, &options).map_err(named)? {
        let source = |pc: u64| Some(lines.as_ref()?.at(checked.section, pc)?.to_owned());
        let of = |finding| Report::of_code(&checked.name, &checked.graph, finding, &source).json();
        reports.extend(checked.findings.iter().map(of));
    }
    to_python(py, &reports.into())
}

/// Kernels, arguments, registers, LDS and occupancy of a code object, as `gcn info --json` prints them.
#[pyfunction]
#[pyo3(signature = (code, arch = None))]
pub fn info<'py>(
    py: Python<'py>,
    code: &Bound<'py, PyAny>,
    arch: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let (object, name) = object(code, arch)?;
    let info = gcn::info::Info::new(&object).map(|info| info.json());
    let info = info.map_err(|e| Told::new("object", format!("{name}: {e}")).with("file", name))?;
    to_python(py, &info)
}

/// A code object as text: source that assembles to the same bytes, or with `plain` an instruction a line.
#[pyfunction]
#[pyo3(signature = (code, kernel = None, plain = false, syntax = "llvm", arch = None))]
pub fn dis(
    code: &Bound<'_, PyAny>,
    kernel: Option<&str>,
    plain: bool,
    syntax: &str,
    arch: Option<&str>,
) -> PyResult<String> {
    let style = match syntax {
        "llvm" => Style::LLVM,
        "clrx" => Style::CLRX,
        _ => {
            let message = format!("`{syntax}` is no syntax: expected llvm or clrx");
            return Err(Told::new("usage", message).into());
        }
    };
    let (object, name) = object(code, arch)?;
    let told =
        |e: std::io::Error| Told::new("object", format!("{name}: {e}")).with("file", name.clone());
    let options = gcn::dis::Options::new(style);
    let mut out = Vec::new();
    let only = kernel
        .map(|k| gcn::dis::symbol_named(&object, k))
        .transpose()
        .map_err(|e| Told::new("kernel", format!("{name}: {e}")))?;
    match (plain, only) {
        (true, only) => gcn::dis::plain(&object, only, &options, &mut out),
        (false, Some(only)) => gcn::dis::symbol(&object, only, &options, &mut out),
        (false, None) => gcn::dis::object(&object, &options, &mut out),
    }
    .map_err(told)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// A page of the manual.
#[pyfunction]
#[pyo3(signature = (name = None))]
pub fn doc(name: Option<&str>) -> PyResult<String> {
    let Some(name) = name else {
        return Ok(manual::contents());
    };
    if let Some(format) = gcn::isa::Format::parse(name) {
        return Ok(manual::format_page(format));
    }
    let rows = manual::find(name);
    if !rows.is_empty() {
        return Ok(manual::instruction_page(&rows));
    }
    let page = manual::check_page(name)
        .or_else(|| manual::hazard_page(name))
        .or_else(|| manual::erratum(name));
    page.ok_or_else(|| {
        let near = manual::suggestions(name);
        let hint = match near.as_slice() {
            [] => String::new(),
            near => format!("; did you mean {}?", near.join(", ")),
        };
        let message =
            format!("`{name}` is not an instruction, format, errata entry, check or hazard{hint}");
        Told::new("usage", message).into()
    })
}

/// A line of JSON in, a line of JSON out: `gcn eval --json`.
#[pyfunction]
pub fn eval_json(py: Python<'_>, line: &str) -> PyResult<String> {
    let mut out = Vec::new();
    let done = py.detach(|| {
        let syntax = gcn::asm::Syntax::Auto;
        let engine = gcn::engine::Kind::Interp;
        gcn::eval::json_lines(line.as_bytes(), &mut out, None, syntax, 10_000, engine)
    });
    done.map_err(|e| Told::new("usage", e.to_string()))?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}
