//! `gcn run --raw`: runs instruction bytes on waves with given registers, LDS and memory, such as dumps of consoles and
//! drivers. docs/raw.md describes the register file.

use std::path::Path;

use gcn_emu::engine::{Code, Machine, Stop};
use gcn_emu::mem::{PAGE_SIZE, Perm};
use gcn_emu::snippet::{End, Outcome as Ended};
use gcn_emu::wave::WaveState;
use gcn_isa::Target;
use serde_json::{Map, Value as Json, json};

use crate::engine::Kind;
use crate::lang::{self, Bench, Snapshot};
use crate::{eval, io};

/// The default instruction budget of all waves.
pub const MAX: u64 = 100_000_000;

/// The number of instructions in a wave's time slice.
const SLICE: u64 = 4096;

/// The maximum number of waves of a workgroup.
const WAVES: usize = 16;

/// The code and options of a run.
pub struct Request<'a> {
    /// The chip.
    pub target: Target,
    /// The instructions.
    pub code: Vec<u8>,
    /// The address at which the code is mapped; by default it is not mapped and its address is 0.
    pub base: Option<u64>,
    /// The register file.
    pub regs: Option<&'a Path>,
    /// The instruction budget of all waves together.
    pub max: u64,
    /// The engine.
    pub engine: Kind,
}

/// The results of the waves.
pub struct Outcome {
    waves: Vec<Ran>,
}

struct Ran {
    json: Map<String, Json>,
    text: String,
    fault: Option<String>,
}

/// Runs the waves to their ends.
///
/// # Errors
/// A message about an error in the register file.
pub fn run(request: &Request<'_>) -> Result<Outcome, String> {
    let target = request.target;
    let mut bench = Bench::new(target)?;
    let base = request.base.unwrap_or(0);
    let code_end = base + request.code.len() as u64;
    if request.base.is_some() && !request.code.is_empty() {
        let first = base & !(PAGE_SIZE - 1);
        let memory = &bench.memory;
        (memory.map_at(first, code_end - first, Perm::RW))
            .map_err(|e| format!("--base {base:#x}: {e}"))?;
        memory
            .write(base, &request.code)
            .map_err(|e| e.to_string())?;
    }
    let file = match request.regs {
        Some(path) => read(path)?,
        None => Map::new(),
    };
    let named = |e: String| match request.regs {
        Some(path) => io::named(path, e),
        None => e,
    };
    let fresh = bench.wave.clone();
    let mut waves = Vec::new();
    for (wave, start) in set(&mut bench, &file, request.regs, &fresh).map_err(named)? {
        bench.wave = wave;
        if start % 4 != 0 || start > request.code.len() as u64 {
            return Err(named(format!(
                "pc: expected a multiple of 4 from 0 to {:#x}, where the code ends, found {start:#x}",
                request.code.len()
            )));
        }
        bench.wave.pc = base.wrapping_add(start);
        waves.push(bench.wave.clone());
    }
    let snapshots: Vec<Snapshot> = (waves.iter())
        .map(|wave| {
            bench.wave = wave.clone();
            bench.snapshot()
        })
        .collect();
    let ended = together(&mut bench, waves, base, request);
    let waves = (ended.into_iter().zip(&snapshots))
        .map(|((state, end), before)| {
            bench.wave = state;
            tell(&bench, before, end, code_end)
        })
        .collect();
    Ok(Outcome { waves })
}

/// Returns the changes of a wave, and of LDS and memory, which the waves share.
fn tell(bench: &Bench, before: &Snapshot, end: End, code_end: u64) -> Ran {
    let target = bench.target;
    let changes = lang::pair_up(&bench.changes(before), target);
    let ended = Ended {
        pc: bench.wave.pc,
        executed: 0,
        end,
    };
    let mut map = Map::new();
    map.insert(
        "state".into(),
        Json::Object(eval::state_json(bench, &changes)),
    );
    map.insert("pc".into(), json!(ended.pc));
    map.insert("end".into(), json!(lang::end_name(&ended.end)));
    eval::end_json(&ended, &mut map);
    let mut parts: Vec<String> = (changes.iter())
        .map(|p| {
            format!(
                "{} = {}",
                lang::name(*p, target),
                lang::show(&bench.get(*p))
            )
        })
        .collect();
    if ended.pc != code_end || ended.end != End::FellOff {
        parts.push(format!("pc = {:#x}", ended.pc));
    }
    match &ended.end {
        End::FellOff => {}
        End::Trap(id) => parts.push(format!("end = trap ({id})")),
        end => parts.push(format!("end = {}", lang::end_name(end))),
    }
    if parts.is_empty() {
        parts.push("nothing changed".into());
    }
    Ran {
        json: map,
        text: parts.join(", "),
        fault: match &ended.end {
            End::Fault(report) => Some(report.to_string()),
            _ => None,
        },
    }
}

/// Runs the waves in time slices until each has ended or is deadlocked.
fn together(
    bench: &mut Bench,
    mut states: Vec<WaveState>,
    base: u64,
    request: &Request<'_>,
) -> Vec<(WaveState, End)> {
    let mut engine = request.engine.engine();
    let mut machine = Machine {
        target: request.target,
        memory: &bench.memory,
        code: Code::Snippet(base, &request.code),
        lds: &mut bench.lds,
        global: &bench.global,
        hidden_private_base: 0,
        middle: &[],
        probe: None,
    };
    let mut ends: Vec<Option<End>> = states.iter().map(|_| None).collect();
    let mut waiting = vec![false; states.len()];
    let mut left = request.max;
    loop {
        let (mut moved, mut retries) = (false, false);
        for (w, state) in states.iter_mut().enumerate() {
            if ends[w].is_some() || waiting[w] {
                continue;
            }
            let given = left.min(SLICE);
            let mut fuel = given;
            let stop = engine.run(state, &mut machine, &mut fuel);
            left -= given - fuel;
            moved |= stop != Stop::Retry;
            ends[w] = match stop {
                Stop::FellOff => Some(End::FellOff),
                Stop::Endpgm => Some(End::Endpgm),
                Stop::Trap(id) => Some(End::Trap(id)),
                Stop::Halt => Some(End::Halt),
                Stop::Fault(report) => Some(End::Fault(report)),
                Stop::Limit if left == 0 => Some(End::Limit),
                Stop::Barrier => {
                    waiting[w] = true;
                    None
                }
                Stop::Retry => {
                    retries = true;
                    None
                }
                Stop::Limit | Stop::Yield => None,
            };
        }
        let running = (0..states.len()).any(|w| ends[w].is_none() && !waiting[w]);
        let halted = ends.iter().any(|e| matches!(e, Some(End::Halt)));
        // Waves continue after a barrier when all waves that have not ended have reached it.
        if !running && waiting.contains(&true) && states.len() > 1 && !halted {
            waiting.fill(false);
            continue;
        }
        if !running || (!moved && retries) {
            break;
        }
    }
    states
        .into_iter()
        .zip(ends)
        .map(|(state, end)| (state, end.unwrap_or(End::Barrier)))
        .collect()
}

/// The register file as JSON.
fn read(path: &Path) -> Result<Map<String, Json>, String> {
    let text = io::read_text(path)?;
    let is_json =
        path.extension().is_some_and(|e| e == "json") || text.trim_start().starts_with('{');
    let value: Json = match is_json {
        true => serde_json::from_str(&text).map_err(|e| io::named(path, e))?,
        false => toml::from_str(&text).map_err(|e| {
            let at = e.span().map_or(0, |span| span.start);
            let before = text.get(..at).unwrap_or(&text);
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            format!("{}:{line}:{column}: {}", path.display(), e.message())
        })?,
    };
    match value {
        Json::Object(map) => Ok(map),
        _ => Err(io::named(path, "expected an object of registers")),
    }
}

/// Initialises the shared state. Returns each wave's registers and its first PC.
fn set(
    bench: &mut Bench,
    file: &Map<String, Json>,
    path: Option<&Path>,
    fresh: &WaveState,
) -> Result<Vec<(WaveState, u64)>, String> {
    // A single wave's registers may be at the top level of the file.
    let mut shared = Map::new();
    let mut lists: Vec<Map<String, Json>> = Vec::new();
    let mut own = Map::new();
    for (key, value) in file {
        match key.as_str() {
            "segments" => segments(bench, value, path)?,
            "lds" | "mem" => {
                shared.insert(key.clone(), value.clone());
            }
            "state" => own.extend(object(value, "state")?.clone()),
            "waves" => {
                let list = value.as_array().ok_or("`waves` is not a list")?;
                for wave in list {
                    lists.push(object(wave, "waves")?.clone());
                }
            }
            _ => {
                own.insert(key.clone(), value.clone());
            }
        }
    }
    if lists.is_empty() {
        lists.push(Map::new());
    }
    if lists.len() > WAVES {
        return Err(format!(
            "{} waves; a workgroup has at most {WAVES}",
            lists.len()
        ));
    }
    eval::set_state(bench, &shared)?;
    let mut waves = Vec::new();
    for list in lists {
        bench.wave = fresh.clone();
        let mut start = 0;
        for state in [&own, &list] {
            let mut state = state.clone();
            if let Some(pc) = state.remove("pc") {
                start = eval::count(&pc).map_err(|e| format!("pc: {e}"))?;
            }
            eval::set_state(bench, &state)?;
        }
        waves.push((bench.wave.clone(), start));
    }
    Ok(waves)
}

fn object<'a>(value: &'a Json, name: &str) -> Result<&'a Map<String, Json>, String> {
    value
        .as_object()
        .ok_or_else(|| format!("`{name}`: expected registers with their values"))
}

/// Fills memory from files: `address`, `file`, and optionally `size`, up to which zeros follow the file.
fn segments(bench: &mut Bench, list: &Json, path: Option<&Path>) -> Result<(), String> {
    let list = list.as_array().ok_or("`segments` is not a list")?;
    for (n, segment) in list.iter().enumerate() {
        let wrong = |e: String| format!("segments[{n}]: {e}");
        let segment = object(segment, "segments")?;
        if let Some(key) = segment
            .keys()
            .find(|k| !["address", "file", "size", "readonly"].contains(&k.as_str()))
        {
            return Err(wrong(format!(
                "unknown key `{key}`; expected address, file, size and readonly"
            )));
        }
        let number = |key: &str| segment.get(key).map(eval::count).transpose().map_err(wrong);
        let address = number("address")?.ok_or_else(|| wrong("`address` is missing".into()))?;
        let bytes = match segment.get("file") {
            None => Vec::new(),
            Some(name) => {
                let name = name
                    .as_str()
                    .ok_or_else(|| wrong("`file` is not a name".into()))?;
                let folder = path.and_then(Path::parent).unwrap_or(Path::new(""));
                io::read(&folder.join(name)).map_err(wrong)?
            }
        };
        let size = number("size")?.unwrap_or(bytes.len() as u64);
        if size < bytes.len() as u64 {
            let message = format!("the file's {} bytes are more than {size}", bytes.len());
            return Err(wrong(message));
        }
        let end = address
            .checked_add(size)
            .filter(|end| *end <= 1 << 48 && size > 0);
        let end = end.ok_or_else(|| wrong("it is empty, or beyond 48 bits".into()))?;
        let mut page = address & !(PAGE_SIZE - 1);
        while page < end {
            if bench.memory.perm(page).is_none() {
                (bench.memory.map_at(page, PAGE_SIZE, Perm::RW))
                    .map_err(|_| wrong(format!("guest memory has no room for {size} bytes")))?;
            }
            page += PAGE_SIZE;
        }
        (bench.memory.write(address, &bytes)).map_err(|e| wrong(e.to_string()))?;
        if segment.get("readonly") == Some(&Json::Bool(true)) {
            (bench.memory.protect(address, size, Perm::READ)).map_err(|e| wrong(e.to_string()))?;
        }
    }
    Ok(())
}

impl Outcome {
    /// Returns the answer in the form of `gcn eval --json`; a list of answers for several waves.
    pub fn json(&self) -> Json {
        match self.waves.as_slice() {
            [one] => Json::Object(one.json.clone()),
            many => {
                let list = many.iter().map(|w| Json::Object(w.json.clone()));
                json!({ "waves": list.collect::<Vec<_>>() })
            }
        }
    }

    /// Returns the changes in the test language, one line per wave.
    pub fn text(&self) -> String {
        let lines = self
            .waves
            .iter()
            .enumerate()
            .map(|(n, wave)| match self.waves.len() {
                1 => format!("{}\n", wave.text),
                _ => format!("wave {n}: {}\n", wave.text),
            });
        lines.collect()
    }

    /// The first fault, if a wave ended in one.
    pub fn fault(&self) -> Option<String> {
        self.waves.iter().find_map(|w| w.fault.clone())
    }
}
