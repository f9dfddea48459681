//! ELF numbers shared by the reader and the writer, as small types.

/// `EM_AMDGPU`.
pub const EM_AMDGPU: u16 = 224;

/// The relevant `sh_flags` of a section, with the raw number kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Hash)]
pub struct SectionFlags(pub u64);

impl SectionFlags {
    /// `SHF_ALLOC`: read-only data in memory.
    pub const ALLOC: SectionFlags = SectionFlags(2);
    /// `SHF_ALLOC | SHF_WRITE`: writable data in memory.
    pub const DATA: SectionFlags = SectionFlags(3);
    /// `SHF_ALLOC | SHF_EXECINSTR`: code.
    pub const CODE: SectionFlags = SectionFlags(6);
    pub(crate) const INFO_LINK: u64 = 0x40;
    /// `SHF_LINK_ORDER`: the section is ordered like the section that it links to.
    pub const LINK_ORDER: u64 = 0x80;
    /// `SHF_GROUP`: the section belongs to a group.
    pub const GROUP: u64 = 0x200;

    /// Returns true if the section is written at run time (`SHF_WRITE`).
    pub fn write(self) -> bool {
        self.0 & 1 != 0
    }

    /// Returns true if the section occupies memory at run time (`SHF_ALLOC`).
    pub fn alloc(self) -> bool {
        self.0 & 2 != 0
    }

    /// Returns true if the section holds code (`SHF_EXECINSTR`).
    pub fn exec(self) -> bool {
        self.0 & 4 != 0
    }

    /// Returns true if the section holds entries that a linker may move and merge (`SHF_MERGE`).
    pub fn merge(self) -> bool {
        self.0 & 0x10 != 0
    }

    /// Returns true if a linker leaves the section out (`SHF_EXCLUDE`).
    pub fn exclude(self) -> bool {
        self.0 & 0x8000_0000 != 0
    }
}

/// A section's `sh_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SectionKind(pub u32);

impl SectionKind {
    /// Bytes of the program.
    pub const PROGBITS: SectionKind = SectionKind(1);
    /// Zeros that take no space in the file.
    pub const NOBITS: SectionKind = SectionKind(8);
    /// Notes.
    pub const NOTE: SectionKind = SectionKind(7);
    /// The symbol table.
    pub const SYMTAB: SectionKind = SectionKind(2);
    /// Strings.
    pub const STRTAB: SectionKind = SectionKind(3);
    /// Relocations with addends.
    pub const RELA: SectionKind = SectionKind(4);
    /// Relocations whose addends are at the relocated locations.
    pub const REL: SectionKind = SectionKind(9);
    /// A section group.
    pub const GROUP: SectionKind = SectionKind(17);
    /// Addresses of functions to call at the start.
    pub const INIT_ARRAY: SectionKind = SectionKind(14);
    /// Addresses of functions to call at the end.
    pub const FINI_ARRAY: SectionKind = SectionKind(15);
    /// Addresses of functions to call before those of all other arrays.
    pub const PREINIT_ARRAY: SectionKind = SectionKind(16);
    pub(crate) const HASH: SectionKind = SectionKind(5);
    pub(crate) const DYNAMIC: SectionKind = SectionKind(6);
    pub(crate) const DYNSYM: SectionKind = SectionKind(11);
    pub(crate) const GNU_HASH: SectionKind = SectionKind(0x6fff_fff6);
    /// Symbols whose addresses are significant, for a linker that folds code.
    pub const LLVM_ADDRSIG: SectionKind = SectionKind(0x6fff_4c03);
}

/// A symbol's binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// Visible in its file only.
    Local,
    /// Visible everywhere.
    Global,
    /// Visible everywhere, and may be undefined.
    Weak,
    /// Any other number.
    Other(u8),
}

impl Binding {
    pub(crate) fn from_number(n: u8) -> Binding {
        match n {
            0 => Binding::Local,
            1 => Binding::Global,
            2 => Binding::Weak,
            n => Binding::Other(n),
        }
    }

    pub(crate) fn number(self) -> u8 {
        match self {
            Binding::Local => 0,
            Binding::Global => 1,
            Binding::Weak => 2,
            Binding::Other(n) => n,
        }
    }
}

/// A symbol's visibility.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// Visible outside and replaceable.
    Default,
    /// Like hidden.
    Internal,
    /// Not visible outside the linked file.
    Hidden,
    /// Visible outside, not replaceable.
    Protected,
}

impl Visibility {
    pub(crate) fn from_number(n: u8) -> Visibility {
        match n & 3 {
            0 => Visibility::Default,
            1 => Visibility::Internal,
            2 => Visibility::Hidden,
            _ => Visibility::Protected,
        }
    }

    pub(crate) fn number(self) -> u8 {
        match self {
            Visibility::Default => 0,
            Visibility::Internal => 1,
            Visibility::Hidden => 2,
            Visibility::Protected => 3,
        }
    }
}

/// A symbol's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// No type.
    NoType,
    /// Data.
    Object,
    /// Code.
    Func,
    /// The section itself.
    Section,
    /// A source file's name.
    File,
    /// Any other number.
    Other(u8),
}

impl SymbolKind {
    /// `STT_AMDGPU_HSA_KERNEL`: an `amd_kernel_code_t` followed by the kernel's code.
    pub const HSA_KERNEL: SymbolKind = SymbolKind::Other(10);

    pub(crate) fn from_number(n: u8) -> SymbolKind {
        match n {
            0 => SymbolKind::NoType,
            1 => SymbolKind::Object,
            2 => SymbolKind::Func,
            3 => SymbolKind::Section,
            4 => SymbolKind::File,
            n => SymbolKind::Other(n),
        }
    }

    pub(crate) fn number(self) -> u8 {
        match self {
            SymbolKind::NoType => 0,
            SymbolKind::Object => 1,
            SymbolKind::Func => 2,
            SymbolKind::Section => 3,
            SymbolKind::File => 4,
            SymbolKind::Other(n) => n,
        }
    }
}

/// The location of a symbol's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolSection {
    /// None: another file defines it.
    Undefined,
    /// A plain number.
    Absolute,
    /// Zeroed data that the linker places; the value is its alignment.
    Common,
    /// LDS that the linker places (`SHN_AMDGPU_LDS`); the value is its alignment.
    Lds,
    /// In the section of this index.
    Index(usize),
}

/// A relocation's type, the `R_AMDGPU_*` number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RelocationKind(pub u32);

/// `R_AMDGPU_*` names by number.
static RELOCATION_NAMES: [&str; 15] = [
    "R_AMDGPU_NONE",
    "R_AMDGPU_ABS32_LO",
    "R_AMDGPU_ABS32_HI",
    "R_AMDGPU_ABS64",
    "R_AMDGPU_REL32",
    "R_AMDGPU_REL64",
    "R_AMDGPU_ABS32",
    "R_AMDGPU_GOTPCREL",
    "R_AMDGPU_GOTPCREL32_LO",
    "R_AMDGPU_GOTPCREL32_HI",
    "R_AMDGPU_REL32_LO",
    "R_AMDGPU_REL32_HI",
    "unknown",
    "R_AMDGPU_RELATIVE64",
    "R_AMDGPU_REL16",
];

/// The formula of a relocation type: S is the symbol's address, A the addend, P the relocated location, B the load
/// address, G the GOT entry's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// Nothing to do.
    None,
    /// S + A.
    Absolute,
    /// S + A - P.
    Relative,
    /// G + A - P.
    Got,
    /// B + A.
    Load,
}

#[allow(missing_docs)]
impl RelocationKind {
    pub const NONE: RelocationKind = RelocationKind(0);
    pub const ABS32_LO: RelocationKind = RelocationKind(1);
    pub const ABS32_HI: RelocationKind = RelocationKind(2);
    pub const ABS64: RelocationKind = RelocationKind(3);
    pub const REL32: RelocationKind = RelocationKind(4);
    pub const REL64: RelocationKind = RelocationKind(5);
    pub const ABS32: RelocationKind = RelocationKind(6);
    pub const GOTPCREL: RelocationKind = RelocationKind(7);
    pub const GOTPCREL32_LO: RelocationKind = RelocationKind(8);
    pub const GOTPCREL32_HI: RelocationKind = RelocationKind(9);
    pub const REL32_LO: RelocationKind = RelocationKind(10);
    pub const REL32_HI: RelocationKind = RelocationKind(11);
    pub const RELATIVE64: RelocationKind = RelocationKind(13);
    pub const REL16: RelocationKind = RelocationKind(14);
}

impl RelocationKind {
    /// Returns the relocation of a name, as LLVM spells it.
    pub fn from_name(name: &str) -> Option<RelocationKind> {
        let number = RELOCATION_NAMES.iter().position(|n| *n == name)?;
        (name != "unknown").then_some(RelocationKind(number as u32))
    }

    /// Returns the name as LLVM spells it, or `unknown`.
    pub fn name(self) -> &'static str {
        RELOCATION_NAMES
            .get(self.0 as usize)
            .copied()
            .unwrap_or("unknown")
    }

    pub(crate) fn base(self) -> Option<Base> {
        Some(match self {
            RelocationKind::NONE => Base::None,
            RelocationKind::ABS32_LO
            | RelocationKind::ABS32_HI
            | RelocationKind::ABS32
            | RelocationKind::ABS64 => Base::Absolute,
            RelocationKind::REL32
            | RelocationKind::REL64
            | RelocationKind::REL32_LO
            | RelocationKind::REL32_HI
            | RelocationKind::REL16 => Base::Relative,
            RelocationKind::GOTPCREL
            | RelocationKind::GOTPCREL32_LO
            | RelocationKind::GOTPCREL32_HI => Base::Got,
            RelocationKind::RELATIVE64 => Base::Load,
            _ => return None,
        })
    }

    /// Returns the number of bytes that it fills in.
    pub fn width(self) -> usize {
        match self {
            RelocationKind::NONE => 0,
            RelocationKind::ABS64 | RelocationKind::REL64 | RelocationKind::RELATIVE64 => 8,
            RelocationKind::REL16 => 2,
            _ => 4,
        }
    }

    /// Returns the addend stored at the location, for relocations without addends of their own. The location is
    /// [`RelocationKind::width`] bytes long.
    pub(crate) fn addend_in(self, location: &[u8]) -> i64 {
        let value = location
            .iter()
            .rev()
            .fold(0u64, |n, b| n << 8 | u64::from(*b));
        match location.len() {
            2 => i64::from(value as i16),
            4 => i64::from(value as i32),
            _ => value as i64,
        }
    }

    /// Writes the computed 64-bit `value` into the bytes of the location, which are [`RelocationKind::width`] bytes
    /// long. Returns a message if the value does not fit.
    pub(crate) fn store(self, value: u64, location: &mut [u8]) -> Result<(), String> {
        let field = match self {
            RelocationKind::ABS32_HI | RelocationKind::REL32_HI | RelocationKind::GOTPCREL32_HI => {
                value >> 32
            }
            RelocationKind::ABS32 if value > u64::from(u32::MAX) => {
                return Err(format!("{value:#x} does not fit 32 bits"));
            }
            RelocationKind::REL32 | RelocationKind::GOTPCREL
                if i32::try_from(value as i64).is_err() =>
            {
                return Err(format!("distance {:#x} does not fit 32 bits", value as i64));
            }
            RelocationKind::REL16 => {
                // A branch distance is in dwords from the following instruction.
                let distance = (value as i64).wrapping_sub(4) / 4;
                if i16::try_from(distance).is_err() {
                    return Err(format!(
                        "branch distance of {distance} dwords does not fit 16 bits"
                    ));
                }
                distance as u64
            }
            _ => value,
        };
        let width = location.len().min(8);
        location[..width].copy_from_slice(&field.to_le_bytes()[..width]);
        Ok(())
    }
}
