//! Any bytes: decoding and printing do not panic, and an instruction's bytes come back.
#![no_main]

use gcn_isa::Target;
use gcn_isa::decode::decode;
use gcn_isa::print::{Style, print};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&which, bytes)) = data.split_first() else {
        return;
    };
    let targets: Vec<Target> = Target::all().collect();
    let target = targets[which as usize % targets.len()];
    let mut text = String::new();
    if let Some(insn) = decode(target, bytes) {
        for style in [Style::LLVM, Style::CLRX] {
            text.clear();
            print(&insn, &style, &mut text);
            assert!(!text.is_empty());
        }
        let (back, len) = insn.to_bytes();
        assert_eq!(&back[..len], &bytes[..len]);
    }
});
