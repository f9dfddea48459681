//! GEGL, the operations of GIMP: pixels of four floats, blurs, colours.

use super::{Entry, Text};
use crate::bench::data::{
    Alike, Arg, between, exact, float, floats, int, integers, out, result, units, vector, zeros,
};

/// Operations, whose texts are in a library of operations.
const fn operation(words: &'static [&'static str]) -> Text {
    Text::Inside(
        "libgegl-0.4-0",
        "usr/lib/x86_64-linux-gnu/gegl-0.4/gegl-common.so",
        words,
    )
}

const fn operation_gpl3(words: &'static [&'static str]) -> Text {
    Text::Inside(
        "libgegl-0.4-0",
        "usr/lib/x86_64-linux-gnu/gegl-0.4/gegl-common-gpl3.so",
        words,
    )
}

/// Conversions of pixels.
const COLORS: Text = Text::Inside(
    "libgegl-0.4-0",
    "usr/lib/x86_64-linux-gnu/libgegl-0.4.so.0.*",
    &["void rgbaf_to_rgba_gamma_f"],
);

/// A megapixel; a pixel is four floats.
const N: usize = 1 << 20;

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "gegl.cl_alien_map",
        text: operation(&["void cl_alien_map("]),
        options: "",
        kernel: "cl_alien_map",
        grid: [262144, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 20;
            let (frequency, phase) = (vector(&[1.0, 2.0, 3.0, 0.0]), vector(&[0.1, 0.2, 0.3, 0.0]));
            vec![
                units(n, 1),
                result(n),
                frequency,
                phase,
                integers(&[0, 0, -1, 0]),
            ]
        },
    },
    Entry {
        name: "gegl.bilateral_filter",
        text: operation(&["void bilateral_filter("]),
        options: "",
        kernel: "bilateral_filter",
        grid: [256, 256, 1],
        group: [16, 16, 1],
        args: || {
            let wide = 256 + 8;
            vec![
                units(4 * wide * wide, 1),
                result(4 * 256 * 256),
                float(4.0),
                float(8.0),
            ]
        },
    },
    Entry {
        name: "gegl.kernel_blur_hor",
        text: operation(&["void kernel_blur_hor ("]),
        options: "",
        kernel: "kernel_blur_hor",
        grid: [256, 1024, 1],
        group: [4, 64, 1],
        args: || {
            let (w, h, radius) = (1024, 256, 5);
            let source = units(4 * (w + 2 * radius) * h, 1);
            vec![source, result(4 * w * h), int(w as u32), int(radius as u32)]
        },
    },
    Entry {
        name: "gegl.kernel_blur_ver",
        text: operation(&["void kernel_blur_ver ("]),
        options: "",
        kernel: "kernel_blur_ver",
        grid: [256, 1024, 1],
        group: [64, 4, 1],
        args: || {
            let (w, h, radius) = (1024, 256, 5);
            let source = units(4 * w * (h + 2 * radius), 1);
            vec![source, result(4 * w * h), int(w as u32), int(radius as u32)]
        },
    },
    Entry {
        name: "gegl.c2g",
        text: operation(&["void c2g("]),
        options: "",
        kernel: "c2g",
        grid: [128, 128, 1],
        group: [16, 16, 1],
        args: || {
            let (radius, wide, angles, radii) = (20, 128 + 40, 95273, 29537);
            let turn = |n: usize| n as f32 * 0.001_234;
            let sines = exact(floats(angles, |n| turn(n).sin()));
            let cosines = exact(floats(angles, |n| turn(n).cos()));
            let image = between(4 * wide * wide, 1, 0.01, 1.0);
            let mut args = vec![image, int(wide as u32), int(wide as u32), units(radii, 2)];
            args.extend([cosines, sines, out(8 * 128 * 128, Alike::Few(1e-3, 0.01))]);
            args.extend([radius, 4, 10].map(int));
            args
        },
    },
    Entry {
        name: "gegl.cl_contrast_curve",
        text: operation(&["void cl_contrast_curve("]),
        options: "",
        kernel: "cl_contrast_curve",
        grid: [1048576, 1, 1],
        group: [64, 1, 1],
        args: || vec![units(2 * N, 1), zeros(8 * N), units(1024, 2), int(1024)],
    },
    Entry {
        name: "gegl.fir_ver_blur",
        text: operation(&["void fir_ver_blur("]),
        options: "",
        kernel: "fir_ver_blur",
        grid: [512, 256, 1],
        group: [64, 4, 1],
        args: || {
            let (w, h, taps) = (512, 256, 31);
            let source = units(4 * w * (h + taps - 1), 1);
            vec![
                source,
                result(4 * w * h),
                between(taps, 2, 0.0, 0.06),
                int(taps as u32),
            ]
        },
    },
    Entry {
        name: "gegl.fir_hor_blur",
        text: operation(&["void fir_ver_blur("]),
        options: "",
        kernel: "fir_hor_blur",
        grid: [512, 256, 1],
        group: [64, 4, 1],
        args: || {
            let (w, h, taps) = (512, 256, 31);
            let source = units(4 * (w + taps - 1) * h, 1);
            vec![
                source,
                result(4 * w * h),
                between(taps, 2, 0.0, 0.06),
                int(taps as u32),
            ]
        },
    },
    Entry {
        name: "gegl.kernel_levels",
        text: operation(&["void kernel_levels("]),
        options: "",
        kernel: "kernel_levels",
        grid: [1048576, 1, 1],
        group: [64, 1, 1],
        args: || {
            vec![
                units(4 * N, 1),
                result(4 * N),
                float(0.1),
                float(0.2),
                float(0.7),
            ]
        },
    },
    Entry {
        name: "gegl.gegl_mono_mixer",
        text: operation(&["void gegl_mono_mixer ("]),
        options: "",
        kernel: "gegl_mono_mixer",
        grid: [1048576, 1, 1],
        group: [64, 1, 1],
        args: || {
            vec![
                units(4 * N, 1),
                result(2 * N),
                int(1),
                float(0.3),
                float(0.6),
                float(0.2),
            ]
        },
    },
    Entry {
        name: "gegl.noise_reduction_cl",
        text: operation(&["void noise_reduction_cl ("]),
        options: "",
        kernel: "noise_reduction_cl",
        grid: [512, 512, 1],
        group: [16, 16, 1],
        args: || {
            let wide = 514;
            // Which neighbours count hangs on comparisons of rounded sums.
            let smooth = out(16 * 512 * 512, Alike::Few(1e-4, 0.001));
            vec![
                units(4 * wide * wide, 1),
                int(wide as u32),
                smooth,
                int(512),
            ]
        },
    },
    Entry {
        name: "gegl.snn_mean",
        text: operation(&["void snn_mean ("]),
        options: "",
        kernel: "snn_mean",
        grid: [256, 256, 1],
        group: [16, 16, 1],
        args: || {
            let wide = 256 + 16;
            let mean = out(16 * 256 * 256, Alike::Few(1e-4, 0.001));
            let size = [wide as u32, wide as u32].map(int);
            let mut args = vec![units(4 * wide * wide, 1)];
            args.extend(size);
            args.extend([mean, int(8), int(2)]);
            args
        },
    },
    Entry {
        name: "gegl.two_stages_local_min_max_reduce",
        text: operation(&["void two_stages_local_min_max_reduce ("]),
        options: "",
        kernel: "two_stages_local_min_max_reduce",
        grid: [16384, 1, 1],
        group: [128, 1, 1],
        args: || {
            let lines = || Arg::Local(16 * 128);
            vec![
                units(4 * N, 1),
                zeros(16 * 128),
                zeros(16 * 128),
                lines(),
                lines(),
                int(N as u32),
            ]
        },
    },
    Entry {
        name: "gegl.motion_blur_linear",
        text: operation(&["void motion_blur_linear("]),
        options: "",
        kernel: "motion_blur_linear",
        grid: [256, 256, 1],
        group: [16, 16, 1],
        args: || {
            let (wide, blurred) = (256 + 40, out(16 * 256 * 256, Alike::F32(1e-3)));
            let mut args = vec![units(4 * wide * wide, 1)];
            args.extend([wide as u32, wide as u32, 0, 0].map(int));
            args.extend([blurred, int(20), int(20), int(15), float(13.0), float(7.5)]);
            args
        },
    },
    Entry {
        name: "gegl.vignette_cl",
        text: operation(&["void vignette_cl ("]),
        options: "",
        kernel: "vignette_cl",
        grid: [1024, 512, 1],
        group: [16, 16, 1],
        args: || {
            let n = 4 * 1024 * 512;
            let mut args = vec![
                units(n, 1),
                out(4 * n, Alike::F32(1e-3)),
                vector(&[0.1, 0.2, 0.3, 1.0]),
            ];
            args.extend([1.5, 0.8, 0.6].map(float));
            args.extend([0, 0, 512, 256, 0].map(int));
            args.extend([2.0, 600.0, 200.0, 400.0].map(float));
            args
        },
    },
    Entry {
        name: "gegl.kernel_oilify",
        text: operation_gpl3(&["kernel void kernel_oilify("]),
        options: "",
        kernel: "kernel_oilify",
        grid: [64, 64, 1],
        group: [8, 8, 1],
        args: || {
            let wide = 64 + 8;
            let (radius, intensities) = (int(4), int(128));
            let painted = out(16 * 64 * 64, Alike::F32(1e-3));
            vec![
                units(4 * wide * wide, 1),
                painted,
                radius,
                intensities,
                float(8.0),
            ]
        },
    },
    Entry {
        name: "gegl.shadows_highlights",
        text: operation_gpl3(&["void shadows_highlights("]),
        options: "",
        kernel: "shadows_highlights",
        grid: [262144, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 18;
            let pixels = between(4 * n, 1, 1.0, 99.0);
            let mask = between(n, 2, 0.0, 100.0);
            let mut args = vec![pixels, mask, out(16 * n, Alike::F32(1e-3))];
            args.extend([1.2, -0.8, 0.5, 1.0, 0.5, 1.0].map(float));
            args
        },
    },
    Entry {
        name: "gegl.cl_gblur_selective",
        text: operation_gpl3(&["cl_gblur_selective(global"]),
        options: "",
        kernel: "cl_gblur_selective",
        grid: [256, 256, 1],
        group: [16, 16, 1],
        args: || {
            let wide = 256 + 8;
            let pixels = |seed| between(4 * wide * wide, seed, 0.1, 1.0);
            vec![
                pixels(1),
                pixels(2),
                result(4 * 256 * 256),
                float(4.0),
                float(0.2),
            ]
        },
    },
    Entry {
        name: "gegl.cl_color_exchange",
        text: operation_gpl3(&["void cl_color_exchange("]),
        options: "",
        kernel: "cl_color_exchange",
        grid: [1048576, 1, 1],
        group: [64, 1, 1],
        args: || {
            let color = |v: f32| vector(&[v, v, v, 0.0]);
            vec![
                units(4 * N, 1),
                result(4 * N),
                color(0.1),
                color(0.2),
                color(0.9),
            ]
        },
    },
    Entry {
        name: "gegl.rgbaf_to_rgba_gamma_f",
        text: COLORS,
        options: "",
        kernel: "rgbaf_to_rgba_gamma_f",
        grid: [65536, 1, 1],
        group: [64, 1, 1],
        args: || vec![units(N / 4, 1), out(N, Alike::F32(1e-3))],
    },
    Entry {
        name: "gegl.rgbaf_to_rgbau8",
        text: COLORS,
        options: "",
        kernel: "rgbaf_to_rgbau8",
        grid: [1048576, 1, 1],
        group: [64, 1, 1],
        args: || vec![units(4 * N, 1), zeros(4 * N)],
    },
];
