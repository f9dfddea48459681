//! Campaigns: many independent items. Each is a run of a plan with other values (a sweep), a run of a plan with a change of its
//! code (a mutation), or a random program on all engines (docs/clusters.md).
//!
//! An item's record depends on the campaign and the item's number alone, so items may run in any order, on any machine, and again after a
//! crash. A [`Journal`] keeps the records of items that have run.

mod file;
pub mod journal;
mod mutants;
mod programs;
mod summary;
mod sweep;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc;

use gcn_check::dynamic::{self, Checker};
use gcn_check::report::Severity;
use gcn_emu::dispatch::RunError;
use gcn_emu::dispatch::observers::Control;
use gcn_isa::Target;
use serde_json::{Map, Value as Json, json};

use crate::plan::{self, Plan};
use crate::shard::Part;
pub use journal::{Journal, Record};
pub use summary::{SectionSummary, Summary};

/// The result of an item.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// It ran, the plan's checks hold, and nothing was reported.
    Ok,
    /// A mutation that was not noticed.
    Survived,
    /// The checker reported something.
    Reported,
    /// The kernel failed: a fault, a trap, a deadlock, a limit.
    Failed,
    /// A check of the plan does not hold.
    Wrong,
    /// The engines differ, or the text does not give the same bytes.
    Differs,
    /// The item could not be run: the plan is invalid with its values.
    Error,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Outcome; 7] = [
        Outcome::Ok,
        Outcome::Survived,
        Outcome::Reported,
        Outcome::Failed,
        Outcome::Wrong,
        Outcome::Differs,
        Outcome::Error,
    ];

    /// Its name in journals and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Survived => "survived",
            Outcome::Reported => "reported",
            Outcome::Failed => "failed",
            Outcome::Wrong => "wrong",
            Outcome::Differs => "differs",
            Outcome::Error => "error",
        }
    }

    /// The outcome of a name.
    pub fn parse(name: &str) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|o| o.name() == name)
    }
}

/// The data that the items of a section share.
enum Kind {
    Sweep(sweep::Sweep),
    Mutate(mutants::Mutants),
    Fuzz(programs::Programs),
}

/// A `[[sweep]]`, `[[mutate]]` or `[[fuzz]]`.
struct Section {
    name: String,
    /// The number of its first item.
    first: u64,
    items: u64,
    kind: Kind,
    /// The checks of runs. `None`: no checks, and code is compiled.
    checks: Option<dynamic::Options>,
}

impl Section {
    const fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Sweep(_) => "sweep",
            Kind::Mutate(_) => "mutate",
            Kind::Fuzz(_) => "fuzz",
        }
    }
}

/// A campaign.
pub struct Campaign {
    path: PathBuf,
    target: Option<Target>,
    sections: Vec<Section>,
    max_instructions: u64,
    /// A hash of the file and of all files that it names.
    print: [u8; 32],
}

/// A run of a plan within an item.
struct Running<'a> {
    checks: Option<&'a dynamic::Options>,
    max_instructions: u64,
    control: &'a Arc<Control>,
    /// True if each launch's time is recorded.
    times: bool,
}

impl Running<'_> {
    /// Runs the plan, if it could be read, and adds the result or the message to the record. Returns `None` if it was interrupted.
    fn run(
        &self,
        read: Result<(Plan, plan::Options), String>,
        record: &mut Map<String, Json>,
    ) -> Option<Outcome> {
        let (mut plan, mut options) = match read {
            Ok(read) => read,
            Err(message) => {
                record.insert("message".into(), message.into());
                return Some(Outcome::Error);
            }
        };
        // Items run concurrently, and must not write the same files.
        plan.saves.clear();
        options.threads = 1;
        options.deterministic = true;
        options.text_to_stderr = true;
        options.observers.control = Some(self.control.clone());
        let most = options.max_instructions.unwrap_or(u64::MAX);
        options.max_instructions = Some(most.min(self.max_instructions));
        let checker = self.checks.map(|c| Arc::new(Checker::new(c.clone())));
        if let Some(checker) = &checker {
            options.checker = Some(checker.clone());
            options.observers.observe = Some(checker.clone());
        }
        let mut outcome = match plan::run(&plan, &options) {
            Ok(report) => {
                record.insert("instructions".into(), report.instructions.into());
                record.insert("waves".into(), report.waves.into());
                if self.times {
                    let times: Vec<&Vec<f64>> = report.launches.iter().map(|l| &l.ms).collect();
                    record.insert("ms".into(), json!(times));
                }
                match report.checks.iter().find(|c| c.wrong > 0) {
                    None => Outcome::Ok,
                    Some(check) => {
                        let text = check.text();
                        record.insert("message".into(), text.lines().next().unwrap_or("").into());
                        Outcome::Wrong
                    }
                }
            }
            Err(failure) => {
                let outcome = match failure.run.as_deref() {
                    Some(RunError::Interrupted { .. }) => return None,
                    Some(_) => Outcome::Failed,
                    None => Outcome::Error,
                };
                record.insert("message".into(), failure.message.trim_end().into());
                outcome
            }
        };
        let reports = checker.map(|c| c.reports()).unwrap_or_default();
        let errors = reports.iter().filter(|r| r.severity == Severity::Error);
        let errors: Vec<Json> = errors
            .map(|r| {
                json!({"check": r.check.name(), "rule": r.rule, "kernel": r.kernel, "pc": r.pc, "message": r.message, "count": r.count})
            })
            .collect();
        if !errors.is_empty() {
            record.insert("reports".into(), errors.into());
            outcome = Outcome::Reported;
        }
        Some(outcome)
    }
}

/// The options of a campaign's run.
pub struct Options<'a> {
    /// The part of the items that run: those whose number modulo the number of parts is the part's index.
    pub part: Part,
    /// The number of items that run at once.
    pub threads: usize,
    /// Set to end the run. Items that have not ended are left for the next run.
    pub stop: Arc<AtomicBool>,
    /// Called after items have been recorded, with the number recorded so far, in this and earlier runs.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

impl Campaign {
    /// Reads a campaign, the plans that it names, and their code.
    ///
    /// # Errors
    /// A message with file, line and column.
    pub fn read(path: &std::path::Path, target: Option<Target>) -> Result<Campaign, String> {
        file::read(path, target)
    }

    /// The number of items.
    pub fn items(&self) -> u64 {
        self.sections.last().map_or(0, |s| s.first + s.items)
    }

    /// The number of items of a part.
    pub fn items_of(&self, part: Part) -> u64 {
        self.items().saturating_sub(part.index).div_ceil(part.count)
    }

    /// A hash of the campaign, its plans, their code and their files: a journal belongs to one campaign.
    pub fn print(&self) -> String {
        self.print.iter().map(|b| format!("{b:02x}")).collect()
    }

    /// The default name of the journal: beside the file, with the extension `.journal`, for a part `.I-of-N.journal`.
    pub fn journal(&self, part: Option<Part>) -> PathBuf {
        self.path.with_extension(match part {
            None => "journal".to_owned(),
            Some(part) => format!("{}-of-{}.journal", part.index, part.count),
        })
    }

    fn section_of(&self, item: u64) -> Option<&Section> {
        self.sections
            .iter()
            .find(|s| (s.first..s.first + s.items).contains(&item))
    }

    /// Runs an item. Returns `None` if it was interrupted, or does not exist.
    pub fn run_item(&self, item: u64, control: &Arc<Control>) -> Option<Record> {
        let section = self.section_of(item)?;
        let mut record = Map::new();
        record.insert("item".into(), item.into());
        record.insert("section".into(), section.name.as_str().into());
        record.insert("outcome".into(), Json::Null);
        let n = item - section.first;
        let running = Running {
            checks: section.checks.as_ref(),
            max_instructions: self.max_instructions,
            control,
            times: matches!(&section.kind, Kind::Sweep(sweep) if sweep.times),
        };
        let ran = catch_unwind(AssertUnwindSafe(|| {
            let record = &mut record;
            match &section.kind {
                Kind::Sweep(sweep) => sweep.run(n, self.target, &running, record),
                Kind::Mutate(mutants) => mutants.run(n, self.target, &running, record),
                Kind::Fuzz(programs) => Some(programs.run(n, record)),
            }
        }));
        let outcome = match ran {
            Ok(outcome) => outcome?,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or(panic.downcast_ref::<&str>().copied());
                let message = format!("internal error: {}", text.unwrap_or("unknown"));
                record.insert("message".into(), message.into());
                Outcome::Error
            }
        };
        record.insert("outcome".into(), outcome.name().into());
        Some(Record {
            item,
            outcome,
            json: Json::Object(record),
        })
    }

    /// Runs the items of a part that the journal does not have, and adds their records to it.
    ///
    /// # Errors
    /// A message: the journal cannot be written.
    pub fn run(&self, journal: &mut Journal, options: &Options<'_>) -> Result<(), String> {
        let done: BTreeSet<u64> = journal.records().iter().map(|r| r.item).collect();
        let items = (options.part.index..self.items()).step_by(options.part.count as usize);
        let left: Vec<u64> = items.filter(|n| !done.contains(n)).collect();
        (options.progress)(done.len() as u64);
        let next = AtomicUsize::new(0);
        let control = Arc::new(Control::new(options.stop.clone()));
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel::<Record>(1024);
            for _ in 0..options.threads.clamp(1, left.len().max(1)) {
                let (sender, left, next, control) = (sender.clone(), &left, &next, &control);
                scope.spawn(move || {
                    while !options.stop.load(Relaxed)
                        && let Some(item) = left.get(next.fetch_add(1, Relaxed))
                        && let Some(record) = self.run_item(*item, control)
                        && sender.send(record).is_ok()
                    {}
                });
            }
            drop(sender);
            // All records received so far are made durable by one fsync.
            while let Ok(first) = receiver.recv() {
                let mut batch = vec![first];
                batch.extend(receiver.try_iter());
                if let Err(e) = journal.append(batch) {
                    options.stop.store(true, Relaxed);
                    return Err(e);
                }
                (options.progress)(journal.records().len() as u64);
            }
            Ok(())
        })
    }
}
