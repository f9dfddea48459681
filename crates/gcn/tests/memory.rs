//! Memory: a plan's run allocates the size of its buffers, and little more. No buffer has a second copy: neither of its initial
//! contents, nor of expected contents, nor of saved data.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write;

use gcn::plan;
use gcn::plan_toml;

/// Bytes of each of the two buffers.
const BUFFER: usize = 64 << 20;
/// The maximum number of bytes in addition to the buffers.
const BESIDE: usize = 60 << 20;

/// The peak memory of the process since the last reset.
fn peak() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("the process's status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<usize>().ok());
    kilobytes.expect("a peak") << 10
}

#[test]
fn no_buffer_has_a_second_copy() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/kernels");
    let object = format!("{root}/vadd-gfx900.co");
    let mut file = fs::File::create(path("a.bin")).expect("a file");
    let piece: Vec<u8> = (0..1u32 << 18)
        .flat_map(|n| (n as f32).to_le_bytes())
        .collect();
    for _ in 0..BUFFER / piece.len() {
        file.write_all(&piece).expect("written");
    }
    drop((file, piece));
    // Both buffers are filled, twice; one is compared with a file, with the other buffer and with numbers, and saved in two ways.
    let text = format!(
        "object = \"{object}\"\nrepeat = 1\n\n[buffers.a]\nfile = \"a.bin\"\ntype = \"f32\"\n\n\
         [buffers.b]\ntype = \"f32\"\ncount = {count}\nrandom = {{ seed = 1 }}\n\n\
         [[launch]]\nkernel = \"vadd\"\ngrid = [1024]\ngroup = [64]\nargs = [\"a\", \"a\", \"b\", \"u32:1024\"]\n\n\
         [[check]]\nbuffer = \"a\"\nfile = \"a.bin\"\n\n\
         [[check]]\nbuffer = \"b\"\nequals = \"a\"\ncount = 4096\n\n\
         [[check]]\nbuffer = \"b\"\nramp = {{ start = 0, step = 2 }}\ncount = 1024\n\n\
         [[save]]\nbuffer = \"a\"\nfile = \"out.bin\"\n\n[[save]]\nbuffer = \"a\"\nfile = \"out.npy\"\n",
        count = BUFFER / 4,
    );
    let (plan, options) = plan_toml::parse(&text, &path("plan.toml"), None).expect("a plan");
    fs::write("/proc/self/clear_refs", "5").expect("the peak is reset");
    let report = plan::run(&plan, &options).expect("it runs");
    let took = peak();
    assert!(
        took < 2 * BUFFER + BESIDE,
        "{took} bytes, for two buffers of {BUFFER}"
    );
    let wrong: Vec<usize> = report.checks.iter().map(|check| check.wrong).collect();
    assert_eq!((wrong[0], wrong[2]), (0, 0));
    // The kernel wrote the doubles of the first 1024; the rest is random.
    assert!(wrong[1] > 4000, "{wrong:?}");
    let first = |name: &str, from: usize| {
        let bytes = fs::read(path(name)).expect("saved");
        (bytes.len() - from, bytes[from..from + 4096].to_vec())
    };
    assert_eq!(first("out.bin", 0), first("a.bin", 0));
    assert_eq!(first("out.npy", 128), first("a.bin", 0));
}
