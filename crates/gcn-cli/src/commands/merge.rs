//! `gcn merge`: the union of a plan's shards.

use std::path::PathBuf;

use clap::Args;
use gcn::isa::Target;
use gcn::shard::{self, Shard};
use gcn::{io, plan_toml};
use serde_json::json;

use super::run::{failed_checks, report_json};

#[derive(Args)]
#[command(after_help = "\
The files are all parts of the plan, in any order. Bytes that one part alone wrote are its own; bytes that several wrote alike are that;
atomic integer operations without a result are united. Bytes that parts wrote differently are a race, which is reported with both
workgroups. docs/clusters.md says what cannot be sharded.

Exit status: 0 united, and the plan's checks hold; 1 not; 2 the command line is wrong.

Examples:
  for i in 0 1 2 3; do gcn run plan.toml --shard $i/4 --out-shard part$i; done
  gcn merge plan.toml part0 part1 part2 part3
  seq 0 63 | parallel gcn run plan.toml --shard {}/64 --out-shard part{}")]
pub struct Options {
    /// The plan (.toml)
    plan: PathBuf,
    /// The files of gcn run --out-shard
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The target of source and entries that do not name it
    #[arg(long, value_parser = super::target(), ignore_case = true, hide_possible_values = true)]
    arch: Option<Target>,
    /// Print counts, checks and races as JSON
    #[arg(long)]
    json: bool,
}

/// Unites, checks and saves.
///
/// # Errors
/// A message: files that are not shards of the plan, races, or failed checks.
pub fn run(args: &Options) -> Result<(), String> {
    let (plan, options) = plan_toml::read(&args.plan, args.arch)?;
    let shards = args.files.iter().map(|path| {
        let shard = Shard::from_bytes(&io::read(path)?).map_err(|e| io::named(path, e))?;
        Ok((path.display().to_string(), shard))
    });
    let shards = shards.collect::<Result<Vec<_>, String>>()?;
    let merged = match shard::merge(&plan, &options, shards) {
        Ok(merged) => merged,
        Err(error) => {
            if args.json {
                io::print(format!("{}\n", error.json()).as_bytes())?;
            }
            return Err(error.text());
        }
    };
    let report = &merged.report;
    if args.json {
        let mut all = report_json(report);
        all["shards"] = json!(merged.shards);
        io::print(format!("{all}\n").as_bytes())?;
    } else {
        let mut text = format!(
            "{} shards united: {} waves, {} instructions\n",
            merged.shards, report.waves, report.instructions
        );
        report
            .checks
            .iter()
            .filter(|c| c.wrong == 0)
            .for_each(|c| text += &c.text());
        io::print(text.as_bytes())?;
    }
    failed_checks(report)
}
