//! GCN machine code compiled to x86-64 as it runs: the second engine beside the interpreter, from the same meanings.
//!
//! A *unit* is what can be reached from an address by direct jumps. It is lowered to chunks (`lower`), whose values are a
//! graph (`ir`), and emitted as AVX-512 or AVX2 code (`emit`) that works on the wave's own state. Whatever has no code of its
//! own the interpreter does, an instruction at a time, and so it does with a chunk in which something went wrong.
//! On other hosts than x86-64 this crate is empty.
#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code)]

mod asm;
mod ctx;
mod emit;
mod fast;

mod ir;
mod level;
mod lower;
mod profile;
mod rare;
mod whole;

pub use level::Level;

use ctx::Ctx;
use fast::Map;
use gcn_emu::engine::{Code, Engine, EntryVgprs, Machine, Stop, instruction};
use gcn_emu::interp::Interp;
use gcn_emu::mem::{MAPPED, PAGE_SIZE};
use gcn_emu::wave::{WaveState, mode, status};
use gcn_isa::Target;
use gcn_isa::access::FactTable;
use gcn_isa::decode::Insn;
use gcn_isa::flow::Flow;
use gcn_isa::target::TABLES;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub use profile::{Piece, Report, Tally, UnitCode, name_of, tick_cost, ticks};

/// Instructions that a wave runs before another one's turn: waves that wait for others waste no more.
const SLICE: u64 = 1 << 18;

/// A chunk: its address, the one behind it, where its code begins, its instructions.
pub type ChunkPlace = (u64, u64, usize, u32);

/// A compiled unit.
struct Compiled {
    code: memmap2::Mmap,
    /// Of each chunk: its address, the one behind it, where its code is.
    chunks: Vec<ChunkPlace>,
    /// The code that it was made of, and the session in which this was last found to be so.
    words: Vec<(u64, u32)>,
    seen: u64,
    /// What the code points at.
    _calls: Vec<Box<rare::Call>>,
    /// Where constants follow the code.
    end: usize,
    /// What it was compiled for.
    key: Key,
    /// Its chunks are begun again where they meet NaNs; and how often they were begun again.
    checks: bool,
    restarts: u32,
}

/// So often a unit's chunks are begun again before it is compiled for code that meets NaNs.
const NANS: u32 = 32;

/// What code depends on beside its bytes: its address, MODE, the VGPRs of the wave.
/// Code for
/// waves that start is for what their first VGPRs have in common, too.
type Key = (u64, u32, u16, Option<EntryVgprs>);

/// What an address stands for.
#[derive(Clone, Copy)]
enum Place {
    /// Code of a unit begins here.
    Code { unit: u32, at: u32 },
    /// The middle of a chunk, or nothing that can be compiled.
    Interpret,
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
}

/// The compiling engine of one host thread.
pub struct Jit {
    interp: Interp,
    units: Vec<Compiled>,
    places: Map<Key, Place>,
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
    /// VGPRs of a wave that starts are linear in the lane as they are found to be, all of them: for tests.
    #[doc(hidden)]
    pub looks: bool,
    /// Each chunk is compared with the interpreter: for tests.
    check: bool,
    /// Float exceptions are seen by the program, which the interpreter records.
    recorded: Option<bool>,
    /// What is counted, if it is to.
    counts: Option<Box<profile::Counts>>,
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
    stop: Option<Stop>,
    interpreted: u64,
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
    if let Some(names) = host.names
        && let Some(insn) = fetch(host.machine, pc)
    {
        *names.entry(insn.row.name).or_default() += 1;
    }
    let mut fuel = 1;
    wave.clock += 4 * (ctx.synced - ctx.fuel) as u64;
    let stop = host.interp.run(wave, host.machine, &mut fuel);
    host.interpreted += 1 - fuel;
    ctx.fuel -= 1 - fuel as i64;
    ctx.synced = ctx.fuel;
    match stop {
        Stop::Limit => 0,
        stop => {
            host.stop = Some(stop);
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
                let lds = &host.machine.lds.0;
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

/// Finds out whether the four slices' part of a linear access, as far as they have lanes that are on, may be accessed,
/// and notes how far around them memory is like that. Not 0: it is not.
extern "sysv64" fn range(ctx: *mut Ctx, what: u64) -> u64 {
    // SAFETY: as in `interpret`.
    let (ctx, wave) = unsafe {
        let (ctx, _) = parts(ctx);
        let wave = &*ctx.wave;
        (ctx, wave)
    };
    let (address, need, place) = (what & 0xff, MAPPED | (what >> 8) as u8, what >> 16);
    let [from, to] = ctx.asked.map(|n| n as i64 as u64);
    let pages = ctx.linear_bytes / PAGE_SIZE;
    let allowed = |page: u64| {
        // SAFETY: there are as many bytes, which live as long as the memory that the run borrows; others change them by
        // atomic stores only.
        page < pages && unsafe { ctx.pages.add(page as usize).read_volatile() } & need == need
    };
    // Pages that are remembered on each side.
    const FAR: u64 = 1 << 12;
    let mut run = None;
    for slice in 0..4 {
        if wave.exec() >> (16 * slice) & 0xffff == 0 {
            continue;
        }
        let base = ctx.bases[address as usize][slice].wrapping_sub(ctx.bias);
        let first = base.wrapping_add(from).wrapping_sub(ctx.linear_base);
        let last = base
            .wrapping_add(to)
            .wrapping_sub(ctx.linear_base)
            .wrapping_sub(1);
        if first > last || last >= ctx.linear_bytes {
            return 1;
        }
        let (first, last) = (first / PAGE_SIZE, last / PAGE_SIZE);
        if run.is_some_and(|(low, high)| low <= first && last < high) {
            continue;
        }
        if !(first..=last).all(allowed) {
            return 1;
        }
        let low = (first.saturating_sub(FAR)..first)
            .rev()
            .find(|&p| !allowed(p))
            .map_or(first.saturating_sub(FAR), |p| p + 1);
        let end = (last + 1 + FAR).min(pages);
        let high = (last + 1..end).find(|&p| !allowed(p)).unwrap_or(end);
        run = Some((low, high));
    }
    if let Some((low, high)) = run {
        let start = (ctx.linear_base + low * PAGE_SIZE).wrapping_sub(from);
        let bytes = (high - low) * PAGE_SIZE;
        let span = to.wrapping_sub(from);
        ctx.ranges[place as usize] = [start, (bytes + 1).saturating_sub(span)];
    }
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
                let lds = &mut host.machine.lds.0;
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
        Jit::with_level(Level::best().unwrap_or(Level::Avx2))
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
        Jit {
            interp: Interp::new(),
            units: Vec::new(),
            places: Map::default(),
            session: 0,
            level,
            ctx,
            stats: JitStats::default(),
            names: None,
            all_live: false,
            lean: false,
            exact: false,
            looks: false,
            check: false,
            recorded: None,
            counts: None,
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

    /// The same engine, which compares each chunk with the interpreter and panics where they differ. Memory that others
    /// write meanwhile would disturb it.
    pub fn checking(self) -> Jit {
        Jit {
            check: true,
            all_live: true,
            ..self
        }
    }

    /// `exact`: for code that meets NaNs, in the place of what there is.
    fn compile(
        &mut self,
        pc: u64,
        wave: &WaveState,
        machine: &Machine<'_>,
        entry: Option<EntryVgprs>,
        linear: bool,
        exact: bool,
    ) {
        let begun = Instant::now();
        let exact = exact || self.exact;
        let facts = facts(machine.target);
        let vgprs = wave.vgprs.len() as u16;
        let setting = lower::Setting {
            target: machine.target,
            mode: wave.mode,
            vgprs,
            all_live: self.all_live || matches!(machine.code, Code::Snippet(..)),
            keep_all: self.check || !self.lean && matches!(machine.code, Code::Snippet(..)),
            entry,
            // AVX2 code has no linear values.
            linear: entry.is_some() && linear && self.level != Level::Avx2,
            steps: match self.looks {
                true => steps(wave),
                false => Vec::new(),
            },
            sgprs: wave.sgprs,
            facts,
            fetch: &|pc| fetch(machine, pc),
        };
        let unit = lower::unit(pc, &setting);
        let key = |pc: u64| (pc, wave.mode, vgprs, entry);
        let Some(emitted) = emit::emit(&unit, wave.mode, self.level, self.counts.is_some(), exact)
        else {
            if setting.linear {
                return self.compile(pc, wave, machine, entry, false, exact);
            }
            self.stats.refused += 1;
            for c in &unit.chunks {
                self.places.entry(key(c.start)).or_insert(Place::Interpret);
            }
            return;
        };
        let Ok(mut map) = memmap2::MmapMut::map_anon(emitted.code.len().max(1)) else {
            self.places.insert(key(pc), Place::Interpret);
            return;
        };
        map.copy_from_slice(&emitted.code);
        let Ok(code) = map.make_exec() else {
            self.places.insert(key(pc), Place::Interpret);
            return;
        };
        let number = self.units.len() as u32;
        let mut chunks = Vec::with_capacity(unit.chunks.len());
        for (c, &at) in unit.chunks.iter().zip(&emitted.outside) {
            chunks.push((c.start, c.end, at, c.insns));
            self.stats.insns += c.insns as u64;
            if !matches!(c.tail, lower::Tail::Leave) {
                let place = Place::Code {
                    unit: number,
                    at: at as u32,
                };
                if exact {
                    self.places.insert(key(c.start), place);
                }
                self.places.entry(key(c.start)).or_insert(place);
                let mut inner = (c.start & !3) + 4;
                while inner < c.end {
                    self.places.entry(key(inner)).or_insert(Place::Interpret);
                    inner += 4;
                }
            }
        }
        self.places.entry(key(pc)).or_insert(Place::Interpret);
        self.stats.units += 1;
        self.stats.bytes += emitted.code.len() as u64;
        // Only code in memory may be another's in a later dispatch.
        let mut words = Vec::new();
        if let Code::Memory = machine.code {
            for &(start, end, ..) in &chunks {
                for at in (start & !3..end).step_by(4) {
                    words.push((at, machine.memory.fetch_u32(at).unwrap_or(0)));
                }
            }
        }
        let seen = self.session;
        self.units.push(Compiled {
            code,
            chunks,
            words,
            seen,
            _calls: emitted.calls,
            end: emitted.end,
            key: key(pc),
            checks: emitted.checks && !exact,
            restarts: 0,
        });
        self.stats.compiling += begun.elapsed();
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
        let stop = self.go(wave, machine, fuel);
        self.stats.executed += before - *fuel;
        stop
    }

    fn slice(&self) -> u64 {
        SLICE
    }

    fn forget(&mut self) {
        self.interp.forget();
        if self.counts.is_some() {
            self.counts = Some(Box::new(profile::Counts::behind(self.report())));
        }
        self.units.clear();
        self.recorded = None;
        self.places.clear();
    }
}

impl Jit {
    fn go(&mut self, wave: &mut WaveState, machine: &mut Machine<'_>, fuel: &mut u64) -> Stop {
        let begun = *fuel;
        // Who steps looks on: at registers that nothing reads any more, and at each store.
        if begun == 1 {
            return self.one(wave, machine, fuel).unwrap_or(Stop::Limit);
        }
        let mut entry = (wave.clock == 0).then(|| EntryVgprs::of(wave));
        let seen = self.recorded;
        let recorded = seen.unwrap_or_else(|| gcn_emu::exceptions::visible(machine));
        self.recorded = Some(recorded);
        loop {
            if recorded
                || wave.mode & (mode::VSKIP | mode::EXCP_EN) != 0
                || wave.status & (status::HALT | status::PRIV) != 0
                || wave.vgprs.is_empty()
            {
                if let Some(stop) = self.one(wave, machine, fuel) {
                    return stop;
                }
                continue;
            }
            let key = (wave.pc, wave.mode, wave.vgprs.len() as u16, entry);
            let place = match self.places.get(&key) {
                Some(&place) => place,
                None => {
                    self.compile(wave.pc, wave, machine, entry, true, false);
                    continue;
                }
            };
            entry = None;
            let Place::Code { unit, at } = place else {
                if let Some(stop) = self.one(wave, machine, fuel) {
                    return stop;
                }
                continue;
            };
            let known = &mut self.units[unit as usize];
            if known.seen != self.session {
                known.seen = self.session;
                let same = |&(at, word): &(u64, u32)| machine.memory.fetch_u32(at) == Ok(word);
                if !known.words.iter().all(same) {
                    self.forget();
                    continue;
                }
            }
            let linear = machine.memory.linear();
            let ctx = &mut *self.ctx;
            ctx.wave = wave;
            ctx.vgprs = wave.vgprs.as_mut_ptr().cast();
            ctx.bias = (linear.base as u64).wrapping_sub(ctx.linear_base);
            ctx.pages = linear.pages;
            ctx.linear_bytes = linear.bytes;
            let mapping = machine.memory.mapping();
            if ctx.mapping != mapping {
                ctx.mapping = mapping;
                ctx.ranges.fill([0; 2]);
            }
            ctx.lds = machine.lds.0.as_mut_ptr();
            ctx.lds_bytes = machine.lds.0.len() as u64;
            let mut given = (*fuel).min(i64::MAX as u64) as i64;
            let compiled = &self.units[unit as usize];
            let mut before = None;
            if self.check {
                let c = compiled.chunks.iter().find(|c| c.2 == at as usize);
                let insns = c.map_or(0, |c| c.3) as i64;
                if insns <= given {
                    given = insns;
                    before = Some((wave.clone(), machine.lds.clone()));
                }
            }
            ctx.fuel = given;
            ctx.synced = given;
            ctx.wave = wave;
            let mut host = Host {
                interp: &mut self.interp,
                machine,
                stop: None,
                interpreted: 0,
                names: &mut self.names,
            };
            ctx.host = &mut host as *mut Host<'_, '_> as usize;
            let base = compiled.code.as_ptr();
            if let Some(counts) = &mut self.counts {
                counts.begin(unit as usize, compiled.chunks.len(), ctx);
            }
            // SAFETY: the code is that of a unit, whose first bytes are a function of this signature; `at` is where one
            // of its chunks begins. It touches the context, the wave's registers, LDS within `lds_bytes` and guest
            // memory whose pages it has looked up, all of which outlive the call.
            let why = unsafe {
                let enter: extern "sysv64" fn(*mut Ctx, *const u8) -> u64 =
                    std::mem::transmute(base);
                enter(ctx, base.add(at as usize))
            };
            if let Some(counts) = &mut self.counts {
                // What is run again, by the interpreter or later, did not happen.
                let failed = matches!(host.stop, Some(Stop::Retry | Stop::Fault(_)));
                let again = match why & 0xff {
                    emit::EXIT_RESTART => true,
                    emit::EXIT_STOP => failed,
                    _ => false,
                };
                let undone = again.then_some(((why >> 8) as usize, wave.exec()));
                counts.end(unit as usize, &self.ctx, undone);
            }
            let spent = (given - self.ctx.fuel) as u64;
            *fuel -= spent;
            self.stats.interpreted += host.interpreted;
            wave.clock += 4 * (self.ctx.synced - self.ctx.fuel) as u64;
            let stop = host.stop.take();
            let (start, end, ..) = compiled.chunks[(why >> 8) as usize];
            let start = start & !3;
            if let Some((other, lds)) = &before
                && matches!(why & 0xff, emit::EXIT_RESTART | emit::EXIT_LINEAR)
            {
                // What the chunk reads must be as it was.
                let mut ends = [other, &*wave].map(|wave| {
                    let (mut wave, mut lds, mut fuel) = (wave.clone(), lds.clone(), given as u64);
                    wave.pc = start;
                    let lds = &mut lds;
                    let mut machine = Machine { lds, ..*machine };
                    let stop = self.interp.run(&mut wave, &mut machine, &mut fuel);
                    (wave, stop)
                });
                let [(a, stop), (b, other_stop)] = &mut ends;
                b.clock = a.clock;
                assert_eq!(stop, other_stop);
                check(other, b, a, machine, stop);
            }
            if let Some((mut other, lds)) = before
                && !matches!(why & 0xff, emit::EXIT_RESTART | emit::EXIT_LINEAR)
                && stop.is_none()
            {
                let from = other.clone();
                let mut now = wave.clone();
                let mut fuel = spent;
                let mut lds = lds;
                let stop = self.interp.run(
                    &mut other,
                    &mut Machine {
                        lds: &mut lds,
                        ..*machine
                    },
                    &mut fuel,
                );
                now.pc = match why & 0xff {
                    emit::EXIT_LEAVE | emit::EXIT_FUEL => start,
                    emit::EXIT_END => end - 4,
                    emit::EXIT_BARRIER => end,
                    _ => now.pc,
                };
                check(&from, &now, &other, machine, &stop);
                assert!(machine.lds.0 == lds.0, "LDS differs after {:#x}", from.pc);
                if why & 0xff == emit::EXIT_FUEL {
                    wave.pc = start;
                    continue;
                }
            }
            match why & 0xff {
                emit::EXIT_LEAVE => wave.pc = start,
                emit::EXIT_LINEAR => {
                    wave.pc = start;
                    self.stats.nonlinear += 1;
                }
                emit::EXIT_STOP => {
                    if let Some(stop) = stop {
                        return stop;
                    }
                }
                emit::EXIT_END => {
                    wave.pc = end - 4;
                    machine.global.ended(wave.number);
                    return Stop::Endpgm;
                }
                emit::EXIT_BARRIER => {
                    wave.pc = end;
                    return Stop::Barrier;
                }
                emit::EXIT_FUEL if begun != *fuel => {
                    // The rest is for the next turn, which begins where a chunk does.
                    wave.pc = start;
                    return Stop::Limit;
                }
                which => {
                    wave.pc = start;
                    if which == emit::EXIT_RESTART {
                        self.stats.restarts += 1;
                        let unit = &mut self.units[unit as usize];
                        unit.restarts += 1;
                        if unit.checks && unit.restarts == NANS {
                            let (pc, .., entry) = unit.key;
                            self.compile(pc, wave, machine, entry, !self.looks, true);
                        }
                    }
                    // The chunk on the interpreter, as far as the fuel goes.
                    loop {
                        if let Some(stop) = self.one(wave, machine, fuel) {
                            return stop;
                        }
                        if wave.pc <= start || wave.pc >= end {
                            break;
                        }
                    }
                }
            }
        }
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

impl Compiled {
    /// What there is to see of it.
    fn look(&self, tallies: &[Tally]) -> UnitCode {
        let mut pieces: Vec<Piece> = Vec::with_capacity(self.chunks.len());
        for (n, &(start, end, at, instructions)) in self.chunks.iter().enumerate() {
            pieces.push(Piece {
                start: start & !3,
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
        UnitCode {
            mode: self.key.1,
            vgprs: self.key.2,
            code: self.code.to_vec(),
            pieces,
        }
    }
}

/// Compiled code that outlives dispatches: engines take it up again where the last ones left it.
#[derive(Clone, Default)]
pub struct Cache {
    kept: Arc<Mutex<Vec<Jit>>>,
    level: Option<Level>,
    counts: bool,
}

impl Cache {
    /// A cache of code of a level, which the host must have.
    pub fn with_level(level: Level) -> Cache {
        Cache {
            level: Some(level),
            ..Cache::default()
        }
    }

    /// An engine that knows what one before it has compiled. Code that has changed since is compiled anew.
    pub fn engine(&self) -> Kept {
        let kept = self
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let new = || {
            let jit = self.level.map_or_else(Jit::new, Jit::with_level);
            if self.counts { jit.counting() } else { jit }
        };
        let mut jit = kept.unwrap_or_else(new);
        jit.session += 1;
        jit.recorded = None;
        jit.interp.forget();
        Kept {
            jit: Some(jit),
            cache: self.clone(),
        }
    }
}

impl Cache {
    /// The same cache, whose engines count what they do, for [`Cache::report`].
    pub fn counting(self) -> Cache {
        Cache {
            counts: true,
            ..self
        }
    }

    /// What its engines have compiled, and counted if they are to; but those that are at work now.
    pub fn report(&self) -> Report {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().fold(Report::default(), |mut all, jit| {
            all.join(jit.report());
            all
        })
    }

    /// What all its engines have done, but those that are at work now.
    pub fn stats(&self) -> JitStats {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().fold(JitStats::default(), |sum, jit| JitStats {
            units: sum.units + jit.stats.units,
            refused: sum.refused + jit.stats.refused,
            insns: sum.insns + jit.stats.insns,
            bytes: sum.bytes + jit.stats.bytes,
            compiling: sum.compiling + jit.stats.compiling,
            restarts: sum.restarts + jit.stats.restarts,
            nonlinear: sum.nonlinear + jit.stats.nonlinear,
            interpreted: sum.interpreted + jit.stats.interpreted,
            executed: sum.executed + jit.stats.executed,
        })
    }
}

/// An engine of a [`Cache`].
pub struct Kept {
    jit: Option<Jit>,
    cache: Cache,
}

impl Kept {
    fn jit(&mut self) -> &mut Jit {
        self.jit.get_or_insert_with(Jit::new)
    }
}

impl Engine for Kept {
    fn run(&mut self, wave: &mut WaveState, machine: &mut Machine<'_>, fuel: &mut u64) -> Stop {
        self.jit().run(wave, machine, fuel)
    }

    fn slice(&self) -> u64 {
        SLICE
    }

    fn forget(&mut self) {
        self.jit().forget();
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(jit) = self.jit.take() {
            self.cache
                .kept
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(jit);
        }
    }
}
