//! The manual contains the data of the rows: every opcode, name and field, in valid Markdown.
//!
//! One page of each format is compared with tests/pages/NAME.md; `BLESS=1` rewrites those files.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use gcn::isa::format::{Encoding, Format, layout_of};
use gcn::isa::inst::Inst;
use gcn::isa::target::Target;
use gcn::isa::{Gen, insts};
use gcn_cli::manual;

/// The pages of the formats: making them takes most of the time of these tests.
static FORMATS: LazyLock<BTreeMap<&str, String>> = LazyLock::new(|| {
    let page = |f: Format| (f.name(), manual::format_page(f));
    Format::ALL.into_iter().map(page).collect()
});

/// The page of each row.
static ROWS: LazyLock<Vec<(&'static Inst, String)>> = LazyLock::new(|| {
    let page = |row: &'static Inst| (row, manual::instruction_page(&[row]));
    insts::all().map(page).collect()
});

/// The page of a format.
fn format_page(format: Format) -> &'static str {
    &FORMATS[format.name()]
}

/// The rows of a format.
fn rows(format: Format) -> Vec<&'static Inst> {
    insts::all().filter(|r| r.format == format).collect()
}

/// The part of a page below a heading, to the next heading of any level.
fn section<'p>(page: &'p str, heading: &str) -> &'p str {
    let start = page
        .find(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("no `{heading}`"));
    let body = &page[start + heading.len() + 2..];
    body.find("\n#").map_or(body, |end| &body[..end])
}

/// The cells of a table's line; `\|` is not a separator.
fn cells(line: &str) -> Vec<String> {
    line.replace("\\|", "\u{1}")
        .split('|')
        .map(|c| c.trim().replace('\u{1}', "|"))
        .collect()
}

/// The tables of a page: header and rows.
fn tables(page: &str) -> Vec<Vec<Vec<String>>> {
    let mut out: Vec<Vec<Vec<String>>> = Vec::new();
    let lines: Vec<&str> = page.lines().collect();
    let mut fenced = false;
    let mut at = 0;
    while at < lines.len() {
        fenced ^= lines[at].starts_with("```");
        let is_rule = |line: &str| {
            line.contains('|') && line.chars().all(|c| matches!(c, '-' | '|' | ' ' | ':'))
        };
        if !fenced && lines.get(at + 1).is_some_and(|l| is_rule(l)) {
            let mut table = vec![cells(lines[at]), cells(lines[at + 1])];
            at += 2;
            while at < lines.len() && lines[at].contains('|') {
                table.push(cells(lines[at]));
                at += 1;
            }
            out.push(table);
        } else {
            at += 1;
        }
    }
    out
}

#[test]
fn every_opcode_and_name_of_every_generation_stands_in_its_page() {
    for format in Format::ALL {
        let rows = rows(format);
        if rows.is_empty() || format.opcode_bits() == 0 {
            continue;
        }
        let page = format_page(format);
        let table = tables(section(page, "## Instructions by opcode")).remove(0);
        for row in rows {
            // If two rows have one name, their targets are in the heading.
            let heading = format!("### {}", row.name);
            let part: String = page
                .lines()
                .filter(|l| *l == heading || l.starts_with(&format!("{heading} (")))
                .map(|l| section(page, l))
                .collect();
            for name in row.aliases.iter().copied().chain(row.clrx) {
                assert!(part.contains(name), "{}: `{name}`", row.name);
            }
            for target in manual::table_targets() {
                if !insts::exists(row, target) {
                    continue;
                }
                let generation = target.generation();
                let op = row
                    .opcode_in(generation)
                    .expect("a row that exists has an opcode");
                let mut shown = vec![format!("{op} ({op:#x})")];
                if row.has_vop3()
                    && let Some(plus) = row.format.vop3_offset(generation)
                {
                    let vop3 = op + plus;
                    let text = format!("{vop3} ({vop3:#x})");
                    assert!(part.contains(&text), "{}: VOP3 {text}", row.name);
                    if row.format == Format::Vop3 {
                        shown = vec![text];
                    }
                }
                assert!(
                    shown.iter().any(|s| part.contains(s)),
                    "{}: {shown:?}",
                    row.name
                );
                // The column is the one that names the generation, or the target if they differ.
                let column = table[0]
                    .iter()
                    .position(|h| {
                        h.split([',', ' ', '(']).any(|w| w == target.name())
                            || generation != Gen::Gfx9
                                && h.split([',', ' ']).any(|w| w == generation.name())
                    })
                    .unwrap_or_else(|| panic!("{}: no column of {}", format.name(), target.name()));
                let line = table
                    .iter()
                    .find(|l| l[0] == format!("{op} ({op:#x})"))
                    .unwrap_or_else(|| panic!("{}: no line {op}", format.name()));
                let cell = &line[column];
                assert!(
                    cell.split([' ', '(', ')']).any(|w| w == row.name),
                    "{} {op} of {}: `{cell}` is not {}",
                    format.name(),
                    target.name(),
                    row.name
                );
                if let Some(clrx) = row.clrx {
                    assert!(cell.contains(clrx), "{}: `{cell}` lacks {clrx}", row.name);
                }
            }
        }
    }
}

#[test]
fn every_field_of_every_layout_is_drawn() {
    let also = |format| match format {
        Format::Vop1 => vec![Encoding::Vop3, Encoding::Sdwa1, Encoding::Dpp1],
        Format::Vop2 => vec![
            Encoding::Vop3,
            Encoding::Vop3b,
            Encoding::Sdwa2,
            Encoding::Dpp2,
        ],
        Format::Vopc => vec![Encoding::Vop3, Encoding::SdwaC, Encoding::DppC],
        Format::Vop3 => vec![Encoding::Vop3b],
        _ => vec![],
    };
    for format in Format::ALL {
        let page = format_page(format);
        let tables = tables(section(page, "## Encoding"));
        for encoding in also(format).into_iter().chain([format.encoding()]) {
            for generation in Gen::ALL {
                let Some(layout) = layout_of(encoding, generation) else {
                    continue;
                };
                let bits: Vec<String> = layout
                    .fields
                    .iter()
                    .map(|&(_, lo, len)| match len {
                        1 => lo.to_string(),
                        _ => format!("{lo}-{}", lo + len - 1),
                    })
                    .collect();
                let end = layout.bytes as u32 * 8;
                let drawn = tables.iter().any(|t| {
                    let mut next = 0;
                    for row in &t[2..] {
                        let (lo, hi) = row[0].split_once('-').unwrap_or((&row[0], &row[0]));
                        let (lo, hi): (u32, u32) =
                            (lo.parse().expect("a bit"), hi.parse().expect("a bit"));
                        assert_eq!(
                            lo,
                            next,
                            "{}: a gap or an overlap at {}",
                            format.name(),
                            row[0]
                        );
                        assert!(!row[1].is_empty() && !row[2].is_empty());
                        next = hi + 1;
                    }
                    next == end && bits.iter().all(|b| t.iter().any(|row| row[0] == *b))
                });
                assert!(
                    drawn,
                    "{encoding:?} of {} in {}",
                    generation.name(),
                    format.name()
                );
            }
        }
    }
}

#[test]
fn the_encodings_are_those_of_the_documents() {
    let fields = |format: Format, title: &str| -> String {
        let page = format_page(format);
        let at = page.find(title).unwrap_or_else(|| panic!("no `{title}`"));
        tables(&page[at..])[0][2..]
            .iter()
            .map(|r| format!("{} {}", r[0], r[1]))
            .collect::<Vec<_>>()
            .join("; ")
    };
    assert_eq!(
        fields(Format::Sop2, "The SOP2 encoding"),
        "0-7 SSRC0; 8-15 SSRC1; 16-22 SDST; 23-29 OPCODE; 30-31 ENCODING"
    );
    assert_eq!(
        fields(Format::Sopc, "The SOPC encoding"),
        "0-7 SSRC0; 8-15 SSRC1; 16-22 OPCODE; 23-31 ENCODING"
    );
    assert_eq!(
        fields(Format::Sopp, "The SOPP encoding"),
        "0-15 SIMM16; 16-22 OPCODE; 23-31 ENCODING"
    );
    assert_eq!(
        fields(Format::Vopc, "The VOPC encoding"),
        "0-8 SRC0; 9-16 VSRC1; 17-24 OPCODE; 25-31 ENCODING"
    );
    assert_eq!(
        fields(Format::Vopc, "The VOP3A encoding (gfx6–gfx7)"),
        "0-7 SDST; 8-10 ABS; 11 CLAMP; 12-16 -; 17-25 OPCODE; 26-31 ENCODING; 32-40 SRC0; \
         41-49 SRC1; 50-58 SRC2; 59-60 OMOD; 61-63 NEG"
    );
    assert_eq!(
        fields(Format::Vopc, "The VOP3A encoding (gfx8–gfx9)"),
        "0-7 SDST; 8-10 ABS; 11-14 OP_SEL; 15 CLAMP; 16-25 OPCODE; 26-31 ENCODING; 32-40 SRC0; \
         41-49 SRC1; 50-58 SRC2; 59-60 OMOD; 61-63 NEG"
    );
}

#[test]
fn the_compares_have_their_tables() {
    let page = format_page(Format::Vopc);
    let conditions = |heading: &str| -> Vec<String> {
        tables(section(page, heading))[0][2..]
            .iter()
            .map(|r| r[1].clone())
            .collect()
    };
    assert_eq!(
        conditions("## OP16, the conditions of floating point compares").join(" "),
        "f lt eq le gt lg ge o u nge nlg ngt nle neq nlt tru, t"
    );
    assert_eq!(
        conditions("## OP8, the conditions of integer compares").join(" "),
        "f lt eq le gt ne, lg ge t, tru"
    );
    for line in [
        "64-79 (0x40-0x4f) | v_cmps_{OP16}_f32 | Single floating point values. Signals on any NaN.",
        "240-247 (0xf0-0xf7) | v_cmpx_{OP8}_u64 | Unsigned 64-bit values. Writes EXEC too.",
        "168-175 (0xa8-0xaf) | v_cmp_{OP8}_u16 | Unsigned 16-bit values.",
        "9   | +infinity",
        "14  | VDST",
    ] {
        assert!(page.contains(line), "no `{line}`");
    }
}

#[test]
fn tables_and_fences_are_whole() {
    for format in Format::ALL {
        let page = format_page(format);
        assert!(page.len() > 500, "{} has next to nothing", format.name());
        let fences = page.lines().filter(|l| l.starts_with("```")).count();
        assert_eq!(
            fences % 2,
            0,
            "{}: a code block does not end",
            format.name()
        );
        for table in tables(page) {
            for line in &table {
                assert_eq!(line.len(), table[0].len(), "{}: {line:?}", format.name());
            }
        }
        // A table must follow an empty line, or Markdown takes it for a part of the paragraph.
        let lines: Vec<&str> = page.lines().collect();
        for pair in lines.windows(3) {
            if pair[2].starts_with("--") && pair[2].contains('|') {
                assert_eq!(pair[0], "", "{}: before `{}`", format.name(), pair[1]);
            }
        }
        assert!(
            !page.contains("\n\n\n"),
            "{}: two empty lines",
            format.name()
        );
    }
}

#[test]
fn every_name_has_its_page() {
    for (row, page) in ROWS.iter() {
        let row = *row;
        for name in row
            .aliases
            .iter()
            .copied()
            .chain(row.clrx)
            .chain([row.name])
        {
            let found = manual::find(name);
            assert!(
                found.iter().any(|r| std::ptr::eq(*r, row)),
                "`{name}` is not {}",
                row.name
            );
        }
        for part in [
            "\nSyntax",
            "\nExample",
            "\n## Description\n\n",
            "\n## Operation\n\n",
        ] {
            assert!(page.contains(part), "{}: no {part:?}", row.name);
        }
        assert!(!page.contains("?\n") && !page.contains("\n\n\n"), "{page}");
        for key in row.errata {
            assert!(
                manual::erratum(key)
                    .is_some_and(|e| page.contains(e.lines().next().unwrap_or("?"))),
                "{}: {key}",
                row.name
            );
        }
    }
}

/// Each modifier in the lines of syntax is explained on the page, and the operands have the same names there.
#[test]
fn modifiers_and_operands_are_those_of_the_syntax() {
    for (row, page) in ROWS.iter() {
        let lines = || page.lines().filter(|l| l.starts_with("Syntax"));
        let text: Vec<&str> = lines()
            .filter_map(|l| Some(l.split_once(": ")?.1))
            .collect();
        let text = text.join(" ");
        let explained: Vec<&str> = page
            .split_once("\n## Modifiers\n")
            .map_or("", |(_, rest)| rest.split("\n## ").next().unwrap_or(""))
            .lines()
            .filter_map(|l| l.strip_prefix('`')?.split_once('`'))
            .map(|(name, _)| name)
            .collect();
        for word in text.split_whitespace() {
            let name = word.trim_matches(|c| matches!(c, '[' | ']'));
            let name = name.split([':', '|']).next().unwrap_or(name);
            let modifier = gcn::isa::modifier::by_name(name).is_some();
            if modifier && !name.is_empty() && !name.contains("VCC") {
                assert!(
                    explained
                        .iter()
                        .any(|e| e.split([':', '\\']).next() == Some(name)),
                    "{}: {name} is not among {explained:?}",
                    row.name
                );
            }
        }
        let Some((_, rest)) = page.split_once("\n## Operands\n") else {
            continue;
        };
        let rest = rest.split("\n## ").next().unwrap_or("");
        for line in rest.lines().skip(3) {
            let names = line.split(" | ").next().unwrap_or("");
            for name in names
                .split(", ")
                .filter(|n| !n.contains(['(', '\\', '[', ' ']))
            {
                assert!(text.contains(name), "{}: {name} is not in {text}", row.name);
            }
        }
    }
}

/// Rows that share a name are on one page, which refers to each of them.
#[test]
fn targets_of_another_row_are_not_left_out() {
    let page = manual::instruction_page(&manual::find("v_readlane_b32"));
    assert!(page.contains("\ngfx6, gfx7 | 1 | VOP2\n"), "{page}");
    assert!(
        page.contains("\ngfx8, gfx9 | 649 | VOP3A: a section of its own\n"),
        "{page}"
    );
}

#[test]
fn the_words_of_operations_are_explained() {
    for (row, page) in ROWS.iter() {
        let (_, rest) = page.split_once("## Operation").expect("an operation");
        for word in [
            "atomic_compare_swap",
            "atomic_wrap",
            "ldexp",
            "mad",
            "zext64",
            "address",
        ] {
            let used = rest.split("```").nth(1).is_some_and(|code| {
                code.contains(&format!("{word}(")) || word == "address" && code.contains("[address")
            });
            if used {
                let explained =
                    rest.contains(&format!("* `{word}(")) || rest.contains("\n`address` is");
                assert!(explained, "{}: {word}", row.name);
            }
        }
    }
}

#[test]
fn every_decision_stands_in_a_page() {
    let pages: String = Format::ALL.into_iter().map(format_page).collect();
    let errata = include_str!("../../../docs/errata.md");
    let mut count = 0;
    for key in errata.lines().filter_map(|l| l.strip_prefix("### ")) {
        assert!(
            pages.contains(&format!("\n### {key}\n")),
            "no page has {key}"
        );
        assert!(
            manual::erratum(key).is_some_and(|e| !e.is_empty()),
            "{key} says nothing"
        );
        count += 1;
    }
    assert!(count > 40, "{count} entries");
}

/// A complete page of each format.
#[test]
fn pages_are_as_they_were() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/pages");
    let bless = std::env::var_os("BLESS").is_some_and(|v| v == "1");
    let names = [
        "s_bfe_i64",
        "s_cbranch_g_fork",
        "s_absdiff_i32",
        "s_or_saveexec_b64",
        "s_addk_i32",
        "s_set_gpr_idx_on",
        "s_waitcnt",
        "s_sendmsg",
        "s_load_dwordx2",
        "v_readfirstlane_b32",
        "v_mac_f16",
        "v_cmp_nlt_f32",
        "v_cmpx_class_f32",
        "v_mad_u64_u32",
        "ds_read2_b32",
        "ds_cmpst_rtn_b32",
        "buffer_atomic_add",
        "flat_load_dword",
        "global_store_dwordx4",
        "scratch_load_sbyte",
    ];
    let mut wrong = Vec::new();
    for name in names {
        let page = manual::instruction_page(&manual::find(name));
        let path = folder.join(format!("{name}.md"));
        if bless {
            std::fs::create_dir_all(&folder).expect("tests/pages");
            std::fs::write(&path, &page).expect("a writable page");
            continue;
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        if page != expected {
            let at = page.lines().zip(expected.lines()).position(|(a, b)| a != b);
            wrong.push(format!(
                "{name}: line {}",
                at.map_or("at the end".into(), |n| (n + 1).to_string())
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}; BLESS=1 rewrites tests/pages",
        wrong.join("\n")
    );
}

#[test]
fn the_command_prints_the_same() {
    let gcn = |args: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_gcn"))
            .args(args)
            .output()
            .expect("gcn runs");
        (
            out.status.code(),
            String::from_utf8(out.stdout).expect("UTF-8"),
        )
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("doc");
    let (status, _) = gcn(&["doc", "--all", "-o", path.to_str().expect("a path")]);
    assert_eq!(status, Some(0));
    for format in Format::ALL {
        let file = path.join(format!("{}.md", format.name().to_lowercase()));
        let text = std::fs::read_to_string(&file).expect("a page a format");
        assert!(text == format_page(format), "{}", file.display());
    }
    // The command finds formats by their names in any case, but `exp` is an instruction.
    for name in ["sopp", "VINTRP", "EXP"] {
        let (status, text) = gcn(&["doc", name]);
        let format = Format::parse(name).expect("a format");
        assert!(status == Some(0) && text == format_page(format), "{name}");
    }
    assert!(gcn(&["doc", "exp"]).1.starts_with("# exp\n"));
    let (status, text) = gcn(&["doc", "--stats"]);
    assert_eq!(status, Some(0));
    let last = text.lines().last().expect("a last line");
    let numbers: Vec<usize> = last
        .split_whitespace()
        .skip(1)
        .map(|n| n.parse().expect("a number"))
        .collect();
    assert!(last.starts_with("total "), "{last}");
    assert_eq!(numbers.last(), Some(&insts::all().count()));
    let gfx6 = Target::of(Gen::Gfx6);
    assert_eq!(
        numbers.first(),
        Some(&insts::all().filter(|r| insts::exists(r, gfx6)).count())
    );
    assert_eq!(gcn(&["doc", "S_ADD_U32"]).0, Some(0));
    assert_eq!(gcn(&["doc", "s_ad_u32"]).0, Some(1));
}
