//! `cargo xtask objects`: disassembles and assembles complete code objects. Every section must have the same bytes and
//! address. Time and memory are compared with llvm-objdump's and llvm-mc's.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use gcn_isa::Target;
use gcn_isa::decode::Decoder;
use gcn_object::read::{CodeObject, FileKind, Symbol};
use gcn_object::{SectionKind, SymbolSection};

use crate::diff::tool;
use crate::input::{self, Piece};
use crate::measure::{self, Usage};
use crate::timed::{self, Sums, Tools};
use crate::{build_gcn, repo_root};

#[derive(clap::Args)]
pub struct Options {
    /// Code objects, relocatables, bundles, and programs and libraries that contain some; or folders of them
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Targets, by comma; code for others is skipped
    #[arg(long, value_delimiter = ',')]
    target: Vec<String>,
    /// The number of objects processed concurrently
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..64))]
    jobs: u64,
    /// Take every N-th object
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// The amount of code in megabytes for timing LLVM's tools
    #[arg(long, default_value_t = 16)]
    timed: u64,
    /// The number of differences shown
    #[arg(long, default_value_t = 20)]
    show: usize,
    /// The gcn binary; by default the workspace's release build, built first
    #[arg(long)]
    gcn: Option<PathBuf>,
}

#[derive(Default)]
struct Tally {
    objects: u64,
    bytes: u64,
    instructions: u64,
    source_bytes: u64,
    /// The number of objects that are identical: every section, symbol and header field.
    whole: u64,
    /// The number of objects whose loaded code, data, notes and tables are identical.
    loaded: u64,
    /// The number of objects by difference.
    differences: BTreeMap<String, u64>,
    failures: Vec<String>,
    /// The resources of our tools on all objects.
    ours: Sums,
    /// The resources of all tools on the objects for timing LLVM.
    timed: Sums,
    timed_bytes: u64,
}

/// Checks and prints. Returns true if the loaded parts of every object are identical.
///
/// # Errors
/// If a file cannot be read or a tool cannot be run.
pub fn run(options: &Options) -> Result<bool> {
    let gcn = match &options.gcn {
        Some(path) => path.clone(),
        None => build_gcn(&repo_root())?,
    };
    let wanted =
        |piece: &Piece| options.target.is_empty() || options.target.contains(&piece.processor);
    let files = input::files(&options.paths, false)?;
    let pieces = files.iter().flat_map(|path| input::pieces(path));
    let work: Vec<Piece> = pieces
        .filter(wanted)
        .step_by(options.every.max(1))
        .collect();
    ensure!(!work.is_empty(), "no code objects for these targets");
    let tallies: Mutex<BTreeMap<String, Tally>> = Mutex::default();
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                let done = || -> Result<()> {
                    let scratch = tool::Scratch::new()?;
                    while let Some(piece) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let bytes = piece.read()?;
                        check(&gcn, scratch.dir(), &piece.name, &bytes, options, &tallies)?;
                    }
                    Ok(())
                };
                if let Err(e) = done()
                    && let Ok(mut failed) = failed.lock()
                {
                    *failed = Some(e);
                }
            });
        }
    });
    if let Some(e) = failed.into_inner().unwrap_or(None) {
        return Err(e);
    }
    let tallies = tallies.into_inner().unwrap_or_default();
    Ok(report(&tallies, options.show))
}

fn check(
    gcn: &Path,
    folder: &Path,
    name: &str,
    bytes: &[u8],
    options: &Options,
    tallies: &Mutex<BTreeMap<String, Tally>>,
) -> Result<()> {
    let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let (file, source, back) = (path("object.co"), path("object.s"), path("back.co"));
    let null = Path::new("/dev/null");
    fs::write(&file, bytes)?;
    let object = match CodeObject::parse(bytes) {
        Ok(object) => object,
        Err(e) => {
            let mut tallies = tallies.lock().expect("no thread panics with it");
            let tally = tallies.entry("unread".into()).or_default();
            tally.objects += 1;
            tally.failures.push(format!("{name}: {e}"));
            return Ok(());
        }
    };
    let target = object.target_name().to_string();
    let instructions = count(&object);
    let round_trip = || -> Result<(Usage, Usage)> {
        let dis = measure::run(gcn, &["dis", &file, "-o", &source], null)?;
        let mut args = vec!["asm", &source, "-o", &back];
        args.extend((object.kind == FileKind::Relocatable).then_some("-c"));
        let asm = measure::run(gcn, &args, null)?;
        Ok((dis, asm))
    };
    let result = round_trip();
    let source_bytes = fs::metadata(&source).map_or(0, |m| m.len());
    let differences = match &result {
        Ok(_) => {
            let made = fs::read(&back)?;
            match CodeObject::parse(&made) {
                Ok(again) => Ok(compare(&object, &again)),
                Err(e) => Err(format!("{name}: what came back is no code object: {e}")),
            }
        }
        Err(e) => Err(format!("{name}: {e:#}")),
    };
    let with_llvm = {
        let mut tallies = tallies.lock().expect("no thread panics with it");
        let tally = tallies.entry(target.clone()).or_default();
        tally.objects += 1;
        tally.bytes += bytes.len() as u64;
        tally.instructions += instructions;
        tally.source_bytes += source_bytes;
        match differences {
            Ok(differences) => {
                tally.whole += differences.is_empty() as u64;
                let loaded = differences.iter().all(|(_, loaded)| !loaded);
                tally.loaded += loaded as u64;
                for (what, _) in &differences {
                    *tally.differences.entry(what.clone()).or_default() += 1;
                }
                if !loaded {
                    let what: Vec<&str> = differences.iter().map(|(w, _)| w.as_str()).collect();
                    tally.failures.push(format!("{name}: {}", what.join(", ")));
                }
            }
            Err(e) => tally.failures.push(e),
        }
        let timed = tally.timed_bytes < options.timed << 20;
        if let Ok((dis, asm)) = result {
            for (tool, usage) in [("gcn dis", dis), ("gcn asm", asm)] {
                tally.ours.add(tool, usage, instructions);
                if timed {
                    tally.timed.add(tool, usage, instructions);
                }
            }
        }
        if timed {
            tally.timed_bytes += bytes.len() as u64;
        }
        timed
    };
    if !with_llvm {
        return Ok(());
    }
    let Ok(tools) = Tools::find(&target) else {
        return Ok(());
    };
    let listing = path("listing");
    let Ok(dump) = tools.dump(&file, &listing) else {
        return Ok(());
    };
    fs::write(&source, timed::instructions(&fs::read_to_string(&listing)?))?;
    let mc = tools.assemble(&source, &back);
    let mut tallies = tallies.lock().expect("no thread panics with it");
    let tally = tallies.entry(target).or_default();
    tally.timed.add("llvm-objdump -d", dump, instructions);
    match mc {
        Ok(usage) => tally.timed.add("llvm-mc", usage, instructions),
        Err(_) => {
            let what = "(llvm-mc does not take llvm-objdump's text)";
            *tally.differences.entry(what.into()).or_default() += 1;
        }
    }
    Ok(())
}

/// Returns the number of instructions of a code object.
fn count(object: &CodeObject) -> u64 {
    let Some(target) = Target::parse(object.target_name()) else {
        return 0;
    };
    let decoder = Decoder::new(target);
    let mut count = 0;
    for (n, section) in object.sections.iter().enumerate() {
        if !section.flags.exec() {
            continue;
        }
        let bytes = object.section_data(n);
        let mut at = 0;
        while at < bytes.len() {
            at += decoder.decode(&bytes[at..]).map_or(4, |i| i.len as usize);
            count += 1;
        }
    }
    count
}

/// Returns the differences, each with true if it is in loaded parts.
fn compare(a: &CodeObject, b: &CodeObject) -> Vec<(String, bool)> {
    let mut out = Vec::new();
    if (a.flags, a.version, a.kind) != (b.flags, b.version, b.kind) {
        out.push(("header".to_string(), true));
    }
    let names =
        |o: &CodeObject| -> Vec<String> { o.sections.iter().map(|s| s.name.clone()).collect() };
    let (in_a, in_b) = (names(a), names(b));
    if in_a != in_b {
        let missing: Vec<&str> = in_a
            .iter()
            .filter(|n| !in_b.contains(n))
            .map(String::as_str)
            .collect();
        let loaded =
            (a.sections.iter()).any(|s| s.flags.alloc() && s.size > 0 && !in_b.contains(&s.name));
        out.push((format!("list of sections {}", missing.join(" ")), loaded));
    }
    // Sections of one name are in the same order.
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for (n, section) in a.sections.iter().enumerate() {
        let number = seen.entry(&section.name).or_default();
        let other = (b.sections.iter().enumerate())
            .filter(|(_, s)| s.name == section.name)
            .nth(*number);
        *number += 1;
        let Some((m, other)) = other else { continue };
        let same = (section.kind, section.flags, section.address, section.size)
            == (other.kind, other.flags, other.address, other.size)
            && (section.align.max(1), section.entry_size) == (other.align.max(1), other.entry_size)
            && a.section_data(n) == b.section_data(m);
        // Names may be stored differently; symbols and relocations are compared below.
        let table = a.kind == FileKind::Relocatable
            && [SectionKind::SYMTAB, SectionKind::STRTAB, SectionKind::RELA]
                .contains(&section.kind);
        if !same && !table {
            out.push((section.name.clone(), section.flags.alloc()));
        }
    }
    if symbols(a) != symbols(b) {
        out.push(("symbols".into(), false));
    }
    if a.kind == FileKind::Relocatable && relocations(a) != relocations(b) {
        out.push(("relocations".into(), true));
    }
    out
}

/// Returns the location of an address: its section's name and the offset.
fn location(object: &CodeObject, symbol: &Symbol) -> String {
    match symbol.section {
        SymbolSection::Index(i) => format!("{}+{:#x}", object.sections[i].name, symbol.address),
        other => format!("{other:?} {:#x}", symbol.address),
    }
}

fn symbols(object: &CodeObject) -> Vec<String> {
    let mut list: Vec<String> = (object.symbols.iter())
        .map(|s| {
            format!(
                "{} {} {} {:?} {:?} {:?}",
                s.name,
                location(object, s),
                s.size,
                s.kind,
                s.binding,
                s.visibility
            )
        })
        .collect();
    list.sort();
    list
}

fn relocations(object: &CodeObject) -> Vec<String> {
    let mut list: Vec<String> = (object.relocations.iter())
        .map(|r| {
            let symbol = r.symbol.and_then(|n| object.symbols.get(n));
            let local = symbol.map_or(0, |s| {
                match s.name.is_empty() || s.binding == gcn_object::Binding::Local {
                    true => s.address,
                    false => 0,
                }
            });
            // A local symbol and its section are the same to a linker.
            let symbol = symbol.map_or(String::new(), |s| match s.section {
                SymbolSection::Index(i) if s.binding == gcn_object::Binding::Local => {
                    object.sections[i].name.clone()
                }
                _ => s.name.clone(),
            });
            let section = r.section.map_or("", |i| object.sections[i].name.as_str());
            let addend = r.addend.wrapping_add(local as i64);
            format!(
                "{section}+{:#x} {} {symbol}{addend:+}",
                r.offset,
                r.kind.name()
            )
        })
        .collect();
    list.sort();
    list
}

fn report(tallies: &BTreeMap<String, Tally>, show: usize) -> bool {
    let mut right = true;
    for (target, tally) in tallies {
        right &= tally.loaded == tally.objects;
        println!(
            "{target}: {} objects, {:.1} MB, {} instructions, {:.1} MB of source; {} come back as they are loaded, {} of them whole",
            tally.objects,
            tally.bytes as f64 / 1e6,
            tally.instructions,
            tally.source_bytes as f64 / 1e6,
            tally.loaded,
            tally.whole
        );
        for (what, count) in &tally.differences {
            println!("  {count} differ in {what}");
        }
        for failure in tally.failures.iter().take(show) {
            println!("  WRONG {failure}");
        }
        tally.ours.print("all");
        tally.timed.print("timed beside LLVM");
    }
    right
}
