//! The runtime: entry to compiled code, its cache, and the helpers that it calls.

pub(crate) mod batch;
pub(crate) mod cache;
pub(crate) mod check;
#[cfg_attr(not(target_os = "linux"), path = "runtime/disk/elsewhere.rs")]
pub(crate) mod disk;
pub(crate) mod engine;
pub(crate) mod grid;
pub(crate) mod group;
pub(crate) mod helpers;
pub(crate) mod lane_loops;
pub(crate) mod profile;
pub(crate) mod recorded;
pub(crate) mod reentry;
pub(crate) mod tiles;
pub(crate) mod wave_helper;
