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

fn engine(text: &str) -> Result<gcn::engine::Kind, String> {
    gcn::engine::Kind::parse(text)
}

/// How many threads work where no option says.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}
