//! `cargo xtask bench`: OpenCL kernels on the interpreter, on the compiling engine, and on PoCL, which compiles the same
//! source for the same cores.
//! Launches of the compiling engine and of PoCL alternate, because other load on the machine should affect both equally; the
//! table has medians. Each number of threads is measured by a separate process, because PoCL's is fixed when it starts.

mod cases;
mod checks;
mod child;
mod data;
mod debian;
mod features;
mod opencl;
mod own;
mod plan;
mod report;

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value as Json, json};

pub use child::{Options as ChildOptions, run as child};

use crate::fixtures;
use cases::Case;

#[derive(clap::Args)]
pub struct Options {
    /// A folder of .cl files that replace the repository's files of the same names; for `--set debian`, the folder for fetched
    /// packages
    #[arg(long, value_name = "DIR")]
    kernels: Option<PathBuf>,
    /// The set of kernels
    #[arg(long, default_value = "peer")]
    set: Set,
    /// For `--set debian`: only this half of it
    #[arg(long)]
    half: Option<debian::Half>,
    /// Only these kernels, by comma
    #[arg(long, value_delimiter = ',', value_name = "KERNEL")]
    only: Vec<String>,
    /// The target; targets other than gfx900 need clang-14
    #[arg(long, default_value = fixtures::BENCH)]
    target: String,
    /// Numbers of threads, by comma
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_name = "N")]
    threads: Vec<u16>,
    /// The number of launches of each engine; short kernels are launched more often
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Short kernels are launched more often, up to ten times, for this long
    #[arg(long, default_value_t = 0.3, value_name = "SECONDS")]
    budget: f64,
    /// Measure wall time, or processor time of all threads, which is better on a shared machine
    #[arg(long, default_value = "wall")]
    clock: Clock,
    /// The level of the compiling engine's code; with avx2, PoCL is limited to AVX2 too
    #[arg(long, visible_alias = "jit-level")]
    level: Option<Level>,
    /// Compile without an optimisation, to measure what it is worth: see `gcn run --disable-pass`
    #[arg(long = "disable-pass", value_name = "PASS")]
    disabled: Vec<String>,
    /// Measure what each optimisation is worth: launches of code without it, interleaved with those of complete code, and a table
    #[arg(long, conflicts_with = "disabled")]
    causes: bool,
    /// Write a plan for each kernel (`gcn run DIR/NAME.toml`) instead of measuring
    #[arg(long, value_name = "DIR", conflicts_with = "causes")]
    plans: Option<PathBuf>,
    /// Leave the interpreter out
    #[arg(long)]
    no_interp: bool,
    /// Leave PoCL out
    #[arg(long)]
    no_pocl: bool,
    /// Leave memory, loops and small launches out
    #[arg(long)]
    no_more: bool,
    /// Measure what these checks cost beside compiled code without checks (a list for `gcn check --checks`, or "" for the default);
    /// may be repeated
    #[arg(long, value_name = "LIST", num_args = 1)]
    checks: Vec<String>,
    /// Print JSON: all times of all rounds
    #[arg(long, conflicts_with = "markdown")]
    json: bool,
    /// Print Markdown tables
    #[arg(long)]
    markdown: bool,
}

/// Kernels.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Set {
    /// The kernels of the peer's benchmark, with its sizes
    #[value(alias = "shared")]
    Peer,
    /// Kernels of many other kinds
    Own,
    /// Small kernels of the features that programs use
    Features,
    /// Kernels of programs that Debian packages; needs --kernels
    Debian,
}

impl Set {
    fn cases(self) -> Vec<Case> {
        match self {
            Set::Peer => cases::PEER.to_vec(),
            Set::Own => own::OWN.to_vec(),
            Set::Features => features::all(),
            Set::Debian => debian::all().map(debian::Entry::case).collect(),
        }
    }

    /// Returns true if data that kernels change are reset before each launch, and compile times are those of complete launches.
    fn anew(self) -> bool {
        matches!(self, Set::Features | Set::Debian)
    }

    fn name(self) -> &'static str {
        match self {
            Set::Peer => "peer",
            Set::Own => "own",
            Set::Features => "features",
            Set::Debian => "debian",
        }
    }
}

/// The measured quantity.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Clock {
    /// Wall time.
    Wall,
    /// Processor time of the process's threads.
    Cpu,
}

impl Clock {
    fn now(self) -> f64 {
        let time = clock_gettime(match self {
            Clock::Wall => ClockId::Monotonic,
            Clock::Cpu => ClockId::ProcessCPUTime,
        });
        time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
    }

    fn name(self) -> &'static str {
        match self {
            Clock::Wall => "wall",
            Clock::Cpu => "cpu",
        }
    }
}

/// The level of the compiling engine.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Level {
    /// AVX-512.
    Avx512,
    /// AVX2.
    Avx2,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Avx512 => "avx512",
            Level::Avx2 => "avx2",
        }
    }
}

/// Returns the first of the folders that contains the file.
fn find(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let paths = folders.iter().map(|folder| folder.join(name));
    paths.into_iter().find(|path| path.is_file())
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 0 => (values[n / 2 - 1] + values[n / 2]) / 2.0,
        n => values[n / 2],
    }
}

/// A temporary folder of this process, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch> {
        let path = std::env::temp_dir().join(format!("gcn-bench-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that cannot be removed stays among the system's temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Measures and prints.
///
/// # Errors
/// If a kernel is missing, cannot be built or run, or its results differ. Without PoCL the rest is measured, with a message.
pub fn run(options: &Options, root: &Path) -> Result<()> {
    let named = |name: &String| options.set.cases().iter().any(|case| case.name == name);
    if let Some(name) = options.only.iter().find(|name| !named(name)) {
        let names: Vec<&str> = options.set.cases().iter().map(|case| case.name).collect();
        bail!("no kernel {name}; there are {}", names.join(", "));
    }
    let debian = options.set == Set::Debian;
    ensure!(
        debian || options.half.is_none(),
        "--half is of --set debian alone"
    );
    let scratch = Scratch::new()?;
    if !options.checks.is_empty() {
        return with_checks(options, root, &scratch.0);
    }
    let mut report = report::Report::new(options.set.name(), &options.target, options.clock);
    if debian {
        programs(options, &scratch.0, &mut report)?;
    } else {
        own_kernels(options, root, &scratch.0, &mut report)?;
    }
    match (options.json, options.markdown) {
        _ if options.plans.is_some() => {}
        (true, _) => println!("{}", report.json()),
        (_, markdown) if options.causes => print!("{}", report.causes(markdown)),
        (_, markdown) if debian => print!("{}", report.programs(markdown)),
        (_, markdown) => print!("{}", report.text(markdown)),
    }
    let wrong = report.wrong();
    ensure!(wrong.is_empty(), "wrong or failed: {}", wrong.join(", "));
    Ok(())
}

/// Measures the cost of checks.
fn with_checks(options: &Options, root: &Path, scratch: &Path) -> Result<()> {
    let mut lines = Vec::new();
    if options.set == Set::Debian {
        let (folder, prepared) = debian_kernels(options)?;
        let (objects, sources) = (folder.join("objects"), [folder.join("sources")]);
        let folders = Folders {
            objects: &objects,
            sources: &sources,
            scratch,
        };
        for name in &prepared.ready {
            for &threads in &options.threads {
                lines.extend(measure(
                    options,
                    "checks",
                    threads,
                    &folders,
                    &[name.to_string()],
                )?);
            }
        }
        return checks::print(&lines, &options.checks, options.markdown);
    }
    let mut sources = Vec::new();
    if let Some(folder) = &options.kernels {
        sources.push(std::path::absolute(folder)?);
    }
    sources
        .extend(["testdata/bench", "testdata/kernels", "testdata/programs"].map(|f| root.join(f)));
    objects(options, &sources, scratch)?;
    let folders = Folders {
        objects: scratch,
        sources: &sources,
        scratch,
    };
    for &threads in &options.threads {
        lines.extend(measure(
            options,
            "checks",
            threads,
            &folders,
            &options.only,
        )?);
    }
    checks::print(&lines, &options.checks, options.markdown)
}

/// Measures kernels of the repository.
fn own_kernels(
    options: &Options,
    root: &Path,
    scratch: &Path,
    report: &mut report::Report,
) -> Result<()> {
    let mut sources = Vec::new();
    if let Some(folder) = &options.kernels {
        sources.push(std::path::absolute(folder)?);
    }
    let own = [
        "testdata/bench",
        "testdata/bench/features",
        "testdata/kernels",
        "testdata/programs",
    ];
    sources.extend(own.map(|f| root.join(f)));
    objects(options, &sources, scratch)?;
    let folders = Folders {
        objects: scratch,
        sources: &sources,
        scratch,
    };
    if options.plans.is_some() {
        report.add(measure(options, "plans", 1, &folders, &options.only)?);
        return Ok(());
    }
    for &threads in &options.threads {
        let begun = std::time::Instant::now();
        let lines = measure(options, "kernels", threads, &folders, &options.only)?;
        report.add(lines);
        eprintln!("{threads} threads: {:.0} s", begun.elapsed().as_secs_f64());
    }
    if !options.no_more && !options.causes {
        for &threads in &options.threads {
            report.add(measure(options, "loops", threads, &folders, &options.only)?);
        }
        let most = options.threads.iter().copied().max().unwrap_or(1);
        report.add(measure(options, "memory", most, &folders, &options.only)?);
    }
    Ok(())
}

/// Fetches and compiles the chosen kernels of Debian's programs. Returns their folder and the kernels; prints those that are
/// missing.
fn debian_kernels(options: &Options) -> Result<(PathBuf, debian::Prepared)> {
    let folder = options.kernels.as_ref();
    let folder =
        folder.context("--set debian needs --kernels DIR, a folder to fetch packages into")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let folder = std::path::absolute(folder)?;
    let chosen = |entry: &&debian::Entry| {
        let only = options.only.is_empty() || options.only.iter().any(|n| n == entry.name);
        only && options.half.is_none_or(|half| half == entry.half())
    };
    let entries: Vec<&'static debian::Entry> = debian::all().filter(chosen).collect();
    let prepared = debian::prepare(&entries, &folder, &options.target)?;
    for (name, why) in &prepared.missing {
        eprintln!("SKIPPED {name}: {why}");
    }
    Ok((folder, prepared))
}

/// Measures kernels of Debian's programs, each in a separate process, because they must not affect each other.
fn programs(options: &Options, scratch: &Path, report: &mut report::Report) -> Result<()> {
    let (folder, prepared) = debian_kernels(options)?;
    report.prepared(&prepared);
    let (objects, sources) = (folder.join("objects"), [folder.join("sources")]);
    let folders = Folders {
        objects: &objects,
        sources: &sources,
        scratch,
    };
    if options.plans.is_some() {
        let ready: Vec<String> = prepared.ready.iter().map(|name| name.to_string()).collect();
        if !ready.is_empty() {
            report.add(measure(options, "plans", 1, &folders, &ready)?);
        }
        return Ok(());
    }
    for (n, &threads) in options.threads.iter().enumerate() {
        let begun = std::time::Instant::now();
        for name in &prepared.ready {
            let only = [name.to_string()];
            let lines = measure(options, "kernels", threads, &folders, &only);
            let failed = |e: anyhow::Error| {
                eprintln!("FAILED {name}: {e:#}");
                vec![json!({ "kernel": name, "threads": threads, "failed": format!("{e:#}") })]
            };
            let lines = lines.unwrap_or_else(failed);
            lines
                .iter()
                .filter_map(report::progress)
                .for_each(|line| eprintln!("{line}"));
            report.add(lines);
            if n == 0 && !options.no_more && !options.causes {
                let lines = measure(options, "memory", threads, &folders, &only);
                report.add(lines.unwrap_or_default());
            }
        }
        eprintln!("{threads} threads: {:.0} s", begun.elapsed().as_secs_f64());
    }
    Ok(())
}

/// The folders of the measuring processes.
struct Folders<'a> {
    objects: &'a Path,
    sources: &'a [PathBuf],
    scratch: &'a Path,
}

/// Puts the objects of all kernels into a folder: compiled if there is a compiler, otherwise the committed ones.
fn objects(options: &Options, sources: &[PathBuf], folder: &Path) -> Result<()> {
    let mut files: Vec<&str> = options.set.cases().iter().map(|case| case.file).collect();
    // The kernel for measuring small launches.
    files.push("vadd");
    files.sort_unstable();
    files.dedup();
    let compiler = fixtures::check_compiler();
    if let Err(why) = &compiler {
        eprintln!("the committed objects are measured: {why:#}");
    }
    for file in files {
        let object = format!("{file}-{}.co", options.target);
        if compiler.is_ok() {
            let name = format!("{file}.cl");
            let source = find(sources, &name).with_context(|| format!("no {name}"))?;
            let dir = source.parent().context("it is in a folder")?;
            fixtures::compile(dir, file, &options.target, "co", &[], folder)?;
        } else {
            let path = find(sources, &object);
            let path = path.with_context(|| format!("no {object}, and no compiler"))?;
            fs::copy(path, folder.join(object))?;
        }
    }
    Ok(())
}

/// Runs a measuring process. Returns its output, a JSON value per line.
fn measure(
    options: &Options,
    what: &str,
    threads: u16,
    folders: &Folders,
    only: &[String],
) -> Result<Vec<Json>> {
    let mut args: Vec<OsString> = ["bench-child", "--what", what, "--set", options.set.name()]
        .map(OsString::from)
        .to_vec();
    let mut arg = |name: &str, value: &dyn AsRef<std::ffi::OsStr>| {
        args.extend([OsString::from(name), value.as_ref().to_owned()]);
    };
    arg("--target", &options.target);
    arg("--objects", &folders.objects);
    folders.sources.iter().for_each(|s| arg("--sources", s));
    if !only.is_empty() {
        arg("--only", &only.join(","));
    }
    arg("--threads", &threads.to_string());
    arg("--rounds", &options.rounds.to_string());
    arg("--budget", &options.budget.to_string());
    arg("--clock", &options.clock.name());
    if let Some(level) = options.level {
        arg("--level", &level.name());
    }
    for pass in &options.disabled {
        arg("--disable-pass", pass);
    }
    if let Some(folder) = &options.plans {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        arg("--plans", folder);
    }
    for list in &options.checks {
        arg("--checks", list);
    }
    args.extend(options.causes.then(|| "--causes".into()));
    // Long kernels are compared with the interpreter only once.
    let again = options.set == Set::Debian && options.threads.first() != Some(&threads);
    args.extend((options.no_interp || again).then(|| "--no-interp".into()));
    args.extend(options.no_pocl.then(|| "--no-pocl".into()));
    // PoCL caches compiled kernels. With a folder of its own, it compiles everything once, in the first process.
    let kept = folders.scratch.join("pocl");
    fs::create_dir_all(&kept)?;
    let mut process = Command::new(std::env::current_exe()?);
    if options.level == Some(Level::Avx2) {
        // PoCL's library of built-in functions for AVX2, which also determines the instructions of its code.
        process.env("POCL_KERNELLIB_NAME", "avx2");
    }
    process
        .args(args)
        .env("POCL_MAX_PTHREAD_COUNT", threads.to_string())
        .env("POCL_CACHE_DIR", &kept)
        .stdout(Stdio::piped());
    // The messages of processes for single kernels are shown only if they fail, because PoCL's compiler prints many warnings.
    let said = folders.scratch.join("said");
    if options.set == Set::Debian {
        process.stderr(fs::File::create(&said)?);
    }
    let mut process = process.spawn()?;
    let mut lines = Vec::new();
    let shown = std::io::stderr().is_terminal();
    for line in BufReader::new(process.stdout.take().context("its output")?).lines() {
        let value: Json = serde_json::from_str(&line?)?;
        if shown && let Some(name) = value["kernel"].as_str() {
            eprint!("\r\x1b[K{name}");
            std::io::stderr().flush()?;
        }
        if let Some(why) = value["no_pocl"].as_str().filter(|_| !options.no_pocl) {
            eprintln!("NO COMPARISON WITH PoCL: {why}");
        }
        lines.push(value);
    }
    if shown {
        eprint!("\r\x1b[K");
    }
    let status = process.wait()?;
    if !status.success() && options.set == Set::Debian {
        let said = fs::read(&said)?;
        let said = String::from_utf8_lossy(&said);
        // The last line of the program's messages; there is none after a signal.
        let own = said.rfind("xtask: ").map_or("", |at| &said[at + 7..]);
        let own: String = own.chars().take(600).collect();
        bail!("measuring {what} failed ({status}): {}", own.trim());
    }
    ensure!(status.success(), "measuring {what} failed");
    Ok(lines)
}
