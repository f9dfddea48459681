//! Mandelbulber, three-dimensional fractals: rays that march to a surface, shades and blurs of depth.

use super::{Entry, Text};
use crate::bench::data::{Alike, Arg, between, exact, int, out, units, words};

/// Files of the program, which it puts together.
macro_rules! text {
    ($($name:literal),+) => {
        Text::Files(&[$((
            "mandelbulber2-data",
            concat!("usr/share/mandelbulber2/", $name),
        )),+])
    };
}

const FRACTAL: Text = text!(
    "opencl/defines_cl.h",
    "opencl/opencl_typedefs.h",
    "opencl/opencl_algebra.h",
    "opencl/common_params_cl.hpp",
    "opencl/image_adjustments_cl.h",
    "opencl/fractal_cl.h",
    "opencl/fractal_coloring_cl.hpp",
    "opencl/fractparams_cl.hpp",
    "opencl/fractal_sequence_cl.h",
    "opencl/texture_enums_cl.h",
    "opencl/material_cl.h",
    "opencl/object_type_cl.h",
    "opencl/object_data_cl.h",
    "opencl/primitives_cl.h",
    "opencl/input_data_structures.h",
    "opencl/render_data_cl.h",
    "opencl/engines/basic_foldings.cl",
    "formula/opencl/mandelbulb.cl",
    "opencl/engines/compute_fractal.cl",
    "opencl/engines/primitives.cl",
    "opencl/engines/calculate_distance.cl",
    "opencl/engines/normal_vector.cl",
    "opencl/engines/projection_3d.cl",
    "opencl/engines/fast_engine.cl"
);

/// The parameters of an image: a structure of this size, of which the fields at these bytes are not zero.
const PARAMETERS: usize = 57632;

fn parameters(wide: u32, high: u32) -> Vec<u8> {
    let f = f32::to_bits;
    let fields = [
        // The size.
        (28, wide),
        (24, high),
        // The camera looks along the second axis from here, through an angle.
        (1636, f(-2.2)),
        (872, f(1.0)),
        // The most and the fewest iterations, the farthest distance, and the part of the estimated distance to step.
        (72, 250),
        (68, 1),
        (968, f(50.0)),
        (768, f(0.7)),
        // The size of a pixel, and details of this size.
        (940, f(1.0 / high as f32)),
        (776, f(1.0)),
        // The light's angles.
        (912, f(-45.0)),
        (916, f(45.0)),
        // No rotation.
        (2272, f(1.0)),
        (2292, f(1.0)),
        (2312, f(1.0)),
        // The power of the formula.
        (2404, f(8.0)),
        // It adds the point, and ends when the length exceeds a bound.
        (57044, 1),
        (57080, 1),
        (57116, f(10.0)),
        (57344, f(1.0)),
        (57348, f(1.0)),
        (57352, f(1.0)),
    ];
    let mut all = vec![0; PARAMETERS];
    for (at, value) in fields {
        all[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    all
}

/// A structure of integers and floats.
fn structure(dwords: &[u32]) -> Arg {
    Arg::Value(words(dwords.len(), |n| dwords[n]))
}

/// All of them.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "mandelbulber.fractal3D",
        text: FRACTAL,
        options: "-DOPENCL_KERNEL_CODE -DFORMULA_ITER_0=MandelbulbIteration -DANALYTIC_DE -DANALYTIC_LOG_DE \
                  -DMAX_RAYMARCHING=500 -DPERSP_THREE_POINT",
        kernel: "fractal3D",
        grid: [96, 64, 1],
        group: [16, 4, 1],
        args: || {
            // No primitive objects: the offset of their part, their number, and two offsets.
            let objects = words(32, |n| match n {
                3 => 16,
                5 => 32,
                6 => 64,
                _ => 0,
            });
            // How many steps a ray takes hangs on comparisons of rounded distances.
            vec![
                out(24 * 96 * 64, Alike::Few(1e-2, 0.05)),
                exact(objects),
                exact(parameters(96, 64)),
                int(1),
            ]
        },
    },
    Entry {
        name: "mandelbulber.SSAO",
        text: text!(
            "opencl/opencl_typedefs.h",
            "opencl/opencl_algebra.h",
            "opencl/ssao_cl.h",
            "opencl/engines/ssao.cl"
        ),
        options: "-DOPENCL_KERNEL_CODE",
        kernel: "SSAO",
        grid: [19200, 1, 1],
        group: [64, 1, 1],
        args: || {
            let (wide, high, quality) = (160, 120, 12);
            let n = wide * high;
            // No direction along rows or columns, where rounding would decide between pixels.
            let circle = words(2 * quality, |n| {
                (0.1 + n as f32 * 2.0 * std::f32::consts::PI / quality as f32)
                    .sin()
                    .to_bits()
            });
            // Which pixel is looked at hangs on rounding.
            let shade = out(4 * n, Alike::Few(1e-3, 0.01));
            let size = [
                wide as u32,
                high as u32,
                quality as u32,
                1.0f32.to_bits(),
                0,
            ];
            vec![
                between(n, 1, 2.0, 4.0),
                exact(circle),
                shade,
                structure(&size),
            ]
        },
    },
    Entry {
        name: "mandelbulber.DOFPhase1",
        text: text!(
            "opencl/opencl_typedefs.h",
            "opencl/opencl_algebra.h",
            "opencl/dof_cl.h",
            "opencl/engines/dof_phase1.cl"
        ),
        options: "-DOPENCL_KERNEL_CODE",
        kernel: "DOFPhase1",
        grid: [256, 128, 1],
        group: [16, 4, 1],
        args: || {
            let (wide, high) = (256, 128);
            let n = wide * high;
            let f = f32::to_bits;
            let size = [
                wide as u32,
                high as u32,
                f(0.01),
                f(6.0),
                f(3.0),
                f(12.0),
                f(1.0),
            ];
            vec![
                between(n, 1, 2.0, 4.0),
                units(4 * n, 2),
                out(16 * n, Alike::Few(1e-3, 0.01)),
                structure(&size),
            ]
        },
    },
];
