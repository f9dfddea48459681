//! The GCN machine in software.
//!
//! - [`wave`]: the registers of one wave; [`mem`]: guest memory; [`global`]: the other state that waves share; [`fp`]: floating
//!   point on bit patterns.
//! - `operands`: the one place that reads sources and writes destinations, with all their modifiers.
//! - [`formats`]: the data formats of typed buffers and images; `typed` and `image`: the accesses that use them. [`export`]: the
//!   values that exports write.
//! - `exceptions`: the exceptions of float arithmetic that TRAPSTS records, where a program can observe them.
//! - [`interp`]: the interpreter, which runs the meanings of [`gcn_isa`]'s rows lane by lane; [`engine`]: the interface of every
//!   engine; [`group`]: how an engine runs the waves of a workgroup.
//! - [`held`]: the operand values of an instruction that failed.
//! - [`snippet`]: runs a few instructions on one wave. [`dispatch`]: runs whole kernels of code objects.
#![deny(unsafe_code)]

mod address;
pub mod dispatch;
pub mod engine;
#[doc(hidden)]
pub mod eval;
#[doc(hidden)]
pub mod exceptions;
mod exec;
pub mod export;
pub mod formats;
pub mod fp;
pub mod global;
pub mod group;
pub mod held;
mod image;
pub mod interp;
pub mod mem;
#[doc(hidden)]
pub mod operands;
pub mod probe;
pub mod snippet;
mod typed;
mod vgprs;
pub mod wave;
