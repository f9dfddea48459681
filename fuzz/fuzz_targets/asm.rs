//! Any text: the assembler does not panic or hang, and what it gives prints as text that gives the same.
//! The first byte chooses the target, the second the spelling and whether operand rules bind.
#![no_main]

use gcn_asm::Syntax;
use gcn_fuzz::text_round_trips;
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
    let syntax = [Syntax::Auto, Syntax::Llvm, Syntax::Clrx][(how >> 1) as usize % 3];
    text_round_trips(target, syntax, how & 1 != 0, text);
});
