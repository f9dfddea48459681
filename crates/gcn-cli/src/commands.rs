//! The subcommands, a file each, and the words that several of them take.

pub mod asm;
mod attend;
pub mod bundle;
pub mod check;
pub mod demo;
pub mod dis;
pub mod doc;
pub mod eval;
pub mod help;
pub mod hip;
pub mod info;
pub mod run;

use std::num::NonZeroUsize;
use std::path::Path;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use gcn::engine::{Kind, LEVELS};
use gcn::io;
use gcn::isa::Target;
use gcn::object::CodeObject;

/// Targets by all their names; a shell completes gfx600 … gfx90c.
fn target() -> impl TypedValueParser<Value = Target> {
    let values = Target::all().map(|t| PossibleValue::new(t.name()).aliases(t.info().aliases));
    PossibleValuesParser::new(values).try_map(|name| Target::parse(&name).ok_or("no such target"))
}

/// A target's name, where a code name such as `vega20` is given; an entry's whole id stays as it is.
fn entry_target(text: &str) -> Result<String, String> {
    Ok(Target::parse(text).map_or(text, |t| t.name()).to_string())
}

/// How source is written.
#[derive(Clone, Copy, ValueEnum)]
enum SourceSyntax {
    /// LLVM's reading wins wherever a line is valid LLVM
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

/// Which code object of a file is meant.
#[derive(Args)]
struct Choice {
    /// Of a bundle, or a program or library that carries some: the code for this target (gfx906,
    /// gfx906:xnack-, or an entry's whole id)
    #[arg(long, value_parser = entry_target)]
    target: Option<String>,
    /// The entry of this number (`gcn bundle list --long` has them)
    #[arg(long, value_name = "N")]
    entry: Option<usize>,
}

impl Choice {
    /// The code object that is meant; without --target, that for `arch`.
    fn object(&self, path: &Path, arch: Option<Target>) -> Result<CodeObject, String> {
        let target = self.target.as_deref().or(arch.map(|arch| arch.name()));
        io::code_object(path, target, self.entry)
    }

    /// The same for its source: kernels may be without their metadata.
    fn object_for_source(&self, path: &Path, arch: Option<Target>) -> Result<CodeObject, String> {
        let target = self.target.as_deref().or(arch.map(|arch| arch.name()));
        io::code_object_for_source(path, target, self.entry)
    }
}

/// What runs code, where a command has a choice.
#[derive(Args)]
struct Engine {
    /// What runs the code: interp or jit
    #[arg(long, value_parser = Kind::parse)]
    engine: Option<Kind>,
    /// What instructions of the host the jit may use; by default the best that it has
    #[arg(long, value_name = "LEVEL", value_parser = LEVELS)]
    jit_level: Option<String>,
}

impl Engine {
    /// The engine: of a level that is named, of the name that is given, or `rest`.
    ///
    /// # Errors
    /// A sentence: the host has not the level, or the interpreter is to have one.
    fn kind(&self, rest: Kind) -> Result<Kind, String> {
        match (&self.jit_level, self.engine) {
            (Some(_), Some(Kind::Interp)) => {
                Err("--jit-level is nothing for --engine interp".into())
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
            format!("`{text}` is no address of 48 bits that is a multiple of 4, as 0x10000")
        })
}

/// How many threads work where no option says.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Ends a subcommand with status 2: its command line is wrong.
fn wrong_usage(subcommand: &str, kind: clap::error::ErrorKind, message: &str) -> ! {
    use clap::CommandFactory;
    let mut command = crate::Cli::command();
    let command = match command.find_subcommand_mut(subcommand) {
        Some(found) => {
            // As clap itself names it in a usage line.
            *found = std::mem::take(found).bin_name(format!("gcn {subcommand}"));
            found
        }
        None => &mut command,
    };
    command.error(kind, message).exit()
}
