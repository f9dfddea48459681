//! Text and bytes of single instructions.

mod common;

use common::Random;
use gcn_asm::{Diagnostic, Syntax, assemble_snippet, snippet};
use gcn_isa::Target;
use std::path::PathBuf;

fn bytes_of(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2)
        .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
        .collect()
}

fn texts(errors: &[Diagnostic]) -> String {
    errors
        .iter()
        .map(|d| d.to_string())
        .collect::<Vec<_>>()
        .join("\n")
}

/// llvm-mc 14's bytes for its own text.
#[test]
fn vectors_of_llvm() {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/vectors");
    let (mut count, mut wrong) = (0, Vec::new());
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let Some(target) = Target::parse(&name) else {
            continue;
        };
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let Some((hex, text)) = line.split_once('\t') else {
                continue;
            };
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
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(60)].join("\n")
    );
}

/// llvm-mc 14's bytes for numbers as operands, on gfx900; `None` is an error there.
#[test]
fn numbers_become_what_llvm_makes_of_them() {
    let target = Target::parse("gfx900").unwrap();
    let cases: &[(&str, Option<&str>)] = &[
        (
            "s_and_b64 s[0:1], s[2:3], 0x3f800000",
            Some("02ff80860000803f"),
        ),
        ("s_and_b64 s[0:1], s[2:3], 1.0", Some("02f28086")),
        ("s_and_b64 s[0:1], s[2:3], 1.5", None),
        ("s_and_b64 s[0:1], s[2:3], -17", Some("02ff8086efffffff")),
        (
            "s_and_b64 s[0:1], s[2:3], 0xffffffffffffffff",
            Some("02c18086"),
        ),
        ("s_and_b64 s[0:1], s[2:3], 0x123456789", None),
        ("s_and_b64 s[0:1], s[2:3], -0x80000001", None),
        ("v_ceil_f64 v[0:1], 0x3f800000", Some("ff30007e0000803f")),
        ("v_ceil_f64 v[0:1], 1.5", Some("ff30007e0000f83f")),
        ("v_ceil_f64 v[0:1], 0.1", Some("ff30007e9999b93f")),
        ("v_ceil_f64 v[0:1], 0x3ff0000000000000", Some("f230007e")),
        ("v_ceil_f64 v[0:1], 0.15915494", Some("ff30007e305fc43f")),
        ("v_ceil_f64 v[0:1], 0.15915494309189532", Some("f830007e")),
        ("v_ceil_f32 v0, 0.15915494", Some("f83a007e")),
        ("v_ceil_f32 v0, 0.15915494309189532", Some("f83a007e")),
        ("v_ceil_f32 v0, 0x100000000", None),
        ("v_ceil_f32 v0, 0xfffffff0", Some("d03a007e")),
        ("v_ceil_f32 v0, neg(1)", Some("ff3a007e01000080")),
        ("v_ceil_f32 v0, |-1|", Some("ff3a007effffff7f")),
        ("v_ceil_f32 v0, -|1.5|", Some("ff3a007e0000c0bf")),
        ("v_ceil_f16 v0, 0x3c00", Some("f28a007e")),
        ("v_ceil_f16 v0, 1.5", Some("ff8a007e003e0000")),
        ("v_ceil_f16 v0, 0x1ffff", None),
        ("v_ceil_f16 v0, -17", Some("ff8a007eefff0000")),
        ("v_ceil_f16 v0, 65536.0", None),
        ("v_ceil_f16 v0, 1.0e-10", None),
        ("v_add_u16 v0, 1.0, v0", Some("ff00004c003c0000")),
        ("v_add_u16 v0, 0xffff, v0", Some("c100004c")),
        ("v_add_u16 v0, 65536, v0", None),
        ("v_add_u32 v0, 1.0, v0", Some("f2000068")),
        ("v_mul_f32 v0, s0, s0", Some("000005d100000000")),
        ("v_mul_f32 v0, s1, s0", None),
        ("v_mul_f32 v0, 3.5, s0", None),
        ("v_mul_f32 v0, v1, v2 clamp mul:2", Some("008005d101050208")),
        ("s_add_u32 s0, 0x12345, 0x12345", Some("ffff008045230100")),
        ("s_add_u32 s0, 0x12345, 0x12346", None),
        ("v_madak_f32 v0, v1, v2, 1.0", Some("010500300000803f")),
        ("v_madmk_f32 v0, s0, 0x3f, v1", None),
        ("v_cndmask_b32 v0, s0, v1, vcc", None),
        ("s_mov_b64 s[1:2], s[2:3]", None),
        ("s_mov_b64 [vcc_lo,vcc_hi], [s2,s3]", Some("0201eabe")),
        ("s_movk_i32 s0, 65536", None),
        ("s_waitcnt vmcnt(0) & lgkmcnt(1)", Some("70018cbf")),
        ("s_waitcnt vmcnt_sat(100)", Some("7fcf8cbf")),
        ("s_waitcnt vmcnt(100)", None),
        ("s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT, 1)", Some("220190bf")),
        ("s_sendmsg sendmsg(11,1,0)", Some("1b0090bf")),
        ("s_sendmsg sendmsg(MSG_GS)", None),
        ("s_getreg_b32 s0, hwreg(HW_REG_MODE)", Some("01f880b8")),
        (
            "s_getreg_b32 s0, hwreg(HW_REG_MODE, 3, 5)",
            Some("c12080b8"),
        ),
        ("s_getreg_b32 s0, hwreg(1,31,33)", None),
        ("s_set_gpr_idx_on s0, gpr_idx(SRC0,DST)", Some("000911bf")),
        ("v_mov_b32_sdwa v1, v2", Some("f902027e02160600")),
        (
            "v_add_f32_sdwa v1, v2, v3 dst_sel:BYTE_0 src1_sel:WORD_1",
            Some("f906020202100605"),
        ),
        ("v_add_f32_sdwa v1, sext(v2), v3 src1_sel:WORD_1", None),
        ("v_add_f32_sdwa v1, 1.0, v3", Some("f9060202f2168606")),
        ("v_add_f32_dpp v1, v2, v3", None),
        (
            "v_add_f32_dpp v1, v2, v3 row_shl:1 bound_ctrl:0",
            Some("fa060202020109ff"),
        ),
        (
            "v_add_f32_dpp v1, v2, v3 row_bcast:31 row_mask:0x1 bank_mask:2",
            Some("fa06020202430112"),
        ),
        (
            "v_mov_b32_dpp v1, v2 quad_perm:[3,2,1,0]",
            Some("fa02027e021b00ff"),
        ),
        ("v_add_u32 v0, v1, -v2", None),
        ("s_load_dword s0, s[2:3], -4", Some("010002c0fcff1f00")),
        ("s_load_dword s0, s[2:3], 0x100000", None),
        ("flat_load_dword v0, v[1:2] offset:4096", None),
        (
            "global_load_dword v0, v[1:2], off offset:-4096",
            Some("009050dc01007f00"),
        ),
        (
            "global_load_dword v0, v1, s[2:3] offset:4095",
            Some("ff8f50dc01000200"),
        ),
        (
            "scratch_load_dword v0, off, s1 offset:4",
            Some("044050dc00000100"),
        ),
        ("scratch_load_dword v0, off, off", None),
        (
            "buffer_load_dword v0, v[1:2], s[4:7], s1 idxen offen offset:4 glc slc tfe",
            Some("047052e001008101"),
        ),
        ("buffer_load_dword v0, off, s[4:7], 0x1234", None),
    ];
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let made = assemble_snippet(target, text, false);
        match (made, expected) {
            (Ok(made), Some(hex)) if made == bytes_of(hex) => {}
            (Err(_), None) => {}
            (made, _) => wrong.push(format!(
                "{text}: {:02x?}, not {expected:?}",
                made.map_err(|e| texts(&e))
            )),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Extensions: hidden bits, forced literals, codes without a name.
#[test]
fn hidden_bits_and_forced_literals() {
    let gfx803 = Target::parse("gfx803").unwrap();
    let ok = |text: &str| assemble_snippet(gfx803, text, true).unwrap();
    assert_eq!(ok("s_nop 0 bits:0x40"), bytes_of("400080bf"));
    assert_eq!(ok("s_mov_b32 s0, lit(1)"), bytes_of("ff0080be01000000"));
    assert_eq!(ok("s_mov_b32 s0, op(0xd7)"), bytes_of("d70080be"));
    assert_eq!(ok("s_mov_b64 s[21:22], s[2:3]"), bytes_of("020195be"));
    assert!(assemble_snippet(gfx803, "s_mov_b64 s[21:22], s[2:3]", false).is_err());
    let clrx = |text: &str| snippet(gfx803, text, Syntax::Clrx, false).map_err(|e| texts(&e));
    assert_eq!(clrx("S_MOV_B32 S0, SCC").unwrap(), bytes_of("fd0080be"));
    assert_eq!(
        clrx("s_waitcnt vmcnt(0) & lgkmcnt(1)").unwrap(),
        ok("s_waitcnt vmcnt(0) lgkmcnt(1)")
    );
    assert_eq!(
        clrx("v_add_f32 v0, v1, v2 vop3").unwrap(),
        ok("v_add_f32_e64 v0, v1, v2")
    );
    assert_eq!(
        clrx("s_sendmsg sendmsg(gs, emit, 1)").unwrap(),
        ok("s_sendmsg sendmsg(MSG_GS, GS_OP_EMIT, 1)")
    );
    assert_eq!(
        clrx("buffer_load_dword v18, s[4:7], s1").unwrap(),
        ok("buffer_load_dword v18, off, s[4:7], s1")
    );
}

/// The pieces of the random texts.
const WORDS: &[&str] = &[
    "v_add_f32",
    "v_mov_b32_sdwa",
    "v_add_f32_dpp",
    "s_add_u32",
    "s_waitcnt",
    "s_sendmsg",
    "s_branch",
    "global_load_dword",
    "buffer_load_dword",
    "ds_read2_b32",
    "s_load_dword",
    "v_mad_f16",
    "flat_atomic_add",
    "v0",
    "v[",
    "v[0:1]",
    "s[0:3]",
    "s1",
    "]",
    "[",
    "(",
    ")",
    "|",
    "-",
    "+",
    "~",
    "!",
    "*",
    "/",
    "%",
    "<<",
    ">>",
    "vcc",
    "exec",
    "m0",
    "off",
    "1",
    "0x7fffffffffffffff",
    "-16",
    "1.0",
    "1e308",
    "0x1p-9",
    "'a'",
    "\"str\"",
    "\"",
    ",",
    ":",
    "=",
    "@",
    "rel32",
    "lo",
    ".",
    "abs(",
    "neg(",
    "sext(",
    "lit(",
    "op(",
    "sendmsg(",
    "hwreg(",
    "gpr_idx(",
    "vmcnt(",
    "quad_perm:[",
    "op_sel:[",
    "offset:",
    "dst_sel:",
    "bits:",
    "mul:",
    "glc",
    "lds",
    "tfe",
    ".fill",
    ".space",
    ".p2align",
    ".org",
    ".set",
    ".long",
    ".quad",
    ".section",
    ".size",
    ".type",
    ".globl",
    ".amdhsa_kernel",
    ".end_amdhsa_kernel",
    ".amdhsa_next_free_vgpr",
    ".amdgpu_metadata",
    ".text",
    ".asciz",
    ".pushsection",
    ".popsection",
    ".comm",
    ".syntax",
    "clrx",
    "a",
    "b",
    "a:",
    "1:",
    "1b",
    "1f",
    "\n",
    "\n",
    ";",
    "/*",
    "*/",
    "//",
    "#",
    "\u{e9}",
    "\0",
    "0b",
    "08",
    "0x",
    "99999999999999999999",
];

/// Any text gives a result, quickly.
#[test]
fn any_soup_of_tokens_gives_an_answer() {
    let mut random = Random(42);
    for round in 0..3000 {
        let mut text = String::new();
        for _ in 0..random.below(40) {
            text.push_str(WORDS[random.below(WORDS.len())]);
            if random.below(4) != 0 {
                text.push(' ');
            }
        }
        let target = Target::parse(["gfx600", "gfx701", "gfx803", "gfx900"][round % 4]);
        let syntax = [Syntax::Auto, Syntax::Llvm, Syntax::Clrx][round % 3];
        let options = gcn_asm::Options {
            target,
            syntax,
            permissive: round % 2 == 0,
            ..Default::default()
        };
        let output = gcn_asm::assemble(&text, "soup.s", &options);
        assert_eq!(
            output.object.is_none(),
            output
                .diagnostics
                .iter()
                .any(|d| d.level == gcn_asm::Level::Error),
            "{text}"
        );
        gcn_asm::render(&output.diagnostics, true);
    }
    for deep in [
        "(",
        "-",
        "~",
        "[",
        "|",
        "abs(",
        "neg(",
        "a+(",
        "1:",
        "a\n",
        "x=(",
        ".pushsection a\n",
        ".set a,a+a\n",
    ] {
        let text = deep.repeat(20_000);
        for prefix in ["", "s_mov_b32 s0, ", ".long "] {
            let options = gcn_asm::Options {
                target: Target::parse("gfx900"),
                ..Default::default()
            };
            gcn_asm::assemble(&format!("{prefix}{text}"), "deep.s", &options);
        }
    }
    let wide = format!(".long {}1", "a+".repeat(900));
    gcn_asm::assemble(&wide, "wide.s", &gcn_asm::Options::default());
    // Evaluating doubling chains of symbols ends.
    let mut chain = String::from(".long a0\n");
    for n in 0..60 {
        chain += &format!("a{n} = a{}+a{}\n", n + 1, n + 1);
    }
    gcn_asm::assemble(&chain, "chain.s", &gcn_asm::Options::default());
}

/// Zeros before a register's number are ignored, on lines of any length.
#[test]
fn registers_with_leading_zeros() {
    let target = Target::parse("gfx803").unwrap();
    let expected = assemble_snippet(target, "v_mov_b32 v1, v255", false).unwrap();
    for text in ["v_mov_b32 v1, v0000000255", "v_mov_b32 v0001, v000255"] {
        let mut long = format!("{text}\n").repeat(1000);
        long.push_str(text);
        let made = assemble_snippet(target, &long, false).unwrap();
        assert_eq!(made, expected.repeat(1001), "{text}");
        assert_eq!(assemble_snippet(target, text, false).unwrap(), expected);
    }
}

/// A mnemonic without operands is an error on the fast path, too.
#[test]
fn operands_are_not_left_out() {
    for mnemonic in [
        "v_movrels_b32",
        "v_cndmask_b32_e32",
        "v_addc_u32_e32",
        "v_add_f32_e32",
    ] {
        let text = format!("{mnemonic}\n{}", "s_nop 0\n".repeat(2000));
        let options = gcn_asm::Options {
            target: gcn_isa::Target::parse("gfx803"),
            ..gcn_asm::Options::default()
        };
        let output = gcn_asm::assemble(&text, "long.s", &options);
        assert!(output.object.is_none(), "{mnemonic}");
    }
}
