//! Bytes to text: LLVM's disassembler tests.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use gcn_isa::decode::decode;
use gcn_isa::print::{Style, print};

use super::source::Pattern;
use super::{Failure, Outcome, Tally, Test, hex};
use crate::diff::tool;

/// Marks the end of llvm-mc's output for one line; no test contains it.
const SENTINEL: (&str, &str) = ("0x34,0x12,0x80,0xbf", "s_nop 0x1234");

/// A line of bytes.
struct Bytes {
    line: usize,
    bytes: Vec<u8>,
}

/// Compares disassembly. If LLVM's text assembles to the same bytes, ours must be equal; otherwise ours must assemble to
/// the same bytes.
pub fn check(test: &Test) -> Result<Tally> {
    let lines = lines(test.text);
    let theirs = disassemble(test, &lines)?;
    let all: Vec<&str> = theirs.iter().flatten().map(String::as_str).collect();
    let mut backs = assemble(test, &all)?.into_iter();
    // The texts of CHECK lines, without the encodings after them.
    let checks: BTreeSet<String> = super::source::checks(test.text, &test.run.prefixes)
        .into_iter()
        .map(|(_, check)| squeeze(check.split(['#', ';']).next().unwrap_or("")))
        .collect();
    let mut tally = Tally::default();
    for (line, texts) in lines.iter().zip(&theirs) {
        let back: Option<Vec<u8>> = texts
            .iter()
            .map(|_| backs.next().flatten())
            .collect::<Vec<_>>()
            .into_iter()
            .collect::<Option<Vec<Vec<u8>>>>()
            .map(|parts| parts.concat());
        let exact = !texts.is_empty() && back.as_deref() == Some(&line.bytes);
        let mut ours = Vec::new();
        let mut rest = line.bytes.as_slice();
        while let Some(insn) = decode(test.target, rest) {
            let mut text = String::new();
            print(&insn, &Style::LLVM, &mut text);
            ours.push(text);
            rest = &rest[(insn.len as usize).min(rest.len())..];
        }
        let shown: Pattern = line.bytes.iter().copied().map(Some).collect();
        let found = if ours.is_empty() {
            "no instruction".to_string()
        } else {
            ours.join("; ")
        };
        let wanted = if texts.is_empty() {
            "no instruction".to_string()
        } else {
            texts.join("; ")
        };
        let same_text = ours == *texts && (rest.is_empty() || texts.is_empty());
        // If LLVM loses or refuses bits, our text may differ, but must keep them.
        let kept =
            !exact && (ours.is_empty() || rest.is_empty() && comes_back(test, &ours, &line.bytes));
        let checked = texts.iter().any(|text| checks.contains(&squeeze(text)));
        tally.checked += checked as usize;
        tally.add((!same_text && !kept).then(|| Failure {
            wanted,
            found,
            ..test.failure(line.line, &hex(&shown), Outcome::Differs)
        }));
    }
    Ok(tally)
}

/// Replaces each run of blanks by one.
fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn comes_back(test: &Test, texts: &[String], bytes: &[u8]) -> bool {
    gcn_asm::assemble_snippet(test.target, &texts.join("\n"), true).is_ok_and(|back| back == bytes)
}

fn lines(text: &str) -> Vec<Bytes> {
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        let bytes: Option<Vec<u8>> = line
            .split([' ', ',', '\t'])
            .filter(|word| !word.is_empty())
            .map(|word| u8::from_str_radix(word.strip_prefix("0x")?, 16).ok())
            .collect();
        if let Some(bytes) = bytes.filter(|b| !b.is_empty()) {
            lines.push(Bytes {
                line: at + 1,
                bytes,
            });
        }
    }
    lines
}

/// Returns the instructions that llvm-mc prints for each line.
fn disassemble(test: &Test, lines: &[Bytes]) -> Result<Vec<Vec<String>>> {
    let mut input = String::new();
    for line in lines {
        let list: Vec<String> = line.bytes.iter().map(|b| format!("{b:#04x}")).collect();
        input.push_str(&format!("[{}]\n[{}]\n", list.join(","), SENTINEL.0));
    }
    let mut args = test.run.args.clone();
    args.push("-disassemble".into());
    let outcome = tool::run(test.scratch, test.llvm_mc, &args, input.as_bytes(), false)?;
    let mut units = Vec::new();
    let mut unit = Vec::new();
    for line in String::from_utf8_lossy(&outcome.stdout)
        .lines()
        .map(str::trim)
    {
        if line == SENTINEL.1 {
            units.push(std::mem::take(&mut unit));
        } else if line != ".text" {
            unit.push(line.to_string());
        }
    }
    // llvm-mc prints nothing for gfx6 and gfx7, which it cannot disassemble.
    units.resize(lines.len(), Vec::new());
    Ok(units)
}

/// Returns llvm-mc's bytes of each text.
fn assemble(test: &Test, texts: &[&str]) -> Result<Vec<Option<Vec<u8>>>> {
    let mut args = test.run.args.clone();
    args.push("-show-encoding".into());
    let input = texts.join("\n") + "\n";
    let outcome = tool::run(test.scratch, test.llvm_mc, &args, input.as_bytes(), false)?;
    let errors = super::errors(&outcome.stderr);
    let stdout = String::from_utf8_lossy(&outcome.stdout);
    let mut printed = stdout.lines().filter(|l| l.contains("; encoding: ["));
    let mut all = Vec::new();
    for number in 1..=texts.len() {
        if errors.contains_key(&number) {
            all.push(None);
            continue;
        }
        let line = printed
            .next()
            .context("llvm-mc prints fewer lines than it takes")?;
        all.push(super::source::encoding(line).and_then(|p| p.into_iter().collect()));
    }
    Ok(all)
}
