//! The RUN lines of LLVM's tests: the runs of llvm-mc, and the prefixes of their results in the file.

use std::collections::BTreeSet;

use gcn_isa::Target;
use gcn_object::target::{Os, Version};

/// A run of llvm-mc on a file, with the check prefixes of all its RUN lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The processor in the RUN line; `None` is LLVM's generic one, a gfx6.
    pub cpu: Option<String>,
    /// The arguments of llvm-mc, except for those that select the output.
    pub args: Vec<String>,
    /// `NAME=VALUE` of `-defsym`.
    pub defines: Vec<(String, i64)>,
    pub prefixes: BTreeSet<String>,
    /// True for the disassembler, false for the assembler.
    pub disassembles: bool,
    /// True if the tests check an object, which can have errors that its text does not have.
    pub object: bool,
}

impl Run {
    /// The target; `None` if it is not a known gfx6 to gfx9 target.
    pub fn target(&self) -> Option<Target> {
        match &self.cpu {
            None => Target::parse("gfx600"),
            Some(name) => Target::parse(name)
                .or_else(|| Target::parse("gfx600").filter(|_| self.is_generic())),
        }
    }

    /// Returns true for LLVM's generic processor, which it also uses for unknown ones.
    pub fn is_generic(&self) -> bool {
        let unknown = |name: &str| ["gfx800", "gfx804"].contains(&name);
        self.cpu.as_deref().is_none_or(unknown)
    }

    /// The object's system.
    pub fn os(&self) -> Os {
        let triple = self.args.iter().find_map(|a| a.strip_prefix("-triple="));
        match triple.and_then(|t| t.split('-').nth(2)) {
            Some("amdhsa") => Os::Hsa,
            Some("amdpal") => Os::Pal,
            Some("mesa3d") => Os::Mesa3d,
            _ => Os::None,
        }
    }

    /// The code object version that llvm-mc 14 writes.
    pub fn version(&self) -> Version {
        let number = self
            .args
            .iter()
            .find_map(|a| a.strip_prefix("--amdhsa-code-object-version="));
        match number {
            Some("2") => Version::V2,
            Some("3") => Version::V3,
            Some("5") => Version::V5,
            _ => Version::V4,
        }
    }

    /// The run's name in a table: the target and other options.
    pub fn title(&self) -> String {
        let target = self.target().map_or("?", Target::name);
        let mut title = target.to_string();
        if self.cpu.is_none() {
            title.push_str(" (generic)");
        }
        for arg in &self.args {
            if !arg.starts_with("-arch=") && !arg.starts_with("-mcpu=") {
                title.push(' ');
                title.push_str(arg.trim_start_matches('-'));
            }
        }
        for (name, value) in &self.defines {
            title.push_str(&format!(" {name}={value}"));
        }
        title
    }
}

/// Returns the runs of a file. Runs that differ only in their output are merged.
pub fn runs(text: &str) -> Vec<Run> {
    let mut all: Vec<Run> = Vec::new();
    for command in commands(text) {
        for part in command.split("&&").flat_map(|c| c.split(';')) {
            let Some(run) = one(part) else { continue };
            let same = all.iter_mut().find(|r| {
                (&r.cpu, &r.args, &r.defines, r.disassembles)
                    == (&run.cpu, &run.args, &run.defines, run.disassembles)
            });
            match same {
                Some(old) => {
                    old.prefixes.extend(run.prefixes);
                    old.object |= run.object;
                }
                None => all.push(run),
            }
        }
    }
    all
}

/// Returns the commands of the RUN lines; a line that ends in `\` continues on the next.
fn commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut open = false;
    for line in text.lines() {
        let Some((_, command)) = line.split_once("RUN:") else {
            continue;
        };
        let command = command.trim();
        let (body, goes_on) = match command.strip_suffix('\\') {
            Some(body) => (body.trim_end(), true),
            None => (command, false),
        };
        match commands.last_mut() {
            Some(last) if open => {
                let last: &mut String = last;
                last.push(' ');
                last.push_str(body);
            }
            _ => commands.push(body.to_string()),
        }
        open = goes_on;
    }
    commands
}

/// Returns the run of a pipeline; `None` if it does not contain llvm-mc.
fn one(pipeline: &str) -> Option<Run> {
    let mut run = Run {
        cpu: None,
        args: Vec::new(),
        defines: Vec::new(),
        prefixes: BTreeSet::new(),
        disassembles: false,
        object: false,
    };
    let mut found = false;
    for command in pipeline.split('|') {
        let mut words = command.split_whitespace().peekable();
        while matches!(words.peek(), Some(&("not" | "--crash"))) {
            words.next();
        }
        match words.next() {
            Some("llvm-mc") => {
                found = true;
                assembler(words, &mut run)?;
            }
            Some("FileCheck") => checker(words, &mut run.prefixes),
            _ => {}
        }
    }
    if run.prefixes.is_empty() {
        run.prefixes.insert("CHECK".into());
    }
    found.then_some(run)
}

fn assembler<'t>(mut words: impl Iterator<Item = &'t str>, run: &mut Run) -> Option<()> {
    let (mut arch, mut triple) = (None, None);
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix('-') else {
            // `%s`, `< %s`, `2>&1`, `> %t`.
            continue;
        };
        let option = option.strip_prefix('-').unwrap_or(option);
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        let mut value = || value.or_else(|| words.next()).map(str::to_string);
        match name {
            "arch" => arch = value(),
            "triple" => triple = value(),
            "mcpu" => run.cpu = value(),
            "mattr" => run.args.push(format!("-mattr={}", value()?)),
            "amdhsa-code-object-version" => {
                let version = value()?;
                run.args
                    .push(format!("--amdhsa-code-object-version={version}"));
            }
            "defsym" => {
                let define = value()?;
                let (name, number) = define.split_once('=')?;
                run.defines.push((name.to_string(), number.parse().ok()?));
            }
            "disassemble" => run.disassembles = true,
            "filetype" => run.object = value().as_deref() == Some("obj"),
            "o" => {
                value();
            }
            _ => {}
        }
    }
    if let Some(cpu) = &run.cpu {
        run.args.insert(0, format!("-mcpu={cpu}"));
    }
    match triple {
        Some(triple) => run.args.insert(0, format!("-triple={triple}")),
        None => run.args.insert(0, format!("-arch={}", arch?)),
    }
    Some(())
}

fn checker<'t>(mut words: impl Iterator<Item = &'t str>, prefixes: &mut BTreeSet<String>) {
    while let Some(word) = words.next() {
        let option = word.trim_start_matches('-');
        if option.len() == word.len() || !option.starts_with("check-prefix") {
            continue;
        }
        let list = match option.split_once('=') {
            Some((_, list)) => Some(list),
            None => words.next(),
        };
        for prefix in list.unwrap_or("").split(',').filter(|p| !p.is_empty()) {
            prefixes.insert(prefix.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_print_differently_are_one() {
        let text = "// RUN: not llvm-mc -arch=amdgcn -mcpu=fiji -show-encoding %s | FileCheck --check-prefixes=GCN,VI %s\n\
            // RUN: not llvm-mc -arch=amdgcn -mcpu=fiji %s 2>&1 | \\\n\
            // RUN:   FileCheck %s -check-prefix=NOVI --implicit-check-not=error:\n\
            // RUN: llvm-mc -arch=amdgcn -mattr=+xnack %s | FileCheck %s\n";
        let runs = runs(text);
        assert_eq!(runs.len(), 2);
        assert_eq!(runs[0].args, ["-arch=amdgcn", "-mcpu=fiji"]);
        let prefixes: Vec<&String> = runs[0].prefixes.iter().collect();
        assert_eq!(prefixes, ["GCN", "NOVI", "VI"]);
        assert_eq!(runs[0].target(), Target::parse("gfx803"));
        assert_eq!(runs[1].title(), "gfx600 (generic) mattr=+xnack");
        assert!(runs[1].prefixes.contains("CHECK"));
    }

    #[test]
    fn later_generations_have_no_target() {
        let text =
            "RUN: llvm-mc -triple amdgcn-amd-amdhsa -mcpu=gfx1010 -defsym=x=1 < %s | FileCheck %s";
        let runs = runs(text);
        assert_eq!(runs[0].target(), None);
        assert_eq!(runs[0].defines, [("x".to_string(), 1)]);
    }
}
