//! `gcn hip`: runs a HIP program on the software machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use gcn::io;
use gcn::isa::Target;

/// The library that replaces ROCm's.
const LIBRARY: &str = "libhsa-runtime64.so.1";

/// The program in the same folder that prints its agents.
const INFO: &str = "gcn-hsa-info";

/// The variable with the library path.
const SEARCH: &str = "LD_LIBRARY_PATH";

#[derive(Args)]
#[command(after_help = "\
The program is started with this machine's libhsa-runtime64.so.1 first in the library path, and
with the options in GCN_… variables. It is not modified. The exit status is the program's, or 1 if that
is 0 and a launch failed or --check reported something. docs/hip.md says what runs.

The library is searched in ../lib/gcn-hsa beside the command's folder, in gcn-hsa beside the command
(where `cargo xtask hsa` writes it), or in the folder that GCN_HSA names.

Examples:
  hipcc --offload-arch=gfx900 vadd.cpp -o vadd && gcn hip -- ./vadd
  gcn hip --target gfx906 --threads 1 --profile -- ./app input.dat
  gcn hip --record launches -- ./app && gcn run launches/000001/plan.toml
  gcn hip --check -- ./app                   what is wrong with the kernels that it launches
  gcn hip --debug -- ./app                   stop in its kernels; `gcn debug` has the same commands
  gcn hip --debug -e 'break vadd' -e run -e regs -- ./app
  gcn hip --gdb 1234 -- ./app                and GDB: target remote :1234
  gcn hip --trace-instructions=trace.txt --launches 3 --trace-wave 0:1 -- ./app
  gcn hip --info --target gfx906             the agents that programs see, as rocminfo prints them
  eval \"$(gcn hip --env)\"                   the same for all programs of a shell")]
pub struct Options {
    /// The GPU that the program sees; by default the target of the program's own code, otherwise gfx900
    #[arg(long, value_parser = super::target())]
    target: Option<Target>,
    /// The engine that runs waves: interp or jit
    #[arg(long, value_parser = ["interp", "jit"])]
    engine: Option<String>,
    /// Host threads per launch; by default one per core
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// The GPU's memory in MiB
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..))]
    memory: Option<u64>,
    /// At the end, print for each kernel the number of launches, the time and the executed instructions
    #[arg(long)]
    profile: bool,
    /// Print each launch when it begins: its number, kernel, grid and workgroup
    #[arg(long)]
    trace: bool,
    /// Check every launch and report errors: LIST as in `gcn check --checks` (docs/check.md)
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, default_missing_value = "1", value_parser = checks)]
    check: Option<String>,
    /// Stop in the program's kernels, while it waits: the terminal of `gcn debug`, on the process's terminal (docs/debug.md)
    #[arg(long, conflicts_with_all = ["gdb", "trace_instructions"])]
    debug: bool,
    /// With --debug: execute a command, and print its text to standard error; may be given several times. After the last one
    /// the program goes on without the debugger
    #[arg(
        short = 'e',
        long = "execute",
        value_name = "COMMAND",
        requires = "debug",
        allow_hyphen_values = true
    )]
    commands: Vec<String>,
    /// With --debug: execute the commands of a file, one per line, after those of -e
    #[arg(long, value_name = "FILE", requires = "debug")]
    script: Option<PathBuf>,
    /// With --debug: use a command line instead of the full screen
    #[arg(long, requires = "debug", conflicts_with_all = ["commands", "script"])]
    plain: bool,
    /// Let GDB debug the program's kernels: wait for it at a port, by default on 127.0.0.1, at the first launch
    #[arg(
        long,
        value_name = "[HOST:]PORT",
        conflicts_with = "trace_instructions"
    )]
    gdb: Option<String>,
    /// With --debug or --gdb: the approximate maximum memory of a launch's history in MiB
    #[arg(long, value_name = "MIB")]
    history: Option<usize>,
    /// Write the profile, failures and the reports of --check to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write launches to this folder, each as a plan that `gcn run` replays
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Write each instruction and its changes, like gcn run --trace, to standard error or a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    trace_instructions: Option<PathBuf>,
    /// With --trace-instructions: trace only this workgroup, or this wave of it: 5, 1,2,0 or 5:3
    #[arg(long, value_name = "G[:W]", requires = "trace_instructions", value_parser = wave)]
    trace_wave: Option<String>,
    /// With --trace-instructions: only instructions at these addresses (as `gcn dis` prints them): 0x1000..0x1040
    #[arg(long, value_name = "A..B", requires = "trace_instructions", value_parser = range)]
    trace_pc: Option<String>,
    /// With --trace-instructions: the maximum number per launch
    #[arg(long, value_name = "N", requires = "trace_instructions")]
    trace_limit: Option<u64>,
    /// With --trace-instructions: every lane's value, even if they are equal
    #[arg(long, requires = "trace_instructions")]
    trace_full: bool,
    /// Record, trace and debug only launches with these numbers, as 7 or 10-20; by default the first 100 are recorded, all traced
    #[arg(long, value_name = "RANGE", value_parser = launches)]
    launches: Option<String>,
    /// Print shell commands that set up a shell for all programs; start none
    #[arg(long, conflicts_with = "program")]
    env: bool,
    /// Print the agents, memory pools and instruction set that programs see; start none
    #[arg(long, conflicts_with_all = ["program", "env"])]
    info: bool,
    /// The program and its arguments, after `--`
    #[arg(last = true, required_unless_present_any = ["env", "info"], value_name = "PROGRAM")]
    program: Vec<OsString>,
}

fn wave(text: &str) -> Result<String, String> {
    gcn::trace::parse_wave(text).map(|_| text.to_owned())
}

fn range(text: &str) -> Result<String, String> {
    gcn::trace::parse_range(text).map(|_| text.to_owned())
}

/// Names of checks; `1` stands for the default ones.
fn checks(text: &str) -> Result<String, String> {
    match text {
        "1" => Ok(text.to_owned()),
        list => gcn::check::dynamic::Options::parse(list).map(|_| list.to_owned()),
    }
}

/// `7` or `10-20`, from 1 on.
fn launches(text: &str) -> Result<String, String> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let number = |t: &str| t.trim().parse::<u64>().ok().filter(|&n| n > 0);
    match (number(from), number(to)) {
        (Some(from), Some(to)) if from <= to => Ok(text.to_owned()),
        _ => Err("expected a launch's number, from 1 on, or two of them as 10-20".into()),
    }
}

/// The folder that contains the library.
fn folder() -> Result<PathBuf, String> {
    let mut looked = Vec::new();
    let mut locations = Vec::new();
    if let Some(named) = std::env::var_os("GCN_HSA") {
        let named = PathBuf::from(named);
        // The folder, or the file itself.
        locations.push(match named.file_name() {
            Some(name) if name == LIBRARY => named.parent().unwrap_or(Path::new("")).to_path_buf(),
            _ => named,
        });
    } else {
        let own = std::env::current_exe().and_then(|p| p.canonicalize());
        let own = own.map_err(|e| format!("cannot find the path of this command: {e}"))?;
        let beside = own.parent().unwrap_or(Path::new("/"));
        locations.push(beside.join("../lib/gcn-hsa"));
        locations.push(beside.join("gcn-hsa"));
        locations.push(beside.join("../release/gcn-hsa"));
    }
    for location in locations {
        match location.canonicalize() {
            Ok(location) if location.join(LIBRARY).is_file() => return Ok(location),
            _ => looked.push(location.join(LIBRARY).display().to_string()),
        }
    }
    Err(format!(
        "found no {}; `cargo xtask hsa` builds it, GCN_HSA names its folder",
        looked.join(" nor ")
    ))
}

/// An absolute path, valid in any working directory.
fn absolute(path: &Path) -> Result<OsString, String> {
    let path = std::path::absolute(path);
    Ok(path.map_err(|e| e.to_string())?.into_os_string())
}

impl Options {
    /// The variables of the environment that the library reads.
    fn variables(&self) -> Result<Vec<(&'static str, OsString)>, String> {
        let mut search = folder()?.into_os_string();
        if let Some(more) = std::env::var_os(SEARCH).filter(|v| !v.is_empty()) {
            search.push(":");
            search.push(more);
        }
        let mut all = vec![(SEARCH, search)];
        if let Some(target) = self.target {
            all.push(("GCN_TARGET", target.name().into()));
        }
        if let Some(engine) = &self.engine {
            all.push(("GCN_ENGINE", engine.into()));
        }
        if let Some(threads) = self.threads {
            all.push(("GCN_THREADS", threads.to_string().into()));
        }
        if let Some(memory) = self.memory {
            all.push(("GCN_HIP_MEMORY", memory.to_string().into()));
        }
        if self.profile {
            all.push(("GCN_HIP_PROFILE", "1".into()));
        }
        if self.trace {
            all.push(("GCN_HIP_TRACE", "1".into()));
        }
        if let Some(list) = &self.check {
            all.push(("GCN_HIP_CHECK", list.into()));
        }
        all.extend(self.debugger()?);
        if let Some(file) = &self.json {
            all.push(("GCN_HIP_JSON", absolute(file)?));
        }
        if let Some(record) = &self.record {
            all.push(("GCN_HIP_RECORD", absolute(record)?));
        }
        if let Some(file) = &self.trace_instructions {
            let file = match file.as_os_str() == "-" {
                true => "-".into(),
                false => absolute(file)?,
            };
            all.push(("GCN_HIP_INSTRUCTIONS", file));
        }
        if let Some(wave) = &self.trace_wave {
            all.push(("GCN_HIP_TRACE_WAVE", wave.into()));
        }
        if let Some(range) = &self.trace_pc {
            all.push(("GCN_HIP_TRACE_PC", range.into()));
        }
        if let Some(limit) = self.trace_limit {
            all.push(("GCN_HIP_TRACE_LIMIT", limit.to_string().into()));
        }
        if self.trace_full {
            all.push(("GCN_HIP_TRACE_FULL", "1".into()));
        }
        if let Some(launches) = &self.launches {
            all.push(("GCN_HIP_LAUNCHES", launches.into()));
        }
        Ok(all)
    }
}

impl Options {
    /// The variables of the debugger.
    fn debugger(&self) -> Result<Vec<(&'static str, OsString)>, String> {
        let mut all: Vec<(&str, OsString)> = Vec::new();
        if let Some(address) = &self.gdb {
            // The program opens the port; trying it here reports an error before the program starts.
            gcn_debug::gdb::listen(address).map_err(|e| format!("--gdb {address}: {e}"))?;
            all.push(("GCN_HIP_GDB", address.into()));
        }
        if self.debug {
            let commands = self.script_lines()?;
            let kind = match (commands.is_empty(), self.plain) {
                (false, _) => "commands",
                (true, true) => "plain",
                (true, false) => "full",
            };
            if commands.is_empty() {
                terminal()?;
            }
            all.push(("GCN_HIP_DEBUG", kind.into()));
            all.push(("GCN_HIP_DEBUG_COMMANDS", commands.into()));
        }
        if let Some(mib) = self.history {
            all.push(("GCN_HIP_DEBUG_HISTORY", mib.to_string().into()));
        }
        Ok(all)
    }

    /// The commands of -e and --script, one per line: the location, a tab, and the command.
    fn script_lines(&self) -> Result<String, String> {
        let mut lines = String::new();
        let mut add = |location: String, command: &str| {
            let command = command.split('#').next().unwrap_or("").trim();
            if !command.is_empty() {
                lines.push_str(&format!("{location}\t{command}\n"));
            }
        };
        for (n, command) in self.commands.iter().enumerate() {
            add(format!("-e {}", n + 1), command);
        }
        if let Some(path) = &self.script {
            if path.as_os_str() == "-" {
                return Err("--script -: standard input is the program's own; name a file".into());
            }
            let bytes = io::read(path)?;
            for (n, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
                add(format!("{}:{}", path.display(), n + 1), line);
            }
            if lines.is_empty() {
                return Err(format!("{}: there is no command in it", path.display()));
            }
        }
        Ok(lines)
    }

    /// Returns true if the program and the debugger share the terminal.
    fn shares_terminal(&self) -> bool {
        self.debug && self.commands.is_empty() && self.script.is_none()
    }
}

/// The terminal of this process.
fn terminal() -> Result<std::fs::File, String> {
    let opened = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/tty");
    opened.map_err(|e| {
        format!("--debug: there is no terminal (/dev/tty: {e}); -e and --script give commands, --gdb waits for GDB")
    })
}

/// Quotes a word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

pub fn run(options: &Options) -> Result<(), String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("HIP programs run only on x86-64 Linux".into());
    }
    let variables = options.variables()?;
    if options.info {
        let program = folder()?.join(INFO);
        let mut command = Command::new(&program);
        command.envs(variables);
        return Err(start(command, program.as_os_str()));
    }
    let Some((program, arguments)) = options.program.split_first() else {
        let lines = variables.iter().map(|(name, value)| {
            let value = quoted(&value.to_string_lossy());
            format!("export {name}={value}\n")
        });
        return io::print(lines.collect::<String>().as_bytes());
    };
    let mut command = Command::new(program);
    command.args(arguments).envs(variables);
    if options.debug || options.gdb.is_some() {
        return attend(command, program, options.shares_terminal());
    }
    Err(start(command, program))
}

/// Runs the program under the debugger and waits for it. Reports if the program never reached the debugger, and restores the
/// terminal, however the program ends.
#[cfg(unix)]
fn attend(
    mut command: Command,
    program: &std::ffi::OsStr,
    shares_terminal: bool,
) -> Result<(), String> {
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::ExitStatusExt;
    let terminal = shares_terminal.then(terminal).transpose()?;
    let modes = terminal.as_ref().and_then(|t| tcgetattr(t).ok());
    // The library writes a byte when it is loaded.
    let (loaded, tells) = rustix::pipe::pipe().map_err(|e| format!("a pipe: {e}"))?;
    let _ = rustix::io::fcntl_setfd(&loaded, rustix::io::FdFlags::CLOEXEC);
    let number = tells.as_raw_fd();
    let inode = std::fs::metadata(format!("/proc/self/fd/{number}"));
    let inode = inode.map_err(|e| format!("/proc/self/fd: {e}"))?.ino();
    command.env("GCN_HIP_LOADED", format!("{number}:{inode}"));
    let status = wait(&mut command);
    let status = status.map_err(|e| format!("{}: {e}", program.to_string_lossy()))?;
    drop(tells);
    if let (Some(terminal), Some(modes)) = (&terminal, modes) {
        // If the terminal is gone, its modes need not be restored.
        let _ = tcsetattr(terminal, OptionalActions::Drain, &modes);
    }
    if !was_written(&loaded) {
        let name = program.to_string_lossy();
        io::complain(&format!(
            "gcn: {name} has not loaded HIP's library: there was no launch to debug (a program that is linked statically, or with a library path of its own, does not get this one)\n"
        ));
        let code = status.code().unwrap_or(0).max(1);
        std::process::exit(status.signal().map_or(code, |signal| 128 + signal));
    }
    let Some(signal) = status.signal() else {
        std::process::exit(status.code().unwrap_or(1));
    };
    // The ordinary screen, with a cursor.
    if let Some(mut terminal) = terminal {
        let _ = terminal.write_all(b"\x1b[?1049l\x1b[?25h");
    }
    io::complain(&format!("gcn: the program was ended by signal {signal}\n"));
    std::process::exit(128 + signal);
}

/// Starts a command and waits for its end. Signals that would end this process end the command.
#[cfg(unix)]
fn wait(command: &mut Command) -> std::io::Result<std::process::ExitStatus> {
    use rustix::process::{Pid, Signal};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    // Ctrl-C is handled by the program, which also gets it from the terminal, and interrupts its debugger.
    let _ = signal_hook::flag::register(SIGINT, Arc::default());
    let ends = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGTERM] {
        let _ = signal_hook::flag::register(signal, ends.clone());
    }
    let mut child = command.spawn()?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if ends.swap(false, Ordering::SeqCst) {
            let _ = rustix::process::kill_process(Pid::from_child(&child), Signal::TERM);
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Returns true if a byte was written to a pipe.
#[cfg(unix)]
fn was_written(pipe: &std::os::fd::OwnedFd) -> bool {
    // Another process may still hold the other end.
    let set = rustix::io::ioctl_fionbio(pipe, true);
    set.is_ok() && rustix::io::read(pipe, &mut [0u8; 1][..]) == Ok(1)
}

#[cfg(not(unix))]
fn attend(command: Command, program: &std::ffi::OsStr, _: bool) -> Result<(), String> {
    Err(start(command, program))
}

/// Replaces this process by the program, which gets its signals, terminal and exit status.
#[cfg(unix)]
fn start(mut command: Command, program: &std::ffi::OsStr) -> String {
    use std::os::unix::process::CommandExt;
    let error = command.exec();
    format!("{}: {error}", program.to_string_lossy())
}

#[cfg(not(unix))]
fn start(_: Command, program: &std::ffi::OsStr) -> String {
    format!("{}: no such program", program.to_string_lossy())
}
