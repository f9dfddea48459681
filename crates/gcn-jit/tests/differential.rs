//! Runs random code on both engines and compares their states.
//!
//! `BLOCKS` is the number of blocks for each target, `SEED` the first seed; `TARGET` and `LEVEL` select one target and one level.
//! A failure prints its seed, the block, and the smallest part of it that still differs. Long runs:
//!
//! ```sh
//! BLOCKS=1000000 SEED=1 TARGET=gfx900 cargo test --release -p gcn-jit --test differential -- --nocapture
//! ```
#![allow(clippy::precedence)]
#![cfg(target_arch = "x86_64")]

mod both;

use both::Bench;
use both::generate::Maker;
use both::rng::Rng;
use gcn_isa::Target;
use gcn_jit::Level;
use iced_x86::{Decoder, DecoderOptions};
use std::collections::HashSet;
use std::time::Instant;

/// The default number of blocks for each target.
const BLOCKS: u64 = 500;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|v| v.parse().ok())
}

/// Returns the levels to test.
fn levels() -> Vec<Level> {
    let wanted = std::env::var("LEVEL");
    let wanted = |l: &Level| wanted.as_ref().map_or(true, |w| w == l.name());
    let (levels, lacking): (Vec<_>, Vec<_>) = Level::ALL
        .into_iter()
        .filter(wanted)
        .partition(|l| l.available());
    for level in lacking {
        eprintln!("skipped: this host has no {}", level.name());
    }
    levels
}

fn blocks(name: &str) {
    for level in levels() {
        blocks_of(name, level);
    }
}

fn blocks_of(name: &str, level: Level) {
    if std::env::var("TARGET").is_ok_and(|t| t != name) {
        return;
    }
    let (first, count) = (
        number("SEED").unwrap_or(1),
        number("BLOCKS").unwrap_or(BLOCKS),
    );
    let stop_after = number("STOP_AFTER").unwrap_or(1);
    let mut maker = Maker::with_programs(Target::parse(name).expect("a target"));
    let mut bench = Bench::new(level);
    let begun = Instant::now();
    let show = std::env::var("SHOW").is_ok();
    let mut failures = 0;
    for seed in first..first + count {
        let case = maker.case(&bench, seed);
        if show {
            eprintln!("{name} SEED={seed}\n{}", case.text());
        }
        if bench.differs(&case).is_some() {
            eprintln!("{name} {level:?} SEED={seed}: {}", bench.report(&case));
            failures += 1;
            if failures >= stop_after {
                break;
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    eprintln!(
        "{name} {level:?}: {:.0} blocks a second, {} rounds; {} instructions in snippets, {} of them interpreted",
        count as f64 / seconds,
        bench.rounds,
        bench.executed,
        bench.interpreted
    );
    assert!(failures == 0, "the engines differ");
    assert_eq!(bench.refused(), 0, "units had no code");
    assert!(
        bench.pages().holes_are_empty(),
        "something was written where nothing is mapped"
    );
}

/// The compiled code of real and of random code decodes completely, and jumps go to the starts of instructions.
#[test]
fn what_is_compiled_decodes() {
    for level in levels() {
        decodes(level);
    }
}

fn decodes(level: Level) {
    let mut instructions = 0;
    for name in ["gfx701", "gfx803", "gfx900"] {
        let mut maker = Maker::with_programs(Target::parse(name).expect("a target"));
        let mut bench = Bench::new(level);
        for seed in 0..60 {
            let case = maker.case(&bench, seed);
            bench.differs(&case);
            for (code, pieces) in bench.compiled() {
                let mut starts = HashSet::new();
                let mut targets = Vec::new();
                for piece in pieces {
                    let at = piece.start as u64;
                    let bytes = &code[piece];
                    let mut decoder = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE);
                    while decoder.can_decode() {
                        let insn = decoder.decode();
                        let ip = insn.ip();
                        assert!(
                            !insn.is_invalid(),
                            "{name} {seed}: {ip:#x}\n{}",
                            case.text()
                        );
                        // AVX2 code has no EVEX prefix and no register of AVX-512.
                        let registers = (0..insn.op_count()).map(|n| insn.op_register(n));
                        let newer = code[ip as usize] == 0x62
                            || registers.into_iter().any(|r| r.is_k() || r.is_zmm());
                        assert!(!newer || level == Level::Avx512, "{name} {seed}: {ip:#x}");
                        starts.insert(ip);
                        let near = insn.is_jmp_near() || insn.is_jcc_near();
                        targets.extend(
                            (near || insn.is_call_near()).then(|| insn.near_branch_target()),
                        );
                        instructions += 1;
                    }
                }
                // The code before the first block is the region's entry.
                let first = starts.iter().min().copied().unwrap_or(0);
                for target in targets.into_iter().filter(|&t| t >= first) {
                    assert!(
                        starts.contains(&target),
                        "{name} {seed}: a jump to {target:#x}"
                    );
                }
            }
        }
    }
    assert!(instructions > 50_000, "{instructions}");
}

/// Code that was once compiled wrongly, with many states.
#[test]
fn what_was_wrong_once() {
    let lines = [
        // A store's guard was tested after the store.
        ("gfx803", "buffer_store_byte v8, v18, s[36:39], 0 offen"),
        ("gfx900", "buffer_store_short v8, v18, s[36:39], 0 offen"),
        // Without IEEE, a signalling NaN stays signalling when it is converted to f16.
        (
            "gfx900",
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 2), 0\nv_cvt_pkrtz_f16_f32 v0, v0, v7",
        ),
        // Lanes whose addresses are affine with a negative base.
        (
            "gfx900",
            "ds_wrxchg2_rtn_b32 v[18:19], v16, v9, v3 offset0:8 offset1:4\nflat_load_ubyte v0, v[18:19] offset:3782",
        ),
        // A load of stored data, from a page that may not be read.
        (
            "gfx600",
            "buffer_store_dword v1, off, s[0:3], s32\nbuffer_load_dword v0, off, s[0:3], s32",
        ),
        // The root of a truth value, which is a denormal.
        (
            "gfx600",
            "s_mov_b64 vcc, 0\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 15\ns_nop 4\nv_sqrt_f32 v10, src_vccz\nv_rcp_f32 v11, src_vccz\nv_rsq_f32 v12, src_scc",
        ),
        // Of three operands the scalar ones are compared first, and one depends on lanes of the block.
        (
            "gfx600",
            "v_add_i32 v20, vcc, v20, v5\nv_min3_u32 v3, -2.0, vcc_lo, v1\ns_barrier",
        ),
        // An SGPR is exchanged with lane 0, which is inactive and keeps what it had.
        (
            "gfx900",
            "s_mov_b64 exec, 0\nv_cvt_i32_f32 v11, 61\nv_swap_b32 v11, s43",
        ),
        // A scalar atomic ignores EXEC.
        (
            "gfx900",
            "s_mov_b64 exec, 0\ns_atomic_umin_x2 s[0:1], s[22:23], 0x0",
        ),
        (
            "gfx900",
            "s_mov_b64 exec, 0\ns_atomic_add s0, s[20:21], 0x8 glc",
        ),
        // Data of a deferred store are overwritten in the same block.
        (
            "gfx803",
            "ds_write2_b32 v17, v5, v0 offset0:8\nv_min_f16_e32 v0, v9, v1",
        ),
        // A scalar load whose address depends on lanes leaves the block after VGPRs were written.
        (
            "gfx701",
            "v_subrev_i32_e64 v4, s[0:1], v3, s12\ns_load_dwordx16 s[8:23], s[20:21], s0\nv_xor_b32_e64 v3, v4, v7",
        ),
        (
            "gfx600",
            "v_div_scale_f64 v[10:11], s[0:1], v[9:10], v[5:6], v[3:4]\ns_load_dwordx8 s[12:19], s[22:23], s0",
        ),
        // A NaN in an operation on scalars alone.
        (
            "gfx701",
            "s_or_b32 s17, s17, 0x7fc00000\nv_sub_f32_e64 v5, 1.0, -s17",
        ),
        // The instruction's SGPR counts units of 64 bytes.
        ("gfx900", "s_scratch_load_dwordx2 s[0:1], s[20:21], s49"),
        // The literal counts dwords.
        ("gfx701", "s_load_dword s0, s[20:21], 0x123"),
        // Registers and memory after a fault.
        (
            "gfx900",
            "v_mov_b32 v9, 1.0\nflat_load_dwordx4 v[8:11], v[12:13]\nv_mov_b32 v4, 0",
        ),
        (
            "gfx900",
            "v_mov_b32 v9, 1.0\nglobal_store_dwordx4 v[12:13], v[8:11], off\nv_mov_b32 v4, 0",
        ),
        (
            "gfx803",
            "v_and_b32 v4, 3, v6\nflat_store_dwordx2 v[12:13], v[8:9]",
        ),
        // A fault of a load whose destination is dead: compiled code has written a later value already.
        (
            "gfx900",
            "s_mov_b64 exec, -1\nv_pk_min_u16 v16, exec_lo, v9 op_sel_hi:[0,0]\nv_med3_f16 v13, v2, -s10, -s13\n\
             global_load_sbyte_d16 v5, v[12:13], off\nv_mov_b32 v5, v9",
        ),
        (
            "gfx600",
            "buffer_store_dwordx4 v[8:11], v[18:19], s[28:31], 0 idxen offen",
        ),
        // Lanes whose stores overlap.
        (
            "gfx803",
            "buffer_store_dwordx4 v[8:11], v[16:17], s[28:31], 2 idxen offen",
        ),
        (
            "gfx900",
            "v_lshlrev_b32 v16, 4, v16\nds_write_b128 v16, v[8:11]",
        ),
        (
            "gfx900",
            "v_add_u32 v17, 6, v16\nds_write2_b32 v17, v8, v9 offset1:1",
        ),
        // State at the end of a wave, and code after it that uses none of it.
        (
            "gfx701",
            "s_cbranch_execz 2\nv_addc_u32_e32 v19, vcc, v6, v10, vcc\ns_endpgm\nv_cmp_ge_u64_e32 vcc, s[14:15], v[8:9]",
        ),
        // A scalar load reads what lanes have stored before it.
        (
            "gfx900",
            "s_mov_b32 s20, s36\ns_and_b32 s21, s37, 0xffff\nbuffer_store_dwordx4 v[5:8], off, s[36:39], 0\n\
             s_load_dword s12, s[20:21], 0x8",
        ),
        // A write to a register that the wave does not have does not go to v0.
        (
            "gfx900",
            "v_xor_b32 v0, v8, v9\ntbuffer_load_format_x v232, off, s[32:35], 0 \
             format:[BUF_DATA_FORMAT_32_32_32,BUF_NUM_FORMAT_SNORM] tfe\nglobal_store_dword v[12:13], v0, off",
        ),
        // More masks than opmask registers, beside a load that reads ahead of the block.
        (
            "gfx803",
            "v_addc_u32_dpp v6, vcc, v5, v7, vcc quad_perm:[3,1,2,3] row_mask:0xf bank_mask:0x6 bound_ctrl:0\n\
             buffer_load_dwordx4 v[9:12], v[16:17], s[40:43], 0 idxen offen glc",
        ),
        // An atomic without GLC writes no status of TFE, so the VGPR after its data stays what it was.
        (
            "gfx600",
            "s_mov_b64 exec, -1\ns_mov_b32 s60, 0x14000\ns_mov_b32 s61, 1\ns_mov_b32 s62, 0x2000\ns_mov_b32 s63, 0x27fac\n\
             v_mov_b32 v6, 0\nv_mul_hi_u32 v10, s0, v1\nbuffer_atomic_and v9, v16, s[40:43], 0 idxen offset:6 slc tfe\n\
             v_lshrrev_b32 v2, v6, v10\nv_mbcnt_lo_u32_b32 v13, -1, 0\nv_mbcnt_hi_u32_b32 v13, -1, v13\n\
             v_lshlrev_b32 v13, 2, v13\nbuffer_store_dword v2, v13, s[60:63], 0 offen",
        ),
        // A resource in no register, which VCC's follow.
        (
            "gfx600",
            "v_cmpx_nlt_f64 vcc, v[0:1], v[2:3]\nimage_sample_c_cl_o v[4:5], v[8:10], op(0x68), s[4:7] unorm glc r128 tfe lwe da",
        ),
        // A jump to the last dword of all addresses.
        ("gfx900", "s_cbranch_execz 65534"),
        // Scalars that are constants on the path from the entry.
        (
            "gfx900",
            "s_mov_b32 s20, 0\ns_barrier\ns_load_dword s0, s[20:21], 0x0",
        ),
    ];
    many_states(&lines);
}

/// Changes of MODE by constants, by registers that have what they seem to have or another value, on one of two paths, and in loops.
#[test]
fn changes_of_mode() {
    const KEEP: &str = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3";
    const FLUSH: &str = "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0";
    const WORK: &str = "v_mul_f32 v2, v2, v3\nv_fma_f32 v4, v2, v3, v5\nv_min_f32 v6, v4, v5";
    let of_register = |register: &str| format!("s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), {register}");
    let assumed = of_register("s4");
    let texts = [
        format!("{WORK}\n{KEEP}\n{WORK}\n{FLUSH}\n{WORK}"),
        format!(
            "{FLUSH}\n{KEEP}\n{WORK}\n{FLUSH}\nv_mov_b32 v2, v3\nv_mov_b32 v4, v3\nv_mov_b32 v6, 0"
        ),
        format!("s_mov_b32 s4, 3\n{WORK}\n{assumed}\n{WORK}\ns_mov_b32 s4, 0\n{assumed}\n{WORK}"),
        // The register seems to have 1.
        format!(
            "s_mov_b32 s4, 3\ns_cmp_lt_u32 s6, s7\ns_cbranch_scc1 1\ns_mov_b32 s4, 1\n{assumed}\n{WORK}\n{KEEP}\n{WORK}"
        ),
        // The register is not known.
        format!(
            "{}\n{WORK}\n{KEEP}\n{WORK}\n{FLUSH}\n{WORK}",
            of_register("s20")
        ),
        // The last instructions are reached with two MODEs, and with one on both paths.
        format!("s_cmp_lt_u32 s6, s7\ns_cbranch_scc1 2\n{KEEP}\n{WORK}"),
        format!(
            "{KEEP}\ns_cmp_lt_u32 s6, s7\ns_cbranch_scc1 3\n{FLUSH}\nv_add_f32 v2, v2, v4\n{FLUSH}\n{WORK}"
        ),
        // A loop that ends with another MODE than it began with, and one that does not.
        format!(
            "s_mov_b32 s4, 3\nv_mul_f32 v2, v2, v3\n{KEEP}\ns_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 65530\n{WORK}"
        ),
        format!(
            "s_mov_b32 s5, 3\nv_mul_f32 v2, v2, v3\n{KEEP}\nv_mul_f32 v4, v2, v3\n{FLUSH}\ns_sub_u32 s5, s5, 1\ns_cmp_lg_u32 s5, 0\ns_cbranch_scc1 65527\n{WORK}"
        ),
        // Rounding and IEEE.
        format!(
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1\n{WORK}\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 8, 2), 2\n{WORK}"
        ),
        // Bits that regions do not follow.
        format!(
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 10), 15\n{WORK}\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 1\n{WORK}"
        ),
    ];
    let lines: Vec<(&str, &str)> = (texts.iter())
        .flat_map(|text| ["gfx600", "gfx803", "gfx900"].map(|target| (target, &text[..])))
        .collect();
    many_states(&lines);
}

/// Runs each text, which is for a target, with many states.
fn many_states(texts: &[(&str, &str)]) {
    for level in levels() {
        for &(name, text) in texts {
            let mut bench = Bench::new(level);
            let mut maker = Maker::new(Target::parse(name).expect("a target"));
            let code = maker.lines(text, 0).into_iter().flat_map(|p| p.bytes);
            let code: Vec<u8> = code.collect();
            for seed in 0..60 {
                let mut input = vec![seed % 3, seed, 1, 0];
                input.extend(&code);
                bench.of_bytes(&mut maker, &input);
            }
        }
    }
}

/// Arbitrary bytes, as in the fuzz target `jit`.
#[test]
fn any_bytes() {
    for level in levels() {
        any_bytes_of(level);
    }
}

fn any_bytes_of(level: Level) {
    for name in ["gfx600", "gfx702", "gfx801", "gfx904", "gfx90c"] {
        let mut bench = Bench::new(level);
        let mut maker = Maker::new(Target::parse(name).expect("a target"));
        for seed in 0..number("BLOCKS").unwrap_or(150) {
            let mut r = Rng(seed);
            let len = 4 * (1 + r.below(20));
            let mut input: Vec<u8> = (0..4 + len).map(|_| r.next() as u8).collect();
            // Words are vector ALU instructions, memory instructions, or random.
            for word in input[4..].chunks_exact_mut(4) {
                match r.below(4) {
                    0 => word[3] &= 0x7f,
                    1 => word[3] = 0xc0 | word[3] & 0x1f,
                    2 => (word[2], word[3]) = (0x80 | word[2] & 7, 0xbf),
                    _ => {}
                }
            }
            bench.of_bytes(&mut maker, &input);
        }
    }
}

#[test]
fn gfx600() {
    blocks("gfx600");
}
#[test]
fn gfx701() {
    blocks("gfx701");
}
#[test]
fn gfx803() {
    blocks("gfx803");
}
#[test]
fn gfx900() {
    blocks("gfx900");
}
#[test]
fn gfx906() {
    blocks("gfx906");
}
