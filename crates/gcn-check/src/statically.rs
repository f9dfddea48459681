//! Checks of a code object that does not run.

use std::collections::BTreeSet;

use gcn_isa::access::InstructionTable;
use gcn_isa::target::{Gen, Target};
use gcn_object::read::CodeObject;
use gcn_object::{SectionKind, SymbolSection};

use crate::code::{Graph, Region};
use crate::hazards;
use crate::report::{Check, Finding, Severity};
use crate::uninit;
use crate::waitcnt::{self, Entry};

/// The code of a kernel or function and the findings in it.
pub struct Checked<'t> {
    /// The name of the kernel or function.
    pub name: String,
    /// It is a kernel, not a function.
    pub kernel: bool,
    /// The index of its section.
    pub section: usize,
    /// The settings of the hazard checks.
    pub settings: hazards::Settings,
    /// The code.
    pub graph: Graph<'t>,
    /// The findings, in ascending order of addresses.
    pub findings: Vec<Finding>,
}

/// The enabled checks and outputs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The checks.
    pub checks: BTreeSet<Check>,
    /// Notes are reported, too.
    pub notes: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            checks: BTreeSet::from([Check::Waitcnt, Check::Hazard, Check::Uninit]),
            notes: false,
        }
    }
}

/// The entry of an analysis: a kernel or a function.
pub struct Root {
    /// Its name.
    pub name: String,
    /// The index of its section.
    pub section: usize,
    /// The address of its first instruction.
    pub address: u64,
    /// The index of the kernel, if it is one.
    pub kernel: Option<usize>,
}

impl Root {
    /// Returns its code as a graph.
    ///
    /// # Errors
    /// A sentence: there is no instruction at its address.
    pub fn graph<'t>(
        &self,
        object: &CodeObject,
        table: &'t InstructionTable,
    ) -> Result<Graph<'t>, String> {
        let region = Region {
            address: object.sections[self.section].address,
            bytes: object.section_data(self.section),
        };
        Graph::new(table, region, self.address).ok_or_else(|| {
            format!(
                "`{}`: there is no instruction of {} at {:#x}",
                self.name,
                table.target().name(),
                self.address
            )
        })
    }
}

/// Checks the kernels and functions of a code object, or one kernel by its name.
///
/// # Errors
/// A sentence: there is no such kernel, or code is missing from the file.
pub fn check<'t>(
    object: &CodeObject,
    table: &'t InstructionTable,
    kernel: Option<&str>,
    options: &Options,
) -> Result<Vec<Checked<'t>>, String> {
    let mut roots = roots(object)?;
    if let Some(name) = kernel {
        roots.retain(|root| root.name == name);
        if roots.is_empty() {
            return Err(format!(
                "there is no kernel or function `{name}` in the file"
            ));
        }
    }
    let mut checked = Vec::new();
    for root in roots {
        let graph = root.graph(object, table)?;
        let settings = settings(object, &root, graph.target());
        let findings = findings(object, &root, &graph, settings, options);
        checked.push(Checked {
            name: root.name,
            kernel: root.kernel.is_some(),
            section: root.section,
            settings,
            graph,
            findings,
        });
    }
    Ok(checked)
}

fn findings(
    object: &CodeObject,
    root: &Root,
    graph: &Graph<'_>,
    settings: hazards::Settings,
    options: &Options,
) -> Vec<Finding> {
    let kernel = root.kernel.map(|n| &object.kernels[n]);
    let wants = |check: Check| options.checks.contains(&check);
    let mut findings = Vec::new();
    if wants(Check::Waitcnt) {
        let entry = if kernel.is_some() {
            Entry::Kernel
        } else {
            Entry::Function
        };
        findings.extend(waitcnt::check(graph, entry));
    }
    if wants(Check::Hazard) {
        findings.extend(hazards::check(graph, settings));
    }
    if let Some(kernel) = kernel.filter(|_| wants(Check::Uninit)) {
        findings.extend(uninit::check(graph, &kernel.descriptor));
    }
    findings.retain(|f| options.notes || f.severity == Severity::Error);
    findings.sort_by_key(|f| (graph.sites[f.site].pc, f.check));
    findings
}

fn settings(object: &CodeObject, root: &Root, target: Target) -> hazards::Settings {
    let kernel = root.kernel.map(|n| &object.kernels[n]);
    hazards::Settings {
        xnack: object.target.xnack.on_or_any(),
        vcc_alias: kernel
            .and_then(|k| vcc_alias(target, k.descriptor.granulated_wavefront_sgpr_count())),
    }
}

/// Returns the first of the two SGPRs that hold VCC, which are the wave's last two. From gfx8 on, instructions cannot name them.
pub(crate) fn vcc_alias(target: Target, granulated: u32) -> Option<u16> {
    let generation = target.generation();
    let count = 8 * (granulated as u16 + 1);
    (generation <= Gen::Gfx7).then(|| count.min(104) - 2)
}

/// Returns the kernels and functions of a code object, in ascending order of address.
///
/// # Errors
/// A sentence: the code of a kernel is missing from the file.
pub fn roots(object: &CodeObject) -> Result<Vec<Root>, String> {
    let mut roots = Vec::new();
    let holds = |address: u64| {
        object.sections.iter().position(|s| {
            s.flags.exec()
                && s.kind != SectionKind::NOBITS
                && (s.address..s.address + s.size).contains(&address)
        })
    };
    for (n, kernel) in object.kernels.iter().enumerate() {
        let section = kernel.entry_section.or_else(|| holds(kernel.entry));
        let section =
            section.ok_or_else(|| format!("the code of `{}` is not in the file", kernel.name))?;
        roots.push(Root {
            name: kernel.name.clone(),
            section,
            address: kernel.entry,
            kernel: Some(n),
        });
    }
    for symbol in object
        .symbols
        .iter()
        .filter(|s| s.kind == gcn_object::SymbolKind::Func)
    {
        let SymbolSection::Index(section) = symbol.section else {
            continue;
        };
        let code = object.sections.get(section).is_some_and(|s| s.flags.exec());
        let known =
            |r: &Root| r.section == section && r.address == symbol.address || r.name == symbol.name;
        if code && !roots.iter().any(known) {
            roots.push(Root {
                name: symbol.name.clone(),
                section,
                address: symbol.address,
                kernel: None,
            });
        }
    }
    roots.sort_by_key(|r| (r.section, r.address));
    Ok(roots)
}
