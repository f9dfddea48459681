//! The examples in C and C++, linked with the static and the shared library, run, and run under valgrind.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns true if a tool is installed; otherwise prints that the test is skipped.
fn there(tool: &str) -> bool {
    let found = Command::new(tool)
        .arg("--version")
        .output()
        .is_ok_and(|o| o.status.success());
    if !found {
        println!("SKIPPED: {tool} is not installed");
    }
    found
}

/// The newest library with an extension in the folder of this test.
fn library(extension: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this test");
    let folder = test.parent().expect("a folder");
    let files = std::fs::read_dir(folder).expect("a folder").flatten();
    let libraries = files.map(|f| f.path()).filter(|path| {
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        name.starts_with("libgcn_c") && path.extension().is_some_and(|e| e == extension)
    });
    libraries
        .max_by_key(|path| path.metadata().and_then(|m| m.modified()).ok())
        .unwrap_or_else(|| panic!("no libgcn_c.{extension} in {}", folder.display()))
}

fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "{command:?}: {}\n{out}\n{err}",
        output.status
    );
    out.into_owned()
}

fn example(compiler: &str, options: &[&str], file: &str, expected: &[&str]) {
    if !there(compiler) {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for extension in ["a", "so"] {
        let library = library(extension);
        let program = out.join(format!("{}-{extension}", file.replace('.', "-")));
        let mut compile = Command::new(compiler);
        compile
            .args(options)
            .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-g"])
            .arg("-I")
            .arg(folder.join("include"))
            .arg(folder.join("cexamples").join(file))
            .arg(&library)
            .args(["-lpthread", "-ldl", "-lm", "-lgcc_s", "-o"])
            .arg(&program);
        if extension == "so" {
            let beside = library.parent().expect("a folder").display().to_string();
            compile.arg(format!("-Wl,-rpath,{beside}"));
        }
        run(&mut compile);
        let told = run(&mut Command::new(&program));
        for line in expected {
            assert!(
                told.contains(line),
                "{file}: {line:?} is missing in\n{told}"
            );
        }
        if extension == "a" && there("valgrind") {
            let mut valgrind = Command::new("valgrind");
            valgrind
                .args([
                    "--quiet",
                    "--error-exitcode=9",
                    "--leak-check=full",
                    "--errors-for-leak-kinds=definite",
                ])
                .arg(&program);
            run(&mut valgrind);
        }
    }
}

#[test]
fn c() {
    let expected = [
        "0x1000: v_add_f32_e32 v2, v0, v1",
        "    to 0x1000",
        "reads file 0: 2 from 126 (implicit)",
        "4 instructions, 0 bytes left",
        "and errors",
    ];
    example("cc", &["-std=c11"], "disasm.c", &expected);
}

#[test]
fn cpp() {
    example(
        "c++",
        &["-std=c++17"],
        "run.cpp",
        &["4 waves", "pc 8: v0 of lane 63 is 42"],
    );
}
