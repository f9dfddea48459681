//! Small kernels of the features that programs use: loops that lanes leave, rows, private arrays, small types, tables, local
//! memory, atomics, gathers, stencils, functions, short waves, special numbers. None is taken from a program.

use super::cases::Case;
use super::data::{
    Alike, Arg, Random, between, bytes, doubles, exact, float, floats, int, numbers,
    numbers_as_floats, one, out, random_floats, random_words, result, units, vector, words, zeros,
};

/// Returns a kernel of `testdata/bench/features/FILE.cl` over one dimension.
const fn line(
    file: &'static str,
    kernel: &'static str,
    items: u32,
    group: u32,
    args: fn() -> Vec<Arg>,
) -> Case {
    Case {
        name: kernel,
        file,
        kernel,
        grid: one(items),
        group: one(group),
        args,
    }
}

/// Returns a kernel over two dimensions.
const fn plane(
    file: &'static str,
    kernel: &'static str,
    items: [u32; 2],
    group: [u32; 2],
    args: fn() -> Vec<Arg>,
) -> Case {
    Case {
        name: kernel,
        file,
        kernel,
        grid: [items[0], items[1], 1],
        group: [group[0], group[1], 1],
        args,
    }
}

/// Random doubles, at least 0 and less than 1.
fn double_units(n: usize, seed: u64) -> Arg {
    let mut random = Random(seed);
    exact(doubles(n, |_| f64::from(random.unit())))
}

/// A random permutation of the numbers below `n`.
fn permutation(n: usize, seed: u64) -> Arg {
    let mut random = Random(seed);
    let mut all: Vec<u32> = (0..n as u32).collect();
    for i in (1..n).rev() {
        all.swap(i, random.word() as usize % (i + 1));
    }
    exact(words(n, |i| all[i]))
}

/// The starts of `n` rows, each `least` to less than `least + span` long, and the end of the last one.
fn starts(n: usize, seed: u64, least: u32, span: u32) -> Vec<u32> {
    let mut random = Random(seed);
    let mut all = vec![0u32];
    for i in 0..n {
        all.push(all[i] + least + random.word() % span);
    }
    all
}

fn as_words(all: &[u32]) -> Arg {
    exact(words(all.len(), |i| all[i]))
}

/// Bytes from 0 to less than `below`.
fn bytes_below(n: usize, seed: u64, below: u32) -> Arg {
    let mut random = Random(seed);
    exact((0..n).map(|_| (random.word() % below) as u8).collect())
}

/// Numbers of 16 bits as floats, at least 0 and less than 1.
fn halves(n: usize, seed: u64) -> Arg {
    let mut random = Random(seed);
    let half = |_| (random.word() % 0x3c00) as u16;
    exact((0..n).map(half).flat_map(u16::to_le_bytes).collect())
}

/// Text of words with spaces between them.
fn text(n: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let byte = |_| match random.word() % 6 {
        0 => b' ',
        k => b'a' + k as u8,
    };
    (0..n).map(byte).collect()
}

const K: usize = 1 << 10;

/// Returns all kernels.
pub fn all() -> Vec<Case> {
    [
        LOOPS, LARGE, ROWS, PRIVATE, TYPES, TABLES, LOCAL, ATOMICS, GATHER, IMAGES, PLANES, MATH,
        SHORT, SPECIAL, SOLVERS,
    ]
    .concat()
}

const LOOPS: &[Case] = &[
    line("loops", "trip_counts", 1 << 16, 256, || {
        let n = 64 * K;
        vec![numbers(n, 1, 48), random_words(n, 2), zeros(4 * n)]
    }),
    line("loops", "nested_trips", 1 << 13, 64, || {
        let n = 8 * K;
        vec![
            numbers(n, 1, 16),
            units(n, 2),
            out(4 * n, Alike::Few(1e-3, 0.01)),
        ]
    }),
    line("loops", "collatz", 1 << 13, 64, || {
        vec![zeros(32 * K), int(1)]
    }),
    line("loops", "gcd", 1 << 13, 64, || {
        let n = 8 * K;
        vec![random_words(n, 1), random_words(n, 2), zeros(4 * n)]
    }),
    line("loops", "skip_some", 1 << 14, 256, || {
        let n = 16 * K;
        let mut random = Random(1);
        let data = exact(words(n + 64 * 64, |_| {
            (random.word() % 1018).wrapping_sub(300)
        }));
        vec![data, zeros(4 * n), int(64), int(64)]
    }),
    line("loops", "switch_lanes", 1 << 12, 64, || {
        let n = 4 * K;
        vec![
            random_words(n, 1),
            random_words(n, 2),
            zeros(4 * n),
            int(32),
        ]
    }),
    line("loops", "switch_uniform", 1 << 14, 64, || {
        let n = 16 * K;
        vec![
            random_words(64, 1),
            int(64),
            units(n, 2),
            out(4 * n, Alike::F32(1e-3)),
        ]
    }),
    line("loops", "horner", 1 << 17, 64, || {
        vec![units(24, 1), int(24), units(128 * K, 2), result(128 * K)]
    }),
    line("loops", "bisection", 1 << 15, 64, || {
        vec![between(32 * K, 1, 0.0, 60.0), result(32 * K)]
    }),
    plane("loops", "burning_ship", [256, 128], [16, 16], || {
        let image = out(4 * 256 * 128, Alike::Mostly(0.02));
        vec![image, int(256), float(0.014), int(64)]
    }),
    line("loops", "linked_list", 1 << 14, 64, || {
        let n = 16 * K;
        let mut random = Random(1);
        let next = exact(words(n, |_| match random.word() {
            v if v % 32 == 0 => u32::MAX,
            v => v % n as u32,
        }));
        vec![next, random_words(n, 2), zeros(4 * n), int(64)]
    }),
    line("loops", "triangle_pairs", 1 << 10, 64, || {
        vec![units(K, 1), out(4 * K, Alike::F32(1e-3)), int(1 << 10)]
    }),
    line("loops", "rank_values", 1 << 12, 64, || {
        let n = 4 * K;
        let values = words(n, |k| ((k * 7919 % 1500) as f32).to_bits());
        vec![exact(values), zeros(4 * n), int(n as u32)]
    }),
    line("loops", "rank_pairs", 1 << 12, 64, || {
        let n = 4 * K;
        let values = words(2 * n, |k| ((k * 7919 % 1500) as f32).to_bits());
        vec![exact(values), zeros(8 * n), int(n as u32)]
    }),
    plane("loops", "fill_gaps", [1024, 256], [64, 4], || {
        let n = 256 * K;
        // About a quarter of the points are in gaps, of up to twelve.
        let mut random = Random(5);
        let mut left = 0;
        let gaps = words(n, |_| {
            if left == 0 && random.word().is_multiple_of(20) {
                left = 1 + random.word() as usize % 12;
            }
            left = left.saturating_sub(1);
            ((left > 0) as u32 as f32).to_bits()
        });
        vec![units(n, 1), exact(gaps), result(n)]
    }),
    line("loops", "short_loops", 1 << 18, 256, || {
        let n = 256 * K;
        vec![bytes_below(n, 1, 4), units(n, 2), result(n)]
    }),
    line("loops", "rejection", 1 << 13, 64, || {
        let n = 8 * K;
        vec![random_words(n, 1), out(4 * n, Alike::F32(1e-3)), int(16)]
    }),
];

const ROWS: &[Case] = &[
    line("rows", "row_dot", 512, 64, || {
        vec![
            units(512 * K, 1),
            units(K, 2),
            out(4 * 512, Alike::F32(1e-3)),
            int(1024),
        ]
    }),
    line("rows", "row_argmax", 512, 64, || {
        vec![units(512 * K, 1), zeros(4 * 512), int(1024)]
    }),
    line("rows", "row_running_sum", 256, 64, || {
        vec![units(256 * K, 1), out(K * K, Alike::F32(1e-3)), int(1024)]
    }),
    line("rows", "row_recursive", 256, 64, || {
        vec![
            exact(floats(256 * K, |i| (i * 7919 % 1024) as f32)),
            int(1024),
            float(0.4),
        ]
        .into_iter()
        .map(near)
        .collect()
    }),
    line("rows", "row_window", 256, 64, || {
        vec![
            units(256 * K, 1),
            out(K * K, Alike::F32(1e-3)),
            int(1024),
            int(9),
        ]
    }),
    line("rows", "row_vectors", 256, 64, || {
        vec![units(256 * K, 1), result(256 * K), int(256)]
    }),
    line("rows", "row_bytes", 1024, 64, || {
        vec![bytes(K * K, 1), zeros(4 * K), int(1024)]
    }),
    line("rows", "column_sum", 2048, 64, || {
        vec![
            units(K * K, 1),
            out(8 * K, Alike::F32(1e-3)),
            int(512),
            int(2048),
        ]
    }),
    line("rows", "column_recursive", 1024, 64, || {
        vec![
            units(512 * K, 1),
            result(512 * K),
            int(512),
            int(1024),
            float(0.3),
        ]
    }),
    line("rows", "eliminate", 512, 64, || {
        vec![out_units(256 * K, 1), int(512), int(3)]
    }),
    line("rows", "softmax_rows", 128, 64, || {
        vec![units(64 * K, 1), result(64 * K), int(512)]
    }),
    plane("rows", "row_distances", [128, 128], [64, 1], || {
        vec![
            units(128 * 48, 1),
            units(128 * 48, 2),
            result(16 * K),
            int(48),
        ]
    }),
];

/// Compares the results of 32-bit floats with a tolerance.
fn near(arg: Arg) -> Arg {
    match arg {
        Arg::Buffer(data, _) => Arg::Buffer(data, Alike::F32(1e-3)),
        other => other,
    }
}

/// Random floats that the kernel changes.
fn out_units(n: usize, seed: u64) -> Arg {
    near(units(n, seed))
}

const PRIVATE: &[Case] = &[
    line("private", "private_bins", 1 << 12, 64, || {
        vec![bytes(256 * K, 1), zeros(16 * K), int(64)]
    }),
    line("private", "insertion_sort", 1 << 13, 64, || {
        vec![units(96 * K, 1), zeros(4 * 96 * K)]
    }),
    line("private", "tree_stack", 1 << 12, 64, || {
        // An ordered binary tree in an array without pointers.
        fn location(tree: &mut [f32], at: usize, next: &mut f32) {
            if at < tree.len() {
                location(tree, 2 * at + 1, next);
                tree[at] = *next;
                *next += 1.0;
                location(tree, 2 * at + 2, next);
            }
        }
        let mut tree = vec![0.0; 1023];
        location(&mut tree, 0, &mut 0.0);
        let tree = exact(floats(1023, |i| tree[i]));
        vec![
            tree,
            int(1023),
            between(4 * K, 1, 0.0, 1023.0),
            float(3.5),
            zeros(16 * K),
        ]
    }),
    line("private", "edit_distance", 1 << 12, 64, || {
        let n = 12 * 4 * K;
        vec![bytes_below(n, 1, 4), bytes_below(n, 2, 4), zeros(16 * K)]
    }),
    plane("private", "median9", [512, 128], [64, 1], || {
        vec![units(514 * 130, 1), zeros(4 * 514 * 130), int(514)]
    }),
    line("private", "wide_registers", 1 << 14, 64, || {
        vec![units(64 * 16 * K, 1), result(8 * 16 * K)]
    }),
    line("private", "calls", 1 << 15, 64, || {
        vec![units(32 * K, 1), result(32 * K)]
    }),
    line("private", "solve6", 1 << 13, 64, || {
        vec![units(42 * 8 * K, 1), result(6 * 8 * K)]
    }),
];

/// Large blocks.
const LARGE: &[Case] = &[Case {
    name: "wave_f64",
    file: "large",
    kernel: "wave_f64",
    grid: [64, 32, 32],
    group: [64, 2, 1],
    args: || {
        let n = 68 * 36 * 36;
        let fields = (0..6).map(|seed| double_units(n, seed + 1));
        let mut args: Vec<Arg> = fields.collect();
        args.extend((0..6).map(|_| out(8 * n, Alike::F64(1e-9))));
        args.push(Arg::Value(0.5f64.to_le_bytes().to_vec()));
        args.extend([int(68), int(36), int(36)]);
        args
    },
}];

const TYPES: &[Case] = &[
    line("types", "blend_uchar4", 1 << 18, 256, || {
        let n = 256 * K;
        vec![
            random_words(n, 1),
            random_words(n, 2),
            zeros(4 * n),
            int(n as u32),
        ]
    }),
    line("types", "mix_short", 1 << 19, 256, || {
        let n = 512 * K;
        vec![bytes(2 * n, 1), bytes(2 * n, 2), zeros(2 * n), int(300)]
    }),
    line("types", "dot_char", 1 << 13, 64, || {
        vec![
            random_words(256 * K, 1),
            random_words(256 * K, 2),
            zeros(32 * K),
            int(32),
        ]
    }),
    line("types", "half_scale", 1 << 19, 256, || {
        vec![halves(512 * K, 1), zeros(K * K), float(1.5), float(-0.25)]
    }),
    line("types", "half4_sum", 1 << 17, 256, || {
        vec![halves(512 * K, 1), halves(512 * K, 2), result(512 * K)]
    }),
    line("types", "double_rational", 1 << 17, 256, || {
        vec![double_units(128 * K, 1), out(K * K, Alike::F64(1e-12))]
    }),
    line("types", "double_sums", 1 << 13, 64, || {
        let n = 256 * K;
        let sums = out(64 * K, Alike::F64(1e-9));
        vec![double_units(n, 1), double_units(n, 2), sums, int(32)]
    }),
    line("types", "long_mix", 1 << 15, 64, || {
        vec![random_words(64 * K, 1), zeros(256 * K), int(8)]
    }),
    line("types", "mod_power", 1 << 11, 64, || {
        vec![
            random_words(2 * K, 1),
            zeros(8 * K),
            int(65537),
            int(1_000_003),
        ]
    }),
    line("types", "divide_lanes", 1 << 17, 64, || {
        let n = 128 * K;
        vec![random_words(n, 1), numbers(n, 2, 5000), zeros(8 * n)]
    }),
    line("types", "unflatten", 1 << 18, 256, || {
        vec![random_words(256 * K, 1), zeros(K * K), int(64), int(128)]
    }),
    line("types", "normalize3", 1 << 17, 256, || {
        vec![units(3 * 128 * K, 1), result(3 * 128 * K)]
    }),
    line("types", "float4_lighting", 1 << 16, 64, || {
        let n = 64 * K;
        let light = vector(&[0.5, 0.7, 0.5, 0.0]);
        vec![units(4 * n, 1), units(4 * n, 2), result(4 * n), light]
    }),
    line("types", "bit_counts", 1 << 18, 256, || {
        vec![random_words(256 * K, 1), zeros(K * K)]
    }),
    line("types", "unpack10", 1 << 18, 256, || {
        vec![random_words(82 * K, 1), zeros(512 * K)]
    }),
    line("types", "rgb_to_hsv", 1 << 16, 64, || {
        vec![random_words(64 * K, 1), out(K * K, Alike::F32(1e-3))]
    }),
    line("types", "yuyv_to_rgb", 1 << 17, 256, || {
        vec![random_words(128 * K, 1), zeros(6 * 128 * K)]
    }),
];

const TABLES: &[Case] = &[
    line("tables", "checksum_table", 1 << 13, 64, || {
        let entry = |i: usize| {
            (0..8).fold(i as u32, |c, _| {
                c >> 1 ^ if c & 1 != 0 { 0xedb8_8320 } else { 0 }
            })
        };
        vec![
            exact(words(256, entry)),
            bytes(256 * K, 1),
            zeros(32 * K),
            int(32),
        ]
    }),
    line("tables", "substitute", 1 << 15, 64, || {
        vec![random_words(32 * K, 1), zeros(128 * K), int(0x1234_5678)]
    }),
    line("tables", "local_table", 1 << 17, 256, || {
        vec![bytes(256, 1), bytes(128 * K, 2), zeros(128 * K)]
    }),
    line("tables", "rotate_rounds", 1 << 15, 64, || {
        vec![random_words(128 * K, 1), zeros(512 * K), int(20)]
    }),
    line("tables", "hash_text", 1 << 14, 64, || {
        let rows = starts(16 * K, 1, 2, 24);
        let all = rows[16 * K] as usize;
        vec![exact(text(all, 2)), as_words(&rows), zeros(64 * K)]
    }),
    line("tables", "bloom_query", 1 << 16, 64, || {
        vec![
            random_words(32 * K, 1),
            int(32 * 1024 - 1),
            random_words(64 * K, 2),
            zeros(64 * K),
        ]
    }),
    line("tables", "colour_cube", 1 << 15, 64, || {
        vec![
            units(4 * 17 * 17 * 17, 1),
            int(17),
            units(128 * K, 2),
            result(128 * K),
        ]
    }),
    line("tables", "count_words", 1 << 13, 64, || {
        vec![exact(text(512 * K, 1)), zeros(32 * K), int(64)]
    }),
    line("tables", "find_pattern", 1 << 17, 64, || {
        let pattern = exact(b"abcab".to_vec());
        vec![exact(text(129 * K, 1)), pattern, int(5), zeros(128 * K)]
    }),
    line("tables", "decode_varint", 1 << 16, 64, || {
        let rows = starts(64 * K, 1, 1, 4);
        let mut data = vec![0; rows[64 * K] as usize + 8];
        let mut random = Random(2);
        for pair in rows.windows(2) {
            for at in pair[0]..pair[1] {
                let more = if at + 1 < pair[1] { 128 } else { 0 };
                data[at as usize] = (random.word() & 127) as u8 | more;
            }
        }
        vec![exact(data), as_words(&rows), zeros(256 * K)]
    }),
];

const LOCAL: &[Case] = &[
    plane("local", "tile_product", [128, 128], [8, 8], || {
        let n = 16 * K;
        vec![
            units(n, 1),
            units(n, 2),
            out(4 * n, Alike::F32(1e-3)),
            int(128),
        ]
    }),
    plane("local", "tile_transpose", [512, 512], [16, 16], || {
        vec![units(256 * K, 1), zeros(K * K), int(512)]
    }),
    line("local", "tree_max", 1 << 18, 256, || {
        vec![units(256 * K, 1), zeros(4 * K)]
    }),
    line("local", "tree_interleaved", 1 << 17, 128, || {
        vec![random_words(128 * K, 1), zeros(4 * K)]
    }),
    line("local", "scan_steps", 1 << 17, 128, || {
        vec![random_words(128 * K, 1), zeros(512 * K)]
    }),
    line("local", "bitonic_tile", 1 << 15, 256, || {
        vec![random_words(32 * K, 1)]
    }),
    line("local", "tile_stencil", 1 << 18, 128, || {
        vec![units(256 * K, 1), result(256 * K), int(1 << 18)]
    }),
    plane("local", "gemm_tile", [128, 128], [8, 8], || {
        let (a, b) = (
            numbers_as_floats(16 * K, 1, 8),
            numbers_as_floats(16 * K, 2, 8),
        );
        vec![a, b, zeros(64 * K), int(128)]
    }),
    plane("local", "gemm_direct", [128, 128], [16, 16], || {
        let (a, b) = (
            numbers_as_floats(16 * K, 1, 8),
            numbers_as_floats(16 * K, 2, 8),
        );
        vec![a, b, zeros(64 * K), int(128)]
    }),
    line("local", "few_lanes", 1 << 18, 64, || {
        vec![units(256 * K, 1), result(32 * K)]
    }),
    line("local", "one_lane", 1 << 14, 64, || {
        vec![random_words(16 * K, 1), zeros(64 * K)]
    }),
    line("local", "wavefront", 1 << 11, 32, || {
        vec![numbers(64 * K, 1, 1000), zeros(256 * K)]
    }),
    line("local", "radix_digits", 1 << 18, 256, || {
        vec![random_words(256 * K, 1), zeros(64 * K), int(12)]
    }),
    line("local", "compact_scan", 1 << 17, 64, || {
        vec![random_words(128 * K, 1), zeros(512 * K), zeros(8 * K)]
    }),
];

const ATOMICS: &[Case] = &[
    line("atomics", "global_bins", 1 << 18, 256, || {
        vec![bytes(256 * K, 1), zeros(K)]
    }),
    line("atomics", "local_bins", 1 << 13, 256, || {
        vec![bytes(512 * K, 1), zeros(K), int(64)]
    }),
    line("atomics", "append", 1 << 17, 64, || {
        let n = 128 * K;
        vec![
            random_words(n, 1),
            out(4 * n, Alike::Unordered(4)),
            zeros(4),
        ]
    }),
    line("atomics", "append_local", 1 << 17, 128, || {
        let n = 128 * K;
        vec![
            random_words(n, 1),
            out(4 * n, Alike::Unordered(4)),
            zeros(4 * K),
        ]
    }),
    line("atomics", "bucket_places", 1 << 17, 64, || {
        let locations = out(4 * K * K, Alike::Unordered(4));
        vec![random_words(128 * K, 1), zeros(4 * K), locations]
    }),
    line("atomics", "atomic_maxima", 1 << 17, 64, || {
        vec![
            random_words(128 * K, 1),
            random_words(128 * K, 2),
            zeros(16 * K),
        ]
    }),
    line("atomics", "float_sums", 1 << 15, 64, || {
        let keys = random_words(32 * K, 1);
        vec![keys, numbers_as_floats(32 * K, 2, 64), zeros(16 * K)]
    }),
    line("atomics", "hash_insert", 1 << 15, 64, || {
        let table = out(256 * K, Alike::Unordered(4));
        vec![
            numbers(32 * K, 1, 1 << 15),
            table,
            int(64 * 1024 - 1),
            zeros(4),
        ]
    }),
    line("atomics", "local_votes", 1 << 18, 64, || {
        vec![random_words(256 * K, 1), zeros(16 * K)]
    }),
];

const GATHER: &[Case] = &[
    line("gather", "gather", 1 << 18, 64, || {
        vec![units(256 * K, 1), permutation(256 * K, 2), zeros(K * K)]
    }),
    line("gather", "gather_float4", 1 << 16, 64, || {
        vec![units(256 * K, 1), permutation(64 * K, 2), zeros(K * K)]
    }),
    line("gather", "scatter", 1 << 18, 64, || {
        vec![units(256 * K, 1), permutation(256 * K, 2), zeros(K * K)]
    }),
    line("gather", "scatter_uchar4", 1 << 17, 64, || {
        vec![
            random_words(128 * K, 1),
            permutation(128 * K, 2),
            zeros(512 * K),
        ]
    }),
    line("gather", "reverse", 1 << 19, 256, || {
        vec![random_words(512 * K, 1), zeros(2 * K * K), int(1 << 19)]
    }),
    line("gather", "sparse_rows", 1 << 14, 64, || {
        let n = 16 * K;
        let rows = starts(n, 1, 2, 20);
        let all = rows[n] as usize;
        vec![
            as_words(&rows),
            numbers(all, 2, n as u32),
            units(all, 3),
            units(n, 4),
            result(n),
        ]
    }),
    line("gather", "sparse_ell", 1 << 14, 64, || {
        let (n, most) = (16 * K, 12);
        let mut random = Random(1);
        let columns = words(n * most, |_| match random.word() {
            v if v % 5 == 0 => u32::MAX,
            v => v % n as u32,
        });
        vec![
            exact(columns),
            units(n * most, 2),
            units(n, 3),
            result(n),
            int(most as u32),
        ]
    }),
    line("gather", "binary_search", 1 << 15, 64, || {
        let sorted = starts(16 * K, 1, 1, 9);
        let keys = numbers(32 * K, 2, sorted[16 * K]);
        vec![as_words(&sorted), int(16 << 10), keys, zeros(128 * K)]
    }),
    line("gather", "front_step", 1 << 15, 64, || {
        let n = 32 * K;
        let rows = starts(n, 1, 1, 8);
        let edges = numbers(rows[n] as usize, 2, n as u32);
        let mut random = Random(3);
        let front = exact(
            (0..n)
                .map(|_| u8::from(random.word().is_multiple_of(4)))
                .collect(),
        );
        let depth = exact(words(n, |i| if i % 3 == 0 { 1 } else { u32::MAX }));
        vec![as_words(&rows), edges, front, zeros(n), depth, int(2)]
    }),
    line("gather", "find_roots", 1 << 15, 64, || {
        let mut random = Random(1);
        // Each points to a smaller one or to itself.
        let parents = words(32 * K, |i| match i as u32 {
            i if i < 16 => i,
            i => random.word() % i,
        });
        vec![exact(parents), zeros(128 * K)]
    }),
    line("gather", "resample", 1 << 17, 64, || {
        let at = between(128 * K, 2, -5.0, 65600.0);
        vec![units(64 * K, 1), int(64 << 10), at, result(128 * K)]
    }),
    line("gather", "records", 1 << 15, 64, || {
        vec![units(6 * 32 * K, 1), result(6 * 32 * K)]
    }),
];

const IMAGES: &[Case] = &[
    plane("images", "clamped3x3", [512, 256], [16, 16], || {
        vec![units(128 * K, 1), result(128 * K), int(512), int(256)]
    }),
    plane("images", "blur_rows", [512, 128], [64, 1], || {
        let weights = exact(floats(15, |i| 1.0 / (1.0 + (i as f32 - 7.0).powi(2))));
        vec![
            units(64 * K, 1),
            result(64 * K),
            int(512),
            int(128),
            weights,
            int(7),
        ]
    }),
    plane("images", "blur_columns", [256, 128], [16, 16], || {
        let weights = exact(floats(15, |i| 1.0 / (1.0 + (i as f32 - 7.0).powi(2))));
        vec![
            units(128 * K, 1),
            result(128 * K),
            int(256),
            int(128),
            weights,
            int(7),
        ]
    }),
    plane("images", "bilateral", [512, 64], [16, 16], || {
        vec![
            units(32 * K, 1),
            out(128 * K, Alike::F32(1e-3)),
            int(512),
            int(64),
        ]
    }),
    plane("images", "erode_bytes", [512, 256], [32, 8], || {
        vec![bytes(128 * K, 1), zeros(128 * K), int(500), int(250)]
    }),
    plane("images", "halve", [256, 256], [16, 16], || {
        vec![units(4 * 256 * K, 1), result(256 * K), int(512)]
    }),
    plane("images", "warp", [256, 256], [16, 16], || {
        let image = out(256 * K, Alike::Few(1e-2, 0.01));
        vec![
            units(64 * K, 1),
            image,
            int(256),
            int(256),
            float(0.9),
            float(0.3),
        ]
    }),
    plane("images", "life", [512, 256], [32, 8], || {
        vec![
            bytes_below(128 * K, 1, 2),
            zeros(128 * K),
            int(512),
            int(256),
        ]
    }),
    plane("images", "mosaic", [512, 128], [16, 16], || {
        vec![units(64 * K, 1), result(256 * K), int(512), int(128)]
    }),
    line("images", "gamma_bytes", 1 << 15, 64, || {
        vec![bytes(32 * K, 1), out(32 * K, Alike::Rounded), float(0.45)]
    }),
    Case {
        name: "volume7",
        file: "images",
        kernel: "volume7",
        grid: [64, 64, 64],
        group: [64, 1, 1],
        args: || vec![units(256 * K, 1), result(256 * K), int(64)],
    },
    Case {
        name: "volume7_blocks",
        file: "images",
        kernel: "volume7",
        grid: [64, 64, 64],
        group: [4, 4, 4],
        args: || vec![units(256 * K, 1), result(256 * K), int(64)],
    },
    Case {
        name: "wave_step",
        file: "images",
        kernel: "wave_step",
        grid: [64, 64, 64],
        group: [8, 4, 2],
        args: || {
            vec![
                double_units(256 * K, 1),
                double_units(256 * K, 2),
                out(2048 * K, Alike::F64(1e-12)),
                int(64),
            ]
        },
    },
    plane("images", "column_window", [1024, 1024], [1, 256], || {
        vec![units(1024 * K, 1), result(1024 * K), int(1024), int(1024)]
    }),
    plane("images", "mean9", [512, 512], [8, 8], || {
        vec![units(256 * K, 1), result(256 * K), int(512), int(510)]
    }),
    line("images", "composite", 1 << 14, 64, || {
        vec![
            units(4 * 16 * 16 * K, 1),
            result(64 * K),
            int(16 << 10),
            int(16),
        ]
    }),
];

const PLANES: &[Case] = &[
    plane("planes", "rank_one", [512, 512], [8, 8], || {
        vec![
            Arg::Buffer(random_floats(256 * K, 1), Alike::F32(1e-4)),
            units(512, 2),
            units(512, 3),
            float(0.5),
            int(511),
        ]
    }),
    plane("planes", "blur_planes", [128, 64], [16, 16], || {
        let n = 256 * K;
        vec![units(n, 1), result(n), int(128), int(64), int(32)]
    }),
    plane("planes", "line_filter", [128, 64], [16, 16], || {
        let n = 256 * K;
        let mut args = vec![units(n, 1), result(n)];
        args.extend([1, 128, 128 * 64, 128, 64, 32].map(int));
        args
    }),
    line("planes", "scale_add_strided", 1 << 14, 128, || {
        let n = 64 * K;
        vec![
            Arg::Buffer(random_floats(n + 16, 1), Alike::F32(1e-4)),
            int(5),
            int(1),
            units(n + 16, 2),
            int(3),
            int(1),
            float(1.5),
            int(n as u32),
        ]
    }),
    plane("planes", "filter_columns", [256, 256], [8, 8], || {
        let weights = exact(floats(11, |i| 1.0 / (1.0 + (i as f32 - 5.0).powi(2))));
        let n = 64 * K;
        vec![units(n, 1), result(n), int(256), int(256), weights, int(5)]
    }),
    plane(
        "planes",
        "filter_rows_mirrored",
        [256, 256],
        [64, 4],
        || {
            let weights = exact(floats(11, |i| 1.0 / (1.0 + (i as f32 - 5.0).powi(2))));
            let n = 64 * K;
            vec![units(n, 1), result(n), int(250), int(250), weights, int(11)]
        },
    ),
    line("planes", "sums_of_columns", 512, 64, || {
        let mut args = vec![bytes(256 * K, 1), int(512), zeros(1024 * K)];
        args.extend([512, 512, 512].map(int));
        args
    }),
    plane("planes", "dilate_tile_bytes", [512, 256], [16, 16], || {
        vec![bytes(128 * K, 1), zeros(128 * K), int(512), int(256)]
    }),
    plane("planes", "erode_tile_shorts", [512, 256], [16, 16], || {
        vec![bytes(256 * K, 1), zeros(256 * K), int(512), int(256)]
    }),
    plane("planes", "dilate_tile_floats", [512, 256], [16, 16], || {
        vec![units(128 * K, 1), result(128 * K), int(512), int(256)]
    }),
];

const MATH: &[Case] = &[
    line("math", "exp_log", 1 << 16, 64, || {
        vec![between(64 * K, 1, -5.0, 5.0), result(64 * K)]
    }),
    line("math", "sines", 1 << 14, 64, || {
        vec![between(16 * K, 1, -20.0, 20.0), result(16 * K)]
    }),
    line("math", "polar", 1 << 15, 64, || {
        vec![between(64 * K, 1, -2.0, 2.0), result(64 * K)]
    }),
    line("math", "powers", 1 << 14, 64, || {
        let n = 16 * K;
        vec![
            between(n, 1, 0.1, 9.0),
            between(n, 2, -2.0, 2.0),
            out(4 * n, Alike::F32(1e-3)),
        ]
    }),
    line("math", "activations", 1 << 14, 64, || {
        vec![between(16 * K, 1, -4.0, 4.0), result(16 * K)]
    }),
    line("math", "normal_numbers", 1 << 15, 64, || {
        vec![random_words(64 * K, 1), out(256 * K, Alike::F32(1e-3))]
    }),
    line("math", "native_functions", 1 << 17, 64, || {
        vec![units(128 * K, 1), out(512 * K, Alike::F32(1e-2))]
    }),
    line("math", "double_functions", 1 << 13, 64, || {
        vec![double_units(8 * K, 1), out(64 * K, Alike::F64(1e-9))]
    }),
    line("math", "gravity", 1 << 10, 64, || {
        vec![units(4 * K, 1), out(16 * K, Alike::F32(1e-2)), int(1024)]
    }),
    line("math", "cutoff_forces", 1 << 10, 64, || {
        vec![
            units(4 * K, 1),
            out(16 * K, Alike::F32(1e-2)),
            int(1024),
            float(0.02),
        ]
    }),
    plane("math", "spheres", [256, 128], [16, 16], || {
        let mut random = Random(1);
        let spheres = floats(4 * 24, |i| match i % 4 {
            3 => 0.1 + 0.4 * random.unit(),
            2 => 3.0 + 4.0 * random.unit(),
            _ => 4.0 * random.unit() - 2.0,
        });
        vec![
            out(128 * K, Alike::Few(1e-2, 0.01)),
            int(256),
            exact(spheres),
            int(24),
        ]
    }),
    line("math", "fourier4", 1 << 14, 64, || {
        vec![
            units(128 * K, 1),
            out(512 * K, Alike::F32(1e-3)),
            int(16 << 10),
        ]
    }),
    line("math", "runge_kutta", 1 << 14, 64, || {
        vec![
            units(32 * K, 1),
            out(128 * K, Alike::F32(1e-3)),
            int(64),
            float(0.02),
        ]
    }),
];

const SHORT: &[Case] = &[
    line("short", "fill", 1 << 20, 256, || {
        vec![zeros(4 * K * K), int(7)]
    }),
    line("short", "copy_bytes", 1 << 20, 256, || {
        vec![bytes(K * K, 1), zeros(K * K)]
    }),
    line("short", "add_one", 1 << 20, 256, || {
        vec![random_words(K * K, 1)]
    }),
    line("short", "lane_numbers", 1 << 20, 64, || {
        vec![zeros(2 * K * K)]
    }),
    line("short", "few_waves", 1 << 20, 64, || {
        vec![out_units(K, 1), int(1000)]
    }),
    line("short", "below_size", 1 << 19, 256, || {
        vec![units(512 * K, 1), result(512 * K), int(500_000)]
    }),
    line("short", "small_groups", 1 << 18, 16, || {
        vec![units(256 * K, 1), result(256 * K)]
    }),
    line("short", "saxpby", 1 << 14, 256, || {
        let n = 512 * K;
        vec![
            units(n, 1),
            out_units(n, 2),
            float(2.0),
            float(0.5),
            int(n as u32),
        ]
    }),
    line("short", "stretch_float4", 1 << 20, 64, || {
        vec![
            units(4 * K * K, 1),
            result(4 * K * K),
            vector(&[0.1, 0.2, 0.3, 0.0]),
            vector(&[1.5, 2.0, 1.0, 1.0]),
        ]
    }),
    line("short", "threshold", 1 << 19, 256, || {
        vec![units(512 * K, 1), zeros(512 * K), float(0.6), int(500_000)]
    }),
    line("short", "strided_copy", 1 << 17, 64, || {
        vec![units(640 * K, 1), zeros(512 * K), int(5)]
    }),
    line("short", "interleave", 1 << 18, 64, || {
        vec![units(256 * K, 1), units(256 * K, 2), zeros(2 * K * K)]
    }),
    line("short", "complex_multiply", 1 << 18, 64, || {
        vec![units(512 * K, 1), units(512 * K, 2), result(512 * K)]
    }),
];

/// Random floats, of which many are zero.
fn many_zeros(n: usize, seed: u64) -> Arg {
    let mut random = Random(seed);
    exact(floats(n, |_| (2.0 * random.unit() - 1.0).max(0.0)))
}

const SPECIAL: &[Case] = &[
    line("special", "guarded_quotient", 1 << 15, 64, || {
        vec![units(32 * K, 1), many_zeros(32 * K, 2), result(32 * K)]
    }),
    line("special", "quotient_of_zeros", 1 << 15, 64, || {
        let a = between(32 * K, 1, 0.25, 4.0);
        vec![a, many_zeros(32 * K, 2), result(32 * K)]
    }),
    line("special", "unit_vectors", 1 << 15, 64, || {
        let mut random = Random(1);
        let mut on = 0.0;
        let vectors = floats(128 * K, |i| {
            if i % 4 == 0 {
                on = f32::from(random.word().is_multiple_of(2));
            }
            on * random.unit()
        });
        vec![exact(vectors), result(128 * K)]
    }),
    line("special", "gaussian_tails", 1 << 14, 64, || {
        vec![
            between(16 * K, 1, -4.0, 4.0),
            out(64 * K, Alike::F32(1e-3)),
            float(4.0),
        ]
    }),
    plane("special", "envelope", [128, 64], [16, 16], || {
        let mut random = Random(3);
        let offsets = words(2 * K, |_| (random.word() % 129).wrapping_sub(64));
        let image = many_zeros(4 * 8 * K, 1);
        let sizes = [128, 64, 12].map(int);
        [vec![image, exact(offsets), result(32 * K)], sizes.into()]
            .into_iter()
            .flatten()
            .collect()
    }),
    line("special", "mean_of_present", 1 << 14, 64, || {
        let mut random = Random(1);
        let pixels = floats(16 * 16 * K, |_| match random.word() % 8 {
            0 => f32::NAN,
            _ => random.unit(),
        });
        vec![exact(pixels), result(16 * K), int(16)]
    }),
    line("special", "double_quotients", 1 << 14, 64, || {
        let mut random = Random(2);
        let zeros = doubles(16 * K, |_| f64::from((2.0 * random.unit() - 1.0).max(0.0)));
        vec![
            double_units(16 * K, 1),
            exact(zeros),
            out(128 * K, Alike::F64(1e-12)),
        ]
    }),
];

/// A sparse matrix by rows of 1 to 31 elements, each of which has its diagonal: the starts and the columns.
fn sparse(rows: u32, seed: u64) -> (Vec<u32>, Vec<u32>) {
    let starts = starts(rows as usize, seed, 1, 31);
    let mut random = Random(seed + 1);
    let mut columns = Vec::new();
    for row in 0..rows {
        let count = starts[row as usize + 1] - starts[row as usize];
        columns.push(row);
        // Most are near the diagonal.
        columns.extend((1..count).map(|_| match random.word() % 4 {
            0 => random.word() % rows,
            _ => (row + random.word() % 256) % rows,
        }));
    }
    (starts, columns)
}

const SOLVERS: &[Case] = &[
    line("solvers", "sparse_solve", 1 << 13, 128, || {
        let (starts, columns) = sparse(1 << 14, 1);
        vec![
            as_words(&starts),
            as_words(&columns),
            units(columns.len(), 2),
            units(1 << 14, 3),
            units(1 << 14, 4),
            result(1 << 14),
            int(1 << 14),
        ]
    }),
    line("solvers", "sparse_solve_f64", 1 << 13, 64, || {
        let (starts, columns) = sparse(1 << 13, 1);
        vec![
            as_words(&starts),
            as_words(&columns),
            double_units(columns.len(), 2),
            double_units(1 << 13, 3),
            out(1 << 16, Alike::F64(1e-9)),
            int(1 << 13),
        ]
    }),
    line("solvers", "next_level", 1 << 16, 256, || {
        let nodes = 1 << 16;
        let starts = starts(nodes as usize, 1, 0, 12);
        let edges = starts[nodes as usize] as usize;
        let mut random = Random(2);
        let now = (0..nodes).map(|_| (random.word().is_multiple_of(4)) as u8);
        vec![
            as_words(&starts),
            numbers(edges, 3, nodes),
            exact(now.collect()),
            zeros(nodes as usize),
            exact(words(nodes as usize, |i| (i % 3 == 0) as u32)),
            int(5),
            int(nodes),
        ]
    }),
    line("solvers", "nearest_centre", 1 << 14, 256, || {
        vec![
            units(16 * K * 16, 1),
            units(5 * 16, 2),
            zeros(64 * K),
            int(16 << 10),
            int(5),
            int(16),
        ]
    }),
    line("solvers", "gain_of_centre", 1 << 14, 256, || {
        let n = 16 * K;
        vec![
            units(n * 32, 1),
            units(n, 2),
            between(n, 3, 0.0, 8.0),
            result(n),
            zeros(n),
            int(32),
            int(77),
        ]
    }),
    line("solvers", "listed_forces", 1 << 13, 128, || {
        let n = 8 * K;
        vec![
            units(4 * n, 1),
            numbers(64 * n, 2, n as u32),
            out(16 * n, Alike::F32(1e-3)),
            int(64),
            int(n as u32),
        ]
    }),
    line("solvers", "cell_flows", 192 * 320, 192, || {
        let n: usize = 192 * 320;
        let mut random = Random(1);
        let other = |i: usize| match random.word() % 32 {
            0 => u32::MAX,
            1 => u32::MAX - 1,
            by => (i as u32 % n as u32 + by * 7) % n as u32,
        };
        let mut random = Random(2);
        let state = floats(4 * n, |i| random.unit() + [1.0, 0.0, 0.0, 3.0][i / n]);
        vec![
            exact(words(4 * n, other)),
            units(8 * n, 3),
            exact(state),
            out(16 * n, Alike::F32(1e-3)),
            int(n as u32),
        ]
    }),
    plane("solvers", "lattice_step", [254, 254], [127, 1], || {
        let n = 64 * K;
        vec![
            between(9 * n, 1, 0.5, 1.0),
            out(36 * n, Alike::F32(1e-3)),
            int(256),
            int(256),
        ]
    }),
    plane("solvers", "heat_layers", [256, 256], [64, 4], || {
        let n = 512 * K;
        vec![
            units(n, 1),
            units(n, 2),
            result(n),
            int(256),
            int(256),
            int(8),
        ]
    }),
    line("solvers", "diffuse_table", 1 << 17, 256, || {
        let (rows, columns) = (512u32, 256u32);
        let n = (rows * columns) as usize;
        let before = |n: u32| exact(words(n as usize, |i| (i as u32).saturating_sub(1)));
        let after = |n: u32| exact(words(n as usize, |i| (i as u32 + 1).min(n - 1)));
        vec![
            between(n, 1, 0.5, 1.0),
            before(rows),
            after(rows),
            before(columns),
            after(columns),
            result(n),
            out(4 * n, Alike::F32(1e-2)),
            int(rows),
            int(columns),
        ]
    }),
    plane("solvers", "factor_inside", [240, 240], [16, 16], || {
        vec![out_units(64 * K, 1), int(256)]
    }),
    line("solvers", "factor_diagonal", 256 * 16, 16, || {
        let mut random = Random(1);
        let own = |i: usize| {
            if (i % 256).is_multiple_of(17) {
                9.0
            } else {
                0.0
            }
        };
        let all = floats(64 * K, |i| random.unit() + own(i));
        vec![Arg::Buffer(all, Alike::F32(1e-3))]
    }),
    plane("solvers", "layer_sums", [16, 1 << 15], [16, 16], || {
        let n = 32 * K;
        vec![units(n, 1), units(16 * n, 2), result(n), int(16)]
    }),
    line("solvers", "first_above", 1 << 13, 128, || {
        let n = 512;
        let rising = floats(n, |i| (i + 1) as f32 / n as f32);
        vec![
            exact(rising),
            units(8 * K, 1),
            units(n, 2),
            zeros(32 * K),
            int(n as u32),
        ]
    }),
    plane("solvers", "block_differences", [120, 60], [60, 1], || {
        vec![
            bytes(512 * 256, 1),
            bytes(512 * 256, 2),
            zeros(2 * 120 * 60 * 64),
            int(512),
            int(8),
        ]
    }),
    line("solvers", "column_pairs", 128, 64, || {
        vec![
            units(128 * 128, 1),
            out(4 * 128 * 128, Alike::F32(1e-3)),
            int(128),
            int(128),
        ]
    }),
    line("solvers", "row_sweep", 512, 64, || {
        let n = 512 * 512;
        let matrix = |seed, from: f32, to: f32| {
            let mut random = Random(seed);
            let all = floats(n, |_| from + (to - from) * random.unit());
            Arg::Buffer(all, Alike::F32(1e-2))
        };
        vec![
            matrix(1, 0.0, 1.0),
            between(n, 2, 0.0, 1.0),
            matrix(3, 4.0, 5.0),
            int(512),
        ]
    }),
    line("solvers", "project_columns", 1024, 256, || {
        vec![out_units(512 * K, 1), units(512, 2), int(512), int(1024)]
    }),
    line("solvers", "merge_runs", 1 << 10, 64, || {
        let mut random = Random(1);
        let mut last = 0;
        let rising = words(128 * K, |i| {
            last = if i % 64 == 0 { 0 } else { last } + random.word() % 100;
            last
        });
        vec![exact(rising), zeros(512 * K), int(64)]
    }),
    line("solvers", "tree_descend", 1 << 16, 64, || {
        let nodes = 1 + 64 + 64 * 64;
        let key = |i: usize| {
            let (node, at) = (i / 64, i as i32 % 64);
            let (from, step) = match node {
                0 => (0, 4096),
                1..=64 => ((node as i32 - 1) * 4096, 64),
                _ => ((node as i32 - 65) * 64, 1),
            };
            (from + (at + 1) * step) as u32
        };
        let child = |i: usize| if i < 65 * 64 { i as u32 + 1 } else { i as u32 };
        vec![
            exact(words(nodes * 64, key)),
            exact(words(nodes * 64, child)),
            numbers(K, 1, 1 << 18),
            zeros(4 * K),
            int(3),
        ]
    }),
    line("solvers", "cheapest_ways", 256 * 128, 256, || {
        let columns = 128 * (256 - 32);
        vec![
            numbers(16 * columns, 1, 10),
            numbers(columns, 2, 10),
            zeros(4 * columns),
            int(columns as u32),
            int(16),
        ]
    }),
    line("solvers", "align_tile", 512 * 16, 16, || {
        vec![
            numbers(512 * 256, 1, 20),
            numbers(512 * 16, 2, 100),
            numbers(512 * 16, 3, 100),
            zeros(4 * 512 * 256),
            int(10),
        ]
    }),
    line("solvers", "angle_bins", 1 << 12, 128, || {
        let limits = floats(20, |i| 3.0 - 3.5 * i as f32 / 20.0);
        vec![
            between(4 * K, 1, -1.0, 1.0),
            between(4 * K, 2, -1.0, 1.0),
            between(4 * K, 3, -1.0, 1.0),
            exact(limits),
            out(256, Alike::Mostly(0.9)),
            int(256),
            int(20),
        ]
    }),
];
