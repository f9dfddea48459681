//! States as text.

use std::fmt::Write as _;

use gcn::lanes::{self, Form};
use gcn_emu::dispatch::Waits;
use gcn_emu::group::Doing;
use gcn_emu::wave::LANES;
use gcn_isa::access::File;
use gcn_isa::shape;

use crate::expr::{Ty, Value, little};
use crate::motion::{Reason, Stop};
use crate::session::{Error, Moment, Session, Status, WaveId};
use crate::state::ValueLocation;
use crate::stops::{Breakpoint, Watchpoint};
use crate::writer::Writer;

/// `vadd+0x10, vadd.cl:5`.
pub fn position(session: &Session, pc: u64) -> String {
    let code = session.code();
    let mut text = code.name(pc);
    if let Some(line) = code.line(pc) {
        let _ = write!(text, ", {line}");
    }
    text
}

/// `0x1c10  v_add_f32_e32 v0, v1, v2`.
pub fn instruction(session: &Session, pc: u64) -> String {
    let code = session.code();
    let text = code.listed(pc, session.memory());
    format!("{:#x}  {text}", code.file_address(pc))
}

/// `tick 5`, or with several launches `tick 1:5`, as `goto` takes it.
fn moment_text(session: &Session, moment: Moment) -> String {
    match session.launches() {
        1 => format!("tick {}", moment.tick),
        _ => format!("tick {}:{}", moment.launch, moment.tick),
    }
}

/// The selected wave, its next instruction and its source line.
pub fn here(session: &Session) -> String {
    let now = session.now();
    let moment = moment_text(session, now);
    match session.status() {
        Status::Ended if session.may_change_time().is_err() => {
            return match session.program_ended() {
                true => "the program has ended\n".into(),
                false => format!("the program runs; launch {} has ended\n", now.launch),
            };
        }
        Status::Ended => return format!("the end, {moment}\n"),
        Status::Failed(report) => {
            let mut text = format!("{}\n", report.trim_end());
            if let Ok((id, state)) = session.current() {
                let _ = writeln!(text, "{id}, {}, {moment}", position(session, state.pc));
            }
            return text;
        }
        Status::Running => {}
    }
    let Ok((id, state)) = session.current() else {
        return format!("no wave is selected, {moment}\n");
    };
    let mut text = format!("{id}, {}, {moment}\n", position(session, state.pc));
    add_instruction(&mut text, "=>", session, state.pc);
    text
}

/// Adds an instruction, and its source line, which for a line of assembly is its comment.
fn add_instruction(text: &mut String, mark: &str, session: &Session, pc: u64) {
    let (own, comment) = (instruction(session, pc), session.comment(pc));
    let _ = match (
        comment,
        session.code().line(pc).and_then(|l| l.text.as_ref()),
    ) {
        (Some(""), _) | (None, None) => writeln!(text, "{mark} {own}"),
        (Some(comment), _) => writeln!(text, "{mark} {own:<50}  {comment}"),
        (None, Some(line)) => writeln!(text, "{mark} {own}\n   {}", line.trim()),
    };
}

fn bytes_text(bytes: &[u8]) -> String {
    match bytes.len() {
        4 => Value::from_bits(Ty::Bits(32), little(bytes)).to_string(),
        8 => Value::from_bits(Ty::Bits(64), little(bytes)).to_string(),
        0..8 => format!("{:#x}", little(bytes)),
        _ => {
            let words = bytes
                .chunks(4)
                .take(8)
                .map(|c| format!("{:08x}", little(c)));
            let more = if bytes.len() > 32 { " …" } else { "" };
            format!("{}{more}", words.collect::<Vec<_>>().join(" "))
        }
    }
}

/// The location and the reason of a stop.
pub fn stop_text(session: &Session, stop: &Stop) -> String {
    let mut text = match &stop.reason {
        Reason::Step => String::new(),
        Reason::Breakpoint { id, error } => match error {
            None => format!("breakpoint {id}\n"),
            Some(error) => format!("breakpoint {id}: its condition has no value: {error}\n"),
        },
        Reason::Report(report) => report.clone(),
        Reason::Watchpoint {
            id,
            wave,
            pc,
            before,
            after,
        } => {
            let watch = session.watchpoints().iter().find(|w| w.id == *id);
            let name = watch.map_or(String::new(), |w| w.location.name(session.target()));
            format!(
                "watchpoint {id}: {name} {} -> {}\n  by {wave}: {}\n",
                bytes_text(before),
                bytes_text(after),
                instruction(session, *pc)
            )
        }
        Reason::WaveEnded(wave) => format!("{wave} has ended\n"),
        Reason::Waits(_, why) => format!("{why}; only other waves can let it go on\n"),
        Reason::Ended if session.is_attached() => "the program has ended\n".into(),
        Reason::Ended => "the last launch has ended\n".into(),
        Reason::Failed(_) => String::new(),
        Reason::Start => "the beginning of the history\n".into(),
        Reason::Interrupted => "interrupted\n".into(),
    };
    if stop.reason != Reason::Ended {
        text.push_str(&here(session));
    }
    text
}

/// A value in a format: x, d, u, f, or its own.
///
/// # Errors
/// A message if there is no such format.
pub fn value_text(value: &Value, format: &str) -> Result<String, Error> {
    let bits = value.bits();
    let width = match value.ty {
        Ty::Bits(n) | Ty::Unsigned(n) | Ty::Signed(n) | Ty::Float(n) => n,
        Ty::Integer | Ty::Real => 64,
    };
    Ok(match format {
        "" => value.to_string(),
        "x" => format!("{bits:#x}"),
        "d" => value.cast(Ty::Signed(width)).to_string(),
        "u" => value.cast(Ty::Unsigned(width)).to_string(),
        "f" => Value::from_bits(Ty::Float(width.max(16)), bits).to_string(),
        other => return Err(format!("`/{other}` is no format; expected x, d, u or f").into()),
    })
}

/// The values of a register, or of two, in all lanes.
fn lane_values(session: &Session, location: ValueLocation) -> Result<(Vec<u64>, u32), Error> {
    let bytes = session.read(location)?;
    let size = bytes.len() / LANES;
    Ok((bytes.chunks(size).map(little).collect(), 8 * size as u32))
}

pub(crate) fn all_lanes(
    session: &Session,
    location: ValueLocation,
    format: &str,
) -> Result<String, Error> {
    let (values, bits) = lane_values(session, location)?;
    if !matches!(format, "" | "x") {
        let each = values.iter().map(|&v| {
            let value = Value::from_bits(Ty::Bits(bits as u8), v);
            value_text(&value, format)
        });
        let each: Vec<String> = each.collect::<Result<_, _>>()?;
        return Ok(format!("[{}]", each.join(", ")));
    }
    let values: Vec<(usize, u64)> = values.into_iter().enumerate().collect();
    let ty = if bits == 64 {
        shape::Ty::B64
    } else {
        shape::Ty::B32
    };
    let form = match format {
        "x" => Form::Bits,
        _ => Form::of(ty, values.iter().map(|v| v.1)),
    };
    let mask = u64::MAX >> (64 - bits);
    Ok(lanes::text(&values, form, mask, "lane", LANES, false))
}

/// A register lane by lane, eight lanes per line; inactive lanes in parentheses.
///
/// # Errors
/// A message if there is no such register or format.
pub fn lanes_table(
    session: &Session,
    location: ValueLocation,
    format: &str,
) -> Result<String, Error> {
    let (values, bits) = lane_values(session, location)?;
    let exec = session.current()?.1.exec();
    let mut cells = Vec::new();
    for (lane, &value) in values.iter().enumerate() {
        let value = Value::from_bits(Ty::Bits(bits as u8), value);
        let format = if format.is_empty() { "x" } else { format };
        let text = value_text(&value, format)?;
        cells.push(match exec >> lane & 1 {
            0 => format!("({text})"),
            _ => text,
        });
    }
    let width = cells.iter().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    for (row, cells) in cells.chunks(8).enumerate() {
        let _ = write!(text, "{:>2}:", 8 * row);
        for cell in cells {
            let _ = write!(text, " {cell:>width$}");
        }
        text.push('\n');
    }
    Ok(text)
}

/// Bytes as dwords, four per line.
pub fn hexdump(address: u64, data: &[u8]) -> String {
    let mut text = String::new();
    for (n, row) in data.chunks(16).enumerate() {
        let _ = write!(text, "{:#x}:", address + 16 * n as u64);
        for word in row.chunks(4) {
            match word.len() {
                4 => {
                    let _ = write!(text, " {:08x}", little(word));
                }
                _ => word.iter().for_each(|byte| {
                    let _ = write!(text, " {byte:02x}");
                }),
            }
        }
        text.push('\n');
    }
    text
}

pub(super) fn floats(address: u64, data: &[u8]) -> String {
    let mut text = String::new();
    for (n, row) in data.chunks(16).enumerate() {
        let _ = write!(text, "{:#x}:", address + 16 * n as u64);
        for word in row.chunks_exact(4) {
            let value = Value::from_bits(Ty::Float(32), little(word));
            let _ = write!(text, " {value}");
        }
        text.push('\n');
    }
    text
}

pub(crate) fn waiting(waits: &Waits) -> String {
    match waits {
        Waits::Barrier(others) if others.is_empty() => "waits at a barrier".into(),
        Waits::Barrier(others) => {
            let list: Vec<String> = others.iter().map(usize::to_string).collect();
            let word = if list.len() == 1 { "wave" } else { "waves" };
            format!("waits at a barrier for {word} {}", list.join(", "))
        }
        Waits::Others => "waits for others".into(),
        Waits::Loop(Some((_, load))) => format!("polls: {load}"),
        Waits::Loop(None) => "loops".into(),
        Waits::Halted => "halted".into(),
        Waits::Nothing => String::new(),
    }
}

/// The waves that have begun, one per line, with their locations and what they wait for.
pub fn waves(session: &Session) -> String {
    let waves = session.waves();
    if waves.is_empty() {
        return "no wave is running\n".into();
    }
    let mut text = String::new();
    for wave in waves {
        let mark = match (session.selected() == Some(wave.id), wave.next) {
            (true, _) => '*',
            (_, true) => '>',
            _ => ' ',
        };
        let doing = match (wave.doing, &wave.waits) {
            (Doing::Ended, _) => "ended".into(),
            (_, Some(waits)) => waiting(waits),
            (_, None) if wave.next => "next".into(),
            _ => String::new(),
        };
        let [x, y, z] = wave.id.workgroup;
        let line = format!(
            "{mark} ({x},{y},{z}) wave {}  {}  exec {:#018x}  {} executed  {doing}",
            wave.id.wave,
            session.code().name(wave.pc),
            wave.exec,
            wave.executed
        );
        text.push_str(line.trim_end());
        // Last, because a narrow pane has no room for it.
        if let Some(line) = session.code().line(wave.pc) {
            let _ = write!(text, "  {line}");
        }
        text.push('\n');
    }
    text
}

pub(super) fn registers(session: &Session, which: &str) -> Result<String, Error> {
    let (wave, state) = session.current()?;
    let target = session.target();
    let mut text = String::new();
    if matches!(which, "" | "s" | "all") {
        let descriptor = &session.kernel().descriptor;
        let count = 8 * (descriptor.granulated_wavefront_sgpr_count() as u16 + 1);
        let count = count.min(target.generation().sgprs());
        for first in (0..count).step_by(4) {
            let cells = (first..(first + 4).min(count))
                .map(|n| format!("{:<16}", format!("s{n} = {:#x}", state.sgprs[n as usize])));
            let line = cells.collect::<Vec<_>>().join("  ");
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let _ = writeln!(text, "exec = {:#x}", state.exec());
        let _ = writeln!(text, "vcc = {:#x}", state.vcc());
        let _ = writeln!(text, "m0 = {:#x}", state.m0());
        let _ = writeln!(text, "scc = {}", state.scc as u8);
        let _ = writeln!(text, "mode = {:#x}", state.mode);
        let _ = writeln!(text, "status = {:#x}", state.status_word());
        let file = session.code().file_address(state.pc);
        let _ = writeln!(text, "pc = {:#x} ({file:#x} in `gcn dis`)", state.pc);
    }
    if matches!(which, "v" | "all") {
        for first in 0..state.vgprs.len() as u16 {
            let location = ValueLocation::Vgpr {
                wave,
                first,
                count: 1,
                lane: None,
            };
            let _ = writeln!(text, "v{first} = {}", all_lanes(session, location, "")?);
        }
    }
    match text.is_empty() {
        true => Err(format!("`regs {which}`: expected nothing, `s`, `v` or `all`").into()),
        false => Ok(text),
    }
}

pub(super) fn disassembly(session: &Session, from: u64, count: usize) -> String {
    let code = session.code();
    let current = session.current().ok().map(|(_, state)| state.pc);
    let (mut pc, mut text, mut last) = (from & !3, String::new(), None);
    for _ in 0..count {
        let line = code.line(pc);
        let comment = session.comment(pc);
        if line.is_some() && line != last {
            if let Some(line) = line.filter(|_| comment.is_none()) {
                let source = line.text.as_deref().unwrap_or("").trim();
                let _ = writeln!(text, "   // {line}: {source}");
            }
            last = line;
        }
        let mark = if current == Some(pc) { "=>" } else { "  " };
        let stop = session
            .breakpoints()
            .iter()
            .any(|b| b.addresses.contains(&pc));
        let stop = if stop { '*' } else { ' ' };
        let own = instruction(session, pc);
        let _ = match comment {
            None | Some("") => writeln!(text, "{mark}{stop}{own}"),
            Some(comment) => writeln!(text, "{mark}{stop}{own:<50}  {comment}"),
        };
        let len = code
            .decode(pc, session.memory())
            .map_or(4, |info| info.insn.len as u64);
        pc += len;
        if !code.is_code(pc) {
            break;
        }
    }
    text
}

pub(super) fn list(session: &Session, rest: &str) -> Result<String, Error> {
    let code = session.code();
    let near = session.selected_pc().unwrap_or(session.entry());
    let pc = match rest {
        "" => near,
        text => code.locate(text, near)?.addresses[0],
    };
    let source = code.line(pc).and_then(|line| {
        let text = std::fs::read_to_string(&line.file).ok()?;
        Some((line, text))
    });
    let Some((line, source)) = source else {
        return Ok(disassembly(session, pc, 10));
    };
    let first = line.line.saturating_sub(5).max(1);
    let mut text = String::new();
    let lines = source.lines().enumerate().skip(first as usize - 1).take(10);
    for (n, content) in lines {
        let mark = if n as u64 + 1 == line.line {
            "=>"
        } else {
            "  "
        };
        let _ = writeln!(text, "{mark} {:>4}  {content}", n + 1);
    }
    Ok(text)
}

pub(super) fn backtrace(session: &Session) -> Result<String, Error> {
    let (id, state) = session.current()?;
    let mut text = format!("0  {}\n", position(session, state.pc));
    for (n, frame) in session.frames(id).iter().rev().enumerate() {
        let _ = writeln!(text, "{}  {}", n + 1, position(session, frame.caller));
    }
    Ok(text)
}

/// A call of the selected wave: its location, the instruction that called, and its source line.
pub(super) fn frame(session: &Session, level: usize) -> String {
    let Some(pc) = session.frame_pc(level) else {
        return String::new();
    };
    let mut text = format!("{level}  {}\n", position(session, pc));
    let mark = if level == 0 { "=>" } else { "  " };
    add_instruction(&mut text, mark, session, pc);
    text
}

pub(super) fn breakpoint(session: &Session, b: &Breakpoint) -> String {
    let locations: Vec<String> = (b.addresses.iter())
        .map(|&pc| {
            format!(
                "{:#x} {}",
                session.code().file_address(pc),
                position(session, pc)
            )
        })
        .collect();
    let mut text = format!("breakpoint {} at {}", b.id, locations.join("; "));
    if let Some([x, y, z]) = b.filter.workgroup {
        let _ = write!(text, " workgroup ({x},{y},{z})");
    }
    if let Some(wave) = b.filter.wave {
        let _ = write!(text, " wave {wave}");
    }
    if let Some(condition) = &b.condition {
        let _ = write!(text, " if {condition}");
    }
    if let Some(note) = &b.note {
        let _ = write!(text, " ({note})");
    }
    text
}

pub(super) fn watchpoint(session: &Session, w: &Watchpoint) -> String {
    let mut text = format!("watchpoint {} on ", w.id);
    if w.any_write {
        text.push_str("each write of ");
    }
    text.push_str(&w.location.name(session.target()));
    if let Some(WaveId { .. }) = w.location.wave() {
        let _ = write!(
            text,
            " of {}",
            w.location.wave().map_or(String::new(), |w| w.to_string())
        );
    }
    if let Some(condition) = &w.condition {
        let _ = write!(text, " if {condition}");
    }
    text
}

pub(super) fn all_stops(session: &Session) -> String {
    let mut lines: Vec<(u32, String)> = Vec::new();
    let hits = |n: u64| match n {
        0 => String::new(),
        1 => ", 1 hit".into(),
        n => format!(", {n} hits"),
    };
    for b in session.breakpoints() {
        lines.push((
            b.id,
            format!("{}{}\n", breakpoint(session, b), hits(b.hits)),
        ));
    }
    for w in session.watchpoints() {
        lines.push((
            w.id,
            format!("{}{}\n", watchpoint(session, w), hits(w.hits)),
        ));
    }
    lines.sort();
    match lines.is_empty() {
        true => "no breakpoint is set\n".into(),
        false => lines.into_iter().map(|(_, line)| line).collect(),
    }
}

pub(super) fn buffers(session: &Session) -> String {
    let buffers = session.buffers();
    let lines = buffers
        .iter()
        .map(|(name, address, bytes)| format!("{address:#x}  {bytes} bytes  {name}\n"));
    lines.collect()
}

pub(super) fn launch(session: &Session) -> String {
    let (grid, group) = session.work_items();
    let three = |n: [u32; 3]| format!("{},{},{}", n[0], n[1], n[2]);
    let of = match session.is_attached() {
        true => String::new(),
        false => format!(" of {}", session.launches()),
    };
    format!(
        "launch {}{of}: {}, grid {} work-items in workgroups of {}, {} workgroups\n",
        session.now().launch,
        session.kernel().name,
        three(grid),
        three(group),
        session.grid().iter().map(|&n| n as u64).product::<u64>()
    )
}

pub(super) fn history(session: &Session) -> String {
    let history = session.past();
    format!(
        "tick {}, {} checkpoints, {} KiB\n",
        session.now().tick,
        history.len(),
        history.bytes() >> 10
    )
}

pub(super) fn writer(
    session: &Session,
    location: &ValueLocation,
    writer: Option<&Writer>,
) -> String {
    let name = location.name(session.target());
    let Some(writer) = writer else {
        let what = match location {
            ValueLocation::Memory { .. } if session.is_attached() => {
                "nothing has written it since the launch began"
            }
            ValueLocation::Memory { .. } => "nothing has written it since the plan began",
            ValueLocation::Lds { .. } => "nothing has written it since the workgroup began",
            _ => "nothing has written it since the wave began",
        };
        return format!("{name}: {what}\n");
    };
    let changed = match location {
        ValueLocation::Vgpr { lane: None, .. } => String::new(),
        _ => format!(
            "\n  {} -> {}",
            bytes_text(&writer.before),
            bytes_text(&writer.after)
        ),
    };
    format!(
        "{name}: {}\n  {}, {}, {}{changed}\n",
        instruction(session, writer.pc),
        writer.wave,
        position(session, writer.pc),
        moment_text(session, writer.moment)
    )
}

/// An instruction that a wave has executed, and the values that it wrote.
pub(super) fn traced(session: &Session, (id, pc, exec): (WaveId, u64, u64)) -> String {
    let mut line = format!("{:<56}", instruction(session, pc));
    let Some(info) = session.code().decode(pc, session.memory()) else {
        return format!("{}\n", line.trim_end());
    };
    let mut parts = Vec::new();
    for access in info.writes.iter().filter(|a| !a.anywhere) {
        let count = access.count.min(2);
        let location = match access.file {
            File::Scalar => ValueLocation::Scalar {
                wave: id,
                first: access.first,
                count,
            },
            File::Vector => ValueLocation::Vgpr {
                wave: id,
                first: access.first,
                count,
                lane: None,
            },
            File::Scc => ValueLocation::Scc(id),
            File::Hwreg => continue,
        };
        let name = location.name(session.target());
        let value = match location {
            ValueLocation::Vgpr { .. } => {
                lane_values(session, location).ok().map(|(values, bits)| {
                    let lanes = values.into_iter().enumerate();
                    let active = lanes.filter(|(lane, _)| exec >> lane & 1 != 0);
                    let values: Vec<(usize, u64)> = active.collect();
                    let ty = if bits == 64 {
                        shape::Ty::B64
                    } else {
                        shape::Ty::B32
                    };
                    let form = Form::of(ty, values.iter().map(|v| v.1));
                    lanes::text(&values, form, u64::MAX >> (64 - bits), "lane", LANES, false)
                })
            }
            _ => session
                .read(location)
                .ok()
                .map(|bytes| format!("{:#x}", little(&bytes))),
        };
        parts.extend(value.map(|value| format!("{name} = {value}")));
    }
    line.push_str("  ");
    line.push_str(&parts.join(", "));
    format!("{}\n", line.trim_end())
}
