//! `gcn compile`: OpenCL C or HIP to a code object, with the installed clang.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gcn::compile::{Compiler, DEFAULT_TARGET, Job, Language};
use gcn::io;
use gcn::isa::Target;

#[derive(Clone, Copy, ValueEnum)]
enum Lang {
    /// OpenCL C
    Opencl,
    /// The device code of a HIP source
    Hip,
}

#[derive(Args)]
#[command(after_help = "\
Calls the clang of GCN_CLANG, or the first of clang, clang-19, … on PATH, with the options and libraries that GCN code needs.
gcn run, check, debug and analyze compile .cl and .hip files so themselves, with -g.

Examples:
  gcn compile saxpy.cl -o saxpy.co
  gcn compile saxpy.cl --arch gfx700 -S -o saxpy.s         its assembly, to read, change and run
  gcn compile saxpy.cl -- -O1 -DTILE=16 -I include         options after -- are clang's
  gcn compile kernels.cpp --lang hip --arch gfx906
  gcn compile saxpy.cl --show                              the command, without running it")]
pub struct Options {
    /// The source: OpenCL C (.cl) or HIP (.hip)
    file: PathBuf,
    /// The target
    #[arg(long, value_parser = super::target(), ignore_case = true, hide_possible_values = true, default_value = DEFAULT_TARGET)]
    arch: Target,
    /// The language; by default that of the file's name
    #[arg(long)]
    lang: Option<Lang>,
    /// Write assembly
    #[arg(short = 'S')]
    assembly: bool,
    /// Add line tables and names of variables
    #[arg(short)]
    g: bool,
    /// The compiler's name or path
    #[arg(long)]
    clang: Option<PathBuf>,
    /// Print the compiler's command, and do not run it
    #[arg(long)]
    show: bool,
    /// Output file, or `-`; by default FILE with .co or .s
    #[arg(short, value_name = "OUT")]
    o: Option<PathBuf>,
    /// Further options of clang
    #[arg(last = true, value_name = "CLANG OPTIONS")]
    options: Vec<String>,
}

/// Compiles and writes.
///
/// # Errors
/// The compiler's messages, or a message.
pub fn run(args: &Options) -> Result<(), String> {
    let language = match args.lang {
        Some(Lang::Opencl) => Language::OpenCl,
        Some(Lang::Hip) => Language::Hip,
        None => Language::of(&args.file).ok_or_else(|| {
            io::named(
                &args.file,
                "the name says no language: expected .cl or .hip, or --lang opencl or hip",
            )
        })?,
    };
    let compiler = Compiler::find(args.clang.as_ref().map(|path| path.as_os_str()));
    let compiler = compiler.map_err(|e| e.to_string())?;
    let mut options = args.options.clone();
    options.extend(args.assembly.then(|| "-S".to_string()));
    options.extend(args.g.then(|| "-g".to_string()));
    let job = Job {
        source: &args.file,
        language,
        target: args.arch,
        options: &options,
    };
    let extension = if args.assembly { "s" } else { "co" };
    let out = args
        .o
        .clone()
        .unwrap_or_else(|| args.file.with_extension(extension));
    if args.show {
        return io::print(format!("{}\n", compiler.words(&job, &out)).as_bytes());
    }
    let (bytes, warnings) = compiler.compile(&job).map_err(|e| e.to_string())?;
    io::complain(&warnings);
    io::write(&out, &bytes)
}
