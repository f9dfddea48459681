//! Compiled code that outlives dispatches and is shared by host threads.

pub(crate) mod saved;
mod saved_grid;

use crate::context::LiveIns;
use crate::context::Tally;
use crate::hash::Map;
use crate::ir::affine::{Suspect, Trust};
use crate::ir::fast_path::Call;
use crate::ir::region::{Block, Region};
use crate::passes::optional::{LeftOut, Optional};
use crate::runtime::disk::Store;
use crate::runtime::engine::{Jit, JitStats};
use crate::runtime::grid::GridHistory;
use crate::runtime::lane_loops::SharedChoices;
use crate::runtime::profile::{Piece, RegionCode, Report};
use crate::target::Level;
use crate::target::x64::SLICES;
use crate::target::x64::grid::GridCode;
use gcn_emu::engine::{Code, Engine, EntryVgprs, Machine, Stop};
use gcn_emu::group::{Group, GroupStop, Groups};
use gcn_emu::wave::WaveState;
use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A block: its address, the address after it, the offset of its code, its number of instructions.
pub type BlockEntry = (u64, u64, usize, u32);

/// What compiled code depends on besides the code's bytes: its address, MODE, the number of VGPRs, and for starting waves
/// the pattern of their first VGPRs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    pub pc: u64,
    pub mode: u32,
    pub vgprs: u16,
    pub entry: Option<EntryVgprs>,
    /// How much less the code assumes than it could ([`Library::caution`]).
    pub caution: u8,
    /// The number of slices of 16 lanes in which lanes may be active.
    pub slices: u8,
}

impl Key {
    /// The key of code that waves enter from anywhere.
    pub fn plain(pc: u64, mode: u32, vgprs: u16) -> Key {
        Key {
            pc,
            mode,
            vgprs,
            entry: None,
            caution: 0,
            slices: SLICES,
        }
    }

    /// The key of the same code that assumes all it can: with it, waves look up where they start.
    pub fn without_caution(self) -> Key {
        Key { caution: 0, ..self }
    }
}

/// What code does not assume, because it often does not hold.
#[derive(Clone, Default)]
pub(crate) struct Caution {
    /// Guesses of scalars' values were wrong.
    pub guesses_fail: bool,
    /// Blocks whose guards failed, by address.
    pub distrusted: BTreeMap<u64, Trust>,
}

/// The maximum of [`Key::caution`].
const MOST_CAUTIOUS: usize = 4;

pub(crate) type Table<V> = Map<Key, V>;

/// A compiled region.
pub(crate) struct Compiled {
    pub code: memmap2::Mmap,
    /// The blocks, with the offsets of their code for waves that enter from outside.
    pub blocks: Vec<BlockEntry>,
    /// The blocks that begin with another MODE than the key's, by address.
    modes: Vec<(u64, u32)>,
    /// The offset of each block's code for waves that stay in the region, by address.
    inside: Vec<(u64, u32)>,
    /// The offset where waves start.
    pub first: u32,
    /// The registers that a wave must have when it starts.
    pub live_ins: LiveIns,
    /// The offset where waves of a batch start.
    pub batch: Option<u32>,
    /// The entry for waves whose addresses were evaluated for the dispatch.
    pub grid: Option<GridCode>,
    /// The region contains barriers.
    pub waits: bool,
    /// For each block, by its address, the VGPRs that must be affine in each 16 lanes, with their steps.
    steps: Vec<(u64, Vec<(u16, i32)>)>,
    /// The GCN code that the region was compiled from.
    words: Vec<(u64, u32)>,
    /// The key that it was compiled for.
    pub key: Key,
    /// The slow paths that the code calls by number.
    pub calls: Vec<Arc<Call>>,
    /// Its blocks are re-executed if they encounter NaNs.
    pub checks: bool,
    /// What blocks should no longer assume if they are left because an assumption does not hold, by address.
    pub suspects: Vec<(u64, Suspect)>,
    /// The offset at which the code ends and constants begin.
    end: usize,
    /// The region is for memory with host addresses.
    aliased: bool,
    /// The total memory that the region takes, in bytes.
    bytes: usize,
}

impl Compiled {
    /// Creates a region from its code. `None` if the host has no memory for it.
    pub fn new(
        key: Key,
        region: &Region,
        emitted: crate::target::x64::Emitted,
        live_ins: LiveIns,
        exact: bool,
        machine: &Machine<'_>,
    ) -> Option<Compiled> {
        let code = executable(&emitted.code)?;
        let locations = || region.blocks.iter().zip(&emitted.outside);
        let blocks: Vec<BlockEntry> = locations()
            .map(|(c, &at)| (c.start, c.end, at, c.insns))
            .collect();
        let other_modes = region.blocks.iter().filter(|c| c.mode != key.mode);
        let mut modes: Vec<_> = other_modes.map(|c| (c.start, c.mode)).collect();
        modes.sort_unstable();
        let starts = region.blocks.iter().zip(&emitted.starts);
        let mut inside: Vec<_> = starts.map(|(c, &at)| (c.start, at as u32)).collect();
        inside.sort_unstable();
        let state = |c: &Block| -> Vec<(u16, i32)> {
            let state = c.affine.state.iter();
            state.map(|(&v, &step)| (v, step)).collect()
        };
        let mut steps: Vec<_> = region.blocks.iter().map(|c| (c.start, state(c))).collect();
        steps.sort_unstable();
        // Only code in guest memory may change before a later dispatch.
        let mut words = Vec::new();
        if let Code::Memory = machine.code {
            for &(start, end, ..) in &blocks {
                for at in (start..end).step_by(4) {
                    words.push((at, machine.memory.fetch_u32(at).unwrap_or(0)));
                }
            }
        }
        let mut made = Compiled {
            code,
            blocks,
            modes,
            inside,
            first: 0,
            live_ins,
            batch: emitted.batch.map(|at| at as u32),
            grid: emitted.grid,
            waits: region.has_barrier(),
            steps,
            words,
            key,
            calls: emitted.calls,
            checks: emitted.checks && !exact,
            suspects: region.suspects(),
            end: emitted.end,
            aliased: machine.memory.is_of_host(),
            bytes: 0,
        };
        made.bytes = made.size();
        made.first = made.inside(key.pc)?;
        Some(made)
    }

    /// Returns the memory that the region takes, in bytes.
    fn size(&self) -> usize {
        // Code has its own pages. The steps to evaluate are the largest part of a call.
        let state: usize = self.steps.iter().map(|(_, s)| 16 + 8 * s.len()).sum();
        let steps = self.grid.as_ref().map_or(0, |g| g.program.steps.len());
        self.code.len().next_multiple_of(4096)
            + steps * size_of::<crate::ir::grid::Step>()
            + self.blocks.len() * (size_of::<BlockEntry>() + size_of::<(u64, u32)>())
            + self.words.len() * size_of::<(u64, u32)>()
            + self.calls.len() * 1024
            + state
    }

    /// Returns MODE at the start of the block at an address.
    pub fn mode(&self, pc: u64) -> u32 {
        match self.modes.binary_search_by_key(&pc, |m| m.0) {
            Ok(found) => self.modes[found].1,
            Err(_) => self.key.mode,
        }
    }

    /// Returns the number of 64-byte lines per wave of a batch: the initial registers, and the grid variant's table.
    pub fn start_lines(&self) -> usize {
        self.live_ins.lines() + self.grid.as_ref().map_or(0, GridCode::lines)
    }

    /// Returns the offset of the code of the block at an address for a wave that stays in the region.
    pub fn inside(&self, pc: u64) -> Option<u32> {
        let found = self.inside.binary_search_by_key(&pc, |c| c.0).ok()?;
        Some(self.inside[found].1)
    }

    /// Returns the region for reports.
    pub fn look(&self, tallies: &[Tally]) -> RegionCode {
        let mut pieces: Vec<Piece> = Vec::with_capacity(self.blocks.len());
        for (n, &(start, end, at, instructions)) in self.blocks.iter().enumerate() {
            pieces.push(Piece {
                start,
                end,
                instructions,
                code: at..self.end,
                tally: tallies.get(n).copied().unwrap_or_default(),
            });
        }
        pieces.sort_by_key(|p| p.code.start);
        for n in 1..pieces.len() {
            pieces[n - 1].code.end = pieces[n].code.start;
        }
        RegionCode {
            mode: self.key.mode,
            vgprs: self.key.vgprs,
            code: self.code.to_vec(),
            pieces,
        }
    }

    /// Returns the VGPRs that must be affine at the start of the block at an address.
    pub fn steps(&self, pc: u64) -> Option<&[(u16, i32)]> {
        let found = self.steps.binary_search_by_key(&pc, |c| c.0).ok()?;
        Some(&self.steps[found].1)
    }

    /// Returns true if memory still holds the code that it was compiled from.
    pub fn fresh(&self, machine: &Machine<'_>) -> bool {
        let same = |&(at, word): &(u64, u32)| machine.memory.fetch_u32(at) == Ok(word);
        self.aliased == machine.memory.is_of_host() && self.words.iter().all(same)
    }
}

/// Copies code to its own executable pages. `None` if the host has no memory for it.
pub(super) fn executable(code: &[u8]) -> Option<memmap2::Mmap> {
    let mut map = memmap2::MmapMut::map_anon(code.len().max(1)).ok()?;
    map[..code.len()].copy_from_slice(code);
    map.make_exec().ok()
}

/// A region and one engine's counts for it.
pub(crate) struct CachedRegion {
    region: Arc<Compiled>,
    /// The session in which the region was last found to match the code in memory.
    pub seen: u64,
    /// The number of waves that began in the region, and the number for which a guard of an affine value failed.
    pub begun: u64,
    pub missed: u64,
    /// The blocks at which guards failed.
    pub missed_blocks: Vec<(u64, Suspect)>,
    /// The number of the region that assumes less, or `None` if there is none; not known before a guard has failed.
    pub cautious: Option<Option<u32>>,
    /// The number of the region that replaces it, because it is for code that meets NaNs.
    pub replaced: Option<u32>,
    /// The scalar registers with which the wave started for which it was compiled.
    pub sgprs: Box<[u32; 128]>,
    /// It is for code that meets NaNs.
    pub exact: bool,
    /// The number of re-executions of its blocks.
    pub restarts: u32,
    /// The number of waves that ended in batches, and the number of batches that were left early.
    pub in_batch: u64,
    pub broken: u64,
    /// The evaluations of its grid.
    pub grid_history: GridHistory,
}

impl CachedRegion {
    pub fn new(region: Arc<Compiled>, seen: u64, sgprs: &[u32; 128], exact: bool) -> CachedRegion {
        CachedRegion {
            region,
            seen,
            begun: 0,
            missed: 0,
            missed_blocks: Vec::new(),
            cautious: None,
            replaced: None,
            sgprs: Box::new(*sgprs),
            exact,
            restarts: 0,
            in_batch: 0,
            broken: 0,
            grid_history: GridHistory::default(),
        }
    }
}

impl Deref for CachedRegion {
    type Target = Compiled;

    fn deref(&self) -> &Compiled {
        &self.region
    }
}

/// The result of compiling.
#[derive(Clone)]
pub(crate) enum Made {
    Region(Arc<Compiled>),
    /// No region: the interpreter runs the code at these addresses.
    Nothing(Arc<[u64]>),
}

/// The default maximum size of a cache's regions in bytes. If another region does not fit, all are dropped; engines drop
/// their copies before they run anything else.
const MOST_BYTES: usize = 256 << 20;

/// Regions shared by several engines.
#[derive(Clone)]
pub(crate) struct Library(Arc<Shared>);

struct Shared {
    shelf: Mutex<Shelf>,
    /// The number of times that all regions were dropped because they exceeded the maximum.
    dropped: AtomicU64,
    most: usize,
    /// What regions for waves that start do not assume, by keys without caution.
    cautions: Mutex<HashMap<Key, Vec<Caution>>>,
    choices: SharedChoices,
    /// The folder in which regions are saved for other processes.
    store: Option<Arc<Store>>,
}

#[derive(Default)]
struct Shelf {
    /// The regions, and the exact regions, which are for code that encounters NaNs.
    regions: [Table<Made>; 2],
    bytes: usize,
}

impl Default for Library {
    fn default() -> Library {
        Library::holding(MOST_BYTES)
    }
}

impl Library {
    fn holding(most: usize) -> Library {
        Library(Arc::new(Shared {
            shelf: Mutex::default(),
            dropped: AtomicU64::new(0),
            most,
            cautions: Mutex::default(),
            choices: SharedChoices::default(),
            store: None,
        }))
    }

    /// Returns an empty library with the same maximum, whose regions are also saved on disk.
    fn stored(&self, store: Arc<Store>) -> Library {
        let mut shared = Library::holding(self.0.most);
        if let Some(shared) = Arc::get_mut(&mut shared.0) {
            shared.store = Some(store);
        }
        shared
    }

    /// Returns the folder in which its regions are saved for other processes.
    pub fn store(&self) -> Option<Arc<Store>> {
        self.0.store.clone()
    }

    /// The choices of its engines between codes of loops.
    pub fn choices(&self) -> &SharedChoices {
        &self.0.choices
    }

    /// Returns the number of times that all regions were dropped.
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Relaxed)
    }

    /// Returns what the region of a key does not assume.
    pub fn caution(&self, key: Key) -> Caution {
        let Some(level) = (key.caution as usize).checked_sub(1) else {
            return Caution::default();
        };
        // The shelf may be locked here, because regions are compiled under its lock.
        let cautions = lock(&self.0.cautions);
        let of_key = cautions.get(&key.without_caution());
        let found = of_key.and_then(|of_key| of_key.get(level).cloned());
        found.unwrap_or_default()
    }

    /// Returns the key of the region that assumes less than the region of `key`, whose blocks at the addresses of `missed` were left because of
    /// these suspects. `None` if less was assumed several times already.
    pub fn more_cautious(&self, key: Key, missed: &[(u64, Suspect)]) -> Option<Key> {
        let mut less = self.caution(key);
        let level = key.caution as usize;
        if level == MOST_CAUTIOUS {
            return None;
        }
        let mut cautions = lock(&self.0.cautions);
        let of_key = cautions.entry(key.without_caution()).or_default();
        if of_key.len() == level {
            for &(pc, suspect) in missed {
                match suspect {
                    Suspect::Guesses => less.guesses_fail = true,
                    Suspect::Guards(trust) => {
                        less.distrusted.insert(pc, trust);
                    }
                }
            }
            of_key.push(less);
        }
        Some(Key {
            caution: key.caution + 1,
            ..key
        })
    }
}

impl Made {
    fn bytes(&self) -> usize {
        match self {
            Made::Region(region) => region.bytes,
            Made::Nothing(those) => 64 + 8 * those.len(),
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the region of a key. If there is none, `make` compiles it while other threads wait.
pub(crate) fn get(
    library: &Library,
    key: Key,
    exact: bool,
    machine: &Machine<'_>,
    make: impl FnOnce() -> Made,
) -> Made {
    let shelf = &mut *lock(&library.0.shelf);
    match shelf.regions[exact as usize].get(&key) {
        Some(Made::Region(region)) if region.fresh(machine) => Made::Region(region.clone()),
        _ => {
            let made = make();
            if shelf.bytes + made.bytes() > library.0.most {
                *shelf = Shelf::default();
                library.0.dropped.fetch_add(1, Relaxed);
            }
            shelf.bytes += made.bytes();
            let old = shelf.regions[exact as usize].insert(key, made.clone());
            shelf.bytes -= old.map_or(0, |old| old.bytes());
            made
        }
    }
}

/// Drops all regions.
pub(crate) fn clear(library: &Library) {
    *lock(&library.0.shelf) = Shelf::default();
}

/// Compiled code that outlives dispatches. An engine starts with the code of earlier ones, and engines that run at the same
/// time share it.
#[derive(Clone, Default)]
pub struct Cache {
    idle: Arc<Mutex<Vec<Jit>>>,
    library: Library,
    /// The level of its engines, if not the host's best.
    level: Option<Level>,
    /// Its engines count what compiled code does.
    counts: bool,
    /// Receives the IR of compiled regions.
    dump: Option<Arc<DumpTo>>,
    /// The disabled optimisations.
    left_out: LeftOut,
}

/// The pass after which the IR is recorded as text, and the text.
#[derive(Default)]
pub(crate) struct DumpTo {
    pub pass: String,
    pub text: Mutex<String>,
}

impl DumpTo {
    pub fn add(&self, text: &str) {
        lock(&self.text).push_str(text);
    }
}

impl Cache {
    /// Creates a cache of code of a level, which the host must support.
    pub fn with_level(level: Level) -> Cache {
        Cache {
            level: Some(level),
            ..Cache::default()
        }
    }

    /// Returns an empty cache with the same settings, whose regions take at most about this many bytes; the default is 256 MiB.
    /// Regions that engines are running are not counted.
    pub fn holding(self, bytes: usize) -> Cache {
        Cache {
            library: Library::holding(bytes),
            ..self
        }
    }

    /// Returns an empty cache with the same settings that loads regions from a folder before it compiles them, and saves
    /// compiled ones there. Results do not depend on it. Caches that [count](Cache::counting) do not use the folder.
    pub fn stored(self, store: Arc<Store>) -> Cache {
        Cache {
            library: self.library.stored(store),
            idle: Arc::default(),
            ..self
        }
    }

    /// Returns the number of times that the regions were dropped because they exceeded the maximum.
    pub fn dropped(&self) -> u64 {
        self.library.dropped()
    }

    /// Returns an engine with the code of earlier ones. Code that has changed since is recompiled.
    pub fn engine(&self) -> CachedEngine {
        let kept = lock(&self.idle).pop();
        let level = self.level.unwrap_or_default();
        let new = || {
            let (library, dump) = (self.library.clone(), self.dump.clone());
            Jit::sharing(library, level, self.counts, dump, self.left_out)
        };
        let mut jit = kept.unwrap_or_else(new);
        jit.begin_session();
        CachedEngine {
            jit: Some(jit),
            cache: self.clone(),
        }
    }

    /// Returns an empty cache with the same settings whose engines count what compiled code does, for [`Cache::report`].
    pub fn counting(self) -> Cache {
        Cache {
            counts: true,
            ..self
        }
    }

    /// Returns an empty cache with the same settings that records the IR of compiled regions after a pass, for
    /// [`Cache::dump`]. [`pass_names`] lists the passes.
    ///
    /// [`pass_names`]: crate::pass_names
    pub fn dumping(self, pass: &str) -> Cache {
        let to = DumpTo {
            pass: pass.to_owned(),
            ..DumpTo::default()
        };
        Cache {
            dump: Some(Arc::new(to)),
            ..self
        }
    }

    /// Returns an empty cache with the same settings, without an optimisation. Its regions are not saved on disk.
    pub fn without(self, one: Optional) -> Cache {
        Cache {
            left_out: self.left_out.and(one),
            idle: Arc::default(),
            library: Library::default(),
            ..self
        }
    }

    /// Returns the IR of compiled regions as text. Empty if it is not recorded.
    pub fn dump(&self) -> String {
        let text = self.dump.as_deref().map(|to| lock(&to.text).clone());
        text.unwrap_or_default()
    }

    /// Returns the regions of its engines and, if they count, their counts. Running engines are not included.
    pub fn report(&self) -> Report {
        lock(&self.idle)
            .iter()
            .fold(Report::default(), |mut all, jit| {
                all.join(jit.report());
                all
            })
    }

    /// Returns the counts of all its engines. Running engines are not included.
    pub fn stats(&self) -> JitStats {
        lock(&self.idle)
            .iter()
            .fold(JitStats::default(), |mut sum, jit| {
                sum.add(&jit.stats);
                sum.slow_calls += jit.ctx.helpers.slow_path_calls;
                sum
            })
    }
}

/// An engine of a [`Cache`].
pub struct CachedEngine {
    jit: Option<Jit>,
    cache: Cache,
}

impl CachedEngine {
    /// See [`Jit::looks`].
    #[doc(hidden)]
    pub fn look(&mut self) {
        self.jit().testing.as_workgroup = true;
        self.jit().testing.cautious = true;
    }

    /// If `eager`, addresses are evaluated also for dispatches of few waves, code that assumes less is compiled after the first guard that fails, and
    /// all loops and blocks run lane by lane that can.
    #[doc(hidden)]
    pub fn eager(&mut self, eager: bool) {
        self.jit().testing.cautious = eager;
        self.jit().testing.lane_loops = eager;
        self.jit().testing.few_lanes = eager;
        self.jit().grid_waves = if eager {
            0
        } else {
            crate::runtime::grid::WAVES
        };
    }

    fn jit(&mut self) -> &mut Jit {
        self.jit.get_or_insert_with(Jit::new)
    }
}

impl Engine for CachedEngine {
    fn run(&mut self, wave: &mut WaveState, machine: &mut Machine<'_>, fuel: &mut u64) -> Stop {
        self.jit().run(wave, machine, fuel)
    }

    fn group(
        &mut self,
        group: &mut Group<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        self.jit().group(group, machine, fuel)
    }

    fn groups(
        &mut self,
        groups: &mut Groups<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        self.jit().groups(groups, machine, fuel)
    }

    fn slice(&self) -> u64 {
        self.jit
            .as_ref()
            .map_or(crate::runtime::engine::SLICE, Jit::slice)
    }

    fn exactly(&mut self, exact: bool) {
        self.jit().exactly(exact);
    }

    fn invalidate(&mut self) {
        self.jit().invalidate();
    }
}

impl Drop for CachedEngine {
    fn drop(&mut self) {
        if let Some(jit) = self.jit.take() {
            lock(&self.cache.idle).push(jit);
        }
    }
}
