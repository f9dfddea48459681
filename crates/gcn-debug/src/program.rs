//! The launches of a running program, one after the other, as the program makes them.
//!
//! The program waits while its launch is stopped. The past of a launch ends with the launch: later actions of the program cannot
//! be undone.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gcn_emu::dispatch::step::Stepper;
use gcn_emu::dispatch::{RunError, Stats};
use gcn_emu::mem::Memory;
use gcn_object::metadata::ValueKind;
use gcn_object::read::{CodeObject, Kernel};

use crate::stops::Report;

/// A launch of a program.
pub struct ProgramLaunch {
    /// Its number, from 1.
    pub number: usize,
    /// The dispatch, before its first instruction.
    pub stepper: Stepper,
    /// Work-items in each dimension.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in each dimension.
    pub group: [u32; 3],
    /// Reports of a run of the launch that was rolled back. The session stops at them.
    pub reports: Vec<Report>,
}

/// The next event of a program.
pub enum Arrival {
    /// A launch.
    Launch(Box<ProgramLaunch>),
    /// The user interrupted the wait.
    Interrupted,
    /// The program has ended.
    Ended,
}

/// A running program.
pub trait Program: Send {
    /// Waits for the next launch.
    fn next(&mut self, interrupt: &AtomicBool) -> Arrival;

    /// Tells the program that a launch has ended or failed. The program continues.
    fn release(&mut self, result: Result<Stats, RunError>);

    /// The loaded code: the difference between addresses in memory and in the file, and the file.
    fn objects(&self) -> Vec<(u64, Arc<[u8]>)>;
}

/// A program that a session is attached to.
pub(crate) struct Attached {
    pub(crate) program: Box<dyn Program>,
    /// Work-items of the current launch, and of its workgroups.
    pub(crate) grid: [u32; 3],
    pub(crate) group: [u32; 3],
    /// The current launch has ended, and the program has been told.
    pub(crate) released: bool,
    /// The program has ended.
    pub(crate) ended: bool,
    /// Called before the program continues.
    pub(crate) goes_on: Option<Box<dyn FnMut() + Send>>,
    /// The code.
    pub(crate) objects: Vec<Image>,
}

/// Code that is loaded.
pub(crate) struct Image {
    /// The difference between addresses in memory and in the file.
    pub(crate) base: u64,
    file: Arc<[u8]>,
    pub(crate) object: CodeObject,
}

impl Attached {
    pub(crate) fn new(program: Box<dyn Program>) -> Attached {
        Attached {
            program,
            grid: [1; 3],
            group: [1; 3],
            released: false,
            ended: false,
            goes_on: None,
            objects: Vec::new(),
        }
    }

    /// Reads the code that is loaded now. Returns true if it differs from before.
    pub(crate) fn look_at_code(&mut self) -> bool {
        let files = self.program.objects();
        let known = |(base, file): &(u64, Arc<[u8]>)| {
            let is_it =
                |o: &Image| o.base == *base && (Arc::ptr_eq(&o.file, file) || o.file == *file);
            self.objects.iter().any(is_it)
        };
        if files.len() == self.objects.len() && files.iter().all(known) {
            return false;
        }
        let parsed = files.into_iter().filter_map(|(base, file)| {
            let object = CodeObject::parse(&file).ok()?;
            Some(Image { base, file, object })
        });
        self.objects = parsed.collect();
        self.objects.sort_by_key(|o| o.base);
        true
    }

    /// The object whose code holds a guest address.
    pub(crate) fn object(&self, pc: u64) -> Option<&CodeObject> {
        let holds = |o: &&Image| {
            let at = pc.wrapping_sub(o.base);
            let mut segments = o.object.segments.iter();
            segments.any(|s| s.executable && (s.address..s.address + s.size).contains(&at))
        };
        self.objects.iter().find(holds).map(|o| &o.object)
    }
}

/// The arguments of a kernel that are addresses: name, address and the number of bytes from there to the end of the allocation.
pub(crate) fn buffers(kernel: &Kernel, kernarg: u64, memory: &Memory) -> Vec<Buffer> {
    let Some(metadata) = &kernel.metadata else {
        return Vec::new();
    };
    let visible = metadata
        .args
        .iter()
        .filter(|a| !a.value_kind_name.starts_with("hidden_"));
    let found = visible.enumerate().filter_map(|(n, arg)| {
        if arg.value_kind != ValueKind::GlobalBuffer {
            return None;
        }
        let address = memory.load_u64(kernarg + arg.offset).ok()?;
        let (start, bytes) = memory.region_of(address)?;
        Some(Buffer {
            argument: n,
            name: arg.name.clone(),
            address,
            bytes: (start + bytes).saturating_sub(address) as usize,
        })
    });
    found.collect()
}

/// An argument that is an address.
pub(crate) struct Buffer {
    pub(crate) argument: usize,
    pub(crate) name: Option<String>,
    pub(crate) address: u64,
    pub(crate) bytes: usize,
}
