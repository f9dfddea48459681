//! Bullet, rigid bodies: pairs that may touch, trees of boxes, rays, contacts, scans.
//!
//! Left out are its sorts, batches and sequential solvers, which rely on lanes in lockstep, and kernels that write structures with
//! undefined fields.

use super::{Entry, Text};
use crate::bench::data::{
    Alike, Arg, Random, exact, float, floats, int, numbers, numbers_as_floats, out, vector, words,
    zeros,
};

const fn text(words: &'static [&'static str]) -> Text {
    let library = "usr/lib/x86_64-linux-gnu/libBullet3OpenCL_clew.so.3.24";
    Text::Inside("libbullet3.24", library, words)
}

const PAIRS: Text = text(&["void   computePairsKernelTwoArrays("]);
const GRID: Text = text(&["void kCalcHashAABB("]);
const TREE: Text = text(&["void separateAabbs("]);
const CONTACTS: Text = text(&["void AverageVelocitiesKernel("]);

/// A box: its corners.
type Corners = [[f32; 3]; 2];

/// Boxes in a cube with this edge, each between half and all of this size.
fn corners(n: usize, edge: f32, size: f32) -> Vec<Corners> {
    let mut random = Random(7);
    let mut one = || {
        let low: [f32; 3] = std::array::from_fn(|_| edge * random.unit());
        let high = low.map(|v| v + size * (0.5 + 0.5 * random.unit()));
        [low, high]
    };
    (0..n).map(|_| one()).collect()
}

/// The program's form of boxes: each corner has a fourth dword, the first of which is the box's index.
fn records(boxes: &[Corners]) -> Vec<u8> {
    words(8 * boxes.len(), |n| match n % 8 {
        3 => (n / 8) as u32,
        7 => 1,
        at => boxes[n / 8][at / 4][at % 4].to_bits(),
    })
}

fn indices(n: usize) -> Arg {
    exact(words(n, |n| n as u32))
}

/// The centre of a box as the kernels compute it.
fn centre(of: &Corners) -> [f32; 3] {
    std::array::from_fn(|n| (of[0][n] + of[1][n]) * 0.5)
}

/// The number of cells along an edge of the grid.
const CELLS: u32 = 32;

/// The grid's cell of each box, and the box's index, sorted.
fn cells(boxes: &[Corners]) -> Vec<(u32, u32)> {
    let cell = |of: &Corners| {
        let [x, y, z] = centre(of).map(|v| v.floor() as u32 & (CELLS - 1));
        (z * CELLS + y) * CELLS + x
    };
    let numbered = boxes.iter().zip(0u32..);
    let mut cells: Vec<_> = numbered.map(|(of, n)| (cell(of), n)).collect();
    cells.sort_unstable();
    cells
}

/// The number of cells for each unit of length, their numbers along the edges, and the most boxes in a cell.
fn grid() -> Arg {
    let one = 1.0f32.to_bits();
    let words_of = [one, one, one, 0, CELLS, CELLS, CELLS, 64];
    exact(words(8, |n| words_of[n]))
}

fn pairs_of_words(of: &[(u32, u32)]) -> Arg {
    exact(words(2 * of.len(), |n| match n % 2 {
        0 => of[n / 2].0,
        _ => of[n / 2].1,
    }))
}

/// Room for pairs of boxes, which are found in any order.
fn found(most: usize, bytes: usize) -> Arg {
    out(bytes * most, Alike::Unordered(bytes))
}

/// A rotation.
fn rotation(random: &mut Random) -> [f32; 4] {
    let q: [f32; 4] = std::array::from_fn(|_| random.unit() - 0.5);
    let length = q.iter().map(|v| v * v).sum::<f32>().sqrt().max(0.1);
    q.map(|v| v / length)
}

/// Bodies in a cube with this edge: positions, rotations, velocities, the shape's index, the inverse mass, and coefficients.
fn bodies(n: usize, edge: f32) -> Vec<u8> {
    let mut random = Random(11);
    let mut one = || {
        let mut body: Vec<u32> = Vec::new();
        body.extend((0..3).map(|_| (edge * random.unit()).to_bits()));
        body.push(0);
        body.extend(rotation(&mut random).map(f32::to_bits));
        for _ in 0..2 {
            body.extend((0..3).map(|_| (2.0 * random.unit() - 1.0).to_bits()));
            body.push(0);
        }
        let inverse_mass = 0.5 + random.unit();
        body.push(random.word() % 4);
        body.extend([inverse_mass, 0.0, 0.7].map(f32::to_bits));
        body
    };
    let all: Vec<u32> = (0..n).flat_map(|_| one()).collect();
    words(all.len(), |n| all[n])
}

/// Four shapes: convex hulls with these indices.
fn shapes() -> Arg {
    exact(words(4 * 4, |n| match n % 4 {
        2 => 3,
        3 => (n / 4) as u32,
        _ => 0,
    }))
}

/// The half of the edge of the `n`th hull, a block.
fn half_edge(n: usize, axis: usize) -> f32 {
    0.5 + 0.25 * ((n + axis) % 3) as f32
}

/// The hulls of four blocks.
fn hulls() -> Arg {
    exact(words(4 * 24, |n| {
        let hull = n / 24;
        match n % 24 {
            17 => 6 * hull as u32,
            18 => 6,
            19 => 8,
            20 => 8 * hull as u32,
            21 => 3 * hull as u32,
            22 => 3,
            at @ (4..7 | 12..15) => half_edge(hull, at % 4).to_bits(),
            _ => 0,
        }
    }))
}

/// The planes of the hulls' faces, each with the number of its vertices.
fn faces() -> Arg {
    exact(words(4 * 6 * 8, |n| {
        let (hull, face, at) = (n / 48, n / 8 % 6, n % 8);
        let (axis, sign) = (face / 2, [-1.0f32, 1.0][face % 2]);
        match at {
            3 => (-half_edge(hull, axis)).to_bits(),
            at if at == axis => sign.to_bits(),
            5 => 4,
            _ => 0,
        }
    }))
}

/// The corners of the hulls.
fn vertices() -> Arg {
    exact(floats(4 * 8 * 4, |n| {
        let (hull, vertex, axis) = (n / 32, n / 4 % 8, n % 4);
        match axis {
            3 => 0.0,
            _ if vertex >> axis & 1 == 1 => half_edge(hull, axis),
            _ => -half_edge(hull, axis),
        }
    }))
}

/// The directions of the hulls' edges.
fn edges() -> Arg {
    exact(floats(4 * 3 * 4, |n| f32::from(n / 4 % 3 == n % 4)))
}

/// Rays through a cube with this edge: the ends.
fn rays(n: usize, edge: f32) -> Arg {
    let mut random = Random(5);
    exact(floats(8 * n, |at| match at % 4 {
        3 => 0.0,
        _ => edge * (1.2 * random.unit() - 0.1),
    }))
}

/// Sorted Z-order codes of boxes, each with the box's index.
fn codes(n: usize) -> Vec<(u32, u32)> {
    let mut random = Random(3);
    let mut codes: Vec<_> = (0..n as u32).map(|n| (random.word() >> 2, n)).collect();
    codes.sort_unstable();
    codes
}

/// The common prefixes of neighbouring codes, which are extended by the index, and their lengths.
fn prefixes(codes: &[(u32, u32)]) -> Vec<(u64, u32)> {
    let long: Vec<u64> = codes
        .iter()
        .zip(0u64..)
        .map(|(code, n)| u64::from(code.0) << 32 | n)
        .collect();
    let common = |pair: &[u64]| {
        let length = (pair[0] ^ pair[1]).leading_zeros();
        (pair[0] & pair[1] & !0 << (64 - length), length)
    };
    long.windows(2).map(common).collect()
}

/// A binary tree over sorted boxes.
struct Tree {
    /// The children of each node; the top bit marks one that is a node, not a leaf.
    children: Vec<(u32, u32)>,
    /// The first and last leaf below each node.
    ranges: Vec<(u32, u32)>,
    bounds: Vec<Corners>,
}

impl Tree {
    const NODE: u32 = 1 << 31;

    /// Builds the part over the leaves from `first` to `last`; returns its root and bounds.
    fn part(
        &mut self,
        lengths: &[u32],
        leaves: &[Corners],
        first: usize,
        last: usize,
    ) -> (u32, Corners) {
        if first == last {
            return (first as u32, leaves[first]);
        }
        let node = (first..last)
            .min_by_key(|&n| lengths[n])
            .unwrap_or_default();
        let (left, a) = self.part(lengths, leaves, first, node);
        let (right, b) = self.part(lengths, leaves, node + 1, last);
        let bounds = [
            std::array::from_fn(|n| a[0][n].min(b[0][n])),
            std::array::from_fn(|n| a[1][n].max(b[1][n])),
        ];
        self.children[node] = (left, right);
        self.ranges[node] = (first as u32, last as u32);
        self.bounds[node] = bounds;
        (node as u32 | Tree::NODE, bounds)
    }

    /// Bits of three coordinates, interleaved.
    fn code(of: &Corners, edge: f32) -> u32 {
        let cell = centre(of).map(|v| (v / edge * 1023.0) as u32);
        (0..30).fold(0, |code, bit| {
            code | (cell[bit % 3] >> (bit / 3) & 1) << bit
        })
    }
}

/// Boxes in a cube, and the arguments that describe a tree over them up to the sorted codes.
fn tree(n: usize, edge: f32, size: f32) -> Vec<Arg> {
    let boxes = corners(n, edge, size);
    let numbered = boxes.iter().zip(0u32..);
    let mut codes: Vec<_> = numbered
        .map(|(of, n)| (Tree::code(of, 1.1 * edge), n))
        .collect();
    codes.sort_unstable();
    let leaves: Vec<Corners> = codes.iter().map(|code| boxes[code.1 as usize]).collect();
    let lengths: Vec<u32> = prefixes(&codes).iter().map(|prefix| prefix.1).collect();
    let mut tree = Tree {
        children: vec![(0, 0); n - 1],
        ranges: vec![(0, 0); n - 1],
        bounds: vec![[[0.0; 3]; 2]; n - 1],
    };
    let (root, _) = tree.part(&lengths, &leaves, 0, n - 1);
    vec![
        exact(records(&boxes)),
        exact(words(1, |_| root)),
        pairs_of_words(&tree.children),
        exact(records(&tree.bounds)),
        pairs_of_words(&tree.ranges),
        pairs_of_words(&codes),
    ]
}

/// The constraints of contacts of four points between two bodies each, and the other arguments of a solver.
fn solver(contacts: usize) -> Vec<Arg> {
    // Each body takes part in four contacts, and has a velocity for each of them.
    let n = contacts / 2;
    let mut random = Random(9);
    let mut share = vec![0u32; n];
    let (mut constraints, mut offsets) = (Vec::new(), Vec::new());
    for contact in 0..contacts {
        let (a, b) = (contact / 2, (contact / 2 + 1 + contact % 2 * 5) % n);
        let mut signed = || random.unit() - 0.5;
        let normal = [signed(), signed(), 1.0f32];
        let length = normal.iter().map(|v| v * v).sum::<f32>().sqrt();
        let mut one: Vec<f32> = normal.iter().map(|v| v / length).collect();
        one.push(0.7);
        for _ in 0..5 {
            one.extend([8.0 + signed(), 8.0 + signed(), 8.0 + signed(), 0.0]);
        }
        one.extend((0..4).map(|_| -0.1 + 0.05 * signed()));
        one.extend((0..4).map(|_| 0.1 * signed()));
        one.extend((0..4).map(|_| 0.5 + signed()));
        one.extend([-0.1, -0.12, 0.0, 0.0]);
        constraints.extend(one.into_iter().map(f32::to_bits));
        constraints.extend([a as u32, b as u32, 0, 0]);
        for body in [a, b] {
            offsets.push(share[body]);
            share[body] += 1;
        }
    }
    let mut end = 0;
    let starts = words(n, |body| {
        end += share[body];
        end - share[body]
    });
    let inertia = floats(24 * n, |at| match at % 12 {
        0 | 5 | 10 => 0.4,
        3 | 7 | 11 => 0.0,
        _ => 0.01,
    });
    let mut velocities = Random(10);
    let mut split = || {
        floats(4 * 2 * contacts, |at| {
            f32::from(at % 4 < 3) * 0.1 * velocities.unit()
        })
    };
    let near = Alike::F32(1e-3);
    let mut args = vec![
        Arg::Buffer(words(constraints.len(), |at| constraints[at]), near),
        exact(bodies(n, 16.0)),
        exact(inertia),
        exact(words(offsets.len(), |at| offsets[at])),
        exact(starts),
        Arg::Buffer(split(), near),
        Arg::Buffer(split(), near),
    ];
    args.extend([0.016, 0.01, 0.2].map(float));
    args.extend([int(u32::MAX), int(contacts as u32)]);
    args
}

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "bullet.computePairsKernelTwoArrays",
        text: PAIRS,
        options: "",
        kernel: "computePairsKernelTwoArrays",
        grid: [1024, 512, 1],
        group: [64, 1, 1],
        args: || {
            let (small, large, most) = (1024, 512, 1 << 14);
            let boxes = records(&corners(small + large, 32.0, 6.0));
            let others = exact(words(large, |n| (small + n) as u32));
            let mut args = vec![exact(boxes), indices(small), others];
            args.extend([found(most, 16), zeros(4)]);
            args.extend([small as u32, large as u32, 0, most as u32].map(int));
            args
        },
    },
    Entry {
        name: "bullet.computePairsKernelLocalSharedMemory",
        text: PAIRS,
        options: "",
        kernel: "computePairsKernelLocalSharedMemory",
        grid: [8192, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (n, most) = (8192, 1 << 14);
            let mut boxes = corners(n, 100.0, 1.0);
            boxes.sort_unstable_by(|a, b| a[0][0].total_cmp(&b[0][0]));
            let mut args = vec![exact(records(&boxes)), found(most, 16), zeros(4)];
            args.extend([n as u32, 0, most as u32].map(int));
            args
        },
    },
    Entry {
        name: "bullet.computePairsKernelOriginal",
        text: PAIRS,
        options: "",
        kernel: "computePairsKernelOriginal",
        grid: [16384, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (n, most) = (16384, 1 << 15);
            let mut boxes = corners(n, 128.0, 1.0);
            boxes.sort_unstable_by(|a, b| a[0][0].total_cmp(&b[0][0]));
            let mut args = vec![exact(records(&boxes)), found(most, 16), zeros(4)];
            args.extend([n as u32, 0, most as u32].map(int));
            args
        },
    },
    Entry {
        name: "bullet.prepareSumVarianceKernel",
        text: PAIRS,
        options: "",
        kernel: "prepareSumVarianceKernel",
        grid: [524288, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 19;
            // The fourth dword of a corner is no float, and neither is what comes of it.
            let made = || out(16 * n, Alike::Xyz(1e-4));
            vec![
                exact(records(&corners(n, 32.0, 1.0))),
                indices(n),
                made(),
                made(),
                int(n as u32),
            ]
        },
    },
    Entry {
        name: "bullet.kCalcHashAABB",
        text: GRID,
        options: "",
        kernel: "kCalcHashAABB",
        grid: [131072, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 17;
            let boxes = records(&corners(n, 31.0, 1.0));
            vec![
                int(n as u32),
                exact(boxes),
                indices(n),
                zeros(8 * n),
                grid(),
            ]
        },
    },
    Entry {
        name: "bullet.kFindCellStart",
        text: GRID,
        options: "",
        kernel: "kFindCellStart",
        grid: [262144, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (n, most) = (1 << 18, 1 << 16);
            let mut random = Random(2);
            let mut cells: Vec<_> = (0..n).map(|n| (random.word() % most, n)).collect();
            cells.sort_unstable();
            let starts = words(most as usize, |_| u32::MAX);
            vec![int(n), pairs_of_words(&cells), exact(starts)]
        },
    },
    Entry {
        name: "bullet.kFindOverlappingPairs",
        text: GRID,
        options: "",
        kernel: "kFindOverlappingPairs",
        grid: [16384, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (n, most) = (1 << 14, 1 << 15);
            let boxes = corners(n, 31.0, 0.9);
            let cells = cells(&boxes);
            let mut starts = vec![u32::MAX; (CELLS * CELLS * CELLS) as usize];
            for (at, cell) in cells.iter().enumerate().rev() {
                starts[cell.0 as usize] = at as u32;
            }
            let mut args = vec![int(n as u32), exact(records(&boxes)), indices(n)];
            args.extend([
                pairs_of_words(&cells),
                exact(words(starts.len(), |n| starts[n])),
            ]);
            args.extend([grid(), zeros(4), found(most, 16), int(most as u32)]);
            args
        },
    },
    Entry {
        name: "bullet.assignMortonCodesAndAabbIndicies",
        text: TREE,
        options: "",
        kernel: "assignMortonCodesAndAabbIndicies",
        grid: [131072, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 17;
            let bounds = [[0.0; 3], [101.0; 3]];
            // Rounded quotients select cells.
            vec![
                exact(records(&corners(n, 100.0, 1.0))),
                exact(records(&[bounds])),
                out(8 * n, Alike::Mostly(0.001)),
                int(n as u32),
            ]
        },
    },
    Entry {
        name: "bullet.plbvhCalculateOverlappingPairs",
        text: TREE,
        options: "",
        kernel: "plbvhCalculateOverlappingPairs",
        grid: [4096, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (n, most) = (1 << 12, 1 << 14);
            let mut args = tree(n, 32.0, 2.0);
            args.extend([zeros(4), found(most, 16), int(most as u32), int(n as u32)]);
            args
        },
    },
    Entry {
        name: "bullet.plbvhRayTraverse",
        text: TREE,
        options: "",
        kernel: "plbvhRayTraverse",
        grid: [4096, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (n, most) = (1 << 12, 1 << 16);
            let mut args = tree(n, 32.0, 1.0);
            args.extend([rays(n, 32.0), zeros(4), found(most, 8)]);
            args.extend([int(most as u32), int(n as u32)]);
            args
        },
    },
    Entry {
        name: "bullet.plbvhLargeAabbRayTest",
        text: TREE,
        options: "",
        kernel: "plbvhLargeAabbRayTest",
        grid: [16384, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (n, boxes, most) = (1 << 14, 32, 1 << 16);
            let mut args = vec![exact(records(&corners(boxes, 32.0, 4.0))), rays(n, 32.0)];
            args.extend([zeros(4), found(most, 8)]);
            args.extend([boxes as u32, most as u32, n as u32].map(int));
            args
        },
    },
    Entry {
        name: "bullet.computeAdjacentPairCommonPrefix",
        text: TREE,
        options: "",
        kernel: "computeAdjacentPairCommonPrefix",
        grid: [524288, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 19;
            let made = [8 * n, 4 * n].map(zeros);
            let mut args = vec![pairs_of_words(&codes(n))];
            args.extend(made);
            args.push(int(n as u32 - 1));
            args
        },
    },
    Entry {
        name: "bullet.buildBinaryRadixTreeInternalNodes",
        text: TREE,
        options: "",
        kernel: "buildBinaryRadixTreeInternalNodes",
        grid: [32768, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 15;
            let prefixes = prefixes(&codes(n));
            let common = words(2 * (n - 1), |at| {
                (prefixes[at / 2].0 >> (32 * (at % 2))) as u32
            });
            let lengths = words(n - 1, |at| prefixes[at].1);
            let mut args = vec![exact(common), exact(lengths)];
            args.extend([8 * n, 4 * n, 4].map(zeros));
            args.push(int(n as u32 - 1));
            args
        },
    },
    Entry {
        name: "bullet.findSeparatingAxisKernel",
        text: text(&["void   findSeparatingAxisKernel("]),
        options: "",
        kernel: "findSeparatingAxisKernel",
        grid: [4096, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (n, count) = (1 << 12, 1024);
            let pairs = words(4 * n, |at| {
                let (pair, a) = (at / 4, at / 4 % count);
                match at % 4 {
                    0 => a as u32,
                    1 => ((a + 1 + pair / count) % count) as u32,
                    _ => u32::MAX,
                }
            });
            let mut args = vec![exact(pairs), exact(bodies(count, 2.0)), shapes(), hulls()];
            args.extend([vertices(), edges(), faces(), zeros(4), zeros(32)]);
            // Of axes with nearly the same depth, rounding selects one.
            args.extend([
                out(16 * n, Alike::Few(1e-3, 0.01)),
                out(4 * n, Alike::Mostly(0.001)),
                int(n as u32),
            ]);
            args
        },
    },
    Entry {
        name: "bullet.SearchSortDataLowerKernel",
        text: text(&["void SearchSortDataLowerKernel("]),
        options: "",
        kernel: "SearchSortDataLowerKernel",
        grid: [524288, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (n, keys) = (1 << 19, 1 << 15);
            let mut random = Random(2);
            let mut sorted: Vec<_> = (0..n).map(|n| (random.word() % keys, n)).collect();
            sorted.sort_unstable();
            let mut args = vec![pairs_of_words(&sorted), zeros(4 * keys as usize)];
            args.extend([n, keys].map(int));
            args
        },
    },
    Entry {
        name: "bullet.LocalScanKernel",
        text: text(&["u32 ScanExclusive(__local u32* data"]),
        options: "",
        kernel: "LocalScanKernel",
        grid: [131072, 1, 1],
        group: [128, 1, 1],
        args: || {
            let n = 1 << 18;
            let size = words(4, |at| [n as u32, 0, 0, 0][at]);
            vec![
                zeros(4 * n),
                numbers(n, 1, 1 << 10),
                zeros(4 * n / 256),
                Arg::Value(size),
            ]
        },
    },
    Entry {
        name: "bullet.LocalScanKernel-float4",
        text: text(&["ScanExclusiveFloat4("]),
        options: "",
        kernel: "LocalScanKernel",
        grid: [65536, 1, 1],
        group: [128, 1, 1],
        args: || {
            // Sums of whole numbers are exact.
            let n = 1 << 17;
            let size = words(4, |at| [n as u32, 0, 0, 0][at]);
            vec![
                zeros(16 * n),
                numbers_as_floats(4 * n, 1, 16),
                zeros(16 * n / 256),
                Arg::Value(size),
            ]
        },
    },
    Entry {
        name: "bullet.StreamCountKernel",
        text: text(&["void StreamCountKernel("]),
        options: "",
        kernel: "StreamCountKernel",
        grid: [4096, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (groups, blocks) = (64, 32);
            let n = groups * blocks * 256;
            let sizes = [n, groups, 8, blocks];
            let made = zeros(4 * 16 * groups);
            let keys = numbers(n, 1, 1 << 30);
            vec![keys, made, Arg::Value(words(4, |at| sizes[at] as u32))]
        },
    },
    Entry {
        name: "bullet.rayCastKernel",
        text: text(&["void rayCastKernel("]),
        options: "",
        kernel: "rayCastKernel",
        grid: [4096, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (n, count) = (1 << 12, 48);
            // A ray hits all bodies.
            let hits = words(12 * n, |at| match at % 12 {
                3 => u32::MAX,
                _ => 0,
            });
            // Where rays graze a block, rounding decides.
            let hits = Arg::Buffer(hits, Alike::Few(1e-2, 0.001));
            let mut args = vec![int(n as u32), rays(n, 12.0), hits, int(count as u32)];
            args.extend([exact(bodies(count, 12.0)), shapes(), faces(), hulls()]);
            args
        },
    },
    Entry {
        name: "bullet.AverageVelocitiesKernel",
        text: CONTACTS,
        options: "",
        kernel: "AverageVelocitiesKernel",
        grid: [131072, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 17;
            let mut random = Random(4);
            let counts: Vec<u32> = (0..n).map(|_| 1 + random.word() % 6).collect();
            let mut end = 0;
            let starts = words(n, |at| {
                end += counts[at];
                end - counts[at]
            });
            let mut velocities = Random(5);
            let mut split = || {
                let data = floats(4 * end as usize, |_| velocities.unit());
                Arg::Buffer(data, Alike::F32(1e-4))
            };
            let velocities = [split(), split()];
            let counts = exact(words(n, |at| counts[at]));
            let mut args = vec![exact(bodies(n, 16.0)), exact(starts), counts];
            args.extend(velocities);
            args.push(int(n as u32));
            args
        },
    },
    Entry {
        name: "bullet.SolveContactJacobiKernel",
        text: CONTACTS,
        options: "",
        kernel: "SolveContactJacobiKernel",
        grid: [32768, 1, 1],
        group: [64, 1, 1],
        args: || solver(1 << 15),
    },
    Entry {
        name: "bullet.SolveFrictionJacobiKernel",
        text: CONTACTS,
        options: "",
        kernel: "SolveFrictionJacobiKernel",
        grid: [32768, 1, 1],
        group: [64, 1, 1],
        args: || solver(1 << 15),
    },
    Entry {
        name: "bullet.integrateTransformsKernel",
        text: text(&["integrateTransformsKernel("]),
        options: "",
        kernel: "integrateTransformsKernel",
        grid: [65536, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 16;
            let moved = Arg::Buffer(bodies(n, 16.0), Alike::F32(1e-3));
            let gravity = vector(&[0.0, -9.81, 0.0, 0.0]);
            vec![moved, int(n as u32), float(0.016), float(0.99), gravity]
        },
    },
    Entry {
        name: "bullet.initializeGpuAabbsFull",
        text: text(&["void initializeGpuAabbsFull("]),
        options: "",
        kernel: "initializeGpuAabbsFull",
        grid: [65536, 1, 1],
        group: [64, 1, 1],
        args: || {
            let n = 1 << 16;
            let blocks: Vec<Corners> = (0..4)
                .map(|n| {
                    let high: [f32; 3] = std::array::from_fn(|axis| half_edge(n, axis));
                    [high.map(|v| -v), high]
                })
                .collect();
            // The kernel reads the inverse mass of the body whose index is twice its own.
            vec![
                int(n as u32),
                exact(bodies(2 * n, 16.0)),
                shapes(),
                exact(records(&blocks)),
                out(32 * n, Alike::F32(1e-3)),
            ]
        },
    },
];
