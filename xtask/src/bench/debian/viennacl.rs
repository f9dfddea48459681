//! ViennaCL, linear algebra: sparse matrices, scans. Its kernels are texts that C++ headers append line by line.

use super::{Entry, Text};
use crate::bench::data::{
    Alike, Arg, Random, between, doubles, exact, float, int, numbers, numbers_as_floats, out,
    random_floats, result, units, words, zeros,
};

/// The text of the kernel that begins with this line of a header: its literals, up to the next function that generates one.
const fn generated(
    file: &'static str,
    from: &'static str,
    replace: &'static [(&'static str, &'static str)],
) -> Text {
    let (package, to) = ("libviennacl-dev", "template");
    Text::Literals {
        package,
        file,
        from,
        to,
        replace,
    }
}

const SCAN: &str = "usr/include/viennacl/linalg/opencl/kernels/scan.hpp";
const SPARSE: &str = "usr/include/viennacl/linalg/opencl/kernels/compressed_matrix.hpp";
const ITERATIVE: &str = "usr/include/viennacl/linalg/opencl/kernels/iterative.hpp";
const COORDINATES: &str = "usr/include/viennacl/linalg/opencl/kernels/coordinate_matrix.hpp";
const INCOMPLETE: &str = "usr/include/viennacl/linalg/opencl/kernels/ilu.hpp";
const GRAPH: &str = "usr/include/viennacl/linalg/opencl/kernels/amg.hpp";
const FACTORS: &str = "usr/include/viennacl/linalg/opencl/kernels/nmf.hpp";
/// The type for which a text is generated stands between literals.
const FLOAT: &[(&str, &str)] = &[("numeric_string", "\"float\"")];
const DOUBLE: &[(&str, &str)] = &[("numeric_string", "\"double\"")];

/// A sparse matrix of `rows` rows with 8 to 39 entries each: the starts of rows, and the entries' columns.
fn matrix(rows: usize) -> (Vec<u32>, Vec<u32>) {
    let mut random = Random(3);
    let (mut starts, mut columns) = (vec![0], Vec::new());
    for row in 0..rows {
        let many = 8 + random.word() % 32;
        // The diagonal, and places near it.
        columns.push(row as u32);
        let near = (0..many).map(|_| (row as u32 + random.word() % 4096) % rows as u32);
        columns.extend(near);
        starts.push(columns.len() as u32);
    }
    (starts, columns)
}

/// The starts and the sorted columns of a lower triangle's rows, which end on the diagonal.
fn triangle(rows: u32) -> (Vec<u32>, Vec<u32>) {
    let mut random = Random(5);
    let (mut starts, mut columns) = (vec![0], Vec::new());
    for row in 0..rows {
        let mut near: Vec<u32> = (0..6)
            .map(|_| row.saturating_sub(1 + random.word() % 64))
            .filter(|column| *column < row)
            .collect();
        near.sort_unstable();
        near.dedup();
        columns.extend(near);
        columns.push(row);
        starts.push(columns.len() as u32);
    }
    (starts, columns)
}

/// A vector's start and step, for a matrix of this many rows.
fn layout(rows: u32) -> Arg {
    Arg::Value(words(4, |n| [0, 1, rows, rows][n]))
}

fn indices(of: &[u32]) -> Arg {
    exact(words(of.len(), |n| of[n]))
}

/// Random numbers from 0.5 to 1.
fn double_units(n: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    doubles(n, |_| 0.5 + 0.5 * f64::from(random.unit()))
}

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "viennacl.scan_1",
        text: generated(SCAN, "__kernel void scan_1(", FLOAT),
        options: "",
        kernel: "scan_1",
        grid: [16384, 1, 1],
        group: [128, 1, 1],
        args: || {
            // Whole numbers: sums are exact.
            let n = 1 << 19;
            let mut args = vec![numbers_as_floats(n, 1, 4)];
            args.extend([0, 1, n as u32].map(int));
            args.push(zeros(4 * n));
            args.extend([0, 1, 1].map(int));
            args.push(zeros(4 * 128));
            args
        },
    },
    Entry {
        name: "viennacl.vec_mul_cpu",
        text: generated(SPARSE, "__kernel void vec_mul_cpu(", FLOAT),
        options: "",
        kernel: "vec_mul_cpu",
        grid: [32768, 1, 1],
        group: [128, 1, 1],
        args: || {
            let rows = 1 << 16;
            let (starts, columns) = matrix(rows);
            let elements = units(columns.len(), 1);
            let mut args = vec![
                indices(&starts),
                indices(&columns),
                elements,
                units(rows, 2),
            ];
            args.extend([float(1.5), result(rows), float(0.0), int(rows as u32)]);
            args
        },
    },
    Entry {
        name: "viennacl.jacobi",
        text: generated(SPARSE, "__kernel void jacobi(", DOUBLE),
        options: "",
        kernel: "jacobi",
        grid: [16384, 1, 1],
        group: [128, 1, 1],
        args: || {
            let rows = 1 << 16;
            let (starts, columns) = matrix(rows);
            let elements = exact(double_units(columns.len(), 1));
            let weight = Arg::Value(0.6f64.to_le_bytes().to_vec());
            let mut args = vec![indices(&starts), indices(&columns), elements, weight];
            args.extend([
                exact(double_units(rows, 2)),
                out(8 * rows, Alike::F64(1e-9)),
            ]);
            args.extend([exact(double_units(rows, 3)), int(rows as u32)]);
            args
        },
    },
    Entry {
        name: "viennacl.cg_csr_prod",
        text: generated(ITERATIVE, "__kernel void cg_csr_prod(", FLOAT),
        options: "",
        kernel: "cg_csr_prod",
        grid: [16384, 1, 1],
        group: [128, 1, 1],
        args: || {
            let rows = 1 << 15;
            let (starts, columns) = matrix(rows);
            // Blocks of rows whose entries fit into the local buffer of 1024.
            let mut blocks = vec![0u32];
            for row in 1..=rows as u32 {
                let first = blocks[blocks.len() - 1];
                if starts[row as usize] - starts[first as usize] > 1024 {
                    blocks.push(row - 1);
                }
            }
            blocks.push(rows as u32);
            let elements = units(columns.len(), 1);
            let mut args = vec![
                indices(&starts),
                indices(&columns),
                indices(&blocks),
                elements,
            ];
            args.extend([
                int(blocks.len() as u32 - 1),
                units(rows, 2),
                result(rows),
                int(rows as u32),
            ]);
            args.extend([out(4 * 3 * 128, Alike::F32(1e-3)), int(128)]);
            args.extend([Arg::Local(512), Arg::Local(512), Arg::Local(4096)]);
            args
        },
    },
    Entry {
        name: "viennacl.el_wise_mul_div",
        text: generated(FACTORS, "__kernel void el_wise_mul_div(", FLOAT),
        options: "",
        kernel: "el_wise_mul_div",
        grid: [16384, 1, 1],
        group: [128, 1, 1],
        args: || {
            let n = 1 << 20;
            let product = Arg::Buffer(random_floats(n, 1), Alike::F32(1e-4));
            vec![product, units(n, 2), between(n, 3, 0.1, 1.0), int(n as u32)]
        },
    },
    Entry {
        name: "viennacl.vec_mul",
        text: generated(COORDINATES, "__kernel void vec_mul(", FLOAT),
        options: "",
        kernel: "vec_mul",
        grid: [8192, 1, 1],
        group: [128, 1, 1],
        args: || {
            let (rows, groups) = (1 << 14, 64);
            let (starts, columns) = matrix(rows);
            let mut coordinates = Vec::new();
            for row in 0..rows {
                let entries = &columns[starts[row] as usize..starts[row + 1] as usize];
                coordinates.extend(entries.iter().flat_map(|column| [row as u32, *column]));
            }
            // Each workgroup has as many rows.
            let bounds: Vec<u32> = (0..=groups).map(|n| starts[n * rows / groups]).collect();
            let elements = units(columns.len(), 1);
            let mut args = vec![indices(&coordinates), elements, indices(&bounds)];
            args.extend([units(rows, 2), layout(rows as u32), float(1.5)]);
            args.extend([result(rows), layout(rows as u32), float(0.0)]);
            args.extend([Arg::Local(512), Arg::Local(512)]);
            args
        },
    },
    Entry {
        name: "viennacl.amg_pmis2_max_neighborhood",
        text: generated(GRAPH, "__kernel void amg_pmis2_max_neighborhood(", FLOAT),
        options: "",
        kernel: "amg_pmis2_max_neighborhood",
        grid: [16384, 1, 1],
        group: [128, 1, 1],
        args: || {
            let n = 1 << 15;
            let (starts, neighbours) = matrix(n);
            let state = |seed, below| numbers(n, seed, below);
            let mut args = vec![state(1, 3), state(2, 1 << 20)];
            args.push(exact(words(n, |n| n as u32)));
            args.extend([zeros(4 * n), zeros(4 * n), zeros(4 * n)]);
            args.extend([indices(&starts), indices(&neighbours), int(n as u32)]);
            args
        },
    },
    Entry {
        name: "viennacl.ilu_chow_patel_sweep_kernel",
        text: generated(
            INCOMPLETE,
            "__kernel void ilu_chow_patel_sweep_kernel(",
            DOUBLE,
        ),
        options: "",
        kernel: "ilu_chow_patel_sweep_kernel",
        grid: [16384, 1, 1],
        group: [128, 1, 1],
        args: || {
            let rows = 1 << 14;
            let (starts, columns) = triangle(rows);
            let n = columns.len();
            let made = || out(8 * n, Alike::F64(1e-9));
            let elements = |seed| exact(double_units(n, seed));
            let mut args = vec![indices(&starts), indices(&columns), made(), elements(1)];
            args.extend([int(rows), elements(2), indices(&starts), indices(&columns)]);
            args.extend([made(), elements(3), elements(4)]);
            args
        },
    },
    Entry {
        name: "viennacl.level_scheduling_substitute",
        text: generated(
            INCOMPLETE,
            "__kernel void level_scheduling_substitute(",
            FLOAT,
        ),
        options: "",
        kernel: "level_scheduling_substitute",
        grid: [16384, 1, 1],
        group: [128, 1, 1],
        args: || {
            // The rows of a level are the odd ones, whose equations need the even ones only.
            let rows = 1 << 16;
            let (starts, columns) = matrix(rows);
            let even: Vec<u32> = columns.iter().map(|column| 2 * column).collect();
            let odd = exact(words(rows, |n| 2 * n as u32 + 1));
            let elements = units(even.len(), 1);
            let mut args = vec![odd, indices(&starts), indices(&even), elements];
            let vector = Arg::Buffer(random_floats(2 * rows, 2), Alike::F32(1e-4));
            args.extend([vector, int(rows as u32)]);
            args
        },
    },
    Entry {
        name: "viennacl.spgemm_stage2",
        text: generated(SPARSE, "__kernel void spgemm_stage2(", FLOAT),
        options: "",
        kernel: "spgemm_stage2",
        grid: [8192, 1, 1],
        group: [32, 1, 1],
        args: || {
            let rows = 1 << 10;
            let (starts, columns) = triangle(rows);
            let matrix = || [indices(&starts), indices(&columns), int(rows)];
            let mut args: Vec<Arg> = matrix().into();
            args.extend(matrix());
            args.push(zeros(4 * rows as usize + 4));
            args
        },
    },
];
