//! Programs for the machine: the launch of each kernel, and the results that the host computes for it.
//!
//! The tests run them from committed objects; `cargo xtask kernels` compiles them in every way there is.
#![allow(missing_docs, dead_code)]

pub mod basic;
pub mod own;

use gcn_emu::dispatch::observers::Observers;
use gcn_emu::dispatch::{Gpu, Launch, Stats};
use gcn_emu::engine::Engine;
use gcn_emu::interp::Interp;
use gcn_emu::mem::Perm;
use gcn_isa::Target;
use gcn_object::read::CodeObject;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// All launches.
pub fn cases() -> Vec<Case> {
    let mut cases = basic::cases();
    cases.extend(own::cases());
    cases
}

/// Runs all committed objects whose target is one of these, on engines of `maker`, and returns the number of correct launches.
///
/// # Panics
/// If a launch is not correct.
#[allow(dead_code)]
pub fn run_objects(targets: &[&str], maker: impl Fn() -> Maker) -> usize {
    run_objects_on(&[1, 3], targets, maker)
}

/// The same with these numbers of host threads.
///
/// # Panics
/// As [`run_objects`].
pub fn run_objects_on(threads: &[usize], targets: &[&str], maker: impl Fn() -> Maker) -> usize {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/programs/objects");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let cases = cases();
    let (mut right, mut wrong) = (0, Vec::new());
    for file in files {
        // The name consists of the source, the target, the library, the version if it is not Mesa's, and the level.
        let name = file.file_stem().unwrap().to_str().unwrap().to_string();
        let parts: Vec<&str> = name.split('-').collect();
        let (source, target, library) = (parts[0], parts[1], parts[2]);
        if !targets.contains(&target) {
            continue;
        }
        let version = parts[3].strip_prefix('v').map_or(2, |v| v.parse().unwrap());
        let made = Made {
            target,
            library,
            version,
        };
        let object = CodeObject::parse(&std::fs::read(&file).unwrap()).unwrap();
        for case in cases
            .iter()
            .filter(|c| c.file == source && (c.needs)(&made))
        {
            for &threads in threads {
                match case.run_on(&object, threads, maker()) {
                    Ok(_) => right += 1,
                    Err(why) => {
                        wrong.push(format!("{name}, {threads} threads: {}: {why}", case.kernel))
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    right
}

/// An argument.
#[derive(Clone)]
pub enum Arg {
    /// A value's bytes.
    Value(Vec<u8>),
    /// A global buffer's first contents.
    Buffer(Vec<u8>),
    /// A local buffer of this number of bytes.
    Local(u32),
}

/// The results of a launch: the buffers by argument (empty for other arguments), and the text that the kernel printed.
pub struct Outcome {
    pub buffers: Vec<Vec<u8>>,
    pub text: String,
    pub stats: Stats,
}

type Check = Box<dyn Fn(&Outcome) -> Result<(), String> + Send + Sync>;

/// Makes the engines of a dispatch.
pub type Maker = Box<dyn Fn() -> Box<dyn Engine> + Send + Sync>;

/// The way in which an object was compiled.
pub struct Made<'a> {
    pub target: &'a str,
    /// `libclc`, `rocm` or `mesa`.
    pub library: &'a str,
    /// The code object version.
    pub version: u8,
}

/// One launch of a kernel, and its expected results.
pub struct Case {
    /// The source, without its extension.
    pub file: &'static str,
    pub kernel: &'static str,
    pub grid: [u32; 3],
    pub group: [u32; 3],
    pub offset: [u64; 3],
    /// A kernel of the same object that is launched first, with the same arguments.
    pub before: Option<&'static str>,
    pub args: Vec<Arg>,
    pub check: Check,
    /// Returns true if objects compiled this way can contain the kernel, and meet its assumptions.
    pub needs: fn(&Made<'_>) -> bool,
}

impl Case {
    pub fn new(
        file: &'static str,
        kernel: &'static str,
        (grid, group): ([u32; 3], [u32; 3]),
        args: Vec<Arg>,
        check: impl Fn(&Outcome) -> Result<(), String> + Send + Sync + 'static,
    ) -> Case {
        Case {
            file,
            kernel,
            grid,
            group,
            offset: [0; 3],
            before: None,
            args,
            check: Box::new(check),
            needs: |_| true,
        }
    }

    /// Runs the kernel of an object, and checks the results.
    ///
    /// # Errors
    /// A sentence that says what failed, or which result is wrong.
    pub fn run(&self, object: &CodeObject, threads: usize) -> Result<Outcome, String> {
        self.run_on(object, threads, Box::new(|| Box::new(Interp::new())))
    }

    /// As [`Case::run`] on another engine.
    ///
    /// # Errors
    /// As [`Case::run`].
    pub fn run_on(
        &self,
        object: &CodeObject,
        threads: usize,
        engine: Maker,
    ) -> Result<Outcome, String> {
        let outcome = self.launch(object, threads, engine, Observers::default())?;
        (self.check)(&outcome)?;
        Ok(outcome)
    }

    /// Runs on the interpreter, in one defined order, observed. The results are not compared.
    ///
    /// # Errors
    /// If it cannot be run.
    pub fn run_watched(
        &self,
        object: &CodeObject,
        observers: Observers,
    ) -> Result<Outcome, String> {
        self.launch(object, 1, Box::new(|| Box::new(Interp::new())), observers)
    }

    fn launch(
        &self,
        object: &CodeObject,
        threads: usize,
        engine: Maker,
        observers: Observers,
    ) -> Result<Outcome, String> {
        let target = Target::parse(object.target_name()).ok_or("no target of ours")?;
        let gpu = Gpu::with_engine(target, 1 << 30, engine).map_err(|e| e.to_string())?;
        let text = Text::default();
        gpu.set_output(text.clone());
        let loaded = gpu.load(object).map_err(|e| e.to_string())?;
        let kernel = loaded
            .kernel(self.kernel)
            .ok_or("the object has no such kernel")?;
        let fixed = kernel.descriptor.group_segment_fixed_size;
        let mut lds = fixed;
        let mut kernarg = Vec::new();
        let mut addresses = Vec::new();
        for (n, arg) in self.args.iter().enumerate() {
            let bytes = match arg {
                Arg::Value(bytes) => bytes.clone(),
                Arg::Buffer(bytes) => {
                    let at = gpu
                        .memory
                        .alloc(bytes.len() as u64, 256, Perm::RW)
                        .map_err(|e| e.to_string())?;
                    gpu.memory.write(at, bytes).map_err(|e| e.to_string())?;
                    addresses.push((n, at, bytes.len()));
                    at.to_le_bytes().to_vec()
                }
                Arg::Local(size) => {
                    lds = lds.next_multiple_of(16);
                    let at = lds;
                    lds += size;
                    at.to_le_bytes().to_vec()
                }
            };
            kernarg.resize(kernarg.len().next_multiple_of(bytes.len().clamp(1, 16)), 0);
            kernarg.extend(bytes);
        }
        let launch = Launch {
            grid: self.grid,
            group: self.group,
            offset: self.offset,
            kernarg,
            dynamic_lds: lds - fixed,
            max_instructions: Some(1 << 28),
            threads,
            deterministic: observers.observe.is_some(),
            observers,
            ..Launch::default()
        };
        if let Some(before) = self.before {
            gpu.dispatch(&loaded, before, &launch)
                .map_err(|e| e.to_string())?;
        }
        let stats = gpu
            .dispatch(&loaded, self.kernel, &launch)
            .map_err(|e| e.to_string())?;
        let mut buffers = vec![Vec::new(); self.args.len()];
        for (n, at, len) in addresses {
            buffers[n] = vec![0; len];
            gpu.memory
                .read(at, &mut buffers[n])
                .map_err(|e| e.to_string())?;
        }
        let text = text.0.lock().map_err(|e| e.to_string())?;
        Ok(Outcome {
            buffers,
            text: String::from_utf8_lossy(&text).into_owned(),
            stats,
        })
    }
}

/// Text that a kernel printed.
#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Ok(mut text) = self.0.lock() {
            text.extend(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Numbers that look random: xorshift.
pub struct Random(pub u32);

impl Random {
    pub fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }
}

pub fn random(count: usize, seed: u32) -> Vec<u32> {
    let mut random = Random(seed);
    (0..count).map(|_| random.next()).collect()
}

macro_rules! numbers {
    ($($name:ident $to:ident $value:ident $t:ty),*) => {$(
        pub fn $name(bytes: &[u8]) -> Vec<$t> {
            let size = size_of::<$t>();
            bytes.chunks_exact(size).map(|b| <$t>::from_le_bytes(b.try_into().unwrap())).collect()
        }
        pub fn $to(values: impl IntoIterator<Item = $t>) -> Arg {
            Arg::Buffer(values.into_iter().flat_map(|v| v.to_le_bytes()).collect())
        }
        pub fn $value(value: $t) -> Arg {
            Arg::Value(value.to_le_bytes().to_vec())
        }
    )*};
}
numbers!(
    u32s buf_u32 u32_arg u32,
    i32s buf_i32 i32_arg i32,
    u64s buf_u64 u64_arg u64,
    f32s buf_f32 f32_arg f32,
    f64s buf_f64 f64_arg f64,
    u16s buf_u16 u16_arg u16
);

/// A buffer of zeros.
pub fn zeros(bytes: usize) -> Arg {
    Arg::Buffer(vec![0; bytes])
}

/// Compares two sequences.
///
/// # Errors
/// A sentence that names the first difference.
pub fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    got: &[T],
    expected: &[T],
) -> Result<(), String> {
    if got.len() != expected.len() {
        return Err(format!(
            "{what}: {} elements, not {}",
            got.len(),
            expected.len()
        ));
    }
    let wrong = got.iter().zip(expected).filter(|(g, e)| g != e).count();
    match got.iter().zip(expected).position(|(g, e)| g != e) {
        None => Ok(()),
        Some(at) => Err(format!(
            "{what}[{at}] is {:?}, not {:?} ({wrong} of {} differ)",
            got[at],
            expected[at],
            got.len()
        )),
    }
}
