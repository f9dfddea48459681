//! Screening: decides whether a dispatch may first run without an observer.
//!
//! Most checks depend on the path of a wave and not on values, so the code itself may prove that no path fails them. A transaction checks
//! bounds ([`gcn_emu::mem::Memory::begin_transaction`]). If no other check is wanted, the dispatch runs on any engine. Races and reads of
//! memory that nothing wrote depend on values; for these, compiled code reports each access to [`super::recorder`]. A dispatch that may have
//! failed a check is rolled back and runs again under the observer.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use gcn_emu::dispatch::observers::{About, Again, Passed, RecorderMaker, Screened};
use gcn_emu::mem::{Extent, Memory, PAGE_SIZE, Perm};
use gcn_isa::access::{MemoryKind, MemorySpace};
use gcn_isa::meaning::{Op, Signal, meaning};

use super::bounds::{Allocator, Bounds, Own, of_heap};
use super::path::table;
use super::recorder::{Recorder, Shared, Wanted};
use super::undefined::Fresh;
use super::{Allocation, Options};
use crate::code::{Graph, Region, Site};
use crate::hazards::{self, Settings};
use crate::proof;
use crate::report::{Check, Finding, Severity};
use crate::statically;
use crate::waitcnt::{self, Entry};

/// The maximum number of bytes of code that is analyzed.
const MOST_CODE: usize = 1 << 24;

/// The facts that were proved for a kernel.
#[derive(Clone, Debug, Default)]
pub struct Proved {
    /// The checks that no path can fail.
    checks: BTreeSet<Check>,
    /// The checks that no path can fail unless the recorder finds something.
    if_recorded: BTreeSet<Check>,
    /// True if no access is to an image, so that the recorder may check all accesses.
    all_recorded: bool,
    /// True if all paths are known, and no instruction waits for other waves in a way that cannot be rolled back.
    all_paths_known: bool,
}

/// The facts that were proved for kernels, by the addresses of code object and entry. They hold for one version of all code.
#[derive(Default)]
pub struct ProvedKernels {
    code: u64,
    of: HashMap<(u64, u64), Proved>,
}

impl ProvedKernels {
    /// Returns the facts that are proved for a dispatch's kernel.
    fn of(&mut self, options: &Options, about: &About<'_>) -> Proved {
        // New code may have been loaded at the addresses of old code.
        let code = about.memory.code_version();
        if self.code != code {
            self.of.clear();
            self.code = code;
        }
        let key = (about.base, about.kernel.entry);
        let proved = self
            .of
            .entry(key)
            .or_insert_with(|| on_all_paths(options, about));
        proved.clone()
    }
}

/// A program beside which dispatches run.
pub struct Beside<'a> {
    /// The program's allocator.
    pub allocator: &'a dyn Allocator,
    /// The memory that nothing has written.
    pub fresh: Option<&'a Arc<Fresh>>,
}

/// Returns the run without an observer that a dispatch begins with, or `None` if the wanted checks need the observer.
pub fn screen(
    options: &Options,
    about: &About<'_>,
    named: &[Allocation],
    beside: Option<&Beside<'_>>,
    proved: &mut ProvedKernels,
) -> Option<Screened> {
    if options.metrics {
        return None;
    }
    let known = proved.of(options, about);
    let fresh = beside.and_then(|b| b.fresh);
    let fresh = fresh.filter(|_| options.checks.contains(&Check::Uninit));
    let undefined = fresh.filter(|fresh| !fresh.is_empty());
    if undefined.is_some() && !known.all_recorded || beside.is_some() && !known.all_paths_known {
        return None;
    }
    // The transaction checks bounds.
    let proves =
        |c: &Check| known.checks.contains(c) && (*c != Check::Uninit || undefined.is_none());
    let left: BTreeSet<Check> = (options.checks.iter().copied())
        .filter(|c| *c != Check::Oob && !proves(c))
        .collect();
    if !left.is_subset(&known.if_recorded) {
        return None;
    }
    let heap = about.heap.iter().flat_map(|heap| of_heap(heap.as_ref()));
    let named: Vec<Allocation> = named.iter().cloned().chain(heap).collect();
    let bounds = Bounds::new(Own::new(about), about.memory, &named);
    let extents = bounds.of_transaction(beside.map(|b| b.allocator))?;
    let recorder = (!left.is_empty()).then(|| {
        let wanted = Wanted {
            races: left.contains(&Check::Race) || left.contains(&Check::Coherence),
            undefined: left.contains(&Check::Uninit),
            barriers: left.contains(&Check::Barrier),
        };
        Shared::new(bounds.classes(), about.lds, wanted, undefined.cloned())
    });
    Some(screened(extents, recorder, fresh.cloned()))
}

/// Returns a run without an observer. If it misses accesses that it should have recorded, a second run follows.
fn screened(
    extents: Vec<Extent>,
    shared: Option<Arc<Shared>>,
    fresh: Option<Arc<Fresh>>,
) -> Screened {
    let Some(shared) = shared else {
        return Screened {
            extents,
            recorder: None,
            passed: None,
            again: None,
        };
    };
    let (own, bytes) = (shared.clone(), extents.clone());
    let make: RecorderMaker = Arc::new(move || Box::new(Recorder::new(own.clone())));
    let (written, defines) = (shared.clone(), fresh.clone());
    let again: Again = Box::new(move || Some(screened(bytes, Some(shared.again()?), fresh)));
    // A run that passes defines the memory that it has written.
    let passed =
        defines.map(|fresh| -> Passed { Box::new(move || fresh.define(written.written())) });
    Screened {
        extents,
        recorder: Some(make),
        passed,
        again: Some(again),
    }
}

/// Proves facts about all paths through a kernel.
fn on_all_paths(options: &Options, about: &About<'_>) -> Proved {
    let mut proved = Proved::default();
    let entry = about.base.wrapping_add(about.kernel.entry);
    let Some((address, bytes)) = code(about.memory, entry) else {
        return proved;
    };
    let region = Region {
        address,
        bytes: &bytes,
    };
    let Some(graph) = Graph::new(table(about.target), region, entry) else {
        return proved;
    };
    // Every path must be known, and no instruction may wait for other waves in a way that cannot be rolled back.
    let is_known = |site: &Site| {
        let nodes = &meaning(site.insn.row, about.target).nodes;
        let syncs = |op: Op| matches!(op, Op::Gws(_) | Op::Turn);
        !site.calls && !site.leaves && !nodes.iter().any(|n| syncs(n.op))
    };
    let complete = graph.invalid.is_empty() && graph.callees.is_empty();
    if !complete || !graph.sites.iter().all(is_known) {
        return proved;
    }
    proved.all_paths_known = true;
    let wants = |check: Check| options.checks.contains(&check);
    let silent = |findings: Vec<Finding>| {
        !(findings.iter()).any(|f| options.notes || f.severity == Severity::Error)
    };
    if wants(Check::Waitcnt) && silent(waitcnt::check(&graph, Entry::Kernel)) {
        proved.checks.insert(Check::Waitcnt);
    }
    let sgprs = about.kernel.descriptor.granulated_wavefront_sgpr_count();
    let settings = Settings {
        xnack: false,
        vcc_alias: statically::vcc_alias(about.target, sgprs),
    };
    if wants(Check::Hazard) && silent(hazards::check(&graph, settings)) {
        proved.checks.insert(Check::Hazard);
    }
    let all = || 0..graph.sites.len();
    let barriers = all().any(|at| graph.signals(at, Signal::Barrier));
    let registers = match wants(Check::Uninit) || wants(Check::Barrier) && barriers {
        true => proof::prove(&graph, &about.kernel.descriptor),
        false => proof::Proved::default(),
    };
    if !barriers {
        proved.checks.insert(Check::Barrier);
    } else if registers.whole_at_barriers && !options.notes {
        // The recorder finds waves that end before barriers. Waves at different barriers are only a note, which is not wanted.
        proved.if_recorded.insert(Check::Barrier);
    }
    // LDS and scratch are undefined at the start of a wave, and FLAT instructions may read either.
    let may_read_undefined = |at: usize| {
        let memory = graph.info(at).memory(&graph.sites[at].insn);
        matches!(memory, Some(m) if m.kind != MemoryKind::Store
            && matches!(m.space, MemorySpace::Lds | MemorySpace::Flat | MemorySpace::Scratch))
    };
    if registers.defined {
        proved.if_recorded.insert(Check::Uninit);
        if about.scratch.0 == 0 && !all().any(may_read_undefined) {
            proved.checks.insert(Check::Uninit);
        }
    }
    // Only the observer checks accesses to images.
    let is_recorded = |at: usize| {
        let memory = graph.info(at).memory(&graph.sites[at].insn);
        memory.is_none_or(|m| m.space != MemorySpace::Image)
    };
    proved.all_recorded = all().all(is_recorded);
    if proved.all_recorded {
        proved.if_recorded.extend([Check::Race, Check::Coherence]);
    }
    proved
}

/// Returns the address and contents of the consecutive executable pages that begin with the page of an address.
fn code(memory: &Memory, at: u64) -> Option<(u64, Vec<u8>)> {
    let first = at - at % PAGE_SIZE;
    let mut end = first;
    while memory.perm(end).is_some_and(|p| p.contains(Perm::EXEC)) {
        end += PAGE_SIZE;
        if (end - first) as usize > MOST_CODE {
            return None;
        }
    }
    let mut bytes = vec![0; (end - first) as usize];
    memory.read(first, &mut bytes).ok()?;
    Some((first, bytes))
}
