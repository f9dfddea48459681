//! Runs code on both engines and compares the state: registers, SCC, MODE, STATUS, the clock, LDS, GDS, memory, and the reason
//! and address of each wave's stop.
//!
//! A [`Case`] is code and the waves that run it. The tests make cases from random numbers, the fuzz target from bytes.
#![allow(dead_code)]

pub mod generate;
pub mod guards;
pub mod machine;
pub mod rng;

use gcn_emu::engine::{Code, Engine, Machine, Stop};
use gcn_emu::global::Global;
use gcn_emu::interp::Interp;
use gcn_emu::wave::{Lds, WaveState};
use gcn_isa::Target;
use gcn_isa::decode::decode;
use gcn_isa::print::{Style, print};
use gcn_jit::{Cache, Jit, Level};
use machine::Pages;
use std::fmt::Write as _;

/// The maximum number of instructions of a wave.
pub const MOST: u64 = 300;

/// The maximum bytes of code in a case from arbitrary bytes.
const LONGEST: usize = 512;

/// An instruction.
#[derive(Clone)]
pub struct Piece {
    pub bytes: Vec<u8>,
    /// The piece that a branch goes to; the one after the last is the end.
    pub to: Option<usize>,
}

/// How the engines run the code, which determines what state can be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// A snippet whose state is compared at every time slice.
    Whole,
    /// A snippet whose state is compared at its end.
    Lean,
    /// Code in memory: registers cannot be compared at its end. Compiled code stays in the cache when other code follows at the address.
    Memory,
}

/// Waves that share LDS and run the code once.
#[derive(Clone)]
pub struct Round {
    pub waves: Vec<WaveState>,
    /// The piece that they start at.
    pub entry: usize,
    /// The instructions of their first time slices.
    pub turns: Vec<u64>,
}

/// Code and the waves that run it.
#[derive(Clone)]
pub struct Case {
    pub target: Target,
    pub how: How,
    pub base: u64,
    pub pieces: Vec<Piece>,
    pub lds: Vec<u8>,
    /// Rounds one after another on the same engine, so that later ones run compiled code.
    pub rounds: Vec<Round>,
}

/// The observable state of a stopped wave.
#[derive(PartialEq)]
struct Seen {
    wave: usize,
    stop: Stop,
    left: u64,
    state: WaveState,
}

/// The observable state of a round.
struct Ran {
    stops: Vec<Seen>,
    lds: Lds,
    gds: Vec<u8>,
    memory: Vec<u8>,
}

/// The engines and the memory of many cases, of one target.
pub struct Bench {
    pages: Pages,
    interp: Interp,
    jit: Jit,
    cache: Cache,
    /// The number of instructions that compiled code ran, and that the interpreter ran in the compiling engine.
    pub executed: u64,
    pub interpreted: u64,
    pub rounds: u64,
}

impl Case {
    /// Returns the code, and the offset of each piece.
    pub fn code(&self) -> (Vec<u8>, Vec<usize>) {
        let mut starts = vec![0];
        for piece in &self.pieces {
            starts.push(starts[starts.len() - 1] + piece.bytes.len());
        }
        let mut code = Vec::new();
        for (n, piece) in self.pieces.iter().enumerate() {
            let at = code.len();
            code.extend_from_slice(&piece.bytes);
            if let Some(to) = piece.to {
                let distance = (starts[to] as i64 - starts[n + 1] as i64) / 4;
                code[at..at + 2].copy_from_slice(&(distance as i16).to_le_bytes());
            }
        }
        (code, starts)
    }

    /// Returns the code as text, with labels.
    pub fn text(&self) -> String {
        let (code, starts) = self.code();
        let mut out = String::new();
        for (n, piece) in self.pieces.iter().enumerate() {
            if self.pieces.iter().any(|p| p.to == Some(n)) {
                let _ = writeln!(out, "L{n}:");
            }
            let _ = write!(out, "  ");
            match decode(self.target, &code[starts[n]..]) {
                Some(insn) => print(&insn, &Style::LLVM, &mut out),
                None => {
                    let _ = write!(out, ".bytes {:02x?}", piece.bytes);
                }
            }
            if let Some(to) = piece.to {
                let _ = write!(out, " -> L{to}");
            }
            out.push('\n');
        }
        out
    }

    pub fn without(&self, at: usize) -> Case {
        let mut case = self.clone();
        case.pieces.remove(at);
        for piece in &mut case.pieces {
            piece.to = piece.to.map(|to| to - (to > at) as usize);
        }
        for round in &mut case.rounds {
            round.entry -= (round.entry > at) as usize;
        }
        case
    }
}

impl Bench {
    /// Returns a bench with the compiling engine at a level, which the host must support.
    pub fn new(level: Level) -> Bench {
        Bench {
            pages: Pages::new(),
            interp: Interp::new(),
            jit: Jit::with_level(level),
            cache: Cache::with_level(level),
            executed: 0,
            interpreted: 0,
            rounds: 0,
        }
    }

    /// Returns the snippet engine's code, and the location of each block in it.
    pub fn compiled(&self) -> Vec<(Vec<u8>, Vec<std::ops::Range<usize>>)> {
        let units = self.jit.report().regions;
        let parts =
            |u: gcn_jit::RegionCode| (u.code, u.pieces.into_iter().map(|p| p.code).collect());
        units.into_iter().map(parts).collect()
    }

    /// Returns the number of regions that the compiler refused.
    pub fn refused(&self) -> u64 {
        self.jit.stats.refused + self.cache.stats().refused
    }

    pub fn pages(&self) -> &Pages {
        &self.pages
    }

    /// Runs a case from bytes: four select the mode and the registers, the rest is code.
    ///
    /// # Panics
    /// If the engines differ, with the smallest part that does.
    pub fn of_bytes(&mut self, maker: &mut generate::Maker, bytes: &[u8]) {
        let Some((&[how, a, b, c], code)) = bytes.split_first_chunk::<4>() else {
            return;
        };
        let how = match how % 4 {
            0 => How::Memory,
            1 => How::Lean,
            _ => How::Whole,
        };
        let code = &code[..code.len().min(LONGEST)];
        let case = maker.case_of(self, u32::from_le_bytes([a, b, c, 0]) as u64, code, how);
        if self.differs(&case).is_some() {
            panic!("{}", self.report(&case));
        }
    }

    /// Returns the first difference between the engines.
    pub fn differs(&mut self, case: &Case) -> Option<String> {
        let (mut bytes, starts) = case.code();
        if case.how == How::Memory {
            // s_endpgm, because the code of another case may follow.
            bytes.extend_from_slice(&0xbf81_0000u32.to_le_bytes());
        }
        let base = match case.how {
            How::Memory => self.pages.set_code(&bytes),
            _ => case.base,
        };
        let code = match case.how {
            How::Memory => Code::Memory,
            _ => Code::Snippet(base, &bytes),
        };
        self.interp.invalidate();
        self.jit.invalidate();
        self.jit.testing.lean = case.how == How::Lean;
        self.jit.testing.as_workgroup = case.base != 0x100;
        self.jit.testing.cautious = case.how == How::Lean;
        self.jit.testing.lane_loops = case.how == How::Lean;
        // Half of the snippets run in vector code.
        self.jit.testing.few_lanes = case.how == How::Lean && bytes.len() % 8 == 0;
        let mut kept = self.cache.engine();
        kept.look();
        let before = self.jit.stats;
        let mut found = None;
        for (n, round) in case.rounds.iter().enumerate() {
            let pc = base + starts[round.entry] as u64;
            let want = run(&mut self.interp, &self.pages, case, round, code, pc);
            let engine: &mut dyn Engine = match case.how {
                How::Memory => &mut kept,
                _ => &mut self.jit,
            };
            let got = run(engine, &self.pages, case, round, code, pc);
            self.rounds += 1;
            let what = self.compare(case.how, round, &want, &got);
            if !what.is_empty() {
                found = Some(format!("round {n}:\n{what}"));
                break;
            }
        }
        let now = self.jit.stats;
        self.executed += now.executed - before.executed;
        self.interpreted += now.interpreted - before.interpreted;
        found
    }

    fn compare(&self, how: How, round: &Round, want: &Ran, got: &Ran) -> String {
        let mut what = String::new();
        for (a, b) in want.stops.iter().zip(&got.stops) {
            if (a.wave, &a.stop, a.left) != (b.wave, &b.stop, b.left) {
                let _ = writeln!(
                    what,
                    "wave {} {:?} with {} left at {:#x}; compiled wave {} {:?} with {} left at {:#x}",
                    a.wave, a.stop, a.left, a.state.pc, b.wave, b.stop, b.left, b.state.pc
                );
                return what;
            }
            let ended = matches!(a.stop, Stop::FellOff | Stop::Endpgm | Stop::Trap(_));
            if how == How::Whole || how == How::Lean && ended {
                registers(&round.waves[a.wave], &a.state, &b.state, &mut what);
            } else if (a.state.pc, a.state.clock) != (b.state.pc, b.state.clock) {
                let _ = writeln!(
                    what,
                    "pc {:#x} and clock {}, compiled {:#x} and {}",
                    a.state.pc, a.state.clock, b.state.pc, b.state.clock
                );
            }
            if !what.is_empty() {
                let _ = writeln!(what, "in wave {} at {:?}", a.wave, a.stop);
                return what;
            }
        }
        if want.stops.len() != got.stops.len() {
            let (a, b) = (want.stops.len(), got.stops.len());
            let _ = writeln!(what, "{a} stops, compiled {b}");
        }
        let bytes = |what: &mut String, name: &str, a: &[u8], b: &[u8]| {
            if let Some(at) = (0..a.len()).find(|&at| a[at] != b[at]) {
                let _ = writeln!(
                    what,
                    "{name} at {at:#x}: {:#x}, compiled {:#x}",
                    a[at], b[at]
                );
            }
        };
        bytes(&mut what, "LDS", &want.lds, &got.lds);
        bytes(&mut what, "GDS", &want.gds, &got.gds);
        if want.memory != got.memory {
            what.extend(self.pages.difference(&want.memory, &got.memory));
        }
        if !what.is_empty()
            && let Some(last) = want.stops.last()
        {
            let _ = writeln!(what, "stop {:?}", last.stop);
        }
        what
    }

    /// Returns the smallest case that still differs after parts are removed, and its difference.
    pub fn minimised(&mut self, case: &Case) -> (Case, String) {
        let mut case = case.clone();
        let mut what = self.differs(&case).unwrap_or_default();
        let mut attempt = |case: &mut Case, what: &mut String, new: Case| {
            let found = self.differs(&new);
            if let Some(found) = found {
                *case = new;
                *what = found;
                return true;
            }
            false
        };
        for _ in 0..4 {
            let before = case.pieces.len();
            for at in (0..case.rounds.len()).rev() {
                let mut new = case.clone();
                new.rounds.remove(at);
                attempt(&mut case, &mut what, new);
            }
            for at in (0..case.pieces.len()).rev() {
                if at < case.pieces.len() {
                    let new = case.without(at);
                    attempt(&mut case, &mut what, new);
                }
            }
            for n in 0..case.rounds.len() {
                while case.rounds[n].waves.len() > 1 {
                    let mut new = case.clone();
                    new.rounds[n].waves.pop();
                    if !attempt(&mut case, &mut what, new) {
                        break;
                    }
                }
                let mut new = case.clone();
                new.rounds[n].turns.clear();
                attempt(&mut case, &mut what, new);
            }
            if case.pieces.len() == before {
                break;
            }
        }
        for n in 0..case.rounds.len() {
            for w in 0..case.rounds[n].waves.len() {
                let wave = case.rounds[n].waves[w].clone();
                for v in 0..wave.vgprs.len() {
                    let mut new = case.clone();
                    new.rounds[n].waves[w].vgprs[v] = [0; 64];
                    if !attempt(&mut case, &mut what, new) {
                        let mut new = case.clone();
                        new.rounds[n].waves[w].vgprs[v] = [wave.vgprs[v][0]; 64];
                        attempt(&mut case, &mut what, new);
                    }
                }
                for s in (0..128).filter(|&s| wave.sgprs[s] != 0) {
                    let mut new = case.clone();
                    new.rounds[n].waves[w].sgprs[s] = 0;
                    attempt(&mut case, &mut what, new);
                }
                let mut new = case.clone();
                new.rounds[n].waves[w].set_exec(!0);
                attempt(&mut case, &mut what, new);
                let mut new = case.clone();
                new.rounds[n].waves[w].mode = gcn_emu::wave::MODE;
                attempt(&mut case, &mut what, new);
            }
        }
        (case, what)
    }

    /// Returns a report of a case that differs: the smallest one that was found, its registers and the difference.
    pub fn report(&mut self, case: &Case) -> String {
        let whole = case.text();
        let (case, what) = self.minimised(case);
        let mut out = format!(
            "{}, {:?}, base {:#x}:\n{whole}\nof which matter:\n{}",
            case.target.name(),
            case.how,
            case.base,
            case.text()
        );
        for round in &case.rounds {
            let _ = writeln!(
                out,
                "from {}, turns {:?}, {} waves",
                round.entry,
                round.turns,
                round.waves.len()
            );
            for wave in &round.waves {
                let _ = writeln!(
                    out,
                    "exec {:#x} mode {:#x} scc {} {} VGPRs, LDS {}",
                    wave.exec(),
                    wave.mode,
                    wave.scc,
                    wave.vgprs.len(),
                    case.lds.len()
                );
                for (n, s) in wave.sgprs.iter().enumerate().filter(|s| *s.1 != 0) {
                    let _ = write!(out, "s{n}={s:#x} ");
                }
                out.push('\n');
                for (n, v) in wave.vgprs.iter().enumerate().filter(|v| *v.1 != [0; 64]) {
                    let _ = writeln!(out, "v{n}={v:x?}");
                }
            }
        }
        out + &what
    }
}

/// Runs a round's waves, as a workgroup's, on one engine.
fn run(
    engine: &mut dyn Engine,
    pages: &Pages,
    case: &Case,
    round: &Round,
    code: Code<'_>,
    pc: u64,
) -> Ran {
    pages.reset();
    let mut lds = Lds::from(&case.lds[..]);
    let global = Global::default();
    let mut waves = round.waves.clone();
    for wave in &mut waves {
        wave.pc = pc;
    }
    let mut left = vec![MOST; waves.len()];
    let mut waits = vec![false; waves.len()];
    let mut ended = vec![false; waves.len()];
    let mut stops = Vec::new();
    let mut turns = round.turns.iter();
    loop {
        for w in 0..waves.len() {
            while !ended[w] && !waits[w] {
                let given = turns.next().map_or(left[w], |&turn| turn.min(left[w]));
                let mut fuel = given;
                let mut machine = Machine {
                    target: case.target,
                    memory: &pages.memory,
                    code,
                    lds: &mut lds,
                    global: &global,
                    hidden_private_base: 0,
                    middle: &[],
                    probe: None,
                };
                let stop = loop {
                    let before = fuel;
                    let stop = engine.run(&mut waves[w], &mut machine, &mut fuel);
                    // A time slice may end a little early, but not without an instruction.
                    if stop != Stop::Limit || fuel == 0 || fuel == before {
                        break stop;
                    }
                };
                left[w] -= given - fuel;
                ended[w] = match stop {
                    Stop::Yield => false,
                    Stop::Limit => left[w] == 0 || fuel != 0,
                    Stop::Barrier => {
                        waits[w] = true;
                        false
                    }
                    _ => true,
                };
                stops.push(Seen {
                    wave: w,
                    stop,
                    left: left[w],
                    state: waves[w].clone(),
                });
            }
        }
        if ended.iter().all(|&e| e) {
            break;
        }
        waits.fill(false);
    }
    let mut memory = Vec::new();
    pages.contents(&mut memory);
    Ran {
        stops,
        lds,
        gds: global.gds().to_vec(),
        memory,
    }
}

/// Appends the registers in which two states differ as text.
fn registers(before: &WaveState, a: &WaveState, b: &WaveState, what: &mut String) {
    if a == b {
        return;
    }
    for (n, (x, y)) in a.vgprs.iter().zip(&b.vgprs).enumerate() {
        if let Some(l) = (0..64).find(|&l| x[l] != y[l]) {
            let _ = writeln!(
                what,
                "v{n}[{l}]: {:#x}, compiled {:#x}, before {:#x}",
                x[l], y[l], before.vgprs[n][l]
            );
        }
    }
    for (n, (x, y)) in a.sgprs.iter().zip(&b.sgprs).enumerate() {
        if x != y {
            let _ = writeln!(
                what,
                "s{n}: {x:#x}, compiled {y:#x}, before {:#x}",
                before.sgprs[n]
            );
        }
    }
    let mut field = |name: &str, x: u64, y: u64| {
        if x != y {
            let _ = writeln!(what, "{name}: {x:#x}, compiled {y:#x}");
        }
    };
    field("scc", a.scc as u64, b.scc as u64);
    field("mode", a.mode as u64, b.mode as u64);
    field("status", a.status as u64, b.status as u64);
    field("trapsts", a.trapsts as u64, b.trapsts as u64);
    field("pc", a.pc, b.pc);
    field("clock", a.clock, b.clock);
    if what.is_empty() {
        let _ = writeln!(what, "something else of the wave differs");
    }
}
