//! Pages of the program are lent, and taken back while a kernel uses them: no access happens after that.
#![cfg(all(
    target_arch = "x86_64",
    target_os = "linux",
    target_pointer_width = "64"
))]
#![allow(unsafe_code)]

use gcn_emu::dispatch::{Gpu, Launch, RunError};
use gcn_emu::engine::Engine;
use gcn_emu::interp::Interp;
use gcn_emu::mem::{Memory, PAGE_SIZE, Perm};
use gcn_isa::Target;
use gcn_jit::{Cache, Level};
use gcn_object::CodeObject;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

type Maker = Box<dyn Fn() -> Box<dyn Engine> + Send + Sync>;

/// Returns the interpreter, and the compiling engine of each level.
fn engines() -> Vec<(&'static str, Maker)> {
    let mut all: Vec<(&str, Maker)> = vec![("interpreter", Box::new(|| Box::new(Interp::new())))];
    for level in Level::ALL.into_iter().filter(|level| level.available()) {
        let cache = Cache::with_level(level);
        all.push((level.name(), Box::new(move || Box::new(cache.engine()))));
    }
    all
}

/// Endlessly adds 1 to a dword of a page: a scalar loop around a store of each lane.
const BODY: &str = "s_load_dwordx2 s[20:21], s[0:1], 0x0\nv_lshlrev_b32 v1, 2, v0\ns_waitcnt lgkmcnt(0)\n\
    v_mov_b32 v3, s21\nv_add_co_u32 v2, vcc, s20, v1\nv_addc_co_u32 v3, vcc, 0, v3, vcc\nv_mov_b32 v4, 0\n\
    again:\nv_add_u32 v4, 1, v4\nflat_store_dword v[2:3], v4\ns_waitcnt vmcnt(0) lgkmcnt(0)\ns_branch again\n";

fn object() -> CodeObject {
    let text = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n{BODY}\
         s_endpgm\n.rodata\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\
         .amdhsa_next_free_vgpr 8\n.amdhsa_next_free_sgpr 32\n.end_amdhsa_kernel\n"
    );
    let made = gcn_asm::assemble(&text, "k.s", &gcn_asm::Options::default());
    let object = made
        .object
        .unwrap_or_else(|| panic!("{:?}", made.diagnostics));
    CodeObject::parse(&object.loadable().expect("it links")).expect("it is read")
}

#[test]
fn no_store_comes_after_pages_were_taken_back() {
    let object = object();
    let layout = Layout::from_size_align(PAGE_SIZE as usize, PAGE_SIZE as usize).expect("a page");
    for (name, engine) in engines() {
        let memory = Memory::of_host(1 << 22, None).expect("memory");
        let target = Target::parse("gfx900").expect("a target");
        let gpu = Gpu::with_memory(target, memory, engine);
        let loaded = gpu.load(&object).expect("it is loaded");
        for round in 0..20 {
            // SAFETY: the layout has a size; the page is given back below, when no kernel runs.
            let page = unsafe { alloc_zeroed(layout) };
            assert!(!page.is_null());
            let host = page.expose_provenance() as u64;
            let alias = round % 2 != 0;
            // SAFETY: the page lives until it has been taken back, and is accessed by atomics alone.
            let at = unsafe { gpu.memory.lend(host, PAGE_SIZE, alias) }.expect("lent");
            // SAFETY: it is as long as the page, and aligned.
            let first = unsafe { AtomicU32::from_ptr(page.cast()) };
            let launch = Launch {
                grid: [64, 1, 1],
                group: [64, 1, 1],
                kernarg: at.to_le_bytes().to_vec(),
                threads: 1,
                ..Launch::default()
            };
            std::thread::scope(|scope| {
                let kernel = scope.spawn(|| gpu.dispatch(&loaded, "k", &launch));
                let begun = Instant::now();
                while first.load(SeqCst) == 0 {
                    assert!(begun.elapsed() < Duration::from_secs(60), "{name}");
                    std::thread::yield_now();
                }
                gpu.memory.take_back(at, PAGE_SIZE).expect("it was lent");
                let last = first.swap(u32::MAX, SeqCst);
                std::thread::sleep(Duration::from_millis(2));
                assert_eq!(
                    first.load(SeqCst),
                    u32::MAX,
                    "{name}, round {round}, after {last}"
                );
                let failed = kernel.join().expect("no panic");
                assert!(
                    matches!(failed, Err(RunError::Fault { .. })),
                    "{name}: {failed:?}"
                );
            });
            // SAFETY: it was allocated with this layout, and no kernel runs.
            unsafe { dealloc(page, layout) };
        }
    }
}

/// Taking pages back waits for a time slice, not for the end of a kernel.
#[test]
fn other_kernels_go_on() {
    let object = object();
    let layout = Layout::from_size_align(PAGE_SIZE as usize, PAGE_SIZE as usize).expect("a page");
    for (name, engine) in engines() {
        let memory = Memory::of_host(1 << 22, None).expect("memory");
        let target = Target::parse("gfx900").expect("a target");
        let gpu = Gpu::with_memory(target, memory, engine);
        let loaded = gpu.load(&object).expect("it is loaded");
        let data = gpu
            .memory
            .alloc(PAGE_SIZE, PAGE_SIZE, Perm::RW)
            .expect("memory");
        // SAFETY: the layout has a size; the page is given back below.
        let page = unsafe { alloc_zeroed(layout) };
        assert!(!page.is_null());
        let host = page.expose_provenance() as u64;
        let launch = Launch {
            grid: [64, 1, 1],
            group: [64, 1, 1],
            kernarg: data.to_le_bytes().to_vec(),
            threads: 1,
            ..Launch::default()
        };
        std::thread::scope(|scope| {
            let kernel = scope.spawn(|| gpu.dispatch(&loaded, "k", &launch));
            while gpu.memory.load_u32(data) == Ok(0) {
                std::thread::yield_now();
            }
            for _ in 0..5 {
                // SAFETY: nothing accesses the page.
                let at = unsafe { gpu.memory.lend(host, PAGE_SIZE, false) }.expect("lent");
                gpu.memory.take_back(at, PAGE_SIZE).expect("it was lent");
                let before = gpu.memory.load_u32(data).expect("mapped");
                let begun = Instant::now();
                while gpu.memory.load_u32(data) == Ok(before) {
                    assert!(begun.elapsed() < Duration::from_secs(60), "{name}");
                    std::thread::yield_now();
                }
            }
            gpu.memory.free(data).expect("allocated");
            let failed = kernel.join().expect("no panic");
            assert!(
                matches!(failed, Err(RunError::Fault { .. })),
                "{name}: {failed:?}"
            );
        });
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(page, layout) };
    }
}
