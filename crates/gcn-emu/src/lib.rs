
pub mod fp;
pub mod mem;
