//! ViennaCL, linear algebra: sparse matrices, scans. Its kernels are texts that C++ headers append line by line.

use super::{Entry, Text};
use crate::bench::data::{
    Alike, Arg, Random, between, doubles, exact, float, int, numbers_as_floats, out, random_floats,
    result, units, words, zeros,
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
];
