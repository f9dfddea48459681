//! CLRX's language: what its sources have beside LLVM's, as docs/clrx.md tells.

pub(crate) mod directives;
pub(crate) mod late;
pub(crate) mod numbers;
pub(crate) mod registers;
pub(crate) mod rocm;
pub(crate) mod scopes;

use late::Late;

/// CLRX's binary formats, by its numbers of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Amd = 0,
    Gallium = 1,
    Raw = 2,
    AmdCl2 = 3,
    Rocm = 4,
}

impl Format {
    /// The format of a name, as `.format` and `.iffmt` have it.
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

/// What CLRX's directives set for what follows.
pub(crate) struct State<'s> {
    pub format: Option<Format>,
    /// `.64bit` was read.
    pub long: bool,
    /// The device that `.gpu` named, in CLRX's numbers of them.
    pub gpu: Option<usize>,
    pub policy: i64,
    pub llvm_version: i64,
    pub driver_version: i64,
    /// Macros' names count with their capitals.
    pub macro_case: bool,
    /// `.altmacro` holds.
    pub alt_macro: bool,
    /// How many names `local` of `.altmacro` made.
    pub locals: u32,
    /// Instructions that name what is defined behind them.
    pub late: Vec<Late<'s>>,
    /// One more than the highest VGPR and SGPR of register variables, and where each variable lies.
    pub variables: [u32; 2],
    pub ranges: Vec<(u16, u16)>,
    /// What `.print` said.
    pub printed: String,
}

/// The version that `.get_version` and `.get_policy` tell: CLRX 0.1.9.
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

    /// Whether the format is one that gcn does not write, whose loader puts addresses into the code.
    pub fn has_foreign_loader(&self) -> bool {
        matches!(
            self.format,
            Some(Format::Amd | Format::AmdCl2 | Format::Gallium)
        )
    }
}
