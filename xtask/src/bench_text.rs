//! `cargo xtask bench-text`: measures time and memory of `gcn dis` and `gcn asm` on raw code, or with `--objects` on complete
//! code objects, and compares them with LLVM 14's tools.

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use gcn_isa::Inst;
use gcn_isa::Target;
use gcn_isa::decode::Decoder;
use gcn_isa::plan::Plans;
use gcn_isa::print::{Style, print};
use gcn_isa::text::{Sink, Text};
use gcn_object::CodeObject;

use crate::diff::formats::{self, Encoding, Generation};
use crate::diff::generate::{self, Filling, Rng, Sample};
use crate::diff::llvm::{self, Llvm};
use crate::diff::{assemble_lines, tool};
use crate::measure::{self, Usage};
use crate::timed::Tools;
use crate::{bench_objects, build_gcn};

#[derive(clap::Args)]
pub struct Options {
    /// Targets of gfx8 or gfx9, by comma
    #[arg(long, value_delimiter = ',', default_value = "gfx803")]
    targets: Vec<String>,
    /// The minimum number of instructions in each input
    #[arg(long, default_value_t = 300_000)]
    count: usize,
    /// Seed of the generated instructions
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The number of runs of each tool; the median is shown
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    /// Measure these raw bytes instead (code of the target)
    #[arg(long)]
    raw: Option<PathBuf>,
    /// Measure complete code objects instead, or those in bundles, libraries and folders: also data, symbols and metadata
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["raw", "json", "targets"])]
    objects: Vec<PathBuf>,
    /// With --objects: wall time with all threads, instead of processor time with one
    #[arg(long, requires = "objects")]
    wall: bool,
    /// The gcn binary; by default the workspace's release build, built first
    #[arg(long)]
    gcn: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The raw code to measure with.
struct Input {
    name: String,
    target: String,
    bytes: Vec<u8>,
    instructions: usize,
    /// LLVM's text of it, one line per instruction; ours if LLVM is not installed.
    text: String,
}

/// The task of a tool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Disassemble,
    Assemble,
    InProcess,
}

/// One line of the table.
struct Row {
    work: Work,
    tool: String,
    /// True for tools that ours are compared with.
    peer: bool,
    usage: Usage,
    /// The size of the input file and of the output in bytes.
    files: u64,
}

/// Measures and prints.
///
/// # Errors
/// If a target is unknown, or an installed tool fails.
pub fn run(options: &Options, root: &Path) -> Result<()> {
    let gcn = match &options.gcn {
        Some(path) => path.clone(),
        None => build_gcn(root)?,
    };
    let llvm_mc = llvm::find();
    if !options.objects.is_empty() {
        let llvm_mc = llvm_mc?;
        return bench_objects::run(&gcn, &llvm_mc, &options.objects, options.runs, options.wall);
    }
    if let Err(why) = &llvm_mc {
        eprintln!("no comparison with LLVM: {why}");
    }
    let scratch = tool::Scratch::new()?;
    let mut json = Vec::new();
    for target in &options.targets {
        let generation = Generation::of_target(target)
            .filter(|generation| generation.llvm_disassembles())
            .with_context(|| format!("{target} is not a gfx8 or gfx9 target"))?;
        let llvm = llvm_mc
            .as_ref()
            .ok()
            .map(|program| Llvm::new(program, &scratch));
        let inputs = match &options.raw {
            Some(path) => vec![given(path, target)?],
            None => {
                let mut inputs = vec![generated(target, generation, options, llvm.as_ref())?];
                inputs.extend(kernels(root, target, options.count)?);
                inputs
            }
        };
        for mut input in inputs {
            let bench = Bench {
                gcn: &gcn,
                llvm_mc: llvm_mc.as_deref().ok(),
                dir: scratch.dir(),
                runs: options.runs,
            };
            let (rows, notes) = bench.measure(&mut input)?;
            if options.json {
                json.push(as_json(&input, &rows));
            } else {
                print!("{}", table(&input, &rows));
            }
            for note in notes {
                eprintln!("{note}");
            }
        }
    }
    if options.json {
        println!("{}", serde_json::Value::Array(json));
    }
    Ok(())
}

fn given(path: &Path, target: &str) -> Result<Input> {
    let bytes = fs::read(path).with_context(|| format!("{}", path.display()))?;
    input(path.display().to_string(), target, bytes)
}

/// Counts the instructions and removes an incomplete dword at the end.
fn input(name: String, target: &str, mut bytes: Vec<u8>) -> Result<Input> {
    bytes.truncate(bytes.len() / 4 * 4);
    let known = Target::parse(target).with_context(|| format!("{target} is not a target"))?;
    let instructions = decode_all(known, &bytes);
    Ok(Input {
        name,
        target: target.to_owned(),
        bytes,
        instructions,
        text: String::new(),
    })
}

/// Instructions with random fields of the scalar and vector ALU formats, in random order. With LLVM, only instructions whose
/// LLVM text assembles to the same bytes with LLVM, so that all tools do the same work.
fn generated(
    target: &str,
    generation: Generation,
    options: &Options,
    llvm: Option<&Llvm>,
) -> Result<Input> {
    let known = Target::parse(target).with_context(|| format!("{target} is not a target"))?;
    let names = [
        "SOP1", "SOP2", "SOPC", "SOPK", "SOPP", "VOP1", "VOP2", "VOPC", "VOP3",
    ];
    let mut opcodes: Vec<(&'static Encoding, u16)> = names
        .iter()
        .filter_map(|name| formats::find(name))
        .flat_map(|format| format.encodings)
        .filter(|encoding| encoding.generations.contains(&generation))
        .flat_map(|encoding| {
            (encoding.opcodes.0..=encoding.opcodes.1).map(move |op| (encoding, op))
        })
        .collect();
    let mut kept: Vec<Sample> = Vec::new();
    let mut block = 0;
    while kept.len() < options.count {
        let filling = Filling::Random { block, count: 64 };
        let samples: Vec<Sample> = opcodes
            .iter()
            .flat_map(|&(encoding, op)| {
                generate::samples(encoding, generation, op, filling, options.seed)
            })
            .collect();
        let before = kept.len();
        match llvm {
            Some(llvm) => {
                let units = assemble_lines(llvm, target, llvm.disassemble(target, &samples)?)?;
                kept.extend(
                    samples
                        .into_iter()
                        .zip(units)
                        .filter_map(|(sample, lines)| {
                            let bytes: Vec<u8> = sample.bytes().collect();
                            let [line] = lines.as_slice() else {
                                return None;
                            };
                            (line.llvm.as_ref() == Ok(&bytes)).then_some(sample)
                        }),
                );
            }
            None => kept.extend(
                samples
                    .into_iter()
                    .filter(|sample| is_instruction(known, sample)),
            ),
        }
        ensure!(
            kept.len() > before,
            "no instruction of {target} is accepted"
        );
        if block == 0 {
            // Undefined opcodes are not tried again.
            opcodes.retain(|&(encoding, op)| {
                kept.iter()
                    .any(|sample| sample.encoding == encoding.name && sample.opcode == op)
            });
        }
        block += 1;
    }
    let mut rng = Rng::new(&[options.seed]);
    for at in (1..kept.len()).rev() {
        kept.swap(at, rng.below(at as u64 + 1) as usize);
    }
    // Instructions that gcn does not decode cannot be measured. There should be none.
    let known_to_llvm = kept.len();
    kept.retain(|sample| is_instruction(known, sample));
    let missing = known_to_llvm - kept.len();
    if missing > 0 {
        eprintln!(
            "{missing} of {known_to_llvm} generated instructions are left out: gcn does not decode them"
        );
    }
    let bytes = kept.iter().flat_map(Sample::bytes).collect();
    let mut input = input("random SOP and VOP instructions".to_owned(), target, bytes)?;
    input.instructions = kept.len();
    Ok(input)
}

fn is_instruction(target: Target, sample: &Sample) -> bool {
    let bytes: Vec<u8> = sample.bytes().collect();
    gcn_isa::decode(target, &bytes).is_some_and(|insn| insn.len as usize == bytes.len())
}

/// The code of the compiled kernels in the test data, repeated.
fn kernels(root: &Path, target: &str, count: usize) -> Result<Option<Input>> {
    let mut paths = Vec::new();
    let Ok(folder) = fs::read_dir(root.join("testdata/kernels")) else {
        return Ok(None);
    };
    for entry in folder {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(&format!("-{target}.co")) {
            paths.push(path);
        }
    }
    paths.sort();
    let mut once = Vec::new();
    for path in &paths {
        let object =
            CodeObject::parse(&fs::read(path)?).with_context(|| format!("{}", path.display()))?;
        for (index, section) in object.sections.iter().enumerate() {
            if section.name == ".text" {
                once.extend_from_slice(object.section_data(index));
            }
        }
    }
    let one = input(String::new(), target, once)?;
    if one.instructions == 0 {
        return Ok(None);
    }
    let times = count.div_ceil(one.instructions);
    let name = format!("{} kernels, {times} times", paths.len());
    let mut input = input(name, target, one.bytes.repeat(times))?;
    input.instructions = one.instructions * times;
    Ok(Some(input))
}

/// Decodes everything with one decoder, as a program that decodes much code does. Returns the number of instructions,
/// including words that are not instructions.
fn decode_all(target: Target, bytes: &[u8]) -> usize {
    let decoder = Decoder::new(target);
    let (mut rest, mut count) = (bytes, 0);
    let mut sum = 0;
    while rest.len() >= 4 {
        let len = match decoder.decode(rest) {
            Some(insn) => {
                // Uses the result, so that the compiler does not remove the work.
                sum ^= insn.bits ^ insn.literal as u64 ^ insn.row as *const Inst as usize as u64;
                insn.len as usize
            }
            None => 4,
        };
        rest = rest.get(len..).unwrap_or_default();
        count += 1;
    }
    black_box(sum);
    count
}

/// Decodes and prints everything with plans and a reused buffer, as a program that prints much code does.
fn print_all(target: Target, bytes: &[u8]) -> usize {
    let mut plans = Plans::new(target, Style::LLVM);
    let mut out = Text::new();
    let (mut at, mut written) = (0, 0);
    while at + 4 <= bytes.len() {
        at += match &gcn_isa::decode(target, &bytes[at..]) {
            Some(insn) => {
                plans.print(insn, None, &mut out);
                insn.len as usize
            }
            None => 4,
        };
        out.push('\n');
        if out.len() >= 1 << 17 {
            written += black_box(&out).len();
            out.clear();
        }
    }
    written + black_box(out).len()
}

/// Decodes and prints everything with the simple function.
fn print_simply(target: Target, bytes: &[u8]) -> usize {
    let mut out = String::with_capacity(8 * bytes.len());
    let mut at = 0;
    while at + 4 <= bytes.len() {
        at += match gcn_isa::decode(target, &bytes[at..]) {
            Some(insn) => {
                print(&insn, &Style::LLVM, &mut out);
                insn.len as usize
            }
            None => 4,
        };
        out.push('\n');
    }
    black_box(out).len()
}

struct Bench<'a> {
    gcn: &'a Path,
    llvm_mc: Option<&'a Path>,
    dir: &'a Path,
    runs: u16,
}

/// A program to measure: its task and its files.
struct Trial<'a> {
    work: Work,
    tool: &'a str,
    /// True for programs that ours are compared with.
    peer: bool,
    program: &'a Path,
    args: &'a [&'a str],
    /// The file that it reads, and the file that it writes.
    read: &'a str,
    written: &'a str,
}

impl Bench<'_> {
    fn measure(&self, input: &mut Input) -> Result<(Vec<Row>, Vec<String>)> {
        let (mut rows, mut notes) = (Vec::new(), Vec::new());
        let path = |name: &str| self.dir.join(name).to_string_lossy().into_owned();
        let (raw, text, out) = (path("bench.bin"), path("bench.s"), path("bench.out"));
        let (hex, object) = (path("bench.hex"), path("bench.o"));
        let mcpu = format!("--mcpu={}", input.target);
        let arch = input.target.clone();
        fs::write(&raw, &input.bytes)?;

        if let Some(llvm_mc) = self.llvm_mc {
            let mut lines = String::with_capacity(input.bytes.len() * 5);
            for word in input.bytes.chunks(4) {
                for byte in word {
                    let _ = write!(lines, "0x{byte:02x} ");
                }
                lines.push('\n');
            }
            fs::write(&hex, lines)?;
            let tools = Tools::of(llvm_mc, &input.target);
            tools.wrap(&raw, &object)?;
            rows.push(self.row(&Trial {
                work: Work::Disassemble,
                tool: "llvm-objdump -d",
                peer: true,
                program: tools.objdump(),
                args: &tools.dumping(&object),
                read: &object,
                written: &out,
            })?);
            let args = ["-disassemble", "-arch=amdgcn", &mcpu, &hex];
            rows.push(self.row(&Trial {
                work: Work::Disassemble,
                tool: "llvm-mc -disassemble",
                peer: true,
                program: llvm_mc,
                args: &args,
                read: &hex,
                written: &out,
            })?);
            input.text = fs::read_to_string(&out)?;
            input.text = input
                .text
                .lines()
                .map(str::trim)
                .filter(|line| *line != ".text")
                .fold(String::with_capacity(input.text.len()), |mut text, line| {
                    text.push_str(line);
                    text.push('\n');
                    text
                });
        }
        let dis_threads = self.threads("dis");
        for (name, plain) in [
            ("gcn dis --raw --plain", true),
            ("gcn dis --raw, labels", false),
        ] {
            for threads in dis_threads {
                let mut args = vec!["dis", "--raw", "--arch", &arch];
                args.extend(plain.then_some("--plain"));
                args.extend(threads.iter().flat_map(|n| ["--threads", n]));
                args.extend([raw.as_str(), "-o", &out]);
                rows.push(self.row(&Trial {
                    work: Work::Disassemble,
                    tool: &named(name, *threads),
                    peer: false,
                    program: self.gcn,
                    args: &args,
                    read: &raw,
                    written: &out,
                })?);
                if plain {
                    let ours = fs::read_to_string(&out)?;
                    if input.text.is_empty() {
                        input.text = ours;
                    } else {
                        let differ = ours.lines().zip(input.text.lines()).filter(|(a, b)| a != b);
                        let differ: Vec<_> = differ.collect();
                        if let Some((a, b)) = differ.first() {
                            notes.push(format!(
                                "{} lines differ from LLVM's, first `{a}`, not `{b}`",
                                differ.len()
                            ));
                        }
                    }
                }
            }
        }

        fs::write(&text, &input.text)?;
        if let Some(llvm_mc) = self.llvm_mc {
            let tools = Tools::of(llvm_mc, &input.target);
            rows.push(self.row(&Trial {
                work: Work::Assemble,
                tool: "llvm-mc -filetype=obj",
                peer: true,
                program: tools.mc(),
                args: &tools.assembling(&text, &out),
                read: &text,
                written: &out,
            })?);
        }
        for threads in self.threads("asm") {
            // LLVM accepts an instruction with two SGPRs, which breaks a rule.
            let mut args = vec!["asm", "--raw", "--permissive", "--arch", &arch];
            args.extend(threads.iter().flat_map(|n| ["--threads", n]));
            args.extend([text.as_str(), "-o", &out]);
            rows.push(self.row(&Trial {
                work: Work::Assemble,
                tool: &named("gcn asm --raw", *threads),
                peer: false,
                program: self.gcn,
                args: &args,
                read: &text,
                written: &out,
            })?);
            if fs::read(&out)? != input.bytes {
                notes.push("gcn asm gives other bytes than the input's".to_owned());
            }
        }

        let target = Target::parse(&input.target).context("a known target")?;
        type Pass = fn(Target, &[u8]) -> usize;
        for (name, pass) in [
            ("decode", decode_all as Pass),
            ("decode and print", print_all),
            ("decode and print, simply", print_simply),
        ] {
            // Each pass is short, and the first one warms the caches.
            black_box(pass(target, black_box(&input.bytes)));
            let mut times: Vec<f64> = (0..self.runs.max(5) * 5)
                .map(|_| {
                    let start = Instant::now();
                    black_box(pass(target, black_box(&input.bytes)));
                    start.elapsed().as_secs_f64()
                })
                .collect();
            let wall = median(&mut times);
            let usage = Usage {
                wall,
                cpu: wall,
                peak: 0,
            };
            rows.push(Row {
                work: Work::InProcess,
                tool: name.to_owned(),
                peer: false,
                usage,
                files: 0,
            });
        }
        Ok((rows, notes))
    }

    /// The median of some runs, after one that warms the file cache.
    fn row(&self, trial: &Trial) -> Result<Row> {
        let Trial {
            work,
            tool,
            peer,
            program,
            args,
            read,
            written,
        } = *trial;
        let stdout = self.dir.join("bench.stdout");
        let to_stdout = !args.contains(&"-o");
        let mut all = Vec::new();
        for _ in 0..=self.runs {
            all.push(measure::run(
                program,
                args,
                if to_stdout {
                    Path::new(written)
                } else {
                    &stdout
                },
            )?);
        }
        let pick = |of: fn(&Usage) -> f64| {
            let mut values: Vec<f64> = all[1..].iter().map(of).collect();
            median(&mut values)
        };
        let usage = Usage {
            wall: pick(|u| u.wall),
            cpu: pick(|u| u.cpu),
            peak: pick(|u| u.peak as f64) as u64,
        };
        let size = |path: &str| fs::metadata(path).map_or(0, |m| m.len());
        Ok(Row {
            work,
            tool: tool.to_owned(),
            peer,
            usage,
            files: size(read) + size(written),
        })
    }

    /// The thread counts to run a subcommand with; `None` is its default.
    fn threads(&self, subcommand: &str) -> &'static [Option<&'static str>] {
        let help = Command::new(self.gcn).args([subcommand, "--help"]).output();
        let known =
            help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains("--threads"));
        if known {
            &[Some("1"), Some("2")]
        } else {
            &[None]
        }
    }
}

fn named(name: &str, threads: Option<&str>) -> String {
    match threads {
        Some(n) => format!("{name}, threads {n}"),
        None => name.to_owned(),
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// The ratios of the peers' processor and wall times to a row's, in the order of the peers.
fn ratios<'a>(row: &'a Row, rows: &'a [Row]) -> impl Iterator<Item = (&'a str, f64, f64)> {
    let peers = rows
        .iter()
        .filter(|peer| peer.peer && !row.peer && peer.work == row.work);
    peers.map(|peer| {
        let cpu = peer.usage.cpu / row.usage.cpu;
        (peer.tool.as_str(), cpu, peer.usage.wall / row.usage.wall)
    })
}

const MEGA: f64 = 1e6;

fn table(input: &Input, rows: &[Row]) -> String {
    let mut text = format!(
        "{} on {}: {} instructions, {} bytes\n{:<34}{:>9}{:>9}{:>12}{:>10}{:>15}  peer's time / this, processor (wall)\n",
        input.name,
        input.target,
        input.instructions,
        input.bytes.len(),
        "",
        "cpu ms",
        "wall ms",
        "M insn/s",
        "peak MB",
        "- files MB",
    );
    let mut last = Work::Disassemble;
    for row in rows {
        if row.work != last {
            text.push('\n');
            last = row.work;
        }
        let Usage { wall, cpu, peak } = row.usage;
        let rate = input.instructions as f64 / wall / MEGA;
        let _ = write!(
            text,
            "{:<34}{:>9.1}{:>9.1}{rate:>12.2}",
            row.tool,
            cpu * 1e3,
            wall * 1e3
        );
        if peak > 0 {
            let beyond = peak as f64 - row.files as f64;
            let _ = write!(text, "{:>10.1}{:>15.1}", peak as f64 / MEGA, beyond / MEGA);
        }
        for (peer, cpu, wall) in ratios(row, rows) {
            let _ = write!(text, "  {peer} {cpu:.1} ({wall:.1})");
        }
        text.push('\n');
    }
    text.push('\n');
    text
}

fn as_json(input: &Input, rows: &[Row]) -> serde_json::Value {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let ratios: Vec<_> = ratios(row, rows)
                .map(|(peer, cpu, wall)| serde_json::json!({ "peer": peer, "cpu": cpu, "wall": wall }))
                .collect();
            serde_json::json!({
                "work": match row.work {
                    Work::Disassemble => "disassemble",
                    Work::Assemble => "assemble",
                    Work::InProcess => "in process",
                },
                "tool": row.tool,
                "cpu_s": row.usage.cpu,
                "wall_s": row.usage.wall,
                "instructions_per_s": input.instructions as f64 / row.usage.wall,
                "peak_bytes": row.usage.peak,
                "file_bytes": row.files,
                "ratios": ratios,
            })
        })
        .collect();
    serde_json::json!({
        "input": input.name,
        "target": input.target,
        "instructions": input.instructions,
        "bytes": input.bytes.len(),
        "rows": rows,
    })
}
