//! Reads code objects v2 to v6, Mesa's and PAL's, and lays them out for execution.
//!
//! The input is not trusted: every offset is checked, and memory stays proportional to the file.

use crate::bytes::Bytes;
use crate::descriptor::KernelDescriptor;
use crate::elf::*;
use crate::error::Error;
use crate::metadata::{self, KernelMetadata, Metadata};
use crate::note;
use crate::target::{Abi, MACHINES, Os, TargetId, Version, mach_name};
use object::LittleEndian as LE;
use object::elf as raw;
use object::read::elf::{FileHeader, ProgramHeader, Rel, Rela, SectionHeader, SectionTable, Sym};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// The type of the file: it can be loaded, or must be linked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// `ET_DYN`: has addresses and can be loaded.
    Loadable,
    /// `ET_REL`: sections with relocations.
    Relocatable,
}

/// One section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The name.
    pub name: String,
    /// The type (`sh_type`).
    pub kind: SectionKind,
    /// The flags (`sh_flags`).
    pub flags: SectionFlags,
    /// Virtual address; 0 in relocatable files.
    pub address: u64,
    /// Size in memory in bytes.
    pub size: u64,
    /// Alignment in bytes; 0 and 1 mean none.
    pub align: u64,
    /// Size of an entry in bytes, for sections that are tables.
    pub entry_size: u64,
    /// The range of its bytes in the file; empty for `NOBITS`.
    pub file: Range<usize>,
}

/// One `PT_LOAD` segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Virtual address.
    pub address: u64,
    /// Size in memory in bytes; bytes that are not in the file are zero.
    pub size: u64,
    /// The range of its bytes in the file.
    pub file: Range<usize>,
    /// Alignment in bytes.
    pub align: u64,
    /// True if it may be read.
    pub readable: bool,
    /// True if it may be written.
    pub writable: bool,
    /// True if it may be executed.
    pub executable: bool,
}

impl Segment {
    fn holds(&self, address: u64) -> bool {
        address
            .checked_sub(self.address)
            .is_some_and(|offset| offset < self.size)
    }
}

/// One symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// The name; empty for section symbols.
    pub name: String,
    /// Virtual address, or in relocatable files the offset in its section; for common symbols the alignment.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
    /// Its type.
    pub kind: SymbolKind,
    /// Its binding.
    pub binding: Binding,
    /// Its visibility.
    pub visibility: Visibility,
    /// The section that defines it.
    pub section: SymbolSection,
}

impl Symbol {
    /// Returns its type, binding and visibility as the file's numbers.
    pub fn numbers(&self) -> (u8, u8, u8) {
        (
            self.kind.number(),
            self.binding.number(),
            self.visibility.number(),
        )
    }
}

/// One relocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// The section that it changes, in relocatable files.
    pub section: Option<usize>,
    /// Virtual address of the relocated location, or its offset in the section.
    pub offset: u64,
    /// The relocation type.
    pub kind: RelocationKind,
    /// Index into [`CodeObject::symbols`] (relocatable) or [`CodeObject::dynamic_symbols`] (loadable).
    pub symbol: Option<usize>,
    /// The addend.
    pub addend: i64,
}

/// Size of an `amd_kernel_code_t` in bytes.
pub const KERNEL_CODE: usize = 256;

/// One note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The owner, such as `AMD` (v2, Mesa) or `AMDGPU`.
    pub owner: String,
    /// The type, by owner. For `AMD`: 1 the code object version, 3 and 11 the ISA, 10 the metadata. For `AMDGPU`: 32
    /// the metadata.
    pub kind: u32,
    /// The range of the descriptor's bytes in the file.
    pub file: Range<usize>,
}

/// A section group: sections that a linker keeps or drops together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The group's own section.
    pub section: usize,
    /// The flags; 1 (`GRP_COMDAT`): a linker keeps the first of several groups of one name.
    pub flags: u32,
    /// The symbol that names the group, an index into [`CodeObject::symbols`].
    pub signature: usize,
    /// The members.
    pub members: Vec<usize>,
}

/// One kernel: its descriptor, its code and its metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The descriptor's symbol without `.kd`, or the symbol of type `STT_AMDGPU_HSA_KERNEL`.
    pub name: String,
    /// The descriptor; for kernels that begin with an `amd_kernel_code_t`, the equivalent settings of that structure.
    pub descriptor: KernelDescriptor,
    /// The `amd_kernel_code_t` at the start of the kernel (v2, Mesa), at [`Kernel::descriptor_address`].
    pub kernel_code: Option<Box<[u8; KERNEL_CODE]>>,
    /// Virtual address of the descriptor, or its offset in [`Kernel::descriptor_section`].
    pub descriptor_address: u64,
    /// The section of the descriptor, in relocatable files.
    pub descriptor_section: Option<usize>,
    /// Virtual address of the first instruction, or its offset in [`Kernel::entry_section`].
    pub entry: u64,
    /// The section of the code, in relocatable files.
    pub entry_section: Option<usize>,
    /// The kernel's metadata, if there is any.
    pub metadata: Option<KernelMetadata>,
}

/// A code object. It owns the file's bytes.
#[derive(Clone, Debug)]
pub struct CodeObject {
    /// Loadable or relocatable.
    pub kind: FileKind,
    /// Operating system.
    pub os: Os,
    /// Code object version; v2 for systems other than HSA.
    pub version: Version,
    /// Processor and features.
    pub target: TargetId,
    /// The ELF header's `e_flags`.
    pub flags: u32,
    /// Sections in file order. The null section is left out, and section indices do not count it.
    pub sections: Vec<Section>,
    /// Loadable segments in ascending order of address.
    pub segments: Vec<Segment>,
    /// `.symtab`, or the dynamic symbols if the file is stripped. Index 0 is the null symbol.
    pub symbols: Vec<Symbol>,
    /// The dynamic symbols.
    pub dynamic_symbols: Vec<Symbol>,
    /// Relocations: those of sections in relocatable files, the dynamic ones in loadable files.
    pub relocations: Vec<Relocation>,
    /// Kernels in ascending order of descriptor address.
    pub kernels: Vec<Kernel>,
    /// Metadata of the object; the kernels' parts are in [`CodeObject::kernels`], and `kernels` here holds those
    /// without a descriptor.
    pub metadata: Metadata,
    /// All notes, in file order.
    pub notes: Vec<Note>,
    /// Section groups, in relocatable files.
    pub groups: Vec<Group>,
    /// The file. Clones share it.
    data: Arc<Bytes>,
}

/// A code object in memory, relocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The base that was added to every virtual address.
    pub base: u64,
    /// Bytes from `base` to the end of the last segment.
    pub size: u64,
    /// The segments in ascending order of address.
    pub segments: Vec<ImageSegment>,
}

/// One segment of an [`Image`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSegment {
    /// Address, including the base.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
    /// The first bytes; the rest up to `size` is zero.
    pub bytes: Vec<u8>,
    /// True if it may be read.
    pub readable: bool,
    /// True if it may be written.
    pub writable: bool,
    /// True if it may be executed.
    pub executable: bool,
}

type Header = raw::FileHeader64<LE>;

fn elf_error(what: &str) -> impl Fn(object::Error) -> Error + '_ {
    move |e| Error::Elf(format!("{what}: {e}"))
}

/// Returns the range of `size` bytes from `offset` if it lies within `length` bytes.
fn range(offset: u64, size: u64, length: usize) -> Option<Range<usize>> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(size).ok()?)?;
    (end <= length).then_some(start..end)
}

/// The maximum total of a file's names or segments, as a multiple of the file's size.
pub(crate) const OVERLAP: usize = 8;

/// The maximum number of notes that are read.
const MAX_NOTES: usize = 1 << 16;

/// Copies names out of string tables while their total stays in proportion to the file.
struct Names {
    left: usize,
}

impl Names {
    fn take(&mut self, bytes: &[u8]) -> Result<String, Error> {
        self.left = self
            .left
            .checked_sub(bytes.len())
            .ok_or(Error::TooLarge("names"))?;
        match std::str::from_utf8(bytes) {
            Ok(name) => Ok(name.to_string()),
            Err(_) => Err(Error::Elf(format!(
                "the name '{}' is not UTF-8",
                String::from_utf8_lossy(bytes)
            ))),
        }
    }
}

/// `sh_index` counts the null section, which is left out here; links to it are 0.
fn symbol_section(index: u32) -> SymbolSection {
    match index {
        0 => SymbolSection::Undefined,
        0xfff1 => SymbolSection::Absolute,
        0xfff2 => SymbolSection::Common,
        0xff00 => SymbolSection::Lds,
        n => SymbolSection::Index(n as usize - 1),
    }
}

impl CodeObject {
    /// Reads a code object of version 2 to 6, of Mesa or PAL, for gfx6 to gfx9.
    ///
    /// # Errors
    /// Any [`Error`] except `Layout`, if the file is of another kind or damaged.
    pub fn parse(data: &[u8]) -> Result<CodeObject, Error> {
        CodeObject::from_bytes(data.to_vec())
    }

    /// Like [`CodeObject::parse`], without a copy.
    ///
    /// # Errors
    /// See [`CodeObject::parse`].
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Result<CodeObject, Error> {
        let mut object = CodeObject::outline(bytes)?;
        object.read_metadata()?;
        object.read_kernels()?;
        Ok(object)
    }

    /// Like [`CodeObject::from_bytes`], for source: kernels may lack their metadata.
    ///
    /// # Errors
    /// See [`CodeObject::parse`].
    pub fn for_source(bytes: impl Into<Bytes>) -> Result<CodeObject, Error> {
        let mut object = CodeObject::outline(bytes)?;
        let Some(version) = object.note().and_then(metadata::accepted_version) else {
            object.read_metadata()?;
            object.read_kernels()?;
            return Ok(object);
        };
        object.metadata.version = version;
        object.read_kernels()?;
        Ok(object)
    }

    fn read_metadata(&mut self) -> Result<(), Error> {
        if let Some(note) = self.note() {
            self.metadata = Metadata::from_note(note)?;
        } else if let Some(text) = self.metadata_text()? {
            self.metadata = Metadata::from_v2(text)?;
        }
        Ok(())
    }

    /// Like [`CodeObject::from_bytes`], without kernels and metadata: reads only sections, segments, symbols,
    /// relocations and notes.
    ///
    /// # Errors
    /// See [`CodeObject::parse`].
    pub fn outline(bytes: impl Into<Bytes>) -> Result<CodeObject, Error> {
        let bytes: Arc<Bytes> = Arc::new(bytes.into());
        let data: &[u8] = &bytes;
        let header = Header::parse(data).map_err(elf_error("file header"))?;
        if !header.is_class_64() || !header.is_little_endian() {
            return Err(Error::Elf("a 64-bit little-endian file is expected".into()));
        }
        if header.e_machine(LE) != EM_AMDGPU {
            return Err(Error::Machine(header.e_machine(LE)));
        }
        let ident = header.e_ident();
        let os = Os::from_number(ident.os_abi);
        let version = match os {
            Some(Os::Hsa) => Version::from_abi(ident.abi_version),
            // Other systems have version numbers of their own: v3's metadata under PAL has no number here.
            _ => Some(Version::V2),
        };
        let (os, version) = match (os, version) {
            (Some(os), Some(version)) => (os, version),
            _ => {
                return Err(Error::Abi {
                    os_abi: ident.os_abi,
                    abi_version: ident.abi_version,
                });
            }
        };
        let kind = match header.e_type(LE) {
            raw::ET_DYN => FileKind::Loadable,
            raw::ET_REL => FileKind::Relocatable,
            other => return Err(Error::FileType(other)),
        };
        let flags = header.e_flags(LE);
        let mach = flags & 0xff;
        let unknown = Error::Target {
            mach,
            name: mach_name(mach),
        };
        let target = TargetId::from_flags(flags, version);
        // The first compilers recorded the processor only in a note, and CLRX's sources may set any
        // flags (`.eflags 2`).
        let named_otherwise = mach_name(mach).is_some();
        if target.is_none() && (named_otherwise || version != Version::V2) {
            return Err(unknown);
        }

        let mut co = CodeObject {
            kind,
            os,
            version,
            target: target.unwrap_or_else(|| TargetId::new(&MACHINES[0])),
            flags,
            sections: Vec::new(),
            segments: Vec::new(),
            symbols: Vec::new(),
            dynamic_symbols: Vec::new(),
            relocations: Vec::new(),
            kernels: Vec::new(),
            metadata: Metadata::default(),
            notes: Vec::new(),
            groups: Vec::new(),
            data: bytes.clone(),
        };
        let mut names = Names {
            left: data.len().saturating_mul(OVERLAP),
        };
        let programs = header
            .program_headers(LE, data)
            .map_err(elf_error("program headers"))?;
        if kind == FileKind::Loadable {
            co.read_segments(programs)?;
        }
        co.read_sections(header, data, &mut names)?;
        if kind == FileKind::Loadable {
            co.read_dynamic(programs, &mut names)?;
        }
        if co.symbols.is_empty() {
            co.symbols = co.dynamic_symbols.clone();
        }
        co.read_notes(programs)?;
        if target.is_none() {
            co.target = co.target_in_notes().ok_or(unknown)?;
        }
        Ok(co)
    }

    fn read_segments(&mut self, programs: &[raw::ProgramHeader64<LE>]) -> Result<(), Error> {
        let mut total = 0usize;
        for program in programs.iter().filter(|p| p.p_type(LE) == raw::PT_LOAD) {
            let (address, size, file_size) = (
                program.p_vaddr(LE),
                program.p_memsz(LE),
                program.p_filesz(LE),
            );
            let bad = |what: &str| Error::Elf(format!("segment at address {address:#x}: {what}"));
            let file = range(program.p_offset(LE), file_size, self.data.len())
                .ok_or_else(|| bad("its bytes lie outside the file"))?;
            if file_size > size {
                return Err(bad("it has more bytes in the file than in memory"));
            }
            if address.checked_add(size).is_none() {
                return Err(bad("it ends beyond the address space"));
            }
            if self
                .segments
                .last()
                .is_some_and(|s| s.address + s.size > address)
            {
                return Err(bad("it does not come after the segment before it"));
            }
            total = total.saturating_add(file.len());
            if total > self.data.len().saturating_mul(OVERLAP) {
                return Err(Error::TooLarge("segments"));
            }
            let flags = program.p_flags(LE);
            self.segments.push(Segment {
                address,
                size,
                file,
                align: program.p_align(LE),
                readable: flags & raw::PF_R != 0,
                writable: flags & raw::PF_W != 0,
                executable: flags & raw::PF_X != 0,
            });
        }
        Ok(())
    }

    fn read_sections(
        &mut self,
        header: &Header,
        data: &[u8],
        names: &mut Names,
    ) -> Result<(), Error> {
        let sections = header
            .sections(LE, data)
            .map_err(elf_error("section headers"))?;
        // Sections may share bytes, as long as their total is not far larger than the file.
        let mut left = data.len().saturating_mul(OVERLAP);
        for (index, section) in sections.enumerate().skip(1) {
            let name = sections
                .section_name(LE, section)
                .map_err(elf_error("section name"))?;
            let name = names.take(name)?;
            let kind = SectionKind(section.sh_type(LE));
            let size = section.sh_size(LE);
            let file = if kind == SectionKind::NOBITS || kind.0 == raw::SHT_NULL {
                0..0
            } else {
                range(section.sh_offset(LE), size, data.len()).ok_or_else(|| {
                    Error::Elf(format!(
                        "section {} '{name}': its bytes lie outside the file",
                        index.0
                    ))
                })?
            };
            left = left.checked_sub(file.len()).ok_or_else(|| {
                Error::Elf("too many sections lie over the same bytes of the file".into())
            })?;
            self.sections.push(Section {
                name,
                kind,
                flags: SectionFlags(section.sh_flags(LE)),
                address: section.sh_addr(LE),
                size,
                align: section.sh_addralign(LE),
                entry_size: section.sh_entsize(LE),
                file,
            });
        }
        let mut symbol_table = None;
        for sh_type in [raw::SHT_SYMTAB, raw::SHT_DYNSYM] {
            let table = sections
                .symbols(LE, data, sh_type)
                .map_err(elf_error("symbol table"))?;
            let mut symbols = Vec::with_capacity(table.len());
            for (index, symbol) in table.enumerate() {
                let name = table
                    .symbol_name(LE, symbol)
                    .map_err(elf_error("symbol name"))?;
                let section = match symbol.st_shndx(LE) {
                    raw::SHN_XINDEX => table.shndx(LE, index).unwrap_or(0),
                    n => u32::from(n),
                };
                symbols.push(self.symbol(symbol, names.take(name)?, section)?);
            }
            if sh_type == raw::SHT_SYMTAB {
                symbol_table = Some(table.section());
                self.symbols = symbols;
            } else {
                self.dynamic_symbols = symbols;
            }
        }
        if self.kind == FileKind::Relocatable {
            for section in sections.iter() {
                let rela = section.rela(LE, data).map_err(elf_error("relocations"))?;
                let rel = section.rel(LE, data).map_err(elf_error("relocations"))?;
                let (with, without, link) = match (rela, rel) {
                    (Some((list, link)), _) => (list, &[][..], link),
                    (None, Some((list, link))) => (&[][..], list, link),
                    (None, None) => continue,
                };
                if Some(link) != symbol_table {
                    return Err(Error::Elf(
                        "a relocation section does not refer to the symbol table".into(),
                    ));
                }
                let location = usize::try_from(section.sh_info(LE))
                    .ok()
                    .and_then(|i| i.checked_sub(1));
                let location = location.filter(|i| *i < self.sections.len());
                let location = location.ok_or_else(|| {
                    Error::Elf("a relocation section refers to no section".into())
                })?;
                let symbols = self.symbols.len();
                for relocation in with {
                    let relocation = self.relocation(relocation, Some(location), symbols)?;
                    self.relocations.push(relocation);
                }
                for relocation in without {
                    let relocation = self.relocation_in_place(relocation, location, symbols)?;
                    self.relocations.push(relocation);
                }
            }
            self.read_groups(&sections, data)?;
        }
        Ok(())
    }

    fn read_groups(
        &mut self,
        sections: &SectionTable<'_, Header>,
        data: &[u8],
    ) -> Result<(), Error> {
        for (index, section) in sections.enumerate() {
            let Some((flags, members)) = section
                .group(LE, data)
                .map_err(elf_error("section group"))?
            else {
                continue;
            };
            let bad = |what: &str| Error::Elf(format!("section group {}: {what}", index.0));
            let signature = section.sh_info(LE) as usize;
            if signature >= self.symbols.len() {
                return Err(bad("its symbol does not exist"));
            }
            let members = members.iter().map(|member| {
                let member = (member.get(LE) as usize).checked_sub(1);
                member
                    .filter(|i| *i < self.sections.len())
                    .ok_or_else(|| bad("a member does not exist"))
            });
            let members = members.collect::<Result<Vec<usize>, Error>>()?;
            self.groups.push(Group {
                section: index.0 - 1,
                flags,
                signature,
                members,
            });
        }
        Ok(())
    }

    /// Reads a relocation whose addend is at the relocated location.
    fn relocation_in_place(
        &self,
        relocation: &raw::Rel64<LE>,
        section: usize,
        symbols: usize,
    ) -> Result<Relocation, Error> {
        let offset = relocation.r_offset(LE);
        let bad = |detail: String| Error::Relocation { offset, detail };
        let symbol = relocation.r_sym(LE) as usize;
        if symbol > 0 && symbol >= symbols {
            return Err(bad(format!("symbol {symbol} does not exist")));
        }
        let kind = RelocationKind(relocation.r_type(LE));
        let data = self.section_data(section);
        let location = range(offset, kind.width() as u64, data.len())
            .ok_or_else(|| bad("its place is outside its section".into()))?;
        Ok(Relocation {
            section: Some(section),
            offset,
            kind,
            symbol: (symbol > 0).then_some(symbol),
            addend: kind.addend_in(&data[location]),
        })
    }

    fn symbol(&self, symbol: &raw::Sym64<LE>, name: String, section: u32) -> Result<Symbol, Error> {
        let section = symbol_section(section);
        if let SymbolSection::Index(i) = section
            && i >= self.sections.len()
            && !self.sections.is_empty()
        {
            return Err(Error::Elf(format!(
                "symbol '{name}' is in section {}, which does not exist",
                i + 1
            )));
        }
        Ok(Symbol {
            name,
            address: symbol.st_value(LE),
            size: symbol.st_size(LE),
            kind: SymbolKind::from_number(symbol.st_type()),
            binding: Binding::from_number(symbol.st_bind()),
            visibility: Visibility::from_number(symbol.st_visibility()),
            section,
        })
    }

    fn relocation(
        &self,
        relocation: &raw::Rela64<LE>,
        section: Option<usize>,
        symbols: usize,
    ) -> Result<Relocation, Error> {
        let symbol = relocation.r_sym(LE, false) as usize;
        let offset = relocation.r_offset(LE);
        if symbol > 0 && symbol >= symbols {
            return Err(Error::Relocation {
                offset,
                detail: format!("symbol {symbol} does not exist"),
            });
        }
        Ok(Relocation {
            section,
            offset,
            kind: RelocationKind(relocation.r_type(LE, false)),
            symbol: (symbol > 0).then_some(symbol),
            addend: relocation.r_addend(LE),
        })
    }

    /// Reads the data that a loader uses: the dynamic section's relocations and, in files without sections, its
    /// symbols.
    fn read_dynamic(
        &mut self,
        programs: &[raw::ProgramHeader64<LE>],
        names: &mut Names,
    ) -> Result<(), Error> {
        let Some(program) = programs.iter().find(|p| p.p_type(LE) == raw::PT_DYNAMIC) else {
            return Ok(());
        };
        let bad = |what: &str| Error::Elf(format!("dynamic section: {what}"));
        let table = range(program.p_offset(LE), program.p_filesz(LE), self.data.len())
            .ok_or_else(|| bad("it lies outside the file"))?;
        let mut entries = HashMap::new();
        for entry in self.data[table].chunks_exact(16) {
            let (tag, value) = (word(entry, 0), word(entry, 8));
            if tag == 0 {
                break;
            }
            entries.entry(tag).or_insert(value);
        }
        let entry = |tag: u32| entries.get(&u64::from(tag)).copied();

        if self.sections.is_empty()
            && let (Some(symbols), Some(strings), Some(hash)) = (
                entry(raw::DT_SYMTAB),
                entry(raw::DT_STRTAB),
                entry(raw::DT_HASH),
            )
        {
            let strings = self
                .read(strings, entry(raw::DT_STRSZ).unwrap_or(0))
                .ok_or_else(|| bad("its strings lie outside the file"))?;
            // The hash table's second word is the number of symbols.
            let hash = self
                .read(hash, 8)
                .ok_or_else(|| bad("its hash table lies outside the file"))?;
            let count = word(hash, 0) >> 32;
            let symbols = self
                .read(symbols, count * 24)
                .ok_or_else(|| bad("its symbols lie outside the file"))?;
            let symbols = object::pod::slice_from_all_bytes::<raw::Sym64<LE>>(symbols)
                .map_err(|()| bad("its symbols are cut short"))?;
            let table = object::StringTable::new(strings, 0, strings.len() as u64);
            let mut list = Vec::with_capacity(symbols.len());
            for symbol in symbols {
                let name = symbol.name(LE, table).map_err(elf_error("symbol name"))?;
                list.push(self.symbol(
                    symbol,
                    names.take(name)?,
                    u32::from(symbol.st_shndx(LE)),
                )?);
            }
            self.dynamic_symbols = list;
        }
        if entry(raw::DT_REL).is_some() {
            return Err(bad(
                "relocations without addends (DT_REL) are not those of AMDGPU",
            ));
        }
        if let Some(rela) = entry(raw::DT_RELA) {
            let size = entry(raw::DT_RELASZ).unwrap_or(0);
            let bytes = self
                .read(rela, size)
                .ok_or_else(|| bad("its relocations lie outside the file"))?;
            let list = object::pod::slice_from_all_bytes::<raw::Rela64<LE>>(bytes)
                .map_err(|()| bad("its relocations are cut short"))?;
            let list: Result<Vec<_>, _> = list
                .iter()
                .map(|r| self.relocation(r, None, self.dynamic_symbols.len()))
                .collect();
            self.relocations = list?;
        }
        Ok(())
    }

    fn read_notes(&mut self, programs: &[raw::ProgramHeader64<LE>]) -> Result<(), Error> {
        let mut locations = Vec::new();
        for program in programs.iter().filter(|p| p.p_type(LE) == raw::PT_NOTE) {
            let location = range(program.p_offset(LE), program.p_filesz(LE), self.data.len());
            locations.push(
                location
                    .ok_or_else(|| Error::Elf("a note segment lies outside the file".into()))?,
            );
        }
        locations.extend(
            self.sections
                .iter()
                .filter(|s| s.kind == SectionKind::NOTE)
                .map(|s| s.file.clone()),
        );
        // Overlapping notes would be searched repeatedly.
        let mut seen = HashSet::new();
        let mut known = HashSet::new();
        let mut left = self.data.len().saturating_mul(OVERLAP);
        for location in locations {
            if !seen.insert((location.start, location.end)) {
                continue;
            }
            left = left
                .checked_sub(location.len())
                .ok_or(Error::TooLarge("notes"))?;
            for note in note::notes(&self.data[location.clone()]) {
                let file =
                    location.start + note.descriptor.start..location.start + note.descriptor.end;
                // The notes of a note segment are those of its sections.
                if !known.insert(file.start) {
                    continue;
                }
                if known.len() > MAX_NOTES {
                    return Err(Error::TooMany("notes"));
                }
                self.notes.push(Note {
                    owner: String::from_utf8_lossy(note.owner).into_owned(),
                    kind: note.kind,
                    file,
                });
            }
        }
        self.notes.sort_by_key(|n| n.file.start);
        Ok(())
    }

    /// Returns the descriptor of the first note of this owner and type.
    pub fn note_of(&self, owner: &str, kind: u32) -> Option<&[u8]> {
        let note = self
            .notes
            .iter()
            .find(|n| n.owner == owner && n.kind == kind);
        note.map(|n| &self.data[n.file.clone()])
    }

    /// Returns the target in v2's ISA notes.
    fn target_in_notes(&self) -> Option<TargetId> {
        if let Some(name) = self.note_of("AMD", note::ISA_NAME) {
            let name = std::str::from_utf8(name).ok()?.trim_end_matches('\0');
            let processor = &name[name.rfind("gfx")?..];
            let mut digits = processor[3..].chars().map(|c| c.to_digit(16));
            let mut digit = || digits.next().flatten();
            return TargetId::from_isa(digit()?, digit()?, digit()?);
        }
        let isa = self.note_of("AMD", note::ISA)?;
        let [major, minor, stepping] = note::isa_version(isa)?;
        TargetId::from_isa(major, minor, stepping)
    }

    /// Returns the YAML text of v2's metadata note, if there is one.
    ///
    /// # Errors
    /// [`Error::Elf`] if it is not UTF-8.
    pub fn metadata_text(&self) -> Result<Option<&str>, Error> {
        let Some(text) = self.note_of("AMD", note::METADATA) else {
            return Ok(None);
        };
        match std::str::from_utf8(text) {
            Ok(text) => Ok(Some(text.trim_end_matches('\0'))),
            Err(_) => Err(Error::Elf("the metadata note is not UTF-8 text".into())),
        }
    }

    /// Reads kernels that are symbols of a special type, with an `amd_kernel_code_t` at their start.
    fn kernels_with_code(
        &self,
        by_symbol: &mut HashMap<String, KernelMetadata>,
    ) -> Result<Vec<Kernel>, Error> {
        let relocatable = self.kind == FileKind::Relocatable;
        let mut seen = HashSet::new();
        let mut kernels = Vec::new();
        for symbol in &self.symbols {
            let defined = symbol.section != SymbolSection::Undefined;
            if symbol.kind != SymbolKind::HSA_KERNEL || !defined || !seen.insert(&symbol.name) {
                continue;
            }
            let bad = |detail: &str| Error::Kernel {
                name: symbol.name.clone(),
                detail: detail.to_string(),
            };
            let SymbolSection::Index(section) = symbol.section else {
                return Err(bad("it is in no section"));
            };
            let bytes = if relocatable {
                let data = self.section_data(section);
                range(symbol.address, KERNEL_CODE as u64, data.len()).map(|r| &data[r])
            } else {
                self.read(symbol.address, KERNEL_CODE as u64)
            };
            let code = bytes
                .and_then(|b| <[u8; KERNEL_CODE]>::try_from(b).ok())
                .ok_or_else(|| bad("its amd_kernel_code_t is not in the file"))?;
            let descriptor = KernelDescriptor::from_kernel_code(&code);
            let entry = symbol
                .address
                .wrapping_add_signed(descriptor.kernel_code_entry_byte_offset);
            if !relocatable && !self.segments.iter().any(|s| s.executable && s.holds(entry)) {
                return Err(bad(&format!(
                    "its entry {entry:#x} is in no executable segment"
                )));
            }
            kernels.push(Kernel {
                name: symbol.name.clone(),
                descriptor,
                kernel_code: Some(Box::new(code)),
                descriptor_address: symbol.address,
                descriptor_section: relocatable.then_some(section),
                entry,
                entry_section: relocatable.then_some(section),
                metadata: by_symbol.remove(&symbol.name),
            });
        }
        Ok(kernels)
    }

    fn read_kernels(&mut self) -> Result<(), Error> {
        let listed = std::mem::take(&mut self.metadata.kernels);
        let mut by_symbol: HashMap<String, KernelMetadata> = HashMap::with_capacity(listed.len());
        let mut order = Vec::with_capacity(listed.len());
        for kernel in listed {
            // v2's metadata names the symbol with a descriptor's ending, which the symbol itself does not have.
            let symbol = match self.version {
                Version::V2 => kernel.symbol.strip_suffix("@kd").unwrap_or(&kernel.symbol),
                _ => &kernel.symbol,
            };
            let symbol = symbol.to_string();
            order.push(symbol.clone());
            by_symbol.entry(symbol).or_insert(kernel);
        }
        // Relocations of relocatable files by location, to find each descriptor's entry.
        let mut entries = HashMap::new();
        if self.kind == FileKind::Relocatable {
            for relocation in &self.relocations {
                entries.insert((relocation.section, relocation.offset), *relocation);
            }
        }
        let mut seen = HashSet::new();
        let mut kernels = match self.version {
            Version::V2 => self.kernels_with_code(&mut by_symbol)?,
            _ => Vec::new(),
        };
        let described = self.symbols.iter().filter(|_| self.version != Version::V2);
        for symbol in described {
            let Some(name) = symbol.name.strip_suffix(".kd") else {
                continue;
            };
            let named_object =
                symbol.kind == SymbolKind::Object && symbol.section != SymbolSection::Undefined;
            if !named_object || !seen.insert(name) {
                continue;
            }
            let bad = |detail: &str| Error::Kernel {
                name: name.to_string(),
                detail: detail.to_string(),
            };
            let SymbolSection::Index(section) = symbol.section else {
                return Err(bad("its descriptor is in no section"));
            };
            let relocatable = self.kind == FileKind::Relocatable;
            let bytes = if relocatable {
                let data = self.section_data(section);
                range(symbol.address, 64, data.len()).map(|r| &data[r])
            } else {
                self.read(symbol.address, 64)
            };
            let bytes = bytes
                .and_then(|b| <[u8; 64]>::try_from(b).ok())
                .ok_or_else(|| bad("its descriptor is not in the file"))?;
            let descriptor = KernelDescriptor::from_bytes(bytes);
            let (entry, entry_section) = if relocatable {
                let relocation = entries.get(&(Some(section), symbol.address.wrapping_add(16)));
                let code = relocation
                    .filter(|r| r.kind == RelocationKind::REL64)
                    .and_then(|r| Some((r, self.symbols.get(r.symbol?)?)));
                let (relocation, code) =
                    code.ok_or_else(|| bad("its descriptor has no relocation for its entry"))?;
                let section = match code.section {
                    SymbolSection::Index(i) => Some(i),
                    _ => None,
                };
                // The location is 16 bytes into the descriptor, and the entry is relative to the descriptor.
                (
                    code.address
                        .wrapping_add_signed(relocation.addend)
                        .wrapping_sub(16),
                    section,
                )
            } else {
                let entry = symbol
                    .address
                    .wrapping_add_signed(descriptor.kernel_code_entry_byte_offset);
                if !self.segments.iter().any(|s| s.executable && s.holds(entry)) {
                    return Err(bad(&format!(
                        "its entry {entry:#x} is in no executable segment"
                    )));
                }
                (entry, None)
            };
            kernels.push(Kernel {
                name: name.to_string(),
                descriptor,
                kernel_code: None,
                descriptor_address: symbol.address,
                descriptor_section: relocatable.then_some(section),
                entry,
                entry_section,
                metadata: by_symbol.remove(&symbol.name),
            });
        }
        kernels.sort_by_key(|k| (k.descriptor_section, k.descriptor_address));
        self.kernels = kernels;
        self.metadata.kernels = order
            .iter()
            .filter_map(|symbol| by_symbol.remove(symbol))
            .collect();
        Ok(())
    }

    /// Returns the processor's name, such as `gfx900`.
    pub fn target_name(&self) -> &'static str {
        self.target.machine.name
    }

    /// Returns the target id in the syntax of this code object version, such as `amdgcn-amd-amdhsa--gfx906:xnack+`.
    pub fn target_id(&self) -> String {
        self.target.full(self.abi())
    }

    /// Returns the operating system and version.
    pub fn abi(&self) -> Abi {
        Abi {
            os: self.os,
            version: self.version,
        }
    }

    /// Returns the whole file.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Returns a section's bytes in the file; empty for `NOBITS` and for an index out of range.
    pub fn section_data(&self, index: usize) -> &[u8] {
        self.sections
            .get(index)
            .map_or(&[], |s| &self.data[s.file.clone()])
    }

    /// Returns the index of the first section of this name.
    pub fn section(&self, name: &str) -> Option<usize> {
        self.sections.iter().position(|s| s.name == name)
    }

    /// Returns a segment's bytes in the file; empty for an index out of range.
    pub fn segment_data(&self, index: usize) -> &[u8] {
        self.segments
            .get(index)
            .map_or(&[], |s| &self.data[s.file.clone()])
    }

    /// Returns `size` bytes from a virtual address on, if one segment's file part holds them all.
    pub fn read(&self, address: u64, size: u64) -> Option<&[u8]> {
        let after = self.segments.partition_point(|s| s.address <= address);
        let segment = &self.segments[after.checked_sub(1)?];
        let bytes = &self.data[segment.file.clone()];
        range(address - segment.address, size, bytes.len()).map(|r| &bytes[r])
    }

    /// Returns the descriptor bytes of the metadata note (msgpack), if there is one.
    pub fn note(&self) -> Option<&[u8]> {
        self.note_of("AMDGPU", note::MSGPACK)
    }

    /// Returns the kernel of this name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|k| k.name == name)
    }

    /// Returns the object laid out with `base` added to every virtual address and its dynamic relocations applied.
    ///
    /// # Errors
    /// See [`CodeObject::image_with`]; an undefined symbol that is not weak is an error.
    pub fn image(&self, base: u64) -> Result<Image, Error> {
        self.image_with(base, |_| None)
    }

    /// Like [`CodeObject::image`]; `resolver` returns the address of each undefined symbol by name.
    ///
    /// # Errors
    /// [`Error::Layout`] if the file is relocatable or does not fit the address space at `base`; [`Error::Relocation`]
    /// if a relocation is unknown, lies outside the segments' bytes, or needs an undefined symbol.
    pub fn image_with(
        &self,
        base: u64,
        resolver: impl Fn(&str) -> Option<u64>,
    ) -> Result<Image, Error> {
        if self.kind == FileKind::Relocatable {
            return Err(Error::Layout(
                "a relocatable object must be linked before it can be loaded".into(),
            ));
        }
        let mut image = Image {
            base,
            size: 0,
            segments: Vec::with_capacity(self.segments.len()),
        };
        for segment in &self.segments {
            let address = base
                .checked_add(segment.address)
                .filter(|a| a.checked_add(segment.size).is_some());
            let address = address.ok_or_else(|| {
                Error::Layout(format!(
                    "base {base:#x} puts the object beyond the address space"
                ))
            })?;
            image.size = segment.address + segment.size;
            image.segments.push(ImageSegment {
                address,
                size: segment.size,
                bytes: self.data[segment.file.clone()].to_vec(),
                readable: segment.readable,
                writable: segment.writable,
                executable: segment.executable,
            });
        }
        for relocation in &self.relocations {
            let offset = relocation.offset;
            let bad = |detail: String| Error::Relocation { offset, detail };
            let what = relocation.kind.base();
            let what = what
                .ok_or_else(|| bad(format!("relocation type {} is unknown", relocation.kind.0)))?;
            let location = base.wrapping_add(offset);
            let symbol = || -> Result<u64, Error> {
                let Some(symbol) = relocation.symbol.and_then(|i| self.dynamic_symbols.get(i))
                else {
                    return Ok(base);
                };
                match symbol.section {
                    SymbolSection::Absolute => Ok(symbol.address),
                    SymbolSection::Undefined => match resolver(&symbol.name) {
                        Some(address) => Ok(address),
                        None if symbol.binding == Binding::Weak => Ok(0),
                        None => Err(bad(crate::undefined(&symbol.name))),
                    },
                    _ => Ok(base.wrapping_add(symbol.address)),
                }
            };
            let value = match what {
                Base::None => continue,
                Base::Load => base,
                Base::Absolute => symbol()?,
                Base::Relative => symbol()?.wrapping_sub(location),
                Base::Got => {
                    return Err(bad(format!(
                        "{} is for the linker, not the loader",
                        relocation.kind.name()
                    )));
                }
            };
            let value = value.wrapping_add_signed(relocation.addend);
            let after = image
                .segments
                .partition_point(|s| s.address - base <= offset);
            let bytes = after
                .checked_sub(1)
                .map(|i| &mut image.segments[i])
                .and_then(|segment| {
                    let at = range(
                        offset - (segment.address - base),
                        relocation.kind.width() as u64,
                        segment.bytes.len(),
                    )?;
                    Some(&mut segment.bytes[at])
                });
            let bytes = bytes.ok_or_else(|| bad("the place is outside the loaded bytes".into()))?;
            relocation.kind.store(value, bytes).map_err(bad)?;
        }
        Ok(image)
    }
}

/// Returns the little-endian 64-bit word at `at`; the callers pass long enough slices.
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes[at..]
        .iter()
        .take(8)
        .rev()
        .fold(0, |word, b| word << 8 | u64::from(*b))
}

impl Image {
    /// Returns the loaded address of a virtual address of the file.
    pub fn address(&self, virtual_address: u64) -> u64 {
        self.base.wrapping_add(virtual_address)
    }

    /// Returns the segment that holds an address (including the base).
    pub fn segment(&self, address: u64) -> Option<&ImageSegment> {
        self.segments
            .iter()
            .find(|s| address.checked_sub(s.address).is_some_and(|o| o < s.size))
    }
}
