//! `gcn run --trace`: prints each instruction with the state that it changed.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use gcn_emu::dispatch::observers::{Observe, Observer, Scene, Who};
use gcn_emu::engine::Stop;
use gcn_emu::interp::instruction_info;
use gcn_emu::mem::{Memory, take_stores};
use gcn_emu::wave::{LANES, Lds, WaveState};
use gcn_isa::Target;
use gcn_isa::access::{File, MemoryKind, MemorySpace};
use gcn_isa::decode::Insn;
use gcn_isa::print::{Style, print};
use gcn_isa::shape::Ty;
use serde_json::{Map, json};

use crate::io;
use crate::lanes::{self, Form};
use crate::lang::{self, Location, Value};
use crate::lines::{self, Sources};

/// Selects the instructions to trace.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// A workgroup, by its ids, and one of its waves.
    pub wave: Option<([u32; 3], Option<usize>)>,
    /// A range of addresses as `gcn dis` prints them; the end is exclusive.
    pub pc: Option<(u64, u64)>,
    /// The maximum number of instructions.
    pub limit: Option<u64>,
    /// Writes the value of every lane, even if they are equal.
    pub full: bool,
}

/// Reads `G[:W]`: a workgroup as `5` or `1,2,0`, and a wave.
///
/// # Errors
/// A message with the expected form.
pub fn parse_wave(text: &str) -> Result<([u32; 3], Option<usize>), String> {
    let wrong =
        || format!("`{text}`: expected a workgroup and perhaps a wave of it, as 5, 1,2,0 or 5:3");
    let (group, wave) = match text.split_once(':') {
        Some((group, wave)) => (group, Some(wave.parse().map_err(|_| wrong())?)),
        None => (text, None),
    };
    let mut numbers = [0; 3];
    let parts: Vec<&str> = group.split(',').collect();
    if parts.len() > 3 {
        return Err(wrong());
    }
    for (number, part) in numbers.iter_mut().zip(parts) {
        *number = part.trim().parse().map_err(|_| wrong())?;
    }
    Ok((numbers, wave))
}

/// Reads `A..B`, addresses in hexadecimal or decimal.
///
/// # Errors
/// A message with the expected form.
pub fn parse_range(text: &str) -> Result<(u64, u64), String> {
    let bound = |text: &str| crate::run::integer(text).and_then(|v| u64::try_from(v).ok());
    let range = text.split_once("..").and_then(|(a, b)| {
        let from = if a.is_empty() { Some(0) } else { bound(a) };
        let to = if b.is_empty() {
            Some(u64::MAX)
        } else {
            bound(b)
        };
        let (from, to) = (from?, to?);
        (from < to).then_some((from, to))
    });
    range.ok_or_else(|| format!("`{text}`: expected rising addresses A..B, as 0x100..0x180"))
}

struct Sink {
    out: Mutex<Out>,
    /// The reason why the trace is incomplete.
    failure: Mutex<Option<String>>,
    left: AtomicU64,
    /// True if something was traced, or could not be written.
    seen: AtomicBool,
    filter: Filter,
    json: bool,
    sources: Sources,
}

struct Out {
    to: Box<dyn Write + Send>,
    /// The wave of the last line, and its source line.
    last: Option<(Who, String)>,
}

/// Writes a line for each instruction.
pub struct Trace(Arc<Sink>);

impl Trace {
    /// A trace to `out`, as text or as lines of JSON, with source lines if they are known.
    pub fn new(out: Box<dyn Write + Send>, filter: Filter, json: bool, sources: Sources) -> Trace {
        Trace(Arc::new(Sink {
            out: Mutex::new(Out {
                to: out,
                last: None,
            }),
            sources,
            failure: Mutex::new(None),
            left: AtomicU64::new(filter.limit.unwrap_or(u64::MAX)),
            seen: AtomicBool::new(false),
            filter,
            json,
        }))
    }
}

impl Trace {
    /// Writes buffered lines.
    ///
    /// # Errors
    /// A message if the trace could not be written completely. A closed reader is not an error.
    pub fn finish(&self) -> Result<(), String> {
        if !self.0.seen.load(Relaxed) {
            let Filter { wave, pc, .. } = &self.0.filter;
            let wave = wave.map(|([x, y, z], wave)| match wave {
                Some(wave) => format!(" in wave {wave} of workgroup ({x}, {y}, {z})"),
                None => format!(" in workgroup ({x}, {y}, {z})"),
            });
            let pc = pc.map(|(a, b)| match b {
                u64::MAX => format!(" from {a:#x} on"),
                b => format!(" at {a:#x}..{b:#x}"),
            });
            let (wave, pc) = (wave.unwrap_or_default(), pc.unwrap_or_default());
            io::complain(&format!(
                "gcn: nothing was traced: no instruction ran{wave}{pc}\n"
            ));
        }
        let mut out = self.0.out.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(e) = out.to.flush() {
            self.0.failed(&e);
        }
        let failure = self
            .0
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        failure.clone().map_or(Ok(()), Err)
    }
}

impl Observe for Trace {
    fn observer(&self) -> Box<dyn Observer> {
        Box::new(Tracer {
            sink: self.0.clone(),
            before: None,
        })
    }
}

impl Sink {
    /// Stops writing after an error: a full disk is reported at the end, a closed reader is not.
    fn failed(&self, e: &std::io::Error) {
        self.left.store(0, Relaxed);
        if e.kind() != std::io::ErrorKind::BrokenPipe {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert_with(|| e.to_string());
        }
    }
}

struct Tracer {
    sink: Arc<Sink>,
    before: Option<Before>,
}

struct Before {
    wave: WaveState,
    lds: Option<Lds>,
    insn: Option<Insn>,
    text: String,
    next: u64,
}

impl Observer for Tracer {
    fn before(&mut self, who: Who, scene: &Scene<'_>) {
        self.before = None;
        // These are stores of instructions that are not traced.
        drop(take_stores());
        let filter = &self.sink.filter;
        let pc = scene.wave.pc.wrapping_sub(scene.base);
        let is_it = |(group, wave): ([u32; 3], Option<usize>)| {
            group == who.workgroup && wave.is_none_or(|w| w == who.wave)
        };
        if !filter.wave.is_none_or(is_it)
            || !filter.pc.is_none_or(|(a, b)| (a..b).contains(&pc))
            || self.sink.left.load(Relaxed) == 0
        {
            return;
        }
        let (mut text, mut lds, mut len) = (String::new(), false, 4);
        match scene.insn() {
            Some(insn) => {
                print(&insn, &Style::LLVM, &mut text);
                len = insn.len as u64;
                let access = instruction_info(&insn).memory(&insn);
                lds = access.is_some_and(|a| {
                    let there = matches!(a.space, MemorySpace::Lds | MemorySpace::Flat);
                    a.to_lds || (there && a.kind != MemoryKind::Load)
                });
            }
            None => text.push_str("no instruction"),
        }
        scene.memory.record_stores(true);
        self.before = Some(Before {
            wave: scene.wave.clone(),
            lds: lds.then(|| scene.lds.clone()),
            insn: scene.insn(),
            text,
            next: scene.wave.pc.wrapping_add(len),
        });
    }

    fn after(&mut self, who: Who, scene: &Scene<'_>, stop: &Stop) {
        let Some(before) = self.before.take() else {
            return;
        };
        // Another thread may have reached the maximum meanwhile.
        let take = |left: u64| left.checked_sub(1);
        self.sink.seen.store(true, Relaxed);
        if self.sink.left.fetch_update(Relaxed, Relaxed, take).is_err() {
            return;
        }
        let changes = self.changes(&before, scene);
        let jumped = scene.wave.pc != before.next;
        let ended = match stop {
            Stop::Limit => None,
            Stop::FellOff => Some("fell off".into()),
            Stop::Endpgm => Some("ends".into()),
            Stop::Trap(id) => Some(format!("trap {id}")),
            Stop::Halt => Some("halts".into()),
            Stop::Barrier => Some("waits at the barrier".into()),
            Stop::Yield => Some("sleeps".into()),
            Stop::Retry => Some("waits for others".into()),
            Stop::Fault(report) => Some(report.kind.to_string()),
        };
        let show_pc = jumped && !matches!(stop, Stop::Endpgm | Stop::Trap(_) | Stop::Fault(_));
        let [x, y, z] = who.workgroup;
        let pc = before.wave.pc.wrapping_sub(scene.base);
        let next = scene.wave.pc.wrapping_sub(scene.base);
        let offset = pc.wrapping_sub(scene.kernel.entry) as i64;
        let source = self.sink.sources.line(&scene.kernel.name, offset);
        // For a line of assembly that consists of the instruction itself, only the name is shown.
        let own = source.and_then(|source| lines::own(source, &before.text));
        let line = if self.sink.json {
            let mut map = Map::new();
            for change in &changes {
                map.insert(change.name.clone(), json!(lang::show(&change.value())));
            }
            let mut line = json!({
                "workgroup": who.workgroup,
                "wave": who.wave,
                "kernel": scene.kernel.name,
                "pc": format!("{pc:#x}"),
                "inst": before.text,
                "changed": map,
                "next": format!("{next:#x}"),
            });
            if let Some(source) = source {
                line["source"] = json!(source.lines().next());
            }
            if let Some(ended) = ended {
                line["stop"] = json!(ended);
            }
            line.to_string()
        } else {
            let mut line = format!("({x},{y},{z}):{} {pc:#06x}  {:<44}", who.wave, before.text);
            let full = self.sink.filter.full;
            let mut parts: Vec<String> = (changes.iter())
                .map(|change| format!("{} = {}", change.name, change.text(full)))
                .collect();
            if show_pc {
                parts.push(format!("pc = {next:#x}"));
            }
            parts.extend(ended);
            let _ = write!(line, "  {}", parts.join(", "));
            line.truncate(line.trim_end().len());
            if let Some(at) = own {
                let _ = write!(line, "  // {}", lines::without_folder(at));
            }
            line
        };
        let mut out = self.sink.out.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = String::new();
        if let (false, None, Some(source)) = (self.sink.json, own, source) {
            let here = (who, source.to_owned());
            if out.last.as_ref() != Some(&here) {
                let text = source
                    .split_once('\n')
                    .map_or(String::new(), |(_, t)| format!(": {}", t.trim()));
                let at = source.lines().next().unwrap_or_default();
                let _ = writeln!(lines, "({x},{y},{z}):{} // {at}{text}", who.wave);
                out.last = Some(here);
            }
        }
        lines.push_str(&line);
        lines.push('\n');
        if let Err(e) = out.to.write_all(lines.as_bytes()) {
            self.sink.failed(&e);
        }
    }
}

impl Tracer {
    fn changes(&self, before: &Before, scene: &Scene<'_>) -> Vec<Change> {
        let operands = Operands::new(before.insn.as_ref());
        let mut changes = registers(scene.target, &before.wave, scene.wave, &operands);
        if let Some(lds) = &before.lds {
            let mut words = Vec::new();
            for at in (0..lds.len().min(scene.lds.len()) & !3).step_by(4) {
                let now = &scene.lds[at..at + 4];
                if lds[at..at + 4] != *now {
                    let value = u32::from_le_bytes([now[0], now[1], now[2], now[3]]);
                    words.push((at as u64, value.into()));
                }
            }
            changes.extend(stretches("lds", &words, 4, operands.stored));
        }
        changes.extend(stores(scene.memory, operands.stored));
        changes
    }
}

/// A register or a range of memory that changed.
struct Change {
    name: String,
    /// The values by lane, or by index in the range.
    values: Vec<(usize, u64)>,
    /// The number of lanes or indices.
    of: usize,
    /// The number of bits of a value.
    bits: u32,
    /// The lanes or indices without a value.
    rest: Option<Vec<u64>>,
    /// The type that the instruction gives to the values.
    ty: Ty,
    /// True for a VGPR.
    lanes: bool,
}

impl Change {
    fn one(name: String, value: u64, ty: Ty) -> Change {
        Change {
            name,
            values: vec![(0, value)],
            of: 1,
            bits: 64,
            rest: None,
            ty,
            lanes: false,
        }
    }

    /// Writes all lanes in the syntax of the test language.
    fn value(&self) -> Value {
        match (&self.rest, self.values.as_slice()) {
            (Some(all), _) => Value::Lanes(all.clone()),
            (None, [(_, one)]) => Value::One(*one),
            (None, many) => Value::Lanes(many.iter().map(|v| v.1).collect()),
        }
    }

    fn text(&self, full: bool) -> String {
        let form = Form::of(self.ty, self.values.iter().map(|v| v.1));
        let mask = u64::MAX >> (64 - self.bits);
        let word = if self.lanes { "lane" } else { "n" };
        lanes::text(&self.values, form, mask, word, self.of, full)
    }
}

/// The properties of the registers that an instruction writes.
struct Operands {
    /// The file, first register, count and type of each destination.
    written: Vec<(File, u16, u16, Ty)>,
    /// The type of stored values: a float if an atomic computes with floats.
    stored: Ty,
    /// True if it accesses memory.
    memory: bool,
}

impl Operands {
    fn new(insn: Option<&Insn>) -> Operands {
        let mut operands = Operands {
            written: Vec::new(),
            stored: Ty::B32,
            memory: false,
        };
        let Some(insn) = insn else {
            return operands;
        };
        let info = instruction_info(insn);
        for access in info.accesses(insn).filter(|a| a.write && !a.anywhere) {
            if let Some(slot) = access.slot.map(|n| &insn.row.shape.slots[n as usize]) {
                let (first, count) = (access.first, access.count.into());
                operands.written.push((access.file, first, count, slot.ty));
            }
        }
        let data = insn.row.shape.slots.iter();
        let float = data.map(|slot| slot.ty).find(|ty| *ty == Ty::F32);
        operands.memory = info.memory(insn).is_some();
        if let (Some(float), true) = (float, operands.memory) {
            operands.stored = float;
        }
        operands
    }

    /// Returns the type of a register, and whether it is the low half of a 64-bit number.
    fn ty(&self, file: File, register: u16) -> (Ty, bool) {
        let holds = |w: &&(File, u16, u16, Ty)| w.0 == file && (w.1..w.1 + w.2).contains(&register);
        match self.written.iter().find(holds) {
            Some((_, first, 2, ty)) if ty.bits() == 64 => (*ty, *first == register),
            Some((.., ty)) => (*ty, false),
            None => (Ty::B32, false),
        }
    }
}

/// Returns the registers that changed. The two registers of a 64-bit number are one entry.
fn registers(
    target: Target,
    before: &WaveState,
    after: &WaveState,
    operands: &Operands,
) -> Vec<Change> {
    let mut locations = Vec::new();
    let changed = |code: usize| {
        before
            .sgprs
            .get(code)
            .zip(after.sgprs.get(code))
            .is_some_and(|(b, a)| b != a)
    };
    let mut code = 0;
    while code < after.sgprs.len() {
        let (ty, pair) = operands.ty(File::Scalar, code as u16);
        // Two loaded dwords are an address, or unrelated.
        let address = after
            .sgprs
            .get(code + 1)
            .is_some_and(|high| *high < 1 << 16);
        let apart = operands.memory && ty == Ty::B64 && !address;
        let count = if pair && !apart { 2 } else { 1 };
        if (code..code + count).any(changed) {
            locations.push(Location::Scalar(code as u16, count as u8));
        }
        code += count;
    }
    let flags = [
        (Location::Scc, before.scc != after.scc),
        (Location::Mode, before.mode != after.mode),
        (Location::Status, before.status != after.status),
        (Location::Trapsts, before.trapsts != after.trapsts),
    ];
    let mut vectors = Vec::new();
    let mut number = 0;
    while number < after.vgprs.len() {
        let (ty, pair) = operands.ty(File::Vector, number as u16);
        let count = if pair { 2 } else { 1 };
        let registers = number..(number + count).min(after.vgprs.len());
        if registers.clone().any(|n| before.vgprs[n] != after.vgprs[n]) {
            vectors.push(vector(target, before, after, registers, ty));
        }
        number += count;
    }
    locations.extend(flags.iter().filter(|(_, changed)| *changed).map(|f| f.0));
    let scalars = lang::pair_up(&locations, target)
        .into_iter()
        .map(|location| {
            let (value, ty) = match location {
                Location::Scalar(code, 1) => {
                    // If only one half changed, it is treated as a number of its own.
                    let ty = match operands.ty(File::Scalar, code).0 {
                        Ty::B64 => Ty::B32,
                        ty => ty,
                    };
                    (after.sgprs[code as usize].into(), ty)
                }
                Location::Scalar(code, _) => (after.pair(code), operands.ty(File::Scalar, code).0),
                Location::Scc => (after.scc.into(), Ty::Bool),
                Location::Mode => (after.mode.into(), Ty::U32),
                Location::Status => (after.status.into(), Ty::U32),
                _ => (after.trapsts.into(), Ty::U32),
            };
            Change::one(lang::name(location, target), value, ty)
        });
    let (scalars, flags): (Vec<_>, Vec<_>) = scalars.partition(|change| change.ty != Ty::Bool);
    scalars.into_iter().chain(vectors).chain(flags).collect()
}

/// Returns a VGPR, or two VGPRs that are a number, in the lanes that were active or changed.
fn vector(
    target: Target,
    before: &WaveState,
    after: &WaveState,
    registers: std::ops::Range<usize>,
    ty: Ty,
) -> Change {
    let at = |wave: &WaveState, lane: usize| {
        let parts = registers.clone().rev();
        parts.fold(0u64, |all, n| all << 32 | wave.vgprs[n][lane] as u64)
    };
    let on = |lane: &usize| before.exec() >> lane & 1 != 0 || at(before, *lane) != at(after, *lane);
    let lanes = (0..LANES).filter(on);
    Change {
        name: lang::name(
            Location::Vgpr(registers.start as u16, registers.len() as u8),
            target,
        ),
        values: lanes.map(|lane| (lane, at(after, lane))).collect(),
        of: LANES,
        bits: 32 * registers.len() as u32,
        rest: Some((0..LANES).map(|lane| at(after, lane)).collect()),
        ty,
        lanes: true,
    }
}

/// Groups values, in the order of their addresses, into ranges of consecutive addresses.
fn stretches(unit: &str, values: &[(u64, u64)], size: u64, ty: Ty) -> Vec<Change> {
    let side_by_side = |a: &(u64, u64), b: &(u64, u64)| b.0 - a.0 == size;
    let stretch = |values: &[(u64, u64)]| {
        let (first, last) = (values[0].0, values[values.len() - 1].0);
        Change {
            name: match values.len() {
                1 => format!("{unit}[{first:#x}]"),
                _ => format!("{unit}[{first:#x}..{:#x}]", last + size),
            },
            values: values.iter().map(|v| v.1).enumerate().collect(),
            of: values.len(),
            bits: 8 * size as u32,
            rest: None,
            ty,
            lanes: false,
        }
    };
    values.chunk_by(side_by_side).map(stretch).collect()
}

/// Returns the stores of the instruction as ranges of dwords, or of bytes if it stored less.
fn stores(memory: &Memory, ty: Ty) -> Vec<Change> {
    let mut bytes: Vec<u64> = take_stores()
        .into_iter()
        .flat_map(|(at, size)| at..at.saturating_add(size))
        .collect();
    bytes.sort_unstable();
    bytes.dedup();
    let mut out = Vec::new();
    for run in bytes.chunk_by(|a, b| b - a == 1) {
        let (first, len) = (run[0], run.len() as u64);
        let dwords = first.is_multiple_of(4) && len.is_multiple_of(4);
        let (unit, size) = if dwords { ("mem", 4) } else { ("byte", 1) };
        let value = |at: u64| match dwords {
            true => memory.load_u32(at).unwrap_or(0).into(),
            false => memory.load_u8(at).unwrap_or(0).into(),
        };
        let values = (first..first + len).step_by(size as usize);
        let values: Vec<(u64, u64)> = values.map(|at| (at, value(at))).collect();
        out.extend(stretches(
            unit,
            &values,
            size,
            if dwords { ty } else { Ty::B8 },
        ));
    }
    out
}
