//! `gcn debug`: stops waves anywhere, shows their state, and goes backwards.

use std::io::{BufRead, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::check::Checking;
use clap::builder::ArgPredicate;
use clap::{Args, Parser};
use gcn::io;
use gcn::lines::Files;
use gcn_debug::commands::Commands;
use gcn_debug::{Options as SessionOptions, Session, WaveId};
use gcn_debug::{dap, gdb, terminal};
use serde_json::Value;

#[derive(Args)]
// With these options the default file is `-`, which is not read.
#[command(mut_arg("file", |file| file.required(false).required_unless_present_any(["gdb_script", "dap"])
    .default_value_if("gdb_script", ArgPredicate::IsPresent, "-")
    .default_value_if("dap", ArgPredicate::IsPresent, "-")))]
#[command(after_help = "\
FILE and what is launched are those of `gcn run`: a plan, source, or a code object with --grid, --group
and --arg (`gcn run --help` describes arguments). The launches run on one thread in the order of
`gcn run --deterministic`, compiled between the stops, and compute the same, whatever is stepped, looked at or undone.

On a terminal it shows code, waves, registers by lane, LDS and memory; `?` lists the keys. With -e or --script,
commands are executed and their text is printed; so they are if standard input is no terminal. `help` lists
the commands, docs/debug.md describes them, with a tutorial.

Exit status: 0 all commands were done; 1 one could not be, or FILE is wrong; 2 the command line is wrong.

Examples:
  gcn debug examples/saxpy.toml -e 'break saxpy' -e run -e regs
  gcn debug vadd.co --grid 64 --group 64 --arg buf:randf32:256:1 --arg buf:randf32:256:2 \\
      --arg buf:zero:256 --arg u32:64 -e 'watch v3[17]' -e run -e 'p f32(v3[17])' -e rs
  gcn debug examples/saxpy.toml --script find-it.txt
  gcn debug plan.toml --check -e run -e bt   the first report of `gcn check`, at its moment
  gcn check plan.toml --json > report.json; gcn debug plan.toml --at report.json:0")]
pub struct Options {
    #[command(flatten)]
    launch: super::run::Launching,
    /// Execute a command; may be given several times
    #[arg(
        short = 'e',
        long = "execute",
        value_name = "COMMAND",
        allow_hyphen_values = true
    )]
    commands: Vec<String>,
    /// Execute the commands of a file, one per line, after those of -e; `-` is standard input
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Begin at the moment of a report of `gcn check --json`: the first one, or N counted from 0
    #[arg(long, value_name = "REPORT.json[:N]")]
    at: Option<String>,
    /// Run the launches with the checks of `gcn check` first, LIST as there, and stop at the moment of each report
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["dap", "at"])]
    check: Option<String>,
    /// On a terminal, use a command line instead of the full screen
    #[arg(long)]
    plain: bool,
    /// The approximate maximum memory of a launch's history in MiB
    #[arg(long, value_name = "MIB", default_value_t = 256)]
    history: usize,
    /// Wait for GDB at a port, by default on 127.0.0.1, or talk to it over standard input and output with `-`
    #[arg(long, value_name = "[HOST:]PORT|-", conflicts_with_all = ["commands", "script"])]
    gdb: Option<String>,
    /// Print the script for GDB's Python: disassembly, the command `gcn`, registers as floats
    #[arg(long, exclusive = true)]
    gdb_script: bool,
    /// Speak the Debug Adapter Protocol, as editors do, over standard input and output; FILE may be left to the editor's
    /// launch configuration
    #[arg(long, conflicts_with_all = ["commands", "script", "gdb", "at"])]
    dap: bool,
}

/// The command line from a launch configuration.
#[derive(Parser)]
#[command(name = "gcn debug", no_binary_name = true)]
struct Configuration {
    #[command(flatten)]
    launch: super::run::Launching,
}

/// Runs a session.
///
/// # Errors
/// A message: FILE is invalid, or a command failed.
pub fn run(args: &Options) -> Result<(), String> {
    if args.gdb_script {
        return io::print(gdb::SCRIPT.as_bytes());
    }
    let interrupt = Arc::new(AtomicBool::new(false));
    if args.dap {
        return serve_editor(args, &interrupt);
    }
    // Without handlers Ctrl-C ends the process, as usual.
    if args.gdb.is_none() {
        let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, interrupt.clone());
    }
    let mut commands = open(&args.launch, args.history, &interrupt)?;
    if let Some(list) = &args.check {
        let reports = check(&args.launch, list)?;
        let text = match reports.len() {
            0 => "nothing was reported\n".to_owned(),
            1 => "1 report; `continue` stops there\n".to_owned(),
            n => format!("{n} reports; `continue` stops at each\n"),
        };
        let session = commands.session_mut();
        session
            .stop_at_reports(reports)
            .map_err(|e| e.to_string())?;
        match args.gdb {
            None => io::print(text.as_bytes())?,
            Some(_) => io::complain(&text),
        }
    }
    if let Some(at) = &args.at {
        let text = go_to_report(&mut commands, at).map_err(|e| format!("--at {at}: {e}"))?;
        match args.gdb {
            None => io::print(text.as_bytes())?,
            Some(_) => io::complain(&text),
        }
    }
    if let Some(address) = &args.gdb {
        let say = |line: &str| io::complain(&format!("{line}\n"));
        return gdb::serve(commands, &interrupt, address, &say).map_err(|e| e.to_string());
    }
    for (n, line) in args.commands.iter().enumerate() {
        if execute(&mut commands, line, &format!("-e {}", n + 1))? {
            return Ok(());
        }
    }
    match &args.script {
        Some(path) if path.as_os_str() == "-" => stdin(&mut commands),
        Some(path) => {
            let bytes = io::read(path)?;
            let text = String::from_utf8_lossy(&bytes);
            let name = path.display().to_string();
            for (n, line) in text.lines().enumerate() {
                if script_line(&mut commands, line, &format!("{name}:{}", n + 1))? {
                    return Ok(());
                }
            }
            Ok(())
        }
        None if args.commands.is_empty() => {
            let full = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
            match full && !args.plain {
                true => {
                    let screen = Box::new(std::io::stdout());
                    terminal::run(&mut commands, &interrupt, screen).map(|_| ())
                }
                false => stdin(&mut commands),
            }
        }
        None => Ok(()),
    }
}

/// Opens a session.
fn open(
    launch: &super::run::Launching,
    history: usize,
    interrupt: &Arc<AtomicBool>,
) -> Result<Commands, String> {
    let (plan, options) = super::run::plan_of(launch, "debug")?;
    let options = SessionOptions {
        compiles: options.engines.compile(),
        plan: options,
        history_bytes: history << 20,
        interrupt: interrupt.clone(),
        ..SessionOptions::default()
    };
    let session = Session::new(plan, options).map_err(|e| e.to_string())?;
    Ok(Commands::new(session))
}

/// Runs the launches with checks, and saves nothing. A failure ends the launches here, too; the session shows it when it reaches
/// it.
fn check(launch: &super::run::Launching, list: &str) -> Result<Vec<gcn_debug::Report>, String> {
    let (mut plan, mut options) = super::run::plan_of(launch, "debug")?;
    plan.saves.clear();
    plan.checks.clear();
    let checking = Checking::begin("debug", Some(list), false, &mut options);
    options.observers.observe = Some(checking.observer());
    options.text_to_stderr = true;
    if let Err(failure) = gcn::plan::run(&plan, &options)
        && failure.run.is_none()
    {
        return Err(failure.message);
    }
    let file = launch.file.display().to_string();
    let mut files = Files::default();
    let mut moment = |report: &gcn::check::report::Report| {
        let at = report.at.as_ref()?;
        let mut text = String::new();
        let line = |name: &str| files.named(name).map(str::to_owned);
        gcn::check::text::report(&mut text, report, &file, line);
        Some(gcn_debug::Report {
            launch: at.launch as usize,
            wave: WaveId {
                workgroup: at.workgroup,
                wave: at.wave as usize,
            },
            executed: at.step,
            kernel: report.kernel.clone(),
            offset: report.pc.wrapping_sub(report.entry),
            text,
            seen: false,
        })
    };
    let found = checking.found(&plan);
    Ok(found.reports.iter().filter_map(&mut moment).collect())
}

/// Serves an editor.
fn serve_editor(args: &Options, interrupt: &Arc<AtomicBool>) -> Result<(), String> {
    let given = match args.launch.file.as_os_str() == "-" {
        true => None,
        false => Some(open(&args.launch, args.history, interrupt)?),
    };
    let mut configured = |words: &[String]| {
        let launch = Configuration::try_parse_from(words).map_err(|e| e.to_string())?;
        let launch = launch.launch;
        let plan = launch.file.extension().is_some_and(|e| e == "toml");
        let sizes = launch.grid.is_some() as u8 + launch.group.is_some() as u8;
        if !plan && sizes < 2 {
            return Err("the launch configuration needs `grid` and `group`, as \"grid\": [1024, 1, 1], unless `program` is a plan".into());
        }
        if plan && (sizes > 0 || launch.kernel.is_some() || !launch.args.is_empty()) {
            return Err(
                "`program` is a plan, which has its own `kernel`, `grid`, `group` and `args`"
                    .into(),
            );
        }
        open(&launch, args.history, interrupt)
    };
    let served = dap::serve(
        given,
        &mut configured,
        interrupt,
        std::io::stdin(),
        std::io::stdout(),
    );
    served.map_err(|e| e.to_string())
}

/// Goes to the moment of a report, and returns its text.
fn go_to_report(commands: &mut Commands, at: &str) -> Result<String, String> {
    let (path, number) = match at
        .rsplit_once(':')
        .map(|(path, n)| (path, n.parse::<usize>()))
    {
        Some((path, Ok(number))) => (path, number),
        _ => (at, 0),
    };
    let bytes = io::read(Path::new(path))?;
    let json: Value = serde_json::from_slice(&bytes)
        .map_err(|e| format!("expected the output of `gcn check --json`: {e}"))?;
    let Some(reports) = json["reports"].as_array() else {
        return Err("expected the output of `gcn check --json`, an object with `reports`".into());
    };
    let report = reports.get(number).ok_or_else(|| {
        let have = reports.len();
        format!("there is no report {number}; there are {have}, the first is 0")
    })?;
    let at = &report["at"];
    let field = |name: &str| at[name].as_u64();
    let ids: Vec<u32> = (at["workgroup"].as_array().into_iter().flatten())
        .filter_map(|n| u32::try_from(n.as_u64()?).ok())
        .collect();
    let group = <[u32; 3]>::try_from(ids).ok();
    let (Some(launch), Some(wave), Some(step), Some(workgroup)) =
        (field("launch"), field("wave"), field("step"), group)
    else {
        return Err("the report has no moment (`at`): it is about code that did not run".into());
    };
    let wave = WaveId {
        workgroup,
        wave: wave as usize,
    };
    let session = commands.session_mut();
    let went = session.travel_to(launch as usize, wave, step);
    went.map_err(|e| format!("{e}; is the report of the same launch?"))?;
    let text = |name: &str| report[name].as_str().unwrap_or("").to_owned();
    let here = commands.execute("where").map_err(|e| e.to_string())?;
    Ok(format!(
        "{}: {}\n{}",
        text("check"),
        text("message"),
        here.text
    ))
}

/// Executes the lines of standard input. On a terminal an error does not end the session.
fn stdin(commands: &mut Commands) -> Result<(), String> {
    let terminal = std::io::stdin().is_terminal();
    let mut input = std::io::stdin().lock();
    let mut n = 0;
    loop {
        if terminal {
            io::print(b"(gcn) ")?;
        }
        let mut line = Vec::new();
        // A line without an end must not fill the memory.
        let read = (&mut input).take(1 << 16).read_until(b'\n', &mut line);
        match read {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(format!("standard input: {e}")),
        }
        n += 1;
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        let done = match terminal {
            true => execute(commands, line, ""),
            false => script_line(commands, line, &format!("line {n}")),
        };
        match done {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(message) if terminal => io::complain(&format!("{message}\n")),
            Err(message) => return Err(message),
        }
    }
}

/// Executes a line of a script. An empty line has no effect.
fn script_line(commands: &mut Commands, line: &str, location: &str) -> Result<bool, String> {
    match line.split('#').next().unwrap_or("").trim() {
        "" => Ok(false),
        line => execute(commands, line, location),
    }
}

/// Executes a command and prints its text. Returns true if it ends the session.
fn execute(commands: &mut Commands, line: &str, location: &str) -> Result<bool, String> {
    let output = commands.execute(line).map_err(|e| match location {
        "" => e.to_string(),
        location => format!("{location}: `{}`: {e}", line.trim()),
    })?;
    io::print(output.text.as_bytes())?;
    Ok(output.quit)
}
