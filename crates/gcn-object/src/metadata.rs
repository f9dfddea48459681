//! Kernel metadata: the `NT_AMDGPU_METADATA` note's msgpack, its YAML text as in `.amdgpu_metadata`, and its typed form.
//!
//! Text is converted to bytes as by LLVM 14's assembler, so that notes are equal: map keys are sorted by kind, then by
//! bytes; the text of a scalar alone, quoted or not, decides whether it is an integer, a boolean or a string, unless a
//! tag (`!str`) overrides it; a floating-point number becomes nil, because LLVM's writer has no floats.

mod quick;

pub use rmpv::Value;
use rmpv::ValueRef;
use saphyr_parser::{Event, Parser, ScalarStyle, StrInput, Tag};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// The reason why metadata cannot be read or is refused.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MetadataError {
    /// The note's bytes are not msgpack.
    Msgpack(String),
    /// The text is not YAML, or uses features that metadata cannot hold.
    Yaml {
        /// Line in the text, from 1.
        line: usize,
        /// The error.
        detail: String,
    },
    /// The tree does not have the shape of kernel metadata.
    Shape {
        /// The location, such as `amdhsa.kernels[0]..args[1]..size`.
        path: String,
        /// The expected type.
        expected: String,
    },
    /// The tree has no faithful text.
    NoText(&'static str),
}

impl fmt::Display for MetadataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MetadataError::Msgpack(detail) => write!(f, "the note is no msgpack: {detail}"),
            MetadataError::Yaml { line, detail } => write!(f, "line {line} of the YAML: {detail}"),
            MetadataError::Shape { path, expected } => write!(f, "{path}: {expected} expected"),
            MetadataError::NoText(what) => write!(f, "{what} cannot be written as YAML"),
        }
    }
}

impl std::error::Error for MetadataError {}

/// The maximum nesting of trees; real ones have 6 levels.
const DEPTH: usize = 64;

/// The limit of rmpv that reads every tree of [`DEPTH`] levels: it counts two for an array or map, and three for a string.
const MSGPACK_DEPTH: usize = 2 * DEPTH + 3;

/// Decodes a note's descriptor. Bytes after the tree are an error.
pub fn decode(bytes: &[u8]) -> Result<Value, MetadataError> {
    let mut rest = bytes;
    let value = rmpv::decode::read_value_with_max_depth(&mut rest, MSGPACK_DEPTH)
        .map_err(|e| MetadataError::Msgpack(e.to_string()))?;
    if !rest.is_empty() {
        return Err(MetadataError::Msgpack(format!(
            "{} bytes follow the tree",
            rest.len()
        )));
    }
    if !within_levels(&value, DEPTH) {
        return Err(MetadataError::Msgpack(format!(
            "nesting deeper than {DEPTH}"
        )));
    }
    Ok(value)
}

/// Returns true if the tree has at most this many levels; a scalar is a level.
fn within_levels(value: &Value, levels: usize) -> bool {
    levels > 0
        && match value {
            Value::Array(items) => items.iter().all(|item| within_levels(item, levels - 1)),
            Value::Map(pairs) => pairs.iter().all(|(key, value)| {
                within_levels(key, levels - 1) && within_levels(value, levels - 1)
            }),
            _ => true,
        }
}

/// Encodes a tree as a note's descriptor, with every number and length in its shortest form.
pub fn encode(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_msgpack(&mut bytes, value);
    bytes
}

/// The library writes strings that are not UTF-8 as binary data, so strings and their containers are written here.
fn write_msgpack(out: &mut Vec<u8>, value: &Value) {
    // The first byte for a length that fits into it, and the bytes before lengths of 8, 16 and 32 bits.
    let head = |out: &mut Vec<u8>, length: usize, short: (u8, usize), long: [Option<u8>; 3]| {
        let fits = |bits: u32| length >> bits == 0;
        match long {
            _ if length < short.1 => out.push(short.0 | length as u8),
            [Some(byte), ..] if fits(8) => out.extend([byte, length as u8]),
            [_, Some(byte), _] if fits(16) => {
                out.push(byte);
                out.extend((length as u16).to_be_bytes());
            }
            [.., last] => {
                out.extend(last);
                out.extend((length as u32).to_be_bytes());
            }
        }
    };
    match value {
        Value::String(text) => {
            let bytes = text.as_bytes();
            head(
                out,
                bytes.len(),
                (0xa0, 32),
                [Some(0xd9), Some(0xda), Some(0xdb)],
            );
            out.extend(bytes);
        }
        Value::Array(items) => {
            head(out, items.len(), (0x90, 16), [None, Some(0xdc), Some(0xdd)]);
            items.iter().for_each(|item| write_msgpack(out, item));
        }
        Value::Map(pairs) => {
            head(out, pairs.len(), (0x80, 16), [None, Some(0xde), Some(0xdf)]);
            for (key, value) in pairs {
                write_msgpack(out, key);
                write_msgpack(out, value);
            }
        }
        // Writing to a vector cannot fail.
        other => {
            let _ = rmpv::encode::write_value(out, other);
        }
    }
}

/// Returns the tree as its text would give it: keys in LLVM's order, and only the last of equal keys.
pub fn canonical(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        Value::Map(pairs) => {
            let pairs = pairs.iter().map(|(k, v)| (k.clone(), canonical(v)));
            Value::Map(in_order(pairs.collect()))
        }
        other => other.clone(),
    }
}

/// Returns pairs in LLVM's order of keys, and only the last of equal keys.
fn in_order(mut pairs: Vec<(Value, Value)>) -> Vec<(Value, Value)> {
    // The sort is stable and the input is reversed, so the last of equal keys is kept.
    pairs.reverse();
    pairs.sort_by(|a, b| key_order(&a.0, &b.0));
    pairs.dedup_by(|a, b| a.0 == b.0);
    pairs
}

// ---- YAML text to tree ----

/// Reads the YAML text of `.amdgpu_metadata` (with or without its `---` and `...`) into the tree LLVM would encode.
/// The shape is not checked; see [`verify`].
///
/// # Errors
/// [`MetadataError::Yaml`] if the text is not YAML, is empty, or has aliases, unknown tags, or keys that are not
/// scalars.
pub fn parse_yaml(text: &str) -> Result<Value, MetadataError> {
    read_yaml(text, true)
}

/// Reads the YAML text of `.amdgpu_metadata` into a note's descriptor and the minor version of the metadata, if it is a
/// number.
///
/// # Errors
/// See [`parse_yaml`] and [`verify`].
pub fn assemble(text: &str) -> Result<(Vec<u8>, Option<u64>), MetadataError> {
    if let Some(note) = quick::note_of(text)
        && let Some(minor) = quick::verified(&note)
    {
        return Ok((note, Some(minor)));
    }
    assemble_tree(text)
}

fn assemble_tree(text: &str) -> Result<(Vec<u8>, Option<u64>), MetadataError> {
    let tree = parse_yaml(text)?;
    verify(&tree)?;
    let version = |(key, _): &&(Value, Value)| key.as_str() == Some("amdhsa.version");
    let minor = (tree.as_map())
        .and_then(|pairs| pairs.iter().find(version))
        .and_then(|(_, version)| version.as_array()?.get(1)?.as_u64());
    Ok((encode(&tree), minor))
}

/// Reads a document whose scalars are typed by their text, or are all strings.
fn read_yaml(text: &str, typed: bool) -> Result<Value, MetadataError> {
    let mut reader = YamlReader {
        parser: Parser::new_from_str(text),
        line: 1,
        absent: false,
        typed,
        rest: text,
        index: 0,
    };
    loop {
        match reader.next()? {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::StreamEnd | Event::DocumentEnd => {
                return Err(reader.error("a document is expected"));
            }
            Event::Scalar(..) if reader.absent => {
                return Err(reader.error("a document is expected"));
            }
            event => return reader.value(event, DEPTH),
        }
    }
}

struct YamlReader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    line: usize,
    /// True if the last event stands for a value that is missing from the text.
    absent: bool,
    /// True if scalars are typed.
    typed: bool,
    /// The text from character `index` on.
    rest: &'a str,
    index: usize,
}

impl<'a> YamlReader<'a> {
    fn error(&self, detail: impl Into<String>) -> MetadataError {
        MetadataError::Yaml {
            line: self.line,
            detail: detail.into(),
        }
    }

    fn next(&mut self) -> Result<Event<'a>, MetadataError> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => {
                self.line = span.start.line();
                // The parser returns `~` both for a missing value and for the text `~`; the text itself distinguishes
                // them.
                self.absent = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, ..) if text == "~")
                    && !self.text_at(span.start.index()).starts_with('~');
                Ok(event)
            }
            Some(Err(e)) => Err(MetadataError::Yaml {
                line: e.marker().line(),
                detail: e.info().to_string(),
            }),
            None => Err(self.error("the text ends too early")),
        }
    }

    /// Returns the text from a character on, which must not lie before that of the previous call.
    fn text_at(&mut self, index: usize) -> &'a str {
        let skip = index.saturating_sub(self.index);
        let start = self
            .rest
            .char_indices()
            .nth(skip)
            .map_or(self.rest.len(), |(i, _)| i);
        self.rest = &self.rest[start..];
        self.index = self.index.max(index);
        self.rest
    }

    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Value, MetadataError> {
        if depth == 0 {
            return Err(self.error(format!("nesting deeper than {DEPTH}")));
        }
        match event {
            Event::Scalar(text, _, _, tag) => {
                if self.absent {
                    // LLVM reads a missing value as an empty sequence.
                    return Ok(Value::Array(Vec::new()));
                }
                if !self.typed {
                    return Ok(Value::from(text.as_ref()));
                }
                scalar(&text, tag.as_deref()).map_err(|e| self.error(e))
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => return Ok(Value::Array(items)),
                        event => items.push(self.value(event, depth - 1)?),
                    }
                }
            }
            Event::MappingStart(..) => {
                let mut pairs: Vec<(Value, Value)> = Vec::new();
                loop {
                    let key = match self.next()? {
                        Event::MappingEnd => break,
                        // LLVM ignores a key's tag.
                        Event::Scalar(text, ..) if !self.typed => Value::from(text.as_ref()),
                        Event::Scalar(text, ..) => {
                            scalar(&text, None).map_err(|e| self.error(e))?
                        }
                        _ => return Err(self.error("a key must be a scalar")),
                    };
                    let event = self.next()?;
                    pairs.push((key, self.value(event, depth - 1)?));
                }
                Ok(Value::Map(in_order(pairs)))
            }
            Event::Alias(_) => Err(self.error("aliases are not allowed")),
            _ => Err(self.error("a scalar, a sequence or a mapping is expected")),
        }
    }
}

/// LLVM's order of map keys: negative integers, other integers, nil, booleans, strings.
fn key_order(a: &Value, b: &Value) -> Ordering {
    let kind = |v: &Value| match v {
        Value::Integer(i) if i.as_u64().is_none() => 0,
        Value::Integer(_) => 1,
        Value::Nil => 2,
        Value::Boolean(_) => 3,
        _ => 4,
    };
    kind(a).cmp(&kind(b)).then_with(|| match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => match (a.as_u64(), b.as_u64()) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => a.as_i64().cmp(&b.as_i64()),
        },
        (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
        (Value::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        _ => Ordering::Equal,
    })
}

/// Converts a scalar to its type: by its tag, otherwise by its text.
fn scalar(text: &str, tag: Option<&Tag>) -> Result<Value, String> {
    let tag = match tag {
        Some(tag) if tag.handle == "!" => tag.suffix.as_str(),
        _ => "",
    };
    let bad = |kind: &str| format!("'{text}' is no {kind}");
    match tag {
        "int" => integer(text).ok_or_else(|| bad("integer")),
        "nil" => Ok(Value::Nil),
        "bool" => boolean(text)
            .map(Value::Boolean)
            .ok_or_else(|| bad("boolean")),
        "float" if is_float(text) => Ok(Value::Nil),
        "float" => Err(bad("floating-point number")),
        "" => Ok(match integer(text) {
            Some(value) => value,
            None => match boolean(text) {
                Some(value) => Value::Boolean(value),
                None if is_float(text) => Value::Nil,
                None => Value::from(text),
            },
        }),
        _ => Ok(Value::from(text)),
    }
}

/// Reads an integer as LLVM does: decimal, `0x`, `0b`, `0o` or a leading 0 for octal; unsigned 64 bits, or signed with
/// `-`.
fn integer(text: &str) -> Option<Value> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let lower = digits.get(..2).map(str::to_ascii_lowercase);
    let (radix, digits) = match lower.as_deref() {
        Some("0x") => (16, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some(two) if two.starts_with('0') && two.as_bytes()[1].is_ascii_digit() => {
            (8, &digits[1..])
        }
        _ => (10, digits),
    };
    if digits.starts_with('+') {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if !negative {
        return Some(Value::from(magnitude));
    }
    0i64.checked_sub_unsigned(magnitude).map(Value::from)
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => {
            Some(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => {
            Some(false)
        }
        _ => None,
    }
}

/// Returns true if C's `strtod` accepts the whole text as a number; the empty text counts as one.
fn is_float(text: &str) -> bool {
    if text.is_empty() {
        return true;
    }
    let text = text
        .trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c'])
        .to_ascii_lowercase();
    let text = text.strip_prefix(['+', '-']).unwrap_or(&text);
    if let Some(rest) = text.strip_prefix("nan") {
        let word = rest.strip_prefix('(').and_then(|r| r.strip_suffix(')'));
        return rest.is_empty()
            || word.is_some_and(|w| w.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
    }
    if text == "inf" || text == "infinity" {
        return true;
    }
    let (hex, text) = match text.strip_prefix("0x") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match text.split_once(if hex { 'p' } else { 'e' }) {
        Some((m, e)) => (m, Some(e.strip_prefix(['+', '-']).unwrap_or(e))),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |s: &str| {
        s.bytes().all(|b| {
            if hex {
                b.is_ascii_hexdigit()
            } else {
                b.is_ascii_digit()
            }
        })
    };
    !(whole.is_empty() && fraction.is_empty())
        && digits(whole)
        && digits(fraction)
        && exponent.is_none_or(|e| !e.is_empty() && e.bytes().all(|b| b.is_ascii_digit()))
}

// ---- tree to YAML text ----

/// Returns the YAML text of a tree as LLVM prints it, from `---` to `...`, each with its line end.
///
/// # Errors
/// [`MetadataError::NoText`] for floats, binary data, extensions, strings that are not UTF-8, long keys and keys that are not
/// scalars.
pub fn to_yaml(value: &Value) -> Result<String, MetadataError> {
    let mut out = String::from("---");
    write_value(&mut out, value, 0, true)?;
    out.push_str("\n...\n");
    Ok(out)
}

/// Returns the YAML text of a note's descriptor, if assembling the text gives exactly the same bytes again.
/// Otherwise (keys in another order, longer forms, floats) the note can only be written as data.
pub fn faithful_text(descriptor: &[u8]) -> Option<String> {
    quick::text_of(descriptor).or_else(|| faithful_text_of_tree(descriptor))
}

/// The text of a note, with the results of [`assemble`] for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faithful {
    /// The text.
    pub text: String,
    /// The descriptor, equal to the note's.
    pub descriptor: Arc<Vec<u8>>,
    /// The minor version of the metadata, if it is a number.
    pub minor: Option<u64>,
}

/// Returns the YAML text of a note's descriptor, if [`assemble`] accepts it and gives exactly the same bytes again.
pub fn faithful(descriptor: &[u8]) -> Option<Faithful> {
    let text = match quick::written(descriptor) {
        Some(text) => text,
        None => to_yaml(&decode(descriptor).ok()?).ok()?,
    };
    let (again, minor) = assemble(&text).ok()?;
    (again == descriptor).then_some(Faithful {
        text,
        descriptor: Arc::new(again),
        minor,
    })
}

/// Returns the version of the metadata in a note's descriptor if [`Metadata::from_note`] accepts the descriptor and it is
/// like those of compilers; `None` does not mean that it is refused.
pub fn accepted_version(descriptor: &[u8]) -> Option<[u64; 2]> {
    quick::typed_version(descriptor)
}

fn faithful_text_of_tree(descriptor: &[u8]) -> Option<String> {
    let text = to_yaml(&decode(descriptor).ok()?).ok()?;
    (encode(&parse_yaml(&text).ok()?) == descriptor).then_some(text)
}

/// Writes a value that follows a key, a dash or `---`. Block values start on a line of their own at `indent`, except
/// that the first key of a mapping in a sequence is on the line of its dash (`own_line` false).
fn write_value(
    out: &mut String,
    value: &Value,
    indent: usize,
    own_line: bool,
) -> Result<(), MetadataError> {
    match value {
        Value::Map(pairs) if !pairs.is_empty() => {
            for (i, (key, value)) in pairs.iter().enumerate() {
                if i > 0 || own_line {
                    new_line(out, indent);
                }
                let start = out.len();
                out.push_str(&key_text(key)?);
                let width = out[start..].chars().count();
                out.push(':');
                match value {
                    Value::Map(inner) if !inner.is_empty() => {
                        write_value(out, value, indent + 2, true)?
                    }
                    Value::Array(items) if !items.is_empty() => {
                        write_value(out, value, indent + 2, true)?
                    }
                    _ => {
                        // Values are aligned in one column after keys of up to 15 letters.
                        out.extend(std::iter::repeat_n(
                            ' ',
                            if width < 16 { 16 - width } else { 1 },
                        ));
                        write_scalar(out, value)?;
                    }
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (i, item) in items.iter().enumerate() {
                if i > 0 || own_line {
                    new_line(out, indent);
                }
                out.push_str("- ");
                write_value(out, item, indent + 2, false)?;
            }
        }
        _ => {
            if own_line {
                out.push(' ');
            }
            write_scalar(out, value)?;
        }
    }
    Ok(())
}

fn new_line(out: &mut String, indent: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
}

fn key_text(key: &Value) -> Result<String, MetadataError> {
    /// YAML reads a longer key only after `? `, which LLVM's writer never prints.
    const LONGEST_KEY: usize = 1024;

    let mut text = String::new();
    match key {
        // Tags of keys are ignored, so a key `1` or `true` cannot be marked as a string.
        Value::String(s) if matches!(s.as_str().map(|s| scalar(s, None)), Some(Ok(v)) if !v.is_str()) =>
        {
            return Err(MetadataError::NoText(
                "a key that is a string and reads as another type",
            ));
        }
        Value::String(_) | Value::Integer(_) | Value::Boolean(_) => write_scalar(&mut text, key)?,
        _ => {
            return Err(MetadataError::NoText(
                "a key that is not a string, integer or boolean",
            ));
        }
    }
    if text.chars().count() > LONGEST_KEY {
        return Err(MetadataError::NoText(
            "a key of more than 1,024 characters as YAML writes it",
        ));
    }
    Ok(text)
}

fn write_scalar(out: &mut String, value: &Value) -> Result<(), MetadataError> {
    match value {
        Value::Nil => out.push_str("!nil ''"),
        Value::Boolean(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Integer(i) => out.push_str(&i.to_string()),
        Value::String(s) => {
            let text = s
                .as_str()
                .ok_or(MetadataError::NoText("a string that is not UTF-8"))?;
            // Without a tag the text would be read as another type.
            if !matches!(scalar(text, None), Ok(Value::String(_))) {
                out.push_str("!str ");
            }
            write_string(out, text);
        }
        Value::Array(_) => out.push_str("[]"),
        Value::Map(_) => out.push_str("{}"),
        Value::F32(_) | Value::F64(_) => {
            return Err(MetadataError::NoText("a floating-point number"));
        }
        Value::Binary(_) => return Err(MetadataError::NoText("binary data")),
        Value::Ext(..) => return Err(MetadataError::NoText("a msgpack extension")),
    }
    Ok(())
}

/// Writes a string plain, in single or in double quotes, as LLVM chooses.
fn write_string(out: &mut String, text: &str) {
    let special_start = |c: char| "-?:\\,[]{}#&*!|>'\"%@`".contains(c);
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-^., \t".contains(c);
    let double = |c: char| c.is_control() && c != '\t' || !c.is_ascii();
    let space = |c: char| c.is_ascii_whitespace() || c == '\x0b';
    if text.chars().any(double) {
        out.push('"');
        for c in text.chars() {
            match c {
                '\\' => out.push_str("\\\\"),
                '"' => out.push_str("\\\""),
                '\0' => out.push_str("\\0"),
                '\x07' => out.push_str("\\a"),
                '\x08' => out.push_str("\\b"),
                '\t' => out.push_str("\\t"),
                '\n' => out.push_str("\\n"),
                '\x0b' => out.push_str("\\v"),
                '\x0c' => out.push_str("\\f"),
                '\r' => out.push_str("\\r"),
                '\x1b' => out.push_str("\\e"),
                '\u{85}' => out.push_str("\\N"),
                '\u{a0}' => out.push_str("\\_"),
                '\u{2028}' => out.push_str("\\L"),
                '\u{2029}' => out.push_str("\\P"),
                c if (c as u32) < 0x20 => out.push_str(&format!("\\x{:02X}", c as u32)),
                c if (0x80..0xa0).contains(&(c as u32)) || c == '\u{feff}' => {
                    out.push_str(&format!("\\u{:04X}", c as u32))
                }
                c => out.push(c),
            }
        }
        out.push('"');
    } else if text.starts_with(special_start)
        || text.starts_with(space)
        || text.ends_with(space)
        || matches!(text, "" | "null" | "Null" | "NULL" | "~")
        || matches!(text, "true" | "True" | "TRUE" | "false" | "False" | "FALSE")
        || is_yaml_number(text)
        || !text.chars().all(plain)
    {
        out.push('\'');
        out.push_str(&text.replace('\'', "''"));
        out.push('\'');
    } else {
        out.push_str(text);
    }
}

/// Returns true if YAML reads the text as a number; LLVM quotes such texts.
fn is_yaml_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let Some(octal) = text.strip_prefix("0o") {
        return !octal.is_empty() && octal.bytes().all(|b| (b'0'..b'8').contains(&b));
    }
    if let Some(hex) = text.strip_prefix("0x") {
        return !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit());
    }
    if matches!(text, ".nan" | ".NaN" | ".NAN") || matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return true;
    }
    let hex_start = unsigned.starts_with("0x") || unsigned.starts_with("0X");
    !hex_start
        && unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && is_float(unsigned)
}

// ---- shape ----

/// The required type of a field of the metadata.
enum Shape {
    Text,
    OneOf(&'static [&'static str]),
    Int,
    Bool,
    Ints(usize),
    Texts,
    Maps(&'static [Rule]),
}

struct Rule {
    key: &'static str,
    required: bool,
    /// False if only the typed form reads the key: LLVM 14's assembler takes any value.
    checked: bool,
    shape: Shape,
}

const fn need(key: &'static str, shape: Shape) -> Rule {
    Rule {
        key,
        required: true,
        checked: true,
        shape,
    }
}

const fn may(key: &'static str, shape: Shape) -> Rule {
    Rule {
        key,
        required: false,
        checked: true,
        shape,
    }
}

const fn typed(key: &'static str, shape: Shape) -> Rule {
    Rule {
        key,
        required: false,
        checked: false,
        shape,
    }
}

static ROOT: &[Rule] = &[
    need("amdhsa.version", Shape::Ints(2)),
    may("amdhsa.printf", Shape::Texts),
    need("amdhsa.kernels", Shape::Maps(KERNEL)),
    typed("amdhsa.target", Shape::Text),
];

static KERNEL: &[Rule] = &[
    need(".name", Shape::Text),
    need(".symbol", Shape::Text),
    may(
        ".language",
        Shape::OneOf(&[
            "OpenCL C",
            "OpenCL C++",
            "HCC",
            "HIP",
            "OpenMP",
            "Assembler",
        ]),
    ),
    may(".language_version", Shape::Ints(2)),
    may(".args", Shape::Maps(ARG)),
    may(".reqd_workgroup_size", Shape::Ints(3)),
    may(".workgroup_size_hint", Shape::Ints(3)),
    may(".vec_type_hint", Shape::Text),
    may(".device_enqueue_symbol", Shape::Text),
    need(".kernarg_segment_size", Shape::Int),
    need(".group_segment_fixed_size", Shape::Int),
    need(".private_segment_fixed_size", Shape::Int),
    need(".kernarg_segment_align", Shape::Int),
    need(".wavefront_size", Shape::Int),
    need(".sgpr_count", Shape::Int),
    need(".vgpr_count", Shape::Int),
    need(".max_flat_workgroup_size", Shape::Int),
    may(".sgpr_spill_count", Shape::Int),
    may(".vgpr_spill_count", Shape::Int),
    typed(".uses_dynamic_stack", Shape::Bool),
];

const ACCESS: Shape = Shape::OneOf(&["read_only", "write_only", "read_write"]);

static ARG: &[Rule] = &[
    may(".name", Shape::Text),
    may(".type_name", Shape::Text),
    need(".size", Shape::Int),
    need(".offset", Shape::Int),
    need(".value_kind", Shape::OneOf(&VALUE_KIND_NAMES)),
    may(
        ".value_type",
        Shape::OneOf(&[
            "struct", "i8", "u8", "i16", "u16", "f16", "i32", "u32", "f32", "i64", "u64", "f64",
        ]),
    ),
    may(".pointee_align", Shape::Int),
    may(
        ".address_space",
        Shape::OneOf(&[
            "private", "global", "constant", "local", "generic", "region",
        ]),
    ),
    may(".access", ACCESS),
    may(".actual_access", ACCESS),
    may(".is_const", Shape::Bool),
    may(".is_restrict", Shape::Bool),
    may(".is_volatile", Shape::Bool),
    may(".is_pipe", Shape::Bool),
];

/// Checks that a tree has the shape LLVM 14's assembler requires of `.amdgpu_metadata`. Unknown keys are accepted.
///
/// # Errors
/// [`MetadataError::Shape`] for the first missing or mistyped field.
pub fn verify(root: &Value) -> Result<(), MetadataError> {
    verify_map(root, ROOT, "")
}

/// Like [`verify`], for a note's descriptor.
///
/// # Errors
/// See [`decode`] and [`verify`].
pub fn verify_note(descriptor: &[u8]) -> Result<(), MetadataError> {
    match quick::verified(descriptor) {
        Some(_) => Ok(()),
        None => verify(&decode(descriptor)?),
    }
}

fn verify_map(value: &Value, rules: &[Rule], path: &str) -> Result<(), MetadataError> {
    let shape = |path: &str, expected: &str| MetadataError::Shape {
        path: path.to_string(),
        expected: expected.to_string(),
    };
    let Value::Map(pairs) = value else {
        return Err(shape(
            if path.is_empty() {
                "the metadata"
            } else {
                path
            },
            "a mapping",
        ));
    };
    for rule in rules.iter().filter(|rule| rule.checked) {
        let path = if path.is_empty() {
            rule.key.to_string()
        } else {
            format!("{path}.{}", rule.key)
        };
        let Some((_, value)) = pairs.iter().find(|(key, _)| key.as_str() == Some(rule.key)) else {
            if rule.required {
                return Err(shape(&path, "a value"));
            }
            continue;
        };
        let ints = |n: usize| {
            value
                .as_array()
                .is_some_and(|a| a.len() == n && a.iter().all(Value::is_number))
        };
        match &rule.shape {
            Shape::Text if !value.is_str() => return Err(shape(&path, "a string")),
            Shape::Int if !value.is_number() => return Err(shape(&path, "an integer")),
            Shape::Bool if !value.is_bool() => return Err(shape(&path, "a boolean")),
            Shape::OneOf(words) if !value.as_str().is_some_and(|v| words.contains(&v)) => {
                return Err(shape(&path, &format!("one of {}", words.join(", "))));
            }
            Shape::Ints(n) if !ints(*n) => {
                return Err(shape(&path, &format!("a sequence of {n} integers")));
            }
            Shape::Texts
                if !value
                    .as_array()
                    .is_some_and(|a| a.iter().all(Value::is_str)) =>
            {
                return Err(shape(&path, "a sequence of strings"));
            }
            Shape::Maps(rules) => {
                let items = value.as_array().ok_or_else(|| shape(&path, "a sequence"))?;
                for (i, item) in items.iter().enumerate() {
                    verify_map(item, rules, &format!("{path}[{i}]"))?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

// ---- typed form ----

/// The kind of a kernel argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ValueKind {
    ByValue,
    GlobalBuffer,
    DynamicSharedPointer,
    Sampler,
    Image,
    Pipe,
    Queue,
    HiddenNone,
    HiddenGlobalOffsetX,
    HiddenGlobalOffsetY,
    HiddenGlobalOffsetZ,
    HiddenPrintfBuffer,
    HiddenHostcallBuffer,
    HiddenDefaultQueue,
    HiddenCompletionAction,
    HiddenMultigridSyncArg,
    HiddenBlockCountX,
    HiddenBlockCountY,
    HiddenBlockCountZ,
    HiddenGroupSizeX,
    HiddenGroupSizeY,
    HiddenGroupSizeZ,
    HiddenRemainderX,
    HiddenRemainderY,
    HiddenRemainderZ,
    HiddenGridDims,
    HiddenHeapV1,
    HiddenPrivateBase,
    HiddenSharedBase,
    HiddenQueuePtr,
    HiddenDynamicLdsSize,
    /// A word unknown to this crate; it is in [`Arg::value_kind_name`].
    Unknown,
}

use ValueKind::*;

static VALUE_KINDS: [(&str, ValueKind); 31] = [
    ("by_value", ByValue),
    ("global_buffer", GlobalBuffer),
    ("dynamic_shared_pointer", DynamicSharedPointer),
    ("sampler", Sampler),
    ("image", Image),
    ("pipe", Pipe),
    ("queue", Queue),
    ("hidden_none", HiddenNone),
    ("hidden_global_offset_x", HiddenGlobalOffsetX),
    ("hidden_global_offset_y", HiddenGlobalOffsetY),
    ("hidden_global_offset_z", HiddenGlobalOffsetZ),
    ("hidden_printf_buffer", HiddenPrintfBuffer),
    ("hidden_hostcall_buffer", HiddenHostcallBuffer),
    ("hidden_default_queue", HiddenDefaultQueue),
    ("hidden_completion_action", HiddenCompletionAction),
    ("hidden_multigrid_sync_arg", HiddenMultigridSyncArg),
    ("hidden_block_count_x", HiddenBlockCountX),
    ("hidden_block_count_y", HiddenBlockCountY),
    ("hidden_block_count_z", HiddenBlockCountZ),
    ("hidden_group_size_x", HiddenGroupSizeX),
    ("hidden_group_size_y", HiddenGroupSizeY),
    ("hidden_group_size_z", HiddenGroupSizeZ),
    ("hidden_remainder_x", HiddenRemainderX),
    ("hidden_remainder_y", HiddenRemainderY),
    ("hidden_remainder_z", HiddenRemainderZ),
    ("hidden_grid_dims", HiddenGridDims),
    ("hidden_heap_v1", HiddenHeapV1),
    ("hidden_private_base", HiddenPrivateBase),
    ("hidden_shared_base", HiddenSharedBase),
    ("hidden_queue_ptr", HiddenQueuePtr),
    ("hidden_dynamic_lds_size", HiddenDynamicLdsSize),
];

static VALUE_KIND_NAMES: [&str; 31] = {
    let mut names = [""; 31];
    let mut i = 0;
    while i < 31 {
        names[i] = VALUE_KINDS[i].0;
        i += 1;
    }
    names
};

impl ValueKind {
    /// Returns the kind of a `.value_kind` word.
    pub fn from_name(name: &str) -> ValueKind {
        VALUE_KINDS
            .iter()
            .find(|(n, _)| *n == name)
            .map_or(Unknown, |(_, kind)| *kind)
    }

    /// Returns the `.value_kind` word; empty for [`ValueKind::Unknown`].
    pub fn name(self) -> &'static str {
        VALUE_KINDS
            .iter()
            .find(|(_, kind)| *kind == self)
            .map_or("", |(name, _)| *name)
    }

    /// Returns true if the runtime fills the argument in; the caller does not see it.
    pub fn hidden(self) -> bool {
        self.name().starts_with("hidden_")
    }
}

/// One kernel argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arg {
    /// Its name in the source, if recorded.
    pub name: Option<String>,
    /// Its type in the source, if recorded, such as `uint*`.
    pub type_name: Option<String>,
    /// Offset in the kernarg segment in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Its kind.
    pub value_kind: ValueKind,
    /// The word of `.value_kind`.
    pub value_kind_name: String,
    /// `global`, `local`, `constant`, `generic`, `private` or `region`.
    pub address_space: Option<String>,
    /// `read_only`, `write_only` or `read_write`, as declared.
    pub access: Option<String>,
    /// The access as used.
    pub actual_access: Option<String>,
    /// Alignment in bytes of the target of a `dynamic_shared_pointer`; 0 if not given.
    pub pointee_align: u64,
    /// True if it points to constant data.
    pub is_const: bool,
    /// True if it is `restrict`.
    pub is_restrict: bool,
    /// True if it is `volatile`.
    pub is_volatile: bool,
    /// True if it is an OpenCL pipe.
    pub is_pipe: bool,
}

/// One kernel's metadata. Numbers that are absent are 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelMetadata {
    /// The kernel's name in the source.
    pub name: String,
    /// The descriptor's symbol, `<name>.kd`.
    pub symbol: String,
    /// The source language, such as `OpenCL C`.
    pub language: Option<String>,
    /// Its major and minor version.
    pub language_version: Option<[u64; 2]>,
    /// Arguments in order, including hidden ones.
    pub args: Vec<Arg>,
    /// Size of the kernarg segment in bytes.
    pub kernarg_segment_size: u64,
    /// Alignment of the kernarg segment in bytes.
    pub kernarg_segment_align: u64,
    /// LDS of a workgroup in bytes, without dynamic LDS.
    pub group_segment_fixed_size: u64,
    /// Scratch of a work-item in bytes.
    pub private_segment_fixed_size: u64,
    /// Work-items per wave.
    pub wavefront_size: u64,
    /// SGPRs used.
    pub sgpr_count: u64,
    /// VGPRs used.
    pub vgpr_count: u64,
    /// SGPRs spilled.
    pub sgpr_spill_count: u64,
    /// VGPRs spilled.
    pub vgpr_spill_count: u64,
    /// Maximum number of work-items per workgroup.
    pub max_flat_workgroup_size: u64,
    /// The workgroup size the kernel must be launched with.
    pub reqd_workgroup_size: Option<[u64; 3]>,
    /// The workgroup size the kernel expects.
    pub workgroup_size_hint: Option<[u64; 3]>,
    /// OpenCL's `vec_type_hint`.
    pub vec_type_hint: Option<String>,
    /// The symbol of the device-enqueue handle.
    pub device_enqueue_symbol: Option<String>,
    /// True if the amount of scratch is not known in advance.
    pub uses_dynamic_stack: bool,
}

/// The metadata of a code object.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Metadata {
    /// Major and minor version of the metadata.
    pub version: [u64; 2],
    /// `amdhsa.target`, if given.
    pub target: Option<String>,
    /// OpenCL printf formats.
    pub printf: Vec<String>,
    /// The kernels.
    pub kernels: Vec<KernelMetadata>,
}

/// The location of an item: in a sequence under a key, of the mapping that is the outer item, or of the root.
struct ItemPath<'a> {
    outer: Option<&'a ItemPath<'a>>,
    key: &'a str,
    index: usize,
}

impl ItemPath<'_> {
    /// Returns the location as shown in messages, with a dot after it.
    fn path(location: Option<&ItemPath>) -> String {
        location.map_or(String::new(), |location| {
            format!(
                "{}{}[{}].",
                ItemPath::path(location.outer),
                location.key,
                location.index
            )
        })
    }
}

fn text_of<'a>(value: &'a ValueRef) -> Option<&'a str> {
    match value {
        ValueRef::String(text) => text.as_str(),
        _ => None,
    }
}

/// Reads fields of one mapping, and keeps its location for messages.
struct Fields<'a> {
    pairs: &'a [(ValueRef<'a>, ValueRef<'a>)],
    location: Option<&'a ItemPath<'a>>,
}

impl<'a> Fields<'a> {
    fn new(
        value: &'a ValueRef<'a>,
        location: Option<&'a ItemPath<'a>>,
    ) -> Result<Fields<'a>, MetadataError> {
        match value {
            ValueRef::Map(pairs) => Ok(Fields { pairs, location }),
            _ => Err(MetadataError::Shape {
                path: match location {
                    Some(_) => ItemPath::path(location),
                    None => "the metadata".into(),
                },
                expected: "a mapping".into(),
            }),
        }
    }

    fn wrong(&self, key: &str, expected: &str) -> MetadataError {
        MetadataError::Shape {
            path: format!("{}{key}", ItemPath::path(self.location)),
            expected: expected.into(),
        }
    }

    fn get<T>(
        &self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&'a ValueRef<'a>) -> Option<T>,
    ) -> Result<Option<T>, MetadataError> {
        let of_key = |(k, _): &&(ValueRef, ValueRef)| text_of(k) == Some(key);
        let Some((_, value)) = self.pairs.iter().find(of_key) else {
            return Ok(None);
        };
        match read(value) {
            Some(value) => Ok(Some(value)),
            None => Err(self.wrong(key, expected)),
        }
    }

    fn text(&self, key: &str) -> Result<Option<String>, MetadataError> {
        self.get(key, "a string", |v| text_of(v).map(str::to_string))
    }

    fn required_text(&self, key: &str) -> Result<String, MetadataError> {
        let missing = || self.wrong(key, "a string");
        self.text(key)?.ok_or_else(missing)
    }

    fn int(&self, key: &str) -> Result<u64, MetadataError> {
        Ok(self
            .get(key, "a number from 0", ValueRef::as_u64)?
            .unwrap_or(0))
    }

    fn flag(&self, key: &str) -> Result<bool, MetadataError> {
        let bool = |value: &ValueRef| match value {
            ValueRef::Boolean(b) => Some(*b),
            _ => None,
        };
        Ok(self.get(key, "a boolean", bool)?.unwrap_or(false))
    }

    fn ints<const N: usize>(&self, key: &str) -> Result<Option<[u64; N]>, MetadataError> {
        let numbers = |v: &ValueRef| {
            let numbers: Option<Vec<u64>> = v.as_array()?.iter().map(ValueRef::as_u64).collect();
            numbers?.try_into().ok()
        };
        let expected = match N {
            2 => "a sequence of 2 numbers",
            3 => "a sequence of 3 numbers",
            _ => "a sequence of numbers",
        };
        self.get(key, expected, numbers)
    }

    fn items<T>(
        &self,
        key: &str,
        read: impl Fn(&ValueRef, &ItemPath) -> Result<T, MetadataError>,
    ) -> Result<Vec<T>, MetadataError> {
        let array = |v: &'a ValueRef<'a>| match v {
            ValueRef::Array(items) => Some(items.as_slice()),
            _ => None,
        };
        let items = self.get(key, "a sequence", array)?;
        let items = items.unwrap_or_default().iter().enumerate();
        items
            .map(|(index, item)| {
                let location = ItemPath {
                    outer: self.location,
                    key,
                    index,
                };
                read(item, &location)
            })
            .collect()
    }
}

impl Metadata {
    /// Reads the typed form of v2's YAML text. The offsets of arguments are computed from their sizes and alignments;
    /// kernels keep v2's spelling of their symbols, `<name>@kd`. Unknown keys are ignored.
    ///
    /// # Errors
    /// [`MetadataError::Yaml`] if it is not YAML; [`MetadataError::Shape`] as in [`Metadata::from_value`], with the
    /// keys of v3.
    pub fn from_v2(text: &str) -> Result<Metadata, MetadataError> {
        let tree = read_yaml(text, false)?;
        let mut metadata = Metadata::from_value(&renamed(&tree, V2_ROOT))?;
        for kernel in &mut metadata.kernels {
            let aligns = kernel.args.iter_mut().scan(0u64, |end, arg| {
                // Up to this point the offset held the alignment.
                let align = arg.offset.max(1);
                arg.offset = end.checked_next_multiple_of(align)?;
                *end = arg.offset.checked_add(arg.size)?;
                Some(())
            });
            if aligns.count() < kernel.args.len() {
                return Err(MetadataError::Shape {
                    path: format!("{}: Args", kernel.name),
                    expected: "sizes that a segment holds".into(),
                });
            }
        }
        Ok(metadata)
    }

    /// Reads the typed form of a tree. Unknown keys are ignored.
    ///
    /// # Errors
    /// [`MetadataError::Shape`] if a known key has a value of another type, or a kernel has no name or symbol.
    pub fn from_value(root: &Value) -> Result<Metadata, MetadataError> {
        Metadata::from_tree(&root.as_ref())
    }

    /// Reads the typed form of a note's descriptor. Unknown keys are ignored.
    ///
    /// # Errors
    /// See [`decode`] and [`Metadata::from_value`].
    pub fn from_note(descriptor: &[u8]) -> Result<Metadata, MetadataError> {
        let mut rest = descriptor;
        match rmpv::decode::read_value_ref_with_max_depth(&mut rest, MSGPACK_DEPTH) {
            Ok(tree) if rest.is_empty() => Metadata::from_tree(&tree),
            // This reports the error.
            _ => Metadata::from_value(&decode(descriptor)?),
        }
    }

    fn from_tree(root: &ValueRef) -> Result<Metadata, MetadataError> {
        let fields = Fields::new(root, None)?;
        Ok(Metadata {
            version: fields.ints("amdhsa.version")?.unwrap_or([0, 0]),
            target: fields.text("amdhsa.target")?,
            printf: fields.items("amdhsa.printf", |v, location| {
                let text = text_of(v).map(str::to_string);
                text.ok_or_else(|| MetadataError::Shape {
                    path: ItemPath::path(Some(location)),
                    expected: "a string".into(),
                })
            })?,
            kernels: fields.items("amdhsa.kernels", kernel)?,
        })
    }
}

/// The conversion of a scalar of v2's text.
#[derive(Clone, Copy)]
enum V2 {
    /// A string, unchanged.
    Text,
    /// A word, converted to v3's spelling.
    Word,
    Int,
    Bool,
    /// A sequence of integers, or of strings.
    Ints,
    Texts,
    Maps(&'static [(&'static str, &'static str, V2)]),
    /// A mapping whose keys belong to the enclosing mapping.
    Inner(&'static [(&'static str, &'static str, V2)]),
}

/// v2's keys, v3's keys, and the types of their values.
static V2_ROOT: &[(&str, &str, V2)] = &[
    ("Version", "amdhsa.version", V2::Ints),
    ("Printf", "amdhsa.printf", V2::Texts),
    ("Kernels", "amdhsa.kernels", V2::Maps(V2_KERNEL)),
];
static V2_KERNEL: &[(&str, &str, V2)] = &[
    ("Name", ".name", V2::Text),
    ("SymbolName", ".symbol", V2::Text),
    ("Language", ".language", V2::Text),
    ("LanguageVersion", ".language_version", V2::Ints),
    ("Args", ".args", V2::Maps(V2_ARG)),
    ("Attrs", "", V2::Inner(V2_ATTRS)),
    ("CodeProps", "", V2::Inner(V2_CODE)),
];
static V2_ATTRS: &[(&str, &str, V2)] = &[
    ("ReqdWorkGroupSize", ".reqd_workgroup_size", V2::Ints),
    ("WorkGroupSizeHint", ".workgroup_size_hint", V2::Ints),
    ("VecTypeHint", ".vec_type_hint", V2::Text),
    ("RuntimeHandle", ".device_enqueue_symbol", V2::Text),
];
static V2_CODE: &[(&str, &str, V2)] = &[
    ("KernargSegmentSize", ".kernarg_segment_size", V2::Int),
    (
        "GroupSegmentFixedSize",
        ".group_segment_fixed_size",
        V2::Int,
    ),
    (
        "PrivateSegmentFixedSize",
        ".private_segment_fixed_size",
        V2::Int,
    ),
    ("KernargSegmentAlign", ".kernarg_segment_align", V2::Int),
    ("WavefrontSize", ".wavefront_size", V2::Int),
    ("NumSGPRs", ".sgpr_count", V2::Int),
    ("NumVGPRs", ".vgpr_count", V2::Int),
    ("MaxFlatWorkGroupSize", ".max_flat_workgroup_size", V2::Int),
    ("IsDynamicCallStack", ".uses_dynamic_stack", V2::Bool),
    ("NumSpilledSGPRs", ".sgpr_spill_count", V2::Int),
    ("NumSpilledVGPRs", ".vgpr_spill_count", V2::Int),
];
static V2_ARG: &[(&str, &str, V2)] = &[
    ("Name", ".name", V2::Text),
    ("TypeName", ".type_name", V2::Text),
    ("Size", ".size", V2::Int),
    // Offsets are computed from these.
    ("Align", ".offset", V2::Int),
    ("ValueKind", ".value_kind", V2::Word),
    ("PointeeAlign", ".pointee_align", V2::Int),
    ("AddrSpaceQual", ".address_space", V2::Word),
    ("AccQual", ".access", V2::Word),
    ("ActualAccQual", ".actual_access", V2::Word),
    ("IsConst", ".is_const", V2::Bool),
    ("IsRestrict", ".is_restrict", V2::Bool),
    ("IsVolatile", ".is_volatile", V2::Bool),
    ("IsPipe", ".is_pipe", V2::Bool),
];

/// Converts a tree of v2 to v3's keys and types. Values that do not fit their type stay unchanged, and are refused
/// later.
fn renamed(value: &Value, keys: &'static [(&'static str, &'static str, V2)]) -> Value {
    let Value::Map(pairs) = value else {
        return value.clone();
    };
    let mut out = Vec::new();
    for (key, value) in pairs {
        let known = keys.iter().find(|(old, ..)| key.as_str() == Some(old));
        let Some((_, new, what)) = known else {
            continue;
        };
        let list = |each: &dyn Fn(&Value) -> Value| match value {
            Value::Array(items) => Value::Array(items.iter().map(each).collect()),
            other => other.clone(),
        };
        let new_value = match what {
            V2::Text | V2::Texts => value.clone(),
            V2::Int => v2_integer(value),
            V2::Ints => list(&v2_integer),
            V2::Bool => match value.as_str().and_then(boolean) {
                Some(b) => Value::Boolean(b),
                None => value.clone(),
            },
            V2::Word => match value.as_str() {
                // The default access is omitted in v3.
                Some("Default") => continue,
                Some(word) => Value::from(v3_word(word)),
                None => value.clone(),
            },
            V2::Maps(keys) => list(&|item| renamed(item, keys)),
            V2::Inner(keys) => {
                if let Value::Map(inner) = renamed(value, keys) {
                    out.extend(inner);
                }
                continue;
            }
        };
        out.push((Value::from(*new), new_value));
    }
    Value::Map(out)
}

fn v2_integer(value: &Value) -> Value {
    value
        .as_str()
        .and_then(integer)
        .unwrap_or_else(|| value.clone())
}

/// Converts a word such as `HiddenGlobalOffsetX` to v3's `hidden_global_offset_x`.
fn v3_word(word: &str) -> String {
    let mut out = String::new();
    for c in word.replace("MultiGrid", "Multigrid").chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn kernel(value: &ValueRef, location: &ItemPath) -> Result<KernelMetadata, MetadataError> {
    let f = Fields::new(value, Some(location))?;
    Ok(KernelMetadata {
        name: f.required_text(".name")?,
        symbol: f.required_text(".symbol")?,
        language: f.text(".language")?,
        language_version: f.ints(".language_version")?,
        args: f.items(".args", arg)?,
        kernarg_segment_size: f.int(".kernarg_segment_size")?,
        kernarg_segment_align: f.int(".kernarg_segment_align")?,
        group_segment_fixed_size: f.int(".group_segment_fixed_size")?,
        private_segment_fixed_size: f.int(".private_segment_fixed_size")?,
        wavefront_size: f.int(".wavefront_size")?,
        sgpr_count: f.int(".sgpr_count")?,
        vgpr_count: f.int(".vgpr_count")?,
        sgpr_spill_count: f.int(".sgpr_spill_count")?,
        vgpr_spill_count: f.int(".vgpr_spill_count")?,
        max_flat_workgroup_size: f.int(".max_flat_workgroup_size")?,
        reqd_workgroup_size: f.ints(".reqd_workgroup_size")?,
        workgroup_size_hint: f.ints(".workgroup_size_hint")?,
        vec_type_hint: f.text(".vec_type_hint")?,
        device_enqueue_symbol: f.text(".device_enqueue_symbol")?,
        uses_dynamic_stack: f.flag(".uses_dynamic_stack")?,
    })
}

fn arg(value: &ValueRef, location: &ItemPath) -> Result<Arg, MetadataError> {
    let f = Fields::new(value, Some(location))?;
    let value_kind_name = f.required_text(".value_kind")?;
    Ok(Arg {
        name: f.text(".name")?,
        type_name: f.text(".type_name")?,
        offset: f.int(".offset")?,
        size: f.int(".size")?,
        value_kind: ValueKind::from_name(&value_kind_name),
        value_kind_name,
        address_space: f.text(".address_space")?,
        access: f.text(".access")?,
        actual_access: f.text(".actual_access")?,
        pointee_align: f.int(".pointee_align")?,
        is_const: f.flag(".is_const")?,
        is_restrict: f.flag(".is_restrict")?,
        is_volatile: f.flag(".is_volatile")?,
        is_pipe: f.flag(".is_pipe")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: String = text.split_whitespace().collect();
        (0..digits.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap())
            .collect()
    }

    /// YAML and msgpack have the same depth limit.
    #[test]
    fn a_tree_of_any_depth_is_read_as_text_and_as_msgpack_or_as_neither() {
        for levels in 1..200 {
            let mut list = Value::from("a string");
            let mut map = Value::from("a string");
            for _ in 1..levels {
                list = Value::Array(vec![list]);
                map = Value::Map(vec![("k".into(), map)]);
            }
            for tree in [list, map] {
                let text = to_yaml(&tree).unwrap();
                assert_eq!(parse_yaml(&text).is_ok(), levels <= DEPTH, "{levels}");
                assert_eq!(decode(&encode(&tree)).is_ok(), levels <= DEPTH, "{levels}");
            }
        }
    }

    /// A reader looks for the `:` after a key within 1,024 characters (YAML 1.2, 7.4.2). Longer keys are refused, and
    /// every key that is written is read again.
    #[test]
    fn long_keys_are_read_again_or_refused() {
        for letter in ["a", "\u{13}", "'", "-", "é"] {
            for letters in 1..1100 {
                let key = letter.repeat(letters);
                let tree = Value::Map(vec![(key.as_str().into(), Value::Array(vec![1.into()]))]);
                match to_yaml(&tree) {
                    Ok(text) => assert_eq!(parse_yaml(&text).as_ref(), Ok(&tree), "{text}"),
                    Err(error) => assert!(letters > 200, "{letters} of {letter:?}: {error}"),
                }
            }
        }
    }

    /// Note bytes that llvm-mc 14 gives for the same lines (without the enclosing version and kernel keys).
    #[test]
    fn scalars_are_typed_as_llvm_does() {
        for (text, bytes) in [
            (
                "x: '1'\ny: !str 1\nzz: !str abc",
                "83 c3a131 a17801 a27a7aa3616263",
            ),
            (
                "a: 010\nb: 0x10\nc: 0b11\nd: 0o17\ne: +5\nf: -5\ng: 1_000",
                "87 a16108 a16210 a16303 a1640f a165c0 a166fb a167a5315f303030",
            ),
            (
                "h: 1.5\ni: 1e400\nj: .inf\nk: inf\nl: nan\nm: 0x1p3\no: 5.",
                "87 a168c0 a169c0 a16aa42e696e66 a16bc0 a16cc0 a16dc0 a16fc0",
            ),
            (
                "a: yes\nb: No\nc: TRUE\nd: y\ne: off\nf: ~\ng: null\nh:\ni: ''\nj: 'true'",
                "8a a161c3 a162c2 a163c3 a164c3 a165c2 a166a17e a167a46e756c6c a16890 a169c0 a16ac3",
            ),
            (
                "f: 18446744073709551615\ng: -9223372036854775808\nh: 18446744073709551616\ni: 300\nj: 70000\nk: -200\nl: -40000\nm: 5000000000",
                "88 a166cfffffffffffffffff a167d38000000000000000 a168c0 a169cd012c a16ace00011170 a16bd1ff38 a16cd2ffff63c0 a16dcf000000012a05f200",
            ),
            (
                "a: {b: 1, c: [1,[2,3],{}]}\nd: [[1,2],[3,{r: 5, q: 4}]]\ne: []\nf: {}",
                "84 a16182a16201a1639301920203 80 a1649292010292 0382a17104a17205 a16590 a16680",
            ),
            (
                "1: a\n-3: b\ntrue: c\n~: d\nzz: f\nAA: g",
                "86 fda162 01a161 c3a163 a24141a167 a27a7aa166 a17ea164",
            ),
            (
                "a: !nil\nb: !nil ''\nc: !bool true\nd: !float 1\ne: !int 5\nf: !foo x\ng: !!str 5",
                "87 a161 c0 a162c0 a163c3 a164c0 a16505 a166a178 a16705",
            ),
            (
                "a: \"x\\ny\\x01z\\u00e9\"\nb: 'it''s'\nc: |\n  lit\n  two\nd: >\n  fold\n  ed\n",
                "84 a161a7780a79017ac3a9 a162a469742773 a163a86c69740a74776f0a a164a8666f6c642065640a",
            ),
            ("a: 1\na: 2", "81 a16102"),
        ] {
            assert_eq!(encode(&parse_yaml(text).unwrap()), hex(bytes), "{text}");
        }
    }

    #[test]
    fn bad_text_is_refused() {
        for text in [
            "",
            "---\n...\n",
            "a: &x 1\nb: *x",
            "[a: b",
            "? [1]\n: 2",
            "a: !int x",
            "a: !bool 5",
            "a: b: c",
        ] {
            assert!(
                matches!(parse_yaml(text), Err(MetadataError::Yaml { .. })),
                "{text}"
            );
        }
        let deep = "[".repeat(100_000);
        assert!(parse_yaml(&deep).is_err());
    }

    /// Strings are quoted as llvm-mc 14 quotes them, and round-trip.
    #[test]
    fn strings_are_quoted_as_llvm_does() {
        for (string, text) in [
            ("abc", "abc"),
            ("OpenCL C", "OpenCL C"),
            ("uint*", "'uint*'"),
            ("it's", "'it''s'"),
            ("5", "!str '5'"),
            ("true", "!str 'true'"),
            ("nan", "!str nan"),
            ("", "!str ''"),
            ("~", "'~'"),
            (".inf", "'.inf'"),
            ("a/b", "'a/b'"),
            ("x\ny", "\"x\\ny\""),
            ("é", "\"é\""),
            (" a", "' a'"),
            ("-a", "'-a'"),
            ("a,b", "a,b"),
            ("\u{1}\"\\", "\"\\x01\\\"\\\\\""),
        ] {
            let tree = Value::Map(vec![("k".into(), string.into())]);
            assert_eq!(
                to_yaml(&tree).unwrap(),
                format!("---\nk:               {text}\n...\n")
            );
            assert_eq!(parse_yaml(&to_yaml(&tree).unwrap()).unwrap(), tree);
        }
    }

    #[test]
    fn nested_trees_have_faithful_text() {
        for text in [
            "a: [1,[2,[3,4]],{b: [5,{c: 6}]},[],{}]",
            "5",
            "[1, 2]",
            "{}",
            "y: {n: {}}",
            "[[[]]]",
        ] {
            let bytes = encode(&parse_yaml(text).unwrap());
            let printed = faithful_text(&bytes).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(encode(&parse_yaml(&printed).unwrap()), bytes, "{printed}");
        }
        // Keys out of order, a long form, a float, invalid UTF-8.
        for bytes in [
            "82 a162 01 a161 02",
            "81 a161 cc01",
            "81 a161 ca3f800000",
            "81 a161 a1ff",
            "81 a161 01 00",
            "81",
            "",
        ] {
            assert_eq!(faithful_text(&hex(bytes)), None, "{bytes}");
        }
    }

    #[test]
    fn deep_notes_are_refused() {
        assert!(decode(&vec![0x91; 100_000]).is_err());
    }

    #[test]
    fn shapes() {
        let good = "amdhsa.version: [1, 1]\namdhsa.kernels: []";
        assert_eq!(verify(&parse_yaml(good).unwrap()), Ok(()));
        for (text, path) in [
            ("[]", "the metadata"),
            ("amdhsa.kernels: []", "amdhsa.version"),
            ("amdhsa.version: [1]\namdhsa.kernels: []", "amdhsa.version"),
            (
                "amdhsa.version: [1, 1]\namdhsa.kernels: [{.name: 5}]",
                "amdhsa.kernels[0]..name",
            ),
            (
                "amdhsa.version: [1, 1]\namdhsa.kernels: [{.name: a}]",
                "amdhsa.kernels[0]..symbol",
            ),
        ] {
            match verify(&parse_yaml(text).unwrap()) {
                Err(MetadataError::Shape { path: p, .. }) => assert_eq!(p, path),
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
