//! What kernels do often, as small kernels of which it is known how they are to run: on both engines, with the same bytes
//! afterwards, and compiled, but for the few times that the engine needs to learn something.
#![cfg(target_arch = "x86_64")]

use gcn_emu::dispatch::{Gpu, Launch};
use gcn_emu::interp::Interp;
use gcn_emu::mem::Perm;
use gcn_isa::Target;
use gcn_jit::{Cache, JitStats, Level};
use gcn_object::CodeObject;

/// Bytes of each of the two buffers.
const BYTES: usize = 1 << 16;
const GROUPS: u32 = 40;
const GROUP: u32 = 128;

/// A kernel's body. Before it s[4:5] is the buffer to read, s[6:7] the one to write, v1 the work-item's number; behind it is
/// s_endpgm.
fn program(body: &str) -> Vec<u8> {
    let source = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n\
         s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_mul_i32 s8, s2, {GROUP}\nv_add_u32 v1, s8, v0\ns_waitcnt lgkmcnt(0)\n\
         {body}\ns_endpgm\n\
         .rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\
         .amdhsa_next_free_vgpr 40\n.amdhsa_next_free_sgpr 40\n.amdhsa_group_segment_fixed_size 4096\n\
         .end_amdhsa_kernel\n"
    );
    let made = gcn_asm::assemble(&source, "k.s", &gcn_asm::Options::default());
    let object = made.object.unwrap_or_else(|| panic!("{body}"));
    object.loadable().expect("it links")
}

/// What the two buffers hold after the body has run with `before` in the first; the second begins with 0xa5 everywhere.
fn run(gpu: &Gpu, body: &str, before: &[u8]) -> Vec<u8> {
    let bytes = program(body);
    let object = CodeObject::parse(&bytes).expect("it is read");
    let loaded = gpu.load(&object).expect("it is loaded");
    let alloc = || {
        gpu.memory
            .alloc(BYTES as u64, 256, Perm::RW)
            .expect("memory")
    };
    let (from, to) = (alloc(), alloc());
    gpu.memory.write(from, before).expect("writable");
    gpu.memory.write(to, &vec![0xa5; BYTES]).expect("writable");
    let launch = Launch {
        grid: [GROUPS * GROUP, 1, 1],
        group: [GROUP, 1, 1],
        kernarg: [from.to_le_bytes(), to.to_le_bytes()].concat(),
        threads: 1,
        ..Launch::default()
    };
    gpu.dispatch(&loaded, "k", &launch).expect("it runs");
    let mut after = vec![0; 2 * BYTES];
    let (first, second) = after.split_at_mut(BYTES);
    gpu.memory.read(from, first).expect("readable");
    gpu.memory.read(to, second).expect("readable");
    after
}

/// Runs a body on the interpreter and on both levels, which must leave the same bytes; what the best level did.
fn same(body: &str, before: &[u8]) -> Option<JitStats> {
    let target = Target::parse("gfx900").expect("a target");
    let interp = Gpu::with_engine(target, 1 << 22, || Box::new(Interp::new())).expect("a GPU");
    let want = run(&interp, body, before);
    assert!(want[BYTES..].iter().any(|&b| b != 0xa5), "nothing written");
    let mut stats = None;
    for level in [Level::Avx2, Level::Avx512] {
        if !level.available() {
            eprintln!("passed over: this host has no {level:?}");
            continue;
        }
        let cache = Cache::with_level(level);
        let engines = cache.clone();
        let gpu = Gpu::with_engine(target, 1 << 22, move || Box::new(engines.engine()));
        let got = run(&gpu.expect("a GPU"), body, before);
        let at = (0..want.len()).find(|&at| want[at] != got[at]);
        assert_eq!(at, None, "{level:?}: the byte that differs, of {body}");
        stats = Some(cache.stats());
    }
    stats
}

fn words(word: impl Fn(u32) -> u32) -> Vec<u8> {
    (0..BYTES as u32 / 4)
        .flat_map(|n| word(n).to_le_bytes())
        .collect()
}

/// The dword of the work-item from the first buffer to v2.
const READ: &str =
    "v_lshlrev_b32 v8, 2, v1\nglobal_load_dword v2, v8, s[4:5]\ns_waitcnt vmcnt(0)\n";
/// v3 to the work-item's dword of the second buffer.
const WRITE: &str = "\nv_lshlrev_b32 v8, 2, v1\nglobal_store_dword v8, v3, s[6:7]";

/// Work-items below a limit in the midst of a wave: for most waves what is asked is decided, and branches are none.
#[test]
fn work_items_below_a_limit() {
    for (compare, limit) in [
        ("gt_u32", 4600),
        ("ge_i32", 4607),
        ("ne_u32", 4600),
        ("lt_u32", 100),
        ("le_i32", -5),
    ] {
        let body = format!(
            "s_movk_i32 s9, {limit}\nv_mov_b32 v3, 5\nv_cmp_{compare} vcc, s9, v1\ns_and_saveexec_b64 s[10:11], vcc\n\
             s_xor_b64 s[10:11], exec, s[10:11]\ns_cbranch_execz other\n{READ}v_add_u32 v3, 7, v2{WRITE}\n\
             other:\ns_or_saveexec_b64 s[12:13], s[10:11]\ns_xor_b64 exec, exec, s[12:13]\ns_cbranch_execz done\n\
             v_mov_b32 v3, v1{WRITE}\ndone:\ns_or_b64 exec, exec, s[12:13]\nv_add_u32 v3, v3, v1\n\
             v_lshlrev_b32 v8, 2, v1\nglobal_store_dword v8, v3, s[6:7] offset:2048"
        );
        let Some(stats) = same(&body, &words(|n| n * n)) else {
            return;
        };
        assert!(stats.full > 0 && stats.interpreted < 100, "{stats:?}");
    }
}

/// The neighbours of a work-item, the edges' being themselves: addresses are chosen by comparisons.
#[test]
fn neighbours_at_an_edge() {
    let last = GROUPS * GROUP - 1;
    let body = format!(
        "s_movk_i32 s9, {last}\nv_add_u32 v2, -1, v1\nv_cmp_ne_u32 vcc, 0, v1\nv_cndmask_b32 v2, 0, v2, vcc\n\
         v_cmp_ne_u32 vcc, s9, v1\nv_addc_co_u32 v3, vcc, 0, v1, vcc\nv_lshlrev_b32 v2, 2, v2\nv_lshlrev_b32 v3, 2, v3\n\
         global_load_dword v4, v2, s[4:5]\nglobal_load_dword v5, v3, s[4:5]\ns_waitcnt vmcnt(0)\nv_sub_u32 v3, v4, v5{WRITE}"
    );
    if let Some(stats) = same(&body, &words(|n| n * n)) {
        assert!(stats.full > 0 && stats.interpreted < 100, "{stats:?}");
    }
}

/// A chunk that meets NaNs in every wave is soon compiled for them, even one with which the wave ends.
#[test]
fn nans_in_the_last_chunk() {
    // The sum's bits are looked at, and it is a NaN from 2.0 on.
    let body = format!(
        "{READ}v_or_b32 v3, 1.0, v2\nv_add_f32 v3, -1.0, v3\nv_lshrrev_b32 v3, 1, v3{WRITE}"
    );
    let floats = words(|n| (1.0 + n as f32 / 64.0).to_bits());
    let Some(stats) = same(&body, &floats) else {
        return;
    };
    let waves = (GROUPS * GROUP / 64) as u64;
    assert!(
        stats.restarts > 0 && stats.restarts < waves / 2,
        "{stats:?}"
    );
}
