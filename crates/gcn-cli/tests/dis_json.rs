//! `gcn dis --json`.

mod common;

use common::{gcn, kernel, with_input};
use serde_json::{Value, json};

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect()
}

fn assemble(arch: &str, source: &str) -> Vec<u8> {
    let args = [
        "asm",
        "--raw",
        "--permissive",
        "--arch",
        arch,
        "-",
        "-o",
        "-",
    ];
    let ran = with_input(&args, source.as_bytes());
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    ran.stdout
}

fn raw(arch: &str, bytes: &[u8]) -> Vec<Value> {
    let ran = with_input(&["dis", "--raw", "--json", "--arch", arch, "-"], bytes);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    lines(&ran.text())
}

#[test]
fn one_object_an_instruction() {
    let mut bytes = assemble(
        "gfx900",
        "v_add_f32_e64 v2, -|v0|, 0.5 clamp mul:2\n\
         s_add_u32 s2, vcc_lo, 0x12345678\n\
         ds_read_b64 v[2:3], v1 offset:8\n\
         s_cbranch_scc1 -2\n\
         s_endpgm\n",
    );
    bytes.extend([0xff, 0xff, 0xff, 0xff, 0xab]);
    let found = raw("gfx900", &bytes);
    let expected = [
        json!({
            "address": 0, "bytes": "028101d100e1010c3", "text": "",
            "row": "v_add_f32", "format": "VOP2", "encoding": "VOP3",
            "operands": [
                {"text": "v2", "role": "vdst", "type": "f32", "access": "write", "kind": "vgpr", "code": 258, "dwords": 1},
                {"text": "-|v0|", "role": "src0", "type": "f32", "access": "read", "kind": "vgpr", "code": 256, "dwords": 1},
                {"text": "0.5", "role": "src1", "type": "f32", "access": "read", "kind": "constant", "code": 240},
            ],
            "modifiers": ["clamp", "mul:2"],
            "reads": ["v0", "exec", "mode"], "writes": ["v2"], "flags": ["valu"],
        }),
        json!({
            "address": 8, "bytes": "6aff028078563412", "text": "s_add_u32 s2, vcc_lo, 0x12345678",
            "row": "s_add_u32", "format": "SOP2", "encoding": "SOP2", "literal": 0x12345678,
            "operands": [
                {"text": "s2", "role": "sdst", "type": "u32", "access": "write", "kind": "sgpr", "code": 2, "dwords": 1},
                {"text": "vcc_lo", "role": "ssrc0", "type": "u32", "access": "read", "kind": "special", "code": 106, "dwords": 1},
                {"text": "0x12345678", "role": "ssrc1", "type": "u32", "access": "read", "kind": "literal", "code": 255},
            ],
            "reads": ["vcc_lo"], "writes": ["s2", "scc"], "flags": ["salu"],
        }),
        json!({
            "address": 16, "bytes": "0800ecd801000002", "text": "ds_read_b64 v[2:3], v1 offset:8",
            "row": "ds_read_b64", "format": "DS", "encoding": "DS",
            "operands": [
                {"text": "v[2:3]", "role": "vdst", "type": "b64", "access": "write", "kind": "vgpr", "code": 258, "dwords": 2},
                {"text": "v1", "role": "dsaddr", "type": "b32", "access": "read", "kind": "vgpr", "code": 257, "dwords": 1},
            ],
            "modifiers": ["offset:8"],
            "reads": ["v1", "exec"], "writes": ["v[2:3]"],
            "memory": {"space": "lds", "kind": "load", "bytes": 8, "returns": true},
            "counters": ["lgkmcnt"], "flags": ["memory", "load"],
        }),
        json!({
            "address": 24, "bytes": "feff85bf", "text": "s_cbranch_scc1 65534",
            "row": "s_cbranch_scc1", "format": "SOPP", "encoding": "SOPP",
            "operands": [{"text": "65534", "role": "branch", "type": "b32", "access": "read", "kind": "immediate", "value": 65534}],
            "reads": ["scc"], "writes": [], "flags": ["salu", "branch", "conditional"], "target": 20,
        }),
        json!({
            "address": 28, "bytes": "000081bf", "text": "s_endpgm",
            "row": "s_endpgm", "format": "SOPP", "encoding": "SOPP",
            "operands": [], "reads": [], "writes": [], "flags": ["salu", "end"],
        }),
        json!({"address": 32, "bytes": "ffffffff", "unknown": true}),
        json!({"address": 36, "bytes": "ab", "unknown": true}),
    ];
    assert_eq!(found.len(), expected.len());
    for (found, mut expected) in found.into_iter().zip(expected) {
        if expected["text"] == "" {
            expected["text"] = json!("v_add_f32_e64 v2, -|v0|, 0.5 clamp mul:2");
            expected["bytes"] = found["bytes"].clone();
        }
        assert_eq!(found, expected);
    }
}

/// The bytes of all lines are those of the file, and the texts those of --plain.
#[test]
fn nothing_is_lost() {
    let mut state = 0x1234_5678_9abc_def1u64;
    let mut bytes = Vec::new();
    for _ in 0..5000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend((state as u32).to_le_bytes());
    }
    bytes.push(1);
    for arch in ["gfx600", "gfx701", "gfx803", "gfx906"] {
        let ran = with_input(&["dis", "--raw", "--plain", "--arch", arch, "-"], &bytes);
        let plain = ran.text();
        let mut hex = String::new();
        let mut at = 0;
        let found = raw(arch, &bytes);
        assert_eq!(found.len(), plain.lines().count());
        for (line, text) in found.iter().zip(plain.lines()) {
            assert_eq!(line["address"], at);
            let these = line["bytes"].as_str().unwrap();
            hex += these;
            at += these.len() / 2;
            match line["unknown"].as_bool() {
                Some(true) => assert!(text.starts_with('.'), "{text}"),
                _ => assert_eq!(line["text"], text),
            }
        }
        let all: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, all);
    }
}

#[test]
fn code_objects_have_sections_and_labels() {
    let ran = gcn(&["dis", "--json", &kernel("vadd", "gfx900")]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let found = lines(&ran.text());
    assert!(found.iter().all(|l| l["section"] == ".text"));
    assert!(
        found.iter().any(|l| l["labels"] == json!(["vadd"])),
        "no label vadd"
    );
    assert!(found.iter().any(|l| l["row"] == "s_endpgm"));
}

/// The section header of .text has its address at byte 16.
#[test]
fn sections_end_within_the_address_space() {
    let mut object = std::fs::read(kernel("vadd", "gfx900")).expect("an object");
    let qword = |at: usize| u64::from_le_bytes(object[at..at + 8].try_into().expect("8 bytes"));
    let headers = qword(40) as usize;
    let code = |header: &usize| qword(header + 8) & 4 != 0;
    let header = (headers..object.len()).step_by(64).find(code);
    let at = header.expect("a section with code") + 16;
    object[at..at + 8].copy_from_slice(&(u64::MAX - 3).to_le_bytes());
    let of_text = with_input(&["dis", "-"], &object);
    let of_json = with_input(&["dis", "--json", "-"], &object);
    for ran in [of_text, of_json] {
        let text = "section '.text' ends beyond the address space";
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
        assert_eq!((ran.status, ran.stdout.len()), (1, 0));
    }
}

#[test]
fn both_spellings() {
    let bytes = assemble("gfx803", "v_add_f32_e64 v2, |v0|, v1\n");
    let args = [
        "dis", "--raw", "--json", "--syntax", "clrx", "--arch", "gfx803", "-",
    ];
    let found = lines(&with_input(&args, &bytes).text());
    assert_eq!(found[0]["operands"][1]["text"], "abs(v0)");
    assert_eq!(found[0]["row"], "v_add_f32");
    let ran = with_input(
        &["dis", "--raw", "--json", "--plain", "--arch", "gfx803", "-"],
        &bytes,
    );
    assert_eq!(ran.status, 2, "{}", ran.stderr);
}
