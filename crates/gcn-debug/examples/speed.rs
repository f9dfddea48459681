//! How fast a session runs and goes back, beside a run without one.
//!
//! `cargo run --release -p gcn-debug --example speed`

use std::path::Path;
use std::time::Instant;

use gcn::engine::{Engines, Kind};
use gcn::plan::{self, Plan};
use gcn::run::{self, Request};
use gcn_debug::{Options, Session};

/// A kernel of about 100 million instructions, in which waves run long.
fn mandelbrot() -> Plan {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/kernels/mandelbrot-gfx900.co"
    );
    let object = gcn::io::code_object(Path::new(file), None, None).expect("the kernel");
    let args = [
        "buf:zero:1048576",
        "i32:512",
        "i32:512",
        "f32:-2",
        "f32:-1.2",
        "f32:0.005",
        "f32:0.005",
        "i32:6000",
    ];
    let args = args
        .iter()
        .map(|arg| run::parse_arg(arg).expect("an argument"));
    let request = Request {
        kernel: Some("mandelbrot"),
        grid: [512, 512, 1],
        group: [16, 16, 1],
        offset: [0; 3],
        dynamic_lds: 0,
        any_type: true,
        args: args.collect(),
        outs: Vec::new(),
        repeat: 0,
    };
    run::plan(object, request).expect("a plan")
}

fn ms(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = plan::Options {
        threads: 1,
        deterministic: true,
        engines: Engines::new(Kind::default()),
        ..plan::Options::default()
    };
    let begun = Instant::now();
    let report = plan::run(&mandelbrot(), &options).map_err(|e| e.message)?;
    println!(
        "gcn run, one thread: {:.0} ms, {} instructions",
        ms(begun),
        report.instructions
    );
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
        let begun = Instant::now();
        session.resume()?;
        println!("{how}: continue to the end: {:.0} ms", ms(begun));
        let begun = Instant::now();
        session.reverse_step()?;
        println!(
            "{how}: the first reverse-step from the end: {:.1} ms",
            ms(begun)
        );
        let (mut most, begun) = (0.0f64, Instant::now());
        for _ in 0..100 {
            let step = Instant::now();
            session.reverse_step()?;
            most = most.max(ms(step));
        }
        println!(
            "{how}: a hundred more: {:.2} ms each, the longest {most:.1} ms",
            ms(begun) / 100.0
        );
        let begun = Instant::now();
        session.reverse_resume()?;
        println!(
            "{how}: reverse-continue to the beginning: {:.0} ms, at {:?}",
            ms(begun),
            session.now()
        );
    }
    Ok(())
}
