//! Containers: detects the kind of a file and lists the code objects in it. A file may be a code object itself, an
//! offload bundle, or a host program, library, object file or archive that contains bundles.
//!
//! Opening reads only headers: a library of gigabytes is listed quickly, and an entry's bytes are read when requested.

use crate::bundle::{self, Compressed, Item, MAX_ENTRIES};
use crate::bytes::Bytes;
use crate::error::Error;
use crate::read::CodeObject;
use crate::source::{Source, Window};
use crate::target::{Machine, mach_name};
use object::elf as raw;
use object::read::elf::FileHeader;
use object::{Endianness, Object, ObjectSection, ReadCache};
use std::collections::HashMap;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An AMDGPU ELF file, loadable or relocatable.
    CodeObject,
    /// One or more offload bundles, plain or compressed.
    Bundle,
    /// LLVM's offload binary.
    OffloadBinary,
    /// A host's program, library or object file.
    Host,
    /// An archive of object files.
    Archive,
}

/// The format of a bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// One code object without a bundle: the file itself, or a section that holds one.
    Bare,
    /// `__CLANG_OFFLOAD_BUNDLE__`.
    Plain,
    /// `CCOB`.
    Compressed(Compressed),
    /// LLVM's offload binary.
    OffloadBinary,
}

/// One bundle of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Its format.
    pub packing: Packing,
    /// The offset of its start in the file.
    pub offset: u64,
    /// Its size in the file in bytes.
    pub size: u64,
    /// The number of bytes from its start to the next bundle, or to the end of its section or of the file.
    pub room: u64,
    /// The section that holds it, in host files.
    pub section: Option<String>,
    /// The member that holds it, in archives.
    pub member: Option<String>,
}

/// One entry: usually a code object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its index in the file, from 0.
    pub index: usize,
    /// The index of its bundle in [`Container::bundles`].
    pub bundle: usize,
    /// Its id in the bundle, such as `hipv4-amdgcn-amd-amdhsa--gfx906:sramecc-:xnack-`.
    pub id: String,
    /// The target in the id; host entries have none.
    pub target: Option<Target>,
    /// The offset of its bytes from the start of the bundle, which may have to be decompressed first.
    pub offset: u64,
    /// The number of its bytes.
    pub size: u64,
}

/// A processor with the features that a target id names. Unlike [`crate::TargetId`] it may be a processor of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The processor, such as `gfx906`.
    pub processor: String,
    /// The named features, and whether each is on. Features that are not named may be on or off.
    pub features: Vec<(String, bool)>,
}

impl Target {
    /// Finds the target in an entry's id, or reads a target id: `gfx906:xnack-`, v3's `gfx906+xnack`, with any prefix
    /// that ends in `-`.
    pub fn parse(text: &str) -> Option<Target> {
        // A host's triple has no processor; all offload architectures begin with `gfx`.
        let start = match text.rfind("-gfx") {
            Some(at) => at + 1,
            None if text.starts_with("gfx") => 0,
            None => return None,
        };
        let text = &text[start..];
        let end = text.find([':', '+']).unwrap_or(text.len());
        let mut features = Vec::new();
        // v3 names the features that are on, each with a plus before it.
        let (separator, rest) = match text[end..].chars().next() {
            Some('+') => ('+', &text[end..]),
            _ => (':', &text[end..]),
        };
        for word in rest.split(separator).filter(|w| !w.is_empty()) {
            let (name, on) = match (word.strip_suffix('-'), word.strip_suffix('+')) {
                (Some(name), _) => (name, false),
                (_, Some(name)) => (name, true),
                _ => (word, true),
            };
            let name = if name == "sram-ecc" { "sramecc" } else { name };
            features.push((name.to_string(), on));
        }
        Some(Target {
            processor: text[..end].to_string(),
            features,
        })
    }

    /// Returns the number of features that both name with the same setting, or `None` if code for `self` does not fit
    /// `wanted`: another processor, or a feature that one needs on and the other off.
    pub fn fits(&self, wanted: &Target) -> Option<usize> {
        if self.processor != wanted.processor && !self.is_generic_for(wanted) {
            return None;
        }
        let mut same = 0;
        for (name, on) in &wanted.features {
            match self.features.iter().find(|(other, _)| other == name) {
                Some((_, other)) if other != on => return None,
                Some(_) => same += 1,
                None => {}
            }
        }
        Some(same)
    }

    /// Returns true if this is a generic processor that includes the wanted one: gfx9-generic's code runs on gfx900 to
    /// gfx90c, but not on processors that this crate does not know.
    fn is_generic_for(&self, wanted: &Target) -> bool {
        let machines = (
            Machine::from_name(&self.processor),
            Machine::from_name(&wanted.processor),
        );
        matches!(machines, (Some(own), Some(other))
            if own.generic != 0 && other.generic == 0 && own.generation == other.generation)
    }

    /// Returns true if this crate reads its code: gfx6 to gfx9.
    pub fn known(&self) -> bool {
        Machine::from_name(&self.processor).is_some()
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.processor)?;
        for (name, on) in &self.features {
            write!(f, ":{name}{}", if *on { '+' } else { '-' })?;
        }
        Ok(())
    }
}

/// A section of a host file.
#[derive(Clone, Debug)]
pub(crate) struct HostSection {
    pub(crate) name: String,
    /// The offset and size of its bytes in the file.
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// An opened file.
#[derive(Debug)]
pub struct Container {
    /// The kind of the file.
    pub kind: Kind,
    /// Its bundles in file order.
    pub bundles: Vec<Bundle>,
    /// Their entries in file order, including host entries.
    pub entries: Vec<Entry>,
    source: Source,
    /// The bundle decompressed last.
    unpacked: Mutex<Option<(usize, Arc<Vec<u8>>)>>,
}

/// The section that holds HIP's bundles. PE images truncate names to 8 bytes.
const FATBIN: [&str; 2] = [".hip_fatbin", ".hip_fat"];
/// Clang's wrapper of the bundle, by its name in PE images; some linkers put the bundle itself there.
const WRAPPER: &str = ".hipFatB";
/// The prefix of sections that clang-offload-bundler adds to object files; the entry's id follows.
const BUNDLED_SECTION: &str = "__CLANG_OFFLOAD_BUNDLE__";
/// Sections of LLVM's offload binaries.
const OFFLOADING: &str = ".llvm.offloading";
/// The maximum number of sections of a host file.
const MAX_SECTIONS: u64 = 1 << 20;
/// The maximum number of bytes of section names.
const MAX_NAMES: u64 = 16 << 20;
/// The maximum size of an AMDGPU file without a processor in its header that is read to find one.
const MAX_WHOLE: u64 = 64 << 20;

/// The maximum size of a code object that is read. Distances in code have 32 bits.
const MAX_OBJECT: u64 = 1 << 31;
/// A code object smaller than this is read as a whole.
const WORTH_A_LOOK: u64 = 256 << 20;

/// Returns the size of a 64-bit ELF file up to the last byte that its headers refer to: a hole may follow in the file.
/// Returns `size` if the headers are unusual.
fn elf_extent(source: &Source, start: u64, size: u64) -> Result<u64, Error> {
    let header = source.read(start, size.min(64))?;
    let number = |bytes: &[u8], at: usize, count: usize| -> u64 {
        (bytes.iter().skip(at).take(count).rev()).fold(0, |n, b| n << 8 | u64::from(*b))
    };
    // The program and section tables: the offset, the number and size of entries, and the positions in an entry of the
    // offset, size and type of its bytes.
    let tables = [
        (
            number(&header, 32, 8),
            number(&header, 56, 2),
            56,
            [8, 32],
            0,
            u64::MAX,
        ),
        (
            number(&header, 40, 8),
            number(&header, 60, 2),
            64,
            [24, 32],
            4,
            u64::from(raw::SHT_NOBITS),
        ),
    ];
    let mut end = 64;
    for (offset, count, entry, [location, length], kind, none) in tables {
        if offset == 0 {
            continue;
        }
        let table_end = offset.checked_add(count * entry).filter(|end| *end <= size);
        let (Some(table_end), true) = (table_end, count > 0) else {
            return Ok(size);
        };
        end = end.max(table_end);
        let table = source.read(start + offset, count * entry)?;
        for entry in table.chunks_exact(entry as usize) {
            if number(entry, kind, 4) != none {
                end = end.max(number(entry, location, 8).saturating_add(number(entry, length, 8)));
            }
        }
    }
    Ok(end.min(size))
}

impl Container {
    /// Opens a file.
    ///
    /// # Errors
    /// See [`Container::new`], and [`Error::Read`].
    pub fn open(path: &Path) -> Result<Container, Error> {
        Container::new(Source::open(path)?)
    }

    /// Detects the kind of the bytes.
    ///
    /// # Errors
    /// [`Error::Bundle`] if they are not a known container of AMDGPU code, or are damaged; [`Error::Elf`] for damaged
    /// host files; [`Error::TooMany`] or [`Error::TooLarge`] for unreasonable ones.
    pub fn new(source: Source) -> Result<Container, Error> {
        let mut list = List::default();
        let kind = list.scan(&source)?;
        if list.bundles.is_empty() {
            return Err(Error::Bundle(
                "the file carries no AMDGPU code: it has no section .hip_fatbin, .llvm.offloading or __CLANG_OFFLOAD_BUNDLE__…".into(),
            ));
        }
        Ok(Container {
            kind,
            bundles: list.bundles,
            entries: list.entries,
            source,
            unpacked: Mutex::new(None),
        })
    }

    /// Returns the file's bytes.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the offset of an entry's bytes in the file; `None` if they are compressed.
    pub fn file_offset(&self, entry: &Entry) -> Option<u64> {
        let bundle = self.bundles.get(entry.bundle)?;
        match bundle.packing {
            Packing::Compressed(_) => None,
            _ => bundle.offset.checked_add(entry.offset),
        }
    }

    /// Returns an entry's bytes.
    ///
    /// # Errors
    /// [`Error::Read`], and [`Error::Bundle`] if decompression fails.
    pub fn read(&self, entry: &Entry) -> Result<Vec<u8>, Error> {
        let outside = || Error::Bundle(format!("entry {} lies outside its bundle", entry.index));
        let bundle = self.bundles.get(entry.bundle).ok_or_else(outside)?;
        let Packing::Compressed(header) = &bundle.packing else {
            let at = bundle.offset.checked_add(entry.offset);
            return self.source.read(at.ok_or_else(outside)?, entry.size);
        };
        let mut unpacked = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = match &*unpacked {
            Some((bundle, bytes)) if *bundle == entry.bundle => bytes.clone(),
            _ => {
                let start = header.header_size();
                let packed = bundle.size.saturating_sub(start);
                let from = self.source.window(bundle.offset + start, packed);
                let bytes = Arc::new(header.decompress(from)?.0);
                *unpacked = Some((entry.bundle, bytes.clone()));
                bytes
            }
        };
        let start = usize::try_from(entry.offset).map_err(|_| outside())?;
        let end = start
            .checked_add(usize::try_from(entry.size).map_err(|_| outside())?)
            .ok_or_else(outside)?;
        Ok(bytes.get(start..end).ok_or_else(outside)?.to_vec())
    }

    /// Returns the code object of an entry.
    ///
    /// # Errors
    /// See [`Container::read`] and [`CodeObject::parse`]; [`Error::Bundle`] if it holds something else, such as LLVM's
    /// bitcode.
    pub fn object(&self, entry: &Entry) -> Result<CodeObject, Error> {
        CodeObject::from_bytes(self.code(entry)?)
    }

    /// Like [`Container::object`], with [`CodeObject::for_source`].
    ///
    /// # Errors
    /// See [`Container::object`].
    pub fn object_for_source(&self, entry: &Entry) -> Result<CodeObject, Error> {
        CodeObject::for_source(self.code(entry)?)
    }

    /// Returns the bytes of an entry that is not bitcode.
    fn code(&self, entry: &Entry) -> Result<Bytes, Error> {
        let bytes = self.object_bytes(entry)?;
        if bytes.starts_with(b"BC\xc0\xde") {
            return Err(Error::Bundle(format!(
                "entry {} ({}) is LLVM bitcode, which clang turns into code when it links (-fgpu-rdc)",
                entry.index, entry.id
            )));
        }
        Ok(bytes)
    }

    /// Returns an entry's bytes up to the end that its ELF headers give.
    fn object_bytes(&self, entry: &Entry) -> Result<Bytes, Error> {
        let at = (self.bundles.get(entry.bundle))
            .filter(|bundle| !matches!(bundle.packing, Packing::Compressed(_)))
            .and_then(|bundle| bundle.offset.checked_add(entry.offset));
        let Some(at) = at else {
            return self.read(entry).map(Bytes::from);
        };
        let size = match entry.size > WORTH_A_LOOK {
            true => elf_extent(&self.source, at, entry.size)?,
            false => entry.size,
        };
        if size > MAX_OBJECT {
            return Err(Error::Read(format!(
                "the code object has {size} bytes, and at most 2 GiB are read"
            )));
        }
        self.source.read_bytes(at, size)
    }

    /// Returns the entries that a target id fits: `gfx906`, `gfx906:xnack-`, with or without a triple before it. An
    /// entry whose whole id equals the text is the only result. Generic code is returned if there is none for the
    /// processor itself.
    pub fn matching(&self, target: &str) -> Vec<&Entry> {
        let same: Vec<&Entry> = self.entries.iter().filter(|e| e.id == target).collect();
        if !same.is_empty() {
            return same;
        }
        let Some(wanted) = Target::parse(target) else {
            return Vec::new();
        };
        let own = |t: &Target| t.processor == wanted.processor;
        let has_own = self
            .entries
            .iter()
            .any(|e| e.target.as_ref().is_some_and(own));
        let fits = |t: &Target| t.fits(&wanted).is_some() && (own(t) || !has_own);
        self.entries
            .iter()
            .filter(|e| e.target.as_ref().is_some_and(fits))
            .collect()
    }

    /// Returns the selected entry: by its number, by a target id, or as the only one for gfx6 to gfx9. In a bundle, an
    /// entry that names the wanted features takes precedence over one that leaves them open.
    ///
    /// # Errors
    /// [`Error::Choice`] with a list of the entries, if none or several match.
    pub fn choose(&self, target: Option<&str>, number: Option<usize>) -> Result<&Entry, Error> {
        if let Some(number) = number {
            let entry = self.entries.get(number).filter(|e| {
                target.is_none_or(|t| self.matching(t).iter().any(|m| m.index == e.index))
            });
            return entry.ok_or_else(|| match (self.entries.get(number), target) {
                (Some(e), Some(t)) => Error::Choice(format!("entry {number} is {}, not {t}", e.id)),
                _ => Error::Choice(format!(
                    "there is no entry {number}; {}",
                    self.what_there_is(&self.entries.iter().collect::<Vec<_>>())
                )),
            });
        }
        let all: Vec<&Entry> = self.entries.iter().collect();
        let Some(target) = target else {
            let known = |e: &&Entry| e.target.as_ref().is_some_and(Target::known) && e.size > 0;
            let known: Vec<&Entry> = all.iter().copied().filter(known).collect();
            return match (&known[..], all.len()) {
                ([one], _) => Ok(*one),
                // The reader reports a code object for another processor with a message of its own.
                ([], 1) => Ok(all[0]),
                ([], _) => Err(Error::Choice(format!(
                    "there is no code for gfx6 to gfx9; {}",
                    self.what_there_is(&all)
                ))),
                _ => Err(Error::Choice(format!(
                    "one of several code objects must be chosen, by its target or its number; {}",
                    self.what_there_is(&known)
                ))),
            };
        };
        let matching = self.matching(target);
        if matching.is_empty() {
            return Err(Error::Choice(format!(
                "there is no code for {target}; {}",
                self.what_there_is(&all)
            )));
        }
        let wanted = Target::parse(target);
        let rank = |e: &Entry| match (&e.target, &wanted) {
            (Some(have), Some(wanted)) => have.fits(wanted).unwrap_or(0),
            _ => 0,
        };
        let best = matching.iter().map(|e| rank(e)).max().unwrap_or(0);
        let several_bundles = matching.iter().any(|e| e.bundle != matching[0].bundle);
        let best: Vec<&Entry> = match several_bundles {
            true => matching,
            false => matching.into_iter().filter(|e| rank(e) == best).collect(),
        };
        let exact = |e: &&&Entry| e.target == wanted;
        match best[..] {
            [one] => Ok(one),
            _ => match best.iter().filter(exact).collect::<Vec<_>>()[..] {
                [one] if !several_bundles => Ok(one),
                _ => Err(Error::Choice(format!(
                    "{target} names several code objects, of which one must be chosen by its number; {}",
                    self.what_there_is(&best)
                ))),
            },
        }
    }

    /// Returns a sentence that lists entries: each one, or if there are many, each id once.
    fn what_there_is(&self, entries: &[&Entry]) -> String {
        const MOST: usize = 16;
        if entries.is_empty() {
            return "the file holds none".into();
        }
        let mut text = String::from("there are");
        if entries.len() <= MOST {
            for entry in entries {
                let Entry {
                    index, id, size, ..
                } = entry;
                text.push_str(&format!("\n  entry {index}: {id} ({size} bytes)"));
            }
            return text;
        }
        let mut ids: Vec<(&str, usize, usize)> = Vec::new();
        let mut locations: HashMap<&str, usize> = HashMap::new();
        for entry in entries {
            let location = *locations.entry(&entry.id).or_insert(ids.len());
            match ids.get_mut(location) {
                Some((_, count, _)) => *count += 1,
                None => ids.push((&entry.id, 1, entry.index)),
            }
        }
        for (id, count, first) in ids.iter().take(MOST) {
            text.push_str(&match count {
                1 => format!("\n  entry {first}: {id}"),
                _ => format!("\n  {count} entries {id}, the first entry {first}"),
            });
        }
        if ids.len() > MOST {
            text.push_str(&format!("\n  and {} more", ids.len() - MOST));
        }
        text
    }
}

/// The bundles and entries found so far.
#[derive(Default)]
struct List {
    bundles: Vec<Bundle>,
    entries: Vec<Entry>,
}

/// The location of a bundle.
#[derive(Clone, Default)]
struct Location {
    section: Option<String>,
    member: Option<String>,
}

impl List {
    fn scan(&mut self, source: &Source) -> Result<Kind, Error> {
        let location = Location::default();
        let size = source.size();
        let start = source.read(0, size.min(64))?;
        if start.starts_with(b"!<arch>\n") {
            self.archive(source)?;
            return Ok(Kind::Archive);
        }
        if start.starts_with(b"!<thin>\n") {
            return Err(Error::Bundle(
                "a thin archive holds no code, only the names of files that do".into(),
            ));
        }
        if let Some(kind) = self.file(source, 0, size, &start, &location)? {
            return Ok(kind);
        }
        let text = start.windows(24).any(|w| w == bundle::MAGIC);
        Err(Error::Bundle(match (start.is_empty(), text) {
            (true, _) => "the file is empty".into(),
            (_, true) => "a bundle of texts (as `clang -S` or -emit-llvm write it) holds no code objects; compile without -S".into(),
            _ if is_text(&start) => "the file is text, not code. Assembly goes through `gcn asm`, OpenCL C and HIP through `gcn compile`; `gcn run`, `check`, `debug` and \
                 `analyze` take files named .s, .cl and .hip as they are"
                .into(),
            _ => "the file is no code object, no offload bundle and no host file that carries one".to_string(),
        }))
    }

    /// Detects the kind of a file, or of a member of an archive. Returns `None` if it is unknown.
    fn file(
        &mut self,
        source: &Source,
        offset: u64,
        size: u64,
        start: &[u8],
        location: &Location,
    ) -> Result<Option<Kind>, Error> {
        if start.starts_with(b"\x7fELF") {
            let machine = start.get(18..20).map(|m| [m[0], m[1]]);
            if machine == Some([224, 0]) {
                self.bare(source, offset, size, None, start, location)?;
                return Ok(Some(Kind::CodeObject));
            }
            let sections = elf_sections(source.window(offset, size))?;
            self.host(source, offset, &sections, location)?;
            return Ok(Some(Kind::Host));
        }
        if start.starts_with(bundle::MAGIC) || start.starts_with(bundle::COMPRESSED_MAGIC) {
            self.bundles(source, offset, size, location)?;
            return Ok(Some(Kind::Bundle));
        }
        if start.starts_with(bundle::OFFLOAD_BINARY_MAGIC) {
            self.bundles(source, offset, size, location)?;
            return Ok(Some(Kind::OffloadBinary));
        }
        let cache = ReadCache::new(source.window(offset, size));
        let damaged = |e: object::Error| Error::Elf(format!("PE or COFF file: {e}"));
        let sections = match object::FileKind::parse(&cache) {
            Ok(object::FileKind::Pe64) => {
                coff_sections(&object::read::pe::PeFile64::parse(&cache).map_err(damaged)?)
            }
            Ok(object::FileKind::Pe32) => {
                coff_sections(&object::read::pe::PeFile32::parse(&cache).map_err(damaged)?)
            }
            Ok(object::FileKind::Coff) => {
                coff_sections(&object::read::coff::CoffFile::<_>::parse(&cache).map_err(damaged)?)
            }
            Ok(object::FileKind::CoffBig) => {
                coff_sections(&object::read::coff::CoffBigFile::parse(&cache).map_err(damaged)?)
            }
            _ => return Ok(None),
        };
        self.host(source, offset, &sections, location)?;
        Ok(Some(Kind::Host))
    }

    fn archive(&mut self, source: &Source) -> Result<(), Error> {
        let cache = ReadCache::new(source.window(0, source.size()));
        let damaged = |e: object::Error| Error::Bundle(format!("archive: {e}"));
        let archive = object::read::archive::ArchiveFile::parse(&cache).map_err(damaged)?;
        for (n, member) in archive.members().enumerate() {
            if n as u64 > MAX_SECTIONS {
                return Err(Error::TooMany("members"));
            }
            let member = member.map_err(damaged)?;
            let (offset, size) = member.file_range();
            let start = source.read(offset, size.min(64))?;
            let name = String::from_utf8_lossy(member.name()).into_owned();
            let location = Location {
                section: None,
                member: Some(name.clone()),
            };
            // Members of other kinds are ignored.
            self.file(source, offset, size, &start, &location)
                .map_err(|e| Error::Bundle(format!("member '{name}': {e}")))?;
        }
        Ok(())
    }

    /// Finds the bundles in a host file's sections. `offset` is where the file starts in the source.
    fn host(
        &mut self,
        source: &Source,
        offset: u64,
        sections: &[HostSection],
        location: &Location,
    ) -> Result<(), Error> {
        for section in sections {
            let start = offset.saturating_add(section.offset);
            let location = Location {
                section: Some(section.name.clone()),
                ..location.clone()
            };
            let in_section = |e: Error| Error::Bundle(format!("section '{}': {e}", section.name));
            let magic = || source.read(start, section.size.min(24));
            let wanted = FATBIN.contains(&section.name.as_str())
                || section.name == OFFLOADING
                || section.name == WRAPPER && magic()?.starts_with(bundle::MAGIC);
            if wanted {
                self.bundles(source, start, section.size, &location)
                    .map_err(in_section)?;
            } else if let Some(id) = section.name.strip_prefix(BUNDLED_SECTION) {
                // The host's own entry is one zero byte: the entry is the object file itself.
                let size = match id.starts_with("host-") && section.size == 1 {
                    true => 0,
                    false => section.size,
                };
                self.bare(source, start, size, Some(id), &[], &location)
                    .map_err(in_section)?;
            }
        }
        Ok(())
    }

    fn bare(
        &mut self,
        source: &Source,
        offset: u64,
        size: u64,
        id: Option<&str>,
        start: &[u8],
        location: &Location,
    ) -> Result<(), Error> {
        let id = match id {
            Some(id) => id.to_string(),
            None => header_id(source, offset, size, start),
        };
        let item = Item {
            id,
            offset: 0,
            size,
        };
        self.add(Packing::Bare, offset, size, vec![item], location)
    }

    fn add(
        &mut self,
        packing: Packing,
        offset: u64,
        size: u64,
        items: Vec<Item>,
        location: &Location,
    ) -> Result<(), Error> {
        if (self.entries.len() + items.len()) as u64 > MAX_ENTRIES
            || self.bundles.len() as u64 > MAX_ENTRIES
        {
            return Err(Error::TooMany("entries"));
        }
        for item in items {
            let Item { id, offset, size } = item;
            self.entries.push(Entry {
                index: self.entries.len(),
                bundle: self.bundles.len(),
                target: Target::parse(&id),
                id,
                offset,
                size,
            });
        }
        self.bundles.push(Bundle {
            packing,
            offset,
            size,
            room: size,
            section: location.section.clone(),
            member: location.member.clone(),
        });
        Ok(())
    }

    /// Reads consecutive bundles, with zeros between them.
    fn bundles(
        &mut self,
        source: &Source,
        start: u64,
        size: u64,
        location: &Location,
    ) -> Result<(), Error> {
        let end = start.saturating_add(size).min(source.size());
        let mut at = start;
        let first = self.bundles.len();
        let mut other = false;
        while let Some(next) = next_bundle(source, start, at, end, &mut other)? {
            let left = end - next;
            let at_offset = |e: Error| match next - start {
                0 => e,
                n => Error::Bundle(format!("bundle at {n:#x}: {e}")),
            };
            let (packing, items, size) = read_bundle(source, next, left).map_err(at_offset)?;
            self.add(packing, next, size, items, location)?;
            at = next + size.max(1);
        }
        if self.bundles.len() == first && other {
            return Err(Error::Bundle("it holds no offload bundle".into()));
        }
        for n in first..self.bundles.len() {
            let next = self.bundles.get(n + 1).map_or(end, |b| b.offset);
            self.bundles[n].room = next - self.bundles[n].offset;
        }
        Ok(())
    }
}

/// Returns true if a file begins like source text: with ASCII characters only.
fn is_text(start: &[u8]) -> bool {
    let plain = |c: &u8| matches!(c, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    !start.is_empty() && start.iter().all(plain)
}

/// Returns the start of the next bundle: after zeros, or otherwise at the start of a page, as HIP's bundles are
/// aligned. Pages count from `start`; `other` is true if there were bytes that are neither.
fn next_bundle(
    source: &Source,
    start: u64,
    from: u64,
    end: u64,
    other: &mut bool,
) -> Result<Option<u64>, Error> {
    const CHUNK: u64 = 1 << 20;
    let magic = |at: u64| -> Result<bool, Error> {
        let bytes = source.read(at, (end - at).min(24))?;
        Ok(bytes.starts_with(bundle::MAGIC)
            || bytes.starts_with(bundle::COMPRESSED_MAGIC)
            || bytes.starts_with(bundle::OFFLOAD_BINARY_MAGIC))
    };
    let mut at = from;
    let mut size = bundle::PAGE;
    let mut chunk = Vec::new();
    while at < end {
        chunk.resize((end - at).min(size) as usize, 0);
        source.read_into(at, &mut chunk)?;
        match first_other(&chunk) {
            None => at += chunk.len() as u64,
            Some(n) => {
                at += n as u64;
                if magic(at)? {
                    return Ok(Some(at));
                }
                *other = true;
                // The next page may begin with a bundle.
                at = start + (at - start + 1).next_multiple_of(bundle::PAGE);
            }
        }
        size = CHUNK;
    }
    Ok(None)
}

/// Returns the index of the first byte that is not zero. Damaged or hostile files often claim gigabytes of zeros.
fn first_other(bytes: &[u8]) -> Option<usize> {
    const BLOCK: usize = 256;
    let block = bytes
        .chunks(BLOCK)
        .position(|block| block.iter().fold(0, |all, b| all | b) != 0)?;
    let start = block * BLOCK;
    let inside = bytes[start..].iter().position(|b| *b != 0)?;
    Some(start + inside)
}

/// Reads the header of the bundle at an offset: its format, its entries and its size in the file. There are `left`
/// bytes.
fn read_bundle(
    source: &Source,
    offset: u64,
    left: u64,
) -> Result<(Packing, Vec<Item>, u64), Error> {
    let magic = source.read(offset, left.min(24))?;
    if magic.starts_with(bundle::OFFLOAD_BINARY_MAGIC) {
        let size = match magic.get(8..16) {
            Some(size) => size.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)),
            None => 0,
        };
        let bytes = source.read(offset, size.min(left))?;
        let (items, size) = bundle::read_offload_binary(&bytes)?;
        return Ok((Packing::OffloadBinary, items, size));
    }
    if magic.starts_with(bundle::COMPRESSED_MAGIC) {
        let header = Compressed::read(source.window(offset, left), left)?;
        let start = header.header_size();
        let packed = |size: u64| source.window(offset + start, size - start);
        let (items, size) = match header.size {
            Some(size) => (header.items(packed(size))?, size),
            // The end of a version 1 bundle is only known after decompression.
            None => {
                let (bytes, taken) = header.decompress(packed(left.max(start)))?;
                let size = bytes.len() as u64;
                (bundle::read_header(&bytes[..], size)?.0, start + taken)
            }
        };
        return Ok((Packing::Compressed(header), items, size));
    }
    let from = BufReader::with_capacity(1024, source.window(offset, left));
    let (items, header) = bundle::read_header(from, left)?;
    let end = items.iter().map(|i| i.offset + i.size).max().unwrap_or(0);
    Ok((Packing::Plain, items, end.max(header)))
}

/// Returns the id of an AMDGPU ELF file from its header.
fn header_id(source: &Source, offset: u64, size: u64, start: &[u8]) -> String {
    let mut flags = start.get(48..52).map_or(0, |f| {
        f.iter().rev().fold(0u32, |n, b| n << 8 | u32::from(*b))
    });
    // The first compilers recorded the processor only in a note.
    if flags & 0xff == 0
        && size <= MAX_WHOLE
        && let Ok(bytes) = source.read(offset, size)
        && let Ok(object) = CodeObject::parse(&bytes)
    {
        flags = object.target.flags(object.version);
    }
    let (os, abi) = (start.get(7), start.get(8).copied().unwrap_or(0));
    let triple = match os {
        Some(65) => "amdgcn-amd-amdpal",
        Some(66) => "amdgcn-mesa-mesa3d",
        Some(0) => "amdgcn",
        _ => "amdgcn-amd-amdhsa",
    };
    let mut id = match mach_name(flags & 0xff) {
        Some(name) => format!("{triple}--{name}"),
        None => format!("{triple}--unknown-{:#x}", flags & 0xff),
    };
    let mut feature = |name: &str, on: Option<bool>| {
        if let Some(on) = on {
            id.push_str(&format!(":{name}{}", if on { '+' } else { '-' }));
        }
    };
    if os == Some(&64) && abi >= 2 {
        let setting = |bits: u32| match bits & 3 {
            2 => Some(false),
            3 => Some(true),
            _ => None,
        };
        feature("sramecc", setting(flags >> 10));
        feature("xnack", setting(flags >> 8));
    } else {
        feature("sramecc", (flags & 0x200 != 0).then_some(true));
        feature("xnack", (flags & 0x100 != 0).then_some(true));
    }
    id
}

fn coff_sections<'d>(file: &impl Object<'d>) -> Vec<HostSection> {
    file.sections()
        .filter_map(|s| {
            let (offset, size) = s.file_range()?;
            Some(HostSection {
                name: s.name().ok()?.to_string(),
                offset,
                size,
            })
        })
        .collect()
}

/// Returns the sections of a host's ELF file that have bytes.
fn elf_sections(window: Window<'_>) -> Result<Vec<HostSection>, Error> {
    let mut class = [0; 5];
    let read = window.clone().read_exact(&mut class);
    read.map_err(|e| Error::Elf(format!("file header: {e}")))?;
    match class[4] {
        1 => elf_sections_of::<raw::FileHeader32<Endianness>>(window),
        _ => elf_sections_of::<raw::FileHeader64<Endianness>>(window),
    }
}

fn elf_sections_of<Elf: FileHeader<Endian = Endianness>>(
    window: Window<'_>,
) -> Result<Vec<HostSection>, Error> {
    use object::read::elf::SectionHeader;
    let damaged = |e: object::Error| Error::Elf(format!("section headers: {e}"));
    let cache = ReadCache::new(window.clone());
    let header = Elf::parse(&cache).map_err(damaged)?;
    let endian = header.endian().map_err(damaged)?;
    let count = header.shnum(endian, &cache).map_err(damaged)?;
    if count as u64 > MAX_SECTIONS {
        return Err(Error::TooMany("sections"));
    }
    let sections = header.section_headers(endian, &cache).map_err(damaged)?;
    if sections.is_empty() {
        return Ok(Vec::new());
    }
    let names = header.shstrndx(endian, &cache).map_err(damaged)? as usize;
    let names = sections
        .get(names)
        .ok_or_else(|| Error::Elf("section headers: their names are in no section".into()))?;
    let names_size: u64 = names.sh_size(endian).into();
    if names_size > MAX_NAMES {
        return Err(Error::TooMany("section names"));
    }
    let names = object::ReadRef::read_bytes_at(&cache, names.sh_offset(endian).into(), names_size)
        .map_err(|()| Error::Elf("section headers: their names lie outside the file".into()))?;
    let mut list = Vec::new();
    let mut left = names.len() * 2 + (1 << 16);
    for section in sections {
        if matches!(section.sh_type(endian), raw::SHT_NULL | raw::SHT_NOBITS) {
            continue;
        }
        let name = names.get(section.sh_name(endian) as usize..).unwrap_or(&[]);
        let name = &name[..name.iter().position(|b| *b == 0).unwrap_or(name.len())];
        let (offset, size) = (
            section.sh_offset(endian).into(),
            section.sh_size(endian).into(),
        );
        let known = FATBIN.iter().any(|n| n.as_bytes() == name)
            || name == OFFLOADING.as_bytes()
            || name.starts_with(BUNDLED_SECTION.as_bytes());
        if !known {
            continue;
        }
        left = left
            .checked_sub(name.len())
            .ok_or(Error::TooLarge("section names"))?;
        let name = String::from_utf8_lossy(name).into_owned();
        if offset > window.size() || size > window.size() - offset {
            return Err(Error::Elf(format!(
                "section '{name}': its bytes lie outside the file"
            )));
        }
        list.push(HostSection { name, offset, size });
    }
    Ok(list)
}
