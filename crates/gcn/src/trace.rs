//! `gcn run --trace`: each instruction with what it changed.

use std::fmt::Write as _;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use gcn_emu::dispatch::watch::{Observe, Observer, Scene, Who};
use gcn_emu::engine::Stop;
use gcn_emu::mem::{Memory, take_stores};
use gcn_emu::wave::{Lds, WaveState};
use gcn_isa::Target;
use gcn_isa::access::{Facts, MemoryKind, MemorySpace};
use gcn_isa::print::{Style, print};
use serde_json::{Map, json};

use crate::lang::{self, Place, Value};

/// Which instructions are traced.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// A workgroup, by its numbers, and a wave of it.
    pub wave: Option<([u32; 3], Option<usize>)>,
    /// Addresses as `gcn dis` shows them: from the first up to, but not with, the second.
    pub pc: Option<(u64, u64)>,
    /// The most lines.
    pub limit: Option<u64>,
}

/// Reads `G[:W]`: a workgroup as `5` or `1,2,0`, and a wave.
///
/// # Errors
/// What was expected.
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
/// What was expected.
pub fn parse_range(text: &str) -> Result<(u64, u64), String> {
    let bound = |text: &str| crate::run::integer(text).and_then(|v| u64::try_from(v).ok());
    let range = text.split_once("..").and_then(|(a, b)| {
        let from = if a.is_empty() { Some(0) } else { bound(a) };
        let to = if b.is_empty() {
            Some(u64::MAX)
        } else {
            bound(b)
        };
        Some((from?, to?))
    });
    range.ok_or_else(|| format!("`{text}`: expected addresses A..B, as 0x100..0x180"))
}

struct Sink {
    out: Mutex<Box<dyn Write + Send>>,
    left: AtomicU64,
    filter: Filter,
    json: bool,
}

/// Writes a line for each instruction.
pub struct Trace(Arc<Sink>);

impl Trace {
    /// A trace to `out`, as text or as JSON lines.
    pub fn new(out: Box<dyn Write + Send>, filter: Filter, json: bool) -> Trace {
        Trace(Arc::new(Sink {
            out: Mutex::new(out),
            left: AtomicU64::new(filter.limit.unwrap_or(u64::MAX)),
            filter,
            json,
        }))
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

impl Drop for Sink {
    fn drop(&mut self) {
        let out = self.out.get_mut().unwrap_or_else(PoisonError::into_inner);
        // There is nobody to tell.
        let _ = out.flush();
    }
}

struct Tracer {
    sink: Arc<Sink>,
    before: Option<Before>,
}

struct Before {
    wave: WaveState,
    lds: Option<Lds>,
    text: String,
    next: u64,
}

impl Observer for Tracer {
    fn before(&mut self, who: Who, scene: &Scene<'_>) {
        self.before = None;
        // Stores of instructions that are not traced.
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
                let access = Facts::new(insn.row, insn.target).memory(&insn);
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
            text,
            next: scene.wave.pc.wrapping_add(len),
        });
    }

    fn after(&mut self, who: Who, scene: &Scene<'_>, stop: &Stop) {
        let Some(before) = self.before.take() else {
            return;
        };
        // Another thread may have taken the last line meanwhile.
        let take = |left: u64| left.checked_sub(1);
        if self.sink.left.fetch_update(Relaxed, Relaxed, take).is_err() {
            return;
        }
        let mut changes = registers(scene.target, &before.wave, scene.wave);
        if let Some(lds) = &before.lds {
            for at in (0..lds.0.len().min(scene.lds.0.len()) & !3).step_by(4) {
                let now = &scene.lds.0[at..at + 4];
                if lds.0[at..at + 4] != *now {
                    let value = u32::from_le_bytes([now[0], now[1], now[2], now[3]]);
                    changes.push((format!("lds[{at:#x}]"), Value::One(value.into())));
                }
            }
        }
        changes.extend(stores(scene.memory));
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
        let line = if self.sink.json {
            let mut map = Map::new();
            for (name, value) in &changes {
                map.insert(name.clone(), json!(lang::show(value)));
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
            if let (Some(ended), Some(line)) = (ended, line.as_object_mut()) {
                line.insert("stop".into(), json!(ended));
            }
            line.to_string()
        } else {
            let mut line = format!("({x},{y},{z}):{} {pc:#06x}  {:<44}", who.wave, before.text);
            let mut parts: Vec<String> = changes
                .iter()
                .map(|(name, value)| format!("{name} = {}", lang::show(value)))
                .collect();
            if show_pc {
                parts.push(format!("pc = {next:#x}"));
            }
            parts.extend(ended);
            let _ = write!(line, "  {}", parts.join(", "));
            line.truncate(line.trim_end().len());
            line
        };
        let mut out = self.sink.out.lock().unwrap_or_else(PoisonError::into_inner);
        // A reader that has gone away wants no more.
        if writeln!(out, "{line}").is_err() {
            self.sink.left.store(0, Relaxed);
        }
    }
}

/// The registers that changed, with their new values.
fn registers(target: Target, before: &WaveState, after: &WaveState) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    for (code, (b, a)) in before.sgprs.iter().zip(&after.sgprs).enumerate() {
        if a != b {
            places.push(Place::Scalar(code as u16, 1));
        }
    }
    for (number, (b, a)) in before.vgprs.iter().zip(&after.vgprs).enumerate() {
        if a != b {
            places.push(Place::Vgpr(number as u16, 1));
        }
    }
    let flags = [
        (Place::Scc, before.scc != after.scc),
        (Place::Mode, before.mode != after.mode),
        (Place::Status, before.status != after.status),
        (Place::Trapsts, before.trapsts != after.trapsts),
    ];
    places.extend(flags.iter().filter(|(_, changed)| *changed).map(|f| f.0));
    lang::pair_up(&places, target)
        .into_iter()
        .map(|place| {
            let value = match place {
                Place::Scalar(code, 1) => Value::One(after.sgprs[code as usize].into()),
                Place::Scalar(code, _) => Value::One(after.pair(code)),
                Place::Vgpr(n, _) => Value::Lanes(after.vgprs[n as usize].map(u64::from).to_vec()),
                Place::Scc => Value::One(after.scc.into()),
                Place::Mode => Value::One(after.mode.into()),
                Place::Status => Value::One(after.status.into()),
                _ => Value::One(after.trapsts.into()),
            };
            (lang::name(place, target), value)
        })
        .collect()
}

/// What the instruction stored, in runs of dwords, or of bytes where it stored less.
fn stores(memory: &Memory) -> Vec<(String, Value)> {
    let mut bytes: Vec<u64> = take_stores()
        .into_iter()
        .flat_map(|(at, size)| at..at.saturating_add(size))
        .collect();
    bytes.sort_unstable();
    bytes.dedup();
    let mut out: Vec<(String, Value)> = Vec::new();
    let mut at = 0;
    while let Some(&first) = bytes.get(at) {
        let run = (at..bytes.len())
            .take_while(|&n| bytes[n] - first == (n - at) as u64)
            .count();
        at += run;
        let dwords = first.is_multiple_of(4) && run.is_multiple_of(4);
        let step = if dwords { 4 } else { 1 };
        let values: Vec<u64> = (first..first + run as u64)
            .step_by(step)
            .map(|at| match dwords {
                true => memory.load_u32(at).unwrap_or(0).into(),
                false => memory.load_u8(at).unwrap_or(0).into(),
            })
            .collect();
        let value = match values.as_slice() {
            [one] => Value::One(*one),
            _ => Value::Lanes(values),
        };
        let unit = if dwords { "mem" } else { "byte" };
        out.push((format!("{unit}[{first:#x}]"), value));
    }
    out
}
