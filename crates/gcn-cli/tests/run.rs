//! `gcn run` on plans, sources and raw code; traces, profiles and counts.

mod common;

use std::path::{Path, PathBuf};

use common::{Ran, gcn, kernel};
use gcn::emu::dispatch::RunError;
use gcn::gpu::{Error, Mismatch};
use gcn::{Gpu, Target};
use serde_json::Value as Json;

/// A folder with copies of examples/.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a folder"));
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        for entry in std::fs::read_dir(examples).expect("examples") {
            let path = entry.expect("an entry").path();
            if path.is_file() {
                let name = path.file_name().expect("a name");
                std::fs::copy(&path, folder.0.path().join(name)).expect("a copy");
            }
        }
        folder
    }

    fn path(&self, name: &str) -> String {
        let path: PathBuf = self.0.path().join(name);
        path.to_str().expect("UTF-8").to_owned()
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), text).expect("a file");
        self.path(name)
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("a file")
    }

    /// A plan with some of its text replaced.
    fn changed(&self, name: &str, changes: &[(&str, &str)]) -> String {
        let mut text = self.text(name);
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replacen(from, to, 1);
        }
        self.write("changed.toml", text)
    }
}

fn json(ran: &Ran) -> Json {
    serde_json::from_slice(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", ran.stderr))
}

#[test]
fn the_examples() {
    let folder = Folder::new();
    for (plan, launches, checks) in [("saxpy", 1, 1), ("sums", 3, 5), ("mandelbrot", 1, 1)] {
        for more in [
            ["--threads", "1"],
            ["--threads", "3"],
            ["--deterministic", "--stats"],
        ] {
            let plan = folder.path(&format!("{plan}.toml"));
            let ran = gcn(&["run", &plan, "--json", more[0], more[1]]);
            assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{plan}");
            let report = json(&ran);
            let list = |key: &str| report[key].as_array().expect("a list").clone();
            assert_eq!(list("launches").len(), launches);
            assert_eq!(list("checks").len(), checks);
            assert!(list("checks").iter().all(|c| c["ok"] == true));
        }
    }
    // The saved data equal the expected data.
    let read = |name: &str| std::fs::read(folder.path(name)).expect("an array");
    assert!(read("mandelbrot-out.npy") == read("mandelbrot-64x32.npy"));
}

#[test]
fn checks_that_fail_are_told() {
    let folder = Folder::new();
    let plan = folder.changed("saxpy.toml", &[("step = 2.5 }", "step = 2.50001 }")]);
    let ran = gcn(&["run", &plan]);
    assert_eq!(ran.status, 1);
    for part in [
        "changed.toml:23:1: y: 999 of 1000 elements are not as expected",
        "y[1] is -0.5, expected -0.49999, 336 ulps off",
        "and 989 more",
        "1 of 1 checks failed",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let ran = gcn(&["run", &plan, "--json"]);
    let check = &json(&ran)["checks"][0];
    assert_eq!((ran.status, &check["wrong"]), (1, &Json::from(999)));
    assert_eq!(check["first"][0]["index"], 1);
    // Tolerances, of which one must hold. The elements near 0 differ by many ulps and by a large ratio.
    for (tolerance, status) in [
        ("ulps = 400000", 0),
        ("ulps = 300", 1),
        ("absolute = 0.02", 0),
        ("absolute = 0.001", 1),
        ("relative = 1e-4", 0),
        ("relative = 1e-6", 1),
        ("relative = 1e-6\nabsolute = 0.02", 0),
    ] {
        let change = [
            ("step = 2.5 }", "step = 2.50001 }"),
            ("ulps = 1", tolerance),
        ];
        let ran = gcn(&["run", &folder.changed("saxpy.toml", &change)]);
        assert_eq!(ran.status, status, "{tolerance}: {}", ran.stderr);
    }
}

#[test]
fn mistakes_in_plans_are_told_with_their_places() {
    let folder = Folder::new();
    for (from, to, message) in [
        (
            "object = \"saxpy.s\"",
            "object = \"none.co\"",
            "changed.toml:5:10: ",
        ),
        (
            "type = \"f32\"",
            "type = \"f31\"",
            "changed.toml:8:8: `f31` is not a type of elements; expected u8, ",
        ),
        (
            "ramp = {",
            "rampe = {",
            "changed.toml:10:1: unknown field `rampe`",
        ),
        (
            "count = 1000",
            "counts = 1000",
            "changed.toml:9:1: unknown field `counts`",
        ),
        (
            "count = 1000\n",
            "",
            "changed.toml:7:1: buffer `x`: expected either `count`, of elements, or `bytes`",
        ),
        (
            "kernel = \"saxpy\"",
            "kernel = \"daxpy\"",
            "changed.toml:17:1: no kernel `daxpy`; the object has: saxpy",
        ),
        (
            "grid = [1000]",
            "grid = []",
            "changed.toml:19:8: expected one to three numbers above 0",
        ),
        (
            "[\"x\", \"y\"",
            "[\"x\", \"z\"",
            "changed.toml:21:14: there is no buffer `z`; there are: x, y",
        ),
        (
            "\"u32:1000\"",
            "\"u33:1000\"",
            "changed.toml:21:19: `u33` is not a kind of argument",
        ),
        (
            "\"u32:1000\"",
            "\"u32:-1\"",
            "changed.toml:21:19: -1 does not fit u32",
        ),
        (
            "ulps = 1",
            "values = [1]",
            "changed.toml:23:1: expected one of `value`, `values`, `ramp`, `file` and `equals`",
        ),
        ("[[check]]", "[[check]", "changed.toml:23:"),
        (
            "[\"x\", \"y\"",
            "[{ buffer = \"x\", offset = -4 }, \"y\"",
            "changed.toml:21:8: expected a buffer's name",
        ),
        (
            "[\"x\", \"y\"",
            "[{ buffer = \"x\", offset = 4001 }, \"y\"",
            "offset 4001 is beyond the 4000 bytes of `x`",
        ),
        (
            "ulps = 1",
            "relative = -1",
            "changed.toml:23:1: `relative` must not be below 0",
        ),
    ] {
        let ran = gcn(&["run", &folder.changed("saxpy.toml", &[(from, to)])]);
        assert_eq!(ran.status, 1, "{to}");
        assert!(ran.stderr.contains(message), "{message}: {}", ran.stderr);
    }
    let plan = folder.path("saxpy.toml");
    for words in [
        &["run", &plan, "--kernel", "k"][..],
        &["run", "x.co"],
        &["run", "--raw", "x"],
    ] {
        assert_eq!(gcn(words).status, 2, "{words:?}");
    }
}

/// The features of plans: buffers of every kind, offsets, repetitions and several objects.
#[test]
fn what_a_plan_can_say() {
    let folder = Folder::new();
    let vadd = kernel("vadd", "gfx900");
    folder.write(
        "raw.bin",
        [1.0f32.to_le_bytes(), 2.0f32.to_le_bytes()].concat(),
    );
    let plan = folder.write(
        "plan.toml",
        format!(
            "repeat = 1\nthreads = 2\n[objects]\nadd = '{vadd}'\nsums = 'sums.s'\n\
             [buffers.a]\ntype = 'f32'\ncount = 64\nrandom = {{ seed = 7, low = -2, high = 3 }}\n\
             [buffers.b]\ntype = 'f32'\nbytes = 256\nvalue = 1.5\n\
             [buffers.c]\ntype = 'f32'\ncount = 64\n\
             [buffers.d]\nfile = 'raw.bin'\n\
             [buffers.e]\ntype = 'u64'\nvalues = ['0xffffffffffffffff', 3]\n\
             [[launch]]\nobject = 'add'\nkernel = 'vadd'\ngrid = [64]\ngroup = [64]\ntimes = 2\n\
             args = ['a', 'b', 'c', 'u32:64']\n\
             [[launch]]\nobject = 'add'\nkernel = 'vadd'\ngrid = [2]\ngroup = [64]\n\
             args = ['d', 'd', {{ buffer = 'c', offset = 8 }}, 'u32:2']\n\
             [[check]]\nbuffer = 'c'\nfirst = 2\nvalues = [2.0, 4.0]\n\
             [[check]]\nbuffer = 'c'\nequals = 'a'\ncount = 2\nabsolute = 1.5\n\
             [[check]]\nbuffer = 'e'\nvalues = [-1, 3]\n\
             [[save]]\nbuffer = 'c'\nfile = 'c.npy'\n[[save]]\nbuffer = 'c'\nfile = 'c.bin'\n"
        ),
    );
    let ran = gcn(&["run", &plan, "--json"]);
    assert_eq!(ran.status, 1, "-1 is not a u64: {}", ran.stderr);
    assert!(
        ran.stderr.contains(": -1 does not fit u64"),
        "{}",
        ran.stderr
    );
    let text = folder
        .text("plan.toml")
        .replace("[-1, 3]", "['0xffffffffffffffff', 3]");
    let plan = folder.write("plan.toml", text);
    let ran = gcn(&["run", &plan, "--json"]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let report = json(&ran);
    assert_eq!(
        report["launches"][0]["ms"].as_array().map(Vec::len),
        Some(4)
    );
    assert_eq!(report["waves"], 3);
    let raw = std::fs::read(folder.path("c.bin")).expect("a file");
    let npy = std::fs::read(folder.path("c.npy")).expect("a file");
    assert_eq!(raw.len(), 256);
    assert!(npy.ends_with(&raw));
    assert_eq!(gcn::npy::element_type(&npy).as_deref(), Ok("<f4"));
}

#[test]
fn sources_run_as_they_are() {
    let folder = Folder::new();
    let ran = gcn(&[
        "run",
        &folder.path("saxpy.s"),
        "--kernel",
        "saxpy",
        "--grid",
        "4",
        "--group",
        "256",
        "--arg",
        "buf:zero:16",
        "--arg",
        "buf:randf32:16:1",
        "--arg",
        "u32:4",
        "--arg",
        "f32:1",
        "--out",
        &format!("1={}", folder.path("y.bin")),
    ]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let y = std::fs::read(folder.path("y.bin")).expect("a file");
    let expected = gcn::run::Contents::RandF32(16, 1).bytes().expect("bytes");
    assert_eq!(y, expected);
}

/// Stores work-item numbers through LDS that it does not declare, plus the global offset.
const THROUGH_LDS: &str = r#"
	.amdgcn_target "amdgcn-amd-amdhsa--gfx900"
	.text
	.globl	through
	.p2align	8
	.type	through,@function
through:
	s_load_dwordx2 s[2:3], s[0:1], 0x0
	s_load_dword s4, s[0:1], 0x8
	v_lshlrev_b32_e32 v1, 2, v0
	ds_write_b32 v1, v0
	ds_read_b32 v2, v1
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v2, s4, v2
	global_store_dword v1, v2, s[2:3]
	s_endpgm
	.section	.rodata,#alloc
	.p2align	6
	.amdhsa_kernel through
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_kernarg_size 16
		.amdhsa_next_free_vgpr 3
		.amdhsa_next_free_sgpr 5
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - { .address_space: global, .offset: 0, .size: 8, .value_kind: global_buffer }
      - { .offset: 8, .size: 8, .value_kind: hidden_global_offset_x }
    .group_segment_fixed_size: 0
    .kernarg_segment_align: 8
    .kernarg_segment_size: 16
    .max_flat_workgroup_size: 256
    .name: through
    .private_segment_fixed_size: 0
    .sgpr_count: 5
    .symbol: through.kd
    .vgpr_count: 3
    .wavefront_size: 64
amdhsa.version: [ 1, 1 ]
...
	.end_amdgpu_metadata
"#;

#[test]
fn dynamic_lds_and_global_offsets() {
    let folder = Folder::new();
    let source = folder.write("through.s", THROUGH_LDS);
    let out = format!("0={}", folder.path("out.bin"));
    let run = |more: &[&str]| -> Vec<u32> {
        let mut args = vec!["run", &source, "--kernel", "through", "--out", &out];
        args.extend(["--grid", "64", "--group", "64", "--arg", "buf:zero:256"]);
        args.extend(more);
        let ran = gcn(&args);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        let bytes = std::fs::read(folder.path("out.bin")).expect("a file");
        let words = bytes.chunks_exact(4);
        words
            .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
            .collect()
    };
    assert_eq!(run(&[]), [0; 64], "there is no LDS");
    let items: Vec<u32> = (0..64).collect();
    assert_eq!(run(&["--dynamic-lds", "256"]), items);
    let moved: Vec<u32> = (1000..1064).collect();
    let offset = ["--dynamic-lds", "256", "--offset", "1000"];
    assert_eq!(run(&offset), moved);
    let plan = folder.write(
        "through.toml",
        "object = 'through.s'\n[buffers.out]\ntype = 'u32'\ncount = 64\n\
         [[launch]]\nkernel = 'through'\ngrid = [64]\ngroup = [64]\nargs = ['out']\n\
         offset = [7]\ndynamic-lds = 256\n\
         [[check]]\nbuffer = 'out'\nramp = { start = 7 }\n",
    );
    let ran = gcn(&["run", &plan]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
}

#[test]
fn traces() {
    let folder = Folder::new();
    let plan = folder.path("saxpy.toml");
    let ran = gcn(&["run", &plan, "--trace", "--trace-wave", "3:3"]);
    let lines: Vec<&str> = ran.stderr.lines().collect();
    // The last wave has 40 elements and runs all 22 instructions.
    assert_eq!((ran.status, lines.len()), (0, 22));
    assert!(lines[2].starts_with("(3,0,0):3 0x"), "{}", lines[2]);
    let second = "s2 = 0x300, scc = 1  // saxpy.s:16";
    assert!(lines[2].ends_with(second), "{}", lines[2]);
    let fifth = "vcc = 0xffffffffff  // saxpy.s:19";
    assert!(lines[5].ends_with(fifth), "{}", lines[5]);
    assert!(lines[20].contains("flat_store_dword v[2:3], v5") && lines[20].contains("  mem[0x"));
    assert!(lines[21].ends_with("ends  // saxpy.s:36"));
    // To a file, as JSON, only some addresses.
    let to = folder.path("trace.json");
    let pc = lines[3].split_whitespace().nth(1).expect("an address");
    let last = u64::from_str_radix(&pc[2..], 16).expect("hexadecimal") + 4;
    let words = [
        "run",
        &plan,
        "--json",
        &format!("--trace={to}"),
        "--trace-pc",
        &format!("{pc}..{last}"),
    ];
    assert_eq!(gcn(&words).status, 0);
    let text = std::fs::read_to_string(&to).expect("the trace");
    assert_eq!(text.lines().count(), 16);
    for line in text.lines() {
        let line: Json = serde_json::from_str(line).expect("JSON");
        assert_eq!(
            (&line["pc"], &line["kernel"]),
            (&Json::from(pc), &Json::from("saxpy"))
        );
        assert!(line["changed"]["v0"].is_string() || line["workgroup"][0] == 0);
    }
    let ran = gcn(&["run", &plan, "--trace", "--trace-limit", "5"]);
    assert_eq!(ran.stderr.lines().count(), 5);
}

#[test]
fn profiles_and_counts() {
    let folder = Folder::new();
    let plan = folder.path("sums.toml");
    let ran = gcn(&[
        "run",
        &plan,
        "--json",
        "--profile",
        "--stats",
        "--threads",
        "2",
    ]);
    let report = json(&ran);
    let rows = report["profile"]["instructions"].as_array().expect("rows");
    let total: u64 = rows.iter().filter_map(|r| r["times"].as_u64()).sum();
    assert_eq!(report["instructions"], total);
    // Each of 516 waves adds to LDS once; two dwords are stored of each of 65 + 64 workgroups.
    let times = |text: &str| -> u64 {
        let of = rows
            .iter()
            .filter(|r| r["inst"].as_str().is_some_and(|i| i.starts_with(text)));
        of.filter_map(|r| r["times"].as_u64()).sum()
    };
    assert_eq!(times("ds_add_u32"), 516);
    assert_eq!(times("global_atomic_add"), 128);
    let stats = &report["stats"];
    assert_eq!(stats["mix"]["LDS"]["instructions"], 3 * 516);
    assert_eq!(stats["mix"]["LDS"]["lanes"], 64.0);
    assert_eq!(stats["threads"], 2);
    let mix: u64 = stats["mix"]
        .as_object()
        .expect("kinds")
        .values()
        .filter_map(|k| k["instructions"].as_u64())
        .sum();
    assert_eq!(mix, total);
    let text = gcn(&["run", &plan, "--profile"]).text();
    for part in [
        "times   share lanes ",
        " address  instruction",
        "ds_add_u32 v1, v2",
        "VALU",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // By the lines of the source, if the object has them.
    let object = folder.path("lines.co");
    let ran = gcn(&["asm", "-g", &folder.path("saxpy.s"), "-o", &object]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let with_lines = folder.changed("saxpy.toml", &[("saxpy.s", "lines.co")]);
    let text = gcn(&["run", &with_lines, "--profile"]).text();
    // A line of assembly is the instruction itself, which is printed once.
    assert!(text.contains("s_endpgm  ; saxpy.s:36\n"), "{text}");
    assert!(!text.contains("source line"), "{text}");
    let calls = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/debug/calls-clang14-gfx900.co"
    );
    let launch = "--kernel calls --group 64 --grid 64 --arg buf:rand:256:3 --arg buf:zero:256";
    let mut args = vec!["run", calls, "--profile"];
    args.extend(launch.split(' '));
    let text = gcn(&args).text();
    assert!(
        text.contains("source line") && text.contains("  calls.cl:4\n"),
        "{text}"
    );
}

#[test]
fn raw_code_on_given_registers() {
    let folder = Folder::new();
    // s2 = s0 + 1; LDS dword 0 += s2; a barrier; v1 = LDS dword 0; v2 = the dword at s[4:5]; a store there.
    let source = folder.write(
        "code.s",
        "s_add_u32 s2, s0, 1\nv_mov_b32 v0, s2\nv_mov_b32 v3, 0\ns_mov_b32 m0, -1\ns_mov_b64 exec, 1\nds_add_u32 v3, v0\n\
         s_barrier\nds_read_b32 v1, v3\ns_load_dword s3, s[4:5], 0x0\ns_getpc_b64 s[8:9]\ns_endpgm\n",
    );
    let bytes = folder.path("code.bin");
    let ran = gcn(&["asm", "--raw", &source, "--arch", "gfx803", "-o", &bytes]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    folder.write("data.bin", [0x78, 0x56, 0x34, 0x12]);
    let regs = folder.write(
        "regs.toml",
        "lds = { 0x0 = 100 }\n[s]\n4 = 0x4000\n\
         [[waves]]\ns = { 0 = 1 }\n[[waves]]\ns = { 0 = 2 }\n\
         [[segments]]\naddress = 0x4000\nfile = 'data.bin'\nreadonly = true\n",
    );
    let words = [
        "run", "--raw", &bytes, "--arch", "gfx803", "--regs", &regs, "--base", "0x10000",
    ];
    let ran = gcn(&[&words[..], &["--json"]].concat());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let report = json(&ran);
    let waves = report["waves"].as_array().expect("waves");
    assert_eq!(waves.len(), 2);
    for (n, wave) in waves.iter().enumerate() {
        assert_eq!(wave["end"], "endpgm");
        assert_eq!(wave["state"]["s"]["2"], format!("{:#x}", n + 2));
        assert_eq!(wave["state"]["s"]["3"], "0x12345678");
        assert_eq!(wave["state"]["v"]["1"][0], "0x69");
        assert_eq!(wave["state"]["lds"]["0x0"], "0x69");
        assert_eq!(wave["state"]["s"]["9"], Json::Null);
        let pc = wave["pc"].as_u64().expect("a pc");
        assert_eq!(wave["state"]["s"]["8"], format!("{pc:#x}"));
    }
    let text = gcn(&words).text();
    assert!(
        text.starts_with("wave 0: s2 = 2, s3 = 0x12345678, "),
        "{text}"
    );
    // Errors.
    for (text, message) in [
        ("s = { 0 = 'x' }", "s.0: "),
        ("q = 1", "has no such register"),
        ("[[segments]]\naddress = 4", "segments[0]: it is empty"),
        ("[[segments]]\nfile = 'none'\naddress = 4", "segments[0]: "),
        ("a = [", "regs.toml:1:"),
        ("waves = 1", "`waves` is not a list"),
        ("pc = 5", "pc: expected a multiple of 4"),
        ("pc = 4096", "where the code ends"),
    ] {
        folder.write("regs.toml", text);
        let ran = gcn(&words);
        assert_eq!(ran.status, 1, "{text}");
        assert!(ran.stderr.contains(message), "{message}: {}", ran.stderr);
    }
}

/// Both engines count the same executions of each instruction: the interpreter itself, and counters in compiled code.
#[test]
fn compiled_code_counts_as_the_interpreter_does() {
    if gcn::engine::Kind::jit().is_none() {
        return eprintln!("skipped: this host cannot run compiled code");
    }
    let runs: [(&str, &str, &str, &str, &[&str]); 4] = [
        (
            "vadd",
            "vadd",
            "1000",
            "256",
            &[
                "buf:randf32:4000:1",
                "buf:randf32:4000:2",
                "buf:zero:4000",
                "u32:1000",
            ],
        ),
        (
            "reduce",
            "reduce_sum",
            "1024",
            "256",
            &["buf:rand:20000:1", "buf:zero:16", "u32:5000", "local:1024"],
        ),
        (
            "reduce",
            "minmax_argmax",
            "256",
            "64",
            &["buf:rand:12000:1", "buf:zero:16", "u32:3000"],
        ),
        (
            "mandelbrot",
            "mandelbrot",
            "32,32",
            "16,16",
            &[
                "buf:zero:4096",
                "i32:32",
                "i32:32",
                "f32:-2.2",
                "f32:-1.5",
                "f32:0.09",
                "f32:0.09",
                "i32:64",
            ],
        ),
    ];
    for (file, name, grid, group, args) in runs {
        for arch in ["gfx600", "gfx900"] {
            let path = kernel(file, arch);
            let counted = |engine: &str| {
                let mut words = vec![
                    "run",
                    path.as_str(),
                    "--kernel",
                    name,
                    "--grid",
                    grid,
                    "--group",
                    group,
                ];
                words.extend(["--threads", "2", "--engine", engine, "--profile", "--json"]);
                words.extend(args.iter().flat_map(|a| ["--arg", a]));
                let ran = gcn(&words);
                assert_eq!(ran.status, 0, "{}", ran.stderr);
                let report = json(&ran);
                let rows = report["profile"]["instructions"]
                    .as_array()
                    .expect("rows")
                    .clone();
                let spent = rows.iter().filter_map(|r| r["ticks"].as_u64()).sum::<u64>();
                let ran = rows.into_iter().filter(|r| r["times"] != 0);
                let counts = ran.map(|r| {
                    (
                        r["address"].clone(),
                        r["inst"].clone(),
                        r["times"].clone(),
                        r["lanes"].clone(),
                    )
                });
                (counts.collect::<Vec<_>>(), spent)
            };
            let (interpreted, no_ticks) = counted("interp");
            let (compiled, ticks) = counted("jit");
            assert_eq!(interpreted, compiled, "{name} {arch}");
            assert!(no_ticks == 0 && ticks > 0);
        }
    }
}

/// A loop of which compiled code runs several rounds at once, or one, or that lanes leave early: each round is counted once.
#[test]
fn rounds_of_loops_are_counted() {
    if gcn::engine::Kind::jit().is_none() {
        return eprintln!("skipped: this host cannot run compiled code");
    }
    let folder = Folder::new();
    let ends = [
        "s_sub_u32 s6, s6, 1\ns_cmp_lg_u32 s6, 0\ns_cbranch_scc1 again",
        "v_add_u32 v4, 1, v4\nv_cmp_gt_u32 vcc, s6, v4\ns_and_b64 exec, exec, vcc\ns_cbranch_execnz again",
    ];
    for end in ends {
        let source = format!(
            ".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n\
             s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_add_u32 s6, s2, 9\nv_mov_b32 v1, 1\nv_and_b32 v4, 1, v0\ns_waitcnt lgkmcnt(0)\n\
             again:\nv_mul_lo_u32 v1, v1, 3\nv_xor_b32 v1, v0, v1\n{end}\ns_mov_b64 exec, -1\nv_lshlrev_b32 v3, 2, v0\n\
             global_store_dword v3, v1, s[4:5]\ns_endpgm\n.rodata\n.p2align 6\n.amdhsa_kernel k\n\
             .amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 16\n.end_amdhsa_kernel\n"
        );
        let path = folder.write("loop.s", &source);
        let counted = |engine: &str| {
            let ran = gcn(&[
                "run",
                &path,
                "--kernel",
                "k",
                "--grid",
                "2560",
                "--group",
                "64",
                "--arg",
                "buf:zero:256",
                "--threads",
                "1",
                "--engine",
                engine,
                "--profile",
                "--json",
            ]);
            assert_eq!(ran.status, 0, "{}", ran.stderr);
            let rows = json(&ran)["profile"]["instructions"]
                .as_array()
                .expect("rows")
                .clone();
            let counts = rows
                .iter()
                .map(|r| (r["inst"].clone(), r["times"].clone(), r["lanes"].clone()));
            counts.collect::<Vec<_>>()
        };
        assert_eq!(counted("interp"), counted("jit"), "{end}");
    }
}

#[test]
fn compiled_code_is_shown_beside_its_source() {
    let path = kernel("vadd", "gfx900");
    let args = [
        "--kernel",
        "vadd",
        "--grid",
        "256",
        "--group",
        "64",
        "--arg",
        "buf:zero:1024",
    ];
    let more = [
        "--arg",
        "buf:zero:1024",
        "--arg",
        "buf:zero:1024",
        "--arg",
        "u32:256",
    ];
    let run = |rest: &[&str]| gcn(&[&["run", path.as_str()][..], &args, &more, rest].concat());
    let ran = run(&["--engine", "interp", "--dump-jit"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("generates no code"), "{}", ran.stderr);
    if gcn::engine::Kind::jit().is_none() {
        return eprintln!("skipped: this host cannot run compiled code");
    }
    let ran = run(&["--engine", "jit", "--dump-jit"]);
    let text = ran.text();
    for part in [
        "region of ",
        "v_add_f32",
        "GCN instructions",
        "; s",
        "; v",
        "addps",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Every byte of the code is an instruction.
    assert!(!text.contains("(bad)"), "{text}");
    let ran = run(&["--engine", "jit", "--dump-jit", "--profile", "--json"]);
    let report = json(&ran);
    let unit = &report["jit"][0];
    let pieces = unit["pieces"].as_array().expect("pieces");
    let gcn: usize = pieces
        .iter()
        .map(|p| p["gcn"].as_array().map_or(0, Vec::len))
        .sum();
    let ran: u64 = pieces
        .iter()
        .filter_map(|p| Some(p["times"].as_u64()? * p["instructions"].as_u64()?))
        .sum();
    assert!(gcn > 10);
    assert_eq!(report["instructions"], ran);
    assert!(
        pieces
            .iter()
            .any(|p| p["x86"].as_array().is_some_and(|x| x.len() > 10))
    );
    // To a file.
    let folder = Folder::new();
    let file = format!("--dump-jit={}", folder.path("code.txt"));
    assert_eq!(run(&["--engine", "jit", &file]).status, 0);
    assert!(folder.text("code.txt").contains("v_add_f32"));
}

/// A kernel that counts endlessly.
const FOR_EVER: &str = r#"
	.amdgcn_target "amdgcn-amd-amdhsa--gfx900"
	.text
	.globl	counts
	.p2align	8
	.type	counts,@function
counts:
	s_add_u32 s4, s4, 1
	s_addc_u32 s5, s5, 0
	s_branch counts
.Lend:
	.size	counts, .Lend-counts
	.rodata
	.p2align	6
	.amdhsa_kernel counts
	.amdhsa_next_free_vgpr 1
	.amdhsa_next_free_sgpr 8
	.end_amdhsa_kernel
"#;

/// After ten seconds the locations of an endless run are reported; then Ctrl-C ends it.
#[cfg(unix)]
#[test]
fn a_run_that_does_not_end() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};

    let folder = Folder::new();
    let (source, object) = (folder.path("counts.s"), folder.path("counts.co"));
    std::fs::write(&source, FOR_EVER).expect("a file");
    let made = gcn(&["asm", "-g", &source, "-o", &object]);
    assert_eq!((made.status, made.stderr.as_str()), (0, ""));
    let mut child = Command::new(env!("CARGO_BIN_EXE_gcn"))
        .args([
            "run", &object, "--kernel", "counts", "--grid", "128", "--group", "64",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("gcn starts");
    let mut told = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut note = String::new();
    while !note.contains("Ctrl-C ends it") {
        assert_ne!(told.read_line(&mut note).expect("text"), 0, "{note}");
    }
    assert!(
        note.starts_with("gcn: note: no workgroup of kernel counts has ended for 10 s\n"),
        "{note}"
    );
    let line = format!("{}:", source);
    assert!(note.contains("wave 0 ") && note.contains(&line), "{note}");
    assert!(note.contains("--max-instructions N"), "{note}");
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(killed.expect("kill is there").success());
    let mut report = String::new();
    told.read_to_string(&mut report).expect("text");
    let ended = child.wait().expect("it ends");
    assert_eq!(ended.code(), Some(130), "{report}");
    assert!(
        report.contains("interrupted: kernel counts had not ended\n  workgroup (0, 0, 0), wave 0 "),
        "{report}"
    );
    assert!(report.contains(&line), "{report}");
}

/// If the first Ctrl-C cannot end the run, because its report cannot be written, the second ends the process.
#[cfg(unix)]
#[test]
fn the_second_interrupt_ends_at_once() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    let folder = Folder::new();
    let (source, object) = (folder.path("counts.s"), folder.path("counts.co"));
    std::fs::write(&source, FOR_EVER).expect("a file");
    let made = gcn(&["asm", &source, "-o", &object]);
    assert_eq!((made.status, made.stderr.as_str()), (0, ""));
    // Nobody reads the trace, and a pipe has little room for it.
    let mut child = Command::new(env!("CARGO_BIN_EXE_gcn"))
        .args([
            "run", &object, "--kernel", "counts", "--grid", "128", "--group", "64", "--trace",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("gcn starts");
    let interrupt = |child: &std::process::Child| {
        let id = child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status();
        assert!(sent.expect("kill is there").success());
    };
    std::thread::sleep(Duration::from_secs(1));
    interrupt(&child);
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(child.try_wait().expect("a child"), None);
    interrupt(&child);
    let start = Instant::now();
    let ended = child.wait().expect("it ends");
    assert_eq!(ended.code(), Some(130));
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// The run succeeds if the host refuses threads.
#[cfg(unix)]
#[test]
fn refused_threads() {
    use std::process::Command;

    let folder = Folder::new();
    let (code, text) = (folder.path("code.bin"), folder.path("code.s"));
    // v_mov_b32 v0, 0, again and again.
    std::fs::write(&code, 0x7e00_0280u32.to_le_bytes().repeat(1 << 18)).expect("a file");
    let vadd = common::kernel("vadd", "gfx900");
    for args in [
        &[
            "dis",
            "--raw",
            "--plain",
            "--arch",
            "gfx900",
            "--threads",
            "4",
            &code,
            "-o",
            &text,
        ][..],
        &[
            "asm",
            "--raw",
            "--arch",
            "gfx900",
            "--threads",
            "4",
            &text,
            "-o",
            &code,
        ],
        &[
            "run",
            &vadd,
            "--kernel",
            "vadd",
            "--grid",
            "65536",
            "--group",
            "64",
            "--threads",
            "4",
            "--arg",
            "buf:zero:262144",
            "--arg",
            "buf:zero:262144",
            "--arg",
            "buf:zero:262144",
            "--arg",
            "u32:65536",
        ],
    ] {
        // No host has memory for this stack.
        let mut gcn = Command::new(env!("CARGO_BIN_EXE_gcn"));
        let ran = gcn
            .args(args)
            .env("RUST_MIN_STACK", (1u64 << 46).to_string())
            .output();
        let ran = ran.expect("gcn starts");
        let told = String::from_utf8_lossy(&ran.stderr);
        assert!(
            ran.status.success() && told.is_empty(),
            "{args:?}: {}: {told}",
            ran.status
        );
    }
}

/// The words that launch vadd on 64 work-items, up to its arguments.
const VADD: [&str; 6] = ["--kernel", "vadd", "--grid", "64", "--group", "64"];

fn vadd(args: &[&str], more: &[&str]) -> Ran {
    let path = kernel("vadd", "gfx900");
    let args: Vec<&str> = args.iter().flat_map(|a| ["--arg", a]).collect();
    gcn(&[&["run", path.as_str()][..], &VADD, &args, more].concat())
}

#[test]
fn arguments_are_of_the_kernels_types() {
    let folder = Folder::new();
    let doubles = folder.write("f64.npy", gcn::npy::file(&[0; 512], "<f8"));
    let ints = folder.write("i32.npy", gcn::npy::file(&[0; 256], "<i4"));
    let bools = folder.write("bool.npy", gcn::npy::file(&[0; 256], "|b1"));
    let complex = folder.write("complex.npy", gcn::npy::file(&[0; 256], "<c8"));
    let zero = "buf:zero:256";
    for (first, last, message) in [
        (
            zero,
            "f32:64",
            "argument 3 (uint): expected u32, not f32; write u32:64; --any-type",
        ),
        (
            zero,
            "f32:0.5",
            "argument 3 (uint): expected u32, not f32; write u32:VALUE",
        ),
        (
            zero,
            "u64:64",
            "argument 3 (uint): expected 4 bytes, not 8; write u32:64",
        ),
        (
            zero,
            "u32:1,2",
            "argument 3 (uint): expected 4 bytes, not 8; write u32:VALUE",
        ),
        (
            zero,
            zero,
            "argument 3 (uint): expected a value; write u32:VALUE",
        ),
        (
            "u32:1",
            "u32:64",
            "argument 0 (float*): expected a buffer; write buf:zero:BYTES",
        ),
        (
            "local:4",
            "u32:64",
            "argument 0 (float*): expected a buffer; write buf:zero:BYTES",
        ),
        (
            &format!("buf:{doubles}"),
            "u32:64",
            "argument 0 (float*): expected a buffer of f32, not of f64; write a .npy file of f32, which numpy makes by \
             x.astype(\"float32\")",
        ),
        (
            &format!("buf:{ints}"),
            "u32:64",
            "expected a buffer of f32, not of i32",
        ),
        (
            &format!("buf:{bools}"),
            "u32:64",
            "expected a buffer of f32, not of u8",
        ),
        (
            "buf:randf64:512:1",
            "u32:64",
            "expected a buffer of f32, not of f64",
        ),
        (
            "buf:zero:64xu32",
            "u32:64",
            "expected a buffer of f32, not of u32",
        ),
    ] {
        let ran = vadd(&[first, zero, zero, last], &[]);
        assert_eq!(ran.status, 1, "{first} {last}");
        assert!(ran.stderr.contains(message), "{message}: {}", ran.stderr);
    }
    // Signed and unsigned types are compatible; types that are unknown, and any types with the option, are accepted.
    for (first, last, more) in [
        ("buf:zero:64xf32", "i32:64", ""),
        (&format!("buf:{complex}"), "bytes:40000000", ""),
        ("buf:randf64:512:1", "f32:0", "--any-type"),
        ("u64:0x1000", "u32:0", "--any-type"),
        ("ptr:0", "u32:0", ""),
    ] {
        let more: Vec<&str> = more.split_whitespace().collect();
        let ran = vadd(&[first, zero, zero, last], &more);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{first} {last}");
    }
    // In plans.
    let plan = |launch: &str| {
        folder.write(
            "types.toml",
            format!(
                "object = '{}'\n[buffers.x]\ntype = 'i32'\ncount = 64\n[buffers.y]\ntype = 'f32'\ncount = 64\n\
                 [[launch]]\nkernel = 'vadd'\ngrid = [64]\ngroup = [64]\nargs = ['x', 'y', 'y', 'u32:64']\n{launch}",
                kernel("vadd", "gfx900")
            ),
        )
    };
    let ran = gcn(&["run", &plan("")]);
    let message = "types.toml:8:1: argument 0 (float*): expected a buffer of f32, not of i32";
    assert!(
        ran.status == 1 && ran.stderr.contains(message),
        "{}",
        ran.stderr
    );
    assert_eq!(gcn(&["run", &plan(""), "--any-type"]).status, 0);
    assert_eq!(gcn(&["run", &plan("any-type = true")]).status, 0);
}

#[test]
fn mistaken_arguments_are_explained() {
    let folder = Folder::new();
    let ints = folder.write("i32.npy", gcn::npy::file(&[0; 256], "<i4"));
    let zero = "buf:zero:256";
    for (words, message) in [
        ("64", "did you mean i32:64?"),
        ("1.5", "did you mean f32:1.5?"),
        (ints.as_str(), "did you mean buf:"),
        ("int:64", "`int` is not a kind of argument; expected u8, "),
        ("float:1", "did you mean f32?"),
        ("zero:64", "did you mean to write buf: before it?"),
        (
            "buf:zero:64xf31",
            "`64xf31` is not a size; expected bytes, as 4096, or elements and their type",
        ),
        (
            "buf:rand:64",
            "expected buf:rand:BYTES:SEED, as buf:rand:4096:1",
        ),
        ("buf:rand:64:x", "expected a seed"),
        ("ptr:x", "`x` is not an address"),
    ] {
        let ran = vadd(&[words], &[]);
        assert!(
            ran.status == 2 && ran.stderr.contains(message),
            "{words}: {}",
            ran.stderr
        );
    }
    let ran = vadd(&[zero], &[]);
    let message = "takes 4 arguments (float*, float*, float*, uint), 1 were given; write --arg buf:FILE --arg buf:FILE \
                   --arg buf:FILE --arg u32:VALUE";
    assert!(
        ran.status == 1 && ran.stderr.contains(message),
        "{}",
        ran.stderr
    );
    let ran = vadd(
        &[zero, zero, zero, "u32:0"],
        &["--out", "0=no-such-folder/x.npy"],
    );
    assert!(
        ran.status == 1
            && ran
                .stderr
                .contains("the folder no-such-folder does not exist"),
        "{}",
        ran.stderr
    );
    let ran = vadd(&[zero, zero, zero, "u32:0"], &["--out", "4=x.npy"]);
    let message = "there is no argument 4; there are 4, the first is 0; buffers are: 0, 1, 2";
    assert!(
        ran.status == 1 && ran.stderr.contains(message),
        "{}",
        ran.stderr
    );
}

#[test]
fn arrays_keep_their_shapes() {
    let folder = Folder::new();
    let header = |name: &str| {
        let file = std::fs::read(folder.path(name)).expect("an array");
        let header = gcn::npy::header(&file).expect("a header");
        (
            header.descr(),
            header.shape,
            gcn::npy::data(&file).expect("elements"),
        )
    };
    // 8 by 8 numbers in Fortran's order: element (r, c) is 10 r + c.
    let value = |r: u32, c: u32| (10 * r + c) as f32;
    let by = |location: &dyn Fn(u32, u32) -> (u32, u32)| -> Vec<u8> {
        let locations = (0..64).map(|n| location(n / 8, n % 8));
        locations
            .flat_map(|(r, c)| value(r, c).to_le_bytes())
            .collect()
    };
    let rows = by(&|a, b| (a, b));
    let mut fortran = gcn::npy::array(&by(&|a, b| (b, a)), "<f4", &[8, 8]);
    let at = fortran
        .windows(5)
        .position(|w| w == b"False")
        .expect("an order");
    fortran.splice(at..at + 5, *b"True ");
    let fortran = folder.write("fortran.npy", fortran);
    let out = |n: usize, name: &str| format!("{n}={}", folder.path(name));
    let (same, sum) = (out(0, "same.npy"), out(2, "sum.npy"));
    let args = [
        &format!("buf:{fortran}"),
        "buf:zero:256",
        "buf:zero:4x16xf32",
        "u32:64",
    ];
    let ran = vadd(&args, &["--out", &same, "--out", &sum]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(header("same.npy"), ("<f4".into(), vec![8, 8], rows.clone()));
    assert_eq!(header("sum.npy"), ("<f4".into(), vec![4, 16], rows));
    // In a plan; another type's elements make one dimension.
    let plan = folder.write(
        "shape.toml",
        format!(
            "object = '{}'\n[buffers.a]\nfile = 'fortran.npy'\n[buffers.b]\ntype = 'f32'\nshape = [2, 32]\n\
             [[launch]]\nkernel = 'vadd'\ngrid = [64]\ngroup = [64]\nargs = ['a', 'a', 'b', 'u32:64']\n\
             [[save]]\nbuffer = 'a'\nfile = 'a.npy'\n[[save]]\nbuffer = 'b'\nfile = 'b.npy'\n\
             [[save]]\nbuffer = 'b'\nfile = 'bytes.npy'\ntype = 'u8'\n",
            kernel("vadd", "gfx900")
        ),
    );
    let ran = gcn(&["run", &plan]);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(header("a.npy").1, [8, 8]);
    assert_eq!(header("b.npy").1, [2, 32]);
    assert_eq!(
        (header("bytes.npy").0.as_str(), header("bytes.npy").1),
        ("|u1", vec![256])
    );
    // A file that is not an array of numbers.
    let bad = folder.write("bad.npy", "no array");
    let ran = vadd(
        &[&format!("buf:{bad}"), "buf:zero:4", "buf:zero:4", "u32:1"],
        &[],
    );
    assert!(
        ran.status == 1 && ran.stderr.contains("bad.npy: it is not a .npy file"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_only_kernel_need_not_be_named() {
    let folder = Folder::new();
    let saxpy = folder.path("saxpy.s");
    let args = "buf:zero:16 buf:zero:16 u32:4 f32:1"
        .split(' ')
        .flat_map(|a| ["--arg", a]);
    let args: Vec<&str> = args.collect();
    let words = ["run", &saxpy, "--grid", "4", "--group", "64"];
    let ran = gcn(&[&words[..], &args].concat());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert!(ran.text().starts_with("saxpy: 1 waves"), "{}", ran.text());
    let plan = folder.changed("saxpy.toml", &[("kernel = \"saxpy\"\n", "")]);
    assert_eq!(gcn(&["run", &plan]).status, 0);
    let object = folder.path("saxpy.co");
    assert_eq!(gcn(&["asm", &saxpy, "-o", &object]).status, 0);
    assert!(gcn(&["dis", &object, "--cfg"]).text().contains("digraph"));
    let two = kernel("vadd", "gfx900");
    // A missing `--kernel` is a usage error of `dis`, like a missing option (exit status 2).
    for (words, status) in [
        (&["run", &two, "--grid", "4", "--group", "64"][..], 1),
        (&["dis", &two, "--cfg"], 2),
    ] {
        let ran = gcn(words);
        let message = "has several kernels; --kernel names one of: vadd, saxpy_f4";
        assert!(
            ran.status == status && ran.stderr.contains(message),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn faults_tell_operands_and_source() {
    let folder = Folder::new();
    let object = folder.path("saxpy.co");
    let source = folder.path("saxpy.s");
    assert_eq!(gcn(&["asm", "-g", &source, "-o", &object]).status, 0);
    // The load of x in the fifth workgroup is beyond the buffer's page.
    let words = [
        "run",
        &object,
        "--grid",
        "2048",
        "--group",
        "256",
        "--threads",
        "1",
    ];
    let args = "buf:zero:4096 buf:zero:8192 u32:2048 f32:1.5".split(' ');
    let args: Vec<&str> = args.flat_map(|a| ["--arg", a]).collect();
    let mut told = Vec::new();
    for engine in ["interp", "jit"] {
        if engine == "jit" && gcn::engine::Kind::jit().is_none() {
            continue;
        }
        let all = [&words[..], &args, &["--engine", engine]].concat();
        let ran = gcn(&all);
        assert_eq!(ran.status, 1);
        let lines: Vec<&str> = ran.stderr.lines().map(str::trim).collect();
        assert!(lines[0].starts_with("gcn: the memory it accesses is not mapped: address 0x"));
        assert!(
            lines[1].contains("workgroup (4, 0, 0), wave 0, pc 0x"),
            "{}",
            ran.stderr
        );
        assert!(lines[2].starts_with("at flat_load_dword"), "{}", ran.stderr);
        // The address is that of the disassembly.
        let address = lines[3].strip_prefix("address 0x").expect("the address");
        let address = address.strip_suffix(" in `gcn dis`").expect("what it is");
        let text = gcn(&["dis", &object, "--show-encoding", "--lines"]).text();
        let shown = text
            .lines()
            .find(|l| l.contains(&format!("// {:0>6}:", address)));
        assert!(shown.expect("its line").contains(&lines[2][3..]), "{text}");
        let line = std::fs::read_to_string(&source).expect("the source");
        let wanted = lines[4]
            .strip_prefix("source ")
            .and_then(|l| l.split_once(": "));
        let (location, quoted) = wanted.expect("a source line");
        let number: usize = location
            .rsplit(':')
            .next()
            .and_then(|n| n.parse().ok())
            .expect("a number");
        assert_eq!(line.lines().nth(number - 1).map(str::trim), Some(quoted));
        assert!(quoted.contains("load"), "{quoted}");
        // The address is in the operand.
        let at = lines[0].rsplit(' ').next().expect("an address");
        assert!(
            lines[5..]
                .iter()
                .any(|l| l.starts_with("v[") && l.ends_with(&format!("] = {at}"))),
            "{}",
            ran.stderr
        );
        told.push(ran.stderr.clone());
        let ran = gcn(&[&all[..], &["--json"]].concat());
        let error = &json(&ran)["error"];
        assert_eq!(ran.status, 1);
        assert_eq!(
            error["address"],
            u64::from_str_radix(address, 16).expect("hexadecimal")
        );
        assert_eq!(error["source"], location);
        assert_eq!(error["addr"], at);
        let operands = error["operands"].as_array().expect("operands");
        assert!(operands.iter().any(|o| o["bits"] == at), "{error}");
    }
    assert!(told.windows(2).all(|t| t[0] == t[1]), "{told:?}");
    // In the library.
    let gpu = Gpu::new(Target::parse("gfx803").expect("a target")).expect("a GPU");
    let program = gpu.load_file(&object).expect("a program");
    let saxpy = program.only_kernel().expect("a kernel");
    let x = gpu.zeros::<f32>(64).expect("a buffer");
    let launch = saxpy
        .launch([4096], [256])
        .arg(&x)
        .arg(&x)
        .arg(4096u32)
        .arg(1.5f32);
    let Err(Error::Run(RunError::Fault { location, report })) = launch.run() else {
        panic!("a fault");
    };
    assert!(location.source.expect("a line").contains("saxpy.s:"));
    assert!(
        report
            .operands
            .iter()
            .any(|held| held.name.starts_with("v["))
    );
    let gpu = Gpu::new(Target::parse("gfx900").expect("a target")).expect("a GPU");
    let x = gpu.zeros::<f32>(64).expect("a buffer");
    let program = gpu.load_file(kernel("vadd", "gfx900")).expect("a program");
    let vadd = program.kernel("vadd").expect("a kernel");
    let error = vadd.launch([1], [64]).arg(&x).arg(&x).arg(&x).arg(1.0f32);
    let mismatch = Mismatch::Type {
        expected: gcn::data::Ty::U32,
        given: gcn::data::Ty::F32,
    };
    match error.clone().run() {
        Err(Error::Argument {
            mismatch: found, ..
        }) => assert_eq!(found, mismatch),
        other => panic!("{other:?}"),
    }
    assert!(error.any_type(true).run().is_ok());
    // The faults of a few instructions.
    let state = "v0 = 0x5000, v1 = 1, v2 = 1.5, exec = 2";
    for (inst, told) in [
        (
            "global_store_dword v[0:1], v2, off",
            "\n  v[0:1] = 0x100005000\n  v2 = 0x3fc00000 (1.5)",
        ),
        // Registers that are only written are not listed.
        (
            "global_load_dword v2, v[0:1], off",
            "\n  v[0:1] = 0x100005000",
        ),
    ] {
        let ran = gcn(&["eval", "--arch", "gfx900", &format!("{inst}  {state}")]);
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
        assert_eq!(ran.stderr.contains("v2 = "), inst.contains("store"));
    }
}

#[test]
fn traces_are_short_and_profiles_begin_with_what_is_hot() {
    let folder = Folder::new();
    let object = folder.path("lines.co");
    assert_eq!(
        gcn(&["asm", "-g", &folder.path("saxpy.s"), "-o", &object]).status,
        0
    );
    let plan = folder.changed("saxpy.toml", &[("saxpy.s", "lines.co")]);
    let ran = gcn(&["run", &plan, "--trace-wave", "3:3"]);
    assert_eq!(ran.status, 0);
    assert!(
        ran.stderr.lines().all(|line| line.chars().count() < 200),
        "{}",
        ran.stderr
    );
    for part in [
        "v0 = 0x3c0 + lane in lanes 0-39",
        "  // saxpy.s:17\n",
        " = [960.0, 961.0, ",
        "s8 = 0x3e8, s9 = 2.0",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let full = gcn(&["run", &plan, "--trace-wave", "3:3", "--trace-full"]);
    assert!(full.stderr.len() > ran.stderr.len() && !full.stderr.contains("more]"));
    let none = gcn(&[
        "run",
        &plan,
        "--trace-wave",
        "9:0",
        "--trace-pc",
        "0x10..0x20",
    ]);
    let message =
        "nothing was traced: no instruction ran in wave 0 of workgroup (9, 0, 0) at 0x10..0x20";
    assert!(
        none.status == 0 && none.stderr.contains(message),
        "{}",
        none.stderr
    );
    let first = ran
        .stderr
        .lines()
        .find(|line| line.contains("0x1"))
        .expect("an address");
    let pc = first
        .split_whitespace()
        .find(|word| word.starts_with("0x"))
        .expect("an address");
    let alone = gcn(&["run", &plan, "--trace-pc", &format!("{pc}..{pc}0")]);
    assert!(
        alone.status == 0 && alone.stderr.contains(pc),
        "{}",
        alone.stderr
    );
    // The loop of mandelbrot takes nearly all of the time.
    let path = kernel("mandelbrot", "gfx900");
    let words = "--grid 32,32 --group 16,16 --arg buf:zero:4096 --arg i32:32 --arg i32:32 --arg f32:-2.2 --arg f32:-1.5 \
                 --arg f32:0.09 --arg f32:0.09 --arg i32:64 --profile";
    let words: Vec<&str> = words.split_whitespace().collect();
    for engine in ["interp", "jit"] {
        if engine == "jit" && gcn::engine::Kind::jit().is_none() {
            continue;
        }
        let ran = gcn(&[
            &["run", &path, "--kernel", "mandelbrot", "--engine", engine][..],
            &words,
        ]
        .concat());
        let text = ran.text();
        let blocks: Vec<&str> = text
            .lines()
            .filter(|l| l.contains("% of the instructions"))
            .collect();
        let share = |line: &str| -> f64 {
            let share = line.split(": ").nth(1).and_then(|l| l.split('%').next());
            share.and_then(|s| s.parse().ok()).expect("a share")
        };
        if engine == "interp" {
            let hot: f64 = blocks[..3].iter().map(|b| share(b)).sum();
            assert!(hot > 90.0, "{text}");
            assert!(
                blocks.windows(2).all(|b| share(b[0]) >= share(b[1])),
                "{text}"
            );
        }
        assert!(text.contains("s_cbranch") && text.contains(" .L"), "{text}");
        assert!(text.contains("\nmandelbrot (0x"), "{text}");
        assert!(!text.contains("s_nop 0\n"), "{text}");
    }
}

#[test]
fn parts_of_a_plan_and_their_union() {
    let folder = Folder::new();
    let plan = folder.path("mandelbrot.toml");
    let whole = gcn(&["run", &plan]);
    assert_eq!((whole.status, whole.stderr.as_str()), (0, ""));
    let image = || std::fs::read(folder.path("mandelbrot-out.npy")).expect("the image");
    let expected = image();
    std::fs::remove_file(folder.path("mandelbrot-out.npy")).expect("the image");
    let files: Vec<String> = (0..3).map(|n| folder.path(&format!("part{n}"))).collect();
    for (n, file) in files.iter().enumerate() {
        let part = format!("{n}/3");
        let ran = gcn(&[
            "run",
            &plan,
            "--shard",
            &part,
            "--out-shard",
            file,
            "--json",
        ]);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
        assert_eq!(json(&ran)["shard"], part.as_str());
    }
    assert!(!Path::new(&folder.path("mandelbrot-out.npy")).exists());
    let merge = |files: &[String]| {
        let mut line = vec!["merge", plan.as_str(), "--json"];
        line.extend(files.iter().map(String::as_str));
        gcn(&line)
    };
    let merged = merge(&files);
    assert_eq!((merged.status, merged.stderr.as_str()), (0, ""));
    let report = json(&merged);
    assert_eq!(
        (
            report["shards"].as_u64(),
            report["checks"][0]["ok"].as_bool()
        ),
        (Some(3), Some(true))
    );
    assert!(image() == expected);
    let incomplete = merge(&files[1..]);
    assert_eq!(incomplete.status, 1);
    assert!(
        incomplete.stderr.contains("missing: 0/3"),
        "{}",
        incomplete.stderr
    );
    // Workgroups that meet at a barrier, which is detected before anything runs.
    let sums = folder.path("sums.toml");
    let refused = gcn(&["run", &sums, "--shard", "0/2", "--out-shard", &files[0]]);
    assert_eq!(refused.status, 1);
    assert!(
        refused.stderr.contains("cannot be sharded"),
        "{}",
        refused.stderr
    );
    for line in [
        vec!["run", &plan, "--shard", "3/3", "--out-shard", "x"],
        vec!["run", &plan, "--shard", "0/3"],
        vec![
            "run",
            &folder.path("saxpy.s"),
            "--grid",
            "1",
            "--group",
            "1",
            "--shard",
            "0/3",
            "--out-shard",
            "x",
        ],
    ] {
        assert_eq!(gcn(&line).status, 2, "{line:?}");
    }
    // No file, or another one.
    let other = merge(std::slice::from_ref(&plan));
    assert!(
        other.status == 1 && other.stderr.contains("it is no shard"),
        "{}",
        other.stderr
    );
}
