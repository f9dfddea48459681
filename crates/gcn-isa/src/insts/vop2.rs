//! Rows to come.

use crate::inst::Inst;

/// The rows.
pub static ROWS: &[Inst] = &[];
