//! `gcn campaign`: many independent items, with a journal.

use std::io::IsTerminal;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use clap::Args;
use gcn::campaign::journal::{self, Journal, Record};
use gcn::campaign::{self, Campaign};
use gcn::emu::dispatch::observers::Control;
use gcn::io;
use gcn::isa::Target;
use gcn::shard::Part;
use indicatif::{ProgressBar, ProgressStyle};

use super::attend::{self, Interrupts};

#[derive(Args)]
#[command(after_help = "\
FILE.toml has sections; each item of one is independent of all others (docs/clusters.md has the whole form):

  checks = \"-uninit\"              # what gcn check looks for in runs, or \"none\"
  max-instructions = 100000000    # of a launch, so that every item ends

  [[sweep]]                       # a plan with other values: an item for each combination
  plan = \"saxpy.toml\"
  matrix.count = [100, 1000, 4096]                # a parameter that `set` uses
  matrix.\"launch.0.group\" = [[64], [256]]         # or a place of the plan
  matrix.\"buffers.x.random.seed\" = \"1..=100\"
  set.\"buffers.x.count\" = \"${count}\"
  set.\"launch.0.grid\" = [\"${count}\"]
  set.\"launch.0.args.2\" = \"u32:${count}\"
  exclude = [{ count = 100, \"launch.0.group\" = [256] }]

  [[mutate]]                      # a plan whose code is changed in one instruction
  plan = \"sums.toml\"
  of = [\"waits\", \"nops\", \"barriers\", \"operands\"]  # by default the first three

  [[fuzz]]                        # random programs: every engine must give the same
  target = [\"gfx701\", \"gfx900\"]
  seeds = \"0..5000\"

Each item that has run is a line of the journal, on disk before it counts. If the command is killed, the same command goes on with the
items that are left, and the end is the same. With --shard I/N, as under Slurm and GNU parallel, each process has its own items and journal;
--summary unites journals. docs/clusters.md has examples.

Exit status: 0 all items ran, and are right (mutations that survive are not wrong); 1 not, or an input is wrong; 2 the command line is
wrong; 130 interrupted.

Examples:
  gcn campaign campaign.toml
  gcn campaign campaign.toml --json > summary.json
  gcn campaign campaign.toml --item 17
  seq 0 7 | parallel gcn campaign campaign.toml --shard {}/8
  gcn campaign campaign.toml --summary campaign.*.journal")]
pub struct Options {
    /// The campaign (.toml)
    file: PathBuf,
    /// The journal; by default FILE with the extension .journal, for a shard .I-of-N.journal
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Run part I of N of the items, from 0
    #[arg(long, value_name = "I/N", value_parser = Part::parse)]
    shard: Option<Part>,
    /// Items that run at once; by default one per core
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Run this item alone, without a journal, and print its record
    #[arg(long, value_name = "N", conflicts_with_all = ["journal", "shard", "summary", "results"])]
    item: Option<u64>,
    /// Run nothing; summarize these journals of all shards
    #[arg(long, value_name = "JOURNAL", num_args = 1.., conflicts_with_all = ["journal", "shard", "threads"])]
    summary: Vec<PathBuf>,
    /// Write the records of all items, in their order, as JSON lines; `-` is standard output
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// The target of source and entries that do not name it
    #[arg(long, value_parser = super::target(), ignore_case = true, hide_possible_values = true)]
    arch: Option<Target>,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

/// Runs the remaining items of a campaign.
///
/// # Errors
/// A message: an invalid file, a journal of another campaign, or items that failed.
pub fn run(args: &Options) -> Result<(), String> {
    let campaign = Campaign::read(&args.file, args.arch)?;
    if let Some(item) = args.item {
        return one(&campaign, item);
    }
    if !args.summary.is_empty() {
        let records = journal::unite(&args.summary, &campaign)?;
        let missing = campaign.items() - records.len() as u64;
        print(args, &campaign, &records)?;
        return match missing {
            0 => Ok(()),
            n => Err(format!("{n} of {} items have not run", campaign.items())),
        };
    }
    let part = args.shard.unwrap_or(Part { index: 0, count: 1 });
    let path = (args.journal.clone()).unwrap_or_else(|| campaign.journal(args.shard));
    let mut journal = Journal::open(&path, &campaign)?;
    if journal.torn() > 0 {
        io::complain(&format!(
            "gcn: note: {}: {} bytes of records that were not complete are cut off; their items run again\n",
            path.display(),
            journal.torn()
        ));
    }
    let interrupts = Interrupts::new();
    let bar = match std::io::stderr().is_terminal() {
        true => ProgressBar::new(campaign.items_of(part)),
        false => ProgressBar::hidden(),
    };
    let style = "{wide_bar} {pos}/{len} items, {elapsed_precise}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    let ran = campaign.run(
        &mut journal,
        &campaign::Options {
            part,
            threads: args.threads.map_or_else(super::cores, NonZeroUsize::get),
            stop: interrupts.pressed.clone(),
            progress: &|done| bar.set_position(done),
        },
    );
    bar.finish_and_clear();
    ran?;
    let items = (part.index..campaign.items()).step_by(part.count as usize);
    let records: Vec<Record> = journal.records().to_vec();
    let done = records.len() as u64;
    if interrupts.pressed.load(Relaxed) && done < items.count() as u64 {
        let left = campaign.items_of(part) - done;
        let told =
            format!("interrupted; {left} items are left, and the same command goes on with them");
        attend::end_interrupted(&told);
    }
    print(args, &campaign, &records)
}

/// Runs an item and prints its record.
fn one(campaign: &Campaign, item: u64) -> Result<(), String> {
    let interrupts = Interrupts::new();
    let control = Arc::new(Control::new(interrupts.pressed.clone()));
    match campaign.run_item(item, &control) {
        Some(record) => io::print(format!("{:#}\n", record.json).as_bytes()),
        None if interrupts.pressed.load(Relaxed) => attend::end_interrupted("interrupted"),
        None => Err(format!(
            "there is no item {item}: the campaign has {}, from 0",
            campaign.items()
        )),
    }
}

/// Prints and writes the summary of records.
fn print(args: &Options, campaign: &Campaign, records: &[Record]) -> Result<(), String> {
    let summary = campaign.summary(records);
    if let Some(path) = &args.results {
        let mut sorted: Vec<&Record> = records.iter().collect();
        sorted.sort_by_key(|r| r.item);
        let lines: String = sorted.iter().map(|r| format!("{}\n", r.json)).collect();
        match path.as_os_str() == "-" {
            true => io::print(lines.as_bytes())?,
            false => io::write(path, lines.as_bytes())?,
        }
    }
    let text = match args.json {
        true => format!("{}\n", summary.json()),
        false => summary.text(),
    };
    io::print(text.as_bytes())?;
    match summary.bad() {
        0 => Ok(()),
        n => Err(format!("{n} of {} items are not right", summary.done)),
    }
}
