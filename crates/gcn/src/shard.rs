//! Shards: a plan's workgroups in parts, each on its own machine, and the union of their changes (docs/clusters.md).
//!
//! A shard runs a range of each launch's workgroups under a probe, which records the reader and writer of each byte. The union is
//! therefore exact: bytes that only one shard accesses and writes are taken from that shard, commutative atomics are united by
//! their operator, and everything else is refused with its name.

mod code;
mod file;
mod observers;
mod unite;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use gcn_emu::dispatch::RunError;
use gcn_emu::dispatch::observers::Control;

use crate::engine::{Engines, Kind};
use crate::plan::{Failure, Options, Plan, Ready, located, run_one};
pub use file::{Group, Shard};
use observers::Tracker;
pub use unite::{Error, Merged, Race, merge};

/// One of several parts of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Its number, from 0.
    pub index: u64,
    /// The number of parts.
    pub count: u64,
}

impl Part {
    /// Reads `I/N`.
    ///
    /// # Errors
    /// A sentence with the expected form.
    pub fn parse(text: &str) -> Result<Part, String> {
        let expected = || "expected I/N with 0 ≤ I < N ≤ 1048576, as 0/4".to_string();
        let (index, count) = text.split_once('/').ok_or_else(expected)?;
        let part = Part {
            index: index.trim().parse().map_err(|_| expected())?,
            count: count.trim().parse().map_err(|_| expected())?,
        };
        match part.index < part.count && part.count <= 1 << 20 {
            true => Ok(part),
            false => Err(expected()),
        }
    }

    /// The numbers of its workgroups.
    fn of(self, workgroups: u64) -> Range<u64> {
        let at = |n: u64| (u128::from(workgroups) * u128::from(n) / u128::from(self.count)) as u64;
        at(self.index)..at(self.index + 1)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// The reason why a plan cannot be sharded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// An atomic returns the old value to registers.
    ReturnedAtomic,
    /// Sums of floats, which depend on their order.
    FloatAtomic,
    /// Atomics whose result depends on their order: compare-and-swap, increments with a limit, and others.
    OrderedAtomic,
    /// Global wave sync.
    Gws,
    /// Ordered append.
    OrderedAppend,
    /// The global data share.
    Gds,
    /// The kernel prints, allocates memory, or makes other calls to the host.
    Host,
    /// Workgroups wait for other workgroups.
    Waits,
    /// A workgroup reads a value that a workgroup of another shard writes.
    Reads,
}

impl Refusal {
    /// Its name in messages and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Refusal::ReturnedAtomic => "returned-atomic",
            Refusal::FloatAtomic => "float-atomic",
            Refusal::OrderedAtomic => "ordered-atomic",
            Refusal::Gws => "gws",
            Refusal::OrderedAppend => "ordered-append",
            Refusal::Gds => "gds",
            Refusal::Host => "host",
            Refusal::Waits => "waits",
            Refusal::Reads => "reads",
        }
    }

    /// Describes what the plan does.
    pub const fn why(self) -> &'static str {
        match self {
            Refusal::ReturnedAtomic => {
                "an atomic returns the old value, which depends on the workgroups of other shards"
            }
            Refusal::FloatAtomic => "the result of float atomics depends on their order",
            Refusal::OrderedAtomic => {
                "the result of this atomic depends on the order of workgroups"
            }
            Refusal::Gws => "global wave sync connects all workgroups",
            Refusal::OrderedAppend => "ordered append connects all workgroups",
            Refusal::Gds => "the global data share connects all workgroups",
            Refusal::Host => {
                "it stores to memory that is no buffer or variable of the plan: printf, malloc and other calls of the host"
            }
            Refusal::Waits => "workgroups wait for others, which may be in other shards",
            Refusal::Reads => "a workgroup reads what one of another shard writes",
        }
    }
}

/// A refusal as a message.
fn refused(refusal: Refusal, location: &str) -> Failure {
    Failure::from(format!(
        "the plan cannot be sharded ({}): {}\n  {location}",
        refusal.name(),
        refusal.why()
    ))
}

/// Runs a part of a plan with the interpreter. Nothing is checked or saved; the plan's buffers are set once, without repetitions.
///
/// # Errors
/// A plan that cannot be sharded, and the errors of [`crate::plan::run`].
pub fn run(plan: &Plan, options: &Options, part: Part) -> Result<Shard, Failure> {
    if plan.repeat > 0 {
        return Err("a plan with repetitions (`repeat`) cannot be sharded; set it to 0".into());
    }
    code::look(plan)?;
    let mut options = options.clone();
    options.engines = Engines::new(Kind::Interp);
    options.deterministic = true;
    let control = options.observers.control.get_or_insert_default().clone();
    let ready = Ready::new(plan, &options)?;
    ready.fill(true)?;
    let regions = regions(plan, &ready);
    let print = fingerprint(plan, &ready, &regions)?;
    let tracker = Arc::new(Tracker::new(&regions, control));
    let mut report = ready.report();
    for (n, launch) in ready.launches().iter().enumerate() {
        let groups = (0..3).map(|d| {
            let groups = plan.launches[n].grid[d].div_ceil(plan.launches[n].group[d].max(1));
            u64::from(groups)
        });
        let total = groups.fold(1, u64::saturating_mul);
        let range = part.of(total);
        for _ in 0..plan.launches[n].times {
            if range.is_empty() {
                report.launches[n].ms.push(0.0);
                continue;
            }
            tracker.begin(n as u32);
            let mut launch = launch.clone();
            launch.options().workgroups = Some(range.clone());
            launch.options().observers.observe = Some(tracker.clone());
            let ran = run_one(plan, n, &launch, &mut report);
            if let Some((refusal, location)) = tracker.refused() {
                return Err(refused(refusal, &located(&plan.launches[n].at, &location)));
            }
            ran.map_err(|failure| match failure.run.as_deref() {
                Some(RunError::Deadlock { .. } | RunError::Livelock { .. }) => Failure {
                    message: refused(Refusal::Waits, &failure.message).message,
                    run: failure.run,
                },
                _ => failure,
            })?;
        }
    }
    let changed = tracker.changed(&ready.gpu().machine().memory)?;
    Ok(Shard {
        part,
        print,
        instructions: report.instructions,
        waves: report.waves,
        ms: report.launches.into_iter().map(|l| l.ms).collect(),
        groups: changed.groups,
        regions: changed.regions,
    })
}

/// Memory that outlives a launch: a buffer, or a loaded object with its variables.
#[derive(Clone, Debug)]
struct Region {
    /// Its name in messages.
    name: String,
    address: u64,
    bytes: u64,
}

/// The regions of a plan, in the order of its buffers and objects. Buffers that are variables are in their object.
fn regions(plan: &Plan, ready: &Ready) -> Vec<Region> {
    let buffers = plan.buffers.iter().zip(ready.buffers());
    let own = buffers.filter(|(b, _)| b.variable.is_none());
    let mut regions: Vec<Region> = own
        .map(|(b, buffer)| Region {
            name: format!("buffer '{}'", b.name),
            address: buffer.address(),
            bytes: buffer.len() as u64,
        })
        .collect();
    let memory = &ready.gpu().machine().memory;
    for (n, program) in ready.programs().iter().enumerate() {
        let loaded = program.loaded();
        if let Some((address, bytes)) = memory.region_of(loaded.base) {
            regions.push(Region {
                name: format!("object {n}"),
                address,
                bytes,
            });
        }
    }
    regions
}

/// A hash of everything that the shards of a plan must share: the launches, and the contents of memory before the first one.
fn fingerprint(plan: &Plan, ready: &Ready, regions: &[Region]) -> Result<[u8; 32], Failure> {
    let mut hash = blake3::Hasher::new();
    hash.update(b"gcn shard 1");
    hash.update(ready.gpu().target().name().as_bytes());
    for launch in &plan.launches {
        let of = format!(
            "{} {:?} {:?} {:?} {:?} {} {:?} {}",
            launch.object,
            launch.kernel,
            launch.grid,
            launch.group,
            launch.offset,
            launch.dynamic_lds,
            launch.args,
            launch.times
        );
        hash.update(&(of.len() as u64).to_le_bytes());
        hash.update(of.as_bytes());
    }
    let memory = &ready.gpu().machine().memory;
    let mut piece = vec![0; 1 << 16];
    for region in regions {
        hash.update(&region.address.to_le_bytes());
        hash.update(&region.bytes.to_le_bytes());
        let mut at = 0;
        while at < region.bytes {
            let size = (region.bytes - at).min(piece.len() as u64) as usize;
            let read = memory.read(region.address + at, &mut piece[..size]);
            read.map_err(|e| e.to_string())?;
            hash.update(&piece[..size]);
            at += size as u64;
        }
    }
    Ok(*hash.finalize().as_bytes())
}

/// A control that was never stopped.
type Stop = Arc<Control>;
