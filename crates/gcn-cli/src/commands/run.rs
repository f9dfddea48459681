//! `gcn run`: runs a kernel of a code object on the software machine.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{Args, error::ErrorKind};
use gcn::emu::dispatch::observers::Observe;
use gcn::engine::{Engines, Kind};
use gcn::isa::Target;
use gcn::lines::Sources;
use gcn::object::CodeObject;
use gcn::plan::{self, Plan, Report};
use gcn::profile::Profile;
use gcn::shard::{self, Part};
use gcn::trace::{self, Trace};
use gcn::{io, observers, plan_toml, raw, run};
use gcn_cli::dump;
use serde_json::json;

use super::wrong_usage;

/// The launch and its options.
#[derive(Args)]
pub struct Launching {
    /// A plan, source, a code object, or a file that contains one; or `-`
    pub file: PathBuf,
    #[command(flatten)]
    pub(super) choice: super::Choice,
    /// The kernel's name, if the object has several
    #[arg(long)]
    pub kernel: Option<String>,
    /// Work-items in x, y and z
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = dimensions)]
    pub grid: Option<[u32; 3]>,
    /// Work-items per workgroup in x, y and z
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = dimensions)]
    pub group: Option<[u32; 3]>,
    /// The first value of OpenCL's get_global_id in x, y and z; by default 0
    #[arg(long, value_name = "X[,Y[,Z]]", value_parser = offset)]
    pub offset: Option<[u64; 3]>,
    /// LDS after the kernel's own: HIP's `extern __shared__`
    #[arg(long, value_name = "BYTES")]
    pub dynamic_lds: Option<u32>,
    /// An argument; see below
    #[arg(long = "arg", value_name = "A", value_parser = run::parse_arg, allow_hyphen_values = true)]
    pub args: Vec<run::ArgSpec>,
    /// Accept arguments of any type of the right size, without conversion
    #[arg(long)]
    pub any_type: bool,
    /// Write argument N's buffer after the run, as .npy or raw by FILE's name
    #[arg(long = "out", value_name = "N=FILE", value_parser = out_file)]
    pub outs: Vec<(usize, PathBuf)>,
    /// Threads that run workgroups; by default one per core
    #[arg(long)]
    pub threads: Option<NonZeroUsize>,
    /// Use one thread and a fixed order: the same results every time, for every kernel
    #[arg(long)]
    pub deterministic: bool,
    /// Repeat the run this many times, with buffers reset before each
    #[arg(long)]
    pub repeat: Option<u32>,
    /// Stop after this many instructions of all waves
    #[arg(long)]
    pub max_instructions: Option<u64>,
    /// End the run at s_trap 3, a debugger's breakpoint, as at other traps
    #[arg(long)]
    pub debug_traps: bool,
    /// The target of source and entries that do not name it
    #[arg(long, value_parser = super::target(), ignore_case = true, hide_possible_values = true)]
    pub arch: Option<Target>,
}

#[derive(Args)]
#[command(after_help = "\
FILE is one of:
  PLAN.toml     buffers, launches, checks and files to save (docs/plans.md)
  KERNEL.s      source, which is assembled
  KERNEL.cl     OpenCL C, which the installed clang compiles (gcn compile); KERNEL.hip is HIP
  anything else a code object, a bundle, or a program or library that contains one

Arguments, in the order of the kernel's own:
  i32:5 u32:5 i64:5 u64:0x10 f32:1.5 f64:1.5 f16:1.5   a value (i8 u8 i16 u16 too)
  f32:1,2,3,4  bytes:HEX                               a vector, as OpenCL's float4; a structure
  buf:zero:BYTES  buf:rand:BYTES:SEED                  a global buffer of zeros or random bytes
  buf:randf32:BYTES:SEED  buf:randf64:BYTES:SEED       of floats, uniform in [0, 1)
  buf:zero:64x32xf32  buf:rand:64x32xf32:SEED          an array of these dimensions (random floats: in [0, 1))
  buf:FILE                                             a file's bytes, or a .npy file's elements
  local:BYTES                                          a dynamic local pointer
  ptr:ADDRESS                                          an address, as ptr:0 for NULL

Types must match the code object's metadata, signed or unsigned. The elements of a .npy file are stored
with the last index changing fastest, whatever their order in the file, and --out keeps an array's
shape. If the object has no metadata for the arguments, they are stored one after another, each
aligned to its size. Random contents come from SplitMix64, so a seed gives the same bytes everywhere.

Examples:
  gcn run vadd.co --kernel vadd --grid 1000 --group 256 --arg buf:randf32:4000:1 \\
      --arg buf:randf32:4000:2 --arg buf:zero:4000 --arg u32:1000 --out 2=sum.npy
  gcn run examples/saxpy.toml --profile
  gcn run --raw dump.bin --arch gfx900 --regs state.toml --base 0x10000")]
pub struct Options {
    #[command(flatten)]
    launch: Launching,
    /// Check what runs (docs/check.md): all that `gcn check` does, or a LIST as oob,race or -uninit
    #[arg(long, value_name = "LIST", num_args = 0..=1, require_equals = true, default_missing_value = "",
          allow_hyphen_values = true, conflicts_with_all = ["raw", "profile", "stats", "dump_jit", "dump_ir"])]
    check: Option<String>,
    /// Write each instruction and its changes to standard error or a file. The other --trace options imply it
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    trace: Option<PathBuf>,
    /// Trace only this workgroup, or this wave of it: 5, 1,2,0 or 5:3
    #[arg(long, value_name = "G[:W]", value_parser = trace::parse_wave)]
    trace_wave: Option<([u32; 3], Option<usize>)>,
    /// Trace only instructions at these addresses (as `gcn dis` prints them): 0x1000..0x1040
    #[arg(long, value_name = "A..B", value_parser = trace::parse_range)]
    trace_pc: Option<(u64, u64)>,
    /// The maximum number of traced instructions
    #[arg(long, value_name = "N")]
    trace_limit: Option<u64>,
    /// Trace every lane's value, even if they are equal
    #[arg(long)]
    trace_full: bool,
    /// Print execution counts by line of disassembly, by source line and by kind of instruction; for compiled
    /// code also times
    #[arg(long)]
    profile: bool,
    /// Print the compiled code, GCN code beside x86-64 code, to standard output or a file
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    dump_jit: Option<PathBuf>,
    #[arg(long, value_name = "PASS", num_args = 0..=1, require_equals = true, default_missing_value = "schedule",
          value_parser = pass_name, conflicts_with_all = ["raw", "json"],
          help = format!("Print the compiler's intermediate representation after a pass: {}; by default the last one",
                         gcn::engine::pass_names().join(", ")))]
    dump_ir: Option<String>,
    #[arg(long = "disable-pass", value_name = "PASS", value_parser = optional_pass, conflicts_with = "raw",
          help = format!("Compile without an optimisation, to measure what it is worth: {}; may be given several times",
                         gcn::engine::optional_passes().join(", ")))]
    disabled: Vec<String>,
    /// Print waves, instructions by kind, active lanes, bytes loaded and stored, speed
    #[arg(long)]
    stats: bool,
    /// Run instruction bytes, or source, with the registers given by --regs
    #[arg(long, requires = "arch", conflicts_with_all = ["kernel", "grid", "group", "offset", "dynamic_lds", "any_type", "args", "outs", "profile", "stats", "trace", "trace_wave", "trace_pc", "trace_limit", "trace_full", "repeat", "dump_jit"])]
    raw: bool,
    /// With --raw: initial registers, LDS and memory, as TOML or JSON (docs/raw.md)
    #[arg(long, value_name = "FILE", requires = "raw")]
    regs: Option<PathBuf>,
    /// With --raw: the address of the first byte
    #[arg(long, value_name = "ADDRESS", value_parser = super::address, requires = "raw")]
    base: Option<u64>,
    #[command(flatten)]
    engine: super::Engine,
    /// Run a part of a plan's workgroups: part I of N, from 0 (docs/clusters.md); `gcn merge` unites the parts
    #[arg(long, value_name = "I/N", value_parser = Part::parse, requires = "out_shard",
          conflicts_with_all = ["raw", "check", "profile", "stats", "trace", "trace_wave", "trace_pc", "trace_limit", "trace_full", "dump_jit", "dump_ir", "disabled", "repeat"])]
    shard: Option<Part>,
    /// The file for what the part changed
    #[arg(long, value_name = "FILE", requires = "shard")]
    out_shard: Option<PathBuf>,
    /// Print times and counts, or with --raw the state, as JSON
    #[arg(long)]
    json: bool,
}

/// Parses one to three numbers separated by commas; missing ones get the value `rest`.
fn three<T: Copy>(
    text: &str,
    rest: T,
    number: impl Fn(&str) -> Option<T>,
) -> Result<[T; 3], String> {
    let mut out = [rest; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err("expected at most three numbers, X,Y,Z".into());
    }
    for (slot, part) in out.iter_mut().zip(parts) {
        *slot =
            number(part.trim()).ok_or_else(|| format!("`{part}` is not a number of work-items"))?;
    }
    Ok(out)
}

fn dimensions(text: &str) -> Result<[u32; 3], String> {
    three(text, 1, |part| part.parse().ok().filter(|n| *n > 0))
}

fn offset(text: &str) -> Result<[u64; 3], String> {
    three(text, 0, |part| u64::try_from(run::integer(part)?).ok())
}

fn out_file(text: &str) -> Result<(usize, PathBuf), String> {
    let (n, file) = text
        .split_once('=')
        .ok_or("expected N=FILE, as 2=sum.npy")?;
    let n = n
        .parse()
        .map_err(|_| format!("`{n}` is not the number of an argument; the first is 0"))?;
    Ok((n, PathBuf::from(file)))
}

/// The plan of a command line, and the options of its run.
///
/// # Errors
/// A message: an invalid file, or a value on the command line that does not fit the kernel.
pub fn plan_of(args: &Launching, command: &str) -> Result<(Plan, plan::Options), String> {
    let is_plan = args.file.extension().is_some_and(|e| e == "toml");
    let (mut plan, mut options) = if is_plan {
        let given = [
            (args.kernel.is_some(), "--kernel"),
            (args.grid.is_some(), "--grid"),
            (args.group.is_some(), "--group"),
            (args.offset.is_some(), "--offset"),
            (args.dynamic_lds.is_some(), "--dynamic-lds"),
            (!args.args.is_empty(), "--arg"),
            (!args.outs.is_empty(), "--out"),
        ];
        if let Some((_, option)) = given.iter().find(|(given, _)| *given) {
            let message = format!("{option} cannot be used with a plan, which has its own");
            wrong_usage(command, ErrorKind::ArgumentConflict, &message);
        }
        plan_toml::read(&args.file, args.arch)?
    } else {
        let (Some(grid), Some(group)) = (args.grid, args.group) else {
            wrong_usage(
                command,
                ErrorKind::MissingRequiredArgument,
                "--grid and --group are required, unless the file is a plan (.toml): work-items in total and per workgroup, \
                 as --grid 1024 --group 256",
            );
        };
        let object = args.choice.object(&args.file, args.arch)?;
        let request = run::Request {
            kernel: args.kernel.as_deref(),
            grid,
            group,
            any_type: args.any_type,
            offset: args.offset.unwrap_or_default(),
            dynamic_lds: args.dynamic_lds.unwrap_or(0),
            args: args.args.clone(),
            outs: args.outs.clone(),
            repeat: 0,
        };
        (run::plan(object, request)?, plan::Options::default())
    };
    if args.any_type {
        plan.launches.iter_mut().for_each(|l| l.any_type = true);
    }
    if let Some(repeat) = args.repeat {
        plan.repeat = repeat;
    }
    if let Some(threads) = args.threads {
        options.threads = threads.get();
    } else if options.threads == 0 {
        options.threads = super::cores();
    }
    options.deterministic |= args.deterministic;
    options.debug_traps |= args.debug_traps;
    options.max_instructions = args.max_instructions.or(options.max_instructions);
    Ok((plan, options))
}

/// Runs a kernel or a plan and prints its times.
///
/// # Errors
/// A message: an invalid file, a value on the command line that does not fit the kernel, a fault of the program, or results that
/// differ from those that the plan expects.
pub fn run(args: Options) -> Result<(), String> {
    if args.raw {
        return run_raw(&args);
    }
    let (plan, mut options) = plan_of(&args.launch, "run")?;
    if let (Some(part), Some(file)) = (args.shard, &args.out_shard) {
        return run_shard(&args, &plan, options, part, file);
    }
    let kind = args.engine.kind(Kind::default())?;
    let counts = args.profile || args.stats;
    options.engines = Engines::new(kind);
    if (args.dump_jit.is_some() || args.dump_ir.is_some()) && !options.engines.compile() {
        let name = if args.dump_jit.is_some() { "jit" } else { "ir" };
        return Err(format!(
            "--dump-{name}: the interpreter generates no code; use --engine jit"
        ));
    }
    // With an observer, the interpreter runs each instruction.
    let counted = counts && traced(&args).is_none() && options.engines.compile();
    if counted {
        options.engines = Engines::counting(kind);
    }
    if !args.disabled.is_empty() && !options.engines.compile() {
        return Err("--disable-pass: the interpreter compiles nothing; use --engine jit".into());
    }
    for pass in &args.disabled {
        options.engines = options.engines.clone().without(pass)?;
    }
    if let Some(pass) = &args.dump_ir {
        options.engines = options.engines.clone().dumping_ir(pass);
    }
    // Standard output is used for JSON, or for the bytes of `--out N=-`.
    options.text_to_stderr = args.json || to_stdout(&args);
    let profile = (counts && !counted).then(|| Arc::new(Profile::default()));
    let mut observers: Vec<Arc<dyn Observe>> = Vec::new();
    if let Some(profile) = &profile {
        observers.push(profile.clone());
    }
    let checking = (args.check.as_deref())
        .map(|list| super::check::Checking::begin("run", Some(list), false, &mut options));
    observers.extend(checking.iter().map(|checking| checking.observer()));
    let mut trace = None;
    if let Some(path) = traced(&args) {
        let tracer = Arc::new(tracer(&args, path, &plan)?);
        observers.push(tracer.clone());
        trace = Some((tracer, path));
    }
    options.observers.observe = observers::all(observers);
    let start = Instant::now();
    let (report, interrupted) = super::attend::run(&plan, &mut options);
    let elapsed = start.elapsed();
    let traced = trace.map_or(Ok(()), |(trace, path)| {
        let name = match path.as_os_str() == "-" {
            true => "standard error".into(),
            false => path.display().to_string(),
        };
        (trace.finish()).map_err(|e| format!("{name}: the trace is incomplete: {e}"))
    });
    let found = checking.map(|checking| checking.found(&plan));
    if let Some(found) = &found {
        io::complain(&found.text(&args.launch.file.display().to_string()));
    }
    let wrong = found
        .as_ref()
        .is_some_and(|found| !found.reports.is_empty());
    let report = match (report, traced) {
        (Ok(report), traced) => {
            traced?;
            report
        }
        (Err(failure), traced) => {
            let also = traced.err().map_or(String::new(), |e| format!("\n{e}"));
            let told = format!("{}{also}", failure.message);
            if let (true, Some(mut json)) = (args.json, failure.json()) {
                if let Some(found) = &found {
                    json["reports"] = found.json();
                }
                io::print(format!("{json}\n").as_bytes())?;
            }
            return match interrupted {
                true => super::attend::end_interrupted(&told),
                false => Err(told),
            };
        }
    };
    let reports = found.as_ref().map(|found| found.json());
    print(
        &args,
        &plan,
        &options,
        (&report, reports),
        profile.as_deref(),
        elapsed,
    )?;
    failed_checks(&report)?;
    match wrong {
        true => Err(String::new()),
        false => Ok(()),
    }
}

/// Runs a part of a plan, and writes its changes.
fn run_shard(
    args: &Options,
    plan: &Plan,
    mut options: plan::Options,
    part: Part,
    file: &Path,
) -> Result<(), String> {
    if args.launch.file.extension().is_none_or(|e| e != "toml") {
        let message =
            "--shard runs a part of a plan (.toml), with which gcn merge checks and saves";
        wrong_usage("run", ErrorKind::ArgumentConflict, message);
    }
    options.text_to_stderr = true;
    let by = |plan: &Plan, options: &plan::Options| shard::run(plan, options, part);
    let (ran, interrupted) = super::attend::run_by(plan, &mut options, by);
    let ran = match ran {
        Ok(ran) => ran,
        Err(failure) if interrupted => super::attend::end_interrupted(&failure.message),
        Err(failure) => {
            if args.json {
                let message = json!({"error": {"message": failure.message}});
                let told = failure.json().unwrap_or(message);
                io::print(format!("{told}\n").as_bytes())?;
            }
            return Err(failure.message);
        }
    };
    io::write(file, &ran.to_bytes())?;
    if args.json {
        let all = json!({
            "shard": part.to_string(),
            "instructions": ran.instructions,
            "waves": ran.waves,
            "written": ran.written(),
            "launches": ran.ms.iter().map(|ms| json!({"ms": ms})).collect::<Vec<_>>(),
        });
        return match file.as_os_str() == "-" {
            true => Ok(()),
            false => io::print(format!("{all}\n").as_bytes()),
        };
    }
    io::complain(&format!(
        "shard {part}: {} waves, {} instructions, {} bytes written\n",
        ran.waves,
        ran.instructions,
        ran.written()
    ));
    Ok(())
}

/// Returns an error if checks of the plan failed.
///
/// # Errors
/// A message with each failed check.
pub fn failed_checks(report: &Report) -> Result<(), String> {
    let wrong = report.checks.iter().filter(|c| c.wrong > 0).count();
    if wrong > 0 {
        let mut text: String = report
            .checks
            .iter()
            .filter(|c| c.wrong > 0)
            .map(|c| c.text())
            .collect();
        text.push_str(&format!("{wrong} of {} checks failed", report.checks.len()));
        return Err(text);
    }
    Ok(())
}

/// The file of the trace, if one is requested.
fn traced(args: &Options) -> Option<&Path> {
    let chosen = args.trace_wave.is_some()
        || args.trace_pc.is_some()
        || args.trace_limit.is_some()
        || args.trace_full;
    args.trace.as_deref().or(chosen.then_some(Path::new("-")))
}

fn tracer(args: &Options, path: &Path, plan: &Plan) -> Result<Trace, String> {
    let out: Box<dyn std::io::Write + Send> = if path.as_os_str() == "-" {
        Box::new(std::io::BufWriter::new(std::io::stderr()))
    } else {
        let file = std::fs::File::create(path).map_err(|e| io::named(path, e))?;
        Box::new(std::io::BufWriter::new(file))
    };
    let filter = trace::Filter {
        wave: args.trace_wave,
        pc: args.trace_pc,
        limit: args.trace_limit,
        full: args.trace_full,
    };
    let sources = Sources::new(&plan.objects);
    Ok(Trace::new(out, filter, args.json, sources))
}

fn print(
    args: &Options,
    plan: &Plan,
    options: &plan::Options,
    (report, reports): (&Report, Option<serde_json::Value>),
    profile: Option<&Profile>,
    elapsed: Duration,
) -> Result<(), String> {
    let objects: Vec<(&CodeObject, u64)> = plan
        .objects
        .iter()
        .zip(report.bases.iter().copied())
        .collect();
    let profile = match profile {
        Some(profile) => Some(profile.result(&objects)),
        None if args.profile || args.stats => Profile::of_engines(&options.engines, &objects),
        None => None,
    };
    dump_jit(args, options, &objects)?;
    let ms: f64 = report.launches.iter().flat_map(|l| &l.ms).sum();
    // Repetitions run the same number of instructions, unless it depends on the order of waves.
    let rounds = plan.repeat as f64 + 1.0;
    let speed = report.instructions as f64 * rounds / (ms / 1e3).max(1e-6);
    let threads = if options.deterministic {
        1
    } else {
        options.threads
    };
    if args.json {
        let mut all = report_json(report);
        let Some(map) = all.as_object_mut() else {
            return Ok(());
        };
        if let Some(reports) = reports {
            map.insert("reports".into(), reports);
        }
        if let Some(profile) = &profile {
            if args.stats {
                map.insert(
                    "stats".into(),
                    json!({
                        "mix": profile.mix_json(),
                        "lanes": profile.lanes(),
                        "loaded_bytes": profile.loaded,
                        "stored_bytes": profile.stored,
                        "ms": ms,
                        "elapsed_ms": elapsed.as_secs_f64() * 1e3,
                        "instructions_per_second": speed,
                        "threads": threads,
                    }),
                );
            }
            if args.profile {
                map.insert("profile".into(), profile.json());
            }
        }
        if to_output(args.dump_jit.as_deref())
            && let Some(units) = dump::json(&options.engines, &objects)
        {
            map.insert("jit".into(), units);
        }
        return io::print(format!("{all}\n").as_bytes());
    }
    let mut text = String::new();
    if let [launch] = report.launches.as_slice() {
        text.push_str(&format!(
            "{}: {} waves, {} instructions\n",
            launch.kernel, report.waves, report.instructions
        ));
        for (n, ms) in launch.ms.iter().enumerate() {
            text.push_str(&format!("launch {n}: {ms:.3} ms\n"));
        }
    } else {
        for launch in &report.launches {
            let times: Vec<String> = launch.ms.iter().map(|ms| format!("{ms:.3}")).collect();
            text.push_str(&format!("{}: {} ms\n", launch.kernel, times.join(", ")));
        }
        text.push_str(&format!(
            "{} waves, {} instructions\n",
            report.waves, report.instructions
        ));
    }
    for check in report.checks.iter().filter(|c| c.wrong == 0) {
        text.push_str(&check.text());
    }
    if let Some(profile) = &profile {
        if args.stats {
            text.push('\n');
            text.push_str(&profile.mix_text());
            if let Some(lanes) = profile.lanes() {
                text.push_str(&format!(
                    "active lanes: {lanes:.1} of 64 ({:.1}%)\n",
                    lanes / 0.64
                ));
            }
            text.push_str(&format!(
                "memory: {} bytes loaded, {} stored\ntime: {:.3} ms on {threads} threads, {:.2} M instr/s (while counting)\n",
                profile.loaded,
                profile.stored,
                ms,
                speed / 1e6
            ));
            text.push_str(&options.engines.compiled().unwrap_or_default());
        }
        if args.profile {
            text.push('\n');
            text.push_str(&profile.text());
        }
    }
    if to_output(args.dump_jit.as_deref())
        && let Some(units) = dump::text(&options.engines, &objects)
    {
        text.push('\n');
        text.push_str(&units);
    }
    if args.dump_ir.is_some() {
        text.push('\n');
        text.push_str(&options.engines.dump_ir());
    }
    match to_stdout(args) {
        true => io::complain(&text),
        false => io::print(text.as_bytes())?,
    }
    Ok(())
}

/// The name of an optional optimisation.
fn optional_pass(text: &str) -> Result<String, String> {
    let names = gcn::engine::optional_passes();
    if names.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(match names.as_slice() {
        [] => "this build has no compiler".into(),
        names => format!("expected one of {}", names.join(", ")),
    })
}

/// The name of a pass of the compiler.
fn pass_name(text: &str) -> Result<String, String> {
    let names = gcn::engine::pass_names();
    if names.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(match names.as_slice() {
        [] => "this build has no compiler".into(),
        names => format!("no such pass; expected one of {}", names.join(", ")),
    })
}

fn to_output(file: Option<&Path>) -> bool {
    file.is_some_and(|file| file.as_os_str() == "-")
}

/// Writes the compiled code to the requested file.
fn dump_jit(
    args: &Options,
    options: &plan::Options,
    objects: &[(&CodeObject, u64)],
) -> Result<(), String> {
    let Some(file) = args
        .dump_jit
        .as_deref()
        .filter(|file| !to_output(Some(file)))
    else {
        return Ok(());
    };
    let text = match args.json {
        true => dump::json(&options.engines, objects).map(|json| format!("{json}\n")),
        false => dump::text(&options.engines, objects),
    };
    io::write(file, text.unwrap_or_default().as_bytes())
}

/// Returns true if a buffer is written to standard output.
fn to_stdout(args: &Options) -> bool {
    args.launch
        .outs
        .iter()
        .any(|(_, file)| file.as_os_str() == "-")
}

/// A completed run as JSON: launches, counts, and the plan's checks.
pub fn report_json(report: &Report) -> serde_json::Value {
    let launches: Vec<_> = (report.launches.iter())
        .map(|l| json!({ "kernel": l.kernel, "ms": l.ms }))
        .collect();
    let mut all = json!({
        "launches": launches,
        "instructions": report.instructions,
        "waves": report.waves,
    });
    if !report.checks.is_empty() {
        let checks: Vec<_> = report.checks.iter().map(check_json).collect();
        all["checks"] = json!(checks);
    }
    all
}

fn check_json(check: &plan::CheckReport) -> serde_json::Value {
    let first: Vec<_> = (check.first.iter())
        .map(|d| {
            json!({
                "index": d.index,
                "got": check.ty.show(d.got),
                "expected": check.ty.show(d.expected),
                "ulps": check.ty.ulps(d.got, d.expected),
            })
        })
        .collect();
    json!({
        "buffer": check.buffer,
        "ok": check.wrong == 0,
        "compared": check.count,
        "wrong": check.wrong,
        "most_ulps": check.most_ulps,
        "first": first,
    })
}

fn run_raw(args: &Options) -> Result<(), String> {
    let Some(target) = args.launch.arch else {
        return Err("--raw needs --arch".into());
    };
    let code = if args.launch.file.extension().is_some_and(|e| e == "s") {
        gcn::eval::assemble(target, &io::read_text(&args.launch.file)?)?
    } else {
        io::read(&args.launch.file)?
    };
    if code.is_empty() {
        return Err(io::named(
            &args.launch.file,
            "the file is empty; expected instructions",
        ));
    }
    if args.launch.file.as_os_str() == "-" && args.regs.as_deref() == Some(Path::new("-")) {
        return Err("standard input cannot be both the code and --regs".into());
    }
    let request = raw::Request {
        target,
        code,
        base: args.base,
        regs: args.regs.as_deref(),
        engine: args.engine.kind(Kind::default())?,
        max: args.launch.max_instructions.unwrap_or(raw::MAX),
    };
    let outcome = raw::run(&request)?;
    let text = match args.json {
        true => format!("{}\n", outcome.json()),
        false => outcome.text(),
    };
    io::print(text.as_bytes())?;
    outcome.fault().map_or(Ok(()), Err)
}
