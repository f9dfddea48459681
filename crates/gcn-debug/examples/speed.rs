//! Measures a session forward and backward, and a run without a session, in processor time if the host reports it.
//!
//! `cargo run --release -p gcn-debug --example speed`

use std::time::Instant;

use gcn::engine::{Engines, Kind};
use gcn::plan;
use gcn_debug::{Error, Options, Session};

#[path = "../tests/kernels/mod.rs"]
mod kernels;

/// A kernel of more than 100 million instructions with long-running waves.
fn mandelbrot() -> plan::Plan {
    kernels::mandelbrot(512, 6000)
}

/// The processor time of this thread in nanoseconds, from Linux.
fn processor_time() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// Calls `work`, and returns its result and the milliseconds that it took.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let (clock, processor) = (Instant::now(), processor_time());
    let result = work();
    let ms = match (processor, processor_time()) {
        (Some(from), Some(to)) => (to - from) as f64 / 1e6,
        _ => clock.elapsed().as_secs_f64() * 1e3,
    };
    (result, ms)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = plan::Options {
        threads: 1,
        deterministic: true,
        engines: Engines::new(Kind::default()),
        ..plan::Options::default()
    };
    let (report, ms) = timed(|| plan::run(&mandelbrot(), &options).map_err(|e| e.message));
    let instructions = report?.instructions;
    println!("gcn run, one thread: {ms:.0} ms, {instructions} instructions");
    for compiles in [true, false] {
        let how = if compiles { "compiled" } else { "interpreted" };
        let session = Options {
            plan: options.clone(),
            compiles,
            ..Options::default()
        };
        let mut session = Session::new(mandelbrot(), session)?;
        // It is never hit.
        session.break_at("mandelbrot", Some("wave == 1000"))?;
        let (stop, ms) = timed(|| session.resume());
        stop?;
        println!("{how}: continue to the end: {ms:.0} ms");
        let (stop, ms) = timed(|| session.reverse_step());
        stop?;
        println!("{how}: the first reverse-step from the end: {ms:.1} ms");
        let (mut most, mut sum) = (0.0f64, 0.0);
        for _ in 0..100 {
            let (stop, ms) = timed(|| session.reverse_step());
            stop?;
            (most, sum) = (most.max(ms), sum + ms);
        }
        let each = sum / 100.0;
        println!("{how}: a hundred more: {each:.2} ms each, the longest {most:.1} ms");
        // The first reverse-step after continuing takes longest, because no checkpoint of the wave's past is near.
        let (mut most, mut sum) = (0.0f64, 0.0);
        for part in 1..=10 {
            let moment = gcn_debug::Moment {
                launch: 0,
                tick: instructions / 11 * part,
            };
            session.goto(moment)?;
            let (stop, ms) = timed(|| session.reverse_step());
            stop?;
            (most, sum) = (most.max(ms), sum + ms);
        }
        let each = sum / 10.0;
        println!("{how}: one from ten moments: {each:.1} ms each, the longest {most:.1} ms");
        session.goto(gcn_debug::Moment {
            launch: 0,
            tick: instructions,
        })?;
        let (stop, ms) = timed(|| -> Result<_, Error> { session.reverse_resume() });
        stop?;
        let over = instructions - session.now().tick;
        println!("{how}: reverse-continue over {over} instructions to the beginning: {ms:.0} ms");
    }
    Ok(())
}
