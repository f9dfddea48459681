//! The check `hazard`: wait states that are missing between two instructions on some path.

use gcn_isa::access::File;
use gcn_isa::flow::{Condition, Flow};
use gcn_isa::format::{Field, Format};
use gcn_isa::hazard::{self, Clause, Concern, First, HAZARDS, Hazard, Rule};
use gcn_isa::meaning::{Signal, State};
use gcn_isa::names;
use gcn_isa::operand::VCC;
use gcn_isa::shape::{Imm, Role};

use crate::code::Graph;
use crate::registers;
use crate::report::{Check, Finding, Related, RelatedRole, Severity};

/// Settings of the hazard checks that the code does not determine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The code may run with XNACK.
    pub xnack: bool,
    /// The first of the two SGPRs that hold VCC, if known.
    pub vcc_alias: Option<u16>,
}

/// Finds hazards on all paths.
pub fn check(graph: &Graph<'_>, settings: Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    let target = graph.target();
    for hazard in HAZARDS.iter().filter(|h| h.waits_in(target) != 0) {
        match hazard.rule {
            Rule::Wait(..) => {
                for at in 0..graph.sites.len() {
                    wait_states(graph, hazard, at, &mut findings);
                }
            }
            Rule::VccAlias => {
                if let Some(alias) = settings.vcc_alias {
                    vcc_alias(graph, hazard, alias, &mut findings);
                }
            }
            Rule::Clause(clause) if settings.xnack => {
                for at in 0..graph.sites.len() {
                    clause_of(graph, hazard, clause, at, &mut findings);
                }
            }
            Rule::VcczAfterSmem | Rule::VcczAfterHalf | Rule::Clause(_) => {}
        }
    }
    vccz(graph, &mut findings);
    findings
}

fn severity(graph: &Graph<'_>, hazard: &Hazard) -> Severity {
    match hazard.disputed_in(graph.target()) {
        true => Severity::Note,
        false => Severity::Error,
    }
}

/// Searches backwards from the second instruction of a hazard for a first one that is too near.
fn wait_states(graph: &Graph<'_>, hazard: &'static Hazard, at: usize, findings: &mut Vec<Finding>) {
    let Some(concern) = hazard.second(&graph.sites[at].insn, graph.info(at)) else {
        return;
    };
    let need = hazard.waits_in(graph.target()) as u32;
    let first = |before: usize| hazard.first(&graph.sites[before].insn, graph.info(before));
    for (before, waits, common) in nearest(graph, at, need, concern, first) {
        let generation = graph.target().generation();
        let name = common.map(|(file, n)| registers::name(file, n, generation));
        let done = match hazard.rule {
            Rule::Wait(First::WideStore, _) => "is stored",
            _ => "is written",
        };
        findings.push(Finding {
            check: Check::Hazard,
            severity: severity(graph, hazard),
            rule: hazard.name,
            site: at,
            register: common.filter(|c| c.0 != File::Hwreg),
            message: format!(
                "{} before this instruction: at least {need} must separate it from the instruction on which it depends. {}",
                plural(need - waits, "wait state is missing", "wait states are missing"),
                hazard.about
            ),
            related: vec![Related {
                role: RelatedRole::Producer,
                site: Some(before),
                message: match name {
                    Some(name) => format!("{name} {done} here"),
                    None => "it depends on this instruction".to_string(),
                },
            }],
            help: Some(format!("insert s_nop {} before it", need - waits - 1)),
        });
    }
}

fn plural(n: u32, one: &str, several: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        n => format!("{n} {several}"),
    }
}

/// The register by which two instructions depend on each other, if there is one.
type Common = Option<(File, u16)>;

/// Returns the instructions on all paths to `at` that `first` accepts and that are fewer than `need` wait states before it, each with its
/// wait states, in ascending order.
fn nearest(
    graph: &Graph<'_>,
    at: usize,
    need: u32,
    concern: Concern,
    first: impl Fn(usize) -> Option<Concern>,
) -> Vec<(usize, u32, Common)> {
    let mut found: Vec<(usize, u32, Common)> = Vec::new();
    let mut seen: Vec<(usize, u32, Concern)> = Vec::new();
    let mut waiting = vec![(at, 0, concern)];
    while let Some((from, waits, concern)) = waiting.pop() {
        for &before in &graph.sites[from].previous {
            if let Some(first) = first(before)
                && first.meets(&concern)
            {
                match found.iter_mut().find(|f| f.0 == before) {
                    Some(old) => old.1 = old.1.min(waits),
                    None => found.push((before, waits, concern.common(&first))),
                }
                continue;
            }
            let mut rest = concern;
            let kept = graph
                .info(before)
                .accesses(&graph.sites[before].insn)
                .all(|a| {
                    let replaces = a.write && !a.anywhere && a.file != File::Hwreg;
                    !replaces || rest.without(a.file, a.first, a.count as u16)
                });
            let waits = waits + graph.sites[before].wait_states;
            if !kept || waits >= need {
                continue;
            }
            if seen
                .iter()
                .any(|s| s.0 == before && s.1 <= waits && s.2 == rest)
            {
                continue;
            }
            seen.push((before, waits, rest));
            waiting.push((before, waits, rest));
        }
    }
    found.sort_by_key(|f| (f.1, f.0));
    found
}

/// Finds hazards between instructions that name VCC differently: one as VCC, the other by the SGPRs that hold it.
fn vcc_alias(graph: &Graph<'_>, hazard: &'static Hazard, alias: u16, findings: &mut Vec<Finding>) {
    let generation = graph.target().generation();
    let concern = |at: usize, write: bool| {
        let site = &graph.sites[at];
        let valu = hazard::is_valu(site.insn.row);
        let info = graph.info(at);
        let accesses = info.accesses(&site.insn).filter(move |a| {
            // A carry-in and the implicit VCC do not count as data.
            valu && a.write == write
                && a.file == File::Scalar
                && !a.anywhere
                && (write || !a.implicit)
        });
        accesses.collect::<Vec<_>>()
    };
    let names = |first: u16, count: u8, base: u16| {
        (first..first + count as u16)
            .find(|r| (base..base + 2).contains(r))
            .map(|r| r - base)
    };
    for at in 0..graph.sites.len() {
        for read in concern(at, false) {
            for (own, other) in [(VCC, alias), (alias, VCC)] {
                let Some(half) = names(read.first, read.count, own) else {
                    continue;
                };
                for &before in &graph.sites[at].previous {
                    let wrote = concern(before, true);
                    if !wrote
                        .iter()
                        .any(|w| names(w.first, w.count, other).is_some())
                    {
                        continue;
                    }
                    let name = |base: u16| registers::name(File::Scalar, base + half, generation);
                    findings.push(Finding {
                        check: Check::Hazard,
                        severity: Severity::Error,
                        rule: hazard.name,
                        site: at,
                        register: Some((File::Scalar, own + half)),
                        message: format!(
                            "1 wait state is missing: {} is read, and was just written as {}. {}",
                            name(own),
                            name(other),
                            hazard.about
                        ),
                        related: vec![Related {
                            role: RelatedRole::Producer,
                            site: Some(before),
                            message: format!("{} is written here", name(other)),
                        }],
                        help: Some("insert s_nop 0 before it".into()),
                    });
                }
            }
        }
    }
}

/// Checks an instruction against the registers that its clause has read and written before it.
fn clause_of(
    graph: &Graph<'_>,
    hazard: &'static Hazard,
    clause: Clause,
    at: usize,
    findings: &mut Vec<Finding>,
) {
    if !clause.row(graph.sites[at].insn.row) {
        return;
    }
    // The instruction itself is the last one of the clause.
    let sets = |of: usize| registers::sets(graph.info(of), &graph.sites[of].insn);
    let (reads, writes) = sets(at);
    let stores = |of: usize| {
        let memory = graph.info(of).memory(&graph.sites[of].insn);
        memory.is_some_and(|m| m.kind != gcn_isa::access::MemoryKind::Load)
    };
    // A breadth-first search finds the nearest instruction of the clause that the rule forbids, and the number of instructions in between.
    let mut seen = vec![at];
    let mut waiting = std::collections::VecDeque::from([(at, 0)]);
    while let Some((from, between)) = waiting.pop_front() {
        for &before in &graph.sites[from].previous {
            if seen.contains(&before) || !clause.row(graph.sites[before].insn.row) {
                continue;
            }
            seen.push(before);
            waiting.push_back((before, between + 1));
            let (read, written) = sets(before);
            if written.is_empty() {
                continue;
            }
            let common = reads.common(&written).or_else(|| read.common(&writes));
            if common.is_none() && !stores(at) {
                continue;
            }
            let what = match common {
                Some((file, n)) => {
                    let name = registers::name(file, n, graph.target().generation());
                    format!("{name} is a source of one and the destination of the other")
                }
                None => "a store follows a load, perhaps of the same address".to_string(),
            };
            // Compilers separate only near instructions, and the addresses are unknown.
            let certain = common.is_some() && between < hazard::MOST_WAITS;
            findings.push(Finding {
                check: Check::Hazard,
                severity: match certain {
                    true => Severity::Error,
                    false => Severity::Note,
                },
                rule: hazard.name,
                site: at,
                register: common,
                message: format!(
                    "it is in one clause with another memory instruction, and {what}. {}",
                    hazard.about
                ),
                related: vec![Related {
                    role: RelatedRole::Producer,
                    site: Some(before),
                    message: "the other instruction".into(),
                }],
                help: Some("insert s_nop 0 before it".into()),
            });
            return;
        }
    }
}

/// The instructions that may have made VCCZ wrong.
#[derive(Clone, Copy, Default, PartialEq)]
struct Vccz {
    /// A scalar memory instruction that may not have returned.
    outstanding: Option<usize>,
    /// A scalar memory instruction that may make VCCZ wrong or has done so.
    smem: Option<usize>,
    /// The write of one half of VCC.
    half: Option<usize>,
}

fn vccz(graph: &Graph<'_>, findings: &mut Vec<Finding>) {
    let target = graph.target();
    let rule = |rule: Rule| {
        HAZARDS
            .iter()
            .find(|h| h.rule == rule && h.waits_in(target) != 0)
    };
    let (after_smem, after_half) = (rule(Rule::VcczAfterSmem), rule(Rule::VcczAfterHalf));
    let reads = |at: usize| match graph.sites[at].flow {
        Flow::Branch {
            when: Condition::If { state, .. },
            ..
        } => state == State::Vcc,
        _ => false,
    };
    if !(0..graph.sites.len()).any(reads) {
        return;
    }
    let step = |at: usize, state: &mut Vccz| {
        let site = &graph.sites[at];
        let info = graph.info(at);
        if info.signals(Signal::Waitcnt)
            && site.insn.row.shape.slot(Role::Imm(Imm::Waitcnt)).is_some()
            && names::waitcnt(site.insn.field(Field::Simm16), target.generation())
                .lgkm
                .0
                == 0
        {
            state.outstanding = None;
        }
        let mut halves = 0;
        for a in info.accesses(&site.insn).filter(|a| a.write && !a.anywhere) {
            for half in 0..2 {
                halves |= (a.touches(File::Scalar, VCC + half) as u8) << half;
            }
        }
        match halves {
            0 => {}
            3 => {
                state.half = None;
                state.smem = state.outstanding;
            }
            _ => state.half = Some(at),
        }
        if site.insn.row.format == Format::Smem {
            state.outstanding = Some(at);
            state.smem = Some(at);
        }
        if site.calls {
            *state = Vccz::default();
        }
    };
    let merge = |old: &mut Vccz, new: &Vccz| {
        let before = *old;
        old.outstanding = old.outstanding.or(new.outstanding);
        old.smem = old.smem.or(new.smem);
        old.half = old.half.or(new.half);
        *old != before
    };
    let states = graph.forward(Vccz::default(), step, merge);
    for at in (0..graph.sites.len()).filter(|at| reads(*at)) {
        let Some(state) = states[at] else { continue };
        for (hazard, before) in [(after_smem, state.smem), (after_half, state.half)] {
            let (Some(hazard), Some(before)) = (hazard, before) else {
                continue;
            };
            findings.push(Finding {
                check: Check::Hazard,
                severity: severity(graph, hazard),
                rule: hazard.name,
                site: at,
                register: None,
                message: format!("VCCZ may be wrong. {}", hazard.about),
                related: vec![Related {
                    role: RelatedRole::Producer,
                    site: Some(before),
                    message: match hazard.rule {
                        Rule::VcczAfterSmem => "this scalar memory instruction may make VCCZ wrong",
                        _ => "one half of VCC is written here",
                    }
                    .into(),
                }],
                help: Some("insert s_mov_b64 vcc, vcc before it, after s_waitcnt lgkmcnt(0) where scalar loads are outstanding".into()),
            });
        }
    }
}
