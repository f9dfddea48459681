//! Writes sections, code and data.

use super::*;

/// A piece of the source. Pieces are independent of each other.
enum Piece {
    Text(String),
    Metadata,
    /// The directive before a section's code.
    Rules(usize),
    /// A part of a section's code.
    Code(usize, usize),
    /// A section's code in short source.
    Short(usize),
    Data(usize),
}

/// The pieces of the source, and the listings of code sections.
pub(super) struct Plan<'s> {
    pieces: Vec<Piece>,
    listings: Vec<OnceLock<Listing<'s>>>,
}

impl Plan<'_> {
    /// The number of the pieces.
    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }
}

/// `SHF_MERGE`.
const MERGE: u64 = 0x10;

impl<'a> Source<'a> {
    /// The directives before everything else.
    pub(super) fn head(&self, out: &mut String) {
        let object = self.object;
        header(out, self.options.style);
        let version = object.version;
        // Before v3, features had processor names of their own.
        let id = match object.version {
            Version::V2 => object.target.full(Abi {
                os: object.os,
                version: Version::V3,
            }),
            _ => object.target_id(),
        };
        let plus = id.contains('+') && !id.contains(':');
        let known = self.notes.as_ref().and_then(|notes| notes.known);
        // Versions before v4 read the target id differently, so the version comes first.
        let known = match known {
            Some(Version::V2) => Some(Version::V2),
            Some(Version::V3) if !plus => None,
            None if plus => Some(Version::V3),
            None => Some(Version::V4),
            known => known,
        };
        // Files of other systems have no version; without one, features may be on or off.
        let off = object.target.machine.xnack && !object.target.xnack.on_or_any();
        let needed = match object.os {
            Os::Hsa => known != Some(version),
            _ => off,
        };
        if needed {
            let _ = writeln!(out, ".amdhsa_code_object_version {}", version.number());
        }
        if let Some(notes) = &self.notes {
            out.push_str(&notes.version);
        }
        let _ = writeln!(out, ".amdgcn_target \"{id}\"");
        if let Some(notes) = self.notes.as_ref().filter(|notes| self.notes_first(notes)) {
            out.push_str(&notes.isa);
        }
        if object.flags != object.target.flags(version) {
            let _ = writeln!(out, ".gcn_flags {:#x}", object.flags);
        }
    }

    /// Returns true if the notes come before all sections except the code.
    pub(super) fn notes_first(&self, notes: &Notes) -> bool {
        let before = self.shown.iter().filter(|i| **i < notes.section).count();
        match self.loadable {
            true => self.section(notes.section).flags.alloc(),
            false => before <= 1,
        }
    }

    /// Writes the source with these directives for the addresses of sections.
    pub(super) fn write(&self, addresses: &str, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let plan = self.plan_at(addresses);
        let mut scratch = self.scratch();
        (0..plan.len()).try_for_each(|n| self.piece(&plan, n, &mut scratch, out))
    }

    /// Returns the scratch memory of a thread that prints pieces.
    pub(super) fn scratch(&self) -> Scratch {
        Scratch::new(self.target, self.options.style)
    }

    /// Returns the pieces of the source in their order.
    pub(super) fn plan(&self) -> Plan<'_> {
        self.plan_at(self.section_addresses())
    }

    fn plan_at(&self, addresses: &str) -> Plan<'_> {
        let mut pieces = Vec::new();
        let mut text = String::new();
        self.head(&mut text);
        text.push_str(addresses);
        text.push('\n');
        self.declarations(&mut text);
        text.push_str(&self.settings);
        let note = self.notes.as_ref().map(|notes| notes.section);
        let mut metadata_done = false;
        let cut = |text: &mut String, piece: Piece, pieces: &mut Vec<Piece>| {
            pieces.extend([Piece::Text(std::mem::take(text)), piece]);
        };
        for &index in &self.shown {
            // The order of sections is kept, except for loaded ones, which the linker sorts.
            let before = |note: usize| {
                let sorted = self.loadable
                    && (self.section(note).flags.alloc() || self.section(index).flags.alloc());
                !sorted && note < index
            };
            if !metadata_done && note.is_some_and(before) {
                cut(&mut text, Piece::Metadata, &mut pieces);
                metadata_done = true;
            }
            self.section_head(index, &mut text);
            let section = self.section(index);
            let bytes = self.object.section_data(index);
            if section.kind == SectionKind::NOBITS {
                self.zeros(index, &mut text);
            } else if !section.flags.exec() {
                cut(&mut text, Piece::Data(index), &mut pieces);
            } else if self.short {
                cut(&mut text, Piece::Short(index), &mut pieces);
            } else {
                cut(&mut text, Piece::Rules(index), &mut pieces);
                pieces.extend((0..Listing::parts(bytes)).map(|n| Piece::Code(index, n)));
            }
            if section.flags.exec()
                && bytes.is_empty()
                && section.kind != SectionKind::NOBITS
                && let Some(mark) = self.marks[index].get(&section.address)
            {
                text.push_str(&mark.text);
            }
        }
        if !metadata_done {
            cut(&mut text, Piece::Metadata, &mut pieces);
        }
        if self.options.loaded_only {
            let left_out = (self.object.sections.iter())
                .filter(|s| !s.flags.alloc() && !linker_made(s))
                .map(|s| s.name.as_str());
            let left_out: Vec<&str> = left_out.collect();
            if !left_out.is_empty() {
                let _ = writeln!(text, "\n// Left out: {}", left_out.join(" "));
            }
        }
        pieces.push(Piece::Text(text));
        let listings = self.object.sections.iter().map(|_| OnceLock::new());
        Plan {
            pieces,
            listings: listings.collect(),
        }
    }

    /// Returns the listing of a code section.
    fn listing<'s>(&'s self, plan: &'s Plan<'s>, index: usize) -> &'s Listing<'s> {
        plan.listings[index].get_or_init(|| {
            let prefix = self.prefix(index);
            let labels = Labels {
                base: self.base(index),
                show: self.options.show,
                named: &self.marks[index],
                fixes: &self.fixes[index],
                prefix: &prefix,
            };
            let bytes = self.object.section_data(index);
            let outline = outline(&self.outlines, index, self.target, bytes);
            Listing::outlined(self.target, bytes, self.options.style, labels, outline)
        })
    }

    /// Writes one of the pieces.
    pub(super) fn piece<'s>(
        &'s self,
        plan: &'s Plan<'s>,
        number: usize,
        scratch: &mut Scratch,
        out: &mut (dyn Write + Send),
    ) -> io::Result<()> {
        match &plan.pieces[number] {
            Piece::Text(text) => out.write_all(text.as_bytes()),
            Piece::Metadata => self.metadata(out),
            Piece::Rules(index) => self.rules(self.listing(plan, *index), scratch, out),
            Piece::Code(index, n) => self.listing(plan, *index).part(*n, scratch, out),
            Piece::Short(index) => self.listing(plan, *index).write_short(out),
            Piece::Data(index) => {
                scratch.data.clear();
                let all = 0..self.object.section_data(*index).len();
                self.data(*index, all, &mut scratch.data, out)?;
                out.write_all(&scratch.data)
            }
        }
    }

    pub(super) fn section_head(&self, index: usize, out: &mut String) {
        let section = self.section(index);
        out.push('\n');
        let plain = section.kind == SectionKind::PROGBITS && section.flags == SectionFlags::CODE;
        if section.name == ".text" && plain && self.object.section(".text") == Some(index) {
            out.push_str(".text\n");
        } else {
            let letters = [
                (1, 'w'),
                (2, 'a'),
                (4, 'x'),
                (0x10, 'M'),
                (0x20, 'S'),
                (0x200, 'G'),
                (0x400, 'T'),
                (0x20_0000, 'R'),
                (0x8000_0000, 'e'),
            ];
            let mut flags: String = (letters.iter())
                .filter(|(bit, _)| section.flags.0 & bit != 0)
                .map(|(_, letter)| letter)
                .collect();
            // The linked section of SHF_LINK_ORDER is not known.
            let known = SectionFlags::LINK_ORDER;
            let rest =
                (letters.iter()).fold(section.flags.0 & !known, |rest, (bit, _)| rest & !bit);
            if rest != 0 {
                let _ = write!(flags, "{rest:#x}");
            }
            let kind = match section.kind {
                SectionKind::PROGBITS => "progbits".into(),
                SectionKind::NOBITS => "nobits".into(),
                SectionKind::NOTE => "note".into(),
                SectionKind(n) => format!("{n:#x}"),
            };
            let name = section_name(&section.name);
            let _ = write!(out, ".section {name},\"{flags}\",@{kind}");
            // The assembler requires the entry size of mergeable sections.
            if section.entry_size != 0 || section.flags.0 & MERGE != 0 {
                let _ = write!(out, ",{}", section.entry_size);
            }
            let (group, number) = self.kinds[index];
            if let Some(group) = group.map(|n| &self.object.groups[n]) {
                let name = self.table.get(group.signature).map_or("", |s| &s.name);
                let comdat = if group.flags & 1 != 0 { ",comdat" } else { "" };
                let _ = write!(out, ",{}{comdat}", quoted(name));
            }
            // Sections of one name are distinguished by a number.
            if number != 0 && !self.loadable {
                let _ = write!(out, ",unique,{number}");
            }
            out.push('\n');
        }
        let align = power_of_two(section.align);
        if align > 1 {
            let _ = writeln!(out, ".p2align {}", align.trailing_zeros());
        }
    }

    /// Writes code, after the directive that it needs if it breaks operand rules.
    pub(super) fn code(&self, listing: &Listing, out: &mut (dyn Write + Send)) -> io::Result<()> {
        self.rules(listing, &mut self.scratch(), out)?;
        listing.write(1, out)
    }

    /// Writes the directive that code needs if it breaks operand rules.
    fn rules(
        &self,
        listing: &Listing,
        scratch: &mut Scratch,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut head = String::new();
        self.head(&mut head);
        match listing.breaks_rules(&head, scratch) {
            true => out.write_all(b".gcn_permissive\n"),
            false => Ok(()),
        }
    }

    /// Writes a section of zeros without bytes in the file.
    pub(super) fn zeros(&self, index: usize, out: &mut String) {
        let section = self.section(index);
        let mut at = section.address;
        for (&address, mark) in &self.marks[index] {
            if address > at {
                let _ = writeln!(out, "\t.zero {}", address - at);
            }
            out.push_str(&mark.text);
            at = at.max(address);
        }
        let end = section.address + section.size;
        if end > at {
            let _ = writeln!(out, "\t.zero {}", end - at);
        }
    }

    /// Writes data: kernel descriptors as directives, addresses as symbols, text as strings, the rest as numbers.
    pub(super) fn data(
        &self,
        index: usize,
        range: std::ops::Range<usize>,
        text: &mut Vec<u8>,
        out: &mut (dyn Write + Send),
    ) -> io::Result<()> {
        let section = self.section(index);
        let base = section.address;
        let bytes = self.object.section_data(index);
        let strings = section.flags.0 & 0x20 != 0 && section.entry_size == 1;
        let (marks, words) = (&self.marks[index], &self.words[index]);
        // The iterators avoid a map look-up for each line of numbers.
        let from = base + range.start as u64;
        let mut marked = marks.range(from..).peekable();
        let mut worded = words.range(from..).peekable();
        let mut blocks = self.blocks.range((index, from)..(index + 1, 0)).peekable();
        let mut at = range.start;
        while at < range.end {
            if text.len() > 1 << 16 {
                out.write_all(text)?;
                text.clear();
            }
            let address = base + at as u64;
            if let Some((_, mark)) = next_at(&mut marked, |(a, _)| **a, address) {
                text.extend_from_slice(mark.text.as_bytes());
            }
            let word = next_at(&mut worded, |(a, _)| **a, address);
            let block = next_at(&mut blocks, |((_, a), _)| *a, address);
            if let Some((_, block)) = block
                && bytes.len() - at >= 64
            {
                self.block(block, text);
                at += 64;
                continue;
            }
            let next = [
                marked.peek().map(|(a, _)| **a),
                blocks.peek().map(|((_, a), _)| *a),
                worded.peek().map(|(a, _)| **a),
            ];
            let next = next.into_iter().flatten().min();
            let next = next.map_or(range.end, |a| ((a - base) as usize).min(range.end));
            if let Some((_, (width, expression))) = word
                && next - at >= *width as usize
            {
                let directive = match width {
                    8 => ".quad",
                    4 => ".long",
                    _ => ".short",
                };
                let _ = writeln!(text, "\t{directive} {expression}");
                at += *width as usize;
                continue;
            }
            if self.short {
                let size = self.stub(index).unwrap_or((next - at) as u64);
                let _ = writeln!(text, "\t.zero {size}");
                at = next;
                continue;
            }
            while at < next && text.len() <= 1 << 16 {
                at += plain_data(&bytes[at..next], strings, text);
            }
        }
        let end = base + range.end as u64;
        if range.end == bytes.len()
            && let Some(mark) = marks.get(&end)
        {
            text.extend_from_slice(mark.text.as_bytes());
        }
        Ok(())
    }

    /// Returns the size that a section has in short source, if it is not its own: sections that are not loaded, and have no
    /// symbols and no relocations, have a few zeros, which are enough to compare everything else.
    pub(super) fn stub(&self, index: usize) -> Option<u64> {
        const FEW: u64 = 1 << 10;
        let section = self.section(index);
        let plain = self.short
            && self.is_shown[index]
            && section.kind != SectionKind::NOBITS
            && !(section.flags.alloc() || section.flags.exec())
            && self.marks[index].is_empty()
            && self.words[index].is_empty()
            && self.fixes[index].is_empty()
            && (self.blocks.range((index, 0)..(index + 1, 0)).next()).is_none();
        let whole = self.object.section_data(index).len() as u64 == section.size;
        (plain && whole && section.size > FEW).then_some(FEW)
    }

    /// Writes a kernel descriptor.
    pub(super) fn block(&self, block: &Block, out: &mut Vec<u8>) {
        let kernel = block.kernel;
        let _ = writeln!(out, "\n.amdhsa_kernel {}", quoted(&kernel.name));
        out.extend_from_slice(block.directives.as_bytes());
        out.extend_from_slice(b".end_amdhsa_kernel\n");
        // The assembler gives the block's symbol the binding and visibility of the code's symbol; other ones need directives.
        let kd = format!("{}.kd", kernel.name);
        let (Some(code), Some(kd)) = (self.find(&kernel.name), self.find(&kd)) else {
            return;
        };
        let name = quoted(&kd.name);
        if kd.binding != code.binding && !(self.loadable && hidden(kd)) {
            let _ = match kd.binding {
                Binding::Local => writeln!(out, ".local {name}"),
                Binding::Weak => writeln!(out, ".weak {name}"),
                _ => writeln!(out, ".globl {name}"),
            };
        }
        let made_protected = code.visibility == Visibility::Protected;
        if kd.visibility != code.visibility && !made_protected {
            out.extend_from_slice(visible(kd.visibility, &name).as_bytes());
        }
    }

    fn metadata(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(notes) = &self.notes else {
            return Ok(());
        };
        if !self.notes_first(notes) {
            out.write_all(notes.isa.as_bytes())?;
        }
        let [before, text, after] = &notes.metadata;
        // In short source the metadata are an empty block; the assembler gets their note separately.
        let made = notes.made.as_ref().filter(|_| !self.short);
        let made = made.map_or("", |made| made.text());
        [before, text, made, after]
            .into_iter()
            .try_for_each(|text| out.write_all(text.as_bytes()))
    }
}

/// Skips the items up to an address; returns the one at the address.
fn next_at<T>(
    rest: &mut std::iter::Peekable<impl Iterator<Item = T>>,
    address_of: impl Fn(&T) -> u64,
    address: u64,
) -> Option<T> {
    let mut found = None;
    while let Some(next) = rest.next_if(|next| address_of(next) <= address) {
        found = Some(next);
    }
    found.filter(|found| address_of(found) == address)
}
