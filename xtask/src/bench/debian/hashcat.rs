//! hashcat, password recovery: candidates and hashes.

use super::{Entry, Text};
use crate::bench::data::{Arg, Random, exact, int, random_words, words, zeros};

/// A file of the program's kernels, which include others of the same folder.
macro_rules! text {
    ($name:literal) => {
        Text::Files(&[("hashcat-data", concat!("usr/share/hashcat/OpenCL/", $name))])
    };
}

/// What the program defines for every kernel.
const GIVEN: &str = "-DKERNEL_STATIC -DXM2S(x)=#x -DM2S(x)=XM2S(x) -DINCLUDE_PATH=. -DVECT_SIZE=1 -DDEVICE_TYPE=2 \
                     -DVENDOR_ID=64 -DDGST_R0=0 -DDGST_R1=3 -DDGST_R2=2 -DDGST_R3=1 -DDGST_ELEM=4 -D_unroll";
/// The dwords of a candidate: 256 characters and their number.
const CANDIDATE: usize = 65;
/// The dwords of a list of characters: up to 256 and their number.
const LIST: usize = 257;

/// Candidates of eight letters.
fn candidates(n: usize) -> Vec<u8> {
    let mut random = Random(1);
    words(CANDIDATE * n, |at| match at % CANDIDATE {
        0 | 1 => 0x6161_6161 + (random.word() & 0x0f0f_0f0f),
        64 => 8,
        _ => 0,
    })
}

/// A value of 64 bits.
fn long(value: u64) -> Arg {
    Arg::Value(value.to_le_bytes().to_vec())
}

/// The arguments of a kernel that goes on with a slow hash: this number of rounds for `n` candidates with this state.
fn rounds(n: usize, rounds: u32, state: Arg) -> Vec<Arg> {
    let nothing = || zeros(1024);
    let mut args = vec![exact(candidates(n)), nothing(), nothing(), nothing(), state];
    args.extend((0..19).map(|_| nothing()));
    // Where the program counts from: the rounds, and the candidates.
    let counts = words(16, |at| match at {
        5 => rounds,
        14 => n as u32,
        _ => 0,
    });
    args.push(exact(counts));
    args
}

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "hashcat.amp",
        text: text!("amp_a3.cl"),
        options: GIVEN,
        kernel: "amp",
        grid: [65536, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 16;
            let mut args = vec![exact(candidates(n)), zeros(256), zeros(256), zeros(256)];
            args.extend([exact(words(64, |_| 0x7800_0000)), int(0), long(n as u64)]);
            args
        },
    },
    Entry {
        name: "hashcat.l_markov",
        text: text!("markov_le.cl"),
        options: GIVEN,
        kernel: "l_markov",
        grid: [32768, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 15;
            // Lists of 26 letters, each in another order.
            let lists = |lists: usize| {
                exact(words(lists * LIST, |at| match at % LIST {
                    256 => 26,
                    location => u32::from(b'a') + (location as u32 + (at / LIST) as u32 * 7) % 26,
                }))
            };
            let mut args = vec![
                zeros(4 * CANDIDATE * n),
                lists(16),
                lists(16 * 256),
                long(1000),
            ];
            args.extend([4, 3, 0x80, 1, 0].map(int));
            args.push(long(n as u64));
            args
        },
    },
    Entry {
        name: "hashcat.m00400_loop",
        text: text!("m00400-pure.cl"),
        options: GIVEN,
        kernel: "m00400_loop",
        grid: [4096, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 12;
            rounds(n, 64, random_words(4 * n, 2))
        },
    },
    Entry {
        name: "hashcat.m07100_loop",
        text: text!("m07100-pure.cl"),
        options: GIVEN,
        kernel: "m07100_loop",
        grid: [1024, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 10;
            rounds(n, 8, random_words(96 * n, 2))
        },
    },
    Entry {
        name: "hashcat.m03200_loop",
        text: text!("m03200-pure.cl"),
        options: concat!(
            "-DKERNEL_STATIC -DXM2S(x)=#x -DM2S(x)=XM2S(x) -DINCLUDE_PATH=. -DVECT_SIZE=1 -DDEVICE_TYPE=2 ",
            "-DVENDOR_ID=64 -DDGST_R0=0 -DDGST_R1=1 -DDGST_R2=2 -DDGST_R3=3 -DDGST_ELEM=6 -D_unroll ",
            "-DFIXED_LOCAL_SIZE=8"
        ),
        kernel: "m03200_loop",
        grid: [64, 1, 1],
        group: [8, 1, 1],
        args: || {
            let n = 64;
            rounds(n, 1, random_words((18 + 18 + 1024) * n, 2))
        },
    },
];
