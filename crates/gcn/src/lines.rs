//! Source lines of code, from DWARF.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use gcn_object::read::{CodeObject, FileKind};
use gcn_object::{RelocationKind, SymbolSection};
use gimli::{
    AttributeValue, Dwarf, EndianSlice, IncompleteLineProgram, LittleEndian, Section as _,
    SectionId,
};

use crate::check::text::repeats;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Source lines by section and address.
#[derive(Default)]
pub struct Lines {
    by_section: BTreeMap<usize, BTreeMap<u64, String>>,
}

/// The distance between the sections of relocatable files while DWARF is read; in the file, all begin at 0.
const APART: u64 = 1 << 32;

/// The maximum size of a source file that is shown.
const MOST_SOURCE: u64 = 16 << 20;

/// The lines of source files. A file is read once, when one of its lines is requested.
#[derive(Default)]
pub struct Files(HashMap<PathBuf, Option<Vec<String>>>);

impl Files {
    /// The text of a line, counted from 1, if the file exists.
    pub fn line(&mut self, path: &Path, line: u64) -> Option<&str> {
        if !self.0.contains_key(path) {
            let small =
                std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() <= MOST_SOURCE);
            let bytes = small.then(|| std::fs::read(path).ok()).flatten();
            let lines = bytes.map(|bytes| {
                let text = String::from_utf8_lossy(&bytes);
                text.lines()
                    .map(|line| line.trim_end().to_string())
                    .collect()
            });
            self.0.insert(path.to_path_buf(), lines);
        }
        let number = usize::try_from(line.checked_sub(1)?).ok()?;
        self.0.get(path)?.as_ref()?.get(number).map(String::as_str)
    }

    /// The text of a line, given as `FILE:LINE`.
    pub fn named(&mut self, name: &str) -> Option<&str> {
        let (path, line) = name.rsplit_once(':')?;
        self.line(Path::new(path), line.parse().ok()?)
    }
}

/// The `FILE:LINE` of a source line (`FILE:LINE`, a line feed, the text) that is assembly and consists of the instruction itself.
pub fn own<'a>(line: &'a str, instruction: &str) -> Option<&'a str> {
    let (at, text) = line.split_once('\n')?;
    repeats(text, instruction).map(|_| at)
}

/// The `FILE:LINE` without the folder of the file.
pub fn without_folder(at: &str) -> &str {
    at.rsplit('/').next().unwrap_or(at)
}

impl Lines {
    /// Reads the line tables of a code object. With `source`, the text of lines is added if their files are found.
    ///
    /// # Errors
    /// A message if there are none or they are damaged.
    pub fn read(object: &CodeObject, source: bool) -> Result<Lines, String> {
        let missing = "the object has no line tables (.debug_line); compilers write them with -g";
        if object.section(".debug_line").is_none() {
            return Err(missing.into());
        }
        let damaged = |e: gimli::Error| format!("the line tables are damaged: {e}");
        let load = |id| Ok::<_, gimli::Error>(section(object, id));
        let sections = gimli::DwarfSections::load(load).map_err(damaged)?;
        let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
        let mut reader = Reader {
            object,
            files: Files::default(),
            source,
            lines: Lines::default(),
        };
        let mut units = dwarf.units();
        let mut alone = true;
        while let Some(header) = units.next().map_err(damaged)? {
            let unit = dwarf.unit(header).map_err(damaged)?;
            reader.unit(&dwarf, &unit).map_err(damaged)?;
            alone = false;
        }
        if alone {
            reader.tables_alone(&dwarf).map_err(damaged)?;
        }
        Ok(reader.lines)
    }

    /// The line of the code at an address of a section.
    pub fn at(&self, section: usize, address: u64) -> Option<&str> {
        let lines = self.by_section.get(&section)?;
        lines
            .range(..=address)
            .next_back()
            .map(|(_, text)| text.as_str())
    }

    /// The lines that begin within a range of a section's addresses.
    pub fn of(&self, section: usize, from: u64, to: u64) -> impl Iterator<Item = (u64, &str)> {
        let lines = self.by_section.get(&section).into_iter();
        lines
            .flat_map(move |lines| lines.range(from..to.max(from)))
            .map(|(address, text)| (*address, text.as_str()))
    }
}

/// The lines of the kernels of several code objects.
#[derive(Default)]
pub struct Sources(Vec<SourcesOf>);

struct SourcesOf {
    lines: Lines,
    kind: FileKind,
    /// The name, first address and section of each kernel.
    kernels: Vec<(String, u64, Option<usize>)>,
    /// Index, address and size of each executable section.
    code: Vec<(usize, u64, u64)>,
}

impl Sources {
    /// The lines of objects that have line tables, with the text of lines if their files are found.
    pub fn new<'a>(objects: impl IntoIterator<Item = &'a CodeObject>) -> Sources {
        let of = |object: &CodeObject| {
            let lines = Lines::read(object, true).ok()?;
            let kernels = object.kernels.iter();
            let code = object.sections.iter().enumerate();
            Some(SourcesOf {
                lines,
                kind: object.kind,
                kernels: kernels
                    .map(|k| (k.name.clone(), k.entry, k.entry_section))
                    .collect(),
                code: code
                    .filter(|(_, s)| s.flags.exec())
                    .map(|(n, s)| (n, s.address, s.size))
                    .collect(),
            })
        };
        Sources(objects.into_iter().filter_map(of).collect())
    }

    /// Returns the file and line of the instruction at an offset from a kernel's first one, and after a line break the text of
    /// the line, if it was found.
    pub fn line(&self, kernel: &str, offset: i64) -> Option<&str> {
        self.0.iter().find_map(|of| {
            let (_, entry, section) = of.kernels.iter().find(|k| k.0 == kernel)?;
            let address = entry.wrapping_add_signed(offset);
            let holds = |(_, start, size): &&(usize, u64, u64)| {
                address.checked_sub(*start).is_some_and(|at| at < *size)
            };
            let section = match of.kind {
                FileKind::Relocatable => *section,
                FileKind::Loadable => of.code.iter().find(holds).map(|c| c.0),
            };
            of.lines.at(section?, address)
        })
    }
}

/// A section of DWARF, in relocatable files with its relocations applied.
fn section(object: &CodeObject, id: SectionId) -> Cow<'_, [u8]> {
    let Some(index) = object.section(id.name()) else {
        return Cow::Borrowed(&[]);
    };
    let bytes = object.section_data(index);
    if object.kind == FileKind::Loadable {
        return Cow::Borrowed(bytes);
    }
    let mut bytes = bytes.to_vec();
    for relocation in object
        .relocations
        .iter()
        .filter(|r| r.section == Some(index))
    {
        let width = match relocation.kind {
            RelocationKind::ABS64 => 8,
            RelocationKind::ABS32 => 4,
            _ => continue,
        };
        let symbol = relocation.symbol.and_then(|n| object.symbols.get(n));
        let Some(symbol) = symbol else { continue };
        let SymbolSection::Index(i) = symbol.section else {
            continue;
        };
        let base = match object.sections.get(i) {
            Some(section) if section.flags.exec() => APART.wrapping_mul(i as u64),
            _ => 0,
        };
        let value = base
            .wrapping_add(symbol.address)
            .wrapping_add_signed(relocation.addend);
        let location = usize::try_from(relocation.offset).ok();
        let location = location.and_then(|at| bytes.get_mut(at..at.checked_add(width)?));
        if let Some(location) = location {
            location.copy_from_slice(&value.to_le_bytes()[..width]);
        }
    }
    Cow::Owned(bytes)
}

struct Reader<'a> {
    object: &'a CodeObject,
    files: Files,
    source: bool,
    lines: Lines,
}

impl Reader<'_> {
    fn unit<'d>(
        &mut self,
        dwarf: &Dwarf<Slice<'d>>,
        unit: &gimli::Unit<Slice<'d>>,
    ) -> Result<(), gimli::Error> {
        let Some(program) = unit.line_program.clone() else {
            return Ok(());
        };
        let string = |value| dwarf.attr_string(unit, value);
        self.table(program, unit.comp_dir, &string)
    }

    /// Reads line tables without units, as assemblers write them for `.file` and `.loc`.
    fn tables_alone(&mut self, dwarf: &Dwarf<Slice<'_>>) -> Result<(), gimli::Error> {
        let size = dwarf.debug_line.reader().len();
        let mut at = 0;
        while at < size {
            let offset = gimli::DebugLineOffset(at);
            let program = dwarf.debug_line.program(offset, 8, None, None)?;
            let header = program.header();
            let initial = header.format().initial_length_size() as usize;
            at = at
                .saturating_add(header.unit_length())
                .saturating_add(initial);
            let string = |value| match value {
                AttributeValue::String(text) => Ok(text),
                AttributeValue::DebugLineStrRef(at) => dwarf.debug_line_str.get_str(at),
                AttributeValue::DebugStrRef(at) => dwarf.debug_str.get_str(at),
                _ => Err(gimli::Error::ExpectedStringAttributeValue),
            };
            self.table(program, None, &string)?;
        }
        Ok(())
    }

    /// Reads a line table; `string` reads the name of a file or folder.
    fn table<'d>(
        &mut self,
        program: IncompleteLineProgram<Slice<'d>>,
        folder: Option<Slice<'d>>,
        string: &dyn Fn(AttributeValue<Slice<'d>>) -> Result<Slice<'d>, gimli::Error>,
    ) -> Result<(), gimli::Error> {
        let mut rows = program.rows();
        // The file and line of the previous row.
        let mut last = None;
        // Each file's name is formatted once.
        let mut names: HashMap<u64, PathBuf> = HashMap::new();
        while let Some((header, row)) = rows.next_row()? {
            if row.end_sequence() {
                last = None;
                continue;
            }
            let Some(line) = row.line().map(|line| line.get()) else {
                continue;
            };
            let here = Some((row.file_index(), line));
            if here == last {
                continue;
            }
            last = here;
            let index = row.file_index();
            let path = match names.entry(index) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => {
                    let mut path = PathBuf::new();
                    let mut enter = |directory: Slice<'_>| match directory.slice() {
                        // Files relative to the current folder are named as they were given.
                        b"." => {}
                        _ => path.push(directory.to_string_lossy().as_ref()),
                    };
                    if let Some(directory) = folder {
                        enter(directory);
                    }
                    if let Some(file) = row.file(header) {
                        if let Some(directory) = file.directory(header) {
                            enter(string(directory)?);
                        }
                        let name = string(file.path_name())?;
                        path.push(name.to_string_lossy().as_ref());
                    }
                    unknown.insert(path)
                }
            };
            self.row(row.address(), path, line);
        }
        Ok(())
    }

    fn row(&mut self, address: u64, path: &Path, line: u64) {
        let (section, address) = match self.object.kind {
            FileKind::Relocatable => ((address / APART) as usize, address % APART),
            FileKind::Loadable => {
                let home = self.object.sections.iter().position(|s| {
                    s.flags.exec() && address.checked_sub(s.address).is_some_and(|at| at < s.size)
                });
                match home {
                    Some(home) => (home, address),
                    None => return,
                }
            }
        };
        let mut text = format!("{}:{line}", path.display());
        if self.source
            && let Some(source) = self.files.line(path, line)
        {
            text.push('\n');
            text.push_str(source);
        }
        // The last of several rows at one address is valid.
        let lines = self.lines.by_section.entry(section).or_default();
        lines.insert(address, text);
    }
}
