//! The pages about shared subjects, the search, the comparison of targets, and the site.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use gcn::object::descriptor::DIRECTIVES;
use gcn_cli::manual::pages::{self, Kind};
use gcn_cli::manual::{diff, html};

/// Runs the program. Returns its exit status, standard output and errors.
fn gcn(args: &[&str]) -> (Option<i32>, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_gcn"))
        .args(args)
        .output()
        .expect("gcn runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (out.status.code(), text(out.stdout), text(out.stderr))
}

/// The fenced blocks of a page: their first lines after the fence, and contents.
fn fences(page: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(head) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|l| *l != "```").collect();
            out.push((head.to_string(), body.join("\n") + "\n"));
        }
    }
    out
}

/// Follows the tutorial: its files are saved, its commands run in order, and their output is compared.
#[cfg(unix)]
#[test]
fn the_tutorial_works_to_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_gcn"))
        .parent()
        .expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let (_, page) = pages::other("tutorial").expect("the tutorial");
    let mut printed = String::new();
    let mut commands = 0;
    for (head, body) in fences(&page) {
        let words: Vec<&str> = head.split_whitespace().collect();
        match words.as_slice() {
            ["sh"] => {
                let out = Command::new("sh")
                    .args(["-e", "-c", &body])
                    .current_dir(folder.path())
                    .env("PATH", format!("{}:{path}", program.display()))
                    .output()
                    .expect("a shell");
                printed = String::from_utf8_lossy(&out.stdout).into_owned()
                    + &String::from_utf8_lossy(&out.stderr);
                assert!(out.status.success(), "{body}: {printed}");
                commands += body.lines().count();
            }
            ["text"] => assert_eq!(printed, body),
            ["text", "contains"] => assert!(printed.contains(body.trim()), "{printed}"),
            [_, file] => std::fs::write(folder.path().join(file), body).expect("a file"),
            _ => panic!("a block that is neither a file nor a command: {head}"),
        }
    }
    assert!(commands > 8, "{commands} commands");
}

#[test]
fn every_page_that_is_named_exists() {
    let mut checked = 0;
    let texts = pages::topics().map(|(name, text)| (name.to_string(), text.to_string()));
    let errata = pages::all().into_iter().filter(|e| e.kind == Kind::Erratum);
    let errata = errata.filter_map(|e| Some((e.name.clone(), pages::other(&e.name)?.1)));
    for (name, text) in texts.chain(errata) {
        for (_, rest) in text
            .match_indices("`gcn doc ")
            .map(|(at, m)| text.split_at(at + m.len()))
        {
            let target = rest.split('`').next().unwrap_or("");
            if target.starts_with("--") || target.starts_with("search ") || target.contains("NAME")
            {
                continue;
            }
            assert!(
                pages::page(target, None).is_some(),
                "{name} names `gcn doc {target}`"
            );
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked}");
}

#[test]
fn the_directives_are_those_of_the_assembler() {
    let (_, page) = pages::other("hsa-abi").expect("the page");
    let (_, section) = page.split_once("\n## The directives\n").expect("the table");
    let table: BTreeMap<&str, &str> = section
        .lines()
        .filter_map(|line| {
            let mut cells = line.split(" | ");
            let name = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
            Some((name, cells.next()?))
        })
        .collect();
    for directive in DIRECTIVES {
        let default = table
            .get(directive.name)
            .unwrap_or_else(|| panic!("no {}", directive.name));
        if let Ok(number) = default.parse::<u64>() {
            assert_eq!(number, directive.default, "{}", directive.name);
        }
    }
    let known: BTreeSet<&str> = DIRECTIVES.iter().map(|d| d.name).collect();
    for name in table.keys() {
        assert!(known.contains(name), "{name} is no directive");
    }
}

#[test]
fn the_comparison_says_what_changed() {
    let page = diff::page("gfx7", "gfx9").expect("a page");
    for line in [
        "# From gfx701 to gfx900",
        "\n## Added\n",
        "\n## Removed\n",
        "\n## Renamed\n",
        "\n## Another operation\n",
        "\n## Another opcode\n",
        "\nv_perm_b32 | VOP3 493 |",
        "\nv_mullit_f32 | VOP3 336 |",
        "\ns_add_u32 ",
        "\nv_mov_b32 | VOP1 1/385 | VOP1 1/321\n",
    ] {
        match line {
            // It is the same on both.
            "\ns_add_u32 " => assert!(!page.contains(line)),
            _ => assert!(page.contains(line), "no {line:?} in\n{}", &page[..3000]),
        }
    }
    assert!(
        page.contains("v_subb_u32 (VOP2 41/297) | v_subb_co_u32") || page.contains("v_addc_u32"),
        "renames"
    );
    assert!(diff::page("gfx7", "gfx10").is_err());
    let nothing = diff::page("gfx900", "gfx902").expect("a page");
    assert!(
        nothing.contains("0 instructions are only in gfx900, 0 only in gfx902"),
        "{nothing}"
    );
}

#[test]
fn the_search_finds_by_name_and_by_what_it_is_for() {
    let find = |words: &str| -> Vec<String> {
        let words: Vec<String> = words.split(' ').map(String::from).collect();
        pages::search(&words)
            .into_iter()
            .map(|e| e.name)
            .take(12)
            .collect()
    };
    assert_eq!(find("waitcnt")[0], "waitcnt");
    assert_eq!(find("v_perm_b32")[0], "v_perm_b32");
    assert!(
        find("byte swaps").contains(&"v_perm_b32".into()),
        "{:?}",
        find("byte swaps")
    );
    assert!(
        find("shift left lane").contains(&"v_lshl_b32".into()),
        "{:?}",
        find("shift left lane")
    );
    assert!(find("kernarg initial registers").contains(&"hsa-abi".into()));
    assert!(find("zzyzx").is_empty());
    let (status, out, _) = gcn(&["doc", "search", "exclusive", "or"]);
    assert!(status == Some(0) && out.contains("v_xor_b32"), "{out}");
    assert_eq!(gcn(&["doc", "search", "zzyzx"]).0, Some(1));
    assert_eq!(gcn(&["doc", "s_nop", "more"]).0, Some(1));
}

#[test]
fn a_page_of_one_target_is_about_that_target() {
    let (status, page, _) = gcn(&["doc", "v_add_u32", "--arch", "gfx803"]);
    assert_eq!(status, Some(0));
    assert!(
        page.contains("Opcode: 25 (0x19) for gfx800") || page.contains("Opcode: 25 (0x19)"),
        "{page}"
    );
    assert!(!page.contains("gfx9"), "{page}");
    let (status, _, errors) = gcn(&["doc", "v_perm_b32", "--arch", "gfx701"]);
    assert!(
        status == Some(1) && errors.contains("gfx701 has no `v_perm_b32`"),
        "{errors}"
    );
    let (status, list, _) = gcn(&["doc", "--arch", "gfx701"]);
    assert!(status == Some(0) && list.contains("* v_mullit_f32: ") && !list.contains("v_perm_b32"));
    // Into a pipe a page is Markdown without colours.
    assert!(!page.contains('\x1b') && page.contains("```\n"));
}

/// The attributes of a page that name other files.
fn references(page: &str) -> Vec<String> {
    let mut out = Vec::new();
    for attribute in ["href=\"", "src=\""] {
        for (at, _) in page.match_indices(attribute) {
            out.extend(
                page[at + attribute.len()..]
                    .split('"')
                    .next()
                    .map(String::from),
            );
        }
    }
    out
}

#[test]
fn the_site_is_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("site");
    let (status, _, errors) = gcn(&["doc", "--html", path.to_str().expect("a path")]);
    assert_eq!(status, Some(0), "{errors}");
    let files: BTreeMap<String, String> = std::fs::read_dir(&path)
        .expect("the folder")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let text = std::fs::read_to_string(entry.path()).expect("text");
            (entry.file_name().to_string_lossy().into_owned(), text)
        })
        .collect();
    for row in gcn::isa::insts::all() {
        let page = files
            .get(&format!("{}.html", row.name))
            .unwrap_or_else(|| panic!("no page of {}", row.name));
        assert!(
            page.contains(&format!("<h1 id=\"{}\">", row.name)),
            "{}",
            row.name
        );
    }
    let mut links = 0;
    for (name, page) in files.iter().filter(|(name, _)| name.ends_with(".html")) {
        for reference in references(page) {
            let file = reference.split('#').next().unwrap_or("");
            assert!(!reference.contains("//"), "{name} asks for {reference}");
            assert!(
                file.is_empty() || files.contains_key(file),
                "{name}: no {reference}"
            );
            links += 1;
        }
        assert!(
            page.starts_with("<!DOCTYPE html>")
                && page.contains("</main>")
                && page.ends_with("</html>\n")
        );
        for tag in ["table", "pre", "ul", "p", "h1", "h2"] {
            let open = page.matches(&format!("<{tag}>")).count()
                + page.matches(&format!("<{tag} ")).count();
            assert_eq!(
                open,
                page.matches(&format!("</{tag}>")).count(),
                "{name}: {tag}"
            );
        }
    }
    assert!(
        files.len() > 1400 && links > 20_000,
        "{} files, {links} links",
        files.len()
    );
    let index = &files["index.js"];
    assert!(
        index.starts_with("const PAGES = [[\"index\"") && index.len() < 400_000,
        "{}",
        index.len()
    );
}

#[test]
fn names_in_a_page_are_links() {
    let links = html::Links::default();
    let page = html::body(Kind::Topic, "exec", &links).expect("a page");
    assert!(
        page.contains("<a href=\"v_cndmask_b32.html\"><code>gcn doc v_cndmask_b32</code></a>"),
        "{page}"
    );
    assert!(
        page.contains("<a href=\"v_readlane_b32.html\">v_readlane_b32</a>"),
        "{page}"
    );
    assert!(html::body(Kind::Instruction, "v_nothing", &links).is_none());
}

/// The output on a terminal of some columns, with its control sequences.
#[cfg(unix)]
fn on_terminal(args: &[&str], cols: u16, env: &[(&str, &str)]) -> String {
    use portable_pty::{CommandBuilder, PtySize, native_pty_system};
    use std::io::Read;
    let size = PtySize {
        rows: 40,
        cols,
        pixel_width: 0,
        pixel_height: 0,
    };
    let pair = native_pty_system().openpty(size).expect("a terminal");
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_gcn"));
    command.args(args);
    command.env("TERM", "xterm-256color");
    command.env_remove("NO_COLOR");
    for (name, value) in env {
        command.env(name, value);
    }
    let mut child = pair.slave.spawn_command(command).expect("the command");
    drop(pair.slave);
    let mut output = pair.master.try_clone_reader().expect("its output");
    let mut text = Vec::new();
    // The terminal reports its end as an error on some systems.
    let _ = output.read_to_end(&mut text);
    assert!(child.wait().expect("it ends").success());
    String::from_utf8(text).expect("UTF-8")
}

#[cfg(unix)]
#[test]
fn on_a_terminal_a_page_is_coloured_wrapped_and_paged() {
    let text = on_terminal(&["doc", "v_mad_f32"], 70, &[("PAGER", "cat")]);
    assert!(text.contains("\x1b[1;36mv_mad_f32\x1b[0m"), "{text}");
    let plain = on_terminal(
        &["doc", "v_mad_f32"],
        70,
        &[("PAGER", "cat"), ("NO_COLOR", "1")],
    );
    assert!(!plain.contains('\x1b'), "{plain}");
    let fixed = |line: &str| line.starts_with("    ");
    for line in plain.lines().map(str::trim_end).filter(|l| !fixed(l)) {
        assert!(line.chars().count() <= 72, "{line}");
    }
    // The pager gets the page; without one it is printed.
    let counted = on_terminal(&["doc", "v_mad_f32"], 70, &[("PAGER", "wc -l")]);
    assert!(
        counted.trim().parse::<u32>().is_ok_and(|n| n > 60),
        "{counted}"
    );
    let none = on_terminal(&["doc", "v_mad_f32"], 70, &[("PAGER", "no-such-pager")]);
    assert!(none.contains("v_mad_f32"), "{none}");
}
