//! Targets: the chips whose code this crate supports.

/// A generation of the instruction set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[repr(u8)]
pub enum Gen {
    /// Southern Islands, GCN 1.0.
    Gfx6,
    /// Sea Islands, GCN 1.1.
    Gfx7,
    /// Volcanic Islands and Polaris, GCN 1.2.
    Gfx8,
    /// Vega, GCN 1.4.
    Gfx9,
}

impl Gen {
    /// All generations, oldest first.
    pub const ALL: [Gen; 4] = [Gen::Gfx6, Gen::Gfx7, Gen::Gfx8, Gen::Gfx9];

    /// `gfx6` … `gfx9`.
    pub const fn name(self) -> &'static str {
        ["gfx6", "gfx7", "gfx8", "gfx9"][self as usize]
    }

    /// The number in the documents: `GCN 1.0`, `1.1`, `1.2`, `1.4`.
    pub const fn gcn(self) -> &'static str {
        ["GCN 1.0", "GCN 1.1", "GCN 1.2", "GCN 1.4"][self as usize]
    }

    /// The number of SGPRs that an instruction can name: 104 on gfx6 and gfx7, 102 on gfx8 and gfx9.
    pub const fn sgprs(self) -> u16 {
        match self {
            Gen::Gfx6 | Gen::Gfx7 => 104,
            Gen::Gfx8 | Gen::Gfx9 => 102,
        }
    }

    /// Maximum bytes of LDS of a workgroup.
    pub const fn lds_bytes(self) -> u32 {
        match self {
            Gen::Gfx6 => 32 << 10,
            _ => 64 << 10,
        }
    }
}

/// The features in which targets of one generation differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Features(pub u8);

impl Features {
    /// No feature: every target has it.
    pub const NONE: Features = Features(0);
    /// v_mad_mix_* (gfx900, gfx902, gfx909, gfx90c).
    pub const MAD_MIX: Features = Features(1);
    /// v_fma_mix_* (gfx904, gfx906).
    pub const FMA_MIX: Features = Features(2);
    /// Dot products, v_fmac_f32 and v_xnor_b32 (gfx906).
    pub const DL: Features = Features(4);
    /// Memory instructions on 16-bit elements pack two into a VGPR (gfx810, gfx9).
    pub const PACKED_D16: Features = Features(8);
    /// They use a VGPR for each element (gfx801 to gfx805).
    pub const UNPACKED_D16: Features = Features(16);

    /// Returns true if `self` contains all of `needed`.
    pub const fn has(self, needed: Features) -> bool {
        self.0 & needed.0 == needed.0
    }
}

/// The number of different instruction tables: see [`Target::table`].
pub const TABLES: usize = 8;

/// The generation and features of each instruction table.
pub(crate) const TABLE: [(Gen, Features); TABLES] = {
    const PACKED: u8 = Features::PACKED_D16.0;
    const MIX: u8 = Features::FMA_MIX.0;
    [
        (Gen::Gfx6, Features::NONE),
        (Gen::Gfx7, Features::NONE),
        (Gen::Gfx8, Features::UNPACKED_D16),
        (Gen::Gfx8, Features::PACKED_D16),
        (Gen::Gfx9, Features(PACKED | Features::MAD_MIX.0)),
        (Gen::Gfx9, Features(PACKED | MIX)),
        (Gen::Gfx9, Features(PACKED | MIX | Features::DL.0)),
        (Gen::Gfx9, Features::PACKED_D16),
    ]
};

/// The properties of one chip.
pub struct TargetInfo {
    /// LLVM's processor name, `gfx600` … `gfx90c`, or `gfx9-generic`.
    pub name: &'static str,
    /// Code names of the chips: docs/targets.md has the source of each.
    pub aliases: &'static [&'static str],
    /// EF_AMDGPU_MACH of the ELF header's flags.
    pub mach: u32,
    /// The index of the instruction table.
    pub table: u8,
}

/// One chip, named as in LLVM's `-mcpu`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target(u8);

impl core::fmt::Debug for Target {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

const fn t(
    name: &'static str,
    mach: u32,
    table: u8,
    aliases: &'static [&'static str],
) -> TargetInfo {
    TargetInfo {
        name,
        aliases,
        mach,
        table,
    }
}

/// Every target. The names `gcn1.0` … are the documents' (common numbering of GCN generations).
#[rustfmt::skip]
static TARGETS: [TargetInfo; 21] = [
    t("gfx600", 0x20, 0, &["tahiti", "malta"]),
    t("gfx601", 0x21, 0, &["pitcairn", "curacao", "trinidad", "wimbledon", "neptune", "verde", "capeverde", "venus", "heathrow", "chelsea", "gcn1.0"]),
    t("gfx602", 0x3a, 0, &["hainan", "oland", "mars", "opal", "sun", "jet"]),
    t("gfx700", 0x22, 1, &["kaveri", "godavari", "spectre", "spooky"]),
    t("gfx701", 0x23, 1, &["hawaii", "grenada", "vesuvius", "gcn1.1"]),
    t("gfx702", 0x24, 1, &[]),
    t("gfx703", 0x25, 1, &["kabini", "temash", "kalindi", "mullins", "beema"]),
    t("gfx704", 0x26, 1, &["bonaire", "saturn", "tobago", "liverpool", "gladius", "neo", "durango"]),
    t("gfx705", 0x3b, 1, &[]),
    t("gfx801", 0x28, 2, &["carrizo", "wani", "bristol"]),
    t("gfx802", 0x29, 2, &["iceland", "topaz", "meso", "tonga", "amethyst", "antigua", "gcn1.2"]),
    t("gfx803", 0x2a, 2, &["fiji", "polaris10", "ellesmere", "polaris11", "baffin", "polaris12", "lexa", "gfx804", "polaris22", "vegam"]),
    t("gfx805", 0x3c, 2, &["tongapro"]),
    t("gfx810", 0x2b, 3, &["stoney"]),
    t("gfx900", 0x2c, 4, &["vega10", "greenland", "mi25", "gcn1.4"]),
    t("gfx902", 0x2d, 4, &["raven", "picasso"]),
    t("gfx904", 0x2e, 5, &["vega12"]),
    t("gfx906", 0x2f, 6, &["vega20", "mi50", "mi60", "gcn1.4.1"]),
    t("gfx909", 0x31, 4, &["raven2"]),
    t("gfx90c", 0x32, 4, &["renoir", "lucienne", "cezanne", "barcelo"]),
    t("gfx9-generic", 0x51, 7, &[]),
];

impl Target {
    /// Every target, oldest first.
    pub fn all() -> impl Iterator<Item = Target> {
        (0..TARGETS.len() as u8).map(Target)
    }

    /// Finds a target by LLVM's name (`gfx900`), a chip's code name (`vega10`) or the documents'
    /// number (`gcn1.4`). Case is ignored.
    pub fn parse(text: &str) -> Option<Target> {
        let at = TARGETS.iter().position(|t| {
            t.name.eq_ignore_ascii_case(text)
                || t.aliases.iter().any(|a| a.eq_ignore_ascii_case(text))
        })?;
        Some(Target(at as u8))
    }

    /// The target whose ELF machine number (EF_AMDGPU_MACH) is `mach`.
    pub fn from_mach(mach: u32) -> Option<Target> {
        let at = TARGETS.iter().position(|t| t.mach == mach)?;
        Some(Target(at as u8))
    }

    /// The first target that uses an instruction table.
    pub(crate) const fn with_table(table: usize) -> Target {
        let mut n = 0;
        while TARGETS[n].table as usize != table {
            n += 1;
        }
        Target(n as u8)
    }

    /// The first target of a generation, which represents it if no chip was named.
    pub fn of(generation: Gen) -> Target {
        let name = ["gfx600", "gfx701", "gfx803", "gfx900"][generation as usize];
        Target::parse(name).expect("the four names are rows of the table")
    }

    /// Returns true if it is not a chip, but the common subset of several chips.
    pub fn is_generic(self) -> bool {
        self.name().ends_with("-generic")
    }

    /// The target's entry in the table.
    #[inline]
    pub fn info(self) -> &'static TargetInfo {
        &TARGETS[self.0 as usize]
    }

    /// LLVM's processor name.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Its generation.
    #[inline]
    pub fn generation(self) -> Gen {
        TABLE[self.table()].0
    }

    /// Its features.
    pub fn features(self) -> Features {
        TABLE[self.table()].1
    }

    /// The index, below [`TABLES`], of its instruction table: targets with the same generation
    /// and features share one.
    #[inline]
    pub fn table(self) -> usize {
        self.info().table as usize
    }
}
