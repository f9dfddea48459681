//! Shards: their union equals the result of an unsharded run, byte for byte, or they are refused.

use std::path::{Path, PathBuf};

use gcn::plan::{self, Plan};
use gcn::plan_toml;
use gcn::shard::{self, Error, Part, Shard};

/// Ten plans: name, object, buffers, launches.
const PLANS: [(&str, &str, &str, &str); 10] = [
    (
        "vadd",
        "kernels/vadd-gfx900.co",
        "a = f32 1000 random, b = f32 1000 random, c = f32 1000",
        "vadd 1024 64 a b c u32:1000",
    ),
    (
        "saxpy, twice",
        "kernels/vadd-gfx900.co",
        "x = f32 4096 random, y = f32 4096 random",
        "saxpy_f4 1024 64 x y f32:2.5 u32:1024; saxpy_f4 1024 64 x y f32:0.5 u32:1024",
    ),
    (
        "mandelbrot",
        "kernels/mandelbrot-gfx900.co",
        "image = u32 2048",
        "mandelbrot 64,32 16,4 image i32:64 i32:32 f32:-2.2 f32:-1.2 f32:0.046875 f32:0.075 i32:40",
    ),
    (
        "matmul",
        "kernels/matmul-gfx900.co",
        "a = f32 1024 random, b = f32 1024 random, c = f32 1024",
        "matmul 32,32 16,16 a b c i32:32",
    ),
    (
        "sum of integers, by atomics",
        "kernels/reduce-gfx900.co",
        "in = i32 5000 random, out = i32 4 random",
        "reduce_sum 1024 64 in out u32:5000 local:256",
    ),
    (
        "minimum, maximum, xor and a count, by atomics",
        "kernels/reduce-gfx900.co",
        "in = i32 3000 random, out = i32 8 random",
        "minmax_argmax 512 64 in out u32:3000",
    ),
    (
        "histogram, in LDS and by atomics",
        "bench/histogram-gfx900.co",
        "in = u8 6000 random, hist = u32 256 random",
        "histogram 1024 128 in hist u32:6000",
    ),
    (
        "n bodies",
        "bench/nbody-gfx900.co",
        "pos = f32 1024 random, vel = f32 1024 random, npos = f32 1024",
        "nbody 256 64 pos vel npos u32:256 f32:0.01 f32:0.5",
    ),
    (
        "sha256",
        "bench/sha256-gfx900.co",
        "out = u32 2048",
        "sha256_nonce 256 64 u64:77 out",
    ),
    (
        "stencil, there and back",
        "bench/stencil64-gfx900.co",
        "a = f64 2048 random, b = f64 2048",
        "stencil64 64,32 16,4 a b u32:64 u32:32",
    ),
];

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shard");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

/// A plan as TOML, all of whose buffers are saved.
fn toml(name: &str, object: &Path, buffers: &str, launches: &str) -> (String, Vec<PathBuf>) {
    let mut text = format!("object = {:?}\n", object.display().to_string());
    let mut files = Vec::new();
    for (n, buffer) in buffers.split(", ").enumerate() {
        let (id, of) = buffer.split_once(" = ").expect("a buffer");
        let words: Vec<&str> = of.split(' ').collect();
        text += &format!(
            "[buffers.{id}]\ntype = {:?}\ncount = {}\n",
            words[0], words[1]
        );
        if words.get(2) == Some(&"random") {
            text += &format!("random = {{ seed = {n} }}\n");
        }
        files.push(folder().join(format!("{}-{id}.bin", name.replace([' ', ','], "-"))));
        text += &format!(
            "[[save]]\nbuffer = {id:?}\nfile = {:?}\n",
            files[n].display().to_string()
        );
    }
    for launch in launches.split("; ") {
        let words: Vec<&str> = launch.split(' ').collect();
        text += &format!(
            "[[launch]]\nkernel = {:?}\ngrid = [{}]\ngroup = [{}]\nargs = {:?}\n",
            words[0],
            words[1],
            words[2],
            &words[3..]
        );
    }
    (text, files)
}

fn read(name: &str, text: &str) -> (Plan, plan::Options) {
    let path = folder().join(format!("{}.toml", name.replace([' ', ','], "-")));
    std::fs::write(&path, text).expect("a plan");
    let (plan, mut options) = plan_toml::read(&path, None).expect("a valid plan");
    options.threads = 2;
    (plan, options)
}

/// Runs all shards, and writes and reads their files.
fn shards(plan: &Plan, options: &plan::Options, count: u64) -> Result<Vec<Shard>, String> {
    let one = |index| {
        let ran = shard::run(plan, options, Part { index, count });
        let file = ran.map_err(|f| f.message)?.to_bytes();
        Shard::from_bytes(&file)
    };
    (0..count).map(one).collect()
}

fn named(shards: Vec<Shard>) -> Vec<(String, Shard)> {
    let name = |s: Shard| (format!("part{}", s.part.index), s);
    shards.into_iter().map(name).collect()
}

/// `SHARDS=all` takes every number of shards from 1 to 64; otherwise some of them.
#[test]
fn the_union_is_what_an_unsharded_run_leaves() {
    let all = std::env::var("SHARDS").is_ok_and(|v| v == "all");
    for (name, object, buffers, launches) in PLANS {
        let (text, files) = toml(name, &testdata().join(object), buffers, launches);
        let (plan, options) = read(name, &text);
        let report = plan::run(&plan, &options).map_err(|f| f.message);
        let report = report.unwrap_or_else(|e| panic!("{name}: {e}"));
        let results = || -> Vec<Vec<u8>> {
            files
                .iter()
                .map(|f| std::fs::read(f).expect("saved"))
                .collect()
        };
        let expected = results();
        let counts = (1..=64).filter(|n| all || [1, 2, 3, 7, 16, 33, 64].contains(n));
        for count in counts {
            files
                .iter()
                .for_each(|f| std::fs::remove_file(f).expect("saved"));
            let made = shards(&plan, &options, count);
            let mut made = named(made.unwrap_or_else(|e| panic!("{name}, {count}: {e}")));
            // The order of shards does not matter.
            made.reverse();
            let merged = shard::merge(&plan, &options, made)
                .unwrap_or_else(|e| panic!("{name}, {count}: {}", e.text()));
            assert!(results() == expected, "{name}, {count} shards");
            assert_eq!(merged.report.waves, report.waves, "{name}, {count} shards");
            assert_eq!(merged.shards, count);
        }
    }
}

/// Kernels for refusals: name, expected reason, true if it is found before anything runs, number of work-items, and code. On
/// entry s[4:5] is the address of a buffer of 1024 dwords, s8 the workgroup's number, v0 the work-item's, and v1 4 times the
/// work-item's number in the grid.
const REFUSED: [(&str, &str, &str, bool, &str); 11] = [
    (
        "returned",
        "gfx900",
        "returned-atomic",
        true,
        "v_mov_b32_e32 v2, 0\n global_atomic_add v3, v2, v0, s[4:5] glc",
    ),
    (
        "returned_flat",
        "gfx900",
        "returned-atomic",
        false,
        "v_mov_b32_e32 v2, s4\n v_mov_b32_e32 v3, s5\n flat_atomic_add v4, v[2:3], v0 glc",
    ),
    (
        "float_atomic",
        "gfx701",
        "float-atomic",
        true,
        "s_mov_b32 s6, -1\n s_mov_b32 s7, 0x24000\n buffer_atomic_fmax v0, off, s[4:7], 0",
    ),
    (
        "compare_and_swap",
        "gfx900",
        "ordered-atomic",
        true,
        "v_mov_b32_e32 v2, 0\n v_mov_b32_e32 v3, 0\n global_atomic_cmpswap v2, v[2:3], s[4:5]",
    ),
    (
        "increment",
        "gfx900",
        "ordered-atomic",
        true,
        "v_mov_b32_e32 v2, 0\n global_atomic_inc v2, v0, s[4:5]",
    ),
    (
        "gws",
        "gfx900",
        "gws",
        true,
        "v_mov_b32_e32 v2, 0\n ds_gws_init v2 gds",
    ),
    (
        "append",
        "gfx900",
        "ordered-append",
        true,
        "v_mov_b32_e32 v2, 0\n ds_ordered_count v3, v2 offset:0x100 gds",
    ),
    (
        "gds",
        "gfx900",
        "gds",
        true,
        "v_mov_b32_e32 v2, 0\n ds_add_u32 v2, v0 gds",
    ),
    // Each workgroup waits until the previous one has stored.
    (
        "waits",
        "gfx900",
        "waits",
        false,
        "s_cmp_eq_u32 s8, 0
 s_cbranch_scc1 store
 s_lshl_b32 s9, s8, 8
 s_sub_u32 s9, s9, 256
 v_mov_b32_e32 v2, s9
again:
 global_load_dword v3, v2, s[4:5] glc
 s_waitcnt vmcnt(0)
 v_readfirstlane_b32 s10, v3
 s_cmp_eq_u32 s10, 0
 s_cbranch_scc1 again
store:
 v_mov_b32_e32 v4, 1
 global_store_dword v1, v4, s[4:5]",
    ),
    // Each workgroup reads what the next one writes.
    (
        "reads",
        "gfx900",
        "reads",
        false,
        "global_load_dword v3, v1, s[4:5] offset:256
 s_waitcnt vmcnt(0)
 global_store_dword v1, v3, s[4:5]",
    ),
    // All workgroups write their number to the first dword.
    (
        "race",
        "gfx900",
        "race",
        false,
        "v_mov_b32_e32 v2, 0
 v_mov_b32_e32 v3, s8
 global_store_dword v2, v3, s[4:5]",
    ),
];

fn source(arch: &str, name: &str, code: &str) -> String {
    let load = match arch {
        "gfx900" => "s_load_dwordx2 s[4:5], s[0:1], 0x0",
        _ => "s_load_dwordx2 s[4:5], s[0:1], 0x0",
    };
    let add = match arch {
        "gfx900" => "v_lshl_add_u32 v1, s2, 6, v0",
        _ => "v_mov_b32_e32 v1, v0",
    };
    format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--{arch}\"\n.text\n.globl {name}\n.p2align 8\n.type {name},@function\n{name}:
 {load}\n s_mov_b32 s8, s2\n {add}\n v_lshlrev_b32_e32 v1, 2, v1\n s_waitcnt lgkmcnt(0)\n {code}\n s_endpgm
.rodata\n.p2align 6\n.amdhsa_kernel {name}
 .amdhsa_user_sgpr_kernarg_segment_ptr 1\n .amdhsa_system_sgpr_workgroup_id_x 1\n .amdhsa_next_free_vgpr 8\n .amdhsa_next_free_sgpr 16
 .amdhsa_kernarg_size 8\n.end_amdhsa_kernel\n"
    )
}

#[test]
fn what_cannot_be_sharded_is_refused_by_name() {
    for (name, arch, expected, early, code) in REFUSED {
        let file = folder().join(format!("{name}.s"));
        std::fs::write(&file, source(arch, name, code)).expect("source");
        let launch = format!("{name} 512 64 x");
        let (text, files) = toml(name, &file, "x = u32 1024", &launch);
        let (plan, options) = read(name, &text);
        let message = match shards(&plan, &options, 4) {
            Err(message) => message,
            Ok(made) => {
                let error = shard::merge(&plan, &options, named(made)).err();
                error.unwrap_or_else(|| panic!("{name} was united")).text()
            }
        };
        let word = format!("({expected})");
        let is_it = message.contains(&word) || message.starts_with(expected);
        assert!(is_it, "{name}: {message}");
        // A refusal that is found in the code has an address there, and no workgroup.
        let seen = message.contains(&format!("kernel {name}, 0x"));
        assert_eq!(early, seen, "{name}: {message}");
        assert!(!files[0].exists(), "{name} has saved its buffer");
    }
}

#[test]
fn races_name_both_workgroups() {
    let (name, arch, _, _, code) = REFUSED[REFUSED.len() - 1];
    let file = folder().join("races.s");
    std::fs::write(&file, source(arch, name, code)).expect("source");
    let (text, _) = toml("races", &file, "x = u32 1024", "race 512 64 x");
    let (plan, options) = read("races", &text);
    let made = named(shards(&plan, &options, 4).expect("shards"));
    let Err(Error::Races(races, bytes)) = shard::merge(&plan, &options, made) else {
        panic!("no races");
    };
    // Workgroups 1, 3, 5 and 7 write last in their shards; only the lowest byte differs, in three of the shards.
    assert_eq!((races.len(), bytes), (3, 3));
    let [(first, x), (second, y)] = races[0].writes;
    assert_eq!((first.workgroup, x), ([1, 0, 0], 1));
    assert_eq!((second.workgroup, y), ([3, 0, 0], 3));
    assert_eq!((races[0].region.as_str(), races[0].byte), ("buffer 'x'", 0));
}

/// Printing, sums in two launches of which the second reads values of other workgroups, and grid barriers.
#[test]
fn programs_that_cannot_be_sharded() {
    let prints = testdata().join("programs/objects/prints-gfx900-libclc-v4-O2.co");
    let (text, _) = toml(
        "prints",
        &prints,
        "f = f32 256, v = i32 64",
        "prints 128 64 f v",
    );
    let (plan, options) = read("prints", &text);
    let message = shards(&plan, &options, 2).expect_err("it prints");
    // An atomic allocates space for a text in the host's buffer.
    assert!(message.contains("returned-atomic"), "{message}");
    let sums = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sums.toml");
    let (plan, options) = plan_toml::read(&sums, None).expect("a plan");
    let message = shards(&plan, &options, 2).expect_err("its workgroups meet");
    assert!(message.contains("cannot be sharded"), "{message}");
}

#[test]
fn files_that_are_not_all_shards_of_the_plan_are_errors() {
    let (name, object, buffers, launches) = PLANS[0];
    let (text, _) = toml("files", &testdata().join(object), buffers, launches);
    let (plan, options) = read("files", &text);
    let made = shards(&plan, &options, 4).expect("shards");
    let refused = |files: Vec<Shard>, what: &str| {
        let error = shard::merge(&plan, &options, named(files)).err();
        let text = error.unwrap_or_else(|| panic!("{name} was united")).text();
        assert!(text.contains(what), "{text}");
    };
    refused(made[1..].to_vec(), "missing: 0/4");
    refused([&made[..], &made[2..3]].concat(), "are both shard 2/4");
    let halves = shards(&plan, &options, 2).expect("shards");
    refused(
        [&made[..], &halves[..1]].concat(),
        "parts of the same number",
    );
    // Another seed, another size.
    for (from, to) in [("seed = 0", "seed = 9"), ("u32:1000", "u32:999")] {
        let (other, _) = read("files-other", &text.replace(from, to));
        let others = shards(&other, &options, 4).expect("shards");
        refused(others, "of another plan");
    }
    assert!(Part::parse("4/4").is_err() && Part::parse("x").is_err());
    assert_eq!(Part::parse("3/4"), Ok(Part { index: 3, count: 4 }));
    let (plan, options) = read("repeated", &format!("repeat = 2\n{text}"));
    let part = Part { index: 0, count: 2 };
    let error = shard::run(&plan, &options, part).expect_err("repetitions");
    assert!(error.message.contains("repeat"), "{}", error.message);
}
