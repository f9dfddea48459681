//! The ends of workgroups, regular and by errors, with code put in place of a kernel's.

use gcn_emu::dispatch::{Gpu, Launch, Loaded, RunError, Stats, Waits};
use gcn_emu::mem::Perm;
use gcn_isa::Target;
use gcn_object::CodeObject;

const READ_ITEM: u32 = 0x7e28_0500; // v_readfirstlane_b32 s20, v0
const IS_FIRST: u32 = 0xbf06_8014; // s_cmp_eq_u32 s20, 0
const BARRIER: u32 = 0xbf8a_0000;
const ENDPGM: u32 = 0xbf81_0000;
const HALT: u32 = 0xbf8d_0001;

/// `s_cbranch_scc0` over `n` dwords.
const fn unless(n: u32) -> u32 {
    0xbf84_0000 | n
}

/// vadd of gfx900 with other code.
fn gpu(code: &[u32]) -> (Gpu, Loaded) {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/kernels/vadd-gfx900.co"
    );
    let object = CodeObject::parse(&std::fs::read(path).unwrap()).unwrap();
    let gpu = Gpu::new(Target::parse("gfx900").unwrap(), 16 << 20).unwrap();
    let loaded = gpu.load(&object).unwrap();
    let entry = loaded.base + loaded.kernel("vadd").unwrap().entry;
    gpu.memory
        .protect(entry, 4 * code.len() as u64, Perm::RWX)
        .unwrap();
    for (i, word) in code.iter().enumerate() {
        gpu.memory.store_u32(entry + 4 * i as u64, *word).unwrap();
    }
    (gpu, loaded)
}

fn launch(groups: u32, threads: usize) -> Launch {
    Launch {
        grid: [128 * groups, 1, 1],
        group: [128, 1, 1],
        kernarg: Vec::new(),
        dynamic_lds: 0,
        max_instructions: Some(10_000),
        threads,
        ..Launch::default()
    }
}

fn run(code: &[u32]) -> Result<Stats, RunError> {
    let (gpu, loaded) = gpu(code);
    gpu.dispatch(&loaded, "vadd", &launch(3, 2))
}

#[test]
fn code_that_reads_trapsts_has_exceptions() {
    let code = [
        0x7e02_0280, // v_mov_b32 v1, 0
        0x7e02_4501, // v_rcp_f32 v1, v1
        0xb882_3003, // s_getreg_b32 s2, hwreg(HW_REG_TRAPSTS, 0, 7)
        0xbf06_8402, // s_cmp_eq_u32 s2, 4: division by zero
        unless(1),
        ENDPGM,
        0xbf92_0002, // s_trap 2
    ];
    let (gpu, loaded) = gpu(&[ENDPGM]);
    let entry = loaded.base + loaded.kernel("vadd").unwrap().entry;
    // Facts about the code before the change are discarded.
    let protect = |perm| gpu.memory.protect(entry, 4096, perm).unwrap();
    protect(Perm::RX);
    gpu.dispatch(&loaded, "vadd", &launch(1, 1)).unwrap();
    protect(Perm::RWX);
    for (i, word) in code.iter().enumerate() {
        gpu.memory.store_u32(entry + 4 * i as u64, *word).unwrap();
    }
    gpu.dispatch(&loaded, "vadd", &launch(1, 1)).unwrap();
    protect(Perm::RX);
    gpu.dispatch(&loaded, "vadd", &launch(1, 2)).unwrap();
}

#[test]
fn an_ended_wave_leaves_the_barrier() {
    let stats = run(&[READ_ITEM, IS_FIRST, unless(1), BARRIER, ENDPGM]).unwrap();
    assert_eq!(
        stats,
        Stats {
            instructions: 3 * (5 + 4),
            waves: 6
        }
    );
}

#[test]
fn a_halted_wave_holds_up_the_barrier() {
    let error = run(&[
        READ_ITEM,
        IS_FIRST,
        unless(2),
        BARRIER,
        ENDPGM,
        HALT,
        ENDPGM,
    ])
    .unwrap_err();
    let RunError::Deadlock { waves, others: 0 } = &error else {
        panic!("{error}")
    };
    let told: Vec<_> = waves
        .iter()
        .map(|w| (w.location.workgroup, w.location.wave, &w.waits))
        .collect();
    let expected = [
        ([0; 3], 0, &Waits::Barrier(vec![1])),
        ([0; 3], 1, &Waits::Halted),
    ];
    assert_eq!(told, expected);
    let text = error.to_string();
    assert!(
        text.contains("wave 0 waits at s_barrier, pc 0x")
            && text.contains("(vadd+0xc), for wave 1"),
        "{text}"
    );
}

#[test]
fn halts_traps_and_limits() {
    let error = run(&[HALT, ENDPGM]).unwrap_err();
    let RunError::Halted { location } = &error else {
        panic!("{error}")
    };
    assert_eq!((location.wave, location.offset), (0, 4));
    let error = run(&[0x8000_8080, 0xbf92_0002]).unwrap_err();
    let RunError::Trap { location, id: 2 } = &error else {
        panic!("{error}")
    };
    assert_eq!(location.offset, 4);
    assert!(error.to_string().contains("vadd+0x4"), "{error}");
    // s_add_u32 s0, s0, 1; s_branch -2
    let error = run(&[0x8000_8100, 0xbf82_fffe]).unwrap_err();
    let RunError::Limit {
        instructions: 10_000,
        waves,
        ..
    } = &error
    else {
        panic!("{error}")
    };
    assert!(!waves.is_empty());
}

/// s_trap 3 is a debugger's breakpoint: it has no effect unless it is requested. Other traps end the dispatch.
#[test]
fn a_debugger_s_trap() {
    let code = [0xbf92_0003, ENDPGM];
    let stats = run(&code).unwrap();
    assert_eq!((stats.instructions, stats.waves), (12, 6));
    let (gpu, loaded) = gpu(&code);
    let launch = Launch {
        debug_traps: true,
        ..launch(1, 1)
    };
    let error = gpu.dispatch(&loaded, "vadd", &launch).unwrap_err();
    assert!(matches!(error, RunError::Trap { id: 3, .. }), "{error}");
    let error = run(&[0xbf92_0007]).unwrap_err();
    assert!(matches!(error, RunError::Trap { id: 7, .. }), "{error}");
}

/// Workgroup 5 and those after it fault; the lowest is reported, with any number of threads.
#[test]
fn the_lowest_workgroup_s_error_is_reported() {
    // The workgroup's number is in s8: s_cmp_lt_u32 s8, 5; s_cbranch_scc0 1; s_endpgm; an unknown word.
    let (gpu, loaded) = gpu(&[0xbf0a_8508, unless(1), ENDPGM, 0xffff_ffff]);
    let kernel = loaded.kernel("vadd").unwrap();
    assert_eq!(kernel.descriptor.user_sgpr_count(), 8);
    for threads in [1, 2, 4] {
        for _ in 0..20 {
            let error = gpu
                .dispatch(&loaded, "vadd", &launch(40, threads))
                .unwrap_err();
            let RunError::Fault { location, report } = &error else {
                panic!("{error}")
            };
            assert_eq!(
                (location.workgroup, location.offset),
                ([5, 0, 0], 12),
                "{threads} threads"
            );
            assert_eq!(report.text, "0xffffffff");
        }
    }
    assert!(gpu.dispatch(&loaded, "vadd", &launch(5, 4)).is_ok());
}

/// No memory that a dispatch maps stays mapped.
#[test]
fn dispatches_leave_no_memory_behind() {
    let (gpu, loaded) = gpu(&[ENDPGM]);
    let free = gpu.memory.free_bytes();
    for _ in 0..3 {
        gpu.dispatch(&loaded, "vadd", &launch(2, 2)).unwrap();
    }
    assert_eq!(gpu.memory.free_bytes(), free);
    gpu.unload(&loaded).unwrap();
    assert!(gpu.memory.free_bytes() > free);
}

#[test]
fn impossible_launches() {
    let (gpu, loaded) = gpu(&[ENDPGM]);
    for (grid, group, lds, part) in [
        ([0, 1, 1], [1, 1, 1], 0, "may be 0"),
        ([1, 1, 1], [1, 0, 1], 0, "may be 0"),
        ([1, 1, 1], [16, 16, 16], 0, "4096 work-items"),
        ([!0, !0, !0], [1, 1, 1], 0, "too many workgroups"),
        ([1, 1, 1], [1, 1, 1], 1 << 20, "LDS"),
    ] {
        let launch = Launch {
            grid,
            group,
            dynamic_lds: lds,
            ..launch(1, 1)
        };
        let error = gpu.dispatch(&loaded, "vadd", &launch).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn code_for_another_target_is_refused() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/kernels/vadd-gfx900.co"
    );
    let object = CodeObject::parse(&std::fs::read(path).unwrap()).unwrap();
    let gpu = Gpu::new(Target::parse("gfx803").unwrap(), 16 << 20).unwrap();
    let error = gpu.load(&object).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the code object is for gfx900, the GPU is a gfx803"
    );
}
