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
    /// An engine is one target's.
    static BENCHES: RefCell<HashMap<usize, (Bench, Maker)>> = RefCell::default();
}

fuzz_target!(|data: &[u8]| {
    let Some((&which, rest)) = data.split_first() else {
        return;
    };
    let targets: Vec<Target> = Target::all().collect();
    let which = which as usize % targets.len();
    BENCHES.with_borrow_mut(|benches| {
        let (bench, maker) = benches
            .entry(which)
            .or_insert_with(|| (Bench::new(), Maker::new(targets[which])));
        bench.of_bytes(maker, rest);
    });
});
