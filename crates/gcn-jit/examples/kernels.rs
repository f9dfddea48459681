//! Runs the OpenCL kernels of a folder of code objects on both engines: `kernels DIR GFX [small|full] [NAME] [THREADS]`.
//! `small` compares all that they leave in memory; `full` times the compiling engine. LEVEL names its level.

use gcn_emu::dispatch::{Gpu, Launch};
use gcn_emu::engine::{Engine, Machine, Stop};
use gcn_emu::group::{Group, GroupStop, Groups};
use gcn_emu::mem::Perm;
use gcn_emu::wave::WaveState;
use gcn_isa::Target;
use gcn_jit::{Jit, Level};
use gcn_object::read::CodeObject;
use std::time::Duration;

/// Returns the level that LEVEL names, or the best one of the host.
fn level() -> Level {
    match std::env::var("LEVEL") {
        Ok(name) => Level::parse(&name).expect("avx2 or avx512"),
        Err(_) => Level::best().expect("AVX2"),
    }
}

/// An engine that prints its statistics when it is dropped.
struct Told(Jit);
impl Engine for Told {
    fn run(&mut self, wave: &mut WaveState, machine: &mut Machine<'_>, fuel: &mut u64) -> Stop {
        self.0.run(wave, machine, fuel)
    }
    fn group(
        &mut self,
        group: &mut Group<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        self.0.group(group, machine, fuel)
    }
    fn groups(
        &mut self,
        groups: &mut Groups<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        self.0.groups(groups, machine, fuel)
    }
    fn slice(&self) -> u64 {
        self.0.slice()
    }
    fn exactly(&mut self, exact: bool) {
        self.0.exactly(exact);
    }
    fn invalidate(&mut self) {
        self.0.invalidate();
    }
}
impl Drop for Told {
    fn drop(&mut self) {
        let s = self.0.stats;
        let mut names: Vec<_> = self.0.names.iter().flatten().collect();
        names.sort_by_key(|n| std::cmp::Reverse(n.1));
        names.truncate(6);
        println!("   {names:?}");
        println!(
            "   [units {} insns {} code {} B compile {:.3} ms; executed {} interpreted {} restarts {} nonlinear {}]",
            s.regions,
            s.insns,
            s.bytes,
            s.compiling.as_secs_f64() * 1e3,
            s.executed,
            s.interpreted,
            s.restarts,
            s.not_affine
        );
    }
}

enum A {
    Buf(Vec<u8>),
    I(u32),
    F(f32),
    L(u64),
    Local(u32),
}

struct Case {
    file: &'static str,
    kernel: &'static str,
    grid: [u32; 3],
    group: [u32; 3],
    args: Vec<A>,
}

struct Rng(u32);
impl Rng {
    fn next(&mut self) -> u32 {
        let r = &mut self.0;
        *r ^= *r << 13;
        *r ^= *r >> 17;
        *r ^= *r << 5;
        *r
    }
}

fn u32s(n: usize, mut f: impl FnMut(usize) -> u32) -> A {
    A::Buf((0..n).flat_map(|i| f(i).to_le_bytes()).collect())
}
fn zeros(bytes: usize) -> A {
    A::Buf(vec![0; bytes])
}

fn cases(all_active: bool) -> Vec<Case> {
    let mut r = Rng(12345);
    let mut out = Vec::new();
    let d1 = |n: u32| [n, 1, 1];
    let pick = |f: u32, s: u32| if all_active { f } else { s };
    {
        let n = pick(1 << 22, 1000);
        let a = u32s(n as usize, |i| ((i & 1023) as f32).to_bits());
        let b = u32s(n as usize, |_| 2f32.to_bits());
        out.push(Case {
            file: "vadd",
            kernel: "vadd",
            grid: d1(n),
            group: d1(256),
            args: vec![a, b, zeros(4 * n as usize), A::I(n)],
        });
        let x = u32s(n as usize, |i| ((i & 1023) as f32).to_bits());
        let y = u32s(n as usize, |i| ((i & 1023) as f32 + 2.0).to_bits());
        out.push(Case {
            file: "vadd",
            kernel: "saxpy_f4",
            grid: d1(pick(16384, 256)),
            group: d1(256),
            args: vec![x, y, A::F(0.5), A::I(n / 4)],
        });
    }
    {
        let n = pick(512, 64);
        let a = u32s((n * n) as usize, |_| {
            ((r.next() % 7) as f32 - 3.0).to_bits()
        });
        let b = u32s((n * n) as usize, |_| {
            ((r.next() % 5) as f32 - 2.0).to_bits()
        });
        out.push(Case {
            file: "matmul",
            kernel: "matmul",
            grid: [n, n, 1],
            group: [16, 16, 1],
            args: vec![a, b, zeros(4 * (n * n) as usize), A::I(n)],
        });
    }
    {
        let n = pick(1 << 22, 5000);
        let a = u32s(n as usize, |_| r.next() & 0xffff);
        out.push(Case {
            file: "reduce",
            kernel: "reduce_sum",
            grid: d1(pick(65536, 1024)),
            group: d1(256),
            args: vec![a, zeros(16), A::I(n), A::Local(1024)],
        });
        let m = pick(1 << 18, 3000);
        let a = u32s(n as usize, |_| r.next() & 0xffff);
        out.push(Case {
            file: "reduce",
            kernel: "minmax_argmax",
            grid: d1(pick(16384, 256)),
            group: d1(64),
            args: vec![a, zeros(16), A::I(m)],
        });
    }
    {
        let w = pick(1024, 64);
        let s = 3.0 / w as f32;
        out.push(Case {
            file: "mandelbrot",
            kernel: "mandelbrot",
            grid: [w, w, 1],
            group: [16, 16, 1],
            args: vec![
                zeros(4 * (w * w) as usize),
                A::I(w),
                A::I(w),
                A::F(-2.2),
                A::F(-1.5),
                A::F(s),
                A::F(s),
                A::I(256),
            ],
        });
    }
    {
        let n = pick(1 << 18, 512);
        out.push(Case {
            file: "sha256",
            kernel: "sha256_nonce",
            grid: d1(n),
            group: d1(256),
            args: vec![A::L(0), zeros(32 * n as usize)],
        });
    }
    larger_cases(all_active, &mut r, &mut out);
    out
}

/// Adds the larger cases.
fn larger_cases(all_active: bool, r: &mut Rng, out: &mut Vec<Case>) {
    let d1 = |n: u32| [n, 1, 1];
    let pick = |f: u32, s: u32| if all_active { f } else { s };
    {
        let n = pick(4096, 512);
        let a = u32s(4 * n as usize, |_| {
            ((r.next() & 0xffff) as f32 / 65536.0).to_bits()
        });
        out.push(Case {
            file: "nbody",
            kernel: "nbody",
            grid: d1(n),
            group: d1(256),
            args: vec![
                a,
                zeros(16 * n as usize),
                zeros(16 * n as usize),
                A::I(n),
                A::F(0.01),
                A::F(1e-3),
            ],
        });
    }
    {
        let n = pick(1 << 23, 20000);
        let a = A::Buf((0..n).map(|_| (r.next() >> 9) as u8).collect());
        out.push(Case {
            file: "histogram",
            kernel: "histogram",
            grid: d1(pick(16384, 512)),
            group: d1(256),
            args: vec![a, zeros(1024), A::I(n)],
        });
    }
    {
        let w = pick(2048, 128);
        let a = A::Buf(
            (0..w * w)
                .flat_map(|_| (r.next() as f64 / 1e9).to_le_bytes())
                .collect(),
        );
        out.push(Case {
            file: "stencil64",
            kernel: "stencil64",
            grid: [w, w, 1],
            group: [64, 4, 1],
            args: vec![a, zeros(8 * (w * w) as usize), A::I(w), A::I(w)],
        });
    }
    {
        let n = pick(1 << 20, 4096);
        let a = u32s(n as usize, |_| r.next());
        out.push(Case {
            file: "sort",
            kernel: "bitonic_step",
            grid: d1(n),
            group: d1(256),
            args: vec![a, A::I(512), A::I(1024)],
        });
        let a = u32s(n as usize, |_| r.next());
        out.push(Case {
            file: "sort",
            kernel: "scan_local",
            grid: d1(n),
            group: d1(256),
            args: vec![
                a,
                zeros(4 * n as usize),
                zeros(4 * n as usize / 256),
                A::Local(1024),
            ],
        });
    }
}

fn run(
    case: &Case,
    object: &CodeObject,
    target: Target,
    jit: bool,
    runs: usize,
    threads: usize,
    told: bool,
) -> (Vec<Vec<u8>>, Duration, u64) {
    let gpu = if jit {
        if !told {
            let cache = gcn_jit::Cache::with_level(level());
            return run_on(
                Gpu::with_engine(target, 1 << 30, move || Box::new(cache.engine()))
                    .expect("memory"),
                case,
                object,
                runs,
                threads,
            );
        }
        Gpu::with_engine(target, 1 << 30, move || {
            let mut jit = match std::env::var("CHECK") {
                Ok(_) => Jit::with_level(level()).checking(),
                Err(_) => Jit::with_level(level()),
            };
            jit.names = Some(Default::default());
            Box::new(Told(jit))
        })
    } else {
        Gpu::new(target, 1 << 30)
    };
    run_on(gpu.expect("memory"), case, object, runs, threads)
}

fn run_on(
    gpu: Gpu,
    case: &Case,
    object: &CodeObject,
    runs: usize,
    threads: usize,
) -> (Vec<Vec<u8>>, Duration, u64) {
    let loaded = gpu.load(object).expect("loads");
    let mut kernarg = Vec::new();
    let mut buffers = Vec::new();
    let mut lds = 0;
    for a in &case.args {
        let mut put = |bytes: &[u8]| {
            while !kernarg.len().is_multiple_of(bytes.len()) {
                kernarg.push(0);
            }
            kernarg.extend_from_slice(bytes);
        };
        match a {
            A::Buf(data) => {
                let at = gpu
                    .memory
                    .alloc(data.len() as u64, 256, Perm::RW)
                    .expect("alloc");
                gpu.memory.write(at, data).expect("write");
                buffers.push((at, data.len()));
                put(&at.to_le_bytes());
            }
            A::I(v) => put(&v.to_le_bytes()),
            A::F(v) => put(&v.to_le_bytes()),
            A::L(v) => put(&v.to_le_bytes()),
            A::Local(bytes) => {
                lds += bytes;
                put(&0u32.to_le_bytes());
            }
        }
    }
    let launch = Launch {
        grid: case.grid,
        group: case.group,
        kernarg,
        dynamic_lds: lds,
        threads,
        ..Launch::default()
    };
    let mut best = Duration::MAX;
    let mut instructions = 0;
    for _ in 0..runs {
        let begun = cpu();
        match gpu.dispatch(&loaded, case.kernel, &launch) {
            Ok(stats) => instructions = stats.instructions,
            Err(e) => println!("   ERROR {e}"),
        }
        best = best.min(cpu() - begun);
    }
    let out = buffers
        .iter()
        .map(|&(at, len)| {
            let mut data = vec![0; len];
            gpu.memory.read(at, &mut data).expect("read");
            data
        })
        .collect();
    (out, best, instructions)
}

/// Returns the time, or if CPU is set the main thread's processor time, which the system counts in steps of milliseconds.
fn cpu() -> Duration {
    if std::env::var("CPU").is_err() {
        static BEGUN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        return BEGUN.get_or_init(std::time::Instant::now).elapsed();
    }
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("schedstat");
    Duration::from_nanos(
        text.split(' ')
            .next()
            .and_then(|t| t.parse().ok())
            .expect("a number"),
    )
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (dir, gfx) = (&args[1], &args[2]);
    let all_active = args.get(3).is_some_and(|a| a == "full");
    let only = args.get(4).map_or("all", String::as_str);
    let threads = args.get(5).and_then(|t| t.parse().ok()).unwrap_or(1);
    let target = Target::parse(gfx).expect("a target");
    for case in cases(all_active) {
        if only != "all" && case.kernel != only {
            continue;
        }
        let Ok(bytes) = std::fs::read(format!("{dir}/{}-{gfx}.co", case.file)) else {
            continue;
        };
        let object = CodeObject::parse(&bytes).expect("an object");
        let runs = std::env::var("RUNS")
            .ok()
            .and_then(|r| r.parse().ok())
            .unwrap_or(if all_active { 3 } else { 1 });
        let (got, time, insns) = run(&case, &object, target, true, runs, threads, !all_active);
        println!(
            "{:14} jit    {:10.3} ms  {:8.1} M wave instr/s",
            case.kernel,
            time.as_secs_f64() * 1e3,
            insns as f64 / time.as_secs_f64() / 1e6
        );
        if !all_active {
            let (want, _, insns2) = run(&case, &object, target, false, 1, 1, false);
            let bad: usize = got
                .iter()
                .zip(&want)
                .map(|(a, b)| a.iter().zip(b).filter(|(x, y)| x != y).count())
                .sum();
            println!(
                "{:14} {} differing bytes, instructions {} / {}",
                case.kernel, bad, insns, insns2
            );
        }
    }
}
