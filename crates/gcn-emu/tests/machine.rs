//! Whole programs on the machine: every committed object of testdata/programs, compiled for every generation, code object
//! version, library and ABI, compared with the host's results.

mod programs;

use gcn_emu::interp::Interp;

fn run(targets: &[&str]) -> usize {
    programs::run_objects(targets, || Box::new(|| Box::new(Interp::new())))
}

#[test]
fn gfx6() {
    assert!(run(&["gfx600"]) >= 30);
}

#[test]
fn gfx7() {
    assert!(run(&["gfx700", "gfx701"]) >= 30);
}

#[test]
fn gfx8() {
    assert!(run(&["gfx803"]) >= 30);
}

#[test]
fn gfx900() {
    assert!(run(&["gfx900"]) >= 30);
}

#[test]
fn gfx906() {
    assert!(run(&["gfx906"]) >= 30);
}

#[test]
fn mesa() {
    assert!(run(&["tahiti", "bonaire", "tonga"]) >= 20);
}
