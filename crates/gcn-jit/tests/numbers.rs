//! Compilers' code for divisions and roots, and uncommon arithmetic, on both engines: with operands near all edges and
//! all settings of MODE, the registers must be equal bit for bit. `ROUNDS` is the number of rounds, `SEED` the first seed.

#![cfg(target_arch = "x86_64")]

use gcn_emu::engine::{Code, Engine, Machine, Stop};
use gcn_emu::global::Global;
use gcn_emu::interp::Interp;
use gcn_emu::mem::Memory;
use gcn_emu::wave::{Lds, WaveState};
use gcn_isa::Target;
use gcn_jit::{Jit, Level};

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    fn number(&mut self) -> u64 {
        std::env::var("ROUNDS")
            .ok()
            .and_then(|v| v.parse().ok())
            .unwrap_or(60)
    }
}

/// The kind of numbers in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Between 2^-20 and 2^20.
    Plain,
    /// Any exponent, no NaN, infinity or denormal.
    Normal,
    /// Any bits, and special numbers often.
    Any,
}

/// Returns a number with this number of bits.
fn number(r: &mut Rng, bits: u32, kind: Kind) -> u64 {
    let (locations, max) = match bits {
        16 => (10, 0x1f),
        32 => (23, 0xff),
        _ => (52, 0x7ff),
    };
    let any = r.next() & (u64::MAX >> (64 - bits));
    let bias = max / 2;
    let exponent = match kind {
        Kind::Plain => bias - 8 + r.below(17),
        Kind::Normal => 1 + r.below(max - 1),
        Kind::Any => {
            let edges = [0, 0, 1, 2, max / 2, max - 3, max - 2, max - 1, max, max];
            match r.below(3) {
                0 => edges[r.below(10) as usize],
                1 => bias - locations.min(bias) + r.below(2 * locations.min(bias)),
                _ => r.below(max + 1),
            }
        }
    };
    let mantissa = match r.below(6) {
        0 => 0,
        1 => (1 << locations) - 1 - r.below(3),
        2 => r.below(3),
        3 => 1 << r.below(locations),
        _ => any & ((1 << locations) - 1),
    };
    any & 1 << (bits - 1) | exponent << locations | mantissa
}

struct Case {
    name: &'static str,
    targets: &'static [&'static str],
    /// The size of the numbers in the VGPRs in bits. 64-bit numbers are in pairs from v0 on.
    bits: u32,
    text: &'static str,
    /// The code does not fall back to the interpreter for special numbers.
    whole: bool,
}

/// The text of a division of v0 by v1: `$first` is before it, `$keep` and `$flush` before and after its middle steps, `$last` after it.
macro_rules! division {
    ($first:literal, $keep:literal, $flush:literal, $last:literal) => {
        concat!(
            $first,
            "
            v_div_scale_f32 v4, s[0:1], v1, v1, v0
            v_div_scale_f32 v5, vcc, v0, v1, v0
            v_rcp_f32 v6, v4
            ",
            $keep,
            "
            v_fma_f32 v7, -v4, v6, 1.0
            v_fma_f32 v6, v7, v6, v6
            v_mul_f32 v7, v5, v6
            v_fma_f32 v8, -v4, v7, v5
            v_fma_f32 v7, v8, v6, v7
            v_fma_f32 v4, -v4, v7, v5
            ",
            $flush,
            "
            v_div_fmas_f32 v4, v4, v6, v7
            v_div_fixup_f32 v9, v4, v1, v0
            ",
            $last
        )
    };
}

const ALL: &[&str] = &["gfx600", "gfx701", "gfx803", "gfx900", "gfx906"];

const CASES: &[Case] = &[
    Case {
        name: "division of f32",
        targets: ALL,
        bits: 32,
        whole: true,
        text: division!(
            "",
            "",
            "",
            "v_mov_b32 v4, 0\nv_mov_b32 v5, 0\nv_mov_b32 v6, 0\nv_mov_b32 v7, 0\nv_mov_b32 v8, 0"
        ),
    },
    Case {
        name: "division of f32 with steps that keep denormals",
        targets: ALL,
        bits: 32,
        whole: false,
        text: division!(
            "",
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3",
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0",
            "v_mov_b32 v4, 0\nv_mov_b32 v5, 0\nv_mov_b32 v6, 0\nv_mov_b32 v7, 0\nv_mov_b32 v8, 0"
        ),
    },
    Case {
        name: "division of f32 with steps that keep denormals, from registers",
        targets: ALL,
        bits: 32,
        whole: false,
        text: division!(
            "s_mov_b32 s4, 3\ns_movk_i32 s5, 0",
            "s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s4",
            "s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s5",
            "v_mov_b32 v4, 0\nv_mov_b32 v5, 0\nv_mov_b32 v6, 0\nv_mov_b32 v7, 0\nv_mov_b32 v8, 0"
        ),
    },
    Case {
        name: "division whose steps in another MODE are observed",
        targets: ALL,
        bits: 32,
        whole: false,
        text: division!(
            "",
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3",
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0",
            ""
        ),
    },
    Case {
        name: "selections by comparisons of their operands",
        targets: ALL,
        bits: 32,
        whole: true,
        text: "v_cmp_lt_f32 vcc, v0, v1
            v_cndmask_b32 v4, v1, v0, vcc
            v_cndmask_b32 v5, v0, v1, vcc
            v_cmp_gt_f32 s[4:5], v1, v2
            v_cndmask_b32 v6, v2, v1, s[4:5]
            v_cndmask_b32 v7, v1, v2, s[4:5]
            v_cmp_le_f32 vcc, v2, v3
            v_cndmask_b32 v8, v3, v2, vcc
            v_cmp_nlt_f32 vcc, v3, v0
            v_cndmask_b32 v9, v3, v0, vcc
            v_cmp_gt_f32 vcc, -v1, v3
            v_cndmask_b32 v10, v3, v1, vcc
            v_cmp_lt_f32 vcc, v4, v7
            v_cndmask_b32 v11, v7, v4, vcc
            v_cmp_le_i32 vcc, v0, v1
            v_cndmask_b32 v12, v1, v0, vcc
            v_cndmask_b32 v13, v0, v1, vcc
            v_cmp_gt_u32 vcc, v2, v3
            v_cndmask_b32 v14, v3, v2, vcc
            v_cndmask_b32 v15, v2, v3, vcc",
    },
    Case {
        name: "steps of divisions of f64, more than there are registers",
        targets: ALL,
        bits: 64,
        whole: false,
        text: "v_div_fmas_f64 v[0:1], v[2:3], v[0:1], -v[2:3]
            v_div_fmas_f64 v[4:5], v[6:7], v[3:4], -v[6:7]
            v_fma_f64 v[8:9], v[0:1], v[4:5], v[8:9]
            v_div_fmas_f64 v[10:11], v[12:13], v[11:12], -v[12:13]
            v_fma_f64 v[14:15], v[10:11], v[2:3], v[6:7]",
    },
    Case {
        name: "reciprocal of f32",
        targets: ALL,
        bits: 32,
        whole: true,
        text: "v_div_scale_f32 v4, s[0:1], v1, v1, 1.0
            v_rcp_f32 v6, v4
            v_fma_f32 v7, -v4, v6, 1.0
            v_fma_f32 v6, v7, v6, v6
            v_div_scale_f32 v5, vcc, 1.0, v1, 1.0
            v_mul_f32 v7, v5, v6
            v_fma_f32 v8, -v4, v7, v5
            v_fma_f32 v7, v8, v6, v7
            v_fma_f32 v4, -v4, v7, v5
            v_div_fmas_f32 v4, v4, v6, v7
            v_div_fixup_f32 v9, v4, v1, 1.0
            v_mov_b32 v4, 0
            v_mov_b32 v5, 0
            v_mov_b32 v6, 0
            v_mov_b32 v7, 0
            v_mov_b32 v8, 0",
    },
    Case {
        name: "division of f64",
        targets: &["gfx701", "gfx803", "gfx900", "gfx906"],
        bits: 64,
        whole: true,
        text: "v_div_scale_f64 v[4:5], s[0:1], v[2:3], v[2:3], v[0:1]
            v_rcp_f64 v[6:7], v[4:5]
            v_fma_f64 v[8:9], -v[4:5], v[6:7], 1.0
            v_fma_f64 v[6:7], v[6:7], v[8:9], v[6:7]
            v_fma_f64 v[8:9], -v[4:5], v[6:7], 1.0
            v_fma_f64 v[6:7], v[6:7], v[8:9], v[6:7]
            v_div_scale_f64 v[8:9], vcc, v[0:1], v[2:3], v[0:1]
            v_mul_f64 v[10:11], v[8:9], v[6:7]
            v_fma_f64 v[4:5], -v[4:5], v[10:11], v[8:9]
            v_div_fmas_f64 v[4:5], v[4:5], v[6:7], v[10:11]
            v_div_fixup_f64 v[10:11], v[4:5], v[2:3], v[0:1]
            v_mov_b32 v4, 0
            v_mov_b32 v5, 0
            v_mov_b32 v6, 0
            v_mov_b32 v7, 0
            v_mov_b32 v8, 0
            v_mov_b32 v9, 0",
    },
    Case {
        name: "division whose steps do not belong together",
        targets: ALL,
        bits: 32,
        whole: false,
        text: "v_div_scale_f32 v4, s[0:1], v1, v1, v0
            v_div_scale_f32 v5, vcc, v2, v3, v2
            v_rcp_f32 v6, v4
            v_fma_f32 v7, -v4, v6, 1.0
            v_fma_f32 v6, v7, v6, v6
            v_mul_f32 v7, v5, v6
            v_fma_f32 v4, -v4, v7, v5
            v_div_fmas_f32 v4, v4, v6, v7
            v_div_fixup_f32 v9, v4, v1, v2",
    },
    Case {
        name: "roots and reciprocals of f32",
        targets: ALL,
        bits: 32,
        whole: true,
        text: "v_rcp_f32 v4, v0
            v_rsq_f32 v5, v1
            v_sqrt_f32 v6, v2
            v_rcp_iflag_f32 v7, v3
            v_sqrt_f32 v8, -v1
            v_rcp_f32 v9, |v1|",
    },
    Case {
        name: "roots' relatives: exponentials, logarithms, sines",
        targets: ALL,
        bits: 32,
        whole: true,
        text: "v_exp_f32 v4, v0
            v_log_f32 v5, v1
            v_sin_f32 v6, v2
            v_cos_f32 v7, v3
            v_log_f32 v8, |v0|
            v_exp_f32 v9, -v1",
    },
    Case {
        name: "halves",
        targets: &["gfx803", "gfx900", "gfx906"],
        bits: 16,
        whole: false,
        text: "v_add_f16 v4, v0, v1
            v_sub_f16 v5, v1, v2
            v_mul_f16 v6, v2, v3
            v_fma_f16 v7, v0, v1, v2
            v_fma_f16 v8, -v3, v1, v0
            v_max_f16 v9, v0, v1
            v_min_f16 v10, v2, v3
            v_rcp_f16 v11, v0
            v_sqrt_f16 v12, v1
            v_rsq_f16 v13, v2
            v_floor_f16 v14, v3
            v_ldexp_f16 v15, v0, v1",
    },
    Case {
        name: "halves: conversions and comparisons",
        targets: &["gfx803", "gfx900", "gfx906"],
        bits: 16,
        whole: false,
        text: "v_cvt_f32_f16 v4, v0
            v_cvt_f16_u16 v5, v1
            v_cvt_f16_i16 v6, v2
            v_cvt_u16_f16 v7, v3
            v_cvt_i16_f16 v8, v0
            v_cvt_f16_f32 v9, v1
            v_cmp_lt_f16 vcc, v0, v1
            v_cndmask_b32 v10, v2, v3, vcc
            v_cmp_u_f16 s[4:5], v2, v3
            v_exp_f16 v11, v0
            v_log_f16 v12, |v1|
            v_sin_f16 v13, v2
            v_fract_f16 v14, v3
            v_frexp_mant_f16 v15, v0",
    },
    Case {
        name: "halves in pairs",
        targets: &["gfx900", "gfx906"],
        bits: 16,
        whole: false,
        text: "v_pk_add_f16 v4, v0, v1
            v_pk_mul_f16 v5, v1, v2 op_sel:[1,0]
            v_pk_fma_f16 v6, v0, v1, v2 neg_lo:[1,0,0]
            v_pk_max_f16 v7, v2, v3
            v_pk_min_f16 v8, v0, 1.0
            v_pk_add_u16 v9, v0, v1
            v_pk_mul_lo_u16 v10, v1, v2
            v_pk_mad_i16 v11, v0, v1, v2
            v_pk_max_i16 v12, v0, v3
            v_pk_lshlrev_b16 v13, v0, v1
            v_pk_ashrrev_i16 v14, v2, v3
            v_pk_add_f16 v15, v0, v1 clamp",
    },
    Case {
        name: "halves among f32",
        targets: &["gfx906"],
        bits: 16,
        whole: false,
        text: "v_fma_mix_f32 v4, v0, v1, v2 op_sel_hi:[1,1,1]
            v_fma_mix_f32 v5, v0, v1, v2 op_sel:[1,0,0] op_sel_hi:[1,0,1]
            v_fma_mixlo_f16 v6, v0, v1, v2 op_sel_hi:[1,1,1]
            v_fma_mixhi_f16 v6, v1, v2, v3 op_sel_hi:[1,1,0]
            v_dot2_f32_f16 v7, v0, v1, v2
            v_dot4_i32_i8 v8, v0, v1, v2
            v_dot2_u32_u16 v9, v0, v1, v2",
    },
    Case {
        name: "halves: clamp and classes, beside f32 and f64",
        targets: ALL,
        bits: 32,
        whole: false,
        text: "v_add_f32 v4, v0, v1 clamp
            v_mul_f32 v5, v2, v3 clamp
            v_mov_b32 v6, 0x60
            v_cmp_class_f32 s[4:5], v0, 0x3f
            v_bfrev_b32 v7, v1
            v_cmp_class_f32 vcc, v1, 16
            v_add_f64 v[8:9], v[0:1], v[2:3] clamp
            v_cmp_class_f64 s[6:7], v[0:1], 48
            v_cvt_f16_f32 v10, v2
            v_cvt_pkrtz_f16_f32 v11, v0, v1",
    },
    Case {
        name: "roots of NaNs: what arithmetic makes of them",
        targets: ALL,
        bits: 32,
        whole: false,
        text: "v_add_f32 v4, v0, v1
            v_mul_f32 v5, v4, v2
            v_sub_f32 v6, v5, v4
            v_fma_f32 v7, v4, -v5, v6
            v_mad_f32 v8, v0, v7, |v1|
            v_fma_f32 v9, v0, v1, v2
            v_max_f32 v10, v1, v2
            v_min_f32 v11, v10, v4
            v_floor_f32 v12, v3
            v_ldexp_f32 v13, v0, v1
            v_cvt_f64_f32 v[14:15], v5
            v_sqrt_f32 v0, -v6",
    },
    Case {
        name: "roots of NaNs: what arithmetic of f64 makes of them",
        targets: ALL,
        bits: 64,
        whole: false,
        text: "v_add_f64 v[4:5], v[0:1], v[2:3]
            v_mul_f64 v[6:7], v[4:5], v[2:3]
            v_fma_f64 v[8:9], v[4:5], -v[6:7], v[0:1]
            v_max_f64 v[10:11], v[0:1], v[2:3]
            v_min_f64 v[12:13], v[10:11], v[8:9]
            v_cvt_f32_f64 v14, v[8:9]
            v_ldexp_f64 v[0:1], v[2:3], v0",
    },
    Case {
        name: "roots of sums",
        targets: ALL,
        bits: 32,
        whole: false,
        text: "v_add_f32 v4, v0, v1
            v_mul_f32 v5, v2, v3
            v_sqrt_f32 v4, v4
            v_rcp_f32 v6, v5
            v_rsq_f32 v5, v5
            v_mul_f32 v4, v4, v5",
    },
    Case {
        name: "roots and reciprocals of f64",
        targets: ALL,
        bits: 64,
        whole: true,
        text: "v_rcp_f64 v[4:5], v[0:1]
            v_rsq_f64 v[6:7], v[2:3]
            v_sqrt_f64 v[8:9], v[0:1]",
    },
];

fn run(
    engine: &mut dyn Engine,
    target: Target,
    code: &[u8],
    wave: &mut WaveState,
    memory: &Memory,
) -> Stop {
    run_for(1000, engine, (target, code), wave, memory)
}

/// Runs a wave for a number of instructions.
fn run_for(
    mut fuel: u64,
    engine: &mut dyn Engine,
    (target, code): (Target, &[u8]),
    wave: &mut WaveState,
    memory: &Memory,
) -> Stop {
    let global = Global::default();
    let mut lds = Lds::new(64);
    let mut machine = Machine {
        target,
        memory,
        code: Code::Snippet(0, code),
        lds: &mut lds,
        global: &global,
        hidden_private_base: 0,
        middle: &[],
        probe: None,
    };
    engine.run(wave, &mut machine, &mut fuel)
}

fn case(c: &Case) {
    for level in Level::ALL {
        if level.available() {
            case_of(c, level);
        } else {
            eprintln!("skipped: this host has no {}", level.name());
        }
    }
}

fn case_of(c: &Case, level: Level) {
    let memory = Memory::new(1 << 20).expect("memory");
    for &name in c.targets {
        let target = Target::parse(name).expect("a target");
        let mut code = Vec::new();
        gcn_asm::assemble_into(target, c.text, &mut code).expect("it assembles");
        let mut r = Rng(std::env::var("SEED")
            .ok()
            .and_then(|s| s.parse().ok())
            .unwrap_or(1));
        let (mut jit, mut interp) = (Jit::with_level(level), Interp::new());
        for round in 0..r.number() {
            let kind = [Kind::Plain, Kind::Normal, Kind::Any][(round % 3) as usize];
            let mut wave = WaveState::new(16);
            for v in 0..16 {
                let one = number(&mut r, c.bits, kind);
                let plain = r.below(8) == 0;
                for lane in 0..64 {
                    let x = if plain {
                        one
                    } else {
                        number(&mut r, c.bits, kind)
                    };
                    match c.bits {
                        64 if v % 2 == 0 => {
                            wave.vgprs[v][lane] = x as u32;
                            wave.vgprs[v + 1][lane] = (x >> 32) as u32;
                        }
                        64 => {}
                        16 => {
                            wave.vgprs[v][lane] = x as u32 | (number(&mut r, 16, kind) as u32) << 16
                        }
                        _ => wave.vgprs[v][lane] = x as u32,
                    }
                }
            }
            wave.set_exec(if r.below(4) == 0 { r.next() } else { !0 });
            for s in &mut wave.sgprs[..100] {
                *s = number(&mut r, 32, kind) as u32;
            }
            // MODE keeps denormals, is as at the start, or is random.
            wave.mode = match round / 3 % 4 {
                0 | 1 => 0x3f0,
                2 => 0x3c0,
                _ => (r.next() & 0x3ff) as u32,
            };
            let (mut a, mut b) = (wave.clone(), wave.clone());
            jit.invalidate();
            jit.testing.lean = round % 2 == 0;
            jit.testing.exact = round % 5 == 0;
            let before = jit.stats.restarts;
            let want = run(&mut interp, target, &code, &mut a, &memory);
            let got = run(&mut jit, target, &code, &mut b, &memory);
            assert_eq!(want, got, "{name}, {}", c.name);
            for (n, (x, y)) in a.vgprs.iter().zip(&b.vgprs).enumerate() {
                for l in 0..64 {
                    assert!(
                        x[l] == y[l],
                        "{name}, {}, mode {:#x}, v{n}[{l}]: {:#x}, compiled {:#x}; operands {:x?}",
                        c.name,
                        wave.mode,
                        x[l],
                        y[l],
                        wave.vgprs.iter().map(|v| v[l]).collect::<Vec<_>>()
                    );
                }
            }
            assert!(a == b, "{name}, {}: scalars differ", c.name);
            let again = jit.stats.restarts - before;
            assert!(
                !jit.testing.exact || again == 0 || wave.mode & 0x200 == 0,
                "{name}, {}, round {round}: a NaN is not put right",
                c.name
            );
            assert!(
                !c.whole || again == 0 || wave.mode != 0x3f0 || !jit.testing.lean,
                "{name}, {}, round {round}: run again",
                c.name
            );
        }
    }
}

#[test]
fn divisions() {
    for c in CASES
        .iter()
        .filter(|c| c.name.contains("divi") || c.name.contains("reciprocal of"))
    {
        case(c);
    }
}

#[test]
fn halves() {
    for c in CASES.iter().filter(|c| c.name.contains("halves")) {
        case(c);
    }
}

#[test]
fn roots() {
    for c in CASES.iter().filter(|c| c.name.contains("roots")) {
        case(c);
    }
}

#[test]
fn selections() {
    for c in CASES.iter().filter(|c| c.name.contains("selections")) {
        case(c);
    }
}

/// All pairs of zeros, denormals, infinities and NaNs, with denormals kept and flushed, in all lanes and in some.
#[test]
fn selections_of_special_numbers() {
    const SPECIAL: [u32; 16] = [
        0,
        0x8000_0000,
        1,
        0x8000_0001,
        0x007f_ffff,
        0x0080_0000,
        0x3f80_0000,
        0xbf80_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7f80_0001,
        0xff92_3456,
        0x7fc0_0000,
        0xffc0_0000,
        0x7fff_ffff,
        0xffff_ffff,
    ];
    let memory = Memory::new(1 << 20).expect("memory");
    let c = CASES.iter().find(|c| c.name.contains("selections"));
    let c = c.expect("the case of selections");
    for level in Level::ALL.into_iter().filter(|level| level.available()) {
        for &name in c.targets {
            let target = Target::parse(name).expect("a target");
            let mut code = Vec::new();
            gcn_asm::assemble_into(target, c.text, &mut code).expect("it assembles");
            let (mut jit, mut interp) = (Jit::with_level(level), Interp::new());
            for part in 0..4 {
                for mode in [0x3f0, 0x1f0, 0x3c0, 0x3d0, 0x3e0] {
                    for exec in [!0, 0x5555_0000_ffff_0f0f] {
                        let mut wave = WaveState::new(16);
                        for lane in 0..64 {
                            let pair = 64 * part + lane;
                            let of = [pair / 16, pair, pair / 16 + pair, 3 * pair];
                            for (v, at) in of.into_iter().enumerate() {
                                wave.vgprs[v][lane] = SPECIAL[at % 16];
                            }
                        }
                        wave.set_exec(exec);
                        wave.mode = mode;
                        let (mut a, mut b) = (wave.clone(), wave);
                        let want = run(&mut interp, target, &code, &mut a, &memory);
                        let got = run(&mut jit, target, &code, &mut b, &memory);
                        assert_eq!(want, got, "{name}, {}", level.name());
                        assert!(a.vgprs == b.vgprs, "{name}, {}, {mode:#x}", level.name());
                    }
                }
            }
        }
    }
}

/// The fast path of a division, with hard operands: quotients next to the midpoint between two numbers, and initial
/// approximations with the largest error.
#[test]
fn divisions_are_quotients() {
    fn steps64(y: f64, z: f64) -> f64 {
        let mut r = 1.0 / y;
        for _ in 0..2 {
            r = r.mul_add((-y).mul_add(r, 1.0), r);
        }
        let q = z * r;
        (-y).mul_add(q, z).mul_add(r, q)
    }
    fn steps32(y: f32, z: f32) -> f32 {
        let r = 1.0 / y;
        let r = r.mul_add((-y).mul_add(r, 1.0), r);
        let q = z * r;
        let q = (-y).mul_add(q, z).mul_add(r, q);
        (-y).mul_add(q, z).mul_add(r, q)
    }
    let mut r = Rng(5);
    let f64_of = |m: u64| f64::from_bits(m & ((1 << 52) - 1) | 1023 << 52);
    for round in 0..20_000 {
        let near_two = (1 << 53) - 1 - 2 * (r.next() >> (32 + r.below(30)));
        let y = if round % 2 == 0 {
            near_two
        } else {
            1 << 52 | r.next() >> 12 | 1
        };
        // The inverse of y modulo 2^64.
        let inverse = (0..6).fold(y, |x, _| {
            x.wrapping_mul(2u64.wrapping_sub(y.wrapping_mul(x)))
        });
        for k in 1..10u64 {
            for (sign, locations) in [(0, 53), (1, 53), (0, 54), (1, 54)] {
                // y × m is k more, or less, than a multiple z of 2^places.
                let low = (1u64 << locations) - 1;
                let m = inverse.wrapping_mul(if sign == 0 { k } else { k.wrapping_neg() }) & low;
                for m in [m, m + low + 1] {
                    let product = y as u128 * m as u128;
                    let z = match sign {
                        0 => (product - k.min(product as u64) as u128) >> locations,
                        _ => (product + k as u128) >> locations,
                    };
                    if z >> 52 == 1 {
                        let (y, z) = (f64_of(y), f64_of(z as u64));
                        assert_eq!(steps64(y, z), z / y, "{z:?} / {y:?}");
                    }
                }
            }
        }
        let (a, b) = (r.next(), r.next());
        let (y, z) = (f64_of(a), f64_of(b));
        assert_eq!(steps64(y, z), z / y);
        let part = |v: u64| f32::from_bits(v as u32 & 0x7f_ffff | 127 << 23);
        assert_eq!(steps32(part(a), part(b)), part(b) / part(a));
    }
}

/// The steps of a square root give the square root of all f64 whose root is next to a midpoint between two numbers: in
/// units of the root's last place, x = G (G + 1) + k with a small k. See `Graph::root`.
#[test]
fn roots_are_roots() {
    fn steps(x: f64) -> [f64; 2] {
        let y = 1.0 / x.sqrt();
        let product = x * y;
        let lost = x.mul_add(y, -product);
        let missing = (-product).mul_add(y, 1.0) - lost * y;
        let y = (y * 0.5).mul_add(missing, y);
        let (g, h) = (x * y, y * 0.5);
        let e = (-h).mul_add(g, 0.5);
        let (g, h) = (g.mul_add(e, g), h.mul_add(e, h));
        let once = (-g).mul_add(g, x).mul_add(h, g);
        [once, (-once).mul_add(once, x).mul_add(h, once)]
    }
    let check = |x: f64| {
        for y in steps(x) {
            assert_eq!(y, x.sqrt(), "{x:?}");
        }
    };
    let mut tried = 0;
    for locations in [52, 53] {
        // For numbers from 2^104 and from 2^105 on, a unit of the last place is 2^52 and 2^53.
        let low = (1u128 << locations) - 1;
        for k in -64i128..=64 {
            // All G below 2^places with G (G + 1) + k = 0 modulo 2^places, bit by bit.
            let mut roots = vec![0u128];
            for bit in 0..locations {
                let modulo = (1u128 << (bit + 1)) - 1;
                roots = roots
                    .into_iter()
                    .flat_map(|g| [g, g | 1 << bit])
                    .filter(|g| ((g * (g + 1)) as i128 + k) as u128 & modulo == 0)
                    .collect();
            }
            for root in roots {
                for g in [root, root + (1 << locations)] {
                    let x = ((g * (g + 1)) as i128 + k) as u128;
                    let first = 1u128 << (52 + locations);
                    let last = 1u128 << (53 + locations);
                    if g >> 52 == 1 && x & low == 0 && (first..last).contains(&x) {
                        tried += 1;
                        for scale in [0, -100, 100] {
                            check((x >> locations) as f64 * 2f64.powi(locations - 104 + 2 * scale));
                        }
                    }
                }
            }
        }
    }
    assert!(tried > 80, "{tried}");
    let mut r = Rng(9);
    for _ in 0..200_000 {
        let exponent = 64 + r.below(0x7fe - 64);
        check(f64::from_bits(r.next() >> 12 | exponent << 52));
    }
}

/// Waves whose time slice ends where MODE is another than at the block's start continue in the same region.
#[test]
fn time_slices_end_between_changes_of_mode() {
    let text = CASES[1].text;
    let memory = Memory::new(1 << 20).expect("memory");
    let target = Target::parse("gfx803").expect("a target");
    let mut code = Vec::new();
    gcn_asm::assemble_into(target, text, &mut code).expect("it assembles");
    for level in Level::ALL.into_iter().filter(|level| level.available()) {
        let (mut jit, mut interp) = (Jit::with_level(level), Interp::new());
        // A single instruction is interpreted.
        for first in 2..text.lines().count() as u64 {
            let mut wave = WaveState::new(16);
            wave.set_exec(!0);
            wave.mode = 0x3c0;
            wave.vgprs[0] = [0x3f80_0003; 64];
            wave.vgprs[1] = [0x4049_0fdb; 64];
            let (mut a, mut b) = (wave.clone(), wave);
            run(&mut interp, target, &code, &mut a, &memory);
            for fuel in [first, 1000] {
                run_for(fuel, &mut jit, (target, &code), &mut b, &memory);
            }
            assert!(a.vgprs == b.vgprs && a.mode == b.mode, "{first}");
        }
        assert_eq!(jit.stats.regions, 1, "{}", level.name());
    }
}
