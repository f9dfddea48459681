//! `cargo xtask kernels FOLDER`: compiles OpenCL kernels in every form, runs them, and compares the results with the host's.
//!
//! The arguments of each kernel and the expected results are in `crates/gcn-emu/tests/programs`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use gcn_object::CodeObject;

use crate::compiler::Compiler;
use crate::fixtures;
use crate::parallel;
use crate::programs::{self, Case, Made};

#[derive(clap::Args)]
pub struct Options {
    /// The folder of .cl files; by default testdata/programs
    folder: Option<PathBuf>,
    /// HSA targets, by comma
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "gfx600,gfx700,gfx701,gfx803,gfx900,gfx906,gfx9-generic"
    )]
    target: Vec<String>,
    /// Mesa's targets, by comma; by default tahiti, bonaire and tonga if the compiler is not given
    #[arg(long, value_delimiter = ',')]
    mesa: Option<Vec<String>>,
    /// Libraries of built-in functions, by comma: libclc, rocm, and own, a header of the functions that testdata/kernels and
    /// some others call; by default libclc and rocm, and own where the compiler is named
    #[arg(long, value_delimiter = ',')]
    library: Option<Vec<String>>,
    /// Code object versions, by comma; those that the compiler does not support are skipped
    #[arg(long, value_delimiter = ',', default_value = "2,3,4,5,6")]
    version: Vec<u8>,
    /// The compiler's version, such as 22; by default 14, and 15 for v5 and ROCm's library
    #[arg(long, value_name = "N", conflicts_with = "fixtures")]
    clang: Option<u8>,
    /// Optimisation levels, by comma
    #[arg(long = "opt", value_delimiter = ',', default_value = "O2")]
    levels: Vec<String>,
    /// Only the sources with these names, by comma
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Keep the objects in this folder, and use those that exist
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Compile and check the committed objects, testdata/programs/objects
    #[arg(long, conflicts_with_all = ["target", "mesa", "library", "version", "levels", "keep"])]
    fixtures: bool,
}

/// The targets, versions and libraries of the committed objects, each of which occurs.
const FIXTURES: [(&str, &str, u8); 5] = [
    ("gfx600", "libclc", 2),
    ("gfx701", "rocm", 3),
    ("gfx803", "libclc", 4),
    ("gfx900", "rocm", 4),
    ("gfx906", "rocm", 5),
];
/// The objects with other settings.
const MORE_FIXTURES: [(&str, &str, &str, u8, &str); 22] = [
    ("reduce", "tahiti", "mesa", 2, "O2"),
    ("reduce", "bonaire", "mesa", 2, "O2"),
    ("reduce", "tonga", "mesa", 2, "O2"),
    ("reduce", "gfx600", "rocm", 4, "O0"),
    ("reduce", "gfx700", "libclc", 3, "O2"),
    ("reduce", "gfx906", "rocm", 2, "O0"),
    ("matmul", "tahiti", "mesa", 2, "O2"),
    ("matmul", "gfx803", "rocm", 5, "O2"),
    ("mandelbrot", "tonga", "mesa", 2, "O2"),
    ("mandelbrot", "gfx900", "rocm", 3, "O2"),
    ("calls", "tahiti", "mesa", 2, "O2"),
    ("calls", "tonga", "mesa", 2, "O0"),
    ("globals", "bonaire", "mesa", 2, "O2"),
    ("globals", "tonga", "mesa", 2, "O2"),
    ("scratch", "tahiti", "mesa", 2, "O2"),
    ("scratch", "bonaire", "mesa", 2, "O2"),
    ("stencil3d", "tonga", "mesa", 2, "O2"),
    ("locals", "gfx600", "libclc", 4, "O0"),
    ("scratch", "gfx803", "rocm", 4, "O0"),
    ("lookback", "bonaire", "mesa", 2, "O2"),
    ("prints", "gfx906", "libclc", 5, "O2"),
    ("prints", "gfx701", "libclc", 3, "O2"),
];

fn fixture(file: &str, target: &str, library: &str, version: u8, level: &str) -> Object {
    Object {
        file: file.into(),
        target: target.into(),
        library: library.into(),
        version,
        level: level.into(),
        compiler: usual_compiler(library, version),
    }
}

/// The usual compiler for ROCm's library is LLVM 15, which is also the first version with v5.
fn usual_compiler(library: &str, version: u8) -> Compiler {
    Compiler(if version >= 5 || library == "rocm" {
        15
    } else {
        14
    })
}

/// One object.
struct Object {
    file: String,
    target: String,
    /// `libclc`, `rocm`, `own` or `mesa`.
    library: String,
    version: u8,
    level: String,
    compiler: Compiler,
}

const ROCM: &str = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode";

impl Object {
    fn name(&self) -> String {
        let Object {
            file,
            target,
            library,
            version,
            level,
            ..
        } = self;
        match library.as_str() {
            "mesa" => format!("{file}-{target}-mesa-{level}"),
            _ => format!("{file}-{target}-{library}-v{version}-{level}"),
        }
    }

    fn compile(&self, folder: &Path, out: &Path) -> Result<()> {
        let mesa = self.library == "mesa";
        let mut command = Command::new(self.compiler.clang());
        command
            .current_dir(folder)
            .args([
                "-x",
                "cl",
                "-cl-std=CL1.2",
                "-Xclang",
                "-finclude-default-header",
            ])
            .arg("-Wno-everything")
            .arg(format!("-{}", self.level))
            .args([
                "-target",
                match mesa {
                    true => "amdgcn-mesa-mesa3d",
                    false => "amdgcn-amd-amdhsa",
                },
            ])
            .arg(format!("-mcpu={}", self.target));
        let builtins = match self.library.as_str() {
            "rocm" if self.compiler.0 == 15 => {
                command.arg(format!("--rocm-device-lib-path={ROCM}"));
                Vec::new()
            }
            "rocm" => self.rocm_libraries(),
            "mesa" => vec![format!(
                "/usr/lib/clc/{}-amdgcn-mesa-mesa3d.bc",
                self.target
            )],
            "own" => {
                let header = out.with_file_name("builtins.h");
                command.arg("-include").arg(header);
                Vec::new()
            }
            _ => vec!["/usr/lib/clc/amdgcn--amdhsa.bc".to_string()],
        };
        command.arg("-c");
        if self.library == "own" || !builtins.is_empty() {
            command.arg("-nogpulib");
        }
        for library in builtins {
            command.args(["-Xclang", "-mlink-builtin-bitcode", "-Xclang", &library]);
        }
        if self.version >= 5 {
            command.arg("-DV5");
            if self.library == "libclc" {
                command.arg("-include").arg(out.with_file_name(V5_HEADER));
            }
        }
        // The options are in the source.
        let text = fs::read_to_string(folder.join(format!("{}.cl", self.file))).unwrap_or_default();
        for line in text.lines() {
            let v5 = line.strip_prefix("// options-v5: ");
            let v5 = v5.filter(|_| self.version >= 5);
            if let Some(more) = line.strip_prefix("// options: ").or(v5) {
                command.args(more.split_whitespace());
            }
        }
        if !mesa {
            command.arg(format!("-mcode-object-version={}", self.version));
        }
        // The sources of the older fixtures are in their folder.
        let mut source = PathBuf::from(format!("{}.cl", self.file));
        if !folder.join(&source).exists() {
            source = Path::new("../kernels").join(source);
        }
        if mesa {
            return run_tool(command.arg(source).arg("-o").arg(out));
        }
        let relocatable = out.with_extension("o");
        run_tool(command.arg(source).arg("-o").arg(&relocatable))?;
        let mut link = Command::new(self.compiler.tool("ld.lld"));
        // Removing value names makes the files smaller.
        link.args(["-shared", "--no-undefined", "-s"]);
        run_tool(link.arg(&relocatable).arg("-o").arg(out))?;
        fs::remove_file(&relocatable)?;
        Ok(())
    }

    /// Returns ROCm's libraries, as clang selects them. Versions after 15 search other folders, or none for v6.
    fn rocm_libraries(&self) -> Vec<String> {
        let isa = match self.target.as_str() {
            "gfx9-generic" => "900",
            target => target.trim_start_matches("gfx"),
        };
        let abi = if self.version >= 5 { 500 } else { 400 };
        // Generations whose fused multiply-add is slow with denormals flush them.
        let flush = match self.target.starts_with("gfx9") {
            true => "off",
            false => "on",
        };
        let names = [
            "opencl".to_string(),
            "ocml".to_string(),
            "ockl".to_string(),
            format!("oclc_daz_opt_{flush}"),
            "oclc_unsafe_math_off".to_string(),
            "oclc_finite_only_off".to_string(),
            "oclc_correctly_rounded_sqrt_on".to_string(),
            "oclc_wavefrontsize64_on".to_string(),
            format!("oclc_isa_version_{isa}"),
            format!("oclc_abi_version_{abi}"),
        ];
        names.map(|name| format!("{ROCM}/{name}.bc")).into()
    }
}

fn run_tool(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let said: String = said.chars().take(1500).collect();
    ensure!(output.status.success(), "{program}: {said}");
    Ok(())
}

/// libclc 14 reads the global offset at Mesa's location, which in HSA contains the upper halves of offsets, which are 0, or
/// for v5 the numbers of workgroups.
const V5_HEADER: &str = "v5.h";
const LIBCLC_V5: &str = "\
__attribute__((overloadable, const)) size_t get_global_offset(uint d) {
  return d < 3 ? ((constant ulong*)__builtin_amdgcn_implicitarg_ptr())[5 + d] : 0;
}
__attribute__((overloadable, const)) size_t get_global_id(uint d) {
  return get_group_id(d) * get_local_size(d) + get_local_id(d) + get_global_offset(d);
}
";

/// The results of an object's kernels.
#[derive(Default)]
struct Fared {
    right: usize,
    wrong: Vec<String>,
}

/// Compiles, runs, compares and prints. Returns true if all results are right.
///
/// # Errors
/// If a compiler is missing or the folder has no kernels.
pub fn run(options: &Options, root: &Path) -> Result<bool> {
    let folder = match &options.folder {
        Some(folder) => std::path::absolute(folder)?,
        None => root.join("testdata/programs"),
    };
    let compiler = match options.clang {
        Some(version) => Some(Compiler::find(version)?),
        None => {
            fixtures::check_compiler()?;
            None
        }
    };
    let libraries = match (&options.library, options.clang) {
        (Some(libraries), _) => libraries.clone(),
        (None, Some(version)) if version < 15 => vec!["own".to_string()],
        (None, Some(_)) => vec!["rocm".to_string(), "own".to_string()],
        (None, None) => vec!["libclc".to_string(), "rocm".to_string()],
    };
    let mesa: Vec<String> = match (&options.mesa, compiler) {
        (Some(targets), _) => targets.clone(),
        (None, Some(_)) => Vec::new(),
        (None, None) => ["tahiti", "bonaire", "tonga"].map(str::to_string).into(),
    };
    let cases = programs::cases();
    let mut objects = Vec::new();
    for file in fixtures::kernels(&folder)? {
        if !options.only.is_empty() && !options.only.contains(&file) {
            continue;
        }
        if !cases.iter().any(|case| case.file == file) {
            println!("{file}.cl: nothing is known of its kernels; not run");
            continue;
        }
        if options.fixtures {
            for (target, library, version) in FIXTURES {
                // OpenCL's printf needs libclc, and the others ROCm's library.
                let library = match file.as_str() {
                    "prints" => "libclc",
                    "hostcalls" | "heap" => "rocm",
                    _ => library,
                };
                let version = if file == "heap" { 5 } else { version };
                objects.push(fixture(&file, target, library, version, "O2"));
            }
            continue;
        }
        for level in &options.levels {
            let object = |target: &String, library: &str, version: u8| Object {
                file: file.clone(),
                target: target.clone(),
                library: library.into(),
                version,
                level: level.clone(),
                compiler: compiler.unwrap_or(usual_compiler(library, version)),
            };
            for target in &options.target {
                for library in &libraries {
                    for &version in &options.version {
                        let object = object(target, library, version);
                        let own = library == "own" && !has_own_builtins(&file);
                        if object.compiler.makes(target, version) && !own {
                            objects.push(object);
                        }
                    }
                }
            }
            for target in &mesa {
                objects.push(object(target, "mesa", 2));
            }
        }
    }
    if options.fixtures {
        let more = MORE_FIXTURES.iter();
        objects.extend(more.map(|(file, target, library, version, level)| {
            fixture(file, target, library, *version, level)
        }));
    }
    let own = std::env::temp_dir().join(format!("gcn-kernels-{}", std::process::id()));
    let committed = options
        .fixtures
        .then(|| root.join("testdata/programs/objects"));
    if let Some(committed) = committed.as_ref().filter(|folder| folder.exists()) {
        fs::remove_dir_all(committed)?;
    }
    let kept = options.keep.clone().or(committed);
    let work = kept.clone().unwrap_or_else(|| own.clone());
    fs::create_dir_all(&work)?;
    let work = std::path::absolute(work)?;
    fs::write(work.join(V5_HEADER), LIBCLC_V5)?;
    let own_builtins = Compiler::write_builtins(&work)?;
    let results = parallel::each(&objects, |object| check(object, &cases, &folder, &work));
    fs::remove_file(work.join(V5_HEADER))?;
    fs::remove_file(own_builtins)?;
    if kept.is_none() {
        fs::remove_dir_all(&own)?;
    }
    Ok(report(&results))
}

/// The files whose kernels call only functions in our header of built-in functions.
fn has_own_builtins(file: &str) -> bool {
    const FILES: [&str; 9] = [
        "histogram",
        "mandelbrot",
        "matmul",
        "nbody",
        "reduce",
        "sha256",
        "sort",
        "stencil64",
        "vadd",
    ];
    FILES.contains(&file)
}

fn check(object: &Object, cases: &[Case], folder: &Path, work: &Path) -> Fared {
    let mut fared = Fared::default();
    let made = Made {
        target: &object.target,
        library: &object.library,
        version: object.version,
    };
    let wanted = cases.iter().filter(|case| case.file == object.file);
    let wanted: Vec<&Case> = wanted.filter(|case| (case.needs)(&made)).collect();
    if wanted.is_empty() {
        return fared;
    }
    let path = work.join(object.name() + ".co");
    let read = || -> Result<CodeObject> {
        if !path.exists() {
            object.compile(folder, &path)?;
        }
        Ok(CodeObject::parse(&fs::read(&path)?)?)
    };
    let code = match read() {
        Ok(code) => code,
        Err(error) => {
            fared.wrong.push(format!("{error:#}"));
            return fared;
        }
    };
    for case in wanted {
        match case.run(&code, 2) {
            Ok(_) => fared.right += 1,
            Err(why) => fared.wrong.push(format!("{}: {why}", case.kernel)),
        }
    }
    fared
}

fn report(results: &[(&Object, Fared)]) -> bool {
    let mut table: BTreeMap<(String, String, String), (usize, usize)> = BTreeMap::new();
    for (object, fared) in results {
        let column = match object.library.as_str() {
            "mesa" => "mesa".to_string(),
            library => format!("{library} v{}", object.version),
        };
        let key = (column, object.level.clone(), object.target.clone());
        let sum = table.entry(key).or_default();
        sum.0 += fared.right;
        sum.1 += fared.wrong.len();
    }
    println!("objects     level  target    right  wrong");
    let (mut right, mut wrong) = (0, 0);
    for ((column, level, target), (good, bad)) in table {
        println!("{column:<11} {level:<6} {target:<8} {good:>6} {bad:>6}");
        right += good;
        wrong += bad;
    }
    println!("all                           {right:>6} {wrong:>6}");
    for (object, fared) in results {
        for why in &fared.wrong {
            println!("{}: {why}", object.name());
        }
    }
    wrong == 0
}
