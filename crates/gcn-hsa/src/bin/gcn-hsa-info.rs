//! Prints the properties of the runtime; `gcn hip --info` runs it.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() -> std::process::ExitCode {
    use std::io::Write;
    let told = gcn_hsa::info::tell().and_then(|text| {
        let written = std::io::stdout().write_all(text.as_bytes());
        written.map_err(|e| format!("standard output: {e}"))
    });
    match told {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("gcn: {e}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {}
