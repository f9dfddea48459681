//! Runs `gcn-emu`'s tests of the scheduler with the compiling engine.
#![cfg(target_arch = "x86_64")]
// Both files include the functions that make kernels.
#![allow(clippy::duplicate_mod)]

#[path = "../../gcn-emu/tests/global.rs"]
mod global;
#[path = "../../gcn-emu/tests/schedule.rs"]
mod schedule;

use gcn_emu::dispatch::Gpu;
use gcn_isa::Target;

fn machine(target: Target) -> Gpu {
    let cache = gcn_jit::Cache::default();
    match gcn_jit::available() {
        true => Gpu::with_engine(target, 64 << 20, move || Box::new(cache.engine())).unwrap(),
        false => Gpu::new(target, 64 << 20).unwrap(),
    }
}

/// Waves of a workgroup meet at barriers many times, some end before others, one yields, and each reads
/// from LDS what the others stored; a wave's registers have their initial values, whatever ran before it.
#[test]
fn barriers_and_waves_that_end() {
    let body = "v_mov_b32 v9, 0\n\
         v_lshrrev_b32 v10, 6, v0\nv_readfirstlane_b32 s4, v10\n\
         s_mov_b32 s5, 0\nv_mov_b32 v11, 0\ns_mov_b32 m0, -1\nv_lshlrev_b32 v12, 2, v10\n\
         again:\n\
         v_add_u32 v13, s5, v10\nds_write_b32 v12, v13\ns_waitcnt lgkmcnt(0)\n\
         s_cmp_eq_u32 s4, 2\ns_cbranch_scc0 on\ns_sleep 1\non:\n\
         s_barrier\n\
         v_mov_b32 v14, 0\nds_read_b32 v15, v14\ns_waitcnt lgkmcnt(0)\nv_add_u32 v11, v11, v15\n\
         s_barrier\n\
         s_add_u32 s5, s5, 1\ns_add_u32 s6, s4, 4\ns_cmp_lt_u32 s5, 20\ns_cselect_b32 s7, 1, 0\n\
         s_cmp_lg_u32 s4, 0\ns_cselect_b32 s8, s6, 20\ns_cmp_lt_u32 s5, s8\ns_cbranch_scc1 again\n\
         s_lshl_b32 s9, s2, 3\ns_add_u32 s9, s9, s4\ns_lshl_b32 s9, s9, 2\n\
         v_add_co_u32 v6, vcc, s9, v2\nv_addc_co_u32 v7, vcc, 0, v3, vcc\nv_add_u32 v11, v11, v8\n\
         global_store_dword v[6:7], v11, off";
    let (gpu, loaded) = global::kernel::gpu("gfx900", body, "");
    let buffer = gpu
        .memory
        .alloc(1 << 20, 256, gcn_emu::mem::Perm::RW)
        .unwrap();
    for threads in [1, 2, 3] {
        for most in [None, Some(10_000_000)] {
            gpu.memory.write(buffer, &vec![0; 1 << 16]).unwrap();
            let launch = gcn_emu::dispatch::Launch {
                grid: [300 * 512, 1, 1],
                group: [512, 1, 1],
                kernarg: buffer.to_le_bytes().to_vec(),
                max_instructions: most,
                threads,
                ..Default::default()
            };
            let stats = gpu.dispatch(&loaded, "k", &launch).unwrap();
            assert_eq!(stats.waves, 2400);
            for group in 0..300 {
                for wave in 0..8 {
                    let got = gpu
                        .memory
                        .load_u32(buffer + 4 * (8 * group + wave))
                        .unwrap();
                    // Wave 0 has 20 rounds, wave n has n + 4, and adds up what wave 0 wrote: the round.
                    let rounds = if wave == 0 { 20 } else { wave as u32 + 4 };
                    assert_eq!(got, rounds * (rounds - 1) / 2, "group {group}, wave {wave}");
                }
            }
        }
    }
}

/// The scheduler observes waves that run for long on the interpreter, to find those that wait. If the first ones do useful work, most others
/// end without having been observed.
#[test]
fn waves_that_work_stay_in_compiled_code() {
    if !gcn_jit::available() {
        return;
    }
    let body = "s_mov_b32 s4, 30000\nv_mov_b32 v9, 0\nagain:\n\
         v_add_u32 v9, v0, v9\ns_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 again\n\
         v_lshlrev_b32 v10, 2, v0\ns_lshl_b32 s9, s2, 8\nv_add_u32 v10, s9, v10\n\
         v_add_co_u32 v6, vcc, v10, v2\nv_addc_co_u32 v7, vcc, 0, v3, vcc\n\
         global_store_dword v[6:7], v9, off";
    let cache = gcn_jit::Cache::default();
    let engines = cache.clone();
    let target = Target::parse("gfx900").unwrap();
    let gpu = Gpu::with_engine(target, 64 << 20, move || Box::new(engines.engine())).unwrap();
    let object = global::kernel::object("gfx900", body, "");
    let loaded = gpu.load(&object).unwrap();
    let buffer = gpu
        .memory
        .alloc(1 << 20, 256, gcn_emu::mem::Perm::RW)
        .unwrap();
    let launch = gcn_emu::dispatch::Launch {
        grid: [64 * 64, 1, 1],
        group: [64, 1, 1],
        kernarg: buffer.to_le_bytes().to_vec(),
        threads: 1,
        ..Default::default()
    };
    let stats = gpu.dispatch(&loaded, "k", &launch).unwrap();
    assert!(stats.instructions > 64 * 120_000);
    // Twice four iterations of four instructions of each wave that is observed, and a few before the code is there.
    let interpreted = cache.stats().interpreted;
    assert!(interpreted < 10 * 64, "{interpreted} were interpreted");
    for lane in [0, 63] {
        let got = gpu.memory.load_u32(buffer + 4 * lane).unwrap();
        assert_eq!(got, 30000 * lane as u32);
    }
}
