//! Hostile files and sources: each gets an answer soon, with little memory, and without a panic.

#[allow(dead_code, reason = "other tests use the rest")]
mod common;

#[path = "../../../fuzz/src/source.rs"]
mod source;

use common::{kernel, with_input};
use std::time::{Duration, Instant};

/// Generous, because the tests of a workspace share the processors; a tenth of it is expected.
const SOON: Duration = Duration::from_secs(10);

/// A source that is refused with these words and this location in the text.
#[track_caller]
fn refused(text: &str, location: &str, words: &str) {
    let start = Instant::now();
    let made = with_input(
        &["asm", "--arch", "gfx900", "-", "-o", "-"],
        text.as_bytes(),
    );
    assert_eq!(made.status, 1, "{}", made.stderr);
    assert!(
        made.stderr.contains(words) && made.stderr.contains(location),
        "{}",
        made.stderr
    );
    assert!(
        made.stderr.len() < 200_000,
        "{} bytes of messages",
        made.stderr.len()
    );
    assert!(start.elapsed() < SOON, "{words}");
}

#[test]
fn sources_that_grow() {
    let grow = "macros, repetitions and includes make more than 64 MiB of text here";
    refused(".rept 1000000000\n.endr\n", "<stdin>:1:1", grow);
    refused(
        &format!("{}y=0\n{}", ".irp x,1,2\n".repeat(40), ".endr\n".repeat(40)),
        "<stdin>:",
        grow,
    );
    let doubling: String = (0..40)
        .map(|n| format!(".macro m{n}\nm{0}\nm{0}\n.endm\n", n + 1))
        .collect();
    refused(
        &format!("{doubling}.macro m40\n.endm\nm0\n"),
        "<stdin>:",
        grow,
    );
}

#[test]
fn sections_that_grow() {
    refused(
        ".fill 1000000000, 8, 1\n",
        "<stdin>:1:1",
        "larger than 256 MiB",
    );
    let many: String = (0..20)
        .map(|n| format!(".section s{n},\"a\"\n.fill 30000000,1,1\n"))
        .collect();
    refused(
        &many,
        "<stdin>:18:1",
        "all sections together larger than 256 MiB",
    );
    let aligned: String = (0..1000)
        .map(|n| format!(".section .text.f{n},\"ax\"\n.p2align 20\ns_endpgm\n"))
        .collect();
    refused(
        &aligned,
        "",
        "with their alignments the sections are larger than 320 MiB",
    );
}

#[test]
fn messages_that_grow() {
    let chain: String = (0..100_000)
        .map(|n| format!(".set x{n},x{}\n", n + 1))
        .collect();
    refused(
        &format!(".long x0\n{chain}"),
        "<stdin>:1:7",
        "more errors are not shown",
    );
    refused(
        &"x".repeat(10_000_000),
        "<stdin>:1:1",
        "there is no instruction or directive `xxx",
    );
    let warned = format!(".irpc x,{}\n.warning \"w\"\n.endr\n", "a".repeat(100_000));
    let made = with_input(
        &["asm", "--arch", "gfx900", "-", "-o", "-"],
        warned.as_bytes(),
    );
    assert_eq!(made.status, 0);
    assert!(made.stderr.contains("99000 more warnings are not shown"));
}

#[test]
fn sections_by_name() {
    let start = Instant::now();
    let text: String = (0..100_000)
        .map(|n| format!(".section s{},\"a\"\n.byte 1\n", n % 9000))
        .collect();
    let made = with_input(
        &["asm", "-c", "--arch", "gfx900", "-", "-o", "-"],
        text.as_bytes(),
    );
    assert_eq!((made.status, made.stderr.as_str()), (0, ""));
    assert!(start.elapsed() < SOON);
}

#[test]
fn text_that_is_none() {
    let made = with_input(
        &["asm", "--arch", "gfx900", "-", "-o", "-"],
        b"s_nop 0\n \xff",
    );
    assert_eq!(made.status, 1);
    assert!(
        made.stderr
            .contains("standard input:2:2: it is not UTF-8 text: byte 0xff"),
        "{}",
        made.stderr
    );
}

/// A section with a name that the linker gives to a section of its own.
#[test]
fn a_section_named_like_a_table() {
    refused(
        ".section .dynamic,\"aw\"\n.quad 0\n",
        "",
        "section '.dynamic' has the name of one that a linker makes",
    );
}

/// Without section headers, the sections of symbols are missing.
#[test]
fn objects_without_sections() {
    let mut file = std::fs::read(kernel("vadd", "gfx900")).expect("a code object");
    file[40..48].fill(0);
    let shown = with_input(&["dis", "-"], &file);
    assert_eq!(shown.status, 1);
    assert!(
        shown.stderr.contains("no section headers"),
        "{}",
        shown.stderr
    );
    assert!(source::source(&file));
}

/// Sections that overlap would expand a small file into a large source.
#[test]
fn sections_over_each_other() {
    const COUNT: usize = 2000;
    let text = format!(
        ".fill 100000, 4, 1\n{}",
        (0..COUNT)
            .map(|n| format!(".section s{n},\"a\"\n.byte 1\n"))
            .collect::<String>()
    );
    let args = ["asm", "-c", "--arch", "gfx900", "-", "-o", "-"];
    let mut file = with_input(&args, text.as_bytes()).stdout;
    let headers = u64::from_le_bytes(file[40..48].try_into().expect("8 bytes")) as usize;
    for n in 4..COUNT {
        let header = headers + 64 * n;
        file[header + 24..header + 32].copy_from_slice(&64u64.to_le_bytes());
        file[header + 32..header + 40].copy_from_slice(&400_000u64.to_le_bytes());
    }
    let shown = with_input(&["dis", "-"], &file);
    assert_eq!(shown.status, 1);
    assert!(
        shown.stderr.contains("over the same bytes"),
        "{}",
        shown.stderr
    );
}
