//! Targets: `EF_AMDGPU_MACH` numbers, names, and the XNACK and SRAMECC features of target ids.
//!
//! The numbers are those of the ELF header tables in LLVM's "User Guide for AMDGPU Backend".

use std::fmt;

/// The code object version of a file. It decides the ELF ABI version, the feature bits of `e_flags` and the syntax of
/// target ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// Code object v2, ELF ABI version 0; also used for operating systems other than HSA. Kernels begin with an
    /// `amd_kernel_code_t`, and metadata is YAML text.
    V2,
    /// Code object v3, ELF ABI version 1.
    V3,
    /// Code object v4, ELF ABI version 2.
    V4,
    /// Code object v5, ELF ABI version 3.
    V5,
    /// Code object v6, ELF ABI version 4: v5 with generic processors, whose version is in `e_flags`.
    V6,
}

impl Version {
    /// All versions, oldest first.
    pub const ALL: [Version; 5] = [
        Version::V2,
        Version::V3,
        Version::V4,
        Version::V5,
        Version::V6,
    ];

    /// Returns the version of a number from 2 to 6, as in `.amdhsa_code_object_version`.
    pub fn from_number(number: i64) -> Option<Version> {
        let mut all = Version::ALL.into_iter();
        all.find(|v| i64::from(v.number()) == number)
    }

    /// Returns the version of an `EI_ABIVERSION` byte under the HSA OS ABI; `None` for unknown numbers.
    pub fn from_abi(abi: u8) -> Option<Version> {
        match abi {
            0 => Some(Version::V2),
            1 => Some(Version::V3),
            2 => Some(Version::V4),
            3 => Some(Version::V5),
            4 => Some(Version::V6),
            _ => None,
        }
    }

    /// Returns the `EI_ABIVERSION` byte.
    pub fn abi(self) -> u8 {
        self.number() - 2
    }

    /// Returns the number, 2 to 6.
    pub fn number(self) -> u8 {
        match self {
            Version::V2 => 2,
            Version::V3 => 3,
            Version::V4 => 4,
            Version::V5 => 5,
            Version::V6 => 6,
        }
    }
}

/// The operating system of a file: its `EI_OSABI` byte and its part of the triple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Os {
    /// None: `amdgcn`.
    None,
    /// `amdgcn-amd-amdhsa`.
    #[default]
    Hsa,
    /// `amdgcn-amd-amdpal`.
    Pal,
    /// `amdgcn-mesa-mesa3d`.
    Mesa3d,
}

impl Os {
    /// Returns the system of an `EI_OSABI` byte.
    pub fn from_number(number: u8) -> Option<Os> {
        match number {
            0 => Some(Os::None),
            64 => Some(Os::Hsa),
            65 => Some(Os::Pal),
            66 => Some(Os::Mesa3d),
            _ => None,
        }
    }

    /// Returns the `EI_OSABI` byte.
    pub fn number(self) -> u8 {
        match self {
            Os::None => 0,
            Os::Hsa => 64,
            Os::Pal => 65,
            Os::Mesa3d => 66,
        }
    }

    /// Returns the prefix of a target id, such as `amdgcn-amd-amdhsa--`.
    pub fn prefix(self) -> &'static str {
        match self {
            Os::None => "amdgcn-unknown-unknown--",
            Os::Hsa => "amdgcn-amd-amdhsa--",
            Os::Pal => "amdgcn-amd-amdpal--",
            Os::Mesa3d => "amdgcn-mesa-mesa3d--",
        }
    }

    /// All systems.
    pub const ALL: [Os; 4] = [Os::None, Os::Hsa, Os::Pal, Os::Mesa3d];

    /// Returns a short name: `hsa`, `pal`, `mesa3d` or `none`.
    pub fn name(self) -> &'static str {
        match self {
            Os::None => "none",
            Os::Hsa => "hsa",
            Os::Pal => "pal",
            Os::Mesa3d => "mesa3d",
        }
    }

    /// Splits a target id at its processor's name: `amdgcn-mesa-mesa3d--gfx803` into Mesa and `gfx803`.
    ///
    /// # Errors
    /// A message if the triple is not one of amdgcn's.
    pub fn split(text: &str) -> Result<(Os, &str), String> {
        for os in Os::ALL {
            if let Some(id) = text.strip_prefix(os.prefix()) {
                return Ok((os, id));
            }
        }
        // Unknown parts of a triple may be left out in several ways. A feature may end in `-`.
        let end = text.find(":").unwrap_or(text.len());
        // A processor's name may have a dash, too: gfx9-generic.
        let processor = text[..end].rfind("-gfx");
        match processor.or(text[..end].rfind('-')) {
            Some(dash) if text.starts_with("amdgcn-") => {
                let (triple, id) = (&text[..dash], &text[dash + 1..]);
                match triple.split('-').nth(2).unwrap_or("") {
                    "amdhsa" => Ok((Os::Hsa, id)),
                    "amdpal" => Ok((Os::Pal, id)),
                    "mesa3d" => Ok((Os::Mesa3d, id)),
                    "" | "unknown" => Ok((Os::None, id)),
                    other => Err(format!(
                        "unknown system '{other}' in target id '{text}': expected amdhsa, amdpal or mesa3d"
                    )),
                }
            }
            _ => Err(format!(
                "target id '{text}' does not begin as amdgcn-amd-amdhsa-- or amdgcn-mesa-mesa3d-- do"
            )),
        }
    }
}

/// The ABI in a file's header: operating system and code object version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Abi {
    /// Operating system.
    pub os: Os,
    /// Code object version; [`Version::V2`] under all systems but HSA.
    pub version: Version,
}

impl Abi {
    /// Mesa's OpenCL.
    pub const MESA3D: Abi = Abi {
        os: Os::Mesa3d,
        version: Version::V2,
    };
    /// AMD's graphics drivers.
    pub const PAL: Abi = Abi {
        os: Os::Pal,
        version: Version::V2,
    };
    /// No operating system.
    pub const NONE: Abi = Abi {
        os: Os::None,
        version: Version::V2,
    };

    /// Returns true if kernels begin with an `amd_kernel_code_t` and have no descriptor elsewhere.
    pub fn has_kernel_code(self) -> bool {
        self.version == Version::V2
    }

    /// Returns true if relocatable files hold addends in their relocations (`SHT_RELA`) and not at the relocated
    /// locations (`SHT_REL`).
    pub fn has_addends(self) -> bool {
        self.os == Os::Hsa
    }
}

impl From<Version> for Abi {
    /// Returns the ABI of a version of HSA's code objects.
    fn from(version: Version) -> Abi {
        Abi {
            os: Os::Hsa,
            version,
        }
    }
}

/// One processor.
#[derive(Debug, PartialEq, Eq)]
pub struct Machine {
    /// The `EF_AMDGPU_MACH` number, the low 8 bits of `e_flags`.
    pub mach: u32,
    /// LLVM's name, such as `gfx900`.
    pub name: &'static str,
    /// The generation, 6 to 9.
    pub generation: u8,
    /// True if the processor can replay faulting memory accesses, so that target ids may name XNACK.
    pub xnack: bool,
    /// True if the processor's registers can have error correction, so that target ids may name SRAMECC.
    pub sramecc: bool,
    /// True if the processor starts waves with a fixed allocation of 96 SGPRs, independently of the kernel's request.
    pub sgpr_init_bug: bool,
    /// The version of a generic processor, which is the common subset of several processors; 0 for real
    /// processors.
    pub generic: u8,
}

const fn machine(mach: u32, name: &'static str, generation: u8, features: &str) -> Machine {
    let (mut xnack, mut sramecc, mut sgpr_init_bug) = (false, false, false);
    let mut generic = 0;
    let letters = features.as_bytes();
    let mut i = 0;
    while i < letters.len() {
        match letters[i] {
            b'x' => xnack = true,
            b'e' => sramecc = true,
            b'1' => generic = 1,
            _ => sgpr_init_bug = true,
        }
        i += 1;
    }
    Machine {
        mach,
        name,
        generation,
        xnack,
        sramecc,
        sgpr_init_bug,
        generic,
    }
}

/// Every processor that this crate reads and writes. Letters: `x` XNACK, `e` SRAMECC, `b` SGPR initialisation bug,
/// `1` version 1 of a generic processor.
pub static MACHINES: &[Machine] = &[
    machine(0x20, "gfx600", 6, ""),
    machine(0x21, "gfx601", 6, ""),
    machine(0x3a, "gfx602", 6, ""),
    machine(0x22, "gfx700", 7, ""),
    machine(0x23, "gfx701", 7, ""),
    machine(0x24, "gfx702", 7, ""),
    machine(0x25, "gfx703", 7, ""),
    machine(0x26, "gfx704", 7, ""),
    machine(0x3b, "gfx705", 7, ""),
    machine(0x28, "gfx801", 8, "x"),
    machine(0x29, "gfx802", 8, "b"),
    machine(0x2a, "gfx803", 8, ""),
    machine(0x3c, "gfx805", 8, "b"),
    machine(0x2b, "gfx810", 8, "x"),
    machine(0x2c, "gfx900", 9, "x"),
    machine(0x2d, "gfx902", 9, "x"),
    machine(0x2e, "gfx904", 9, "x"),
    machine(0x2f, "gfx906", 9, "xe"),
    machine(0x31, "gfx909", 9, "x"),
    machine(0x32, "gfx90c", 9, "x"),
    machine(0x51, "gfx9-generic", 9, "x1"),
];

/// Processors outside gfx6–gfx9's graphics line, listed only so that an error can name them.
static OTHERS: &[(u32, &str)] = &[
    (0x30, "gfx908"),
    (0x33, "gfx1010"),
    (0x34, "gfx1011"),
    (0x35, "gfx1012"),
    (0x36, "gfx1030"),
    (0x37, "gfx1031"),
    (0x38, "gfx1032"),
    (0x39, "gfx1033"),
    (0x3d, "gfx1035"),
    (0x3e, "gfx1034"),
    (0x3f, "gfx90a"),
    (0x40, "gfx940"),
    (0x41, "gfx1100"),
    (0x42, "gfx1013"),
    (0x44, "gfx1103"),
    (0x45, "gfx1036"),
    (0x46, "gfx1101"),
    (0x47, "gfx1102"),
    (0x43, "gfx1150"),
    (0x48, "gfx1200"),
    (0x49, "gfx1250"),
    (0x4a, "gfx1151"),
    (0x4b, "gfx941"),
    (0x4c, "gfx942"),
    (0x4e, "gfx1201"),
    (0x4f, "gfx950"),
    (0x52, "gfx10-1-generic"),
    (0x53, "gfx10-3-generic"),
    (0x54, "gfx11-generic"),
    (0x55, "gfx1152"),
    (0x58, "gfx1153"),
    (0x59, "gfx12-generic"),
    (0x5a, "gfx1251"),
    (0x5f, "gfx9-4-generic"),
];

impl Machine {
    /// Returns the processor of an `EF_AMDGPU_MACH` number.
    pub fn from_mach(mach: u32) -> Option<&'static Machine> {
        MACHINES.iter().find(|m| m.mach == mach)
    }

    /// Returns the numbers in the name: 9, 0 and 12 for `gfx90c`. For a generic processor, returns its generation, 0
    /// and 0.
    pub fn isa(&self) -> (u32, u32, u32) {
        if self.generic != 0 {
            return (u32::from(self.generation), 0, 0);
        }
        let digits: Vec<u32> = self.name[3..]
            .chars()
            .filter_map(|c| c.to_digit(16))
            .collect();
        match digits[..] {
            [major, minor, stepping] => (major, minor, stepping),
            _ => (u32::from(self.generation), 0, 0),
        }
    }

    /// Returns the processor of a name such as `gfx900`.
    pub fn from_name(name: &str) -> Option<&'static Machine> {
        MACHINES.iter().find(|m| m.name == name)
    }
}

/// Returns the name of any known `EF_AMDGPU_MACH` number, including processors that this crate does not handle.
pub fn mach_name(mach: u32) -> Option<&'static str> {
    match Machine::from_mach(mach) {
        Some(m) => Some(m.name),
        None => OTHERS
            .iter()
            .find(|(n, _)| *n == mach)
            .map(|(_, name)| *name),
    }
}

/// The lowest of the 8 bits of v6's `e_flags` that hold the version of a generic processor.
pub const GENERIC_VERSION: u32 = 24;

/// The setting of a target feature (XNACK or SRAMECC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// The processor does not have the feature.
    Unsupported,
    /// The code runs with the feature on or off.
    Any,
    /// The code runs only with the feature off.
    Off,
    /// The code runs only with the feature on.
    On,
}

impl Feature {
    /// Returns true if the code must be prepared for the feature being on.
    pub fn on_or_any(self) -> bool {
        matches!(self, Feature::On | Feature::Any)
    }

    fn bits(self) -> u32 {
        match self {
            Feature::Unsupported => 0,
            Feature::Any => 1,
            Feature::Off => 2,
            Feature::On => 3,
        }
    }

    fn from_bits(bits: u32) -> Feature {
        match bits & 3 {
            0 => Feature::Unsupported,
            1 => Feature::Any,
            2 => Feature::Off,
            _ => Feature::On,
        }
    }
}

/// A processor with its feature settings, as named by `.amdgcn_target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetId {
    /// The processor.
    pub machine: &'static Machine,
    /// XNACK replay.
    pub xnack: Feature,
    /// Error correction of registers.
    pub sramecc: Feature,
}

/// Code object v2 has no feature settings: a processor whose code may run with XNACK on has a separate name.
static V2_XNACK: &[(&str, &str)] = &[
    ("gfx900", "gfx901"),
    ("gfx902", "gfx903"),
    ("gfx904", "gfx905"),
    ("gfx906", "gfx907"),
];

impl TargetId {
    /// Returns the processor with every supported feature at [`Feature::Any`], the default when no features are named.
    pub fn new(machine: &'static Machine) -> TargetId {
        let any = |has| {
            if has {
                Feature::Any
            } else {
                Feature::Unsupported
            }
        };
        TargetId {
            machine,
            xnack: any(machine.xnack),
            sramecc: any(machine.sramecc),
        }
    }

    /// Reads a target id: `gfx906`, `gfx906:sramecc+:xnack-` or v3's `gfx906+xnack+sram-ecc`, with or without
    /// `amdgcn-amd-amdhsa--` or another system's triple before it. In v3's syntax a supported feature that is not named
    /// is off; v2 expresses XNACK in the name alone: `gfx901` is a gfx900 with XNACK.
    ///
    /// # Errors
    /// A message if the processor is unknown, lacks a named feature, or a feature is unknown or repeated.
    pub fn parse(text: &str, version: Version) -> Result<TargetId, String> {
        let id = Os::ALL
            .iter()
            .find_map(|os| text.strip_prefix(os.prefix()))
            .unwrap_or(text);
        if version == Version::V2 {
            return TargetId::parse_v2(id, text);
        }
        let end = id.find([':', '+']).unwrap_or(id.len());
        let name = &id[..end];
        let machine = Machine::from_name(name)
            .ok_or_else(|| format!("unknown processor '{name}' in target id '{text}'"))?;
        let mut target = TargetId::new(machine);
        if version == Version::V3 {
            for feature in [&mut target.xnack, &mut target.sramecc] {
                if *feature == Feature::Any {
                    *feature = Feature::Off;
                }
            }
        }
        let mut seen = (false, false);
        let separator = if version == Version::V3 { '+' } else { ':' };
        for part in id[end..].split(separator).skip(1) {
            let (name, value) = if version == Version::V3 {
                (part, Feature::On)
            } else if let Some(name) = part.strip_suffix('+') {
                (name, Feature::On)
            } else if let Some(name) = part.strip_suffix('-') {
                (name, Feature::Off)
            } else {
                return Err(format!(
                    "feature '{part}' of target id '{text}' must end in '+' or '-'"
                ));
            };
            let (slot, seen) = match name {
                "xnack" => (&mut target.xnack, &mut seen.0),
                "sramecc" | "sram-ecc" => (&mut target.sramecc, &mut seen.1),
                _ => return Err(format!("unknown feature '{name}' in target id '{text}'")),
            };
            if *slot == Feature::Unsupported {
                return Err(format!(
                    "{} has no feature '{name}' (target id '{text}')",
                    machine.name
                ));
            }
            if std::mem::replace(seen, true) {
                return Err(format!(
                    "feature '{name}' is named twice in target id '{text}'"
                ));
            }
            *slot = value;
        }
        if !id[end..].is_empty() && !id[end..].starts_with(separator) {
            return Err(format!(
                "target id '{text}' is not spelled as code object v{} spells it",
                version.number()
            ));
        }
        Ok(target)
    }

    fn parse_v2(id: &str, text: &str) -> Result<TargetId, String> {
        let with = V2_XNACK.iter().find(|(_, other)| *other == id);
        let name = with.map_or(id, |(name, _)| name);
        let machine = Machine::from_name(name)
            .filter(|machine| machine.generic == 0)
            .ok_or_else(|| format!("unknown processor '{id}' in target id '{text}'"))?;
        let mut target = TargetId::new(machine);
        if with.is_some() {
            target.xnack = Feature::On;
        } else if V2_XNACK.iter().any(|(name, _)| *name == id) {
            target.xnack = Feature::Off;
        }
        Ok(target)
    }

    /// Returns the target of an ELF header's `e_flags`, or `None` if the processor is not one of [`MACHINES`].
    pub fn from_flags(flags: u32, version: Version) -> Option<TargetId> {
        let machine = Machine::from_mach(flags & 0xff)?;
        if version > Version::V3 {
            let (xnack, sramecc) = (
                Feature::from_bits(flags >> 8),
                Feature::from_bits(flags >> 10),
            );
            return Some(TargetId {
                machine,
                xnack,
                sramecc,
            });
        }
        let feature = |supported, bit| match (supported, flags & bit != 0) {
            (_, true) => Feature::On,
            (true, false) => Feature::Off,
            (false, false) => Feature::Unsupported,
        };
        Some(TargetId {
            machine,
            xnack: feature(machine.xnack, 0x100),
            sramecc: feature(machine.sramecc, 0x200),
        })
    }

    /// Returns the `e_flags` of the ELF header.
    pub fn flags(&self, version: Version) -> u32 {
        let features = match version {
            Version::V2 | Version::V3 => {
                u32::from(self.xnack.on_or_any()) | u32::from(self.sramecc.on_or_any()) << 1
            }
            _ => self.xnack.bits() | self.sramecc.bits() << 2,
        };
        let generic = match version {
            Version::V6 => u32::from(self.machine.generic) << GENERIC_VERSION,
            _ => 0,
        };
        self.machine.mach | features << 8 | generic
    }

    /// Returns the processor and its features without the triple, such as `gfx906:sramecc+:xnack-` (v3:
    /// `gfx906+xnack+sram-ecc`).
    pub fn short(&self, version: Version) -> String {
        let mut text = self.machine.name.to_string();
        if version == Version::V2 {
            let other = V2_XNACK.iter().find(|(name, _)| *name == text);
            return match other {
                Some((_, other)) if self.xnack.on_or_any() => other.to_string(),
                _ => text,
            };
        }
        if version == Version::V3 {
            for (feature, name) in [(self.xnack, "+xnack"), (self.sramecc, "+sram-ecc")] {
                if feature.on_or_any() {
                    text.push_str(name);
                }
            }
            return text;
        }
        for (feature, name) in [(self.sramecc, ":sramecc"), (self.xnack, ":xnack")] {
            match feature {
                Feature::On => text.extend([name, "+"]),
                Feature::Off => text.extend([name, "-"]),
                Feature::Any | Feature::Unsupported => {}
            }
        }
        text
    }

    /// Returns the whole target id, as in `.amdgcn_target`.
    pub fn full(&self, abi: impl Into<Abi>) -> String {
        let abi = abi.into();
        // Only HSA's target ids have features.
        let id = match abi.os {
            Os::Hsa => self.short(abi.version),
            _ => self.machine.name.to_string(),
        };
        format!("{}{id}", abi.os.prefix())
    }

    /// Returns the target of the numbers in a v2 object's ISA note. Later processors had an odd stepping of their own
    /// for XNACK; early ones had several.
    pub fn from_isa(major: u32, minor: u32, stepping: u32) -> Option<TargetId> {
        let (name, xnack) = match (major, minor, stepping) {
            (8, 0, 0) => ("gfx802", false),
            (8, 0, 1) => ("gfx801", true),
            (8, 0, 4) => ("gfx803", false),
            (8, 1, 0) => ("gfx810", true),
            (9, 0, 1) => ("gfx900", true),
            (9, 0, 3) => ("gfx902", true),
            (9, 0, 5) => ("gfx904", true),
            (9, 0, 7) => ("gfx906", true),
            _ => {
                let machine = MACHINES
                    .iter()
                    .find(|m| m.isa() == (major, minor, stepping))?;
                return TargetId::parse(machine.name, Version::V2).ok();
            }
        };
        let mut target = TargetId::parse(name, Version::V2).ok()?;
        if xnack {
            target.xnack = Feature::On;
        }
        Some(target)
    }
}

impl fmt::Display for TargetId {
    /// Writes the whole target id in the syntax of code object v4 and later.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.full(Version::V4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems() {
        for os in Os::ALL {
            assert_eq!(Os::from_number(os.number()), Some(os));
            let id = format!("{}gfx803", os.prefix());
            assert_eq!(Os::split(&id), Ok((os, "gfx803")));
        }
        assert_eq!(Os::split("amdgcn--gfx803"), Ok((Os::None, "gfx803")));
        assert_eq!(
            Os::split("amdgcn-unknown-amdhsa-gfx906:xnack+"),
            Ok((Os::Hsa, "gfx906:xnack+"))
        );
        assert_eq!(
            Os::split("amdgcn-amd-amdhsa-unknown-gfx9-generic:xnack-"),
            Ok((Os::Hsa, "gfx9-generic:xnack-"))
        );
        assert!(Os::split("x86_64-pc-linux-gnu").is_err());
        assert!(Os::split("amdgcn-amd-windows--gfx803").is_err());
        assert!(Os::split("gfx803").is_err());
    }

    /// `e_flags` and target ids as llvm-mc writes them: 14, and 22 for v6.
    #[test]
    fn flags_and_spellings() {
        for (version, id, flags) in [
            (Version::V2, "gfx803", 0x2a),
            (Version::V2, "gfx900", 0x2c),
            (Version::V2, "gfx901", 0x12c),
            (Version::V3, "gfx600", 0x20),
            (Version::V3, "gfx801+xnack", 0x128),
            (Version::V3, "gfx906+xnack+sram-ecc", 0x32f),
            (Version::V3, "gfx906+sram-ecc", 0x22f),
            (Version::V4, "gfx602", 0x3a),
            (Version::V4, "gfx705", 0x3b),
            (Version::V4, "gfx805", 0x3c),
            (Version::V4, "gfx810", 0x12b),
            (Version::V4, "gfx906", 0x52f),
            (Version::V4, "gfx906:xnack-", 0x62f),
            (Version::V4, "gfx906:xnack+", 0x72f),
            (Version::V4, "gfx906:sramecc-", 0x92f),
            (Version::V4, "gfx906:sramecc+:xnack+", 0xf2f),
            (Version::V5, "gfx909", 0x131),
            (Version::V5, "gfx90c", 0x132),
            (Version::V6, "gfx700", 0x22),
            (Version::V6, "gfx906:sramecc+:xnack-", 0xe2f),
            (Version::V6, "gfx9-generic", 0x0100_0151),
            (Version::V6, "gfx9-generic:xnack+", 0x0100_0351),
        ] {
            let target = TargetId::parse(id, version).unwrap();
            assert_eq!(target.flags(version), flags, "{id}");
            assert_eq!(target.short(version), id);
            assert_eq!(TargetId::from_flags(flags, version), Some(target), "{id}");
            assert_eq!(TargetId::parse(&target.full(version), version), Ok(target));
        }
        for id in [
            "gfx1030",
            "gfx803:xnack+",
            "gfx906:xnack",
            "gfx906:xnack+:xnack+",
            "gfx906:foo+",
            "gfx906+xnack",
            "gfx9-generic:sramecc+",
            "",
        ] {
            assert!(TargetId::parse(id, Version::V4).is_err(), "{id}");
        }
        assert!(TargetId::parse("gfx906:xnack+", Version::V3).is_err());
        assert_eq!(mach_name(0x36), Some("gfx1030"));
        assert_eq!(mach_name(0xff), None);
    }
}
