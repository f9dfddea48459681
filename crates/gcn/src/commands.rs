//! The subcommands, a file each, and the words that several of them take.

pub mod asm;
pub mod bundle;
pub mod demo;
pub mod dis;
pub mod doc;
pub mod eval;
pub mod help;
pub mod info;
pub mod run;

use std::num::NonZeroUsize;
use std::path::Path;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
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

/// How many threads work where no option says.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}
