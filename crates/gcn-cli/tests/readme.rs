//! The README's shell lines run unchanged, in a copy of the files that they name.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let to = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true => copy(&path, &to),
            false => drop(std::fs::copy(&path, &to).expect("a copy")),
        }
    }
}

/// The commands in a text's shell blocks. A line that ends in `\` is joined with the next.
fn commands(text: &str) -> Vec<String> {
    let blocks = text.split("```").skip(1).step_by(2);
    let shell = blocks.filter_map(|block| block.strip_prefix("sh\n"));
    let lines = shell.flat_map(|block| {
        let joined = block.replace("\\\n", " ");
        let lines: Vec<String> = joined.lines().map(str::to_owned).collect();
        lines
    });
    lines.filter(|line| !line.trim().is_empty()).collect()
}

#[test]
fn every_shell_line_of_the_readme_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().expect("a folder");
    for part in ["examples", "testdata/kernels"] {
        copy(&root.join(part), &folder.path().join(part));
    }
    let bin = Path::new(env!("CARGO_BIN_EXE_gcn")).parent();
    let path = format!(
        "{}:{}",
        bin.expect("a folder").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let readme = std::fs::read_to_string(root.join("README.md")).expect("the README");
    let commands = commands(&readme);
    assert!(commands.len() > 15, "{commands:?}");
    for command in &commands {
        if let Some(rest) = command.strip_prefix("cargo install --path ") {
            let package = rest.split_whitespace().next().expect("a path");
            let manifest = root.join(package).join("Cargo.toml");
            let manifest = std::fs::read_to_string(&manifest).expect("a package");
            assert!(manifest.contains("name = \"gcn\""), "{command}");
            continue;
        }
        let ran = Command::new("bash")
            .args(["-o", "pipefail", "-c", command])
            .current_dir(folder.path())
            .env("PATH", &path)
            .output()
            .expect("bash");
        let error = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{command}\n{error}");
    }
    let array = std::fs::read(folder.path().join("out/c.npy")).expect("what a line wrote");
    let header = gcn::npy::header(&array).expect("an array");
    assert_eq!(
        (header.descr().as_str(), header.shape),
        ("<f4", vec![32, 32])
    );
}
