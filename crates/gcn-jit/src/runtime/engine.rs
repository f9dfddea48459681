//! The engine: it finds or compiles the code for a wave, enters it, and decides how a wave continues when the code has returned.

use crate::context::LiveIns;
use crate::context::Tally;
use crate::context::{Ctx, TILE_AGAIN, TILE_BUDGET, TILES, TimeSlice};
use crate::frontend;
use crate::ir::region::Region;
use crate::passes::Dump;
use crate::passes::optional::{LeftOut, Optional};
use crate::runtime::cache::saved::{Fetched, Origin, Request, Saved};
use crate::runtime::cache::{
    self, BlockEntry, CachedRegion, Caution, Compiled, DumpTo, Key, Library, Made, Table,
};
use crate::runtime::check::check;
use crate::runtime::disk::{Name, Store};
use crate::runtime::helpers::{self, Host};
use crate::runtime::profile::{self, Report, ticks};
use crate::runtime::reentry::Paused;
use crate::runtime::{batch, grid, lane_loops, recorded, tiles, wave_helper};
use crate::target::Level;
use crate::target::x64::{self, SLICES};
use gcn_emu::engine::{Code, EXACT_SLICE, Engine, EntryVgprs, Machine, Stop, instruction};
use gcn_emu::group::{Group, GroupStop, Groups};
use gcn_emu::interp::Interp;
use gcn_emu::mem::{ALIAS, LDS_MOST};
use gcn_emu::wave::{WaveState, mode, status};
use gcn_isa::decode::Insn;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The instructions of a time slice, the most that a wave wastes waiting for others.
pub(crate) const SLICE: u64 = 1 << 18;

/// The number of re-executions after which a region is compiled for code that meets NaNs.
pub(crate) const NANS: u32 = 32;

/// The maximum number of MODEs that code is compiled for in a dispatch. Code for one is of no use to another.
pub(crate) const MODES: usize = 32;

/// The instructions that may be compiled in a dispatch in any case, and the number that must have run for each further one.
/// Compiling an instruction takes about as long as interpreting that many, so compiling never takes longer than running.
pub(crate) const COMPILED: u64 = 1 << 18;
pub(crate) const RUN_FOR_COMPILED: u64 = 256;

/// How the engine runs a wave at an address.
#[derive(Clone, Copy)]
pub(crate) enum Entry {
    /// Compiled code begins here.
    Code(CodePointer),
    /// The middle of a block, or nothing that can be compiled.
    Interpret,
}

/// An address in compiled code: the region's number in the upper half, the offset in its code in the lower one. No block is at
/// offset 0.
#[derive(Clone, Copy)]
pub(crate) struct CodePointer(NonZeroU64);

impl CodePointer {
    pub(crate) fn new(region: u32, at: u32) -> Option<CodePointer> {
        NonZeroU64::new((region as u64) << 32 | at as u64).map(CodePointer)
    }

    pub(crate) fn region(self) -> u32 {
        (self.0.get() >> 32) as u32
    }

    pub(crate) fn is(self, other: CodePointer) -> bool {
        self.0 == other.0
    }

    pub(crate) fn at(self) -> usize {
        self.0.get() as u32 as usize
    }
}

/// Where a region is kept on disk, and the VGPRs that its name depends on.
type Stored = (Arc<Store>, Name, Vec<(u16, i32)>);

/// How compiled code returned.
#[derive(Clone, Copy)]
pub(crate) struct Exit {
    /// The result: one of the reasons in [`x64`], and the block's number.
    pub(crate) word: u64,
    pub(crate) region: u32,
}

impl Exit {
    pub(crate) fn why(self) -> u64 {
        self.word & 0xff
    }

    pub(crate) fn block(self) -> usize {
        (self.word >> 8) as usize
    }

    /// Returns true if the block was rolled back: the interpreter runs it, or it runs later.
    pub(crate) fn rolled_back(self, stopped: &Option<Stop>) -> bool {
        match self.why() {
            x64::EXIT_RESTART | x64::EXIT_NOT_AFFINE | x64::EXIT_ALONE | x64::EXIT_WIDE => true,
            x64::EXIT_STOP => matches!(stopped, Some(Stop::Retry | Stop::Fault(_))),
            _ => false,
        }
    }
}

/// Counts of what the engine has done.
#[derive(Clone, Copy, Debug, Default)]
pub struct JitStats {
    /// Regions compiled.
    pub regions: u64,
    /// The number of them that were found on disk.
    pub found: u64,
    /// Regions without code: the interpreter runs them.
    pub refused: u64,
    /// The number of them that were refused because of a mistake of the compiler.
    pub mistakes: u64,
    /// Instructions in them.
    pub insns: u64,
    /// Blocks with a variant for waves whose lanes are all active.
    pub all_active: u64,
    /// Bytes of code.
    pub bytes: u64,
    /// Time spent in compiling.
    pub compiling: Duration,
    /// Blocks that the interpreter re-executed.
    pub restarts: u64,
    /// Blocks that were left because a guard of an affine value failed.
    pub not_affine: u64,
    /// Values of 16 lanes whose fast path did not hold in some lane, and had to be evaluated.
    pub slow_calls: u64,
    /// Instructions that the interpreter ran.
    pub interpreted: u64,
    /// Instructions in all.
    pub executed: u64,
    /// Waves after whose end the next one started without leaving compiled code.
    pub in_batch: u64,
    /// The number of times that addresses were evaluated for all workgroups of a dispatch, or taken from an earlier evaluation.
    pub grids: u64,
    /// The number of times that they were taken from an earlier one.
    pub remembered_grids: u64,
}

impl JitStats {
    /// Adds the counts of another engine.
    pub(crate) fn add(&mut self, other: &JitStats) {
        self.regions += other.regions;
        self.found += other.found;
        self.refused += other.refused;
        self.mistakes += other.mistakes;
        self.insns += other.insns;
        self.all_active += other.all_active;
        self.bytes += other.bytes;
        self.compiling += other.compiling;
        self.restarts += other.restarts;
        self.not_affine += other.not_affine;
        self.slow_calls += other.slow_calls;
        self.interpreted += other.interpreted;
        self.executed += other.executed;
        self.in_batch += other.in_batch;
        self.grids += other.grids;
        self.remembered_grids += other.remembered_grids;
    }
}

/// The compiling engine of one host thread.
pub struct Jit {
    pub(crate) interp: Interp,
    pub(crate) code: KnownCode,
    pub(crate) budget: CompileBudget,
    pub(crate) level: Level,
    pub(crate) ctx: Box<Ctx>,
    /// Counts for reports.
    pub stats: JitStats,
    /// The instructions that the interpreter ran, by name. Looking names up takes time, so they are counted only on request.
    pub names: Option<HashMap<&'static str, u64>>,
    /// The counts, if the engine counts.
    pub(crate) counts: Option<Box<profile::Counts>>,
    #[doc(hidden)]
    pub testing: Testing,
    pub(crate) observer: Observer,
    pub(crate) group: GroupState,
    /// All registers are live at the end of code.
    pub(crate) all_live: bool,
    /// The VGPRs that are affine where the region under way begins, with their steps.
    pub(crate) steps: Vec<(u16, i32)>,
    /// The program reads float exceptions, which only the interpreter records.
    pub(crate) recorded: Option<bool>,
    /// Why the interpreter stopped a wave in compiled code.
    pub(crate) stopped: Option<Stop>,
    /// The fuel with which the wave began.
    pub(crate) begun: u64,
    /// Takes the IR of what is compiled.
    pub(crate) dump: Option<Arc<DumpTo>>,
    /// Optimisations that its code is without.
    pub(crate) left_out: LeftOut,
    /// See [`grid::WAVES`].
    pub(crate) grid_waves: u64,
}

/// The code that an engine knows.
#[derive(Default)]
pub(crate) struct KnownCode {
    pub(crate) regions: Vec<CachedRegion>,
    pub(crate) entries: Table<Entry>,
    /// Keys of code for some slices whose waves activate lanes of others.
    pub(crate) wide: HashSet<Key>,
    /// Where its regions come from.
    pub(crate) library: Library,
    /// The number of dispatches that the engine has served. Code is compared with memory once in each.
    pub(crate) session: u64,
    /// Some of the regions are not what memory holds.
    pub(crate) stale: bool,
    /// The library's count of drops when the engine last dropped its regions.
    pub(crate) dropped: u64,
}

/// What tests ask.
#[doc(hidden)]
#[derive(Default)]
pub struct Testing {
    /// Only live registers are written, also by code that is not a program.
    pub lean: bool,
    /// Code is compiled for NaNs at once.
    pub exact: bool,
    /// A wave that has not run begins as one of a workgroup does, and all of its affine VGPRs are known.
    pub as_workgroup: bool,
    /// After the first guard that fails, waves continue in code that assumes less.
    pub cautious: bool,
    /// All loops run lane by lane that can.
    pub lane_loops: bool,
    /// All blocks run lane by lane that can.
    pub few_lanes: bool,
    /// Each block is compared with the interpreter.
    pub(crate) compare: bool,
}

/// What an observer, such as a debugger, asks.
#[derive(Default)]
pub(crate) struct Observer {
    /// There is one: every register has its value where a block ends.
    pub(crate) attached: bool,
    /// Addresses before which waves stop. Code is not compiled across them: the interpreter runs these instructions.
    pub(crate) stops: HashSet<u64>,
    /// Time slices end exactly, after [`EXACT_SLICE`] instructions.
    pub(crate) exact_slices: bool,
}

/// The workgroup that runs.
#[derive(Default)]
pub(crate) struct GroupState {
    /// Where its waves that wait at a barrier, or come from one, continue.
    pub(crate) time_slices: Vec<TimeSlice>,
    /// Where the wave that came to a barrier last continues, and the region.
    pub(crate) after_barrier: Option<(*const u8, u32)>,
    /// Where its waves, by number, began last in this session, with the number of their `Like`.
    pub(crate) entered: Vec<Option<(u64, CodePointer)>>,
    /// Waves that have not left a region, by number.
    pub(crate) paused: HashMap<u64, Paused>,
    /// The initial state of the waves of the last batch.
    pub(crate) like: Option<Box<batch::Like>>,
    /// The number of waves in batches when a grid was last evaluated in this session.
    pub(crate) evaluated: Option<u64>,
}

/// The regions that an engine has compiled in a session.
#[derive(Default)]
pub(crate) struct CompileBudget {
    /// For which MODEs.
    pub(crate) modes: Vec<u32>,
    /// How many instructions.
    pub(crate) compiled: u64,
    /// How many the engine had executed before.
    pub(crate) executed: u64,
}

// SAFETY: the context's raw pointers are set at the beginning of each run and used during it only.
unsafe impl Send for Jit {}

impl Default for Jit {
    fn default() -> Jit {
        Jit::new()
    }
}
/// Returns true if this host can run code of some level.
pub fn available() -> bool {
    Level::best().is_some()
}

/// Returns true if VGPRs are affine in each 16 lanes with these steps.
pub(crate) fn holds(steps: &[(u16, i32)], wave: &WaveState) -> bool {
    steps.iter().all(|&(n, step)| {
        let slices = wave.vgprs[n as usize].chunks(16);
        let pairs = slices.flat_map(|s| s.windows(2));
        pairs
            .into_iter()
            .all(|w| w[1].wrapping_sub(w[0]) == step as u32)
    })
}

/// The VGPRs that are affine in each 16 lanes, with their steps.
pub(crate) fn steps(wave: &WaveState) -> Vec<(u16, i32)> {
    let step = |v: &[u32; 64]| {
        let step = v[1].wrapping_sub(v[0]);
        let affine = |s: &[u32]| s.windows(2).all(|w| w[1].wrapping_sub(w[0]) == step);
        v.chunks(16).all(affine).then_some(step as i32)
    };
    let vgprs = wave.vgprs.iter().enumerate();
    vgprs
        .filter_map(|(n, v)| Some((n as u16, step(v)?)))
        .collect()
}

/// The scalar registers of a wave for which code is compiled.
#[derive(Clone, Copy)]
pub(crate) struct Scalars<'a> {
    /// Where it started: a typical wave is made of them.
    pub start: &'a [u32; 128],
    /// Now: resources are guessed from them.
    pub now: &'a [u32; 128],
}

impl<'a> Scalars<'a> {
    /// Those of a wave that starts, or whose start is not known.
    pub fn of(sgprs: &'a [u32; 128]) -> Scalars<'a> {
        Scalars {
            start: sgprs,
            now: sgprs,
        }
    }
}

/// The scalar registers of a wave of a workgroup in the middle of the dispatch.
fn typical_sgprs(sgprs: &[u32; 128], machine: &Machine<'_>) -> [u32; 128] {
    let mut sgprs = *sgprs;
    for &(register, id) in machine.middle {
        if let Some(s) = sgprs.get_mut(register as usize) {
            *s = id;
        }
    }
    sgprs
}

pub(crate) fn fetch(machine: &Machine<'_>, pc: u64) -> Option<Insn> {
    instruction(machine.target, machine.code, machine.memory, pc)
}

impl Jit {
    /// An engine that knows no code yet, of the best level that the host has.
    pub fn new() -> Jit {
        Jit::with_level(Level::default())
    }

    /// An engine that makes code of a level, which the host must have.
    pub fn with_level(level: Level) -> Jit {
        let mut ctx = Ctx::new();
        ctx.helpers.interpret = helpers::interpret as *const () as usize;
        ctx.helpers.load = helpers::load as *const () as usize;
        ctx.helpers.store = helpers::store as *const () as usize;
        ctx.helpers.slow_path = helpers::slow_path as *const () as usize;
        ctx.helpers.wave = wave_helper::run as *const () as usize;
        ctx.lookup.range = helpers::range as *const () as usize;
        ctx.lookup.around = helpers::around as *const () as usize;
        ctx.lookup.exact = helpers::exact as *const () as usize;
        ctx.recorded.tell = recorded::tell_recorder as *const () as usize;
        ctx.tiles.helper = tiles::tile as *const () as usize;
        ctx.lanes.choose = lane_loops::choose as *const () as usize;
        ctx.lanes.range = lane_loops::range as *const () as usize;
        ctx.lanes.conflicts = lane_loops::conflicts as *const () as usize;
        Jit {
            interp: Interp::new(),
            code: KnownCode::default(),
            budget: CompileBudget::default(),
            level,
            ctx,
            stats: JitStats::default(),
            names: None,
            counts: None,
            testing: Testing::default(),
            observer: Observer::default(),
            group: GroupState::default(),
            all_live: false,
            steps: Vec::new(),
            recorded: None,
            stopped: None,
            begun: 0,
            dump: None,
            left_out: LeftOut::default(),
            grid_waves: grid::WAVES,
        }
    }

    /// An engine that shares its code in a library.
    pub(crate) fn sharing(
        library: Library,
        level: Level,
        counts: bool,
        dump: Option<Arc<DumpTo>>,
        left_out: LeftOut,
    ) -> Jit {
        let code = KnownCode {
            library,
            ..KnownCode::default()
        };
        Jit {
            code,
            dump,
            left_out,
            counts: counts.then(Box::default),
            ..Jit::with_level(level)
        }
    }

    /// The same engine, which counts what it does, for [`Jit::report`].
    pub fn counting(self) -> Jit {
        Jit {
            counts: Some(Box::default()),
            ..self
        }
    }

    /// The engine's regions and, if it counts, its counts.
    pub fn report(&self) -> Report {
        let counts = self.counts.as_deref();
        let mut report = counts.map(|c| c.before.clone()).unwrap_or_default();
        for (n, region) in self.code.regions.iter().enumerate() {
            report.join(Report {
                regions: vec![region.look(counts.map_or(&[], |c| c.of(n)))],
                ..Report::default()
            });
        }
        report
    }

    /// Drops the engine's regions, but keeps their counts.
    pub(crate) fn drop_regions(&mut self) {
        if self.counts.is_some() {
            self.counts = Some(Box::new(profile::Counts::after(self.report())));
        }
        self.code.regions.clear();
        self.group.paused.clear();
        self.code.stale = false;
    }

    /// Another dispatch begins.
    pub(crate) fn begin_session(&mut self) {
        if self.code.stale {
            self.code.entries.clear();
            self.drop_regions();
        }
        self.invalidate_wave_entries();
        self.code.session += 1;
        self.group.evaluated = None;
        self.group.paused.clear();
        self.recorded = None;
        self.interp.invalidate();
        self.begin_budget();
    }

    fn begin_budget(&mut self) {
        self.budget.modes.clear();
        self.budget.compiled = 0;
        self.budget.executed = self.stats.executed;
    }

    /// Returns true if code for this MODE may be compiled: the program has had few MODEs, and has run long enough for what was
    /// compiled. Otherwise the interpreter runs it.
    pub(crate) fn may_compile(&mut self, mode: u32) -> bool {
        let budget = &mut self.budget;
        let run = self.stats.executed - budget.executed;
        if budget.compiled > COMPILED + run / RUN_FOR_COMPILED {
            return false;
        }
        if !budget.modes.contains(&mode) {
            if budget.modes.len() == MODES {
                return false;
            }
            budget.modes.push(mode);
        }
        true
    }

    /// Drops the engine's regions if the library dropped its own. No wave may be in one.
    pub(crate) fn drop_stale_regions(&mut self) {
        let dropped = self.code.library.dropped();
        if self.code.dropped != dropped {
            self.code.dropped = dropped;
            self.drop_entry_points();
            self.drop_regions();
        }
    }

    /// The same engine, which compares each block with the interpreter and panics if they differ. Other threads must not write
    /// its memory.
    pub fn checking(self) -> Jit {
        Jit {
            testing: Testing {
                compare: true,
                ..self.testing
            },
            all_live: true,
            ..self
        }
    }

    /// Finds or compiles the region of a key. `sgprs` are those of a wave at its address. With `exact` the region is for code that
    /// meets NaNs and replaces the one there is.
    pub(crate) fn compile(
        &mut self,
        key: Key,
        sgprs: Scalars<'_>,
        machine: &Machine<'_>,
        exact: bool,
    ) {
        let library = self.code.library.clone();
        let make = || self.make(key, sgprs, machine, exact);
        match cache::get(&library, key, exact, machine, make) {
            Made::Nothing(those) => {
                for &pc in &*those {
                    let here = Key { pc, ..key };
                    self.code.entries.entry(here).or_insert(Entry::Interpret);
                }
                self.code.entries.entry(key).or_insert(Entry::Interpret);
            }
            Made::Region(region) => {
                let number = self.code.regions.len() as u32;
                let entry = |at| CodePointer::new(number, at).map_or(Entry::Interpret, Entry::Code);
                if key.entry.is_some() {
                    // Its other blocks are not entered from outside.
                    self.code.entries.insert(key, entry(region.first));
                } else {
                    for &(start, end, at, insns) in &region.blocks {
                        let mode = region.mode(start);
                        let here = |pc| Key { pc, mode, ..key };
                        if insns > 0 && exact {
                            self.code.entries.insert(here(start), entry(at as u32));
                        } else if insns > 0 {
                            let at = entry(at as u32);
                            self.code.entries.entry(here(start)).or_insert(at);
                        }
                        // A jump to the last dword of the address space has no address after it.
                        for inner in (start..end).step_by(4).skip(1) {
                            self.code
                                .entries
                                .entry(here(inner))
                                .or_insert(Entry::Interpret);
                        }
                    }
                    self.code.entries.entry(key).or_insert(Entry::Interpret);
                }
                self.code.regions.push(CachedRegion::new(
                    region,
                    self.code.session,
                    sgprs.start,
                    exact,
                ));
            }
        }
    }

    /// Compiles code for a wave at the key's address. If that is inside of a block that waves enter at its start, for instance because
    /// an observed time slice ended there, the region has that block, whose rest is interpreted: otherwise the wave would stay in
    /// a loop of smaller blocks. If it is inside of a block that begins with another MODE, which changes within the block, the interpreter
    /// runs the rest of the block.
    fn compile_around(&mut self, key: Key, sgprs: Scalars<'_>, machine: &Machine<'_>) {
        let pc = key.pc;
        let regions = self.code.regions.iter();
        let same = regions.filter(|r| r.key.vgprs == key.vgprs);
        let blocks = same.flat_map(|r| r.blocks.iter().map(|b| (r.mode(b.0), b.0..b.1)));
        let mut blocks: Vec<_> = blocks.filter(|b| b.1.contains(&pc)).collect();
        // Blocks with the wave's MODE come first.
        blocks.sort_by_key(|b| b.0 != key.mode);
        let start = match blocks.first() {
            Some((mode, block)) if *mode == key.mode => block.start,
            Some((_, block)) if block.start < pc => {
                self.code.entries.insert(key, Entry::Interpret);
                return;
            }
            _ => pc,
        };
        for pc in [start, pc] {
            if !self.code.entries.contains_key(&key) {
                self.compile(Key { pc, ..key }, sgprs, machine, self.testing.exact);
            }
        }
    }

    /// Makes a region, or takes it from disk.
    fn make(&mut self, key: Key, sgprs: Scalars<'_>, machine: &Machine<'_>, exact: bool) -> Made {
        let begun = Instant::now();
        let stored = self.stored(key, machine, exact);
        let found = stored.as_ref().and_then(|(store, name, steps)| {
            let request = self.request(key, exact, steps);
            Saved::load(store, name, &request, sgprs.now, machine)
        });
        self.stats.found += found.is_some() as u64;
        let saved = found.unwrap_or_else(|| self.make_new(key, sgprs, machine, exact, stored));
        // Counted also if the region is refused, since it takes as long.
        self.budget.compiled += saved.insns;
        match &saved.made {
            Made::Region(_) => {
                self.stats.regions += 1;
                self.stats.all_active += saved.all_active;
                self.stats.insns += saved.insns;
                self.stats.bytes += saved.bytes;
                self.stats.compiling += begun.elapsed();
            }
            Made::Nothing(_) => self.stats.refused += saved.refused as u64,
        }
        saved.made
    }

    /// The parameters of a region's code.
    fn request<'s>(&self, key: Key, exact: bool, steps: &'s [(u16, i32)]) -> Request<'s> {
        Request {
            key,
            level: self.level,
            exact,
            steps,
        }
    }

    /// Where a region is kept on disk, if it may be, with the VGPRs that its name depends on.
    fn stored(&self, key: Key, machine: &Machine<'_>, exact: bool) -> Option<Stored> {
        let store = self.code.library.store()?;
        let own = self.testing.compare || self.all_live || self.testing.lean || self.left_out.any();
        let own = own || key.caution > 0;
        if self.counts.is_some() || self.dump.is_some() || own {
            return None;
        }
        let steps = self.steps.clone();
        let name = self.request(key, exact, &steps).name(machine)?;
        Some((store, name, steps))
    }

    /// Makes a region, and keeps it on disk if it may be.
    fn make_new(
        &mut self,
        key: Key,
        sgprs: Scalars<'_>,
        machine: &Machine<'_>,
        exact: bool,
        stored: Option<Stored>,
    ) -> Saved {
        let Key {
            pc,
            mode,
            vgprs,
            entry,
            ..
        } = key;
        let caution = self.code.library.caution(key);
        let dump = self.dump.as_deref().map(|to| Dump::after(&to.pass));
        let fetched = Fetched::default();
        let read = |at: u64| {
            let mut bytes = [0; 4];
            let done = machine.memory.read(at, &mut bytes);
            done.ok().map(|()| u32::from_le_bytes(bytes))
        };
        let typical = entry.filter(|_| !self.left_out.has(Optional::Typical));
        let typical = typical.map(|_| frontend::TypicalWave {
            sgprs: typical_sgprs(sgprs.start, machine),
            ids: (machine.middle.iter()).fold(0, |all, &(n, _)| {
                all | 1u128.checked_shl(n as u32).unwrap_or(0)
            }),
            read: &read,
        });
        let counts = self.counts.is_some();
        let mut request = frontend::CompileRequest {
            target: machine.target,
            mode,
            vgprs,
            all_live: self.all_live || matches!(machine.code, Code::Snippet(..)),
            precise: self.testing.compare
                || self.observer.attached
                || !self.testing.lean && matches!(machine.code, Code::Snippet(..)),
            entry,
            affine: entry.is_some() && !self.left_out.has(Optional::Affine),
            // Counts are those of plain blocks.
            left_out: self.left_out_of(key, &caution),
            distrusted: caution.distrusted,
            steps: self.steps.clone(),
            sgprs: *sgprs.now,
            typical,
            guessed: Default::default(),
            dump: dump.as_ref(),
            fetch: &|pc| match self.observer.stops.contains(&pc) {
                true => None,
                false => fetched.fetch(machine, pc),
            },
        };
        let mut region = frontend::region(pc, &request);
        let live_ins = LiveIns::of(&region, vgprs);
        let batches = entry.is_some() && !counts && !self.left_out.has(Optional::Batch);
        let ids: Vec<u8> = machine
            .middle
            .iter()
            .map(|id| id.0.min(255) as u8)
            .collect();
        let batch = (batches && live_ins.few()).then_some(x64::BatchStart {
            live_ins: &live_ins,
            entry: pc,
            ids: &ids,
        });
        let style = self.style(key, exact, machine, dump.as_ref());
        let mut emitted = x64::emit(&region, style, batch);
        if emitted.as_ref().err() == Some(&x64::Refused::TooLarge) && request.affine {
            // Without affine values it may fit.
            request.affine = false;
            region = frontend::region(pc, &request);
            emitted = x64::emit(&region, style, batch);
        }
        let guessed = request.guessed.take();
        if let (Some(to), Some(dump)) = (self.dump.as_deref(), dump) {
            to.add(&dump.text());
        }
        let (mut ranges, mut fixups) = (Vec::new(), Vec::new());
        let emitted = emitted.map(|mut emitted| {
            ranges = std::mem::take(&mut emitted.ranges);
            fixups = std::mem::take(&mut emitted.fixups);
            emitted
        });
        let saved = self.made_of(key, &region, emitted, live_ins, exact, machine);
        // A region for which the host had no memory may be possible later.
        let lasts = saved.refused || matches!(saved.made, Made::Region(_));
        if let Some((store, name, _)) = stored.filter(|_| lasts) {
            let origin = Origin {
                fetched: &fetched,
                guessed: &guessed,
                sgprs: sgprs.now,
                machine,
            };
            saved.save((&store, &name), &origin, &ranges, &fixups);
        }
        saved
    }

    /// The optimisations that a region is without.
    fn left_out_of(&self, key: Key, caution: &Caution) -> LeftOut {
        let mut left_out = self.left_out;
        if key.slices < SLICES {
            left_out = left_out.and(Optional::AllActive);
        }
        // Counts are those of plain blocks.
        if self.counts.is_some() {
            left_out = left_out.and(Optional::Joined);
        }
        if caution.guesses_fail {
            left_out = left_out.and(Optional::Strides);
        }
        left_out
    }

    /// The options of a region's code.
    fn style<'d>(
        &self,
        key: Key,
        exact: bool,
        machine: &Machine<'_>,
        dump: Option<&'d Dump>,
    ) -> x64::Style<'d> {
        x64::Style {
            level: self.level,
            tally: self.counts.is_some(),
            exact,
            aliased: machine.memory.is_of_host(),
            left_out: match Level::slow_gathers() {
                true => self.left_out,
                false => self.left_out.and(Optional::OneByOne),
            },
            few_lanes: self.testing.few_lanes,
            slices: key.slices,
            dump,
        }
    }

    /// The region of emitted code, or a region without code.
    fn made_of(
        &mut self,
        key: Key,
        region: &Region,
        emitted: Result<x64::Emitted, x64::Refused>,
        live_ins: LiveIns,
        exact: bool,
        machine: &Machine<'_>,
    ) -> Saved {
        let (mut bytes, refused) = (0, emitted.is_err());
        let made = match emitted {
            Err(why) => {
                let mistake = why == x64::Refused::Mistake;
                debug_assert!(!mistake, "no code for the region at {:#x}", key.pc);
                self.stats.mistakes += mistake as u64;
                Made::Nothing(region.blocks.iter().map(|c| c.start).collect())
            }
            Ok(emitted) => {
                bytes = emitted.code.len() as u64;
                let made = Compiled::new(key, region, emitted, live_ins, exact, machine);
                made.map_or(Made::Nothing([key.pc].into()), |m| {
                    Made::Region(Arc::new(m))
                })
            }
        };
        let all_active = region.blocks.iter().filter(|c| c.all_active.is_some());
        Saved {
            made,
            insns: region.blocks.iter().map(|c| c.insns as u64).sum(),
            all_active: all_active.count() as u64,
            bytes,
            refused,
        }
    }

    /// The code of the last region, for tools: bytes, and of each block its address and where its code begins.
    pub fn last_code(&self) -> Option<(&[u8], &[BlockEntry])> {
        self.code
            .regions
            .last()
            .map(|u| (&u.code[..], &u.blocks[..]))
    }

    /// One instruction by the interpreter.
    pub(crate) fn interpret_one(
        &mut self,
        wave: &mut WaveState,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> Option<Stop> {
        if *fuel == 0 {
            // The wave may have ended already.
            return Some(self.interp.run(wave, machine, fuel));
        }
        if *fuel != self.begun && self.observer.stops.contains(&wave.pc) {
            return Some(Stop::Limit);
        }
        let mut one = 1;
        let counted = self
            .counts
            .as_ref()
            .map(|_| (wave.pc, wave.exec(), ticks()));
        let stop = self.interp.run(wave, machine, &mut one);
        if let (Some(counts), Some((pc, exec, begun))) = (&mut self.counts, counted) {
            counts
                .before
                .interpreted
                .entry(pc)
                .or_default()
                .add(&Tally {
                    times: 1 - one,
                    lanes: (1 - one) * exec.count_ones() as u64,
                    ticks: ticks().wrapping_sub(begun),
                });
        }
        self.stats.interpreted += 1 - one;
        *fuel -= 1 - one;
        match stop {
            Stop::Limit => None,
            stop => Some(stop),
        }
    }
}

impl Engine for Jit {
    fn run(&mut self, wave: &mut WaveState, machine: &mut Machine<'_>, fuel: &mut u64) -> Stop {
        let before = *fuel;
        self.begun = before;
        // A caller that steps observes dead registers and each store.
        let stop = if before == 1 {
            self.step_paused(wave, machine, fuel).unwrap_or(Stop::Limit)
        } else {
            self.drop_stale_regions();
            self.recorded(machine);
            self.bind(machine);
            self.run_wave(wave, machine, fuel, None)
        };
        self.stats.executed += before - *fuel;
        stop
    }

    fn group(
        &mut self,
        group: &mut Group<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        self.drop_stale_regions();
        self.run_group(group, machine, fuel)
    }

    fn groups(
        &mut self,
        groups: &mut Groups<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        self.drop_stale_regions();
        self.run_groups(groups, machine, fuel)
    }

    fn slice(&self) -> u64 {
        match self.observer.exact_slices {
            true => EXACT_SLICE,
            false => SLICE,
        }
    }

    fn exactly(&mut self, exact: bool) {
        self.observer.exact_slices = exact;
    }

    fn stop_at(&mut self, addresses: &[u64]) -> bool {
        // What is compiled already goes across these addresses, or leaves registers out.
        let same = self.observer.stops.len() == addresses.len()
            && addresses.iter().all(|a| self.observer.stops.contains(a));
        if !self.observer.attached || !same {
            self.code.library = Library::default();
            (self.observer.attached, self.all_live) = (true, true);
            self.observer.stops = addresses.iter().copied().collect();
            self.invalidate();
        }
        true
    }

    fn invalidate(&mut self) {
        cache::clear(&self.code.library);
        self.drop_entry_points();
        self.drop_regions();
        self.recorded = None;
        self.begin_budget();
    }
}

/// Returns true if a wave is in a state in which its instructions are interpreted.
pub(crate) fn must_interpret(wave: &WaveState) -> bool {
    wave.mode & (mode::VSKIP | mode::EXCP_EN) != 0
        || wave.status & (status::HALT | status::PRIV) != 0
}

impl Jit {
    /// Invalidates the entry points. Waves may still be in regions.
    pub(crate) fn drop_entry_points(&mut self) {
        self.interp.invalidate();
        self.code.entries.clear();
        self.invalidate_wave_entries();
        self.code.stale = true;
    }

    /// Returns true if the program reads float exceptions.
    pub(crate) fn recorded(&mut self, machine: &Machine<'_>) -> bool {
        *self
            .recorded
            .get_or_insert_with(|| gcn_emu::exceptions::visible(machine))
    }

    /// Invalidates where waves begin.
    pub(crate) fn invalidate_wave_entries(&mut self) {
        self.group.entered.clear();
        self.group.like = None;
    }

    /// Binds the context to the machine of the waves that are to run.
    pub(crate) fn bind(&mut self, machine: &mut Machine<'_>) {
        let linear = machine.memory.linear();
        let ctx = &mut *self.ctx;
        // SAFETY: it stores four bytes where there are four.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &mut ctx.call.host_mxcsr, options(nostack, preserves_flags));
        }
        ctx.memory.start = linear.start;
        ctx.memory.bias = (linear.base as u64).wrapping_sub(linear.start);
        ctx.memory.host_bits = if linear.aliased { !ALIAS } else { u64::MAX };
        ctx.memory.pages = linear.pages;
        ctx.memory.bytes = linear.bytes;
        ctx.memory.shared = !machine.memory.is_exclusive() as u8;
        let mapping = machine.memory.mapping();
        if ctx.remembered.mapping != mapping {
            ctx.remembered.mapping = mapping;
            ctx.remembered.ranges.fill([0; 2]);
        }
        ctx.tries = machine.memory.tries() as u32;
        if ctx.lanes.dispatch != self.code.session as u32 {
            ctx.lanes.dispatch = self.code.session as u32;
            (ctx.tiles.budget, ctx.tiles.binds) = ([TILE_BUDGET; TILES], 0);
        }
        ctx.tiles.binds += 1;
        if ctx.tiles.binds.is_power_of_two() {
            for budget in &mut ctx.tiles.budget {
                *budget = (*budget).max(TILE_AGAIN);
            }
        }
        ctx.lanes.always = self.testing.lane_loops;
        ctx.lds.base = machine.lds.as_mut_ptr();
        ctx.lds.bytes = machine.lds.len() as u64;
        assert!(machine.lds.len() <= LDS_MOST && LDS_MOST < i32::MAX as usize);
        ctx.lds.limits = std::array::from_fn(|dwords| {
            (ctx.lds.bytes + 1).saturating_sub(4 * dwords as u64) as u32
        });
    }

    /// Returns true if a region is what memory holds, which is checked once per dispatch. Otherwise invalidates all entry points.
    pub(crate) fn fresh(&mut self, region: u32, machine: &Machine<'_>) -> bool {
        let known = &mut self.code.regions[region as usize];
        if known.seen != self.code.session {
            known.seen = self.code.session;
            if !known.fresh(machine) {
                self.drop_entry_points();
                return false;
            }
        }
        true
    }

    /// Runs a wave in compiled code until that returns. `fuel` and the wave take the result.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        at: CodePointer,
        wave: &mut WaveState,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> Exit {
        let given = (*fuel).min(i64::MAX as u64) as i64;
        let ctx = &mut *self.ctx;
        ctx.alone = TimeSlice::NONE;
        ctx.current.time_slice = &mut ctx.alone;
        ctx.current.end = ctx.current.time_slice.wrapping_add(1);
        ctx.recorded.time_slices = [0; 2];
        ctx.batch.time_slices = std::ptr::null_mut();
        ctx.current.wave = wave;
        ctx.current.vgprs = wave.vgprs.as_mut_ptr().cast();
        ctx.clock.fuel = given;
        let region = &self.code.regions[at.region() as usize];
        // The address lies in the region's code.
        let code = region.code.as_ptr().wrapping_add(at.at());
        if let Some(counts) = &mut self.counts {
            counts.begin(at.region() as usize, region.blocks.len(), ctx);
        }
        // SAFETY: `code` is where one of the region's blocks begins. The context's time slice is its own; wave and VGPRs are those
        // of a wave that outlives the call.
        let exit = unsafe { self.call(at.region(), code, machine) };
        if let Some(counts) = &mut self.counts {
            let rolled_back = exit
                .rolled_back(&self.stopped)
                .then(|| (exit.block(), wave.exec()));
            counts.end(at.region() as usize, &self.ctx, rolled_back);
        }
        *fuel -= (given - self.ctx.clock.fuel) as u64;
        wave.clock += 4 * (self.ctx.clock.synced - self.ctx.clock.fuel) as u64;
        exit
    }

    /// Calls compiled code. The context has the wave, its fuel, and the time slices that follow.
    ///
    /// # Safety
    /// `code` is where one of the region's blocks begins for the context's wave; so is that of each time slice that follows. The
    /// waves and their VGPRs outlive the call, and nothing else uses them meanwhile.
    #[inline]
    pub(crate) unsafe fn call(
        &mut self,
        region: u32,
        code: *const u8,
        machine: &mut Machine<'_>,
    ) -> Exit {
        let ctx = &mut *self.ctx;
        ctx.clock.synced = ctx.clock.fuel;
        let mut host = Host {
            interp: &mut self.interp,
            machine,
            stop: &mut self.stopped,
            interpreted: &mut self.stats.interpreted,
            slice: if self.observer.exact_slices {
                EXACT_SLICE
            } else {
                SLICE
            },
            names: &mut self.names,
            choices: self.code.library.choices(),
        };
        ctx.call.host = &mut host as *mut Host<'_, '_> as usize;
        let entered = &self.code.regions[region as usize];
        ctx.helpers.slow_paths = entered.calls.as_ptr();
        let base = entered.code.as_ptr();
        // SAFETY: the code is that of a region, whose first bytes are a function of this signature. It touches the context,
        // the registers of waves (the caller's), LDS within `lds_bytes` and guest memory whose pages it has looked up, all
        // of which outlive the call.
        let word = unsafe {
            let enter: extern "sysv64" fn(*mut Ctx, *const u8) -> u64 = std::mem::transmute(base);
            enter(ctx, code)
        };
        if std::mem::take(&mut ctx.outside) != 0 {
            host.machine.memory.suspect();
        }
        Exit { word, region }
    }

    /// Handles the return of compiled code: why the wave stops, or where it continues, if that is known. `begun` is the fuel that
    /// its time slice began with.
    pub(crate) fn after_exit(
        &mut self,
        exit: Exit,
        wave: &mut WaveState,
        machine: &mut Machine<'_>,
        begun: u64,
        fuel: &mut u64,
    ) -> Result<Option<CodePointer>, Stop> {
        let region = &self.code.regions[exit.region as usize];
        let (start, end, ..) = region.blocks[exit.block()];
        match exit.why() {
            x64::EXIT_LEAVE => wave.pc = start,
            x64::EXIT_NOT_AFFINE => {
                wave.pc = start;
                self.stats.not_affine += 1;
                return self.after_miss(exit, wave, machine, fuel);
            }
            x64::EXIT_STOP => {
                if let Some(stop) = self.stopped.take() {
                    return Err(stop);
                }
            }
            x64::EXIT_END => {
                wave.pc = end - 4;
                machine.global.ended(wave.number);
                return Err(Stop::Endpgm);
            }
            x64::EXIT_BARRIER => {
                wave.pc = end;
                self.group.after_barrier = Some((self.ctx.alone.code, exit.region));
                return Err(Stop::Barrier);
            }
            x64::EXIT_FUEL if self.observer.exact_slices => {
                wave.pc = start;
                while *fuel > 0 {
                    if let Some(stop) = self.interpret_one(wave, machine, fuel) {
                        return Err(stop);
                    }
                }
                return Err(Stop::Limit);
            }
            x64::EXIT_FUEL if begun != *fuel => {
                // The rest is for the next time slice, which begins where a block does.
                wave.pc = start;
                self.pause(exit.region, exit.block(), wave);
                return Err(Stop::Limit);
            }
            which => {
                wave.pc = start;
                if which == x64::EXIT_WIDE {
                    // Later waves have code for all lanes.
                    let key = region.key;
                    self.code.wide.insert(key);
                    self.invalidate_wave_entries();
                }
                let again = which == x64::EXIT_RESTART;
                self.stats.restarts += again as u64;
                // Counted first: the wave may end in the block.
                let region = &mut self.code.regions[exit.region as usize];
                region.restarts += again as u32;
                let exact = region.checks && region.restarts >= NANS;
                let key = region.key;
                if again && exact && region.restarts == NANS && self.may_compile(key.mode) {
                    self.compile_exact(exit.region, &wave.sgprs, machine);
                }
                // The block on the interpreter, as far as the fuel goes.
                self.interpret_block(start..end, wave, machine, fuel)?;
                let replaced = self.code.regions[exit.region as usize].replaced;
                let region = match exact {
                    true => replaced,
                    false => Some(exit.region),
                };
                return Ok(region.and_then(|region| self.inside(region, wave)));
            }
        }
        Ok(None)
    }

    /// Where a wave that has not run begins, if what its registers have in common is what that code is for.
    fn first(&mut self, wave: &WaveState, machine: &Machine<'_>) -> Option<CodePointer> {
        let entry = Some(EntryVgprs::of(wave));
        let key = Key {
            entry,
            ..Key::plain(wave.pc, wave.mode, wave.vgprs.len() as u16)
        };
        if !self.code.entries.contains_key(&key) && self.may_compile(key.mode) {
            self.steps = steps(wave);
            self.compile(key, Scalars::of(&wave.sgprs), machine, self.testing.exact);
            self.steps.clear();
        }
        let Some(&Entry::Code(at)) = self.code.entries.get(&key) else {
            return None;
        };
        let region = &self.code.regions[at.region() as usize];
        let affine = region.steps(key.pc).is_some_and(|steps| holds(steps, wave));
        (affine && self.fresh(at.region(), machine)).then_some(at)
    }

    /// Runs a wave: from an address in compiled code, if one is known.
    pub(crate) fn run_wave(
        &mut self,
        wave: &mut WaveState,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
        mut from: Option<CodePointer>,
    ) -> Stop {
        let begun = *fuel;
        let recorded = self.recorded == Some(true);
        if self.testing.as_workgroup
            && wave.clock == 0
            && from.is_none()
            && !recorded
            && !must_interpret(wave)
        {
            from = self.first(wave, machine);
        }
        if from.is_none() {
            match self.resume(wave, machine, fuel) {
                Ok(at) => from = at,
                Err(stop) => return stop,
            }
        }
        loop {
            let at = if let Some(at) = from.take() {
                at
            } else {
                let key = Key::plain(wave.pc, wave.mode, wave.vgprs.len() as u16);
                let entry = match self.code.entries.get(&key).copied() {
                    _ if recorded || must_interpret(wave) || wave.vgprs.is_empty() => {
                        Entry::Interpret
                    }
                    Some(entry) => entry,
                    None if !self.may_compile(wave.mode) => Entry::Interpret,
                    None => {
                        self.compile_around(key, Scalars::of(&wave.sgprs), machine);
                        continue;
                    }
                };
                let Entry::Code(at) = entry else {
                    if let Some(stop) = self.interpret_one(wave, machine, fuel) {
                        return stop;
                    }
                    continue;
                };
                if !self.fresh(at.region(), machine) {
                    continue;
                }
                at
            };
            let exit = match self.testing.compare {
                true => match self.checked(at, wave, machine, fuel) {
                    Some(exit) => exit,
                    None => continue,
                },
                false => self.enter(at, wave, machine, fuel),
            };
            match self.after_exit(exit, wave, machine, begun, fuel) {
                Ok(at) => from = at,
                Err(stop) => return stop,
            }
        }
    }

    /// As [`Jit::enter`], for one block, which is compared with the interpreter. `None` if the wave continues.
    fn checked(
        &mut self,
        at: CodePointer,
        wave: &mut WaveState,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> Option<Exit> {
        let region = &self.code.regions[at.region() as usize];
        let insns = region.blocks.iter().find(|c| c.2 == at.at());
        let insns = insns.map_or(0, |c| c.3) as u64;
        if insns > *fuel {
            return Some(self.enter(at, wave, machine, fuel));
        }
        let (from, before) = (wave.clone(), machine.lds.clone());
        let mut left = insns;
        let exit = self.enter(at, wave, machine, &mut left);
        *fuel -= insns - left;
        let (start, end, ..) = self.code.regions[exit.region as usize].blocks[exit.block()];
        let why = exit.why();
        if matches!(
            why,
            x64::EXIT_RESTART | x64::EXIT_NOT_AFFINE | x64::EXIT_ALONE | x64::EXIT_WIDE
        ) {
            // The state that the block reads must be unchanged.
            let mut ends = [&from, &*wave].map(|wave| {
                let (mut wave, mut lds, mut fuel) = (wave.clone(), before.clone(), insns);
                wave.pc = start;
                let lds = &mut lds;
                let mut machine = Machine { lds, ..*machine };
                let stop = self.interp.run(&mut wave, &mut machine, &mut fuel);
                (wave, stop)
            });
            let [(a, stop), (b, other_stop)] = &mut ends;
            b.clock = a.clock;
            assert_eq!(stop, other_stop);
            check(&from, b, a, machine, stop);
        } else if self.stopped.is_none() {
            let (mut other, mut lds, mut spent) = (from.clone(), before, insns - left);
            let mut surroundings = Machine {
                lds: &mut lds,
                ..*machine
            };
            let stop = self.interp.run(&mut other, &mut surroundings, &mut spent);
            let mut now = wave.clone();
            now.pc = match why {
                x64::EXIT_LEAVE | x64::EXIT_FUEL => start,
                x64::EXIT_END => end - 4,
                x64::EXIT_BARRIER => end,
                _ => now.pc,
            };
            check(&from, &now, &other, machine, &stop);
            assert!(*machine.lds == lds, "LDS differs after {:#x}", from.pc);
            if why == x64::EXIT_FUEL {
                wave.pc = start;
                return None;
            }
        }
        Some(exit)
    }
}
