//! Any kernel metadata, as text or msgpack: reading, checking and writing it does not panic, and what is written is read as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../src/metadata.rs"]
mod metadata;

fuzz_target!(|data: &[u8]| {
    metadata::metadata(data);
});
