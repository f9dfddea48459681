//! Any file: finding the code objects in it and putting others in their place does not panic or hang.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../src/files.rs"]
#[allow(dead_code, reason = "the other target's check is beside it")]
mod files;

fuzz_target!(|data: &[u8]| {
    files::container(data);
});
