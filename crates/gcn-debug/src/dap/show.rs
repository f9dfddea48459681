//! State for editors: threads, frames, variables, memory, disassembly.

use std::io::Write;
use std::path::Path;

use gcn_emu::wave::LANES;
use serde_json::{Value, json};

use super::breakpoints::reference;
use super::message::{base64, from_base64};
use super::{Answer, Editor, Then};
use crate::commands::{COMMANDS, all_lanes, value_text};
use crate::expr::Expr;
use crate::session::{Error, Session};
use crate::state::ValueLocation;

/// The variables that a reference stands for, with their thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Special(u32),
    Sgprs(u32),
    Vgprs(u32),
    /// The lanes of a VGPR, or of two, as an expression.
    Lanes(u32, String),
    Lds(u32),
    Buffers(u32),
}

/// Registers with names.
const SPECIAL: [&str; 10] = [
    "pc",
    "exec",
    "vcc",
    "scc",
    "m0",
    "mode",
    "status",
    "trapsts",
    "flat_scratch",
    "xnack_mask",
];

impl Group {
    pub(super) fn thread(&self) -> u32 {
        match self {
            Group::Special(n) | Group::Sgprs(n) | Group::Vgprs(n) => *n,
            Group::Lanes(n, _) | Group::Lds(n) | Group::Buffers(n) => *n,
        }
    }

    /// The expression of one of its variables.
    pub(super) fn expression(&self, name: &str) -> String {
        match self {
            Group::Lanes(_, register) => format!("{register}{name}"),
            Group::Lds(_) => format!("lds32({})", name.trim_matches(['[', ']'])),
            _ => name.to_owned(),
        }
    }
}

impl<W: Write> Editor<'_, W> {
    pub(super) fn group(&self, reference: u64) -> Option<Group> {
        let n = usize::try_from(reference).ok()?.checked_sub(1)?;
        self.groups.get(n).cloned()
    }

    fn refer(&mut self, group: Group) -> u64 {
        let known = self.groups.iter().position(|g| *g == group);
        let n = known.unwrap_or_else(|| {
            self.groups.push(group);
            self.groups.len() - 1
        });
        n as u64 + 1
    }

    pub(super) fn list_threads(&mut self) -> Answer {
        let Editor {
            commands, threads, ..
        } = self;
        let Some(commands) = commands else {
            return Ok((json!({"threads": []}), Then::Nothing));
        };
        let session = commands.session();
        let mut out = Vec::new();
        for (number, _) in threads.live(session) {
            let [name, location] = threads.about(session, number);
            out.push(json!({"id": number, "name": format!("{name}, {location}")}));
        }
        Ok((json!({"threads": out}), Then::Nothing))
    }

    pub(super) fn stack_trace(&mut self, args: &Value) -> Answer {
        let thread = args["threadId"].as_u64().unwrap_or(0) as u32;
        let Ok(wave) = self.wave(thread) else {
            return Ok((json!({"stackFrames": [], "totalFrames": 0}), Then::Nothing));
        };
        let session = self.session()?;
        let pc = session.wave(wave).map_or(0, |state| state.pc);
        let callers = session.frames(wave).iter().rev().map(|f| f.caller);
        let all: Vec<u64> = std::iter::once(pc).chain(callers).collect();
        let start = args["startFrame"].as_u64().unwrap_or(0) as usize;
        let count = args["levels"].as_u64().filter(|n| *n > 0);
        let count = count.map_or(usize::MAX, |n| n as usize);
        let mut out = Vec::new();
        for &pc in all.iter().skip(start).take(count) {
            self.frames.push((thread, pc));
            let id = self.frames.len();
            let first_line = self.first_line;
            let code = self.session()?.code();
            let name = match code.symbol(pc) {
                Some((name, 0)) => name.to_owned(),
                Some((name, offset)) => format!("{name}+{offset:#x}"),
                None => format!("{:#x}", code.file_address(pc)),
            };
            let mut frame = json!({
                "id": id, "name": name, "line": 0, "column": 0, "instructionPointerReference": format!("{pc:#x}"),
            });
            if let Some(line) = code.line(pc) {
                frame["line"] = (line.line - 1 + first_line).into();
                frame["column"] = first_line.into();
                frame["source"] = source(&line.file);
            }
            out.push(frame);
        }
        Ok((
            json!({"stackFrames": out, "totalFrames": all.len()}),
            Then::Nothing,
        ))
    }

    pub(super) fn scopes(&mut self, args: &Value) -> Answer {
        let frame = args["frameId"].as_u64().and_then(|n| n.checked_sub(1));
        let frame = frame.and_then(|n| self.frames.get(n as usize).copied());
        let (thread, _) = frame.ok_or("the frame is from before the last motion")?;
        let wave = self.wave(thread)?;
        let session = self.session()?;
        let vgprs = session.wave(wave).map_or(0, |state| state.vgprs.len());
        let lds = session.lds(wave.workgroup).map_or(0, <[u8]>::len);
        let buffers = session.buffers().len();
        let sgprs = session.sgprs();
        let all = [
            (
                "Special registers",
                Group::Special(thread),
                SPECIAL.len(),
                false,
            ),
            ("SGPRs", Group::Sgprs(thread), sgprs as usize, false),
            ("VGPRs", Group::Vgprs(thread), vgprs, false),
            ("LDS", Group::Lds(thread), lds / 4, true),
            ("Buffers", Group::Buffers(thread), buffers, false),
        ];
        let mut out = Vec::new();
        for (name, group, count, indexed) in all {
            let registers = matches!(group, Group::Special(_) | Group::Sgprs(_) | Group::Vgprs(_));
            let reference = self.refer(group);
            let mut scope =
                json!({"name": name, "variablesReference": reference, "expensive": false});
            scope[if indexed {
                "indexedVariables"
            } else {
                "namedVariables"
            }] = count.into();
            if registers {
                scope["presentationHint"] = "registers".into();
            }
            out.push(scope);
        }
        Ok((json!({"scopes": out}), Then::Nothing))
    }

    pub(super) fn variables(&mut self, args: &Value) -> Answer {
        let group = args["variablesReference"]
            .as_u64()
            .and_then(|n| self.group(n));
        let group = group.ok_or("the variables are from before the last motion")?;
        let wave = self.wave(group.thread()).ok();
        let format = if args["format"]["hex"] == true {
            "x"
        } else {
            ""
        };
        let session = self.session()?;
        let (names, indexed): (Vec<String>, bool) = match &group {
            Group::Special(_) => {
                let known = |name: &&str| Expr::parse(name, session.target()).is_ok();
                let names = SPECIAL.iter().copied().filter(known);
                (names.map(str::to_owned).collect(), false)
            }
            Group::Sgprs(_) => (
                (0..session.sgprs()).map(|n| format!("s{n}")).collect(),
                false,
            ),
            Group::Vgprs(_) => {
                let count = wave
                    .and_then(|w| session.wave(w))
                    .map_or(0, |s| s.vgprs.len());
                ((0..count).map(|n| format!("v{n}")).collect(), false)
            }
            Group::Lanes(..) => ((0..LANES).map(|n| format!("[{n}]")).collect(), true),
            Group::Lds(_) => {
                let lds = wave.and_then(|w| session.lds(w.workgroup));
                let words = lds.map_or(0, <[u8]>::len) / 4;
                (
                    (0..words).map(|n| format!("[{:#x}]", 4 * n)).collect(),
                    true,
                )
            }
            Group::Buffers(_) => {
                let all = session.buffers();
                let out = all.iter().map(|(name, address, bytes)| {
                    let address = format!("{address:#x}");
                    json!({"name": name, "value": format!("{address}, {bytes} bytes"), "memoryReference": address, "variablesReference": 0})
                });
                let out: Vec<Value> = out.collect();
                return Ok((json!({"variables": out}), Then::Nothing));
            }
        };
        let filter = args["filter"].as_str();
        if filter.is_some_and(|filter| (filter == "indexed") != indexed) {
            return Ok((json!({"variables": []}), Then::Nothing));
        }
        let start = args["start"].as_u64().unwrap_or(0) as usize;
        let count = args["count"].as_u64().filter(|n| *n > 0);
        let count = count.map_or(usize::MAX, |n| n as usize);
        let mut out = Vec::new();
        for name in names.iter().skip(start).take(count) {
            let expression = group.expression(name);
            let mut value = self.show(group.thread(), &expression, format)?;
            value["name"] = name.as_str().into();
            value["evaluateName"] = expression.into();
            out.push(value);
        }
        Ok((json!({"variables": out}), Then::Nothing))
    }

    /// A value, or a message in place of it, and a reference to its lanes if it has some.
    fn show(&mut self, thread: u32, text: &str, format: &str) -> Result<Value, Error> {
        let wave = self.wave(thread).ok();
        let session = self.session()?;
        let expr = session.expr(text)?;
        let location = session.location_of(&expr, wave);
        if let Ok((location @ ValueLocation::Vgpr { lane: None, .. }, _)) = location {
            let value = all_lanes(session, location, format)?;
            let name = location.name(session.target());
            let reference = self.refer(Group::Lanes(thread, name));
            return Ok(
                json!({"value": value, "variablesReference": reference, "indexedVariables": LANES}),
            );
        }
        let value = session
            .eval_expr(&expr, wave)
            .and_then(|value| value_text(&value, format));
        let text = value.unwrap_or_else(|e| e.to_string());
        let mut out = json!({"value": text, "variablesReference": 0});
        if let Ok((ValueLocation::Memory { address, .. }, _)) = location {
            out["memoryReference"] = format!("{address:#x}").into();
        }
        Ok(out)
    }

    pub(super) fn set_variable(&mut self, args: &Value) -> Answer {
        let group = args["variablesReference"]
            .as_u64()
            .and_then(|n| self.group(n));
        let group = group.ok_or("the variables are from before the last motion")?;
        let name = args["name"].as_str().unwrap_or("");
        self.assign(group.thread(), &group.expression(name), &args["value"])
    }

    pub(super) fn set_expression(&mut self, args: &Value) -> Answer {
        self.select(args)?;
        let thread = self.selected()?;
        let text = args["expression"].as_str().unwrap_or("").to_owned();
        self.assign(thread, &text, &args["value"])
    }

    fn assign(&mut self, thread: u32, text: &str, value: &Value) -> Answer {
        let wave = self.wave(thread)?;
        self.session()?.select(wave)?;
        let value = value.as_str().unwrap_or("");
        self.commands()?.execute(&format!("set {text} = {value}"))?;
        Ok((self.show(thread, text, "")?, Then::Nothing))
    }

    pub(super) fn evaluate(&mut self, args: &Value) -> Answer {
        self.select(args)?;
        let text = args["expression"].as_str().unwrap_or("").trim().to_owned();
        let word = text
            .split(|c: char| c.is_whitespace() || c == '/')
            .next()
            .unwrap_or("");
        let command = COMMANDS
            .iter()
            .any(|c| c.name == word || c.aliases.contains(&word));
        let expr = self.session()?.expr(&text);
        if args["context"] == "repl" && (command || expr.is_err()) {
            let before = (self.session()?.now(), self.session()?.selected());
            let output = self.commands()?.execute(&text)?;
            if output.quit {
                return Ok((
                    json!({"result": "", "variablesReference": 0}),
                    Then::Tell("terminated"),
                ));
            }
            let moved = before != (self.session()?.now(), self.session()?.selected());
            if moved {
                self.frames.clear();
                self.groups.clear();
            }
            let then = if moved { Then::Moved } else { Then::Nothing };
            return Ok((
                json!({"result": output.text.trim_end(), "variablesReference": 0}),
                then,
            ));
        }
        let format = if args["format"]["hex"] == true {
            "x"
        } else {
            ""
        };
        let thread = self.selected()?;
        let wave = self.wave(thread).ok();
        let expr = expr?;
        let session = self.session()?;
        if session.location_of(&expr, wave).is_err() {
            session.eval_expr(&expr, wave)?;
        }
        let mut shown = self.show(thread, &text, format)?;
        shown["result"] = shown["value"].take();
        if let Some(fields) = shown.as_object_mut() {
            fields.remove("value");
        }
        Ok((shown, Then::Nothing))
    }

    pub(super) fn completions(&mut self, args: &Value) -> Answer {
        let text = args["text"].as_str().unwrap_or("");
        let column = args["column"].as_u64().unwrap_or(1).saturating_sub(1) as usize;
        let line: String = text.chars().take(column.max(1)).collect();
        let (start, words) = self.commands()?.complete(&line);
        let length = line[start..].chars().count();
        let start = line[..start].chars().count();
        let targets: Vec<Value> = words
            .iter()
            .map(|word| json!({"label": word, "start": start, "length": length}))
            .collect();
        Ok((json!({"targets": targets}), Then::Nothing))
    }

    pub(super) fn disassemble(&mut self, args: &Value) -> Answer {
        let at = reference(&args["memoryReference"], &args["offset"])? & !3;
        let from = args["instructionOffset"].as_i64().unwrap_or(0);
        let count = args["instructionCount"].as_u64().unwrap_or(0).min(10_000) as i64;
        let first_line = self.first_line;
        let session = self.session()?;
        let code = session.code();
        let length = |pc: u64| {
            let found = code.decode(pc, session.memory());
            found.map_or(4, |info| info.insn.len as u64)
        };
        let mut all: Vec<(u64, bool)> = Vec::new();
        let before = before(session, at, from.min(0).unsigned_abs(), &length);
        let missing = from.min(0).unsigned_abs() - before.len() as u64;
        let first = before.first().copied().unwrap_or(at);
        all.extend(
            (1..=missing)
                .rev()
                .map(|n| (first.wrapping_sub(4 * n), false)),
        );
        all.extend(before.into_iter().map(|pc| (pc, true)));
        let mut pc = at;
        while (all.len() as i64) < from.max(0) + count + from.min(0).abs() {
            let valid = code.is_code(pc);
            all.push((pc, valid));
            pc = pc.wrapping_add(if valid { length(pc) } else { 4 });
        }
        let skip = from.max(0) as usize;
        let mut out = Vec::new();
        for &(pc, valid) in all.iter().skip(skip).take(count as usize) {
            let address = format!("{pc:#x}");
            if !valid {
                out.push(
                    json!({"address": address, "instruction": "", "presentationHint": "invalid"}),
                );
                continue;
            }
            let bytes = session.read(ValueLocation::Memory {
                address: pc,
                bytes: length(pc),
            });
            let bytes: Vec<String> = bytes.iter().flatten().map(|b| format!("{b:02x}")).collect();
            let mut one = json!({
                "address": address,
                "instruction": code.listed(pc, session.memory()),
                "instructionBytes": bytes.join(" "),
            });
            if let Some((name, 0)) = code.symbol(pc) {
                one["symbol"] = name.into();
            }
            if let Some(line) = code.line(pc) {
                one["location"] = source(&line.file);
                one["line"] = (line.line - 1 + first_line).into();
            }
            out.push(one);
        }
        Ok((json!({"instructions": out}), Then::Nothing))
    }

    pub(super) fn read_memory(&mut self, args: &Value) -> Answer {
        let address = reference(&args["memoryReference"], &args["offset"])?;
        let count = args["count"].as_u64().unwrap_or(0).min(1 << 20);
        let data = self.session()?.readable(address, count);
        let unread = count - data.len() as u64;
        let mut body = json!({"address": format!("{address:#x}"), "data": base64(&data)});
        if unread > 0 {
            body["unreadableBytes"] = unread.into();
        }
        Ok((body, Then::Nothing))
    }

    pub(super) fn write_memory(&mut self, args: &Value) -> Answer {
        let address = reference(&args["memoryReference"], &args["offset"])?;
        let data = args["data"].as_str().and_then(from_base64);
        let data = data.ok_or("`data` is no base64")?;
        let location = ValueLocation::Memory {
            address,
            bytes: data.len() as u64,
        };
        self.session()?.write(location, &data)?;
        Ok((json!({"bytesWritten": data.len()}), Then::Nothing))
    }
}

/// The instructions before an address, up to a number of them.
fn before(session: &Session, at: u64, count: u64, length: &dyn Fn(u64) -> u64) -> Vec<u64> {
    let code = session.code();
    let mut out: Vec<u64> = Vec::new();
    let mut end = at;
    while (out.len() as u64) < count && code.is_code(end.wrapping_sub(4)) {
        // Decoding starts at the beginning of the function, because instructions have several lengths.
        let Some((start, _)) = code.function(end - 4) else {
            break;
        };
        let mut own = Vec::new();
        let mut pc = start;
        while pc < end {
            own.push(pc);
            pc += length(pc);
        }
        own.extend(out);
        (out, end) = (own, start);
    }
    let drop = out.len().saturating_sub(count as usize);
    out.split_off(drop)
}

/// A file in the form that the protocol requires.
fn source(file: &str) -> Value {
    let path = Path::new(file);
    let name = path
        .file_name()
        .map_or(file.into(), |name| name.to_string_lossy());
    let full = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    json!({"name": name, "path": full.to_string_lossy()})
}
