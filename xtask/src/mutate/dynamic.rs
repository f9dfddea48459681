//! `cargo xtask mutate --run`: runs programs under the checks, unchanged and with each s_waitcnt and s_barrier removed in turn.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use gcn::check::dynamic::{Checker, Options};
use gcn::check::mutate::{self, Change};
use gcn::check::report::Report;
use gcn::check::statically;
use gcn::isa::access::InstructionTable;
use gcn::isa::meaning::Signal;
use gcn::object::CodeObject;
use gcn_emu::dispatch::observers::Observers;

use crate::programs::{self, Case, Made};

/// `s_nop 0`, which replaces the removed instruction.
const NOTHING: u32 = 0xbf80_0000;

#[derive(Default)]
struct Totals {
    launches: usize,
    reports: Vec<String>,
    /// By removed instruction: the number of reports, and the reasons why it was not reported.
    reported: BTreeMap<&'static str, usize>,
    silent: BTreeMap<(&'static str, &'static str), usize>,
}

/// Runs the task. Returns false if an unchanged program was reported.
pub fn run(files: &[PathBuf], list: bool) -> Result<bool> {
    let cases = programs::cases();
    let mut totals = Totals::default();
    for file in files {
        totals
            .file(file, &cases, list)
            .with_context(|| file.display().to_string())?;
    }
    println!(
        "{} launches as they are, {} reports",
        totals.launches,
        totals.reports.len()
    );
    totals
        .reports
        .iter()
        .for_each(|report| println!("    {report}"));
    println!("{:12} {:42} {:>6}", "taken out", "", "");
    for (what, count) in &totals.reported {
        println!("{what:12} {:42} {count:6}", "reported");
        for ((_, why), count) in totals.silent.iter().filter(|s| s.0.0 == *what) {
            println!("{what:12} {why:42} {count:6}");
        }
    }
    Ok(totals.reports.is_empty())
}

/// The reports of a launch.
fn reports(case: &Case, object: &CodeObject) -> Result<Vec<Report>> {
    let checker = Arc::new(Checker::new(Options::default()));
    let observers = Observers {
        observe: Some(checker.clone()),
        ..Observers::default()
    };
    let ran = case.run_watched(object, observers);
    let reports = checker.reports();
    match ran {
        Err(why) if reports.is_empty() => Err(anyhow!("{}: {why}", case.kernel)),
        _ => Ok(reports),
    }
}

impl Totals {
    fn file(&mut self, file: &Path, cases: &[Case], list: bool) -> Result<()> {
        let name = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let mut parts = name.split('-');
        let (Some(source), Some(target), Some(library)) =
            (parts.next(), parts.next(), parts.next())
        else {
            return Err(anyhow!("the name is not SOURCE-TARGET-LIBRARY-vN-LEVEL"));
        };
        let version = parts.next().and_then(|v| v.strip_prefix('v')?.parse().ok());
        let made = Made {
            target,
            library,
            version: version.unwrap_or(2),
        };
        let bytes = std::fs::read(file)?;
        let object = CodeObject::parse(&bytes)?;
        let of_file = cases
            .iter()
            .filter(|c| c.file == source && (c.needs)(&made));
        for case in of_file {
            self.launches += 1;
            let found = reports(case, &object)?;
            let told = |r: &Report| format!("{name}: {} at {:#x}: {}", r.kernel, r.pc, r.message);
            self.reports.extend(found.iter().map(told));
            if found.is_empty() {
                self.changes(case, &object, &bytes, list.then_some(&*name))?;
            }
        }
        Ok(())
    }

    /// Applies every change to the kernel of a case.
    fn changes(
        &mut self,
        case: &Case,
        object: &CodeObject,
        bytes: &[u8],
        name: Option<&str>,
    ) -> Result<()> {
        let target = gcn::dis::target_of(object).map_err(|e| anyhow!(e))?;
        let table = InstructionTable::new(target);
        let options = statically::Options::default();
        let checked = statically::check(object, &table, Some(case.kernel), &options);
        let waves = case.group.iter().product::<u32>().div_ceil(64);
        for checked in checked.map_err(|e| anyhow!(e))? {
            let graph = &checked.graph;
            for (at, site) in graph.sites.iter().enumerate() {
                let barrier = graph.signals(at, Signal::Barrier);
                let waits = mutate::changes(graph, at);
                let waits = waits
                    .into_iter()
                    .filter(|c| matches!(c, Change::Without(_)));
                let waits: Vec<Change> = waits.collect();
                if !barrier && waits.is_empty() {
                    continue;
                }
                let section = &object.sections[checked.section];
                let location = section.file.start + (site.pc - section.address) as usize;
                let mut changed = bytes.to_vec();
                let word = changed.get_mut(location..location + 4);
                let word = word.ok_or_else(|| anyhow!("{:#x} is not in the file", site.pc))?;
                word.copy_from_slice(&NOTHING.to_le_bytes());
                let found = reports(case, &CodeObject::parse(&changed)?)?;
                let what = if barrier { "s_barrier" } else { "s_waitcnt" };
                if !found.is_empty() {
                    *self.reported.entry(what).or_default() += 1;
                    continue;
                }
                self.reported.entry(what).or_default();
                let why = match barrier {
                    true if waves == 1 => "one wave in a workgroup",
                    true => "not noticed in this launch",
                    // The reason of the first counter that has one other than the run's.
                    false => (waits.iter())
                        .map(|change| mutate::reason(graph, at, *change))
                        .max()
                        .map_or("", |reason| match reason {
                            mutate::Reason::Missed => "not noticed in this launch",
                            reason => reason.name(),
                        }),
                };
                if let Some(name) = name {
                    println!("{name}: {} at {:#x}: {what}: {why}", checked.name, site.pc);
                }
                *self.silent.entry((what, why)).or_default() += 1;
            }
        }
        Ok(())
    }
}
