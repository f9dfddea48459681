//! Workgroups that wait for each other: grid barriers, locks and look-back scans make progress with any number of
//! threads, and deadlocks are reported.

#[path = "common/kernel.rs"]
mod kernel;

/// The engine of the kernels; the compiling engine's tests include this file with an engine of their own.
#[allow(dead_code)]
fn machine(target: gcn_isa::Target) -> gcn_emu::dispatch::Gpu {
    gcn_emu::dispatch::Gpu::new(target, 64 << 20).unwrap()
}

use gcn_emu::dispatch::observers::{Control, Observers, Progress};
use gcn_emu::dispatch::{Gpu, Launch, Loaded, RunError, Stats, Waits};
use gcn_emu::mem::Perm;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A GPU with a kernel `k` of these instructions, after v9 = 0.
fn gpu(body: &str) -> (Gpu, Loaded) {
    kernel::gpu("gfx900", &format!("v_mov_b32 v9, 0\n{body}"), "")
}

/// Runs `groups` workgroups of `items` work-items on a buffer of zeros, and returns its first dwords.
fn run(
    body: &str,
    groups: u32,
    items: u32,
    threads: usize,
    change: impl FnOnce(&mut Launch),
) -> (Result<Stats, RunError>, Vec<u32>) {
    let (gpu, loaded) = gpu(body);
    let buffer = gpu.memory.alloc(1 << 20, 256, Perm::RW).unwrap();
    let mut launch = Launch {
        grid: [groups * items, 1, 1],
        group: [items, 1, 1],
        kernarg: buffer.to_le_bytes().to_vec(),
        max_instructions: Some(200_000_000),
        threads,
        ..Launch::default()
    };
    change(&mut launch);
    let result = gpu.dispatch(&loaded, "k", &launch);
    let words = (0..8192)
        .map(|n| gpu.memory.load_u32(buffer + 4 * n).unwrap())
        .collect();
    (result, words)
}

/// One lane of each wave increments dword 0, then all wait until it is `count`; lane 0 then stores 1 at dword 16 + its
/// workgroup's number. `pause` is in the loop.
fn grid_barrier(count: u32, pause: &str) -> String {
    format!(
        "v_cmp_eq_u32 vcc, 0, v0\ns_and_saveexec_b64 s[4:5], vcc\ns_cbranch_execz done\n\
         v_mov_b32 v4, 1\nglobal_atomic_add v[2:3], v4, off\n\
         again:\n{pause}\nglobal_load_dword v5, v[2:3], off glc\ns_waitcnt vmcnt(0)\n\
         v_readfirstlane_b32 s6, v5\ns_cmp_lt_u32 s6, {count}\ns_cbranch_scc1 again\n\
         s_lshl_b32 s7, s2, 2\nv_add_co_u32 v6, vcc, s7, v2\nv_addc_co_u32 v7, vcc, 0, v3, vcc\n\
         global_store_dword v[6:7], v4, off offset:64\ndone:\ns_barrier"
    )
}

#[test]
fn a_barrier_of_the_whole_grid() {
    for pause in ["", "s_sleep 2", "s_nop 3"] {
        for threads in [1, 2, 5] {
            for (groups, items) in [(3, 64), (300, 64), (100, 256), (20, 1024)] {
                let (result, words) =
                    run(&grid_barrier(groups, pause), groups, items, threads, |_| {});
                let told = format!("{groups} groups, {threads} threads, {pause}");
                let stats = result.unwrap_or_else(|e| panic!("{told}: {e}"));
                assert_eq!(stats.waves, (groups * items / 64) as u64, "{told}");
                assert_eq!(words[0], groups, "{told}");
                assert!(words[16..16 + groups as usize].iter().all(|&w| w == 1));
            }
        }
    }
}

/// As many waves as the chip holds can meet at a barrier; one more never starts, which is reported.
#[test]
fn a_barrier_of_as_many_waves_as_there_is_room_for() {
    // Compiled waves spin fast, and another thread may have to begin hundreds of them meanwhile.
    let longer = |l: &mut Launch| l.max_instructions = Some(4_000_000_000);
    let (result, words) = run(&grid_barrier(2560, ""), 2560, 64, 2, longer);
    result.unwrap();
    assert_eq!(words[0], 2560);
    let (result, _) = run(&grid_barrier(2561, ""), 2561, 64, 3, longer);
    let error = result.unwrap_err();
    let RunError::Livelock { waves, others } = &error else {
        panic!("{error}")
    };
    assert_eq!(waves.len() + others, 2560);
    assert_eq!(
        (waves[0].location.workgroup, waves[0].location.wave),
        ([0; 3], 0)
    );
    let Waits::Loop(Some((_, text))) = &waves[0].waits else {
        panic!("{error}")
    };
    assert!(text.starts_with("global_load_dword v5"), "{text}");
}

/// A loop that counts is not taken for a wait, and other waves get their time slices.
#[test]
fn waiting_with_a_counter() {
    for threads in [1, 2] {
        let (result, words) = run(
            &grid_barrier(12, "s_add_u32 s20, s20, 1"),
            12,
            64,
            threads,
            |_| {},
        );
        result.unwrap();
        assert_eq!(words[0], 12);
    }
}

/// A lock (dword 0) around an increment without atomics (dword 1): compare and swap until it was free.
const LOCKED: &str = "v_cmp_eq_u32 vcc, 0, v0\ns_and_saveexec_b64 s[4:5], vcc\ns_cbranch_execz done\n\
    s_movk_i32 s10, 20\n\
    lock:\nv_mov_b32 v4, 1\nv_mov_b32 v5, 0\nglobal_atomic_cmpswap v6, v[2:3], v[4:5], off glc\ns_waitcnt vmcnt(0)\n\
    v_cmp_eq_u32 vcc, 0, v6\ns_cbranch_vccz lock\n\
    global_load_dword v7, v[2:3], off offset:4 glc\ns_waitcnt vmcnt(0)\nv_add_u32 v7, 1, v7\ns_sleep 1\n\
    global_store_dword v[2:3], v7, off offset:4\nglobal_store_dword v[2:3], v9, off\n\
    s_sub_u32 s10, s10, 1\ns_cmp_lg_u32 s10, 0\ns_cbranch_scc1 lock\ndone:";

#[test]
fn locks_between_workgroups() {
    for threads in [1, 2, 4] {
        let (result, words) = run(LOCKED, 40, 128, threads, |_| {});
        result.unwrap();
        assert_eq!(words[..2], [0, 800], "{threads} threads");
    }
}

/// Each workgroup waits for the one before it and adds its number to that sum, as in look-back scans.
const LOOK_BACK: &str = "v_cmp_eq_u32 vcc, 0, v0\ns_and_saveexec_b64 s[4:5], vcc\ns_cbranch_execz done\n\
    s_lshl_b32 s7, s2, 3\nv_add_co_u32 v2, vcc, s7, v2\nv_addc_co_u32 v3, vcc, 0, v3, vcc\n\
    v_mov_b32 v5, 0\ns_cmp_eq_u32 s2, 0\ns_cbranch_scc1 sum\n\
    wait:\nglobal_load_dword v4, v[2:3], off offset:-4 glc\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s8, v4\n\
    s_cmp_eq_u32 s8, 0\ns_cbranch_scc1 wait\nglobal_load_dword v5, v[2:3], off offset:-8 glc\ns_waitcnt vmcnt(0)\n\
    sum:\nv_add_u32 v5, s2, v5\nglobal_store_dword v[2:3], v5, off\nv_mov_b32 v6, 1\n\
    global_store_dword v[2:3], v6, off offset:4\ndone:";

#[test]
fn scans_that_look_back() {
    for threads in [1, 2, 4] {
        let (result, words) = run(LOOK_BACK, 3000, 64, threads, |_| {});
        result.unwrap();
        for n in 0..3000 {
            assert_eq!(words[2 * n] as usize, n * (n + 1) / 2);
        }
    }
}

#[test]
fn what_waits_for_ever_is_told() {
    // No wave sets dword 0; waves of the second workgroup sleep, those of the first wait for them at a barrier or poll.
    let body = "s_cmp_eq_u32 s2, 0\ns_cbranch_scc0 asleep\nv_readfirstlane_b32 s10, v0\n\
        s_cmp_eq_u32 s10, 0\ns_cbranch_scc1 look\ns_barrier\ns_endpgm\n\
        look:\ns_load_dword s6, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_cmp_eq_u32 s6, 0\ns_cbranch_scc1 look\ns_barrier\ns_endpgm\n\
        asleep:\nglobal_load_dword v5, v[2:3], off glc\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s6, v5\ns_sleep 4\n\
        s_cmp_eq_u32 s6, 0\ns_cbranch_scc1 asleep";
    for threads in [1, 2] {
        let (result, _) = run(body, 2, 128, threads, |l| l.max_instructions = None);
        let error = result.unwrap_err();
        let RunError::Livelock { waves, others: 0 } = &error else {
            panic!("{error}")
        };
        let told: Vec<_> = (waves.iter())
            .map(|w| (w.location.workgroup[0], w.location.wave))
            .collect();
        assert_eq!(told, [(0, 0), (0, 1), (1, 0), (1, 1)]);
        assert_eq!(waves[1].waits, Waits::Barrier(vec![0]));
        let text = error.to_string();
        for part in [
            "looking at s_load_dword s6",
            "waits at s_barrier",
            "looking at global_load_dword v5",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
    // A loop that is longer than what is recognised early.
    let long = format!("again:\n{}s_branch again", "s_mov_b32 s9, 1\n".repeat(100));
    // An empty loop; a lock that is never freed; a lock in LDS.
    for body in [
        &long,
        "again:\ns_branch again",
        "again:\nv_mov_b32 v4, 1\nv_mov_b32 v5, 0\nglobal_atomic_cmpswap v6, v[2:3], v[4:5], off glc\ns_waitcnt vmcnt(0)\n\
         v_cmp_eq_u32 vcc, 7, v6\ns_cbranch_vccz again",
        "s_mov_b64 exec, 1\nv_mov_b32 v4, 1\nv_mov_b32 v5, 0\n\
         again:\nds_cmpst_rtn_b32 v6, v5, v5, v4\ns_waitcnt lgkmcnt(0)\nv_cmp_eq_u32 vcc, 7, v6\ns_cbranch_vccz again",
    ] {
        let (result, _) = run(body, 3, 64, 2, |l| l.max_instructions = None);
        let error = result.unwrap_err();
        assert!(matches!(error, RunError::Livelock { .. }), "{error}");
    }
}

/// A loop that reads the time and ends is not taken for an endless one.
#[test]
fn waiting_for_the_time_ends() {
    let body = "s_memtime s[4:5]\ns_waitcnt lgkmcnt(0)\ns_add_u32 s6, s4, 0x40000\n\
        again:\ns_memtime s[8:9]\ns_waitcnt lgkmcnt(0)\ns_cmp_lt_u32 s8, s6\ns_mov_b32 s8, 0\ns_cbranch_scc1 again";
    let (result, _) = run(body, 3, 64, 1, |l| l.max_instructions = None);
    result.unwrap();
}

/// A fault ends the dispatch, although other workgroups wait for this one.
#[test]
fn a_fault_is_told_before_those_who_wait() {
    let body = format!(
        "s_cmp_eq_u32 s2, 9\ns_cbranch_scc0 fine\ns_trap 2\nfine:\n{}",
        grid_barrier(12, "s_add_u32 s20, s20, 1")
    );
    for threads in [1, 2] {
        let (result, _) = run(&body, 12, 64, threads, |_| {});
        let error = result.unwrap_err();
        let RunError::Trap { location, id: 2 } = &error else {
            panic!("{error}")
        };
        assert_eq!(location.workgroup, [9, 0, 0]);
    }
}

/// Each wave appends its number; the order is that of the schedule.
#[test]
fn one_defined_order() {
    let body = "s_mov_b64 exec, 1\nv_mov_b32 v4, 4\nglobal_atomic_add v5, v[2:3], v4, off glc\ns_waitcnt vmcnt(0)\n\
         v_add_co_u32 v6, vcc, v2, v5\nv_addc_co_u32 v7, vcc, 0, v3, vcc\nv_mov_b32 v8, s2\n\
         global_store_dword v[6:7], v8, off offset:4\n\
         s_and_b32 s11, s2, 7\ns_lshl_b32 s11, s11, 10\n\
         work:\ns_sub_u32 s11, s11, 1\ns_cbranch_scc0 work";
    let first = run(body, 500, 64, 4, |l| l.deterministic = true).1;
    let again = run(body, 500, 64, 3, |l| l.deterministic = true).1;
    assert!(first == again);
}

#[test]
fn progress_is_counted() {
    let progress = Arc::new(Progress::default());
    let observers = Observers {
        progress: Some(progress.clone()),
        ..Observers::default()
    };
    let stats = run("s_nop 0", 50, 64, 2, |l| l.observers = observers)
        .0
        .unwrap();
    assert_eq!(progress.workgroups.load(Relaxed), 50);
    assert_eq!(progress.ended.load(Relaxed), 50);
    assert_eq!(progress.instructions.load(Relaxed), stats.instructions);
}

/// Several threads of the host dispatch concurrently.
#[test]
fn dispatches_side_by_side() {
    let (gpu, loaded) = gpu(&grid_barrier(20, ""));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let buffer = gpu.memory.alloc(4096, 256, Perm::RW).unwrap();
                    let launch = Launch {
                        grid: [20 * 64, 1, 1],
                        group: [64, 1, 1],
                        kernarg: buffer.to_le_bytes().to_vec(),
                        threads: 2,
                        ..Launch::default()
                    };
                    let stats = gpu.dispatch(&loaded, "k", &launch).unwrap();
                    assert_eq!(stats.waves, 20);
                    assert_eq!(gpu.memory.load_u32(buffer), Ok(20));
                    gpu.memory.free(buffer).unwrap();
                }
            });
        }
    });
}

#[test]
fn a_run_says_where_it_is_and_is_ended() {
    for threads in [1, 3] {
        let control = Arc::new(Control::default());
        let stopper = {
            let control = control.clone();
            std::thread::spawn(move || {
                let found = loop {
                    control.ask();
                    std::thread::sleep(std::time::Duration::from_millis(5));
                    if let Some(found) = control.answer() {
                        break found;
                    }
                };
                control.stop();
                found
            })
        };
        let body = "v_mov_b32 v4, 1\nagain:\nglobal_atomic_add v[2:3], v4, off\ns_branch again";
        let (result, _) = run(body, 5, 128, threads, |launch| {
            launch.max_instructions = None;
            launch.observers.control = Some(control.clone());
        });
        let found = stopper.join().expect("it stops");
        let Err(RunError::Interrupted { waves, others, .. }) = &result else {
            panic!("{result:?}");
        };
        assert!(!found.waves.is_empty() && !waves.is_empty(), "{result:?}");
        assert!(waves.len() + others <= 10, "{result:?}");
        for wave in found.waves.iter().chain(waves) {
            let told = wave.to_string();
            assert!(
                told.contains("k+0x") && told.contains("workgroup ("),
                "{told}"
            );
        }
        let text = result.expect_err("it was ended").to_string();
        assert!(
            text.starts_with("interrupted: kernel k had not ended\n  workgroup (0, 0, 0), wave 0 "),
            "{text}"
        );
        // No workgroup begins from now on.
        let (result, words) = run(body, 5, 128, threads, |launch| {
            launch.observers.control = Some(control.clone());
        });
        assert!(
            matches!(result, Err(RunError::Interrupted { .. })),
            "{result:?}"
        );
        assert_eq!(words[0], 0);
    }
}
