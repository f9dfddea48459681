//! Errors of code objects.

use crate::metadata::MetadataError;
use std::fmt;

/// The reason why a code object could not be read, loaded or written.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not a readable ELF file; the text names the wrong part and the reason.
    Elf(String),
    /// The ELF machine is not `EM_AMDGPU` (224).
    Machine(u16),
    /// The OS ABI and ABI version are not those of a known system and version.
    Abi {
        /// The `EI_OSABI` byte.
        os_abi: u8,
        /// The `EI_ABIVERSION` byte.
        abi_version: u8,
    },
    /// The ELF file type is neither `ET_DYN` (3) nor `ET_REL` (1).
    FileType(u16),
    /// The processor is not one of gfx6 to gfx9.
    Target {
        /// The `EF_AMDGPU_MACH` number.
        mach: u32,
        /// Its name, if it has one.
        name: Option<&'static str>,
    },
    /// The parts of the file overlap so much that reading them would take many times its size.
    TooLarge(&'static str),
    /// There are more items of this kind than the reader's maximum.
    TooMany(&'static str),
    /// Bytes cannot be read from the file.
    Read(String),
    /// An offload bundle or its container is damaged or cannot be written.
    Bundle(String),
    /// The request to a file with several code objects selects none or more than one of them.
    Choice(String),
    /// The metadata note cannot be read.
    Metadata(MetadataError),
    /// A kernel's descriptor or entry is out of place.
    Kernel {
        /// The kernel's name.
        name: String,
        /// The error.
        detail: String,
    },
    /// A relocation cannot be applied.
    Relocation {
        /// The location: a virtual address, or an offset in a section of a relocatable file.
        offset: u64,
        /// The error.
        detail: String,
    },
    /// The input of the builder, or the request to the loader, cannot be laid out.
    Layout(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Elf(detail) => write!(f, "not a readable ELF file: {detail}"),
            Error::Machine(machine) => {
                write!(f, "ELF machine {machine} found, EM_AMDGPU (224) expected")
            }
            Error::Abi {
                os_abi: 64,
                abi_version,
            } if (4..16).contains(abi_version) => write!(
                f,
                "code object v{} found, v2 to v6 expected",
                abi_version + 2
            ),
            Error::Abi {
                os_abi,
                abi_version,
            } => write!(
                f,
                "ELF OS ABI {os_abi} version {abi_version} found; AMDGPU HSA (64) version 0 to 3, PAL (65), Mesa (66) or none (0) expected"
            ),
            Error::FileType(kind) => write!(
                f,
                "ELF file type {kind} found, ET_DYN (3) or ET_REL (1) expected"
            ),
            Error::Target {
                mach,
                name: Some(name),
            } => write!(
                f,
                "the code is for {name} (EF_AMDGPU_MACH {mach:#x}), gfx6 to gfx9 expected"
            ),
            Error::Target { mach, name: None } => write!(
                f,
                "unknown processor: EF_AMDGPU_MACH {mach:#x}, gfx6 to gfx9 expected"
            ),
            Error::TooLarge(what) => {
                write!(f, "the {what} of the file overlap too much to be read")
            }
            Error::TooMany(what) => write!(f, "the file has too many {what}"),
            Error::Read(detail) | Error::Bundle(detail) | Error::Choice(detail) => {
                f.write_str(detail)
            }
            Error::Metadata(e) => write!(f, "kernel metadata: {e}"),
            Error::Kernel { name, detail } => write!(f, "kernel '{name}': {detail}"),
            Error::Relocation { offset, detail } => {
                write!(f, "relocation at {offset:#x}: {detail}")
            }
            Error::Layout(detail) => f.write_str(detail),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Metadata(e) => Some(e),
            _ => None,
        }
    }
}

impl From<MetadataError> for Error {
    fn from(e: MetadataError) -> Error {
        Error::Metadata(e)
    }
}
