//! The command `gcn` as a library, and the crates it is made of under one roof.
//!
//! [`isa`] is the instruction set, [`asm`] the assembler, [`object`] code objects, [`emu`] the machine.

#![forbid(unsafe_code)]

pub mod cpp;
pub mod data;
pub mod demo;
pub mod dis;
pub mod dis_json;
pub mod dot;
mod dump;
pub mod engine;
pub mod eval;
pub mod gpu;
pub mod info;
pub mod io;
pub mod lanes;
pub mod lang;
pub mod lines;
pub mod listing;
pub mod manual;
pub mod meaning_text;
pub mod npy;
pub mod parameter;
pub mod plan;
pub mod plan_toml;
pub mod profile;
pub mod raw;
pub mod run;
pub mod trace;
pub mod watch;
pub mod whereabouts;

pub use gcn_asm as asm;
pub use gcn_emu as emu;
pub use gcn_isa as isa;
#[cfg(target_arch = "x86_64")]
pub use gcn_jit as jit;
pub use gcn_object as object;

pub use gcn_isa::Target;
pub use gpu::{Arg, Buffer, Error, Gpu, Kernel, Launch, Program};
