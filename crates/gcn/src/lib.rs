//! AMD's GCN instruction sets, gfx6 to gfx9: the assembler, the disassembler and the machine behind one interface.
//!
//! [`Gpu`] loads code objects and launches their kernels. [`isa`] is the instruction set, [`asm`] the assembler, [`object`] code
//! objects, [`emu`] the machine. The feature `jit` (on by default) is the compiling engine; without it, and on hosts other than
//! x86-64, all code is interpreted. The command is the package `gcn-cli`.

#![forbid(unsafe_code)]

pub mod campaign;
pub mod compile;
pub mod cpp;
pub mod data;
pub mod dis;
pub mod dis_json;
pub mod dot;
pub mod engine;
pub mod eval;
pub mod gpu;
pub mod info;
pub mod io;
pub mod lanes;
pub mod lang;
pub mod lines;
pub mod listing;
pub mod locations;
pub mod npy;
pub mod observers;
mod ordered;
pub mod parameter;
pub mod plan;
pub mod plan_toml;
pub mod profile;
pub mod raw;
pub mod run;
pub mod shard;
pub mod trace;

pub use gcn_analyze as analyze;
pub use gcn_asm as asm;
pub use gcn_check as check;
pub use gcn_emu as emu;
pub use gcn_isa as isa;
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
pub use gcn_jit as jit;
pub use gcn_object as object;

pub use gcn_isa::Target;
pub use gpu::{Arg, Buffer, Error, Gpu, Kernel, Launch, Program};
