//! Runs the `gcn` binary as disassembler and assembler on batches.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::generate::{SENTINEL, Sample};
use super::tool::{self, Scratch};

/// The number of sentinels after a sample. A sample's last dword may begin an instruction of two dwords, which includes one
/// sentinel; the other marks the end.
const SENTINELS: usize = 2;

/// The number of times a batch is assembled again without rejected lines before the rest is abandoned.
const RETRIES: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Syntax {
    Llvm,
    Clrx,
}

impl Syntax {
    pub fn name(self) -> &'static str {
        match self {
            Syntax::Llvm => "llvm",
            Syntax::Clrx => "clrx",
        }
    }
}

/// The lines of a sample and of the sentinels after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The sample's lines, trimmed at both ends. The last may include a sentinel as its second dword.
    pub lines: Vec<String>,
    /// The sentinels' lines.
    pub sentinels: Vec<String>,
}

/// The assembler's result for one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Back {
    Same,
    Other(Vec<u8>),
    Rejected(String),
}

pub struct Gcn<'a> {
    program: PathBuf,
    scratch: &'a Scratch,
    /// The sentinel's text in each syntax.
    sentinel: BTreeMap<Syntax, String>,
}

/// A sample's bytes with the sentinels after it.
pub fn with_sentinels(sample: &Sample) -> Vec<u8> {
    let mut bytes: Vec<u8> = sample.bytes().collect();
    for _ in 0..SENTINELS {
        bytes.extend(SENTINEL.to_le_bytes());
    }
    bytes
}

impl<'a> Gcn<'a> {
    /// # Errors
    /// If the program does not disassemble the sentinel to one line in both syntaxes.
    pub fn new(program: &Path, scratch: &'a Scratch) -> Result<Gcn<'a>> {
        let mut gcn = Gcn {
            program: program.to_path_buf(),
            scratch,
            sentinel: BTreeMap::new(),
        };
        for syntax in [Syntax::Llvm, Syntax::Clrx] {
            let text = gcn
                .dis_text("gfx900", syntax, &SENTINEL.to_le_bytes())?
                .map_err(anyhow::Error::msg)?;
            let line = text.trim();
            ensure!(
                line.lines().count() == 1,
                "{} dis prints {text:?} for s_nop 0x1234",
                program.display()
            );
            gcn.sentinel.insert(syntax, line.to_owned());
        }
        Ok(gcn)
    }

    fn sentinel(&self, syntax: Syntax) -> &str {
        self.sentinel.get(&syntax).map_or("", String::as_str)
    }

    fn dis_text(
        &self,
        target: &str,
        syntax: Syntax,
        bytes: &[u8],
    ) -> Result<Result<String, String>> {
        let args = [
            "dis",
            "--raw",
            "--plain",
            "--arch",
            target,
            "--syntax",
            syntax.name(),
        ];
        let outcome = tool::run(self.scratch, &self.program, &args, bytes, true)?;
        Ok(match (outcome.status, outcome.file) {
            (Some(0), Some(text)) => {
                String::from_utf8(text).map_err(|_| "gcn dis prints no UTF-8".to_owned())
            }
            (status, _) => Err(failure("gcn dis", status, &outcome.stderr)),
        })
    }

    /// Returns each sample's lines, or its error.
    pub fn disassemble(
        &self,
        target: &str,
        syntax: Syntax,
        samples: &[Sample],
    ) -> Result<Vec<Result<Unit, String>>> {
        if samples.is_empty() {
            return Ok(Vec::new());
        }
        let bytes: Vec<u8> = samples.iter().flat_map(with_sentinels).collect();
        let problem = match self.dis_text(target, syntax, &bytes)? {
            Ok(text) => match split_units(&text, self.sentinel(syntax), samples.len()) {
                Some(units) => return Ok(units.into_iter().map(Ok).collect()),
                None => format!("the lines of gcn dis do not fit the samples: {text:?}"),
            },
            Err(problem) => problem,
        };
        if let [_] = samples {
            return Ok(vec![Err(problem)]);
        }
        let (left, right) = samples.split_at(samples.len() / 2);
        let mut units = self.disassemble(target, syntax, left)?;
        units.extend(self.disassemble(target, syntax, right)?);
        Ok(units)
    }

    /// Assembles items of lines, each with the bytes it should give. `permissive` allows operand-rule violations.
    pub fn assemble(
        &self,
        target: &str,
        syntax: Syntax,
        permissive: bool,
        items: &[Item],
    ) -> Result<Vec<Back>> {
        let run = |text: &str| -> Result<AsmRun> {
            let mut args = vec!["asm", "--raw", "--arch", target, "--syntax", syntax.name()];
            if permissive {
                args.push("--permissive");
            }
            let outcome = tool::run(self.scratch, &self.program, &args, text.as_bytes(), true)?;
            Ok(match (outcome.status, outcome.file) {
                (Some(0), Some(bytes)) => Ok(bytes),
                (status, _) => Err(failure("gcn asm", status, &outcome.stderr)),
            })
        };
        assemble_with(&run, self.sentinel(syntax), items)
    }
}

/// Some lines and the bytes they should assemble to.
#[derive(Clone, Debug)]
pub struct Item {
    /// Lines with the sentinels' after them. Items whose lines have none get one.
    pub unit: Unit,
    pub bytes: Vec<u8>,
}

impl Item {
    /// An item that should assemble to `sample` and its sentinels.
    pub fn round_trip(unit: &Unit, sample: &Sample) -> Item {
        Item {
            unit: unit.clone(),
            bytes: with_sentinels(sample),
        }
    }

    /// A single line that should assemble to `bytes`.
    pub fn line(line: &str, bytes: &[u8]) -> Item {
        let mut bytes = bytes.to_vec();
        bytes.extend(SENTINEL.to_le_bytes());
        Item {
            unit: Unit {
                lines: vec![line.to_owned()],
                sentinels: Vec::new(),
            },
            bytes,
        }
    }
}

/// The bytes of an assembled text, or the assembler's messages.
type AsmRun = Result<Vec<u8>, String>;

fn failure(what: &str, status: Option<i32>, stderr: &str) -> String {
    let status = status.map_or("ended by a signal".to_owned(), |code| {
        format!("exit {code}")
    });
    format!("{what}: {status}: {stderr}")
}

/// Divides the text at the sentinels; `None` if there are not `count` items of at least one line.
fn split_units(text: &str, sentinel: &str, count: usize) -> Option<Vec<Unit>> {
    let mut units: Vec<Unit> = Vec::with_capacity(count);
    for line in text.lines().map(str::trim) {
        let is_sentinel = line == sentinel;
        match units.last_mut() {
            Some(unit) if is_sentinel => unit.sentinels.push(line.to_owned()),
            Some(unit) if unit.sentinels.is_empty() => unit.lines.push(line.to_owned()),
            _ => units.push(Unit {
                lines: vec![line.to_owned()],
                sentinels: Vec::new(),
            }),
        }
    }
    let whole =
        |unit: &Unit| (1..=SENTINELS).contains(&unit.sentinels.len()) && unit.lines[0] != sentinel;
    (units.len() == count && units.iter().all(whole)).then_some(units)
}

/// Assembles all items in one run of `run`. After a failure, tries again without the items whose lines are in the messages,
/// or by bisection if there are none.
fn assemble_with(
    run: &dyn Fn(&str) -> Result<AsmRun>,
    sentinel: &str,
    items: &[Item],
) -> Result<Vec<Back>> {
    let mut backs: Vec<Option<Back>> = vec![None; items.len()];
    for _ in 0..RETRIES {
        let left: Vec<usize> = (0..items.len()).filter(|&i| backs[i].is_none()).collect();
        if left.is_empty() {
            break;
        }
        let mut text = String::new();
        let mut owner = Vec::new();
        for &i in &left {
            let unit = &items[i].unit;
            let extra = if unit.sentinels.is_empty() {
                Some(sentinel)
            } else {
                None
            };
            for line in unit
                .lines
                .iter()
                .chain(&unit.sentinels)
                .map(String::as_str)
                .chain(extra)
            {
                text.push_str(line);
                text.push('\n');
                owner.push(i);
            }
        }
        match run(&text)? {
            Ok(bytes) => {
                let part: Vec<&Item> = left.iter().map(|&i| &items[i]).collect();
                for (&i, back) in left.iter().zip(align(&bytes, &part)) {
                    backs[i] = Some(back);
                }
            }
            Err(messages) => {
                let failed = failed_lines(&messages);
                let mut found = false;
                for (line, message) in failed {
                    if let Some(&i) = line.checked_sub(1).and_then(|at| owner.get(at)) {
                        found = true;
                        backs[i].get_or_insert(Back::Rejected(message));
                    }
                }
                if found {
                    continue;
                }
                if let [i] = left[..] {
                    backs[i] = Some(Back::Rejected(messages));
                    continue;
                }
                let (front, rear) = left.split_at(left.len() / 2);
                for half in [front, rear] {
                    let part: Vec<Item> = half.iter().map(|&i| items[i].clone()).collect();
                    for (&i, back) in half.iter().zip(assemble_with(run, sentinel, &part)?) {
                        backs[i] = Some(back);
                    }
                }
            }
        }
    }
    let given_up = || {
        Back::Rejected(format!(
            "not tried: gcn asm rejected lines of this batch {RETRIES} times"
        ))
    };
    Ok(backs
        .into_iter()
        .map(|back| back.unwrap_or_else(given_up))
        .collect())
}

/// Compares assembled bytes with the expected ones. After a difference, continues after the next sentinel.
fn align(bytes: &[u8], items: &[&Item]) -> Vec<Back> {
    let sentinel = SENTINEL.to_le_bytes();
    let mut rest = bytes;
    let mut backs = Vec::with_capacity(items.len());
    for item in items {
        if let Some(after) = rest.strip_prefix(item.bytes.as_slice()) {
            rest = after;
            backs.push(Back::Same);
            continue;
        }
        // The item ends with its sentinels; the bytes before them are its result.
        let marks = item.unit.sentinels.len().max(1);
        let mut end = 0;
        let mut seen = 0;
        while seen < marks && end + 4 <= rest.len() {
            let is_sentinel = rest[end..end + 4] == sentinel;
            seen = if is_sentinel { seen + 1 } else { 0 };
            end += 4;
        }
        if seen < marks {
            end = rest.len();
        }
        // No sample begins with a sentinel, so further ones belong to this item too.
        while rest[end..].starts_with(&sentinel) {
            end += 4;
        }
        let (mut own, after) = rest.split_at(end);
        while let Some(shorter) = own.strip_suffix(&sentinel) {
            own = shorter;
        }
        backs.push(Back::Other(own.to_vec()));
        rest = after;
    }
    backs
}

/// The line numbers that error messages name, with the message: `FILE:LINE:…` or `line LINE`. Warnings do not count.
fn failed_lines(messages: &str) -> BTreeMap<usize, String> {
    let mut seen = BTreeSet::new();
    let mut failed = BTreeMap::new();
    let mut is_error = true;
    let mut headline = "";
    for text in messages.lines() {
        let lower = text.to_ascii_lowercase();
        // "warning" may quote "error" and vice versa; the first of the words is the severity.
        match (lower.find("error"), lower.find("warning")) {
            (Some(e), Some(w)) => is_error = e < w,
            (Some(_), None) => is_error = true,
            (None, Some(_)) => is_error = false,
            (None, None) => {}
        }
        if lower.contains("error") || lower.contains("warning") {
            headline = text;
        }
        // A source line under a message, with its number and a bar before it, is not a location.
        let is_source = text
            .trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit())
            .starts_with('|');
        if let Some(line) = line_number(text)
            && !is_source
            && is_error
            && seen.insert(line)
        {
            let message = if headline.is_empty() { text } else { headline };
            failed.insert(line, message.trim().to_owned());
        }
    }
    failed
}

/// Returns the number after the first `:` that is followed by digits and a `:`, a blank or the end, or after `line `.
fn line_number(text: &str) -> Option<usize> {
    let numbers = |after: &str| {
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        let next = after[digits.len()..].chars().next();
        let ends = next.is_none_or(|c| c == ':' || c == ' ' || c == ',');
        if ends { digits.parse().ok() } else { None }
    };
    let colon = text
        .match_indices(':')
        .find_map(|(at, _)| numbers(&text[at + 1..]));
    colon.or_else(|| {
        text.match_indices("line ")
            .find_map(|(at, _)| numbers(&text[at + 5..]))
    })
}

/// Checks that a `gcn` binary is there.
pub fn check(program: &Path) -> Result<()> {
    let metadata =
        std::fs::metadata(program).with_context(|| format!("no gcn at {}", program.display()))?;
    ensure!(metadata.is_file(), "{} is not a file", program.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: &str = "s_nop 0x1234";

    fn unit(lines: &[&str], sentinels: usize) -> Unit {
        Unit {
            lines: lines.iter().map(|&l| l.to_owned()).collect(),
            sentinels: vec![S.to_owned(); sentinels],
        }
    }

    fn sample(words: &[u32]) -> Sample {
        Sample::new(words, "test", 0).expect("one or two dwords")
    }

    /// An assembler for tests: a line of one or two hexadecimal numbers gives these dwords; other lines are errors, of which at
    /// most two are reported.
    fn assemble_hex(text: &str) -> Result<AsmRun> {
        let mut bytes = Vec::new();
        let mut errors = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = if line == S { "bf801234" } else { line };
            for word in line.split(' ') {
                match u32::from_str_radix(word, 16) {
                    Ok(word) => bytes.extend(word.to_le_bytes()),
                    Err(_) => errors.push(format!("/tmp/x.s:{}:1: error: what is {word}?", at + 1)),
                }
            }
        }
        errors.truncate(2);
        Ok(if errors.is_empty() {
            Ok(bytes)
        } else {
            Err(errors.join("\n"))
        })
    }

    #[test]
    fn a_sample_may_take_one_sentinel_but_not_both() {
        let text = format!("a\n{S}\n{S}\n\t.long 0x1\n\tb with sentinel\n{S}\nc\n{S}\n{S}\n");
        let units = split_units(&text, S, 3).expect("aligned");
        assert_eq!(
            units,
            [
                unit(&["a"], 2),
                unit(&[".long 0x1", "b with sentinel"], 1),
                unit(&["c"], 2)
            ]
        );
        assert_eq!(split_units(&format!("a\nb\n{S}\n{S}\n"), S, 2), None);
        assert_eq!(split_units(&format!("{S}\n{S}\n"), S, 1), None);
        assert_eq!(split_units("a\n", S, 1), None);
    }

    #[test]
    fn differences_are_found_and_the_rest_still_compared() {
        let items = [
            Item::round_trip(&unit(&["80000100"], 2), &sample(&[0x8000_0100])),
            Item::round_trip(&unit(&["80000101 77"], 2), &sample(&[0x8000_0100])),
            Item::round_trip(&unit(&["80000102 bf801234"], 1), &sample(&[0x8000_0102])),
            Item::round_trip(&unit(&["80000103"], 2), &sample(&[0x8000_0103])),
            Item::line("12345678", &[0x78, 0x56, 0x34, 0x12]),
            Item::line("12345679", &[0x78, 0x56, 0x34, 0x12]),
        ];
        let backs = assemble_with(&assemble_hex, S, &items).expect("the fake assembler runs");
        let other =
            |words: &[u32]| Back::Other(words.iter().flat_map(|w| w.to_le_bytes()).collect());
        assert_eq!(
            backs,
            [
                Back::Same,
                other(&[0x8000_0101, 0x77]),
                Back::Same,
                Back::Same,
                Back::Same,
                other(&[0x1234_5679])
            ]
        );
    }

    #[test]
    fn rejected_lines_are_dropped_and_the_rest_assembled() {
        let mut items = Vec::new();
        for i in 0..10_u32 {
            let text = if i % 3 == 0 {
                format!("bad{i}!")
            } else {
                format!("{i:08x}")
            };
            items.push(Item::round_trip(&unit(&[&text], 2), &sample(&[i])));
        }
        let backs = assemble_with(&assemble_hex, S, &items).expect("the fake assembler runs");
        for (i, back) in backs.iter().enumerate() {
            if i % 3 == 0 {
                assert!(
                    matches!(back, Back::Rejected(m) if m.contains(&format!("bad{i}!"))),
                    "{back:?}"
                );
            } else {
                assert_eq!(*back, Back::Same);
            }
        }
    }

    #[test]
    fn without_line_numbers_the_batch_is_halved() {
        let run = |text: &str| {
            Ok(assemble_hex(text)?.map_err(|_| "error: something is wrong".to_owned()))
        };
        let texts = ["1", "zz", "3", "4", "5"];
        let items: Vec<Item> = (1..)
            .zip(texts)
            .map(|(i, text)| Item::line(text, &u32::to_le_bytes(i)))
            .collect();
        let backs = assemble_with(&run, S, &items).expect("the fake assembler runs");
        assert!(matches!(backs[1], Back::Rejected(_)));
        assert!(
            backs
                .iter()
                .enumerate()
                .all(|(i, back)| i == 1 || *back == Back::Same)
        );
    }

    #[test]
    fn error_places_are_read_and_warnings_ignored() {
        let messages = "x.s:3:1: warning: two SGPRs\nx.s:7:2: error: bad operand\nerror: worse\n --> x.s:9:4\n\
                        12 | v_mov_b32_dpp v1, v2 row_shl:1 row_mask:0x0\n   |    ^^^ x:3:1\n\
                        warning: odd\n --> x.s:11:4\n";
        let failed = failed_lines(messages);
        assert_eq!(failed.keys().copied().collect::<Vec<_>>(), [7, 9]);
        assert_eq!(failed[&9], "error: worse");
        assert_eq!(line_number("error at line 12: bad"), Some(12));
        assert_eq!(line_number("gcn asm: exit 1: a/b.s:40: no"), Some(40));
        assert_eq!(line_number("s[0:1] is bad"), None);
    }
}
