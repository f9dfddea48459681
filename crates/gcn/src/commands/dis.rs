//! `gcn dis`: a code object or raw bytes to source.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use gcn::isa::Target;
use gcn::isa::print::Style;
use gcn::lines::Lines;
use gcn::listing::{Fixes, Listing, Marks};
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
  gcn dis kernel.co --source                                     with the lines it was compiled from
  gcn dis --raw --arch gfx900 code.bin                           instruction bytes")]
pub struct Options {
    /// A code object, a bundle, a program or library that carries one, or with --raw instruction
    /// bytes; or `-`
    file: PathBuf,
    #[command(flatten)]
    choice: super::Choice,
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
    #[arg(long, value_parser = super::target(), ignore_case = true, hide_possible_values = true)]
    arch: Option<Target>,
    /// Whose spelling is printed
    #[arg(long, default_value = "llvm")]
    syntax: Syntax,
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
    #[arg(short, value_name = "OUT", default_value = "-")]
    o: PathBuf,
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
    let object = args.choice.object(&args.file, args.arch)?;
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
    let lines = match args.lines || args.source {
        true => Some(Lines::read(&object, args.source)?),
        false => None,
    };
    let options = dis::Options {
        show,
        threads: args.threads.map_or_else(super::cores, NonZeroUsize::get),
        loaded_only: args.loaded_only,
        lines: lines.as_ref(),
        ..dis::Options::new(style)
    };
    io::stream(&args.o, |out| match only {
        Some(name) => dis::symbol(&object, name, &options, out),
        None => dis::object(&object, &options, out),
    })
}

fn disassemble_raw(
    args: &Options,
    arch: Target,
    style: Style,
    show: dis::Show,
) -> Result<(), String> {
    let bytes = io::read(&args.file)?;
    if args.json {
        return io::stream(&args.o, |out| dis_json::raw(arch, &bytes, style, out));
    }
    let threads = args.threads.map_or_else(super::cores, NonZeroUsize::get);
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
