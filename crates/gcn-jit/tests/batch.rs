//! Batches of workgroups whose waves start one after the other in compiled code: the initial state of each, and waves that
//! fault, trap, wait, are interpreted, run for long or reach the limit. The interpreter gives the expected results.
#![cfg(target_arch = "x86_64")]

mod kernel;

use gcn_emu::dispatch::{Gpu, Launch, Loaded, RunError, Stats};
use gcn_emu::interp::Interp;
use gcn_emu::mem::Perm;
use gcn_isa::Target;
use gcn_jit::{Cache, Level};
use gcn_object::CodeObject;
use kernel::{Rng, setting};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const BYTES: usize = 1 << 20;

/// A grid and its workgroups.
#[derive(Clone, Copy, Debug)]
struct Shape {
    grid: [u32; 3],
    group: [u32; 3],
}

impl Shape {
    /// Returns the number of workgroups in each dimension.
    fn groups(self) -> [u32; 3] {
        std::array::from_fn(|d| self.grid[d].div_ceil(self.group[d]))
    }

    /// The number of workgroups before this one.
    fn bytes_before(self, [x, y, z]: [u32; 3]) -> usize {
        let [across, down, _] = self.groups();
        let number = (z * down + y) * across + x;
        32 * (number * self.group.iter().product::<u32>()) as usize
    }
}

const SHAPES: [Shape; 9] = [
    Shape {
        grid: [64 * 150, 1, 1],
        group: [64, 1, 1],
    },
    Shape {
        grid: [256 * 37, 1, 1],
        group: [256, 1, 1],
    },
    // The last workgroup of a row, column and plane is smaller than the others.
    Shape {
        grid: [300, 7, 3],
        group: [64, 2, 2],
    },
    Shape {
        grid: [16 * 9, 16 * 3 + 5, 1],
        group: [16, 16, 1],
    },
    // The last wave of each workgroup has inactive lanes.
    Shape {
        grid: [100 * 40, 1, 1],
        group: [100, 1, 1],
    },
    Shape {
        grid: [8, 8 * 60, 2],
        group: [8, 8, 1],
    },
    // One slice of lanes, all of them or some, and two slices.
    Shape {
        grid: [16 * 100 + 5, 1, 1],
        group: [16, 1, 1],
    },
    Shape {
        grid: [5 * 40, 3, 1],
        group: [5, 2, 1],
    },
    Shape {
        grid: [4 * 12 + 1, 8 * 10, 1],
        group: [4, 8, 1],
    },
];

/// Returns a kernel whose work-items store 32 bytes of their initial state, and change all of that state. s6 is the workgroup's
/// number, v[6:7] the work-item's address. `extra` runs before the stores, `lds` is the size of LDS, and with `scratch` the address
/// of its scratch is part of the state.
fn source(shape: Shape, extra: &str, lds: u32, scratch: bool) -> String {
    let (group, groups) = (shape.group, shape.groups());
    let items: u32 = group.iter().product();
    let settings = match scratch {
        true => {
            ".amdhsa_private_segment_fixed_size 20\n.amdhsa_system_sgpr_private_segment_wavefront_offset 1\n"
        }
        false => "",
    };
    format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n\
         s_cselect_b32 s10, 1, 0\ns_mov_b64 s[18:19], exec\ns_mov_b32 s21, s6\n\
         s_load_dwordx2 s[0:1], s[0:1], 0x0\n\
         s_mul_i32 s6, s4, {}\ns_add_u32 s6, s6, s3\ns_mul_i32 s6, s6, {}\ns_add_u32 s6, s6, s2\n\
         v_mov_b32 v3, {}\nv_mad_u32_u24 v4, v1, v3, v0\nv_mov_b32 v5, {}\nv_mad_u32_u24 v4, v2, v5, v4\n\
         s_mul_i32 s7, s6, {items}\nv_add_u32 v4, s7, v4\nv_lshlrev_b32 v5, 5, v4\n\
         s_waitcnt lgkmcnt(0)\n\
         v_mov_b32 v7, s1\nv_add_co_u32 v6, vcc, s0, v5\nv_addc_co_u32 v7, vcc, 0, v7, vcc\n\
         v_lshlrev_b32 v8, 10, v1\nv_or_b32 v8, v8, v0\nv_lshlrev_b32 v9, 20, v2\nv_or_b32 v8, v8, v9\n\
         v_mov_b32 v9, s5\nv_add_u32 v9, s21, v9\nv_mov_b32 v10, s18\nv_mov_b32 v11, s19\n\
         v_mov_b32 v12, s10\nv_mov_b32 v13, m0\nv_mov_b32 v14, s2\nv_mov_b32 v15, s6\n\
         {extra}\n\
         global_store_dwordx4 v[6:7], v[8:11], off\n\
         v_mul_u32_u24 v0, v0, 3\nv_add_u32 v1, 5, v1\nv_xor_b32 v2, 1, v2\n\
         s_add_u32 s2, s2, 9\ns_add_u32 s3, s3, 9\ns_add_u32 s4, s4, 9\ns_add_u32 s5, s5, 9\ns_mov_b32 m0, 77\n\
         v_cmp_lt_u32 vcc, 4, v0\ns_and_saveexec_b64 s[8:9], vcc\ns_cbranch_execz done\n\
         s_cmp_lg_u32 s6, -5\ns_cbranch_scc0 done\n\
         s_cselect_b32 s11, s2, s3\nv_add_u32 v12, v12, v0\nv_add_u32 v14, s11, v14\nv_add_u32 v13, s4, v13\n\
         v_add_u32 v15, s5, v15\nv_add3_u32 v15, v1, v2, v15\nv_add_u32 v13, m0, v13\n\
         global_store_dwordx4 v[6:7], v[12:15], off offset:16\n\
         done:\ns_endpgm\n\
         .section .rodata,#alloc\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\
         .amdhsa_system_sgpr_workgroup_id_x 1\n.amdhsa_system_sgpr_workgroup_id_y 1\n\
         .amdhsa_system_sgpr_workgroup_id_z 1\n.amdhsa_system_sgpr_workgroup_info 1\n\
         .amdhsa_system_vgpr_workitem_id 2\n\
         .amdhsa_kernarg_size 8\n.amdhsa_next_free_vgpr 24\n.amdhsa_next_free_sgpr 48\n\
         {settings}.amdhsa_group_segment_fixed_size {lds}\n.end_amdhsa_kernel\n",
        groups[1],
        groups[0],
        group[0],
        group[0] * group[1]
    )
}

/// A GPU with such a kernel, and its buffer.
struct Board {
    gpu: Gpu,
    loaded: Loaded,
    buffer: u64,
}

impl Board {
    /// A GPU with the interpreter.
    fn interpreting(source: &str) -> Board {
        let target = Target::parse("gfx900").expect("a target");
        let gpu = Gpu::with_engine(target, 16 << 20, || Box::new(Interp::new()));
        Board::new(gpu.expect("memory"), source)
    }

    fn new(gpu: Gpu, source: &str) -> Board {
        let output = gcn_asm::assemble(source, "k.s", &gcn_asm::Options::default());
        let object = output
            .object
            .unwrap_or_else(|| panic!("{}", gcn_asm::render(&output.diagnostics, false)));
        let object = CodeObject::parse(&object.loadable().expect("it links")).expect("it is read");
        let loaded = gpu.load(&object).expect("it is loaded");
        let buffer = gpu.memory.alloc(BYTES as u64, 256, Perm::RW).expect("room");
        Board {
            gpu,
            loaded,
            buffer,
        }
    }

    fn run(
        &self,
        shape: Shape,
        change: &dyn Fn(&mut Launch),
    ) -> (Result<Stats, RunError>, Vec<u8>) {
        let mut bytes = vec![0xee; BYTES];
        self.gpu.memory.write(self.buffer, &bytes).expect("mapped");
        let mut launch = Launch {
            grid: shape.grid,
            group: shape.group,
            kernarg: self.buffer.to_le_bytes().to_vec(),
            threads: 1,
            ..Launch::default()
        };
        change(&mut launch);
        let result = self.gpu.dispatch(&self.loaded, "k", &launch);
        self.gpu
            .memory
            .read(self.buffer, &mut bytes)
            .expect("mapped");
        (result, bytes)
    }
}

/// Returns a GPU whose engines have a cache, and a switch that makes them evaluate addresses for dispatches of few waves.
fn compiling(cache: &Cache) -> (Gpu, Arc<AtomicBool>) {
    let eager = Arc::new(AtomicBool::new(false));
    let (asked, engines) = (eager.clone(), cache.clone());
    let target = Target::parse("gfx900").expect("a target");
    let gpu = Gpu::with_engine(target, 16 << 20, move || {
        let mut engine = engines.engine();
        engine.eager(asked.load(Relaxed));
        Box::new(engine)
    });
    (gpu.expect("memory"), eager)
}

/// Returns the levels that the host supports.
fn levels() -> Vec<Level> {
    let all = [Level::Avx2, Level::Avx512];
    let best = Level::best();
    all.into_iter().filter(|&l| Some(l) <= best).collect()
}

/// Runs a kernel of these instructions, compiled and interpreted, in all shapes. Returns the number of waves that started without
/// leaving compiled code.
struct Transaction {
    extra: &'static str,
    lds: u32,
    /// The run fails.
    fails: bool,
    /// The limit on instructions.
    limits: &'static [u64],
    /// The kernel has scratch, whose address depends on other threads.
    scratch: bool,
}

impl Transaction {
    fn run(&self) -> u64 {
        let mut in_batch = 0;
        for shape in SHAPES {
            let source = source(shape, self.extra, self.lds, self.scratch);
            let interp = Board::interpreting(&source);
            for level in levels() {
                let cache = Cache::with_level(level);
                let (jit, eager) = compiling(&cache);
                let jit = Board::new(jit, &source);
                assert_eq!(jit.buffer, interp.buffer);
                let limits = self.limits.iter().map(|&n| Some(n));
                for most in [None].into_iter().chain(limits) {
                    for threads in [1, 3].into_iter().take(2 - self.scratch as usize) {
                        let change = |launch: &mut Launch| {
                            launch.max_instructions = most;
                            launch.threads = threads;
                        };
                        let want = interp.run(shape, &change);
                        assert!(most.is_some() || want.0.is_err() == self.fails);
                        // The kernel runs twice: the second time it is already compiled, and addresses are evaluated for the dispatch.
                        for second in [false, true] {
                            eager.store(second, Relaxed);
                            let got = jit.run(shape, &change);
                            let told = format!("{shape:?} {level:?} {most:?} {threads} threads");
                            if threads > 1 && want.0.is_err() {
                                // The progress of the other waves may differ, and with a limit on instructions also the wave that fails.
                                if most.is_none() {
                                    assert_eq!(got.0, want.0, "{told}");
                                }
                                assert!(got.0.is_err(), "{told}");
                                continue;
                            }
                            // Compiled code ends a time slice at the end of a block, so the last instructions may belong to other waves
                            // of the same workgroup.
                            let end = match (&got.0, &want.0) {
                                (
                                    Err(RunError::Limit { location, .. }),
                                    Err(RunError::Limit {
                                        location: other, ..
                                    }),
                                ) => {
                                    assert_eq!(location.workgroup, other.workgroup, "{told}");
                                    shape.bytes_before(location.workgroup)
                                }
                                _ => {
                                    assert_eq!(got.0, want.0, "{told}");
                                    BYTES
                                }
                            };
                            let at = (0..end).find(|&at| got.1[at] != want.1[at]);
                            assert_eq!(at, None, "{told}: item {:?}", at.map(|at| at / 32));
                        }
                    }
                }
                in_batch += cache.stats().in_batch;
            }
        }
        in_batch
    }
}

const TRIAL: Transaction = Transaction {
    extra: "",
    lds: 0,
    fails: false,
    limits: &[],
    scratch: false,
};

#[test]
fn each_wave_starts_with_its_own() {
    let limits = &[1, 29, 1000, 20_000, 66_000, 1 << 20];
    let count = Transaction { limits, ..TRIAL }.run();
    assert!(levels().is_empty() || count > 5000, "{count}");
}

#[test]
fn each_wave_has_its_scratch() {
    let scratch = true;
    let count = Transaction { scratch, ..TRIAL }.run();
    assert!(levels().is_empty() || count > 500, "{count}");
}

#[test]
fn one_faults() {
    let extra = "s_cmp_eq_u32 s6, 29\ns_cbranch_scc0 ok\nv_mov_b32 v7, 0x1234\nok:";
    let (fails, limits) = (true, &[600, 20_000]);
    let count = Transaction {
        extra,
        fails,
        limits,
        ..TRIAL
    }
    .run();
    assert!(levels().is_empty() || count > 500, "{count}");
}

#[test]
fn one_traps() {
    let extra = "s_cmp_eq_u32 s6, 11\ns_cbranch_scc0 ok\ns_trap 2\nok:";
    let fails = true;
    Transaction {
        extra,
        fails,
        ..TRIAL
    }
    .run();
}

#[test]
fn some_are_interpreted() {
    // The time, the wave's location and its status belong to the wave, wherever it runs.
    let extra = "s_and_b32 s12, s6, 7\ns_cmp_eq_u32 s12, 3\ns_cbranch_scc0 ok\n\
        s_memtime s[12:13]\ns_getreg_b32 s14, hwreg(HW_REG_HW_ID)\ns_getreg_b32 s15, hwreg(HW_REG_STATUS)\n\
        s_waitcnt lgkmcnt(0)\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5\ns_setprio 2\n\
        v_mov_b32 v9, s12\nv_mov_b32 v10, s14\nv_mov_b32 v11, s15\nok:\n\
        s_and_b32 s12, s6, 7\ns_cmp_eq_u32 s12, 4\ns_cbranch_scc0 on\n\
        s_getreg_b32 s14, hwreg(HW_REG_MODE)\ns_getreg_b32 s15, hwreg(HW_REG_STATUS)\n\
        v_mov_b32 v10, s14\nv_mov_b32 v11, s15\non:";
    let limits = &[5000];
    let count = Transaction {
        extra,
        limits,
        ..TRIAL
    }
    .run();
    assert!(levels().is_empty() || count > 500, "{count}");
}

#[test]
fn waves_begin_with_their_mode() {
    // Each wave ends with another MODE than it began with. Some waves read their own at first.
    let extra = "s_and_b32 s12, s6, 7\ns_cmp_eq_u32 s12, 3\ns_cbranch_scc0 ok\n\
        s_getreg_b32 s14, hwreg(HW_REG_MODE)\nv_mov_b32 v10, s14\nok:\n\
        s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 5\nv_add_f32 v9, 1.0, v10";
    let count = Transaction { extra, ..TRIAL }.run();
    assert!(levels().is_empty() || count > 500, "{count}");
}

#[test]
fn some_meet_nans() {
    let extra = "s_and_b32 s12, s6, 15\ns_cmp_eq_u32 s12, 9\ns_cselect_b32 s13, 0x7f800000, 1.0\n\
        v_mul_f32 v9, 0, s13";
    let count = Transaction { extra, ..TRIAL }.run();
    assert!(levels().is_empty() || count > 500, "{count}");
}

#[test]
fn lds_is_zeros_where_a_workgroup_starts() {
    let extra = "s_mov_b32 m0, -1\nv_and_b32 v16, 63, v0\nv_lshlrev_b32 v16, 2, v16\nds_read_b32 v11, v16\n\
        v_mov_b32 v17, 1\nds_add_u32 v16, v17\nds_read_b32 v10, v16\ns_waitcnt lgkmcnt(0)";
    let limits = &[5000];
    for lds in [36, 256, 300] {
        let count = Transaction {
            extra,
            lds,
            limits,
            ..TRIAL
        }
        .run();
        assert!(levels().is_empty() || count > 500, "{count}");
    }
}

#[test]
fn one_gives_way_and_one_runs_for_long() {
    let extra = "s_cmp_eq_u32 s6, 7\ns_cbranch_scc0 ok\ns_sleep 1\nok:\n\
        s_cmp_eq_u32 s6, 13\ns_cbranch_scc0 on\ns_mov_b32 s12, 50000\n\
        again:\ns_sub_u32 s12, s12, 1\ns_cmp_lg_u32 s12, 0\ns_cbranch_scc1 again\nv_mov_b32 v9, s12\non:";
    let count = Transaction { extra, ..TRIAL }.run();
    assert!(levels().is_empty() || count > 500, "{count}");
}

#[test]
fn some_activate_all_lanes() {
    // What lanes without a work-item compute is read by the others.
    let extra = "s_and_b32 s12, s6, 15\ns_cmp_eq_u32 s12, 6\ns_cbranch_scc0 on\n\
        s_mov_b64 s[14:15], exec\ns_mov_b64 exec, -1\nv_add_u32 v9, s6, v0\nv_cmp_lt_u32 vcc, 1, v9\n\
        s_mov_b64 exec, s[14:15]\nv_readlane_b32 s13, v9, 37\nv_mov_b32 v10, s13\nv_mov_b32 v11, vcc_hi\non:";
    let count = Transaction { extra, ..TRIAL }.run();
    assert!(levels().is_empty() || count > 500, "{count}");
}

#[test]
fn some_go_elsewhere() {
    let extra = "s_and_b32 s12, s6, 15\ns_cmp_eq_u32 s12, 6\ns_cbranch_scc0 on\n\
        s_getpc_b64 s[14:15]\nhere:\ns_add_u32 s14, s14, there-here\ns_addc_u32 s15, s15, 0\n\
        s_setpc_b64 s[14:15]\ns_endpgm\nthere:\nv_mov_b32 v9, s12\non:";
    let count = Transaction { extra, ..TRIAL }.run();
    assert!(levels().is_empty() || count > 500, "{count}");
}

/// Two functions: one changes v9, in some lanes in another way, and the other calls it twice. They return to the address in s[30:31] plus s29.
const FUNCTIONS: &str = "s_branch over\n\
    square:\nv_and_b32 v16, 1, v9\nv_cmp_eq_u32 vcc, 1, v16\ns_and_saveexec_b64 s[22:23], vcc\ns_cbranch_execz even\n\
    v_mul_lo_u32 v9, v9, v9\neven:\ns_or_b64 exec, exec, s[22:23]\nv_add_u32 v9, s12, v9\nv_add_u32 v10, v4, v9\n\
    s_add_u32 s30, s30, s29\ns_addc_u32 s31, s31, 0\ns_setpc_b64 s[30:31]\n\
    twice:\ns_mov_b64 s[24:25], s[30:31]\n\
    s_getpc_b64 s[26:27]\na:\ns_add_u32 s26, s26, square-a\ns_addc_u32 s27, s27, -1\ns_swappc_b64 s[30:31], s[26:27]\n\
    v_add_u32 v11, v9, v10\ns_mov_b32 s29, 0\ns_swappc_b64 s[30:31], s[26:27]\ns_setpc_b64 s[24:25]\n\
    over:\ns_mov_b32 s12, s6\ns_mov_b32 s29, 0\n";

/// A call of a function at a lower address. `label` is of its own.
macro_rules! call {
    ($function:literal, $label:literal) => {
        concat!(
            "s_getpc_b64 s[26:27]\n",
            $label,
            ":\ns_add_u32 s26, s26, ",
            $function,
            "-",
            $label,
            "\ns_addc_u32 s27, s27, -1\ns_swappc_b64 s[30:31], s[26:27]\n"
        )
    };
}

#[test]
fn functions_are_called() {
    let calls = [
        call!("square", "b"),
        "v_xor_b32 v11, v9, v4\n",
        call!("twice", "c"),
        // In a loop, with another address in each iteration but the first, and with some lanes inactive.
        "s_mov_b32 s20, 3\ns_mov_b64 s[34:35], exec\nagain:\nv_cmp_lt_u32 vcc, v0, v9\ns_and_b64 exec, exec, vcc\n",
        call!("twice", "d"),
        "s_mov_b64 exec, s[34:35]\ns_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 again\n",
    ];
    let extra = [&[FUNCTIONS], &calls[..]].concat().concat().leak();
    let count = Transaction { extra, ..TRIAL }.run();
    assert!(levels().is_empty() || count > 1000, "{count}");
}

#[test]
fn functions_return_elsewhere() {
    // Eight bytes after the call, in some workgroups.
    let calls = [
        "s_and_b32 s20, s6, 15\ns_cmp_eq_u32 s20, 6\ns_cselect_b32 s29, 8, 0\n",
        call!("square", "b"),
        "v_mov_b32 v11, 0x12345\nv_add_u32 v10, v9, v10\ns_mov_b32 s29, 0\n",
        call!("twice", "c"),
    ];
    let extra = [&[FUNCTIONS], &calls[..]].concat().concat().leak();
    let count = Transaction { extra, ..TRIAL }.run();
    assert!(levels().is_empty() || count > 500, "{count}");
}

#[test]
fn functions_run_in_the_callers_mode() {
    // The sum is rounded to nearest and to zero.
    let function = "s_branch over\nsum:\nv_cvt_f32_u32 v16, v4\nv_mul_f32 v16, 0x3e4ccccd, v16\nv_add_f32 v9, v9, v16\n\
        s_setpc_b64 s[30:31]\nover:\nv_mov_b32 v9, 0x3eaaaaab\n";
    let calls = [
        call!("sum", "b"),
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3\nv_mov_b32 v10, v9\n",
        call!("sum", "c"),
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0\n",
    ];
    for calls in [&calls[..1], &calls] {
        let extra = [&[function], calls].concat().concat().leak();
        Transaction { extra, ..TRIAL }.run();
    }
}

#[test]
fn some_wait_at_barriers() {
    // Here all waves of a workgroup do the same.
    let extra = "s_and_b32 s12, s6, 15\ns_cmp_eq_u32 s12, 6\ns_cbranch_scc0 on\ns_barrier\nv_mov_b32 v9, s12\non:";
    Transaction { extra, ..TRIAL }.run();
}

/// Returns a kernel with rounds at barriers: each wave stores a value in LDS and adds up the others'. The number of
/// rounds depends on the workgroup, and wave 1 ends before the others. Each round contains `inner`.
fn rounds(inner: &str) -> String {
    format!(
        "s_mov_b32 m0, -1\nv_lshlrev_b32 v16, 2, v0\nv_and_b32 v16, 0xff, v16\n\
         v_lshrrev_b32 v17, 6, v0\nv_readfirstlane_b32 s20, v17\n\
         s_and_b32 s12, s6, 3\ns_add_u32 s12, s12, 2\n\
         again:\n\
         v_add_u32 v18, s12, v4\nds_write_b32 v16, v18\ns_waitcnt lgkmcnt(0)\ns_barrier\n\
         v_sub_u32 v19, 0xfc, v16\nds_read_b32 v20, v19\ns_waitcnt lgkmcnt(0)\nv_add_u32 v9, v9, v20\n\
         {inner}\n\
         s_barrier\n\
         s_sub_u32 s12, s12, 1\ns_cmp_eq_u32 s20, 1\ns_cselect_b32 s13, 3, 0\ns_cmp_gt_u32 s12, s13\n\
         s_cbranch_scc1 again\ndone_with_it:"
    )
}

#[test]
fn all_wait_at_barriers() {
    let extra = rounds("").leak();
    let count = Transaction {
        extra,
        lds: 256,
        ..TRIAL
    }
    .run();
    assert!(levels().is_empty() || count > 1000, "{count}");
}

#[test]
fn faults_after_barriers() {
    let inner = "s_cmp_eq_u32 s6, 17\ns_cselect_b32 s14, 1, 0\ns_cmp_eq_u32 s12, 2\ns_cselect_b32 s15, 1, 0\n\
        s_and_b32 s14, s14, s15\ns_cbranch_scc0 ok\nv_mov_b32 v7, 0x1234\nglobal_load_dword v21, v[6:7], off\nok:";
    let extra = rounds(inner).leak();
    let fails = true;
    Transaction {
        extra,
        lds: 256,
        fails,
        ..TRIAL
    }
    .run();
}

#[test]
fn some_are_interpreted_between_barriers() {
    let inner = "s_and_b32 s14, s6, 7\ns_cmp_eq_u32 s14, 3\ns_cbranch_scc0 ok\ns_memtime s[14:15]\n\
        s_getreg_b32 s16, hwreg(HW_REG_HW_ID)\ns_waitcnt lgkmcnt(0)\nv_add_u32 v10, s14, v10\nv_add_u32 v11, s16, v11\n\
        ok:\ns_and_b32 s14, s6, 15\ns_cmp_eq_u32 s14, 5\ns_cbranch_scc0 on\ns_sleep 1\non:\n\
        s_cmp_eq_u32 s14, 9\ns_cselect_b32 s15, 0x7f800000, 1.0\nv_mul_f32 v13, 0, s15";
    let extra = rounds(inner).leak();
    let count = Transaction {
        extra,
        lds: 256,
        ..TRIAL
    }
    .run();
    assert!(levels().is_empty() || count > 300, "{count}");
}

/// Returns a small kernel: a work-item loads a dword, adds arguments, its own index and its workgroup's, and stores the sum. `guard` may end
/// it; s16 is a limit, s17 an argument that is added, v6 the index, v3 to v5 are the work-item's coordinates.
fn streaming(shape: Shape, args: &str, guard: &str, access: &str) -> String {
    let [x, y, z] = shape.group;
    format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n\
         s_load_dwordx4 s[12:15], s[0:1], 0x0\ns_load_dwordx4 s[16:19], s[0:1], 0x10\n\
         s_mul_i32 s20, s2, {x}\nv_add_u32 v3, s20, v0\ns_mul_i32 s21, s3, {y}\nv_add_u32 v4, s21, v1\n\
         s_mul_i32 s22, s4, {z}\nv_add_u32 v5, s22, v2\ns_waitcnt lgkmcnt(0)\n{args}\n\
         v_mul_lo_u32 v6, v4, s18\nv_add_u32 v6, v6, v3\nv_mul_lo_u32 v7, v5, s19\nv_add_u32 v6, v6, v7\n\
         {guard}\n\
         v_lshlrev_b32 v7, 2, v6\nv_mov_b32 v9, s13\nv_add_co_u32 v8, vcc, s12, v7\n\
         v_addc_co_u32 v9, vcc, 0, v9, vcc\nv_mov_b32 v12, s15\nv_add_co_u32 v11, vcc, s14, v7\n\
         v_addc_co_u32 v12, vcc, 0, v12, vcc\n\
         {access}\n\
         done:\ns_endpgm\n\
         .section .rodata,#alloc\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\
         .amdhsa_system_sgpr_workgroup_id_x 1\n.amdhsa_system_sgpr_workgroup_id_y 1\n\
         .amdhsa_system_sgpr_workgroup_id_z 1\n.amdhsa_system_vgpr_workitem_id 2\n\
         .amdhsa_kernarg_size 40\n.amdhsa_next_free_vgpr 24\n.amdhsa_next_free_sgpr 48\n.end_amdhsa_kernel\n"
    )
}

const ACCESS: &str = "global_load_dword v10, v[8:9], off\ns_waitcnt vmcnt(0)\nv_add_u32 v10, s17, v10\n\
    v_add_u32 v10, s3, v10\nv_xor_b32 v10, v10, v6\nv_add_u32 v10, v10, v4\nglobal_store_dword v[11:12], v10, off";
const GUARD: &str =
    "v_cmp_gt_u32 vcc, s16, v6\ns_and_saveexec_b64 s[24:25], vcc\ns_cbranch_execz done";

/// The launch of a streaming kernel.
struct Streaming {
    args: &'static str,
    guard: &'static str,
    access: &'static str,
    /// The limit minus the number of work-items.
    limit: i32,
    /// The offset in the buffer from which is loaded, for a number of work-items; and the offset of an argument in memory.
    from: fn(u64) -> u64,
    in_memory: u64,
    limits: &'static [u64],
}

const STREAMING: Streaming = Streaming {
    args: "",
    guard: "",
    access: ACCESS,
    limit: 0,
    from: |_| 0,
    in_memory: 0,
    limits: &[],
};

impl Streaming {
    /// Runs the kernel in all shapes on both engines. Returns how often addresses were evaluated for a dispatch.
    fn run(&self) -> u64 {
        let mut evaluated = 0;
        for shape in SHAPES {
            let source = streaming(shape, self.args, self.guard, self.access);
            let interp = Board::interpreting(&source);
            for level in levels() {
                let cache = Cache::with_level(level);
                let (jit, eager) = compiling(&cache);
                let jit = Board::new(jit, &source);
                eager.store(true, Relaxed);
                let limits = self.limits.iter().map(|&n| Some(n));
                for most in [None].into_iter().chain(limits) {
                    let change = |launch: &mut Launch| {
                        launch.max_instructions = most;
                        launch.kernarg = self.arguments(shape, jit.buffer);
                    };
                    let want = interp.run(shape, &change);
                    let got = jit.run(shape, &change);
                    let told = format!("{shape:?} {level:?} {most:?}");
                    if most.is_some() {
                        assert_eq!(got.0.is_err(), want.0.is_err(), "{told}");
                        continue;
                    }
                    assert_eq!(got.0, want.0, "{told}");
                    let at = (0..BYTES).find(|&at| got.1[at] != want.1[at]);
                    assert_eq!(at, None, "{told}");
                }
                evaluated += cache.stats().grids;
            }
        }
        evaluated
    }

    fn arguments(&self, shape: Shape, buffer: u64) -> Vec<u8> {
        let [x, y, z] = shape.grid;
        let items = (x * y * z) as u64;
        let to = buffer + BYTES as u64 / 2;
        let mut args = Vec::new();
        args.extend((buffer + (self.from)(items)).to_le_bytes());
        args.extend(to.to_le_bytes());
        let limit = items as u32;
        for value in [limit.wrapping_add_signed(self.limit), 77, x, x * y] {
            args.extend(value.to_le_bytes());
        }
        args.extend((to + self.in_memory).to_le_bytes());
        args
    }
}

#[test]
fn evaluations_are_remembered() {
    run_again(ACCESS);
}

/// The block where waves start has no affine addresses and writes no vector registers, so waves have no tables.
#[test]
fn evaluations_without_tables_are_remembered() {
    let access = "s_mov_b32 s30, 2\nagain:\nv_mul_u32_u24 v13, v0, v0\nv_add_u32 v13, s30, v13\nv_and_b32 v13, 0x3ff, v13\n\
        v_mov_b32 v9, s15\nv_add_co_u32 v8, vcc, s14, v13\nv_addc_co_u32 v9, vcc, 0, v9, vcc\nv_mov_b32 v10, s16\n\
        global_store_byte v[8:9], v10, off\ns_sub_u32 s30, s30, 1\ns_cmp_lg_u32 s30, 0\ns_cbranch_scc1 again";
    run_again(access);
}

/// Evaluations are used again in dispatches with the same arguments, and only in those.
fn run_again(access: &'static str) {
    let shifted = |by: i32| Streaming {
        limit: -by,
        from: [|_| 0, |_| 64][(by != 0) as usize],
        ..STREAMING
    };
    let (mut grids, mut remembered) = (0, 0);
    for shape in SHAPES {
        let source = streaming(shape, "", GUARD, access);
        let interp = Board::interpreting(&source);
        for level in levels() {
            let cache = Cache::with_level(level);
            let (jit, eager) = compiling(&cache);
            let jit = Board::new(jit, &source);
            eager.store(true, Relaxed);
            for by in [0, 0, 100, 0, 100, 300, 0, 500, 700, 900, 0] {
                let change = |launch: &mut Launch| {
                    launch.kernarg = shifted(by).arguments(shape, jit.buffer);
                };
                let (want, got) = (interp.run(shape, &change), jit.run(shape, &change));
                let told = format!("{shape:?} {level:?} {by}");
                assert_eq!(got.0, want.0, "{told}");
                assert!(got.1 == want.1, "{told}");
            }
            grids += cache.stats().grids;
            remembered += cache.stats().remembered_grids;
        }
    }
    // Of eleven dispatches, seven have arguments that none of the last four evaluations had. A dispatch may be several batches, with one evaluation each.
    let some = 4 * grids < 11 * remembered && 5 * remembered < 4 * grids;
    assert!(levels().is_empty() || some, "{remembered} of {grids}");
}

#[test]
fn addresses_follow_from_ids() {
    let limits = &[1, 20, 1000, 20_000];
    let count = Streaming {
        limits,
        ..STREAMING
    }
    .run();
    assert!(levels().is_empty() || count > 4, "{count}");
}

/// Work-items load after they have stored, from other memory, or what they or their neighbours have stored.
/// Rows of work-items times numbers, whose upper halves are in addresses: of 32 bits with and without signs, and of 64 bits.
#[test]
fn upper_halves_of_products() {
    for product in [
        "v_mul_hi_u32 v13, v4, s30",
        "v_mul_hi_i32 v13, v14, s30",
        "v_mul_hi_u32 v13, v14, s30",
        "v_mad_u64_u32 v[12:13], vcc, v14, s30, 0",
        "v_mad_u64_u32 v[12:13], vcc, v14, v14, 0",
        "v_mad_i64_i32 v[12:13], vcc, v14, s30, 0",
    ] {
        let access = format!(
            "v_mov_b32 v18, v12\ns_mov_b32 s30, 0x92345679\nv_sub_u32 v14, v4, 3\n{product}\n\
             v_and_b32 v16, 0x3f, v13\nv_lshlrev_b32 v16, 2, v16\nv_add_co_u32 v8, vcc, v8, v16\nv_addc_co_u32 v9, vcc, 0, v9, vcc\n\
             global_load_dword v10, v[8:9], off\ns_waitcnt vmcnt(0)\nv_add_u32 v10, v10, v13\nv_mov_b32 v12, v18\n\
             global_store_dword v[11:12], v10, off"
        );
        Streaming {
            access: access.leak(),
            ..STREAMING
        }
        .run();
    }
}

#[test]
fn loads_after_stores() {
    let access = "v_mul_u32_u24 v10, 3, v6\nglobal_store_dword v[11:12], v10, off\ns_waitcnt vmcnt(0)\n\
        global_load_dword v13, v[8:9], off\ns_waitcnt vmcnt(0)\nv_add_u32 v13, s17, v13\nv_add_u32 v13, v6, v13\n\
        global_store_dword v[11:12], v13, off offset:2048\ns_waitcnt vmcnt(0)\n\
        global_load_dword v14, v[8:9], off offset:4\ns_waitcnt vmcnt(0)\nv_xor_b32 v14, v14, v13\n\
        global_store_dword v[11:12], v14, off offset:1024";
    const TO: u64 = BYTES as u64 / 2;
    let apart = Streaming {
        access,
        ..STREAMING
    }
    .run();
    assert!(levels().is_empty() || apart > 4, "{apart}");
    for from in [
        |_| TO,
        |_| TO - 4,
        |_| TO + 4,
        |_| TO + 100,
        |_| TO + 2048,
        |_| TO + 1020,
        |items: u64| TO - 4 * items,
    ] {
        let of_neighbours = Streaming {
            access,
            from,
            ..STREAMING
        };
        of_neighbours.run();
    }
}

/// Loads and stores move at different speeds from workgroup to workgroup: in one of them, lanes load what others have just stored.
#[test]
fn loads_that_pass_stores() {
    let access = "v_lshlrev_b32 v15, 3, v6\nv_mov_b32 v17, s13\nv_add_co_u32 v16, vcc, s12, v15\nv_addc_co_u32 v17, vcc, 0, v17, vcc\n\
        v_mul_u32_u24 v10, 3, v6\nglobal_store_dword v[11:12], v10, off\ns_waitcnt vmcnt(0)\n\
        global_load_dword v13, v[16:17], off\ns_waitcnt vmcnt(0)\nv_add_u32 v13, v6, v13\n\
        global_store_dword v[11:12], v13, off";
    for from in [
        |_| BYTES as u64 / 2 - 4 * 1000,
        |items: u64| BYTES as u64 / 2 - 2 * items,
    ] {
        let streaming = Streaming {
            access,
            from,
            ..STREAMING
        };
        streaming.run();
    }
}

/// Returns instructions that load from two places and store to one, in any order, at random distances.
fn random_accesses(r: &mut Rng) -> String {
    let mut code = String::from("v_mul_u32_u24 v10, 3, v6\n");
    for _ in 0..3 + r.below(6) {
        let offset = [0, 4, 64, 256, 1024, 2048][r.below(6)] + 4 * r.below(3);
        let line = match r.below(5) {
            0 => format!("global_store_dword v[11:12], v10, off offset:{offset}\n"),
            1 => format!(
                "global_load_dword v13, v[11:12], off offset:{offset}\ns_waitcnt vmcnt(0)\nv_add_u32 v10, v10, v13\n"
            ),
            2 => format!(
                "global_load_dwordx2 v[13:14], v[8:9], off offset:{offset}\ns_waitcnt vmcnt(0)\nv_xor_b32 v10, v10, v14\n"
            ),
            3 => format!(
                "global_load_dword v13, v[8:9], off offset:{offset}\ns_waitcnt vmcnt(0)\nv_sub_u32 v10, v13, v10\n\
                 global_store_dword v[11:12], v10, off offset:{offset}\n"
            ),
            _ => "v_mul_lo_u32 v10, v10, s17\nv_add_u32 v10, v6, v10\n".into(),
        };
        code += &line;
    }
    code + "global_store_dword v[11:12], v10, off"
}

#[test]
fn random_loads_and_stores() {
    const TO: u64 = BYTES as u64 / 2;
    let seed = setting("SEED", 1);
    for n in 0..setting("STREAMS", 12) {
        let access = random_accesses(&mut Rng::seeded(seed + n)).leak();
        for from in [|_| 0, |_| TO - 4, |_| TO + 64, |_| TO + 1024] {
            let streaming = Streaming {
                access,
                from,
                ..STREAMING
            };
            streaming.run();
        }
    }
}

#[test]
fn addresses_within_limits() {
    for limit in [0, -1, -64, -700, 5] {
        let guard = GUARD;
        let count = Streaming {
            guard,
            limit,
            ..STREAMING
        }
        .run();
        assert!(levels().is_empty() || count > 2, "{limit} {count}");
    }
}

/// Waves store to memory from which later waves load an argument.
#[test]
fn arguments_that_change() {
    let args = "s_load_dwordx2 s[26:27], s[0:1], 0x20\ns_waitcnt lgkmcnt(0)\ns_load_dword s17, s[26:27], 0x0\n\
        s_waitcnt lgkmcnt(0)";
    for in_memory in [0, 4 * 700, 4 * 2099, 4 * 6000] {
        let count = Streaming {
            args,
            in_memory,
            ..STREAMING
        }
        .run();
        assert!(levels().is_empty() || count > 4, "{count}");
    }
}

/// Arguments are compared with negative numbers, and masks are selected by the results.
#[test]
fn arguments_and_negative_numbers() {
    let args = "s_cmp_gt_i32 s16, -1\ns_cselect_b64 s[26:27], -1, 0\ns_min_i32 s28, s17, -5\ns_add_i32 s29, s17, -1\n\
        s_max_i32 s29, s29, -7\ns_add_u32 s17, s28, s29";
    let guard = "v_cmp_gt_u32 vcc, s16, v6\ns_and_b64 vcc, vcc, s[26:27]\ns_and_saveexec_b64 s[24:25], vcc\n\
        s_cbranch_execz done";
    let run = |guard| {
        let kernel = Streaming {
            args,
            guard,
            ..STREAMING
        };
        kernel.run()
    };
    let count = run("") + run(guard);
    assert!(levels().is_empty() || count > 2, "{count}");
}

/// In some workgroup, a load is beyond mapped memory.
#[test]
fn addresses_that_fault() {
    let from = |items: u64| BYTES as u64 - 4 * (items / 3 * 2);
    Streaming { from, ..STREAMING }.run();
}

/// Blocks after the first one read vector registers.
#[test]
fn addresses_before_a_loop() {
    let access = "s_mov_b32 s30, 3\nv_mov_b32 v14, v0\nglobal_load_dword v10, v[8:9], off\n\
        again:\nv_add_u32 v14, v14, v3\nv_mad_u32_u24 v14, v1, 5, v14\ns_sub_u32 s30, s30, 1\ns_cmp_lg_u32 s30, 0\n\
        s_cbranch_scc1 again\n\
        s_add_u32 s31, s2, s4\nv_add_u32 v14, s31, v14\ns_waitcnt vmcnt(0)\nv_add_u32 v10, v14, v10\n\
        v_add_u32 v10, s17, v10\nglobal_store_dword v[11:12], v10, off";
    let limits = &[100, 5000];
    let count = Streaming {
        access,
        limits,
        ..STREAMING
    }
    .run();
    assert!(levels().is_empty() || count > 4, "{count}");
}

/// Reads of vector registers, gathers, NaNs that make waves restart, and several stores.
#[test]
fn addresses_among_others() {
    let access = "v_and_b32 v13, 7, v0\nv_lshlrev_b32 v13, 2, v13\nv_mov_b32 v15, s13\nv_add_co_u32 v14, vcc, s12, v13\n\
        v_addc_co_u32 v15, vcc, 0, v15, vcc\nv_mul_u32_u24 v16, v0, v0\nv_and_b32 v16, 15, v16\nv_lshlrev_b32 v16, 2, v16\n\
        v_add_co_u32 v14, vcc, v14, v16\nv_addc_co_u32 v15, vcc, 0, v15, vcc\n\
        global_load_dword v10, v[8:9], off\nglobal_load_dword v17, v[14:15], off\ns_waitcnt vmcnt(0)\n\
        s_and_b32 s31, s2, 7\ns_cmp_eq_u32 s31, 5\ns_cselect_b32 s30, 0x7f800000, 1.0\nv_mul_f32 v18, 0, s30\n\
        v_add_u32 v10, v10, v17\nv_xor_b32 v10, v10, v18\nv_add_u32 v10, v10, v2\n\
        global_store_dword v[11:12], v10, off\nglobal_store_byte v[11:12], v0, off offset:1";
    let count = Streaming {
        access,
        ..STREAMING
    }
    .run();
    assert!(levels().is_empty() || count > 4, "{count}");
}
