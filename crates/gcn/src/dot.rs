//! `gcn dis --cfg`: the control-flow graph of a kernel or function, as DOT or JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use gcn_isa::access::InstructionTable;
use gcn_isa::decode::Decoder;
use gcn_isa::flow::{Condition, Flow};
use gcn_isa::meaning::State;
use gcn_isa::print::{Style, print, print_with_label};
use gcn_object::read::{CodeObject, Symbol};
use gcn_object::{SectionKind, SymbolSection};
use serde_json::{Value, json};

use crate::dis;

/// A function's code as basic blocks.
pub struct Graph {
    /// The function's name.
    pub name: String,
    /// The blocks in the order of their addresses; the first is the entry.
    pub blocks: Vec<Block>,
}

/// A basic block: consecutive instructions.
pub struct Block {
    /// The address of the first instruction.
    pub start: u64,
    /// The address after the last instruction.
    pub end: u64,
    /// The addresses and texts of the instructions.
    pub instructions: Vec<(u64, String)>,
    /// The edges to other blocks of the function.
    pub edges: Vec<Edge>,
    /// The way in which control leaves the function, if it does.
    pub leaves: Option<Leave>,
    /// True if the block is reachable from the entry.
    pub reached: bool,
}

/// An edge from one block to another.
pub struct Edge {
    /// The address of the block's first instruction.
    pub to: u64,
    /// True for a taken branch, false if execution continues with the next block.
    pub taken: bool,
    /// The condition, such as `scc = 1` or `exec = 0`; empty if there is none or it is unknown.
    pub when: String,
}

/// The way in which control leaves the function at the end of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leave {
    /// The wave ends.
    End,
    /// Control goes to an address in registers: a return, a jump through a table.
    Indirect,
    /// Control goes to other code, or past the end.
    Elsewhere,
}

impl Leave {
    fn name(self) -> &'static str {
        match self {
            Leave::End => "end",
            Leave::Indirect => "indirect",
            Leave::Elsewhere => "elsewhere",
        }
    }
}

/// Returns the condition of a branch.
fn condition(when: Condition, taken: bool) -> String {
    match when {
        Condition::If { state, set } => {
            let state = match state {
                State::Scc => "scc",
                State::Vcc => "vcc",
                State::Exec => "exec",
                State::CondDbgSys => "cond_dbg_sys",
                State::CondDbgUser => "cond_dbg_user",
                _ => return String::new(),
            };
            let mask = matches!(state, "vcc" | "exec");
            match (set == taken, mask) {
                (true, true) => format!("{state} != 0"),
                (true, false) => format!("{state} = 1"),
                (false, _) => format!("{state} = 0"),
            }
        }
        Condition::Always | Condition::Other => String::new(),
    }
}

/// Returns the section and addresses of a symbol's code or data. A symbol without a size ends at the next symbol.
pub fn extent(object: &CodeObject, symbol: &Symbol) -> Option<(usize, u64, u64)> {
    let SymbolSection::Index(index) = symbol.section else {
        return None;
    };
    let section = object.sections.get(index)?;
    let (base, end) = (section.address, section.address.checked_add(section.size)?);
    let start = symbol.address;
    if !(base..end).contains(&start) {
        return None;
    }
    let next = || {
        (dis::symbols(object).iter())
            .filter(|s| s.section == symbol.section && s.address > start)
            .map(|s| s.address)
            .fold(end, u64::min)
    };
    let to = match symbol.size {
        0 => next(),
        size => start.saturating_add(size).min(end),
    };
    Some((index, start, to))
}

/// Returns the graph of the function or kernel of this name.
///
/// # Errors
/// A message if there is no such code.
pub fn graph(object: &CodeObject, name: &str, style: Style) -> Result<Graph, String> {
    let target = dis::target_of(object)?;
    let table = dis::symbols(object);
    let found = table
        .iter()
        .find(|s| s.name == name && matches!(s.section, SymbolSection::Index(_)));
    let symbol = found.ok_or_else(|| format!("there is no symbol `{name}`"))?;
    let kernel = object.kernels.iter().find(|k| k.name == name);
    let (index, mut start, end) =
        extent(object, symbol).ok_or_else(|| format!("`{name}` is outside its section"))?;
    // Kernels of code object v2 begin with a header.
    if let Some(kernel) = kernel.filter(|k| (start..end).contains(&k.entry)) {
        start = kernel.entry;
    }
    let section = &object.sections[index];
    if !section.flags.exec() || section.kind == SectionKind::NOBITS {
        return Err(format!("`{name}` is data, not code"));
    }
    let from = (start - section.address) as usize;
    let to = (end - section.address) as usize;
    let bytes = object.section_data(index).get(from..to);
    let bytes = bytes.ok_or_else(|| format!("the code of `{name}` is not in the file"))?;
    Ok(build(name, target, bytes, start, style))
}

/// Returns the graph of code whose entry is its first instruction, at `base`.
pub fn build(name: &str, target: gcn_isa::Target, bytes: &[u8], base: u64, style: Style) -> Graph {
    let decoder = Decoder::new(target);
    let table = InstructionTable::new(target);
    let end = base + bytes.len() as u64;
    let inside = |address: u64| (base..end).contains(&address);
    // The starts of instructions and of blocks.
    let mut starts = BTreeSet::new();
    let mut leaders = BTreeSet::from([base]);
    let mut at = 0;
    while at < bytes.len() {
        let address = base + at as u64;
        starts.insert(address);
        let insn = decoder.decode(&bytes[at..]);
        let len = insn.map_or(4, |i| i.len as usize).min(bytes.len() - at);
        let next = address + len as u64;
        if let Some(insn) = insn {
            let flow = table.of(&insn).flow(&insn);
            if let Some(to) = flow.target(address, &insn).filter(|to| inside(*to)) {
                leaders.insert(to);
            }
            if !matches!(flow, Flow::Next | Flow::Trap) && inside(next) {
                leaders.insert(next);
            }
        }
        at += len;
    }
    leaders.retain(|leader| starts.contains(leader));
    let mut blocks: Vec<Block> = Vec::new();
    let bounds: Vec<u64> = leaders.iter().copied().chain([end]).collect();
    for pair in bounds.windows(2) {
        let mut block = Block {
            start: pair[0],
            end: pair[1],
            instructions: Vec::new(),
            edges: Vec::new(),
            leaves: None,
            reached: false,
        };
        let mut last = Flow::Next;
        let mut target = None;
        for &address in starts.range(pair[0]..pair[1]) {
            let rest = &bytes[(address - base) as usize..];
            let mut text = String::new();
            match decoder.decode(rest) {
                Some(insn) => {
                    last = table.of(&insn).flow(&insn);
                    target = last.target(address, &insn);
                    match target.filter(|to| leaders.contains(to)) {
                        Some(to) => {
                            let label = format!("{}{to:x}", dis::LABEL);
                            print_with_label(&insn, &style, &label, &mut text);
                        }
                        None => print(&insn, &style, &mut text),
                    }
                }
                None => {
                    last = Flow::Next;
                    let word = rest.iter().take(4).rev();
                    let word = word.fold(0u32, |w, b| w << 8 | *b as u32);
                    let _ = write!(text, ".long 0x{word:08x}");
                }
            }
            block.instructions.push((address, text));
        }
        let when = match last {
            Flow::Branch { when, .. } | Flow::Indirect { when, .. } => when,
            _ => Condition::Always,
        };
        match (last, target) {
            (Flow::End, _) => block.leaves = Some(Leave::End),
            (Flow::Branch { .. }, Some(to)) if leaders.contains(&to) => block.edges.push(Edge {
                to,
                taken: true,
                when: condition(when, true),
            }),
            (Flow::Branch { links: false, .. }, _) => block.leaves = Some(Leave::Elsewhere),
            (Flow::Indirect { links: false, .. }, _) => block.leaves = Some(Leave::Indirect),
            _ => {}
        }
        if last.falls_through() {
            if leaders.contains(&block.end) {
                block.edges.push(Edge {
                    to: block.end,
                    taken: false,
                    when: condition(when, false),
                });
            } else if block.leaves.is_none() {
                block.leaves = Some(Leave::Elsewhere);
            }
        }
        blocks.push(block);
    }
    let number: BTreeMap<u64, usize> = (blocks.iter().enumerate())
        .map(|(n, block)| (block.start, n))
        .collect();
    let mut waiting = vec![0];
    while let Some(n) = waiting.pop() {
        let Some(block) = blocks.get_mut(n).filter(|block| !block.reached) else {
            continue;
        };
        block.reached = true;
        waiting.extend(block.edges.iter().filter_map(|e| number.get(&e.to)));
    }
    Graph {
        name: name.to_string(),
        blocks,
    }
}

impl Graph {
    /// Returns the graph as DOT, for Graphviz. Unreachable blocks are dashed; taken branches are blue.
    pub fn dot(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "digraph \"{}\" {{", escaped(&self.name));
        let _ = writeln!(
            out,
            "  label=\"{}\"; labelloc=t; fontname=monospace;",
            escaped(&self.name)
        );
        out.push_str("  node [shape=box, fontname=monospace, fontsize=10];\n");
        out.push_str("  edge [fontname=monospace, fontsize=9];\n");
        for block in &self.blocks {
            let _ = write!(out, "  b{:x} [label=\"{:x}:\\l", block.start, block.start);
            for (_, text) in &block.instructions {
                let _ = write!(out, "  {}\\l", escaped(text));
            }
            out.push('"');
            match (block.reached, block.leaves) {
                (false, _) => out.push_str(", style=dashed"),
                (true, Some(Leave::End)) => out.push_str(", peripheries=2"),
                _ => {}
            }
            out.push_str("];\n");
        }
        for block in &self.blocks {
            for edge in &block.edges {
                let _ = write!(out, "  b{:x} -> b{:x} [", block.start, edge.to);
                out.push_str(if edge.taken {
                    "color=blue"
                } else {
                    "color=black"
                });
                if !edge.when.is_empty() {
                    let _ = write!(out, ", label=\"{}\"", edge.when);
                }
                out.push_str("];\n");
            }
            if let Some(leave @ (Leave::Indirect | Leave::Elsewhere)) = block.leaves {
                let name = leave.name();
                let _ = writeln!(
                    out,
                    "  out{:x} [label=\"{name}\", shape=plaintext];\n  b{:x} -> out{:x};",
                    block.start, block.start, block.start
                );
            }
        }
        out.push_str("}\n");
        out
    }

    /// Returns the graph as JSON (docs/json.md).
    pub fn json(&self) -> Value {
        let block = |block: &Block| {
            let instructions: Vec<Value> = (block.instructions.iter())
                .map(|(address, text)| json!({"address": address, "text": text}))
                .collect();
            let edges: Vec<Value> = (block.edges.iter())
                .map(|edge| {
                    let kind = if edge.taken { "taken" } else { "next" };
                    json!({"to": edge.to, "kind": kind, "when": edge.when})
                })
                .collect();
            json!({
                "start": block.start,
                "end": block.end,
                "reached": block.reached,
                "instructions": instructions,
                "edges": edges,
                "leaves": block.leaves.map(Leave::name),
            })
        };
        let blocks: Vec<Value> = self.blocks.iter().map(block).collect();
        json!({"name": self.name, "blocks": blocks})
    }
}

/// Escapes text for a DOT string.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_has_its_edges() {
        let target = gcn_isa::Target::parse("gfx900").expect("a target");
        let code = gcn_asm::assemble_snippet(
            target,
            "s_mov_b32 s0, 4\nagain: s_sub_u32 s0, s0, 1\ns_cmp_lg_u32 s0, 0\n\
             s_cbranch_scc1 again\ns_endpgm\ns_nop 0\ns_setpc_b64 s[2:3]",
            false,
        )
        .expect("it assembles");
        let graph = build("f", target, &code, 0x100, Style::LLVM);
        let shape: Vec<_> = (graph.blocks.iter())
            .map(|b| {
                let edges = b.edges.iter().map(|e| (e.to, e.taken, e.when.as_str()));
                (b.start, edges.collect::<Vec<_>>(), b.leaves, b.reached)
            })
            .collect();
        assert_eq!(
            shape,
            [
                (0x100, vec![(0x104, false, "")], None, true),
                (
                    0x104,
                    vec![(0x104, true, "scc = 1"), (0x110, false, "scc = 0")],
                    None,
                    true
                ),
                (0x110, vec![], Some(Leave::End), true),
                (0x114, vec![], Some(Leave::Indirect), false),
            ]
        );
        let dot = graph.dot();
        assert!(
            dot.contains("b104 -> b104 [color=blue, label=\"scc = 1\"];"),
            "{dot}"
        );
        assert!(dot.contains("s_cbranch_scc1 .L104\\l"), "{dot}");
        assert_eq!(graph.json()["blocks"][1]["edges"][0]["to"], 0x104);
    }
}
