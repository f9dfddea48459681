//! Any text: the assembler does not panic or hang, and what it gives prints as text that gives the same.
//! The first byte chooses the target, the second the spelling, whether operand rules bind, and what is asked for beside the bytes.
#![no_main]

use gcn_asm::{Options, Syntax};
use gcn_fuzz::{objects, text_round_trips};
use gcn_isa::Target;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [which, how, text @ ..] = data else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let targets: Vec<Target> = Target::all().collect();
    let target = targets[*which as usize % targets.len()];
    let syntax = [Syntax::Auto, Syntax::Llvm, Syntax::Clrx][(how >> 1 & 3) as usize % 3];
    let permissive = how & 1 != 0;
    text_round_trips(target, syntax, permissive, text);
    let options = Options {
        target: (how & 8 == 0).then_some(target),
        syntax,
        permissive,
        debug: (how & 0x10 != 0).then(|| "folder".into()),
        listing: how & 0x20 != 0,
        text_only: how & 0xc0 == 0xc0,
        budget: Some(1 << 20),
        ..Options::default()
    };
    objects(text, &options);
});
