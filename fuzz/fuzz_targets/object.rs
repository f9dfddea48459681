//! Any file: reading a code object and laying out its image do not panic.
#![no_main]

use gcn_object::read::CodeObject;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(object) = CodeObject::parse(data) {
        let _ = object.image(0x1_0000_0000);
    }
});
