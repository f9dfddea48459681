//! The Debug Adapter Protocol of editors, over a session: waves are threads.
//!
//! Requests are answered one after the other. A motion ends before the next request is read, unless the request interrupts
//! motions. Requests that set breakpoints interrupt `continue`, which then goes on. Frames and references of variables are valid
//! until the next motion.
//! set breakpoints interrupt `continue`, which then goes on. Frames and references of variables are valid until the next motion.

mod breakpoints;
mod message;
mod show;

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::commands::Commands;
use crate::interrupts::Interrupts;
use crate::motion::{Reason, Scope, Stop, Unit};
use crate::session::{Error, Session, Status, WaveId};
use crate::threads::{NOBODY, Threads};
use message::Event;

/// Opens the session of a launch configuration: the words of a command line as `gcn run` takes it.
pub type Open<'a> = dyn FnMut(&[String]) -> Result<Commands, String> + 'a;

/// Serves an editor until it disconnects. `given` is the session of the command line, if there is one; `interrupt` is the flag of
/// all sessions.
///
/// # Errors
/// A message: the editor has disconnected without a request, or a message cannot be read.
pub fn serve(
    given: Option<Commands>,
    open: &mut Open<'_>,
    interrupt: &Arc<AtomicBool>,
    input: impl Read + Send + 'static,
    output: impl Write,
) -> Result<(), Error> {
    let (send, events) = channel();
    let interrupts = Interrupts::new(interrupt);
    let continuing = Arc::new(AtomicBool::new(false));
    let (raised, going) = (interrupts.clone(), continuing.clone());
    std::thread::spawn(move || message::listen(input, &send, &raised, &going));
    let mut editor = Editor {
        commands: given,
        open,
        output,
        events,
        interrupts,
        continuing,
        seq: 0,
        threads: Threads::default(),
        frames: Vec::new(),
        groups: Vec::new(),
        sources: Default::default(),
        others: Default::default(),
        first_line: 1,
        stop_on_entry: false,
        going: false,
        report: None,
        printed: Printed::default(),
    };
    if let Some(commands) = &editor.commands {
        let printed = editor.printed.clone();
        commands.session().machine.set_output(printed);
    }
    editor.serve()
}

/// A motion that an editor requests.
#[derive(Clone, Copy)]
enum Motion {
    Continue(Scope),
    Step(Unit),
    Back(Unit),
    /// An instruction of a wave that has ended.
    BackOf(WaveId),
    BackAll,
}

/// The action after a request was answered.
enum Then {
    Nothing,
    Move(Motion),
    /// The plan begins, or begins again.
    Begin,
    /// An event without a body.
    Tell(&'static str),
    /// The session has moved by a command of the user.
    Moved,
    End,
}

/// The body of an answer, and the action after it.
type Answer = Result<(Value, Then), Error>;

struct Editor<'a, W> {
    commands: Option<Commands>,
    open: &'a mut Open<'a>,
    output: W,
    events: Receiver<Event>,
    interrupts: Interrupts,
    continuing: Arc<AtomicBool>,
    seq: u64,
    threads: Threads,
    /// The wave and guest address of each frame.
    frames: Vec<(u32, u64)>,
    /// The meaning of each reference of variables, counted from 1.
    groups: Vec<show::Group>,
    /// The breakpoints of each source file, and of functions, instructions and data.
    sources: std::collections::HashMap<String, Vec<u32>>,
    others: std::collections::HashMap<&'static str, Vec<u32>>,
    first_line: u64,
    stop_on_entry: bool,
    /// `continue` was interrupted by a request, and goes on.
    going: bool,
    /// The report of a failure.
    report: Option<String>,
    /// Text that kernels have printed and that has not been sent to the editor.
    printed: Printed,
}

/// The text that kernels print: standard output belongs to the editor.
#[derive(Clone, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl Printed {
    fn take(&self) -> String {
        let mut bytes = self.0.lock().unwrap_or_else(|e| e.into_inner());
        let text = String::from_utf8_lossy(&bytes).into_owned();
        bytes.clear();
        text
    }
}

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut all = self.0.lock().unwrap_or_else(|e| e.into_inner());
        all.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn done() -> Answer {
    Ok((json!({}), Then::Nothing))
}

impl<W: Write> Editor<'_, W> {
    fn send(&mut self, mut message: Value) -> Result<(), Error> {
        self.seq += 1;
        message["seq"] = self.seq.into();
        let text = message.to_string();
        let written = write!(self.output, "Content-Length: {}\r\n\r\n{text}", text.len());
        let flushed = written.and_then(|()| self.output.flush());
        flushed.map_err(|e: io::Error| format!("the editor cannot be reached: {e}").into())
    }

    fn tell(&mut self, event: &str, body: Value) -> Result<(), Error> {
        self.send(json!({"type": "event", "event": event, "body": body}))
    }

    fn print(&mut self, category: &str, text: &str) -> Result<(), Error> {
        self.tell("output", json!({"category": category, "output": text}))
    }

    fn serve(&mut self) -> Result<(), Error> {
        loop {
            let message = match self.events.recv() {
                Ok(Event::Message(message, urgent)) => {
                    if urgent {
                        self.interrupts.arrived();
                    }
                    message
                }
                Ok(Event::Malformed(why)) => return Err(why.into()),
                Ok(Event::Closed) | Err(_) => {
                    return Err("the editor has left; the launches did not run to their end".into());
                }
            };
            if message["type"] != "request" {
                continue;
            }
            let command = message["command"].as_str().unwrap_or("").to_owned();
            let pausing = command == "pause";
            let answer = self.answer(&command, &message["arguments"]);
            let mut reply = json!({
                "type": "response",
                "request_seq": message["seq"],
                "command": command,
                "success": answer.is_ok(),
            });
            let then = match answer {
                Ok((body, then)) => {
                    reply["body"] = body;
                    then
                }
                Err(e) => {
                    reply["message"] = e.message.clone().into();
                    reply["body"] = json!({"error": {
                        "id": 1, "format": e.to_string().replace(['{', '}'], ""), "showUser": true,
                    }});
                    Then::Nothing
                }
            };
            self.send(reply)?;
            match then {
                Then::Nothing => {}
                Then::Tell(event) => self.tell(event, json!({}))?,
                Then::Move(motion) => self.go(motion)?,
                Then::Begin => self.begin()?,
                Then::Moved => {
                    self.going = false;
                    self.stopped("goto", "moved by a command", None)?;
                }
                Then::End => return Ok(()),
            }
            if std::mem::take(&mut self.going) {
                match pausing {
                    true => self.stopped("pause", "interrupted", None)?,
                    false => self.go(Motion::Continue(Scope::All))?,
                }
            }
        }
    }

    fn commands(&mut self) -> Result<&mut Commands, Error> {
        let none = "no program is launched";
        self.commands.as_mut().ok_or_else(|| none.into())
    }

    fn session(&mut self) -> Result<&mut Session, Error> {
        Ok(self.commands()?.session_mut())
    }

    fn begin(&mut self) -> Result<(), Error> {
        match self.stop_on_entry {
            true => self.stopped("entry", "the beginning", None),
            false => self.go(Motion::Continue(Scope::All)),
        }
    }

    /// Performs a motion and reports its stop.
    fn go(&mut self, motion: Motion) -> Result<(), Error> {
        self.frames.clear();
        self.groups.clear();
        let goes_on = matches!(motion, Motion::Continue(Scope::All));
        self.continuing.store(goes_on, SeqCst);
        self.report = None;
        let session = self.session()?;
        let stop = match motion {
            Motion::Continue(scope) => session.resume_scope(scope),
            Motion::Step(unit) => session.step(unit),
            Motion::Back(unit) => session.reverse(unit),
            Motion::BackOf(wave) => session.reverse_of(wave, Unit::Instruction),
            Motion::BackAll => session.reverse_resume(),
        };
        self.continuing.store(false, SeqCst);
        let printed = self.printed.take();
        if !printed.is_empty() {
            self.print("stdout", &printed)?;
        }
        match stop {
            Ok(stop) if goes_on && stop.reason == Reason::Interrupted => {
                // The interrupting request determines whether the motion goes on. The next instruction may have a breakpoint,
                // which has not stopped.
                self.session()?.fresh = true;
                self.going = true;
                Ok(())
            }
            Ok(stop) => self.report_stop(&stop),
            Err(e) => {
                self.print("stderr", &format!("{e}\n"))?;
                self.stopped("step", "the motion could not be done", None)
            }
        }
    }

    fn report_stop(&mut self, stop: &Stop) -> Result<(), Error> {
        let breakpoint = |id: &u32| Some(*id);
        let (reason, text, id) = match &stop.reason {
            Reason::Step => ("step", String::new(), None),
            Reason::Breakpoint { id, error } => {
                let text = match error {
                    Some(error) => format!("the condition has no value: {error}"),
                    None => String::new(),
                };
                ("breakpoint", text, breakpoint(id))
            }
            Reason::Report(report) => {
                self.print("stderr", report)?;
                self.report = Some(report.clone());
                let first = report.lines().next().unwrap_or("");
                ("exception", first.to_owned(), None)
            }
            Reason::Watchpoint { id, .. } => {
                let text = crate::commands::stop_text(self.session()?, stop);
                self.print("console", &text)?;
                ("data breakpoint", text, breakpoint(id))
            }
            Reason::WaveEnded(wave) => ("step", format!("{wave} has ended"), None),
            Reason::Waits(_, why) => ("pause", why.clone(), None),
            Reason::Ended => {
                let text = match self.commands()?.stopped(stop) {
                    Ok(output) => output.text,
                    Err(e) => format!("the last launch has ended\n{e}\n"),
                };
                self.print("console", &text)?;
                ("pause", "the last launch has ended".into(), None)
            }
            Reason::Failed(report) => {
                self.print("stderr", &format!("{}\n", report.trim_end()))?;
                self.report = Some(report.clone());
                let first = report.lines().next().unwrap_or("");
                ("exception", first.to_owned(), None)
            }
            Reason::Start => ("entry", "the beginning of the history".into(), None),
            Reason::Interrupted => ("pause", "interrupted".into(), None),
        };
        self.stopped(reason, &text, id)
    }

    fn stopped(&mut self, reason: &str, text: &str, id: Option<u32>) -> Result<(), Error> {
        let thread = self.selected()?;
        let mut body = json!({"reason": reason, "threadId": thread, "allThreadsStopped": true});
        if !text.is_empty() {
            body["description"] = text.trim_end().into();
            body["text"] = text.trim_end().into();
        }
        if let Some(id) = id {
            body["hitBreakpointIds"] = json!([id]);
        }
        self.tell("stopped", body)
    }

    fn selected(&mut self) -> Result<u32, Error> {
        let Editor {
            commands, threads, ..
        } = self;
        let commands = commands.as_ref().ok_or("no program is launched")?;
        Ok(threads.selected(commands.session()))
    }

    /// The wave of a thread.
    fn wave(&mut self, thread: u32) -> Result<WaveId, Error> {
        let Editor {
            commands, threads, ..
        } = self;
        let commands = commands.as_ref().ok_or("no program is launched")?;
        let wave = threads.wave(commands.session(), thread);
        wave.ok_or_else(|| "the wave has ended; go back to see it".into())
    }

    /// Selects the wave that a request is about.
    fn select(&mut self, args: &Value) -> Result<(), Error> {
        let frame = args["frameId"].as_u64().and_then(|n| n.checked_sub(1));
        let frame = frame.and_then(|n| self.frames.get(n as usize).copied());
        let thread = match (frame, args["threadId"].as_u64()) {
            (Some((thread, _)), _) => thread,
            (None, Some(thread)) => thread as u32,
            _ => return Ok(()),
        };
        if thread == NOBODY {
            return Ok(());
        }
        let wave = self.wave(thread)?;
        self.session()?.select(wave)
    }

    fn answer(&mut self, command: &str, args: &Value) -> Answer {
        match command {
            "initialize" => {
                if args["linesStartAt1"] == false {
                    self.first_line = 0;
                }
                Ok((capabilities(), Then::Nothing))
            }
            "launch" | "attach" => self.launch(args),
            "configurationDone" => {
                self.session()?;
                Ok((json!({}), Then::Begin))
            }
            "setBreakpoints" => self.set_breakpoints(args),
            "setFunctionBreakpoints" => self.set_functions(args),
            "setInstructionBreakpoints" => self.set_instructions(args),
            "dataBreakpointInfo" => self.data_info(args),
            "setDataBreakpoints" => self.set_data(args),
            "setExceptionBreakpoints" => done(),
            "threads" => self.list_threads(),
            "stackTrace" => self.stack_trace(args),
            "scopes" => self.scopes(args),
            "variables" => self.variables(args),
            "setVariable" => self.set_variable(args),
            "setExpression" => self.set_expression(args),
            "evaluate" => self.evaluate(args),
            "completions" => self.completions(args),
            "disassemble" => self.disassemble(args),
            "readMemory" => self.read_memory(args),
            "writeMemory" => self.write_memory(args),
            "exceptionInfo" => {
                let report = self.report.clone().unwrap_or_default();
                let body =
                    json!({"exceptionId": "failed", "description": report, "breakMode": "always"});
                Ok((body, Then::Nothing))
            }
            "continue" => {
                let single = args["singleThread"] == true;
                // All waves continue, also if the thread that the editor still shows has ended.
                match self.select(args) {
                    Err(e) if single => return Err(e),
                    _ => {}
                }
                if self.session()?.status() == Status::Ended {
                    return Ok((json!({}), Then::Tell("terminated")));
                }
                let scope = if single { Scope::WaveAlone } else { Scope::All };
                let body = json!({"allThreadsContinued": !single});
                Ok((body, Then::Move(Motion::Continue(scope))))
            }
            "next" | "stepIn" | "stepOut" | "stepBack" => self.step(command, args),
            "reverseContinue" => {
                self.session()?;
                Ok((json!({}), Then::Move(Motion::BackAll)))
            }
            "pause" => done(),
            "restart" => {
                self.session()?.restart()?;
                self.going = false;
                Ok((json!({}), Then::Begin))
            }
            "terminate" => {
                self.going = false;
                Ok((json!({}), Then::Tell("terminated")))
            }
            "disconnect" => Ok((json!({}), Then::End)),
            other => Err(format!("`{other}` is no request that gcn debug knows").into()),
        }
    }

    fn launch(&mut self, args: &Value) -> Answer {
        if let Some(words) = words(args)? {
            if let Some(folder) = args["cwd"].as_str() {
                std::env::set_current_dir(folder).map_err(|e| format!("{folder}: {e}"))?;
            }
            let commands = (self.open)(&words).map_err(Error::from)?;
            commands.session().machine.set_output(self.printed.clone());
            self.commands = Some(commands);
        }
        if self.commands.is_none() {
            return Err(
                "the launch configuration has no `program`, and the command line no FILE".into(),
            );
        }
        self.stop_on_entry = args["stopOnEntry"] == true;
        Ok((json!({}), Then::Tell("initialized")))
    }

    fn step(&mut self, command: &str, args: &Value) -> Answer {
        // An editor may still show the thread that has just ended.
        if command == "stepBack"
            && let Some(thread) = args["threadId"].as_u64()
            && self.wave(thread as u32).is_err()
        {
            let commands = self.commands.as_ref().ok_or("no program is launched")?;
            let ended = (self.threads).wave_of_launch(commands.session(), thread as u32);
            if let Some(wave) = ended {
                return Ok((json!({}), Then::Move(Motion::BackOf(wave))));
            }
        }
        self.select(args)?;
        let instruction = args["granularity"] == "instruction";
        let session = self.session()?;
        let current = session.current().map(|(wave, state)| (wave, state.pc));
        let (depth, lines) = match current {
            Ok((wave, pc)) => (
                session.frames(wave).len(),
                session.code().line(pc).is_some(),
            ),
            Err(_) => (0, false),
        };
        let lines = lines && !instruction;
        let motion = match command {
            "stepOut" if depth == 0 => {
                return Err("the wave is in no function that returns: it is in the kernel".into());
            }
            "stepOut" => Motion::Step(Unit::Out),
            "stepBack" if lines => Motion::Back(Unit::Line),
            "stepBack" => Motion::Back(Unit::Instruction),
            _ if lines => Motion::Step(Unit::Line),
            "next" => Motion::Step(Unit::Over),
            _ => Motion::Step(Unit::Instruction),
        };
        Ok((json!({}), Then::Move(motion)))
    }
}

/// The command line of a launch configuration: `program`, `kernel`, `grid`, `group`, `args` and `options`.
fn words(args: &Value) -> Result<Option<Vec<String>>, Error> {
    let Some(program) = args["program"].as_str() else {
        return Ok(None);
    };
    let mut out = vec![program.to_owned()];
    let word = |name: &str, value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        other => Err(Error::from(format!(
            "`{name}`: expected text or a number, not {other}"
        ))),
    };
    for name in ["kernel", "grid", "group"] {
        let text = match &args[name] {
            Value::Null => continue,
            Value::Array(all) => {
                let all: Result<Vec<String>, Error> = all.iter().map(|v| word(name, v)).collect();
                all?.join(",")
            }
            value => word(name, value)?,
        };
        out.extend([format!("--{name}"), text]);
    }
    for (name, option) in [("args", Some("--arg")), ("options", None)] {
        let all = match &args[name] {
            Value::Null => continue,
            Value::Array(all) => all,
            other => return Err(format!("`{name}`: expected a list, not {other}").into()),
        };
        for value in all {
            out.extend(option.map(str::to_owned));
            out.push(word(name, value)?);
        }
    }
    Ok(Some(out))
}

fn capabilities() -> Value {
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsFunctionBreakpoints": true,
        "supportsConditionalBreakpoints": true,
        "supportsHitConditionalBreakpoints": false,
        "supportsLogPoints": false,
        "supportsEvaluateForHovers": true,
        "supportsStepBack": true,
        "supportsSetVariable": true,
        "supportsSetExpression": true,
        "supportsRestartRequest": true,
        "supportsCompletionsRequest": true,
        "supportsExceptionInfoRequest": true,
        "supportsValueFormattingOptions": true,
        "supportsDelayedStackTraceLoading": true,
        "supportsTerminateRequest": true,
        "supportsDataBreakpoints": true,
        "supportsReadMemoryRequest": true,
        "supportsWriteMemoryRequest": true,
        "supportsDisassembleRequest": true,
        "supportsSteppingGranularity": true,
        "supportsInstructionBreakpoints": true,
        "supportsSingleThreadExecutionRequests": true,
    })
}
