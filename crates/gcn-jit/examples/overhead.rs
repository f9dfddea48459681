//! Measures what waves, barriers and launches cost besides their instructions: `overhead [THREADS]`.

use gcn_emu::dispatch::{Gpu, Launch, Loaded};
use gcn_isa::Target;
use gcn_object::CodeObject;
use std::time::Instant;

fn load(gpu: &Gpu, body: &str) -> Loaded {
    let source = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n{body}\ns_endpgm\n\
         .section .rodata,#alloc\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\
         .amdhsa_kernarg_size 8\n.amdhsa_next_free_vgpr 24\n.amdhsa_next_free_sgpr 32\n\
         .amdhsa_float_denorm_mode_32 3\n\
         .amdhsa_group_segment_fixed_size 256\n.end_amdhsa_kernel\n"
    );
    let output = gcn_asm::assemble(&source, "k.s", &gcn_asm::Options::default());
    let object = output.object.expect("assembles");
    let object = CodeObject::parse(&object.loadable().expect("links")).expect("an object");
    gpu.load(&object).expect("loads")
}

/// Returns the shortest time of several dispatches, in nanoseconds.
fn best(gpu: &Gpu, loaded: &Loaded, groups: u32, items: u32, threads: usize, runs: u32) -> f64 {
    let launch = Launch {
        grid: [groups * items, 1, 1],
        group: [items, 1, 1],
        kernarg: vec![0; 8],
        threads,
        ..Launch::default()
    };
    let times = (0..runs).map(|_| {
        let begun = Instant::now();
        gpu.dispatch(loaded, "k", &launch).expect("runs");
        begun.elapsed().as_nanos() as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

fn main() {
    let threads = std::env::args().nth(1).and_then(|t| t.parse().ok());
    let threads = threads.unwrap_or(1);
    let cache = gcn_jit::Cache::default();
    let target = Target::parse("gfx900").expect("a target");
    let gpu = Gpu::with_engine(target, 1 << 28, move || Box::new(cache.engine())).expect("memory");
    let empty = load(&gpu, "");
    let ids = load(&gpu, "v_add_u32 v1, v0, v0");
    let barriers = load(&gpu, &"s_barrier\n".repeat(32));
    let turns = load(
        &gpu,
        "s_mov_b32 s4, 32\nagain:\ns_barrier\ns_sub_u32 s4, s4, 1\ns_cmp_lg_u32 s4, 0\ns_cbranch_scc1 again",
    );
    for items in
        std::env::var("ITEMS").map_or(vec![64, 256, 1024], |n| vec![n.parse().expect("a number")])
    {
        let waves = 65536.0;
        let groups = 65536 / (items / 64);
        let ns = |loaded| best(&gpu, loaded, groups, items, threads, 20) / waves;
        if std::env::var("ONLY").is_ok() {
            println!("{}", best(&gpu, &ids, groups, items, threads, 600) / waves);
            return;
        }
        let (a, b, c, d) = (ns(&empty), ns(&ids), ns(&barriers), ns(&turns));
        println!(
            "workgroups of {items:4}: {a:5.1} ns a wave, {b:5.1} ns with v0, {:5.1} ns a barrier, {:5.1} ns in a loop",
            (c - a) / 32.0,
            (d - a) / 32.0
        );
    }
    let small = best(&gpu, &ids, 1, 64, threads, 1000) / 1e3;
    let begun = Instant::now();
    best(&gpu, &ids, 4, 256, threads, 1000);
    let mean = begun.elapsed().as_secs_f64() * 1e3;
    println!("a launch of one wave {small:.1} us; of 16 waves {mean:.1} us, the mean of 1,000");
}
