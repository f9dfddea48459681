//! The GCN machine in software.
//!
//! - [`wave`]: the registers of one wave; [`mem`]: guest memory; [`global`]: what waves share beside it; [`fp`]: floating point on bit patterns.
//! - `operands`: the one place that reads sources and writes destinations, with all their modifiers.
//! - [`formats`]: the data formats of typed buffers and images; `typed` and `image` get at them. [`export`]: what exports leave.
//! - `exceptions`: what TRAPSTS records of float arithmetic, where a program can see it.
//! - [`interp`]: runs the meanings of [`gcn_isa`]'s rows, lane by lane; [`engine`]: what any such engine offers; [`group`]: how it runs a workgroup's waves.
//! - [`held`]: what the operands of an instruction that failed held.
//! - [`snippet`]: a few instructions on one wave. [`dispatch`]: whole kernels of code objects.
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
pub mod snippet;
mod typed;
mod vgprs;
pub mod wave;
