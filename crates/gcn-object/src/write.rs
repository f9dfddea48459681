//! Writes code objects: relocatable files for a linker, and loadable files laid out as ld.lld 14 lays them out.
//!
//! The loadable layout follows lld's: code, data and every address are the same for the same input. Distances between
//! sections, which the code contains, then stay valid after disassembling and assembling again.

use crate::bytes::Bytes;
use crate::descriptor::KernelDescriptor;
use crate::elf::*;
use crate::error::Error;
use crate::note;
use crate::read::{CodeObject, FileKind, OVERLAP};
pub use crate::read::{Relocation, Symbol};
use crate::target::{Abi, Os, TargetId};
use foldhash::{HashMap, HashMapExt};
use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::io;

mod link;

use link::{Link, Rank};

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
    /// Size of an entry for tables, otherwise 0.
    pub entry_size: u64,
    /// The bytes; empty for `NOBITS`.
    pub data: Bytes,
    /// Size in bytes; the length of `data` except for `NOBITS`.
    pub size: u64,
}

impl Section {
    /// Returns a `PROGBITS` section of these bytes.
    pub fn new(name: &str, flags: SectionFlags, align: u64, data: impl Into<Bytes>) -> Section {
        let data = data.into();
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

    /// Returns a writable `NOBITS` section.
    pub fn zeroed(name: &str, align: u64, size: u64) -> Section {
        let kind = SectionKind::NOBITS;
        Section {
            name: name.into(),
            kind,
            flags: SectionFlags::DATA,
            align,
            entry_size: 0,
            data: Bytes::new(),
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
    /// `e_flags`, if they differ from the target's.
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
    /// True if a linker keeps the first of several groups of one name (`GRP_COMDAT`).
    pub comdat: bool,
    /// The symbol whose name is that of the group.
    pub signature: usize,
    /// Its sections.
    pub members: Vec<usize>,
}

const GRP_COMDAT: u32 = 1;
/// Sections that the writers create themselves.
const TABLES: [SectionKind; 5] = [
    SectionKind::SYMTAB,
    SectionKind::STRTAB,
    SectionKind::RELA,
    SectionKind::REL,
    SectionKind::GROUP,
];

/// Page size in memory, and the alignment of segments.
const PAGE: u64 = 0x1000;
/// The maximum alignment; larger ones would make the file large.
const MAX_ALIGN: u64 = 1 << 20;
/// The maximum gap in the file that [`Builder::place_at`] may request.
const MAX_GAP: u64 = 1 << 24;
/// The maximum size of a file in bytes, as alignments and gaps enlarge it.
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

/// Adds a note to the section `.note`, which is created if needed. As in LLVM, only HSA's notes are loaded: the loaders
/// of other systems read the file. Returns the section's index.
pub fn add_note(
    sections: &mut Vec<Section>,
    os: Os,
    owner: &str,
    kind: u32,
    descriptor: &[u8],
) -> usize {
    if let Some(i) = sections.iter().position(|s| s.name == ".note") {
        let section = &mut sections[i];
        let aligned = section.data.len().next_multiple_of(4);
        section.data.resize(aligned, 0);
        let mut note = Vec::new();
        note::push(&mut note, owner, kind, descriptor);
        section.data.extend_from_slice(&note);
        section.size = section.data.len() as u64;
        return i;
    }
    let flags = match os {
        Os::Hsa => SectionFlags::ALLOC,
        _ => SectionFlags::default(),
    };
    let note = note::bytes(owner, kind, descriptor);
    let mut section = Section::new(".note", flags, 4, note);
    section.kind = SectionKind::NOTE;
    sections.push(section);
    sections.len() - 1
}

impl Builder {
    /// Returns an empty object of a version of HSA's code objects, or of another system.
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

    /// Overrides the `e_flags` that the target gives the header.
    pub fn set_flags(&mut self, flags: u32) {
        self.flags = Some(flags);
    }

    /// Returns the parts of a relocatable object, ready to be linked.
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
                data: object.section_data(i).to_vec().into(),
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

    /// Returns a section added before, to append to it.
    pub fn section_mut(&mut self, index: usize) -> Option<&mut Section> {
        self.sections.get_mut(index)
    }

    /// Adds a symbol and returns its index. Its address is the offset in its section.
    pub fn symbol(&mut self, symbol: Symbol) -> usize {
        self.symbols.push(symbol);
        self.symbols.len() - 1
    }

    /// Returns a symbol added before.
    pub fn symbol_mut(&mut self, index: usize) -> Option<&mut Symbol> {
        self.symbols.get_mut(index)
    }

    /// Adds a relocation in a section added before.
    pub fn relocation(&mut self, relocation: Relocation) {
        self.relocations.push(relocation);
    }

    /// Links a section to the one whose order it follows (`SHF_LINK_ORDER`).
    pub fn link_order(&mut self, section: usize, about: usize) {
        self.links.push((section, about));
    }

    /// Adds a section group. Its sections belong to no other group.
    pub fn group(&mut self, group: Group) {
        self.groups.push(group);
    }

    /// Adds a note, like [`add_note`].
    pub fn note(&mut self, owner: &str, kind: u32, descriptor: &[u8]) -> usize {
        add_note(&mut self.sections, self.abi.os, owner, kind, descriptor)
    }

    /// Appends a kernel's descriptor to a section at a 64-byte boundary, with its symbol `<name>.kd` and the relocation
    /// that ties it to `code`, the kernel's symbol. As in LLVM, the descriptor's symbol gets the code symbol's binding
    /// and visibility, and a code symbol of default visibility becomes protected, because the descriptor's distance to
    /// it must not change.
    ///
    /// # Errors
    /// [`Error::Layout`] if the section or the symbol does not exist.
    pub fn kernel(
        &mut self,
        section: usize,
        code: usize,
        descriptor: &KernelDescriptor,
    ) -> Result<usize, Error> {
        let (Some(location), Some(symbol)) =
            (self.sections.get_mut(section), self.symbols.get_mut(code))
        else {
            return layout("the section or the symbol of a kernel does not exist");
        };
        location.align = location.align.max(64);
        let offset = location.data.len().next_multiple_of(64);
        location.data.resize(offset, 0);
        location.data.extend(descriptor.to_bytes());
        location.size = location.data.len() as u64;
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

    /// Puts an output section (by its name, including the linker's own, such as `.dynamic`) of the loadable file at a
    /// virtual address instead of where lld would.
    pub fn place_at(&mut self, name: &str, address: u64) {
        self.pins.insert(name.to_string(), address);
    }

    /// Returns the sections of the loadable file in order, including those of the linker, with their addresses.
    ///
    /// # Errors
    /// See [`Builder::loadable`], except for references that do not fit.
    pub fn layout(&self) -> Result<Vec<(String, u64)>, Error> {
        self.check()?;
        let mut link = Link::new(self)?;
        let programs = link.programs();
        link.lay_out(programs)?;
        let locations = link.outs.into_iter();
        Ok(locations.map(|out| (out.name, out.address)).collect())
    }

    /// Checks the requirements of both writers.
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
                    "section '{}': alignment {:#x} is not a power of two up to {MAX_ALIGN:#x}",
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

    /// Returns the `ET_REL` file: sections as given, symbols and relocations.
    ///
    /// # Errors
    /// [`Error::Layout`] or [`Error::Relocation`] if the parts do not fit together.
    pub fn relocatable(&self) -> Result<Vec<u8>, Error> {
        self.check()?;
        let mut strings = Strings::shared(self.symbols.len() + 2 * self.sections.len());
        // Each section is followed by the section of its relocations; index 1 is the string table.
        let mut index = Vec::with_capacity(self.sections.len());
        let mut by_section: Vec<Vec<&Relocation>> = vec![Vec::new(); self.sections.len()];
        for relocation in &self.relocations {
            by_section[relocation.section.unwrap_or(0)].push(relocation);
        }
        // A group comes before the first of its sections.
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
            let name = strings.add(symbol.name.as_str());
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
            let mut data = Cow::Borrowed(&section.data[..]);
            // If the relocation holds the addend, its location is zero, even if the value is already known.
            for r in &by_section[i] {
                let (start, width) = (r.offset as usize, r.kind.width());
                let addend = if has_addends { 0 } else { r.addend };
                if let Some(location) = data.to_mut().get_mut(start..start + width) {
                    location.copy_from_slice(&addend.to_le_bytes()[..width]);
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
                // Without the addend the entry is the same.
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
            out.name_offset = strings.add(out.name.clone());
            // An ADDRSIG table names symbols by number and is not part of the program, so it only links to the symbol
            // table.
            if out.kind == SectionKind::LLVM_ADDRSIG {
                out.link = symtab as u32;
            }
        }
        let bytes = std::mem::take(&mut strings.bytes);
        headers[1].size = bytes.len() as u64;
        headers[1].data = Cow::Owned(bytes);
        let size = headers.iter().map(|out| out.data.len() + 96).sum();
        let mut file = Vec::with_capacity(size);
        file.resize(64, 0);
        // The string table comes last, because section names are known last.
        for i in (2..headers.len()).chain([1]) {
            let out = &mut headers[i];
            pad(&mut file, out.align);
            out.offset = file.len() as u64;
            file.extend_from_slice(&out.data);
        }
        pad(&mut file, 8);
        let header = self.header(1, 0, file.len() as u64, headers.len(), 1);
        file[..64].copy_from_slice(&header);
        for out in &headers {
            out.push_header(&mut file);
        }
        Ok(file)
    }

    /// Returns the `ET_DYN` file, linked and ready to load.
    ///
    /// # Errors
    /// See [`Builder::linked`].
    pub fn loadable(&self) -> Result<Vec<u8>, Error> {
        Ok(self.linked()?.to_bytes())
    }

    /// Returns the `ET_DYN` file in parts, linked and ready to load.
    ///
    /// References between sections are resolved; `ABS64` words in writable sections become dynamic relocations; `GOTPCREL*`
    /// references get a global offset table. Unlike lld, a PC-relative reference to a symbol of default visibility
    /// is resolved within the file.
    ///
    /// # Errors
    /// [`Error::Layout`] if the parts do not fit together; [`Error::Relocation`] if a reference cannot be resolved.
    pub fn linked(&self) -> Result<File<'_>, Error> {
        self.check()?;
        Link::new(self)?.write()
    }
}

/// A file in parts that are not copied together; there are zeros between them.
#[derive(Clone, Debug)]
pub struct File<'a> {
    /// The offset and the bytes of each part, in their order.
    parts: Vec<(u64, Cow<'a, [u8]>)>,
    size: u64,
}

impl<'a> File<'a> {
    fn new(mut parts: Vec<(u64, Cow<'a, [u8]>)>) -> File<'a> {
        parts.sort_by_key(|(offset, _)| *offset);
        let ends = parts
            .iter()
            .map(|(offset, part)| offset + part.len() as u64);
        let size = ends.max().unwrap_or(0);
        File { parts, size }
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, out: &mut dyn io::Write) -> io::Result<()> {
        const ZEROS: [u8; 1 << 10] = [0; 1 << 10];
        let mut at = 0;
        for (offset, part) in &self.parts {
            while at < *offset {
                let zeros = (offset - at).min(ZEROS.len() as u64);
                out.write_all(&ZEROS[..zeros as usize])?;
                at += zeros;
            }
            out.write_all(part)?;
            at += part.len() as u64;
        }
        Ok(())
    }

    /// Returns the bytes of the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        const PAGE: usize = 1 << 12;
        const ZEROS: [u8; PAGE] = [0; PAGE];
        let mut file = vec![0; self.size as usize];
        for (offset, part) in &self.parts {
            let location = file.get_mut(*offset as usize..).unwrap_or_default();
            // The system allocates a page at its first write, and pages of zeros need no write.
            for (location, page) in location.chunks_mut(PAGE).zip(part.chunks(PAGE)) {
                if *page != ZEROS[..page.len()] {
                    location[..page.len()].copy_from_slice(page);
                }
            }
        }
        file
    }
}

/// A string table under construction.
struct Strings<'a> {
    bytes: Vec<u8>,
    known: Option<HashMap<Cow<'a, str>, u32>>,
}

impl<'a> Strings<'a> {
    /// With room for this number of names; equal names share a location.
    fn shared(count: usize) -> Strings<'a> {
        Strings {
            bytes: vec![0],
            known: Some(HashMap::with_capacity(count)),
        }
    }

    fn new() -> Strings<'a> {
        Strings {
            bytes: vec![0],
            known: None,
        }
    }

    fn add(&mut self, name: impl Into<Cow<'a, str>>) -> u32 {
        let name = name.into();
        if name.is_empty() {
            return 0;
        }
        let offset = self.bytes.len() as u32;
        self.bytes.reserve(name.len() + 1);
        self.bytes.extend_from_slice(name.as_bytes());
        if let Some(known) = &mut self.known {
            match known.entry(name) {
                Entry::Occupied(known) => {
                    self.bytes.truncate(offset as usize);
                    return *known.get();
                }
                Entry::Vacant(location) => {
                    location.insert(offset);
                }
            }
        }
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
struct Out<'a> {
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
    data: Cow<'a, [u8]>,
    rank: Rank,
}

impl Default for Out<'_> {
    fn default() -> Self {
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
            data: Cow::Borrowed(&[]),
            rank: Rank::Unloaded,
        }
    }
}

impl<'a> Out<'a> {
    fn table(name: &str, kind: SectionKind, align: u64) -> Out<'a> {
        Out {
            name: name.into(),
            kind,
            align,
            ..Out::default()
        }
    }

    fn with(mut self, entry_size: u64, data: Vec<u8>) -> Out<'a> {
        self.entry_size = entry_size;
        self.size = data.len() as u64;
        self.data = Cow::Owned(data);
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
