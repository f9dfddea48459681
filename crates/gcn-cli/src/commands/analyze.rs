//! `gcn analyze`: static figures of kernels.

mod page;
mod text;

use std::path::PathBuf;

use clap::Args;
use clap::error::ErrorKind;
use gcn::analyze::chip::Chip;
use gcn::analyze::profile::Profile;
use gcn::analyze::{self, json};
use gcn::isa::Target;
use gcn::isa::access::InstructionTable;
use gcn::lines::Lines;
use gcn::{dis, io};

#[derive(Args)]
#[command(after_help = "\
Figures are measured (in a run), counted (from the code) or modelled (from public tables about the
hardware); none is a time. docs/analyze.md says how each comes about.

Examples:
  gcn analyze kernel.co
  gcn analyze kernel.co --kernel vadd --chip fiji
  gcn analyze kernel.co --json | jq '.kernels[] | {name, occupancy, peak_vgprs}'
  gcn analyze kernel.co --html kernel.html
  gcn run kernel.co --grid 1024 --group 256 --arg … --profile --json > run.json
  gcn analyze kernel.co --profile run.json")]
pub struct Options {
    /// A code object, a bundle, or a program or library that carries one; source (.s); or `-`
    file: PathBuf,
    /// The target of source that does not name one
    #[arg(long, value_parser = super::target(), ignore_case = true, hide_possible_values = true)]
    arch: Option<Target>,
    #[command(flatten)]
    choice: super::Choice,
    /// The kernel or function; by default all kernels
    #[arg(long)]
    kernel: Option<String>,
    /// The chip for which cycles are given, as fiji or vega10; by default by the file's target
    #[arg(long, value_name = "NAME")]
    chip: Option<String>,
    /// As JSON (docs/json.md)
    #[arg(long)]
    json: bool,
    /// Write a page with the graph of each kernel; `-` is standard output
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,
    /// Show the counts of a run beside the code: the output of gcn run --profile --json
    #[arg(long, value_name = "RUN.json")]
    profile: Option<PathBuf>,
}

fn chip(name: &str) -> Chip {
    Chip::parse(name).unwrap_or_else(|| {
        let known = Chip::names().join(", ");
        let message = format!("`{name}` is no chip of gfx6 to gfx9: expected one of {known}");
        super::wrong_usage("analyze", ErrorKind::InvalidValue, &message)
    })
}

/// Analyzes and prints.
///
/// # Errors
/// A message with the file's name.
pub fn run(args: &Options) -> Result<(), String> {
    let chosen = args.chip.as_deref().map(chip);
    let to_output = |path: &PathBuf| path.as_os_str() == "-";
    if args.json && args.html.as_ref().is_some_and(to_output) {
        let message = "--json and --html - both write to standard output";
        super::wrong_usage("analyze", ErrorKind::ArgumentConflict, message);
    }
    let object = args.choice.object(&args.file, args.arch)?;
    let named = |e: String| format!("{}: {e}", args.file.display());
    let target = dis::target_of(&object).map_err(named)?;
    let table = InstructionTable::new(target);
    let lines = Lines::read(&object, false).ok();
    let line = |section: usize, pc: u64| {
        let line = lines.as_ref()?.at(section, pc)?;
        Some(line.to_string())
    };
    let options = analyze::Options {
        kernel: args.kernel.as_deref(),
        chip: chosen,
        line: &line,
    };
    let mut kernels = analyze::analyze(&object, &table, &options).map_err(named)?;
    if let Some(path) = &args.profile {
        let named = |e: String| format!("{}: {e}", path.display());
        let run = match path.as_os_str() == "-" {
            true => std::io::read_to_string(std::io::stdin()),
            false => std::fs::read_to_string(path),
        };
        let run = run.map_err(|e| named(e.to_string()))?;
        let profile = Profile::parse(&run).map_err(named)?;
        profile.apply(&mut kernels).map_err(named)?;
    }
    let chip = chosen.unwrap_or(Chip::of(target));
    if let Some(path) = &args.html {
        let page = page::page(&args.file.display().to_string(), &chip, &kernels);
        match to_output(path) {
            true => return io::print(page.as_bytes()),
            false => io::write(path, page.as_bytes())?,
        }
    }
    if args.json {
        return io::print(format!("{}\n", json::all(&kernels, &chip)).as_bytes());
    }
    if args.html.is_some() {
        return Ok(());
    }
    io::print(text::text(&chip, &kernels).as_bytes())
}
