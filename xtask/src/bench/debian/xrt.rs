//! XRT, X-ray beams: radiation of undulators, waves from a surface to a screen.

use super::{Entry, Text};
use crate::bench::data::{Alike, Arg, Random, between, exact, float, floats, int, out, units};

macro_rules! text {
    ($name:literal) => {
        Text::Files(&[(
            "python3-xrt",
            concat!("usr/lib/python3/dist-packages/xrt/backends/raycing/", $name),
        )])
    };
}

/// Vectors of three components, which take the room of four.
fn vectors(n: usize, seed: u64, of: impl Fn(usize, f32) -> f32) -> Arg {
    let mut random = Random(seed);
    exact(floats(4 * n, |at| match at % 4 {
        3 => 0.0,
        axis => of(axis, random.unit()),
    }))
}

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "xrt.undulator",
        text: text!("undulator.cl"),
        options: "",
        kernel: "undulator",
        grid: [4096, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (n, nodes) = (4096, 256);
            let node = |n: usize| 2.0 * std::f32::consts::PI * (n as f32 / 256.0 - 0.5);
            let table = |of: fn(f32) -> f32| exact(floats(nodes, |n| of(node(n))));
            let mut args: Vec<Arg> = [0.0, 0.5, 1.5].map(float).into();
            args.push(int(nodes as u32));
            args.extend([between(n, 1, 5800.0, 5900.0), between(n, 2, 0.9, 1.1)]);
            args.extend([between(n, 3, 0.9e4, 1.1e4), between(n, 4, 1.0, 9.0)]);
            args.extend([between(n, 5, -2e-4, 2e-4), between(n, 6, -2e-4, 2e-4)]);
            args.extend([
                table(|t| t),
                units(nodes, 7),
                table(f32::sin),
                table(f32::cos),
            ]);
            args.extend([table(|t| (t + 1.0).sin()), table(|t| (t + 1.0).cos())]);
            args.extend([out(8 * n, Alike::F32(1e-2)), out(8 * n, Alike::F32(1e-2))]);
            args
        },
    },
    Entry {
        name: "xrt.custom_field_filament",
        text: text!("undulator.cl"),
        options: "",
        kernel: "custom_field_filament",
        grid: [2048, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (n, nodes) = (2048, 128);
            // Angles large enough for single precision.
            let mut args = vec![int(nodes as u32)];
            args.extend([1e-3, 0.01, 100.0, 3.0].map(float));
            args.extend([between(n, 1, 0.1, 0.3), between(n, 2, 0.1, 0.3)]);
            args.extend([between(nodes, 3, 0.0, 10.0), units(nodes, 4)]);
            args.extend((5..8).map(|seed| between(nodes, seed, -1.0, 1.0)));
            args.extend((8..10).map(|seed| between(nodes, seed, -0.1, 0.0)));
            args.extend((10..13).map(|seed| between(nodes, seed, -1.0, 1.0)));
            args.extend([out(8 * n, Alike::F32(1e-2)), out(8 * n, Alike::F32(1e-2))]);
            args
        },
    },
    Entry {
        name: "xrt.integrate_kirchhoff",
        text: text!("diffract.cl"),
        options: "",
        kernel: "integrate_kirchhoff",
        grid: [2048, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (n, rays) = (2048, 256);
            let mut args = vec![int(rays as u32)];
            args.extend([
                between(n, 1, -5.0, 5.0),
                between(n, 2, 100.0, 101.0),
                between(n, 3, -5.0, 5.0),
            ]);
            args.extend([units(rays, 4), units(2 * rays, 5), units(2 * rays, 6)]);
            args.push(between(rays, 7, 9.0, 10.0));
            args.push(vectors(rays, 8, |_, v| v));
            args.push(vectors(
                rays,
                9,
                |axis, v| if axis == 2 { 1.0 } else { 0.01 * v },
            ));
            args.extend((0..5).map(|_| out(8 * n, Alike::F32(1e-2))));
            args
        },
    },
];
