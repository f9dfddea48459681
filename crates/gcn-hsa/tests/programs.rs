//! Runs the HIP programs of tests/hip, compiled by hipcc, with Debian's or ROCm's libamdhip64 on this runtime, on both
//! engines and on one or several host threads. Each program compares its results with the host's.
//!
//! They need hipcc, and the library that `cargo xtask hsa` links; without one of them, tests print that they are skipped. The
//! library is that of GCN_HSA, or of target/release or target/debug.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

const LIBRARY: &str = "libhsa-runtime64.so.1";

/// Returns the folder of the library, if hipcc is installed.
fn folder() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        if Command::new("hipcc").arg("--version").output().is_err() {
            eprintln!("skipped: there is no hipcc (Debian's package of that name)");
            return None;
        }
        let named = std::env::var_os("GCN_HSA").map(PathBuf::from);
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
        let built = ["release", "debug"].map(|p| target.map(|t| t.join(p).join("gcn-hsa")));
        // The newer of the two builds, because the other may be outdated.
        let linked = |p: &PathBuf| p.join(LIBRARY).metadata().and_then(|f| f.modified()).ok();
        let newest = built.into_iter().flatten().max_by_key(linked);
        let locations = named.into_iter().chain(newest);
        let found = locations.into_iter().find(|p| linked(p).is_some());
        if found.is_none() {
            eprintln!("skipped: there is no {LIBRARY}; `cargo xtask hsa` links it");
        }
        found
    };
    FOUND.get_or_init(find).as_deref()
}

/// Compiles a program. Returns its path.
fn compile(name: &str, arch: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/hip/{name}.cpp"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{arch}"));
    let made = Command::new("hipcc")
        .args(["-std=c++17", "-O2", "-o"])
        .arg(&program)
        .arg(format!("--offload-arch={arch}"))
        .arg(&source)
        // Some programs call the runtime's interface directly; the library is linked only if it is used.
        .args(["-Wl,--as-needed", "-lhsa-runtime64"])
        .output()
        .expect("hipcc starts");
    let text = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "hipcc {name} for {arch}:\n{text}");
    program
}

fn run(folder: &Path, program: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).env("LD_LIBRARY_PATH", folder);
    command.envs(variables.iter().copied());
    command.output().expect("the program starts")
}

/// Asserts that a program's last line reports that all checks pass.
fn is_right(name: &str, output: &Output) {
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    let right = output.status.success() && out.ends_with("ok\n");
    assert!(right, "{name}: {}\n{out}{err}", output.status);
}

fn check(name: &str, targets: &[&str]) {
    let Some(folder) = folder() else { return };
    for arch in targets {
        let program = compile(name, arch);
        is_right(name, &run(folder, &program, &[], &[]));
        // The others on one target are enough.
        if arch == &targets[0] {
            for threads in ["1", "4"] {
                let variables = [("GCN_THREADS", threads), ("GCN_ENGINE", "interp")];
                is_right(name, &run(folder, &program, &[], &variables));
                is_right(name, &run(folder, &program, &[], &variables[..1]));
            }
        }
    }
}

#[test]
fn memory() {
    check("memory", &["gfx900", "gfx803", "gfx906", "gfx90c"]);
}

#[test]
fn streams() {
    check("streams", &["gfx900", "gfx803"]);
}

#[test]
fn graphs() {
    check("graphs", &["gfx900"]);
}

#[test]
fn cooperative() {
    check("cooperative", &["gfx900", "gfx803", "gfx906"]);
}

#[test]
fn textures() {
    check("textures", &["gfx900", "gfx803", "gfx701"]);
}

#[test]
fn modules() {
    check("modules", &["gfx900"]);
}

#[test]
fn device() {
    check("device", &["gfx900", "gfx803", "gfx902", "gfx90c"]);
}

#[test]
fn images() {
    check("images", &["gfx900", "gfx803", "gfx701"]);
}

#[test]
fn atomics() {
    check("atomics", &["gfx900", "gfx803"]);
}

#[test]
fn rtc() {
    check("rtc", &["gfx900", "gfx803"]);
}

#[test]
fn copies() {
    check("copies", &["gfx900", "gfx803"]);
}

#[test]
fn nodes() {
    check("nodes", &["gfx900"]);
}

#[test]
fn warps() {
    check("warps", &["gfx900", "gfx803", "gfx906"]);
}

#[test]
fn queries() {
    check("queries", &["gfx900", "gfx701", "gfx90c"]);
}

#[test]
fn launches() {
    check("launches", &["gfx900", "gfx90c"]);
}

#[test]
fn references() {
    check("references", &["gfx900", "gfx803"]);
}

#[test]
fn updates() {
    check("updates", &["gfx900"]);
}

#[test]
fn reduction() {
    check("reduction", &["gfx900", "gfx803", "gfx906"]);
}

#[test]
fn managed() {
    check("managed", &["gfx900", "gfx803"]);
}

#[test]
fn loading() {
    check("loading", &["gfx900", "gfx803"]);
}

#[test]
fn aql() {
    check("aql", &["gfx900", "gfx803"]);
}

#[test]
fn soak() {
    let Some(folder) = folder() else { return };
    let program = compile("soak", "gfx900");
    is_right("soak", &run(folder, &program, &["4000"], &[]));
}

/// Launches that a replay cannot reproduce are named when they are recorded, and in their plans.
#[test]
fn records_name_what_cannot_be_replayed() {
    let Some(folder) = folder() else { return };
    for (name, kernel, why) in [
        ("textures", "", "it accesses textures or surfaces"),
        ("cooperative", "ring", "it waits for its whole grid"),
    ] {
        let program = compile(name, "gfx900");
        let location = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("records-{name}"));
        let _ = std::fs::remove_dir_all(&location);
        let variables = [("GCN_HIP_RECORD", location.to_str().expect("UTF-8"))];
        let output = run(folder, &program, &[], &variables);
        is_right(name, &output);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(err.contains(&format!("cannot be replayed: {why}")), "{err}");
        let plans = std::fs::read_dir(&location).expect("the records");
        let plans = plans.map(|e| e.expect("an entry").path().join("plan.toml"));
        let plans: Vec<_> = plans
            .map(|p| std::fs::read_to_string(p).expect("a plan"))
            .collect();
        let marked = |plan: &&String| plan.starts_with("# This launch cannot be replayed: ");
        assert!(plans.iter().filter(marked).all(|p| p.contains(kernel)));
        assert!(plans.iter().any(|p| marked(&p)), "{plans:?}");
        // Other launches, such as tiles, are not marked.
        assert!(name != "cooperative" || !plans.iter().all(|p| marked(&p)));
    }
}

/// Invalid programs: the report names the launch, the kernel, the wave and the address, and HIP ends the program.
#[test]
fn hostile() {
    let Some(folder) = folder() else { return };
    let program = compile("hostile", "gfx900");
    let cases = [
        ("wild", "address 0x123456789000"),
        ("null", "address 0x0"),
        ("trap", "s_trap 2"),
        ("code", "kernel"),
        ("arguments", "address 0x1234567"),
        ("packet", "has a header of no kind"),
    ];
    ends(folder, &program, &cases);
    let program = compile("aql", "gfx900");
    let cases = [
        ("type", "packet 0 has a header of no kind: 77"),
        ("agent", "packet 0 is an agent dispatch"),
        ("object", "there is no kernel at 0x1234567"),
        ("inside", "there is no kernel at 0x"),
        ("group", "workgroup [2048, 1, 1] exceeds 1024"),
        ("empty", "may be 0"),
        ("lds", "bytes of LDS exceed"),
        ("completion", "no signal at 0x4567890 to complete"),
        ("kernarg", "address 0x0"),
    ];
    ends(folder, &program, &cases);
    let program = compile("launches", "gfx900");
    ends(folder, &program, &[("unmapped", "has unmapped it")]);
}

/// Runs a program with each argument, and searches the report for the expected text.
fn ends(folder: &Path, program: &Path, cases: &[(&str, &str)]) {
    for &(what, says) in cases {
        let output = run(folder, program, &[what], &[]);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{what}: it went on\n{err}");
        assert!(
            err.contains(says) && err.contains("gcn: "),
            "{what}:\n{err}"
        );
        assert!(!err.contains("panicked"), "{what}:\n{err}");
    }
}

/// A program that is killed leaves none of our files; files of HIP's compiler may remain in TMPDIR.
#[test]
fn nothing_is_left_behind() {
    let Some(folder) = folder() else { return };
    let program = compile("soak", "gfx900");
    let shared = || {
        let entries = std::fs::read_dir("/dev/shm").expect("there is /dev/shm");
        let names = entries.filter_map(|e| Some(e.ok()?.file_name()));
        names.collect::<std::collections::BTreeSet<_>>()
    };
    let location = Path::new(env!("CARGO_TARGET_TMPDIR")).join("killed");
    let _ = std::fs::remove_dir_all(&location);
    std::fs::create_dir(&location).expect("a folder");
    let before = shared();
    let mut child = Command::new(&program)
        .arg("100000")
        .env("LD_LIBRARY_PATH", folder)
        .env("TMPDIR", &location)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the program starts");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    child.kill().expect("it is killed");
    child.wait().expect("it has ended");
    assert_eq!(shared(), before);
    let left: Vec<_> = std::fs::read_dir(&location)
        .expect("the folder")
        .filter_map(|e| e.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with("comgr-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Runs a program under the checks.
fn checked(folder: &Path, program: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = run(folder, program, arguments, &[("GCN_HIP_CHECK", "1")]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn planted_mistakes_are_reported() {
    let Some(folder) = folder() else { return };
    let program = compile("planted", "gfx900");
    let (status, out, err) = checked(folder, &program, &[]);
    assert_eq!((status, &*out, &*err), (Some(0), "ok\n", ""));
    let of_hip = "made by hipMalloc";
    let cases: [(&str, &[&str]); 10] = [
        (
            "overrun",
            &["error[oob]", "at the end of allocation", of_hip],
        ),
        ("underrun", &["error[oob]", "4 bytes before allocation"]),
        (
            "freed",
            &["error[oob]", "which was freed", of_hip, "freed by hipFree"],
        ),
        (
            "uninitialised",
            &["error[uninit]", "is loaded here", of_hip],
        ),
        ("race", &["error[race]", "of LDS"]),
        ("barrier", &["error[barrier]", "24 of the wave's 64"]),
        ("count", &["error[race]", "a store of memory"]),
        ("host", &["error[oob]", "100 bytes at"]),
        (
            "managed",
            &["error[oob]", "the end of managed memory, 100 bytes"],
        ),
        (
            "registered",
            &["error[oob]", "the end of registered memory, 100 bytes"],
        ),
    ];
    for (name, expected) in cases {
        let (status, out, err) = checked(folder, &program, &[name]);
        assert_eq!((status, &*out), (Some(1), "ok\n"), "{name}:\n{err}");
        let launched = ["launched by hipLaunchKernel", "called by main", "launch "];
        for part in expected.iter().chain(&launched) {
            assert!(err.contains(part), "{name}: no `{part}` in\n{err}");
        }
    }
}

#[test]
fn programs_without_mistakes_have_no_report() {
    let Some(folder) = folder() else { return };
    for name in ["copies", "launches", "managed", "warps", "cooperative"] {
        let program = compile(name, "gfx900");
        let (status, out, err) = checked(folder, &program, &[]);
        assert!(
            status == Some(0) && out.ends_with("ok\n"),
            "{name}:\n{out}{err}"
        );
        assert!(!err.contains("gcn: check:"), "{name}:\n{err}");
    }
}

#[test]
fn reports_go_to_a_file() {
    let Some(folder) = folder() else { return };
    let program = compile("planted", "gfx900");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("planted-reports.json");
    let name = file.to_string_lossy().into_owned();
    let variables = [("GCN_HIP_CHECK", "oob"), ("GCN_HIP_JSON", &*name)];
    let output = run(folder, &program, &["overrun"], &variables);
    assert_eq!(output.status.code(), Some(1));
    let text = std::fs::read_to_string(&file).expect("the file is there");
    for part in [
        "\"reports\":[{",
        "\"check\":\"oob\"",
        "\"role\":\"host\"",
        "\"launch\":",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    // Other checks are not made.
    let output = run(folder, &program, &["race"], &variables[..1]);
    assert_eq!(output.status.code(), Some(0));
}
