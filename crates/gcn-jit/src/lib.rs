//! GCN machine code compiled to x86-64 as it runs: the second engine beside the interpreter, from the same meanings.
//!
//! A *unit* is what can be reached from an address by direct jumps. It is lowered to chunks (`lower`), whose values are a
//! graph (`ir`), and emitted as AVX-512 or AVX2 code (`emit`) that works on the wave's own state. Whatever has no code of its
//! own the interpreter does, an instruction at a time, and so it does with a chunk in which something went wrong.
//! On other hosts than x86-64 this crate is empty.
#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code)]

mod asm;
mod cache;
#[cfg(test)]
mod code_hashes;
mod ctx;
mod emit;
mod fast;
mod group;
mod half;
mod ir;
mod level;
mod lower;
mod profile;
mod rare;
mod series;
mod whole;

pub use cache::{Cache, ChunkPlace, Kept};
use cache::{Compiled, Key, Known, Library, Made, Table};
use ctx::{Ctx, Turn};
use gcn_emu::engine::{Code, EXACT_SLICE, Engine, EntryVgprs, Machine, Stop, instruction};
use gcn_emu::group::{Group, GroupStop, Groups, next_turn};
use gcn_emu::interp::Interp;
use gcn_emu::mem::{ALIAS, LDS_MOST, MAPPED, PAGE_SIZE};
use gcn_emu::wave::{WaveState, mode, status};
use gcn_isa::Target;
use gcn_isa::access::FactTable;
use gcn_isa::decode::Insn;
use gcn_isa::flow::Flow;
use gcn_isa::target::TABLES;
use group::Needs;
pub use level::Level;
use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

pub use profile::{Piece, Report, Tally, UnitCode, name_of, tick_cost, ticks};

/// Instructions that a wave runs before another one's turn: waves that wait for others waste no more.
const SLICE: u64 = 1 << 18;

/// So often a unit's chunks are begun again before it is compiled for code that meets NaNs.
const NANS: u32 = 32;

/// MODEs that code is compiled for, in a dispatch: a program has few, and code for one is of no use to another.
const MODES: usize = 32;

/// Instructions that are compiled in a dispatch, however few of them run; and how many have to run for each further one. To
/// compile an instruction takes about as long as to interpret so many, so no program makes compiling take longer than running.
const COMPILED: u64 = 1 << 18;
const RUN_FOR_COMPILED: u64 = 256;

/// What an address stands for.
#[derive(Clone, Copy)]
enum Place {
    /// Code of a unit begins here.
    Code(At),
    /// The middle of a chunk, or nothing that can be compiled.
    Interpret,
}

/// A place in compiled code: the unit's number in the upper half, where in its code in the lower one. Each unit's code
/// begins with something else.
#[derive(Clone, Copy)]
struct At(NonZeroU64);

impl At {
    fn new(unit: u32, at: u32) -> Option<At> {
        NonZeroU64::new((unit as u64) << 32 | at as u64).map(At)
    }

    fn unit(self) -> u32 {
        (self.0.get() >> 32) as u32
    }

    fn is(self, other: At) -> bool {
        self.0 == other.0
    }

    fn at(self) -> usize {
        self.0.get() as u32 as usize
    }
}

/// How compiled code has come back.
#[derive(Clone, Copy)]
struct Exit {
    /// What it gave: one of the reasons in [`emit`], and the chunk's number.
    word: u64,
    unit: u32,
}

impl Exit {
    fn why(self) -> u64 {
        self.word & 0xff
    }

    fn chunk(self) -> usize {
        (self.word >> 8) as usize
    }

    /// Whether the chunk is run again, by the interpreter or later: then it did not happen.
    fn undone(self, stopped: &Option<Stop>) -> bool {
        match self.why() {
            emit::EXIT_RESTART | emit::EXIT_LINEAR | emit::EXIT_ALONE => true,
            emit::EXIT_STOP => matches!(stopped, Some(Stop::Retry | Stop::Fault(_))),
            _ => false,
        }
    }
}

/// What the engine has done.
#[derive(Clone, Copy, Debug, Default)]
pub struct JitStats {
    /// Units compiled.
    pub units: u64,
    /// Units that were too much for the emitter: the interpreter runs them.
    pub refused: u64,
    /// Instructions in them.
    pub insns: u64,
    /// Chunks of them that have a way for waves all of whose lanes are on.
    pub full: u64,
    /// Bytes of code.
    pub bytes: u64,
    /// Time spent in compiling.
    pub compiling: Duration,
    /// Chunks that the interpreter ran again.
    pub restarts: u64,
    /// Chunks that were left because what was to be linear in the lane was not.
    pub nonlinear: u64,
    /// Instructions that the interpreter ran.
    pub interpreted: u64,
    /// Instructions in all.
    pub executed: u64,
    /// Waves after whose end the next one started without leaving compiled code.
    pub in_series: u64,
}

/// The compiling engine of one host thread.
pub struct Jit {
    interp: Interp,
    units: Vec<Known>,
    places: Table<Place>,
    /// Where its units come from.
    library: Library,
    /// Counts the dispatches that it served: code is looked at again in each.
    session: u64,
    level: Level,
    ctx: Box<Ctx>,
    /// Counts for reports.
    pub stats: JitStats,
    /// What the interpreter ran, by name, where somebody wants to know: looking it up takes time.
    pub names: Option<HashMap<&'static str, u64>>,
    all_live: bool,
    /// Of code that is no program, too, only the registers that matter are written: for tests.
    #[doc(hidden)]
    pub lean: bool,
    /// Code is compiled for NaNs from the first: for tests.
    #[doc(hidden)]
    pub exact: bool,
    /// A wave that has not run begins as one of a workgroup does, and all of its VGPRs that are linear in the lane are
    /// known to be: for tests.
    #[doc(hidden)]
    pub looks: bool,
    /// The steps of the VGPRs of such a wave.
    steps: Vec<(u16, i32)>,
    /// Each chunk is compared with the interpreter: for tests.
    check: bool,
    /// Float exceptions are seen by the program, which the interpreter records.
    recorded: Option<bool>,
    /// What is counted, if it is to.
    counts: Option<Box<profile::Counts>>,
    /// Of a workgroup's waves that wait at a barrier, or come from one, where they go on.
    turns: Vec<Turn>,
    /// Where the wave that came to a barrier last goes on, and the unit.
    behind: Option<(*const u8, u32)>,
    /// Where the waves of a workgroup, by their numbers, began last in this session, and the `Like` that they were.
    entered: Vec<Option<(u64, At)>>,
    /// What the waves of workgroups start from that were run in series last.
    row: Option<Box<series::Like>>,
    /// Why the interpreter stopped a wave in compiled code.
    stopped: Option<Stop>,
    /// Its units are not all what memory holds.
    stale: bool,
    /// The library's count of times when units were dropped, when this engine last dropped its own.
    dropped: u64,
    /// What it has compiled in this session.
    spent: Spent,
    /// Turns end exactly where they are to, and have [`EXACT_SLICE`].
    exact_turns: bool,
}

/// What an engine has compiled in a session.
#[derive(Default)]
struct Spent {
    /// For which MODEs.
    modes: Vec<u32>,
    /// How many instructions.
    compiled: u64,
    /// How many the engine had executed before.
    executed: u64,
}

// SAFETY: the context's raw pointers are set at the beginning of each run and used during it only.
unsafe impl Send for Jit {}

impl Default for Jit {
    fn default() -> Jit {
        Jit::new()
    }
}

/// What helpers need.
struct Host<'a, 'm> {
    interp: &'a mut Interp,
    machine: &'a mut Machine<'m>,
    stop: &'a mut Option<Stop>,
    interpreted: &'a mut u64,
    slice: u64,
    names: &'a mut Option<HashMap<&'static str, u64>>,
}

/// The context of compiled code, and what its helpers need.
///
/// # Safety
/// `ctx` is the context of a run under way, whose host outlives the result, and nothing else uses the two meanwhile.
unsafe fn parts<'c>(ctx: *mut Ctx) -> (&'c mut Ctx, &'c mut Host<'c, 'c>) {
    // SAFETY: the caller's.
    unsafe {
        let ctx = &mut *ctx;
        let host = &mut *(ctx.host as *mut Host<'_, '_>);
        (ctx, host)
    }
}

/// Runs one instruction. Not 0: `stop` says why the wave does not go on, or it has jumped.
extern "sysv64" fn interpret(ctx: *mut Ctx, pc: u64) -> u64 {
    // SAFETY: `ctx` and what it points at are those of the run that called the code that called this; nothing else uses
    // them meanwhile.
    let (ctx, host, wave) = unsafe {
        let (ctx, host) = parts(ctx);
        let wave = &mut *ctx.wave;
        (ctx, host, wave)
    };
    wave.pc = pc;
    if !ctx.series.row.is_null() {
        // The wave has to be in a state of its own.
        return 1;
    }
    if let Some(names) = host.names
        && let Some(insn) = fetch(host.machine, pc)
    {
        *names.entry(insn.row.name).or_default() += 1;
    }
    let mut fuel = 1;
    // SAFETY: the turn is that of the wave, which nobody else looks at now.
    let late = unsafe { std::mem::take(&mut (*ctx.turn).late) };
    wave.clock += 4 * (ctx.synced - ctx.fuel + late) as u64;
    let stop = host.interp.run(wave, host.machine, &mut fuel);
    *host.interpreted += 1 - fuel;
    ctx.fuel -= 1 - fuel as i64;
    ctx.synced = ctx.fuel;
    // It may have another priority now, and so other turns.
    // SAFETY: as above.
    unsafe { (*ctx.turn).again = next_turn(wave, host.slice) as u32 };
    match stop {
        Stop::Limit => 0,
        stop => {
            *host.stop = Some(stop);
            1
        }
    }
}

fn lanes(ctx: &Ctx) -> impl Iterator<Item = usize> + use<> {
    let on = ctx.lanes_on;
    (0..16).filter(move |l| on >> l & 1 != 0)
}

/// Loads lane by lane. Not 0: something else must do it.
extern "sysv64" fn load(ctx: *mut Ctx, what: u64) -> u64 {
    // SAFETY: as in `interpret`.
    let (ctx, host) = unsafe { parts(ctx) };
    let (bytes, count, lds) = (what & 0xff, what >> 8 & 0xff, what >> 16 & 1 != 0);
    let offset = (what >> 32) as i32;
    for part in 0..count as usize {
        for lane in lanes(ctx) {
            let lo = ctx.addresses[0].0[lane];
            let hi = ctx.addresses[1].0[lane];
            let value = if lds {
                let at = lo
                    .wrapping_add(offset as u32)
                    .wrapping_add(part as u32 * bytes as u32) as usize;
                let end = at as u64 + bytes;
                let lds = &**host.machine.lds;
                if end <= hi as u64 && end <= lds.len() as u64 {
                    lds[at..at + bytes as usize]
                        .iter()
                        .rev()
                        .fold(0, |v, &b| v << 8 | b as u32)
                } else {
                    0
                }
            } else {
                let at = (lo as u64 | (hi as u64) << 32)
                    .wrapping_add_signed(offset as i64 + (part as u64 * bytes) as i64);
                let got = match bytes {
                    1 => host.machine.memory.load_u8(at).map(u32::from),
                    2 => host.machine.memory.load_u16(at).map(u32::from),
                    _ => host.machine.memory.load_u32(at),
                };
                if what >> 17 & 1 != 0 && aperture(ctx, at) {
                    return 1;
                }
                match got {
                    Ok(v) => v,
                    Err(_) => return 1,
                }
            };
            ctx.data[part].0[lane] = value;
        }
    }
    0
}

/// Pages that [`range`] remembers on each side of an access.
const BESIDE: u64 = 1 << 12;

/// Pages that [`around`] remembers on each side of lanes' accesses, and at most between the lanes.
const AROUND: u64 = 1 << 16;

// Lanes are as far from the beginning of a range that is remembered as 32 bits with a sign say, however much an access reaches.
const _: () = assert!((3 * AROUND + 1) * PAGE_SIZE + (1 << 16) <= 1 << 31);
// An access looks at the bytes of a page and of the three behind it.
const _: () = assert!(gcn_emu::mem::LEAST_PAGES > 3);

/// Finds out whether the four slices' part of a linear access, as far as they have lanes that are on, may be accessed,
/// and notes how far around them memory is like that. Not 0: it is not.
extern "sysv64" fn range(ctx: *mut Ctx, what: u64) -> u64 {
    // SAFETY: as in `interpret`.
    let (ctx, wave) = unsafe {
        let (ctx, _) = parts(ctx);
        let wave = &*ctx.wave;
        (ctx, wave)
    };
    let (address, need, place) = (what & 0xff, MAPPED | (what >> 8) as u8, what >> 16 & 0xffff);
    // Where lanes that are off are not accessed: bytes from lane to lane, up or down.
    let step = (what >> 32) as i32;
    let apart = step.unsigned_abs() as u64;
    let [from, to] = ctx.asked.map(|n| n as i64 as u64);
    let mut run = None;
    for slice in 0..4 {
        let on = (wave.exec() >> (16 * slice)) as u16;
        if on == 0 {
            continue;
        }
        let base = match ctx.host_bits {
            u64::MAX => ctx.bases[address as usize][slice].wrapping_sub(ctx.bias),
            _ => ctx.guest_bases[slice],
        };
        let start = base.wrapping_sub(ctx.linear_base);
        let (mut below, mut above) = (on.trailing_zeros() as u64, on.leading_zeros() as u64);
        if step < 0 {
            (below, above) = (above, below);
        }
        if (base ^ base.wrapping_add(from)) & !ctx.host_bits != 0 {
            return 1;
        }
        let first = start.wrapping_add(from).wrapping_add(apart * below);
        let last = start.wrapping_add(to).wrapping_sub(1 + apart * above);
        if first > last || last >= ctx.linear_bytes {
            return 1;
        }
        let (first, last) = (first / PAGE_SIZE, last / PAGE_SIZE);
        if run.is_some_and(|(low, high)| low <= first && last < high) {
            continue;
        }
        let Some((low, high)) = pages_around(ctx, first, last, need, BESIDE) else {
            return 1;
        };
        run = Some((low, high));
    }
    // Another place's range must not be taken for this one's.
    ctx.ranges[place as usize] = [0; 2];
    if let Some((low, high)) = run {
        let start = (ctx.linear_base + low * PAGE_SIZE).wrapping_sub(from);
        let bytes = (high - low) * PAGE_SIZE;
        let span = to.wrapping_sub(from);
        ctx.ranges[place as usize] = [start, (bytes + 1).saturating_sub(span)];
    }
    0
}

/// The pages around these, up to `far` on each side, that may all be accessed as `need` says: the first, and the one behind the
/// last. Nothing where that is not so of these themselves.
fn pages_around(ctx: &Ctx, first: u64, last: u64, need: u8, far: u64) -> Option<(u64, u64)> {
    let pages = ctx.linear_bytes / PAGE_SIZE;
    let allowed = |page: u64| {
        // SAFETY: there are as many bytes, which live as long as the memory that the run borrows; others change them by
        // atomic stores only.
        page < pages && unsafe { ctx.pages.add(page as usize).read_volatile() } & need == need
    };
    if !(first..=last).all(allowed) {
        return None;
    }
    let least = first.saturating_sub(far);
    let below = (least..first).rev().find(|&p| !allowed(p));
    let most = (last + 1 + far).min(pages);
    let above = (last + 1..most).find(|&p| !allowed(p));
    Some((below.map_or(least, |p| p + 1), above.unwrap_or(most)))
}

/// Finds out whether lanes' addresses lie in one run of memory that may be accessed, and notes as much of it as may be
/// reached from there. Not 0: they do not.
extern "sysv64" fn around(ctx: *mut Ctx, what: u64) -> u64 {
    // SAFETY: as in `interpret`.
    let (ctx, _) = unsafe { parts(ctx) };
    let (bytes, need, place) = (what & 0xff, MAPPED | (what >> 8) as u8, what >> 16 & 0xffff);
    let offset = (what >> 32) as i32 as i64;
    // Another place's range must not be taken for this one's.
    ctx.ranges[place as usize] = [0; 2];
    let address = |lane: usize| {
        let [lo, hi] = [0, 1].map(|k| ctx.addresses[k].0[lane] as u64);
        (lo | hi << 32).wrapping_add_signed(offset)
    };
    let Some(first) = lanes(ctx).map(address).min() else {
        return 1;
    };
    let last = lanes(ctx).map(address).max().unwrap_or(first);
    let inside = |at: u64| {
        at.checked_sub(ctx.linear_base)
            .filter(|&at| at < ctx.linear_bytes)
    };
    let (Some(low), Some(high)) = (inside(first), last.checked_add(bytes - 1).and_then(inside))
    else {
        return 1;
    };
    let (low, high) = (low / PAGE_SIZE, high / PAGE_SIZE);
    if high - low > AROUND {
        return 1;
    }
    let Some((begin, end)) = pages_around(ctx, low, high, need, AROUND) else {
        return 1;
    };
    // Where accesses begin, without the constant; of one upper half of addresses alone.
    let base = |page: u64| (ctx.linear_base + page * PAGE_SIZE).wrapping_add_signed(-offset);
    let (mut start, past) = (base(begin), base(end).wrapping_sub(bytes - 1));
    let first = first.wrapping_add_signed(-offset);
    if start >> 32 != first >> 32 {
        start = first >> 32 << 32;
    }
    let upper = (start >> 32 << 32) + (1 << 32);
    let count = past.min(upper).wrapping_sub(start);
    if (start ^ start.wrapping_add_signed(offset)) & !ctx.host_bits != 0 {
        return 1;
    }
    let far = last.wrapping_add_signed(-offset).wrapping_sub(start) >= count;
    if far || first < start {
        return 1;
    }
    ctx.ranges[place as usize] = [start, count];
    0
}

/// Whether a flat address is one of LDS or scratch.
fn aperture(ctx: &Ctx, at: u64) -> bool {
    // SAFETY: as in `interpret`.
    let wave = unsafe { &*ctx.wave };
    let top = at >> 32 << 32;
    top == wave.shared_base() || top == wave.private_base()
}

/// Stores lane by lane.
extern "sysv64" fn store(ctx: *mut Ctx, what: u64) -> u64 {
    // SAFETY: as in `interpret`.
    let (ctx, host) = unsafe { parts(ctx) };
    let (bytes, count, lds) = (what & 0xff, what >> 8 & 0xff, what >> 16 & 1 != 0);
    let offset = (what >> 32) as i32;
    // Every lane's first element is written before any lane's second one. Where all lanes' places are multiples of their
    // size, two of them that meet are the same, and the order of the lanes is all that counts.
    let size = (bytes * count) as u32;
    let meets = |ctx: &Ctx, lane: usize| {
        !ctx.addresses[0].0[lane]
            .wrapping_add(offset as u32)
            .is_multiple_of(size)
    };
    if count > 1 && (!size.is_power_of_two() || lanes(ctx).any(|lane| meets(ctx, lane))) {
        return 1;
    }
    for part in 0..count as usize {
        for lane in lanes(ctx) {
            let lo = ctx.addresses[0].0[lane];
            let hi = ctx.addresses[1].0[lane];
            let value = ctx.data[part].0[lane];
            if lds {
                let at = lo
                    .wrapping_add(offset as u32)
                    .wrapping_add(part as u32 * bytes as u32) as usize;
                let end = at as u64 + bytes;
                let lds = &mut **host.machine.lds;
                if end <= hi as u64 && end <= lds.len() as u64 {
                    lds[at..at + bytes as usize]
                        .copy_from_slice(&value.to_le_bytes()[..bytes as usize]);
                }
                continue;
            }
            let at = (lo as u64 | (hi as u64) << 32)
                .wrapping_add_signed(offset as i64 + (part as u64 * bytes) as i64);
            if what >> 17 & 1 != 0 && aperture(ctx, at) {
                return 1;
            }
            let done = match bytes {
                1 => host.machine.memory.store_u8(at, value as u8),
                2 => host.machine.memory.store_u16(at, value as u16),
                _ => host.machine.memory.store_u32(at, value),
            };
            if done.is_err() {
                return 1;
            }
        }
    }
    0
}

/// Evaluates what a short way is not right for. Not 0: the interpreter must run the chunk.
extern "sysv64" fn rare(ctx: *mut Ctx, what: u64) -> u64 {
    // SAFETY: as in `interpret`; and `what` is the address of a call that the unit keeps whose code called this.
    let (ctx, call) = unsafe {
        let (ctx, _) = parts(ctx);
        (ctx, &*(what as *const rare::Call))
    };
    !call.run(&mut ctx.data, ctx.lanes_on) as u64
}

/// What is known of a target's rows, found out once a process.
fn facts(target: Target) -> &'static FactTable {
    static FACTS: [OnceLock<FactTable>; TABLES] = [const { OnceLock::new() }; TABLES];
    FACTS[target.table()].get_or_init(|| FactTable::new(target))
}

/// Whether this host runs code of some level.
pub fn available() -> bool {
    Level::best().is_some()
}

/// Whether VGPRs are linear in each 16 lanes with these steps.
fn holds(steps: &[(u16, i32)], wave: &WaveState) -> bool {
    steps.iter().all(|&(n, step)| {
        let slices = wave.vgprs[n as usize].chunks(16);
        let pairs = slices.flat_map(|s| s.windows(2));
        pairs
            .into_iter()
            .all(|w| w[1].wrapping_sub(w[0]) == step as u32)
    })
}

/// The VGPRs that are linear in each 16 lanes, with their steps.
fn steps(wave: &WaveState) -> Vec<(u16, i32)> {
    let step = |v: &[u32; 64]| {
        let step = v[1].wrapping_sub(v[0]);
        let linear = |s: &[u32]| s.windows(2).all(|w| w[1].wrapping_sub(w[0]) == step);
        v.chunks(16).all(linear).then_some(step as i32)
    };
    let vgprs = wave.vgprs.iter().enumerate();
    vgprs
        .filter_map(|(n, v)| Some((n as u16, step(v)?)))
        .collect()
}

fn fetch(machine: &Machine<'_>, pc: u64) -> Option<Insn> {
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
        ctx.interpret = interpret as *const () as usize;
        ctx.load = load as *const () as usize;
        ctx.store = store as *const () as usize;
        ctx.rare = rare as *const () as usize;
        ctx.whole = whole::whole as *const () as usize;
        ctx.range = range as *const () as usize;
        ctx.around = around as *const () as usize;
        Jit {
            interp: Interp::new(),
            units: Vec::new(),
            places: Table::default(),
            library: Library::default(),
            session: 0,
            level,
            ctx,
            stats: JitStats::default(),
            names: None,
            all_live: false,
            lean: false,
            exact: false,
            looks: false,
            steps: Vec::new(),
            check: false,
            recorded: None,
            counts: None,
            turns: Vec::new(),
            behind: None,
            entered: Vec::new(),
            row: None,
            stopped: None,
            stale: false,
            dropped: 0,
            spent: Spent::default(),
            exact_turns: false,
        }
    }

    /// One that takes its code from a library, and puts it there.
    fn sharing(library: Library, level: Level, counts: bool) -> Jit {
        Jit {
            library,
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

    /// What it has compiled, and counted if it is to.
    pub fn report(&self) -> Report {
        let counts = self.counts.as_deref();
        let mut report = counts.map(|c| c.before.clone()).unwrap_or_default();
        for (n, unit) in self.units.iter().enumerate() {
            report.join(Report {
                units: vec![unit.look(counts.map_or(&[], |c| c.of(n)))],
                ..Report::default()
            });
        }
        report
    }

    /// Forgets its units, but what was counted of them.
    fn forget_units(&mut self) {
        if self.counts.is_some() {
            self.counts = Some(Box::new(profile::Counts::behind(self.report())));
        }
        self.units.clear();
        self.stale = false;
    }

    /// Another dispatch begins.
    fn begin_session(&mut self) {
        if self.stale {
            self.places.clear();
            self.forget_units();
        }
        self.forget_entries();
        self.session += 1;
        self.recorded = None;
        self.interp.forget();
        self.begin_spending();
    }

    fn begin_spending(&mut self) {
        self.spent.modes.clear();
        self.spent.compiled = 0;
        self.spent.executed = self.stats.executed;
    }

    /// Whether code for this MODE may be compiled: the program has had few MODEs, and has run long enough for what was compiled.
    /// Otherwise the interpreter runs it.
    fn may_compile(&mut self, mode: u32) -> bool {
        let spent = &mut self.spent;
        let run = self.stats.executed - spent.executed;
        if spent.compiled > COMPILED + run / RUN_FOR_COMPILED {
            return false;
        }
        if !spent.modes.contains(&mode) {
            if spent.modes.len() == MODES {
                return false;
            }
            spent.modes.push(mode);
        }
        true
    }

    /// Drops its units if the library did, where no wave is in one.
    fn tidy(&mut self) {
        let dropped = self.library.dropped();
        if self.dropped != dropped {
            self.dropped = dropped;
            self.forget_places();
            self.forget_units();
        }
    }

    /// The same engine, which compares each chunk with the interpreter and panics where they differ. Memory that others
    /// write meanwhile would disturb it.
    pub fn checking(self) -> Jit {
        Jit {
            check: true,
            all_live: true,
            ..self
        }
    }

    /// Finds or makes the unit of a key. `sgprs` are those of a wave that came there. `exact`: for code that meets NaNs, in
    /// the place of what there is.
    fn compile(&mut self, key: Key, sgprs: &[u32; 128], machine: &Machine<'_>, exact: bool) {
        let library = self.library.clone();
        let make = || self.make(key, sgprs, machine, exact);
        match cache::get(&library, key, exact, machine, make) {
            Made::Nothing(those) => {
                for &pc in &*those {
                    let here = (pc, key.1, key.2, key.3);
                    self.places.entry(here).or_insert(Place::Interpret);
                }
                self.places.entry(key).or_insert(Place::Interpret);
            }
            Made::Unit(unit) => {
                let number = self.units.len() as u32;
                let place = |at| At::new(number, at).map_or(Place::Interpret, Place::Code);
                if key.3.is_some() {
                    // Its other chunks are not come to from outside.
                    self.places.insert(key, place(unit.first));
                } else {
                    for &(start, end, at, insns) in &unit.chunks {
                        let here = |pc| (pc, key.1, key.2, None);
                        if insns > 0 && exact {
                            self.places.insert(here(start), place(at as u32));
                        } else if insns > 0 {
                            let at = place(at as u32);
                            self.places.entry(here(start)).or_insert(at);
                        }
                        // Of jumps to the last dword of all there is, a range has none behind it.
                        for inner in (start..end).step_by(4).skip(1) {
                            self.places.entry(here(inner)).or_insert(Place::Interpret);
                        }
                    }
                    self.places.entry(key).or_insert(Place::Interpret);
                }
                self.units.push(Known::new(unit, self.session));
            }
        }
    }

    fn make(&mut self, key: Key, sgprs: &[u32; 128], machine: &Machine<'_>, exact: bool) -> Made {
        let begun = Instant::now();
        let facts = facts(machine.target);
        let (pc, mode, vgprs, entry) = key;
        let mut setting = lower::Setting {
            target: machine.target,
            mode,
            vgprs,
            all_live: self.all_live || matches!(machine.code, Code::Snippet(..)),
            keep_all: self.check || !self.lean && matches!(machine.code, Code::Snippet(..)),
            entry,
            // AVX2 code has no linear values.
            linear: entry.is_some() && self.level != Level::Avx2,
            steps: self.steps.clone(),
            sgprs: *sgprs,
            facts,
            fetch: &|pc| fetch(machine, pc),
        };
        let counts = self.counts.is_some();
        let mut unit = lower::unit(pc, &setting);
        let needs = Needs::of(&unit, vgprs);
        let series = (entry.is_some() && !counts && needs.few()).then_some(&needs);
        let style = emit::Style {
            level: self.level,
            tally: counts,
            exact,
            aliased: machine.memory.is_of_host(),
        };
        let mut emitted = emit::emit(&unit, mode, style, series);
        if emitted.is_none() && setting.linear {
            // There may be room for less.
            setting.linear = false;
            unit = lower::unit(pc, &setting);
            emitted = emit::emit(&unit, mode, style, series);
        }
        // Also where nothing comes of it: it takes as long.
        self.spent.compiled += unit.chunks.iter().map(|c| c.insns as u64).sum::<u64>();
        let Some(emitted) = emitted else {
            self.stats.refused += 1;
            return Made::Nothing(unit.chunks.iter().map(|c| c.start).collect());
        };
        let bytes = emitted.code.len();
        let Some(made) = Compiled::new(key, &unit, emitted, needs, exact, machine) else {
            return Made::Nothing([pc].into());
        };
        self.stats.units += 1;
        self.stats.full += unit.chunks.iter().filter(|c| c.full.is_some()).count() as u64;
        self.stats.insns += unit.chunks.iter().map(|c| c.insns as u64).sum::<u64>();
        self.stats.bytes += bytes as u64;
        self.stats.compiling += begun.elapsed();
        Made::Unit(Arc::new(made))
    }

    /// The code of the last unit, for tools: bytes, and of each chunk its address and where its code begins.
    pub fn last_code(&self) -> Option<(&[u8], &[ChunkPlace])> {
        self.units.last().map(|u| (&u.code[..], &u.chunks[..]))
    }

    /// One instruction by the interpreter.
    fn one(
        &mut self,
        wave: &mut WaveState,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> Option<Stop> {
        if *fuel == 0 {
            // It may have ended already.
            return Some(self.interp.run(wave, machine, fuel));
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
        // Who steps looks on: at registers that nothing reads any more, and at each store.
        let stop = if before == 1 {
            self.one(wave, machine, fuel).unwrap_or(Stop::Limit)
        } else {
            self.tidy();
            self.recorded(machine);
            self.surround(machine);
            self.go(wave, machine, fuel, None)
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
        self.tidy();
        self.together(group, machine, fuel)
    }

    fn groups(
        &mut self,
        groups: &mut Groups<'_>,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> GroupStop {
        self.tidy();
        self.in_series(groups, machine, fuel)
    }

    fn slice(&self) -> u64 {
        match self.exact_turns {
            true => EXACT_SLICE,
            false => SLICE,
        }
    }

    fn exactly(&mut self, exact: bool) {
        self.exact_turns = exact;
    }

    fn forget(&mut self) {
        cache::clear(&self.library);
        self.forget_places();
        self.forget_units();
        self.recorded = None;
        self.begin_spending();
    }
}

/// Whether a wave is in a state in which its instructions are interpreted.
fn rarely(wave: &WaveState) -> bool {
    wave.mode & (mode::VSKIP | mode::EXCP_EN) != 0
        || wave.status & (status::HALT | status::PRIV) != 0
}

impl Jit {
    /// Forgets what code is where, which the library may know anew. Waves may still be in units.
    fn forget_places(&mut self) {
        self.interp.forget();
        self.places.clear();
        self.forget_entries();
        self.stale = true;
    }

    /// Whether the program sees float exceptions.
    fn recorded(&mut self, machine: &Machine<'_>) -> bool {
        *self
            .recorded
            .get_or_insert_with(|| gcn_emu::exceptions::visible(machine))
    }

    /// Forgets where waves begin.
    fn forget_entries(&mut self) {
        self.entered.clear();
        self.row = None;
    }

    /// Says in the context what surrounds the waves that are to run.
    fn surround(&mut self, machine: &mut Machine<'_>) {
        let linear = machine.memory.linear();
        let ctx = &mut *self.ctx;
        // SAFETY: it stores four bytes where there are four.
        unsafe {
            std::arch::asm!("stmxcsr [{}]", in(reg) &mut ctx.host_mxcsr, options(nostack, preserves_flags));
        }
        ctx.linear_base = linear.start;
        ctx.bias = (linear.base as u64).wrapping_sub(linear.start);
        ctx.host_bits = if linear.aliased { !ALIAS } else { u64::MAX };
        ctx.pages = linear.pages;
        ctx.linear_bytes = linear.bytes;
        let mapping = machine.memory.mapping();
        if ctx.mapping != mapping {
            ctx.mapping = mapping;
            ctx.ranges.fill([0; 2]);
        }
        ctx.lds = machine.lds.as_mut_ptr();
        ctx.lds_bytes = machine.lds.len() as u64;
        assert!(machine.lds.len() <= LDS_MOST && LDS_MOST < i32::MAX as usize);
        ctx.lds_places = std::array::from_fn(|dwords| {
            (ctx.lds_bytes + 1).saturating_sub(4 * dwords as u64) as u32
        });
    }

    /// Whether a unit is what memory holds, which is looked at once a dispatch. Otherwise all places are forgotten.
    fn fresh(&mut self, unit: u32, machine: &Machine<'_>) -> bool {
        let known = &mut self.units[unit as usize];
        if known.seen != self.session {
            known.seen = self.session;
            if !known.fresh(machine) {
                self.forget_places();
                return false;
            }
        }
        true
    }

    /// Runs a wave in compiled code until it comes back. What it came to is left in `fuel` and the wave.
    #[inline]
    fn enter(
        &mut self,
        at: At,
        wave: &mut WaveState,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> Exit {
        let given = (*fuel).min(i64::MAX as u64) as i64;
        let ctx = &mut *self.ctx;
        ctx.alone = Turn::NONE;
        ctx.turn = &mut ctx.alone;
        ctx.turns_end = ctx.turn.wrapping_add(1);
        ctx.series.turns = std::ptr::null_mut();
        ctx.wave = wave;
        ctx.vgprs = wave.vgprs.as_mut_ptr().cast();
        ctx.fuel = given;
        let unit = &self.units[at.unit() as usize];
        // It lies in the unit's code.
        let code = unit.code.as_ptr().wrapping_add(at.at());
        if let Some(counts) = &mut self.counts {
            counts.begin(at.unit() as usize, unit.chunks.len(), ctx);
        }
        // SAFETY: `code` is where one of the unit's chunks begins. The context's turn is its own; wave and VGPRs are those
        // of a wave that outlives the call.
        let exit = unsafe { self.call(at.unit(), code, machine) };
        if let Some(counts) = &mut self.counts {
            let undone = exit
                .undone(&self.stopped)
                .then(|| (exit.chunk(), wave.exec()));
            counts.end(at.unit() as usize, &self.ctx, undone);
        }
        *fuel -= (given - self.ctx.fuel) as u64;
        wave.clock += 4 * (self.ctx.synced - self.ctx.fuel) as u64;
        exit
    }

    /// Calls compiled code. The context says of which wave, with how much fuel, and which turns follow.
    ///
    /// # Safety
    /// `code` is where one of the unit's chunks begins for the context's wave; so is that of each turn that follows. The
    /// waves and their VGPRs outlive the call, and nobody else uses them meanwhile.
    #[inline]
    unsafe fn call(&mut self, unit: u32, code: *const u8, machine: &mut Machine<'_>) -> Exit {
        let ctx = &mut *self.ctx;
        ctx.synced = ctx.fuel;
        let mut host = Host {
            interp: &mut self.interp,
            machine,
            stop: &mut self.stopped,
            interpreted: &mut self.stats.interpreted,
            slice: if self.exact_turns { EXACT_SLICE } else { SLICE },
            names: &mut self.names,
        };
        ctx.host = &mut host as *mut Host<'_, '_> as usize;
        let base = self.units[unit as usize].code.as_ptr();
        // SAFETY: the code is that of a unit, whose first bytes are a function of this signature. It touches the context,
        // the registers of waves (the caller's), LDS within `lds_bytes` and guest memory whose pages it has looked up, all
        // of which outlive the call.
        let word = unsafe {
            let enter: extern "sysv64" fn(*mut Ctx, *const u8) -> u64 = std::mem::transmute(base);
            enter(ctx, code)
        };
        Exit { word, unit }
    }

    /// What follows when compiled code has come back: why the wave stops, or that it goes on, perhaps at a place that is
    /// known. `begun` is the fuel that its turn began with.
    fn left(
        &mut self,
        exit: Exit,
        wave: &mut WaveState,
        machine: &mut Machine<'_>,
        begun: u64,
        fuel: &mut u64,
    ) -> Result<Option<At>, Stop> {
        let unit = &self.units[exit.unit as usize];
        let (start, end, ..) = unit.chunks[exit.chunk()];
        match exit.why() {
            emit::EXIT_LEAVE => wave.pc = start,
            emit::EXIT_LINEAR => {
                wave.pc = start;
                self.stats.nonlinear += 1;
                let known = &mut self.units[exit.unit as usize];
                known.missed += 1;
                if known.missed > 64 && known.missed > known.begun / 4 {
                    // Waves that start had better begin in code that knows less.
                    let key = known.key;
                    self.places.insert(key, Place::Interpret);
                    self.forget_entries();
                }
            }
            emit::EXIT_STOP => {
                if let Some(stop) = self.stopped.take() {
                    return Err(stop);
                }
            }
            emit::EXIT_END => {
                wave.pc = end - 4;
                machine.global.ended(wave.number);
                return Err(Stop::Endpgm);
            }
            emit::EXIT_BARRIER => {
                wave.pc = end;
                self.behind = Some((self.ctx.alone.code, exit.unit));
                return Err(Stop::Barrier);
            }
            emit::EXIT_FUEL if self.exact_turns => {
                wave.pc = start;
                while *fuel > 0 {
                    if let Some(stop) = self.one(wave, machine, fuel) {
                        return Err(stop);
                    }
                }
                return Err(Stop::Limit);
            }
            emit::EXIT_FUEL if begun != *fuel => {
                // The rest is for the next turn, which begins where a chunk does.
                wave.pc = start;
                return Err(Stop::Limit);
            }
            which => {
                wave.pc = start;
                let again = which == emit::EXIT_RESTART;
                self.stats.restarts += again as u64;
                // Counted first: the wave may end in the chunk.
                let unit = &mut self.units[exit.unit as usize];
                unit.restarts += again as u32;
                let exact = unit.checks && unit.restarts >= NANS;
                let key = unit.key;
                if again && exact && unit.restarts == NANS && self.may_compile(key.1) {
                    let unit = &self.units[exit.unit as usize];
                    let steps = unit.steps(key.0).map(<[_]>::to_vec);
                    self.steps = steps.unwrap_or_default();
                    self.compile(key, &wave.sgprs, machine, true);
                    self.steps.clear();
                    self.forget_entries();
                }
                // The chunk on the interpreter, as far as the fuel goes.
                loop {
                    if let Some(stop) = self.one(wave, machine, fuel) {
                        return Err(stop);
                    }
                    if wave.pc <= start || wave.pc >= end {
                        break;
                    }
                }
                if exact {
                    return Ok(None);
                }
                let unit = &self.units[exit.unit as usize];
                // The interpreter leaves alone what is off.
                let linear = |pc| unit.steps(pc).is_some_and(|steps| holds(steps, wave));
                if unit.key.3.is_some() && wave.mode == unit.key.1 && linear(wave.pc) {
                    let at = unit.inside(wave.pc);
                    return Ok(at.and_then(|at| At::new(exit.unit, at)));
                }
            }
        }
        Ok(None)
    }

    /// Where a wave that has not run begins, if what its registers have in common is what that code is for.
    fn first(&mut self, wave: &WaveState, machine: &Machine<'_>) -> Option<At> {
        let entry = Some(EntryVgprs::of(wave));
        let key = (wave.pc, wave.mode, wave.vgprs.len() as u16, entry);
        if !self.places.contains_key(&key) && self.may_compile(key.1) {
            self.steps = steps(wave);
            self.compile(key, &wave.sgprs, machine, self.exact);
            self.steps.clear();
        }
        let Some(&Place::Code(at)) = self.places.get(&key) else {
            return None;
        };
        let unit = &self.units[at.unit() as usize];
        let linear = unit.steps(key.0).is_some_and(|steps| holds(steps, wave));
        (linear && self.fresh(at.unit(), machine)).then_some(at)
    }

    /// Runs a wave: from a place in compiled code, if one is known.
    fn go(
        &mut self,
        wave: &mut WaveState,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
        mut from: Option<At>,
    ) -> Stop {
        let begun = *fuel;
        let recorded = self.recorded == Some(true);
        if self.looks && wave.clock == 0 && from.is_none() && !recorded && !rarely(wave) {
            from = self.first(wave, machine);
        }
        loop {
            let at = if let Some(at) = from.take() {
                at
            } else {
                let key = (wave.pc, wave.mode, wave.vgprs.len() as u16, None);
                let place = match self.places.get(&key).copied() {
                    _ if recorded || rarely(wave) || wave.vgprs.is_empty() => Place::Interpret,
                    Some(place) => place,
                    None if !self.may_compile(wave.mode) => Place::Interpret,
                    None => {
                        self.compile(key, &wave.sgprs, machine, self.exact);
                        continue;
                    }
                };
                let Place::Code(at) = place else {
                    if let Some(stop) = self.one(wave, machine, fuel) {
                        return stop;
                    }
                    continue;
                };
                if !self.fresh(at.unit(), machine) {
                    continue;
                }
                at
            };
            let exit = match self.check {
                true => match self.checked(at, wave, machine, fuel) {
                    Some(exit) => exit,
                    None => continue,
                },
                false => self.enter(at, wave, machine, fuel),
            };
            match self.left(exit, wave, machine, begun, fuel) {
                Ok(at) => from = at,
                Err(stop) => return stop,
            }
        }
    }

    /// As [`Jit::enter`], for one chunk, which is compared with the interpreter. Nothing, if the wave simply goes on.
    fn checked(
        &mut self,
        at: At,
        wave: &mut WaveState,
        machine: &mut Machine<'_>,
        fuel: &mut u64,
    ) -> Option<Exit> {
        let unit = &self.units[at.unit() as usize];
        let insns = unit.chunks.iter().find(|c| c.2 == at.at());
        let insns = insns.map_or(0, |c| c.3) as u64;
        if insns > *fuel {
            return Some(self.enter(at, wave, machine, fuel));
        }
        let (from, before) = (wave.clone(), machine.lds.clone());
        let mut left = insns;
        let exit = self.enter(at, wave, machine, &mut left);
        *fuel -= insns - left;
        let (start, end, ..) = self.units[exit.unit as usize].chunks[exit.chunk()];
        let why = exit.why();
        if matches!(
            why,
            emit::EXIT_RESTART | emit::EXIT_LINEAR | emit::EXIT_ALONE
        ) {
            // What the chunk reads must be as it was.
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
                emit::EXIT_LEAVE | emit::EXIT_FUEL => start,
                emit::EXIT_END => end - 4,
                emit::EXIT_BARRIER => end,
                _ => now.pc,
            };
            check(&from, &now, &other, machine, &stop);
            assert!(*machine.lds == lds, "LDS differs after {:#x}", from.pc);
            if why == emit::EXIT_FUEL {
                wave.pc = start;
                return None;
            }
        }
        Some(exit)
    }
}

/// Panics where two waves that began as `from` differ.
fn check(
    from: &WaveState,
    jit: &WaveState,
    interp: &WaveState,
    machine: &Machine<'_>,
    stop: &Stop,
) {
    if jit == interp {
        return;
    }
    let mut text = String::new();
    let mut pc = from.pc;
    for _ in 0..400 {
        let Some(insn) = fetch(machine, pc) else {
            break;
        };
        text += &format!("{pc:#x}: {insn:?} ");
        gcn_isa::print::print(&insn, &gcn_isa::print::Style::LLVM, &mut text);
        text.push('\n');
        pc += insn.len as u64;
        if facts(machine.target).of(&insn).flow(&insn) != Flow::Next {
            break;
        }
    }
    for (n, (a, b)) in jit.vgprs.iter().zip(&interp.vgprs).enumerate() {
        for lane in 0..64 {
            if a[lane] != b[lane] {
                text += &format!(
                    "v{n}[{lane}]: jit {:#x}, interpreter {:#x}, before {:#x}\n",
                    a[lane], b[lane], from.vgprs[n][lane]
                );
                break;
            }
        }
    }
    for (n, (a, b)) in jit.sgprs.iter().zip(&interp.sgprs).enumerate() {
        if a != b {
            text += &format!(
                "s{n}: jit {a:#x}, interpreter {b:#x}, before {:#x}\n",
                from.sgprs[n]
            );
        }
    }
    text += &format!(
        "scc {} {}, pc {:#x} {:#x}, clock {} {}, exec before {:#x}, stop {stop:?}",
        jit.scc,
        interp.scc,
        jit.pc,
        interp.pc,
        jit.clock,
        interp.clock,
        from.exec()
    );
    panic!("compiled code differs after {:#x}:\n{text}", from.pc);
}
