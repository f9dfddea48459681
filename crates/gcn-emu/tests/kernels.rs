//! Kernels that clang compiled, against the host's results, for every generation.

use gcn_emu::dispatch::{Gpu, Launch, Loaded, RunError, Stats};
use gcn_emu::mem::Perm;
use gcn_isa::Target;
use gcn_object::CodeObject;
use std::path::PathBuf;

const TARGETS: [&str; 5] = ["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"];

/// One code object on one GPU.
struct Run {
    gpu: Gpu,
    loaded: Loaded,
}

/// An argument of a kernel.
enum Arg {
    U32(u32),
    U64(u64),
    F32(f32),
}
use Arg::*;

impl Run {
    fn new(file: &str, arch: &str) -> Run {
        Run::from("../../testdata/kernels", file, arch)
    }

    /// `folder` counts from this package's.
    fn from(folder: &str, file: &str, arch: &str) -> Run {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join(folder)
            .join(format!("{file}-{arch}.co"));
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let object = CodeObject::parse(&bytes).unwrap();
        let gpu = Gpu::new(Target::parse(arch).unwrap(), 64 << 20).unwrap();
        let loaded = gpu.load(&object).unwrap();
        Run { gpu, loaded }
    }

    fn buffer(&mut self, bytes: &[u8]) -> u64 {
        let at = self
            .gpu
            .memory
            .alloc(bytes.len() as u64, 256, Perm::RW)
            .unwrap();
        self.gpu.memory.write(at, bytes).unwrap();
        at
    }

    fn words(&mut self, words: &[u32]) -> u64 {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.buffer(&bytes)
    }

    fn floats(&mut self, floats: &[f32]) -> u64 {
        let words: Vec<u32> = floats.iter().map(|f| f.to_bits()).collect();
        self.words(&words)
    }

    fn read(&self, at: u64, n: usize) -> Vec<u32> {
        (0..n)
            .map(|i| self.gpu.memory.load_u32(at + 4 * i as u64).unwrap())
            .collect()
    }

    fn read_floats(&self, at: u64, n: usize) -> Vec<f32> {
        self.read(at, n).into_iter().map(f32::from_bits).collect()
    }

    /// Launches with arguments at their natural alignment.
    fn launch(
        &mut self,
        kernel: &str,
        grid: [u32; 3],
        group: [u32; 3],
        args: &[Arg],
    ) -> Result<Stats, RunError> {
        let mut kernarg = Vec::new();
        for arg in args {
            match arg {
                U32(v) => kernarg.extend(v.to_le_bytes()),
                F32(v) => kernarg.extend(v.to_le_bytes()),
                U64(v) => {
                    kernarg.resize(kernarg.len().next_multiple_of(8), 0);
                    kernarg.extend(v.to_le_bytes());
                }
            }
        }
        let launch = Launch {
            grid,
            group,
            kernarg,
            dynamic_lds: 1024,
            max_instructions: Some(20_000_000),
            threads: 2,
            ..Launch::default()
        };
        self.gpu.dispatch(&self.loaded, kernel, &launch)
    }

    fn ok(&mut self, kernel: &str, grid: [u32; 3], group: [u32; 3], args: &[Arg]) {
        if let Err(e) = self.launch(kernel, grid, group, args) {
            panic!("{}: {e}", self.gpu.target().name());
        }
    }
}

fn random(seed: u64, n: usize) -> Vec<u32> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x >> 20) as u32
        })
        .collect()
}

fn uniform(seed: u64, n: usize) -> Vec<f32> {
    random(seed, n)
        .into_iter()
        .map(|w| (w >> 8) as f32 / (1 << 24) as f32)
        .collect()
}

#[test]
fn vadd() {
    for arch in TARGETS {
        let mut run = Run::new("vadd", arch);
        // The last workgroup is partial, and the last item is beyond n.
        let n = 1000usize;
        let (a, b) = (uniform(1, n), uniform(2, n));
        let (pa, pb, pc) = (run.floats(&a), run.floats(&b), run.floats(&vec![0.0; n]));
        run.ok(
            "vadd",
            [1001, 1, 1],
            [256, 1, 1],
            &[U64(pa), U64(pb), U64(pc), U32(n as u32)],
        );
        let want: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        assert_eq!(run.read_floats(pc, n), want, "{arch}");

        let (x, y) = (uniform(3, 1024), uniform(4, 1024));
        let (px, py) = (run.floats(&x), run.floats(&y));
        run.ok(
            "saxpy_f4",
            [128, 1, 1],
            [64, 1, 1],
            &[U64(px), U64(py), F32(0.75), U32(256)],
        );
        for (i, got) in run.read_floats(py, 1024).into_iter().enumerate() {
            let want = 0.75 * x[i] as f64 + y[i] as f64;
            assert!((got as f64 - want).abs() < 1e-6, "{arch} {i}: {got} {want}");
        }
    }
}

#[test]
fn mandelbrot() {
    let (w, h, max) = (60usize, 20usize, 50);
    let (x0, y0, dx, dy) = (-2.0f32, -1.0f32, 0.05f32, 0.1f32);
    for arch in TARGETS {
        let mut run = Run::new("mandelbrot", arch);
        let img = run.words(&vec![!0; w * h]);
        let args = [
            U64(img),
            U32(w as u32),
            U32(h as u32),
            F32(x0),
            F32(y0),
            F32(dx),
            F32(dy),
            U32(max),
        ];
        run.ok("mandelbrot", [64, 24, 1], [16, 8, 1], &args);
        let got = run.read(img, w * h);
        let mut inside = 0;
        let mut off = 0;
        for (i, &got) in got.iter().enumerate() {
            let (cx, cy) = (x0 + dx * (i % w) as f32, y0 + dy * (i / w) as f32);
            let (mut x, mut y, mut it) = (0.0f32, 0.0f32, 0);
            while it < max && x * x + y * y < 4.0 {
                (x, y) = (x * x - y * y + cx, 2.0 * x * y + cy);
                it += 1;
            }
            inside += (it == max) as usize;
            // Fused multiply-adds may move single pixels of the border.
            off += (got != it) as usize;
        }
        assert!(
            inside > 100 && off < 24,
            "{arch}: {inside} inside, {off} differ"
        );
    }
}

#[test]
fn matmul() {
    let n = 32usize;
    let (a, b) = (uniform(5, n * n), uniform(6, n * n));
    for arch in TARGETS {
        let mut run = Run::new("matmul", arch);
        let (pa, pb, pc) = (
            run.floats(&a),
            run.floats(&b),
            run.floats(&vec![0.0; n * n]),
        );
        run.ok(
            "matmul",
            [n as u32, n as u32, 1],
            [16, 16, 1],
            &[U64(pa), U64(pb), U64(pc), U32(n as u32)],
        );
        for (i, got) in run.read_floats(pc, n * n).into_iter().enumerate() {
            let want: f64 = (0..n)
                .map(|k| a[i / n * n + k] as f64 * b[k * n + i % n] as f64)
                .sum();
            assert!((got as f64 - want).abs() < 1e-4, "{arch} {i}: {got} {want}");
        }
    }
}

#[test]
fn reduce() {
    let n = 5000usize;
    let input = random(7, n);
    let signed = || input.iter().map(|&v| v as i32);
    for arch in TARGETS {
        let mut run = Run::new("reduce", arch);
        let (pi, po) = (run.words(&input), run.words(&[0]));
        // The local buffer lies at LDS address 0.
        run.ok(
            "reduce_sum",
            [1024, 1, 1],
            [256, 1, 1],
            &[U64(pi), U64(po), U32(n as u32), U32(0)],
        );
        let want = signed().fold(0i32, i32::wrapping_add);
        assert_eq!(run.read(po, 1)[0] as i32, want, "{arch}");

        let po = run.words(&[i32::MAX as u32, i32::MIN as u32, 0, 0]);
        run.ok(
            "minmax_argmax",
            [512, 1, 1],
            [128, 1, 1],
            &[U64(pi), U64(po), U32(n as u32)],
        );
        let want = [
            signed().min().unwrap() as u32,
            signed().max().unwrap() as u32,
            input.iter().fold(0, |x, v| x ^ v),
            input.iter().filter(|&&v| v & 1023 == 7).count() as u32,
        ];
        assert_eq!(run.read(po, 4), want, "{arch}");
    }
}

/// tests/data/scratch.cl: private memory through the buffer of the ABI, and through flat addresses.
#[test]
fn scratch() {
    let n = 200usize;
    for arch in TARGETS {
        let mut run = Run::from("tests/data", "scratch", arch);
        let input = random(8, 16 * n);
        let (pi, po) = (run.words(&input), run.words(&vec![0; n]));
        run.ok(
            "private_array",
            [n as u32, 1, 1],
            [64, 1, 1],
            &[U64(pi), U64(po)],
        );
        let want: Vec<u32> = (0..n)
            .map(|g| {
                let mut t: [u32; 16] = std::array::from_fn(|i| (i * g) as u32);
                for &v in &input[16 * g..][..16] {
                    t[v as usize & 15] = t[v as usize & 15].wrapping_add(v);
                }
                t.iter()
                    .fold(0u32, |s, t| s.wrapping_mul(31).wrapping_add(*t))
            })
            .collect();
        assert_eq!(run.read(po, n), want, "{arch}");
        if arch == "gfx600" {
            continue;
        }
        let pm = run.words(&random(9, 4 * n));
        let memory = random(9, 4 * n);
        run.ok(
            "generic_pointers",
            [n as u32, 1, 1],
            [64, 1, 1],
            &[U64(pm), U64(po)],
        );
        let want: Vec<u32> = (0..n)
            .map(|g| {
                let mut global: Vec<u32> = memory[4 * g..][..4].to_vec();
                let mut local: Vec<u32> = (0..4).map(|k| g as u32 + k).collect();
                let mut private: Vec<u32> = (0..4).map(|k| g as u32 ^ k).collect();
                let chosen = [&mut global, &mut local, &mut private][g % 3].iter_mut();
                let s = chosen.fold(0u32, |s, p| {
                    *p = s.wrapping_mul(31).wrapping_add(*p);
                    *p
                });
                s.wrapping_add(local[3]).wrapping_add(private[3])
            })
            .collect();
        assert_eq!(run.read(po, n), want, "{arch}");
    }
}

#[test]
fn errors_say_where() {
    let mut run = Run::new("vadd", "gfx900");
    let error = run
        .launch(
            "vadd",
            [64, 1, 1],
            [64, 1, 1],
            &[U64(0x1000), U64(0x1000), U64(0x1000), U32(64)],
        )
        .unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, RunError::Fault { .. }), "{text}");
    for part in [
        "address 0x1000",
        "kernel vadd",
        "workgroup (0, 0, 0)",
        "wave 0",
        "lane 0",
        "global_load_dword",
    ] {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
    let error = run
        .launch("nothing", [1, 1, 1], [1, 1, 1], &[])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "no kernel 'nothing'; the code object has: vadd, saxpy_f4"
    );
    let error = run
        .launch("vadd", [1, 1, 1], [2048, 1, 1], &[])
        .unwrap_err();
    assert!(error.to_string().contains("2048"), "{error}");
}
