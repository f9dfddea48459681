//! Runs LLVM's tools on complete files, and measures their time and memory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::diff::llvm;
use crate::measure::{self, Usage};

/// llvm-mc and llvm-objdump of the same version, for one target.
pub struct Tools {
    mc: PathBuf,
    objdump: PathBuf,
    mcpu: String,
}

impl Tools {
    /// # Errors
    /// See [`llvm::find`].
    pub fn find(target: &str) -> Result<Tools> {
        Ok(Tools::of(&llvm::find()?, target))
    }

    /// The tools in the folder of an llvm-mc.
    pub fn of(mc: &Path, target: &str) -> Tools {
        let objdump = mc.to_string_lossy().replace("llvm-mc", "llvm-objdump");
        Tools {
            mc: mc.to_path_buf(),
            objdump: PathBuf::from(objdump),
            mcpu: format!("--mcpu={target}"),
        }
    }

    /// llvm-mc's path.
    pub fn mc(&self) -> &Path {
        &self.mc
    }

    /// llvm-objdump's path.
    pub fn objdump(&self) -> &Path {
        &self.objdump
    }

    /// llvm-mc's arguments for assembling `source` to the object `object`.
    pub fn assembling<'a>(&'a self, source: &'a str, object: &'a str) -> [&'a str; 6] {
        [
            "-triple=amdgcn-amd-amdhsa",
            &self.mcpu,
            "-filetype=obj",
            source,
            "-o",
            object,
        ]
    }

    /// llvm-objdump's arguments for printing the code of `object`.
    pub fn dumping<'a>(&'a self, object: &'a str) -> [&'a str; 3] {
        ["-d", &self.mcpu, object]
    }

    /// Runs llvm-mc on `source`; writes the object `object`.
    ///
    /// # Errors
    /// If it cannot be run or refuses the source.
    pub fn assemble(&self, source: &str, object: &str) -> Result<Usage> {
        let null = Path::new("/dev/null");
        measure::run(&self.mc, &self.assembling(source, object), null)
    }

    /// Runs llvm-objdump to print the code of `object` to the file `listing`.
    ///
    /// # Errors
    /// If it cannot be run or fails.
    pub fn dump(&self, object: &str, listing: &str) -> Result<Usage> {
        measure::run(&self.objdump, &self.dumping(object), Path::new(listing))
    }

    /// Writes the object `object`, whose code is the bytes of the file `raw`.
    ///
    /// # Errors
    /// If a file cannot be written or llvm-mc cannot be run.
    pub fn wrap(&self, raw: &str, object: &str) -> Result<()> {
        let source = format!("{object}.s");
        fs::write(&source, format!(".incbin \"{raw}\"\n"))
            .with_context(|| format!("cannot write {source}"))?;
        self.assemble(&source, object).map(drop)
    }
}

/// Returns the instructions in llvm-objdump's listing, without addresses and encodings.
pub fn instructions(listing: &str) -> String {
    let lines: Vec<&str> = listing
        .lines()
        .filter_map(|line| line.split_once(" // "))
        .map(|(text, _)| text.trim())
        // LLVM prints the zeros between kernels as an instruction that it refuses.
        .filter(|text| *text != "v_cndmask_b32_e32 v0, s0, v0, vcc")
        .collect();
    lines.join("\n")
}

/// The total time and the peak memory of several runs.
#[derive(Clone, Copy, Default)]
struct Sum {
    cpu: f64,
    wall: f64,
    peak: u64,
    instructions: u64,
}

/// The totals by tool.
#[derive(Default)]
pub struct Sums(BTreeMap<&'static str, Sum>);

impl Sums {
    /// Adds a run with a number of instructions.
    pub fn add(&mut self, tool: &'static str, usage: Usage, instructions: u64) {
        let sum = self.0.entry(tool).or_default();
        sum.cpu += usage.cpu;
        sum.wall += usage.wall;
        sum.peak = sum.peak.max(usage.peak);
        sum.instructions += instructions;
    }

    /// Prints a line per tool under a title; nothing if none was run.
    pub fn print(&self, title: &str) {
        if self.0.is_empty() {
            return;
        }
        println!(
            "  {title:<26}{:>9}{:>9}{:>10}{:>9}",
            "cpu s", "wall s", "M insn/s", "peak MB"
        );
        for (tool, sum) in &self.0 {
            println!(
                "    {tool:<24}{:>9.2}{:>9.2}{:>10.2}{:>9.1}",
                sum.cpu,
                sum.wall,
                sum.instructions as f64 / sum.cpu / 1e6,
                sum.peak as f64 / 1e6
            );
        }
    }
}
