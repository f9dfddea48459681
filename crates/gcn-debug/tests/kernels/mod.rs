//! Plans of kernels, for the tests and the example that measures.

#![allow(dead_code)]

use std::path::{Path, PathBuf};

use gcn::plan::Plan;
use gcn::run::{self, Request};
use gcn_object::read::CodeObject;

/// A path in the workspace.
pub fn path(text: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(text)
}

/// The launch of a kernel of a file of testdata, with arguments as `gcn run --arg` takes them.
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
