//! The command from a user's view: arguments, streams, exit status and messages.

mod common;

use common::{Ran, gcn, kernel, with_input};

fn raw(arch: &str, source: &str) -> Vec<u8> {
    let ran = with_input(&["asm", "--raw", "--arch", arch, "-"], source.as_bytes());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    ran.stdout
}

#[test]
fn exit_status_says_who_was_wrong() {
    for (args, status) in [
        (&["--help"][..], 0),
        (&["--version"], 0),
        (&["doc", "--stats"], 0),
        (&["doc", "--exactness"], 0),
        (&["doc", "--json"], 2),
        (&["doc", "--stats", "--exactness"], 2),
        (&["doc", "s_bfe_u32"], 0),
        (&["doc"], 0),
        // Errors in the command line.
        (&[], 2),
        (&["nonsense"], 2),
        (&["asm"], 2),
        (&["dis", "--raw", "-"], 2),
        (&["dis", "--plain", "--cfg", "x.co"], 2),
        (&["dis", "--base", "0x1000", "x.co"], 2),
        (&["dis", "--raw", "--base", "2", "--arch", "gfx900", "-"], 2),
        (&["dis", "--raw", "--arch", "gfx1030", "-"], 2),
        (&["eval", "s_nop 0"], 2),
        (&["eval", "--arch", "gfx900"], 2),
        (
            &["eval", "--arch", "gfx900", "--engine", "none", "s_nop 0"],
            2,
        ),
        (&["doc", "--all"], 2),
        (&["run", "x.co"], 2),
        // Errors in the input.
        (&["asm", "no-such-file.s"], 1),
        (&["dis", "no-such-file.co"], 1),
        (&["dis", "Cargo.toml"], 1),
        (&["doc", "s_no_such_thing"], 1),
        (&["eval", "--json", "no-such-file"], 1),
        (&["eval", "--arch", "gfx900", "s_no_such_thing"], 1),
    ] {
        let ran = gcn(args);
        assert_eq!(ran.status, status, "gcn {args:?}: {}", ran.stderr);
        if status != 0 {
            assert!(!ran.stderr.is_empty(), "gcn {args:?} says nothing");
            assert!(ran.stdout.is_empty(), "gcn {args:?} prints: {}", ran.text());
        }
    }
}

#[test]
fn targets_have_several_names() {
    let same = [
        ("tahiti", "gfx600"),
        ("pitcairn", "gfx601"),
        ("bonaire", "gfx704"),
        ("hawaii", "gfx701"),
        ("tonga", "gfx802"),
        ("fiji", "gfx803"),
        ("polaris10", "gfx803"),
        ("vega10", "gfx900"),
        ("vega20", "gfx906"),
        ("gcn1.0", "gfx601"),
        ("gcn1.1", "gfx701"),
        ("gcn1.2", "gfx802"),
        ("gcn1.4", "gfx900"),
        ("gcn1.4.1", "gfx906"),
    ];
    for (name, target) in same {
        let ran = with_input(&["dis", "--raw", "--arch", name, "-"], &[0, 0, 0x80, 0xbf]);
        assert!(
            ran.text().contains(&format!(".arch {target}\n")),
            "{name}: {}",
            ran.text()
        );
    }
}

#[test]
fn mistakes_are_named_with_file_line_and_column() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bad.s");
    std::fs::write(
        &path,
        "s_mov_b32 s0, s1\nfoo bar\n  v_add_f32 v0, s1, s2, s3\n",
    )
    .expect("a file");
    let path = path.to_str().expect("UTF-8");
    let ran = gcn(&["asm", path, "--arch", "gfx900", "-o", "-"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stdout.is_empty());
    for at in [":2:1", ":3:"] {
        assert!(
            ran.stderr.contains(&format!("{path}{at}")),
            "{}",
            ran.stderr
        );
    }
    let ran = with_input(&["asm", "-", "--arch", "gfx900"], b"foo\n");
    assert!(ran.stderr.contains("<stdin>:1:1"), "{}", ran.stderr);
    let ran = with_input(&["asm", "-"], b"s_endpgm\n");
    assert!(ran.stderr.contains("--arch"), "{}", ran.stderr);
    // Two SGPRs on the constant bus: an error, or with --permissive a warning.
    let rule = b"v_add_f32 v0, s1, s2\n";
    let ran = with_input(&["asm", "--raw", "-", "--arch", "gfx900"], rule);
    assert_eq!((ran.status, ran.stdout.len()), (1, 0), "{}", ran.stderr);
    let ran = with_input(
        &["asm", "--raw", "--permissive", "-", "--arch", "gfx900"],
        rule,
    );
    assert_eq!((ran.status, ran.stdout.len()), (0, 8), "{}", ran.stderr);
    assert!(ran.stderr.contains("warning"), "{}", ran.stderr);
    // A source is not overwritten by its own output.
    let path = folder.path().join("source.bin");
    std::fs::write(&path, "s_endpgm\n").expect("a file");
    let ran = gcn(&[
        "asm",
        "--raw",
        "--arch",
        "gfx900",
        path.to_str().expect("UTF-8"),
    ]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
}

#[test]
fn a_reader_may_go_away() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    for args in [&["doc", "vop3"][..], &["demo"]] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_gcn"))
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("gcn");
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        out.read_line(&mut line).expect("a line");
        drop(out);
        let done = child.wait_with_output().expect("its end");
        assert!(done.status.success(), "gcn {args:?}");
        assert!(
            done.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
    }
}

#[test]
fn plain_text_is_one_instruction_a_line() {
    let bytes: Vec<u8> = [0xbf82fffeu32, 0x7e020280, 0xbf810000, 0xffffffff]
        .iter()
        .flat_map(|w| w.to_le_bytes())
        .chain([0xab, 0xcd])
        .collect();
    let ran = with_input(
        &["dis", "--raw", "--plain", "--arch", "gfx900", "-"],
        &bytes,
    );
    assert_eq!(
        ran.text(),
        "s_branch 65534\nv_mov_b32_e32 v1, 0\ns_endpgm\n.long 0xffffffff\n.byte 0xab\n.byte 0xcd\n"
    );
    let ran = with_input(&["dis", "--raw", "--arch", "gfx900", "-"], &bytes[..8]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
}

/// Bytes that contain many instructions and some invalid ones; SplitMix64.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut rng = gcn::run::SplitMix(seed);
    let tops = [
        0x80, 0x90, 0xb0, 0xbe, 0xbf, 0xc0, 0x7e, 0xd1, 0xd2, 0xd8, 0xe0, 0xe8, 0xf0, 0x20,
    ];
    let mut out = Vec::new();
    while out.len() < len {
        let r = rng.next_u64();
        out.extend(&(r as u32).to_le_bytes()[..3]);
        out.push(tops[(r >> 32) as usize % tops.len()]);
        if r >> 63 != 0 {
            out.extend((rng.next_u64() as u32).to_le_bytes());
        }
    }
    out.truncate(len);
    out
}

#[test]
fn raw_bytes_come_back_through_text() {
    for arch in ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"] {
        for (seed, len) in [(1, 0), (2, 3), (3, 4), (4, 4003), (5, 8000)] {
            let bytes = noise(seed, len);
            for syntax in ["llvm", "clrx"] {
                let source = with_input(
                    &["dis", "--raw", "--arch", arch, "--syntax", syntax, "-"],
                    &bytes,
                );
                let again = with_input(&["asm", "--raw", "-"], &source.stdout);
                assert_eq!(again.status, 0, "{arch} {syntax} {seed}: {}", again.stderr);
                assert!(again.stdout == bytes, "{arch} {syntax} {seed}: other bytes");
                let args = [
                    "dis", "--raw", "--plain", "--arch", arch, "--syntax", syntax, "-",
                ];
                let plain = with_input(&args, &bytes);
                let args = [
                    "asm",
                    "--raw",
                    "--permissive",
                    "--arch",
                    arch,
                    "--syntax",
                    syntax,
                    "-",
                ];
                let again = with_input(&args, &plain.stdout);
                assert_eq!(again.status, 0, "{arch} {syntax} {seed}: {}", again.stderr);
                assert!(
                    again.stdout == bytes,
                    "{arch} {syntax} {seed}: other bytes of plain text"
                );
            }
        }
    }
}

/// A section's bytes in an ELF file.
fn section(file: &[u8], name: &str) -> Vec<u8> {
    let object = gcn::object::read::CodeObject::parse(file).expect("a code object");
    let index = object.sections.iter().position(|s| s.name == name);
    index.map_or(Vec::new(), |i| object.section_data(i).to_vec())
}

/// The parts that a loader uses: the loaded sections' names, addresses and sizes, and the dynamic symbols.
fn layout(file: &[u8]) -> Vec<String> {
    let object = gcn::object::read::CodeObject::parse(file).expect("a code object");
    let sections = (object.sections.iter())
        .filter(|s| s.flags.alloc())
        .map(|s| format!("{} {:#x} {:#x} {:?}", s.name, s.address, s.size, s.flags));
    let mut symbols: Vec<String> = (object.dynamic_symbols.iter())
        .map(|s| {
            format!(
                "{} {:#x} {:#x} {:?} {:?} {:?}",
                s.name, s.address, s.size, s.kind, s.binding, s.visibility
            )
        })
        .collect();
    symbols.sort();
    sections.chain(symbols).collect()
}

fn same_sections(a: &[u8], b: &[u8], names: &[&str], what: &str) {
    for name in names {
        assert!(
            section(a, name) == section(b, name),
            "{what}: {name} differs"
        );
    }
}

#[test]
fn code_objects_come_back_through_source() {
    for name in ["vadd", "mandelbrot", "matmul", "reduce"] {
        for arch in ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"] {
            let path = kernel(name, arch);
            let file = std::fs::read(&path).expect("a code object");
            for syntax in ["llvm", "clrx"] {
                let source = gcn(&["dis", &path, "--syntax", syntax]);
                assert_eq!(source.status, 0, "{path}: {}", source.stderr);
                let again = with_input(&["asm", "-", "-o", "-"], &source.stdout);
                assert_eq!(again.status, 0, "{path} {syntax}: {}", again.stderr);
                assert_eq!(again.stderr, "", "{path} {syntax}");
                same_sections(&file, &again.stdout, &[".text", ".rodata", ".note"], &path);
                assert_eq!(layout(&file), layout(&again.stdout), "{path} {syntax}");
            }
        }
    }
}

#[test]
fn data_addresses_and_zeros_come_back() {
    let source = "\
.amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"
.text
.globl f
f:
  s_getpc_b64 s[0:1]
  s_add_u32 s0, s0, g@rel32@lo+4
  s_addc_u32 s1, s1, g@rel32@hi+4
  s_endpgm
.data
.protected g
.globl g
.type g,@object
g: .long 1, 2, 3
.size g, 12
.quad f
.quad g+4
.bss
.globl z
z: .zero 64
.section .names,\"a\",@progbits
.asciz \"hello\"
";
    let first = with_input(&["asm", "-"], source.as_bytes());
    assert_eq!(first.status, 0, "{}", first.stderr);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.co");
    std::fs::write(&path, &first.stdout).expect("a file");
    let path = path.to_str().expect("UTF-8");
    for syntax in ["llvm", "clrx"] {
        let text = gcn(&["dis", path, "--syntax", syntax]);
        assert_eq!(text.status, 0, "{}", text.stderr);
        let again = with_input(&["asm", "-"], &text.stdout);
        assert_eq!(again.status, 0, "{}\n{}", again.stderr, text.text());
        let names = [".text", ".data", ".names", ".rela.dyn"];
        same_sections(&first.stdout, &again.stdout, &names, &text.text());
        assert_eq!(layout(&first.stdout), layout(&again.stdout));
    }
    let ran = gcn(&["dis", path, "--arch", "gfx906"]);
    assert!(
        ran.status == 1 && ran.stderr.contains("gfx900"),
        "{}",
        ran.stderr
    );
    // A relocatable object keeps its relocations.
    let object = with_input(&["asm", "-c", "-"], source.as_bytes());
    let text = with_input(&["dis", "-"], &object.stdout);
    assert_eq!(text.status, 0, "{}", text.stderr);
    let again = with_input(&["asm", "-c", "-"], &text.stdout);
    assert_eq!(again.status, 0, "{}\n{}", again.stderr, text.text());
    let names = [".text", ".data", ".names", ".rela.data"];
    same_sections(&object.stdout, &again.stdout, &names, &text.text());
}

#[test]
fn compilers_source_assembles() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["vadd", "mandelbrot", "matmul", "reduce"] {
        for arch in ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"] {
            let path = kernel(name, arch);
            let file = std::fs::read(&path).expect("a code object");
            let source = path.replace(".co", ".s");
            let out = folder.path().join("a.co");
            let ran = gcn(&["asm", &source, "-o", out.to_str().expect("UTF-8")]);
            assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{source}");
            let ours = std::fs::read(&out).expect("the output");
            // Not .rodata: the compiler counts VCC among the SGPRs, but its own listing does not.
            same_sections(&file, &ours, &[".text", ".note"], &source);
            assert_eq!(
                section(&file, ".rodata").len(),
                section(&ours, ".rodata").len()
            );
            let raw = gcn(&["asm", "--raw", &source, "-o", "-"]);
            assert!(raw.stdout == section(&file, ".text"), "{source}: --raw");
        }
    }
}

/// Answers to JSON lines.
fn answers(lines: &str) -> Vec<serde_json::Value> {
    let ran = with_input(&["eval", "--json", "-"], lines.as_bytes());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let text = ran.text();
    text.lines()
        .map(|l| serde_json::from_str(l).expect("JSON"))
        .collect()
}

/// The answer to one request.
fn answer(line: &str) -> serde_json::Value {
    let mut all = answers(line);
    assert_eq!(all.len(), 1, "{line}");
    all.remove(0)
}

#[test]
fn json_says_only_what_changed() {
    let got = answer(
        r#"{"arch":"gfx900","inst":"v_add_f32 v2, v0, v1","state":{"exec":"0x5","v":{"0":"0x3f800000","1":"0x40000000"}}}"#,
    );
    let v2 = &got["state"]["v"]["2"];
    assert_eq!(v2.as_array().map(Vec::len), Some(64));
    assert_eq!(
        (&v2[0], &v2[1], &v2[2]),
        (&"0x40400000".into(), &"0x0".into(), &"0x40400000".into())
    );
    assert_eq!(got["state"].as_object().map(|o| o.len()), Some(1));
    assert_eq!(got["state"]["v"].as_object().map(|o| o.len()), Some(1));
    assert_eq!((&got["pc"], &got["end"]), (&4.into(), &"fell_off".into()));

    let cases = [
        (
            r#""inst":"s_mov_b32 s0, 5; s_mov_b32 s1, 6\ns_add_u32 s2, s0, s1""#,
            r#"{"state":{"s":{"0":"0x5","1":"0x6","2":"0xb"}},"pc":12,"end":"fell_off"}"#,
        ),
        (
            r#""bytes":"850080be""#,
            r#"{"state":{"s":{"0":"0x5"}},"pc":4,"end":"fell_off"}"#,
        ),
        (
            r#""inst":"s_mov_b64 exec, 0""#,
            r#"{"state":{"exec":"0x0"},"pc":4,"end":"fell_off"}"#,
        ),
        (
            r#""inst":"s_mov_b64 vcc, -1; s_mov_b32 m0, 3; s_mov_b64 flat_scratch, 5; s_cmp_eq_u32 0, 0""#,
            r#"{"state":{"flat_scratch":"0x5","vcc":"0xffffffffffffffff","m0":"0x3","scc":1},"pc":16,"end":"fell_off"}"#,
        ),
        (
            r#""inst":"s_mov_b32 ttmp3, 3""#,
            r#"{"state":{"ttmp":{"3":"0x3"}},"pc":4,"end":"fell_off"}"#,
        ),
        (
            r#""inst":"s_setreg_imm32_b32 hwreg(HW_REG_MODE), 3; s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS), 3""#,
            r#"{"state":{"mode":"0x3","trapsts":"0x3"},"pc":16,"end":"fell_off"}"#,
        ),
        (
            r#""inst":"s_setvskip 1, 0""#,
            r#"{"state":{"mode":"0x100003c0","vskip":1},"pc":4,"end":"fell_off"}"#,
        ),
        (
            r#""inst":"s_set_gpr_idx_on s0, 1","state":{"s":{"0":"0x5"}}"#,
            r#"{"state":{"m0":"0x1005","mode":"0x80003c0"},"pc":4,"end":"fell_off"}"#,
        ),
        (
            r#""inst":"s_add_u32 s0, s0, s1","state":{"s":{"0":"0xffffffff","1":1}}"#,
            r#"{"state":{"s":{"0":"0x0"},"scc":1},"pc":4,"end":"fell_off"}"#,
        ),
        (
            r#""inst":"ds_write_b32 v0, v1","state":{"v":{"0":"0x10","1":"0x7"},"m0":"0xffffffff","exec":"0x1"}"#,
            r#"{"state":{"lds":{"0x10":"0x7"}},"pc":8,"end":"fell_off"}"#,
        ),
        (
            r#""inst":"global_store_dword v[0:1], v2, off","state":{"v":{"0":"0x10","1":"0x7f00","2":"0x7"},"mem":{"0x7f0000000010":"0x5"},"exec":"0x1"}"#,
            r#"{"state":{"mem":{"0x7f0000000010":"0x7"}},"pc":8,"end":"fell_off"}"#,
        ),
        (
            r#""inst":"s_load_dword s0, s[2:3], 0x4","state":{"s":{"2":"0x1000"},"mem":{"0x1004":"0x99"}}"#,
            r#"{"state":{"s":{"0":"0x99"}},"pc":8,"end":"fell_off"}"#,
        ),
        (
            r#""inst":"s_mov_b32 s0, 1; s_mov_b32 s1, 1","pc":4"#,
            r#"{"state":{"s":{"1":"0x1"}},"pc":8,"end":"fell_off"}"#,
        ),
    ];
    for (request, expected) in cases {
        let got = answer(&format!(r#"{{"arch":"gfx900",{request}}}"#));
        let expected: serde_json::Value = serde_json::from_str(expected).expect("JSON");
        assert_eq!(got, expected, "{request}");
    }
}

#[test]
fn json_has_what_was_exported() {
    let answer = answer(
        r#"{"arch":"gfx803","inst":"exp mrt0 v0, off, v1, off done vm","state":{"exec":"0x3","v":{"0":"1.0","1":7}}}"#,
    );
    let exports = &answer["state"]["exp"];
    assert_eq!(exports["done"], true);
    assert_eq!(exports["valid"], "0x3");
    let lane = |component: usize, lane: usize| exports["mrt0"][component][lane].clone();
    assert_eq!(lane(0, 1), "0x3f800000");
    assert_eq!(lane(0, 2), "0x0");
    assert_eq!(lane(1, 0), "0x0");
    assert_eq!(lane(2, 0), "0x7");
    assert_eq!(exports["mrt0"][3].as_array().map(Vec::len), Some(64));
}

#[test]
fn options_are_the_defaults_of_json_lines() {
    let args = ["eval", "--json", "-", "--arch", "gfx803", "--max", "3"];
    let lines = b"{\"inst\":\"L: s_branch L\"}\n{\"inst\":\"s_nop 0\",\"max\":0}\n";
    let ran = with_input(&args, lines);
    assert_eq!(
        ran.text(),
        "{\"state\":{},\"pc\":0,\"end\":\"limit\"}\n".repeat(2)
    );
}

#[test]
fn json_ends() {
    for (request, end, pc) in [
        (r#""inst":"s_nop 0""#, "fell_off", 4),
        (r#""inst":"s_endpgm""#, "endpgm", 0),
        (r#""inst":"s_nop 0; s_trap 3""#, "trap", 4),
        (r#""inst":"s_sethalt 1; s_nop 0""#, "halt", 4),
        (r#""inst":"s_barrier; s_nop 0""#, "barrier", 4),
        (r#""inst":"L: s_branch L""#, "limit", 0),
        (r#""inst":"s_nop 0; s_nop 0; s_nop 0","max":2"#, "limit", 8),
        (r#""bytes":"ffffffff""#, "fault", 0),
    ] {
        let got = answer(&format!(r#"{{"arch":"gfx900",{request}}}"#));
        assert_eq!(
            (&got["end"], &got["pc"]),
            (&end.into(), &pc.into()),
            "{request}: {got}"
        );
        assert_eq!(got.get("fault").is_some(), end == "fault", "{got}");
    }
    let got = answer(
        r#"{"arch":"gfx900","inst":"global_load_dword v1, v[2:3], off","state":{"exec":"0x8","v":{"2":"0x5000"}}}"#,
    );
    let fault = &got["fault"];
    assert_eq!(
        (&fault["addr"], &fault["lane"], &fault["pc"]),
        (&"0x5000".into(), &3.into(), &0.into())
    );
    assert_eq!(fault["inst"], "global_load_dword v1, v[2:3], off");
}

#[test]
fn a_bad_json_line_does_not_stop_the_stream() {
    let bad = [
        r#"garbage"#,
        r#"[1]"#,
        r#"{"inst":"s_nop 0"}"#,
        r#"{"arch":"gfx900"}"#,
        r#"{"arch":"gfx901","inst":"s_nop 0"}"#,
        r#"{"arch":"gfx900","inst":"foo"}"#,
        r#"{"arch":"gfx900","inst":"v_mov_b32 v300, 1"}"#,
        r#"{"arch":"gfx900","bytes":"zz"}"#,
        r#"{"arch":"gfx900","bytes":"123"}"#,
        r#"{"arch":"gfx900","inst":"s_nop 0","states":{}}"#,
        r#"{"arch":"gfx900","inst":"s_nop 0","pc":-4}"#,
        r#"{"arch":"gfx900","inst":"s_nop 0","max":-1}"#,
        r#"{"arch":"gfx900","inst":"s_nop 0","state":{"foo":1}}"#,
        r#"{"arch":"gfx900","inst":"s_nop 0","state":{"v":{"256":"0x1"}}}"#,
        r#"{"arch":"gfx900","inst":"s_nop 0","state":{"s":{"102":"0x1"}}}"#,
        r#"{"arch":"gfx900","inst":"s_nop 0","state":{"s":{"0":"0x100000000"}}}"#,
        r#"{"arch":"gfx900","inst":"s_nop 0","state":{"v":{"0":["0x1"]}}}"#,
        r#"{"arch":"gfx900","inst":"s_nop 0","state":{"lds":{"0x10000":"0x1"}}}"#,
        r#"{"arch":"gfx900","inst":"s_nop 0","state":{"lds":{"-1":"0x1"}}}"#,
        r#"{"arch":"gfx900","inst":"s_nop 0","state":{"mem":{"0x1000000000000":"0x1"}}}"#,
        r#"{"arch":"gfx900","inst":"s_nop 0","state":{"mem":{"0x10000000000000000":"0x1"}}}"#,
        r#"{"arch":"gfx600","inst":"s_nop 0","state":{"flat_scratch":"0x1"}}"#,
    ];
    let mut lines = Vec::new();
    for line in bad {
        lines.extend(line.bytes());
        lines.extend(b"\n");
    }
    // A line that is not UTF-8, an empty line, which has no answer, and a valid one without a line's end.
    lines.extend(b"\xff\xfe\n\n{\"arch\":\"gfx900\",\"inst\":\"s_nop 0\"}");
    let ran = with_input(&["eval", "--json", "-"], &lines);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let text = ran.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), bad.len() + 2);
    for (request, line) in bad.iter().zip(&lines) {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert!(value["error"].is_string(), "{request}: {line}");
    }
    assert!(lines[bad.len()].contains("error"));
    assert_eq!(
        lines[bad.len() + 1],
        r#"{"state":{},"pc":4,"end":"fell_off"}"#
    );
}

#[test]
fn lines_of_the_test_language() {
    let eval = |line: &str| -> Ran { gcn(&["eval", "--arch", "gfx900", line]) };
    for (line, printed) in [
        (
            "v_add_f32 v2, v0, v1   v0 = 1.0, v1 = 2.0",
            "v2 = 0x40400000\n",
        ),
        (
            "v_add_f32 v2, v0, v1   v0 = 1.0, v1 = 2.0 => v2 = 3.0",
            "v2 = 0x40400000\n",
        ),
        (
            "v_cmp_lt_f32 vcc, v0, v1   v0 = [1.0, 3.0 ..], v1 = 2.0",
            "vcc = 1\n",
        ),
        ("s_nop 0", "nothing changed\n"),
        (
            "s_barrier => end = barrier",
            "nothing changed, pc = 0x4, end = barrier\n",
        ),
    ] {
        let ran = eval(line);
        assert_eq!(
            (ran.status, ran.text().as_str()),
            (0, printed),
            "{line}: {}",
            ran.stderr
        );
    }
    for (line, says) in [
        (
            "v_add_f32 v2, v0, v1   v0 = 1.0, v1 = 2.0 => v2 = 4.0",
            "v2 is 0x40400000, expected 0x40800000",
        ),
        ("v_add_f32 v2, v0, v1   v0 = 1.0 =>", "does not list"),
        ("s_nop 0 => end = nonsense", "end: expected one of"),
        ("s_nop 0   v300 = 1", "`v300`"),
        ("s_nop 0   lds[0x100000] = 1", "beyond"),
        ("s_nop 0   v0 = x", "`x` is not a number"),
        ("global_load_dword v0, v[2:3], off", "address 0x0, lane 0"),
        (
            "global_load_dword v0, v[2:3], off =>",
            "address 0x0, lane 0",
        ),
    ] {
        let ran = eval(line);
        assert_eq!(ran.status, 1, "{line}");
        assert!(ran.stderr.contains(says), "{line}: {}", ran.stderr);
    }
}

#[test]
fn documents() {
    let page = gcn(&["doc", "s_bfe_u32"]).text();
    for part in ["SOP2", "Opcode: 39", "37", "## Operation"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(gcn(&["doc", "--stats"]).text().contains("SOP2"));
    let stats = gcn(&["doc", "--stats", "--json"]).text();
    let stats: serde_json::Value = serde_json::from_str(&stats).expect("JSON");
    let formats = stats["formats"].as_array().expect("a list");
    for key in ["rows", "meanings"] {
        let sum: u64 = formats
            .iter()
            .map(|f| f[key].as_u64().expect("a number"))
            .sum();
        assert_eq!(stats["total"][key], sum, "{key}");
    }
    assert_eq!(formats[0]["format"], "SOP1");
    assert_eq!(
        formats[0]["generations"]["gfx6"],
        formats[0]["targets"]["gfx600"]
    );
    let lines = gcn(&["doc", "--exactness"]).text();
    let all = gcn(&["doc", "--exactness", "--json"]).text();
    let all: serde_json::Value = serde_json::from_str(&all).expect("JSON");
    let rows = all["rows"].as_array().expect("a list");
    let of = |class: &str| rows.iter().filter(|r| r["class"] == class).count();
    let counts = ["exact", "bounded", "unsupported"].map(|class| {
        assert_eq!(all["counts"][class], of(class), "{class}");
        format!("{} {class}", of(class))
    });
    assert_eq!(lines.lines().last(), Some(counts.join(", ").as_str()));
    assert_eq!(lines.lines().count(), rows.len() + 2);
    assert!(
        rows.iter()
            .any(|r| r["name"] == "s_bfe_u32" && r["class"] == "exact")
    );
    let told = |r: &&serde_json::Value| r["class"] != "exact";
    for row in rows.iter().filter(told) {
        assert!(row["bound"].is_string(), "{row}");
    }
    assert!(gcn(&["doc", "s_bfe_u3"]).stderr.contains("s_bfe_u32"));
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("pages");
    let ran = gcn(&["doc", "--all", "-o", out.to_str().expect("UTF-8")]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let pages = std::fs::read_dir(&out).expect("pages").count();
    assert_eq!(pages, gcn::isa::Format::ALL.len());
}

#[test]
fn raw_output_is_the_text_section() {
    assert_eq!(raw("vega10", "s_endpgm\n"), [0, 0, 0x81, 0xbf]);
    assert_eq!(raw("gcn1.4.1", "L: s_branch L\n"), [0xff, 0xff, 0x82, 0xbf]);
}

#[test]
fn completions_and_manual_pages() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ran = gcn(&["completions", shell]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        for word in ["bundle", "show-encoding", "gfx906"] {
            assert!(ran.text().contains(word), "{shell} completes no {word}");
        }
    }
    let page = gcn(&["man"]);
    assert!(page.text().contains(".TH gcn 1"), "{}", page.text());
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("man1");
    let ran = gcn(&["man", "-o", path.to_str().expect("UTF-8")]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    for name in [
        "gcn",
        "gcn-asm",
        "gcn-dis",
        "gcn-info",
        "gcn-bundle-replace",
    ] {
        let page = std::fs::read_to_string(path.join(format!("{name}.1"))).expect("a page");
        assert!(page.contains(".SH"), "{name}");
    }
}

/// A kernel with an `amd_kernel_code_t`, and the user SGPRs that only such kernels have: the numbers of workgroups.
#[test]
fn kernels_of_code_object_v2_run() {
    let source = "\
.hsa_code_object_version 2,1
.hsa_code_object_isa 9,0,0,\"AMD\",\"AMDGPU\"
.text
.p2align 8
.globl k
.amdgpu_hsa_kernel k
k:
.amd_kernel_code_t
 enable_sgpr_kernarg_segment_ptr = 1
 enable_sgpr_grid_workgroup_count_x = 1
 enable_sgpr_grid_workgroup_count_y = 1
 user_sgpr_count = 4
 kernarg_segment_byte_size = 8
 granulated_wavefront_sgpr_count = 1
 is_ptr64 = 1
.end_amd_kernel_code_t
s_load_dwordx2 s[6:7], s[0:1], 0x0
v_mov_b32 v0, 0
v_mov_b32 v1, s2
v_mov_b32 v2, s3
s_waitcnt lgkmcnt(0)
global_store_dwordx2 v0, v[1:2], s[6:7]
s_endpgm
";
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_string();
    let ran = with_input(
        &["asm", "--arch", "gfx900", "-o", &path("k.co"), "-"],
        source.as_bytes(),
    );
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let (object, out) = (path("k.co"), format!("0={}", path("out")));
    let ran = gcn(&[
        "run",
        &object,
        "--kernel",
        "k",
        "--grid",
        "6,10",
        "--group",
        "2,2",
        "--arg",
        "buf:zero:8",
        "--out",
        &out,
    ]);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(
        std::fs::read(path("out")).unwrap(),
        [3, 0, 0, 0, 5, 0, 0, 0]
    );
}

/// A temporary folder, and the path of a file in it.
#[cfg(unix)]
fn folder() -> (tempfile::TempDir, impl Fn(&str) -> String) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().to_path_buf();
    (folder, move |name: &str| {
        at.join(name).to_string_lossy().into_owned()
    })
}

/// Runs `gcn` in a shell: the words before it, and those after it.
#[cfg(unix)]
fn in_shell(before: &str, after: &str) -> (i32, String) {
    let line = format!("{before} {} {after}", env!("CARGO_BIN_EXE_gcn"));
    let out = std::process::Command::new("bash")
        .args(["-c", &line])
        .output()
        .expect("bash starts");
    let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
    (out.status.code().unwrap_or(-1), stderr)
}

#[cfg(unix)]
#[test]
fn outputs_are_whole_or_as_they_were() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (folder, path) = folder();
    let object = std::fs::read(kernel("vadd", "gfx900")).expect("a file");
    std::fs::write(
        path("vadd.s"),
        gcn(&["dis", &kernel("vadd", "gfx900")]).stdout,
    )
    .expect("a file");
    // A link to a link to a file with certain permissions: the links stay, the file is replaced, its permissions are kept.
    std::fs::write(path("old.co"), "old").expect("a file");
    let permissions = std::fs::Permissions::from_mode(0o640);
    std::fs::set_permissions(path("old.co"), permissions).expect("permissions");
    symlink("old.co", path("link.co")).expect("a link");
    symlink(path("link.co"), path("link-of-link.co")).expect("a link");
    let made = gcn(&["asm", &path("vadd.s"), "-o", &path("link-of-link.co")]);
    assert_eq!((made.status, made.stderr.as_str()), (0, ""));
    assert_eq!(std::fs::read(path("old.co")).expect("a file"), object);
    let about = std::fs::metadata(path("old.co")).expect("a file");
    assert_eq!(about.permissions().mode() & 0o777, 0o640);
    for link in ["link.co", "link-of-link.co"] {
        assert!(std::fs::read_link(path(link)).is_ok(), "{link}");
    }
    // A link to nothing becomes one to the file.
    symlink("new.co", path("dangling.co")).expect("a link");
    let made = gcn(&["asm", &path("vadd.s"), "-o", &path("dangling.co")]);
    assert_eq!(made.status, 0, "{}", made.stderr);
    assert_eq!(std::fs::read(path("new.co")).expect("a file"), object);
    // A full disk, simulated by a limit on the file size, leaves the old file unchanged and creates no other file.
    let many = format!(".text\n{}", "s_nop 0\n".repeat(20_000));
    std::fs::write(path("long.s"), many).expect("a file");
    let before = std::fs::read_dir(folder.path()).expect("a folder").count();
    for line in [
        format!("asm --arch gfx900 {} -o {}", path("long.s"), path("old.co")),
        format!(
            "dis {} --show-encoding -o {}",
            kernel("matmul", "gfx900"),
            path("old.co")
        ),
    ] {
        let (status, stderr) = in_shell("trap '' XFSZ; ulimit -f 4;", &line);
        assert_eq!(status, 1, "{stderr}");
        assert!(stderr.contains("old.co: File too large"), "{stderr}");
        assert_eq!(std::fs::read(path("old.co")).expect("a file"), object);
        let after = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(after, before);
    }
    // An output that is not a regular file is written directly.
    let fifo = path("fifo");
    let made = in_shell(
        &format!("mkfifo {fifo}; (cat {fifo} > {}) &", path("read.co")),
        &format!("asm {} -o {fifo}; wait", path("vadd.s")),
    );
    assert_eq!(made, (0, String::new()));
    assert_eq!(std::fs::read(path("read.co")).expect("a file"), object);
    let made = in_shell(
        "",
        &format!(
            "asm {} -o /dev/stdout > {}",
            path("vadd.s"),
            path("stdout.co")
        ),
    );
    assert_eq!(made, (0, String::new()));
    assert_eq!(std::fs::read(path("stdout.co")).expect("a file"), object);
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_written_is_told() {
    let run = format!(
        "run {} --kernel vadd --grid 256 --group 256 --arg buf:zero:1024 --arg buf:zero:1024 --arg buf:zero:1024 --arg u32:256 --trace=/dev/full",
        kernel("vadd", "gfx900")
    );
    for line in [
        "--help > /dev/full",
        "--version > /dev/full",
        "dis --help > /dev/full",
        "doc s_nop > /dev/full",
        &run,
    ] {
        let (status, stderr) = in_shell("", line);
        assert_eq!(status, 1, "{line}: {stderr}");
        assert!(stderr.contains("No space left"), "{line}: {stderr}");
    }
    assert_eq!(in_shell("", "--help | head -n 1").1, "");
}

#[cfg(target_os = "linux")]
#[test]
fn holes_and_endless_input_take_little_memory() {
    // The maximum memory: 1.5 GiB.
    const LIMIT: &str = "ulimit -v 1572864;";
    let (_folder, path) = folder();
    std::fs::copy(kernel("vadd", "gfx900"), path("hole.co")).expect("a copy");
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(path("hole.co"))
        .expect("a file");
    file.set_len(100 << 30).expect("a hole");
    let hole = path("hole.co");
    for (line, status, words) in [
        (format!("info {hole} > /dev/null"), 0, ""),
        (format!("dis {hole} -o /dev/null"), 0, ""),
        (format!("asm {hole}"), 1, "larger than 4 GiB"),
        (
            format!("dis --raw --arch gfx900 {hole}"),
            1,
            "larger than 4 GiB",
        ),
        ("dis /dev/zero".into(), 1, "no code object"),
        ("info - < /dev/zero".into(), 1, "no code object"),
        ("asm - < /dev/zero".into(), 1, "it has a zero byte"),
    ] {
        let (code, stderr) = in_shell(LIMIT, &line);
        assert_eq!(code, status, "{line}: {stderr}");
        assert!(stderr.contains(words), "{line}: {stderr}");
    }
    for contents in ["rand:17179869184:1", "randf32:4000000000:1"] {
        let line = format!(
            "run {} --kernel vadd --grid 256 --group 256 --arg buf:{contents} --arg buf:zero:1024 --arg buf:zero:1024 --arg u32:256",
            kernel("vadd", "gfx900")
        );
        let (code, stderr) = in_shell(LIMIT, &line);
        assert_eq!(code, 1, "{line}: {stderr}");
        assert!(
            stderr.contains("GiB of address space") && stderr.contains("ulimit -v"),
            "{stderr}"
        );
    }
}

#[test]
fn parts_of_raw_bytes_and_plain_objects() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("dump.bin");
    // A header of 16 bytes, s_nop 1, s_branch to it, s_endpgm.
    let code = [0xbf80_0001u32, 0xbf82_fffe, 0xbf81_0000];
    let code: Vec<u8> = code.iter().flat_map(|w| w.to_le_bytes()).collect();
    std::fs::write(&path, [&[0xff; 16][..], &code].concat()).expect("a file");
    let path = path.to_str().expect("UTF-8");
    let raw =
        |more: &[&str]| gcn(&[&["dis", "--raw", "--arch", "gfx900", path][..], more].concat());
    let skip = ["--skip", "16", "--base", "0x7f0000001000"];
    let text = raw(&skip).text();
    assert!(
        text.contains(".L7f0000001000:\n\ts_nop 1\n\ts_branch .L7f0000001000\n"),
        "{text}"
    );
    let again = with_input(&["asm", "--raw", "-", "-o", "-"], text.as_bytes());
    assert_eq!(again.stdout, code);
    let range = [
        &skip[..],
        &["--range", "0x7f0000001004..0x7f0000001008", "--plain"],
    ]
    .concat();
    assert_eq!(raw(&range).text(), "s_branch 65534\n");
    let range = [&skip[..], &["--range", "0x7f0000001008..", "--json"]].concat();
    assert!(
        raw(&range)
            .text()
            .starts_with("{\"address\":139637976731656,")
    );
    for (more, message) in [
        (
            &["--skip", "17000"][..],
            "dump.bin: --skip 0x4268: the file has 0x1c bytes",
        ),
        (&["--range", "0x100..0x200"], "the code is at 0x0..0x1c"),
        (&["--range", "2..8"], "multiples of 4"),
    ] {
        let ran = raw(more);
        assert!(
            ran.status == 1 && ran.stderr.contains(message),
            "{}",
            ran.stderr
        );
    }
    // With --raw on an object: the bytes of its code.
    let object = kernel("vadd", "gfx900");
    let file = std::fs::read(&object).expect("a kernel");
    let object = gcn::object::CodeObject::parse(&file).expect("an object");
    let text = object.section(".text").expect("code");
    let plain = gcn(&["dis", "--plain", &kernel("vadd", "gfx900")]).text();
    assert!(
        plain
            .lines()
            .all(|l| !l.ends_with(':') && !l.contains("//")),
        "{plain}"
    );
    let again = with_input(
        &[
            "asm",
            "--raw",
            "--permissive",
            "--arch",
            "gfx900",
            "-",
            "-o",
            "-",
        ],
        plain.as_bytes(),
    );
    assert!(
        again.stdout == object.section_data(text),
        "{}",
        again.stderr
    );
    let one = gcn(&[
        "dis",
        "--plain",
        "--kernel",
        "saxpy_f4",
        &kernel("vadd", "gfx900"),
    ])
    .text();
    assert!(plain.contains(&one) && one.len() < plain.len());
}

#[test]
fn names_of_cpp_are_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let vadd =
        std::fs::read_to_string(kernel("vadd", "gfx900").replace(".co", ".s")).expect("a source");
    let source = folder.path().join("cpp.s");
    std::fs::write(&source, vadd.replace("vadd", "_Z4vaddPKfS0_Pfj")).expect("a file");
    let object = folder.path().join("cpp.co");
    let paths = [&source, &object].map(|p| p.to_str().expect("UTF-8").to_owned());
    let ran = gcn(&["asm", &paths[0], "-o", &paths[1]]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let cpp = "vadd(float const*, float const*, float*, unsigned int)";
    let text = gcn(&["dis", &paths[1]]).text();
    assert!(
        text.contains(&format!("_Z4vaddPKfS0_Pfj: // {cpp}\n")),
        "{text}"
    );
    let again = folder.path().join("again.co");
    let again = again.to_str().expect("UTF-8");
    assert_eq!(
        with_input(&["asm", "-", "-o", again], text.as_bytes()).status,
        0
    );
    assert_eq!(gcn(&["dis", again]).text(), text);
    assert!(gcn(&["info", &paths[1]]).text().contains(cpp));
    let ran = gcn(&[
        "run", &paths[1], "--kernel", "none", "--grid", "1", "--group", "1",
    ]);
    assert!(
        ran.stderr.contains(&format!("_Z4vaddPKfS0_Pfj ({cpp})")),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_manual_has_contents() {
    let text = gcn(&["doc"]).text();
    for part in [
        "  SOP2 ",
        "gcn doc s_bfe_u32",
        "  SOP2: sop2-",
        "--exactness",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Each name in the list of errata has its entry.
    for name in ["sop2-bfe", "buffer-range"] {
        assert!(text.contains(name) && gcn(&["doc", name]).status == 0);
    }
    // The columns of opcodes are not repeated.
    for format in gcn::isa::Format::ALL {
        let page = gcn_cli::manual::format_page(format);
        let head = page
            .lines()
            .find(|l| l.starts_with("Opcode  "))
            .expect("a table");
        let mut names: Vec<&str> = head.split(['|', ',']).map(str::trim).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{head}");
    }
}
