//! The HSA runtime over the machine in software: a library with the C interface of `libhsa-runtime64.so.1`, so that
//! programs for AMD's GPUs, and the HIP runtime that they are linked with, run unchanged on a computer without one.
//!
//! `cargo xtask hsa` links it. What the functions do is written in the "HSA Runtime Programmer's Reference Manual" and
//! in AMD's headers `hsa.h`, `hsa_ext_amd.h`, `hsa_ext_image.h` and `hsa_ven_amd_loader.h`. Guest addresses are the
//! host's ([`gcn_emu::mem::Memory::of_host`]), so a pointer means the same to a kernel and to the program.
//!
//! `unsafe` is here because the interface is C's: pointers come from the program, which promises what the manual says of
//! them. What a kernel can write (queues, packets, signals) is checked against the page map before it is followed.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(unsafe_code)]

mod agent;
mod copy;
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
