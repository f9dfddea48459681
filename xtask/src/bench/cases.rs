//! Kernels to measure, with their arguments.

use anyhow::{Result, bail, ensure};

/// A kernel and what it is launched with.
pub struct Case {
    /// What the table calls it.
    pub name: &'static str,
    /// The source's name without `.cl`.
    pub file: &'static str,
    /// The kernel's name.
    pub kernel: &'static str,
    /// Work-items.
    pub grid: [u32; 3],
    /// Work-items of a workgroup.
    pub group: [u32; 3],
    /// Makes the arguments.
    pub args: fn() -> Vec<Arg>,
}

/// An argument.
pub enum Arg {
    /// A buffer's contents, and how what becomes of it is compared.
    Buffer(Vec<u8>, Alike),
    /// A value's bytes.
    Value(Vec<u8>),
    /// A pointer to so many bytes of local memory.
    Local(u32),
}

/// When two engines' results are alike that compiled the source on their own.
#[derive(Clone, Copy)]
pub enum Alike {
    /// The same bytes.
    Exactly,
    /// Floats of 32 bits whose difference is no more than this part of the larger, or of 1.
    F32(f32),
    /// The same for 64 bits.
    F64(f64),
    /// Dwords of which this part may differ: counts of iterations that hang on how sums are rounded.
    Mostly(f64),
}

impl Alike {
    /// # Errors
    /// Where they differ.
    pub fn compare(self, a: &[u8], b: &[u8]) -> Result<()> {
        fn elements<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
            let chunks = bytes.chunks_exact(N);
            chunks.map(|c| std::array::from_fn(|n| c[n]))
        }
        fn close(a: f64, b: f64, part: f64) -> bool {
            a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= part * a.abs().max(1.0)
        }
        ensure!(a.len() == b.len(), "{} and {} bytes", a.len(), b.len());
        let at = match self {
            Alike::Exactly => a.iter().zip(b).position(|(a, b)| a != b),
            Alike::F32(part) => elements(a)
                .zip(elements(b))
                .map(|(a, b)| (f32::from_le_bytes(a) as f64, f32::from_le_bytes(b) as f64))
                .position(|(a, b)| !close(a, b, part as f64))
                .map(|at| 4 * at),
            Alike::F64(part) => elements(a)
                .zip(elements(b))
                .map(|(a, b)| (f64::from_le_bytes(a), f64::from_le_bytes(b)))
                .position(|(a, b)| !close(a, b, part))
                .map(|at| 8 * at),
            Alike::Mostly(part) => {
                let differ = elements::<4>(a).zip(elements::<4>(b));
                let differ = differ.filter(|(a, b)| a != b).count();
                ensure!(
                    differ as f64 <= part * a.len() as f64 / 4.0,
                    "{differ} of {} dwords differ",
                    a.len() / 4
                );
                None
            }
        };
        let Some(at) = at else { return Ok(()) };
        let some = |bytes: &[u8]| bytes[at..bytes.len().min(at + 8)].to_vec();
        bail!("at byte {at}: {:02x?} and {:02x?}", some(a), some(b))
    }
}

/// The benchmark's random numbers (xorshift, 32 bits, seed 12345).
struct Random(u32);

impl Random {
    /// Those that follow the first `n`.
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

pub fn words(n: usize, mut word: impl FnMut(usize) -> u32) -> Vec<u8> {
    (0..n).flat_map(|i| word(i).to_le_bytes()).collect()
}

pub fn floats(n: usize, mut float: impl FnMut(usize) -> f32) -> Vec<u8> {
    words(n, |i| float(i).to_bits())
}

pub fn doubles(n: usize, mut double: impl FnMut(usize) -> f64) -> Vec<u8> {
    (0..n).flat_map(|i| double(i).to_le_bytes()).collect()
}

pub fn exact(data: Vec<u8>) -> Arg {
    Arg::Buffer(data, Alike::Exactly)
}

pub fn zeros(bytes: usize) -> Arg {
    exact(vec![0; bytes])
}

pub fn int(n: u32) -> Arg {
    Arg::Value(n.to_le_bytes().to_vec())
}

pub fn float(n: f32) -> Arg {
    Arg::Value(n.to_le_bytes().to_vec())
}

pub const fn one(n: u32) -> [u32; 3] {
    [n, 1, 1]
}

/// Random numbers that the benchmark has drawn before a kernel's data.
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
            // What vadd has left there.
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
            // Small whole numbers: no sum is rounded.
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
            // The first is what reduce has left there.
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
            let places = floats(4 * n, |_| (random.next() & 0xffff) as f32 / 65536.0);
            let out = || Arg::Buffer(vec![0; 16 * n], Alike::F32(1e-2));
            vec![
                exact(places),
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
