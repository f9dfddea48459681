//! Plans: buffers, launches in order, checks of the results, and files to save. docs/plans.md describes their syntax;
//! [`crate::plan_toml`] reads it.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crate::data::{Contents, Number, Ty, is_npy};
use crate::gpu::{self, Arg, Buffer, Gpu, Kernel, Program};
use crate::npy;
use gcn_check::dynamic::{Allocation, Checker};
use gcn_emu::dispatch::RunError;
use gcn_emu::dispatch::observers::Observers;
use gcn_isa::Target;
use gcn_object::CodeObject;
use serde_json::{Value as Json, json};

/// A plan.
#[derive(Default)]
pub struct Plan {
    /// Code objects, all for one target.
    pub objects: Vec<CodeObject>,
    /// Buffers.
    pub buffers: Vec<BufferPlan>,
    /// Launches, in order.
    pub launches: Vec<LaunchPlan>,
    /// The checks after all launches.
    pub checks: Vec<CheckPlan>,
    /// The files written after the checks.
    pub saves: Vec<SavePlan>,
    /// The number of repetitions of all launches, with the buffers reset before each.
    pub repeat: u32,
}

/// A buffer.
pub struct BufferPlan {
    /// Its name in messages.
    pub name: String,
    /// Its contents before the first launch.
    pub contents: Contents,
    /// The type of its elements, if it is known.
    pub ty: Option<Ty>,
    /// Its elements in each dimension, if the plan gives them; a file has its own.
    pub shape: Option<Vec<usize>>,
    /// The index of an object and the name of its global variable, if the buffer is one.
    pub variable: Option<(usize, String)>,
    /// The addresses that it holds before the first launch.
    pub pointers: Vec<PointerPlan>,
    /// Its location in the plan, such as `plan.toml:3:1`; may be empty.
    pub at: String,
}

/// An address in bytes: the eight bytes from `at` on are the address of a byte of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerPlan {
    /// The first byte.
    pub at: usize,
    /// The buffer's number.
    pub buffer: usize,
    /// The byte of the buffer.
    pub offset: u64,
}

/// A launch of a kernel.
pub struct LaunchPlan {
    /// The number of its object.
    pub object: usize,
    /// The kernel's name; by default the object's only kernel.
    pub kernel: Option<String>,
    /// Work-items in each dimension.
    pub grid: [u32; 3],
    /// Work-items of a workgroup.
    pub group: [u32; 3],
    /// The first value of OpenCL's get_global_id.
    pub offset: [u64; 3],
    /// Bytes of LDS after the kernel's own.
    pub dynamic_lds: u32,
    /// True if the types of arguments are not checked.
    pub any_type: bool,
    /// The arguments.
    pub args: Vec<ArgPlan>,
    /// The number of consecutive launches.
    pub times: u32,
    /// Its location in the plan.
    pub at: String,
}

/// An argument.
#[derive(Clone, Debug)]
pub enum ArgPlan {
    /// A value's bytes, with the type if they are numbers.
    Value(Option<Ty>, Vec<u8>),
    /// A value's bytes, some of which are addresses.
    Block(Vec<u8>, Vec<PointerPlan>),
    /// An address.
    Pointer(u64),
    /// A buffer by number, from a byte on.
    Buffer(usize, u64),
    /// Bytes of LDS.
    Local(u32),
}

/// A check of a buffer.
pub struct CheckPlan {
    /// The buffer's number.
    pub buffer: usize,
    /// The type of the elements.
    pub ty: Ty,
    /// The first element.
    pub first: usize,
    /// The number of elements; by default up to the buffer's end, or the number of expected elements.
    pub count: Option<usize>,
    /// The expected contents.
    pub expected: Expected,
    /// The addresses in the expected contents.
    pub pointers: Vec<PointerPlan>,
    /// The tolerance.
    pub tolerance: Tolerance,
    /// Its location in the plan.
    pub at: String,
}

/// The expected contents.
pub enum Expected {
    /// A file's bytes, or other contents.
    Contents(Contents),
    /// Another buffer, from an element on.
    Buffer(usize, usize),
}

/// Tolerances: an element passes if it is within one of them, or if its bits are the expected ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tolerance {
    /// Units in the last place.
    pub ulps: Option<u64>,
    /// The difference.
    pub absolute: Option<f64>,
    /// The difference divided by the expected value.
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
    /// The type of the elements in numpy's notation; by default the type of the kernel's parameter.
    pub descr: Option<String>,
    /// Elements in each dimension.
    pub shape: Option<Vec<usize>>,
    /// Its location in the plan.
    pub at: String,
}

/// The options of a run.
#[derive(Clone, Default)]
pub struct Options {
    /// Host threads.
    pub threads: usize,
    /// Runs in one defined order.
    pub deterministic: bool,
    /// The instruction budget of a launch.
    pub max_instructions: Option<u64>,
    /// s_trap 3 ends the dispatch.
    pub debug_traps: bool,
    /// The output of kernels goes to standard error, because standard output is used otherwise.
    pub text_to_stderr: bool,
    /// Observers, progress and control.
    pub observers: Observers,
    /// The engine.
    pub engines: crate::engine::Engines,
    /// Gets the names of buffers before each launch. It observes only if [`Options::observers`] includes it.
    pub checker: Option<Arc<Checker>>,
}

/// The result of a run.
#[non_exhaustive]
pub struct Report {
    /// The launches.
    pub launches: Vec<LaunchReport>,
    /// The checks.
    pub checks: Vec<CheckReport>,
    /// Instructions of all launches, without repetitions.
    pub instructions: u64,
    /// Waves of all launches, without repetitions.
    pub waves: u64,
    /// The difference between addresses in memory and in the file, for each object.
    pub bases: Vec<u64>,
}

/// The result of a launch.
#[non_exhaustive]
pub struct LaunchReport {
    /// The kernel.
    pub kernel: String,
    /// The time of each execution in milliseconds.
    pub ms: Vec<f64>,
}

/// The result of a check.
#[non_exhaustive]
pub struct CheckReport {
    /// The buffer's name.
    pub buffer: String,
    /// The type of the elements.
    pub ty: Ty,
    /// Its location in the plan.
    pub at: String,
    /// The number of elements compared.
    pub count: usize,
    /// The number of wrong elements.
    pub wrong: usize,
    /// The first wrong elements.
    pub first: Vec<Difference>,
    /// The maximum difference of all elements in units in the last place.
    pub most_ulps: u64,
}

/// A wrong element.
#[non_exhaustive]
pub struct Difference {
    /// Its number in the buffer.
    pub index: usize,
    /// Its bits.
    pub got: u64,
    /// The expected bits.
    pub expected: u64,
}

/// The maximum number of differences that a check lists.
const LISTED: usize = 10;

impl CheckReport {
    /// Returns the lines of the report.
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

/// A message after its location, if there is one.
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

/// The contents of a buffer before the first launch. They are not stored a second time, unless they can be read only once.
struct Filled {
    size: usize,
    /// `None`: zeros.
    contents: Option<Contents>,
    /// True for a variable, whose memory is not initially zero.
    variable: bool,
    /// Addresses in the contents, with their locations.
    pointers: Vec<(usize, u64)>,
    /// The beginning of messages.
    at: String,
    name: String,
}

impl Filled {
    fn of(b: &BufferPlan) -> Result<Filled, String> {
        let zeros = matches!(
            b.contents,
            Contents::Zero(_) | Contents::Fill(_, _, Number::Int(0))
        );
        let contents = match (zeros, &b.contents) {
            (true, _) => None,
            (_, contents) if contents.comes_in_pieces() => Some(contents.clone()),
            (_, contents) => Some(Contents::Bytes(contents.bytes()?)),
        };
        Ok(Filled {
            size: contents.as_ref().unwrap_or(&b.contents).size()?,
            contents,
            variable: b.variable.is_some(),
            pointers: Vec::new(),
            at: b.at.clone(),
            name: b.name.clone(),
        })
    }

    /// Gives a buffer these contents. `new` is true if it has not been written yet.
    fn fill(&self, buffer: &Buffer<u8>, new: bool) -> Result<(), String> {
        let told = |e: crate::gpu::Error| e.to_string();
        match &self.contents {
            Some(contents) => {
                let mut at = 0;
                contents.pieces(&mut |piece| {
                    buffer.write(at, piece).map_err(told)?;
                    at += piece.len();
                    Ok(())
                })?;
            }
            None if new && !self.variable => {}
            None => clear(buffer, self.size).map_err(told)?,
        }
        for (at, address) in &self.pointers {
            buffer.write(*at, &address.to_le_bytes()).map_err(told)?;
        }
        Ok(())
    }
}

/// The addresses that `size` bytes contain, with their locations.
fn addresses(
    size: usize,
    pointers: &[PointerPlan],
    buffers: &[Buffer<u8>],
) -> Result<Vec<(usize, u64)>, String> {
    let one = |p: &PointerPlan| {
        let within = p.at.checked_add(8).is_some_and(|end| end <= size);
        match within {
            true => Ok((p.at, buffers[p.buffer].address().wrapping_add(p.offset))),
            false => Err(format!("a pointer at byte {} is beyond the end", p.at)),
        }
    };
    pointers.iter().map(one).collect()
}

/// Stores the addresses in bytes.
fn location(
    bytes: &mut [u8],
    pointers: &[PointerPlan],
    buffers: &[Buffer<u8>],
) -> Result<(), String> {
    for (at, address) in addresses(bytes.len(), pointers, buffers)? {
        bytes[at..at + 8].copy_from_slice(&address.to_le_bytes());
    }
    Ok(())
}

/// The buffers of a plan, and their contents before the first launch.
fn buffers(
    plan: &Plan,
    gpu: &Gpu,
    programs: &[Program],
    contents: &mut [Filled],
) -> Result<Vec<Buffer<u8>>, String> {
    let one = |(filled, b): (&Filled, &BufferPlan)| {
        let what = |e: String| located(&b.at, &format!("{}: {e}", b.name));
        let Some((object, name)) = &b.variable else {
            return gpu
                .zeros::<u8>(filled.size)
                .map_err(|e| what(e.to_string()));
        };
        let program = programs.get(*object).ok_or("there is no such object")?;
        let buffer = program
            .variable::<u8>(name)
            .map_err(|e| what(e.to_string()))?;
        if filled.size != buffer.len() {
            let (have, want) = (filled.size, buffer.len());
            return Err(what(format!(
                "the variable has {want} bytes, but {have} are given"
            )));
        }
        Ok(buffer)
    };
    let made = contents.iter().zip(&plan.buffers).map(one);
    let made = made.collect::<Result<Vec<_>, String>>()?;
    for (filled, b) in contents.iter_mut().zip(&plan.buffers) {
        filled.pointers = addresses(filled.size, &b.pointers, &made)
            .map_err(|e| located(&b.at, &format!("{}: {e}", b.name)))?;
    }
    Ok(made)
}

/// Fills a buffer with zeros.
fn clear(buffer: &Buffer<u8>, size: usize) -> Result<(), crate::gpu::Error> {
    let zeros = [0; 1 << 16];
    (0..size)
        .step_by(zeros.len())
        .try_for_each(|at| buffer.write(at, &zeros[..zeros.len().min(size - at)]))
}

/// The failure of a run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failure {
    /// The report.
    pub message: String,
    /// The error of the kernel, if one ran.
    pub run: Option<Box<RunError>>,
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure { message, run: None }
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Failure {
        Failure::from(message.to_owned())
    }
}

impl Failure {
    /// The failure of a kernel as JSON: the message, the location, and for a fault the values of the instruction's operands. `None` if
    /// no kernel ran.
    pub fn json(&self) -> Option<Json> {
        let run = self.run.as_deref()?;
        let mut error = match run {
            RunError::Fault { report, .. } => crate::eval::fault_json(report),
            _ => serde_json::Map::new(),
        };
        error.insert("message".into(), json!(self.message));
        if let Some(location) = run.location() {
            let source = location.source.as_ref().map(|s| s.lines().next());
            error.insert("kernel".into(), json!(location.kernel));
            error.insert("workgroup".into(), json!(location.workgroup));
            error.insert("wave".into(), json!(location.wave));
            error.insert("pc".into(), json!(location.pc));
            error.insert("address".into(), json!(location.address));
            error.insert("source".into(), json!(source));
        }
        Some(json!({ "error": error }))
    }
}

/// Initialises the buffers before the first launch. New memory is zero.
fn filled(plan: &Plan) -> Result<Vec<Filled>, String> {
    let one =
        |b: &BufferPlan| Filled::of(b).map_err(|e| located(&b.at, &format!("{}: {e}", b.name)));
    plan.buffers.iter().map(one).collect()
}

/// Checks before a long run that the files can be written.
fn folders_exist(plan: &Plan) -> Result<(), String> {
    for save in &plan.saves {
        let folder = save.file.parent().filter(|p| !p.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            let (file, folder) = (save.file.display(), folder.display());
            let what = format!("{file}: the folder {folder} does not exist");
            return Err(located(&save.at, &what));
        }
    }
    Ok(())
}

/// A plan whose objects are loaded, whose buffers are allocated and whose launches are checked against their kernels.
pub struct Ready {
    gpu: Gpu,
    programs: Vec<Program>,
    contents: Vec<Filled>,
    buffers: Vec<Buffer<u8>>,
    launches: Vec<gpu::Launch>,
    /// The type and dimensions of each file to save. They are read before files are written, because an output may also be an
    /// input.
    arrays: Vec<(String, Option<Vec<usize>>)>,
}

impl Ready {
    /// Loads the objects and allocates the buffers, which are still zero.
    ///
    /// # Errors
    /// A message with location and cause.
    pub fn new(plan: &Plan, options: &Options) -> Result<Ready, Failure> {
        let first = plan.objects.first().ok_or("there is no code object")?;
        let target = Target::parse(first.target_name())
            .ok_or_else(|| format!("{} is not a gfx6 to gfx9 target", first.target_name()))?;
        let mut contents = filled(plan)?;
        let total: u64 = contents.iter().map(|b| b.size as u64).sum();
        let memory = total.saturating_mul(2).saturating_add(1 << 30);
        let gpu = Gpu::with_engines(target, memory, &options.engines);
        let gpu = gpu.map_err(|e| e.to_string())?;
        if options.text_to_stderr {
            gpu.set_output(std::io::stderr());
        }
        let programs = (plan.objects.iter())
            .map(|object| gpu.load_object(object.clone()).map_err(|e| e.to_string()))
            .collect::<Result<Vec<Program>, _>>()?;
        let buffers = buffers(plan, &gpu, &programs, &mut contents)?;
        let launches = (plan.launches.iter())
            .map(|launch| {
                let program = programs
                    .get(launch.object)
                    .ok_or("there is no such code object")?;
                let kernel = kernel_of(program, launch.kernel.as_deref())
                    .map_err(|e| located(&launch.at, &e.to_string()))?;
                let args = launch.args.iter().map(|arg| match arg {
                    ArgPlan::Value(None, bytes) => Ok(Arg::Value(bytes.clone())),
                    ArgPlan::Value(Some(ty), bytes) => Ok(Arg::Numbers(*ty, bytes.clone())),
                    ArgPlan::Block(bytes, pointers) => {
                        let mut bytes = bytes.clone();
                        location(&mut bytes, pointers, &buffers)
                            .map_err(|e| located(&launch.at, &e))?;
                        Ok(Arg::Value(bytes))
                    }
                    ArgPlan::Pointer(address) => Ok(Arg::pointer(*address)),
                    ArgPlan::Local(bytes) => Ok(Arg::Local(*bytes)),
                    ArgPlan::Buffer(n, offset) => {
                        let arg = usize::try_from(*offset).ok();
                        let arg = arg.and_then(|offset| buffers[*n].at(offset).ok());
                        let arg = arg.map(|arg| arg.with_elements(plan.buffers[*n].elements()));
                        arg.ok_or_else(|| {
                            let (name, len) = (&plan.buffers[*n].name, buffers[*n].len());
                            let what =
                                format!("offset {offset} is beyond the {len} bytes of `{name}`");
                            located(&launch.at, &what)
                        })
                    }
                });
                let mut ready = kernel
                    .launch(launch.grid, launch.group)
                    .args(args.collect::<Result<Vec<_>, _>>()?)
                    .offset(launch.offset)
                    .dynamic_lds(launch.dynamic_lds)
                    .any_type(launch.any_type)
                    .threads(options.threads)
                    .deterministic(options.deterministic)
                    .max_instructions(options.max_instructions)
                    .observers(options.observers.clone());
                ready.options().debug_traps = options.debug_traps;
                Ok(ready)
            })
            .collect::<Result<Vec<_>, String>>()?;
        folders_exist(plan)?;
        let arrays: Vec<(String, Option<Vec<usize>>)> = (plan.saves.iter())
            .map(|save| array(plan, &launches, save))
            .collect();
        Ok(Ready {
            gpu,
            programs,
            contents,
            buffers,
            launches,
            arrays,
        })
    }

    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The loaded objects, in the order of [`Plan::objects`].
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// The buffers, in the order of [`Plan::buffers`].
    pub fn buffers(&self) -> &[Buffer<u8>] {
        &self.buffers
    }

    /// The launches, in the order of [`Plan::launches`].
    pub fn launches(&self) -> &[gpu::Launch] {
        &self.launches
    }

    /// Fills the buffers as before the first launch. `new` is true if they have not been written yet.
    ///
    /// # Errors
    /// A message.
    pub fn fill(&self, new: bool) -> Result<(), Failure> {
        for (filled, buffer) in self.contents.iter().zip(&self.buffers) {
            let done = filled.fill(buffer, new);
            done.map_err(|e| located(&filled.at, &format!("{}: {e}", filled.name)))?;
        }
        Ok(())
    }

    /// Runs the launches once, and adds their times and counts to the report.
    fn launch(&self, plan: &Plan, options: &Options, report: &mut Report) -> Result<(), Failure> {
        (report.instructions, report.waves) = (0, 0);
        for (n, launch) in self.launches.iter().enumerate() {
            for _ in 0..plan.launches[n].times {
                if let Some(checker) = &options.checker {
                    let buffers = &self.buffers;
                    checker.name(allocations(plan, &plan.launches[n], launch, buffers));
                }
                run_one(plan, n, launch, report)?;
            }
        }
        Ok(())
    }

    /// An empty report.
    pub(crate) fn report(&self) -> Report {
        Report {
            launches: (self.launches.iter())
                .map(|launch| LaunchReport {
                    kernel: launch.kernel().name().to_owned(),
                    ms: Vec::new(),
                })
                .collect(),
            checks: Vec::new(),
            instructions: 0,
            waves: 0,
            bases: self.programs.iter().map(|p| p.loaded().base).collect(),
        }
    }

    /// Compares and saves after the launches.
    ///
    /// # Errors
    /// A message with location and cause. Differences found by checks are not errors.
    pub fn finish(&self, plan: &Plan) -> Result<Vec<CheckReport>, Failure> {
        let Ready {
            buffers, arrays, ..
        } = self;
        let mut checks = Vec::new();
        for check in &plan.checks {
            let done = compare(plan, check, buffers).map_err(|e| located(&check.at, &e))?;
            checks.push(done);
        }
        for (save, (descr, shape)) in plan.saves.iter().zip(arrays) {
            let buffer = &buffers[save.buffer];
            let (before, size) = match (is_npy(&save.file), shape) {
                (false, _) => (Vec::new(), buffer.len()),
                (true, None) => npy::before_elements(buffer.len(), descr),
                (true, Some(shape)) => (npy::before_array(descr, shape), buffer.len()),
            };
            let written = crate::io::stream(&save.file, |out| {
                out.write_all(&before)?;
                for at in (0..size).step_by(PIECE) {
                    let mut piece = vec![0; PIECE.min(size - at)];
                    buffer
                        .read_into(at, &mut piece)
                        .map_err(std::io::Error::other)?;
                    out.write_all(&piece)?;
                }
                Ok(())
            });
            written.map_err(|e| located(&save.at, &e))?;
        }
        Ok(checks)
    }
}

/// Runs launch `n` once, and adds its time and counts to the report.
pub(crate) fn run_one(
    plan: &Plan,
    n: usize,
    launch: &gpu::Launch,
    report: &mut Report,
) -> Result<(), Failure> {
    let start = Instant::now();
    let stats = launch.run().map_err(|e| failed(plan, n, e))?;
    // Rounded to microseconds; smaller differences are noise.
    let ms = start.elapsed().as_micros() as f64 / 1e3;
    report.launches[n].ms.push(ms);
    report.instructions += stats.instructions;
    report.waves += stats.waves;
    Ok(())
}

/// The failure of launch `n`.
pub fn failed(plan: &Plan, n: usize, error: gpu::Error) -> Failure {
    let told = crate::locations::report(&plan.objects, &error);
    Failure {
        message: located(&plan.launches[n].at, &told),
        run: match error {
            gpu::Error::Run(run) => Some(Box::new(run)),
            _ => None,
        },
    }
}

/// Loads the objects, fills the buffers, launches, saves and compares.
///
/// # Errors
/// A message with location and cause. Differences found by checks are not errors; the report has them.
pub fn run(plan: &Plan, options: &Options) -> Result<Report, Failure> {
    let ready = Ready::new(plan, options)?;
    let mut report = ready.report();
    for n in 0..=plan.repeat {
        ready.fill(n == 0)?;
        ready.launch(plan, options, &mut report)?;
    }
    report.checks = ready.finish(plan)?;
    Ok(report)
}

/// The allocations of a launch's buffers: those that are arguments by number and name.
fn allocations(
    plan: &Plan,
    launch: &LaunchPlan,
    ready: &gpu::Launch,
    buffers: &[Buffer<u8>],
) -> Vec<Allocation> {
    let parameters = ready.kernel().parameters();
    let named = |(n, buffer): (usize, &Buffer<u8>)| {
        let is_it = |a: &ArgPlan| matches!(a, ArgPlan::Buffer(of, _) if *of == n);
        let name = match launch.args.iter().position(is_it) {
            None => format!("buffer '{}'", plan.buffers[n].name),
            Some(at) => {
                let parameter = parameters.as_ref().and_then(|all| all.get(at));
                match parameter.and_then(|p| p.name.as_deref()) {
                    Some(name) => format!("argument {at} '{name}'"),
                    None => format!("argument {at}"),
                }
            }
        };
        Allocation {
            address: buffer.address(),
            bytes: buffer.len() as u64,
            name,
            freed: false,
        }
    };
    buffers.iter().enumerate().map(named).collect()
}

/// The kernel of a name, or the only one.
fn kernel_of(program: &Program, name: Option<&str>) -> Result<Kernel, gpu::Error> {
    match name {
        Some(name) => program.kernel(name),
        None => program.only_kernel(),
    }
}

impl BufferPlan {
    /// Returns the type of its elements, if the buffer or its contents specify one.
    pub fn elements(&self) -> Option<Ty> {
        self.ty.or(self.contents.ty())
    }
}

/// Returns the type of a file's elements in numpy's notation, and the dimensions; `None` stands for one dimension. The type comes
/// from the plan, from the array that the buffer was read from, or from the kernel's parameter.
fn array(plan: &Plan, launches: &[gpu::Launch], save: &SavePlan) -> (String, Option<Vec<usize>>) {
    let buffer = &plan.buffers[save.buffer];
    let from_file = buffer.contents.array();
    let (file_descr, file_shape) = from_file.unzip();
    let ty = buffer.elements().map(|ty| ty.descr().to_owned());
    let own = buffer.ty.map(|ty| ty.descr().to_owned()).or(file_descr);
    let of_buffer = own.or(ty);
    let descr = save.descr.clone().or(of_buffer.clone()).or_else(|| {
        let parameters = plan.launches.iter().zip(launches).map(|(launch, ready)| {
            let is_it = |a: &ArgPlan| matches!(a, ArgPlan::Buffer(n, _) if *n == save.buffer);
            let at = launch.args.iter().position(is_it)?;
            let parameters = ready.kernel().parameters()?;
            let name = parameters.get(at)?.type_name.as_deref()?;
            Some(crate::parameter::elements(name)?.descr().to_owned())
        });
        parameters.flatten().next()
    });
    let descr = descr.unwrap_or_else(|| "|u1".into());
    // A shape counts elements of the buffer's type.
    let size = |descr: &str| descr.get(2..).map(str::to_owned);
    let same = of_buffer.is_some_and(|of_buffer| size(&of_buffer) == size(&descr));
    let shape = buffer.shape.clone().or(file_shape).filter(|_| same);
    (descr, save.shape.clone().or(shape))
}

fn compare(plan: &Plan, check: &CheckPlan, buffers: &[Buffer<u8>]) -> Result<CheckReport, String> {
    let (ty, size) = (check.ty, check.ty.size());
    let name = &plan.buffers[check.buffer].name;
    let whole = |bytes: usize, what: &str| match bytes % size {
        0 => Ok(bytes / size),
        _ => Err(format!("{what}: {bytes} bytes are not a multiple of {ty}")),
    };
    let got = &buffers[check.buffer];
    let have = whole(got.len(), name)?;
    // Expected contents that can be read only once are read here.
    let once = match &check.expected {
        Expected::Contents(contents) if !contents.comes_in_pieces() => {
            Some(Contents::Bytes(contents.bytes()?))
        }
        _ => None,
    };
    let (expected, from) = match &check.expected {
        Expected::Contents(contents) => (once.as_ref().unwrap_or(contents).size()?, 0),
        Expected::Buffer(n, from) => (buffers[*n].len(), *from),
    };
    let pointers = addresses(expected, &check.pointers, buffers)?;
    let there = whole(expected, "what is expected")?.saturating_sub(from);
    let rest = have.saturating_sub(check.first);
    // A list or a file whose length differs from the buffer's is an error, unless the check has a number of elements.
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
    let bytes = count * size;
    match &check.expected {
        Expected::Contents(contents) => {
            let mut at = 0;
            once.as_ref().unwrap_or(contents).pieces(&mut |piece| {
                let begin = at;
                at += piece.len();
                // A list of any length may be one piece.
                for (k, part) in piece.chunks(PIECE).enumerate() {
                    let begin = begin + k * PIECE;
                    let part = &part[..part.len().min(bytes.saturating_sub(begin))];
                    let part = with_addresses(part, begin, &pointers);
                    report.compare(check, got, &part, check.first + begin / size)?;
                }
                Ok(())
            })?;
        }
        Expected::Buffer(n, from) => {
            for begin in (0..bytes).step_by(PIECE) {
                let mut part = vec![0; PIECE.min(bytes - begin)];
                let read = buffers[*n].read_into(from * size + begin, &mut part);
                read.map_err(|e| e.to_string())?;
                report.compare(check, got, &part, check.first + begin / size)?;
            }
        }
    }
    Ok(report)
}

/// The size of a piece in bytes, a multiple of every type's size.
const PIECE: usize = 1 << 16;

/// Bytes from `begin` on, with the addresses that they contain.
fn with_addresses<'a>(bytes: &'a [u8], begin: usize, pointers: &[(usize, u64)]) -> Cow<'a, [u8]> {
    let mut bytes = Cow::Borrowed(bytes);
    for (at, address) in pointers {
        for (k, byte) in address.to_le_bytes().into_iter().enumerate() {
            let within = (at + k).checked_sub(begin).filter(|&k| k < bytes.len());
            if let Some(k) = within {
                bytes.to_mut()[k] = byte;
            }
        }
    }
    bytes
}

impl CheckReport {
    /// Compares a piece of the expected contents with a buffer's elements from `first` on.
    fn compare(
        &mut self,
        check: &CheckPlan,
        buffer: &Buffer<u8>,
        expected: &[u8],
        first: usize,
    ) -> Result<(), String> {
        let (ty, size) = (check.ty, check.ty.size());
        let mut got = vec![0; expected.len()];
        let read = buffer.read_into(first * size, &mut got);
        read.map_err(|e| e.to_string())?;
        if got == expected {
            return Ok(());
        }
        for n in 0..expected.len() / size {
            let (got, expected) = (ty.element(&got, n), ty.element(expected, n));
            if got == expected {
                continue;
            }
            self.most_ulps = self.most_ulps.max(ty.ulps(got, expected));
            if !check.tolerance.accepts(ty, got, expected) {
                self.wrong += 1;
                if self.first.len() < LISTED {
                    self.first.push(Difference {
                        index: first + n,
                        got,
                        expected,
                    });
                }
            }
        }
        Ok(())
    }
}
