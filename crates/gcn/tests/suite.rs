//! Runs every line of testdata/*.gcn, for every generation that it names, as a test of its own.
//!
//! A line is assembled; the bytes are decoded, printed in both syntaxes, and each text is assembled again; then it is run, and
//! every change is compared with the line's list. `BLESS=1` rewrites the text after `=>` in lines of one generation's result. The
//! last two tests list the rows that no line exercises, and those that fewer than three lines exercise.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use gcn::emu::snippet::End;
use gcn::engine::Kind;
use gcn::eval::{MAX, assemble};
use gcn::isa::decode::{Insn, decode};
use gcn::isa::print::{Style, Syntax, print};
use gcn::isa::{Target, insts};
use gcn::lang::{self, Bench, Location};
use libtest_mimic::{Arguments, Failed, Trial};

fn testdata() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

/// `gfx8` names a generation; other names are targets.
fn target(word: &str) -> Target {
    let name = match word {
        "gfx6" => "gfx600",
        "gfx7" => "gfx701",
        "gfx8" => "gfx803",
        "gfx9" => "gfx900",
        other => other,
    };
    Target::parse(name).unwrap_or_else(|| panic!("`gen {word}`: no such target"))
}

/// Rows that lines have exercised: the row's number and the target's table.
type Seen = Arc<Mutex<BTreeSet<(usize, usize)>>>;

/// The minimum number of lines with `=>` of a row with a meaning.
const LINES: usize = 3;

fn main() {
    let arguments = Arguments::from_args();
    let bless = std::env::var_os("BLESS").is_some_and(|v| v == "1");
    let seen: Seen = Arc::default();
    let mut files: Vec<PathBuf> = std::fs::read_dir(testdata())
        .expect("testdata/")
        .map(|entry| entry.expect("an entry of testdata/").path())
        .filter(|path| path.extension().is_some_and(|e| e == "gcn"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "testdata/ has no .gcn file");
    let mut trials = Vec::new();
    let mut lines_of = BTreeMap::new();
    let (mut semantic, mut checks) = (0, 0);
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a readable .gcn file");
        if bless {
            std::fs::write(&path, blessed(&text)).expect("a writable .gcn file");
            continue;
        }
        let name = path
            .file_stem()
            .map_or("".into(), |s| s.to_string_lossy().into_owned());
        for (number, line, targets) in lines(&text) {
            if line.contains("=>") {
                semantic += 1;
                checks += targets.len();
            }
            let mut rows = BTreeSet::new();
            for target in targets {
                // The exercised rows are collected before any trial runs, independently of filters.
                if let Ok(code) = lang::parse(&line, target).and_then(|l| assemble(target, &l.inst))
                {
                    let mut seen = seen.lock().expect("no trial runs yet");
                    for insn in instructions(target, &code) {
                        let row = insts::number(insn.row);
                        seen.insert((row, target.table()));
                        rows.insert(row);
                    }
                }
                let line = line.clone();
                let title = format!("{name}:{number} {} {}", target.name(), first_words(&line));
                trials.push(Trial::test(title, move || {
                    check(target, &line).map_err(Failed::from)
                }));
            }
            if line.contains("=>") {
                for row in rows {
                    *lines_of.entry(row).or_insert(0) += 1;
                }
            }
        }
    }
    if bless {
        return;
    }
    let (rows, few) = with_few_lines(&lines_of);
    if !arguments.list {
        println!(
            "{rows} rows have a meaning; {semantic} lines say what instructions do, {checks} times a line and a generation"
        );
    }
    trials.push(Trial::test("every meaning has three lines", move || {
        if few.is_empty() {
            return Ok(());
        }
        Err(Failed::from(format!(
            "{} rows have fewer:\n  {}",
            few.len(),
            few.join("\n  ")
        )))
    }));
    trials.push(Trial::test("every row has a line", move || {
        let missing = without_line(&seen.lock().expect("no other trial holds it"));
        if missing.is_empty() {
            return Ok(());
        }
        Err(Failed::from(format!(
            "{} rows have none:\n  {}",
            missing.len(),
            missing.join("\n  ")
        )))
    }));
    libtest_mimic::run(&arguments, trials).exit();
}

/// The lines that are tests: their number, text and targets.
fn lines(text: &str) -> Vec<(usize, String, Vec<Target>)> {
    let mut targets = Vec::new();
    let mut out = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.strip_prefix("gen ") {
            Some(names) => targets = names.split_whitespace().map(target).collect(),
            None => out.push((n + 1, line.to_owned(), targets.clone())),
        }
    }
    out
}

fn first_words(line: &str) -> String {
    let inst = line
        .split("   ")
        .next()
        .unwrap_or(line)
        .split("=>")
        .next()
        .unwrap_or(line);
    inst.trim().chars().take(48).collect()
}

fn instructions(target: Target, mut code: &[u8]) -> Vec<Insn> {
    let mut out = Vec::new();
    while let Some(insn) = decode(target, code) {
        code = &code[insn.len as usize..];
        out.push(insn);
    }
    out
}

fn check(target: Target, line: &str) -> Result<(), String> {
    let parsed = lang::parse(line, target)?;
    let code = assemble(target, &parsed.inst)?;
    if parsed.after.is_none() {
        return Err("the line expects nothing: `=>` is missing".into());
    }
    for style in [Style::LLVM, Style::CLRX] {
        let mut text = String::new();
        let mut len = 0;
        for insn in instructions(target, &code) {
            if !text.is_empty() {
                text.push_str(" ; ");
            }
            print(&insn, &style, &mut text);
            len += insn.len as usize;
        }
        if len != code.len() {
            return Err(format!("it does not decode after `{text}`"));
        }
        let syntax = match style.syntax {
            Syntax::Llvm => gcn::asm::Syntax::Llvm,
            Syntax::Clrx => gcn::asm::Syntax::Clrx,
        };
        let back = gcn::asm::snippet(target, &text, syntax, true)
            .map_err(|errors| gcn::asm::render(&errors, false))?;
        if back != code {
            return Err(format!(
                "{:?}: `{text}` assembles to {back:02x?}, the line to {code:02x?}",
                style.syntax
            ));
        }
    }
    for engine in std::iter::once(Kind::Interp).chain(Kind::jits()) {
        let (bench, changes, outcome) = run(target, &parsed, &code, engine)?;
        let wrong = lang::check(&parsed, &bench, &changes, &outcome);
        if !wrong.is_empty() {
            return Err(format!("{engine:?}: {}", wrong.join("\n")));
        }
    }
    Ok(())
}

fn run(
    target: Target,
    line: &lang::Line,
    code: &[u8],
    engine: Kind,
) -> Result<(Bench, Vec<Location>, gcn::emu::snippet::Outcome), String> {
    let mut bench = Bench::new(target)?;
    for (location, value) in &line.before {
        bench.set(*location, value)?;
    }
    for (location, _) in line.after.iter().flatten() {
        if let Location::Mem(at) = location {
            bench.map(*at)?;
        }
    }
    let before = bench.snapshot();
    let outcome = bench.run(code, MAX, engine.engine().as_mut());
    let changes = bench.changes(&before);
    Ok((bench, changes, outcome))
}

/// The number of rows with a meaning, and the rows that too few lines run. Rows of one name and one shape count together: they
/// differ in opcode or form.
fn with_few_lines(lines_of: &BTreeMap<usize, usize>) -> (usize, Vec<String>) {
    let mut meant = 0;
    let mut lines: BTreeMap<_, usize> = BTreeMap::new();
    for row in insts::all() {
        if !Target::all().any(|t| insts::exists(row, t)) {
            continue;
        }
        meant += 1;
        let of = lines
            .entry((row.format.name(), row.name, std::ptr::from_ref(row.shape)))
            .or_default();
        *of += lines_of.get(&insts::number(row)).copied().unwrap_or(0);
    }
    let few = (lines.iter())
        .filter(|(_, count)| **count < LINES)
        .map(|((format, name, _), count)| format!("{format} {name}: {count}"))
        .collect();
    (meant, few)
}

/// The rows of a table that no line of its targets runs.
fn without_line(seen: &BTreeSet<(usize, usize)>) -> Vec<String> {
    let mut missing = Vec::new();
    for row in insts::all() {
        let number = insts::number(row);
        for generation in ["gfx6", "gfx7", "gfx8", "gfx9"] {
            let target = target(generation);
            // A generation with the same opcode and meaning as another would need no line of its own, but the generations are few
            // and lines name several.
            let tables: Vec<usize> = Target::all()
                .filter(|t| t.generation() == target.generation() && insts::exists(row, *t))
                .map(|t| t.table())
                .collect();
            if !tables.is_empty() && !tables.iter().any(|&t| seen.contains(&(number, t))) {
                missing.push(format!(
                    "{} {} in {generation}",
                    row.format.name(),
                    row.name
                ));
            }
        }
    }
    missing
}

/// The file, with the text after `=>` replaced by the result on the first target of each line.
fn blessed(text: &str) -> String {
    let tests = lines(text);
    let mut out = String::new();
    for (n, line) in text.lines().enumerate() {
        let new =
            tests
                .iter()
                .find(|(number, ..)| *number == n + 1)
                .and_then(|(_, test, targets)| {
                    let target = *targets.first()?;
                    let parsed = lang::parse(test, target).ok()?;
                    parsed.after.as_ref()?;
                    let code = assemble(target, &parsed.inst).ok()?;
                    let (bench, changes, outcome) =
                        run(target, &parsed, &code, Kind::Interp).ok()?;
                    let mut parts: Vec<String> = lang::pair_up(&changes, target)
                        .into_iter()
                        .map(|p| {
                            format!("{} = {}", lang::name(p, target), lang::show(&bench.get(p)))
                        })
                        .collect();
                    if outcome.end != End::FellOff {
                        parts.push(format!("end = {}", lang::end_name(&outcome.end)));
                    }
                    let head = line.split("=>").next().unwrap_or(line).trim_end();
                    Some(
                        format!("{head} => {}", parts.join(", "))
                            .trim_end()
                            .to_owned(),
                    )
                });
        out.push_str(new.as_deref().unwrap_or(line));
        out.push('\n');
    }
    out
}
