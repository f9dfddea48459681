//! `cargo xtask mutate`: weakens and removes each s_waitcnt and s_nop of code objects, and prints the share of these changes
//! that `gcn check --static` reports, and the reasons why the others have no effect.

mod dynamic;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use gcn::check::mutate::{self, Change, Reason};
use gcn::check::report::{Check, Finding, Severity};
use gcn::check::statically;
use gcn::check::waitcnt::Entry;
use gcn::isa::access::InstructionTable;
use gcn::isa::print::{Style, print};
use gcn::object::CodeObject;

#[derive(clap::Args)]
pub struct Options {
    /// Code objects
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Run the kernels under all checks, with each s_waitcnt and s_barrier taken out in turn. The files are named as those of
    /// testdata/programs/objects
    #[arg(long)]
    run: bool,
    /// Print each change that is not reported
    #[arg(long)]
    list: bool,
    /// Only every Nth kernel or function
    #[arg(long, value_name = "N", default_value_t = 1)]
    every: usize,
}

/// The results of all changes so far.
#[derive(Default)]
pub struct Totals {
    kernels: usize,
    /// By change: the number of reported ones, and the number of all.
    changes: BTreeMap<String, (u64, u64)>,
    /// By change and reason: the number of those that were not reported.
    reasons: BTreeMap<(String, Reason), u64>,
}

/// Runs the task. Returns false if a change was wrongly not reported.
///
/// # Errors
/// If a file cannot be checked.
pub fn run(options: &Options) -> Result<bool> {
    if options.run {
        return dynamic::run(&options.files, options.list);
    }
    let mut totals = Totals::default();
    for file in &options.files {
        let of_file = || file.display().to_string();
        let bytes = std::fs::read(file).with_context(of_file)?;
        let object = CodeObject::parse(&bytes).with_context(of_file)?;
        totals.object(&object, &of_file(), options.list, options.every)?;
    }
    totals.print();
    Ok(totals.complete())
}

impl Totals {
    /// Applies every change to an object's kernels and functions, or to one in `every`. Returns the number of hazards that are
    /// reported in the unchanged object.
    ///
    /// # Errors
    /// If the object cannot be checked.
    pub fn object(
        &mut self,
        object: &CodeObject,
        name: &str,
        list: bool,
        every: usize,
    ) -> Result<usize> {
        let target = gcn::dis::target_of(object).map_err(|e| anyhow!("{name}: {e}"))?;
        let table = InstructionTable::new(target);
        let wanted = statically::Options {
            notes: true,
            ..statically::Options::default()
        };
        let checked = statically::check(object, &table, None, &wanted);
        let mut hazards = 0;
        for mut checked in checked.map_err(|e| anyhow!("{name}: {e}"))? {
            let is_hazard =
                |f: &&Finding| f.check == Check::Hazard && f.severity == Severity::Error;
            hazards += checked.findings.iter().filter(is_hazard).count();
            self.kernels += 1;
            if self.kernels.is_multiple_of(every.max(1)) {
                self.kernel(list, name, &mut checked);
            }
        }
        Ok(hazards)
    }

    /// Prints a line for each kind of change, and below it the reasons why changes are not reported.
    pub fn print(&self) {
        println!("{:42} {:>9} {:>9}", "change", "reported", "of");
        for (change, (reported, all)) in &self.changes {
            println!("{change:42} {reported:9} {all:9}");
            for ((_, reason), count) in self.reasons.iter().filter(|r| r.0.0 == *change) {
                println!("    {:38} {count:9}", reason.name());
            }
        }
    }

    /// Returns true if there is a reason for each change that is not reported.
    pub fn complete(&self) -> bool {
        self.reasons
            .keys()
            .all(|(_, reason)| *reason != Reason::Missed)
    }

    fn kernel(&mut self, list: bool, file: &str, checked: &mut statically::Checked<'_>) {
        let entry = if checked.kernel {
            Entry::Kernel
        } else {
            Entry::Function
        };
        let graph = &mut checked.graph;
        for at in 0..graph.sites.len() {
            for change in mutate::changes(graph, at) {
                let found = mutate::findings(
                    graph,
                    at,
                    change,
                    entry,
                    checked.settings,
                    &checked.findings,
                );
                let name = match change {
                    Change::Without(counter) => format!("s_waitcnt without {}", counter.name()),
                    Change::Weaker(counter) => format!("s_waitcnt with 1 more {}", counter.name()),
                    Change::NoNop => "without s_nop".into(),
                    Change::ShorterNop => "s_nop shorter by 1".into(),
                };
                let total = self.changes.entry(name.clone()).or_default();
                total.1 += 1;
                if !found.is_empty() {
                    total.0 += 1;
                    continue;
                }
                let reason = mutate::reason(graph, at, change);
                *self.reasons.entry((name.clone(), reason)).or_default() += 1;
                if list {
                    let mut text = String::new();
                    print(&graph.sites[at].insn, &Style::LLVM, &mut text);
                    let location = format!("{file}: {} at {:#x}", checked.name, graph.sites[at].pc);
                    println!("{location}: {text}: {name}: {}", reason.name());
                }
            }
        }
    }
}
