//! Printing by plans gives the same text as the general printer.

use gcn_isa::decode::{Decoder, decode};
use gcn_isa::encode::Encoder;
use gcn_isa::format::layout_of;
use gcn_isa::plan::Plans;
use gcn_isa::print::{Style, print, print_with_label};
use gcn_isa::text::Text;
use gcn_isa::{Encoding, Field, Insn, Target, insts};

/// A target of each instruction table.
const TARGETS: [&str; 7] = [
    "gfx600", "gfx701", "gfx803", "gfx810", "gfx900", "gfx904", "gfx906",
];

fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

/// Prints an instruction with both printers and asserts that the texts are equal.
fn check(plans: &mut Plans, style: Style, insn: &Insn, label: Option<&str>) {
    let (mut expected, mut text) = (String::new(), Text::new());
    match label {
        Some(label) => print_with_label(insn, &style, label, &mut expected),
        None => print(insn, &style, &mut expected),
    }
    plans.print(insn, label, &mut text);
    let text = std::str::from_utf8(text.as_bytes()).expect("UTF-8");
    assert_eq!(text, expected, "{:?} {insn:?}", insn.target);
}

/// Some bits as compilers produce them, and some random ones.
fn operands(encoding: Encoding, target: Target, n: u32, state: &mut u64) -> u64 {
    let random = next(state);
    let Some(layout) = layout_of(encoding, target.generation()) else {
        return random;
    };
    match n % 4 {
        0 => random,
        1 => 1 << (random % 64),
        // Some fields random, the rest 0.
        2 => {
            let mut bits = 0;
            for (field, ..) in layout.fields {
                if next(state).is_multiple_of(4) {
                    bits = layout.field(*field).set(bits, next(state) as u32);
                }
            }
            bits
        }
        // Registers and constants, and the defaults of the other fields.
        _ => {
            let mut bits = 0;
            for (field, _, len) in layout.fields {
                let v = next(state) as u32;
                let value = match field {
                    Field::Src0 | Field::Src1 | Field::Src2 if *len == 9 => v & 0xff | 0x100,
                    Field::Ssrc0 | Field::Ssrc1 => v % 102,
                    Field::DstSel | Field::Src0Sel | Field::Src1Sel => 6,
                    Field::Saddr => 0x7f,
                    Field::RowMask | Field::BankMask => 15,
                    _ if *len >= 7 => v,
                    _ => 0,
                };
                bits = layout.field(*field).set(bits, value);
            }
            bits
        }
    }
}

#[test]
fn every_row_in_every_encoding() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    for name in TARGETS {
        let target = Target::parse(name).unwrap();
        for style in [Style::LLVM, Style::CLRX] {
            let mut plans = Plans::new(target, style);
            for row in insts::of_target(target) {
                let encodings = [
                    row.format.encoding(),
                    Encoding::Vop3,
                    Encoding::Vop3b,
                    Encoding::Sdwa1,
                    Encoding::Sdwa2,
                    Encoding::SdwaC,
                    Encoding::Dpp1,
                    Encoding::Dpp2,
                    Encoding::DppC,
                ];
                for encoding in encodings {
                    let Some(encoder) = Encoder::new(row, encoding, target) else {
                        continue;
                    };
                    let layout = layout_of(encoding, target.generation()).unwrap();
                    let op = layout.field(Field::Op).set(0, u32::MAX);
                    let segment = layout.field(Field::Seg).set(0, u32::MAX);
                    let name = layout.mask | op | segment;
                    for n in 0..64 {
                        let bits = operands(encoding, target, n, &mut state) & !name;
                        let bits = (bits | encoder.bits & name).to_le_bytes();
                        let mut bytes = [0; 12];
                        bytes[..8].copy_from_slice(&bits);
                        bytes[8..].copy_from_slice(&(next(&mut state) as u32).to_le_bytes());
                        if layout.bytes == 4 {
                            // Literals of all sizes.
                            let literal = (next(&mut state) as u32) >> (n % 33).min(31);
                            bytes[4..8].copy_from_slice(&literal.to_le_bytes());
                        }
                        if let Some(insn) = decode(target, &bytes) {
                            check(&mut plans, style, &insn, None);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn random_words_and_labels() {
    let mut state = 0x0123_4567_89ab_cdef;
    for name in TARGETS {
        let target = Target::parse(name).unwrap();
        let decoder = Decoder::new(target);
        for style in [Style::LLVM, Style::CLRX] {
            let mut plans = Plans::new(target, style);
            for n in 0..50_000 {
                let mut words = next(&mut state);
                if n % 8 == 0 {
                    // SOPP and SOPK, which contain the branches.
                    words |= 0xb000_0000;
                }
                let bytes = words.to_le_bytes();
                let insn = decoder.decode(&bytes);
                let skimmed = decoder.skim_dword([bytes[0], bytes[1], bytes[2], bytes[3]]);
                let Some(insn) = insn else {
                    assert_eq!(skimmed, (false, false));
                    continue;
                };
                assert_eq!(skimmed, (insn.len == 8, insn.branches()));
                let long = "a_name_".repeat(40);
                for label in [None, Some("L_4"), Some(long.as_str())] {
                    check(&mut plans, style, &insn, label);
                }
            }
        }
    }
}

/// An instruction of another target is printed correctly.
#[test]
fn plans_are_for_one_target() {
    let [old, new] = ["gfx600", "gfx900"].map(|name| Target::parse(name).unwrap());
    let mut plans = Plans::new(old, Style::LLVM);
    let insn = decode(new, &0x8002_0100u32.to_le_bytes()).unwrap();
    check(&mut plans, Style::LLVM, &insn, None);
}
