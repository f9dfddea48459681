//! Kernels for the cases of memory and LDS that compiled code treats specially. Both engines must leave the same memory and
//! registers, and report the same faults.
#![cfg(target_arch = "x86_64")]

use gcn_emu::dispatch::{Gpu, Launch};
use gcn_emu::engine::Engine;
use gcn_emu::interp::Interp;
use gcn_emu::mem::{PAGE_SIZE, Perm};
use gcn_isa::Target;
use gcn_jit::Level;
use gcn_object::CodeObject;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const DATA: u64 = 4 * PAGE_SIZE;
const ITEMS: u32 = 512;
/// VGPRs that are compared: v0 to v11. Others may differ in inactive lanes.
const LOOKED: u32 = 12;
const DUMP: u64 = (LOOKED * ITEMS * 4) as u64;

/// A GPU whose engine can be replaced: addresses are the same with all engines, in every configuration of memory.
struct Boards {
    gpu: Gpu,
    names: Vec<&'static str>,
    /// The engine of the next dispatch.
    chosen: Arc<AtomicUsize>,
}

/// The interpreter, and the compiling engine of each level.
fn boards(target: Target) -> Boards {
    type Maker = Box<dyn Fn() -> Box<dyn Engine> + Send + Sync>;
    let mut names = vec!["interpreter"];
    let mut makers: Vec<Maker> = vec![Box::new(|| Box::new(Interp::new()))];
    for (name, level) in [("AVX-512", Level::Avx512), ("AVX2", Level::Avx2)] {
        if level.available() {
            let cache = gcn_jit::Cache::with_level(level);
            names.push(name);
            makers.push(Box::new(move || Box::new(cache.engine())));
        }
    }
    let chosen = Arc::new(AtomicUsize::new(0));
    let which = chosen.clone();
    let engine = move || makers[which.load(Relaxed)]();
    Boards {
        gpu: Gpu::with_engine(target, 1 << 26, engine).expect("a GPU"),
        names,
        chosen,
    }
}

/// The state at the start of a body: s[20:21] the data's address, 4 pages before unmapped ones; v0 the work-item's number in its
/// workgroup; s22 the workgroup's number; v4 to v7 random numbers; v8 four times v0; M0 allows all of LDS.
fn text(target: Target, body: &str) -> String {
    let name = target.name();
    let add = match target.generation() {
        gcn_isa::target::Gen::Gfx9 => "v_add_co_u32",
        gcn_isa::target::Gen::Gfx8 => "v_add_u32",
        _ => "v_add_i32",
    };
    let mut text = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--{name}\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n\
         s_mov_b32 s22, s2\ns_load_dwordx4 s[20:23], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_mov_b64 s[24:25], s[22:23]\n\
         s_mov_b32 s22, s2\ns_mov_b32 s28, s20\ns_mov_b32 s29, s21\ns_mov_b32 s30, {DATA}\ns_mov_b32 s31, 0x27fac\n\
         s_mov_b32 m0, -1\nv_lshlrev_b32 v8, 2, v0\nv_mov_b32 v12, v0\n"
    );
    for k in 4..8 {
        text += &format!(
            "buffer_load_dword v{k}, v8, s[28:31], 0 offen offset:{}\n",
            1024 * (k - 4)
        );
    }
    for k in [1, 2, 3, 9, 10, 11] {
        text += &format!("v_mov_b32 v{k}, 0\n");
    }
    text += "s_waitcnt vmcnt(0)\n";
    text += &body.replace("v_add ", &format!("{add} "));
    text += &format!(
        "\ns_mov_b64 exec, -1\ns_waitcnt vmcnt(0) lgkmcnt(0)\ns_mov_b32 s28, s24\ns_mov_b32 s29, s25\ns_mov_b32 s30, {DUMP}\n\
         s_lshl_b32 s22, s22, 9\n{add} v13, vcc, s22, v12\nv_lshlrev_b32 v13, 2, v13\n"
    );
    for k in 0..LOOKED {
        text += &format!(
            "s_mov_b32 s23, {}\nbuffer_store_dword v{k}, v13, s[28:31], s23 offen\n",
            k * ITEMS * 4
        );
    }
    text + "s_endpgm\n.rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\
            .amdhsa_next_free_vgpr 24\n.amdhsa_next_free_sgpr 40\n.amdhsa_group_segment_fixed_size 8192\n.end_amdhsa_kernel\n"
}

/// Runs the body on all engines. Returns true if the body ran to its end.
fn same(boards: &Boards, body: &str, group: u32) -> bool {
    let target = boards.gpu.target();
    let source = text(target, body);
    let made = gcn_asm::assemble(&source, "k.s", &gcn_asm::Options::default());
    let object = made
        .object
        .unwrap_or_else(|| panic!("{:?}\n{source}", made.diagnostics));
    let bytes = object.loadable().expect("it links");
    let object = CodeObject::parse(&bytes).expect("it is read");
    let mut want = None;
    let (gpu, memory) = (&boards.gpu, &boards.gpu.memory);
    let loaded = gpu.load(&object).expect("it is loaded");
    let alloc = |bytes| memory.alloc(bytes, PAGE_SIZE, Perm::RW).expect("memory");
    let (data, dump) = (alloc(DATA + PAGE_SIZE), alloc(DUMP));
    memory
        .protect(data + DATA, PAGE_SIZE, Perm::NONE)
        .expect("mapped");
    for (which, name) in boards.names.iter().enumerate() {
        boards.chosen.store(which, Relaxed);
        let mut state = 0x2545_f491_4f6c_dd1du64;
        let before: Vec<u8> = (0..DATA)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 32) as u8
            })
            .collect();
        // The code runs twice: the second time it is already compiled.
        for again in [false, true] {
            memory.write(data, &before).expect("writable");
            memory
                .write(dump, &vec![0; DUMP as usize])
                .expect("writable");
            let launch = Launch {
                grid: [group, 1, 1],
                group: [group, 1, 1],
                kernarg: [data, dump].iter().flat_map(|a| a.to_le_bytes()).collect(),
                max_instructions: Some(1_000_000),
                threads: 1,
                deterministic: true,
                ..Launch::default()
            };
            let result = gpu.dispatch(&loaded, "k", &launch);
            let result = result.map(|s| s.instructions).map_err(|e| e.to_string());
            let mut after = vec![0; (DATA + DUMP) as usize];
            let (left, right) = after.split_at_mut(DATA as usize);
            memory.read(data, left).expect("readable");
            memory.read(dump, right).expect("readable");
            let Some((wanted, memory_wanted)) = &want else {
                want = Some((result, after));
                continue;
            };
            let at = (0..after.len()).find(|&at| after[at] != memory_wanted[at]);
            assert!(
                *wanted == result && at.is_none(),
                "{} {name}, again {again}, {group} items: {wanted:?}, compiled {result:?}, differs at {at:x?}\n{body}",
                target.name()
            );
        }
    }
    for region in [data, dump, loaded.base] {
        memory.free(region).expect("allocated");
    }
    want.is_some_and(|w| w.0.is_ok())
}

/// The active lanes.
const LANES: [&str; 6] = [
    "s_mov_b64 exec, -1\n",
    "s_mov_b32 exec_lo, 0x1fffff\ns_mov_b32 exec_hi, 0\n",
    "s_mov_b32 exec_lo, 0\ns_mov_b32 exec_hi, 0x80000000\n",
    "s_mov_b32 exec_lo, 0x5a5a0ff0\ns_mov_b32 exec_hi, 0x12340000\n",
    "s_mov_b64 exec, 0\n",
    "v_cmp_lt_i32 vcc, v4, v5\ns_and_b64 exec, exec, vcc\n",
];

/// Atomics of all lanes on one address, of each slice on its own address, and of lanes on several addresses; also with faults.
#[test]
fn atomics_of_many_lanes() {
    let boards = boards(Target::parse("gfx900").expect("a target"));
    let ops = [
        "add", "sub", "smin", "umin", "smax", "umax", "and", "or", "xor", "swap", "inc", "dec",
        "cmpswap",
    ];
    let addresses = [
        ("v_mov_b32 v16, 0x40\n", true),
        ("v_mov_b32 v16, 0x3ffc\n", true),
        (
            "v_lshrrev_b32 v16, 4, v0\nv_lshlrev_b32 v16, 2, v16\n",
            true,
        ),
        ("v_and_b32 v16, 12, v4\n", true),
        ("v_mov_b32 v16, 0x42\n", false),
        ("v_mov_b32 v16, 0x4000\n", false),
    ];
    let (mut ran, mut failed) = (0, 0);
    for (n, op) in ops.iter().enumerate() {
        for (k, (address, good)) in addresses.iter().enumerate() {
            for glc in [false, true] {
                for wide in [false, true] {
                    let lanes = LANES[(n + k + glc as usize + 2 * wide as usize) % LANES.len()];
                    let x2 = if wide { "_x2" } else { "" };
                    let address = if wide {
                        address
                            .replace("0x3ffc", "0x3ff8")
                            .replace("2, v16", "3, v16")
                            .replace("12,", "24,")
                    } else {
                        address.to_string()
                    };
                    let data = match (*op, wide) {
                        ("cmpswap", true) => "v[4:7]",
                        ("cmpswap", false) | (_, true) => "v[4:5]",
                        _ => "v4",
                    };
                    let (dst, flag) = match (glc, wide) {
                        (false, _) => ("", ""),
                        (true, false) => ("v9, ", " glc"),
                        (true, true) => ("v[9:10], ", " glc"),
                    };
                    let body = format!(
                        "{address}{lanes}global_atomic_{op}{x2} {dst}v16, {data}, s[20:21] offset:0{flag}\n\
                         v_mov_b32 v2, 5\ns_waitcnt vmcnt(0)\nv_xor_b32 v3, v9, v5\n"
                    );
                    let came = same(&boards, &body, 64 + 32 * (n as u32 % 2));
                    (ran, failed) = (ran + came as u32, failed + !came as u32);
                    assert!(came || !good, "{body}");
                }
            }
        }
    }
    assert!(ran > 150 && failed > 40, "{ran} ran, {failed} failed");
}

/// The same with complete addresses in VGPRs, as flat instructions have them, in loops.
#[test]
fn atomics_in_loops() {
    for name in ["gfx701", "gfx803", "gfx900"] {
        let boards = boards(Target::parse(name).expect("a target"));
        for lanes in LANES {
            let body = format!(
                "v_mov_b32 v16, s20\nv_mov_b32 v17, s21\nv_add v16, vcc, 64, v16\ns_mov_b32 s10, 7\n{lanes}loop:\n\
                 flat_atomic_add v[16:17], v4\nv_xor_b32 v4, v4, v5\nflat_atomic_smax v[16:17], v4\n\
                 flat_atomic_umin v[16:17], v6\nflat_atomic_xor v[16:17], v7\nflat_atomic_sub v[16:17], v8\n\
                 s_sub_u32 s10, s10, 1\ns_cmp_lg_u32 s10, 0\ns_cbranch_scc1 loop\n"
            );
            assert!(same(&boards, &body, 256), "{name}");
        }
    }
}

/// The contents of LDS for workgroups of 256 work-items, with v1 to v3 loaded from it.
fn lds_looked_at() -> String {
    let mut text =
        String::from("s_mov_b64 exec, -1\ns_waitcnt lgkmcnt(0)\ns_barrier\ns_movk_i32 s10, 0x1f\n");
    for k in 0..8 {
        text += &format!(
            "ds_read_b32 v10, v8 offset:{}\ns_waitcnt lgkmcnt(0)\nv_mul_lo_u32 v1, v1, s10\nv_xor_b32 v1, v10, v1\n",
            1024 * k
        );
    }
    text
}

/// Stores of one and two values per lane to LDS: consecutive, at any step, at random, overlapping, cut at the end, and beyond
/// the end.
#[test]
fn stores_to_lds() {
    let addresses = [
        "v_lshlrev_b32 v16, 2, v0\n",
        "v_lshlrev_b32 v16, 3, v0\n",
        "v_lshlrev_b32 v16, 4, v0\n",
        "v_mul_u32_u24 v16, 0x84, v0\nv_and_b32 v16, 0x1ffc, v16\n",
        "v_and_b32 v16, 31, v0\nv_mul_u32_u24 v16, 0x84, v16\n",
        "v_and_b32 v16, 0x7e, v0\nv_lshlrev_b32 v16, 4, v16\nv_and_b32 v17, 1, v0\nv_lshlrev_b32 v17, 3, v17\n\
         v_or_b32 v16, v16, v17\n",
        "v_and_b32 v16, 0x1fc0, v4\n",
        "v_and_b32 v16, 0x1ffc, v4\n",
        "v_and_b32 v16, 0x3fff, v4\n",
        "v_and_b32 v16, 0x3ff8, v4\n",
        "v_sub_u32 v16, 0x1ffc, v8\n",
        "v_mov_b32 v16, 0x80\n",
        "v_mov_b32 v16, v4\n",
    ];
    let stores = [
        "ds_write_b32 v16, v5\n",
        "ds_write_b64 v16, v[5:6]\n",
        "ds_write_b128 v16, v[4:7]\n",
        "ds_write_b96 v16, v[4:6]\n",
        "ds_write_b16 v16, v5 offset:2\n",
        "ds_write_b64 v16, v[5:6] offset:64\n",
        "ds_write2_b32 v16, v5, v6 offset1:1\n",
        "ds_write2_b32 v16, v5, v6 offset0:4 offset1:2\n",
        "ds_write2_b64 v16, v[4:5], v[6:7] offset1:1\n",
        "ds_write2_b64 v16, v[4:5], v[6:7] offset0:1 offset1:128\n",
        "ds_write2_b64 v16, v[4:5], v[5:6] offset0:3 offset1:3\n",
        "ds_write2st64_b64 v16, v[4:5], v[6:7] offset0:1 offset1:2\n",
        "ds_write2st64_b32 v16, v4, v6 offset0:8 offset1:0\n",
    ];
    for name in ["gfx600", "gfx701", "gfx803", "gfx900"] {
        let boards = boards(Target::parse(name).expect("a target"));
        let old = matches!(name, "gfx600" | "gfx701");
        let mut ran = 0;
        for (n, store) in stores.iter().enumerate() {
            if name == "gfx600" && (store.contains("b128") || store.contains("b96")) {
                continue;
            }
            for (k, address) in addresses.iter().enumerate() {
                let address = match name {
                    "gfx900" => address.to_string(),
                    _ if old => address.replace("v_sub_u32 v16,", "v_sub_i32 v16, vcc,"),
                    _ => address.replace("v_sub_u32 v16,", "v_sub_u32 v16, vcc,"),
                };
                let lanes = LANES[(n + k) % LANES.len()];
                let mut body = String::new();
                for k in 0..8 {
                    body += &format!("ds_write_b32 v8, v5 offset:{}\n", 1024 * k);
                }
                body += "s_waitcnt lgkmcnt(0)\ns_barrier\n";
                // The address is from an earlier block, from the same block, or after a load.
                body += &format!("{address}{lanes}{store}s_mov_b64 exec, -1\n");
                body += &lds_looked_at()
                    .replace("v1,", "v2,")
                    .replace(", v1", ", v2");
                body += &format!(
                    "{address}ds_read_b32 v11, v8\ns_waitcnt lgkmcnt(0)\nv_add v5, vcc, v11, v5\n{store}"
                );
                body += &lds_looked_at();
                ran += same(&boards, &body, 256) as u32;
            }
        }
        assert!(ran > 60, "{name}: {ran}");
    }
}

/// Loads from LDS and stores to memory with a lane step larger than the access, up to the end of the data and beyond it.
#[test]
fn lanes_that_are_apart() {
    let stores = [
        ("dword", "v4", 4),
        ("dwordx2", "v[4:5]", 8),
        ("dwordx4", "v[4:7]", 16),
    ];
    for name in ["gfx900", "gfx906"] {
        let boards = boards(Target::parse(name).expect("a target"));
        let (mut ran, mut failed) = (0, 0);
        for (n, (store, data, bytes)) in stores.into_iter().enumerate() {
            for (k, step) in [8, 12, 16, 20, 24, 32, 48, 64, 132, 256]
                .into_iter()
                .enumerate()
            {
                for first in [
                    0,
                    8,
                    0x4000 - 255 * step - bytes,
                    0x4000 - 63 * step - bytes,
                    0x4000 - 20 * step,
                ] {
                    if first < 0 {
                        continue;
                    }
                    let lanes = LANES[(n + k + first as usize) % LANES.len()];
                    // Two stores, the first of which needs the second's data, and a single one.
                    let body = format!(
                        "v_mul_u32_u24 v16, {step}, v0\nv_add_u32 v16, {first}, v16\n{lanes}\
                         global_load_dword v9, v8, s[20:21]\ns_waitcnt vmcnt(0)\nv_xor_b32 v4, v4, v9\n\
                         global_store_{store} v16, {data}, s[20:21]\nv_xor_b32 v5, v5, v9\n\
                         global_store_dword v16, v5, s[20:21]\ns_nop 0\ns_cbranch_execz over\nv_xor_b32 v6, v7, v9\n\
                         global_store_{store} v16, {data}, s[20:21]\nover:\n"
                    );
                    let came = same(&boards, &body, [64, 256][k % 2]);
                    (ran, failed) = (ran + came as u32, failed + !came as u32);
                }
            }
        }
        assert!(ran > 60 && failed > 10, "{ran} ran, {failed} failed");
        for (k, (load, data)) in [
            ("ds_read_b32", "v9"),
            ("ds_read_b64", "v[9:10]"),
            ("ds_read_b128", "v[4:7]"),
            ("ds_read2_b32", "v[9:10]"),
            ("ds_write_b32", "v5"),
            ("ds_write_b64", "v[4:5]"),
            ("ds_write2_b64", "v[4:5], v[6:7]"),
        ]
        .into_iter()
        .enumerate()
        {
            for (n, step) in [4, 8, 12, 24, 32, 68, 132, 256, 260]
                .into_iter()
                .enumerate()
            {
                for first in [0, 0x1ffc - 63 * step, 0x1ff0 - 20 * step, 0x1f00] {
                    if first < 0 {
                        continue;
                    }
                    let lanes = LANES[(n + k + first as usize / 4) % LANES.len()];
                    let access = match load.contains("read") {
                        true => format!("{load} {data}, v16"),
                        false => format!("{load} v16, {data}"),
                    };
                    let two = if load.contains("2_") {
                        " offset1:3"
                    } else {
                        ""
                    };
                    let mut body = String::new();
                    for k in 0..8 {
                        body += &format!(
                            "ds_write_b32 v8, v5 offset:{}\nv_xor_b32 v5, v5, v6\n",
                            1024 * k
                        );
                    }
                    body += &format!(
                        "v_and_b32 v16, 63, v0\nv_mul_u32_u24 v16, {step}, v16\nv_add_u32 v16, {first}, v16\n\
                         s_waitcnt lgkmcnt(0)\ns_barrier\n{lanes}{access}{two}\ns_waitcnt lgkmcnt(0)\n"
                    );
                    same(&boards, &(body + &lds_looked_at()), 256);
                }
            }
        }
    }
}

/// Loads from memory at every lane step, from the start of the data and up to their last byte: unmapped memory around them is not read.
/// In a guarded build such a read ends the process.
#[test]
fn loads_up_to_both_ends() {
    let loads = [
        ("ubyte", "v4", 1),
        ("ushort", "v4", 2),
        ("dword", "v4", 4),
        ("dwordx2", "v[4:5]", 8),
        ("dwordx3", "v[4:6]", 12),
        ("dwordx4", "v[4:7]", 16),
    ];
    let boards = boards(Target::parse("gfx900").expect("a target"));
    let mut ran = 0;
    for (load, data, bytes) in loads {
        for step in [1, 2, 3, 4, 8, 12, 16, 20, 24, 32, 48, 64, -4, -8, -12, -16] {
            let reach = 63 * i32::abs(step);
            for (at_end, lanes) in [(false, ""), (true, ""), (true, LANES[2])] {
                let lowest = if at_end {
                    DATA as i32 - reach - bytes
                } else {
                    0
                };
                let first = lowest + if step < 0 { reach } else { 0 };
                let body = format!(
                    "v_mul_i32_i24 v16, {step}, v0\nv_add_u32 v16, {first}, v16\n{lanes}\
                     global_load_{load} {data}, v16, s[20:21]\ns_waitcnt vmcnt(0)\n"
                );
                ran += same(&boards, &body, 64) as u32;
            }
        }
    }
    assert_eq!(ran, 6 * 16 * 3);
}

/// Atomics on LDS: lanes with equal addresses, beyond the end, cut at the end; with and without results.
#[test]
fn atomics_on_lds() {
    let ops = [
        "add_u32 v16, v4",
        "sub_u32 v16, v4",
        "rsub_u32 v16, v4",
        "and_b32 v16, v4",
        "or_b32 v16, v4",
        "xor_b32 v16, v4",
        "min_i32 v16, v4",
        "min_u32 v16, v4",
        "max_i32 v16, v4",
        "max_u32 v16, v4",
        "inc_u32 v16, v4",
        "add_u64 v16, v[4:5]",
        "min_f32 v16, v4",
        "cmpst_b32 v16, v4, v5",
    ];
    let addresses = [
        ("v_lshlrev_b32 v16, 2, v0\n", true),
        ("v_and_b32 v16, 0x7c, v4\n", true),
        ("v_and_b32 v16, 0x1ffc, v4\n", true),
        ("v_mov_b32 v16, 0x1ff8\n", true),
        ("v_mov_b32 v16, 0x1ffc\n", true),
        ("v_and_b32 v16, 0x3ffc, v4\n", true),
        ("v_and_b32 v16, 0x7e, v4\n", false),
    ];
    let mut cut = 0;
    for name in ["gfx600", "gfx803", "gfx900"] {
        let boards = boards(Target::parse(name).expect("a target"));
        let (mut ran, mut failed) = (0, 0);
        for (n, op) in ops.into_iter().enumerate() {
            for (k, (address, good)) in addresses.into_iter().enumerate() {
                for found in [false, true] {
                    let lanes = LANES[(n + k + found as usize) % LANES.len()];
                    let access = match (found, op.contains("u64"), op.split_once(' ')) {
                        (true, false, Some((op, rest))) if op.starts_with("cmpst") => {
                            format!("ds_cmpst_rtn_b32 v9, {rest}")
                        }
                        (true, wide, Some((op, rest))) => {
                            let (op, ty) = op.split_once('_').expect("a type");
                            format!(
                                "ds_{op}_rtn_{ty} {}, {rest}",
                                if wide { "v[9:10]" } else { "v9" }
                            )
                        }
                        _ => format!("ds_{op}"),
                    };
                    let address = match op.contains("u64") {
                        true => address.replace("2, v0", "3, v0").replace('c', "8"),
                        false => address.to_string(),
                    };
                    let mut body = String::new();
                    for k in 0..8 {
                        body += &format!(
                            "ds_write_b32 v8, v5 offset:{}\nv_xor_b32 v5, v5, v6\n",
                            1024 * k
                        );
                    }
                    body += &format!(
                        "{address}v_xor_b32 v4, v4, v6\ns_waitcnt lgkmcnt(0)\ns_barrier\n{lanes}v_xor_b32 v3, v4, v7\n\
                         {access}\ns_waitcnt lgkmcnt(0)\nv_xor_b32 v11, v9, v4\n"
                    );
                    let came = same(&boards, &(body + &lds_looked_at()), 256);
                    assert!(came || !good || op.contains("u64"), "{access} {address}");
                    (ran, failed) = (ran + came as u32, failed + !came as u32);
                }
            }
        }
        assert!(ran > 140, "{name}: {ran} ran");
        cut += failed;
    }
    assert!(cut > 10, "{cut} failed");
}
