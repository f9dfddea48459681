//! The same session on 21 kernels, some of them in several versions, in the text, the terminal, GDB and an editor: stop at a
//! location, inspect, step and go back. The expected values follow from the kernels' sources.
//!
//! The compiled kernels are those of testdata/debug, with line tables of three versions of clang; the others are handwritten,
//! from examples and testdata/debug/written.s.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

mod dap;
mod screen;

/// A kernel and its expected values.
struct KernelCase {
    /// A plan, or an object and the launch of one of its kernels.
    program: String,
    kernel: &'static str,
    args: &'static [&'static str],
    grid: u32,
    /// The location at which waves stop.
    location: &'static str,
    /// An expression whose value at this location follows from the source.
    expression: &'static str,
    value: &'static str,
}

impl KernelCase {
    /// The words of a command line.
    fn words(&self) -> Vec<String> {
        let mut words = vec![self.program.clone()];
        if !self.program.ends_with(".toml") {
            let own = ["--kernel", self.kernel, "--group", "64", "--grid"];
            words.extend(own.map(str::to_owned));
            words.push(self.grid.to_string());
            for arg in self.args {
                words.extend(["--arg".to_owned(), (*arg).to_owned()]);
            }
        }
        words
    }

    fn told(&self) -> String {
        format!("{} = {}", self.expression, self.value)
    }

    fn name(&self) -> String {
        format!("{} {} {}", self.program, self.kernel, self.location)
    }
}

/// Kernels of testdata/debug/written.s: names, locations, and values that follow from the code.
const LABELS: [(&str, &str, &str, &str); 5] = [
    // Lane 16 has the value of the last lane of its row.
    ("turned", "turned+0x14", "v2[16]", "0x1f"),
    // 1, 3 and 5 are odd.
    ("numbered", "numbered+0x28", "v2[7]", "0x3"),
    ("factorial", "factorial+0x24", "s4", "0x375f00"),
    // Inside two calls.
    ("squares", "square", "v3[5]", "0x5"),
    ("swapped", "swapped+0x28", "v2[5]", "0x4"),
];

/// Plans of examples: kernels, locations and values.
const WRITTEN: [(&str, &str, &str, &str, &str); 5] = [
    // The branch for the negative elements, -8 to -1.
    ("absolute", "absolute", "absolute+0x34", "exec", "0xff"),
    // y = 2 x + y with x = 10 and y = -3 + 10 / 2, before the store.
    ("saxpy", "saxpy", "saxpy+0x68", "f32(v5[10])", "22.0"),
    // One work-item of a workgroup stores.
    ("sums", "block_sums", "block_sums+0x38", "exec", "0x1"),
    // Nothing is summed yet at the beginning of the function.
    ("sums", "grid_sum", "add_up", "wave", "0"),
    // Every element of the picture is 0 before the first store.
    (
        "mandelbrot",
        "mandelbrot",
        "mandelbrot",
        "mem32(image)",
        "0x0",
    ),
];

/// A kernel's name, arguments, work-items, location, expression and value.
type Compiled = (
    &'static str,
    &'static [&'static str],
    u32,
    &'static str,
    &'static str,
    &'static str,
);

/// Kernels of testdata/debug/kernels.cl.
const COMPILED: [Compiled; 5] = [
    // Every third of 64 elements, from 0 on.
    (
        "thirds",
        &["buf:zero:1024"],
        128,
        "kernels.cl:8",
        "exec",
        "0x9249249249249249",
    ),
    // At the barrier LDS holds the squares.
    (
        "reversed",
        &["buf:rand:256:3", "buf:zero:256"],
        64,
        "kernels.cl:16",
        "lds32(20) == mem32(arg0 + 20) * mem32(arg0 + 20)",
        "1",
    ),
    // Every sixteenth element has no turn.
    (
        "turns",
        &["buf:zero:1024"],
        128,
        "kernels.cl:23",
        "exec",
        "0xfffefffefffefffe",
    ),
    // A function that is called.
    (
        "cubes",
        &["buf:rand:512:3", "buf:zero:512"],
        128,
        "cube",
        "exec == ~0",
        "1",
    ),
    // The lower half of the lanes.
    (
        "halves",
        &["buf:rand:2048:3", "i32:5"],
        128,
        "kernels.cl:40",
        "exec",
        "0xffffffff",
    ),
];

/// Kernels of testdata/debug/more.cl.
const MORE: [Compiled; 6] = [
    // All elements are 0.
    (
        "counted",
        &["buf:zero:256", "buf:zero:64"],
        64,
        "more.cl:20",
        "lds32(0)",
        "0x40",
    ),
    (
        "scanned",
        &["buf:zero:256"],
        64,
        "more.cl:35",
        "lds32(80)",
        "0x15",
    ),
    (
        "four",
        &["buf:zero:1024"],
        128,
        "more.cl:43",
        "exec",
        "0x2222222222222222",
    ),
    // Work-item 0 begins with 1, the value that the others will reach.
    (
        "steps",
        &["buf:zero:256"],
        64,
        "more.cl:58",
        "exec",
        "0xfffffffffffffffe",
    ),
    // 10 * 10 / 4
    (
        "doubles",
        &["buf:zero:512"],
        64,
        "more.cl:69",
        "f64(v[1:2][10])",
        "25.0",
    ),
    // The minimum of 0 to 7, and the maximum.
    (
        "sorted",
        &["buf:zero:256"],
        64,
        "more.cl:86",
        "mem32(arg0 + 20)",
        "0x7",
    ),
];

fn kernels() -> Vec<KernelCase> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = |text: &str| root.join(text).display().to_string();
    let written = WRITTEN.map(|(plan, kernel, location, expression, value)| KernelCase {
        program: path(&format!("examples/{plan}.toml")),
        kernel,
        args: &[],
        grid: 0,
        location,
        expression,
        value,
    });
    let mut all: Vec<KernelCase> = written.into();
    all.extend(
        LABELS.map(|(kernel, location, expression, value)| KernelCase {
            program: path("testdata/debug/written.s"),
            kernel,
            args: &["buf:zero:256"],
            grid: 64,
            location,
            expression,
            value,
        }),
    );
    let compiled = |file: &str, kernels: &[Compiled]| {
        let program = path(&format!("testdata/debug/{file}.co"));
        let known = |&(kernel, args, grid, location, expression, value): &Compiled| KernelCase {
            program: program.clone(),
            kernel,
            args,
            grid,
            location,
            expression,
            value,
        };
        kernels.iter().map(known).collect::<Vec<KernelCase>>()
    };
    for object in ["clang14-gfx900", "clang15-gfx803", "clang22-gfx906"] {
        all.extend(compiled(&format!("kernels-{object}"), &COMPILED));
    }
    for object in ["clang14-gfx900", "clang22-gfx906"] {
        all.extend(compiled(&format!("more-{object}"), &MORE));
    }
    all
}

#[test]
fn in_text() {
    for known in kernels() {
        let (there, look) = (
            format!("break {}", known.location),
            format!("p {}", known.expression),
        );
        let mut command = Command::new(env!("CARGO_BIN_EXE_gcn"));
        command.arg("debug").args(known.words());
        for line in [
            &there, "run", &look, "where", "step", "rs", "where", &look, "rc", "c", "where",
        ] {
            command.args(["-e", line]);
        }
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {errors}", known.name());
        assert!(
            text.starts_with("breakpoint 1 at 0x"),
            "{}: {text}",
            known.name()
        );
        assert_eq!(
            text.matches(&known.told()).count(),
            2,
            "{}: {text}",
            known.name()
        );
        // The locations of the stop, after the steps forward and back, and after going to the beginning and here again.
        let locations: Vec<&str> = text.lines().filter(|l| l.contains(", tick ")).collect();
        let [first, again, stepped, back, and_again, .., last] = locations.as_slice() else {
            panic!("{}: {text}", known.name());
        };
        assert_ne!(first, stepped, "{}: {text}", known.name());
        for other in [again, back, and_again, last] {
            assert_eq!(first, other, "{}: {text}", known.name());
        }
    }
}

#[test]
fn in_the_terminal() {
    for known in kernels() {
        let words = known.words();
        let mut args = vec!["debug"];
        args.extend(words.iter().map(String::as_str));
        let mut screen = screen::Screen::new(&args, &[]);
        screen.shows(", tick 0 ");
        screen.press(&format!(":break {}\r", known.location));
        screen.shows("breakpoint 1 at 0x");
        screen.press("c");
        screen.shows("> continue");
        screen.press(&format!(":p {}\r", known.expression));
        screen.shows(&known.told());
        screen.press("sS");
        screen.shows("> reverse-step");
        screen.press("q");
        assert!(screen.child.wait().unwrap().success(), "{}", known.name());
    }
}

#[test]
fn in_gdb() {
    if Command::new("gdb-multiarch")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("skipped: there is no gdb-multiarch (Debian's package of that name)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("gcn.py");
    let gcn = env!("CARGO_BIN_EXE_gcn");
    let text = Command::new(gcn)
        .args(["debug", "--gdb-script"])
        .output()
        .unwrap();
    std::fs::write(&script, text.stdout).unwrap();
    for known in kernels() {
        let words: Vec<String> = known
            .words()
            .iter()
            .map(|word| format!("'{word}'"))
            .collect();
        let target = format!("target remote | '{gcn}' debug {} --gdb -", words.join(" "));
        let mut command = Command::new("gdb-multiarch");
        command.args(["-nx", "-batch", "-iex", "set pagination off", "-x"]);
        command.arg(&script);
        let (there, look) = (
            format!("gcn break {}", known.location),
            format!("gcn p {}", known.expression),
        );
        for line in [
            &target,
            &there,
            "continue",
            &look,
            "stepi",
            "reverse-stepi",
            &look,
            "p/x $pc",
            "bt 1",
            "kill",
        ] {
            command.args(["-ex", line]);
        }
        let output = command.output().unwrap();
        // Texts of the target go to standard error.
        let all = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&all);
        assert_eq!(
            text.matches(&known.told()).count(),
            2,
            "{}: {text}",
            known.name()
        );
        assert!(text.contains("$1 = 0x1"), "{}: {text}", known.name());
        assert!(text.contains("#0  0x"), "{}: {text}", known.name());
    }
}

#[test]
fn in_an_editor() {
    for known in kernels() {
        let mut editor = dap::Editor::start();
        editor.body(
            "initialize",
            json!({"adapterID": "gcn", "linesStartAt1": true}),
        );
        let mut launch = json!({"program": known.program, "stopOnEntry": true});
        if !known.args.is_empty() {
            launch["kernel"] = known.kernel.into();
            launch["grid"] = known.grid.into();
            launch["group"] = 64.into();
            launch["args"] = known.args.into();
        }
        editor.body("launch", launch);
        editor.event("initialized");
        let set = match known.location.split_once(':') {
            Some((file, line)) => {
                let line: u64 = line.parse().unwrap();
                let lines = json!({"source": {"path": file}, "breakpoints": [{"line": line}]});
                editor.body("setBreakpoints", lines)
            }
            None => {
                let one = json!({"breakpoints": [{"name": known.location}]});
                editor.body("setFunctionBreakpoints", one)
            }
        };
        assert_eq!(
            set["breakpoints"][0]["verified"],
            true,
            "{}: {set}",
            known.name()
        );
        editor.body("configurationDone", json!({}));
        editor.event("stopped");
        editor.body("continue", json!({"threadId": 1}));
        let stopped = editor.event("stopped");
        let reason = (&stopped["reason"], &stopped["hitBreakpointIds"][0]);
        assert_eq!(
            reason,
            (&json!("breakpoint"), &set["breakpoints"][0]["id"]),
            "{}",
            known.name()
        );
        let thread = stopped["threadId"].clone();
        let location = |editor: &mut dap::Editor| {
            let trace = editor.body("stackTrace", json!({"threadId": thread}));
            trace["stackFrames"][0].clone()
        };
        let looked = |editor: &mut dap::Editor, frame: &Value| {
            let ask =
                json!({"expression": known.expression, "frameId": frame["id"], "context": "watch"});
            let told = editor.body("evaluate", ask)["result"]
                .as_str()
                .unwrap()
                .to_owned();
            assert!(told.starts_with(known.value), "{}: {told}", known.name());
        };
        let frame = location(&mut editor);
        looked(&mut editor, &frame);
        if let Some((_, line)) = known.location.split_once(':') {
            assert_eq!(frame["line"].to_string(), line, "{}", known.name());
        }
        for command in ["stepIn", "stepBack"] {
            let step = json!({"threadId": thread, "granularity": "instruction"});
            editor.body(command, step);
            editor.event("stopped");
        }
        let back = location(&mut editor);
        assert_eq!(
            back["instructionPointerReference"],
            frame["instructionPointerReference"],
            "{}",
            known.name()
        );
        looked(&mut editor, &back);
        editor.body("disconnect", json!({}));
        assert!(editor.child.wait().unwrap().success(), "{}", known.name());
    }
}
