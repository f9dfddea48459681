//! `gcn completions` and `gcn man`, generated from the definitions of `--help`.

use std::path::PathBuf;

use clap::{Args, Command};
use gcn::io;

#[derive(Args)]
#[command(after_help = "\
Examples:
  gcn completions bash > ~/.local/share/bash-completion/completions/gcn
  gcn completions zsh > \"${fpath[1]}/_gcn\"
  gcn completions fish > ~/.config/fish/completions/gcn.fish")]
pub struct CompletionsOptions {
    /// The shell
    shell: clap_complete::Shell,
}

/// Prints a completion script.
///
/// # Errors
/// A message if it cannot be written.
pub fn completions(args: &CompletionsOptions, mut command: Command) -> Result<(), String> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "gcn", &mut text);
    io::print(&text)
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  gcn man | man -l -
  gcn man -o ~/.local/share/man/man1")]
pub struct ManOptions {
    /// Write gcn.1, gcn-asm.1, … into this folder
    #[arg(short, value_name = "FOLDER")]
    o: Option<PathBuf>,
}

/// Prints the command's page, or writes those of all subcommands.
///
/// # Errors
/// A message if they cannot be written.
pub fn man(args: &ManOptions, command: Command) -> Result<(), String> {
    let Some(folder) = &args.o else {
        let mut page = Vec::new();
        let man = clap_mangen::Man::new(command);
        man.render(&mut page).map_err(|e| e.to_string())?;
        return io::print(&page);
    };
    let cannot = |e| format!("{}: {e}", folder.display());
    std::fs::create_dir_all(folder).map_err(cannot)?;
    clap_mangen::generate_to(command, folder).map_err(cannot)
}
