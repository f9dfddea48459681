//! Generates host code from blocks, with a folder for each host architecture.

mod level;
pub(crate) mod x64;

pub use level::Level;

/// Returns the name of a memory operand of compiled code. Register RBX points at the wave, R12 at its VGPRs, RBP at the context.
pub fn name_of(base: &str, displacement: i64) -> Option<String> {
    x64::name_of(base, displacement)
}
