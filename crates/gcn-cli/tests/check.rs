//! Tests of the command `gcn check`.

use std::path::PathBuf;
use std::process::{Command, Output};

/// Early uses of a scalar and a vector load, and missing wait states.
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

/// Compiled code causes no reports.
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

/// Two missing waits, an undefined VGPR, a race in LDS, and a store 16 bytes past its buffer.
const FOUR: &str = "\
.amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"
.text
.p2align 8
k:
	s_load_dwordx2 s[2:3], s[0:1], 0x0
	s_load_dword s4, s[0:1], 0x8
	v_lshlrev_b32_e32 v2, 2, v0
	v_mov_b32_e32 v7, s4
	ds_write_b32 v2, v0
	s_waitcnt lgkmcnt(0)
	v_xor_b32_e32 v3, 0x100, v2
	ds_read_b32 v4, v3
	v_add_u32_e32 v4, v4, v7
	s_waitcnt lgkmcnt(0)
	global_store_dword v2, v4, s[2:3] offset:16
	global_store_dword v2, v9, s[2:3]
	s_endpgm
.rodata
.p2align 6
.amdhsa_kernel k
	.amdhsa_group_segment_fixed_size 512
	.amdhsa_next_free_vgpr 12
	.amdhsa_next_free_sgpr 8
	.amdhsa_user_sgpr_kernarg_segment_ptr 1
.end_amdhsa_kernel
";

/// The arguments of a run of `FOUR`.
fn four(name: &str) -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let source = folder.join(format!("check-{name}.s"));
    std::fs::write(&source, FOUR).expect("the source is written");
    let launch = "--grid 128 --group 128 --arg buf:zero:512 --arg u32:1";
    let source = source.to_str().expect("a path in UTF-8").to_string();
    let launch = launch.split(' ').map(String::from);
    std::iter::once(source).chain(launch).collect()
}

#[test]
fn one_run_finds_all() {
    let arguments = four("all");
    let check = |more: &[&str]| {
        let mut all = vec!["check"];
        all.extend(arguments.iter().map(String::as_str));
        all.extend(more);
        gcn(&all)
    };
    let output = check(&["--json", "--metrics"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let reports = json["reports"].as_array().expect("reports");
    let of = |check: &str| reports.iter().filter(|r| r["check"] == check).count();
    // The last four lanes of a wave also store to addresses of the other wave.
    assert_eq!((of("waitcnt"), of("race"), of("oob")), (2, 2, 1), "{json}");
    assert!(
        reports.iter().any(|r| r["check"] == "uninit"
            && r["message"].as_str().is_some_and(|m| m.starts_with("v9 ")))
    );
    let oob = reports
        .iter()
        .find(|r| r["check"] == "oob")
        .expect("a report");
    assert_eq!(oob["lanes"], "0xf000000000000000");
    assert_eq!(oob["workgroup"], serde_json::json!([0, 0, 0]));
    assert_eq!((&oob["at"]["launch"], &oob["wave"]), (&0.into(), &1.into()));
    assert_eq!(json["run"]["waves"], 2);
    assert_eq!(
        json["metrics"]["lds"][0]["instruction"],
        "ds_write_b32 v2, v0"
    );
    // Any number of threads and either engine give the same result.
    let again = check(&["--json", "--metrics", "--threads", "2"]);
    let again: serde_json::Value = serde_json::from_slice(&again.stdout).expect("JSON");
    assert_eq!(again["reports"], json["reports"]);
    // One check alone, one check removed, and suppressions of all reports.
    let only = check(&["--json", "--checks", "oob"]);
    let only: serde_json::Value = serde_json::from_slice(&only.stdout).expect("JSON");
    assert_eq!(only["total"], 1);
    let known = check(&["--gen-suppressions"]);
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("four-known.txt");
    std::fs::write(&file, &known.stdout).expect("the file is written");
    let quiet = check(&["--suppress", file.to_str().expect("a path in UTF-8")]);
    assert_eq!(
        (quiet.status.code(), text(&quiet.stdout)),
        (Some(0), String::new())
    );
}

#[test]
fn a_run_is_checked_beside_its_results() {
    let mut arguments = vec!["run".to_string()];
    arguments.extend(four("run"));
    arguments.extend(["--check=oob,race".to_string(), "--json".to_string()]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = gcn(&arguments);
    assert_eq!(output.status.code(), Some(1));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["waves"], 2);
    assert_eq!(json["reports"].as_array().map(Vec::len), Some(3), "{json}");
    let told = text(&output.stderr);
    assert!(
        told.contains("error[oob]") && told.contains("error[race]"),
        "{told}"
    );
}

#[test]
fn plans_are_checked_and_wrong_lists_refused() {
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/saxpy.toml");
    let output = gcn(&["check", plan, "--checks", "all"]);
    assert_eq!(
        (output.status.code(), text(&output.stdout)),
        (Some(0), String::new())
    );
    let output = gcn(&["check", plan, "--checks", "bounds"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("`bounds` is no check: expected oob, uninit"));
    let output = gcn(&["check", "kernel.co"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--grid and --group are required"));
    let output = gcn(&["check", "--static", "kernel.co", "--grid", "64"]);
    assert_eq!(output.status.code(), Some(2));
}

/// Reports and errors of a source name its lines, without an object.
#[test]
fn sources_are_named_with_their_lines() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("check-lines");
    std::fs::create_dir_all(&folder).expect("a folder");
    let examples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let source = std::fs::read_to_string(examples.join("absolute.s")).expect("an example");
    let far = source.replace("v2, s[6:7]", "v2, s[6:7] offset:2048");
    let line = 1 + far
        .lines()
        .position(|l| l.contains("offset:2048"))
        .expect("it is there");
    let file = folder.join("far.s");
    std::fs::write(&file, far).expect("the source is written");
    let file = file.to_str().expect("a path in UTF-8");
    let launch = [
        "--grid",
        "64",
        "--group",
        "64",
        "--arg",
        "buf:zero:512",
        "--arg",
        "buf:zero:512",
    ];
    let with = |first: &[&str]| gcn(&[first, &[file], &launch].concat());
    let out = text(&with(&["check"]).stdout);
    let head = format!("--> {file}: absolute at 0x133c ({file}:{line})\n");
    assert!(out.contains(&head), "{out}");
    // The line is the instruction that is shown.
    assert_eq!(out.matches("global_store_dword").count(), 1, "{out}");
    let fails = far_away(file, &launch);
    assert!(
        fails.contains(&format!("source {file}:{line}: global_store_dword")),
        "{fails}"
    );
    let out = text(&with(&["check", "--static"]).stdout);
    assert_eq!(out, "", "nothing is wrong on all paths");
    let traced = text(&with(&["run", "--trace", "--trace-limit", "1"]).stderr);
    assert!(traced.contains("  // far.s:14\n"), "{traced}");
    let profile = text(&with(&["run", "--profile"]).stdout);
    assert!(
        profile.contains(&format!(
            "global_store_dword v1, v2, s[6:7] offset:2048  ; far.s:{line}\n"
        )),
        "{profile}"
    );
    assert!(!profile.contains("source line"), "{profile}");
}

/// The report of a run whose buffers are far too small.
fn far_away(file: &str, launch: &[&str]) -> String {
    let mut launch = launch.to_vec();
    launch[1] = "65536";
    text(&gcn(&[&["run", file], &launch[..]].concat()).stderr)
}
