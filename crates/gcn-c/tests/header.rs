//! `include/gcn.h` equals the output of cbindgen for the sources. `BLESS=1` writes it.

use std::path::Path;

#[test]
fn the_header_is_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).expect("cbindgen.toml");
    // cbindgen follows the modules of lib.rs.
    let source = folder.join("src/lib.rs");
    let builder = cbindgen::Builder::new()
        .with_config(config)
        .with_src(source);
    let mut text = Vec::new();
    builder.generate().expect("the sources").write(&mut text);
    let path = folder.join("include/gcn.h");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("include/gcn.h");
    }
    let committed = std::fs::read(&path).expect("include/gcn.h");
    assert!(
        committed == text,
        "include/gcn.h is not current: BLESS=1 cargo test -p gcn-c --test header"
    );
}

/// The names of the functions that the header declares, in their order.
fn functions(header: &str) -> Vec<&str> {
    let declared = header.lines().filter_map(|line| {
        let indented = line.starts_with([' ', '/', '#', '*']);
        let (before, _) = line.split_once('(').filter(|_| !indented)?;
        let start = before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        Some(&before[start.map_or(0, |n| n + 1)..])
    });
    declared.filter(|name| name.starts_with("gcn_")).collect()
}

#[test]
fn every_function_is_declared_once() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = std::fs::read_to_string(folder.join("include/gcn.h")).expect("include/gcn.h");
    let mut exported = Vec::new();
    for file in ["lib.rs", "code.rs", "gpu.rs", "wave.rs"] {
        let source = std::fs::read_to_string(folder.join("src").join(file)).expect(file);
        let names = source.lines().filter_map(|line| {
            let (_, rest) = line.split_once("extern \"C\" fn ")?;
            Some(rest.split('(').next().unwrap_or(rest).to_owned())
        });
        exported.extend(names);
    }
    let mut declared = functions(&header);
    declared.sort_unstable();
    exported.sort_unstable();
    assert!(exported.len() > 20, "{exported:?}");
    assert_eq!(declared, exported);
}
