//! Time and memory of a child process.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use wait4::Wait4;

/// The resources that a process used.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// The seconds from its start to its end.
    pub wall: f64,
    /// The seconds of user and system time of all threads.
    pub cpu: f64,
    /// The peak resident memory in bytes.
    pub peak: u64,
}

/// Runs a program to its end with its output in `stdout`.
///
/// The kernel counts the memory of the parent process in the child's peak. The program is therefore started by a small process,
/// this program's `measure`.
///
/// # Errors
/// If it cannot be started or fails; the message contains the end of its output.
pub fn run(program: &Path, args: &[&str], stdout: &Path) -> Result<Usage> {
    let own = std::env::current_exe().context("this program has no path")?;
    let output = Command::new(own)
        .arg("measure")
        .arg(stdout)
        .arg(program)
        .args(args)
        .stdin(Stdio::null())
        .output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    let end = complaint
        .char_indices()
        .rev()
        .nth(2000)
        .map_or(0, |(at, _)| at);
    ensure!(
        output.status.success(),
        "{} {}: {}",
        program.display(),
        args.join(" "),
        &complaint[end..]
    );
    let numbers = String::from_utf8_lossy(&output.stdout);
    let mut numbers = numbers.split_whitespace().map(str::parse::<f64>);
    let mut number = || {
        numbers
            .next()
            .and_then(Result::ok)
            .context("measure prints three numbers")
    };
    Ok(Usage {
        wall: number()?,
        cpu: number()?,
        peak: number()? as u64,
    })
}

/// The arguments of `measure`.
#[derive(clap::Args)]
pub struct Options {
    stdout: PathBuf,
    program: PathBuf,
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// The small process: prints seconds, processor seconds and peak bytes.
///
/// # Errors
/// If the program cannot be started.
pub fn child(options: &Options) -> Result<bool> {
    let start = Instant::now();
    let used = Command::new(&options.program)
        .args(&options.args)
        .env("LLVM_DISABLE_SYMBOLIZATION", "1")
        .stdout(File::create(&options.stdout)?)
        .spawn()
        .with_context(|| format!("cannot run {}", options.program.display()))?
        .wait4()?;
    let wall = start.elapsed().as_secs_f64();
    let cpu = (used.rusage.utime + used.rusage.stime).as_secs_f64();
    println!("{wall} {cpu} {}", used.rusage.maxrss);
    Ok(used.status.success())
}
