//! Plans of kernels, for the tests and the speed example.

#![allow(dead_code)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use gcn::engine::{Engines, Kind};
use gcn::lines::Sources;
use gcn::plan::{self, Plan};
use gcn::run::{self, Request};
use gcn::trace::{Filter, Trace};
use gcn_object::read::CodeObject;

/// A path in the workspace.
pub fn path(text: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(text)
}

/// The launch of a kernel of a file of testdata, with arguments in the syntax of `gcn run --arg`.
pub fn kernel(file: &str, name: &str, grid: [u32; 3], group: [u32; 3], args: &[&str]) -> Plan {
    let file = path("testdata").join(file);
    let object = gcn::io::code_object(&file, None, None).expect("a code object");
    launch(object, name, grid, group, args)
}

/// The launch of a kernel of a code object.
pub fn launch(
    object: CodeObject,
    name: &str,
    grid: [u32; 3],
    group: [u32; 3],
    args: &[&str],
) -> Plan {
    let args = args
        .iter()
        .map(|arg| run::parse_arg(arg).expect("an argument"));
    let request = Request {
        kernel: Some(name),
        grid,
        group,
        offset: [0; 3],
        dynamic_lds: 0,
        any_type: true,
        args: args.collect(),
        outs: Vec::new(),
        repeat: 0,
    };
    run::plan(object, request).expect("a plan")
}

/// A launch of mandelbrot whose waves run up to `most` iterations.
pub fn mandelbrot(size: u32, most: u32) -> Plan {
    let buffer = format!("buf:zero:{}", 4 * size * size);
    let (width, most) = (format!("i32:{size}"), format!("i32:{most}"));
    let step = format!("f32:{}", 2.56 / size as f32);
    let args = [
        &buffer, &width, &width, "f32:-2", "f32:-1.2", &step, &step, &most,
    ];
    let file = "kernels/mandelbrot-gfx900.co";
    kernel(file, "mandelbrot", [size, size, 1], [16, 16, 1], &args)
}

/// A writer whose clones write to one text.
#[derive(Clone, Default)]
struct SharedText(Arc<Mutex<Vec<u8>>>);

impl Write for SharedText {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The lines of `gcn run --trace --json`, in order, and the message of the run if it failed.
pub fn trace(plan: &Plan) -> (Vec<serde_json::Value>, Option<String>) {
    let text = SharedText::default();
    let (out, filter) = (Box::new(text.clone()), Filter::default());
    let trace = Arc::new(Trace::new(out, filter, true, Sources::default()));
    let mut options = plan::Options {
        threads: 1,
        deterministic: true,
        engines: Engines::new(Kind::Interp),
        ..plan::Options::default()
    };
    options.observers.observe = Some(trace.clone());
    let failed = plan::run(plan, &options).err().map(|e| e.message);
    trace.finish().unwrap();
    let text = String::from_utf8(text.0.lock().unwrap().clone()).unwrap();
    let lines = text.lines().map(|l| serde_json::from_str(l).unwrap());
    (lines.collect(), failed)
}
