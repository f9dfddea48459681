//! Optimisations that can be left out, so that what each is worth can be measured.

/// An optimisation that code is correct without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Optional {
    /// Bases and steps instead of 64 values, and with them [`Optional::AllActive`].
    Affine,
    /// Variants of blocks for waves whose lanes are all active.
    AllActive,
    /// Elements of vectors in the order of memory.
    InOrder,
    /// Bitwise operations on three values.
    TernaryLogic,
    /// Memory that later waves will probably access is prefetched.
    Prefetch,
    /// Workgroups one after the other, without leaving compiled code.
    Batch,
}

impl Optional {
    /// All of them.
    pub const ALL: [Optional; 6] = [
        Optional::Affine,
        Optional::AllActive,
        Optional::InOrder,
        Optional::TernaryLogic,
        Optional::Prefetch,
        Optional::Batch,
    ];

    /// Its name, as `--disable-pass` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Optional::Affine => "affine",
            Optional::AllActive => "all_active",
            Optional::InOrder => "in_order",
            Optional::TernaryLogic => "ternary_logic",
            Optional::Prefetch => "prefetch",
            Optional::Batch => "batch",
        }
    }

    /// Parses a name.
    ///
    /// # Errors
    /// A sentence with the expected names.
    pub fn parse(name: &str) -> Result<Optional, String> {
        let found = Optional::ALL.into_iter().find(|o| o.name() == name);
        found.ok_or_else(|| format!("expected {}", Optional::ALL.map(Optional::name).join(", ")))
    }
}

/// Those that are left out.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct LeftOut(u8);

impl LeftOut {
    /// These and another one.
    #[must_use]
    pub fn and(self, one: Optional) -> LeftOut {
        LeftOut(self.0 | 1 << one as u8)
    }

    /// Returns true if it is among them.
    pub fn has(self, one: Optional) -> bool {
        self.0 >> one as u8 & 1 != 0
    }

    /// Returns true if there is one.
    pub fn any(self) -> bool {
        self.0 != 0
    }
}
