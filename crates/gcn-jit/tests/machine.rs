//! Whole programs compiled: the committed objects of testdata/programs, which run on the interpreter in
//! `gcn-emu/tests/machine.rs`, against what the host computes.
#![cfg(target_arch = "x86_64")]

#[path = "../../gcn-emu/tests/programs/mod.rs"]
mod programs;

fn run(targets: &[&str]) {
    if !gcn_jit::available() {
        eprintln!("skipped: this host cannot run compiled code");
        return;
    }
    let right = programs::run_objects(targets, || {
        let cache = gcn_jit::Cache::default();
        Box::new(move || Box::new(cache.engine()))
    });
    assert!(right >= 20, "{right}");
}

#[test]
fn gfx6() {
    run(&["gfx600"]);
}

#[test]
fn gfx7() {
    run(&["gfx700", "gfx701"]);
}

#[test]
fn gfx8() {
    run(&["gfx803"]);
}

#[test]
fn gfx900() {
    run(&["gfx900"]);
}

#[test]
fn gfx906() {
    run(&["gfx906"]);
}

#[test]
fn mesa() {
    run(&["tahiti", "bonaire", "tonga"]);
}
