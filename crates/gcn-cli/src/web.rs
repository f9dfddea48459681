//! The manual as the pages of `gcn web`.

use std::collections::BTreeSet;

use gcn::isa::Format;
use gcn::isa::insts;
use gcn_web::Manual;

use crate::manual;

/// The pages of `gcn doc`.
pub struct Pages;

impl Pages {
    fn text(name: &str) -> Option<String> {
        if let Some(format) = Format::parse(name) {
            return Some(manual::format_page(format));
        }
        let rows = manual::find(name);
        if !rows.is_empty() {
            return Some(manual::instruction_page(&rows));
        }
        if name == "contents" {
            return Some(manual::contents());
        }
        (manual::check_page(name))
            .or_else(|| manual::hazard_page(name))
            .or_else(|| manual::erratum(name))
    }
}

impl Manual for Pages {
    fn page(&self, name: &str) -> Option<String> {
        let text = Pages::text(name)?;
        Some(format!("<pre>{}</pre>", gcn_web::escape(&text)))
    }

    fn names(&self) -> Vec<String> {
        let rows = insts::all().map(|row| row.name.to_string());
        let formats = Format::ALL.into_iter().map(|f| f.name().to_lowercase());
        let names: BTreeSet<String> = rows.chain(formats).chain(["contents".into()]).collect();
        names.into_iter().collect()
    }
}
