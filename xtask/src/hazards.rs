//! `cargo xtask hazards`: LLVM's own tests of wait states. With the s_nops that LLVM inserts, nothing may be reported. Each
//! removed or shortened s_nop must be reported, or there must be a reason why it has no effect.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use gcn::isa::Target;
use gcn::object::CodeObject;

use crate::diff::tool::Scratch;
use crate::mutate::Totals;

#[derive(clap::Args)]
pub struct Options {
    /// Machine code in LLVM's format (.mir); its `llc` lines name the targets
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print each change that is not reported
    #[arg(long)]
    list: bool,
}

/// One function of a file and the text of its machine code.
struct Function<'a> {
    name: &'a str,
    text: &'a str,
}

/// Runs the task. Returns false if a hazard is reported in LLVM's code, or if a change was wrongly not reported.
///
/// # Errors
/// If a file cannot be read or llc-14 cannot run.
pub fn run(options: &Options) -> Result<bool> {
    let scratch = Scratch::new()?;
    let mut totals = Totals::default();
    let (mut objects, mut refused, mut reported) = (0, Vec::new(), 0);
    for file in &options.files {
        let named = || file.display().to_string();
        let text = std::fs::read_to_string(file).with_context(named)?;
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let code: String = lines.flat_map(|line| ["\n", line]).collect();
        for function in functions(&code) {
            for processor in processors(&text) {
                let location = format!("{}, {}, {processor}", named(), function.name);
                match compile(&scratch, &function, processor)? {
                    None => refused.push(location),
                    Some(object) => {
                        objects += 1;
                        reported += totals.object(&object, &location, options.list, 1)?;
                    }
                }
            }
        }
    }
    ensure!(objects > 0, "llc-14 made no object of these files");
    println!("{objects} objects, {reported} hazards reported in them");
    for location in refused {
        println!("llc-14 makes no object: {location}");
    }
    totals.print();
    Ok(reported == 0 && totals.complete())
}

/// The processors of a file's RUN lines for which gcn has targets.
fn processors(text: &str) -> Vec<&str> {
    let runs = text.lines().filter(|line| line.contains("RUN: llc"));
    let named = runs.filter_map(|line| line.split("-mcpu=").nth(1)?.split_whitespace().next());
    let mut known: Vec<&str> = named.filter(|name| Target::parse(name).is_some()).collect();
    known.sort_unstable();
    known.dedup();
    known
}

/// The functions of a file's documents. The first document is LLVM IR.
fn functions(code: &str) -> Vec<Function<'_>> {
    let mut functions = Vec::new();
    for text in code.split("\n---\n") {
        if let Some(name) = text.lines().find_map(|line| line.strip_prefix("name:")) {
            let name = name.trim().trim_matches('\'');
            functions.push(Function { name, text });
        }
    }
    functions
}

/// Compiles one function from the pass on that inserts wait states. Returns `None` if LLVM cannot compile it alone, because some
/// tests use pseudo-instructions or refer to their IR.
fn compile(
    scratch: &Scratch,
    function: &Function<'_>,
    processor: &str,
) -> Result<Option<CodeObject>> {
    let (source, output) = (
        scratch.dir().join("function.mir"),
        scratch.dir().join("function.o"),
    );
    let text = format!(
        "--- |\n  define amdgpu_kernel void @{}() {{ ret void }}\n...\n---\n{}\n",
        function.name, function.text
    );
    std::fs::write(&source, text)?;
    let mut llc = Command::new("llc-14");
    llc.args(["-march=amdgcn", "-mtriple=amdgcn-amd-amdhsa"])
        .args(["-start-before=post-RA-hazard-rec", "-filetype=obj"])
        .arg(format!("-mcpu={processor}"))
        .arg(&source)
        .arg("-o")
        .arg(&output);
    let done = llc.output().context("llc-14 (Debian's package llvm-14)")?;
    if !done.status.success() {
        return Ok(None);
    }
    let object = CodeObject::parse(&std::fs::read(&output)?)?;
    Ok(Some(object))
}
