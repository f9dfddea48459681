//! The command `gcn` as a library, and the crates it is made of under one roof.
//!
//! [`isa`] is the instruction set, [`asm`] the assembler, [`object`] code objects, [`emu`] the machine.

#![forbid(unsafe_code)]

pub mod demo;
pub mod dis;
pub mod dis_json;
pub mod dot;
pub mod eval;
pub mod info;
pub mod io;
pub mod lang;
pub mod lines;
pub mod listing;
pub mod manual;
pub mod meaning_text;
pub mod npy;
pub mod run;

pub use gcn_asm as asm;
pub use gcn_emu as emu;
pub use gcn_isa as isa;
pub use gcn_object as object;
