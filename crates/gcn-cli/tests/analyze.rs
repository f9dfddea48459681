//! Tests of the command `gcn analyze`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn gcn(args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_gcn")).args(args).output();
    output.expect("the command runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn kernel(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/kernels")
        .join(name);
    path.to_str().expect("a path in UTF-8").to_string()
}

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("analyze-{name}"));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn json_has_its_keys() {
    let output = gcn(&[
        "analyze",
        &kernel("reduce-gfx900.co"),
        "--kernel",
        "reduce_sum",
        "--json",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let kernels = json["kernels"].as_array().expect("kernels");
    assert_eq!(kernels.len(), 1);
    let kernel = &kernels[0];
    assert_eq!(kernel["name"], "reduce_sum");
    assert_eq!(kernel["occupancy"]["waves_per_simd"], 10);
    assert_eq!(
        kernel["occupancy"]["limited_by"],
        serde_json::json!(["waves"])
    );
    assert_eq!(kernel["loops"].as_array().map(Vec::len), Some(2));
    let instructions = kernel["instructions"].as_array().expect("instructions");
    let numbers = ["pc", "issue_cycles", "live_vgprs", "live_sgprs"];
    for instruction in instructions {
        assert!(
            numbers.iter().all(|key| instruction[key].is_u64()),
            "{instruction}"
        );
        assert!(instruction["text"].is_string() && instruction["waits_for"].is_array());
        assert!(instruction.get("line").is_some());
    }
    let first: Vec<&Value> = instructions.iter().take(3).map(|i| &i["pc"]).collect();
    let wait = instructions
        .iter()
        .find(|i| i["text"] == "s_waitcnt lgkmcnt(0)");
    let waits_for = wait.expect("a wait")["waits_for"]
        .as_array()
        .expect("addresses");
    assert_eq!(waits_for.iter().collect::<Vec<_>>(), first);
}

#[test]
fn the_text_labels_every_figure() {
    let output = gcn(&["analyze", &kernel("matmul-gfx803.co"), "--chip", "fiji"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let out = text(&output.stdout);
    assert!(
        out.starts_with("chip fiji (gfx803, double precision at 1/16 of single)"),
        "{out}"
    );
    for part in [
        "(modelled)",
        "(counted)",
        "live VGPRs",
        "loop at ",
        "; waits for 0x",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    assert!(!out.contains("nanosecond"), "{out}");
}

/// The page is well-formed as far as its own elements go, has no references to other sites, and every link has its target.
#[test]
fn the_page_stands_alone() {
    let path = folder("page").join("page.html");
    let path = path.to_str().expect("a path in UTF-8");
    let output = gcn(&["analyze", &kernel("reduce-gfx900.co"), "--html", path]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty());
    let page = std::fs::read_to_string(path).expect("the page");
    let outside = page.matches("http").count();
    assert_eq!(outside, page.matches("http://www.w3.org/2000/svg").count());
    assert!(!page.contains("src=") && !page.contains("@import") && !page.contains("<script"));
    for link in page.split("href=\"#").skip(1) {
        let id = link.split('"').next().expect("a name");
        assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
    }
    for element in [
        "svg", "a", "table", "tr", "td", "text", "main", "ul", "li", "h3",
    ] {
        let (from, to) = (format!("<{element}"), format!("</{element}>"));
        let opened = page.match_indices(&from).filter(|(at, _)| {
            let after = page[at + from.len()..].chars().next();
            after.is_some_and(|c| c == ' ' || c == '>')
        });
        assert_eq!(opened.count(), page.matches(&to).count(), "{element}");
    }
}

#[test]
fn a_profile_stands_beside_the_code() {
    let object = kernel("vadd-gfx900.co");
    let run = gcn(&[
        "run",
        &object,
        "--kernel",
        "vadd",
        "--grid",
        "256",
        "--group",
        "64",
        "--arg",
        "buf:zero:1024",
        "--arg",
        "buf:zero:1024",
        "--arg",
        "buf:zero:1024",
        "--arg",
        "u32:256",
        "--profile",
        "--json",
    ]);
    assert!(run.status.success(), "{}", text(&run.stderr));
    let path = folder("profile").join("run.json");
    std::fs::write(&path, &run.stdout).expect("the file is written");
    let path = path.to_str().expect("a path in UTF-8");
    let output = gcn(&[
        "analyze",
        &object,
        "--kernel",
        "vadd",
        "--profile",
        path,
        "--json",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let kernel = &json["kernels"][0];
    // Four waves.
    assert_eq!(kernel["instructions"][0]["executions"], 4);
    assert!(kernel["issued_cycles"].as_u64().is_some_and(|n| n > 0));
    let output = gcn(&[
        "analyze",
        &crate::kernel("reduce-gfx900.co"),
        "--profile",
        path,
    ]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn what_is_wrong_is_said() {
    let object = kernel("vadd-gfx900.co");
    for (args, status, message) in [
        (
            vec!["--chip", "navi10"],
            2,
            "`navi10` is no chip of gfx6 to gfx9: expected one of gfx600, tahiti",
        ),
        (
            vec!["--chip", "fiji"],
            1,
            "fiji is a chip of gfx8: name a chip of gfx9",
        ),
        (
            vec!["--kernel", "none"],
            1,
            "there is no kernel or function `none` in the file; it has vadd",
        ),
        (
            vec!["--profile", "/nowhere/run.json"],
            1,
            "/nowhere/run.json",
        ),
        (
            vec!["--json", "--html", "-"],
            2,
            "--json and --html - both write to standard output",
        ),
    ] {
        let mut all = vec!["analyze", object.as_str()];
        all.extend(&args);
        let output = gcn(&all);
        assert_eq!(output.status.code(), Some(status), "{args:?}");
        assert!(
            text(&output.stderr).contains(message),
            "{}",
            text(&output.stderr)
        );
    }
    let text_file = kernel("README.md");
    let output = gcn(&["analyze", &text_file]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("README.md: the file is text, not code"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn source_is_assembled() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/saxpy.s");
    let path = source.to_str().expect("a path in UTF-8");
    let output = gcn(&["analyze", path]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("saxpy"));
    // A file of another name is not source; the message says what to do, however long its first line is.
    let other = folder("source").join("saxpy.txt");
    std::fs::copy(&source, &other).expect("a copy");
    let output = gcn(&["analyze", other.to_str().expect("a path in UTF-8")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("the file is text, not code"));
}
