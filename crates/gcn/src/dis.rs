//! `gcn dis`: bytes to source.
//!
//! The source of a code object assembles to the same sections at the same addresses. The linker's sections (symbol and hash
//! tables, the dynamic section, the global offset table) are rebuilt from the symbols and relocations in the source;
//! `docs/dis.md` lists the preserved parts.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};

use foldhash::{HashMap, HashMapExt, HashSet, HashSetExt};
use gcn_asm::KnownMetadata;
use gcn_isa::Target;
use gcn_isa::access::{File, InstructionInfo};
use gcn_isa::decode::Decoder;
use gcn_isa::format::layout_of;
use gcn_isa::print::{Style, Syntax, push_dec};
use gcn_object::descriptor;
use gcn_object::kernel_code::KernelCode;
use gcn_object::metadata;
use gcn_object::read::{CodeObject, FileKind, KERNEL_CODE, Kernel, Relocation, Section, Symbol};
use gcn_object::target::{Abi, Os};
use gcn_object::{
    Binding, RelocationKind, SectionFlags, SectionKind, SymbolKind, SymbolSection, Version,
    Visibility,
};

mod data;
mod layout;
mod lost;
mod names;
mod notes;
mod one;
mod pairs;
mod references;
mod symbols;
mod write;

use data::*;
pub use lost::lost;
pub use names::quoted;
use names::*;
use notes::*;
use pairs::*;

use crate::lines::Lines;
use crate::listing::{Fixes, Labels, Listing, Marks, Outline, Scratch, slot_of};
use crate::ordered;

/// The parts of the listing that are optional.
#[derive(Clone, Copy, Default)]
pub struct Show {
    /// A comment with the address and the words of each instruction.
    pub encoding: bool,
}

/// The options of disassembling a code object.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The syntax.
    pub style: Style,
    /// The comments after instructions.
    pub show: Show,
    /// The number of threads that print code; 0 and 1 mean the caller's thread only.
    pub threads: usize,
    /// Leaves out sections that are not loaded (`.debug_*`, `.comment`).
    pub loaded_only: bool,
    /// The line table, for comments with source lines.
    pub lines: Option<&'a Lines>,
}

impl Options<'_> {
    /// Options that print everything on the caller's thread.
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

/// The prefix of the labels of branch targets; their address follows.
pub const LABEL: &str = ".L";

/// The directives at the start of the source of raw bytes.
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

/// Returns the target of an object's instructions.
///
/// # Errors
/// A message if the target is unknown.
pub fn target_of(object: &CodeObject) -> Result<Target, String> {
    Target::parse(object.target_name())
        .ok_or_else(|| format!("{} is no gfx6 to gfx9 target", object.target_name()))
}

/// Writes a code object as source. [`lost()`] returns the parts that the source cannot reproduce.
///
/// # Errors
/// Errors of `out`; an error of kind `InvalidData` if the object's target is unknown.
pub fn object(
    object: &CodeObject,
    options: &Options,
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    Reading::new(object, options.loaded_only, options.threads)?.write(options, out)
}

/// When to check that the source assembles to the same file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Proof {
    /// Before anything is written.
    First,
    /// While the source is written to an output that can be discarded.
    Beside,
    /// At any time: the source is written even if the check fails.
    Lossy,
}

/// The analysis of a code object, shared by its source and the check that the source reproduces the object.
pub struct Reading<'a> {
    source: Source<'a>,
}

impl<'a> Reading<'a> {
    /// Analyzes an object. With `loaded_only`, sections that are not loaded are left out.
    ///
    /// # Errors
    /// An error of kind `InvalidData` if the object's target is unknown or it has no sections.
    pub fn new(
        object: &'a CodeObject,
        loaded_only: bool,
        threads: usize,
    ) -> io::Result<Reading<'a>> {
        let target = checked_target(object)?;
        let options = Options {
            loaded_only,
            threads: useful_threads(object, threads),
            ..Options::new(Style::LLVM)
        };
        let source = Source::read(object, target, options);
        Ok(Reading { source })
    }

    /// See [`lost()`].
    ///
    /// # Errors
    /// See [`lost()`].
    pub fn lost(&self) -> io::Result<Vec<String>> {
        lost::lost_of(&self.source.clone().finished(true))
    }

    /// Like [`object`].
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(self, options: &Options<'a>, out: &mut (dyn Write + Send)) -> io::Result<()> {
        let threads = options.threads;
        let source = self.under(options).finished(false);
        let plan = source.plan();
        ordered::write(
            threads,
            0,
            out,
            || source.scratch(),
            |n, scratch, out| match n < plan.len() {
                true => source.piece(&plan, n, scratch, out).map(|()| true),
                false => Ok(false),
            },
        )
    }

    /// Does [`Reading::lost`] and [`Reading::write`] concurrently on [`Options::threads`] threads. Returns the losses. If there
    /// are any, nothing is written, or an unfinished text with [`Proof::Beside`], or the complete text with [`Proof::Lossy`].
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write_proven(
        self,
        options: &Options<'a>,
        proof: Proof,
        out: &mut (dyn Write + Send),
    ) -> io::Result<Vec<String>> {
        let lost = OnceLock::new();
        let (source, plan) = (OnceLock::new(), OnceLock::new());
        let threads = useful_threads(self.source.object, options.threads);
        let written = ordered::write(
            threads,
            (proof != Proof::First) as usize,
            out,
            || Scratch::new(self.source.target, options.style),
            |n, scratch, out| {
                // Part 0 is the check; the pieces follow.
                let Some(n) = n.checked_sub(1) else {
                    return match lost.get_or_init(|| self.lost()) {
                        Ok(lost) if lost.is_empty() || proof == Proof::Lossy => Ok(true),
                        _ => Err(invalid("the source is not proven".into())),
                    };
                };
                let source = source.get_or_init(|| self.under(options).finished(false));
                let plan = plan.get_or_init(|| source.plan());
                match n < plan.len() {
                    true => source.piece(plan, n, scratch, out).map(|()| true),
                    false => Ok(false),
                }
            },
        );
        match lost.into_inner() {
            Some(Ok(lost)) if lost.is_empty() || proof == Proof::Lossy => written.map(|()| lost),
            Some(lost) => lost,
            // The output failed before.
            None => written.map(|()| Vec::new()),
        }
    }

    /// Returns the source with other options.
    fn under(&self, options: &Options<'a>) -> Source<'a> {
        let mut source = self.source.clone();
        source.options = Options {
            loaded_only: source.options.loaded_only,
            ..*options
        };
        source
    }
}

/// Writes one kernel, or one symbol's code or data, as source that assembles on its own. References to other symbols are
/// to undefined symbols.
///
/// # Errors
/// See [`object`]; also if there is no such symbol.
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

/// Returns the target of an object after checking that it has sections and that they are within the address space.
fn checked_target(object: &CodeObject) -> io::Result<Target> {
    if object.sections.is_empty() {
        return Err(invalid(
            "the file has no section headers, which source is made from".into(),
        ));
    }
    within_address_space(object)?;
    target_of(object).map_err(invalid)
}

/// Checks that all addresses of an object's sections are less than 2^64.
///
/// # Errors
/// An error of kind `InvalidData` that names the section.
pub(crate) fn within_address_space(object: &CodeObject) -> io::Result<()> {
    for section in &object.sections {
        if section.address.checked_add(section.size).is_none() {
            return Err(invalid(format!(
                "section '{}' ends beyond the address space",
                section.name
            )));
        }
    }
    Ok(())
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Returns the symbol table that the source uses.
pub fn symbols(object: &CodeObject) -> &[Symbol] {
    match object.symbols.is_empty() {
        true => &object.dynamic_symbols,
        false => &object.symbols,
    }
}

/// Returns the symbol with code or data of a name. The name may be a C++ function's (`square` for `_Z6squarePfPKfi`) if
/// only one symbol fits.
///
/// # Errors
/// A message with similar names.
pub fn symbol_named<'a>(object: &'a CodeObject, name: &str) -> Result<&'a str, String> {
    let defined = |s: &&Symbol| matches!(s.section, SymbolSection::Index(_)) && !s.name.is_empty();
    named(
        symbols(object)
            .iter()
            .filter(defined)
            .map(|s| s.name.as_str()),
        name,
    )
    .map_err(|near| {
        let kernels = object.kernels.iter().map(|k| k.name.clone());
        let kernels: Vec<String> = kernels.take(20).collect();
        let have = match near.is_empty() && !kernels.is_empty() {
            true => format!("; its kernels are {}", crate::cpp::list(&kernels)),
            false => near,
        };
        format!("there is no symbol `{name}`{have}")
    })
}

/// Returns the kernel of an object that has only one.
///
/// # Errors
/// A message that lists the kernels.
pub fn only_kernel(object: &CodeObject) -> Result<&str, String> {
    match object.kernels.as_slice() {
        [one] => Ok(&one.name),
        [] => Err("it has no kernel; --kernel NAME takes a function's name, too".into()),
        many => {
            let names: Vec<String> = many.iter().map(|k| k.name.clone()).collect();
            Err(format!(
                "it has several kernels; --kernel names one of: {}",
                crate::cpp::list(&names)
            ))
        }
    }
}

/// Prints only the code of an object's executable sections, or of one symbol, one instruction per line. The 256 bytes
/// before a kernel of code object v2, which are data, are printed as `.long`.
///
/// # Errors
/// Errors of `out`; an error of kind `InvalidData` if the target is unknown or the symbol has no code.
pub fn plain(
    object: &CodeObject,
    only: Option<&str>,
    options: &Options,
    out: &mut (dyn Write + Send),
) -> io::Result<()> {
    let target = target_of(object).map_err(invalid)?;
    let only = match only {
        None => None,
        Some(name) => {
            let symbol = symbols(object).iter().find(|s| s.name == name);
            let extent = symbol.and_then(|symbol| crate::dot::extent(object, symbol));
            let missing = || invalid(format!("there is no code of the name `{name}`"));
            Some(extent.ok_or_else(missing)?)
        }
    };
    for (index, section) in object.sections.iter().enumerate() {
        let code = section.flags.exec() && section.kind != SectionKind::NOBITS;
        if !code || only.is_some_and(|(of, ..)| of != index) {
            continue;
        }
        let base = section.address;
        let end = base.saturating_add(section.size);
        let (start, end) = only.map_or((base, end), |(_, start, end)| (start, end));
        let bytes = |from: u64, to: u64| {
            let range = (from - base) as usize..(to - base) as usize;
            object.section_data(index).get(range).unwrap_or_default()
        };
        let mut headers: Vec<u64> = (object.kernels.iter())
            .filter(|k| k.kernel_code.is_some())
            .filter(|k| k.descriptor_section.is_none_or(|s| s == index))
            .map(|k| k.descriptor_address)
            .filter(|at| (start..end).contains(at))
            .collect();
        headers.sort_unstable();
        let mut at = start;
        for header in headers.into_iter().chain([end]) {
            if header < at {
                continue;
            }
            let listing = Listing::plain(target, bytes(at, header), options.style);
            listing.write(options.threads, out)?;
            at = end.min(header.saturating_add(KERNEL_CODE as u64));
            let mut text = String::new();
            for word in bytes(header, at).chunks(4) {
                let word = word.iter().rev().fold(0u32, |all, b| all << 8 | *b as u32);
                let _ = writeln!(text, "\t.long {word:#010x}");
            }
            out.write_all(text.as_bytes())?;
        }
    }
    Ok(())
}

/// Like [`symbol_named`], for any names. The error is the end of a message.
pub(crate) fn named<'a>(
    names: impl Iterator<Item = &'a str> + Clone,
    wanted: &str,
) -> Result<&'a str, String> {
    if let Some(name) = names.clone().find(|name| *name == wanted) {
        return Ok(name);
    }
    // Itanium mangling puts the length before each name. Names that end in `.kd` are descriptors.
    let mangled = format!("{}{wanted}", wanted.len());
    let is = |name: &&str| {
        let rest = name
            .strip_prefix("_Z")
            .map(|rest| rest.trim_start_matches('N'));
        rest.is_some_and(|rest| rest.contains(&mangled)) && !name.ends_with(".kd")
    };
    let mut fitting = names.clone().filter(is);
    if let (Some(name), None) = (fitting.next(), fitting.next()) {
        return Ok(name);
    }
    let near: Vec<&str> = names.filter(|name| name.contains(wanted)).take(5).collect();
    Err(match near.is_empty() {
        true => String::new(),
        false => format!("; there are {}", near.join(", ")),
    })
}

/// Returns true if the linker makes a section of a loadable file from symbols and relocations.
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

/// A reference to the global offset table, for the linker.
#[derive(Clone)]
struct GotUse {
    section: usize,
    offset: u64,
    symbol: usize,
}

/// A kernel descriptor that directives can express.
#[derive(Clone)]
struct Block<'a> {
    kernel: &'a Kernel,
    /// The lines of its directives.
    directives: Arc<str>,
}

#[derive(Clone)]
struct Source<'a> {
    object: &'a CodeObject,
    target: Target,
    options: Options<'a>,
    table: &'a [Symbol],
    /// The names of symbols in the source; empty for symbols that it does not name.
    names: Arc<Vec<Cow<'a, str>>>,
    /// The index of the first symbol of each name.
    by_name: Arc<ByName>,
    /// The sections in the source, in its order.
    shown: Vec<usize>,
    /// True for each section that is in the source.
    is_shown: Vec<bool>,
    /// By section: its group, and the number of sections of the same name and group before it.
    kinds: Vec<(Option<usize>, usize)>,
    /// The start, end and index of each loaded section, sorted.
    loaded: Vec<(u64, u64, usize)>,
    /// The outlines of the sections' code.
    outlines: Arc<Vec<OnceLock<Arc<Outline>>>>,
    marks: Vec<Marks>,
    fixes: Vec<Fixes>,
    /// By section and address: the size and expression of relocated data.
    words: Vec<BTreeMap<u64, (u8, String)>>,
    notes: Option<Arc<Notes>>,
    /// Kernel descriptors that are blocks of directives, by section and address.
    blocks: BTreeMap<(usize, u64), Block<'a>>,
    /// Kernels that begin with an `amd_kernel_code_t`, by its section and address.
    with_header: HashMap<(Option<usize>, u64), &'a Kernel>,
    /// Definitions of symbols by expressions, for locations that cannot have a label.
    settings: String,
    got_uses: Vec<GotUse>,
    loadable: bool,
    /// Directives that set section addresses.
    addresses: Arc<OnceLock<String>>,
    /// Short source: code and data without symbols and relocations are written as zeros.
    short: bool,
    /// The symbols that short source leaves out.
    left_out: Vec<bool>,
}

/// Limits the number of threads by the size of an object: starting a thread takes as long as printing some code.
fn useful_threads(object: &CodeObject, threads: usize) -> usize {
    const BYTES_PER_THREAD: usize = 1 << 19;
    let sizes = (0..object.sections.len()).map(|n| object.section_data(n).len());
    threads.min(sizes.sum::<usize>() / BYTES_PER_THREAD + 1)
}

/// Returns the results of two functions, which run concurrently if there are two threads or more.
fn beside<A: Send + Sync, B>(
    threads: usize,
    a: impl Fn() -> A + Sync,
    b: impl FnOnce() -> B,
) -> (A, B) {
    let first = OnceLock::new();
    let second = std::thread::scope(|scope| {
        if threads > 1 {
            // If no thread can be started, `a` runs afterwards.
            let find = || {
                first.get_or_init(&a);
            };
            let _ = std::thread::Builder::new().spawn_scoped(scope, find);
        }
        b()
    });
    (first.into_inner().unwrap_or_else(a), second)
}

/// Returns the outline of a section's code, which is made at its first use.
fn outline(
    outlines: &[OnceLock<Arc<Outline>>],
    index: usize,
    target: Target,
    bytes: &[u8],
) -> Arc<Outline> {
    let make = || Arc::new(Outline::new(&Decoder::new(target), bytes));
    (outlines.get(index)).map_or_else(make, |outline| outline.get_or_init(make).clone())
}

/// By section: its group, and the number of sections of the same name and group before it.
fn kinds(object: &CodeObject) -> Vec<(Option<usize>, usize)> {
    let mut groups = vec![None; object.sections.len()];
    for (n, group) in object.groups.iter().enumerate() {
        for &member in &group.members {
            if let Some(group) = groups.get_mut(member) {
                *group = Some(n);
            }
        }
    }
    let mut counts: HashMap<(&str, Option<usize>), usize> = HashMap::new();
    let sections = object.sections.iter().zip(groups);
    sections
        .map(|(section, group)| {
            let count = counts.entry((&section.name, group)).or_default();
            *count += 1;
            (group, *count - 1)
        })
        .collect()
}

impl<'a> Source<'a> {
    pub(super) fn new(object: &'a CodeObject, target: Target, options: Options<'a>) -> Source<'a> {
        Source::read(object, target, options).finished(false)
    }

    /// Does the analysis that the complete and the short source share.
    fn read(object: &'a CodeObject, target: Target, options: Options<'a>) -> Source<'a> {
        let count = object.sections.len();
        let table = symbols(object);
        let (names, by_name) = names(table);
        let loadable = object.kind == FileKind::Loadable;
        let outlines: Vec<_> = (0..count).map(|_| OnceLock::new()).collect();
        // The two are independent.
        let (notes, pairs) = beside(
            options.threads,
            || Notes::new(object).map(Arc::new),
            || match loadable {
                true => all_pairs(object, target, &outlines),
                false => Vec::new(),
            },
        );
        let mut source = Source {
            object,
            target,
            options,
            table,
            names: Arc::new(names),
            by_name: Arc::new(by_name),
            shown: Vec::new(),
            is_shown: vec![false; count],
            kinds: kinds(object),
            loaded: Vec::new(),
            outlines: Arc::new(outlines),
            marks: vec![Marks::new(); count],
            fixes: vec![Fixes::new(); count],
            words: vec![BTreeMap::new(); count],
            notes,
            blocks: BTreeMap::new(),
            with_header: (object.kernels.iter())
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
            loadable,
            addresses: Arc::default(),
            short: false,
            left_out: vec![false; table.len()],
        };
        source.choose_sections();
        source.find_blocks();
        if source.loadable {
            source.code_references(pairs);
            source.dynamic_relocations();
        } else {
            source.relocations();
        }
        source
    }

    /// Adds symbols and source lines to the listing. Short source has zeros for code and data without symbols and relocations.
    fn finished(mut self, short: bool) -> Source<'a> {
        self.short = short;
        if short {
            self.leave_out_labels();
        }
        self.place_symbols();
        self.place_lines();
        self
    }

    pub(super) fn section(&self, index: usize) -> &'a Section {
        &self.object.sections[index]
    }

    pub(super) fn choose_sections(&mut self) {
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
            // Code comes first, as in the output of compilers; the linker sorts sections.
            self.shown.sort_by_key(|i| {
                let flags = object.sections[*i].flags;
                (!flags.alloc(), !flags.exec())
            });
        }
        self.index_shown();
    }

    /// Updates the tables that depend on [`Source::shown`].
    pub(super) fn index_shown(&mut self) {
        self.is_shown.fill(false);
        self.loaded.clear();
        for &i in &self.shown {
            self.is_shown[i] = true;
            let section = &self.object.sections[i];
            if section.flags.alloc() {
                let end = section.address + section.size;
                self.loaded.push((section.address, end, i));
            }
        }
        self.loaded.sort_unstable();
    }

    /// Returns the section that contains an address, or that ends there.
    pub(super) fn section_at(&self, address: u64) -> Option<usize> {
        let after = self.loaded.partition_point(|(start, ..)| *start <= address);
        let mut near = self.loaded[..after].iter().rev().take(2);
        let found = (near.clone())
            .find(|(_, end, _)| address < *end)
            .or_else(|| near.find(|(_, end, _)| address == *end));
        found.map(|(.., i)| *i)
    }

    /// Returns the symbol with a kernel's name at the kernel's entry.
    pub(super) fn code_symbol(&self, kernel: &Kernel) -> Option<usize> {
        let found = self.number_of(&kernel.name)?;
        let symbol = &self.table[found];
        let there = symbol.address == kernel.entry
            && matches!(symbol.section, SymbolSection::Index(i)
                if kernel.entry_section.is_none_or(|s| s == i))
            && self.names[found] == quoted(&kernel.name);
        there.then_some(found)
    }

    pub(super) fn find_blocks(&mut self) {
        for kernel in &self.object.kernels {
            let kd = format!("{}.kd", kernel.name);
            let Some(symbol) = self.find(&kd) else {
                continue;
            };
            let SymbolSection::Index(section) = symbol.section else {
                continue;
            };
            let fits = symbol.size == 64
                && symbol.kind == SymbolKind::Object
                && self.is_shown[section]
                && !self.section(section).flags.exec()
                && self.section(section).kind == SectionKind::PROGBITS
                && self.section(section).align >= 64
                && symbol
                    .address
                    .wrapping_sub(self.base(section))
                    .is_multiple_of(64)
                && self.code_symbol(kernel).is_some();
            if !fits {
                continue;
            }
            if let Some(list) = descriptor::directives(&kernel.descriptor, &self.object.target) {
                let mut directives = String::with_capacity(1024);
                for (name, value) in list {
                    directives.extend(["\t", name, " "]);
                    push_dec(&mut directives, value);
                    directives.push('\n');
                }
                let directives = directives.into();
                let block = Block { kernel, directives };
                self.blocks.insert((section, symbol.address), block);
            }
        }
        // A descriptor with a symbol inside it is written as data.
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
        for block in inside {
            self.blocks.remove(&block);
        }
    }

    /// Returns the first symbol of a name.
    pub(super) fn find(&self, name: &str) -> Option<&'a Symbol> {
        self.number_of(name).map(|n| &self.table[n])
    }

    /// Returns the number of the first symbol of a name.
    fn number_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(self.table, name)
    }

    /// Returns the address of a section's first byte; in relocatable files it is 0.
    pub(super) fn base(&self, section: usize) -> u64 {
        self.section(section).address
    }
}
