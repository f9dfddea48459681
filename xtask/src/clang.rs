//! `cargo xtask clang FOLDER`: compiles OpenCL kernels to assembly and to objects, for every target, code object version and ABI.
//! Our assembler must produce the compiler's object from the unchanged listing, and our linker the file of the compiler's linker.
//! If the compiler's object differs from its own listing (in the SGPR count), llvm-mc's object of the listing is used.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use gcn_object::read::{FileKind, Symbol};
use gcn_object::{CodeObject, SymbolKind, SymbolSection};

use crate::compiler::Compiler;
use crate::fixtures;
use crate::parallel;

#[derive(clap::Args)]
pub struct Options {
    /// The folder of .cl files; by default testdata/kernels
    folder: Option<PathBuf>,
    /// Targets, by comma
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "gfx600,gfx700,gfx803,gfx900,gfx902,gfx906"
    )]
    target: Vec<String>,
    /// Code object versions, by comma; those that the compiler does not support are skipped
    #[arg(long, value_delimiter = ',', default_value = "2,3,4,5,6")]
    version: Vec<u8>,
    /// The compiler's version, such as 22, with our own built-in functions; by default 14, and 15 for v5, with libclc's
    #[arg(long, value_name = "N")]
    clang: Option<u8>,
    /// Optimisation levels of all kernels, by comma, in place of -O2 and some at -O0 and with -g
    #[arg(long = "opt", value_delimiter = ',')]
    levels: Vec<String>,
    /// ABIs, by comma
    #[arg(long, value_delimiter = ',', default_value = "hsa,mesa3d")]
    abi: Vec<String>,
    /// The number of kernels that are also compiled with -g and at -O0
    #[arg(long, default_value_t = 3)]
    more: usize,
    /// Differences shown of each kind
    #[arg(long, default_value_t = 2)]
    show: usize,
    /// Keep the listings and objects in this folder
    #[arg(long)]
    keep: Option<PathBuf>,
    /// The gcn binary; by default the workspace's release build, built first
    #[arg(long)]
    gcn: Option<PathBuf>,
}

/// One listing.
struct Case {
    kernel: String,
    target: String,
    version: u8,
    abi: String,
    flags: Vec<String>,
    compiler: Compiler,
    /// The built-in functions as source; `None` for libclc's.
    builtins: Option<PathBuf>,
}

/// The result of a listing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// Our objects are equal to the compiler's and the linker's.
    Clang,
    /// Our objects are equal to llvm-mc's of the listing, and the linker's.
    Mc,
    /// Our objects differ from both.
    Differs,
}

const VARIANTS: [&[&str]; 4] = [&["-O2"], &["-O2", "-g"], &["-O0"], &["-O0", "-g"]];

impl Case {
    fn os(&self) -> &'static str {
        match self.abi.as_str() {
            "mesa3d" => "mesa-mesa3d",
            _ => "amd-amdhsa",
        }
    }

    fn debug(&self) -> bool {
        self.flags.iter().any(|flag| flag == "-g")
    }

    fn name(&self) -> String {
        let flags = self.flags.concat().replace("-O2", "");
        format!(
            "{}-{}-v{}-{}{flags}",
            self.kernel, self.target, self.version, self.abi
        )
    }

    /// libclc's builtins. A newer compiler can read the older one's.
    fn library(&self) -> PathBuf {
        let file = match (self.abi.as_str(), &self.target[..4], self.target.as_str()) {
            ("hsa", ..) => "amdgcn--amdhsa".to_string(),
            (_, "gfx6", _) => "tahiti-amdgcn-mesa-mesa3d".into(),
            (_, "gfx7", _) => "hawaii-amdgcn-mesa-mesa3d".into(),
            (_, "gfx8", _) => "fiji-amdgcn-mesa-mesa3d".into(),
            (_, _, target) => format!("{target}-amdgcn-mesa-mesa3d"),
        };
        Path::new("/usr/lib/clc").join(file + ".bc")
    }

    fn compile(&self, folder: &Path, form: &str, out: &Path) -> Result<()> {
        let mut command = Command::new(self.compiler.clang());
        match &self.builtins {
            Some(header) => {
                let v5 = self.version >= 5 && self.abi == "hsa";
                command.args(v5.then_some("-DV5"));
                command.arg("-include").arg(header);
            }
            None => {
                let library = self.library();
                let library = library.to_str().context("the path is not text")?;
                command.args(["-Xclang", "-mlink-builtin-bitcode", "-Xclang", library]);
            }
        }
        run(command
            .current_dir(folder)
            .args(["-x", "cl", "-cl-std=CL1.2", "-nogpulib", form])
            .args(["-Xclang", "-finclude-default-header"])
            .arg("-target")
            .arg(format!("amdgcn-{}", self.os()))
            .arg(format!("-mcpu={}", self.target))
            .arg(format!("-mcode-object-version={}", self.version))
            .args(&self.flags)
            .arg(format!("{}.cl", self.kernel))
            .arg("-o")
            .arg(out))
    }
}

fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said: String = said.chars().take(1500).collect();
    ensure!(output.status.success(), "{program}: {said}");
    Ok(())
}

/// Compiles, compares and prints. Returns true if none of our results is wrong.
///
/// # Errors
/// If a compiler is missing or the folder has no kernels.
pub fn run_all(options: &Options, root: &Path) -> Result<bool> {
    let folder = match &options.folder {
        Some(folder) => std::path::absolute(folder)?,
        None => root.join("testdata/kernels"),
    };
    let compiler = match options.clang {
        Some(version) => Some(Compiler::find(version)?),
        None => {
            fixtures::check_compiler()?;
            None
        }
    };
    let gcn = match &options.gcn {
        Some(gcn) => std::path::absolute(gcn)?,
        None => crate::build_gcn(root)?,
    };
    let own = std::env::temp_dir().join(format!("gcn-clang-{}", std::process::id()));
    let work = options.keep.clone().unwrap_or_else(|| own.clone());
    fs::create_dir_all(&work)?;
    let work = std::path::absolute(work)?;
    let builtins = compiler
        .map(|_| Compiler::write_builtins(&work))
        .transpose()?;
    let mut cases = Vec::new();
    for (n, kernel) in fixtures::kernels(&folder)?.into_iter().enumerate() {
        for target in &options.target {
            for &version in &options.version {
                for abi in &options.abi {
                    // The first LLVM that supports the version.
                    let first = Compiler(if version >= 5 { 15 } else { 14 });
                    let compiler = compiler.unwrap_or(first);
                    if !compiler.makes(target, version) {
                        continue;
                    }
                    for flags in variants(options, n) {
                        cases.push(Case {
                            kernel: kernel.clone(),
                            target: target.clone(),
                            version,
                            abi: abi.clone(),
                            flags,
                            compiler,
                            builtins: builtins.clone(),
                        });
                    }
                }
            }
        }
    }
    let results = parallel::each(&cases, |case| check(case, &folder, &work, &gcn));
    if options.keep.is_none() {
        fs::remove_dir_all(&own)?;
    }
    Ok(report(&results, options.show))
}

/// Returns the options for compiling the n-th kernel.
fn variants(options: &Options, n: usize) -> Vec<Vec<String>> {
    if !options.levels.is_empty() {
        let levels = options.levels.iter();
        return levels.map(|level| vec![format!("-{level}")]).collect();
    }
    let count = if n < options.more { 4 } else { 1 };
    let flags = VARIANTS.iter().take(count);
    flags
        .map(|flags| flags.iter().map(|flag| flag.to_string()).collect())
        .collect()
}

type Outcome<'a> = (&'a Case, Result<(Verdict, Vec<String>)>);

fn report(results: &[Outcome<'_>], show: usize) -> bool {
    let mut counts: BTreeMap<(&str, u8, &str), [usize; 4]> = BTreeMap::new();
    let mut reasons: BTreeMap<(String, bool), Vec<String>> = BTreeMap::new();
    for (case, result) in results {
        let key = (case.abi.as_str(), case.version, case.target.as_str());
        let count = counts.entry(key).or_default();
        count[0] += 1;
        let (column, wrong, said) = match result {
            Ok((Verdict::Clang, said)) => (1, false, said.clone()),
            Ok((Verdict::Mc, said)) => (2, false, said.clone()),
            Ok((Verdict::Differs, said)) => (3, true, said.clone()),
            Err(error) => (3, true, vec![format!("{error:#}")]),
        };
        count[column] += 1;
        for reason in said {
            reasons
                .entry((reason, wrong))
                .or_default()
                .push(case.name());
        }
    }
    println!("abi     version  target  listings  as clang  as llvm-mc  differ");
    let mut sums = [0; 4];
    for ((abi, version, target), count) in counts {
        let [all, clang, mc, differ] = count;
        println!("{abi:<7} v{version}       {target:<7} {all:>8} {clang:>9} {mc:>11} {differ:>7}");
        for (sum, n) in sums.iter_mut().zip(count) {
            *sum += n;
        }
    }
    let [all, clang, mc, differ] = sums;
    println!("all                      {all:>8} {clang:>9} {mc:>11} {differ:>7}");
    for ((reason, wrong), names) in &reasons {
        let mark = if *wrong { "wrong" } else { "noted" };
        println!("{mark}, {} times: {reason}", names.len());
        for name in names.iter().take(show) {
            println!("    {name}");
        }
    }
    differ == 0
}

fn check(case: &Case, folder: &Path, work: &Path, gcn: &Path) -> Result<(Verdict, Vec<String>)> {
    let file = |what: &str| work.join(format!("{}.{what}", case.name()));
    let (listing, ours, theirs) = (file("s"), file("our.o"), file("o"));
    case.compile(folder, "-S", &listing)?;
    case.compile(folder, "-c", &theirs)?;
    let assemble = |form: &[&str], out: &Path| {
        run(Command::new(gcn)
            .arg("asm")
            .args(form)
            .args(["--arch", &case.target])
            .args([&listing, Path::new("-o"), out]))
    };
    assemble(&["-c"], &ours)?;
    let mut said = Vec::new();
    let mut differences = compare(&ours, &theirs)?;
    let mut reference = theirs;
    let mut verdict = Verdict::Clang;
    if !differences.is_empty() {
        reference = file("mc.o");
        run(Command::new(case.compiler.tool("llvm-mc"))
            .arg(format!("-triple=amdgcn-{}", case.os()))
            .arg(format!("-mcpu={}", case.target))
            .arg(format!("--amdhsa-code-object-version={}", case.version))
            .args(["-filetype=obj", "-o"])
            .args([&reference, &listing]))
        .with_context(|| format!("our object is not clang's: {}", differences.join("; ")))?;
        said = differences
            .drain(..)
            .map(|d| format!("clang's object is not its listing's: {d}"))
            .collect();
        differences = compare(&ours, &reference)?;
        verdict = Verdict::Mc;
    }
    // The linked file: the linker's output for the same object.
    let (linked, loadable) = (file("so"), file("our.so"));
    let made = assemble(&[], &loadable);
    let link = run(Command::new(case.compiler.tool("ld.lld"))
        .arg("-shared")
        .args([&reference, Path::new("-o"), &linked]));
    // Absolute addresses in code and LDS symbols are meant for the linkers of graphics drivers.
    let elsewhere = |error: &anyhow::Error| {
        let text = format!("{error:#}");
        ["is known only at run time", "is LDS, which only"]
            .iter()
            .any(|part| text.contains(part))
    };
    match link {
        Ok(()) => {
            made?;
            let of_linked = compare(&loadable, &linked)?;
            differences.extend(of_linked.into_iter().map(|d| format!("linked, {d}")));
            if case.debug() && debug_text(&loadable, BOTH)? != debug_text(&linked, BOTH)? {
                differences.push("linked, lines or debugging information differ".into());
            }
        }
        // lld ignores addends of relocations except in HSA objects.
        Err(error) if format!("{error:#}").contains("cannot read addend") => {
            said.push(match made {
                Ok(()) => "linked by us alone: ld.lld cannot read the object's relocations".into(),
                Err(error) if elsewhere(&error) => "linked by neither".into(),
                Err(error) => return Err(error),
            });
            if case.debug() && debug_text(&ours, LINES)? != debug_text(&reference, LINES)? {
                differences.push("lines or debugging information differ".into());
            }
        }
        Err(error) => return made.and(Err(error)),
    }
    if differences.is_empty() {
        return Ok((verdict, said));
    }
    Ok((Verdict::Differs, differences))
}

const BOTH: &[&str] = &["--debug-line", "--debug-info"];
/// llvm-dwarfdump crashes on debugging information without addends.
const LINES: &[&str] = &["--debug-line"];

/// Returns the rows of the line tables and the entries of the debugging information, as printed by llvm-dwarfdump.
fn debug_text(file: &Path, parts: &[&str]) -> Result<Vec<String>> {
    let output = Command::new("llvm-dwarfdump-14")
        .args(parts)
        .arg(file)
        .output()
        .context("cannot run llvm-dwarfdump-14")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let rows = text.lines();
    let rows = rows.filter(|l| l.starts_with("0x") || l.trim_start().starts_with("DW_AT"));
    Ok(rows.map(str::to_owned).collect())
}

/// Sections with several valid encodings: the line table, the order of strings. Their contents are compared as text.
const FREE: [&str; 2] = [".debug_line", ".debug_line_str"];
const FREE_LINKED: [&str; 2] = [".debug_str", ".debug_str_offsets"];
/// Sections with the name of the tool, and tables whose contents are compared as symbols and relocations.
const SKIPPED: [&str; 10] = [
    ".comment",
    ".strtab",
    ".shstrtab",
    ".symtab",
    ".llvm_addrsig",
    ".dynsym",
    ".dynstr",
    ".hash",
    ".gnu.hash",
    ".note.GNU-stack",
];

/// Returns the differences of our file and another one, without numbers, so that equal differences are counted together.
fn compare(ours: &Path, theirs: &Path) -> Result<Vec<String>> {
    let read = |path: &Path| -> Result<CodeObject> {
        let bytes = fs::read(path)?;
        CodeObject::parse(&bytes).with_context(|| format!("reading {}", path.display()))
    };
    let (ours, theirs) = (read(ours)?, read(theirs)?);
    let mut out = Vec::new();
    let mut differ = |what: &str, same: bool| {
        if !same {
            out.push(format!("{what} differs"));
        }
    };
    differ("OS/ABI", ours.os == theirs.os);
    differ("ABI version", ours.version == theirs.version);
    differ("e_flags", ours.flags == theirs.flags);
    let names = |object: &CodeObject| -> BTreeSet<String> {
        let used = object.sections.iter().filter(|s| s.size > 0);
        let names = used.map(|s| s.name.clone());
        let other = |n: &String| {
            let n = n.as_str();
            !n.starts_with(".rel") && !SKIPPED.contains(&n) && !FREE.contains(&n)
        };
        names.filter(other).collect()
    };
    let (own, other) = (names(&ours), names(&theirs));
    for name in own.symmetric_difference(&other) {
        differ(&format!("the existence of {name}"), false);
    }
    for name in own.intersection(&other) {
        let (Some(a), Some(b)) = (ours.section(name), theirs.section(name)) else {
            continue;
        };
        let (x, y) = (&ours.sections[a], &theirs.sections[b]);
        differ(
            &format!("flags, type, alignment or address of {name}"),
            (x.kind, x.flags, x.align, x.address) == (y.kind, y.flags, y.align, y.address),
        );
        let linked = ours.kind == FileKind::Loadable;
        if !(linked && FREE_LINKED.contains(&name.as_str())) {
            let same = ours.section_data(a) == theirs.section_data(b);
            differ(name, same);
        }
    }
    differ("the symbols", symbols(&ours) == symbols(&theirs));
    differ(
        "the relocations",
        relocations(&ours) == relocations(&theirs),
    );
    Ok(out)
}

fn section_name(object: &CodeObject, section: SymbolSection) -> String {
    match section {
        SymbolSection::Index(n) => object.sections[n].name.clone(),
        other => format!("{other:?}"),
    }
}

/// Returns the name, location and attributes of every symbol that has a name.
fn symbols(object: &CodeObject) -> BTreeSet<String> {
    let named = |s: &&Symbol| !s.name.is_empty() && s.kind != SymbolKind::Section;
    let symbols = object.symbols.iter().filter(named);
    let dynamic = object.dynamic_symbols.iter().filter(named);
    let text = |s: &Symbol, table: &str| {
        format!(
            "{table} {} {} {} {:?} {:?} {:?} {}",
            s.name,
            s.address,
            s.size,
            s.kind,
            s.binding,
            s.visibility,
            section_name(object, s.section)
        )
    };
    let symbols = symbols.map(|s| text(s, "symtab"));
    symbols.chain(dynamic.map(|s| text(s, "dynsym"))).collect()
}

fn relocations(object: &CodeObject) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for r in &object.relocations {
        let location = match r.section {
            Some(n) => object.sections[n].name.as_str(),
            None => "",
        };
        if FREE.contains(&location) {
            continue;
        }
        let table = match r.section {
            Some(_) => &object.symbols,
            None => &object.dynamic_symbols,
        };
        let target = match r.symbol.and_then(|n| table.get(n)) {
            Some(s) if s.kind == SymbolKind::Section => section_name(object, s.section),
            Some(s) => s.name.clone(),
            None => String::new(),
        };
        let (offset, kind, addend) = (r.offset, r.kind, r.addend);
        out.insert(format!("{location} {offset} {kind:?} {target} {addend}"));
    }
    out
}
