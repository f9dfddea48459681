//! `gcn check --static` as a user calls it.

use std::path::PathBuf;
use std::process::{Command, Output};

/// Early uses of a scalar and a vector load, and wait states that are missing.
const WRONG: &str = "\
.amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"
.text
.p2align 8
k:
	s_load_dwordx2 s[2:3], s[0:1], 0x0
	v_lshlrev_b32_e32 v2, 2, v0
	global_load_dword v1, v2, s[2:3]
	v_readfirstlane_b32 s2, v0
	v_add_f32_e32 v4, v1, v1
	global_store_dword v2, v4, s[2:3]
	s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
	.amdhsa_next_free_vgpr 8
	.amdhsa_next_free_sgpr 8
	.amdhsa_user_sgpr_kernarg_segment_ptr 1
.end_amdhsa_kernel
";

fn gcn(args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_gcn")).args(args).output();
    output.expect("the command runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The assembled kernel, in a folder of its own, with lines of source.
fn wrong(name: &str) -> (PathBuf, String) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("check-{name}"));
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = folder.join("k.s");
    std::fs::write(&source, WRONG).expect("the source is written");
    let object = folder.join("k.co");
    let path = object.to_str().expect("a path in UTF-8").to_string();
    let source = source.to_str().expect("a path in UTF-8");
    let output = gcn(&["asm", "-g", source, "-o", &path]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    (folder, path)
}

#[test]
fn reports_as_text() {
    let (_, object) = wrong("text");
    let output = gcn(&["check", "--static", &object]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "");
    let out = text(&output.stdout);
    let heads: Vec<&str> = out.lines().filter(|l| l.starts_with("error")).collect();
    assert_eq!(heads.len(), 3, "{out}");
    assert_eq!(
        heads[0],
        "error[waitcnt]: s2 is read, but no wait for lgkmcnt guarantees that its value has arrived"
    );
    assert!(
        heads[1].starts_with("error[waitcnt]: v1 is read, but"),
        "{out}"
    );
    assert!(
        heads[2].starts_with("error[hazard]: 4 wait states are missing"),
        "{out}"
    );
    assert!(out.contains("k.s:7)\n"), "{out}");
    // Marks below the registers.
    assert!(
        out.contains(
            " | global_load_dword v1, v2, s[2:3]\n     |                           ^^^^^^ here\n"
        ),
        "{out}"
    );
    assert!(
        out.contains(
            " | v_readfirstlane_b32 s2, v0\n     |                     -- s2 is written here\n"
        ),
        "{out}"
    );
    assert!(out.contains("= help: insert s_nop 3 before it"), "{out}");
}

#[test]
fn reports_as_json_and_sarif() {
    let (folder, object) = wrong("json");
    let sarif = folder.join("k.sarif");
    let sarif = sarif.to_str().expect("a path in UTF-8");
    let output = gcn(&[
        "check",
        "--static",
        &object,
        "--json",
        "--max-reports",
        "2",
        "--sarif",
        sarif,
    ]);
    assert_eq!(output.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (
            json["total"].as_u64(),
            json["reports"].as_array().map(Vec::len)
        ),
        (Some(3), Some(2))
    );
    let report = &json["reports"][0];
    assert_eq!(report["check"], "waitcnt");
    assert_eq!(report["kernel"], "k");
    assert_eq!(report["instruction"], "global_load_dword v1, v2, s[2:3]");
    assert_eq!(report["related"][0]["role"], "producer");
    assert_eq!(
        report["related"][0]["instruction"],
        "s_load_dwordx2 s[2:3], s[0:1], 0x0"
    );
    assert!(
        report["source"]
            .as_str()
            .is_some_and(|s| s.ends_with("k.s:7"))
    );
    assert_eq!(report["pc"].as_u64().map(|pc| pc % 256), Some(12));
    let log = std::fs::read(sarif).expect("SARIF is written");
    let log: serde_json::Value = serde_json::from_slice(&log).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let results = log["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.len(), 3);
    let rule = results[2]["ruleIndex"].as_u64().expect("an index") as usize;
    assert_eq!(
        log["runs"][0]["tool"]["driver"]["rules"][rule]["id"],
        results[2]["ruleId"]
    );
    assert_eq!(
        results[0]["locations"][0]["physicalLocation"]["region"]["startLine"],
        7
    );
}

#[test]
fn known_reports_are_left_out() {
    let (folder, object) = wrong("known");
    let lines = gcn(&["check", "--static", &object, "--gen-suppressions"]);
    assert_eq!(lines.status.code(), Some(1));
    let known = folder.join("known");
    std::fs::write(&known, &lines.stdout).expect("the file is written");
    let known = known.to_str().expect("a path in UTF-8");
    let output = gcn(&["check", "--static", &object, "--suppress", known]);
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(0), String::new())
    );
    std::fs::write(known, "hazard * *\n").expect("the file is written");
    let output = gcn(&["check", "--static", &object, "--suppress", known]);
    assert_eq!(output.status.code(), Some(1));
    assert!(!text(&output.stdout).contains("error[hazard]"));
    std::fs::write(known, "hazard\n").expect("the file is written");
    let output = gcn(&["check", "--static", &object, "--suppress", known]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("known:1: expected CHECK RULE KERNEL"));
}

#[test]
fn command_lines() {
    let (_, object) = wrong("lines");
    let only = gcn(&["check", "--static", &object, "--checks", "hazard"]);
    assert_eq!(text(&only.stdout).matches("error[").count(), 1);
    let without = gcn(&["check", "--static", &object, "--checks", "-hazard"]);
    assert_eq!(text(&without.stdout).matches("error[").count(), 2);
    let none = gcn(&["check", "--static", &object, "--checks", "uninit"]);
    assert_eq!(none.status.code(), Some(0));
    assert_eq!(
        gcn(&["check", "--static", &object, "--checks", "race"])
            .status
            .code(),
        Some(2)
    );
    assert_eq!(
        gcn(&["check", "--static", &object, "--checks", "nothing"])
            .status
            .code(),
        Some(2)
    );
    let missing = gcn(&["check", "--static", &object, "--kernel", "other"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).contains("there is no kernel or function `other`"));
}

/// Compiled code has nothing that is wrong.
#[test]
fn compiled_kernels_are_silent() {
    let folders = ["testdata/kernels", "testdata/bench", "testdata/listings"];
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = 0;
    for folder in folders {
        for entry in std::fs::read_dir(root.join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|e| e == "co") {
                let output = gcn(&["check", "--static", path.to_str().expect("a path in UTF-8")]);
                assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
                files += 1;
            }
        }
    }
    assert!(files > 20, "{files} files");
}

/// The manual has a page for each check and each hazard.
#[test]
fn pages() {
    for name in ["waitcnt", "hazard", "uninit", "valu-sgpr-vmem"] {
        let page = gcn(&["doc", name]);
        assert!(page.status.success() && page.stdout.len() > 100, "{name}");
    }
    let page = text(&gcn(&["doc", "v_div_fmas_f32"]).stdout);
    let line = "valu-div-fmas | second | a vector ALU instruction writes VCC | 4 | v_div_fmas reads VCC | ";
    assert!(page.contains(line), "{page}");
}
