//! `cargo xtask corpus`: tests real code from host libraries, offload bundles and compiled listings. All code must be
//! reproduced from our text, and every distinct instruction is compared with LLVM.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use gcn_isa::{Target, decode};
use gcn_object::CodeObject;

use crate::diff::compare::Tally;
use crate::diff::formats::Generation;
use crate::diff::generate::Sample;
use crate::diff::llvm::{self, Llvm};
use crate::diff::ours::{self, Gcn};
use crate::diff::{self, tool};
use crate::measure::{self, Usage};
use crate::timed::{self, Sums, Tools};
use crate::{build_gcn, input, repo_root};

#[derive(clap::Args)]
pub struct Options {
    /// Host libraries and programs with offload bundles, bundles, code objects, clang's .s listings; or folders of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Targets, by comma; code for others is skipped
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "gfx600,gfx701,gfx803,gfx900,gfx906"
    )]
    target: Vec<String>,
    /// Take every N-th code object of a target
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// The amount of code of each target in megabytes for timing LLVM's tools
    #[arg(long, default_value_t = 8)]
    timed: u64,
    /// The maximum number of distinct instructions of each target to compare with LLVM
    #[arg(long, default_value_t = 4_000_000)]
    distinct: usize,
    /// Examples shown of each broken rule and target
    #[arg(long, default_value_t = 5)]
    show: usize,
    /// The gcn binary; by default the workspace's release build, built first
    #[arg(long)]
    gcn: Option<PathBuf>,
}

/// Checks code and prints. Returns true if none of our results is wrong.
///
/// # Errors
/// If a file cannot be read or a tool cannot be run.
pub fn run(options: &Options) -> Result<bool> {
    let mut checker = Checker::new(options)?;
    let mut seen = BTreeMap::new();
    let mut take = |name: &str, object: &[u8]| -> Result<()> {
        // Damaged files are skipped.
        let Ok(object) = CodeObject::parse(object) else {
            return Ok(());
        };
        let (target, text) = (object.target_name(), object.section(".text"));
        let (Some(text), true) = (text, options.target.iter().any(|t| t == target)) else {
            return Ok(());
        };
        let number: &mut u64 = seen.entry(target.to_owned()).or_default();
        *number += 1;
        match (*number - 1).is_multiple_of(options.every) {
            true => checker.add(name, target, object.section_data(text)),
            false => Ok(()),
        }
    };
    for path in input::files(&options.paths, true)? {
        if path.extension().is_some_and(|extension| extension == "s") {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            take(&name, &compile_listing(&path)?)?;
            continue;
        }
        for piece in input::pieces(&path) {
            take(&piece.name, &piece.read()?)?;
        }
    }
    checker.finish()
}

/// Returns llvm-mc's relocatable object of a compiler's listing.
pub fn compile_listing(path: &Path) -> Result<Vec<u8>> {
    let text = fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
    let target = text
        .lines()
        .find_map(|line| line.trim().strip_prefix(".amdgcn_target"))
        .and_then(|rest| rest.trim().trim_matches('"').rsplit("--").next())
        .and_then(|id| id.split(':').next())
        .with_context(|| format!("{}: no .amdgcn_target", path.display()))?;
    let output = Command::new(llvm::find()?)
        .args(["-triple=amdgcn-amd-amdhsa", "-filetype=obj", "-o", "-"])
        .arg(format!("-mcpu={target}"))
        .arg(path)
        .output()?;
    ensure!(
        output.status.success(),
        "llvm-mc on {}: {}",
        path.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output.stdout)
}

/// The results for one target's code.
#[derive(Default)]
struct Code {
    objects: u64,
    bytes: u64,
    instructions: u64,
    /// The number of dwords that we do not decode.
    undecoded: u64,
    distinct: HashSet<(u8, u64)>,
    samples: Vec<Sample>,
    /// The totals of the samples already compared.
    tally: Tally,
    /// The code that was not reproduced.
    failures: Vec<String>,
    /// The resources for all code.
    all: Sums,
    /// The resources for the code that LLVM was timed with.
    timed: Sums,
    timed_bytes: u64,
}

/// Checks code piece by piece.
pub struct Checker {
    gcn: PathBuf,
    llvm_mc: PathBuf,
    scratch: tool::Scratch,
    timed: u64,
    distinct: usize,
    show: usize,
    by_target: BTreeMap<String, Code>,
}

/// The number of distinct instructions compared at once.
const BATCH: usize = 50_000;

impl Checker {
    fn new(options: &Options) -> Result<Checker> {
        Checker::with(
            options.gcn.as_deref(),
            options.timed << 20,
            options.distinct,
            options.show,
        )
    }

    /// `timed` is the number of bytes of each target for timing LLVM's tools, `distinct` the maximum number of distinct
    /// instructions to compare, `show` the number of examples shown.
    ///
    /// # Errors
    /// If a tool is missing.
    pub fn with(gcn: Option<&Path>, timed: u64, distinct: usize, show: usize) -> Result<Checker> {
        let gcn = match gcn {
            Some(path) => path.to_path_buf(),
            None => build_gcn(&repo_root())?,
        };
        ours::check(&gcn)?;
        Ok(Checker {
            gcn,
            llvm_mc: llvm::find()?,
            scratch: tool::Scratch::new()?,
            timed,
            distinct,
            show,
            by_target: BTreeMap::new(),
        })
    }

    /// The binary under test.
    pub fn gcn(&self) -> &Path {
        &self.gcn
    }

    /// A folder for temporary files.
    pub fn dir(&self) -> &Path {
        self.scratch.dir()
    }

    /// Records an error in a target's code.
    pub fn fail(&mut self, target: &str, what: String) {
        let code = self.by_target.entry(target.to_owned()).or_default();
        code.failures.push(what);
    }

    /// Checks the round trip of code and collects its distinct instructions.
    ///
    /// # Errors
    /// If a tool cannot be run or its output cannot be parsed.
    pub fn add(&mut self, name: &str, target: &str, bytes: &[u8]) -> Result<()> {
        let known = Target::parse(target).with_context(|| format!("{target} is not a target"))?;
        let mut code = self.by_target.remove(target).unwrap_or_default();
        code.objects += 1;
        code.bytes += bytes.len() as u64;
        let instructions = self.collect(&mut code, known, bytes);
        code.instructions += instructions;
        let done = self.round_trips(&mut code, name, target, bytes, instructions);
        let judged = if code.samples.len() >= BATCH {
            self.judge(&mut code, target)
        } else {
            Ok(())
        };
        self.by_target.insert(target.to_owned(), code);
        done.and(judged)
    }

    /// Counts instructions and collects new ones.
    fn collect(&self, code: &mut Code, target: Target, bytes: &[u8]) -> u64 {
        let word = |at: usize| {
            let word = bytes.get(at..at + 4)?;
            Some(u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        };
        let (mut at, mut count) = (0, 0);
        while let Some(first) = word(at) {
            let (words, step, encoding, opcode) = match decode(target, &bytes[at..]) {
                Some(insn) => {
                    let opcode = insn.row.opcode_in(target.generation()).unwrap_or_default();
                    let count = insn.len as usize / 4;
                    (count, count, insn.row.format.name(), opcode)
                }
                None => {
                    code.undecoded += 1;
                    (2, 1, "not decoded", 0)
                }
            };
            let second = if words > 1 { word(at + 4) } else { None };
            let key = (
                words as u8,
                u64::from(second.unwrap_or_default()) << 32 | u64::from(first),
            );
            if code.distinct.len() < self.distinct && code.distinct.insert(key) {
                let words: &[u32] = match second {
                    Some(second) => &[first, second],
                    None => &[first],
                };
                code.samples.extend(Sample::new(words, encoding, opcode));
            }
            at += 4 * step;
            count += 1;
        }
        count
    }

    /// Disassembles and assembles, with labels and without, in both syntaxes.
    fn round_trips(
        &self,
        code: &mut Code,
        name: &str,
        target: &str,
        bytes: &[u8],
        instructions: u64,
    ) -> Result<()> {
        let path = |name: &str| self.scratch.dir().join(name).to_string_lossy().into_owned();
        let (raw, text, back) = (path("code.bin"), path("code.s"), path("code.back"));
        let null = Path::new("/dev/null");
        fs::write(&raw, bytes)?;
        let with_llvm = code.timed_bytes < self.timed && target_has_disassembler(target);
        for syntax in ["llvm", "clrx"] {
            for plain in [true, false] {
                let mut args = vec!["dis", "--raw", "--arch", target, "--syntax", syntax];
                args.extend(plain.then_some("--plain"));
                args.extend([raw.as_str(), "-o", &text]);
                let mode = if plain { "plain" } else { "with labels" };
                let round_trip = || -> Result<(Usage, Usage)> {
                    let dis = measure::run(&self.gcn, &args, null)?;
                    let mut args = vec!["asm", "--raw", "--arch", target, "--syntax", syntax];
                    args.extend(plain.then_some("--permissive"));
                    args.extend([text.as_str(), "-o", &back]);
                    let asm = measure::run(&self.gcn, &args, null)?;
                    let made = fs::read(&back)?;
                    if made != bytes {
                        let at = made.iter().zip(bytes).position(|(a, b)| a != b);
                        let at = at.unwrap_or(made.len().min(bytes.len()));
                        bail!(
                            "{} bytes came back as {}, the first other one at {at:#x}",
                            bytes.len(),
                            made.len()
                        );
                    }
                    Ok((dis, asm))
                };
                let (dis, asm) = match round_trip() {
                    Ok(usage) => usage,
                    Err(problem) => {
                        code.failures
                            .push(format!("{name}, {syntax}, {mode}: {problem:#}"));
                        continue;
                    }
                };
                if syntax == "llvm" {
                    let (dis_name, asm_name) = if plain {
                        ("gcn dis --raw --plain", "gcn asm --raw")
                    } else {
                        ("gcn dis --raw, labels", "gcn asm --raw, labels")
                    };
                    for (tool, usage) in [(dis_name, dis), (asm_name, asm)] {
                        code.all.add(tool, usage, instructions);
                        if with_llvm {
                            code.timed.add(tool, usage, instructions);
                        }
                    }
                }
            }
        }
        if with_llvm {
            code.timed_bytes += bytes.len() as u64;
            let (object, listing) = (path("code.o"), path("code.listing"));
            let tools = Tools::of(&self.llvm_mc, target);
            tools.wrap(&raw, &object)?;
            let usage = tools.dump(&object, &listing)?;
            code.timed.add("llvm-objdump -d", usage, instructions);
            fs::write(&text, timed::instructions(&fs::read_to_string(&listing)?))?;
            // LLVM refuses some of its own text.
            if let Ok(usage) = tools.assemble(&text, &object) {
                code.timed.add("llvm-mc -filetype=obj", usage, instructions);
            }
        }
        Ok(())
    }

    /// Compares the distinct instructions collected since the last call.
    fn judge(&self, code: &mut Code, target: &str) -> Result<()> {
        let generation = Generation::of_target(target).context("a target of gfx6 to gfx9")?;
        let llvm = Llvm::new(&self.llvm_mc, &self.scratch);
        let gcn = Gcn::new(&self.gcn, &self.scratch)?;
        for samples in std::mem::take(&mut code.samples).chunks(BATCH) {
            let tally = diff::judge(samples, target, generation, &llvm, Some(&gcn))?;
            code.tally.merge(tally);
        }
        Ok(())
    }

    /// Compares the remaining instructions and prints everything. Returns true if nothing is wrong.
    ///
    /// # Errors
    /// If a tool cannot be run or its output cannot be parsed, or there was no code.
    pub fn finish(mut self) -> Result<bool> {
        let mut right = true;
        let by_target = std::mem::take(&mut self.by_target);
        ensure!(!by_target.is_empty(), "no code for these targets");
        for (target, mut code) in by_target {
            self.judge(&mut code, &target)?;
            right &= code.failures.is_empty() && code.tally.wrong == 0;
            println!(
                "{target}: {} pieces of code, {} bytes, {} instructions, {} of them no instruction; {} fail to come back",
                code.objects,
                code.bytes,
                code.instructions,
                code.undecoded,
                code.failures.len()
            );
            for failure in code.failures.iter().take(self.show) {
                println!("  WRONG {failure}");
            }
            print!(
                "{}",
                code.tally
                    .report(&format!("  distinct instructions, {target}"), self.show)
            );
            code.all.print("all of it");
            code.timed.print("what LLVM was timed on");
        }
        Ok(right)
    }
}

fn target_has_disassembler(target: &str) -> bool {
    Generation::of_target(target).is_some_and(Generation::llvm_disassembles)
}
