//! Packs the addresses in the program's tables that the dynamic linker sets at each start: a tenth of the time of a short run.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let variable = |name| std::env::var(name).unwrap_or_default();
    let gnu =
        variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    let native = variable("HOST") == variable("TARGET");
    if gnu && native && is_known(&variable("CARGO_CFG_TARGET_ARCH")) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// Returns true if this machine's C library reads the packed form, as glibc does from 2.36 on; it then defines a version for it.
/// An older one would run the program without the addresses.
fn is_known(arch: &str) -> bool {
    const VERSION: &[u8] = b"GLIBC_ABI_DT_RELR";
    let folders = [
        format!("/lib/{arch}-linux-gnu"),
        "/lib64".into(),
        "/usr/lib".into(),
    ];
    let library = folders
        .iter()
        .find_map(|folder| std::fs::read(Path::new(folder).join("libc.so.6")).ok());
    library.is_some_and(|library| library.windows(VERSION.len()).any(|part| part == VERSION))
}
