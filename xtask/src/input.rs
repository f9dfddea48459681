//! The code objects in the files that a command line names.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use gcn_object::Container;

/// A code object of a file.
#[derive(Clone)]
pub struct Piece {
    /// The file's name, and the number of the entry.
    pub name: String,
    /// Its processor.
    pub processor: String,
    container: Arc<Container>,
    entry: usize,
}

impl Piece {
    /// Its bytes.
    ///
    /// # Errors
    /// If they cannot be read or decompressed.
    pub fn read(&self) -> Result<Vec<u8>> {
        Ok(self.container.read(&self.container.entries[self.entry])?)
    }
}

/// Returns the code objects for gfx6 to gfx9 in a file. If it has none, prints the reason.
pub fn pieces(path: &Path) -> Vec<Piece> {
    let container = match Container::open(path) {
        Ok(container) => Arc::new(container),
        Err(error) => {
            eprintln!("{}: {error}", path.display());
            return Vec::new();
        }
    };
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let known = container.entries.iter().filter_map(|entry| {
        let target = entry.target.as_ref()?;
        (entry.size > 0 && target.known()).then_some((entry, target))
    });
    let piece = |(entry, target): (&gcn_object::Entry, &gcn_object::container::Target)| Piece {
        name: match container.entries.len() {
            1 => file.clone().into_owned(),
            _ => format!("{file} entry {}", entry.index),
        },
        processor: target.processor.clone(),
        container: container.clone(),
        entry: entry.index,
    };
    known.map(piece).collect()
}

/// Returns the given files, and the files in given folders. Links, which are other names of libraries, and sources of kernels
/// are left out. Listings (`.s`) are included if `listings` is true and there is no object of the same name.
///
/// # Errors
/// If a folder cannot be read.
pub fn files(paths: &[PathBuf], listings: bool) -> Result<Vec<PathBuf>> {
    let of_use = |path: &Path| {
        let extension = path.extension().and_then(|e| e.to_str());
        path.is_file()
            && !path.is_symlink()
            && match extension {
                Some("s") => listings && !path.with_extension("co").exists(),
                Some("cl" | "md" | "txt" | "toml" | "err") => false,
                _ => true,
            }
    };
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        for entry in fs::read_dir(path).with_context(|| format!("{}", path.display()))? {
            let path = entry?.path();
            if of_use(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}
