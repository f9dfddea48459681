//! The manual as the pages of `gcn web`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use gcn_web::Manual;

use crate::manual::html::{self, Links};
use crate::manual::pages::{self, Kind};

/// Links between the pages: the address of each page is its name.
static LINKS: LazyLock<Links> = LazyLock::new(|| Links::with(&pages::all(), file_name));

/// The name of a page's file, beside the others.
fn file_name(kind: Kind, name: &str) -> String {
    match kind {
        Kind::Format => format!("{}.html", name.to_lowercase()),
        _ => format!("{name}.html"),
    }
}

/// The pages of `gcn doc`.
pub struct Pages;

impl Manual for Pages {
    fn page(&self, name: &str) -> Option<String> {
        if matches!(name, "contents" | "index") {
            return html::front(&LINKS);
        }
        if name == "instructions" {
            return Some(html::instructions(&pages::all(), &LINKS));
        }
        let (_, text) = pages::page(name, None)?;
        Some(html::from_markdown(&text, &LINKS))
    }

    fn names(&self) -> Vec<String> {
        let all = pages::all().into_iter();
        let names = all.map(|entry| match entry.kind {
            Kind::Format => entry.name.to_lowercase(),
            _ => entry.name,
        });
        let names: BTreeSet<String> = names
            .chain(["contents".into(), "instructions".into()])
            .collect();
        names.into_iter().collect()
    }
}
