//! `gcn info`.

mod common;

use common::{gcn, kernel, with_input};
use serde_json::{Value, json};

fn json_of(path: &str) -> Value {
    let ran = gcn(&["info", path, "--json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    serde_json::from_str(&ran.text()).expect("JSON")
}

#[test]
fn kernels_are_described() {
    let info = json_of(&kernel("reduce", "gfx900"));
    assert_eq!(info["target"], "amdgcn-amd-amdhsa--gfx900");
    assert_eq!(
        info["features"],
        json!({"xnack": "any", "sramecc": "unsupported"})
    );
    assert_eq!(info["code_object_version"], 4);
    assert_eq!(
        (&info["abi"], &info["kind"]),
        (&json!("amdhsa"), &json!("loadable"))
    );
    let kernel = &info["kernels"][0];
    assert_eq!(kernel["name"], "reduce_sum");
    assert_eq!(
        (&kernel["vgprs"], &kernel["allocated_vgprs"]),
        (&json!(7), &json!(8))
    );
    assert_eq!(
        (&kernel["sgprs"], &kernel["allocated_sgprs"]),
        (&json!(15), &json!(16))
    );
    assert_eq!(
        (&kernel["waves_per_simd"], &kernel["limited_by"]),
        (&json!(10), &json!("none"))
    );
    assert_eq!(kernel["code_bytes"], 344);
    assert_eq!(kernel["max_workgroup_size"], 256);
    assert_eq!(kernel["required_workgroup_size"], Value::Null);
    let arguments = kernel["arguments"].as_array().expect("arguments");
    assert_eq!(arguments.len(), 11);
    assert_eq!(
        arguments[3],
        json!({"name": null, "type": "int*", "offset": 20, "bytes": 4, "kind": "dynamic_shared_pointer",
               "address_space": "local", "access": null, "hidden": false})
    );
    assert_eq!(arguments[4]["hidden"], true);
    let mix = kernel["instructions"].as_object().expect("counts");
    let count = |name: &str| mix[name].as_u64().expect("a number");
    let classes = [
        "valu", "interp", "salu", "smem", "vmem", "flat", "scratch", "lds", "gds", "export",
        "branch", "wait", "barrier", "other",
    ];
    assert_eq!(
        classes.iter().map(|c| count(c)).sum::<u64>(),
        count("total")
    );
    assert_eq!(
        (count("barrier"), count("lds"), count("unknown")),
        (1, 5, 0)
    );
}

#[test]
fn text_names_what_limits() {
    // 72 VGPRs leave room for three waves, 40 KiB of LDS for one workgroup of four.
    let source = |vgprs: u32, lds: u32| {
        format!(
            ".amdgcn_target \"amdgcn-amd-amdhsa--gfx906:xnack-\"\n.globl k\n.p2align 8\nk: s_endpgm\n.size k, 4\n\
             .section .rodata,\"a\"\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_next_free_vgpr {vgprs}\n\
             .amdhsa_next_free_sgpr 8\n.amdhsa_group_segment_fixed_size {lds}\n.end_amdhsa_kernel\n"
        )
    };
    for (vgprs, lds, line) in [
        (8, 0, "  waves         10 of 10 a SIMD\n"),
        (72, 0, "  waves         3 of 10 a SIMD, limited by VGPRs\n"),
        (8, 40960, "  waves         1 of 10 a SIMD, limited by LDS\n"),
    ] {
        for args in [&["asm", "-", "-o", "-"][..], &["asm", "-c", "-", "-o", "-"]] {
            let object = with_input(args, source(vgprs, lds).as_bytes());
            assert_eq!(object.status, 0, "{}", object.stderr);
            let text = with_input(&["info", "-"], &object.stdout).text();
            assert!(text.contains(line), "{text}");
            assert!(text.contains("xnack off, sramecc any"), "{text}");
            assert!(text.contains("  mix           other 1\n"), "{text}");
        }
    }
}

#[test]
fn what_is_no_code_object() {
    for input in [&b""[..], b"\x7fELF", b"text"] {
        let ran = with_input(&["info", "-"], input);
        assert_eq!((ran.status, ran.text().as_str()), (1, ""));
        assert!(!ran.stderr.is_empty());
    }
    assert_eq!(
        gcn(&["info", &kernel("vadd", "gfx900"), "--entry", "7"]).status,
        1
    );
    assert_eq!(gcn(&["info"]).status, 2);
}
