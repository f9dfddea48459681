//! The GPU: programs, kernels, buffers and launches.

use crate::error::{Told, to_python};
use crate::pass::Passed;
use gcn::check::dynamic;
use gcn::check::dynamic::metrics;
use gcn::data::Ty;
use gcn::emu::dispatch::observers::Control;
use gcn::object::CodeObject;
use gcn::profile::Profile;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use serde_json::json;
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time between two looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// What kernels print, until it is given to `sys.stdout`.
#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Printed {
    /// Writes it to `sys.stdout`, which in a notebook is not the process's.
    fn show(&self, py: Python<'_>) -> PyResult<()> {
        let text = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if text.is_empty() {
            return Ok(());
        }
        let out = py.import("sys")?.getattr("stdout")?;
        out.call_method1("write", (String::from_utf8_lossy(&text),))?;
        Ok(())
    }
}

/// An error of the library without objects.
pub fn plain(error: gcn::Error) -> PyErr {
    Told::of(error, &[]).into()
}

/// A GPU in software: memory, and an engine that runs kernels.
///
/// `arch` is a target, `gfx600` to `gfx90c`, or a chip's name. `engine` is "jit" (where the host has AVX2, the default) or "interp";
/// `threads` are the host threads of a launch, by default one a core; `memory` is the size of guest memory in bytes.
///
/// >>> import gcn
/// >>> gcn.Gpu("vega10").arch
/// 'gfx900'
#[pyclass(module = "gcn", frozen)]
pub struct Gpu {
    gpu: gcn::Gpu,
    threads: usize,
    printed: Printed,
}

#[pymethods]
impl Gpu {
    #[new]
    #[pyo3(signature = (arch, *, engine = None, threads = None, memory = None))]
    fn new(
        arch: &str,
        engine: Option<&str>,
        threads: Option<usize>,
        memory: Option<u64>,
    ) -> PyResult<Gpu> {
        let target = crate::cs::target(arch)?;
        let kind = match engine {
            None => gcn::engine::Kind::default(),
            Some(name) => gcn::engine::Kind::parse(name)
                .map_err(|e| Told::new("usage", format!("engine: {e}")))?,
        };
        let memory = memory.unwrap_or(4 << 30);
        let machine = gcn::emu::dispatch::Gpu::with_engine(target, memory, kind.maker());
        let machine = machine.map_err(|e| Told::new("memory", e.to_string()))?;
        let gpu = gcn::Gpu::from_machine(machine);
        let printed = Printed::default();
        gpu.set_output(printed.clone());
        let threads =
            threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
        Ok(Gpu {
            gpu,
            threads,
            printed,
        })
    }

    /// The target.
    #[getter]
    fn arch(&self) -> &'static str {
        self.gpu.target().name()
    }

    /// Loads a code object, or the one for this target from a bundle, program or library.
    fn load(&self, py: Python<'_>, code: &Bound<'_, PyAny>) -> PyResult<Program> {
        let bytes = crate::cs::bytes(code)?;
        let program = py.detach(|| self.gpu.load(&bytes)).map_err(plain)?;
        Ok(self.of(program))
    }

    /// Like `load`, from a file; source (`.s`) is assembled.
    fn load_file(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<Program> {
        if path.extension().is_some_and(|e| e == "s") {
            let file = path.display().to_string();
            let source = std::fs::read_to_string(&path).map_err(|e| {
                Told::new("file", format!("{file}: {e}")).with("file", file.clone())
            })?;
            return self.assemble(py, &source, &file);
        }
        let program = py.detach(|| self.gpu.load_file(&path)).map_err(plain)?;
        Ok(self.of(program))
    }

    /// Assembles source and loads the result. `name` is the file's name in messages.
    #[pyo3(signature = (source, name = "source"))]
    fn assemble(&self, py: Python<'_>, source: &str, name: &str) -> PyResult<Program> {
        let target = Some(self.gpu.target());
        let object = py.detach(|| assemble(source, name, target, true).and_then(parse))?;
        let program = self.gpu.load_object(object).map_err(plain)?;
        Ok(self.of(program))
    }

    /// Compiles OpenCL C (or HIP, with `lang="hip"`) with the clang that is installed, and loads the result: `gcn.compile`.
    #[pyo3(signature = (source, lang = "opencl", **options))]
    fn compile(
        &self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        lang: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Program> {
        let module = py.import("gcn._compile")?;
        let code = module
            .getattr("compile")?
            .call((source, self.arch(), lang), options)?;
        self.load(py, &code)
    }

    /// A buffer of zeros in the GPU's memory, which NumPy sees without a copy.
    ///
    /// >>> import gcn, numpy
    /// >>> buffer = gcn.Gpu("gfx900").zeros((2, 3), "float32")
    /// >>> numpy.asarray(buffer).shape
    /// (2, 3)
    #[pyo3(signature = (shape, dtype = None))]
    fn zeros(
        &self,
        py: Python<'_>,
        shape: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Buffer> {
        let shape: Vec<usize> = match shape.extract::<usize>() {
            Ok(n) => vec![n],
            Err(_) => shape.extract()?,
        };
        let numpy = py.import("numpy")?;
        let dtype = match dtype {
            Some(dtype) => numpy.call_method1("dtype", (dtype,))?,
            None => numpy.call_method1("dtype", ("float32",))?,
        };
        let size: usize = dtype.getattr("itemsize")?.extract()?;
        let typestr: String = dtype.getattr("str")?.extract()?;
        if dtype.getattr("hasobject")?.extract::<bool>()? || typestr.starts_with('>') {
            let message = format!("dtype {typestr}: a buffer holds little-endian numbers");
            return Err(Told::new("usage", message).into());
        }
        let bytes = shape.iter().try_fold(size, |all, n| all.checked_mul(*n));
        let too_large = || Told::new("memory", format!("an array of {shape:?} is too large"));
        let bytes = bytes.ok_or_else(too_large)?;
        Ok(Buffer {
            buffer: self.gpu.zeros(bytes.max(1)).map_err(plain)?,
            gpu: self.gpu.clone(),
            ty: Ty::from_descr(&typestr),
            shape,
            typestr,
            bytes,
        })
    }

    /// A buffer with a copy of an array, in the GPU's memory.
    fn array(&self, py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<Buffer> {
        let numpy = py.import("numpy")?;
        let array = match array.hasattr("__dlpack__")? && !array.hasattr("__array_interface__")? {
            true => numpy.call_method1("from_dlpack", (array,))?,
            false => array.clone(),
        };
        let array = numpy.call_method1("ascontiguousarray", (array,))?;
        let dtype = array
            .getattr("dtype")?
            .call_method1("newbyteorder", ("<",))?;
        let array = array.call_method1("astype", (&dtype,))?;
        let buffer = self.zeros(py, &array.getattr("shape")?, Some(&dtype))?;
        let bytes: Vec<u8> = array.call_method0("tobytes")?.extract()?;
        buffer.buffer.write(0, &bytes).map_err(plain)?;
        Ok(buffer)
    }

    fn __repr__(&self) -> String {
        format!("<gcn.Gpu {}>", self.arch())
    }
}

impl Gpu {
    fn of(&self, program: gcn::Program) -> Program {
        Program {
            program,
            threads: self.threads,
            printed: self.printed.clone(),
        }
    }
}

/// Assembles source to a code object's file.
pub fn assemble(
    source: &str,
    name: &str,
    target: Option<gcn::Target>,
    lines: bool,
) -> Result<Vec<u8>, Told> {
    let options = gcn::asm::Options {
        target,
        debug: lines.then(String::new),
        ..gcn::asm::Options::default()
    };
    let output = gcn::asm::assemble(source, name, &options);
    let Some(object) = output.object else {
        return Err(Told::of_diagnostics(&output.diagnostics));
    };
    let failed = |e: gcn::object::Error| Told::new("assembly", format!("{name}: {e}"));
    object.loadable().map_err(failed)
}

fn parse(bytes: Vec<u8>) -> Result<CodeObject, Told> {
    CodeObject::parse(&bytes).map_err(|e| Told::new("object", e.to_string()))
}

/// A loaded code object.
#[pyclass(module = "gcn", frozen)]
pub struct Program {
    program: gcn::Program,
    threads: usize,
    printed: Printed,
}

#[pymethods]
impl Program {
    /// The names of its kernels.
    #[getter]
    fn kernels(&self) -> Vec<String> {
        self.program.kernels().map(str::to_owned).collect()
    }

    /// The kernel of a name; without one, the only kernel.
    #[pyo3(signature = (name = None))]
    fn kernel(&self, name: Option<&str>) -> PyResult<Kernel> {
        let kernel = match name {
            Some(name) => self.program.kernel(name),
            None => self.program.only_kernel(),
        };
        Ok(Kernel {
            kernel: kernel.map_err(plain)?,
            threads: self.threads,
            printed: self.printed.clone(),
        })
    }

    /// A global variable as an array of bytes in the GPU's memory, without a copy; `numpy.asarray(v).view(dtype)` gives it a type.
    fn variable(&self, name: &str) -> PyResult<Buffer> {
        let buffer = self.program.variable::<u8>(name).map_err(plain)?;
        Ok(Buffer {
            shape: vec![buffer.len()],
            bytes: buffer.len(),
            gpu: self.program_gpu(),
            buffer,
            typestr: "|u1".into(),
            ty: Some(Ty::U8),
        })
    }

    /// Kernels, arguments, registers, LDS and occupancy, as `gcn info --json` prints them.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let info = gcn::info::Info::new(self.program.object());
        let json = info.map(|info| info.json());
        to_python(py, &json.map_err(|e| Told::new("object", e))?)
    }

    fn __getitem__(&self, name: &str) -> PyResult<Kernel> {
        self.kernel(Some(name))
    }

    fn __repr__(&self) -> String {
        format!("<gcn.Program: {}>", self.kernels().join(", "))
    }
}

impl Program {
    fn program_gpu(&self) -> gcn::Gpu {
        self.program.gpu().clone()
    }
}

/// A kernel of a program.
#[pyclass(module = "gcn", frozen)]
pub struct Kernel {
    kernel: gcn::Kernel,
    threads: usize,
    printed: Printed,
}

/// What a launch came to.
#[pyclass(module = "gcn", frozen, get_all)]
#[derive(Clone, Copy)]
pub struct Stats {
    /// Instructions that waves executed.
    instructions: u64,
    /// Waves.
    waves: u64,
    /// Milliseconds, without the copies of arrays.
    ms: f64,
}

#[pymethods]
impl Stats {
    fn __repr__(&self) -> String {
        let Stats {
            instructions,
            waves,
            ms,
        } = self;
        format!("Stats(instructions={instructions}, waves={waves}, ms={ms:.3})")
    }
}

/// Up to three numbers of a grid or a group.
fn three(value: &Bound<'_, PyAny>, what: &str) -> PyResult<[u32; 3]> {
    let list: Vec<u32> = match value.extract::<u32>() {
        Ok(n) => vec![n],
        Err(_) => value.extract().map_err(|_| {
            Told::new(
                "usage",
                format!("{what}: expected a number of work-items, or up to three in a tuple"),
            )
        })?,
    };
    if list.is_empty() || list.len() > 3 || list.contains(&0) {
        let message =
            format!("{what}: expected one to three numbers of work-items, each at least 1");
        return Err(Told::new("usage", message).into());
    }
    Ok(std::array::from_fn(|d| list.get(d).copied().unwrap_or(1)))
}

/// The options of a launch that are named.
fn apply(launch: &mut gcn::Launch, options: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
    let Some(options) = options else {
        return Ok(());
    };
    for (key, value) in options {
        let key: String = key.extract()?;
        let of = launch.clone();
        *launch = match key.as_str() {
            "threads" => of.threads(value.extract()?),
            "deterministic" => of.deterministic(value.extract()?),
            "dynamic_lds" => of.dynamic_lds(value.extract()?),
            "max_instructions" => of.max_instructions(value.extract()?),
            "any_type" => of.any_type(value.extract()?),
            "offset" => {
                let list: Vec<u64> = match value.extract::<u64>() {
                    Ok(n) => vec![n],
                    Err(_) => value.extract()?,
                };
                of.offset(std::array::from_fn(|d| list.get(d).copied().unwrap_or(0)))
            }
            other => {
                let message = format!(
                    "launch has no option `{other}`: expected threads, deterministic, dynamic_lds, offset, max_instructions or any_type"
                );
                return Err(pyo3::exceptions::PyTypeError::new_err(message));
            }
        };
    }
    Ok(())
}

/// Runs `work` on another thread while this one looks for Ctrl-C, which stops it.
pub fn interruptibly<T: Send>(
    py: Python<'_>,
    control: &Control,
    work: impl FnOnce() -> T + Send,
) -> (T, Option<PyErr>) {
    py.detach(|| {
        std::thread::scope(|scope| {
            let (done, finished) = std::sync::mpsc::sync_channel::<()>(1);
            let worker = scope.spawn(move || {
                let out = work();
                drop(done);
                out
            });
            let mut raised = None;
            while finished.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if raised.is_some() {
                    continue;
                }
                if let Err(e) = Python::attach(|py| py.check_signals()) {
                    raised = Some(e);
                    control.stop();
                }
            }
            match worker.join() {
                Ok(out) => (out, raised),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    })
}

impl Kernel {
    /// A launch with its arguments in the GPU's memory.
    fn ready(
        &self,
        grid: &Bound<'_, PyAny>,
        group: &Bound<'_, PyAny>,
        args: &Bound<'_, PyTuple>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(gcn::Launch, Passed, Arc<Control>)> {
        let (grid, group) = (three(grid, "grid")?, three(group, "group")?);
        let passed = Passed::new(&self.kernel, args)?;
        let control = Arc::new(Control::new(Arc::new(AtomicBool::new(false))));
        let mut launch = self
            .kernel
            .launch(grid, group)
            .args(passed.args.iter().cloned())
            .threads(self.threads);
        apply(&mut launch, options)?;
        launch.options().observers.control = Some(control.clone());
        Ok((launch, passed, control))
    }

    fn told(&self, error: gcn::Error) -> Told {
        let object = std::slice::from_ref(self.kernel.program().object());
        Told::of(crate::pass::advised(error), object)
    }
}

#[pymethods]
impl Kernel {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.kernel.name()
    }

    /// Its parameters: types and names.
    #[getter]
    fn parameters(&self) -> Option<Vec<String>> {
        let parameters = self.kernel.parameters()?;
        Some(
            parameters
                .into_iter()
                .map(gcn::parameter::describe)
                .collect(),
        )
    }

    /// Runs the kernel over `grid` work-items in workgroups of `group`. Arguments are NumPy arrays (changed in place), buffers of this GPU,
    /// objects with DLPack, NumPy's and Python's numbers, `bytes` for structures, `gcn.Local(bytes)`, and `None` for a null pointer.
    /// Options: threads, deterministic, dynamic_lds, offset, max_instructions, any_type. Ctrl-C stops it.
    ///
    /// >>> import gcn, numpy
    /// >>> gpu = gcn.Gpu("gfx900")
    /// >>> add = gpu.assemble(gcn.examples.ADD_ONE).kernel("add_one")
    /// >>> x = numpy.arange(4, dtype=numpy.uint32)
    /// >>> stats = add.launch(4, 64, x)
    /// >>> x
    /// array([1, 2, 3, 4], dtype=uint32)
    #[pyo3(signature = (grid, group, *args, **options))]
    fn launch(
        &self,
        py: Python<'_>,
        grid: &Bound<'_, PyAny>,
        group: &Bound<'_, PyAny>,
        args: &Bound<'_, PyTuple>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Stats> {
        let (launch, passed, control) = self.ready(grid, group, args, options)?;
        let ((ran, time), raised) = interruptibly(py, &control, || {
            let start = Instant::now();
            let ran = launch.run();
            (ran, start.elapsed())
        });
        let returned = passed.give_back(py);
        self.printed.show(py)?;
        if let Some(raised) = raised {
            return Err(raised);
        }
        let stats = ran.map_err(|e| self.told(e))?;
        returned?;
        Ok(Stats {
            instructions: stats.instructions,
            waves: stats.waves,
            ms: time.as_secs_f64() * 1e3,
        })
    }

    /// As `launch`, under the checks: `checks` as `gcn check --checks` takes them. The result has `reports`, `metrics`, `stats`, and in
    /// `error` the `gcn.Error` that ended it, if one did.
    #[pyo3(signature = (grid, group, *args, checks = "", metrics = false, **options))]
    #[expect(clippy::too_many_arguments, reason = "the signature is Python's")]
    fn check<'py>(
        &self,
        py: Python<'py>,
        grid: &Bound<'py, PyAny>,
        group: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        checks: &str,
        metrics: bool,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut wanted = dynamic::Options::parse(checks).map_err(|e| Told::new("usage", e))?;
        wanted.metrics = metrics;
        let (launch, passed, control) = self.ready(grid, group, args, options)?;
        let (checked, raised) = interruptibly(py, &control, || launch.check(wanted));
        let returned = passed.give_back(py);
        self.printed.show(py)?;
        if let Some(raised) = raised {
            return Err(raised);
        }
        let reports: Vec<_> = checked.reports.iter().map(|r| r.json()).collect();
        let mut all = json!({ "reports": reports, "metrics": null });
        if metrics {
            all["metrics"] = metrics::json(&checked.metrics);
        }
        let result = to_python(py, &all)?;
        let (stats, error) = match checked.outcome {
            Ok(stats) => {
                returned?;
                let json = json!({"instructions": stats.instructions, "waves": stats.waves});
                (to_python(py, &json)?, py.None().into_bound(py))
            }
            Err(e) => {
                let error = PyErr::from(self.told(e));
                (
                    py.None().into_bound(py),
                    error.into_value(py).into_bound(py).into_any(),
                )
            }
        };
        result.set_item("stats", stats)?;
        result.set_item("error", error)?;
        Ok(result)
    }

    /// As `launch`, counted: how often each instruction ran, and on how many lanes, as `gcn run --profile --json` prints it.
    #[pyo3(signature = (grid, group, *args, **options))]
    fn profile<'py>(
        &self,
        py: Python<'py>,
        grid: &Bound<'py, PyAny>,
        group: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (mut launch, passed, control) = self.ready(grid, group, args, options)?;
        let profile = Arc::new(Profile::default());
        launch.options().observers.observe = Some(profile.clone());
        let (ran, raised) = interruptibly(py, &control, || launch.run());
        let returned = passed.give_back(py);
        self.printed.show(py)?;
        if let Some(raised) = raised {
            return Err(raised);
        }
        ran.map_err(|e| self.told(e))?;
        returned?;
        let program = self.kernel.program();
        let result = profile.result(&[(program.object(), program.loaded().base)]);
        to_python(py, &result.json())
    }

    fn __repr__(&self) -> String {
        let parameters = self.parameters().unwrap_or_default();
        format!("<gcn.Kernel {}({})>", self.name(), parameters.join(", "))
    }
}

/// An array in the GPU's memory. NumPy sees it without a copy: `numpy.asarray(buffer)`, or by DLPack.
#[pyclass(module = "gcn", frozen)]
pub struct Buffer {
    buffer: gcn::Buffer<u8>,
    gpu: gcn::Gpu,
    shape: Vec<usize>,
    typestr: String,
    ty: Option<Ty>,
    bytes: usize,
}

impl Buffer {
    /// The argument that points to it, if it belongs to the GPU.
    pub fn arg(&self, gpu: &gcn::Gpu) -> Option<gcn::Arg> {
        if !std::ptr::eq(self.gpu.machine(), gpu.machine()) {
            return None;
        }
        let arg = self.buffer.at(0).ok()?;
        Some(arg.with_elements(self.ty))
    }
}

#[pymethods]
impl Buffer {
    /// The guest address.
    #[getter]
    fn address(&self) -> u64 {
        self.buffer.address()
    }

    /// The dimensions.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    /// The type of the elements, in NumPy's notation.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("numpy")?.call_method1("dtype", (&self.typestr,))
    }

    /// Its size in bytes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.bytes
    }

    /// A copy of the bytes.
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.buffer.read_range(0, self.bytes).map_err(plain)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// NumPy's array interface: the host's address of the memory.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let linear = self.gpu.machine().memory.linear();
        let host = linear.base as u64 + (self.buffer.address() - linear.start);
        let all = PyDict::new(py);
        all.set_item("version", 3)?;
        all.set_item("shape", PyTuple::new(py, &self.shape)?)?;
        all.set_item("typestr", &self.typestr)?;
        all.set_item("data", (host, false))?;
        Ok(all)
    }

    /// The array that NumPy sees, without a copy.
    fn numpy<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("numpy")?.call_method1("asarray", (slf,))
    }

    /// DLPack, for other libraries of arrays, without a copy.
    #[pyo3(signature = (**options))]
    fn __dlpack__<'py>(
        slf: Bound<'py, Self>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Buffer::numpy(slf)?.call_method("__dlpack__", (), options)
    }

    /// DLPack's device: the CPU, whose memory this is.
    fn __dlpack_device__(&self) -> (u32, u32) {
        (1, 0)
    }

    fn __len__(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    fn __repr__(&self) -> String {
        let Buffer { shape, typestr, .. } = self;
        format!(
            "<gcn.Buffer {typestr} {shape:?} at {:#x}>",
            self.buffer.address()
        )
    }
}

/// A pointer to bytes of LDS: the argument for OpenCL's `local` pointers.
#[pyclass(module = "gcn", frozen)]
pub struct Local {
    #[pyo3(get)]
    bytes: u32,
}

#[pymethods]
impl Local {
    #[new]
    fn new(bytes: u32) -> Local {
        Local { bytes }
    }

    fn __repr__(&self) -> String {
        format!("Local({})", self.bytes)
    }
}
