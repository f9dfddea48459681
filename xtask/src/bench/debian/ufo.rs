//! UFO, the reconstruction of tomograms from X-ray cameras: sinograms, medians, scans, sums.

use super::{Entry, Text};
use crate::bench::data::{
    Alike, Arg, Random, between, exact, float, floats, int, numbers_as_floats, out, random_words,
    result, units, vector, words, zeros,
};

/// A file of filters.
macro_rules! text {
    ($name:literal) => {
        Text::Files(&[("ufo-filters-data", concat!("usr/share/ufo/", $name))])
    };
}

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "ufo.c_div",
        text: text!("complex.cl"),
        options: "",
        kernel: "c_div",
        grid: [1024, 512, 1],
        group: [64, 4, 1],
        args: || {
            let n = 2 * 1024 * 512;
            vec![between(n, 1, 0.1, 1.0), between(n, 2, 0.1, 1.0), result(n)]
        },
    },
    Entry {
        name: "ufo.transpose_shared",
        text: text!("transpose.cl"),
        options: "",
        kernel: "transpose_shared",
        grid: [1024, 256, 1],
        group: [16, 4, 1],
        args: || {
            let (w, h) = (1024, 1000);
            let cache = Arg::Local(4 * 16 * 17);
            let size = [w as u32, h as u32].map(int);
            let mut args = vec![units(w * h, 1), zeros(4 * w * h), cache];
            args.extend(size);
            args
        },
    },
    Entry {
        name: "ufo.cumsum",
        text: text!("cumsum.cl"),
        options: "",
        kernel: "cumsum",
        grid: [256, 128, 1],
        group: [128, 1, 1],
        args: || {
            // Sums of whole numbers are exact.
            let (w, h) = (2048, 128);
            vec![
                numbers_as_floats(w * h, 1, 16),
                zeros(4 * w * h),
                zeros(4 * 256 * (h + 1)),
                Arg::Local(4 * 288),
                int(4),
                int(w as u32),
            ]
        },
    },
    Entry {
        name: "ufo.h_gaussian",
        text: text!("gaussian.cl"),
        options: "",
        kernel: "h_gaussian",
        grid: [512, 256, 1],
        group: [64, 4, 1],
        args: || {
            let (n, taps) = (512 * 256, 20);
            vec![
                units(n, 1),
                result(n),
                between(taps, 2, 0.0, 0.1),
                int(taps as u32 / 2),
            ]
        },
    },
    Entry {
        name: "ufo.v_gaussian",
        text: text!("gaussian.cl"),
        options: "",
        kernel: "v_gaussian",
        grid: [512, 256, 1],
        group: [64, 4, 1],
        args: || {
            let (n, taps) = (512 * 256, 20);
            vec![
                units(n, 1),
                result(n),
                between(taps, 2, 0.0, 0.1),
                int(taps as u32 / 2),
            ]
        },
    },
    Entry {
        name: "ufo.bitonic_ordfilt",
        text: text!("ordfilt.cl"),
        options: "",
        kernel: "bitonic_ordfilt",
        grid: [131072, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (pixels, each) = (2048, 81);
            let mut args = vec![units(pixels * each, 1), result(pixels)];
            args.extend([each as u32, 128].map(int));
            args.extend([0.25, 0.75].map(float));
            args.extend([Arg::Local(4 * 128), int(0)]);
            args
        },
    },
    Entry {
        name: "ufo.load_elements_from_pattern",
        text: text!("ordfilt.cl"),
        options: "",
        kernel: "load_elements_from_pattern",
        grid: [256, 64, 1],
        group: [64, 1, 1],
        args: || {
            // A ring in a square of 9 by 9.
            let ring = |n: usize| {
                let (x, y) = (n as i32 % 9 - 4, n as i32 / 9 - 4);
                f32::from((9..=20).contains(&(x * x + y * y)))
            };
            let ones = (0..81).filter(|&n| ring(n) > 0.0).count();
            let mut args = vec![units(256 * 256, 1), zeros(4 * ones * 256 * 64)];
            args.push(exact(floats(81, ring)));
            args.extend([9, ones as u32, 256, 96].map(int));
            args
        },
    },
    Entry {
        name: "ufo.filter",
        text: text!("rm-outliers.cl"),
        options: "-DBOX_SIZE=3",
        kernel: "filter",
        grid: [256, 128, 1],
        group: [64, 1, 1],
        args: || {
            let n = 256 * 128;
            vec![units(n, 1), result(n), float(0.3), int(1)]
        },
    },
    Entry {
        name: "ufo.flat_correct",
        text: text!("ffc.cl"),
        options: "",
        kernel: "flat_correct",
        grid: [1024, 256, 1],
        group: [64, 4, 1],
        args: || {
            let n = 1024 * 256;
            let mut args = vec![
                out(4 * n, Alike::F32(1e-3)),
                between(n, 1, 0.2, 0.9),
                between(n, 2, 0.0, 0.1),
                between(n, 3, 0.8, 1.0),
            ];
            args.extend([0, 1, 1].map(int));
            args.extend([1.0, 1.05].map(float));
            args
        },
    },
    Entry {
        name: "ufo.qp2_method",
        text: text!("phase-retrieval.cl"),
        options: "",
        kernel: "qp2_method",
        grid: [512, 512, 1],
        group: [64, 4, 1],
        args: || {
            // Near a zero of the sine the result is the quotient of small numbers, and which of two values it is hangs on rounding.
            let made = out(4 * 512 * 512, Alike::Few(1e-3, 0.01));
            let mut args = vec![vector(&[30.0, 30.0])];
            args.extend([2.5, 0.1, 12.0].map(float));
            args.push(made);
            args
        },
    },
    Entry {
        name: "ufo.histogram",
        text: text!("histthreshold.cl"),
        options: "",
        kernel: "histogram",
        grid: [256, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 16;
            let bins = out(4 * 256, Alike::F32(1e-4));
            let mut args = vec![units(n, 1), bins, int(n as u32)];
            args.extend([0.0, 1.0].map(float));
            args
        },
    },
    Entry {
        name: "ufo.draw_metaballs",
        text: text!("metaballs.cl"),
        options: "",
        kernel: "draw_metaballs",
        grid: [256, 256, 1],
        group: [64, 4, 1],
        args: || {
            let mut random = Random(1);
            let balls = floats(5 * 24, |n| match n % 5 {
                0 | 1 => 256.0 * random.unit(),
                4 => 1.0 + 3.0 * random.unit(),
                _ => random.unit(),
            });
            // The sum of rounded quotients is compared with 1.
            vec![
                out(4 * 256 * 256, Alike::Few(1e-4, 0.001)),
                exact(balls),
                int(24),
            ]
        },
    },
    Entry {
        name: "ufo.render",
        text: text!("segment.cl"),
        options: "",
        kernel: "render",
        grid: [32, 1024, 1],
        group: [32, 4, 1],
        args: || {
            let (slices, segments) = (2, 6);
            let bits = random_words(32 * 1024 * slices * segments, 1);
            let mut args = vec![bits, zeros(4 * 1024 * 1024)];
            args.push(exact(words(segments, |n| n as u32 + 1)));
            args.extend([1, segments as u32, slices as u32].map(int));
            args
        },
    },
    Entry {
        name: "ufo.stat_monitor_f64",
        text: text!("stat-monitor.cl"),
        options: "",
        kernel: "stat_monitor_f64",
        grid: [16384, 1, 1],
        group: [256, 1, 1],
        args: || {
            let n = 1 << 21;
            vec![
                units(n, 1),
                out(8 * 4 * 64, Alike::F64(1e-9)),
                int(n as u32),
                Arg::Local(8 * 4 * 256),
            ]
        },
    },
    Entry {
        name: "ufo.med_mad_rej_2D",
        text: text!("med-mad-reject-2d.cl"),
        options: "-DBOXSIZE=3",
        kernel: "med_mad_rej_2D",
        grid: [128, 128, 1],
        group: [64, 1, 1],
        args: || {
            let n = 128 * 128;
            vec![units(n, 1), result(n), float(3.0)]
        },
    },
    Entry {
        name: "ufo.outliersRej_MedMad_3x3x3_f32",
        text: text!("med-mad-reject.cl"),
        options: "",
        kernel: "outliersRej_MedMad_3x3x3_f32",
        grid: [512, 256, 1],
        group: [64, 1, 1],
        args: || {
            let n = 512 * 256;
            vec![units(n, 1), units(n, 2), units(n, 3), result(n), float(3.0)]
        },
    },
    Entry {
        name: "ufo.range_k",
        text: text!("bin-voxels.cl"),
        options: "-DEDGE=4",
        kernel: "range_k",
        grid: [256, 256, 1],
        group: [64, 1, 1],
        args: || {
            let (wide, n) = (1024, 256 * 256);
            let (least, most) = (between(n, 2, 0.2, 0.4), between(n, 3, 0.6, 0.8));
            let mut args = vec![units(wide * wide, 1), least, most];
            args.extend([1, wide as u32, wide as u32].map(int));
            args
        },
    },
    Entry {
        name: "ufo.run_average",
        text: text!("destrip-sinogram.cl"),
        options: "-DMED_LENGTH=15",
        kernel: "run_average",
        grid: [2048, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (wide, angles) = (2048, 256);
            vec![
                units(wide * angles, 1),
                result(wide * angles),
                int(angles as u32),
                int(10),
            ]
        },
    },
    Entry {
        name: "ufo.correct_sino",
        text: text!("destrip-sinogram.cl"),
        options: "-DCOR_MODE=1",
        kernel: "correct_sino",
        grid: [512, 128, 1],
        group: [64, 1, 1],
        args: || {
            let n = 512 * 128;
            let mut args: Vec<Arg> = (1..4).map(|seed| between(n, seed, 0.1, 1.0)).collect();
            args.push(out(4 * n, Alike::F32(1e-3)));
            args.extend([0.01, 0.5, 2.0].map(float));
            args
        },
    },
    Entry {
        name: "ufo.interpolate_mask_horizontally",
        text: text!("interpolator.cl"),
        options: "",
        kernel: "interpolate_mask_horizontally",
        grid: [1024, 512, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1024 * 512;
            let mut random = Random(2);
            let mask = floats(n, |_| f32::from(random.unit() < 0.2));
            vec![units(n, 1), exact(mask), result(n)]
        },
    },
    Entry {
        name: "ufo.reduce_0M_QUADRATE",
        text: text!("reductor.cl"),
        options: "",
        kernel: "reduce_0M_QUADRATE",
        grid: [256, 1024, 1],
        group: [64, 4, 1],
        args: || {
            let (wide, high) = (1024, 1024);
            let sums = out(4 * 4 * high, Alike::F32(1e-3));
            let mut args = vec![units(wide * high, 1), sums, units(high, 2)];
            args.push(Arg::Local(4 * 256));
            args.extend([1024, 1024, 1024, 4, 4].map(int));
            args
        },
    },
    Entry {
        name: "ufo.parallel_sum_2D",
        text: text!("reductor.cl"),
        options: "",
        kernel: "parallel_sum_2D",
        grid: [1024, 64, 1],
        group: [256, 1, 1],
        args: || {
            let (wide, high) = (1040, 1100);
            let mut args = vec![units(wide * high, 1), result(4 * 64), Arg::Local(4 * 256)];
            args.extend([10 * wide as u32 + 8, wide as u32, 1000, 1080].map(int));
            args
        },
    },
    Entry {
        name: "ufo.grow_region_above_threshold",
        text: text!("morphology.cl"),
        options: "",
        kernel: "grow_region_above_threshold",
        grid: [1024, 512, 1],
        group: [64, 4, 1],
        args: || {
            let n = 1026 * 514;
            let mut random = Random(2);
            let visited = floats(n, |_| f32::from(random.unit() < 0.3));
            vec![
                units(n, 1),
                exact(visited),
                zeros(4 * n),
                zeros(4),
                float(0.5),
            ]
        },
    },
    Entry {
        name: "ufo.binning_3d",
        text: text!("bin.cl"),
        options: "",
        kernel: "binning_3d",
        grid: [64, 64, 64],
        group: [64, 1, 1],
        args: || {
            let wide = 192;
            let size = [3, wide as u32, wide as u32].map(int);
            let mut args = vec![units(wide * wide * wide, 1), result(64 * 64 * 64)];
            args.extend(size);
            args
        },
    },
];
