//! OpenCL kernels that read and write images, compiled by clang with AMD's device libraries, against the host.

use gcn_emu::dispatch::{Gpu, Launch};
use gcn_emu::mem::Perm;
use gcn_isa::Target;
use gcn_object::CodeObject;

mod common;

const TARGETS: [&str; 2] = ["gfx803", "gfx900"];
const WIDTH: usize = 19;
const HEIGHT: usize = 13;
/// Elements from one row to the next.
const PITCH: usize = 24;

struct Image {
    /// IMG_DATA_FORMAT and IMG_NUM_FORMAT.
    format: (u32, u32),
    slices: usize,
    /// Bytes per element.
    bytes: usize,
}

/// An image's memory, and after it the structure that its argument points to: a resource, then channel type, order and width, as in
/// AMD's runtime.
fn image(gpu: &mut Gpu, image: &Image, content: &[u8]) -> (u64, u64) {
    let bytes = (PITCH * HEIGHT * image.slices * image.bytes) as u64;
    let base = gpu.memory.alloc(bytes, 256, Perm::RW).unwrap();
    gpu.memory.write(base, content).unwrap();
    let gfx9 = gpu.target().generation() == gcn_isa::Gen::Gfx9;
    let last = image.slices as u32 - 1;
    let (kind, array) = if image.slices > 1 { (13, last) } else { (9, 0) };
    let words = [
        (base >> 8) as u32,
        (base >> 40) as u32 | image.format.0 << 20 | image.format.1 << 26,
        (WIDTH as u32 - 1) | (HEIGHT as u32 - 1) << 14,
        0xfac | if gfx9 { 0 } else { 8 << 20 } | kind << 28,
        array | (PITCH as u32 - 1) << 13,
        if gfx9 { 0 } else { array << 13 },
        0,
        0,
        0,
        0,
        WIDTH as u32,
        0,
    ];
    (words_at(gpu, &words), base)
}

fn words_at(gpu: &mut Gpu, words: &[u32]) -> u64 {
    let at = gpu
        .memory
        .alloc(4 * words.len() as u64, 64, Perm::RW)
        .unwrap();
    for (k, word) in words.iter().enumerate() {
        gpu.memory.store_u32(at + 4 * k as u64, *word).unwrap();
    }
    at
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut rng = common::Rng(77);
    (0..bytes).map(|_| (rng.next() >> 40) as u8).collect()
}

fn run(gpu: &mut Gpu, target: &str, kernel: &str, arguments: &[u64]) {
    let path = format!(
        "{}/tests/data/images-{target}.co",
        env!("CARGO_MANIFEST_DIR")
    );
    let object = CodeObject::parse(&std::fs::read(path).unwrap()).unwrap();
    let loaded = gpu.load(&object).unwrap();
    let launch = Launch {
        grid: [WIDTH as u32, HEIGHT as u32, 1],
        group: [8, 8, 1],
        kernarg: arguments.iter().flat_map(|a| a.to_le_bytes()).collect(),
        threads: 1,
        ..Launch::default()
    };
    gpu.dispatch(&loaded, kernel, &launch).unwrap();
}

#[test]
fn blur() {
    for target in TARGETS {
        let mut gpu = Gpu::new(Target::parse(target).unwrap(), 64 << 20).unwrap();
        // 8_8_8_8 UNORM, 32_32_32_32 FLOAT.
        let from = Image {
            format: (10, 0),
            slices: 1,
            bytes: 4,
        };
        let to = Image {
            format: (14, 7),
            slices: 1,
            bytes: 16,
        };
        let content = noise(PITCH * HEIGHT * 4);
        let (a, _) = image(&mut gpu, &from, &content);
        let (b, out) = image(&mut gpu, &to, &[]);
        // Unnormalized coordinates, clamped to the edge; bilinear.
        let sampler = words_at(
            &mut gpu,
            &[2 | 2 << 3 | 2 << 6 | 1 << 15, 0xfff << 12, 5 << 20, 0],
        );
        run(&mut gpu, target, "blur", &[a, b, sampler]);
        let texel = |x: i64, y: i64, c: usize| {
            content[(y as usize * PITCH + x as usize) * 4 + c] as f64 / 255.0
        };
        let clamped = |x: i64, y: i64, c: usize| {
            texel(
                x.clamp(0, WIDTH as i64 - 1),
                y.clamp(0, HEIGHT as i64 - 1),
                c,
            )
        };
        let wrapped = |x: i64, y: i64, c: usize| texel(x % WIDTH as i64, y % HEIGHT as i64, c);
        for y in 0..HEIGHT as i64 {
            for x in 0..WIDTH as i64 {
                for c in 0..4 {
                    let row = |y| 0.75 * clamped(x, y, c) + 0.25 * clamped(x - 1, y, c);
                    let p = 0.75 * row(y) + 0.25 * row(y + 1);
                    let q = [(0, 0), (1, 0), (0, 1), (1, 1)]
                        .iter()
                        .map(|(dx, dy)| wrapped(x + dx, y + dy, c) / 4.0)
                        .sum::<f64>();
                    let expected = 0.5 * p + 0.25 * q + 0.25 * texel(x, y, c);
                    let at = out + ((y as usize * PITCH + x as usize) * 16 + 4 * c) as u64;
                    let got = f32::from_bits(gpu.memory.load_u32(at).unwrap()) as f64;
                    // Three products and sums of f32.
                    assert!(
                        (got - expected).abs() < 2e-7,
                        "{target}: {x}, {y}, {c}: {got} for {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn total() {
    for target in TARGETS {
        let mut gpu = Gpu::new(Target::parse(target).unwrap(), 64 << 20).unwrap();
        // 8_8_8_8 UINT.
        let from = Image {
            format: (10, 4),
            slices: 3,
            bytes: 4,
        };
        let content = noise(PITCH * HEIGHT * 3 * 4);
        let (a, _) = image(&mut gpu, &from, &content);
        let out = gpu
            .memory
            .alloc(4 * (WIDTH * HEIGHT) as u64, 64, Perm::RW)
            .unwrap();
        run(&mut gpu, target, "total", &[a, out]);
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                let of = |c: usize| {
                    (0..3)
                        .map(|k| content[((k * HEIGHT + y) * PITCH + x) * 4 + c] as u32)
                        .sum::<u32>()
                };
                let got = gpu
                    .memory
                    .load_u32(out + 4 * (y * WIDTH + x) as u64)
                    .unwrap();
                assert_eq!(got, of(0) + 1000 * of(3), "{target}: {x}, {y}");
            }
        }
    }
}
