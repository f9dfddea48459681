//! Breakpoints of editors: each request lists all breakpoints of its kind.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::{Answer, Editor, Then};
use crate::session::Error;

/// The number in a reference of an instruction or of memory, and the offset.
pub(super) fn reference(text: &Value, offset: &Value) -> Result<u64, Error> {
    let digits = text.as_str().unwrap_or("");
    let number = gcn::run::integer(digits).and_then(|n| u64::try_from(n).ok());
    let number = number.ok_or_else(|| format!("{text} is no address"))?;
    Ok(number.wrapping_add_signed(offset.as_i64().unwrap_or(0)))
}

impl<W: Write> Editor<'_, W> {
    /// Deletes breakpoints; the user may have deleted some by a command.
    fn clear(&mut self, ids: Vec<u32>) -> Result<(), Error> {
        for id in ids {
            let _ = self.session()?.delete(id);
        }
        Ok(())
    }

    fn condition(args: &Value) -> Option<&str> {
        args["condition"]
            .as_str()
            .filter(|text| !text.trim().is_empty())
    }

    /// Describes a breakpoint, and records its number in `ids`.
    fn set_one(
        &mut self,
        set: Result<crate::stops::Breakpoint, Error>,
        ids: &mut Vec<u32>,
    ) -> Result<Value, Error> {
        let first_line = self.first_line;
        let set = match set {
            Ok(set) => set,
            Err(e) => return Ok(json!({"verified": false, "message": e.to_string()})),
        };
        ids.push(set.id);
        let mut out = json!({"id": set.id, "verified": true});
        if let Some(&address) = set.addresses.first() {
            out["instructionReference"] = format!("{address:#x}").into();
            if let Some(line) = self.session()?.code().line(address) {
                out["line"] = (line.line - 1 + first_line).into();
            }
        }
        if let Some(note) = set.note {
            out["message"] = note.into();
        }
        Ok(out)
    }

    pub(super) fn set_breakpoints(&mut self, args: &Value) -> Answer {
        let path = args["source"]["path"].as_str();
        let path = path
            .or(args["source"]["name"].as_str())
            .unwrap_or("")
            .to_owned();
        let old = self.sources.remove(&path).unwrap_or_default();
        self.clear(old)?;
        let file = self.file_of(&path)?;
        let (mut ids, mut out) = (Vec::new(), Vec::new());
        for one in args["breakpoints"].as_array().into_iter().flatten() {
            let line = one["line"].as_u64().unwrap_or(0) + 1 - self.first_line;
            let condition = Self::condition(one);
            let set = self
                .session()?
                .break_at(&format!("{file}:{line}"), condition);
            out.push(self.set_one(set, &mut ids)?);
        }
        self.sources.insert(path, ids);
        Ok((json!({"breakpoints": out}), Then::Nothing))
    }

    /// The file of the line tables that matches an editor's path: the one with the most folders in common, from the end.
    fn file_of(&mut self, path: &str) -> Result<String, Error> {
        let wanted = Path::new(path);
        let common = |file: &str| {
            let both = Path::new(file)
                .components()
                .rev()
                .zip(wanted.components().rev());
            both.take_while(|(a, b)| a == b).count()
        };
        let session = self.session()?;
        let files = session.code().files();
        let best = files.iter().max_by_key(|file| common(file));
        let best = best.filter(|file| common(file) > 0);
        Ok(best.map_or(path, |file| file).to_owned())
    }

    pub(super) fn set_functions(&mut self, args: &Value) -> Answer {
        self.set_kind("functions", args, |editor, one| {
            let name = one["name"].as_str().unwrap_or("");
            editor.session()?.break_at(name, Self::condition(one))
        })
    }

    pub(super) fn set_instructions(&mut self, args: &Value) -> Answer {
        self.set_kind("instructions", args, |editor, one| {
            let address = reference(&one["instructionReference"], &one["offset"])?;
            editor.session()?.break_on(address, Self::condition(one))
        })
    }

    fn set_kind(
        &mut self,
        kind: &'static str,
        args: &Value,
        set: impl Fn(&mut Self, &Value) -> Result<crate::stops::Breakpoint, Error>,
    ) -> Answer {
        let old = self.others.remove(kind).unwrap_or_default();
        self.clear(old)?;
        let (mut ids, mut out) = (Vec::new(), Vec::new());
        for one in args["breakpoints"].as_array().into_iter().flatten() {
            let set = set(self, one);
            out.push(self.set_one(set, &mut ids)?);
        }
        self.others.insert(kind, ids);
        Ok((json!({"breakpoints": out}), Then::Nothing))
    }

    /// Describes a reference to data: the thread and the expression, `1 v3[17]`.
    pub(super) fn data_info(&mut self, args: &Value) -> Answer {
        let name = args["name"].as_str().unwrap_or("");
        let group = args["variablesReference"]
            .as_u64()
            .and_then(|n| self.group(n));
        let (thread, text) = match group {
            Some(group) => (group.thread(), group.expression(name)),
            None => {
                self.select(args)?;
                (self.selected()?, name.to_owned())
            }
        };
        let wave = self.wave(thread).ok();
        let session = self.session()?;
        let found = session
            .expr(&text)
            .and_then(|expr| session.location_of(&expr, wave));
        Ok(match found {
            Ok(_) => (
                json!({"dataId": format!("{thread} {text}"), "description": text, "accessTypes": ["write"], "canPersist": false}),
                Then::Nothing,
            ),
            Err(e) => (
                json!({"dataId": null, "description": e.to_string()}),
                Then::Nothing,
            ),
        })
    }

    pub(super) fn set_data(&mut self, args: &Value) -> Answer {
        let old = self.others.remove("data").unwrap_or_default();
        self.clear(old)?;
        let (mut ids, mut out) = (Vec::new(), Vec::new());
        for one in args["breakpoints"].as_array().into_iter().flatten() {
            out.push(match self.watch(one) {
                Ok(id) => {
                    ids.push(id);
                    json!({"id": id, "verified": true})
                }
                Err(e) => json!({"verified": false, "message": e.to_string()}),
            });
        }
        self.others.insert("data", ids);
        Ok((json!({"breakpoints": out}), Then::Nothing))
    }

    fn watch(&mut self, one: &Value) -> Result<u32, Error> {
        let id = one["dataId"].as_str().unwrap_or("");
        let parts = id.split_once(' ');
        let parsed = parts.and_then(|(thread, text)| Some((thread.parse().ok()?, text)));
        let (thread, text) = parsed.ok_or_else(|| format!("`{id}` is no data of this session"))?;
        let wave = self.wave(thread).ok();
        let session = self.session()?;
        let expr = session.expr(text)?;
        let (location, _) = session.location_of(&expr, wave)?;
        Ok(session.watch(location, false, Self::condition(one))?.id)
    }
}
