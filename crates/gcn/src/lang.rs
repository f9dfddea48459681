//! The test language: one line has instructions, a state, and the expected changes.
//!
//! `v_add_f32 v2, v0, v1   v0 = 1.0, v1 = [2.0, 3.0 ..]  => v2 = [3.0, 4.0 ..]`
//!
//! Instructions are separated by `;`. The state begins at the first `name =`. A value is a number in
//! decimal or hex, a float (`1.0` of 32 bits, `1.0d` of 64, `1.0h` of 16), or a list with one value a
//! lane, whose last repeats.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use gcn_emu::export;
use gcn_emu::fp;
use gcn_emu::global::{GDS_BYTES, Global};
use gcn_emu::mem::{Memory, PAGE_SIZE, Perm};
use gcn_emu::snippet::{self, End, Outcome, Snippet};
use gcn_emu::wave::{LANES, Lds, WaveState};
use gcn_isa::operand::{EXEC, M0, VCC};
use gcn_isa::{Gen, Target};

/// The location that an assignment names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Location {
    /// `count` SGPRs from a code on; also VCC, EXEC and the other pairs.
    Scalar(u16, u8),
    /// `count` VGPRs from a number on.
    Vgpr(u16, u8),
    /// The scalar condition code.
    Scc,
    /// The hardware register MODE.
    Mode,
    /// The hardware register STATUS.
    Status,
    /// The hardware register TRAPSTS.
    Trapsts,
    /// VSKIP: vector instructions are skipped.
    Vskip,
    /// A dword of LDS by byte address.
    Lds(u32),
    /// A dword of the global data share by byte address.
    Gds(u32),
    /// A dword of memory by byte address.
    Mem(u64),
    /// A component, X to W, of an export target.
    Export(u8, u8),
    /// True if an export was marked as the last one.
    ExportDone,
    /// EXEC of the last export with VM.
    ExportValid,
    /// The PC in bytes from the snippet's start: the final one, or in the initial state the first one.
    Pc,
}

/// The parts of a line.
#[derive(Debug, Default)]
pub struct Line {
    /// The instructions, `;` between them.
    pub inst: String,
    /// The initial state.
    pub before: Vec<(Location, Value)>,
    /// The expected changes, after `=>`.
    pub after: Option<Vec<(Location, Value)>>,
    /// `end = …` after `=>`.
    pub end: Option<String>,
}

/// The value of an assignment: a single value, or one per lane; the last one repeats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A single value.
    One(u64),
    /// A value for each lane.
    Lanes(Vec<u64>),
}

impl Value {
    /// The value of a lane.
    pub fn lane(&self, lane: usize) -> u64 {
        match self {
            Value::One(v) => *v,
            Value::Lanes(list) => list.get(lane).or(list.last()).copied().unwrap_or(0),
        }
    }
}

/// Parses a line.
///
/// # Errors
/// A message about the part that could not be parsed.
pub fn parse(line: &str, target: Target) -> Result<Line, String> {
    let (before, after) = match line.split_once("=>") {
        Some((a, b)) => (a, Some(b)),
        None => (line, None),
    };
    let at = state_start(before);
    let mut out = Line {
        inst: before[..at].trim().to_owned(),
        ..Line::default()
    };
    let mut end = None;
    out.before = assignments(&before[at..], target, &mut end)?;
    if end.is_some() {
        return Err("`end` must be after `=>`".into());
    }
    if let Some(after) = after {
        out.after = Some(assignments(after, target, &mut out.end)?);
    }
    if out.inst.is_empty() {
        return Err("the line has no instruction".into());
    }
    Ok(out)
}

/// Returns the start of the state: the first word that is followed by `=`.
fn state_start(text: &str) -> usize {
    let bytes = text.as_bytes();
    for (at, _) in text.match_indices('=') {
        // Skips the blanks and the name with its brackets backwards.
        let mut end = at;
        while end > 0 && bytes[end - 1] == b' ' {
            end -= 1;
        }
        let mut start = end;
        let mut depth = 0i32;
        while start > 0 {
            match bytes[start - 1] {
                b']' => depth += 1,
                b'[' => depth -= 1,
                b' ' | b',' | b'\t' if depth <= 0 => break,
                _ => {}
            }
            start -= 1;
        }
        if start < end {
            return start;
        }
    }
    text.len()
}

fn assignments(
    text: &str,
    target: Target,
    end: &mut Option<String>,
) -> Result<Vec<(Location, Value)>, String> {
    let mut out = Vec::new();
    for part in split_commas(text) {
        let part = part.trim();
        if part.is_empty() {
            continue;
        }
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| format!("`{part}` is not an assignment; expected `name = value`"))?;
        let (name, value) = (name.trim(), value.trim());
        if name == "end" {
            if !ENDS.contains(&value) {
                return Err(format!("end: expected one of {}", ENDS.join(", ")));
            }
            *end = Some(value.to_owned());
            continue;
        }
        let location = location(name, target)
            .ok_or_else(|| format!("`{name}` names no register, flag or memory"))?;
        let width = width(location);
        out.push((
            location,
            parse_value(value, width).map_err(|e| format!("{name}: {e}"))?,
        ));
    }
    Ok(out)
}

fn split_commas(text: &str) -> Vec<&str> {
    let (mut out, mut depth, mut from) = (Vec::new(), 0i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth <= 0 => {
                out.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    out.push(&text[from..]);
    out
}

/// The number of bits of a location.
pub(crate) fn width(location: Location) -> u32 {
    match location {
        Location::Scalar(_, n) | Location::Vgpr(_, n) => 32 * n as u32,
        Location::Scc | Location::Vskip | Location::ExportDone => 1,
        Location::Pc | Location::ExportValid => 64,
        _ => 32,
    }
}

/// Returns the location of a name.
pub fn location(name: &str, target: Target) -> Option<Location> {
    let generation = target.generation();
    let (fs, ttmp, ttmps) = match generation {
        Gen::Gfx6 => (None, 112, 12),
        Gen::Gfx7 => (Some(104), 112, 12),
        Gen::Gfx8 => (Some(102), 112, 12),
        Gen::Gfx9 => (Some(102), 108, 16),
    };
    let fixed = match name {
        "scc" => Location::Scc,
        "mode" => Location::Mode,
        "status" => Location::Status,
        "trapsts" => Location::Trapsts,
        "vskip" => Location::Vskip,
        "pc" => Location::Pc,
        "exp.done" => Location::ExportDone,
        "exp.valid" => Location::ExportValid,
        "vcc" => Location::Scalar(VCC, 2),
        "exec" => Location::Scalar(EXEC, 2),
        "vcc_lo" => Location::Scalar(VCC, 1),
        "vcc_hi" => Location::Scalar(VCC + 1, 1),
        "exec_lo" => Location::Scalar(EXEC, 1),
        "exec_hi" => Location::Scalar(EXEC + 1, 1),
        "m0" => Location::Scalar(M0, 1),
        "flat_scratch" => Location::Scalar(fs?, 2),
        "flat_scratch_lo" => Location::Scalar(fs?, 1),
        "flat_scratch_hi" => Location::Scalar(fs? + 1, 1),
        "xnack_mask" if generation >= Gen::Gfx8 => Location::Scalar(104, 2),
        "tba" if generation < Gen::Gfx9 => Location::Scalar(108, 2),
        "tma" if generation < Gen::Gfx9 => Location::Scalar(110, 2),
        _ => {
            if let Some(at) = name.strip_prefix("lds[").and_then(|r| r.strip_suffix(']')) {
                return Some(Location::Lds(integer(at)?.try_into().ok()?));
            }
            if let Some(at) = name.strip_prefix("gds[").and_then(|r| r.strip_suffix(']')) {
                return Some(Location::Gds(integer(at)?.try_into().ok()?));
            }
            if let Some(at) = name.strip_prefix("mem[").and_then(|r| r.strip_suffix(']')) {
                return Some(Location::Mem(integer(at)?.try_into().ok()?));
            }
            if let Some((target, component)) = name.split_once('.') {
                let target = export::number(target).filter(|&t| t != export::NULL)?;
                let k = ["x", "y", "z", "w"].iter().position(|c| *c == component)?;
                return Some(Location::Export(target, k as u8));
            }
            if let Some(rest) = name.strip_prefix("ttmp") {
                let (first, n) = range(rest)?;
                return (first + n as u16 <= ttmps).then_some(Location::Scalar(ttmp + first, n));
            }
            let (first, n) = range(name.get(1..)?)?;
            return match name.as_bytes()[0] {
                b's' if first + n as u16 <= generation.sgprs() => Some(Location::Scalar(first, n)),
                b'v' if first + n as u16 <= 256 => Some(Location::Vgpr(first, n)),
                _ => None,
            };
        }
    };
    Some(fixed)
}

/// Reads `5` or `[4:5]`: the first register and the number of registers, at most two.
fn range(text: &str) -> Option<(u16, u8)> {
    match text.strip_prefix('[').and_then(|r| r.strip_suffix(']')) {
        Some(inner) => {
            let (a, b) = inner.split_once(':')?;
            let (a, b): (u16, u16) = (a.trim().parse().ok()?, b.trim().parse().ok()?);
            (b == a || b == a.checked_add(1)?).then(|| (a, (b - a + 1) as u8))
        }
        None if text.bytes().all(|b| b.is_ascii_digit()) => Some((text.parse().ok()?, 1)),
        None => None,
    }
}

/// A number in decimal, `0x…` or `0b…`, with `_` between its digits.
pub(crate) fn integer(text: &str) -> Option<i128> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let digits = digits.replace('_', "");
    let value = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => i128::from_str_radix(hex, 16).ok()?,
        None => match digits.strip_prefix("0b") {
            Some(bits) => i128::from_str_radix(bits, 2).ok()?,
            None => digits.parse().ok()?,
        },
    };
    Some(if negative { -value } else { value })
}

fn parse_value(text: &str, bits: u32) -> Result<Value, String> {
    let Some(inner) = text.strip_prefix('[') else {
        return number(text, bits).map(Value::One);
    };
    let inner = inner.strip_suffix(']').ok_or("a list ends in `]`")?;
    let inner = inner.trim();
    let inner = inner.strip_suffix("..").unwrap_or(inner).trim();
    let list = inner
        .split(',')
        .map(|v| number(v.trim(), bits))
        .collect::<Result<Vec<_>, _>>()?;
    if list.len() > LANES {
        return Err(format!("{} values, a wave has {LANES} lanes", list.len()));
    }
    Ok(Value::Lanes(list))
}

/// A number of at most `bits` bits; negative ones in two's complement.
pub fn number(text: &str, bits: u32) -> Result<u64, String> {
    let mask = if bits >= 64 {
        u64::MAX
    } else {
        (1 << bits) - 1
    };
    if let Some(v) = integer(text) {
        let low = -(1i128 << (bits - 1).min(63));
        if v > mask as i128 || v < low && bits > 1 || bits == 1 && v < 0 {
            return Err(format!("{text} does not fit {bits} bits"));
        }
        return Ok(v as u64 & mask);
    }
    let (digits, kind) = match text.as_bytes().last() {
        Some(b'd') => (&text[..text.len() - 1], 64),
        Some(b'h') => (&text[..text.len() - 1], 16),
        _ => (text, 32),
    };
    let value: f64 = match digits {
        "inf" => f64::INFINITY,
        "-inf" => f64::NEG_INFINITY,
        "nan" => f64::NAN,
        _ => digits
            .parse()
            .map_err(|_| format!("`{text}` is not a number"))?,
    };
    let out = match kind {
        64 => value.to_bits(),
        16 => fp::convert::<fp::F64, fp::F16>(value.to_bits(), &fp::Env::IEEE, &fp::Env::IEEE),
        _ => match digits.parse::<f32>() {
            Ok(v) => v.to_bits() as u64,
            Err(_) => (value as f32).to_bits() as u64,
        },
    };
    if kind > bits {
        return Err(format!("{text} has {kind} bits, the register {bits}"));
    }
    Ok(out)
}

/// A wave, its LDS and the memory around it, before or after a snippet.
pub struct Bench {
    /// The target.
    pub target: Target,
    /// The wave.
    pub wave: WaveState,
    /// Its LDS.
    pub lds: Lds,
    /// The global data share, and global wave sync.
    pub global: Global,
    /// The memory.
    pub memory: Memory,
    /// Bytes from the snippet's start.
    pub start: u64,
}

impl Bench {
    /// A wave with 256 VGPRs, all zero, EXEC all ones and MODE 0x3c0; an LDS of the generation's size.
    ///
    /// # Errors
    /// If the host has no memory.
    pub fn new(target: Target) -> Result<Bench, String> {
        Ok(Bench {
            target,
            wave: WaveState::new(256),
            lds: Lds::new(target.generation().lds_bytes() as usize),
            global: Global::default(),
            memory: Memory::new(256 << 20).map_err(|e| e.to_string())?,
            start: 0,
        })
    }

    /// Maps the page of a dword of memory, and the next page if the dword extends into it.
    ///
    /// # Errors
    /// If the address has more than 48 bits or memory is exhausted.
    pub fn map(&mut self, at: u64) -> Result<(), String> {
        let last = at.checked_add(3).ok_or("an address is beyond 64 bits")?;
        if last >= 1 << 48 {
            return Err(format!("{at:#x}: addresses have 48 bits"));
        }
        for byte in [at, last] {
            if self.memory.perm(byte).is_none() {
                let page = byte & !(PAGE_SIZE - 1);
                self.memory
                    .map_at(page, PAGE_SIZE, Perm::RW)
                    .map_err(|e| format!("{at:#x}: {e}"))?;
            }
        }
        Ok(())
    }

    /// Sets a location.
    ///
    /// # Errors
    /// If it is outside LDS or memory.
    pub fn set(&mut self, location: Location, value: &Value) -> Result<(), String> {
        let one = value.lane(0);
        match location {
            Location::Scalar(code, 1) => self.wave.sgprs[code as usize] = one as u32,
            Location::Scalar(code, _) => self.wave.set_pair(code, one),
            Location::Vgpr(number, n) => {
                for lane in 0..LANES {
                    let v = value.lane(lane);
                    self.wave.vgprs[number as usize][lane] = v as u32;
                    if n == 2 {
                        self.wave.vgprs[number as usize + 1][lane] = (v >> 32) as u32;
                    }
                }
            }
            Location::Scc => self.wave.scc = one != 0,
            Location::Mode => self.wave.mode = one as u32,
            Location::Status => self.set_status(one as u32),
            Location::Trapsts => self.wave.trapsts = one as u32,
            Location::Vskip => {
                let bit = gcn_emu::wave::mode::VSKIP;
                self.wave.mode = self.wave.mode & !bit | if one != 0 { bit } else { 0 };
            }
            Location::Lds(at) => {
                let at = at as usize;
                let size = self.lds.len();
                let location = self
                    .lds
                    .get_mut(at..at.saturating_add(4))
                    .ok_or_else(|| format!("lds[{at:#x}] is beyond the {size} bytes of LDS"))?;
                location.copy_from_slice(&(one as u32).to_le_bytes());
            }
            Location::Gds(at) => {
                let at = at as usize;
                self.global
                    .gds()
                    .get_mut(at..at.saturating_add(4))
                    .ok_or_else(|| format!("gds[{at:#x}] is beyond the {GDS_BYTES} bytes of GDS"))?
                    .copy_from_slice(&(one as u32).to_le_bytes());
            }
            Location::Mem(at) => {
                self.map(at)?;
                self.memory
                    .store_u32(at, one as u32)
                    .map_err(|e| e.to_string())?;
            }
            Location::Export(target, k) => {
                let value = |lane| value.lane(lane) as u32;
                self.wave.exports.set(target, k, !0, value);
            }
            Location::ExportDone | Location::ExportValid => {
                return Err("it is the result of an export and cannot be set before".into());
            }
            Location::Pc => self.start = one,
        }
        Ok(())
    }

    fn set_status(&mut self, value: u32) {
        use gcn_emu::wave::status::{EXECZ, SCC, VCCZ};
        self.wave.status = value & !(SCC | EXECZ | VCCZ);
        if value & SCC != 0 {
            self.wave.scc = true;
        }
    }

    /// The value of a location.
    pub fn get(&self, location: Location) -> Value {
        Value::One(match location {
            Location::Scalar(code, 1) => self.wave.sgprs[code as usize] as u64,
            Location::Scalar(code, _) => self.wave.pair(code),
            Location::Vgpr(number, n) => {
                let low = &self.wave.vgprs[number as usize];
                return Value::Lanes(
                    (0..LANES)
                        .map(|lane| {
                            let high = if n == 2 {
                                self.wave.vgprs[number as usize + 1][lane] as u64
                            } else {
                                0
                            };
                            low[lane] as u64 | high << 32
                        })
                        .collect(),
                );
            }
            Location::Scc => self.wave.scc as u64,
            Location::Mode => self.wave.mode as u64,
            Location::Status => self.wave.status as u64,
            Location::Trapsts => self.wave.trapsts as u64,
            Location::Vskip => (self.wave.mode & gcn_emu::wave::mode::VSKIP != 0) as u64,
            Location::Lds(at) => dword(&self.lds, at) as u64,
            Location::Gds(at) => dword(&self.global.gds(), at) as u64,
            Location::Mem(at) => self.memory.load_u32(at).unwrap_or(0) as u64,
            Location::Export(target, k) => {
                let components = self.wave.exports.target(target);
                let lanes = components.map_or([0; LANES], |c| c[k as usize & 3]);
                return Value::Lanes(lanes.iter().map(|&v| v as u64).collect());
            }
            Location::ExportDone => self.wave.exports.done() as u64,
            Location::ExportValid => self.wave.exports.valid(),
            Location::Pc => self.wave.pc,
        })
    }

    /// Runs instructions for at most `max` of them.
    pub fn run(
        &mut self,
        code: &[u8],
        max: u64,
        engine: &mut dyn gcn_emu::engine::Engine,
    ) -> Outcome {
        let snippet = Snippet {
            target: self.target,
            code,
            start_pc: self.start,
            max,
        };
        let (wave, lds) = (&mut self.wave, &mut self.lds);
        snippet::run_beside(snippet, wave, lds, &self.memory, &self.global, engine)
    }

    /// A copy of the state.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            wave: self.wave.clone(),
            lds: self.lds.clone(),
            gds: self.global.gds().clone(),
            memory: self.contents().collect(),
        }
    }

    /// The regions of memory with their bytes; unreadable memory is zeros.
    fn contents(&self) -> impl Iterator<Item = (u64, Vec<u8>)> {
        self.memory.regions().map(|(base, size)| {
            let mut bytes = vec![0; size as usize];
            for (n, page) in bytes.chunks_mut(PAGE_SIZE as usize).enumerate() {
                if self.memory.read(base + n as u64 * PAGE_SIZE, page).is_err() {
                    page.fill(0);
                }
            }
            (base, bytes)
        })
    }

    /// The locations whose values differ from the snapshot's, register by register.
    pub fn changes(&self, before: &Snapshot) -> Vec<Location> {
        let mut out = Vec::new();
        for code in 0..128u16 {
            if self.wave.sgprs[code as usize] != before.wave.sgprs[code as usize] {
                out.push(Location::Scalar(code, 1));
            }
        }
        for number in 0..256u16 {
            if self.wave.vgprs[number as usize] != before.wave.vgprs[number as usize] {
                out.push(Location::Vgpr(number, 1));
            }
        }
        let flags = [
            (Location::Scc, self.wave.scc != before.wave.scc),
            (Location::Mode, self.wave.mode != before.wave.mode),
            (Location::Status, self.wave.status != before.wave.status),
            (Location::Trapsts, self.wave.trapsts != before.wave.trapsts),
        ];
        out.extend(
            flags
                .iter()
                .filter(|(_, changed)| *changed)
                .map(|(p, _)| *p),
        );
        let (now, old) = (&self.wave.exports, &before.wave.exports);
        for target in 0..64 {
            for k in 0..4u8 {
                let of = |exports: &export::Exports| {
                    let components = exports.target(target);
                    components.map_or([0; LANES], |c| c[k as usize])
                };
                if of(now) != of(old) {
                    out.push(Location::Export(target, k));
                }
            }
        }
        if now.done() != old.done() {
            out.push(Location::ExportDone);
        }
        if now.valid() != old.valid() {
            out.push(Location::ExportValid);
        }
        for at in (0..self.lds.len()).step_by(4) {
            if self.lds[at..at + 4] != before.lds[at..at + 4] {
                out.push(Location::Lds(at as u32));
            }
        }
        let gds = self.global.gds();
        if *gds != before.gds {
            for at in (0..GDS_BYTES).step_by(4) {
                if gds[at..at + 4] != before.gds[at..at + 4] {
                    out.push(Location::Gds(at as u32));
                }
            }
        }
        drop(gds);
        for (base, now) in self.contents() {
            let before = before.memory.get(&base);
            if before == Some(&now) {
                continue;
            }
            for at in (0..now.len()).step_by(4) {
                let old = before.and_then(|b| b.get(at..at + 4)).unwrap_or(&[0; 4]);
                if now[at..at + 4] != *old {
                    out.push(Location::Mem(base + at as u64));
                }
            }
        }
        out
    }
}

/// The dword at a byte address, 0 beyond the end.
fn dword(bytes: &[u8], at: u32) -> u32 {
    let at = at as usize;
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |b| u32::from_le_bytes(*b))
}

/// The state that [`Bench::snapshot`] copies.
pub struct Snapshot {
    wave: WaveState,
    lds: Lds,
    gds: Box<[u8]>,
    /// The bytes of the regions.
    memory: BTreeMap<u64, Vec<u8>>,
}

/// Pairs that are written as one register if one or both halves changed.
pub fn pair_up(locations: &[Location], target: Target) -> Vec<Location> {
    let mut pairs = vec![VCC, EXEC];
    match target.generation() {
        Gen::Gfx6 => {}
        Gen::Gfx7 => pairs.push(104),
        Gen::Gfx8 | Gen::Gfx9 => pairs.extend([102, 104]),
    }
    let mut out: Vec<Location> = Vec::new();
    for &p in locations {
        let p = match p {
            Location::Scalar(code, 1) if pairs.contains(&(code & !1)) && code >= 102 => {
                Location::Scalar(code & !1, 2)
            }
            other => other,
        };
        if !out.contains(&p) {
            out.push(p);
        }
    }
    out
}

/// The name of a location in the language.
pub fn name(location: Location, target: Target) -> String {
    let generation = target.generation();
    match location {
        Location::Scalar(VCC, 2) => "vcc".into(),
        Location::Scalar(EXEC, 2) => "exec".into(),
        Location::Scalar(M0, 1) => "m0".into(),
        Location::Scalar(code, n) => {
            let half = |pair: &str| match n {
                2 => pair.to_owned(),
                _ => format!("{pair}_{}", if code % 2 == 0 { "lo" } else { "hi" }),
            };
            let tuple = |letter: &str, first: u16| match n {
                1 => format!("{letter}{first}"),
                _ => format!("{letter}[{first}:{}]", first + 1),
            };
            match gcn_isa::operand::reg(code, generation) {
                gcn_isa::operand::Reg::Half(pair, _) => half(pair.name()),
                gcn_isa::operand::Reg::Ttmp(first) => tuple("ttmp", first),
                _ => tuple("s", code),
            }
        }
        Location::Vgpr(first, 1) => format!("v{first}"),
        Location::Vgpr(first, _) => format!("v[{first}:{}]", first + 1),
        Location::Scc => "scc".into(),
        Location::Mode => "mode".into(),
        Location::Status => "status".into(),
        Location::Trapsts => "trapsts".into(),
        Location::Vskip => "vskip".into(),
        Location::Lds(at) => format!("lds[{at:#x}]"),
        Location::Gds(at) => format!("gds[{at:#x}]"),
        Location::Mem(at) => format!("mem[{at:#x}]"),
        Location::Export(target, k) => format!(
            "{}.{}",
            export::name(target),
            ["x", "y", "z", "w"][k as usize & 3]
        ),
        Location::ExportDone => "exp.done".into(),
        Location::ExportValid => "exp.valid".into(),
        Location::Pc => "pc".into(),
    }
}

/// A value as the language writes it: in hex, lists without their repeated end.
pub fn show(value: &Value) -> String {
    match value {
        Value::One(v) => show_one(*v),
        Value::Lanes(list) => {
            let Some(last) = list.last() else {
                return "[]".into();
            };
            let same = list.iter().rev().take_while(|v| *v == last).count();
            let kept = list.len() - same + 1;
            if kept == 1 {
                return show_one(*last);
            }
            let mut out = String::from("[");
            for (n, v) in list[..kept].iter().enumerate() {
                if n != 0 {
                    out.push_str(", ");
                }
                out.push_str(&show_one(*v));
            }
            let _ = write!(out, "{}", if same > 1 { " ..]" } else { "]" });
            out
        }
    }
}

fn show_one(v: u64) -> String {
    if v < 10 {
        v.to_string()
    } else {
        format!("{v:#x}")
    }
}

/// The result of [`end_name`].
const ENDS: [&str; 7] = [
    "fell_off", "endpgm", "trap", "halt", "barrier", "limit", "fault",
];

/// The name of an end, as `end = …` and the JSON have it.
pub fn end_name(end: &End) -> &'static str {
    match end {
        End::FellOff => "fell_off",
        End::Endpgm => "endpgm",
        End::Trap(_) => "trap",
        End::Halt => "halt",
        End::Barrier => "barrier",
        End::Limit => "limit",
        End::Fault(_) => "fault",
    }
}

/// Compares the changes with a line's expectation: every change must be listed, and every listed value must be the same.
/// Returns a message for each difference.
pub fn check(line: &Line, bench: &Bench, changes: &[Location], outcome: &Outcome) -> Vec<String> {
    let Some(expected) = &line.after else {
        return Vec::new();
    };
    let target = bench.target;
    let mut wrong = Vec::new();
    for (location, value) in expected {
        let now = match location {
            Location::Pc => Value::One(outcome.pc),
            location => bench.get(*location),
        };
        let lanes = if matches!(location, Location::Vgpr(..) | Location::Export(..)) {
            LANES
        } else {
            1
        };
        if (0..lanes).any(|lane| now.lane(lane) != value.lane(lane)) {
            wrong.push(format!(
                "{} is {}, expected {}",
                name(*location, target),
                show(&now),
                show(value)
            ));
        }
    }
    let listed = |change: &Location| {
        expected
            .iter()
            .any(|(location, _)| match (location, change) {
                (Location::Scalar(first, n), Location::Scalar(code, _))
                | (Location::Vgpr(first, n), Location::Vgpr(code, _)) => {
                    (*first..*first + *n as u16).contains(code)
                }
                (Location::Vskip, Location::Mode) => true,
                (a, b) => a == b,
            })
    };
    for change in changes {
        if !listed(change) {
            wrong.push(format!(
                "{} became {}, which the line does not list",
                name(*change, target),
                show(&bench.get(*change))
            ));
        }
    }
    let end = end_name(&outcome.end);
    match (&line.end, &outcome.end) {
        (Some(expected), _) if expected != end => {
            wrong.push(format!("it ended as `{end}`, expected `{expected}`"));
        }
        (None, End::Fault(report)) => wrong.push(format!("it ended in a fault: {report}")),
        (None, End::Limit) => wrong.push("it did not end".into()),
        _ => {}
    }
    wrong
}
