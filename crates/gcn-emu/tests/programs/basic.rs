//! The nine small sources: vectors, matrices, reductions, images, hashes, bodies, histograms, stencils, sorting.

use super::*;

/// Every launch of them.
pub fn cases() -> Vec<Case> {
    vec![
        vadd(),
        saxpy(),
        matmul(),
        reduce_sum(),
        minmax(),
        mandelbrot(),
        sha256(),
        nbody(),
        histogram(),
        stencil(),
        bitonic_step(),
        scan(),
    ]
}

fn floats(count: usize, seed: u32) -> Vec<f32> {
    let words = random(count, seed).into_iter();
    words
        .map(|w| (w >> 8) as f32 / (1 << 24) as f32 - 0.5)
        .collect()
}

fn vadd() -> Case {
    let (n, used) = (1000, 900);
    let (a, b) = (floats(n, 1), floats(n, 2));
    let sums: Vec<f32> = (0..n)
        .map(|i| if i < used { a[i] + b[i] } else { 0.0 })
        .collect();
    let args = vec![buf_f32(a), buf_f32(b), zeros(4 * n), u32_arg(used as u32)];
    // The last workgroup is partial.
    Case::new(
        "vadd",
        "vadd",
        ([1000, 1, 1], [256, 1, 1]),
        args,
        move |o| same("c", &f32s(&o.buffers[2]), &sums),
    )
}

fn saxpy() -> Case {
    let (x, y) = (floats(4096, 3), floats(4096, 4));
    let args = vec![
        buf_f32(x.clone()),
        buf_f32(y.clone()),
        f32_arg(1.375),
        u32_arg(1024),
    ];
    Case::new(
        "vadd",
        "saxpy_f4",
        ([256, 1, 1], [64, 1, 1]),
        args,
        move |o| {
            for (i, got) in f32s(&o.buffers[1]).into_iter().enumerate() {
                // OpenCL's mad may round once or twice.
                let either = [1.375f32.mul_add(x[i], y[i]), 1.375 * x[i] + y[i]];
                if !either.contains(&got) {
                    return Err(format!("y[{i}] is {got}, not {either:?}"));
                }
            }
            Ok(())
        },
    )
}

fn matmul() -> Case {
    let n = 64;
    // Small integers, whose sums are exact in any order.
    let small = |seed, modulus: u32| -> Vec<f32> {
        let words = random(n * n, seed).into_iter();
        words.map(|w| (w % modulus) as f32 - 3.0).collect()
    };
    let (a, b) = (small(5, 7), small(6, 5));
    let mut c = vec![0.0; n * n];
    for (i, c) in c.iter_mut().enumerate() {
        *c = (0..n).map(|k| a[i / n * n + k] * b[k * n + i % n]).sum();
    }
    let args = vec![buf_f32(a), buf_f32(b), zeros(4 * n * n), i32_arg(n as i32)];
    Case::new(
        "matmul",
        "matmul",
        ([64, 64, 1], [16, 16, 1]),
        args,
        move |o| same("C", &f32s(&o.buffers[2]), &c),
    )
}

fn reduce_sum() -> Case {
    let values = random(5000, 7);
    let sum = values.iter().fold(0u32, |a, v| a.wrapping_add(*v));
    let args = vec![buf_u32(values), zeros(4), u32_arg(5000), Arg::Local(1024)];
    Case::new(
        "reduce",
        "reduce_sum",
        ([1024, 1, 1], [256, 1, 1]),
        args,
        move |o| same("sum", &u32s(&o.buffers[1]), &[sum]),
    )
}

fn minmax() -> Case {
    let values: Vec<i32> = random(4000, 8).into_iter().map(|v| v as i32).collect();
    let expected = [
        *values.iter().min().unwrap(),
        *values.iter().max().unwrap(),
        values.iter().fold(0, |a, v| a ^ v),
        values.iter().filter(|v| **v & 1023 == 7).count() as i32,
    ];
    let args = vec![buf_i32(values), zeros(16), u32_arg(4000)];
    Case::new(
        "reduce",
        "minmax_argmax",
        ([512, 1, 1], [64, 1, 1]),
        args,
        move |o| same("out", &i32s(&o.buffers[1]), &expected),
    )
}

/// The way in which a compiler contracts the sums of products in the mandelbrot's source.
#[derive(Clone, Copy, Debug)]
struct Contraction {
    start: bool,
    /// The square that is fused: none, x, y.
    test: u8,
    t: u8,
    y: bool,
}

fn mandelbrot() -> Case {
    let (w, h, limit) = (80i32, 56i32, 100);
    let (x0, y0, dx, dy) = (-2.2f32, -1.5f32, 0.0375f32, 0.0535f32);
    let args = vec![
        zeros(4 * (w * h) as usize),
        i32_arg(w),
        i32_arg(h),
        f32_arg(x0),
        f32_arg(y0),
        f32_arg(dx),
        f32_arg(dy),
        i32_arg(limit),
    ];
    let steps = move |px: i32, py: i32, c: Contraction| {
        let mad = |fused: bool, a: f32, b: f32, c: f32| {
            if fused { a.mul_add(b, c) } else { a * b + c }
        };
        let squares = |fused: u8, x: f32, y: f32, sign: f32| match fused {
            0 => x * x + sign * (y * y),
            1 => x.mul_add(x, sign * (y * y)),
            _ => (sign * y).mul_add(y, x * x),
        };
        let cx = mad(c.start, dx, px as f32, x0);
        let cy = mad(c.start, dy, py as f32, y0);
        let (mut x, mut y, mut n) = (0.0f32, 0.0f32, 0);
        while n < limit && squares(c.test, x, y, 1.0) < 4.0 {
            let t = squares(c.t, x, y, -1.0) + cx;
            y = mad(c.y, 2.0 * x, y, cy);
            x = t;
            n += 1;
        }
        n
    };
    let grid = ([80, 56, 1], [16, 16, 1]);
    Case::new("mandelbrot", "mandelbrot", grid, args, move |o| {
        let got = i32s(&o.buffers[0]);
        // Chaos amplifies every rounding: one way to contract must explain every pixel.
        let mut fewest = usize::MAX;
        for n in 0..36 {
            let way = Contraction {
                start: n & 1 != 0,
                y: n & 2 != 0,
                test: (n / 4 % 3) as u8,
                t: (n / 12) as u8,
            };
            let wrong = (0..w * h).filter(|i| got[*i as usize] != steps(i % w, i / w, way));
            fewest = fewest.min(wrong.count());
        }
        match fewest {
            0 => Ok(()),
            n => Err(format!("{n} pixels differ, however products are fused")),
        }
    })
}

fn sha256() -> Case {
    let base = 0xffff_fff0u64;
    let expected: Vec<u32> = (0..192).flat_map(|g| sha256_of(base + g)).collect();
    let args = vec![u64_arg(base), zeros(192 * 32)];
    Case::new(
        "sha256",
        "sha256_nonce",
        ([192, 1, 1], [64, 1, 1]),
        args,
        move |o| {
            // SHA-256 of eight zero bytes, from outside.
            same(
                "the host's own",
                &sha256_of(0)[..2],
                &[0xaf5570f5, 0xa1810b7a],
            )?;
            same("out", &u32s(&o.buffers[1]), &expected)
        },
    )
}

/// SHA-256 of eight bytes, the words big-endian. The constants are the fractions of roots of primes.
fn sha256_of(message: u64) -> [u32; 8] {
    let primes: Vec<u64> = (2..312u64)
        .filter(|n| (2..*n).all(|d| n % d != 0))
        .take(64)
        .collect();
    // The first 32 bits after the point of an integer's root: floor(root(p) << 32), by bisection.
    let root = |p: u64, power: u32| -> u32 {
        let (mut low, mut high) = (0u128, 1u128 << 40);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if middle.pow(power) <= (p as u128) << (32 * power) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low as u32
    };
    let mut h: [u32; 8] = std::array::from_fn(|i| root(primes[i], 2));
    let mut w = [0u32; 64];
    (w[0], w[1], w[2], w[15]) = ((message >> 32) as u32, message as u32, 1 << 31, 64);
    for i in 16..64 {
        let (a, b) = (w[i - 15], w[i - 2]);
        let s0 = a.rotate_right(7) ^ a.rotate_right(18) ^ a >> 3;
        let s1 = b.rotate_right(17) ^ b.rotate_right(19) ^ b >> 10;
        w[i] = w[i - 16]
            .wrapping_add(s0)
            .wrapping_add(w[i - 7])
            .wrapping_add(s1);
    }
    let mut v = h;
    for i in 0..64 {
        let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
        let choice = v[4] & v[5] ^ !v[4] & v[6];
        let t1 = [s1, choice, root(primes[i], 3), w[i]]
            .iter()
            .fold(v[7], |a, b| a.wrapping_add(*b));
        let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
        let majority = v[0] & v[1] ^ v[0] & v[2] ^ v[1] & v[2];
        v.rotate_right(1);
        v[4] = v[4].wrapping_add(t1);
        v[0] = t1.wrapping_add(s0).wrapping_add(majority);
    }
    for (h, v) in h.iter_mut().zip(v) {
        *h = h.wrapping_add(v);
    }
    h
}

fn nbody() -> Case {
    let n = 512usize;
    let unit = |seed| -> Vec<f32> { floats(4 * n, seed).iter().map(|v| v + 0.5).collect() };
    let (pos, vel) = (unit(9), floats(4 * n, 10));
    let (dt, eps2) = (0.01f32, 1e-3f32);
    let args = vec![
        buf_f32(pos.clone()),
        buf_f32(vel.clone()),
        zeros(16 * n),
        u32_arg(n as u32),
        f32_arg(dt),
        f32_arg(eps2),
    ];
    Case::new(
        "nbody",
        "nbody",
        ([512, 1, 1], [256, 1, 1]),
        args,
        move |o| {
            let (v, p) = (f32s(&o.buffers[1]), f32s(&o.buffers[2]));
            for i in 0..n {
                let mut a = [0.0f64; 3];
                let mut size = 0.0f64;
                for j in 0..n {
                    let d: [f64; 3] =
                        std::array::from_fn(|k| f64::from(pos[4 * j + k] - pos[4 * i + k]));
                    let r2 = d.iter().map(|d| d * d).sum::<f64>() + f64::from(eps2);
                    let weight = f64::from(pos[4 * j + 3]) / (r2 * r2.sqrt());
                    for k in 0..3 {
                        a[k] += d[k] * weight;
                    }
                    size += d.iter().map(|d| d.abs()).sum::<f64>() * weight;
                }
                for (k, a) in a.into_iter().enumerate() {
                    let at = 4 * i + k;
                    let velocity = f64::from(vel[at]) + a * f64::from(dt);
                    let position = f64::from(pos[at]) + velocity * f64::from(dt);
                    // n + 10 roundings of f32 on a sum of this size, and rsqrt's own bound of 1 ulp three times.
                    let bound = (size * f64::from(dt) + 2.0) * (n as f64 + 16.0) * 2f64.powi(-24);
                    for (what, got, exact) in [("vel", v[at], velocity), ("npos", p[at], position)]
                    {
                        if (f64::from(got) - exact).abs() > bound || !got.is_finite() {
                            return Err(format!(
                                "{what}[{at}] is {got}, not {exact} (within {bound:e})"
                            ));
                        }
                    }
                }
            }
            Ok(())
        },
    )
}

fn histogram() -> Case {
    let bytes: Vec<u8> = random(20000, 11)
        .into_iter()
        .map(|v| (v >> 9) as u8)
        .collect();
    let mut counts = vec![0u32; 256];
    for byte in &bytes {
        counts[usize::from(*byte)] += 1;
    }
    let args = vec![Arg::Buffer(bytes), zeros(1024), u32_arg(20000)];
    Case::new(
        "histogram",
        "histogram",
        ([768, 1, 1], [256, 1, 1]),
        args,
        move |o| same("hist", &u32s(&o.buffers[1]), &counts),
    )
}

fn stencil() -> Case {
    let (w, h) = (96usize, 40usize);
    let a: Vec<f64> = random(w * h, 12)
        .into_iter()
        .map(|v| f64::from(v) / 1e9)
        .collect();
    let args = vec![
        buf_f64(a.clone()),
        zeros(8 * w * h),
        u32_arg(w as u32),
        u32_arg(h as u32),
    ];
    Case::new(
        "stencil64",
        "stencil64",
        ([96, 40, 1], [64, 4, 1]),
        args,
        move |o| {
            for (i, got) in f64s(&o.buffers[1]).into_iter().enumerate() {
                let (x, y) = (i % w, i / w);
                let inside = x > 0 && y > 0 && x < w - 1 && y < h - 1;
                let exact = if inside {
                    0.25 * (a[i - 1] + a[i + 1] + a[i - w] + a[i + w])
                        + 1e-3 * a[i].abs().sqrt() / (1.0 + a[i] * a[i])
                } else {
                    0.0
                };
                // Eight roundings.
                if (got - exact).abs() > 8.0 * exact * f64::EPSILON {
                    return Err(format!("b[{i}] is {got}, not {exact}"));
                }
            }
            Ok(())
        },
    )
}

fn bitonic_step() -> Case {
    let values = random(2048, 13);
    let (j, k) = (64usize, 128usize);
    let mut expected = values.clone();
    for i in 0..2048 {
        let x = i ^ j;
        if x > i && (i & k == 0) == (expected[i] > expected[x]) && expected[i] != expected[x] {
            expected.swap(i, x);
        }
    }
    let args = vec![buf_u32(values), u32_arg(j as u32), u32_arg(k as u32)];
    Case::new(
        "sort",
        "bitonic_step",
        ([2048, 1, 1], [256, 1, 1]),
        args,
        move |o| same("a", &u32s(&o.buffers[0]), &expected),
    )
}

fn scan() -> Case {
    let values = random(1024, 14);
    let (mut sums, mut totals) = (Vec::new(), Vec::new());
    for chunk in values.chunks(256) {
        let mut sum = 0u32;
        for value in chunk {
            sum = sum.wrapping_add(*value);
            sums.push(sum);
        }
        totals.push(sum);
    }
    let args = vec![buf_u32(values), zeros(4096), zeros(16), Arg::Local(1024)];
    Case::new(
        "sort",
        "scan_local",
        ([1024, 1, 1], [256, 1, 1]),
        args,
        move |o| {
            same("out", &u32s(&o.buffers[1]), &sums)?;
            same("sums", &u32s(&o.buffers[2]), &totals)
        },
    )
}
