//! `gcn dis`: bytes to source.
//!
//! The source of a code object assembles to the same sections at the same addresses. What a linker
//! makes (symbol and hash tables, the dynamic section, the global offset table) is made again from
//! the symbols and relocations that the source has; `docs/dis.md` says what is kept.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{self, Write};

use gcn_isa::Target;
use gcn_isa::access::{Facts, File};
use gcn_isa::decode::Decoder;
use gcn_isa::format::layout_of;
use gcn_isa::print::{Style, Syntax, push_dec, push_hex};
use gcn_object::descriptor;
use gcn_object::kernel_code::KernelCode;
use gcn_object::metadata;
use gcn_object::read::{CodeObject, FileKind, KERNEL_CODE, Kernel, Relocation, Section, Symbol};
use gcn_object::target::{Abi, Os};
use gcn_object::write;
use gcn_object::{
    Binding, RelocationKind, SectionFlags, SectionKind, SymbolKind, SymbolSection, Version,
    Visibility,
};

use crate::lines::Lines;
use crate::listing::{Fixes, Listing, Marks};

/// What the listing shows beside the text.
#[derive(Clone, Copy, Default)]
pub struct Show {
    /// The address and the words, in a comment.
    pub encoding: bool,
}

/// The most sections that are put where the linker would not: strange files may have many.
const MOST_PLACES: usize = 32;

/// How a code object becomes source.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The spelling.
    pub style: Style,
    /// Comments beside the instructions.
    pub show: Show,
    /// Threads that print code; 0 and 1 are the caller's alone.
    pub threads: usize,
    /// Sections that are not loaded (`.debug_*`, `.comment`) are left out.
    pub loaded_only: bool,
    /// Comments with the source lines that code comes from.
    pub lines: Option<&'a Lines>,
}

impl Options<'_> {
    /// Everything, on this thread.
    pub fn new(style: Style) -> Options<'static> {
        Options {
            style,
            show: Show::default(),
            threads: 1,
            loaded_only: false,
            lines: None,
        }
    }
}

/// What branch targets are called: this and their address.
pub const LABEL: &str = ".L";

/// What the source of raw bytes begins with.
pub fn raw_header(target: Target, style: Style) -> String {
    let mut out = String::new();
    header(&mut out, style);
    let _ = writeln!(out, ".arch {}", target.name());
    out.push_str(".gcn_permissive\n.text\n");
    out
}

fn header(out: &mut String, style: Style) {
    if style.syntax == Syntax::Clrx {
        out.push_str(".syntax clrx\n");
    }
}

/// The target whose instructions an object has.
///
/// # Errors
/// A sentence, where it is unknown.
pub fn target_of(object: &CodeObject) -> Result<Target, String> {
    Target::parse(object.target_name())
        .ok_or_else(|| format!("{} is no gfx6 to gfx9 target", object.target_name()))
}

/// Writes a code object as source.
///
/// # Errors
/// Those of `out`; of kind `InvalidData` with a sentence, where the object's target is unknown.
pub fn object(
    object: &CodeObject,
    options: &Options,
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    let target = checked_target(object)?;
    let source = Source::new(object, target, *options);
    source.write(out)
}

/// Writes one kernel, or one symbol's code or data, as source: what it needs to be assembled as far
/// as it is in it. References to what is outside are to symbols without definition.
///
/// # Errors
/// As [`object`]; also where there is no such symbol.
pub fn symbol(
    object: &CodeObject,
    name: &str,
    options: &Options,
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    let target = checked_target(object)?;
    let source = Source::new(object, target, *options);
    source.write_one(name, out)
}

/// The target, of an object whose sections are within the address space.
fn checked_target(object: &CodeObject) -> io::Result<Target> {
    for section in &object.sections {
        if section.address.checked_add(section.size).is_none() {
            return Err(invalid(format!(
                "section '{}' ends beyond the address space",
                section.name
            )));
        }
    }
    target_of(object).map_err(invalid)
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// The symbol table that an object's source is made from.
pub fn symbols(object: &CodeObject) -> &[Symbol] {
    match object.symbols.is_empty() {
        true => &object.dynamic_symbols,
        false => &object.symbols,
    }
}

/// Whether a section of a loadable file is made by the linker, from symbols and relocations.
fn linker_made(section: &Section) -> bool {
    const HASH: u32 = 5;
    const DYNAMIC: u32 = 6;
    const DYNSYM: u32 = 11;
    const GNU_HASH: u32 = 0x6fff_fff6;
    let tables = [
        SectionKind::SYMTAB,
        SectionKind::STRTAB,
        SectionKind::RELA,
        SectionKind(HASH),
        SectionKind(DYNAMIC),
        SectionKind(DYNSYM),
        SectionKind(GNU_HASH),
        SectionKind::REL,
        SectionKind::GROUP,
        SectionKind(0),
    ];
    tables.contains(&section.kind) || section.name == ".relro_padding"
}

/// A name as the assembler takes it: in quotes where it would be something else without.
pub fn quoted(name: &str) -> String {
    let bytes = name.as_bytes();
    let start = |c: u8| c.is_ascii_alphabetic() || matches!(c, b'_' | b'.' | b'$') || c >= 0x80;
    let plain = bytes.first().is_some_and(|c| start(*c))
        && bytes.iter().all(|c| start(*c) || c.is_ascii_digit());
    // What may be a register would be one.
    let numbered = |prefix: &str| {
        let number = name.strip_prefix(prefix).unwrap_or("");
        !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit())
    };
    let register = ["s", "v", "ttmp"].iter().any(|prefix| numbered(prefix))
        || RESERVED.iter().any(|word| {
            let halves = name.strip_suffix("_lo").or(name.strip_suffix("_hi"));
            name.eq_ignore_ascii_case(word) || halves == Some(word)
        });
    match plain && !register {
        true => name.to_string(),
        false => format!("\"{}\"", name.replace('"', "'")),
    }
}

fn unquoted(name: &str) -> &str {
    name.trim_matches('"')
}

/// Words that operands may be.
const RESERVED: &[&str] = &[
    "vcc",
    "exec",
    "scc",
    "m0",
    "flat_scratch",
    "xnack_mask",
    "tba",
    "tma",
    "vccz",
    "execz",
    "off",
    "lds_direct",
    "null",
    "src_vccz",
    "src_execz",
    "src_scc",
    "src_lds_direct",
    "shared_base",
    "shared_limit",
    "private_base",
    "private_limit",
    "pops_exiting_wave_id",
    "lit",
    "op",
    "hwreg",
    "sendmsg",
    "abs",
    "neg",
    "sext",
    "vmcnt",
    "lgkmcnt",
    "expcnt",
    "mul",
    "div",
];

/// The section of notes, as the directives that make it again.
struct Notes {
    section: usize,
    /// Directives before the target is named.
    version: String,
    /// Those after it.
    isa: String,
    /// The metadata, with what is around them.
    metadata: String,
    /// The code object version that the assembler knows by them.
    known: Option<Version>,
}

impl Notes {
    /// `None` if there are no notes, or if directives would not give the same bytes.
    fn new(object: &CodeObject) -> Option<Notes> {
        let flags = match object.os {
            Os::Hsa => SectionFlags::ALLOC,
            _ => SectionFlags(0),
        };
        let section = (object.sections.iter())
            .position(|s| s.kind == SectionKind::NOTE && s.name == ".note" && s.flags == flags)?;
        let bytes = object.section_data(section);
        let mut notes = Notes {
            section,
            version: String::new(),
            isa: String::new(),
            metadata: String::new(),
            known: None,
        };
        // The bytes that the directives make, in their order.
        let (mut before, mut between, mut last) = (Vec::new(), Vec::new(), Vec::new());
        for note in metadata::notes(bytes) {
            let owner = String::from_utf8_lossy(note.owner).into_owned();
            let descriptor = bytes.get(note.descriptor.clone())?;
            let made = metadata::note(&owner, note.kind, descriptor);
            match (owner.as_str(), note.kind) {
                ("AMD", metadata::NT_AMD_VERSION) => {
                    let [major, minor] = words(descriptor)?;
                    let line = format!(".hsa_code_object_version {major},{minor}\n");
                    notes.version.push_str(&line);
                    notes.known.get_or_insert(Version::V2);
                    before.extend(made);
                }
                ("AMD", metadata::NT_AMD_ISA) => {
                    notes.isa.push_str(&isa_line(descriptor)?);
                    between.extend(made);
                }
                ("AMD", metadata::NT_AMD_ISA_NAME) => {
                    let name = std::str::from_utf8(descriptor).ok()?;
                    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '"' | '\\');
                    if !name.chars().all(plain) {
                        return None;
                    }
                    let _ = writeln!(notes.isa, ".amd_amdgpu_isa \"{name}\"");
                    between.extend(made);
                }
                ("AMD", metadata::NT_AMD_METADATA) if last.is_empty() => {
                    let text = std::str::from_utf8(descriptor).ok()?;
                    notes.metadata = v2_metadata(text)?;
                    last.extend(made);
                }
                ("AMDGPU", metadata::NT_AMDGPU_METADATA)
                    if last.is_empty() && object.os == Os::Hsa =>
                {
                    let text = metadata::faithful_text(descriptor)?;
                    let text = text.trim_end();
                    notes.metadata = format!("\n.amdgpu_metadata\n{text}\n.end_amdgpu_metadata\n");
                    notes.known = Some(match object.metadata.version[1] {
                        0 => Version::V3,
                        2 => Version::V5,
                        _ => Version::V4,
                    });
                    last.extend(made);
                }
                _ => return None,
            }
        }
        before.extend(between);
        before.extend(last);
        (!before.is_empty() && before == bytes).then_some(notes)
    }
}

/// Little-endian words of 32 bits, if they are all there is.
fn words<const N: usize>(bytes: &[u8]) -> Option<[u32; N]> {
    let words: Vec<u32> = (bytes.chunks_exact(4))
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
        .collect();
    words.try_into().ok().filter(|_| bytes.len() == 4 * N)
}

/// `.hsa_code_object_isa`, with what the note says.
fn isa_line(descriptor: &[u8]) -> Option<String> {
    let size = |at: usize| {
        let bytes = descriptor.get(at..at + 2)?;
        Some(u16::from_le_bytes([bytes[0], bytes[1]]) as usize)
    };
    let [major, minor, stepping] = words(descriptor.get(4..16)?)?;
    let (vendor_size, name_size) = (size(0)?, size(2)?);
    let names = &descriptor[16..];
    let vendor = names.get(..vendor_size)?.strip_suffix(b"\0")?;
    let name = names.get(vendor_size..)?.strip_suffix(b"\0")?;
    let plain = |c: &u8| c.is_ascii_alphanumeric();
    if name.len() + 1 != name_size || !vendor.iter().chain(name).all(plain) {
        return None;
    }
    let (vendor, name) = (str::from_utf8(vendor).ok()?, str::from_utf8(name).ok()?);
    Some(format!(
        ".hsa_code_object_isa {major},{minor},{stepping},\"{vendor}\",\"{name}\"\n"
    ))
}

/// The metadata of code object v2, which are text in the file.
fn v2_metadata(text: &str) -> Option<String> {
    const END: &str = ".end_amd_amdgpu_hsa_metadata";
    let read = metadata::parse_yaml(text).ok()?;
    let version = |pairs: &Vec<_>| {
        (pairs.iter()).any(|(key, _): &(metadata::Value, _)| key.as_str() == Some("Version"))
    };
    let kept = text.ends_with('\n')
        && !text.starts_with(['\n', '\r'])
        && !text.contains(END)
        && !text.contains('\0')
        && read.as_map().is_some_and(version);
    // Of two line breaks at the end one is the directive's.
    let more = if text.ends_with("\n\n") { "\n" } else { "" };
    kept.then(|| format!("\n.amd_amdgpu_hsa_metadata\n{text}{more}{END}\n"))
}

/// What stands for the eight bytes of a relocated address, a literal or a branch's target.
enum Fixed {
    Expression(String),
    /// An entry of the global offset table, by its address in the file.
    Got(u64),
}

/// A pair of literals that are added to the address of an instruction.
struct Pair {
    /// Addresses of the literals.
    low: u64,
    high: u64,
    /// The address that they are added to.
    pc: u64,
    /// The sum.
    to: u64,
}

/// A reference to the global offset table, for the linker.
struct GotUse {
    section: usize,
    offset: u64,
    symbol: usize,
}

struct Source<'a> {
    object: &'a CodeObject,
    target: Target,
    options: Options<'a>,
    table: &'a [Symbol],
    /// The symbols as the source names them; empty where it does not.
    names: Vec<String>,
    /// The first symbol of each name.
    by_name: HashMap<&'a str, usize>,
    /// Which sections the source has, in its order.
    shown: Vec<usize>,
    /// The same, section by section.
    is_shown: Vec<bool>,
    /// Loaded sections by address, with their ends.
    homes: Vec<(u64, u64, usize)>,
    marks: Vec<Marks>,
    fixes: Vec<Fixes>,
    /// Relocated words of data.
    words: Vec<BTreeMap<u64, (u8, String)>>,
    notes: Option<Notes>,
    /// Kernels whose descriptor is a block of directives, by its place.
    blocks: BTreeMap<(usize, u64), &'a Kernel>,
    /// Kernels that begin with an `amd_kernel_code_t` in code, by its place.
    headed: HashMap<(Option<usize>, u64), &'a Kernel>,
    /// What is defined by an expression, as no label can be there.
    settings: String,
    got_uses: Vec<GotUse>,
    loadable: bool,
}

impl<'a> Source<'a> {
    fn new(object: &'a CodeObject, target: Target, options: Options<'a>) -> Source<'a> {
        let count = object.sections.len();
        let table = symbols(object);
        let mut source = Source {
            object,
            target,
            options,
            table,
            names: names(table),
            by_name: HashMap::with_capacity(table.len()),
            shown: Vec::new(),
            is_shown: vec![false; count],
            homes: Vec::new(),
            marks: vec![Marks::new(); count],
            fixes: vec![Fixes::new(); count],
            words: vec![BTreeMap::new(); count],
            notes: Notes::new(object),
            blocks: BTreeMap::new(),
            headed: (object.kernels.iter())
                .filter(|kernel| kernel.kernel_code.is_some())
                .map(|kernel| {
                    (
                        (kernel.descriptor_section, kernel.descriptor_address),
                        kernel,
                    )
                })
                .collect(),
            settings: String::new(),
            got_uses: Vec::new(),
            loadable: object.kind == FileKind::Loadable,
        };
        for (n, symbol) in table.iter().enumerate() {
            source.by_name.entry(&symbol.name).or_insert(n);
        }
        source.choose_sections();
        source.find_blocks();
        if source.loadable {
            source.code_references();
            source.dynamic_relocations();
        } else {
            source.relocations();
        }
        source.place_symbols();
        source.place_lines();
        source
    }

    fn section(&self, index: usize) -> &'a Section {
        &self.object.sections[index]
    }

    fn choose_sections(&mut self) {
        let object = self.object;
        let note = self.notes.as_ref().map(|notes| notes.section);
        let of_use = |index: &usize| {
            let section = &object.sections[*index];
            let loaded = section.flags.alloc();
            !(linker_made(section)
                || Some(*index) == note
                || self.loadable && section.size == 0
                || self.options.loaded_only && !loaded)
        };
        self.shown = (0..object.sections.len()).filter(of_use).collect();
        if self.loadable {
            // Code first, as compilers have it: the linker sorts anyway.
            self.shown.sort_by_key(|i| {
                let flags = object.sections[*i].flags;
                (!flags.alloc(), !flags.exec())
            });
        }
        self.note_shown();
    }

    /// Takes note of what [`Source::shown`] became.
    fn note_shown(&mut self) {
        self.is_shown.fill(false);
        self.homes.clear();
        for &i in &self.shown {
            self.is_shown[i] = true;
            let section = &self.object.sections[i];
            if section.flags.alloc() {
                let end = section.address + section.size;
                self.homes.push((section.address, end, i));
            }
        }
        self.homes.sort_unstable();
    }

    /// The section that holds an address, or that it is behind.
    fn home(&self, address: u64) -> Option<usize> {
        let after = self.homes.partition_point(|(start, ..)| *start <= address);
        let mut near = self.homes[..after].iter().rev().take(2);
        let found = (near.clone())
            .find(|(_, end, _)| address < *end)
            .or_else(|| near.find(|(_, end, _)| address == *end));
        found.map(|(.., i)| *i)
    }

    /// The code symbol of a kernel: it has the kernel's name and is where the kernel begins.
    fn code_symbol(&self, kernel: &Kernel) -> Option<usize> {
        let found = *self.by_name.get(kernel.name.as_str())?;
        let symbol = &self.table[found];
        let there = symbol.address == kernel.entry
            && matches!(symbol.section, SymbolSection::Index(i)
                if kernel.entry_section.is_none_or(|s| s == i))
            && self.names[found] == quoted(&kernel.name);
        there.then_some(found)
    }

    fn find_blocks(&mut self) {
        for kernel in &self.object.kernels {
            let kd = format!("{}.kd", kernel.name);
            let Some(place) = self.find(&kd) else {
                continue;
            };
            let SymbolSection::Index(section) = place.section else {
                continue;
            };
            let fits = place.size == 64
                && place.kind == SymbolKind::Object
                && self.is_shown[section]
                && !self.section(section).flags.exec()
                && self.section(section).kind == SectionKind::PROGBITS
                && self.section(section).align >= 64
                && place
                    .address
                    .wrapping_sub(self.base(section))
                    .is_multiple_of(64)
                && self.code_symbol(kernel).is_some()
                && descriptor::directives(&kernel.descriptor, &self.object.target).is_some();
            if fits {
                self.blocks.insert((section, place.address), kernel);
            }
        }
        // A block is whole: nothing else begins within.
        let inside: Vec<(usize, u64)> = (self.table.iter())
            .filter_map(|s| match s.section {
                SymbolSection::Index(i) => Some((i, s.address)),
                _ => None,
            })
            .filter_map(|(i, address)| {
                let (&(section, start), _) = self.blocks.range(..(i, address)).next_back()?;
                (section == i && address - start < 64).then_some((section, start))
            })
            .collect();
        for place in inside {
            self.blocks.remove(&place);
        }
    }

    /// The first symbol of a name.
    fn find(&self, name: &str) -> Option<&'a Symbol> {
        self.by_name.get(name).map(|n| &self.table[*n])
    }

    /// The address of a section's first byte; offsets count from 0 in relocatable files.
    fn base(&self, section: usize) -> u64 {
        self.section(section).address
    }

    /// What a place is called that has no name of its own.
    fn label(&self, section: usize, address: u64) -> String {
        match self.loadable {
            true => format!("{LABEL}{address:x}"),
            false => format!("{}{address:x}", self.prefix(section)),
        }
    }

    /// What labels of a section begin with. In relocatable files every section begins at 0.
    fn prefix(&self, section: usize) -> String {
        match self.loadable {
            true => LABEL.to_string(),
            false => format!("{LABEL}{section}_"),
        }
    }

    /// A named symbol that is at an address or reaches over it; one with the section given first.
    fn symbol_over(&self, address: u64, sorted: &[(u64, usize)]) -> Option<usize> {
        let after = sorted.partition_point(|(a, _)| *a <= address);
        // The nearest ones, as symbols may share an address.
        let near = sorted[..after].iter().rev().take(8);
        let over = |n: usize| {
            let symbol = &self.table[n];
            symbol.address == address || address - symbol.address < symbol.size
        };
        near.map(|(_, n)| *n).find(|n| over(*n))
    }

    /// An expression for an address in a loadable file, made a label where nothing is there yet.
    fn address(&mut self, address: u64, sorted: &[(u64, usize)]) -> Option<String> {
        if let Some(n) = self.symbol_over(address, sorted) {
            let symbol = &self.table[n];
            let name = &self.names[n];
            return Some(match address - symbol.address {
                0 => name.clone(),
                more => format!("{name}+{more}"),
            });
        }
        let section = self.home(address)?;
        let name = self.label(section, address);
        // The listing names branch targets alike; a mark takes its place.
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

    /// Defined symbols by address, of loadable files.
    fn sorted(&self) -> Vec<(u64, usize)> {
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

    /// Literals that add up with the program counter to an address become that address's symbol:
    /// the distance then survives a change of the code between.
    fn code_references(&mut self) {
        let got = (self.object.sections.iter())
            .position(|s| s.name == ".got" && s.kind == SectionKind::PROGBITS);
        let sorted = self.sorted();
        let mut entries: Vec<u64> = Vec::new();
        let mut uses = Vec::new();
        for index in self.shown.clone() {
            let section = self.section(index);
            if !section.flags.exec() || section.kind == SectionKind::NOBITS {
                continue;
            }
            for pair in pairs(
                self.target,
                self.object.section_data(index),
                section.address,
            ) {
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
        // The linker makes the table again, if the references ask for all of its entries.
        let remade = got.and_then(|g| self.got_symbols(g, &entries));
        if let (Some(g), Some(_)) = (got, &remade) {
            self.shown.retain(|i| *i != g);
            self.note_shown();
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
                        (self.names[symbols[n]].clone(), "gotpcrel32")
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

    /// The symbols of the entries of the global offset table, if these are all and in order.
    fn got_symbols(&self, got: usize, entries: &[u64]) -> Option<Vec<usize>> {
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
                    self.by_name.get(name.as_str()).copied()
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
        // The linker's order is that of the symbols, local ones last.
        let places: HashMap<usize, usize> = (self.order().into_iter().enumerate())
            .map(|(place, n)| (n, place))
            .collect();
        let key = |n: &usize| {
            let symbol = &self.table[*n];
            let local = symbol.binding == Binding::Local && !hidden(symbol);
            (local, places.get(n).copied())
        };
        symbols.is_sorted_by_key(key).then_some(symbols)
    }

    /// Words that the loader fills in.
    fn dynamic_relocations(&mut self) {
        let sorted = self.sorted();
        for relocation in &self.object.relocations {
            let Some(section) = self.home(relocation.offset) else {
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

    /// What the linker fills in, in relocatable files.
    fn relocations(&mut self) {
        // To the assembler a local symbol is a place in its section, too.
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
            // The literals that are added to the program counter are 4 and 12 bytes behind what it
            // says, so that much is added to the symbol.
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
                    near.filter(|(place, n)| place.1 == to || to - place.1 < self.table[**n].size)
                }
                _ => None,
            };
            let name = match (named, symbol.section) {
                (Some((place, n)), _) => {
                    addend = addend.wrapping_sub_unsigned(place.1);
                    self.names[*n].clone()
                }
                (None, SymbolSection::Index(i)) if symbol.kind == SymbolKind::Section => {
                    // The section is meant: a label where it begins stands for it.
                    let base = self.base(i);
                    let name = format!("{LABEL}section{i}");
                    let mark = self.marks[i].entry(base).or_default();
                    let line = format!("{name}:\n");
                    if !mark.text.contains(&line) {
                        mark.text.push_str(&line);
                    }
                    name
                }
                _ => self.names[n].clone(),
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
            // A literal is relative to its place anyway.
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

    /// Labels, types, sizes.
    fn place_symbols(&mut self) {
        let mut ends = 0;
        // Where the symbols so far end, section by section.
        let mut symbol_ends = vec![BTreeSet::new(); self.marks.len()];
        let mut order: Vec<usize> = (0..self.table.len()).collect();
        order.sort_by_key(|n| self.table[*n].address);
        let kernels: HashSet<(Option<usize>, u64)> = (self.object.kernels.iter())
            .map(|k| (k.entry_section, k.entry))
            .collect();
        for n in order {
            let symbol = &self.table[n];
            let name = self.names[n].clone();
            let SymbolSection::Index(section) = symbol.section else {
                continue;
            };
            if name.is_empty()
                || !self.is_shown[section]
                || self.blocks.contains_key(&(section, symbol.address))
            {
                continue;
            }
            let (base, size) = (self.base(section), self.section(section).size);
            let code = self.section(section).flags.exec();
            let own = symbol_ends[section].range(..=symbol.address).next_back();
            let own = own.copied().unwrap_or(base);
            symbol_ends[section].insert(symbol.address.saturating_add(symbol.size));
            let inside = |address: u64| {
                (base..=base + size).contains(&address)
                    && (!code || (address - base).is_multiple_of(4))
            };
            let kind = match symbol.kind {
                SymbolKind::Func => Some("@function".to_string()),
                SymbolKind::Object => Some("@object".to_string()),
                SymbolKind::HSA_KERNEL => Some("@amdgpu_hsa_kernel".to_string()),
                _ => None,
            };
            if !inside(symbol.address) {
                let start = format!("{LABEL}start{section}");
                let mark = self.marks[section].entry(base).or_default();
                let line = format!("{start}:\n");
                if !mark.text.contains(&line) {
                    mark.text.push_str(&line);
                }
                let _ = writeln!(
                    self.settings,
                    ".set {name}, {start}{:+}",
                    symbol.address.wrapping_sub(base) as i64
                );
                if let Some(kind) = kind {
                    let _ = writeln!(self.settings, ".type {name},{kind}");
                }
                if symbol.size != 0 {
                    let _ = writeln!(self.settings, ".size {name}, {}", symbol.size);
                }
                continue;
            }
            let entry_section = (!self.loadable).then_some(section);
            let kernel = code && kernels.contains(&(entry_section, symbol.address));
            let headed = self.headed.get(&(entry_section, symbol.address)).copied();
            let mut text = String::new();
            if kernel || headed.is_some() {
                text.push('\n');
                if self.section(section).align >= 256 && (symbol.address - base).is_multiple_of(256)
                {
                    text.push_str("\t.p2align 8\n");
                    self.pass_over_padding(section, own, symbol.address);
                }
            }
            if symbol.kind == SymbolKind::HSA_KERNEL {
                let _ = writeln!(text, "\t.amdgpu_hsa_kernel {name}");
            } else if let Some(kind) = kind {
                let _ = writeln!(text, "\t.type {name},{kind}");
            }
            let _ = writeln!(text, "{name}:");
            let header = headed.and_then(|kernel| kernel.kernel_code.as_ref());
            let header = header.map(|bytes| kernel_code(bytes, self.object));
            if let Some(header) = &header {
                text.push_str(header);
            }
            let end = symbol.address.wrapping_add(symbol.size);
            let mut size = None;
            if symbol.size != 0 {
                let function = matches!(symbol.kind, SymbolKind::Func | SymbolKind::HSA_KERNEL);
                if code && function && inside(end) {
                    size = Some(format!(
                        "{LABEL}func_end{ends}:\n\t.size {name}, {LABEL}func_end{ends}-{name}\n"
                    ));
                    ends += 1;
                } else {
                    let _ = writeln!(text, "\t.size {name}, {}", symbol.size);
                }
            }
            let mark = self.marks[section].entry(symbol.address).or_default();
            mark.text.push_str(&text);
            if header.is_some() {
                mark.until = Some(symbol.address + KERNEL_CODE as u64);
                mark.padding = false;
            }
            // A branch to a symbol that others see would be left to the linker.
            if mark.name.is_none() && (self.loadable || symbol.binding == Binding::Local) {
                mark.name = Some(name);
            }
            if let Some(size) = size {
                // It ends before others begin.
                let mark = self.marks[section].entry(end).or_default();
                mark.text.insert_str(0, &size);
            }
        }
    }

    /// Where the code before a kernel is padding that `.p2align 8` makes, it is not printed.
    /// `own` is where the function before ends.
    fn pass_over_padding(&mut self, section: usize, own: u64, address: u64) {
        const NOP: u32 = 0xbf80_0000;
        let base = self.base(section);
        let bytes = self.object.section_data(section);
        let mut at = (address - base) as usize;
        let end = at;
        while at >= 4 && bytes.get(at - 4..at) == Some(&NOP.to_le_bytes()[..]) && end - at < 252 {
            at -= 4;
        }
        let from = base + at as u64;
        // What is a function's own is no padding, and neither is what has a label.
        let from = from.max(own);
        let free = |marks: &Marks| marks.range(from + 1..address).next().is_none();
        if from < address && from.is_multiple_of(4) && free(&self.marks[section]) {
            let mark = self.marks[section].entry(from).or_default();
            mark.until = Some(address);
            mark.padding = true;
        }
    }

    /// Comments with source lines.
    fn place_lines(&mut self) {
        let Some(lines) = self.options.lines else {
            return;
        };
        for &section in &self.shown {
            let (base, end) = (self.base(section), self.section(section).size);
            if !self.section(section).flags.exec() {
                continue;
            }
            for (address, text) in lines.of(section, base, base.saturating_add(end)) {
                if !(address - base).is_multiple_of(4) {
                    continue;
                }
                let mark = self.marks[section].entry(address).or_default();
                for line in text.lines() {
                    let _ = writeln!(mark.text, "\t// {line}");
                }
            }
        }
    }

    /// The directives before everything else.
    fn head(&self, out: &mut String) {
        let object = self.object;
        header(out, self.options.style);
        let version = object.version;
        // Before v3 names of their own stood for features.
        let id = match object.version {
            Version::V2 => object.target.full(Abi {
                os: object.os,
                version: Version::V3,
            }),
            _ => object.target_id(),
        };
        let plus = id.contains('+') && !id.contains(':');
        let known = self.notes.as_ref().and_then(|notes| notes.known);
        // Versions before v4 read the target's id their way, so they must be known before it.
        let known = match known {
            Some(Version::V2) => Some(Version::V2),
            Some(Version::V3) if !plus => None,
            None if plus => Some(Version::V3),
            None => Some(Version::V4),
            known => known,
        };
        // Other systems' files have no version, but where it is not said features may be on or off.
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
        out.push_str(".gcn_permissive\n");
    }

    /// Whether the notes are made before other sections than the code.
    fn notes_first(&self, notes: &Notes) -> bool {
        let before = self.shown.iter().filter(|i| **i < notes.section).count();
        match self.loadable {
            true => self.section(notes.section).flags.alloc(),
            false => before <= 1,
        }
    }

    /// Who sees which symbol, in the order of the table, which becomes that of the tables that are
    /// made from this.
    fn declarations(&self, out: &mut String) {
        let kernels: HashMap<&str, &Kernel> = self
            .blocks
            .values()
            .map(|k| (k.name.as_str(), *k))
            .collect();
        for n in self.order() {
            let (symbol, name) = (&self.table[n], &self.names[n]);
            if name.is_empty() || !self.has(symbol) {
                continue;
            }
            match symbol.binding {
                Binding::Weak => writeln!(out, ".weak {name}"),
                // What is hidden becomes local when it is linked.
                Binding::Local if !(self.loadable && hidden(symbol)) => {
                    writeln!(out, ".local {name}")
                }
                _ => writeln!(out, ".globl {name}"),
            }
            .ok();
            let visibility = match kernels.get(symbol.name.as_str()) {
                // The descriptor's block makes the code protected, and its symbol like the code's.
                Some(kernel) => {
                    let kd = self.find(&format!("{}.kd", kernel.name));
                    match (symbol.visibility, kd.map(|kd| kd.visibility)) {
                        (Visibility::Protected, Some(Visibility::Default)) => Visibility::Default,
                        (own, _) => own,
                    }
                }
                None => symbol.visibility,
            };
            if unquoted(name) != symbol.name {
                let _ = writeln!(out, ".gcn_rename {name}, \"{}\"", symbol.name);
            }
            // A block's symbol has the code's.
            let of_block =
                (symbol.name.strip_suffix(".kd")).is_some_and(|n| kernels.contains_key(n));
            if !of_block {
                out.push_str(&visible(visibility, name));
            }
            match symbol.section {
                SymbolSection::Absolute => {
                    let _ = writeln!(out, ".set {name}, {:#x}", symbol.address);
                    if symbol.size != 0 {
                        let _ = writeln!(out, ".size {name}, {}", symbol.size);
                    }
                }
                SymbolSection::Lds => {
                    // Its value is its alignment.
                    let align = power_of_two(symbol.address);
                    let _ = writeln!(out, ".amdgpu_lds {name}, {}, {align}", symbol.size);
                }
                SymbolSection::Common => {
                    let align = symbol.address.max(1);
                    let _ = writeln!(
                        out,
                        ".comm {name}, {}, {}",
                        symbol.size,
                        align.trailing_zeros()
                    );
                }
                _ => {}
            }
        }
    }

    /// The symbols in the order in which they came to the table. A linker puts hidden ones before
    /// the others, and only their names are where they were.
    fn order(&self) -> Vec<usize> {
        let table: Vec<usize> = (0..self.table.len()).collect();
        let symtab = (self.object.sections.iter()).position(|s| s.kind == SectionKind::SYMTAB);
        let (true, Some(symtab)) = (self.loadable, symtab) else {
            return table;
        };
        let entries = self.object.section_data(symtab).chunks_exact(24);
        let names: Vec<u32> = entries
            .map(|entry| u32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]))
            .collect();
        if names.len() != table.len() {
            return table;
        }
        let mut order = table.clone();
        order.sort_by_key(|n| names[*n]);
        // Local ones are also sorted by their files, of which nothing is known.
        let seen = |order: &[usize]| -> Vec<usize> {
            let others = |n: &&usize| self.table[**n].binding != Binding::Local;
            order.iter().filter(others).copied().collect()
        };
        match seen(&order) == seen(&table) {
            true => order,
            false => table,
        }
    }

    /// Whether the source has a symbol.
    fn has(&self, symbol: &Symbol) -> bool {
        match symbol.section {
            SymbolSection::Index(i) => self.is_shown[i],
            _ => true,
        }
    }

    /// What is beside the code and data: where sections are that the linker would put elsewhere.
    fn places(&self) -> String {
        let mut out = String::new();
        if !self.loadable {
            return out;
        }
        let mut builder = self.builder();
        let wanted: Vec<(&str, u64)> = (self.object.sections.iter())
            .filter(|s| s.flags.alloc() && s.size != 0)
            .map(|s| (s.name.as_str(), s.address))
            .collect();
        for _ in 0..=wanted.len().min(MOST_PLACES) {
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

    /// What the assembler will give the linker, as far as addresses depend on it.
    fn builder(&self) -> write::Builder {
        let object = self.object;
        let mut builder = write::Builder::new(object.target, object.abi());
        let mut numbers = vec![None; object.sections.len()];
        let notes = self.notes.iter().map(|notes| notes.section);
        for i in notes.chain(self.shown.iter().copied()) {
            let section = self.section(i);
            let data = match section.kind {
                SectionKind::NOBITS => Vec::new(),
                _ => object.section_data(i).to_vec(),
            };
            numbers[i] = Some(builder.section(write::Section {
                name: section.name.clone(),
                kind: section.kind,
                flags: section.flags,
                align: power_of_two(section.align),
                entry_size: section.entry_size,
                size: section.size,
                data,
            }));
        }
        let mut symbols = vec![None; self.table.len()];
        for (n, symbol) in self.table.iter().enumerate() {
            if self.names[n].is_empty() || !self.has(symbol) {
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
        for (&i, number) in self.shown.iter().filter_map(|i| Some((i, numbers[*i]?))) {
            for &offset in self.words[i].keys() {
                let found = (object.relocations.iter()).find(|r| r.offset == offset);
                let symbol = found
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

    fn write(&self, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let mut text = String::new();
        self.head(&mut text);
        text.push_str(&self.places());
        text.push('\n');
        self.declarations(&mut text);
        text.push_str(&self.settings);
        let note = self.notes.as_ref().map(|notes| notes.section);
        let mut metadata_done = false;
        for &index in &self.shown {
            // Its place among the sections is kept, but for that of loaded ones, which is the linker's
            // business.
            let place = |note: usize| {
                let sorted = self.loadable
                    && (self.section(note).flags.alloc() || self.section(index).flags.alloc());
                !sorted && note < index
            };
            if !metadata_done && note.is_some_and(place) {
                self.metadata(&mut text);
                metadata_done = true;
            }
            out.write_all(text.as_bytes())?;
            text.clear();
            self.section_head(index, &mut text);
            self.section_body(index, &mut text, out)?;
        }
        if !metadata_done {
            self.metadata(&mut text);
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
        out.write_all(text.as_bytes())
    }

    fn section_head(&self, index: usize, out: &mut String) {
        let section = self.section(index);
        out.push('\n');
        let plain = section.kind == SectionKind::PROGBITS && section.flags == SectionFlags::CODE;
        let first = self.object.section(".text") == Some(index);
        if section.name == ".text" && plain && first {
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
            let flags: String = (letters.iter())
                .filter(|(bit, _)| section.flags.0 & bit != 0)
                .map(|(_, letter)| letter)
                .collect();
            let kind = match section.kind {
                SectionKind::PROGBITS => "progbits".into(),
                SectionKind::NOBITS => "nobits".into(),
                SectionKind::NOTE => "note".into(),
                SectionKind(n) => format!("{n:#x}"),
            };
            let name = section_name(&section.name);
            let _ = write!(out, ".section {name},\"{flags}\",@{kind}");
            if section.entry_size != 0 {
                let _ = write!(out, ",{}", section.entry_size);
            }
            let group = |index: usize| {
                let groups = &self.object.groups;
                groups
                    .iter()
                    .position(|group| group.members.contains(&index))
            };
            let own = group(index);
            if let Some(group) = own.map(|n| &self.object.groups[n]) {
                let name = self.table.get(group.signature).map_or("", |s| &s.name);
                let comdat = if group.flags & 1 != 0 { ",comdat" } else { "" };
                let _ = write!(out, ",{}{comdat}", quoted(name));
            }
            // Sections that share a name are told apart by a number.
            let same = |i: &&usize| {
                **i < index && self.section(**i).name == section.name && group(**i) == own
            };
            let before = self.shown.iter().filter(same).count();
            if before != 0 && !self.loadable {
                let _ = write!(out, ",unique,{before}");
            }
            out.push('\n');
        }
        let align = power_of_two(section.align);
        if align > 1 {
            let _ = writeln!(out, ".p2align {}", align.trailing_zeros());
        }
    }

    /// The section's bytes. `text` is what was not written yet.
    fn section_body(
        &self,
        index: usize,
        text: &mut String,
        out: &mut (dyn Write + Send),
    ) -> io::Result<()> {
        let section = self.section(index);
        let bytes = self.object.section_data(index);
        if section.kind == SectionKind::NOBITS {
            self.zeros(index, text);
        } else if section.flags.exec() {
            out.write_all(text.as_bytes())?;
            text.clear();
            let prefix = self.prefix(index);
            let (marks, fixes) = (&self.marks[index], &self.fixes[index]);
            Listing::labelled(
                self.target,
                bytes,
                section.address,
                self.options.style,
                self.options.show,
                marks,
                fixes,
                &prefix,
            )
            .write(self.options.threads.max(1), out)?;
            if bytes.is_empty()
                && let Some(mark) = marks.get(&section.address)
            {
                text.push_str(&mark.text);
            }
        } else {
            self.data(index, 0..bytes.len(), text, out)?;
        }
        Ok(())
    }

    /// A section of zeros that takes no room in the file.
    fn zeros(&self, index: usize, out: &mut String) {
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

    /// Data: kernel descriptors as directives, addresses as their symbols, text as strings, the
    /// rest as numbers.
    fn data(
        &self,
        index: usize,
        range: std::ops::Range<usize>,
        text: &mut String,
        out: &mut (dyn Write + Send),
    ) -> io::Result<()> {
        let section = self.section(index);
        let base = section.address;
        let bytes = self.object.section_data(index);
        let strings = section.flags.0 & 0x20 != 0 && section.entry_size == 1;
        let starts: BTreeSet<u64> = (self.blocks.range((index, 0)..(index + 1, 0)))
            .map(|((_, address), _)| *address)
            .collect();
        let (marks, words) = (&self.marks[index], &self.words[index]);
        let mut at = range.start;
        while at < range.end {
            if text.len() > 1 << 16 {
                out.write_all(text.as_bytes())?;
                text.clear();
            }
            let address = base + at as u64;
            if let Some(mark) = marks.get(&address) {
                text.push_str(&mark.text);
            }
            if let Some(kernel) = self.blocks.get(&(index, address))
                && bytes.len() - at >= 64
            {
                self.block(kernel, text);
                at += 64;
                continue;
            }
            let next = [
                marks.range(address + 1..).next().map(|(a, _)| *a),
                starts.range(address + 1..).next().copied(),
                words.range(address + 1..).next().map(|(a, _)| *a),
            ];
            let next = next.into_iter().flatten().min();
            let next = next.map_or(range.end, |a| ((a - base) as usize).min(range.end));
            if let Some((width, expression)) = words.get(&address)
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
            at += plain_data(&bytes[at..next], strings, text);
        }
        let end = base + range.end as u64;
        if range.end == bytes.len()
            && let Some(mark) = marks.get(&end)
        {
            text.push_str(&mark.text);
        }
        Ok(())
    }

    /// A kernel's descriptor.
    fn block(&self, kernel: &Kernel, out: &mut String) {
        let directives = descriptor::directives(&kernel.descriptor, &self.object.target);
        let _ = writeln!(out, "\n.amdhsa_kernel {}", quoted(&kernel.name));
        for (name, value) in directives.into_iter().flatten() {
            let _ = writeln!(out, "\t{name} {value}");
        }
        out.push_str(".end_amdhsa_kernel\n");
        // The block's symbol is made like that of the code, which it may not be.
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
            out.push_str(&visible(kd.visibility, &name));
        }
    }

    fn metadata(&self, out: &mut String) {
        if let Some(notes) = &self.notes {
            if !self.notes_first(notes) {
                out.push_str(&notes.isa);
            }
            out.push_str(&notes.metadata);
        }
    }

    /// One symbol's code or data.
    fn write_one(mut self, name: &str, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let found = self.table.iter().position(|s| s.name == name);
        let Some(n) = found.filter(|n| !self.names[*n].is_empty()) else {
            let near: Vec<&str> = (self.table.iter())
                .filter(|s| s.name.contains(name) && !s.name.is_empty())
                .map(|s| s.name.as_str())
                .take(5)
                .collect();
            let hint = match near.is_empty() {
                true => String::new(),
                false => format!("; there are {}", near.join(", ")),
            };
            return Err(invalid(format!("there is no symbol `{name}`{hint}")));
        };
        let symbol = self.table[n].clone();
        let SymbolSection::Index(index) = symbol.section else {
            return Err(invalid(format!("`{name}` has neither code nor data here")));
        };
        if !self.shown.contains(&index) {
            let section = &self.section(index).name;
            return Err(invalid(format!(
                "`{name}` is in {section}, which is not shown"
            )));
        }
        let (base, section_end) = (
            self.base(index),
            self.base(index) + self.section(index).size,
        );
        let start = symbol.address.clamp(base, section_end);
        let mut end = start.saturating_add(symbol.size).min(section_end);
        if symbol.size == 0 {
            // As far as the next one.
            end = (self.table.iter())
                .filter(|s| s.section == symbol.section && s.address > start)
                .map(|s| s.address)
                .fold(section_end, u64::min);
        }
        // Lines of the others are not this one's.
        let own = |address: u64| (start..=end).contains(&address);
        for marks in &mut self.marks {
            marks.retain(|address, _| own(*address));
        }
        if let Some(mark) = self.marks[index].get_mut(&end) {
            let last = mark.text.find(&format!("-{}\n", self.names[n]));
            let length = last.map_or(0, |at| at + self.names[n].len() + 2);
            mark.text.truncate(length);
            mark.until = None;
        }
        let kernel =
            (self.object.kernels.iter()).find(|k| k.name == name && k.entry == symbol.address);
        self.keep_references(index, start, end);
        let mut text = String::new();
        self.head(&mut text);
        text.push('\n');
        self.declare_used(n, index, start, end, &mut text);
        self.section_head(index, &mut text);
        let code = self.section(index).flags.exec();
        if self.section(index).kind == SectionKind::NOBITS {
            let _ = writeln!(text, "{}:\n\t.zero {}", self.names[n], end - start);
        } else if code {
            out.write_all(text.as_bytes())?;
            text.clear();
            let bytes = self.object.section_data(index);
            let from = (start - base) as usize;
            let bytes = &bytes[from..(end - base) as usize];
            let prefix = self.prefix(index);
            Listing::labelled(
                self.target,
                bytes,
                start,
                self.options.style,
                self.options.show,
                &self.marks[index],
                &self.fixes[index],
                &prefix,
            )
            .write(1, out)?;
        } else {
            let range = (start - base) as usize..(end - base) as usize;
            self.data(index, range, &mut text, out)?;
            text.push('\n');
        }
        if let Some(kernel) = kernel {
            let place = self.blocks.iter().find(|(_, k)| k.name == kernel.name);
            if let Some((&(section, _), _)) = place {
                self.section_head(section, &mut text);
                self.block(kernel, &mut text);
            }
            if let Some(yaml) = self.object.note().and_then(|note| metadata_of(note, name)) {
                let yaml = yaml.trim_end();
                let _ = writeln!(text, "\n.amdgpu_metadata\n{yaml}\n.end_amdgpu_metadata");
            }
        }
        out.write_all(text.as_bytes())
    }

    /// Drops expressions whose labels are not in what is printed.
    fn keep_references(&mut self, index: usize, start: u64, end: u64) {
        let inside = |name: &str| {
            let hex = name.strip_prefix(LABEL).unwrap_or("");
            let hex = hex.rsplit_once('_').map_or(hex, |(_, hex)| hex);
            u64::from_str_radix(hex, 16).is_ok_and(|a| (start..end).contains(&a))
        };
        let keep = |expression: &String| {
            let name = expression.split(['@', '+', '-']).next().unwrap_or("");
            !name.starts_with(LABEL) || inside(name)
        };
        self.fixes[index].retain(|at, expression| (start..end).contains(at) && keep(expression));
        self.words[index]
            .retain(|at, (_, expression)| (start..end).contains(at) && keep(expression));
    }

    /// Declares a symbol and those that its expressions name.
    fn declare_used(&mut self, n: usize, index: usize, start: u64, end: u64, out: &mut String) {
        let mut used: BTreeSet<&str> = BTreeSet::new();
        let expressions = (self.fixes[index].range(start..end).map(|(_, e)| e.as_str())).chain(
            self.words[index]
                .range(start..end)
                .map(|(_, (_, e))| e.as_str()),
        );
        for expression in expressions {
            let name = expression.split(['@', '+', '-']).next().unwrap_or("");
            if !name.starts_with(LABEL) {
                used.insert(name);
            }
        }
        let (name, symbol) = (&self.names[n], &self.table[n]);
        let _ = match symbol.binding {
            Binding::Weak => writeln!(out, ".weak {name}"),
            Binding::Local if !hidden(symbol) => writeln!(out, ".local {name}"),
            _ => writeln!(out, ".globl {name}"),
        };
        out.push_str(&visible(symbol.visibility, name));
        for other in used.into_iter().filter(|other| other != name) {
            let _ = writeln!(out, ".globl {other}");
        }
    }
}

/// The `amd_kernel_code_t` that a kernel begins with, as directives, or as numbers where none make it.
fn kernel_code(bytes: &[u8; KERNEL_CODE], object: &CodeObject) -> String {
    let mut out = String::new();
    match KernelCode::from_bytes(*bytes).lines(object.target.machine) {
        Some(lines) => {
            out.push_str("\t.amd_kernel_code_t\n");
            for (name, value) in lines {
                let _ = writeln!(out, "\t\t{name} = {value}");
            }
            out.push_str("\t.end_amd_kernel_code_t\n");
        }
        None => {
            for line in bytes.chunks_exact(32) {
                plain_data(line, false, &mut out);
            }
        }
    }
    out
}

/// How the source calls each symbol; empty for those that it leaves to the linker.
fn names(table: &[Symbol]) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    let mut names = Vec::with_capacity(table.len());
    let all: HashSet<&str> = table.iter().map(|s| s.name.as_str()).collect();
    for symbol in table {
        let made = symbol.name.is_empty()
            || matches!(symbol.kind, SymbolKind::Section | SymbolKind::File)
            || symbol.name == "_DYNAMIC";
        if made {
            names.push(String::new());
            continue;
        }
        let mut name = symbol.name.clone();
        // Local symbols of several files may share a name, which source cannot have.
        let mut n = 1;
        while taken.contains(&name) || n > 1 && all.contains(name.as_str()) {
            n += 1;
            name = format!("{}.{n}", symbol.name);
        }
        taken.insert(name.clone());
        names.push(quoted(&name));
    }
    names
}

fn hidden(symbol: &Symbol) -> bool {
    matches!(symbol.visibility, Visibility::Hidden | Visibility::Internal)
}

fn visible(visibility: Visibility, name: &str) -> String {
    match visibility {
        Visibility::Protected => format!(".protected {name}\n"),
        Visibility::Hidden => format!(".hidden {name}\n"),
        Visibility::Internal => format!(".internal {name}\n"),
        Visibility::Default => String::new(),
    }
}

fn with_addend(expression: &str, addend: i64) -> String {
    match addend {
        0 => expression.to_string(),
        addend => format!("{expression}{addend:+}"),
    }
}

fn section_name(name: &str) -> String {
    let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.');
    match name.starts_with('.') && name.bytes().all(plain) {
        true => name.to_string(),
        false => format!("\"{name}\""),
    }
}

fn power_of_two(align: u64) -> u64 {
    match align.is_power_of_two() {
        true => align,
        false => 1,
    }
}

/// The metadata of one kernel as text.
fn metadata_of(note: &[u8], name: &str) -> Option<String> {
    let mut value = metadata::decode(note).ok()?;
    if let metadata::Value::Map(pairs) = &mut value {
        for (key, value) in pairs.iter_mut() {
            if key.as_str() != Some("amdhsa.kernels") {
                continue;
            }
            if let metadata::Value::Array(kernels) = value {
                let symbol = format!("{name}.kd");
                kernels.retain(|kernel| {
                    let pairs = kernel.as_map().map_or(&[][..], Vec::as_slice);
                    (pairs.iter()).any(|(key, value)| {
                        key.as_str() == Some(".symbol") && value.as_str() == Some(&symbol)
                    })
                });
            }
        }
    }
    metadata::to_yaml(&value).ok()
}

/// One directive's worth of data without labels; gives how many bytes it is.
fn plain_data(bytes: &[u8], strings: bool, out: &mut String) -> usize {
    let zeros = bytes.iter().take_while(|b| **b == 0).count();
    if zeros >= 16 || zeros == bytes.len() && zeros > 1 {
        // Words go on where words stop.
        let zeros = if zeros == bytes.len() {
            zeros
        } else {
            zeros & !7
        };
        out.push_str("\t.zero ");
        push_dec(out, zeros as u64);
        out.push('\n');
        return zeros;
    }
    if let Some(length) = string_length(bytes, strings) {
        let ended = bytes.get(length) == Some(&0);
        out.push_str(if ended { "\t.asciz \"" } else { "\t.ascii \"" });
        escaped(&bytes[..length], out);
        out.push_str("\"\n");
        return length + ended as usize;
    }
    let count = bytes.len().min(32);
    // A text or zeros may begin within: there the numbers end.
    let end = (8..count)
        .step_by(8)
        .find(|n| {
            let rest = &bytes[*n..];
            string_length(rest, strings).is_some()
                || rest.len() >= 16 && rest[..16].iter().all(|b| *b == 0)
        })
        .unwrap_or(count);
    let numbers = &bytes[..end];
    let (width, directive) = match numbers.len() {
        0..=3 => (1, "\t.byte "),
        4..=7 => (4, "\t.long "),
        _ => (8, "\t.quad "),
    };
    out.push_str(directive);
    let mut done = 0;
    for number in numbers.chunks_exact(width) {
        if done != 0 {
            out.push_str(", ");
        }
        let value = number.iter().rev().fold(0, |v, b| v << 8 | *b as u64);
        push_hex(out, value);
        done += width;
    }
    out.push('\n');
    done
}

/// How long a text is that data begins with, without its end; `None` where it does not look like one.
fn string_length(bytes: &[u8], strings: bool) -> Option<usize> {
    const MOST: usize = 1 << 12;
    let printed = |b: &u8| (0x20..0x7f).contains(b) || matches!(b, b'\n' | b'\t');
    if strings {
        let length = bytes.iter().take(MOST).take_while(|b| **b != 0).count();
        return Some(length);
    }
    let length = bytes.iter().take(MOST).take_while(|b| printed(b)).count();
    let ended = length == MOST || bytes.get(length) == Some(&0);
    (length >= 6 && ended).then_some(length)
}

fn escaped(bytes: &[u8], out: &mut String) {
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(byte as char);
            }
            b'\n' => out.push_str("\\n"),
            b'\t' => out.push_str("\\t"),
            0x20..0x7f => out.push(byte as char),
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
}

/// Finds literals that are added, low and high half, to an address that an instruction got from the
/// program counter.
fn pairs(target: Target, bytes: &[u8], base: u64) -> Vec<Pair> {
    /// How many instructions after it the additions are looked for.
    const NEAR: usize = 12;
    let decoder = Decoder::new(target);
    let mut facts: HashMap<&'static str, Facts> = HashMap::new();
    let mut pairs = Vec::new();
    // Only rows that were seen are asked, and most of the code is never asked twice.
    let mut keeps: HashMap<*const gcn_isa::Inst, bool> = HashMap::new();
    let mut at = 0;
    while at < bytes.len() {
        let Some(insn) = decoder.decode(&bytes[at..]) else {
            at += 4;
            continue;
        };
        let next = at + insn.len as usize;
        let keeps_pc = !insn.row.format.is_vector()
            && *keeps
                .entry(insn.row)
                .or_insert_with(|| Facts::new(insn.row, target).keeps_pc());
        if !keeps_pc {
            at = next;
            continue;
        }
        let own = Facts::new(insn.row, target);
        let pair = (own.accesses(&insn))
            .find(|a| a.write && a.file == File::Scalar && a.count == 2 && !a.anywhere);
        let (mut low, mut high) = (None, None);
        let mut place = next;
        if let Some(pair) = pair.filter(|_| own.flow(&insn) == gcn_isa::flow::Flow::Next) {
            for _ in 0..NEAR {
                let Some(insn) = bytes.get(place..).and_then(|b| decoder.decode(b)) else {
                    break;
                };
                let facts =
                    (facts.entry(insn.row.name)).or_insert_with(|| Facts::new(insn.row, target));
                if facts.flow(&insn) != gcn_isa::flow::Flow::Next {
                    break;
                }
                let plain = layout_of(insn.encoding, insn.generation()).map_or(8, |l| l.bytes);
                let literal = insn.len > plain;
                let touches = |n: u16, write: bool| {
                    (facts.accesses(&insn)).any(|a| a.write == write && a.touches(File::Scalar, n))
                };
                let place_of = (place as u64 + 4, insn.literal);
                let mut spoiled = false;
                for (n, half) in [(pair.first, &mut low), (pair.first + 1, &mut high)] {
                    if touches(n, true) {
                        match half {
                            None if literal && touches(n, false) => *half = Some(place_of),
                            _ => spoiled = true,
                        }
                    }
                }
                if spoiled || low.is_some() && high.is_some() {
                    break;
                }
                place += insn.len as usize;
            }
        }
        if let (Some((low_at, low)), Some((high_at, high))) = (low, high)
            && low_at != high_at
        {
            let pc = base.wrapping_add(next as u64);
            let distance = (high as u64) << 32 | low as u64;
            pairs.push(Pair {
                low: base.wrapping_add(low_at),
                high: base.wrapping_add(high_at),
                pc,
                to: pc.wrapping_add(distance),
            });
        }
        at = next;
    }
    pairs
}
