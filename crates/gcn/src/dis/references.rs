//! Replaces addresses and relocations by symbols, labels and expressions.

use super::*;

/// The kind of expression for a relocated address, a literal or a branch target.
pub(super) enum Fixed {
    Expression(String),
    /// The entry of the global offset table at an address of the file.
    Got(u64),
}

impl<'a> Source<'a> {
    /// Returns the label for an address without a symbol.
    pub(super) fn label(&self, section: usize, address: u64) -> String {
        match self.loadable {
            true => format!("{LABEL}{address:x}"),
            false => format!("{}{address:x}", self.prefix(section)),
        }
    }

    /// Returns the prefix of a section's labels. In relocatable files every section begins at 0.
    pub(super) fn prefix(&self, section: usize) -> String {
        match self.loadable {
            true => LABEL.to_string(),
            false => format!("{LABEL}{section}_"),
        }
    }

    /// Returns a named symbol that begins at or contains an address, preferably one of the given section.
    pub(super) fn symbol_over(&self, address: u64, sorted: &[(u64, usize)]) -> Option<usize> {
        let after = sorted.partition_point(|(a, _)| *a <= address);
        // Symbols may share an address, and several are tried.
        let near = sorted[..after].iter().rev().take(8);
        let over = |n: usize| {
            let symbol = &self.table[n];
            symbol.address == address || address - symbol.address < symbol.size
        };
        near.map(|(_, n)| *n).find(|n| over(*n))
    }

    /// Returns an expression for an address in a loadable file, and adds a label there if there is no symbol.
    pub(super) fn address(&mut self, address: u64, sorted: &[(u64, usize)]) -> Option<String> {
        if let Some(n) = self.symbol_over(address, sorted) {
            let symbol = &self.table[n];
            let name = &self.names[n];
            return Some(match address - symbol.address {
                0 => name.to_string(),
                more => format!("{name}+{more}"),
            });
        }
        let section = self.section_at(address)?;
        let name = self.label(section, address);
        // The listing uses the same name for branch targets; the mark replaces it.
        let aligned =
            !self.section(section).flags.exec() || (address - self.base(section)).is_multiple_of(4);
        let taken = |(&(s, start), _): (&(usize, u64), _)| s == section && address - start < 64;
        let block = self.blocks.range(..=(section, address)).next_back();
        if !aligned || block.is_some_and(taken) {
            return None;
        }
        let mark = self.marks[section].entry(address).or_default();
        if mark.name.is_none() {
            let _ = writeln!(mark.text, "{name}:");
            mark.name = Some(name.clone());
        }
        Some(name)
    }

    /// Returns the defined symbols of loadable files by address.
    pub(super) fn sorted(&self) -> Vec<(u64, usize)> {
        let mut sorted: Vec<(u64, usize)> = (self.table.iter().enumerate())
            .filter(|(n, s)| {
                !self.names[*n].is_empty()
                    && matches!(s.section, SymbolSection::Index(i) if self.is_shown[i])
            })
            .map(|(n, s)| (s.address, n))
            .collect();
        sorted.sort_unstable();
        sorted
    }

    /// Replaces literals that are added to the program counter by expressions with the symbol at the sum. The code between may
    /// then be edited.
    pub(super) fn code_references(&mut self, mut pairs: Vec<Vec<Pair>>) {
        let got = (self.object.sections.iter())
            .position(|s| s.name == ".got" && s.kind == SectionKind::PROGBITS);
        let sorted = self.sorted();
        let mut entries: Vec<u64> = Vec::new();
        let mut uses = Vec::new();
        for index in self.shown.clone() {
            for pair in std::mem::take(&mut pairs[index]) {
                let in_got = got.map(|g| self.section(g)).filter(|g| {
                    pair.to >= g.address && pair.to < g.address + g.size && pair.to % 8 == 0
                });
                let fixed = match in_got {
                    Some(_) => Fixed::Got(pair.to),
                    None => match self.address(pair.to, &sorted) {
                        Some(expression) => Fixed::Expression(expression),
                        None => continue,
                    },
                };
                if let Fixed::Got(entry) = fixed
                    && !entries.contains(&entry)
                {
                    entries.push(entry);
                }
                uses.push((index, pair, fixed));
            }
        }
        entries.sort_unstable();
        // The linker rebuilds the table if there are references to all of its entries.
        let remade = got.and_then(|g| self.got_symbols(g, &entries));
        if let (Some(g), Some(_)) = (got, &remade) {
            self.shown.retain(|i| *i != g);
            self.index_shown();
        }
        for (index, pair, fixed) in uses {
            let (name, variant) = match fixed {
                Fixed::Expression(expression) => (expression, "rel32"),
                Fixed::Got(entry) => match &remade {
                    Some(symbols) => {
                        let n = entries.iter().position(|e| *e == entry).unwrap_or(0);
                        self.got_uses.push(GotUse {
                            section: index,
                            offset: pair.low - self.base(index),
                            symbol: symbols[n],
                        });
                        (self.names[symbols[n]].to_string(), "gotpcrel32")
                    }
                    None => match self.address(entry, &sorted) {
                        Some(name) => (name, "rel32"),
                        None => continue,
                    },
                },
            };
            for (at, half) in [(pair.low, "lo"), (pair.high, "hi")] {
                let (symbol, more) = match name.split_once('+') {
                    Some((symbol, more)) if !name.starts_with('"') => {
                        (symbol, more.parse().unwrap_or(0))
                    }
                    _ => match name.rsplit_once("\"+") {
                        Some((symbol, more)) => {
                            (&name[..symbol.len() + 1], more.parse().unwrap_or(0))
                        }
                        None => (name.as_str(), 0),
                    },
                };
                let addend = at.wrapping_sub(pair.pc).wrapping_add(more);
                self.fixes[index].insert(at, format!("{symbol}@{variant}@{half}+{addend}"));
            }
        }
    }

    /// Returns the symbols of the entries of the global offset table if the linker would make the same entries in this order.
    pub(super) fn got_symbols(&self, got: usize, entries: &[u64]) -> Option<Vec<usize>> {
        let section = self.section(got);
        let in_order =
            (entries.iter().enumerate()).all(|(n, entry)| *entry == section.address + 8 * n as u64);
        if !in_order || entries.len() as u64 * 8 != section.size {
            return None;
        }
        let relocations: HashMap<u64, &Relocation> = (self.object.relocations.iter())
            .map(|r| (r.offset, r))
            .collect();
        let sorted = self.sorted();
        let symbol = |entry: &u64| {
            let relocation = relocations.get(entry)?;
            match relocation.kind {
                RelocationKind::ABS64 if relocation.addend == 0 => {
                    let name = &self.object.dynamic_symbols.get(relocation.symbol?)?.name;
                    self.number_of(name)
                }
                RelocationKind::RELATIVE64 => {
                    let address = relocation.addend as u64;
                    let n = self.symbol_over(address, &sorted)?;
                    (self.table[n].address == address).then_some(n)
                }
                _ => None,
            }
        };
        let symbols: Vec<usize> = entries.iter().map(symbol).collect::<Option<_>>()?;
        // The linker's entries are in the order of the symbols, local ones last.
        let locations: HashMap<usize, usize> = (self.order().into_iter().enumerate())
            .map(|(location, n)| (n, location))
            .collect();
        let key = |n: &usize| {
            let symbol = &self.table[*n];
            let local = symbol.binding == Binding::Local && !hidden(symbol);
            (local, locations.get(n).copied())
        };
        symbols.is_sorted_by_key(key).then_some(symbols)
    }

    /// Adds the words that the loader relocates.
    pub(super) fn dynamic_relocations(&mut self) {
        let sorted = self.sorted();
        for relocation in &self.object.relocations {
            let Some(section) = self.section_at(relocation.offset) else {
                continue;
            };
            let expression = match relocation.kind {
                RelocationKind::ABS64 => {
                    let symbol = relocation.symbol;
                    let Some(symbol) = symbol.and_then(|n| self.object.dynamic_symbols.get(n))
                    else {
                        continue;
                    };
                    with_addend(&quoted(&symbol.name), relocation.addend)
                }
                RelocationKind::RELATIVE64 => {
                    match self.address(relocation.addend as u64, &sorted) {
                        Some(expression) => expression,
                        None => continue,
                    }
                }
                _ => continue,
            };
            self.words[section].insert(relocation.offset, (8, expression));
        }
    }

    /// Adds the relocations of relocatable files.
    pub(super) fn relocations(&mut self) {
        // The assembler too replaces a local symbol by its section and offset.
        let mut local: BTreeMap<(usize, u64), usize> = BTreeMap::new();
        for (n, symbol) in self.table.iter().enumerate() {
            if let SymbolSection::Index(i) = symbol.section
                && symbol.binding == Binding::Local
                && !self.names[n].is_empty()
            {
                local.entry((i, symbol.address)).or_insert(n);
            }
        }
        for relocation in &self.object.relocations {
            let (Some(section), Some(n)) = (relocation.section, relocation.symbol) else {
                continue;
            };
            let symbol = &self.table[n];
            let offset = relocation.offset;
            let in_block = (self.blocks.range(..=(section, offset)).next_back())
                .is_some_and(|(&(s, start), _)| s == section && offset - start < 64);
            if in_block {
                continue;
            }
            // The literals that are added to the program counter are 4 and 12 bytes after its value, so the addend of the symbol
            // contains this distance.
            let bias = match relocation.kind {
                RelocationKind::REL32_LO => 4,
                RelocationKind::REL32_HI => 12,
                _ => 0,
            };
            let mut addend = relocation.addend;
            let named = match symbol.section {
                SymbolSection::Index(i) if symbol.kind == SymbolKind::Section => {
                    let to = addend.wrapping_sub(bias) as u64;
                    let near = local.range((i, 0)..=(i, to)).next_back();
                    near.filter(|(location, n)| {
                        location.1 == to || to - location.1 < self.table[**n].size
                    })
                }
                _ => None,
            };
            let name = match (named, symbol.section) {
                (Some((location, n)), _) => {
                    addend = addend.wrapping_sub_unsigned(location.1);
                    self.names[*n].to_string()
                }
                (None, SymbolSection::Index(i)) if symbol.kind == SymbolKind::Section => {
                    // A label stands for the section. It is at the section's start, except in mergeable sections, where it is at the
                    // referenced address: an addend would make the label a symbol.
                    let section = self.section(i);
                    let inside = u64::try_from(addend).is_ok_and(|at| at < section.size);
                    let at = match section.flags.merge() && inside {
                        true => std::mem::take(&mut addend) as u64,
                        false => 0,
                    };
                    let name = match at {
                        0 => format!("{LABEL}section{i}"),
                        _ => format!("{LABEL}section{i}_{at:x}"),
                    };
                    let location = self.base(i) + at;
                    let mark = self.marks[i].entry(location).or_default();
                    let line = format!("{name}:\n");
                    if !mark.text.contains(&line) {
                        mark.text.push_str(&line);
                    }
                    name
                }
                _ => self.names[n].to_string(),
            };
            let (suffix, width) = match relocation.kind {
                RelocationKind::ABS32_LO => ("@abs32@lo", 4),
                RelocationKind::ABS32_HI => ("@abs32@hi", 4),
                RelocationKind::REL32_LO => ("@rel32@lo", 4),
                RelocationKind::REL32_HI => ("@rel32@hi", 4),
                RelocationKind::GOTPCREL => ("@gotpcrel", 4),
                RelocationKind::GOTPCREL32_LO => ("@gotpcrel32@lo", 4),
                RelocationKind::GOTPCREL32_HI => ("@gotpcrel32@hi", 4),
                RelocationKind::REL64 => ("-.", 8),
                RelocationKind::REL32 => ("-.", 4),
                RelocationKind::ABS64 => ("", 8),
                RelocationKind::ABS32 => ("", 4),
                RelocationKind::REL16 => ("", 2),
                _ => continue,
            };
            let code = self.section(section).flags.exec();
            // The assembler already makes the literal relative to its address.
            let suffix = if code && relocation.kind == RelocationKind::REL32 {
                ""
            } else {
                suffix
            };
            let expression = with_addend(&format!("{name}{suffix}"), addend);
            if code {
                self.fixes[section].insert(offset, expression);
            } else {
                self.words[section].insert(offset, (width, expression));
            }
        }
    }
}
