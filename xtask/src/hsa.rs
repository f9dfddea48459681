//! Links the HSA runtime over the machine in software: `libhsa-runtime64.so.1`, whose names have the version that ROCm's
//! libraries look for.

use anyhow::{Context, Result, ensure};
use std::path::PathBuf;
use std::process::Command;

#[derive(clap::Args)]
pub struct Options {
    /// Cargo's profile: release, or dev for a build that is quick to make
    #[arg(long, default_value = "release")]
    profile: String,
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
    // Beside it first: a program that runs keeps the old one.
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
    println!("{}", library.display());
    Ok(())
}
