//! Reports as text.

use std::fmt::Write as _;

use gcn_isa::access::File;

use crate::report::{Report, Severity};

/// Returns the columns of a text that name a register: `v4`, `s[0:3]`, `vcc`.
fn columns(text: &str, register: (File, u16)) -> Option<(usize, usize)> {
    let operands = text.find(' ')? + 1;
    let mut at = operands;
    // The last operand that names the register is marked: destinations come first, and most reports are about uses.
    let mut found = None;
    while at < text.len() {
        let rest = &text[at..];
        let end = rest.find([',', ' ']).unwrap_or(rest.len());
        let word = rest[..end].trim_matches(['-', '|']);
        if names(word, register) {
            let from = at + rest.find(word).unwrap_or(0);
            found = Some((from, from + word.len()));
        }
        at += end.max(1);
    }
    found
}

fn names(word: &str, (file, register): (File, u16)) -> bool {
    let prefix = match file {
        File::Scalar => 's',
        File::Vector => 'v',
        _ => return false,
    };
    let special = match (file, register) {
        (File::Scalar, 106 | 107) => "vcc",
        (File::Scalar, 126 | 127) => "exec",
        (File::Scalar, 124) => "m0",
        _ => "",
    };
    if !special.is_empty() && word.starts_with(special) {
        return true;
    }
    let Some(rest) = word.strip_prefix(prefix) else {
        return false;
    };
    let range = match rest.strip_prefix('[').and_then(|r| r.strip_suffix(']')) {
        Some(range) => range.split_once(':').unwrap_or((range, range)),
        None => (rest, rest),
    };
    match (range.0.parse::<u16>(), range.1.parse::<u16>()) {
        (Ok(first), Ok(last)) => (first..=last).contains(&register),
        _ => false,
    }
}

/// If a line of source contains only this instruction, as most lines of assembly do, returns the rest of the line: its comment, and for a
/// branch the name of its target.
pub fn repeats<'a>(source: &'a str, instruction: &str) -> Option<&'a str> {
    let mnemonic = |text: &str| text.find(char::is_whitespace).unwrap_or(text.len());
    let plain = |name: &str| {
        let short = name.strip_suffix("_e32").or(name.strip_suffix("_e64"));
        short.unwrap_or(name).to_ascii_lowercase()
    };
    let (source, instruction) = (source.trim(), instruction.trim());
    let (own, operands) = source.split_at(mnemonic(source));
    let (name, mut wanted) = instruction.split_at(mnemonic(instruction));
    if plain(own) != plain(name) {
        return None;
    }
    let mut rest = operands.trim_start();
    let branch = ["s_branch", "s_cbranch_"];
    if branch.iter().any(|start| name.starts_with(start)) {
        return Some(rest);
    }
    wanted = wanted.trim_start();
    while let Some(c) = wanted.chars().next() {
        rest = rest.strip_prefix(c)?.trim_start();
        wanted = wanted[c.len_utf8()..].trim_start();
    }
    let comment = ["//", ";", "#", "/*"]
        .iter()
        .any(|sign| rest.starts_with(sign));
    (rest.is_empty() || comment).then_some(rest)
}

/// Adds a report in the manner of rustc: the message, the place with the line of source, the code with marks, the help. `line` gives
/// the text of a line of source by its file and number (`FILE:LINE`), if the file is there.
pub fn report(
    out: &mut String,
    report: &Report,
    file: &str,
    line: impl FnOnce(&str) -> Option<String>,
) {
    let severity = report.severity.name();
    let _ = writeln!(
        out,
        "{severity}[{}]: {}",
        report.check.name(),
        report.message
    );
    let width = report
        .code
        .iter()
        .map(|line| format!("{:x}", line.pc).len());
    let width = width.max().unwrap_or(1);
    let pad = " ".repeat(width);
    let source = report.source.as_deref();
    let text = source.and_then(line);
    let source = source.map_or(String::new(), |s| format!(" ({s})"));
    let _ = writeln!(
        out,
        "{pad}--> {file}: {} at {:#x}{source}",
        report.kernel, report.pc
    );
    let _ = writeln!(out, "{pad} |");
    let same = |text: &String| {
        let mut own = report.code.iter().filter(|line| line.pc == report.pc);
        own.any(|line| repeats(text, &line.text).is_some())
    };
    if let Some(text) = text.filter(|text| !same(text)) {
        let _ = writeln!(out, "{pad} | {}\n{pad} |", text.trim());
    }
    let mut before = None;
    for line in &report.code {
        if before.is_some_and(|end| end + 8 < line.pc) {
            let _ = writeln!(out, "{}", ".".repeat(width.max(3)));
        }
        before = Some(line.pc);
        let _ = writeln!(out, "{:>width$x} | {}", line.pc, line.text);
        let own = line.pc == report.pc;
        let others = report
            .related
            .iter()
            .filter(|other| other.pc == Some(line.pc));
        let mut mark = |sign: char, label: &str| {
            let all = (0, line.text.len());
            let marked = report
                .register
                .and_then(|r| columns(&line.text, r))
                .unwrap_or(all);
            let signs = sign.to_string().repeat((marked.1 - marked.0).max(1));
            let text = format!("{pad} | {}{signs} {label}", " ".repeat(marked.0));
            let _ = writeln!(out, "{}", text.trim_end());
        };
        if own {
            let sign = if report.severity == Severity::Error {
                '^'
            } else {
                '-'
            };
            mark(sign, "here");
        }
        for other in others {
            mark('-', &other.message);
        }
    }
    let _ = writeln!(out, "{pad} |");
    for other in report.related.iter().filter(|other| other.pc.is_none()) {
        let _ = writeln!(out, "{pad} = {}: {}", other.role.name(), other.message);
    }
    if let Some(at) = report.at {
        let [x, y, z] = at.workgroup;
        let _ = writeln!(
            out,
            "{pad} = in: launch {}, workgroup ({x}, {y}, {z}), wave {}, instruction {} of the wave",
            at.launch, at.wave, at.step
        );
    }
    if let Some(lanes) = report.lanes {
        let _ = writeln!(out, "{pad} = lanes: {lanes:#x}");
    }
    if report.count > 1 {
        let _ = writeln!(out, "{pad} = {} times", report.count);
    }
    if let Some(help) = &report.help {
        let _ = writeln!(out, "{pad} = help: {help}");
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_assembly_is_its_instruction() {
        for (source, instruction, rest) in [
            ("\ts_nop 0", "s_nop 0", Some("")),
            ("s_nop  0 // wait", "s_nop 0", Some("// wait")),
            ("s_endpgm", "s_endpgm", Some("")),
            (
                "V_ADD_F32 v0,v1, v2 ; sum",
                "v_add_f32_e32 v0, v1, v2",
                Some("; sum"),
            ),
            ("s_branch .Lend // on", "s_branch 3", Some(".Lend // on")),
            // These differ by a number, a name instead of a number, a part of a number, a macro's parameter, or a label.
            ("s_nop 1", "s_nop 0", None),
            ("s_nop wait", "s_nop 0", None),
            ("s_nop 01", "s_nop 0", None),
            ("s_nop 0", "s_nop 01", None),
            ("v_mov_b32 v\\n, 0", "v_mov_b32_e32 v1, 0", None),
            ("again: s_nop 0", "s_nop 0", None),
            ("y[i] = x[i];", "s_endpgm", None),
            ("", "s_endpgm", None),
        ] {
            assert_eq!(repeats(source, instruction), rest, "{source}");
        }
    }

    #[test]
    fn the_columns_of_a_register() {
        let text = "buffer_load_dword v1, v[2:3], s[4:7], 0 addr64";
        assert_eq!(columns(text, (File::Vector, 3)), Some((22, 28)));
        assert_eq!(columns(text, (File::Scalar, 5)), Some((30, 36)));
        assert_eq!(columns(text, (File::Scalar, 8)), None);
        assert_eq!(
            columns("v_add_f32_e64 v0, -v1, |v2|", (File::Vector, 2)),
            Some((24, 26))
        );
        assert_eq!(columns("s_endpgm", (File::Vector, 2)), None);
        assert_eq!(
            columns("s_mov_b64 exec, vcc", (File::Scalar, 107)),
            Some((16, 19))
        );
    }
}
