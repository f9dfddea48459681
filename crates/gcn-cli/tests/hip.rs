//! `gcn hip`: its reports about a program's launches, its records, and its error messages.
//!
//! It needs hipcc and the library that `cargo xtask hsa` links: the one in GCN_HSA, or in target/release or target/debug. Without
//! them the tests that start programs are skipped with a message.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

mod screen;

/// The library's folder and the tests' program, if both exist.
fn ready() -> Option<&'static (PathBuf, PathBuf)> {
    static READY: OnceLock<Option<(PathBuf, PathBuf)>> = OnceLock::new();
    let find = || {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let named = std::env::var_os("GCN_HSA").map(PathBuf::from);
        let built = ["release", "debug"].map(|p| target.with_file_name(p).join("gcn-hsa"));
        // The newer one of the two builds: the other may be from older sources.
        let linked = |p: &PathBuf| {
            let file = p.join("libhsa-runtime64.so.1").metadata();
            file.and_then(|f| f.modified()).ok()
        };
        let newest = built.into_iter().max_by_key(linked);
        let mut locations = named.into_iter().chain(newest);
        let folder = locations.find(|p| linked(p).is_some());
        let Some(folder) = folder else {
            eprintln!("skipped: there is no libhsa-runtime64.so.1; `cargo xtask hsa` links it");
            return None;
        };
        let program = target.join("hip-cli");
        compiled("launches", &program).then_some((folder, program))
    };
    READY.get_or_init(find).as_ref()
}

/// Compiles a program of gcn-hsa's tests. Returns false if there is no compiler.
fn compiled(name: &str, program: &Path) -> bool {
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/../gcn-hsa/tests/hip");
    let compiler = Command::new("hipcc")
        .args(["-std=c++17", "-O2", "-g", "--offload-arch=gfx900", "-o"])
        .arg(program)
        .arg(format!("{sources}/{name}.cpp"))
        .output();
    let Ok(made) = compiler else {
        eprintln!("skipped: there is no hipcc (Debian's package of that name)");
        return false;
    };
    let text = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "hipcc:\n{text}");
    true
}

/// Starts another program of gcn-hsa's tests.
fn start_other(name: &str, options: &[&str], own: &[&str]) -> Option<Output> {
    let (folder, _) = ready()?;
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hip-{name}"));
    if !program.exists() {
        compiled(name, &program);
    }
    let mut command = gcn(options);
    command.env("GCN_HSA", folder).arg("--").arg(program);
    Some(command.args(own).output().expect("gcn starts"))
}

fn gcn(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gcn"));
    command.arg("hip").args(arguments);
    command
}

/// Starts the program of the tests with options and its own arguments.
fn start(options: &[&str], own: &[&str]) -> Option<Output> {
    let (folder, program) = ready()?;
    let mut command = gcn(options);
    command.env("GCN_HSA", folder).arg("--").arg(program);
    Some(command.args(own).output().expect("gcn starts"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn is_right(output: &Output) {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(
        output.status.success() && out.ends_with("ok\n"),
        "{out}{err}"
    );
}

#[test]
fn launches_are_counted_and_listed() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("told.json");
    let Some(output) = start(&["--json", json.to_str().unwrap(), "--trace"], &[]) else {
        return;
    };
    is_right(&output);
    let told: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(told["failures"], serde_json::json!([]));
    let kernels = told["kernels"].as_array().unwrap();
    let scale = kernels.iter().find(|k| k["kernel"] == "_Z5scale4View");
    let scale = scale.unwrap_or_else(|| panic!("{told}"));
    assert_eq!(scale["launches"], 1);
    assert_eq!(scale["waves"], 16);
    assert!(scale["instructions"].as_u64() > Some(100));
    let lines = text(&output.stderr);
    let line = lines.lines().find(|l| l.contains("_Z5scale4View"));
    let line = line.unwrap_or_else(|| panic!("{lines}"));
    assert!(line.starts_with("gcn: launch "), "{line}");
    assert!(
        line.ends_with("grid [1024, 1, 1] group [256, 1, 1]"),
        "{line}"
    );

    let output = start(&["--profile", "--engine", "interp"], &[]).unwrap();
    is_right(&output);
    let table = text(&output.stderr);
    let row = table.lines().find(|l| l.ends_with("_Z5scale4View"));
    let row: Vec<&str> = row
        .unwrap_or_else(|| panic!("{table}"))
        .split_whitespace()
        .collect();
    assert_eq!((row[1], row[4]), ("1", "16"), "{table}");
}

/// The number of a kernel's launch in the output of `--trace`.
fn number_of(kernel: &str) -> Option<String> {
    let output = start(&["--trace"], &[])?;
    let lines = text(&output.stderr);
    let line = lines.lines().find(|l| l.contains(kernel)).unwrap();
    let number = line.split_once("launch ").unwrap().1;
    Some(number.split_once(':').unwrap().0.to_string())
}

#[test]
fn instructions_are_traced() {
    let Some(number) = number_of("_Z4walk") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trace.txt");
    let to = format!("--trace-instructions={}", file.display());
    let output = start(&[&to, "--launches", &number], &[]).unwrap();
    is_right(&output);
    let trace = std::fs::read_to_string(&file).unwrap();
    let mut lines = trace.lines();
    let first = lines.next().unwrap();
    assert!(
        first.starts_with(&format!("launch {number}: _Z4walk")),
        "{first}"
    );
    assert!(trace.contains("(0,0,0):0 "), "{trace}");
    assert!(trace.contains("s_endpgm"), "{trace}");
    // Lines of source, because the program is compiled with -g, and the stored values.
    assert!(
        trace.contains("launches.cpp:") && trace.contains("mem["),
        "{trace}"
    );
    assert!(!trace.contains("_Z5scale4View"), "{trace}");

    let options = [
        "--trace-instructions",
        "--trace-wave",
        "2:3",
        "--trace-limit",
        "7",
    ];
    let output = start(&options, &[]).unwrap();
    is_right(&output);
    let trace = text(&output.stderr);
    let of_wave = |l: &&str| l.starts_with("(2,0,0):3 ") && !l.contains("//");
    let traced = trace.lines().skip_while(|l| !l.contains("_Z5scale4View"));
    assert_eq!(traced.filter(of_wave).count(), 7, "{trace}");
    assert!(!trace.contains("(0,0,0):"), "{trace}");
}

/// Recorded launches give the same results when they are run again, with either engine: arguments, variables and addresses in
/// them, in structures and in memory are kept.
#[test]
fn records_are_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("launches");
    let Some(output) = start(&["--record", to.to_str().unwrap()], &[]) else {
        return;
    };
    is_right(&output);
    let mut replayed = Vec::new();
    for entry in std::fs::read_dir(&to).unwrap() {
        let plan = entry.unwrap().path().join("plan.toml");
        for engine in ["jit", "interp"] {
            let run = Command::new(env!("CARGO_BIN_EXE_gcn"))
                .args(["run", "--engine", engine])
                .arg(&plan)
                .output()
                .unwrap();
            let (out, err) = (text(&run.stdout), text(&run.stderr));
            assert!(run.status.success(), "{}:\n{out}{err}", plan.display());
            assert!(
                out.contains("as expected"),
                "{}:\n{out}{err}",
                plan.display()
            );
        }
        replayed.push(std::fs::read_to_string(&plan).unwrap());
    }
    let all = replayed.join("\n");
    assert!(
        all.contains("_Z5scale4View") && all.contains("_Z4walk"),
        "{all}"
    );
    for variable in ["total", "factors", "target"] {
        assert!(all.contains(&format!("variable = \"{variable}\"")), "{all}");
    }

    let to = folder.path().join("one");
    let number = number_of("_Z5scale4View").unwrap();
    let options = ["--record", to.to_str().unwrap(), "--launches", &number];
    is_right(&start(&options, &[]).unwrap());
    assert_eq!(std::fs::read_dir(&to).unwrap().count(), 1);
}

#[test]
fn a_failure_names_its_launch() {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("told.json");
    let record = folder.path().join("launches");
    let options = [
        "--json",
        json.to_str().unwrap(),
        "--record",
        record.to_str().unwrap(),
    ];
    let Some(output) = start(&options, &["wild"]) else {
        return;
    };
    assert!(!output.status.success());
    let err = text(&output.stderr);
    for part in [
        "gcn: launch 1 failed: the memory it accesses is not mapped: address 0x123456789000",
        "in kernel _Z5storePi, workgroup (0, 0, 0), wave 0",
        "launches.cpp:",
    ] {
        assert!(err.contains(part), "{err}");
    }
    let told = std::fs::read_to_string(&json).unwrap();
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let failure = told["failures"][0].as_str().unwrap();
    assert!(failure.contains("launch 1 failed"), "{failure}");
    // A recorded failure occurs again.
    let run = Command::new(env!("CARGO_BIN_EXE_gcn"))
        .arg("run")
        .arg(record.join("000001/plan.toml"))
        .output()
        .unwrap();
    let err = text(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{err}");
    assert!(err.contains("address 0x123456789000"), "{err}");

    let output = start(&[], &["unmapped"]).unwrap();
    let err = text(&output.stderr);
    assert!(!output.status.success(), "{err}");
    assert!(
        err.contains("is lent to the GPU") && err.contains("launch 1, kernel _Z5storePi"),
        "{err}"
    );
}

#[test]
fn mistakes_are_told() {
    let fails = |arguments: &[&str], status: i32, says: &str| {
        let mut command = gcn(arguments);
        if let Some((folder, _)) = ready() {
            command.env("GCN_HSA", folder);
        }
        let output = command.output().unwrap();
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {err}");
        assert!(err.contains(says), "{arguments:?}: {err}");
    };
    fails(&[], 2, "PROGRAM");
    fails(&["--target", "gfx1030", "--", "true"], 2, "gfx1030");
    fails(&["--launches", "20-10", "--", "true"], 2, "launch");
    fails(
        &["--trace-wave", "1", "--", "true"],
        2,
        "--trace-instructions",
    );
    fails(
        &["--trace-instructions", "--trace-wave", "x", "--", "true"],
        2,
        "expected a workgroup",
    );
    let output = gcn(&["--", "true"])
        .env("GCN_HSA", "/nonexistent")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let err = text(&output.stderr);
    assert!(
        err.contains("/nonexistent/libhsa-runtime64.so.1") && err.contains("cargo xtask hsa"),
        "{err}"
    );
    if ready().is_none() {
        return;
    }
    fails(&["--", "/nonexistent/program"], 1, "/nonexistent/program");
    // Chips that HIP does not support.
    let output = start(&["--target", "gfx704"], &[]).unwrap();
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("HIP does not run on gfx704"), "{err}");
    // A program without code for the requested target.
    let output = start(&["--target", "gfx803"], &[]).unwrap();
    assert!(!output.status.success());
}

#[test]
fn the_device_is_described() {
    let Some((folder, _)) = ready() else { return };
    let output = gcn(&["--info", "--target", "gfx906"])
        .env("GCN_HSA", folder)
        .output()
        .unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{err}");
    for part in [
        "amdgcn-amd-amdhsa--gfx906:sramecc+:xnack-",
        "AMD Radeon VII",
        "KERNARG, FINE GRAINED",
        "COARSE GRAINED",
        "GROUP",
    ] {
        assert!(out.contains(part), "{part}:\n{out}");
    }
    let output = gcn(&["--env", "--threads", "3"])
        .env("GCN_HSA", folder)
        .output()
        .unwrap();
    let out = text(&output.stdout);
    assert!(out.contains("export GCN_THREADS='3'\n"), "{out}");
    assert!(out.contains("export LD_LIBRARY_PATH='"), "{out}");
}

/// The debugger's text, which is on standard error, and the output of the program.
fn debugged(options: &[&str], own: &[&str]) -> Option<(String, Output)> {
    let mut all = vec!["--debug"];
    all.extend(options);
    let output = start(&all, own)?;
    Some((text(&output.stderr), output))
}

#[test]
fn kernels_are_debugged_while_the_program_waits() {
    let script = [
        "-e",
        "break walk",
        "-e",
        "run",
        "-e",
        "info launch",
        "-e",
        "step 4",
        "-e",
        "rs 4",
        "-e",
        "watch v1[0]",
        "-e",
        "c",
        "-e",
        "rc",
        "-e",
        "who v1[0]",
        "-e",
        "rc",
        "-e",
        "p mem32(arg1 + 12)",
        "-e",
        "delete",
        "-e",
        "c",
    ];
    let Some((told, output)) = debugged(&script, &[]) else {
        return;
    };
    is_right(&output);
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].starts_with("breakpoint 1 at 0x"), "{told}");
    assert!(lines[0].contains(" _Z4walkP4NodePi, "), "{told}");
    assert_eq!(lines[1], "breakpoint 1", "{told}");
    assert!(
        told.contains("_Z4walkP4NodePi, grid 1,1,1 work-items in workgroups of 1,1,1"),
        "{told}"
    );
    // The moment before the steps, and the one after going back.
    let here = |l: &&&str| l.starts_with("workgroup (0,0,0) wave 0, _Z4walkP4NodePi, ");
    assert_eq!(lines.iter().filter(here).count(), 3, "{told}");
    assert!(told.contains("watchpoint 2: v1[0] 0x"), "{told}");
    assert!(
        told.contains("v1[0]: nothing has written it since the wave began"),
        "{told}"
    );
    assert!(told.contains("mem32(arg1 + 12) = 0x0"), "{told}");
    assert!(told.ends_with("the program has ended\n"), "{told}");

    // A program that continues without the debugger after the last command, in the middle of a launch.
    let number = number_of("_Z5scale4View").unwrap();
    let options = ["--launches", &number, "-e", "step 7", "-e", "p exec == ~0"];
    let (told, output) = debugged(&options, &[]).unwrap();
    is_right(&output);
    assert!(told.contains(&format!("tick {number}:7\n")), "{told}");
    assert!(told.ends_with("exec == ~0 = 1\n"), "{told}");
}

#[test]
fn mistakes_do_not_lose_the_debugged_program() {
    let Some((told, output)) = debugged(&["-e", "break nosuch", "-e", "run"], &[]) else {
        return;
    };
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert_eq!(text(&output.stdout), "ok\n");
    assert!(
        told.starts_with("gcn: -e 1: `break nosuch`: `nosuch` matches nothing"),
        "{told}"
    );
    // The report of a failure, its past, and the program's own end.
    let script = ["-e", "run", "-e", "rs", "-e", "x/1i", "-e", "c", "-e", "c"];
    let (told, output) = debugged(&script, &["wild"]).unwrap();
    assert!(!output.status.success(), "{told}");
    let failure = "failed: the memory it accesses is not mapped: address 0x123456789000";
    assert!(told.matches(failure).count() >= 2, "{told}");
    assert!(told.contains("=> 0x"), "{told}");
    let (told, output) = debugged(&["-e", "break scale", "-e", "run", "-e", "kill"], &[]).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert_eq!(text(&output.stdout), "");
    assert!(
        told.ends_with("gcn: the program was ended by the debugger\n"),
        "{told}"
    );
    // A program that does not use HIP.
    let (folder, _) = ready().unwrap();
    for (program, status) in [("true", 1), ("false", 1)] {
        let output = gcn(&["--debug", "-e", "run", "--", program])
            .env("GCN_HSA", folder)
            .output()
            .unwrap();
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{told}");
        assert!(
            told.contains(&format!("gcn: {program} has not loaded HIP's library")),
            "{told}"
        );
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = start(&["--gdb", &port], &[]).unwrap();
    let told = text(&output.stderr);
    assert_eq!(
        (output.status.code(), text(&output.stdout).as_str()),
        (Some(1), "")
    );
    assert!(told.contains("another program uses the port"), "{told}");
    let (told, output) = debugged(&["-e", "run", "--script", "-"], &[]).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        told.contains("standard input is the program's own"),
        "{told}"
    );
}

#[test]
fn checks_stop_the_debugger_where_they_report() {
    let script = [
        "-e", "run", "-e", "p v0[0]", "-e", "bt", "-e", "rs", "-e", "c", "-e", "c",
    ];
    let options = [&["--debug", "--check"], &script[..]].concat();
    let Some(output) = start_other("planted", &options, &["overrun"]) else {
        return;
    };
    let told = text(&output.stderr);
    // Reports give the exit status 1, as without the debugger.
    assert_eq!(
        (output.status.code(), text(&output.stdout).as_str()),
        (Some(1), "ok\n"),
        "{told}"
    );
    // It stops before the store, forward and after going back, with the report and its remark about the program.
    assert_eq!(told.matches("error[oob]").count(), 2, "{told}");
    for part in [
        "at the end of allocation",
        "made by hipMalloc",
        "called by main",
        "=> 0x",
        "0  _Z5shiftPKiPiii+0x",
    ] {
        assert!(told.contains(part), "no `{part}` in\n{told}");
    }
    let (_, after) = told.split_once("error[oob]").unwrap();
    assert!(after.contains("_dword v"), "{told}");
    assert!(told.contains("the program has ended\n"), "{told}");
    assert!(
        told.contains("gcn: check: 1 report, 1 occurrence\n"),
        "{told}"
    );

    // Reports that were not reached are printed when the debugger detaches.
    let options = ["--debug", "--check", "-e", "p 1"];
    let output = start_other("planted", &options, &["race"]).unwrap();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("error[race]"), "{told}");

    // A program without errors never stops, and runs each launch once.
    let options = ["--debug", "--check", "-e", "run", "-e", "c"];
    let output = start_other("planted", &options, &[]).unwrap();
    is_right(&output);
    assert!(!text(&output.stderr).contains("error["));
}

/// A kernel of a million instructions runs compiled between stops and can be stepped back. The host's own memory is left alone
/// meanwhile.
#[test]
fn a_long_kernel_is_debugged_beside_the_host() {
    let script = [
        "-e",
        "break last",
        "-e",
        "break turns",
        "-e",
        "run",
        "-e",
        "delete 2",
        "-e",
        "watch mem arg0+1020,4",
        "-e",
        "delete",
        "-e",
        "break last",
        "-e",
        "c",
        "-e",
        "c",
    ];
    let options = [&["--debug"], &script[..]].concat();
    let Some(output) = start_other("beside", &options, &[]) else {
        return;
    };
    is_right(&output);

    let script = [
        // Near the end of the first launch, whose past is long.
        "-e",
        "break turns",
        "-e",
        "run",
        "-e",
        "delete",
        "-e",
        "watch mem arg0+1020,4",
        "-e",
        "c",
        "-e",
        "rs 3",
        "-e",
        "who mem arg0+4,4",
        "-e",
        "break turns workgroup 0,0,0 wave 0 if tick == 0",
        "-e",
        "delete 2",
        "-e",
        "rc",
        "-e",
        "where",
        "-e",
        "delete",
        "-e",
        "c",
    ];
    let options = [&["--debug"], &script[..]].concat();
    let output = start_other("beside", &options, &[]).unwrap();
    let told = text(&output.stderr);
    is_right(&output);
    assert!(told.contains("watchpoint 2: mem 0x"), "{told}");
    assert!(
        told.contains("workgroup (0,0,0) wave 0, _Z5turnsPji+0x"),
        "{told}"
    );
    assert!(
        told.contains("tick 1:0\n") || told.contains("tick 2:0\n"),
        "{told}"
    );
}

#[test]
fn the_terminal_debugs_a_program() {
    let Some((folder, program)) = ready() else {
        return;
    };
    let variables = [("GCN_HSA", folder.to_str().unwrap())];
    let command = ["hip", "--debug", "--", program.to_str().unwrap()];
    let mut screen = screen::Screen::new(&command, &variables);
    screen.shows(" _Z5scale4View on gfx900  launch ");
    screen.press(":break walk\r");
    screen.shows("breakpoint 1 at 0x");
    screen.press("c");
    screen.shows(" _Z4walkP4NodePi on gfx900  launch ");
    screen.press("ss");
    screen.shows("tick 2 ");
    screen.press("S");
    screen.shows("tick 1 ");
    screen.press("c");
    screen.shows("the program has ended");
    // The program's output is on the ordinary screen.
    screen.shows("ok\n");
    assert!(screen.child.wait().unwrap().success());

    let command = ["hip", "--debug", "--plain", "--", program.to_str().unwrap()];
    let mut screen = screen::Screen::new(&command, &variables);
    screen.shows("(gcn) ");
    screen.press("nonsense\r");
    screen.shows("there is no command `nonsense`");
    screen.press("quit\r");
    screen.shows("quit\nok");
    assert!(screen.child.wait().unwrap().success());
}

#[test]
fn gdb_debugs_a_program() {
    use std::io::{BufRead, BufReader};
    let Some((folder, program)) = ready() else {
        return;
    };
    let gdb = |arguments: &[&str]| {
        let mut command = Command::new("gdb-multiarch");
        command.args(["-nx", "-batch", "-iex", "set pagination off"]);
        for argument in arguments {
            command.args(["-ex", argument]);
        }
        command.output().map(|o| text(&o.stdout) + &text(&o.stderr))
    };
    if gdb(&[]).is_err() {
        eprintln!("skipped: there is no gdb-multiarch (Debian's package of that name)");
        return;
    }
    let mut child = gcn(&["--gdb", "0", "--"])
        .arg(program)
        .env("GCN_HSA", folder)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap());
    let mut waits = || {
        let mut line = String::new();
        while !line.contains("target remote ") {
            line.clear();
            assert!(told.read_line(&mut line).unwrap() > 0, "it waits for GDB");
        }
        line[line.find("target remote").unwrap()..]
            .trim()
            .to_owned()
    };
    // After a client hangs up, the program remains stopped.
    let target = waits();
    let port = target.rsplit(' ').next().unwrap();
    drop(std::net::TcpStream::connect(port).unwrap());
    let target = waits();
    let said = gdb(&[
        &target,
        "monitor break walk",
        "continue",
        "stepi",
        "reverse-stepi",
        "bt",
        "monitor where",
        "monitor delete",
        "continue",
    ])
    .unwrap();
    assert!(said.contains("breakpoint 1 of monitor"), "{said}");
    assert!(said.contains("wave 0, _Z4walkP4NodePi, "), "{said}");
    assert!(said.contains("exited normally"), "{said}");
    // The kernel has no caller.
    assert!(!said.contains("#1 "), "{said}");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(text(&output.stdout), "ok\n");
}
