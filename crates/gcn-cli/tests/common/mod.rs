//! Runs the command's binary in tests.

use std::io::Write;
use std::process::{Command, Stdio};

/// The result of a run.
pub struct Ran {
    pub status: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Ran {
    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).expect("UTF-8")
    }
}

/// Runs `gcn` with nothing on standard input.
pub fn gcn(args: &[&str]) -> Ran {
    with_input(args, b"")
}

/// Runs `gcn` with bytes on standard input.
pub fn with_input(args: &[&str], input: &[u8]) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_gcn"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("gcn starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    // A thread writes, because gcn may answer before it has read everything, or not read at all.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let out = child.wait_with_output().expect("gcn ends");
    writer.join().expect("the writer ends");
    Ran {
        status: out.status.code().unwrap_or(-1),
        stdout: out.stdout,
        stderr: String::from_utf8_lossy(&out.stderr).into_owned(),
    }
}

/// The path of a compiled kernel file of testdata.
pub fn kernel(name: &str, arch: &str) -> String {
    format!(
        "{}/../../testdata/kernels/{name}-{arch}.co",
        env!("CARGO_MANIFEST_DIR")
    )
}
