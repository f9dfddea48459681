//! `gcn run --profile` and `--stats`: the number of executions of each instruction, their active lanes, the totals by kind
//! of instruction, and the time of compiled code.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use gcn_emu::dispatch::observers::{Observe, Observer, Scene, Who};
use gcn_emu::engine::Stop;
use gcn_emu::interp::instruction_info;
use gcn_isa::access::{InstructionInfo, MemoryKind, MemorySpace};
use gcn_isa::decode::{Insn, decode};
use gcn_isa::flow::{Flow, branch_target};
use gcn_isa::format::Format;
use gcn_isa::meaning::Signal;
use gcn_isa::plan::Plans;
use gcn_isa::print::{Style, print};
use gcn_isa::text::Text;
use gcn_object::{CodeObject, SymbolKind};
use serde_json::{Value as Json, json};

use crate::dis;
use crate::engine::Engines;
use crate::lines::{self, Lines};

/// The counts of an instruction.
#[derive(Clone, Copy, Default)]
struct Count {
    times: u64,
    lanes: u64,
    /// The difference between addresses in memory and in the file.
    base: u64,
    /// The counts of compiled code that begins here, and of the instruction while it was interpreted.
    spent: Spent,
}

/// The time of compiled code.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// In ticks of the host's time-stamp counter.
    pub ticks: u64,
    /// The number of executions of the code that begins there.
    pub runs: u64,
    /// The number of those executions that the interpreter did.
    pub interpreted: u64,
}

/// The number of instructions of a page of counts.
const PAGE: u64 = 1024;

type Pages = HashMap<u64, Box<[Count; PAGE as usize]>>;

/// Counts instructions.
#[derive(Default)]
pub struct Profile(Arc<Mutex<Totals>>);

#[derive(Default)]
struct Totals {
    counts: BTreeMap<u64, Count>,
    insns: HashMap<u64, Option<Insn>>,
}

impl Observe for Profile {
    fn observer(&self) -> Box<dyn Observer> {
        Box::new(Counter {
            totals: self.0.clone(),
            pages: HashMap::new(),
            insns: HashMap::new(),
        })
    }
}

struct Counter {
    totals: Arc<Mutex<Totals>>,
    pages: Pages,
    insns: HashMap<u64, Option<Insn>>,
}

impl Observer for Counter {
    fn before(&mut self, _: Who, scene: &Scene<'_>) {
        let pc = scene.wave.pc;
        let page = self
            .pages
            .entry(pc / 4 / PAGE)
            .or_insert_with(|| Box::new([Count::default(); PAGE as usize]));
        let count = &mut page[(pc / 4 % PAGE) as usize];
        if count.times == 0 {
            count.base = scene.base;
            self.insns.insert(pc, scene.insn());
        }
        count.times += 1;
        count.lanes += scene.wave.exec().count_ones() as u64;
    }

    fn after(&mut self, _: Who, _: &Scene<'_>, _: &Stop) {}
}

impl Drop for Counter {
    fn drop(&mut self) {
        let mut totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        for (page, counts) in &self.pages {
            for (n, count) in counts.iter().enumerate().filter(|(_, c)| c.times > 0) {
                let total = totals
                    .counts
                    .entry((page * PAGE + n as u64) * 4)
                    .or_default();
                total.times += count.times;
                total.lanes += count.lanes;
                total.base = count.base;
            }
        }
        totals.insns.extend(self.insns.drain());
    }
}

/// The kinds of instructions, in the order of the table.
pub const CLASSES: [&str; 14] = [
    "VALU", "SALU", "VMEM", "FLAT", "SCRATCH", "SMEM", "LDS", "GDS", "EXP", "INTERP", "branch",
    "wait", "barrier", "other",
];

/// Returns the kind of an instruction, one of [`CLASSES`].
pub fn class(insn: &Insn, info: &InstructionInfo) -> &'static str {
    let format = insn.row.format;
    let flow = info.flow(insn);
    match format {
        _ if format.is_valu() => "VALU",
        Format::Vintrp => "INTERP",
        Format::Smem => "SMEM",
        Format::Ds => match info.memory(insn).map(|m| m.space) {
            Some(MemorySpace::Gds) => "GDS",
            _ => "LDS",
        },
        Format::Flat => "FLAT",
        Format::Scratch => "SCRATCH",
        Format::Exp => "EXP",
        Format::Mubuf | Format::Mtbuf | Format::Mimg | Format::Global => "VMEM",
        _ if matches!(flow, Flow::Branch { .. } | Flow::Indirect { .. }) => "branch",
        _ if info.signals(Signal::Waitcnt) => "wait",
        _ if info.signals(Signal::Barrier) => "barrier",
        Format::Sopp => "other",
        _ => "SALU",
    }
}

/// An instruction of the listing.
pub struct Row {
    /// Its address as `gcn dis` prints it.
    pub address: u64,
    /// Its text.
    pub text: String,
    /// Its kind.
    pub class: &'static str,
    /// The number of executions by a wave.
    pub times: u64,
    /// Active lanes, summed over all executions.
    pub lanes: u64,
    /// True if it has lanes.
    pub vector: bool,
    /// The time of the compiled code that begins with it.
    pub spent: Spent,
    /// The source line that the instruction begins or is part of, if the object has line tables: file and number, and after a
    /// line break its text, if it was found.
    pub line: Option<String>,
    /// Its name: a function's, or a label's.
    pub label: Option<String>,
    /// True if execution does not continue with the next instruction.
    branches: bool,
    /// The number of its object.
    object: usize,
    insn: Option<Insn>,
}

/// The counts of a run.
#[derive(Default)]
pub struct Result {
    /// The instructions that ran and those between them, by object and address.
    pub rows: Vec<Row>,
    /// The number of bytes that lanes loaded, except by instructions whose resource determines the size.
    pub loaded: u64,
    /// The number of bytes that lanes stored, including atomics.
    pub stored: u64,
    /// If compiled code counted: the approximate ticks that counting adds to each execution of compiled code.
    pub tick_cost: Option<u64>,
}

/// The maximum gap in bytes between executed instructions in which instructions are listed.
const GAP: u64 = 512;

impl Profile {
    /// Returns the counts of an engine that counts itself, for these objects; `None` if the engine does not.
    pub fn of_engines(engines: &Engines, objects: &[(&CodeObject, u64)]) -> Option<Result> {
        let (stretches, tick_cost) = engines.counted()?;
        let mut totals = Totals::default();
        for stretch in stretches {
            let of = |(object, base): &&(&CodeObject, u64)| {
                bytes_at(object, stretch.start.wrapping_sub(*base)).is_some()
            };
            let Some(&(object, base)) = objects.iter().find(of) else {
                continue;
            };
            let target = gcn_isa::Target::parse(object.target_name());
            let mut pc = stretch.start;
            let first = totals.counts.entry(pc).or_default();
            first.base = base;
            first.spent.ticks += stretch.ticks;
            if stretch.instructions > 0 {
                first.spent.runs += stretch.times;
            }
            if !stretch.compiled {
                first.spent.interpreted += stretch.times;
            }
            for _ in 0..stretch.instructions {
                let bytes = bytes_at(object, pc.wrapping_sub(base));
                let insn = target.and_then(|t| decode(t, &bytes?));
                let count = totals.counts.entry(pc).or_default();
                count.base = base;
                count.times += stretch.times;
                count.lanes += stretch.lanes;
                totals.insns.insert(pc, insn);
                pc += insn.map_or(4, |i| i.len as u64);
            }
        }
        let profile = Profile(Arc::new(Mutex::new(totals)));
        let mut result = profile.result(objects);
        result.tick_cost = Some(tick_cost);
        Some(result)
    }

    /// Returns the counts for these objects; `bases` are their load addresses.
    pub fn result(&self, objects: &[(&CodeObject, u64)]) -> Result {
        let totals = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut result = Result::default();
        for (number, (object, base)) in objects.iter().enumerate() {
            let first_row = result.rows.len();
            let target = gcn_isa::Target::parse(object.target_name());
            let lines = Lines::read(object, true).ok();
            let mut last_line: Option<String> = None;
            let mut expected = None;
            for (&pc, count) in totals.counts.iter().filter(|(_, c)| c.base == *base) {
                let address = pc.wrapping_sub(*base);
                // The instructions between the previous one and this.
                let gap = expected.filter(|e| *e < address && address - e <= GAP);
                let mut at = gap.unwrap_or(address);
                let mut between = Vec::new();
                while at < address {
                    let bytes = bytes_at(object, at);
                    let insn = target.and_then(|t| decode(t, bytes.as_deref()?));
                    between.push((at, insn, is_padding(bytes.as_deref())));
                    at += insn.as_ref().map_or(4, |i| i.len as u64);
                }
                // Padding comes before a function, or after an instruction that does not continue with the next.
                while between.last().is_some_and(|(_, _, padding)| *padding) {
                    between.pop();
                }
                let ended = result.rows.last().is_some_and(|row: &Row| {
                    row.insn.is_some_and(|insn| {
                        let info = instruction_info(&insn);
                        !info.flow(&insn).falls_through()
                    })
                });
                let padding = between.iter().take_while(|b| ended && b.2).count();
                for (at, insn, _) in between.drain(padding..) {
                    row(
                        &mut result,
                        at,
                        insn,
                        &Count::default(),
                        &lines,
                        object,
                        &mut last_line,
                    );
                }
                let insn = totals.insns.get(&pc).copied().flatten();
                expected = Some(address + insn.as_ref().map_or(4, |i| i.len as u64));
                row(
                    &mut result,
                    address,
                    insn,
                    count,
                    &lines,
                    object,
                    &mut last_line,
                );
            }
            let rows = &mut result.rows[first_row..];
            rows.iter_mut().for_each(|row| row.object = number);
            label(rows, object);
        }
        result
    }
}

/// Returns true if these bytes are the padding of assemblers and linkers between functions.
fn is_padding(bytes: Option<&[u8]>) -> bool {
    const S_NOP: u32 = 0xbf80_0000;
    const S_CODE_END: u32 = 0xbf9f_0000;
    let word = bytes.and_then(|b| b.first_chunk::<4>());
    word.is_none_or(|word| [0, S_NOP, S_CODE_END].contains(&u32::from_le_bytes(*word)))
}

/// Names the rows at which functions begin or that are branch targets, and writes branches with these names.
fn label(rows: &mut [Row], object: &CodeObject) {
    let targets: Vec<Option<u64>> = (rows.iter())
        .map(|row| branch_target(&row.insn?, row.address))
        .collect();
    let mut names: HashMap<u64, String> = HashMap::new();
    for target in targets.iter().flatten() {
        names.insert(*target, format!("{}{target:x}", dis::LABEL));
    }
    for symbol in dis::symbols(object) {
        let code = matches!(symbol.kind, SymbolKind::Func | SymbolKind::HSA_KERNEL);
        if code && !symbol.name.is_empty() {
            names.insert(symbol.address, symbol.name.clone());
        }
    }
    for kernel in &object.kernels {
        names.insert(kernel.entry, kernel.name.clone());
    }
    let mut plans = None;
    for (row, target) in rows.iter_mut().zip(targets) {
        row.label = names.get(&row.address).cloned();
        if let (Some(insn), Some(name)) = (row.insn, target.and_then(|to| names.get(&to))) {
            let plans = plans.get_or_insert_with(|| Plans::new(insn.target, Style::LLVM));
            let mut text = Text::new();
            plans.print(&insn, Some(name), &mut text);
            row.text = String::from_utf8_lossy(text.as_bytes()).into_owned();
        }
    }
}

/// Returns up to 12 bytes of a file's code.
pub fn bytes_at(object: &CodeObject, address: u64) -> Option<Vec<u8>> {
    object.sections.iter().enumerate().find_map(|(n, s)| {
        let at = usize::try_from(address.checked_sub(s.address)?).ok()?;
        let bytes = object.section_data(n).get(at..)?;
        (s.address != 0 && !bytes.is_empty()).then(|| bytes[..bytes.len().min(12)].to_vec())
    })
}

fn row(
    result: &mut Result,
    address: u64,
    insn: Option<Insn>,
    count: &Count,
    lines: &Option<Lines>,
    object: &CodeObject,
    last_line: &mut Option<String>,
) {
    if let Some(lines) = lines {
        let there = |s: &gcn_object::read::Section| {
            s.address <= address && address < s.address.saturating_add(s.size)
        };
        if let Some(section) = object.sections.iter().position(there)
            && let Some((_, line)) = lines.of(section, address, address + 1).last()
        {
            *last_line = Some(line.to_owned());
        }
    }
    let (mut text, mut kind, mut vector) = ("no instruction".to_owned(), "other", false);
    let mut branches = false;
    if let Some(insn) = &insn {
        text.clear();
        print(insn, &Style::LLVM, &mut text);
        let info = instruction_info(insn);
        kind = class(insn, info);
        branches = !matches!(info.flow(insn), Flow::Next);
        vector = insn.row.format.is_vector();
        if let Some(access) = info.memory(insn)
            && let Some(bytes) = access.bytes
        {
            let each = if vector { count.lanes } else { count.times };
            let bytes = each * bytes as u64;
            match access.kind {
                MemoryKind::Load => result.loaded += bytes,
                MemoryKind::Store => result.stored += bytes,
                MemoryKind::Atomic => {
                    result.stored += bytes;
                    result.loaded += bytes;
                }
            }
        }
    }
    result.rows.push(Row {
        address,
        text,
        class: kind,
        times: count.times,
        lanes: count.lanes,
        vector,
        spent: count.spent,
        line: last_line.clone(),
        label: None,
        branches,
        object: 0,
        insn,
    });
}

impl Row {
    /// The file and number of a line of assembly that consists of the instruction itself.
    fn own_line(&self) -> Option<&str> {
        lines::own(self.line.as_deref()?, &self.text)
    }
}

impl Result {
    /// Returns the number of instructions that ran.
    pub fn total(&self) -> u64 {
        self.rows.iter().map(|r| r.times).sum()
    }

    /// Returns the number of executions of each kind, and the average number of active lanes if it has lanes.
    pub fn mix(&self) -> Vec<(&'static str, u64, Option<f64>)> {
        CLASSES
            .iter()
            .filter_map(|class| {
                let rows = || self.rows.iter().filter(|r| r.class == *class);
                let times: u64 = rows().map(|r| r.times).sum();
                let vector: u64 = rows().filter(|r| r.vector).map(|r| r.times).sum();
                let lanes: u64 = rows().filter(|r| r.vector).map(|r| r.lanes).sum();
                let average = (vector > 0).then(|| lanes as f64 / vector as f64);
                (times > 0).then_some((*class, times, average))
            })
            .collect()
    }

    /// Returns the average number of active lanes of instructions that have lanes.
    pub fn lanes(&self) -> Option<f64> {
        let rows = || self.rows.iter().filter(|r| r.vector);
        let times: u64 = rows().map(|r| r.times).sum();
        let lanes: u64 = rows().map(|r| r.lanes).sum();
        (times > 0).then(|| lanes as f64 / times as f64)
    }

    /// Returns the number of executions by source line, in falling order.
    pub fn by_line(&self) -> Vec<(&str, u64)> {
        let mut lines: HashMap<&str, u64> = HashMap::new();
        for row in &self.rows {
            if let Some(line) = &row.line {
                *lines.entry(line).or_default() += row.times;
            }
        }
        let mut lines: Vec<_> = lines.into_iter().filter(|(_, n)| *n > 0).collect();
        lines.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        lines
    }

    /// Writes the table of kinds.
    pub fn mix_text(&self) -> String {
        let total = self.total().max(1);
        let mut out = format!(
            "{:<8} {:>14} {:>7} {:>6}\n",
            "kind", "instructions", "share", "lanes"
        );
        for (class, times, lanes) in self.mix() {
            let lanes = lanes.map_or(String::new(), |l| format!("{l:.1}"));
            let share = 100.0 * times as f64 / total as f64;
            let _ = writeln!(out, "{class:<8} {times:>14} {share:>6.2}% {lanes:>6}");
        }
        out
    }

    /// Writes the complete profile: kinds, source lines, and the code with counts.
    pub fn text(&self) -> String {
        let total = self.total().max(1);
        let mut out = self.mix_text();
        // The lines of assembly are shown with the code below.
        fn file(line: &str) -> &str {
            let at = line.split('\n').next().unwrap_or(line);
            at.rsplit_once(':').map_or(at, |(file, _)| file)
        }
        let assembly: HashSet<&str> = (self.rows.iter())
            .filter_map(|row| Some(file(row.own_line()?)))
            .collect();
        let mut by_line = self.by_line();
        by_line.retain(|(line, _)| !assembly.contains(file(line)));
        if !by_line.is_empty() {
            let _ = writeln!(out, "\n{:>14} {:>7}  source line", "instructions", "share");
            for (line, times) in by_line.iter().take(40) {
                let share = 100.0 * *times as f64 / total as f64;
                let _ = writeln!(out, "{times:>14} {share:>6.2}%  {}", line.trim());
            }
        }
        let ticks: u64 = self.rows.iter().map(|r| r.spent.ticks).sum();
        let head = match self.tick_cost {
            Some(_) => format!("{:>7} {:>7}  ", "ticks", "a run"),
            None => String::new(),
        };
        if let Some(cost) = self.tick_cost {
            let _ = writeln!(
                out,
                "\nticks: the share of the time in compiled code, and the host's time stamp counter's ticks a run, of the code \
                 from that instruction to the next one that shows them; counting adds about {cost} to each run. `*`: some of \
                 it was interpreted"
            );
        }
        let _ = writeln!(
            out,
            "\n{:>14} {:>7} {:>5}  {head}{:>8}  instruction",
            "times", "share", "lanes", "address"
        );
        for block in self.blocks() {
            let times: u64 = block.iter().map(|row| row.times).sum();
            let spent: u64 = block.iter().map(|row| row.spent.ticks).sum();
            let name = match (&block[0].label, block[0].address) {
                (Some(label), address) if !label.starts_with(dis::LABEL) => {
                    format!("{label} ({address:#x})")
                }
                (Some(label), _) => label.clone(),
                (None, address) => format!("{address:#x}"),
            };
            let part = |of: u64, all: u64| 100.0 * of as f64 / all.max(1) as f64;
            let time = match ticks {
                0 => String::new(),
                all => format!(", {:.2}% of the time", part(spent, all)),
            };
            let _ = writeln!(
                out,
                "\n{name}: {:.2}% of the instructions{time}",
                part(times, total)
            );
            let mut line: Option<&str> = None;
            for row in block {
                let own = row.own_line();
                if row.line.as_deref() != line {
                    line = row.line.as_deref();
                    if let Some(line) = line.filter(|_| own.is_none()) {
                        let _ = writeln!(out, "{:>40}; {}", "", line.trim());
                    }
                }
                let lanes = match row.vector && row.times > 0 {
                    true => format!("{:.1}", row.lanes as f64 / row.times as f64),
                    false => String::new(),
                };
                let spent = match (self.tick_cost, row.spent) {
                    (None, _) => String::new(),
                    (_, Spent { ticks: 0, .. }) => format!("{:>7} {:>7}  ", "", ""),
                    (_, s) => {
                        let share = part(s.ticks, ticks);
                        let run = s.ticks as f64 / s.runs.max(1) as f64;
                        let mark = if s.interpreted > 0 { '*' } else { ' ' };
                        format!("{share:>6.2}% {run:>7.0}{mark} ")
                    }
                };
                let _ = writeln!(
                    out,
                    "{:>14} {:>6.2}% {lanes:>5}  {spent}{:>8}  {}{}",
                    row.times,
                    part(row.times, total),
                    format!("{:#x}", row.address),
                    row.text,
                    own.map_or(String::new(), |at| format!(
                        "  ; {}",
                        lines::without_folder(at)
                    ))
                );
            }
        }
        out
    }

    /// Returns blocks of rows, which begin at labels, after branches and after omitted code. The first is the one with the most
    /// time, or if time was not measured, with the most executed instructions.
    fn blocks(&self) -> Vec<&[Row]> {
        let goes_on = |a: &Row, b: &Row| {
            let next = a.address + a.insn.as_ref().map_or(4, |insn| insn.len as u64);
            a.object == b.object && next == b.address && !a.branches && b.label.is_none()
        };
        let mut blocks: Vec<&[Row]> = self.rows.chunk_by(goes_on).collect();
        let heat = |block: &&[Row]| {
            let ticks: u64 = block.iter().map(|row| row.spent.ticks).sum();
            let times: u64 = block.iter().map(|row| row.times).sum();
            std::cmp::Reverse((ticks, times))
        };
        blocks.sort_by_key(heat);
        blocks
    }

    /// Returns the kinds as JSON.
    pub fn mix_json(&self) -> Json {
        let mix = self.mix().into_iter().map(|(class, times, lanes)| {
            let mut entry = json!({ "instructions": times });
            if let (Some(lanes), Some(entry)) = (lanes, entry.as_object_mut()) {
                entry.insert("lanes".into(), json!(lanes));
            }
            (class.to_owned(), entry)
        });
        Json::Object(mix.collect())
    }

    /// Returns the complete profile as JSON.
    pub fn json(&self) -> Json {
        let rows: Vec<Json> = (self.rows.iter())
            .map(|row| {
                let mut entry = json!({
                    "address": row.address,
                    "inst": row.text,
                    "class": row.class,
                    "times": row.times,
                });
                if let Some(entry) = entry.as_object_mut() {
                    if row.vector {
                        entry.insert("lanes".into(), json!(row.lanes));
                    }
                    if row.spent != Spent::default() {
                        entry.insert("ticks".into(), json!(row.spent.ticks));
                        entry.insert("runs".into(), json!(row.spent.runs));
                        entry.insert("interpreted".into(), json!(row.spent.interpreted));
                    }
                    if let Some(label) = &row.label {
                        entry.insert("label".into(), json!(label));
                    }
                    if let Some(line) = &row.line {
                        entry.insert("line".into(), json!(line.trim()));
                    }
                }
                entry
            })
            .collect();
        let mut all = json!({ "mix": self.mix_json(), "instructions": rows });
        if let (Some(cost), Some(all)) = (self.tick_cost, all.as_object_mut()) {
            all.insert("tick_cost".into(), json!(cost));
        }
        all
    }
}
