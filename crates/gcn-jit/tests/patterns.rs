//! Small kernels with the patterns of real ones. Each must leave the same bytes on both engines, and most must run compiled.
#![cfg(target_arch = "x86_64")]

use gcn_emu::dispatch::{Gpu, Launch};
use gcn_emu::interp::Interp;
use gcn_emu::mem::Perm;
use gcn_isa::Target;
use gcn_jit::{Cache, JitStats, Level, Optional};
use gcn_object::CodeObject;

/// The size in bytes of each of the two buffers.
const BYTES: usize = 1 << 16;
const GROUPS: u32 = 40;
const GROUP: u32 = 128;

/// Assembles a kernel's body. On entry s[4:5] is the buffer to read, s[6:7] the one to write, v1 the work-item's number; s_endpgm follows.
fn program(body: &str) -> Vec<u8> {
    // Compilers set MODE to keep denormals in code with divisions.
    let keep = ["v_div_scale", "v_log"].iter().any(|k| body.contains(k));
    let denormals = if keep { 3 } else { 0 };
    let source = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n\
         s_load_dwordx4 s[4:7], s[0:1], 0x0\ns_mul_i32 s8, s2, {GROUP}\nv_add_u32 v1, s8, v0\ns_waitcnt lgkmcnt(0)\n\
         {body}\ns_endpgm\n\
         .rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\
         .amdhsa_float_denorm_mode_32 {denormals}\n.amdhsa_next_free_vgpr 40\n.amdhsa_next_free_sgpr 40\n.amdhsa_group_segment_fixed_size 4096\n\
         .end_amdhsa_kernel\n"
    );
    let made = gcn_asm::assemble(&source, "k.s", &gcn_asm::Options::default());
    let object = made.object.unwrap_or_else(|| panic!("{body}"));
    object.loadable().expect("it links")
}

/// Returns the contents of both buffers after the body has run with `before` in the first, and the fault's message. The
/// second buffer starts as 0xa5 in every byte.
fn run(gpu: &Gpu, body: &str, before: &[u8]) -> (Vec<u8>, Option<String>) {
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
    let ran = gpu.dispatch(&loaded, "k", &launch);
    let mut after = vec![0; 2 * BYTES];
    let (first, second) = after.split_at_mut(BYTES);
    gpu.memory.read(from, first).expect("readable");
    gpu.memory.read(to, second).expect("readable");
    (after, ran.err().map(|e| e.to_string()))
}

/// Runs a body on the interpreter and on both levels, which must leave the same bytes. Returns the statistics of the best level.
fn same(body: &str, before: &[u8]) -> Option<JitStats> {
    let (stats, fault) = same_with_fault(body, before);
    assert_eq!(fault, None, "{body}");
    stats
}

/// Like [`same`], for a body that may fail. Returns the fault's message, too.
fn same_with_fault(body: &str, before: &[u8]) -> (Option<JitStats>, Option<String>) {
    let target = Target::parse("gfx900").expect("a target");
    let interp = Gpu::with_engine(target, 1 << 22, || Box::new(Interp::new())).expect("a GPU");
    let (want, fault) = run(&interp, body, before);
    assert!(want[BYTES..].iter().any(|&b| b != 0xa5), "nothing written");
    let mut stats = None;
    for level in [Level::Avx2, Level::Avx512] {
        if !level.available() {
            eprintln!("skipped: this host has no {level:?}");
            continue;
        }
        let cache = Cache::with_level(level);
        let engines = cache.clone();
        let gpu = Gpu::with_engine(target, 1 << 22, move || Box::new(engines.engine()));
        let (got, failed) = run(&gpu.expect("a GPU"), body, before);
        let at = (0..want.len()).find(|&at| want[at] != got[at]);
        assert_eq!(at, None, "{level:?}: the byte that differs, of {body}");
        assert_eq!(failed, fault, "{level:?}: {body}");
        let now = cache.stats();
        let all_active = now.all_active;
        if let Some(before) = stats.replace(now) {
            // All levels have the variants for waves with all lanes active.
            assert_eq!(before.all_active, all_active, "{body}");
        }
    }
    (stats, fault)
}

/// Asserts that nothing was interpreted or re-executed.
fn compiled(stats: Option<JitStats>, body: &str) {
    if let Some(s) = stats {
        assert!(s.interpreted == 0 && s.restarts == 0, "{s:?}: {body}");
    }
}

/// Asserts that all-active blocks were compiled, and that little was interpreted.
fn has_all_active_blocks(stats: &JitStats) {
    let all_active = stats.all_active > 0 || Level::best().is_none();
    assert!(all_active && stats.interpreted < 100, "{stats:?}");
}

fn random(seed: u32) -> impl Fn(u32) -> u32 {
    move |n| {
        let x = (n ^ seed << 16).wrapping_mul(0x9e37_79b9);
        let x = (x ^ x >> 15).wrapping_mul(0x85eb_ca6b);
        x ^ x >> 13
    }
}

fn words(word: impl Fn(u32) -> u32) -> Vec<u8> {
    (0..BYTES as u32 / 4)
        .flat_map(|n| word(n).to_le_bytes())
        .collect()
}

/// Loads the work-item's dword of the first buffer into v2.
const READ: &str =
    "v_lshlrev_b32 v8, 2, v1\nglobal_load_dword v2, v8, s[4:5]\ns_waitcnt vmcnt(0)\n";
/// Stores v3 to the work-item's dword of the second buffer.
const WRITE: &str = "\nv_lshlrev_b32 v8, 2, v1\nglobal_store_dword v8, v3, s[6:7]";

/// A limit on work-items in the middle of a wave. In most waves the comparison has the same result in all lanes, so no lane diverges.
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
        has_all_active_blocks(&stats);
    }
}

/// Loads of a work-item's neighbours, clamped at the edges. Comparisons select the addresses.
#[test]
fn neighbours_at_an_edge() {
    let last = GROUPS * GROUP - 1;
    let body = format!(
        "s_movk_i32 s9, {last}\nv_add_u32 v2, -1, v1\nv_cmp_ne_u32 vcc, 0, v1\nv_cndmask_b32 v2, 0, v2, vcc\n\
         v_cmp_ne_u32 vcc, s9, v1\nv_addc_co_u32 v3, vcc, 0, v1, vcc\nv_lshlrev_b32 v2, 2, v2\nv_lshlrev_b32 v3, 2, v3\n\
         global_load_dword v4, v2, s[4:5]\nglobal_load_dword v5, v3, s[4:5]\ns_waitcnt vmcnt(0)\nv_sub_u32 v3, v4, v5{WRITE}"
    );
    if let Some(stats) = same(&body, &words(|n| n * n)) {
        has_all_active_blocks(&stats);
    }
}

/// A block that encounters NaNs in every wave is recompiled for them, even if it is the last block of the kernel.
#[test]
fn nans_in_the_last_block() {
    // The sum's bits are used, and the sum is a NaN from 2.0 on.
    let body =
        |sum: &str| format!("{READ}v_or_b32 v3, 1.0, v2\n{sum}\nv_lshrrev_b32 v3, 1, v3{WRITE}");
    let floats = words(|n| (1.0 + n as f32 / 64.0).to_bits());
    let Some(stats) = same(&body("v_fma_f32 v3, v3, 1.0, -1.0"), &floats) else {
        return;
    };
    let waves = (GROUPS * GROUP / 64) as u64;
    assert!(
        stats.restarts > 0 && stats.restarts < waves / 2,
        "{stats:?}"
    );
    // A sum is the same NaN on the host, so nothing needs to be done again.
    let stats = same(&body("v_add_f32 v3, -1.0, v3"), &floats).expect("compiled code");
    assert_eq!(stats.restarts, 0, "{stats:?}");
}

/// Sums, differences and products of two NaNs are the first one, wherever the operands are; what follows them keeps it.
#[test]
fn two_nans() {
    let nan = |n: u32| {
        let sign = n << 31;
        let payload = n.wrapping_mul(0x9e37_79b9) >> 9;
        sign | 0x7f80_0000 | payload.max(1)
    };
    for op in ["v_add_f32", "v_sub_f32", "v_subrev_f32", "v_mul_f32"] {
        let operands = [
            "v4, v2, v10",
            "v4, v10, v2",
            "v4, s9, v2",
            "v4, v2, v2",
            "v4, v10, v11",
            "v4, v11, v10",
        ];
        for operands in operands {
            // v10 and v11 are in memory where the block begins.
            let body = format!(
                "{READ}s_mov_b32 s9, 0xffc12345\nv_xor_b32 v10, 0x80001234, v2\nv_xor_b32 v11, 0x4321, v2\ns_barrier\n\
                 {op} {operands}\nv_mul_f32 v3, v10, v4\nv_add_f32 v3, v11, v3\nv_xor_b32 v3, 0x55, v3{WRITE}",
            );
            let Some(stats) = same(&body, &words(nan)) else {
                return;
            };
            assert_eq!(stats.restarts, 0, "{body}: {stats:?}");
        }
    }
    // A selection passes a sum on. What decides it may be computed from another NaN than the interpreter's.
    let body = format!(
        "{READ}v_xor_b32 v10, 0x80001234, v2\ns_barrier\nv_fma_f32 v5, v2, v2, v2\nv_cmp_lt_f32 vcc, v5, v2\n\
         v_mul_f32 v4, v2, v2\nv_add_f32 v4, v10, v4\nv_cndmask_b32 v3, v4, 0, vcc{WRITE}"
    );
    same(&body, &words(nan));
}

/// Loads of up to four dwords: suffix of the name, bytes, number of registers.
const LOADS: [(&str, i32, u32); 8] = [
    ("ubyte", 1, 1),
    ("sbyte", 1, 1),
    ("ushort", 2, 1),
    ("sshort", 2, 1),
    ("dword", 4, 1),
    ("dwordx2", 8, 2),
    ("dwordx3", 12, 3),
    ("dwordx4", 16, 4),
];
/// Stores of up to four dwords, in the same form.
const STORES: [(&str, i32, u32); 6] = [
    ("byte", 1, 1),
    ("short", 2, 1),
    ("dword", 4, 1),
    ("dwordx2", 8, 2),
    ("dwordx3", 12, 3),
    ("dwordx4", 16, 4),
];

fn registers(count: u32) -> String {
    match count {
        1 => "v10".to_string(),
        n => format!("v[10:{}]", 9 + n),
    }
}

/// Returns code that computes v3 from `count` registers from v10 on.
fn fold(count: u32) -> String {
    let mut text = "s_waitcnt vmcnt(0)\nv_mov_b32 v3, 0\n".to_string();
    for k in 0..count {
        text += &format!("v_mul_lo_u32 v3, v3, 13\nv_add_u32 v3, v3, v{}\n", 10 + k);
    }
    text
}

/// Activates the work-items 3 to 99 of each workgroup.
const SOME_LANES: &str = "v_cmp_lt_u32 vcc, 2, v0\ns_and_b64 exec, exec, vcc\nv_cmp_gt_u32 vcc, 100, v0\n\
                    s_and_b64 exec, exec, vcc\n";

/// Active work-items, and the byte offset of an access.
const MASKS_AND_OFFSETS: [(&str, i32); 5] = [
    ("", 0),
    (SOME_LANES, 5),
    ("", -7),
    ("", 4),
    (SOME_LANES, -12),
];

/// Loads whose addresses have any stride from lane to lane.
#[test]
fn loads_at_strides() {
    let before = words(random(1));
    for (name, _, count) in LOADS {
        for step in [
            1, 2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 32, 64, 300, -1, -3, -4, -8, -16, -32,
        ] {
            for (mask, offset) in MASKS_AND_OFFSETS {
                let body = format!(
                    "{mask}s_movk_i32 s10, {step}\nv_mul_lo_u32 v8, v0, s10\nv_add_u32 v8, 0x4000, v8\n\
                     v_mov_b32 v9, s5\nv_add_co_u32 v8, vcc, s4, v8\nv_addc_co_u32 v9, vcc, 0, v9, vcc\n\
                     global_load_{name} {}, v[8:9], off offset:{offset}\n{}{WRITE}",
                    registers(count),
                    fold(count)
                );
                compiled(same(&body, &before), &body);
            }
        }
    }
}

/// Stores whose addresses have any stride from lane to lane at which the lanes do not overlap.
#[test]
fn stores_at_strides() {
    let before = words(random(2));
    for (name, size, count) in STORES {
        for step in [
            1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 60, -1, -2, -4, -8, -16, -32,
        ] {
            if i32::abs(step) < size {
                continue;
            }
            for (mask, offset) in MASKS_AND_OFFSETS {
                let body = format!(
                    "v_lshlrev_b32 v8, 4, v0\nglobal_load_dwordx4 v[10:13], v8, s[4:5]\n{mask}\
                     s_movk_i32 s10, {step}\nv_mul_lo_u32 v8, v0, s10\nv_add_u32 v8, 0x4000, v8\n\
                     v_mov_b32 v9, s7\nv_add_co_u32 v8, vcc, s6, v8\nv_addc_co_u32 v9, vcc, 0, v9, vcc\n\
                     s_waitcnt vmcnt(0)\nglobal_store_{name} v[8:9], {}, off offset:{offset}",
                    registers(count),
                );
                compiled(same(&body, &before), &body);
            }
        }
    }
}

/// Loads and stores at a stride that is known only at run time. It is equal to the element's size, larger, or smaller. In the last case
/// lanes overlap, and memory keeps the bytes of the highest lane.
#[test]
fn strides_known_at_run_time() {
    let mut before = words(random(9));
    before[..4].fill(0);
    let step = |step: i32| {
        format!(
            "s_load_dword s10, s[4:5], 0x0\ns_waitcnt lgkmcnt(0)\ns_add_i32 s10, s10, {step}\nv_mul_lo_u32 v8, v0, s10\n\
             v_add_u32 v8, 0x4000, v8\n"
        )
    };
    for by in [0, 1, 2, 4, 8, 12, 16, 20, -4] {
        for (mask, offset) in [("", 0), (SOME_LANES, 5), ("", -7), (SOME_LANES, -12)] {
            for (name, _, count) in LOADS {
                let body = format!(
                    "{}{mask}v_mov_b32 v9, s5\nv_add_co_u32 v8, vcc, s4, v8\nv_addc_co_u32 v9, vcc, 0, v9, vcc\n\
                     global_load_{name} {}, v[8:9], off offset:{offset}\n{}{WRITE}",
                    step(by),
                    registers(count),
                    fold(count)
                );
                compiled(same(&body, &before), &body);
            }
            for (name, _, count) in STORES {
                let body = format!(
                    "v_lshlrev_b32 v8, 4, v0\nglobal_load_dwordx4 v[10:13], v8, s[4:5]\n{}{mask}\
                     v_mov_b32 v9, s7\nv_add_co_u32 v8, vcc, s6, v8\nv_addc_co_u32 v9, vcc, 0, v9, vcc\n\
                     s_waitcnt vmcnt(0)\nglobal_store_{name} v[8:9], {}, off offset:{offset}",
                    step(by),
                    registers(count),
                );
                compiled(same(&body, &before), &body);
            }
        }
    }
}

/// Loads an offset into v8, from the work-item's dword of the first buffer. It is at least 16 bytes before the buffer's end. v[10:13]
/// are computed from it.
const ANY_OFFSET: &str = "v_lshlrev_b32 v8, 2, v1\nglobal_load_dword v8, v8, s[4:5]\ns_waitcnt vmcnt(0)\n\
     v_mul_lo_u32 v10, v8, v8\nv_mul_lo_u32 v11, v10, v8\nv_mul_lo_u32 v12, v11, v8\nv_mul_lo_u32 v13, v12, v8\n\
     v_and_b32 v8, 0xffef, v8\n";

/// Gathers within a buffer, up to its last byte, and from two buffers at once.
#[test]
fn gathers() {
    let before = words(random(3));
    for (name, size, count) in LOADS {
        let near_end = format!(
            "v_bfe_u32 v8, v8, 0, 5\nv_add_u32 v8, {:#x}, v8\n",
            BYTES as i32 - 31 - size
        );
        for (mask, change) in [("", ""), (SOME_LANES, ""), (SOME_LANES, &near_end[..])] {
            for two in [
                "",
                "v_and_b32 v9, 1, v0\nv_cmp_eq_u32 vcc, 0, v9\nv_cndmask_b32 v14, v14, v16, vcc\n\
                             v_cndmask_b32 v15, v15, v17, vcc\n",
            ] {
                let body = format!(
                    "{ANY_OFFSET}{change}{mask}v_mov_b32 v14, s4\nv_mov_b32 v15, s5\nv_mov_b32 v16, s6\nv_mov_b32 v17, s7\n\
                     {two}v_add_co_u32 v8, vcc, v14, v8\nv_addc_co_u32 v9, vcc, 0, v15, vcc\n\
                     global_load_{name} {}, v[8:9], off\n{}{WRITE}",
                    registers(count),
                    fold(count),
                );
                compiled(same(&body, &before), &body);
            }
        }
    }
}

/// Scatters. Some are to equal or overlapping addresses, where memory keeps the bytes of the highest lane.
#[test]
fn scatters() {
    let before = words(random(4));
    for (name, _, count) in STORES {
        for mask in ["", SOME_LANES] {
            for few in ["", "v_and_b32 v8, 0x7c, v8\n"] {
                let body = format!(
                    "{ANY_OFFSET}{few}{mask}v_mov_b32 v9, s7\nv_add_co_u32 v8, vcc, s6, v8\nv_addc_co_u32 v9, vcc, 0, v9, vcc\n\
                     global_store_{name} v[8:9], {}, off",
                    registers(count),
                );
                compiled(same(&body, &before), &body);
            }
        }
    }
}

/// An address outside of memory in some lane gives the same message as in the interpreter.
#[test]
fn lanes_that_fail() {
    let before = words(random(5));
    for (way, registers) in [
        ("load_ubyte v10, ", ""),
        ("load_dwordx2 v[10:11], ", ""),
        ("store_dword ", ", v10"),
    ] {
        for address in [
            "s_movk_i32 s10, 300\nv_mul_lo_u32 v8, v0, s10\n",
            "v_mul_lo_u32 v8, v0, v0\nv_lshlrev_b32 v8, 3, v8\n",
        ] {
            let body = format!(
                "v_mov_b32 v3, v1\n{WRITE}\ns_cmp_lt_u32 s2, 3\ns_cbranch_scc1 far\n{address}s_branch on\n\
                 far:\nv_mul_lo_u32 v8, v0, 8\non:\nv_mov_b32 v9, s7\nv_add_co_u32 v8, vcc, s6, v8\n\
                 v_addc_co_u32 v9, vcc, 0, v9, vcc\nv_add_co_u32 v8, vcc, 0x8000, v8\nv_addc_co_u32 v9, vcc, 0, v9, vcc\n\
                 global_{way}v[8:9]{registers}, off"
            );
            let (_, fault) = same_with_fault(&body, &before);
            assert!(fault.is_some(), "{body}");
        }
    }
}

/// Gathers from LDS, some of them beyond its end.
#[test]
fn gathers_of_lds() {
    let before = words(random(6));
    let loads = [
        ("u8", 1),
        ("u16", 1),
        ("b32", 1),
        ("b64", 2),
        ("b96", 3),
        ("b128", 4),
    ];
    for (name, count) in loads {
        for (mask, most) in [
            ("", 0xfef),
            (SOME_LANES, 0xfef),
            (SOME_LANES, 0xfff),
            ("", 0x1fff),
        ] {
            for offset in [0, 13] {
                let body = format!(
                    "v_lshlrev_b32 v8, 3, v1\nv_and_b32 v8, 0xfff8, v8\nglobal_load_dwordx2 v[10:11], v8, s[4:5]\n\
                     v_lshlrev_b32 v9, 5, v0\ns_waitcnt vmcnt(0)\nds_write_b64 v9, v[10:11]\n\
                     ds_write_b64 v9, v[10:11] offset:8\nds_write_b64 v9, v[10:11] offset:16\n\
                     ds_write_b64 v9, v[10:11] offset:24\ns_waitcnt lgkmcnt(0)\ns_barrier\n\
                     v_and_b32 v9, {most:#x}, v10\nv_mov_b32 v3, 0\n{mask}\
                     ds_read_{name} {}, v9 offset:{offset}\ns_waitcnt lgkmcnt(0)\n{}{WRITE}",
                    registers(count),
                    fold(count),
                );
                compiled(same(&body, &before), &body);
            }
        }
    }
}

/// Indices as compilers compute them: sign-extended, shifted and added to a pointer, multiplied, and with 24 bits. In the
/// middle of a wave they change sign, or wrap.
#[test]
fn indices_of_64_and_24_bits() {
    let before = words(random(9));
    let address = "v_add_co_u32 v12, vcc, s4, v10\nv_mov_b32 v13, s5\nv_addc_co_u32 v13, vcc, v13, v11, vcc\n\
                   global_load_dword v2, v[12:13], off offset:400\ns_waitcnt vmcnt(0)\n";
    let bodies = [
        // (long)(id - 100) << 2 as an arithmetic shift right of a 64-bit number whose lower half is 0.
        format!(
            "v_add_u32 v9, 0xffffff9c, v1\nv_mov_b32 v8, 0\nv_ashrrev_i64 v[10:11], 30, v[8:9]\n{address}v_xor_b32 v3, v2, v11"
        ),
        // The same index, from a 64-bit product.
        format!(
            "v_add_u32 v9, 0xffffff9c, v1\nv_mov_b32 v8, 4\nv_mov_b32 v6, 0\nv_mov_b32 v7, 0\n\
             v_mad_i64_i32 v[10:11], vcc, v9, v8, v[6:7]\n{address}v_xor_b32 v3, v2, v11"
        ),
        // A 24-bit number that wraps, signed and then unsigned. It is used as an index and as a value.
        String::from(
            "v_add_u32 v9, 0x7ff010, v1\nv_mul_i32_i24 v10, 1, v9\nv_and_b32 v11, 0xfff, v10\nv_lshlrev_b32 v11, 2, v11\n\
             global_load_dword v2, v11, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_u32 v3, v2, v10",
        ),
        String::from(
            "v_add_u32 v9, 0xfff010, v1\nv_mul_u32_u24 v10, 1, v9\nv_and_b32 v11, 0xfff, v10\nv_lshlrev_b32 v11, 2, v11\n\
             global_load_dword v2, v11, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_u32 v3, v2, v10",
        ),
    ];
    for body in bodies {
        let body = format!("{body}{WRITE}");
        same(&body, &before);
    }
}

/// An access whose signed index is negative in some lanes, and one whose index wraps in inactive lanes. The code for affine addresses runs
/// all waves except the one that wraps.
#[test]
fn signed_indices() {
    let before = words(random(10));
    let address = "v_ashrrev_i32 v10, 31, v9\nv_lshlrev_b64 v[10:11], 2, v[9:10]\n\
                   v_add_co_u32 v12, vcc, s10, v10\nv_mov_b32 v13, s11\nv_addc_co_u32 v13, vcc, v13, v11, vcc\n\
                   global_load_dword v3, v[12:13], off offset:8\ns_waitcnt vmcnt(0)\n";
    // The first work-item's index is -2600, relative to element 4096, so the index is 0 in lane 40 of a wave.
    let body = format!(
        "s_add_u32 s10, s4, 0x4000\ns_addc_u32 s11, s5, 0\nv_add_u32 v9, 0xfffff5d8, v1\n{address}{WRITE}"
    );
    let stats = same(&body, &before);
    assert!(stats.is_none_or(|s| s.not_affine == 0), "{stats:?}");
    compiled(stats, &body);
    // The index wraps to the least number in lane 40, which is inactive.
    let body = format!(
        "s_sub_u32 s10, s4, 0xffffd760\ns_subb_u32 s11, s5, 1\nv_add_u32 v9, 0x7ffff5d8, v1\n\
         v_cmp_gt_u32 vcc, 0xa28, v1\ns_and_saveexec_b64 s[12:13], vcc\n{address}{WRITE}"
    );
    let stats = same(&body, &before);
    assert!(stats.is_none_or(|s| s.not_affine <= 1), "{stats:?}");
}

/// An index whose lowest bit is computed separately, for every other element of a row, as in raw images.
#[test]
fn every_other_element_of_a_row() {
    let before = words(random(11));
    let body = format!(
        "s_and_b32 s9, s2, 1\nv_lshlrev_b32 v9, 1, v1\nv_mov_b32 v8, s9\nv_or_b32 v9, v9, v8\n\
         v_lshlrev_b32 v9, 2, v9\nglobal_load_dword v2, v9, s[4:5]\n\
         global_load_dword v3, v9, s[4:5] offset:16\ns_waitcnt vmcnt(0)\nv_xor_b32 v3, v3, v2{WRITE}"
    );
    let stats = same(&body, &before);
    assert!(stats.is_none_or(|s| s.not_affine == 0), "{stats:?}");
    compiled(stats, &body);
}

/// Vectors of two and four floats with the same operation on every element, and others.
#[test]
fn elements_of_vectors() {
    let four = |op: &dyn Fn(u32) -> String| (12..16).map(op).collect::<String>();
    let bodies = [
        four(&|v| format!("v_mul_f32 v{v}, 2.0, v{v}\nv_fma_f32 v{v}, v{v}, s9, v{}\n", v + 4)),
        four(&|v| format!("v_max_i32 v{v}, v{v}, v{}\nv_cmp_gt_f32 vcc, 0, v{v}\nv_cndmask_b32 v{v}, v{v}, v4, vcc\n", v + 4)),
        // The next ones combine different elements, or use the work-item's number.
        "v_add_f32 v12, v12, v13\nv_add_f32 v13, v13, v14\nv_add_f32 v14, v14, v15\nv_add_f32 v15, v15, v12\n".into(),
        four(&|v| format!("v_add_f32 v{v}, v{v}, v{}\n", 31 - v)),
        four(&|v| format!("v_xor_b32 v{v}, v{v}, v1\n")),
        "v_add_f32 v12, v12, v16\nv_mul_f32 v13, v13, v17\n".into(),
        // Each element has scalars of its own, by kernel arguments, constants and both.
        four(&|v| format!("v_sub_f32 v{v}, v{v}, s{}\nv_mul_f32 v{v}, s{}, v{v}\n", v + 12, 38 - v)),
        four(&|v| format!("v_add_f32 v{v}, 0x3f{:02x}0000, v{v}\nv_max_i32 v{v}, s{}, v{v}\n", v, v + 12)),
        "v_add_f32 v12, s24, v12\nv_add_f32 v13, 1.0, v13\nv_add_f32 v14, v4, v14\nv_add_f32 v15, s25, v15\n".into(),
        // The last element stays as it is, two are exchanged, and all become a sum of others.
        "v_mul_f32 v12, s24, v12\nv_mul_f32 v13, s25, v13\nv_mul_f32 v14, s26, v14\n".into(),
        "v_swap_b32 v12, v14\nv_mul_f32 v13, s9, v13\n".into(),
        "v_fma_f32 v14, v12, s24, v13\nv_mov_b32 v12, v14\nv_mov_b32 v13, v14\n".into(),
        four(&|v| format!("v_lshlrev_b32 v{v}, {}, v{v}\n", v - 10)),
        // One element is used again.
        four(&|v| format!("v_add_f32 v{v}, v{v}, s9\n"))
            + "v_lshlrev_b32 v9, 2, v1\nglobal_store_dword v9, v13, s[6:7] offset:0x800\n",
    ];
    // The data contain some NaNs, infinities and denormals.
    let numbers = random(12);
    let before = words(|n| match numbers(n) {
        x if n.is_multiple_of(97) => x,
        x => (x as f32 * 1e-9).to_bits(),
    });
    for body in bodies {
        for (to, offset) in [("s[6:7]", 0), ("s[4:5]", 0), ("s[4:5]", 0x70)] {
            let body = format!(
                "s_load_dwordx4 s[24:27], s[4:5], 0x100\ns_mov_b32 s9, 0x3fc00000\nv_mov_b32 v4, 1.0\n\
                 v_cmp_gt_u32 vcc, 0xe6a, v1\ns_and_saveexec_b64 s[12:13], vcc\n\
                 s_cbranch_execz done\nv_lshlrev_b32 v8, 4, v1\nglobal_load_dwordx4 v[12:15], v8, s[4:5]\n\
                 global_load_dwordx4 v[16:19], v8, s[4:5] offset:0x40\ns_waitcnt vmcnt(0) & lgkmcnt(0)\n{body}\
                 global_store_dwordx4 v8, v[12:15], {to} offset:{offset}\ndone:\nv_mov_b32 v8, 0\nglobal_store_dword v8, v4, s[6:7]"
            );
            let fault = same_with_fault(&body, &before).1;
            assert_eq!(fault, None, "{body}");
        }
    }
}

/// Disabling any one optimisation does not change results.
#[test]
fn disabled_optimisations_keep_results() {
    let before = words(random(13));
    let body = format!(
        "s_mov_b32 s9, 0x3fc00000\nv_mov_b32 v3, 0\nv_cmp_gt_u32 vcc, 0xe6a, v1\ns_and_saveexec_b64 s[12:13], vcc\n\
         s_cbranch_execz done\nv_lshlrev_b32 v8, 3, v1\nglobal_load_dwordx2 v[12:13], v8, s[4:5]\ns_waitcnt vmcnt(0)\n\
         v_mul_f32 v12, s9, v12\nv_mul_f32 v13, s9, v13\nglobal_store_dwordx2 v8, v[12:13], s[6:7]\n\
         v_and_b32 v3, v12, v13\nv_or_b32 v3, v3, v1\ndone:\ns_or_b64 exec, exec, s[12:13]{WRITE} offset:2048"
    );
    let target = Target::parse("gfx900").expect("a target");
    let interp = Gpu::with_engine(target, 1 << 22, || Box::new(Interp::new())).expect("a GPU");
    let want = run(&interp, &body, &before);
    for level in [Level::Avx2, Level::Avx512]
        .into_iter()
        .filter(|l| l.available())
    {
        let all_active = Cache::with_level(level);
        for one in Optional::ALL {
            let cache = all_active.clone().without(one);
            let engines = cache.clone();
            let gpu = Gpu::with_engine(target, 1 << 22, move || Box::new(engines.engine()));
            assert_eq!(run(&gpu.expect("a GPU"), &body, &before), want, "{one:?}");
            let stats = cache.stats();
            assert!(stats.regions > 0 && stats.refused == 0, "{stats:?}");
            assert_eq!(stats.in_batch > 0, one != Optional::Batch, "{stats:?}");
            let variants = !matches!(one, Optional::Affine | Optional::AllActive);
            assert_eq!(stats.all_active > 0, variants, "{one:?}: {stats:?}");
        }
    }
    for one in Optional::ALL {
        assert_eq!(Optional::parse(one.name()), Ok(one));
    }
    assert!(Optional::parse("all").is_err());
}

/// Elements of one and two bytes at strides of one to four bytes, and three dwords per lane, in all lanes and in some.
#[test]
fn elements_close_to_each_other() {
    let before = words(random(15));
    for step in 1..=4 {
        for lanes in [0x1400, 0x1351] {
            let body = format!(
                "v_cmp_gt_u32 vcc, {lanes:#x}, v1\ns_and_b64 exec, exec, vcc\nv_mul_u32_u24 v8, {step}, v1\nglobal_load_ubyte v10, v8, s[4:5]\n\
                 global_load_ushort v11, v8, s[4:5] offset:1\nv_and_b32 v12, 0x3ff, v1\nv_mul_u32_u24 v13, 12, v12\n\
                 global_load_dwordx3 v[14:16], v13, s[4:5]\nv_mul_u32_u24 v17, 12, v0\nglobal_load_dwordx3 v[18:20], v17, s[4:5] offset:4\n\
                 s_waitcnt vmcnt(0)\nv_lshl_or_b32 v10, v11, 8, v10\nv_xor_b32 v14, v14, v15\nv_xor_b32 v14, v14, v16\n\
                 v_xor_b32 v18, v18, v14\nv_add_u32 v19, v19, v10\nv_sub_u32 v20, v20, v18\n\
                 v_add_u32 v8, 0xb000, v8\nglobal_store_byte v8, v10, s[6:7]\nv_mul_u32_u24 v9, 12, v1\nv_and_b32 v9, 0x7ffc, v9\n\
                 v_mul_u32_u24 v9, 12, v0\ns_mul_i32 s9, s2, 0x600\ns_and_b32 s9, s9, 0x7fff\nv_add_u32 v9, s9, v9\n\
                 global_store_dwordx3 v9, v[18:20], s[6:7]"
            );
            compiled(same(&body, &before), &body);
        }
    }
}

/// Floats that are the same in all lanes are computed once, with the results that each lane would compute: quotients, conversions, NaNs
/// whose bits matter.
#[test]
fn floats_that_all_lanes_share() {
    let before = words(random(16));
    // The reciprocal of the workgroup's number is infinite in the first workgroup, and its product with the number is a NaN there.
    let body = "v_cvt_f32_u32 v8, s2\nv_rcp_f32 v9, v8\nv_mul_f32 v10, v9, v8\nv_exp_f32 v11, v9\nv_sqrt_f32 v12, v8\n\
        v_add_f32 v13, v11, v12\nv_max_f32 v13, v13, v8\nv_lshlrev_b32 v14, 2, v1\nglobal_load_dword v15, v14, s[4:5]\n\
        s_waitcnt vmcnt(0)\nv_and_b32 v15, 0x3fffffff, v15\nv_mul_f32 v16, v15, v13\nv_fma_f32 v16, v9, v15, v16\nv_and_b32 v10, 0xffff, v10\n\
        v_xor_b32 v16, v16, v10\nglobal_store_dword v14, v16, s[6:7]";
    same(body, &before);
    let some = format!("v_cmp_lt_u32 vcc, 37, v0\ns_and_b64 exec, exec, vcc\n{body}");
    same(&some, &before);
}

/// In a body that uses many optimisations, disabling one changes the code but not the results.
#[test]
fn disabled_optimisations_change_code_only() {
    // Two of four dwords per lane at an affine address; three dwords per lane; offsets that turn out at run time to be consecutive, and
    // others; an atomic in LDS; a carry; masks that clear only bits that are known to be 0.
    let body = "v_lshlrev_b32 v8, 4, v0\nglobal_load_dwordx2 v[10:11], v8, s[4:5] offset:4\n\
        v_mul_u32_u24 v9, 12, v0\nglobal_load_dwordx3 v[12:14], v9, s[4:5]\n\
        s_and_b32 s9, s2, 3\nv_lshlrev_b32 v15, s9, v0\nv_lshlrev_b32 v15, 2, v15\nglobal_load_dword v16, v15, s[4:5]\n\
        v_xor_b32 v17, 3, v0\nv_mul_u32_u24 v17, v17, v17\nv_and_b32 v17, 0xff0, v17\nglobal_load_dwordx4 v[20:23], v17, s[4:5]\n\
        s_waitcnt vmcnt(0)\nv_and_b32 v18, 0xfc, v10\nds_add_u32 v18, v11\n\
        v_add_co_u32 v12, vcc, v12, v13\nv_addc_co_u32 v14, vcc, v14, v20, vcc\n\
        v_add_co_u32 v27, vcc, v14, v12\nv_addc_co_u32 v14, vcc, v14, v27, vcc\n\
        v_lshrrev_b32 v21, 24, v21\nv_and_b32 v21, 0xff, v21\nv_lshrrev_b32 v22, 20, v22\nv_and_b32 v22, 0xfff, v22\nv_and_b32 v22, 0x1fff, v22\nv_and_b32 v22, 0x3fff, v22\nv_mul_f32 v23, v23, v16\n\
        s_waitcnt lgkmcnt(0)\ns_barrier\nv_lshlrev_b32 v24, 2, v0\nds_read_b32 v25, v24\ns_waitcnt lgkmcnt(0)\n\
        v_xor_b32 v14, v14, v12\nv_xor_b32 v14, v14, v10\nv_add_u32 v14, v14, v25\nv_add_u32 v14, v14, v21\nv_add_u32 v14, v14, v22\n\
        v_lshlrev_b32 v28, 2, v1\nglobal_store_dword v28, v14, s[6:7]\n\
        global_store_dword v28, v23, s[6:7] offset:2048";
    let before = words(random(14));
    let target = Target::parse("gfx900").expect("a target");
    let interp = Gpu::with_engine(target, 1 << 22, || Box::new(Interp::new())).expect("a GPU");
    let want = run(&interp, body, &before);
    assert_eq!(want.1, None);
    for level in [Level::Avx2, Level::Avx512]
        .into_iter()
        .filter(|l| l.available())
    {
        let code = |cache: Cache| {
            let engines = cache.clone();
            let gpu = Gpu::with_engine(target, 1 << 22, move || Box::new(engines.engine()));
            let got = run(&gpu.expect("a GPU"), body, &before);
            assert!(got == want, "{level:?}");
            cache.stats().bytes
        };
        let whole = code(Cache::with_level(level));
        let mut expected = vec![
            Optional::Affine,
            Optional::Prefetch,
            Optional::Pace,
            Optional::KnownBits,
            Optional::Rows,
            Optional::Consecutive,
            Optional::GatherRows,
            Optional::OneByOne,
            Optional::Carries,
            Optional::Atomics,
        ];
        if level == Level::Avx512 {
            expected.push(Optional::Triples);
        }
        for one in expected {
            let without = code(Cache::with_level(level).without(one));
            assert_ne!(without, whole, "{level:?}: {one:?} changes nothing");
        }
    }
}

/// A class mask in a register, as compilers keep one that is used often.
#[test]
fn classes_of_a_mask_in_a_register() {
    let body = format!(
        "s_movk_i32 s9, 0x1f8\n{READ}v_cmp_class_f32 vcc, v2, s9\nv_cndmask_b32 v3, v1, v2, vcc{WRITE}"
    );
    let numbers =
        words(|n| [0, 1, 0x7f80_0000, 0xffc0_0000, 0x3f80_0000, 0x8000_0000][n as usize % 6]);
    let other = format!(
        "s_lshl_b32 s9, s2, 3\n{READ}v_cmp_class_f32 vcc, v2, s9\nv_cndmask_b32 v3, v1, v2, vcc{WRITE}"
    );
    for body in [body, other] {
        compiled(same(&body, &numbers), &body);
    }
}

/// Divisions, roots and reciprocals of data with many zeros and infinities. No lane takes the slow path.
#[test]
fn zeros_and_infinities() {
    // v10 and v11 are the work-item's number plus 1 as a float, or in a random quarter of the lanes a zero or an infinity of either sign.
    let operand = |to: &str, bit: u32, few: &str| {
        format!(
            "v_bfe_u32 v12, v2, {bit}, 2\nv_cmp_eq_u32 vcc, 0, v12\nv_cvt_f32_u32 v13, v1\nv_add_f32 v13, 1.0, v13\n\
             v_mov_b32 v14, {few}\nv_lshlrev_b32 v15, 31, v2\nv_or_b32 v14, v14, v15\nv_cndmask_b32 {to}, v13, v14, vcc\n"
        )
    };
    let divide = "v_div_scale_f32 v12, s[10:11], v11, v11, v10\nv_div_scale_f32 v13, vcc, v10, v11, v10\nv_rcp_f32 v14, v12\n\
                  v_fma_f32 v15, -v12, v14, 1.0\nv_fma_f32 v14, v15, v14, v14\nv_mul_f32 v15, v13, v14\n\
                  v_fma_f32 v16, -v12, v15, v13\nv_fma_f32 v15, v16, v14, v15\nv_fma_f32 v12, -v12, v15, v13\n\
                  v_div_fmas_f32 v12, v12, v14, v15\nv_div_fixup_f32 v3, v12, v11, v10\n";
    let before = words(random(9));
    for (few, other) in [
        ("0", "0"),
        ("0", "0x7f800000"),
        ("0x7f800000", "0x7f800000"),
    ] {
        for mask in ["", SOME_LANES] {
            let operands = operand("v10", 4, few) + &operand("v11", 8, other);
            for steps in [
                divide,
                "v_rcp_f32 v3, v10\n",
                "v_and_b32 v10, 0x7fffffff, v10\nv_sqrt_f32 v3, v10\n",
                "v_and_b32 v10, 0x7fffffff, v10\nv_rsq_f32 v3, v10\n",
            ] {
                let body = format!("{READ}{operands}v_mov_b32 v3, 0\n{mask}{steps}{WRITE}");
                if let Some(stats) = same(&body, &before) {
                    assert_eq!(stats.slow_calls, 0, "{body}");
                }
            }
        }
    }
}

/// Square roots and logarithms of doubles, many of them zeros or infinities. No lane takes the slow path.
#[test]
fn zeros_and_infinities_of_doubles() {
    // v[10:11] is the work-item's number plus 1, or in a random quarter of the lanes a zero of either sign or an infinity.
    let operand = |few: &str| {
        format!(
            "v_bfe_u32 v12, v2, 4, 2\nv_cmp_eq_u32 vcc, 0, v12\nv_cvt_f64_u32 v[10:11], v1\n\
             v_add_f64 v[10:11], v[10:11], 1.0\n{few}v_cndmask_b32 v11, v11, v14, vcc\n\
             v_cndmask_b32 v10, v10, 0, vcc\n"
        )
    };
    let zero = "v_lshlrev_b32 v14, 31, v2\n";
    let infinity = "v_mov_b32 v14, 0x7ff00000\n";
    let steps = "v_rsq_f64 v[12:13], v[10:11]\nv_mul_f64 v[14:15], v[10:11], v[12:13]\nv_mul_f64 v[12:13], v[12:13], 0.5\n\
                 v_fma_f64 v[16:17], -v[12:13], v[14:15], 0.5\nv_fma_f64 v[14:15], v[14:15], v[16:17], v[14:15]\n\
                 v_fma_f64 v[12:13], v[12:13], v[16:17], v[12:13]\nv_fma_f64 v[16:17], -v[14:15], v[14:15], v[10:11]\n\
                 v_fma_f64 v[14:15], v[16:17], v[12:13], v[14:15]\nv_fma_f64 v[16:17], -v[14:15], v[14:15], v[10:11]\n\
                 v_fma_f64 v[12:13], v[16:17], v[12:13], v[14:15]\n";
    let before = words(random(9));
    for few in [zero, infinity] {
        for mask in ["", SOME_LANES] {
            for how in [
                steps,
                "v_rsq_f64 v[12:13], v[10:11]\n",
                // The upper half of the double is used as a float, except that of an infinity.
                "v_cmp_eq_u32 vcc, 0x7ff00000, v11\nv_mov_b32 v14, 0x7f800000\n\
                 v_cndmask_b32 v11, v11, v14, vcc\nv_log_f32 v12, v11\nv_mov_b32 v13, 0\n",
            ] {
                let operand = operand(few);
                let body = format!(
                    "{READ}{operand}v_mov_b32 v3, 0\n{mask}{how}v_xor_b32 v3, v12, v13\n{WRITE}"
                );
                let stats = same(&body, &before);
                compiled(stats, &body);
                assert_eq!(stats.map_or(0, |s| s.slow_calls), 0, "{body}");
            }
        }
    }
}

/// Quotients of doubles in which the dividend or the divisor is often a zero or an infinity. No lane takes the slow path at any level.
#[test]
fn quotients_of_doubles() {
    let before = words(random(12));
    for few in ["v_lshlrev_b32 v14, 31, v2", "v_mov_b32 v14, 0x7ff00000"] {
        for [of, by] in [["v[10:11]", "v[18:19]"], ["v[18:19]", "v[10:11]"]] {
            let body = format!(
                "{READ}v_bfe_u32 v12, v2, 4, 2\nv_cmp_eq_u32 vcc, 0, v12\nv_cvt_f64_u32 v[10:11], v1\n\
                 v_add_f64 v[18:19], v[10:11], 4.0\nv_add_f64 v[10:11], v[10:11], 1.0\n{few}\n\
                 v_cndmask_b32 v11, v11, v14, vcc\nv_cndmask_b32 v10, v10, 0, vcc\n\
                 v_div_scale_f64 v[20:21], s[10:11], {by}, {by}, {of}\nv_div_scale_f64 v[22:23], vcc, {of}, {by}, {of}\n\
                 v_rcp_f64 v[24:25], v[20:21]\nv_fma_f64 v[26:27], -v[20:21], v[24:25], 1.0\n\
                 v_fma_f64 v[24:25], v[24:25], v[26:27], v[24:25]\nv_fma_f64 v[26:27], -v[20:21], v[24:25], 1.0\n\
                 v_fma_f64 v[24:25], v[24:25], v[26:27], v[24:25]\nv_mul_f64 v[26:27], v[22:23], v[24:25]\n\
                 v_fma_f64 v[20:21], -v[20:21], v[26:27], v[22:23]\n\
                 v_div_fmas_f64 v[20:21], v[20:21], v[24:25], v[26:27]\n\
                 v_div_fixup_f64 v[12:13], v[20:21], {by}, {of}\nv_xor_b32 v3, v12, v13\n{WRITE}"
            );
            same(&body, &before);
            for level in [Level::Avx2, Level::Avx512] {
                if level.available() {
                    let cache = Cache::with_level(level);
                    let engines = cache.clone();
                    let target = Target::parse("gfx900").expect("a target");
                    let gpu = Gpu::with_engine(target, 1 << 22, move || Box::new(engines.engine()));
                    run(&gpu.expect("a GPU"), &body, &before);
                    assert_eq!(cache.stats().slow_calls, 0, "{level:?}: {body}");
                }
            }
        }
    }
}

/// Stores of three dwords per lane to LDS, in all lanes, in many lanes, and in one.
#[test]
fn three_dwords_to_lds() {
    let write = "v_lshlrev_b32 v9, 4, v0\nv_add_u32 v10, 3, v2\nv_xor_b32 v11, v1, v2\nv_mov_b32 v12, v1\n\
                 ds_write_b96 v9, v[10:12] offset:32\ns_waitcnt lgkmcnt(0)\n";
    let alone = "s_mov_b64 s[10:11], exec\ns_mov_b64 exec, 16\nds_write_b96 v9, v[10:12] offset:36\n\
                 s_waitcnt lgkmcnt(0)\ns_mov_b64 exec, s[10:11]\n";
    let read = "ds_read_b32 v13, v9 offset:32\nds_read_b32 v14, v9 offset:36\nds_read_b32 v15, v9 offset:40\n\
                s_waitcnt lgkmcnt(0)\nv_xor_b32 v3, v13, v14\nv_add_u32 v3, v3, v15\n";
    for (mask, alone) in [("", ""), (SOME_LANES, ""), ("", alone)] {
        let body = format!("{READ}v_mov_b32 v3, 0\n{mask}{write}{alone}{read}{WRITE}");
        compiled(same(&body, &words(random(11))), &body);
    }
}

/// Exponentials whose results overflow or underflow in some lanes.
#[test]
fn exponentials_of_all_sizes() {
    let body = format!(
        "{READ}v_cvt_f32_i32 v10, v2\nv_mul_f32 v10, 0x34000000, v10\nv_exp_f32 v3, v10\n{WRITE}"
    );
    if let Some(stats) = same(&body, &words(random(10))) {
        assert_eq!(stats.slow_calls, 0);
    }
}

/// Comparisons of 64-bit numbers with a limit from memory. Waves are below the limit, above it, or on both sides of it, and some limits
/// differ from the numbers in the upper half.
#[test]
fn limits_of_64_bits() {
    for (compare, signed) in [
        ("lt", 'u'),
        ("gt", 'i'),
        ("le", 'i'),
        ("ge", 'u'),
        ("eq", 'u'),
    ] {
        for (low, high) in [(3000u32, 0), (9999, 0), (0, 0), (5, 1), (3000, u32::MAX)] {
            let body = format!(
                "s_load_dwordx2 s[10:11], s[4:5], 0x0\nv_mov_b32 v2, 0\n\
                 v_lshlrev_b32 v3, 2, v1\ns_waitcnt lgkmcnt(0)\n\
                 v_cmp_{compare}_{signed}64 vcc, v[1:2], s[10:11]\ns_and_saveexec_b64 s[8:9], vcc\ns_cbranch_execz above\n\
                 global_load_dword v4, v3, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_u32 v4, v4, v1\n\
                 global_store_dword v3, v4, s[6:7]\nabove:\ns_xor_b64 exec, exec, s[8:9]\ns_cbranch_execz done\n\
                 global_store_dword v3, v1, s[6:7]\ndone:"
            );
            let mut before = words(random(9));
            before[..4].copy_from_slice(&low.to_le_bytes());
            before[4..8].copy_from_slice(&high.to_le_bytes());
            same(&body, &before);
        }
    }
}

/// Fills v10 to v17 with numbers of the work-item.
fn array() -> String {
    let mut text = READ.to_string();
    for k in 0..8 {
        text += &format!("v_mul_u32_u24 v{}, v2, {}\n", 10 + k, 2 * k + 1);
    }
    text
}

/// Arrays in VGPRs that are indexed in loops, as compilers keep them for gfx9.
#[test]
fn arrays_in_vgprs() {
    let before = words(random(31));
    // A pass of sorting, with the larger one of two elements in v26 and their exchange.
    let sort = "s_mov_b32 s10, 0\nagain:\ns_set_gpr_idx_on s10, gpr_idx(SRC0)\nv_mov_b32 v26, v10\ns_set_gpr_idx_off\n\
        s_add_u32 s12, s10, 1\ns_set_gpr_idx_on s12, gpr_idx(SRC0)\nv_mov_b32 v27, v10\ns_set_gpr_idx_off\n\
        v_cmp_lt_u32 vcc, v27, v26\nv_cndmask_b32 v27, v26, v27, vcc\ns_set_gpr_idx_on s10, gpr_idx(DST)\nv_mov_b32 v10, v27\n\
        s_set_gpr_idx_off\ns_set_gpr_idx_on s12, gpr_idx(SRC0)\nv_mov_b32 v27, v10\ns_set_gpr_idx_off\n\
        v_max_u32 v26, v26, v27\ns_set_gpr_idx_on s12, gpr_idx(DST)\nv_mov_b32 v10, v26\ns_set_gpr_idx_off\n\
        s_mov_b32 s10, s12\ns_cmp_lg_u32 s10, 7\ns_cbranch_scc1 again\n";
    // Each element is a sum of others, indexed as any operand.
    let sums = "s_mov_b32 s10, 7\nagain:\ns_and_b32 s11, s10, 3\ns_set_gpr_idx_on s11, gpr_idx(SRC1,DST)\nv_add_u32 v10, v2, v12\n\
        v_lshlrev_b64 v[12:13], 1, v[11:12]\ns_set_gpr_idx_mode gpr_idx(SRC0,SRC2)\nv_add3_u32 v17, v10, v17, v13\n\
        s_set_gpr_idx_idx s10\nv_cndmask_b32 v16, v10, v2, vcc\ns_add_u32 s12, s12, 1\ns_set_gpr_idx_off\ns_sub_u32 s10, s10, 1\n\
        s_cmp_lg_u32 s10, 0\ns_cbranch_scc1 again\n";
    // Numbers beyond the VGPRs: reads give v0, writes have no effect.
    let beyond = "s_movk_i32 s10, 0xff\ns_add_u32 s10, s10, s2\ns_sub_u32 s10, s10, s2\ns_set_gpr_idx_on s10, gpr_idx(SRC0)\n\
        v_add_u32 v10, v30, v2\ns_set_gpr_idx_mode gpr_idx(DST)\nv_mov_b32 v11, v2\ns_set_gpr_idx_off\n";
    // Writes of one register by its own name and by numbers, in every order.
    let order = "s_and_b32 s10, s2, 3\ns_add_u32 s11, s10, 1\nv_mov_b32 v11, v0\ns_set_gpr_idx_on s10, gpr_idx(DST)\nv_mov_b32 v10, v2\n\
        s_set_gpr_idx_off\nv_add_u32 v16, v11, v12\nv_mov_b32 v12, v16\ns_set_gpr_idx_on s11, gpr_idx(DST)\nv_mov_b32 v10, v16\n\
        v_add_u32 v10, 1, v17\ns_set_gpr_idx_mode gpr_idx(SRC0)\nv_add_u32 v17, v10, v12\ns_set_gpr_idx_off\nv_mov_b32 v13, 7\n\
        v_xor_b32 v14, v11, v14\n";
    for (code, name) in [
        (sort, "sort"),
        (sums, "sums"),
        (beyond, "beyond"),
        (order, "order"),
    ] {
        for lanes in ["", SOME_LANES] {
            let body = format!(
                "v_mov_b32 v9, 0\n{}{lanes}{code}{}{WRITE}",
                array(),
                fold(8)
            );
            let stats = same(&body, &before);
            compiled(stats, name);
        }
    }
}

/// An address that is affine until a write by number changes it.
#[test]
fn indexed_writes_end_facts() {
    let before = words(random(32));
    let body = format!(
        "{READ}v_lshlrev_b32 v9, 2, v1\nv_and_b32 v2, 0x3ffc, v2\ns_and_b32 s10, s2, 1\ns_cmp_lg_u32 s2, 0\n\
         s_cbranch_scc0 over\ns_add_u32 s10, s10, 3\nover:\ns_set_gpr_idx_on s10, gpr_idx(DST)\nv_mov_b32 v5, v2\ns_set_gpr_idx_off\n\
         s_barrier\nglobal_load_dword v3, v9, s[4:5]\ns_waitcnt vmcnt(0)\n{WRITE}"
    );
    compiled(same(&body, &before), &body);
}

/// Code with VGPR indexing that is not compiled leaves the same.
#[test]
fn other_code_with_vgpr_indexing() {
    let before = words(random(33));
    for code in [
        "s_set_gpr_idx_on s10, gpr_idx(SRC0)\nv_mov_b32_dpp v11, v10 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\ns_set_gpr_idx_off\n",
        "s_set_gpr_idx_on s10, gpr_idx(SRC0)\nv_readlane_b32 s11, v10, 5\nv_mov_b32 v12, s11\ns_set_gpr_idx_off\n",
        "s_set_gpr_idx_on s10, gpr_idx(DST)\ns_mov_b32 m0, 0x8005\nv_mov_b32 v10, v2\ns_set_gpr_idx_off\n",
        "s_set_gpr_idx_on s10, gpr_idx(DST)\ns_cbranch_scc0 over\nv_mov_b32 v10, v2\nover:\nv_mov_b32 v11, v2\ns_set_gpr_idx_off\n",
        "s_set_gpr_idx_on s10, gpr_idx(SRC0)\nv_pk_add_u16 v11, v10, v12\nv_swap_b32 v12, v10\ns_set_gpr_idx_off\n",
        "v_writelane_b32 v12, s2, 9\ns_set_gpr_idx_on s10, gpr_idx(DST)\nv_mov_b32 v10, v2\ns_set_gpr_idx_off\nv_readlane_b32 s11, v12, 9\n\
         v_writelane_b32 v12, s11, 7\n",
        "s_set_gpr_idx_on s10, gpr_idx(DST)\nv_mov_b32 v10, v2\ns_set_gpr_idx_off\nglobal_atomic_add v12, v8, v0, s[6:7] glc\ns_waitcnt vmcnt(0)\n",
    ] {
        let body = format!("{}s_and_b32 s10, s2, 3\n{code}{}{WRITE}", array(), fold(8));
        same(&body, &before);
    }
}
