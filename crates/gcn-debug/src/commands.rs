//! The session's commands as text: one command per line, its output as text. Scripts, the terminal's command line and other front
//! ends share them.

mod help;
mod show;

use crate::expr::Ty;
use crate::motion::{Reason, Scope, Stop, Unit};
use crate::session::{Error, Moment, Session, Status, WaveId};
use crate::state::ValueLocation;
use crate::stops::Filter;

pub use help::{COMMANDS, Command};
pub(crate) use show::{all_lanes, waiting};
pub use show::{hexdump, instruction, lanes_table, position, stop_text, value_text, waves};

/// The result of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Text for the user; empty, or lines that end with a line break.
    pub text: String,
    /// The user wants to quit.
    pub quit: bool,
    /// The debugged program is to end.
    pub kill: bool,
}

impl From<String> for Output {
    fn from(text: String) -> Output {
        Output {
            text,
            ..Output::default()
        }
    }
}

/// Executes commands on a session.
pub struct Commands {
    session: Session,
    /// The location of the last `who`, for `back`.
    asked: Option<ValueLocation>,
    /// The command to repeat for an empty line.
    last: String,
}

/// The text before a separate word, and the text after it.
fn split_word<'a>(text: &'a str, word: &str) -> Option<(&'a str, &'a str)> {
    let mut from = 0;
    while let Some(found) = text[from..].find(word) {
        let (start, end) = (from + found, from + found + word.len());
        let before = text[..start]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace);
        let after = text[end..].chars().next();
        if before && after.is_none_or(|c| c.is_whitespace() || c == '(') {
            return Some((text[..start].trim(), text[end..].trim()));
        }
        from = end;
    }
    None
}

/// Splits at commas outside of parentheses and brackets.
fn commas(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut out) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                out.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(text[start..].trim());
    out
}

/// Reads `X[,Y[,Z]]`.
fn workgroup(text: &str) -> Result<[u32; 3], Error> {
    let mut out = [0; 3];
    let text = text.trim().trim_start_matches('(').trim_end_matches(')');
    let parts: Vec<&str> = text.split(',').collect();
    let wrong = || {
        Error::from(format!(
            "`{text}` is no workgroup; expected X,Y,Z, as 1,0,0"
        ))
    };
    if parts.len() > 3 {
        return Err(wrong());
    }
    for (n, part) in out.iter_mut().zip(parts) {
        *n = part.trim().parse().map_err(|_| wrong())?;
    }
    Ok(out)
}

/// The suffix of a message about a change. `ahead` is true if a future was known.
fn new_history(ahead: bool) -> &'static str {
    match ahead {
        true => "a new history begins here; later moments are lost\n",
        false => "a new history begins here\n",
    }
}

impl Commands {
    /// Commands for a session.
    pub fn new(session: Session) -> Commands {
        Commands {
            session,
            asked: None,
            last: String::new(),
        }
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The session, for direct use.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Executes a command. An empty line repeats the last step, and a `#` begins a comment.
    ///
    /// # Errors
    /// A message: there is no such command, or it cannot be done.
    pub fn execute(&mut self, line: &str) -> Result<Output, Error> {
        let line = line.split('#').next().unwrap_or("").trim().to_owned();
        let line = match line.is_empty() {
            true => self.last.clone(),
            false => line,
        };
        if line.is_empty() {
            return Ok(Output::default());
        }
        let end = line.find(|c: char| c.is_whitespace() || c == '/');
        let (word, rest) = line.split_at(end.unwrap_or(line.len()));
        let command = help::find(word)?;
        self.last = match command.repeats {
            true => line.clone(),
            false => String::new(),
        };
        let result = self.dispatch(command.name, rest.trim());
        // Columns count from the beginning of the line.
        result.map_err(|mut e| {
            if let (Some(at), Some(begin)) = (e.at, rest_offset(&line, &e)) {
                e.at = Some(begin + at);
            }
            e
        })
    }

    fn dispatch(&mut self, name: &str, rest: &str) -> Result<Output, Error> {
        match name {
            "break" => self.set_break(rest),
            "watch" => self.set_observers(rest),
            "delete" => self.delete(rest),
            "run" => self.moved(|s| s.run()),
            "continue" => self.resume(rest),
            "step" => self.steps(rest, Unit::Instruction, false),
            "next" => self.steps(rest, Unit::Over, false),
            "line" => self.steps(rest, Unit::Line, false),
            "finish" => self.steps(rest, Unit::Out, false),
            "until" => self.until(rest),
            "reverse-step" => self.steps(rest, Unit::Instruction, true),
            "reverse-next" => self.steps(rest, Unit::Over, true),
            "reverse-line" => self.steps(rest, Unit::Line, true),
            "reverse-finish" => self.steps(rest, Unit::Out, true),
            "reverse-continue" => self.moved(|s| s.reverse_resume()),
            "goto" => self.goto(rest),
            "wave" => self.wave(rest),
            "waves" => Ok(show::waves(&self.session).into()),
            "workgroup" => self.workgroup(rest),
            "print" => self.print(rest),
            "regs" => Ok(show::registers(&self.session, rest)?.into()),
            "lanes" => self.lanes(rest),
            "lds" => self.dump_lds(rest),
            "mem" => self.dump_memory(rest),
            "x" => self.examine(rest),
            "set" => self.set(rest),
            "turn" => self.turn(),
            "who" => self.who(rest),
            "back" => self.back(rest),
            "backtrace" => Ok(show::backtrace(&self.session)?.into()),
            "up" | "down" | "frame" => self.frame(name, rest),
            "trace" => self.trace(rest),
            "list" => Ok(show::list(&self.session, rest)?.into()),
            "info" => self.info(rest),
            "where" => Ok(show::here(&self.session).into()),
            "help" => Ok(help::text(rest)?.into()),
            "kill" if !self.session.is_attached() => Err(
                "no program is debugged: the launches are the session's own, `quit` ends it".into(),
            ),
            name => Ok(Output {
                quit: true,
                kill: name == "kill",
                ..Output::default()
            }),
        }
    }

    /// Performs a motion and describes its stop.
    fn moved(
        &mut self,
        motion: impl FnOnce(&mut Session) -> Result<Stop, Error>,
    ) -> Result<Output, Error> {
        let stop = motion(&mut self.session)?;
        self.stopped(&stop)
    }

    /// Describes where a motion stopped. At the end, buffers are compared and saved as the plan says.
    pub(crate) fn stopped(&mut self, stop: &Stop) -> Result<Output, Error> {
        let mut text = show::stop_text(&self.session, stop);
        if stop.reason == Reason::Ended {
            for check in self.session.finish()? {
                text.push_str(&check.text());
            }
        }
        Ok(text.into())
    }

    fn set_break(&mut self, rest: &str) -> Result<Output, Error> {
        let (rest, condition) = match split_word(rest, "if") {
            Some((rest, condition)) => (rest, Some(condition)),
            None => (rest, None),
        };
        let mut filter = Filter::default();
        let (rest, wave) = match split_word(rest, "wave") {
            Some((rest, wave)) => (rest, Some(wave)),
            None => (rest, None),
        };
        // `wave` may also come before `workgroup`.
        let (wave, group_after) = match wave.and_then(|wave| split_word(wave, "workgroup")) {
            Some((wave, group)) => (Some(wave), Some(group)),
            None => (wave, None),
        };
        let (location, group) = match split_word(rest, "workgroup") {
            Some((location, group)) => (location, Some(group)),
            None => (rest, group_after),
        };
        if let Some(group) = group {
            filter.workgroup = Some(workgroup(group)?);
        }
        if let Some(wave) = wave {
            let wave = wave
                .parse()
                .map_err(|_| format!("`{wave}` is no number of a wave; the first is 0"))?;
            filter.wave = Some(wave);
        }
        let location = match location {
            "" => {
                let (_, state) = self.session.current()?;
                let pc = self.session.selected_pc().unwrap_or(state.pc);
                format!("{:#x}", self.session.code().file_address(pc))
            }
            location => location.to_owned(),
        };
        let set = self.session.break_for(&location, filter, condition)?;
        Ok(format!("{}\n", show::breakpoint(&self.session, &set)).into())
    }

    /// Selects a call: the one outside of the selected one, the one inside, or one by its number.
    fn frame(&mut self, name: &str, rest: &str) -> Result<Output, Error> {
        let level = self.session.level();
        let number = match rest {
            "" if name == "frame" => level,
            "" => 1,
            text => (text.parse().ok()).ok_or_else(|| {
                format!("`{text}` is no number of calls, as `backtrace` lists them")
            })?,
        };
        let to = match name {
            "up" => level.saturating_add(number),
            "down" if number > level => {
                return Err("frame 0 is the innermost: the function that the wave is in".into());
            }
            "down" => level - number,
            _ => number,
        };
        self.session.select_level(to)?;
        Ok(show::frame(&self.session, to).into())
    }

    fn set_observers(&mut self, rest: &str) -> Result<Output, Error> {
        let (what, condition) = match split_word(rest, "if") {
            Some((what, condition)) => (what, Some(condition)),
            None => (rest, None),
        };
        let (what, any_write) = match split_word(what, "write") {
            Some(("", what)) => (what, true),
            _ => (what, false),
        };
        let location = self.location(what)?;
        let set = self.session.watch(location, any_write, condition)?;
        Ok(format!("{}\n", show::watchpoint(&self.session, &set)).into())
    }

    fn delete(&mut self, rest: &str) -> Result<Output, Error> {
        if rest.is_empty() {
            let breaks = self.session.breakpoints().iter().map(|b| b.id);
            let watches = self.session.watchpoints().iter().map(|w| w.id);
            let all: Vec<u32> = breaks.chain(watches).collect();
            for id in all {
                self.session.delete(id)?;
            }
            return Ok(Output::default());
        }
        for word in rest.split_whitespace() {
            let id = word
                .parse()
                .map_err(|_| format!("`{word}` is no number of a breakpoint"))?;
            self.session.delete(id)?;
        }
        Ok(Output::default())
    }

    fn resume(&mut self, rest: &str) -> Result<Output, Error> {
        let scope = match rest {
            "" => Scope::All,
            "wave" => Scope::Wave,
            "workgroup" => Scope::Workgroup,
            "alone" => Scope::WaveAlone,
            "alone workgroup" => Scope::WorkgroupAlone,
            other => {
                return Err(format!(
                    "`{other}`: expected nothing, `wave`, `workgroup`, `alone` or `alone workgroup`"
                )
                .into());
            }
        };
        self.moved(|s| s.resume_scope(scope))
    }

    /// Gives the turn to the selected wave.
    fn turn(&mut self) -> Result<Output, Error> {
        let (wave, _) = self.session.current()?;
        let ahead = self.session.has_future();
        let note = match self.session.turn(wave)? {
            true => new_history(ahead),
            false => "it is next already\n",
        };
        Ok(format!("{note}{}", show::here(&self.session)).into())
    }

    fn steps(&mut self, rest: &str, unit: Unit, reverse: bool) -> Result<Output, Error> {
        let count = match rest {
            "" => 1,
            text => {
                let value = self.session.eval(text)?;
                value
                    .as_count()
                    .ok_or_else(|| format!("`{text}` is no number of steps"))?
            }
        };
        let mut stop = None;
        for _ in 0..count {
            let now = match reverse {
                true => self.session.reverse(unit)?,
                false => self.session.step(unit)?,
            };
            let goes_on = now.reason == Reason::Step;
            stop = Some(now);
            if !goes_on {
                break;
            }
        }
        match stop {
            Some(stop) => self.stopped(&stop),
            None => Ok(Output::default()),
        }
    }

    fn until(&mut self, rest: &str) -> Result<Output, Error> {
        let (location, condition) = match split_word(rest, "if") {
            Some((location, condition)) => (location, Some(condition)),
            None => (rest, None),
        };
        if location.is_empty() {
            return Err("expected where to run to, as `until 0x1334` or `until NAME`".into());
        }
        let set = self.session.break_at(location, condition)?;
        let stop = self.session.resume();
        self.session.delete(set.id)?;
        let mut stop = stop?;
        if matches!(stop.reason, Reason::Breakpoint { id, .. } if id == set.id) {
            stop.reason = Reason::Step;
        }
        self.stopped(&stop)
    }

    fn goto(&mut self, rest: &str) -> Result<Output, Error> {
        let (launch, tick) = match rest.split_once(':') {
            Some((launch, tick)) => (launch, tick),
            None => ("", rest),
        };
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let launch = match launch {
            "" => Some(self.session.now().launch as u64),
            text => number(text),
        };
        let (Some(launch), Some(tick)) = (launch, number(tick)) else {
            return Err(format!(
                "`{rest}` is no moment; expected TICK or LAUNCH:TICK, as `where` shows"
            )
            .into());
        };
        if launch >= self.session.launches() as u64 {
            return Err(format!("there is no launch {launch}").into());
        }
        let moment = Moment {
            launch: launch as usize,
            tick,
        };
        self.session.travel(moment)?;
        Ok(show::here(&self.session).into())
    }

    fn wave(&mut self, rest: &str) -> Result<Output, Error> {
        if rest.is_empty() {
            return Ok(show::here(&self.session).into());
        }
        let wave = rest
            .parse()
            .map_err(|_| format!("`{rest}` is no number of a wave; the first is 0"))?;
        let workgroup = match self.session.selected() {
            Some(selected) => selected.workgroup,
            None => return Err("no workgroup is selected; `workgroup X,Y,Z` selects one".into()),
        };
        self.session.select(WaveId { workgroup, wave })?;
        Ok(show::here(&self.session).into())
    }

    fn workgroup(&mut self, rest: &str) -> Result<Output, Error> {
        if rest.is_empty() {
            return Ok(show::here(&self.session).into());
        }
        let workgroup = workgroup(rest)?;
        self.session.select(WaveId { workgroup, wave: 0 })?;
        Ok(show::here(&self.session).into())
    }

    fn print(&mut self, rest: &str) -> Result<Output, Error> {
        let (format, text) = match rest.strip_prefix('/') {
            Some(rest) => rest.split_at(rest.len().min(1)),
            None => ("", rest),
        };
        let text = text.trim();
        if text.is_empty() {
            return Err("expected an expression, as v3[17] or s4 + 1".into());
        }
        let expr = self.session.expr(text)?;
        // A register without a lane stands for all of its lanes.
        let location = self.session.location_of(&expr, self.session.selected());
        if let Ok((location @ ValueLocation::Vgpr { lane: None, .. }, _)) = location {
            let value = show::all_lanes(&self.session, location, format)?;
            return Ok(format!("{text} = {value}\n").into());
        }
        let value = self.session.eval_expr(&expr, self.session.selected())?;
        let value = show::value_text(&value, format)?;
        Ok(format!("{text} = {value}\n").into())
    }

    fn lanes(&mut self, rest: &str) -> Result<Output, Error> {
        let (name, format) = match rest.split_once(char::is_whitespace) {
            Some((name, format)) => (name, format.trim()),
            None => (rest, ""),
        };
        let expr = self.session.expr(name)?;
        let (location, _) = self.session.location_of(&expr, self.session.selected())?;
        match location {
            ValueLocation::Vgpr { lane: None, .. } => {
                Ok(show::lanes_table(&self.session, location, format)?.into())
            }
            _ => Err(format!("`{name}` has no lanes; expected a VGPR, as v3 or v[2:3]").into()),
        }
    }

    /// Reads `A,N`.
    fn range(&self, rest: &str, what: &str) -> Result<(u64, u64), Error> {
        let parts = commas(rest);
        let [address, count] = match parts.as_slice() {
            [address] if !address.is_empty() => [*address, "64"],
            [address, count] => [*address, *count],
            _ => return Err(format!("expected ADDRESS,BYTES, as `{what} 0x0,64`").into()),
        };
        let number = |text: &str| -> Result<u64, Error> {
            let value = self.session.eval(text)?;
            value.as_count().ok_or_else(|| {
                format!("`{text}` is {value}; expected a number that is not negative").into()
            })
        };
        Ok((number(address)?, number(count)?))
    }

    fn dump_lds(&mut self, rest: &str) -> Result<Output, Error> {
        let (id, _) = self.session.current()?;
        let (address, bytes) = self.range(rest, "lds")?;
        let location = ValueLocation::Lds {
            workgroup: id.workgroup,
            address,
            bytes,
        };
        let data = self.session.read(location)?;
        Ok(show::hexdump(address, &data).into())
    }

    fn dump_memory(&mut self, rest: &str) -> Result<Output, Error> {
        let (address, bytes) = self.range(rest, "mem")?;
        let data = self
            .session
            .read(ValueLocation::Memory { address, bytes })?;
        Ok(show::hexdump(address, &data).into())
    }

    /// `x/8i ADDRESS`.
    fn examine(&mut self, rest: &str) -> Result<Output, Error> {
        let (count, unit, address) = match rest.strip_prefix('/') {
            Some(rest) => {
                let digits = rest
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(rest.len());
                let (count, rest) = rest.split_at(digits);
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                let (unit, address) = rest.split_at(end);
                (count.parse().unwrap_or(1u64), unit, address.trim())
            }
            None => (8, "i", rest),
        };
        let count = count.clamp(1, 4096);
        match unit {
            "i" | "" => {
                let from = match address {
                    "" => {
                        let pc = self.session.current()?.1.pc;
                        self.session.selected_pc().unwrap_or(pc)
                    }
                    text => self.code_address(text)?,
                };
                Ok(show::disassembly(&self.session, from, count as usize).into())
            }
            "w" | "x" | "f" => {
                if address.is_empty() {
                    return Err("expected an address, as `x/4w 0x100000000`".into());
                }
                let value = self.session.eval(address)?;
                let address = value
                    .as_count()
                    .ok_or_else(|| format!("{value} is no address"))?;
                let bytes = 4 * count;
                let data = self
                    .session
                    .read(ValueLocation::Memory { address, bytes })?;
                match unit {
                    "f" => Ok(show::floats(address, &data).into()),
                    _ => Ok(show::hexdump(address, &data).into()),
                }
            }
            _ => Err(format!("`x{rest}`: expected i, w or f, as x/8i").into()),
        }
    }

    /// The guest address of a location, or of an expression such as `pc + 8`.
    fn code_address(&self, text: &str) -> Result<u64, Error> {
        let near = self.session.selected_pc();
        let near = near.unwrap_or(self.session.entry());
        match self.session.code().locate(text, near) {
            Ok(location) => Ok(location.addresses[0]),
            Err(why) => match self.session.eval(text).ok().and_then(|v| v.as_count()) {
                Some(address) => Ok(address),
                None => Err(why.into()),
            },
        }
    }

    fn set(&mut self, rest: &str) -> Result<Output, Error> {
        let assignment = rest.char_indices().find(|&(at, c)| {
            let near = |n: usize| rest.as_bytes().get(n).copied();
            let before = at.checked_sub(1).and_then(near);
            c == '='
                && near(at + 1) != Some(b'=')
                && !matches!(before, Some(b'=' | b'!' | b'<' | b'>'))
        });
        let Some((at, _)) = assignment else {
            return Err("expected WHAT = EXPR, as `set v3[17] = 1.5f`".into());
        };
        let (what, value) = (rest[..at].trim(), rest[at + 1..].trim());
        let wave = self.session.selected();
        let expr = self.session.expr(what)?;
        let (location, ty) = self.session.location_of(&expr, wave)?;
        let value = self.session.eval(value)?;
        let bits = value.stored_as(ty)?;
        let size = match ty {
            Ty::Integer => 1,
            ty => ty.bytes(),
        };
        let one = &bits.to_le_bytes()[..size];
        let bytes = match location {
            ValueLocation::Vgpr { lane: None, .. } => one.repeat(64),
            _ => one.to_vec(),
        };
        let ahead = self.session.has_future();
        self.session.write(location, &bytes)?;
        Ok(new_history(ahead).to_owned().into())
    }

    /// A location: `v3[17]`, `s4`, `exec`, `*(u32*)A`, `lds A[,N]`, `mem A[,N]`, or an address: a byte of memory.
    fn location(&self, text: &str) -> Result<ValueLocation, Error> {
        let text = text.trim();
        if text.is_empty() {
            return Err("expected a register, as v3[17] or s4, or memory, as 0x100000000, mem A,N or lds A,N".into());
        }
        let ranged = |rest: &str, what: &str| {
            let rest = match commas(rest).len() {
                1 => format!("{rest},1"),
                _ => rest.to_owned(),
            };
            self.range(&rest, what)
        };
        if let Some(rest) = text.strip_prefix("lds ") {
            let (address, bytes) = ranged(rest, "lds")?;
            let workgroup = self.session.current()?.0.workgroup;
            return Ok(ValueLocation::Lds {
                workgroup,
                address,
                bytes,
            });
        }
        if let Some(rest) = text.strip_prefix("mem ") {
            let (address, bytes) = ranged(rest, "mem")?;
            return Ok(ValueLocation::Memory { address, bytes });
        }
        let expr = self.session.expr(text)?;
        match self.session.location_of(&expr, self.session.selected()) {
            Ok((location, _)) => Ok(location),
            // A number is the address of a byte.
            Err(why) => match self.session.eval(text) {
                Ok(value) if value.ty == Ty::Integer && value.as_count().is_some() => {
                    Ok(ValueLocation::Memory {
                        address: value.as_count().unwrap_or(0),
                        bytes: 1,
                    })
                }
                _ => Err(why),
            },
        }
    }

    fn who(&mut self, rest: &str) -> Result<Output, Error> {
        let rest = rest.strip_prefix("wrote ").unwrap_or(rest);
        let location = self.location(rest)?;
        self.asked = Some(location);
        let writer = self.session.who(location)?;
        Ok(show::writer(&self.session, &location, writer.as_ref()).into())
    }

    fn back(&mut self, rest: &str) -> Result<Output, Error> {
        let location = match (rest, self.asked) {
            ("", Some(location)) => location,
            ("", None) => {
                return Err("expected what was written, as `back v3[17]`; without it, `back` takes what `who` was asked last".into());
            }
            (rest, _) => self.location(rest)?,
        };
        self.asked = Some(location);
        let writer = self.session.back(location)?;
        let mut text = show::writer(&self.session, &location, writer.as_ref());
        if writer.is_some() {
            text.push_str(&show::here(&self.session));
        }
        Ok(text.into())
    }

    /// Steps the wave, and shows the values that each instruction wrote.
    fn trace(&mut self, rest: &str) -> Result<Output, Error> {
        let count = match rest {
            "" => 10,
            text => {
                let value = self.session.eval(text)?;
                let count = value.as_count();
                count.ok_or_else(|| format!("`{text}` is no number of instructions"))?
            }
        };
        let mut text = String::new();
        for _ in 0..count {
            let before = match self.session.current() {
                Ok((id, state)) => (id, state.pc, state.exec()),
                Err(_) => break,
            };
            let stop = self.session.step(Unit::Instruction)?;
            text.push_str(&show::traced(&self.session, before));
            if stop.reason != Reason::Step {
                text.push_str(&self.stopped(&stop)?.text);
                break;
            }
        }
        Ok(text.into())
    }

    fn info(&mut self, rest: &str) -> Result<Output, Error> {
        let all = ["breakpoints", "buffers", "launch", "history"];
        let fits = |name: &&&str| !rest.is_empty() && name.starts_with(rest);
        match all.iter().find(fits).copied() {
            Some("breakpoints") => Ok(show::all_stops(&self.session).into()),
            Some("buffers") => Ok(show::buffers(&self.session).into()),
            Some("launch") => Ok(show::launch(&self.session).into()),
            Some(_) => Ok(show::history(&self.session).into()),
            None => Err(format!("`info {rest}`: expected {}", all.join(", ")).into()),
        }
    }

    /// Words that may follow the beginning of a command line, for completion: the position at which they begin, and the words.
    pub fn complete(&self, line: &str) -> (usize, Vec<String>) {
        let start = line
            .rfind(|c: char| c.is_whitespace() || c == '(')
            .map_or(0, |at| at + 1);
        let word = &line[start..];
        let mut out: Vec<String> = Vec::new();
        let mut offer = |name: &str| {
            if name.starts_with(word) && !out.iter().any(|o| o == name) {
                out.push(name.to_owned());
            }
        };
        if line[..start].trim().is_empty() {
            COMMANDS.iter().for_each(|c| offer(c.name));
            return (0, out);
        }
        let first = line.split_whitespace().next().unwrap_or("");
        match help::find(first).map(|c| c.name) {
            Ok("help") => COMMANDS.iter().for_each(|c| offer(c.name)),
            Ok("info") => ["breakpoints", "buffers", "launch", "history"]
                .into_iter()
                .for_each(offer),
            Ok("break" | "until" | "x" | "list") => {
                self.session.code().names().for_each(&mut offer);
                ["if", "wave", "workgroup"].into_iter().for_each(offer);
            }
            _ => [
                "exec",
                "vcc",
                "scc",
                "m0",
                "pc",
                "mem32(",
                "lds32(",
                "f32(",
                "if",
                "wave",
                "workgroup",
            ]
            .into_iter()
            .for_each(offer),
        }
        (start, out)
    }

    /// Returns true if an instruction is next.
    pub fn runs(&self) -> bool {
        self.session.status() == Status::Running
    }
}

/// The position in a line of an expression's text, if an error is about a column of it.
fn rest_offset(line: &str, error: &Error) -> Option<usize> {
    error.at?;
    let starts = |word: &str| split_word(line, word).map(|(_, rest)| line.len() - rest.len());
    let first = line.find(char::is_whitespace)?;
    let first = first + line[first..].len() - line[first..].trim_start().len();
    Some(starts("if").unwrap_or(first))
}
