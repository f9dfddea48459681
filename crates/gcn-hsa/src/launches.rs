//! What is told of launches: a line for each, sums at the end, and plans that `gcn run` replays.
//!
//! `gcn hip` says what is wanted by variables of the environment: GCN_HIP_TRACE, GCN_HIP_PROFILE, GCN_HIP_JSON,
//! GCN_HIP_RECORD and GCN_HIP_LAUNCHES.

use crate::executable::Placed;
use crate::report;
use crate::runtime::{self, Runtime, variable};
use crate::signal::lock;
use gcn_emu::dispatch::{Launch, Packet, Stats};
use gcn_object::metadata::{Arg, ValueKind};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// What is wanted, and what has been counted.
pub struct Launches {
    trace: bool,
    profile: bool,
    json: Option<PathBuf>,
    record: Option<(PathBuf, RangeInclusive<u64>)>,
    kernels: Mutex<BTreeMap<String, Tally>>,
    failures: Mutex<Vec<String>>,
}

/// What the launches of a kernel came to.
#[derive(Default)]
struct Tally {
    launches: u64,
    nanoseconds: u64,
    instructions: u64,
    waves: u64,
}

/// Launches that are recorded where nothing is said.
const FIRST: RangeInclusive<u64> = 1..=100;

/// `7` or `10-20`.
fn range(text: &str) -> Option<RangeInclusive<u64>> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    Some(from.trim().parse().ok()?..=to.trim().parse().ok()?)
}

impl Launches {
    /// As the environment wants it.
    pub fn new() -> Result<Launches, String> {
        let chosen = match variable("GCN_HIP_LAUNCHES") {
            Some(text) => range(&text)
                .ok_or_else(|| format!("GCN_HIP_LAUNCHES={text}: expected a number or 10-20"))?,
            None => FIRST,
        };
        let folder = variable("GCN_HIP_RECORD").map(PathBuf::from);
        let wanted = Launches {
            trace: variable("GCN_HIP_TRACE").is_some(),
            profile: variable("GCN_HIP_PROFILE").is_some(),
            json: variable("GCN_HIP_JSON").map(PathBuf::from),
            record: folder.map(|folder| (folder, chosen)),
            kernels: Mutex::default(),
            failures: Mutex::default(),
        };
        if wanted.counts() {
            // SAFETY: the function takes nothing and returns; the library stays loaded, as HIP's holds it.
            let done = unsafe { atexit(at_exit) };
            if done != 0 {
                return Err("the process takes no more functions to call at its end".into());
            }
        }
        Ok(wanted)
    }

    fn counts(&self) -> bool {
        self.profile || self.json.is_some()
    }

    /// Whether code objects have to be kept.
    pub fn records(&self) -> bool {
        self.record.is_some()
    }

    /// A launch begins.
    pub fn begins(
        &self,
        r: &Runtime,
        number: u64,
        placed: &Placed,
        launch: &Launch,
        packet: &Packet,
    ) -> Option<Recording> {
        if self.trace {
            let Launch { grid, group, .. } = launch;
            let name = &placed.kernel.name;
            report::line(&format!(
                "launch {number}: {name} grid {grid:?} group {group:?}"
            ));
        }
        let (folder, chosen) = self.record.as_ref()?;
        if !chosen.contains(&number) {
            return None;
        }
        let folder = folder.join(format!("{number:06}"));
        match Recording::begin(r, folder, placed, launch, packet) {
            Ok(recording) => Some(recording),
            Err(e) => {
                report::line(&format!("launch {number} is not recorded: {e}"));
                None
            }
        }
    }

    /// A launch has ended.
    pub fn ended(&self, placed: &Placed, nanoseconds: u64, stats: &Stats) {
        if self.counts() {
            let mut kernels = lock(&self.kernels);
            let tally = kernels.entry(placed.kernel.name.clone()).or_default();
            tally.launches += 1;
            tally.nanoseconds += nanoseconds;
            tally.instructions += stats.instructions;
            tally.waves += stats.waves;
        }
    }

    /// A launch has failed, which ends the program as a rule.
    pub fn failed(&self, text: &str) {
        lock(&self.failures).push(text.to_string());
        self.tell();
    }

    /// Says what has been counted.
    fn tell(&self) {
        let kernels = lock(&self.kernels);
        let mut sorted: Vec<_> = kernels.iter().collect();
        sorted.sort_by_key(|(_, t)| std::cmp::Reverse(t.nanoseconds));
        if self.profile && self.json.is_none() {
            let mut text =
                String::from("  launches         ms     instructions       waves  kernel\n");
            for (name, t) in &sorted {
                let ms = t.nanoseconds as f64 / 1e6;
                let _ = writeln!(
                    text,
                    "{:>10} {ms:>10.3} {:>16} {:>11}  {name}",
                    t.launches, t.instructions, t.waves
                );
            }
            report::line(&text);
        }
        if let Some(file) = &self.json {
            let kernels = sorted.iter().map(|(name, t)| {
                format!(
                    "{{\"kernel\":{},\"launches\":{},\"ns\":{},\"instructions\":{},\"waves\":{}}}",
                    quoted(name),
                    t.launches,
                    t.nanoseconds,
                    t.instructions,
                    t.waves
                )
            });
            let kernels: Vec<String> = kernels.collect();
            let failures: Vec<String> = lock(&self.failures).iter().map(|f| quoted(f)).collect();
            let text = format!(
                "{{\"kernels\":[{}],\"failures\":[{}]}}\n",
                kernels.join(","),
                failures.join(",")
            );
            if let Err(e) = std::fs::write(file, text) {
                report::line(&format!("{}: {e}", file.display()));
            }
        }
    }
}

/// A text as JSON has it.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> i32;
}

extern "C" fn at_exit() {
    if let Ok(r) = runtime::get()
        && lock(&r.launches.failures).is_empty()
    {
        r.launches.tell();
    }
}

/// A launch that is being recorded: what its buffers held is saved before it, and what they hold behind it is what a
/// replay is compared with.
pub struct Recording {
    folder: PathBuf,
    buffers: Vec<(u64, u64)>,
    plan: String,
}

impl Recording {
    fn begin(
        r: &Runtime,
        folder: PathBuf,
        placed: &Placed,
        launch: &Launch,
        packet: &Packet,
    ) -> Result<Recording, String> {
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let file = placed.file.as_ref().ok_or("its code object was not kept")?;
        save(&folder.join("kernel.co"), file)?;
        let metadata = placed.kernel.metadata.as_ref();
        let args = &metadata.ok_or("its code object has no metadata")?.args;
        let mut buffers: Vec<(u64, u64)> = Vec::new();
        let mut words = Vec::new();
        for arg in args.iter().filter(|a| !a.value_kind.hidden()) {
            words.push(argument(r, arg, packet, &mut buffers)?);
        }
        let mut plan = String::from("object = \"kernel.co\"\n");
        for (n, &(at, bytes)) in buffers.iter().enumerate() {
            let mut held = vec![0; bytes as usize];
            let read = r.memory().read(at, &mut held);
            read.map_err(|e| e.to_string())?;
            save(&folder.join(format!("b{n}.before")), &held)?;
            let _ = write!(plan, "\n[buffers.b{n}]\nfile = \"b{n}.before\"\n");
        }
        let name = quoted(&placed.kernel.name);
        let Launch { grid, group, .. } = launch;
        let fixed = placed.kernel.descriptor.group_segment_fixed_size;
        let more = packet.group_bytes.saturating_sub(fixed);
        let _ = write!(
            plan,
            "\n[[launch]]\nkernel = {name}\ngrid = {grid:?}\ngroup = {group:?}\ndynamic-lds = {more}\nargs = [{}]\n",
            words.join(", ")
        );
        Ok(Recording {
            folder,
            buffers,
            plan,
        })
    }

    /// The launch has ended.
    pub fn end(mut self, r: &Runtime) {
        let mut finish = || -> Result<(), String> {
            for (n, &(at, bytes)) in self.buffers.iter().enumerate() {
                let mut held = vec![0; bytes as usize];
                let read = r.memory().read(at, &mut held);
                read.map_err(|e| e.to_string())?;
                save(&self.folder.join(format!("b{n}.after")), &held)?;
                let check = format!("\n[[check]]\nbuffer = \"b{n}\"\nfile = \"b{n}.after\"\n");
                self.plan.push_str(&check);
            }
            save(&self.folder.join("plan.toml"), self.plan.as_bytes())
        };
        if let Err(e) = finish() {
            report::line(&format!("a launch is not recorded: {e}"));
        }
    }
}

fn save(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}

/// An argument as plans have it. Memory that it points to becomes a buffer.
fn argument(
    r: &Runtime,
    arg: &Arg,
    packet: &Packet,
    buffers: &mut Vec<(u64, u64)>,
) -> Result<String, String> {
    let mut bytes = vec![0; arg.size as usize];
    let read = r.memory().read(packet.kernarg + arg.offset, &mut bytes);
    read.map_err(|e| e.to_string())?;
    if arg.value_kind == ValueKind::GlobalBuffer && bytes.len() == 8 {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes);
        let at = u64::from_le_bytes(word);
        if let Some((start, size)) = r.buffer_at(at) {
            let known = buffers.iter().position(|b| b.0 == start);
            let number = known.unwrap_or_else(|| {
                buffers.push((start, size));
                buffers.len() - 1
            });
            return Ok(match at - start {
                0 => format!("\"b{number}\""),
                offset => format!("{{ buffer = \"b{number}\", offset = {offset} }}"),
            });
        }
    }
    let mut hex = String::from("\"bytes:");
    for byte in &bytes {
        let _ = write!(hex, "{byte:02x}");
    }
    hex.push('"');
    Ok(hex)
}
