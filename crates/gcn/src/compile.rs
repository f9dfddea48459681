//! OpenCL C and HIP, compiled by the installed clang. Everything else of this crate works without one.

use gcn_isa::Target;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The default target: a name for [`Target::parse`].
pub const DEFAULT_TARGET: &str = "gfx900";

/// The language of a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// OpenCL C (`.cl`).
    OpenCl,
    /// HIP (`.hip`): the device code.
    Hip,
}

impl Language {
    /// The language according to a file's name.
    pub fn of(path: &Path) -> Option<Language> {
        match path.extension()?.to_str()? {
            "cl" => Some(Language::OpenCl),
            "hip" => Some(Language::Hip),
            _ => None,
        }
    }
}

/// The reason why there is no code object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No compiler was found.
    #[error("{0}")]
    Missing(String),
    /// The compiler rejected the source, with its own messages.
    #[error("{0}")]
    Refused(String),
    /// The compiler could not be run, or its output could not be read.
    #[error("{0}")]
    Failed(String),
}

/// Names of compilers that are searched for on PATH, in this order.
const NAMES: [&str; 10] = [
    "clang", "clang-19", "clang-22", "clang-21", "clang-20", "clang-18", "clang-17", "clang-16",
    "clang-15", "clang-14",
];

/// The folders of ROCm's device libraries in distributions and in AMD's packages.
const ROCM: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode",
    "/opt/rocm/amdgcn/bitcode",
    "/usr/lib64/amdgcn/bitcode",
    "/usr/amdgcn/bitcode",
];

/// libclc's library.
const LIBCLC: [&str; 3] = [
    "/usr/lib/clc/amdgcn--amdhsa.bc",
    "/usr/share/clc/amdgcn--amdhsa.bc",
    "/usr/libexec/clc/amdgcn--amdhsa.bc",
];

/// The functions that are wrong in libclc 19 from code object v5 on (docs/programs.md).
const OFFSET: &str = "\
__attribute__((overloadable, const)) size_t get_global_offset(uint d) {
  return d < 3 ? ((constant ulong *)__builtin_amdgcn_implicitarg_ptr())[5 + d] : 0;
}
__attribute__((overloadable, const)) size_t get_global_id(uint d) {
  return get_group_id(d) * get_local_size(d) + get_local_id(d) + get_global_offset(d);
}
";

/// A clang.
#[derive(Clone, Debug)]
pub struct Compiler {
    path: PathBuf,
    version: u32,
}

/// A source and the options for its compilation.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// The source file.
    pub source: &'a Path,
    /// Its language.
    pub language: Language,
    /// The target of the code.
    pub target: Target,
    /// Further options of clang. The defaults are -O3 and OpenCL C 2.0.
    pub options: &'a [String],
}

impl Compiler {
    /// The clang with this name or path; by default the one in the environment variable `GCN_CLANG`, or the first of `clang`,
    /// `clang-19`, … on PATH.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::Failed`].
    pub fn find(named: Option<&OsStr>) -> Result<Compiler, Error> {
        let named = named.map(OsString::from);
        let named = named.or_else(|| std::env::var_os("GCN_CLANG").filter(|name| !name.is_empty()));
        let path = match &named {
            Some(name) => on_path(name).ok_or_else(|| {
                Error::Missing(format!("there is no compiler `{}`", name.display()))
            }),
            None => NAMES.iter().find_map(|name| on_path(name.as_ref())).ok_or_else(|| {
                Error::Missing(
                    "OpenCL C and HIP need a clang with the AMDGPU target, and there is none on PATH: install clang, lld and a \
                     library of built-in functions (Debian: apt install clang lld libclc-dev rocm-device-libs), or name a clang in GCN_CLANG"
                        .into(),
                )
            }),
        }?;
        let output = Command::new(&path).arg("--version").output();
        let output = output.map_err(|e| Error::Failed(format!("{}: {e}", path.display())))?;
        let version = version(&String::from_utf8_lossy(&output.stdout)).unwrap_or(0);
        Ok(Compiler { path, version })
    }

    /// The path of the program.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The command that compiles to `out`. The folder is for a header that some libraries need.
    fn command(&self, job: &Job<'_>, folder: &Path, out: &Path) -> Command {
        let mut command = Command::new(&self.path);
        let target = job.target.name();
        let given = |start: &str| job.options.iter().any(|o| o.starts_with(start));
        match job.language {
            Language::OpenCl => {
                command.args(["-x", "cl", "-target", "amdgcn-amd-amdhsa"]);
                command.arg(format!("-mcpu={target}"));
                command.args(["-Xclang", "-finclude-default-header"]);
                if !given("-cl-std") {
                    command.arg("-cl-std=CL2.0");
                }
                self.library(&mut command, folder);
            }
            Language::Hip => {
                command.args(["-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output"]);
                command.arg(format!("--offload-arch={target}"));
                if let Some(rocm) = rocm() {
                    command.arg(format!("--rocm-device-lib-path={rocm}"));
                }
            }
        }
        if !given("-O") {
            command.arg("-O3");
        }
        let links = !job
            .options
            .iter()
            .any(|o| matches!(o.as_str(), "-S" | "-c" | "-E"));
        if let Some(lld) = self.linker().filter(|_| links) {
            command.arg(format!("--ld-path={}", lld.display()));
        }
        command.args(job.options).arg(job.source).arg("-o").arg(out);
        command
    }

    /// Options for OpenCL's built-in functions.
    fn library(&self, command: &mut Command, folder: &Path) {
        if let Some(rocm) = rocm() {
            command.arg(format!("--rocm-device-lib-path={rocm}"));
            if self.version > 19 {
                // Distributions' libraries support at most code object v5.
                command.arg("-mcode-object-version=5");
            }
            return;
        }
        command.arg("-nogpulib");
        let Some(libclc) = LIBCLC.into_iter().find(|path| Path::new(path).exists()) else {
            return;
        };
        command.args(["-Xclang", "-mlink-builtin-bitcode", "-Xclang", libclc]);
        if self.version < 19 {
            command.arg("-mcode-object-version=4");
        } else {
            command.args(["-mcode-object-version=5", "-include"]);
            command.arg(folder.join("offset.h"));
        }
    }

    /// The linker beside the compiler, such as ld.lld-19, if there is none with the plain name.
    fn linker(&self) -> Option<PathBuf> {
        if on_path("ld.lld".as_ref()).is_some() {
            return None;
        }
        let name = self.path.file_name()?.to_str()?;
        let suffix = name.rsplit_once('-').map(|(_, number)| number.to_string());
        let suffix = suffix.filter(|s| s.bytes().all(|c| c.is_ascii_digit()));
        let suffix = suffix.unwrap_or_else(|| self.version.to_string());
        on_path(format!("ld.lld-{suffix}").as_ref())
    }

    /// The words of the command, quoted for a shell, for users who want to run it themselves.
    pub fn words(&self, job: &Job<'_>, out: &Path) -> String {
        let command = self.command(job, Path::new("."), out);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
        words.join(" ")
    }

    /// Compiles. Returns the bytes that clang writes (a code object, unless an option such as `-S` asks for text) and its warnings.
    ///
    /// # Errors
    /// [`Error::Refused`], [`Error::Failed`].
    pub fn compile(&self, job: &Job<'_>) -> Result<(Vec<u8>, String), Error> {
        let failed = |e: std::io::Error| Error::Failed(format!("{}: {e}", self.path.display()));
        let folder = tempfile::Builder::new().prefix("gcn-").tempdir();
        let folder = folder.map_err(failed)?;
        std::fs::write(folder.path().join("offset.h"), OFFSET).map_err(failed)?;
        let out = folder.path().join("out");
        let done = self
            .command(job, folder.path(), &out)
            .output()
            .map_err(failed)?;
        let messages = String::from_utf8_lossy(&done.stderr).into_owned();
        if !done.status.success() || !out.exists() {
            return Err(match messages.trim() {
                "" => Error::Failed(format!("{}: {}", self.path.display(), done.status)),
                messages => Error::Refused(messages.into()),
            });
        }
        let bytes = std::fs::read(&out).map_err(failed)?;
        Ok((bytes, messages))
    }
}

fn rocm() -> Option<&'static str> {
    ROCM.into_iter()
        .find(|path| Path::new(path).join("opencl.bc").exists())
}

/// The program with this name on PATH, or at this path.
fn on_path(name: &OsStr) -> Option<PathBuf> {
    let direct = Path::new(name);
    if direct.components().count() > 1 {
        return direct.is_file().then(|| direct.to_path_buf());
    }
    let folders = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&folders).map(|folder| folder.join(name));
    files.find(|file| file.is_file())
}

/// The number after `version` in the first line that clang prints.
fn version(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("version ")?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// A word, quoted for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,%@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(compiler: &Compiler, job: &Job<'_>) -> String {
        compiler.words(job, Path::new("out.co"))
    }

    #[test]
    fn the_language_is_that_of_the_name() {
        assert_eq!(Language::of(Path::new("a/b.cl")), Some(Language::OpenCl));
        assert_eq!(Language::of(Path::new("b.hip")), Some(Language::Hip));
        assert_eq!(Language::of(Path::new("b.s")), None);
        assert_eq!(Language::of(Path::new("cl")), None);
    }

    #[test]
    fn the_version_is_read_from_what_clangs_print() {
        assert_eq!(version("Debian clang version 14.0.6\nTarget: x"), Some(14));
        assert_eq!(version("clang version 22.0.0git (https://x)"), Some(22));
        assert_eq!(version("AMD clang version 17"), Some(17));
        assert_eq!(version("nothing"), None);
    }

    #[test]
    fn options_that_are_given_replace_the_defaults() {
        let compiler = Compiler {
            path: "clang-19".into(),
            version: 19,
        };
        let job = |options| Job {
            source: Path::new("my kernel.cl"),
            language: Language::OpenCl,
            target: Target::parse("gfx803").expect("a target"),
            options,
        };
        let plain = words(&compiler, &job(&[]));
        assert!(plain.starts_with("clang-19 -x cl -target amdgcn-amd-amdhsa -mcpu=gfx803 "));
        assert!(
            plain.contains(" -cl-std=CL2.0 ") && plain.contains(" -O3 "),
            "{plain}"
        );
        assert!(plain.ends_with(" 'my kernel.cl' -o out.co"), "{plain}");
        let given = ["-O1".to_string(), "-cl-std=CL1.2".into()];
        let given = words(&compiler, &job(&given));
        assert!(
            !given.contains("-O3") && !given.contains("CL2.0"),
            "{given}"
        );
    }

    #[test]
    fn a_compiler_that_is_not_there_is_named() {
        let error = Compiler::find(Some("no-such-clang".as_ref())).expect_err("none");
        assert_eq!(error.to_string(), "there is no compiler `no-such-clang`");
    }
}
