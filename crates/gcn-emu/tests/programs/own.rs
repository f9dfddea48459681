//! The larger sources of `testdata/programs`.

use super::*;

/// Every launch of them.
pub fn cases() -> Vec<Case> {
    vec![
        sort_private(),
        calls(),
        table(),
        atomics64(),
        maths32(),
        maths64(),
        halves(),
        waves(),
        locals(),
        divergent(),
        packing(),
        stencil3d([0; 3]),
        stencil3d([3, 1, 2]),
        lookback(),
        hashtable(),
        bitonic(),
        globals(),
        prints(),
        hostcalls(),
        heap(),
    ]
}

fn line(grid: u32, group: u32) -> ([u32; 3], [u32; 3]) {
    ([grid, 1, 1], [group, 1, 1])
}

fn sort_private() -> Case {
    let n = 150usize;
    let values = random(n * 48, 21);
    let mut expected = Vec::new();
    for i in 0..n {
        let mut pairs: Vec<(u32, u32)> = (0..48u32)
            .map(|k| (values[i * 48 + k as usize], (k * 29 + i as u32) % 48))
            .collect();
        pairs.sort_by_key(|p| p.0);
        let mut h = 2166136261u32;
        for k in 0..48 {
            let at = (pairs[k].0 ^ k as u32) % 48;
            h = (h ^ pairs[at as usize].0 ^ pairs[k].1).wrapping_mul(16777619);
        }
        expected.extend(pairs.iter().map(|p| p.0));
        expected.push(h);
    }
    let args = vec![buf_u32(values), zeros(4 * 49 * n), u32_arg(n as u32)];
    Case::new("scratch", "sort_private", line(192, 64), args, move |o| {
        same("out", &u32s(&o.buffers[1]), &expected)
    })
}

fn mix(a: u32, b: u32) -> u32 {
    a.rotate_left(7).wrapping_mul(2654435761).wrapping_add(b)
}

fn twist(a: u32, b: u32) -> u32 {
    mix(a ^ b, a).wrapping_sub(mix(b, a & 255))
}

fn digits(mut a: u32, b: u32) -> u32 {
    let base = b % 7 + 3;
    let mut s = 0u32;
    while a != 0 {
        s = s.wrapping_mul(31).wrapping_add(a % base);
        a /= base;
    }
    s
}

fn calls() -> Case {
    let values = random(192, 22);
    let expected = values.iter().map(|&v| {
        let p: Vec<u32> = (0..9).map(|k| digits(v.wrapping_add(k), k)).collect();
        let start = v % 9;
        (0..9).fold(start, |s, k| twist(s, p[((k * 5 + start) % 9) as usize]))
    });
    let expected: Vec<u32> = expected.collect();
    let args = vec![buf_u32(values), zeros(4 * 192)];
    Case::new("calls", "calls", line(192, 64), args, move |o| {
        same("out", &u32s(&o.buffers[1]), &expected)
    })
}

fn table() -> Case {
    let values = random(192, 23);
    let expected = values.iter().zip(0u32..).map(|(&v, i)| {
        (0..5).fold(v, |s, k| {
            let f = [mix, twist, digits][((s >> k) % 3) as usize];
            f(s, i + k)
        })
    });
    let expected: Vec<u32> = expected.collect();
    let args = vec![buf_u32(values), zeros(4 * 192)];
    Case::new("calls", "table", line(192, 64), args, move |o| {
        same("out", &u32s(&o.buffers[1]), &expected)
    })
}

fn atomics64() -> Case {
    let n = 500usize;
    let words = random(2 * n, 24);
    let values: Vec<u64> = words
        .chunks(2)
        .map(|w| u64::from(w[0]) << 32 | u64::from(w[1]))
        .collect();
    let signed = || values.iter().map(|v| *v as i64);
    let least = signed().min().unwrap().min(5);
    let most = signed().max().unwrap().max(-5);
    let expected = [
        values.iter().fold(0u64, |a, v| a.wrapping_add(*v)),
        *values.iter().max().unwrap(),
        values.iter().fold(0, |a, v| a ^ v),
        values.iter().fold(!0, |a, v| a & (v | 0xff00ff00ff00ff00)),
        values.iter().fold(0, |a, v| a | v & 0x0101010101010101),
        values
            .iter()
            .fold(77u64, |a, v| a.wrapping_add((v >> 32) * 3)),
        n as u64,
    ];
    let args = vec![
        buf_u64(values),
        buf_u64([0, 0, 0, !0, 0, 77, 0]),
        buf_u64([5, -5i64 as u64]),
        u32_arg(n as u32),
    ];
    Case::new("atomics64", "atomics64", line(512, 128), args, move |o| {
        same("out", &u64s(&o.buffers[1]), &expected)?;
        same("sout", &u64s(&o.buffers[2]), &[least as u64, most as u64])
    })
}

/// The distance of `got` from `exact` in units in the last place of an f32 or f64 (52 bits of mantissa).
fn ulps(got: f64, exact: f64, mantissa: i32, lowest: i32) -> f64 {
    if got.is_nan() && exact.is_nan() || got == exact {
        return 0.0;
    }
    if !got.is_finite() || !exact.is_finite() {
        return f64::INFINITY;
    }
    let exponent = (exact.abs().to_bits() >> 52) as i32 - 1023;
    (got - exact).abs() / 2f64.powi(exponent.max(lowest) - mantissa)
}

/// The logarithm of the gamma function of a positive number: Stirling's series, from 12 on.
fn lgamma(x: f64) -> f64 {
    let (mut z, mut shift) = (x, 0.0);
    while z < 12.0 {
        shift += z.ln();
        z += 1.0;
    }
    let r = 1.0 / (z * z);
    let series = (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r / 1680.0))) / z;
    (z - 0.5) * z.ln() - z + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - shift
}

/// A function's name, the most ulps that OpenCL C allows (7.4), and the host's.
type Function = (&'static str, f64, fn(f64, f64, f64) -> f64);

fn maths32() -> Case {
    let n = 256usize;
    let unit = |seed, size: f32| -> Vec<f32> {
        let words = random(n, seed).into_iter();
        words
            .map(|w| (w as f32 / 2f32.powi(31) - 1.0) * size)
            .collect()
    };
    let (mut a, b) = (unit(25, 30.0), unit(26, 3.0));
    // Large arguments, which a sine must reduce accurately.
    for (i, a) in a.iter_mut().enumerate().filter(|(i, _)| i % 8 == 0) {
        *a *= [1e3, 1e7, 1e20, 1e36][i / 8 % 4];
    }
    let args = vec![buf_f32(a.clone()), buf_f32(b.clone()), zeros(4 * 13 * n)];
    Case::new("maths", "maths32", line(256, 64), args, move |o| {
        let functions: [Function; 13] = [
            ("sin", 4.0, |x, _, _| x.sin()),
            ("cos", 4.0, |x, _, _| x.cos()),
            ("exp", 3.0, |x, _, _| x.exp()),
            ("log", 3.0, |_, _, p| p.ln()),
            ("pow", 16.0, |_, y, p| p.powf(y)),
            ("atan2", 6.0, |x, y, _| y.atan2(x)),
            ("cbrt", 2.0, |x, _, _| x.cbrt()),
            // OpenCL C does not specify the bound; this is the one that ROCm's library keeps, except near its zeros, where the
            // error is not relative.
            ("lgamma", 8.0, |_, _, p| lgamma(p)),
            ("sqrt", 3.0, |_, _, p| p.sqrt()),
            ("divide", 2.5, |x, y, _| y / x),
            ("fmod", 0.0, |x, y, _| x % y),
            ("tanh", 5.0, |_, y, _| y.tanh()),
            ("hypot", 4.0, |x, y, _| x.hypot(y)),
        ];
        let got = f32s(&o.buffers[2]);
        for (k, (name, bound, function)) in functions.into_iter().enumerate() {
            for i in 0..n {
                let p = f64::from(a[i].abs() + 0.001);
                let exact = function(a[i].into(), b[i].into(), p);
                let g = f64::from(got[k * n + i]);
                // Results beyond f32's range, or below its normal numbers, which may be flushed.
                if exact.abs() > f64::from(f32::MAX)
                    && g.is_infinite()
                    && g.signum() == exact.signum()
                    || exact.abs() < f64::from(f32::MIN_POSITIVE)
                        && g.abs() <= f64::from(f32::MIN_POSITIVE)
                    || name == "lgamma" && (g - exact).abs() < 2e-6
                {
                    continue;
                }
                let off = ulps(g, exact, 23, -126);
                if off > bound {
                    return Err(format!(
                        "{name} of {}, {} is {g}, not {exact}: {off} ulp",
                        a[i], b[i]
                    ));
                }
            }
        }
        Ok(())
    })
}

fn maths64() -> Case {
    let n = 128usize;
    let unit = |seed, size: f64| -> Vec<f64> {
        let words = random(2 * n, seed);
        let pairs = words
            .chunks(2)
            .map(|w| u64::from(w[0]) << 32 | u64::from(w[1]));
        pairs
            .map(|w| (w as f64 / 2f64.powi(63) - 1.0) * size)
            .collect()
    };
    let (a, mut b) = (unit(27, 40.0), unit(28, 5.0));
    b[0] *= 1e12;
    let args = vec![buf_f64(a.clone()), buf_f64(b.clone()), zeros(8 * 8 * n)];
    Case::new("maths", "maths64", line(128, 64), args, move |o| {
        // The host's own functions are within 1 ulp.
        let functions: [Function; 8] = [
            ("exp", 4.0, |x, _, _| x.exp()),
            ("log", 4.0, |_, _, p| p.ln()),
            ("sin", 5.0, |_, y, _| y.sin()),
            ("sqrt", 0.0, |_, _, p| p.sqrt()),
            ("divide", 0.0, |x, y, _| y / x),
            ("fma", 0.0, |x, y, p| x.mul_add(y, p)),
            ("floor and rint", 0.0, |x, y, _| {
                x.floor() + y.round_ties_even()
            }),
            ("pow", 17.0, |_, y, p| p.powf(y)),
        ];
        let got = f64s(&o.buffers[2]);
        for (k, (name, bound, function)) in functions.into_iter().enumerate() {
            for i in 0..n {
                let exact = function(a[i], b[i], a[i].abs() + 0.001);
                let off = ulps(got[k * n + i], exact, 52, -1022);
                if off > bound {
                    let g = got[k * n + i];
                    return Err(format!(
                        "{name} of {}, {} is {g}, not {exact}: {off} ulp",
                        a[i], b[i]
                    ));
                }
            }
        }
        Ok(())
    })
}

/// The value of an f16.
fn half_to(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 0 { size } else { -size }
}

/// The f16 nearest to a value, ties to even, by search among all of them.
fn half_of(value: f64) -> u16 {
    let sign = (value.is_sign_negative() as u16) << 15;
    let size = value.abs();
    if size.is_nan() {
        return 0x7e00;
    }
    // The largest f16 that is not above the value. Values half a step beyond the largest finite one are infinite.
    let below = (0..0x7c00u16)
        .rev()
        .find(|b| half_to(*b) <= size)
        .unwrap_or(0);
    let (low, high) = (
        half_to(below),
        if below == 0x7bff {
            65536.0
        } else {
            half_to(below + 1)
        },
    );
    let up = match (size - low).partial_cmp(&(high - size)) {
        Some(std::cmp::Ordering::Greater) => true,
        Some(std::cmp::Ordering::Equal) => below & 1 == 1,
        _ => false,
    };
    sign | if size.is_infinite() {
        0x7c00
    } else {
        below + up as u16
    }
}

fn halves() -> Case {
    let n = 128usize;
    // Finite ones.
    let pick = |seed| -> Vec<u16> {
        random(n, seed)
            .iter()
            .map(|v| (v >> 8) as u16)
            .map(|v| if v & 0x7c00 == 0x7c00 { v & !0x4000 } else { v })
            .collect()
    };
    let (a, b) = (pick(29), pick(30));
    let f: Vec<f32> = random(n, 31)
        .iter()
        .map(|v| (*v as f32 - 2e9) * 4e-5)
        .collect();
    let halves =
        |values: &[u16]| Arg::Buffer(values.iter().flat_map(|v| v.to_le_bytes()).collect());
    let args = vec![
        halves(&a),
        halves(&b),
        zeros(2 * 5 * n),
        buf_f32(f.clone()),
        zeros(4 * n),
    ];
    Case::new("half", "halves", line(128, 64), args, move |o| {
        let (got, stored) = (u16s(&o.buffers[2]), u16s(&o.buffers[4]));
        for i in 0..n {
            let (x, y) = (half_to(a[i]), half_to(b[i]));
            let expected = [x + y, x * y, x - y, if x < y { x } else { y }, x.trunc()];
            for (k, exact) in expected.into_iter().enumerate() {
                let (g, e) = (got[k * n + i], half_of(exact));
                // The sign of zero is the conversion's from an integer.
                if g != e && !(k == 4 && g & 0x7fff == 0 && e & 0x7fff == 0) {
                    return Err(format!("result {k} of {x}, {y} is {g:#06x}, not {e:#06x}"));
                }
            }
            for (k, exact) in [f64::from(f[i]), f64::from((x * 3.0) as f32)]
                .into_iter()
                .enumerate()
            {
                let (g, e) = (stored[k * n + i], half_of(exact));
                if g != e {
                    return Err(format!("store {k} of {exact} is {g:#06x}, not {e:#06x}"));
                }
            }
        }
        Ok(())
    })
}

fn waves() -> Case {
    let n = 512usize;
    let values: Vec<i32> = random(n, 32).into_iter().map(|v| v as i32 >> 4).collect();
    let mut out = Vec::new();
    for (i, &v) in values.iter().enumerate() {
        let (lane, wave) = (i % 64, &values[i / 64 * 64..][..64]);
        let first = wave.iter().find(|v| *v & 2 != 0).copied().unwrap_or(0);
        out.extend([
            wave.iter().fold(0i32, |a, b| a.wrapping_add(*b)),
            wave[..lane].iter().filter(|v| *v & 1 != 0).count() as i32,
            wave[0] ^ 5,
            wave[lane ^ 3],
            wave[(lane * 7 + 3) & 63],
            if v & 2 != 0 { first } else { 0 },
        ]);
    }
    let count = [
        values.iter().map(|v| v & 15).sum::<i32>(),
        values.iter().filter(|v| *v % 3 == 0).count() as i32,
        *values.iter().max().unwrap(),
    ];
    let args = vec![buf_i32(values), zeros(4 * 6 * n), buf_i32([0, 0, i32::MIN])];
    Case::new("waves", "waves", line(512, 256), args, move |o| {
        same("out", &i32s(&o.buffers[1]), &out)?;
        same("count", &i32s(&o.buffers[2]), &count)
    })
}

fn locals() -> Case {
    let (n, group) = (384usize, 128usize);
    let values: Vec<i32> = random(n, 33).into_iter().map(|v| v as i32).collect();
    let mut out = Vec::new();
    for v in values.chunks(group) {
        let sum = v.iter().fold(0i32, |a, b| a.wrapping_add(*b));
        out.extend([
            sum,
            sum.wrapping_neg(),
            v.iter().fold(0, |a, b| a ^ b),
            *v.iter().min().unwrap(),
            *v.iter().max().unwrap(),
            v.iter().fold(-1, |a, b| a & (b | 0xff)),
            v.iter().fold(0, |a, b| a | b & 0xf0f0),
            (0..group).fold(0i32, |a, _| a.wrapping_mul(5).wrapping_add(1)),
            -(v.iter().filter(|v| **v < 0).count() as i32),
        ]);
    }
    let args = vec![buf_i32(values), zeros(4 * 27), zeros(4 * n)];
    Case::new("locals", "locals", line(384, 128), args, move |o| {
        same("out", &i32s(&o.buffers[1]), &out)?;
        // Each work-item has one ticket.
        for tickets in u32s(&o.buffers[2]).chunks(group) {
            let mut sorted = tickets.to_vec();
            sorted.sort_unstable();
            same("tickets", &sorted, &(0..group as u32).collect::<Vec<_>>())?;
        }
        Ok(())
    })
}

fn divergent() -> Case {
    let (n, group) = (512usize, 128usize);
    let values = random(n, 34);
    let mut expected = Vec::new();
    for (g, v) in values.chunks(group).enumerate() {
        let rounds = values[g] % 5 + 2;
        let mut t = v.to_vec();
        for r in 0..rounds {
            let old = t.clone();
            for l in 0..group as u32 {
                let mut x = old[((l + r * 17 + 1) as usize) % group];
                let mut steps = 0u32;
                while x != 1 && steps < 300 {
                    if x % 7 == 3 && steps > 20 {
                        break;
                    }
                    match x & 3 {
                        0 => x >>= 2,
                        2 => {
                            x >>= 1;
                            if x < 9 {
                                steps += 100;
                                continue;
                            }
                        }
                        1 => x = (x / 4).wrapping_mul(3).wrapping_add(1),
                        _ => {
                            x = (x >> 1).wrapping_add(x >> 3).wrapping_add(if l & 1 != 0 {
                                5
                            } else {
                                2
                            })
                        }
                    }
                    steps += 1;
                }
                let t = &mut t[l as usize];
                *t = t.wrapping_add(x.wrapping_mul(steps).wrapping_add(r));
            }
        }
        expected.extend((0..group).map(|l| t[l] ^ t[group - 1 - l]));
    }
    let args = vec![buf_u32(values), zeros(4 * n), Arg::Local(512)];
    Case::new("divergent", "divergent", line(512, 128), args, move |o| {
        same("out", &u32s(&o.buffers[1]), &expected)
    })
}

fn packing() -> Case {
    let n = 256usize;
    let bytes: Vec<u8> = random(2 * n, 35)
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .collect();
    let (mut nibbles, mut tens, mut twelve, mut bits) = (vec![], vec![], vec![], vec![]);
    for b in bytes.chunks(8) {
        nibbles.extend(b.chunks(2).map(|p| p[0] & 15 | p[1] << 4));
        let w = |k: usize| u32::from(b[k]);
        tens.push(
            (w(0) * 4 + (w(1) & 3)) & 1023
                | ((w(2) * 3) & 1023) << 10
                | ((w(3) << 2) & 1023) << 20
                | (w(4) & 3) << 30,
        );
        let triple = w(5) | w(6) << 8 | w(7) << 16;
        twelve.extend([triple as u16 & 0xfff, (triple >> 12) as u16]);
        let signs = (0..8).fold(0, |m, k| m | ((b[k] > 127) as u32) << k);
        let s = |k: usize| i32::from(b[k] as i8);
        let products = (s(0) * s(7) + s(1) * s(6)) as u32 & 255;
        bits.push(signs | triple.count_ones() << 8 | triple.leading_zeros() << 16 | products << 24);
    }
    let args = vec![
        Arg::Buffer(bytes),
        zeros(4 * n),
        zeros(4 * n),
        zeros(4 * n),
        zeros(4 * n),
    ];
    Case::new("packing", "packing", line(256, 64), args, move |o| {
        same("nibbles", &o.buffers[1], &nibbles)?;
        same("tens", &u32s(&o.buffers[2]), &tens)?;
        same("twelve", &u16s(&o.buffers[3]), &twelve)?;
        same("bits", &u32s(&o.buffers[4]), &bits)
    })
}

fn stencil3d(offset: [u64; 3]) -> Case {
    let (grid, size) = ([21u32, 10, 5], [26i32, 12, 8]);
    let [w, h, d] = size;
    let count = (w * h * d) as usize;
    let a: Vec<i32> = random(count, 36)
        .into_iter()
        .map(|v| v as i32 >> 6)
        .collect();
    let at = |x: i32, y: i32, z: i32| {
        let inside = x >= 0 && y >= 0 && z >= 0 && x < w && y < h && z < d;
        if inside {
            a[((z * h + y) * w + x) as usize]
        } else {
            -7
        }
    };
    let mut expected = vec![0; 2 * count];
    for i in 0..grid.iter().product::<u32>() as i32 {
        let [gw, gh, _] = grid.map(|n| n as i32);
        let (lx, ly, lz) = (i % gw, i / gw % gh, i / gw / gh);
        let (x, y, z) = (
            lx + offset[0] as i32,
            ly + offset[1] as i32,
            lz + offset[2] as i32,
        );
        let around = [
            (1, 0, 0),
            (-1, 0, 0),
            (0, 1, 0),
            (0, -1, 0),
            (0, 0, 1),
            (0, 0, -1),
        ];
        let sum: i32 = around.iter().map(|(i, j, k)| at(x + i, y + j, z + k)).sum();
        let location = 2 * ((z * h + y) * w + x) as usize;
        expected[location] = 6 * at(x, y, z) - sum;
        expected[location + 1] = gw * 1_000_000 + 3 * 10_000 + lz / 2 * 100 + 30 + offset[0] as i32;
    }
    let args = vec![
        buf_i32(a),
        zeros(8 * count),
        i32_arg(w),
        i32_arg(h),
        i32_arg(d),
    ];
    let mut case = Case::new(
        "stencil3d",
        "stencil3d",
        (grid, [8, 4, 2]),
        args,
        move |o| same("out", &i32s(&o.buffers[1]), &expected),
    );
    case.offset = offset;
    if offset != [0; 3] {
        // Under HSA, libclc reads the offsets at the location that Mesa uses.
        case.needs = |made| made.library != "libclc";
    }
    case
}

fn lookback() -> Case {
    let n = 256 * 24;
    let values = random(n, 37);
    let sums = values.iter().scan(0u32, |sum, v| {
        *sum += v & 0xfff;
        Some(*sum)
    });
    let sums: Vec<u32> = sums.collect();
    let args = vec![buf_u32(values), zeros(4 * n), zeros(4 * 24), zeros(4)];
    Case::new(
        "lookback",
        "lookback",
        line(n as u32, 256),
        args,
        move |o| same("out", &u32s(&o.buffers[1]), &sums),
    )
}

fn hashtable() -> Case {
    let (n, mask) = (3000usize, 1023u32);
    // 700 words, some of them far more frequent than others.
    let words: Vec<u32> = random(n, 38)
        .into_iter()
        .map(|v| (v % 700) * (v >> 9 & 1) + 1)
        .collect();
    let mut expected = std::collections::BTreeMap::new();
    for word in &words {
        *expected.entry(*word).or_insert(0u32) += 1;
    }
    let args = vec![
        buf_u32(words),
        zeros(4096),
        zeros(4096),
        u32_arg(mask),
        u32_arg(n as u32),
    ];
    Case::new("hashtable", "count_words", line(512, 128), args, move |o| {
        let (keys, counts) = (u32s(&o.buffers[1]), u32s(&o.buffers[2]));
        let mut found: Vec<(u32, u32)> = keys
            .into_iter()
            .zip(counts)
            .filter(|(k, _)| *k != 0)
            .collect();
        found.sort_unstable();
        same(
            "table",
            &found,
            &expected.clone().into_iter().collect::<Vec<_>>(),
        )
    })
}

fn bitonic() -> Case {
    let values = random(3072, 39);
    let mut expected = values.clone();
    for chunk in expected.chunks_mut(1024) {
        chunk.sort_unstable();
    }
    Case::new(
        "bitonic",
        "bitonic",
        line(3072, 1024),
        vec![buf_u32(values)],
        move |o| same("a", &u32s(&o.buffers[0]), &expected),
    )
}

fn globals() -> Case {
    let values = random(64, 40);
    let sums: Vec<u32> = values
        .iter()
        .map(|v| ((v & 15) * (v & 15)).wrapping_add(*v).wrapping_mul(2))
        .collect();
    // The variable other[1], the element that where[0] then points to, and 41 counted up by both kernels.
    let expected: Vec<u32> = sums
        .iter()
        .rev()
        .map(|s| s.wrapping_add(60 + 8 + 43))
        .collect();
    let args = vec![buf_u32(values), zeros(256)];
    let mut case = Case::new("globals", "leave_and_take", line(64, 64), args, move |o| {
        same("out", &u32s(&o.buffers[1]), &expected)
    });
    case.before = Some("leave");
    case
}

fn prints() -> Case {
    let f: Vec<f32> = (0..128).map(|i| i as f32 * 0.375 - 10.0).collect();
    let args = vec![buf_f32(f), buf_i32([7, -8, 9, 1 << 30])];
    let mut case = Case::new("prints", "prints", line(128, 64), args, |o| {
        let got: Vec<&str> = o.text.lines().collect();
        // The output of C's printf for the same arguments.
        let expected = include_str!("../../../../testdata/programs/prints.txt");
        same("text", &got, &expected.lines().collect::<Vec<_>>())
    });
    // Mesa has no printf. LLVM 15 loses it where pointers are opaque, as in ROCm's library.
    case.needs = |made| made.library == "libclc";
    case
}

fn hostcalls() -> Case {
    let values: Vec<f64> = (0..256).map(|i| f64::from(i) * 1.25 - 17.0).collect();
    let (mut text, mut lengths) = (String::new(), vec![0; 256]);
    for i in (7..256).step_by(20) {
        let line = format!(
            "work-item {i} of a group has {:.3} and {:x}, a format longer than one packet takes\n",
            values[i],
            (i as u64) << 36
        );
        lengths[i] = line.len() as i32;
        text += &line;
    }
    let args = vec![buf_f64(values), zeros(1024)];
    let mut case = Case::new("hostcalls", "hostcalls", line(256, 64), args, move |o| {
        same(
            "text",
            &o.text.lines().collect::<Vec<_>>(),
            &text.lines().collect::<Vec<_>>(),
        )?;
        same("lengths", &i32s(&o.buffers[1]), &lengths)
    });
    // Host calls take generic pointers, which gfx6 has not.
    case.needs = |made| made.library == "rocm" && !made.target.starts_with("gfx6");
    case
}

fn heap() -> Case {
    let values = random(256, 41);
    let expected = values.iter().map(|&v| {
        let count = v % 6 + 1;
        (0..count).rev().fold(0u32, |sum, k| {
            sum.wrapping_mul(3).wrapping_add(v.wrapping_mul(k + 3))
        })
    });
    let expected: Vec<u32> = expected.collect();
    let args = vec![buf_u32(values), zeros(1024)];
    let mut case = Case::new("heap", "lists", line(256, 64), args, move |o| {
        same("out", &u32s(&o.buffers[1]), &expected)
    });
    // The compiler fails on the library's heap for older chips; older objects have no hidden argument for it.
    case.needs = |made| {
        made.library == "rocm"
            && made.version >= 5
            && !made.target.starts_with("gfx6")
            && !made.target.starts_with("gfx7")
    };
    case
}
