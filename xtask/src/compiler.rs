//! The installed compilers, their targets, and the tools of the same version.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// OpenCL's built-in functions for compilers without a library of them.
const BUILTINS: &str = include_str!("builtins.h");

/// A version of LLVM whose clang is installed as `clang-N`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Compiler(pub u8);

impl Compiler {
    /// Returns the compiler of a version, if it can be run.
    ///
    /// # Errors
    /// A message about the missing program.
    pub fn find(version: u8) -> Result<Compiler> {
        let compiler = Compiler(version);
        let clang = compiler.clang();
        if !runs(&clang) {
            bail!("cannot run {clang}: install the Debian package {clang}");
        }
        Ok(compiler)
    }

    /// The compiler's command.
    pub fn clang(self) -> String {
        format!("clang-{}", self.0)
    }

    /// Returns a tool of the same version, or of the next later installed one: Debian does not have lld for every clang.
    pub fn tool(self, name: &str) -> String {
        let later = (self.0..self.0.saturating_add(10)).map(|n| format!("{name}-{n}"));
        let mut found = later.filter(|command| runs(command));
        found.next().unwrap_or_else(|| format!("{name}-{}", self.0))
    }

    /// Returns true if it supports the target and the code object version.
    pub fn makes(self, target: &str, version: u8) -> bool {
        let versions = match self.0 {
            0..=14 => 2..=4,
            15..=17 => 2..=5,
            18 => 4..=5,
            _ => 4..=6,
        };
        let generic = target.ends_with("-generic");
        versions.contains(&version) && (!generic || version >= 6)
    }

    /// Writes the built-in functions into a folder, for `-include`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_builtins(folder: &Path) -> Result<PathBuf> {
        let path = folder.join("builtins.h");
        fs::write(&path, BUILTINS).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}

fn runs(command: &str) -> bool {
    let mut command = Command::new(command);
    let quiet = command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}
