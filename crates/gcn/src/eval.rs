//! `gcn eval`: instructions on one wave, in the test language or as JSON lines.

use std::io::{BufRead, Write};

use gcn_emu::engine::FaultReport;
use gcn_emu::snippet::{End, Outcome};
use gcn_emu::wave::LANES;
use gcn_isa::Target;
use serde_json::{Map, Value as Json, json};

use gcn_asm::Syntax;

use crate::engine::Kind;
use crate::lang::{self, Bench, Location, Value};

/// The default instruction budget.
pub const MAX: u64 = 10_000;

/// The result of a line.
pub struct Answer {
    /// The changes, in the test language.
    pub changed: String,
    /// The fault, if the line does not expect it.
    pub fault: Option<String>,
}

/// Runs one line of the test language.
///
/// # Errors
/// A line that cannot be parsed or assembled; with `=>`, the differences.
pub fn line(
    target: Target,
    text: &str,
    syntax: Syntax,
    max: u64,
    engine: Kind,
) -> Result<Answer, String> {
    let line = lang::parse(text, target)?;
    let code = assemble_as(target, &line.inst, syntax)?;
    let mut bench = Bench::new(target)?;
    for (location, value) in &line.before {
        bench.set(*location, value)?;
    }
    let before = bench.snapshot();
    let outcome = bench.run(&code, max, engine.engine().as_mut());
    let changes = bench.changes(&before);
    let wrong = lang::check(&line, &bench, &changes, &outcome);
    if !wrong.is_empty() {
        return Err(wrong.join("\n"));
    }
    let mut parts: Vec<String> = lang::pair_up(&changes, target)
        .into_iter()
        .map(|p| format!("{} = {}", lang::name(p, target), lang::show(&bench.get(p))))
        .collect();
    if parts.is_empty() {
        parts.push("nothing changed".into());
    }
    if outcome.pc != code.len() as u64 || outcome.end != End::FellOff {
        parts.push(format!("pc = {:#x}", outcome.pc));
    }
    match &outcome.end {
        End::FellOff => {}
        End::Trap(id) => parts.push(format!("end = trap ({id})")),
        end => parts.push(format!("end = {}", lang::end_name(end))),
    }
    let fault = match &outcome.end {
        End::Fault(report) if line.end.is_none() => Some(report.to_string()),
        _ => None,
    };
    Ok(Answer {
        changed: parts.join(", "),
        fault,
    })
}

/// Assembles a snippet, with its diagnostics as the error. Operand rules only warn, as the
/// hardware runs such code too.
///
/// # Errors
/// The diagnostics, rendered.
pub fn assemble(target: Target, text: &str) -> Result<Vec<u8>, String> {
    assemble_as(target, text, Syntax::Llvm)
}

/// Like [`assemble`], with a choice of syntax. [`Syntax::Auto`] parses lines that are not valid LLVM as CLRX's.
///
/// # Errors
/// The diagnostics, rendered: those for LLVM's syntax if both refuse the text.
pub fn assemble_as(target: Target, text: &str, syntax: Syntax) -> Result<Vec<u8>, String> {
    let read = |syntax| gcn_asm::snippet(target, text, syntax, true);
    let first = match syntax {
        Syntax::Clrx => Syntax::Clrx,
        Syntax::Auto | Syntax::Llvm => Syntax::Llvm,
    };
    read(first)
        .or_else(|diagnostics| match syntax {
            Syntax::Auto => read(Syntax::Clrx).map_err(|_| diagnostics),
            _ => Err(diagnostics),
        })
        .map_err(|diagnostics| gcn_asm::render(&diagnostics, false).trim_end().to_owned())
}

/// Answers JSON lines until the input ends; a line that cannot be read is answered by `{"error": …}`.
///
/// `arch` and `max` are the defaults of the lines.
///
/// # Errors
/// If reading or writing fails.
pub fn json_lines(
    mut input: impl BufRead,
    mut output: impl Write,
    arch: Option<Target>,
    syntax: Syntax,
    max: u64,
    engine: Kind,
) -> std::io::Result<()> {
    let mut text = Vec::new();
    loop {
        text.clear();
        if input.read_until(b'\n', &mut text)? == 0 {
            return Ok(());
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        let answer = json_line(&text, arch, syntax, max, engine)
            .unwrap_or_else(|error| json!({ "error": error }));
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
}

fn json_line(
    text: &[u8],
    arch: Option<Target>,
    syntax: Syntax,
    max: u64,
    engine: Kind,
) -> Result<Json, String> {
    let request: Json = serde_json::from_slice(text).map_err(|e| format!("not JSON: {e}"))?;
    let request = request.as_object().ok_or("expected a JSON object")?;
    const KEYS: [&str; 6] = ["arch", "inst", "bytes", "state", "pc", "max"];
    if let Some(key) = request
        .keys()
        .find(|k| !KEYS.contains(&k.as_str()) && *k != "id")
    {
        return Err(format!(
            "unknown key `{key}`; expected one of {}",
            KEYS.join(", ")
        ));
    }
    const NO_ARCH: &str = "`arch` is missing: a target's name, as \"gfx900\"";
    let target = match request.get("arch") {
        Some(arch) => {
            let name = arch.as_str().ok_or(NO_ARCH)?;
            Target::parse(name).ok_or_else(|| format!("`{name}` is not a target"))?
        }
        None => arch.ok_or(NO_ARCH)?,
    };
    let code = match (request.get("inst"), request.get("bytes")) {
        (Some(inst), None) => {
            let text = inst.as_str().ok_or("`inst` is not a string")?;
            assemble_as(target, text, syntax)?
        }
        (None, Some(bytes)) => hex_bytes(bytes.as_str().ok_or("`bytes` is not a string")?)?,
        _ => return Err("expected either `inst` or `bytes`".into()),
    };
    let mut bench = Bench::new(target)?;
    if let Some(state) = request.get("state") {
        let state = state.as_object().ok_or("`state` is not an object")?;
        set_state(&mut bench, state).map_err(|e| format!("state.{e}"))?;
    }
    if let Some(pc) = request.get("pc") {
        bench.start = count(pc).map_err(|e| format!("pc: {e}"))?;
    }
    let max = match request.get("max") {
        Some(max) => count(max).map_err(|e| format!("max: {e}"))?,
        None => max,
    };
    let before = bench.snapshot();
    let vskip_before = bench.get(Location::Vskip);
    let outcome = bench.run(&code, max, engine.engine().as_mut());
    let changes = lang::pair_up(&bench.changes(&before), target);
    let mut state = state_json(&bench, &changes);
    if bench.get(Location::Vskip) != vskip_before {
        state.insert("vskip".into(), json!(bench.get(Location::Vskip).lane(0)));
    }
    let mut answer = Map::new();
    answer.insert("state".into(), Json::Object(state));
    answer.insert("pc".into(), json!(outcome.pc));
    answer.insert("end".into(), json!(lang::end_name(&outcome.end)));
    end_json(&outcome, &mut answer);
    Ok(Json::Object(answer))
}

pub(crate) fn end_json(outcome: &Outcome, answer: &mut Map<String, Json>) {
    match &outcome.end {
        End::Trap(id) => {
            answer.insert("trap".into(), json!(id));
        }
        End::Fault(report) => {
            answer.insert("fault".into(), Json::Object(fault_json(report)));
        }
        _ => {}
    }
}

/// A fault as JSON: kind, location, and the values of the instruction's operands.
pub fn fault_json(report: &FaultReport) -> Map<String, Json> {
    let mut fault = Map::new();
    fault.insert("kind".into(), json!(report.kind.to_string()));
    if let Some(addr) = report.addr {
        fault.insert("addr".into(), json!(format!("{addr:#x}")));
    }
    if let Some(lane) = report.lane {
        fault.insert("lane".into(), json!(lane));
    }
    fault.insert("pc".into(), json!(report.pc));
    fault.insert("inst".into(), json!(report.text));
    let operands = report.operands.iter().map(|held| {
        let mut operand = json!({ "name": held.name, "bits": held.hex() });
        if let Some(float) = held.float() {
            operand["float"] = json!(float);
        }
        operand
    });
    fault.insert("operands".into(), operands.collect());
    fault
}

fn hex_bytes(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|b| !b.is_ascii_whitespace() && *b != b'_')
        .collect();
    let digits = digits.strip_prefix(b"0x").unwrap_or(&digits);
    if !digits.len().is_multiple_of(2) {
        return Err("`bytes` has an odd number of hex digits".into());
    }
    let digit = |b: u8| {
        (b as char)
            .to_digit(16)
            .ok_or_else(|| format!("`{}` in `bytes` is not a hex digit", b as char))
    };
    digits
        .chunks(2)
        .map(|pair| Ok((digit(pair[0])? << 4 | digit(pair[1])?) as u8))
        .collect()
}

/// A number from 0 on: a JSON number, or a string in hex or decimal.
pub(crate) fn count(value: &Json) -> Result<u64, String> {
    let number = match value {
        Json::Number(n) => n.as_u64(),
        Json::String(s) => lang::integer(s).and_then(|v| u64::try_from(v).ok()),
        _ => None,
    };
    number.ok_or_else(|| format!("{value} is not a number from 0 to 2^64 - 1"))
}

/// A number: a JSON number, or a string in hex, decimal or as a float.
fn json_number(value: &Json, bits: u32) -> Result<u64, String> {
    match value {
        Json::Number(n) => lang::number(&n.to_string(), bits),
        Json::String(s) => lang::number(s, bits),
        Json::Bool(b) => Ok(*b as u64),
        other => Err(format!("{other} is not a number")),
    }
}

pub(crate) fn set_state(bench: &mut Bench, state: &Map<String, Json>) -> Result<(), String> {
    for (key, value) in state {
        match key.as_str() {
            "s" | "v" | "ttmp" | "lds" | "gds" | "mem" => {
                let entries = value
                    .as_object()
                    .ok_or_else(|| format!("{key} is not an object"))?;
                for (index, value) in entries {
                    let location_name = match key.as_str() {
                        "lds" | "gds" | "mem" => format!("{key}[{index}]"),
                        _ => format!("{key}{index}"),
                    };
                    set_location(bench, &location_name, value)
                        .map_err(|e| format!("{key}.{index}: {e}"))?;
                }
            }
            name => set_location(bench, name, value).map_err(|e| format!("{name}: {e}"))?,
        }
    }
    Ok(())
}

fn set_location(bench: &mut Bench, name: &str, value: &Json) -> Result<(), String> {
    let location = lang::location(name, bench.target)
        .filter(|p| *p != Location::Pc)
        .ok_or_else(|| match name.split_once('[') {
            Some(("lds" | "gds" | "mem", _)) => "it is not an address".to_owned(),
            _ => format!("{} has no such register", bench.target.name()),
        })?;
    let bits = lang::width(location);
    let value = match (value, location) {
        (Json::Array(list), Location::Vgpr(..)) => {
            if list.len() != LANES {
                return Err(format!(
                    "expected {LANES} values, one a lane, found {}",
                    list.len()
                ));
            }
            let lanes = list.iter().map(|v| json_number(v, bits));
            Value::Lanes(lanes.collect::<Result<_, _>>()?)
        }
        (value, _) => Value::One(json_number(value, bits)?),
    };
    bench.set(location, &value)
}

pub(crate) fn state_json(bench: &Bench, changes: &[Location]) -> Map<String, Json> {
    let mut state = Map::new();
    let mut put = |group: &str, key: String, value: Json| {
        let entry = state
            .entry(group)
            .or_insert_with(|| Json::Object(Map::new()));
        if let Json::Object(map) = entry {
            map.insert(key, value);
        }
    };
    let dword = |v: u64| json!(format!("{v:#x}"));
    for &location in changes {
        let value = bench.get(location);
        let name = lang::name(location, bench.target);
        match location {
            Location::Vgpr(n, _) => {
                let lanes: Vec<Json> = (0..LANES).map(|lane| dword(value.lane(lane))).collect();
                put("v", n.to_string(), Json::Array(lanes));
            }
            Location::Lds(at) => put("lds", format!("{at:#x}"), dword(value.lane(0))),
            Location::Gds(at) => put("gds", format!("{at:#x}"), dword(value.lane(0))),
            Location::Mem(at) => put("mem", format!("{at:#x}"), dword(value.lane(0))),
            Location::Scalar(..) if name.starts_with("ttmp") => {
                put("ttmp", name[4..].to_owned(), dword(value.lane(0)));
            }
            Location::Scalar(..) if name.starts_with('s') => {
                put("s", name[1..].to_owned(), dword(value.lane(0)));
            }
            _ => {}
        }
    }
    for &location in changes {
        let value = bench.get(location).lane(0);
        let name = lang::name(location, bench.target);
        match location {
            Location::Scc => {
                state.insert(name, json!(value));
            }
            Location::Scalar(..) if name.starts_with("ttmp") || name.starts_with('s') => {}
            Location::Vgpr(..) | Location::Lds(_) | Location::Gds(_) | Location::Mem(_) => {}
            Location::Export(..) | Location::ExportDone | Location::ExportValid => {}
            _ => {
                state.insert(name, dword(value));
            }
        }
    }
    if let Some(exports) = exports_json(bench, changes) {
        state.insert("exp".into(), exports);
    }
    state
}

/// The exports: the four components of each target that changed, and the flags that are set.
fn exports_json(bench: &Bench, changes: &[Location]) -> Option<Json> {
    let exports = &bench.wave.exports;
    let mut out = Map::new();
    for (target, components) in exports.targets() {
        let changed = |p: &Location| matches!(p, Location::Export(t, _) if *t == target);
        if changes.iter().any(changed) {
            let lanes = |lanes: &[u32; LANES]| lanes.map(|v| json!(format!("{v:#x}"))).to_vec();
            let components: Vec<Vec<Json>> = components.iter().map(lanes).collect();
            out.insert(gcn_emu::export::name(target), json!(components));
        }
    }
    if changes.contains(&Location::ExportDone) {
        out.insert("done".into(), json!(exports.done()));
    }
    if changes.contains(&Location::ExportValid) {
        out.insert("valid".into(), json!(format!("{:#x}", exports.valid())));
    }
    (!out.is_empty()).then_some(Json::Object(out))
}
