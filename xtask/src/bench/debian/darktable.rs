//! darktable, a photo editor: demosaicing, blurs, wavelets, denoising.

use super::{Entry, Text};
use crate::bench::data::{
    Alike, Arg, Random, between, bytes, exact, float, floats, int, integers, random_floats, result,
    units, vector, words, zeros,
};

const RCD: Text = Text::Files(&[("darktable", "usr/share/darktable/kernels/demosaic_rcd.cl")]);
const MARKESTEIJN: Text = Text::Files(&[(
    "darktable",
    "usr/share/darktable/kernels/demosaic_markesteijn.cl",
)]);
const GAUSSIAN: Text = Text::Files(&[("darktable", "usr/share/darktable/kernels/gaussian.cl")]);
const BILATERAL: Text = Text::Files(&[("darktable", "usr/share/darktable/kernels/bilateral.cl")]);
const DWT: Text = Text::Files(&[("darktable", "usr/share/darktable/kernels/dwt.cl")]);
const NLMEANS: Text = Text::Files(&[("darktable", "usr/share/darktable/kernels/nlmeans.cl")]);
const DENOISE: Text =
    Text::Files(&[("darktable", "usr/share/darktable/kernels/denoiseprofile.cl")]);
const RETOUCH: Text = Text::Files(&[("darktable", "usr/share/darktable/kernels/retouch.cl")]);
const EXTENDED: Text = Text::Files(&[("darktable", "usr/share/darktable/kernels/extended.cl")]);

/// The colours of a sensor's pixels, as the program gives them to kernels.
const BAYER: u32 = 0x9494_9494;
/// A megapixel.
const W: u32 = 1024;
const N: usize = 1 << 20;

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "darktable.rcd_step_1_1",
        text: RCD,
        options: "",
        kernel: "rcd_step_1_1",
        grid: [1024, 2048, 1],
        group: [64, 4, 1],
        args: || {
            vec![
                units(2 * N, 1),
                result(2 * N),
                result(2 * N),
                int(W),
                int(2 * W),
            ]
        },
    },
    Entry {
        name: "darktable.rcd_step_1_2",
        text: RCD,
        options: "",
        kernel: "rcd_step_1_2",
        grid: [1024, 2048, 1],
        group: [64, 4, 1],
        args: || {
            vec![
                result(2 * N),
                units(2 * N, 1),
                units(2 * N, 2),
                int(W),
                int(2 * W),
            ]
        },
    },
    Entry {
        name: "darktable.rcd_step_4_2",
        text: RCD,
        options: "",
        kernel: "rcd_step_4_2",
        grid: [1024, 2048, 1],
        group: [64, 4, 1],
        args: || {
            let half = || between(2 * N, 3, 0.1, 1.0);
            vec![
                result(2 * N),
                half(),
                half(),
                int(2 * W),
                int(2 * W),
                int(BAYER),
            ]
        },
    },
    Entry {
        name: "darktable.rcd_step_5_1",
        text: RCD,
        options: "",
        kernel: "rcd_step_5_1",
        grid: [512, 1024, 1],
        group: [64, 4, 1],
        args: || {
            let plane = |seed| Arg::Buffer(random_floats(N, seed), Alike::F32(1e-4));
            let (r, g, b) = (plane(2), plane(3), plane(4));
            vec![units(N, 1), r, g, b, int(W), int(W), int(BAYER)]
        },
    },
    Entry {
        name: "darktable.rcd_step_5_2",
        text: RCD,
        options: "",
        kernel: "rcd_step_5_2",
        grid: [512, 1024, 1],
        group: [64, 4, 1],
        args: || {
            let plane = |seed| Arg::Buffer(random_floats(N, seed), Alike::F32(1e-4));
            let (r, g, b) = (plane(2), plane(3), plane(4));
            vec![units(N, 1), r, g, b, int(W), int(W), int(BAYER)]
        },
    },
    Entry {
        name: "darktable.calc_scharr_mask",
        text: RCD,
        options: "",
        kernel: "calc_scharr_mask",
        grid: [2048, 2048, 1],
        group: [64, 4, 1],
        args: || vec![units(4 * N, 1), result(4 * N), int(2 * W), int(2 * W)],
    },
    Entry {
        name: "darktable.calc_detail_blend",
        text: RCD,
        options: "",
        kernel: "calc_detail_blend",
        grid: [1024, 1024, 1],
        group: [64, 4, 1],
        args: || vec![units(N, 1), result(N), int(W), int(W), float(0.4), int(1)],
    },
    Entry {
        name: "darktable.fastblur_mask_9x9",
        text: RCD,
        options: "",
        kernel: "fastblur_mask_9x9",
        grid: [1024, 1024, 1],
        group: [64, 4, 1],
        args: || {
            let weights = between(13, 3, 0.0, 0.02);
            vec![units(N, 1), result(N), int(W), int(W), weights]
        },
    },
    Entry {
        name: "darktable.markesteijn_homo_set",
        text: MARKESTEIJN,
        options: "",
        kernel: "markesteijn_homo_set",
        grid: [1024, 512, 1],
        group: [16, 16, 1],
        args: || {
            let (n, buffer) = (N / 2, Arg::Local(18 * 18 * 4));
            let (threshold, counts) = (between(n, 2, 0.0, 0.1), zeros(n));
            vec![
                units(n, 1),
                threshold,
                counts,
                int(W),
                int(W / 2),
                int(8),
                buffer,
            ]
        },
    },
    Entry {
        name: "darktable.markesteijn_homo_sum",
        text: MARKESTEIJN,
        options: "",
        kernel: "markesteijn_homo_sum",
        grid: [2048, 1024, 1],
        group: [16, 16, 1],
        args: || {
            let (n, buffer) = (2 * N, Arg::Local(20 * 20));
            vec![bytes(n, 1), zeros(n), int(2 * W), int(W), int(8), buffer]
        },
    },
    Entry {
        name: "darktable.markesteijn_convert_yuv",
        text: MARKESTEIJN,
        options: "",
        kernel: "markesteijn_convert_yuv",
        grid: [1024, 1024, 1],
        group: [64, 4, 1],
        args: || vec![units(4 * N, 1), result(4 * N), int(W), int(W), int(8)],
    },
    Entry {
        name: "darktable.gaussian_column_4c",
        text: GAUSSIAN,
        options: "",
        kernel: "gaussian_column_4c",
        grid: [1024, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (n, rows) = (N, 256);
            let mut args = vec![units(n, 1), result(n), int(W), int(rows)];
            args.extend([0.1, 0.05, 0.08, -0.03, -1.2, 0.4, 0.5, 0.5].map(float));
            args.extend([vector(&[1.0; 4]), vector(&[0.0; 4])]);
            args
        },
    },
    Entry {
        name: "darktable.gaussian_transpose_4c",
        text: GAUSSIAN,
        options: "",
        kernel: "gaussian_transpose_4c",
        grid: [1024, 512, 1],
        group: [16, 16, 1],
        args: || {
            let (n, buffer) = (4 * 1024 * 512, Arg::Local(16 * 17 * 16));
            vec![
                units(n, 1),
                zeros(4 * n),
                int(W),
                int(W / 2),
                int(16),
                buffer,
            ]
        },
    },
    Entry {
        name: "darktable.blur_line",
        text: BILATERAL,
        options: "",
        kernel: "blur_line",
        grid: [256, 128, 1],
        group: [16, 16, 1],
        args: || {
            let n = 256 * 128 * 64;
            let mut args = vec![units(n, 1), result(n)];
            args.extend([1, 256, 256 * 128, 256, 128, 64].map(int));
            args
        },
    },
    Entry {
        name: "darktable.blur_line_z",
        text: BILATERAL,
        options: "",
        kernel: "blur_line_z",
        grid: [256, 128, 1],
        group: [16, 16, 1],
        args: || {
            let n = 256 * 128 * 64;
            let mut args = vec![units(n, 1), result(n)];
            args.extend([256 * 64, 64, 1, 128, 256, 64].map(int));
            args
        },
    },
    Entry {
        name: "darktable.dwt_hat_transform_row",
        text: DWT,
        options: "",
        kernel: "dwt_hat_transform_row",
        grid: [1024, 512, 1],
        group: [64, 1, 1],
        args: || vec![result(2 * N), units(2 * N, 1), int(W), int(W / 2), int(8)],
    },
    Entry {
        name: "darktable.dwt_hat_transform_col",
        text: DWT,
        options: "",
        kernel: "dwt_hat_transform_col",
        grid: [1024, 512, 1],
        group: [64, 1, 1],
        args: || {
            let temporary = result(2 * N);
            vec![
                units(2 * N, 1),
                int(W),
                int(W / 2),
                int(8),
                temporary,
                float(1.0 / 16.0),
            ]
        },
    },
    Entry {
        name: "darktable.nlmeans_vert",
        text: NLMEANS,
        options: "",
        kernel: "nlmeans_vert",
        grid: [1024, 1024, 1],
        group: [1, 256, 1],
        args: || {
            let (offset, buffer) = (integers(&[3, 2]), Arg::Local((256 + 14) * 4));
            vec![
                units(N, 1),
                result(N),
                int(W),
                int(W),
                offset,
                int(7),
                float(3.0),
                buffer,
            ]
        },
    },
    Entry {
        name: "darktable.denoiseprofile_horiz",
        text: DENOISE,
        options: "",
        kernel: "denoiseprofile_horiz",
        grid: [1024, 1024, 1],
        group: [256, 1, 1],
        args: || {
            let (offset, buffer) = (integers(&[3, 2]), Arg::Local((256 + 14) * 4));
            vec![
                units(N, 1),
                result(N),
                int(W),
                int(W),
                offset,
                int(7),
                buffer,
            ]
        },
    },
    Entry {
        name: "darktable.denoiseprofile_vert",
        text: DENOISE,
        options: "",
        kernel: "denoiseprofile_vert",
        grid: [1024, 1024, 1],
        group: [1, 256, 1],
        args: || {
            let (offset, buffer) = (integers(&[3, 2]), Arg::Local((256 + 14) * 4));
            let mut args = vec![units(N, 1), result(N), int(W), int(W), offset, int(7)];
            args.extend([float(0.5), buffer, float(0.1), units(N, 2)]);
            args
        },
    },
    Entry {
        name: "darktable.retouch_image_lab2rgb",
        text: RETOUCH,
        options: "",
        kernel: "retouch_image_lab2rgb",
        grid: [512, 512, 1],
        group: [64, 4, 1],
        args: || {
            let mut random = Random(1);
            let pixels = floats(N, |_| 60.0 * random.unit());
            vec![Arg::Buffer(pixels, Alike::Xyz(1e-3)), int(512), int(512)]
        },
    },
    Entry {
        name: "darktable.retouch_image_rgb2lab",
        text: RETOUCH,
        options: "",
        kernel: "retouch_image_rgb2lab",
        grid: [512, 512, 1],
        group: [64, 4, 1],
        args: || {
            vec![
                Arg::Buffer(random_floats(N, 1), Alike::Xyz(1e-3)),
                int(512),
                int(512),
            ]
        },
    },
    Entry {
        name: "darktable.retouch_copy_buffer_to_buffer_masked",
        text: RETOUCH,
        options: "",
        kernel: "retouch_copy_buffer_to_buffer_masked",
        grid: [1024, 512, 1],
        group: [64, 4, 1],
        args: || {
            // The places and sizes of the destination and of the mask, with a scale of 1.
            let location = |x, y| exact(words(5, |n| [x, y, W, W / 2, 1.0f32.to_bits()][n]));
            let (mask, target) = (
                units(N / 2, 3),
                Arg::Buffer(random_floats(2 * N, 2), Alike::F32(1e-5)),
            );
            vec![
                units(2 * N, 1),
                target,
                location(0, 0),
                mask,
                location(0, 0),
                float(0.7),
            ]
        },
    },
    Entry {
        name: "darktable.pixelmax_second",
        text: EXTENDED,
        options: "",
        kernel: "pixelmax_second",
        grid: [262144, 1, 1],
        group: [256, 1, 1],
        args: || {
            vec![
                units(N, 1),
                zeros(4 * 1024),
                int(N as u32),
                Arg::Local(1024),
            ]
        },
    },
];
