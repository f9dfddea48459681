//! Loops that run for one lane after the other: random bodies of loads, arithmetic and stores, left in all the ways that such loops are left. All
//! engines must agree on every register that the loop writes, and on memory.
#![cfg(target_arch = "x86_64")]

mod kernel;

use kernel::{Kernel, Rng, setting};

const GROUP: u32 = 64;
const ITEMS: u32 = 192;
/// The size of the buffer that is loaded from, in bytes. A quarter of it is beyond what addresses reach.
const BYTES: u32 = 1 << 15;
/// The VGPRs that are stored after the loop, from v20 on.
const VALUES: u32 = 12;

/// One of the VGPRs that are computed with.
fn vgpr(r: &mut Rng) -> String {
    format!("v{}", 20 + r.below(VALUES as usize))
}

fn source(r: &mut Rng) -> String {
    match r.below(8) {
        0 => format!("s{}", 30 + r.below(4)),
        1 => r
            .of(&["0", "1", "-1", "2", "64", "0x12345", "1.0", "-4.0"])
            .to_string(),
        _ => vgpr(r),
    }
}

const TWO: [&str; 16] = [
    "v_add_u32",
    "v_sub_u32",
    "v_and_b32",
    "v_or_b32",
    "v_xor_b32",
    "v_min_u32",
    "v_max_i32",
    "v_lshlrev_b32",
    "v_lshrrev_b32",
    "v_ashrrev_i32",
    "v_add_f32",
    "v_mul_f32",
    "v_sub_f32",
    "v_min_f32",
    "v_max_f32",
    "v_mul_u32_u24",
];
const E64: [&str; 4] = [
    "v_mul_lo_u32",
    "v_mul_hi_u32",
    "v_mul_hi_i32",
    "v_bcnt_u32_b32",
];
const THREE: [&str; 8] = [
    "v_fma_f32",
    "v_mad_f32",
    "v_bfe_u32",
    "v_bfe_i32",
    "v_add3_u32",
    "v_lshl_add_u32",
    "v_alignbit_b32",
    "v_mad_u32_u24",
];
const ONE: [&str; 10] = [
    "v_mov_b32",
    "v_not_b32",
    "v_cvt_f32_i32",
    "v_cvt_f32_u32",
    "v_cvt_u32_f32",
    "v_cvt_i32_f32",
    "v_ffbh_u32",
    "v_floor_f32",
    "v_sqrt_f32",
    "v_rcp_f32",
];
const COMPARE: [&str; 8] = [
    "v_cmp_lt_u32",
    "v_cmp_ge_i32",
    "v_cmp_eq_u32",
    "v_cmp_ne_u32",
    "v_cmp_lt_f32",
    "v_cmp_ge_f32",
    "v_cmp_eq_f32",
    "v_cmp_nle_f32",
];

/// Two VGPRs for a number of 64 bits, often the same ones.
fn pair(r: &mut Rng) -> String {
    let n = match r.below(4) {
        0 => 20 + r.below(VALUES as usize - 1),
        _ => 20 + 2 * r.below(3),
    };
    format!("v[{n}:{}]", n + 1)
}

/// An operation on f64, which come from f32, or on one half of them.
fn wide(r: &mut Rng) -> String {
    let (d, a, b) = (pair(r), pair(r), pair(r));
    match r.below(6) {
        0 => format!("v_cvt_f64_f32 {d}, {}", vgpr(r)),
        1 => format!("v_cvt_f32_f64 {}, {a}", vgpr(r)),
        2 => format!("v_mul_f64 {d}, {a}, {b}"),
        3 => format!("v_fma_f64 {d}, {a}, {b}, {d}"),
        4 => format!(
            "v_cmp_lt_f64 vcc, {a}, {b}\nv_cndmask_b32 {}, {}, {}, vcc",
            vgpr(r),
            vgpr(r),
            vgpr(r)
        ),
        _ => format!("v_add_f64 {d}, {d}, {a}"),
    }
}

/// An instruction of the body, or a few.
fn piece(r: &mut Rng) -> String {
    match r.below(14) {
        0..=3 => {
            let (op, d) = (r.of(&TWO), vgpr(r));
            format!("{op} {d}, {}, {}", source(r), vgpr(r))
        }
        4 => {
            let (op, d) = (r.of(&E64), vgpr(r));
            format!("{op} {d}, {}, {}", vgpr(r), vgpr(r))
        }
        5 | 6 => {
            let (op, d) = (r.of(&THREE), vgpr(r));
            format!("{op} {d}, {}, {}, {}", vgpr(r), vgpr(r), vgpr(r))
        }
        7 => {
            let (op, d) = (r.of(&ONE), vgpr(r));
            format!("{op} {d}, {}", vgpr(r))
        }
        8 => {
            let (op, d) = (r.of(&COMPARE), vgpr(r));
            let compare = format!("{op} vcc, {}, {}", vgpr(r), vgpr(r));
            format!(
                "{compare}\nv_cndmask_b32 {d}, {}, {}, vcc",
                vgpr(r),
                vgpr(r)
            )
        }
        9 => {
            // A sum of 64 bits.
            let n = 20 + r.below(VALUES as usize - 1);
            let (a, b) = (vgpr(r), vgpr(r));
            format!(
                "v_add_co_u32 v{n}, vcc, {a}, v{n}\nv_addc_co_u32 v{}, vcc, {b}, v{}, vcc",
                n + 1,
                n + 1
            )
        }
        10 | 11 => wide(r),
        // An element that a value chooses.
        _ => load(r),
    }
}

fn load(r: &mut Rng) -> String {
    let (index, d) = (vgpr(r), 20 + r.below(VALUES as usize - 3));
    let address = format!("v_and_b32 v10, 0x1ffc, {index}\n");
    let offset = 4 * r.below(8);
    let (what, last) = *[
        ("dword", 0),
        ("ubyte", 0),
        ("sshort", 0),
        ("dwordx2", 1),
        ("dwordx3", 2),
        ("dwordx4", 3),
    ]
    .get(r.below(6))
    .expect("one of them");
    let to = match last {
        0 => format!("v{d}"),
        n => format!("v[{d}:{}]", d + n),
    };
    match r.below(3) {
        0 => format!("{address}ds_read_b32 v{d}, v10 offset:{offset}\ns_waitcnt lgkmcnt(0)"),
        1 => format!(
            "{address}global_load_{what} {to}, v10, s[4:5] offset:{offset}\ns_waitcnt vmcnt(0)"
        ),
        _ => format!(
            "{address}v_mov_b32 v13, s5\nv_add_co_u32 v12, vcc, s4, v10\nv_addc_co_u32 v13, vcc, 0, v13, vcc\n\
             global_load_{what} {to}, v[12:13], off offset:{offset}\ns_waitcnt vmcnt(0)"
        ),
    }
}

/// A random body of a loop.
fn body(r: &mut Rng, pieces: usize) -> String {
    let mut body = String::new();
    for _ in 0..pieces {
        body += &piece(r);
        body.push('\n');
    }
    body += &load(r);
    body.push('\n');
    body
}

/// Instructions of a loop, some of them under conditions: of lanes, with or without a branch, or of the wave. `store` is among them in some places. `n`:
/// the number of the next label.
fn branching(r: &mut Rng, pieces: usize, depth: u32, store: &str, n: &mut u32) -> String {
    let mut code = String::new();
    let part = |r: &mut Rng, code: &mut String| {
        let pieces = r.below(pieces + 1);
        for _ in 0..pieces {
            *code += &piece(r);
            code.push('\n');
        }
        if r.below(4) == 0 {
            *code += store;
        }
    };
    part(r, &mut code);
    if depth == 0 {
        return code;
    }
    let label = *n;
    *n += 1;
    let mask = format!("s[{}:{}]", 38 + 2 * depth, 39 + 2 * depth);
    let compare = format!("{} vcc, {}, {}\n", r.of(&COMPARE), vgpr(r), vgpr(r));
    let skip = |r: &mut Rng, to: &str| match r.below(3) {
        0 => String::new(),
        _ => format!("s_cbranch_execz {to}{label}\n"),
    };
    let fewer = r.below(pieces + 1);
    let inner = branching(r, fewer, depth - 1, store, n);
    match r.below(5) {
        0 | 1 => {
            let over = skip(r, "end");
            code += &format!(
                "{compare}s_and_saveexec_b64 {mask}, vcc\n{over}{inner}end{label}:\ns_or_b64 exec, exec, {mask}\n"
            );
        }
        2 | 3 => {
            let other = branching(r, fewer, depth - 1, store, n);
            let (over, end) = (skip(r, "else"), skip(r, "end"));
            code += &format!(
                "{compare}s_and_saveexec_b64 {mask}, vcc\ns_xor_b64 {mask}, exec, {mask}\n{over}{inner}else{label}:\n\
                 s_or_saveexec_b64 {mask}, {mask}\ns_xor_b64 exec, exec, {mask}\n{end}{other}end{label}:\ns_or_b64 exec, exec, {mask}\n"
            );
        }
        _ => {
            code += &format!(
                "s_bitcmp1_b32 s20, {}\ns_cbranch_scc1 end{label}\n{inner}end{label}:\n",
                r.below(3)
            );
        }
    }
    part(r, &mut code);
    code
}

/// A loop with branches, which lanes leave at its end, or before.
fn looped_with_branches(r: &mut Rng, pieces: usize, count: usize, store: &str) -> String {
    let mut n = 0;
    let depth = 1 + r.below(2) as u32;
    let body = branching(r, pieces, depth, store, &mut n) + &load(r) + "\n";
    let counts = match r.below(2) {
        0 => "s_add_u32 s20, s20, -1\n",
        _ => "",
    };
    let leave = match r.below(2) {
        0 => "v_add_u32 v14, -1, v14\nv_cmp_ge_i32 vcc, 0, v14\ns_or_b64 s[22:23], vcc, s[22:23]\ns_andn2_b64 exec, exec, s[22:23]\n".to_owned(),
        // As many lanes stay as by the other one, or fewer.
        _ => format!(
            "v_add_u32 v14, -1, v14\nv_cmp_lt_i32 vcc, 0, v14\ns_and_b64 exec, exec, vcc\n{}",
            if r.below(2) == 0 { "v_cmp_ne_u32 vcc, v22, v23\ns_and_b64 exec, exec, vcc\n" } else { "" }
        ),
    };
    let some = match r.below(3) {
        0 => "v_and_b32 v9, 5, v1\nv_cmp_ne_u32 vcc, 4, v9\ns_and_b64 exec, exec, vcc\n",
        _ => "",
    };
    // Some lanes may seem to have left before.
    let left = r.of(&["0", "0", "0", "21", "-16"]);
    let before = format!("s_mov_b32 s20, {count}\ns_mov_b64 s[22:23], {left}\n{some}");
    let rest = match r.below(5) {
        // Some lanes leave it in the middle, the others at its end, as compilers do it: all at one place.
        4 => {
            let more = branching(r, pieces / 2, 1, store, &mut n);
            let compare = format!("{} vcc, {}, {}\n", r.of(&COMPARE), vgpr(r), vgpr(r));
            format!(
                "again:\n{body}{compare}s_mov_b64 s[26:27], -1\ns_and_saveexec_b64 s[28:29], vcc\ns_cbranch_execz latch\n\
                 {more}v_add_u32 v14, -1, v14\nv_cmp_ge_i32 vcc, 0, v14\ns_orn2_b64 s[26:27], vcc, exec\nlatch:\n\
                 s_or_b64 exec, exec, s[28:29]\ns_and_b64 s[26:27], exec, s[26:27]\ns_or_b64 s[22:23], s[26:27], s[22:23]\n\
                 s_andn2_b64 exec, exec, s[22:23]\ns_cbranch_execnz again\n"
            )
        }
        // The loop is left at its end, in the middle, or where its code begins, by lanes or by a counter.
        3 => format!(
            "again:\n{body}s_add_u32 s20, s20, -1\ns_cmp_lg_u32 s20, 0\n{}s_cbranch_scc1 again\n",
            if !store.contains("s_add") { store } else { "" }
        ),
        0 => format!("again:\n{body}{counts}{leave}s_cbranch_execnz again\n"),
        1 => {
            let more = branching(r, pieces / 2, 1, store, &mut n);
            format!(
                "again:\n{body}{leave}s_cbranch_execz done\n{more}{counts}s_branch again\ndone:\n"
            )
        }
        _ => format!(
            "s_branch again\nlatch:\n{counts}{leave}s_cbranch_execz done\nagain:\n{body}s_branch latch\ndone:\n"
        ),
    };
    // Nothing reads what SCC is in the loop.
    format!("{before}{rest}s_mov_b64 exec, -1\ns_cmp_eq_u32 s20, 1\n")
}

/// Where the rows of lanes begin in the buffer that loops store to, after the registers.
const ROWS: u32 = 64 * ITEMS + 4096;
/// The distances from one lane's row to the next, in bytes.
const PITCHES: [u32; 6] = [4, 8, 20, 64, 512, 1024];

/// A store of a loop, with what comes before the loop and what it may load of what is stored. v[34:35] points to the lane's row, s[36:37] to the
/// first one, from which v36 is the distance.
fn storing(r: &mut Rng) -> (String, String) {
    let pitch = PITCHES[r.below(PITCHES.len())];
    let before = format!(
        "v_mul_u32_u24 v36, {pitch:#x}, v1\ns_add_u32 s36, s6, {ROWS:#x}\ns_addc_u32 s37, s7, 0\nv_mov_b32 v35, s37\n\
         v_add_co_u32 v34, vcc, s36, v36\nv_addc_co_u32 v35, vcc, 0, v35, vcc\n\
         v_add_u32 v2, {ROWS:#x}, v36\nv_lshrrev_b32 v2, 2, v2\ns_mov_b32 s39, {}\n",
        r.of(&["1", "4", "-1", "0", "0x300000", "0x20000000", "0x80000000"])
    );
    let (what, bytes, last) = *[
        ("dword", 4, 0),
        ("dword", 4, 0),
        ("byte", 1, 0),
        ("short", 2, 0),
        ("dwordx2", 8, 1),
        ("dwordx3", 12, 2),
        ("dwordx4", 16, 3),
    ]
    .get(r.below(7))
    .expect("one of them");
    let data = 20 + r.below(VALUES as usize - 3);
    let data = match last {
        0 => format!("v{data}"),
        n => format!("v[{data}:{}]", data + n),
    };
    let mut piece = String::new();
    let value = vgpr(r);
    match r.below(6) {
        // What the lane has stored before, what another one has, and a scalar that some lane may have stored.
        0 => {
            piece += &format!(
                "global_load_dword {value}, v[34:35], off offset:-{bytes}\ns_waitcnt vmcnt(0)\n"
            )
        }
        1 => piece += &format!("global_load_dword {value}, v[34:35], off\ns_waitcnt vmcnt(0)\n"),
        2 if pitch < 2048 => {
            piece += &format!(
                "global_load_dword {value}, v[34:35], off offset:{pitch}\ns_waitcnt vmcnt(0)\n"
            );
        }
        3 => {
            piece += &format!(
                "s_load_dword s38, s[36:37], 0x0\ns_waitcnt lgkmcnt(0)\nv_xor_b32 {value}, s38, {value}\n"
            )
        }
        _ => {}
    }
    let step = r.of(&["4", "8", "16", "-4", "0"]);
    let carry = if step == "-4" { "-1" } else { "0" };
    piece += &match r.below(6) {
        // A number of 32 bits that counts elements, with or without a sign.
        4 => format!(
            "v_ashrrev_i32 v3, 31, v2\nv_lshlrev_b64 v[4:5], 2, v[2:3]\nv_mov_b32 v6, s7\n\
             v_add_co_u32 v4, vcc, s6, v4\nv_addc_co_u32 v5, vcc, v6, v5, vcc\n\
             global_store_{what} v[4:5], {data}, off\nv_add_u32 v2, s39, v2\n"
        ),
        5 => format!("global_store_{what} v36, {data}, s[36:37]\nv_add_u32 v36, {step}, v36\n"),
        0 => format!(
            "global_store_{what} v36, {data}, s[36:37]\ns_add_u32 s36, s36, {step}\ns_addc_u32 s37, s37, {carry}\n"
        ),
        // An element of the row, or of a few rows, that a value chooses.
        1 => {
            let mask = r.of(&["0x3c", "0x3c", "0xffc"]);
            format!(
                "v_and_b32 v37, {mask}, {}\nv_add_u32 v37, v36, v37\nglobal_store_{what} v37, {data}, s[36:37]\n",
                vgpr(r)
            )
        }
        _ => format!(
            "global_store_{what} v[34:35], {data}, off\nv_add_co_u32 v34, vcc, {step}, v34\nv_addc_co_u32 v35, vcc, {carry}, v35, vcc\n"
        ),
    };
    (before, piece)
}

/// A loop with a body, which some lanes may run `count` times. Its label is `again`.
fn looped(r: &mut Rng, count: usize, body: &str) -> String {
    let counts = "s_add_u32 s20, s20, -1\n";
    let (before, after) = match r.below(4) {
        // A counter, which SCC has at the end.
        0 => (
            String::new(),
            format!("{counts}s_cmp_lg_u32 s20, 0\ns_cbranch_scc1 again\n"),
        ),
        // Lanes leave one by one.
        1 => (
            "s_mov_b64 s[22:23], 0\n".into(),
            "v_add_u32 v14, -1, v14\nv_cmp_ge_i32 vcc, 0, v14\ns_or_b64 s[22:23], vcc, s[22:23]\n\
             s_andn2_b64 exec, exec, s[22:23]\ns_cbranch_execnz again\n"
                .into(),
        ),
        // Or all at once, if a counter or what they load says so.
        2 => (
            "s_mov_b64 s[22:23], 0\n".into(),
            format!(
                "{counts}s_cmp_eq_u32 s20, 0\ns_cselect_b64 s[24:25], exec, 0\nv_cmp_gt_u32 vcc, v20, v21\n\
                 s_or_b64 s[24:25], vcc, s[24:25]\ns_or_b64 s[22:23], s[24:25], s[22:23]\n\
                 s_andn2_b64 exec, exec, s[22:23]\ns_cbranch_execnz again\n"
            ),
        ),
        // A comparison of what is the same in all lanes, or nearly.
        _ => {
            let differs = if r.below(4) == 0 {
                "v_and_b32 v15, 1, v1\n"
            } else {
                "v_mov_b32 v15, 0\n"
            };
            (
                format!("{differs}v_add_u32 v15, {count}, v15\n"),
                "v_add_u32 v15, -1, v15\nv_cmp_lt_i32 vcc, 0, v15\ns_and_b64 vcc, exec, vcc\ns_cbranch_vccnz again\n".into(),
            )
        }
    };
    let some = match r.below(3) {
        0 => "v_and_b32 v9, 5, v1\nv_cmp_ne_u32 vcc, 4, v9\ns_and_b64 exec, exec, vcc\n",
        _ => "",
    };
    format!("s_mov_b32 s20, {count}\n{before}{some}again:\n{body}{after}s_mov_b64 exec, -1\n")
}

fn check(again: &str) {
    assert_eq!(run(again), None, "{again}");
}

/// [`run_in`], where denormals of f32 are zeros.
fn run(again: &str) -> Option<String> {
    run_in(again, false)
}

/// Runs a kernel with a loop, after which all registers are stored that it may have changed, on all engines, which must agree. Denormals of f64 count, so
/// operations on f32 are in the same floating-point environment only if theirs do. Returns the fault.
fn run_in(again: &str, denormals: bool) -> Option<String> {
    let mut values = String::new();
    let mut stores = String::new();
    for n in 0..VALUES {
        values += &format!(
            "global_load_dword v{}, v8, s[4:5] offset:{}\n",
            20 + n,
            256 * n
        );
        stores += &format!(
            "global_store_dword v17, v{}, s[6:7] offset:{}\n",
            20 + n,
            4 * n
        );
    }
    // The masks that the loop may leave behind, in every other loop: if nothing reads them, they need not be right.
    if again.len().is_multiple_of(2) {
        for (n, [low, high]) in [[26, 27], [28, 29]].into_iter().enumerate() {
            stores += &format!(
                "s_mul_i32 s9, s{high}, 3\ns_xor_b32 s9, s9, s{low}\nv_mov_b32 v18, s9\n\
                 global_store_dword v17, v18, s[6:7] offset:{}\n",
                4 * (VALUES as usize + 2 + n)
            );
        }
    }
    let body = format!(
        "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_mul_i32 s8, s2, {GROUP}\nv_add_u32 v1, s8, v0\ns_waitcnt lgkmcnt(0)\n\
         s_mov_b32 m0, -1\ns_movk_i32 s30, 77\ns_mov_b32 s31, 0x40490fdb\ns_mov_b32 s32, s8\ns_mov_b32 s33, -5\n\
         v_lshlrev_b32 v8, 2, v1\n{values}v_and_b32 v14, 7, v1\nv_mul_lo_u32 v17, v1, 64\n\
         s_waitcnt vmcnt(0)\nds_write_b32 v8, v20\ns_waitcnt lgkmcnt(0)\n{again}\
         s_cselect_b32 s9, 1, 2\nv_mov_b32 v18, s9\nv_add_u32 v18, s20, v18\nglobal_store_dword v17, v18, s[6:7] offset:{}\n\
         v_mov_b32 v18, s22\nglobal_store_dword v17, v18, s[6:7] offset:{}\n{stores}s_endpgm\n",
        4 * VALUES,
        4 * VALUES + 4,
    );
    // Small numbers, floats of all sizes, some NaNs and denormals.
    let data = (0..BYTES / 4).flat_map(|n| {
        let h = n.wrapping_mul(0x9e37_79b9);
        let word = match h >> 29 {
            0 | 1 => h >> 20 & 0xff,
            2 => h,
            3 => 0x007f_ffff & h,
            4 if h >> 26 & 7 == 0 => 0x7f80_0000 | h & 0x0040_0001,
            _ => ((h >> 16 & 0xff) as f32 - 100.0).to_bits(),
        };
        word.to_le_bytes()
    });
    let mut kernel = Kernel {
        buffers: vec![data.collect(), vec![7; (ROWS + ITEMS * 1024) as usize]],
        items: ITEMS,
        group: GROUP,
        ..Kernel::new(&body, 16384)
    };
    if denormals {
        let end = ".end_amdhsa_kernel";
        let mode = format!(".amdhsa_float_denorm_mode_32 3\n{end}");
        kernel.source = kernel.source.replace(end, &mode);
    }
    kernel.check(true)
}

/// A sum of two NaNs is the first one, also if the first operand is loaded.
#[test]
fn nans_that_are_loaded_come_first() {
    check(
        "s_mov_b32 s20, 3\nagain:\nv_and_b32 v10, 0x1ffc, v23\nv_mov_b32 v13, s5\n\
         v_add_co_u32 v12, vcc, s4, v10\nglobal_load_dword v26, v[12:13], off offset:16\n\
         s_waitcnt vmcnt(0)\nv_add_f32 v26, v26, v31\ns_add_u32 s20, s20, -1\ns_cmp_lg_u32 s20, 0\n\
         s_cbranch_scc1 again\n",
    );
}

#[test]
fn random_loops() {
    let mut r = Rng::seeded(setting("SEED", 1));
    for _ in 0..setting("LOOPS", 150) {
        let pieces = 2 + r.below(10);
        let body = body(&mut r, pieces);
        let count = 1 + r.below(9);
        let again = looped(&mut r, count, &body);
        assert_eq!(run_in(&again, r.below(2) == 0), None, "{again}");
    }
}

/// The first block of the loop has no floats, another one has f64, whose denormals count, and after the loop those of f32 are zeros.
#[test]
fn denormals_of_f32_are_zeros_after_loops_with_f64() {
    for exits in [
        "v_cmp_ge_i32 vcc, 0, v14\ns_or_b64 s[22:23], vcc, s[22:23]\ns_andn2_b64 exec, exec, s[22:23]\ns_cbranch_execnz again\n",
        "s_add_u32 s20, s20, -1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 again\n",
    ] {
        check(&format!(
            "v_mov_b32 v28, 0x1234\nv_mov_b32 v29, 0\ns_mov_b64 s[22:23], 0\ns_mov_b32 s20, 3\nv_mov_b32 v30, 0x12345\n\
             v_and_b32 v9, 5, v1\nv_cmp_ne_u32 vcc, 4, v9\ns_and_b64 exec, exec, vcc\nagain:\n\
             v_and_b32 v10, 0x1ffc, v22\nglobal_load_dword v26, v10, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_u32 v22, v22, v26\n\
             v_cmp_lt_u32 vcc, 40, v26\ns_and_saveexec_b64 s[40:41], vcc\ns_cbranch_execz over\n\
             v_add_f64 v[28:29], v[28:29], v[28:29]\nover:\ns_or_b64 exec, exec, s[40:41]\nv_add_u32 v14, -1, v14\n{exits}\
             s_mov_b64 exec, -1\nv_mul_f32 v20, 0x7149f2ca, v30\nv_cvt_i32_f32 v21, v20\ns_cmp_eq_u32 s20, 1\n"
        ));
    }
}

/// A sum of f64 is kept as a float, and another block reads each half of it.
#[test]
fn halves_of_sums_of_f64() {
    check(
        "v_cvt_f64_u32 v[28:29], v1\ns_mov_b32 s20, 5\nv_and_b32 v9, 5, v1\nv_cmp_ne_u32 vcc, 4, v9\ns_and_b64 exec, exec, vcc\nagain:\n\
         v_and_b32 v10, 0x1ffc, v22\nglobal_load_dword v26, v10, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_u32 v22, v22, v26\n\
         v_cmp_lt_u32 vcc, 40, v26\ns_and_saveexec_b64 s[40:41], vcc\ns_cbranch_execz over\n\
         v_add_f64 v[28:29], v[28:29], 0.5\nover:\ns_or_b64 exec, exec, s[40:41]\n\
         v_add_u32 v24, v24, v28\nv_xor_b32 v25, v25, v29\ns_add_u32 s20, s20, -1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 again\n\
         s_mov_b64 exec, -1\ns_cmp_eq_u32 s20, 1\n",
    );
}

#[test]
fn random_loops_with_branches() {
    let mut r = Rng::seeded(setting("SEED", 1));
    for _ in 0..setting("LOOPS", 150) {
        let (pieces, count) = (1 + r.below(6), 1 + r.below(9));
        // Some lanes are in the loop for more iterations than there are marks for.
        let longer = if r.below(20) == 0 { 200 } else { 1 };
        let again = looped_with_branches(&mut r, pieces, count, "");
        let again = format!("v_mul_u32_u24 v14, {longer}, v14\n{again}");
        assert_eq!(run_in(&again, r.below(2) == 0), None, "{again}");
    }
}

#[test]
fn random_loops_with_branches_that_store() {
    let mut r = Rng::seeded(setting("SEED", 1));
    for _ in 0..setting("LOOPS", 150) {
        let (pieces, count) = (1 + r.below(4), 1 + r.below(9));
        let longer = if r.below(8) == 0 { 16 } else { 1 };
        let (before, store) = storing(&mut r);
        let again = looped_with_branches(&mut r, pieces, count, &store);
        // Some end with a fault.
        let again = format!("{before}v_mul_u32_u24 v14, {longer}, v14\n{again}");
        run_in(&again, r.below(2) == 0);
    }
}

#[test]
fn random_loops_that_store() {
    let mut r = Rng::seeded(setting("SEED", 1));
    for _ in 0..setting("LOOPS", 150) {
        let pieces = r.below(6);
        let loads = if r.below(3) == 0 {
            String::new()
        } else {
            body(&mut r, pieces)
        };
        let (before, store) = storing(&mut r);
        // The log of what was in memory has entries for 16 to 64 iterations.
        let count = if r.below(4) == 0 {
            12 + r.below(120)
        } else {
            1 + r.below(9)
        };
        let longer = format!("{before}v_mul_u32_u24 v14, {}, v14\n", 1 + count / 7);
        // Some end with a fault.
        let again = longer + &looped(&mut r, count, &format!("{loads}{store}"));
        run_in(&again, r.below(2) == 0);
    }
}

/// Numbers of 32 bits that are far from memory's elements, or wrap: what is accessed is checked in each iteration.
#[test]
fn indices_beyond_memory_fault() {
    for start in ["0x60000000", "0x7ffffff8", "0x80000008", "-8", "0x3ffffff8"] {
        for step in ["1", "-1", "s20"] {
            let again = format!(
                "v_xor_b32 v2, 5, v1\nv_add_u32 v2, {start}, v2\ns_mov_b32 s20, 40\nagain:\nv_ashrrev_i32 v3, 31, v2\nv_lshlrev_b64 v[4:5], 2, v[2:3]\n\
                 v_mov_b32 v6, s5\nv_add_co_u32 v4, vcc, s4, v4\nv_addc_co_u32 v5, vcc, v6, v5, vcc\nglobal_load_dword v21, v[4:5], off\n\
                 v_add_u32 v2, {step}, v2\ns_waitcnt vmcnt(0)\nv_add_u32 v20, v20, v21\n\
                 s_add_u32 s20, s20, -1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 again\n"
            );
            // Where the first elements are, the launch may end well.
            let fault = run(&again);
            assert!(fault.is_some() || start == "-8", "{again}");
        }
    }
}

#[test]
fn loops_longer_than_a_time_slice() {
    let load = "v_and_b32 v10, 0x1ffc, v20\nglobal_load_dword v21, v10, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_u32 v20, v20, v21\n\
                v_add_u32 v22, 3, v22\ns_add_u32 s20, s20, 1\n";
    let counted = format!("again:\n{load}s_cmp_lt_u32 s20, 60000\ns_cbranch_scc1 again\n");
    // Lanes stay between 50,000 and 70,000 iterations.
    let each = format!(
        "v_mul_u32_u24 v14, 0x140, v0\nv_add_u32 v14, 0xc350, v14\ns_mov_b64 s[22:23], 0\nagain:\n{load}\
         v_add_u32 v14, -1, v14\nv_cmp_eq_u32 vcc, 0, v14\ns_or_b64 s[22:23], vcc, s[22:23]\n\
         s_andn2_b64 exec, exec, s[22:23]\ns_cbranch_execnz again\n"
    );
    let alike = format!(
        "v_mov_b32 v15, 0xea60\nagain:\n{load}v_add_u32 v15, -1, v15\nv_cmp_lt_i32 vcc, 0, v15\n\
         s_and_b64 vcc, exec, vcc\ns_cbranch_vccnz again\n"
    );
    for again in [counted, each, alike] {
        check(&format!("s_mov_b32 s20, 0\n{again}s_mov_b64 exec, -1\n"));
    }
}
