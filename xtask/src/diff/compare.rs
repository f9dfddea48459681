//! The rules of the comparison of samples, and the counts.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;

use super::generate::Sample;
use super::llvm::Assembled;
use super::ours::{Back, Syntax, Unit, with_sentinels};

/// A line of text and llvm-mc's bytes of it.
#[derive(Clone, Debug)]
pub struct Line {
    pub text: String,
    pub llvm: Assembled,
}

impl Line {
    /// The bytes of a `.long` line, which llvm-mc prints without an encoding.
    pub fn long(text: &str) -> Option<Vec<u8>> {
        let word = text.strip_prefix(".long 0x")?;
        u32::from_str_radix(word, 16)
            .ok()
            .map(|word| word.to_le_bytes().to_vec())
    }
}

/// The comparison of the bytes of assembled lines with the bytes that they were disassembled from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// All bytes are equal.
    Whole,
    /// No lines at all.
    Nothing,
    /// The lines end before the bytes do.
    Part,
    /// A line is rejected.
    Rejected,
    /// A line gives other bytes.
    Other,
}

/// Follows `lines` along `bytes`. `length` is the sample's own length; bytes after it are sentinels. Returns how far they agree and the number of leading lines that do.
fn follow(lines: &[Line], bytes: &[u8], length: usize) -> (Agreement, usize) {
    let mut at = 0;
    for (number, line) in lines.iter().enumerate() {
        match &line.llvm {
            Err(_) => return (Agreement::Rejected, number),
            Ok(back) if !back.is_empty() && bytes[at..].starts_with(back) => at += back.len(),
            Ok(_) => return (Agreement::Other, number),
        }
        if at >= length {
            return (Agreement::Whole, number + 1);
        }
    }
    if lines.is_empty() {
        (Agreement::Nothing, 0)
    } else {
        (Agreement::Part, lines.len())
    }
}

/// Our results for a sample.
pub struct Ours {
    /// The disassembly in each syntax, or the reason why there is none.
    pub units: BTreeMap<Syntax, Result<Unit, String>>,
    /// Our assembler's bytes of it, if there is a disassembly.
    pub backs: BTreeMap<Syntax, Back>,
    /// Our lines in LLVM's syntax with llvm-mc's bytes, if they differ from LLVM's lines.
    pub lines: Option<Vec<Line>>,
    /// Our assembler's bytes for each of LLVM's lines that llvm-mc assembles.
    pub llvm_lines: Vec<(usize, Back)>,
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub rule: &'static str,
    pub detail: String,
}

/// The result for one sample.
#[derive(Debug, Default)]
pub struct Verdict {
    /// LLVM's text (gfx8/9) or bytes (gfx6/7) agree with ours for the whole sample.
    pub equal: bool,
    /// The first dword is not an instruction to us (with LLVM alone: to LLVM).
    pub undecoded: bool,
    /// The losses of LLVM, and the comparisons that they prevent.
    pub classes: Vec<&'static str>,
    pub wrongs: Vec<Wrong>,
}

/// Checks only LLVM: returns the losses of its text.
pub fn judge_llvm(sample: &Sample, llvm: &[Line]) -> Verdict {
    let bytes: Vec<u8> = sample.bytes().collect();
    let (agreement, _) = follow(llvm, &bytes, bytes.len());
    Verdict {
        equal: agreement == Agreement::Whole,
        undecoded: agreement == Agreement::Nothing,
        classes: llvm_class(agreement).into_iter().collect(),
        wrongs: Vec::new(),
    }
}

fn llvm_class(agreement: Agreement) -> Option<&'static str> {
    match agreement {
        Agreement::Whole => None,
        Agreement::Nothing => Some("LLVM fails to decode"),
        Agreement::Part => Some("LLVM decodes the first dword only"),
        Agreement::Rejected => Some("LLVM rejects its own text"),
        Agreement::Other => Some("LLVM text re-assembles to other bytes"),
    }
}

/// Checks a sample. `llvm` is llvm-mc's disassembly, `None` for generations without a disassembler.
pub fn judge(sample: &Sample, llvm: Option<&[Line]>, ours: &Ours) -> Verdict {
    let mut verdict = Verdict::default();
    for (syntax, unit) in &ours.units {
        let (rule, problem) = match (unit, ours.backs.get(syntax)) {
            (Err(problem), _) => ("gcn dis fails", problem.clone()),
            (Ok(_), Some(Back::Same) | None) => continue,
            (Ok(_), Some(Back::Other(bytes))) => (
                round_trip_rule(*syntax),
                format!("came back as {}", hex(bytes)),
            ),
            (Ok(_), Some(Back::Rejected(message))) => {
                (round_trip_rule(*syntax), format!("rejected: {message}"))
            }
        };
        verdict.wrongs.push(Wrong {
            rule,
            detail: problem,
        });
    }
    let Some(Ok(unit)) = ours.units.get(&Syntax::Llvm) else {
        return verdict;
    };
    let undecoded = Line::long(&unit.lines[0]).is_some();
    verdict.undecoded = undecoded;
    let bytes = with_sentinels(sample);
    let length = 4 * sample.words().len();

    if let Some(llvm) = llvm {
        let (agreement, good) = follow(llvm, &bytes[..length], length);
        verdict.equal = agreement == Agreement::Whole;
        for (number, line) in llvm[..good].iter().enumerate() {
            if unit.lines.get(number) != Some(&line.text) {
                verdict.equal = false;
                verdict.wrongs.push(Wrong {
                    rule: "(a) text differs from LLVM's exact text",
                    detail: String::new(),
                });
                break;
            }
        }
        verdict.classes.extend(match (agreement, undecoded) {
            (Agreement::Nothing, true) => Some("neither decodes"),
            (Agreement::Nothing, false) => Some("LLVM fails to decode, ours does"),
            (Agreement::Rejected, true) => Some("LLVM rejects its own text, ours is .long"),
            (Agreement::Other, true) => {
                Some("LLVM text re-assembles to other bytes, ours is .long")
            }
            _ => llvm_class(agreement),
        });
        for (number, back) in &ours.llvm_lines {
            let problem = match back {
                Back::Same => continue,
                // If LLVM refuses its own text, ours may accept it.
                Back::Other(back) if llvm.len() == 1 && sample.bytes().eq(back.iter().copied()) => {
                    verdict
                        .classes
                        .push("LLVM loses bits of its text, ours does not");
                    continue;
                }
                Back::Other(bytes) => format!("gives {}", hex(bytes)),
                Back::Rejected(message) => format!("rejected: {message}"),
            };
            let Some(line) = llvm.get(*number) else {
                continue;
            };
            // docs/llvm-differences.md: LLVM assembles this literal to 0 if it is a float.
            let float = line
                .text
                .rsplit_once(' ')
                .is_some_and(|(_, last)| last.contains('.'));
            if line.text.starts_with("s_setreg_imm32_b32") && float {
                verdict
                    .classes
                    .push("LLVM assembles s_setreg_imm32_b32's floats to 0");
                continue;
            }
            let llvm_bytes = line.llvm.as_deref().map(hex).unwrap_or_default();
            // LLVM does not count constant-bus reads of interpolations.
            let interp = line.text.starts_with("v_interp_");
            if interp && matches!(back, Back::Rejected(why) if why.contains("constant bus")) {
                verdict
                    .classes
                    .push("LLVM takes two SGPRs in an interpolation");
                continue;
            }
            verdict.wrongs.push(Wrong {
                rule: "(c) LLVM's text assembled by ours",
                detail: format!("`{}` {problem}, in LLVM {llvm_bytes}", line.text),
            });
        }
    }

    if let Some(lines) = &ours.lines {
        let (agreement, good) = follow(lines, &bytes, length);
        let line = lines.get(good);
        match (agreement, llvm.is_some()) {
            (Agreement::Other, is_lossy) => {
                let back = line
                    .and_then(|line| line.llvm.as_deref().ok())
                    .map(hex)
                    .unwrap_or_default();
                let text = line.map_or("", |line| &line.text);
                if is_lossy {
                    verdict
                        .classes
                        .push("LLVM assembles our text to other bytes");
                } else {
                    let detail = format!("LLVM assembles `{text}` to {back}");
                    verdict.wrongs.push(Wrong {
                        rule: "our text has other bytes in LLVM",
                        detail,
                    });
                }
            }
            (Agreement::Whole, false) if undecoded => {
                verdict.classes.push("no instruction (.long)")
            }
            (Agreement::Whole, false) => verdict.equal = true,
            (Agreement::Rejected, false) => verdict.classes.push("LLVM rejects our text"),
            _ => {}
        }
    }
    verdict
}

fn round_trip_rule(syntax: Syntax) -> &'static str {
    match syntax {
        Syntax::Llvm => "(b) round trip, LLVM syntax",
        Syntax::Clrx => "(b) round trip, CLRX syntax",
    }
}

/// Bytes as llvm-mc reads them: `0x00,0x01,0x00,0x80`.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    let bytes: Vec<String> = bytes
        .as_ref()
        .iter()
        .map(|b| format!("0x{b:02x}"))
        .collect();
    bytes.join(",")
}

/// Formats a sample: its bytes and all its texts.
pub fn describe(sample: &Sample, llvm: Option<&[Line]>, ours: Option<&Ours>) -> String {
    let bytes: Vec<u8> = sample.bytes().collect();
    let mut text = format!("[{}] {} op {}", hex(bytes), sample.encoding, sample.opcode);
    for line in llvm.unwrap_or_default() {
        let _ = write!(text, "\n      llvm  {}", line.text);
        let _ = match &line.llvm {
            Ok(bytes) => write!(text, "   => {}", hex(bytes)),
            Err(message) => write!(text, "   => {message}"),
        };
    }
    let Some(ours) = ours else { return text };
    for (syntax, unit) in &ours.units {
        if let Ok(unit) = unit {
            let name = if *syntax == Syntax::Llvm {
                "ours"
            } else {
                "clrx"
            };
            let _ = write!(text, "\n      {name}  {}", unit.lines.join(" \\n "));
        }
    }
    for line in ours.lines.iter().flatten() {
        if let Err(message) = &line.llvm {
            let _ = write!(text, "\n      llvm on `{}`: {message}", line.text);
        }
    }
    text
}

/// The number of examples of a rule that are kept in addition to the first of each opcode.
const KEPT: usize = 50;

/// Samples that broke a rule.
#[derive(Default)]
struct Broken {
    count: u64,
    /// The first example of each encoding and opcode.
    by_opcode: BTreeMap<(&'static str, u16), String>,
    /// Further examples, in order.
    others: Vec<String>,
}

/// Counts over samples, and examples.
#[derive(Default)]
pub struct Tally {
    pub samples: u64,
    pub equal: u64,
    pub wrong: u64,
    classes: BTreeMap<&'static str, (u64, String)>,
    broken: BTreeMap<&'static str, Broken>,
    /// Each encoding's opcodes, and whether any of their samples is an instruction.
    decoded: BTreeMap<&'static str, BTreeMap<u16, bool>>,
}

impl Tally {
    /// Adds a verdict; `describe` is called if more examples are needed.
    pub fn add(&mut self, sample: &Sample, verdict: Verdict, describe: impl Fn() -> String) {
        self.samples += 1;
        self.equal += u64::from(verdict.equal);
        self.wrong += u64::from(!verdict.wrongs.is_empty());
        let opcodes = self.decoded.entry(sample.encoding).or_default();
        *opcodes.entry(sample.opcode).or_default() |= !verdict.undecoded;
        for class in verdict.classes {
            self.classes
                .entry(class)
                .or_insert_with(|| (0, describe()))
                .0 += 1;
        }
        for wrong in verdict.wrongs {
            let broken = self.broken.entry(wrong.rule).or_default();
            broken.count += 1;
            let key = (sample.encoding, sample.opcode);
            let example = || {
                format!("{}\n      {}", describe(), wrong.detail)
                    .trim_end()
                    .to_owned()
            };
            match broken.by_opcode.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(example());
                }
                Entry::Occupied(_) if broken.others.len() < KEPT => broken.others.push(example()),
                Entry::Occupied(_) => {}
            }
        }
    }

    /// Adds the counts of a later batch, keeping the examples of the earlier one.
    pub fn merge(&mut self, later: Tally) {
        self.samples += later.samples;
        self.equal += later.equal;
        self.wrong += later.wrong;
        for (encoding, opcodes) in later.decoded {
            let known = self.decoded.entry(encoding).or_default();
            for (opcode, decoded) in opcodes {
                *known.entry(opcode).or_default() |= decoded;
            }
        }
        for (class, (count, example)) in later.classes {
            self.classes.entry(class).or_insert_with(|| (0, example)).0 += count;
        }
        for (rule, other) in later.broken {
            let broken = self.broken.entry(rule).or_default();
            broken.count += other.count;
            for (key, example) in other.by_opcode {
                broken.by_opcode.entry(key).or_insert(example);
            }
            let room = KEPT.saturating_sub(broken.others.len());
            broken.others.extend(other.others.into_iter().take(room));
        }
    }

    /// The report, with at most `show` examples per broken rule: first one of each opcode, then others.
    pub fn report(&self, title: &str, show: usize) -> String {
        let mut text = format!(
            "{title}: {} samples, {} compared equal, {} wrong\n",
            self.samples, self.equal, self.wrong
        );
        for (class, (count, example)) in &self.classes {
            let _ = writeln!(text, "  {count:>9}  {class}, e.g. {example}");
        }
        for (encoding, opcodes) in &self.decoded {
            let none = ranges(
                opcodes
                    .iter()
                    .filter(|(_, decoded)| !**decoded)
                    .map(|(&opcode, _)| opcode),
            );
            if !none.is_empty() {
                let _ = writeln!(
                    text,
                    "  no instruction at any sample of {encoding} opcode {none}"
                );
            }
        }
        for (rule, broken) in &self.broken {
            let _ = writeln!(
                text,
                "  WRONG {}  {rule}, in {} opcodes",
                broken.count,
                broken.by_opcode.len()
            );
            for example in broken.by_opcode.values().chain(&broken.others).take(show) {
                let _ = writeln!(text, "    {example}");
            }
        }
        text
    }
}

/// Ascending numbers as `1, 3-5`.
fn ranges(numbers: impl Iterator<Item = u16>) -> String {
    let mut runs: Vec<(u16, u16)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let run = |(first, last): &(u16, u16)| {
        if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        }
    };
    runs.iter().map(run).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(words: &[u32]) -> Sample {
        Sample::new(words, "SOP2", 0).expect("one or two dwords")
    }

    fn line(text: &str, words: &[u32]) -> Line {
        Line {
            text: text.to_owned(),
            llvm: Ok(words.iter().flat_map(|w| w.to_le_bytes()).collect()),
        }
    }

    fn rejected(text: &str) -> Line {
        Line {
            text: text.to_owned(),
            llvm: Err("invalid operand".to_owned()),
        }
    }

    /// Results with these lines in both syntaxes, all of which assemble to the same bytes.
    fn ours(lines: &[&str]) -> Ours {
        let unit = Unit {
            lines: lines.iter().map(|&l| l.to_owned()).collect(),
            sentinels: vec!["s_nop 0x1234".to_owned(); 2],
        };
        let both = [Syntax::Llvm, Syntax::Clrx];
        Ours {
            units: both.iter().map(|&s| (s, Ok(unit.clone()))).collect(),
            backs: both.iter().map(|&s| (s, Back::Same)).collect(),
            lines: None,
            llvm_lines: Vec::new(),
        }
    }

    fn rules(verdict: &Verdict) -> Vec<&'static str> {
        verdict.wrongs.iter().map(|wrong| wrong.rule).collect()
    }

    #[test]
    fn exact_text_must_be_equal() {
        let (s, llvm) = (
            sample(&[0x8000_0100]),
            [line("s_add_u32 s0, s0, s1", &[0x8000_0100])],
        );
        let same = judge(&s, Some(&llvm), &ours(&["s_add_u32 s0, s0, s1"]));
        assert!(same.equal && same.wrongs.is_empty() && same.classes.is_empty());
        let other = judge(&s, Some(&llvm), &ours(&["s_add_u32 s0,s0,s1"]));
        assert!(!other.equal);
        assert_eq!(rules(&other), ["(a) text differs from LLVM's exact text"]);
    }

    #[test]
    fn lossy_text_need_not_be_equal() {
        let s = sample(&[0x8000_01ff, 1]);
        let other_bytes = judge(
            &s,
            Some(&[line("s_add_u32 s0, 1, s1", &[0x8000_0181])]),
            &ours(&["s_add_u32 …"]),
        );
        assert_eq!((other_bytes.equal, other_bytes.wrongs.len()), (false, 0));
        assert_eq!(
            other_bytes.classes,
            ["LLVM text re-assembles to other bytes"]
        );
        assert_eq!(
            judge(&s, Some(&[rejected("x")]), &ours(&["y"])).classes,
            ["LLVM rejects its own text"]
        );
        assert_eq!(
            judge(&s, Some(&[]), &ours(&["y"])).classes,
            ["LLVM fails to decode, ours does"]
        );
        assert_eq!(
            judge(&s, Some(&[]), &ours(&[".long 0x00000001"])).classes,
            ["neither decodes"]
        );
    }

    #[test]
    fn exact_leading_lines_are_compared_even_when_the_rest_is_not_decoded() {
        let s = sample(&[0xbe9c_0001, 0xffff_ffff]);
        let llvm = [line("s_getpc_b64 s[28:29]", &[0xbe9c_0001])];
        let good = judge(
            &s,
            Some(&llvm),
            &ours(&["s_getpc_b64 s[28:29]", ".long 0xffffffff"]),
        );
        assert_eq!(
            (good.classes.as_slice(), good.wrongs.len()),
            (&["LLVM decodes the first dword only"][..], 0)
        );
        let bad = judge(&s, Some(&llvm), &ours(&["s_getpc_b64 s[28:29], 1"]));
        assert_eq!(bad.wrongs.len(), 1);
    }

    #[test]
    fn round_trips_must_come_back() {
        let mut o = ours(&["a"]);
        o.backs.insert(Syntax::Llvm, Back::Other(vec![1, 2, 3, 4]));
        o.backs
            .insert(Syntax::Clrx, Back::Rejected("no".to_owned()));
        let verdict = judge(&sample(&[5]), None, &o);
        assert_eq!(
            rules(&verdict),
            ["(b) round trip, LLVM syntax", "(b) round trip, CLRX syntax"]
        );
        assert_eq!(verdict.wrongs[0].detail, "came back as 0x01,0x02,0x03,0x04");
        let mut o = ours(&["a"]);
        o.units.insert(Syntax::Llvm, Err("it crashed".to_owned()));
        assert_eq!(rules(&judge(&sample(&[5]), None, &o)), ["gcn dis fails"]);
    }

    #[test]
    fn our_assembler_must_agree_on_llvm_text() {
        let llvm = [line("s_add_u32 s0, s0, s1", &[0x8000_0100])];
        let mut o = ours(&["s_add_u32 s0, s0, s1"]);
        o.llvm_lines = vec![(0, Back::Other(vec![0; 4]))];
        assert_eq!(
            rules(&judge(&sample(&[0x8000_0100]), Some(&llvm), &o)),
            ["(c) LLVM's text assembled by ours"]
        );
        o.llvm_lines = vec![(0, Back::Same)];
        assert!(
            judge(&sample(&[0x8000_0100]), Some(&llvm), &o)
                .wrongs
                .is_empty()
        );
    }

    #[test]
    fn without_a_disassembler_llvm_must_assemble_our_text_to_the_same() {
        let s = sample(&[0x8000_0100]);
        let with = |text: &str, lines: Vec<Line>| Ours {
            lines: Some(lines),
            ..ours(&[text])
        };
        let good = judge(&s, None, &with("a", vec![line("a", &[0x8000_0100])]));
        assert!(good.equal && good.wrongs.is_empty());
        let bad = judge(&s, None, &with("a", vec![line("a", &[0x8000_0101])]));
        assert_eq!(rules(&bad), ["our text has other bytes in LLVM"]);
        let unknown = judge(&s, None, &with("a", vec![rejected("a")]));
        assert_eq!(
            (unknown.classes.as_slice(), unknown.wrongs.len()),
            (&["LLVM rejects our text"][..], 0)
        );
        let long = ".long 0x80000100";
        let none = judge(&s, None, &with(long, vec![line(long, &[0x8000_0100])]));
        assert_eq!(
            (none.equal, none.classes.as_slice()),
            (false, &["no instruction (.long)"][..])
        );
    }

    #[test]
    fn a_line_may_reach_into_the_sentinels() {
        let s = sample(&[0xffff_ffff, 0xd000_0000]);
        let lines = vec![
            line(".long 0xffffffff", &[0xffff_ffff]),
            line("v", &[0xd000_0000, 0xbf80_1234]),
        ];
        let verdict = judge(
            &s,
            None,
            &Ours {
                lines: Some(lines),
                ..ours(&[".long 0xffffffff", "v"])
            },
        );
        assert!(verdict.wrongs.is_empty());
    }

    #[test]
    fn tallies_count_and_show_one_example_of_each_opcode_first() {
        let wrong = |detail: &str| Verdict {
            wrongs: vec![Wrong {
                rule: "rule",
                detail: detail.to_owned(),
            }],
            classes: vec!["class"],
            ..Verdict::default()
        };
        let op = |opcode| Sample::new(&[1], "SOP2", opcode).expect("one dword");
        let mut tally = Tally::default();
        tally.add(&op(1), wrong("first"), || "x".to_owned());
        tally.add(&op(1), wrong("second"), || "x".to_owned());
        let mut later = Tally::default();
        later.add(&op(2), wrong("third"), || "x".to_owned());
        later.add(
            &op(3),
            Verdict {
                equal: true,
                ..Verdict::default()
            },
            || "x".to_owned(),
        );
        for opcode in [2, 7, 8, 10] {
            later.add(
                &op(opcode),
                Verdict {
                    undecoded: true,
                    ..Verdict::default()
                },
                || "x".to_owned(),
            );
        }
        tally.merge(later);
        assert_eq!((tally.samples, tally.equal, tally.wrong), (8, 1, 3));
        let report = tally.report("T", 2);
        assert!(
            report.contains("T: 8 samples, 1 compared equal, 3 wrong"),
            "{report}"
        );
        assert!(
            report.contains("no instruction at any sample of SOP2 opcode 7-8, 10\n"),
            "{report}"
        );
        assert!(report.contains("WRONG 3  rule, in 2 opcodes"), "{report}");
        assert!(
            report.contains("first") && report.contains("third") && !report.contains("second"),
            "{report}"
        );
    }
}
