//! `gcn web --export`: the manual and a page for each example, without a server.

use std::path::Path;

use gcn::io;
use serde_json::{Value, json};

use crate::examples::EXAMPLES;
use crate::{Manual, page};

/// Writes static pages into a folder: `index.html` with the document, a page for each example, and the manual.
///
/// # Errors
/// A message with the file's name.
pub fn export(folder: &Path, document: &Value, manual: &dyn Manual) -> Result<(), String> {
    let made = |at: &Path| std::fs::create_dir_all(at).map_err(|e| io::named(at, e));
    made(&folder.join("manual"))?;
    for file in page::FILES {
        io::write(&folder.join(file.name), file.text.as_bytes())?;
    }
    let examples = EXAMPLES
        .iter()
        .map(|e| (format!("{}.html", e.id), e.document()));
    let first = ("index.html".to_string(), document.clone());
    for (name, document) in std::iter::once(first).chain(examples) {
        let html = page::index(&document, "./", Some(&json!({})));
        io::write(&folder.join(name), html.as_bytes())?;
    }
    for name in manual.names() {
        if let Some(body) = manual.page(&name) {
            let html = page::manual(&name, &body, "../");
            let path = folder.join("manual").join(format!("{name}.html"));
            io::write(&path, html.as_bytes())?;
        }
    }
    Ok(())
}
