//! Checks of a running kernel.
//!
//! A [`Checker`] observes dispatches ([`gcn_emu::dispatch::observers`]). It sees every instruction of every wave with the values that it computes and
//! the accesses that it makes ([`gcn_emu::probe`]), so the interpreter runs the dispatch. The order of workgroups must be a defined one
//! (`deterministic`), so that the reports are the same every time.

mod bounds;
pub mod metrics;
mod path;
mod race;
mod recorder;
mod screen;
mod undefined;
mod watcher;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gcn_emu::dispatch::observers::{About, Observe, Observer, Screened};

pub use bounds::{Allocation, Allocator};
use metrics::Metrics;
pub use undefined::Fresh;

use crate::report::{Check, Report, Severity};

/// The enabled checks and outputs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The checks.
    pub checks: BTreeSet<Check>,
    /// Notes are reported, too.
    pub notes: bool,
    /// Metrics are counted.
    pub metrics: bool,
}

impl Default for Options {
    fn default() -> Options {
        let off = [Check::Exec, Check::Mode];
        let checks = Check::ALL.into_iter().filter(|c| !off.contains(c));
        Options {
            checks: checks.collect(),
            notes: false,
            metrics: false,
        }
    }
}

impl Options {
    /// Reads a list of checks: names separated by commas; `all` for all of them and notes; `-NAME` for all but one.
    ///
    /// # Errors
    /// A sentence about a word that names no check.
    pub fn parse(list: &str) -> Result<Options, String> {
        let mut options = Options::default();
        let words = || list.split(',').map(str::trim).filter(|w| !w.is_empty());
        if words().any(|word| !word.starts_with('-')) {
            options.checks = BTreeSet::new();
        }
        for word in words() {
            let (out, name) = match word.strip_prefix('-') {
                Some(name) => (true, name),
                None => (false, word),
            };
            if name == "all" && !out {
                options.checks.extend(Check::ALL);
                options.notes = true;
                continue;
            }
            let check = Check::ALL.into_iter().find(|c| c.name() == name);
            let check = check.ok_or_else(|| {
                let names: Vec<&str> = Check::ALL.iter().map(|c| c.name()).collect();
                format!("`{name}` is no check: expected {} or all", names.join(", "))
            })?;
            match out {
                true => options.checks.remove(&check),
                false => options.checks.insert(check),
            };
        }
        Ok(options)
    }
}

/// The identity of a report: check, rule, kernel, the address, and the address of the other instruction.
type Key = (Check, &'static str, String, u64, Option<u64>);

#[derive(Default)]
struct State {
    launches: u64,
    allocations: Vec<Allocation>,
    reports: Vec<Report>,
    known: HashMap<Key, usize>,
    metrics: Metrics,
    proved: screen::ProvedKernels,
}

/// An observer that checks dispatches and collects the reports.
pub struct Checker {
    options: Options,
    state: Arc<Mutex<State>>,
    surroundings: Surroundings,
}

/// State shared by the dispatches of a runtime.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// The runtime's allocator.
    pub allocator: Option<Arc<dyn Allocator>>,
    /// The memory that is undefined until something writes it.
    pub fresh: Option<Arc<Fresh>>,
}

/// A launch of a runtime.
#[derive(Clone, Copy, Debug)]
pub struct Launched {
    /// Its number.
    pub number: u64,
    /// The kernel only copies data, so it is no error if it stores undefined data.
    pub moves: bool,
}

/// Checks one launch.
struct OfLaunch {
    checker: Arc<Checker>,
    launched: Launched,
}

impl Observe for OfLaunch {
    fn observer(&self) -> Box<dyn Observer> {
        let checker = &self.checker;
        Box::new(watcher::Watcher::new(
            &checker.options,
            checker.state.clone(),
            checker.surroundings.clone(),
            Some(self.launched),
        ))
    }

    fn probes(&self) -> bool {
        true
    }

    fn ordered(&self) -> bool {
        true
    }

    fn screens_beside_program(&self) -> bool {
        let allocator = &self.checker.surroundings.allocator;
        allocator
            .as_ref()
            .is_some_and(|allocator| allocator.screens())
    }

    fn screen(&self, about: &About<'_>) -> Option<Screened> {
        let Surroundings { allocator, fresh } = &self.checker.surroundings;
        let beside = screen::Beside {
            allocator: allocator.as_deref()?,
            fresh: fresh.as_ref(),
        };
        let allocations = beside.allocator.allocations();
        let options = &self.checker.options;
        let proved = &mut self.checker.state().proved;
        screen::screen(options, about, &allocations, Some(&beside), proved)
    }
}

/// The results of the checks.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The reports, in the order in which they were first found.
    pub reports: Vec<Report>,
    /// The metrics.
    pub metrics: Metrics,
}

impl Checker {
    /// Creates a checker without reports.
    pub fn new(options: Options) -> Checker {
        Checker {
            options,
            state: Arc::default(),
            surroundings: Surroundings::default(),
        }
    }

    /// Creates a checker for the launches of a runtime ([`Checker::of_launch`]).
    pub fn of_runtime(options: Options, surroundings: Surroundings) -> Checker {
        Checker {
            surroundings,
            ..Checker::new(options)
        }
    }

    /// Returns the observer of a launch. The caller chooses the launch's number.
    pub fn of_launch(self: &Arc<Self>, launched: Launched) -> Arc<dyn Observe> {
        Arc::new(OfLaunch {
            checker: self.clone(),
            launched,
        })
    }

    /// Returns the reports that occurred first in this launch, once it has ended. `finish` completes each with what the caller knows.
    pub fn of(&self, launch: u64, finish: impl Fn(&mut Report)) -> Vec<Report> {
        let mut state = self.state();
        let own = |r: &&mut Report| r.at.is_some_and(|at| at.launch == launch);
        let mut all = Vec::new();
        for report in state.reports.iter_mut().filter(own) {
            finish(report);
            all.push(report.clone());
        }
        all
    }

    /// Returns all reports so far.
    pub fn reports(&self) -> Vec<Report> {
        self.state().reports.clone()
    }

    /// Returns the options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Names the allocations of the following dispatches. Unnamed memory is in bounds, too, if it is allocated.
    pub fn name(&self, allocations: Vec<Allocation>) {
        self.state().allocations = allocations;
    }

    /// Returns the results so far. `source` gives the file and line of an instruction, by its kernel and the offset from the kernel's first one.
    pub fn found(&self, source: impl Fn(&str, i64) -> Option<String>) -> Found {
        let state = self.state();
        let mut found = Found {
            reports: state.reports.clone(),
            metrics: state.metrics.clone(),
        };
        for report in &mut found.reports {
            let (kernel, entry) = (&report.kernel, report.entry);
            let line = |pc: u64| source(kernel, pc.wrapping_sub(entry) as i64);
            let own = line(report.pc);
            for other in &mut report.related {
                other.source = other.pc.and_then(line);
            }
            report.source = own;
        }
        found
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Adds a report, or counts another occurrence. Returns its number if it is new.
    fn add(&mut self, report: Report) -> Option<usize> {
        let other = report.related.first().and_then(|o| o.pc);
        let mut pcs = (report.pc, other);
        if let (Check::Race, Some(other)) = (report.check, other) {
            // The order of the two instructions does not matter.
            pcs = (report.pc.min(other), Some(report.pc.max(other)));
        }
        let key = (
            report.check,
            report.rule,
            report.kernel.clone(),
            pcs.0,
            pcs.1,
        );
        if let Some(&known) = self.known.get(&key) {
            self.reports[known].count += 1;
            return None;
        }
        self.known.insert(key, self.reports.len());
        self.reports.push(report);
        Some(self.reports.len() - 1)
    }
}

impl Observe for Checker {
    fn observer(&self) -> Box<dyn Observer> {
        Box::new(watcher::Watcher::new(
            &self.options,
            self.state.clone(),
            self.surroundings.clone(),
            None,
        ))
    }

    fn probes(&self) -> bool {
        true
    }

    fn ordered(&self) -> bool {
        true
    }

    fn screen(&self, about: &About<'_>) -> Option<Screened> {
        if self.surroundings.allocator.is_some() {
            return None;
        }
        let mut state = self.state();
        let State {
            allocations,
            proved,
            ..
        } = &mut *state;
        screen::screen(&self.options, about, allocations, None, proved)
    }

    fn passed(&self) {
        self.state().launches += 1;
    }
}

impl Options {
    fn wants(&self, check: Check, severity: Severity) -> bool {
        let note = severity == Severity::Note && !matches!(check, Check::Exec | Check::Mode);
        self.checks.contains(&check) && (self.notes || !note)
    }
}
