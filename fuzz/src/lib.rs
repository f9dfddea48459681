//! What must hold of any bytes and of any text. The fuzz targets and the smoke test of gcn-asm share it.

use gcn_asm::{Level, Options, Syntax, assemble, snippet};
use gcn_isa::print::{Style, print};
use gcn_isa::{Target, decode};

/// The instructions at the start of some bytes, at most `limit`, each print in both spellings as text that assembles
/// to their bytes. Returns how many bytes they take.
///
/// # Panics
/// When it does not hold.
pub fn bytes_round_trip(target: Target, bytes: &[u8], limit: usize) -> usize {
    let mut at = 0;
    let mut text = String::new();
    for _ in 0..limit {
        let Some(insn) = decode(target, &bytes[at..]) else {
            break;
        };
        let len = insn.len as usize;
        let expected = &bytes[at..at + len];
        let (back, back_len) = insn.to_bytes();
        assert_eq!(&back[..back_len], expected, "{}", target.name());
        for (style, syntax) in [(Style::LLVM, Syntax::Llvm), (Style::CLRX, Syntax::Clrx)] {
            text.clear();
            print(&insn, &style, &mut text);
            let name = target.name();
            assert!(!text.trim().is_empty() && !text.contains('\n'), "{text:?}");
            match snippet(target, &text, syntax, true) {
                Ok(made) => assert_eq!(made, expected, "{name} {syntax:?} `{text}`"),
                Err(errors) => {
                    panic!("{name} {syntax:?} {expected:02x?} `{text}`: {}", errors[0])
                }
            }
        }
        at += len;
    }
    at
}

/// A text either assembles or has an error, and what it gives prints as text that gives the same. Where it has no
/// directive, which could put data between them, all that it gives are instructions.
///
/// # Panics
/// When it does not hold.
pub fn text_round_trips(target: Target, syntax: Syntax, permissive: bool, text: &str) {
    let options = Options {
        target: Some(target),
        syntax,
        permissive,
        ..Options::default()
    };
    let output = assemble(text, "fuzz.s", &options);
    let failed = output.diagnostics.iter().any(|d| d.level == Level::Error);
    assert_eq!(output.object.is_none(), failed, "{text:?}");
    let Some(object) = output.object else {
        return;
    };
    // The text may name another target.
    let target = object.target;
    let Ok(bytes) = object.raw() else {
        return;
    };
    if !has_directive(text) {
        let taken = bytes_round_trip(target, bytes, usize::MAX);
        assert_eq!(
            taken,
            bytes.len(),
            "{}: {:02x?} of {text:?} is no instruction",
            target.name(),
            &bytes[taken..]
        );
    } else {
        bytes_round_trip(target, bytes, 64);
    }
}

/// Whether a text may hold more than instructions and labels: a `.` before a letter, or an assignment.
fn has_directive(text: &str) -> bool {
    let dotted = text
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'.' && !pair[1].is_ascii_digit());
    dotted || text.contains('=')
}
