//! Observers of a running dispatch: observers of single instructions, counters of progress, services of the host.

use super::StuckWave;
use crate::engine::Stop;
use crate::mem::{Extent, Memory};
use crate::probe::{AccessRecorder, Probe};
use crate::wave::{Lds, WaveState};
use gcn_isa::decode::Insn;
use gcn_isa::target::Target;
use gcn_object::read::Kernel;
use std::fmt;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The observers of a dispatch. By default there are none, which costs nothing.
#[derive(Clone, Default)]
pub struct Observers {
    /// Observes every instruction. Waves then run one instruction at a time.
    pub observe: Option<Arc<dyn Observe>>,
    /// Counts while the dispatch runs.
    pub progress: Option<Arc<Progress>>,
    /// Serves requests of the waves.
    pub service: Option<Arc<dyn Service>>,
    /// Ends the dispatch, and asks for the locations of its waves.
    pub control: Option<Arc<Control>>,
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("observe", &self.observe.is_some())
            .field("progress", &self.progress)
            .field("service", &self.service.is_some())
            .field("control", &self.control)
            .finish()
    }
}

/// The progress of a dispatch.
#[derive(Debug, Default)]
pub struct Progress {
    /// Workgroups of all dispatches that have begun.
    pub workgroups: AtomicU64,
    /// Workgroups that have ended.
    pub ended: AtomicU64,
    /// Instructions executed.
    pub instructions: AtomicU64,
}

/// The locations of waves that have not ended: the first of them, and the number of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whereabouts {
    /// At most 16 of one host thread.
    pub waves: Vec<StuckWave>,
    /// The number of the others.
    pub others: usize,
}

/// Ends dispatches from outside, and asks for the locations of their waves. Host threads check it between time slices of
/// waves, many times a second.
#[derive(Debug, Default)]
pub struct Control {
    stop: Arc<AtomicBool>,
    asked: AtomicU64,
    answer: Mutex<Option<Whereabouts>>,
}

impl Control {
    /// A control that ends dispatches when `stop` is set, as a signal handler may do.
    pub fn new(stop: Arc<AtomicBool>) -> Control {
        Control {
            stop,
            ..Control::default()
        }
    }

    /// Ends the dispatches that use it, each with [`RunError::Interrupted`](super::RunError::Interrupted), now and from now on.
    pub fn stop(&self) {
        self.stop.store(true, SeqCst);
    }

    /// Requests the locations of the waves. [`Control::answer`] returns the answer soon, if anything is running.
    pub fn ask(&self) {
        self.asked.fetch_add(1, SeqCst);
    }

    /// The answer of the host thread that answered first since the last call.
    pub fn answer(&self) -> Option<Whereabouts> {
        self.lock().take()
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// The number of requests.
    pub(super) fn asked(&self) -> u64 {
        self.asked.load(Relaxed)
    }

    pub(super) fn tell(&self, answer: Whereabouts) {
        self.lock().get_or_insert(answer);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Whereabouts>> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A service of the host for waves that wait for it, such as the host calls of printf.
pub trait Service: Send + Sync {
    /// Looks for work and does it; returns true if there was some. Called by any of the dispatch's threads, between the
    /// time slices of waves and at the dispatch's end, possibly by several threads at once.
    fn poll(&self, memory: &Memory) -> bool;
}

/// Identifies a wave of a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Who {
    /// The workgroup's ID in each dimension.
    pub workgroup: [u32; 3],
    /// The workgroup's number in the order in which they start.
    pub number: u64,
    /// The wave's number in the workgroup.
    pub wave: usize,
}

/// The environment of an observed wave.
pub struct Scene<'a> {
    /// The chip.
    pub target: Target,
    /// The kernel that was launched.
    pub kernel: &'a Kernel,
    /// The offset added to the addresses of the kernel's file.
    pub base: u64,
    /// The registers.
    pub wave: &'a WaveState,
    /// The workgroup's LDS.
    pub lds: &'a Lds,
    /// Guest memory.
    pub memory: &'a Memory,
}

impl Scene<'_> {
    /// The instruction at the wave's PC. Returns `None` if there is none.
    pub fn insn(&self) -> Option<Insn> {
        self.insn_at(self.wave.pc)
    }

    /// The instruction at an address. Returns `None` if there is none.
    pub fn insn_at(&self, pc: u64) -> Option<Insn> {
        super::stuck::fetch(self.memory, self.target, pc)
    }
}

/// Creates observers.
pub trait Observe: Send + Sync {
    /// Creates the observer for one host thread of a dispatch.
    fn observer(&self) -> Box<dyn Observer>;

    /// Returns true if its observers have probes: the interpreter then runs the dispatch.
    fn probes(&self) -> bool {
        false
    }

    /// Returns true if its observers must see one defined order: the dispatch then runs on one thread, independently of the
    /// launch.
    fn ordered(&self) -> bool {
        false
    }

    /// Called before the first wave begins. If it returns a value, the dispatch first runs without an observer, with any engine
    /// and on as many threads as the launch says. That run may access only the returned extents and the LDS that it asks for
    /// ([`Memory::begin_transaction`]). If the run keeps to them, has no suspicious recorded access and ends without an error,
    /// [`Observe::passed`] is called. Otherwise it is rolled back, and the dispatch runs again with observers.
    fn screen(&self, _about: &About<'_>) -> Option<Screened> {
        None
    }

    /// Returns true if [`Observe::screen`] is to be called for dispatches beside a program that stores to the same memory
    /// ([`super::Launch::outside_stores`]). Nothing is mapped or unmapped during the call, and no other dispatch runs. The
    /// returned extents must not permit stores to memory that the program may load or store meanwhile.
    fn screens_beside_program(&self) -> bool {
        false
    }

    /// Called after the dispatch has run without an observer.
    fn passed(&self) {}
}

/// A dispatch that first runs without an observer.
pub struct Screened {
    /// The bytes that the dispatch may access.
    pub extents: Vec<Extent>,
    /// Makes the recorder of a host thread, if accesses must be recorded.
    pub recorder: Option<RecorderMaker>,
    /// Called when the run has passed.
    pub passed: Option<Passed>,
    /// Called after the run was rolled back. Returns another run to try, or `None` if the dispatch must be observed.
    pub again: Option<Again>,
}

/// Called when a run has passed.
pub type Passed = Box<dyn FnOnce()>;

/// Returns another run without an observer, if there is one to try.
pub type Again = Box<dyn FnOnce() -> Option<Screened>>;

/// Makes the recorder of a host thread.
pub type RecorderMaker = Arc<dyn Fn() -> Box<dyn AccessRecorder> + Send + Sync>;

/// Memory that kernels allocate and free while they run, by host calls.
pub trait KernelHeap: Send + Sync {
    /// A number that changes whenever something is allocated or freed.
    fn version(&self) -> u64;

    /// The address of the first byte that can be allocated.
    fn start(&self) -> u64;

    /// The allocated blocks, and the freed ones that were not allocated again, in any order.
    fn blocks(&self) -> Vec<Block>;
}

/// A block of memory that a kernel allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The address of its first byte.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
    /// The block was freed.
    pub freed: bool,
}

/// A dispatch that begins.
pub struct About<'a> {
    /// The chip.
    pub target: Target,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// The offset added to the addresses of the kernel's file.
    pub base: u64,
    /// Guest memory.
    pub memory: &'a Memory,
    /// Work-items in each dimension.
    pub grid: [u32; 3],
    /// Work-items of a workgroup in each dimension.
    pub group: [u32; 3],
    /// The address of the arguments of the first resident workgroup.
    pub kernarg: u64,
    /// The address of the dispatch packet.
    pub packet: u64,
    /// The address of the queue.
    pub queue: u64,
    /// The address of scratch, and its bytes per lane and per wave.
    pub scratch: (u64, u32, u64),
    /// Bytes of LDS that the kernel and the launch ask for.
    pub lds: u32,
    /// The memory that kernels allocate, if this kernel may allocate any.
    pub heap: Option<Arc<dyn KernelHeap>>,
}

/// Observes the instructions that one host thread runs. It is dropped when the dispatch ends.
pub trait Observer {
    /// Called before the instruction at the wave's PC runs.
    fn before(&mut self, who: Who, scene: &Scene<'_>);

    /// Called after it has run. `stop` is [`Stop::Limit`] if the wave simply continues.
    fn after(&mut self, who: Who, scene: &Scene<'_>, stop: &Stop);

    /// Called before the first wave begins.
    fn begin(&mut self, _about: &About<'_>) {}

    /// Sees the values and accesses of instructions, if [`Observe::probes`] says so.
    fn probe(&self) -> Option<&dyn Probe> {
        None
    }
}
