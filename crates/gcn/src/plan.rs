//! Runs: buffers, launches in order, checks of what came of them, and files that are saved. docs/plans.md describes how they
//! are written down; [`crate::plan_toml`] reads that.

use std::path::PathBuf;
use std::time::Instant;

use crate::data::{Contents, Ty, is_npy};
use crate::gpu::{Arg, Buffer, Gpu, Program};
use crate::npy;
use gcn_emu::dispatch::watch::Watch;
use gcn_isa::Target;
use gcn_object::CodeObject;

/// What is run.
#[derive(Default)]
pub struct Plan {
    /// Code objects, all for one target.
    pub objects: Vec<CodeObject>,
    /// Buffers.
    pub buffers: Vec<BufferPlan>,
    /// Launches, in order.
    pub launches: Vec<LaunchPlan>,
    /// What is compared when all launches are done.
    pub checks: Vec<CheckPlan>,
    /// What is written then.
    pub saves: Vec<SavePlan>,
    /// All launches run so many times more, with the buffers set back before.
    pub repeat: u32,
}

/// A buffer.
pub struct BufferPlan {
    /// Its name in messages.
    pub name: String,
    /// What it holds before the first launch.
    pub contents: Contents,
    /// The type of its elements, where it is known.
    pub ty: Option<Ty>,
    /// Where it is written down, as `plan.toml:3:1`, or nothing.
    pub at: String,
}

/// A launch of a kernel.
pub struct LaunchPlan {
    /// The number of its object.
    pub object: usize,
    /// The kernel's name.
    pub kernel: String,
    /// Work-items in each dimension.
    pub grid: [u32; 3],
    /// Work-items of a workgroup.
    pub group: [u32; 3],
    /// What OpenCL's get_global_id counts from.
    pub offset: [u64; 3],
    /// Bytes of LDS behind those that the kernel declares.
    pub dynamic_lds: u32,
    /// The arguments.
    pub args: Vec<ArgPlan>,
    /// How many times in a row.
    pub times: u32,
    /// Where it is written down.
    pub at: String,
}

/// An argument.
#[derive(Clone, Debug)]
pub enum ArgPlan {
    /// A value's bytes.
    Value(Vec<u8>),
    /// A buffer by number, from a byte on.
    Buffer(usize, u64),
    /// Bytes of LDS.
    Local(u32),
}

/// What a buffer is compared with.
pub struct CheckPlan {
    /// The buffer's number.
    pub buffer: usize,
    /// The type of the elements.
    pub ty: Ty,
    /// The first element.
    pub first: usize,
    /// How many elements; to the buffer's end, or as many as are expected, if it does not say.
    pub count: Option<usize>,
    /// What is expected.
    pub expected: Expected,
    /// How far off is good.
    pub tolerance: Tolerance,
    /// Where it is written down.
    pub at: String,
}

/// What is expected.
pub enum Expected {
    /// A file's bytes, or other contents.
    Contents(Contents),
    /// Another buffer, from an element on.
    Buffer(usize, usize),
}

/// How far from what is expected an element may be: it is good if any of these says so, or if its bits are the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tolerance {
    /// Units in the last place.
    pub ulps: Option<u64>,
    /// The difference.
    pub absolute: Option<f64>,
    /// The difference over the expected value.
    pub relative: Option<f64>,
}

impl Tolerance {
    fn accepts(&self, ty: Ty, got: u64, expected: u64) -> bool {
        if got == expected || self.ulps.is_some_and(|most| ty.ulps(got, expected) <= most) {
            return true;
        }
        let (got, expected) = (ty.to_f64(got), ty.to_f64(expected));
        let far = (got - expected).abs();
        let within = self.absolute.is_some_and(|most| far <= most)
            || self
                .relative
                .is_some_and(|most| far <= most * expected.abs());
        let any = self.ulps.is_some() || self.absolute.is_some() || self.relative.is_some();
        within || (any && got.is_nan() && expected.is_nan())
    }
}

/// A buffer that is written to a file.
pub struct SavePlan {
    /// The buffer's number.
    pub buffer: usize,
    /// The file, a .npy or raw by its name.
    pub file: PathBuf,
    /// The type of the elements, as numpy spells it; that of the kernel's parameter if it does not say.
    pub descr: Option<String>,
    /// Elements in each dimension.
    pub shape: Option<Vec<usize>>,
    /// Where it is written down.
    pub at: String,
}

/// How it is run.
#[derive(Clone, Default)]
pub struct Options {
    /// Host threads.
    pub threads: usize,
    /// One defined order.
    pub deterministic: bool,
    /// The most instructions of a launch.
    pub max_instructions: Option<u64>,
    /// s_trap 3 ends the dispatch.
    pub debug_traps: bool,
    /// What kernels print goes to standard error, because standard output holds something else.
    pub text_to_stderr: bool,
    /// Who looks on.
    pub watch: Watch,
    /// What runs waves.
    pub engines: crate::engine::Engines,
}

/// What a run came to.
pub struct Report {
    /// The launches.
    pub launches: Vec<LaunchReport>,
    /// The checks.
    pub checks: Vec<CheckReport>,
    /// Instructions of all launches, without repetitions.
    pub instructions: u64,
    /// Waves of all launches, without repetitions.
    pub waves: u64,
    /// What was added to the addresses of each object.
    pub bases: Vec<u64>,
}

/// What a launch came to.
pub struct LaunchReport {
    /// The kernel.
    pub kernel: String,
    /// Milliseconds of each time it ran.
    pub ms: Vec<f64>,
}

/// What a check came to.
pub struct CheckReport {
    /// The buffer's name.
    pub buffer: String,
    /// The type of the elements.
    pub ty: Ty,
    /// Where it is written down.
    pub at: String,
    /// How many elements were compared.
    pub count: usize,
    /// How many were not good.
    pub wrong: usize,
    /// The first of them.
    pub first: Vec<Difference>,
    /// The greatest distance of all elements in units in the last place.
    pub most_ulps: u64,
}

/// An element that is not what is expected.
pub struct Difference {
    /// Its number in the buffer.
    pub index: usize,
    /// Its bits.
    pub got: u64,
    /// What was expected.
    pub expected: u64,
}

/// Differences that a check lists.
const LISTED: usize = 10;

impl CheckReport {
    /// What to tell of it, in lines.
    pub fn text(&self) -> String {
        let CheckReport { buffer, ty, .. } = self;
        if self.wrong == 0 {
            let most = match self.most_ulps {
                0 => String::new(),
                most => format!(", at most {most} ulps off"),
            };
            return format!("{buffer}: {} elements are as expected{most}\n", self.count);
        }
        let mut text = located(
            &self.at,
            &format!(
                "{buffer}: {} of {} elements are not as expected\n",
                self.wrong, self.count
            ),
        );
        for d in &self.first {
            let ulps = match ty.ulps(d.got, d.expected) {
                u64::MAX => String::new(),
                ulps if ty.is_float() => format!(", {ulps} ulps off"),
                off => format!(", {off} off"),
            };
            text.push_str(&format!(
                "  {buffer}[{}] is {}, expected {}{ulps}\n",
                d.index,
                ty.show(d.got),
                ty.show(d.expected)
            ));
        }
        if self.wrong > self.first.len() {
            text.push_str(&format!("  and {} more\n", self.wrong - self.first.len()));
        }
        text
    }
}

/// A message with the place before it, where there is one.
pub fn located(at: &str, message: &str) -> String {
    match at {
        "" => message.to_owned(),
        at => format!("{at}: {message}"),
    }
}

impl Plan {
    /// Workgroups of all launches and their repetitions.
    pub fn workgroups(&self) -> u64 {
        let one = |l: &LaunchPlan| -> u64 {
            let groups = (0..3).map(|d| l.grid[d].div_ceil(l.group[d].max(1)) as u64);
            groups.fold(l.times as u64, u64::saturating_mul)
        };
        let all = self.launches.iter().map(one).fold(0, u64::saturating_add);
        all.saturating_mul(self.repeat as u64 + 1)
    }
}

/// Loads the objects, fills the buffers, launches, saves and compares.
///
/// # Errors
/// A message that says where and why. Differences are no error but in the report.
pub fn run(plan: &Plan, options: &Options) -> Result<Report, String> {
    let first = plan.objects.first().ok_or("there is no code object")?;
    let target = Target::parse(first.target_name())
        .ok_or_else(|| format!("{} is no gfx6 to gfx9 target", first.target_name()))?;
    let contents = (plan.buffers.iter())
        .map(|b| b.contents.bytes().map_err(|e| located(&b.at, &e)))
        .collect::<Result<Vec<_>, _>>()?;
    let total: u64 = contents.iter().map(|b| b.len() as u64).sum();
    let memory = total.saturating_mul(2).saturating_add(1 << 30);
    let engines = options.engines.clone();
    let maker = move || engines.engine();
    let machine = gcn_emu::dispatch::Gpu::with_engine(target, memory, maker);
    let gpu = Gpu::from_machine(machine.map_err(|e| e.to_string())?);
    if options.text_to_stderr {
        gpu.set_output(std::io::stderr());
    }
    let programs = (plan.objects.iter())
        .map(|object| gpu.load_object(object.clone()).map_err(|e| e.to_string()))
        .collect::<Result<Vec<Program>, _>>()?;
    let buffers = contents
        .iter()
        .zip(&plan.buffers)
        .map(|(bytes, b)| {
            let what = |e| located(&b.at, &format!("{}: {e}", b.name));
            gpu.zeros::<u8>(bytes.len()).map_err(what)
        })
        .collect::<Result<Vec<Buffer<u8>>, _>>()?;
    let launches = (plan.launches.iter())
        .map(|launch| {
            let kernel = programs
                .get(launch.object)
                .ok_or("there is no such code object")?
                .kernel(&launch.kernel)
                .map_err(|e| located(&launch.at, &e.to_string()))?;
            let args = launch.args.iter().map(|arg| match arg {
                ArgPlan::Value(bytes) => Ok(Arg::Value(bytes.clone())),
                ArgPlan::Local(bytes) => Ok(Arg::Local(*bytes)),
                ArgPlan::Buffer(n, offset) => {
                    let arg = usize::try_from(*offset).ok();
                    let arg = arg.and_then(|offset| buffers[*n].at(offset).ok());
                    arg.ok_or_else(|| {
                        let (name, len) = (&plan.buffers[*n].name, buffers[*n].len());
                        let what = format!("offset {offset} is beyond the {len} bytes of `{name}`");
                        located(&launch.at, &what)
                    })
                }
            });
            let mut ready = kernel
                .launch(launch.grid, launch.group)
                .args(args.collect::<Result<Vec<_>, _>>()?)
                .offset(launch.offset)
                .dynamic_lds(launch.dynamic_lds)
                .threads(options.threads)
                .deterministic(options.deterministic)
                .max_instructions(options.max_instructions)
                .watch(options.watch.clone());
            ready.options().debug_traps = options.debug_traps;
            Ok(ready)
        })
        .collect::<Result<Vec<_>, String>>()?;
    // Before any file is written, which may be one of those that were read.
    let descrs: Vec<String> = plan
        .saves
        .iter()
        .map(|s| descr(plan, &programs, s))
        .collect();
    let mut report = Report {
        launches: (plan.launches.iter())
            .map(|launch| LaunchReport {
                kernel: launch.kernel.clone(),
                ms: Vec::new(),
            })
            .collect(),
        checks: Vec::new(),
        instructions: 0,
        waves: 0,
        bases: programs.iter().map(|p| p.loaded().base).collect(),
    };
    for _ in 0..=plan.repeat {
        for (bytes, buffer) in contents.iter().zip(&buffers) {
            buffer.write(0, bytes).map_err(|e| e.to_string())?;
        }
        (report.instructions, report.waves) = (0, 0);
        for (n, launch) in launches.iter().enumerate() {
            for _ in 0..plan.launches[n].times {
                let start = Instant::now();
                let stats = launch
                    .run()
                    .map_err(|e| located(&plan.launches[n].at, &e.to_string()))?;
                // To the microsecond; what is below that is noise.
                let ms = start.elapsed().as_micros() as f64 / 1e3;
                report.launches[n].ms.push(ms);
                report.instructions += stats.instructions;
                report.waves += stats.waves;
            }
        }
    }
    let results = (buffers.iter())
        .map(|b| b.read().map_err(|e| e.to_string()))
        .collect::<Result<Vec<_>, _>>()?;
    for check in &plan.checks {
        let done = compare(plan, check, &results).map_err(|e| located(&check.at, &e))?;
        report.checks.push(done);
    }
    for (save, descr) in plan.saves.iter().zip(&descrs) {
        let data = &results[save.buffer];
        let file = match (is_npy(&save.file), &save.shape) {
            (false, _) => data.clone(),
            (true, None) => npy::file(data, descr),
            (true, Some(shape)) => npy::array(data, descr, shape),
        };
        crate::io::write(&save.file, &file).map_err(|e| located(&save.at, &e))?;
    }
    Ok(report)
}

/// The type that a file's elements have, as numpy spells it.
fn descr(plan: &Plan, programs: &[Program], save: &SavePlan) -> String {
    let buffer = &plan.buffers[save.buffer];
    if let Some(descr) = &save.descr {
        return descr.clone();
    }
    if let Some(ty) = buffer.ty.or(buffer.contents.ty()) {
        return ty.descr().into();
    }
    // As a parameter says that the buffer is given to.
    let parameters = plan.launches.iter().flat_map(|launch| {
        let is_it = |a: &ArgPlan| matches!(a, ArgPlan::Buffer(n, _) if *n == save.buffer);
        let kernel = programs[launch.object].kernel(&launch.kernel).ok();
        let parameter = kernel.as_ref().and_then(|kernel| {
            let at = launch.args.iter().position(is_it)?;
            kernel.parameters()?.get(at)?.type_name.clone()
        });
        parameter.into_iter()
    });
    parameters
        .map(|name| of_type_name(&name))
        .next()
        .unwrap_or("|u1")
        .into()
}

/// numpy's element type for a pointer's type in OpenCL C.
fn of_type_name(name: &str) -> &'static str {
    let base = name
        .trim_end_matches('*')
        .trim()
        .trim_end_matches(|c: char| c.is_ascii_digit());
    match base {
        "float" => "<f4",
        "double" => "<f8",
        "half" => "<f2",
        "int" => "<i4",
        "uint" => "<u4",
        "long" => "<i8",
        "ulong" => "<u8",
        "short" => "<i2",
        "ushort" => "<u2",
        "char" => "|i1",
        _ => "|u1",
    }
}

fn compare(plan: &Plan, check: &CheckPlan, results: &[Vec<u8>]) -> Result<CheckReport, String> {
    let (ty, size) = (check.ty, check.ty.size());
    let name = &plan.buffers[check.buffer].name;
    let whole = |bytes: &[u8], what: &str| match bytes.len() % size {
        0 => Ok(bytes.len() / size),
        _ => Err(format!(
            "{what}: {} bytes are no whole number of {ty}",
            bytes.len()
        )),
    };
    let got = &results[check.buffer];
    let have = whole(got, name)?;
    let (expected, from) = match &check.expected {
        Expected::Contents(contents) => (contents.bytes()?, 0),
        Expected::Buffer(n, from) => (results[*n].clone(), *from),
    };
    let there = whole(&expected, "what is expected")?.saturating_sub(from);
    let rest = have.saturating_sub(check.first);
    // A list or a file of another length than the buffer is a mistake, unless the check says how many elements count.
    let count = check.count.unwrap_or(match check.expected {
        Expected::Buffer(..) => rest.min(there),
        Expected::Contents(_) if check.first > 0 => there,
        Expected::Contents(_) => rest.max(there),
    });
    if count > rest || count > there {
        return Err(format!(
            "{name}: {count} elements are to be compared; the buffer has {rest} from element {} on, and {there} are expected; `count` says how many",
            check.first
        ));
    }
    let mut report = CheckReport {
        buffer: name.clone(),
        ty,
        at: check.at.clone(),
        count,
        wrong: 0,
        first: Vec::new(),
        most_ulps: 0,
    };
    for n in 0..count {
        let index = check.first + n;
        let (got, expected) = (ty.element(got, index), ty.element(&expected, from + n));
        if got == expected {
            continue;
        }
        report.most_ulps = report.most_ulps.max(ty.ulps(got, expected));
        if !check.tolerance.accepts(ty, got, expected) {
            report.wrong += 1;
            if report.first.len() < LISTED {
                report.first.push(Difference {
                    index,
                    got,
                    expected,
                });
            }
        }
    }
    Ok(report)
}
