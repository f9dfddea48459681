//! `gcn asm`: source to a code object, a relocatable object or raw bytes.

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use gcn::io;
use gcn::isa::Target;
use gcn::object::target::{Os, Version};

fn abi(text: &str) -> Result<Os, String> {
    let os = Os::ALL.into_iter().find(|os| os.name() == text);
    os.ok_or_else(|| "expected hsa, mesa3d, pal or none".into())
}

fn code_object_version(text: &str) -> Result<Version, String> {
    let version = text.parse().ok().and_then(Version::from_number);
    version.ok_or_else(|| "expected 2, 3, 4, 5 or 6".into())
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
        Err(_) => Err(format!("`{value}` is not a number, decimal or 0x…")),
    }
}

#[derive(Args)]
#[command(after_help = "\
The source names its target (`.amdgcn_target`, `.hsa_code_object_isa`, `.gpu`), or --arch does.
docs/asm.md describes the language: sections, data, symbols, macros, conditions, kernels.

Examples:
  gcn asm kernel.s -o kernel.co                    output of clang -S to a loadable code object
  gcn asm -c kernel.s && ld.lld -shared kernel.o -o kernel.co
  gcn asm --raw --arch gfx900 code.s -o - | xxd    only the bytes of the code
  gcn asm -D TILE=16 -I include kernel.s           define a symbol, add an include folder
  gcn asm -g -l kernel.lst kernel.s                with line tables for debuggers, and a listing
  gcn dis kernel.co | gcn asm -o same.co -         there and back")]
pub struct Options {
    /// The source file, or `-`
    file: PathBuf,
    /// The target, if the source does not name it (gfx600 … gfx90c, or a code name)
    #[arg(long, value_parser = super::target(), ignore_case = true, hide_possible_values = true)]
    arch: Option<Target>,
    /// Write a relocatable object for ld.lld
    #[arg(short = 'c', conflicts_with = "raw")]
    relocatable: bool,
    /// Write only the bytes of .text
    #[arg(long)]
    raw: bool,
    /// The operating system of the object (hsa, mesa3d, pal, none), if the source does not name it; by default hsa
    #[arg(long, value_parser = abi)]
    abi: Option<Os>,
    /// The code object version (2 to 6), if the source does not give it; by default 4
    #[arg(long, value_name = "N", value_parser = code_object_version)]
    code_object_version: Option<Version>,
    /// Write debugging information: line tables for the source
    #[arg(short)]
    g: bool,
    /// The syntax of the source
    #[arg(long, default_value = "auto")]
    syntax: super::SourceSyntax,
    /// Report violations of operand rules as warnings, not errors
    #[arg(long)]
    permissive: bool,
    /// Define a symbol, as `.set NAME, VALUE` does; without a value it is 1
    #[arg(short = 'D', value_name = "NAME[=VALUE]", value_parser = define)]
    defines: Vec<(String, i64)>,
    /// Add a folder in which `.include` and `.incbin` look for files
    #[arg(short = 'I', value_name = "FOLDER")]
    include: Vec<PathBuf>,
    /// Write a listing, the source beside its addresses and bytes, to this file, or `-`
    #[arg(short = 'l', long, value_name = "FILE")]
    listing: Option<PathBuf>,
    /// Threads that assemble a large source; by default one per core
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Output file, or `-`; by default FILE with .co, .o or .bin, or standard output if FILE is `-`
    #[arg(short, value_name = "OUT")]
    o: Option<PathBuf>,
}

/// Assembles and writes.
///
/// # Errors
/// A message; an empty one if the diagnostics are complete.
pub fn run(args: &Options) -> Result<(), String> {
    let threads = args.threads.map_or_else(super::cores, NonZeroUsize::get);
    let source = io::read_source(&args.file, threads)?;
    let source = io::text_of(&args.file, &source)?;
    let options = gcn::asm::Options {
        target: args.arch,
        syntax: args.syntax.into(),
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
    let output = gcn::asm::assemble(source, &name, &options);
    if !output.printed.is_empty() {
        io::complain(&output.printed);
    }
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
    let extension = match (args.raw, args.relocatable) {
        (true, _) => "bin",
        (false, true) => "o",
        (false, false) => "co",
    };
    let out = match &args.o {
        Some(path) => path.clone(),
        None if args.file.as_os_str() == "-" => PathBuf::from("-"),
        None => args.file.with_extension(extension),
    };
    if out == args.file && args.file.as_os_str() != "-" {
        return Err(format!(
            "{}: the output would overwrite the source; name another file with -o",
            out.display()
        ));
    }
    if args.raw {
        return io::write(&out, &object.into_raw()?);
    }
    let builder = object.into_builder();
    if args.relocatable {
        let bytes = builder.relocatable().map_err(|e| e.to_string())?;
        return io::write(&out, &bytes);
    }
    let file = builder.linked().map_err(|e| e.to_string())?;
    io::stream(&out, |out| file.write(out))
}
