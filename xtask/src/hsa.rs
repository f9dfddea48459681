//! Links the HSA runtime of the software machine: `libhsa-runtime64.so.1`, with the symbol version that ROCm's libraries require.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(clap::Args)]
pub struct Options {
    /// Cargo's profile: release, or dev for a build that is quick to make
    #[arg(long, default_value = "release")]
    profile: String,
    /// Then measure it and compare it with threads of the host (crates/gcn-hsa/bench); needs hipcc, rocRAND, rocPRIM and g++
    #[arg(long)]
    bench: bool,
}

const SCRIPT: &str = "ROCR_1 { global: hsa_*; local: *; };\n";

pub fn run(options: &Options) -> Result<()> {
    let root = crate::repo_root();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .current_dir(&root)
        .args([
            "build",
            "--package",
            "gcn-hsa",
            "--profile",
            &options.profile,
        ])
        .status()
        .context("cannot run cargo")?;
    ensure!(
        status.success(),
        "cargo build of the package gcn-hsa failed"
    );
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let built = target.join(match &*options.profile {
        "dev" => "debug",
        profile => profile,
    });
    let folder = built.join("gcn-hsa");
    std::fs::create_dir_all(&folder)?;
    let script = folder.join("exports.map");
    std::fs::write(&script, SCRIPT)?;
    let library = folder.join("libhsa-runtime64.so.1");
    // The file is linked under another name and renamed: running programs keep the old one.
    let fresh = folder.join("libhsa-runtime64.so.1.new");
    let linker = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(&linker)
        .arg("-shared")
        .arg("-o")
        .arg(&fresh)
        .arg("-Wl,--whole-archive")
        .arg(built.join("libgcn_hsa.a"))
        .arg("-Wl,--no-whole-archive")
        .arg(format!("-Wl,--version-script={}", script.display()))
        .args([
            "-Wl,-soname,libhsa-runtime64.so.1",
            "-Wl,--gc-sections",
            "-Wl,-z,defs",
        ])
        .args(["-lgcc_s", "-lpthread", "-ldl", "-lm", "-lc"])
        .status()
        .with_context(|| format!("cannot run {}, the C compiler that links", linker.display()))?;
    ensure!(
        status.success(),
        "{} did not link the library",
        linker.display()
    );
    std::fs::rename(&fresh, &library)?;
    // The program that `gcn hip --info` runs.
    let info = "gcn-hsa-info";
    std::fs::copy(built.join(info), folder.join("info.new"))?;
    std::fs::rename(folder.join("info.new"), folder.join(info))?;
    println!("{}", library.display());
    if options.bench {
        bench(&root, &folder)?;
    }
    Ok(())
}

/// Compiles the measurement and runs it on the library of a folder.
fn bench(root: &Path, folder: &Path) -> Result<()> {
    let sources = root.join("crates/gcn-hsa/bench");
    let (host, program) = (folder.join("host.o"), folder.join("bench"));
    let step = |command: &mut Command| -> Result<()> {
        let name = command.get_program().to_string_lossy().into_owned();
        let status = command.status();
        let status = status.with_context(|| format!("cannot run {name}"))?;
        ensure!(status.success(), "{name}: {status}");
        Ok(())
    };
    step(
        Command::new("g++")
            .args(["-O3", "-march=native", "-fopenmp", "-c", "-o"])
            .arg(&host)
            .arg(sources.join("host.cpp")),
    )?;
    step(
        Command::new("hipcc")
            .args(["-std=c++17", "-O2", "-w", "--offload-arch=gfx900", "-o"])
            .arg(&program)
            .arg(sources.join("bench.cpp"))
            // The object would be treated as a source.
            .arg(format!("-Wl,{}", host.display()))
            .args(["-lrocrand", "-lgomp"]),
    )?;
    step(Command::new(&program).env("LD_LIBRARY_PATH", folder))
}
