//! `gcn debug`: the transcript of docs/debug.md, scripts, and errors.

use std::path::Path;
use std::process::{Command, Output};

#[cfg(unix)]
mod screen;
#[cfg(unix)]
use screen::Screen;

fn gcn(args: &[&str], input: &str) -> Output {
    use std::io::Write;
    use std::process::Stdio;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut child = Command::new(env!("CARGO_BIN_EXE_gcn"))
        .args(args)
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command");
    let mut stdin = child.stdin.take().expect("standard input");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

/// Standard output of commands that must all succeed.
fn done(args: &[&str]) -> String {
    let out = gcn(args, "");
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{args:?}: {errors}");
    String::from_utf8(out.stdout).expect("text")
}

/// The message of commands of which one must fail.
fn fails(args: &[&str]) -> String {
    let out = gcn(args, "");
    assert_eq!(out.status.code(), Some(1), "{args:?}");
    String::from_utf8(out.stderr).expect("text")
}

#[test]
fn the_tutorial_is_what_is_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/debug.md")).expect("the page");
    let blocks = text.split("```console\n").skip(1);
    let blocks: String = blocks
        .map(|b| b.split("```").next().unwrap_or(""))
        .collect();
    let (mut script, mut expected) = (String::new(), String::new());
    for line in blocks.lines() {
        if let Some(command) = line.strip_prefix("(gcn) ") {
            script += &format!("{command}\n");
        } else if !line.starts_with("$ ") {
            expected += &format!("{line}\n");
        }
    }
    assert!(script.lines().count() > 8, "{script}");
    let out = gcn(&["debug", "examples/absolute.toml"], &script);
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{errors}");
    assert_eq!(String::from_utf8_lossy(&out.stdout), expected);
}

const VADD: [&str; 16] = [
    "debug",
    "testdata/kernels/vadd-gfx900.co",
    "--kernel",
    "vadd",
    "--grid",
    "64",
    "--group",
    "64",
    "--arg",
    "buf:randf32:256:1",
    "--arg",
    "buf:randf32:256:2",
    "--arg",
    "buf:zero:256",
    "--arg",
    "u32:64",
];

fn vadd<'a>(commands: &[&'a str]) -> Vec<&'a str> {
    let mut args = VADD.to_vec();
    for command in commands {
        args.extend(["-e", command]);
    }
    args
}

#[test]
fn breakpoints_and_steps_both_ways() {
    let text = done(&vadd(&[
        "break vadd+0x10 if exec == ~0",
        "run",
        "step 2",
        "rs 2",
        "rc",
    ]));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("breakpoint 1 at "), "{text}");
    assert_eq!(lines[1], "breakpoint 1", "{text}");
    assert!(lines[2].contains("wave 0, vadd+0x"), "{text}");
    // Two steps and back.
    assert_eq!(lines[2..4], lines[6..8], "{text}");
    assert_eq!(lines[8], "the beginning of the history", "{text}");
}

#[test]
fn a_watchpoint_stops_after_the_write_and_before_it_in_reverse() {
    let text = done(&vadd(&[
        "watch v2[5]",
        "run",
        "c",
        "p f32(v2[5])",
        "rc",
        "p tick",
    ]));
    assert!(text.contains("watchpoint 1: v2[5] "), "{text}");
    let who = done(&vadd(&["run", "rs", "who v2[5]"]));
    assert!(who.contains("v_add_f32_e32 v2, v6, v7"), "{who}");
    let value = text.lines().find(|l| l.starts_with("f32(v2[5]) = "));
    assert!(value.is_some(), "{text}");
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (command, expected) in [
        (
            "break nosuch",
            "`nosuch` matches nothing: there is no such symbol; the code has ",
        ),
        ("break 0x10", "`0x10` matches nothing: the code is at 0x"),
        (
            "break vadd+4",
            "`vadd+4` matches nothing: it is inside the instruction at 0x",
        ),
        (
            "break vadd.cl:5",
            "compilers and `gcn asm` write them with -g",
        ),
        ("break vadd if v3[77] > 1", "column 18: 77 is no lane"),
        (
            "break vadd if v3[17",
            "column 20: expected `]`, found the end",
        ),
        ("print v3[64]", "column 10: 64 is no lane"),
        ("print v3", ""),
        ("print q", "column 7: `q` is no register of gfx900"),
        (
            "print 1 +",
            "column 10: expected a register, a number or `(`, found the end",
        ),
        ("print mem32(0)", "address 0x0 (4 bytes) is not mapped"),
        ("set v0[0] = 0x100000000", "4294967296 does not fit 32 bits"),
        ("set v0[0]", "expected WHAT = EXPR"),
        ("wave 7", "there is no wave 7: workgroup (0,0,0) has 1"),
        ("break vadd wave 1", "there is no wave 1: a workgroup has 1"),
        ("watch mem 0x100005000,0", "0 bytes never change"),
        ("until", "expected where to run to"),
        ("x/-1i", "`x/-1i`: expected i, w or f"),
        (
            "workgroup 9,0,0",
            "there is no workgroup (9,0,0): the grid has 1,1,1",
        ),
        ("finish", "the wave is in no function that returns"),
        ("frobnicate", "there is no command `frobnicate`"),
        ("re", "`re` is short for "),
        ("delete 9", "there is no breakpoint or watchpoint 9"),
        ("lds 0,64", "is beyond the 0x0 bytes of the workgroup"),
        ("who", "expected a register"),
        ("x/4q 0", "expected i, w or f"),
    ] {
        if expected.is_empty() {
            done(&vadd(&[command]));
            continue;
        }
        let told = fails(&vadd(&[command]));
        assert!(told.contains(expected), "{command}: {told}");
        assert!(
            told.starts_with(&format!("gcn: -e 1: `{command}`: ")),
            "{told}"
        );
    }
    let told = fails(&[
        "debug",
        "examples/absolute.toml",
        "--script",
        "/nosuch/file",
    ]);
    assert!(told.contains("/nosuch/file"), "{told}");
}

#[test]
fn commands_come_from_a_pipe() {
    let out = gcn(
        &VADD,
        "# a comment\n\nbreak vadd\nrun\np wave\nquit\nnonsense\n",
    );
    assert!(out.status.success());
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(text.ends_with("wave = 0\n"), "{text}");
    let out = gcn(&VADD, "p wave\nnonsense\np wave\n");
    assert_eq!(out.status.code(), Some(1));
    let told = String::from_utf8_lossy(&out.stderr);
    assert!(
        told.contains("line 2: `nonsense`: there is no command"),
        "{told}"
    );
}

#[test]
fn a_report_opens_at_its_moment() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("report.json");
    // 65 work-items for buffers of 64 elements.
    let mut check: Vec<&str> = VADD.to_vec();
    check[0] = "check";
    check[5] = "128";
    check[15] = "u32:65";
    check.push("--json");
    let out = gcn(&check, "");
    std::fs::write(&file, &out.stdout).expect("a file");
    let mut args = VADD.to_vec();
    args[5] = "128";
    args[15] = "u32:65";
    let at = file.display().to_string();
    args.extend(["--at", &at, "-e", "p exec", "-e", "p workgroup_x"]);
    let text = done(&args);
    assert!(text.starts_with("oob: "), "{text}");
    assert!(
        text.contains("=> 0x") && text.contains("global_load_dword"),
        "{text}"
    );
    assert!(text.ends_with("workgroup_x = 1\n"), "{text}");
    let wrong = format!("{at}:99");
    let n = args.iter().position(|a| *a == at).expect("it is there");
    args[n] = &wrong;
    assert!(fails(&args).contains("there is no report 99"), "{args:?}");
}

#[test]
fn a_failure_stops_where_it_happened() {
    let mut args = VADD.to_vec();
    args[5] = "4096";
    args[15] = "u32:4096";
    args.extend(["-e", "run", "-e", "rs", "-e", "x/1i", "-e", "c"]);
    let text = done(&args);
    assert!(
        text.contains("the memory it accesses is not mapped"),
        "{text}"
    );
    assert!(text.contains("=> 0x"), "{text}");
}

/// A session on examples/sums.toml, whose kernels call a function, in three launches.
fn sums(commands: &[&str]) -> String {
    let mut args = vec!["debug", "examples/sums.toml"];
    commands.iter().for_each(|c| args.extend(["-e", *c]));
    done(&args)
}

#[test]
fn calls_are_stepped_over_into_and_out_of_both_ways() {
    let text = sums(&[
        "break add_up workgroup 0,0,0 wave 0",
        "run",
        "backtrace",
        "reverse-finish",
        "delete",
        "next",
        "reverse-next",
        "step",
        "finish",
    ]);
    let locations: Vec<&str> = (text.lines())
        .filter_map(|l| l.strip_prefix("workgroup (0,0,0) wave 0, "))
        .collect();
    let call = "block_sums+0x20, examples/sums.s:21, tick 0:5";
    let after = "block_sums+0x24, examples/sums.s:22, tick 0:83";
    let inside = "add_up, examples/sums.s:75, tick 0:6";
    assert_eq!(
        locations,
        [inside, call, after, call, inside, after],
        "{text}"
    );
    let calls = "0  add_up, examples/sums.s:75\n1  block_sums+0x20, examples/sums.s:21\n";
    assert!(text.contains(calls), "{text}");
}

/// A session on a kernel without optimisation whose functions call each other.
fn calls(object: &str) -> Vec<String> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/debug/calls-");
    let words = "--kernel calls --group 64 --grid 64 --arg buf:rand:256:3 --arg buf:zero:256";
    let file = format!("{file}{object}.co");
    let all = ["debug", &file].into_iter().chain(words.split(' '));
    all.map(str::to_owned).collect()
}

#[test]
fn callers_are_shown_behind_three_calls() {
    let commands = [
        "break inner",
        "run",
        "bt",
        "up",
        "up 2",
        "down",
        "list",
        "x/1i",
        "frame 0",
        "step",
        "frame",
    ];
    for (object, outermost) in [("clang14-gfx900", 3), ("clang22-gfx906", 4)] {
        let mut args = calls(object);
        let each = commands
            .iter()
            .flat_map(|c| ["-e".to_owned(), (*c).to_owned()]);
        args.extend(each);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let text = done(&args);
        // The calls, with the lines of the callers.
        for (n, function, line) in [(0, "inner", 4), (1, "middle+0x", 9), (2, "outer+0x", 14)] {
            let told = text.lines().any(|l| {
                l.starts_with(&format!("{n}  {function}"))
                    && l.ends_with(&format!("calls.cl:{line}"))
            });
            assert!(told, "{n} {function}: {text}");
        }
        let kernel = |l: &&str| l.starts_with("3  ") && l.ends_with("calls.cl:20");
        // In the list and by `up 2`.
        assert_eq!(text.lines().filter(kernel).count(), 2, "{text}");
        assert!(text.contains("s_swappc_b64"), "{text}");
        // `list` shows the selected caller, until a motion selects the innermost call again.
        assert!(text.contains("// calls.cl:14"), "{text}");
        let last = text.lines().rev().find(|l| l.starts_with("0  "));
        assert!(
            last.is_some_and(|l| l.starts_with("0  inner+0x4, ")),
            "{text}"
        );
        let mut args = calls(object);
        for command in ["break inner", "run", "up 9"] {
            args.extend(["-e".to_owned(), command.to_owned()]);
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let told = fails(&args);
        let says = format!("there is no frame 9: frame {outermost} is the outermost, the kernel");
        assert!(told.contains(&says), "{told}");
    }
}

#[test]
fn time_goes_through_the_launches_of_a_plan() {
    let text = sums(&[
        "break grid_sum workgroup 0,0,0 wave 0",
        "break block_sums workgroup 1,0,0 wave 0",
        "run",
        "continue",
        "who *(u32*)sums",
        "rc",
        "rc",
        "delete",
        "c",
        "who *(u32*)all",
        "goto 1:100",
        "rs",
    ]);
    let locations: Vec<&str> = (text.lines())
        .filter(|l| l.contains(" wave ") && l.contains(", tick "))
        .collect();
    assert_eq!(
        locations,
        [
            "workgroup (1,0,0) wave 0, block_sums, examples/sums.s:16, tick 0:111",
            "workgroup (0,0,0) wave 0, grid_sum, examples/sums.s:37, tick 2:0",
            "  workgroup (0,0,0) wave 0, block_sums+0x38, examples/sums.s:27, tick 0:88",
            "workgroup (1,0,0) wave 0, block_sums, examples/sums.s:16, tick 0:111",
            "workgroup (0,0,0) wave 0, block_sums, examples/sums.s:16, tick 0:0",
            "  workgroup (0,0,0) wave 0, block_sums+0x38, examples/sums.s:27, tick 1:88",
            "workgroup (0,0,0) wave 2, block_sums+0x24, examples/sums.s:22, tick 1:100",
            "workgroup (0,0,0) wave 2, add_up+0x50, examples/sums.s:91, tick 1:99",
        ],
        "{text}"
    );
    // The plan's checks pass after any sequence of motions.
    assert!(text.contains("all: 1 elements are as expected\n"), "{text}");
}

#[cfg(unix)]
#[test]
fn the_terminal_is_used_with_keys_alone() {
    let mut screen = Screen::new(&["debug", "examples/absolute.toml"], &[]);
    screen.shows("absolute on gfx900  launch 0, tick 0  workgroup (0,0,0) wave 0");
    screen.shows("=> 0x1300 s_load_dwordx4 s[4:7], s[0:1], 0x0");
    screen.press("?");
    // All keys, in columns.
    screen.shows("│ s n l f    step, next, line, finish     S N L F    the same backwards ");
    screen.shows("│ Ctrl-C Esc interrupt what runs          Esc        leave the cursor or this");
    screen.shows("│ q          leave ");
    screen.press("?");
    screen.press("sss");
    screen.shows("tick 3 ");
    screen.press("S");
    screen.shows("tick 2 ");
    // The bug of the tutorial.
    screen.press(":bre\tabs\t+0x3c\r");
    screen.shows("breakpoint 1 at 0x133c");
    screen.press("c");
    screen.shows("tick 13 ");
    screen.press(":who v1[1]\r");
    screen.shows("v1[1]: 0x1334  v_lshlrev_b32_e32 v1, 1, v1");
    screen.press(":back\r");
    screen.shows("tick 11 ");
    // EXEC is restored after this instruction: eight lanes are active here.
    screen.press("3");
    screen.shows("0x00000000000000ff, 8 lanes");
    screen.shows("s[8:9]");
    screen.press("2");
    screen.shows("vcc");
    screen.press("1v");
    screen.shows("v1");
    screen.press("h");
    screen.shows("0       8       16");
    screen.press("m");
    screen.shows("0x100005000: c1000000");
    screen.press("4");
    screen.shows("the workgroup has no LDS");
    screen.press(":nonsense\r");
    screen.shows("! there is no command `nonsense`");
    screen.press("C");
    screen.shows("tick 0 ");
    screen.press("q");
    let status = screen.child.wait().expect("it ends");
    assert!(status.success(), "{status:?}");
}

/// The picture of docs/debug.md is what the terminal shows; `BLESS=1` draws it again.
#[cfg(unix)]
#[test]
fn a_terminal_of_any_size_shows_what_fits() {
    let mut screen = screen::Screen::new(&["debug", "examples/absolute.toml"], &[]);
    screen.shows(" absolute on gfx900  launch 0, tick 0");
    for (rows, columns) in [
        (8, 30),
        (3, 10),
        (1, 1),
        (2, 200),
        (60, 4),
        (17, 49),
        (5, 60),
        (40, 130),
        (8, 30),
    ] {
        screen.resize(rows, columns);
        screen.press("1h2h3?4?5vs");
    }
    // Each key was handled: the last size shows the location of the wave, the code, the pane and the command line.
    screen.shows("tick 9");
    screen.shows("=> 0x1");
    screen.press(":print exec\r");
    screen.shows("exec = 0x");
    screen.press("1");
    screen.resize(3, 10);
    screen.shows("=> 0x");
    screen.resize(40, 130);
    screen.shows("waves; outstanding");
    screen.press("q");
    assert!(screen.child.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn the_terminal_says_what_runs_at_any_size() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/kernels/mandelbrot-gfx900.co"
    );
    let words = "--grid 256,256 --group 16,16 --arg buf:zero:262144 --arg i32:256 --arg i32:256 --arg f32:-0.1 --arg f32:-0.1 \
        --arg f32:0.001 --arg f32:0.001 --arg i32:2000000000";
    let mut args = vec!["debug", file];
    args.extend(words.split_whitespace());
    let mut screen = screen::Screen::new(&args, &[]);
    screen.shows(" mandelbrot on gfx900");
    // The kernel never ends.
    screen.press("c");
    screen.shows(" `continue` runs; Ctrl-C interrupts");
    screen.resize(6, 40);
    screen.shows(" `continue` runs; Ctrl-C interrupts");
    screen.resize(30, 100);
    screen.press("\u{3}");
    screen.shows("interrupted");
    screen.press("q");
    assert!(screen.child.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn the_picture_of_the_terminal_is_what_it_shows() {
    let mut screen = Screen::new(&["debug", "examples/absolute.toml"], &[]);
    screen.shows("tick 0 ");
    for (keys, shown) in [
        (":break absolute+0x3c\r", "breakpoint 1 at 0x133c"),
        ("c", "tick 13 "),
        (":who v1[1]\r", "v1[1]: 0x1334  v_lshlrev_b32_e32 v1, 1, v1"),
        (":back\r", "tick 11 "),
        ("v", "=> 0x1334 v_lshlrev_b32_e32"),
        ("s", "tick 12 "),
    ] {
        screen.press(keys);
        screen.shows(shown);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/debug.svg");
    let mut drawn = screen.svg();
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let bless = std::env::var_os("BLESS").is_some();
    // The last command may not be completely drawn yet.
    for _ in 0..50 {
        if drawn == kept {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
        drawn = screen.svg();
    }
    if bless {
        return std::fs::write(&path, drawn).expect("docs/debug.svg");
    }
    panic!("docs/debug.svg is another picture than the terminal's; BLESS=1 draws it again");
}

#[test]
fn checks_stop_where_they_report() {
    // 65 work-items for buffers of 64 elements.
    let mut args: Vec<&str> = VADD.to_vec();
    args[5] = "128";
    args[15] = "u32:65";
    args.extend([
        "--check",
        "-e",
        "run",
        "-e",
        "p exec",
        "-e",
        "p workgroup_x",
        "-e",
        "c",
    ]);
    args.extend(["-e", "rc", "-e", "p tick", "-e", "rc", "-e", "rc"]);
    let text = done(&args);
    let (found, text) = text.split_once('\n').unwrap();
    // Two loads and the store.
    assert_eq!(found, "3 reports; `continue` stops at each", "{text}");
    assert!(
        text.starts_with("error[oob]: a load of 4 bytes at 0x"),
        "{text}"
    );
    assert!(text.contains("exec = 0x1\nworkgroup_x = 1\n"), "{text}");
    assert_eq!(text.matches("error[oob]").count(), 3, "{text}");
    assert!(
        text.ends_with("the beginning of the history\n") || text.contains("=> 0x"),
        "{text}"
    );
    let mut args = VADD.to_vec();
    args.extend(["--check=race,barrier", "-e", "run"]);
    let text = done(&args);
    assert!(
        text.starts_with("nothing was reported\nthe last launch has ended\n"),
        "{text}"
    );
}

#[test]
fn one_wave_runs_alone() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/kernels/reduce-gfx900.co"
    );
    let words = "--kernel reduce_sum --group 128 --grid 384 --arg buf:rand:2000:3 --arg buf:zero:4 --arg u32:500 --arg local:512 --any-type";
    let commands = [
        "wave 1",
        "turn",
        "step 3",
        "waves",
        "turn",
        "continue alone",
        "waves",
        "continue all",
    ];
    let mut args = vec!["debug", file];
    args.extend(words.split(' '));
    commands.iter().for_each(|c| args.extend(["-e", *c]));
    let out = gcn(&args, "");
    let text = String::from_utf8(out.stdout).unwrap();
    for told in [
        "a new history begins here\nworkgroup (0,0,0) wave 1, reduce_sum, tick 0\n",
        "  (0,0,0) wave 0  reduce_sum  exec 0xffffffffffffffff  0 executed\n",
        "* (0,0,0) wave 1  reduce_sum+0x18  exec 0xffffffffffffffff  3 executed  next\n",
        "it is next already\n",
        "workgroup (0,0,0) wave 1 cannot run now: it waits at a barrier; only other waves can let it go on\n",
        "waits at a barrier for wave 0\n",
    ] {
        assert!(text.contains(told), "no `{told}` in\n{text}");
    }
    let still = "  (0,0,0) wave 0  reduce_sum  exec 0xffffffffffffffff  0 executed";
    let waiting = "> (0,0,0) wave 0  reduce_sum  exec 0xffffffffffffffff  0 executed  next\n";
    assert!(text.contains(still) && text.contains(waiting), "{text}");
    let errors = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(1));
    assert!(
        errors.contains("`all`: expected nothing, `wave`"),
        "{errors}"
    );
}

/// Targets of branches are shown by name.
#[test]
fn targets_of_branches_are_named() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/debug/written.s"
    );
    let words = "--kernel factorial --group 64 --grid 64 --arg buf:zero:256";
    let mut args = vec!["debug", file];
    args.extend(words.split(' '));
    args.extend(["-e", "x/1i factorial+0x20"]);
    let text = done(&args);
    // The source names the label.
    assert_eq!(
        text,
        "   0x1820  s_cbranch_scc1 65532 <factorial+0x14>       .Lagain\n"
    );
}

/// A case of testdata/check/run as a source with one kernel, and the words of its launch.
fn case(text: &str) -> Option<(String, Vec<String>)> {
    let (head, rest) = text.split_once('\n')?;
    let (shape, code) = rest.split_once('\n')?;
    if !head.contains("gfx900") || !(code.contains("; !") || code.contains("; ?")) {
        return None;
    }
    let words: Vec<&str> = shape.split_whitespace().collect();
    let value = |name: &str| words[words.iter().position(|w| *w == name).unwrap() + 1];
    let code: Vec<&str> = (code.lines().filter(|l| !l.contains("; gfx8"))).collect();
    let source = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n.text\n.globl k\n.p2align 8\n.type k,@function\nk:\n{}\n\
         .section .rodata,\"a\",@progbits\n.p2align 6\n.amdhsa_kernel k\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\
         .amdhsa_kernarg_size 8\n.amdhsa_group_segment_fixed_size {}\n.amdhsa_next_free_vgpr 16\n\
         .amdhsa_next_free_sgpr 32\n.end_amdhsa_kernel\n",
        code.join("\n"),
        value("lds")
    );
    let launch = format!(
        "--kernel k --grid {} --group {} --arg buf:zero:{} --any-type",
        value("grid"),
        value("group"),
        value("buf")
    );
    Some((source, launch.split(' ').map(str::to_owned).collect()))
}

/// Reports of every check: the session opens before the reported instruction, and `--check` stops there.
#[test]
fn every_kind_of_report_opens_at_its_moment() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cases = std::fs::read_to_string(root.join("testdata/check/run/cases.s")).unwrap();
    let folder = tempfile::tempdir().expect("a folder");
    let mut kinds = std::collections::BTreeSet::new();
    for (n, (source, launch)) in cases.split("== ").filter_map(case).enumerate() {
        let path = |end: &str| {
            folder
                .path()
                .join(format!("{n}.{end}"))
                .display()
                .to_string()
        };
        let (file, json) = (path("s"), path("json"));
        std::fs::write(&file, source).unwrap();
        let run = |command: &str, more: &[&str]| {
            let mut args = vec![command, &file];
            args.extend(
                launch
                    .iter()
                    .map(String::as_str)
                    .chain(more.iter().copied()),
            );
            gcn(&args, "")
        };
        let out = run("check", &["--checks", "all", "--json"]);
        std::fs::write(&json, &out.stdout).unwrap();
        let reports: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
        let reports = reports["reports"].as_array().unwrap();
        let here = |pc: &serde_json::Value| format!("=> {:#x}  ", pc.as_u64().unwrap());
        for (n, report) in reports.iter().enumerate() {
            let out = run("debug", &["--at", &format!("{json}:{n}"), "-e", "where"]);
            let text = String::from_utf8(out.stdout).unwrap();
            assert!(out.status.success(), "{report}");
            assert_eq!(text.matches(&here(&report["pc"])).count(), 2, "{text}");
            kinds.insert(report["check"].as_str().unwrap().to_owned());
        }
        let out = run("debug", &["--check=all", "-e", "run"]);
        let text = String::from_utf8(out.stdout).unwrap();
        let stops = |report: &serde_json::Value| {
            let head = format!("[{}", report["check"].as_str().unwrap());
            text.contains(&head) && text.contains(&here(&report["pc"]))
        };
        assert!(reports.iter().any(stops), "{file}: {text}");
    }
    let all = [
        "barrier",
        "coherence",
        "exec",
        "hazard",
        "mode",
        "oob",
        "race",
        "uninit",
        "waitcnt",
    ];
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), all);
}

/// A source is assembled with line tables, and can be debugged by its lines without an object.
#[test]
fn sources_are_debugged_by_their_lines() {
    let plan = "examples/saxpy.toml";
    let text = done(&[
        "debug",
        plan,
        "-e",
        "break saxpy.s:35",
        "-e",
        "break examples/saxpy.s:23",
        "-e",
        "run",
        "-e",
        "line",
        "-e",
        "list",
        "-e",
        "reverse-line",
        "-e",
        "who v0[1]",
    ]);
    // Line 35 is a label.
    assert!(text.contains("line 35 has no code, line 36 has"), "{text}");
    for part in [
        "breakpoint 2",
        "saxpy.s:23",
        "v_lshlrev_b64 v[0:1], 2, v[0:1]         // four bytes an element",
        "saxpy.s:24",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(text.contains("v_add_u32_e32 v0, vcc, s2, v0"), "{text}");
    // A line that other directives set is kept.
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("named.s");
    let source = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/saxpy.s"),
    );
    let source = source
        .expect("an example")
        .replace("saxpy:\n", "\t.file 1 \"saxpy.cl\"\nsaxpy:\n\t.loc 1 7 0\n");
    std::fs::write(&file, source).expect("a file");
    let file = file.display().to_string();
    let args =
        "--grid 64 --group 64 --arg buf:zero:256 --arg buf:zero:256 --arg u32:64 --arg f32:2";
    let mut args: Vec<&str> = args.split(' ').collect();
    args.splice(0..0, ["debug", &file]);
    args.extend(["-e", "break saxpy.cl:7", "-e", "run"]);
    let text = done(&args);
    assert!(text.contains("saxpy.cl:7"), "{text}");
}
