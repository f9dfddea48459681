//! The fast path between a note and its text, for the output of compilers and of [`super::to_yaml`]: mappings of
//! ordered string keys, sequences, integers from 0, booleans and strings that need no escapes, one value per line, each
//! level indented by two.
//! No tree is built. For anything else in a note or in a text these functions return `None`, and the tree and the YAML
//! library handle it. For input of the fast path the slow path gives the same result.

use super::{DEPTH, ROOT, Rule, Shape, scalar, write_string};
use rmpv::Value;

// ---- reading msgpack ----

/// One value of a note, or the beginning of one.
enum Item<'a> {
    Map(usize),
    Array(usize),
    /// Text that may not be UTF-8.
    Text(&'a [u8]),
    Int(u64),
    Bool(bool),
}

/// A position in a note's bytes.
#[derive(Clone)]
struct Note<'a> {
    rest: &'a [u8],
}

impl<'a> Note<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }

    /// Reads a big-endian number.
    fn number(&mut self, bytes: usize) -> Option<u64> {
        let bytes = self.bytes(bytes)?;
        Some(bytes.iter().fold(0, |n, byte| n << 8 | *byte as u64))
    }

    fn next(&mut self) -> Option<Item<'a>> {
        let (&marker, rest) = self.rest.split_first()?;
        self.rest = rest;
        let length = match marker {
            0x00..=0x7f => return Some(Item::Int(marker as u64)),
            0x80..=0x8f => return Some(Item::Map(marker as usize & 15)),
            0x90..=0x9f => return Some(Item::Array(marker as usize & 15)),
            0xc2 | 0xc3 => return Some(Item::Bool(marker == 0xc3)),
            0xcc..=0xcf => return Some(Item::Int(self.number(1 << (marker - 0xcc))?)),
            0xdc => return Some(Item::Array(self.number(2)? as usize)),
            0xde => return Some(Item::Map(self.number(2)? as usize)),
            0xa0..=0xbf => marker as usize & 31,
            0xd9 => self.number(1)? as usize,
            0xda => self.number(2)? as usize,
            _ => return None,
        };
        Some(Item::Text(self.bytes(length)?))
    }

    /// Reads text of any encoding.
    fn bare_text(&mut self) -> Option<&'a [u8]> {
        match self.next()? {
            Item::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Reads text in UTF-8.
    fn text(&mut self) -> Option<&'a [u8]> {
        self.bare_text().filter(|text| is_utf8(text))
    }

    fn int(&mut self) -> Option<u64> {
        match self.next()? {
            Item::Int(n) => Some(n),
            _ => None,
        }
    }

    fn array(&mut self) -> Option<usize> {
        match self.next()? {
            Item::Array(count) => Some(count),
            _ => None,
        }
    }

    /// Skips a value.
    fn skip(&mut self) -> Option<()> {
        let mut values = 1usize;
        while values > 0 {
            values -= 1;
            // Each counted value takes at least one byte, which bounds the loop.
            values += match self.next()? {
                Item::Map(count) => 2 * count,
                Item::Array(count) => count,
                Item::Text(text) if !is_utf8(text) => return None,
                _ => 0,
            };
        }
        Some(())
    }
}

/// Nearly all text is ASCII, which is quicker to find than UTF-8.
fn is_utf8(text: &[u8]) -> bool {
    text.is_ascii() || str::from_utf8(text).is_ok()
}

// ---- note to text ----

/// Returns the text that [`super::to_yaml`] gives for a note, if assembling the text gives exactly the same bytes
/// again.
pub(super) fn text_of(note: &[u8]) -> Option<String> {
    written(note).filter(|text| note_of(text).is_some_and(|again| again == note))
}

/// Returns the text that [`super::to_yaml`] gives for a note. It may not give the same bytes again.
pub(super) fn written(note: &[u8]) -> Option<String> {
    let mut out = Vec::with_capacity(3 * note.len());
    out.extend_from_slice(b"---");
    let mut rest = Note { rest: note };
    let Item::Map(count) = rest.next()? else {
        return None;
    };
    write_map(&mut rest, count, 0, true, &mut out)?;
    out.extend_from_slice(b"\n...\n");
    match rest.rest {
        [] => String::from_utf8(out).ok(),
        _ => None,
    }
}

/// The blanks at the start of lines, and after keys.
const BLANKS: &[u8; 64] = &[b' '; 64];

fn new_line(indent: usize, out: &mut Vec<u8>) -> Option<()> {
    out.push(b'\n');
    out.extend_from_slice(BLANKS.get(..indent)?);
    Some(())
}

/// Writes a mapping that has pairs. The first key goes at the end of the text, or on a line of its own.
fn write_map(
    note: &mut Note,
    count: usize,
    indent: usize,
    own_line: bool,
    out: &mut Vec<u8>,
) -> Option<()> {
    if count == 0 {
        return None;
    }
    for n in 0..count {
        if n > 0 || own_line {
            new_line(indent, out)?;
        }
        let key = note.bare_text()?;
        if !plain_key(key) {
            return None;
        }
        out.extend_from_slice(key);
        out.push(b':');
        match note.next()? {
            Item::Map(count) => write_map(note, count, indent + 2, true, out)?,
            Item::Array(count @ 1..) => {
                for _ in 0..count {
                    new_line(indent + 2, out)?;
                    out.extend_from_slice(b"- ");
                    match note.next()? {
                        Item::Map(count) => write_map(note, count, indent + 4, false, out)?,
                        Item::Array(_) => return None,
                        item => write_scalar(item, out)?,
                    }
                }
            }
            item => {
                out.extend_from_slice(&BLANKS[..16usize.saturating_sub(key.len()).max(1)]);
                write_scalar(item, out)?;
            }
        }
    }
    Some(())
}

fn write_scalar(item: Item, out: &mut Vec<u8>) -> Option<()> {
    match item {
        Item::Text(text) if plain_string(text) => out.extend_from_slice(text),
        Item::Text(text) => {
            let text = str::from_utf8(text).ok()?;
            if !is_string(text) {
                return None;
            }
            let mut quoted = String::new();
            write_string(&mut quoted, text);
            out.extend_from_slice(quoted.as_bytes());
        }
        Item::Int(n) => {
            let mut digits = [0; 20];
            let mut at = digits.len();
            let mut n = n;
            loop {
                at -= 1;
                digits[at] = b'0' + (n % 10) as u8;
                n /= 10;
                if n == 0 {
                    break;
                }
            }
            out.extend_from_slice(&digits[at..]);
        }
        Item::Bool(true) => out.extend_from_slice(b"true"),
        Item::Bool(false) => out.extend_from_slice(b"false"),
        Item::Array(0) => out.extend_from_slice(b"[]"),
        Item::Array(_) | Item::Map(_) => return None,
    }
    Some(())
}

// ---- what strings are plain ----

/// The characters of words.
const WORD: u8 = 1;
/// The characters that may begin a string without quotes.
const START: u8 = 2;
/// The characters of strings without quotes.
const PLAIN: u8 = 4;

static KIND: [u8; 256] = {
    let mut table = [0; 256];
    let mut c = 0;
    while c < 256 {
        table[c] = match c as u8 {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => WORD | START | PLAIN,
            b'0'..=b'9' | b'.' => WORD | PLAIN,
            b'-' | b'^' | b',' | b' ' => PLAIN,
            _ => 0,
        };
        c += 1;
    }
    table
};

/// Returns true if a text begins like a string that needs no quotes, and is not one of the words that may have another
/// type, in any case of its letters: y, n, on, no, off, yes, nan, inf, true, null, false, infinity.
#[inline]
fn begins_plain(text: &[u8]) -> bool {
    let start = |n: usize| text.get(n).is_some_and(|c| KIND[*c as usize] & START != 0);
    if !start(0) {
        // `.name` is plain, but numbers, `.nan` and `.inf` are not.
        return text.first() == Some(&b'.') && start(1) && text.len() != 4;
    }
    if !matches!(text.len(), 1..=5 | 8) {
        return true;
    }
    let words = [
        "y", "n", "on", "no", "off", "yes", "nan", "inf", "true", "null", "false", "infinity",
    ];
    !words
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
}

/// Returns true if a text is a string that is written without quotes.
#[inline]
fn plain_string(text: &[u8]) -> bool {
    begins_plain(text)
        && text.last() != Some(&b' ')
        && text.iter().all(|c| KIND[*c as usize] & PLAIN != 0)
}

fn plain_key(key: &[u8]) -> bool {
    begins_plain(key)
        && key.len() < BLANKS.len()
        && key.iter().all(|c| KIND[*c as usize] & WORD != 0)
}

/// Returns true if a text is read as a string, not as a number, a boolean or nil.
fn is_string(text: &str) -> bool {
    matches!(scalar(text, None), Ok(Value::String(_)))
}

// ---- text to note ----

/// Returns the note of a text.
pub(super) fn note_of(text: &str) -> Option<Vec<u8>> {
    let mut reader = Text {
        rest: text.strip_prefix("---\n")?.as_bytes(),
        out: Vec::with_capacity(text.len() / 2),
    };
    // The limit is well below the tree's depth limit, which is counted in another way.
    reader.map(0, DEPTH / 2)?;
    let end = reader.rest.strip_prefix(b"...\n")?;
    end.iter().all(|c| *c == b'\n').then_some(reader.out)
}

/// A text whose rest begins with a line, except that blanks and a dash may already have been read.
struct Text<'a> {
    rest: &'a [u8],
    out: Vec<u8>,
}

impl<'a> Text<'a> {
    /// Returns the number of blanks at the start of the next line.
    fn indent(&self) -> usize {
        self.rest.iter().take_while(|c| **c == b' ').count()
    }

    /// Returns the next `count` bytes and skips them.
    fn pass(&mut self, count: usize) -> Option<&'a [u8]> {
        let (passed, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(passed)
    }

    fn eat(&mut self, c: u8) -> bool {
        match self.rest.split_first() {
            Some((first, rest)) if *first == c => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Reads the pairs of a mapping whose keys are indented by `indent`; the first key is next, its indentation already
    /// read.
    fn map(&mut self, indent: usize, depth: usize) -> Option<()> {
        let begin = self.out.len();
        self.out.push(0x80);
        let mut count = 0;
        let mut last: &[u8] = &[];
        loop {
            let word = |c: &&u8| KIND[**c as usize] & WORD != 0;
            let key = self.pass(self.rest.iter().take_while(word).count())?;
            // Keys are in the order of the note's, each once.
            if !plain_key(key) || key <= last || !self.eat(b':') {
                return None;
            }
            last = key;
            self.string(key)?;
            count += 1;
            if self.eat(b'\n') {
                if self.indent() != indent + 2 || depth == 0 {
                    return None;
                }
                self.pass(indent + 2)?;
                match self.rest.starts_with(b"- ") {
                    true => self.array(indent + 2, depth - 1)?,
                    false => self.map(indent + 2, depth - 1)?,
                }
            } else {
                let blanks = self.indent();
                if blanks == 0 {
                    return None;
                }
                self.pass(blanks)?;
                self.scalar()?;
            }
            // The document's end does not begin like a key.
            if self.indent() != indent || self.rest.starts_with(b"...") {
                break;
            }
            self.pass(indent)?;
        }
        // A line that is indented more continues the previous line.
        if self.indent() > indent {
            return None;
        }
        self.close(begin, count, 0xde)
    }

    /// Reads the items of a sequence whose dashes are indented by `indent`; the first dash is next, its indentation
    /// already read.
    fn array(&mut self, indent: usize, depth: usize) -> Option<()> {
        let begin = self.out.len();
        self.out.push(0x90);
        let mut count = 0;
        while self.eat(b'-') {
            if !self.eat(b' ') || depth == 0 {
                return None;
            }
            count += 1;
            let word = |c: &&u8| KIND[**c as usize] & WORD != 0;
            let key = self.rest.iter().take_while(word).count();
            match (self.rest.get(key), self.rest.get(key + 1)) {
                (Some(b':'), Some(b' ' | b'\n')) => self.map(indent + 2, depth - 1)?,
                _ => self.scalar()?,
            }
            if self.indent() != indent {
                break;
            }
            if self.rest.get(indent) == Some(&b'-') {
                self.pass(indent)?;
            }
        }
        if self.indent() > indent {
            return None;
        }
        self.close(begin, count, 0xdc)
    }

    /// Stores the number of values of a mapping or a sequence in its first byte, or in three bytes.
    fn close(&mut self, begin: usize, count: usize, long: u8) -> Option<()> {
        if count < 16 {
            self.out[begin] |= count as u8;
            return Some(());
        }
        let [high, low] = u16::try_from(count).ok()?.to_be_bytes();
        self.out.splice(begin..begin + 1, [long, high, low]);
        Some(())
    }

    /// Reads a value that ends with the line.
    fn scalar(&mut self) -> Option<()> {
        let end = self.rest.iter().position(|c| *c == b'\n')?;
        let line = self.pass(end)?;
        self.pass(1)?;
        match line {
            b"true" => self.out.push(0xc3),
            b"false" => self.out.push(0xc2),
            b"[]" => self.out.push(0x90),
            [b'0'..=b'9', ..] => self.int(line)?,
            [b'\'', text @ .., b'\''] => {
                let printed = |c: &u8| matches!(*c, b' '..=b'~') && *c != b'\'';
                if !text.iter().all(printed) || !is_string(str::from_utf8(text).ok()?) {
                    return None;
                }
                self.string(text)?;
            }
            _ if plain_string(line) => self.string(line)?,
            _ => return None,
        }
        Some(())
    }

    fn int(&mut self, digits: &[u8]) -> Option<()> {
        let mut n = 0u64;
        if digits.len() > 19 || digits[0] == b'0' && digits.len() > 1 {
            return None;
        }
        for digit in digits {
            if !digit.is_ascii_digit() {
                return None;
            }
            n = n * 10 + (digit - b'0') as u64;
        }
        let bytes = n.to_be_bytes();
        match n {
            0..=0x7f => self.out.push(n as u8),
            0x80..=0xff => self.out.extend([0xcc, n as u8]),
            0x100..=0xffff => {
                self.out.push(0xcd);
                self.out.extend(&bytes[6..]);
            }
            0x1_0000..=0xffff_ffff => {
                self.out.push(0xce);
                self.out.extend(&bytes[4..]);
            }
            _ => {
                self.out.push(0xcf);
                self.out.extend(bytes);
            }
        }
        Some(())
    }

    fn string(&mut self, text: &[u8]) -> Option<()> {
        match text.len() {
            0..=31 => self.out.push(0xa0 | text.len() as u8),
            32..=255 => self.out.extend([0xd9, text.len() as u8]),
            len => {
                let [high, low] = u16::try_from(len).ok()?.to_be_bytes();
                self.out.extend([0xda, high, low]);
            }
        }
        self.out.extend_from_slice(text);
        Some(())
    }
}

// ---- shape ----

/// Returns the minor version of a note's metadata if [`super::verify`] accepts the note. Its keys must be in order,
/// each once, as [`note_of`] writes them.
pub(super) fn verified(note: &[u8]) -> Option<u64> {
    Some(version(note, false)?[1])
}

/// Returns the version of a note's metadata if its typed form can be read: as [`verified`], and the other keys of the
/// typed form have their types.
pub(super) fn typed_version(note: &[u8]) -> Option<[u64; 2]> {
    version(note, true)
}

/// Checks all of a note, and returns the version of its metadata.
fn version(note: &[u8], typed: bool) -> Option<[u64; 2]> {
    let mut all = Note { rest: note };
    let mut version = None;
    shaped(&mut all, ROOT, typed, &mut version)?;
    version.filter(|_| all.rest.is_empty())
}

/// Skips a mapping that satisfies the rules.
fn shaped(
    note: &mut Note,
    rules: &[Rule],
    typed: bool,
    version: &mut Option<[u64; 2]>,
) -> Option<()> {
    let Item::Map(count) = note.next()? else {
        return None;
    };
    // One bit per rule; no table has more rules than bits.
    let mut seen = 0u64;
    for _ in 0..count {
        let key = note.text()?;
        // Comparing the last letters first decides most comparisons.
        let same = |rule: &str| {
            rule.len() == key.len()
                && rule.as_bytes().last() == key.last()
                && rule.as_bytes() == key
        };
        let known = |rule: &Rule| same(rule.key) && (rule.checked || typed);
        let Some(n) = rules.iter().position(known) else {
            // The tree has a maximum depth.
            let tree = typed && matches!(note.clone().next()?, Item::Map(_) | Item::Array(1..));
            if tree {
                return None;
            }
            note.skip()?;
            continue;
        };
        seen |= 1u64.checked_shl(n as u32)?;
        match &rules[n].shape {
            Shape::Text => drop(note.text()?),
            Shape::OneOf(words) => {
                let word = note.text()?;
                if !words.iter().any(|w| w.as_bytes() == word) {
                    return None;
                }
            }
            Shape::Int => drop(note.int()?),
            Shape::Bool => {
                let Item::Bool(_) = note.next()? else {
                    return None;
                };
            }
            Shape::Ints(wanted) => {
                if note.array()? != *wanted {
                    return None;
                }
                let mut ints = [0; 2];
                for n in 0..*wanted {
                    ints[n.min(1)] = note.int()?;
                }
                if key == b"amdhsa.version" {
                    version.get_or_insert(ints);
                }
            }
            Shape::Texts => {
                for _ in 0..note.array()? {
                    note.text()?;
                }
            }
            Shape::Maps(rules) => {
                for _ in 0..note.array()? {
                    shaped(note, rules, typed, version)?;
                }
            }
        }
    }
    let missing = |(n, rule): (usize, &Rule)| rule.required && seen >> n & 1 == 0;
    (!rules.iter().enumerate().any(missing)).then_some(())
}

#[cfg(test)]
mod tests {
    use super::super::{
        assemble, assemble_tree, decode, encode, faithful_text_of_tree, parse_yaml, to_yaml,
    };
    use super::*;
    use crate::CodeObject;

    struct Random(u64);

    impl Random {
        fn below(&mut self, n: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 16) as usize % n
        }
    }

    const STRINGS: &[&str] = &[
        "abc",
        ".name",
        ".nan",
        ".Inf",
        ".inf",
        ".offset",
        ".5",
        ".e5",
        ".e",
        "..",
        "...",
        "---",
        "y",
        "N",
        "Yes",
        "on",
        "oFF",
        "true",
        "tRue",
        "FALSE",
        "null",
        "Null",
        "~",
        "nan",
        "NaN",
        "nan_",
        "nan(1)",
        "inf",
        "Infinity",
        "infinityx",
        "0x10",
        "0b1",
        "012",
        "5",
        "-5",
        "+5",
        "1e5",
        "1_000",
        "3d",
        "",
        " a",
        "a ",
        "a b",
        "OpenCL C",
        "uint*",
        "it's",
        "'",
        "a'",
        "\"",
        "a: b",
        "a:",
        ":a",
        "a #b",
        "#a",
        "- a",
        "-",
        "-a",
        "a,b",
        ",",
        "[]",
        "{}",
        "[",
        "a]",
        "!str",
        "&a",
        "*a",
        "|",
        ">",
        "%",
        "@",
        "`",
        "a\tb",
        "\t",
        "a\nb",
        "\u{1}",
        "\u{e9}",
        "^a",
        "a^b",
        "_Z3fooPf.kd",
        "_",
        "$a",
        "a$b",
        "<a::b>",
        "a\\b",
        "amdhsa.version",
        "amdhsa.kernels",
        ".args",
        ".size",
        ".symbol",
        ".value_kind",
        "by_value",
        "a_name_that_is_longer_than_thirty_one_characters_and_so_takes_a_length_of_its_own",
    ];

    fn tree(random: &mut Random, depth: usize) -> Value {
        let string = |random: &mut Random| Value::from(STRINGS[random.below(STRINGS.len())]);
        match random.below(if depth == 0 { 7 } else { 11 }) {
            0 => Value::from(1u64 << random.below(64)),
            1 => Value::from((1u64 << random.below(63)) - 1),
            2 => Value::Boolean(random.below(2) == 0),
            3 if random.below(8) == 0 => {
                [Value::Nil, Value::from(-5), Value::F64(1.0)][random.below(3)].clone()
            }
            3..=6 => string(random),
            7 => Value::Array(
                (0..random.below(20))
                    .map(|_| tree(random, depth - 1))
                    .collect(),
            ),
            _ => {
                let mut pairs: Vec<_> = (0..random.below(20))
                    .map(|_| (string(random), tree(random, depth - 1)))
                    .collect();
                if random.below(8) != 0 {
                    pairs.sort_by(|a, b| a.0.as_str().cmp(&b.0.as_str()));
                    pairs.dedup_by(|a, b| a.0 == b.0);
                }
                Value::Map(pairs)
            }
        }
    }

    /// Checks that the library gives the same result as the fast path; returns whether the fast path was used.
    fn same_note(text: &str) -> bool {
        let Some(note) = note_of(text) else {
            return false;
        };
        assert_eq!(parse_yaml(text).map(|t| encode(&t)), Ok(note), "{text}");
        assert_eq!(assemble(text), assemble_tree(text), "{text}");
        true
    }

    #[test]
    fn trees_have_the_same_text_and_come_back_the_same() {
        let mut random = Random(0x5eed_1234_5678_9abc);
        let (mut short, mut read) = (0, 0);
        for n in 0..6000 {
            let tree = match n % 3 {
                0 => tree(&mut random, 3),
                _ => Value::Map(vec![("k".into(), tree(&mut random, 2))]),
            };
            let note = encode(&tree);
            let text = text_of(&note);
            if let Some(text) = &text {
                assert_eq!(to_yaml(&tree).as_ref(), Ok(text));
                assert_eq!(faithful_text_of_tree(&note).as_ref(), Some(text));
                short += 1;
            }
            let Ok(text) = to_yaml(&tree) else {
                continue;
            };
            read += same_note(&text) as usize;
            // Pieces that mutate the text.
            const PIECES: &[&str] = &[
                " ", "  ", "\n", "-", "- ", ":", ": ", ".", "...", "---", "'", "\"", "#", "a", "0",
                "[]", "{}", "!str ", "\t", "true", "\r", "~", ",", "\u{e9}",
            ];
            for _ in 0..4 {
                let mut text = text.clone();
                for _ in 0..1 + random.below(2) {
                    let mut at = random.below(text.len() + 1);
                    while !text.is_char_boundary(at) {
                        at -= 1;
                    }
                    match random.below(3) {
                        0 => text.insert_str(at, PIECES[random.below(PIECES.len())]),
                        1 => text.truncate(at),
                        _ if at < text.len() => drop(text.remove(at)),
                        _ => {}
                    }
                }
                same_note(&text);
            }
            // Notes that are not trees, or not in their shortest form.
            let mut note = note;
            let at = random.below(note.len());
            note[at] = random.below(256) as u8;
            if let Some(text) = text_of(&note) {
                assert_eq!(faithful_text_of_tree(&note), Some(text));
                assert_eq!(decode(&note).map(|t| encode(&t)), Ok(note));
            }
        }
        assert!(short > 500 && read > 500, "{short} {read}");
    }

    #[test]
    fn metadata_of_compilers_go_the_short_way() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/kernels");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|e| e != "co") {
                continue;
            }
            let object = CodeObject::parse(&std::fs::read(&path).unwrap()).unwrap();
            let Some(note) = object.note() else { continue };
            let text = text_of(note).unwrap_or_else(|| panic!("{}", path.display()));
            assert!(same_note(&text));
            assert!(verified(note).is_some(), "{}", path.display());
            count += 1;
        }
        assert!(count >= 10, "{count}");
    }

    #[test]
    fn shapes_are_refused_by_the_tree_alone() {
        for text in [
            "---\namdhsa.kernels: []\n...\n",
            "---\namdhsa.kernels: []\namdhsa.version:\n  - 1\n...\n",
            "---\namdhsa.kernels:\n  - .name: a\namdhsa.version:\n  - 1\n  - 1\n...\n",
            "---\namdhsa.kernels: []\namdhsa.printf:\n  - 5\namdhsa.version:\n  - 1\n  - 1\n...\n",
        ] {
            assert!(same_note(text), "{text}");
            assert!(assemble(text).is_err(), "{text}");
        }
        let good = "---\namdhsa.kernels: []\namdhsa.version:\n  - 1\n  - 2\n...\n";
        assert!(same_note(good));
        assert_eq!(assemble(good).unwrap().1, Some(2));
    }
}
