//! OpenCV, neural networks: pooling, normalization, activations, boxes.

use super::{Entry, Text};
use crate::bench::data::{
    Alike, Arg, Random, between, exact, float, floats, int, out, result, units, words, zeros,
};

const fn text(words: &'static [&'static str]) -> Text {
    let library = "usr/lib/x86_64-linux-gnu/libopencv_dnn.so.4.*";
    Text::Inside("libopencv-dnn406", library, words)
}

const FLOAT: &str = "-DT=float -DDtype=float -DDtype4=float4 -Dconvert_T=convert_float";

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "opencv.kernel_channel_max",
        text: text(&["void kernel_channel_max("]),
        options: FLOAT,
        kernel: "kernel_channel_max",
        grid: [8192, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (images, channels, pixels) = (2, 128, 4096);
            let mut args: Vec<Arg> = [images, channels, pixels].map(int).into();
            args.extend([
                units((images * channels * pixels) as usize, 1),
                result(8192),
            ]);
            args
        },
    },
    Entry {
        name: "opencv.softmax_activ",
        text: text(&["void softmax_activ("]),
        options: "",
        kernel: "softmax_activ",
        grid: [2048, 1, 1],
        group: [64, 1, 1],
        args: || {
            // Predictions in 26 by 26 cells; each is a box, a confidence, and 80 classes.
            let (cells, anchors, classes) = (26, 3, 80);
            let (n, size) = (cells * cells * anchors, classes + 5);
            let mut random = Random(2);
            let confidences = floats(n * size, |_| random.unit());
            let args = [
                int(n as u32),
                between(n * size, 1, -2.0, 2.0),
                between(2 * anchors, 3, 0.5, 4.0),
            ];
            let mut args: Vec<Arg> = args.into();
            args.extend([size, classes, 0, cells, cells, anchors].map(|n| int(n as u32)));
            // Small probabilities are compared with a threshold.
            let made = Arg::Buffer(confidences, Alike::Few(1e-3, 0.001));
            args.extend([float(0.01), made]);
            args
        },
    },
    Entry {
        name: "opencv.MaxPoolForward",
        text: text(&["void MaxPoolForward("]),
        options: FLOAT,
        kernel: "MaxPoolForward",
        grid: [200704, 1, 1],
        group: [256, 1, 1],
        args: || {
            let (channels, from, to) = (64, 112, 56);
            let n = channels * to * to;
            let mut args = vec![int(n), units((channels * from * from) as usize, 1)];
            args.extend([1, channels, from, from, to, to, 3, 3, 2, 2, 0, 0, 0, 0].map(int));
            args.push(result(n as usize));
            args
        },
    },
    Entry {
        name: "opencv.LRNFillScale",
        text: text(&["void LRNFillScale("]),
        options: FLOAT,
        kernel: "LRNFillScale",
        grid: [8192, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (channels, high, wide) = (64, 64, 128);
            let n = high * wide;
            let mut args = vec![int(n), units((channels * n) as usize, 1)];
            args.extend([1, channels, high, wide, 5].map(int));
            args.extend([2e-5, 1.0].map(float));
            args.push(result((channels * n) as usize));
            args
        },
    },
    Entry {
        name: "opencv.LRNComputeOutput",
        text: text(&["void LRNFillScale("]),
        options: FLOAT,
        kernel: "LRNComputeOutput",
        grid: [131072, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 17;
            let mut args = vec![int(n as u32), units(n, 1), between(n, 2, 1.0, 3.0)];
            args.extend([float(-0.75), out(4 * n, Alike::F32(1e-3))]);
            args
        },
    },
    Entry {
        name: "opencv.MishForward",
        text: text(&["void MishForward("]),
        options: FLOAT,
        kernel: "MishForward",
        grid: [131072, 1, 1],
        group: [256, 1, 1],
        args: || {
            let n = 1 << 17;
            vec![
                int(n as u32),
                between(n, 1, -3.0, 3.0),
                out(4 * n, Alike::F32(1e-3)),
            ]
        },
    },
    Entry {
        name: "opencv.col2im",
        text: text(&["void col2im("]),
        options: "-DT=float -DPAD_W=1 -DPAD_H=1 -DKERNEL_W=3 -DKERNEL_H=3 -DSTRIDE_W=1 -DSTRIDE_H=1",
        kernel: "col2im",
        grid: [131072, 1, 1],
        group: [256, 1, 1],
        args: || {
            let (channels, edge) = (32i32, 64i32);
            let n = channels * edge * edge;
            // The steps that the library computes from the sizes.
            let (rows, columns) = ((1 - 3 * edge) * edge, 1 - edge * edge);
            let mut args = vec![int(n as u32), units(9 * n as usize, 1)];
            let sizes = [0, channels, edge, edge, edge, edge, rows, columns];
            args.extend(sizes.map(|v| int(v as u32)));
            args.extend([units(channels as usize, 2), int(0)]);
            args.extend([result(n as usize), int(0)]);
            args
        },
    },
    Entry {
        name: "opencv.DecodeBBoxesCENTER_SIZE",
        text: text(&["void DecodeBBoxesCENTER_SIZE("]),
        options: "",
        kernel: "DecodeBBoxesCENTER_SIZE",
        grid: [65536, 1, 1],
        group: [256, 1, 1],
        args: || {
            let boxes = 1 << 14;
            let mut random = Random(2);
            // Boxes of less than the image's size, and then their variances.
            let priors = floats(8 * boxes, |n| match (n / (4 * boxes), n % 4) {
                (0, 0 | 1) => 0.5 * random.unit(),
                (0, _) => 0.5 + 0.5 * random.unit(),
                (_, 0 | 1) => 0.1,
                _ => 0.2,
            });
            let mut args = vec![int(4 * boxes as u32), between(4 * boxes, 1, -1.0, 1.0)];
            args.push(exact(priors));
            args.extend([0, boxes as u32, 1, 1, 0, 1, 0].map(int));
            args.push(out(16 * boxes, Alike::F32(1e-3)));
            args
        },
    },
    Entry {
        name: "opencv.mean_fuse4",
        text: text(&["void MEAN_FUSE("]),
        options: "-DNUM=4 -DKERNEL_MEAN_FUSE -DLOCAL_SIZE=128 -DT=float -DT4=float4 -Dconvert_T=convert_float4",
        kernel: "mean_fuse4",
        grid: [8192, 1, 1],
        group: [128, 1, 1],
        args: || {
            let (rows, columns) = (256, 4096);
            vec![
                units(rows * columns, 1),
                int(columns as u32),
                float(1.0 / columns as f32),
                result(rows),
                result(rows * columns),
            ]
        },
    },
    Entry {
        name: "opencv.permute",
        text: text(&["void permute("]),
        options: FLOAT,
        kernel: "permute",
        grid: [262144, 1, 1],
        group: [128, 1, 1],
        args: || {
            let (n, axes) = (1 << 18, 4);
            // 64 channels of 64 by 64 to 64 by 64 pixels of 64 channels.
            let list = |of: [u32; 4]| exact(words(4, |n| of[n]));
            let mut args = vec![int(n as u32), units(n, 1), list([0, 2, 3, 1])];
            args.extend([
                list([1 << 18, 1 << 12, 1 << 6, 1]),
                list([1 << 18, 1 << 12, 1 << 6, 1]),
            ]);
            args.extend([int(axes), zeros(4 * n)]);
            args
        },
    },
    Entry {
        name: "opencv.ConvolveBasic",
        text: text(&["ConvolveBasic("]),
        options: "-DDtype=float -DTYPE=1 -DKERNEL_BASIC -DAPPLY_BIAS=1 -DOUTPUT_Z=32 -DCHANNELS=16 -DKERNEL_HEIGHT=3 \
                  -DKERNEL_WIDTH=3 -DSTRIDE_X=1 -DSTRIDE_Y=1 -DDILATION_X=1 -DDILATION_Y=1",
        kernel: "ConvolveBasic",
        grid: [131072, 1, 1],
        group: [128, 1, 1],
        args: || {
            let (from, to, edge) = (16, 32, 64);
            let short = |n: u16| Arg::Value(n.to_le_bytes().to_vec());
            let mut args = vec![units(from * edge * edge, 1), int(0)];
            args.extend([
                between(9 * from * to, 2, -1.0, 1.0),
                int(0),
                units(to, 3),
                int(0),
            ]);
            args.extend([result(to * edge * edge), int(0), int(0)]);
            args.extend([edge as u16; 4].map(short));
            args.extend([1, 1].map(short));
            args
        },
    },
];
