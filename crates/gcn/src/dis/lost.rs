//! The check that an object's source reproduces the object.
//!
//! A short source, with zeros for code and data without symbols and relocations, is assembled, linked and compared with the
//! object. The time therefore depends on the number of symbols, relocations and sections, not on the instructions, whose text is
//! checked by other tests.

use std::ops::Range;

use super::*;

/// The name that lld 17 and later give to the padding after data that is read-only after relocation.
const RELRO_PADDING: &str = ".relro_padding";

/// The maximum number of differences that are reported.
const MOST_REPORTED: usize = 8;

/// Returns the parts that disassembling and assembling an object would lose, each as a few words. With `loaded_only`, sections
/// that are not loaded are ignored.
///
/// # Errors
/// See [`super::object`].
pub fn lost(object: &CodeObject, loaded_only: bool) -> io::Result<Vec<String>> {
    Reading::new(object, loaded_only, 1)?.lost()
}

/// Returns the parts that a short source loses.
pub(super) fn lost_of(source: &Source) -> io::Result<Vec<String>> {
    if source.addresses.get().is_none() {
        // In most files the sections are where the linker puts them. Computing the addresses takes longer than trying it.
        let lost = lost_at(source, "")?;
        let addresses = match lost.is_empty() {
            true => source.addresses.get_or_init(String::new),
            false => source.section_addresses(),
        };
        if addresses.is_empty() {
            return Ok(lost);
        }
    }
    lost_at(source, source.section_addresses())
}

/// Returns the parts that a short source with these directives for the addresses of sections loses.
fn lost_at(source: &Source, addresses: &str) -> io::Result<Vec<String>> {
    let object = source.object;
    let mut text = Vec::new();
    source.write(addresses, &mut text)?;
    let known = source.notes.as_ref().and_then(|notes| notes.made.clone());
    let again = match made_of(object, &text, known) {
        Ok(again) => again,
        Err(e) => return Ok(vec![format!("the source would be refused: {e}")]),
    };
    let mut both = Both {
        a: object,
        b: &again,
        source,
        pairs: Vec::new(),
        out: Vec::new(),
    };
    both.header();
    both.sections();
    both.segments();
    both.symbols();
    if object.kind == FileKind::Relocatable {
        both.relocations();
        both.groups();
    }
    let mut out = both.out;
    out.dedup();
    if out.len() > MOST_REPORTED {
        let more = out.len() - MOST_REPORTED;
        out.truncate(MOST_REPORTED);
        out.push(format!("{more} more"));
    }
    Ok(out)
}

/// Assembles and links source.
fn made_of(
    object: &CodeObject,
    source: &[u8],
    known: Option<Arc<KnownMetadata>>,
) -> Result<CodeObject, String> {
    let source = str::from_utf8(source).map_err(|e| e.to_string())?;
    let options = gcn_asm::Options {
        metadata: known,
        ..Default::default()
    };
    let output = gcn_asm::assemble(source, "the source", &options);
    let Some(made) = output.object else {
        let error = (output.diagnostics.iter()).find(|d| d.level == gcn_asm::Level::Error);
        return Err(
            error.map_or_else(String::new, |d| match d.source_line.trim() {
                "" => d.message.clone(),
                line => format!("{} (`{line}`)", d.message),
            }),
        );
    };
    let builder = made.into_builder();
    let bytes = match object.kind {
        FileKind::Loadable => builder.loadable(),
        FileKind::Relocatable => builder.relocatable(),
    };
    bytes
        .and_then(CodeObject::outline)
        .map_err(|e| e.to_string())
}

/// An object, and the object made from its source.
struct Both<'a> {
    a: &'a CodeObject,
    b: &'a CodeObject,
    source: &'a Source<'a>,
    /// Pairs of corresponding sections of `a` and `b`.
    pairs: Vec<Option<usize>>,
    out: Vec<String>,
}

impl Both<'_> {
    fn lost(&mut self, what: impl Into<String>) {
        self.out.push(what.into());
    }

    /// Compares the system, the versions, the entry and the flags.
    fn header(&mut self) {
        const FIELDS: [(&str, Range<usize>); 3] = [
            ("what identifies the file", 0..16),
            ("the type, version or entry in the file's header", 16..32),
            ("the flags in the file's header", 48..52),
        ];
        for (what, range) in FIELDS {
            if self.a.data().get(range.clone()) != self.b.data().get(range) {
                self.lost(what);
            }
        }
    }

    /// Compares sections; sections of one name correspond in their order.
    fn sections(&mut self) {
        let (a, b) = (self.a, self.b);
        let mut by_name: HashMap<&str, std::collections::VecDeque<usize>> = HashMap::new();
        for (n, section) in b.sections.iter().enumerate() {
            by_name.entry(&section.name).or_default().push_back(n);
        }
        for (n, section) in a.sections.iter().enumerate() {
            let other = by_name.get_mut(section.name.as_str());
            self.pairs
                .push(other.and_then(|by_name| by_name.pop_front()));
            if !self.counts(n) {
                continue;
            }
            let name = format!("section {}", section_name(&section.name));
            let Some(m) = self.pairs[n] else {
                self.lost(name);
                continue;
            };
            let other = &b.sections[m];
            let head = |s: &Section| (s.kind, s.flags, s.entry_size, s.align.max(1));
            if head(section) != head(other) {
                self.lost(format!("the head of {name}"));
            }
            let stub = self.source.stub(n);
            let size = stub.unwrap_or(section.size);
            if (section.address, size) != (other.address, other.size) {
                self.lost(format!("the address of {name}"));
            } else if stub.is_none() && !self.same_bytes(n, m) {
                self.lost(format!("bytes of {name}"));
            }
        }
        for (name, left) in by_name {
            let more = left.iter().find(|m| {
                let section = &b.sections[**m];
                !(linker_made(section) || section.size == 0)
            });
            if more.is_some() {
                self.lost(format!(
                    "that there is no section {} more",
                    section_name(name)
                ));
            }
        }
    }

    /// Returns true if a section of the object must be reproduced.
    fn counts(&self, n: usize) -> bool {
        let section = &self.a.sections[n];
        let tables = [SectionKind::SYMTAB, SectionKind::STRTAB, SectionKind::GROUP];
        let relocations =
            [SectionKind::RELA, SectionKind::REL].contains(&section.kind) && !section.flags.alloc();
        let padding = section.name == RELRO_PADDING && section.kind == SectionKind::NOBITS;
        let empty = self.source.loadable && (section.size == 0 || padding);
        let left_out = self.source.options.loaded_only && !section.flags.alloc();
        // Tables are compared by their contents elsewhere.
        let table = tables.contains(&section.kind) && !section.flags.alloc();
        !(table || relocations || empty || left_out)
    }

    /// Returns true if the bytes that the short source contains are the same.
    fn same_bytes(&self, n: usize, m: usize) -> bool {
        let (a, b) = (self.a.section_data(n), self.b.section_data(m));
        if a.len() != b.len() {
            return false;
        }
        if !self.source.is_shown[n] {
            return a == b;
        }
        let base = self.source.base(n);
        let same = |address: u64, size: usize| {
            let at = address.wrapping_sub(base) as usize;
            let end = at.saturating_add(size).min(a.len());
            at >= a.len() || a[at..end] == b[at..end]
        };
        let source = self.source;
        let lines = source.marks[n].iter().filter_map(|(at, mark)| {
            let until = mark.until?;
            Some((*at, until.saturating_sub(*at) as usize))
        });
        let blocks = source.blocks.range((n, 0)..(n + 1, 0));
        source.words[n]
            .iter()
            .all(|(at, (width, _))| same(*at, *width as usize))
            && source.fixes[n].keys().all(|at| same(*at, 4))
            && blocks.map(|((_, at), _)| *at).all(|at| same(at, 64))
            && { lines }.all(|(at, size)| same(at, size))
    }

    /// Compares the segments, and checks that they contain nothing between the sections.
    fn segments(&mut self) {
        // Newer linkers fill the last page that is read-only after relocation with a section without bytes.
        let padded = (self.a.sections.iter()).any(|s| s.name == RELRO_PADDING);
        let page = if padded { 0x1000 } else { 1 };
        let loaded = |object: &CodeObject| -> Vec<(u64, Option<u64>, [bool; 3])> {
            (object.segments.iter())
                .filter(|s| s.size != 0)
                .map(|s| {
                    let end = (s.address + s.size).checked_next_multiple_of(page);
                    (s.address, end, [s.readable, s.writable, s.executable])
                })
                .collect()
        };
        if loaded(self.a) != loaded(self.b) {
            self.lost("the segments that are loaded");
        }
        let elsewhere = (self.a.sections.iter()).find(|section| {
            let loaded = self.source.loadable && section.flags.alloc() && !section.file.is_empty();
            let from = |segment: &gcn_object::read::Segment| {
                let offset = section.address.checked_sub(segment.address);
                offset
                    .and_then(|offset| usize::try_from(offset).ok())
                    .is_some_and(|offset| {
                        segment.file.start.checked_add(offset) == Some(section.file.start)
                            && section.file.end <= segment.file.end
                    })
            };
            loaded && !self.a.segments.iter().any(from)
        });
        if let Some(section) = elsewhere {
            let name = section_name(&section.name);
            self.lost(format!("that {name} is not what is loaded at its address"));
        }
        let mut covered: Vec<Range<usize>> = (self.a.sections.iter())
            .filter(|s| s.flags.alloc())
            .map(|s| s.file.clone())
            .collect();
        let data = self.a.data();
        let number = |at: usize, size: usize| -> usize {
            let bytes = data.get(at..at + size).unwrap_or_default();
            bytes.iter().rev().fold(0, |n, b| n << 8 | *b as usize)
        };
        covered.push(0..number(32, 8).saturating_add(56 * number(56, 2)).max(64));
        covered.sort_by_key(|range| range.start);
        let mut between = false;
        for segment in &self.a.segments {
            let mut at = segment.file.start;
            let free = |from: usize, to: usize| {
                data.get(from..to)
                    .is_none_or(|bytes| bytes.iter().all(|b| *b == 0))
            };
            for range in covered
                .iter()
                .filter(|r| r.start < segment.file.end && r.end > segment.file.start)
            {
                between |= range.start > at && !free(at, range.start);
                at = at.max(range.end);
            }
            between |= at < segment.file.end && !free(at, segment.file.end);
        }
        if between {
            self.lost("bytes between the sections");
        }
    }

    /// Compares all properties of symbols, except for those that a linker or an assembler makes.
    fn symbols(&mut self) {
        type Key<'k> = (&'k str, u64, u64, (u8, u8, u8), SymbolSection);
        fn key(symbol: &Symbol, section: SymbolSection) -> Key<'_> {
            let numbers = symbol.numbers();
            (&symbol.name, symbol.address, symbol.size, numbers, section)
        }
        let stripped = !(self.a.sections.iter()).any(|s| s.kind == SectionKind::SYMTAB);
        fn table(object: &CodeObject, stripped: bool) -> &[Symbol] {
            match stripped {
                true => &object.dynamic_symbols,
                false => &object.symbols,
            }
        }
        let named = |s: &Symbol| {
            !(s.name.is_empty()
                || matches!(s.kind, SymbolKind::Section | SymbolKind::File)
                || s.name == "_DYNAMIC")
        };
        let mut a: Vec<Key> = Vec::new();
        for (n, symbol) in table(self.a, stripped).iter().enumerate() {
            // The short source reproduces the symbol table that is not stripped.
            let left_out = std::ptr::eq(table(self.a, stripped), self.source.table);
            if !named(symbol) || left_out && self.source.left_out[n] {
                continue;
            }
            let section = match symbol.section {
                SymbolSection::Index(i) if !self.source.is_shown[i] && !self.counts(i) => continue,
                SymbolSection::Index(i) => match self.pairs[i] {
                    Some(m) => SymbolSection::Index(m),
                    None => continue,
                },
                other => other,
            };
            a.push(key(symbol, section));
        }
        let theirs = table(self.b, stripped).iter().filter(|s| named(s));
        let mut b: Vec<Key> = theirs.map(|s| key(s, s.section)).collect();
        let location = |section: SymbolSection| match section {
            SymbolSection::Index(n) => n,
            _ => usize::MAX,
        };
        let order = |a: &Key, b: &Key| {
            (a.0, a.1, a.2, a.3, location(a.4)).cmp(&(b.0, b.1, b.2, b.3, location(b.4)))
        };
        if a != b {
            a.sort_by(order);
            b.sort_by(order);
        }
        let different = a.iter().zip(&b).find(|(a, b)| a != b);
        let what = match different {
            Some((a, b)) => Some(format!("symbol {}", quoted(a.0.min(b.0)))),
            None if a.len() != b.len() => Some("the number of symbols".into()),
            None => None,
        };
        if let Some(what) = what {
            self.lost(what);
        }
    }

    /// Compares relocations of relocatable files. To a linker, a local symbol is the same as its section and offset.
    fn relocations(&mut self) {
        type Key<'k> = (Option<usize>, u64, u32, Option<usize>, &'k str, i64);
        fn keys<'k>(
            object: &'k CodeObject,
            sections: &dyn Fn(usize) -> Option<usize>,
        ) -> Vec<Key<'k>> {
            let mut keys: Vec<Key> = (object.relocations.iter())
                .map(|r| {
                    let location = r.section.and_then(sections);
                    let symbol = r.symbol.and_then(|n| object.symbols.get(n));
                    let (section, name, addend) = match symbol {
                        None => (None, "", r.addend),
                        Some(s) => match s.section {
                            SymbolSection::Index(i) if s.binding == Binding::Local => {
                                (sections(i), "", r.addend.wrapping_add(s.address as i64))
                            }
                            _ => (None, s.name.as_str(), r.addend),
                        },
                    };
                    (location, r.offset, r.kind.0, section, name, addend)
                })
                .collect();
            keys.sort_unstable();
            keys
        }
        let pairs = &self.pairs;
        let mine = keys(self.a, &|n| pairs.get(n).copied().flatten());
        let theirs = keys(self.b, &Some);
        let different = mine.iter().zip(&theirs).find(|(a, b)| a != b);
        let what = match different {
            Some((a, b)) => {
                let first = a.min(b);
                let section = first.0.map_or("", |n| self.b.sections[n].name.as_str());
                Some(format!("the relocation at {section}+{:#x}", first.1))
            }
            None if mine.len() != theirs.len() => Some("the number of relocations".into()),
            None => None,
        };
        if let Some(what) = what {
            self.lost(what);
        }
    }

    /// Compares section groups: their names, flags and members.
    fn groups(&mut self) {
        fn keys<'k>(
            object: &'k CodeObject,
            sections: &dyn Fn(usize) -> Option<usize>,
        ) -> Vec<(&'k str, u32, Vec<Option<usize>>)> {
            let mut keys: Vec<_> = (object.groups.iter())
                .map(|group| {
                    let name = object.symbols.get(group.signature);
                    // Relocation sections are made by the assembler.
                    let own = |n: &&usize| !linker_made(&object.sections[**n]);
                    let members = group.members.iter().filter(own).map(|n| sections(*n));
                    let mut members: Vec<_> = members.collect();
                    members.sort_unstable();
                    (name.map_or("", |s| s.name.as_str()), group.flags, members)
                })
                .collect();
            keys.sort_unstable();
            keys
        }
        let pairs = &self.pairs;
        let mine = keys(self.a, &|n| pairs.get(n).copied().flatten());
        if mine != keys(self.b, &Some) {
            self.lost("the groups of sections");
        }
    }
}
