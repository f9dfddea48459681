//! `gcn compile`, and the commands that accept OpenCL C and HIP. If no clang with the AMDGPU target is installed, the tests
//! report it and pass.

#[allow(dead_code, reason = "other tests use the rest")]
mod common;

use common::{Ran, gcn};
use std::fs;
use std::path::Path;
use std::process::Command;

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A folder with a kernel, if OpenCL C can be compiled here.
fn folder(test: &str) -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().expect("a folder");
    let cl = folder.path().join("sum.cl");
    fs::write(
        &cl,
        "kernel void sum(global const int *a, global int *b) {\n  size_t i = get_global_id(0);\n  b[i] = a[i] + a[i + 1];\n}\n",
    )
    .expect("it is written");
    let ran = gcn(&["compile", text(&cl), "-o", "-"]);
    if ran.status == 0 {
        return Some(folder);
    }
    eprintln!(
        "SKIPPED {test}: OpenCL C does not compile here: {}",
        ran.stderr
    );
    None
}

fn wants(ran: &Ran, status: i32, part: &str) {
    assert!(
        ran.status == status && ran.stderr.contains(part),
        "status {}, expected {status} and {part:?}:\n{}",
        ran.status,
        ran.stderr
    );
}

#[test]
fn opencl_runs_as_it_is() {
    if folder("opencl_runs_as_it_is").is_none() {
        return;
    }
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/average.toml");
    for arch in ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"] {
        wants(&gcn(&["run", plan, "--arch", arch]), 0, "");
    }
}

#[test]
fn a_report_names_the_line_of_opencl() {
    let Some(folder) = folder("a_report_names_the_line_of_opencl") else {
        return;
    };
    let cl = folder.path().join("sum.cl");
    let sizes = ["--grid", "4", "--group", "4"];
    let buffers = ["--arg", "buf:zero:5xi32", "--arg", "buf:zero:4xi32"];
    let args = [&["check", text(&cl)], &sizes[..], &buffers].concat();
    wants(&gcn(&args), 0, "");
    let buffers = ["--arg", "buf:zero:4xi32", "--arg", "buf:zero:4xi32"];
    let args = [&["check", text(&cl)], &sizes[..], &buffers].concat();
    let ran = gcn(&args);
    let all = format!("{}{}", ran.text(), ran.stderr);
    assert!(
        ran.status == 1 && all.contains("sum.cl:3") && all.contains(" | b[i] = a[i] + a[i + 1];\n"),
        "status {}: {all}",
        ran.status
    );
}

#[test]
fn what_is_compiled_is_written() {
    let Some(folder) = folder("what_is_compiled_is_written") else {
        return;
    };
    let cl = folder.path().join("sum.cl");
    wants(&gcn(&["compile", text(&cl), "--arch", "gfx803"]), 0, "");
    let object = fs::read(folder.path().join("sum.co")).expect("sum.co");
    let object = gcn::object::CodeObject::parse(&object).expect("a code object");
    assert_eq!(object.target_name(), "gfx803");
    // The assembly is source for this assembler.
    let s = folder.path().join("sum.s");
    let ran = gcn(&["compile", text(&cl), "-S", "--", "-O1"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let out = folder.path().join("again.co");
    wants(&gcn(&["asm", text(&s), "-o", text(&out)]), 0, "");
    let shown = gcn(&["compile", text(&cl), "--show", "--", "-DX=a b"]);
    assert!(shown.text().contains(" '-DX=a b' "));
}

#[test]
fn mistakes_are_named() {
    let missing = gcn(&["run", "no-such-file.cl", "--grid", "1", "--group", "1"]);
    wants(&missing, 1, "no-such-file.cl: ");
    wants(
        &gcn(&["compile", "kernel.c"]),
        1,
        "expected .cl or .hip, or --lang",
    );
    let ran = gcn(&["compile", "kernel.cl", "--clang", "no-such-clang"]);
    wants(&ran, 1, "there is no compiler `no-such-clang`");
    let none = Command::new(env!("CARGO_BIN_EXE_gcn"))
        .args(["compile", "kernel.cl"])
        .env("PATH", "/nowhere")
        .env_remove("GCN_CLANG")
        .output()
        .expect("gcn starts");
    let stderr = String::from_utf8_lossy(&none.stderr);
    assert!(
        none.status.code() == Some(1) && stderr.contains("apt install clang lld"),
        "{stderr}"
    );
    let Some(folder) = folder("mistakes_are_named") else {
        return;
    };
    let cl = folder.path().join("wrong.cl");
    fs::write(&cl, "kernel void f(global int *a) {\n  a[0] = x;\n}\n").expect("it is written");
    let sizes = ["--grid", "1", "--group", "1"];
    for (command, rest) in [("run", &sizes[..]), ("compile", &[]), ("analyze", &[])] {
        let args = [&[command, text(&cl)], rest].concat();
        wants(&gcn(&args), 1, "wrong.cl:2:10: error: ");
    }
}
