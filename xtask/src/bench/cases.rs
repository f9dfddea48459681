//! The description of a kernel to measure; the peer's benchmark.

use super::data::{Alike, Arg, doubles, exact, float, floats, int, one, words, zeros};

/// A kernel and the parameters of its launch.
#[derive(Clone, Copy)]
pub struct Case {
    /// Its name in the table.
    pub name: &'static str,
    /// The source's name without `.cl`.
    pub file: &'static str,
    /// The kernel's name.
    pub kernel: &'static str,
    /// The number of work-items.
    pub grid: [u32; 3],
    /// The number of work-items of a workgroup.
    pub group: [u32; 3],
    /// Makes the arguments.
    pub args: fn() -> Vec<Arg>,
}

/// The benchmark's random numbers (xorshift, 32 bits, seed 12345).
struct Random(u32);

impl Random {
    /// The random numbers after the first `n`.
    fn behind(n: usize) -> Random {
        let mut random = Random(12345);
        (0..n).for_each(|_| _ = random.next());
        random
    }

    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }
}

/// The number of random numbers that the benchmark draws before a kernel's data.
mod drawn {
    pub const REDUCE: usize = 2 * 512 * 512 + 2000;
    pub const NBODY: usize = REDUCE + (1 << 22);
    pub const HISTOGRAM: usize = NBODY + 4 * 4096;
    pub const STENCIL: usize = HISTOGRAM + (1 << 23);
    pub const SORT: usize = STENCIL + (1 << 22);
}

fn reduce_data() -> (Vec<u8>, u32) {
    let mut random = Random::behind(drawn::REDUCE);
    let mut sum = 0u32;
    let data = words(1 << 22, |_| {
        let n = random.next() & 0xffff;
        sum = sum.wrapping_add(n);
        n
    });
    (data, sum)
}

/// The kernels of the peer's benchmark with its sizes, arguments and data.
pub const PEER: &[Case] = &[
    Case {
        name: "vadd",
        file: "vadd",
        kernel: "vadd",
        grid: one(1 << 22),
        group: one(256),
        args: || {
            let n = 1 << 22;
            let a = exact(floats(n, |i| (i & 1023) as f32));
            vec![a, exact(floats(n, |_| 2.0)), zeros(4 * n), int(n as u32)]
        },
    },
    Case {
        name: "saxpy_f4",
        file: "vadd",
        kernel: "saxpy_f4",
        grid: one(16384),
        group: one(256),
        args: || {
            let n = 1 << 22;
            let x = exact(floats(n, |i| (i & 1023) as f32));
            // The result of vadd.
            let y = exact(floats(n, |i| (i & 1023) as f32 + 2.0));
            vec![x, y, float(0.5), int(n as u32 / 4)]
        },
    },
    Case {
        name: "matmul512",
        file: "matmul",
        kernel: "matmul",
        grid: [512, 512, 1],
        group: [16, 16, 1],
        args: || {
            let n = 512;
            let mut random = Random::behind(0);
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for _ in 0..n * n {
                a.push((random.next() % 7) as f32 - 3.0);
                b.push((random.next() % 5) as f32 - 2.0);
            }
            let (a, b) = (floats(n * n, |i| a[i]), floats(n * n, |i| b[i]));
            // Small integers, whose sums are exact.
            vec![exact(a), exact(b), zeros(4 * n * n), int(n as u32)]
        },
    },
    Case {
        name: "reduce",
        file: "reduce",
        kernel: "reduce_sum",
        grid: one(65536),
        group: one(256),
        args: || {
            let data = reduce_data().0;
            vec![exact(data), zeros(16), int(1 << 22), Arg::Local(1024)]
        },
    },
    Case {
        name: "atomics",
        file: "reduce",
        kernel: "minmax_argmax",
        grid: one(16384),
        group: one(64),
        args: || {
            let (data, sum) = reduce_data();
            // The first is the result of reduce.
            let out = words(4, |i| if i == 0 { sum } else { 0 });
            vec![exact(data), exact(out), int(1 << 18)]
        },
    },
    Case {
        name: "mandelbrot",
        file: "mandelbrot",
        kernel: "mandelbrot",
        grid: [1024, 1024, 1],
        group: [16, 16, 1],
        args: || {
            let (w, step) = (1024, (3.0 / 1024.0) as f32);
            let image = Arg::Buffer(vec![0; 4 * w * w], Alike::Mostly(0.01));
            let (x, y) = (float(-2.2), float(-1.5));
            let size = w as u32;
            vec![
                image,
                int(size),
                int(size),
                x,
                y,
                float(step),
                float(step),
                int(256),
            ]
        },
    },
    Case {
        name: "sha256",
        file: "sha256",
        kernel: "sha256_nonce",
        grid: one(1 << 18),
        group: one(256),
        args: || vec![Arg::Value(vec![0; 8]), zeros(32 << 18)],
    },
    Case {
        name: "nbody4096",
        file: "nbody",
        kernel: "nbody",
        grid: one(4096),
        group: one(256),
        args: || {
            let n = 4096;
            let mut random = Random::behind(drawn::NBODY);
            let locations = floats(4 * n, |_| (random.next() & 0xffff) as f32 / 65536.0);
            let out = || Arg::Buffer(vec![0; 16 * n], Alike::F32(1e-2));
            vec![
                exact(locations),
                out(),
                out(),
                int(n as u32),
                float(0.01),
                float(1e-3),
            ]
        },
    },
    Case {
        name: "histogram",
        file: "histogram",
        kernel: "histogram",
        grid: one(16384),
        group: one(256),
        args: || {
            let mut random = Random::behind(drawn::HISTOGRAM);
            let bytes = (0..1 << 23).map(|_| (random.next() >> 9) as u8).collect();
            vec![exact(bytes), zeros(1024), int(1 << 23)]
        },
    },
    Case {
        name: "stencil64",
        file: "stencil64",
        kernel: "stencil64",
        grid: [2048, 2048, 1],
        group: [64, 4, 1],
        args: || {
            let w = 2048;
            let mut random = Random::behind(drawn::STENCIL);
            let data = doubles(w * w, |_| random.next() as f64 / 1e9);
            let out = Arg::Buffer(vec![0; 8 * w * w], Alike::F64(1e-12));
            vec![exact(data), out, int(w as u32), int(w as u32)]
        },
    },
    Case {
        name: "bitonic_step",
        file: "sort",
        kernel: "bitonic_step",
        grid: one(1 << 20),
        group: one(256),
        args: || {
            let mut random = Random::behind(drawn::SORT);
            let data = words(1 << 20, |_| random.next());
            vec![exact(data), int(512), int(1024)]
        },
    },
    Case {
        name: "scan_local",
        file: "sort",
        kernel: "scan_local",
        grid: one(1 << 20),
        group: one(256),
        args: || {
            let n = 1 << 20;
            let mut random = Random::behind(drawn::SORT);
            let data = words(n, |_| random.next());
            vec![
                exact(data),
                zeros(4 * n),
                zeros(4 * n / 256),
                Arg::Local(1024),
            ]
        },
    },
];
