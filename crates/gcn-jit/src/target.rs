//! From blocks to host code: a folder for each kind of host.

mod level;
pub(crate) mod x64;

pub use level::Level;
