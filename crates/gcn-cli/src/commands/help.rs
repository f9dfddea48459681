//! `gcn completions` and `gcn man`, generated from the definitions of `--help`.

use std::path::PathBuf;

use clap::{Args, Command};
use gcn::io;

/// The maximum width of help in columns, the same as clap's.
const COLUMNS: usize = 100;

/// The minimum width in columns of an explanation in a second column; with less space, it goes to a line of its own.
const EXPLANATION: usize = 24;

/// Wraps the texts after the options to the width of the terminal, for the command and its subcommands.
pub fn laid_out(command: Command) -> Command {
    let columns = super::columns().map_or(COLUMNS, |n| n.min(COLUMNS));
    laid_out_for(command, columns)
}

/// As [`laid_out`], for a number of columns.
fn laid_out_for(command: Command, columns: usize) -> Command {
    let text = command.get_after_help().map(ToString::to_string);
    let command = match text {
        Some(text) => command.after_help(layout(&text, columns)),
        None => command,
    };
    command.mut_subcommands(|sub| laid_out_for(sub, columns))
}

/// Wraps paragraphs to a number of columns. Indented lines are kept; an explanation in a second column, at least three blanks
/// after the first, is wrapped within that column.
fn layout(text: &str, columns: usize) -> String {
    let mut out = String::new();
    let mut paragraph = String::new();
    for line in text.lines().chain([""]) {
        if !line.is_empty() && !line.starts_with(' ') {
            if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(line);
            continue;
        }
        if !paragraph.is_empty() {
            fill(&std::mem::take(&mut paragraph), 0, 0, columns, &mut out);
        }
        match line.trim_start().find("   ") {
            Some(_) if line.chars().count() > columns => explained(line, columns, &mut out),
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    out.trim_end().to_owned()
}

/// Adds an indented line whose explanation does not fit.
fn explained(line: &str, columns: usize, out: &mut String) {
    let indent = line.len() - line.trim_start().len();
    let gap = indent + line[indent..].find("   ").unwrap_or(0);
    let (head, explanation) = (&line[..gap], line[gap..].trim_start());
    let column = line.chars().count() - explanation.chars().count();
    out.push_str(head);
    if column + EXPLANATION > columns {
        let column = indent + 4;
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', column));
        fill(explanation, column, column, columns, out);
    } else {
        out.extend(std::iter::repeat_n(' ', column - head.chars().count()));
        fill(explanation, column, column, columns, out);
    }
    // The caller ends the line.
    out.pop();
}

/// Adds a paragraph whose first line begins in column `at` and the others in column `indent`, and ends its last line.
fn fill(text: &str, mut at: usize, indent: usize, columns: usize, out: &mut String) {
    let mut first = true;
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if !first && at + 1 + width > columns {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            at = indent;
        } else if !first {
            out.push(' ');
            at += 1;
        }
        out.push_str(word);
        at += width;
        first = false;
    }
    out.push('\n');
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn paragraphs_are_filled_and_indented_lines_are_kept() {
        let text = "One two three\nfour five.\n\nExamples:\n  gcn a\n  gcn b --long   what it does for you\n";
        assert_eq!(
            layout(text, 44),
            "One two three four five.\n\nExamples:\n  gcn a\n  gcn b --long   what it does for you"
        );
        assert_eq!(
            layout(text, 39),
            "One two three four five.\n\nExamples:\n  gcn a\n  gcn b --long   what it does for you"
        );
        assert_eq!(
            layout(text, 20),
            "One two three four\nfive.\n\nExamples:\n  gcn a\n  gcn b --long\n      what it does\n      for you"
        );
        assert_eq!(
            layout("  a   one two three four five six", 30),
            "  a   one two three four five\n      six"
        );
    }

    #[test]
    fn no_line_of_help_is_broken_and_no_variable_is_a_line_break() {
        let check = |command: &Command| {
            let Some(text) = command.get_after_help() else {
                return;
            };
            let text = text.to_string();
            // clap replaces this by a line break.
            assert!(!text.contains("{n}"), "{}: {{n}}", command.get_name());
            for line in text.lines() {
                let command_line = line.trim_start().starts_with("gcn ");
                assert!(
                    line.chars().count() <= COLUMNS || command_line,
                    "{}: {line}",
                    command.get_name()
                );
            }
        };
        let command = laid_out_for(crate::Cli::command(), COLUMNS);
        check(&command);
        for sub in command.get_subcommands() {
            check(sub);
            sub.get_subcommands().for_each(check);
        }
    }
}
