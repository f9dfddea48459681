//! Any file: reading a code object, laying out its image, linking it and writing it anew do not panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../src/files.rs"]
#[allow(dead_code, reason = "the other target's check is beside it")]
mod files;

fuzz_target!(|data: &[u8]| {
    files::object(data);
});
