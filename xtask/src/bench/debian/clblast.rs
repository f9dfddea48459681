//! CLBlast, linear algebra: vectors, matrices, a tiled product.

use super::{Entry, Text};
use crate::bench::data::{
    Alike, Arg, between, float, int, out, random_floats, result, units, zeros,
};

/// The common beginning of all kernels, and a kernel's own text.
const fn text(words: &'static [&'static str]) -> Text {
    Text::Inside(
        "libclblast1",
        "usr/lib/x86_64-linux-gnu/libclblast.so.1.*",
        words,
    )
}

const COMMON: &str = "#define PRECISION 32";

const N: usize = 1 << 20;

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "clblast.Xaxpy",
        text: text(&[COMMON, "void Xaxpy("]),
        options: "",
        kernel: "Xaxpy",
        grid: [262144, 1, 1],
        group: [64, 1, 1],
        args: || {
            let y = Arg::Buffer(random_floats(2 * N, 2), Alike::F32(1e-5));
            let mut args = vec![
                int(2 * N as u32),
                float(1.5),
                units(2 * N, 1),
                int(0),
                int(1),
                y,
            ];
            args.extend([0, 1].map(int));
            args
        },
    },
    Entry {
        name: "clblast.Xdot",
        text: text(&[COMMON, "void Xdot("]),
        options: "",
        kernel: "Xdot",
        grid: [8192, 1, 1],
        group: [64, 1, 1],
        args: || {
            let mut args = vec![int(2 * N as u32), units(2 * N, 1), int(0), int(1)];
            args.extend([
                units(2 * N, 2),
                int(0),
                int(1),
                out(4 * 128, Alike::F32(1e-3)),
                int(0),
            ]);
            args
        },
    },
    Entry {
        name: "clblast.Xamax",
        text: text(&[COMMON, "void Xamax("]),
        options: "-DROUTINE_MAX",
        kernel: "Xamax",
        grid: [8192, 1, 1],
        group: [64, 1, 1],
        args: || {
            let x = between(2 * N, 1, -1.0, 1.0);
            vec![
                int(2 * N as u32),
                x,
                int(0),
                int(1),
                zeros(4 * 128),
                zeros(4 * 128),
            ]
        },
    },
    Entry {
        name: "clblast.Xgemv",
        text: text(&[COMMON, "void Xgemv("]),
        options: "",
        kernel: "Xgemv",
        grid: [2048, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (m, n) = (2048, 1024);
            let mut args = vec![int(m as u32), int(n as u32), float(1.5), float(0.5), int(0)];
            args.extend([
                units(m * n, 1),
                int(0),
                int(m as u32),
                units(n, 2),
                int(0),
                int(1),
            ]);
            args.push(Arg::Buffer(random_floats(m, 3), Alike::F32(1e-3)));
            args.extend([0, 1, 0, 0, 0, 0].map(int));
            args
        },
    },
    Entry {
        name: "clblast.Xher",
        text: text(&[COMMON, "void Xher("]),
        options: "",
        kernel: "Xher",
        grid: [1024, 1024, 1],
        group: [8, 8, 1],
        args: || {
            let matrix = Arg::Buffer(random_floats(N, 2), Alike::F32(1e-5));
            let mut args = vec![
                int(1024),
                float(1.5),
                units(1024, 1),
                int(0),
                int(1),
                matrix,
            ];
            args.extend([0, 1024, 1, 0].map(int));
            args
        },
    },
    Entry {
        name: "clblast.Xim2colKernelNormal",
        text: text(&[COMMON, "void Xim2colKernelNormal("]),
        options: "",
        kernel: "Xim2colKernelNormal",
        grid: [64, 2048, 1],
        group: [8, 8, 1],
        args: || {
            let sizes = [64, 64, 32, 64, 64, 3, 3, 1, 1, 1, 1, 1, 1].map(int);
            let mut args = Vec::from(sizes);
            args.extend([
                units(64 * 64 * 32, 1),
                int(0),
                zeros(4 * 64 * 64 * 9 * 32),
                int(0),
            ]);
            args
        },
    },
    Entry {
        name: "clblast.TransposeMatrixFast",
        text: text(&[COMMON, "void TransposeMatrixFast("]),
        options: "-DTRA_DIM=16 -DTRA_PAD=1",
        kernel: "TransposeMatrixFast",
        grid: [1024, 1024, 1],
        group: [16, 16, 1],
        args: || vec![int(1024), units(N, 1), result(N), float(1.5)],
    },
    Entry {
        name: "clblast.XgemmDirectNN",
        text: text(&[COMMON, "void XgemmDirectNN("]),
        options: "-DWGD=32 -DMDIMCD=8 -DNDIMCD=8 -DMDIMAD=8 -DNDIMBD=8 -DKWID=2 -DVWMD=2 -DVWND=2",
        kernel: "XgemmDirectNN",
        grid: [64, 64, 1],
        group: [8, 8, 1],
        args: || {
            let n = 256 * 256;
            let mut args = Vec::from([256, 256, 256].map(int));
            args.extend([float(1.5), float(0.0)]);
            for matrix in [units(n, 1), units(n, 2), out(4 * n, Alike::F32(1e-4))] {
                args.extend([matrix, int(0), int(256)]);
            }
            args.extend([0, 0, 0].map(int));
            args
        },
    },
];
