//! Converts source to the data that the page shows: instructions with their bytes, fields, operands, costs and reports.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use gcn::analyze::{self, Analysis};
use gcn::asm::{self, Diagnostic, Level, Syntax};
use gcn::check::report::{Report, Severity};
use gcn::check::{hazards, statically, waitcnt};
use gcn::dis;
use gcn::isa::access::{File, InstructionInfo, InstructionTable};
use gcn::isa::decode::{Decoder, Insn};
use gcn::isa::operand::EXEC;
use gcn::isa::print::{Style, print, print_operand, print_with_label};
use gcn::isa::{Target, decode};
use gcn::lines::Lines;
use gcn::object::read::{CodeObject, Symbol};
use gcn::object::{Binding, SectionKind, SymbolKind, SymbolSection, Visibility};
use serde_json::{Value, json};

use crate::fields;

/// The maximum size of source.
pub const MOST_SOURCE: usize = 1 << 20;
/// The maximum number of instructions that are shown.
const MOST_ROWS: usize = 5_000;
/// The maximum number of kernels and functions that are analyzed and checked.
const MOST_ROOTS: usize = 100;
/// The maximum number of bytes of text that macros may produce.
const BUDGET: u64 = 4 << 20;
/// The maximum bytes of all sections.
const MOST_OBJECT: usize = 16 << 20;
/// The maximum number of messages of the assembler.
const MOST_DIAGNOSTICS: usize = 200;
/// The name of source in line tables.
const FILE: &str = "source.s";
/// The name of code without a kernel or function.
pub const SNIPPET: &str = "code";

/// Source and the options for assembling it.
#[derive(Clone, Debug)]
pub struct Source {
    /// The text.
    pub text: String,
    /// The target, if the text names none.
    pub target: Target,
    /// The syntax.
    pub syntax: Syntax,
}

/// Assembled source.
pub struct Built {
    /// The target.
    pub target: Target,
    /// The code object.
    pub object: CodeObject,
    /// Lines of the source by address.
    lines: Option<Lines>,
    /// True if there is neither a kernel nor a function; the code is then one snippet.
    pub snippet: bool,
    /// The instructions' bytes and the address of the first one.
    pub text: (u64, Vec<u8>),
    /// Warnings.
    diagnostics: Vec<Diagnostic>,
    printed: String,
}

/// Assembles source.
///
/// # Errors
/// The assembler's messages.
pub fn build(source: &Source) -> Result<Built, Vec<Diagnostic>> {
    // Sections may be large; only one source is assembled at a time.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if source.text.len() > MOST_SOURCE {
        let message = format!(
            "the source has {} bytes; the page takes at most {MOST_SOURCE}",
            source.text.len()
        );
        return Err(vec![about_all(message)]);
    }
    let options = asm::Options {
        target: Some(source.target),
        syntax: source.syntax,
        debug: Some(String::new()),
        budget: Some(BUDGET),
        ..asm::Options::default()
    };
    let output = asm::assemble(&source.text, FILE, &options);
    let Some(assembled) = output.object else {
        return Err(output.diagnostics);
    };
    let size: usize = assembled.sections.iter().map(|s| s.data.len()).sum();
    if size > MOST_OBJECT {
        let message =
            format!("the sections have {size} bytes; the page takes at most {MOST_OBJECT}");
        return Err(vec![about_all(message)]);
    }
    let read = |file: Result<Vec<u8>, gcn::object::Error>| {
        let object = file.and_then(CodeObject::from_bytes);
        object.map_err(|e| vec![about_all(e.to_string())])
    };
    let mut object = read(assembled.loadable())?;
    let none = |object: &CodeObject| statically::roots(object).is_ok_and(|r| r.is_empty());
    if none(&object) && assembled.raw().is_ok() {
        // The addresses of a snippet begin at 0.
        object = read(assembled.relocatable())?;
    }
    let target = dis::target_of(&object).map_err(|e| vec![about_all(e)])?;
    let code = object.sections.iter().position(|s| {
        s.flags.exec() && s.kind != SectionKind::NOBITS && (s.size != 0 || s.name == ".text")
    });
    let text = match code {
        Some(n) => (object.sections[n].address, object.section_data(n).to_vec()),
        None => (0, Vec::new()),
    };
    let roots = statically::roots(&object).map_err(|e| vec![about_all(e)])?;
    let snippet = roots.is_empty();
    if let (true, Some(section), false) = (snippet, code, text.1.is_empty()) {
        object.symbols.push(Symbol {
            name: SNIPPET.into(),
            address: text.0,
            size: text.1.len() as u64,
            kind: SymbolKind::Func,
            binding: Binding::Local,
            visibility: Visibility::Default,
            section: SymbolSection::Index(section),
        });
    }
    Ok(Built {
        target,
        lines: Lines::read(&object, false).ok(),
        object,
        snippet,
        text,
        diagnostics: output.diagnostics,
        printed: output.printed,
    })
}

/// A message without a line.
fn about_all(message: String) -> Diagnostic {
    Diagnostic {
        level: Level::Error,
        message,
        help: None,
        file: FILE.into(),
        line: 1,
        column: 1,
        span: 0..0,
        source_line: String::new(),
        notes: Vec::new(),
    }
}

/// Messages for the page: columns and lengths are in UTF-16 code units, as JavaScript counts.
pub fn diagnostics(list: &[Diagnostic]) -> Value {
    let one = |d: &Diagnostic| {
        let units = |bytes: std::ops::Range<usize>| {
            let part = d.source_line.get(bytes).unwrap_or("");
            part.encode_utf16().count()
        };
        let notes = d.notes.iter().map(|n| {
            json!({"message": n.message, "line": n.line, "column": n.column, "source": n.source_line})
        });
        json!({
            "level": match d.level { Level::Error => "error", Level::Warning => "warning" },
            "message": d.message,
            "help": d.help,
            // The outermost statement is the one that the editor shows.
            "line": d.notes.last().map_or(d.line, |n| n.line),
            "column": d.notes.last().map_or(d.column, |n| n.column),
            "start": units(0..d.span.start),
            "length": units(d.span.clone()),
            "source": d.source_line,
            "notes": notes.collect::<Vec<_>>(),
        })
    };
    list.iter().take(MOST_DIAGNOSTICS).map(one).collect()
}

/// All data that the page shows for a source.
pub fn view(source: &Source) -> Value {
    match build(source) {
        Ok(built) => built.view(),
        Err(list) => json!({"ok": false, "diagnostics": diagnostics(&list)}),
    }
}

impl Built {
    /// The line of the source, from 1, whose instruction is at an address.
    fn line(&self, section: usize, pc: u64) -> Option<usize> {
        let line = self.lines.as_ref()?.at(section, pc)?;
        let (file, number) = line.lines().next()?.rsplit_once(':')?;
        (file == FILE || file.ends_with("/source.s")).then(|| number.parse().ok())?
    }

    /// All data that the page shows.
    pub fn view(&self) -> Value {
        let table = InstructionTable::new(self.target);
        let (mut rows, more) = self.rows(&table);
        let (reports, why) = self.reports(&table);
        let analyses = self.analyses(&table);
        for analysis in &analyses {
            for i in &analysis.instructions {
                let Some(row) = rows.get_mut(&i.pc) else {
                    continue;
                };
                let names = |file| -> Vec<u16> { i.live.of(file).collect() };
                row["live_vgprs"] = i.live_vgprs.into();
                row["live_sgprs"] = i.live_sgprs.into();
                row["live_v"] = names(File::Vector).into();
                row["live_s"] = names(File::Scalar).into();
                row["cycles"] = i.cycles.into();
                row["most_cycles"] = i.most_cycles.into();
                row["stall"] = i.stall.into();
                row["waits"] = i.waits_for.clone().into();
            }
        }
        let peak =
            |p: &analyze::Peak| json!({"count": p.count, "at": p.at, "registers": p.registers});
        let kernels = self.object.kernels.iter().map(|k| {
            let arguments = k.metadata.as_ref().map(|m| {
                let visible = m.args.iter().filter(|a| !a.value_kind.hidden());
                let one = |a: &gcn::object::metadata::Arg| {
                    json!({"name": a.name, "type": a.type_name, "kind": a.value_kind_name, "size": a.size})
                };
                visible.map(one).collect::<Vec<_>>()
            });
            json!({"name": k.name, "pc": k.entry, "arguments": arguments})
        });
        let analyses = analyses.iter().map(|a| {
            let stalls = a.stalls();
            let loops = a.loops.iter().map(|l| {
                json!({
                    "header": l.header, "latches": l.latches, "depth": l.depth, "instructions": l.instructions,
                    "cycles": l.cycles.0, "most_cycles": l.cycles.1,
                })
            });
            json!({
                "name": a.name,
                "chip": a.chip.name,
                "occupancy": a.occupancy.as_ref().map(|o| o.json()),
                "stalls": {"instructions": stalls.instructions, "cycles": stalls.cycles, "exposed_cycles": stalls.exposed},
                "peak_vgprs": peak(&a.vgprs),
                "peak_sgprs": peak(&a.sgprs),
                "loops": loops.collect::<Vec<_>>(),
            })
        });
        json!({
            "ok": true,
            "target": self.target.name(),
            "snippet": self.snippet,
            "base": self.text.0,
            "bytes": self.text.1.len(),
            "diagnostics": diagnostics(&self.diagnostics),
            "printed": self.printed.chars().take(10_000).collect::<String>(),
            "kernels": kernels.collect::<Vec<_>>(),
            "rows": rows.into_values().collect::<Vec<_>>(),
            "more": more,
            "reports": reports,
            "unchecked": why,
            "analyses": analyses.collect::<Vec<_>>(),
        })
    }

    /// The names of kernels and functions; a snippet counts as one.
    fn roots(&self) -> Vec<String> {
        let roots = statically::roots(&self.object).unwrap_or_default();
        roots.into_iter().take(MOST_ROOTS).map(|r| r.name).collect()
    }

    fn analyses(&self, table: &InstructionTable) -> Vec<Analysis> {
        let mut all = Vec::new();
        for name in self.roots() {
            let options = analyze::Options {
                kernel: Some(&name),
                chip: None,
                line: &|_, _| None,
            };
            // Code that cannot be analyzed has no columns.
            all.extend(analyze::analyze(&self.object, table, &options).unwrap_or_default());
        }
        all
    }

    /// The reports of the static checks, and the reason if there are none.
    fn reports(&self, table: &InstructionTable) -> (Vec<Value>, Option<String>) {
        let options = statically::Options::default();
        let mut all = Vec::new();
        if self.snippet {
            return (self.snippet_reports(table), None);
        }
        for name in self.roots() {
            let checked = match statically::check(&self.object, table, Some(&name), &options) {
                Ok(checked) => checked,
                Err(why) => return (all, Some(why)),
            };
            for checked in checked {
                for finding in &checked.findings {
                    let source = |pc: u64| {
                        let line = self.line(checked.section, pc)?;
                        Some(line.to_string())
                    };
                    let report = Report::of_code(&checked.name, &checked.graph, finding, &source);
                    all.push(self.report(&report));
                }
            }
        }
        (all, None)
    }

    /// The reports about a snippet. It begins as a kernel does: nothing is outstanding.
    fn snippet_reports(&self, table: &InstructionTable) -> Vec<Value> {
        let mut all = Vec::new();
        for root in statically::roots(&self.object).unwrap_or_default() {
            let Ok(graph) = root.graph(&self.object, table) else {
                continue;
            };
            let settings = hazards::Settings {
                xnack: self.object.target.xnack.on_or_any(),
                vcc_alias: None,
            };
            let mut findings = waitcnt::check(&graph, waitcnt::Entry::Kernel);
            findings.extend(hazards::check(&graph, settings));
            findings.retain(|f| f.severity == Severity::Error);
            findings.sort_by_key(|f| (graph.sites[f.site].pc, f.check));
            for finding in &findings {
                let report = Report::of_code(&root.name, &graph, finding, &|_| None);
                all.push(self.report(&report));
            }
        }
        all
    }

    /// A report, with the line of the source.
    pub fn report(&self, report: &Report) -> Value {
        let mut json = report.json();
        let line = |pc: Option<u64>| {
            let pc = pc?;
            let section = self.section_of(pc)?;
            self.line(section, pc)
        };
        json["line"] = json!(line(Some(report.pc)));
        for (n, other) in report.related.iter().enumerate() {
            json["related"][n]["line"] = json!(line(other.pc));
        }
        json
    }

    fn section_of(&self, pc: u64) -> Option<usize> {
        let holds = |s: &gcn::object::read::Section| {
            s.flags.exec() && (s.address..s.address.saturating_add(s.size)).contains(&pc)
        };
        self.object.sections.iter().position(holds)
    }

    /// The instructions by address, and true if there are more.
    fn rows(&self, table: &InstructionTable) -> (BTreeMap<u64, Value>, bool) {
        let decoder = Decoder::new(self.target);
        let mut rows = BTreeMap::new();
        for (index, section) in self.object.sections.iter().enumerate() {
            if !section.flags.exec() || section.kind == SectionKind::NOBITS {
                continue;
            }
            let labels = self.labels(index);
            let bytes = self.object.section_data(index);
            let mut at = 0;
            while at < bytes.len() {
                if rows.len() >= MOST_ROWS {
                    return (rows, true);
                }
                let pc = section.address + at as u64;
                let insn = decoder.decode(&bytes[at..]);
                let len = insn.map_or(4, |i| usize::from(i.len)).min(bytes.len() - at);
                let mut row = match &insn {
                    Some(insn) => instruction(insn, table.of(insn), pc, &labels),
                    None => json!({"pc": pc}),
                };
                let hex = bytes[at..at + len].iter().map(|b| format!("{b:02x}"));
                row["bytes"] = hex.collect::<String>().into();
                row["line"] = json!(self.line(index, pc));
                if let Some(names) = labels.get(&pc) {
                    row["labels"] = json!(names);
                }
                rows.insert(pc, row);
                at += len;
            }
        }
        (rows, false)
    }

    fn labels(&self, section: usize) -> BTreeMap<u64, Vec<String>> {
        let mut labels: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        let synthetic = |s: &Symbol| self.snippet && s.name == SNIPPET;
        let symbols = dis::symbols(&self.object).iter();
        for symbol in symbols.filter(|s| s.section == SymbolSection::Index(section)) {
            if !symbol.name.is_empty() && !synthetic(symbol) {
                let names = labels.entry(symbol.address).or_default();
                names.push(symbol.name.clone());
            }
        }
        labels
    }

    /// The pairs of SGPRs that instructions write with a value derived from EXEC: divergent code saves there the lanes that
    /// continue later. Each has the address of the instruction.
    pub fn saved_masks(&self) -> Vec<(u64, u16)> {
        let table = InstructionTable::new(self.target);
        let (base, bytes) = &self.text;
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let insn = decode(self.target, rest);
            if let Some(insn) = &insn
                && !insn.row.format.is_vector()
            {
                let info = table.of(insn);
                let reads =
                    |a: &gcn::isa::access::RegAccess| !a.write && a.touches(File::Scalar, EXEC);
                if info.accesses(insn).any(|a| reads(&a)) {
                    let pair = info.accesses(insn).find(|a| {
                        a.write
                            && a.file == File::Scalar
                            && a.count == 2
                            && a.first < EXEC
                            && !a.anywhere
                    });
                    found.extend(pair.map(|p| (base + at as u64, p.first)));
                }
            }
            at += insn.map_or(4, |i| usize::from(i.len));
        }
        found
    }

    /// The VGPRs and SGPRs that the code names, as counts from 0 on.
    pub fn used(&self) -> (u16, u16) {
        let table = InstructionTable::new(self.target);
        let limit = self.target.generation().sgprs();
        let (mut vgprs, mut sgprs) = (0, 0);
        for (index, section) in self.object.sections.iter().enumerate() {
            if !section.flags.exec() || section.kind == SectionKind::NOBITS {
                continue;
            }
            let bytes = self.object.section_data(index);
            let mut at = 0;
            while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
                let insn = decode(self.target, rest);
                for access in insn.iter().flat_map(|i| table.of(i).accesses(i)) {
                    let end = access.first + u16::from(access.count);
                    match access.file {
                        File::Vector if access.anywhere => vgprs = 256,
                        File::Scalar if access.anywhere => sgprs = limit,
                        File::Vector => vgprs = vgprs.max(end),
                        File::Scalar if end <= limit => sgprs = sgprs.max(end),
                        _ => {}
                    }
                }
                at += insn.map_or(4, |i| usize::from(i.len));
            }
        }
        (vgprs, sgprs)
    }
}

/// An instruction.
fn instruction(
    insn: &Insn,
    info: &InstructionInfo,
    pc: u64,
    labels: &BTreeMap<u64, Vec<String>>,
) -> Value {
    let flow = info.flow(insn);
    let target = flow.target(pc, insn);
    let label = target.map(|to| {
        let name = labels.get(&to).and_then(|names| names.first());
        name.cloned().unwrap_or_else(|| format!(".L{to:x}"))
    });
    let text = |style: Style| {
        let mut text = String::new();
        match &label {
            Some(label) => print_with_label(insn, &style, label, &mut text),
            None => print(insn, &style, &mut text),
        }
        text
    };
    let (llvm, clrx) = (text(Style::LLVM), text(Style::CLRX));
    let operands: Vec<Value> = (insn.row.shape.slots.iter())
        .map(|slot| {
            let text = |style: Style| {
                let mut text = String::new();
                print_operand(insn, slot, &style, &mut text);
                text
            };
            let (mut llvm, mut clrx) = (text(Style::LLVM), text(Style::CLRX));
            if let Some(label) = label.as_ref().filter(|_| fields::is_branch(slot)) {
                llvm.clone_from(label);
                clrx.clone_from(label);
            }
            fields::operand(insn, slot, &llvm, &clrx)
        })
        .collect();
    let names = |write: bool| {
        let mut names: Vec<String> = Vec::new();
        for access in info.accesses(insn).filter(|a| a.write == write) {
            access.each_name(insn.generation(), |name| {
                if !names.iter().any(|n| n == name) {
                    names.push(name.to_string());
                }
            });
        }
        names
    };
    json!({
        "pc": pc,
        "row": insn.row.name,
        "format": insn.row.format.name(),
        "encoding": format!("{:?}", insn.encoding).to_uppercase(),
        "llvm": llvm,
        "clrx": clrx,
        "operands": operands,
        "fields": fields::fields(insn),
        "reads": names(false),
        "writes": names(true),
        "target": target,
    })
}
