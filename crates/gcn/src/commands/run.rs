//! `gcn run`: a kernel of a code object, on the machine in software.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use gcn::{io, run};

#[derive(Args)]
#[command(after_help = "\
Arguments, in the order of the kernel's own:
  i32:5 u32:5 i64:5 u64:0x10 f32:1.5 f64:1.5 f16:1.5   a value (i8 u8 i16 u16 too; structs: bytes:HEX)
  buf:zero:BYTES  buf:rand:BYTES:SEED                  a global buffer of zeros or random bytes
  buf:randf32:BYTES:SEED  buf:randf64:BYTES:SEED       of floats, uniform in [0, 1)
  buf:FILE                                             of a file's bytes, or a .npy file's elements
  local:BYTES                                          a dynamic local pointer

A kernel whose object says nothing of its arguments gets them one after another, each aligned to
its size. Random contents are SplitMix64's, so that a seed gives the same bytes everywhere.

Example:
  gcn run vadd.co --kernel vadd --grid 1000 --group 256 --arg buf:randf32:4000:1 \\
      --arg buf:randf32:4000:2 --arg buf:zero:4000 --arg u32:1000 --out 2=sum.npy")]
pub struct Options {
    /// A code object, a bundle, or a program or library that carries one; or `-`
    file: PathBuf,
    #[command(flatten)]
    choice: super::Choice,
    /// The kernel's name
    #[arg(long)]
    kernel: String,
    /// Work-items in x, y and z
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = dimensions)]
    grid: [u32; 3],
    /// Work-items of a workgroup in x, y and z
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = dimensions)]
    group: [u32; 3],
    /// An argument; see below
    #[arg(long = "arg", value_name = "A", value_parser = run::parse_arg, allow_hyphen_values = true)]
    args: Vec<run::ArgSpec>,
    /// Write argument N's buffer after the run, as .npy or raw by FILE's name
    #[arg(long = "out", value_name = "N=FILE", value_parser = out_file)]
    outs: Vec<(usize, PathBuf)>,
    /// Threads that run workgroups; by default one a core
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Run it so many times more, buffers set back before each
    #[arg(long, default_value_t = 0)]
    repeat: u32,
    /// Stop after so many instructions of all waves
    #[arg(long)]
    max_instructions: Option<u64>,
    /// What runs the code
    #[arg(long, default_value = "interp", value_parser = super::engine)]
    engine: super::Engine,
    /// Print times and counts as JSON
    #[arg(long)]
    json: bool,
}

fn dimensions(text: &str) -> Result<[u32; 3], String> {
    let mut out = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("expected at most three numbers, X,Y,Z".into());
    }
    for (slot, part) in out.iter_mut().zip(parts) {
        *slot = part
            .trim()
            .parse()
            .ok()
            .filter(|n| *n > 0)
            .ok_or_else(|| format!("`{part}` is no number of work-items"))?;
    }
    Ok(out)
}

fn out_file(text: &str) -> Result<(usize, PathBuf), String> {
    let (n, file) = text
        .split_once('=')
        .ok_or("expected N=FILE, as 2=sum.npy")?;
    let n = n
        .parse()
        .map_err(|_| format!("`{n}` is no argument's number; the first is 0"))?;
    Ok((n, PathBuf::from(file)))
}

/// Runs a kernel and prints its times.
///
/// # Errors
/// A message: the file, a value on the command line that does not fit the kernel, or where the program failed.
pub fn run(args: Options) -> Result<(), String> {
    let super::Engine::Interp = args.engine;
    let object = args.choice.object(&args.file, None)?;
    let request = run::Request {
        kernel: &args.kernel,
        grid: args.grid,
        group: args.group,
        args: args.args,
        outs: args.outs,
        threads: args.threads.map_or_else(super::cores, NonZeroUsize::get),
        repeat: args.repeat,
        max_instructions: args.max_instructions,
    };
    let report = run::run(&object, &request)?;
    let text = if args.json {
        let launch = serde_json::json!({ "kernel": args.kernel, "ms": report.ms });
        let json = serde_json::json!({
            "launches": [launch],
            "instructions": report.instructions,
            "waves": report.waves,
        });
        format!("{json}\n")
    } else {
        let mut text = format!(
            "{}: {} waves, {} instructions\n",
            args.kernel, report.waves, report.instructions
        );
        for (n, ms) in report.ms.iter().enumerate() {
            text.push_str(&format!("launch {n}: {ms:.3} ms\n"));
        }
        text
    };
    io::print(text.as_bytes())
}
