//! Chores of this repository that need outside tools: differential runs against LLVM and the compiled test kernels.

#![forbid(unsafe_code)]

mod diff;
mod fixtures;
mod seeds;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
    /// Compile testdata/kernels/*.cl with clang-14 for every tested target
    Fixtures,
    /// Write testdata/vectors: bytes and text that llvm-mc 14 agrees with itself on
    Vectors,
    /// Write what the fuzzers begin with: fuzz/corpus and its dictionary
    Seeds,
}

/// The repository's root folder, the parent of this package's.
fn repo_root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

fn main() -> ExitCode {
    let result = match Cli::parse().task {
        Task::Diff(options) => diff::run(&options),
        Task::Vectors => diff::vectors(&repo_root()).map(|()| true),
        Task::Seeds => seeds::run(&repo_root()).map(|()| true),
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
