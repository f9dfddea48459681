//! Runs llvm-mc 14 as disassembler and assembler on batches.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use anyhow::{Context, Result, bail, ensure};

use super::compare::hex;
use super::generate::{SENTINEL, Sample};
use super::tool::{self, Scratch};

/// An assembler's result for a line: its bytes, or the error.
pub type Assembled = Result<Vec<u8>, String>;

pub struct Llvm<'a> {
    program: PathBuf,
    scratch: &'a Scratch,
    crashes: Mutex<Vec<String>>,
}

/// Returns the path of llvm-mc.
///
/// # Errors
/// If it is missing, or not version 14, on whose text the rules are based.
pub fn find() -> Result<PathBuf> {
    for name in ["llvm-mc-14", "llvm-mc"] {
        let Ok(output) = Command::new(name).arg("--version").output() else {
            continue;
        };
        let text = String::from_utf8_lossy(&output.stdout);
        if text.contains("version 14.") {
            return Ok(PathBuf::from(name));
        }
    }
    bail!("no llvm-mc of version 14 (Debian package llvm-14)")
}

impl<'a> Llvm<'a> {
    pub fn new(program: &Path, scratch: &'a Scratch) -> Llvm<'a> {
        Llvm {
            program: program.to_path_buf(),
            scratch,
            crashes: Mutex::new(Vec::new()),
        }
    }

    /// The samples on which llvm-mc crashed or hung so far, except for those that [`crashes`] excludes.
    pub fn crashes(&self) -> Vec<String> {
        let crashes = self.crashes.lock();
        crashes.map(|crashes| crashes.clone()).unwrap_or_default()
    }

    fn crashed_on(&self, what: String) {
        if let Ok(mut crashes) = self.crashes.lock() {
            crashes.push(what);
        }
    }

    /// Returns the lines that llvm-mc prints for each sample: none if it does not decode it, several if a sample's second dword
    /// is another instruction. Blanks at both ends are removed.
    pub fn disassemble(&self, target: &str, samples: &[Sample]) -> Result<Vec<Vec<String>>> {
        let safe: Vec<&Sample> = samples
            .iter()
            .filter(|sample| !crashes(sample.words()))
            .collect();
        let mut units = self.disassemble_safe(target, &safe)?.into_iter();
        let unit = |sample: &Sample| {
            if crashes(sample.words()) {
                None
            } else {
                units.next()
            }
        };
        Ok(samples
            .iter()
            .map(unit)
            .map(Option::unwrap_or_default)
            .collect())
    }

    fn disassemble_safe(&self, target: &str, samples: &[&Sample]) -> Result<Vec<Vec<String>>> {
        let mut input = String::with_capacity(samples.len() * 64);
        for sample in samples {
            // Brackets make a block: after a failure llvm-mc continues with the next one.
            let bytes: Vec<u8> = sample.bytes().collect();
            let _ = writeln!(
                input,
                "[{}]\n[{}]",
                hex(&bytes),
                hex(SENTINEL.to_le_bytes())
            );
        }
        let args = ["-disassemble", "-arch=amdgcn", &format!("-mcpu={target}")];
        let outcome = tool::run(self.scratch, &self.program, &args, input.as_bytes(), false)?;
        let text = String::from_utf8_lossy(&outcome.stdout);
        match split_at_sentinels(&text) {
            Some(units) if units.len() == samples.len() && outcome.status.is_some() => Ok(units),
            _ if samples.len() > 1 => {
                // It crashed. The sample is found by bisection.
                let (left, right) = samples.split_at(samples.len() / 2);
                let mut units = self.disassemble_safe(target, left)?;
                units.extend(self.disassemble_safe(target, right)?);
                Ok(units)
            }
            // A sample that crashes llvm-mc is one it does not decode.
            _ if outcome.status.is_none() => {
                for sample in samples {
                    let bytes: Vec<u8> = sample.bytes().collect();
                    self.crashed_on(format!("{target} {} {}", sample.encoding, hex(bytes)));
                }
                Ok(vec![Vec::new()])
            }
            _ => bail!(
                "llvm-mc's output for one sample is not understood: {text:?} {}",
                outcome.stderr
            ),
        }
    }

    /// Returns the bytes of each line, assembled separately.
    pub fn assemble(&self, target: &str, lines: &[&str]) -> Result<Vec<Assembled>> {
        if lines.is_empty() {
            return Ok(Vec::new());
        }
        let mut input = lines.join("\n");
        input.push('\n');
        let args = [
            "-assemble",
            "-show-encoding",
            "-arch=amdgcn",
            &format!("-mcpu={target}"),
        ];
        let outcome = tool::run(self.scratch, &self.program, &args, input.as_bytes(), false)?;
        let parsed = parse_encodings(
            &String::from_utf8_lossy(&outcome.stdout),
            &outcome.stderr,
            lines.len(),
        );
        match parsed {
            Ok(all) if outcome.status.is_some() => Ok(all),
            _ if lines.len() > 1 => {
                let (left, right) = lines.split_at(lines.len() / 2);
                let mut all = self.assemble(target, left)?;
                all.extend(self.assemble(target, right)?);
                Ok(all)
            }
            Ok(_) => {
                self.crashed_on(format!("{target} {}", lines.join(" ")));
                Ok(vec![Err("llvm-mc crashes".to_owned())])
            }
            Err(error) => Ok(vec![Err(format!("{error:#}"))]),
        }
    }
}

/// Returns true if llvm-mc 14 is known to crash on printing this: reserved SDWA selectors. Other crashes are handled by about
/// twenty more runs.
fn crashes(words: &[u32]) -> bool {
    let [first, sdwa] = *words else { return false };
    if first >> 31 != 0 || first & 0x1ff != 0xf9 {
        return false;
    }
    let is_compare = first >> 25 == 0b011_1110;
    let field = |low: u32, width: u32| (sdwa >> low) & ((1 << width) - 1);
    field(16, 3) == 7
        || field(24, 3) == 7
        || (!is_compare && (field(8, 3) == 7 || field(11, 2) == 3))
}

/// Returns the lines between the sentinels; `None` if the text is truncated.
fn split_at_sentinels(text: &str) -> Option<Vec<Vec<String>>> {
    let mut units = Vec::new();
    let mut unit = Vec::new();
    for line in text.lines().map(str::trim).filter(|&line| line != ".text") {
        if line == "s_nop 0x1234" {
            units.push(std::mem::take(&mut unit));
        } else {
            unit.push(line.to_owned());
        }
    }
    unit.is_empty().then_some(units)
}

/// Reads `-show-encoding` output. A line that fails is absent from `stdout` and named on `stderr` as `FILE:LINE:COLUMN: error: …`.
fn parse_encodings(stdout: &str, stderr: &str, count: usize) -> Result<Vec<Assembled>> {
    let mut errors = BTreeMap::new();
    for line in stderr.lines() {
        let Some((location, message)) = line.split_once(": error: ") else {
            continue;
        };
        let mut numbers = location.rsplit(':').skip(1);
        let number: usize = numbers
            .next()
            .and_then(|n| n.parse().ok())
            .context("an error without a line number")?;
        errors.entry(number).or_insert_with(|| message.to_owned());
    }
    // A line that begins with `;` describes a fixup of the line before.
    let mut printed = stdout
        .lines()
        .map(str::trim)
        .filter(|line| *line != ".text" && !line.starts_with(';'));
    let mut all = Vec::with_capacity(count);
    for number in 1..=count {
        if let Some(message) = errors.remove(&number) {
            all.push(Err(message));
            continue;
        }
        let line = printed.next().context("fewer lines than expected")?;
        all.push(match line.split_once("; encoding: [") {
            Some((_, bytes)) => parse_bytes(bytes).ok_or_else(|| "needs a fixup".to_owned()),
            None => Err("prints no encoding".to_owned()),
        });
    }
    ensure!(
        errors.is_empty() && printed.next().is_none(),
        "more lines than expected"
    );
    Ok(all)
}

fn parse_bytes(text: &str) -> Option<Vec<u8>> {
    let list = text.split(']').next()?;
    list.split(',')
        .map(|byte| u8::from_str_radix(byte.strip_prefix("0x")?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failing_lines_keep_their_place() {
        let stdout = "\t.text\n\ts_nop 0 ; encoding: [0x00,0x00,0x80,0xbf]\n\ts_branch x ; encoding: [A,A,0x82,0xbf]\n\
                      ;   fixup A - offset: 0, value: x, kind: fixup_si_sopp_br\n";
        let stderr = "/tmp/a.s:2:5: error: invalid instruction\nbad\n    ^\n";
        let all = parse_encodings(stdout, stderr, 3).expect("aligned");
        assert_eq!(all[0], Ok(vec![0, 0, 0x80, 0xbf]));
        assert_eq!(all[1], Err("invalid instruction".to_owned()));
        assert_eq!(all[2], Err("needs a fixup".to_owned()));
        assert!(parse_encodings(stdout, stderr, 4).is_err());
        assert!(parse_encodings(stdout, stderr, 2).is_err());
    }

    #[test]
    fn units_end_at_sentinels() {
        let text = "\t.text\n\ts_nop 0x1234\n\ta\n\tb \n\ts_nop 0x1234\n";
        assert_eq!(
            split_at_sentinels(text),
            Some(vec![vec![], vec!["a".to_owned(), "b".to_owned()]])
        );
        assert_eq!(split_at_sentinels("\t.text\n\ta\n"), None);
    }

    #[test]
    fn decodes_and_encodes_with_llvm_where_it_is_installed() {
        let Ok(program) = find() else {
            eprintln!("SKIPPED: no llvm-mc of version 14");
            return;
        };
        let scratch = Scratch::new().expect("a temporary folder");
        let llvm = Llvm::new(&program, &scratch);
        let sample = |words: &[u32]| Sample::new(words, "test", 0).expect("one or two dwords");
        // s_add_u32, an undefined SOP2 opcode, s_add_u32 with a literal, s_mov_b32 followed by an s_nop.
        let samples = [
            sample(&[0x8000_0100]),
            sample(&[0xaf80_0000, 0]),
            sample(&[0x8001_02ff, 0x1234_5678]),
            sample(&[0xbe80_0001, 0xbf80_0001]),
        ];
        let text = llvm.disassemble("gfx900", &samples).expect("llvm-mc runs");
        let expected: [&[&str]; 4] = [
            &["s_add_u32 s0, s0, s1"],
            &[],
            &["s_add_u32 s1, 0x12345678, s2"],
            &["s_mov_b32 s0, s1", "s_nop 1"],
        ];
        assert_eq!(text, expected);
        let bytes = llvm
            .assemble("gfx900", &["s_add_u32 s0, s0, s1", "nonsense", "s_nop 1"])
            .expect("llvm-mc runs");
        assert_eq!(bytes[0], Ok(vec![0x00, 0x01, 0x00, 0x80]));
        assert!(bytes[1].is_err());
        assert_eq!(bytes[2], Ok(vec![0x01, 0x00, 0x80, 0xbf]));
    }
}
