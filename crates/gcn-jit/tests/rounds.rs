//! Short loops, of which several rounds are compiled as one block, also if lanes decide when they leave. All engines must agree on every register
//! that the loop writes, on memory, and on faults.
#![cfg(target_arch = "x86_64")]

mod kernel;

use kernel::{Kernel, Rng, setting};

const ITEMS: u32 = 192;
const GROUP: u32 = 64;
/// The bytes of a row, which has a dword for each item, and the number of rows.
const ROW: u32 = 4 * ITEMS;
const ROWS: u32 = 16;

/// How a loop is left after a number of rounds.
const ENDS: [(&str, &str); 7] = [
    // A counter that is known before the vectors, with either sense of the branch.
    (
        "",
        "s_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 again\n",
    ),
    (
        "",
        "s_add_u32 s20, s20, -1\ns_cmp_eq_u32 s20, 0\ns_cbranch_scc0 again\n",
    ),
    // A number that all lanes add to.
    (
        "v_mov_b32 v15, 0\n",
        "v_add_u32 v15, 1, v15\nv_cmp_gt_i32 vcc, s20, v15\ns_and_b64 vcc, exec, vcc\ns_cbranch_vccnz again\n",
    ),
    (
        "v_mov_b32 v15, 0\n",
        "v_add_u32 v15, 1, v15\nv_cmp_le_i32 vcc, s20, v15\ns_and_b64 vcc, exec, vcc\ns_cbranch_vccz again\n",
    ),
    // Lanes leave one round apart, in some kernels.
    (
        "v_and_b32 v15, s21, v1\ns_mov_b64 s[22:23], 0\n",
        "v_add_u32 v15, 1, v15\nv_cmp_le_i32 vcc, s20, v15\ns_or_b64 s[22:23], vcc, s[22:23]\n\
         s_andn2_b64 exec, exec, s[22:23]\ns_cbranch_execnz again\n",
    ),
    (
        "v_and_b32 v15, s21, v1\n",
        "v_add_u32 v15, 1, v15\nv_cmp_gt_i32 vcc, s20, v15\ns_and_b64 exec, exec, vcc\ns_cbranch_execnz again\n",
    ),
    // A limit of each lane.
    (
        "v_and_b32 v6, s21, v1\nv_sub_u32 v6, s20, v6\nv_mov_b32 v15, 0\ns_mov_b64 s[22:23], 0\n",
        "v_add_u32 v15, 1, v15\nv_cmp_ge_i32 vcc, v15, v6\ns_or_b64 s[22:23], vcc, s[22:23]\n\
         s_andn2_b64 exec, exec, s[22:23]\ns_cbranch_execnz again\n",
    ),
];

/// What a round does: s[4:5] and v[10:11] move over the rows, s[6:7] and v[12:13] over those of the other buffer; v20 to v23 are results.
const PIECES: [&str; 13] = [
    "s_load_dword s30, s[4:5], 0x10\ns_waitcnt lgkmcnt(0)\nv_add_u32 v20, s30, v20\n",
    "s_load_dwordx2 s[30:31], s[4:5], 0x8\ns_waitcnt lgkmcnt(0)\nv_mad_u32_u24 v21, s31, v20, v21\n",
    "global_load_dword v16, v[10:11], off\ns_waitcnt vmcnt(0)\nv_xor_b32 v22, v16, v22\n",
    "global_load_dword v16, v8, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_f32 v23, v16, v23\n",
    "global_load_ubyte v16, v[10:11], off offset:1\ns_waitcnt vmcnt(0)\nv_sub_u32 v20, v20, v16\n",
    "v_and_b32 v17, 0x3c, v20\nv_add_co_u32 v18, vcc, s4, v17\nv_mov_b32 v19, s5\nv_addc_co_u32 v19, vcc, 0, v19, vcc\n\
     global_load_dword v16, v[18:19], off\ns_waitcnt vmcnt(0)\nv_add_u32 v22, v22, v16\n",
    "v_mul_f32 v23, 0.5, v23\n",
    "v_alignbit_b32 v20, v20, v21, 7\n",
    "v_cmp_lt_u32 vcc, v20, v21\nv_cndmask_b32 v22, v22, v21, vcc\n",
    "ds_read_b32 v16, v9\ns_waitcnt lgkmcnt(0)\nv_add_u32 v21, v16, v21\n",
    "global_store_dword v[12:13], v20, off\n",
    "v_add_u32 v20, v14, v20\nv_add_u32 v14, 3, v14\n",
    // Only the first of several rounds reads what v24 was, and the next ones write the result again.
    "v_mov_b32 v21, v24\nv_xor_b32 v24, s4, v1\n",
];

/// A kernel with a loop of `rounds` rounds over the rows of a buffer. If there are more rounds than rows, the last ones fault.
fn kernel(r: &mut Rng, rounds: usize) -> Kernel {
    let mut body = String::new();
    for _ in 0..1 + r.below(5) {
        body += r.of(&PIECES);
    }
    let advance = "s_add_u32 s4, s4, s9\ns_addc_u32 s5, s5, 0\n\
         v_add_co_u32 v10, vcc, s9, v10\nv_addc_co_u32 v11, vcc, 0, v11, vcc\n";
    let constant = advance.replace("s9", &format!("{ROW:#x}"));
    body += [advance, &constant][r.below(2)];
    if r.below(2) == 0 {
        body += "v_add_co_u32 v12, vcc, s9, v12\nv_addc_co_u32 v13, vcc, 0, v13, vcc\n";
    }
    let (before, end) = ENDS[r.below(ENDS.len())];
    let some = match r.below(4) {
        0 => "v_and_b32 v7, 5, v1\nv_cmp_ne_u32 vcc, 4, v7\ns_and_b64 exec, exec, vcc\n",
        _ => "",
    };
    let apart = r.of(&["0", "0", "1", "3"]);
    let body = format!(
        "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_mul_i32 s8, s2, {GROUP}\nv_add_u32 v1, s8, v0\ns_movk_i32 s9, {ROW}\n\
         s_mov_b32 m0, -1\nv_lshlrev_b32 v8, 2, v1\nv_lshlrev_b32 v9, 2, v0\nds_write_b32 v9, v1\ns_waitcnt lgkmcnt(0)\n\
         v_mov_b32 v11, s5\nv_add_co_u32 v10, vcc, s4, v8\nv_addc_co_u32 v11, vcc, 0, v11, vcc\n\
         v_mov_b32 v13, s7\nv_add_co_u32 v12, vcc, s6, v8\nv_addc_co_u32 v13, vcc, 0, v13, vcc\n\
         s_mov_b64 s[24:25], s[6:7]\ns_mov_b32 s20, {rounds}\ns_mov_b32 s21, {apart}\nv_mov_b32 v14, 0\n\
         v_mov_b32 v20, v1\nv_mov_b32 v21, 5\nv_mov_b32 v22, 0\nv_mov_b32 v23, 1.0\nv_mov_b32 v24, 77\n\
         {before}{some}again:\n{body}{end}s_mov_b64 exec, -1\n\
         s_cselect_b32 s9, 1, 2\nv_add_u32 v22, s9, v22\nv_add_u32 v21, s4, v21\nv_add_u32 v14, v10, v14\n\
         v_mul_u32_u24 v17, 20, v1\nv_add_u32 v17, {}, v17\n\
         global_store_dwordx4 v17, v[20:23], s[24:25]\nglobal_store_dword v17, v14, s[24:25] offset:16\ns_endpgm\n",
        ROW * (ROWS + 1),
    );
    let rows = (0..ROW * ROWS / 4).flat_map(|n| (n.wrapping_mul(0x9e37_79b9) >> 9).to_le_bytes());
    let results = ROW * (ROWS + 1) + 20 * ITEMS;
    Kernel {
        buffers: vec![rows.collect(), vec![0; results as usize]],
        items: ITEMS,
        group: GROUP,
        ..Kernel::new(&body, 1024)
    }
}

#[test]
fn random_loops() {
    let mut r = Rng::seeded(setting("SEED", 1));
    for _ in 0..setting("LOOPS", 200) {
        let rounds = 1 + r.below(ROWS as usize);
        let fault = kernel(&mut r, rounds).check(false);
        assert_eq!(fault, None);
    }
}

#[test]
fn rounds_beyond_memory_fault_where_they_are() {
    let mut r = Rng::seeded(2);
    let faults = (0..60).filter(|_| kernel(&mut r, 40).check(false).is_some());
    assert!(faults.count() > 20, "most of them load beyond the rows");
}
