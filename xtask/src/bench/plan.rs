//! Kernels' launches as plans, for `gcn run --profile`, `--dump-jit`, `--stats` and other options.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::cases::Case;
use super::data::Arg;

/// Writes a plan, and the kernel's object and buffers, into a folder.
pub fn write(case: &Case, object: &[u8], folder: &Path) -> Result<()> {
    let put = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).with_context(|| path.display().to_string())
    };
    let name = case.name;
    put(&format!("{name}.co"), object)?;
    let (mut buffers, mut args) = (String::new(), Vec::new());
    for (n, arg) in (case.args)().into_iter().enumerate() {
        args.push(match arg {
            Arg::Buffer(data, _) => {
                let file = format!("{name}-{n}.bin");
                put(&file, &data)?;
                writeln!(buffers, "[buffers.b{n}]\nfile = \"{file}\"\n")?;
                format!("\"b{n}\"")
            }
            Arg::Value(bytes) => {
                let mut text = String::from("\"bytes:");
                bytes
                    .iter()
                    .try_for_each(|byte| write!(text, "{byte:02x}"))?;
                text + "\""
            }
            Arg::Local(bytes) => format!("\"local:{bytes}\""),
        });
    }
    let text = format!(
        "object = \"{name}.co\"\n\n{buffers}[[launch]]\nkernel = \"{}\"\ngrid = {:?}\ngroup = {:?}\nargs = [{}]\nany-type = true\n",
        case.kernel,
        case.grid,
        case.group,
        args.join(", ")
    );
    put(&format!("{name}.toml"), text.as_bytes())
}
