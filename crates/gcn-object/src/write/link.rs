//! The linker of [`Builder::loadable`]: output sections, the tables of a dynamic object, addresses, relocations.

use super::*;

/// The position at which lld puts a section; sections of one rank keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Note,
    /// The dynamic symbols, their names and hash tables, the dynamic relocations.
    Dynamic,
    ReadOnly,
    Code,
    WritableCode,
    /// Writable only while relocations are applied.
    Relro,
    Data,
    Zeroed,
    Unloaded,
}

impl Rank {
    /// Returns the `p_flags` of the segment, with a number that differs between the two writable ones.
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

/// Input sections whose names begin with one of these are merged under it.
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
    // `.data.rel.ro` comes before `.data`.
    JOINED
        .iter()
        .find(joined)
        .map_or(&section.name, |name| name)
}

/// A dynamic relocation: its location, its symbol (`None`: relative to the base), and its addend.
struct Dynamic {
    location: Location,
    symbol: Option<usize>,
    /// For relative ones, the symbol whose address is added to the addend.
    target: Option<usize>,
    addend: i64,
}

#[derive(Clone, Copy)]
enum Location {
    Input(usize, u64),
    Got(u64),
}

/// The state of one link.
pub(super) struct Link<'a> {
    input: &'a Builder,
    pub(super) outs: Vec<Out<'a>>,
    by_name: HashMap<String, usize>,
    /// For each input section, the index of its output section and its offset in it.
    homes: Vec<Option<(usize, u64)>>,
    /// Offsets of common symbols in `.bss`.
    commons: HashMap<usize, u64>,
    /// Symbols with an entry in the global offset table, in the order of entries.
    got: Vec<usize>,
    got_of: HashMap<usize, u64>,
    dynamics: Vec<Dynamic>,
    /// Symbols of the dynamic symbol table, after the null symbol.
    dynsyms: Vec<usize>,
    /// For each symbol of that table, by its number in the input, the offset of its name.
    dynamic_names: Vec<u32>,
}

impl<'a> Link<'a> {
    pub(super) fn new(input: &'a Builder) -> Result<Link<'a>, Error> {
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
            dynamic_names: Vec::new(),
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
                        "common symbol '{}': alignment {own:#x} is not a power of two up to {MAX_ALIGN:#x}",
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
            let own = flags.0 & !SectionFlags::INFO_LINK;
            if out.entry_size != section.entry_size || out.flags != own {
                // As in lld, the section has the flags of all its parts.
                out.entry_size = 0;
                out.flags |= own;
            }
            out.align = out.align.max(section.align);
            let offset = out.size.next_multiple_of(section.align.max(1));
            out.size = offset
                .checked_add(section.size)
                .filter(|s| *s < 1 << 48)
                .ok_or_else(|| too_large(name))?;
            self.homes[i] = Some((at, offset));
        }
        Ok(())
    }

    /// Copies the bytes of the sections, on which the layout does not depend.
    fn copy_sections(&mut self) {
        for (section, home) in self.input.sections.iter().zip(&self.homes) {
            let Some((at, offset)) = *home else { continue };
            if section.kind == SectionKind::NOBITS {
                continue;
            }
            let out = &mut self.outs[at];
            if offset == 0 && out.size == section.data.len() as u64 {
                // It is the only part, and is copied only if something is written to it.
                out.data = Cow::Borrowed(&section.data);
                continue;
            }
            let data = out.data.to_mut();
            data.reserve_exact(out.size as usize - data.len());
            data.resize(offset as usize, 0);
            data.extend_from_slice(&section.data);
        }
    }

    /// Returns true if a loader may bind references to this symbol to another file's.
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
                    self.add_dynamic(Location::Input(section, offset), symbol, relocation.addend);
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
            self.add_dynamic(Location::Got(entry), symbol, 0);
        }
        Ok(())
    }

    /// Returns relocations section by section, in the order in which lld scans them.
    fn ordered_relocations(&self) -> Vec<Relocation> {
        let mut list = self.input.relocations.clone();
        list.sort_by_key(|r| r.section);
        list
    }

    fn add_dynamic(&mut self, location: Location, symbol: usize, addend: i64) {
        let dynamic = if self.preemptible(symbol) {
            Dynamic {
                location,
                symbol: Some(symbol),
                target: None,
                addend,
            }
        } else {
            Dynamic {
                location,
                symbol: None,
                target: Some(symbol),
                addend,
            }
        };
        self.dynamics.push(dynamic);
    }

    /// Adds the linker's own sections and sorts all sections. Tables whose contents depend on addresses get their size
    /// here and their bytes later.
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
        let mut names = Strings::shared(undefined.len() + defined.len());
        self.dynamic_names = (self.input.symbols.iter())
            .map(|symbol| match exported(symbol) {
                true => names.add(symbol.name.as_str()),
                false => 0,
            })
            .collect();
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
            // The count of relative relocations is left out if there are none.
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
        // A global offset table of the input goes where the linker's own would.
        let before: Vec<String> = self.outs.iter().map(|out| out.name.clone()).collect();
        self.outs.sort_by_key(|o| (o.rank, o.name == ".got"));
        self.by_name = self
            .outs
            .iter()
            .enumerate()
            .map(|(i, o)| (o.name.clone(), i))
            .collect();
        for (at, _) in self.homes.iter_mut().flatten() {
            *at = self.by_name[&before[*at]];
        }
        Ok(())
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    fn address_of(&self, name: &str) -> u64 {
        self.index(name).map_or(0, |i| self.outs[i].address)
    }

    /// Returns the final address of a symbol; `None` if it has none.
    fn symbol_address(&self, symbol: usize) -> Option<u64> {
        let s = &self.input.symbols[symbol];
        match s.section {
            SymbolSection::Absolute => Some(s.address),
            SymbolSection::Common => Some(self.address_of(".bss") + self.commons.get(&symbol)?),
            SymbolSection::Index(i) => {
                let (at, offset) = self.homes[i]?;
                let home = self.outs[at].address.wrapping_add(offset);
                Some(home.wrapping_add(s.address))
            }
            SymbolSection::Undefined | SymbolSection::Lds => None,
        }
    }

    fn location_address(&self, location: Location) -> u64 {
        match location {
            Location::Got(offset) => self.address_of(".got") + offset,
            Location::Input(section, offset) => match self.homes[section] {
                Some((at, start)) => {
                    let home = self.outs[at].address.wrapping_add(start);
                    home.wrapping_add(offset)
                }
                None => 0,
            },
        }
    }

    /// Gives every section its address and file offset. Returns the file offset after the loaded ones.
    pub(super) fn lay_out(&mut self, programs: u64) -> Result<u64, Error> {
        let headers = 64 + 56 * programs;
        let (mut dot, mut offset) = (headers, headers);
        let mut segment = Rank::Note.segment();
        // The address and file offset that the segment is relative to.
        let (mut first_address, mut first_offset) = (0, 0);
        for out in self.outs.iter_mut().filter(|o| o.rank != Rank::Unloaded) {
            let new_segment = out.rank.segment() != segment;
            let end = dot;
            if new_segment {
                segment = out.rank.segment();
                // A new page that continues at the same offset within the page needs no padding in the file.
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
                        "section '{}' cannot be at {pin:#x}, so far after the section before",
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

    /// Returns the loaded segments.
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

    /// Returns the alignments of the note segments.
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

    /// Returns the number of program headers at the time when addresses are assigned.
    pub(super) fn programs(&self) -> u64 {
        (self.segments().len() + self.notes().len() + 4) as u64
    }

    pub(super) fn write(mut self) -> Result<File<'a>, Error> {
        let mut segments = self.segments();
        let notes = self.notes();
        let programs = self.programs();
        self.copy_sections();
        let end = self.lay_out(programs)?;
        self.fill_tables();
        self.apply_relocations()?;

        // As in lld, segments without bytes take part in the assignment of addresses, but are not written.
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
            .push(Out::table(".strtab", SectionKind::STRTAB, 1).with(0, names));
        let count = self.outs.len();
        if count + 1 >= MAX_SECTIONS {
            return layout(format!("{count} sections are too many"));
        }
        let mut names = Strings::shared(self.outs.len());
        for out in &mut self.outs {
            out.name_offset = names.add(out.name.clone());
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
        let mut end = end;
        for out in self.outs.iter_mut().filter(|o| o.rank == Rank::Unloaded) {
            out.offset = end.next_multiple_of(out.align.max(1));
            end = out.offset + out.data.len() as u64;
        }
        let end = end.next_multiple_of(8);
        let mut head = (self.input).header(3, programs as u16, end, count + 1, count - 1);
        head.extend(program_headers);
        let mut section_headers = Vec::with_capacity((count + 1) * 64);
        Out::default().push_header(&mut section_headers);
        for out in &self.outs {
            out.push_header(&mut section_headers);
        }
        let mut parts = vec![(0, Cow::Owned(head))];
        let sections = self.outs.into_iter().map(|out| (out.offset, out.data));
        parts.extend(sections.filter(|(_, data)| !data.is_empty()));
        parts.push((end, Cow::Owned(section_headers)));
        Ok(File::new(parts))
    }

    /// Writes the bytes of the tables that hold addresses.
    fn fill_tables(&mut self) {
        let mut number = HashMap::new();
        let mut dynsym = Vec::with_capacity(24 * (self.dynsyms.len() + 1));
        dynsym.resize(24, 0);
        for (n, i) in self.dynsyms.iter().enumerate() {
            let symbol = &self.input.symbols[*i];
            if !self.dynamics.is_empty() {
                number.insert(*i, n as u32 + 1);
            }
            push_symbol(
                &mut dynsym,
                self.dynamic_names[*i],
                symbol,
                symbol.binding,
                self.section_number(symbol),
                self.symbol_address(*i).unwrap_or(0),
            );
        }
        let mut relocations: Vec<(u32, u64, RelocationKind, i64)> =
            Vec::with_capacity(self.dynamics.len());
        for d in &self.dynamics {
            let location = self.location_address(d.location);
            relocations.push(match d.symbol {
                Some(symbol) => (
                    number.get(&symbol).copied().unwrap_or(0),
                    location,
                    RelocationKind::ABS64,
                    d.addend,
                ),
                None => {
                    let target = d.target.and_then(|t| self.symbol_address(t)).unwrap_or(0);
                    (
                        0,
                        location,
                        RelocationKind::RELATIVE64,
                        target.wrapping_add_signed(d.addend) as i64,
                    )
                }
            });
        }
        // Relative relocations, whose symbol is 0, come first.
        relocations.sort_by_key(|r| (r.0, r.1));
        let relative = relocations.iter().filter(|r| r.0 == 0).count() as u64;
        let mut rela = Vec::with_capacity(relocations.len() * 24);
        for (symbol, location, kind, addend) in relocations {
            push_rela(&mut rela, location, symbol, kind, addend);
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
                self.outs[i].data = Cow::Owned(data);
            }
        }
    }

    fn apply_relocations(&mut self) -> Result<(), Error> {
        for relocation in self.ordered_relocations() {
            let offset = relocation.offset;
            let bad = |detail: String| Error::Relocation { offset, detail };
            let Some((section, home)) = relocation.section.and_then(|i| Some((i, self.homes[i]?)))
            else {
                continue;
            };
            let location = self.location_address(Location::Input(section, offset));
            let symbol = relocation.symbol.map(|i| (i, &self.input.symbols[i]));
            let alloc = self.input.sections[section].flags.alloc();
            let target = || match symbol {
                None => Ok(0),
                Some((i, s)) => match self.symbol_address(i) {
                    Some(address) => Ok(address),
                    None if s.binding == Binding::Weak && s.section == SymbolSection::Undefined => {
                        Ok(0)
                    }
                    // In debugging information an undefined symbol is 0, as in lld.
                    None if s.section == SymbolSection::Undefined && !alloc => Ok(0),
                    None if s.section == SymbolSection::Undefined => {
                        Err(bad(crate::undefined(&s.name)))
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
                    // Others became dynamic relocations, whose location stays zero.
                    Some((_, s)) if s.section == SymbolSection::Absolute => s.address,
                    None => 0,
                    _ => continue,
                },
                Some(Base::Absolute) => target()?,
                Some(Base::Relative) => target()?.wrapping_sub(location),
                Some(Base::Got) => {
                    let entry = symbol
                        .and_then(|(i, _)| self.got_of.get(&i))
                        .copied()
                        .unwrap_or(0);
                    (self.address_of(".got") + entry).wrapping_sub(location)
                }
            };
            let value = value.wrapping_add_signed(relocation.addend);
            let start = (home.1 + offset) as usize;
            let bytes = self.outs[home.0].data.to_mut();
            let bytes = bytes.get_mut(start..start + relocation.kind.width());
            let bytes = bytes.ok_or_else(|| bad("the place has no bytes".into()))?;
            relocation.kind.store(value, bytes).map_err(bad)?;
        }
        Ok(())
    }

    /// Returns `st_shndx` of a symbol.
    fn section_number(&self, symbol: &Symbol) -> u16 {
        let number = |name: &str| self.index(name).map_or(0, |i| i as u16 + 1);
        match symbol.section {
            SymbolSection::Undefined => 0,
            SymbolSection::Absolute => 0xfff1,
            SymbolSection::Common => number(".bss"),
            SymbolSection::Lds => 0xff00,
            SymbolSection::Index(i) => self.homes[i].map_or(0, |(at, _)| at as u16 + 1),
        }
    }

    /// Returns `.symtab`, its names, and the number of its local symbols, including the null symbol.
    fn symbol_table(&self) -> (Vec<u8>, Vec<u8>, u32) {
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
        // Local symbols, then the others, then the linker's own: this is also the order of the names.
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
        let mut names = Strings::new();
        let mut entries: Vec<_> = list
            .into_iter()
            .map(|entry| (names.add(entry.0.name.as_str()), entry))
            .collect();
        // Hidden symbols are local in a linked file.
        let local = |s: &Symbol| {
            s.binding == Binding::Local
                || matches!(s.visibility, Visibility::Hidden | Visibility::Internal)
        };
        entries.sort_by_key(|(_, (s, _, _))| !local(s));
        let locals = entries.iter().filter(|(_, (s, _, _))| local(s)).count() as u32 + 1;
        let mut table = Vec::with_capacity(24 * (entries.len() + 1));
        table.resize(24, 0);
        for (name, (symbol, address, section)) in entries {
            let binding = if local(symbol) {
                Binding::Local
            } else {
                symbol.binding
            };
            push_symbol(&mut table, name, symbol, binding, section, address);
        }
        (table, names.bytes, locals)
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

/// Returns `.gnu.hash`, and the defined symbols in the order it needs. `first` is the number of the first of them in
/// `.dynsym`.
fn gnu_hash(symbols: &[Symbol], defined: Vec<usize>, first: usize) -> (Vec<u8>, Vec<usize>) {
    const SHIFT: u32 = 26;
    let hash = |name: &str| {
        name.bytes().fold(5381u32, |h, b| {
            h.wrapping_mul(33).wrapping_add(u32::from(b))
        })
    };
    let buckets = (defined.len() / 4).max(1);
    // 12 bits of the filter per symbol, in 64-bit words whose count is a power of two.
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

/// Returns `.hash`, the System V hash table of all dynamic symbols.
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
