//! Replaces the code object of an entry: in a bundle, in a compressed bundle, or in a host program that contains one.
//!
//! If the new bytes fit in the entry's space, or the new bundle in that of the old one, nothing else moves. Otherwise:
//!
//! * a bundle that is a file of its own gets a new layout;
//! * in a host's object file the section moves to the file's end;
//! * in a host's program or library the bundle moves after everything that is loaded. The last loaded segment, which
//!   ends in zeroed data, is extended: the zeros are written out and the bundle follows them, so that the program
//!   headers, which have no space for more entries, keep their number. Clang's wrapper of the bundle (in section
//!   `.hipFatBinSegment`: magic `HIPF`, version, the bundle's address, 0) is updated to point there, through its
//!   relocation if it has one. Section `.hip_fatbin` moves with its only bundle; if there are several bundles, the
//!   moved one gets a second section of that name, and its old location is zeroed.

use crate::bundle::{self, Compressed, Item, PAGE};
use crate::container::{Container, Entry, Kind, Packing};
use crate::error::Error;
use crate::source::Source;
use object::LittleEndian as LE;
use object::elf as raw;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{ReadCache, ReadRef};
use std::io::{Read, Write};

/// A file with changes, which are applied while it is written.
#[derive(Debug)]
pub struct Patched<'a> {
    source: &'a Source,
    splices: Vec<Splice>,
    /// True if the bundle did not fit in its space and was moved.
    pub moved: bool,
}

/// Bytes that replace others.
#[derive(Debug)]
struct Splice {
    at: u64,
    remove: u64,
    zeros: u64,
    insert: Vec<u8>,
}

impl Splice {
    /// Replaces the same number of bytes.
    fn over(at: u64, bytes: impl Into<Vec<u8>>) -> Splice {
        let insert = bytes.into();
        Splice {
            at,
            remove: insert.len() as u64,
            zeros: 0,
            insert,
        }
    }
}

/// The maximum amount of zeroed data that is written out.
const MAX_ZEROED: u64 = 256 << 20;
/// The maximum number of bytes of section headers, symbols or relocations that are searched.
const MAX_TABLE: u64 = 256 << 20;

fn bad<T>(detail: impl Into<String>) -> Result<T, Error> {
    Err(Error::Bundle(detail.into()))
}

impl<'a> Patched<'a> {
    /// The changes must not overlap: in damaged files an entry may overlap a bundle's header.
    fn new(
        source: &'a Source,
        mut splices: Vec<Splice>,
        moved: bool,
    ) -> Result<Patched<'a>, Error> {
        splices.sort_by_key(|s| (s.at, s.remove));
        let end = |s: &Splice| s.at.saturating_add(s.remove);
        let overlap = splices.windows(2).any(|w| end(&w[0]) > w[1].at);
        let outside = splices.last().is_some_and(|s| end(s) > source.size());
        if overlap || outside {
            return bad("parts of the file overlap, so that it cannot be changed safely");
        }
        Ok(Patched {
            source,
            splices,
            moved,
        })
    }

    /// Returns the size of the file in bytes.
    pub fn size(&self) -> u64 {
        let new: u64 = self
            .splices
            .iter()
            .map(|s| s.zeros + s.insert.len() as u64)
            .sum();
        let old: u64 = self.splices.iter().map(|s| s.remove).sum();
        self.source.size() - old + new
    }

    /// Writes the file.
    ///
    /// # Errors
    /// The errors of reading and writing.
    pub fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let mut at = 0;
        let copy = |from: u64, to: u64, out: &mut dyn Write| -> std::io::Result<()> {
            let size = to.saturating_sub(from);
            let copied = std::io::copy(&mut self.source.window(from, size), out)?;
            match copied == size {
                true => Ok(()),
                false => Err(std::io::ErrorKind::UnexpectedEof.into()),
            }
        };
        for splice in &self.splices {
            copy(at, splice.at, out)?;
            std::io::copy(&mut std::io::repeat(0).take(splice.zeros), out)?;
            out.write_all(&splice.insert)?;
            at = splice.at + splice.remove;
        }
        copy(at, self.source.size(), out)
    }
}

/// Returns the file of `container` with `new` in place of `entry`.
///
/// # Errors
/// [`Error::Bundle`] if the file's format leaves no space for the new bytes; the message names the format.
/// [`Error::Read`], and the readers' errors for damaged files.
pub fn replace<'a>(
    container: &'a Container,
    entry: &Entry,
    new: &[u8],
) -> Result<Patched<'a>, Error> {
    let source = container.source();
    let Some(location) = container.bundles.get(entry.bundle) else {
        return bad(format!("there is no bundle {}", entry.bundle));
    };
    let items: Vec<Item> = container
        .entries
        .iter()
        .filter(|e| e.bundle == entry.bundle)
        .map(|e| Item {
            id: e.id.clone(),
            offset: e.offset,
            size: e.size,
        })
        .collect();
    let first = container
        .entries
        .iter()
        .position(|e| e.bundle == entry.bundle)
        .unwrap_or(0);
    let which = entry.index - first;
    let alone = location.section.is_none() && location.member.is_none();
    let last = entry.bundle + 1 == container.bundles.len();
    // Bytes after the last bundle of a file do not count as its space.
    let room = match alone && last {
        true => location.size,
        false => location.room,
    };

    let bytes = match &location.packing {
        Packing::Bare => new.to_vec(),
        Packing::Plain => {
            let held = held(&items, which, room);
            let fits = new.len() as u64 <= held && !(alone && last);
            if fits {
                // Only the entry and its size change, so a large bundle need not be read.
                let size_at: u64 = items[..which].iter().map(|i| 24 + i.id.len() as u64).sum();
                let mut bytes = new.to_vec();
                bytes.resize(new.len().max(entry.size as usize), 0);
                let splices = vec![
                    Splice::over(
                        location.offset + 32 + size_at + 8,
                        (new.len() as u64).to_le_bytes(),
                    ),
                    Splice::over(location.offset + entry.offset, bytes),
                ];
                return Patched::new(source, splices, false);
            }
            rebuild(
                &source.read(location.offset, location.size)?,
                &items,
                which,
                new,
            )?
        }
        Packing::Compressed(header) => {
            let start = header.header_size();
            let packed =
                source.window(location.offset + start, location.size.saturating_sub(start));
            let (old, _) = header.decompress(packed)?;
            let Compressed {
                method, version, ..
            } = *header;
            bundle::compress(&rebuild(&old, &items, which, new)?, method, version)?
        }
        Packing::OffloadBinary => {
            let old = source.read(location.offset, location.size)?;
            bundle::replace_in_offload_binary(&old, which, new)?
        }
    };

    if alone {
        let mut insert = bytes;
        // Following bundles keep their alignment.
        if !last {
            let grown = (insert.len() as u64).saturating_sub(room);
            let size = room + grown.next_multiple_of(PAGE);
            insert.resize(size as usize, 0);
        }
        let remove = if last { location.size } else { room };
        let splice = Splice {
            at: location.offset,
            remove,
            zeros: 0,
            insert,
        };
        return Patched::new(source, vec![splice], false);
    }
    // A bare section has the size of its code object; elsewhere the space after it is filled with zeros.
    let fits = match location.packing {
        Packing::Bare => bytes.len() as u64 == location.size,
        _ => bytes.len() as u64 <= room,
    };
    if fits {
        let mut bytes = bytes;
        bytes.resize(bytes.len().max(location.size as usize), 0);
        return Patched::new(source, vec![Splice::over(location.offset, bytes)], false);
    }
    if let Some(member) = &location.member {
        return bad(format!(
            "the new code is larger than its room in member '{member}' of the archive ({} bytes, {room} there); take the member out with ar, replace it there and put it back",
            bytes.len()
        ));
    }
    let mut elf = [0; 20];
    let elf64 = source.size() > 64
        && source.window(0, 20).read_exact(&mut elf).is_ok()
        && elf.starts_with(b"\x7fELF\x02\x01");
    if container.kind != Kind::Host || !elf64 {
        return bad(format!(
            "the new code needs {} bytes and its room is {room}; only 64-bit little-endian ELF files can be made larger",
            bytes.len()
        ));
    }
    let host = Host::read(source)?;
    let splices = match host.kind {
        raw::ET_REL => host.grow_object(location.offset, location.size, bytes)?,
        raw::ET_EXEC | raw::ET_DYN => {
            host.grow_program(location.offset, location.size, room, bytes)?
        }
        other => {
            return bad(format!(
                "the new code needs {} bytes and its room is {room}, and a file of ELF type {other} cannot be made larger",
                bytes.len()
            ));
        }
    };
    Patched::new(source, splices, true)
}

/// Returns the number of bytes from an entry's start to the next item.
fn held(items: &[Item], which: usize, end: u64) -> u64 {
    let own = &items[which];
    let others = items
        .iter()
        .enumerate()
        .filter(|(i, o)| *i != which && o.size > 0);
    let mut held = end.saturating_sub(own.offset);
    for (_, other) in others {
        if other.offset >= own.offset {
            held = held.min(other.offset - own.offset);
        } else if other.offset + other.size > own.offset {
            // The entries overlap, and a change would change both.
            return 0;
        }
    }
    held
}

/// Returns a plain bundle with another entry, in the layout of the old one.
fn rebuild(old: &[u8], items: &[Item], which: usize, new: &[u8]) -> Result<Vec<u8>, Error> {
    let mut entries: Vec<(&str, &[u8])> = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let bytes = old.get(item.offset as usize..(item.offset + item.size) as usize);
        match (n == which, bytes) {
            (true, _) => entries.push((&item.id, new)),
            (false, Some(bytes)) => entries.push((&item.id, bytes)),
            (false, None) => return bad("an entry lies outside its bundle"),
        }
    }
    bundle::write(&entries, alignment(items))
}

/// Returns the alignment that gives entries their offsets. Some versions of the bundler place empty entries elsewhere.
fn alignment(items: &[Item]) -> u64 {
    let header: u64 = 32 + items.iter().map(|i| 24 + i.id.len() as u64).sum::<u64>();
    let lies_at = |align: u64| {
        let mut at = header;
        items.iter().all(|item| {
            at = at.next_multiple_of(align);
            let same = item.offset == at;
            at += item.size;
            same || item.size == 0
        })
    };
    let known = [PAGE, 1].into_iter();
    let others = (1..=20).map(|n| 1u64 << n);
    known.chain(others).find(|a| lies_at(*a)).unwrap_or(PAGE)
}

type Section = raw::SectionHeader64<LE>;
type Program = raw::ProgramHeader64<LE>;

/// A host's ELF file.
struct Host<'a> {
    source: &'a Source,
    kind: u16,
    machine: u16,
    header: Vec<u8>,
    sections: Vec<Section>,
    section_offset: u64,
    /// The section names.
    names: Vec<u8>,
    programs: Vec<Program>,
}

/// Offsets of fields in the file header and in a section header.
const E_SHOFF: u64 = 40;
const E_SHNUM: u64 = 60;
const SECTION_HEADER: u64 = 64;

impl<'a> Host<'a> {
    fn read(source: &'a Source) -> Result<Host<'a>, Error> {
        let damaged = |e: object::Error| Error::Elf(e.to_string());
        let cache = ReadCache::new(source.window(0, source.size()));
        let header = raw::FileHeader64::<LE>::parse(&cache).map_err(damaged)?;
        let sections = header.section_headers(LE, &cache).map_err(damaged)?;
        let programs = header.program_headers(LE, &cache).map_err(damaged)?;
        if sections.len() >= 0xff00 {
            return bad("a host file with so many sections cannot be made larger");
        }
        let names = header.shstrndx(LE, &cache).map_err(damaged)? as usize;
        let Some(names) = sections.get(names) else {
            return bad("the host file's sections have no names");
        };
        let names = (&cache).read_bytes_at(names.sh_offset(LE), names.sh_size(LE).min(MAX_TABLE));
        let names = names.map_err(|()| Error::Elf("section names lie outside the file".into()))?;
        Ok(Host {
            source,
            kind: header.e_type(LE),
            machine: header.e_machine(LE),
            header: source.read(0, 64)?,
            section_offset: header.e_shoff(LE),
            sections: sections.to_vec(),
            names: names.to_vec(),
            programs: programs.to_vec(),
        })
    }

    fn name(&self, section: &Section) -> &[u8] {
        let rest = self
            .names
            .get(section.sh_name(LE) as usize..)
            .unwrap_or(&[]);
        &rest[..rest.iter().position(|b| *b == 0).unwrap_or(rest.len())]
    }

    /// Returns the section of the file that holds a bundle.
    fn section_at(&self, offset: u64, size: u64) -> Result<usize, Error> {
        let holds = |s: &Section| {
            let start = s.sh_offset(LE);
            !matches!(s.sh_type(LE), raw::SHT_NOBITS | raw::SHT_NULL)
                && start <= offset
                && offset + size <= start.saturating_add(s.sh_size(LE))
                && start.saturating_add(s.sh_size(LE)) <= self.source.size()
        };
        match self.sections.iter().position(holds) {
            Some(i) => Ok(i),
            None => bad("the bundle is in no section of the host file"),
        }
    }

    /// Moves an object file's section to the end of the file.
    fn grow_object(&self, offset: u64, size: u64, new: Vec<u8>) -> Result<Vec<Splice>, Error> {
        let index = self.section_at(offset, size)?;
        let section = &self.sections[index];
        let (start, whole) = (section.sh_offset(LE), section.sh_size(LE));
        let after_size = start + whole - offset - size;
        let before = self.source.read(start, offset - start)?;
        let after = self.source.read(offset + size, after_size)?;
        let alone = before.is_empty() && after.iter().all(|b| *b == 0);
        let new = match (alone, self.name(section) == b".llvm.offloading") {
            (true, _) => new,
            // Each bundle is found after the previous one, by their sizes; nothing else records their offsets.
            (false, true) => [before, new, after].concat(),
            (false, false) => {
                return bad(
                    "the new code is larger than its room in an object file's section that holds several bundles; link the file first",
                );
            }
        };
        let end = self.source.size();
        let at = end.next_multiple_of(section.sh_addralign(LE).clamp(1, 1 << 20));
        let mut changed = *section;
        changed.sh_offset.set(LE, at);
        changed.sh_size.set(LE, new.len() as u64);
        let header = self.section_offset + SECTION_HEADER * index as u64;
        let splices = vec![
            Splice::over(header, object::pod::bytes_of(&changed)),
            Splice::over(start, vec![0; whole as usize]),
            Splice {
                at: end,
                remove: 0,
                zeros: at - end,
                insert: new,
            },
        ];
        Ok(splices)
    }

    /// Moves a program's bundle after the last loaded segment's zeroed data.
    fn grow_program(
        &self,
        offset: u64,
        size: u64,
        room: u64,
        new: Vec<u8>,
    ) -> Result<Vec<Splice>, Error> {
        let index = self.section_at(offset, size)?;
        let section = self.sections[index];
        let start = section.sh_offset(LE);
        let old_address = section.sh_addr(LE).wrapping_add(offset - start);
        let alone = offset == start && room == section.sh_size(LE);

        let loads = || {
            self.programs
                .iter()
                .filter(|p| p.p_type(LE) == raw::PT_LOAD)
        };
        let Some(last) = loads().max_by_key(|p| p.p_vaddr(LE)) else {
            return bad("the host program has no loaded segments");
        };
        let (vaddr, file_size) = (last.p_vaddr(LE), last.p_filesz(LE));
        let overflow = || Error::Elf("the last segment ends beyond the address space".into());
        // Everything from here on is not loaded, and moves.
        let tail = last
            .p_offset(LE)
            .checked_add(file_size)
            .filter(|t| *t <= self.source.size())
            .ok_or_else(overflow)?;
        let memory_end = vaddr
            .checked_add(last.p_memsz(LE))
            .filter(|e| *e < 1 << 62 && last.p_memsz(LE) >= file_size)
            .ok_or_else(overflow)?;
        let address = memory_end.next_multiple_of(PAGE);
        let zeros = address - (vaddr + file_size);
        if zeros > MAX_ZEROED {
            return bad(format!(
                "the new code is larger than its room, and after {zeros} bytes of zeroed data it would make the file too large"
            ));
        }
        let same_page = last.p_offset(LE) % PAGE == vaddr % PAGE;
        let after = |p: &Program| {
            p.p_filesz(LE) > 0 && p.p_offset(LE).saturating_add(p.p_filesz(LE)) > tail
        };
        if !same_page || self.programs.iter().any(after) || offset + size > tail {
            return bad(
                "the new code is larger than its room, and the last segment of the host program is not the last in the file",
            );
        }
        let new_offset = tail + zeros;
        let grown = (zeros + new.len() as u64).next_multiple_of(PAGE);

        let mut splices = self.repoint(old_address, address)?;
        // The old bundle is no longer used, and is overwritten with zeros.
        splices.push(Splice::over(offset, vec![0; size as usize]));
        let mut program = *last;
        let whole = address - vaddr + new.len() as u64;
        program.p_filesz.set(LE, whole);
        program.p_memsz.set(LE, whole);
        let number = self.programs.iter().position(|p| std::ptr::eq(p, last));
        let headers = u64::from_le_bytes(self.header[32..40].try_into().unwrap_or_default());
        let entry = std::mem::size_of::<Program>() as u64;
        splices.push(Splice::over(
            headers + entry * number.unwrap_or(0) as u64,
            object::pod::bytes_of(&program),
        ));

        let mut table = self.sections.clone();
        for s in &mut table {
            let at = s.sh_offset(LE);
            let zeroed = s.sh_type(LE) == raw::SHT_NOBITS;
            let flags = s.sh_flags(LE);
            let loaded = flags & u64::from(raw::SHF_ALLOC) != 0;
            if zeroed && loaded && flags & u64::from(raw::SHF_TLS) == 0 {
                // Its zeros are in the file now.
                if s.sh_addr(LE) >= vaddr + file_size {
                    s.sh_type.set(LE, raw::SHT_PROGBITS);
                    s.sh_offset
                        .set(LE, tail.saturating_add(s.sh_addr(LE) - vaddr - file_size));
                }
            } else if zeroed || at == 0 {
                continue;
            } else if at >= tail {
                s.sh_offset.set(LE, at.saturating_add(grown));
            } else if at.saturating_add(s.sh_size(LE)) > tail {
                return bad("a section of the host program lies in and after its last segment");
            }
        }
        let new_index = if alone {
            let s = &mut table[index];
            s.sh_addr.set(LE, address);
            s.sh_offset.set(LE, new_offset);
            s.sh_size.set(LE, new.len() as u64);
            index
        } else {
            let mut second = section;
            second.sh_addr.set(LE, address);
            second.sh_offset.set(LE, new_offset);
            second.sh_size.set(LE, new.len() as u64);
            table.push(second);
            table.len() - 1
        };
        splices.extend(self.symbols(index, old_address, new_index, address)?);

        let padding = (grown - zeros) as usize - new.len();
        let mut insert = new;
        insert.resize(insert.len() + padding, 0);
        splices.push(Splice {
            at: tail,
            remove: 0,
            zeros,
            insert,
        });
        let bytes: Vec<u8> = table
            .iter()
            .flat_map(|s| object::pod::bytes_of(s).to_vec())
            .collect();
        // A larger table goes to the end; otherwise each header is changed in place.
        let table_at = match table.len() == self.sections.len() {
            true => {
                splices.push(Splice::over(self.section_offset, bytes));
                match self.section_offset >= tail {
                    true => self.section_offset + grown,
                    false => self.section_offset,
                }
            }
            false => {
                let end = self.source.size();
                let at = end.next_multiple_of(8);
                splices.push(Splice {
                    at: end,
                    remove: 0,
                    zeros: at - end,
                    insert: bytes,
                });
                at + grown
            }
        };
        splices.push(Splice::over(E_SHOFF, table_at.to_le_bytes()));
        splices.push(Splice::over(E_SHNUM, (table.len() as u16).to_le_bytes()));
        Ok(splices)
    }

    /// Returns the file offset of a loaded address.
    fn offset_of(&self, address: u64) -> Option<u64> {
        self.programs
            .iter()
            .filter(|p| p.p_type(LE) == raw::PT_LOAD)
            .find_map(|p| {
                let at = address.checked_sub(p.p_vaddr(LE))?;
                (at < p.p_filesz(LE)).then(|| p.p_offset(LE).checked_add(at))?
            })
    }

    /// Updates the wrappers that point to the bundle.
    fn repoint(&self, old: u64, new: u64) -> Result<Vec<Splice>, Error> {
        const WRAPPER: u64 = 24;
        const HIPF: [u8; 4] = *b"FPIH";
        let mut slots = Vec::new();
        let mut splices = Vec::new();
        for section in &self.sections {
            if self.name(section) != b".hipFatBinSegment" {
                continue;
            }
            let size = section.sh_size(LE).min(MAX_TABLE);
            let bytes = self.source.read(section.sh_offset(LE), size)?;
            for (n, wrapper) in bytes.chunks_exact(WRAPPER as usize).enumerate() {
                if !wrapper.starts_with(&HIPF) {
                    continue;
                }
                let at = WRAPPER * n as u64 + 8;
                let pointer = wrapper[8..16]
                    .iter()
                    .rev()
                    .fold(0, |n, b| n << 8 | u64::from(*b));
                slots.push(section.sh_addr(LE).wrapping_add(at));
                if pointer == old {
                    let offset = section.sh_offset(LE) + at;
                    splices.push(Splice::over(offset, new.to_le_bytes()));
                }
            }
        }
        let relative = match self.machine {
            raw::EM_X86_64 => raw::R_X86_64_RELATIVE,
            raw::EM_AARCH64 => raw::R_AARCH64_RELATIVE,
            raw::EM_RISCV => raw::R_RISCV_RELATIVE,
            raw::EM_LOONGARCH => raw::R_LARCH_RELATIVE,
            raw::EM_PPC64 => raw::R_PPC64_RELATIVE,
            _ => u32::MAX,
        };
        slots.sort_unstable();
        for (offset, bytes) in self.relocations()? {
            for (n, entry) in bytes.chunks_exact(24).enumerate() {
                let number = |at: usize| {
                    entry[at..at + 8]
                        .iter()
                        .rev()
                        .fold(0, |n, b| n << 8 | u64::from(*b))
                };
                if slots.binary_search(&number(0)).is_err() {
                    continue;
                }
                if number(8) != u64::from(relative) {
                    return bad(format!(
                        "the new code is larger than its room, and the bundle's wrapper at {:#x} has a relocation of a kind that cannot be pointed elsewhere ({:#x})",
                        number(0),
                        number(8)
                    ));
                }
                if number(16) == old {
                    let at = offset + 24 * n as u64 + 16;
                    splices.push(Splice::over(at, new.to_le_bytes()));
                }
            }
        }
        if splices.is_empty() {
            return bad(format!(
                "the new code is larger than its room, and no wrapper in section .hipFatBinSegment points to the bundle at {old:#x}, so that it cannot be moved"
            ));
        }
        Ok(splices)
    }

    /// Returns the tables of dynamic relocations with addends: their file offsets and bytes.
    fn relocations(&self) -> Result<Vec<(u64, Vec<u8>)>, Error> {
        let mut tables = Vec::new();
        for program in &self.programs {
            if program.p_type(LE) != raw::PT_DYNAMIC {
                continue;
            }
            let size = program.p_filesz(LE).min(MAX_TABLE);
            let dynamic = self.source.read(program.p_offset(LE), size)?;
            let number = |b: &[u8]| b.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b));
            let entry = |tag: u32| {
                dynamic
                    .chunks_exact(16)
                    .take_while(|e| number(&e[..8]) != 0)
                    .find(|e| number(&e[..8]) == u64::from(tag))
                    .map(|e| number(&e[8..]))
            };
            let (Some(address), Some(size)) = (entry(raw::DT_RELA), entry(raw::DT_RELASZ)) else {
                continue;
            };
            let Some(offset) = self.offset_of(address).filter(|_| size <= MAX_TABLE) else {
                return bad("the host program's relocations are in no segment");
            };
            tables.push((offset, self.source.read(offset, size)?));
        }
        Ok(tables)
    }

    /// Updates the symbols at the bundle's start.
    fn symbols(
        &self,
        section: usize,
        old: u64,
        new_section: usize,
        new: u64,
    ) -> Result<Vec<Splice>, Error> {
        let mut splices = Vec::new();
        for table in &self.sections {
            if !matches!(table.sh_type(LE), raw::SHT_SYMTAB | raw::SHT_DYNSYM) {
                continue;
            }
            let start = table.sh_offset(LE);
            let bytes = self.source.read(start, table.sh_size(LE).min(MAX_TABLE))?;
            for (n, symbol) in bytes.chunks_exact(24).enumerate() {
                let index = u16::from_le_bytes([symbol[6], symbol[7]]);
                let value = symbol[8..16]
                    .iter()
                    .rev()
                    .fold(0, |n, b| n << 8 | u64::from(*b));
                if value != old || usize::from(index) != section {
                    continue;
                }
                let mut changed = (new_section as u16).to_le_bytes().to_vec();
                changed.extend(new.to_le_bytes());
                splices.push(Splice::over(start + 24 * n as u64 + 6, changed));
            }
        }
        Ok(splices)
    }
}
