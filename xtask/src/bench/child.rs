//! The measuring processes. They are separate because PoCL's number of threads is fixed at its start, and a process has one
//! peak of memory.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use gcn::engine::Kind;
use gcn::{Gpu, Kernel, Launch, Target};
use gcn_emu::dispatch;
use serde_json::{Value as Json, json};

use super::cases::Case;
use super::data::{Alike, Arg};
use super::opencl::{self, Device};
use super::{Clock, Level, Set, plan};

/// The arguments of `bench-child`.
#[derive(clap::Args)]
pub struct Options {
    #[arg(long)]
    what: What,
    #[arg(long)]
    set: Set,
    #[arg(long)]
    pub target: String,
    /// The folder of `NAME-TARGET.co`.
    #[arg(long)]
    objects: PathBuf,
    /// The folders of `NAME.cl`, in the order in which they are searched.
    #[arg(long)]
    sources: Vec<PathBuf>,
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    #[arg(long)]
    pub threads: usize,
    #[arg(long)]
    pub rounds: usize,
    /// The minimum number of seconds of all rounds.
    #[arg(long)]
    budget: f64,
    #[arg(long)]
    pub clock: Clock,
    #[arg(long)]
    level: Option<Level>,
    #[arg(long = "disable-pass")]
    disabled: Vec<String>,
    /// The folder for plans.
    #[arg(long)]
    plans: Option<PathBuf>,
    /// Measures code without each optimisation too.
    #[arg(long)]
    causes: bool,
    #[arg(long)]
    no_interp: bool,
    #[arg(long)]
    no_pocl: bool,
    #[arg(long)]
    pub checks: Vec<String>,
}

/// The task of a process.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum What {
    /// Each kernel on each engine.
    Kernels,
    /// Each kernel's memory on the compiling engine.
    Memory,
    /// Loops of vector instructions, and launches.
    Loops,
    /// Nothing: each kernel's launch is written as a plan.
    Plans,
    /// Each kernel with and without checks.
    Checks,
}

/// The maximum number of rounds, as a multiple of the option's number.
const MOST: usize = 10;

/// Measures and prints a line of JSON for each kernel.
///
/// # Errors
/// If a kernel cannot be built or run.
pub fn run(options: &Options) -> Result<bool> {
    let cases = options.set.cases().into_iter();
    let cases =
        cases.filter(|c| options.only.is_empty() || options.only.iter().any(|n| n == c.name));
    match options.what {
        What::Kernels => {
            let pocl = match options.no_pocl {
                true => Err("left out".to_owned()),
                false => Device::pocl().map_err(|e| format!("{e:#}")),
            };
            println!("{}", json!({ "tables_ms": tables(options)? }));
            println!(
                "{}",
                match &pocl {
                    Ok(device) => json!({ "pocl": device.name }),
                    Err(why) => json!({ "no_pocl": why }),
                }
            );
            for case in cases {
                let row = kernel(&case, options, pocl.as_ref().ok());
                println!("{}", row.with_context(|| case.name)?);
            }
        }
        What::Memory => {
            for case in cases {
                println!("{}", memory(&case, options).with_context(|| case.name)?);
            }
        }
        What::Loops => loops(options)?,
        What::Plans => {
            let folder = options.plans.as_ref().context("plans need a folder")?;
            for case in cases {
                plan::write(&case, &object(&case, options)?, folder).context(case.name)?;
            }
        }
        What::Checks => {
            for case in cases {
                let row = super::checks::kernel(&case, options);
                println!("{}", row.with_context(|| case.name)?);
            }
        }
    }
    Ok(true)
}

/// The included files of a case.
pub fn object(case: &Case, options: &Options) -> Result<Vec<u8>> {
    let path = options
        .objects
        .join(format!("{}-{}.co", case.file, options.target));
    fs::read(&path).with_context(|| path.display().to_string())
}

/// Returns the source and its compiler options, which may be in a file of the same name.
fn source(case: &Case, options: &Options) -> Result<(Vec<u8>, String)> {
    let name = format!("{}.cl", case.file);
    let path = super::find(&options.sources, &name).with_context(|| format!("no {name}"))?;
    let text = fs::read(&path).with_context(|| path.display().to_string())?;
    let given = path.with_extension("options");
    match fs::read_to_string(&given) {
        Ok(options) => Ok((text, options)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok((text, String::new())),
        Err(e) => Err(e).with_context(|| given.display().to_string()),
    }
}

/// An engine's GPU, and the state of the compiling engine.
pub struct Machine {
    pub gpu: Gpu,
    #[cfg(target_arch = "x86_64")]
    cache: gcn::jit::Cache,
}

/// The statistics of the compiling engine.
#[derive(Default)]
struct Compiled {
    units: u64,
    insns: u64,
    bytes: u64,
    ms: f64,
    restarts: u64,
    interpreted: u64,
    executed: u64,
}

impl Machine {
    /// A machine with the compiling engine.
    pub fn compiling(target: &str, options: &Options) -> Result<Machine> {
        Machine::without(target, jit(options)?, &options.disabled)
    }

    fn new(target: &str, kind: Kind) -> Result<Machine> {
        Machine::without(target, kind, &[])
    }

    /// A machine whose code is without these optimisations.
    fn without(target: &str, kind: Kind, disabled: &[String]) -> Result<Machine> {
        let target = Target::parse(target).context("no such target")?;
        const MEMORY: u64 = 4 << 30;
        #[cfg(target_arch = "x86_64")]
        {
            let mut cache = match kind {
                Kind::Interp => gcn::jit::Cache::default(),
                Kind::Jit(level) => gcn::jit::Cache::with_level(level),
            };
            for pass in disabled {
                let pass = gcn::jit::Optional::parse(pass);
                cache = cache.without(pass.map_err(|e| anyhow::anyhow!("--disable-pass: {e}"))?);
            }
            let engines = cache.clone();
            let recording = cache.clone().without(gcn::jit::Optional::Accesses);
            let mut machine = match kind {
                Kind::Interp => dispatch::Gpu::new(target, MEMORY)?,
                _ => {
                    dispatch::Gpu::with_engine(target, MEMORY, move || Box::new(engines.engine()))?
                }
            };
            if kind != Kind::Interp {
                machine.set_recording_engine(move || Box::new(recording.engine()));
            }
            let gpu = Gpu::from_machine(machine);
            Ok(Machine { gpu, cache })
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            anyhow::ensure!(
                disabled.is_empty(),
                "--disable-pass: nothing is compiled here"
            );
            let machine = dispatch::Gpu::with_engine(target, MEMORY, kind.maker())?;
            let gpu = Gpu::from_machine(machine);
            Ok(Machine { gpu })
        }
    }

    fn compiled(&self) -> Compiled {
        #[cfg(target_arch = "x86_64")]
        {
            let s = self.cache.stats();
            Compiled {
                units: s.regions,
                insns: s.insns,
                bytes: s.bytes,
                ms: s.compiling.as_secs_f64() * 1e3,
                restarts: s.restarts,
                interpreted: s.interpreted,
                executed: s.executed,
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        Compiled::default()
    }

    /// Prepares a launch with its buffers.
    pub fn launch(
        &self,
        kernel: &Kernel,
        case: &Case,
        args: &[Arg],
        threads: usize,
    ) -> Result<Ready> {
        let mut buffers = Vec::new();
        let mut launch = kernel
            .launch(case.grid, case.group)
            .threads(threads)
            .any_type(true);
        for arg in args {
            launch = match arg {
                Arg::Value(bytes) => launch.arg(gcn::Arg::Value(bytes.clone())),
                Arg::Local(bytes) => launch.local(*bytes),
                Arg::Buffer(data, _) => {
                    let buffer = self.gpu.zeros::<u8>(data.len())?;
                    self.gpu.machine().memory.write(buffer.address(), data)?;
                    let launch = launch.arg(&buffer);
                    buffers.push(buffer);
                    launch
                }
            };
        }
        let gpu = self.gpu.clone();
        Ok(Ready {
            launch,
            buffers,
            gpu,
        })
    }
}

pub struct Ready {
    pub launch: Launch,
    buffers: Vec<gcn::Buffer<u8>>,
    gpu: Gpu,
}

impl Ready {
    /// Resets the `n`th buffer.
    fn write(&self, n: usize, data: &[u8]) -> Result<()> {
        let buffer = self.buffers.get(n).context("no such buffer")?;
        Ok(self.gpu.machine().memory.write(buffer.address(), data)?)
    }

    pub fn read(&self) -> Result<Vec<Vec<u8>>> {
        let read = |b: &gcn::Buffer<u8>| -> Result<Vec<u8>> {
            let mut data = vec![0; b.len()];
            self.gpu.machine().memory.read(b.address(), &mut data)?;
            Ok(data)
        };
        self.buffers.iter().map(read).collect()
    }
}

/// Returns the compiling engine, or the reason why there is none.
fn jit(options: &Options) -> Result<Kind> {
    let kind = match options.level {
        Some(level) => Kind::jit_level(level.name()),
        None => Kind::parse("jit"),
    };
    kind.map_err(anyhow::Error::msg)
}

/// Returns the milliseconds for building tables of instructions, which is done once per process. They do not count as the
/// first kernel's time.
fn tables(options: &Options) -> Result<f64> {
    let machine = Machine::compiling(&options.target, options)?;
    let text = "nothing:\n  s_endpgm\n.section .rodata\n.p2align 6\n.amdhsa_kernel nothing\n.amdhsa_next_free_vgpr 1\n\
                .amdhsa_next_free_sgpr 1\n.end_amdhsa_kernel\n";
    let text = format!(
        ".amdgcn_target \"amdgcn-amd-amdhsa--{}\"\n.text\n.p2align 8\n.type nothing,@function\n{text}",
        options.target
    );
    let program = machine.gpu.assemble(&text)?;
    program.kernel("nothing")?.launch([64], [64]).run()?;
    Ok(machine.compiled().ms)
}

/// Returns the milliseconds of a run.
pub fn timed<T>(clock: Clock, run: impl FnOnce() -> Result<T>) -> Result<(f64, T)> {
    let begun = clock.now();
    let result = run()?;
    Ok((1e3 * (clock.now() - begun), result))
}

fn alike(args: &[Arg], a: &[Vec<u8>], b: &[Vec<u8>]) -> Result<()> {
    let how = args.iter().filter_map(|arg| match arg {
        Arg::Buffer(_, alike) => Some(alike),
        _ => None,
    });
    for (n, (how, (a, b))) in how.zip(a.iter().zip(b)).enumerate() {
        how.compare(a, b).with_context(|| format!("buffer {n}"))?;
    }
    Ok(())
}

/// Compares the buffers of two engines that run the same code.
pub fn same(args: &[Arg], a: &[Vec<u8>], b: &[Vec<u8>]) -> Result<()> {
    let how = args.iter().filter_map(|arg| match arg {
        Arg::Buffer(_, alike) if alike.unordered() => Some(*alike),
        Arg::Buffer(..) => Some(Alike::Exactly),
        _ => None,
    });
    for (n, (how, (a, b))) in how.zip(a.iter().zip(b)).enumerate() {
        how.compare(a, b).with_context(|| format!("buffer {n}"))?;
    }
    Ok(())
}

/// Measures the compile time of a kernel, each time on a new machine, for one workgroup, with buffers of zeros; or for the
/// complete launch, if other data and fewer work-items might change the control flow.
fn compiling(case: &Case, args: &[Arg], object: &[u8], options: &Options) -> Result<Json> {
    let mut times = Vec::new();
    let mut last = Compiled::default();
    let whole = options.set.anew();
    for _ in 0..if whole { 2 } else { 5 } {
        let machine = Machine::compiling(&options.target, options)?;
        let kernel = machine.gpu.load(object)?.kernel(case.kernel)?;
        if whole {
            let ready = machine.launch(&kernel, case, args, options.threads)?;
            ready.launch.run()?;
            last = machine.compiled();
            times.push(last.ms);
            continue;
        }
        let mut launch = kernel
            .launch(case.group, case.group)
            .threads(1)
            .any_type(true);
        for arg in args {
            launch = match arg {
                Arg::Value(bytes) => launch.arg(gcn::Arg::Value(bytes.clone())),
                Arg::Local(bytes) => launch.local(*bytes),
                Arg::Buffer(data, _) => launch.arg(&machine.gpu.zeros::<u8>(data.len())?),
            };
        }
        launch.run()?;
        last = machine.compiled();
        times.push(last.ms);
    }
    Ok(json!({
        "ms": super::median(&times), "instructions": last.insns, "bytes": last.bytes, "units": last.units,
    }))
}

fn kernel(case: &Case, options: &Options, pocl: Option<&Device>) -> Result<Json> {
    let args = (case.args)();
    let object = object(case, options)?;
    let clock = options.clock;
    let mut row = json!({ "kernel": case.name, "threads": options.threads });
    let mut put = |key: &str, value: Json| row[key] = value;

    let machine = Machine::compiling(&options.target, options)?;
    let program = machine.gpu.load(&object)?;
    let kernel = program.kernel(case.kernel)?;
    let ready = machine.launch(&kernel, case, &args, options.threads)?;
    let (first, stats) = timed(clock, || Ok(ready.launch.run()?))?;
    let results = ready.read()?;
    put("instructions", json!(stats.instructions));
    put("waves", json!(stats.waves));
    put("jit_first_ms", json!(first));
    put("compile", compiling(case, &args, &object, options)?);

    let mut peer: Option<opencl::Kernel> = None;
    if let Some(device) = pocl {
        let (text, given) = source(case, options)?;
        let (mut kernel, built) = device.kernel(&text, &given, case.kernel)?;
        for arg in &args {
            match arg {
                Arg::Value(bytes) => kernel.value(bytes)?,
                Arg::Local(bytes) => kernel.local(*bytes as usize)?,
                Arg::Buffer(data, _) => kernel.buffer(data)?,
            }
        }
        let (first, ()) = timed(clock, || kernel.launch(case.grid, case.group))?;
        put("pocl_build_ms", json!(built.as_secs_f64() * 1e3));
        put("pocl_first_ms", json!(first));
        let said = match alike(&args, &results, &kernel.read()?) {
            Ok(()) => "ok".to_owned(),
            Err(why) => format!("{why:#}"),
        };
        put("as_pocl", json!(said));
        peer = Some(kernel);
    }
    if !options.no_interp {
        let slow = Machine::new(&options.target, Kind::Interp)?;
        let program = slow.gpu.load(&object)?;
        let kernel = program.kernel(case.kernel)?;
        let ready = slow.launch(&kernel, case, &args, options.threads)?;
        let (ms, slow) = timed(clock, || Ok(ready.launch.run()?))?;
        put("interp_ms", json!(ms));
        let said = match same(&args, &results, &ready.read()?) {
            Ok(()) if slow == stats || options.set == Set::Debian => "ok".to_owned(),
            Ok(()) => "differs".to_owned(),
            Err(why) => format!("{why:#}"),
        };
        put("as_interp", json!(said));
    }
    // Some kernels work in place, so the data is reset in every round.
    let mut back = Vec::new();
    if options.set.anew() {
        let buffers = args.into_iter().filter_map(|arg| match arg {
            Arg::Buffer(data, _) => Some(data),
            _ => None,
        });
        let changed = buffers.zip(results).enumerate();
        back.extend(changed.filter_map(|(n, (a, b))| (a != b).then_some((n, a))));
    }

    if options.causes {
        put("causes", causes(case, options, &ready, &back, &object)?);
        return Ok(row);
    }
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let begun = Instant::now();
    while ours.len() < options.rounds
        || begun.elapsed().as_secs_f64() < options.budget && ours.len() < MOST * options.rounds
    {
        back.iter()
            .try_for_each(|(n, data)| ready.write(*n, data))?;
        ours.push(timed(clock, || Ok(ready.launch.run()?))?.0);
        if let Some(kernel) = &peer {
            back.iter()
                .try_for_each(|(n, data)| kernel.write(*n, data))?;
            theirs.push(timed(clock, || kernel.launch(case.grid, case.group))?.0);
        }
    }
    put("jit_ms", json!(ours));
    if peer.is_some() {
        put("pocl_ms", json!(theirs));
    }
    let after = machine.compiled();
    let runs = ours.len() as f64 + 1.0;
    put("restarts", json!(after.restarts as f64 / runs));
    put(
        "interpreted",
        json!(after.interpreted as f64 / after.executed.max(1) as f64),
    );
    Ok(row)
}

/// Measures alternating launches of complete code and of code without each optimisation. Returns their times by the
/// optimisation's name; complete code has the name \"\".
#[cfg(target_arch = "x86_64")]
fn causes(
    case: &Case,
    options: &Options,
    whole: &Ready,
    back: &[(usize, Vec<u8>)],
    object: &[u8],
) -> Result<Json> {
    let args = (case.args)();
    let mut others = Vec::new();
    let mut times: Vec<(&str, Vec<f64>)> = vec![("", Vec::new())];
    let all = gcn::jit::Optional::ALL.into_iter();
    // Code without inlined accesses is not compared: it exists for checks.
    for one in all.filter(|o| *o != gcn::jit::Optional::Accesses) {
        let without = [one.name().to_owned()];
        let machine = Machine::without(&options.target, jit(options)?, &without)?;
        let kernel = machine.gpu.load(object)?.kernel(case.kernel)?;
        let ready = machine.launch(&kernel, case, &args, options.threads)?;
        ready.launch.run()?;
        times.push((one.name(), Vec::new()));
        others.push(ready);
    }
    let launch = |ready: &Ready| {
        back.iter()
            .try_for_each(|(n, data)| ready.write(*n, data))?;
        Ok::<f64, anyhow::Error>(timed(options.clock, || Ok(ready.launch.run()?))?.0)
    };
    let begun = Instant::now();
    let rounds = |done: usize| {
        done < options.rounds
            || begun.elapsed().as_secs_f64() < options.budget && done < MOST * options.rounds
    };
    while rounds(times[0].1.len()) {
        times[0].1.push(launch(whole)?);
        for (ready, (_, times)) in others.iter().zip(&mut times[1..]) {
            times.push(launch(ready)?);
        }
    }
    Ok(times
        .into_iter()
        .map(|(name, times)| (name.to_owned(), json!(times)))
        .collect::<serde_json::Map<_, _>>()
        .into())
}

#[cfg(not(target_arch = "x86_64"))]
fn causes(_: &Case, _: &Options, _: &Ready, _: &[(usize, Vec<u8>)], _: &[u8]) -> Result<Json> {
    bail!("--causes: nothing is compiled here")
}

/// Returns the process's peak of resident memory since the last reset, in bytes.
fn peak() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kb = line.and_then(|l| l.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    Ok(kb.context("no VmHWM in /proc/self/status")? * 1024)
}

fn memory(case: &Case, options: &Options) -> Result<Json> {
    let args = (case.args)();
    let machine = Machine::compiling(&options.target, options)?;
    let program = machine.gpu.load(&object(case, options)?)?;
    let kernel = program.kernel(case.kernel)?;
    let ready = machine.launch(&kernel, case, &args, options.threads)?;
    let buffers: usize = ready.buffers.iter().map(|b| b.len()).sum();
    drop(args);
    // Resets the peak to the current value, to exclude the benchmark's own copies of the data.
    fs::write("/proc/self/clear_refs", "5").context("/proc/self/clear_refs")?;
    ready.launch.run()?;
    Ok(json!({ "kernel": case.name, "buffers": buffers, "peak": peak()? }))
}

/// Measures loops with `body`, 20,000 iterations on 64 waves.
const LOOPS: [(&str, &str); 3] = [
    (
        "f32, four chains",
        "v_fma_f32 v1, v1, v5, v6\nv_fma_f32 v2, v2, v5, v6\nv_mul_f32 v3, v3, v5\nv_sub_f32 v4, v7, v4\n\
         v_add_f32 v1, v1, v7\nv_max_f32 v2, v2, v7\nv_add_f32 v3, v3, v6\nv_mul_f32 v4, v4, v5\n",
    ),
    (
        "f32, one chain",
        "v_fma_f32 v1, v1, v5, v6\nv_mul_f32 v1, v1, v5\nv_add_f32 v1, v1, v7\nv_sub_f32 v1, v7, v1\n\
         v_max_f32 v1, v1, v6\nv_fma_f32 v1, v1, v5, v7\nv_min_f32 v1, v1, v7\nv_mul_f32 v1, v1, v5\n",
    ),
    (
        "integers",
        "v_add_u32 v1, v1, v5\nv_xor_b32 v2, v2, v1\nv_lshlrev_b32 v3, 1, v3\nv_and_b32 v4, v4, v2\n\
         v_or_b32 v3, v3, v6\nv_sub_u32 v4, v4, v7\nv_alignbit_b32 v2, v2, v2, 7\nv_max_u32 v1, v1, v7\n",
    ),
];

/// Returns a kernel with the loop, which stores the results so that the loop is not dead code.
const LOOP: &str = "
.amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"
.text
.p2align 8
.type valu,@function
valu:
  s_load_dwordx2 s[6:7], s[0:1], 0x0
  v_lshl_or_b32 v8, s2, 6, v0
  v_cvt_f32_u32 v1, v8
  v_mul_f32 v1, 0x3a800000, v1
  v_add_f32 v2, 0.5, v1
  v_add_f32 v3, 1.0, v1
  v_sub_f32 v4, 1.0, v1
  v_mov_b32 v5, 0x3f7f0000
  v_mov_b32 v6, 0x3c000000
  v_mov_b32 v7, 0.5
  s_movk_i32 s4, TURNS
again:
BODY
  s_sub_u32 s4, s4, 1
  s_cmp_lg_u32 s4, 0
  s_cbranch_scc1 again
  v_xor_b32 v1, v1, v2
  v_xor_b32 v1, v1, v3
  v_xor_b32 v1, v1, v4
  v_lshlrev_b32 v8, 2, v8
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v9, s7
  v_add_co_u32 v8, vcc, s6, v8
  v_addc_co_u32 v9, vcc, 0, v9, vcc
  global_store_dword v[8:9], v1, off
  s_endpgm
.section .rodata
.p2align 6
.amdhsa_kernel valu
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_next_free_vgpr 16
  .amdhsa_next_free_sgpr 16
.end_amdhsa_kernel
";

/// The number of copies of the body's eight instructions per iteration.
const BODIES: usize = 4;
const TURNS: u32 = 20_000;
const WAVES: u32 = 64;

fn loops(options: &Options) -> Result<()> {
    let clock = options.clock;
    for (name, body) in LOOPS {
        ensure!(body.lines().count() == 8, "eight instructions a body");
        let text = LOOP.replace("TURNS", &TURNS.to_string());
        let text = text.replace("BODY", &body.repeat(BODIES));
        let machine = Machine::compiling("gfx900", options)?;
        let program = machine.gpu.assemble(&text)?;
        let kernel = program.kernel("valu")?;
        let out = machine.gpu.zeros::<u32>(64 * WAVES as usize)?;
        let (mut rates, mut ticks) = (Vec::new(), Vec::new());
        for round in 0..=options.rounds.min(7) {
            let launch = kernel.launch([64 * WAVES], [64]).threads(options.threads);
            let launch = launch.arg(&out);
            let begun = gcn::engine::ticks();
            let (ms, stats) = timed(clock, || Ok(launch.run()?))?;
            let spent = gcn::engine::ticks().wrapping_sub(begun);
            if round > 0 {
                rates.push(stats.instructions as f64 / ms / 1e3);
                ticks.push((spent * options.threads as u64) as f64 / stats.instructions as f64);
            }
        }
        println!(
            "{}",
            json!({ "loop": name, "threads": options.threads, "rates": rates, "ticks": ticks })
        );
    }
    launches(options)
}

/// Measures consecutive launches of a compiled kernel.
fn launches(options: &Options) -> Result<()> {
    let vadd = Set::Peer.cases().into_iter().find(|c| c.kernel == "vadd");
    let vadd = vadd.context("vadd is among the kernels")?;
    for items in [64u32, 1024] {
        let machine = Machine::compiling(&options.target, options)?;
        let program = machine.gpu.load(&object(&vadd, options)?)?;
        let kernel = program.kernel("vadd")?;
        let n = items as usize;
        let a = machine.gpu.buffer(&vec![1.0f32; n])?;
        let c = machine.gpu.zeros::<f32>(n)?;
        let launch = kernel.launch([items], [64]).threads(options.threads);
        let launch = launch.arg(&a).arg(&a).arg(&c).arg(items);
        launch.run()?;
        let mut each = Vec::new();
        for _ in 0..1000 {
            each.push(timed(options.clock, || Ok(launch.run()?))?.0 * 1e3);
        }
        if c.read()?.iter().any(|&v| v != 2.0) {
            bail!("vadd of {items} items is wrong");
        }
        let median = super::median(&each);
        println!(
            "{}",
            json!({ "launches": each.len(), "items": items, "threads": options.threads, "median_us": median,
                "mean_us": each.iter().sum::<f64>() / each.len() as f64 })
        );
    }
    Ok(())
}
