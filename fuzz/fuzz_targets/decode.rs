//! Any bytes, on every target: decoding and printing do not panic, and both spellings assemble to the same bytes.
//! The first byte chooses the target, the others are instructions.
#![no_main]

use gcn_fuzz::bytes_round_trip;
use gcn_isa::Target;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&which, bytes)) = data.split_first() else {
        return;
    };
    let targets: Vec<Target> = Target::all().collect();
    bytes_round_trip(targets[which as usize % targets.len()], bytes, 8);
});
