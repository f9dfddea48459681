//! Tasks of this repository that need other tools: comparisons with LLVM, compiled test kernels, measurements.

#![deny(unsafe_code)]

mod bench;
mod bench_objects;
mod bench_text;
mod clang;
mod compiler;
mod corpus;
mod diff;
mod fixtures;
mod hazards;
mod hsa;
mod input;
mod kernels;
mod libraries;
mod listings;
mod mc;
mod measure;
mod mutate;
mod objects;
mod parallel;
#[path = "../../crates/gcn-emu/tests/programs/mod.rs"]
mod programs;
mod seeds;
mod timed;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about, version)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Compare `gcn dis` and `gcn asm` with llvm-mc on generated instruction words
    Diff(diff::Options),
    /// Measure OpenCL kernels on the interpreter, on the compiling engine and on PoCL
    Bench(bench::Options),
    /// Measure in a process of its own
    #[command(hide = true)]
    BenchChild(bench::ChildOptions),
    /// Measure time and memory of `gcn dis` and `gcn asm`, and of LLVM's tools
    BenchText(bench_text::Options),
    /// Run a program and print its wall seconds, processor seconds and peak bytes
    #[command(hide = true)]
    Measure(measure::Options),
    /// Check real code: our text must assemble to the same code, and each instruction's text must be LLVM's
    Corpus(corpus::Options),
    /// Disassemble and assemble complete code objects: every section must have the same bytes and address
    Objects(objects::Options),
    /// Compile OpenCL kernels to assembly; our assembler must make the same code as llvm-mc
    Listings(listings::Options),
    /// Compile OpenCL kernels for every target, version and ABI; our objects of the listings must be the compiler's
    Clang(clang::Options),
    /// Compile OpenCL kernels in every form, run them, and compare the results with the host's
    Kernels(kernels::Options),
    /// Run kernels of librocrand and librocsparse and compare the results with published values and the host's
    Libraries(libraries::Options),
    /// Run LLVM's own tests, llvm/test/MC/AMDGPU and llvm/test/MC/Disassembler/AMDGPU, with our assembler and disassembler
    Mc(mc::Options),
    /// Weaken and take out each s_waitcnt and s_nop of code objects; count what `gcn check --static` reports
    Mutate(mutate::Options),
    /// Compile LLVM's tests of wait states with llc-14; nothing may be reported with its s_nops, and each must be needed
    Hazards(hazards::Options),
    /// Compile testdata/kernels/*.cl with clang-14 for every tested target, and testdata/bench/*.cl for the measured one
    Fixtures,
    /// Build and link the HSA runtime, libhsa-runtime64.so.1, into target/release/gcn-hsa
    Hsa(hsa::Options),
    /// Write testdata/vectors: bytes and text that llvm-mc 14 converts to each other
    Vectors,
    /// Write the fuzzers' initial inputs, fuzz/corpus, and their dictionary
    Seeds,
}

/// The repository's root folder, the parent of this package's.
fn repo_root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// Builds the release binary of the command and returns its path.
pub fn build_gcn(root: &Path) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let args = ["build", "--release", "--quiet", "--package", "gcn-cli"];
    let status = Command::new(cargo)
        .current_dir(root)
        .args(args)
        .status()
        .context("cannot run cargo")?;
    ensure!(
        status.success(),
        "cargo build of the package gcn-cli failed"
    );
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), |dir| root.join(dir));
    Ok(target.join("release/gcn"))
}

fn main() -> ExitCode {
    let result = match Cli::parse().task {
        Task::Diff(options) => diff::run(&options),
        Task::Vectors => diff::vectors(&repo_root()).map(|()| true),
        Task::Corpus(options) => corpus::run(&options),
        Task::Mc(options) => mc::run(&options),
        Task::Mutate(options) => mutate::run(&options),
        Task::Hazards(options) => hazards::run(&options),
        Task::Objects(options) => objects::run(&options),
        Task::Listings(options) => listings::run(&options, &repo_root()),
        Task::Clang(options) => clang::run_all(&options, &repo_root()),
        Task::Libraries(options) => libraries::run(&options, &repo_root()),
        Task::Kernels(options) => kernels::run(&options, &repo_root()),
        Task::Bench(options) => bench::run(&options, &repo_root()).map(|()| true),
        Task::BenchChild(options) => bench::child(&options),
        Task::BenchText(options) => bench_text::run(&options, &repo_root()).map(|()| true),
        Task::Measure(options) => measure::child(&options),
        Task::Seeds => seeds::run(&repo_root()).map(|()| true),
        Task::Hsa(options) => hsa::run(&options).map(|()| true),
        Task::Fixtures => fixtures::run(&repo_root()).map(|()| true),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
