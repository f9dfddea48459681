//! Compiled kernels in `gcn run`, for five targets, compared with the host's results; and the reports of kernels that fail.

mod common;

use std::path::Path;

use common::{Ran, gcn, kernel, with_input};
use gcn::run::SplitMix;

const TARGETS: [&str; 5] = ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"];

/// A folder for one test's files.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Files {
        Files(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    fn write(&self, name: &str, bytes: &[u8]) -> String {
        std::fs::write(self.path(name), bytes).expect("a file");
        self.path(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("the output")
    }
}

/// Runs a kernel: `words` are the arguments after the file, split at blanks.
fn run(file: &str, words: &str) -> Ran {
    let args: Vec<&str> = ["run", file]
        .into_iter()
        .chain(words.split_whitespace())
        .collect();
    gcn(&args)
}

fn run_well(file: &str, words: &str) -> Ran {
    let ran = run(file, words);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{file} {words}");
    ran
}

fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytes
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes(b.try_into().expect("4 bytes")))
        .collect()
}

fn i32s(bytes: &[u8]) -> Vec<i32> {
    bytes
        .chunks_exact(4)
        .map(|b| i32::from_le_bytes(b.try_into().expect("4 bytes")))
        .collect()
}

fn bytes_of<const N: usize, T: Copy>(values: &[T], bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(|v| bytes(*v)).collect()
}

/// The contents of `buf:randf32:4·n:seed`.
fn uniform(n: usize, seed: u64) -> Vec<f32> {
    let mut rng = SplitMix(seed);
    (0..n)
        .map(|_| (rng.next_u64() >> 40) as f32 / (1u32 << 24) as f32)
        .collect()
}

/// Compares bits, because the sign of zero and infinities count.
fn same(got: &[f32], expected: &[f32], what: &str) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (n, (g, e)) in got.iter().zip(expected).enumerate() {
        assert_eq!(
            g.to_bits(),
            e.to_bits(),
            "{what}: element {n} is {g}, expected {e}"
        );
    }
}

#[test]
fn vadd() {
    let files = Files::new();
    let out = files.path("sum.bin");
    let (a, b) = (uniform(1000, 1), uniform(1000, 2));
    // The last workgroup is partial, and the last elements have no work-item's sum.
    let expected: Vec<f32> = (0..1000)
        .map(|i| if i < 900 { a[i] + b[i] } else { 0.0 })
        .collect();
    for target in TARGETS {
        run_well(
            &kernel("vadd", target),
            &format!(
                "--kernel vadd --grid 1000 --group 256 --arg buf:randf32:4000:1 --arg buf:randf32:4000:2 --arg buf:zero:4000 --arg u32:900 --out 2={out}"
            ),
        );
        same(&f32s(&files.read("sum.bin")), &expected, target);
    }
    // The same after disassembling and assembling.
    let source = gcn(&["dis", &kernel("vadd", "gfx803")]);
    let again = files.path("again.co");
    let ran = with_input(&["asm", "-", "-o", &again], &source.stdout);
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    run_well(
        &again,
        &format!(
            "--kernel vadd --grid 1000 --group 256 --arg buf:randf32:4000:1 --arg buf:randf32:4000:2 --arg buf:zero:4000 --arg u32:900 --out 2={out}"
        ),
    );
    same(&f32s(&files.read("sum.bin")), &expected, "again");
}

#[test]
fn saxpy_takes_and_gives_numpy_files() {
    let files = Files::new();
    let (x, y) = (uniform(404, 3), uniform(404, 4));
    let xs = files.write(
        "x.npy",
        &gcn::npy::file(&bytes_of(&x, f32::to_le_bytes), "<f4"),
    );
    let ys = files.write("y.bin", &bytes_of(&y, f32::to_le_bytes));
    let out = files.path("out.npy");
    for target in TARGETS {
        run_well(
            &kernel("vadd", target),
            &format!(
                "--kernel saxpy_f4 --grid 64 --group 64 --arg buf:{xs} --arg buf:{ys} --arg f32:1.5 --arg u32:100 --out 1={out}"
            ),
        );
        let file = files.read("out.npy");
        assert!(file.starts_with(b"\x93NUMPY"));
        let got = f32s(&gcn::npy::data(&file).expect("a .npy file"));
        assert_eq!(got.len(), 404, "{target}");
        for i in 0..404 {
            // v_mac_f32 rounds twice, v_fma_f32 once: OpenCL's mad permits both.
            let (fused, apart) = (1.5f32.mul_add(x[i], y[i]), 1.5 * x[i] + y[i]);
            let good = if i < 400 {
                got[i] == fused || got[i] == apart
            } else {
                got[i] == y[i]
            };
            assert!(good, "{target}: element {i} is {}", got[i]);
        }
    }
}

#[test]
fn mandelbrot() {
    let (w, h, limit) = (40i32, 24i32, 60);
    let files = Files::new();
    let out = files.path("image.bin");
    let steps = |px: i32, py: i32, fused: bool| {
        let mad = |a: f32, b: f32, c: f32| if fused { a.mul_add(b, c) } else { a * b + c };
        let (cx, cy) = (mad(0.07, px as f32, -2.0), mad(0.1, py as f32, -1.2));
        let (mut x, mut y, mut n) = (0.0f32, 0.0f32, 0);
        while n < limit && mad(x, x, y * y) < 4.0 {
            let t = mad(x, x, -(y * y)) + cx;
            y = mad(2.0 * x, y, cy);
            x = t;
            n += 1;
        }
        n
    };
    for target in TARGETS {
        run_well(
            &kernel("mandelbrot", target),
            &format!(
                "--kernel mandelbrot --grid {w},{h} --group 16,4 --arg buf:zero:{} --arg i32:{w} --arg i32:{h} --arg f32:-2 --arg f32:-1.2 --arg f32:0.07 --arg f32:0.1 --arg i32:{limit} --out 0={out}",
                w * h * 4
            ),
        );
        let got = i32s(&files.read("image.bin"));
        let mut differ = 0;
        for py in 0..h {
            for px in 0..w {
                let n = got[(py * w + px) as usize];
                let near = [steps(px, py, false), steps(px, py, true)];
                differ += !near.contains(&n) as usize;
            }
        }
        // The compiler chooses which products are fused; chaos near the border makes the choice visible.
        assert!(
            differ * 100 < got.len(),
            "{target}: {differ} of {} pixels",
            got.len()
        );
        assert!(got.contains(&limit) && got.contains(&1), "{target}");
    }
}

#[test]
fn matmul() {
    let n = 32;
    let files = Files::new();
    let out = files.path("c.bin");
    let (a, b) = (uniform(n * n, 5), uniform(n * n, 6));
    for target in TARGETS {
        run_well(
            &kernel("matmul", target),
            &format!(
                "--kernel matmul --grid 32,32 --group 16,16 --arg buf:randf32:4096:5 --arg buf:randf32:4096:6 --arg buf:zero:4096 --arg i32:32 --out 2={out}"
            ),
        );
        let got = f32s(&files.read("c.bin"));
        assert_eq!(got.len(), n * n);
        for row in 0..n {
            for col in 0..n {
                let exact: f64 = (0..n)
                    .map(|k| a[row * n + k] as f64 * b[k * n + col] as f64)
                    .sum();
                let got = got[row * n + col] as f64;
                assert!(
                    (got - exact).abs() < 1e-5 * exact,
                    "{target}: C[{row}][{col}] is {got}, expected {exact}"
                );
            }
        }
    }
}

#[test]
fn reduce_sum_with_local_memory() {
    let files = Files::new();
    let values: Vec<i32> = {
        let mut rng = SplitMix(7);
        (0..1500).map(|_| rng.next_u64() as i32).collect()
    };
    let input = files.write("in.bin", &bytes_of(&values, i32::to_le_bytes));
    let out = files.path("sum.bin");
    let expected = values.iter().fold(0i32, |a, v| a.wrapping_add(*v));
    for target in TARGETS {
        // Three workgroups, on one thread and on two; two repetitions, each from zeros.
        for threads in [1, 2] {
            let ran = run_well(
                &kernel("reduce", target),
                &format!(
                    "--kernel reduce_sum --grid 384 --group 128 --arg buf:{input} --arg buf:zero:4 --arg u32:1500 --arg local:512 --out 1={out} --threads {threads} --repeat 2 --json"
                ),
            );
            assert_eq!(
                i32s(&files.read("sum.bin")),
                [expected],
                "{target}, {threads} threads"
            );
            let json: serde_json::Value = serde_json::from_str(&ran.text()).expect("JSON");
            let keys = |v: &serde_json::Value| -> Vec<String> {
                v.as_object().expect("an object").keys().cloned().collect()
            };
            assert_eq!(keys(&json), ["launches", "instructions", "waves"]);
            assert_eq!(json["waves"], 6);
            assert!(json["instructions"].as_u64() > Some(100), "{json}");
            let launches = json["launches"].as_array().expect("a list");
            assert_eq!(launches.len(), 1);
            assert_eq!(keys(&launches[0]), ["kernel", "ms"]);
            assert_eq!(launches[0]["kernel"], "reduce_sum");
            let ms = launches[0]["ms"].as_array().expect("a list");
            assert_eq!(ms.len(), 3);
            assert!(
                ms.iter().all(|t| t.as_f64().is_some_and(|t| t >= 0.0)),
                "{json}"
            );
        }
    }
}

#[test]
fn minmax_with_atomics() {
    let files = Files::new();
    let out = files.path("out.bin");
    let mut values = Vec::new();
    let mut rng = SplitMix(9);
    while values.len() < 1000 {
        let r = rng.next_u64();
        values.extend([r as i32, (r >> 32) as i32]);
    }
    let start = files.write(
        "start.bin",
        &bytes_of(&[i32::MAX, i32::MIN, 0, 0], i32::to_le_bytes),
    );
    let expected = [
        *values.iter().min().expect("values"),
        *values.iter().max().expect("values"),
        values.iter().fold(0, |a, v| a ^ v),
        values.iter().filter(|v| **v & 1023 == 7).count() as i32,
    ];
    for target in TARGETS {
        for threads in [1, 2] {
            run_well(
                &kernel("reduce", target),
                &format!(
                    "--kernel minmax_argmax --grid 256 --group 64 --arg buf:rand:4000:9 --arg buf:{start} --arg u32:1000 --out 1={out} --threads {threads}"
                ),
            );
            assert_eq!(
                i32s(&files.read("out.bin")),
                expected,
                "{target}, {threads} threads"
            );
        }
    }
}

#[test]
fn wrong_launches_are_refused() {
    let vadd = kernel("vadd", "gfx900");
    let three = "--arg buf:zero:4000 --arg buf:zero:4000 --arg buf:zero:4000";
    let size = "--grid 1000 --group 256";
    for (words, status, says) in [
        (format!("--kernel nope {size}"), 1, "vadd, saxpy_f4"),
        (format!("--kernel vadd {size}"), 1, "takes 4 arguments"),
        (
            format!("--kernel vadd {size} {three} --arg i64:5"),
            1,
            "argument 3 (uint): expected 4 bytes, not 8",
        ),
        (
            format!("--kernel vadd {size} {three} --arg buf:zero:4"),
            1,
            "expected a value",
        ),
        (
            format!(
                "--kernel vadd {size} --arg u64:16 --arg buf:zero:4000 --arg buf:zero:4000 --arg u32:1"
            ),
            1,
            "expected a buffer",
        ),
        (
            format!("--kernel vadd {size} {three} --arg u32:1 --out 3=x"),
            1,
            "argument 3 is not a buffer",
        ),
        (
            format!("--kernel vadd {size} {three} --arg u32:1 --out 2=/no/such/folder/x"),
            1,
            "/no/such/folder/x",
        ),
        (
            format!("--kernel vadd --grid 1000 --group 2000 {three} --arg u32:1"),
            1,
            "1024",
        ),
        (
            format!("--kernel vadd {size} {three} --arg u32:1000 --max-instructions 100"),
            1,
            "100 instructions",
        ),
        (
            format!("--kernel vadd {size} --arg buf:no-such-file {three}"),
            1,
            "no-such-file",
        ),
        (
            format!("--kernel vadd {size} {three} --arg foo:1"),
            2,
            "`foo`",
        ),
        (
            format!("--kernel vadd {size} {three} --arg u32:-1"),
            2,
            "does not fit",
        ),
        (
            format!("--kernel vadd {size} {three} --arg buf:rand:10"),
            2,
            "expected buf:rand:BYTES:SEED",
        ),
        (
            format!("--kernel vadd {size} {three} --arg u32:1 --out x.bin"),
            2,
            "N=FILE",
        ),
        (
            format!("--kernel vadd {size} {three} --arg u32:1 --engine fast"),
            2,
            "expected interp or jit",
        ),
        (
            format!("--kernel vadd {size} {three} --arg u32:1 --threads 0"),
            2,
            "threads",
        ),
        (
            format!("--kernel vadd --grid 0 --group 256 {three} --arg u32:1"),
            2,
            "grid",
        ),
        (
            format!("--kernel vadd --grid 1,1,1,1 --group 256 {three} --arg u32:1"),
            2,
            "three",
        ),
        ("--kernel vadd --group 256".to_owned(), 2, "--grid"),
    ] {
        let ran = run(&vadd, &words);
        assert_eq!(ran.status, status, "{words}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{words}: {}", ran.stderr);
    }
    let reduce =
        "--kernel reduce_sum --grid 64 --group 64 --arg buf:zero:4 --arg buf:zero:4 --arg u32:1";
    let ran = run(
        &kernel("reduce", "gfx900"),
        &format!("{reduce} --arg local:70000"),
    );
    assert!(
        ran.status == 1 && ran.stderr.contains("LDS"),
        "{}",
        ran.stderr
    );
    let ran = run(
        &kernel("reduce", "gfx900"),
        &format!("{reduce} --arg local:4294967295"),
    );
    assert!(
        ran.status == 1 && ran.stderr.contains("LDS"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_buffer_that_is_too_small_is_reported_with_the_place() {
    let ran = run(
        &kernel("vadd", "gfx900"),
        "--kernel vadd --grid 100000 --group 256 --arg buf:zero:4096 --arg buf:zero:400000 --arg buf:zero:400000 --arg u32:100000 --threads 1",
    );
    assert_eq!(ran.status, 1);
    for part in [
        "kernel vadd",
        "workgroup (4, 0, 0)",
        "wave 0",
        "lane 0",
        "pc 0x",
        "(vadd+0x",
        "global_load_dword",
        "address 0x",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
}

/// Assembles a kernel `k` for gfx900 without metadata of its arguments.
fn assemble(files: &Files, body: &str) -> String {
    let source = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n{body}\n\
         .rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\
         .amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 16\n.end_amdhsa_kernel\n"
    );
    let out = files.path("k.co");
    let ran = with_input(&["asm", "-", "-o", &out], source.as_bytes());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{source}");
    assert!(Path::new(&out).exists());
    out
}

#[test]
fn arguments_without_metadata_lie_one_after_another() {
    let files = Files::new();
    let k = assemble(
        &files,
        "s_load_dword s2, s[0:1], 0x0\ns_load_dwordx2 s[4:5], s[0:1], 0x8\ns_waitcnt lgkmcnt(0)\n\
         v_mov_b32 v1, s4\nv_mov_b32 v2, s5\nv_mov_b32 v3, s2\nglobal_store_dword v[1:2], v3, off\ns_endpgm",
    );
    let out = files.path("out.bin");
    run_well(
        &k,
        &format!("--kernel k --grid 1 --group 1 --arg u32:77 --arg buf:zero:4 --out 1={out}"),
    );
    assert_eq!(i32s(&files.read("out.bin")), [77]);
    // Only the file that the buffer is read from gives its type, and the output replaces that file.
    let file = files.write("x.npy", &gcn::npy::file(&[0; 8], "<i8"));
    run_well(
        &k,
        &format!("--kernel k --grid 1 --group 1 --arg u32:77 --arg buf:{file} --out 1={file}"),
    );
    let file = files.read("x.npy");
    assert_eq!(gcn::npy::element_type(&file).as_deref(), Ok("<i8"));
    assert_eq!(gcn::npy::data(&file), Ok(77u64.to_le_bytes().to_vec()));
    // A wild pointer, only in lane 1 of wave 1.
    let k = assemble(
        &files,
        "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v1, s4\nv_mov_b32 v2, s5\n\
         v_cmpx_eq_u32 vcc, 65, v0\nglobal_load_dword v3, v[1:2], off\ns_endpgm",
    );
    let ran = run(
        &k,
        "--kernel k --grid 128 --group 128 --arg u64:0xdead00000000",
    );
    assert_eq!(ran.status, 1);
    for part in [
        "address 0xdead00000000",
        "kernel k",
        "workgroup (0, 0, 0)",
        "wave 1",
        "lane 1",
        "global_load_dword v3, v[1:2], off",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
}

#[test]
fn kernels_that_do_not_end() {
    let files = Files::new();
    // Wave 0 waits at a barrier; wave 1 halts before it.
    let k = assemble(
        &files,
        "v_readfirstlane_b32 s2, v0\ns_cmp_eq_u32 s2, 0\ns_cbranch_scc0 other\n\
         s_barrier\ns_endpgm\nother:\ns_sethalt 1\ns_barrier\ns_endpgm",
    );
    let ran = run(&k, "--kernel k --grid 128 --group 128");
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    for part in [
        "deadlock",
        "wave 0 waits at s_barrier",
        "for wave 1",
        "wave 1 has halted",
        "kernel k",
        "workgroup (0, 0, 0)",
        "pc 0x",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let k = assemble(&files, "loop: s_branch loop");
    let ran = run(&k, "--kernel k --grid 64 --group 64");
    assert_eq!(ran.status, 1);
    for part in ["livelock", "kernel k", "wave 0 loops at pc 0x", "s_branch"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let k = assemble(&files, "loop: s_add_u32 s0, s0, 1\ns_branch loop");
    let ran = run(
        &k,
        "--kernel k --grid 64 --group 64 --max-instructions 1000",
    );
    assert_eq!(ran.status, 1);
    for part in ["1000 instructions", "kernel k", "pc 0x"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let k = assemble(&files, "s_nop 0\n.long 0xffffffff");
    let ran = run(&k, "--kernel k --grid 64 --group 64");
    assert_eq!(ran.status, 1);
    for part in ["illegal", "k+0x4", "0xffffffff"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
}
