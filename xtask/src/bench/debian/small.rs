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

/// An example of PoCL: Einstein's equations.
const GRAVITY: Text = Text::Files(&[(
    "pocl-tests",
    "usr/share/pocl-tests/examples/EinsteinToolkit/ML_BSSN_CL_RHS1.cl",
)]);

/// Its arrays: coordinates, fields with two earlier states (`_p`), and the results (`rhs`).
const FIELDS: &str = "x y z r At11 At11_p At11_p_p At12 At12_p At12_p_p At13 At13_p At13_p_p At22 At22_p At22_p_p \
    At23 At23_p At23_p_p At33 At33_p At33_p_p A A_p A_p_p Arhs B1 B1_p B1_p_p B2 B2_p B2_p_p B3 B3_p B3_p_p \
    B1rhs B2rhs B3rhs Xt1 Xt1_p Xt1_p_p Xt2 Xt2_p Xt2_p_p Xt3 Xt3_p Xt3_p_p Xt1rhs Xt2rhs Xt3rhs \
    alpha alpha_p alpha_p_p alpharhs phi phi_p phi_p_p phirhs gt11 gt11_p gt11_p_p gt12 gt12_p gt12_p_p \
    gt13 gt13_p gt13_p_p gt22 gt22_p gt22_p_p gt23 gt23_p gt23_p_p gt33 gt33_p gt33_p_p \
    gt11rhs gt12rhs gt13rhs gt22rhs gt23rhs gt33rhs beta1 beta1_p beta1_p_p beta2 beta2_p beta2_p_p \
    beta3 beta3_p beta3_p_p beta1rhs beta2rhs beta3rhs trK trK_p trK_p_p trKrhs";

/// The contents of an array of `n` numbers; earlier states are not used.
fn field(name: &str, n: usize, seed: u64) -> Arg {
    let mut random = Random(seed);
    let mut around = |middle: f64| {
        exact(doubles(n, |_| {
            middle + 0.1 * (f64::from(random.unit()) - 0.5)
        }))
    };
    match name {
        _ if name.ends_with("_p") => zeros(8),
        _ if name.ends_with("rhs") => out(8 * n, Alike::F64(1e-6)),
        "r" | "alpha" | "gt11" | "gt22" | "gt33" => around(1.0),
        _ => around(0.0),
    }
}

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
    Entry {
        name: "pocl.ML_BSSN_CL_RHS1",
        text: GRAVITY,
        options: "-DVECTORISE_ALIGNED_ARRAYS=0 -DVECTOR_SIZE_I=1 -DVECTOR_SIZE_J=1 -DVECTOR_SIZE_K=1 \
                  -DUNROLL_SIZE_I=1 -DUNROLL_SIZE_J=1 -DUNROLL_SIZE_K=1 -DGROUP_SIZE_I=16 -DGROUP_SIZE_J=2 \
                  -DGROUP_SIZE_K=2 -DTILE_SIZE_I=1 -DTILE_SIZE_J=1 -DTILE_SIZE_K=1",
        kernel: "ML_BSSN_CL_RHS1",
        grid: [16, 16, 16],
        group: [16, 2, 2],
        args: || {
            let (edge, border) = (22, 3);
            // The grid's steps and time, and its sizes and the part that is computed.
            let mut grid = doubles(8, |n| f64::from((3..6).contains(&n)));
            grid.extend(words(24, |n| match n / 3 {
                1 => 0,
                4 | 6 => border,
                5 | 7 => edge - border,
                _ => edge,
            }));
            let mut args = vec![exact(grid), zeros(2048)];
            let names = FIELDS.split_whitespace().zip(1..);
            args.extend(names.map(|(name, seed)| field(name, edge.pow(3) as usize, seed)));
            args
        },
    },
];
