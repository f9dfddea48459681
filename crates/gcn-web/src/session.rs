//! Runs that a page steps: one wave of a snippet, or the waves of a kernel.

use std::collections::BTreeSet;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gcn::emu::engine::{Code, Engine, Machine, Stop};
use gcn::emu::mem::Memory;
use gcn::emu::wave::{LANES, WaveState, mode};
use gcn::engine::Kind;
use gcn::isa::{Gen, Target};
use gcn::lang::{self, Bench, Location, Value as LangValue};
use serde_json::{Value, json};

/// The maximum number of instructions that a run executes.
pub const MOST_STEPS: u64 = 1_000_000;
/// The maximum number of runs at a time. When another begins, the least recently used one ends.
const MOST_SESSIONS: usize = 4;
/// The maximum number of bytes of memory in one answer.
const MOST_BYTES: u64 = 4096;

/// The interface of a run that the page steps.
pub trait Stepper: Send {
    /// Executes instructions of the selected wave: `count`, or fewer if it ends, or before an instruction at one of the
    /// addresses. The first instruction is always executed.
    ///
    /// # Errors
    /// A sentence for the user.
    fn forward(&mut self, count: u64, stops: &BTreeSet<u64>) -> Result<(), String>;

    /// Goes back by `count` instructions of the selected wave, or to the last time that it was at one of the addresses.
    ///
    /// # Errors
    /// A sentence for the user.
    fn back(&mut self, count: u64, stops: &BTreeSet<u64>) -> Result<(), String>;

    /// The selected wave.
    fn view(&self) -> View<'_>;

    /// All waves of the workgroups that have begun; by default there is one.
    fn waves(&self) -> Vec<Value> {
        Vec::new()
    }

    /// Selects a wave of [`Stepper::waves`], by its name there.
    ///
    /// # Errors
    /// A sentence for the user.
    fn select(&mut self, wave: &str) -> Result<(), String> {
        Err(format!("there is no wave {wave}"))
    }

    /// The present, as a number of instructions.
    fn moment(&self) -> u64;

    /// Goes to a moment.
    ///
    /// # Errors
    /// A sentence for the user.
    fn go_to(&mut self, moment: u64) -> Result<(), String>;

    /// Memory that has a name: name, address, bytes.
    fn regions(&self) -> Vec<(String, u64, u64)>;

    /// Guest memory.
    fn memory(&self) -> &Memory;
}

/// A wave at a moment.
pub struct View<'a> {
    /// The registers.
    pub wave: &'a WaveState,
    /// The address of the next instruction, as the disassembly shows it.
    pub pc: u64,
    /// The number of instructions that the wave has executed.
    pub step: u64,
    /// The workgroup's LDS.
    pub lds: &'a [u8],
    /// True if no wave can continue.
    pub over: bool,
    /// The reason of its end, and a sentence about it.
    pub end: Option<(&'static str, String)>,
}

/// A run and the data for its states.
pub struct Session {
    /// The run.
    pub stepper: Box<dyn Stepper>,
    /// The target.
    pub target: Target,
    /// The numbers of VGPRs and SGPRs that are shown.
    pub used: (u16, u16),
    /// See [`crate::code::Built::saved_masks`].
    pub masks: Vec<(u64, u16)>,
}

impl Session {
    /// The state of the selected wave.
    pub fn state(&self) -> Value {
        let view = self.stepper.view();
        let wave = view.wave;
        let vgprs = usize::from(self.used.0).min(wave.vgprs.len());
        let lanes: Vec<u8> = (wave.vgprs[..vgprs].iter().flatten())
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let hex = |v: u64| format!("{v:#x}");
        json!({
            "step": view.step,
            "moment": self.stepper.moment(),
            "over": view.over,
            "pc": view.pc,
            "end": view.end.as_ref().map(|(kind, message)| json!({"kind": kind, "message": message})),
            "exec": hex(wave.exec()),
            "vcc": hex(wave.vcc()),
            "scc": u8::from(wave.scc),
            "m0": hex(wave.m0().into()),
            "mode": hex(wave.mode.into()),
            "status": hex(wave.status_word().into()),
            "vskip": wave.mode & mode::VSKIP != 0,
            "sgprs": wave.sgprs[..usize::from(self.used.1).min(128)].to_vec(),
            "vgprs": {"count": vgprs, "data": base64(&lanes)},
            "masks": self.masks(wave),
            "lds": view.lds.len(),
            "waves": self.stepper.waves(),
            "regions": self.stepper.regions().iter()
                .map(|(name, at, bytes)| json!({"name": name, "at": hex(*at), "bytes": bytes}))
                .collect::<Vec<_>>(),
        })
    }

    /// The control stack of forks, and the pairs of SGPRs to which the code saves EXEC.
    fn masks(&self, wave: &WaveState) -> Vec<Value> {
        let mut all = Vec::new();
        if self.target.generation() < Gen::Gfx9 {
            let depth = wave.mode >> mode::CSP_SHIFT & 7;
            for n in (0..depth as u16).rev() {
                let (exec, to) = (wave.pair(4 * n), wave.pair(4 * n + 2));
                all.push(json!({
                    "name": format!("s[{}:{}]", 4 * n, 4 * n + 1), "lanes": format!("{exec:#x}"), "stack": n, "to": to,
                }));
            }
        }
        for &(pc, pair) in &self.masks {
            let name = format!("s[{pair}:{}]", pair + 1);
            let name = match pair {
                gcn::isa::operand::VCC => "vcc".to_string(),
                _ => name,
            };
            let lanes = format!("{:#x}", wave.pair(pair));
            all.push(json!({"name": name, "lanes": lanes, "pair": pair, "pc": pc}));
        }
        all
    }

    /// Dwords of memory or LDS; `null` where there is none.
    ///
    /// # Errors
    /// A sentence for the user.
    pub fn dwords(&self, space: &str, at: u64, bytes: u64) -> Result<Value, String> {
        if bytes > MOST_BYTES {
            return Err(format!(
                "{bytes} bytes are too many at once: at most {MOST_BYTES}"
            ));
        }
        if !at.is_multiple_of(4) {
            return Err(format!("{at:#x} is not a multiple of 4"));
        }
        let lds = self.stepper.view().lds;
        let memory = self.stepper.memory();
        let dword = |n: u64| -> Option<u32> {
            let at = at.checked_add(n)?;
            match space {
                "lds" => {
                    let at = usize::try_from(at).ok()?;
                    let bytes = lds.get(at..at.checked_add(4)?)?;
                    bytes.try_into().ok().map(u32::from_le_bytes)
                }
                _ => {
                    let mut bytes = [0; 4];
                    memory.read(at, &mut bytes).ok()?;
                    Some(u32::from_le_bytes(bytes))
                }
            }
        };
        let list: Vec<Option<u32>> = (0..bytes / 4).map(|n| dword(4 * n)).collect();
        Ok(json!({"at": format!("{at:#x}"), "dwords": list}))
    }
}

/// Bytes in base64, which JavaScript decodes quickly.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for piece in bytes.chunks(3) {
        let at = |n: usize| u32::from(piece.get(n).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for n in 0..4 {
            match n <= piece.len() {
                true => out.push(DIGITS[(word >> (18 - 6 * n) & 63) as usize] as char),
                false => out.push('='),
            }
        }
    }
    out
}

/// The runs of a server.
#[derive(Default)]
pub struct Sessions {
    list: Mutex<(u64, VecDeque<Entry>)>,
}

/// A run and its number.
type Entry = (u64, Arc<Mutex<Session>>);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sessions {
    /// Adds a run and returns its number.
    pub fn add(&self, session: Session) -> u64 {
        let mut list = lock(&self.list);
        list.0 += 1;
        let id = list.0;
        list.1.push_back((id, Arc::new(Mutex::new(session))));
        if list.1.len() > MOST_SESSIONS {
            list.1.pop_front();
        }
        id
    }

    /// Calls `f` with a run.
    ///
    /// # Errors
    /// The error of `f`; a sentence if the run has ended.
    pub fn with<T>(
        &self,
        id: u64,
        f: impl FnOnce(&mut Session) -> Result<T, String>,
    ) -> Result<T, String> {
        let session = {
            let mut list = lock(&self.list);
            let at = list.1.iter().position(|(n, _)| *n == id);
            let at = at.ok_or("this run is over, because others began after it; start it again")?;
            let entry = list.1.remove(at);
            list.1.extend(entry);
            list.1.back().map(|(_, session)| session.clone())
        };
        let session = session.ok_or("this run is over")?;
        f(&mut lock(&session))
    }
}

/// One wave that runs a snippet.
pub struct SnippetRun {
    target: Target,
    base: u64,
    code: Vec<u8>,
    /// The registers before the first instruction.
    before: Vec<(Location, LangValue)>,
    engine: Box<dyn Engine>,
    bench: Bench,
    step: u64,
    end: Option<(&'static str, String)>,
}

impl SnippetRun {
    /// A wave at the start of a snippet. `registers` has a list of values in each line, as `v0 = 1.0, s2 = 5`.
    ///
    /// # Errors
    /// A sentence with the line of `registers`.
    pub fn new(
        target: Target,
        base: u64,
        code: Vec<u8>,
        registers: &str,
    ) -> Result<SnippetRun, String> {
        let before = parse_registers(target, registers)?;
        Ok(SnippetRun {
            target,
            base,
            bench: fresh(target, base, &before)?,
            code,
            before,
            engine: Kind::Interp.engine(),
            step: 0,
            end: None,
        })
    }

    /// Executes at most `count` instructions.
    fn run(&mut self, count: u64) {
        let bench = &mut self.bench;
        let mut machine = Machine {
            target: self.target,
            memory: &bench.memory,
            code: Code::Snippet(self.base, &self.code),
            lds: &mut bench.lds,
            global: &bench.global,
            hidden_private_base: 0,
            middle: &[],
            probe: None,
        };
        let mut fuel = count;
        while fuel > 0 && self.end.is_none() {
            let before = fuel;
            let stop = self.engine.run(&mut bench.wave, &mut machine, &mut fuel);
            self.step += before - fuel;
            let end = |kind, text: &str| Some((kind, text.to_string()));
            self.end = match stop {
                // The workgroup has no other wave that a barrier would wait for.
                Stop::Limit | Stop::Yield | Stop::Barrier => None,
                Stop::FellOff => end("fell_off", "the end of the code"),
                Stop::Endpgm => end("endpgm", "s_endpgm ended the wave"),
                Stop::Trap(n) => Some(("trap", format!("s_trap {n}"))),
                Stop::Halt => end("halt", "the wave halted itself"),
                Stop::Retry => end("waits", "the wave waits for another one, and there is none"),
                Stop::Fault(report) => Some(("fault", report.to_string())),
            };
        }
        // The end of the code is not an instruction, and nothing is executed.
        let at = bench.wave.pc.wrapping_sub(self.base);
        if self.end.is_none() && at == self.code.len() as u64 {
            self.end = Some(("fell_off", "the end of the code".into()));
        }
    }

    fn restart(&mut self) -> Result<(), String> {
        self.bench = fresh(self.target, self.base, &self.before)?;
        self.engine.invalidate();
        (self.step, self.end) = (0, None);
        Ok(())
    }
}

fn fresh(target: Target, base: u64, before: &[(Location, LangValue)]) -> Result<Bench, String> {
    let mut bench = Bench::new(target)?;
    for (location, value) in before {
        bench.set(*location, value)?;
    }
    bench.wave.pc = base.wrapping_add(bench.start & !3);
    Ok(bench)
}

/// Reads the registers before a run.
///
/// # Errors
/// A sentence with the line.
pub fn parse_registers(target: Target, text: &str) -> Result<Vec<(Location, LangValue)>, String> {
    let mut all = Vec::new();
    let mut trial = Bench::new(target)?;
    for (n, line) in text.lines().enumerate() {
        let line = line.split("//").next().unwrap_or("").trim();
        let line = line.trim_end_matches([',', ';']);
        if line.is_empty() {
            continue;
        }
        let named = |e: String| format!("registers, line {}: {e}", n + 1);
        // The language has registers after an instruction.
        let parsed = lang::parse(&format!("s_nop 0   {line}"), target).map_err(named)?;
        if parsed.after.is_some() || parsed.end.is_some() || parsed.inst.trim() != "s_nop 0" {
            let what = "expected registers with their values, as `v0 = 1.0, s2 = 5`".to_string();
            return Err(named(what));
        }
        for (location, value) in &parsed.before {
            trial.set(*location, value).map_err(named)?;
        }
        all.extend(parsed.before);
    }
    Ok(all)
}

impl Stepper for SnippetRun {
    fn forward(&mut self, count: u64, stops: &BTreeSet<u64>) -> Result<(), String> {
        if self.end.is_some() {
            return Ok(());
        }
        let left = MOST_STEPS.saturating_sub(self.step);
        if left == 0 {
            return Err(format!("the run stops after {MOST_STEPS} instructions"));
        }
        let count = count.min(left);
        if stops.is_empty() {
            self.run(count);
            return Ok(());
        }
        for _ in 0..count {
            self.run(1);
            if self.end.is_some() || stops.contains(&self.bench.wave.pc) {
                break;
            }
        }
        Ok(())
    }

    fn back(&mut self, count: u64, stops: &BTreeSet<u64>) -> Result<(), String> {
        let mut to = self.step.saturating_sub(count);
        if !stops.is_empty() && self.step > 0 {
            let before = self.step;
            self.restart()?;
            let mut last = 0;
            while self.step + 1 < before && self.end.is_none() {
                if self.step > 0 && stops.contains(&self.bench.wave.pc) {
                    last = self.step;
                }
                self.run(1);
            }
            if self.step < before && stops.contains(&self.bench.wave.pc) {
                last = self.step;
            }
            to = last;
        }
        self.restart()?;
        self.run(to);
        Ok(())
    }

    fn moment(&self) -> u64 {
        self.step
    }

    fn go_to(&mut self, moment: u64) -> Result<(), String> {
        if moment < self.step {
            self.restart()?;
        }
        self.run(moment.min(MOST_STEPS).saturating_sub(self.step));
        Ok(())
    }

    fn view(&self) -> View<'_> {
        View {
            wave: &self.bench.wave,
            pc: self.bench.wave.pc,
            step: self.step,
            over: self.end.is_some(),
            lds: &self.bench.lds,
            end: self.end.clone(),
        }
    }

    fn regions(&self) -> Vec<(String, u64, u64)> {
        let regions = self.bench.memory.regions().take(64);
        regions
            .map(|(at, bytes)| ("memory".to_string(), at, bytes))
            .collect()
    }

    fn memory(&self) -> &Memory {
        &self.bench.memory
    }
}

// The picture of the page has a column for each lane.
const _: () = assert!(LANES == 64);
