//! `cargo xtask listings`: compiles OpenCL kernels to assembly. Our assembler must produce the same code from the compiler's text
//! as llvm-mc, and our disassembly must assemble to the same code.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use gcn_object::CodeObject;

use crate::corpus::{Checker, compile_listing};
use crate::fixtures;
use crate::measure;

#[derive(clap::Args)]
pub struct Options {
    /// The folder of .cl files; by default testdata/kernels
    folder: Option<PathBuf>,
    /// Targets, by comma
    #[arg(long, value_delimiter = ',', default_value = "gfx600,gfx701")]
    target: Vec<String>,
    /// Examples shown of each broken rule and target
    #[arg(long, default_value_t = 5)]
    show: usize,
    /// The gcn binary; by default the workspace's release build, built first
    #[arg(long)]
    gcn: Option<PathBuf>,
}

/// Compiles, compares and prints. Returns true if none of our results is wrong.
///
/// # Errors
/// If the compiler or llvm-mc is missing or fails.
pub fn run(options: &Options, root: &Path) -> Result<bool> {
    let folder = match &options.folder {
        Some(folder) => folder.clone(),
        None => root.join("testdata/kernels"),
    };
    fixtures::check_compiler()?;
    let mut checker = Checker::with(options.gcn.as_deref(), 0, usize::MAX, options.show)?;
    let out = checker.dir().join("listing.bin");
    for kernel in fixtures::kernels(&folder)? {
        for target in &options.target {
            let dir = checker.dir().to_path_buf();
            fixtures::compile(&folder, &kernel, target, "s", &["-S"], &dir)?;
            let listing = dir.join(format!("{kernel}-{target}.s"));
            let object = CodeObject::parse(&compile_listing(&listing)?)
                .with_context(|| format!("llvm-mc's object of {kernel} for {target}"))?;
            let index = object.section(".text");
            let index = index.with_context(|| format!("{kernel} for {target} has no .text"))?;
            let text = object.section_data(index);
            // Code with relocations has no raw form; both objects have the same gaps.
            let linked = object.relocations.iter().any(|r| r.section == Some(index));
            let made = assemble(checker.gcn(), target, &listing, linked, &out);
            match made {
                Ok(made) if made == text => {}
                Ok(made) => {
                    let at = made.iter().zip(text).position(|(a, b)| a != b);
                    let at = at.unwrap_or(made.len().min(text.len()));
                    let what = format!(
                        "{kernel}, its listing: other bytes than llvm-mc's from {at:#x} on"
                    );
                    checker.fail(target, what);
                }
                Err(problem) => checker.fail(target, format!("{kernel}, its listing: {problem:#}")),
            }
            checker.add(&kernel, target, text)?;
        }
    }
    checker.finish()
}

/// Returns our assembler's bytes of `.text` of a listing: raw, or from a relocatable object.
fn assemble(gcn: &Path, target: &str, listing: &Path, linked: bool, out: &Path) -> Result<Vec<u8>> {
    let (source, name) = (listing.to_string_lossy(), out.to_string_lossy());
    let form = if linked { "-c" } else { "--raw" };
    let args = ["asm", form, "--arch", target, &source, "-o", &name];
    measure::run(gcn, &args, Path::new("/dev/null"))?;
    let made = fs::read(out)?;
    if !linked {
        return Ok(made);
    }
    let object = CodeObject::parse(&made)?;
    let index = object.section(".text").context("our object has no .text")?;
    Ok(object.section_data(index).to_vec())
}
