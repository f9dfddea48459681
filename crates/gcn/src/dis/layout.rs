//! Predicts the addresses that the linker gives to the sections of the source.

use gcn_object::write;

use super::*;

/// The maximum number of sections with addresses that differ from the linker's; unusual files may have many.
const MOST_MOVED: usize = 32;
/// With more sections than this, only one gets an address of its own.
const FEW: usize = 256;

impl<'a> Source<'a> {
    /// Returns the directives for sections that the linker would put at other addresses. They are the same in short source.
    pub(super) fn section_addresses(&self) -> &str {
        self.addresses.get_or_init(|| self.find_section_addresses())
    }

    fn find_section_addresses(&self) -> String {
        let mut out = String::new();
        if !self.loadable {
            return out;
        }
        let mut builder = self.builder();
        let wanted: Vec<(&str, u64)> = (self.object.sections.iter())
            .filter(|s| s.flags.alloc() && s.size != 0)
            .map(|s| (s.name.as_str(), s.address))
            .collect();
        // The time of each attempt is proportional to the number of sections.
        let attempts = match wanted.len() {
            0..=FEW => wanted.len().min(MOST_MOVED),
            _ => 1,
        };
        for _ in 0..=attempts {
            let layout: HashMap<String, u64> = match builder.layout() {
                Ok(layout) => layout.into_iter().collect(),
                Err(e) => {
                    let _ = writeln!(out, "// The sections will not be where they were: {e}");
                    return out;
                }
            };
            let moved = wanted
                .iter()
                .find(|(name, address)| (layout.iter()).any(|(n, a)| n == name && a != address));
            let Some((name, address)) = moved else {
                return out;
            };
            builder.place_at(name, *address);
            let _ = writeln!(out, ".gcn_section_at {}, {address:#x}", section_name(name));
        }
        out
    }

    /// Returns the parts of the assembler's output on which addresses depend.
    pub(super) fn builder(&self) -> write::Builder {
        let object = self.object;
        let mut builder = write::Builder::new(object.target, object.abi());
        let mut numbers = vec![None; object.sections.len()];
        let notes = self.notes.iter().map(|notes| notes.section);
        for i in notes.chain(self.shown.iter().copied()) {
            let section = self.section(i);
            // Addresses depend on the number of bytes, not on their values.
            let data = match section.kind {
                SectionKind::NOBITS => Vec::new(),
                _ => vec![0; object.section_data(i).len()],
            };
            numbers[i] = Some(builder.section(write::Section {
                name: section.name.clone(),
                kind: section.kind,
                flags: section.flags,
                align: power_of_two(section.align),
                entry_size: section.entry_size,
                size: section.size,
                data: data.into(),
            }));
        }
        let mut symbols = vec![None; self.table.len()];
        // Local symbols do not change addresses.
        let mut used: HashSet<usize> = self.got_uses.iter().map(|got| got.symbol).collect();
        used.extend((object.dynamic_symbols.iter()).filter_map(|s| self.number_of(&s.name)));
        for (n, symbol) in self.table.iter().enumerate() {
            let local = symbol.binding == Binding::Local && !used.contains(&n);
            if local || self.names[n].is_empty() || !self.has(symbol) {
                continue;
            }
            let mut symbol = symbol.clone();
            if let SymbolSection::Index(i) = symbol.section {
                let Some(number) = numbers[i] else { continue };
                symbol.address = symbol.address.wrapping_sub(self.base(i));
                symbol.section = SymbolSection::Index(number);
            }
            symbols[n] = Some(builder.symbol(symbol));
        }
        let somewhere = builder.symbol(Symbol {
            name: String::new(),
            address: 0,
            size: 0,
            kind: SymbolKind::Section,
            binding: Binding::Local,
            visibility: Visibility::Default,
            section: SymbolSection::Index(0),
        });
        let mut by_name: HashMap<&str, usize> = HashMap::new();
        for (n, symbol) in self.table.iter().enumerate() {
            if let Some(number) = symbols[n] {
                by_name.entry(&symbol.name).or_insert(number);
            }
        }
        let mut by_offset: HashMap<u64, &Relocation> = HashMap::new();
        for relocation in &object.relocations {
            by_offset.entry(relocation.offset).or_insert(relocation);
        }
        for (&i, number) in self.shown.iter().filter_map(|i| Some((i, numbers[*i]?))) {
            for &offset in self.words[i].keys() {
                let symbol = (by_offset.get(&offset))
                    .and_then(|r| object.dynamic_symbols.get(r.symbol?))
                    .and_then(|s| by_name.get(s.name.as_str()));
                builder.relocation(Relocation {
                    section: Some(number),
                    offset: offset - self.base(i),
                    kind: RelocationKind::ABS64,
                    symbol: Some(symbol.copied().unwrap_or(somewhere)),
                    addend: 0,
                });
            }
        }
        for used in &self.got_uses {
            builder.relocation(Relocation {
                section: numbers[used.section],
                offset: used.offset,
                kind: RelocationKind::GOTPCREL32_LO,
                symbol: symbols[used.symbol],
                addend: 0,
            });
        }
        builder
    }
}
