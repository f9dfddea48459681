//! Finds errors in GCN kernels.
//!
//! [`statically`] checks code without running it: all paths of each kernel and function, for missing waits
//! ([`waitcnt`]), missing wait states ([`hazards`]) and uses of registers that nothing writes ([`uninit`]).
//!
//! [`dynamic`] checks kernels that run: it also finds accesses out of bounds, races, wrong barriers and stale data.
//!
//! The facts about instructions are those of `gcn-isa`: its rows, [`gcn_isa::access`] and the table [`gcn_isa::hazard::HAZARDS`].

#![forbid(unsafe_code)]

pub mod code;
pub mod dynamic;
pub mod hazards;
pub mod mutate;
pub mod proof;
pub mod registers;
pub mod report;
pub mod sarif;
pub mod statically;
pub mod suppress;
pub mod text;
pub mod uninit;
pub mod waitcnt;
