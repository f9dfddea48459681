//! Text and bytes of single instructions.

use gcn_asm::{Diagnostic, Syntax, assemble_snippet, snippet};
use gcn_isa::print::{Style, print};
use gcn_isa::{Target, decode};
use std::path::PathBuf;

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2)
        .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
        .collect()
}

fn texts(errors: &[Diagnostic]) -> String {
    errors.iter().map(|d| d.to_string()).collect::<Vec<_>>().join("\n")
}

/// What llvm-mc 14 made of its own text.
#[test]
fn vectors_of_llvm() {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/vectors");
    let (mut count, mut wrong) = (0, Vec::new());
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let Some(target) = Target::parse(&name) else { continue };
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let Some((hex, text)) = line.split_once('\t') else { continue };
            count += 1;
            match assemble_snippet(target, text, false) {
                Ok(made) if made == bytes_of(hex) => {}
                Ok(made) => wrong.push(format!("{name}: {text}: {made:02x?}, not {hex}")),
                Err(errors) => wrong.push(format!("{name}: {text}: {}", texts(&errors))),
            }
        }
    }
    assert!(count > 1000, "the vectors are missing");
    wrong.sort();
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong[..wrong.len().min(60)].join("\n"));
}

/// A small generator of random numbers (xorshift64*), the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// Whatever decodes, prints in both spellings as text that assembles to the same bytes.
#[test]
fn printed_text_assembles_to_the_same_bytes() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let mut wrong = Vec::new();
    for target in ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"] {
        let target = Target::parse(target).unwrap();
        let rows: Vec<_> = gcn_isa::insts::of_target(target).collect();
        for n in 0..60_000 {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&random.next().to_le_bytes());
            bytes[8..].copy_from_slice(&random.next().to_le_bytes());
            if n % 2 == 0 {
                // A row's own bits, so that every row has its turn.
                let row = rows[n / 2 % rows.len()];
                if let Some(e) = gcn_isa::encode::Encoder::new(row, row.format.encoding(), target) {
                    let layout = gcn_isa::format::layout_of(e.encoding, target.generation()).unwrap();
                    let op = layout.field(gcn_isa::Field::Op);
                    let mask = layout.mask | op.set(0, u32::MAX);
                    let mut random = u64::from_le_bytes(bytes[..8].try_into().unwrap());
                    random = random & !mask | e.bits & mask;
                    bytes[..8].copy_from_slice(&random.to_le_bytes());
                }
            }
            let Some(insn) = decode(target, &bytes) else { continue };
            for (style, syntax) in [(Style::LLVM, Syntax::Llvm), (Style::CLRX, Syntax::Clrx)] {
                let mut text = String::new();
                print(&insn, &style, &mut text);
                let expected = &bytes[..insn.len as usize];
                match snippet(target, &text, syntax, true) {
                    Ok(made) if made == expected => {}
                    Ok(made) => wrong.push(format!(
                        "{}: {syntax:?}: {text}: {made:02x?}, not {expected:02x?}",
                        target.name()
                    )),
                    Err(e) => wrong.push(format!("{}: {syntax:?}: {text}: {}", target.name(), texts(&e))),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong[..wrong.len().min(60)].join("\n"));
}
