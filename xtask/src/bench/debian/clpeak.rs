//! clpeak, which measures devices: arithmetic in loops, loads of vectors.

use super::{Entry, Text};
use crate::bench::data::{Alike, Arg, float, int, out, result, units, zeros};

/// The program's kernels are one text.
const TEXT: Text = Text::Inside("clpeak", "usr/bin/clpeak", &["void compute_sp_v1"]);

const N: usize = 1 << 16;

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "clpeak.compute_sp_v1",
        text: TEXT,
        options: "-cl-mad-enable",
        kernel: "compute_sp_v1",
        grid: [8192, 1, 1],
        group: [256, 1, 1],
        args: || vec![result(N / 8), float(1.3)],
    },
    Entry {
        name: "clpeak.compute_sp_v4",
        text: TEXT,
        options: "-cl-mad-enable",
        kernel: "compute_sp_v4",
        grid: [32768, 1, 1],
        group: [256, 1, 1],
        args: || vec![result(N / 2), float(1.3)],
    },
    Entry {
        name: "clpeak.compute_dp_v2",
        text: TEXT,
        options: "-cl-mad-enable",
        kernel: "compute_dp_v2",
        grid: [16384, 1, 1],
        group: [256, 1, 1],
        args: || {
            let a = Arg::Value(1.3f64.to_le_bytes().to_vec());
            vec![out(2 * N, Alike::F64(1e-6)), a]
        },
    },
    Entry {
        name: "clpeak.compute_integer_v4",
        text: TEXT,
        options: "-cl-mad-enable",
        kernel: "compute_integer_v4",
        grid: [32768, 1, 1],
        group: [256, 1, 1],
        args: || vec![zeros(2 * N), int(4)],
    },
    Entry {
        name: "clpeak.global_bandwidth_v4_local_offset",
        text: TEXT,
        options: "-cl-mad-enable",
        kernel: "global_bandwidth_v4_local_offset",
        grid: [131072, 1, 1],
        group: [256, 1, 1],
        args: || vec![units(64 << 17, 1), result(1 << 17)],
    },
    Entry {
        name: "clpeak.global_bandwidth_v1_global_offset",
        text: TEXT,
        options: "-cl-mad-enable",
        kernel: "global_bandwidth_v1_global_offset",
        grid: [524288, 1, 1],
        group: [256, 1, 1],
        args: || vec![units(16 << 19, 1), result(1 << 19)],
    },
];
