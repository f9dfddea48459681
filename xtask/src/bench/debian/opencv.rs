//! OpenCV, computer vision: matrices, features, optical flow.

use super::{Entry, Text};
use crate::bench::data::{
    Alike, Arg, Random, between, byte, bytes, exact, float, floats, int, out, random_words, result,
    units, vector, words, zeros,
};

const fn core(words: &'static [&'static str]) -> Text {
    Text::Inside(
        "libopencv-core406",
        "usr/lib/x86_64-linux-gnu/libopencv_core.so.4.*",
        words,
    )
}

const fn features(words: &'static [&'static str]) -> Text {
    let library = "usr/lib/x86_64-linux-gnu/libopencv_features2d.so.4.*";
    Text::Inside("libopencv-features2d406", library, words)
}

const fn video(words: &'static [&'static str]) -> Text {
    Text::Inside(
        "libopencv-video406",
        "usr/lib/x86_64-linux-gnu/libopencv_video.so.4.*",
        words,
    )
}

/// A megapixel.
const W: u32 = 1024;
const N: usize = 1 << 20;

/// A matrix's bytes per row, and its start: the library passes them to kernels after each matrix.
fn layout(bytes: u32) -> [Arg; 2] {
    [int(bytes), int(0)]
}

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "opencv.transpose",
        text: core(&["void transpose("]),
        options: "-DT=float -DT1=float -Dcn=1 -DTILE_DIM=32 -DBLOCK_ROWS=8 -DrowsPerWI=1",
        kernel: "transpose",
        grid: [1024, 256, 1],
        group: [32, 8, 1],
        args: || {
            let mut args = vec![random_words(N, 1)];
            args.extend(layout(4 * W));
            args.extend([int(W), int(W), zeros(4 * N)]);
            args.extend(layout(4 * W));
            args
        },
    },
    Entry {
        name: "opencv.mulAndScaleSpectrums",
        text: core(&["void mulAndScaleSpectrums("]),
        options: "-DCONJ",
        kernel: "mulAndScaleSpectrums",
        grid: [1024, 256, 1],
        group: [64, 4, 1],
        args: || {
            let mut args = Vec::new();
            for matrix in [units(2 * N, 1), units(2 * N, 2), result(2 * N)] {
                args.push(matrix);
                args.extend(layout(8 * W));
            }
            args.extend([int(W), int(W), int(4)]);
            args
        },
    },
    Entry {
        name: "opencv.convertTo",
        text: core(&["void convertTo("]),
        options: "-DsrcT=uchar -DWT=float -DdstT=float -DconvertToWT=convert_float -DconvertToDT=noconvert",
        kernel: "convertTo",
        grid: [2048, 256, 1],
        group: [64, 4, 1],
        args: || {
            let mut args = vec![bytes(2 * N, 1)];
            args.extend(layout(2 * W));
            args.push(result(2 * N));
            args.extend(layout(8 * W));
            args.extend([int(W), int(2 * W), float(1.5), float(0.25), int(4)]);
            args
        },
    },
    Entry {
        name: "opencv.meanStdDev",
        text: core(&["void meanStdDev("]),
        options: "-DsrcT=float -DsrcT1=float -DdstT=float -DdstT1=float -DsqdstT=float -DsqdstT1=float -Dcn=1 -DconvertToDT=noconvert -DconvertToSDT=noconvert -DWGS=256 -DWGS2_ALIGNED=128 -DHAVE_SRC_CONT",
        kernel: "meanStdDev",
        grid: [4096, 1, 1],
        group: [256, 1, 1],
        args: || {
            let mut args = vec![units(4 * N, 1)];
            args.extend(layout(4 * 2 * W));
            args.extend([int(2 * W), int(4 * N as u32), int(16)]);
            args.push(out(2 * 16 * 4, Alike::F32(1e-2)));
            args
        },
    },
    Entry {
        name: "opencv.minmaxloc",
        text: core(&["void minmaxloc("]),
        options: "-DDEPTH_0 -DsrcT1=uchar -DsrcT=uchar4 -DdstT1=uchar -DdstT=uchar4 -Dkercn=4 -Dwdepth=0 -DWGS=256 -DWGS2_ALIGNED=128 -DHAVE_SRC_CONT -DconvertToDT=noconvert -DNEED_MINVAL -DNEED_MAXVAL -DMINMAX_STRUCT_ALIGNMENT=1",
        kernel: "minmaxloc",
        grid: [4096, 1, 1],
        group: [256, 1, 1],
        args: || {
            let mut args = vec![bytes(4 * N, 1)];
            args.extend(layout(2 * W));
            args.extend([int(2 * W), int(4 * N as u32), int(16), zeros(256)]);
            args
        },
    },
    Entry {
        name: "opencv.gemm",
        text: core(&["#define LOCAL_SIZE_ODD"]),
        options: "-DT=float -DT1=float -DWT=float -Dcn=1 -Dkercn=1 -DLOCAL_SIZE=16",
        kernel: "gemm",
        grid: [512, 512, 1],
        group: [16, 16, 1],
        args: || {
            let n = 512 * 512;
            let mut args = Vec::new();
            for matrix in [units(n, 1), units(n, 2), result(n)] {
                args.push(matrix);
                args.extend(layout(4 * 512));
            }
            args.extend([int(512), int(512), int(512), float(1.5), float(0.0)]);
            args
        },
    },
    Entry {
        name: "opencv.flip_rows_cols",
        text: core(&["void arithm_flip_rows_cols("]),
        options: "-DT=uchar4 -DT1=uchar -Dcn=4 -DPIX_PER_WI_Y=2 -Dkercn=4",
        kernel: "arithm_flip_rows_cols",
        grid: [1024, 256, 1],
        group: [64, 4, 1],
        args: || {
            let mut args = vec![random_words(N, 1)];
            args.extend(layout(4 * W));
            args.push(zeros(4 * N));
            args.extend(layout(4 * W));
            args.extend([int(W), int(W), int(W / 2), int(W)]);
            args
        },
    },
    Entry {
        name: "opencv.setIdentity",
        text: core(&["void setIdentity("]),
        options: "-DT=float -DT1=float -DST=float -Dkercn=1 -Dcn=1 -DrowsPerWI=4",
        kernel: "setIdentity",
        grid: [1024, 256, 1],
        group: [64, 4, 1],
        args: || {
            let mut args = vec![zeros(4 * N)];
            args.extend(layout(4 * W));
            args.extend([int(W), int(W), float(2.5)]);
            args
        },
    },
    Entry {
        name: "opencv.ORB_HarrisResponses",
        text: features(&["ORB_HarrisResponses("]),
        options: "-DORB_RESPONSES -DblockSize=7 -Dscale_sq_sq=1.3e-14f -DHARRIS_K=0.04f",
        kernel: "ORB_HarrisResponses",
        grid: [65536, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (points, mut random) = (1 << 16, Random(1));
            // Each key point's column, row and layer.
            let locations = words(3 * points, |n| match n % 3 {
                2 => 0,
                _ => 16 + random.word() % (W - 32),
            });
            let mut args = vec![bytes(N, 2), int(W), int(0), zeros(4), exact(locations)];
            args.extend([out(4 * points, Alike::F32(1e-4)), int(points as u32)]);
            args
        },
    },
    Entry {
        name: "opencv.ORB_ICAngle",
        text: features(&["ORB_HarrisResponses("]),
        options: "-DORB_ANGLES",
        kernel: "ORB_ICAngle",
        grid: [16384, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (points, mut random) = (1 << 14, Random(1));
            let locations = words(3 * points, |n| match n % 3 {
                2 => 0,
                _ => 20 + random.word() % (W - 40),
            });
            // How many columns each row of a disc of 31 has.
            let rows = [
                15, 15, 15, 15, 14, 14, 14, 13, 13, 12, 11, 10, 9, 8, 6, 3, 0,
            ];
            let disc = exact(words(rows.len(), |n| rows[n]));
            let mut args = vec![bytes(N, 2), int(W), int(0), zeros(4), exact(locations)];
            args.extend([
                out(4 * points, Alike::F32(1e-3)),
                disc,
                int(points as u32),
                int(15),
            ]);
            args
        },
    },
    Entry {
        name: "opencv.BruteForceMatch_Match",
        text: features(&["BruteForceMatch_Match("]),
        options: "-DT=float -DTN=float -Dkercn=1 -DDIST_TYPE=4 -DBLOCK_SIZE=16 -DMAX_DESC_LEN=64",
        kernel: "BruteForceMatch_Match",
        grid: [1024, 16, 1],
        group: [16, 16, 1],
        args: || {
            let (rows, columns) = (1024, 64);
            let descriptors = |seed| units(rows * columns, seed);
            let mut args = vec![
                descriptors(1),
                descriptors(2),
                zeros(4 * rows),
                result(rows),
            ];
            args.extend([1024, 64, 1024, 64, 64].map(int));
            args
        },
    },
    Entry {
        name: "opencv.AKAZE_nld_step_scalar",
        text: features(&["AKAZE_nld_step_scalar("]),
        options: "",
        kernel: "AKAZE_nld_step_scalar",
        grid: [1024, 1024, 1],
        group: [64, 4, 1],
        args: || {
            let (image, flow) = (units(N, 1), units(N, 2));
            let mut args = vec![image, int(4 * W), int(0), int(W), int(W)];
            args.extend([flow, result(N), float(0.25)]);
            args
        },
    },
    Entry {
        name: "opencv.polynomialExpansion",
        text: video(&["void polynomialExpansion("]),
        options: "-DpolyN=5 -DUSE_DOUBLE=0",
        kernel: "polynomialExpansion",
        grid: [1280, 512, 1],
        group: [256, 1, 1],
        args: || {
            // Workgroups overlap by ten columns, so five of them have 1230.
            let (w, h) = (1230, 512);
            let taps = |seed| between(6, seed, 0.0, 0.3);
            let mut args = vec![
                units(w * h, 1),
                int(w as u32),
                result(5 * w * h),
                int(w as u32),
            ];
            args.extend([int(h as u32), int(w as u32), taps(2), taps(3), taps(4)]);
            args.extend([Arg::Local(3 * 256 * 4), vector(&[0.5, 0.25, 0.3, 0.2])]);
            args
        },
    },
    Entry {
        name: "opencv.gaussianBlur",
        text: video(&["void polynomialExpansion("]),
        options: "-DpolyN=5 -DUSE_DOUBLE=0",
        kernel: "gaussianBlur",
        grid: [1024, 512, 1],
        group: [256, 1, 1],
        args: || {
            let (h, half) = (512, 7);
            let taps = between(half + 1, 2, 0.0, 0.1);
            let mut args = vec![
                units(N / 2, 1),
                int(W),
                result(N / 2),
                int(W),
                int(h),
                int(W),
            ];
            args.extend([taps, int(half as u32), Arg::Local((256 + 14) * 4)]);
            args
        },
    },
    Entry {
        name: "opencv.mog2_kernel",
        text: video(&["void mog2_kernel("]),
        options: "-DCN=1 -DFL=0 -DNMIXTURES=5 -DSHADOW_DETECT",
        kernel: "mog2_kernel",
        grid: [1024, 512, 1],
        group: [64, 4, 1],
        args: || {
            let n = N / 2;
            // Five mixtures a pixel; all begin with two.
            let modes = exact(vec![2; n]);
            let state = |seed, from: f32, to: f32| {
                let mut random = Random(seed);
                let data = floats(5 * n, |_| from + (to - from) * random.unit());
                Arg::Buffer(data, Alike::Few(1e-3, 0.001))
            };
            let mut args = vec![bytes(n, 1), int(W), int(0), int(W / 2), int(W), modes];
            args.extend([
                state(2, 0.0, 0.5),
                state(3, 0.0, 255.0),
                state(4, 4.0, 75.0),
            ]);
            args.extend([out(n, Alike::Exactly), int(W), int(0)]);
            args.extend([0.05, 0.95, -0.0025, 16.0, 0.9, 9.0, 4.0, 75.0, 15.0, 0.5].map(float));
            args.push(byte(127));
            args
        },
    },
];
