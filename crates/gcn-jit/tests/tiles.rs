//! Loops in which each lane walks along a row, so that their loads are read ahead (tiles). Changes of the memory by the loop,
//! another wave or a store of another kind must be visible, on all engines alike.
#![cfg(target_arch = "x86_64")]

mod kernel;

use kernel::Kernel;

/// The size of the buffer of rows, and of the buffer of results, in bytes.
const BYTES: u32 = 1 << 18;
/// The size of the memory before and after each buffer, in bytes.
const BESIDE: u32 = 4096;
const GROUP: u32 = 128;
const ITEMS: u32 = 256;

/// Runs a kernel on all engines, which must agree: s[4:5] is the buffer of rows, s[6:7] the other one, v1 the work-item's number. v[10:11] is the
/// item's row and v[12:13] its element in the other buffer, both `pitch` bytes from item to item; v3 is 0. Returns the fault's message.
fn alike(pitch: u32, before: &str, body: &str) -> Option<String> {
    let body = format!(
        "s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_mul_i32 s8, s2, {GROUP}\nv_add_u32 v1, s8, v0\ns_waitcnt lgkmcnt(0)\n\
         s_movk_i32 s9, {pitch}\nv_mul_lo_u32 v8, v1, s9\nv_mov_b32 v11, s5\nv_mov_b32 v13, s7\n\
         v_add_co_u32 v10, vcc, s4, v8\nv_addc_co_u32 v11, vcc, 0, v11, vcc\n\
         v_add_co_u32 v12, vcc, s6, v8\nv_addc_co_u32 v13, vcc, 0, v13, vcc\n\
         v_mov_b32 v3, 0\n{before}\n{body}\n\
         v_lshlrev_b32 v8, 2, v1\nglobal_store_dword v8, v3, s[6:7]\ns_endpgm\n"
    );
    let rows: Vec<u8> = (0..(BYTES + BESIDE) / 4)
        .flat_map(|n| (n.wrapping_mul(0x9e37_79b9) >> 7).to_le_bytes())
        .collect();
    let kernel = Kernel {
        buffers: vec![rows.clone(), rows],
        before: BESIDE,
        items: ITEMS,
        group: GROUP,
        ..Kernel::new(&body, 4096)
    };
    kernel.check(false)
}

fn same(pitch: u32, before: &str, body: &str) {
    assert_eq!(alike(pitch, before, body), None, "{body}");
}

/// Returns a loop of `count` iterations. At the end of each, the row's address moves by `step` bytes.
fn walk(count: u32, step: i32, body: &str) -> String {
    let high = if step < 0 { -1 } else { 0 };
    format!(
        "s_mov_b32 s20, {count}\nagain:\n{body}\nv_add_co_u32 v10, vcc, {step}, v10\nv_addc_co_u32 v11, vcc, {high}, v11, vcc\n\
         s_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 again\n"
    )
}

/// A load into v2, and code that accumulates it in v3.
const LOAD: &str = "global_load_dword v2, v[10:11], off\ns_waitcnt vmcnt(0)\nv_mul_lo_u32 v3, v3, 5\nv_add_u32 v3, v3, v2\n";
/// The same for bytes, which are read ahead for any pitch of the rows.
const BYTE: &str = "global_load_ubyte v2, v[10:11], off\ns_waitcnt vmcnt(0)\nv_mul_lo_u32 v3, v3, 5\nv_add_u32 v3, v3, v2\n";
/// Moves to the last dword of a row of 1024 bytes.
const TO_END: &str = "v_add_co_u32 v10, vcc, 0x3fc, v10\nv_addc_co_u32 v11, vcc, 0, v11, vcc\n";
/// Code that makes some of the lanes active, or few.
const SOME: &str = "v_and_b32 v9, 5, v1\nv_cmp_ne_u32 vcc, 4, v9\ns_and_b64 exec, exec, vcc\n";
const FEW: &str = "v_and_b32 v9, 31, v1\nv_cmp_eq_u32 vcc, 9, v9\ns_and_b64 exec, exec, vcc\n";

#[test]
fn elements_of_all_sizes() {
    for (load, size) in [
        ("global_load_ubyte v2", 1),
        ("global_load_sbyte v2", 1),
        ("global_load_ushort v2", 2),
        ("global_load_dword v2", 4),
        ("global_load_dwordx2 v[4:5]", 8),
        ("global_load_dwordx3 v[4:6]", 12),
        ("global_load_dwordx4 v[4:7]", 16),
    ] {
        let take = match size {
            1..=4 => "v_add_u32 v3, v3, v2\n",
            8 => "v_xor_b32 v3, v3, v4\nv_add_u32 v3, v3, v5\n",
            12 => "v_xor_b32 v3, v3, v4\nv_add_u32 v3, v3, v6\n",
            _ => "v_xor_b32 v3, v3, v4\nv_add_u32 v3, v3, v7\nv_mad_u32_u24 v3, v5, v6, v3\n",
        };
        for offset in ["", " offset:20"] {
            let body = format!(
                "{load}, v[10:11], off{offset}\ns_waitcnt vmcnt(0)\nv_mul_lo_u32 v3, v3, 5\n{take}"
            );
            let count = 200 / size as u32;
            for mask in ["", SOME, FEW] {
                same(1024, mask, &walk(count, size, &body));
                same(1020, mask, &walk(count, size, &body));
                same(100, mask, &walk(12, size, &body));
            }
        }
    }
}

#[test]
fn backwards() {
    for (load, step) in [("ubyte", -1), ("ushort", -2), ("dword", -4)] {
        let body = format!(
            "global_load_{load} v2, v[10:11], off\ns_waitcnt vmcnt(0)\nv_mul_lo_u32 v3, v3, 5\nv_add_u32 v3, v3, v2\n"
        );
        for mask in ["", SOME] {
            same(1024, &format!("{mask}{TO_END}"), &walk(63, step, &body));
        }
    }
}

#[test]
fn steps_that_are_no_walk_or_an_odd_one() {
    for step in [0, 2, 3, 5, 8, 12, 16, 20, 64, -8, -12] {
        same(1024, TO_END, &walk(9, step.min(1), LOAD));
        let before = if step < 0 { TO_END } else { "" };
        same(1020, before, &walk(11, step, LOAD));
    }
}

/// Lanes that stop at different times, and lanes that begin later.
#[test]
fn lanes_come_and_go() {
    let leave = format!(
        "v_and_b32 v14, 63, v1\nv_lshrrev_b32 v14, 1, v14\nv_mov_b32 v15, 0\nagain:\nv_cmp_gt_u32 vcc, v14, v15\ns_and_b64 exec, exec, vcc\n\
         {LOAD}v_add_co_u32 v10, vcc, 4, v10\nv_addc_co_u32 v11, vcc, 0, v11, vcc\nv_add_u32 v15, 1, v15\n\
         s_cbranch_execnz again\ns_mov_b64 exec, -1\n"
    );
    same(1024, "", &leave);
    let parts = format!(
        "s_mov_b32 s20, 40\nagain:\nv_and_b32 v14, 7, v1\nv_cmp_ge_u32 vcc, s20, v14\ns_mov_b64 s[22:23], exec\n\
         s_and_b32 s24, s20, 3\ns_cmp_lg_u32 s24, 1\ns_cselect_b64 vcc, -1, vcc\ns_and_b64 exec, exec, vcc\n{LOAD}\
         v_add_co_u32 v10, vcc, 4, v10\nv_addc_co_u32 v11, vcc, 0, v11, vcc\n\
         s_mov_b64 exec, s[22:23]\ns_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 again\n"
    );
    same(1024, "", &parts);
    let swap = format!(
        "s_mov_b32 s20, 40\ns_mov_b32 s22, 0x0ff0f0f3\ns_mov_b32 s23, 0xff00ff03\nagain:\ns_not_b64 s[22:23], s[22:23]\ns_mov_b64 exec, s[22:23]\n\
         {LOAD}v_add_co_u32 v10, vcc, 4, v10\nv_addc_co_u32 v11, vcc, 0, v11, vcc\n\
         s_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 again\ns_mov_b64 exec, -1\n"
    );
    same(1024, "", &swap);
}

/// Later loads must get the data of the loop's stores.
#[test]
fn stores_to_rows() {
    let next12 = "v_add_co_u32 v12, vcc, 4, v12\nv_addc_co_u32 v13, vcc, 0, v13, vcc\n";
    // The stores are in place; next to it, before and after; across other lanes' rows; narrow and wide; and to contiguous lanes.
    let stores = [
        "global_store_dword v[10:11], v3, off\n".to_owned(),
        "global_store_dword v[10:11], v3, off offset:4\n".to_owned(),
        "global_store_dword v[10:11], v3, off offset:12\n".to_owned(),
        "global_store_dword v[10:11], v3, off offset:1024\n".to_owned(),
        "global_store_dword v[10:11], v3, off offset:2\n".to_owned(),
        "global_store_byte v[10:11], v3, off offset:9\n".to_owned(),
        "global_store_short v[10:11], v3, off offset:6\n".to_owned(),
        "v_mov_b32 v4, v3\nglobal_store_dwordx2 v[10:11], v[3:4], off offset:8\n".to_owned(),
        format!("global_store_dword v[12:13], v3, off\n{next12}"),
        "v_lshlrev_b32 v8, 2, v1\nglobal_store_dword v8, v3, s[4:5] offset:16\n".to_owned(),
        "v_mov_b32 v4, 7\nglobal_atomic_add v[10:11], v4, off offset:8\n".to_owned(),
        "v_mov_b32 v4, 7\nglobal_atomic_add v5, v[10:11], v4, off offset:8 glc\ns_waitcnt vmcnt(0)\nv_add_u32 v3, v3, v5\n".to_owned(),
        "v_mov_b32 v8, 0\nglobal_store_dword v8, v3, s[4:5] offset:64\n".to_owned(),
    ];
    for store in &stores {
        for mask in ["", SOME, FEW] {
            for pitch in [1024, 1020, 96, 64, 40, 4] {
                let body = format!("{LOAD}{store}");
                same(pitch, mask, &walk(40, 4, &body));
                same(pitch, &format!("{mask}{TO_END}"), &walk(20, -4, &body));
                if !store.contains("atomic") {
                    let body = format!("{BYTE}{store}");
                    same(pitch, mask, &walk(70, 1, &body));
                }
            }
        }
    }
}

/// Two loads, one behind the other in the row, and a store in place.
#[test]
fn two_walks_of_the_same_rows() {
    let body = "global_load_dword v2, v[10:11], off\nglobal_load_dword v4, v[10:11], off offset:4\ns_waitcnt vmcnt(0)\n\
                v_add_u32 v3, v3, v2\nv_xor_b32 v3, v3, v4\nglobal_store_dword v[10:11], v3, off\n";
    for mask in ["", SOME] {
        same(1024, mask, &walk(50, 4, body));
        same(64, mask, &walk(50, 4, body));
    }
}

/// Waves that write what others read, one after the other between barriers, and loads that bypass caches.
#[test]
fn other_waves_write() {
    let other = "v_xor_b32 v16, 64, v1\nv_sub_u32 v16, v16, v1\nv_lshlrev_b32 v16, 10, v16\nv_ashrrev_i32 v17, 31, v16\n";
    let body = format!(
        "{LOAD}s_barrier\nv_add_co_u32 v14, vcc, v10, v16\nv_addc_co_u32 v15, vcc, v11, v17, vcc\n\
         global_store_dword v[14:15], v3, off offset:8\ns_waitcnt vmcnt(0)\ns_barrier\n"
    );
    same(1024, other, &walk(40, 4, &body));
    for between in ["buffer_wbinvl1_vol\n", ""] {
        let load =
            "global_load_dword v2, v[10:11], off glc\ns_waitcnt vmcnt(0)\nv_add_u32 v3, v3, v2\n";
        let body = format!("{load}{between}global_store_dword v[10:11], v3, off offset:4\n");
        same(1024, "", &walk(40, 4, &body));
    }
}

/// Rows that end at the end of memory, and beyond it.
#[test]
fn the_end_of_memory() {
    // The last row ends with the memory.
    let pitch = (BYTES + BESIDE) / ITEMS;
    same(pitch, "", &walk(pitch / 4, 4, LOAD));
    same(1024, TO_END, &walk(256, -4, LOAD));
    for (count, step, before) in [(300, 4, ""), (40000, -4, TO_END)] {
        let fault = alike(pitch, before, &walk(count, step, LOAD));
        let message = fault.expect("the walk leaves the memory");
        assert!(message.contains("global_load_dword"), "{message}");
    }
}

/// Loops in which all lanes are active at first. All waves walk the same rows, and each writes to them after its loop.
#[test]
fn lanes_that_leave_later() {
    let rows = "v_and_b32 v8, 63, v1\nv_mul_lo_u32 v8, v8, s9\nv_mov_b32 v11, s5\n\
                v_add_co_u32 v10, vcc, s4, v8\nv_addc_co_u32 v11, vcc, 0, v11, vcc\nv_mov_b32 v12, v10\nv_mov_b32 v13, v11\n\
                v_lshlrev_b32 v20, 2, v0\n";
    for (early, late) in [(2, 12), (4, 10), (1, 14), (9, 9)] {
        let body = format!(
            "v_and_b32 v14, 16, v1\nv_cmp_eq_u32 vcc, 16, v14\nv_mov_b32 v14, {early}\nv_mov_b32 v15, {late}\n\
             v_cndmask_b32 v14, v15, v14, vcc\nv_mov_b32 v15, 0\ns_mov_b64 s[20:21], 0\nagain:\n\
             {LOAD}global_load_dword v16, v20, s[6:7] offset:2048\nv_add_u32 v20, 4, v20\n\
             v_add_co_u32 v10, vcc, 4, v10\nv_addc_co_u32 v11, vcc, 0, v11, vcc\nv_add_u32 v15, 1, v15\n\
             v_cmp_ge_u32 vcc, v15, v14\ns_waitcnt vmcnt(0)\nv_add_u32 v3, v3, v16\ns_or_b64 s[20:21], vcc, s[20:21]\n\
             s_andn2_b64 exec, exec, s[20:21]\ns_cbranch_execnz again\ns_mov_b64 exec, -1\n\
             global_store_dword v[12:13], v3, off offset:24\nglobal_store_dword v[12:13], v3, off offset:32\n"
        );
        for pitch in [1024, 4096, 64] {
            same(pitch, rows, &body);
        }
    }
}

/// What a lane stores is what a lane behind it in the same row loads later, whichever parts of a tile have them.
#[test]
fn lanes_that_follow_each_other_in_a_row() {
    let store = "v_add_u32 v4, v3, v1\nglobal_store_dword v[10:11], v4, off\n";
    let body = walk(60, 4, &format!("{LOAD}{store}"));
    let at = |place: &str| {
        format!(
            "{place}v_mov_b32 v11, s5\nv_add_co_u32 v10, vcc, s4, v8\nv_addc_co_u32 v11, vcc, 0, v11, vcc\n"
        )
    };
    // Lanes of different parts.
    for (rows, ahead) in [(31, 12), (31, 32), (7, 20)] {
        let shift = 32 - u32::leading_zeros(rows);
        let place = format!(
            "v_and_b32 v8, {rows}, v1\nv_lshlrev_b32 v8, 12, v8\nv_bfe_u32 v9, v1, {shift}, 1\nv_mul_u32_u24 v9, {ahead}, v9\n\
             v_add_u32 v8, v8, v9\n"
        );
        same(4096, &at(&place), &body);
    }
    // Two lanes of one part.
    let place = "v_lshrrev_b32 v8, 1, v1\nv_lshlrev_b32 v8, 11, v8\nv_and_b32 v9, 1, v1\nv_mul_u32_u24 v9, 36, v9\n\
                 v_add3_u32 v8, v8, v9, 40\n";
    same(1024, &at(place), &body);
}
