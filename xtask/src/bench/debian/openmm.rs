//! OpenMM, molecular dynamics: sorting, sums of forces.

use super::{Entry, Text};
use crate::bench::data::{Arg, Random, exact, floats, int, units, words, zeros};

const fn text(words: &'static [&'static str]) -> Text {
    let library = "usr/lib/x86_64-linux-gnu/openmm/plugins/libOpenMMOpenCL.so";
    Text::Inside("libopenmm-plugins", library, words)
}

const SORT: Text = text(&["KEY_TYPE getValue(DATA_TYPE value)"]);

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "openmm.sortShortList2",
        text: SORT,
        options: "-DDATA_TYPE=float -DKEY_TYPE=float -DSORT_KEY=value -DMIN_KEY=-MAXFLOAT -DMAX_KEY=MAXFLOAT -DMAX_VALUE=MAXFLOAT",
        kernel: "sortShortList2",
        grid: [4096, 1, 1],
        group: [64, 1, 1],
        args: || vec![units(4096, 1), zeros(4 * 4096), int(4096)],
    },
    Entry {
        name: "openmm.sortBuckets",
        text: SORT,
        options: "-DDATA_TYPE=float -DKEY_TYPE=float -DSORT_KEY=value -DMIN_KEY=-MAXFLOAT -DMAX_KEY=MAXFLOAT -DMAX_VALUE=MAXFLOAT",
        kernel: "sortBuckets",
        grid: [16384, 1, 1],
        group: [128, 1, 1],
        args: || {
            // Each bucket has 64 to 127 numbers.
            let (buckets, mut random, mut end) = (2048, Random(1), 0);
            let ends = words(buckets, |_| {
                end += 64 + random.word() % 64;
                end
            });
            let n = end as usize;
            vec![
                zeros(4 * n),
                units(n, 2),
                int(buckets as u32),
                exact(ends),
                Arg::Local(4 * 128),
            ]
        },
    },
    Entry {
        name: "openmm.copyDataToBuckets",
        text: SORT,
        options: "-DDATA_TYPE=float -DKEY_TYPE=float -DSORT_KEY=value -DMIN_KEY=-MAXFLOAT -DMAX_KEY=MAXFLOAT -DMAX_VALUE=MAXFLOAT",
        kernel: "copyDataToBuckets",
        grid: [262144, 1, 1],
        group: [128, 1, 1],
        args: || {
            // Each bucket gets 128 numbers in another order.
            let n = 1 << 20;
            let bucket = |at: usize| (at as u32).wrapping_mul(40503) % 8192;
            let mut counts = vec![0u32; 8192];
            let locations: Vec<u32> = (0..n)
                .map(|at| {
                    let count = &mut counts[bucket(at) as usize];
                    *count += 1;
                    *count - 1
                })
                .collect();
            let mut end = 0;
            let ends = words(8192, |at| {
                end += counts[at];
                end
            });
            let (of, locations) = (words(n, bucket), words(n, |at| locations[at]));
            let mut args = vec![units(n, 1), zeros(4 * n), int(n as u32), exact(ends)];
            args.extend([exact(of), exact(locations)]);
            args
        },
    },
    Entry {
        name: "openmm.reduceReal4Buffer",
        text: text(&["void reduceReal4Buffer("]),
        options: "-Dreal=float -Dreal4=float4 -Dmixed=float",
        kernel: "reduceReal4Buffer",
        grid: [32768, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (n, buffers) = (1 << 16, 8);
            // Sums of whole numbers are exact, in fixed point, too.
            let mut random = Random(1);
            let forces = exact(floats(4 * n * buffers, |_| (random.word() % 64) as f32));
            vec![forces, zeros(8 * 3 * n), int(n as u32), int(buffers as u32)]
        },
    },
];
