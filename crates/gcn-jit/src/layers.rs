//! A test that the modules of the crate depend on each other in one direction only.

use std::path::{Path, PathBuf};

/// The modules in order. Each may use the modules before it.
const LAYERS: [&str; 9] = [
    "hash", "codec", "ir", "passes", "frontend", "context", "lir", "target", "runtime",
];

/// Returns the source files of a module.
fn files(module: &str) -> Vec<PathBuf> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![src.join(module).with_extension("rs")];
    let mut folders = vec![src.join(module)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else {
            continue;
        };
        for entry in entries {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files
}

#[test]
fn modules_use_those_before_them() {
    for (at, module) in LAYERS.iter().enumerate() {
        for file in files(module) {
            let text = std::fs::read_to_string(&file).expect("a source file");
            for (n, line) in text.lines().enumerate() {
                let code = line.split("//").next().unwrap_or_default();
                for later in &LAYERS[at + 1..] {
                    let used = code.contains(&format!("crate::{later}::"));
                    assert!(
                        !used,
                        "{}:{}: `{module}` uses `{later}`",
                        file.display(),
                        n + 1
                    );
                }
            }
        }
    }
}
