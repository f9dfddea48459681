//! The static pages of `gcn doc --html` and `gcn web --export` from the file system, in headless Chromium. If Chromium or
//! axe-core is missing, the test reports that it is skipped.

#[path = "../../gcn-web/tests/driver/mod.rs"]
mod driver;

use std::path::Path;
use std::process::Command;

use driver::Driver;
use serde_json::json;

fn gcn(args: &[&str]) {
    let out = Command::new(env!("CARGO_BIN_EXE_gcn"))
        .args(args)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .expect("gcn runs");
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
}

/// A page of each kind.
const MANUAL: [&str; 13] = [
    "index",
    "instructions",
    "tutorial",
    "hsa-abi",
    "glossary",
    "hazards",
    "format-vop3",
    "v_mad_f32",
    "v_readlane_b32",
    "image_sample",
    "decision-approximations",
    "hazard-valu-div-fmas",
    "check-oob",
];
const EXPORTED: [&str; 4] = ["index", "mandelbrot", "manual/v_add_f32", "manual/contents"];

#[test]
fn static_pages_have_no_barriers() {
    let Some(axe) = driver::axe() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    gcn(&["doc", "--html", &path("site")]);
    gcn(&["web", "examples/saxpy.s", "--export", &path("pages")]);
    let pages: Vec<String> = (MANUAL.iter().map(|name| path(&format!("site/{name}.html"))))
        .chain(
            EXPORTED
                .iter()
                .map(|name| path(&format!("pages/{name}.html"))),
        )
        .collect();
    for (width, dark) in [(1200, false), (1200, true), (420, false)] {
        let Some(driver) = Driver::new(width, 900) else {
            return;
        };
        if dark {
            driver.prefer_dark();
        }
        // The colours are the same on all pages.
        for page in pages.iter().step_by(if dark { 5 } else { 1 }) {
            assert!(Path::new(page).is_file(), "no {page}");
            driver.go(&format!("file://{page}"));
            assert_eq!(driver.complaints(), Vec::<String>::new(), "{page}");
            let found = driver.violations(&axe);
            assert_eq!(found, json!([]), "{page}, {width} wide, dark: {dark}");
            // axe tries to read the style sheet, which a page of the file system may not.
            driver.complaints();
        }
        // The search needs no server.
        driver.go(&format!("file://{}", path("site/index.html")));
        driver.js("document.getElementById('words').focus()", &[]);
        driver.keys("shift left lane");
        driver.until("return !document.getElementById('found').hidden");
        let text = driver.js("return document.getElementById('found').innerText", &[]);
        let text = text.as_str().unwrap_or("");
        assert!(text.contains("v_lshl_b32"), "{text}");
        assert_eq!(
            driver.violations(&axe),
            json!([]),
            "the search, {width} wide"
        );
        // Selects the first result and opens it.
        driver.keys("\u{e015}\u{e007}");
        driver.until("return !location.pathname.endsWith('/index.html')");
    }
}
