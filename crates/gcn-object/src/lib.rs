//! AMDGPU code objects of the HSA ABI (v2 to v6) and of Mesa for gfx6 to gfx9: reading, loading and writing them and
//! their containers.
//!
//! * [`Container`] detects a file's format and lists the code objects in it: bundles, host programs, archives.
//! * [`CodeObject`] reads an ELF file and returns sections, segments, symbols, relocations, kernels and a loadable
//!   [`Image`].
//! * [`KernelDescriptor`], [`KernelBuilder`] and [`directives`] convert between `.amdhsa_*` directives and the
//!   descriptor's 64 bytes.
//! * [`metadata`] holds the kernel metadata: the msgpack tree, its YAML text and its typed form; [`note`] holds the
//!   notes that contain it.
//! * [`Builder`] writes relocatable and loadable files.
//!
//! The crate identifies targets by their `EF_AMDGPU_MACH` numbers and names ([`target`]); instructions are outside its
//! scope.
//!
//! Libraries. ELF is read through `object`, whose readers check bounds and work on unaligned bytes; its writer is not used,
//! because a loadable file's layout follows lld's address for address, which is less work by hand than through a general
//! writer. `rmpv` holds and decodes msgpack trees. YAML is read from the events of `saphyr-parser`, the maintained YAML 1.2
//! parser; its tree crate (`saphyr`) is not used, because LLVM gives scalars other types than YAML 1.2 does.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod bundle;
pub mod bytes;
pub mod container;
pub mod descriptor;
mod elf;
mod error;
pub mod kernel_code;
pub mod metadata;
pub mod note;
pub mod patch;
pub mod read;
pub mod source;
pub mod target;
pub mod write;

pub use bytes::Bytes;
pub use container::{Container, Entry};
pub use descriptor::{KernelBuilder, KernelDescriptor, directives};
pub use elf::{
    Binding, RelocationKind, SectionFlags, SectionKind, SymbolKind, SymbolSection, Visibility,
};
pub use error::Error;
pub use kernel_code::KernelCode;
pub use metadata::Metadata;
pub use read::{CodeObject, Image, Kernel};
pub use source::Source;
pub use target::{Abi, Feature, Machine, Os, TargetId, Version};
pub use write::Builder;

/// Returns the message for an undefined symbol.
fn undefined(name: &str) -> String {
    format!(
        "symbol '{name}' is undefined; link it with what defines it. Compilers link their device libraries, unless they are told \
         not to (-c, -nogpulib)"
    )
}
