//! pyFAI, azimuthal integration of diffraction images: sparse matrices, statistics, peaks.

use super::{Entry, Text};
use crate::bench::data::{
    Alike, Arg, Random, between, byte, exact, float, floats, int, numbers_as_floats, out, result,
    units, words, zeros,
};

/// Sums of two floats each, which the program takes from silx.
const DOUBLES: (&str, &str) = (
    "python3-silx",
    "usr/lib/python3/dist-packages/silx/resources/opencl/doubleword.cl",
);
const CSR: Text = Text::Files(&[
    DOUBLES,
    (
        "python3-pyfai",
        "usr/lib/python3/dist-packages/pyFAI/resources/openCL/ocl_azim_CSR.cl",
    ),
]);
const LUT: Text = Text::Files(&[
    DOUBLES,
    (
        "python3-pyfai",
        "usr/lib/python3/dist-packages/pyFAI/resources/openCL/ocl_azim_LUT.cl",
    ),
]);
const BITONIC: Text = Text::Files(&[(
    "python3-pyfai",
    "usr/lib/python3/dist-packages/pyFAI/resources/openCL/bitonic.cl",
)]);
const SEPARATE: Text = Text::Files(&[
    DOUBLES,
    (
        "python3-pyfai",
        "usr/lib/python3/dist-packages/pyFAI/resources/openCL/separate.cl",
    ),
]);
const SIGMA: Text = Text::Files(&[
    DOUBLES,
    (
        "python3-pyfai",
        "usr/lib/python3/dist-packages/pyFAI/resources/openCL/sigma_clip.cl",
    ),
]);
const PREPROCESS: Text = Text::Files(&[(
    "python3-pyfai",
    "usr/lib/python3/dist-packages/pyFAI/resources/openCL/preprocess.cl",
)]);
const PEAKS: Text = Text::Files(&[(
    "python3-pyfai",
    "usr/lib/python3/dist-packages/pyFAI/resources/openCL/peak_finder.cl",
)]);
const HISTOGRAM: Text = Text::Files(&[
    (
        "python3-pyfai",
        "usr/lib/python3/dist-packages/pyFAI/resources/openCL/deactivate_atomic64.cl",
    ),
    DOUBLES,
    (
        "python3-pyfai",
        "usr/lib/python3/dist-packages/pyFAI/resources/openCL/ocl_histo.cl",
    ),
]);

const N: usize = 1 << 20;
/// The bins of a diffraction image's rings, and the pixels that each has a part of.
const BINS: usize = 2000;

/// A sparse matrix from pixels to bins: where each bin's entries begin, and the pixels.
fn rings() -> (Vec<u32>, Vec<u32>) {
    let mut random = Random(3);
    let (mut starts, mut pixels) = (vec![0], Vec::new());
    for _ in 0..BINS {
        let many = 128 + random.word() as usize % 256;
        pixels.extend((0..many).map(|_| random.word() % (1 << 18)));
        starts.push(pixels.len() as u32);
    }
    pixels.sort_unstable();
    (starts, pixels)
}

/// The image with `channels` floats a pixel, and the matrix: coefficients, pixels, starts.
fn integration(channels: usize) -> Vec<Arg> {
    let (starts, pixels) = rings();
    let image = between(channels << 18, 1, 0.5, 1.0);
    let coefficients = between(pixels.len(), 2, 0.5, 1.0);
    let pixels = exact(words(pixels.len(), |n| pixels[n]));
    let starts = exact(words(starts.len(), |n| starts[n]));
    vec![image, coefficients, pixels, starts]
}

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "pyfai.csr_integrate",
        text: CSR,
        options: "-DWORKGROUP_SIZE=64 -DNBINS=2000 -DNLUT=256 -DON_CPU=0 -DNIMAGE=1048576",
        kernel: "csr_integrate",
        grid: [128000, 1, 1],
        group: [64, 1, 1],
        args: || {
            let mut args = integration(1);
            args.extend([int(BINS as u32), byte(0), float(0.0), int(1)]);
            args.extend([result(BINS), result(BINS), result(BINS)]);
            args
        },
    },
    Entry {
        name: "pyfai.csr_integrate_single",
        text: CSR,
        options: "-DWORKGROUP_SIZE=64 -DNBINS=2000 -DNLUT=256 -DON_CPU=0 -DNIMAGE=1048576",
        kernel: "csr_integrate_single",
        grid: [2048, 1, 1],
        group: [64, 1, 1],
        args: || {
            let mut args = integration(1);
            args.extend([int(BINS as u32), byte(0), float(0.0), int(1)]);
            args.extend([result(BINS), result(BINS), result(BINS)]);
            args
        },
    },
    Entry {
        name: "pyfai.csr_integrate4",
        text: CSR,
        options: "-DWORKGROUP_SIZE=64 -DNBINS=2000 -DNLUT=256 -DON_CPU=0 -DNIMAGE=1048576",
        kernel: "csr_integrate4",
        grid: [128000, 1, 1],
        group: [64, 1, 1],
        args: || {
            let mut args = integration(4);
            args.extend([int(BINS as u32), float(0.0), byte(0)]);
            args.extend([result(8 * BINS), result(BINS), result(BINS)]);
            args
        },
    },
    Entry {
        name: "pyfai.csr_integrate4_single",
        text: CSR,
        options: "-DWORKGROUP_SIZE=64 -DNBINS=2000 -DNLUT=256 -DON_CPU=0 -DNIMAGE=1048576",
        kernel: "csr_integrate4_single",
        grid: [2048, 1, 1],
        group: [64, 1, 1],
        args: || {
            let mut args = integration(4);
            args.extend([int(BINS as u32), float(0.0), byte(0)]);
            args.extend([result(8 * BINS), result(BINS), result(BINS)]);
            args
        },
    },
    Entry {
        name: "pyfai.lut_integrate",
        text: LUT,
        options: "-DWORKGROUP_SIZE=64 -DNBINS=2000 -DNLUT=256 -DON_CPU=0 -DNIMAGE=1048576",
        kernel: "lut_integrate",
        grid: [2048, 1, 1],
        group: [64, 1, 1],
        args: || {
            let mut random = Random(5);
            let table = words(2 * BINS * 256, |n| match n % 2 {
                0 => random.word() % (1 << 18),
                _ => (0.5 + 0.5 * random.unit()).to_bits(),
            });
            let mut args = vec![units(1 << 18, 1), exact(table), byte(0), float(0.0), int(1)];
            args.extend([result(BINS), result(BINS), result(BINS)]);
            args
        },
    },
    Entry {
        name: "pyfai.bsort_vertical",
        text: BITONIC,
        options: "",
        kernel: "bsort_vertical",
        grid: [32, 1024, 1],
        group: [32, 1, 1],
        args: || vec![units(256 * 1024, 1), Arg::Local(32 * 32)],
    },
    Entry {
        name: "pyfai.filter_vertical",
        text: SEPARATE,
        options: "",
        kernel: "filter_vertical",
        grid: [4096, 1, 1],
        group: [64, 1, 1],
        args: || {
            vec![
                units(4096 * 512, 1),
                zeros(4 * 4096),
                int(4096),
                int(512),
                float(-1.0),
                float(0.5),
            ]
        },
    },
    Entry {
        name: "pyfai.trimmed_mean_horizontal",
        text: SEPARATE,
        options: "",
        kernel: "trimmed_mean_horizontal",
        grid: [4096, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (src, dst) = (units(4096 * 512, 1), result(4096));
            vec![
                src,
                dst,
                int(512),
                int(4096),
                float(-1.0),
                float(0.25),
                float(0.75),
            ]
        },
    },
    Entry {
        name: "pyfai.mean_std_vertical",
        text: SIGMA,
        options: "",
        kernel: "mean_std_vertical",
        grid: [64, 2048, 1],
        group: [64, 1, 1],
        args: || {
            let w = 2048;
            let buffer = Arg::Local(64 * 20);
            vec![units(512 * w, 1), result(w), result(w), float(-1.0), buffer]
        },
    },
    Entry {
        name: "pyfai.sigma_clip_horizontal",
        text: SIGMA,
        options: "",
        kernel: "sigma_clip_horizontal",
        grid: [1024, 64, 1],
        group: [1, 64, 1],
        args: || {
            let h = 1024;
            let (clip, rounds, buffer) = (float(1.5), int(5), Arg::Local(64 * 20));
            let mean = || out(4 * h, Alike::Few(1e-3, 0.01));
            vec![
                units(512 * h, 1),
                mean(),
                mean(),
                float(-1.0),
                clip,
                float(1.5),
                rounds,
                buffer,
            ]
        },
    },
    Entry {
        name: "pyfai.corrections2",
        text: PREPROCESS,
        options: "-DWORKGROUP_SIZE=64 -DNBINS=2000 -DNLUT=256 -DON_CPU=0 -DNIMAGE=1048576",
        kernel: "corrections2",
        grid: [1048576, 1, 1],
        group: [128, 1, 1],
        args: || {
            let mut args = vec![between(N, 1, 10.0, 1000.0)];
            // Dark current, flat field, solid angle, polarization, absorption: each with a flag.
            for seed in 2..7 {
                args.extend([byte(1), between(N, seed, 0.5, 1.0)]);
            }
            let mut random = Random(7);
            let mask = (0..N).map(|_| u8::from(random.unit() < 0.05)).collect();
            args.extend([
                byte(1),
                exact(mask),
                byte(0),
                float(0.0),
                float(0.0),
                float(1.5),
            ]);
            args.push(result(2 * N));
            args
        },
    },
    Entry {
        name: "pyfai.find_peaks",
        text: PEAKS,
        options: "-DWORKGROUP_SIZE=64 -DNBINS=2000 -DNLUT=256 -DON_CPU=0 -DNIMAGE=1048576",
        kernel: "find_peaks",
        grid: [1048576, 1, 1],
        group: [64, 1, 1],
        args: || {
            let mut random = Random(1);
            // Signal, variance, normalization and count of each pixel; a few are bright.
            let pixels = floats(4 * N, |n| match n % 4 {
                0 if random.unit() < 0.001 => 50.0,
                _ => 0.9 + 0.2 * random.unit(),
            });
            let radii = between(N, 2, 1.0, 1999.0);
            let bins = exact(floats(BINS, |n| n as f32));
            let (average, deviation) = (between(BINS, 3, 0.95, 1.05), between(BINS, 4, 0.05, 0.1));
            let mut args = vec![
                Arg::Buffer(pixels, Alike::F32(1e-4)),
                radii,
                bins,
                average,
                deviation,
            ];
            args.extend([float(0.0), float(2000.0), float(5.0), float(1.0), zeros(4)]);
            args.push(out(4 * N, Alike::Unordered(4)));
            args
        },
    },
    Entry {
        name: "pyfai.histogram_1d",
        text: HISTOGRAM,
        options: "-DWORKGROUP_SIZE=64 -DNBINS=2000 -DNLUT=256 -DON_CPU=0 -DNIMAGE=1048576",
        kernel: "histogram_1d",
        grid: [262144, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 18;
            // Sums in another order: other roundings.
            let sums = out(4 * BINS, Alike::F32(1e-3));
            let (size, bins) = (int(n as u32), int(BINS as u32));
            vec![
                units(n, 1),
                numbers_as_floats(n, 2, 16),
                sums,
                size,
                bins,
                float(0.0),
                float(1.0),
            ]
        },
    },
];
