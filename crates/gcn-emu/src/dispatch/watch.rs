//! Who looks on while a dispatch runs: observers of single instructions, a counter of progress, services of the host.

use super::StuckWave;
use crate::engine::Stop;
use crate::mem::Memory;
use crate::wave::{Lds, WaveState};
use gcn_isa::decode::Insn;
use gcn_isa::target::Target;
use gcn_object::read::Kernel;
use std::fmt;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Who looks on. By default nobody, which costs nothing.
#[derive(Clone, Default)]
pub struct Watch {
    /// Sees every instruction. Waves then run one instruction at a time.
    pub observe: Option<Arc<dyn Observe>>,
    /// Counts while the dispatch runs.
    pub progress: Option<Arc<Progress>>,
    /// Works for the waves.
    pub service: Option<Arc<dyn Service>>,
    /// Ends the dispatch, and asks where its waves are.
    pub control: Option<Arc<Control>>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("observe", &self.observe.is_some())
            .field("progress", &self.progress)
            .field("service", &self.service.is_some())
            .field("control", &self.control)
            .finish()
    }
}

/// How far a dispatch is.
#[derive(Debug, Default)]
pub struct Progress {
    /// Workgroups of all dispatches that have begun.
    pub workgroups: AtomicU64,
    /// Workgroups that have ended.
    pub ended: AtomicU64,
    /// Instructions executed.
    pub instructions: AtomicU64,
}

/// Where waves are that have not ended: the first of them, and how many there are more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Whereabouts {
    /// At most 16 of one host thread.
    pub waves: Vec<StuckWave>,
    /// How many more.
    pub others: usize,
}

/// Ends dispatches from outside, and asks them where their waves are. Host threads look at it between turns of waves, many
/// times a second.
#[derive(Debug, Default)]
pub struct Control {
    stop: Arc<AtomicBool>,
    asked: AtomicU64,
    answer: Mutex<Option<Whereabouts>>,
}

impl Control {
    /// One that ends dispatches when `stop` is set, as a signal's handler may do.
    pub fn new(stop: Arc<AtomicBool>) -> Control {
        Control {
            stop,
            ..Control::default()
        }
    }

    /// Ends the dispatches that have it, each with [`RunError::Interrupted`](super::RunError::Interrupted), now and from now on.
    pub fn stop(&self) {
        self.stop.store(true, SeqCst);
    }

    /// Asks where waves are. [`Control::answer`] gives the answer soon, if something runs.
    pub fn ask(&self) {
        self.asked.fetch_add(1, SeqCst);
    }

    /// The answer of the host thread that has looked first since the last call.
    pub fn answer(&self) -> Option<Whereabouts> {
        self.lock().take()
    }

    pub(super) fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// How often it was asked.
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

/// What the host does for waves that wait for it, as the host calls of printf.
pub trait Service: Send + Sync {
    /// Looks for work and does it; says whether there was some. Called by any of the dispatch's threads, between the
    /// turns of waves and at the dispatch's end, one call at a time or several.
    fn poll(&self, memory: &Memory) -> bool;
}

/// Which wave of a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Who {
    /// The workgroup's numbers.
    pub workgroup: [u32; 3],
    /// The workgroup's number in the order they start.
    pub number: u64,
    /// The wave's number in the workgroup.
    pub wave: usize,
}

/// What surrounds an observed wave.
pub struct Scene<'a> {
    /// The chip.
    pub target: Target,
    /// The kernel that was launched.
    pub kernel: &'a Kernel,
    /// What was added to the addresses of the kernel's file.
    pub base: u64,
    /// The registers.
    pub wave: &'a WaveState,
    /// The workgroup's LDS.
    pub lds: &'a Lds,
    /// Guest memory.
    pub memory: &'a Memory,
}

impl Scene<'_> {
    /// The instruction at the wave's PC, if there is one.
    pub fn insn(&self) -> Option<Insn> {
        super::stuck::fetch(self.memory, self.target, self.wave.pc)
    }
}

/// Makes observers.
pub trait Observe: Send + Sync {
    /// One for each host thread of a dispatch.
    fn observer(&self) -> Box<dyn Observer>;
}

/// Sees the instructions that one host thread runs. It is dropped when the dispatch ends.
pub trait Observer {
    /// An instruction is about to run, at the wave's PC.
    fn before(&mut self, who: Who, scene: &Scene<'_>);

    /// It has run. `stop` is [`Stop::Limit`] where the wave simply goes on.
    fn after(&mut self, who: Who, scene: &Scene<'_>, stop: &Stop);
}
