//! The accuracy of the approximations: half precision for every source, single and double precision for a sample; with
//! `--ignored`, in a release build, single precision for every source whose result is not trivial. docs/errata.md states the
//! figures.
//!
//! The reference is the host's f64 function, whose error does not affect the rounding of a float, except in a few cases that are
//! counted.

use gcn_emu::interp::Interp;
use gcn_emu::mem::Memory;
use gcn_emu::snippet::{Snippet, run};
use gcn_emu::wave::{LANES, Lds, WaveState};
use gcn_isa::Target;

/// Instructions per run.
const BLOCK: usize = 32;

/// Runs one VOP1 opcode on sources, at most `BLOCK` × 64 of them.
struct Machine {
    memory: Memory,
    engine: Interp,
    code: Vec<u8>,
    wave: WaveState,
}

impl Machine {
    /// `opcode` is gfx9's.
    fn new(opcode: u32) -> Machine {
        let words =
            (0..BLOCK as u32).map(|i| 0x7e00_0000 | (i + 64) << 17 | opcode << 9 | 0x100 | i);
        Machine {
            memory: Memory::new(1 << 20).expect("memory"),
            engine: Interp::new(),
            code: words.flat_map(u32::to_le_bytes).collect(),
            wave: WaveState::new(128),
        }
    }

    fn results(&mut self, sources: &[u32]) -> Vec<u32> {
        for (register, values) in self.wave.vgprs.iter_mut().zip(sources.chunks(LANES)) {
            register[..values.len()].copy_from_slice(values);
        }
        self.wave.mode = 0x3f0;
        let target = Target::parse("gfx900").expect("a target");
        let mut lds = Lds::default();
        let (code, wave) = (&self.code, &mut self.wave);
        run(
            Snippet {
                target,
                code,
                start_pc: 0,
                max: 1000,
            },
            wave,
            &mut lds,
            &self.memory,
            &mut self.engine,
        );
        let results = self.wave.vgprs[64..].iter().flatten().copied();
        results.take(sources.len()).collect()
    }
}

/// A row's single and half precision opcodes on gfx9, and the function that it computes.
struct Function {
    name: &'static str,
    single: u32,
    half: u32,
    exact: fn(f64) -> f64,
}

/// The part of a turn from -1/2 to 1/2, exactly.
fn part(x: f64) -> f64 {
    x - x.round_ties_even()
}

static FUNCTIONS: [Function; 7] = [
    Function {
        name: "exp",
        single: 32,
        half: 65,
        exact: f64::exp2,
    },
    Function {
        name: "log",
        single: 33,
        half: 64,
        exact: f64::log2,
    },
    Function {
        name: "rcp",
        single: 34,
        half: 61,
        exact: |x| 1.0 / x,
    },
    Function {
        name: "rsq",
        single: 36,
        half: 63,
        exact: |x| 1.0 / x.sqrt(),
    },
    Function {
        name: "sqrt",
        single: 39,
        half: 62,
        exact: f64::sqrt,
    },
    Function {
        name: "sin",
        single: 41,
        half: 73,
        exact: |x| match part(x) {
            0.5 | -0.5 => 0.0,
            p => (p * std::f64::consts::TAU).sin(),
        },
    },
    Function {
        name: "cos",
        single: 42,
        half: 74,
        exact: |x| match part(x).abs() {
            0.25 => 0.0,
            // Near the zero, computed as the sine of the difference, which is exact.
            p => ((0.25 - p) * std::f64::consts::TAU).sin(),
        },
    },
];

/// A half as a number; and the half nearest to a number, ties to even.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 != 0 { -1.0 } else { 1.0 };
    let (exponent, mantissa) = (bits >> 10 & 31, f64::from(bits & 1023));
    sign * match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        e => (1.0 + mantissa / 1024.0) * 2f64.powi(i32::from(e) - 15),
    }
}

fn to_half(x: f64) -> u16 {
    let sign = u16::from(x.is_sign_negative()) << 15;
    let size = x.abs();
    if size >= 65520.0 {
        return sign | 0x7c00;
    }
    let exponent = (((size.to_bits() >> 52) as i32) - 1023).max(-14);
    let steps = (size / 2f64.powi(exponent - 10)).round_ties_even() as u16;
    sign | ((((exponent + 14) as u16) << 10) + steps)
}

#[test]
fn halves_are_correctly_rounded() {
    let all: Vec<u32> = (0..=0xffff).collect();
    for function in &FUNCTIONS {
        let mut machine = Machine::new(function.half);
        for sources in all.chunks(BLOCK * LANES) {
            for (&source, result) in sources.iter().zip(machine.results(sources)) {
                let exact = (function.exact)(half(source as u16));
                let result = result as u16;
                let text = format!("v_{}_f16 of {source:#06x} is {result:#06x}", function.name);
                if exact.is_nan() {
                    assert!(half(result).is_nan(), "{text}");
                } else if exact == 0.0 {
                    // The sign of a zero sine is the source's, or plus.
                    assert!(half(result) == 0.0, "{text}");
                } else {
                    let want = to_half(exact);
                    assert_eq!(result, want, "{text}, not {want:#06x}");
                }
            }
        }
    }
}

/// The errors that were seen for a function.
#[derive(Default)]
struct Errors {
    count: u64,
    /// The number of results that are not the rounded reference, and the first few of their sources.
    misrounded: u64,
    examples: Vec<u32>,
    /// In units in the last place of the result.
    largest: f64,
}

impl Errors {
    /// Tests all of `sources` in single precision.
    fn of(function: &Function, sources: impl Iterator<Item = u32>) -> Errors {
        let mut machine = Machine::new(function.single);
        let mut errors = Errors::default();
        let mut sources = sources.peekable();
        while sources.peek().is_some() {
            let block: Vec<u32> = sources.by_ref().take(BLOCK * LANES).collect();
            for (&source, result) in block.iter().zip(machine.results(&block)) {
                errors.add(function, source, f32::from_bits(result));
            }
        }
        errors
    }

    fn add(&mut self, function: &Function, source: u32, result: f32) {
        let exact = (function.exact)(f64::from(f32::from_bits(source)));
        let want = exact as f32;
        self.count += 1;
        // Denormals are flushed, and special values have lines in testdata/.
        if !want.is_normal() {
            return;
        }
        if result != want {
            self.misrounded += 1;
            if self.examples.len() < 20 {
                self.examples.push(source);
            }
        }
        let ulp = f64::from(f32::from_bits(want.to_bits() & 0x7f80_0000)) * 2f64.powi(-23);
        let error = (f64::from(result) - exact).abs() / ulp;
        self.largest = self.largest.max(error);
    }

    fn merged(mut self, other: Errors) -> Errors {
        self.count += other.count;
        self.misrounded += other.misrounded;
        self.examples.extend(other.examples);
        self.largest = self.largest.max(other.largest);
        self
    }
}

/// The positive sources whose results are not trivial and do not repeat those of other sources, and whether the negative ones are
/// tested too.
fn interesting(name: &str) -> (std::ops::Range<u32>, bool) {
    let bits = f32::to_bits;
    match name {
        "exp" => (bits(2f32.powi(-26))..bits(128.0), true),
        // One binade has every rounding; a root, which halves the exponent, needs two.
        "rcp" => (bits(1.0)..bits(2.0), false),
        "rsq" | "sqrt" => (bits(1.0)..bits(4.0), false),
        "log" => (bits(2f32.powi(-16))..bits(65536.0), false),
        "sin" => (bits(2f32.powi(-20))..bits(256.0), false),
        _ => (bits(2f32.powi(-14))..bits(256.0), false),
    }
}

fn is_in_domain(name: &str, source: u32) -> bool {
    name != "exp" || f32::from_bits(source) >= -126.0
}

#[test]
fn a_sample_of_floats_is_within_the_bound() {
    for function in &FUNCTIONS {
        let (range, signed) = interesting(function.name);
        let sample = range.step_by(40_009);
        let signs = if signed { &[0, 1u32 << 31][..] } else { &[0] };
        let all = sample.flat_map(|bits| signs.iter().map(move |sign| bits | sign));
        let errors = Errors::of(function, all.filter(|&x| is_in_domain(function.name, x)));
        assert!(errors.count > 100);
        let Errors {
            largest, examples, ..
        } = &errors;
        assert!(*largest < 0.5001, "v_{}_f32: {largest} ulp", function.name);
        assert_eq!(
            errors.misrounded, 0,
            "v_{}_f32: {examples:x?}",
            function.name
        );
    }
}

/// A few minutes in a release build: `cargo test --release -p gcn-emu --test approximations -- --ignored --nocapture`.
#[test]
#[ignore = "every float: minutes"]
fn every_float_is_within_the_bound() {
    for function in &FUNCTIONS {
        let (range, signed) = interesting(function.name);
        let mut errors = Errors::default();
        let signs = if signed { &[0, 1u32 << 31][..] } else { &[0] };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let parts = (0..cores).map(|core| range.clone().skip(core).step_by(cores));
        let found: Vec<Errors> = std::thread::scope(|scope| {
            let threads: Vec<_> = parts
                .map(|part| {
                    let all = part.flat_map(|bits| signs.iter().map(move |sign| bits | sign));
                    let all = all.filter(|&x| is_in_domain(function.name, x));
                    scope.spawn(|| Errors::of(function, all))
                })
                .collect();
            threads
                .into_iter()
                .map(|t| t.join().expect("a thread"))
                .collect()
        });
        for part in found {
            errors = errors.merged(part);
        }
        println!(
            "v_{}_f32: {} sources, at most {:.9} ulp off, {} misrounded {:x?}",
            function.name, errors.count, errors.largest, errors.misrounded, errors.examples
        );
        assert!(errors.largest < 0.5001);
    }
}

/// Runs a VOP1 opcode of gfx9 on doubles.
fn doubles(opcode: u32, sources: &[f64]) -> Vec<f64> {
    let target = Target::parse("gfx900").expect("a target");
    let memory = Memory::new(1 << 20).expect("memory");
    let mut engine = Interp::new();
    let code = (0x7e00_0000 | 2 << 17 | opcode << 9 | 0x100).to_le_bytes();
    let mut results = Vec::new();
    for lanes in sources.chunks(LANES) {
        let mut wave = WaveState::new(4);
        for (lane, source) in lanes.iter().enumerate() {
            wave.vgprs[0][lane] = source.to_bits() as u32;
            wave.vgprs[1][lane] = (source.to_bits() >> 32) as u32;
        }
        wave.mode = 0x3f0;
        let snippet = Snippet {
            target,
            code: &code,
            start_pc: 0,
            max: 1000,
        };
        let mut lds = Lds::default();
        run(snippet, &mut wave, &mut lds, &memory, &mut engine);
        results.extend((0..lanes.len()).map(|lane| {
            let bits = u64::from(wave.vgprs[3][lane]) << 32 | u64::from(wave.vgprs[2][lane]);
            f64::from_bits(bits)
        }));
    }
    results
}

/// The distance of `y` from the reciprocal root of `x`, in ulps: half of 1 - x·y², which is computed without rounding except for
/// terms of 2^-100.
fn error_of_root(x: f64, y: f64) -> f64 {
    let product = x * y;
    let rest = x.mul_add(y, -product);
    let square = product * y;
    let left = (1.0 - square) - product.mul_add(y, -square) - rest * y;
    let ulp = f64::from_bits(y.to_bits() & 0x7ff0_0000_0000_0000) * 2f64.powi(-52);
    (y * left / 2.0 / ulp).abs()
}

#[test]
fn a_sample_of_doubles_is_within_the_bound() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut sources = Vec::new();
    for n in 0..20_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // Two binades have every rounding; then numbers of any exponent, and those beside powers of two.
        let mantissa = match n % 8 {
            0 => state & 7,
            1 => (1 << 52) - 1 - (state & 7),
            _ => state & ((1 << 52) - 1),
        };
        let exponent = match n % 4 {
            0 => 1 + (state >> 52) % 2046,
            _ => 1023 + (state >> 52) % 2,
        };
        sources.push(f64::from_bits(exponent << 52 | mantissa));
    }
    for (&x, y) in sources.iter().zip(doubles(37, &sources)) {
        assert_eq!(
            y.to_bits(),
            (1.0 / x).to_bits(),
            "v_rcp_f64 of {x:e} is {y:e}"
        );
    }
    for (&x, y) in sources.iter().zip(doubles(40, &sources)) {
        assert_eq!(
            y.to_bits(),
            x.sqrt().to_bits(),
            "v_sqrt_f64 of {x:e} is {y:e}"
        );
    }
    let mut largest = 0f64;
    for (&x, y) in sources.iter().zip(doubles(38, &sources)) {
        // The exponent is halved exactly. No intermediate value is a denormal.
        let exponent = (x.to_bits() >> 52) as i32 - 1023;
        let even = exponent & !1;
        let x = f64::from_bits(x.to_bits().wrapping_sub((i64::from(even) << 52) as u64));
        let y = y * 2f64.powi(even / 2);
        largest = largest.max(error_of_root(x, y));
    }
    assert!(
        largest > 0.49 && largest < 0.5001,
        "v_rsq_f64: {largest} ulp"
    );
}
