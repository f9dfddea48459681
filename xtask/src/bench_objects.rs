//! `cargo xtask bench-text --objects`: compares `gcn dis` and `gcn asm` on complete code objects with llvm-objdump and llvm-mc.
//!
//! Our tools print and read everything: data, symbols, relocations, metadata. llvm-objdump -d prints only code, -D also the bytes
//! of other sections as code, and llvm-mc assembles the instructions of the listing.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::diff::tool;
use crate::input;
use crate::measure::{self, Usage};
use crate::timed::{self, Tools};

/// The minimum seconds of several runs of each tool, on one object.
#[derive(Clone, Copy)]
struct Times {
    dis: f64,
    dump: f64,
    /// `None` if llvm-objdump fails.
    dump_all: Option<f64>,
    asm: f64,
    /// `None` if llvm-mc does not accept llvm-objdump's text.
    mc: Option<f64>,
}

impl Times {
    /// LLVM's times divided by ours: -d, -D, llvm-mc.
    fn ratios(&self) -> [Option<f64>; 3] {
        [
            Some(self.dump / self.dis),
            self.dump_all.map(|all| all / self.dis),
            self.mc.map(|mc| mc / self.asm),
        ]
    }
}

/// Measures each object, with alternating tools, and prints a line for each, the sums, and the mean and worst ratios.
///
/// # Errors
/// If there are no objects, LLVM is missing or a tool fails.
pub fn run(gcn: &Path, llvm_mc: &Path, paths: &[PathBuf], runs: u16, wall: bool) -> Result<()> {
    let scratch = tool::Scratch::new()?;
    let path = |name: &str| scratch.dir().join(name).to_string_lossy().into_owned();
    let (file, source, back) = (path("object.co"), path("object.s"), path("back.co"));
    let (listing, instructions, object) = (path("listing"), path("mc.s"), path("mc.o"));
    let null = Path::new("/dev/null");
    let mut all = Vec::new();
    println!(
        "{:<40}{:>10}{:>9}{:>6}{:>6}{:>9}{:>6}",
        match wall {
            true => "time that passes, all threads",
            false => "processor time, one thread",
        },
        "bytes",
        "dis ms",
        "-d",
        "-D",
        "asm ms",
        "mc"
    );
    for piece in input::files(paths, false)?
        .iter()
        .flat_map(|p| input::pieces(p))
    {
        let bytes = piece.read()?;
        fs::write(&file, &bytes)?;
        let tools = Tools::of(llvm_mc, &piece.processor);
        let mut least = [f64::INFINITY; 5];
        let (mut mc_takes, mut shows_all) = (true, true);
        for round in 0..runs {
            let mut note = |n: usize, usage: Usage| {
                let time = if wall { usage.wall } else { usage.cpu };
                least[n] = least[n].min(time);
            };
            let threads: &[&str] = if wall { &[] } else { &["--threads", "1"] };
            // Replacing a file would flush it to the disk immediately.
            for made in [&source, &back, &object, &listing] {
                let _ = fs::remove_file(made);
            }
            let dis = [&["dis", &file, "-o", &source], threads].concat();
            note(0, measure::run(gcn, &dis, null)?);
            note(1, tools.dump(&file, &listing)?);
            if round == 0 {
                let text = fs::read_to_string(&listing)?;
                fs::write(&instructions, timed::instructions(&text))?;
            }
            let [_, rest @ ..] = tools.dumping(&file);
            let everything = [&["-D"][..], &rest].concat();
            match measure::run(tools.objdump(), &everything, null) {
                Ok(usage) => note(2, usage),
                Err(_) => shows_all = false,
            }
            let asm = [&["asm", &source, "-o", &back], threads].concat();
            note(3, measure::run(gcn, &asm, null)?);
            match tools.assemble(&instructions, &object) {
                Ok(usage) => note(4, usage),
                Err(_) => mc_takes = false,
            }
        }
        let [dis, dump, dump_all, asm, mc] = least;
        let times = Times {
            dis,
            dump,
            dump_all: shows_all.then_some(dump_all),
            asm,
            mc: mc_takes.then_some(mc),
        };
        line(
            &piece.name,
            bytes.len(),
            times.dis,
            times.asm,
            times.ratios(),
        );
        all.push((bytes.len(), times));
    }
    ensure!(!all.is_empty(), "no code objects to measure");
    summary(&all)
}

fn line(name: &str, bytes: usize, dis: f64, asm: f64, ratios: [Option<f64>; 3]) {
    let [d, all, mc] = ratios.map(|r| r.map_or("-".into(), |r| format!("{r:.1}")));
    println!(
        "{name:<40}{bytes:>10}{:>9.1}{d:>6}{all:>6}{:>9.1}{mc:>6}",
        dis * 1e3,
        asm * 1e3
    );
}

fn summary(all: &[(usize, Times)]) -> Result<()> {
    let sum = |of: fn(&Times) -> f64| all.iter().map(|(_, times)| of(times)).sum::<f64>();
    let bytes = all.iter().map(|(bytes, _)| bytes).sum();
    // Our time counts only if there is a time of LLVM's to compare with.
    let ratio = |theirs: fn(&Times) -> Option<f64>, ours: fn(&Times) -> f64| {
        let both = all.iter().filter_map(|(_, t)| Some((theirs(t)?, ours(t))));
        let (theirs, ours) = both.fold((0.0, 0.0), |sum, t| (sum.0 + t.0, sum.1 + t.1));
        (ours > 0.0).then_some(theirs / ours)
    };
    let (dis, asm) = (sum(|t| t.dis), sum(|t| t.asm));
    let together = [
        Some(sum(|t| t.dump) / dis),
        ratio(|t| t.dump_all, |t| t.dis),
        ratio(|t| t.mc, |t| t.asm),
    ];
    line("together", bytes, dis, asm, together);
    let column = |n: usize| -> Vec<f64> {
        let ratios = all.iter().filter_map(|(_, times)| times.ratios()[n]);
        ratios.collect()
    };
    for (n, name) in ["llvm-objdump -d", "llvm-objdump -D", "llvm-mc"]
        .iter()
        .enumerate()
    {
        let ratios = column(n);
        let worst = ratios.iter().copied().reduce(f64::min);
        let worst = worst.with_context(|| format!("{name} took no object"))?;
        println!(
            "{name} / ours: mean {:.1}, worst {worst:.1}",
            ratios.iter().sum::<f64>() / ratios.len() as f64
        );
    }
    Ok(())
}
