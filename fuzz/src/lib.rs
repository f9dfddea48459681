//! What must hold of any bytes and of any text. The fuzz targets and the smoke test of gcn-asm share it.

use gcn_asm::{Level, Options, Syntax, assemble, render, snippet};
use gcn_isa::print::{Style, print};
use gcn_isa::{Target, decode};
use gcn_object::CodeObject;

/// Short texts are read statement by statement, and long ones in a shorter way where a line is plain. This many line
/// breaks make any text a long one.
const LONG: usize = 1 << 12;

/// The instructions at the start of some bytes, at most `limit`, print in both spellings as text that assembles to
/// their bytes, each alone and all in a long text. Returns how many bytes they take.
///
/// # Panics
/// When it does not hold.
pub fn bytes_round_trip(target: Target, bytes: &[u8], limit: usize) -> usize {
    let name = target.name();
    let mut taken = 0;
    for (style, syntax) in [(Style::LLVM, Syntax::Llvm), (Style::CLRX, Syntax::Clrx)] {
        let check = |text: &str, expected: &[u8]| match snippet(target, text, syntax, true) {
            Ok(made) => assert_eq!(made, expected, "{name} {syntax:?} `{}`", text.trim_end()),
            Err(errors) => panic!(
                "{name} {syntax:?} {expected:02x?} `{}`: {}",
                text.trim_end(),
                errors[0]
            ),
        };
        let (mut at, mut all, mut text) = (0, String::new(), String::new());
        for _ in 0..limit {
            let Some(insn) = decode(target, &bytes[at..]) else {
                break;
            };
            let end = at + insn.len as usize;
            let (back, back_len) = insn.to_bytes();
            assert_eq!(&back[..back_len], &bytes[at..end], "{name}");
            text.clear();
            print(&insn, &style, &mut text);
            assert!(!text.trim().is_empty() && !text.contains('\n'), "{text:?}");
            check(&text, &bytes[at..end]);
            all.push_str(&text);
            all.push('\n');
            at = end;
        }
        if at > 0 {
            check(&long(&all), &bytes[..at]);
        }
        taken = at;
    }
    taken
}

fn long(text: &str) -> String {
    let mut long = String::with_capacity(text.len() + LONG);
    long.push_str(text);
    long.extend(std::iter::repeat_n('\n', LONG));
    long
}

/// A text either assembles or has an error, in a long text too, and what it gives prints as text that gives the same.
/// Where it has no data, all that it gives are instructions.
///
/// # Panics
/// When it does not hold.
pub fn text_round_trips(target: Target, syntax: Syntax, permissive: bool, text: &str) {
    let options = Options {
        target: Some(target),
        syntax,
        permissive,
        budget: Some(1 << 20),
        ..Options::default()
    };
    let output = assemble(text, "fuzz.s", &options);
    let failed = output.diagnostics.iter().any(|d| d.level == Level::Error);
    assert_eq!(output.object.is_none(), failed, "{text:?}");
    let in_long = assemble(&long(text), "fuzz.s", &options).object;
    assert_eq!(
        output.object.as_ref().map(|object| object.raw()),
        in_long.as_ref().map(|object| object.raw()),
        "{text:?}, and in a long text"
    );
    let Some(object) = output.object else {
        return;
    };
    // The text may name another target.
    let target = object.target;
    let Ok(bytes) = object.raw() else {
        return;
    };
    if !has_data(text) {
        let taken = bytes_round_trip(target, bytes, usize::MAX);
        assert_eq!(
            taken,
            bytes.len(),
            "{}: {:02x?} of {text:?} is not an instruction",
            target.name(),
            &bytes[taken..]
        );
    } else {
        bytes_round_trip(target, bytes, 64);
    }
}

/// What a text assembles to can be written in both forms of files, which are read as code objects.
///
/// # Panics
/// When it does not hold.
pub fn objects(text: &str, options: &Options) {
    let output = assemble(text, "fuzz.s", options);
    render(&output.diagnostics, false);
    let Some(object) = output.object else {
        return;
    };
    assert_eq!(output.listing.is_some(), options.listing);
    for file in [object.relocatable(), object.loadable()]
        .into_iter()
        .flatten()
    {
        if let Err(e) = CodeObject::parse(&file) {
            panic!("{e}: {text:?}");
        }
    }
}

/// Whether a text may give more than instructions: a `.` before a letter, or digits and a letter
/// (`.2byte`), an assignment, or `bits:`, which may make any
/// word of another.
fn has_data(text: &str) -> bool {
    let dotted = text.split('.').skip(1).any(|rest| {
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        !rest.starts_with(|c: char| !c.is_ascii_alphabetic() && c != '_')
    });
    dotted || text.contains('=') || text.contains("bits")
}
