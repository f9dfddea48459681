//! Programs in Python: dtcwt, wavelets; pyopencl's examples; sasmodels, scattering.

use super::{Entry, Text};
use crate::bench::data::{
    Alike, Arg, Random, between, doubles, exact, float, floats, int, integers, numbers_as_floats,
    out, result, units, words, zeros,
};

/// Kernels of wavelets begin with common functions.
const fn wavelets(words: &'static [&'static str]) -> Text {
    let file = "usr/lib/python3/dist-packages/dtcwt/opencl/lowlevel.py";
    Text::Quoted("python3-dtcwt", file, words)
}

macro_rules! example {
    ($name:literal, $words:literal) => {
        Text::Quoted(
            "python-pyopencl-doc",
            concat!("usr/share/doc/python-pyopencl-doc/examples/", $name),
            &[$words],
        )
    };
}

const COMMON: &str = "magic function to reflect";
const BODIES: Text = example!("n-body.py", "__kernel void Potential(");
/// Single precision, forces without a core, and random numbers by multiplication with carry.
const SINGLE: &str =
    "-cl-mad-enable -cl-fast-relaxed-math -DTRNG=2 -DTYPE=0 -DINTERACTION=0 -DARTEVASION=0";
const DOUBLE: &str =
    "-cl-mad-enable -cl-fast-relaxed-math -DTRNG=2 -DTYPE=1 -DINTERACTION=0 -DARTEVASION=0";

/// An image's steps for rows and columns, its size, and its start, as the wavelets' kernels take them.
fn layout(rows: i32, columns: i32) -> [Arg; 3] {
    let steps = integers(&[columns, 1, 0, 0]);
    [steps, integers(&[rows, columns, 1, 1]), int(0)]
}

/// The arguments of a filter with `taps` coefficients along the rows' axis.
fn filter(from: [i32; 2], to: [i32; 2], taps: usize) -> Vec<Arg> {
    let size = |of: [i32; 2]| (of[0] * of[1]) as usize;
    let mut args = vec![units(size(from), 1)];
    args.extend(layout(from[0], from[1]));
    args.extend([
        between(taps, 2, -0.5, 0.5),
        int(1),
        int(taps as u32),
        int(0),
    ]);
    args.push(result(size(to)));
    args.extend(layout(to[0], to[1]));
    args.push(int(0));
    args
}

/// Positions of bodies, each with a fourth component of zero.
fn positions(n: usize) -> impl Iterator<Item = f32> {
    let mut random = Random(1);
    (0..4 * n).map(move |at| match at % 4 {
        3 => 0.0,
        _ => 10.0 * random.unit(),
    })
}

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "dtcwt.convolve_kernel",
        text: wavelets(&[COMMON, "    float output = 0;"]),
        options: "",
        kernel: "convolve_kernel",
        grid: [512, 256, 1],
        group: [16, 16, 1],
        args: || filter([512, 256], [512, 256], 13),
    },
    Entry {
        name: "dtcwt.convolve_kernel-dfilter",
        text: wavelets(&[COMMON, "outputs *two* pixels"]),
        options: "",
        kernel: "convolve_kernel",
        grid: [128, 512, 1],
        group: [16, 16, 1],
        args: || filter([512, 512], [256, 512], 14),
    },
    Entry {
        name: "dtcwt.convolve_kernel-ifilter",
        text: wavelets(&[COMMON, "swap odd and even samples of h"]),
        options: "",
        kernel: "convolve_kernel",
        grid: [128, 512, 1],
        group: [16, 16, 1],
        args: || filter([256, 512], [512, 512], 14),
    },
    Entry {
        name: "dtcwt.q2c_kernel",
        text: wavelets(&[COMMON, "void __kernel q2c_kernel("]),
        options: "",
        kernel: "q2c_kernel",
        grid: [256, 256, 1],
        group: [16, 16, 1],
        args: || {
            let (edge, half) = (512, 256);
            let mut args = vec![integers(&[edge, edge, 1, 1])];
            for seed in 1..4 {
                args.push(units((edge * edge) as usize, seed));
                args.extend([integers(&[edge, 1, 0, 0]), int(0)]);
            }
            args.push(result(12 * (half * half) as usize));
            args.extend([
                integers(&[6 * half, 6, 1, 0]),
                integers(&[half, half, 6, 1]),
                int(0),
            ]);
            args
        },
    },
    Entry {
        name: "pyopencl.medianFilter",
        text: example!("median-filter.py", "__kernel void medianFilter("),
        options: "",
        kernel: "medianFilter",
        grid: [512, 512, 1],
        group: [16, 16, 1],
        args: || {
            let size = || exact(words(1, |_| 512));
            let n = 512 * 512;
            vec![numbers_as_floats(n, 1, 256), zeros(4 * n), size(), size()]
        },
    },
    Entry {
        name: "pyopencl.particle_fountain",
        text: example!(
            "gl_particle_animation.py",
            "__kernel void particle_fountain("
        ),
        options: "",
        kernel: "particle_fountain",
        grid: [524288, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 4 << 19;
            let state = |seed| {
                let mut random = Random(seed);
                Arg::Buffer(floats(n, |_| random.unit()), Alike::F32(1e-4))
            };
            let mut args: Vec<Arg> = (1..4).map(state).collect();
            args.extend([units(n, 4), units(n, 5), float(0.01)]);
            args
        },
    },
    Entry {
        name: "pyopencl.mandelbrot",
        text: example!("demo_mandelbrot.py", "__kernel void mandelbrot("),
        options: "",
        kernel: "mandelbrot",
        grid: [65536, 1, 1],
        group: [64, 1, 1],
        args: || {
            let points = floats(2 << 16, |n| match (n % 2, n / 2 % 256, n / 512) {
                (0, x, _) => -2.13 + x as f32 * (2.9 / 256.0),
                (_, _, y) => -1.3 + y as f32 * (2.6 / 256.0),
            });
            let iterations = Arg::Value(100u16.to_le_bytes().to_vec());
            // Counts of iterations depend on rounding.
            let made = out(2 << 16, Alike::Mostly(0.01));
            vec![exact(points), made, iterations]
        },
    },
    Entry {
        name: "pyopencl.EachPixel",
        text: example!("black-hole-accretion.py", "__kernel void EachPixel("),
        options: "-DPHYSICS=0 -DSETTRACKPOINTS=128 -cl-mad-enable",
        kernel: "EachPixel",
        grid: [64, 32, 1],
        group: [64, 1, 1],
        args: || {
            // Whether a ray of light hits the disc hangs on comparisons of rounded angles.
            let image = || out(4 * 64 * 64, Alike::Few(1e-2, 0.02));
            let mut args = vec![image(), image()];
            args.extend([1.0, 6.0, 12.0, 1.396].map(float));
            args.push(int(1));
            args
        },
    },
    Entry {
        name: "pyopencl.MainLoopGlobal",
        text: example!("pi-monte-carlo.py", "__kernel void MainLoopGlobal("),
        options: "-cl-mad-enable -cl-fast-relaxed-math -DTRNG=3 -DTYPE=0 -DTEST=1",
        kernel: "MainLoopGlobal",
        grid: [4096, 1, 1],
        group: [64, 1, 1],
        args: || {
            let iterations = Arg::Value(500u64.to_le_bytes().to_vec());
            vec![zeros(8 * 4096), iterations, int(110_271), int(101_008)]
        },
    },
    Entry {
        name: "pyopencl.Potential",
        text: BODIES,
        options: DOUBLE,
        kernel: "Potential",
        grid: [1024, 1, 1],
        group: [64, 1, 1],
        args: || {
            let mut at = positions(1024);
            let bodies = doubles(4 * 1024, |_| f64::from(at.next().unwrap_or_default()));
            vec![exact(bodies), out(8 * 1024, Alike::F64(1e-6))]
        },
    },
    Entry {
        name: "pyopencl.InBoxSplutterPoints",
        text: BODIES,
        options: SINGLE,
        kernel: "InBoxSplutterPoints",
        grid: [4096, 1, 1],
        group: [64, 1, 1],
        args: || {
            let made = result(4 * 4096);
            vec![made, float(16.0), int(110_271), int(101_008)]
        },
    },
    Entry {
        name: "sasmodels.polyval1",
        text: Text::Quoted(
            "python3-sasmodels",
            "usr/lib/python3/dist-packages/sasmodels/multiscat.py",
            &["kernel void polyval1("],
        ),
        options: "",
        kernel: "polyval1",
        grid: [524288, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 19;
            let mut random = Random(2);
            let image = doubles(2 * n, |_| f64::from(random.unit()));
            let factors = doubles(12, |n| 1.0 / (n + 1) as f64);
            vec![
                int(12),
                exact(factors),
                int(n as u32),
                Arg::Buffer(image, Alike::F64(1e-9)),
            ]
        },
    },
];
