//! Macros, repetitions, conditions and includes: each text gives the same bytes as the plain text beside it, and as
//! llvm-mc, if llvm-mc has the directives.

use expect_test::{Expect, expect};
use gcn_asm::{Options, Output, Syntax, assemble, render};
use gcn_isa::Target;
use std::path::PathBuf;
use std::process::Command;

fn options() -> Options {
    Options {
        target: Target::parse("gfx900"),
        ..Options::default()
    }
}

fn bytes(source: &str, options: &Options) -> Vec<u8> {
    let output = assemble(source, "a.s", options);
    let messages = render(&output.diagnostics, false);
    let object = output.object.unwrap_or_else(|| panic!("{messages}"));
    assert_eq!(messages, "");
    let raw = object.into_raw().expect("complete without a linker");
    raw.into_vec()
}

/// Returns llvm-mc's bytes for a text; `None` if llvm-mc is missing.
fn llvm(source: &str) -> Option<Vec<u8>> {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let n = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let base = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("language-{n}"));
    let (text, object) = (base.with_extension("s"), base.with_extension("o"));
    std::fs::write(&text, source).unwrap();
    let run = Command::new("llvm-mc-14")
        .args([
            "--triple=amdgcn-amd-amdhsa",
            "-mcpu=gfx900",
            "-filetype=obj",
        ])
        .arg(&text)
        .arg("-o")
        .arg(&object)
        .output();
    let Ok(run) = run else {
        eprintln!("SKIPPED: llvm-mc-14 is not installed, its bytes were not compared");
        return None;
    };
    assert!(
        run.status.success(),
        "llvm-mc: {}\n{source}",
        String::from_utf8_lossy(&run.stderr)
    );
    let object = std::fs::read(object).unwrap();
    let object = gcn_object::CodeObject::parse(&object).unwrap();
    let text = object.sections.iter().position(|s| s.name == ".text");
    Some(object.section_data(text.unwrap()).to_vec())
}

/// For directives that LLVM has, too.
fn same(source: &str, plain: &str) {
    let made = bytes(source, &options());
    assert_eq!(made, bytes(plain, &options()), "{source}");
    if let Some(theirs) = llvm(source) {
        assert_eq!(made, theirs, "{source}");
    }
}

/// For directives that LLVM lacks.
fn same_here(source: &str, plain: &str) {
    assert_eq!(
        bytes(source, &options()),
        bytes(plain, &options()),
        "{source}"
    );
}

fn messages(source: &str, expected: Expect) {
    let output = assemble(source, "a.s", &options());
    expected.assert_eq(&render(&output.diagnostics, false));
}

#[test]
fn macros() {
    same(
        ".macro two a, b\n s_nop \\a\n s_nop \\b\n.endm\ntwo 1, 2\ntwo 3 4\ntwo b=5, a=6\n",
        "s_nop 1\ns_nop 2\ns_nop 3\ns_nop 4\ns_nop 6\ns_nop 5\n",
    );
    // Defaults, required parameters, text in quotes, an expression with blanks.
    same(
        ".macro m a:req, b=7, c=\"v3\"\n v_add_u32 \\c, \\a, v\\b\n.endm\n\
         m v1\nm v2, 5\nm v1 + 0 - 0, 1, v9\nm v1, , v8\n"
            .replace("v1 + 0 - 0", "v[1 + 0 - 0]")
            .as_str(),
        "v_add_u32 v3, v1, v7\nv_add_u32 v3, v2, v5\nv_add_u32 v9, v1, v1\nv_add_u32 v8, v1, v7\n",
    );
    // The remaining arguments.
    same(
        ".macro each first, rest:vararg\n s_nop \\first\n .ifnb \\rest\n each \\rest\n .endif\n.endm\n\
         each 1, 2, 3\n",
        "s_nop 1\ns_nop 2\ns_nop 3\n",
    );
    // `\@` counts the calls, `\()` separates a name from the following text.
    same(
        ".macro l r\n.Ll\\@_\\r\\()x:\n s_branch .Ll\\@_\\r\\()x\n v_mov_b32 v\\r\\()0, 0\n.endm\nl 1\nl 2\n",
        "a: s_branch a\nv_mov_b32 v10, 0\nb: s_branch b\nv_mov_b32 v20, 0\n",
    );
    // A macro that defines a macro, and one that overrides the instruction of its name.
    same(
        ".macro outer n\n.macro inner\\n a\n s_nop \\n + \\a\n.endm\n.endm\nouter 3\ninner3 4\n",
        "s_nop 7\n",
    );
    same(
        "s_nop 1\n.macro s_nop n\n s_sleep \\n\n.endm\ns_nop 2\n.purgem s_nop\ns_nop 3\n",
        "s_nop 1\ns_sleep 2\ns_nop 3\n",
    );
    same(
        ".macro m n\n s_nop \\n\n .if \\n > 1\n .exitm\n .endif\n s_sleep \\n\n.endm\nm 1\nm 2\ns_endpgm\n",
        "s_nop 1\ns_sleep 1\ns_nop 2\ns_endpgm\n",
    );
    // Numeric labels belong to each call.
    same(
        ".macro spin\n1: s_sleep 1\n s_cbranch_scc0 1b\n.endm\nspin\nspin\n",
        "a: s_sleep 1\ns_cbranch_scc0 a\nb: s_sleep 1\ns_cbranch_scc0 b\n",
    );
    // Parameters in strings, and names that are not parameters.
    same(
        ".macro s text\n.ascii \"<\\text>\"\n.endm\ns abc\n",
        ".ascii \"<abc>\"\n",
    );
    // The end of a body is found although it contains comments and strings.
    same(
        ".macro c a // .endm\n s_nop \\a /* .endm\n .endm */\n .ascii \".endm\"\n.endm\nc 5\n",
        "s_nop 5\n.ascii \".endm\"\n",
    );
}

#[test]
fn repetitions() {
    same(".rept 3\ns_nop 1\n.endr\n", "s_nop 1\ns_nop 1\ns_nop 1\n");
    same(
        "x = 0\n.rept 3\n.rept 2\ns_nop x\nx = x + 1\n.endr\n.endr\n",
        "s_nop 0\ns_nop 1\ns_nop 2\ns_nop 3\ns_nop 4\ns_nop 5\n",
    );
    same(".rept 0\ns_nop 1\n.endr\ns_nop 2\n", "s_nop 2\n");
    same(
        ".irp r, 1, 2 , v3\nv_mov_b32 v0, \\r\n.endr\n",
        "v_mov_b32 v0, 1\nv_mov_b32 v0, 2\nv_mov_b32 v0, v3\n",
    );
    same(
        ".irpc c, 123\nv_mov_b32 v\\c, s\\c\n.endr\n",
        "v_mov_b32 v1, s1\nv_mov_b32 v2, s2\nv_mov_b32 v3, s3\n",
    );
    same(
        ".macro m n\n.rept \\n\n.irp x, 1, 2\ns_nop \\x\n.endr\n.endr\n.endm\nm 2\n",
        "s_nop 1\ns_nop 2\ns_nop 1\ns_nop 2\n",
    );
    same_here(
        ".for i = 0, i < 3, i + 1\nv_mov_b32 v[i], i\n.endr\n",
        "v_mov_b32 v0, 0\nv_mov_b32 v1, 1\nv_mov_b32 v2, 2\n",
    );
    same_here(
        "x = 8\n.while x > 1\ns_nop x\nx = x / 2\n.endr\n.while x == 0\n.endr\n",
        "s_nop 8\ns_nop 4\ns_nop 2\n",
    );
    same_here(
        ".for i=0, i<2, i+1\n.for j=0, j<2, j+1\ns_nop i*2+j\n.endr\n.endr\n",
        "s_nop 0\ns_nop 1\ns_nop 2\ns_nop 3\n",
    );
    // Long enough that plain lines take the fast path.
    let lines = "v_add_f32_e32 v0, v1, v2\ns_branch end\n".repeat(200);
    same(
        &format!(".rept 7\n{lines}.endr\nend:\n"),
        &format!("{}end:\n", lines.repeat(7)),
    );
}

#[test]
fn conditions() {
    let chosen = |condition: &str, expected: bool| {
        let source = format!("x = 3\ny:\n{condition}\ns_nop 1\n.else\ns_nop 2\n.endif\n");
        let n = if expected { 1 } else { 2 };
        same(&source, &format!("s_nop {n}\n"));
    };
    for (condition, expected) in [
        (".if x", true),
        (".if x == 4", false),
        (".ifne x - 3", false),
        (".ifeq x - 3", true),
        (".ifge x - 3", true),
        (".ifgt x - 3", false),
        (".ifle x - 3", true),
        (".iflt x - 4", true),
        (".ifdef x", true),
        (".ifdef y", true),
        (".ifdef z", false),
        (".ifndef z", true),
        (".ifnotdef x", false),
        (".ifb", true),
        (".ifb a", false),
        (".ifnb a", true),
        (".ifc a b, a b", true),
        (".ifc a, b", false),
        (".ifnc a, b", true),
        (".ifeqs \"a\", \"a\"", true),
        (".ifnes \"a\", \"a\"", false),
        (".if . - y == 0", true),
    ] {
        chosen(condition, expected);
    }
    same(
        "x = 2\n.if x == 1\ns_nop 1\n.elseif x == 2\ns_nop 2\n.if 0\ns_nop 9\n.else\ns_nop 3\n.endif\n\
         .elseif x == 2\ns_nop 4\n.else\ns_nop 5\n.endif\n",
        "s_nop 2\ns_nop 3\n",
    );
    // Skipped text is not read, but its conditions are counted.
    same_here(
        ".if 0\nnonsense 0x @ ' \n.if 1\n.else\n.endif\n.macro m\n.endm\n.else\ns_nop 1\n.endif\n",
        "s_nop 1\n",
    );
    let clrx = Options {
        syntax: Syntax::Clrx,
        ..options()
    };
    let source = ".ifarch gcn1.4\ns_nop 1\n.endif; .ifgpu gfx803; s_nop 2; .elseifgpu vega10; s_nop 3; .endif\n";
    assert_eq!(
        bytes(source, &clrx),
        bytes("s_nop 1\ns_nop 3\n", &options())
    );
}

/// The byte order mark that editors put before the text is ignored.
#[test]
fn a_byte_order_mark() {
    same_here("\u{feff}s_nop 1\n", "s_nop 1\n");
    let long = "s_nop 2\n".repeat(2000);
    same_here(&format!("\u{feff}{long}"), &long);
}

#[test]
fn defines() {
    let with = Options {
        defines: vec![("N".into(), 5), ("M".into(), -1)],
        ..options()
    };
    assert_eq!(
        bytes(".ifdef N\ns_nop N\n.endif\nv_mov_b32 v0, M\n", &with),
        bytes("s_nop 5\nv_mov_b32 v0, -1\n", &options())
    );
}

#[test]
fn files() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("language-files");
    let inner = folder.join("inner");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::write(folder.join("a.inc"), ".include \"b.inc\"\nN = 4\n").unwrap();
    // Found beside the file that includes it.
    std::fs::write(folder.join("b.inc"), ".macro m\n s_nop N\n.endm\n").unwrap();
    std::fs::write(inner.join("data.bin"), [1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    std::fs::write(folder.join("bad.inc"), "s_nop 1\n\ns_nopp 2\n").unwrap();
    let with = Options {
        files: Some(vec![folder.clone(), inner]),
        ..options()
    };
    let source = ".include \"a.inc\"\nm\n.incbin \"data.bin\"\n.incbin \"data.bin\", 4\n.incbin \"data.bin\", 2, 4\n";
    let mut expected = bytes("s_nop 4\n", &options());
    expected.extend([1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8, 3, 4, 5, 6]);
    assert_eq!(bytes(source, &with), expected);

    let text = |output: Output| {
        let shown = render(&output.diagnostics, false);
        shown.replace(&format!("{}/", folder.display()), "")
    };
    expect![[r#"
        error: there is no instruction or directive `s_nopp`
         --> bad.inc:3:1
          |
        3 | s_nopp 2
          | ^^^^^^
          |
          = help: did you mean `s_nop`?
        note: bad.inc is included here
         --> a.s:2:1
          |
        2 | .include "bad.inc"
          | ^^^^^^^^^^^^^^^^^^
    "#]]
    .assert_eq(&text(assemble(
        "s_nop 0\n.include \"bad.inc\"\n",
        "a.s",
        &with,
    )));
    // Without folders no file is read.
    expect![[r#"
        error: files may not be read here
         --> a.s:1:10
          |
        1 | .include "bad.inc"
          |          ^^^^^^^^^
    "#]]
    .assert_eq(&text(assemble(".include \"bad.inc\"\n", "a.s", &options())));
    expect![[r#"
        error: there is no file no.bin
         --> a.s:1:9
          |
        1 | .incbin "no.bin"
          |         ^^^^^^^^
          |
          = help: it is searched for in the current folder, in the folders of -I, and beside this file
    "#]]
    .assert_eq(&text(assemble(".incbin \"no.bin\"\n", "a.s", &with)));
}

#[test]
fn messages_point_through_macros() {
    messages(
        ".macro inner r\n  v_mov_b32 v0, \\r\n.endm\n.macro outer r\n  inner \\r\n.endm\ns_nop 0\nouter s500\n",
        expect![[r#"
            error: gfx900 has s0 to s101
             --> a.s:2:17
              |
            2 |   v_mov_b32 v0, s500
              |                 ^^^^
              |
            note: in the expansion of macro `inner` here
             --> a.s:5:3
              |
            5 |   inner s500
              |   ^^^^^^^^^^
            note: in the expansion of macro `outer` here
             --> a.s:8:1
              |
            8 | outer s500
              | ^^^^^^^^^^
        "#]],
    );
    messages(
        "\n.irp x, 1, 70000\n  s_nop 0\n  s_nop \\x\n.endr\n",
        expect![[r#"
            error: expected a number from -32768 to 65535
             --> a.s:4:9
              |
            4 |   s_nop 70000
              |         ^^^^^
              |
              = help: it is s_nop imm (SOPP)
            note: in the expansion of .irp here
             --> a.s:2:1
              |
            2 | .irp x, 1, 70000
              | ^^^^^^^^^^^^^^^^
        "#]],
    );
    messages(
        ".macro m a:req, b\n.endm\nm\nm 1, 2, 3\nm c=1\nm a=1, 2\n.purgem x\n.macro m\n.endm\n",
        expect![[r#"
            error: macro `m` must be given its parameter `a`
             --> a.s:3:1
              |
            3 | m
              | ^
            error: macro `m` takes 2 arguments
             --> a.s:4:9
              |
            4 | m 1, 2, 3
              |         ^
            error: macro `m` has no parameter `c`
             --> a.s:5:3
              |
            5 | m c=1
              |   ^
            error: expected `name=value`: the arguments before this are given by name
             --> a.s:6:8
              |
            6 | m a=1, 2
              |        ^
            error: there is no macro `x`
             --> a.s:7:9
              |
            7 | .purgem x
              |         ^
            error: there is a macro `m` already
             --> a.s:8:8
              |
            8 | .macro m
              |        ^
              |
              = help: `.purgem` forgets it
        "#]],
    );
    messages(
        "l:\n.macro m\nl: s_nop 0\n.endm\nm\n.if x\n.elseif\n.endif\n.endif\n.exitm\n.endm\n.endr\n.rept -1\n.endr\n.if 1\n",
        expect![[r#"
            error: 'l' is defined twice
             --> a.s:3:1
              |
            3 | l: s_nop 0
              | ^
              |
              = help: it is defined in line 1 already
            note: in the expansion of macro `m` here
             --> a.s:5:1
              |
            5 | m
              | ^
            error: expected a value that is known here: 'x' is not defined before
             --> a.s:6:5
              |
            6 | .if x
              |     ^
            error: expected an expression, found the end of the statement
             --> a.s:7:8
              |
            7 | .elseif
              |        ^
            error: expected an .if before .endif
             --> a.s:9:1
              |
            9 | .endif
              | ^^^^^^
            error: expected to be in a macro
              --> a.s:10:1
               |
            10 | .exitm
               | ^^^^^^
            error: expected a .macro before this
              --> a.s:11:1
               |
            11 | .endm
               | ^^^^^
            error: expected .rept, .irp, .irpc, .for or .while before this
              --> a.s:12:1
               |
            12 | .endr
               | ^^^^^
            error: expected a count of 0 or more
              --> a.s:13:7
               |
            13 | .rept -1
               |       ^
            error: expected .endif: this condition has no end
              --> a.s:15:1
               |
            15 | .if 1
               | ^^^
        "#]],
    );
}

#[test]
fn texts_that_would_never_end() {
    for source in [
        ".macro m\nm\n.endm\nm\n",
        ".macro m\nm\nm\n.endm\nm\n",
        ".macro m x:vararg\nm \\x, \\x\n.endm\nm 1\n",
        ".rept 1000000000000\ns_nop 0\n.endr\n",
        ".rept 100000\n.rept 100000\ns_nop 0\n.endr\n.endr\n",
        ".while 1\n.endr\n",
        ".for i=0, 1, i\n.endr\n",
        ".irpc a, aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n.rept 1000000000\n.endr\n.endr\n",
    ] {
        let limited = Options {
            budget: Some(1 << 22),
            ..options()
        };
        let output = assemble(source, "a.s", &limited);
        assert!(output.object.is_none(), "{source}");
        let errors = output.diagnostics.len();
        assert!((1..=2).contains(&errors), "{source}: {errors} errors");
        let message = &output.diagnostics[0].message;
        let told = message.contains("macros, repetitions and includes")
            || message.contains("this statement is too long");
        assert!(told, "{message}");
    }
}

#[test]
fn listing() {
    let with = Options {
        listing: true,
        ..options()
    };
    let source = "// a comment\n.macro two n\n  s_nop \\n\n  v_mov_b32 v0, 0x1234\n.endm\nstart:\n  two 1\n.rept 2\n  s_branch start\n.endr\n.data\n.long start - start, 5, 6\n.ascii \"0123456789012345678901234567890123456789012345678901234567890123456789\"\n\n// the end\n";
    let output = assemble(source, "a.s", &with);
    expect![[r#"
                                        ; section .text
               1                          // a comment
               2                          .macro two n
               3                            s_nop \n
               4                            v_mov_b32 v0, 0x1234
               5                          .endm
               6                          start:
               7                            two 1
        +      3 000000 010080bf            s_nop 1
        +      4 000004 ff02007e34120000    v_mov_b32 v0, 0x1234
               8                          .rept 2
               9                            s_branch start
              10                          .endr
        +      9 00000c fcff82bf            s_branch start
        +      9 000010 fbff82bf
                                        ; section .data
              11                          .data
              12 000000 0000000005000000  .long start - start, 5, 6
              12 000008 06000000
              13 00000c 3031323334353637  .ascii "0123456789012345678901234567890123456789012345678901234567890123456789"
              13 000014 3839303132333435
              13 00001c 3637383930313233
              13 000024 3435363738393031
              13 00002c 3233343536373839
              13 000034 3031323334353637
              13 00003c 3839303132333435
              13 000044 3637383930313233
                 00004c … 6 bytes more
              14
              15                          // the end
    "#]].assert_eq(&output.listing.expect("asked for"));
}

#[test]
fn data() {
    same(
        ".byte 1\n.dc.b 2\n.2byte 3\n.dc.w 4\n.4byte 5\n.dc.l 6\n.8byte 7\n.float .5\n",
        ".byte 1, 2\n.short 3, 4\n.long 5, 6\n.quad 7\n.float 0.5\n",
    );
}

/// Local zeros are in `.bss`, and `.reloc` adds a relocation to existing bytes.
#[test]
fn common_symbols_and_relocations_by_name() {
    let source = ".local a\n.comm a,4,2\n.lcomm b,16,4\n.comm c,8,3\n.byte 0,0,0,0,0,0,0,0\n\
                  .reloc 4, R_AMDGPU_ABS32, c+4\n.reloc 0, R_AMDGPU_NONE\n";
    let object = assemble(source, "a.s", &options()).object.unwrap();
    let object = gcn_object::CodeObject::parse(&object.relocatable().unwrap()).unwrap();
    let symbols: Vec<String> = object.symbols[1..]
        .iter()
        .map(|s| format!("{} {:#x} {} {:?}", s.name, s.address, s.size, s.binding))
        .collect();
    assert_eq!(
        symbols,
        ["a 0x0 4 Local", "b 0x10 16 Local", "c 0x8 8 Global"]
    );
    let relocations: Vec<String> = (object.relocations.iter())
        .map(|r| {
            format!(
                "{:#x} {} {:?} {}",
                r.offset,
                r.kind.name(),
                r.symbol,
                r.addend
            )
        })
        .collect();
    assert_eq!(
        relocations,
        ["0x4 R_AMDGPU_ABS32 Some(3) 4", "0x0 R_AMDGPU_NONE None 0"]
    );
    messages(
        ".reloc 100, R_AMDGPU_ABS64, a\n.reloc 0, R_FOO, a\n.reloc b, R_AMDGPU_ABS32\n",
        expect![[r#"
            error: R_AMDGPU_ABS64 at 0x64 is not within the 0 bytes of the section
             --> a.s:1:27
              |
            1 | .reloc 100, R_AMDGPU_ABS64, a
              |                           ^^^
            error: there is no relocation `R_FOO`
             --> a.s:2:11
              |
            2 | .reloc 0, R_FOO, a
              |           ^^^^^
              |
              = help: their names are R_AMDGPU_ABS64, R_AMDGPU_REL32_LO, …
            error: expected an offset that is known here
             --> a.s:3:8
              |
            3 | .reloc b, R_AMDGPU_ABS32
              |        ^
        "#]],
    );
}

/// Idioms of handwritten kernels for allocating registers and wrapping instructions: symbols and macros whose
/// names begin with a dot, empty defaults, guards, ranges of registers by symbols.
#[test]
fn registers_by_name() {
    same(
        "
.set .NEXT_V, 0
.set .NEXT_S, 0
.macro .CHECK n=0
    .if (.NEXT_V + \\n) > 256
        .error \"out of VGPRs\"
        .end
    .endif
.endm
.macro .V name, n=1
    .CHECK \\n
    .set \\name, .NEXT_V
    .set .NEXT_V, .NEXT_V + \\n
.endm
.macro .S name, n=1, align=0
    .if \\align > 0
        .set __align, \\align
    .elseif \\n > 4
        .set __align, 4
    .else
        .set __align, \\n
    .endif
    .if .NEXT_S % __align != 0
        .error \"unaligned\"
    .endif
    .set \\name, .NEXT_S
    .set .NEXT_S, .NEXT_S + \\n
.endm
.macro .ONCE name, n=1
    .ifndef __guard_\\name
        __guard_\\name = 0
    .endif
    .if __guard_\\name == 0
        __guard_\\name = 1
        .S \\name, \\n
    .endif
.endm
.macro .FROM where
    .set .NEXT_V, \\where
.endm
.macro default symbol, value
    .ifnotdef \\symbol
        \\symbol = \\value
    .endif
.endm
.macro assert holds
    .if !\\holds
        .error \"\\holds is false\"
        .end
    .endif
.endm
.macro add dst, src0, src1, dpp=
    .if (.amdgcn.gfx_generation_number == 8)
        v_add_u32 \\dst, vcc, \\src0, \\src1 \\dpp
    .else
        v_add_u32 \\dst, \\src0, \\src1 \\dpp
    .endif
.endm
default SIZE, 17
assert (SIZE >= 16 && SIZE <= 32)
.S desc, 4
.S ptr, 2
.ONCE count
.ONCE count
.V acc, 2
.FROM ((.NEXT_V / 8) + 1) * 8
.V tid
s_load_dwordx4 s[desc:desc+3], s[ptr:ptr+1], 0x0 + 8
i = 0
.rept 2
    add v[acc+i], v[tid], v[acc+i] row_shr:1
    add v[acc+i], s[count], v[acc+i]
    i = i + 1
.endr
v_mov_b32 v[acc], ((1 << SIZE) - 1)
",
        "
s_load_dwordx4 s[0:3], s[4:5], 0x8
v_add_u32_dpp v0, v8, v0 row_shr:1
v_add_u32 v0, s6, v0
v_add_u32_dpp v1, v8, v1 row_shr:1
v_add_u32 v1, s6, v1
v_mov_b32 v0, 0x1ffff
",
    );
}

/// The functions of numbers that clang 22 writes; the values are llvm-mc 22's.
#[test]
fn functions_of_numbers() {
    for (text, value) in [
        ("max(1, 5, 3)", 5),
        ("max(-5, 3)", 3),
        ("max (1)", 1),
        ("or(1, 6, 8)", 15),
        ("alignto(13, 8)", 16),
        ("alignto(-3, 8)", 0),
        ("totalnumvgprs(5, 7)", 7),
        ("totalnumvgprs(9, 7)", 9),
        ("extrasgprs(1, 0, 0)", 2),
        ("extrasgprs(1, 1, 0)", 6),
        ("extrasgprs(0, 0, 1)", 4),
        ("extrasgprs(0, 1, 1)", 6),
        ("extrasgprs(5, 7, 9)", 6),
        ("extrasgprs(0, 0, 0)", 0),
        ("occupancy(10, 4, 256, 8, 10, 0, 0)", 10),
        ("occupancy(10, 4, 256, 8, 10, 81, 0)", 9),
        ("occupancy(10, 4, 256, 8, 10, 90, 0)", 8),
        ("occupancy(10, 4, 256, 8, 10, 101, 0)", 7),
        ("occupancy(10, 4, 256, 8, 10, 90, 40)", 6),
        ("occupancy(10, 4, 256, 5, 10, 60, 25)", 8),
        ("occupancy(10, 4, 256, 5, 10, 81, 0)", 5),
        ("occupancy(10, 4, 256, 8, 8, 200, 200)", 1),
        ("occupancy(10, 4, 256, 8, 10, 0, 300)", 1),
        ("or(max(1, 2), 4)|alignto(1, 16)", 22),
        ("max(later, 3)", 9),
        ("1+max(first-last, 3)*2", 7),
        ("max+1", 8),
    ] {
        let source = format!("max = 7\nfirst: .long {text}\nlast:\n.set later, 9\n");
        let value: i32 = value;
        assert_eq!(bytes(&source, &options()), value.to_le_bytes(), "{text}");
    }
    // Before gfx8 FLAT_SCRATCH comes before XNACK_MASK's position.
    let gfx7 = Options {
        target: Target::parse("gfx700"),
        ..Options::default()
    };
    assert_eq!(
        bytes(".byte extrasgprs(1, 1, 0), extrasgprs(0, 0, 1)", &gfx7),
        [4, 0]
    );
    // Symbols may be defined later, through others, in chains of any length.
    let mut chain = String::from(".set f0, max(1, f1)\n.long f0\n");
    for n in 1..500 {
        chain += &format!(".set f{n}, max({n}, f{0}, f{0}+0)\n", n + 1);
    }
    chain += ".set f500, 12\n";
    assert_eq!(bytes(&chain, &options()), 499i32.to_le_bytes());
}

#[test]
fn mistaken_functions() {
    messages(
        ".set a, alignto(1)\n.set b, alignto(5, 0)\n.long max()\n.long or(1,)\n.long max(c, 1)\n.long alignto(1, z)\n.set z, 0\n",
        expect![[r#"
            error: expected 2 arguments, found 1
             --> a.s:1:9
              |
            1 | .set a, alignto(1)
              |         ^^^^^^^^^^
            error: expected a multiple of 1 or more to align to
             --> a.s:2:9
              |
            2 | .set b, alignto(5, 0)
              |         ^^^^^^^^^^^^^
            error: expected an expression, found `)`
             --> a.s:3:11
              |
            3 | .long max()
              |           ^
            error: expected an expression, found `)`
             --> a.s:4:12
              |
            4 | .long or(1,)
              |            ^
            error: 'c' is not defined
             --> a.s:5:7
              |
            5 | .long max(c, 1)
              |       ^^^^^^^^^
            error: expected a multiple of 1 or more to align to
             --> a.s:6:7
              |
            6 | .long alignto(1, z)
              |       ^^^^^^^^^^^^^
        "#]],
    );
}

/// A name that LLVM takes for a symbol is a register if it cannot be a symbol.
#[test]
fn registers_in_capitals() {
    same_here(
        "S_MOV_B32 S1, 4\nS_ADD_U32 S2, S0, S1\nV_ADD_F32_E64 V1, |V2|, -V3\nS_LOAD_DWORDX2 S[2:3], S[4:5], 0x0\n\
         S_AND_B64 VCC, EXEC, S[2:3]\nV_MOV_B32 V1, M0\nS_CMP_EQ_U32 S0, 5\n\
         BUFFER_LOAD_DWORD V1, OFF, S[0:3], 0 OFFSET:16 GLC\nS_SETPC_B64 TTMP[0:1]\n",
        "s_mov_b32 s1, 4\ns_add_u32 s2, s0, s1\nv_add_f32_e64 v1, |v2|, -v3\ns_load_dwordx2 s[2:3], s[4:5], 0x0\n\
         s_and_b64 vcc, exec, s[2:3]\nv_mov_b32 v1, m0\ns_cmp_eq_u32 s0, 5\n\
         buffer_load_dword v1, off, s[0:3], 0 offset:16 glc\ns_setpc_b64 ttmp[0:1]\n",
    );
    // Symbols, wherever they are defined.
    same("S1 = 4\ns_mov_b32 s2, S1\n", "s_mov_b32 s2, 4\n");
    same("s_branch S1\ns_nop 0\nS1:\n", "s_branch x\ns_nop 0\nx:\n");
    same_here(
        "s_mov_b32 s2, V1\ns_branch S1\nS1: s_mov_b32 s0, S2\nV1 = 1000\n",
        "s_mov_b32 s2, 1000\ns_branch x\nx: s_mov_b32 s0, s2\n",
    );
    let declared = assemble(".globl S1\ns_mov_b32 s2, S1\n", "a.s", &options());
    assert_eq!(declared.object.expect("a relocation").relocations.len(), 1);
    // Errors are reported as usual.
    messages(
        "S_MOV_B32 S1, S200\n",
        expect![[r#"
        error: gfx900 has s0 to s101
         --> a.s:1:15
          |
        1 | S_MOV_B32 S1, S200
          |               ^^^^
    "#]],
    );
}

/// A linker may move each entry of a mergeable section, so only an entry's own symbol locates the bytes beside it. As
/// in LLVM.
#[test]
fn references_into_mergeable_sections_keep_their_symbols() {
    let source = "s_add_u32 s0, s0, .Lx@rel32@lo+4\ns_add_u32 s0, s0, x@rel32@lo+8\ns_add_u32 s0, s0, x@rel32@lo\n\
         .section .rodata.cst32,\"aM\",@progbits,32\n.zero 32\nx:\n.Lx: .zero 32\n";
    let object = assemble(source, "a.s", &options()).object.unwrap();
    let file = object.relocatable().unwrap();
    let read = gcn_object::CodeObject::parse(&file).unwrap();
    let found = read.relocations.iter().map(|r| {
        let symbol = &read.symbols[r.symbol.unwrap()];
        (symbol.name.as_str(), r.addend)
    });
    assert_eq!(found.collect::<Vec<_>>(), [(".Lx", 4), ("x", 8), ("", 32)]);
}
