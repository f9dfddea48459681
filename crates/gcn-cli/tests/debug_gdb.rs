//! `gcn debug --gdb`: GDB itself, and a client that misbehaves.
//!
//! Debian's gdb-multiarch runs scripts with known answers. Without it those tests are skipped with a message.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/kernels");
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

fn gcn(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gcn"));
    command.arg("debug").args(args);
    command
}

/// The arguments for a kernel of the fixtures.
fn vadd(chip: &str) -> Vec<String> {
    let file = format!("{KERNELS}/vadd-{chip}.co");
    let args = "--kernel vadd --grid 256 --group 128 --arg buf:randf32:1024:1 --arg buf:randf32:1024:2 --arg buf:zero:1024 --arg u32:256";
    let words = args.split(' ').map(str::to_owned);
    std::iter::once(file).chain(words).collect()
}

/// Executes commands in GDB on a kernel, with our script, and returns what each printed.
fn gdb(launch: &[String], commands: &[&str]) -> Option<Vec<String>> {
    gdb_after("echo", launch, commands)
}

/// As [`gdb`], with a command before GDB connects.
fn gdb_after(first: &str, launch: &[String], commands: &[&str]) -> Option<Vec<String>> {
    if Command::new("gdb-multiarch")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("skipped: there is no gdb-multiarch (Debian's package of that name)");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("gcn.py");
    let text = gcn(&["--gdb-script"]).output().unwrap().stdout;
    std::fs::write(&script, text).unwrap();
    // Errors and texts of the target go to the other stream.
    let mut command = Command::new("sh");
    command.args(["-c", "exec gdb-multiarch \"$@\" 2>&1", "sh"]);
    command.args(["-nx", "-batch", "-iex", "set pagination off", "-x"]);
    command.arg(&script);
    let words: Vec<String> = launch.iter().map(|word| format!("'{word}'")).collect();
    let target = format!(
        "target remote | '{}' debug {} --gdb -",
        env!("CARGO_BIN_EXE_gcn"),
        words.join(" ")
    );
    command.args(["-ex", first]);
    for text in std::iter::once(target.as_str()).chain(commands.iter().copied()) {
        command.args(["-ex", "echo \\n----\\n", "-ex", text]);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let parts = text.split("----\n").map(|part| part.trim().to_owned());
    Some(parts.skip(2).collect())
}

#[test]
fn gdb_steps_looks_and_goes_back() {
    let Some(out) = gdb(
        &vadd("gfx900"),
        &[
            "x/2i $pc",
            "p/x $exec",
            "p $v0[63]",
            "info threads",
            "stepi",
            "p $pc",
            "break *0x100002c20",
            "continue",
            "p/x $s0",
            "reverse-stepi",
            "p $pc",
            "reverse-continue",
            "kill",
        ],
    ) else {
        return;
    };
    assert!(out[0].contains("s_load_dword s0, s[4:5], 0x4"), "{out:#?}");
    assert!(out[0].contains("s_load_dword s1, s[6:7], 0x24"), "{out:#?}");
    assert_eq!(out[1], "$1 = 0xffffffffffffffff");
    assert_eq!(out[2], "$2 = 63");
    assert!(out[3].contains("\"(0,0,0) wave 0\" (vadd)"), "{out:#?}");
    assert!(out[3].contains("\"(0,0,0) wave 1\" (vadd)"), "{out:#?}");
    assert!(out[5].ends_with("0x100002c08"), "{out:#?}");
    assert!(out[7].contains("hit Breakpoint 1"), "{out:#?}");
    // The workgroup's size in x and y.
    assert_eq!(out[8], "$4 = 0x10080");
    assert!(out[10].ends_with("0x100002c1c"), "{out:#?}");
    assert!(
        out[11].contains("No more reverse-execution history"),
        "{out:#?}"
    );
}

#[test]
fn gdb_watches_and_changes() {
    let Some(out) = gdb(
        &vadd("gfx900"),
        &[
            "p *(float*)0x100005000",
            "set var *(float*)0x100005000 = 2.5",
            "p *(float*)0x100005000",
            "p *(float*)0x100007000 = 4",
            "watch *(float*)0x100009000",
            "continue",
            "p *(float*)0x100009000",
            "reverse-continue",
            "x/i $pc",
            "p $v2[0] = 0x40000000",
            "stepi",
            "p *(float*)0x100009000",
            "p $f32($v2[0])",
            "p $scc = 1",
            "gcn print scc",
            "gcn who v2[1]",
            "p $status = 0",
            "delete",
            "continue",
            "info threads",
            "reverse-stepi",
            "x/i $pc",
            "kill",
        ],
    ) else {
        return;
    };
    assert_eq!(out[0], "$1 = 0.56656152", "{out:#?}");
    assert_eq!(out[2], "$2 = 2.5");
    assert!(out[5].contains("New value = 6.5"), "{out:#?}");
    assert_eq!(out[6], "$4 = 6.5");
    assert!(out[7].contains("New value = 0"), "{out:#?}");
    assert!(
        out[8].contains("global_store_dword v[0:1], v2, off"),
        "{out:#?}"
    );
    // The new value of the register is stored.
    assert_eq!(out[11], "$6 = 2");
    assert_eq!(out[12], "$7 = 2");
    assert_eq!(out[14], "scc = 1");
    assert!(out[15].contains("v_add_f32_e32 v2, v6, v7"), "{out:#?}");
    assert!(out[18].contains("the last launch has ended"), "{out:#?}");
    assert!(out[19].contains("the end"), "{out:#?}");
    assert!(out[21].contains("s_endpgm"), "{out:#?}");
    assert!(out[16].contains("can only be read"), "{out:#?}");
}

/// With the symbols and tables of an object without optimisation: its tables for unwinding are empty, but the calls are known.
#[test]
fn gdb_knows_the_calls() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/debug");
    let object = format!("{folder}/calls-clang14-gfx900.co");
    let words = "--kernel calls --group 64 --grid 128 --arg buf:rand:512:3 --arg buf:zero:512";
    let mut launch = vec![object.clone()];
    launch.extend(words.split(' ').map(str::to_owned));
    let load = format!("file {object}");
    let Some(out) = gdb_after(
        &load,
        &launch,
        &[
            "set print frame-arguments none",
            "break inner",
            "continue",
            "bt",
            "delete",
            "finish",
            "bt",
            "finish",
            "up",
            "info line",
            "down",
            "reverse-finish",
            "bt",
            "kill",
        ],
    ) else {
        return;
    };
    let frames = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|l| l.starts_with('#'));
        let function = |l: &str| {
            let name = l.split(" (").next().unwrap_or("");
            let name = name.split_whitespace().last().unwrap_or("").to_owned();
            format!("{name}:{}", l.rsplit(':').next().unwrap_or(""))
        };
        lines.map(function).collect()
    };
    let all = ["inner:5", "middle:9", "outer:14", "calls:20"];
    assert_eq!(frames(&out[3]), all, "{out:#?}");
    assert_eq!(frames(&out[6]), all[1..], "{out:#?}");
    assert!(out[8].starts_with("#1 "), "{out:#?}");
    assert!(out[8].contains(" in calls "), "{out:#?}");
    assert!(out[9].starts_with("Line 20 of "), "{out:#?}");
    // The call of outer.
    assert!(out[11].contains(" in calls "), "{out:#?}");
    assert_eq!(frames(&out[12]), all[3..], "{out:#?}");
}

#[test]
fn a_failure_reaches_gdb_with_its_report() {
    let mut launch = vadd("gfx803");
    // More work-items than the buffers have elements.
    for word in &mut launch {
        *word = word
            .replace("u32:256", "u32:100000")
            .replace("256", "65536");
    }
    let Some(out) = gdb(&launch, &["continue", "reverse-stepi", "p $pc", "kill"]) else {
        return;
    };
    assert!(out[0].contains("SIGSEGV"), "{out:#?}");
    assert!(out[0].contains("vadd"), "{out:#?}");
}

#[test]
fn detached_launches_run_on_and_save() {
    let folder = tempfile::tempdir().unwrap();
    let sum = folder.path().join("sum.raw");
    let mut launch = vadd("gfx906");
    launch.extend(["--out".into(), format!("2={}", sum.display())]);
    if gdb(&launch, &["break *0x100002c10", "continue", "detach"]).is_none() {
        return;
    }
    assert_eq!(std::fs::metadata(sum).unwrap().len(), 1024);
}

/// A server on its own port, and the lines that it prints.
struct Server {
    child: Child,
    port: u16,
    lines: Receiver<String>,
}

impl Server {
    fn start(launch: &[&str]) -> Server {
        let mut child = gcn(launch)
            .args(["--gdb", "0"])
            .stderr(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let (send, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in stderr.lines() {
                let _ = send.send(line.unwrap());
            }
        });
        let mut server = Server {
            lines,
            child,
            port: 0,
        };
        let line = server.line();
        assert!(
            line.contains("waiting for GDB: target remote 127.0.0.1:"),
            "{line}"
        );
        server.port = line.rsplit(':').next().unwrap().trim().parse().unwrap();
        server
    }

    fn line(&self) -> String {
        let patience = Duration::from_secs(60);
        self.lines.recv_timeout(patience).unwrap()
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).unwrap();
        stream
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn send(stream: &mut TcpStream, text: &str) {
    let sum = text.bytes().fold(0u8, |sum, byte| sum.wrapping_add(byte));
    write!(stream, "${text}#{sum:02x}").unwrap();
}

/// The next packet of the server.
fn answer(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    loop {
        stream.read_exact(&mut byte).unwrap();
        match byte[0] {
            b'$' => text.clear(),
            b'#' => break,
            other => text.push(other),
        }
    }
    let mut sum = [0; 2];
    stream.read_exact(&mut sum).unwrap();
    String::from_utf8(text).unwrap()
}

fn ask(stream: &mut TcpStream, text: &str) -> String {
    send(stream, text);
    answer(stream)
}

const FOREVER: &str = "
    .amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"
    .text
    .globl forever
    .p2align 8
    .type forever,@function
forever:
    s_mov_b32 s8, 0
.Lagain:
    s_add_u32 s8, s8, 1
    s_branch .Lagain
    s_endpgm
    .section .rodata,#alloc
    .p2align 6
    .amdhsa_kernel forever
        .amdhsa_next_free_vgpr 4
        .amdhsa_next_free_sgpr 16
    .end_amdhsa_kernel
";

#[test]
fn a_client_that_hangs_up_or_errs_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("forever.s");
    std::fs::write(&source, FOREVER).unwrap();
    let mut server = Server::start(&[source.to_str().unwrap(), "--grid", "64", "--group", "64"]);
    let mut client = server.connect();
    assert!(server.line().contains("GDB is connected"));
    let features = ask(&mut client, "qSupported:swbreak+");
    assert!(features.contains("ReverseStep+"), "{features}");
    // A packet with a wrong checksum is refused, and requested again.
    client.write_all(b"$?#00").unwrap();
    assert!(
        server
            .line()
            .contains("the checksum `00`; its contents have 3f")
    );
    assert!(ask(&mut client, "?").starts_with("T05thread:1;"));
    // The answer to an unknown packet is empty, and to an invalid one an error.
    assert_eq!(ask(&mut client, "vMustReplyEmpty"), "");
    assert_eq!(ask(&mut client, "m10,4"), "E01");
    assert_eq!(ask(&mut client, "mxyz"), "E01");
    assert_eq!(ask(&mut client, "Hgffff"), "E01");
    assert_eq!(ask(&mut client, "pffff"), "E01");
    assert!(ask(&mut client, "Z0,10,1").starts_with("E."));
    assert!(
        server
            .line()
            .contains("0x10 is not the address of an instruction")
    );
    assert!(ask(&mut client, "vCont;x:1").starts_with("E."));
    assert!(ask(&mut client, "P10=00").starts_with("E."));
    assert_eq!(ask(&mut client, "vCont;s:1").get(..3), Some("T05"));
    // It runs until it is interrupted.
    send(&mut client, "c");
    std::thread::sleep(Duration::from_millis(50));
    client.write_all(&[3]).unwrap();
    assert_eq!(answer(&mut client).get(..3), Some("T02"));
    // The client hangs up while the kernel runs.
    send(&mut client, "c");
    drop(client);
    let line = server.line();
    assert!(line.contains("GDB has hung up"), "{line}");
    let mut client = server.connect();
    assert!(server.line().contains("GDB is connected"));
    assert!(ask(&mut client, "?").starts_with("T05thread:1;"));
    // The kernel has run further.
    let text = ask(&mut client, "qRcmd,70207338");
    // `s8 = 0x`, and at least two digits.
    assert!(text.starts_with("O7338203d203078"), "{text}");
    assert!(text.len() > 20, "{text}");
    assert_eq!(answer(&mut client), "OK");
    send(&mut client, "k");
    assert!(server.child.wait().unwrap().success());
}

#[test]
fn an_address_that_cannot_be_had_is_named() {
    let plan = format!("{EXAMPLES}/saxpy.toml");
    let server = Server::start(&[&plan]);
    let taken = server.port.to_string();
    for (address, expected) in [
        (taken.as_str(), "another program uses the port"),
        ("none", "expected [HOST:]PORT"),
        ("127.0.0.1:99999", "expected [HOST:]PORT"),
        ("nowhere.invalid:1", "nowhere.invalid:1: "),
    ] {
        let output = gcn(&[&plan, "--gdb", address]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains(expected), "{text}");
    }
    // Standard input that ends is a client that hangs up.
    let output = gcn(&[&plan, "--gdb", "-"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("GDB has hung up; the launches did not run to their end"),
        "{text}"
    );
}

/// With `scheduler-locking` a thread continues alone.
#[test]
fn gdb_continues_one_thread_alone() {
    let object = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../testdata/kernels/reduce-gfx900.co"
    );
    let words = "--kernel reduce_sum --group 128 --grid 384 --arg buf:rand:2000:3 --arg buf:zero:4 --arg u32:500 --arg local:512 --any-type";
    let mut launch = vec![object.to_owned()];
    launch.extend(words.split(' ').map(str::to_owned));
    let commands = [
        "set scheduler-locking on",
        "thread 2",
        "continue",
        "gcn waves",
        "p $v0[0]",
        "kill",
    ];
    let Some(out) = gdb(&launch, &commands) else {
        return;
    };
    assert!(
        out[2].contains("only other waves can let it go on"),
        "{out:#?}"
    );
    assert!(out[3].contains("0 executed"), "{out:#?}");
    assert!(out[4].contains("= 64"), "{out:#?}");
}

#[test]
fn gdb_stops_at_lines_of_a_source() {
    let launch = [format!("{EXAMPLES}/saxpy.toml")];
    let Some(out) = gdb(
        &launch,
        &[
            "gcn break saxpy.s:27",
            "continue",
            "x/1i $pc",
            "gcn line",
            "gcn list",
            "kill",
        ],
    ) else {
        return;
    };
    assert!(out[2].contains("flat_load_dword v4, v[2:3]"), "{out:#?}");
    assert!(out[3].contains("saxpy.s:28"), "{out:#?}");
    assert!(out[4].contains("v_mov_b32_e32 v3, s7"), "{out:#?}");
}
