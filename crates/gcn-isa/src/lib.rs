//! The AMD GCN instruction set, gfx6 to gfx9, as data.
//!
//! Every instruction is one row ([`Inst`]) of a static table in [`insts`]: its name, its opcode in
//! each generation, the [`Shape`](shape::Shape) of its operands, and one function that writes its
//! meaning in the small typed language of [`meaning`]. Decoding, printing, encoding, the manual and
//! the interpreter are all driven by those rows; none of them contains an instruction's name.
//!
//! The crate needs no standard library and does no I/O. The assembler is in `gcn-asm`
//! (`gcn_asm::assemble_snippet`), the interpreter in `gcn-emu`.
//!
//! # Decoding and printing
//!
//! [`decode`](decode()) takes bytes and returns an [`Insn`]: the row and the bits. It allocates nothing
//! and decodes no operand until asked. The text assembles back to exactly the instruction's bytes.
//!
//! ```
//! use gcn_isa::{Target, decode, print::{Style, print}};
//!
//! let target = Target::parse("gfx803").unwrap();
//! let code = [0x00, 0x01, 0x02, 0x80, 0x00, 0x00, 0x81, 0xbf];
//! let mut rest = &code[..];
//! let mut text = String::new();
//! while let Some(insn) = decode(target, rest) {
//!     print(&insn, &Style::LLVM, &mut text);
//!     text.push('\n');
//!     rest = &rest[insn.len as usize..];
//! }
//! assert!(rest.is_empty());
//! assert_eq!(text, "s_add_u32 s2, s0, s1\ns_endpgm\n");
//! ```
//!
//! # Operands
//!
//! [`Insn::operands`] lists the operands in the order of the text: each is a code (0 to 511), which
//! [`operand::reg`] decodes, or a number. [`Insn::field`] reads any field of the encoding.
//!
//! ```
//! use gcn_isa::operand::{Reg, Value, reg};
//! use gcn_isa::{Field, Target, decode};
//!
//! let target = Target::parse("gfx900").unwrap();
//! // v_add_f32_e32 v1, 1.0, v2
//! let insn = decode(target, &0x0202_04f2u32.to_le_bytes()).unwrap();
//! assert_eq!((insn.row.name, insn.row.format.name()), ("v_add_f32", "VOP2"));
//! let regs: Vec<Reg> = insn
//!     .operands()
//!     .filter_map(|operand| match operand.value {
//!         Value::Code(code) => Some(reg(code, insn.generation())),
//!         Value::Imm(_) | Value::Absent => None,
//!     })
//!     .collect();
//! assert_eq!(regs, [Reg::Vgpr(1), Reg::Float(2), Reg::Vgpr(2)]);
//! assert_eq!(insn.field(Field::Vdst), 1);
//! ```
//!
//! # Encoding
//!
//! [`encode::Encoder`] is the inverse: it takes a row, an encoding, and the fields one by one.
//!
//! ```
//! use gcn_isa::encode::Encoder;
//! use gcn_isa::shape::Role;
//! use gcn_isa::{Encoding, Target, decode, insts};
//!
//! let target = Target::parse("gfx900").unwrap();
//! let row = insts::by_name("v_add_f32").find(|row| insts::exists(row, target)).unwrap();
//! let mut encoder = Encoder::new(row, Encoding::Vop2, target).unwrap();
//! assert!(encoder.set_code(Role::Vdst, 256 + 1));
//! assert!(encoder.set_code(Role::Src0, 242)); // 1.0
//! assert!(encoder.set_code(Role::Src1, 256 + 2));
//! // SRC1 of the 32-bit encoding accepts only VGPRs.
//! assert!(!encoder.set_code(Role::Src1, 4));
//! let (bytes, len) = encoder.bytes();
//! assert_eq!(bytes[..len], 0x0202_04f2u32.to_le_bytes());
//! assert_eq!(decode(target, &bytes[..len]).unwrap().row.name, "v_add_f32");
//! ```
//!
//! # Reads and writes, memory, control flow
//!
//! [`access::InstructionTable`] holds what each row of a target reads and writes, computed from its meaning:
//! registers including the implicit ones, memory, and the counters of s_waitcnt. With [`flow`] it also gives
//! the control flow after an instruction.
//!
//! ```
//! use gcn_isa::access::{InstructionTable, File, MemoryKind, MemorySpace};
//! use gcn_isa::flow::Flow;
//! use gcn_isa::operand::EXEC;
//! use gcn_isa::{Target, decode};
//!
//! let target = Target::parse("gfx900").unwrap();
//! let table = InstructionTable::new(target);
//! // ds_read_b64 v[2:3], v1
//! let insn = decode(target, &0x0200_0001_d8ec_0000u64.to_le_bytes()).unwrap();
//! let of = table.of(&insn);
//! assert!(of.accesses(&insn).any(|a| a.write && a.touches(File::Vector, 3)));
//! assert!(of.accesses(&insn).any(|a| !a.write && a.touches(File::Scalar, EXEC)));
//! let memory = of.memory(&insn).unwrap();
//! assert_eq!((memory.space, memory.kind), (MemorySpace::Lds, MemoryKind::Load));
//! assert_eq!(memory.bytes, Some(8));
//! assert!(of.counters(&insn).lgkm);
//! assert_eq!(of.flow(&insn), Flow::Next);
//! ```
//!
//! # Meanings
//!
//! [`meaning::meaning`] returns a row's program in the IR: nodes that compute, effects that change
//! state. Its documentation defines every node and effect; `gcn-emu` contains an interpreter.
//!
//! ```
//! use gcn_isa::meaning::{Change, Op, meaning};
//! use gcn_isa::{Target, insts};
//!
//! let row = insts::by_name("s_not_b32").next().unwrap();
//! let program = meaning(row, Target::parse("gfx900").unwrap());
//! assert!(program.nodes.iter().any(|node| node.op == Op::Not));
//! // The destination, then SCC.
//! assert_eq!(program.effects.len(), 2);
//! assert_eq!(program.effects[0].change, Change::Dst(0));
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
pub mod hazard;
pub mod image;
pub mod inst;
pub mod insts;
pub mod meaning;
pub mod modifier;
pub mod names;
pub mod op;
pub mod operand;
pub mod plan;

pub mod print;
pub mod shape;
pub mod target;
pub mod text;

pub use decode::{Insn, decode};
pub use format::{Encoding, Field, Format};
pub use inst::Inst;
pub use operand::Operand;
pub use target::{Gen, Target};
