//! `gcn doc`: the manual.

use std::path::PathBuf;

use clap::Args;
use gcn::io;
use gcn::isa::Format;
use gcn_cli::manual;

#[derive(Args)]
pub struct Options {
    /// An instruction (s_bfe_u32), a format (SOP2), an entry of the errata (sop2-bfe), a check (waitcnt) or a hazard (valu-sgpr-vmem); by default the table of contents
    name: Option<String>,
    /// Print the number of rows of each format, per generation and per target that differs
    #[arg(long, group = "table", conflicts_with_all = ["name", "all"])]
    stats: bool,
    /// Print for every row whether its results are exact or within an error bound
    #[arg(long, group = "table", conflicts_with_all = ["name", "all"])]
    exactness: bool,
    /// With --stats or --exactness: print JSON
    #[arg(long, requires = "table")]
    json: bool,
    /// Write the pages of all formats
    #[arg(long, conflicts_with = "name", requires = "o")]
    all: bool,
    /// The folder for --all
    #[arg(short, value_name = "FOLDER")]
    o: Option<PathBuf>,
}

/// Prints a page, or writes them all.
///
/// # Errors
/// A message: an unknown name, or a file that cannot be written.
pub fn run(args: &Options) -> Result<(), String> {
    if args.stats {
        let text = match args.json {
            true => manual::stats_json(),
            false => manual::stats(),
        };
        return io::print(text.as_bytes());
    }
    if args.exactness {
        let text = match args.json {
            true => manual::exactness_json(),
            false => manual::exactness(),
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
        return io::print(manual::contents().as_bytes());
    };
    if let Some(format) = Format::parse(name) {
        return io::print(manual::format_page(format).as_bytes());
    }
    let rows = manual::find(name);
    if !rows.is_empty() {
        return io::print(manual::instruction_page(&rows).as_bytes());
    }
    if let Some(page) = manual::check_page(name).or_else(|| manual::hazard_page(name)) {
        return io::print(page.as_bytes());
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
        "`{name}` is not an instruction, format, errata entry, check or hazard{hint}\n`gcn doc` lists what there is"
    ))
}
