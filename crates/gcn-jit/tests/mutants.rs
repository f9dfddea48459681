//! Compiled kernels with some bits flipped, on both engines: most are no longer valid programs, and fault, wait for
//! ever or run until they are stopped. Dispatches that are deterministic or have a limit leave the same memory, run the same
//! number of instructions, and have the same reports. `BLOCKS`, `SEED` and `TARGET` as in `differential.rs`.
#![cfg(target_arch = "x86_64")]

#[path = "both/rng.rs"]
#[allow(dead_code)]
mod rng;

use gcn_emu::dispatch::{Gpu, Launch, Loaded, Stats};
use gcn_emu::interp::Interp;
use gcn_emu::mem::Perm;
use gcn_isa::Target;
use gcn_object::CodeObject;
use gcn_object::metadata::ValueKind;
use rng::Rng;
use std::collections::BTreeMap;

const FILES: [&str; 4] = ["mandelbrot", "matmul", "reduce", "vadd"];

/// The size of each buffer in bytes.
const BUFFER: usize = 16 << 10;
/// The maximum number of a kernel's buffers.
const BUFFERS: usize = 4;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|v| v.parse().ok())
}

fn assembled(target: &str, body: &str) -> CodeObject {
    let source = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--{target}\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n{body}\n\
         .size k, .-k\n.rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\
         .amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 32\n.end_amdhsa_kernel\n"
    );
    let made = gcn_asm::assemble(&source, "k.s", &gcn_asm::Options::default());
    let object = made
        .object
        .unwrap_or_else(|| panic!("{:?}", made.diagnostics));
    CodeObject::parse(&object.loadable().expect("it links")).expect("it is read")
}

/// A GPU with a code object and buffers, of one engine.
struct Board {
    gpu: Gpu,
    loaded: Loaded,
    buffers: u64,
}

/// The result of a dispatch, and the buffers.
type Ran = (Result<Stats, String>, Vec<u8>);

impl Board {
    /// Returns two GPUs, one with the interpreter and one with the compiling engine.
    fn both(target: Target, object: &CodeObject) -> [Board; 2] {
        let cache = gcn_jit::Cache::default();
        let gpus = [
            Gpu::with_engine(target, 8 << 20, || Box::new(Interp::new())),
            Gpu::with_engine(target, 8 << 20, move || Box::new(cache.engine())),
        ];
        let boards = gpus.map(|gpu| {
            let gpu = gpu.expect("a GPU");
            let loaded = gpu.load(object).expect("it is loaded");
            let bytes = (BUFFER * BUFFERS) as u64;
            let buffers = gpu.memory.alloc(bytes, 4096, Perm::RW).expect("memory");
            Board {
                gpu,
                loaded,
                buffers,
            }
        });
        assert_eq!(boards[0].buffers, boards[1].buffers);
        boards
    }

    /// Returns plausible arguments for the kernel: its buffers, and small numbers.
    fn kernarg(&self, kernel: &str) -> Vec<u8> {
        let kernel = self.loaded.kernel(kernel).expect("a kernel");
        let mut bytes = Vec::new();
        let mut buffers = 0;
        for arg in kernel.metadata.iter().flat_map(|m| &m.args) {
            let value = match arg.value_kind {
                ValueKind::GlobalBuffer => {
                    buffers += 1;
                    self.buffers + (buffers - 1) % BUFFERS as u64 * BUFFER as u64
                }
                ValueKind::ByValue if arg.type_name.as_deref() == Some("float") => {
                    0.125f32.to_bits() as u64
                }
                ValueKind::ByValue => 64,
                ValueKind::DynamicSharedPointer => 0,
                _ => continue,
            };
            bytes.resize(arg.offset as usize, 0);
            bytes.extend(&value.to_le_bytes()[..(arg.size as usize).min(8)]);
        }
        bytes
    }

    fn run(&self, at: u64, code: &[u8], before: &[u8], kernel: &str, launch: &Launch) -> Ran {
        let memory = &self.gpu.memory;
        let bytes = code.len() as u64;
        memory.protect(at, bytes, Perm::RW).expect("mapped");
        memory.write(at, code).expect("writable");
        memory.protect(at, bytes, Perm::RX).expect("mapped");
        memory.write(self.buffers, before).expect("writable");
        let result = self.gpu.dispatch(&self.loaded, kernel, launch);
        let mut after = vec![0; before.len()];
        memory.read(self.buffers, &mut after).expect("readable");
        (result.map_err(|e| e.to_string()), after)
    }
}

/// Returns the code with a few bits or a dword changed.
fn mutated(code: &[u8], r: &mut Rng) -> Vec<u8> {
    let mut code = code.to_vec();
    let words = (code.len() / 4) as u64;
    for _ in 0..1 + r.below(3) {
        let at = 4 * r.below(words) as usize;
        match r.below(4) {
            0 => {
                let from = 4 * r.below(words) as usize;
                code.copy_within(from..from + 4, at);
            }
            1 => code[at..at + 4].copy_from_slice(&r.word().to_le_bytes()),
            _ => code[at + r.below(4) as usize] ^= 1 << r.below(8),
        }
    }
    code
}

/// Returns the first word of a report, or "done".
fn kind(ran: &Ran) -> String {
    match &ran.0 {
        Ok(_) => "done".into(),
        Err(text) => text.split([' ', ':']).next().unwrap_or_default().into(),
    }
}

fn mutants(name: &str) {
    if !gcn_jit::available() {
        eprintln!("skipped: this host cannot run compiled code");
        return;
    }
    if std::env::var("TARGET").is_ok_and(|t| t != name) {
        return;
    }
    let (seed, count) = (number("SEED").unwrap_or(1), number("BLOCKS").unwrap_or(60));
    let target = Target::parse(name).expect("a target");
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for file in FILES {
        let path = format!(
            "{}/../../testdata/kernels/{file}-{name}.co",
            env!("CARGO_MANIFEST_DIR")
        );
        let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let object = CodeObject::parse(&bytes).expect("it is read");
        let boards = Board::both(target, &object);
        for kernel in &object.kernels {
            let section = object.symbols.iter().find(|s| s.name == kernel.name);
            let size = section.map_or(256, |s| s.size).max(4) as usize / 4 * 4;
            let at = boards[0].loaded.base + kernel.entry;
            let mut original = vec![0; size];
            boards[0]
                .gpu
                .memory
                .read(at, &mut original)
                .expect("readable");
            let kernarg = boards[0].kernarg(&kernel.name);
            let required = kernel.metadata.as_ref().and_then(|m| m.reqd_workgroup_size);
            let required = required.map(|size| size.map(|n| n as u32));
            for seed in seed..seed + count {
                let mut r = Rng(seed.wrapping_mul(0x9e6d_5ab1_77c3_1e2d));
                let code = mutated(&original, &mut r);
                let group = required.unwrap_or([r.pick(&[64, 128, 256, 100]), 1, 1]);
                let limit = r.pick(&[None, Some(500), Some(9000), Some(40_000), Some(120_000)]);
                let launch = Launch {
                    grid: [group[0] * 2, group[1] * 2, 1],
                    group,
                    kernarg: kernarg.clone(),
                    dynamic_lds: 1024,
                    // A deterministic dispatch without a limit would never end if the kernel does not.
                    max_instructions: Some(limit.unwrap_or(300_000)),
                    deterministic: limit.is_none(),
                    threads: 1,
                    ..Launch::default()
                };
                let before: Vec<u8> = (0..BUFFER * BUFFERS / 4)
                    .flat_map(|_| r.word().to_le_bytes())
                    .collect();
                let run = |b: &Board| b.run(at, &code, &before, &kernel.name, &launch);
                let want = run(&boards[0]);
                // The code runs twice: the second time it is already compiled.
                for _ in 0..2 {
                    let got = run(&boards[1]);
                    let what = || format!("{file} {} {name} SEED={seed} {launch:?}", kernel.name);
                    assert!(want.0 == got.0, "{}:\n{:?}\n{:?}", what(), want.0, got.0);
                    let differs = (0..want.1.len()).find(|&at| want.1[at] != got.1[at]);
                    assert!(
                        differs.is_none(),
                        "{}: memory at {differs:x?}, {:?}",
                        what(),
                        want.0
                    );
                }
                *kinds.entry(kind(&want)).or_default() += 1;
            }
            // Restores the state for the next kernel.
            for board in &boards {
                board
                    .run(at, &original, &[], &kernel.name, &Launch::default())
                    .0
                    .ok();
            }
        }
    }
    eprintln!("{name}: {kinds:?}");
    // Without these outcomes the mutants would not reach code in which the engines could differ.
    for kind in ["done", "stopped", "livelock"] {
        assert!(
            count < 60 || kinds.contains_key(kind),
            "none is {kind}: {kinds:?}"
        );
    }
}

#[test]
fn gfx600() {
    mutants("gfx600");
}
#[test]
fn gfx701() {
    mutants("gfx701");
}
#[test]
fn gfx803() {
    mutants("gfx803");
}
#[test]
fn gfx900() {
    mutants("gfx900");
}
#[test]
fn gfx906() {
    mutants("gfx906");
}

/// Waves that read, add and store the same data, so that their order matters.
#[test]
fn racing_waves_race_in_the_same_order() {
    if !gcn_jit::available() {
        eprintln!("skipped: this host cannot run compiled code");
        return;
    }
    let body = |count: u32| {
        format!(
            "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v1, s4\nv_mov_b32 v2, s5\n\
             v_lshlrev_b32 v3, 2, v0\nv_and_b32 v3, 0xfc, v3\nv_add_u32 v1, vcc, v1, v3\n\
             v_addc_u32 v2, vcc, 0, v2, vcc\ns_mov_b32 s6, {count:#x}\ns_mov_b32 s7, 0\nL:\nflat_load_dword v4, v[1:2]\n\
             s_waitcnt vmcnt(0) lgkmcnt(0)\nv_mul_lo_u32 v4, v4, 5\nv_add_u32 v4, vcc, s2, v4\n\
             flat_store_dword v[1:2], v4\ns_add_u32 s7, s7, 1\ns_cmp_lt_u32 s7, s6\ns_cbranch_scc1 L\ns_setprio 2\n\
             s_add_u32 s8, s8, 1\ns_cmp_lt_u32 s8, 3\ns_mov_b32 s7, 0\ns_cbranch_scc1 L\ns_endpgm"
        )
    };
    let target = Target::parse("gfx803").expect("a target");
    for count in [100, 1000, 10_000] {
        let boards = Board::both(target, &assembled("gfx803", &body(count)));
        let kernel = &boards[0].loaded.kernels[0];
        let at = boards[0].loaded.base + kernel.entry;
        let mut code = vec![0; 128];
        boards[0].gpu.memory.read(at, &mut code).expect("readable");
        for (deterministic, max_instructions) in [(true, None), (false, Some(200_000))] {
            let launch = Launch {
                grid: [512, 1, 1],
                group: [128, 1, 1],
                kernarg: boards[0].buffers.to_le_bytes().to_vec(),
                max_instructions,
                deterministic,
                threads: 1,
                ..Launch::default()
            };
            let before = vec![1; BUFFER];
            let [want, got] = [0, 1].map(|n| boards[n].run(at, &code, &before, "k", &launch));
            assert_eq!(want.0, got.0, "{count} {launch:?}");
            assert!(want.1 == got.1, "{count} {launch:?}: memory differs");
            let spent = want.0.is_err_and(|e| e.starts_with("stopped"));
            assert_eq!(spent, !deterministic && count > 1000, "{count}");
        }
    }
}

/// Thousands of values of MODE do not make the engine compile thousands of regions, nor keep them.
#[test]
fn code_for_many_modes_is_interpreted() {
    if !gcn_jit::available() {
        eprintln!("skipped: this host cannot run compiled code");
        return;
    }
    let body = "s_mov_b32 s5, 0\nL:\ns_and_b32 s6, s5, 0x3ff\ns_setreg_b32 hwreg(HW_REG_MODE, 0, 10), s6\ns_add_u32 s5, s5, 1\n\
                v_add_f32 v1, 1.0, v1\ns_cmp_lt_u32 s5, 0x4000\ns_cbranch_scc1 L\ns_endpgm";
    let object = assembled("gfx900", body);
    let target = Target::parse("gfx900").expect("a target");
    let cache = gcn_jit::Cache::default();
    let (engines, small) = (cache.clone(), gcn_jit::Cache::default().holding(1 << 14));
    let dropping = small.clone();
    let launch = Launch {
        grid: [64, 1, 1],
        group: [64, 1, 1],
        kernarg: vec![0; 8],
        ..Launch::default()
    };
    let gpu = |cache: gcn_jit::Cache| {
        let gpu = Gpu::with_engine(target, 8 << 20, move || Box::new(cache.engine()));
        let gpu = gpu.expect("a GPU");
        let loaded = gpu.load(&object).expect("it is loaded");
        (gpu, loaded)
    };
    let (gpu_all, loaded) = gpu(engines);
    let ran = gpu_all.dispatch(&loaded, "k", &launch).expect("it runs");
    assert_eq!(ran.instructions, 2 + 6 * 0x4000);
    let stats = cache.stats();
    assert!(stats.regions <= 4 * 32, "{stats:?}");
    assert!(stats.interpreted > ran.instructions / 2, "{stats:?}");
    // With little room, regions are evicted, and compiled again when they are needed again.
    let (gpu_small, loaded) = gpu(dropping);
    for _ in 0..3 {
        let again = gpu_small.dispatch(&loaded, "k", &launch).expect("it runs");
        assert_eq!(again, ran);
    }
    assert!(small.dropped() > 3, "{} times", small.dropped());
}
