//! `gcn info`: a code object's target, its kernels' arguments and resources, and occupancy.

use std::path::{Path, PathBuf};

use clap::Args;
use gcn::info::Info;
use gcn::io;
use gcn::object::{Entry, Error};

#[derive(Args)]
#[command(after_help = "\
Waves a SIMD: how many waves one of a compute unit's four SIMDs can hold at once, of at most ten, by
the VGPRs, SGPRs and LDS that the kernel has allocated, in the largest workgroup that it allows.
Instructions are counted by class as they stand in the code, not as they run; trans, f64, packed and
sdwa_dpp are parts of valu.

Examples:
  gcn info kernel.co
  gcn info app --target gfx906
  gcn info kernel.co --json | jq '.kernels[] | {name, vgprs, waves_per_simd}'")]
pub struct Options {
    /// A code object, a bundle, or a program or library that contains one; or `-`
    file: PathBuf,
    #[command(flatten)]
    choice: super::Choice,
    /// Print JSON (docs/json.md)
    #[arg(long)]
    json: bool,
}

/// Prints the information.
///
/// # Errors
/// A message with the file's name.
pub fn run(args: &Options) -> Result<(), String> {
    let container = io::container(&args.file)?;
    let named = |e: Error| io::named(&args.file, e);
    let chosen = args.choice.target.is_some() || args.choice.entry.is_some();
    let known = |e: &&Entry| e.size > 0 && (e.target.as_ref()).is_some_and(|target| target.known());
    let several = container.entries.iter().filter(known).count() > 1;
    if chosen || !several {
        let entry = container.choose(args.choice.target.as_deref(), args.choice.entry);
        let object = container.object(entry.map_err(named)?).map_err(named)?;
        let info = Info::new(&object)?;
        let text = match args.json {
            true => format!("{}\n", info.json()),
            false => info.text(),
        };
        return io::print(text.as_bytes());
    }
    // One after another, because a library may contain gigabytes.
    let describe = |n: usize, entry: &Entry| -> Result<String, String> {
        let object = container.object(entry).map_err(named)?;
        let info = Info::new(&object)?;
        Ok(match args.json {
            true => {
                let mut json = info.json();
                json["entry"] = entry.index.into();
                json["id"] = entry.id.as_str().into();
                format!("{}{json}", if n == 0 { "" } else { "," })
            }
            false => format!(
                "{}entry {}: {}\n{}",
                if n == 0 { "" } else { "\n" },
                entry.index,
                entry.id,
                info.text()
            ),
        })
    };
    let mut failed = None;
    io::stream(Path::new("-"), |out| {
        if args.json {
            out.write_all(b"{\"entries\":[")?;
        }
        for (n, entry) in container.entries.iter().filter(known).enumerate() {
            match describe(n, entry) {
                Ok(text) => out.write_all(text.as_bytes())?,
                Err(e) => {
                    failed = Some(e);
                    break;
                }
            }
        }
        if args.json {
            out.write_all(b"]}\n")?;
        }
        Ok(())
    })?;
    failed.map_or(Ok(()), Err)
}
