//! State other than memory that the waves of a dispatch share, across workgroups and host threads: GDS, append and consume, global
//! wave sync and ordered append.

#[path = "common/kernel.rs"]
pub mod kernel;

/// The engine of the kernels; the compiling engine's tests include this file with an engine of their own.
#[allow(dead_code)]
fn machine(target: gcn_isa::Target) -> gcn_emu::dispatch::Gpu {
    gcn_emu::dispatch::Gpu::new(target, 64 << 20).unwrap()
}

use gcn_emu::dispatch::{Launch, RunError, Stats, Waits};
use gcn_emu::mem::Perm;

/// Runs a kernel on `grid` work-items in workgroups of `group`, and returns the first dwords of its buffer, which starts as zeros.
/// v[2:3] has the buffer's address, s2 the workgroup's number in X, s3 in Y, v0 the work-item's.
fn run(
    arch: &str,
    body: &str,
    grid: [u32; 3],
    group: [u32; 3],
    threads: usize,
) -> (Result<Stats, RunError>, Vec<u32>) {
    let settings = ".amdhsa_system_sgpr_workgroup_id_y 1\n.amdhsa_system_vgpr_workitem_id 1\n";
    let (gpu, loaded) = kernel::gpu(arch, body, settings);
    let buffer = gpu.memory.alloc(1 << 20, 256, Perm::RW).unwrap();
    let launch = Launch {
        grid,
        group,
        kernarg: buffer.to_le_bytes().to_vec(),
        max_instructions: Some(50_000_000),
        threads,
        ..Launch::default()
    };
    let result = gpu.dispatch(&loaded, "k", &launch);
    let words = (0..8192)
        .map(|n| gpu.memory.load_u32(buffer + 4 * n).unwrap())
        .collect();
    (result, words)
}

/// `run` in one dimension, which must succeed.
fn line(arch: &str, body: &str, items: u32, group: u32, threads: usize) -> Vec<u32> {
    let (result, words) = run(arch, body, [items, 1, 1], [group, 1, 1], threads);
    result.unwrap_or_else(|e| panic!("{arch}, {threads} threads: {e}"));
    words
}

/// Stores v4 of lane 0 in the buffer's dword number s6.
const STORE: &str = "s_lshl_b32 s7, s6, 2\nv_add_u32 v6, vcc, s7, v2\nv_addc_u32 v7, vcc, 0, v3, vcc\n\
     s_mov_b64 exec, 1\nflat_store_dword v[6:7], v4";

/// The same with gfx9's mnemonics.
fn store(arch: &str) -> String {
    match arch {
        "gfx900" => STORE
            .replace("v_add_u32", "v_add_co_u32")
            .replace("v_addc_u32", "v_addc_co_u32"),
        "gfx701" => STORE.replace("v_add_u32", "v_add_i32"),
        _ => STORE.into(),
    }
}

const ARCHS: [&str; 3] = ["gfx701", "gfx803", "gfx900"];

#[test]
fn gds_is_one_for_all_and_its_atomics_are_atomic() {
    for arch in ARCHS {
        for threads in [1, 4] {
            // Every lane adds 3 to one dword and counts another up to 9, again and again; the last wave to finish stores both.
            let body = "s_mov_b32 m0, 0x01000100\nv_mov_b32 v8, 0\nv_mov_b32 v9, 3\nv_mov_b32 v10, 9\ns_movk_i32 s8, 20\n\
                 again:\nds_add_u32 v8, v9 offset:16 gds\nds_inc_u32 v8, v10 offset:20 gds\n\
                 s_sub_u32 s8, s8, 1\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 again\n\
                 s_mov_b64 exec, 1\nv_mov_b32 v9, 1\nds_add_rtn_u32 v4, v8, v9 offset:24 gds\ns_waitcnt lgkmcnt(0)\n\
                 v_readfirstlane_b32 s6, v4\ns_cmp_lg_u32 s6, 74\ns_cbranch_scc1 done\n\
                 ds_read_b64 v[4:5], v8 offset:16 gds\ns_waitcnt lgkmcnt(0)\nflat_store_dwordx2 v[2:3], v[4:5]\ndone:";
            let words = line(arch, body, 25 * 192, 192, threads);
            let all = 25 * 192 * 20;
            assert_eq!(words[..2], [3 * all, all % 10], "{arch}, {threads}");
        }
    }
}

#[test]
fn append_gives_every_wave_a_place_of_its_own() {
    for arch in ARCHS {
        for threads in [1, 4] {
            // Wave n of 40 appends n % 7 + 1 items and stores n + 1 at the first one's index.
            let body = format!(
                "s_mov_b32 m0, 0x00400100\ns_mov_b32 s6, s2\nmod:\ns_cmp_lt_u32 s6, 7\ns_cbranch_scc1 small\n\
                 s_sub_u32 s6, s6, 7\ns_branch mod\nsmall:\ns_add_u32 s6, s6, 1\ns_lshl_b32 s8, 1, s6\ns_sub_u32 s8, s8, 1\n\
                 s_mov_b32 s9, 0\ns_mov_b64 exec, s[8:9]\nds_append v4 offset:4 gds\ns_waitcnt lgkmcnt(0)\n\
                 v_readfirstlane_b32 s6, v4\ns_add_u32 s8, s2, 1\nv_mov_b32 v4, s8\n{}",
                store(arch)
            );
            let words = line(arch, &body, 40 * 64, 64, threads);
            let (mut at, mut seen) = (0, Vec::new());
            while seen.len() < 40 {
                let wave = words[at] - 1;
                seen.push(wave);
                at += wave as usize % 7 + 1;
            }
            seen.sort_unstable();
            let all: Vec<u32> = (0..40).collect();
            assert_eq!(seen, all, "{arch}, {threads}");
        }
    }
}

#[test]
fn consume_takes_what_was_appended() {
    for threads in [1, 3] {
        let body = format!(
            "s_mov_b32 m0, 0x00400100\nds_append v4 gds\nds_consume v5 gds\nds_append v4 gds\ns_waitcnt lgkmcnt(0)\n\
             ds_append v4 offset:4 gds\ns_waitcnt lgkmcnt(0)\nv_readfirstlane_b32 s6, v4\ns_cmp_lg_u32 s6, {}\n\
             s_cbranch_scc1 done\ns_mov_b64 exec, 1\nv_mov_b32 v8, 0\nds_read_b32 v4, v8 gds\ns_waitcnt lgkmcnt(0)\n\
             global_store_dword v[2:3], v4, off\ndone:",
            63 * 64
        );
        assert_eq!(
            line("gfx900", &body, 64 * 64, 256, threads)[0],
            64 * 64,
            "{threads}"
        );
    }
}

/// A barrier of all waves by global wave sync, initialized by the first wave. In each of `rounds` rounds, each wave increments
/// one dword of memory and checks that all have done so.
fn gws(init: &str, rounds: u32, waves: u32) -> String {
    format!(
        "s_mov_b32 m0, 0x50000\nv_mov_b32 v9, {last}\n{init}\n\
         v_mov_b32 v4, 1\ns_mov_b32 s8, 0\nv_cmp_eq_u32 vcc, 0, v0\n\
         again:\ns_mov_b64 exec, 1\nglobal_atomic_add v[2:3], v4, off\ns_mov_b64 exec, -1\n\
         ds_gws_barrier v9 offset:1 gds\ns_waitcnt lgkmcnt(0)\ns_add_u32 s8, s8, {waves}\n\
         global_load_dword v5, v[2:3], off glc\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s6, v5\n\
         s_cmp_eq_u32 s6, s8\ns_cbranch_scc1 right\ns_trap 2\nright:\nds_gws_barrier v9 offset:1 gds\ns_waitcnt lgkmcnt(0)\n\
         s_cmp_lg_u32 s8, {all}\ns_cbranch_scc1 again",
        last = waves - 1,
        all = rounds * waves,
    )
}

/// The first workgroup sets the counter; it is the first to start, and the others wait for its signal.
const FIRST_SETS: &str = "s_cmp_lg_u32 s2, 0\ns_cbranch_scc1 wait\nds_gws_init v9 offset:1 gds\n\
     v_mov_b32 v8, 0x1000\nds_gws_sema_br v8 offset:2 gds\nwait:\nds_gws_sema_p offset:2 gds\ns_waitcnt lgkmcnt(0)";

#[test]
fn a_barrier_of_global_wave_sync() {
    for threads in [1, 2, 5] {
        for (groups, items) in [(2, 64), (40, 64), (300, 64)] {
            let waves = groups * items / 64;
            let words = line(
                "gfx900",
                &gws(FIRST_SETS, 5, waves),
                groups * items,
                items,
                threads,
            );
            assert_eq!(words[0], 5 * waves, "{groups} groups, {threads} threads");
        }
    }
}

#[test]
fn a_semaphore_of_global_wave_sync_is_a_lock() {
    for threads in [1, 4] {
        // The lock protects a load, a pause and a store of the value plus one.
        let body = "s_mov_b32 m0, 0\ns_cmp_lg_u32 s2, 0\ns_cbranch_scc1 go\nds_gws_sema_v gds\ngo:\n\
             ds_gws_sema_p gds\ns_mov_b64 exec, 1\nglobal_load_dword v4, v[2:3], off glc\ns_waitcnt vmcnt(0)\n\
             v_add_u32 v4, 1, v4\ns_sleep 1\nglobal_store_dword v[2:3], v4, off\ns_waitcnt vmcnt(0)\nds_gws_sema_v gds";
        assert_eq!(line("gfx900", body, 100 * 64, 64, threads)[0], 100);
    }
}

#[test]
fn release_all_lets_those_go_that_wait() {
    for threads in [1, 3] {
        // All workgroups but 0 wait. Workgroup 0 polls until they do (each has stored a flag), sleeps, and releases them.
        let body = "s_mov_b32 m0, 0x70000\ns_mov_b64 exec, 1\nv_mov_b32 v4, 1\ns_cmp_eq_u32 s2, 0\ns_cbranch_scc1 first\n\
             global_atomic_add v[2:3], v4, off\nds_gws_sema_p gds\nglobal_atomic_add v[2:3], v4, off offset:4\ns_endpgm\n\
             first:\ns_sleep 1\nglobal_load_dword v5, v[2:3], off glc\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s6, v5\n\
             s_cmp_lt_u32 s6, 9\ns_cbranch_scc1 first\nagain:\ns_sleep 1\nds_gws_sema_release_all gds\n\
             global_load_dword v5, v[2:3], off offset:4 glc\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s6, v5\n\
             s_cmp_lt_u32 s6, 9\ns_cbranch_scc1 again";
        let words = line("gfx900", body, 10 * 64, 64, threads);
        assert_eq!(words[..2], [9, 9], "{threads}");
    }
}

#[test]
fn a_wait_that_nobody_ends_is_told() {
    for threads in [1, 2] {
        let body = "s_mov_b32 m0, 0\nv_mov_b32 v9, 8\ns_cmp_eq_u32 s2, 3\ns_cbranch_scc1 out\n\
             ds_gws_barrier v9 gds\nds_gws_barrier v9 gds\nout:";
        let (result, _) = run("gfx900", body, [5 * 64, 1, 1], [64, 1, 1], threads);
        let error = result.unwrap_err();
        let RunError::Deadlock { waves, others } = &error else {
            panic!("{threads} threads: {error}")
        };
        assert_eq!((waves.len(), *others), (4, 0), "{error}");
        assert!(waves.iter().all(|w| w.waits == Waits::Others), "{error}");
        let text = error.to_string();
        assert!(text.contains("ds_gws_barrier v9 gds"), "{text}");
    }
}

/// Each wave adds its number of items to the counter in order, and stores the old value at its own number.
fn ordered(arch: &str, before: &str, offset: u32) -> String {
    format!(
        "s_mov_b32 m0, 0x00400000\n{before}\nv_mov_b32 v9, 5\nds_ordered_count v4, v9 offset:{offset} gds\n\
         s_waitcnt lgkmcnt(0)\n{}",
        store(arch)
    )
}

#[test]
fn ordered_counts_go_by_the_order_of_dispatch() {
    for arch in ARCHS {
        for threads in [1, 4] {
            for offset in [0x104, 0x304] {
                // Also waves of one workgroup, four in each; the wave's number is that of its first work-item divided by 64.
                let number = "v_readfirstlane_b32 s6, v0\ns_lshr_b32 s6, s6, 6\ns_lshl_b32 s8, s2, 2\ns_add_u32 s6, s6, s8";
                let words = line(arch, &ordered(arch, number, offset), 50 * 256, 256, threads);
                let all: Vec<u32> = (0..200).map(|n| 5 * n).collect();
                assert_eq!(words[..200], all, "{arch}, {threads}");
            }
        }
    }
}

#[test]
fn the_order_counts_the_waves_of_smaller_workgroups_too() {
    // 3 x 2 workgroups of 80 x 2 items, those at the edge of 10 x 2 and 80 x 1 and 10 x 1: 3, 3, 1 and 2, 2, 1 waves.
    let number = "s_mul_i32 s6, s3, 7\ns_cmp_eq_u32 s3, 0\ns_cselect_b32 s8, 3, 2\ns_mul_i32 s8, s8, s2\ns_add_u32 s6, s6, s8\n\
         v_mul_u32_u24 v5, 0x50, v1\nv_cmp_lt_u32 vcc, 1, v0\ns_cmp_eq_u32 s2, 2\ns_cselect_b32 s9, 10, 80\n\
         v_mul_u32_u24 v5, s9, v1\nv_add_u32 v5, v5, v0\nv_readfirstlane_b32 s9, v5\ns_lshr_b32 s9, s9, 6\ns_add_u32 s6, s6, s9";
    for threads in [1, 3] {
        let body = ordered("gfx900", number, 0x304);
        let (result, words) = run("gfx900", &body, [170, 3, 1], [80, 2, 1], threads);
        assert_eq!(result.unwrap().waves, 12);
        let all: Vec<u32> = (0..12).map(|n| 5 * n).collect();
        assert_eq!(words[..12], all, "{threads}");
    }
}

#[test]
fn waves_that_take_no_part_hold_up_nobody() {
    for threads in [1, 3] {
        // Every third workgroup has one ordered append, in its first wave; the others end without one. No turn is released.
        let body = "s_mov_b32 s6, s2\nmod:\ns_cmp_lt_u32 s6, 3\ns_cbranch_scc1 small\ns_sub_u32 s6, s6, 3\ns_branch mod\n\
             small:\ns_cmp_lg_u32 s6, 1\ns_cbranch_scc1 out\nv_readfirstlane_b32 s8, v0\ns_cmp_lg_u32 s8, 0\ns_cbranch_scc1 out\n\
             s_mov_b32 s6, s2";
        let body = format!("{}\nout:", ordered("gfx900", body, 0x4));
        let words = line("gfx900", &body, 60 * 128, 128, threads);
        for group in 0..60 {
            let expected = if group % 3 == 1 { 5 * (group / 3) } else { 0 };
            assert_eq!(words[group as usize], expected, "{threads}, {group}");
        }
    }
}

#[test]
fn each_turn_has_its_own_order() {
    for threads in [1, 4] {
        // The first append adds 1 in every wave, the second adds 2 to another counter; odd waves end after the first.
        let body = format!(
            "s_mov_b32 m0, 0x00400000\nv_mov_b32 v9, 1\ns_and_b32 s8, s2, 1\ns_cmp_eq_u32 s8, 0\ns_cbranch_scc1 even\n\
             ds_ordered_count v4, v9 offset:0x300 gds\ns_branch store\neven:\n\
             ds_ordered_count v4, v9 offset:0x100 gds\nv_mov_b32 v9, 2\nds_ordered_count v5, v9 offset:0x304 gds\n\
             s_waitcnt lgkmcnt(0)\nv_lshlrev_b32 v5, 16, v5\nv_or_b32 v4, v4, v5\nstore:\ns_mov_b32 s6, s2\n{}",
            store("gfx900")
        );
        let words = line("gfx900", &body, 50 * 64, 64, threads);
        for wave in 0..50u32 {
            let second = if wave % 2 == 0 { wave } else { 0 };
            assert_eq!(
                words[wave as usize],
                wave | second << 16,
                "{threads}, {wave}"
            );
        }
    }
}

#[test]
fn a_turn_that_is_never_given_up_is_told() {
    // The first wave keeps its turn and waits for a signal that never comes.
    let body =
        "s_mov_b32 m0, 0x00400000\nv_mov_b32 v9, 1\nds_ordered_count v4, v9 gds\nds_gws_sema_p gds";
    let (result, _) = run("gfx900", body, [3 * 64, 1, 1], [64, 1, 1], 2);
    let error = result.unwrap_err();
    assert!(matches!(error, RunError::Deadlock { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("ds_ordered_count v4, v9 gds"), "{text}");
}

/// In a store of several dwords, all lanes write their first dword before any lane writes its second. Here each row of 16 lanes writes
/// 256 bytes that start 4 bytes after those of the row before.
#[test]
fn lanes_that_write_over_each_other() {
    let data = "v_lshlrev_b32 v4, 6, v1\nv_add_u32 v4, v4, v0\nv_or_b32 v5, 0x1000, v4\n\
         v_or_b32 v6, 0x2000, v4\nv_or_b32 v7, 0x3000, v4\nv_lshlrev_b32 v8, 4, v0\nv_lshl_add_u32 v8, v1, 2, v8\n";
    let stores = [
        ("global_store_dwordx4 v8, v[4:7], s[0:1]\n", 67),
        // Through LDS: each lane then returns the dword at its address.
        (
            "s_mov_b32 m0, -1\nds_write_b128 v8, v[4:7]\nds_read_b128 v[4:7], v8\ns_waitcnt lgkmcnt(0)\n\
             global_store_dword v8, v4, s[0:1]\n",
            64,
        ),
    ];
    for (store, dwords) in stores {
        let body = format!("{data}{store}");
        let (result, words) = run("gfx900", &body, [16, 4, 1], [16, 4, 1], 1);
        result.unwrap();
        let mut want = vec![0; 67];
        for part in 0..4 {
            for lane in 0..64 {
                let (x, y) = (lane % 16, lane / 16);
                want[4 * x + y + part] = (part << 12 | y << 6 | x) as u32;
            }
        }
        assert_eq!(words[..dwords], want[..dwords], "{store}");
    }
}
