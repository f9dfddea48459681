//! `gcn dis`: bytes to source.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::listing::Listing;
use gcn_isa::Target;
use gcn_isa::print::{Style, Syntax, push_dec, push_hex};
use gcn_isa::text::Text;
use gcn_object::descriptor;
use gcn_object::metadata;
use gcn_object::read::{CodeObject, FileKind, Kernel, Relocation, Symbol};
use gcn_object::{Binding, RelocationKind, SectionKind, SymbolKind, SymbolSection, Visibility};

/// What the listing shows beside the text.
#[derive(Clone, Copy, Default)]
pub struct Show {
    /// The address and the words, in a comment.
    pub encoding: bool,
}

/// What the source of raw bytes begins with.
pub fn raw_header(target: Target, style: Style) -> String {
    let mut out = String::new();
    header(&mut out, style);
    let _ = writeln!(out, ".arch {}", target.name());
    out.push_str(".gcn_permissive\n.text\n");
    out
}

fn header(out: &mut String, style: Style) {
    if style.syntax == Syntax::Clrx {
        out.push_str(".syntax clrx\n");
    }
}

/// Names at addresses, in the order they are written.
pub type Labels = BTreeMap<u64, Vec<String>>;

/// One section's code. `named` holds the labels it has anyway; branch targets get their own.
fn code(
    out: &mut String,
    target: Target,
    bytes: &[u8],
    base: u64,
    style: Style,
    show: Show,
    named: &Labels,
) {
    let mut text = Text::new();
    Listing::labelled(target, bytes, base, style, show, named).print_all(&mut text);
    out.push_str(&String::from_utf8_lossy(text.as_bytes()));
}

/// A code object as source.
///
/// # Errors
/// A sentence, where the object's target is unknown.
pub fn object(object: &CodeObject, style: Style, show: Show) -> Result<String, String> {
    let target = Target::parse(object.target_name())
        .ok_or_else(|| format!("{} is no gfx6 to gfx9 target", object.target_name()))?;
    if object.kind == FileKind::Relocatable
        && let Some(relocation) =
            (object.relocations.iter()).find(|r| !(object.kernels.iter()).any(|k| is_entry(k, r)))
    {
        return Err(format!(
            "the object is relocatable, and its {} is not shown; `ld.lld -shared` makes one that loads",
            relocation.kind.name()
        ));
    }
    let mut out = String::new();
    header(&mut out, style);
    let _ = writeln!(out, ".amdgcn_target \"{}\"", object.target_id());
    out.push_str(".gcn_permissive\n");
    for (index, section) in object.sections.iter().enumerate() {
        if section.kind == SectionKind::RELA {
            continue;
        }
        let skipped = [
            ".note",
            ".dynsym",
            ".gnu.hash",
            ".hash",
            ".dynstr",
            ".dynamic",
            ".comment",
            ".symtab",
            ".shstrtab",
            ".strtab",
            ".relro_padding",
        ];
        if !section.flags.alloc() || skipped.contains(&section.name.as_str()) || section.size == 0 {
            continue;
        }
        out.push('\n');
        match section.name.as_str() {
            ".text" => out.push_str(".text\n"),
            name => {
                let flags = [
                    (section.flags.alloc(), 'a'),
                    (section.flags.write(), 'w'),
                    (section.flags.exec(), 'x'),
                ];
                let flags: String = flags.iter().filter(|(on, _)| *on).map(|(_, c)| c).collect();
                let kind = if section.kind == SectionKind::NOBITS {
                    "nobits"
                } else {
                    "progbits"
                };
                let _ = writeln!(out, ".section {name},\"{flags}\",@{kind}");
            }
        }
        let mut align = section.align.max(1);
        if !align.is_power_of_two() {
            align = 1;
        }
        let _ = writeln!(out, ".p2align {}", align.trailing_zeros());
        let symbols = symbols_of(object, index);
        let descriptors: BTreeMap<u64, &Kernel> = (object.kernels.iter())
            .filter(|k| k.descriptor_section.is_none_or(|s| s == index))
            .filter(|k| symbols.iter().any(|s| s.address == k.descriptor_address))
            .map(|k| (k.descriptor_address, k))
            .collect();
        for symbol in &symbols {
            let kernel = descriptors.get(&symbol.address);
            match kernel.and_then(|k| code_symbol(object, k)) {
                // The descriptor's symbol is made like that of the code, which comes later.
                Some(code) => declare(&mut out, code),
                None => declare(&mut out, symbol),
            }
        }
        let bytes = object.section_data(index);
        let mut labels: Labels = (far_targets(object).into_iter())
            .filter(|t| (section.address..section.address + section.size).contains(t))
            .map(|t| (t, vec![format!("L_{t:x}")]))
            .collect();
        for symbol in &symbols {
            labels
                .entry(symbol.address)
                .or_default()
                .push(symbol.name.clone());
        }
        if section.kind == SectionKind::NOBITS {
            zeros(&mut out, section.address, section.size, &labels);
        } else if section.flags.exec() {
            code(
                &mut out,
                target,
                bytes,
                section.address,
                style,
                show,
                &labels,
            );
        } else {
            data(
                &mut out,
                object,
                section.address,
                bytes,
                &labels,
                &descriptors,
            );
        }
        for symbol in symbols
            .iter()
            .filter(|s| s.size != 0 && !descriptors.contains_key(&s.address))
        {
            let _ = writeln!(out, ".size {}, {}", symbol.name, symbol.size);
        }
    }
    if let Some(note) = object.note() {
        match metadata::faithful_text(note) {
            Some(text) => {
                out.push_str("\n.amdgpu_metadata\n");
                out.push_str(text.trim_end());
                out.push_str("\n.end_amdgpu_metadata\n");
            }
            None => out.push_str("\n// The metadata note is not text that assembles to itself.\n"),
        }
    }
    Ok(out)
}

/// The symbols that a section defines, in order of address, but for those of the format itself.
fn symbols_of(object: &CodeObject, index: usize) -> Vec<&Symbol> {
    let table = if object.symbols.is_empty() {
        &object.dynamic_symbols
    } else {
        &object.symbols
    };
    let mut symbols: Vec<&Symbol> = table
        .iter()
        .filter(|s| s.section == SymbolSection::Index(index) && !s.name.is_empty())
        .filter(|s| !matches!(s.kind, SymbolKind::Section | SymbolKind::File))
        .collect();
    symbols.sort_by_key(|s| s.address);
    symbols
}

/// Whether a relocation is a descriptor's, for its kernel's entry.
fn is_entry(kernel: &Kernel, relocation: &Relocation) -> bool {
    kernel.descriptor_section == relocation.section
        && kernel.descriptor_address.wrapping_add(16) == relocation.offset
}

/// The symbol of a kernel's code, where it has the kernel's name.
fn code_symbol<'a>(object: &'a CodeObject, kernel: &Kernel) -> Option<&'a Symbol> {
    (object.symbols.iter())
        .chain(&object.dynamic_symbols)
        .find(|s| s.name == kernel.name && s.address == kernel.entry)
}

/// Addresses without a symbol that the loader stores into data.
fn far_targets(object: &CodeObject) -> Vec<u64> {
    if object.kind == FileKind::Relocatable {
        return Vec::new();
    }
    (object.relocations.iter())
        .filter(|r| r.kind == RelocationKind::RELATIVE64)
        .map(|r| r.addend as u64)
        .filter(|a| !object.symbols.iter().any(|s| s.address == *a && named(s)))
        .collect()
}

/// Whether a symbol is written as a label.
fn named(symbol: &Symbol) -> bool {
    !symbol.name.is_empty()
        && matches!(symbol.section, SymbolSection::Index(_))
        && !matches!(symbol.kind, SymbolKind::Section | SymbolKind::File)
}

fn declare(out: &mut String, symbol: &Symbol) {
    let name = &symbol.name;
    match symbol.visibility {
        Visibility::Protected => writeln!(out, ".protected {name}"),
        Visibility::Hidden => writeln!(out, ".hidden {name}"),
        Visibility::Internal => writeln!(out, ".internal {name}"),
        Visibility::Default => Ok(()),
    }
    .ok();
    match symbol.binding {
        Binding::Global => writeln!(out, ".globl {name}"),
        Binding::Weak => writeln!(out, ".weak {name}"),
        _ => Ok(()),
    }
    .ok();
    match symbol.kind {
        SymbolKind::Func => writeln!(out, ".type {name},@function"),
        SymbolKind::Object => writeln!(out, ".type {name},@object"),
        _ => Ok(()),
    }
    .ok();
}

/// A section of zeros that takes no room in the file.
fn zeros(out: &mut String, base: u64, size: u64, labels: &Labels) {
    let mut at = base;
    for (&address, names) in labels.range(base..=base + size) {
        if address > at {
            let _ = writeln!(out, "\t.zero {}", address - at);
        }
        for name in names {
            let _ = writeln!(out, "{name}:");
        }
        at = address;
    }
    if base + size > at {
        let _ = writeln!(out, "\t.zero {}", base + size - at);
    }
}

/// What the loader stores at an address, as an expression.
fn relocated(object: &CodeObject, address: u64) -> Option<String> {
    if object.kind == FileKind::Relocatable {
        return None;
    }
    let relocation = object.relocations.iter().find(|r| r.offset == address)?;
    match relocation.kind {
        RelocationKind::ABS64 => {
            let name = &object.dynamic_symbols.get(relocation.symbol?)?.name;
            Some(match relocation.addend {
                0 => name.clone(),
                addend => format!("{name}{addend:+}"),
            })
        }
        RelocationKind::RELATIVE64 => {
            let target = relocation.addend as u64;
            let symbol = (object.symbols.iter()).find(|s| s.address == target && named(s));
            Some(symbol.map_or_else(|| format!("L_{target:x}"), |s| s.name.clone()))
        }
        _ => None,
    }
}

/// A data section: kernel descriptors as directives, addresses as their symbols, the rest as
/// numbers.
fn data(
    out: &mut String,
    object: &CodeObject,
    base: u64,
    bytes: &[u8],
    labels: &Labels,
    descriptors: &BTreeMap<u64, &Kernel>,
) {
    let end = base + bytes.len() as u64;
    let places: BTreeSet<u64> = object.relocations.iter().map(|r| r.offset).collect();
    let mut at = 0;
    while at < bytes.len() {
        let address = base + at as u64;
        let kernel = descriptors.get(&address).filter(|k| {
            bytes.len() - at >= 64
                && labels.get(&address).is_none_or(|names| names.len() == 1)
                && labels.range(address + 1..address + 64).next().is_none()
                && code_symbol(object, k).is_some()
        });
        if let Some(kernel) = kernel
            && let Some(directives) = descriptor::directives(&kernel.descriptor, &object.target)
        {
            let _ = writeln!(out, ".amdhsa_kernel {}", kernel.name);
            for (name, value) in directives {
                let _ = writeln!(out, "\t{name} {value}");
            }
            out.push_str(".end_amdhsa_kernel\n");
            at += 64;
            continue;
        }
        for name in labels.get(&address).into_iter().flatten() {
            let _ = writeln!(out, "{name}:");
        }
        // As far as the next label, descriptor or address.
        let next = (labels
            .range(address + 1..)
            .next()
            .map(|(a, _)| *a)
            .into_iter())
        .chain(descriptors.range(address + 1..).next().map(|(a, _)| *a))
        .chain(places.range(address + 1..).next().copied())
        .fold(end, u64::min);
        let left = (next - address) as usize;
        let symbol = if left >= 8 {
            relocated(object, address)
        } else {
            None
        };
        if let Some(symbol) = symbol {
            let _ = write!(out, "\t.quad {symbol}");
            at += 8;
        } else if left >= 4 {
            out.push_str("\t.long ");
            let word = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
            push_hex(out, word as u64);
            at += 4;
        } else {
            out.push_str("\t.byte ");
            push_dec(out, bytes[at] as u32);
            at += 1;
        }
        out.push('\n');
    }
    for name in labels.get(&end).into_iter().flatten() {
        let _ = writeln!(out, "{name}:");
    }
}
