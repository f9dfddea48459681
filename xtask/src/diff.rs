//! `cargo xtask diff`: compares our disassembler and assembler with llvm-mc 14 on generated words.
//!
//! The rules, for targets that llvm-mc disassembles (gfx8, gfx9):
//! (a) where LLVM's text assembles back to the same bytes, ours equals it;
//! (b) our text assembles, in ours, to the sample's bytes, in both syntaxes;
//! (c) text that LLVM prints and takes gives the same bytes in our assembler.
//! For gfx6 and gfx7, (b), and our text gives the same bytes in llvm-mc where it takes it.

pub mod compare;
pub mod formats;
pub mod generate;
pub mod llvm;
pub mod ours;
pub mod tool;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};

use compare::{Line, Ours, Tally};
use formats::{Encoding, Format, Generation};
use generate::{Filling, Sample};
use llvm::{Assembled, Llvm};
use ours::{Back, Gcn, Item, Syntax};

#[derive(clap::Args)]
pub struct Options {
    /// Seed of the random fillings; the same seed gives the same samples
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Formats to generate, by comma; `all` for every one
    #[arg(long, value_delimiter = ',', default_value = "all")]
    formats: Vec<String>,
    /// Targets, by comma
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "gfx600,gfx701,gfx803,gfx900,gfx906"
    )]
    targets: Vec<String>,
    /// The number of random fillings of each opcode, in addition to the structured ones; more if a format has few opcodes
    #[arg(long, default_value_t = 50)]
    count: u64,
    /// Opcode, or first and last as LOW-HIGH, to which the run is restricted
    #[arg(long, value_parser = parse_range)]
    opcodes: Option<(u16, u16)>,
    /// Compare these bytes (hexadecimal dwords, e.g. 80000100 or 800001ff,00000001) instead of generated ones
    #[arg(long, value_parser = parse_words)]
    words: Vec<Words>,
    /// The gcn binary to test; by default the workspace's release build, built first
    #[arg(long)]
    gcn: Option<PathBuf>,
    /// Do not run gcn: report what LLVM's text loses
    #[arg(long)]
    llvm_only: bool,
    /// Examples shown of each broken rule, format and target
    #[arg(long, default_value_t = 5)]
    show: usize,
    /// The number of samples per batch
    #[arg(long, default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,
    /// The number of concurrent batches
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
}

/// Dwords given on the command line.
#[derive(Clone, Debug)]
struct Words(Vec<u32>);

fn parse_words(text: &str) -> Result<Words, String> {
    let word = |word: &str| {
        u32::from_str_radix(word.trim_start_matches("0x"), 16).map_err(|e| format!("{word}: {e}"))
    };
    let words = text
        .split(',')
        .map(word)
        .collect::<Result<Vec<u32>, String>>()?;
    if words.len() > 2 {
        Err("more than two dwords".to_owned())
    } else {
        Ok(Words(words))
    }
}

fn parse_range(text: &str) -> Result<(u16, u16), String> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.parse::<u16>().map_err(|e| format!("{text}: {e}"));
    Ok((number(low)?, number(high)?))
}

/// The samples of a batch: the fillings of some opcodes, or given samples.
enum Source {
    Generated(Vec<(&'static Encoding, u16, Filling)>),
    Given(Vec<Sample>),
}

/// A batch, and the index of its report.
struct Job {
    report: usize,
    source: Source,
}

/// One line of the result: a format on a target.
struct Report {
    title: String,
    target: String,
    generation: Generation,
}

/// The number of random fillings of one opcode that are generated at a time.
const BLOCK: u64 = 1000;

/// Runs the comparison and prints it. Returns true if none of our results is wrong.
///
/// # Errors
/// If a format or target is unknown, a tool is missing, or llvm-mc's output cannot be parsed.
pub fn run(options: &Options) -> Result<bool> {
    let (reports, jobs) = plan(options)?;
    let llvm_mc = llvm::find()?;
    let scratch = tool::Scratch::new()?;
    let llvm = Llvm::new(&llvm_mc, &scratch);
    let gcn = if options.llvm_only {
        None
    } else {
        let program = match &options.gcn {
            Some(path) => path.clone(),
            None => crate::build_gcn(&crate::repo_root())?,
        };
        ours::check(&program)?;
        Some(Gcn::new(&program, &scratch)?)
    };

    let start = Instant::now();
    let next = AtomicUsize::new(0);
    let show_progress = std::io::stderr().is_terminal();
    let worker = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(at) else { return done };
            let tally = run_job(job, &reports[job.report], options.seed, &llvm, gcn.as_ref());
            if tally.is_err() {
                // The other workers find no more jobs.
                next.store(jobs.len(), Ordering::Relaxed);
            }
            done.push((at, tally));
            if show_progress {
                let begun = next.load(Ordering::Relaxed).min(jobs.len());
                eprint!("\r{begun} of {} batches begun", jobs.len());
            }
        }
    };
    let done = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.jobs).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join())
            .collect::<Result<Vec<_>, _>>()
    });
    let clear = if show_progress { "\r\x1b[K" } else { "" };
    eprintln!(
        "{clear}{} batches in {:.1} s",
        jobs.len(),
        start.elapsed().as_secs_f64()
    );
    let mut done: Vec<_> = done
        .map_err(|_| anyhow!("a worker panicked"))?
        .into_iter()
        .flatten()
        .collect();
    // The reports are in the order of the jobs: the examples then do not depend on the speed of the workers.
    done.sort_by_key(|&(at, _)| at);

    let mut totals: Vec<Tally> = reports.iter().map(|_| Tally::default()).collect();
    for (at, tally) in done {
        totals[jobs[at].report].merge(tally?);
    }
    for (report, tally) in reports.iter().zip(&totals) {
        print!("{}", tally.report(&report.title, options.show));
    }
    let crashes = llvm.crashes();
    if !crashes.is_empty() {
        println!("llvm-mc crashed {} times, e.g. on:", crashes.len());
        for crash in crashes.iter().take(options.show) {
            println!("  {crash}");
        }
    }
    let wrong: u64 = totals.iter().map(|tally| tally.wrong).sum();
    let samples: u64 = totals.iter().map(|tally| tally.samples).sum();
    println!("{samples} samples, {wrong} wrong");
    Ok(wrong == 0)
}

/// The reports of a run, and the batches that make them.
fn plan(options: &Options) -> Result<(Vec<Report>, Vec<Job>)> {
    let formats: Vec<&'static Format> = if options
        .formats
        .iter()
        .any(|name| name.eq_ignore_ascii_case("all"))
    {
        formats::FORMATS.iter().collect()
    } else {
        let known = || {
            formats::FORMATS
                .iter()
                .map(|format| format.name)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let find = |name: &String| {
            formats::find(name).with_context(|| format!("no format {name}; known: {}", known()))
        };
        options.formats.iter().map(find).collect::<Result<_>>()?
    };
    let (mut reports, mut jobs) = (Vec::new(), Vec::new());
    for target in &options.targets {
        let generation = Generation::of_target(target)
            .with_context(|| format!("{target} is not a gfx6 to gfx9 target"))?;
        let mut report = |name: &str, sources: Vec<Source>| {
            let at = reports.len();
            if !sources.is_empty() {
                reports.push(Report {
                    title: format!("{name} {target}"),
                    target: target.clone(),
                    generation,
                });
                jobs.extend(sources.into_iter().map(|source| Job { report: at, source }));
            }
        };
        if options.words.is_empty() {
            for format in &formats {
                report(format.name, generated(format, generation, options));
            }
        } else {
            let given = options
                .words
                .iter()
                .filter_map(|words| Sample::new(&words.0, "given", 0))
                .collect();
            report("given", vec![Source::Given(given)]);
        }
    }
    ensure!(
        !jobs.is_empty(),
        "nothing to compare: no such format on these targets"
    );
    Ok((reports, jobs))
}

/// Returns the batches of a format; none if the generation does not have it.
fn generated(format: &'static Format, generation: Generation, options: &Options) -> Vec<Source> {
    let (low, high) = options.opcodes.unwrap_or((0, u16::MAX));
    let (mut sources, mut batch, mut size) = (Vec::new(), Vec::new(), 0);
    let mut add = |encoding, opcode, filling, count: u64| {
        if size > 0 && size + count > options.batch {
            sources.push(Source::Generated(std::mem::take(&mut batch)));
            size = 0;
        }
        batch.push((encoding, opcode, filling));
        size += count;
    };
    for encoding in format
        .encodings
        .iter()
        .filter(|encoding| encoding.generations.contains(&generation))
    {
        let (first, last) = encoding.opcodes;
        // The same number as for a format of 64 opcodes.
        let opcodes = u64::from(last - first) + 1;
        let fillings = options.count * 64_u64.div_ceil(opcodes);
        for opcode in first.max(low)..=last.min(high) {
            let sweep =
                generate::samples(encoding, generation, opcode, Filling::Sweep, options.seed).len()
                    as u64;
            add(encoding, opcode, Filling::Sweep, sweep);
            for block in 0..fillings.div_ceil(BLOCK) {
                let count = BLOCK.min(fillings - block * BLOCK);
                add(encoding, opcode, Filling::Random { block, count }, count);
            }
        }
    }
    if !batch.is_empty() {
        sources.push(Source::Generated(batch));
    }
    sources
}

/// Makes the samples of a batch, runs every tool on them and compares the results.
fn run_job(job: &Job, report: &Report, seed: u64, llvm: &Llvm, gcn: Option<&Gcn>) -> Result<Tally> {
    let target = report.target.as_str();
    match &job.source {
        Source::Given(samples) => judge(samples, target, report.generation, llvm, gcn),
        Source::Generated(parts) => {
            let samples: Vec<Sample> = parts
                .iter()
                .flat_map(|&(encoding, opcode, filling)| {
                    generate::samples(encoding, report.generation, opcode, filling, seed)
                })
                .collect();
            judge(&samples, target, report.generation, llvm, gcn)
        }
    }
}

/// Runs every tool on samples and compares the results.
///
/// # Errors
/// If a tool cannot be run or its output cannot be parsed.
pub fn judge(
    samples: &[Sample],
    target: &str,
    generation: Generation,
    llvm: &Llvm,
    gcn: Option<&Gcn>,
) -> Result<Tally> {
    let llvm_lines = if generation.llvm_disassembles() {
        let units = llvm.disassemble(target, samples)?;
        Some(assemble_lines(llvm, target, units)?)
    } else {
        None
    };
    let mut tally = Tally::default();
    let Some(gcn) = gcn else {
        let llvm_lines = llvm_lines.unwrap_or_else(|| vec![Vec::new(); samples.len()]);
        for (sample, lines) in samples.iter().zip(&llvm_lines) {
            tally.add(sample, compare::judge_llvm(sample, lines), || {
                compare::describe(sample, Some(lines), None)
            });
        }
        return Ok(tally);
    };
    let all = ask_ours(gcn, llvm, target, samples, llvm_lines.as_deref())?;
    for (i, (sample, ours)) in samples.iter().zip(&all).enumerate() {
        let lines = llvm_lines.as_ref().map(|lines| lines[i].as_slice());
        tally.add(sample, compare::judge(sample, lines, ours), || {
            compare::describe(sample, lines, Some(ours))
        });
    }
    Ok(tally)
}

/// Assembles every line of every sample with llvm-mc; `.long` is parsed here, because llvm-mc prints no encoding for it.
pub fn assemble_lines(
    llvm: &Llvm,
    target: &str,
    units: Vec<Vec<String>>,
) -> Result<Vec<Vec<Line>>> {
    let texts: Vec<&str> = units
        .iter()
        .flatten()
        .map(String::as_str)
        .filter(|text| Line::long(text).is_none())
        .collect();
    let mut assembled = llvm.assemble(target, &texts)?.into_iter();
    let mut line = |text: String| -> Result<Line> {
        let llvm: Assembled = match Line::long(&text) {
            Some(bytes) => Ok(bytes),
            None => assembled
                .next()
                .context("llvm-mc assembled fewer lines than it was given")?,
        };
        Ok(Line { text, llvm })
    };
    units
        .into_iter()
        .map(|unit| unit.into_iter().map(&mut line).collect())
        .collect()
}

/// Runs our program over the samples and over LLVM's text of them.
fn ask_ours(
    gcn: &Gcn,
    llvm: &Llvm,
    target: &str,
    samples: &[Sample],
    llvm_lines: Option<&[Vec<Line>]>,
) -> Result<Vec<Ours>> {
    let empty = || Ours {
        units: BTreeMap::new(),
        backs: BTreeMap::new(),
        lines: None,
        llvm_lines: Vec::new(),
    };
    let mut all: Vec<Ours> = samples.iter().map(|_| empty()).collect();

    for syntax in [Syntax::Llvm, Syntax::Clrx] {
        let units = gcn.disassemble(target, syntax, samples)?;
        ensure!(
            units.len() == samples.len(),
            "{} units for {} samples",
            units.len(),
            samples.len()
        );
        let (mut owners, mut items) = (Vec::new(), Vec::new());
        for (i, (unit, sample)) in units.iter().zip(samples).enumerate() {
            if let Ok(unit) = unit {
                owners.push(i);
                items.push(Item::round_trip(unit, sample));
            }
        }
        for (i, back) in owners
            .into_iter()
            .zip(gcn.assemble(target, syntax, true, &items)?)
        {
            all[i].backs.insert(syntax, back);
        }
        for (ours, unit) in all.iter_mut().zip(units) {
            ours.units.insert(syntax, unit);
        }
    }

    // Our text is assembled by llvm-mc if it differs from LLVM's.
    let (mut owners, mut texts) = (Vec::new(), Vec::new());
    for (i, ours) in all.iter().enumerate() {
        let Some(Ok(unit)) = ours.units.get(&Syntax::Llvm) else {
            continue;
        };
        let is_llvms =
            llvm_lines.is_some_and(|lines| lines[i].iter().map(|line| &line.text).eq(&unit.lines));
        if !is_llvms {
            owners.push(i);
            texts.push(unit.lines.clone());
        }
    }
    for (i, lines) in owners.into_iter().zip(assemble_lines(llvm, target, texts)?) {
        all[i].lines = Some(lines);
    }

    // LLVM's text is assembled by ours with strict rules, because llvm-mc accepts only valid operands.
    let (mut owners, mut items) = (Vec::new(), Vec::new());
    for (i, lines) in llvm_lines.unwrap_or_default().iter().enumerate() {
        for (number, line) in lines.iter().enumerate() {
            if let Ok(bytes) = &line.llvm {
                owners.push((i, number));
                items.push(Item::line(&line.text, bytes));
            }
        }
    }
    let backs: Vec<Back> = gcn.assemble(target, Syntax::Llvm, false, &items)?;
    for ((i, number), back) in owners.into_iter().zip(backs) {
        all[i].llvm_lines.push((number, back));
    }
    Ok(all)
}

/// Random fillings of each opcode in the committed vectors.
const VECTOR_FILLINGS: u64 = 6;

/// Writes `testdata/vectors/<target>.txt`: lines of hexadecimal bytes, a tab and the text that
/// llvm-mc prints for them and assembles back to them. For gfx6 and gfx7, which llvm-mc cannot
/// disassemble, the text is that of gfx803, and the bytes are what llvm-mc assembles it to.
///
/// # Errors
/// If llvm-mc is missing, its output cannot be parsed, or a file cannot be written.
pub fn vectors(root: &Path) -> Result<()> {
    let llvm_mc = llvm::find()?;
    let scratch = tool::Scratch::new()?;
    let llvm = Llvm::new(&llvm_mc, &scratch);
    let folder = root.join("testdata/vectors");
    std::fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
    let mut of_gfx803 = Vec::new();
    for target in ["gfx803", "gfx900", "gfx906", "gfx600", "gfx701"] {
        let generation = Generation::of_target(target).context("a target of the table")?;
        let lines = if generation.llvm_disassembles() {
            let samples = vector_samples(generation);
            let units = llvm.disassemble(target, &samples)?;
            let units = assemble_lines(&llvm, target, units)?;
            let lines = samples.iter().zip(units).filter_map(|(sample, unit)| {
                let [line] = unit.as_slice() else { return None };
                let bytes: Vec<u8> = sample.bytes().collect();
                (line.llvm.as_ref() == Ok(&bytes)).then(|| (bytes, line.text.clone()))
            });
            lines.collect::<Vec<_>>()
        } else {
            let texts: Vec<&str> = of_gfx803.iter().map(String::as_str).collect();
            let assembled = llvm.assemble(target, &texts)?;
            let lines = assembled.into_iter().zip(&of_gfx803);
            lines
                .filter(|(_, text)| !not_before_gfx8(target, text))
                .filter_map(|(bytes, text)| Some((bytes.ok()?, text.clone())))
                .collect()
        };
        if target == "gfx803" {
            of_gfx803 = lines.iter().map(|(_, text)| text.clone()).collect();
        }
        let mut out = String::new();
        for (bytes, text) in &lines {
            for byte in bytes {
                out.push_str(&format!("{byte:02x}"));
            }
            out.push_str(&format!("\t{text}\n"));
        }
        let path = folder.join(format!("{target}.txt"));
        std::fs::write(&path, out).with_context(|| format!("{}", path.display()))?;
        println!("{}: {} lines", path.display(), lines.len());
    }
    Ok(())
}

fn vector_samples(generation: Generation) -> Vec<Sample> {
    let mut samples = Vec::new();
    for format in formats::FORMATS {
        for encoding in format.encodings {
            if !encoding.generations.contains(&generation) {
                continue;
            }
            for opcode in encoding.opcodes.0..=encoding.opcodes.1 {
                let count = VECTOR_FILLINGS;
                let filling = Filling::Random { block: 0, count };
                samples.extend(generate::samples(encoding, generation, opcode, filling, 1));
            }
        }
    }
    samples
}

/// Text that LLVM accepts on gfx6 and gfx7 although they do not have the instruction or bit (docs/llvm-differences.md).
fn not_before_gfx8(target: &str, text: &str) -> bool {
    let gfx6 = ["s_setkill", "s_cbranch_cdbg"]
        .iter()
        .any(|n| text.starts_with(n))
        || text.contains("_dwordx3 ");
    let bits = text.starts_with("v_div_scale") && text.contains(" clamp")
        || text.starts_with("s_") && text.ends_with(" glc");
    target == "gfx600" && gfx6 || bits
}
