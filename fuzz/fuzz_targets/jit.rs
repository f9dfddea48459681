//! Any instructions on any registers, on both engines: no crash, no difference, no access outside the arena.
#![no_main]

#[path = "../../crates/gcn-jit/tests/both/mod.rs"]
mod both;

use both::Bench;
use both::generate::Maker;
use gcn_isa::Target;
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;
use std::collections::HashMap;

thread_local! {
    static BENCH: RefCell<(Bench, HashMap<usize, Maker>)> = RefCell::new((Bench::new(gcn_jit::Level::best().expect("a host with AVX2")), HashMap::new()));
}

fuzz_target!(|data: &[u8]| {
    let Some((&which, rest)) = data.split_first() else {
        return;
    };
    let targets: Vec<Target> = Target::all().collect();
    let which = which as usize % targets.len();
    BENCH.with_borrow_mut(|(bench, makers)| {
        let maker = makers
            .entry(which)
            .or_insert_with(|| Maker::new(targets[which]));
        bench.of_bytes(maker, rest);
    });
});
