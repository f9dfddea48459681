//! Boost.Compute: a radix sort. Its kernels are one text of literals.

use super::{Entry, Text};
use crate::bench::data::{Arg, Random, exact, int, random_words, words, zeros};

const SORT: Text = Text::Literals {
    package: "libboost1.74-dev",
    file: "usr/include/boost/compute/algorithm/detail/radix_sort.hpp",
    from: "const char radix_sort_source[] =",
    to: "template<class T, class T2>",
    replace: &[],
};

/// Digits of four bits, and blocks of this size.
const OPTIONS: &str = "-DK_BITS=4 -DT=uint -DBLOCK_SIZE=128 -DASC";
const BLOCK: usize = 128;

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "boost.count",
        text: SORT,
        options: OPTIONS,
        kernel: "count",
        grid: [524288, 1, 1],
        group: [128, 1, 1],
        args: || {
            let n = 1 << 19;
            let mut args = vec![random_words(n, 1), int(0), int(n as u32)];
            args.extend([zeros(4 * 16 * n / BLOCK), zeros(64), Arg::Local(64), int(8)]);
            args
        },
    },
    Entry {
        name: "boost.scatter",
        text: SORT,
        options: OPTIONS,
        kernel: "scatter",
        grid: [262144, 1, 1],
        group: [128, 1, 1],
        args: || {
            let n = 1 << 18;
            let mut random = Random(1);
            let keys: Vec<u32> = (0..n).map(|_| random.word()).collect();
            // How many keys with each digit the blocks before have, and where each digit begins.
            let mut before = [0u32; 16];
            let mut blocks = Vec::new();
            for block in keys.chunks(BLOCK) {
                blocks.extend(before);
                for key in block {
                    before[(key >> 8 & 15) as usize] += 1;
                }
            }
            let starts = words(16, |digit| before[..digit].iter().sum());
            let mut args = vec![exact(words(n, |n| keys[n]))];
            args.extend([0, n as u32, 8].map(int));
            args.push(exact(words(blocks.len(), |n| blocks[n])));
            args.extend([exact(starts), zeros(4 * n), int(0)]);
            args
        },
    },
];
