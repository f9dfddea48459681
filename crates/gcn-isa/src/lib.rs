//! The AMD GCN instruction set, gfx6 to gfx9, as data.
//!
//! Every instruction is one row ([`Inst`]) of a static table in [`insts`]: its name, its opcode in
//! each generation, the [`Shape`](shape::Shape) of its operands, and one function that writes its
//! meaning in the small typed language of [`meaning`]. Decoding, printing, encoding, the manual and
//! the machine are readers of those rows; none of them knows an instruction by name.
//!
//! ```
//! use gcn_isa::{Target, decode::decode, print::{print, Style}};
//! let target = Target::parse("gfx803").unwrap();
//! let insn = decode(target, &0x8002_0100u32.to_le_bytes()).unwrap();
//! let mut text = String::new();
//! print(&insn, &Style::LLVM, &mut text);
//! assert_eq!(text, "s_add_u32 s2, s0, s1");
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

pub mod access;
pub mod decode;
pub mod encode;
pub mod flow;
pub mod format;
pub mod inst;
pub mod insts;
pub mod meaning;
pub mod names;
pub mod operand;
pub mod print;
pub mod shape;
pub mod target;

pub use decode::{Insn, decode};
pub use format::{Encoding, Field, Format};
pub use inst::Inst;
pub use operand::Operand;
pub use target::{Gen, Target};
