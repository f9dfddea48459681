//! The HSA runtime on the machine in software: a library with the C interface of `libhsa-runtime64.so.1`. With it, programs
//! for AMD's GPUs, and the HIP runtime that they use, run unchanged on a computer without such a GPU.
//!
//! `cargo xtask hsa` links it. The functions are described in the "HSA Runtime Programmer's Reference Manual" and in AMD's
//! headers `hsa.h`, `hsa_ext_amd.h`, `hsa_ext_image.h` and `hsa_ven_amd_loader.h`. Guest addresses are the host's
//! ([`gcn_emu::mem::Memory::of_host`]), so kernels and the program use the same pointers.
//!
//! The interface is C's, so `unsafe` is necessary: pointers come from the program, which guarantees the manual's
//! requirements. Pointers that a kernel can write (in queues, packets, signals) are checked against the page map before use.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(unsafe_code)]

mod agent;
mod check;
mod copy;
mod debug;
mod executable;
mod image;
pub mod info;
mod launches;
mod lent;
mod loader;
mod memory;
mod queue;
mod record;
mod report;
mod runtime;
mod signal;
mod status;
mod types;
