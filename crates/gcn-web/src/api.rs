//! The interface between the page and the server: JSON in, JSON out.

use std::collections::BTreeSet;

use gcn::asm::Syntax;
use gcn::isa::Target;
use serde_json::{Map, Value, json};

use crate::code::{self, Built, Source};
use crate::kernel::KernelRun;
use crate::launch::{self, Launch};
use crate::opened::Opened;
use crate::session::{MOST_STEPS, Session, Sessions, SnippetRun, Stepper};

/// The reason why a request has no answer.
pub enum Refusal {
    /// The request itself is wrong.
    Malformed(String),
    /// There is no such request.
    Unknown,
}

/// The parameters of a request.
struct Params<'a>(&'a Map<String, Value>);

impl Params<'_> {
    fn text(&self, key: &str, most: usize) -> Result<&str, Refusal> {
        let wrong = |what: &str| Refusal::Malformed(format!("`{key}`: expected {what}"));
        match self.0.get(key) {
            Some(Value::String(text)) if text.len() <= most => Ok(text),
            Some(Value::String(_)) => Err(wrong(&format!("at most {most} bytes"))),
            _ => Err(wrong("a string")),
        }
    }

    fn number(&self, key: &str, rest: u64) -> Result<u64, Refusal> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(rest),
            Some(value) => value
                .as_u64()
                .ok_or_else(|| Refusal::Malformed(format!("`{key}`: expected a number from 0 on"))),
        }
    }

    fn addresses(&self, key: &str) -> Result<BTreeSet<u64>, Refusal> {
        let wrong = || Refusal::Malformed(format!("`{key}`: expected a list of addresses"));
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(BTreeSet::new()),
            Some(Value::Array(list)) if list.len() <= 1000 => {
                list.iter().map(|v| v.as_u64().ok_or_else(wrong)).collect()
            }
            _ => Err(wrong()),
        }
    }

    /// An address in hex, because JavaScript's numbers are too small for some.
    fn address(&self, key: &str) -> Result<u64, Refusal> {
        let text = self.text(key, 40)?;
        let digits = text
            .trim()
            .strip_prefix("0x")
            .map(|hex| u64::from_str_radix(hex, 16));
        let value = digits.unwrap_or_else(|| text.trim().parse());
        value.map_err(|_| Refusal::Malformed(format!("`{key}`: `{text}` is no address, as 0x1000")))
    }

    fn source(&self) -> Result<Source, Refusal> {
        let arch = self.text("arch", 40)?;
        let target = Target::parse(arch)
            .ok_or_else(|| Refusal::Malformed(format!("`{arch}` is no target")))?;
        let syntax = match self.text("syntax", 10)? {
            "auto" => Syntax::Auto,
            "llvm" => Syntax::Llvm,
            "clrx" => Syntax::Clrx,
            other => {
                let message = format!("`{other}` is no syntax: expected auto, llvm or clrx");
                return Err(Refusal::Malformed(message));
            }
        };
        Ok(Source {
            // A source that is too large is reported in the page.
            text: self.text("source", usize::MAX)?.to_string(),
            target,
            syntax,
        })
    }
}

/// Answers a request. Errors of the user are answers, too: `{"error": …}`.
///
/// # Errors
/// The request has no answer.
pub fn answer(
    name: &str,
    body: &[u8],
    sessions: &Sessions,
    opened: Option<&Opened>,
) -> Result<Value, Refusal> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|e| Refusal::Malformed(format!("the request is not JSON: {e}")))?;
    let Value::Object(map) = &value else {
        return Err(Refusal::Malformed("expected a JSON object".into()));
    };
    let params = Params(map);
    match name {
        "code" => Ok(code::view(&params.source()?)),
        "check" => check(&params, opened),
        "start" => start(&params, sessions, opened),
        "step" => step(&params, sessions),
        "memory" => {
            let (id, space) = (params.number("session", 0)?, params.text("space", 10)?);
            let (at, bytes) = (params.address("at")?, params.number("bytes", 256)?);
            Ok(told(sessions.with(id, |s| s.dwords(space, at, bytes))))
        }
        _ => Err(Refusal::Unknown),
    }
}

fn told(result: Result<Value, String>) -> Value {
    result.unwrap_or_else(|error| json!({ "error": error }))
}

/// A launch.
fn launch<'a>(params: &'a Params<'_>, opened: Option<&'a Opened>) -> Result<Launch<'a>, Refusal> {
    Ok(Launch {
        kernel: params.text("kernel", 4096)?,
        grid: params.text("grid", 100)?,
        group: params.text("group", 100)?,
        args: params.text("args", 1 << 16)?,
        opened,
    })
}

/// Assembles the source of a request; the error is the answer.
fn built(params: &Params<'_>) -> Result<Result<Built, Value>, Refusal> {
    let built = code::build(&params.source()?);
    Ok(built.map_err(|list| {
        json!({
            "error": "the source has errors",
            "diagnostics": code::diagnostics(&list),
        })
    }))
}

/// Runs a kernel with all checks.
fn check(params: &Params<'_>, opened: Option<&Opened>) -> Result<Value, Refusal> {
    let launch = launch(params, opened)?;
    Ok(match built(params)? {
        Ok(built) => told(launch::check(&built, &launch)),
        Err(answer) => answer,
    })
}

/// Starts a run and returns its number and first state.
fn start(
    params: &Params<'_>,
    sessions: &Sessions,
    opened: Option<&Opened>,
) -> Result<Value, Refusal> {
    let registers = params.text("registers", 1 << 16)?;
    let launch = launch(params, opened)?;
    let built = match built(params)? {
        Ok(built) => built,
        Err(answer) => return Ok(answer),
    };
    let begun = || -> Result<Value, String> {
        let (base, text) = built.text.clone();
        let stepper: Box<dyn Stepper> = match built.snippet {
            true => Box::new(SnippetRun::new(built.target, base, text, registers)?),
            false => Box::new(KernelRun::new(&built, &launch)?),
        };
        let session = Session {
            stepper,
            target: built.target,
            used: built.used(),
            masks: built.saved_masks(),
        };
        let state = session.state();
        Ok(json!({"session": sessions.add(session), "state": state}))
    };
    Ok(told(begun()))
}

/// Steps a run and returns its state.
fn step(params: &Params<'_>, sessions: &Sessions) -> Result<Value, Refusal> {
    let id = params.number("session", 0)?;
    let stops = params.addresses("stops")?;
    let count = params.number("count", 1)?.min(MOST_STEPS);
    let way = params.text("way", 10)?;
    let wave = match params.0.get("wave") {
        None | Some(Value::Null) => "",
        Some(_) => params.text("wave", 100)?,
    };
    let mut refused = None;
    let result = sessions.with(id, |session| {
        if !wave.is_empty() {
            session.stepper.select(wave)?;
        }
        match way {
            "to" => session.stepper.go_to(count)?,
            "forward" => session.stepper.forward(count, &stops)?,
            "back" => session.stepper.back(count, &stops)?,
            "stay" => {}
            other => {
                let message = format!("`way`: `{other}` is not one of forward, back, to and stay");
                refused = Some(Refusal::Malformed(message));
            }
        }
        Ok(json!({"state": session.state()}))
    });
    match refused {
        Some(refused) => Err(refused),
        None => Ok(told(result)),
    }
}
