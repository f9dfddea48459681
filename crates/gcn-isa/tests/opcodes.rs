//! Compares the rows with testdata/opcodes.tsv, on which two other tools agree: every line with the rows, and every row with the
//! lines. Intended differences are in a list with their reasons.

use gcn_isa::{Format, Inst, Target, insts};

/// The targets of the table's columns.
const TARGETS: [&str; 5] = ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"];
/// The columns with LLVM's text are those of the last three targets.
const FIRST_WITH_TEXT: usize = 2;

struct Line {
    format: Format,
    name: &'static str,
    opcode: [Option<u16>; 5],
    /// LLVM's text; `None` if LLVM does not decode the opcode.
    text: [Option<&'static str>; 5],
}

/// The table lists VOP3P's opcodes as VOP3's.
const VOP3P_BASE: u16 = 896;

fn table() -> Vec<Line> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/opcodes.tsv");
    let text = std::fs::read_to_string(path).expect("testdata/opcodes.tsv");
    let lines = text.leak().lines().filter(|l| !l.starts_with('#')).skip(1);
    lines.map(line).collect()
}

fn line(line: &'static str) -> Line {
    let cells: Vec<&str> = line.split('\t').collect();
    let name = cells[1];
    let format = match Format::parse(cells[0]).unwrap_or_else(|| panic!("{line}")) {
        // The table lists the three segments as one format.
        Format::Flat if name.starts_with("global_") => Format::Global,
        Format::Flat if name.starts_with("scratch_") => Format::Scratch,
        format => format,
    };
    let mut opcode = [None; 5];
    for (op, cell) in opcode.iter_mut().zip(&cells[2..7]) {
        if !cell.is_empty() {
            let n: u16 = cell.parse().unwrap_or_else(|_| panic!("{line}"));
            *op = Some(match format {
                Format::Vop3p => n - VOP3P_BASE,
                _ => n,
            });
        }
    }
    let mut text = [None; 5];
    for column in FIRST_WITH_TEXT..5 {
        text[column] = match cells.get(column + 5).copied().unwrap_or("") {
            "" | "-" => None,
            "=" => text[column - 1],
            text => Some(text),
        };
    }
    Line {
        format,
        name,
        opcode,
        text,
    }
}

fn targets() -> [Target; 5] {
    TARGETS.map(|name| Target::parse(name).expect("a target"))
}

/// An intended difference.
struct Exception {
    /// The beginning of a difference, `FORMAT name target`; a `*` stands for any characters.
    what: &'static str,
    /// The number of differences that it covers.
    count: usize,
    why: &'static str,
}

const fn except(what: &'static str, count: usize, why: &'static str) -> Exception {
    Exception { what, count, why }
}

fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|text| {
            (0..=text.len()).any(|n| text.get(n..).is_some_and(|t| matches(rest, t)))
        }),
    }
}

/// Fails with the differences that no exception covers, and the exceptions that cover another number of differences than they
/// state.
fn judge(differences: &[(String, String)], exceptions: &[Exception]) {
    let mut wrong = String::new();
    for (what, how) in differences {
        if !exceptions.iter().any(|e| matches(e.what, what)) {
            wrong += &format!("{what}: {how}\n");
        }
    }
    for e in exceptions {
        let n = (differences.iter())
            .filter(|(what, _)| matches(e.what, what))
            .count();
        if n != e.count {
            wrong += &format!(
                "the exception `{}` ({}) covers {n} differences, not {}\n",
                e.what, e.why, e.count
            );
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn every_line_of_the_table_is_a_row() {
    let mut differences = Vec::new();
    for line in table() {
        for (column, target) in targets().into_iter().enumerate() {
            let ours: Vec<Option<u16>> = insts::by_name(line.name)
                .filter(|row| insts::exists(row, target))
                .filter_map(|row| match (row.format, line.format) {
                    (a, b) if a == b => Some(row.opcode_in(target.generation())),
                    // The table lists their VOP3 forms as lines of VOP3.
                    (Format::Vintrp, Format::Vop3) => Some(vop3_opcode(row, target)),
                    _ => None,
                })
                .collect();
            let how = match line.opcode[column] {
                Some(op) if ours.is_empty() => format!("missing: opcode {op}"),
                Some(op) if !ours.contains(&Some(op)) => format!("opcode {op}, ours {ours:?}"),
                _ => continue,
            };
            let what = format!("{} {} {}", line.format.name(), line.name, TARGETS[column]);
            differences.push((what, how));
        }
    }
    judge(&differences, MISSING);
}

fn vop3_opcode(row: &Inst, target: Target) -> Option<u16> {
    let generation = target.generation();
    Some(row.opcode_in(generation)? + row.format.vop3_offset(generation)?)
}

#[test]
fn every_row_is_a_line_of_the_table() {
    let table = table();
    let mut differences = Vec::new();
    for (column, target) in targets().into_iter().enumerate() {
        for row in insts::of_target(target) {
            let op = row.opcode_in(target.generation());
            let known = table.iter().any(|line| {
                line.format == row.format
                    && line.opcode[column] == op
                    && (line.name == row.name
                        || row.clrx == Some(line.name)
                        || row.aliases.contains(&line.name))
            });
            if !known {
                let what = format!("{} {} {}", row.format.name(), row.name, TARGETS[column]);
                let there: Vec<&str> = (table.iter())
                    .filter(|l| l.format == row.format && l.opcode[column] == op)
                    .map(|l| l.name)
                    .collect();
                differences.push((what, format!("the table has {there:?} at {op:?}")));
            }
        }
    }
    judge(&differences, EXTRA);
}

/// The mnemonic of LLVM's text is the row's name.
#[test]
fn the_rows_have_llvms_names() {
    let mut differences = Vec::new();
    for line in table() {
        for (column, target) in targets().into_iter().enumerate() {
            let (Some(op), Some(text)) = (line.opcode[column], line.text[column]) else {
                continue;
            };
            let what = format!("{} {} {}", line.format.name(), line.name, TARGETS[column]);
            let Some(row) = insts::lookup(target, line.format, op as u32) else {
                // The first test reports it.
                continue;
            };
            let word = text.split(' ').next().unwrap_or(text);
            let name = (word.strip_suffix("_e32"))
                .or_else(|| word.strip_suffix("_e64"))
                .unwrap_or(word);
            if row.name != name {
                differences.push((what, format!("LLVM's name is {name}, ours {}", row.name)));
            }
        }
    }
    judge(&differences, NAMES);
}

/// Lines of the table without a row.
#[rustfmt::skip]
const MISSING: &[Exception] = &[
    except("SMEM s_buffer_atomic_* gfx803", 26, "CLRX's claim alone; LLVM's gfx8 has none (docs/errata.md, smem-buffer-atomics)"),
];

/// Rows without a line in the table.
#[rustfmt::skip]
const EXTRA: &[Exception] = &[
    except("DS ds_write_src2_b32 gfx*", 5, "LLVM and CLRX have it; the table has its 64-bit brother alone"),
    except("VOP3 v_cvt_pkaccum_u8_f32 gfx*", 3, "LLVM's alone on gfx8 and gfx9, where VOP3 is its only form"),
    except("MIMG image_sample_*_g16 gfx*", 80, "gfx10's 16-bit gradients, which LLVM 14 takes and prints for older targets too"),
];

/// Names that are not LLVM's.
const NAMES: &[Exception] = &[];

#[test]
fn patterns_match() {
    assert!(matches("a* c", "ab c") && matches("*", "") && matches("a", "a"));
    assert!(!matches("a*c", "ab") && !matches("a", "ab"));
    assert_eq!(except("", 1, "").count, 1);
}
