//! The command `gcn`.

#![forbid(unsafe_code)]

use std::io::{BufReader, IsTerminal};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use gcn::info::Info;
use gcn::isa::print::Style;
use gcn::isa::{Format, Target};
use gcn::lines::Lines;
use gcn::listing::{Fixes, Listing, Marks};
use gcn::object::read::CodeObject;
use gcn::object::target::{Os, Version};
use gcn::{bundle, demo, dis, dis_json, dot, eval, io, manual, run};

/// The AMD GCN GPU in software: assembles, disassembles, explains and runs the machine code of
/// gfx6 to gfx9.
#[derive(Parser)]
#[command(
    version,
    about,
    after_help = "\
Examples:
  gcn demo                                  run a kernel and draw its picture
  gcn doc s_bfe_u32                         what an instruction does
  gcn eval --arch gfx900 'v_add_f32 v2, v0, v1   v0 = 1.0, v1 = 2.0'
  gcn asm kernel.s -o kernel.co             source to a code object
  gcn dis kernel.co                         and back
  gcn info kernel.co                        registers, memory, occupancy
  gcn run kernel.co --kernel vadd --grid 1024 --group 256 --arg buf:zero:4096 …

`-` is standard input or output. Exit status: 0 done; 1 the input is wrong or the program
under it failed; 2 the command line is wrong."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Assemble source to a code object, a relocatable object or raw bytes
    Asm(AsmArgs),
    /// Disassemble a code object or raw bytes to source
    Dis(DisArgs),
    /// What a code object is for, what its kernels take, how many waves fit
    Info(InfoArgs),
    /// Run a kernel of a code object
    Run(RunArgs),
    /// Run instructions on one wave and say what changed
    Eval(EvalArgs),
    /// The manual: an instruction, a format, or everything
    Doc(DocArgs),
    /// Offload bundles, and programs and libraries that carry them: list, extract, create
    Bundle(bundle::BundleArgs),
    /// Assemble and run a kernel that ships with the program, and draw its picture
    Demo(DemoArgs),
    /// Print what makes a shell complete this command's words
    Completions(CompletionsArgs),
    /// Print this command's manual page, or write those of all subcommands
    Man(ManArgs),
}

#[derive(Clone, Copy, ValueEnum)]
enum SyntaxArg {
    Llvm,
    Clrx,
}

impl SyntaxArg {
    fn style(self) -> Style {
        match self {
            SyntaxArg::Llvm => Style::LLVM,
            SyntaxArg::Clrx => Style::CLRX,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum AsmSyntax {
    /// LLVM's reading wins wherever a line is valid LLVM
    Auto,
    Llvm,
    Clrx,
}

/// Targets by all their names; a shell completes gfx600 … gfx90c.
fn target() -> impl TypedValueParser<Value = Target> {
    let values = Target::all().map(|t| PossibleValue::new(t.name()).aliases(t.info().aliases));
    PossibleValuesParser::new(values).try_map(|name| Target::parse(&name).ok_or("no such target"))
}

fn abi(text: &str) -> Result<Os, String> {
    let os = Os::ALL.into_iter().find(|os| os.name() == text);
    os.ok_or_else(|| "expected hsa, mesa3d, pal or none".into())
}

fn code_object_version(text: &str) -> Result<Version, String> {
    let versions = [Version::V2, Version::V3, Version::V4, Version::V5];
    let version = versions
        .into_iter()
        .find(|v| v.number().to_string() == text);
    version.ok_or_else(|| "expected 2, 3, 4 or 5".into())
}

/// `NAME`, `NAME=5`, `NAME=-0x10`.
fn define(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').unwrap_or((text, "1"));
    let first = name.chars().next();
    if !first.is_some_and(|c| c.is_ascii_alphabetic() || "._$".contains(c)) {
        return Err("expected NAME or NAME=VALUE".into());
    }
    let digits = value.trim_start_matches(['-', '+']);
    let number = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    match number {
        Ok(n) if value.starts_with('-') => Ok((name.into(), (n as i64).wrapping_neg())),
        Ok(n) => Ok((name.into(), n as i64)),
        Err(_) => Err(format!("`{value}` is no number, decimal or 0x…")),
    }
}

#[derive(Args)]
struct AsmArgs {
    /// Source, or `-`
    file: PathBuf,
    /// The target, where the source does not say (gfx600 … gfx90c, or a code name)
    #[arg(long, value_parser = target(), ignore_case = true, hide_possible_values = true)]
    arch: Option<Target>,
    /// A relocatable object, which ld.lld links
    #[arg(short = 'c', conflicts_with = "raw")]
    relocatable: bool,
    /// The bytes of .text alone
    #[arg(long)]
    raw: bool,
    /// The system that loads the file, where the source does not say
    #[arg(long, value_parser = abi)]
    abi: Option<Os>,
    /// The code object version (2 to 5), where the source does not say; by default 4
    #[arg(long, value_name = "N", value_parser = code_object_version)]
    code_object_version: Option<Version>,
    /// Debugging information: each instruction's line of the source
    #[arg(short)]
    g: bool,
    /// Whose spelling the source has
    #[arg(long, default_value = "auto")]
    syntax: AsmSyntax,
    /// Violations of operand rules are warnings, not errors
    #[arg(long)]
    permissive: bool,
    /// Define a symbol, as `.set NAME, VALUE` does; without a value it is 1
    #[arg(short = 'D', value_name = "NAME[=VALUE]", value_parser = define)]
    defines: Vec<(String, i64)>,
    /// Another folder in which `.include` and `.incbin` look for files
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,
    /// Write the source beside its addresses and bytes to this file, or `-`
    #[arg(short = 'l', long, value_name = "FILE")]
    listing: Option<PathBuf>,
    /// Threads that read a large source; by default one a core
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Output file, or `-`; by default FILE with .co, .o or .bin, or standard output where FILE is `-`
    #[arg(short)]
    o: Option<PathBuf>,
}

/// Which code object of a file is meant.
#[derive(Args)]
struct Choice {
    /// Of a bundle, or a program or library that carries some: the code for this target (gfx906,
    /// gfx906:xnack-, or an entry's whole id)
    #[arg(long)]
    target: Option<String>,
    /// The entry of this number (`gcn bundle list --long` has them)
    #[arg(long, value_name = "N")]
    entry: Option<usize>,
}

#[derive(Args)]
#[command(after_help = "\
The source assembles to the same sections at the same addresses (docs/dis.md says what is kept).

Examples:
  gcn dis kernel.co > kernel.s; gcn asm kernel.s -o same.co      there and back
  gcn dis file.o | gcn asm -c -o same.o -                        a relocatable object
  gcn dis app --target gfx906 --kernel vadd                      one kernel of a fat binary
  gcn dis kernel.co --kernel vadd --cfg | dot -Tsvg > vadd.svg   its control-flow graph
  gcn dis kernel.co --source                                     with the lines it was compiled from
  gcn dis --raw --arch gfx900 code.bin                           instruction bytes")]
struct DisArgs {
    /// A code object, a bundle, a program or library that carries one, or with --raw instruction
    /// bytes; or `-`
    file: PathBuf,
    #[command(flatten)]
    choice: Choice,
    /// Only this kernel with its descriptor and metadata, or this symbol's code or data
    #[arg(
        long,
        visible_alias = "symbol",
        value_name = "NAME",
        conflicts_with = "raw"
    )]
    kernel: Option<String>,
    /// The control-flow graph of --kernel as DOT; with --json as JSON (docs/json.md)
    #[arg(long, requires = "kernel", conflicts_with_all = ["raw", "show_encoding"])]
    cfg: bool,
    /// Comments with the source's file and line, where the object has line tables
    #[arg(long, short, conflicts_with_all = ["raw", "json", "cfg"])]
    lines: bool,
    /// The same with the lines themselves, where the files are found
    #[arg(long, short = 'S', conflicts_with_all = ["raw", "json", "cfg"])]
    source: bool,
    /// Leave out sections that are not loaded: debugging information and comments
    #[arg(long, conflicts_with = "raw")]
    loaded_only: bool,
    /// FILE is instruction bytes
    #[arg(long, requires = "arch")]
    raw: bool,
    /// One instruction a line, without header, labels or comments
    #[arg(long, requires = "raw")]
    plain: bool,
    /// The target of raw bytes; of a code object, what it must be for (gfx600 … gfx90c, or a code name)
    #[arg(long, value_parser = target(), ignore_case = true, hide_possible_values = true)]
    arch: Option<Target>,
    /// Whose spelling is printed
    #[arg(long, default_value = "llvm")]
    syntax: SyntaxArg,
    /// Show each instruction's address and words in a comment
    #[arg(long, conflicts_with = "plain")]
    show_encoding: bool,
    /// Threads that print code (default: one a core)
    #[arg(long, conflicts_with = "json")]
    threads: Option<NonZeroUsize>,
    /// One JSON object a line for each instruction: bytes, text, operands, registers read and written,
    /// memory, control flow (docs/json.md)
    #[arg(long, conflicts_with_all = ["plain", "show_encoding"])]
    json: bool,
    /// Output file, or `-`
    #[arg(short, default_value = "-")]
    o: PathBuf,
}

#[derive(Args)]
#[command(after_help = "\
Waves a SIMD: how many waves one of a compute unit's four SIMDs can hold at once, of at most ten, by
the VGPRs, SGPRs and LDS that the kernel has allocated, in the largest workgroup that it allows.
Instructions are counted by class as they stand in the code, not as they run; trans, f64, packed and
sdwa_dpp are parts of valu.

Examples:
  gcn info kernel.co
  gcn info app --target gfx906
  gcn info kernel.co --json | jq '.kernels[] | {name, vgprs, waves_per_simd}'")]
struct InfoArgs {
    /// A code object, a bundle, or a program or library that carries one; or `-`
    file: PathBuf,
    #[command(flatten)]
    choice: Choice,
    /// As JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

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
struct RunArgs {
    /// A code object, a bundle, or a program or library that carries one; or `-`
    file: PathBuf,
    #[command(flatten)]
    choice: Choice,
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
    #[arg(long, default_value = "interp", value_parser = engine)]
    engine: Engine,
    /// Print times and counts as JSON
    #[arg(long)]
    json: bool,
}

/// What runs the code.
#[derive(Clone, Copy)]
enum Engine {
    Interp,
}

fn engine(text: &str) -> Result<Engine, String> {
    match text {
        "interp" => Ok(Engine::Interp),
        "jit" => Err("this build has no JIT; the engine is interp".into()),
        _ => Err("expected interp".into()),
    }
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

#[derive(Args)]
#[command(after_help = "\
The line: instructions (`;` between them), then state, then perhaps what is expected.
  gcn eval --arch gfx900 's_add_u32 s2, s0, s1   s0 = 0xffffffff, s1 = 1'
  gcn eval --arch gfx900 'v_cmp_lt_f32 vcc, v0, v1   v0 = [1.0, 3.0 ..], v1 = 2.0 => vcc = 1'
Registers: s0 s[0:1] v0 v[0:1] exec vcc scc m0 mode status trapsts ttmp0 flat_scratch; memory:
mem[0x1000] lds[0x10], a dword each. What is not given is 0, but exec all ones and mode 0x3c0.
Values: 5 -1 0xff; 1.0 is a 32-bit float, 1.0d a 64-bit, 1.0h a 16-bit one; [1, 2 ..] gives lanes.

JSON lines (--json -), one answer a line:
  {\"arch\":\"gfx900\",\"inst\":\"v_add_f32 v2, v0, v1\",\"state\":{\"v\":{\"0\":\"1.0\",\"1\":\"2.0\"}}}")]
struct EvalArgs {
    /// The target (gfx600 … gfx90c, or a code name)
    #[arg(long, value_parser = target(), ignore_case = true, hide_possible_values = true, required_unless_present = "json")]
    arch: Option<Target>,
    /// Read JSON lines from a file or `-` and answer each
    #[arg(long, value_name = "FILE", conflicts_with = "line")]
    json: Option<PathBuf>,
    /// The most instructions run
    #[arg(long, default_value_t = eval::MAX)]
    max: u64,
    /// What runs the code
    #[arg(long, default_value = "interp", value_parser = engine)]
    engine: Engine,
    /// A line of the test language
    #[arg(required_unless_present = "json")]
    line: Option<String>,
}

#[derive(Args)]
struct DocArgs {
    /// An instruction (s_bfe_u32), a format (SOP2), or an entry of the errata (sop2-bfe)
    #[arg(required_unless_present_any = ["stats", "all"])]
    name: Option<String>,
    /// How many rows each format has in each generation and in targets that differ in them, and how
    /// many have a meaning
    #[arg(long, conflicts_with_all = ["name", "all"])]
    stats: bool,
    /// With --stats: as JSON
    #[arg(long, requires = "stats")]
    json: bool,
    /// Write every format's page
    #[arg(long, conflicts_with = "name", requires = "o")]
    all: bool,
    /// The folder for --all
    #[arg(short)]
    o: Option<PathBuf>,
}

#[derive(Args)]
struct DemoArgs {
    /// Write the picture as a PNG file too
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "mandelbrot.png")]
    png: Option<PathBuf>,
    /// Pixels in x and y
    #[arg(long, value_name = "WxH", value_parser = size)]
    size: Option<(u32, u32)>,
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let expected = "expected WxH, as 640x480, each 1 to 8192";
    let (w, h) = text.split_once('x').ok_or(expected)?;
    let side = |t: &str| {
        t.parse()
            .ok()
            .filter(|n| (1..=8192).contains(n))
            .ok_or(expected)
    };
    Ok((side(w)?, side(h)?))
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Asm(args) => assemble(&args),
        Command::Dis(args) => disassemble(&args),
        Command::Info(args) => inform(&args),
        Command::Run(args) => run_kernel(args),
        Command::Eval(args) => evaluate(&args),
        Command::Doc(args) => document(&args),
        Command::Bundle(args) => bundle::run(&args),
        Command::Demo(args) => demonstrate(&args),
        Command::Completions(args) => completions(&args),
        Command::Man(args) => manual_pages(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            if !message.is_empty() {
                io::complain(&format!("gcn: {}\n", message.trim_end()));
            }
            ExitCode::FAILURE
        }
    }
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  gcn completions bash > ~/.local/share/bash-completion/completions/gcn
  gcn completions zsh > \"${fpath[1]}/_gcn\"
  gcn completions fish > ~/.config/fish/completions/gcn.fish")]
struct CompletionsArgs {
    /// The shell
    shell: clap_complete::Shell,
}

fn completions(args: &CompletionsArgs) -> Result<(), String> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "gcn", &mut text);
    io::write(Path::new("-"), &text)
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  gcn man | man -l -
  gcn man -o ~/.local/share/man/man1")]
struct ManArgs {
    /// Write gcn.1, gcn-asm.1, … into this folder
    #[arg(short, value_name = "FOLDER")]
    o: Option<PathBuf>,
}

fn manual_pages(args: &ManArgs) -> Result<(), String> {
    let Some(folder) = &args.o else {
        let mut page = Vec::new();
        let man = clap_mangen::Man::new(Cli::command());
        man.render(&mut page).map_err(|e| e.to_string())?;
        return io::write(Path::new("-"), &page);
    };
    let cannot = |e| format!("{}: {e}", folder.display());
    std::fs::create_dir_all(folder).map_err(cannot)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(cannot)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

fn assemble(args: &AsmArgs) -> Result<(), String> {
    let threads = args.threads.map_or_else(cores, NonZeroUsize::get);
    let source = io::read_text_on(&args.file, threads)?;
    let options = gcn::asm::Options {
        target: args.arch,
        syntax: match args.syntax {
            AsmSyntax::Auto => gcn::asm::Syntax::Auto,
            AsmSyntax::Llvm => gcn::asm::Syntax::Llvm,
            AsmSyntax::Clrx => gcn::asm::Syntax::Clrx,
        },
        permissive: args.permissive,
        version: args.code_object_version,
        os: args.abi,
        debug: args.g.then(|| {
            let folder = std::env::current_dir().unwrap_or_default();
            folder.display().to_string()
        }),
        text_only: args.raw,
        threads,
        defines: args.defines.clone(),
        files: Some(args.include.clone()),
        listing: args.listing.is_some(),
        ..Default::default()
    };
    let name = if args.file.as_os_str() == "-" {
        "<stdin>".into()
    } else {
        args.file.display().to_string()
    };
    let output = gcn::asm::assemble(&source, &name, &options);
    if !output.diagnostics.is_empty() {
        let colour = std::io::stderr().is_terminal();
        io::complain(&gcn::asm::render(&output.diagnostics, colour));
    }
    let Some(object) = output.object else {
        return Err(String::new());
    };
    if let (Some(path), Some(listing)) = (&args.listing, &output.listing) {
        io::write(path, listing.as_bytes())?;
    }
    let (bytes, extension) = if args.raw {
        (object.into_raw()?, "bin")
    } else if args.relocatable {
        (
            object
                .into_builder()
                .relocatable()
                .map_err(|e| e.to_string())?,
            "o",
        )
    } else {
        (
            object
                .into_builder()
                .loadable()
                .map_err(|e| e.to_string())?,
            "co",
        )
    };
    let out = match &args.o {
        Some(path) => path.clone(),
        None if args.file.as_os_str() == "-" => PathBuf::from("-"),
        None => args.file.with_extension(extension),
    };
    if out == args.file && args.file.as_os_str() != "-" {
        return Err(format!(
            "{}: the output would overwrite the source; -o names another file",
            out.display()
        ));
    }
    io::write(&out, &bytes)
}

fn read_object(path: &Path, choice: &Choice, arch: Option<Target>) -> Result<CodeObject, String> {
    let target = choice.target.as_deref().or(arch.map(|arch| arch.name()));
    io::code_object(path, target, choice.entry)
}

fn disassemble(args: &DisArgs) -> Result<(), String> {
    let style = args.syntax.style();
    let show = dis::Show {
        encoding: args.show_encoding,
    };
    if let Some(arch) = args.arch.filter(|_| args.raw) {
        return disassemble_raw(args, arch, style, show);
    }
    let object = read_object(&args.file, &args.choice, args.arch)?;
    if let Some(arch) = args.arch.filter(|a| a.name() != object.target_name()) {
        return Err(format!(
            "{} is for {}, not {}",
            args.file.display(),
            object.target_name(),
            arch.name()
        ));
    }
    if let (true, Some(kernel)) = (args.cfg, &args.kernel) {
        let graph = dot::graph(&object, kernel, style)?;
        let text = match args.json {
            true => format!("{}\n", graph.json()),
            false => graph.dot(),
        };
        return io::write(&args.o, text.as_bytes());
    }
    if args.json {
        let only = args.kernel.as_deref();
        return io::stream(&args.o, |out| dis_json::object(&object, only, style, out));
    }
    let lines = match args.lines || args.source {
        true => Some(Lines::read(&object, args.source)?),
        false => None,
    };
    let options = dis::Options {
        show,
        threads: args.threads.map_or_else(cores, NonZeroUsize::get),
        loaded_only: args.loaded_only,
        lines: lines.as_ref(),
        ..dis::Options::new(style)
    };
    io::stream(&args.o, |out| match &args.kernel {
        Some(name) => dis::symbol(&object, name, &options, out),
        None => dis::object(&object, &options, out),
    })
}

fn inform(args: &InfoArgs) -> Result<(), String> {
    let container = io::container(&args.file)?;
    let named = |e: gcn::object::Error| io::named(&args.file, e);
    let chosen = args.choice.target.is_some() || args.choice.entry.is_some();
    let known = |e: &&gcn::object::Entry| {
        e.size > 0 && (e.target.as_ref()).is_some_and(|target| target.known())
    };
    let several = container.entries.iter().filter(known).count() > 1;
    if chosen || !several {
        let entry = container.choose(args.choice.target.as_deref(), args.choice.entry);
        let object = container.object(entry.map_err(named)?).map_err(named)?;
        let info = Info::new(&object)?;
        let text = match args.json {
            true => format!("{}\n", info.json()),
            false => info.text(),
        };
        return io::print(text.as_bytes());
    }
    // One after another, as a library may carry gigabytes.
    let mut failed = None;
    io::stream(Path::new("-"), |out| {
        if args.json {
            out.write_all(b"{\"entries\":[")?;
        }
        for (n, entry) in container.entries.iter().filter(known).enumerate() {
            let object = match container.object(entry) {
                Ok(object) => object,
                Err(e) => {
                    failed = Some(named(e));
                    break;
                }
            };
            let info = Info::new(&object).map_err(std::io::Error::other)?;
            let text = match args.json {
                true => {
                    let mut json = info.json();
                    json["entry"] = entry.index.into();
                    json["id"] = entry.id.as_str().into();
                    format!("{}{json}", if n == 0 { "" } else { "," })
                }
                false => format!(
                    "{}entry {}: {}\n{}",
                    if n == 0 { "" } else { "\n" },
                    entry.index,
                    entry.id,
                    info.text()
                ),
            };
            out.write_all(text.as_bytes())?;
        }
        if args.json {
            out.write_all(b"]}\n")?;
        }
        Ok(())
    })?;
    failed.map_or(Ok(()), Err)
}

fn disassemble_raw(
    args: &DisArgs,
    arch: Target,
    style: Style,
    show: dis::Show,
) -> Result<(), String> {
    let bytes = io::read(&args.file)?;
    if args.json {
        return io::stream(&args.o, |out| dis_json::raw(arch, &bytes, style, out));
    }
    let threads = args.threads.map_or_else(cores, NonZeroUsize::get);
    io::stream(&args.o, |out| {
        if args.plain {
            return Listing::plain(arch, &bytes, style).write(threads, out);
        }
        out.write_all(dis::raw_header(arch, style).as_bytes())?;
        let (marks, fixes) = (Marks::new(), Fixes::new());
        Listing::labelled(arch, &bytes, 0, style, show, &marks, &fixes, dis::LABEL)
            .write(threads, out)
    })
}

fn run_kernel(args: RunArgs) -> Result<(), String> {
    let Engine::Interp = args.engine;
    let object = read_object(&args.file, &args.choice, None)?;
    let request = run::Request {
        kernel: &args.kernel,
        grid: args.grid,
        group: args.group,
        args: args.args,
        outs: args.outs,
        threads: args.threads.map_or_else(cores, NonZeroUsize::get),
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

fn evaluate(args: &EvalArgs) -> Result<(), String> {
    let Engine::Interp = args.engine;
    if let Some(path) = &args.json {
        let out = std::io::stdout().lock();
        let done = if path.as_os_str() == "-" {
            eval::json_lines(std::io::stdin().lock(), out, args.arch, args.max)
        } else {
            let bytes = io::read(path)?;
            eval::json_lines(BufReader::new(bytes.as_slice()), out, args.arch, args.max)
        };
        return match done {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            Err(e) => Err(e.to_string()),
        };
    }
    let (Some(arch), Some(line)) = (args.arch, &args.line) else {
        return Err("expected --arch and a line, or --json".into());
    };
    let answer = eval::line(arch, line, args.max)?;
    io::print(format!("{}\n", answer.changed).as_bytes())?;
    match answer.fault {
        Some(fault) => Err(fault),
        None => Ok(()),
    }
}

fn document(args: &DocArgs) -> Result<(), String> {
    if args.stats {
        let text = match args.json {
            true => manual::stats_json(),
            false => manual::stats(),
        };
        return io::print(text.as_bytes());
    }
    if let (true, Some(folder)) = (args.all, &args.o) {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for format in Format::ALL {
            let path = folder.join(format!("{}.md", format.name().to_lowercase()));
            io::write(&path, manual::format_page(format).as_bytes())?;
        }
        return Ok(());
    }
    let Some(name) = &args.name else {
        let text = format!(
            "{}\n`gcn doc NAME` has a format's page or an instruction's, as s_bfe_u32.\n",
            manual::stats().trim_end()
        );
        return io::print(text.as_bytes());
    };
    if let Some(format) = Format::parse(name) {
        return io::print(manual::format_page(format).as_bytes());
    }
    let rows = manual::find(name);
    if !rows.is_empty() {
        return io::print(manual::instruction_page(&rows).as_bytes());
    }
    if let Some(entry) = manual::erratum(name) {
        return io::print(entry.as_bytes());
    }
    let near = manual::suggestions(name);
    let hint = if near.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", near.join(", "))
    };
    Err(format!(
        "`{name}` is no instruction, format or errata entry{hint}"
    ))
}

fn demonstrate(args: &DemoArgs) -> Result<(), String> {
    let terminal = std::io::stdout().is_terminal();
    let (width, height) = args
        .size
        .unwrap_or(if terminal { (96, 72) } else { (78, 34) });
    // A character is about twice as high as wide; half blocks make pixels of that square.
    let picture = demo::compute(width, height, if terminal { 1.0 } else { 2.1 })?;
    let mut text = if terminal {
        picture.half_blocks()
    } else {
        picture.ascii()
    };
    text.push_str(&format!(
        "{} waves ran {} instructions of gfx900 code ({} by {} pixels). Source: examples/mandelbrot.s\n",
        picture.waves, picture.instructions, width, height
    ));
    io::print(text.as_bytes())?;
    if let Some(path) = &args.png {
        let (width, height) = args.size.unwrap_or((640, 480));
        let large = demo::compute(width, height, 1.0)?;
        io::write(path, &large.png()?)?;
        io::complain(&format!("wrote {}\n", path.display()));
    }
    Ok(())
}
