//! silx, tools for X-ray data: sorting, histograms, tomography, convolution.

use super::{Entry, Text};
use crate::bench::data::{
    Alike, Arg, Random, bytes, exact, float, floats, int, numbers, out, random_floats, result,
    units, words, zeros,
};

const BITONIC: Text = Text::Files(&[(
    "python3-silx",
    "usr/lib/python3/dist-packages/silx/resources/opencl/bitonic.cl",
)]);
const HISTOGRAM: Text = Text::Files(&[(
    "python3-silx",
    "usr/lib/python3/dist-packages/silx/resources/opencl/image/histogram.cl",
)]);
const MAX_MIN: Text = Text::Files(&[(
    "python3-silx",
    "usr/lib/python3/dist-packages/silx/resources/opencl/image/max_min.cl",
)]);
const SPARSE: Text = Text::Files(&[(
    "python3-silx",
    "usr/lib/python3/dist-packages/silx/resources/opencl/sparse.cl",
)]);
const BYTE_OFFSET: Text = Text::Files(&[(
    "python3-silx",
    "usr/lib/python3/dist-packages/silx/resources/opencl/codec/byte_offset.cl",
)]);
const BACKPROJECTION: Text = Text::Files(&[
    (
        "python3-silx",
        "usr/lib/python3/dist-packages/silx/resources/opencl/backproj_helper.cl",
    ),
    (
        "python3-silx",
        "usr/lib/python3/dist-packages/silx/resources/opencl/backproj.cl",
    ),
]);
const CONVOLUTION: Text = Text::Files(&[(
    "python3-silx",
    "usr/lib/python3/dist-packages/silx/resources/opencl/convolution.cl",
)]);
const LINALG: Text = Text::Files(&[(
    "python3-silx",
    "usr/lib/python3/dist-packages/silx/resources/opencl/linalg.cl",
)]);
const ARRAYS: Text = Text::Files(&[(
    "python3-silx",
    "usr/lib/python3/dist-packages/silx/resources/opencl/array_utils.cl",
)]);

/// A megapixel.
const W: u32 = 1024;
const N: usize = 1 << 20;

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "silx.bsort_file",
        text: BITONIC,
        options: "",
        kernel: "bsort_file",
        grid: [65536, 1, 1],
        group: [128, 1, 1],
        args: || vec![units(8 * 65536, 1), Arg::Local(128 * 32)],
    },
    Entry {
        name: "silx.bsort_horizontal",
        text: BITONIC,
        options: "",
        kernel: "bsort_horizontal",
        grid: [64, 1024, 1],
        group: [64, 1, 1],
        args: || vec![units(512 * 1024, 1), Arg::Local(64 * 32)],
    },
    Entry {
        name: "silx.histogram",
        text: HISTOGRAM,
        options: "",
        kernel: "histogram",
        grid: [16384, 1, 1],
        group: [256, 1, 1],
        args: || {
            let (n, bins) = (1 << 19, 1000);
            // Where a value lies on the edge of a bin hangs on rounding.
            let counts = out(4 * bins, Alike::Mostly(0.05));
            let parts = out(4 * 64 * bins, Alike::Mostly(0.05));
            let mut args = vec![
                units(n, 1),
                int(n as u32),
                float(0.0),
                float(1.0),
                int(1),
                counts,
            ];
            args.extend([
                result(bins + 2),
                int(bins as u32),
                parts,
                zeros(4),
                Arg::Local(4000),
            ]);
            args
        },
    },
    Entry {
        name: "silx.max_min_reduction_stage1",
        text: MAX_MIN,
        options: "",
        kernel: "max_min_reduction_stage1",
        grid: [65536, 1, 1],
        group: [256, 1, 1],
        args: || {
            let n = 4 * N;
            vec![
                units(n, 1),
                zeros(8 * 256),
                int(n as u32),
                Arg::Local(8 * 256),
            ]
        },
    },
    Entry {
        name: "silx.densify_csr",
        text: SPARSE,
        options: "-DIMAGE_WIDTH=512 -DDTYPE=float -DIDX_DTYPE=int",
        kernel: "densify_csr",
        grid: [128, 4096, 1],
        group: [128, 1, 1],
        args: || {
            let rows = 4096;
            let mut random = Random(1);
            let (mut columns, mut starts) = (Vec::new(), vec![0]);
            for _ in 0..rows {
                columns.extend((0..512).filter(|_| random.unit() < 0.1));
                starts.push(columns.len() as u32);
            }
            let data = units(columns.len(), 2);
            let locations = exact(words(columns.len(), |n| columns[n]));
            let starts = exact(words(rows + 1, |n| starts[n]));
            vec![
                data,
                locations,
                starts,
                zeros(4 * 512 * rows),
                int(rows as u32),
            ]
        },
    },
    Entry {
        name: "silx.copy_result_int",
        text: BYTE_OFFSET,
        options: "",
        kernel: "copy_result_int",
        grid: [1048576, 1, 1],
        group: [256, 1, 1],
        args: || {
            let mut random = Random(1);
            let mut location = 0;
            let locations = words(N, |_| {
                location += u32::from(random.unit() < 0.9);
                location
            });
            let size = int(N as u32);
            let size_too = int(N as u32);
            vec![
                numbers(N, 2, 1000),
                exact(locations),
                size,
                size_too,
                zeros(4 * N + 4),
            ]
        },
    },
    Entry {
        name: "silx.mark_exceptions",
        text: BYTE_OFFSET,
        options: "",
        kernel: "mark_exceptions",
        grid: [1048576, 1, 1],
        group: [256, 1, 1],
        args: || {
            // One byte in 256 is an exception; they are noted in the order in which lanes come.
            let list = out(4 * N, Alike::Unordered(4));
            let (size, whole) = (int(N as u32), int(N as u32));
            vec![
                bytes(N, 1),
                size,
                whole,
                zeros(4 * N),
                zeros(4 * N),
                zeros(4),
                list,
            ]
        },
    },
    Entry {
        name: "silx.backproj_cpu_kernel",
        text: BACKPROJECTION,
        options: "",
        kernel: "backproj_cpu_kernel",
        grid: [128, 128, 1],
        group: [16, 16, 1],
        args: || {
            let (projections, bins) = (180, 256);
            let angle = |n: usize| n as f32 * std::f32::consts::PI / projections as f32;
            let cosines = exact(floats(projections, |n| angle(n).cos()));
            let sines = exact(floats(projections, |n| angle(n).sin()));
            let axis = exact(floats(projections, |_| bins as f32 / 2.0));
            let mut args = vec![
                int(projections as u32),
                int(bins as u32),
                float(bins as f32 / 2.0),
            ];
            args.extend([
                result(256 * 256),
                units(projections * bins, 1),
                float(0.0),
                float(0.0),
            ]);
            args.extend([cosines, sines, axis, Arg::Local(768)]);
            args
        },
    },
    Entry {
        name: "silx.convol_1D_X",
        text: CONVOLUTION,
        options: "",
        kernel: "convol_1D_X",
        grid: [1024, 1024, 1],
        group: [64, 4, 1],
        args: || {
            let taps = 15;
            let sizes = [taps as u32, W, W, 1].map(int);
            let mut args = vec![units(N, 1), result(N), units(taps, 2)];
            args.extend(sizes);
            args
        },
    },
    Entry {
        name: "silx.convol_1D_Y",
        text: CONVOLUTION,
        options: "",
        kernel: "convol_1D_Y",
        grid: [1024, 1024, 1],
        group: [64, 4, 1],
        args: || {
            let taps = 15;
            let sizes = [taps as u32, W, W, 1].map(int);
            let mut args = vec![units(N, 1), result(N), units(taps, 2)];
            args.extend(sizes);
            args
        },
    },
    Entry {
        name: "silx.convol_2D_XY",
        text: CONVOLUTION,
        options: "",
        kernel: "convol_2D_XY",
        grid: [512, 512, 1],
        group: [16, 16, 1],
        args: || {
            let n = 512 * 512;
            let mut args = vec![units(n, 1), result(n), units(49, 2)];
            args.extend([7, 7, 512, 512, 1].map(int));
            args
        },
    },
    Entry {
        name: "silx.kern_gradient2D",
        text: LINALG,
        options: "",
        kernel: "kern_gradient2D",
        grid: [1024, 2048, 1],
        group: [64, 4, 1],
        args: || vec![units(2 * N, 1), zeros(16 * N), int(W), int(2 * W)],
    },
    Entry {
        name: "silx.kern_divergence2D",
        text: LINALG,
        options: "",
        kernel: "kern_divergence2D",
        grid: [1024, 2048, 1],
        group: [64, 4, 1],
        args: || vec![units(4 * N, 1), result(2 * N), int(W), int(2 * W)],
    },
    Entry {
        name: "silx.inplace_complex_mul_2Dby1D",
        text: ARRAYS,
        options: "",
        kernel: "inplace_complex_mul_2Dby1D",
        grid: [1024, 1024, 1],
        group: [64, 4, 1],
        args: || {
            let array = Arg::Buffer(random_floats(2 * N, 1), Alike::F32(1e-5));
            vec![array, units(2 * 1024, 2), int(W), int(W)]
        },
    },
];
