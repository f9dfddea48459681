//! Leela Zero, a Go program: convolutions of small boards.

use super::{Entry, Text};
use crate::bench::data::{int, result, units};

/// The common beginning of all kernels, and a kernel's own text.
const fn text(words: &'static [&'static str]) -> Text {
    Text::Inside("leela-zero", "usr/lib/leelaz/bin/leelaz", words)
}

const COMMON: &str = "#define ROUTINE_GEMMBATCHED";

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "leela.merge",
        text: text(&[COMMON, "void convolve1("]),
        options: "-DBOARD_SIZE=19 -DNUM_INTERSECTIONS=361 -DWINOGRAD_M=4 -DWINOGRAD_ALPHA=6 -DWTILES=5",
        kernel: "merge",
        grid: [256, 361, 2],
        group: [64, 1, 1],
        args: || vec![units(2 * 16 * 361 * 256, 1), result(2 * 361 * 256), int(16)],
    },
    Entry {
        name: "leela.in_transform",
        text: text(&[COMMON, "void in_transform("]),
        options: "-DBOARD_SIZE=19 -DNUM_INTERSECTIONS=361 -DWINOGRAD_M=4 -DWINOGRAD_ALPHA=6 -DWTILES=5",
        kernel: "in_transform",
        grid: [256, 128, 1],
        group: [64, 4, 1],
        args: || {
            let tiles = result(36 * 128 * 256);
            let mut args = vec![units(8 * 128 * 361, 1), tiles];
            args.extend([128, 128, 256, 8].map(int));
            args
        },
    },
    Entry {
        name: "leela.out_transform_fused_bn",
        text: text(&[COMMON, "void in_transform("]),
        options: "-DBOARD_SIZE=19 -DNUM_INTERSECTIONS=361 -DWINOGRAD_M=4 -DWINOGRAD_ALPHA=6 -DWTILES=5",
        kernel: "out_transform_fused_bn",
        grid: [128, 208, 1],
        group: [32, 2, 1],
        args: || {
            let (channels, tiles) = (128, 256);
            let mut args = vec![units(36 * channels * tiles, 1), result(8 * channels * 361)];
            args.extend([128, 128, 256, 8].map(int));
            args.extend([
                units(8 * channels * 361, 2),
                units(channels, 3),
                units(channels, 4),
            ]);
            args
        },
    },
];
