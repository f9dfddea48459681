//! `gcn check`: what is wrong with kernels.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use clap::error::ErrorKind;
use gcn::check::report::{Check, Report};
use gcn::check::{sarif, statically, suppress, text};
use gcn::isa::access::FactTable;
use gcn::lines::Lines;
use gcn::{dis, io};
use serde_json::{Value, json};

#[derive(Args)]
#[command(after_help = "\
Exit status: 0 nothing was reported; 1 something was, or the file is wrong; 2 the command line is
wrong. docs/check.md describes the checks and how to read reports.

Examples:
  gcn check --static kernel.co
  gcn check --static kernel.co --kernel vadd --checks hazard
  gcn check --static app --target gfx906 --json
  gcn check --static kernel.co --gen-suppressions > known
  gcn check --static kernel.co --suppress known --sarif reports.sarif")]
pub struct Options {
    /// A code object, a bundle, or a program or library that carries one; or `-`
    file: PathBuf,
    /// Look at all paths through the code; nothing runs
    #[arg(long = "static", required = true)]
    all_paths: bool,
    #[command(flatten)]
    choice: super::Choice,
    /// The kernel or function; by default all of them
    #[arg(long)]
    kernel: Option<String>,
    /// What is looked for: waitcnt,hazard,uninit; `all` adds notes; `-NAME` takes one out
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    checks: Option<String>,
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
/// The word that is no check.
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

/// Checks and prints reports.
///
/// # Errors
/// A message with the file's name; an empty one if there were reports.
pub fn run(args: &Options) -> Result<(), String> {
    let options = match args.checks.as_deref().map(checks) {
        None => statically::Options::default(),
        Some(Ok(options)) => options,
        Some(Err(why)) => super::wrong_usage("check", ErrorKind::InvalidValue, &why),
    };
    let object = args.choice.object(&args.file, None)?;
    let named = |e: String| format!("{}: {e}", args.file.display());
    let target = dis::target_of(&object).map_err(named)?;
    let table = FactTable::new(target);
    let lines = Lines::read(&object, false).ok();
    let checked = statically::check(&object, &table, args.kernel.as_deref(), &options);
    let mut reports = Vec::new();
    for checked in checked.map_err(named)? {
        let source = |pc: u64| {
            let line = lines.as_ref()?.at(checked.section, pc)?;
            Some(line.to_string())
        };
        let of = |finding| Report::of_code(&checked.name, &checked.graph, finding, &source);
        reports.extend(checked.findings.iter().map(of));
    }
    let found = reports.len();
    if let Some(path) = &args.suppress {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|e| format!("{}: {e}", path.display()))?;
        let list = suppress::parse(&text);
        let list = list.map_err(|(line, why)| format!("{}:{line}: {why}", path.display()))?;
        reports.retain(|report| !list.iter().any(|s| s.covers(report)));
    }
    let suppressed = found - reports.len();
    let file = args.file.display().to_string();
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
        let all = json!({"reports": list, "total": reports.len(), "suppressed": suppressed});
        io::print(format!("{all}\n").as_bytes())?;
    } else if args.gen_suppressions {
        let lines: BTreeSet<String> = reports[..shown].iter().map(suppress::line).collect();
        let lines: Vec<String> = lines.into_iter().map(|line| line + "\n").collect();
        io::print(lines.concat().as_bytes())?;
    } else {
        let mut out = String::new();
        for report in &reports[..shown] {
            text::report(&mut out, report, &file);
        }
        if shown < reports.len() {
            out.push_str(&format!("{} more reports\n", reports.len() - shown));
        }
        io::print(out.as_bytes())?;
    }
    match reports.is_empty() {
        true => Ok(()),
        false => Err(String::new()),
    }
}
