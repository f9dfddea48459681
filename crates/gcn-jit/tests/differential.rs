//! Random code on both engines, state by state.
//!
//! `BLOCKS` says how many blocks for each target, `SEED` where to begin, `TARGET` which target alone. A failure prints its
//! seed, the block, and the smallest part of it that still differs. Long runs:
//!
//! ```sh
//! BLOCKS=1000000 SEED=1 TARGET=gfx900 cargo test --release -p gcn-jit --test differential -- --nocapture
//! ```
#![allow(clippy::precedence)]
#![cfg(target_arch = "x86_64")]

mod both;

use both::Bench;
use both::generate::Maker;
use gcn_isa::Target;
use std::time::Instant;

/// Blocks of a target where nothing else is said.
const BLOCKS: u64 = 500;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|v| v.parse().ok())
}

fn blocks(name: &str) {
    if !gcn_jit::available() {
        eprintln!("passed over: this host does not run what is compiled");
        return;
    }
    if std::env::var("TARGET").is_ok_and(|t| t != name) {
        return;
    }
    let (first, count) = (
        number("SEED").unwrap_or(1),
        number("BLOCKS").unwrap_or(BLOCKS),
    );
    let stop_after = number("STOP_AFTER").unwrap_or(1);
    let mut maker = Maker::new(Target::parse(name).expect("a target"));
    let mut bench = Bench::new();
    let begun = Instant::now();
    let show = std::env::var("SHOW").is_ok();
    let mut failures = 0;
    for seed in first..first + count {
        let case = maker.case(&bench, seed);
        if show {
            eprintln!("{name} SEED={seed}\n{}", case.text());
        }
        if bench.differs(&case).is_some() {
            eprintln!("{name} SEED={seed}: {}", bench.report(&case));
            failures += 1;
            if failures >= stop_after {
                break;
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    eprintln!(
        "{name}: {:.0} blocks a second, {} rounds; {} instructions in snippets, {} of them interpreted",
        count as f64 / seconds,
        bench.rounds,
        bench.executed,
        bench.interpreted
    );
    assert!(failures == 0, "the engines differ");
    assert!(
        bench.pages().holes_are_empty(),
        "something was written where nothing is mapped"
    );
}

#[test]
fn gfx600() {
    blocks("gfx600");
}
#[test]
fn gfx701() {
    blocks("gfx701");
}
#[test]
fn gfx803() {
    blocks("gfx803");
}
#[test]
fn gfx900() {
    blocks("gfx900");
}
#[test]
fn gfx906() {
    blocks("gfx906");
}
