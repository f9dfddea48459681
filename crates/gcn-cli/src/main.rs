//! The command `gcn`.

#![forbid(unsafe_code)]

mod commands;

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use commands::{
    analyze, asm, bundle, campaign, check, compile, debug, demo, dis, doc, eval, help, hip, info,
    merge, run, web,
};
use gcn::io;

/// The AMD GCN GPU in software: assembles, disassembles, explains and runs the machine code of
/// gfx6 to gfx9.
#[derive(Parser)]
#[command(
    name = "gcn",
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
  gcn analyze kernel.co                     live registers, cycles, waits, loops
  gcn bundle list libfoo.so                 the code objects in a program or library
  gcn web kernel.s                          the same and more in the browser, step by step
  gcn hip -- ./app                          a HIP program without the card
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
    Asm(asm::Options),
    /// Compile OpenCL C or HIP with the installed clang
    Compile(compile::Options),
    /// Disassemble a code object or raw bytes to source
    Dis(dis::Options),
    /// Show a code object's target, its kernels' arguments and resources, and occupancy
    Info(info::Options),
    /// Run a kernel of a code object, a plan of launches, or raw code
    Run(Box<run::Options>),
    /// Unite the parts of a plan that ran elsewhere (gcn run --shard), and check and save as a run does
    Merge(merge::Options),
    /// Run many items (sweeps, mutations, random programs) with a journal, from which a killed run continues
    Campaign(campaign::Options),
    /// Run a kernel and report its errors: bounds, races, undefined values, missing waits; or check all paths
    Check(check::Options),
    /// Stop waves anywhere, inspect every lane, and step backwards
    Debug(Box<debug::Options>),
    /// Show static figures of kernels: live registers, occupancy, issue cycles, waits, loops
    Analyze(analyze::Options),
    /// Run instructions on one wave and print what changed
    Eval(eval::Options),
    /// Show the manual: an instruction, a format, or everything
    Doc(doc::Options),
    /// List, extract, create and replace code objects in offload bundles, programs and libraries
    Bundle(bundle::Options),
    /// Assemble and run an example kernel and draw its picture
    Demo(demo::Options),
    /// Open a local page to write, read, check and step code
    Web(web::Options),
    /// Run a HIP program, unmodified, with this machine as its GPU
    Hip(hip::Options),
    /// Print a completion script for a shell
    Completions(help::CompletionsOptions),
    /// Print this command's manual page, or write the pages of all subcommands
    Man(help::ManOptions),
}

/// The command line's definition, its help laid out for the terminal.
fn definition() -> clap::Command {
    help::laid_out(Cli::command())
}

/// The command line.
fn parsed() -> Result<Cli, clap::Error> {
    let parse = |mut definition: clap::Command| {
        let matches = definition.try_get_matches_from_mut(std::env::args_os())?;
        Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut definition))
    };
    if let Some(command) = named() {
        return Ok(Cli { command });
    }
    // Wrapping all help texts takes as long as assembling a small file: it is done only if one is printed.
    parse(Cli::command()).or_else(|_| parse(definition()))
}

/// The subcommand that the first argument names, if it is one of the frequent ones that take a file, and its arguments are valid.
/// Defining all subcommands takes longer than assembling a small file: it is done only for the others, for help and for messages.
fn named() -> Option<Command> {
    fn options<T: Args>() -> Option<T> {
        let definition = T::augment_args(clap::Command::new("gcn"));
        let matches = definition
            .try_get_matches_from(std::env::args_os().skip(1))
            .ok()?;
        T::from_arg_matches(&matches).ok()
    }
    Some(match std::env::args_os().nth(1)?.to_str()? {
        "asm" => Command::Asm(options()?),
        "dis" => Command::Dis(options()?),
        "info" => Command::Info(options()?),
        "eval" => Command::Eval(options()?),
        _ => return None,
    })
}

fn main() -> ExitCode {
    let command = match parsed() {
        Ok(cli) => cli.command,
        Err(e) if e.use_stderr() => e.exit(),
        // The output of --help or --version.
        Err(e) => {
            let printed = e.print().and_then(|()| std::io::stdout().flush());
            return match printed {
                Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
                    io::complain(&format!("gcn: standard output: {e}\n"));
                    ExitCode::FAILURE
                }
                _ => ExitCode::SUCCESS,
            };
        }
    };
    let result = match command {
        Command::Asm(args) => asm::run(&args),
        Command::Compile(args) => compile::run(&args),
        Command::Dis(args) => dis::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Run(args) => run::run(*args),
        Command::Merge(args) => merge::run(&args),
        Command::Campaign(args) => campaign::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Debug(args) => debug::run(&args),
        Command::Analyze(args) => analyze::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Doc(args) => doc::run(&args),
        Command::Bundle(args) => bundle::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Web(args) => web::run(&args),
        Command::Hip(args) => hip::run(&args),
        Command::Completions(args) => help::completions(&args, Cli::command()),
        Command::Man(args) => help::man(&args, Cli::command()),
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
