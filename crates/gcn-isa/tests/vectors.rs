//! Bytes to text, against vectors that llvm-mc 14 wrote (testdata/vectors, `cargo xtask vectors`).

use gcn_isa::decode::decode;
use gcn_isa::print::{Style, print};
use gcn_isa::{Gen, Target};

fn vectors(target: &str) -> Vec<(Vec<u8>, String)> {
    let path = format!(
        "{}/../../testdata/vectors/{target}.txt",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let parse = |line: &str| {
        let (hex, text) = line.split_once('\t').expect("bytes, a tab, text");
        let bytes = (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect();
        (bytes, text.to_owned())
    };
    text.lines().map(parse).collect()
}

#[test]
fn text_is_llvms() {
    for name in ["gfx803", "gfx900", "gfx906"] {
        let target = Target::parse(name).unwrap();
        let vectors = vectors(name);
        assert!(vectors.len() > 2000, "{name}: the vectors are gone");
        for (bytes, expected) in vectors {
            let insn = decode(target, &bytes)
                .unwrap_or_else(|| panic!("{name}: {bytes:02x?} {expected} does not decode"));
            assert_eq!(insn.len as usize, bytes.len(), "{expected}");
            let mut text = String::new();
            print(&insn, &Style::LLVM, &mut text);
            assert_eq!(text, expected, "{name}: {bytes:02x?}");
        }
    }
}

/// LLVM has no disassembler for gfx6 and gfx7: the vectors are texts that it assembles, and only the mnemonic and the absence of
/// hidden bits can be required.
#[test]
fn gfx6_and_gfx7_decode_what_llvm_assembles() {
    for name in ["gfx600", "gfx701"] {
        let target = Target::parse(name).unwrap();
        assert!(target.generation() < Gen::Gfx8);
        let vectors = vectors(name);
        assert!(vectors.len() > 1500, "{name}: the vectors are gone");
        for (bytes, expected) in vectors {
            let insn = decode(target, &bytes)
                .unwrap_or_else(|| panic!("{name}: {bytes:02x?} {expected} does not decode"));
            assert_eq!(insn.len as usize, bytes.len(), "{expected}");
            let mut text = String::new();
            print(&insn, &Style::LLVM, &mut text);
            // An instruction that exists only in VOP3 on gfx8 may be VOP2 here, and then has a suffix.
            let mnemonic = |t: &str| {
                let name = t.split(' ').next().unwrap_or("");
                let stem = name.strip_suffix("_e32").or(name.strip_suffix("_e64"));
                stem.unwrap_or(name).to_owned()
            };
            assert_eq!(mnemonic(&text), mnemonic(&expected), "{name}: {bytes:02x?}");
            assert!(!text.contains("bits:"), "{name}: {text} for {expected}");
        }
    }
}
