//! Properties of every row.

use gcn_isa::decode::decode;
use gcn_isa::encode::Encoder;
use gcn_isa::format::layout_of;
use gcn_isa::meaning::meaning;
use gcn_isa::print::{Style, print};
use gcn_isa::{Encoding, Field, Format, Gen, Target, insts};

/// One target for each instruction table.
fn targets() -> Vec<Target> {
    [
        "gfx600", "gfx701", "gfx803", "gfx810", "gfx900", "gfx904", "gfx906",
    ]
    .iter()
    .map(|name| Target::parse(name).unwrap())
    .collect()
}

#[test]
fn every_meaning_can_be_written_and_says_what_it_is_about() {
    for target in targets() {
        for row in insts::of_target(target) {
            let program = meaning(row, target);
            assert!(!program.about.is_empty(), "{}: no m.about(…)", row.name);
            assert!(
                program.nodes.len() < 4096,
                "{}: {} nodes",
                row.name,
                program.nodes.len()
            );
        }
    }
}

#[test]
fn every_row_is_found_by_each_of_its_names() {
    for row in insts::all() {
        for name in [row.name].iter().chain(&row.clrx).chain(row.aliases) {
            assert!(
                insts::by_name(name).any(|found| std::ptr::eq(found, row)),
                "{name} does not find its row"
            );
            assert_eq!(
                *name,
                name.to_lowercase(),
                "mnemonics are kept in lower case"
            );
        }
    }
    assert_eq!(insts::by_name("s_add_u33").count(), 0);
}

#[test]
fn every_row_decodes_from_its_own_opcode() {
    for target in targets() {
        for row in insts::of_target(target) {
            let mut encodings = vec![row.format.encoding()];
            let promoted = row.format != Format::Vop3 && row.has_vop3();
            if promoted && row.format.vop3_offset(target.generation()).is_some() {
                encodings.push(Encoding::Vop3);
            }
            for encoding in encodings {
                let encoding = match encoding {
                    Encoding::Vop3 if row.shape.is_vop3b() => Encoding::Vop3b,
                    other => other,
                };
                let encoder = Encoder::new(row, encoding, target)
                    .unwrap_or_else(|| panic!("{} has no {encoding:?} in {target:?}", row.name));
                let (mut bytes, _) = encoder.bytes();
                bytes[8..].fill(0);
                let insn = decode(target, &bytes)
                    .unwrap_or_else(|| panic!("{} does not decode in {target:?}", row.name));
                assert!(
                    std::ptr::eq(insn.row, row),
                    "{} decodes as {}",
                    row.name,
                    insn.row.name
                );
                assert_eq!(insn.encoding, encoding);
                let mut text = String::new();
                print(&insn, &Style::LLVM, &mut text);
                assert!(text.starts_with(row.name), "{text}");
            }
        }
    }
}

#[test]
fn the_fields_of_a_layout_do_not_overlap() {
    for generation in Gen::ALL {
        for format in Format::ALL {
            let Some(layout) = layout_of(format.encoding(), generation) else {
                continue;
            };
            let mut seen = layout.mask;
            for &(field, lo, len) in layout.fields {
                let bits = ((1u64 << len) - 1) << lo;
                assert_eq!(seen & bits, 0, "{field:?} of {format:?} in {generation:?}");
                seen |= bits;
                assert!(lo as u32 + len as u32 <= layout.bytes as u32 * 8);
            }
            assert!(layout.field(Field::Op).len != 0 || format == Format::Exp);
        }
    }
}

/// Each row has a description and effects; only the rows that do nothing have no effects.
#[test]
fn every_row_has_a_meaning() {
    for target in Target::all() {
        for row in insts::all().filter(|row| insts::exists(row, target)) {
            let program = meaning(row, target);
            let acts = program.nodes.iter().any(|node| node.op.acts());
            let nop = row.name.contains("nop");
            assert!(acts || nop || !program.effects.is_empty(), "{}", row.name);
            assert!(!program.about.is_empty(), "{}", row.name);
        }
    }
}

#[test]
fn every_cited_erratum_is_written() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/errata.md");
    let errata = std::fs::read_to_string(path).expect("docs/errata.md");
    for row in insts::all() {
        for key in row.errata {
            let heading = |line: &str| {
                line.strip_prefix('#')
                    .is_some_and(|rest| rest.trim_start_matches('#').trim() == *key)
            };
            assert!(
                errata.lines().any(heading),
                "{}: docs/errata.md has no entry {key}",
                row.name
            );
        }
    }
}

#[test]
fn bytes_that_are_cut_short_are_no_instruction() {
    let target = Target::parse("gfx803").unwrap();
    assert!(decode(target, &[]).is_none());
    assert!(decode(target, &[0, 1, 2]).is_none());
    // s_add_u32 s2, s0, <literal>, without the literal.
    assert!(decode(target, &0x8002_ff00u32.to_le_bytes()).is_none());
}

/// Printing never panics and the text is short, for any bits.
#[test]
fn random_words_print() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut text = String::new();
    for target in targets() {
        for _ in 0..200_000 {
            let mut bytes = [0u8; 12];
            bytes[..8].copy_from_slice(&next().to_le_bytes());
            bytes[8..].copy_from_slice(&(next() as u32).to_le_bytes());
            if let Some(insn) = decode(target, &bytes) {
                for style in [Style::LLVM, Style::CLRX] {
                    text.clear();
                    print(&insn, &style, &mut text);
                    assert!(!text.is_empty() && text.len() < 300, "{text}");
                }
                let (back, len) = insn.to_bytes();
                assert_eq!(&back[..len], &bytes[..len]);
            }
        }
    }
}
