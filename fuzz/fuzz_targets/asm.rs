//! Any text: assembling an instruction does not panic, and what it gives decodes.
#![no_main]

use gcn_isa::Target;
use gcn_isa::decode::decode;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for name in ["gfx600", "gfx803", "gfx900"] {
        let target = Target::parse(name).expect("a target's name");
        if let Ok(bytes) = gcn_asm::assemble_snippet(target, text, true) {
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                let Some(insn) = decode(target, rest) else {
                    break;
                };
                rest = &rest[insn.len as usize..];
            }
        }
    }
});
