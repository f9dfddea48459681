//! Writing code objects: relocatable files for a linker, and loadable files laid out as ld.lld 14 lays them out.
//!
//! The loadable layout follows lld's so closely that code, data and every address come out the same for the same input:
//! distances between sections, which are in the code, then survive disassembling and assembling again.

use crate::descriptor::KernelDescriptor;
use crate::elf::*;
use crate::error::Error;
use crate::note;
use crate::read::{CodeObject, FileKind, OVERLAP};
pub use crate::read::{Relocation, Symbol};
use crate::target::{Abi, Os, TargetId};
use std::collections::HashMap;

/// A section given to the [`Builder`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The name.
    pub name: String,
    /// `sh_type`.
    pub kind: SectionKind,
    /// `sh_flags`.
    pub flags: SectionFlags,
    /// Alignment in bytes: a power of two, or 0 for 1.
    pub align: u64,
    /// Size of an entry for tables, else 0.
    pub entry_size: u64,
    /// The bytes; empty for `NOBITS`.
    pub data: Vec<u8>,
    /// Size in bytes; the length of `data` except for `NOBITS`.
    pub size: u64,
}

impl Section {
    /// A `PROGBITS` section of these bytes.
    pub fn new(name: &str, flags: SectionFlags, align: u64, data: Vec<u8>) -> Section {
        let size = data.len() as u64;
        Section {
            name: name.into(),
            kind: SectionKind::PROGBITS,
            flags,
            align,
            entry_size: 0,
            data,
            size,
        }
    }

    /// A writable `NOBITS` section.
    pub fn zeroed(name: &str, align: u64, size: u64) -> Section {
        let kind = SectionKind::NOBITS;
        Section {
            name: name.into(),
            kind,
            flags: SectionFlags::DATA,
            align,
            entry_size: 0,
            data: Vec::new(),
            size,
        }
    }
}

/// Collects the parts of a code object and writes them.
///
/// Section and symbol indices are those that [`Builder::section`] and [`Builder::symbol`] return, from 0.
#[derive(Clone, Debug)]
pub struct Builder {
    target: TargetId,
    abi: Abi,
    /// `e_flags`, if not the target's.
    flags: Option<u32>,
    sections: Vec<Section>,
    symbols: Vec<Symbol>,
    relocations: Vec<Relocation>,
    groups: Vec<Group>,
    links: Vec<(usize, usize)>,
    pins: HashMap<String, u64>,
}

/// A section group given to the [`Builder`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Of several groups of one name a linker keeps the first (`GRP_COMDAT`).
    pub comdat: bool,
    /// The symbol whose name is the group's.
    pub signature: usize,
    /// Its sections.
    pub members: Vec<usize>,
}

const GRP_COMDAT: u32 = 1;
/// Sections that the writers make anew.
const TABLES: [SectionKind; 5] = [
    SectionKind::SYMTAB,
    SectionKind::STRTAB,
    SectionKind::RELA,
    SectionKind::REL,
    SectionKind::GROUP,
];

/// Page size in memory, and what segments are aligned to.
const PAGE: u64 = 0x1000;
/// Larger alignments are refused, as they would make the file large.
const MAX_ALIGN: u64 = 1 << 20;
/// The widest gap in the file that [`Builder::place_at`] may ask for.
const MAX_GAP: u64 = 1 << 24;
/// The bytes of a file, which alignments and gaps swell.
const MAX_FILE: u64 = 5 << 26;
/// Section numbers from here on are reserved.
const MAX_SECTIONS: usize = 0xff00;

fn file_too_large<T>() -> Result<T, Error> {
    layout(format!(
        "with their alignments the sections are larger than {} MiB together",
        MAX_FILE >> 20
    ))
}

fn layout<T>(text: impl Into<String>) -> Result<T, Error> {
    Err(Error::Layout(text.into()))
}

/// Adds a note to the section `.note`, which is made where there is none. As in LLVM, only HSA's notes are loaded: the loaders
/// of other systems read the file. Returns the section's index.
pub fn add_note(
    sections: &mut Vec<Section>,
    os: Os,
    owner: &str,
    kind: u32,
    descriptor: &[u8],
) -> usize {
    let note = note::bytes(owner, kind, descriptor);
    if let Some(i) = sections.iter().position(|s| s.name == ".note") {
        let section = &mut sections[i];
        let aligned = section.data.len().next_multiple_of(4);
        section.data.resize(aligned, 0);
        section.data.extend(note);
        section.size = section.data.len() as u64;
        return i;
    }
    let flags = match os {
        Os::Hsa => SectionFlags::ALLOC,
        _ => SectionFlags::default(),
    };
    let mut section = Section::new(".note", flags, 4, note);
    section.kind = SectionKind::NOTE;
    sections.push(section);
    sections.len() - 1
}

impl Builder {
    /// An empty object of a version of HSA's code objects, or of another system.
    pub fn new(target: TargetId, abi: impl Into<Abi>) -> Builder {
        Builder {
            target,
            abi: abi.into(),
            flags: None,
            sections: Vec::new(),
            symbols: Vec::new(),
            relocations: Vec::new(),
            groups: Vec::new(),
            links: Vec::new(),
            pins: HashMap::new(),
        }
    }

    /// Sets the `e_flags` of the header to something else than the target's.
    pub fn set_flags(&mut self, flags: u32) {
        self.flags = Some(flags);
    }

    /// The parts of a relocatable object, ready to be linked.
    ///
    /// # Errors
    /// [`Error::Layout`] if the object is loadable; [`Error::TooLarge`] if its sections overlap many times over.
    pub fn from_relocatable(object: &CodeObject) -> Result<Builder, Error> {
        if object.kind != FileKind::Relocatable {
            return layout("the object is linked already");
        }
        let mut builder = Builder::new(object.target, object.abi());
        let mut index = vec![None; object.sections.len()];
        let total = object
            .sections
            .iter()
            .fold(0usize, |n, s| n.saturating_add(s.file.len()));
        if total > object.data().len().saturating_mul(OVERLAP) {
            return Err(Error::TooLarge("sections"));
        }
        for (i, section) in object.sections.iter().enumerate() {
            if TABLES.contains(&section.kind) {
                continue;
            }
            index[i] = Some(builder.section(Section {
                name: section.name.clone(),
                kind: section.kind,
                flags: section.flags,
                align: section.align,
                entry_size: section.entry_size,
                data: object.section_data(i).to_vec(),
                size: section.size,
            }));
        }
        let new_index = |i: usize| index.get(i).copied().flatten();
        for symbol in object.symbols.iter().skip(1) {
            let mut symbol = symbol.clone();
            if let SymbolSection::Index(i) = symbol.section {
                let i = new_index(i).ok_or_else(|| {
                    Error::Layout(format!(
                        "symbol '{}' is in no section that can be linked",
                        symbol.name
                    ))
                })?;
                symbol.section = SymbolSection::Index(i);
            }
            builder.symbol(symbol);
        }
        for group in &object.groups {
            let signature = group.signature.checked_sub(1);
            let signature =
                signature.ok_or_else(|| Error::Layout("a section group has no name".into()))?;
            builder.groups.push(Group {
                comdat: group.flags & GRP_COMDAT != 0,
                signature,
                members: group
                    .members
                    .iter()
                    .copied()
                    .filter_map(new_index)
                    .collect(),
            });
        }
        for relocation in &object.relocations {
            let section = relocation.section.and_then(new_index);
            if section.is_none() {
                return layout("a relocation is in no section that can be linked");
            }
            builder.relocation(Relocation {
                section,
                symbol: relocation.symbol.map(|i| i - 1),
                ..*relocation
            });
        }
        Ok(builder)
    }

    /// Adds a section and returns its index.
    pub fn section(&mut self, section: Section) -> usize {
        self.sections.push(section);
        self.sections.len() - 1
    }

    /// A section added before, to append to it.
    pub fn section_mut(&mut self, index: usize) -> Option<&mut Section> {
        self.sections.get_mut(index)
    }

    /// Adds a symbol and returns its index. Its address is the offset in its section.
    pub fn symbol(&mut self, symbol: Symbol) -> usize {
        self.symbols.push(symbol);
        self.symbols.len() - 1
    }

    /// A symbol added before.
    pub fn symbol_mut(&mut self, index: usize) -> Option<&mut Symbol> {
        self.symbols.get_mut(index)
    }

    /// Adds a relocation in a section added before.
    pub fn relocation(&mut self, relocation: Relocation) {
        self.relocations.push(relocation);
    }

    /// Says that a section is about another one (`SHF_LINK_ORDER`).
    pub fn link_order(&mut self, section: usize, about: usize) {
        self.links.push((section, about));
    }

    /// Adds a section group. Its sections are in no other.
    pub fn group(&mut self, group: Group) {
        self.groups.push(group);
    }

    /// Adds a note, as [`add_note`] does.
    pub fn note(&mut self, owner: &str, kind: u32, descriptor: &[u8]) -> usize {
        add_note(&mut self.sections, self.abi.os, owner, kind, descriptor)
    }

    /// Appends a kernel's descriptor to a section at a 64-byte boundary, with its symbol `<name>.kd` and the relocation
    /// that ties it to `code`, the kernel's symbol. As in LLVM, the descriptor's symbol takes over binding and visibility, and a
    /// code symbol of default visibility becomes protected, because the descriptor's distance to it must not change.
    ///
    /// # Errors
    /// [`Error::Layout`] if the section or the symbol does not exist.
    pub fn kernel(
        &mut self,
        section: usize,
        code: usize,
        descriptor: &KernelDescriptor,
    ) -> Result<usize, Error> {
        let (Some(place), Some(symbol)) =
            (self.sections.get_mut(section), self.symbols.get_mut(code))
        else {
            return layout("the section or the symbol of a kernel does not exist");
        };
        place.align = place.align.max(64);
        let offset = place.data.len().next_multiple_of(64);
        place.data.resize(offset, 0);
        place.data.extend(descriptor.to_bytes());
        place.size = place.data.len() as u64;
        let new = Symbol {
            name: format!("{}.kd", symbol.name),
            address: offset as u64,
            size: 64,
            kind: SymbolKind::Object,
            binding: symbol.binding,
            visibility: symbol.visibility,
            section: SymbolSection::Index(section),
        };
        if symbol.visibility == Visibility::Default {
            symbol.visibility = Visibility::Protected;
        }
        self.relocation(Relocation {
            section: Some(section),
            offset: offset as u64 + 16,
            kind: RelocationKind::REL64,
            symbol: Some(code),
            addend: 16,
        });
        Ok(self.symbol(new))
    }

    /// Puts an output section (by its name, `.text` or also `.dynamic`) of the loadable file at a virtual address instead of
    /// where lld would.
    pub fn place_at(&mut self, name: &str, address: u64) {
        self.pins.insert(name.to_string(), address);
    }

    /// The sections of the loadable file in its order, those of the linker among them, with their addresses.
    ///
    /// # Errors
    /// As [`Builder::loadable`], but for references that do not fit.
    pub fn layout(&self) -> Result<Vec<(String, u64)>, Error> {
        self.check()?;
        let mut link = Link::new(self)?;
        let programs = link.programs();
        link.lay_out(programs)?;
        let places = link.outs.into_iter();
        Ok(places.map(|out| (out.name, out.address)).collect())
    }

    /// Checks what both writers rely on.
    fn check(&self) -> Result<(), Error> {
        if self.sections.len() > MAX_SECTIONS / 2 {
            return layout(format!("{} sections are too many", self.sections.len()));
        }
        let mut size = 0u64;
        for section in &self.sections {
            size = size.saturating_add(section.data.len() as u64);
            if !section.data.is_empty() {
                size = size.saturating_add(section.align);
            }
            if section.align > MAX_ALIGN || section.align > 0 && !section.align.is_power_of_two() {
                return layout(format!(
                    "section '{}': alignment {:#x} is no power of two up to {MAX_ALIGN:#x}",
                    section.name, section.align
                ));
            }
            if section.kind != SectionKind::NOBITS && section.size != section.data.len() as u64 {
                return layout(format!(
                    "section '{}': its size is not that of its bytes",
                    section.name
                ));
            }
            if section.name.contains('\0') {
                return layout(format!("section name {:?} has a NUL", section.name));
            }
        }
        if size > MAX_FILE {
            return file_too_large();
        }
        for symbol in &self.symbols {
            if matches!(symbol.section, SymbolSection::Index(i) if i >= self.sections.len()) {
                return layout(format!(
                    "symbol '{}' is in a section that does not exist",
                    symbol.name
                ));
            }
            if symbol.name.contains('\0') {
                return layout(format!("symbol name {:?} has a NUL", symbol.name));
            }
        }
        let linked = self.links.iter().flat_map(|(a, b)| [a, b]);
        if linked.into_iter().any(|&i| i >= self.sections.len()) {
            return layout("a section that belongs to another one does not exist");
        }
        let mut grouped = vec![false; self.sections.len()];
        for group in &self.groups {
            if group.signature >= self.symbols.len() {
                return layout("the symbol of a section group does not exist");
            }
            for member in &group.members {
                match grouped.get_mut(*member) {
                    Some(seen @ false) => *seen = true,
                    Some(_) => return layout("a section is in two groups"),
                    None => return layout("a section of a group does not exist"),
                }
            }
        }
        for relocation in &self.relocations {
            let offset = relocation.offset;
            let bad = |detail: &str| {
                Err(Error::Relocation {
                    offset,
                    detail: detail.to_string(),
                })
            };
            let Some(section) = relocation.section.and_then(|i| self.sections.get(i)) else {
                return bad("its section does not exist");
            };
            if relocation.symbol.is_some_and(|i| i >= self.symbols.len()) {
                return bad("its symbol does not exist");
            }
            let end = offset.checked_add(relocation.kind.width() as u64);
            if end.is_none_or(|end| end > section.data.len() as u64) {
                return bad(&format!(
                    "it is outside the bytes of section '{}'",
                    section.name
                ));
            }
        }
        Ok(())
    }

    fn header(
        &self,
        file_type: u16,
        programs: u16,
        section_headers: u64,
        sections: usize,
        names: usize,
    ) -> Vec<u8> {
        let abi_version = match self.abi.os {
            Os::Hsa => self.abi.version.abi(),
            _ => 0,
        };
        let mut out = Vec::with_capacity(64);
        out.extend([
            0x7f,
            b'E',
            b'L',
            b'F',
            2,
            1,
            1,
            self.abi.os.number(),
            abi_version,
        ]);
        out.resize(16, 0);
        out.extend(file_type.to_le_bytes());
        out.extend(EM_AMDGPU.to_le_bytes());
        out.extend(1u32.to_le_bytes());
        out.extend(0u64.to_le_bytes());
        out.extend(if programs > 0 { 64u64 } else { 0 }.to_le_bytes());
        out.extend(section_headers.to_le_bytes());
        let flags = self.target.flags(self.abi.version);
        out.extend(self.flags.unwrap_or(flags).to_le_bytes());
        for half in [
            64,
            if programs > 0 { 56 } else { 0 },
            programs,
            64,
            sections as u16,
            names as u16,
        ] {
            out.extend(half.to_le_bytes());
        }
        out
    }

    /// The `ET_REL` file: sections as given, symbols and relocations.
    ///
    /// # Errors
    /// [`Error::Layout`] or [`Error::Relocation`] if the parts do not fit together.
    pub fn relocatable(&self) -> Result<Vec<u8>, Error> {
        self.check()?;
        let mut strings = Strings::new(true);
        // Each section is followed by the section of its relocations; index 1 is the string table.
        let mut index = Vec::with_capacity(self.sections.len());
        let mut by_section: Vec<Vec<&Relocation>> = vec![Vec::new(); self.sections.len()];
        for relocation in &self.relocations {
            by_section[relocation.section.unwrap_or(0)].push(relocation);
        }
        // A group stands before the first of its sections.
        let mut group_of = vec![None; self.sections.len()];
        let mut group_before = vec![None; self.sections.len()];
        for (n, group) in self.groups.iter().enumerate() {
            for member in &group.members {
                group_of[*member] = Some(n);
            }
            if let Some(first) = group.members.iter().min() {
                group_before[*first] = Some(n);
            }
        }
        let mut next = 2;
        for (relocations, group) in by_section.iter().zip(&group_before) {
            next += usize::from(group.is_some());
            index.push(next);
            next += if relocations.is_empty() { 1 } else { 2 };
        }
        let symtab = next;

        // Local symbols come first.
        let mut order: Vec<usize> = (0..self.symbols.len()).collect();
        order.sort_by_key(|i| self.symbols[*i].binding != Binding::Local);
        let locals = self
            .symbols
            .iter()
            .filter(|s| s.binding == Binding::Local)
            .count();
        let mut number = vec![0u32; self.symbols.len()];
        let mut symbols = vec![0; 24];
        for (n, i) in order.iter().enumerate() {
            let symbol = &self.symbols[*i];
            number[*i] = n as u32 + 1;
            let section = match symbol.section {
                SymbolSection::Undefined => 0,
                SymbolSection::Absolute => 0xfff1,
                SymbolSection::Common => 0xfff2,
                SymbolSection::Lds => 0xff00,
                SymbolSection::Index(i) => index[i] as u16,
            };
            let name = strings.add(&symbol.name);
            push_symbol(
                &mut symbols,
                name,
                symbol,
                symbol.binding,
                section,
                symbol.address,
            );
        }

        let mut headers = vec![
            Out::default(),
            Out::table(".strtab", SectionKind::STRTAB, 1),
        ];
        let has_addends = self.abi.has_addends();
        for (i, section) in self.sections.iter().enumerate() {
            if let Some(group) = group_before[i].and_then(|n| self.groups.get(n)) {
                let mut data = u32::from(group.comdat).to_le_bytes().to_vec();
                for member in &group.members {
                    data.extend((index[*member] as u32).to_le_bytes());
                    if !by_section[*member].is_empty() {
                        data.extend((index[*member] as u32 + 1).to_le_bytes());
                    }
                }
                let mut out = Out::table(".group", SectionKind::GROUP, 4).with(4, data);
                (out.link, out.info) = (symtab as u32, number[group.signature]);
                headers.push(out);
            }
            let in_group = match group_of[i] {
                Some(_) => SectionFlags::GROUP,
                None => 0,
            };
            let mut data = section.data.clone();
            // Where the addend is in the relocation, its place is zero, whatever is known already.
            for r in &by_section[i] {
                let (start, width) = (r.offset as usize, r.kind.width());
                let addend = if has_addends { 0 } else { r.addend };
                if let Some(place) = data.get_mut(start..start + width) {
                    place.copy_from_slice(&addend.to_le_bytes()[..width]);
                }
            }
            headers.push(Out {
                name: section.name.clone(),
                kind: section.kind,
                flags: section.flags.0 & !SectionFlags::GROUP | in_group,
                align: section.align.max(1),
                entry_size: section.entry_size,
                size: section.size,
                data,
                ..Out::default()
            });
            if by_section[i].is_empty() {
                continue;
            }
            let (prefix, kind, size) = match has_addends {
                true => (".rela", SectionKind::RELA, 24),
                false => (".rel", SectionKind::REL, 16),
            };
            let mut data = Vec::with_capacity(by_section[i].len() * size);
            for r in &by_section[i] {
                let symbol = r.symbol.map_or(0, |s| number[s]);
                push_rela(&mut data, r.offset, symbol, r.kind, r.addend);
                // Without the addend the rest is the same.
                data.truncate(data.len() - (24 - size));
            }
            let mut out =
                Out::table(&format!("{prefix}{}", section.name), kind, 8).with(size as u64, data);
            (out.flags, out.link, out.info) = (
                match in_group {
                    0 => SectionFlags::INFO_LINK,
                    group => group,
                },
                symtab as u32,
                index[i] as u32,
            );
            headers.push(out);
        }
        for (section, about) in &self.links {
            headers[index[*section]].link = index[*about] as u32;
        }
        let mut out = Out::table(".symtab", SectionKind::SYMTAB, 8).with(24, symbols);
        (out.link, out.info) = (1, locals as u32 + 1);
        headers.push(out);

        for out in headers.iter_mut().skip(1) {
            out.name_offset = strings.add(&out.name);
            // An ADDRSIG table names symbols by number and is no part of the program, so it only links to the table.
            if out.kind == SectionKind::LLVM_ADDRSIG {
                out.link = symtab as u32;
            }
        }
        let bytes = std::mem::take(&mut strings.bytes);
        headers[1].size = bytes.len() as u64;
        headers[1].data = bytes;
        let mut file = vec![0; 64];
        // The string table stands last, as its section names are known last.
        for i in (2..headers.len()).chain([1]) {
            let out = &mut headers[i];
            pad(&mut file, out.align);
            out.offset = file.len() as u64;
            file.extend(&out.data);
        }
        pad(&mut file, 8);
        let header = self.header(1, 0, file.len() as u64, headers.len(), 1);
        file[..64].copy_from_slice(&header);
        for out in &headers {
            out.push_header(&mut file);
        }
        Ok(file)
    }

    /// The `ET_DYN` file, linked and ready to load.
    ///
    /// References between sections are resolved; `ABS64` words in writable sections become dynamic relocations; `GOTPCREL*`
    /// references get a global offset table. Unlike lld, a PC-relative reference to a symbol of default visibility
    /// is resolved within the file.
    ///
    /// # Errors
    /// [`Error::Layout`] if the parts do not fit together; [`Error::Relocation`] if a reference cannot be resolved.
    pub fn loadable(&self) -> Result<Vec<u8>, Error> {
        self.check()?;
        Link::new(self)?.write()
    }
}

/// A string table being made.
struct Strings {
    bytes: Vec<u8>,
    known: Option<HashMap<String, u32>>,
}

impl Strings {
    fn new(share: bool) -> Strings {
        Strings {
            bytes: vec![0],
            known: share.then(HashMap::new),
        }
    }

    fn add(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let offset = self.bytes.len() as u32;
        if let Some(known) = &mut self.known {
            if let Some(offset) = known.get(name) {
                return *offset;
            }
            known.insert(name.to_string(), offset);
        }
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
        offset
    }
}

fn pad(file: &mut Vec<u8>, align: u64) {
    file.resize(file.len().next_multiple_of(align.max(1) as usize), 0);
}

fn push_symbol(
    out: &mut Vec<u8>,
    name: u32,
    symbol: &Symbol,
    binding: Binding,
    section: u16,
    address: u64,
) {
    out.extend(name.to_le_bytes());
    out.push(binding.number() << 4 | symbol.kind.number() & 15);
    out.push(symbol.visibility.number());
    out.extend(section.to_le_bytes());
    out.extend(address.to_le_bytes());
    out.extend(symbol.size.to_le_bytes());
}

fn push_rela(out: &mut Vec<u8>, offset: u64, symbol: u32, kind: RelocationKind, addend: i64) {
    out.extend(offset.to_le_bytes());
    out.extend((u64::from(symbol) << 32 | u64::from(kind.0)).to_le_bytes());
    out.extend(addend.to_le_bytes());
}

/// A section of the file being written.
#[derive(Clone, Debug)]
struct Out {
    name: String,
    name_offset: u32,
    kind: SectionKind,
    flags: u64,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
    info: u32,
    align: u64,
    entry_size: u64,
    data: Vec<u8>,
    rank: Rank,
}

impl Default for Out {
    fn default() -> Out {
        Out {
            name: String::new(),
            name_offset: 0,
            kind: SectionKind(0),
            flags: 0,
            address: 0,
            offset: 0,
            size: 0,
            link: 0,
            info: 0,
            align: 0,
            entry_size: 0,
            data: Vec::new(),
            rank: Rank::Unloaded,
        }
    }
}

impl Out {
    fn table(name: &str, kind: SectionKind, align: u64) -> Out {
        Out {
            name: name.into(),
            kind,
            align,
            ..Out::default()
        }
    }

    fn with(mut self, entry_size: u64, data: Vec<u8>) -> Out {
        self.entry_size = entry_size;
        self.size = data.len() as u64;
        self.data = data;
        self
    }

    fn push_header(&self, file: &mut Vec<u8>) {
        file.extend(self.name_offset.to_le_bytes());
        file.extend(self.kind.0.to_le_bytes());
        for word in [self.flags, self.address, self.offset, self.size] {
            file.extend(word.to_le_bytes());
        }
        file.extend(self.link.to_le_bytes());
        file.extend(self.info.to_le_bytes());
        file.extend(self.align.to_le_bytes());
        file.extend(self.entry_size.to_le_bytes());
    }
}

/// Where lld puts a section; sections of one rank keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Note,
    /// The dynamic symbols, their names and hash tables, the dynamic relocations.
    Dynamic,
    ReadOnly,
    Code,
    WritableCode,
    /// Written only while relocations are applied.
    Relro,
    Data,
    Zeroed,
    Unloaded,
}

impl Rank {
    /// The `p_flags` of the segment, with a number that differs between the two writable ones.
    fn segment(self) -> (u32, u32) {
        match self {
            Rank::Note | Rank::Dynamic | Rank::ReadOnly => (0, 4),
            Rank::Code => (1, 5),
            Rank::WritableCode => (2, 7),
            Rank::Relro => (3, 6),
            Rank::Data | Rank::Zeroed => (4, 6),
            Rank::Unloaded => (5, 0),
        }
    }
}

/// Input sections whose names begin so are joined under the bare name.
static JOINED: &[&str] = &[
    ".text",
    ".rodata",
    ".data.rel.ro",
    ".bss.rel.ro",
    ".data",
    ".bss",
    ".init_array",
    ".fini_array",
    ".ctors",
    ".dtors",
];
static RELRO: &[&str] = &[
    ".data.rel.ro",
    ".bss.rel.ro",
    ".init_array",
    ".fini_array",
    ".ctors",
    ".dtors",
    ".eh_frame",
    ".got",
];

fn output_name(section: &Section) -> &str {
    if !section.flags.alloc() {
        return &section.name;
    }
    let joined = |prefix: &&&str| {
        section
            .name
            .strip_prefix(**prefix)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    // `.data.rel.ro` stands before `.data`.
    JOINED
        .iter()
        .find(joined)
        .map_or(&section.name, |name| name)
}

/// A dynamic relocation: where, against which symbol (none: relative to the base), and its addend.
struct Dynamic {
    place: Place,
    symbol: Option<usize>,
    /// For relative ones, the symbol whose address is added to the addend.
    target: Option<usize>,
    addend: i64,
}

#[derive(Clone, Copy)]
enum Place {
    Input(usize, u64),
    Got(u64),
}

/// The state of one link.
struct Link<'a> {
    input: &'a Builder,
    outs: Vec<Out>,
    by_name: HashMap<String, usize>,
    /// For each input section, its output section's name and its offset in it.
    homes: Vec<Option<(String, u64)>>,
    /// Offsets of common symbols in `.bss`.
    commons: HashMap<usize, u64>,
    /// Symbols with an entry in the global offset table, in the order of entries.
    got: Vec<usize>,
    got_of: HashMap<usize, u64>,
    dynamics: Vec<Dynamic>,
    /// Symbols of the dynamic symbol table, after the null symbol.
    dynsyms: Vec<usize>,
}

impl<'a> Link<'a> {
    fn new(input: &'a Builder) -> Result<Link<'a>, Error> {
        let mut link = Link {
            input,
            outs: Vec::new(),
            by_name: HashMap::new(),
            homes: vec![None; input.sections.len()],
            commons: HashMap::new(),
            got: Vec::new(),
            got_of: HashMap::new(),
            dynamics: Vec::new(),
            dynsyms: Vec::new(),
        };
        link.join_sections()?;
        link.scan_relocations()?;
        link.add_tables()?;
        Ok(link)
    }

    fn join_sections(&mut self) -> Result<(), Error> {
        if let Some(lds) = (self.input.symbols.iter()).find(|s| s.section == SymbolSection::Lds) {
            return layout(format!(
                "symbol '{}' is LDS, which only a linker for graphics places; a relocatable object can hold it",
                lds.name
            ));
        }
        // Common symbols come first in .bss.
        let mut size = 0u64;
        let mut align = 1;
        for (i, symbol) in self.input.symbols.iter().enumerate() {
            if symbol.section == SymbolSection::Common {
                let own = symbol.address.max(1);
                if !own.is_power_of_two() || own > MAX_ALIGN {
                    return layout(format!(
                        "common symbol '{}': alignment {own:#x} is no power of two up to {MAX_ALIGN:#x}",
                        symbol.name
                    ));
                }
                let offset = size.next_multiple_of(own);
                self.commons.insert(i, offset);
                align = align.max(own);
                size = offset
                    .checked_add(symbol.size)
                    .filter(|s| *s < 1 << 48)
                    .ok_or_else(|| too_large(".bss"))?;
            }
        }
        if !self.commons.is_empty() {
            let mut bss = Out::table(".bss", SectionKind::NOBITS, align);
            (bss.flags, bss.size, bss.rank) = (SectionFlags::DATA.0, size, Rank::Zeroed);
            self.outs.push(bss);
            self.by_name.insert(".bss".into(), 0);
        }
        for (i, section) in self.input.sections.iter().enumerate() {
            if section.flags.exclude()
                || section.name == ".note.GNU-stack"
                || section.kind == SectionKind::LLVM_ADDRSIG
            {
                continue;
            }
            let name = output_name(section);
            let zeroed = section.kind == SectionKind::NOBITS;
            let flags = SectionFlags(section.flags.0 & !SectionFlags::GROUP);
            let rank = match flags {
                f if !f.alloc() => Rank::Unloaded,
                _ if section.kind == SectionKind::NOTE => Rank::Note,
                f if f.exec() && f.write() => Rank::WritableCode,
                f if f.exec() => Rank::Code,
                f if !f.write() => Rank::ReadOnly,
                _ if RELRO.contains(&name) => Rank::Relro,
                _ if zeroed => Rank::Zeroed,
                _ => Rank::Data,
            };
            if zeroed && rank != Rank::Zeroed {
                return layout(format!(
                    "section '{}' has no bytes but is not writable data",
                    section.name
                ));
            }
            let at = match self.by_name.get(name) {
                Some(at) => *at,
                None => {
                    let mut out = Out::table(name, section.kind, section.align.max(1));
                    // String merging flags hold for one input only.
                    (out.flags, out.rank, out.entry_size) =
                        (flags.0 & !SectionFlags::INFO_LINK, rank, section.entry_size);
                    self.outs.push(out);
                    self.by_name.insert(name.to_string(), self.outs.len() - 1);
                    self.outs.len() - 1
                }
            };
            let out = &mut self.outs[at];
            if out.rank != rank {
                return layout(format!("sections named '{name}' differ in type or flags"));
            }
            if out.entry_size != section.entry_size || out.flags != flags.0 {
                const MERGE_AND_STRINGS: u64 = 0x30;
                out.entry_size = 0;
                out.flags = (out.flags | flags.0) & !MERGE_AND_STRINGS;
            }
            out.align = out.align.max(section.align);
            let offset = out.size.next_multiple_of(section.align.max(1));
            if !zeroed {
                out.data.resize(offset as usize, 0);
                out.data.extend(&section.data);
            }
            out.size = offset
                .checked_add(section.size)
                .filter(|s| *s < 1 << 48)
                .ok_or_else(|| too_large(name))?;
            self.homes[i] = Some((name.to_string(), offset));
        }
        Ok(())
    }

    /// A loader may bind references to this symbol to another file's.
    fn preemptible(&self, symbol: usize) -> bool {
        let symbol = &self.input.symbols[symbol];
        symbol.binding != Binding::Local
            && symbol.visibility == Visibility::Default
            && symbol.section != SymbolSection::Absolute
    }

    fn scan_relocations(&mut self) -> Result<(), Error> {
        for relocation in self.ordered_relocations() {
            let offset = relocation.offset;
            let bad = |detail: String| Err(Error::Relocation { offset, detail });
            let Some(section) = relocation.section.filter(|i| self.homes[*i].is_some()) else {
                continue;
            };
            let flags = self.input.sections[section].flags;
            let name = &self.input.sections[section].name;
            match (relocation.kind.base(), relocation.symbol) {
                (None, _) => {
                    return bad(format!("relocation type {} is unknown", relocation.kind.0));
                }
                (Some(Base::Load), _) => {
                    return bad(format!(
                        "{} is for the loader, not the linker",
                        relocation.kind.name()
                    ));
                }
                (Some(Base::Got), None) => {
                    return bad(format!("{} needs a symbol", relocation.kind.name()));
                }
                (Some(Base::Got), Some(symbol)) => self.got.push(symbol),
                (Some(Base::Absolute), Some(symbol)) if flags.alloc() => {
                    let target = &self.input.symbols[symbol];
                    let hidden_weak =
                        target.section == SymbolSection::Undefined && !self.preemptible(symbol);
                    if target.section == SymbolSection::Absolute || hidden_weak {
                        continue;
                    }
                    if relocation.kind != RelocationKind::ABS64 {
                        return bad(format!(
                            "{} against '{}' in section '{name}': a loadable object's address is known only at run time; use rel32, gotpcrel32 or a 64-bit word",
                            relocation.kind.name(),
                            target.name
                        ));
                    }
                    if !flags.write() {
                        return bad(format!(
                            "the address of '{}' in read-only section '{name}' would be written at run time; move it to a writable section such as .data.rel.ro",
                            target.name
                        ));
                    }
                    self.add_dynamic(Place::Input(section, offset), symbol, relocation.addend);
                }
                _ => {}
            }
        }
        // As in lld, entries are in the order of the symbols, local ones last.
        let local = |symbol: &usize| self.input.symbols[*symbol].binding == Binding::Local;
        self.got.sort_by_key(|symbol| (local(symbol), *symbol));
        self.got.dedup();
        for (n, symbol) in self.got.clone().into_iter().enumerate() {
            let entry = n as u64 * 8;
            self.got_of.insert(symbol, entry);
            self.add_dynamic(Place::Got(entry), symbol, 0);
        }
        Ok(())
    }

    /// Relocations section by section, in the order in which lld scans them.
    fn ordered_relocations(&self) -> Vec<Relocation> {
        let mut list = self.input.relocations.clone();
        list.sort_by_key(|r| r.section);
        list
    }

    fn add_dynamic(&mut self, place: Place, symbol: usize, addend: i64) {
        let dynamic = if self.preemptible(symbol) {
            Dynamic {
                place,
                symbol: Some(symbol),
                target: None,
                addend,
            }
        } else {
            Dynamic {
                place,
                symbol: None,
                target: Some(symbol),
                addend,
            }
        };
        self.dynamics.push(dynamic);
    }

    /// Adds the sections a linker makes and puts all in order. Tables whose contents depend on addresses get their size here and
    /// their bytes later.
    fn add_tables(&mut self) -> Result<(), Error> {
        let given = self.outs.len();
        let exported = |s: &Symbol| {
            s.binding != Binding::Local
                && matches!(s.visibility, Visibility::Default | Visibility::Protected)
                && !matches!(s.section, SymbolSection::Index(i) if self.homes[i].is_none())
        };
        let (mut undefined, mut defined) = (Vec::new(), Vec::new());
        for (i, symbol) in self
            .input
            .symbols
            .iter()
            .enumerate()
            .filter(|(_, s)| exported(s))
        {
            let list = if symbol.section == SymbolSection::Undefined {
                &mut undefined
            } else {
                &mut defined
            };
            list.push(i);
        }
        let mut names = Strings::new(true);
        for symbol in self.input.symbols.iter().filter(|s| exported(s)) {
            names.add(&symbol.name);
        }
        let (gnu_hash, defined) = gnu_hash(&self.input.symbols, defined, undefined.len() + 1);
        self.dynsyms = undefined;
        self.dynsyms.extend(defined);
        let hash = sysv_hash(&self.input.symbols, &self.dynsyms);

        let mut add =
            |name: &str, kind, flags: SectionFlags, align, rank, entry_size, size: usize, data| {
                let mut out = Out::table(name, kind, align).with(entry_size, data);
                (out.flags, out.rank, out.size) = (flags.0, rank, size as u64);
                self.outs.push(out);
            };
        let (ro, rw) = (SectionFlags::ALLOC, SectionFlags::DATA);
        let dynamic = Rank::Dynamic;
        add(
            ".dynsym",
            SectionKind::DYNSYM,
            ro,
            8,
            dynamic,
            24,
            (self.dynsyms.len() + 1) * 24,
            Vec::new(),
        );
        add(
            ".gnu.hash",
            SectionKind::GNU_HASH,
            ro,
            8,
            dynamic,
            0,
            gnu_hash.len(),
            gnu_hash,
        );
        add(
            ".hash",
            SectionKind::HASH,
            ro,
            4,
            dynamic,
            4,
            hash.len(),
            hash,
        );
        add(
            ".dynstr",
            SectionKind::STRTAB,
            ro,
            1,
            dynamic,
            0,
            names.bytes.len(),
            names.bytes,
        );
        let mut entries = 7;
        if !self.dynamics.is_empty() {
            add(
                ".rela.dyn",
                SectionKind::RELA,
                ro,
                8,
                dynamic,
                24,
                self.dynamics.len() * 24,
                Vec::new(),
            );
            // The count of relative relocations is left out where there are none.
            entries += 3 + usize::from(self.dynamics.iter().any(|d| d.symbol.is_none()));
        }
        add(
            ".dynamic",
            SectionKind::DYNAMIC,
            rw,
            8,
            Rank::Relro,
            16,
            entries * 16,
            Vec::new(),
        );
        if !self.got.is_empty() {
            add(
                ".got",
                SectionKind::PROGBITS,
                rw,
                8,
                Rank::Relro,
                0,
                self.got.len() * 8,
                vec![0; self.got.len() * 8],
            );
        }
        let made = &self.outs[given..];
        if let Some(out) = made.iter().find(|out| self.by_name.contains_key(&out.name)) {
            return layout(format!(
                "section '{}' has the name of one that a linker makes",
                out.name
            ));
        }
        // A global offset table that was given stands where the linker's own would.
        self.outs.sort_by_key(|o| (o.rank, o.name == ".got"));
        self.by_name = self
            .outs
            .iter()
            .enumerate()
            .map(|(i, o)| (o.name.clone(), i))
            .collect();
        Ok(())
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    fn address_of(&self, name: &str) -> u64 {
        self.index(name).map_or(0, |i| self.outs[i].address)
    }

    /// The final address of a symbol; `None` if it has none.
    fn symbol_address(&self, symbol: usize) -> Option<u64> {
        let s = &self.input.symbols[symbol];
        match s.section {
            SymbolSection::Absolute => Some(s.address),
            SymbolSection::Common => Some(self.address_of(".bss") + self.commons.get(&symbol)?),
            SymbolSection::Index(i) => {
                let (name, offset) = self.homes[i].as_ref()?;
                Some(
                    self.address_of(name)
                        .wrapping_add(*offset)
                        .wrapping_add(s.address),
                )
            }
            SymbolSection::Undefined | SymbolSection::Lds => None,
        }
    }

    fn place_address(&self, place: Place) -> u64 {
        match place {
            Place::Got(offset) => self.address_of(".got") + offset,
            Place::Input(section, offset) => match &self.homes[section] {
                Some((name, start)) => self
                    .address_of(name)
                    .wrapping_add(*start)
                    .wrapping_add(offset),
                None => 0,
            },
        }
    }

    /// Gives every section its address and file offset. Returns the file offset after the loaded ones.
    fn lay_out(&mut self, programs: u64) -> Result<u64, Error> {
        let headers = 64 + 56 * programs;
        let (mut dot, mut offset) = (headers, headers);
        let mut segment = Rank::Note.segment();
        // The address and file offset that the segment counts from.
        let (mut first_address, mut first_offset) = (0, 0);
        for out in self.outs.iter_mut().filter(|o| o.rank != Rank::Unloaded) {
            let new_segment = out.rank.segment() != segment;
            let end = dot;
            if new_segment {
                segment = out.rank.segment();
                // A new page that goes on at the same offset in the page needs no padding in the file.
                dot = dot.next_multiple_of(PAGE) + dot % PAGE;
            }
            dot = dot.next_multiple_of(out.align.max(1));
            if let Some(pin) = self.input.pins.get(&out.name) {
                let page_shared = new_segment && pin / PAGE <= (end.max(1) - 1) / PAGE;
                if *pin < end || page_shared || pin % out.align.max(1) != 0 || *pin > 1 << 48 {
                    return layout(format!(
                        "section '{}' cannot be at {pin:#x}: the section before ends at {end:#x}, its own alignment is {:#x}",
                        out.name, out.align
                    ));
                }
                if !new_segment && pin - end > MAX_GAP {
                    return layout(format!(
                        "section '{}' cannot be at {pin:#x}, so far behind the section before",
                        out.name
                    ));
                }
                dot = *pin;
            }
            if new_segment {
                let align = PAGE.max(out.align);
                first_offset = offset.next_multiple_of(align) + dot % align;
                if first_offset >= offset + align {
                    first_offset -= align;
                }
                first_address = dot;
            }
            out.address = dot;
            if out.kind == SectionKind::NOBITS {
                out.offset = offset;
            } else {
                out.offset = first_offset + (dot - first_address);
                offset = out.offset + out.size;
            }
            dot = dot
                .checked_add(out.size)
                .filter(|d| *d < 1 << 50)
                .ok_or_else(|| too_large(&out.name))?;
        }
        if offset > MAX_FILE {
            return file_too_large();
        }
        Ok(offset)
    }

    /// The loaded segments.
    fn segments(&self) -> Vec<(u32, u32)> {
        let mut segments: Vec<(u32, u32)> = vec![Rank::Note.segment()];
        segments.extend(
            self.outs
                .iter()
                .filter(|o| o.rank != Rank::Unloaded)
                .map(|o| o.rank.segment()),
        );
        segments.dedup();
        segments
    }

    /// The alignments of the note segments.
    fn notes(&self) -> Vec<u64> {
        let mut notes: Vec<u64> = self
            .outs
            .iter()
            .filter(|o| o.rank == Rank::Note)
            .map(|o| o.align)
            .collect();
        notes.dedup();
        notes
    }

    /// How many program headers there are when addresses are given.
    fn programs(&self) -> u64 {
        (self.segments().len() + self.notes().len() + 4) as u64
    }

    fn write(mut self) -> Result<Vec<u8>, Error> {
        let mut segments = self.segments();
        let notes = self.notes();
        let programs = self.programs();
        let end = self.lay_out(programs)?;
        self.fill_tables();
        self.apply_relocations()?;

        let mut file = vec![0; end as usize];
        for out in self.outs.iter().filter(|o| o.rank != Rank::Unloaded) {
            let at = out.offset as usize;
            if let Some(place) = file.get_mut(at..at + out.data.len()) {
                place.copy_from_slice(&out.data);
            }
        }
        // Segments without bytes have had their share of the addresses, as in lld, but are not written.
        segments.retain(|s| {
            s.0 == 0
                || self
                    .outs
                    .iter()
                    .any(|o| o.rank != Rank::Unloaded && o.rank.segment() == *s && o.size > 0)
        });
        let programs = segments.len() + notes.len() + 4;
        let program_headers = self.program_headers(&segments, programs as u64);
        let (symbols, names, locals) = self.symbol_table();
        let mut symtab = Out::table(".symtab", SectionKind::SYMTAB, 8).with(24, symbols);
        symtab.info = locals;
        self.outs.push(symtab);
        self.outs
            .push(Out::table(".shstrtab", SectionKind::STRTAB, 1));
        self.outs
            .push(Out::table(".strtab", SectionKind::STRTAB, 1).with(0, names.bytes));
        let count = self.outs.len();
        if count + 1 >= MAX_SECTIONS {
            return layout(format!("{count} sections are too many"));
        }
        let mut names = Strings::new(true);
        for out in &mut self.outs {
            out.name_offset = names.add(&out.name);
        }
        let names = Out::table(".shstrtab", SectionKind::STRTAB, 1).with(0, names.bytes);
        (self.outs[count - 2].data, self.outs[count - 2].size) = (names.data, names.size);
        let number = |name: &str| self.index(name).map_or(0, |i| i as u32 + 1);
        let (dynsym, dynstr, strtab) = (number(".dynsym"), number(".dynstr"), count as u32);
        for out in &mut self.outs {
            match out.kind {
                SectionKind::DYNSYM => (out.link, out.info) = (dynstr, 1),
                SectionKind::GNU_HASH | SectionKind::HASH => out.link = dynsym,
                SectionKind::RELA => out.link = dynsym,
                SectionKind::DYNAMIC => out.link = dynstr,
                SectionKind::SYMTAB => out.link = strtab,
                _ => {}
            }
        }
        for out in self.outs.iter_mut().filter(|o| o.rank == Rank::Unloaded) {
            pad(&mut file, out.align);
            out.offset = file.len() as u64;
            file.extend(&out.data);
        }
        pad(&mut file, 8);
        let header = self
            .input
            .header(3, programs as u16, file.len() as u64, count + 1, count - 1);
        file[..64].copy_from_slice(&header);
        file[64..64 + program_headers.len()].copy_from_slice(&program_headers);
        Out::default().push_header(&mut file);
        for out in &self.outs {
            out.push_header(&mut file);
        }
        Ok(file)
    }

    /// Makes the bytes of the tables that hold addresses.
    fn fill_tables(&mut self) {
        let mut number = HashMap::new();
        let mut dynsym = vec![0; 24];
        let mut names = Strings::new(true);
        // The names' order is that of the input, which is how add_tables made .dynstr.
        let mut by_input = self.dynsyms.clone();
        by_input.sort_unstable();
        for i in by_input {
            names.add(&self.input.symbols[i].name);
        }
        for (n, i) in self.dynsyms.iter().enumerate() {
            let symbol = &self.input.symbols[*i];
            number.insert(*i, n as u32 + 1);
            let name = names.add(&symbol.name);
            push_symbol(
                &mut dynsym,
                name,
                symbol,
                symbol.binding,
                self.section_number(symbol),
                self.symbol_address(*i).unwrap_or(0),
            );
        }
        let mut relocations: Vec<(u32, u64, RelocationKind, i64)> =
            Vec::with_capacity(self.dynamics.len());
        for d in &self.dynamics {
            let place = self.place_address(d.place);
            relocations.push(match d.symbol {
                Some(symbol) => (
                    number.get(&symbol).copied().unwrap_or(0),
                    place,
                    RelocationKind::ABS64,
                    d.addend,
                ),
                None => {
                    let target = d.target.and_then(|t| self.symbol_address(t)).unwrap_or(0);
                    (
                        0,
                        place,
                        RelocationKind::RELATIVE64,
                        target.wrapping_add_signed(d.addend) as i64,
                    )
                }
            });
        }
        // Relative ones, whose symbol is 0, come first.
        relocations.sort_by_key(|r| (r.0, r.1));
        let relative = relocations.iter().filter(|r| r.0 == 0).count() as u64;
        let mut rela = Vec::with_capacity(relocations.len() * 24);
        for (symbol, place, kind, addend) in relocations {
            push_rela(&mut rela, place, symbol, kind, addend);
        }

        let size_of = |name: &str| self.index(name).map_or(0, |i| self.outs[i].size);
        let mut entries: Vec<(u64, u64)> = Vec::new();
        if !rela.is_empty() {
            entries.extend([
                (7, self.address_of(".rela.dyn")),
                (8, rela.len() as u64),
                (9, 24),
            ]);
            if relative > 0 {
                entries.push((0x6fff_fff9, relative));
            }
        }
        entries.extend([
            (6, self.address_of(".dynsym")),
            (11, 24),
            (5, self.address_of(".dynstr")),
            (10, size_of(".dynstr")),
            (0x6fff_fef5, self.address_of(".gnu.hash")),
            (4, self.address_of(".hash")),
            (0, 0),
        ]);
        let dynamic = entries
            .iter()
            .flat_map(|(tag, value)| [tag.to_le_bytes(), value.to_le_bytes()])
            .flatten()
            .collect();
        for (name, data) in [
            (".dynsym", dynsym),
            (".rela.dyn", rela),
            (".dynamic", dynamic),
        ] {
            if let Some(i) = self.index(name) {
                self.outs[i].data = data;
            }
        }
    }

    fn apply_relocations(&mut self) -> Result<(), Error> {
        for relocation in self.ordered_relocations() {
            let offset = relocation.offset;
            let bad = |detail: String| Error::Relocation { offset, detail };
            let Some((section, home)) = relocation
                .section
                .and_then(|i| Some((i, self.homes[i].clone()?)))
            else {
                continue;
            };
            let place = self.place_address(Place::Input(section, offset));
            let symbol = relocation.symbol.map(|i| (i, &self.input.symbols[i]));
            let alloc = self.input.sections[section].flags.alloc();
            let target = || match symbol {
                None => Ok(0),
                Some((i, s)) => match self.symbol_address(i) {
                    Some(address) => Ok(address),
                    None if s.binding == Binding::Weak && s.section == SymbolSection::Undefined => {
                        Ok(0)
                    }
                    // In debugging information it is as in lld: whoever reads that, finds nothing there.
                    None if s.section == SymbolSection::Undefined && !alloc => Ok(0),
                    None if s.section == SymbolSection::Undefined => {
                        Err(bad(format!("symbol '{}' is undefined", s.name)))
                    }
                    None => Err(bad(format!(
                        "symbol '{}' is in a section that is not linked",
                        s.name
                    ))),
                },
            };
            let value = match relocation.kind.base() {
                None | Some(Base::None | Base::Load) => continue,
                Some(Base::Absolute) if alloc => match symbol {
                    // Others became dynamic relocations, whose place stays zero.
                    Some((_, s)) if s.section == SymbolSection::Absolute => s.address,
                    None => 0,
                    _ => continue,
                },
                Some(Base::Absolute) => target()?,
                Some(Base::Relative) => target()?.wrapping_sub(place),
                Some(Base::Got) => {
                    let entry = symbol
                        .and_then(|(i, _)| self.got_of.get(&i))
                        .copied()
                        .unwrap_or(0);
                    (self.address_of(".got") + entry).wrapping_sub(place)
                }
            };
            let value = value.wrapping_add_signed(relocation.addend);
            let start = (home.1 + offset) as usize;
            let bytes = self.index(&home.0).and_then(|i| {
                self.outs[i]
                    .data
                    .get_mut(start..start + relocation.kind.width())
            });
            let bytes = bytes.ok_or_else(|| bad("the place has no bytes".into()))?;
            relocation.kind.store(value, bytes).map_err(bad)?;
        }
        Ok(())
    }

    /// `st_shndx` of a symbol.
    fn section_number(&self, symbol: &Symbol) -> u16 {
        let number = |name: &str| self.index(name).map_or(0, |i| i as u16 + 1);
        match symbol.section {
            SymbolSection::Undefined => 0,
            SymbolSection::Absolute => 0xfff1,
            SymbolSection::Common => number(".bss"),
            SymbolSection::Lds => 0xff00,
            SymbolSection::Index(i) => self.homes[i].as_ref().map_or(0, |(name, _)| number(name)),
        }
    }

    /// `.symtab`, its names, and the number of its local symbols, the null symbol included.
    fn symbol_table(&self) -> (Vec<u8>, Strings, u32) {
        let dynamic = Symbol {
            name: "_DYNAMIC".into(),
            address: self.address_of(".dynamic"),
            size: 0,
            kind: SymbolKind::NoType,
            binding: Binding::Local,
            visibility: Visibility::Hidden,
            section: SymbolSection::Absolute,
        };
        let dynamic_section = self.index(".dynamic").map_or(0, |i| i as u16 + 1);
        let kept = |s: &Symbol| {
            s.kind != SymbolKind::Section
                && !matches!(s.section, SymbolSection::Index(i) if self.homes[i].is_none())
        };
        // Local symbols, then the others, then the linker's own: the order of the names.
        let mut list: Vec<(&Symbol, u64, u16)> = Vec::with_capacity(self.input.symbols.len() + 1);
        for local in [true, false] {
            for (i, s) in self
                .input
                .symbols
                .iter()
                .enumerate()
                .filter(|(_, s)| kept(s) && (s.binding == Binding::Local) == local)
            {
                list.push((
                    s,
                    self.symbol_address(i).unwrap_or(0),
                    self.section_number(s),
                ));
            }
        }
        list.push((&dynamic, dynamic.address, dynamic_section));
        let mut names = Strings::new(false);
        let mut entries: Vec<_> = list
            .into_iter()
            .map(|entry| (names.add(&entry.0.name), entry))
            .collect();
        // What is hidden is local in a linked file.
        let local = |s: &Symbol| {
            s.binding == Binding::Local
                || matches!(s.visibility, Visibility::Hidden | Visibility::Internal)
        };
        entries.sort_by_key(|(_, (s, _, _))| !local(s));
        let locals = entries.iter().filter(|(_, (s, _, _))| local(s)).count() as u32 + 1;
        let mut table = vec![0; 24];
        for (name, (symbol, address, section)) in entries {
            let binding = if local(symbol) {
                Binding::Local
            } else {
                symbol.binding
            };
            push_symbol(&mut table, name, symbol, binding, section, address);
        }
        (table, names, locals)
    }

    fn program_headers(&self, segments: &[(u32, u32)], count: u64) -> Vec<u8> {
        let mut table = Vec::with_capacity(count as usize * 56);
        let mut push = |kind: u32,
                        flags: u32,
                        offset: u64,
                        address: u64,
                        file_size: u64,
                        size: u64,
                        align: u64| {
            table.extend(kind.to_le_bytes());
            table.extend(flags.to_le_bytes());
            for word in [offset, address, address, file_size, size, align] {
                table.extend(word.to_le_bytes());
            }
        };
        const READ: u32 = 4;
        const READ_WRITE: u32 = 6;
        push(6, READ, 64, 64, count * 56, count * 56, 8);
        // The extent of sections in the file and in memory.
        let extent = |list: &[&Out]| -> (u64, u64, u64, u64) {
            let (Some(first), Some(last)) = (list.first(), list.last()) else {
                return (0, 0, 0, 0);
            };
            let with_bytes = list.iter().rev().find(|o| o.kind != SectionKind::NOBITS);
            let file_size = with_bytes.map_or(0, |o| o.offset + o.size - first.offset);
            (
                first.offset,
                first.address,
                file_size,
                last.address + last.size - first.address,
            )
        };
        for segment in segments {
            let list: Vec<&Out> = self
                .outs
                .iter()
                .filter(|o| o.rank.segment() == *segment && o.rank != Rank::Unloaded)
                .collect();
            let (mut offset, mut address, mut file_size, mut size) = extent(&list);
            if segment.0 == 0 {
                // The first segment begins with the file's headers.
                file_size += offset;
                size += address;
                (offset, address) = (0, 0);
            }
            let align = list.iter().map(|o| o.align).max().unwrap_or(1).max(PAGE);
            push(1, segment.1, offset, address, file_size, size, align);
        }
        let named = |name: &str| {
            self.outs
                .iter()
                .filter(|o| o.name == name)
                .collect::<Vec<_>>()
        };
        let (offset, address, file_size, size) = extent(&named(".dynamic"));
        push(2, READ_WRITE, offset, address, file_size, size, 8);
        let relro: Vec<&Out> = self.outs.iter().filter(|o| o.rank == Rank::Relro).collect();
        let (offset, address, file_size, size) = extent(&relro);
        let protected = (address + size).next_multiple_of(PAGE) - address;
        push(0x6474_e552, READ, offset, address, file_size, protected, 1);
        push(0x6474_e551, READ_WRITE, 0, 0, 0, 0, 0);
        let notes: Vec<&Out> = self.outs.iter().filter(|o| o.rank == Rank::Note).collect();
        for run in notes.chunk_by(|a, b| a.align == b.align) {
            let (offset, address, file_size, size) = extent(run);
            push(4, READ, offset, address, file_size, size, run[0].align);
        }
        table
    }
}

fn too_large(name: &str) -> Error {
    Error::Layout(format!("section '{name}' is too large"))
}

/// `.gnu.hash`, with the defined symbols in the order it needs. `first` is the number of the first of them in `.dynsym`.
fn gnu_hash(symbols: &[Symbol], defined: Vec<usize>, first: usize) -> (Vec<u8>, Vec<usize>) {
    const SHIFT: u32 = 26;
    let hash = |name: &str| {
        name.bytes().fold(5381u32, |h, b| {
            h.wrapping_mul(33).wrapping_add(u32::from(b))
        })
    };
    let buckets = (defined.len() / 4).max(1);
    // 12 bits of the filter a symbol, in 64-bit words whose count is a power of two.
    let words = (defined.len() * 12 / 64 + 1).next_power_of_two();
    let mut list: Vec<(usize, u32, usize)> = defined
        .into_iter()
        .map(|i| {
            let h = hash(&symbols[i].name);
            (h as usize % buckets, h, i)
        })
        .collect();
    list.sort_by_key(|(bucket, ..)| *bucket);
    let mut filter = vec![0u64; words];
    let mut starts = vec![0u32; buckets];
    let mut chains = Vec::with_capacity(list.len());
    for (n, (bucket, h, _)) in list.iter().enumerate() {
        let word = (*h as usize / 64) & (words - 1);
        filter[word] |= (1 << (h % 64)) | (1 << ((h >> SHIFT) % 64));
        if starts[*bucket] == 0 {
            starts[*bucket] = (first + n) as u32;
        }
        let last = list.get(n + 1).is_none_or(|next| next.0 != *bucket);
        chains.push(h & !1 | u32::from(last));
    }
    let mut out = Vec::new();
    for word in [buckets as u32, first as u32, words as u32, SHIFT] {
        out.extend(word.to_le_bytes());
    }
    out.extend(filter.iter().flat_map(|w| w.to_le_bytes()));
    out.extend(starts.iter().chain(&chains).flat_map(|w| w.to_le_bytes()));
    (out, list.into_iter().map(|(_, _, i)| i).collect())
}

/// `.hash`, the System V hash table over all dynamic symbols.
fn sysv_hash(symbols: &[Symbol], dynsyms: &[usize]) -> Vec<u8> {
    let count = dynsyms.len() + 1;
    let mut buckets = vec![0u32; count];
    let mut chains = vec![0u32; count];
    for (n, i) in dynsyms.iter().enumerate() {
        let hash = symbols[*i].name.bytes().fold(0u32, |h, b| {
            let h = (h << 4).wrapping_add(u32::from(b));
            let top = h & 0xf000_0000;
            (h ^ top >> 24) & !top
        });
        let bucket = &mut buckets[hash as usize % count];
        chains[n + 1] = std::mem::replace(bucket, n as u32 + 1);
    }
    let mut out = Vec::with_capacity(8 + count * 8);
    for word in [count as u32; 2].iter().chain(&buckets).chain(&chains) {
        out.extend(word.to_le_bytes());
    }
    out
}
