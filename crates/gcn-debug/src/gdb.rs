//! GDB's remote protocol: a session as a target of GDB, waves as threads.
//!
//! GDB sends packets and keeps its own state; this module answers from the session. Addresses are guest addresses. A wave is a
//! thread, whose number is fixed while the client is connected. If no wave is running, at the end of the launches, one thread
//! stands for all, because GDB requires one.
//!
//! Beside GDB's own packets there are two for the script that `gcn debug --gdb-script` prints: `qgcn.insn:ADDRESS` returns the
//! length of an instruction and its text, `qgcn.thread` the thread of the selected wave.

mod packet;
mod registers;

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

use gcn_emu::mem::PAGE_SIZE;

use crate::commands::{Commands, stop_text};
use crate::interrupts::Interrupts;
use crate::motion::{Reason, Scope, Stop, Unit};
use crate::session::{Error, Session, WaveId};
use crate::state::{ValueLocation, WaveView};
use crate::threads::{NOBODY, Threads};
use packet::{Event, MOST, hex, packet, unhex};
use registers::Registers;

/// The script for GDB's Python: disassembly, the command `gcn`, and functions.
pub const SCRIPT: &str = include_str!("gdb/gcn.py");

/// The way in which a client disconnected.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Left(Left),
    /// Without a packet that says so; with the error, if there was one.
    Gone(Option<String>),
}

/// The state after a client has disconnected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The debugged program is to end.
    Killed,
    /// The debugged program continues without a debugger.
    Detached,
    /// The program has ended.
    Ended,
}

/// Serves GDB until it kills the program or detaches from it. `address` is `[HOST:]PORT`, on which it waits for clients, or `-`:
/// standard input and output. `interrupt` is the session's own flag. `say` receives lines for the user.
///
/// # Errors
/// A message: the address cannot be listened to, the client of `-` has disconnected, or the launches failed after it detached.
pub fn serve(
    mut commands: Commands,
    interrupt: &Arc<AtomicBool>,
    address: &str,
    say: &dyn Fn(&str),
) -> Result<(), Error> {
    if address == "-" {
        let mut threads = Threads::default();
        // Standard output belongs to the client.
        commands.session().machine.set_output(io::stderr());
        let link = Link {
            input: Box::new(io::stdin()),
            output: Box::new(io::stdout()),
        };
        return match attend(&mut commands, &mut threads, link, interrupt, say).0 {
            End::Left(Left::Detached) => run_on(&mut commands, say),
            End::Left(_) => Ok(()),
            End::Gone(why) => Err(format!(
                "GDB has hung up{}; the launches did not run to their end",
                why.map_or(String::new(), |why| format!(": {why}"))
            )
            .into()),
        };
    }
    let listener = listen(address)?;
    match serve_at(&mut commands, &listener, interrupt, say)? {
        Left::Detached => run_on(&mut commands, say),
        Left::Killed | Left::Ended => Ok(()),
    }
}

/// Serves GDB at a port until a client kills or detaches.
///
/// # Errors
/// A message: no client can connect.
pub fn serve_at(
    commands: &mut Commands,
    listener: &TcpListener,
    interrupt: &Arc<AtomicBool>,
    say: &dyn Fn(&str),
) -> Result<Left, Error> {
    let mut threads = Threads::default();
    let own = listener.local_addr().map_err(|e| e.to_string())?;
    say(&format!("waiting for GDB: target remote {own}"));
    loop {
        let (stream, peer) = listener
            .accept()
            .map_err(|e| format!("{own}: no client can connect: {e}"))?;
        say(&format!("GDB is connected from {peer}"));
        match over(commands, &mut threads, &stream, interrupt, say) {
            End::Left(left) => return Ok(left),
            End::Gone(why) => {
                let why = why.map_or(String::new(), |why| format!(" ({why})"));
                say(&format!(
                    "GDB has hung up{why}; the session stays where it is, and waits again: target remote {own}"
                ));
            }
        }
    }
}

/// Opens a port for GDB: `[HOST:]PORT`.
///
/// # Errors
/// A message: the address is invalid, or another program uses the port.
pub fn listen(address: &str) -> Result<TcpListener, Error> {
    let (host, port) = address.rsplit_once(':').unwrap_or(("127.0.0.1", address));
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let host = if host.is_empty() { "127.0.0.1" } else { host };
    let port: u16 = port.parse().map_err(|_| {
        format!(
            "`{address}`: expected [HOST:]PORT, as 1234 or 127.0.0.1:1234, or `-` for standard input and output"
        )
    })?;
    TcpListener::bind((host, port)).map_err(|e| {
        let more = match e.kind() {
            io::ErrorKind::AddrInUse => {
                "another program uses the port; take another one, or 0 for any that is free".into()
            }
            _ => e.to_string(),
        };
        format!("{host}:{port}: {more}").into()
    })
}

/// Serves a client of a port.
fn over(
    commands: &mut Commands,
    threads: &mut Threads,
    stream: &TcpStream,
    interrupt: &Arc<AtomicBool>,
    say: &dyn Fn(&str),
) -> End {
    // Packets are small, and each waits for the other side.
    let _ = stream.set_nodelay(true);
    let both = stream
        .try_clone()
        .and_then(|a| Ok((a, stream.try_clone()?)));
    let (input, output) = match both {
        Ok(both) => both,
        Err(e) => return End::Gone(Some(e.to_string())),
    };
    let link = Link {
        input: Box::new(input),
        output: Box::new(output),
    };
    let (end, reader) = attend(commands, threads, link, interrupt, say);
    // This ends the thread that reads.
    let _ = stream.shutdown(std::net::Shutdown::Both);
    let _ = reader.join();
    end
}

/// Runs to the end without stops, as a program does after a debugger has detached.
fn run_on(commands: &mut Commands, say: &dyn Fn(&str)) -> Result<(), Error> {
    say("GDB has detached; the launches run on to their end");
    commands.execute("delete")?;
    loop {
        let stop = commands.session_mut().resume()?;
        match stop.reason {
            Reason::Ended => {
                let text = commands.stopped(&stop)?.text;
                say(text.trim_end());
                return Ok(());
            }
            Reason::Failed(report) => return Err(report.into()),
            _ => {}
        }
    }
}

/// A client's two directions.
struct Link {
    input: Box<dyn Read + Send>,
    output: Box<dyn Write>,
}

/// Serves a client until it disconnects.
fn attend(
    commands: &mut Commands,
    threads: &mut Threads,
    link: Link,
    interrupt: &Arc<AtomicBool>,
    say: &dyn Fn(&str),
) -> (End, JoinHandle<()>) {
    let (send, events) = channel();
    // An earlier client may have left the flag set.
    interrupt.store(false, Ordering::SeqCst);
    let interrupts = Interrupts::new(interrupt);
    let raised = interrupts.clone();
    let input = link.input;
    let reader = std::thread::spawn(move || packet::listen(input, &send, &raised));
    let registers = Registers::of(commands.session().target());
    let mut client = Client {
        commands,
        threads,
        registers,
        output: link.output,
        last: Vec::new(),
        acknowledges: true,
        swbreak: false,
        hwbreak: false,
        general: NOBODY,
        steps: None,
        set: Vec::new(),
        scripted: false,
        reply: String::new(),
        say,
    };
    client.general = client.selected();
    client.reply = format!("T05thread:{:x};", client.general);
    let end = client.serve(&events, &interrupts);
    for set in std::mem::take(&mut client.set) {
        let _ = commands.session_mut().delete(set.id);
    }
    let end = end.unwrap_or_else(|e| End::Gone(Some(e.to_string())));
    (end, reader)
}

/// A breakpoint or a watchpoint that GDB has set.
struct Set {
    id: u32,
    kind: u8,
    address: u64,
    bytes: u64,
}

/// The result of a packet.
enum Answer {
    /// A reply of plain text.
    Text(String),
    /// A reply of any bytes.
    Bytes(Vec<u8>),
    /// The client leaves, perhaps with a reply.
    End(Option<&'static str>, End),
}

impl From<String> for Answer {
    fn from(text: String) -> Answer {
        Answer::Text(text)
    }
}

impl From<&str> for Answer {
    fn from(text: &str) -> Answer {
        Answer::Text(text.into())
    }
}

struct Client<'a> {
    commands: &'a mut Commands,
    threads: &'a mut Threads,
    registers: Registers,
    output: Box<dyn Write>,
    /// The last packet that was sent.
    last: Vec<u8>,
    acknowledges: bool,
    /// The client knows these reasons of a stop.
    swbreak: bool,
    hwbreak: bool,
    /// The thread that registers and memory are asked for.
    general: u32,
    /// The thread that steps, if the packet does not say.
    steps: Option<u32>,
    set: Vec<Set>,
    /// The client has the script, which queries the session's location.
    scripted: bool,
    /// The last stop.
    reply: String,
    say: &'a dyn Fn(&str),
}

/// Text that is allowed in a packet that is not binary.
fn plain(text: &str) -> String {
    text.replace(['#', '$', '}', '*', '\n'], " ")
}

fn number(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

/// Reads `ADDRESS,LENGTH`.
fn range(text: &str) -> Option<(u64, u64)> {
    let (address, bytes) = text.split_once(',')?;
    Some((number(address)?, number(bytes)?))
}

impl Client<'_> {
    fn session(&self) -> &Session {
        self.commands.session()
    }

    fn send(&mut self, contents: &[u8]) -> io::Result<()> {
        self.last = packet(contents);
        self.output.write_all(&self.last)?;
        self.output.flush()
    }

    /// Prints text on GDB's side, while it waits for an answer.
    fn print(&mut self, text: &str) -> io::Result<()> {
        for piece in text.as_bytes().chunks(8192) {
            self.send(format!("O{}", hex(piece)).as_bytes())?;
        }
        Ok(())
    }

    fn serve(&mut self, events: &Receiver<Event>, interrupts: &Interrupts) -> io::Result<End> {
        loop {
            // A reader that ended without a message has panicked, which looks the same as a client that has disconnected.
            let event = events.recv().unwrap_or(Event::Closed(None));
            match event {
                Event::Packet(packet) => {
                    if self.acknowledges {
                        self.output.write_all(b"+")?;
                    }
                    match self.answer(&packet)? {
                        Answer::Text(text) => self.send(text.as_bytes())?,
                        Answer::Bytes(bytes) => self.send(&bytes)?,
                        Answer::End(reply, end) => {
                            if let Some(reply) = reply {
                                // The client may not wait for it.
                                let _ = self.send(reply.as_bytes());
                            }
                            return Ok(end);
                        }
                    }
                }
                Event::Malformed(what) => {
                    (self.say)(&format!("GDB has sent {what}"));
                    if self.acknowledges {
                        self.output.write_all(b"-")?;
                        self.output.flush()?;
                    }
                }
                Event::Again => {
                    self.output.write_all(&self.last)?;
                    self.output.flush()?;
                }
                // The motion that it interrupts has already stopped.
                Event::Interrupt => interrupts.arrived(),
                Event::Closed(why) => {
                    interrupts.arrived();
                    return Ok(End::Gone(why));
                }
            }
        }
    }

    fn answer(&mut self, packet: &[u8]) -> io::Result<Answer> {
        let Some((&kind, rest)) = packet.split_first() else {
            return Ok("".into());
        };
        if kind == b'X' {
            return Ok(self.write_binary(rest));
        }
        let Ok(rest) = std::str::from_utf8(rest) else {
            return Ok("E.the packet is no text".into());
        };
        let answer = match kind {
            b'?' => self.reply.clone().into(),
            b'q' => return self.query(rest),
            b'Q' if rest == "StartNoAckMode" => {
                self.acknowledges = false;
                "OK".into()
            }
            b'H' => self.choose(rest),
            b'T' => match number(rest).is_some_and(|n| self.alive(n as u32)) {
                true => "OK".into(),
                false => "E01".into(),
            },
            b'g' => self.read_scalars(),
            b'p' => self.read_register(rest),
            b'P' => self.write_register(rest),
            b'G' => self.write_scalars(rest),
            b'm' => self.read_memory(rest),
            b'M' => self.write_memory(rest),
            b'Z' => self.insert(rest),
            b'z' => self.remove(rest),
            b'c' | b'C' => return self.moved(|session| session.resume()),
            b's' | b'S' => return self.step(self.steps),
            b'b' if rest == "s" => {
                let wave = self.steps.and_then(|n| self.wave(n));
                return self.moved(|session| {
                    if let Some(wave) = wave {
                        session.select(wave)?;
                    }
                    session.reverse_step()
                });
            }
            b'b' if rest == "c" => return self.moved(|session| session.reverse_resume()),
            b'v' if rest == "Cont?" => "vCont;c;C;s;S".into(),
            b'v' if rest.starts_with("Cont;") => return self.resume(&rest[5..]),
            b'v' if rest.starts_with("Kill") => Answer::End(Some("OK"), End::Left(Left::Killed)),
            b'k' => Answer::End(None, End::Left(Left::Killed)),
            b'D' => Answer::End(Some("OK"), End::Left(Left::Detached)),
            // Unknown.
            _ => "".into(),
        };
        Ok(answer)
    }

    fn query(&mut self, rest: &str) -> io::Result<Answer> {
        let end = rest.find([':', ',', ';']).unwrap_or(rest.len());
        let (name, args) = (&rest[..end], rest.get(end + 1..).unwrap_or(""));
        Ok(match name {
            "Supported" => {
                let features: Vec<&str> = args.split(';').collect();
                self.swbreak = features.contains(&"swbreak+");
                self.hwbreak = features.contains(&"hwbreak+");
                format!(
                    "PacketSize={MOST:x};QStartNoAckMode+;qXfer:features:read+;qXfer:threads:read+;vContSupported+;\
                     swbreak+;hwbreak+;ReverseStep+;ReverseContinue+"
                )
                .into()
            }
            "Attached" => "0".into(),
            "C" => format!("QC{:x}", self.general).into(),
            "fThreadInfo" => {
                let numbers: Vec<String> = self
                    .threads()
                    .iter()
                    .map(|(n, _)| format!("{n:x}"))
                    .collect();
                format!("m{}", numbers.join(",")).into()
            }
            "sThreadInfo" => "l".into(),
            "ThreadExtraInfo" => {
                let text = number(args).map_or(String::new(), |n| self.about(n as u32).join(", "));
                hex(text.as_bytes()).into()
            }
            "Offsets" => {
                let session = self.session();
                let entry = session.entry();
                let base = entry.wrapping_sub(session.code().file_address(entry));
                format!("Text={base:x};Data={base:x};Bss={base:x}").into()
            }
            "Symbol" => "OK".into(),
            "Xfer" => self.transfer(args),
            "Rcmd" => return self.command(args),
            "gcn.insn" => self.instruction(args),
            "gcn.thread" => {
                self.scripted = true;
                format!("{:x}", self.selected()).into()
            }
            _ => "".into(),
        })
    }

    fn threads(&mut self) -> Vec<(u32, Option<WaveView>)> {
        self.threads.live(self.commands.session())
    }

    fn alive(&mut self, number: u32) -> bool {
        self.threads().iter().any(|(n, _)| *n == number)
    }

    fn wave(&self, number: u32) -> Option<WaveId> {
        self.threads.wave(self.session(), number)
    }

    fn selected(&mut self) -> u32 {
        self.threads.selected(self.commands.session())
    }

    fn about(&mut self, number: u32) -> [String; 2] {
        self.threads.about(self.commands.session(), number)
    }

    fn choose(&mut self, rest: &str) -> Answer {
        let Some((kind, thread)) = rest.split_at_checked(1) else {
            return "E01".into();
        };
        let thread = match thread {
            "0" | "-1" => None,
            text => match number(text) {
                Some(n) if self.alive(n as u32) => Some(n as u32),
                _ => return "E01".into(),
            },
        };
        if kind != "g" {
            self.steps = thread;
        } else if let Some(thread) = thread {
            if self.general != thread
                && let Some(wave) = self.wave(thread)
                && self.commands.session_mut().select(wave).is_err()
            {
                return "E01".into();
            }
            self.general = thread;
        }
        "OK".into()
    }

    fn read_scalars(&mut self) -> Answer {
        let wave = self.wave(self.general);
        let session = self.commands.session();
        let mut text = String::new();
        for register in self.registers.scalars() {
            match wave.map(|wave| register.read(session, wave, self.general)) {
                Some(Ok(bytes)) => text.push_str(&hex(&bytes)),
                // Without a wave there is no location; GDB still needs a PC.
                None => text.push_str(&"00".repeat(register.bytes)),
                Some(Err(_)) => text.push_str(&"xx".repeat(register.bytes)),
            }
        }
        text.into()
    }

    fn read_register(&mut self, rest: &str) -> Answer {
        let register = number(rest).and_then(|n| self.registers.get(n as usize));
        let Some(register) = register else {
            return "E01".into();
        };
        let wave = self.wave(self.general);
        match wave.map(|wave| register.read(self.session(), wave, self.general)) {
            Some(Ok(bytes)) => hex(&bytes).into(),
            _ => "xx".repeat(register.bytes).into(),
        }
    }

    fn write_register(&mut self, rest: &str) -> Answer {
        let Some((n, value)) = rest.split_once('=') else {
            return "E01".into();
        };
        let register = number(n).and_then(|n| self.registers.get(n as usize));
        let (Some(register), Some(bytes)) = (register, unhex(value.as_bytes())) else {
            return "E01".into();
        };
        let Some(wave) = self.wave(self.general) else {
            return "E.no wave is running".into();
        };
        let written = register.write(self.commands.session_mut(), wave, &bytes);
        done(written)
    }

    fn write_scalars(&mut self, rest: &str) -> Answer {
        let Some(bytes) = unhex(rest.as_bytes()) else {
            return "E01".into();
        };
        let Some(wave) = self.wave(self.general) else {
            return "E.no wave is running".into();
        };
        let mut at = 0;
        for register in self.registers.scalars() {
            let Some(new) = bytes.get(at..at + register.bytes) else {
                return "E.the packet has too few registers".into();
            };
            at += register.bytes;
            let session = self.commands.session_mut();
            if register
                .read(session, wave, self.general)
                .is_ok_and(|old| old == new)
            {
                continue;
            }
            if let Err(e) = register.write(session, wave, new) {
                return done(Err(e));
            }
        }
        "OK".into()
    }

    /// The location of an address: memory, or the LDS of the wave's workgroup by its flat address.
    fn location(&self, address: u64, bytes: u64) -> ValueLocation {
        let wave = self.wave(self.general);
        let state = wave.and_then(|wave| Some((wave, self.session().wave(wave)?)));
        match state {
            Some((wave, state)) if address >> 32 << 32 == state.shared_base() => {
                ValueLocation::Lds {
                    workgroup: wave.workgroup,
                    address: address & 0xffff_ffff,
                    bytes,
                }
            }
            _ => ValueLocation::Memory { address, bytes },
        }
    }

    /// The readable bytes of a range, from its beginning.
    fn bytes_at(&self, address: u64, bytes: u64) -> Vec<u8> {
        let session = self.session();
        let calls = self
            .wave(self.general)
            .map_or(0, |wave| self.session().frames(wave).len());
        let stack = registers::stack_of(address, self.general, calls);
        if let Some(wave) = stack.and_then(|n| self.wave(n)) {
            let frames = session.frames(wave);
            let each = (0..bytes).map(|n| {
                // If the wave is in few calls, the stack continues after the last address.
                let at = address.wrapping_add(n);
                let word = registers::stack(frames, at).to_le_bytes();
                word[at as usize % 8]
            });
            return each.collect();
        }
        if let Ok(all) = session.read(self.location(address, bytes)) {
            return all;
        }
        let mut out = Vec::new();
        let end = address.saturating_add(bytes);
        let mut at = address;
        while at < end {
            let next = end.min((at / PAGE_SIZE + 1).saturating_mul(PAGE_SIZE));
            let piece = match session.read(self.location(at, next - at)) {
                Ok(piece) => piece,
                // LDS may end within the range.
                Err(_) => {
                    let each = (at..next).map_while(|at| session.read(self.location(at, 1)).ok());
                    out.extend(each.flatten());
                    break;
                }
            };
            out.extend(piece);
            at = next;
        }
        out
    }

    fn read_memory(&self, rest: &str) -> Answer {
        let Some((address, bytes)) = range(rest) else {
            return "E01".into();
        };
        let found = self.bytes_at(address, bytes.min(MOST as u64 / 2 - 16));
        match found.is_empty() && bytes > 0 {
            true => "E01".into(),
            false => hex(&found).into(),
        }
    }

    fn write_memory(&mut self, rest: &str) -> Answer {
        let parts = rest.split_once(':');
        let parsed = parts.and_then(|(at, data)| Some((range(at)?, unhex(data.as_bytes())?)));
        match parsed {
            Some(((address, bytes), data)) if data.len() as u64 == bytes => {
                self.write(address, &data)
            }
            _ => "E.expected ADDRESS,LENGTH:DATA".into(),
        }
    }

    fn write_binary(&mut self, rest: &[u8]) -> Answer {
        let colon = rest.iter().position(|&byte| byte == b':');
        let parts = colon.map(|at| (&rest[..at], &rest[at + 1..]));
        let parsed =
            parts.and_then(|(at, data)| Some((range(std::str::from_utf8(at).ok()?)?, data)));
        match parsed {
            Some(((address, bytes), data)) if data.len() as u64 == bytes => {
                self.write(address, data)
            }
            _ => "E.expected ADDRESS,LENGTH:DATA".into(),
        }
    }

    fn write(&mut self, address: u64, data: &[u8]) -> Answer {
        if data.is_empty() {
            return "OK".into();
        }
        let location = self.location(address, data.len() as u64);
        done(self.commands.session_mut().write(location, data))
    }

    fn insert(&mut self, rest: &str) -> Answer {
        let parts: Vec<&str> = rest.split([',', ';']).collect();
        let [kind, address, bytes, ..] = parts.as_slice() else {
            return "E01".into();
        };
        let (Some(address), Some(bytes)) = (number(address), number(bytes)) else {
            return "E01".into();
        };
        let kind = kind.as_bytes().first().copied().unwrap_or(0);
        if self.position_of(kind, address, bytes).is_some() {
            return "OK".into();
        }
        let location = self.location(address, bytes);
        let session = self.commands.session_mut();
        let id = match kind {
            b'0' | b'1' => session.break_on(address, None).map(|b| b.id),
            b'2' => session.watch(location, false, None).map(|w| w.id),
            // Reads are not watched.
            _ => return "".into(),
        };
        match id {
            Ok(id) => {
                self.set.push(Set {
                    id,
                    kind,
                    address,
                    bytes,
                });
                "OK".into()
            }
            Err(e) => {
                (self.say)(&format!("GDB's breakpoint at {address:#x} is not set: {e}"));
                done(Err(e))
            }
        }
    }

    fn position_of(&self, kind: u8, address: u64, bytes: u64) -> Option<usize> {
        let is_it = |s: &Set| (s.kind, s.address, s.bytes) == (kind, address, bytes);
        self.set.iter().position(is_it)
    }

    fn remove(&mut self, rest: &str) -> Answer {
        let parts: Vec<&str> = rest.split([',', ';']).collect();
        let [kind, address, bytes, ..] = parts.as_slice() else {
            return "E01".into();
        };
        let kind = kind.as_bytes().first().copied().unwrap_or(0);
        if !matches!(kind, b'0'..=b'2') {
            return "".into();
        }
        let (Some(address), Some(bytes)) = (number(address), number(bytes)) else {
            return "E01".into();
        };
        if let Some(at) = self.position_of(kind, address, bytes) {
            let set = self.set.remove(at);
            return done(self.commands.session_mut().delete(set.id));
        }
        "OK".into()
    }

    /// `vCont`: the action of each thread. The first one that steps is stepped.
    fn resume(&mut self, actions: &str) -> io::Result<Answer> {
        let (mut step, mut only, mut all) = (None, None, false);
        for action in actions.split(';') {
            let (what, thread) = action.split_once(':').unwrap_or((action, "-1"));
            let thread = match thread {
                "-1" | "0" => None,
                text => match number(text) {
                    Some(n) => Some(n as u32),
                    None => return Ok("E.expected the number of a thread".into()),
                },
            };
            match what.as_bytes().first() {
                Some(b's' | b'S') => step = step.or(Some(thread)),
                Some(b'c' | b'C') => match thread {
                    Some(_) => only = thread,
                    None => all = true,
                },
                _ => return Ok("E.a thread can only step or continue".into()),
            }
        }
        match (step, only.and_then(|n| self.wave(n))) {
            (Some(thread), _) => self.step(thread.or(self.steps)),
            (None, Some(wave)) if !all => self.moved(|session| {
                session.select(wave)?;
                session.resume_scope(Scope::WaveAlone)
            }),
            _ => self.moved(|session| session.resume()),
        }
    }

    fn step(&mut self, thread: Option<u32>) -> io::Result<Answer> {
        let wave = thread.and_then(|n| self.wave(n));
        self.moved(|session| {
            if let Some(wave) = wave {
                session.select(wave)?;
            }
            session.step(Unit::Instruction)
        })
    }

    /// Performs a motion, and reports its stop.
    fn moved(
        &mut self,
        motion: impl FnOnce(&mut Session) -> Result<Stop, Error>,
    ) -> io::Result<Answer> {
        match motion(self.commands.session_mut()) {
            Ok(stop) => self.stopped(&stop),
            Err(e) => {
                self.print(&format!("{e}\n"))?;
                self.general = self.selected();
                self.reply = self.stop_reply(5, "");
                Ok(self.reply.clone().into())
            }
        }
    }

    fn stop_reply(&mut self, signal: u8, more: &str) -> String {
        let mut reply = format!("T{signal:02x}thread:{:x};{more}", self.general);
        if let Some(wave) = self.wave(self.general)
            && let Some(state) = self.session().wave(wave)
        {
            let pc = hex(&state.pc.to_le_bytes());
            reply.push_str(&format!("{:x}:{pc};", self.registers.pc));
        }
        reply
    }

    fn stopped(&mut self, stop: &Stop) -> io::Result<Answer> {
        let own = |id: u32| self.set.iter().find(|s| s.id == id);
        let mut text = None;
        let (signal, more) = match &stop.reason {
            Reason::Step => (5, String::new()),
            Reason::Breakpoint { id, error } => match own(*id).map(|s| s.kind) {
                Some(b'0') if self.swbreak => (5, "swbreak:;".into()),
                Some(b'1') if self.hwbreak => (5, "hwbreak:;".into()),
                Some(_) => (5, String::new()),
                // GDB would take an unknown breakpoint for one that it has just deleted, so no reason is sent.
                None => {
                    let head = format!("breakpoint {id} of monitor");
                    text = Some(match error {
                        Some(error) => format!("{head}: its condition has no value: {error}\n"),
                        None => format!("{head}\n"),
                    });
                    (5, String::new())
                }
            },
            Reason::Report(report) => {
                text = Some(report.clone());
                (5, String::new())
            }
            Reason::Watchpoint { id, .. } => match own(*id) {
                Some(set) => (5, format!("watch:{:x};", set.address)),
                None => {
                    text = Some(stop_text(self.commands.session(), stop));
                    (5, String::new())
                }
            },
            Reason::WaveEnded(_) | Reason::Waits(..) => {
                let told = stop_text(self.commands.session(), stop);
                text = told.lines().next().map(|line| format!("{line}\n"));
                (5, String::new())
            }
            // The exit status is not known yet.
            Reason::Ended if self.session().is_attached() => {
                return Ok(Answer::End(Some("W00"), End::Left(Left::Ended)));
            }
            Reason::Ended => {
                text = Some(match self.commands.stopped(stop) {
                    Ok(output) => output.text,
                    Err(e) => format!("the last launch has ended\n{e}\n"),
                });
                (5, "replaylog:end;".into())
            }
            Reason::Failed(report) => {
                text = Some(format!("{}\n", report.trim_end()));
                (11, String::new())
            }
            Reason::Start => (5, "replaylog:begin;".into()),
            Reason::Interrupted => (2, String::new()),
        };
        if let Some(text) = text {
            self.print(&text)?;
        }
        self.general = self.selected();
        self.reply = self.stop_reply(signal, &more);
        Ok(self.reply.clone().into())
    }

    /// `monitor COMMAND`.
    fn command(&mut self, digits: &str) -> io::Result<Answer> {
        let line = unhex(digits.as_bytes()).and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(line) = line else {
            return Ok("E01".into());
        };
        let before = (self.session().now(), self.session().selected());
        let (text, answer) = match self.commands.execute(&line) {
            Ok(output) if output.quit => (
                "GDB's own commands end the session: `kill`, or `detach`, after which what it debugs runs to its end\n".into(),
                "OK",
            ),
            Ok(output) => (output.text, "OK"),
            Err(e) => (format!("error: {e}\n"), "E01"),
        };
        self.print(&text)?;
        let moved = self.session().now() != before.0;
        if moved && !self.scripted {
            self.print(
                "note: the session has moved; `maintenance flush register-cache` shows it to GDB\n",
            )?;
        }
        Ok(answer.into())
    }

    /// `features:read:target.xml:OFFSET,LENGTH`, or `threads:read::OFFSET,LENGTH`.
    fn transfer(&mut self, args: &str) -> Answer {
        let parts: Vec<&str> = args.split(':').collect();
        let document = match parts.as_slice() {
            ["features", "read", "target.xml", _] => self.registers.description(),
            ["threads", "read", "", _] => self.thread_list(),
            _ => return "E00".into(),
        };
        let Some((offset, bytes)) = parts.last().and_then(|text| range(text)) else {
            return "E01".into();
        };
        let data = document.as_bytes();
        let start = data.len().min(offset as usize);
        let end = start
            .saturating_add(bytes.min(MOST as u64 / 2) as usize)
            .min(data.len());
        let mut out = vec![if end == data.len() { b'l' } else { b'm' }];
        out.extend(&data[start..end]);
        Answer::Bytes(out)
    }

    fn thread_list(&mut self) -> String {
        let mut text = String::from("<?xml version=\"1.0\"?>\n<threads>\n");
        let numbers: Vec<u32> = self.threads().iter().map(|(n, _)| *n).collect();
        for number in numbers {
            let [name, location] = self.about(number).map(|text| {
                let text = text.replace('&', "&amp;").replace('<', "&lt;");
                text.replace('>', "&gt;").replace('"', "&quot;")
            });
            text.push_str(&format!(
                "<thread id=\"{number:x}\" name=\"{name}\">{location}</thread>\n"
            ));
        }
        text.push_str("</threads>\n");
        text
    }

    /// The length of an instruction and its text.
    fn instruction(&self, args: &str) -> Answer {
        let Some(address) = number(args) else {
            return "E01".into();
        };
        let session = self.session();
        if !session.code().is_code(address) {
            return "E01".into();
        }
        let found = session.code().decode(address, session.memory());
        let length = found.map_or(4, |info| info.insn.len);
        let text = session.code().listed(address, session.memory());
        plain(&format!("{length} {text}")).into()
    }
}

/// The reply to a command without output.
fn done(result: Result<(), Error>) -> Answer {
    match result {
        Ok(()) => "OK".into(),
        Err(e) => format!("E.{}", plain(&e.message)).into(),
    }
}
