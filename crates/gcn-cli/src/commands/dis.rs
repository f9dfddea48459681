//! `gcn dis`: a code object or raw bytes to source.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum, error::ErrorKind};
use gcn::dis::Proof;
use gcn::isa::Target;
use gcn::isa::print::Style;
use gcn::lines::Lines;
use gcn::listing::{Fixes, Labels, Listing, Marks};
use gcn::{dis, dis_json, dot, io};

#[derive(Clone, Copy, ValueEnum)]
enum Syntax {
    Llvm,
    Clrx,
}

impl Syntax {
    fn style(self) -> Style {
        match self {
            Syntax::Llvm => Style::LLVM,
            Syntax::Clrx => Style::CLRX,
        }
    }
}

#[derive(Args)]
#[command(after_help = "\
The source assembles to the same sections at the same addresses (docs/dis.md says what is kept).

Examples:
  gcn dis kernel.co > kernel.s; gcn asm kernel.s -o same.co      there and back
  gcn dis file.o | gcn asm -c -o same.o -                        a relocatable object
  gcn dis app --target gfx906 --kernel vadd                      one kernel of a fat binary
  gcn dis kernel.co --kernel vadd --cfg | dot -Tsvg > vadd.svg   its control-flow graph
  gcn dis kernel.co --source                                     with the source lines
  gcn dis kernel.co --plain                                      one instruction per line, nothing else
  gcn dis --raw --arch gfx900 code.bin                           instruction bytes
  gcn dis --raw --arch gfx900 dump.bin --skip 0x40 --base 0x7f0000001000 --range 0x7f0000001000..0x7f0000001400")]
pub struct Options {
    /// A code object, a bundle, a program or library that contains one, or with --raw instruction
    /// bytes; or `-`
    file: PathBuf,
    #[command(flatten)]
    choice: super::Choice,
    /// Print only this kernel with its descriptor and metadata, or this symbol's code or data
    #[arg(
        long,
        visible_alias = "symbol",
        value_name = "NAME",
        conflicts_with = "raw"
    )]
    kernel: Option<String>,
    /// Print the control-flow graph of the kernel as DOT; with --json as JSON (docs/json.md)
    #[arg(long, conflicts_with_all = ["raw", "show_encoding"])]
    cfg: bool,
    /// Print comments with the source's file and line, if the object has line tables
    #[arg(long, short, conflicts_with_all = ["raw", "json", "cfg"])]
    lines: bool,
    /// Like --lines, with the text of the lines, if the files are found
    #[arg(long, short = 'S', conflicts_with_all = ["raw", "json", "cfg"])]
    source: bool,
    /// Leave out sections that are not loaded: debugging information and comments
    #[arg(long, conflicts_with = "raw")]
    loaded_only: bool,
    /// Print the source even if it does not assemble to the same file, and report what is lost
    #[arg(long, conflicts_with_all = ["raw", "json", "cfg"])]
    lossy: bool,
    /// FILE contains instruction bytes
    #[arg(long, requires = "arch")]
    raw: bool,
    /// With --raw: the address of the first printed byte; by default 0
    #[arg(long, value_name = "ADDRESS", value_parser = super::address, requires = "raw")]
    base: Option<u64>,
    /// With --raw: skip this many bytes of the file before the code
    #[arg(long, value_name = "BYTES", value_parser = bytes, requires = "raw")]
    skip: Option<u64>,
    /// With --raw: print only the code at these addresses (the first byte's is --base), as 0x100..0x180
    #[arg(long, value_name = "A..B", value_parser = gcn::trace::parse_range, requires = "raw")]
    range: Option<(u64, u64)>,
    /// Print one instruction per line, without header, labels or comments
    #[arg(long, conflicts_with_all = ["cfg", "lines", "source"])]
    plain: bool,
    /// The target of raw bytes, or the expected target of a code object (gfx600 … gfx90c, or a code name)
    #[arg(long, value_parser = super::target(), ignore_case = true, hide_possible_values = true)]
    arch: Option<Target>,
    /// The syntax of the output
    #[arg(long, default_value = "llvm")]
    syntax: Syntax,
    /// Show each instruction's address and words in a comment
    #[arg(long, conflicts_with = "plain")]
    show_encoding: bool,
    /// Threads that print code; by default one per core
    #[arg(long, conflicts_with = "json")]
    threads: Option<NonZeroUsize>,
    /// Print a JSON object per line for each instruction: bytes, text, operands, registers read and
    /// written, memory, control flow (docs/json.md)
    #[arg(long, conflicts_with_all = ["plain", "show_encoding"])]
    json: bool,
    /// Output file, or `-`
    #[arg(short, value_name = "OUT", default_value = "-")]
    o: PathBuf,
}

fn bytes(text: &str) -> Result<u64, String> {
    gcn::run::integer(text)
        .and_then(|v| u64::try_from(v).ok())
        .ok_or_else(|| format!("`{text}` is not a number of bytes, as 256 or 0x100"))
}

/// Disassembles and writes.
///
/// # Errors
/// A message with the file's name.
pub fn run(args: &Options) -> Result<(), String> {
    let style = args.syntax.style();
    let show = dis::Show {
        encoding: args.show_encoding,
    };
    if let Some(arch) = args.arch.filter(|_| args.raw) {
        return disassemble_raw(args, arch, style, show);
    }
    let object = args.choice.object_for_source(&args.file, args.arch)?;
    if let Some(arch) = args.arch.filter(|a| a.name() != object.target_name()) {
        return Err(format!(
            "{} is for {}, not {}",
            args.file.display(),
            object.target_name(),
            arch.name()
        ));
    }
    let only = match &args.kernel {
        Some(name) => {
            let found = dis::symbol_named(&object, name);
            Some(found.map_err(|e| format!("{}: {e}", args.file.display()))?)
        }
        None if args.cfg => {
            let only = dis::only_kernel(&object).unwrap_or_else(|e| {
                let message = format!("{}: {e}", args.file.display());
                super::wrong_usage("dis", ErrorKind::MissingRequiredArgument, &message)
            });
            Some(only)
        }
        None => None,
    };
    if let (true, Some(kernel)) = (args.cfg, only) {
        let graph = dot::graph(&object, kernel, style)?;
        let text = match args.json {
            true => format!("{}\n", graph.json()),
            false => graph.dot(),
        };
        return io::write(&args.o, text.as_bytes());
    }
    if args.json {
        return io::stream(&args.o, |out| dis_json::object(&object, only, style, out));
    }
    let named = |e| io::named(&args.file, e);
    let threads = args.threads.map_or_else(super::cores, NonZeroUsize::get);
    let reading = match only {
        None => Some(dis::Reading::new(&object, args.loaded_only, threads).map_err(named)?),
        Some(_) => None,
    };
    let lines = match args.lines || args.source {
        true => Some(Lines::read(&object, args.source)?),
        false => None,
    };
    let options = dis::Options {
        show,
        threads,
        loaded_only: args.loaded_only,
        lines: lines.as_ref(),
        ..dis::Options::new(style)
    };
    if args.plain {
        if let Some(reading) = reading {
            report_lost(args, &reading.lost().map_err(named)?)?;
        }
        return io::stream(&args.o, |out| dis::plain(&object, only, &options, out));
    }
    match (only, reading) {
        (None, Some(reading)) => write_proven(args, reading, &options),
        (only, _) => io::stream(&args.o, |out| {
            dis::symbol(&object, only.unwrap_or_default(), &options, out)
        }),
    }
}

/// Writes the source of a whole object, if it assembles to the same object.
fn write_proven(
    args: &Options,
    reading: dis::Reading,
    options: &dis::Options,
) -> Result<(), String> {
    let mut lost = Vec::new();
    let written = io::stream_or_drop(&args.o, |out, dropped| {
        let proof = match (args.lossy, dropped) {
            (true, _) => Proof::Lossy,
            (false, true) => Proof::Beside,
            (false, false) => Proof::First,
        };
        lost = reading.write_proven(options, proof, out)?;
        match lost.is_empty() || args.lossy {
            true => Ok(()),
            false => Err(std::io::Error::other("the source would not reproduce it")),
        }
    });
    report_lost(args, &lost)?;
    written
}

/// Refuses an object that the source could not reproduce, or reports the losses.
fn report_lost(args: &Options, lost: &[String]) -> Result<(), String> {
    if lost.is_empty() {
        return Ok(());
    }
    let what = format!(
        "the source would not assemble to the same file; it would lose: {}",
        lost.join("; ")
    );
    let message = io::named(&args.file, what);
    if !args.lossy {
        return Err(format!(
            "{message}\n--lossy prints it anyway, --kernel prints one kernel"
        ));
    }
    io::complain(&format!("gcn: {message}\n"));
    Ok(())
}

fn disassemble_raw(
    args: &Options,
    arch: Target,
    style: Style,
    show: dis::Show,
) -> Result<(), String> {
    let bytes = io::read(&args.file)?;
    let (bytes, base) = part(args, &bytes).map_err(|e| io::named(&args.file, e))?;
    if args.json {
        return io::stream(&args.o, |out| dis_json::raw(arch, bytes, base, style, out));
    }
    let threads = args.threads.map_or_else(super::cores, NonZeroUsize::get);
    io::stream(&args.o, |out| {
        if args.plain {
            return Listing::plain(arch, bytes, style).write(threads, out);
        }
        out.write_all(dis::raw_header(arch, style).as_bytes())?;
        let (marks, fixes) = (Marks::new(), Fixes::new());
        let labels = Labels {
            base,
            show,
            named: &marks,
            fixes: &fixes,
            prefix: dis::LABEL,
        };
        Listing::labelled(arch, bytes, style, labels).write(threads, out)
    })
}

/// The bytes of a file that are printed, and the address of the first.
fn part<'a>(args: &Options, bytes: &'a [u8]) -> Result<(&'a [u8], u64), String> {
    let skip = args.skip.unwrap_or(0);
    let rest = usize::try_from(skip)
        .ok()
        .and_then(|skip| bytes.get(skip..));
    let rest =
        rest.ok_or_else(|| format!("--skip {skip:#x}: the file has {:#x} bytes", bytes.len()))?;
    let base = args.base.unwrap_or(0);
    let Some((from, to)) = args.range else {
        return Ok((rest, base));
    };
    let end = base.saturating_add(rest.len() as u64);
    if from < base || from >= end {
        return Err(format!(
            "--range {from:#x}..: the code is at {base:#x}..{end:#x} (--base sets its start)"
        ));
    }
    if !from.is_multiple_of(4) {
        return Err(format!(
            "--range {from:#x}..: instructions begin at multiples of 4"
        ));
    }
    let (start, stop) = ((from - base) as usize, (to.min(end) - base) as usize);
    Ok((&rest[start..stop], from))
}
