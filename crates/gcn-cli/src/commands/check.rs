//! `gcn check`: finds errors in kernels.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use clap::error::ErrorKind;
use gcn::check::dynamic::metrics::{self, Metrics};
use gcn::check::dynamic::{self, Checker};
use gcn::check::report::{Check, Report};
use gcn::check::{sarif, statically, suppress, text};
use gcn::emu::dispatch::observers::Observe;
use gcn::isa::access::InstructionTable;
use gcn::lines::{Files, Lines, Sources};
use gcn::plan::{self, Plan};
use gcn::{dis, io};
use serde_json::{Value, json};

#[derive(Args)]
#[command(after_help = "\
FILE and what is launched are those of `gcn run`: a plan, source, or a code object with --grid, --group
and --arg (`gcn run --help` describes arguments). A launch in which nothing is suspicious runs compiled; any other
runs again, interpreted, with its workgroups in one order, so the reports are the same every time. With --static nothing runs: all paths through the code are looked at.

Exit status: 0 it ran and nothing was reported; 1 something was, or it failed; 2 the command line is
wrong. docs/check.md describes the checks and how to read reports.

Examples:
  gcn check vadd.co --kernel vadd --grid 1000 --group 256 --arg buf:randf32:4000:1 \\
      --arg buf:randf32:4000:2 --arg buf:zero:4000 --arg u32:1000
  gcn check examples/saxpy.toml --checks oob,race --metrics
  gcn check --static kernel.co
  gcn check --static kernel.co --kernel vadd --checks hazard
  gcn check --static kernel.co --gen-suppressions > known
  gcn check --static kernel.co --suppress known --sarif reports.sarif")]
pub struct Options {
    #[command(flatten)]
    launch: super::run::Launching,
    /// Check all paths through the code without running it
    #[arg(long = "static", conflicts_with_all = ["grid", "group", "offset", "dynamic_lds", "any_type", "args", "outs", "threads", "deterministic", "repeat", "max_instructions", "debug_traps", "metrics"])]
    all_paths: bool,
    /// The checks: oob,uninit,waitcnt,hazard,race,barrier,coherence (the default), exec,mode; with --static
    /// waitcnt,hazard,uninit; `all` adds notes; `-NAME` takes one out
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    checks: Option<String>,
    /// Count LDS bank conflicts, 64-byte lines of memory, and active lanes, by instruction
    #[arg(long)]
    metrics: bool,
    /// As JSON (docs/json.md)
    #[arg(long)]
    json: bool,
    /// Also write the reports as SARIF 2.1.0; `-` is standard output
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Leave out the reports that the file's lines name
    #[arg(long, value_name = "FILE")]
    suppress: Option<PathBuf>,
    /// Print lines for --suppress, one for each report, instead of the reports
    #[arg(long, conflicts_with = "json")]
    gen_suppressions: bool,
    /// Print at most N reports
    #[arg(long, value_name = "N")]
    max_reports: Option<usize>,
}

/// Reads LIST.
///
/// # Errors
/// The word that is not the name of a check.
fn checks(list: &str) -> Result<statically::Options, String> {
    let mut options = statically::Options::default();
    let defaults = options.checks.clone();
    let words: Vec<&str> = list
        .split(',')
        .map(str::trim)
        .filter(|w| !w.is_empty())
        .collect();
    if words.iter().any(|word| !word.starts_with('-')) {
        options.checks = BTreeSet::new();
    }
    for word in words {
        let (out, name) = match word.strip_prefix('-') {
            Some(name) => (true, name),
            None => (false, word),
        };
        if name == "all" && !out {
            options.checks.extend(&defaults);
            options.notes = true;
            continue;
        }
        let check = Check::ALL.into_iter().find(|c| c.name() == name);
        let check = check.ok_or_else(|| {
            let names: Vec<&str> = defaults.iter().map(|c| c.name()).collect();
            format!("`{name}` is no check: expected {} or all", names.join(", "))
        })?;
        if !out && !defaults.contains(&check) {
            return Err(format!(
                "`{name}` needs a run: of all paths, only waitcnt, hazard and uninit are checked"
            ));
        }
        match out {
            true => options.checks.remove(&check),
            false => options.checks.insert(check),
        };
    }
    Ok(options)
}

/// A run with checks.
pub struct Checking(Arc<Checker>);

/// The result of a checked run.
pub struct Outcome {
    /// The reports.
    pub reports: Vec<Report>,
    metrics: Option<Metrics>,
}

impl Checking {
    /// Prepares a run. An invalid LIST ends the command.
    pub fn begin(
        command: &str,
        list: Option<&str>,
        metrics: bool,
        options: &mut plan::Options,
    ) -> Checking {
        let mut checks = match dynamic::Options::parse(list.unwrap_or("")) {
            Ok(checks) => checks,
            Err(why) => super::wrong_usage(command, ErrorKind::InvalidValue, &why),
        };
        checks.metrics = metrics;
        let checker = Arc::new(Checker::new(checks));
        options.checker = Some(checker.clone());
        Checking(checker)
    }

    /// The observer of the run.
    pub fn observer(&self) -> Arc<dyn Observe> {
        self.0.clone()
    }

    /// Returns the results.
    pub fn found(self, plan: &Plan) -> Outcome {
        let sources = Sources::new(&plan.objects);
        let found = self.0.found(|kernel, offset| {
            let line = sources.line(kernel, offset)?;
            line.lines().next().map(str::to_owned)
        });
        Outcome {
            reports: found.reports,
            metrics: self.0.options().metrics.then_some(found.metrics),
        }
    }
}

impl Outcome {
    /// The reports as text.
    pub fn text(&self, file: &str) -> String {
        let mut out = String::new();
        let mut files = Files::default();
        for report in &self.reports {
            let line = |name: &str| files.named(name).map(str::to_owned);
            text::report(&mut out, report, file, line);
        }
        out
    }

    /// The reports as JSON.
    pub fn json(&self) -> Value {
        self.reports.iter().map(Report::json).collect()
    }
}

/// Checks and prints reports.
///
/// # Errors
/// A message with the file's name; an empty one if there were reports.
pub fn run(args: &Options) -> Result<(), String> {
    if args.all_paths {
        let reports = all_paths(args)?;
        return print(args, reports, (None, None), Ok(()));
    }
    let (plan, mut options) = super::run::plan_of(&args.launch, "check")?;
    let checking = Checking::begin("check", args.checks.as_deref(), args.metrics, &mut options);
    options.observers.observe = Some(checking.observer());
    // Standard output is for reports.
    options.text_to_stderr = true;
    let (ran, interrupted) = super::attend::run(&plan, &mut options);
    let found = checking.found(&plan);
    let (run, failed) = match &ran {
        Ok(report) => (
            Some(super::run::report_json(report)),
            super::run::failed_checks(report),
        ),
        Err(failure) => (failure.json(), Err(failure.message.clone())),
    };
    let printed = print(args, found.reports, (found.metrics, run), failed);
    match (interrupted, &ran) {
        (true, Err(failure)) => super::attend::end_interrupted(&failure.message),
        _ => printed,
    }
}

/// The reports of the static checks.
fn all_paths(args: &Options) -> Result<Vec<Report>, String> {
    let options = match args.checks.as_deref().map(checks) {
        None => statically::Options::default(),
        Some(Ok(options)) => options,
        Some(Err(why)) => super::wrong_usage("check", ErrorKind::InvalidValue, &why),
    };
    let launch = &args.launch;
    let object = launch.choice.object(&launch.file, launch.arch)?;
    let named = |e: String| format!("{}: {e}", launch.file.display());
    let target = dis::target_of(&object).map_err(named)?;
    let table = InstructionTable::new(target);
    let lines = Lines::read(&object, false).ok();
    let checked = statically::check(&object, &table, launch.kernel.as_deref(), &options);
    let mut reports = Vec::new();
    for checked in checked.map_err(named)? {
        let source = |pc: u64| {
            let line = lines.as_ref()?.at(checked.section, pc)?;
            Some(line.to_string())
        };
        let of = |finding| Report::of_code(&checked.name, &checked.graph, finding, &source);
        reports.extend(checked.findings.iter().map(of));
    }
    Ok(reports)
}

/// Prints reports and the other results of a run: metrics, and its own JSON. `failed` is the reason of a failure.
fn print(
    args: &Options,
    mut reports: Vec<Report>,
    (metrics, run): (Option<Metrics>, Option<Value>),
    failed: Result<(), String>,
) -> Result<(), String> {
    let found = reports.len();
    if let Some(path) = &args.suppress {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|e| format!("{}: {e}", path.display()))?;
        let list = suppress::parse(&text);
        let list = list.map_err(|(line, why)| format!("{}:{line}: {why}", path.display()))?;
        reports.retain(|report| !list.iter().any(|s| s.covers(report)));
    }
    let suppressed = found - reports.len();
    let file = args.launch.file.display().to_string();
    if let Some(path) = &args.sarif {
        let log = sarif::log(&reports, &file);
        match path.as_os_str() == "-" {
            true => io::print(format!("{log:#}\n").as_bytes())?,
            false => io::write(path, format!("{log:#}\n").as_bytes())?,
        }
    }
    let shown = args.max_reports.unwrap_or(usize::MAX).min(reports.len());
    if args.json {
        let list: Vec<Value> = reports[..shown].iter().map(Report::json).collect();
        let mut all = json!({"reports": list, "total": reports.len(), "suppressed": suppressed});
        if let Some(metrics) = &metrics {
            all["metrics"] = metrics::json(metrics);
        }
        if !args.all_paths {
            all["run"] = run.unwrap_or(Value::Null);
        }
        io::print(format!("{all}\n").as_bytes())?;
    } else if args.gen_suppressions {
        let lines: BTreeSet<String> = reports[..shown].iter().map(suppress::line).collect();
        let lines: Vec<String> = lines.into_iter().map(|line| line + "\n").collect();
        io::print(lines.concat().as_bytes())?;
    } else {
        let mut out = String::new();
        let mut files = Files::default();
        for report in &reports[..shown] {
            let line = |name: &str| files.named(name).map(str::to_owned);
            text::report(&mut out, report, &file, line);
        }
        if shown < reports.len() {
            out.push_str(&format!("{} more reports\n", reports.len() - shown));
        }
        if let Some(metrics) = &metrics {
            out.push_str(&metrics::text(metrics));
        }
        io::print(out.as_bytes())?;
    }
    match reports.is_empty() {
        true => failed,
        false => Err(failed.err().unwrap_or_default()),
    }
}
