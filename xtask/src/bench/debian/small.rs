//! Programs with one or two kernels.

use super::{Entry, Text};
use crate::bench::data::{
    Alike, Arg, Random, between, doubles, exact, int, out, random_words, units, words, zeros,
};

/// Keys of wireless networks: 8190 SHA-1 blocks twice.
const KEYS: Text = Text::Inside(
    "hcxkeys",
    "usr/bin/wlangenpmkocl",
    &["void opencl_pmk_kernel("],
);

/// Spectra of radio signals.
const SPECTRUM: Text = Text::Inside(
    "libgnuradio-fosphor3.9.0",
    "usr/lib/x86_64-linux-gnu/libgnuradio-fosphor.so.3.9.*",
    &["void fft1D_512("],
);

/// Examples of StarPU, a runtime for tasks.
const MANDELBROT: Text = Text::Inside(
    "starpu-examples",
    "usr/lib/x86_64-linux-gnu/starpu/examples/mandelbrot",
    &["void mandelbrot_kernel("],
);
const PRODUCT: Text = Text::Files(&[(
    "starpu-examples",
    "usr/share/starpu/opencl/examples/matvecmult/matvecmult_kernel.cl",
)]);

/// An example of PoCL: waves in a cube.
const WAVE: Text = Text::Files(&[(
    "pocl-tests",
    "usr/share/pocl-tests/examples/scalarwave/scalarwave.cl",
)]);

/// A number of 64 bits.
fn double(value: f64) -> Arg {
    Arg::Value(value.to_le_bytes().to_vec())
}

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "hcxkeys.opencl_pmk_kernel",
        text: KEYS,
        options: "",
        kernel: "opencl_pmk_kernel",
        grid: [64, 1, 1],
        group: [64, 1, 1],
        args: || vec![random_words(64 * 20, 1), zeros(64 * 40)],
    },
    Entry {
        name: "fosphor.fft1D_512",
        text: SPECTRUM,
        options: "",
        kernel: "fft1D_512",
        grid: [64, 256, 1],
        group: [64, 1, 1],
        args: || {
            let (n, batch) = (512, 256);
            let window = units(n, 2);
            vec![
                between(2 * n * batch, 1, -1.0, 1.0),
                out(8 * n * batch, Alike::F32(1e-3)),
                window,
            ]
        },
    },
    Entry {
        name: "fosphor.fft1D_1024",
        text: SPECTRUM,
        options: "",
        kernel: "fft1D_1024",
        grid: [128, 256, 1],
        group: [128, 1, 1],
        args: || {
            let (n, batch) = (1024, 256);
            let window = units(n, 2);
            vec![
                between(2 * n * batch, 1, -1.0, 1.0),
                out(8 * n * batch, Alike::F32(1e-3)),
                window,
            ]
        },
    },
    Entry {
        name: "starpu.mandelbrot_kernel",
        text: MANDELBROT,
        options: "",
        kernel: "mandelbrot_kernel",
        grid: [256, 128, 1],
        group: [64, 1, 1],
        args: || {
            let image = out(4 * 256 * 128, Alike::Mostly(0.01));
            let step = 3.0 / 256.0;
            let mut args = vec![
                image,
                double(-2.2),
                double(1.5),
                double(step),
                double(2.0 * step),
            ];
            args.extend([100, 0, 128, 256].map(int));
            args
        },
    },
    Entry {
        name: "starpu.matVecMult",
        text: PRODUCT,
        options: "",
        kernel: "matVecMult",
        grid: [2048, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (m, n) = (2048, 1024);
            let (columns, rows) = (int(n as u32), int(m as u32));
            let made = out(4 * m, Alike::F32(1e-3));
            vec![
                units(m * n, 1),
                units(n, 2),
                columns,
                rows,
                made,
                int(n as u32),
            ]
        },
    },
    Entry {
        name: "pocl.scalarwave",
        text: WAVE,
        options: "",
        kernel: "scalarwave",
        grid: [64, 64, 64],
        group: [64, 1, 1],
        args: || {
            let n = 64 * 64 * 64;
            let field = |seed| {
                let mut random = Random(seed);
                exact(doubles(n, |_| f64::from(random.unit())))
            };
            let mut grid = doubles(4, |n| [0.5, 1.0, 1.0, 1.0][n]);
            grid.extend(words(6, |_| 64));
            vec![
                out(8 * n, Alike::F64(1e-9)),
                field(1),
                field(2),
                exact(grid),
            ]
        },
    },
];
