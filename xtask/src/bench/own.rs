//! Kernels of kinds that the peer's benchmark does not contain, to measure more than those of the peer.

use super::cases::Case;
use super::data::{
    Alike, Arg, Random, doubles, exact, float, floats, int, one, out, random_words, units, words,
    zeros,
};

/// The table of AES: twice, once, once and three times the S-box's byte, which is an inverse and an affine map.
fn aes_table() -> Vec<u8> {
    fn times(mut a: u32, mut b: u32) -> u32 {
        let mut product = 0;
        while b > 0 {
            if b & 1 != 0 {
                product ^= a;
            }
            a = a << 1 ^ if a & 0x80 != 0 { 0x11b } else { 0 };
            b >>= 1;
        }
        product
    }
    words(256, |x| {
        let inverse = (1..256).find(|&y| times(x as u32, y) == 1).unwrap_or(0);
        let turned = (0..5).fold(0, |v, n| v ^ inverse << n ^ inverse >> (8 - n));
        let s = (turned ^ 0x63) & 0xff;
        times(s, 2) | s << 8 | s << 16 | times(s, 3) << 24
    })
}

const WIDTH: u32 = 1024;

/// Returns all kernels.
pub const OWN: &[Case] = &[
    Case {
        name: "conv2d",
        file: "conv2d",
        kernel: "conv2d",
        grid: [WIDTH, WIDTH, 1],
        group: [16, 16, 1],
        args: || {
            let n = (WIDTH * WIDTH) as usize;
            let result = out(4 * n, Alike::F32(1e-4));
            vec![units(n, 1), units(25, 2), result, int(WIDTH), int(WIDTH)]
        },
    },
    Case {
        name: "fft256",
        file: "fft256",
        kernel: "fft256",
        grid: one(4096 * 128),
        group: one(128),
        args: || {
            let n = 4096 * 256;
            let roots = floats(512, |i| {
                let angle = -std::f64::consts::TAU * (i / 2) as f64 / 256.0;
                (if i % 2 == 0 { angle.cos() } else { angle.sin() }) as f32
            });
            vec![units(2 * n, 3), out(8 * n, Alike::F32(1e-4)), exact(roots)]
        },
    },
    Case {
        name: "blackscholes",
        file: "blackscholes",
        kernel: "blackscholes",
        grid: one(1 << 19),
        group: one(256),
        args: || {
            let n = 1 << 19;
            let some = |seed, least: f32, span: f32| {
                let mut random = Random(seed);
                exact(floats(n, |_| least + span * random.unit()))
            };
            let result = || out(4 * n, Alike::F32(1e-3));
            let (price, strike) = (some(4, 5.0, 25.0), some(5, 1.0, 99.0));
            let years = some(6, 0.25, 9.75);
            vec![
                price,
                strike,
                years,
                result(),
                result(),
                float(0.02),
                float(0.3),
            ]
        },
    },
    Case {
        name: "scan_tree",
        file: "scan_tree",
        kernel: "scan_tree",
        grid: one(1 << 19),
        group: one(256),
        args: || {
            let n = 1 << 20;
            vec![random_words(n, 7), zeros(4 * n), zeros(4 * n / 512)]
        },
    },
    Case {
        name: "kmeans",
        file: "kmeans",
        kernel: "kmeans",
        grid: one(1 << 18),
        group: one(256),
        args: || {
            let n = 1 << 18;
            // The number of points of each centre also depends on the rounding of sums.
            let (nearest, counts) = (
                out(4 * n, Alike::Mostly(0.001)),
                out(4 * 32, Alike::Mostly(1.0)),
            );
            vec![units(4 * n, 8), units(4 * 32, 9), nearest, counts, int(32)]
        },
    },
    Case {
        name: "bitonic",
        file: "bitonic",
        kernel: "bitonic",
        grid: one(1 << 18),
        group: one(1024),
        args: || vec![random_words(1 << 18, 10)],
    },
    Case {
        name: "chacha20",
        file: "chacha20",
        kernel: "chacha20",
        grid: one(1 << 18),
        group: one(256),
        args: || vec![random_words(11, 11), zeros(64 << 18)],
    },
    Case {
        name: "aes",
        file: "aes",
        kernel: "aes",
        grid: one(1 << 18),
        group: one(256),
        args: || {
            let n = 1 << 18;
            let (table, keys) = (exact(aes_table()), random_words(44, 13));
            vec![random_words(4 * n, 12), zeros(16 * n), table, keys]
        },
    },
    Case {
        name: "spmv",
        file: "spmv",
        kernel: "spmv",
        grid: one(1 << 17),
        group: one(64),
        args: || {
            let n = 1 << 17;
            let mut random = Random(14);
            let mut rows = vec![0u32];
            for _ in 0..n {
                rows.push(rows[rows.len() - 1] + 4 + random.word() % 24);
            }
            let all = rows[n] as usize;
            let columns = words(all, |_| random.word() % n as u32);
            let rows = exact(words(n + 1, |i| rows[i]));
            let result = out(4 * n, Alike::F32(1e-4));
            vec![rows, exact(columns), units(all, 15), units(n, 16), result]
        },
    },
    Case {
        name: "jacobi",
        file: "jacobi",
        kernel: "jacobi",
        grid: [2048, 2048, 1],
        group: [64, 4, 1],
        args: || {
            let n = 2048 * 2048;
            let (a, f) = (units(n, 17), units(n, 18));
            vec![a, out(4 * n, Alike::F32(1e-5)), f, int(2048), int(2048)]
        },
    },
    Case {
        name: "transpose",
        file: "transpose",
        kernel: "transpose",
        // 8 work-items process a tile's 32 rows.
        grid: [2048, 2048 / 4, 1],
        group: [32, 8, 1],
        args: || {
            let n = 2048 * 2048;
            vec![random_words(n, 19), zeros(4 * n), int(2048), int(2048)]
        },
    },
    Case {
        name: "dot",
        file: "dot",
        kernel: "dot_int",
        grid: one(65536),
        group: one(256),
        args: || {
            let n = 1 << 22;
            let (a, b) = (random_words(n, 20), random_words(n, 21));
            vec![a, b, zeros(4), int(n as u32)]
        },
    },
    Case {
        name: "julia64",
        file: "julia64",
        kernel: "julia64",
        grid: [512, 512, 1],
        group: [16, 16, 1],
        args: || {
            let number = |v: f64| Arg::Value(v.to_le_bytes().to_vec());
            let (size, result) = (int(512), out(4 * 512 * 512, Alike::Mostly(0.01)));
            vec![result, size, int(512), number(-0.4), number(0.6), int(200)]
        },
    },
    Case {
        name: "search",
        file: "search",
        kernel: "search",
        grid: one(1 << 17),
        group: one(256),
        args: || {
            let n = 1 << 21;
            let mut random = Random(22);
            let text = (0..n).map(|_| b'a' + (random.word() % 3) as u8).collect();
            let word = b"abcabba".to_vec();
            let len = int(word.len() as u32);
            vec![exact(text), int(n as u32), exact(word), len, zeros(4)]
        },
    },
    Case {
        name: "sobel",
        file: "sobel",
        kernel: "sobel",
        grid: [2048, 2048, 1],
        group: [64, 4, 1],
        args: || {
            let n = 2048 * 2048;
            let mut random = Random(23);
            let image = (0..n).map(|_| random.next() as u8).collect();
            vec![exact(image), zeros(n), int(2048), int(2048)]
        },
    },
    Case {
        name: "montecarlo",
        file: "montecarlo",
        kernel: "montecarlo",
        grid: one(1 << 17),
        group: one(256),
        args: || vec![out(4 << 17, Alike::Mostly(0.01)), int(256)],
    },
    Case {
        name: "sort16",
        file: "sort16",
        kernel: "sort16",
        grid: one(1 << 16),
        group: one(256),
        args: || vec![random_words(16 << 16, 24), zeros(64 << 16)],
    },
    Case {
        name: "divergent",
        file: "divergent",
        kernel: "divergent",
        grid: one(1 << 14),
        group: one(256),
        args: || vec![random_words(1 << 14, 25), zeros(4 << 14), Arg::Local(1024)],
    },
    Case {
        name: "packing",
        file: "packing",
        kernel: "packing",
        grid: one(1 << 20),
        group: one(256),
        args: || {
            let n = 1 << 20;
            vec![
                random_words(2 * n, 26),
                zeros(4 * n),
                zeros(4 * n),
                zeros(4 * n),
                zeros(4 * n),
            ]
        },
    },
    Case {
        name: "heat64",
        file: "heat64",
        kernel: "heat64",
        grid: one(1 << 20),
        group: one(256),
        args: || {
            let n = 1 << 20;
            let mut random = Random(27);
            let data = doubles(n, |_| random.next() as f64 / u64::MAX as f64);
            vec![exact(data), out(8 * n, Alike::F64(1e-12)), int(n as u32)]
        },
    },
];
