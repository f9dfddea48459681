//! OpenCV, image processing: bytes and floats, local memory, borders.

use super::{Entry, Text};
use crate::bench::data::{
    Alike, Arg, between, byte, bytes, exact, float, floats, int, out, random_floats, result, units,
    words, zeros,
};

const fn text(words: &'static [&'static str]) -> Text {
    let library = "usr/lib/x86_64-linux-gnu/libopencv_imgproc.so.4.*";
    Text::Inside("libopencv-imgproc406", library, words)
}

/// A megapixel.
const W: u32 = 1024;
const N: usize = 1 << 20;

/// A matrix's bytes per row, and its start: the library passes them to kernels after each matrix.
fn layout(bytes: u32) -> [Arg; 2] {
    [int(bytes), int(0)]
}

/// Two matrices with `from` and `to` bytes a row, and the rows and columns of the second.
fn images(source: Arg, from: u32, made: Arg, to: u32, rows: u32, columns: u32) -> Vec<Arg> {
    let mut args = vec![source];
    args.extend(layout(from));
    args.push(made);
    args.extend(layout(to));
    args.extend([int(rows), int(columns)]);
    args
}

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "opencv.threshold",
        text: text(&["void threshold("]),
        options: "-DT=uchar -DT1=uchar -DTHRESH_BINARY -DSTRIDE_SIZE=4",
        kernel: "threshold",
        grid: [2048, 512, 1],
        group: [64, 4, 1],
        args: || {
            let mut args = images(bytes(4 * N, 1), 2 * W, zeros(4 * N), 2 * W, 2 * W, 2 * W);
            args.extend([byte(100), byte(255), byte(0)]);
            args
        },
    },
    Entry {
        name: "opencv.pyrUp_cols2",
        text: text(&["void pyrUp_cols2("]),
        options: "",
        kernel: "pyrUp_cols2",
        grid: [256, 512, 1],
        group: [64, 4, 1],
        args: || {
            let mut args = vec![bytes(512 * 512 + 64, 1)];
            args.extend(layout(512));
            args.extend([int(512), int(512), out(1024 * 1024, Alike::Rounded)]);
            args.extend(layout(1024));
            args.extend([int(1024), int(1024)]);
            args
        },
    },
    Entry {
        name: "opencv.moments",
        text: text(&["void moments("]),
        options: "-DTILE_SIZE=32",
        kernel: "moments",
        grid: [64, 2048, 1],
        group: [1, 32, 1],
        args: || {
            let mut args = vec![bytes(4 * N, 1)];
            args.extend(layout(2 * W));
            args.extend([int(2 * W), int(2 * W), zeros(4 * 10 * 64 * 64), int(64)]);
            args
        },
    },
    Entry {
        name: "opencv.medianFilter3",
        text: text(&["void medianFilter3("]),
        options: "-DT=uchar -DT1=uchar -Dcn=1",
        kernel: "medianFilter3",
        grid: [1024, 1024, 1],
        group: [16, 16, 1],
        args: || images(bytes(N, 1), W, zeros(N), W, W, W),
    },
    Entry {
        name: "opencv.medianFilter5_u",
        text: text(&["void medianFilter3("]),
        options: "-DT=uchar -DT1=uchar -DT4=uchar4 -Dcn=1 -DUSE_4OPT",
        kernel: "medianFilter5_u",
        grid: [256, 256, 1],
        group: [16, 16, 1],
        args: || images(bytes(N, 1), W, zeros(N), W, W, W),
    },
    Entry {
        name: "opencv.calculate_histogram",
        text: text(&["void calculate_histogram("]),
        options: "-DBINS=256 -DHISTS_COUNT=32 -DWGS=256 -Dkercn=4 -DT=uchar4 -DHAVE_SRC_CONT",
        kernel: "calculate_histogram",
        grid: [8192, 1, 1],
        group: [256, 1, 1],
        args: || {
            let mut args = vec![bytes(4 * N, 1)];
            args.extend(layout(2 * W));
            args.extend([
                int(2 * W),
                int(2 * W),
                zeros(4 * 256 * 32),
                int(4 * N as u32),
            ]);
            args
        },
    },
    Entry {
        name: "opencv.sobel3",
        text: text(&["void sobel3("]),
        options: "-DBLK_X=16 -DBLK_Y=16 -DSRCTYPE=uchar -DBORDER_REFLECT_101",
        kernel: "sobel3",
        grid: [1024, 1024, 1],
        group: [16, 16, 1],
        args: || {
            let mut args = vec![bytes(N, 1), int(W), int(0), int(0), result(N)];
            args.extend(layout(4 * W));
            args.push(result(N));
            args.extend(layout(4 * W));
            args.extend([int(W), int(W), int(W), int(W), float(0.25)]);
            args
        },
    },
    Entry {
        name: "opencv.RGB2Gray",
        text: text(&["void RGB2Gray("]),
        options: "-Ddepth=0 -Dscn=3 -Ddcn=1 -Dbidx=0 -DPIX_PER_WI_Y=4",
        kernel: "RGB2Gray",
        grid: [2048, 512, 1],
        group: [64, 4, 1],
        args: || images(bytes(12 * N, 1), 6 * W, zeros(4 * N), 2 * W, 2 * W, 2 * W),
    },
    Entry {
        name: "opencv.RGB2HSV",
        text: text(&["void RGB2HSV("]),
        options: "-Ddepth=0 -Dhrange=180 -Dscn=3 -Ddcn=3 -Dbidx=0 -DPIX_PER_WI_Y=4",
        kernel: "RGB2HSV",
        grid: [1024, 256, 1],
        group: [64, 4, 1],
        args: || {
            let mut args = images(bytes(3 * N + 1, 1), 3 * W, zeros(3 * N), 3 * W, W, W);
            let table = |span: f64| {
                let one = |n: usize| {
                    if n == 0 {
                        0.0
                    } else {
                        span * 4096.0 / n as f64
                    }
                };
                exact(words(256, |n| one(n).round() as u32))
            };
            args.extend([table(255.0), table(180.0 / 6.0)]);
            args
        },
    },
    Entry {
        name: "opencv.RGB2XYZ",
        text: text(&["void RGB2XYZ("]),
        options: "-Ddepth=5 -Dscn=3 -Ddcn=3 -Dbidx=0 -DPIX_PER_WI_Y=4",
        kernel: "RGB2XYZ",
        grid: [1024, 256, 1],
        group: [64, 4, 1],
        args: || {
            let mut args = images(units(3 * N + 1, 1), 12 * W, result(3 * N), 12 * W, W, W);
            args.push(units(9, 2));
            args
        },
    },
    Entry {
        name: "opencv.RGB2YCrCb",
        text: text(&["void RGB2YCrCb("]),
        options: "-Ddepth=0 -Dscn=4 -Ddcn=3 -Dbidx=0 -DPIX_PER_WI_Y=4",
        kernel: "RGB2YCrCb",
        grid: [1024, 256, 1],
        group: [64, 4, 1],
        args: || images(bytes(4 * N, 1), 4 * W, zeros(3 * N), 3 * W, W, W),
    },
    Entry {
        name: "opencv.morph",
        text: text(&["void morph("]),
        options: "-DRADIUSX=1 -DRADIUSY=1 -DLSIZE0=16 -DLSIZE1=16 -DOP_ERODE -DDEPTH_0 -DT=uchar -DT1=uchar -Dcn=1 -DPROCESS_ELEMS=PROCESS(0,0)PROCESS(0,1)PROCESS(0,2)PROCESS(1,0)PROCESS(1,1)PROCESS(1,2)PROCESS(2,0)PROCESS(2,1)PROCESS(2,2)",
        kernel: "morph",
        grid: [1024, 1024, 1],
        group: [16, 16, 1],
        args: || {
            let mut args = vec![bytes(N, 1)];
            args.extend(layout(W));
            args.push(zeros(N));
            args.extend(layout(W));
            args.extend([0, 0, W, W, W, W].map(int));
            args
        },
    },
    Entry {
        name: "opencv.resizeLN",
        text: text(&["INTER_LINEAR_INTEGER"]),
        options: "-DINTER_LINEAR -Ddepth=5 -DT=float -DT1=float -DWT=float -Dcn=1 -DconvertToWT=noconvert -DconvertToDT=noconvert -DINTER_RESIZE_COEF_BITS=11",
        kernel: "resizeLN",
        grid: [1536, 1536, 1],
        group: [16, 16, 1],
        args: || {
            let (w, to) = (1024, 1536);
            let mut args = vec![units(w * w, 1)];
            args.extend(layout(4 * W));
            args.extend([int(W), int(W), out(4 * to * to, Alike::F32(1e-4))]);
            args.extend(layout(4 * to as u32));
            let factor = || float(w as f32 / to as f32);
            args.extend([int(to as u32), int(to as u32), factor(), factor()]);
            args
        },
    },
    Entry {
        name: "opencv.blendLinear",
        text: text(&["void blendLinear("]),
        options: "-DT=uchar -Dcn=1 -DconvertToT=convert_uchar_sat_rte",
        kernel: "blendLinear",
        grid: [1024, 1024, 1],
        group: [64, 4, 1],
        args: || {
            let mut args = Vec::new();
            for image in [bytes(N, 1), bytes(N, 2)] {
                args.push(image);
                args.extend(layout(W));
            }
            for weight in [units(N, 3), units(N, 4)] {
                args.push(weight);
                args.extend(layout(4 * W));
            }
            args.push(out(N, Alike::Rounded));
            args.extend(layout(W));
            args.extend([int(W), int(W)]);
            args
        },
    },
    Entry {
        name: "opencv.bilateral",
        text: text(&["native_exp((float)(diff"]),
        options: "-Dradius=4 -Dmaxk=49 -Dcn=1 -Dint_t=int -Duint_t=uint -Dfloat_t=float -Duchar_t=uchar -Dgauss_color_coeff=-0.0008f -Dconvert_int_t=convert_int -Dconvert_float_t=convert_float -Dconvert_uchar_t=convert_uchar_sat_rte",
        kernel: "bilateral",
        grid: [512, 512, 1],
        group: [16, 16, 1],
        args: || {
            let (w, wide) = (512, 512 + 8);
            // The places of a disc of radius 4, and their weights.
            let near = (-4..=4).flat_map(|y: i32| (-4..=4).map(move |x: i32| (x, y)));
            let disc: Vec<(i32, i32)> = near.filter(|(x, y)| x * x + y * y <= 16).collect();
            let weight = |n: usize| (-0.05 * (disc[n].0.pow(2) + disc[n].1.pow(2)) as f32).exp();
            let weights = exact(floats(disc.len(), weight));
            let locations = exact(words(disc.len(), |n| (disc[n].1 * wide + disc[n].0) as u32));
            let source = bytes((wide * wide) as usize, 1);
            let made = out(w * w, Alike::Rounded);
            let mut args = images(source, wide as u32, made, w as u32, w as u32, w as u32);
            args.extend([weights, locations]);
            args
        },
    },
    Entry {
        name: "opencv.accumulate_weighted",
        text: text(&["void accumulate("]),
        options: "-DACCUMULATE_WEIGHTED -DsrcT1=uchar -DdstT1=float -Dcn=1 -DconvertToDT=convert_float -DrowsPerWI=4",
        kernel: "accumulate",
        grid: [1024, 256, 1],
        group: [64, 4, 1],
        args: || {
            let sums = Arg::Buffer(random_floats(N, 2), Alike::F32(1e-4));
            let mut args = images(bytes(N, 1), W, sums, 4 * W, W, W);
            args.push(float(0.1));
            args
        },
    },
    Entry {
        name: "opencv.corner",
        text: text(&["void corner("]),
        options: "-DanX=1 -DanY=1 -DksX=3 -DksY=3 -DBORDER_REFLECT101 -DCORNER_HARRIS",
        kernel: "corner",
        grid: [1024, 256, 1],
        group: [256, 1, 1],
        args: || {
            // Workgroups overlap by two columns, and each makes two rows.
            let (w, h) = (4 * 254, 512);
            let n = w * h;
            let mut args = Vec::new();
            for gradient in [between(n, 1, -1.0, 1.0), between(n, 2, -1.0, 1.0)] {
                args.push(gradient);
                args.extend(layout(4 * w as u32));
                args.extend([int(h as u32), int(w as u32)]);
            }
            args.push(out(4 * n, Alike::F32(1e-3)));
            args.extend(layout(4 * w as u32));
            args.extend([int(h as u32), int(w as u32), float(0.04)]);
            args
        },
    },
    Entry {
        name: "opencv.integral_sum_cols",
        text: text(&["void integral_sum_cols("]),
        options: "-DsumT=int -DLOCAL_SUM_SIZE=16",
        kernel: "integral_sum_cols",
        grid: [1024, 1, 1],
        group: [16, 1, 1],
        args: || {
            let mut args = vec![bytes(N, 1)];
            args.extend(layout(W));
            args.extend([int(W), int(W), zeros(4 * N)]);
            args.extend(layout(4 * W));
            args
        },
    },
];
