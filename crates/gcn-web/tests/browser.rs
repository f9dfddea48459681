//! The page in headless Chromium, driven through chromedriver. If one of them is missing, the test reports that it is skipped.

mod common;
mod driver;

use common::start;
use driver::Driver;
use serde_json::{Value, json};

/// The page in a browser, ready.
fn open(url: &str, width: u32, height: u32, dark: bool) -> Option<Driver> {
    let driver = Driver::new(width, height)?;
    if dark {
        driver.prefer_dark();
    }
    driver.go(url);
    driver.until("return document.documentElement.dataset.ready === 'yes'");
    Some(driver)
}

/// Asserts that no script failed, the security policy refused nothing, and no other machine was accessed.
fn quiet(driver: &Driver, host: &str) {
    assert_eq!(driver.complaints(), Vec::<String>::new());
    let names = driver.js(
        "return performance.getEntriesByType('resource').map((e) => e.name)",
        &[],
    );
    for name in names.as_array().expect("a list") {
        let name = name.as_str().expect("an address");
        let own = format!("http://{host}/");
        assert!(
            name.starts_with(&own) || name.starts_with("data:"),
            "{name}"
        );
    }
}

fn text(driver: &Driver, id: &str) -> String {
    let value = driver.js(
        "return document.getElementById(arguments[0]).textContent",
        &[json!(id)],
    );
    value.as_str().expect("text").to_string()
}

#[test]
fn the_first_view_is_complete() {
    let server = start(None);
    let Some(driver) = open(&server.url, 1500, 900, false) else {
        return;
    };
    assert_eq!(
        driver.js(
            "return document.querySelectorAll('#body tr.row').length",
            &[]
        ),
        14
    );
    assert!(text(&driver, "summary").contains("gfx900, 14 instructions"));
    // The time depends on the machine; it is only printed.
    let times = driver.js(
        "return [performance.getEntriesByName('gcn-ready')[0].startTime, \
         performance.getEntriesByName('first-contentful-paint')[0]?.startTime]",
        &[],
    );
    eprintln!("first view in ms (complete, first paint): {times}");
    quiet(&driver, &server.host);
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let server = start(None);
    let Some(driver) = open(&server.url, 1500, 900, false) else {
        return;
    };
    driver.edit("  s_nop 0\n  v_fooo v1\n  s_endpgm\n");
    driver.until("return document.querySelectorAll('#messages li').length === 1");
    let message = text(&driver, "messages");
    assert!(message.starts_with("2:3 error"), "{message}");
    assert_eq!(
        driver.js(
            "return document.querySelector('#paint .squiggle').textContent",
            &[]
        ),
        "v_fooo"
    );
    assert_eq!(
        driver.js(
            "return document.querySelector('#gutter .error').dataset.line",
            &[]
        ),
        "2"
    );
    driver.edit("  s_nop 0\n  s_endpgm\n");
    driver.until("return document.querySelectorAll('#body tr.row').length === 2");
    assert_eq!(text(&driver, "messages"), "");
    quiet(&driver, &server.host);
}

#[test]
fn a_wave_is_stepped_with_keys_alone() {
    let server = start(None);
    let Some(driver) = open(&server.url, 1500, 900, false) else {
        return;
    };
    driver.keys("\u{e00a}l"); // Alt+L: the listing
    let focus = "return document.activeElement.dataset.pc ?? document.activeElement.id";
    assert_eq!(driver.js(focus, &[]), "0");
    driver.keys("\u{e015}\u{e015}"); // two rows down
    assert_eq!(driver.js(focus, &[]), "16");
    driver.keys("b"); // a breakpoint
    driver.keys("\u{e039}"); // F9: start
    driver.until("return G.state?.step === 0");
    driver.keys("c"); // to the breakpoint
    driver.until("return G.state.pc === 16");
    assert_eq!(
        driver.js(
            "return document.querySelector('#body tr.here').dataset.pc",
            &[]
        ),
        "16"
    );
    driver.keys("s");
    driver.until("return G.state.step === 3");
    let cell = "return G.run.register('v', 1, 1)";
    assert_eq!(driver.js(cell, &[]), "0xffffffec (lane 0)");
    driver.keys("u");
    driver.until("return G.state.step === 2");
    assert_eq!(driver.js(cell, &[]), "0x00000000 (lane 0)");
    driver.keys("\u{e03a}\u{e03a}"); // F10: a step
    driver.until("return G.state.step >= 3");
    // The picture: lane 5 of the last row is v1.
    driver.js("document.getElementById('picture').focus()", &[]);
    driver.keys(&"\u{e015}".repeat(9));
    driver.keys(&"\u{e014}".repeat(5));
    let cell = text(&driver, "cell");
    assert!(cell.starts_with("v1 lane 5: 0xfffffff1 = -15"), "{cell}");
    quiet(&driver, &server.host);
}

#[test]
fn a_kernel_is_launched_stepped_and_checked() {
    let server = start(None);
    let Some(driver) = open(&server.url, 1500, 900, false) else {
        return;
    };
    driver.js(
        "const e = document.getElementById('examples'); e.value = 'saxpy'; e.dispatchEvent(new Event('change'))",
        &[],
    );
    driver.until("return G.view?.kernels?.[0]?.name === 'saxpy'");
    driver.js("document.getElementById('start').click()", &[]);
    driver.until("return G.state?.moment === 0");
    assert_eq!(
        driver.js("return document.getElementById('wave').options.length", &[]),
        4
    );
    driver.js("const w = document.getElementById('wave'); w.value = '0,0,0:2'; w.dispatchEvent(new Event('change'))", &[]);
    driver.until("return G.state.waves.find((w) => w.selected).id === '0,0,0:2'");
    driver.js(
        "document.getElementById('count').value = 4; document.getElementById('forward').click()",
        &[],
    );
    driver.until("return G.state.step === 4");
    assert_eq!(
        driver.js("return G.run.register('v', 0, 1)", &[]),
        "0x00000080 (lane 0)"
    );
    driver.js("document.getElementById('go').click()", &[]);
    driver.until("return G.state.over");
    assert!(text(&driver, "where").contains("all waves of the kernel have ended"));
    driver.js("document.getElementById('rewind').click()", &[]);
    driver.until("return G.state.moment === 0");
    driver.js("document.getElementById('args').value = 'buf:randf32:100:1\\nbuf:randf32:1024:2\\nu32:200\\nf32:2'; \
               document.getElementById('args').dispatchEvent(new Event('input')); document.getElementById('check').click()", &[]);
    driver.until("return document.getElementById('tab-reports').textContent !== 'Reports'");
    let reports = text(&driver, "panel-reports");
    assert!(reports.contains("oob"), "{reports}");
    assert!(
        driver.js(
            "return document.querySelectorAll('#gutter .reported').length > 0",
            &[]
        ) == true
    );
    quiet(&driver, &server.host);
}

#[test]
fn the_manual_opens_at_a_name() {
    let server = start(None);
    let Some(driver) = open(&server.url, 1500, 900, false) else {
        return;
    };
    driver.keys("\u{e00a}l");
    driver.keys("\u{e007}");
    driver.until("return document.getElementById('manual').contentDocument?.body?.textContent.includes('the page of')");
    let shown = "return document.getElementById('manual').contentDocument.body.textContent";
    let page = driver.js(shown, &[]);
    assert!(
        page.as_str()
            .is_some_and(|p| p.contains("the page of v_mbcnt_lo_u32_b32")),
        "{page}"
    );
    assert_eq!(
        driver.js("return document.getElementById('panel-run').hidden", &[]),
        true
    );
    quiet(&driver, &server.host);
}

#[test]
fn an_operand_tells_what_it_is() {
    let server = start(None);
    let Some(driver) = open(&server.url, 1500, 900, false) else {
        return;
    };
    driver.js(
        "document.querySelector('#body .arg.f1').dispatchEvent(new MouseEvent('mouseover', { bubbles: true }))",
        &[],
    );
    let tip = text(&driver, "tip");
    assert!(
        tip.contains("first source") && tip.contains("field SRC0, bits 40:32 = 0xc1"),
        "{tip}"
    );
    assert_eq!(
        driver.js("return document.getElementById('tip').hidden", &[]),
        false
    );
}

#[test]
fn a_link_restores_the_page() {
    let server = start(None);
    let Some(driver) = open(&server.url, 1500, 900, false) else {
        return;
    };
    driver.edit("  v_mov_b32 v0, 3\n  v_add_u32 v1, 4, v0\n  s_endpgm\n");
    driver.until("return document.querySelectorAll('#body tr.row').length === 3");
    driver.js("G.listing.toggle(4)", &[]);
    driver.js("document.getElementById('start').click()", &[]);
    driver.until("return G.state?.step === 0");
    driver.js("document.getElementById('forward').click()", &[]);
    driver.until("return G.state.step === 1");
    driver.js("document.getElementById('spelling').value = 'both'; document.getElementById('spelling').dispatchEvent(new Event('change'))", &[]);
    driver.until("return location.hash.length > 20");
    std::thread::sleep(std::time::Duration::from_millis(800));
    let link = driver.js("return location.href", &[]);
    let link = link.as_str().expect("an address").to_string();
    let fragment = link.split_once('#').expect("a fragment").1;
    driver.go("about:blank");
    // Another server restores it, too.
    let other = start(None);
    driver.go(&format!("{}#{fragment}", other.url));
    driver.until("return document.documentElement.dataset.ready === 'yes' && G.state?.step === 1");
    let state = driver.js(
        "return [G.doc.source.slice(0, 17), G.spelling, [...G.breaks], G.state.pc]",
        &[],
    );
    assert_eq!(state, json!(["  v_mov_b32 v0, 3", "both", [4], 4]));
    // A damaged link is reported, and the page works.
    driver.go("about:blank");
    driver.go(&format!("{}#zdamaged", other.url));
    driver.until("return document.documentElement.dataset.ready === 'yes'");
    assert!(text(&driver, "status").contains("damaged"));
    assert_eq!(
        driver.js(
            "return document.querySelectorAll('#body tr.row').length",
            &[]
        ),
        14
    );
}

#[test]
fn the_tab_key_reaches_everything_and_leaves_the_editor() {
    let server = start(None);
    let Some(driver) = open(&server.url, 1500, 900, false) else {
        return;
    };
    let mut seen = Vec::new();
    for _ in 0..60 {
        driver.keys("\u{e004}");
        let name = driver.js(
            "return document.activeElement.id || document.activeElement.tagName",
            &[],
        );
        let name = name.as_str().expect("a name").to_string();
        if name == "source-text" {
            driver.keys("\u{e00c}");
        }
        seen.push(name);
    }
    for id in [
        "skip",
        "arch",
        "syntax",
        "examples",
        "open",
        "link",
        "theme",
        "keys",
        "source-text",
        "spelling",
        "TR",
        "detail",
        "tab-run",
        "registers",
        "start",
        "count",
    ] {
        assert!(seen.iter().any(|s| s == id), "{id} is not in {seen:?}");
    }
}

#[test]
fn no_page_has_barriers() {
    let Some(axe) = driver::axe() else {
        return;
    };
    let server = start(None);
    for (width, height, dark) in [
        (1500, 900, false),
        (1500, 900, true),
        (500, 900, false),
        (1000, 800, true),
    ] {
        let Some(driver) = open(&server.url, width, height, dark) else {
            return;
        };
        let found = |what: &str| {
            let list = driver.violations(&axe);
            assert_eq!(list, json!([]), "{what}, {width} wide, dark: {dark}");
        };
        found("first view");
        driver.js("document.getElementById('start').click()", &[]);
        driver.until("return G.state?.step === 0");
        driver.js("document.getElementById('count').value = 6; document.getElementById('forward').click()", &[]);
        driver.until("return G.state?.step === 6");
        found("a run");
        driver.js("const e = document.getElementById('examples'); e.value = 'saxpy'; e.dispatchEvent(new Event('change'))", &[]);
        driver.until("return G.view?.kernels?.[0]?.name === 'saxpy'");
        driver.js("document.getElementById('start').click()", &[]);
        driver.until("return G.state?.moment === 0");
        driver.js("document.getElementById('forward').click()", &[]);
        driver.until("return G.state?.moment > 0");
        found("a kernel");
        for tab in ["reports", "costs", "manual"] {
            driver.js(
                "document.getElementById(`tab-${arguments[0]}`).click()",
                &[json!(tab)],
            );
            found(tab);
        }
        driver.js("document.getElementById('keys').click()", &[]);
        found("keys");
        driver.js("document.getElementById('help').close()", &[]);
        driver.edit("v_fooo\n");
        driver.until("return document.querySelectorAll('#messages li').length === 1");
        found("a mistake");
        let wider: Value = driver.js(
            "return document.documentElement.scrollWidth > innerWidth + 1",
            &[],
        );
        assert_eq!(wider, false, "the page is wider than {width}");
    }
}

#[test]
fn static_pages_work_without_a_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let document = gcn_web::document(None, None, None, None).expect("the first example");
    gcn_web::export(folder.path(), &document, &common::Pages).expect("it can be written");
    let url = format!("file://{}/index.html", folder.path().display());
    let Some(driver) = open(&url, 1500, 900, false) else {
        return;
    };
    assert_eq!(
        driver.js(
            "return document.querySelectorAll('#body tr.row').length",
            &[]
        ),
        14
    );
    driver.js("document.querySelector('#body tr.row').focus()", &[]);
    driver.keys("\u{e007}");
    let address = driver.js("return document.getElementById('manual').src", &[]);
    assert!(
        address
            .as_str()
            .is_some_and(|a| a.ends_with("manual/v_mbcnt_lo_u32_b32.html")),
        "{address}"
    );
    assert_eq!(driver.complaints(), Vec::<String>::new());
}

/// At a usual width all columns of the assembly are visible without scrolling, and the costs name the limit of the occupancy.
#[test]
fn columns_and_costs_are_seen_at_once() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/kernels/reduce-gfx900.co");
    let document = gcn_web::document(Some(&path), None, None, None).expect("a code object");
    let server = start(Some(document));
    let Some(driver) = open(&server.url, 1500, 900, false) else {
        return;
    };
    let hidden = "const r = document.getElementById('rows').parentElement; return r.scrollWidth - r.clientWidth";
    assert_eq!(driver.js(hidden, &[]), 0);
    driver.js("document.getElementById('tab-costs').click()", &[]);
    let costs = text(&driver, "panel-costs");
    for part in [
        "10, the most there are",
        "0 bytes allocated: 10 waves",
        "v_add_co_u32_e32 v[0:6]",
        "each once; the other waves of the SIMD leave 0",
    ] {
        assert!(costs.contains(part), "no {part}: {costs}");
    }
    quiet(&driver, &server.host);
}
