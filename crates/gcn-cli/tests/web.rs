//! Tests of the command `gcn web`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A server, which ends with the test.
struct Server {
    child: Child,
    host: String,
    token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(args: &[&str]) -> Server {
    let mut child = Command::new(env!("CARGO_BIN_EXE_gcn"))
        .args(["web", "--no-open"])
        .args(args)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let stdout = child.stdout.take().expect("standard output");
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    let rest = line.trim_end().strip_prefix("http://127.0.0.1:");
    let (port, token) = rest
        .and_then(|r| r.split_once("/?token="))
        .expect("an address with a token");
    Server {
        host: format!("127.0.0.1:{port}"),
        token: token.to_string(),
        child,
    }
}

impl Server {
    fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).expect("it listens");
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host);
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        let status = text.split(' ').nth(1).and_then(|s| s.parse().ok());
        (status.expect("a status"), text)
    }
}

fn gcn(args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_gcn")).args(args).output();
    output.expect("the command runs")
}

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name);
    path.to_str().expect("a path in UTF-8").to_string()
}

#[test]
fn the_address_has_the_token_and_nothing_answers_without_it() {
    let server = start(&[]);
    assert_eq!(server.get("/").0, 403);
    let (status, page) = server.get(&format!("/?token={}", server.token));
    assert_eq!(status, 200);
    assert!(page.contains("<title>gcn</title>"));
}

#[test]
fn files_are_opened() {
    let server = start(&[&file("examples/saxpy.s")]);
    let (_, page) = server.get(&format!("/?token={}", server.token));
    assert!(page.contains("\"name\":\"saxpy.s\""));
    // A plan is shown as its first launch.
    let server = start(&[&file("examples/saxpy.toml")]);
    let (_, page) = server.get(&format!("/?token={}", server.token));
    assert!(page.contains("plan:x\\nplan:y\\nu32:1000\\nf32:2.0"));
    // A code object is shown as source that assembles.
    let server = start(&[&file("testdata/kernels/vadd-gfx906.co")]);
    let (_, page) = server.get(&format!("/?token={}", server.token));
    assert!(page.contains("\"name\":\"vadd-gfx906.co\""));
    assert!(page.contains("\"ok\":true,\"target\":\"gfx906\""));
}

#[test]
fn the_manual_is_that_of_gcn_doc() {
    let server = start(&[]);
    for name in ["v_add_f32", "V_ADD_F32", "sop2", "contents"] {
        let (status, page) = server.get(&format!("/{}/manual/{name}.html", server.token));
        assert_eq!(status, 200, "{name}");
        assert!(page.len() > 1000, "{name}");
    }
    assert_eq!(
        server
            .get(&format!("/{}/manual/v_nothing.html", server.token))
            .0,
        404
    );
}

#[test]
fn mistakes_are_told() {
    let missing = gcn(&["web", "--no-open", "no-such-file.s"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("no-such-file.s"));
    let server = start(&[]);
    let no_plan = gcn(&[
        "web",
        "--no-open",
        "--launch",
        "2",
        &file("examples/saxpy.s"),
    ]);
    assert_eq!(no_plan.status.code(), Some(1));
    let beyond = gcn(&[
        "web",
        "--no-open",
        "--launch",
        "2",
        &file("examples/saxpy.toml"),
    ]);
    assert!(
        String::from_utf8_lossy(&beyond.stderr).contains("there is no launch 2: the plan has one")
    );
    let (_, port) = server.host.split_once(':').expect("a port");
    let taken = gcn(&["web", "--no-open", "--port", port]);
    assert_eq!(taken.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&taken.stderr).contains(port));
    assert_eq!(gcn(&["web", "--port", "x"]).status.code(), Some(2));
}

#[test]
fn pages_are_exported() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("web-export");
    let _ = std::fs::remove_dir_all(&folder);
    let path = folder.to_str().expect("a path in UTF-8");
    let output = gcn(&["web", &file("examples/saxpy.s"), "--export", path]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("the file is there");
    assert!(read("index.html").contains("flat_load_dword"));
    assert!(read("mandelbrot.html").contains("v_mac_f32"));
    assert!(read("manual/v_add_f32.html").contains("v_add_f32"));
}
