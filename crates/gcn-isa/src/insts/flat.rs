//! FLAT, GLOBAL and SCRATCH.

use crate::inst::Inst;

/// FLAT.
pub static FLAT: &[Inst] = &[];
/// GLOBAL.
pub static GLOBAL: &[Inst] = &[];
/// SCRATCH.
pub static SCRATCH: &[Inst] = &[];
