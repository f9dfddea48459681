//! Kernels whose strides are arguments, so that the code's assumptions are right in one launch and wrong in the next; coordinates that are
//! kept within limits; rows of eight lanes; registers whose lanes are active again after a branch; and lanes that choose between buffers. All engines must leave the same
//! bytes.
#![cfg(target_arch = "x86_64")]

use gcn_emu::dispatch::{Gpu, Launch};
use gcn_emu::engine::Engine;
use gcn_emu::interp::Interp;
use gcn_emu::mem::Perm;
use gcn_isa::Target;
use gcn_jit::{Cache, JitStats, Level};
use gcn_object::CodeObject;

const BYTES: u64 = 1 << 18;
const GROUP: u32 = 64;
const ITEMS: u32 = 64 * 100;

/// Assembles a kernel: s[4:5] is the buffer to read, s[6:7] the one to write, s8 and s9 are two numbers, v1 is the work-item's number.
fn program(body: &str) -> Vec<u8> {
    let source = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n\
         s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_load_dwordx2 s[8:9], s[0:1], 0x10\n\
         s_mul_i32 s10, s2, {GROUP}\nv_add_u32 v1, s10, v0\ns_waitcnt lgkmcnt(0)\n{body}\ns_endpgm\n\
         .rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\
         .amdhsa_next_free_vgpr 40\n.amdhsa_next_free_sgpr 40\n\
         .amdhsa_group_segment_fixed_size 512\n.end_amdhsa_kernel\n"
    );
    let made = gcn_asm::assemble(&source, "k.s", &gcn_asm::Options::default());
    let object = made.object;
    let object = object.unwrap_or_else(|| panic!("{:?} {source}", made.diagnostics));
    object.loadable().expect("it links")
}

/// Returns the second buffer after each launch of the kernel, for pairs of numbers.
fn run(
    engine: impl Fn() -> Box<dyn Engine> + Send + Sync + 'static,
    code: &[u8],
    numbers: &[[u32; 2]],
) -> Vec<Vec<u8>> {
    let target = Target::parse("gfx900").expect("a target");
    let gpu = Gpu::with_engine(target, 1 << 22, engine).expect("a GPU");
    let object = CodeObject::parse(code).expect("it is read");
    let loaded = gpu.load(&object).expect("it is loaded");
    let alloc = || gpu.memory.alloc(BYTES, 4096, Perm::RW).expect("memory");
    let (from, to) = (alloc(), alloc());
    let words = (0..BYTES as u32 / 4).map(|n| n.wrapping_mul(0x9e37_79b9) >> 5);
    let before: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
    gpu.memory.write(from, &before).expect("writable");
    let launch = |&[a, b]: &[u32; 2]| {
        gpu.memory
            .write(to, &vec![0xa5; BYTES as usize])
            .expect("writable");
        let mut kernarg = [from.to_le_bytes(), to.to_le_bytes()].concat();
        kernarg.extend([a, b].map(u32::to_le_bytes).concat());
        let launch = Launch {
            grid: [ITEMS, 1, 1],
            group: [GROUP, 1, 1],
            kernarg,
            threads: 1,
            ..Launch::default()
        };
        gpu.dispatch(&loaded, "k", &launch).expect("it runs");
        let mut after = vec![0; BYTES as usize];
        gpu.memory.read(to, &mut after).expect("readable");
        after
    };
    numbers.iter().map(launch).collect()
}

/// Runs a kernel on all engines, which must agree. Returns the counts of the best level.
fn same(body: &str, numbers: &[[u32; 2]]) -> Option<JitStats> {
    let code = program(body);
    let want = run(|| Box::new(Interp::new()), &code, numbers);
    let mut stats = None;
    for level in Level::ALL.into_iter().filter(|l| l.available()) {
        let cache = Cache::with_level(level);
        let engines = cache.clone();
        let got = run(move || Box::new(engines.engine()), &code, numbers);
        for ((want, got), numbers) in want.iter().zip(&got).zip(numbers) {
            let at = (0..want.len()).find(|&at| want[at] != got[at]);
            assert_eq!(
                at, None,
                "{level:?}: the byte that differs with {numbers:?}"
            );
        }
        stats = Some(cache.stats());
    }
    stats
}

/// Copies the element at the work-item's number times s8 to the position at its number times s9, four times in a loop.
fn strided(multiply: &str) -> String {
    format!(
        "{}\n{}\ns_mov_b32 s12, 0\nagain:\n\
         v_add_u32 v4, s12, v2\nv_lshlrev_b32 v4, 2, v4\nglobal_load_dword v5, v4, s[4:5]\n\
         v_add_u32 v6, s12, v3\nv_lshlrev_b32 v6, 2, v6\ns_waitcnt vmcnt(0)\nv_add_u32 v5, s12, v5\n\
         global_store_dword v6, v5, s[6:7]\n\
         s_add_u32 s12, s12, 1\ns_cmp_lt_u32 s12, 4\ns_cbranch_scc1 again",
        multiply.replace("DST", "v2").replace("BY", "s8"),
        multiply.replace("DST", "v3").replace("BY", "s9"),
    )
}

#[test]
fn strides_that_change_between_launches() {
    let multiply = [
        "v_mul_lo_u32 DST, v1, BY",
        "v_mul_u32_u24 DST, BY, v1",
        "v_mad_i32_i24 DST, BY, v1, 0",
        "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_mad_u64_u32 v[12:13], vcc, v1, BY, v[10:11]\nv_mov_b32 DST, v12",
    ];
    for multiply in multiply {
        let body = strided(multiply);
        same(&body, &[[1, 1]; 2]);
        // Code assumes the first launch's numbers, and later none.
        same(&body, &[[1, 1], [2, 1], [2, 1], [1, 2], [1, 1], [4, 3]]);
        same(&body, &[[4, 2], [4, 2], [0, 0], [3, 1]]);
        same(&body, &[[5, 6], [1, 1]]);
    }
}

#[test]
fn code_for_a_stride_is_affine() {
    let stats = same(&strided("v_mul_lo_u32 DST, v1, BY"), &[[1, 2]; 3]);
    let right = |s: JitStats| s.not_affine == 0 && s.restarts == 0 && s.interpreted == 0;
    assert!(stats.is_none_or(right), "{stats:?}");
    // With other numbers, the code is recompiled without guesses after some waves.
    let stats = same(
        &strided("v_mul_lo_u32 DST, v1, BY"),
        &[[1, 2], [2, 2], [2, 2], [2, 2], [2, 2], [2, 2], [2, 2]],
    );
    let few = |s: JitStats| (1..=200).contains(&s.not_affine);
    assert!(stats.is_none_or(few), "{stats:?}");
}

/// A number that each iteration changes is no stride.
#[test]
fn factors_that_loops_change() {
    let body = "s_mov_b32 s12, 1\nv_mov_b32 v3, 0\nagain:\nv_mul_lo_u32 v2, v1, s12\nv_add_u32 v3, v3, v2\n\
                s_add_u32 s12, s12, s8\ns_cmp_lt_u32 s12, 9\ns_cbranch_scc1 again\n\
                v_lshlrev_b32 v4, 2, v1\nglobal_store_dword v4, v3, s[6:7]";
    let stats = same(body, &[[1, 0], [3, 0]]);
    assert!(stats.is_none_or(|s| s.not_affine == 0), "{stats:?}");
}

/// A block writes a register before EXEC narrows. All of its lanes are read afterwards, and some of them meanwhile.
#[test]
fn lanes_that_come_back() {
    let write = "v_lshlrev_b32 v4, 2, v2\nv_add_u32 v3, v3, v7\nglobal_store_dword v4, v3, s[6:7]";
    let masks = [
        "v_cmp_gt_u32 vcc, s8, v0\ns_and_saveexec_b64 s[14:15], vcc",
        "v_cmp_gt_u32 vcc, s8, v1\ns_and_saveexec_b64 s[14:15], vcc",
        "s_mov_b64 s[14:15], exec\nv_cmp_ne_u32 vcc, 5, v0\ns_and_b64 exec, exec, vcc",
    ];
    // The lanes that are still active leave the register unchanged, or write it.
    let inside = [
        "v_lshlrev_b32 v4, 2, v2\nglobal_load_dword v7, v4, s[4:5]\ns_waitcnt vmcnt(0)",
        "v_add_u32 v2, 3, v2\nv_mov_b32 v7, v2",
        "v_mov_b32 v3, v0",
    ];
    for mask in masks {
        for inside in inside {
            for early in ["", "v_cmp_lt_u32 vcc, 7, v0\ns_and_b64 exec, exec, vcc\n"] {
                let body = format!(
                    "v_mov_b32 v7, 1\nv_mov_b32 v2, 11\nv_mov_b32 v3, 22\n{early}\
                     v_lshl_add_u32 v2, v1, 1, 4\nv_sub_u32 v3, 0, v1\n{mask}\ns_cbranch_execz out\n{inside}\n\
                     out:\ns_or_b64 exec, exec, s[14:15]\n{write}\ns_mov_b64 exec, -1\nv_mul_lo_u32 v4, v1, 4\n\
                     global_load_dword v6, v4, s[6:7]\ns_waitcnt vmcnt(0)\nv_add3_u32 v6, v6, v2, v3\n\
                     global_store_dword v4, v6, s[6:7]"
                );
                same(&body, &[[40, 0], [0, 0], [1000, 0], [64, 0]]);
            }
        }
    }
}

/// Instructions of 16 bits keep the upper half of what they write to, and bytes that SDWA leaves alone stay, in the active lanes.
#[test]
fn parts_of_registers_stay() {
    let parts = [
        "v_mad_u16 v3, v0, v2, 7",
        "v_max3_u16 v3, v0, v2, v3",
        "v_mad_u16 v3, v0, v2, v1 op_sel:[0,0,0,1]",
        "v_add_u16_sdwa v3, v0, v2 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD",
        "v_mov_b32_sdwa v3, v0 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD",
    ];
    for part in parts {
        let body = format!(
            "v_mov_b32 v3, 0x10305\nv_mul_lo_u32 v3, v1, v3\nv_mov_b32 v2, v1\nv_cmp_gt_u32 vcc, s8, v0\ns_and_saveexec_b64 s[14:15], vcc\n\
             s_cbranch_execz out\n{part}\nv_lshlrev_b32 v5, 2, v1\nglobal_load_dword v6, v5, s[4:5]\ns_waitcnt vmcnt(0)\n\
             v_xor_b32 v2, v2, v6\n{part}\nout:\ns_or_b64 exec, exec, s[14:15]\nv_add_u32 v3, v3, v2\n{part}\n\
             v_lshlrev_b32 v4, 2, v1\nglobal_store_dword v4, v3, s[6:7]"
        );
        same(&body, &[[40, 0], [64, 0], [1, 0]]);
    }
}

/// Coordinates that a loop keeps within limits: in most waves the limits have no effect, in some they have in a few lanes or in all.
#[test]
fn coordinates_within_limits() {
    let clamps = [
        "v_max_i32 v4, 0, v3\nv_min_i32 v4, s9, v4",
        "v_min_i32 v4, s9, v3\nv_max_i32 v4, 0, v4",
        "v_max_i32 v4, 3, v3\nv_min_u32 v4, v4, s9",
        "v_min_i32 v4, v3, s9\nv_max_i32 v4, -7, v4\nv_add_u32 v4, 8, v4",
        "v_max_u32 v4, 9, v3\nv_min_u32 v4, s9, v4",
    ];
    for clamp in clamps {
        for early in ["", "v_cmp_ne_u32 vcc, 7, v1\ns_and_b64 exec, exec, vcc\n"] {
            let body = format!(
                "{early}v_mov_b32 v7, 0\ns_sub_u32 s12, 0, s8\nagain:\nv_add_u32 v3, s12, v1\n{clamp}\nv_lshlrev_b32 v5, 2, v4\n\
                 global_load_dword v6, v5, s[4:5]\ns_waitcnt vmcnt(0)\nv_mul_lo_u32 v7, v7, 3\nv_add_u32 v7, v7, v6\n\
                 s_add_u32 s12, s12, 1\ns_cmp_le_i32 s12, s8\ns_cbranch_scc1 again\n\
                 v_lshlrev_b32 v5, 2, v1\nglobal_store_dword v5, v7, s[6:7]"
            );
            same(
                &body,
                &[[3, ITEMS - 1], [3, 1000], [2, 20], [70, ITEMS - 1]],
            );
        }
    }
}

#[test]
fn limits_are_assumed_to_have_no_effect() {
    let body = "v_add_u32 v3, s8, v1\nv_max_i32 v3, 0, v3\nv_min_i32 v3, s9, v3\nv_lshlrev_b32 v5, 2, v3\n\
                global_load_dword v6, v5, s[4:5]\nv_lshlrev_b32 v5, 2, v1\ns_waitcnt vmcnt(0)\n\
                global_store_dword v5, v6, s[6:7]";
    let stats = same(body, &[[u32::MAX, ITEMS - 1], [1, ITEMS - 1]]);
    let right = |s: JitStats| s.not_affine == 0 && s.restarts == 0 && s.interpreted == 0;
    assert!(stats.is_none_or(right), "{stats:?}");
}

/// Loads and stores of elements in rows of eight lanes, at any distance; lanes beyond a limit are inactive.
#[test]
fn rows_of_eight_lanes() {
    let sizes = [
        (0, "ubyte", "byte"),
        (0, "sbyte", "byte"),
        (1, "ushort", "short"),
        (2, "dword", "dword"),
    ];
    for (log, load, store) in sizes {
        for lanes in [64, 61, 43, 8, 5] {
            let body = format!(
                "v_and_b32 v2, 7, v0\nv_lshrrev_b32 v3, 3, v0\nv_mul_lo_u32 v3, v3, s8\ns_lshl_b32 s11, s2, 6\n\
                 v_add3_u32 v2, v2, v3, s11\nv_add_u32 v2, 0x100, v2\nv_lshlrev_b32 v4, {log}, v2\n\
                 v_cmp_gt_u32 vcc, {lanes}, v0\ns_and_saveexec_b64 s[14:15], vcc\n\
                 global_load_{load} v5, v4, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_u32 v5, v5, v0\n\
                 global_store_{store} v4, v5, s[6:7]\n\
                 v_and_b32 v6, 0x1ff, v4\nds_write_b{bits} v6, v5\ns_waitcnt lgkmcnt(0)\nds_read_b32 v7, v6\ns_waitcnt lgkmcnt(0)\n\
                 ds_read_{lds} v8, v6\ns_waitcnt lgkmcnt(0)\nv_add_u32 v5, v5, v8\n\
                 global_store_{store} v4, v5, s[6:7]",
                bits = 8 << log,
                lds = ["u8", "u16", "b32"][log],
            );
            // Rows that follow each other, lie apart, overlap, lie in reverse, and are all the same.
            let rows = [8, 20, 4, 6, u32::MAX - 11, 0].map(|by| [by, 0]);
            same(&body.replace("s11, s2, 6", "s11, s2, 7"), &rows);
        }
    }
}

/// Elements of LDS that some lanes share: four, eight or sixteen of them, as the columns of a tile are read; lanes beyond a limit are inactive, and
/// some addresses lie beyond the end.
#[test]
fn elements_that_lanes_share() {
    for (size, load, last) in [(4, "b32", 5), (8, "b64", 6), (16, "b128", 8)] {
        for (by, lanes) in [(3, 64), (3, 61), (3, 5), (2, 64), (4, 64)] {
            let body = format!(
                "v_lshlrev_b32 v2, 2, v0\nv_add_u32 v3, 0x70605, v1\nds_write_b32 v2, v3\nds_write_b32 v2, v1 offset:256\n\
                 v_lshrrev_b32 v4, {by}, v0\nv_mul_lo_u32 v4, v4, s8\nv_add_u32 v4, s9, v4\ns_waitcnt lgkmcnt(0)\n\
                 v_cmp_gt_u32 vcc, {lanes}, v0\nv_mov_b32 v5, 1\nv_mov_b32 v{last}, 1\ns_and_saveexec_b64 s[14:15], vcc\n\
                 ds_read_{load} v{registers}, v4\ns_waitcnt lgkmcnt(0)\ns_mov_b64 exec, s[14:15]\n\
                 v_mul_lo_u32 v5, v5, 5\nv_add_u32 v5, v5, v{last}\nv_lshlrev_b32 v4, 2, v1\nglobal_store_dword v4, v5, s[6:7]",
                registers = if size == 4 {
                    "5".into()
                } else {
                    format!("[5:{last}]")
                },
            );
            same(
                &body,
                &[
                    [size, 0],
                    [32, 0],
                    [48, 16],
                    [0, 64],
                    [u32::MAX - 15, 256],
                    [64, 496],
                ],
            );
        }
    }
}

/// Bytes and words that lanes store to random addresses of LDS, some beyond its end.
#[test]
fn small_elements_in_lds() {
    for (bits, load) in [(8, "u8"), (16, "u16"), (32, "b32")] {
        for limit in [64, 40, 1] {
            let body = format!(
                "v_mul_lo_u32 v2, v0, 61\nv_and_b32 v2, 0xff, v2\nv_mul_lo_u32 v2, v2, s8\nv_add_u32 v2, s9, v2\n\
                 v_lshlrev_b32 v4, 2, v0\nv_mov_b32 v3, 0\nds_write_b32 v4, v3\nds_write_b32 v4, v3 offset:256\n\
                 s_waitcnt lgkmcnt(0)\nv_cmp_gt_u32 vcc, {limit}, v0\ns_and_saveexec_b64 s[14:15], vcc\n\
                 v_add_u32 v3, 0x70605, v1\nds_write_b{bits} v2, v3\ns_waitcnt lgkmcnt(0)\ns_mov_b64 exec, s[14:15]\n\
                 ds_read_b32 v5, v4\nds_read_b32 v6, v4 offset:256\nds_read_{load} v7, v2\ns_waitcnt lgkmcnt(0)\n\
                 v_mul_lo_u32 v5, v5, 5\nv_add3_u32 v5, v5, v6, v7\nv_lshlrev_b32 v4, 2, v1\nglobal_store_dword v4, v5, s[6:7]"
            );
            same(
                &body,
                &[[1, 0], [1, 3], [2, 0], [2, 1], [2, 16], [4, 0], [0, 511]],
            );
        }
    }
}

/// The address of a lane's element in the 2,048 bytes of its wave, in v4.
const OWN: &str = "s_lshl_b32 s11, s2, 11\nv_lshlrev_b32 v4, 2, v0\nv_add_u32 v4, s11, v4";

/// Adds numbers to rows of elements, one after the other, in the lanes that are within limits of numbers and rows: at each row, a store is
/// followed by a load that it may overlap.
fn rows(limits: &str, of_row: &str, from: &str) -> String {
    let row = format!(
        "s_and_saveexec_b64 s[20:21], vcc\ns_cbranch_execz over_N\n\
         global_load_dword v5, v4, {from}\nv_add_u32 v7, 1, v7\nv_add_u32 v6, 0x80, v4\ns_waitcnt vmcnt(0)\n\
         v_add_u32 v5, v5, v7\nglobal_store_dword v4, v5, s[6:7]\nv_mov_b32 v4, v6\n\
         over_N:\ns_or_b64 exec, exec, s[20:21]\n{of_row}\n"
    );
    let all: String = (0..4).map(|n| row.replace('N', &n.to_string())).collect();
    format!(
        "{OWN}\nv_mov_b32 v7, 0\n{limits}\n{all}v_add_u32 v4, 0x400, v4\ns_mov_b64 exec, -1\nglobal_store_dword v4, v7, s[6:7]"
    )
}

/// The next row's address is affine only as long as all lanes take part in all rows.
#[test]
fn rows_within_limits() {
    let by_number = "v_cmp_gt_u32 vcc, s8, v1";
    let by_row = "v_cmp_gt_u32 vcc, s9, v7";
    let by_some = "v_and_b32 v8, s9, v1\nv_cmp_ne_u32 vcc, 0, v8";
    let some = [[6400, 4], [6400, 2], [6400, 0], [100, 3], [6399, 1], [0, 7]];
    for from in ["s[4:5]", "s[6:7]"] {
        for of_row in [by_number, by_row, by_some] {
            same(&rows(by_number, of_row, from), &some);
            same(&rows("s_mov_b64 vcc, -1", of_row, from), &some);
        }
    }
}

/// Walks over rows in a loop that lanes leave one by one or together. `step` is what each iteration does with the address.
fn walk_rows(counts: &str, step: &str) -> String {
    format!(
        "{OWN}\n{counts}\nv_mov_b32 v7, 0\ns_mov_b64 s[20:21], 0\ns_movk_i32 s12, 0x3fc\nagain:\n\
         global_load_dword v5, v4, s[4:5]\nv_add_u32 v7, 1, v7\nv_cmp_ge_u32 vcc, v7, v9\n\
         s_waitcnt vmcnt(0)\nv_add_u32 v5, v5, v7\nglobal_store_dword v4, v5, s[6:7]\n{step}\n\
         s_or_b64 s[20:21], vcc, s[20:21]\ns_andn2_b64 exec, exec, s[20:21]\ns_cbranch_execnz again\n\
         s_mov_b64 exec, -1\nv_lshlrev_b32 v4, 2, v0\nv_add_u32 v4, s11, v4\nglobal_store_dword v4, v7, s[6:7] offset:1024"
    )
}

/// An address is affine in an iteration if the one before kept it so in all lanes.
#[test]
fn loops_that_lanes_leave() {
    let counts = [
        "v_mov_b32 v9, s8",
        // The upper lanes of some waves stay longer.
        "v_lshrrev_b32 v9, 5, v1\nv_and_b32 v9, 3, v9\nv_min_u32 v9, s8, v9",
        "v_and_b32 v9, s8, v1",
    ];
    let steps = [
        "v_add_u32 v4, 64, v4",
        // The distance of the lanes changes in the first iteration, in each, or where a number is odd.
        "v_and_b32 v8, 0x300, v4\nv_bfi_b32 v4, s12, v8, v4",
        "v_lshlrev_b32 v8, 1, v4\nv_bfi_b32 v4, s12, v8, v4",
        "v_and_b32 v8, 1, v5\nv_lshlrev_b32 v8, 6, v8\nv_add_u32 v8, v4, v8\nv_bfi_b32 v4, s12, v8, v4",
    ];
    let some = [[3, 0], [7, 0], [1, 0], [0, 0], [4, 0]];
    for count in counts {
        for step in steps {
            same(&walk_rows(count, step), &some);
        }
    }
}

/// Branches on arguments: code assumes the ways that the first launch took.
#[test]
fn branches_on_arguments() {
    let scalar = ["eq", "lg", "lt", "le", "gt", "ge"].map(|op| {
        [
            format!("s_cmp_{op}_i32 s8, s9\ns_cbranch_scc1 other"),
            format!("s_cmp_{op}_u32 s8, s9\ns_cbranch_scc0 other"),
        ]
    });
    let float = ["eq", "neq", "lt", "nge"].map(|op| {
        [
            format!(
                "v_mov_b32 v9, s9\nv_add_f32 v9, 1.0, v9\nv_cmp_{op}_f32 vcc, s8, v9\ns_cbranch_vccnz other"
            ),
            format!(
                "v_mov_b32 v9, s9\nv_cmp_{op}_f32 vcc, s8, v9\ns_and_b64 vcc, exec, vcc\ns_cbranch_vccz other"
            ),
            format!("v_mov_b32 v9, s9\nv_cmp_{op}_f32 vcc, s8, v9\ns_cmp_eq_u64 vcc, 0\ns_cbranch_scc1 other"),
        ]
    });
    let numbers = [
        [5, 5],
        [4, 5],
        [6, 5],
        [u32::MAX, 5],
        [0x4000_0000, 0x3f80_0000],
        [0x3f80_0000, 0x3f80_0000],
        [0x7fc0_0000, 0],
    ];
    for test in scalar.iter().flatten().chain(float.iter().flatten()) {
        let body = format!(
            "v_lshlrev_b32 v4, 2, v1\nglobal_load_dword v5, v4, s[4:5]\ns_waitcnt vmcnt(0)\n{test}\n\
             v_add_u32 v5, 1, v5\ns_branch both\nother:\nv_lshlrev_b32 v4, 1, v4\nv_xor_b32 v5, 2, v5\nboth:\n\
             global_store_dword v4, v5, s[6:7]"
        );
        for first in 0..numbers.len() {
            let mut some = numbers;
            some.rotate_left(first);
            same(&body, &some);
        }
    }
}

/// Lanes choose between two buffers, or among three with the arguments' memory: all of a wave, all of 16 lanes, or each its own. `access`
/// uses the address in v[4:5] and leaves v[10:13].
fn chosen(index: &str, narrow: &str, access: &str) -> String {
    format!(
        "v_mov_b32 v10, 1\nv_mov_b32 v11, 2\nv_mov_b32 v12, 3\nv_mov_b32 v13, v1\n{index}\n\
         v_mov_b32 v4, s4\nv_mov_b32 v5, s5\nv_mov_b32 v6, s6\nv_mov_b32 v7, s7\n\
         v_and_b32 v3, s8, v1\nv_cmp_eq_u32 vcc, s9, v3\nv_cndmask_b32 v4, v4, v6, vcc\nv_cndmask_b32 v5, v5, v7, vcc\n\
         v_add_co_u32 v4, vcc, v4, v2\nv_addc_co_u32 v5, vcc, 0, v5, vcc\ns_mov_b64 s[14:15], exec\n{narrow}\n\
         {access}\ns_waitcnt vmcnt(0)\ns_mov_b64 exec, s[14:15]\n\
         v_lshlrev_b32 v8, 4, v1\nglobal_store_dwordx4 v8, v[10:13], s[6:7]"
    )
}

#[test]
fn lanes_that_choose_between_buffers() {
    // The kernel reads the upper halves of the buffers, and writes the lower half of the second one.
    let own = "v_lshlrev_b32 v2, 4, v1\nv_and_b32 v2, 0x1fff0, v2\nv_add_u32 v2, 0x20000, v2";
    let mixed = "s_mov_b32 s12, 0x9e3b1\nv_mul_lo_u32 v2, v1, s12\nv_and_b32 v2, 0x1fff0, v2\nv_add_u32 v2, 0x20000, v2";
    // Inactive lanes have addresses that are not mapped.
    let odd = "v_cmp_eq_u32 vcc, 5, v0\nv_cndmask_b32 v5, v5, -1, vcc\nv_mov_b32 v9, 0x123\nv_cndmask_b32 v4, v4, v9, vcc\n\
               s_andn2_b64 exec, exec, vcc";
    let third = "v_and_b32 v3, 3, v0\nv_cmp_eq_u32 vcc, 2, v3\nv_mov_b32 v8, s0\nv_mov_b32 v9, s1\n\
                 v_cndmask_b32 v4, v4, v8, vcc\nv_cndmask_b32 v5, v5, v9, vcc";
    let accesses = [
        "global_load_dword v10, v[4:5], off offset:8",
        "global_load_ubyte v10, v[4:5], off offset:5",
        "global_load_dwordx2 v[11:12], v[4:5], off",
        "global_load_dwordx4 v[10:13], v[4:5], off",
        "global_store_dword v[4:5], v1, off\ns_waitcnt vmcnt(0)\nglobal_load_dword v10, v[4:5], off",
        "global_store_byte v[4:5], v1, off offset:3\ns_waitcnt vmcnt(0)\nglobal_load_dword v10, v[4:5], off",
        "global_store_dwordx2 v[4:5], v[0:1], off\ns_waitcnt vmcnt(0)\nglobal_load_dwordx4 v[10:13], v[4:5], off",
    ];
    let choices = [[1, 0], [0, 0], [0, 1], [64, 0], [16, 16], [7, 3], [1, 1]];
    for access in accesses {
        for (index, narrow) in [(own, ""), (mixed, ""), (own, odd), (mixed, odd)] {
            let stores = access.contains("store");
            if stores && index == mixed {
                // Lanes would store to one address.
                continue;
            }
            same(&chosen(index, narrow, access), &choices);
            if !stores && !access.contains("x4") {
                let narrow = format!("{third}\n{narrow}");
                same(&chosen("v_mov_b32 v2, 16", &narrow, access), &choices);
            }
        }
    }
}

/// Lanes that choose between buffers run without the interpreter.
#[test]
fn lanes_of_two_buffers_are_compiled() {
    let body = chosen(
        "v_lshlrev_b32 v2, 4, v1",
        "",
        "global_load_dwordx2 v[10:11], v[4:5], off",
    );
    let stats = same(&body, &[[1, 0], [5, 4]]);
    assert!(
        stats.is_none_or(|s| s.restarts == 0 && s.interpreted == 0),
        "{stats:?}"
    );
}

/// Lanes in reverse order, as in an image that is mirrored, up to the ends of the buffers, with all lanes active and with some.
#[test]
fn lanes_in_reverse_order() {
    // The element's bytes, the load, the store.
    let elements = [
        (2, "dword", "dword"),
        (1, "ushort", "short"),
        (1, "sshort", "short"),
        (0, "ubyte", "byte"),
        (0, "sbyte", "byte"),
    ];
    for (log, load, store) in elements {
        for mask in ["", "v_cmp_gt_u32 vcc, s9, v0\ns_and_b64 exec, exec, vcc\n"] {
            // All work-items' elements end where the buffer does, or begin where it does.
            for at_end in [0, (BYTES as u32 >> log) - ITEMS] {
                let body = format!(
                    "{mask}v_sub_u32 v2, s8, v1\nv_add_u32 v3, {at_end}, v1\nv_lshlrev_b32 v3, {log}, v3\n\
                     s_mov_b32 s10, {at_end}\nv_add_u32 v2, s10, v2\nv_lshlrev_b32 v2, {log}, v2\n\
                     global_load_{load} v4, v2, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_u32 v5, 1, v4\n\
                     global_store_{store} v3, v5, s[6:7]"
                )
                .replace(&format!("v_add_u32 v3, {at_end}, v1"), &format!("v_add_u32 v3, {at_end:#x}, v1"));
                let stats = same(&body, &[[ITEMS - 1, 40], [ITEMS - 1, 64]]);
                // The interpreter runs the blocks of the first waves whose 16 lanes reach further than the buffer.
                assert!(stats.is_none_or(|s| s.interpreted < 300), "{stats:?}");
                let body = body.replace("v3, v5, s[6:7]", "v2, v5, s[6:7]");
                let body = body.replace("v4, v2, s[4:5]", "v4, v3, s[4:5]");
                same(&body, &[[ITEMS - 1, 40], [ITEMS - 1, 64]]);
            }
        }
    }
}

/// Waves are observed in a long loop, and go on inside of a block. No code is compiled in which blocks begin there.
/// Lanes that store a dword of each two or four, up to the end of the buffer, with all lanes active and with some: the other dwords stay.
#[test]
fn one_dword_of_several() {
    for log in [3, 4] {
        let most = (BYTES as u32 >> log).min(ITEMS);
        for mask in [
            "",
            "v_cmp_gt_u32 vcc, s9, v0\ns_and_b64 exec, exec, vcc\n",
            "v_and_b32 v7, 5, v0\nv_cmp_ne_u32 vcc, 4, v7\ns_and_b64 exec, exec, vcc\n",
        ] {
            for offset in [0, 4] {
                let body = format!(
                    "v_cmp_gt_u32 vcc, {most:#x}, v1\ns_and_b64 exec, exec, vcc\n{mask}v_add_u32 v2, s8, v1\nv_lshlrev_b32 v3, 2, v1\n\
                     v_lshlrev_b32 v2, {log}, v2\nglobal_load_dword v4, v3, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_u32 v5, 1, v4\n\
                     global_store_dword v2, v5, s[6:7] offset:{offset}"
                );
                let last = (BYTES as u32 >> log) - most;
                let stats = same(&body, &[[0, 40], [0, 64], [last, 40], [last, 64]]);
                assert!(stats.is_none_or(|s| s.interpreted < 300), "{stats:?}");
            }
        }
    }
}

#[test]
fn a_long_loop_keeps_its_blocks() {
    let body = "v_mov_b32 v2, 0\ns_mov_b32 s12, 0\nagain:\nv_add_u32 v2, s12, v2\ns_mul_i32 s13, s12, 3\nv_xor_b32 v2, s13, v2\n\
                s_add_u32 s12, s12, 1\nv_add_u32 v2, v1, v2\ns_cmp_lt_u32 s12, s8\ns_cbranch_scc1 again\n\
                v_lshlrev_b32 v4, 2, v1\nglobal_store_dword v4, v2, s[6:7]";
    for level in Level::ALL.into_iter().filter(|l| l.available()) {
        let cache = Cache::with_level(level);
        let engines = cache.clone();
        run(
            move || Box::new(engines.engine()),
            &program(body),
            &[[100_000, 0]],
        );
        assert!(cache.stats().interpreted > 0, "waves are observed");
        let report = cache.report();
        let blocks = || report.regions.iter().flat_map(|r| &r.pieces);
        for block in blocks() {
            let inside = |b: &gcn_jit::Piece| (b.start + 1..b.end).contains(&block.start);
            assert!(
                !blocks().any(inside),
                "a block begins at {:#x}",
                block.start
            );
        }
        assert_eq!(report.regions.len(), 1, "waves stay in their region");
    }
}

/// In each row of 32 columns, x - 1 is negative in one lane, so its sign is not the same in 16 lanes. After the first waves, code that does not
/// assume this runs all waves: none is interpreted, and x and x + 1 are still affine.
#[test]
fn guards_that_often_fail_are_dropped() {
    let body = "s_mov_b32 s12, 0\nv_and_b32 v2, 31, v0\nv_add_u32 v9, -1, v2\nv_ashrrev_i32 v10, 31, v9\n\
                v_lshlrev_b32 v4, 2, v1\nglobal_load_dword v3, v4, s[4:5]\ns_waitcnt vmcnt(0)\nagain:\n\
                v_add_u32 v3, v3, v10\nv_xor_b32 v3, v3, v9\ns_add_u32 s12, s12, 1\ns_cmp_lt_u32 s12, 4\ns_cbranch_scc1 again\n\
                global_store_dword v4, v3, s[6:7]";
    let few = same(body, &[[1, 0]]);
    let many = same(body, &[[1, 0]; 12]);
    if let (Some(few), Some(many)) = (few, many) {
        assert!(many.interpreted <= few.interpreted, "{few:?} {many:?}");
        assert!(many.regions == 2 && many.in_batch > 900, "{many:?}");
    }
}

/// An observed wave, and one whose time slice ends, stay in the region in which they began, where addresses are affine.
#[test]
fn waves_stay_in_their_region() {
    let body = "s_cmp_eq_u32 s2, 5\ns_cselect_b32 s8, s8, 1\nv_mov_b32 v2, 0\ns_mov_b32 s12, 0\nv_lshlrev_b32 v4, 2, v1\nagain:\nglobal_load_dword v5, v4, s[4:5]\n\
                s_waitcnt vmcnt(0)\nv_xor_b32 v2, v5, v2\ns_add_u32 s12, s12, 1\nv_add_u32 v2, s12, v2\n\
                s_cmp_lt_u32 s12, s8\ns_cbranch_scc1 again\nglobal_store_dword v4, v2, s[6:7]";
    let stats = same(body, &[[200_000, 0]]);
    let right = |s: JitStats| s.regions == 1 && s.interpreted > 0;
    assert!(stats.is_none_or(right), "{stats:?}");
}
