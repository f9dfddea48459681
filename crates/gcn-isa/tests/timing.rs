//! Compares the issue cycles of the rows with testdata/timings.tsv, line by line, and with the page's statements about whole
//! formats.

use std::collections::BTreeSet;

use gcn_isa::insts::timing::{Cycles, issue};
use gcn_isa::shape::Ty;
use gcn_isa::{Format, Inst, insts};

struct Line {
    name: &'static str,
    cycles: &'static str,
    throughput: &'static str,
}

fn lines() -> Vec<Line> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/timings.tsv");
    let text = std::fs::read_to_string(path).expect("testdata/timings.tsv");
    let lines = text.leak().lines().filter(|l| !l.starts_with('#')).skip(1);
    let line = |line: &'static str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [_, name, cycles, throughput] = cells[..] else {
            panic!("{line}");
        };
        Line {
            name,
            cycles,
            throughput,
        }
    };
    lines.map(line).collect()
}

/// The rows with one of CLRX's names.
fn rows(name: &str) -> Vec<&'static Inst> {
    let rows: Vec<_> = insts::all().collect();
    let own = rows.iter().filter(|r| r.clrx.unwrap_or(r.name) == name);
    let own: Vec<_> = own.copied().collect();
    match own.is_empty() {
        true => (rows
            .iter()
            .filter(|r| r.name == name || r.aliases.contains(&name)))
        .copied()
        .collect(),
        false => own,
    }
}

/// The minimum and maximum cycles of a column's text, by the factor of double precision and with the modifier glc.
fn expected(text: &str, factor: u16) -> Option<(u16, u16)> {
    let number = |text: &str| -> u16 { text.parse().unwrap_or_else(|_| panic!("{text}")) };
    Some(match text {
        "?" => return None,
        "4|16" if factor <= 4 => (4, 4),
        "4|16" => (16, 16),
        _ => {
            if let Some(n) = text.strip_prefix("DP*") {
                (number(n) * factor, number(n) * factor)
            } else if let Some((n, more)) = text.split_once("+GLC") {
                (number(n), number(n) + number(more))
            } else if let Some((least, most)) = text.split_once('-') {
                (number(least), number(most))
            } else {
                (number(text), number(text))
            }
        }
    })
}

#[test]
fn every_line_of_the_list() {
    let mut wrong = Vec::new();
    let mut listed = BTreeSet::new();
    for line in lines() {
        let rows = rows(line.name);
        assert!(!rows.is_empty(), "{}: no such row", line.name);
        for row in rows {
            let found = issue(row);
            let known = line.cycles != "?";
            if known {
                listed.insert(insts::number(row));
            }
            for factor in [1, 2, 4, 8] {
                let cycles = found.cycles.on(factor);
                if expected(line.cycles, factor).is_some_and(|e| e != cycles) {
                    wrong.push(format!("{}: {} is not {cycles:?}", line.name, line.cycles));
                }
            }
            let throughput = line.throughput.strip_prefix("1/");
            let throughput = throughput.map(|n| n.parse::<u16>().expect("a number"));
            if throughput.is_some() && throughput != found.throughput {
                wrong.push(format!(
                    "{}: {} is not {:?}",
                    line.name, line.throughput, found.throughput
                ));
            }
        }
    }
    // Rows that the list does not have are not marked as listed.
    let by_name = [
        Format::Vop1,
        Format::Vop3,
        Format::Ds,
        Format::Mubuf,
        Format::Smem,
    ];
    for row in insts::all().filter(|row| by_name.contains(&row.format)) {
        let in_list = listed.contains(&insts::number(row));
        if issue(row).listed != in_list {
            wrong.push(format!("{}: listed is not {in_list}", row.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn whole_formats() {
    for row in insts::all() {
        let cycles = issue(row).cycles;
        let wide = |ty: &Ty| matches!(ty, Ty::F64 | Ty::I64 | Ty::U64);
        let is_wide = row.shape.slots.iter().any(|slot| wide(&slot.ty));
        let expected = match row.format {
            Format::Vopc if is_wide => Cycles::Double(4),
            Format::Sop2 | Format::Sopc | Format::Vopc | Format::Vop2 | Format::Vop3p => {
                Cycles::Fixed(4)
            }
            Format::Sopk if row.name.starts_with("s_setreg") => Cycles::Fixed(8),
            Format::Sop1 if row.name.ends_with("_saveexec_b64") => Cycles::Fixed(8),
            Format::Sopk | Format::Sop1 => Cycles::Fixed(4),
            Format::Sopp if row.name == "s_branch" => Cycles::Fixed(20),
            Format::Sopp if row.name.starts_with("s_cbranch") => Cycles::Jump(4, 20),
            _ => continue,
        };
        assert_eq!(cycles, expected, "{}", row.name);
    }
}
