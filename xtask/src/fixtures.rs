//! `cargo xtask fixtures`: compiles the OpenCL kernels of `testdata/kernels` for every tested target, and those of
//! `testdata/bench` for the measured target.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

const CLANG: &str = "clang-14";
const BUILTINS: &str = "/usr/lib/clc/amdgcn--amdhsa.bc";
/// The target that `cargo xtask bench` measures.
pub const BENCH: &str = "gfx900";
/// The kernels of `testdata/programs` that it also measures.
const MEASURED: [&str; 3] = ["bitonic", "divergent", "packing"];
pub const TARGETS: [&str; 5] = ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"];

/// Compiles each `testdata/kernels/<name>.cl` under `root` into `<name>-<target>.co` (a code object) and `<name>-<target>.s` (the
/// compiler's assembly), and `testdata/bench/<name>.cl` into a code object for [`BENCH`]. Existing files are overwritten.
///
/// # Errors
/// If clang-14 or libclc's builtins are missing, a kernel does not compile, or no kernel is found.
pub fn run(root: &Path) -> Result<()> {
    let dir = root.join("testdata/kernels");
    let kernels = kernels(&dir)?;
    check_compiler()?;
    for kernel in &kernels {
        for target in TARGETS {
            compile(&dir, kernel, target, "co", &[], &dir)?;
            compile(&dir, kernel, target, "s", &["-S"], &dir)?;
        }
    }
    let bench = root.join("testdata/bench");
    let programs = root.join("testdata/programs");
    let own = self::kernels(&bench)?
        .into_iter()
        .map(|kernel| (&bench, kernel));
    let more = MEASURED.map(|kernel| (&programs, kernel.to_owned()));
    for (folder, kernel) in own.chain(more) {
        // Value names are not needed.
        compile(folder, &kernel, BENCH, "co", &["-Wl,-s"], &bench)?;
    }
    println!(
        "{} kernels for {} targets in {}",
        kernels.len(),
        TARGETS.len(),
        dir.display()
    );
    Ok(())
}

/// # Errors
/// If clang-14 or libclc's builtins are missing; the message names the package.
pub fn check_compiler() -> Result<()> {
    if let Err(error) = Command::new(CLANG).arg("--version").output() {
        bail!("cannot run {CLANG} ({error}): install the Debian package clang-14");
    }
    ensure!(
        Path::new(BUILTINS).is_file(),
        "{BUILTINS} is missing: install the Debian package libclc-14"
    );
    Ok(())
}

/// The names, without `.cl` and sorted, of the kernel sources in `dir`.
///
/// # Errors
/// If the folder cannot be read or has none.
pub fn kernels(dir: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
        let path: PathBuf = entry?.path();
        if path.extension() == Some(OsStr::new("cl"))
            && let Some(stem) = path.file_stem().and_then(OsStr::to_str)
        {
            names.push(stem.to_owned());
        }
    }
    names.sort();
    ensure!(!names.is_empty(), "no *.cl in {}", dir.display());
    Ok(names)
}

/// Compiles `dir/<kernel>.cl` into `out/<kernel>-<target>.<extension>`. clang-14 runs inside `dir`, which keeps paths of this
/// machine out of the output.
///
/// # Errors
/// If clang-14 cannot be run or fails.
pub fn compile(
    dir: &Path,
    kernel: &str,
    target: &str,
    extension: &str,
    extra: &[&str],
    out: &Path,
) -> Result<()> {
    let name = format!("{kernel}-{target}.{extension}");
    let out = std::path::absolute(out)?.join(name);
    let output = Command::new(CLANG)
        .current_dir(dir)
        .args(["-x", "cl", "-cl-std=CL1.2", "-O2", "-nogpulib"])
        .args([
            "-Xclang",
            "-finclude-default-header",
            "-Wno-linker-warnings",
        ])
        .args(["-target", "amdgcn-amd-amdhsa"])
        .arg(format!("-mcpu={target}"))
        .args(["-Xclang", "-mlink-builtin-bitcode", "-Xclang", BUILTINS])
        .args(extra)
        .arg(format!("{kernel}.cl"))
        .arg("-o")
        .arg(&out)
        .output()
        .with_context(|| format!("cannot run {CLANG}"))?;
    ensure!(
        output.status.success(),
        "{CLANG} failed on {kernel}.cl for {target} ({}):\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
