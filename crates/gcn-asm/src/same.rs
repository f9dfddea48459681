//! Tests that the fast path, with any number of threads, gives the same bytes, symbols and
//! messages as the statement reader alone.

#[path = "../tests/common/mod.rs"]
mod common;

use crate::asm::Asm;
use crate::{Assembled, Diagnostic, Options, Syntax};
use common::Random;
use gcn_isa::encode::Encoder;
use gcn_isa::print::{Style, print};
use gcn_isa::{Target, decode};
use gcn_object::write::Section;
use std::path::PathBuf;
use typed_arena::Arena;

/// The contents of the sections after everything was read, even with errors; then the result.
type Outcome = (Vec<Section>, Option<Assembled>, Vec<Diagnostic>);

fn outcome(mut asm: Asm) -> Outcome {
    asm.run();
    let sections = asm.sections.clone();
    let crate::Output {
        object,
        diagnostics,
        ..
    } = asm.finish();
    (sections, object, diagnostics)
}

/// Reads every line as a statement.
fn long_way(source: &str, options: &Options, snippet: bool) -> Outcome {
    let store = Arena::new();
    let mut asm = Asm::new(source, "a.s", options, snippet, &store);
    asm.quick_from = usize::MAX;
    outcome(asm)
}

fn short_way(source: &str, options: &Options, snippet: bool, least_part: usize) -> Outcome {
    let store = Arena::new();
    let mut asm = Asm::new(source, "a.s", options, snippet, &store);
    asm.quick_from = 0;
    asm.least_part = least_part;
    outcome(asm)
}

fn check(source: &str, options: &Options, threads: &[usize], least_part: usize) {
    let expected = long_way(source, options, false);
    for &threads in threads {
        let options = Options {
            threads,
            ..options.clone()
        };
        let made = short_way(source, &options, false, least_part);
        assert!(
            made == expected,
            "{threads} threads, parts of {least_part}: {:?} {:?}\nexpected {:?} {:?}\nof:\n{source}",
            made.0,
            made.2,
            expected.0,
            expected.2,
        );
    }
}

fn targets() -> Vec<Target> {
    ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"]
        .iter()
        .filter_map(|name| Target::parse(name))
        .collect()
}

/// Printed instructions of all rows, with random operands.
fn instructions(random: &mut Random, target: Target, style: &Style, count: usize) -> Vec<String> {
    let rows: Vec<_> = gcn_isa::insts::of_target(target).collect();
    let mut lines = Vec::new();
    while lines.len() < count {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&random.next().to_le_bytes());
        bytes[8..].copy_from_slice(&random.next().to_le_bytes());
        let row = rows[random.below(rows.len())];
        if random.below(4) != 0
            && let Some(e) = Encoder::new(row, row.format.encoding(), target)
            && let Some(layout) = gcn_isa::format::layout_of(e.encoding, target.generation())
        {
            let op = layout.field(gcn_isa::Field::Op);
            let mask = layout.mask | op.set(0, u32::MAX);
            // Fields with mostly zeros are like those of real code.
            let fields = random.next() & random.next() & random.next();
            let bits = if random.below(2) == 0 {
                fields
            } else {
                random.next()
            };
            bytes[..8].copy_from_slice(&(bits & !mask | e.bits & mask).to_le_bytes());
        }
        let Some(insn) = decode(target, &bytes) else {
            continue;
        };
        let mut text = String::new();
        print(&insn, style, &mut text);
        lines.push(text);
    }
    lines
}

/// Text between instructions, and text that may change how instructions are read.
const OTHER: &[&str] = &[
    "",
    "# a comment",
    "// another",
    "; a third",
    "/* over\nlines */ s_nop 1",
    "/*",
    "*/",
    "/* s_nop 2 */",
    "label%:",
    ".Llabel%:  // a label",
    "label% :",
    "Label%_:",
    "s_branch .Llabel%",
    "s_branch Label%_",
    "s_branch label%",
    "s_cbranch_scc0 label%",
    "s_branch label%+4",
    "s_branch .",
    "s_branch .+8",
    "s_branch five",
    "s_branch v1",
    "1: s_nop 3",
    "s_branch 1b",
    "s_branch 1f",
    ".set five, 5",
    ".set label%, 7",
    ".set .Llabel%, 7",
    "s_branch .amdgcn.next_free_vgpr",
    ".Llabel%: s_nop 4",
    "s_nop five",
    "v_mov_b32 v%, five",
    "v_mov_b32 v200, 0",
    "v_mov_b32 v0, .amdgcn.next_free_vgpr",
    ".set .amdgcn.next_free_vgpr, 0",
    ".long .amdgcn.next_free_vgpr, .amdgcn.next_free_sgpr",
    ".long label%",
    ".long . - label%",
    ".syntax clrx",
    ".syntax llvm",
    ".scope inner%",
    ".ends",
    ".gcn_permissive",
    ".text",
    ".data",
    ".bss",
    ".previous",
    ".section .other,\"ax\",@progbits",
    ".zero 3",
    ".zero 0",
    ".zero 4097",
    ".zero -1",
    ".zero five",
    ".zero 1, 2",
    ".byte 0x7f, 128 , -128,255 // four",
    ".byte 256",
    ".byte -129",
    ".byte 1,",
    ".byte",
    ".byte 1b",
    ".short 0xffff, 017, 08",
    ".long 0xffffffff, -0x80000000",
    ".long 0xffffffffffffffff, 4294967296",
    ".long 0x",
    ".long 1 + 2",
    ".quad 0xffffffffffffffff, 0x8000000000000000, -1, 18446744073709551615, 1; .byte 2",
    ".quad 0x10000000000000000",
    ".quad -18446744073709551616",
    ".quad label%, 0x1g",
    ".octa 0x123456789abcdef00fedcba987654321f, 0x10000000000000000, 0x1; .byte 2",
    ".octa 0xffffffffffffffffffffffffffffffff, 340282366920938463463374607431768211455, 7, -1",
    ".octa 0x100000000000000000000000000000000",
    ".octa 0x, 0x1",
    ".octa 0x1, 0x2g",
    ".octa 1 + 2",
    ".octa",
    ".Quad 7",
    ".ascii \"text\"",
    ".asciz \"a\\n\\\"\\\\\\101\\x41\" # of sorts",
    ".asciz \"a\", \"b\"",
    ".asciz \"é; // /* \"",
    ".ascii \"\\400\"",
    ".ascii \"no end",
    ".ascii \"\\",
    ".macro .long a\n s_nop 5\n .endm",
    ".purgem .long",
    ".file 1 \"a.c\"",
    ".loc 1 %",
    ".p2align 4",
    ".end",
    ".warning \"soon\"",
    ".error \"no\"",
    ".amdgpu_metadata",
    ".end_amdgpu_metadata",
    ".amdhsa_kernel k",
    "\t.amdhsa_next_free_vgpr 8",
    ".amdhsa_ieee_mode 2",
    ".end_amdhsa_kernel",
    ".globl label%",
    "\t.weak  label% // a comment",
    ".hidden .Llabel%; .protected label%",
    ".local label%, five",
    ".globl .",
    ".globl 5",
    ".global \"quoted %\"",
    ".Weak label%",
    ".arch gfx900",
    "s_nop 1; s_nop 2",
    "s_nop 1 // s_nop 2",
    "  s_endpgm",
    "s_endpgm 0",
    "s_mov_b32 s0, 1.5",
    "v_add_f32 v0, s1, s2",
    "v_mul_f64 v[0:1], v[2:3], 0.1",
    "s_and_b64 s[1:2], s[2:3], s[4:5]",
    "s_mov_b32 s0, 0x",
    "s_mov_b32 s0, \"",
    "s_waitcnt vmcnt(0) & lgkmcnt(1)",
    "s_waitcnt vmcnt(99)",
    "frob s0",
    "s_nop",
];

const PIECES: &[&str] = &[
    " ",
    "\n",
    ",",
    ":",
    "[",
    "]",
    "(",
    ")",
    "-",
    "|",
    "+",
    "1",
    "0",
    "x",
    "v",
    "s",
    "_",
    ".",
    ";",
    "#",
    "/",
    "*",
    "\"",
    "\r\n",
    "\t",
    "\u{b}",
    "\0",
    "é",
    "A",
    "f",
    "b",
    "e5",
    "0x1p3",
    "glc",
    "clamp",
    " off",
    "neg(",
    "abs(",
    "sext(",
    "lit(",
    "op(5)",
    "vcc",
    "exec",
    "ttmp1",
    "m0",
    "@",
    "offset:5",
    "mul:2",
    "dst_sel:BYTE_1",
    "quad_perm:[0,1,2,3]",
    "row_shl:1",
    "bits:0x1",
    "017",
    "99999999999999999999",
    "-5",
    "1.0",
    "lds_direct",
    "src_scc",
    "_e64",
    "_e32",
    "_sdwa",
    "_dpp",
];

fn mutate(random: &mut Random, text: &mut String) {
    for _ in 0..random.below(4) {
        let mut at = random.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        match random.below(3) {
            0 => text.insert_str(at, PIECES[random.below(PIECES.len())]),
            1 => {
                text.truncate(at + text[at..].chars().next().map_or(0, char::len_utf8));
                text.pop();
            }
            _ => {
                if at < text.len() {
                    text.remove(at);
                }
            }
        }
    }
}

#[test]
fn whole_texts() {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/vectors");
    let mut sources = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let Some(target) = Target::parse(&name) else {
            continue;
        };
        let text: String = std::fs::read_to_string(&path)
            .unwrap()
            .lines()
            .filter_map(|line| Some(format!("{}\n", line.split_once('\t')?.1)))
            .collect();
        let options = Options {
            target: Some(target),
            ..Options::default()
        };
        check(&text, &options, &[1, 2, 3, 8], 4000);
        let options = Options {
            debug: Some("/folder".into()),
            ..options
        };
        check(&text, &options, &[1, 3], 4000);
        sources += 1;
    }
    assert!(sources >= 4, "the vectors are missing");
}

/// The lines of the test language: instructions, and directives that change the state.
#[test]
fn lines_of_the_suite() {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let mut sources = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "gcn") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text
            .lines()
            .map(|line| line.trim_start().split("   ").next().unwrap_or(""))
            .collect();
        for target in targets() {
            // A few lines at a time, because reading stops at the maximum number of errors.
            for lines in lines.chunks(90) {
                let options = Options {
                    target: Some(target),
                    permissive: true,
                    debug: Some(String::new()),
                    ..Options::default()
                };
                check(&lines.join("\n"), &options, &[1, 3], 300);
            }
        }
        sources += 1;
    }
    assert!(sources >= 5, "the suite is missing");
}

#[test]
fn printed_instructions() {
    let mut random = Random(0x5eed);
    for target in targets() {
        for (style, syntax) in [(Style::LLVM, Syntax::Llvm), (Style::CLRX, Syntax::Clrx)] {
            let lines = instructions(&mut random, target, &style, 3000);
            for permissive in [false, true] {
                for lines in lines.chunks(80) {
                    let options = Options {
                        target: Some(target),
                        syntax,
                        permissive,
                        ..Options::default()
                    };
                    check(&lines.join("\n"), &options, &[1], 1);
                }
            }
        }
    }
}

/// The effect of modifiers is analyzed at the first line that has them.
#[test]
fn modifiers_are_the_same_beside_other_operands() {
    use gcn_isa::Field;
    use gcn_isa::format::Encoding;
    let mut random = Random(0x00dd_ba11);
    let encodings = [
        Encoding::Vop3,
        Encoding::Vop3b,
        Encoding::Vop3p,
        Encoding::Sdwa1,
        Encoding::Sdwa2,
        Encoding::SdwaC,
        Encoding::Dpp1,
        Encoding::Dpp2,
        Encoding::DppC,
    ];
    let mut modified = 0;
    for target in targets() {
        let rows = gcn_isa::insts::of_target(target).filter(|row| row.format.is_valu());
        for row in rows {
            for encoding in encodings {
                let Some(e) = Encoder::new(row, encoding, target) else {
                    continue;
                };
                let Some(layout) = gcn_isa::format::layout_of(e.encoding, target.generation())
                else {
                    continue;
                };
                let op = layout.field(Field::Op);
                let mask = layout.mask | op.set(0, u32::MAX);
                let mut lines = Vec::new();
                for _ in 0..2 {
                    let bits = random.next() & random.next() & !mask | e.bits & mask;
                    for _ in 0..4 {
                        let registers = [Field::Vdst, Field::Src0, Field::Src1, Field::Src2];
                        let bits = registers.into_iter().fold(bits, |bits, field| {
                            let field = layout.field(field);
                            // Mostly VGPRs, and sometimes SGPRs and constants.
                            let vgpr = if random.below(4) == 0 { 0 } else { 256 };
                            match field.set(0, u32::MAX) {
                                0 => bits,
                                _ => field.set(bits, random.next() as u32 & 0x1ff | vgpr),
                            }
                        });
                        let mut bytes = [0; 16];
                        bytes[..8].copy_from_slice(&bits.to_le_bytes());
                        let Some(insn) = decode(target, &bytes) else {
                            continue;
                        };
                        let mut text = String::new();
                        print(&insn, &Style::LLVM, &mut text);
                        modified += [" clamp", " mul:", " op_sel", "_sel:", "row_", " quad_perm"]
                            .iter()
                            .any(|word| text.contains(word))
                            as usize;
                        lines.push(text);
                    }
                }
                let options = Options {
                    target: Some(target),
                    permissive: true,
                    ..Options::default()
                };
                check(&lines.join("\n"), &options, &[1], 1);
            }
        }
    }
    assert!(modified > 5000, "{modified}");
}

/// Numbers of 64 bits as disassemblers print them, and other numbers next to them.
#[test]
fn long_numbers() {
    let options = Options {
        target: targets().pop(),
        ..Options::default()
    };
    let mut random = Random(0xdada);
    for _ in 0..200 {
        let mut text = String::new();
        for _ in 0..80 {
            let octa = random.below(3) == 0;
            let name = ["\t.quad ", ".quad ", ".quad\t", ".quad  "][random.below(4)];
            text.push_str(&match octa {
                true => name.replace("quad", "octa"),
                false => name.into(),
            });
            let count = 1 + random.below(5);
            for n in 0..count {
                let mut value = u128::from(random.next() >> random.below(64));
                if octa {
                    value = value << 64 | u128::from(random.next());
                    value >>= random.below(128);
                }
                text.push_str(&match random.below(40) {
                    0 => format!("{value}"),
                    1 if !octa => format!("-{value:#x}"),
                    2 => format!("{value:#X}"),
                    3 => format!("0x{value:X}"),
                    4 => format!("{value:#b}"),
                    5 => format!("{value:#018x}"),
                    _ => format!("{value:#x}"),
                });
                let commas = [", ", ", ", ", ", ",", " , ", ",\t", ",  "];
                text.push_str(["", commas[random.below(7)]][usize::from(n + 1 < count)]);
            }
            text.push_str(
                ["\n", "\n", "\n", "\r\n", " // a comment\n", "; .byte 1\n"][random.below(6)],
            );
        }
        if random.below(4) == 0 {
            mutate(&mut random, &mut text);
        }
        check(&text, &options, &[1], 1);
    }
}

/// The same line gives other bytes in the other syntax, and lines may differ only at their ends.
#[test]
fn lines_that_recur_are_the_same() {
    let blanks = " ".repeat(40);
    let lines = "s_mov_b32 s0, 0x3f800000\nv_add_f32 v0, s1, v2\ns_mov_b32 s99, s0\n".repeat(3);
    let ends = format!("v_mov_b32 v7,{blanks}1\nv_mov_b32 v7,{blanks}2\ns_nop 1 \ns_nop 11\n");
    let source = format!(
        "{lines}.syntax clrx\n{lines}.syntax llvm\n{lines}{}.long .amdgcn.next_free_sgpr\n",
        ends.repeat(3)
    );
    for target in targets() {
        let options = Options {
            target: Some(target),
            ..Options::default()
        };
        check(&source, &options, &[1, 2, 3], 100);
    }
}

/// The lines of kernels' blocks, plain and not, valid and invalid, and other lines between them.
#[test]
fn settings_of_kernels() {
    let lines = [
        "\t.amdhsa_next_free_vgpr 8",
        ".amdhsa_next_free_sgpr 16 // a comment",
        "\t.amdhsa_group_segment_fixed_size 1024\r",
        " .amdhsa_kernarg_size\t24",
        ".amdhsa_kernarg_size 8+16",
        ".amdhsa_user_sgpr_kernarg_segment_ptr 01",
        ".amdhsa_ieee_mode 0x1",
        ".amdhsa_dx10_clamp 0 ; .amdhsa_ieee_mode 1",
        ".AMDHSA_ieee_mode 0",
        ".amdhsa_ieee_mode 2",
        ".amdhsa_ieee_mode -1",
        ".amdhsa_unknown 1",
        ".amdhsa_code_object_version 4",
        ".amdhsa_next_free_vgpr later",
        ".set later, 12",
        "s_nop 0",
        "",
        "# a comment",
        ".if 0",
        ".endif",
    ];
    let mut random = Random(0xb10c);
    for target in targets() {
        for _ in 0..150 {
            let mut source = String::new();
            for kernel in 0..2 {
                source += &format!("k{kernel}:\n\ts_endpgm\n.amdhsa_kernel k{kernel}\n");
                for _ in 0..random.below(6) {
                    // Mostly plain lines that differ; many blocks then have no error.
                    let most = [4, lines.len()][random.below(2)];
                    source += lines[random.below(most)];
                    source += "\n";
                }
                source += ".amdhsa_next_free_vgpr 4\n\t.amdhsa_next_free_sgpr 4\n";
                source += ".end_amdhsa_kernel\n";
            }
            let options = Options {
                target: Some(target),
                ..Options::default()
            };
            check(&source, &options, &[1, 2], 40);
        }
    }
}

/// A label belongs to the scope in which it stands, in either syntax.
#[test]
fn labels_in_scopes() {
    let options = Options {
        target: Target::parse("gfx803"),
        ..Options::default()
    };
    let inner = ".syntax clrx\n.scope inner\n.syntax llvm\nx:\ns_nop 0\n.syntax clrx\n.ends\n";
    let source = format!("s_branch x\n{inner}.syntax llvm\nx:\ns_nop 1\n");
    check(&source, &options, &[1, 2], 10);
    let (_, object, messages) = short_way(&source, &options, false, 10);
    assert!(object.is_some(), "{messages:?}");
}

#[test]
fn random_sources_on_any_number_of_threads() {
    let mut random = Random(0xfeed_beef);
    for target in targets() {
        let llvm = instructions(&mut random, target, &Style::LLVM, 1000);
        let clrx = instructions(&mut random, target, &Style::CLRX, 300);
        for _ in 0..120 {
            let mut lines = Vec::new();
            let rarely = random.below(30) + 2;
            // The same lines recur often, or rarely.
            let different = [5, 40, llvm.len()][random.below(3)];
            for _ in 0..random.below(120) {
                let mut line = match random.below(rarely) {
                    0 => {
                        OTHER[random.below(OTHER.len())].replace('%', &random.below(5).to_string())
                    }
                    1 if random.below(3) == 0 => clrx[random.below(clrx.len())].clone(),
                    _ => llvm[random.below(different)].clone(),
                };
                if random.below(rarely) == 0 {
                    mutate(&mut random, &mut line);
                }
                lines.push(line);
            }
            let mut source = lines.join("\n");
            if random.below(2) == 0 {
                source.push('\n');
            }
            let options = Options {
                target: Some(target).filter(|_| random.below(8) != 0),
                permissive: random.below(3) != 0,
                syntax: [Syntax::Auto, Syntax::Llvm, Syntax::Clrx][random.below(3)],
                debug: (random.below(2) == 0).then(String::new),
                ..Options::default()
            };
            let least_part = 1 + random.below(source.len().max(1));
            let threads = [1, 2, 3, 4, 5, 6, 7, 8];
            let some = random.below(6);
            check(&source, &options, &threads[some..some + 3], least_part);
            let expected = long_way(&source, &options, true);
            assert!(
                short_way(&source, &options, true, 1 << 20) == expected,
                "as a snippet:\n{source}"
            );
        }
    }
}
