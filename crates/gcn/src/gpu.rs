//! A GPU to load kernels on, and to launch them with typed arguments.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/kernels/vadd-gfx900.co");
//! use gcn::{Gpu, Target};
//!
//! let gpu = Gpu::new(Target::parse("gfx900").ok_or("no such target")?)?;
//! // A code object, or a bundle, program or library that contains one for this target.
//! let program = gpu.load_file(path)?;
//! let vadd = program.kernel("vadd")?;
//!
//! let a = gpu.buffer(&[1.0f32, 2.0, 3.0])?;
//! let b = gpu.buffer(&[0.5f32, 0.25, 0.125])?;
//! let sum = gpu.zeros::<f32>(3)?;
//! let stats = vadd
//!     .launch([3], [64])
//!     .arg(&a)
//!     .arg(&b)
//!     .arg(&sum)
//!     .arg(3u32)
//!     .run()?;
//! assert_eq!(sum.read()?, [1.5, 2.25, 3.125]);
//! assert_eq!(stats.waves, 1);
//! # Ok(())
//! # }
//! ```
//!
//! Arguments are checked against the object's metadata of the kernel's parameters, and every failure is an
//! [`Error`] that can be matched on:
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/kernels/vadd-gfx900.co");
//! # use gcn::{Gpu, Target};
//! use gcn::gpu::{Error, Mismatch};
//! use gcn::emu::dispatch::RunError;
//!
//! # let gpu = Gpu::new(Target::parse("gfx900").ok_or("no such target")?)?;
//! let vadd = gpu.load_file(path)?.kernel("vadd")?;
//! let a = gpu.zeros::<f32>(64)?;
//!
//! let error = vadd.launch([64], [64]).arg(&a).arg(&a).arg(&a).arg(64u64).run().unwrap_err();
//! assert!(matches!(
//!     error,
//!     Error::Argument { index: 3, mismatch: Mismatch::Size { expected: 4, given: 8 }, .. }
//! ));
//!
//! // 4,096 work-items access memory past the end of buffers of 64 elements, in a page that is not mapped.
//! let error = vadd.launch([4096], [64]).arg(&a).arg(&a).arg(&a).arg(4096u32).run().unwrap_err();
//! let Error::Run(RunError::Fault { location, report }) = error else { panic!("{error}") };
//! println!("workgroup {:?}: {} at {:#x}", location.workgroup, report.text, report.pc);
//! # Ok(())
//! # }
//! ```
//!
//! A [`Gpu`] can be shared: buffers are allocated, objects loaded and kernels launched through `&self`, from any thread.
//! [`Gpu::machine`] is the lower-level interface.

use crate::data::Ty;
use crate::emu::dispatch::observers::Observers;
use crate::emu::dispatch::{self, LoadError, Loaded, RunError, Stats};
use crate::emu::mem::{Fault, MemError, Perm};
use crate::engine::Engines;
use crate::isa::Target;
use crate::lines::Sources;
use crate::object::metadata::{Arg as Parameter, ValueKind};
use crate::object::{CodeObject, Container, Source};
use crate::parameter::{self, describe};
use gcn_check::dynamic::{self, Allocation, Checker, metrics::Metrics};
use gcn_check::report::Report;
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The errors from reading an object to the end of a kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read, or holds no code object.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: gcn_object::Error,
    },
    /// A code object, or the file that contains it, cannot be read or selected.
    #[error(transparent)]
    Object(#[from] gcn_object::Error),
    /// A code object cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Source does not assemble.
    #[error("{}", text.trim_end())]
    Assembly {
        /// The diagnostics, as the assembler shows them.
        text: String,
    },
    /// A code object is not for a gfx6 to gfx9 target.
    #[error("{0} is not a gfx6 to gfx9 target")]
    Target(String),
    /// The program has no such kernel.
    #[error("no kernel `{name}`; the object has: {}", crate::cpp::list(have))]
    NoKernel {
        /// The name.
        name: String,
        /// The kernels of the program.
        have: Vec<String>,
    },
    /// The program has several kernels, or none, and none is named.
    #[error("{}", which_kernel(have))]
    WhichKernel {
        /// The kernels of the program.
        have: Vec<String>,
    },
    /// The program has no such variable.
    #[error("no variable `{0}` in the object")]
    NoVariable(String),
    /// A kernel is given more or fewer arguments than it takes.
    #[error("kernel {kernel} takes {} arguments ({}), {given} were given{}", takes.len(), takes.join(", "), advice(write))]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// Its parameters: types and names.
        takes: Vec<String>,
        /// The number of arguments.
        given: usize,
        /// Arguments that fit, in the command line's syntax.
        write: String,
    },
    /// An argument does not fit its parameter.
    #[error("argument {index} ({parameter}): {mismatch}{}", advice(write))]
    Argument {
        /// The argument's number, from 0.
        index: usize,
        /// The parameter's type and name.
        parameter: String,
        /// The mismatch.
        mismatch: Mismatch,
        /// An argument that fits, in the syntax of the command line and plans; empty if there is none.
        write: String,
    },
    /// The host has no memory for a copy of a buffer.
    #[error("{bytes} bytes of a buffer do not fit into the host's memory")]
    HostMemory {
        /// The size of the copy.
        bytes: usize,
    },
    /// A kernel's arguments, or its LDS, exceed the maximum size.
    #[error("kernel {kernel}: {bytes} bytes of {what} exceed the limit")]
    TooLarge {
        /// The kernel.
        kernel: String,
        /// Arguments or LDS.
        what: &'static str,
        /// The number of elements.
        bytes: u64,
    },
    /// A read or write beyond a buffer's end.
    #[error("elements {start} to {end} of a buffer of {len}")]
    Range {
        /// The first element.
        start: usize,
        /// The end, exclusive.
        end: usize,
        /// Elements of the buffer.
        len: usize,
    },
    /// Guest memory is exhausted, or cannot be allocated.
    #[error(transparent)]
    Memory(#[from] MemError),
    /// Guest memory cannot be read or written.
    #[error(transparent)]
    Access(#[from] Fault),
    /// The launch is impossible, or the kernel did not finish.
    #[error(transparent)]
    Run(#[from] RunError),
}

fn which_kernel(have: &[String]) -> String {
    match have.is_empty() {
        true => "the object has no kernel".into(),
        false => format!(
            "the object has several kernels; --kernel names one of: {}",
            crate::cpp::list(have)
        ),
    }
}

fn advice(write: &str) -> String {
    match write {
        "" => String::new(),
        write => format!("; write {write}"),
    }
}

/// The mismatch of an argument and its parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// A value's size.
    #[error("expected {expected} bytes, not {given}")]
    Size {
        /// The size of the parameter in bytes.
        expected: u64,
        /// The size of the value in bytes.
        given: u64,
    },
    /// A value's type. [`Launch::any_type`] passes the bits unchanged.
    #[error("expected {expected}, not {given}")]
    Type {
        /// The type of the parameter's numbers.
        expected: Ty,
        /// The type of the value.
        given: Ty,
    },
    /// The type of a buffer's elements. [`Launch::any_type`] passes the buffer anyway.
    #[error("expected a buffer of {expected}, not of {given}")]
    Elements {
        /// The type of the numbers that the parameter points to.
        expected: Ty,
        /// The type of the buffer's elements.
        given: Ty,
    },
    /// A value is expected.
    #[error("expected a value")]
    Value,
    /// A buffer is expected.
    #[error("expected a buffer")]
    Buffer,
    /// A number of bytes of LDS is expected.
    #[error("expected LDS of a workgroup")]
    Local,
    /// The machine does not support this kind of argument.
    #[error("{0} arguments are not supported")]
    Unsupported(String),
    /// The object's metadata put the parameter outside the kernel's arguments.
    #[error("expected an offset inside the kernarg segment")]
    Outside,
}

/// A type of a buffer's elements.
pub trait Element: Copy + Default + private::Bytes {
    /// The corresponding type of arguments and `.npy` files.
    const TY: Ty;
}

mod private {
    pub trait Bytes: Sized {
        /// Writes all values to as many bytes as they have.
        fn put(values: &[Self], out: &mut [u8]);
        fn take(bytes: &[u8]) -> Self;
    }
}

macro_rules! element {
    ($($t:ty: $ty:ident),*) => { $(
        impl Element for $t {
            const TY: Ty = Ty::$ty;
        }
        impl private::Bytes for $t {
            fn put(values: &[$t], out: &mut [u8]) {
                let (words, _) = out.as_chunks_mut();
                for (word, value) in words.iter_mut().zip(values) {
                    *word = value.to_le_bytes();
                }
            }
            fn take(bytes: &[u8]) -> $t {
                let mut array = [0; size_of::<$t>()];
                array.copy_from_slice(bytes);
                <$t>::from_le_bytes(array)
            }
        }
        impl From<$t> for Arg {
            fn from(value: $t) -> Arg {
                Arg::Numbers(Ty::$ty, value.to_le_bytes().to_vec())
            }
        }
    )* };
}

element!(
    u8: U8, i8: I8, u16: U16, i16: I16, u32: U32, i32: I32, u64: U64, i64: I64, f32: F32, f64: F64
);

/// A GPU: memory and an engine. Clones refer to the same GPU.
#[derive(Clone)]
pub struct Gpu {
    machine: Arc<dispatch::Gpu>,
}

/// The default size of guest memory in bytes. Only pages in use take memory of the host.
const MEMORY: u64 = 4 << 30;

impl Gpu {
    /// A GPU with 4 GiB of memory. Only pages in use take memory of the host.
    ///
    /// # Errors
    /// [`Error::Memory`] if the host has no such range of addresses.
    pub fn new(target: Target) -> Result<Gpu, Error> {
        Gpu::with_memory(target, MEMORY)
    }

    /// A GPU with this many bytes of memory.
    ///
    /// # Errors
    /// See [`Gpu::new`].
    pub fn with_memory(target: Target, bytes: u64) -> Result<Gpu, Error> {
        Gpu::with_engines(target, bytes, &Engines::default())
    }

    /// A GPU with these engines.
    ///
    /// # Errors
    /// See [`Gpu::new`].
    pub fn with_engines(target: Target, bytes: u64, engines: &Engines) -> Result<Gpu, Error> {
        let (engines, recording) = (engines.clone(), engines.clone().recording());
        let mut machine = dispatch::Gpu::with_engine(target, bytes, move || engines.engine())?;
        machine.set_recording_engine(move || recording.engine());
        Ok(Gpu::from_machine(machine))
    }

    /// A GPU of a machine, for instance one with another engine.
    pub fn from_machine(machine: dispatch::Gpu) -> Gpu {
        Gpu {
            machine: Arc::new(machine),
        }
    }

    /// The chip.
    pub fn target(&self) -> Target {
        self.machine.target()
    }

    /// The machine: its memory, and dispatches with arguments laid out by the caller.
    pub fn machine(&self) -> &dispatch::Gpu {
        &self.machine
    }

    /// The machine, for owners that outlive this.
    pub fn shared_machine(&self) -> Arc<dispatch::Gpu> {
        self.machine.clone()
    }

    /// Sets the writer for the text that kernels print with OpenCL's or HIP's printf; by default standard output. Text comes in the
    /// order of workgroups, whatever number of threads runs them.
    pub fn set_output(&self, output: impl std::io::Write + Send + 'static) {
        self.machine.set_output(output);
    }

    /// Loads a code object, or the one for this target from a bundle, program or library.
    ///
    /// # Errors
    /// [`Error::Object`], [`Error::Load`].
    pub fn load(&self, bytes: &[u8]) -> Result<Program, Error> {
        self.choose(Source::from_bytes(bytes.to_vec()))
    }

    /// Like [`Gpu::load`], from a file; only the necessary parts are read.
    ///
    /// # Errors
    /// [`Error::File`], and those of [`Gpu::load`].
    pub fn load_file(&self, path: impl AsRef<Path>) -> Result<Program, Error> {
        let path = path.as_ref();
        let file = |source| Error::File {
            path: path.to_owned(),
            source,
        };
        let source = Source::open(path).map_err(file)?;
        self.choose(source).map_err(|e| match e {
            Error::Object(source) => file(source),
            other => other,
        })
    }

    fn choose(&self, source: Source) -> Result<Program, Error> {
        let container = Container::new(source)?;
        // The only object of a file is loaded or refused independently of its target.
        let entry = match container.choose(None, None) {
            Ok(entry) => entry,
            Err(_) => container.choose(Some(self.target().name()), None)?,
        };
        self.load_object(container.object(entry)?)
    }

    /// Loads a code object that has been read.
    ///
    /// # Errors
    /// [`Error::Load`].
    pub fn load_object(&self, object: CodeObject) -> Result<Program, Error> {
        let loaded = self.machine.load(&object)?;
        Ok(Program {
            inner: Arc::new(Inner {
                gpu: self.clone(),
                object,
                loaded,
            }),
        })
    }

    /// Runs a launch under the checks: [`Launch::check`].
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/kernels/vadd-gfx900.co");
    /// # use gcn::{Gpu, Target, check::dynamic::Options};
    /// # let gpu = Gpu::new(Target::parse("gfx900").ok_or("no such target")?)?;
    /// let vadd = gpu.load_file(path)?.kernel("vadd")?;
    /// let a = gpu.zeros::<f32>(64)?;
    /// // 65 work-items for buffers of 64 elements.
    /// let launch = vadd.launch([128], [64]).arg(&a).arg(&a).arg(&a).arg(65u32);
    /// let checked = gpu.check(&launch, Options::default());
    /// assert!(checked.reports.iter().all(|report| report.rule == "out-of-bounds"));
    /// assert!(!checked.reports.is_empty() && checked.outcome.is_ok());
    /// # Ok(())
    /// # }
    /// ```
    pub fn check(&self, launch: &Launch, options: dynamic::Options) -> Checked {
        launch.check(options)
    }

    /// Assembles source, in LLVM's or the documents' syntax, and loads the result.
    ///
    /// # Errors
    /// [`Error::Assembly`], [`Error::Load`].
    pub fn assemble(&self, source: &str) -> Result<Program, Error> {
        self.load_object(assemble(source, "source", Some(self.target()))?)
    }

    /// A buffer that holds a copy of `data`.
    ///
    /// # Errors
    /// [`Error::Memory`] if memory is used up.
    pub fn buffer<T: Element>(&self, data: &[T]) -> Result<Buffer<T>, Error> {
        let buffer = self.zeros(data.len())?;
        buffer.write(0, data)?;
        Ok(buffer)
    }

    /// A buffer of zeros.
    ///
    /// # Errors
    /// [`Error::Memory`] if memory is used up.
    pub fn zeros<T: Element>(&self, len: usize) -> Result<Buffer<T>, Error> {
        let bytes = (len as u64).saturating_mul(size_of::<T>() as u64);
        let address = self.machine.memory.alloc(bytes, 256, Perm::RW)?;
        Ok(Buffer {
            address,
            len,
            gpu: self.clone(),
            region: Some(Arc::new(Region {
                gpu: self.clone(),
                address,
            })),
            element: PhantomData,
        })
    }
}

/// Assembles source to a code object. `name` is the file name in diagnostics and in the line table, which the object gets unless the
/// source has one of its own; `target` is the target if the source names none.
///
/// # Errors
/// [`Error::Assembly`], [`Error::Object`].
pub fn assemble(source: &str, name: &str, target: Option<Target>) -> Result<CodeObject, Error> {
    let options = gcn_asm::Options {
        target,
        // The line table names the file as the caller does.
        debug: Some(String::new()),
        ..gcn_asm::Options::default()
    };
    let output = gcn_asm::assemble(source, name, &options);
    let object = output.object.ok_or_else(|| Error::Assembly {
        text: gcn_asm::render(&output.diagnostics, false),
    })?;
    Ok(CodeObject::parse(&object.loadable()?)?)
}

/// Memory that is freed when its last owner is dropped.
#[derive(Debug)]
struct Region {
    gpu: Gpu,
    address: u64,
}

impl Drop for Region {
    fn drop(&mut self) {
        // It was allocated, and is freed once.
        let _ = self.gpu.machine.memory.free(self.address);
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu")
            .field("target", &self.target().name())
            .finish_non_exhaustive()
    }
}

/// The number of elements converted at once.
const PIECE: usize = 1 << 14;

/// Elements in a GPU's memory, which is freed when the buffer and all arguments made from it are dropped. Clones refer to
/// the same memory.
#[derive(Clone, Debug)]
pub struct Buffer<T> {
    address: u64,
    len: usize,
    gpu: Gpu,
    region: Option<Arc<Region>>,
    element: PhantomData<T>,
}

impl<T: Element> Buffer<T> {
    /// The guest address of the first element.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn range(&self, start: usize, count: usize) -> Result<u64, Error> {
        let end = start.saturating_add(count);
        if end > self.len {
            let len = self.len;
            return Err(Error::Range { start, end, len });
        }
        Ok(self.address + (start * size_of::<T>()) as u64)
    }

    /// Stores elements from element `start` on.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn write(&self, start: usize, data: &[T]) -> Result<(), Error> {
        let mut address = self.range(start, data.len())?;
        // Piece by piece, because a second copy of a large buffer may not fit into memory.
        let mut bytes = vec![0; PIECE.min(data.len()) * size_of::<T>()];
        for piece in data.chunks(PIECE) {
            let bytes = &mut bytes[..size_of_val(piece)];
            T::put(piece, bytes);
            self.gpu.machine.memory.write(address, bytes)?;
            address += bytes.len() as u64;
        }
        Ok(())
    }

    /// All elements.
    ///
    /// # Errors
    /// [`Error::Access`] if the memory is a variable's and has been unloaded.
    pub fn read(&self) -> Result<Vec<T>, Error> {
        self.read_range(0, self.len)
    }

    /// `count` elements from element `start` on.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn read_range(&self, start: usize, count: usize) -> Result<Vec<T>, Error> {
        let mut address = self.range(start, count)?;
        let mut elements = Vec::new();
        let bytes = count.saturating_mul(size_of::<T>());
        (elements.try_reserve_exact(count)).map_err(|_| Error::HostMemory { bytes })?;
        let mut piece = vec![0; PIECE.min(count) * size_of::<T>()];
        while elements.len() < count {
            let size = PIECE.min(count - elements.len()) * size_of::<T>();
            let piece = &mut piece[..size];
            self.gpu.machine.memory.read(address, piece)?;
            elements.extend(piece.chunks_exact(size_of::<T>()).map(T::take));
            address += size as u64;
        }
        Ok(elements)
    }

    /// The argument that points to element `start`.
    ///
    /// # Errors
    /// [`Error::Range`] beyond the buffer's end.
    pub fn at(&self, start: usize) -> Result<Arg, Error> {
        let address = self.range(start, 0)?;
        Ok(Arg::Buffer(Pointer {
            address,
            elements: Some(T::TY),
            _region: self.region.clone(),
        }))
    }
}

impl Buffer<u8> {
    /// Copies bytes from byte `start` on into `out`.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn read_into(&self, start: usize, out: &mut [u8]) -> Result<(), Error> {
        let address = self.range(start, out.len())?;
        Ok(self.gpu.machine.memory.read(address, out)?)
    }
}

/// A guest address in an argument, and the buffer there, which the argument keeps alive.
#[derive(Clone, Debug)]
pub struct Pointer {
    address: u64,
    elements: Option<Ty>,
    _region: Option<Arc<Region>>,
}

impl Pointer {
    /// The address.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The type of the elements, if it is known.
    pub fn elements(&self) -> Option<Ty> {
        self.elements
    }
}

/// A kernel's argument. `into` converts numbers and references to buffers.
#[derive(Clone, Debug)]
pub enum Arg {
    /// The bytes of a structure or of any type of that size, little-endian.
    Value(Vec<u8>),
    /// Numbers of a type, little-endian: one, or those of a vector such as `float4`.
    Numbers(Ty, Vec<u8>),
    /// The address of a buffer.
    Buffer(Pointer),
    /// A dynamic local pointer to this many bytes of LDS.
    Local(u32),
}

impl Arg {
    /// A pointer to any guest address.
    pub fn pointer(address: u64) -> Arg {
        Arg::Buffer(Pointer {
            address,
            elements: None,
            _region: None,
        })
    }

    /// Returns the argument; a buffer's elements have another type, or any type if `None`.
    #[must_use]
    pub fn with_elements(mut self, elements: Option<Ty>) -> Arg {
        if let Arg::Buffer(pointer) = &mut self {
            pointer.elements = elements;
        }
        self
    }
}

impl<T: Element> From<&Buffer<T>> for Arg {
    fn from(buffer: &Buffer<T>) -> Arg {
        Arg::Buffer(Pointer {
            address: buffer.address,
            elements: Some(T::TY),
            _region: buffer.region.clone(),
        })
    }
}

/// A loaded code object. It is unloaded when the last of its clones and kernels is dropped.
#[derive(Clone, Debug)]
pub struct Program {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    gpu: Gpu,
    object: CodeObject,
    loaded: Loaded,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // It was loaded, and is unloaded once.
        let _ = self.gpu.machine.unload(&self.loaded);
    }
}

impl Program {
    /// The object.
    pub fn object(&self) -> &CodeObject {
        &self.inner.object
    }

    /// The GPU that it is loaded on.
    pub fn gpu(&self) -> &Gpu {
        &self.inner.gpu
    }

    /// Its addresses in memory.
    pub fn loaded(&self) -> &Loaded {
        &self.inner.loaded
    }

    /// The names of its kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> + Clone {
        self.inner.loaded.kernels.iter().map(|k| k.name.as_str())
    }

    /// The kernel with a name: the symbol's, or the name of a C++ function if only one kernel fits.
    ///
    /// # Errors
    /// [`Error::NoKernel`].
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        let named = crate::dis::named(self.kernels(), name).unwrap_or(name);
        let index = self.kernels().position(|k| k == named);
        let index = index.ok_or_else(|| Error::NoKernel {
            name: name.to_owned(),
            have: self.kernels().map(str::to_owned).collect(),
        })?;
        Ok(Kernel {
            program: self.clone(),
            index,
        })
    }

    /// The kernel of a program that has only one.
    ///
    /// # Errors
    /// [`Error::WhichKernel`].
    pub fn only_kernel(&self) -> Result<Kernel, Error> {
        if self.inner.loaded.kernels.len() != 1 {
            let have = self.kernels().map(str::to_owned).collect();
            return Err(Error::WhichKernel { have });
        }
        Ok(Kernel {
            program: self.clone(),
            index: 0,
        })
    }

    /// A global variable as a buffer of elements of a type; its size determines their number.
    ///
    /// # Errors
    /// [`Error::NoVariable`].
    pub fn variable<T: Element>(&self, name: &str) -> Result<Buffer<T>, Error> {
        let object = &self.inner.object;
        let symbols = object.symbols.iter().chain(&object.dynamic_symbols);
        let symbol = symbols
            .filter(|s| s.size > 0)
            .find(|s| s.name == name)
            .ok_or_else(|| Error::NoVariable(name.to_owned()))?;
        Ok(Buffer {
            address: self.inner.loaded.base.wrapping_add(symbol.address),
            len: usize::try_from(symbol.size).unwrap_or(0) / size_of::<T>(),
            gpu: self.inner.gpu.clone(),
            region: None,
            element: PhantomData,
        })
    }
}

/// A kernel of a loaded code object.
#[derive(Clone, Debug)]
pub struct Kernel {
    program: Program,
    index: usize,
}

/// The maximum size of kernel arguments in bytes.
const LARGEST_KERNARG: u64 = 1 << 20;

impl Kernel {
    /// Its properties in the object.
    pub fn about(&self) -> &gcn_object::read::Kernel {
        &self.program.inner.loaded.kernels[self.index]
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.about().name
    }

    /// The object that contains it.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The parameters that a launch provides; `None` if the object does not describe them, as hand-written objects may not.
    pub fn parameters(&self) -> Option<Vec<&Parameter>> {
        let metadata = self.about().metadata.as_ref()?;
        if metadata.args.is_empty() && metadata.kernarg_segment_size != 0 {
            return None;
        }
        let hidden = |a: &&Parameter| !a.value_kind_name.starts_with("hidden_");
        Some(metadata.args.iter().filter(hidden).collect())
    }

    /// A launch of `grid` work-items in workgroups of `group`, in up to three dimensions.
    pub fn launch<const D: usize, const E: usize>(
        &self,
        grid: [u32; D],
        group: [u32; E],
    ) -> Launch {
        let three = |dims: &[u32]| std::array::from_fn(|d| dims.get(d).copied().unwrap_or(1));
        Launch {
            kernel: self.clone(),
            args: Vec::new(),
            any_type: false,
            options: dispatch::Launch {
                grid: three(&grid),
                group: three(&group),
                threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
                ..dispatch::Launch::default()
            },
        }
    }

    /// Returns the bytes of the arguments, and the number of bytes of dynamic LDS: the `dynamic` bytes after the kernel's own
    /// LDS, and then those that the arguments request. With `any_type`, the types of numbers are not checked.
    fn lay_out(&self, args: &[Arg], dynamic: u32, any_type: bool) -> Result<(Vec<u8>, u32), Error> {
        let kernel = self.about();
        let natural: Vec<Parameter>;
        let known = self.parameters();
        let parameters = match &known {
            Some(known) => known.clone(),
            None => {
                natural = natural_layout(args);
                natural.iter().collect()
            }
        };
        if parameters.len() != args.len() {
            return Err(Error::ArgumentCount {
                kernel: kernel.name.clone(),
                takes: parameters.iter().map(|p| describe(p)).collect(),
                given: args.len(),
                write: (parameters.iter())
                    .map(|p| format!("--arg {}", parameter::form(p)))
                    .collect::<Vec<_>>()
                    .join(" "),
            });
        }
        let end = parameters.iter().map(|a| a.offset.saturating_add(a.size));
        let end = end.max().unwrap_or(0);
        let size = match (&known, &kernel.metadata) {
            (Some(_), Some(metadata)) => metadata.kernarg_segment_size,
            _ => end,
        };
        let too_large = |what, bytes| Error::TooLarge {
            kernel: kernel.name.clone(),
            what,
            bytes,
        };
        if size > LARGEST_KERNARG {
            return Err(too_large("arguments", size));
        }
        let mut kernarg = vec![0; size as usize];
        let fixed = kernel.descriptor.group_segment_fixed_size as u64;
        let mut lds = fixed + dynamic as u64;
        for (index, (arg, parameter)) in args.iter().zip(&parameters).enumerate() {
            let wrong = |mismatch| Error::Argument {
                index,
                parameter: describe(parameter),
                mismatch,
                write: parameter::advice(parameter, arg),
            };
            let bytes = match (arg, parameter.value_kind) {
                (Arg::Local(bytes), ValueKind::DynamicSharedPointer) => {
                    let align = parameter.pointee_align.clamp(1, 128).next_power_of_two();
                    let offset = lds.next_multiple_of(align);
                    lds = offset + *bytes as u64;
                    let mut bytes = offset.to_le_bytes().to_vec();
                    bytes.resize(parameter.size as usize, 0);
                    bytes
                }
                _ => parameter::bytes(parameter, arg, any_type).map_err(wrong)?,
            };
            let at = parameter.offset as usize;
            kernarg
                .get_mut(at..at.saturating_add(bytes.len()))
                .ok_or_else(|| wrong(Mismatch::Outside))?
                .copy_from_slice(&bytes);
        }
        let dynamic = u32::try_from(lds - fixed).map_err(|_| too_large("LDS", lds))?;
        Ok((kernarg, dynamic))
    }
}

/// Lays out arguments like the compiler: one after another, each aligned to its size.
fn natural_layout(args: &[Arg]) -> Vec<Parameter> {
    let mut end = 0u64;
    args.iter()
        .map(|arg| {
            let (size, kind, word) = match arg {
                Arg::Value(bytes) | Arg::Numbers(_, bytes) => {
                    (bytes.len() as u64, ValueKind::ByValue, "by_value")
                }
                Arg::Buffer(_) => (8, ValueKind::GlobalBuffer, "global_buffer"),
                Arg::Local(_) => (4, ValueKind::DynamicSharedPointer, "dynamic_shared_pointer"),
            };
            let offset = end.next_multiple_of(size.clamp(1, 16).next_power_of_two());
            end = offset + size;
            Parameter {
                name: None,
                type_name: None,
                offset,
                size,
                value_kind: kind,
                value_kind_name: word.into(),
                address_space: None,
                access: None,
                actual_access: None,
                pointee_align: 16,
                is_const: false,
                is_restrict: false,
                is_volatile: false,
                is_pipe: false,
            }
        })
        .collect()
}

/// A launch of a kernel.
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `run` is called"]
pub struct Launch {
    kernel: Kernel,
    args: Vec<Arg>,
    any_type: bool,
    options: dispatch::Launch,
}

impl Launch {
    /// The next argument, in the order of the kernel's own.
    pub fn arg(mut self, arg: impl Into<Arg>) -> Launch {
        self.args.push(arg.into());
        self
    }

    /// The next argument: a pointer to this many bytes of LDS.
    pub fn local(self, bytes: u32) -> Launch {
        self.arg(Arg::Local(bytes))
    }

    /// Accepts numbers of any type for a parameter of the same size, such as f32 for an `int`, buffers of any elements for any
    /// pointer, and eight bytes for a buffer's address.
    pub fn any_type(mut self, on: bool) -> Launch {
        self.any_type = on;
        self
    }

    /// Several arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = Arg>) -> Launch {
        self.args.extend(args);
        self
    }

    /// The number of host threads that run workgroups; by default one per core.
    pub fn threads(mut self, threads: usize) -> Launch {
        self.options.threads = threads;
        self
    }

    /// Runs on one thread in a defined order: the results are the same every time, even with data races.
    pub fn deterministic(mut self, on: bool) -> Launch {
        self.options.deterministic = on;
        self
    }

    /// The first value of OpenCL's get_global_id in each dimension; by default 0.
    pub fn offset(mut self, offset: [u64; 3]) -> Launch {
        self.options.offset = offset;
        self
    }

    /// The number of bytes of LDS after the kernel's own: HIP's `extern __shared__`.
    pub fn dynamic_lds(mut self, bytes: u32) -> Launch {
        self.options.dynamic_lds = bytes;
        self
    }

    /// The instruction budget of all waves together.
    pub fn max_instructions(mut self, most: Option<u64>) -> Launch {
        self.options.max_instructions = most;
        self
    }

    /// The observers of the launch.
    pub fn observers(mut self, observers: Observers) -> Launch {
        self.options.observers = observers;
        self
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// All settings of a dispatch, except its arguments, which are those of [`Launch::arg`].
    pub fn options(&mut self) -> &mut dispatch::Launch {
        &mut self.options
    }

    /// Runs the launch under the checks. Reports are found in one defined order of workgroups and are the same every time.
    /// Observers of [`Launch::observers`] have no effect.
    pub fn check(&self, options: dynamic::Options) -> Checked {
        let checker = Arc::new(Checker::new(options));
        let buffers = self
            .args
            .iter()
            .enumerate()
            .filter_map(|(n, arg)| match arg {
                Arg::Buffer(pointer) => Some(Allocation {
                    address: pointer.address,
                    bytes: u64::MAX,
                    name: format!("argument {n}"),
                    freed: false,
                }),
                _ => None,
            });
        checker.name(buffers.collect());
        let mut launch = self.clone();
        launch.options.observers.observe = Some(checker.clone());
        let outcome = launch.run();
        let sources = Sources::new([self.kernel.program.object()]);
        let line = |kernel: &str, offset: i64| {
            let line = sources.line(kernel, offset)?;
            line.lines().next().map(str::to_owned)
        };
        let dynamic::Found { reports, metrics } = checker.found(line);
        Checked {
            reports,
            metrics,
            outcome,
        }
    }

    /// The launch as the machine takes it, with the bytes of its arguments.
    ///
    /// # Errors
    /// [`Error::ArgumentCount`] and [`Error::Argument`].
    pub fn laid_out(&self) -> Result<dispatch::Launch, Error> {
        let dynamic = self.options.dynamic_lds;
        let (kernarg, dynamic_lds) = self.kernel.lay_out(&self.args, dynamic, self.any_type)?;
        Ok(dispatch::Launch {
            kernarg,
            dynamic_lds,
            ..self.options.clone()
        })
    }

    /// Runs the kernel to its end.
    ///
    /// # Errors
    /// [`Error::ArgumentCount`] and [`Error::Argument`] before anything runs; [`Error::Run`].
    pub fn run(&self) -> Result<Stats, Error> {
        let launch = self.laid_out()?;
        let inner = &self.kernel.program.inner;
        let name = self.kernel.name();
        let ran = inner.gpu.machine.dispatch(&inner.loaded, name, &launch);
        ran.map_err(|mut error| {
            add_sources(&mut error, &inner.object);
            Error::Run(error)
        })
    }
}

/// The result of a checked launch.
#[derive(Debug)]
pub struct Checked {
    /// The reports, in the order in which they were found.
    pub reports: Vec<Report>,
    /// The metrics, if they were requested.
    pub metrics: Metrics,
    /// The result of the launch.
    pub outcome: Result<Stats, Error>,
}

/// Adds information from the object's file to the locations in an error: the addresses of its disassembly, which differ
/// from those in memory, and source lines.
pub fn add_sources(error: &mut RunError, object: &CodeObject) {
    let locations = error.locations_mut();
    if locations.is_empty() {
        return;
    }
    let sources = Sources::new([object]);
    for location in locations {
        if let Some(kernel) = object.kernels.iter().find(|k| k.name == location.kernel) {
            location.address = kernel.entry.wrapping_add_signed(location.offset);
        }
        let line = sources.line(&location.kernel, location.offset);
        location.source = line.map(str::to_owned);
    }
}
