//! The lines of a test file: its statements, and the contents of its CHECK lines.

use std::collections::BTreeSet;

/// A line with a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// From 1.
    pub number: usize,
    /// The last line of a block such as `.amdhsa_kernel`, which counts as one statement.
    pub last: usize,
    /// The statement without comments, trimmed.
    pub text: String,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An instruction, or an invalid one that must be refused.
    Instruction,
    /// `.set x, 1` or `x = 1`, on which later lines depend.
    Assignment,
    /// A directive, a label or a block such as `.amdhsa_kernel`.
    Directive,
}

/// Returns the statements of a file.
pub fn lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut in_comment = false;
    // Blocks: the lines up to the end directive belong to the statement.
    let mut block: Option<&str> = None;
    for (at, raw) in text.lines().enumerate() {
        let code = code(raw, &mut in_comment);
        let code = code.trim();
        if code.is_empty() {
            continue;
        }
        let first = code.split_whitespace().next().unwrap_or("");
        if let Some(end) = block {
            if let Some(open) = lines.last_mut() {
                let open: &mut Line = open;
                open.last = at + 1;
            }
            block = Some(end).filter(|end| *end != first);
            continue;
        }
        block = BLOCKS.iter().find(|b| b.0 == first).map(|b| b.1);
        lines.push(Line {
            number: at + 1,
            last: at + 1,
            text: code.to_string(),
            kind: kind(code, first),
        });
    }
    lines
}

static BLOCKS: [(&str, &str); 6] = [
    (".amd_kernel_code_t", ".end_amd_kernel_code_t"),
    (".amdhsa_kernel", ".end_amdhsa_kernel"),
    (".amdgpu_metadata", ".end_amdgpu_metadata"),
    (".amd_amdgpu_hsa_metadata", ".end_amd_amdgpu_hsa_metadata"),
    (".amdgpu_pal_metadata", ".end_amdgpu_pal_metadata"),
    (".macro", ".endm"),
];

fn kind(code: &str, first: &str) -> Kind {
    let assigns = code
        .split_once('=')
        .is_some_and(|(name, rest)| is_name(name.trim()) && !rest.starts_with('='));
    if first == ".set" || assigns {
        Kind::Assignment
    } else if first.starts_with('.') || first.ends_with(':') {
        Kind::Directive
    } else {
        Kind::Instruction
    }
}

/// Returns the label at the start of a statement.
pub fn label(text: &str) -> Option<&str> {
    let (name, _) = text.split_once(':')?;
    (is_name(name) && name.starts_with(|c: char| !c.is_ascii_digit())).then_some(name)
}

fn is_name(text: &str) -> bool {
    let is = |c: char| c.is_ascii_alphanumeric() || "_.$".contains(c);
    !text.is_empty() && text.chars().all(is)
}

/// Returns a line without its comments. Strings in these tests do not contain the start of a comment.
fn code(raw: &str, in_comment: &mut bool) -> String {
    let mut out = String::new();
    let mut rest = raw;
    loop {
        if *in_comment {
            match rest.find("*/") {
                Some(end) => rest = &rest[end + 2..],
                None => return out,
            }
            *in_comment = false;
        }
        let line = ["//", ";"].iter().filter_map(|c| rest.find(c)).min();
        let line = line
            .into_iter()
            .chain(out.is_empty().then(|| hash(rest)).flatten());
        let line = line.min();
        match (line, rest.find("/*")) {
            (Some(at), block) if block.is_none_or(|b| at < b) => {
                out.push_str(&rest[..at]);
                return out;
            }
            (_, Some(at)) => {
                out.push_str(&rest[..at]);
                out.push(' ');
                rest = &rest[at + 2..];
                *in_comment = true;
            }
            _ => {
                out.push_str(rest);
                return out;
            }
        }
    }
}

/// Returns the position of a `#` that begins a comment: at the start of a line.
fn hash(line: &str) -> Option<usize> {
    let blanks = line.len() - line.trim_start().len();
    line[blanks..].starts_with('#').then_some(blanks)
}

/// A byte of an encoding: its value, or `None` if a fixup fills it in.
pub type Pattern = Vec<Option<u8>>;

/// Returns the encoding in a line's brackets: `[0x02,0x00,0x80,0xbe,A,A,A,A]`.
pub fn encoding(text: &str) -> Option<Pattern> {
    let (_, rest) = text.rsplit_once('[')?;
    let (list, _) = rest.split_once(']')?;
    list.split(',')
        .map(|byte| match byte.trim().strip_prefix("0x") {
            Some(hex) => match hex.split_once('\'') {
                Some(_) => Some(None),
                None => u8::from_str_radix(hex, 16).ok().map(Some),
            },
            None => {
                matches!(byte.trim().as_bytes(), [b'A'..=b'F'] | [b'0', b'b', ..]).then_some(None)
            }
        })
        .collect()
}

/// Returns the contents of the CHECK lines of a run, with their line numbers.
pub fn checks<'t>(text: &'t str, prefixes: &BTreeSet<String>) -> Vec<(usize, &'t str)> {
    let check = |line: &'t str| {
        let (before, rest) = line.split_once(':')?;
        let prefix = before
            .trim_start_matches([' ', '\t', '/', '#', ';', '*'])
            .trim();
        let plain = ["-NEXT", "-SAME", "-DAG", "-LABEL"]
            .iter()
            .find_map(|suffix| prefix.strip_suffix(suffix))
            .unwrap_or(prefix);
        let is_comment = before.len() > prefix.len();
        (is_comment && prefixes.contains(plain)).then(|| rest.trim())
    };
    text.lines()
        .enumerate()
        .filter_map(|(at, line)| Some((at + 1, check(line)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_told_from_comments() {
        let text = "// RUN: x\ns_nop 0 // CHECK\n/* a\n b */ s_nop 1 ; c\n# hash\n.set x, 1\ny = 2\nl:\n\
                    .amdhsa_kernel k\n  what\n.end_amdhsa_kernel\nv_mov_b32 v0, x == 1\n";
        let found: Vec<(usize, String, Kind)> = lines(text)
            .into_iter()
            .map(|l| (l.number, l.text, l.kind))
            .collect();
        use Kind::*;
        let expected = [
            (2, "s_nop 0", Instruction),
            (4, "s_nop 1", Instruction),
            (6, ".set x, 1", Assignment),
            (7, "y = 2", Assignment),
            (8, "l:", Directive),
            (9, ".amdhsa_kernel k", Directive),
            (12, "v_mov_b32 v0, x == 1", Instruction),
        ];
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(n, t, k)| (n, t.to_string(), k))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn encodings_have_gaps_where_fixups_are() {
        assert_eq!(
            encoding("s_branch x ; encoding: [A,A,0x82,0xbf]"),
            Some(vec![None, None, Some(0x82), Some(0xbf)])
        );
        assert_eq!(encoding("v[1:2]"), None);
    }

    #[test]
    fn checks_have_the_prefixes_of_the_run() {
        let text = "// VI: a [0x01]\n//VI-NEXT: b\n// SI: c\ns_nop 0\nVI: d\n";
        let prefixes = BTreeSet::from(["VI".to_string()]);
        assert_eq!(checks(text, &prefixes), [(1, "a [0x01]"), (2, "b")]);
    }
}
