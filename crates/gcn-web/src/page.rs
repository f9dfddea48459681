//! The files of the page, and the documents made from them.

use std::path::Path;

use gcn::isa::Target;
use gcn::isa::print::Style;
use gcn::object::CodeObject;
use gcn::{dis, io};
use serde_json::{Value, json};

use crate::code::{self, MOST_SOURCE, Source};
use crate::examples::EXAMPLES;

/// A file of the page.
pub struct File {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub content_type: &'static str,
    /// Its text.
    pub text: &'static str,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The files of the page other than `index.html`.
pub static FILES: &[File] = &[
    File {
        name: "style.css",
        content_type: "text/css; charset=utf-8",
        text: include_str!("../page/style.css"),
    },
    // One file, because each file needs a connection.
    File {
        name: "app.js",
        content_type: SCRIPT,
        text: concat!(
            include_str!("../page/core.js"),
            include_str!("../page/editor.js"),
            include_str!("../page/listing.js"),
            include_str!("../page/run.js"),
            include_str!("../page/main.js"),
        ),
    },
    File {
        name: "icon.svg",
        content_type: "image/svg+xml",
        text: include_str!("../page/icon.svg"),
    },
];

static INDEX: &str = include_str!("../page/index.html");
static MANUAL: &str = include_str!("../page/manual.html");

/// Text for HTML.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// JSON for a script element.
fn embedded(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c")
}

/// The document that the page opens: a file, or the first example.
///
/// # Errors
/// A message with the file's name.
pub fn document(
    file: Option<&Path>,
    arch: Option<Target>,
    target: Option<&str>,
    entry: Option<usize>,
) -> Result<Value, String> {
    let Some(path) = file else {
        return Ok(EXAMPLES[0].document());
    };
    let source = path.extension().is_some_and(|e| e == "s" || e == "asm");
    let (text, target) = match source {
        true => (io::read_text(path)?, arch),
        false => disassembled(path, arch, target, entry)?,
    };
    let name = path.file_name().unwrap_or(path.as_os_str());
    let document = json!({
        "name": name.to_string_lossy(),
        "source": text,
        "arch": target.map_or("gfx900", |t| t.name()),
        "syntax": "auto",
        "registers": "",
    });
    opened(path, document)
}

/// Returns a document of a file, unless its source is too large for the page.
pub fn opened(path: &Path, document: Value) -> Result<Value, String> {
    let bytes = document["source"].as_str().map_or(0, str::len);
    match bytes > MOST_SOURCE {
        true => Err(format!(
            "{}: its source has {bytes} bytes, and the page takes at most {MOST_SOURCE}; `gcn dis --kernel NAME` writes one kernel",
            path.display(),
        )),
        false => Ok(document),
    }
}

/// The source of a code object.
fn disassembled(
    path: &Path,
    arch: Option<Target>,
    target: Option<&str>,
    entry: Option<usize>,
) -> Result<(String, Option<Target>), String> {
    let target = target.or(arch.map(|arch| arch.name()));
    let object = io::code_object_for_source(path, target, entry)?;
    let target = dis::target_of(&object).map_err(|e: String| io::named(path, e))?;
    Ok((source_of(path, &object)?, Some(target)))
}

/// Returns the source of a code object of a file.
pub fn source_of(path: &Path, object: &CodeObject) -> Result<String, String> {
    let named = |e: String| io::named(path, e);
    let options = dis::Options {
        loaded_only: true,
        ..dis::Options::new(Style::LLVM)
    };
    let mut text = Vec::new();
    dis::object(object, &options, &mut text).map_err(|e| named(e.to_string()))?;
    String::from_utf8(text).map_err(|e| named(e.to_string()))
}

/// The data for the page's first view.
fn state(document: &Value, reads_only: Option<&Value>) -> Value {
    let text = |key: &str| document[key].as_str().unwrap_or("");
    let source = Source {
        text: text("source").to_string(),
        target: Target::parse(text("arch")).unwrap_or(Target::of(gcn::isa::Gen::Gfx9)),
        syntax: gcn::asm::Syntax::Auto,
    };
    let targets = Target::all().map(|t| json!([t.name(), t.info().aliases]));
    let examples = EXAMPLES.iter().map(|e| json!([e.id, e.title]));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "document": document,
        "view": code::view(&source),
        "targets": targets.collect::<Vec<_>>(),
        "examples": examples.collect::<Vec<_>>(),
        "static": reads_only,
    })
}

/// The page. `root` is the path of its other files; `reads_only` has the data of a page without a server.
pub fn index(document: &Value, root: &str, reads_only: Option<&Value>) -> String {
    let html = INDEX.replace("@ROOT@", &escape(root));
    // The state comes last, because it may contain anything.
    html.replace("@STATE@", &embedded(&state(document, reads_only)))
}

/// A page of the manual.
pub fn manual(name: &str, body: &str, root: &str) -> String {
    let html = MANUAL.replace("@ROOT@", &escape(root));
    html.replace("@NAME@", &escape(name))
        .replace("@BODY@", body)
}
