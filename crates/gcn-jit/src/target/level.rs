//! The host instructions that compiled code may use.

/// A set of instructions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// AVX2, FMA, BMI1 and 2, LZCNT, POPCNT, F16C: Haswell, Zen and later.
    Avx2,
    /// AVX-512 with F, BW, DQ, VL, CD, VBMI2 and VPOPCNTDQ: Ice Lake, Zen 4 and later.
    Avx512,
}

/// The best level of this host.
impl Default for Level {
    fn default() -> Level {
        Level::best().unwrap_or(Level::Avx2)
    }
}

impl Level {
    /// All levels, the lowest first.
    pub const ALL: [Level; 2] = [Level::Avx2, Level::Avx512];

    /// Returns the level's name: `avx2`, `avx512`.
    pub fn name(self) -> &'static str {
        match self {
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        }
    }

    /// Returns the level with a name.
    pub fn parse(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|l| l.name() == name)
    }

    /// Returns true if this host has its instructions.
    pub fn available(self) -> bool {
        macro_rules! all {
            ($($feature:tt),*) => { $(std::is_x86_feature_detected!($feature))&&* };
        }
        let avx2 = all!("avx2", "fma", "bmi1", "bmi2", "lzcnt", "popcnt", "f16c");
        avx2 && match self {
            Level::Avx2 => true,
            Level::Avx512 => all!(
                "avx512f",
                "avx512bw",
                "avx512dq",
                "avx512vl",
                "avx512cd",
                "avx512vbmi2",
                "avx512vpopcntdq"
            ),
        }
    }

    /// Returns true if this host's gathers take longer than a load for each lane. This is the case for AMD's processors up to Zen 4,
    /// on which loads take half the time.
    pub fn slow_gathers() -> bool {
        let vendor = std::arch::x86_64::__cpuid(0);
        let text = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        text.concat() == b"AuthenticAMD"
    }

    /// Returns the highest level that this host supports.
    pub fn best() -> Option<Level> {
        Level::ALL.into_iter().rev().find(|l| l.available())
    }
}
