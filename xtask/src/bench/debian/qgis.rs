//! QGIS, maps: slopes and shades of a terrain. Each launch makes one row.

use super::{Entry, Text};
use crate::bench::data::{Alike, Arg, Random, exact, floats, out};

macro_rules! text {
    ($name:literal) => {
        Text::Files(&[(
            "qgis-common",
            concat!("usr/share/qgis/resources/opencl_programs/", $name),
        )])
    };
}

const N: usize = 1 << 18;

/// The height where there is none.
const NOTHING: f32 = -9999.0;

/// Three rows of heights, the result, and parameters.
fn row(made: Arg, parameters: &[f32]) -> Vec<Arg> {
    let heights = |seed| {
        let mut random = Random(seed);
        exact(floats(N + 2, |n| match random.word() % 64 {
            0 => NOTHING,
            _ => 300.0 + 100.0 * (n as f32 * 0.001).sin() + 20.0 * random.unit(),
        }))
    };
    let all = exact(floats(2 + parameters.len(), |n| match n {
        0 | 1 => NOTHING,
        n => parameters[n - 2],
    }));
    vec![heights(1), heights(2), heights(3), made, all]
}

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "qgis.processNineCellWindow-hillshade",
        text: text!("hillshade.cl"),
        options: "",
        kernel: "processNineCellWindow",
        grid: [262144, 1, 1],
        group: [64, 1, 1],
        args: || {
            row(
                out(4 * N, Alike::F32(1e-3)),
                &[1.0, 30.0, 30.0, 0.707, 0.707, 5.236],
            )
        },
    },
    Entry {
        name: "qgis.processNineCellWindow-ruggedness",
        text: text!("ruggedness.cl"),
        options: "",
        kernel: "processNineCellWindow",
        grid: [262144, 1, 1],
        group: [64, 1, 1],
        args: || row(out(4 * N, Alike::F32(1e-4)), &[1.0, 30.0, 30.0]),
    },
    Entry {
        name: "qgis.processNineCellWindow-aspect_renderer",
        text: text!("aspect_renderer.cl"),
        options: "",
        kernel: "processNineCellWindow",
        grid: [262144, 1, 1],
        group: [64, 1, 1],
        args: || row(out(4 * N, Alike::Rounded), &[1.0, 30.0, 30.0]),
    },
];
