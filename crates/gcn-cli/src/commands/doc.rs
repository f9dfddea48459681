//! `gcn doc`: the manual.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;
use gcn::io;
use gcn::isa::{Format, Target};
use gcn_cli::manual::{self, diff, html, pages, terminal};

#[derive(Args)]
#[command(after_help = "\
Examples:
  gcn doc v_mac_f32                  an instruction
  gcn doc v_add_u32 --arch gfx803    as it is on one target
  gcn doc tutorial                   what instructions share: waitcnt, exec, hsa-abi, …
  gcn doc search shift left          pages with these words
  gcn doc --diff gfx7 gfx9           what changed
  gcn doc --html site                the manual as web pages")]
pub struct Options {
    /// An instruction (s_bfe_u32), a topic (waitcnt), a format (SOP2), an entry of the errata (sop2-bfe), a check (hazard) or a hazard (valu-sgpr-vmem); `search` and words to find pages; by default the table of contents
    name: Option<String>,
    /// The words to search for
    words: Vec<String>,
    /// The instruction as it is on this target; without a name: the instructions of the target
    #[arg(long, value_parser = super::target(), ignore_case = true, hide_possible_values = true)]
    arch: Option<Target>,
    /// Compare two generations or targets
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with_all = ["name", "all", "arch", "table"])]
    diff: Option<Vec<String>>,
    /// Write the manual as a static site: pages with a search that needs no server
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["name", "all", "arch", "table", "diff"])]
    html: Option<PathBuf>,
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
        create(folder)?;
        for format in Format::ALL {
            let path = folder.join(format!("{}.md", format.name().to_lowercase()));
            io::write(&path, manual::format_page(format).as_bytes())?;
        }
        return Ok(());
    }
    if let Some(folder) = &args.html {
        create(folder)?;
        for (name, text) in html::site() {
            io::write(&folder.join(name), text.as_bytes())?;
        }
        return Ok(());
    }
    if let Some(targets) = &args.diff {
        return show(&diff::page(&targets[0], &targets[1])?);
    }
    let Some(name) = &args.name else {
        return match args.arch {
            Some(target) => show(&manual::contents_of(target)),
            None => show(&manual::contents()),
        };
    };
    if name == "search" && !args.words.is_empty() {
        return search(&args.words);
    }
    if let Some(word) = args.words.first() {
        return Err(format!(
            "unexpected `{word}` after `{name}`: expected one name, or `gcn doc search {name} {}`",
            args.words.join(" ")
        ));
    }
    if let Some(target) = args.arch
        && let Some((_, page)) = pages::instruction(name, Some(target))
        && page.is_empty()
    {
        return Err(format!(
            "{} has no `{name}`; `gcn doc {name}` says which targets have it",
            target.name()
        ));
    }
    match pages::page(name, args.arch) {
        Some((_, page)) => show(&page),
        None => Err(unknown(name)),
    }
}

fn create(folder: &PathBuf) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

/// The message for a name without a page.
fn unknown(name: &str) -> String {
    let near = manual::suggestions(name);
    let hint = if near.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", near.join(", "))
    };
    format!(
        "`{name}` is not an instruction, format, errata entry, check or hazard{hint}\n`gcn doc` lists what there is, `gcn doc search {name}` searches"
    )
}

/// The maximum number of pages that a search prints.
const MOST: usize = 40;

/// Prints the pages that contain all words.
fn search(words: &[String]) -> Result<(), String> {
    let found = pages::search(words);
    if found.is_empty() {
        return Err(format!(
            "no page has all of these words: {}",
            words.join(" ")
        ));
    }
    let mut text = String::new();
    for entry in found.iter().take(MOST) {
        text.push_str(&format!("{:<28} {}\n", entry.name, entry.about));
    }
    if found.len() > MOST {
        text.push_str(&format!(
            "… and {} more: more words find fewer\n",
            found.len() - MOST
        ));
    }
    io::print(text.as_bytes())
}

/// Prints a page: unchanged to a file or a pipe, formatted and through $PAGER to a terminal.
fn show(page: &str) -> Result<(), String> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return io::print(page.as_bytes());
    }
    let colour = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
        && std::env::var_os("TERM").is_none_or(|v| v != "dumb");
    let columns = super::columns().unwrap_or(terminal::WIDTH);
    let text = terminal::render(page, colour, columns);
    match paged(&text) {
        true => Ok(()),
        false => io::print(text.as_bytes()),
    }
}

/// Sends a text through the pager. Returns false if there is none.
fn paged(text: &str) -> bool {
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".into());
    let mut words = pager.split_whitespace();
    let Some(program) = words.next() else {
        return false;
    };
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Colours, and no paging of text that fits the screen.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else {
        return false;
    };
    if let Some(mut input) = child.stdin.take() {
        // The pager may end before it has read everything.
        let _ = input.write_all(text.as_bytes());
    }
    child.wait().is_ok()
}
