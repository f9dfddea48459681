//! Sweeps: a plan with other values, one item for each combination.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use gcn_isa::Target;
use serde_json::{Map, Value as Json, json};
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use super::file::{Reader, part, values};
use super::{Outcome, Running};
use crate::{io, plan_toml};

/// The values of a parameter.
pub enum Values {
    /// A list of values.
    List(Vec<Value>),
    /// Integers: the first and the number of them.
    Range(i64, u64),
}

impl Values {
    /// The number of values.
    pub fn count(&self) -> u64 {
        match self {
            Values::List(list) => list.len() as u64,
            Values::Range(_, count) => *count,
        }
    }

    /// A value.
    pub fn get(&self, n: u64) -> Value {
        match self {
            Values::List(list) => list[n as usize].clone(),
            Values::Range(first, _) => Value::Integer(first.wrapping_add(n as i64)),
        }
    }
}

/// A location in the plan, and the value that is written there.
struct Edit {
    span: Range<usize>,
    template: Value,
}

/// A sweep.
pub struct Sweep {
    path: PathBuf,
    /// The plan's text.
    text: String,
    /// In ascending order.
    edits: Vec<Edit>,
    parameters: Vec<(String, Values)>,
    /// The remaining combinations, if some are excluded.
    left: Option<Vec<u64>>,
    /// Further combinations.
    include: Vec<Table>,
    /// True if each launch's time is recorded.
    pub times: bool,
}

type Parameters = BTreeMap<String, Value>;

impl Sweep {
    /// Reads a sweep over a plan.
    ///
    /// # Errors
    /// A message with its location.
    pub fn new<T>(
        reader: &Reader<'_>,
        section: &Spanned<T>,
        path: &Path,
        matrix: &BTreeMap<String, Spanned<Value>>,
        set: &BTreeMap<String, Spanned<Value>>,
    ) -> Result<Sweep, String> {
        let text = io::read_text(path).map_err(|e| format!("{}: {e}", reader.of(section)))?;
        let parsed = DeTable::parse(&text).map_err(|e| {
            let at = e.span().map_or(0, |span| span.start);
            format!("{}: {}", plan_toml::position(path, &text, at), e.message())
        })?;
        let (mut parameters, mut edits) = (Vec::new(), Vec::new());
        let mut used = BTreeSet::new();
        for (location, template) in set {
            names(template.get_ref(), &mut used);
            let span = find(&parsed, &text, location)
                .map_err(|e| format!("{}: {e}", reader.of(template)))?;
            let template = template.get_ref().clone();
            edits.push(Edit { span, template });
        }
        for (name, list) in matrix {
            let at = |e: String| format!("{}: {e}", reader.of(list));
            parameters.push((name.clone(), values(list.get_ref()).map_err(at)?));
            // A name that `set` does not use is a location in the plan.
            if !used.contains(name) {
                let span = find(&parsed, &text, name).map_err(|e| {
                    at(format!(
                        "{e}; a parameter is such a place, or `set` uses it as ${{{name}}}"
                    ))
                })?;
                let template = Value::String(format!("${{{name}}}"));
                edits.push(Edit { span, template });
            }
        }
        if let Some(name) = used.iter().find(|name| !matrix.contains_key(*name)) {
            return Err(format!(
                "{}: `matrix` has no `{name}`, which `set` uses",
                reader.of(section)
            ));
        }
        edits.sort_by_key(|e| e.span.start);
        if edits.windows(2).any(|e| e[0].span.end > e[1].span.start) {
            return Err(format!("{}: a place is set twice", reader.of(section)));
        }
        let sweep = Sweep {
            path: path.to_owned(),
            text: text.clone(),
            edits,
            parameters,
            left: None,
            include: Vec::new(),
            times: false,
        };
        let product = sweep
            .parameters
            .iter()
            .try_fold(1u64, |n, p| n.checked_mul(p.1.count()));
        product.filter(|n| *n <= 1 << 40).ok_or_else(|| {
            format!(
                "{}: there are more than 2^40 combinations",
                reader.of(section)
            )
        })?;
        Ok(sweep)
    }

    /// Excludes combinations, and adds others.
    ///
    /// # Errors
    /// A message with its location.
    pub fn with(
        mut self,
        reader: &Reader<'_>,
        exclude: &[Spanned<Table>],
        include: &[Spanned<Table>],
        times: bool,
    ) -> Result<Sweep, String> {
        self.times = times;
        for table in exclude.iter().chain(include) {
            if let Some(name) = table
                .get_ref()
                .keys()
                .find(|k| !self.parameters.iter().any(|p| p.0 == **k))
            {
                return Err(format!("{}: `matrix` has no `{name}`", reader.of(table)));
            }
        }
        for table in include {
            if let Some((name, _)) = self
                .parameters
                .iter()
                .find(|p| !table.get_ref().contains_key(&p.0))
            {
                return Err(format!(
                    "{}: `{name}` is missing: a further combination has all parameters",
                    reader.of(table)
                ));
            }
            self.include.push(table.get_ref().clone());
        }
        if !exclude.is_empty() {
            let all = self.product();
            if all > 1 << 24 {
                return Err(format!(
                    "{}: `exclude` works on at most 2^24 combinations, and there are {all}",
                    reader.of(&exclude[0])
                ));
            }
            let stays = |n: &u64| {
                let these = self.combination(*n);
                !exclude
                    .iter()
                    .any(|table| table.get_ref().iter().all(|(k, v)| these.get(k) == Some(v)))
            };
            self.left = Some((0..all).filter(stays).collect());
        }
        Ok(self)
    }

    /// Adds the files that parameters name to a hash.
    pub fn hash_files(&self, hash: &mut blake3::Hasher) {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let lists = self.parameters.iter().filter_map(|p| match &p.1 {
            Values::List(list) => Some(list.iter()),
            Values::Range(..) => None,
        });
        for value in lists
            .flatten()
            .chain(self.include.iter().flat_map(Table::values))
        {
            let file = value.as_str().map(|name| folder.join(name));
            if let Some(bytes) = file
                .filter(|f| f.is_file())
                .and_then(|f| std::fs::read(f).ok())
            {
                part(hash, &bytes);
            }
        }
    }

    fn product(&self) -> u64 {
        self.parameters.iter().map(|p| p.1.count()).product()
    }

    /// The number of items.
    pub fn items(&self) -> u64 {
        let left = self
            .left
            .as_ref()
            .map_or(self.product(), |left| left.len() as u64);
        left + self.include.len() as u64
    }

    /// Combination `n` of all; the last parameter changes fastest.
    fn combination(&self, mut n: u64) -> Parameters {
        let mut out = Parameters::new();
        for (name, values) in self.parameters.iter().rev() {
            out.insert(name.clone(), values.get(n % values.count()));
            n /= values.count();
        }
        out
    }

    /// The parameters of an item.
    fn parameters(&self, n: u64) -> Parameters {
        let left = self
            .left
            .as_ref()
            .map_or(self.product(), |left| left.len() as u64);
        match &self.left {
            _ if n >= left => self.include[(n - left) as usize]
                .clone()
                .into_iter()
                .collect(),
            Some(left) => self.combination(left[n as usize]),
            None => self.combination(n),
        }
    }

    /// The plan's text with the values of an item. Lines keep their positions.
    fn plan(&self, parameters: &Parameters) -> Result<String, String> {
        let (mut out, mut at) = (String::new(), 0);
        for edit in &self.edits {
            out.push_str(&self.text[at..edit.span.start]);
            write(&fill(&edit.template, parameters)?, &mut out);
            at = edit.span.end;
        }
        out.push_str(&self.text[at..]);
        Ok(out)
    }

    /// Runs an item.
    pub fn run(
        &self,
        n: u64,
        target: Option<Target>,
        running: &Running<'_>,
        record: &mut Map<String, Json>,
    ) -> Option<Outcome> {
        let parameters = self.parameters(n);
        let shown: Map<String, Json> = parameters
            .iter()
            .map(|(k, v)| (k.clone(), json_of(v)))
            .collect();
        record.insert("parameters".into(), shown.into());
        let text = self.plan(&parameters);
        let read = text.and_then(|text| plan_toml::parse(&text, &self.path, target));
        running.run(read, record)
    }
}

/// The range in a plan's text of the value at a location such as `launch.0.grid`.
fn find(plan: &Spanned<DeTable<'_>>, text: &str, location: &str) -> Result<Range<usize>, String> {
    let mut here = Node::Table(plan.get_ref());
    let (mut span, mut way) = (0..0, String::from("the plan"));
    for name in location.split('.') {
        let (next, have) = match &here {
            Node::Table(table) => {
                let keys: Vec<&str> = table.keys().map(|k| k.get_ref().as_ref()).collect();
                (table.get(name), keys.join(", "))
            }
            Node::Array(array) => {
                let have = match array.len() {
                    0 => "no elements".into(),
                    n => format!("0 to {}", n - 1),
                };
                (name.parse().ok().and_then(|n: usize| array.get(n)), have)
            }
            Node::Value => (None, "no more".into()),
        };
        let next = next.ok_or_else(|| format!("{way} has no `{name}`; there is: {have}"))?;
        span = next.span();
        here = match next.get_ref() {
            DeValue::Table(table) => Node::Table(table),
            DeValue::Array(array) => Node::Array(array),
            _ => Node::Value,
        };
        way = format!(
            "`{}`",
            location[..name.as_ptr() as usize - location.as_ptr() as usize + name.len()].trim()
        );
    }
    // A [table] is not a value that text could replace.
    let value = text.get(span.clone()).unwrap_or("");
    match toml::from_str::<Table>(&format!("x = {value}")) {
        Ok(_) => Ok(span),
        Err(_) => Err(format!(
            "`{location}` is a table of the plan, not a value; name one of its values"
        )),
    }
}

enum Node<'a> {
    Table(&'a DeTable<'a>),
    Array(&'a [Spanned<DeValue<'a>>]),
    Value,
}

/// Each `${…}` of a text.
fn expressions(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split("${").skip(1);
    parts.filter_map(|part| part.split_once('}').map(|(e, _)| e))
}

/// Adds the names that a template uses.
fn names(template: &Value, out: &mut BTreeSet<String>) {
    match template {
        Value::String(text) => {
            for e in expressions(text) {
                let word = |c: char| !(c.is_alphanumeric() || "_-.".contains(c));
                let words = e.split(word).filter(|w| w.starts_with(char::is_alphabetic));
                out.extend(words.map(str::to_owned));
            }
        }
        Value::Array(list) => list.iter().for_each(|v| names(v, out)),
        Value::Table(table) => table.values().for_each(|v| names(v, out)),
        _ => {}
    }
}

/// A template with values. A text that consists of one `${name}` becomes the value.
fn fill(template: &Value, parameters: &Parameters) -> Result<Value, String> {
    let filled = match template {
        Value::String(text) => {
            let whole = text
                .strip_prefix("${")
                .and_then(|rest| rest.strip_suffix('}'));
            if let Some(e) = whole.filter(|e| !e.contains('}')) {
                return evaluate(e, parameters);
            }
            let (mut out, mut rest) = (String::new(), text.as_str());
            while let Some((before, after)) = rest.split_once("${") {
                let (e, after) = after
                    .split_once('}')
                    .ok_or_else(|| format!("`{text}`: a `${{` has no `}}`"))?;
                out.push_str(before);
                match evaluate(e, parameters)? {
                    Value::String(s) => out.push_str(&s),
                    value => write(&value, &mut out),
                }
                rest = after;
            }
            out.push_str(rest);
            Value::String(out)
        }
        Value::Array(list) => {
            let list = list.iter().map(|v| fill(v, parameters));
            Value::Array(list.collect::<Result<_, _>>()?)
        }
        Value::Table(table) => {
            let values = table
                .iter()
                .map(|(k, v)| Ok((k.clone(), fill(v, parameters)?)));
            Value::Table(values.collect::<Result<_, String>>()?)
        }
        other => other.clone(),
    };
    Ok(filled)
}

/// A parameter, or a sum of products of integers and parameters.
fn evaluate(text: &str, parameters: &Parameters) -> Result<Value, String> {
    let name = text.trim();
    if let Some(value) = parameters.get(name) {
        return Ok(value.clone());
    }
    let mut parser = Expression {
        text,
        rest: text,
        parameters,
    };
    let value = parser.sum(0)?;
    match parser.rest.trim().is_empty() {
        true => Ok(Value::Integer(value)),
        false => Err(parser.expected("an operator")),
    }
}

struct Expression<'a> {
    text: &'a str,
    rest: &'a str,
    parameters: &'a Parameters,
}

impl<'a> Expression<'a> {
    fn expected(&self, what: &str) -> String {
        let at = self.text.len() - self.rest.trim_start().len();
        format!(
            "`{}`: expected {what} at column {}: sums and products (+ - * / %) of integers and parameters",
            self.text,
            at + 1
        )
    }

    fn operator(&mut self, of: &[char]) -> Option<char> {
        let rest = self.rest.trim_start();
        let c = rest.chars().next().filter(|c| of.contains(c))?;
        self.rest = &rest[1..];
        Some(c)
    }

    fn sum(&mut self, depth: u32) -> Result<i64, String> {
        let mut value = self.product(depth)?;
        while let Some(operator) = self.operator(&['+', '-']) {
            let next = self.product(depth)?;
            let out = match operator {
                '+' => value.checked_add(next),
                _ => value.checked_sub(next),
            };
            value = out.ok_or_else(|| self.expected("numbers of 64 bits"))?;
        }
        Ok(value)
    }

    fn product(&mut self, depth: u32) -> Result<i64, String> {
        let mut value = self.atom(depth)?;
        while let Some(operator) = self.operator(&['*', '/', '%']) {
            let next = self.atom(depth)?;
            let out = match operator {
                '*' => value.checked_mul(next),
                '/' => value.checked_div(next),
                _ => value.checked_rem(next),
            };
            value =
                out.ok_or_else(|| self.expected("a divisor other than 0, and numbers of 64 bits"))?;
        }
        Ok(value)
    }

    fn atom(&mut self, depth: u32) -> Result<i64, String> {
        if self.operator(&['(']).is_some() {
            if depth > 32 {
                return Err(self.expected("fewer parentheses"));
            }
            let value = self.sum(depth + 1)?;
            return match self.operator(&[')']) {
                Some(_) => Ok(value),
                None => Err(self.expected("`)`")),
            };
        }
        let rest = self.rest.trim_start();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "_.".contains(c)));
        let word = &rest[..end.unwrap_or(rest.len())];
        let value = match self.parameters.get(word) {
            Some(Value::Integer(value)) => Some(*value),
            Some(_) => return Err(self.expected("an integer")),
            None => word.parse().ok(),
        };
        let value = value.ok_or_else(|| self.expected("an integer or a parameter"))?;
        self.rest = &rest[word.len()..];
        Ok(value)
    }
}

/// Writes a value in TOML, on one line.
fn write(value: &Value, out: &mut String) {
    // Writing to a string does not fail.
    let _ = match value {
        Value::String(text) => {
            out.push('"');
            for c in text.chars() {
                let _ = match c {
                    '"' | '\\' => write!(out, "\\{c}"),
                    c if c.is_control() => write!(out, "\\u{:04X}", c as u32),
                    c => write!(out, "{c}"),
                };
            }
            out.push('"');
            Ok(())
        }
        Value::Integer(n) => write!(out, "{n}"),
        Value::Float(f) if f.is_nan() => write!(out, "nan"),
        Value::Float(f) => write!(out, "{f:?}"),
        Value::Boolean(b) => write!(out, "{b}"),
        Value::Datetime(d) => write!(out, "{d}"),
        Value::Array(list) => {
            out.push('[');
            for (n, value) in list.iter().enumerate() {
                out.push_str(if n > 0 { ", " } else { "" });
                write(value, out);
            }
            out.push(']');
            Ok(())
        }
        Value::Table(table) => {
            out.push_str("{ ");
            for (n, (key, value)) in table.iter().enumerate() {
                out.push_str(if n > 0 { ", " } else { "" });
                write(&Value::String(key.clone()), out);
                out.push_str(" = ");
                write(value, out);
            }
            out.push_str(" }");
            Ok(())
        }
    };
}

/// A value in JSON.
fn json_of(value: &Value) -> Json {
    match value {
        Value::String(text) => json!(text),
        Value::Integer(n) => json!(n),
        Value::Float(f) => json!(f),
        Value::Boolean(b) => json!(b),
        Value::Datetime(d) => json!(d.to_string()),
        Value::Array(list) => list.iter().map(json_of).collect(),
        Value::Table(table) => table
            .iter()
            .map(|(k, v)| (k.clone(), json_of(v)))
            .collect::<Map<_, _>>()
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> Result<Value, String> {
        let parameters = Parameters::from([
            ("n".into(), Value::Integer(100)),
            ("f".into(), Value::Float(0.5)),
            ("name".into(), Value::String("a.co".into())),
        ]);
        fill(&Value::String(template.into()), &parameters)
    }

    #[test]
    fn templates() {
        assert_eq!(filled("${n}"), Ok(Value::Integer(100)));
        assert_eq!(filled("${f}"), Ok(Value::Float(0.5)));
        assert_eq!(filled("u32:${n}"), Ok(Value::String("u32:100".into())));
        assert_eq!(
            filled("${name}, f32:${f}"),
            Ok(Value::String("a.co, f32:0.5".into()))
        );
        assert_eq!(filled("${(n + 63) / 64 * 64}"), Ok(Value::Integer(128)));
        assert_eq!(filled("plain"), Ok(Value::String("plain".into())));
        for (wrong, why) in [
            ("${m}", "expected an integer or a parameter at column 1"),
            ("${n * f}", "expected an integer at column 5"),
            ("${n / 0}", "a divisor other than 0"),
            ("${n n}", "expected an operator at column 3"),
            ("a ${n", "a `${` has no `}`"),
            ("${(n}", "expected `)`"),
        ] {
            let message = filled(wrong).expect_err(wrong);
            assert!(message.contains(why), "{message}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let text = "x = [1, -2.5, \"a\\\"\\\\\\u0007ü\", true, { \"k e\" = 1e300 }, 2026-11-23]";
        let table: Table = toml::from_str(text).unwrap();
        let mut out = String::from("x = ");
        write(&table["x"], &mut out);
        assert_eq!(toml::from_str::<Table>(&out), Ok(table), "{out}");
    }
}
