//! OpenCV, vision: detection, motion, depth, tracking, a model of the retina.
//!
//! Left out are fastNlMeansDenoising, which relies on lanes in lockstep, and anisodiff, which reads before its image.

use super::{Entry, Text};
use crate::bench::data::{
    Alike, Arg, Random, between, byte, bytes, exact, float, int, integers, out, random_floats,
    result, units, vector, words,
};

const fn detection(words: &'static [&'static str]) -> Text {
    let library = "usr/lib/x86_64-linux-gnu/libopencv_objdetect.so.4.*";
    Text::Inside("libopencv-objdetect406", library, words)
}

const fn video(words: &'static [&'static str]) -> Text {
    let library = "usr/lib/x86_64-linux-gnu/libopencv_video.so.4.*";
    Text::Inside("libopencv-video406", library, words)
}

const HISTOGRAMS: Text = detection(&["void compute_hists_lut_kernel("]);
const CASCADE: Text = detection(&["void runLBPClassifierStumpSimple("]);
const MOTION: Text = video(&["void updateMatrices("]);
const SEARCH: Text = video(&["void dis_densification("]);
const FLOW: Text = Text::Inside(
    "libopencv-contrib406",
    "usr/lib/x86_64-linux-gnu/libopencv_optflow.so.4.*",
    &["void estimateUKernel("],
);
const DEPTH: Text = Text::Inside(
    "libopencv-contrib406",
    "usr/lib/x86_64-linux-gnu/libopencv_rgbd.so.4.*",
    &["void customBilateral("],
);
const VOLUME: Text = Text::Inside(
    "libopencv-contrib406",
    "usr/lib/x86_64-linux-gnu/libopencv_rgbd.so.4.*",
    &["static inline TsdfType floatToTsdf("],
);
const TRACKING: Text = Text::Inside(
    "libopencv-contrib406",
    "usr/lib/x86_64-linux-gnu/libopencv_tracking.so.4.*",
    &["void batchNCC("],
);
const RETINA: Text = Text::Inside(
    "libopencv-contrib406",
    "usr/lib/x86_64-linux-gnu/libopencv_bioinspired.so.4.*",
    &["void horizontalCausalFilter_addInput("],
);

/// The images for the flow: rows and columns.
const EDGE: usize = 512;

/// Patches for the search of a flow: the columns of the image, and of patches, whose edge is 8 and which are 4 apart.
const WIDE: usize = 256;
const PATCHES: usize = (WIDE - 8) / 4 + 1;

/// A smooth image, moved by these numbers of pixels.
fn waves(x: f32, y: f32) -> f32 {
    128.0 + 60.0 * (0.21 * x + 0.05 * y).sin() + 50.0 * (0.17 * y - 0.08 * x).cos()
}

/// Rows of pixels of the smooth image within a border.
fn smooth(border: usize, moved: f32) -> Vec<u8> {
    let wide = WIDE + 2 * border;
    let at = |n: usize| n as f32 - border as f32;
    (0..wide * wide)
        .map(|n| waves(at(n % wide) + moved, at(n / wide) - moved) as u8)
        .collect()
}

/// A derivative of the smooth image.
fn slope(x: usize, y: usize, along: usize) -> i16 {
    let (dx, dy) = [(1.0, 0.0), (0.0, 1.0)][along];
    let (x, y) = (x as f32, y as f32);
    (4.0 * (waves(x + dx, y + dy) - waves(x - dx, y - dy))) as i16
}

/// The sum over each patch of a function of the two derivatives.
fn patches(of: impl Fn(f32, f32) -> f32) -> Arg {
    let one = |patch: usize| -> f32 {
        let (x, y) = (4 * (patch % PATCHES), 4 * (patch / PATCHES));
        let pixels = (0..64).map(|n| (x + n % 8, y + n / 8));
        pixels
            .map(|(x, y)| of(f32::from(slope(x, y, 0)), f32::from(slope(x, y, 1))))
            .sum()
    };
    exact(words(PATCHES * PATCHES, |n| one(n).to_bits()))
}

fn slopes(along: usize) -> Arg {
    let one = |n: usize| slope(n % WIDE, n / WIDE, along).to_le_bytes();
    exact((0..WIDE * WIDE).flat_map(one).collect())
}

/// The arguments of a cascade of `stages` stages of four tests each, for windows of 24 by 24 pixels in an image of 320 by 240.
fn cascade(stages: usize) -> Vec<Arg> {
    let (wide, high, stumps) = (321, 241, 4 * stages);
    let mut random = Random(3);
    // Sums over all pixels above and to the left.
    let mut sums = vec![0u32; wide * high];
    for at in wide..wide * high {
        if at % wide > 0 {
            let sum = sums[at - 1] + sums[at - wide] - sums[at - wide - 1];
            sums[at] = sum + random.word() % 256;
        }
    }
    // The corners of three by three blocks.
    let mut features = Vec::new();
    for _ in 0..stumps {
        let [w, h] = [1, 1].map(|least| least + random.word() % 7);
        let (x, y) = (random.word() % (25 - 3 * w), random.word() % (25 - 3 * h));
        let corner = |n: u32| (y + n / 4 * h) * wide as u32 + x + n % 4 * w;
        features.extend((0..16).map(corner));
    }
    let tests = words(4 * stumps, |n| match n % 4 {
        0 => (n / 4) as u32,
        1 => 0,
        2 => 1.0f32.to_bits(),
        _ => (-1.0f32).to_bits(),
    });
    let mut steps = Random(4);
    let patterns = words(8 * stumps, |_| steps.word());
    let scale = [1.0f32.to_bits(), wide as u32, high as u32, 0, 1];
    let stage = |n: usize| [4 * (n / 3) as u32, 4, 0.0f32.to_bits()][n % 3];
    let mut args = vec![int(1), exact(words(5, |n| scale[n]))];
    args.extend([
        exact(words(sums.len(), |n| sums[n])),
        int(4 * wide as u32),
        int(0),
    ]);
    args.extend([
        exact(words(features.len(), |n| features[n])),
        exact(words(3 * stages, stage)),
        exact(tests),
        exact(patterns),
        int(8),
    ]);
    args.push(out(4 + 12 * 32768, Alike::Counted(12)));
    args.push(integers(&[24, 24]));
    args
}

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "opencv.compute_gradients_8UC4_kernel",
        text: HISTOGRAMS,
        options: "",
        kernel: "compute_gradients_8UC4_kernel",
        grid: [512, 128, 1],
        group: [256, 1, 1],
        args: || {
            let (wide, high) = (500, 128);
            let n = wide * high;
            let mut args: Vec<Arg> = [high, wide, wide, wide, wide].map(|n| int(n as u32)).into();
            // Rounding selects directions, and the channel with the steepest slope.
            let (slopes, directions) = (Alike::Few(1e-3, 0.01), Alike::Mostly(0.01));
            args.extend([bytes(4 * n, 1), out(8 * n, slopes), out(2 * n, directions)]);
            args.extend([float(9.0 / std::f32::consts::PI), byte(1), int(9)]);
            args
        },
    },
    Entry {
        name: "opencv.compute_hists_lut_kernel",
        text: HISTOGRAMS,
        options: "",
        kernel: "compute_hists_lut_kernel",
        grid: [46944, 2, 1],
        group: [96, 2, 1],
        args: || {
            // Blocks of 16 by 16 pixels, 8 apart; four in a workgroup.
            let (wide, high) = (512, 256);
            let blocks = (wide / 8 - 1) * (high / 8 - 1);
            let mut random = Random(2);
            let directions = (0..2 * wide * high).map(|_| (random.word() % 9) as u8);
            let sizes = [8, 8, 9, 36, wide / 8 - 1, 4, blocks, 2 * wide, 2 * wide];
            let mut args: Vec<Arg> = sizes.map(|n| int(n as u32)).into();
            args.extend([units(2 * wide * high, 1), exact(directions.collect())]);
            args.extend([units(512, 3), result(36 * blocks), Arg::Local(7488)]);
            args
        },
    },
    Entry {
        name: "opencv.normalize_hists_36_kernel",
        text: HISTOGRAMS,
        options: "",
        kernel: "normalize_hists_36_kernel",
        grid: [100800, 1, 1],
        group: [252, 1, 1],
        args: || {
            let sums = Arg::Buffer(random_floats(100_800, 1), Alike::F32(1e-4));
            vec![sums, float(0.2), Arg::Local(4 * 252)]
        },
    },
    Entry {
        name: "opencv.classify_hists_252_kernel",
        text: HISTOGRAMS,
        options: "",
        kernel: "classify_hists_252_kernel",
        grid: [14592, 17, 1],
        group: [256, 1, 1],
        args: || {
            // 57 by 17 windows of 7 by 15 blocks in 63 by 31.
            let mut args: Vec<Arg> = [252, 15, 36, 57, 63, 1, 1].map(int).into();
            args.extend([
                units(36 * 63 * 31 + 256, 1),
                between(252 * 15, 2, -1.0, 1.0),
            ]);
            // A rounded sum is compared with a threshold.
            args.extend([float(0.5), float(0.0), out(972, Alike::Mostly(0.01))]);
            args
        },
    },
    Entry {
        name: "opencv.boxFilter5",
        text: MOTION,
        options: "",
        kernel: "boxFilter5",
        grid: [512, 128, 1],
        group: [256, 1, 1],
        args: || {
            let (wide, high, half) = (512, 128, 6);
            let n = 5 * wide * high;
            let mut args = vec![units(n, 1), int(wide as u32), result(n)];
            args.extend([wide as u32, high as u32, wide as u32, half].map(int));
            args.push(Arg::Local(4 * 5 * (256 + 2 * half)));
            args
        },
    },
    Entry {
        name: "opencv.updateMatrices",
        text: MOTION,
        options: "",
        kernel: "updateMatrices",
        grid: [512, 256, 1],
        group: [32, 8, 1],
        args: || {
            let (wide, high) = (512, 256);
            let (n, step) = (wide * high, || int(wide as u32));
            let mut args = vec![between(n, 1, -3.0, 3.0), step()];
            args.extend([between(n, 2, -3.0, 3.0), step()]);
            args.extend([int(high as u32), step()]);
            args.extend([units(5 * n, 3), step(), units(5 * n, 4), step()]);
            args.extend([out(4 * 5 * n, Alike::F32(1e-3)), step()]);
            args
        },
    },
    Entry {
        name: "opencv.dis_densification",
        text: SEARCH,
        options: "-DDIS_PATCH_SIZE=8 -DDIS_PATCH_STRIDE=4",
        kernel: "dis_densification",
        grid: [256, 256, 1],
        group: [16, 16, 1],
        args: || {
            let flow = between(2 * PATCHES * PATCHES, 1, -2.0, 2.0);
            let mut args = vec![flow, bytes(WIDE * WIDE, 2), bytes(WIDE * WIDE, 3)];
            args.extend([WIDE, WIDE, PATCHES].map(|n| int(n as u32)));
            args.push(out(8 * WIDE * WIDE, Alike::F32(1e-3)));
            args
        },
    },
    Entry {
        name: "opencv.dis_patch_inverse_search_fwd_2",
        text: SEARCH,
        options: "-DDIS_PATCH_SIZE=8 -DDIS_PATCH_STRIDE=4 -DDIS_BORDER_SIZE=16",
        kernel: "dis_patch_inverse_search_fwd_2",
        grid: [64, 64, 1],
        group: [16, 4, 1],
        args: || {
            let n = PATCHES * PATCHES;
            let (still, moved) = (smooth(0, 0.0), smooth(16, 0.7));
            let mut args = vec![exact(vec![0; 8 * WIDE * WIDE]), exact(still), exact(moved)];
            args.extend([slopes(0), slopes(1)]);
            args.extend([
                patches(|x, _| x * x),
                patches(|_, y| y * y),
                patches(|x, y| x * y),
            ]);
            args.extend([patches(|x, _| x), patches(|_, y| y)]);
            args.extend([WIDE, WIDE, PATCHES, PATCHES, 5].map(|n| int(n as u32)));
            // How many steps a patch takes hangs on comparisons of rounded sums.
            let flow = Arg::Buffer(vec![0; 8 * n], Alike::Few(1e-2, 0.02));
            args.push(flow);
            args
        },
    },
    Entry {
        name: "opencv.estimateDualVariablesKernel",
        text: FLOW,
        options: "",
        kernel: "estimateDualVariablesKernel",
        grid: [512, 512, 1],
        group: [32, 8, 1],
        args: || {
            let (n, size) = (EDGE * EDGE, EDGE as u32);
            let dual = |seed| Arg::Buffer(random_floats(n, seed), Alike::F32(1e-4));
            let mut args = vec![units(n, 1)];
            args.extend([size; 3].map(int));
            args.extend([units(n, 2), dual(3), int(size), dual(4), dual(5), dual(6)]);
            args.push(float(0.8));
            args.extend([size, 0, 0, 0, 0].map(int));
            args
        },
    },
    Entry {
        name: "opencv.estimateUKernel",
        text: FLOW,
        options: "",
        kernel: "estimateUKernel",
        grid: [512, 256, 1],
        group: [32, 8, 1],
        args: || {
            let (n, wide) = (512 * 256, 512);
            // Which of three steps a pixel takes hangs on comparisons of rounded sums.
            let flow = |seed| Arg::Buffer(random_floats(n, seed), Alike::Few(1e-3, 0.001));
            let mut args = vec![between(n, 1, -1.0, 1.0)];
            args.extend([wide, 256, wide].map(int));
            args.extend([between(n, 2, -1.0, 1.0), between(n, 3, 0.1, 1.0)]);
            args.push(between(n, 4, -0.3, 0.3));
            args.extend((5..9).map(|seed| between(n, seed, -1.0, 1.0)));
            args.extend([flow(9), int(wide), flow(10)]);
            args.push(out(4 * n, Alike::Few(1e-3, 0.001)));
            args.extend([float(0.045), float(0.3)]);
            args.extend([wide, 0, 0, 0, 0].map(int));
            args.push(byte(1));
            args
        },
    },
    Entry {
        name: "opencv.warpBackwardKernelNoImage2d",
        text: FLOW,
        options: "",
        kernel: "warpBackwardKernelNoImage2d",
        grid: [192, 192, 1],
        group: [32, 8, 1],
        args: || {
            // The kernel exchanges rows and columns, so it is right for squares.
            let (n, wide) = (192 * 192, 192);
            // Where a pixel moves by a whole number, rounding decides which neighbours have a weight near zero.
            let made = || out(4 * n, Alike::Few(1e-3, 0.001));
            let mut args = vec![units(n, 1)];
            args.extend([wide; 3].map(int));
            args.extend((2..5).map(|seed| units(n, seed)));
            args.extend([
                between(n, 5, -2.0, 2.0),
                int(wide),
                between(n, 6, -2.0, 2.0),
            ]);
            args.extend((0..5).map(|_| made()));
            args.extend([wide; 4].map(int));
            args
        },
    },
    Entry {
        name: "opencv.computePointsNormals",
        text: DEPTH,
        options: "",
        kernel: "computePointsNormals",
        grid: [640, 240, 1],
        group: [64, 4, 1],
        args: || {
            let (wide, high) = (640, 240);
            let n = (wide * high) as usize;
            let made = || out(16 * n, Alike::F32(1e-3));
            let mut args = vec![made(), int(16 * wide), int(0)];
            args.extend([made(), int(16 * wide), int(0)]);
            args.extend([between(n, 1, 500.0, 600.0), int(4 * wide), int(0)]);
            args.extend([int(high), int(wide)]);
            args.extend([
                vector(&[0.002, 0.002]),
                vector(&[320.0, 120.0]),
                float(0.001),
            ]);
            args
        },
    },
    Entry {
        name: "opencv.customBilateral",
        text: DEPTH,
        options: "",
        kernel: "customBilateral",
        grid: [320, 120, 1],
        group: [64, 4, 1],
        args: || {
            let (wide, high) = (320, 120);
            let n = (wide * high) as usize;
            let mut args = vec![between(n, 1, 0.5, 0.7), int(4 * wide), int(0)];
            args.extend([out(4 * n, Alike::F32(1e-3)), int(4 * wide), int(0)]);
            args.extend([integers(&[wide as i32, high as i32]), int(7)]);
            args.extend([0.02, 300.0].map(float));
            args
        },
    },
    Entry {
        name: "opencv.batchNCC",
        text: TRACKING,
        options: "",
        kernel: "batchNCC",
        grid: [32000, 1, 1],
        group: [64, 1, 1],
        args: || {
            // 500 positive and 500 negative samples, and patches, of 15 by 15 pixels.
            let (samples, patches) = (500, 32);
            let made = || result(samples * patches);
            let mut args = vec![bytes(225 * patches, 1)];
            args.extend([
                bytes(225 * samples, 2),
                bytes(225 * samples, 3),
                made(),
                made(),
            ]);
            args.extend([samples, samples, patches].map(|n| int(n as u32)));
            args
        },
    },
    Entry {
        name: "opencv.horizontalCausalFilter_addInput",
        text: RETINA,
        options: "",
        kernel: "horizontalCausalFilter_addInput",
        grid: [1024, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (wide, high) = (512, 1024);
            let before = Arg::Buffer(random_floats(wide * high, 2), Alike::F32(1e-4));
            let mut args = vec![units(wide * high, 1), before];
            args.extend([wide, high, wide, 0, 0].map(|n| int(n as u32)));
            args.extend([0.3, 0.6].map(float));
            args
        },
    },
    Entry {
        name: "opencv.verticalCausalFilter_multichannel",
        text: RETINA,
        options: "",
        kernel: "verticalCausalFilter_multichannel",
        grid: [512, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (wide, high) = (1024, 256);
            let image = Arg::Buffer(random_floats(3 * wide * high, 1), Alike::F32(1e-4));
            let mut args = vec![image];
            args.extend([wide, high, wide, 0].map(|n| int(n as u32)));
            args.extend([0.6, 0.16].map(float));
            args
        },
    },
    Entry {
        name: "opencv.runLBPClassifierStumpSimple",
        text: CASCADE,
        options: "-DLBP -DMAX_FACES=32768 -DN_STAGES=10 -DNODE_COUNT=1 -DSPLIT_STAGE=3 -DSUM_BUF_SIZE=0 -DLOCAL_SIZE_X=8 -DLOCAL_SIZE_Y=8",
        kernel: "runLBPClassifierStumpSimple",
        grid: [512, 8, 1],
        group: [8, 8, 1],
        args: || cascade(10),
    },
    Entry {
        name: "opencv.integrate",
        text: VOLUME,
        options: "",
        kernel: "integrate",
        grid: [64, 64, 1],
        group: [8, 8, 1],
        args: || {
            // Voxels of two bytes: a distance and a weight.
            let (edge, deep) = (64, 128);
            let (wide, high) = (640, 480);
            let camera = [
                1.0, 0.0, 0.0, -0.64, 0.0, 1.0, 0.0, -0.64, 0.0, 0.0, 1.0, 0.5, 0.0, 0.0, 0.0, 1.0,
            ];
            let mut random = Random(2);
            let voxels = words(edge * edge * deep / 2, |_| random.word() & 0x0f3f_0f3f);
            let depths = between(wide * high, 1, 1200.0, 1800.0);
            let mut args = vec![depths, int(4 * wide as u32), int(0)];
            args.extend([high, wide].map(|n| int(n as u32)));
            // Rounded distances become bytes.
            args.push(Arg::Buffer(voxels, Alike::Mostly(0.01)));
            args.extend([vector(&camera), float(0.02)]);
            let (across, down) = (edge as i32, deep as i32);
            args.extend([
                integers(&[across, across, down, 0]),
                integers(&[across * down, down, 1, 0]),
            ]);
            args.extend([vector(&[500.0, 500.0]), vector(&[320.0, 240.0])]);
            args.extend([float(0.001), float(0.3), int(64)]);
            args.push(between(wide * high, 3, 1.0, 1.2));
            args
        },
    },
];
