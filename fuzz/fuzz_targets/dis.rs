//! Any file: making source, graphs and summaries of a code object does not panic, nor does assembling the source.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../src/source.rs"]
mod source;

fuzz_target!(|data: &[u8]| {
    source::source(data);
});
