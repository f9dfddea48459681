//! The subcommands, one file each, and the options that several of them share.

pub mod analyze;
pub mod asm;
mod attend;
pub mod bundle;
pub mod campaign;
pub mod check;
pub mod compile;
pub mod debug;
pub mod demo;
pub mod dis;
pub mod doc;
pub mod eval;
pub mod help;
pub mod hip;
pub mod info;
pub mod merge;
pub mod run;
pub mod web;

use std::num::NonZeroUsize;
use std::path::Path;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use gcn::engine::{Kind, LEVELS};
use gcn::isa::Target;
use gcn::object::CodeObject;
use gcn::{io, plan_toml};

/// Parses a target by any of its names; shells complete gfx600 … gfx90c.
fn target() -> impl TypedValueParser<Value = Target> {
    let values = Target::all().map(|t| PossibleValue::new(t.name()).aliases(t.info().aliases));
    PossibleValuesParser::new(values).try_map(|name| Target::parse(&name).ok_or("no such target"))
}

/// Replaces a code name such as `vega20` by the target's name; an entry's complete id is unchanged.
fn entry_target(text: &str) -> Result<String, String> {
    Ok(Target::parse(text).map_or(text, |t| t.name()).to_string())
}

/// The syntax of source.
#[derive(Clone, Copy, ValueEnum)]
enum SourceSyntax {
    /// LLVM's wherever a line is valid LLVM, otherwise CLRX's
    Auto,
    Llvm,
    Clrx,
}

impl From<SourceSyntax> for gcn::asm::Syntax {
    fn from(syntax: SourceSyntax) -> gcn::asm::Syntax {
        match syntax {
            SourceSyntax::Auto => gcn::asm::Syntax::Auto,
            SourceSyntax::Llvm => gcn::asm::Syntax::Llvm,
            SourceSyntax::Clrx => gcn::asm::Syntax::Clrx,
        }
    }
}

/// Selects a code object in a file.
#[derive(Args)]
struct Choice {
    /// In a bundle, or a program or library with bundles: the code for this target (gfx906,
    /// gfx906:xnack-, or an entry's complete id)
    #[arg(long, value_parser = entry_target)]
    target: Option<String>,
    /// The entry with this number (`gcn bundle list --long` prints them)
    #[arg(long, value_name = "N")]
    entry: Option<usize>,
}

impl Choice {
    /// The selected code object; without --target, the one for `arch`. Source is assembled (.s, .asm) or compiled (.cl, .hip).
    fn object(&self, path: &Path, arch: Option<Target>) -> Result<CodeObject, String> {
        plan_toml::read_object(path, arch, self.target.as_deref(), self.entry)
    }

    /// The selected code object of a file, for its source: kernels may lack their metadata.
    fn object_for_source(&self, path: &Path, arch: Option<Target>) -> Result<CodeObject, String> {
        let target = self.target.as_deref().or(arch.map(|arch| arch.name()));
        io::code_object_for_source(path, target, self.entry)
    }
}

/// Selects the engine.
#[derive(Args)]
struct Engine {
    /// The engine that runs the code: interp or jit
    #[arg(long, value_parser = Kind::parse)]
    engine: Option<Kind>,
    /// The instruction set of the jit's code; by default the best that the host has
    #[arg(long, value_name = "LEVEL", value_parser = LEVELS)]
    jit_level: Option<String>,
}

impl Engine {
    /// The selected engine; `rest` if none is selected.
    ///
    /// # Errors
    /// A sentence: the host does not support the level, or the interpreter is selected with a level.
    fn kind(&self, rest: Kind) -> Result<Kind, String> {
        match (&self.jit_level, self.engine) {
            (Some(_), Some(Kind::Interp)) => {
                Err("--jit-level cannot be used with --engine interp".into())
            }
            (Some(level), _) => Kind::jit_level(level),
            (None, engine) => Ok(engine.unwrap_or(rest)),
        }
    }
}

/// An address of code, decimal or hexadecimal.
fn address(text: &str) -> Result<u64, String> {
    gcn::run::integer(text)
        .and_then(|v| u64::try_from(v).ok())
        .filter(|v| v % 4 == 0 && *v < 1 << 48)
        .ok_or_else(|| {
            format!("`{text}` is not an address: expected a multiple of 4 below 2^48, as 0x10000")
        })
}

/// The default number of threads.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// The columns of the terminal, if the system reports them.
pub fn columns() -> Option<usize> {
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(std::io::stdout())
        && size.ws_col > 0
    {
        return Some(size.ws_col.into());
    }
    std::env::var("COLUMNS").ok()?.parse().ok()
}

/// Ends a subcommand with status 2: wrong usage.
fn wrong_usage(subcommand: &str, kind: clap::error::ErrorKind, message: &str) -> ! {
    let mut command = crate::definition();
    let command = match command.find_subcommand_mut(subcommand) {
        Some(found) => {
            // The name that clap prints in a usage line.
            *found = std::mem::take(found).bin_name(format!("gcn {subcommand}"));
            found
        }
        None => &mut command,
    };
    command.error(kind, message).exit()
}
