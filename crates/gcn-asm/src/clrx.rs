//! CLRX's language: the parts of its sources that LLVM does not have, as docs/clrx.md describes.

pub(crate) mod directives;
pub(crate) mod late;
pub(crate) mod numbers;
pub(crate) mod registers;
pub(crate) mod rocm;
pub(crate) mod scopes;

use late::Late;

/// CLRX's binary formats, with its numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Amd = 0,
    Gallium = 1,
    Raw = 2,
    AmdCl2 = 3,
    Rocm = 4,
}

impl Format {
    /// Returns the format with a name, as in `.format` and `.iffmt`.
    pub fn of(name: &str) -> Option<Format> {
        Some(match name.to_ascii_lowercase().as_str() {
            "amd" | "catalyst" => Format::Amd,
            "gallium" => Format::Gallium,
            "raw" | "rawcode" => Format::Raw,
            "amdcl2" => Format::AmdCl2,
            "rocm" => Format::Rocm,
            _ => return None,
        })
    }
}

/// State that CLRX's directives set.
pub(crate) struct State<'s> {
    pub format: Option<Format>,
    /// `.64bit` was read.
    pub long: bool,
    /// The device that `.gpu` named, as CLRX's number.
    pub gpu: Option<usize>,
    pub policy: i64,
    pub llvm_version: i64,
    pub driver_version: i64,
    /// True if the names of macros are case-sensitive.
    pub macro_case: bool,
    /// True while `.altmacro` is in effect.
    pub alt_macro: bool,
    /// The number of names that `local` of `.altmacro` has created.
    pub locals: u32,
    /// Instructions that name symbols defined after them.
    pub late: Vec<Late<'s>>,
    /// One more than the highest VGPR and SGPR of register variables, and the location of each variable.
    pub variables: [u32; 2],
    pub ranges: Vec<(u16, u16)>,
    /// The output of `.print`.
    pub printed: String,
}

/// The version that `.get_version` and `.get_policy` return: CLRX 0.1.9.
const VERSION: i64 = 109;

impl State<'_> {
    pub fn new() -> Self {
        State {
            format: None,
            long: false,
            gpu: None,
            policy: VERSION,
            llvm_version: 170_000,
            driver_version: 240_000,
            macro_case: false,
            alt_macro: false,
            locals: 0,
            late: Vec::new(),
            variables: [0; 2],
            ranges: Vec::new(),
            printed: String::new(),
        }
    }

    /// Returns true if gcn does not write the format because its loader patches addresses into the code.
    pub fn has_foreign_loader(&self) -> bool {
        matches!(
            self.format,
            Some(Format::Amd | Format::AmdCl2 | Format::Gallium)
        )
    }
}
