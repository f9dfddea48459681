//! `cargo xtask mc`: runs LLVM's own tests of its assembler and disassembler (llvm/test/MC/AMDGPU and
//! llvm/test/MC/Disassembler/AMDGPU) with ours.
//!
//! Each RUN line for a gfx6 to gfx9 target is run. The expected result of a line, bytes or an error, is that of the tests'
//! version of llvm-mc; results that a CHECK line confirms are counted separately. Files with directives other than
//! instructions are also compared as objects.

mod classes;
mod disassembly;
mod objects;
mod run_lines;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use gcn_asm::{Level, assemble};
use gcn_isa::Target;
use gcn_object::target::Os;

use crate::diff::llvm;
use crate::diff::tool::{self, Scratch};
use run_lines::Run;
use source::{Kind, Line, Pattern};

#[derive(clap::Args)]
pub struct Options {
    /// The folder of tests, llvm/test/MC of LLVM's sources or a folder in it
    folder: PathBuf,
    /// Only the runs for this target
    #[arg(long)]
    target: Option<String>,
    /// Only the files whose path holds this
    #[arg(long)]
    file: Option<String>,
    /// Examples shown of each class of failing lines
    #[arg(long, default_value_t = 3)]
    show: usize,
    /// Print the line of each file and run, not the totals alone
    #[arg(long)]
    files: bool,
    /// Files read at a time
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// LLVM accepts it, we refuse it.
    Refused,
    /// LLVM refuses it, we accept it.
    Taken,
    /// Both accept it, and the bytes or the text differ.
    Differs,
    /// The objects differ.
    Object,
}

/// A line that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    pub file: String,
    pub line: usize,
    pub target: Target,
    pub run: String,
    pub text: String,
    pub outcome: Outcome,
    /// The expected bytes, text or LLVM's message.
    pub wanted: String,
    /// Our result.
    pub found: String,
}

/// The counts of lines of one file and run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub total: usize,
    /// The number of these that a CHECK line confirms.
    pub checked: usize,
    pub failures: Vec<Failure>,
}

impl Tally {
    fn add(&mut self, failure: Option<Failure>) {
        self.total += 1;
        self.failures.extend(failure);
    }
}

/// A run of a file and its results.
struct Report {
    file: String,
    run: Run,
    target: Target,
    tally: Tally,
}

/// Runs the tests and prints the result. Returns true if every failing line is in an explained class.
///
/// # Errors
/// If llvm-mc or the tests are missing, or its output cannot be parsed.
pub fn run(options: &Options) -> Result<bool> {
    let llvm_mc = llvm::find()?;
    let scratch = Scratch::new()?;
    let mut files = Vec::new();
    collect(&options.folder, &mut files)?;
    files.sort();
    files.retain(|path| {
        let name = path.to_string_lossy();
        options.file.as_ref().is_none_or(|part| name.contains(part))
    });
    ensure!(!files.is_empty(), "no .s or .txt file to read");
    let wanted = match &options.target {
        Some(name) => Some(Target::parse(name).with_context(|| format!("no target {name}"))?),
        None => None,
    };

    let start = Instant::now();
    let next = AtomicUsize::new(0);
    let reports: Mutex<Vec<Report>> = Mutex::new(Vec::new());
    let outside: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());
    let worker = || -> Result<()> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = files.get(at) else {
                return Ok(());
            };
            let bytes = std::fs::read(path)?;
            let text = String::from_utf8_lossy(&bytes);
            let shown = path.strip_prefix(&options.folder).unwrap_or(path);
            let file = shown.to_string_lossy().into_owned();
            for run in run_lines::runs(&text) {
                let Some(target) = run.target() else {
                    let cpu = run.cpu.clone().unwrap_or_default();
                    let mut outside = outside.lock().map_err(|_| anyhow!("a worker panicked"))?;
                    *outside.entry(cpu).or_default() += 1;
                    continue;
                };
                if wanted.is_some_and(|t| t != target) {
                    continue;
                }
                let test = Test {
                    file: &file,
                    text: &text,
                    run: &run,
                    target,
                    llvm_mc: &llvm_mc,
                    scratch: &scratch,
                };
                let tally = if run.disassembles {
                    disassembly::check(&test)
                } else {
                    check(&test)
                };
                let tally = tally.with_context(|| format!("{file}, {}", run.title()))?;
                let report = Report {
                    file: file.clone(),
                    run,
                    target,
                    tally,
                };
                let mut reports = reports.lock().map_err(|_| anyhow!("a worker panicked"))?;
                reports.push(report);
            }
        }
    };
    std::thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..options.jobs).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            worker.join().map_err(|_| anyhow!("a worker panicked"))??;
        }
        Ok(())
    })?;
    let mut reports = reports
        .into_inner()
        .map_err(|_| anyhow!("a worker panicked"))?;
    reports.sort_by(|a, b| (&a.file, a.run.title()).cmp(&(&b.file, b.run.title())));
    let outside = outside
        .into_inner()
        .map_err(|_| anyhow!("a worker panicked"))?;
    eprintln!(
        "{} files, {} runs in {:.1} s",
        files.len(),
        reports.len(),
        start.elapsed().as_secs_f64()
    );
    print(options, &reports, &outside)
}

/// Returns every .s and .txt file below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "s" || e == "txt") {
            files.push(path);
        }
    }
    Ok(())
}

fn print(options: &Options, reports: &[Report], outside: &BTreeMap<String, usize>) -> Result<bool> {
    let mut totals: BTreeMap<(bool, &str), [usize; 4]> = BTreeMap::new();
    let mut groups: BTreeMap<String, Vec<&Failure>> = BTreeMap::new();
    let mut unexplained = 0;
    for report in reports {
        let tally = &report.tally;
        let passing = tally.total - tally.failures.len();
        if options.files {
            let title = report.run.title();
            println!(
                "{:52} {title:28} {passing:6} / {}",
                report.file, tally.total
            );
        }
        let total = totals
            .entry((report.run.disassembles, report.target.name()))
            .or_default();
        total[0] += passing;
        total[1] += tally.total;
        total[2] += tally.checked;
        for failure in &tally.failures {
            let class = classes::of(failure);
            total[3] += class.is_some() as usize;
            unexplained += class.is_none() as usize;
            let name = match class {
                Some(class) => format!("explained: {}: {}", class.name, class.reason),
                None => format!("NOT EXPLAINED: {:?}: {}", failure.outcome, cause(failure)),
            };
            groups.entry(name).or_default().push(failure);
        }
    }
    println!("| tests | target | lines | by a CHECK line | passing | explained | not explained |");
    println!("|---|---|---:|---:|---:|---:|---:|");
    let mut sums = [0; 4];
    for ((disassembles, target), counts) in &totals {
        let tests = if *disassembles {
            "disassembler"
        } else {
            "assembler"
        };
        row(tests, target, *counts);
        for (sum, n) in sums.iter_mut().zip(counts) {
            *sum += n;
        }
    }
    row("all", "", sums);
    let skipped: usize = outside.values().sum();
    let names: Vec<&str> = outside.keys().map(String::as_str).collect();
    println!("\n{skipped} runs for other targets: {}\n", names.join(", "));
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(name, list)| (!name.starts_with("NOT"), std::cmp::Reverse(list.len())));
    for (name, list) in groups {
        println!("{:6}  {name}", list.len());
        for f in list.iter().take(options.show) {
            println!("          {}:{} [{}] {}", f.file, f.line, f.run, f.text);
            println!("              wanted {}; found {}", f.wanted, f.found);
        }
    }
    Ok(unexplained == 0)
}

fn row(tests: &str, target: &str, [passing, total, checked, explained]: [usize; 4]) {
    let left = total - passing - explained;
    println!("| {tests} | {target} | {total} | {checked} | {passing} | {explained} | {left} |");
}

/// Returns the key by which failures without a class are grouped: the message without the parts that depend on the line.
fn cause(failure: &Failure) -> String {
    let message = match failure.outcome {
        Outcome::Refused => &failure.found,
        Outcome::Taken => &failure.wanted,
        Outcome::Differs | Outcome::Object => {
            return failure
                .text
                .split_whitespace()
                .next()
                .unwrap_or("")
                .to_string();
        }
    };
    message.clone()
}

/// One run of one file.
pub struct Test<'a> {
    pub file: &'a str,
    pub text: &'a str,
    pub run: &'a Run,
    pub target: Target,
    pub llvm_mc: &'a Path,
    pub scratch: &'a Scratch,
}

impl Test<'_> {
    /// Runs llvm-mc on the test's text, with additional arguments.
    fn llvm(&self, more: &[&str], output: bool) -> Result<tool::Outcome> {
        let mut args: Vec<String> = self.run.args.clone();
        for (name, value) in &self.run.defines {
            args.push(format!("-defsym={name}={value}"));
        }
        args.extend(more.iter().map(|a| a.to_string()));
        tool::run(
            self.scratch,
            self.llvm_mc,
            &args,
            self.text.as_bytes(),
            output,
        )
    }

    fn options(&self) -> gcn_asm::Options {
        gcn_asm::Options {
            target: Some(self.target),
            defines: self.run.defines.clone(),
            os: Some(self.run.os()),
            version: (self.run.os() == Os::Hsa).then(|| self.run.version()),
            syntax: gcn_asm::Syntax::Llvm,
            ..gcn_asm::Options::default()
        }
    }

    pub fn failure(&self, line: usize, text: &str, outcome: Outcome) -> Failure {
        Failure {
            file: self.file.to_string(),
            line,
            target: self.target,
            run: self.run.title(),
            text: text.to_string(),
            outcome,
            wanted: String::new(),
            found: String::new(),
        }
    }
}

/// Returns llvm-mc's messages by line.
fn errors(stderr: &str) -> BTreeMap<usize, String> {
    let mut errors = BTreeMap::new();
    for line in stderr.lines() {
        let Some((location, message)) = line.split_once(": error: ") else {
            continue;
        };
        let number = location.rsplit(':').nth(1).and_then(|n| n.parse().ok());
        if let Some(number) = number {
            errors.entry(number).or_insert_with(|| message.to_string());
        }
    }
    errors
}

/// The expected result of a line.
enum Wanted {
    Bytes(Pattern),
    Refusal(String),
}

/// Text to bytes.
fn check(test: &Test) -> Result<Tally> {
    let lines = source::lines(test.text);
    let outcome = test.llvm(&["-show-encoding"], false)?;
    let mut errors = errors(&outcome.stderr);
    let first_errors: BTreeSet<usize> = errors.keys().copied().collect();
    if test.run.object {
        let object = test.llvm(&["-filetype=obj"], true)?;
        errors.extend(self::errors(&object.stderr));
    }
    let errors = errors;
    let stdout = String::from_utf8_lossy(&outcome.stdout);
    let printed: Vec<Pattern> = stdout
        .lines()
        .filter(|line| line.contains("; encoding: ["))
        .filter_map(source::encoding)
        .collect();
    let mut tally = Tally::default();

    let instructions: Vec<&Line> = lines
        .iter()
        .filter(|l| l.kind == Kind::Instruction)
        .collect();
    // Some errors are reported while the text is printed.
    let taken = instructions
        .iter()
        .filter(|l| !first_errors.contains(&l.number))
        .count();
    // Symbols that count registers depend on all lines before.
    let counts = [".kernel.", ".amdgcn.next_free"].map(|name| test.text.contains(name));
    let in_step = taken == printed.len() && counts == [false; 2];
    if in_step {
        let mut printed = printed.into_iter();
        let mut wanted: Vec<(&Line, Wanted, bool)> = Vec::new();
        for line in instructions {
            let bytes = if first_errors.contains(&line.number) {
                None
            } else {
                printed.next()
            };
            let what = match errors.get(&line.number) {
                Some(message) => Wanted::Refusal(message.clone()),
                None => Wanted::Bytes(bytes.context("fewer lines than counted")?),
            };
            wanted.push((line, what, false));
        }
        by_checks(test, &mut wanted);
        let labels: Vec<&str> = lines
            .iter()
            .filter_map(|l| source::label(&l.text))
            .collect();
        let mut prelude = String::new();
        let mut assignments = lines
            .iter()
            .filter(|l| l.kind == Kind::Assignment)
            .peekable();
        for (line, what, by_check) in &wanted {
            while let Some(set) = assignments.next_if(|l| l.number < line.number) {
                if !errors.contains_key(&set.number) {
                    prelude.push_str(&set.text);
                    prelude.push('\n');
                }
            }
            tally.checked += *by_check as usize;
            tally.add(instruction(test, &prelude, line, what, &labels));
        }
    }
    objects::check(test, &lines, &errors, in_step, &mut tally)?;
    Ok(tally)
}

/// Determines the results that a CHECK line confirms. CHECK lines are after their statements in most files and before
/// them in some.
fn by_checks(test: &Test, wanted: &mut [(&Line, Wanted, bool)]) {
    let checks: Vec<(usize, Pattern)> = source::checks(test.text, &test.run.prefixes)
        .into_iter()
        .filter_map(|(number, text)| Some((number, source::encoding(text)?)))
        .collect();
    let find = |from: usize, to: usize| {
        let first = checks.partition_point(|c| c.0 < from);
        let list = &checks[first..];
        match &list[..list.partition_point(|c| c.0 < to)] {
            [(_, bytes)] => Some(bytes.clone()),
            _ => None,
        }
    };
    let line = |n: usize| wanted.get(n).map_or(usize::MAX, |w| w.0.number);
    let count = wanted.len();
    let behind: Vec<Option<Pattern>> = (0..count).map(|n| find(line(n), line(n + 1))).collect();
    let before: Vec<Option<Pattern>> = (0..count)
        .map(|n| find(n.checked_sub(1).map_or(0, line), line(n)))
        .collect();
    let agreeing = |found: &[Option<Pattern>]| {
        let agrees = |(w, bytes): &(&(&Line, Wanted, bool), &Option<Pattern>)| matches!((&w.1, bytes), (Wanted::Bytes(a), Some(b)) if a == b);
        wanted.iter().zip(found).filter(agrees).count()
    };
    let found = if agreeing(&behind) >= agreeing(&before) {
        behind
    } else {
        before
    };
    for (entry, bytes) in wanted.iter_mut().zip(found) {
        // A CHECK line that llvm-mc of the same version does not satisfy belongs to another line.
        entry.2 = matches!((&entry.1, bytes), (Wanted::Bytes(a), Some(b)) if *a == b);
    }
}

/// Assembles one instruction alone, after the preceding assignments.
fn instruction(
    test: &Test,
    prelude: &str,
    line: &Line,
    wanted: &Wanted,
    labels: &[&str],
) -> Option<Failure> {
    let mut source = format!("{prelude}{}\n", line.text);
    if matches!(wanted, Wanted::Bytes(pattern) if pattern.contains(&None)) {
        // The bits that fixups fill in.
        for label in labels {
            source.push_str(&format!("{label}:\n"));
        }
    }
    let output = assemble(&source, test.file, &test.options());
    let found = match &output.object {
        Some(object) => Ok(object.text()),
        None => {
            let error = output.diagnostics.iter().find(|d| d.level == Level::Error);
            Err(error.map_or("no message", |d| d.message.as_str()))
        }
    };
    let fail = |outcome, wanted: String, found: String| {
        Some(Failure {
            wanted,
            found,
            ..test.failure(line.number, &line.text, outcome)
        })
    };
    match (wanted, found) {
        (Wanted::Bytes(wanted), Ok(found)) if fits(wanted, found) => None,
        (Wanted::Bytes(wanted), Ok(found)) => {
            let found: Pattern = found.iter().copied().map(Some).collect();
            fail(Outcome::Differs, hex(wanted), hex(&found))
        }
        (Wanted::Bytes(wanted), Err(message)) => {
            fail(Outcome::Refused, hex(wanted), message.to_string())
        }
        (Wanted::Refusal(_), Err(_)) => None,
        (Wanted::Refusal(message), Ok(found)) => {
            let found: Pattern = found.iter().copied().map(Some).collect();
            fail(Outcome::Taken, message.clone(), hex(&found))
        }
    }
}

/// Returns true if bytes match a pattern with gaps.
fn fits(pattern: &Pattern, bytes: &[u8]) -> bool {
    pattern.len() == bytes.len()
        && pattern
            .iter()
            .zip(bytes)
            .all(|(wanted, found)| wanted.is_none_or(|w| w == *found))
}

/// Returns bytes in the order of LLVM's encodings.
pub fn hex(bytes: &Pattern) -> String {
    let byte = |b: &Option<u8>| b.map_or("..".to_string(), |b| format!("{b:02x}"));
    bytes.iter().map(byte).collect()
}

/// Returns the lines at which our assembler reports errors in the complete text.
pub fn our_errors(test: &Test) -> (Option<gcn_asm::Assembled>, BTreeMap<usize, String>) {
    let output = assemble(test.text, test.file, &test.options());
    let mut errors = BTreeMap::new();
    for d in output.diagnostics {
        if d.level == Level::Error {
            errors.entry(d.line).or_insert(d.message);
        }
    }
    (output.object, errors)
}
