//! `include/gcn.h` is what cbindgen makes of the sources. `BLESS=1` writes it.

use std::path::Path;

#[test]
fn the_header_is_current() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).expect("cbindgen.toml");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in ["lib.rs", "code.rs", "gpu.rs", "wave.rs"] {
        builder = builder.with_src(folder.join("src").join(file));
    }
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
