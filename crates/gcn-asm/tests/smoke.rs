//! One second of the fuzzers' work: random instructions of every target, and damaged lines of the test data.

#[path = "../../../fuzz/src/lib.rs"]
mod checks;

mod common;

use checks::{bytes_round_trip, objects, text_round_trips};
use common::Random;
use gcn_asm::{Options, Syntax};
use gcn_isa::encode::Encoder;
use gcn_isa::format::layout_of;
use gcn_isa::{Field, Target, decode, insts};
use std::path::{Path, PathBuf};

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

/// Every row of every target with random operands, and random words: the printed text assembles to the same bytes.
#[test]
fn random_instructions_round_trip() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for target in Target::all() {
        let rows: Vec<_> = insts::of_target(target).collect();
        let (mut decoded, mut run) = (0, Vec::new());
        for n in 0..8_000 {
            let mut words = [random.next(), random.next()];
            if n % 2 == 0 {
                let row = rows[n / 2 % rows.len()];
                if let Some(e) = Encoder::new(row, row.format.encoding(), target)
                    && let Some(layout) = layout_of(e.encoding, target.generation())
                {
                    let mask = layout.mask | layout.field(Field::Op).set(0, u32::MAX);
                    words[0] = words[0] & !mask | e.bits & mask;
                }
            }
            if n % 8 == 0 {
                // A literal after a single dword. It is small, and so may be an inline constant.
                words[0] &= 0x0000_00ff_ffff_ffff;
            }
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&words[0].to_le_bytes());
            bytes[8..].copy_from_slice(&words[1].to_le_bytes());
            if let Some(insn) = decode(target, &bytes) {
                run.extend_from_slice(&bytes[..insn.len as usize]);
                decoded += 1;
            }
            if run.len() >= 1000 {
                assert_eq!(bytes_round_trip(target, &run, usize::MAX), run.len());
                run.clear();
            }
        }
        assert_eq!(bytes_round_trip(target, &run, usize::MAX), run.len());
        assert!(decoded > 4_000, "{}: {decoded} decode", target.name());
    }
}

/// Bytes whose text assembled to other bytes in an earlier version.
#[test]
fn bytes_that_once_went_wrong() {
    let cases: &[(&str, &[u32])] = &[
        // A literal offset that would fit in the 8 bits of the immediate one.
        ("gfx701", &[0xc080_00ff, 0xb4]),
        // OP_SEL of an interpolation in VOP3, which its text does not show.
        ("gfx902", &[0xd270_705f, 0x0002_00d2]),
    ];
    for (name, words) in cases {
        let target = Target::parse(name).unwrap();
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        assert!(decode(target, &bytes).is_some());
        assert_eq!(bytes_round_trip(target, &bytes, 1), bytes.len());
    }
}

/// The instructions of the `.gcn` files and the vectors.
fn lines() -> Vec<String> {
    let mut paths: Vec<PathBuf> = [testdata(), testdata().join("vectors")]
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let mut lines = Vec::new();
    for path in paths {
        match path.extension().and_then(|e| e.to_str()) {
            Some("gcn") => {
                let text = std::fs::read_to_string(&path).unwrap();
                let of_tests = text.lines().filter(|line| line.starts_with(' '));
                // The instruction ends where two blanks separate it from the state.
                lines.extend(
                    of_tests.filter_map(|l| l.trim().split("  ").next().map(str::to_owned)),
                );
            }
            Some("txt") => {
                let text = std::fs::read_to_string(&path).unwrap();
                let pairs = text.lines().filter_map(|line| line.split_once('\t'));
                lines.extend(pairs.map(|(_, text)| text.to_owned()));
            }
            _ => {}
        }
    }
    lines
}

/// Returns a line with up to three changes: a token taken from another line, dropped, doubled or cut, or a changed
/// number.
fn damage(random: &mut Random, line: &str, other: &str) -> String {
    let tokens = |line: &str| -> Vec<String> {
        line.split_inclusive([' ', ',', ':', '[', ']', '(', ')'])
            .map(str::to_owned)
            .collect()
    };
    let others = tokens(other);
    let mut all = tokens(line);
    for _ in 0..random.below(4) {
        if all.is_empty() {
            break;
        }
        let at = random.below(all.len());
        match random.below(6) {
            0 => all[at] = others[random.below(others.len())].clone(),
            1 => drop(all.remove(at)),
            2 => all.insert(at, all[at].clone()),
            3 => drop(all[at].pop()),
            4 => {
                let numbers = [
                    "0",
                    "-1",
                    "65",
                    "0x10000",
                    "255",
                    "1.0",
                    "0xffffffffffffffff",
                ];
                let end = all[at].pop().unwrap_or(' ');
                all[at] = format!("{}{end}", numbers[random.below(numbers.len())]);
            }
            _ => {
                let letters = b"svx09-|+[](),:. \n;";
                all[at].insert(0, char::from(letters[random.below(letters.len())]));
            }
        }
    }
    all.concat()
}

#[test]
fn damaged_lines_do_no_harm() {
    let lines = lines();
    assert!(lines.len() > 1000, "the test data is missing");
    let targets: Vec<Target> = Target::all().collect();
    let mut random = Random(7);
    for n in 0..6_000 {
        let line = &lines[random.below(lines.len())];
        let other = &lines[random.below(lines.len())];
        let text = damage(&mut random, line, other);
        let target = targets[n % targets.len()];
        let syntax = [Syntax::Auto, Syntax::Llvm, Syntax::Clrx][random.below(3)];
        text_round_trips(target, syntax, random.below(2) == 0, &text);
        if n % 8 == 0 {
            let options = Options {
                target: Some(target),
                syntax,
                ..Options::default()
            };
            objects(&text, &options);
        }
    }
}
