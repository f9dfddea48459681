//! A just-in-time compiler from GCN machine code to x86-64: the second engine beside the interpreter, from the same semantics.
//!
//! A *region* is the code that direct jumps and calls reach from an address. The frontend (`frontend`) builds its blocks in the
//! intermediate representation (`ir`), passes (`passes`) improve them, and a target (`target`) emits code, which works on the
//! wave's own state. The runtime (`runtime`) enters that code, keeps it and helps it. The interpreter runs instructions that
//! are not compiled, one at a time, and it re-executes blocks that failed. On other hosts than x86-64 this crate is empty.
#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code)]

#[cfg(test)]
mod code_hashes;
mod codec;
mod context;
#[cfg(test)]
mod coverage;
mod frontend;
mod hash;
mod ir;
#[cfg(test)]
mod layers;
mod lir;
mod passes;
mod runtime;
mod target;

pub use context::Tally;
pub use passes::names as pass_names;
pub use passes::optional::{LeftOut, Optional};
pub use runtime::cache::{BlockEntry, Cache, CachedEngine};
pub use runtime::disk::Store;
pub use runtime::engine::{Jit, JitStats, available};
pub use runtime::profile::{Piece, RegionCode, Report, tick_cost, ticks};
pub use target::{Level, name_of};
