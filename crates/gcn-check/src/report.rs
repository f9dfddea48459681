//! Reports: the error, its location, and related instructions.

use gcn_isa::access::File;
use gcn_isa::print::{Style, print};
use serde_json::{Value, json};

use crate::code::Graph;

/// A check, as options and reports name it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[non_exhaustive]
pub enum Check {
    /// Accesses outside of buffers, LDS, scratch and kernel arguments.
    Oob,
    /// Uses of values that nothing wrote.
    Uninit,
    /// Missing s_waitcnt.
    Waitcnt,
    /// Missing wait states.
    Hazard,
    /// Data races.
    Race,
    /// Barriers that not all waves reach.
    Barrier,
    /// Stale scalar loads and modified code.
    Coherence,
    /// Vector instructions that silently do nothing or too much.
    Exec,
    /// Modes that are changed and not restored.
    Mode,
}

impl Check {
    /// All checks.
    pub const ALL: [Check; 9] = [
        Check::Oob,
        Check::Uninit,
        Check::Waitcnt,
        Check::Hazard,
        Check::Race,
        Check::Barrier,
        Check::Coherence,
        Check::Exec,
        Check::Mode,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Check::Oob => "oob",
            Check::Uninit => "uninit",
            Check::Waitcnt => "waitcnt",
            Check::Hazard => "hazard",
            Check::Race => "race",
            Check::Barrier => "barrier",
            Check::Coherence => "coherence",
            Check::Exec => "exec",
            Check::Mode => "mode",
        }
    }

    /// A sentence about it.
    pub const fn about(self) -> &'static str {
        match self {
            Check::Oob => "accesses outside of buffers, LDS, scratch and kernel arguments",
            Check::Uninit => "uses of values that nothing has written",
            Check::Waitcnt => {
                "results and sources of memory instructions that no s_waitcnt protects"
            }
            Check::Hazard => "wait states that are missing between two instructions",
            Check::Race => {
                "accesses of several work-items to the same bytes without synchronisation"
            }
            Check::Barrier => "barriers that not all waves of a workgroup reach",
            Check::Coherence => {
                "scalar loads of data that vector stores changed, and modified code"
            }
            Check::Exec => "vector instructions that silently do nothing or too much",
            Check::Mode => "floating-point modes that are changed and not restored",
        }
    }
}

/// How serious a report is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Severity {
    /// The code is wrong.
    Error,
    /// The code may be intended, or sources disagree whether it is wrong.
    Note,
}

impl Severity {
    /// `error` or `note`.
    pub const fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Note => "note",
        }
    }
}

/// The role of another instruction in a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum RelatedRole {
    /// It produced the value.
    Producer,
    /// It accessed the same memory.
    Access,
    /// It allocated the memory.
    Allocation,
    /// The value comes from here.
    Origin,
    /// The barrier.
    Barrier,
    /// The host's program that launched the kernel.
    Host,
}

impl RelatedRole {
    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            RelatedRole::Producer => "producer",
            RelatedRole::Access => "access",
            RelatedRole::Allocation => "allocation",
            RelatedRole::Origin => "origin",
            RelatedRole::Barrier => "barrier",
            RelatedRole::Host => "host",
        }
    }
}

/// Another instruction of a finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Related {
    /// Its role.
    pub role: RelatedRole,
    /// The instruction, if there is one.
    pub site: Option<usize>,
    /// A part of a sentence.
    pub message: String,
}

/// A result of an analysis of a graph. Instructions are numbered as in the graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The check.
    pub check: Check,
    /// How serious it is.
    pub severity: Severity,
    /// The kind within the check: a hazard's name, `early-use`.
    pub rule: &'static str,
    /// The instruction.
    pub site: usize,
    /// The register that the finding is about.
    pub register: Option<(File, u16)>,
    /// A sentence.
    pub message: String,
    /// Other instructions.
    pub related: Vec<Related>,
    /// A suggestion.
    pub help: Option<String>,
}

/// The position of an instruction in a run: the launch, the workgroup, its wave, and the number of instructions that the wave had executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    /// The launch, from 0.
    pub launch: u64,
    /// The workgroup.
    pub workgroup: [u32; 3],
    /// The wave of the workgroup.
    pub wave: u64,
    /// The number of instructions that the wave executed before this one.
    pub step: u64,
}

/// Another instruction of a report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Other {
    /// Its role.
    pub role: RelatedRole,
    /// Its address, as a disassembly prints it.
    pub pc: Option<u64>,
    /// Its text; empty if there is none.
    pub instruction: String,
    /// Its file and line.
    pub source: Option<String>,
    /// A part of a sentence.
    pub message: String,
}

/// A line of disassembly.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CodeLine {
    /// The address.
    pub pc: u64,
    /// The instruction.
    pub text: String,
}

/// A report, with everything that its output needs.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The check.
    pub check: Check,
    /// How serious it is.
    pub severity: Severity,
    /// The kind within the check.
    pub rule: &'static str,
    /// The kernel or function.
    pub kernel: String,
    /// The address of its first instruction.
    pub entry: u64,
    /// The address of the instruction, as a disassembly prints it.
    pub pc: u64,
    /// The file and line of source.
    pub source: Option<String>,
    /// The instruction.
    pub instruction: String,
    /// The register, by its name, that the report is about.
    pub register: Option<(File, u16)>,
    /// The lanes; `None` for code that does not run.
    pub lanes: Option<u64>,
    /// The address in memory.
    pub address: Option<u64>,
    /// Its first occurrence in the run; `None` for code that does not run.
    pub at: Option<At>,
    /// A sentence.
    pub message: String,
    /// Other instructions.
    pub related: Vec<Other>,
    /// A suggestion.
    pub help: Option<String>,
    /// The number of occurrences; 1 for code that does not run.
    pub count: u64,
    /// The disassembly around the instruction and the others, in ascending order.
    pub code: Vec<CodeLine>,
}

/// The text of an instruction, and its file and line.
pub type Describe<'a> = dyn Fn(u64) -> Option<String> + 'a;

impl Report {
    /// Returns the report of a finding in code that does not run. `source` gives the file and line of an address.
    pub fn of_code(
        kernel: &str,
        graph: &Graph<'_>,
        finding: &Finding,
        source: &Describe<'_>,
    ) -> Report {
        let text = |site: usize| {
            let mut text = String::new();
            print(&graph.sites[site].insn, &Style::LLVM, &mut text);
            text
        };
        let location = |site: Option<usize>| {
            let pc = site.map(|site| graph.sites[site].pc);
            (pc, site.map_or(String::new(), text), pc.and_then(source))
        };
        let related = finding.related.iter().map(|related| {
            let (pc, instruction, source) = location(related.site);
            Other {
                role: related.role,
                pc,
                instruction,
                source,
                message: related.message.clone(),
            }
        });
        let shown =
            std::iter::once(finding.site).chain(finding.related.iter().filter_map(|r| r.site));
        let mut code = Vec::new();
        for site in shown {
            for near in site.saturating_sub(1)..(site + 2).min(graph.sites.len()) {
                // Neighbours in the graph are adjacent in the code unless a path skips instructions in between.
                if graph.sites[near].pc.abs_diff(graph.sites[site].pc) <= 8 {
                    code.push(CodeLine {
                        pc: graph.sites[near].pc,
                        text: text(near),
                    });
                }
            }
        }
        code.sort();
        code.dedup();
        let pc = graph.sites[finding.site].pc;
        Report {
            check: finding.check,
            severity: finding.severity,
            rule: finding.rule,
            kernel: kernel.to_string(),
            entry: graph.sites[graph.entry].pc,
            pc,
            source: source(pc),
            instruction: text(finding.site),
            register: finding.register,
            lanes: None,
            address: None,
            at: None,
            message: finding.message.clone(),
            related: related.collect(),
            help: finding.help.clone(),
            count: 1,
            code,
        }
    }

    /// Returns the offset in bytes from the kernel's first instruction, modulo 2^64 for code before it.
    pub fn offset(&self) -> u64 {
        self.pc.wrapping_sub(self.entry)
    }

    /// Returns the report as JSON (docs/json.md).
    pub fn json(&self) -> Value {
        let hex = |n: Option<u64>| n.map(|n| format!("{n:#x}"));
        let related = self.related.iter().map(|other| {
            json!({
                "role": other.role.name(),
                "pc": other.pc,
                "instruction": other.instruction,
                "source": other.source,
                "message": other.message,
            })
        });
        let at = self.at.map(|at| {
            json!({"launch": at.launch, "workgroup": at.workgroup, "wave": at.wave, "step": at.step})
        });
        json!({
            "check": self.check.name(),
            "rule": self.rule,
            "severity": self.severity.name(),
            "kernel": self.kernel,
            "pc": self.pc,
            "source": self.source,
            "instruction": self.instruction,
            "workgroup": self.at.map(|at| at.workgroup),
            "wave": self.at.map(|at| at.wave),
            "lanes": hex(self.lanes),
            "address": hex(self.address),
            "message": self.message,
            "at": at,
            "related": related.collect::<Vec<_>>(),
            "help": self.help,
            "count": self.count,
        })
    }
}
