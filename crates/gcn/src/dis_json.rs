//! `gcn dis --json`: a line with a JSON object for each instruction. docs/json.md describes them.
//!
//! Lines are written as they are produced, and memory use does not grow with the output. All strings except for symbol names are
//! printable ASCII.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use gcn_isa::access::{File, InstructionInfo, InstructionTable};
use gcn_isa::flow::{Condition, Flow};
use gcn_isa::format::layout_of;
use gcn_isa::meaning::Signal;
use gcn_isa::operand::{Reg, Value, reg};
use gcn_isa::print::{Style, print, print_operand};
use gcn_isa::shape::{Access, Role, Slot};
use gcn_isa::{Insn, Target, decode};
use gcn_object::read::CodeObject;
use gcn_object::{SectionKind, SymbolSection};

use crate::{dis, dot};

/// The number of bytes of output that are collected before they are written.
const BLOCK: usize = 1 << 16;

/// Writes instruction bytes. The address of the first is `base`.
///
/// # Errors
/// Errors of writing.
pub fn raw(
    target: Target,
    bytes: &[u8],
    base: u64,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut lines = Lines::new(target, style, out);
    lines.section(bytes, base, None, &BTreeMap::new())?;
    lines.flush()
}

/// Writes the executable sections of a code object with their addresses, or only the code of one symbol.
///
/// # Errors
/// Errors of writing; an error of kind `InvalidData` if the object's target is unknown, or a section ends beyond the address space.
pub fn object(
    object: &CodeObject,
    only: Option<&str>,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidData, message);
    dis::within_address_space(object)?;
    let target = dis::target_of(object).map_err(invalid)?;
    let only = match only {
        None => None,
        Some(name) => {
            let symbol = dis::symbols(object).iter().find(|s| s.name == name);
            let extent = symbol.and_then(|symbol| dot::extent(object, symbol));
            let missing = || invalid(format!("there is no code of the name `{name}`"));
            Some(extent.ok_or_else(missing)?)
        }
    };
    let mut lines = Lines::new(target, style, out);
    for (index, section) in object.sections.iter().enumerate() {
        let code = section.flags.exec() && section.kind != SectionKind::NOBITS;
        if !code || only.is_some_and(|(section, ..)| section != index) {
            continue;
        }
        let mut labels: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        for symbol in dis::symbols(object) {
            if symbol.section == SymbolSection::Index(index) && !symbol.name.is_empty() {
                labels.entry(symbol.address).or_default().push(&symbol.name);
            }
        }
        let mut bytes = object.section_data(index);
        let mut base = section.address;
        if let Some((_, start, end)) = only {
            let range = (start - base) as usize..(end - base) as usize;
            bytes = bytes.get(range).unwrap_or_default();
            base = start;
        }
        lines.section(bytes, base, Some(&section.name), &labels)?;
    }
    lines.flush()
}

struct Lines<'o> {
    target: Target,
    style: Style,
    table: InstructionTable,
    /// The text that is not written yet.
    line: String,
    /// Scratch memory for texts.
    text: String,
    part: String,
    out: &'o mut dyn Write,
}

impl<'o> Lines<'o> {
    fn new(target: Target, style: Style, out: &'o mut dyn Write) -> Lines<'o> {
        Lines {
            target,
            style,
            table: InstructionTable::new(target),
            line: String::with_capacity(BLOCK + 4096),
            text: String::new(),
            part: String::new(),
            out,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(self.line.as_bytes())?;
        self.line.clear();
        self.out.flush()
    }

    fn section(
        &mut self,
        bytes: &[u8],
        base: u64,
        name: Option<&str>,
        labels: &BTreeMap<u64, Vec<&str>>,
    ) -> io::Result<()> {
        let mut rest = bytes;
        let mut address = base;
        while !rest.is_empty() {
            let insn = decode(self.target, rest);
            let len = insn.map_or(4, |i| i.len as usize).min(rest.len());
            let (these, others) = rest.split_at(len);
            let _ = write!(self.line, "{{\"address\":{address},\"bytes\":\"");
            for byte in these {
                let _ = write!(self.line, "{byte:02x}");
            }
            self.line.push('"');
            if let Some(name) = name {
                self.line.push_str(",\"section\":");
                string(&mut self.line, name);
            }
            if let Some(names) = labels.get(&address) {
                self.line.push_str(",\"labels\":");
                list(&mut self.line, names.iter().copied());
            }
            match insn {
                Some(insn) => self.instruction(&insn, address),
                None => self.line.push_str(",\"unknown\":true"),
            }
            self.line.push_str("}\n");
            if self.line.len() >= BLOCK {
                self.out.write_all(self.line.as_bytes())?;
                self.line.clear();
            }
            address += len as u64;
            rest = others;
        }
        Ok(())
    }

    fn instruction(&mut self, insn: &Insn, address: u64) {
        let (row, generation) = (insn.row, insn.generation());
        self.text.clear();
        print(insn, &self.style, &mut self.text);
        self.line.push_str(",\"text\":");
        string(&mut self.line, &self.text);
        let _ = write!(
            self.line,
            ",\"row\":\"{}\",\"format\":\"{}\",\"encoding\":\"",
            row.name,
            row.format.name(),
        );
        self.part.clear();
        let _ = write!(self.part, "{:?}", insn.encoding);
        let upper = self.part.chars().map(|c| c.to_ascii_uppercase());
        self.line.extend(upper);
        self.line.push('"');
        self.line.push_str(",\"operands\":[");
        let mut first = true;
        // The end of the text of the operands.
        let mut end = self.text.find(' ').unwrap_or(self.text.len());
        for slot in row.shape.slots {
            self.part.clear();
            print_operand(insn, slot, &self.style, &mut self.part);
            if self.part.is_empty() {
                continue;
            }
            if let Some(at) = self.text[end..].find(self.part.as_str()) {
                end += at + self.part.len();
            }
            if !first {
                self.line.push(',');
            }
            first = false;
            operand(&mut self.line, insn, slot, &self.part);
        }
        self.line.push(']');
        let mut modifiers = self.text[end..].split_ascii_whitespace().peekable();
        if modifiers.peek().is_some() {
            self.line.push_str(",\"modifiers\":");
            list(&mut self.line, modifiers);
        }
        let base = layout_of(insn.encoding, generation).map_or(insn.len, |l| l.bytes);
        if insn.len > base {
            let _ = write!(self.line, ",\"literal\":{}", insn.literal);
        }
        let info = self.table.of(insn);
        for (key, write) in [("reads", false), ("writes", true)] {
            let _ = write!(self.line, ",\"{key}\":[");
            let from = self.line.len();
            for access in info.accesses(insn).filter(|a| a.write == write) {
                access.each_name(generation, |name| {
                    self.part.clear();
                    string(&mut self.part, name);
                    // A register that is read twice is listed once.
                    if self.line[from..].split(',').any(|known| known == self.part) {
                        return;
                    }
                    if self.line.len() > from {
                        self.line.push(',');
                    }
                    self.line.push_str(&self.part);
                });
            }
            self.line.push(']');
        }
        memory(&mut self.line, info, insn);
        let flow = info.flow(insn);
        self.line.push_str(",\"flags\":");
        list(&mut self.line, flags(info, insn, flow));
        if let Some(target) = flow.target(address, insn) {
            // A target before address 0 is negative.
            let _ = write!(self.line, ",\"target\":{}", target as i64);
        }
    }
}

/// Writes an operand: its text, its role in the instruction, and its value.
fn operand(out: &mut String, insn: &Insn, slot: &'static Slot, text: &str) {
    out.push_str("{\"text\":");
    string(out, text);
    out.push_str(",\"role\":\"");
    let role = format!("{:?}", slot.role);
    // `Imm(Branch)` becomes `branch`.
    let role = role.strip_prefix("Imm(").unwrap_or(&role);
    out.extend(
        role.trim_end_matches(')')
            .chars()
            .map(|c| c.to_ascii_lowercase()),
    );
    let access = match slot.access {
        Access::Read => "read",
        Access::Write => "write",
        Access::ReadWrite => "readwrite",
    };
    let _ = write!(
        out,
        "\",\"type\":\"{}\",\"access\":\"{access}\"",
        slot.ty.name()
    );
    let value = insn.operand(slot).value;
    let kind = match value {
        Value::Absent => "none",
        Value::Imm(_) if slot.role == Role::K => "literal",
        Value::Imm(_) => "immediate",
        Value::Code(code) => match reg(code, insn.generation()) {
            Reg::Sgpr(_) => "sgpr",
            Reg::Vgpr(_) => "vgpr",
            Reg::Ttmp(_) => "ttmp",
            Reg::Half(..) | Reg::M0 => "special",
            Reg::Int(_) | Reg::Float(_) => "constant",
            Reg::Source(_) => "status",
            Reg::Literal => "literal",
            Reg::Reserved(_) => "reserved",
        },
    };
    let _ = write!(out, ",\"kind\":\"{kind}\"");
    match value {
        Value::Code(code) => {
            let _ = write!(out, ",\"code\":{code}");
            if matches!(kind, "sgpr" | "vgpr" | "ttmp" | "special") {
                let _ = write!(out, ",\"dwords\":{}", insn.dwords(slot));
            }
        }
        Value::Imm(value) => {
            let _ = write!(out, ",\"value\":{value}");
        }
        Value::Absent => {}
    }
    out.push('}');
}

fn memory(out: &mut String, info: &InstructionInfo, insn: &Insn) {
    if let Some(memory) = info.memory(insn) {
        let _ = write!(
            out,
            ",\"memory\":{{\"space\":\"{}\",\"kind\":\"{}\"",
            memory.space.name(),
            memory.kind.name()
        );
        if let Some(bytes) = memory.bytes {
            let _ = write!(out, ",\"bytes\":{bytes}");
        }
        let _ = write!(out, ",\"returns\":{}", memory.returns);
        if memory.to_lds {
            out.push_str(",\"to_lds\":true");
        }
        out.push('}');
    }
    let counters = info.counters(insn);
    let names = [
        ("vmcnt", counters.vm),
        ("lgkmcnt", counters.lgkm),
        ("expcnt", counters.exp),
    ];
    let mut names = (names.into_iter())
        .filter(|(_, on)| *on)
        .map(|(name, _)| name)
        .peekable();
    if names.peek().is_some() {
        out.push_str(",\"counters\":");
        list(out, names);
    }
}

/// The kinds of an instruction, as the words of `flags` (docs/json.md).
pub fn flags(
    info: &InstructionInfo,
    insn: &Insn,
    flow: Flow,
) -> impl Iterator<Item = &'static str> {
    let format = insn.row.format;
    let (mut branch, mut indirect, mut conditional, mut call) = (false, false, false, false);
    match flow {
        Flow::Branch { when, links, .. } => {
            (branch, conditional, call) = (true, when != Condition::Always, links);
        }
        Flow::Indirect { when, links } => {
            (branch, indirect) = (true, true);
            (conditional, call) = (when != Condition::Always, links);
        }
        Flow::Next | Flow::Trap | Flow::End => {}
    }
    let memory = info.memory(insn);
    let writes_exec = (info.accesses(insn)).any(|a| a.write && a.touches(File::Scalar, EXEC_LO));
    let all = [
        (
            "salu",
            !format.is_vector() && format != gcn_isa::Format::Smem,
        ),
        ("valu", format.is_valu()),
        ("branch", branch),
        ("indirect", indirect),
        ("conditional", conditional),
        ("call", call),
        ("end", flow == Flow::End),
        ("trap", flow == Flow::Trap),
        ("memory", memory.is_some()),
        (memory.map_or("", |m| m.kind.name()), memory.is_some()),
        ("writes_exec", writes_exec),
        ("barrier", info.signals(Signal::Barrier)),
        ("wait", info.signals(Signal::Waitcnt)),
        ("sleep", info.signals(Signal::Sleep)),
        ("message", info.signals(Signal::Sendmsg)),
        ("cache", info.signals(Signal::Cache)),
    ];
    all.into_iter().filter(|(_, on)| *on).map(|(name, _)| name)
}

const EXEC_LO: u16 = gcn_isa::operand::EXEC;

fn list<'t>(out: &mut String, texts: impl Iterator<Item = &'t str>) {
    out.push('[');
    for (n, text) in texts.enumerate() {
        if n != 0 {
            out.push(',');
        }
        string(out, text);
    }
    out.push(']');
}

fn string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
