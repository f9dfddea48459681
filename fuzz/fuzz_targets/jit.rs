//! Any instructions on any registers, on both engines: no crash, no difference, no access outside the arena.
#![no_main]

#[path = "../../crates/gcn-jit/tests/both/mod.rs"]
mod both;

use both::Bench;
use both::generate::Maker;
use gcn_isa::Target;
use gcn_jit::Level;
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;
use std::collections::HashMap;

thread_local! {
    /// An engine is one target's. One for each level that the host has.
    static BENCHES: RefCell<HashMap<usize, (Vec<Bench>, Maker)>> = RefCell::default();
}

fuzz_target!(|data: &[u8]| {
    let Some((&which, rest)) = data.split_first() else {
        return;
    };
    let targets: Vec<Target> = Target::all().collect();
    let which = which as usize % targets.len();
    BENCHES.with_borrow_mut(|known| {
        let (benches, maker) = known.entry(which).or_insert_with(|| {
            let levels = Level::ALL.into_iter().filter(|level| level.available());
            (levels.map(Bench::new).collect(), Maker::new(targets[which]))
        });
        for bench in benches {
            bench.of_bytes(maker, rest);
        }
    });
});
